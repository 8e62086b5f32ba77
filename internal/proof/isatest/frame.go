package isatest

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/regalloc"
)

// This file tests frames: how they are entered and left, what is saved in them, where the stack pointer is at calls.

// Walk is what entering and leaving a function without a body does to the stack. Places are distances in bytes from the stack
// pointer in the caller, which is aligned.
type Walk struct {
	// Touched are the places that are read or written, in order; the lowest byte counts.
	Touched []int
	// Body is the stack pointer behind the entry, End behind the return.
	Body, End int
	// Stored is the lowest place that a register is saved at; 0 if none is.
	Stored int
	// Lost are the registers that the body gives other values, and that do not have their old values at the end.
	Lost regalloc.PRegSet
}

const (
	// guardPage is the least guard that a stack may have, in bytes.
	guardPage = 4096
	// below bounds how far below the stack pointer a callee's first access is: a return address and a frame pointer.
	below = 16
)

// testEntries: whatever the size of its frame, a function touches the stack from the top down, nowhere more than a page below
// the lowest place so far, and gives its callees an aligned stack pointer. It saves the registers that it changes within
// its frame and gives them back.
func testEntries(t *testing.T, on *Machine) {
	m := &module{on: on}
	many := make([]clif.Type, 100)
	for i := range many {
		many[i] = clif.I64
	}
	for _, n := range []int{0, 11, 13, len(many)} {
		m.Fn(many[:n], nil, func(b *clif.Builder, _ []clif.Value) { b.Return(nil) })
	}
	plain := m.Defined[0]
	m.AddInit()
	var words int
	var used regalloc.PRegSet
	p := &planter{after: func(_ *regalloc.Input, out *regalloc.Output) {
		out.SlotWords, out.Used = words, out.Used|used
	}}
	target, err := on.Target(on.Levels[0])
	if err != nil {
		t.Fatal(err)
	}
	saved := target.Env.CalleeSaved
	pop := func(f *clif.Func) int { return poppedBytes(target, len(f.Signature().Params)) }
	c := m.planted(t, p, false)
	bad, n := 0, 0
	check := func(f *clif.Func) {
		t.Helper()
		n++
		code, err := c.Compile(f)
		if err != nil {
			t.Fatal(err)
		}
		w, err := on.Walk(code.Bytes, used)
		if err == nil {
			err = w.check(int(code.FrameBytes), pop(f), 8*words, 0)
		}
		if err != nil {
			if bad++; bad < 10 {
				t.Errorf("%d words of slots, registers %#x saved, %d bytes of arguments: %v", words, uint64(used), pop(f), err)
			}
		}
	}
	// Each size up to some pages, and those around the sizes where the code changes.
	for words = 0; words < 6*guardPage/8; words++ {
		check(plain)
	}
	for pages := 6; pages <= 300; pages += 1 + pages/20 {
		for near := -5; near <= 5; near++ {
			words = pages*guardPage/8 + near
			check(plain)
		}
	}
	rng := rand.New(rand.NewSource(1))
	for n := range 3000 { // each set of the fewer registers, many of the more
		used = subset(saved, uint64(n))
		if n >= 1<<saved.Len() || saved.Len() > 10 {
			used = subset(saved, rng.Uint64())
		}
		words = rng.Intn(8)
		if n%10 == 0 {
			words = rng.Intn(5000)
		}
		check(m.Defined[n%4])
	}
	t.Logf("%d functions, %d are wrong", n, bad)
	// The walk must notice wrong code, or nothing was said: each bit in turn. What it need not notice is a place
	// that is read to probe it, elsewhere in the page or beside it, and an instruction that comes to the same.
	flips, unnoticed := 0, 0
	f := m.Defined[1]
	for _, words = range []int{3, 1500, 5000} {
		used = saved
		code, err := c.Compile(f)
		if err != nil {
			t.Fatal(err)
		}
		for bit := range 8 * len(code.Bytes) {
			code.Bytes[bit/8] ^= 1 << (bit % 8)
			w, err := on.Walk(code.Bytes, used)
			if err == nil {
				err = w.check(int(code.FrameBytes), pop(f), 8*words, 0)
			}
			if flips++; err == nil {
				unnoticed++
			}
			code.Bytes[bit/8] ^= 1 << (bit % 8)
		}
	}
	t.Logf("%d bits wrong, %d unnoticed", flips, unnoticed)
	if unnoticed > flips/40 {
		t.Error("too many")
	}
}

