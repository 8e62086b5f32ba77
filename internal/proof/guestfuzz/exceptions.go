package guestfuzz

import (
	"errors"
	"fmt"

	"github.com/waot-project/waot/host"
)

// tagItem is a tag of a store.
type tagItem struct {
	params string
	real   *host.Tag // nil if it is not known yet
}

// exception is an exception of a store. The first argument is a number that no other one has.
type exception struct {
	tag  *tagItem
	args []value
	real *host.Exception // nil if Go code does not have it
	// out are the frames where it left compiled code for the first time, innermost first, and inner how many of them are of the innermost call; nil if it has not.
	out   []place
	inner int
	lost  bool // whether compiled code may have ended before it left, so that out may be wrong
}

// place is a function in a backtrace.
type place struct {
	module string
	fn     int
}

// number is what tells x from others.
func (x *exception) number() uint64 { return x.args[0].bits }

// like returns a reference to the same as v for which compiled code has the same handle, or another one, if that of v has been collected
// in between.
func (v value) like() value {
	if v.ref != nil {
		v.ref = &handle{tok: v.ref.tok, exn: v.ref.exn, from: v.ref}
	}
	return v
}

// origin returns what h may be the same handle as.
func (h *handle) origin() *handle {
	for h.from != nil {
		h = h.from
	}
	return h
}

// same reports whether two references are to the same.
func (h *handle) same(k *handle) bool { return h.tok == k.tok && h.exn == k.exn }

// throwing is an exception that is thrown: ref is the handle by which compiled code has thrown it, err the error by which the host has.
type throwing struct {
	exn *exception
	ref *handle
	err error
}

// throw goes on where x is caught. ok is false if a continues.
func (w *world) throw(a *activation, x throwing) (e event, ok bool) {
	for n := len(a.frames) - 1; n >= 0; n-- {
		f := &a.frames[n]
		for at := f.fn.tryAround(f.pc); at >= 0; at = f.fn.tryAround(at) {
			for i := range f.fn.body[at].clauses {
				c := &f.fn.body[at].clauses[i]
				if c.tag >= 0 && f.inst.tags[c.tag] != x.exn.tag {
					continue
				}
				if x.err != nil {
					w.count("exceptions of the host caught")
				} else if a.frames[len(a.frames)-1].inst != f.inst {
					w.count("exceptions caught by other instances")
				}
				w.count("exceptions caught")
				a.frames = a.frames[:n+1]
				f.catch(c, x)
				f.pc = f.fn.body[at].t + 1
				return e, false
			}
		}
	}
	if x.exn.out == nil && len(a.frames) > 0 {
		x.exn.out, x.exn.inner = w.placesOut(a)
	}
	a.ended = &event{kind: eventThrow, thrown: x}
	return *a.ended, true
}

// catch puts what a clause brings into locals.
func (f *frame) catch(c *clause, x throwing) {
	if c.ref {
		if x.ref == nil {
			x.ref = &handle{exn: x.exn}
		}
		f.locals[c.exn] = value{ref: x.ref}
	}
	if c.tag >= 0 {
		f.assign(c.dests, x.exn.args)
	}
	f.locals[c.mark] = value{bits: uint64(c.k)}
}

// tryAround returns the opTry of the innermost block that catches around an action, -1 if there is none. A tail call has left all.
func (fn *function) tryAround(pc int) int {
	if fn.body[pc].isTail() {
		return -1
	}
	for at := pc - 1; at >= 0; at-- {
		if a := &fn.body[at]; a.op == opTry && a.t > pc {
			return at
		}
	}
	return -1
}

// placesOut are the functions at which an exception leaves a, and the calls around it: further in than the outermost one with blocks that catch, which has thrown it on, none is
// active any more.
func (w *world) placesOut(a *activation) (out []place, inner int) {
	last := len(a.frames) - 1
	for n := last; n >= 0; n-- {
		if f := &a.frames[n]; f.fn.tryAround(f.pc) >= 0 {
			last = n
		}
	}
	depth := len(w.acts)
	for n, f := range w.active(depth) {
		if n >= len(a.frames)-1-last {
			out = append(out, place{f.inst.prog.name, f.n})
		}
	}
	inner = last + 1 + b2i(a.init != nil)
	out = out[:min(len(out), 64)]
	return out, min(inner, len(out))
}

// newException makes an exception by Go code, nil if there are no tags yet.
func (w *world) newException() *exception {
	t := live(w, w.tags, func(t *tagItem) bool { return t.real != nil })
	if t == nil {
		return nil
	}
	x := &exception{tag: t}
	n := w.runner.nextToken() | 1<<62
	args, values := []any{int64(n)}, []value{{bits: n}}
	for _, p := range []byte(t.params[1:]) {
		a := w.argument(p, false)
		args, values = append(args, a.value), append(values, a.model)
	}
	x.args = values
	var err error
	x.real, err = host.NewException(t.real, args...)
	w.must(err, "NewException")
	w.exns = append(w.exns, x)
	return x
}

