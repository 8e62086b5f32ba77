package guestfuzz

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/waot-project/waot/host"
)

// argument is a value with its forms for package host.
type argument struct {
	model value
	value host.Value
	word  uint64 // for raw calls
}

// argument makes a value of a type. words says that it is for a raw call.
func (w *world) argument(t byte, words bool) (a argument) {
	switch t {
	case 'x':
		return w.reference(words)
	case 'e':
		return w.exceptionArgument(words)
	case 'r':
		if len(w.funcs) > 0 && w.r.IntN(4) != 0 {
			f := w.funcs[w.r.IntN(len(w.funcs))]
			return argument{value{fn: f}, host.FuncRef(f.real), f.real.Ref()}
		}
		return argument{value: host.FuncRef(nil)}
	}
	bits := w.r.Uint64() >> w.r.IntN(64)
	if w.r.IntN(2) == 0 {
		bits &= 15
	}
	if t != 'l' {
		bits = converted(t, uint32(bits))
	}
	return argument{value{bits: bits}, numberValue(t, bits), bits}
}

// reference makes an externref: null, to a new value, to one that is somewhere already, or a word that is valid.
func (w *world) reference(words bool) argument {
	null := argument{value: host.Ref(nil)}
	var v any
	switch w.r.IntN(5) {
	case 0:
		return null
	case 1:
		if n := len(w.scopes); words && n > 0 && len(w.scopes[n-1].words) > 0 {
			k := w.scopes[n-1].words[w.r.IntN(len(w.scopes[n-1].words))]
			if k.ref.exn != nil {
				return null
			}
			return argument{value{ref: k.ref}, host.Ref(nil), k.word}
		}
		return null
	case 2:
		if v = w.somewhere(); v == nil {
			return null
		}
	default:
		v = w.newToken()
	}
	a := argument{value{ref: &handle{tok: v.(*token).n}}, host.Ref(v), 0}
	if words {
		var err error
		a.word, err = w.store.ExternRef(v)
		w.must(err, "ExternRef")
		w.made(a.word, a.model.ref)
	}
	return a
}

// made notes a word that was made for a handle: outside of all calls it is claimed.
func (w *world) made(word uint64, h *handle) {
	if !w.inside() {
		w.claims = append(w.claims, knownWord{word, h})
	}
	w.see(word, h)
}

// somewhere returns the Go value of a random place, nil if that is null.
func (w *world) somewhere() any {
	if w.r.IntN(2) == 0 {
		g := w.globals[w.r.IntN(len(w.globals))]
		if g.typ != 'x' || g.real == nil {
			return nil
		}
		v, err := g.real.Get()
		w.must(err, "Global.Get")
		w.checkRef("a global", v.Ref(), g.v.ref)
		return v.Ref()
	}
	for _, t := range w.tables {
		if t.elem != 'x' || t.real == nil || len(t.elems) == 0 {
			continue
		}
		i := w.r.IntN(len(t.elems))
		v, err := t.real.Get(uint32(i))
		w.must(err, "Table.Get")
		w.checkRef("an element", v, t.elems[i].ref)
		return v
	}
	return nil
}

var errStop = errors.New("the episode is over")

// newContext makes a context of any kind.
func (w *world) newContext() *callContext {
	c := &callContext{always: func() {}}
	switch w.r.IntN(9) {
	case 0, 1, 2:
	case 3:
		c.ctx = context.Background()
	case 4:
		c.ctx = context.WithValue(context.Background(), w, 1)
	case 5:
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(w.r.IntN(1<<w.r.IntN(21))))
		c.ctx, c.always = ctx, cancel
	default:
		ctx, cancel := context.WithCancelCause(context.Background())
		c.ctx, c.cancel, c.always = ctx, cancel, func() { cancel(nil) }
		switch w.r.IntN(30) {
		case 0:
			cancel(nil)
		case 1, 2, 3:
			time.AfterFunc(time.Duration(w.r.IntN(1<<w.r.IntN(20))), func() { cancel(nil) })
		}
	}
	return c
}

