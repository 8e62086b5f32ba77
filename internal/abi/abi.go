// Package abi holds the facts of waot's binary interface that the compiler and
// the hosts of compiled code must agree on: trap codes, the helper functions a
// host supplies, the layout of instance data, the argument locations of the
// waot calling convention, and the tag scheme of references. docs/abi.md
// explains them.
//
// Place in the pipeline: a leaf, imported by the back end, the object
// metadata and the hosts.
//
// Input: nothing.
// Output: constants, tables and pure functions.
package abi

// Version is the version of the binary interface; linkers and loaders refuse
// any other.
const Version = 4

// CheckedVersion is the version in the record of an object whose code checks the bounds of memories.
const CheckedVersion = 5

// FuelVersion is the version, in the record and in the metadata, of an object whose code counts fuel: a register has the count.
const FuelVersion = 6

// ExceptionsVersion is the version, in the record and in the metadata, of an object whose code throws or catches exceptions. It may count fuel as well.
const ExceptionsVersion = 7

// HeapVersion is the version, in the record and in the metadata, of an object whose instances have a heap part. It may have what the others have as well.
const HeapVersion = 8

// TrapCode says why compiled code trapped. The values are stored in objects.
type TrapCode uint8

// The trap codes.
const (
	TrapNone TrapCode = iota
	TrapUnreachable
	TrapMemoryOutOfBounds
	TrapTableOutOfBounds
	TrapUndefinedElement
	TrapUninitializedElement
	TrapBadSignature
	TrapIntegerOverflow
	TrapIntegerDivideByZero
	TrapBadConversion
	TrapStackOverflow
	// TrapNullReference is of call_ref and ref.as_non_null.
	TrapNullReference
	// TrapOutOfFuel is raised in front of a block that costs more than is left (docs/fuel.md). A host may resume the code there.
	TrapOutOfFuel
	// Those of garbage collection: of operators that need a structure, an array or a small integer, of accesses beyond an array, of ref.cast, and of what finds no room.
	TrapNullStructure
	TrapNullArray
	TrapNullI31
	TrapArrayOutOfBounds
	TrapCastFailure
	TrapHeapExhausted
	NumTrapCodes
)

var trapNames = [NumTrapCodes]string{
	"none", "unreachable", "memory_out_of_bounds", "table_out_of_bounds", "undefined_element",
	"uninitialized_element", "bad_signature", "integer_overflow", "integer_divide_by_zero",
	"bad_conversion", "stack_overflow", "null_reference", "out_of_fuel",
	"null_structure", "null_array", "null_i31", "array_out_of_bounds", "cast_failure", "heap_exhausted",
}

// trapMessages are the words of the specification's test suite.
var trapMessages = [NumTrapCodes]string{
	"no trap", "unreachable", "out of bounds memory access", "out of bounds table access", "undefined element",
	"uninitialized element", "indirect call type mismatch", "integer overflow", "integer divide by zero",
	"invalid conversion to integer", "call stack exhausted", "null reference", "all fuel consumed",
	"null structure reference", "null array reference", "null i31 reference", "out of bounds array access", "cast failure", "heap exhausted",
}

// String returns the name of c in CLIF's text form.
func (c TrapCode) String() string {
	if c >= NumTrapCodes {
		return "unknown"
	}
	return trapNames[c]
}

// Message returns the wording of the specification's test suite for c.
func (c TrapCode) Message() string {
	if c >= NumTrapCodes {
		return "unknown trap"
	}
	return trapMessages[c]
}

// TrapByName returns the code whose String is name, or TrapNone and false.
func TrapByName(name string) (TrapCode, bool) {
	for c, n := range trapNames {
		if n == name {
			return TrapCode(c), true
		}
	}
	return TrapNone, false
}

// FaultKind says how the instruction at a trap site signals the trap, and so
// what a signal handler has to verify before it calls a fault a trap.
type FaultKind uint8

// The kinds of fault.
const (
	// FaultUndefined: the site is an undefined instruction (SIGILL).
	FaultUndefined FaultKind = iota
	// FaultMemory: an access to linear memory Mem (SIGSEGV or SIGBUS with an
	// address inside the reservation of that memory).
	FaultMemory
	// FaultNull: an access near address zero through a null reference (SIGSEGV
	// with an address in page zero).
	FaultNull
	// FaultDivide: a division (SIGFPE).
	FaultDivide
)

