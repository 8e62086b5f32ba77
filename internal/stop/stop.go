// Package stop ends a long computation from another goroutine. The computation polls
// a Flag in each loop whose length depends on its input. Once the flag is set, the next poll panics and so unwinds to where
// the computation began; there Recover turns the panic into an error. Append, Room, Grow, Resize and Zeroed work on
// large tables and poll while they do. A Group runs parts of the computation on goroutines, whose panics go on where the computation waits for them.
//
// Place in the pipeline: beside all of it; it imports nothing of the module.
//
// Input: Flag.Set, from any goroutine.
// Output: the error Stopped.
package stop

import "sync/atomic"

// Flag says whether a computation shall end. The zero value and nil say that it shall go on. A Flag must not
// be copied.
type Flag struct {
	// state is not 0 if polls have something to do.
	state   atomic.Uint32
	observe func()
}

// The states.
const (
	stopped = 1 << iota
	observed
)

// Stopped is the error of a computation that a Flag has ended, and the value of the panic that ends it.
type Stopped struct{}

// Error implements error.
func (Stopped) Error() string { return "stopped" }

// Set makes all polls from now on, in any goroutine, end their computation.
func (f *Flag) Set() { f.state.Or(stopped) }

// IsSet reports whether the flag is set.
func (f *Flag) IsSet() bool { return f != nil && f.state.Load()&stopped != 0 }

// Observe makes each poll call fn, for tests. It comes before the first poll.
func (f *Flag) Observe(fn func()) {
	f.observe = fn
	f.state.Or(observed)
}

// Poll panics with Stopped if the flag is set. It costs a load and a branch.
func (f *Flag) Poll() {
	if f != nil && f.state.Load() != 0 {
		f.polled()
	}
}

// PollAt polls for one of pollEvery items: item i of a loop that does little for each.
func (f *Flag) PollAt(i int) {
	if i%pollEvery == 0 {
		f.poll()
	}
}

// Chunk polls, and returns how many of n items a loop that does little for each may do before the next poll. For loops in which counting
// would cost as much as what they do.
func (f *Flag) Chunk(n int) int {
	f.Poll()
	return min(n, pollEvery)
}

const pollEvery = 256

// poll is Poll that is not inlined, so that PollAt is.
//
//go:noinline
func (f *Flag) poll() { f.Poll() }

func (f *Flag) polled() {
	if f.observe != nil {
		f.observe()
	}
	if f.IsSet() {
		panic(Stopped{})
	}
}

// Recover, when deferred, turns the panic of a poll into the error Stopped. Other panics go on.
func Recover(err *error) {
	switch r := recover(); r {
	case nil:
	case Stopped{}:
		*err = Stopped{}
	default:
		panic(r)
	}
}
