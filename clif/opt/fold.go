package opt

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/effect"
	"github.com/waot-project/waot/internal/stop"
)

// folder is the state of the pass fold: one walk over the dominator tree in
// preorder, instructions in program order, that rewrites each instruction to
// something simpler, or to an equal value that dominates it (global value
// numbering in a scoped hash table). The walk knows which conditions were decided on the
// way, and what memory held. It merges a block into its only predecessor
// if that ends in a jump.
//
// The walk writes a new instruction array: rules may put a constant or
// a replacement before the instruction that they rewrite.
type folder struct {
	widths
	o     *Optimizer
	f     *clif.Func
	out   []clif.InstData
	srcs  []uint32
	src   uint32 // of the instruction at hand
	rules [clif.NumOpcodes]rule
	rows  *rowTable
	byOp  [clif.NumOpcodes]*candidates // those of rows that this folder has needed
	// made are the instructions that rules are making; depth is how many.
	made  [maxDepth + 2]clif.InstData
	depth int
	// matches are those of the instructions that rules are applied to, by depth.
	matches [maxDepth + 1]match

	walk    []step
	table   scopedTable
	truth   truths
	mem     memory
	regions regions
	bounds  bounds
	demand  demand
	// state is by block.
	state []blockState
	// immutable says that nothing is written here that is not written elsewhere: globals that are declared immutable, and tables that are closed.
	immutable bool
	// wide is how many sums may still be searched for words of wide products: 0 before the function has a product of
	// halves, negative when there were too many.
	wide int
	// tests says that the function tests types of references, makes that it makes structures.
	tests, makes bool
}

// blockState is the state of the walk for a block.
type blockState struct {
	// term is the position of the terminator in the new array, plus 1; 0 if the
	// block was not visited, or goes on in the block that it jumps to.
	term    uint32
	visited bool
	merged  bool // it is merged into its predecessor
}

// step is an entry of the walk's stack: enter a block, or leave its scope.
type step struct {
	block clif.Block
	snap  list // when entering: what memory held at the end of the immediate dominator
	leave bool
	// When leaving: what to go back to.
	scope, truths, bounds, snaps int
}

// list is a part of a slice.
type list struct{ off, len uint32 }

// maxDepth bounds how deep rules may be applied to what rules have made.
const maxDepth = 4

func fold(o *Optimizer, f *clif.Func) {
	c := &o.fold
	if c.rules[clif.OpIadd] == nil {
		c.rules, c.rows = ruleTable(), rows()
	}
	o.dominators(f)
	c.widths, c.o, c.f, c.depth = o.widths, o, f, 0
	c.out, c.srcs = f.Rewriting(len(f.Insts))
	c.table.reset()
	c.truth.reset(len(f.Values))
	c.bounds.reset(f.Stop, len(f.Values))
	c.demand.compute(f, o.cfg.Order())
	c.mem.reset(f.Mod)
	c.regions.reset(f)
	c.wide, c.tests, c.makes = 0, false, false
	c.immutable = f.Index != f.Mod.InitFunc()
	c.state = stop.Zeroed(f.Stop, c.state, len(f.Blocks))
	c.walk = append(stop.Grow(f.Stop, c.walk[:0], len(o.cfg.Order())), step{block: f.Entry()})
	for len(c.walk) > 0 {
		s := c.walk[len(c.walk)-1]
		c.walk = c.walk[:len(c.walk)-1]
		f.Stop.Poll()
		if s.leave {
			c.table.undo(s.scope)
			c.truth.undo(s.truths)
			c.bounds.undo(s.bounds)
			c.mem.snaps = c.mem.snaps[:s.snaps]
			continue
		}
		c.visit(&s)
	}
	f.Rewritten(c.out, c.srcs)
	c.out, c.srcs = nil, nil
	c.layout()
	// Arguments of back edges may name values that have become aliases.
	f.ResolveTargets()
	o.cfgValid = false
}

// layout drops blocks that were not visited, because no edge leads to them any
// more, and those that are part of another.
func (c *folder) layout() {
	f := c.f
	kept := f.Layout[:0]
	for _, b := range f.Layout {
		if c.state[b].visited && !c.state[b].merged {
			kept = append(kept, b)
		} else {
			f.Blocks[b] = clif.BlockData{}
		}
	}
	f.Layout = kept
}

