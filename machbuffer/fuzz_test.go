package machbuffer

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/waot-project/waot/internal/proof/entropy"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// The synthetic machine. All instructions start with an opcode byte; numbers are little-endian. A condition word is
// 15 bits of condition number and one bit that inverts it. Branch distances count from the use itself.
const (
	opMark  = 1 + iota // id16
	opCondS            // cond16 rel8
	opCondM            // cond16 rel16
	opCondL            // cond16 rel32
	opJumpS            // rel8
	opJumpM            // rel16
	opJumpL            // rel32
	opHalt
	opTrap
	opLoad   // size8 rel16
	opLoadL  // size8 rel32
	opSwitch // cond16 count8 rel32: the table
	opCall   // rel32, relocated
	opNop
)

const (
	useS UseKind = iota
	useM
	useL
	useConst
	useConstL
	useTable
)

func patch8(p []byte, use, label uint32)  { p[0] = byte(label - use) }
func patch16(p []byte, use, label uint32) { binary.LittleEndian.PutUint16(p, uint16(label-use)) }
func patch32(p []byte, use, label uint32) {
	binary.LittleEndian.PutUint32(p, label-use+binary.LittleEndian.Uint32(p))
}

// synthetic returns the machine with veneers short -> medium -> long, or, like x86-64, without any.
func synthetic(veneers bool) *Target {
	d := TargetDesc{
		Kinds: []KindDesc{
			{Name: "short", MaxPos: 127, MaxNeg: 128, PatchSize: 1, Align: 1, Patch: patch8},
			{Name: "medium", MaxPos: 4095, MaxNeg: 4096, PatchSize: 2, Align: 1, Patch: patch16},
			{Name: "long", MaxPos: 1<<31 - 1, MaxNeg: 1 << 31, PatchSize: 4, Align: 1, Patch: patch32},
			{Name: "const", MaxPos: 4095, MaxNeg: 4096, PatchSize: 2, Align: 1, Patch: patch16},
			{Name: "constL", MaxPos: 1<<31 - 1, MaxNeg: 1 << 31, PatchSize: 4, Align: 1, Patch: patch32},
			{Name: "table", MaxPos: 1<<31 - 1, MaxNeg: 1 << 31, PatchSize: 4, Align: 1, Patch: patch32},
		},
		Jump: MakeForm(useL, 1, []byte{opJumpL, 0, 0, 0, 0}),
		Trap: []byte{opTrap}, Resumes: true,
		Nop: func(p []byte) {
			for i := range p {
				p[i] = opNop
			}
		},
		CodeAlign:  1,
		MinUseInst: 2,
	}
	if veneers {
		s, m := &d.Kinds[useS], &d.Kinds[useM]
		s.VeneerSize, s.Veneer, s.VeneerUse = 3, useM, 1
		s.EmitVeneer = func(p []byte) { copy(p, []byte{opJumpM, 0, 0}) }
		m.VeneerSize, m.Veneer, m.VeneerUse = 5, useL, 1
		m.EmitVeneer = func(p []byte) { copy(p, []byte{opJumpL, 0, 0, 0, 0}) }
	}
	t, err := NewTarget(d)
	if err != nil {
		panic(err)
	}
	return t
}

var (
	condOps = [3]byte{opCondS, opCondM, opCondL}
	jumpOps = [3]byte{opJumpS, opJumpM, opJumpL}
	relSize = [3]int{1, 2, 4}
)

const invertBit = 0x8000

func condForm(k UseKind, c uint16) Form {
	p := make([]byte, 3+relSize[k])
	p[0] = condOps[k]
	binary.LittleEndian.PutUint16(p[1:], c)
	return MakeForm(k, 3, p)
}

// A random program: blocks of items, each with a terminator.
type itemKind uint8

const (
	itemMark itemKind = iota
	itemLoad
	itemCall
	itemTrapIf
)

type item struct {
	kind itemKind
	id   uint16 // mark, condition, callee or number of the constant
}

type termKind uint8

const (
	termJump termKind = iota
	termCond
	termSwitch
	termHalt
	termTrap
)

type testBlock struct {
	items   []item
	term    termKind
	cond    uint16
	targets []int
	align   uint32
}

type program struct {
	seed   uint64
	blocks []testBlock
}

// choices are what decisions are made with: a *rand.Rand, or an *entropy.Source.
type choices interface {
	IntN(n int) int
	Uint64() uint64
}

