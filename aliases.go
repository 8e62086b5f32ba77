package waot

import "github.com/waot-project/waot/host"

// What package host has, under the same names. Its documentation has the methods.
type (
	// Module is compiled code, ready to be instantiated.
	Module = host.Module
	// Store holds instances and everything that they can reach.
	Store = host.Store
	// StoreOptions bound what a store gives its instances.
	StoreOptions = host.StoreOptions
	// Instance is an instantiated module.
	Instance = host.Instance
	// Imports says what imports stand for, by module and name.
	Imports = host.Imports
	// Func is a function of a store.
	Func = host.Func
	// RawFunc is a function of Go code on raw words.
	RawFunc = host.RawFunc
	// LoadOptions say how to load an object.
	LoadOptions = host.LoadOptions
	// ObjectKey is a key that signs objects, or verifies them; package host/sign makes keys.
	ObjectKey = host.ObjectKey
	// Caller is the call that a Go function serves.
	Caller = host.Caller
	// Memory is a linear memory.
	Memory = host.Memory
	// Table is a table of references.
	Table = host.Table
	// Global is a global variable.
	Global = host.Global
	// Value is a WebAssembly value with its type.
	Value = host.Value

	// ValType is a WebAssembly value type.
	ValType = host.ValType
	// FuncType is the type of a function.
	FuncType = host.FuncType
	// Limits are those of a memory or table.
	Limits = host.Limits
	// Kind is what an import or export is.
	Kind = host.Kind
	// ExternType is the type of an import or export.
	ExternType = host.ExternType
	// ImportType describes an import of a module.
	ImportType = host.ImportType
	// ExportType describes an export of a module.
	ExportType = host.ExportType

	// Error is a simple failure: one of the constants.
	Error = host.Error
	// Trap is a trap: the specified failure of a WebAssembly program.
	Trap = host.Trap
	// TrapCode says why compiled code trapped.
	TrapCode = host.TrapCode
	// Frame is one activation of a compiled function in a backtrace.
	Frame = host.Frame
	// CancelError says that a context ended a call.
	CancelError = host.CancelError
	// LinkError is an import that could not be satisfied.
	LinkError = host.LinkError
	// LimitError is a request above a limit.
	LimitError = host.LimitError
	// ReferenceError is a word that is no reference of the store.
	ReferenceError = host.ReferenceError
	// CPUError says that this processor lacks what the code was compiled for.
	CPUError = host.CPUError
	// SystemError is a failed request to the operating system.
	SystemError = host.SystemError
	// ObjectError says that an object cannot be loaded.
	ObjectError = host.ObjectError
	// SignatureError says why an object is not taken for one that a key has signed.
	SignatureError = host.SignatureError
)

// The value types.
const (
	TypeI32       = host.TypeI32
	TypeI64       = host.TypeI64
	TypeF32       = host.TypeF32
	TypeF64       = host.TypeF64
	TypeV128      = host.TypeV128 // cannot cross between Go and compiled code
	TypeFuncRef   = host.TypeFuncRef
	TypeExternRef = host.TypeExternRef
)

// The kinds of imports and exports.
const (
	KindFunc   = host.KindFunc
	KindTable  = host.KindTable
	KindMemory = host.KindMemory
	KindGlobal = host.KindGlobal
)

// The simple errors.
const (
	// ErrUnsupported: this machine or operating system cannot run compiled code.
	ErrUnsupported = host.ErrUnsupported
	// ErrBusy: another goroutine is inside the store.
	ErrBusy = host.ErrBusy
	// ErrClosed: the store, module or instance has been closed.
	ErrClosed = host.ErrClosed
	// ErrNotExported: the instance has no such export of that kind.
	ErrNotExported = host.ErrNotExported
	// ErrType: a value does not fit where it is to go.
	ErrType = host.ErrType
	// ErrBounds: an index outside of a table.
	ErrBounds = host.ErrBounds
	// ErrV128: vectors cannot cross between Go and compiled code.
	ErrV128 = host.ErrV128
	// ErrNoSpace, inside a *SystemError: memory or address space is used up.
	ErrNoSpace = host.ErrNoSpace
	// ErrCancelled: a context ended a call. The error is a *CancelError.
	ErrCancelled = host.ErrCancelled
)

// The trap codes.
const (
	TrapUnreachable          = host.TrapUnreachable
	TrapMemoryOutOfBounds    = host.TrapMemoryOutOfBounds
	TrapTableOutOfBounds     = host.TrapTableOutOfBounds
	TrapUndefinedElement     = host.TrapUndefinedElement
	TrapUninitializedElement = host.TrapUninitializedElement
	TrapBadSignature         = host.TrapBadSignature
	TrapIntegerOverflow      = host.TrapIntegerOverflow
	TrapIntegerDivideByZero  = host.TrapIntegerDivideByZero
	TrapBadConversion        = host.TrapBadConversion
	TrapStackOverflow        = host.TrapStackOverflow
	TrapNullReference        = host.TrapNullReference
)

// Load makes a module from an object, as CompileObject and waot build make it; see host.Load. An object is trusted
// like a shared library, but LoadOptions can demand a signature.
func Load(object []byte, o *LoadOptions) (*Module, error) { return host.Load(object, o) }

// SignObject returns the object with a signature behind it, which LoadOptions.Verify checks. The same object and key give the
// same bytes. The error is a *SignatureError.
func SignObject(object []byte, key *ObjectKey) ([]byte, error) { return key.Sign(object) }

// NewStore makes a store, which must be closed; see host.NewStore.
func NewStore(o *StoreOptions) (*Store, error) { return host.NewStore(o) }

// I32 is an i32.
func I32(v int32) Value { return host.I32(v) }

// I64 is an i64.
func I64(v int64) Value { return host.I64(v) }

// F32 is an f32.
func F32(v float32) Value { return host.F32(v) }

// F64 is an f64.
func F64(v float64) Value { return host.F64(v) }

// Ref is an externref to a Go value; nil is null.
func Ref(v any) Value { return host.Ref(v) }

// FuncRef is a funcref; nil is null.
func FuncRef(f *Func) Value { return host.FuncRef(f) }

// Preemption reports whether compiled code is preempted like Go code; nil if so.
func Preemption() error { return host.Preemption() }
