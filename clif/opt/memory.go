package opt

import "github.com/waot-project/waot/clif"

// memory is what linear memory, globals, tables and sizes are known to hold
// at the current point: a short list of reads and their values. It holds along
// chains of single predecessors; where paths meet, nothing is known.
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
		if f := &m.facts[i]; f.a == d.A && f.op == op && f.aux == d.Aux && f.imm == d.Imm && f.typ == d.Type && f.cond == d.Cond {
			return f.value
		}
	}
	return clif.NoValue
}

// put notes that op, with the other fields of d, would give v. The list has no such
// fact yet.
func (m *memory) put(op clif.Opcode, d *clif.InstData, v clif.Value) {
	f := fact{op: op, typ: d.Type, cond: d.Cond, aux: d.Aux, a: d.A, value: v, imm: d.Imm}
	if len(m.facts) < maxFacts {
		m.facts = append(m.facts, f)
		return
	}
	m.next = (m.next + 1) % maxFacts
	m.facts[m.next] = f
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

// written forgets the loads that the store d may change. An effective address
// is the index zero-extended plus the offset, in 64 bits, so accesses with one
// index and disjoint ranges of offsets do not overlap.
func (m *memory) written(d *clif.InstData) {
	lo, hi := d.Imm, d.Imm+uint64(d.Access().Bytes(d.Type))
	m.keep(func(f *fact) bool {
		if f.op != clif.OpLoad {
			return true
		}
		end := f.imm + uint64(clif.Access(f.cond).Bytes(f.typ))
		return f.a == d.A && f.aux == d.Aux && (end <= lo || hi <= f.imm)
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

// read returns the value that d reads, if it is known. Otherwise it returns NoValue,
// after which the result of d is known if d is a read.
func (c *folder) read(d *clif.InstData) clif.Value {
	switch d.Op {
	case clif.OpLoad, clif.OpGlobalGet, clif.OpMemorySize, clif.OpTableSize, clif.OpTableGet, clif.OpDataLen, clif.OpElemLen:
		if v := c.mem.get(d.Op, d); v != clif.NoValue && c.may(RuleLoadKnown) {
			return v
		}
		c.mem.put(d.Op, d, d.Result)
	case clif.OpMemoryGrow:
		c.mem.forget(clif.OpMemorySize)
	case clif.OpTableGrow:
		c.mem.forget(clif.OpTableSize)
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
			m.written(d)
			break
		}
		if m.get(clif.OpLoad, d) == d.ArgB() && c.may(RuleStoreSame) {
			return true
		}
		m.written(d)
		m.put(clif.OpLoad, d, d.ArgB())
	case clif.OpGlobalSet:
		read := clif.InstData{Type: d.Type, Aux: d.Aux}
		if m.get(clif.OpGlobalGet, &read) == d.ArgA() && c.may(RuleStoreSame) {
			return true
		}
		m.globalWritten(d.Aux)
		m.put(clif.OpGlobalGet, &read, d.ArgA())
	case clif.OpTableSet:
		if m.get(clif.OpTableGet, d) == d.ArgB() && c.may(RuleStoreSame) {
			return true
		}
		m.forget(clif.OpTableGet)
		m.put(clif.OpTableGet, d, d.ArgB())
	case clif.OpMemoryCopy, clif.OpMemoryFill, clif.OpMemoryInit:
		m.forget(clif.OpLoad)
	case clif.OpTableCopy, clif.OpTableFill, clif.OpTableInit:
		m.forget(clif.OpTableGet)
	case clif.OpDataDrop:
		m.forget(clif.OpDataLen)
	case clif.OpElemDrop:
		m.forget(clif.OpElemLen)
	}
	return false
}
