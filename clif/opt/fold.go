package opt

import (
	"github.com/waot-project/waot/clif"
)

// folder is the state of the pass fold: one walk over the dominator tree in
// preorder, instructions in program order, that rewrites each instruction to
// something simpler, or to an equal value that dominates it (global value
// numbering in a scoped hash table).
//
// The walk writes a new instruction array: rules may put a constant or
// a replacement before the instruction that they rewrite.
type folder struct {
	o     *Optimizer
	f     *clif.Func
	out   []clif.InstData
	srcs  []uint32
	src   uint32 // of the instruction at hand
	rules [clif.NumOpcodes]rule

	table scopedTable
	walk  []step
	// globals[i] is the value of global i where the walk is, if stamp[i] == now.
	globals []clif.Value
	stamp   []uint32
	now     uint32
	depth   int
}

// step is an entry of the walk's stack: enter a block, or leave its scope.
type step struct {
	block clif.Block
	scope int // of leaving: the length of the undo log to go back to
	leave bool
}

// maxDepth bounds how often rules may be applied to their own products.
const maxDepth = 4

func fold(o *Optimizer, f *clif.Func) {
	c := &o.fold
	if c.rules[clif.OpIadd] == nil {
		c.rules = ruleTable()
	}
	o.reachable(f)
	o.dom.Compute(&o.cfg)
	c.o, c.f, c.depth = o, f, 0
	c.out, c.srcs = c.out[:0], c.srcs[:0]
	c.table.reset()
	if n := len(f.Mod.Globals); len(c.globals) < n {
		c.globals, c.stamp = make([]clif.Value, n), make([]uint32, n)
	}
	c.walk = append(c.walk[:0], step{block: f.Entry()})
	for len(c.walk) > 0 {
		s := c.walk[len(c.walk)-1]
		c.walk = c.walk[:len(c.walk)-1]
		if s.leave {
			c.table.undo(s.scope)
			continue
		}
		c.walk = append(c.walk, step{scope: c.table.mark(), leave: true})
		c.block(s.block)
		for b := o.dom.FirstChild(s.block); b != clif.NoBlock; b = o.dom.NextSibling(b) {
			c.walk = append(c.walk, step{block: b})
		}
	}
	f.Insts, c.out = c.out, f.Insts
	f.Srcs, c.srcs = c.srcs, f.Srcs
	// Arguments of back edges may name values that have become aliases.
	resolveAll(f)
}

// block rewrites the instructions of b.
func (c *folder) block(b clif.Block) {
	f := c.f
	c.now++
	start := clif.Inst(len(c.out))
	for i := f.Blocks[b].Start; i < f.Blocks[b].End; i++ {
		d := f.Insts[i]
		if d.Op == clif.OpNop {
			continue
		}
		c.src = f.Srcs[i]
		resolveInst(f, &d)
		c.inst(&d)
		if d.Op == clif.OpTrap && !f.Insts[i].Op.IsTerminator() {
			break // a trapif that always traps ends the block
		}
	}
	f.Blocks[b].Start, f.Blocks[b].End = start, clif.Inst(len(c.out))
}

// inst emits d, something simpler, or nothing.
func (c *folder) inst(d *clif.InstData) {
	if d.NumResults == 1 && !d.Op.Has(clif.Calls) {
		if v := c.simplify(d); v != clif.NoValue {
			alias(c.f, d.Result, v)
			return
		}
	} else if c.simplifyEffect(d) {
		return
	}
	c.place(d)
}

// simplify applies rules until none fits. It returns the value that d is
// equal to, or NoValue with d perhaps rewritten in place.
func (c *folder) simplify(d *clif.InstData) clif.Value {
	for range 8 {
		rule := c.rules[d.Op]
		if rule == nil || c.o.Fuel != nil && *c.o.Fuel <= 0 {
			break
		}
		v, again := rule(c, d)
		if v != clif.NoValue || again {
			c.o.spend()
		}
		if v != clif.NoValue {
			return v
		}
		if !again {
			break
		}
	}
	return c.number(d)
}

// number is the value of an equal instruction that dominates this point, or
// NoValue; then d will be found as of now.
func (c *folder) number(d *clif.InstData) clif.Value {
	if d.Op.Has(clif.Reads | clif.Writes | clif.Calls | clif.Terminates) {
		return clif.NoValue
	}
	return clif.Value(c.table.find(c, d))
}

// place appends d to the output.
func (c *folder) place(d *clif.InstData) {
	i := len(c.out)
	for n := range clif.Value(d.NumResults) {
		c.f.Values[d.Result+n].Def = uint32(i)
	}
	c.out = append(c.out, *d)
	c.srcs = append(c.srcs, c.src)
}

