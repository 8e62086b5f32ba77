package isatest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// This file tests calls that are caught: what there is behind them and at their landings, and what the records and .eh_frame say of landings.

// catching is a suite with a tag, whose exceptions have an i64.
type catching struct{ suite }

func newCatching(on *Machine) *catching {
	s := &catching{*newSuite(on)}
	s.Sigs = append(s.Sigs, clif.Signature{Params: i64})
	s.Tags = []clif.TagDecl{{Sig: 0}}
	return s
}

// throw ends the block: it throws x.
func throw(b *clif.Builder, x clif.Value) {
	b.ExnSet(0, []clif.Value{x})
	b.Raise()
}

// caught ends the block with a call, whose first result it returns, and goes on behind it. Where the call has thrown, handler ends the block.
func caught(b *clif.Builder, call func() clif.Value, handler func(x clif.Value)) clif.Value {
	normal, landing := b.NewBlock(), b.NewBlock()
	result := call()
	b.Catch(b.Target(normal, nil), b.Target(landing, nil))
	b.SwitchTo(landing)
	handler(b.ExnArgs(0))
	b.SwitchTo(normal)
	return result
}

// What a function of thrower does, by its first argument modulo 8. Of what surely ends in a trap the back end expects that it is rare: registers
// are saved elsewhere, if the function saves them late.
const (
	returnAtOnce = iota
	throwAtOnce
	passAtOnce  // an exception on that is thrown in a rare call
	catchAtOnce // in a rare call, and pass another one on
	returnLate
	throwLate
	passLate
	catchLate
	numWays
)

// farBit is the bit that far functions of thrower test.
const farBit = 1 << 5

// thrower adds a function (i64, f64) -> i64 that returns and throws at several places, some of them behind a call across which i integers and f floats
// are live. always is a function that throws its first argument. If far is not 0, that many instructions are behind calls and landings, and tests in front of them lead past them.
func (s *catching) thrower(i, f, far int, nop, always clif.FuncIndex) clif.FuncIndex {
	return s.Fn([]clif.Type{clif.I64, clif.F64}, i64, func(b *clif.Builder, p []clif.Value) {
		// past ends the block with a test of x, and goes on behind far instructions where a bit is set, with x and what they give; otherwise other ends the block.
		past := func(x clif.Value, other func()) clif.Value {
			if far == 0 {
				return x
			}
			low := b.Unary(clif.OpIreduce, clif.I32, x)
			set, clear := b.NewBlock(), b.NewBlock()
			b.Branch(b.Binary(clif.OpBand, clif.I32, low, b.Iconst(clif.I32, farBit)), b.Target(set, nil), b.Target(clear, nil))
			b.SwitchTo(clear)
			other()
			b.SwitchTo(set)
			return b.Binary(clif.OpIadd, clif.I64, x, b.Unary(clif.OpUextend, clif.I64, long(b, low, low, far)))
		}
		pass := func(x clif.Value) {
			b.Call(always, []clif.Value{x, p[1]})
			b.Trap(abi.TrapUnreachable)
		}
		// catch catches what a rare call throws.
		catch := func(mix func(clif.Value) clif.Value) {
			caught(b, func() clif.Value { return b.Call(always, p) }, func(x clif.Value) {
				pass(mix(past(x, func() { pass(x) })))
			})
			b.Trap(abi.TrapUnreachable)
		}
		late := func(end func(mix func(clif.Value) clif.Value)) func() {
			return func() {
				mix := s.alive(b, p, i, f)
				b.Call(nop, nil)
				end(mix)
			}
		}
		ways := [numWays]func(){
			returnAtOnce: func() { b.Return([]clif.Value{b.Iconst(clif.I64, 7)}) },
			throwAtOnce:  func() { throw(b, p[0]) },
			passAtOnce:   func() { pass(p[0]) },
			catchAtOnce: func() {
				catch(func(x clif.Value) clif.Value { return b.Binary(clif.OpIsub, clif.I64, x, b.Iconst(clif.I64, 3)) })
			},
			returnLate: late(func(mix func(clif.Value) clif.Value) {
				x := past(p[0], func() { b.Return([]clif.Value{mix(p[0])}) })
				b.Return([]clif.Value{mix(x)})
			}),
			throwLate: late(func(mix func(clif.Value) clif.Value) { throw(b, mix(p[0])) }),
			passLate:  late(func(mix func(clif.Value) clif.Value) { pass(mix(p[0])) }),
			catchLate: late(catch),
		}
		var targets []clif.Target
		var blocks []clif.Block
		for range ways {
			blk := b.NewBlock()
			blocks, targets = append(blocks, blk), append(targets, b.Target(blk, nil))
		}
		b.BrTable(b.Binary(clif.OpBand, clif.I32, b.Unary(clif.OpIreduce, clif.I32, p[0]), b.Iconst(clif.I32, 7)), targets)
		for k, way := range ways {
			b.SwitchTo(blocks[k])
			way()
		}
	})
}

