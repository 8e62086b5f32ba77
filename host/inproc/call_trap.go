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
		s.forgive()
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
		ok = hasAddress && signal == sigSEGV && (c.faultAddr < nullPage || s.heap.hasNull(c.faultAddr))
	case abi.FaultDivide:
		ok = signal == sigFPE
	}
	if !ok {
		s.abort(fmt.Sprintf("a fault that does not fit the trap table (%s, kind %d)", site.Code, site.Fault))
	}
	s.forgive()
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
