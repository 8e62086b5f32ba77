package x64

import (
	"encoding/binary"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/x64/asm"
	"github.com/waot-project/waot/clif"
)

// This file lowers shuffles: tables of instructions that move bytes, of which the cheapest sequence that gives the wanted lanes is
// taken.

// lanes says which byte each byte of a result is: 0 to 15 of one vector, 16 to 31 of another, or one of the constants below.
type lanes [16]uint8

const (
	zeroLane uint8 = 0x80 // a zero
	anyLane  uint8 = 0xff // does not matter
)

// covers reports whether l, which an instruction gives, is what is wanted.
func (l *lanes) covers(want *lanes) bool {
	for i, w := range want {
		if w != anyLane && w != l[i] {
			return false
		}
	}
	return true
}

// flipped returns l with the vectors exchanged.
func (l *lanes) flipped() (f lanes) {
	for i, n := range l {
		if f[i] = n; n < 32 {
			f[i] = n ^ 16
		}
	}
	return f
}

// folded returns l where both vectors are the same one.
func (l *lanes) folded() (f lanes) {
	for i, n := range l {
		if f[i] = n; n < 32 {
			f[i] = n & 15
		}
	}
	return f
}

// only returns the lanes of one vector, the first or (from 16) the second, as those of the first; the others do not matter.
func (l *lanes) only(from uint8) (f lanes) {
	for i, n := range l {
		if f[i] = anyLane; n < 32 && n&16 == from {
			f[i] = n & 15
		}
	}
	return f
}

// group returns the number of the aligned group of width bytes, a power of two, that is wanted at place i, counted in groups; 0 if none in
// particular.
func (l *lanes) group(i, width int) uint8 {
	for _, n := range l[i*width : (i+1)*width] {
		if n < 32 {
			return n / uint8(width)
		}
	}
	return 0
}

// mover is an instruction that moves bytes.
type mover struct {
	op backend.Op
	// guess returns the immediate with which the instruction could give the lanes; nil if there is no immediate.
	guess func(want *lanes) uint8
	// gives returns the lanes that it gives.
	gives func(imm uint8) lanes
	avx2  bool
}

// movers1 are the instructions for lanes of one vector, movers2 those for lanes of two; if they have two operands, both are the
// vector in movers1.
var (
	movers1 = []mover{
		{op: asm.Vpbroadcastb, gives: broadcastLanes(1), avx2: true},
		{op: asm.Vpbroadcastw, gives: broadcastLanes(2), avx2: true},
		{op: asm.Pshufd, guess: guessGroups(0, 4), gives: pshufdLanes},
		{op: asm.Pshuflw, guess: guessGroups(0, 2), gives: wordLanes(0)},
		{op: asm.Pshufhw, guess: guessGroups(4, 2), gives: wordLanes(4)},
		{op: asm.Punpcklbw, gives: unpackLanes(1, 0)},
		{op: asm.Punpckhbw, gives: unpackLanes(1, 8)},
		{op: asm.Punpcklwd, gives: unpackLanes(2, 0)},
		{op: asm.Punpckhwd, gives: unpackLanes(2, 8)},
		{op: asm.Palignr, guess: guessDistance, gives: alignLanes},
		{op: asm.PsrldqImm, guess: guessDistance, gives: rightLanes},
		{op: asm.PslldqImm, guess: func(want *lanes) uint8 { return -guessDistance(want) & 15 }, gives: leftLanes},
		{op: asm.Pmovzxbw, gives: extendLanes(1)},
		{op: asm.Pmovzxwd, gives: extendLanes(2)},
		{op: asm.Pmovzxdq, gives: extendLanes(4)},
	}
	movers2 = []mover{
		{op: asm.Vpblendd, guess: guessBlend(4), gives: blendLanes(4), avx2: true},
		{op: asm.Punpcklbw, gives: unpackLanes(1, 0)},
		{op: asm.Punpckhbw, gives: unpackLanes(1, 8)},
		{op: asm.Punpcklwd, gives: unpackLanes(2, 0)},
		{op: asm.Punpckhwd, gives: unpackLanes(2, 8)},
		{op: asm.Punpckldq, gives: unpackLanes(4, 0)},
		{op: asm.Punpckhdq, gives: unpackLanes(4, 8)},
		{op: asm.Punpcklqdq, gives: unpackLanes(8, 0)},
		{op: asm.Punpckhqdq, gives: unpackLanes(8, 8)},
		{op: asm.Pblendw, guess: guessBlend(2), gives: blendLanes(2)},
		{op: asm.Shufp, guess: guessGroups(0, 4), gives: shufpsLanes},
		{op: asm.Palignr, guess: guessDistance, gives: alignLanes},
		{op: asm.Insertps, guess: guessInsert, gives: insertLanes},
	}
)

