package machbuffer

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// marks emits n mark instructions, with islands where needed, and returns how many islands there were.
func (e *emitter) marks(n int) (islands int) {
	for range n {
		before := e.Offset()
		e.EmitIslandMaybe(3)
		if e.Offset() != before {
			islands++
		}
		e.PutBytes([]byte{opMark, 1, 0})
	}
	return islands
}

func islandEmitter() *emitter {
	b := New(synthetic(true))
	b.checkBinds = true
	return &emitter{Buffer: b, veneers: true}
}

// follow returns where the branch whose use is at offset use leads in the end, and over how many veneers.
func follow(code []byte, use, size int) (at, hops int) {
	for {
		switch size {
		case 1:
			use += int(int8(code[use]))
		case 2:
			use += int(int16(binary.LittleEndian.Uint16(code[use:])))
		default:
			use += int(int32(binary.LittleEndian.Uint32(code[use:])))
		}
		if op := code[use]; op < opJumpS || op > opJumpL {
			return use, hops
		} else {
			size = relSize[op-opJumpS]
		}
		use++
		hops++
	}
}

func TestVeneerChain(t *testing.T) {
	for _, tc := range []struct {
		marks, hops, islands int
		shrink               uint32
	}{
		{20, 0, 0, 1}, {60, 1, 1, 1}, {1200, 1, 1, 1}, {1500, 2, 2, 1}, {20, 2, 1, 1000},
	} {
		e := islandEmitter()
		e.ShrinkRanges(tc.shrink)
		l := e.NewLabel()
		e.cond(useS, 5, l)
		islands := e.marks(tc.marks)
		e.PutU8(opHalt)
		e.Bind(l)
		at := e.Offset()
		e.PutU8(opHalt)
		r, err := e.Finish()
		if err != nil {
			t.Fatal(err)
		}
		got, hops := follow(r.Code, 3, 1)
		if got != int(at) || hops != tc.hops || islands != tc.islands {
			t.Errorf("%d marks: leads to %d over %d veneers, %d islands; want %d, %+v", tc.marks, got, hops, islands, at, tc)
		}
	}
}

func TestBackwardVeneer(t *testing.T) {
	e := islandEmitter()
	l := e.NewLabel()
	e.Bind(l)
	e.marks(50)
	use := int(e.Offset()) + 3
	e.cond(useS, 5, l)
	e.PutU8(opHalt)
	r, err := e.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if at, hops := follow(r.Code, use, 1); at != 0 || hops != 1 {
		t.Errorf("leads to %d over %d veneers", at, hops)
	}
}

// A landing serves in place of a veneer.
func TestLandingInsteadOfVeneer(t *testing.T) {
	e := islandEmitter()
	l, far, next := e.NewLabel(), e.NewLabel(), e.NewLabel()
	e.cond(useS, 5, l)
	e.PutBytes([]byte{opMark, 1, 0})
	e.Bind(l)
	start := e.Offset()
	e.PutBytes([]byte{opJumpL, 0, 0, 0, 0})
	e.UncondBranch(start, start+1, useL, far)
	e.Bind(next)
	if n := e.marks(60); n != 1 {
		t.Errorf("%d islands", n)
	}
	e.Bind(far)
	at := e.Offset()
	e.PutU8(opHalt)
	r, err := e.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if got, hops := follow(r.Code, 3, 1); got != int(at) || hops != 1 || int(start) != 3+int(int8(r.Code[3])) {
		t.Errorf("leads to %d over %d branches, first to %d", got, hops, 3+int(int8(r.Code[3])))
	}
}