// call calls a random function.
func (w *world) call() {
	if len(w.funcs) == 0 || w.stop {
		return
	}
	f := w.funcs[w.r.IntN(len(w.funcs))]
	s := f.signature()
	raw := w.r.IntN(3) == 0
	args := make([]argument, len(s.params))
	for i := range args {
		args[i] = w.argument(s.params[i], raw)
	}
	if !w.inside() {
		fuel := int64(10 + w.r.IntN(100))
		if w.r.IntN(20) == 0 {
			fuel = 3000
		}
		w.must(w.fuelGlobal.real.Set(host.I64(fuel)), "Global.Set")
		w.fuelGlobal.v.bits = uint64(fuel)
	}
	ctx := w.newContext()
	defer ctx.always()
	values := make([]value, len(args))
	for i := range args {
		values[i] = args[i].model
	}
	a := newActivation(f, values)
	a.ctx = ctx
	w.count("calls")
	var check func(want []value)
	err := w.enter(a, func() (err error) {
		check, err = w.callReal(f, ctx.ctx, args, raw)
		return err
	})
	w.finish(a, err, check)
}

// callReal makes a call. check compares its results.
func (w *world) callReal(f *funcItem, ctx context.Context, args []argument, raw bool) (check func([]value), err error) {
	s := f.signature()
	switch {
	case raw:
		stack := make([]uint64, max(len(s.params), len(s.results))+w.r.IntN(2))
		for i := range args {
			stack[i] = args[i].word
		}
		err = f.real.CallRaw(ctx, stack)
		check = func(want []value) {
			for i := range s.results {
				w.checkWord(fmt.Sprintf("result %d", i), s.results[i], stack[i], want[i])
			}
			if len(w.acts) > 1 {
				return
			}
			for i := range s.results { // a result is kept until the next call, or given up at once
				if h := want[i].ref; h != nil && !w.claimed(h) && w.r.IntN(2) == 0 {
					w.store.Release(stack[i])
				}
			}
		}
	case w.r.IntN(2) == 0:
		in := make([]any, len(args))
		for i := range args {
			in[i] = args[i].value
			if s.params[i] == 'x' {
				in[i] = args[i].value.Ref()
			}
		}
		var out []any
		out, err = f.real.Call(ctx, in...)
		check = func(want []value) {
			for i, t := range []byte(s.results) {
				w.checkValue(fmt.Sprintf("result %d", i), t, valueOf(t, out[i]), want[i])
			}
		}
	default:
		in, out := make([]host.Value, len(args)), make([]host.Value, len(s.results))
		for i := range args {
			in[i] = args[i].value
		}
		err = f.real.CallValues(ctx, in, out)
		check = func(want []value) {
			for i := range out {
				w.checkValue(fmt.Sprintf("result %d", i), s.results[i], out[i], want[i])
			}
		}
	}
	return check, err
}

// valueOf makes a value of what Func.Call gives.
func valueOf(t byte, x any) host.Value {
	switch x := x.(type) {
	case int32:
		return host.I32(x)
	case int64:
		return host.I64(x)
	case float32:
		return host.F32(x)
	case float64:
		return host.F64(x)
	case *host.Func:
		return host.FuncRef(x)
	case *host.Exception:
		return host.ExnRef(x)
	}
	switch t {
	case 'r':
		return host.FuncRef(nil)
	case 'e':
		return host.ExnRef(nil)
	}
	return host.Ref(x)
}

// panicked is the error of enter if f panicked.
type panicked struct{ v any }

func (p *panicked) Error() string { return fmt.Sprintf("a panic: %v", p.v) }