// broadcastLanes: the lowest bytes everywhere.
func broadcastLanes(width int) func(uint8) lanes {
	return func(uint8) (l lanes) {
		for i := range l {
			l[i] = uint8(i % width)
		}
		return l
	}
}

// guessGroups makes an immediate of four numbers of groups of width bytes, from place first on, each modulo 4.
func guessGroups(first, width int) func(want *lanes) uint8 {
	return func(want *lanes) (imm uint8) {
		for i := range 4 {
			imm |= want.group(first+i, width) & 3 << (2 * i)
		}
		return imm
	}
}

func pshufdLanes(imm uint8) (l lanes) {
	for i := range l {
		l[i] = imm>>(i/4*2)&3*4 + uint8(i%4)
	}
	return l
}

// wordLanes: four words from place first on are moved among each other.
func wordLanes(first int) func(imm uint8) lanes {
	return func(imm uint8) (l lanes) {
		for i := range l {
			l[i] = uint8(i)
		}
		for i := range 4 {
			from := 2 * (uint8(first) + imm>>(2*i)&3)
			l[2*(first+i)], l[2*(first+i)+1] = from, from+1
		}
		return l
	}
}

// unpackLanes: groups of width bytes, alternately of both vectors, from byte first on.
func unpackLanes(width, first int) func(uint8) lanes {
	return func(uint8) (l lanes) {
		for i := range l {
			l[i] = uint8(first + i/(2*width)*width + i%width + i/width%2*16)
		}
		return l
	}
}

// guessDistance returns by how many bytes the wanted lanes are moved down, modulo 16: in one vector, or in both in a row.
func guessDistance(want *lanes) uint8 {
	for i, n := range want {
		if n < 32 {
			return (n - uint8(i)) & 15
		}
	}
	return 0
}

// alignLanes: 16 bytes from number imm on of the second vector and then the first.
func alignLanes(imm uint8) (l lanes) {
	for i := range l {
		l[i] = (uint8(i) + imm) ^ 16
	}
	return l
}

func rightLanes(imm uint8) (l lanes) {
	for i := range l {
		if l[i] = uint8(i) + imm; l[i] > 15 {
			l[i] = zeroLane
		}
	}
	return l
}

func leftLanes(imm uint8) (l lanes) {
	for i := range l {
		if l[i] = uint8(i) - imm; l[i] > 15 {
			l[i] = zeroLane
		}
	}
	return l
}

// extendLanes: groups of width bytes, and as many zeros behind each.
func extendLanes(width int) func(uint8) lanes {
	return func(uint8) lanes {
		l := unpackLanes(width, 0)(0)
		for i, n := range l {
			if n >= 16 {
				l[i] = zeroLane
			}
		}
		return l
	}
}

// guessBlend sets a bit for each group of width bytes that comes from the second vector.
func guessBlend(width int) func(want *lanes) uint8 {
	return func(want *lanes) (imm uint8) {
		for i := range 16 / width {
			imm |= want.group(i, width) / uint8(16/width) << i
		}
		return imm
	}
}

func blendLanes(width int) func(imm uint8) lanes {
	return func(imm uint8) (l lanes) {
		for i := range l {
			l[i] = uint8(i) + imm>>(i/width)&1*16
		}
		return l
	}
}

func shufpsLanes(imm uint8) lanes {
	l := pshufdLanes(imm)
	for i := 8; i < 16; i++ {
		l[i] += 16
	}
	return l
}

// guessInsert: the first doubleword that is of the second vector.
func guessInsert(want *lanes) uint8 {
	for i := range 4 {
		if n := want.group(i, 4); n >= 4 {
			return n&3<<6 | uint8(i)<<4
		}
	}
	return 0
}

func insertLanes(imm uint8) lanes {
	l := blendLanes(4)(0)
	to, from := imm>>4&3*4, imm>>6*4+16
	for i := range uint8(4) {
		l[to+i] = from + i
	}
	return l
}