// randomProgram has at most maxBlocks blocks, and no more than maxItems items.
func randomProgram(rng choices, maxBlocks, maxItems int) *program {
	p := &program{seed: rng.Uint64()}
	n := 1 + rng.IntN(maxBlocks)
	id := uint16(0)
	next := func() uint16 { id = (id + 1) % 0x7000; return id }
	big := rng.IntN(4) == 0
	for i := range n {
		b := testBlock{cond: next()}
		items := 0
		switch rng.IntN(8) {
		case 0, 1, 2: // empty
		case 3:
			if big {
				items = rng.IntN(1600)
			} else {
				items = rng.IntN(60)
			}
		default:
			items = rng.IntN(5)
		}
		items = min(items, maxItems)
		maxItems -= items
		for range items {
			k := itemMark
			switch rng.IntN(12) {
			case 0:
				k = itemLoad
			case 1:
				k = itemCall
			case 2:
				k = itemTrapIf
			}
			b.items = append(b.items, item{k, next()})
		}
		target := func() int {
			if rng.IntN(2) == 0 {
				return min(i+1+rng.IntN(3), n-1)
			}
			return rng.IntN(n)
		}
		switch r := rng.IntN(20); {
		case r < 9:
			b.term, b.targets = termJump, []int{target()}
		case r < 17:
			b.term, b.targets = termCond, []int{target(), target()}
		case r < 18:
			b.term = termSwitch
			for range 1 + rng.IntN(5) {
				b.targets = append(b.targets, target())
			}
		case r < 19:
			b.term = termHalt
		default:
			b.term = termTrap
		}
		if rng.IntN(16) == 0 {
			b.align = 4
		}
		p.blocks = append(p.blocks, b)
	}
	return p
}

// event is what an execution shows to the outside.
type event struct {
	kind byte // opcode
	arg  uint64
}

const maxEvents = 200

// decide gives the outcome of a condition: it depends on what has shown so far, not on how often it was asked.
func (p *program) decide(c uint16, events int) uint64 {
	h := p.seed ^ uint64(c&^invertBit)*0x9e3779b97f4a7c15 ^ uint64(events)*0xbf58476d1ce4e5b9
	h ^= h >> 31
	h *= 0x94d049bb133111eb
	return h >> 33
}

func constFor(id uint16) []byte {
	data := make([]byte, 4<<(id%3))
	for i := range data {
		data[i] = byte(int(id%7) + i)
	}
	return data
}

func constSum(data []byte) uint64 {
	var s uint64
	for _, v := range data {
		s = s*31 + uint64(v)
	}
	return s
}

// run executes the program itself: the oracle.
func (p *program) run() (events []event) {
	at := 0
	for range 20000 {
		b := &p.blocks[at]
		for _, it := range b.items {
			if len(events) >= maxEvents {
				return events
			}
			switch it.kind {
			case itemMark:
				events = append(events, event{opMark, uint64(it.id)})
			case itemLoad:
				events = append(events, event{opLoad, constSum(constFor(it.id))})
			case itemCall:
				events = append(events, event{opCall, uint64(it.id)})
			case itemTrapIf:
				if p.decide(it.id, len(events))%64 == 0 {
					if events = append(events, event{opTrap, uint64(it.id & 0xff)}); !resumed(byte(it.id)) {
						return events
					}
				}
			}
		}
		switch b.term {
		case termJump:
			at = b.targets[0]
		case termCond:
			at = b.targets[p.decide(b.cond, len(events))&1]
		case termSwitch:
			at = b.targets[p.decide(b.cond, len(events))%uint64(len(b.targets))]
		case termHalt:
			return append(events, event{opHalt, 0})
		case termTrap:
			return append(events, event{opTrap, 0xff})
		}
	}
	return events
}