// make1 returns the value of a new instruction of type t, simplified.
func (c *folder) make1(d clif.InstData, t clif.Type) clif.Value {
	f := c.f
	if c.depth++; c.depth <= maxDepth {
		if rule := c.rules[d.Op]; rule != nil {
			if v, _ := rule(c, &d); v != clif.NoValue {
				c.depth--
				return v
			}
		}
	}
	c.depth--
	d.Result, d.NumResults = clif.Value(len(f.Values)), 1
	f.Values = append(f.Values, clif.ValueData{Type: t})
	if v := c.number(&d); v != clif.NoValue {
		f.Values = f.Values[:len(f.Values)-1]
		return v
	}
	c.place(&d)
	return d.Result
}

func (c *folder) iconst(t clif.Type, x uint64) clif.Value {
	return c.make1(clif.InstData{Op: clif.OpIconst, Type: t, Imm: trunc(t, x)}, t)
}

func (c *folder) binary(op clif.Opcode, t clif.Type, x, y clif.Value) clif.Value {
	return c.make1(clif.InstData{Op: op, Type: t, A: uint32(x), B: uint32(y)}, t)
}

func (c *folder) unary(op clif.Opcode, t clif.Type, x clif.Value) clif.Value {
	return c.make1(clif.InstData{Op: op, Type: t, A: uint32(x)}, t)
}

// def is the instruction that defines v, in the new array, or nil.
func (c *folder) def(v clif.Value) *clif.InstData {
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

// constant is the bits of v if it is an integer constant.
func (c *folder) constant(v clif.Value) (uint64, bool) {
	if d := c.defOp(v, clif.OpIconst); d != nil {
		return d.Imm, true
	}
	return 0, false
}

// fconstant is the bits of v if it is a float constant.
func (c *folder) fconstant(v clif.Value) (uint64, bool) {
	if d := c.defOp(v, clif.OpFconst); d != nil {
		return d.Imm, true
	}
	return 0, false
}

// scopedTable is a hash table of instructions (open addressing) with an undo
// log: what a block enters is forgotten when the walk leaves its subtree.
type scopedTable struct {
	slots []uint32 // output index + 1 of an instruction with a result, 0 if free
	log   []uint32 // slots filled, in order
}

func (t *scopedTable) reset() {
	if len(t.slots) == 0 || len(t.slots) > 1<<18 {
		t.slots = make([]uint32, 1<<10)
	}
	for _, s := range t.log {
		t.slots[s] = 0
	}
	t.log = t.log[:0]
}

func (t *scopedTable) mark() int { return len(t.log) }

// undo forgets everything after mark. Slots are freed in the reverse order of
// filling, so probe sequences stay intact.
func (t *scopedTable) undo(mark int) {
	for i := len(t.log) - 1; i >= mark; i-- {
		t.slots[t.log[i]] = 0
	}
	t.log = t.log[:mark]
}

func hashInst(d *clif.InstData) uint64 {
	const m = 0x9e3779b97f4a7c15
	h := (uint64(d.Op)<<16 | uint64(d.Type)<<8 | uint64(d.Cond)) * m
	h = (h ^ uint64(d.A)<<32 ^ uint64(d.B)) * m
	h = (h ^ uint64(d.C)<<32 ^ uint64(d.Aux) ^ h>>29) * m
	h = (h ^ d.Imm) * m
	return h >> 20
}

func equalInst(a, b *clif.InstData) bool {
	return a.Op == b.Op && a.Type == b.Type && a.Cond == b.Cond && a.A == b.A && a.B == b.B &&
		a.C == b.C && a.Aux == b.Aux && a.Imm == b.Imm
}

// find returns the result of an instruction equal to d, or NoValue after
// entering d, which the caller places next.
func (t *scopedTable) find(c *folder, d *clif.InstData) clif.Value {
	if 2*len(t.log) >= len(t.slots) {
		t.grow(c)
	}
	mask := uint64(len(t.slots) - 1)
	for i := hashInst(d) & mask; ; i = (i + 1) & mask {
		n := t.slots[i]
		if n == 0 {
			t.slots[i] = uint32(len(c.out)) + 1
			t.log = append(t.log, uint32(i))
			return clif.NoValue
		}
		if e := &c.out[n-1]; equalInst(e, d) {
			if e.NumResults == 0 {
				return 0 // an equal check: any value but NoValue says so
			}
			return e.Result
		}
	}
}

// grow doubles the table, entering everything again in the order of the log.
func (t *scopedTable) grow(c *folder) {
	old := t.slots
	t.slots = make([]uint32, 2*len(old))
	mask := uint64(len(t.slots) - 1)
	for k, s := range t.log {
		n := old[s]
		i := hashInst(&c.out[n-1]) & mask
		for t.slots[i] != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = n
		t.log[k] = uint32(i)
	}
}