// subset returns the registers of set whose bits, counted among the set's, are set.
func subset(set regalloc.PRegSet, bits uint64) (out regalloc.PRegSet) {
	for ; set != 0; bits >>= 1 {
		r := set.First()
		set = set.Remove(r)
		if bits&1 != 0 {
			out = out.Add(r)
		}
	}
	return out
}

// poppedBytes returns how many bytes of arguments a function with the given number of integer parameters pops.
func poppedBytes(target *backend.Target, params int) int {
	return 16 * ((max(params-len(target.Conv.IntArgs), 0) + 1) / 2)
}

// testTailEntries is testEntries for functions that end in a tail call. At the jump the stack is as at a call of the callee by the function's own caller, which has pushed
// arguments that end where those of the function do: the return address, or on a machine with a link register the stack pointer, is right below them.
func testTailEntries(t *testing.T, on *Machine) {
	m := &module{on: on}
	counts := []int{1, 11, 12, 13, 100, 521, 990}
	for _, n := range counts {
		m.Fn(slices.Repeat(i64, n), nil, func(b *clif.Builder, _ []clif.Value) { b.Return(nil) })
	}
	plain := clif.FuncIndex(len(m.Funcs) - len(counts))
	for _, own := range counts {
		for k, n := range counts {
			m.Fn(slices.Repeat(i64, own), nil, func(b *clif.Builder, p []clif.Value) { b.ReturnCall(plain+clif.FuncIndex(k), slices.Repeat(p[:1], n)) })
		}
	}
	m.AddInit()
	target, err := on.Target(on.Levels[0])
	if err != nil {
		t.Fatal(err)
	}
	var words int
	var used regalloc.PRegSet
	c := m.planted(t, &planter{after: func(_ *regalloc.Input, out *regalloc.Output) { // the walk knows no moves
		out.SlotWords, out.Used, out.Edits = words, used, nil
	}}, true)
	rng := rand.New(rand.NewSource(2))
	bad, flips, unnoticed := 0, 0, 0
	for i, own := range counts {
		for k, n := range counts {
			f := m.Defined[(i+1)*len(counts)+k]
			pop, callee := poppedBytes(target, own), poppedBytes(target, n)
			for range 20 {
				words, used = rng.Intn(8), subset(target.Env.CalleeSaved, rng.Uint64())
				if rng.Intn(4) == 0 {
					words = rng.Intn(3000)
				}
				code, err := c.Compile(f)
				if err != nil {
					t.Fatal(err)
				}
				walk := func() error {
					w, err := on.Walk(code.Bytes, used)
					if err == nil {
						err = w.check(int(code.FrameBytes), pop-callee, 8*words, max(0, callee-pop))
					}
					return err
				}
				if err := walk(); err != nil {
					if bad++; bad < 10 {
						t.Errorf("%d parameters, a tail call of a function with %d, %d words of slots, registers %#x: %v", own, n, words, uint64(used), err)
					}
				}
				bit := rng.Intn(8 * (len(code.Bytes) - 4)) // but the distance of the jump
				code.Bytes[bit/8] ^= 1 << (bit % 8)
				if flips++; walk() == nil {
					unnoticed++
				}
			}
		}
	}
	t.Logf("%d functions, %d are wrong; of %d bits that are wrong, %d are not noticed", flips, bad, flips, unnoticed)
	if unnoticed > flips/20 {
		t.Error("too many")
	}
}

