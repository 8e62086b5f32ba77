package guestfuzz

import (
	"fmt"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"
	"weak"
)

// runner is one of the goroutines that run episodes.
type runner struct {
	*Config
	n      int // its number
	counts map[string]int
	deeds  []deed
	weight int // sum of the deeds' weights
	pool   *pool
	wasi   *wasiShared
	tokens uint64 // made so far
	seed   uint64 // of the episode

	// left are values of closed stores, which must become garbage; foreign are some words of those stores.
	left    []weak.Pointer[token]
	foreign []uint64

	// since is when the episode began, in nanoseconds; 0 between episodes. doing are the last things done.
	since atomic.Int64
	doing []string
}

func newRunner(c *campaign, n int) *runner {
	r := &runner{Config: c.Config, n: n, counts: map[string]int{}, deeds: deeds(), pool: &c.pool}
	r.wasi = c.wasi
	if c.lie != nil {
		r.deeds = append(r.deeds, deed{"lies", 3, c.lie})
	}
	for _, d := range r.deeds {
		r.weight += d.weight
	}
	return r
}

// nextToken returns a number that no other token of the process has.
func (r *runner) nextToken() uint64 {
	r.tokens++
	return r.tokens<<8 | uint64(r.n)
}

// trace remembers what a world did.
func (r *runner) trace(w *world, what string) {
	if len(r.doing) == 60 {
		r.doing = append(r.doing[:0], r.doing[30:]...)
	}
	r.doing = append(r.doing, fmt.Sprintf("store %d, depth %d: %s", w.level, len(w.acts), what))
}

// failed makes a failure from what was found in a world.
func (r *runner) failed(text string, w *world) *failure {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %s\n%+v\n", r.seed, text, w.limits)
	for n, a := range w.acts {
		fmt.Fprintf(&b, "call %d:", n)
		for _, f := range a.frames {
			fmt.Fprintf(&b, " %s function %d action %d,", f.inst.prog.name, f.n, f.pc)
		}
		fmt.Fprintln(&b)
	}
	fmt.Fprintf(&b, "%s\n%s", strings.Join(r.doing, "\n"), stack())
	return &failure{b.String()}
}

// stack returns the innermost part of the stack of the goroutine.
func stack() []byte {
	const room = 4096
	s := debug.Stack()
	return s[:min(len(s), room)]
}

// episode runs the episode of a seed. The error says what it has found.
func (r *runner) episode(seed uint64) (err error) {
	r.seed, r.doing = seed, r.doing[:0]
	r.since.Store(time.Now().UnixNano())
	defer func() {
		r.since.Store(0)
		switch x := recover().(type) {
		case nil:
		case *failure:
			err = fmt.Errorf("%s", x.text)
		default:
			err = fmt.Errorf("seed %d: panic: %v\n%s\n%s", seed, x, strings.Join(r.doing, "\n"), stack())
		}
	}()
	r.counts["episodes"]++
	r.live(seed, 0)
	return nil
}

// live is the life of a store.
func (r *runner) live(seed uint64, level int) {
	w := newWorld(r, seed, level)
	done := false
	defer func() {
		if !done && !w.closed { // runtime.Goexit in a call of a store further out, or a failure
			w.store.Close()
			r.leave(w)
		}
	}()
	r.counts["stores"]++
	for range 1 + w.r.IntN(3) {
		w.outside(w.instantiate)
	}
	for n := 1 + w.r.IntN(12>>level); n > 0 && !w.stop; n-- {
		w.outside(func() {
			switch w.r.IntN(8) {
			case 0, 1, 2, 3:
				w.call()
			case 4:
				w.reset()
			default:
				w.act()
			}
		})
	}
	w.compare()
	w.checkHandles()
	w.close()
	done = true
}

// outside does a deed outside all calls, sometimes on a goroutine of its own, which it may end, or with the store held.
func (w *world) outside(f func()) {
	if w.r.IntN(6) == 0 {
		f = w.held(f)
	}
	w.onGoroutine(f)
	if w.inside() {
		w.fail("a call is still there")
	}
}

// held is f between Enter and Leave.
func (w *world) held(f func()) func() {
	return func() {
		w.must(w.store.Enter(), "Enter")
		defer w.store.Leave()
		f()
	}
}

// leave records what a closed store leaves behind.
func (r *runner) leave(w *world) {
	r.left = append(r.left, w.tokens...)
	for _, k := range w.words[:min(len(w.words), 4)] {
		r.foreign = append(r.foreign, k.word)
	}
	for _, f := range w.funcs[:min(len(w.funcs), 2)] {
		r.foreign = append(r.foreign, f.real.Ref())
	}
	if n := len(r.foreign); n > 200 {
		r.foreign = append(r.foreign[:0], r.foreign[n-100:]...)
	}
}
