package opt

import (
	"slices"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/resumable"
	"github.com/waot-project/waot/internal/effect"
	"github.com/waot-project/waot/internal/stop"
)

// dispatchPass is the state of threadChoices.
//
// A dispatcher is a block that ends in a br_table, or a branch, whose index depends on the block's parameters, with nothing before it but
// glue: integer arithmetic that computes the index, and constants. An edge to it with a constant index always goes on along the same
// entry of the table, or way of the branch, so it can lead there directly. Some compilers lower goto to tables, Go's with one dispatcher per
// function. Branches on constants remain where a condition was computed on several ways, or kept in a variable.
type dispatchPass struct {
	blocks []clif.Block // the dispatchers that an edge may bypass
	varOf  []uint32     // by value: 1 plus its position in vars, 0 if it is no parameter of a dispatcher
	vars   []clif.Value
	found  []bypass // the edges of this round
	edgeOf []uint32 // by target: 1 plus its position in bypassed, 0 if it is none of them
	// bypassed are the edges of found that have changed.
	bypassed []bypass
	glue     []glueValue // of the dispatcher at hand
	cost     charges     // of it
	owner    []uint32    // by value: 1 plus the dispatcher whose parameter it is, or that computes it
	shared   []bool      // by block: the dispatcher computes more than an index
	outlives []bool      // by value: it is a constant of a dispatcher that is used outside it
	escaped  bool        // parameters of dispatchers are used outside them
	repair   ssaRepair
}

// bypass is an edge to a dispatcher with a constant index.
type bypass struct {
	edge  clif.Target
	block clif.Block      // the dispatcher
	args  clif.List       // what the edge passed to it
	entry clif.Target     // of the table, or the way of the branch
	to    clif.TargetData // where the edge leads then
	cost  charges         // of the dispatcher
}

// charges are those of a block in one: what it consumes, whether it compares, and where it is from.
type charges struct {
	units uint64
	trap  uint8
	src   uint32
}

// glueValue is the result of an instruction of a dispatcher.
type glueValue struct {
	value clif.Value
	bits  uint64
	known bool // on the edge at hand
}

const (
	// maxGlue is the most instructions that a dispatcher has besides the terminator.
	maxGlue = 8
	// dispatchRounds bounds the dispatchers that lead to each other.
	dispatchRounds = 4
	// branchRounds bounds the branches that lead to each other.
	branchRounds = 2
	// dispatchWork bounds the work of a round, per instruction: the parameters of dispatchers times the blocks and edges
	// that they may have to pass. Functions of real programs need up to 10.
	dispatchWork = 64
	// branchWork is how many instructions of the function, at most, are looked at for each edge past a branch.
	branchWork = 256
	// maxDispatchWork bounds it for all functions.
	maxDispatchWork = 1 << 24
	// maxParams is how many parameters a block may have.
	maxParams = 1 << 16
)

// threadChoices sends edges to dispatchers with a constant index past them: first all that tables decide, so that branches take nothing from
// the budget of these.
func threadChoices(o *Optimizer, f *clif.Func) {
	o.flow(f)
	o.threaded = threadPast(o, f, clif.OpBrTable, dispatchRounds)
	if threadPast(o, f, clif.OpBranch, branchRounds) && o.fold.tests {
		o.threaded = true
	}
}

// threadPast sends edges past dispatchers that end in op, in a number of rounds; it reports whether there was one.
func threadPast(o *Optimizer, f *clif.Func, op clif.Opcode, rounds int) (changed bool) {
	for range rounds {
		if !o.dis.find(o, f, op) || !o.dis.affordable(o, f) || !o.dis.bypass(o, f) {
			break
		}
		changed = true
		o.cfgValid = false
		o.flow(f)
		if o.dis.escaped {
			o.dis.repair.run(o, f)
		}
		if op == clif.OpBrTable {
			o.dis.mark(o, f)
		}
	}
	return changed
}

// find fills found, blocks and vars; it reports whether there is an edge.
func (p *dispatchPass) find(o *Optimizer, f *clif.Func, op clif.Opcode) bool {
	p.found, p.blocks, p.vars = p.found[:0], p.blocks[:0], p.vars[:0]
	for _, b := range o.cfg.Order() {
		f.Stop.Poll()
		if f.Blocks[b].Params.Len == 0 {
			continue
		}
		d := &f.Insts[f.Terminator(b)]
		if d.Op != op || op == clif.OpBranch && isConst(f, d.ArgA()) || !p.collectGlue(f, b) {
			continue
		}
		n := len(p.found)
		for _, e := range o.cfg.Preds(b) {
			f.Stop.Poll()
			if op == clif.OpBrTable || worthwhile(o, f, b, e.From) {
				p.examine(f, b, e.Target)
			}
		}
		if len(p.found) > n {
			p.blocks = append(p.blocks, b)
		}
	}
	if op == clif.OpBranch && len(p.found)*branchWork < len(f.Insts) {
		return false
	}
	return len(p.found) > 0 && p.private(o, f)
}

