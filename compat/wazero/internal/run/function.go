package run

import (
	"context"
	"errors"
	"fmt"
	"unsafe"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/internal/expctxkeys"
	"github.com/tetratelabs/wazero/internal/internalapi"

	"github.com/waot-project/waot/host"
)

// Function is a function of a guest, for one goroutine at a time.
type Function struct {
	internalapi.WazeroOnlyType
	m   *Instance
	grp *group
	def *FuncDef
	fn  *host.Func
	err error // why there is no fn
	// plain: nothing is rare about calls, but perhaps their contexts.
	plain bool
	ctx   *endless // of the last call with a context that can end
}

var background = context.Background()

// newFunction returns a function; err says why there is no fn.
func newFunction(m *Instance, def *FuncDef, fn *host.Func, err error) *Function {
	if err == nil && def.objects {
		fn, err = nil, def.objectsError()
	}
	return &Function{m: m, grp: m.grp, def: def, fn: fn, err: err, plain: err == nil && !def.refs && !m.rt.config.CloseOnContextDone && !m.grp.listened()}
}

// objectsError is why Go code cannot call a function. A word for an object would be good until the next call only, or keep the object for ever: a program has no way to say that it does not need it any more.
func (d *FuncDef) objectsError() error {
	return fmt.Errorf("%s: references to objects of garbage collection cannot be passed to Go and back", d.signature())
}

// Definition implements api.Function.
func (f *Function) Definition() api.FunctionDefinition { return f.def }

// Call implements api.Function.
func (f *Function) Call(ctx context.Context, params ...uint64) ([]uint64, error) {
	if len(params) != f.def.paramWords {
		return nil, fmt.Errorf("expected %d params, but passed %d", f.def.paramWords, len(params))
	}
	stack := make([]uint64, f.def.words())
	copy(stack, params)
	if err := f.call(ctx, stack); err != nil {
		return nil, err
	}
	return stack[:f.def.resultWords], nil
}

// CallWithStack implements api.Function.
func (f *Function) CallWithStack(ctx context.Context, stack []uint64) error {
	if n := f.def.words(); len(stack) < n {
		return fmt.Errorf("need %d params, but stack size is %d", n, len(stack))
	}
	return f.call(ctx, stack)
}

// call calls the function. It does not allocate, unless something is rare about the call.
func (f *Function) call(ctx context.Context, stack []uint64) error {
	if !f.plain || ctx != background || f.m.closed.Load() != 0 {
		return f.callRare(ctx, stack)
	}
	if err := f.fn.CallRaw(background, stack); err != nil {
		return f.failed(background, stack, err)
	}
	if f.grp.pending.Load() || f.m.closed.Load() != 0 {
		return f.left()
	}
	return nil
}

// left is what a call ends with that did not fail: an error if the instance has been closed meanwhile.
func (f *Function) left() error {
	if f.m.grp.pending.Load() {
		f.m.grp.release()
	}
	if f.m.closed.Load() != 0 {
		return f.m.exitError()
	}
	return nil
}

// callRare is call for all cases.
func (f *Function) callRare(ctx context.Context, stack []uint64) error {
	m := f.m
	if err := m.exitError(); err != nil {
		return err
	}
	if f.fn == nil {
		return f.err
	}
	if ctx == nil {
		ctx = background
	}
	var t *told
	if m.grp.listened() {
		t = new(told)
	}
	if ctx != background && ctx.Value(expctxkeys.EnableSnapshotterKey{}) != nil {
		ctx = context.WithValue(ctx, expctxkeys.SnapshotterKey{}, snapshotter{m.grp, t})
	}
	inner := ctx
	switch {
	case m.rt.config.CloseOnContextDone:
		if err := ctx.Err(); err != nil {
			m.CloseWithExitCode(ctx, exitCode(err))
			return m.exitError()
		}
		e := m.watch(ctx)
		defer m.unwatch(e)
		inner = e
	case ctx.Done() != nil:
		if f.ctx == nil || !same(f.ctx.Context, ctx) {
			f.ctx = &endless{ctx}
		}
		inner = f.ctx
	}
	if t != nil {
		return f.callListened(inner, stack, t)
	}
	if err := f.callIn(inner, stack); err != nil {
		return f.failed(inner, stack, err)
	}
	return f.left()
}

// same reports whether two contexts are one value, which may be of a type that cannot be compared.
func same(x, y context.Context) bool {
	return *(*[2]unsafe.Pointer)(unsafe.Pointer(&x)) == *(*[2]unsafe.Pointer)(unsafe.Pointer(&y))
}