// catcher adds a function (i64, f64) -> i64 that has i integers and f floats live across a call of callee, and into its handler.
func (s *catching) catcher(i, f int, callee clif.FuncIndex) clif.FuncIndex {
	return s.Fn([]clif.Type{clif.I64, clif.F64}, i64, func(b *clif.Builder, p []clif.Value) {
		mix := s.alive(b, p, i, f)
		r := caught(b, func() clif.Value { return b.Call(callee, p) }, func(x clif.Value) {
			b.Return([]clif.Value{mix(b.Binary(clif.OpIadd, clif.I64, x, b.Iconst(clif.I64, 1<<40)))})
		})
		b.Return([]clif.Value{mix(r)})
	})
}

// throwers adds functions of thrower that save some registers, and some of keeper between them and functions of catcher that need all.
func (s *catching) throwers(t *testing.T, steps int) {
	t.Helper()
	target, err := s.on.Target(s.on.Levels[0])
	if err != nil {
		t.Fatal(err)
	}
	nop := s.Fn(nil, nil, func(b *clif.Builder, _ []clif.Value) { b.Return(nil) })
	always := s.Fn([]clif.Type{clif.I64, clif.F64}, i64, func(b *clif.Builder, p []clif.Value) { throw(b, p[0]) })
	ints, floats := len(target.Conv.CalleeSavedInt), len(target.Conv.CalleeSavedFloat)
	// The outermost function sees what the catcher gives back.
	add := func(what string, callee clif.FuncIndex) {
		fn := s.keeper(ints, floats, s.catcher(ints, floats, callee), false)
		for way := range uint64(numWays) {
			for _, bit := range [...]uint64{0, farBit} {
				s.call(fn, fmt.Sprintf("%s, way %d", what, way), 0x1234_5658|bit|way, 0x4009_21fb_5444_2d18)
			}
		}
	}
	for i := 0; i <= ints+1; i += steps {
		for f := 0; f <= floats+1; f += steps {
			inner := s.thrower(i, f, 0, nop, always)
			for k, callee := range [...]clif.FuncIndex{inner, s.keeper(ints-min(i, ints), 1, inner, true), s.keeper(1, floats-min(f, floats), inner, false)} {
				add(fmt.Sprintf("%d integers, %d floats, callee %d", i, f, k), callee)
			}
		}
	}
	add("far", s.thrower(ints, 1, overTest, nop, always))
}

// testCaught: values in all callee-saved registers are there behind calls that are caught, at their landings, and in the callers of functions with landings,
// whatever functions on the way of the exception have saved, and wherever they do.
func testCaught(t *testing.T, on *Machine) {
	s := newCatching(on)
	s.throwers(t, testenv.Cases(3, 2, 1))
	s.run(t)
}

// valuesOf makes values of types from arguments, an i64, an f64 and a v128, and a number.
func valuesOf(b *clif.Builder, p []clif.Value, types []clif.Type, number uint64) (out []clif.Value) {
	for k, t := range types {
		x := b.Binary(clif.OpIadd, clif.I64, p[0], b.Iconst(clif.I64, number+uint64(k)))
		switch t {
		case clif.I32:
			x = b.Unary(clif.OpIreduce, clif.I32, x)
		case clif.F32:
			x = b.Unary(clif.OpBitcast, clif.F32, b.Unary(clif.OpIreduce, clif.I32, x))
		case clif.F64:
			x = b.Binary(clif.OpFadd, clif.F64, p[1], b.Unary(clif.OpFcvtFromSint, clif.F64, x))
		case clif.V128:
			x = b.Binary(clif.OpVxor, clif.V128, p[2], b.Unary(clif.OpVsplat, clif.I64x2, x))
		}
		out = append(out, x)
	}
	return out
}