// Helper is a function that a host supplies. Helpers take integer arguments as
// in the C calling convention of the machine (the waot convention agrees with
// it for them), may not unwind, and run on the stack of the compiled code.
type Helper uint8

// The helpers. See docs/abi.md for their C prototypes.
const (
	HelperMemoryGrow Helper = iota
	HelperTableGrow
	HelperMemmove
	HelperMemset
	HelperTableFill
	// NumCommonHelpers is how many there are that every instance has. The others are for exceptions.
	NumCommonHelpers
)

// The helpers of instances with exceptions, and of those with a heap.
const (
	HelperRaise = NumCommonHelpers + iota
	HelperExceptionOpen
	HelperExceptionRef
	HelperHeapNew
	HelperHeapFill
	HelperHeapWiden
	HelperHeapNarrow
	HelperFuncTest
	NumHelpers

	// FirstHeapHelper is the first of those of a heap.
	FirstHeapHelper = HelperHeapNew
)

// OfExceptions and OfHeap report whether only instances with that part have a helper.
func (h Helper) OfExceptions() bool { return h >= NumCommonHelpers && h < FirstHeapHelper }
func (h Helper) OfHeap() bool       { return h >= FirstHeapHelper }

// HelperInfo describes a helper.
type HelperInfo struct {
	// Symbol is its linker name.
	Symbol string
	// Args is the number of 64-bit integer arguments; Result says whether it
	// returns a 64-bit integer.
	Args   int
	Result bool
	// Collects says that the host may collect references in it, so that a call of
	// it is a safepoint. The others are leaves that know nothing of references.
	Collects bool
}

// Helpers is the table of helpers.
var Helpers = [NumHelpers]HelperInfo{
	// uint64 waot_memory_grow(void *base, uint64 pages): old pages, or all ones.
	HelperMemoryGrow: {"waot_memory_grow", 2, true, true},
	// uint64 waot_table_grow(void *base, uint64 elements, uint64 init): old
	// length, or all ones.
	HelperTableGrow: {"waot_table_grow", 3, true, true},
	// void waot_memmove(void *to, void *from, uint64 bytes).
	HelperMemmove: {"waot_memmove", 3, false, false},
	// void waot_memset(void *to, uint64 byte, uint64 bytes).
	HelperMemset: {"waot_memset", 3, false, false},
	// void waot_table_fill(void *to, uint64 word, uint64 words).
	HelperTableFill: {"waot_table_fill", 3, false, false},
	// void waot_raise(void *exception): unwinds, and does not return.
	HelperRaise: {"waot_raise", 1, false, true},
	// void waot_exception_open(void *exception, uint64 reference).
	HelperExceptionOpen: {"waot_exception_open", 2, false, true},
	// uint64 waot_exception_ref(void *exception).
	HelperExceptionRef: {"waot_exception_ref", 1, true, true},
	// uint64 waot_heap_new(uint64 type, uint64 length, uint64 size, void *base): a reference to a new object of zeros and nulls, of a type that is given by its number, and of size bytes, which may be
	// more than fits; an array has the length, which is 0 for a structure. If there is no room, it ends the call (TrapHeapExhausted).
	HelperHeapNew: {"waot_heap_new", 4, true, true},
	// void waot_heap_fill(void *to, void *value, uint64 n, uint64 size): n copies of a value of size bytes.
	HelperHeapFill: {"waot_heap_fill", 4, false, false},
	// void waot_heap_widen(uint64 *to, uint32 *from, uint64 n) and waot_heap_narrow(uint32 *to, uint64 *from, uint64 n) copy references. What they copy from is elsewhere than where they copy to.
	HelperHeapWiden:  {"waot_heap_widen", 3, false, false},
	HelperHeapNarrow: {"waot_heap_narrow", 3, false, false},
	// uint64 waot_func_test(void *descriptor, void *record): whether the function's type is a subtype of the one with the record, which it is not itself: 1 or 0.
	HelperFuncTest: {"waot_func_test", 2, true, true},
}

