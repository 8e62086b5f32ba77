package waot

import "github.com/waot-project/waot/host"

// The types of package host, whose documentation has their methods.
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
	// MemoryAllocator supplies the bytes of memories: see StoreOptions.Allocator.
	MemoryAllocator = host.MemoryAllocator
	// InstanceOptions are for one instance.
	InstanceOptions = host.InstanceOptions
	// LinearMemory is the bytes of one memory of a MemoryAllocator.
	LinearMemory = host.LinearMemory
	// RawFunc is a function of Go code on raw words.
	RawFunc = host.RawFunc
	// LoadOptions say how to load an object.
	LoadOptions = host.LoadOptions
	// ObjectKey is a key that signs objects, or verifies them; package host/sign makes keys.
	ObjectKey = host.ObjectKey
	// Caller is the call that a Go function serves.
	Caller = host.Caller
	// Pool hands out instances of a module, and resets those that come back.
	Pool = host.Pool
	// PoolOptions say how a Pool makes instances, and how many.
	PoolOptions = host.PoolOptions
	// PoolInstance is an instance that a Pool has handed out.
	PoolInstance = host.PoolInstance
	// System is what an instance of a Pool has of the system, such as a *WASI.
	System = host.System
	// Snapshot is a state of compiled code to go back to.
	Snapshot = host.Snapshot
	// Memory is a linear memory.
	Memory = host.Memory
	// Table is a table of references.
	Table = host.Table
	// Global is a global variable.
	Global = host.Global
	// Tag is a tag of exceptions.
	Tag = host.Tag
	// Exception is an exception of WebAssembly: an error that no compiled code has caught, or that a Go function throws.
	Exception = host.Exception
	// Object is a reference to a structure or array of WebAssembly.
	Object = host.Object
	// ObjectKind is what an Object is.
	ObjectKind = host.ObjectKind
	// ObjectType is a type of structures or arrays.
	ObjectType = host.ObjectType
	// FieldType is the type of a field of a structure, or of the elements of an array.
	FieldType = host.FieldType
	// RefType is a type of references by itself, for tables and globals that Go code makes.
	RefType = host.RefType
	// I31 is a small integer as a reference.
	I31 = host.I31
	// Value is a WebAssembly value with its type.
	Value = host.Value

	// ValType is a WebAssembly value type.
	ValType = host.ValType
	// FuncType is the type of a function.
	FuncType = host.FuncType
	// Limits are those of a memory or table.
	Limits = host.Limits
	// Kind is the kind of an import or export.
	Kind = host.Kind
	// ExternType is the type of an import or export.
	ExternType = host.ExternType
	// ImportType describes an import of a module.
	ImportType = host.ImportType
	// ExportType describes an export of a module.
	ExportType = host.ExportType

	// Trap is a trap: the specified failure of a WebAssembly program.
	Trap = host.Trap
	// TrapCode says why compiled code trapped.
	TrapCode = host.TrapCode
	// Error is an error without details: one of the constants below. Compare with errors.Is, since many errors wrap a
	// constant and add what it was about.
	Error = host.Error
	// ObjectError means that what was given to Load is not an object of this compiler and version, or is damaged.
	ObjectError = host.ObjectError
	// LinkError is an import that could not be satisfied.
	LinkError = host.LinkError
	// LimitError is a request above a limit of the store or of the process.
	LimitError = host.LimitError
	// SnapshotError means that there is no snapshot of a module or instance.
	SnapshotError = host.SnapshotError
	// ReferenceError is a word that was given for a reference, to CallRaw or by a RawFunc, and is not a reference of the
	// store. It matches ErrType.
	ReferenceError = host.ReferenceError
	// CPUError means that this processor lacks what the code was compiled for.
	CPUError = host.CPUError
	// SystemError is a failed request to the operating system.
	SystemError = host.SystemError
	// CancelError means that a context ended a call. It matches ErrCancelled and unwraps to the
	// cause of the context, such as context.DeadlineExceeded.
	CancelError = host.CancelError
	// Frame is one activation of a compiled function in a backtrace.
	Frame = host.Frame
	// SignatureError means that an object was not signed by the key, or has been changed since, or that a key is unusable.
	SignatureError = host.SignatureError
)

// The value types.
const (
	TypeI32       = host.TypeI32
	TypeI64       = host.TypeI64
	TypeF32       = host.TypeF32
	TypeF64       = host.TypeF64
	TypeV128      = host.TypeV128
	TypeFuncRef   = host.TypeFuncRef
	TypeExternRef = host.TypeExternRef
	TypeExnRef    = host.TypeExnRef
	TypeAnyRef    = host.TypeAnyRef
	TypeEqRef     = host.TypeEqRef
	TypeI31Ref    = host.TypeI31Ref
	TypeStructRef = host.TypeStructRef
	TypeArrayRef  = host.TypeArrayRef
)

// The kinds of objects.
const (
	ObjectUnknown = host.ObjectUnknown
	ObjectStruct  = host.ObjectStruct
	ObjectArray   = host.ObjectArray
)

// The kinds of imports and exports.
const (
	KindFunc   = host.KindFunc
	KindTable  = host.KindTable
	KindMemory = host.KindMemory
	KindGlobal = host.KindGlobal
	KindTag    = host.KindTag
)

// The errors without details.
const (
	// ErrUnsupported means that this machine or operating system cannot run compiled code.
	ErrUnsupported = host.ErrUnsupported
	// ErrBusy means that a goroutine is inside the store: another one or, for Close and Enter, the calling one.
	ErrBusy = host.ErrBusy
	// ErrClosed means that the store, module or instance has been closed.
	ErrClosed = host.ErrClosed
	// ErrNotExported means that the instance has no such export of that kind.
	ErrNotExported = host.ErrNotExported
	// ErrType means that a value does not fit the type of a parameter, result, table, global or field, or that there are too
	// many values or too few.
	ErrType = host.ErrType
	// ErrBounds means that an index is outside of a table, an object or another space of indices.
	ErrBounds = host.ErrBounds
	// ErrNoSpace, inside a *SystemError, means that memory, address space, the room for code or the native stacks are used up.
	ErrNoSpace = host.ErrNoSpace
	// ErrCancelled means that a context ended a call. The error itself is a *CancelError.
	ErrCancelled = host.ErrCancelled
	// ErrRestore means that a Go function has restored a snapshot. Go functions between it and the call of the snapshot get ErrRestore from their calls, and
	// return it in turn. Any other caller that receives it has restored a snapshot whose call had returned.
	ErrRestore = host.ErrRestore
	// ErrGuardPages means that a store with an allocator was to make a memory for code without explicit bounds checks.
	ErrGuardPages = host.ErrGuardPages
	// ErrFuel means that a store was to have code that counts fuel and code that does not.
	ErrFuel = host.ErrFuel
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
	// TrapOutOfFuel is raised in front of a basic block that has an effect or begins a loop and cannot be paid, or where a call from Go ends in a
	// debt (CompileOptions.Fuel, StoreOptions.Fuel).
	TrapOutOfFuel = host.TrapOutOfFuel
	// The traps of structures, arrays and small integers. TrapHeapExhausted is raised where an object would take more than StoreOptions.MaxHeapMemory.
	TrapNullStructure    = host.TrapNullStructure
	TrapNullArray        = host.TrapNullArray
	TrapNullI31          = host.TrapNullI31
	TrapArrayOutOfBounds = host.TrapArrayOutOfBounds
	TrapCastFailure      = host.TrapCastFailure
	TrapHeapExhausted    = host.TrapHeapExhausted
)