func TestIslandAround(t *testing.T) {
	for _, tc := range []struct {
		name   string
		before func(e *emitter, l Label)
		around bool
	}{
		{"straight code", func(e *emitter, l Label) { e.PutBytes([]byte{opMark, 0, 0}) }, true},
		{"after a branch", func(e *emitter, l Label) { e.jumpTo(useL, l) }, false},
		{"after a conditional branch", func(e *emitter, l Label) { e.cond(useL, 1, l) }, true},
		{"at a label", func(e *emitter, l Label) { e.jumpTo(useL, l); e.Bind(e.NewLabel()) }, true},
		{"after a return", func(e *emitter, l Label) { e.PutU8(opHalt); e.NoFallThrough() }, false},
		{"at a label after a return", func(e *emitter, l Label) {
			e.PutU8(opHalt)
			e.NoFallThrough()
			e.Bind(e.NewLabel())
		}, true},
		{"after an island", func(e *emitter, l Label) {
			e.PutU8(opHalt)
			e.NoFallThrough()
			e.Constant([]byte{7, 7}, 1)
			e.EmitIsland(0)
		}, false},
	} {
		e := islandEmitter()
		l := e.NewLabel()
		tc.before(e, l)
		c := e.Constant([]byte{9, 9, 9, 9}, 4)
		d := e.DeferTrap(3, 4)
		at := e.Offset()
		e.UseLabel(at-1, useConst, c) // anything: it is overwritten below
		e.queues[1][useConst].uses = nil
		e.EmitIsland(10)
		if err := e.CheckInvariants(); err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		got := e.buf[at] == opJumpL
		if got != tc.around {
			t.Errorf("%s: around %v", tc.name, got)
		}
		if got {
			if end, _ := follow(append(e.buf, 0), int(at)+1, 4); end != int(e.Offset()) {
				t.Errorf("%s: leads to %d, island ends at %d", tc.name, end, e.Offset())
			}
		}
		cp, _ := e.LabelOffset(c)
		dp, ok := e.LabelOffset(d)
		if !ok || e.buf[cp] != 9 || e.buf[dp] != opTrap || cp%4 != 0 {
			t.Errorf("%s: constant at %d, trap at %d", tc.name, cp, dp)
		}
		size := e.Offset()
		if e.EmitIsland(10); e.Offset() != size {
			t.Errorf("%s: an empty island has %d bytes", tc.name, e.Offset()-size)
		}
	}
}

func (e *emitter) jumpTo(k UseKind, l Label) {
	start := e.Offset()
	p := e.Reserve(8)
	clear(p)
	p[0] = jumpOps[k]
	e.Advance(1 + relSize[k])
	e.UncondBranch(start, start+1, k, l)
}

// Without calls of EmitIslandMaybe a deadline is missed, and that is an error.
func TestMissedDeadline(t *testing.T) {
	e := islandEmitter()
	l := e.NewLabel()
	e.cond(useS, 5, l)
	e.PutBytes(make([]byte, 200))
	e.EmitIsland(3)
	e.Bind(l)
	e.PutU8(opHalt)
	if _, err := e.Finish(); !errors.Is(err, ErrOutOfRange) {
		t.Errorf("error %v", err)
	}
}

// The invariants hold for deadlines too: many short branches with targets far ahead, at the densest.
func TestDenseBranches(t *testing.T) {
	for _, shrink := range []uint32{1, 3, 1000} {
		e := islandEmitter()
		e.ShrinkRanges(shrink)
		first := e.NewLabels(1000)
		uses := make([]int, 1000)
		for i := range uses {
			e.EmitIslandMaybe(4)
			uses[i] = int(e.Offset()) + 3
			e.cond(useS, uint16(i), first+Label(i))
		}
		e.marks(500)
		e.PutU8(opHalt)
		var at []int
		for i := range uses {
			e.EmitIslandMaybe(3)
			e.Bind(first + Label(i))
			at = append(at, int(e.Offset()))
			e.PutBytes([]byte{opMark, byte(i), byte(i >> 8)})
		}
		e.PutU8(opHalt)
		r, err := e.Finish()
		if err != nil {
			t.Fatalf("shrink %d: %v", shrink, err)
		}
		for i, u := range uses {
			if got, _ := follow(r.Code, u, 1); got != at[i] {
				t.Fatalf("shrink %d: branch %d leads to %d, want %d", shrink, i, got, at[i])
			}
		}
	}
}