// worthwhile reports whether an edge that goes past b, which ends in a branch, may come from block from. An entry into a loop stays: the back
// end has another way to put a condition in front of a loop, and the loop keeps its one entry. So does an entry of a table, as those where functions are
// resumed: it is rare, and variables that have constants there have others elsewhere.
func worthwhile(o *Optimizer, f *clif.Func, b, from clif.Block) bool {
	preds := o.cfg.Preds(b)
	last := preds[len(preds)-1].From // in reverse postorder: if an edge goes back, this one does
	entersLoop := o.cfg.Number(last) >= o.cfg.Number(b) && o.cfg.Number(from) < o.cfg.Number(b)
	return !entersLoop && f.Insts[f.Terminator(from)].Op != clif.OpBrTable
}

// collectGlue fills glue, and reports whether b has nothing else before its terminator.
func (p *dispatchPass) collectGlue(f *clif.Func, b clif.Block) bool {
	p.glue, p.cost = p.glue[:0], charges{}
	for i := f.Blocks[b].Start; i < f.Terminator(b); i++ {
		d := &f.Insts[i]
		switch {
		case d.Op == clif.OpNop:
			continue
		case d.Op == clif.OpCharge && p.cost.trap == 0 && p.cost.units+d.Imm <= clif.MaxCharge: // what follows one that compares must not compare
			p.cost = charges{p.cost.units + d.Imm, d.Cond, f.Srcs[i]}
			continue
		case len(p.glue) == maxGlue || !isGlue(d):
			return false
		}
		p.glue = append(p.glue, glueValue{value: d.Result})
	}
	return true
}

// isGlue reports whether evalGlue knows d.
func isGlue(d *clif.InstData) bool {
	switch d.Op {
	case clif.OpIconst, clif.OpIreduce, clif.OpUextend:
		return true
	}
	return d.NumArgs() == 2 && d.Op.Info().Effects == effect.Pure && d.Type.IsInt()
}

// examine appends the edge t to the dispatcher b to found, if its index is constant.
func (p *dispatchPass) examine(f *clif.Func, b clif.Block, t clif.Target) {
	if n := len(p.found); n > 0 && p.found[n-1].edge == t {
		return // both edges of a branch
	}
	args := f.TargetArgs(t)
	for i := range p.glue {
		g := &p.glue[i]
		g.bits, g.known = p.evalGlue(f, b, &f.Insts[f.Values[g.value].Def], args)
	}
	d := &f.Insts[f.Terminator(b)]
	if x, ok := p.constantOn(f, b, d.ArgA(), args); ok {
		p.found = append(p.found, bypass{edge: t, block: b, args: f.Targets[t].Args, entry: wayOf(f, d, x), cost: p.cost})
	}
}

// wayOf returns the target that d, a br_table or a branch, chooses by x.
func wayOf(f *clif.Func, d *clif.InstData, x uint64) clif.Target {
	switch {
	case d.Op == clif.OpBrTable:
		table := f.TargetsOf(d)
		return clif.Target(table[min(x, uint64(len(table)-1))])
	case x != 0:
		return clif.Target(d.Args[1])
	}
	return clif.Target(d.Args[2])
}

// evalGlue returns what d of dispatcher b computes if b gets args.
func (p *dispatchPass) evalGlue(f *clif.Func, b clif.Block, d *clif.InstData, args []uint32) (uint64, bool) {
	var w widths
	if d.Op == clif.OpIconst {
		return d.Imm, true
	}
	x, ok := p.constantOn(f, b, d.ArgA(), args)
	if !ok {
		return 0, false
	}
	if d.Op == clif.OpIreduce || d.Op == clif.OpUextend {
		return w.trunc(clif.I32, x), true
	}
	y, ok := p.constantOn(f, b, d.ArgB(), args)
	if !ok {
		return 0, false
	}
	if d.Op == clif.OpIcmp {
		return boolBits(w.compare(d.IntCC(), d.Type, x, y)), true
	}
	return w.eval(d.Op, d.Type, x, y)
}

