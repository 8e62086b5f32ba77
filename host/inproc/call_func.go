package inproc

import (
	"context"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/waot-project/waot/internal/meta"
)

// HostFunc is a function of the host. args and results are raw bits, i32 and f32
// zero-extended, a v128 as two words, the low one first, references as words of the store; both are valid until it returns. An error, or a
// result that should be a reference and is none (a *ReferenceError), ends the whole native
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
	ref   uint64  // the word that stands for it in Go code
	index uint32  // in the module, or the number of the binding
	host  HostFunc
	plain bool // compiled, and of plain type
}

// Type returns the type of the function; it must not be changed.
func (f *Func) Type() *meta.FuncType { return &f.typ.FuncType }

// Place returns the instance of a compiled function and its index there; nil for a host function.
func (f *Func) Place() (*Instance, uint32) {
	if f.inst == nil {
		return nil, 0
	}
	return f.inst, f.index
}

// Words returns how many words the arguments take, and the results: two for each v128.
func (f *Func) Words() (args, results int) { return f.typ.argWords, f.typ.resultWords }

// HasRefs reports whether references are among the parameters or results.
func (f *Func) HasRefs() bool { return f.typ.refsIn || f.typ.refsOut }

// Ref returns the reference to the function, as in tables, globals and arguments. It is the same
// at each call, and no other function of the process has it, ever.
func (f *Func) Ref() uint64 { return f.ref }

// Caller is one activation: a call from Go, and what a host function that it led
// to may ask, on the goroutine of the call. It must not be used after the host function has returned.
type Caller struct {
	store  *Store
	native bool       // the activation runs compiled code
	took   bool       // it took the store, and so leaves it
	plain  bool       // it is plain (beginPlain); between calls the outermost is, and native
	counts bool       // code of the store counts fuel: of the outermost ones
	exit   nativeExit // where it left, while another activation is nested in it
	// start is where on the native stack the activation began.
	start      uintptr
	scratchTop int
	// Of the host function that it runs, if compiled code called it: the binding, and where results go that are in memory.
	binding uint64
	hidden  uintptr
	// away is the owner of the store when the host function let others in, and 0 if it does not.
	away uintptr
	err  error // why dispatch or preempted gave up
	// ctx is that of the call, or of the next one further out that has one, or nil; cancel the
	// watch over it, or over one further out. watcher is for watches of this activation.
	ctx             context.Context
	cancel, watcher *cancellation

	// refs: there are references to care for when a host function returns, or at the end.
	refs   bool
	locals int       // if refs: where the locals of the host function that it runs begin
	words  hostWords // if refs: of that host function
	// snapshots is nil if none was taken. Otherwise refs is set.
	snapshots *snapshots
}

// Store returns the store of the call.
func (c *Caller) Store() *Store { return c.store }

// Instance returns the instance whose code called the host function; nil if Go did.
func (c *Caller) Instance() *Instance {
	s := c.store
	if !c.native || s.depth == 0 { // or the host function has returned
		return nil
	}
	if s.activations[s.depth-1] == c {
		return s.instanceAt(returnAddress(s.ctx.sp, &s.ctx.saved))
	}
	return s.instanceAt(returnAddress(c.exit.sp, &c.exit.saved))
}

// exitState returns where the activation left native code last.
func (c *Caller) exitState() nativeExit {
	s := c.store
	if s.activations[s.depth-1] == c {
		return nativeExit{sp: s.ctx.sp, fp: s.ctx.fp, saved: s.ctx.saved}
	}
	return c.exit
}

// Context returns the context of the innermost call around the host function that has
// one; without any, the background context.
func (c *Caller) Context() context.Context {
	if c.ctx != nil {
		return c.ctx
	}
	return context.Background()
}