// Each planted fault must be found by the invariant it breaks.
func TestCheckInvariantsFinds(t *testing.T) {
	for i, tc := range []struct {
		want   string
		damage func(b *Buffer)
	}{
		{"I1", func(b *Buffer) { q := &b.queues[0][rel32]; q.uses[0], q.uses[1] = q.uses[1], q.uses[0] }},
		{"I1", func(b *Buffer) { b.queues[0][rel32].uses[1].off += 10 }},
		{"I2", func(b *Buffer) { b.branches[0].end++ }},
		{"I2", func(b *Buffer) { b.branches[1].use++ }},
		{"I3", func(b *Buffer) { b.pos[b.stack[0]]++ }},
		{"I3", func(b *Buffer) { b.pos[b.stack[len(b.stack)-1]]-- }},
		{"I3", func(b *Buffer) { b.stack = b.stack[:len(b.stack)-1] }},
		{"I3", func(b *Buffer) { b.pos[b.NewLabel()] = 500 }},
		{"I4", func(b *Buffer) { l := b.NewLabels(2); b.alias[l], b.alias[l+1] = l+1, l }},
		{"I4", func(b *Buffer) { l := b.NewLabels(2); b.alias[l] = l + 1 }},
		{"I5", func(b *Buffer) { l := b.NewLabel(); b.alias[b.stack[0]], b.parent[b.stack[0]] = l, l }},
		{"I6", func(b *Buffer) { b.flags[b.NewLabel()] = flagBound }},
		{"I6", func(b *Buffer) { clear(b.narrow) }},
		{"I8", func(b *Buffer) { l := b.Constant([]byte{1}, 1); b.UseLabel(0, rel32, l); b.deadline = noDeadline }},
		{"I9", func(b *Buffer) { b.veneerCost++ }},
		{"I10", func(b *Buffer) { b.relocs = []Reloc{{Offset: 2}, {Offset: 1}} }},
		{"I10", func(b *Buffer) { b.traps = []Trap{{Offset: 100}} }},
		{"I10", func(b *Buffer) { b.stackMaps = []StackMap{{Return: 100}} }},
		{"I10", func(b *Buffer) { b.calls = []CallSite{{Return: 100}} }},
	} {
		a := newAsm(t)
		a.text("nop; X: je8 A; Y: jmp B; je C; Z:")
		if err := a.CheckInvariants(); err != nil {
			t.Fatal(err)
		}
		tc.damage(a.Buffer)
		if err := a.CheckInvariants(); err == nil || !strings.HasPrefix(err.Error(), tc.want+":") {
			t.Errorf("fault %d: %v, want %s", i, err, tc.want)
		}
	}
	a := newAsm(t)
	a.text("nop")
	a.veneerCost++
	mustPanic(t, "Bind with a broken invariant", func() { a.text("A:") })
}

// Steady state allocates nothing.
func TestNoAllocations(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	p := randomProgram(rng, 80, math.MaxInt)
	b := New(synthetic(true))
	e := &emitter{Buffer: b, p: p, rng: rng, veneers: true}
	e.bound = make([]uint32, len(p.blocks)+1)
	for i := range p.blocks {
		for j := range p.blocks[i].items { // the oracle's constants allocate
			p.blocks[i].items[j].kind = itemMark
		}
		e.bound[i+1] = e.bound[i] + e.worst(&p.blocks[i])
	}
	var data [8]byte
	run := func() {
		b.Reset()
		b.Constant(data[:], 8)
		e.first = b.NewLabels(len(p.blocks))
		for i := range p.blocks {
			e.block(i)
		}
		if _, err := b.Finish(); err != nil {
			t.Fatal(err)
		}
	}
	run()
	if n := testing.AllocsPerRun(10, run); n != 0 {
		t.Errorf("%v allocations per function", n)
	}
}

