package a64

import (
	endian "encoding/binary"
	"sync"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/a64/asm"
	"github.com/waot-project/waot/clif"
)

// bytesOf are the 16 bytes of a vector by where they come from: 0 to 15 are those of the first source, 16 to 31 those of
// the second one.
type bytesOf = [16]uint8

// permutation is an instruction that moves bytes, and what its result is.
type permutation struct {
	in    backend.Inst
	one   bool // it has one source
	bytes bytesOf
}

// permutations are the instructions that move whole lanes without a table of indices, in order of preference. They are made when
// they are first needed.
var permutations = sync.OnceValue(makePermutations)

func makePermutations() (all []permutation) {
	add := func(in backend.Inst, one bool, from func(lane, lanes int) int) {
		p := permutation{in: in, one: one}
		width := 1 << in.Scale
		for i := range p.bytes {
			p.bytes[i] = uint8(from(i/width, 16/width)*width + i%width)
		}
		all = append(all, p)
	}
	for scale := uint8(3); scale < 4; scale-- {
		for k := range 16 >> scale {
			add(inLanesBy(asm.VdupLane, scale, int64(k)), true, func(int, int) int { return k })
		}
	}
	for _, r := range []struct {
		op    backend.Op
		scale uint8
		mask  int // the number of a lane and that of its source differ in these bits
	}{{asm.Vrev64, 2, 1}, {asm.Vrev64, 1, 3}, {asm.Vrev64, 0, 7}, {asm.Vrev32, 1, 1}, {asm.Vrev32, 0, 3}, {asm.Vrev16, 0, 1}} {
		add(inLanes(r.op, r.scale), true, func(i, _ int) int { return i ^ r.mask })
	}
	for scale := uint8(3); scale < 4; scale-- {
		add(inLanes(asm.Vzip1, scale), false, func(i, n int) int { return i/2 + i%2*n })
		add(inLanes(asm.Vzip2, scale), false, func(i, n int) int { return i/2 + n/2 + i%2*n })
		if scale == 3 { // where the others are the same
			continue
		}
		add(inLanes(asm.Vuzp1, scale), false, func(i, _ int) int { return 2 * i })
		add(inLanes(asm.Vuzp2, scale), false, func(i, _ int) int { return 2*i + 1 })
		add(inLanes(asm.Vtrn1, scale), false, func(i, n int) int { return i&^1 + i%2*n })
		add(inLanes(asm.Vtrn2, scale), false, func(i, n int) int { return i | 1 + i%2*n })
	}
	for k := 1; k < 16; k++ {
		add(backend.Inst{Op: asm.Vext, Size: 16, Imm: int64(k)}, false, func(i, _ int) int { return i + k })
	}
	return all
}

// sources are the vectors of a shuffle.
type sources [2]clif.Value

// fits reports whether p makes the bytes of want, and from which of the two sources.
func (p *permutation) fits(want *bytesOf) (first, second uint8, ok bool) {
	from := [2]uint8{2, 2} // not known
	for i, b := range p.bytes {
		if (b^want[i])&15 != 0 {
			return 0, 0, false
		}
		f := &from[b>>4]
		if *f == 2 {
			*f = want[i] >> 4
		}
		if *f != want[i]>>4 {
			return 0, 0, false
		}
	}
	return from[0], from[1] & 1, true
}

// shuffled returns the bytes and the sources of a vshuffle. If both sources are the same, all bytes are those of the first.
func shuffled(q *query, d *clif.InstData) (want bytesOf, src sources) {
	want, src = d.Lanes(), sources{d.ArgA(), d.ArgB()}
	if q.Resolve(src[0]) == q.Resolve(src[1]) {
		for i := range want {
			want[i] &= 15
		}
	}
	return want, src
}

// lowerVshuffle appends the first of the permutations that fits, a move of one lane, or a look-up.
func lowerVshuffle(l *lower, _ clif.Inst, d *clif.InstData) {
	want, src := shuffled(&l.Query, d)
	dst := l.Def(d, 0)
	all := permutations()
	for n := range all {
		p := &all[n]
		first, second, ok := p.fits(&want)
		switch {
		case ok && p.one:
			l.Emit(p.in, l.Use(src[first]), dst)
			return
		case ok:
			l.Emit(p.in, l.Use(src[first]), l.Use(src[second]), dst)
			return
		}
	}
	if !moveLane(l, &want, &src, dst) {
		lookUp(l, &want, &src, dst)
	}
}

// moveLane appends dst = a source with one lane replaced, if that is the shuffle, or the source itself.
func moveLane(l *lower, want *bytesOf, src *sources, dst vreg) bool {
	for base := range uint8(2) {
		lo, hi := 16, -1 // the bytes that are not those of the base
		for i, b := range want {
			if b != base<<4+uint8(i) {
				lo, hi = min(lo, i), i
			}
		}
		if hi < 0 {
			l.Emit(backend.Inst{Op: asm.Vmov, Size: 16}, l.Use(src[base]), dst)
			return true
		}
		for scale := range uint8(4) {
			to, width := lo>>scale, 1<<scale
			if hi>>scale != to {
				continue
			}
			from, whole := want[to<<scale], true
			for i := range width {
				whole = whole && want[to<<scale+i] == from+uint8(i)
			}
			if whole && from&uint8(width-1) == 0 {
				l.Emit(inLanesBy(asm.VinsLane, scale, asm.TwoLanes(uint8(to), from&15>>scale)), l.Use(src[base]), l.Use(src[from>>4]), dst)
				return true
			}
		}
	}
	return false
}

// lookUp appends dst = the bytes of the sources, by tables of indices. A table of two registers would need neighbours; instead the
// second look-up keeps what the first one has found.
func lookUp(l *lower, want *bytesOf, src *sources, dst vreg) {
	var index [2]bytesOf
	var used [2]bool
	for i, b := range want {
		index[0][i], index[1][i] = 0xff, 0xff
		if low, high, ok := l.Vconst(src[b>>4]); !ok || low|high != 0 {
			index[b>>4][i], used[b>>4] = b&15, true
		}
	}
	indices := func(k int) vreg {
		return l.SharedVector(endian.LittleEndian.Uint64(index[k][:]), endian.LittleEndian.Uint64(index[k][8:]))
	}
	if used[0] && used[1] {
		first := vectorOf(l, inLanes(asm.Vtbl, 0), l.Use(src[0]), indices(0))
		l.Emit(inLanes(asm.Vtbx, 0), first, l.Use(src[1]), indices(1), dst)
		return
	}
	k := 0
	if used[1] {
		k = 1
	}
	l.Emit(inLanes(asm.Vtbl, 0), l.Use(src[k]), indices(k), dst)
}