// begin starts an activation; end must follow.
func (s *Store) begin(native bool) (*Caller, error) {
	took, err := s.Hold()
	if err != nil {
		return nil, err
	}
	if s.depth == 0 {
		if !s.fits() {
			return nil, s.refuse(took)
		}
	} else if err := s.mayNest(); err != nil {
		if took {
			s.Leave()
		}
		return nil, err
	}
	if s.depth == len(s.activations) {
		s.activations = append(s.activations, &Caller{store: s})
	}
	c := s.activations[s.depth]
	c.native, c.took, c.plain, c.scratchTop, c.start = native, took, false, s.scratchTop, s.top
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
	if c.away != 0 {
		c.Enter()
	}
	c.unwatch()
	s.depth--
	s.scratchTop = c.scratchTop
	if s.depth == 0 {
		c.native, c.plain = true, true
	} else if outer := s.activations[s.depth-1]; outer.native {
		s.setExit(&outer.exit)
	}
	if c.refs {
		s.endRefs(c)
	}
	if s.depth == keptDepth {
		s.tidy()
	}
	if c.took {
		s.Leave()
	}
}

// endPlain is end for a plain activation.
func (s *Store) endPlain(c *Caller) {
	if c.ctx != nil {
		c.unwatch()
	}
	s.depth = 0
	s.scratchTop = 0
	if c.refs {
		s.endRefs(c)
	}
	if c.took {
		storeRelease(&s.owner, s.vacant)
	}
}

// unwind is deferred around host functions. It takes the store back that one has left. If one ends by a panic or runtime.Goexit, a plain
// activation, which defers nothing, does not come to end its activation. Others end theirs themselves.
func (c *Caller) unwind(returned *bool) {
	if c.away != 0 {
		c.Enter()
	}
	if !*returned && c.plain {
		c.store.endPlain(c)
	}
}

// Call is CallContext without a context: nothing ends the call but the code itself.
func (f *Func) Call(args, results []uint64) error { return f.CallContext(nil, args, results) }

// CallContext calls the function with raw bits: floats as their bits, i32 in the low half,
// a v128 as two words, the low one first, references as words of this store, which are checked. args and
// results must have exactly the lengths of the type; they may overlap. When ctx ends, native code does, at whatever instruction
// it is, and host functions are not returned from into native code; what the code has changed
// stays. ctx may be nil.
//
// The error is a *Trap, a *CancelError, what a host function returned, ErrType, a *ReferenceError,
// ErrBusy or ErrClosed.
func (f *Func) CallContext(ctx context.Context, args, results []uint64) error {
	t := f.typ
	if f.plain && len(args) == len(t.args) && len(results) == len(t.results) && isBackground(ctx) {
		var stack [len(t.masks)]uint64
		copy(stack[:], args)
		err := f.CallStack(ctx, stack[:])
		if err == nil {
			copy(results, stack[:])
		}
		return err
	}
	return f.callRare(ctx, args, results)
}

// CallStack is CallContext with arguments and results in the same words, from the first on. stack
// must have room for either; what it has beyond is not used.
func (f *Func) CallStack(ctx context.Context, stack []uint64) error {
	t := f.typ
	if len(stack) < len(t.args) || len(stack) < len(t.results) {
		return ErrType
	}
	if !f.plain || !isBackground(ctx) {
		return f.callRare(ctx, stack[:len(t.args)], stack[:len(t.results)])
	}
	// The frequent case: Hold, fits and leftPlain inlined by hand. Calling them would add a tenth to the time of an empty
	// call.
	s, g := f.store, currentG()
	if !atomic.CompareAndSwapUintptr(&s.owner, ownerNone, g) {
		return f.callInside(ctx, g, stack)
	}
	if s.goBase = goStackInUse(g); s.goBase > process.goStack {
		return s.refuse(true)
	}
	c := s.beginPlain(true)
	reason := enter(c, s.stack+stackMask, f, unsafe.SliceData(stack))
	if reason != exitReturn || c.refs || c.counts {
		return f.leftPlain(c, reason, stack)
	}
	if t.intResult {
		stack[0] = s.ctx.ints[0] & t.results[0].mask
	}
	s.depth, s.scratchTop = 0, 0
	storeRelease(&s.owner, s.vacant)
	return nil
}

