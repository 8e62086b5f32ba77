package inproc

import (
	"context"
	"sync/atomic"
	"time"
)

// cancellation watches the context of a call. To register with a context costs more than most calls do, and so a call does it late (mayRegisterLate):
// when its code is first taken off the processor, which the scheduler does after some ten milliseconds. Until then preempted looks, and all who have control in between.
// Only the innermost watch of a fiber can be one that is not registered.
type cancellation struct {
	store *Store
	ctx   context.Context
	done  <-chan struct{} // that of ctx
	// stop ends the registration; nil if there is none.
	stop  func() bool
	ended *endedCalls // of the fiber of the call
	// Guarded by store.cancelMu.
	fired, over bool
}

// soon is how near a deadline is that a call is registered for at once. What is not registered
// may be noticed so late: the scheduler looks every ten milliseconds, and needs two looks.
const soon = 50 * time.Millisecond

// mayRegisterLate reports whether the outermost call may begin without being registered with ctx. Code
// that is not preempted could run for ever, and deadlines are to be met.
func mayRegisterLate(ctx context.Context) bool {
	if process.noPreempt != nil {
		return false
	}
	deadline, ok := ctx.Deadline()
	return !ok || time.Until(deadline) > soon
}

// setContext notes the context of the activation, the innermost one, and watches it: if it can end, and the calls around it do not watch the
// same already. Calls that nest deeply with one context have one watch. unwatch must follow.
func (c *Caller) setContext(ctx context.Context) {
	c.ctx = ctx
	if n := c.store.depth - 2; n >= 0 {
		outer := c.store.activations[n]
		c.cancel = outer.cancel
		if ctx == nil {
			c.ctx = outer.ctx
		}
	}
	if ctx == nil {
		return
	}
	done := ctx.Done()
	if done == nil || c.cancel != nil && c.cancel.done == done {
		return
	}
	outer := c.cancel
	c.watch(ctx, done)
	if outer != nil {
		outer.register()
	}
	if outer != nil || !mayRegisterLate(ctx) {
		c.cancel.register()
	}
}

// watch begins a watch that is not registered.
func (c *Caller) watch(ctx context.Context, done <-chan struct{}) {
	if c.watcher == nil {
		c.watcher = &cancellation{store: c.store, ended: c.store.ended}
	}
	c.cancel = c.watcher
	c.cancel.ctx, c.cancel.done = ctx, done
}

// register lets the end of the context end the call from then on, wherever its code is.
func (x *cancellation) register() {
	if x.stop == nil {
		x.stop = context.AfterFunc(x.ctx, x.fire)
	}
}

// registerLate registers the watch over the activation where its code was taken off the processor. Contexts of the program have
// methods of its own, which must not use the store meanwhile: calls cannot nest where the save area holds the state of code.
func (c *Caller) registerLate() {
	if c.cancel == nil || c.cancel.stop != nil {
		return
	}
	returned := false
	defer c.unwind(&returned)
	g := atomic.SwapUintptr(&c.store.owner, ownerAside)
	defer atomic.StoreUintptr(&c.store.owner, g)
	c.cancel.register()
	returned = true
}

// unwatch ends the watch of the activation if it has one of its own, and takes back what the end of the context did to the store, if
// no call further out is ended too.
func (c *Caller) unwatch() {
	x := c.cancel
	c.ctx, c.cancel = nil, nil
	if x == nil || x != c.watcher {
		return
	}
	if x.stop == nil {
		x.ctx, x.done = nil, nil
		return
	}
	c.watcher = nil // fire may be on its way
	if x.stop() {
		return
	}
	s := x.store
	s.cancelMu.Lock()
	defer s.cancelMu.Unlock()
	x.over = true
	if !x.fired {
		return
	}
	x.ended.n--
	if s.cancelled.Add(-1) == 0 {
		s.protectText(textProtection(false))
	}
}

// hasEnded reports whether the context has; that of no watch has not.
func (x *cancellation) hasEnded() bool {
	if x == nil {
		return false
	}
	select {
	case <-x.done:
		return true
	default:
		return false
	}
}

// callEnded reports whether a context has ended one of the calls of the store's fiber.
func (s *Store) callEnded() bool {
	return s.cancelled.Load() != 0 || s.depth > 0 && s.activations[s.depth-1].cancel.hasEnded()
}

// fire ends native code of the store: it finds the flag when it is preempted or
// comes back from the host, and until then its next instruction cannot be fetched, which
// is a fault that classify knows. If the fiber of the call is parked, that comes when it is the store's again.
func (x *cancellation) fire() {
	s := x.store
	s.cancelMu.Lock()
	defer s.cancelMu.Unlock()
	if x.over {
		return
	}
	x.fired = true
	x.ended.n++
	if !x.ended.parked && s.cancelled.Add(1) == 1 {
		s.protectText(textProtection(true))
	}
}

// textProtection is the protection of code; ended says that it must not be executed.
func textProtection(ended bool) int {
	if ended {
		return protR
	}
	return process.protText
}

// protectText changes the protection of the code of all instances; cancelMu is held. A failure to
// take it away leaves ending the code to the next preemption; that it cannot be
// given back is not expected of the system, and is a fault outside of the trap table.
func (s *Store) protectText(prot int) {
	for _, i := range s.instances {
		mprotect(i.base, alignUp(i.module.length[Text], pageSize), prot)
	}
}

// isCancelFault reports whether an access to address was one to code that fire made not executable.
func (s *Store) isCancelFault(address uintptr) bool {
	if s.cancelled.Load() == 0 {
		return false
	}
	i := s.instanceIn(address)
	return i != nil && address-i.base < alignUp(i.module.length[Text], pageSize)
}

// cancelError returns the error of the outermost call whose context has ended. inCode says that the
// native context holds where compiled code was.
func (s *Store) cancelError(inCode bool) error {
	for _, c := range s.activations[:s.depth] {
		x := c.cancel
		if x == nil || x.ctx.Err() == nil {
			continue
		}
		e := cancelErrorOf(x.ctx)
		if inCode {
			e.Backtrace, _ = s.faultBacktrace()
		}
		return e
	}
	return ErrCancelled // not reached: what has fired is active
}

func cancelErrorOf(ctx context.Context) *CancelError {
	return &CancelError{Cause: context.Cause(ctx), Err: ctx.Err()}
}