// Linear memory and tables. The word before the base of either holds its
// current size; base and reservation never move.
const (
	// MemorySizeOffset is where, relative to a memory's base, its current size
	// in bytes is (a 64-bit word).
	MemorySizeOffset = -8
	// TableSizeOffset is where, relative to a table's base, its current length
	// in elements is (a 64-bit word).
	TableSizeOffset = -8
	// MemoryMaxPagesOffset and TableMaxOffset hold the limit that growth must
	// respect (64-bit words), for hosts only.
	MemoryMaxPagesOffset = -16
	TableMaxOffset       = -16
	// MemoryBaseOffset is where, relative to the descriptor of a memory, its base is (a 64-bit word), for code that checks bounds. The
	// descriptor of a memory that cannot move is its base. The word between is the host's.
	MemoryBaseOffset = -32
	// MemoryReservation is how many bytes from its base belong to a 32-bit
	// memory: any index + offset + width falls inside.
	MemoryReservation = 8<<30 + 64<<10
	// PageSize is WebAssembly's.
	PageSize = 64 << 10
)

// The exception part of the instance data, which instances with exceptions have, begins with the slots of their helpers. What follows, from
// ExceptionTag on, is what the helpers get the address of: the exception that is under way.
const (
	// ExceptionHelpers is how many bytes the slots of helpers take.
	ExceptionHelpers = 8 * int(FirstHeapHelper-NumCommonHelpers)
	// ExceptionTag is where, from the start of the exception that is under way, the address of its tag is, ExceptionRef where a reference to it, or 0 if none has been made, and
	// ExceptionArgs where the words of its arguments begin, as functions have them in memory: those of a v128 are aligned to 16.
	ExceptionTag  = 0
	ExceptionRef  = 8
	ExceptionArgs = 16
)

// ExceptionWord returns the word at which argument n of an exception begins, whose arguments have the given types: one of 16 bytes at an even one. For n = len(types), it is how
// many words there are.
func ExceptionWord[T interface{ Bits() int }](types []T, n int) int {
	at := 0
	for i, t := range types {
		words := t.Bits() / 64 // 0 or 1 is one
		if words == 2 {
			at = (at + 1) &^ 1
		}
		if i == n {
			break
		}
		at += max(words, 1)
	}
	return at
}

// The heap part of the instance data, which instances of modules that define structures or arrays or test references have, is aligned to 16 and begins with the slots of its helpers.
const (
	// HeapBase is where, from the start of the part, the address of the base of the heap is, and HeapRows where that of the table of rows.
	HeapBase = 8 * int(NumHelpers-FirstHeapHelper)
	HeapRows = HeapBase + 8
	// HeapValue is where code puts the value with which HelperHeapFill fills, at most 16 bytes.
	HeapValue = (HeapRows + 8 + 15) &^ 15
	// HeapTypes is where the numbers of the module's types begin, 4 bytes each, those of types of functions left at 0.
	HeapTypes = HeapValue + 16
)

// InstanceHeader is how many bytes of the instance data precede the helper slots: the version and a reserved word.
const InstanceHeader = 16

// FuncAlign is the alignment of functions in the text, in bytes.
const FuncAlign = 16

// Slots of imported functions.
const (
	ImportCode = 0  // address of the code, waot convention
	ImportDesc = 8  // address of the descriptor
	ImportSize = 16 // bytes
)

// Pairs of data and element segments.
const (
	SegmentAddress = 0  // of the bytes or elements
	SegmentLength  = 8  // number of bytes or elements; 0 once the segment is dropped
	SegmentSize    = 16 // bytes
)

// Function descriptors: what a function reference points to.
const (
	DescCode = 0 // address of the code, waot convention
	DescType = 8 // address of the canonical type record
	// DescHost is set in the addresses of descriptors of functions of the host, and of those of which only a linker knows what they are. Compiled code calls them in the
	// place of a tail call, so that the host knows the instance that called.
	DescHost = 8
	DescSize = 16 // bytes
)

// References. A null reference is 0. The low RefTagBits tell the rest apart. What is above them in a host handle is the host's: the CLIF interpreter has a
// number there, host/inproc one bit for what it is a handle of, and a number above that.
const (
	RefTagBits   = 2
	RefTagMask   = 1<<RefTagBits - 1
	RefTagObject = 0 // address of a collected object, aligned to 8
	RefTagInt    = 1 // small integer, shifted left by 1
	RefTagHost   = 2 // host handle
)