// someException is a new exception, or one that Go code has; nil is none.
func (w *world) someException() *exception {
	if n := len(w.exns); n > 0 && w.r.IntN(2) == 0 {
		return w.exns[w.r.IntN(n)]
	}
	return w.newException()
}

// forgetException drops one that Go code has.
func (w *world) forgetException() {
	if n := len(w.exns); n > 0 {
		k := w.r.IntN(n)
		w.exns[k].real = nil
		w.exns[k] = w.exns[n-1]
		w.exns = w.exns[:n-1]
	}
}

// exceptionArgument makes a reference to an exception: null, or to one that Go code has or makes now, or a word that is valid.
func (w *world) exceptionArgument(words bool) argument {
	null := argument{value: host.ExnRef(nil)}
	if n := len(w.scopes); words && n > 0 && w.r.IntN(3) == 0 {
		for _, k := range w.scopes[n-1].words {
			if k.ref.exn != nil {
				return argument{value{ref: k.ref}, host.ExnRef(nil), k.word}
			}
		}
	}
	if w.r.IntN(4) == 0 {
		return null
	}
	x := w.someException()
	if x == nil {
		return null
	}
	a := argument{value{ref: &handle{exn: x}}, host.ExnRef(x.real), 0}
	if words {
		var err error
		a.word, err = w.store.ExceptionRef(x.real)
		w.must(err, "ExceptionRef")
		w.made(a.word, a.model.ref)
	}
	return a
}

// throwFromHost has the innermost call of the host throw an exception by the error that it returns, nil if there is none to be thrown.
func (w *world) throwFromHost(a *activation) error {
	x := w.someException()
	if x == nil {
		return nil
	}
	var err error = x.real
	if w.r.IntN(3) == 0 {
		err = fmt.Errorf("wrapped: %w", err)
	}
	a.throws = &throwing{exn: x, err: err}
	w.count("exceptions of the host")
	return err
}

// leaves tells the model that a function of the host returns an error.
func (w *world) leaves(a *activation, err error) error {
	x := a.throws
	if x == nil {
		return err
	}
	a.throws, a.pending = nil, nil
	w.scopes = w.scopes[:len(w.scopes)-1]
	a.mustEnd = a.mustEnd || a.ctx.ended() && (a.fn == nil || a.fn.host == nil)
	w.throw(a, *x)
	return err
}

// checkException compares an exception with the model, which may not have known it.
func (w *world) checkException(what string, x *host.Exception, want *exception) {
	switch {
	case x == nil:
		w.fail("%s: null, want exception %#x", what, want.number())
	case x == want.real:
		return
	case want.real != nil:
		w.fail("%s: exception %v, which is none that Go code knows, want %#x", what, x.Args(), want.number())
	case want.tag.real == nil:
		want.tag.real = x.Tag()
	}
	args := x.Args()
	if x.Tag() != want.tag.real || len(args) != len(want.args) {
		w.fail("%s: exception %v of another tag, want %#x", what, args, want.number())
	}
	for i, t := range []byte(want.tag.params) {
		w.checkValue(fmt.Sprintf("%s, argument %d of an exception", what, i), t, args[i], want.args[i])
	}
	want.real = x
	w.exns = append(w.exns, want)
}

// isException reports whether checkException would pass, by the number.
func isException(x *host.Exception, want *exception) bool {
	return x != nil && uint64(x.Args()[0].I64()) == want.number()
}

// checkThrown compares an exception as the error of a call.
func (w *world) checkThrown(err error, e event) {
	x := e.thrown
	if x.err != nil && err != x.err {
		w.fail("a call gives %v, its function of the host has thrown %v", err, x.err)
	}
	var have *host.Exception
	if !errors.As(err, &have) {
		w.fail("a call gives %v", err)
	}
	if x.err == nil && err != error(have) {
		w.fail("a call gives %v, not the exception itself", err)
	}
	w.checkException("the error of a call", have, x.exn)
	frames := have.Backtrace()
	if x.exn.lost {
		return
	}
	if len(frames) != len(x.exn.out) || have.InnerFrames() != x.exn.inner {
		w.fail("an exception left %v (%d inner), want %v (%d)", frames, have.InnerFrames(), x.exn.out, x.exn.inner)
	}
	for i, p := range x.exn.out {
		if frames[i].Func != uint32(p.fn) || frames[i].Module != p.module {
			w.fail("an exception left %v, want %v", frames, x.exn.out)
		}
	}
}