// check returns what is wrong with the walk of a function. frame, pop and slots are the bytes of its frame, arguments and spill slots, and grown how much longer it makes its
// argument area.
func (w *Walk) check(frame, pop, slots, grown int) error {
	if len(w.Touched) == 0 || w.Touched[0] < -below { // what the caller has touched last may be nearly a page above
		return fmt.Errorf("the first places touched are %d", w.Touched[:min(len(w.Touched), 2)])
	}
	low := 0 // the lowest place touched
	for _, at := range w.Touched {
		if at < low-guardPage {
			return fmt.Errorf("%d is touched when %d is the lowest so far", at, low)
		}
		low = min(low, at)
	}
	switch {
	case w.Body < low-guardPage+below:
		return fmt.Errorf("the stack pointer is at %d, the lowest place touched is %d", w.Body, low)
	case w.Body%16 != 0:
		return fmt.Errorf("the stack pointer is at %d in the body", w.Body)
	case w.Body+frame != -below-grown || frame < slots:
		return fmt.Errorf("the stack pointer is at %d with a frame of %d bytes, %d of them slots", w.Body, frame, slots)
	case w.Stored != 0 && w.Stored < w.Body+slots:
		return fmt.Errorf("a register is saved at %d, the frame begins at %d with %d bytes of slots", w.Stored, w.Body, slots)
	case w.End != pop:
		return fmt.Errorf("the stack pointer is at %d behind the return, not %d", w.End, pop)
	case w.Lost != 0:
		return fmt.Errorf("registers %v are lost", w.Lost)
	}
	return nil
}

// deep adds a function (n, never) -> i64 that calls itself n times and returns n. Its frame has room for the given numbers of
// words of results and arguments of a call, which is made only if never is not 0.
func (m *module) deep(results, args int) clif.FuncIndex {
	ints := func(n int) []clif.Type { return slices.Repeat(i64, n) }
	wide := clif.Signature{Results: ints(results + 4)} // four of them in registers, as are eight arguments
	if args > 0 {
		wide.Params = ints(args + 8)
	}
	m.Sigs = append(m.Sigs, wide)
	sig := clif.SigIndex(len(m.Sigs) - 1)
	self := clif.FuncIndex(len(m.Funcs))
	return m.Fn([]clif.Type{clif.I64, clif.I32}, i64, func(b *clif.Builder, p []clif.Value) {
		odd, even, more, end := b.NewBlock(), b.NewBlock(), b.NewBlock(), b.NewBlock()
		b.Branch(p[1], b.Target(odd, nil), b.Target(even, nil))
		b.SwitchTo(odd)
		b.CallRef(sig, b.RefNull(clif.FuncRef), slices.Repeat(p[:1], len(wide.Params)))
		b.Jump(b.Target(even, nil))
		b.SwitchTo(even)
		zero := b.Iconst(clif.I64, 0)
		b.Branch(b.Icmp(clif.Ne, clif.I64, p[0], zero), b.Target(more, nil), b.Target(end, nil))
		b.SwitchTo(more)
		one := b.Iconst(clif.I64, 1)
		r := b.Call(self, []clif.Value{b.Binary(clif.OpIsub, clif.I64, p[0], one), p[1]})
		b.Return([]clif.Value{b.Binary(clif.OpIadd, clif.I64, r, one)})
		b.SwitchTo(end)
		b.Return([]clif.Value{zero})
	})
}

