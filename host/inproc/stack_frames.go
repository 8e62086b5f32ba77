package inproc

import (
	"fmt"

	"github.com/waot-project/waot/internal/abi"
)

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

// slot returns what a stack map's slot of a frame holds.
func (f *nativeFrame) slot(displacement int32) uint64 { return *f.place(displacement) }

// place returns where a stack map's slot of a frame is. The process ends if that is not in the frame: the metadata gives the
// function a larger frame than it has, and what the map means to keep is unknown.
func (f *nativeFrame) place(displacement int32) *uint64 {
	at := uintptr(int(f.fp) + int(displacement))
	if at < f.low || at >= f.fp {
		fatal(fmt.Sprintf("slot %d of the stack map at %#x of module %q is outside of the frame\n", displacement,
			f.pc-f.inst.base, f.inst.module.meta.Name))
	}
	return (*uint64)(ptr(at))
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

// WalkOwn visits the frames that Frames returns, all of them.
func (c *Caller) WalkOwn(visit func(Frame)) {
	if c.store.depth == 0 {
		return
	}
	c.walkOwn(func(f nativeFrame) bool {
		for _, d := range f.describe() {
			visit(d)
		}
		return true
	})
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