// plan is how a shuffle is made: steps, each of which gives a vector. cost is twice the number of instructions, and one for each
// constant.
type plan struct {
	steps []step
	cost  int
	// from is the operand that is the result, where there are no steps.
	from uint8
}

// step is an instruction of a plan. x and y are operands: 0 and 1 the vectors, from 2 on the results of earlier steps. A mask in
// the constant pool may take the place of y.
type step struct {
	op   backend.Op
	imm  uint8
	x, y uint8
	mask *lanes
}

// planOf returns the plan of the given steps.
func planOf(steps ...step) plan {
	p := plan{steps: steps, cost: 2 * len(steps)}
	for i := range steps {
		if steps[i].mask != nil {
			p.cost++
		}
	}
	return p
}

// planShuffle returns the cheapest plan for the wanted lanes: of the first vector, or of both.
func planShuffle(want *lanes, avx2 bool) plan {
	first, second := false, false
	for _, n := range want {
		first, second = first || n < 16, second || n >= 16 && n < 32
	}
	if !second {
		return planOne(want, 0, avx2)
	}
	if !first {
		f := want.flipped()
		return planOne(&f, 1, avx2)
	}
	if s, ok := moverStep(movers2, want, avx2); ok {
		return planOf(s)
	}
	f := want.flipped()
	if s, ok := moverStep(movers2, &f, avx2); ok {
		s.x, s.y = 1, 0
		return planOf(s)
	}
	best := planTwo(want)
	for _, alternative := range [...]func(*lanes, bool) (plan, bool){planPack, planGather, planBlend} {
		if p, ok := alternative(want, avx2); ok && p.cost <= best.cost {
			best = p
		}
	}
	return best
}

// moverStep returns the first instruction that gives the wanted lanes, its operands being the two vectors.
func moverStep(movers []mover, want *lanes, avx2 bool) (s step, ok bool) {
	for k := range movers {
		m := &movers[k]
		if m.avx2 && !avx2 {
			continue
		}
		imm := uint8(0)
		if m.guess != nil {
			imm = m.guess(want)
		}
		l := m.gives(imm)
		if &movers[0] == &movers1[0] {
			l = l.folded()
		}
		if l.covers(want) {
			return step{op: m.op, imm: imm, x: 0, y: 1}, true
		}
	}
	return s, false
}

// planOne is planShuffle for lanes of one vector, which is the operand v.
func planOne(want *lanes, v uint8, avx2 bool) plan {
	if l := blendLanes(16)(0); l.covers(want) {
		return plan{from: v}
	}
	s, ok := moverStep(movers1, want, avx2)
	if !ok {
		s = step{op: asm.Pshufb, mask: want}
	}
	s.x, s.y = v, v
	return planOf(s)
}

// planTwo takes what is wanted of each vector, with zeros between, and unites it.
func planTwo(want *lanes) plan {
	mask := func(from uint8) *lanes {
		l := want.only(from)
		for i, n := range l {
			if n == anyLane {
				l[i] = zeroLane
			}
		}
		return &l
	}
	return planOf(step{op: asm.Pshufb, x: 0, mask: mask(0)}, step{op: asm.Pshufb, x: 1, mask: mask(16)}, step{op: asm.Por, x: 2, y: 3})
}

// planPack takes every second byte or word: the upper ones by shifts, the lower ones by a mask.
func planPack(want *lanes, _ bool) (plan, bool) {
	for _, p := range [...]struct {
		width, odd int
		part       step
		pack       backend.Op
	}{
		{1, 1, step{op: asm.PsrlwImm, imm: 8}, asm.Packuswb},
		{2, 1, step{op: asm.PsrldImm, imm: 16}, asm.Packusdw},
		{1, 0, step{op: asm.Pand, mask: &lanes{255, 0, 255, 0, 255, 0, 255, 0, 255, 0, 255, 0, 255, 0, 255, 0}}, asm.Packuswb},
		{2, 0, step{op: asm.Pand, mask: &lanes{255, 255, 0, 0, 255, 255, 0, 0, 255, 255, 0, 0, 255, 255, 0, 0}}, asm.Packusdw},
	} {
		var l lanes
		for i := range l {
			l[i] = uint8((i/p.width*2+p.odd)*p.width + i%p.width)
		}
		for v := range uint8(2) {
			if l.covers(want) {
				first, second := p.part, p.part
				first.x, second.x = v, 1-v
				return planOf(first, second, step{op: p.pack, x: 2, y: 3}), true
			}
			l = l.flipped()
		}
	}
	return plan{}, false
}

