package guestfuzz

import (
	"context"
	"fmt"
	"hash/crc32"
	"reflect"
	"runtime"
	"strings"
	"time"

	"github.com/waot-project/waot/host"
)

// hostFunc is a function of the host.
type hostFunc struct {
	signature
	cancels bool
	w       *world
}

// item returns the function in the model.
func (h *hostFunc) item() *funcItem { return &funcItem{host: h} }

// makeFunc gives Go code of any form for h.
func (h *hostFunc) makeFunc() any {
	if h.w.r.IntN(2) == 0 {
		return host.RawFunc{Params: hostTypes(h.params), Results: hostTypes(h.results), Func: h.raw}
	}
	return h.typed()
}

func hostTypes(letters string) (out []host.ValType) {
	for _, t := range []byte(letters) {
		out = append(out, host.ValType(abiType(t)))
	}
	return out
}

// raw is h as a host.RawFunc.
func (h *hostFunc) raw(c *host.Caller, args, results []uint64) error {
	w := h.w
	a := w.arrive(h, c, func(want []value) {
		for i := range args {
			w.checkWord(fmt.Sprintf("argument %d", i), h.params[i], args[i], want[i])
		}
	})
	err := w.serve(h, a, c)
	if err != nil {
		return w.leaves(a, err)
	}
	if n := len(w.runner.foreign); n > 0 && !w.runner.NoForeignWords && strings.ContainsAny(h.results, references) && w.r.IntN(30) == 0 {
		a.refused = true
		results[w.refAmong(h.results)] = w.runner.foreign[w.r.IntN(n)]
		return nil
	}
	values := make([]value, len(results))
	for i := range results {
		x := w.result(h, i, true)
		values[i], results[i] = x.model, x.word
		if h.results[i] == 'i' {
			results[i] |= w.r.Uint64() << 32 // the upper half of an i32 must be ignored
		}
	}
	return w.giveBack(a, values)
}

// typed is h as a Go function: some types lead to adapters, the others to reflection.
func (h *hostFunc) typed() any {
	w := h.w
	goTypes := map[byte]reflect.Type{'i': reflect.TypeFor[int32](), 'l': reflect.TypeFor[int64](), 'f': reflect.TypeFor[float32](),
		'd': reflect.TypeFor[float64](), 'r': reflect.TypeFor[*host.Func](), 'x': reflect.TypeFor[any](), 'e': reflect.TypeFor[*host.Exception]()}
	form := h.form()
	if form&1 != 0 {
		goTypes['i'], goTypes['l'] = reflect.TypeFor[uint32](), reflect.TypeFor[uint64]()
	}
	var in, out []reflect.Type
	withContext, withCaller := form&6 == 6, form&8 != 0
	if withContext {
		in = append(in, reflect.TypeFor[context.Context]())
	}
	if withCaller {
		in = append(in, reflect.TypeFor[*host.Caller]())
	}
	leading := len(in)
	for _, t := range []byte(h.params) {
		in = append(in, goTypes[t])
	}
	for _, t := range []byte(h.results) {
		out = append(out, goTypes[t])
	}
	withError := form&48 != 0 && len(h.params)+len(h.results) > 2 // there are adapters for short ones without errors
	if withError {
		out = append(out, reflect.TypeFor[error]())
	}
	return reflect.MakeFunc(reflect.FuncOf(in, out, false), func(args []reflect.Value) []reflect.Value {
		var c *host.Caller
		if withCaller {
			c = args[leading-1].Interface().(*host.Caller)
		}
		a := w.arrive(h, c, func(want []value) {
			for i, t := range []byte(h.params) {
				w.checkValue(fmt.Sprintf("argument %d", i), t, valueOf(t, plain(args[leading+i])), want[i])
			}
			if withContext && w.context() != args[0].Interface() {
				w.fail("the context of another call")
			}
		})
		err := w.serve(h, a, c)
		if err != nil && !withError {
			a.hostErr, a.throws, a.panics = nil, nil, err
			panic(err)
		}
		results := make([]reflect.Value, len(out))
		values := make([]value, len(h.results))
		for i := range values {
			results[i] = reflect.Zero(out[i])
			if err != nil {
				continue
			}
			x := w.result(h, i, false)
			values[i] = x.model
			if v := x.value.Any(); v != nil {
				results[i] = reflect.ValueOf(v).Convert(out[i])
			}
		}
		if err == nil {
			err = w.giveBack(a, values)
		} else {
			err = w.leaves(a, err)
		}
		if withError {
			results[len(out)-1] = reflect.Zero(out[len(out)-1])
			if err != nil {
				results[len(out)-1] = reflect.ValueOf(&err).Elem()
			}
		}
		return results
	}).Interface()
}

// form decides between Go types for h. There is one for each signature: see numSignatures.
func (h *hostFunc) form() uint32 {
	sum := crc32.ChecksumIEEE([]byte(h.params + ":" + h.results))
	return sum ^ sum>>13
}

// plain returns a parameter as Func.Call gives a result.
func plain(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Uint32:
		return int32(v.Uint())
	case reflect.Uint64:
		return int64(v.Uint())
	}
	return v.Interface()
}