// resultsOf returns the consecutive values that a call of fn has made.
func (s *suite) resultsOf(fn clif.FuncIndex, first clif.Value) (out []clif.Value) {
	for k := range s.FuncSig(fn).Results {
		out = append(out, first+clif.Value(k))
	}
	return out
}

// catchResults adds a function with the parameters of callee that returns the results of a call that is caught, or, if it throws, those of another call
// and what has been thrown. In the form with one block, both edges lead to it, and the one to the handler brings other values.
func (s *catching) catchResults(callee clif.FuncIndex, oneBlock bool) clif.FuncIndex {
	sig := *s.FuncSig(callee)
	return s.Fn(sig.Params, append(slices.Clone(sig.Results), clif.I64), func(b *clif.Builder, p []clif.Value) {
		zero := b.Iconst(clif.I64, 0)
		if !oneBlock {
			r := caught(b, func() clif.Value { return b.Call(callee, p) }, func(x clif.Value) {
				p := slices.Clone(p)
				p[0] = b.Binary(clif.OpIsub, clif.I64, p[0], b.Iconst(clif.I64, 1))
				b.Return(append(s.resultsOf(callee, b.Call(callee, p)), x))
			})
			b.Return(append(s.resultsOf(callee, r), zero))
			return
		}
		others := valuesOf(b, p, sig.Results, 7)
		results := s.resultsOf(callee, b.Call(callee, p))
		join := b.NewBlock()
		b.Catch(b.Target(join, append(results, zero)), b.Target(join, append(others, p[0])))
		b.SwitchTo(join)
		var out []clif.Value
		for _, t := range sig.Results {
			out = append(out, b.AddParam(join, t))
		}
		b.Return(append(out, b.AddParam(join, clif.I64)))
	})
}

// testCaughtResults: results of all types and numbers are there behind a call that is caught, used directly or as arguments of its normal edge, which may lead
// where the other one does. What is passed to the callee in memory is gone on both edges.
func testCaughtResults(t *testing.T, on *Machine) {
	s := newCatching(on)
	many := []clif.Type{clif.F64}
	for range 5 {
		many = append(many, clif.V128, clif.I64, clif.F32, clif.I32)
	}
	lists := [][]clif.Type{nil, {clif.I32}, {clif.I64}, {clif.F32}, {clif.F64}, {clif.V128}, {clif.F64, clif.I64},
		slices.Repeat(i64, 4), slices.Repeat(i64, 5), slices.Repeat([]clif.Type{clif.F64}, 6), slices.Repeat([]clif.Type{clif.V128}, 5), many}
	for _, results := range lists {
		for _, extra := range []int{0, 9, 12} {
			params := append([]clif.Type{clif.I64, clif.F64, clif.V128}, slices.Repeat(i64, extra)...)
			callee := s.Fn(params, results, func(b *clif.Builder, p []clif.Value) {
				odd, even := b.NewBlock(), b.NewBlock()
				b.Branch(b.Binary(clif.OpBand, clif.I32, b.Unary(clif.OpIreduce, clif.I32, p[0]), b.Iconst(clif.I32, 1)), b.Target(odd, nil), b.Target(even, nil))
				b.SwitchTo(odd)
				x := p[0]
				if extra > 0 {
					x = b.Binary(clif.OpIadd, clif.I64, x, p[len(p)-1])
				}
				throw(b, x)
				b.SwitchTo(even)
				b.Return(valuesOf(b, p, results, 100))
			})
			for _, oneBlock := range [...]bool{false, true} {
				fn := s.catchResults(callee, oneBlock)
				for x := range uint64(2) {
					args := []uint64{1000 + x, 0x4009_21fb_5444_2d18, 0x1111_2222_3333_4444, 0x5555_6666_7777_8888}
					for k := range extra {
						args = append(args, uint64(k)<<33|7)
					}
					s.call(fn, fmt.Sprintf("results %v, %d more parameters, one block: %v, throws: %d", results, extra, oneBlock, x), args...)
				}
			}
		}
	}
	s.run(t)
}