// testGuard: the stack ends with a trap, however large the frames are and wherever in the stack they begin, and the
// next call finds it in order.
func testGuard(t *testing.T, on *Machine) {
	m := &module{on: on}
	type deep struct {
		results, args int
		fn            clif.FuncIndex
	}
	var fns []deep
	for _, words := range []int{0, 500, 507, 508, 509, 510, 511, 512, 513, 1020, 1023, 1024, 1025, 2048, 2560, 8191, 8192, 8193, 16384, 20480, 32768, 65000} {
		fns = append(fns, deep{words, 0, m.deep(words, 0)})
	}
	for _, words := range []int{504, 512, 1024, 2500, 8192, 20480} {
		fns = append(fns, deep{0, words, m.deep(0, words)}, deep{words + 3, words, m.deep(words+3, words)})
	}
	// starts(k, n, f) calls f with n at depth k. Each level takes a number of bytes that does not divide a page.
	self := clif.FuncIndex(len(m.Funcs))
	sig := m.Funcs[fns[0].fn].Sig
	starts := m.Fn([]clif.Type{clif.I64, clif.I64, clif.I32}, i64, func(b *clif.Builder, p []clif.Value) {
		more, end := b.NewBlock(), b.NewBlock()
		b.Branch(b.Icmp(clif.Ne, clif.I64, p[0], b.Iconst(clif.I64, 0)), b.Target(more, nil), b.Target(end, nil))
		b.SwitchTo(more)
		r := b.Call(self, []clif.Value{b.Binary(clif.OpIsub, clif.I64, p[0], b.Iconst(clif.I64, 1)), p[1], p[2]})
		b.Return([]clif.Value{r})
		b.SwitchTo(end)
		var targets []clif.Target
		var blocks []clif.Block
		for range fns {
			blk := b.NewBlock()
			blocks, targets = append(blocks, blk), append(targets, b.Target(blk, nil))
		}
		b.BrTable(p[2], targets)
		for k, blk := range blocks {
			b.SwitchTo(blk)
			r := b.CallRef(sig, b.FuncAddr(fns[k].fn), []clif.Value{p[1], b.Iconst(clif.I32, 0)})
			b.Return([]clif.Value{r})
		}
	})
	for k := range fns { // one type for all
		m.Funcs[fns[k].fn].Sig, m.Defined[fns[k].fn].Sig = sig, sig
	}
	pads := []uint64{0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610, 987}
	t.Logf("%d frames at %d depths", len(fns), len(pads))
	m.each(t, func(t *testing.T, level string, in Instance) {
		for k, f := range fns {
			for _, pad := range pads {
				_, trap, err := in.Call(starts, pad, 1<<40, uint64(k))
				if err != nil || trap == nil || trap.Code != abi.TrapStackOverflow {
					t.Fatalf("%s: frames with %d and %d words, %d below the start: %v, %v", level, f.results, f.args, pad, trap, err)
				}
				if got := outcome(in, starts, pad, 0, uint64(k)); got != "[0x0]" {
					t.Fatalf("%s: frames with %d and %d words, %d below the start: %s", level, f.results, f.args, pad, got)
				}
			}
		}
	})
}