// simulate executes finished code and checks the records of what it passes.
func (p *program) simulate(r *Result, steps int) (events []event, err error) {
	code, pc := r.Code, 0
	traps := map[int]Trap{}
	for _, t := range r.Traps {
		traps[int(t.Offset)] = t
	}
	relocs := map[int]Reloc{}
	for _, t := range r.Relocs {
		relocs[int(t.Offset)] = t
	}
	returns := map[int]uint32{}
	for i, t := range r.StackMaps {
		if r.Calls[i] != (CallSite{t.Return, t.Index}) {
			return nil, fmt.Errorf("call site %v beside stack map %v", r.Calls[i], t)
		}
		returns[int(t.Return)] = t.Index
	}
	rel := func(use, size int) int {
		switch size {
		case 1:
			return use + int(int8(code[use]))
		case 2:
			return use + int(int16(binary.LittleEndian.Uint16(code[use:])))
		}
		return use + int(int32(binary.LittleEndian.Uint32(code[use:])))
	}
	for range steps {
		if pc < 0 || pc >= len(code) {
			return events, fmt.Errorf("pc %d outside the code", pc)
		}
		if len(events) >= maxEvents {
			return events, nil
		}
		u16 := func(off int) uint16 { return binary.LittleEndian.Uint16(code[pc+off:]) }
		switch op := code[pc]; op {
		case opMark:
			events = append(events, event{opMark, uint64(u16(1))})
			pc += 3
		case opCondS, opCondM, opCondL:
			size := relSize[op-opCondS]
			c := u16(1)
			h := p.decide(c, len(events))
			taken := h&1 != 0
			if c&^invertBit >= 0x7000 {
				return events, fmt.Errorf("bad condition")
			}
			if p.isTrapIf(c &^ invertBit) {
				taken = h%64 == 0
			}
			if taken == (c&invertBit == 0) {
				pc = rel(pc+3, size)
			} else {
				pc += 3 + size
			}
		case opJumpS, opJumpM, opJumpL:
			pc = rel(pc+1, relSize[op-opJumpS])
		case opHalt:
			return append(events, event{opHalt, 0}), nil
		case opTrap:
			t, ok := traps[pc]
			if !ok || t.Code != 0xff && t.Code != uint8(t.Site) {
				return events, fmt.Errorf("trap at %d: record %v", pc, t)
			}
			events = append(events, event{opTrap, uint64(t.Code)})
			if !resumed(t.Code) {
				return events, nil
			}
			pc++ // as a host does that goes on
		case opLoad, opLoadL:
			size, at := int(code[pc+1]), rel(pc+2, 2)
			if op == opLoadL {
				at = rel(pc+2, 4)
			}
			if at%size != 0 {
				return events, fmt.Errorf("misaligned constant at %d", at)
			}
			events = append(events, event{opLoad, constSum(code[at : at+size])})
			pc += 4
			if op == opLoadL {
				pc += 2
			}
		case opSwitch:
			table := rel(pc+4, 4)
			i := int(p.decide(u16(1), len(events)) % uint64(code[pc+3]))
			pc = table + int(int32(binary.LittleEndian.Uint32(code[table+4*i:])))
		case opCall:
			rl, ok := relocs[pc+1]
			if id, mapped := returns[pc+5]; !ok || !mapped || id != rl.Symbol {
				return events, fmt.Errorf("call at %d: relocation %v, stack map %d", pc, rl, id)
			}
			events = append(events, event{opCall, uint64(rl.Symbol)})
			pc += 5
		case opNop:
			pc++
		default:
			return events, fmt.Errorf("opcode %d at %d", op, pc)
		}
	}
	return events, nil
}

func (p *program) isTrapIf(c uint16) bool {
	for i := range p.blocks {
		if p.blocks[i].cond == c {
			return false
		}
	}
	return true
}

// emitter drives a Buffer as a backend does.
type emitter struct {
	*Buffer
	p       *program
	rng     choices
	veneers bool
	first   Label
	bound   []uint32 // prefix sums of the blocks' worst sizes
	random  bool     // random kinds, where veneers allow
}

const worstPair = 12

func (e *emitter) worst(b *testBlock) uint32 {
	n := uint32(8) // alignment
	for _, it := range b.items {
		n += [...]uint32{itemMark: 3, itemLoad: 6, itemCall: 5, itemTrapIf: 12}[it.kind]
	}
	if b.term == termSwitch {
		return n + 8 + 4*uint32(len(b.targets)) + 4
	}
	return n + worstPair
}

// kindFor chooses a branch's form, as an x86-64 backend would or, with veneers, at random.
func (e *emitter) kindFor(from, to, useAt int) UseKind {
	if e.veneers && e.random {
		return UseKind(e.rng.IntN(3))
	}
	l := e.first + Label(to)
	if to > from {
		if e.bound[to]-e.bound[from+1]+worstPair+4 <= 127 {
			return useS
		}
	} else if e.CanReach(useS, e.Offset()+uint32(useAt), l) {
		return useS
	}
	if e.veneers {
		return useM
	}
	return useL
}