// testLandings: each call that is caught has a landing. .eh_frame says the same at the call as at the landing, and the same as the records that hosts
// unwind by: where the frame is, and which callee-saved registers are in it.
func testLandings(t *testing.T, on *Machine) {
	s := newCatching(on)
	s.throwers(t, testenv.Cases(3, 2, 1))
	s.AddInit()
	catches := 0
	for _, f := range s.Defined {
		for i := range f.Insts {
			if f.Insts[i].Op == clif.OpCatch {
				catches++
			}
		}
	}
	for _, level := range on.Levels {
		for _, regalloc := range []string{"linear", "ssa"} {
			o := on.Options
			o.CPU, o.OptLevel, o.Verify, o.Regalloc = level, opt.O0, true, regalloc
			r, err := compile.CLIF(&s.Module.Module, s.Body, o)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Meta.Handlers) != catches {
				t.Errorf("%s, %s: %d landings, want %d", level, regalloc, len(r.Meta.Handlers), catches)
			}
			t.Run(level+" "+regalloc, func(t *testing.T) { checkLandings(t, on, r) })
		}
	}
}

// checkLandings checks what is said of the frames at calls and landings.
func checkLandings(t *testing.T, on *Machine, r *compile.Result) {
	text := r.Object.Sections[r.Object.SectionIndex(".text")].Data
	table, err := readFrames(r.Object)
	if err != nil {
		t.Fatal(err)
	}
	bad := 0
	wrong := func(format string, args ...any) {
		if bad++; bad < 10 {
			t.Errorf(format, args...)
		}
	}
	// check compares the row at a place with what unwinding by the records does at a return address, and counts.
	check := func(what string, place, ret uint32, counts *landingCounts) {
		fn := slices.IndexFunc(r.Meta.Funcs, func(f meta.Func) bool { return f.Import == nil && ret-1-f.Text < f.Size })
		f, saves := &r.Meta.Funcs[fn], &r.Meta.Saves[fn]
		saved := saves.At(ret - f.Text)
		counts.add(saves.Registers != 0, saved)
		want, got := on.DWARF.frame(saves, saved), &frameRow{}
		if place-f.Text < f.Size {
			got, err = table.at(place)
		}
		if err != nil || got.String() != want.String() {
			wrong("function %d at %#x: %s %#x: %v, %v; want %v", fn, f.Text, what, place, got, err, want)
		}
	}
	var landings, calls landingCounts
	for _, h := range r.Meta.Handlers {
		if !on.EndsCall(text[:h.Return]) {
			wrong("no call returns to %#x", h.Return)
		}
		check("a call that is caught returns behind", h.Return-1, h.Return, &landings)
		check("landing", h.Landing, h.Return, &landings)
	}
	for _, c := range r.Meta.Calls {
		check("a call returns behind", c.Offset-1, c.Offset, &calls)
	}
	t.Logf("landings and calls that lead there: %+v; all calls: %+v", landings, calls)
	if min(landings.none+landings.saved, landings.elsewhere, calls.none, calls.saved, calls.elsewhere) == 0 {
		t.Error("too few")
	}
}

// landingCounts are numbers of places in functions that save no callee-saved registers, where these are saved, and where they are only elsewhere in the function.
type landingCounts struct{ none, saved, elsewhere int }

func (c *landingCounts) add(saves, saved bool) {
	switch {
	case !saves:
		c.none++
	case saved:
		c.saved++
	default:
		c.elsewhere++
	}
}

// frame returns the row of a frame, in which registers may be saved.
func (d *DWARF) frame(saves *abi.Saves, saved bool) *frameRow {
	row := &frameRow{base: d.FramePointer, offset: 16, at: map[int]int{d.ReturnAddress: -8, d.FramePointer: -16}}
	at := -16
	for n, reg := range d.Kept {
		if saved && saves.Registers>>n&1 != 0 {
			at -= 8
			row.at[reg] = at
		}
	}
	return row
}

