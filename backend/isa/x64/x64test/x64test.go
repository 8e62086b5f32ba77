//go:build linux && amd64

// Package x64test runs functions compiled for x86-64 inside tests, without any
// host: it places code and instance data in memory, gives them memories and
// tables, and turns faults at listed trap sites into values.
//
// Place in the pipeline: none; only tests import it. One call at a time.
//
// Input: a clif.Module and its functions.
// Output: results, or traps.
package x64test

import (
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"sync"
	"syscall"
	"unsafe"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/instance"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
)

// Regs is what goes in and out of a call; call_amd64.s knows its layout.
type Regs struct {
	ints               [8]uint64
	floats             [8]uint64
	args               uintptr
	nargs              uint64
	kept               uint64
	results            [4]uint64
	fresults           [4]uint64
	signal             uint64
	faultPC, faultAddr uint64
	hostSP             uint64
}

func enter(code, stack uintptr, regs *Regs)
func addresses() (h, r uintptr)
func helpers(p *[5]uintptr)

// setHandler tells the handler what Go's is; setCode where the code is that may fault.
func setHandler(sig, handler uintptr)
func setCode(lo, hi uintptr)

// mu is held while an Image is open; once installs the handler.
var (
	mu   sync.Mutex
	once sync.Once
)

type sigaction struct {
	handler  uintptr
	flags    uint64
	restorer uintptr
	mask     uint64
}

// install puts the handler in front of Go's.
func install() {
	h, r := addresses()
	for _, sig := range []syscall.Signal{syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGILL, syscall.SIGFPE} {
		var old sigaction
		syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), 0, uintptr(unsafe.Pointer(&old)), 8, 0, 0)
		setHandler(uintptr(sig), old.handler)
		sa := sigaction{handler: h, flags: old.flags | 0x04000000, restorer: r, mask: old.mask}
		_, _, e := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&sa)), 0, 8, 0, 0)
		if e != 0 {
			panic(e)
		}
	}
}

const (
	codeSize  = 16 << 20
	stackSize = 1 << 20
	// TableMax is how many elements tables can have.
	TableMax = 4096
	// MemoryMax is how many pages memories can have.
	MemoryMax = 64
)

// Image is a module in memory.
type Image struct {
	Mod    *clif.Module
	Layout *instance.Layout
	mem    []byte // code, then instance data
	data   int
	used   int
	funcs  []funcInfo
	bases  []uintptr // of memories
	tables []uintptr
	stack  []byte
	maps   [][]byte
	fixups []fixup
	Regs   Regs
}

type funcInfo struct {
	at    int
	traps []backend.TrapSite
	size  int
}

type fixup struct {
	at int
	r  backend.Reloc
}

func mmap(n, prot int) []byte {
	b, err := syscall.Mmap(-1, 0, n, prot, syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_NORESERVE)
	if err != nil {
		panic(err)
	}
	return b
}

// New makes an image for mod.
func New(mod *clif.Module) *Image {
	mu.Lock()
	once.Do(install)
	im := &Image{Mod: mod, Layout: instance.New(mod), funcs: make([]funcInfo, len(mod.Funcs))}
	rwx := syscall.PROT_READ | syscall.PROT_WRITE | syscall.PROT_EXEC
	im.data = codeSize
	im.mem = mmap(codeSize+int(im.Layout.Size())+4096, rwx)
	im.stack = mmap(stackSize, syscall.PROT_READ|syscall.PROT_WRITE)
	im.maps = append(im.maps, im.mem, im.stack)
	var hs [5]uintptr
	helpers(&hs)
	for h, a := range hs {
		im.put(im.Layout.Helper(abi.Helper(h)), uint64(a))
	}
	for i := range mod.Memories {
		im.newMemory(i)
	}
	for i := range mod.Tables {
		im.newTable(i)
	}
	for i, s := range im.Layout.TypeSlots() { // any distinct addresses
		im.put(im.Layout.TypesOffset()+8*uint32(i), 0x10000+16*uint64(s))
	}
	for i := range mod.Globals {
		im.newGlobal(i)
	}
	for i := range mod.Datas {
		b := mod.Datas[i].Bytes
		m := mmap(len(b)+1, syscall.PROT_READ|syscall.PROT_WRITE)
		copy(m, b)
		im.maps = append(im.maps, m)
		im.put(im.Layout.Data(uint32(i)), uint64(uintptr(unsafe.Pointer(&m[0]))))
		im.put(im.Layout.Data(uint32(i))+8, uint64(len(b)))
	}
	for i := range mod.Elems {
		im.put(im.Layout.Elem(uint32(i)), im.addr(im.data+int(im.Layout.ElemArray(uint32(i)))))
		im.put(im.Layout.Elem(uint32(i))+8, uint64(len(mod.Elems[i].Funcs)))
	}
	return im
}

func (im *Image) addr(off int) uint64 { return uint64(uintptr(unsafe.Pointer(&im.mem[off]))) }

// put stores a word of the instance data.
func (im *Image) put(off uint32, v uint64) {
	binary.LittleEndian.PutUint64(im.mem[im.data+int(off):], v)
}