// planGather puts the doublewords that are wanted, at most two of each vector, into one, and moves its bytes.
func planGather(want *lanes, avx2 bool) (plan, bool) {
	var at [8]uint8 // where a doubleword comes to be, plus 1
	var n [2]uint8  // how many there are of each vector
	imm := uint8(0)
	moved := *want
	for i, lane := range want {
		if lane >= 32 {
			continue
		}
		d, v := lane/4, lane/16
		if at[d] == 0 {
			if n[v] == 2 {
				return plan{}, false
			}
			place := 2*v + n[v]
			imm |= d & 3 << (2 * place)
			at[d] = place + 1
			n[v]++
		}
		moved[i] = 4*(at[d]-1) + lane%4
	}
	rest := planOne(&moved, 2, avx2)
	p := planOf(append([]step{{op: asm.Shufp, imm: imm, x: 0, y: 1}}, rest.steps...)...)
	return p, true
}

// planBlend moves the bytes of each vector to where they are wanted, as far as they are not there, and blends words.
func planBlend(want *lanes, avx2 bool) (plan, bool) {
	imm := guessBlend(2)(want)
	for i, n := range want {
		if n < 32 && n/16 != imm>>(i/2)&1 || n == zeroLane {
			return plan{}, false
		}
	}
	var steps []step
	blend := step{op: asm.Pblendw, imm: imm}
	operand := func(v uint8) uint8 {
		l := want.only(16 * v)
		if p := planOne(&l, v, avx2); p.cost > 0 {
			steps = append(steps, p.steps...)
			return uint8(1 + len(steps))
		}
		return v
	}
	blend.x, blend.y = operand(0), operand(1)
	return planOf(append(steps, blend)...), true
}

func lowerVshuffle(l *lower, _ clif.Inst, d *clif.InstData) {
	want := lanes(d.Lanes())
	x, y := d.ArgA(), d.ArgB()
	switch {
	case l.Resolve(x) == l.Resolve(y):
		want = want.folded()
	case isZeros(l, x):
		want = want.flipped()
		x, y = y, x
		fallthrough
	case isZeros(l, y):
		for i, n := range want {
			if n >= 16 {
				want[i] = zeroLane
			}
		}
	}
	p := planShuffle(&want, has(&l.Query, asm.AVX2))
	emitPlan(l, &p, x, y, l.Def(d, 0))
}

// lowerVrotate: a rotation by whole bytes moves them.
func lowerVrotate(l *lower, m *match) {
	_, d := l.DefInst(m.D.ArgA())
	width := d.Type.LaneBits() / 8
	by := int(m.K) / 8
	var want lanes
	for i := range want {
		want[i] = uint8(i/width*width + (i-by)&(width-1))
	}
	p := planShuffle(&want, has(&l.Query, asm.AVX2))
	emitPlan(l, &p, m.X(), m.X(), l.Def(m.D, 0))
}

// isZeros reports whether v is a constant of zeros.
func isZeros(l *lower, v clif.Value) bool {
	low, high, ok := l.Vconst(v)
	return ok && low|high == 0
}

// emitPlan appends dst = the shuffle of x and y by p.
func emitPlan(l *lower, p *plan, x, y clif.Value, dst vreg) {
	var regs [5]vreg
	use := func(n uint8) vreg {
		switch n {
		case 0:
			return l.Use(x)
		case 1:
			return l.Use(y)
		}
		return regs[n]
	}
	if len(p.steps) == 0 {
		copyVector(l, use(p.from), dst)
	}
	for i := range p.steps {
		s := &p.steps[i]
		to := dst
		if i < len(p.steps)-1 {
			to = l.NewVReg(clif.V128)
			regs[2+i] = to
		}
		emitStep(l, s, use(s.x), func() vreg { return use(s.y) }, to)
	}
}

// emitStep appends to = the instruction of s on x and, if it has a second operand, y.
func emitStep(l *lower, s *step, x vreg, y func() vreg, to vreg) {
	o := vop{l, formOf(l, s.op)}.by(int64(s.imm))
	switch {
	case s.mask != nil:
		o.constTo(x, vector128{binary.LittleEndian.Uint64(s.mask[:8]), binary.LittleEndian.Uint64(s.mask[8:])}, to)
	case asm.NumUses(s.op) == 2:
		o.to(x, y(), to)
	default:
		o.to(x, to)
	}
}