// testStackAlignment: the stack pointer is aligned at each call, whatever is in the frame: saved registers, spill slots, results
// and arguments in memory, an odd number of words of each; also behind calls that have popped arguments. Where helpers are in C
// they look, too.
func testStackAlignment(t *testing.T, on *Machine) {
	with := *on
	m := &module{on: &with}
	m.Memories = []clif.MemoryDecl{{Min: 1}}
	// Its code is replaced by the machine's, which gives the misalignment of the stack pointer in the caller.
	probe := m.Fn(nil, i64, func(b *clif.Builder, _ []clif.Value) { b.Return([]clif.Value{b.Iconst(clif.I64, 0x123456789abcdef)}) })
	with.Options.Trace = &backend.Trace{Code: func(f *clif.Func, c *backend.Code) {
		if f.Index == probe && copy(c.Bytes, on.Misalignment) < len(on.Misalignment) {
			panic("the code does not fit")
		}
	}}
	type call struct {
		fn   clif.FuncIndex
		args int
		want uint64
	}
	var calls []call
	for alive := range 24 {
		for _, words := range [][2]int{{0, 0}, {1, 0}, {2, 0}, {0, 1}, {0, 2}, {1, 1}, {3, 5}, {4, 2}} {
			nargs := 8 + words[0]
			args, results := make([]clif.Type, nargs), make([]clif.Type, 4+words[1])
			for i := range args {
				args[i] = clif.I64
			}
			for i := range results {
				results[i] = clif.I64
			}
			callee := m.Fn(args, results, func(b *clif.Builder, p []clif.Value) {
				out := make([]clif.Value, len(results))
				x := b.Call(probe, nil)
				for i := range out {
					out[i] = x
				}
				b.Return(out)
			})
			want := uint64(0)
			for k := range alive {
				want += uint64(k % nargs)
			}
			fn := m.Fn(args, i64, func(b *clif.Builder, p []clif.Value) {
				var live []clif.Value
				for k := range alive {
					live = append(live, b.Binary(clif.OpIadd, clif.I64, p[k%nargs], b.Iconst(clif.I64, uint64(k)<<20)))
				}
				sum := b.Call(probe, nil)
				for range 2 {
					b.EntityEffect(clif.OpMemoryFill, clif.Invalid, 0, 0, b.Iconst(clif.I64, 0), b.Iconst(clif.I32, 0), b.Iconst(clif.I64, 1))
					b.Entity(clif.OpMemoryGrow, clif.Invalid, 0, b.Iconst(clif.I32, 0))
					first := b.Call(callee, p)
					sum = b.Binary(clif.OpBor, clif.I64, sum, first)
					sum = b.Binary(clif.OpBor, clif.I64, sum, first+clif.Value(len(results)-1))
					sum = b.Binary(clif.OpBor, clif.I64, sum, b.CallRef(m.Funcs[probe].Sig, b.FuncAddr(probe), nil))
				}
				sum = b.Binary(clif.OpIshl, clif.I64, sum, b.Iconst(clif.I64, 60))
				for k, x := range live {
					sum = b.Binary(clif.OpIadd, clif.I64, sum, b.Binary(clif.OpIsub, clif.I64, x, b.Iconst(clif.I64, uint64(k)<<20)))
				}
				b.Return([]clif.Value{sum})
			})
			calls = append(calls, call{fn, nargs, want})
		}
	}
	t.Logf("%d functions", len(calls))
	m.each(t, func(t *testing.T, level string, in Instance) {
		for _, c := range calls {
			args := make([]uint64, c.args)
			for i := range args {
				args[i] = uint64(i)
			}
			if got, want := outcome(in, c.fn, args...), fmt.Sprintf("[%#x]", c.want); got != want {
				t.Fatalf("%s: function %d: %s, want %s: the highest digit is the misalignment\n%s", level, c.fn, got, want, in.Code(c.fn))
			}
		}
	})
}

// alive makes i integers and f floats of arguments, an i64 and an f64. What it returns makes a number that depends on each and on sum.
func (s *suite) alive(b *clif.Builder, p []clif.Value, i, f int) (mix func(sum clif.Value) clif.Value) {
	number := uint64(1000*len(s.Defined) + 3) // so that no two functions have the same values in their registers
	var xs, ys []clif.Value
	for k := range i {
		xs = append(xs, b.Binary(clif.OpImul, clif.I64, p[0], b.Iconst(clif.I64, number+uint64(2*k))))
	}
	for k := range f {
		ys = append(ys, b.Binary(clif.OpFmul, clif.F64, p[1], b.Fconst(clif.F64, 0x3ff8000000000000+uint64(k)<<48+number)))
	}
	return func(sum clif.Value) clif.Value {
		add := func(x clif.Value) {
			sum = b.Binary(clif.OpIadd, clif.I64, b.Binary(clif.OpImul, clif.I64, sum, b.Iconst(clif.I64, 31)), x)
		}
		for _, x := range xs {
			add(x)
		}
		for _, y := range ys {
			add(b.Unary(clif.OpBitcast, clif.I64, y))
		}
		return sum
	}
}

// keeper adds a function that has i integers and f floats live across a call of callee, and gives a number that depends on each. If it has a
// quick way, it does nothing where its first argument is 0.
func (s *suite) keeper(i, f int, callee clif.FuncIndex, quick bool) clif.FuncIndex {
	return s.Fn([]clif.Type{clif.I64, clif.F64}, i64, func(b *clif.Builder, p []clif.Value) {
		var join clif.Block
		if quick {
			fast, slow := b.NewBlock(), b.NewBlock()
			join = b.NewBlock()
			b.Branch(b.Unary(clif.OpIreduce, clif.I32, p[0]), b.Target(slow, nil), b.Target(fast, nil))
			b.SwitchTo(fast)
			b.Jump(b.Target(join, []clif.Value{b.Iconst(clif.I64, 7)}))
			b.SwitchTo(slow)
		}
		mix := s.alive(b, p, i, f)
		sum := b.Iconst(clif.I64, 0)
		if len(s.FuncSig(callee).Params) == 0 {
			b.Call(callee, nil)
		} else {
			sum = b.Call(callee, p)
		}
		sum = mix(sum)
		if quick {
			b.Jump(b.Target(join, []clif.Value{sum}))
			sum = b.AddParam(join, clif.I64)
			b.SwitchTo(join)
		}
		b.Return([]clif.Value{sum})
	})
}

