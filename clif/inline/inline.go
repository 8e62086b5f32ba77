// Package inline puts bodies of functions in place of calls.
//
// What runs is what would run with the calls: each instruction keeps its place in the Wasm module, and the place of the call
// behind it (abi.Inlined), so that traps and backtraces name the functions of the source. Only frames are missing, so
// that a recursion may overflow the stack later or earlier than without.
//
// Place in the pipeline: between the front end and the mid-end, which then sees through what were calls. Bodies are kept after
// the mid-end, so they are as small as they get. Package compile decides in which order functions are compiled,
// and which of them are candidates.
//
// Input: a clif.Func that the verifier accepts, and bodies.
// Output: the function without some of its calls; the verifier accepts it.
package inline

import (
	"fmt"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/rewrite"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/effect"
	"github.com/waot-project/waot/internal/stop"
)

// Pass is the name of the pass and of its rules' pass.
const Pass = "inline"

var (
	rule        = rewrite.Info{Name: "inline-call", Pass: Pass, What: "call f => the body of f, if it is small for where it is called"}
	ruleResults = rewrite.Info{Name: "inline-result", Pass: Pass, What: "br (call f), a, b behind the body of f => its returns of constants lead to a, which returns or traps, or to b"}
)

// Rules are the rules of the pass.
func Rules() []*rewrite.Info { return []*rewrite.Info{&rule, &ruleResults} }

// Bodies returns the body of a function, or nil if it is not to be inlined.
type Bodies func(clif.FuncIndex) *Body

// Inliner inlines; it is reusable from function to function, but not by two goroutines at once. The zero value is ready.
type Inliner struct {
	// Control, if not nil, says which calls are inlined; for debugging.
	Control *rewrite.Control

	// Lean says that the function is to be small, as it may be inlined itself, in more than one place.
	Lean bool

	// Objects says that the module has objects.
	Objects bool

	// Eager inlines whatever the budgets allow, whether it pays or not, for tests.
	Eager bool

	depth  uint32 // of the last function: how deep calls are inlined in it
	heat   heat
	scales scales
	sites  []site
	out    clif.Func // instructions and layout while they are made
	names  renaming  // of Keep
	memo   []uint32  // of Keep: places
}

// site is a call that is inlined.
type site struct {
	call clif.Inst
	body *Body
	// leave, if not NoTarget, is where results other than 0 lead: see leaves.
	leave clif.Target
	// catch, if not NoInst, is the catch that the call belongs to, and unwind its second target, where what the body throws goes.
	catch  clif.Inst
	unwind clif.Target
}

// Run inlines calls in f, and reports whether there were any.
func (n *Inliner) Run(f *clif.Func, bodies Bodies) bool {
	n.depth = 0
	n.find(f, bodies)
	if len(n.sites) == 0 {
		return false
	}
	n.splice(f)
	return true
}

// RunRecursion inlines body, which is that of f, in f, then in what that has brought, and so on, as long as f stays small. It reports whether f
// calls itself and may inline itself.
func (n *Inliner) RunRecursion(f *clif.Func, body *Body) bool {
	bodies := func(callee clif.FuncIndex) *Body {
		if callee == f.Index {
			return body
		}
		return nil
	}
	if !n.Run(f, bodies) {
		return false
	}
	for levels := 1; n.recurs(f, body, levels) && n.Run(f, bodies); levels++ {
	}
	return true
}

// find decides which calls are inlined, in the order of the layout.
func (n *Inliner) find(f *clif.Func, bodies Bodies) {
	n.sites = n.sites[:0]
	n.heat.known = false
	room := budget(f)
	for at, b := range f.Layout {
		for i := f.Blocks[b].Start; i < f.Blocks[b].End; i++ {
			f.Stop.PollAt(int(i))
			d := &f.Insts[i]
			if d.Op != clif.OpCall && d.Op != clif.OpReturnCall {
				continue
			}
			body := bodies(clif.FuncIndex(d.Aux))
			if body == nil || body.size > room || !n.wants(f, at, body) || !n.may(f, i, body) {
				continue
			}
			room -= body.size
			n.depth = max(n.depth, body.depth+1)
			n.sites = append(n.sites, n.siteOf(f, b, i, body))
		}
	}
}

// siteOf returns the call i, in block b, as a site.
func (n *Inliner) siteOf(f *clif.Func, b clif.Block, i clif.Inst, body *Body) site {
	s := site{call: i, body: body, leave: clif.NoTarget, catch: clif.NoInst, unwind: clif.NoTarget}
	if f.CaughtCall(b) == i {
		s.catch = f.Terminator(b)
		s.unwind = clif.Target(f.Insts[s.catch].Args[2])
	} else {
		s.leave = n.leaves(f, b, i, body)
	}
	return s
}