// BenchmarkEmit emits functions of 64 blocks of four 8-byte stores of up to 6 bytes each, a compare's bytes and a
// two-way branch.
func BenchmarkEmit(bb *testing.B) {
	target, err := NewTarget(x64Desc())
	if err != nil {
		bb.Fatal(err)
	}
	b := New(target)
	const blocks = 64
	near := CondForms{N: 2}
	for i, k := range [2]UseKind{rel8, rel32} {
		near.Same[i], near.Inverted[i] = jccForm(k, 4), jccForm(k, 5)
	}
	jcc := [8]byte{0x0f, 0x84, 0xfc, 0xff, 0xff, 0xff}
	jmp := [8]byte{0xe9, 0xfc, 0xff, 0xff, 0xff}
	size := 0
	for bb.Loop() {
		b.Reset()
		b.NewLabels(blocks + 8)
		for i := range Label(blocks) {
			b.Bind(i)
			for j := range uint64(5) {
				binary.LittleEndian.PutUint64(b.Reserve(8), 0x909090909090^j)
				b.Advance(3 + int(j)%4)
			}
			start := b.Offset()
			binary.LittleEndian.PutUint64(b.Reserve(8), binary.LittleEndian.Uint64(jcc[:]))
			b.Advance(6)
			b.CondBranch(start, start+2, rel32, i+1+i%3, &near)
			start = b.Offset()
			binary.LittleEndian.PutUint64(b.Reserve(8), binary.LittleEndian.Uint64(jmp[:]))
			b.Advance(5)
			b.UncondBranch(start, start+1, rel32, i+1)
		}
		for i := range Label(8) {
			b.Bind(blocks + i)
		}
		b.PutU8(0xc3)
		r, err := b.Finish()
		if err != nil {
			bb.Fatal(err)
		}
		size = len(r.Code)
	}
	bb.SetBytes(int64(size))
	bb.ReportMetric(float64(bb.Elapsed().Nanoseconds())/float64(bb.N)/(blocks*7), "ns/inst")
}

// BenchmarkBranchChains is the worst case for edits: long runs of branches and empty blocks.
func BenchmarkBranchChains(bb *testing.B) {
	target, err := NewTarget(x64Desc())
	if err != nil {
		bb.Fatal(err)
	}
	b := New(target)
	const n = 20000
	for bb.Loop() {
		b.Reset()
		b.NewLabels(2*n + 1)
		for i := range Label(n) { // conditional branches without end, then all targets at one place
			start := b.Offset()
			b.PutBytes([]byte{0x0f, 0x84, 0xfc, 0xff, 0xff, 0xff})
			b.CondBranch(start, start+2, rel32, 2*n-i, nil)
		}
		for i := range Label(2 * n) {
			b.Bind(2*n - i)
			if i >= n {
				start := b.Offset()
				b.PutBytes([]byte{0xe9, 0xfc, 0xff, 0xff, 0xff})
				b.UncondBranch(start, start+1, rel32, 0)
			}
		}
		b.Bind(0)
		b.PutU8(0xc3)
		if _, err := b.Finish(); err != nil {
			bb.Fatal(err)
		}
	}
	bb.ReportMetric(float64(bb.Elapsed().Nanoseconds())/float64(bb.N)/(2*n), "ns/branch")
}

func TestTrapCode(t *testing.T) {
	d := x64Desc()
	d.TrapCode = func(p []byte, code uint8) { p[1] ^= code }
	b := New(newTarget(t, d))
	for code := range uint8(3) {
		at := b.Offset()
		b.PutBytes([]byte{0x0f, 0x84, 0xfc, 0xff, 0xff, 0xff})
		b.UseLabel(at+2, rel32, b.DeferTrap(code, 1))
	}
	b.NoFallThrough()
	r, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	for code := range uint32(3) {
		if at := r.Traps[code].Offset; r.Code[at] != 0x0f || r.Code[at+1] != 0x0b^byte(code) {
			t.Errorf("trap %d is % x", code, r.Code[at:at+2])
		}
	}
}