// visit rewrites the block of s, and puts its children on the stack.
func (c *folder) visit(s *step) {
	b := s.block
	leave := step{leave: true, scope: c.table.mark(), truths: c.truth.mark(), bounds: c.bounds.mark(), snaps: len(c.mem.snaps)}
	c.mem.facts = c.mem.facts[:0]
	if preds := c.o.cfg.Preds(b); len(preds) == 1 && b != c.f.Entry() {
		e := preds[0]
		if !c.follow(e.From, e.Target) {
			return // the edge is gone, and with it everything that b dominates
		}
		c.mem.restore(s.snap)
	} else if b != c.f.Entry() {
		c.mem.restore(s.snap)
		c.meet(b)
	}
	c.walk = stop.Append(c.f.Stop, c.walk, leave)
	last := c.block(b)
	if last == clif.NoBlock {
		return // it always traps
	}
	c.mem.snaps = stop.Grow(c.f.Stop, c.mem.snaps, len(c.mem.facts))
	snap := c.mem.save()
	for m := b; ; {
		for k := c.o.dom.FirstChild(m); k != clif.NoBlock; k = c.o.dom.NextSibling(k) {
			if !c.state[k].merged {
				c.walk = append(stop.Room(c.f.Stop, c.walk), step{block: k, snap: snap})
			}
		}
		if m == last {
			return
		}
		m = c.successor(m)
	}
}

// successor returns the block that goes on where m ends, when that was appended to
// m.
func (c *folder) successor(m clif.Block) clif.Block {
	for k := c.o.dom.FirstChild(m); k != clif.NoBlock; k = c.o.dom.NextSibling(k) {
		if c.state[k].merged {
			return k
		}
	}
	return clif.NoBlock
}

// follow enters what the edge t says of its source's condition; it reports
// whether the edge still exists.
func (c *folder) follow(from clif.Block, t clif.Target) bool {
	n := c.state[from].term
	if n == 0 {
		return false
	}
	d := &c.out[n-1]
	switch d.Op {
	case clif.OpJump:
		return clif.Target(d.Args[1]) == t
	case clif.OpBranch:
		switch {
		case d.Args[1] == d.Args[2]:
		case clif.Target(d.Args[1]) == t:
			c.truth.set(d.ArgA(), isNonzero)
		case clif.Target(d.Args[2]) == t:
			c.truth.set(d.ArgA(), isZero)
		default:
			return false
		}
	case clif.OpTrap, clif.OpReturn, clif.OpReturnCall, clif.OpReturnCallRef:
		return false
	}
	return true
}

// block rewrites the instructions of b and of the blocks appended to it. It
// returns the last of these, or NoBlock if the end is never reached.
func (c *folder) block(b clif.Block) clif.Block {
	f := c.f
	start := clif.Inst(len(c.out))
	last := b
	for {
		end, next := c.instructions(last)
		if next == clif.NoBlock {
			f.Blocks[b].Start, f.Blocks[b].End = start, clif.Inst(len(c.out))
			c.state[last].term = uint32(len(c.out))
			if !end {
				return clif.NoBlock
			}
			return last
		}
		c.state[next].merged = true
		last = next
	}
}

// instructions rewrites the instructions of b. If b goes on in a block that
// has no other predecessor, it returns that; end is false if b's own end is not reached.
func (c *folder) instructions(b clif.Block) (end bool, next clif.Block) {
	f := c.f
	c.state[b].visited = true
	for i := f.Blocks[b].Start; i < f.Blocks[b].End; i++ {
		f.Stop.PollAt(int(i))
		d := &f.Insts[i] // of the old array, which is not read again
		if d.Op == clif.OpNop {
			continue
		}
		c.src = f.Srcs[i]
		f.ResolveOperands(d)
		if !d.Op.IsTerminator() {
			if c.inst(d); d.Op == clif.OpTrap {
				return false, clif.NoBlock // a trapif that always traps
			}
			continue
		}
		c.end(d)
		c.edges(d)
		if d.Op == clif.OpJump && c.mergeSuccessor(b, clif.Target(d.Args[1])) {
			return true, f.Targets[d.Args[1]].Block
		}
		c.place(d)
	}
	return true, clif.NoBlock
}

// mergeSuccessor reports whether the target of t can be merged into b, which jumps
// there, and if so makes its parameters aliases of the arguments.
func (c *folder) mergeSuccessor(b clif.Block, t clif.Target) bool {
	f := c.f
	to := f.Targets[t].Block
	if preds := c.o.cfg.Preds(to); len(preds) != 1 || preds[0].Target != t || to == b || to == f.Entry() || !c.may(RuleMergeBlock) {
		return false
	}
	if c.o.tracing() {
		c.o.note(f.Offset(c.src), "jump "+to.String(), to.String()+" is the rest of "+b.String())
	}
	args := f.TargetArgs(t)
	for i, p := range f.Params(to) {
		f.MakeAlias(clif.Value(p), f.Resolve(clif.Value(args[i])))
	}
	return true
}

