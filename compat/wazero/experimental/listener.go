package experimental

import (
	"context"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/internal/expctxkeys"
)

// StackIterator walks the frames of a call, the innermost first. Next must be called before the first.
type StackIterator interface {
	Next() bool
	Function() InternalFunction
	ProgramCounter() ProgramCounter
}

// FunctionListener is told about the calls of a function: Before, then After or Abort.
type FunctionListener interface {
	Before(ctx context.Context, mod api.Module, def api.FunctionDefinition, params []uint64, stackIterator StackIterator)
	After(ctx context.Context, mod api.Module, def api.FunctionDefinition, results []uint64)
	Abort(ctx context.Context, mod api.Module, def api.FunctionDefinition, err error)
}

// FunctionListenerFactory makes listeners while modules are compiled; nil for functions without.
type FunctionListenerFactory interface {
	NewFunctionListener(api.FunctionDefinition) FunctionListener
}

// WithFunctionListenerFactory returns a context for compilations with listeners.
func WithFunctionListenerFactory(ctx context.Context, factory FunctionListenerFactory) context.Context {
	return context.WithValue(ctx, expctxkeys.FunctionListenerFactoryKey{}, factory)
}

// FunctionListenerFunc is a listener for beginnings of calls.
type FunctionListenerFunc func(context.Context, api.Module, api.FunctionDefinition, []uint64, StackIterator)

// Before implements FunctionListener.
func (f FunctionListenerFunc) Before(ctx context.Context, mod api.Module, def api.FunctionDefinition, params []uint64, stackIterator StackIterator) {
	f(ctx, mod, def, params, stackIterator)
}

// After implements FunctionListener.
func (f FunctionListenerFunc) After(context.Context, api.Module, api.FunctionDefinition, []uint64) {}

// Abort implements FunctionListener.
func (f FunctionListenerFunc) Abort(context.Context, api.Module, api.FunctionDefinition, error) {}

// FunctionListenerFactoryFunc is a FunctionListenerFactory.
type FunctionListenerFactoryFunc func(api.FunctionDefinition) FunctionListener

// NewFunctionListener implements FunctionListenerFactory.
func (f FunctionListenerFactoryFunc) NewFunctionListener(def api.FunctionDefinition) FunctionListener {
	return f(def)
}

// MultiFunctionListenerFactory joins factories: each call is told to the listeners of all of them.
func MultiFunctionListenerFactory(factories ...FunctionListenerFactory) FunctionListenerFactory {
	return FunctionListenerFactoryFunc(func(def api.FunctionDefinition) FunctionListener {
		var all listeners
		for _, f := range factories {
			if l := f.NewFunctionListener(def); l != nil {
				all = append(all, l)
			}
		}
		switch len(all) {
		case 0:
			return nil
		case 1:
			return all[0]
		}
		return all
	})
}

// listeners are several listeners for one function.
type listeners []FunctionListener

func (all listeners) Before(ctx context.Context, mod api.Module, def api.FunctionDefinition, params []uint64, stack StackIterator) {
	var frames frames
	for stack.Next() {
		frames.list = append(frames.list, frame{stack.Function(), stack.ProgramCounter()})
	}
	for _, l := range all {
		frames.next = 0
		l.Before(ctx, mod, def, params, &frames)
	}
}

func (all listeners) After(ctx context.Context, mod api.Module, def api.FunctionDefinition, results []uint64) {
	for _, l := range all {
		l.After(ctx, mod, def, results)
	}
}

func (all listeners) Abort(ctx context.Context, mod api.Module, def api.FunctionDefinition, err error) {
	for _, l := range all {
		l.Abort(ctx, mod, def, err)
	}
}

// frame is a frame of a stack.
type frame struct {
	function InternalFunction
	pc       ProgramCounter
}

// frames is a StackIterator that can begin anew.
type frames struct {
	list []frame
	next int
}

func (f *frames) Next() bool                     { f.next++; return f.next <= len(f.list) }
func (f *frames) Function() InternalFunction     { return f.list[f.next-1].function }
func (f *frames) ProgramCounter() ProgramCounter { return f.list[f.next-1].pc }

// StackFrame is a frame of NewStackIterator.
type StackFrame struct {
	Function     api.Function
	Params       []uint64
	Results      []uint64
	PC           uint64
	SourceOffset uint64
}

// stackFrame is a StackFrame as InternalFunction.
type stackFrame struct{ StackFrame }

func (f stackFrame) Definition() api.FunctionDefinition      { return f.Function.Definition() }
func (f stackFrame) SourceOffsetForPC(ProgramCounter) uint64 { return f.SourceOffset }

// NewStackIterator walks frames that are given from the outermost one on, as tests of listeners need.
func NewStackIterator(stack ...StackFrame) StackIterator {
	f := new(frames)
	for i := len(stack) - 1; i >= 0; i-- {
		f.list = append(f.list, frame{stackFrame{stack[i]}, ProgramCounter(stack[i].PC)})
	}
	return f
}

// BenchmarkFunctionListener tells a listener n calls of the function of the first frame. It panics if there is none.
func BenchmarkFunctionListener(n int, module api.Module, stack []StackFrame, listener FunctionListener) {
	if len(stack) == 0 {
		panic("cannot benchmark function listener with an empty stack")
	}
	ctx, first := context.Background(), stack[0]
	def, walk := first.Function.Definition(), NewStackIterator(stack...).(*frames)
	for range n {
		walk.next = 0
		listener.Before(ctx, module, def, first.Params, walk)
		listener.After(ctx, module, def, first.Results)
	}
}
