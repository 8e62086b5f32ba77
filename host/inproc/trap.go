package inproc

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/waot-project/waot/internal/abi"
)

// Linux's numbers of the signals of faults.
const (
	sigILL  = 4
	sigBUS  = 7
	sigFPE  = 8
	sigSEGV = 11
)

// nullPage is the size of page zero, where accesses through null fall.
const nullPage = 4096

// classify decides what the fault of the innermost activation was: a trap, by the
// rules of the binary interface, or a bug, which ends the process.
func (s *Store) classify() error {
	c := s.ctx
	signal := c.faultSignal
	// Faults of the page tables carry an address; others (a non-canonical address) do not.
	hasAddress := (signal == sigSEGV || signal == sigBUS) &&
		(c.faultSICode == 1 || c.faultSICode == 2)
	if hasAddress && s.isCancelFault(c.faultAddr) {
		return s.cancelError(true)
	}
	i := s.instanceAt(c.faultPC)
	if i == nil {
		s.abort("a fault in native code of no instance")
	}
	if hasAddress && c.faultAddr-s.stack-saveArea < stackGuard {
		return s.trap(abi.TrapStackOverflow)
	}
	site := i.module.trapAt(uint32(c.faultPC - i.base))
	if site == nil {
		s.abort("a fault where the trap table lists none")
	}
	ok := false
	switch site.Fault {
	case abi.FaultUndefined:
		ok = signal == sigILL
	case abi.FaultMemory:
		ok = hasAddress && c.faultAddr-i.memories[site.Memory].base < bytes64(abi.MemoryReservation)
	case abi.FaultNull:
		ok = hasAddress && signal == sigSEGV && c.faultAddr < nullPage
	case abi.FaultDivide:
		ok = signal == sigFPE
	}
	if !ok {
		s.abort(fmt.Sprintf("a fault that does not fit the trap table (%s, kind %d)", site.Code, site.Fault))
	}
	return s.trap(site.Code)
}

// abort ends the process: compiled code did what it never may, so nothing it
// can reach is to be trusted.
func (s *Store) abort(what string) {
	c := s.ctx
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nsignal %d code %d, pc %#x, address %#x, sp %#x, fp %#x\n", what,
		c.faultSignal, c.faultSICode, c.faultPC, c.faultAddr, c.faultSP, c.faultFP)
	if i := s.instanceAt(c.faultPC); i != nil {
		offset := uint32(c.faultPC - i.base)
		fmt.Fprintf(&b, "text offset %#x of module %q", offset, i.module.meta.Name)
		if f, ok := i.module.funcAt(offset); ok {
			d := &i.module.meta.Funcs[f]
			fmt.Fprintf(&b, ", function %d %q + %#x", f, i.module.sites().Funcs[f].Name, offset-d.Text)
		}
		b.WriteByte('\n')
	}
	fatal(b.String())
}

// fatal ends the process with a text of whole lines and a backtrace.
func fatal(text string) {
	fmt.Fprintf(os.Stderr, "waot: fatal: %s", text)
	buf := make([]byte, 16<<10)
	os.Stderr.Write(buf[:runtime.Stack(buf, false)])
	os.Exit(2)
}

// trap builds the error for the fault in the context.
func (s *Store) trap(code abi.TrapCode) *Trap {
	frames, inner := s.faultBacktrace()
	return newTrap(code, frames, inner)
}

func newTrap(code abi.TrapCode, backtrace []Frame, inner int) *Trap {
	t := &Trap{Code: code, Backtrace: backtrace, Inner: inner}
	if len(t.Backtrace) > 0 {
		f := &t.Backtrace[0]
		t.Func, t.Name, t.Offset = f.Func, f.Name, f.Offset
	}
	return t
}

// faultBacktrace returns the innermost frames at the fault in the context, and how many of them are of the innermost activation.
func (s *Store) faultBacktrace() (out []Frame, inner int) {
	visit := framesInto(&out)
	more := s.walkFault(visit)
	inner = len(out)
	if more {
		s.walkOuter(s.depth-2, visit)
	}
	return out, inner
}

// framesInto returns a visitor that describes the innermost frames in out.
func framesInto(out *[]Frame) func(nativeFrame) bool {
	return func(f nativeFrame) bool {
		for _, d := range f.describe() {
			if len(*out) == maxBacktrace {
				break
			}
			*out = append(*out, d)
		}
		return len(*out) < maxBacktrace
	}
}

// nativeFrame is one activation of a compiled function on the native stack.
type nativeFrame struct {
	inst *Instance
	// pc is the return address of the call the frame is in, or, if fault, that of the
	// instruction that faulted.
	pc uintptr
	fp uintptr // its frame pointer; the caller's in a fault at the function's entry
	// low is where the frame ends, but for what the call it is in has put there: what lies below is others'.
	low   uintptr
	fault bool
}

