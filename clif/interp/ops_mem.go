package interp

import (
	"encoding/binary"
	"math/bits"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
)

// bytesAt returns the part of memory that a load or store touches, or a trap.
func (m *machine) bytesAt(d *clif.InstData, n int) []byte {
	data := m.inst.memories[d.Aux].Data
	at, carry := bits.Add64(m.a(d), d.Imm, 0)
	if size := uint64(len(data)); carry != 0 || at > size || size-at < uint64(n) {
		m.trap(abi.TrapMemoryOutOfBounds)
		return nil
	}
	return data[at:][:n]
}

func opLoad(m *machine, d *clif.InstData) {
	n := d.Access().Bytes(d.Type)
	p := m.bytesAt(d, n)
	if p == nil {
		return
	}
	var x uint64
	switch n {
	case 1:
		x = uint64(p[0])
	case 2:
		x = uint64(binary.LittleEndian.Uint16(p))
	case 4:
		x = uint64(binary.LittleEndian.Uint32(p))
	default:
		x = binary.LittleEndian.Uint64(p)
	}
	if d.Type == clif.V128 {
		m.highs[d.Result] = 0
		if n == 16 {
			m.highs[d.Result] = binary.LittleEndian.Uint64(p[8:])
		}
	}
	if d.Access().Signed() {
		shift := 64 - 8*n
		x = uint64(int64(x<<shift) >> shift)
	}
	m.set(d, x)
}

func opStore(m *machine, d *clif.InstData) {
	n := d.Access().Bytes(d.Type)
	p := m.bytesAt(d, n)
	if p == nil {
		return
	}
	switch x := m.b(d); n {
	case 1:
		p[0] = byte(x)
	case 2:
		binary.LittleEndian.PutUint16(p, uint16(x))
	case 4:
		binary.LittleEndian.PutUint32(p, uint32(x))
	default:
		binary.LittleEndian.PutUint64(p, x)
		if n == 16 {
			binary.LittleEndian.PutUint64(p[8:], m.highs[d.Args[1]])
		}
	}
}

func opMemorySize(m *machine, d *clif.InstData) {
	m.set64(d, uint64(len(m.inst.memories[d.Aux].Data)))
}

func opMemoryGrow(m *machine, d *clif.InstData) {
	old, ok := m.inst.memories[d.Aux].Grow(m.a(d))
	m.setGrown(d, old, ok)
}

// setGrown writes the result of a grow, an i32: -1 for failure.
func (m *machine) setGrown(d *clif.InstData, old uint64, ok bool) {
	if !ok {
		old = 1<<32 - 1
	}
	m.set64(d, old)
}

// inRange checks that [at, at+n) is within size, which the front end must have
// checked.
func (m *machine) inRange(what string, at, n, size uint64) bool {
	if end, carry := bits.Add64(at, n, 0); carry != 0 || end > size {
		m.undefined("%s: %d at %d, size %d", what, n, at, size)
		return false
	}
	return true
}

func opMemoryCopy(m *machine, d *clif.InstData) {
	to, from := m.inst.memories[d.Aux].Data, m.inst.memories[d.Imm].Data
	at, src, n := m.a(d), m.b(d), m.c(d)
	if m.inRange("destination", at, n, uint64(len(to))) && m.inRange("source", src, n, uint64(len(from))) {
		copy(to[at:at+n], from[src:src+n])
	}
}

func opMemoryFill(m *machine, d *clif.InstData) {
	data := m.inst.memories[d.Aux].Data
	at, x, n := m.a(d), byte(m.b(d)), m.c(d)
	if !m.inRange("destination", at, n, uint64(len(data))) {
		return
	}
	for p := data[at : at+n]; len(p) > 0; p = p[1:] {
		p[0] = x
	}
}

func opMemoryInit(m *machine, d *clif.InstData) {
	to, from := m.inst.memories[d.Aux].Data, m.inst.datas[d.Imm]
	at, src, n := m.a(d), m.b(d), m.c(d)
	if m.inRange("destination", at, n, uint64(len(to))) && m.inRange("source", src, n, uint64(len(from))) {
		copy(to[at:at+n], from[src:src+n])
	}
}

func opDataLen(m *machine, d *clif.InstData)  { m.set64(d, uint64(len(m.inst.datas[d.Aux]))) }
func opDataDrop(m *machine, d *clif.InstData) { m.inst.datas[d.Aux] = nil }

func opGlobalGet(m *machine, d *clif.InstData) {
	g := m.inst.globals[d.Aux]
	if m.set64(d, g.Bits); d.Type == clif.V128 {
		m.highs[d.Result] = g.High
	}
}

func opGlobalSet(m *machine, d *clif.InstData) {
	g := m.inst.globals[d.Aux]
	if g.Bits = m.a(d); d.Type == clif.V128 {
		g.High = m.highs[d.Args[0]]
	}
}

func opTableSize(m *machine, d *clif.InstData) { m.set64(d, m.inst.tables[d.Aux].size) }

func opTableGet(m *machine, d *clif.InstData) {
	t := m.inst.tables[d.Aux]
	if i := m.a(d); m.inRange("index", i, 1, t.size) {
		m.set64(d, t.Get(i))
	}
}

func opTableSet(m *machine, d *clif.InstData) {
	t := m.inst.tables[d.Aux]
	if i := m.a(d); m.inRange("index", i, 1, t.size) {
		t.Set(i, m.b(d))
	}
}

func opTableGrow(m *machine, d *clif.InstData) {
	old, ok := m.inst.tables[d.Aux].Grow(m.a(d), m.b(d))
	m.setGrown(d, old, ok)
}

func opTableCopy(m *machine, d *clif.InstData) {
	to, from := m.inst.tables[d.Aux], m.inst.tables[d.Imm]
	at, src, n := m.a(d), m.b(d), m.c(d)
	if !m.inRange("destination", at, n, to.size) || !m.inRange("source", src, n, from.size) {
		return
	}
	if at <= src {
		for i := range n {
			to.Set(at+i, from.Get(src+i))
		}
		return
	}
	for i := n; i > 0; i-- {
		to.Set(at+i-1, from.Get(src+i-1))
	}
}

func opTableFill(m *machine, d *clif.InstData) {
	t := m.inst.tables[d.Aux]
	at, x, n := m.a(d), m.b(d), m.c(d)
	if !m.inRange("destination", at, n, t.size) {
		return
	}
	if x == 0 { // elements that are not allocated are null already
		n = min(n, max(at, uint64(len(t.elems)))-at)
	}
	for i := range n {
		t.Set(at+i, x)
	}
}

func opTableInit(m *machine, d *clif.InstData) {
	t, from := m.inst.tables[d.Aux], m.inst.elems[d.Imm]
	at, src, n := m.a(d), m.b(d), m.c(d)
	if !m.inRange("destination", at, n, t.size) || !m.inRange("source", src, n, uint64(len(from))) {
		return
	}
	for i := range n {
		t.Set(at+i, from[src+i])
	}
}

func opElemLen(m *machine, d *clif.InstData)  { m.set64(d, uint64(len(m.inst.elems[d.Aux]))) }
func opElemDrop(m *machine, d *clif.InstData) { m.inst.elems[d.Aux] = nil }

func opElemSet(m *machine, d *clif.InstData) {
	elems := m.inst.elems[d.Aux]
	if i := m.a(d); m.inRange("element", i, 1, uint64(len(elems))) {
		elems[i] = m.b(d)
	}
}
