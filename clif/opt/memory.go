package opt

import "github.com/waot-project/waot/clif"

// memory records known contents of linear memory, globals, tables and sizes
// at the current point: a short list of reads and their values. It is valid along
// chains of single predecessors. Where paths meet, regions.go decides what remains.
type memory struct {
	facts []fact
	next  int    // which to replace when there are maxFacts
	snaps []fact // saved lists, for the children of blocks on the walk's stack
	mod   *clif.Module
}

// fact says that an instruction with these fields would give value.
type fact struct {
	op    clif.Opcode
	typ   clif.Type
	cond  uint8
	aux   uint32
	a     uint32
	value clif.Value
	imm   uint64
	at    place         // of a load
	low   bool          // value was stored: of it a load that is narrower, without a sign, gives the low bits
	state clif.StateSet // what the instruction reads
}

// place is where an access to linear memory that does not trap is: at x + disp, modulo 2^32. No memory is larger.
type place struct {
	x    clif.Value
	disp uint64
}

// placeOf returns the place of the load or store d.
func (c *folder) placeOf(d *clif.InstData) place {
	x, k := c.sum(d.ArgA())
	return place{x, k + d.Imm}
}

// maxFacts bounds the list, since it is searched from end to end.
const maxFacts = 16

func (m *memory) reset(mod *clif.Module) {
	m.facts, m.snaps, m.next, m.mod = m.facts[:0], m.snaps[:0], 0, mod
}

func (m *memory) save() list {
	l := list{uint32(len(m.snaps)), uint32(len(m.facts))}
	m.snaps = append(m.snaps, m.facts...)
	return l
}

func (m *memory) restore(l list) {
	m.facts = append(m.facts[:0], m.snaps[l.off:l.off+l.len]...)
}

// get returns the value that d would give, or NoValue.
func (m *memory) get(op clif.Opcode, d *clif.InstData) clif.Value {
	for i := range m.facts {
		if f := &m.facts[i]; f.a == d.Args[0] && f.op == op && f.aux == d.Aux && f.imm == d.Imm && f.typ == d.Type && f.cond == d.Cond {
			return f.value
		}
	}
	return clif.NoValue
}

// put notes that op, with the other fields of d, would give v. The list has no such
// fact yet.
func (m *memory) put(op clif.Opcode, d *clif.InstData, v clif.Value) *fact {
	f := fact{op: op, typ: d.Type, cond: d.Cond, aux: d.Aux, a: d.Args[0], value: v, imm: d.Imm}
	f.state = m.mod.ReadBy(&clif.InstData{Op: op, Aux: d.Aux})
	if len(m.facts) < maxFacts {
		m.facts = append(m.facts, f)
		return &m.facts[len(m.facts)-1]
	}
	m.next = (m.next + 1) % maxFacts
	m.facts[m.next] = f
	return &m.facts[m.next]
}

// keep forgets the facts for which ok is false.
func (m *memory) keep(ok func(f *fact) bool) {
	kept := m.facts[:0]
	for i := range m.facts {
		if ok(&m.facts[i]) {
			kept = append(kept, m.facts[i])
		}
	}
	m.facts = kept
}

// forget forgets all facts of op.
func (m *memory) forget(op clif.Opcode) { m.keep(func(f *fact) bool { return f.op != op }) }

// loaded returns the fact about a load like d, or like one in place of the store d, from the same place, or nil. Its address may be another sum, if d does not
// leave the 2^32 bytes: then d is where the other access was, which did not trap.
func (c *folder) loaded(d *clif.InstData) *fact {
	at, inSpace := c.placeOf(d), c.inSpace(d)
	for i := range c.mem.facts {
		f := &c.mem.facts[i]
		if f.at.x == at.x && f.op == clif.OpLoad && f.aux == d.Aux && f.typ == d.Type && f.cond == d.Cond && c.trunc(clif.I32, f.at.disp-at.disp) == 0 &&
			(inSpace || f.a == d.Args[0] && f.imm == d.Imm) {
			return f
		}
	}
	return nil
}

// valueOf returns what the load d gives, of which f is the fact.
func (c *folder) valueOf(f *fact, d *clif.InstData) clif.Value {
	if !f.low {
		return f.value
	}
	return c.binary(clif.OpBand, d.Type, f.value, c.iconst(d.Type, uint64(1)<<(8*d.Access().Bytes(d.Type))-1))
}

// written forgets the loads that the store d may change. Places that are a constant apart do not overlap if, going around the 2^32
// bytes in either direction from the start of one, it ends before the other begins.
func (c *folder) written(d *clif.InstData) {
	at, size := c.placeOf(d), uint64(d.Access().Bytes(d.Type))
	c.mem.keep(func(f *fact) bool {
		if f.op != clif.OpLoad {
			return true
		}
		up, down := c.trunc(clif.I32, f.at.disp-at.disp), c.trunc(clif.I32, at.disp-f.at.disp)
		return f.at.x == at.x && f.aux == d.Aux && up >= size && down >= uint64(clif.Access(f.cond).Bytes(f.typ))
	})
}

