package inproc

import (
	"context"
)

// cancellation is a call that a context may end. It is made for one call, and outlives
// it where the context ends at the same time.
type cancellation struct {
	store *Store
	ctx   context.Context
	ended *endedCalls // of the fiber of the call
	// Guarded by store.cancelMu.
	fired, over bool
}

// setContext notes the context of the activation, the innermost one, and reports whether it has to be
// watched: it does if it can end, and the calls around it do not watch the same already. Calls that
// nest deeply with one context have one watch.
func (c *Caller) setContext(ctx context.Context) (watch bool) {
	c.ctx = ctx
	if n := c.store.depth - 2; n >= 0 {
		outer := c.store.activations[n]
		c.cancel = outer.cancel
		if ctx == nil {
			c.ctx = outer.ctx
		}
	}
	if ctx == nil || ctx.Done() == nil {
		return false
	}
	return c.cancel == nil || c.cancel.ctx.Done() != ctx.Done()
}

// watch lets ctx end the activation. unwatch must follow with what it gives.
func (c *Caller) watch(ctx context.Context) (stop func() bool) {
	c.cancel = &cancellation{store: c.store, ctx: ctx, ended: c.store.ended}
	return context.AfterFunc(ctx, c.cancel.fire)
}

// unwatch ends the watch, and takes back what the end of the context did to the store, if
// no call further out is ended too.
func (c *Caller) unwatch(stop func() bool) {
	x := c.cancel
	c.cancel = nil
	if stop() {
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