// callInside is CallStack for a function of plain type where somebody was inside the store; g is that of the
// caller. ctx has no end, but none and the background context differ to host functions of nested calls.
func (f *Func) callInside(ctx context.Context, g uintptr, stack []uint64) error {
	s, t := f.store, f.typ
	if atomic.LoadUintptr(&s.owner) == g && s.depth == 0 && s.fits() {
		c := s.beginPlain(false)
		return f.leftPlain(c, enter(c, s.stack+stackMask, f, unsafe.SliceData(stack)), stack)
	}
	return f.activate(ctx, stack[:len(t.args)], stack[:len(t.results)])
}

// isBackground reports whether ctx is none, or context.Background(), which cannot end and holds
// nothing. A comparison of the two as interfaces would cost a call; their types have one value.
func isBackground(ctx context.Context) bool {
	background := context.Background()
	return ctx == nil || *(*unsafe.Pointer)(unsafe.Pointer(&ctx)) == *(*unsafe.Pointer)(unsafe.Pointer(&background))
}

// beginPlain begins a plain activation: the outermost call, of a compiled function of plain type, without a
// context that it must be registered with. The calling goroutine is inside; took says that it was not before. A host function that does not return
// normally ends the activation in dispatch (Caller.unwind).
func (s *Store) beginPlain(took bool) *Caller {
	c := s.outermost
	c.took = took
	s.depth = 1
	if len(s.refs.returned) != 0 {
		s.refs.returned = s.refs.returned[:0]
	}
	return c
}

// leftPlain ends a plain activation, which native code has left for reason.
func (f *Func) leftPlain(c *Caller, reason uint64, results []uint64) (err error) {
	if reason != exitReturn {
		err = f.store.failed(c, reason)
	} else if err = c.unpaid(); err == nil && f.typ.intResult {
		results[0] = f.store.ctx.ints[0] & f.typ.results[0].mask
	}
	f.store.endPlain(c)
	return err
}

// callPlainRefs runs a plain activation for a type with references that is plain otherwise.
func (f *Func) callPlainRefs(took bool, args, results []uint64) error {
	s, t := f.store, f.typ
	if err := s.checkArgs(t, args); err != nil {
		if took {
			s.Leave()
		}
		return err
	}
	var native [len(t.masks)]uint64
	copy(native[:], args)
	s.funcsToNative(native[:], t.funcParams)
	s.objectsToNative(native[:], t.refParams)
	c := s.beginPlain(took)
	return f.leftPlain(c, enter(c, s.stack+stackMask, f, &native[0]), results)
}

// callRare is CallContext for all cases.
func (f *Func) callRare(ctx context.Context, args, results []uint64) error {
	t := f.typ
	if len(args) != len(t.args) || len(results) != len(t.results) || t.unsupported {
		return ErrType
	}
	if f.plain && ctx != nil {
		return f.callPlainContext(ctx, args, results)
	}
	if t.plainRefs && f.host == nil && isBackground(ctx) {
		outer, err := f.store.Hold()
		if err != nil {
			return err
		}
		if f.store.depth == 0 {
			if !f.store.fits() {
				return f.store.refuse(outer)
			}
			return f.callPlainRefs(outer, args, results)
		}
		if outer { // a host function lets others in
			f.store.Leave()
		}
	}
	return f.activate(ctx, args, results)
}

// callPlainContext runs a plain activation with a context, if it need not be registered with it at once.
func (f *Func) callPlainContext(ctx context.Context, args, results []uint64) error {
	if ctx.Err() != nil {
		return cancelErrorOf(ctx)
	}
	done := ctx.Done()
	if done != nil && !mayRegisterLate(ctx) {
		return f.activate(ctx, args, results)
	}
	s := f.store
	took, err := s.Hold()
	if err != nil {
		return err
	}
	if s.depth != 0 {
		if took { // a host function lets others in
			s.Leave()
		}
		return f.activate(ctx, args, results)
	}
	if !s.fits() {
		return s.refuse(took)
	}
	c := s.beginPlain(took)
	if c.ctx = ctx; done != nil {
		c.watch(ctx, done)
	}
	return f.leftPlain(c, enter(c, s.stack+stackMask, f, unsafe.SliceData(args)), results)
}

