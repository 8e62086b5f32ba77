package compile

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"unsafe"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/wasmfront"
)

// LimitError is a limit, of the compiler or of Options.Limits, that a module exceeds. It is in the tree of the
// *wasmfront.Error that says where, if there is a place.
type LimitError = wasmfront.LimitError

// Limits bound what a compilation may take. 0 means the default, which is also the most but for Memory.
type Limits struct {
	ModuleBytes   uint64 // size of the module; default 2^30
	Functions     uint64 // of the module, imported ones included; default 1,000,000
	FunctionBytes uint64 // size of each function body in the module; default 7,654,321
	CodeBytes     uint64 // machine code of all functions together, with the tables of its traps, calls and stack maps; default 2^29 for each of them
	// Memory limits the memory of the compiler, in bytes, as Stats.Memory counts it; at least 8 MiB. The default is no limit.
	Memory uint64
}

// maxModuleBytes keeps offsets in a module within 32 bits.
const maxModuleBytes = 1 << 30

// limit returns the limit in force: the requested one, unless it is 0 or above most.
func limit(requested, most uint64) uint64 {
	if requested == 0 {
		return most
	}
	return min(requested, most)
}

// CheckSize checks the size of a module before anything is read.
func (l *Limits) CheckSize(wasm []byte) error {
	if n, most := uint64(len(wasm)), limit(l.ModuleBytes, maxModuleBytes); n > most {
		return &LimitError{What: "bytes of module", Want: n, Limit: most}
	}
	if most := l.Memory; most != 0 && uint64(moduleBytes(wasm)) > most {
		return &LimitError{What: memoryLimit, Limit: most}
	}
	return nil
}

// CheckModule checks the number and the size of functions.
func (l *Limits) CheckModule(m *wasmfront.Module) error {
	if n, most := uint64(len(m.Funcs)), limit(l.Functions, wasmfront.MaxFuncs); n > most {
		return &LimitError{What: "functions", Want: n, Limit: most}
	}
	most := limit(l.FunctionBytes, wasmfront.MaxBodySize)
	for i := range m.Code {
		if n := uint64(len(m.Code[i].Bytes)); n > most {
			return &LimitError{What: fmt.Sprintf("bytes of the body of function %d", int(m.NumImportedFuncs)+i), Want: n, Limit: most}
		}
	}
	return nil
}

// account counts what the compilation of a module has used so far. All workers add to it. What it counts depends on
// the module only, and only grows, so that whether a limit is exceeded in the end does not depend on who was first.
type account struct {
	module int64        // bytes of the module, and of what is made of its items
	values atomic.Int64 // see validate.MaxValues
	// complexity is what functions take that grows by a product: SSA form, pairs of values and places where they live. What each
	// function may have for its size does not count.
	complexity atomic.Int64
	code       atomic.Int64 // bytes of machine code
	kept       atomic.Int64 // bytes of all that is kept of functions, code included
	largest    atomic.Int64 // bytes of the tables of the largest function
	bodies     atomic.Int64 // bytes of what is kept to be inlined
}

// copies is how often what is kept of functions is in memory in the end: in buffers of the workers, in the object,
// and in its file.
const copies = 3

// memory returns how many bytes the compiler holds, with one worker: see Stats.Memory.
func (a *account) memory() uint64 {
	return uint64(a.module + copies*a.kept.Load() + a.largest.Load() + a.bodies.Load())
}

// ofAny is what the compilation of any module takes, in bytes: what a process has beside tables, and tables of their least sizes.
const ofAny = 8 << 20

// prices are what items of a module take in all of the compiler, in bytes: in the decoded module, in CLIF, in the tables of the linker, the object and its
// file. They are measured: half of what the peak of memory grows by for each, as the collector lets the heap grow to twice of what is live.
var prices = [wasmfront.NumItems]int64{
	wasmfront.ItemSection: 110, wasmfront.ItemType: 900, wasmfront.ItemTypeValue: 40, wasmfront.ItemImport: 1250, wasmfront.ItemFunc: 430,
	wasmfront.ItemTable: 260, wasmfront.ItemMemory: 1000, wasmfront.ItemTag: 100, wasmfront.ItemGlobal: 190, wasmfront.ItemExport: 680, wasmfront.ItemElemSegment: 200,
	wasmfront.ItemElem: 74, wasmfront.ItemElemExpr: 74, wasmfront.ItemDataSegment: 190, wasmfront.ItemConstOp: 110, wasmfront.ItemNameByte: 34,
	wasmfront.ItemDataByte: 1, wasmfront.ItemDebugByte: 3,
}