// inst emits d, something simpler, or nothing.
func (c *folder) inst(d *clif.InstData) {
	if d.NumResults == 1 && !d.Op.Has(effect.Calls) {
		if v := c.simplify(d); v != clif.NoValue {
			c.f.MakeAlias(d.Result, v)
			return
		}
	} else if c.effect(d) {
		return
	}
	c.place(d)
	if d.Op == clif.OpLoad || d.Op == clif.OpStore {
		c.accessed(d)
	}
}

// may is Optimizer.may.
func (c *folder) may(r Rule) bool { return c.o.Control == nil || c.o.Control.Spend(r.Info()) }

// simplify applies rules until none fits. It returns the value that d is
// equal to, or NoValue with d perhaps rewritten in place.
func (c *folder) simplify(d *clif.InstData) clif.Value {
	for range 8 {
		rule := c.rules[d.Op]
		if rule == nil {
			break
		}
		v, again := c.apply(rule, d)
		if v != clif.NoValue {
			return v
		}
		if !again {
			break
		}
	}
	v, _ := c.apply(ruleKnown, d)
	return v
}

// ruleKnown: what was computed or read before.
func ruleKnown(c *folder, d *clif.InstData) (clif.Value, bool) {
	switch {
	case d.Op == clif.OpGlobalGet && c.immutable && !c.f.Mod.Globals[d.Aux].Mutable, d.Op == clif.OpTableGet && c.entries(d) != nil:
		return c.equal(d), false
	case d.Op.Has(effect.Reads | effect.Writes):
		return c.read(d), false
	case !d.Op.Has(effect.Writes | effect.Calls | effect.Control):
		return c.equal(d), false
	}
	return clif.NoValue, false
}

// equal returns the result of an instruction equal to d, or NoValue; then d is the one for those that follow.
func (c *folder) equal(d *clif.InstData) clif.Value {
	if v := c.table.find(c, d); v != clif.NoValue && c.may(RuleEqual) {
		return v
	}
	return clif.NoValue
}

// place appends d to the output.
func (c *folder) place(d *clif.InstData) {
	i := len(c.out)
	for n := range clif.Value(d.NumResults) {
		c.f.Values[d.Result+n].Def = uint32(i)
	}
	c.out = append(stop.Room(c.f.Stop, c.out), *d)
	c.srcs = stop.Append(c.f.Stop, c.srcs, c.src)
}

// make1 returns the value of a new instruction of type t without effects,
// simplified.
func (c *folder) make1(made clif.InstData, t clif.Type) clif.Value {
	f := c.f
	d := &c.made[min(c.depth, maxDepth)]
	*d = made
	if c.depth++; c.depth <= maxDepth {
		if rule := c.rules[d.Op]; rule != nil {
			if v, _ := c.apply(rule, d); v != clif.NoValue {
				c.depth--
				return v
			}
		}
	}
	c.depth--
	if v, _ := c.apply(ruleKnown, d); v != clif.NoValue {
		return v
	}
	d.Result, d.NumResults = clif.Value(len(f.Values)), 1
	f.Values = append(stop.Room(f.Stop, f.Values), clif.ValueData{Type: t})
	c.place(d)
	return d.Result
}

func (c *folder) iconst(t clif.Type, x uint64) clif.Value {
	return c.make1(clif.InstData{Op: clif.OpIconst, Type: t, Imm: c.trunc(t, x)}, t)
}

func (c *folder) binary(op clif.Opcode, t clif.Type, x, y clif.Value) clif.Value {
	return c.make1(clif.InstData{Op: op, Type: t, Args: [3]uint32{uint32(x), uint32(y)}}, t)
}

func (c *folder) unary(op clif.Opcode, t clif.Type, x clif.Value) clif.Value {
	return c.make1(clif.InstData{Op: op, Type: t, Args: [3]uint32{uint32(x)}}, t)
}

// def returns the instruction that defines v, in the new array, or nil, as for NoValue. The pointer is to
// an old copy once the array has grown; copies do not change.
func (c *folder) def(v clif.Value) *clif.InstData {
	if v == none {
		return nil
	}
	if vd := &c.f.Values[v]; vd.Kind == clif.ValueResult {
		return &c.out[vd.Def]
	}
	return nil
}

// defOp is def if its opcode is op, else nil.
func (c *folder) defOp(v clif.Value, op clif.Opcode) *clif.InstData {
	if d := c.def(v); d != nil && d.Op == op {
		return d
	}
	return nil
}

// constant returns the bits of v if it is an integer constant.
func (c *folder) constant(v clif.Value) (uint64, bool) {
	if d := c.defOp(v, clif.OpIconst); d != nil {
		return d.Imm, true
	}
	return 0, false
}