func (e *emitter) jump(from, to int) {
	k := e.kindFor(from, to, 1)
	start := e.Offset()
	p := e.Reserve(8)
	clear(p)
	p[0] = jumpOps[k]
	e.Advance(1 + relSize[k])
	e.UncondBranch(start, start+1, k, e.first+Label(to))
}

func (e *emitter) cond(k UseKind, c uint16, l Label) {
	start := e.Offset()
	f := condForm(k, c)
	e.PutBytes(f.Bytes[:f.Len])
	forms := CondForms{N: 2}
	wide := useL
	if e.veneers {
		wide = useM
	}
	for i, fk := range [2]UseKind{useS, wide} {
		forms.Same[i], forms.Inverted[i] = condForm(fk, c), condForm(fk, c^invertBit)
	}
	if e.veneers && e.random { // the first form always passes
		forms.Same[0], forms.Same[1] = forms.Same[1], forms.Same[0]
	}
	e.CondBranch(start, start+3, k, l, &forms)
}

func (e *emitter) island(size uint32) {
	if !e.veneers {
		return
	}
	e.EmitIslandMaybe(size)
	// An island leaves all deadlines far enough away.
	if e.shrink == 1 && e.checkBinds && e.IslandNeeded(size) {
		panic("island needed after an island")
	}
}

func (e *emitter) item(it item) {
	at := e.Offset()
	switch it.kind {
	case itemMark:
		e.island(3)
		e.PutU8(opMark)
		e.PutU8(byte(it.id))
		e.PutU8(byte(it.id >> 8))
	case itemLoad:
		data := constFor(it.id)
		e.island(4 + 2*uint32(len(data)))
		at = e.Offset()
		l := e.Constant(data, uint32(len(data)))
		k, op, size := useConst, byte(opLoad), 4
		if !e.veneers {
			k, op, size = useConstL, opLoadL, 6
		}
		p := e.Reserve(8)
		clear(p)
		p[0], p[1] = op, byte(len(data))
		e.Advance(size)
		e.UseLabel(at+2, k, l)
	case itemCall:
		e.island(5)
		at = e.Offset()
		e.AddReloc(at+1, 2, uint32(it.id), -4)
		e.PutU8(opCall)
		e.PutU32(0)
		e.AddStackMap(uint32(it.id))
		e.AddCallSite(uint32(it.id))
	case itemTrapIf:
		e.island(8)
		l := e.DeferTrap(byte(it.id), TrapSite(it.id))
		k := useL
		if e.veneers {
			k = useM
		}
		e.cond(k, it.id, l)
		if resumed(byte(it.id)) {
			e.Resume()
		}
	}
}

// resumed reports whether the program goes on behind a trap of that code, which is aside.
func resumed(code byte) bool { return code%2 == 1 && code != 0xff }

func (e *emitter) block(i int) {
	b := &e.p.blocks[i]
	switch {
	case b.align == 0:
		e.Bind(e.first + Label(i))
	case e.rng.IntN(3) == 0:
		e.island(CacheLine)
		e.BindInLine(e.first+Label(i), uint32(1+e.rng.IntN(CacheLine)))
	default:
		e.island(b.align)
		e.BindAligned(e.first+Label(i), b.align)
	}
	for _, it := range b.items {
		e.item(it)
	}
	switch b.term {
	case termJump:
		e.island(5)
		e.jump(i, b.targets[0])
	case termCond:
		e.island(worstPair)
		yes, no := b.targets[1], b.targets[0]
		e.cond(e.kindFor(i, yes, 3), b.cond, e.first+Label(yes))
		e.jump(i, no)
	case termSwitch:
		e.island(8 + 8*uint32(len(b.targets)))
		table := e.NewLabel()
		at := e.Offset()
		e.PutU8(opSwitch)
		e.PutU8(byte(b.cond))
		e.PutU8(byte(b.cond >> 8))
		e.PutU8(byte(len(b.targets)))
		e.PutU32(0)
		e.UseLabel(at+4, useTable, table)
		e.NoFallThrough()
		e.Bind(table)
		for j, t := range b.targets {
			e.UseLabel(e.Offset(), useTable, e.first+Label(t))
			e.PutU32(uint32(4 * j))
		}
		e.NoFallThrough()
	case termHalt:
		e.PutU8(opHalt)
		e.NoFallThrough()
	case termTrap:
		e.AddTrap(e.Offset(), 0xff, TrapSite(b.cond))
		e.PutU8(opTrap)
		e.NoFallThrough()
	}
	if e.checkBinds {
		if err := e.CheckInvariants(); err != nil {
			panic(err)
		}
	}
}