// testSavedRegisters: values in all callee-saved registers survive calls of functions that change one, two, or all of them,
// themselves or through their own callees.
func testSavedRegisters(t *testing.T, on *Machine) {
	target, err := on.Target(on.Levels[0])
	if err != nil {
		t.Fatal(err)
	}
	s := newSuite(on)
	nop := s.Fn(nil, nil, func(b *clif.Builder, _ []clif.Value) { b.Return(nil) })
	ints, floats := len(target.Conv.CalleeSavedInt), len(target.Conv.CalleeSavedFloat)
	for i := range ints + 2 {
		for f := range floats + 2 {
			inner := s.keeper(i, f, nop, false)
			s.call(s.keeper(ints, floats, inner, false), fmt.Sprintf("%d integers, %d floats", i, f), 0x123456789, 0x4009_21fb_5444_2d18)
			s.call(s.keeper(ints, floats, s.keeper(ints-min(i, ints), 1, inner, false), false), fmt.Sprintf("%d integers, %d floats, further in", i, f), 77, 0x3ff0_0000_0000_0001)
		}
	}
	s.run(t)
}

// testQuickWays: the same where functions have a quick way, on which they save nothing, and on the other way. The code says between which
// offsets the registers are saved.
func testQuickWays(t *testing.T, on *Machine) {
	target, err := on.Target(on.Levels[0])
	if err != nil {
		t.Fatal(err)
	}
	s := newSuite(on)
	nop := s.Fn(nil, nil, func(b *clif.Builder, _ []clif.Value) { b.Return(nil) })
	ints, floats := len(target.Conv.CalleeSavedInt), len(target.Conv.CalleeSavedFloat)
	var quick []clif.FuncIndex
	for i := range ints + 1 {
		for f := range floats + 1 {
			inner := s.keeper(i, f, nop, true)
			quick = append(quick, inner)
			for _, n := range []uint64{0, 5} {
				s.call(s.keeper(ints, floats, inner, false), fmt.Sprintf("%d integers, %d floats", i, f), n<<32, 0x4009_21fb_5444_2d18)
				s.call(s.keeper(ints, floats, inner, false), fmt.Sprintf("%d integers, %d floats, slow", i, f), n<<32|1, 0x4009_21fb_5444_2d18)
			}
		}
	}
	s.run(t)
	var wrapped bool
	p := &planter{after: func(in *regalloc.Input, out *regalloc.Output) { wrapped = len(out.Unsaved) > 0 && !out.SavesAt(in, 0) }}
	c, n := s.planted(t, p, false), 0
	for _, fn := range quick {
		code, err := c.Compile(s.Defined[fn])
		switch {
		case err != nil:
			t.Fatal(err)
		case code.Saved == 0:
			continue
		}
		n++
		var saves []uint32
		for _, u := range code.Unwind {
			if u.Kind == abi.RegistersSaved || u.Kind == abi.RegistersKept {
				saves = append(saves, u.Offset)
			}
		}
		if !wrapped || len(saves) == 0 || saves[0] < code.Prologue+16 || len(saves) > 2 || len(saves) == 2 && (saves[1] <= saves[0] || int(saves[1]) >= len(code.Bytes)) {
			t.Errorf("a quick way: %v; saved from %d on, of %d bytes", wrapped, saves, len(code.Bytes))
		}
	}
	if n < ints {
		t.Errorf("%d functions save registers", n)
	}
}