// describe returns the frame in terms of the Wasm module: the function, and before it those that were inlined where it is.
func (f *nativeFrame) describe() (out []Frame) {
	m := f.inst.module
	offset := uint32(f.pc - f.inst.base)
	at := offset
	if !f.fault {
		at-- // the call may be the function's last instruction
	}
	n, ok := m.funcAt(at)
	if !ok {
		return nil
	}
	place := uint32(0)
	if !f.fault {
		place = m.callAt(offset)
	} else if site := m.trapAt(offset); site != nil {
		place = site.Src
	}
	tables := m.sites()
	abi.Activations(tables.Inlined, n, place, func(a abi.Activation) bool {
		out = append(out, Frame{Module: m.meta.Name, Func: a.Func, Name: tables.Funcs[a.Func].Name, Offset: a.Offset})
		return len(out) < maxBacktrace
	})
	return out
}

// walkFault visits the frames of the innermost activation from the fault in the context outwards. It reports whether to go on.
func (s *Store) walkFault(visit func(nativeFrame) bool) bool {
	c := s.ctx
	inst := s.instanceAt(c.faultPC)
	if inst != nil && !visit(nativeFrame{inst, c.faultPC, c.faultFP, c.faultSP, true}) {
		return false
	}
	pc, fp := uintptr(0), c.faultFP
	if inst == nil || atEntry(inst, c.faultPC) {
		// A helper or a stub was called and has no frame, or the function has none yet: the
		// frame pointer is the caller's.
		pc = c.faultReturnAddress()
	} else if s.isFrame(fp, c.faultSP) {
		pc, fp = uintptr(load64(fp+8)), uintptr(load64(fp))
	}
	return s.walk(pc, fp, s.stack, visit)
}

// isFrame reports whether fp can be that of a frame that lies above address above.
func (s *Store) isFrame(fp, above uintptr) bool {
	return fp%8 == 0 && fp >= above && fp < s.top && fp-s.stack >= guardEnd
}

// walk visits the frames of one activation, from return address pc and frame
// pointer fp of the function it returns to, whose frame ends at above or further up. It reports whether to go on.
func (s *Store) walk(pc, fp, above uintptr, visit func(nativeFrame) bool) bool {
	for fp != 0 && s.isFrame(fp, above) {
		i := s.instanceAt(pc)
		if i == nil {
			return true
		}
		if !visit(nativeFrame{i, pc, fp, above, false}) {
			return false
		}
		above = fp + 16
		pc, fp = uintptr(load64(fp+8)), uintptr(load64(fp))
	}
	return true
}

// slot returns what a stack map's slot of a frame holds. The process ends if that is not in the frame: the metadata gives the
// function a larger frame than it has, and what the map means to keep is unknown.
func (f *nativeFrame) slot(displacement int32) uint64 {
	at := uintptr(int(f.fp) + int(displacement))
	if at < f.low || at >= f.fp {
		fatal(fmt.Sprintf("slot %d of the stack map at %#x of module %q is outside of the frame\n", displacement,
			f.pc-f.inst.base, f.inst.module.meta.Name))
	}
	return load64(at)
}

// walkOuter visits the frames of activation n and those below it in the nesting.
func (s *Store) walkOuter(n int, visit func(nativeFrame) bool) {
	for ; n >= 0; n-- {
		if !s.activations[n].walkOwn(visit) {
			return
		}
	}
}

// walkOwn visits the frames of the activation, which native code has left. It reports whether to go on.
func (c *Caller) walkOwn(visit func(nativeFrame) bool) bool {
	if !c.native {
		return true
	}
	e := c.exitState()
	return c.store.walk(returnAddress(e.sp, &e.saved), e.fp, e.sp, visit)
}

// Backtrace returns the frames of compiled code, innermost first, that are active below
// the host function, at most 64.
func (c *Caller) Backtrace() []Frame {
	var out []Frame
	c.walk(framesInto(&out))
	return out
}

// Frames is Backtrace without the frames of the calls around the innermost one.
func (c *Caller) Frames() []Frame {
	var out []Frame
	if c.store.depth > 0 {
		c.walkOwn(framesInto(&out))
	}
	return out
}

// SafepointWalk visits every frame of compiled code that is active below the host
// function, innermost first and across nested calls, with the references in it that
// the stack map of its call lists; those of frames that share one on the stack, since functions were inlined, come with the innermost of them.
// refs is reused between visits.
func (c *Caller) SafepointWalk(visit func(f Frame, refs []uint64)) {
	var refs []uint64
	var slots []int32
	c.walk(func(f nativeFrame) bool {
		refs, slots = refs[:0], f.stackMap(slots)
		for _, slot := range slots {
			refs = append(refs, f.slot(slot))
		}
		for _, d := range f.describe() {
			visit(d, refs)
			refs = refs[:0]
		}
		return true
	})
}

func (c *Caller) walk(visit func(nativeFrame) bool) {
	s := c.store
	for n := s.depth - 1; n >= 0; n-- {
		if s.activations[n] == c {
			s.walkOuter(n, visit)
			return
		}
	}
}