// testFarLandings has landings far behind the calls, and landings that lead far back and ahead.
func testFarLandings(t *testing.T, on *Machine) {
	type vs = []clif.Value
	s := newCatching(on)
	s.anyLevel = true
	odd := s.Fn(i32, i32, func(b *clif.Builder, p vs) {
		throws, returns := b.NewBlock(), b.NewBlock()
		b.Branch(b.Binary(clif.OpBand, clif.I32, p[0], b.Iconst(clif.I32, 1)), b.Target(throws, nil), b.Target(returns, nil))
		b.SwitchTo(throws)
		throw(b, b.Unary(clif.OpUextend, clif.I64, p[0]))
		b.SwitchTo(returns)
		b.Return(vs{b.Binary(clif.OpIadd, clif.I32, p[0], b.Iconst(clif.I32, 2))})
	})
	for _, c := range []struct {
		n         int
		inHandler bool
	}{{overTest, false}, {overTest, true}, {overCond, false}, {overCond, true}}[:testenv.Cases(3, 3, 4)] {
		fn := s.Fn([]clif.Type{clif.I32, clif.I32, clif.I32}, []clif.Type{clif.I32, clif.I32}, func(b *clif.Builder, p vs) {
			s.farLandings(b, p, odd, c.n, c.inHandler)
		})
		for x := range uint64(4) {
			for _, y := range []uint64{0, 1, 4, 5, 8, 9} {
				s.call(fn, fmt.Sprintf("%d instructions, in the handler: %v", c.n, c.inHandler), 16+x, y, 3)
			}
		}
	}
	s.run(t)
}

// farLandings makes a function of x, y and a number of rounds: it calls odd with x and with y, n instructions apart, unless these are in a handler. Handlers go back to
// the beginning, or ahead, by a test of a bit, of zero, and of order.
func (s *catching) farLandings(b *clif.Builder, p []clif.Value, odd clif.FuncIndex, n int, inHandler bool) {
	type vs = []clif.Value
	num := func(x uint64) clif.Value { return b.Iconst(clif.I32, x) }
	first, middle, last := b.NewBlock(), b.NewBlock(), b.NewBlock()
	b.Jump(b.Target(first, p))
	b.SwitchTo(first)
	x, y, rounds := b.AddParam(first, clif.I32), b.AddParam(first, clif.I32), b.AddParam(first, clif.I32)
	again := func(x clif.Value) clif.Target {
		return b.Target(first, vs{x, y, b.Binary(clif.OpIsub, clif.I32, rounds, num(1))})
	}
	r := caught(b, func() clif.Value { return b.Call(odd, vs{x}) }, func(e clif.Value) {
		z := b.Unary(clif.OpIreduce, clif.I32, e)
		if inHandler {
			z = long(b, z, y, n)
		}
		b.Branch(rounds, again(b.Binary(clif.OpIadd, clif.I32, x, num(1))), b.Target(middle, vs{z}))
	})
	if !inHandler {
		r = long(b, r, y, n)
	}
	b.Jump(b.Target(middle, vs{r}))
	b.SwitchTo(middle)
	z := b.AddParam(middle, clif.I32)
	r = caught(b, func() clif.Value { return b.Call(odd, vs{y}) }, func(e clif.Value) {
		w, order := b.Unary(clif.OpIreduce, clif.I32, e), b.NewBlock()
		b.Branch(b.Binary(clif.OpBand, clif.I32, y, num(4)), b.Target(last, vs{z, w}), b.Target(order, nil))
		b.SwitchTo(order)
		b.Branch(b.Icmp(clif.Ugt, clif.I32, rounds, num(1)), again(x), b.Target(last, vs{z, w}))
	})
	b.Jump(b.Target(last, vs{z, r}))
	b.SwitchTo(last)
	b.Return(vs{b.AddParam(last, clif.I32), b.AddParam(last, clif.I32)})
}
