// Package api has what instances of modules offer to Go code: functions, memories and globals, and how values are encoded in words.
//
// Place: programs import it; package internal/run implements its interfaces on package waot/host.
package api

import (
	"context"
	"fmt"
	"math"

	"github.com/tetratelabs/wazero/internal/internalapi"
)

// ExternType is what an import or export is.
type ExternType = byte

// The extern types, numbered as in the binary format.
const (
	ExternTypeFunc ExternType = iota
	ExternTypeTable
	ExternTypeMemory
	ExternTypeGlobal
)

// The names of extern types in the text format.
const (
	ExternTypeFuncName   = "func"
	ExternTypeTableName  = "table"
	ExternTypeMemoryName = "memory"
	ExternTypeGlobalName = "global"
)

// ExternTypeName returns the name of an extern type, or its number in hexadecimal.
func ExternTypeName(et ExternType) string {
	names := [...]string{ExternTypeFuncName, ExternTypeTableName, ExternTypeMemoryName, ExternTypeGlobalName}
	if int(et) < len(names) {
		return names[et]
	}
	return fmt.Sprintf("%#x", et)
}

// ValueType is the type of a parameter, result or global. All values are words of 64 bits.
type ValueType = byte

// The value types, numbered as in the binary format. Two more occur in types of functions, but have no name here: v128 (0x7b), which
// takes two words, the low half first, and funcref (0x70).
const (
	ValueTypeI32       ValueType = 0x7f
	ValueTypeI64       ValueType = 0x7e
	ValueTypeF32       ValueType = 0x7d
	ValueTypeF64       ValueType = 0x7c
	ValueTypeExternref ValueType = 0x6f
)

// ValueTypeName returns the name of a type in the text format, or "unknown" for one that has no constant here.
func ValueTypeName(t ValueType) string {
	switch t {
	case ValueTypeI32:
		return "i32"
	case ValueTypeI64:
		return "i64"
	case ValueTypeF32:
		return "f32"
	case ValueTypeF64:
		return "f64"
	case ValueTypeExternref:
		return "externref"
	}
	return "unknown"
}

// Closer frees what it stands for.
type Closer interface {
	// Close may be called more than once, and from any goroutine.
	Close(context.Context) error
}

// Module is an instance of a module.
type Module interface {
	fmt.Stringer

	// Name returns the name under which the instance is registered in its runtime; empty if it has none.
	Name() string

	// Memory returns memory 0 of the instance, exported or not; nil if there is none.
	Memory() Memory

	// ExportedFunction returns a function for one goroutine at a time; nil if none of that name is exported.
	ExportedFunction(name string) Function

	// ExportedFunctionDefinitions returns the exported functions by name.
	ExportedFunctionDefinitions() map[string]FunctionDefinition

	// ExportedMemory returns the memory exported under that name; nil if there is none.
	ExportedMemory(name string) Memory

	// ExportedMemoryDefinitions returns the exported memories by name.
	ExportedMemoryDefinitions() map[string]MemoryDefinition

	// ExportedGlobal returns the global exported under that name, a MutableGlobal if it can change; nil if there is none.
	ExportedGlobal(name string) Global

	// CloseWithExitCode is Close with the code of the sys.ExitError that later calls end with. Only the first one counts.
	CloseWithExitCode(ctx context.Context, exitCode uint32) error

	// Closer frees the memory of the instance, once no call is in it.
	Closer

	// IsClosed reports whether the instance has been closed, by whatever means.
	IsClosed() bool

	internalapi.WazeroOnly
}

// ExportDefinition describes what a module has, exported or not.
type ExportDefinition interface {
	// ModuleName is the name of the module, from its name section.
	ModuleName() string

	// Index is the place in the index space, where imports come first.
	Index() uint32

	// Import says from where it is imported, if it is.
	Import() (moduleName, name string, isImport bool)

	// ExportNames are the names under which it is exported.
	ExportNames() []string

	internalapi.WazeroOnly
}

// MemoryDefinition describes a memory.
type MemoryDefinition interface {
	ExportDefinition

	// Min is the size at first, in pages of 64 KiB.
	Min() uint32

	// Max is the largest size in pages; declared says whether the module says so.
	Max() (pages uint32, declared bool)

	internalapi.WazeroOnly
}

// FunctionDefinition describes a function.
type FunctionDefinition interface {
	ExportDefinition

	// Name is the function's name in the name section, which serves debugging only; it may be empty.
	Name() string

	// DebugName is ModuleName and Name, or the index in the place of a missing name, as in stack traces.
	DebugName() string

	// GoFunction is the function of a host module, otherwise nil.
	GoFunction() interface{}

	// ParamTypes are the types of the parameters.
	ParamTypes() []ValueType

	// ParamNames are the names of the parameters; nil if they have none.
	ParamNames() []string

	// ResultTypes are the types of the results.
	ResultTypes() []ValueType

	// ResultNames are the names of the results; nil if they have none.
	ResultNames() []string

	internalapi.WazeroOnly
}

