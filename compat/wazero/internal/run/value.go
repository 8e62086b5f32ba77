package run

import (
	"encoding/binary"
	"math"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/internal/internalapi"

	"github.com/waot-project/waot/host"
)

var le = binary.LittleEndian

// value is a word as a value of a type that is no funcref.
func value(t api.ValueType, w, high uint64) host.Value {
	switch t {
	case api.ValueTypeI32:
		return host.I32(int32(w))
	case api.ValueTypeI64:
		return host.I64(int64(w))
	case api.ValueTypeF32:
		return host.F32(math.Float32frombits(uint32(w)))
	case api.ValueTypeF64:
		return host.F64(math.Float64frombits(w))
	case typeV128:
		var b [16]byte
		le.PutUint64(b[:], w)
		le.PutUint64(b[8:], high)
		return host.V128(b)
	}
	if w == 0 {
		return host.Ref(nil)
	}
	return host.Ref(uintptr(w))
}

// Set implements api.MutableGlobal.
func (g *MutableGlobal) Set(w uint64) {
	if g.global == nil {
		return
	}
	g.m.grp.enter(func() error {
		if g.typ == typeFuncref {
			return g.global.Set(host.FuncRef(g.m.grp.store.FuncOf(w)))
		}
		return g.global.Set(value(g.typ, w, 0))
	})
}

// Memory is a linear memory.
type Memory struct {
	internalapi.WazeroOnlyType
	grp *group
	mem *host.Memory
	def *MemDef
}

// Hold calls f with all of it, which stays where it is until f returns.
func (m *Memory) Hold(f func(bytes []byte)) {
	if m == nil {
		f(nil)
		return
	}
	m.mem.Hold(f)
}

// Read implements api.Memory.
func (m *Memory) Read(offset, n uint32) ([]byte, bool) {
	return m.mem.Read(offset, n)
}

func (m *Memory) Definition() api.MemoryDefinition { return m.def }
func (m *Memory) Size() uint32                     { return uint32(m.mem.Size()) }

// Grow implements api.Memory. It fails, too, if the memory would be larger than the runtime allows.
func (m *Memory) Grow(delta uint32) (previous uint32, ok bool) {
	if pages := uint32(m.mem.Size() >> 16); delta == 0 {
		return pages, true
	}
	defer m.grp.leave() // growing is inside the store
	return m.mem.Grow(delta)
}

func (m *Memory) ReadByte(offset uint32) (byte, bool)        { return m.mem.ReadUint8(offset) }
func (m *Memory) ReadUint16Le(offset uint32) (uint16, bool)  { return m.mem.ReadUint16(offset) }
func (m *Memory) ReadUint32Le(offset uint32) (uint32, bool)  { return m.mem.ReadUint32(offset) }
func (m *Memory) ReadUint64Le(offset uint32) (uint64, bool)  { return m.mem.ReadUint64(offset) }
func (m *Memory) Write(offset uint32, v []byte) bool         { return m.mem.Write(offset, v) }
func (m *Memory) WriteString(offset uint32, v string) bool   { return m.mem.WriteString(offset, v) }
func (m *Memory) WriteByte(offset uint32, v byte) bool       { return m.mem.WriteUint8(offset, v) }
func (m *Memory) WriteUint16Le(offset uint32, v uint16) bool { return m.mem.WriteUint16(offset, v) }
func (m *Memory) WriteUint32Le(offset, v uint32) bool        { return m.mem.WriteUint32(offset, v) }
func (m *Memory) WriteUint64Le(offset uint32, v uint64) bool { return m.mem.WriteUint64(offset, v) }
func (m *Memory) WriteFloat32Le(offset uint32, v float32) bool {
	return m.mem.WriteUint32(offset, math.Float32bits(v))
}
func (m *Memory) WriteFloat64Le(offset uint32, v float64) bool {
	return m.mem.WriteUint64(offset, math.Float64bits(v))
}

func (m *Memory) ReadFloat32Le(offset uint32) (float32, bool) {
	v, ok := m.mem.ReadUint32(offset)
	return math.Float32frombits(v), ok
}

func (m *Memory) ReadFloat64Le(offset uint32) (float64, bool) {
	v, ok := m.mem.ReadUint64(offset)
	return math.Float64frombits(v), ok
}
