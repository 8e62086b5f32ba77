package inproc

// Preemption says whether native code can be preempted: while it runs, garbage
// collections, timers and other goroutines go on as they do beside Go code, at no cost
// to the code. If not, the error says why (ErrPreemptionOff, ErrStateSize,
// ErrUnsupported, a *SystemError): a garbage collection then waits until
// native code calls the host or returns. Contexts end calls in either case, but
// without preemption only if a processor is free to notice.
func Preemption() error {
	if err := process.start(); err != nil {
		return err
	}
	return process.noPreempt
}

// preempted runs on the goroutine's stack whenever a signal of Go's scheduler or
// profiler has taken native code off the processor. enter calls it, and resumes the
// code if the result is 0.
//
// Its prologue is what hands the goroutine over: where the scheduler asked for that, the check of
// the stack's size fails, and the goroutine stops here, at an ordinary safe point. It must
// therefore keep a frame, and may not call anything that enters native code on
// this store: the save area holds one state.
//
//go:noinline
func preempted(c *Caller) uint64 {
	s := c.store
	if s.fuel == fuelSlack {
		if err := c.preemptedSlack(); err != nil {
			return c.giveUp(err)
		}
	}
	if !s.callEnded() {
		c.registerLate()
		return 0
	}
	s.notePreempted()
	return c.giveUp(s.cancelError(true))
}

// giveUp makes err the activation's result.
func (c *Caller) giveUp(err error) uint64 {
	c.err = err
	return exitError
}