// may reports whether the Control lets the call be inlined, and if so notes it.
func (n *Inliner) may(f *clif.Func, call clif.Inst, body *Body) bool {
	c := n.Control
	if c == nil {
		return true
	}
	if !c.Spend(&rule) {
		return false
	}
	e := &c.Log[len(c.Log)-1]
	e.Src = f.Offset(f.Srcs[call])
	if c.Trace {
		e.Before = rewrite.Text(f, &f.Insts[call])
		e.After = []string{fmt.Sprintf("%d instructions of %v", len(body.f.Insts), body.f.Index)}
	}
	return true
}

// splice puts the bodies in place of the calls of n.sites.
func (n *Inliner) splice(f *clif.Func) {
	out, sites := &n.out, n.sites
	out.Insts, out.Srcs = f.Rewriting(len(f.Insts))
	out.Layout = out.Layout[:0]
	for _, b := range f.Layout {
		at, end := f.Blocks[b].Start, f.Blocks[b].End
		for len(sites) > 0 && sites[0].call < end && sites[0].call >= at {
			call := sites[0].call
			n.begin(f, b)
			n.move(f, at, call)
			at = call + 1
			catch := sites[0].catch
			if catch != clif.NoInst { // what is between uses no results, and the handler may use it
				n.move(f, at, catch)
				at = catch
			}
			b = n.call(f, b, &sites[0])
			if catch != clif.NoInst {
				f.Insts[catch] = clif.InstData{Op: clif.OpJump, Result: clif.NoValue, Args: [3]uint32{0, f.Insts[catch].Args[1]}}
			}
			sites = sites[1:]
		}
		if b == clif.NoBlock { // it ended in a tail call
			continue
		}
		n.begin(f, b)
		n.move(f, at, end)
		f.Blocks[b].End = clif.Inst(len(out.Insts))
	}
	f.Rewritten(out.Insts, out.Srcs)
	out.Insts, out.Srcs = nil, nil
	f.Layout, out.Layout = out.Layout, f.Layout
}

// begin puts block b behind all others.
func (n *Inliner) begin(f *clif.Func, b clif.Block) {
	f.Blocks[b].Start = clif.Inst(len(n.out.Insts))
	n.out.Layout = append(stop.Room(f.Stop, n.out.Layout), b)
}

// move appends the instructions [from, to) of f.
func (n *Inliner) move(f *clif.Func, from, to clif.Inst) {
	at := len(n.out.Insts)
	n.out.Insts = append(stop.Grow(f.Stop, n.out.Insts, int(to-from)), f.Insts[from:to]...)
	n.out.Srcs = append(stop.Grow(f.Stop, n.out.Srcs, int(to-from)), f.Srcs[from:to]...)
	for i := at; i < len(n.out.Insts); i++ {
		f.Stop.PollAt(i)
		n.define(f, i)
	}
}

// emit appends d, which defines its results.
func (n *Inliner) emit(f *clif.Func, d clif.InstData, src uint32) {
	n.out.Insts = append(stop.Room(f.Stop, n.out.Insts), d)
	n.out.Srcs = stop.Append(f.Stop, n.out.Srcs, src)
	n.define(f, len(n.out.Insts)-1)
}

// define notes where the results of instruction i are defined now.
func (n *Inliner) define(f *clif.Func, i int) {
	d := &n.out.Insts[i]
	for k := range clif.Value(d.NumResults) {
		f.Values[d.Result+k].Def = uint32(i)
	}
}

// call ends block b with a jump to the body's blocks, which lead to a new block whose parameters are the results of the call. It
// returns that block. In the place of a tail call, which ends b, there is nothing behind the body: it returns NoBlock.
func (n *Inliner) call(f *clif.Func, b clif.Block, s *site) clif.Block {
	g := &s.body.f
	d, src := f.Insts[s.call], f.Srcs[s.call]
	r := renaming{value: uint32(len(f.Values)), block: uint32(len(f.Blocks)), target: uint32(len(f.Targets)), place: uint32(len(f.Inlined))}
	r.appendTables(f, g)
	for i := range g.Inlined {
		p := g.Inlined[i]
		if p.Caller == outside {
			p.Caller = callerOf(f, &d, src)
		} else {
			p.Caller += r.place
		}
		f.Inlined = append(f.Inlined, p)
	}
	n.emit(f, jumpTo(f, clif.Block(r.block), f.ListOperands(&d)), src)
	f.Blocks[b].End = clif.Inst(len(n.out.Insts))
	after := clif.NoBlock
	if !d.Op.IsTailCall() {
		after = n.resultBlock(f, &d)
	}
	for k := range g.Blocks {
		copied, caught := clif.Block(r.block+uint32(k)), g.CaughtCall(clif.Block(k))
		n.begin(f, copied)
		for i := g.Blocks[k].Start; i < g.Blocks[k].End; i++ {
			e := r.inst(f, g, g.Insts[i])
			switch {
			case after == clif.NoBlock: // what g returns, or its tail call does, f returns
			case e.Op == clif.OpReturn:
				e = n.returned(f, g, &g.Insts[i], &e, s.leave, after)
			case e.Op == clif.OpRaise && s.unwind != clif.NoTarget:
				e = jumpTo(f, f.Targets[s.unwind].Block, f.TargetArgs(s.unwind))
			case e.Op.IsTailCall():
				e = n.called(f, e, src, after)
				if s.unwind != clif.NoTarget {
					copied = n.catch(f, copied, s.unwind, src)
				}
			}
			at := g.Srcs[i]
			if at >= abi.InlinedPlace {
				at += r.place
			}
			n.emit(f, e, at)
			if s.unwind != clif.NoTarget && e.Op.Has(effect.Calls) && i != caught {
				copied = n.catch(f, copied, s.unwind, at)
			}
		}
		f.Blocks[copied].End = clif.Inst(len(n.out.Insts))
	}
	return after
}

