package wazerotest

import (
	"encoding/binary"
	"math"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/internal/internalapi"
)

// PageSize is the unit in which memories grow.
const PageSize = 65536

// Memory is a memory. Min and Max are pages; a Max of 0 is none.
type Memory struct {
	internalapi.WazeroOnlyType

	Bytes    []byte
	Min, Max uint32

	module *Module
}

// NewMemory returns a memory of as many pages as size bytes need.
func NewMemory(size int) *Memory {
	pages := (size + PageSize - 1) / PageSize
	return &Memory{Bytes: make([]byte, pages*PageSize), Min: uint32(pages)}
}

// NewFixedMemory is NewMemory without growth.
func NewFixedMemory(size int) *Memory {
	m := NewMemory(size)
	m.Max = m.Min
	return m
}

// Definition implements api.Memory.
func (m *Memory) Definition() api.MemoryDefinition { return memoryDefinition{m: m} }

// Size implements api.Memory.
func (m *Memory) Size() uint32 { return uint32(len(m.Bytes)) }

// Pages is the number of pages.
func (m *Memory) Pages() uint32 { return uint32(len(m.Bytes) / PageSize) }

// Grow implements api.Memory.
func (m *Memory) Grow(delta uint32) (previous uint32, ok bool) {
	previous = m.Pages()
	if m.Max != 0 && previous+delta > m.Max {
		return previous, false
	}
	m.Bytes = append(m.Bytes, make([]byte, int(delta)*PageSize)...)
	return previous, true
}

// at is n bytes at an offset; nil if they are not all inside.
func (m *Memory) at(offset uint32, n int) []byte {
	if uint64(offset)+uint64(n) > uint64(len(m.Bytes)) {
		return nil
	}
	end := int(offset) + n
	return m.Bytes[offset:end:end]
}

// Read implements api.Memory.
func (m *Memory) Read(offset, n uint32) ([]byte, bool) {
	b := m.at(offset, int(n))
	return b, b != nil
}

// Write implements api.Memory.
func (m *Memory) Write(offset uint32, v []byte) bool {
	b := m.at(offset, len(v))
	copy(b, v)
	return b != nil
}

// WriteString implements api.Memory.
func (m *Memory) WriteString(offset uint32, v string) bool { return m.Write(offset, []byte(v)) }

// read reads a number.
func read[T any](m *Memory, offset uint32, n int, decode func([]byte) T) (v T, ok bool) {
	if b := m.at(offset, n); b != nil {
		return decode(b), true
	}
	return v, false
}

// write writes a number.
func write[T any](m *Memory, offset uint32, n int, encode func([]byte, T), v T) bool {
	b := m.at(offset, n)
	if b != nil {
		encode(b, v)
	}
	return b != nil
}

var le = binary.LittleEndian

func (m *Memory) ReadByte(offset uint32) (byte, bool) {
	return read(m, offset, 1, func(b []byte) byte { return b[0] })
}
func (m *Memory) ReadUint16Le(offset uint32) (uint16, bool) { return read(m, offset, 2, le.Uint16) }
func (m *Memory) ReadUint32Le(offset uint32) (uint32, bool) { return read(m, offset, 4, le.Uint32) }
func (m *Memory) ReadUint64Le(offset uint32) (uint64, bool) { return read(m, offset, 8, le.Uint64) }
func (m *Memory) ReadFloat32Le(offset uint32) (float32, bool) {
	v, ok := m.ReadUint32Le(offset)
	return math.Float32frombits(v), ok
}
func (m *Memory) ReadFloat64Le(offset uint32) (float64, bool) {
	v, ok := m.ReadUint64Le(offset)
	return math.Float64frombits(v), ok
}
func (m *Memory) WriteByte(offset uint32, v byte) bool {
	return write(m, offset, 1, func(b []byte, v byte) { b[0] = v }, v)
}
func (m *Memory) WriteUint16Le(offset uint32, v uint16) bool {
	return write(m, offset, 2, le.PutUint16, v)
}
func (m *Memory) WriteUint32Le(offset, v uint32) bool { return write(m, offset, 4, le.PutUint32, v) }
func (m *Memory) WriteUint64Le(offset uint32, v uint64) bool {
	return write(m, offset, 8, le.PutUint64, v)
}
func (m *Memory) WriteFloat32Le(offset uint32, v float32) bool {
	return m.WriteUint32Le(offset, math.Float32bits(v))
}
func (m *Memory) WriteFloat64Le(offset uint32, v float64) bool {
	return m.WriteUint64Le(offset, math.Float64bits(v))
}

// memoryDefinition describes a memory.
type memoryDefinition struct {
	internalapi.WazeroOnlyType
	m *Memory
}

func (d memoryDefinition) ModuleName() string {
	if d.m.module == nil {
		return ""
	}
	return d.m.module.ModuleName
}

func (d memoryDefinition) Index() uint32                          { return 0 }
func (d memoryDefinition) Import() (module, name string, ok bool) { return "", "", false }
func (d memoryDefinition) Min() uint32                            { return d.m.Min }
func (d memoryDefinition) Max() (uint32, bool)                    { return d.m.Max, d.m.Max != 0 }

func (d memoryDefinition) ExportNames() []string {
	if d.m.module == nil {
		return nil
	}
	return []string{"memory"}
}