// constantOn returns the bits of v in dispatcher b if b gets args, and they are known.
func (p *dispatchPass) constantOn(f *clif.Func, b clif.Block, v clif.Value, args []uint32) (uint64, bool) {
	for i := range p.glue {
		if p.glue[i].value == v {
			return p.glue[i].bits, p.glue[i].known
		}
	}
	if d := &f.Values[v]; d.Kind == clif.ValueParam && clif.Block(d.Def) == b {
		v = clif.Value(args[d.Num])
	}
	if isConst(f, v) {
		return f.Insts[f.DefInst(v)].Imm, true
	}
	return 0, false
}

// isConst reports whether v is an integer constant.
func isConst(f *clif.Func, v clif.Value) bool {
	i := f.DefInst(v)
	return i != clif.NoInst && f.Insts[i].Op == clif.OpIconst
}

// private drops the edges to dispatchers whose glue, constants aside, is used for anything but the index: no edge may
// bypass it. It finds what else of dispatchers is used outside them, and reports whether edges are left.
func (p *dispatchPass) private(o *Optimizer, f *clif.Func) bool {
	p.owner, p.outlives = stop.Zeroed(f.Stop, p.owner, len(f.Values)), stop.Zeroed(f.Stop, p.outlives, len(f.Values))
	p.shared, p.escaped = stop.Zeroed(f.Stop, p.shared, len(f.Blocks)), false
	for _, b := range p.blocks {
		for i, v := range f.Params(b) {
			f.Stop.PollAt(i)
			p.owner[v] = uint32(b) + 1
		}
		for i := f.Blocks[b].Start; i < f.Terminator(b); i++ {
			if d := &f.Insts[i]; d.Op != clif.OpNop && d.Op != clif.OpCharge {
				p.owner[d.Result] = uint32(b) + 1
			}
		}
	}
	for _, b := range o.cfg.Order() {
		for i := f.Blocks[b].Start; i < f.Blocks[b].End; i++ {
			f.Stop.PollAt(int(i))
			d := &f.Insts[i]
			for _, v := range d.Operands() {
				p.use(f, v, b, false)
			}
			for _, v := range f.ListOperands(d) {
				p.use(f, v, b, false)
			}
		}
		for _, t := range o.cfg.Succs(b) {
			for _, v := range f.TargetArgs(t) {
				p.use(f, v, b, true)
			}
		}
	}
	p.found = slices.DeleteFunc(p.found, func(e bypass) bool { return p.shared[e.block] })
	p.blocks = slices.DeleteFunc(p.blocks, func(b clif.Block) bool { return p.shared[b] })
	return len(p.found) > 0
}

// use notes that block b uses v, perhaps on an edge: what that takes from glue, an edge past b has to have.
func (p *dispatchPass) use(f *clif.Func, v uint32, b clif.Block, edge bool) {
	w := p.owner[v]
	if w == 0 || w-1 == uint32(b) && !edge {
		return
	}
	switch d := &f.Values[v]; {
	case d.Kind == clif.ValueParam:
		p.escaped = p.escaped || w-1 != uint32(b)
	case f.Insts[d.Def].Op == clif.OpIconst:
		p.outlives[v] = true
	default:
		p.shared[w-1] = true
	}
}

// affordable fills vars and varOf, and reports whether the round is within dispatchWork.
func (p *dispatchPass) affordable(o *Optimizer, f *clif.Func) bool {
	size, args := len(f.Blocks), 0
	for _, b := range o.cfg.Order() {
		f.Stop.Poll()
		size += len(o.cfg.Succs(b))
	}
	for _, e := range p.found {
		f.Stop.Poll()
		args += int(f.Targets[e.entry].Args.Len)
	}
	vars, widest := 0, 0
	for _, b := range p.blocks {
		vars += int(f.Blocks[b].Params.Len)
	}
	for _, b := range o.cfg.Order() {
		f.Stop.Poll()
		widest = max(widest, int(f.Blocks[b].Params.Len))
	}
	if vars*size+args > min(dispatchWork*len(f.Insts), maxDispatchWork) || vars+widest > maxParams {
		return false
	}
	p.varOf = stop.Zeroed(f.Stop, p.varOf, len(f.Values))
	for _, b := range p.blocks {
		for _, v := range f.Params(b) {
			f.Stop.Poll()
			p.vars = append(p.vars, clif.Value(v))
			p.varOf[v] = uint32(len(p.vars))
		}
	}
	return true
}