// Word is a word of the instance data.
func (im *Image) Word(off uint32) uint64 {
	return binary.LittleEndian.Uint64(im.mem[im.data+int(off):])
}

func (im *Image) newMemory(i int) {
	const guard = 4096
	m := mmap(guard+abi.MemoryReservation, syscall.PROT_NONE)
	im.maps = append(im.maps, m)
	pages := MemoryMax
	min := im.Mod.Memories[i].Min
	if im.Mod.Memories[i].HasMax {
		pages = int(im.Mod.Memories[i].Max)
	}
	if err := syscall.Mprotect(m[:guard+int(min)<<16], syscall.PROT_READ|syscall.PROT_WRITE); err != nil {
		panic(err)
	}
	base := uintptr(unsafe.Pointer(&m[guard]))
	binary.LittleEndian.PutUint64(m[guard-8:], min<<16)
	binary.LittleEndian.PutUint64(m[guard-16:], uint64(pages))
	im.bases = append(im.bases, base)
	im.put(im.Layout.Memory(clif.MemoryIndex(i)), uint64(base))
}

func (im *Image) newTable(i int) {
	m := mmap(4096+8*TableMax, syscall.PROT_READ|syscall.PROT_WRITE)
	im.maps = append(im.maps, m)
	base := uintptr(unsafe.Pointer(&m[4096]))
	binary.LittleEndian.PutUint64(m[4096-8:], im.Mod.Tables[i].Min)
	binary.LittleEndian.PutUint64(m[4096-16:], TableMax)
	im.tables = append(im.tables, base)
	im.put(im.Layout.Table(clif.TableIndex(i)), uint64(base))
}

func (im *Image) newGlobal(i int) {
	off, indirect := im.Layout.Global(clif.GlobalIndex(i))
	if !indirect {
		im.put(off, im.Mod.Globals[i].Init)
		return
	}
	m := mmap(16, syscall.PROT_READ|syscall.PROT_WRITE)
	im.maps = append(im.maps, m)
	binary.LittleEndian.PutUint64(m, im.Mod.Globals[i].Init)
	im.put(off, uint64(uintptr(unsafe.Pointer(&m[0]))))
}

// Global is the bits of global i.
func (im *Image) Global(i int) uint64 {
	off, indirect := im.Layout.Global(clif.GlobalIndex(i))
	v := im.Word(off)
	if indirect {
		return *(*uint64)(*(*unsafe.Pointer)(unsafe.Pointer(&v)))
	}
	return v
}

// Memory is the first n bytes of memory i, which must be accessible.
func (im *Image) Memory(i, n int) []byte {
	base := im.bases[i]
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&base))), n)
}

// Table is the first n words of table i.
func (im *Image) Table(i, n int) []uint64 {
	base := im.tables[i]
	return unsafe.Slice((*uint64)(*(*unsafe.Pointer)(unsafe.Pointer(&base))), n)
}

// Add places the code of function i.
func (im *Image) Add(i clif.FuncIndex, c *backend.Code) {
	align := max(int(c.Align), 16)
	at := (im.used + align - 1) &^ (align - 1)
	copy(im.mem[at:codeSize], c.Bytes)
	im.used = at + len(c.Bytes)
	im.funcs[i] = funcInfo{at: at, size: len(c.Bytes), traps: append([]backend.TrapSite(nil), c.Traps...)}
	for _, r := range c.Relocs {
		im.fixups = append(im.fixups, fixup{at, r})
	}
	if off, ok := im.Layout.Desc(i); ok {
		im.put(off, im.addr(at))
		im.put(off+8, im.Word(im.Layout.Type(im.Mod.Funcs[i].Sig)))
	}
}

// Import makes function j serve as the import i.
func (im *Image) Import(i, j clif.FuncIndex) {
	off := im.Layout.Import(i)
	im.put(off, im.addr(im.funcs[j].at))
	d, _ := im.Layout.Desc(j)
	im.put(off+8, im.addr(im.data+int(d)))
}

// Desc is the reference of function i.
func (im *Image) Desc(i clif.FuncIndex) uint64 {
	d, ok := im.Layout.Desc(i)
	if !ok {
		panic("no descriptor")
	}
	return im.addr(im.data + int(d))
}

// Code is the bytes of function i.
func (im *Image) Code(i clif.FuncIndex) []byte {
	f := im.funcs[i]
	return im.mem[f.at : f.at+f.size]
}

// Link resolves relocations; call it after the last Add.
func (im *Image) Link() {
	for _, f := range im.fixups {
		target := im.data
		if f.r.Sym != backend.SymInstance {
			target = im.funcs[f.r.Sym.Func()].at
		}
		field := f.at + int(f.r.Offset)
		v := int64(target) + f.r.Addend - int64(field)
		if v != int64(int32(v)) {
			panic("relocation overflow")
		}
		binary.LittleEndian.PutUint32(im.mem[field:], uint32(v))
	}
	im.fixups = nil
}