// Function is a function that can be called, by one goroutine at a time.
type Function interface {
	// Definition describes the function.
	Definition() FunctionDefinition

	// Call calls the function. Arguments and results are words.
	Call(ctx context.Context, params ...uint64) ([]uint64, error)

	// CallWithStack is Call without allocation: stack has the arguments before the call and the results after it, and must have room for
	// either.
	CallWithStack(ctx context.Context, stack []uint64) error

	internalapi.WazeroOnly
}

// GoModuleFunction is a Go function that modules can import and that knows the instance that calls it.
type GoModuleFunction interface {
	// Call takes the arguments from stack, and puts the results there.
	Call(ctx context.Context, mod Module, stack []uint64)
}

// GoModuleFunc is a GoModuleFunction.
type GoModuleFunc func(ctx context.Context, mod Module, stack []uint64)

// Call implements GoModuleFunction.
func (f GoModuleFunc) Call(ctx context.Context, mod Module, stack []uint64) { f(ctx, mod, stack) }

// GoFunction is a Go function that modules can import.
type GoFunction interface {
	// Call takes the arguments from stack, and puts the results there.
	Call(ctx context.Context, stack []uint64)
}

// GoFunc is a GoFunction.
type GoFunc func(ctx context.Context, stack []uint64)

// Call implements GoFunction.
func (f GoFunc) Call(ctx context.Context, stack []uint64) { f(ctx, stack) }

// Global is a global variable.
type Global interface {
	fmt.Stringer

	// Type is the type of the value.
	Type() ValueType

	// Get returns the value as a word.
	Get() uint64
}

// MutableGlobal is a global variable that can change.
type MutableGlobal interface {
	Global

	// Set changes the value.
	Set(v uint64)

	internalapi.WazeroOnly
}

// Memory is a linear memory. Numbers are little-endian. Methods report whether all of the bytes are inside of the memory.
type Memory interface {
	// Definition describes the memory.
	Definition() MemoryDefinition

	// Size is the size in bytes.
	Size() uint32

	// Grow adds pages of 64 KiB, and returns how many there were.
	Grow(deltaPages uint32) (previousPages uint32, ok bool)

	ReadByte(offset uint32) (byte, bool)
	ReadUint16Le(offset uint32) (uint16, bool)
	ReadUint32Le(offset uint32) (uint32, bool)
	ReadFloat32Le(offset uint32) (float32, bool)
	ReadUint64Le(offset uint32) (uint64, bool)
	ReadFloat64Le(offset uint32) (float64, bool)

	// Read returns a view, not a copy: it sees and makes changes, also after the memory has grown. It stays valid after the instance has been closed, unless
	// that was instantiated with a memory allocator.
	Read(offset, byteCount uint32) ([]byte, bool)

	WriteByte(offset uint32, v byte) bool
	WriteUint16Le(offset uint32, v uint16) bool
	WriteUint32Le(offset, v uint32) bool
	WriteFloat32Le(offset uint32, v float32) bool
	WriteUint64Le(offset uint32, v uint64) bool
	WriteFloat64Le(offset uint32, v float64) bool
	Write(offset uint32, v []byte) bool
	WriteString(offset uint32, v string) bool

	internalapi.WazeroOnly
}

// CustomSection is a custom section of a module.
type CustomSection interface {
	Name() string
	Data() []byte

	internalapi.WazeroOnly
}

// EncodeExternref and DecodeExternref convert externrefs, which are any words of the host; 0 is null.
func EncodeExternref(input uintptr) uint64 { return uint64(input) }

// DecodeExternref is the reverse of EncodeExternref.
func DecodeExternref(input uint64) uintptr { return uintptr(input) }

// EncodeI32 returns an i32 as a word.
func EncodeI32(input int32) uint64 { return uint64(uint32(input)) }

// DecodeI32 is the reverse of EncodeI32.
func DecodeI32(input uint64) int32 { return int32(input) }

// EncodeU32 returns an i32 without sign as a word.
func EncodeU32(input uint32) uint64 { return uint64(input) }

// DecodeU32 is the reverse of EncodeU32.
func DecodeU32(input uint64) uint32 { return uint32(input) }

// EncodeI64 returns an i64 as a word.
func EncodeI64(input int64) uint64 { return uint64(input) }

// EncodeF32 returns the bits of an f32 as a word.
func EncodeF32(input float32) uint64 { return uint64(math.Float32bits(input)) }

// DecodeF32 is the reverse of EncodeF32.
func DecodeF32(input uint64) float32 { return math.Float32frombits(uint32(input)) }

// EncodeF64 returns the bits of an f64 as a word.
func EncodeF64(input float64) uint64 { return math.Float64bits(input) }

// DecodeF64 is the reverse of EncodeF64.
func DecodeF64(input uint64) float64 { return math.Float64frombits(input) }