// activate is callRare for what no short way is for. It is a function of its own because Go makes
// defer cheap only where returns are few.
func (f *Func) activate(ctx context.Context, args, results []uint64) error {
	if ctx != nil && ctx.Err() != nil {
		return cancelErrorOf(ctx)
	}
	c, err := f.store.begin(f.host == nil)
	if err != nil {
		return err
	}
	defer f.store.end(c)
	c.setContext(ctx)
	if f.host != nil {
		return f.invokeHost(c, args, results)
	}
	return f.invoke(c, args, results)
}

// invoke runs compiled code in its activation.
func (f *Func) invoke(c *Caller, args, results []uint64) error {
	t, s := f.typ, f.store
	if t.refsIn {
		var err error
		if args, err = s.admit(t, args); err != nil {
			return err
		}
	}
	ctx := s.ctx
	hidden := c.start - t.hiddenBytes
	sp := hidden - t.argBytes
	if sp < s.floor {
		return s.overflow(s.depth - 2)
	}
	ctx.sp, ctx.code, ctx.flags = sp, f.code, t.entryFlags
	if t.intArgs {
		for i, v := range args {
			ctx.ints[i&7] = v & t.args[i].mask
		}
	} else {
		t.storeArgs(ctx, hidden, sp, args)
	}
	if reason := enter(c, s.stack+stackMask, nil, nil); reason != exitReturn {
		return s.failed(c, reason)
	}
	if err := c.unpaid(); err != nil {
		return err
	}
	if t.intResult {
		results[0] = ctx.ints[0] & t.results[0].mask
	} else {
		t.loadResults(ctx, hidden, results)
	}
	if t.refsOut {
		s.funcsFromNative(results, t.funcResults)
		s.objectsFromNative(results, t.refResults)
		s.keepResults(c, t, results)
	}
	return nil
}

// failed returns the error of an activation whose native code did not return.
func (s *Store) failed(c *Caller, reason uint64) error {
	if reason == exitTrap {
		return s.classify()
	}
	err := c.err
	c.err = nil
	return err
}

// storeArgs puts arguments where native code expects them.
func (t *funcType) storeArgs(ctx *nativeContext, hidden, sp uintptr, args []uint64) {
	if t.hiddenBytes != 0 {
		ctx.ints[0] = uint64(hidden)
	}
	for i := range t.args {
		a := &t.args[i]
		v := args[i] & a.mask
		if a.memory {
			store64(sp+uintptr(a.offset), v)
		} else {
			*(*uint64)(unsafe.Add(unsafe.Pointer(ctx), a.offset)) = v
		}
	}
}

// loadResults fetches the results that native code left.
func (t *funcType) loadResults(ctx *nativeContext, hidden uintptr, results []uint64) {
	for i := range t.results {
		a := &t.results[i]
		if a.memory {
			results[i] = load64(hidden+uintptr(a.offset)) & a.mask
		} else {
			results[i] = *(*uint64)(unsafe.Add(unsafe.Pointer(ctx), a.offset)) & a.mask
		}
	}
}

// invokeHost calls a host function from Go.
func (f *Func) invokeHost(c *Caller, args, results []uint64) error {
	in, out := f.store.takeScratch(f.typ)
	for i := range f.typ.args {
		in[i] = args[i] & f.typ.args[i].mask
	}
	if f.typ.refs {
		if err := f.store.checkArgs(f.typ, in); err != nil {
			return err
		}
		f.store.enterHost(c, f.typ, in, out)
	}
	err := f.host(c, in, out)
	if c.Enter(); err != nil {
		return err
	}
	if c.refs {
		if err := f.store.checkResults(f.typ, out); err != nil {
			return err
		}
		f.store.leaveHost(c)
	}
	for i := range f.typ.results {
		results[i] = out[i] & f.typ.results[i].mask
	}
	if f.typ.refsOut {
		f.store.keepResults(c, f.typ, results)
	}
	return nil
}