// globalWritten forgets what the store to global g may change: two imports may
// be the same global.
func (m *memory) globalWritten(g uint32) {
	globals := m.mod.Globals
	m.keep(func(f *fact) bool {
		if f.op != clif.OpGlobalGet || f.aux == g {
			return f.op != clif.OpGlobalGet
		}
		return globals[f.aux].Import == nil || globals[g].Import == nil || globals[f.aux].Type != globals[g].Type
	})
}

// changed forgets what d may change.
func (c *folder) changed(d *clif.InstData) {
	if writes := c.f.Mod.WrittenBy(d); writes != 0 {
		c.mem.keep(func(f *fact) bool { return f.state&writes == 0 })
	}
}

// read returns the value that d, which has a result, reads, if it is known, and forgets what d may write. Otherwise it returns NoValue,
// after which the result of d is known if d is a read.
func (c *folder) read(d *clif.InstData) clif.Value {
	switch d.Op {
	case clif.OpLoad:
		if f := c.loaded(d); f != nil && c.may(RuleLoadKnown) {
			return c.valueOf(f, d)
		}
		c.mem.put(d.Op, d, d.Result).at = c.placeOf(d)
	case clif.OpGlobalGet, clif.OpMemorySize, clif.OpTableSize, clif.OpTableGet, clif.OpDataLen, clif.OpElemLen:
		if v := c.mem.get(d.Op, d); v != clif.NoValue && c.may(RuleLoadKnown) {
			return v
		}
		c.mem.put(d.Op, d, d.Result)
	case clif.OpStructGet, clif.OpStructGetS, clif.OpStructGetU:
		if v := c.mem.get(d.Op, d); v != clif.NoValue && c.may(RuleLoadKnown) {
			return v
		}
		c.noteField(d.Op, d, d.Result)
	case clif.OpStructNew, clif.OpArrayNew: // they change nothing that there is
		c.makes = true
	default:
		c.changed(d)
	}
	return clif.NoValue
}

// write notes what the effect d does to memory; it reports whether d writes
// what is there already.
func (c *folder) write(d *clif.InstData) bool {
	m := &c.mem
	switch d.Op {
	case clif.OpStore:
		if d.Access() != clif.Full {
			c.written(d)
			if d.Type.IsInt() {
				f := m.put(clif.OpLoad, d, d.ArgB())
				f.at, f.low = c.placeOf(d), true
			}
			break
		}
		if f := c.loaded(d); f != nil && f.value == d.ArgB() && c.may(RuleStoreSame) {
			return true
		}
		c.written(d)
		m.put(clif.OpLoad, d, d.ArgB()).at = c.placeOf(d)
	case clif.OpGlobalSet:
		read := clif.InstData{Type: d.Type, Aux: d.Aux}
		if m.get(clif.OpGlobalGet, &read) == d.ArgA() && c.may(RuleStoreSame) {
			return true
		}
		c.overwritten(d)
		m.globalWritten(d.Aux)
		m.put(clif.OpGlobalGet, &read, d.ArgA())
	case clif.OpTableSet:
		if m.get(clif.OpTableGet, d) == d.ArgB() && c.may(RuleStoreSame) {
			return true
		}
		m.forget(clif.OpTableGet)
		m.put(clif.OpTableGet, d, d.ArgB())
	case clif.OpStructSet:
		if c.mem.get(clif.OpStructGet, d) == d.ArgB() && c.may(RuleStoreSame) {
			return true
		}
		born := c.isBornSo(d)
		c.fieldWritten(d)
		return born
	case clif.OpArraySet, clif.OpArrayFill, clif.OpArrayCopy, clif.OpArrayInitData, clif.OpArrayInitElem:
		c.elementsWritten()
	case clif.OpDataDrop: // a part of its state, as below
		m.forget(clif.OpDataLen)
	case clif.OpElemDrop:
		m.forget(clif.OpElemLen)
	default:
		c.changed(d)
	}
	return false
}

// maxBetween bounds the search for a write that another one makes useless.
const maxBetween = 16

// overwritten drops the write in front of d, a global_set, of the same global, if nothing between them sees it: reads a global,
// writes anything else, calls, or traps, after which the host may look, or call again. A block begins behind a terminator.
func (c *folder) overwritten(d *clif.InstData) {
	for i := len(c.out) - 1; i >= max(0, len(c.out)-maxBetween); i-- {
		switch e := &c.out[i]; {
		case e.Op == clif.OpGlobalSet && e.Aux == d.Aux:
			if c.may(RuleStoreOver) {
				*e = clif.InstData{Result: clif.NoValue}
			}
			return
		case e.Op != clif.OpGlobalSet && !e.Op.IsPure():
			return
		}
	}
}