// bypass changes the edges found, and reports whether there was one.
func (p *dispatchPass) bypass(o *Optimizer, f *clif.Func) bool {
	p.bypassed = p.bypassed[:0]
	p.edgeOf = stop.Zeroed(f.Stop, p.edgeOf, len(f.Targets))
	for _, e := range p.found {
		f.Stop.Poll()
		if !o.may(ruleOf(f, e.block)) {
			break
		}
		if o.tracing() {
			o.note(0, "an edge to "+e.block.String(), "an edge to "+f.Targets[e.entry].Block.String())
		}
		p.bypassed = append(p.bypassed, e)
		p.edgeOf[e.edge] = uint32(len(p.bypassed))
	}
	// An entry may be such an edge, too: all of the new ones are made of the old ones.
	for i := range p.bypassed {
		f.Stop.Poll()
		e := &p.bypassed[i]
		to := f.Targets[e.entry]
		e.to = clif.TargetData{Block: to.Block, Args: f.CopyList(to.Args)}
		old := f.ListAt(e.args)
		args := f.ListAt(e.to.Args)
		for k, v := range args {
			if d := &f.Values[v]; d.Kind == clif.ValueParam && clif.Block(d.Def) == e.block {
				args[k] = old[d.Num]
			}
		}
	}
	for _, e := range p.bypassed {
		if e.cost.units > 0 || e.cost.trap != 0 {
			e.to = clif.TargetData{Block: p.chargeOn(f, e)}
		}
		f.Targets[e.edge] = e.to
	}
	if len(p.bypassed) == 0 {
		return false
	}
	p.keepConstants(f)
	return true
}

// chargeOn returns a new block that charges what the dispatcher does, and leads where the edge e goes. The new edge takes the place of e: what the block passes on is from
// before the parameters of the dispatcher change.
func (p *dispatchPass) chargeOn(f *clif.Func, e bypass) clif.Block {
	b, t := clif.Block(len(f.Blocks)), uint32(len(f.Targets))
	start := clif.Inst(len(f.Insts))
	f.Targets = append(stop.Room(f.Stop, f.Targets), e.to)
	p.edgeOf = append(stop.Room(f.Stop, p.edgeOf), p.edgeOf[e.edge])
	p.edgeOf[e.edge] = 0
	jump := clif.InstData{}
	toJump(&jump, t)
	f.Insts = append(stop.Room(f.Stop, f.Insts), clif.InstData{Op: clif.OpCharge, Imm: e.cost.units, Cond: e.cost.trap, Result: clif.NoValue}, jump)
	f.Srcs = append(stop.Room(f.Stop, f.Srcs), e.cost.src, e.cost.src)
	f.Blocks = append(stop.Room(f.Stop, f.Blocks), clif.BlockData{Start: start, End: start + 2})
	f.Layout = append(stop.Room(f.Stop, f.Layout), b)
	return b
}

// ruleOf returns the rule that sends edges past dispatcher b.
func ruleOf(f *clif.Func, b clif.Block) Rule {
	if f.Insts[f.Terminator(b)].Op == clif.OpBrTable {
		return RuleThreadTable
	}
	return RuleThreadBranch
}

// keepConstants moves the constants of dispatchers that are used elsewhere to the entry block, since uses that the dispatcher dominated may be
// reached without it now.
func (p *dispatchPass) keepConstants(f *clif.Func) {
	start := len(f.Insts)
	for _, b := range p.blocks {
		f.Stop.Poll()
		for i := f.Blocks[b].Start; i < f.Terminator(b); i++ {
			if f.Insts[i].Op == clif.OpIconst && p.outlives[f.Insts[i].Result] {
				moveInst(f, i)
			}
		}
	}
	if len(f.Insts) == start {
		return
	}
	e := &f.Blocks[f.Entry()]
	for i := e.Start; i < e.End; i++ {
		f.Stop.PollAt(int(i))
		moveInst(f, i)
	}
	e.Start, e.End = clif.Inst(start), clif.Inst(len(f.Insts))
}

// moveInst moves instruction i to the end of all.
func moveInst(f *clif.Func, i clif.Inst) {
	d := f.Insts[i]
	for n := range clif.Value(d.NumResults) {
		f.Values[d.Result+n].Def = uint32(len(f.Insts))
	}
	f.Insts = append(stop.Room(f.Stop, f.Insts), d)
	f.Srcs = stop.Append(f.Stop, f.Srcs, f.Srcs[i])
	f.Insts[i] = clif.InstData{Result: clif.NoValue}
}

// mark marks dispatchers of which the choice where to resume the function is left.
func (p *dispatchPass) mark(o *Optimizer, f *clif.Func) {
	for _, b := range p.blocks {
		f.Stop.Poll()
		resumable.Mark(f, &o.cfg, b)
	}
}