// Trap is the outcome of a call that trapped.
type Trap struct {
	Code abi.TrapCode
	Site backend.TrapSite
	Addr uint64 // of a memory fault, relative to the memory's base
}

// Call calls function i with the bits of its arguments and returns those of its results.
func (im *Image) Call(i clif.FuncIndex, args ...uint64) (results []uint64, trap *Trap, err error) {
	sig := im.Mod.FuncSig(i)
	var s abi.Sig
	abi.X64.Assign(&s, kinds(sig.Params), kinds(sig.Results))
	r := &im.Regs
	*r = Regs{}
	// What no argument sets is garbage.
	for k := range r.ints {
		r.ints[k] = 0xa5a5a5a5a5a5a5a5
		r.floats[k] = math.Float64bits(math.Inf(-1))
	}
	stack := make([]uint64, s.ArgWords+1)
	for n, l := range s.Args {
		v := args[n]
		if sig.Params[n] == clif.F32 {
			v |= 0xdeadbeef << 32 // unspecified
		}
		switch {
		case !l.InReg:
			stack[l.Word] = v
		case l.Kind == abi.ArgFloat:
			r.floats[l.Reg] = v
		default:
			r.ints[intArg(l.Reg)] = v
		}
	}
	hidden := make([]uint64, s.ResultWords+1)
	if s.HasHidden() {
		r.ints[intArg(s.HiddenReg)] = uint64(uintptr(unsafe.Pointer(&hidden[0])))
	}
	r.args, r.nargs = uintptr(unsafe.Pointer(&stack[0])), uint64(s.ArgWords)
	setCode(uintptr(im.addr(0)), uintptr(im.addr(im.used)))
	enter(uintptr(im.addr(im.funcs[i].at)), uintptr(unsafe.Pointer(&im.stack[0]))+stackSize-64, r)
	runtime.KeepAlive(stack)
	runtime.KeepAlive(hidden)
	if r.signal != 0 {
		t, err := im.trap()
		return nil, t, err
	}
	if r.kept != 0 {
		return nil, nil, fmt.Errorf("callee-saved registers or the stack pointer changed: %#x", r.kept)
	}
	for n, l := range s.Results {
		var v uint64
		switch {
		case !l.InReg:
			v = hidden[l.Word]
		case l.Kind == abi.ArgFloat:
			v = r.fresults[l.Reg]
		default:
			v = r.results[resultReg[l.Reg]]
		}
		switch sig.Results[n] {
		case clif.F32:
			v = uint64(uint32(v))
		case clif.I32:
			if v>>32 != 0 {
				return nil, nil, fmt.Errorf("i32 result %d is not zero-extended: %#x", n, v)
			}
		}
		results = append(results, v)
	}
	return results, nil, nil
}

var resultReg = [16]int{abi.RAX: 0, abi.RDX: 1, abi.RCX: 2, abi.RSI: 3}

func intArg(reg uint8) int {
	for k, r := range abi.X64.IntArgs {
		if r == reg {
			return k
		}
	}
	panic("not an argument register")
}

func kinds(ts []clif.Type) (ks []abi.ArgKind) {
	for _, t := range ts {
		k := abi.ArgInt
		if t.IsFloat() {
			k = abi.ArgFloat
		}
		ks = append(ks, k)
	}
	return ks
}

// trap finds the site of the fault and checks that the fault is of its kind.
func (im *Image) trap() (*Trap, error) {
	r := &im.Regs
	off := int(r.faultPC - im.addr(0))
	for i := range im.funcs {
		f := &im.funcs[i]
		if off < f.at || off >= f.at+f.size {
			continue
		}
		for _, t := range f.traps {
			if int(t.Offset) == off-f.at {
				return im.check(t)
			}
		}
		return nil, fmt.Errorf("function %d: signal %d at offset %#x, address %#x, which is no trap site", i, r.signal, off-f.at, r.faultAddr)
	}
	return nil, fmt.Errorf("signal %d outside all functions", r.signal)
}

func (im *Image) check(t backend.TrapSite) (*Trap, error) {
	r := &im.Regs
	sig := syscall.Signal(r.signal)
	tr := &Trap{Code: t.Code, Site: t}
	ok := false
	switch t.Fault {
	case abi.FaultUndefined:
		ok = sig == syscall.SIGILL
	case abi.FaultDivide:
		ok = sig == syscall.SIGFPE
	case abi.FaultNull:
		ok = sig == syscall.SIGSEGV && r.faultAddr < 4096
	case abi.FaultMemory:
		tr.Addr = r.faultAddr - uint64(im.bases[t.Memory])
		ok = sig == syscall.SIGSEGV && tr.Addr < abi.MemoryReservation
	}
	if !ok {
		return nil, fmt.Errorf("signal %d, address %#x, at a site of kind %d", r.signal, r.faultAddr, t.Fault)
	}
	return tr, nil
}

// Close unmaps the image.
func (im *Image) Close() {
	for _, m := range im.maps {
		if err := syscall.Munmap(m); err != nil {
			panic(err)
		}
	}
	mu.Unlock()
}