// context returns that of the innermost call that has one.
func (w *world) context() context.Context {
	for n := len(w.acts) - 1; n >= 0; n-- {
		if c := w.acts[n].ctx; c != nil && c.ctx != nil {
			return c.ctx
		}
	}
	return context.Background()
}

// arrive compares a call of h with the model. c may be nil.
func (w *world) arrive(h *hostFunc, c *host.Caller, check func(want []value)) *activation {
	if len(w.acts) == 0 {
		w.fail("a function of the host is called out of nothing")
	}
	a := w.acts[len(w.acts)-1]
	e := w.run(a, ^uint64(0))
	if e.kind != eventHost || e.fn.host != h || a.mustEnd {
		w.fail("a call of a function of the host, the model came to %v (context ended: %v)", e.kind, a.mustEnd)
	}
	w.scopes = append(w.scopes, &scope{caller: c, depth: len(w.acts)})
	check(e.values)
	w.count("calls of the host")
	if c != nil {
		if c.Store() != w.store || c.Context() != w.context() {
			w.fail("the caller has another store or context")
		}
		w.checkCaller(c, len(w.acts))
	}
	return a
}

// checkCaller compares what the caller of a host function reports with the model as it was when depth calls were active.
func (w *world) checkCaller(c *host.Caller, depth int) {
	a := w.acts[depth-1]
	if n := len(a.frames); n == 0 && a.init == nil {
		if i := c.Instance(); i != nil {
			w.fail("Go called, but Caller.Instance is %v", i.Name())
		}
	} else if n > 0 {
		if i := a.frames[n-1].inst; i.real != nil && c.Instance() != i.real {
			w.fail("Caller.Instance is another")
		}
		if i := a.frames[n-1].inst; i.mem.real != nil && c.Memory() != i.mem.real {
			w.fail("Caller.Memory is another")
		}
	}
	if w.r.IntN(4) == 0 {
		w.checkBacktrace("Caller", c.Backtrace(), depth)
	}
}

// useCaller uses the caller of a host function further out.
func (w *world) useCaller() {
	if len(w.scopes) == 0 {
		return
	}
	if s := w.scopes[w.r.IntN(len(w.scopes))]; s.caller != nil {
		w.checkCaller(s.caller, s.depth)
	}
}

// serve is the body of a function of the host. It returns the error that the function must return.
func (w *world) serve(h *hostFunc, a *activation, c *host.Caller) error {
	if w.stop {
		a.hostErr = errStop
		return a.hostErr
	}
	for w.budget > 0 && w.r.IntN(3) != 0 {
		w.budget--
		w.act()
		if w.stop {
			a.hostErr = errStop
			return a.hostErr
		}
	}
	if w.budget <= 0 || h.cancels {
		return nil
	}
	switch w.r.IntN(60) {
	case 0:
		a.hostErr = fmt.Errorf("error %d", w.r.Uint32())
		return a.hostErr
	case 1:
		a.panics = fmt.Sprintf("panic %d", w.r.Uint32())
		if w.r.IntN(2) == 0 {
			growStack(1 + w.r.IntN(16))
		}
		panic(a.panics)
	case 2:
		func() {
			defer func() { a.panics = recover() }()
			var t *token
			t.n++
		}()
		panic(a.panics)
	case 3:
		w.count("exits of goroutines")
		runtime.Goexit()
	case 4, 5, 6, 7, 8, 9, 10:
		return w.throwFromHost(a)
	}
	return nil
}

// result makes result i of h.
func (w *world) result(h *hostFunc, i int, words bool) argument {
	if h.cancels {
		done := uint64(b2i(w.cancelActive()))
		return argument{value{bits: done}, host.I32(int32(done)), done}
	}
	return w.argument(h.results[i], words)
}

// cancelActive makes the context of one of the active calls end, now or later. It reports false if none can end.
func (w *world) cancelActive() bool {
	first := w.r.IntN(len(w.acts))
	for n := range w.acts {
		a := w.acts[(first+n)%len(w.acts)]
		c := a.ctx
		if c == nil || c.ctx == nil || c.ctx.Done() == nil {
			continue
		}
		if c.cancel == nil {
			return true // it has a deadline
		}
		switch w.r.IntN(3) {
		case 0:
			c.cancel(errStop)
		case 1:
			go c.cancel(nil)
		default:
			time.AfterFunc(time.Duration(w.r.IntN(1<<w.r.IntN(20))), func() { c.cancel(nil) })
		}
		return true
	}
	return false
}

// giveBack gives results to the model.
func (w *world) giveBack(a *activation, results []value) error {
	w.scopes = w.scopes[:len(w.scopes)-1]
	a.deliver(results)
	if a.ctx.ended() && (a.fn == nil || a.fn.host == nil) {
		a.mustEnd = true // the code must not continue
	}
	return nil
}

// growStack makes the goroutine's stack move.
//
//go:noinline
func growStack(kib int) int {
	var pad [1024]byte
	if kib == 0 {
		return int(pad[0])
	}
	return growStack(kib-1) + int(pad[kib%1024])
}