// takeScratch gives words for the arguments and results of a host function. A
// nested call may move the rest of scratch, not what was given.
func (s *Store) takeScratch(t *funcType) (args, results []uint64) {
	np, nr := len(t.args), len(t.results)
	top := s.scratchTop
	if len(s.scratch)-top < np+nr {
		s.scratch = slices.Grow(s.scratch[:top:top], max(np+nr, 32))
		s.scratch = s.scratch[:cap(s.scratch)]
	}
	b := s.scratch[top : top+np+nr : top+np+nr]
	s.scratchTop = top + np + nr
	if nr == 1 {
		b[np] = 0 // without a call
	} else if nr != 0 {
		clear(b[np:])
	}
	return b[:np:np], b[np:]
}

// runHost runs a host function that compiled code called.
func (c *Caller) runHost(f *Func, args, results []uint64) (err error) {
	returned := false
	defer c.unwind(&returned)
	err = f.host(c, args, results)
	returned = true
	return err
}

// loadArgs fetches the arguments of a host function from where native code left them.
func (t *funcType) loadArgs(ctx *nativeContext, args []uint64) {
	stack := ctx.sp + stackArgs
	for i := range t.args {
		a := &t.args[i]
		if a.memory {
			args[i] = load64(stack+uintptr(a.offset)) & a.mask
		} else {
			args[i] = *(*uint64)(unsafe.Add(unsafe.Pointer(ctx), a.offset)) & a.mask
		}
	}
}

// dispatch runs the host function or helper whose stub native code called. enter
// calls it, and resumes native code if the result is 0.
func dispatch(c *Caller) uint64 {
	s := c.store
	ctx := s.ctx
	b := &s.bindings[ctx.index]
	f := b.fn
	if f == nil {
		exit := b.help(c)
		if exit == 0 && s.callEnded() { // code that asks for help all the time is hardly ever taken off the processor, which is where it would be ended
			return c.giveUp(s.cancelError(false))
		}
		return exit
	}
	t := f.typ
	if err := c.outOfSlack(); err != nil {
		return c.giveUp(err)
	}
	top := s.scratchTop
	args, results := s.takeScratch(t)
	if t.intArgs {
		for i := range args {
			args[i] = ctx.ints[i&7] & t.args[i].mask
		}
	} else {
		t.loadArgs(ctx, args)
	}
	c.binding, c.hidden = ctx.index, uintptr(ctx.ints[0])
	if t.refs {
		s.funcsFromNative(args, t.funcParams)
		s.objectsFromNative(args, t.refParams)
		s.enterHost(c, t, args, results)
	}
	if err := c.runHost(f, args, results); err != nil {
		var snapshot *Snapshot
		if snapshot, results = c.goesBack(err); snapshot == nil {
			if x := s.thrownBy(err); x != nil {
				return c.throwFromHost(x, err, top)
			}
			return c.giveUp(err)
		}
		t = snapshot.restore(results)
	}
	if s.callEnded() {
		return c.giveUp(s.cancelError(false))
	}
	if c.refs {
		if err := s.checkResults(t, results); err != nil {
			return c.giveUp(err)
		}
		s.leaveHost(c)
		s.funcsToNative(results, t.funcResults)
		s.objectsToNative(results, t.refResults)
	}
	if t.intResult {
		ctx.ints[0] = results[0] & t.results[0].mask
	} else {
		t.storeResults(ctx, c.hidden, results)
	}
	s.scratchTop = top
	ctx.pop, ctx.flags = uint64(t.argBytes), t.resumeFlags
	return 0
}

// storeResults puts the results of a host function where native code expects them.
func (t *funcType) storeResults(ctx *nativeContext, hidden uintptr, results []uint64) {
	for i := range t.results {
		a := &t.results[i]
		v := results[i] & a.mask
		if a.memory {
			store64(hidden+uintptr(a.offset), v)
		} else {
			*(*uint64)(unsafe.Add(unsafe.Pointer(ctx), a.offset)) = v
		}
	}
}

// Store returns the store of the function.
func (f *Func) Store() *Store { return f.store }