// callListened calls, and tells listeners of calls that a failure has ended; t is empty.
func (f *Function) callListened(ctx context.Context, stack []uint64, t *told) error {
	err := f.grp.enter(func() error { return f.callIn(&listened{ctx, t}, stack) })
	if err == nil {
		return f.left()
	}
	if !errors.Is(err, host.ErrRestore) {
		shown := err
		if _, ok := err.(*host.Trap); ok {
			shown = f.m.callError(err)
		}
		t.abort(shown)
	}
	return f.failed(ctx, stack, err)
}

// watch makes a context that ends with ctx, and the instance with it, or with the instance.
func (m *Instance) watch(ctx context.Context) *ending {
	e := newEnding(ctx, func() { m.CloseWithExitCode(ctx, exitCode(ctx.Err())) })
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.calls == nil {
		m.calls = map[*ending]struct{}{}
	}
	m.calls[e] = struct{}{}
	if m.IsClosed() {
		e.end(context.Canceled)
	}
	return e
}

func (m *Instance) unwatch(e *ending) {
	e.release()
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.calls, e)
}

// callIn calls in the store.
func (f *Function) callIn(ctx context.Context, stack []uint64) error {
	if !f.def.refs {
		return f.fn.CallRaw(ctx, stack)
	}
	s := f.m.grp.store
	values := func(types []api.ValueType) []host.Value { return make([]host.Value, len(types)) }
	args, results := values(f.def.params), values(f.def.results)
	at := 0
	for i, t := range f.def.params {
		switch t {
		case typeFuncref:
			args[i] = host.FuncRef(s.FuncOf(stack[at]))
		case typeV128:
			args[i] = value(t, stack[at], stack[at+1])
			at++
		default:
			args[i] = value(t, stack[at], 0)
		}
		at++
	}
	if err := f.fn.CallValues(ctx, args, results); err != nil {
		return err
	}
	at = 0
	for _, v := range results {
		at += putWords(stack[at:], v)
	}
	return nil
}

// putWords writes a value to words and returns how many it took.
func putWords(words []uint64, v host.Value) int {
	switch v.Type() {
	case host.TypeI32:
		words[0] = api.EncodeI32(v.I32())
	case host.TypeI64:
		words[0] = uint64(v.I64())
	case host.TypeF32:
		words[0] = api.EncodeF32(v.F32())
	case host.TypeF64:
		words[0] = api.EncodeF64(v.F64())
	case host.TypeV128:
		b := v.V128()
		words[0], words[1] = le.Uint64(b[:]), le.Uint64(b[8:])
		return 2
	case host.TypeFuncRef:
		words[0] = 0
		if f := v.Func(); f != nil {
			words[0] = f.Ref()
		}
	default:
		w, _ := v.Ref().(uintptr)
		words[0] = uint64(w)
	}
	return 1
}

// failed is what a call ends with that failed. It waits if another goroutine was inside the store, and calls again.
func (f *Function) failed(ctx context.Context, stack []uint64, err error) error {
	m := f.m
	if err == host.ErrBusy {
		if err = m.grp.enter(func() error {
			if err := ctx.Err(); err != nil {
				return &host.CancelError{Cause: err, Err: err}
			}
			return f.callIn(ctx, stack)
		}); err == nil {
			return f.left()
		}
	}
	var cancel *host.CancelError
	if errors.As(err, &cancel) && m.rt.config.CloseOnContextDone {
		m.CloseWithExitCode(given(ctx), exitCode(cancel.Err))
	}
	back := err
	err = m.callError(err)
	m.grp.leave()
	passOn(back)
	return err
}

// goFunction is a Go function that Go code calls.
type goFunction struct {
	internalapi.WazeroOnlyType
	m *Instance
	f *HostFunc
}

func (f *goFunction) Definition() api.FunctionDefinition { return f.f.def }

func (f *goFunction) Call(ctx context.Context, params ...uint64) ([]uint64, error) {
	if len(params) != f.f.def.paramWords {
		return nil, fmt.Errorf("expected %d params, but passed %d", f.f.def.paramWords, len(params))
	}
	stack := make([]uint64, f.f.def.words())
	copy(stack, params)
	if err := f.CallWithStack(ctx, stack); err != nil {
		return nil, err
	}
	return stack[:f.f.def.resultWords], nil
}

func (f *goFunction) CallWithStack(ctx context.Context, stack []uint64) (err error) {
	if n := f.f.def.words(); len(stack) < n {
		return fmt.Errorf("need %d params, but stack size is %d", n, len(stack))
	}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *restoring:
			panic(r)
		case *toldError:
			passOn(r.err)
			err = r.err
		default:
			err = f.f.recovered(f.m, nil, r)
		}
	}()
	f.f.run(ctx, f.m, nil, stack)
	return f.m.exitError()
}