// enter runs f, a real call of activation a, and recovers what functions of the host panic with.
func (w *world) enter(a *activation, f func() error) (err error) {
	acts, scopes := len(w.acts), len(w.scopes)
	w.acts = append(w.acts, a)
	returned := false
	defer func() {
		w.scopes = w.scopes[:scopes]
		if returned {
			return // finish takes a away
		}
		r := recover()
		if _, ok := r.(*failure); ok {
			panic(r)
		}
		if r == nil { // runtime.Goexit
			w.acts = w.acts[:acts]
			return
		}
		err = &panicked{r}
	}()
	err = f()
	returned = true
	return err
}

// finish compares how the innermost activation has ended. check compares results.
func (w *world) finish(a *activation, err error, check func(want []value)) {
	defer func() { w.acts = w.acts[:len(w.acts)-1] }()
	var trap *host.Trap
	var pan *panicked
	switch {
	case a.panics != nil:
		if !errors.As(err, &pan) || pan.v != a.panics {
			w.fail("a call gives %v, its function of the host panicked with %v", err, a.panics)
		}
		w.count("panics")
	case a.hostErr != nil:
		if err != a.hostErr {
			w.fail("a call gives %v, its function of the host %v", err, a.hostErr)
		}
		w.count("errors of the host")
	case a.refused:
		w.checkRefused(err)
	case err == nil:
		if len(w.acts) > w.limits.hostDepth {
			w.fail("a call at depth %d returns", len(w.acts))
		}
		e := w.run(a, ^uint64(0))
		if e.kind != eventReturn || a.mustEnd {
			w.fail("a call has returned, the model came to %v (context ended: %v)", e.kind, a.mustEnd)
		}
		if check != nil {
			check(e.values)
		}
		w.count("returns")
	case errors.Is(err, host.ErrCancelled):
		w.checkCancelled(err)
		w.settle(a)
		w.count("cancellations")
	case errors.As(err, &trap) && trap.Code == host.TrapStackOverflow:
		w.settle(a)
		w.checkOverflow()
		w.count("stack overflows")
	case errors.As(err, &trap):
		e := w.run(a, ^uint64(0))
		if e.kind != eventTrap || e.trap != trap.Code || a.mustEnd {
			w.fail("a call gives %v, the model came to %v %v", err, e.kind, e.trap)
		}
		w.checkBacktrace("a trap", trap.Backtrace, len(w.acts))
		w.count("trap " + trap.Code.String())
	case isThrown(err):
		e := w.run(a, ^uint64(0))
		if e.kind != eventThrow || a.mustEnd {
			w.fail("a call gives %v, the model came to %v (context ended: %v)", err, e.kind, a.mustEnd)
		}
		w.checkThrown(err, e)
		w.count("exceptions that leave calls")
	default:
		w.fail("a call gives %v", err)
	}
	if !w.inside() || w.r.IntN(8) == 0 {
		w.compare()
	}
}

// checkCancelled fails unless an active context has ended for the reason that the error gives.
func (w *world) checkCancelled(err error) {
	for _, a := range w.acts {
		if a.ctx.ended() && (err == host.ErrCancelled || errors.Is(err, context.Cause(a.ctx.ctx))) {
			return
		}
	}
	w.fail("a call gives %v, and no context has ended", err)
}

// onGoroutine runs f on a goroutine of its own, which f may end.
func (w *world) onGoroutine(f func()) {
	done := make(chan any, 1)
	go func() {
		returned := false
		defer func() {
			if returned {
				done <- nil
				return
			}
			done <- recover() // nil after runtime.Goexit
		}()
		if w.r.IntN(32) == 0 {
			runtime.LockOSThread() // the thread ends with the goroutine
		}
		f()
		returned = true
	}()
	if r := <-done; r != nil {
		panic(r)
	}
}

// claimed reports whether a word of a handle may be retained.
func (w *world) claimed(h *handle) bool {
	return slices.ContainsFunc(w.claims, func(k knownWord) bool { return k.ref.origin() == h.origin() })
}

// isThrown reports whether the error of a call is an exception.
func isThrown(err error) bool {
	var x *host.Exception
	return errors.As(err, &x)
}