// The functions of a module are bounded together, so that it makes no difference into how many of them something is divided that grows by a product. Beyond
// what each may have for its size (translate.Translator.Beyond, regalloc.FreePairs) they may have as much as single ones may, and some
// for each byte of the module. A unit takes 20 to 40 ns. No function of 31,000 real ones that has more than 2,000 bytes needs any.
const freeComplexity, complexityPerByte = 1 << 22, 32

// maxComplexity returns how much the functions of the module may have together.
func (d *driver) maxComplexity() int64 {
	n := int64(freeComplexity)
	if d.wm != nil {
		n += complexityPerByte * int64(len(d.wm.Bytes))
	}
	return n
}

// price is the memory charged for a module while it is decoded.
func (l *Limits) price(wasm []byte) *wasmfront.Price {
	p := &wasmfront.Price{Each: prices, What: memoryLimit, Limit: l.Memory}
	if l.Memory != 0 {
		p.Most = max(1, int64(min(l.Memory, math.MaxInt64))-moduleBytes(wasm))
	}
	return p
}

// moduleBytes is the memory that an empty module takes.
func moduleBytes(wasm []byte) int64 { return ofAny + int64(len(wasm)) }

// overMemory reports whether a module is refused because it takes too much memory.
func overMemory(err error) bool {
	var l *LimitError
	return errors.As(err, &l) && l.What == memoryLimit
}

// memoryLimit is what Limits.Memory limits.
const memoryLimit = "bytes of memory to compile"

// function records a function whose tables take the given number of bytes.
func (a *account) function(bytes int64) {
	for old := a.largest.Load(); bytes > old && !a.largest.CompareAndSwap(old, bytes); old = a.largest.Load() {
	}
}

// bytesPerSlot is the size of a slot in a stack map.
const bytesPerSlot = 4

// roomForFunction returns how many bytes the tables of a function may take, or 0 if there is no limit.
func (d *driver) roomForFunction() int64 {
	most := d.opt.Limits.Memory
	if most == 0 || most > math.MaxInt64 {
		return 0
	}
	return max(1, int64(most)-d.account.module)
}

// keep notes what is kept of a function.
func (a *account) keep(c *backend.Code) {
	n := int64(len(c.Bytes)) + sizeOf(c.Relocs) + sizeOf(c.Traps) + sizeOf(c.StackMaps) + sizeOf(c.Calls) + sizeOf(c.Inlined)
	n += bytesPerSlot * int64(numSlots(c.StackMaps))
	a.code.Add(int64(len(c.Bytes)))
	a.complexity.Add(int64(c.Stats.Live + c.Stats.Refs))
	a.kept.Add(n)
}

// sizeOf returns the size of a slice's elements in bytes.
func sizeOf[T any](s []T) int64 {
	var x T
	return int64(len(s)) * int64(unsafe.Sizeof(x))
}

// exceeded returns the limit that the account exceeds, or nil. If a module exceeds both, the error must not depend on
// the order of functions: with a limit of memory only that ends the compilation while it runs, and the limit of
// code counts in the end.
func (d *driver) exceeded(end bool) error {
	l, a := &d.opt.Limits, &d.account
	if most := l.Memory; most != 0 && a.memory() > most {
		return &LimitError{What: memoryLimit, Limit: most}
	}
	if most := d.maxComplexity(); a.complexity.Load() > most {
		return &LimitError{What: "complexity of the functions together", Limit: uint64(most)}
	}
	most := limit(l.CodeBytes, abi.MaxSectionBytes)
	if !end && l.Memory != 0 {
		most = abi.MaxSectionBytes // what the tables of results can index
	}
	if uint64(a.code.Load()) > most {
		return &LimitError{What: "bytes of code", Limit: limit(l.CodeBytes, abi.MaxSectionBytes)}
	}
	return nil
}
