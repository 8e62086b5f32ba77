package inproc

import (
	"slices"
	"unsafe"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
)

// HostFunc is a function of the host. args and results are raw bits, i32 and f32
// zero-extended; both are valid until it returns. An error ends the whole native
// activation: the call that led here returns it as it is. A panic unwinds
// through that call; the store stays usable either way.
type HostFunc func(c *Caller, args, results []uint64) error

// Func is a function of a store: compiled, or of the host.
type Func struct {
	store *Store
	inst  *Instance // nil for the host's
	typ   *funcType
	code  uintptr // address of the code, or of the stub
	desc  uintptr // address of the descriptor
	index uint32  // in the module, or the number of the binding
	host  HostFunc
}

// Type is the type of the function; it must not be changed.
func (f *Func) Type() *meta.FuncType { return &f.typ.FuncType }

// Ref is the reference to the function, as in tables, globals and arguments.
func (f *Func) Ref() uint64 { return uint64(f.desc) }

// Caller is one activation: a call from Go, and what a host function that it led
// to may ask. It must not be used after the host function has returned.
type Caller struct {
	store  *Store
	native bool       // the activation runs compiled code
	took   bool       // it took the store, and so releases it
	exit   nativeExit // where it left, while another activation is nested in it
	// start is where on the native stack the activation began.
	start      uintptr
	scratchTop int
	err        error // why dispatch gave up

	// refs: there are references to care for when a host function returns, or at the end.
	refs   bool
	locals int       // where the locals of the host function that it runs begin
	words  hostWords // of that host function
}

// Store is the store of the call.
func (c *Caller) Store() *Store { return c.store }

// Instance is the instance whose code called the host function; nil if Go did.
func (c *Caller) Instance() *Instance {
	if !c.native {
		return nil
	}
	return c.store.instanceAt(uintptr(load64(c.exitState().sp)))
}

// exitState is where the activation left native code last.
func (c *Caller) exitState() nativeExit {
	s := c.store
	if s.activations[s.depth-1] == c {
		return nativeExit{sp: s.ctx.sp, fp: s.ctx.fp, saved: s.ctx.saved}
	}
	return c.exit
}

// begin starts an activation; end must follow.
func (s *Store) begin(native bool) (*Caller, error) {
	state := acquire(&s.owner)
	if state == 2 {
		return nil, s.refusal()
	}
	if s.depth == len(s.activations) {
		s.activations = append(s.activations, &Caller{store: s})
	}
	c := s.activations[s.depth]
	c.native, c.took, c.scratchTop, c.err = native, state == 0, s.scratchTop, nil
	c.refs, c.locals = s.config.CollectAlways, len(s.refs.locals)
	c.start = s.stack + stackSize - contextSize
	if s.depth == 0 {
		s.refs.returned = s.refs.returned[:0]
	} else {
		outer := s.activations[s.depth-1]
		c.start = outer.start
		if outer.native {
			outer.exit = nativeExit{sp: s.ctx.sp, fp: s.ctx.fp, saved: s.ctx.saved}
			c.start = (outer.exit.sp - 128) &^ 15
		}
	}
	s.depth++
	return c, nil
}

// end ends an activation, however it came to its end.
func (s *Store) end(c *Caller) {
	s.depth--
	s.scratchTop = c.scratchTop
	s.ctx.goSP = 0
	if s.depth > 0 {
		if outer := s.activations[s.depth-1]; outer.native {
			s.ctx.sp, s.ctx.fp, s.ctx.saved = outer.exit.sp, outer.exit.fp, outer.exit.saved
		}
	}
	if c.refs {
		s.endRefs(c)
	}
	if c.took {
		release(&s.owner)
	}
}

