package host

import (
	"context"
	"fmt"

	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/meta"
)

// Func is a function of a store: compiled, or written in Go. It lives as long as its store. The methods that call it are
// for the goroutine that is inside the store; the others may be called from any goroutine.
type Func inproc.Func

func (f *Func) inproc() *inproc.Func { return (*inproc.Func)(f) }

// Type returns the type of the function.
func (f *Func) Type() FuncType { return funcTypeOf(f.inproc().Type()) }

// Store returns the store of the function.
func (f *Func) Store() *Store { return (*Store)(f.inproc().Store()) }

// Place returns the instance whose compiled function it is, and its index there; nil for a Go function.
func (f *Func) Place() (inst *Instance, index uint32) {
	i, index := f.inproc().Place()
	return (*Instance)(i), index
}

// Ref returns the word that stands for the function as a funcref, for CallRaw and RawFunc. It is the
// same at each call. No other function of this process ever has it.
func (f *Func) Ref() uint64 { return f.inproc().Ref() }

// Call calls the function. For each type of parameter, an argument is:
//
//   - i32: an int32 or uint32, or an int in the range of either;
//   - i64: an int64, uint64 or int;
//   - f32, f64: a float32, a float64;
//   - v128: a [16]byte, the bytes as in linear memory;
//   - externref: any Go value, nil for null;
//   - funcref: a *Func of the same store, nil for null;
//   - exnref: an *Exception of the same store, nil for null;
//   - anyref, and references to structures, arrays and small integers: an *Object of the same store, an I31, nil for null, and for anyref any other Go value;
//   - or a Value of the right type.
//
// Results are int32, int64, float32, float64, [16]byte, the Go value of an externref, a *Func, an *Exception, an *Object,
// an I31, and nil for null references.
//
// When ctx ends, compiled code does, wherever it is, and the error is a *CancelError. ctx
// may be nil. The other errors are *Trap, *Exception, ErrType, ErrBusy, ErrClosed, and
// those of Go functions that the code called, unchanged.
func (f *Func) Call(ctx context.Context, args ...any) ([]any, error) {
	t := f.inproc().Type()
	if err := checkCount("arguments", len(args), len(t.Params)); err != nil {
		return nil, err
	}
	if f.inproc().HasRefs() {
		return f.callAny(ctx, args)
	}
	var room [maxWords]uint64
	words := room[:]
	if n := max(f.inproc().Words()); n > len(words) {
		words = make([]uint64, n)
	}
	at := 0
	for i, a := range args {
		v, err := valueOf(ValType(t.Params[i]), a)
		if err != nil {
			return nil, detailAt(i, err)
		}
		at += putNumber(words[at:], v)
	}
	if err := f.inproc().CallStack(ctx, words); err != nil {
		return nil, hostError(err)
	}
	results := make([]any, len(t.Results))
	at = 0
	for i, r := range t.Results {
		v, n := takeNumber(ValType(r), words[at:])
		results[i] = v.Any()
		at += n
	}
	return results, nil
}

// callAny is Call for types with references.
func (f *Func) callAny(ctx context.Context, args []any) ([]any, error) {
	t := f.inproc().Type()
	values := make([]Value, len(t.Params)+len(t.Results))
	for i, a := range args {
		v, err := valueOf(ValType(t.Params[i]), a)
		if err != nil {
			return nil, detailAt(i, err)
		}
		values[i] = v
	}
	in, out := values[:len(args)], values[len(args):]
	if err := f.CallValues(ctx, in, out); err != nil {
		return nil, err
	}
	results := make([]any, len(out))
	for i := range out {
		results[i] = out[i].Any()
	}
	return results, nil
}

func checkCount(what string, have, want int) error {
	if have != want {
		return detail(ErrType, "%d %s, not %d", have, what, want)
	}
	return nil
}

// detailAt says which argument an error is about.
func detailAt(i int, err error) error { return fmt.Errorf("argument %d: %w", i, err) }

// CallValues is like Call, with exact types and without allocation. args and results must have
// the lengths that the type says; they may overlap. After an error results are unchanged.
func (f *Func) CallValues(ctx context.Context, args, results []Value) error {
	p := f.inproc()
	t := p.Type()
	if err := checkCount("arguments", len(args), len(t.Params)); err != nil {
		return err
	}
	if err := checkCount("results", len(results), len(t.Results)); err != nil {
		return err
	}
	for i, want := range t.Params {
		if have := args[i].Type(); have != ValType(want).Base() {
			return detailAt(i, detail(ErrType, "wanted %v, got %v", ValType(want), have))
		}
	}
	var room [maxWords]uint64
	words := room[:]
	np, nr := p.Words()
	if np+nr > len(words) {
		words = make([]uint64, np+nr)
	}
	in, out := words[:np], words[np:np+nr]
	if p.HasRefs() {
		return f.callRefs(ctx, args, results, in[:0], out)
	}
	at := 0
	for i := range args {
		at += putNumber(in[at:], args[i])
	}
	if err := p.CallContext(ctx, in, out); err != nil {
		return hostError(err)
	}
	at = 0
	for i, r := range t.Results {
		v, n := takeNumber(ValType(r), out[at:])
		results[i] = v
		at += n
	}
	return nil
}

// maxWords is the number of words of arguments and results up to which a call needs no
// allocation.
const maxWords = 16

// callRefs is CallValues for types with references. It is inside the store all the time, so
// that nothing can happen to references between the call and their conversion. in has room for the arguments, and is empty.
func (f *Func) callRefs(ctx context.Context, args, results []Value, in, out []uint64) error {
	p := f.inproc()
	s := p.Store()
	outer, err := s.Hold()
	if err != nil {
		return err
	}
	if outer {
		defer s.Leave()
	}
	defer func() {
		words := in
		for _, t := range p.Type().Params {
			if len(words) == 0 {
				break // the next argument was refused
			}
			if t.Base() == meta.ExternRef { // exnrefs too
				s.Unmake(words[0])
			}
			words = words[t.Words():]
		}
	}()
	for i := range args {
		w, err := args[i].word(s)
		if err != nil {
			return detailAt(i, err)
		}
		if in = append(in, w); args[i].Type() == TypeV128 {
			in = append(in, args[i].high)
		}
	}
	if err := p.CallContext(ctx, in, out); err != nil {
		return hostError(err)
	}
	t := p.Type()
	at := 0
	for i, r := range t.Results {
		v, n := takeValue(s, r, out[at:])
		results[i] = v
		at += n
	}
	return nil
}

// CallRaw is the fastest call. stack holds the arguments as words: i32 in the low half, floats
// as their bits, a v128 as two words, the low half first, references as words of the store. The results replace them.
// The length of stack must be at least the number of words of the arguments and that of the results. CallRaw does not allocate.
//
// Words of externrefs come from Store.ExternRef. Store.Extern returns the Go values of results; call it before the next
// call into the store, and hold the store with Store.Enter if other
// goroutines use it. Words of funcrefs come from Func.Ref. A word that is not a valid reference of
// the store is refused with a *ReferenceError. The other errors are those of Call.
func (f *Func) CallRaw(ctx context.Context, stack []uint64) error {
	if err := f.inproc().CallStack(ctx, stack); err != nil {
		return f.rawError(err, len(stack))
	}
	return nil
}

// rawError converts an error of CallRaw.
func (f *Func) rawError(err error, words int) error {
	if err == ErrType && words < max(f.inproc().Words()) {
		return detail(ErrType, "%d words for %v", words, f.Type())
	}
	return hostError(err)
}