func (e *emitter) emit() (*Result, error) {
	e.bound = make([]uint32, len(e.p.blocks)+1)
	for i := range e.p.blocks {
		e.bound[i+1] = e.bound[i] + e.worst(&e.p.blocks[i])
	}
	e.first = e.NewLabels(len(e.p.blocks))
	for i := range e.p.blocks {
		e.block(i)
	}
	if e.rng.IntN(2) == 0 {
		e.move()
	}
	return e.Finish()
}

// move moves aligned blocks to random places.
func (e *emitter) move() {
	var places []Place
	for i := range e.p.blocks {
		if e.p.blocks[i].align != 0 && e.rng.IntN(2) == 0 {
			places = append(places, Place{e.first + Label(i), uint32(e.rng.IntN(CacheLine))})
		}
	}
	e.Move(places)
	if e.checkBinds {
		if err := e.CheckInvariants(); err != nil {
			panic(err)
		}
	}
}

// checkProgram emits p into b and compares executions.
func checkProgram(t testing.TB, b *Buffer, p *program, rng choices, veneers, random bool) *Result {
	t.Helper()
	b.Reset()
	e := &emitter{Buffer: b, p: p, rng: rng, veneers: veneers, random: random}
	r, err := e.emit()
	if err != nil {
		t.Fatalf("Finish: %v", err)
	}
	want := p.run()
	got, err := p.simulate(r, 50000)
	if err != nil {
		t.Fatalf("simulation after %d of %d events: %v", len(got), len(want), err)
	}
	got, want = got[:min(len(got), maxEvents)], want[:min(len(want), maxEvents)]
	if len(got) != len(want) {
		t.Fatalf("%d events, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("event %d: %v, want %v", i, got[i], want[i])
		}
	}
	return r
}

type fuzzBuffers struct{ veneers, plain *Buffer }

func newFuzzBuffers() *fuzzBuffers {
	f := &fuzzBuffers{New(synthetic(true)), New(synthetic(false))}
	f.veneers.checkBinds, f.plain.checkBinds = true, true
	return f
}

// check runs one random program. Its mode: bit 0 takes the machine with veneers, bit 1 random branch kinds there, bits 2
// and 3 a range divisor.
func (f *fuzzBuffers) check(t testing.TB, seed uint64, mode uint8) {
	rng := rand.New(rand.NewPCG(seed, uint64(mode)))
	maxBlocks := 24
	if seed%16 == 0 {
		maxBlocks = 80
	}
	f.program(t, rng, maxBlocks, math.MaxInt, mode)
}

// program checks a program of rng's choices.
func (f *fuzzBuffers) program(t testing.TB, rng choices, maxBlocks, maxItems int, mode uint8) {
	p := randomProgram(rng, maxBlocks, maxItems)
	b := f.plain
	if mode&1 != 0 {
		b = f.veneers
		b.ShrinkRanges([4]uint32{1, 1, 10, 1000}[mode>>2&3])
	}
	checkProgram(t, b, p, rng, mode&1 != 0, mode&2 != 0)
}

// Bounds of FuzzBuffer, in bytes and in items of a program.
const (
	maxInput = 8 << 10
	maxItems = 3000
)

// FuzzBuffer: the program that the bytes choose does in its machine code what it means. The mode is that of check; bit 4
// gives it more blocks.
func FuzzBuffer(f *testing.F) {
	r := rand.NewChaCha8([32]byte{6: 'm'})
	for mode := range uint8(32) {
		by := make([]byte, 8+25*int(mode))
		r.Read(by)
		f.Add(by, mode)
	}
	bufs := newFuzzBuffers()
	f.Fuzz(func(t *testing.T, by []byte, mode uint8) {
		if len(by) > maxInput {
			t.Skip("more than the largest program takes")
		}
		bufs.program(t, entropy.New(by), []int{24, 80}[mode>>4&1], maxItems, mode)
	})
}

func TestRandomPrograms(t *testing.T) {
	bufs := newFuzzBuffers()
	programs := testenv.Cases(600, 1500, 7000)
	for n := range programs {
		seed, mode := uint64(n), uint8(n*5>>1)
		ok := t.Run("", func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("seed %d mode %d", seed, mode)
				}
			}()
			bufs.check(t, seed, mode)
		})
		if !ok {
			return
		}
	}
	t.Logf("%d programs", programs)
}