// Call calls the function with raw bits: floats as their bits, i32 in the low half,
// references as words of this store. args and results must have exactly the lengths of the type;
// they may overlap. The error is a *Trap, what a host function returned, ErrType, ErrV128,
// ErrBusy or ErrClosed.
func (f *Func) Call(args, results []uint64) error {
	t := f.typ
	if len(args) != len(t.Params) || len(results) != len(t.Results) {
		return ErrType
	}
	if f.host != nil {
		return f.callHost(args, results)
	}
	if t.unsupported {
		return ErrV128
	}
	s := f.store
	c, err := s.begin(true)
	if err != nil {
		return err
	}
	defer s.end(c)
	ctx := s.ctx
	hidden := c.start - t.hiddenBytes
	sp := hidden - t.argBytes
	if sp-s.stack < stackGuard+headroom || sp-s.stack > stackSize {
		return &Trap{Code: abi.TrapStackOverflow, Backtrace: nil}
	}
	if t.hiddenBytes != 0 {
		ctx.ints[0] = uint64(hidden)
	}
	for i := range t.args {
		a := t.args[i]
		v := args[i]
		if a.narrow {
			v = uint64(uint32(v))
		}
		if a.memory {
			store64(sp+uintptr(a.offset), v)
		} else {
			*(*uint64)(unsafe.Add(unsafe.Pointer(ctx), a.offset)) = v
		}
	}
	ctx.sp, ctx.code, ctx.flags = sp, f.code, t.entryFlags
	switch enter(c, s.stack+stackMask) {
	case exitReturn:
	case exitTrap:
		return s.classify()
	default:
		return c.err
	}
	for i := range t.results {
		a := t.results[i]
		v := uint64(0)
		if a.memory {
			v = load64(hidden + uintptr(a.offset))
		} else {
			v = *(*uint64)(unsafe.Add(unsafe.Pointer(ctx), a.offset))
		}
		if a.narrow {
			v = uint64(uint32(v))
		}
		results[i] = v
	}
	if len(t.refResults) != 0 {
		s.keepResults(c, t, results)
	}
	return nil
}

// callHost calls a host function from Go.
func (f *Func) callHost(args, results []uint64) error {
	s := f.store
	c, err := s.begin(false)
	if err != nil {
		return err
	}
	defer s.end(c)
	in, out := s.takeScratch(f.typ)
	for i, a := range f.typ.args {
		in[i] = args[i]
		if a.narrow {
			in[i] = uint64(uint32(args[i]))
		}
	}
	if f.typ.refs {
		s.enterHost(c, f.typ, in, out)
	}
	if err := f.host(c, in, out); err != nil {
		return err
	}
	if c.refs {
		s.leaveHost(c)
	}
	for i, a := range f.typ.results {
		results[i] = out[i]
		if a.narrow {
			results[i] = uint64(uint32(out[i]))
		}
	}
	if len(f.typ.refResults) != 0 {
		s.keepResults(c, f.typ, results)
	}
	return nil
}

// takeScratch gives words for the arguments and results of a host function. A
// nested call may move the rest of scratch, not what was given.
func (s *Store) takeScratch(t *funcType) (args, results []uint64) {
	np, nr := len(t.args), len(t.results)
	top := s.scratchTop
	if len(s.scratch)-top < np+nr {
		s.scratch = slices.Grow(s.scratch[:top:top], max(np+nr, 256))
		s.scratch = s.scratch[:cap(s.scratch)]
	}
	b := s.scratch[top : top+np+nr : top+np+nr]
	s.scratchTop = top + np + nr
	if nr != 0 {
		clear(b[np:])
	}
	return b[:np:np], b[np:]
}

// dispatch runs the host function or helper whose stub native code called. enter
// calls it, and resumes native code if the result is 0.
func dispatch(c *Caller) uint64 {
	s := c.store
	ctx := s.ctx
	b := &s.bindings[ctx.index]
	f := b.fn
	if f == nil {
		ctx.ints[0] = b.grow(s, ctx)
		ctx.pop, ctx.flags = 0, 0
		return 0
	}
	t := f.typ
	top := s.scratchTop
	args, results := s.takeScratch(t)
	stack := ctx.sp + 8
	for i := range t.args {
		a := t.args[i]
		v := uint64(0)
		if a.memory {
			v = load64(stack + uintptr(a.offset))
		} else {
			v = *(*uint64)(unsafe.Add(unsafe.Pointer(ctx), a.offset))
		}
		if a.narrow {
			v = uint64(uint32(v))
		}
		args[i] = v
	}
	hidden := uintptr(ctx.ints[0])
	if t.refs {
		s.enterHost(c, t, args, results)
	}
	if err := f.host(c, args, results); err != nil {
		c.err = err
		return exitError
	}
	if c.refs {
		s.leaveHost(c)
	}
	for i := range t.results {
		a := t.results[i]
		v := results[i]
		if a.narrow {
			v = uint64(uint32(v))
		}
		if a.memory {
			store64(hidden+uintptr(a.offset), v)
		} else {
			*(*uint64)(unsafe.Add(unsafe.Pointer(ctx), a.offset)) = v
		}
	}
	s.scratchTop = top
	ctx.pop, ctx.flags = uint64(t.argBytes), t.resumeFlags
	return 0
}