// catch ends block b behind a call of an inlined body whose exceptions go along the target unwind, and returns the block that goes on.
func (n *Inliner) catch(f *clif.Func, b clif.Block, unwind clif.Target, src uint32) clif.Block {
	next := clif.Block(len(f.Blocks))
	f.Blocks = append(f.Blocks, clif.BlockData{})
	t := uint32(len(f.Targets))
	f.Targets = append(f.Targets, clif.TargetData{Block: next},
		clif.TargetData{Block: f.Targets[unwind].Block, Args: clif.MakeList(f, f.TargetArgs(unwind))})
	n.emit(f, clif.InstData{Op: clif.OpCatch, Result: clif.NoValue, Args: [3]uint32{0, t, t + 1}}, src)
	f.Blocks[b].End = clif.Inst(len(n.out.Insts))
	n.begin(f, next)
	return next
}

// callerOf returns the place of what calls the function whose body takes the place of d, which is at place src.
func callerOf(f *clif.Func, d *clif.InstData, src uint32) uint32 {
	switch {
	case !d.Op.IsTailCall():
		return src
	case src >= abi.InlinedPlace:
		return f.Inlined[src-abi.InlinedPlace].Caller
	}
	return abi.Ended
}

// called emits the call that takes the place of e, a tail call of a function that is inlined where a call at place src was, and returns the jump that follows. The callee's frame
// is above that of f, as it would be had the inlined function had one, in whose place it is: however many tail calls follow one another, there is one frame more.
func (n *Inliner) called(f *clif.Func, e clif.InstData, src uint32, after clif.Block) clif.InstData {
	e.Op = asCall[e.Op]
	first, types := uint32(len(f.Values)), f.Mod.CalleeSig(&e).Results
	results := make([]uint32, len(types))
	for k, t := range types {
		f.Values = append(f.Values, clif.ValueData{Type: t, Num: uint16(k)})
		results[k] = first + uint32(k)
	}
	if len(types) > 0 {
		e.Result, e.NumResults = clif.Value(first), uint16(len(types))
	}
	n.emit(f, e, src)
	return jumpTo(f, after, results)
}

// asCall is what tail calls are where the function that they end is inlined.
var asCall = [clif.NumOpcodes]clif.Opcode{clif.OpReturnCall: clif.OpCall, clif.OpReturnCallRef: clif.OpCallRef}

// returned returns the jump that takes the place of ret, a return of g, which is e in f.
func (n *Inliner) returned(f, g *clif.Func, ret, e *clif.InstData, leave clif.Target, after clif.Block) clif.InstData {
	if leave == clif.NoTarget || !nonzero(g, ret) {
		return jumpTo(f, after, f.ListOperands(e))
	}
	return jumpTo(f, f.Targets[leave].Block, f.TargetArgs(leave))
}

// resultBlock makes a block whose parameters are the results of call d.
func (n *Inliner) resultBlock(f *clif.Func, d *clif.InstData) clif.Block {
	b := clif.Block(len(f.Blocks))
	f.Blocks = append(f.Blocks, clif.BlockData{})
	for k := range clif.Value(d.NumResults) {
		v := &f.Values[d.Result+k]
		v.Kind, v.Num, v.Def = clif.ValueParam, uint16(k), uint32(b)
		f.AppendList(&f.Blocks[b].Params, uint32(d.Result+k))
	}
	return b
}

// jumpTo returns a jump to b with arguments.
func jumpTo(f *clif.Func, b clif.Block, args []uint32) clif.InstData {
	f.Targets = append(f.Targets, clif.TargetData{Block: b, Args: clif.MakeList(f, args)})
	return clif.InstData{Op: clif.OpJump, Result: clif.NoValue, Args: [3]uint32{0, uint32(len(f.Targets) - 1)}}
}
