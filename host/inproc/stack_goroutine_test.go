//go:build linux && (amd64 || arm64)

package inproc

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/waot-project/waot/internal/abi"
)

// TestDeepArguments: what nested calls keep beside stacks is bounded by the same limit, and given back.
func TestDeepArguments(t *testing.T) {
	s := newStore(t)
	const params = 500
	var f *Func
	levels, words := 0, 0
	f = host(t, s, fn(types(params, xref), nil), func(_ *Caller, args, _ []uint64) error {
		levels++
		words = max(words, len(s.scratch))
		for range 20 {
			args[0] = s.ExternRef(levels)
		}
		return f.Call(args, nil)
	})
	var trap *Trap
	if err := f.Call(make([]uint64, params), nil); !errors.As(err, &trap) || trap.Code != abi.TrapStackOverflow {
		t.Fatal(err)
	}
	if levels < 1000 || levels > defaultHostStack/8/params || words > 3*defaultHostStack/8 {
		t.Errorf("%d levels, %d words", levels, words)
	}
	if len(s.activations) > 2*keptDepth || len(s.scratch) > 2*keptDepth*params || cap(s.locals) > keptScratch {
		t.Errorf("kept: %d activations, %d words, %d locals", len(s.activations), len(s.scratch), cap(s.locals))
	}
	if err := s.CollectRefs(); err != nil || s.NumRefs() != 0 {
		t.Error(s.NumRefs(), err)
	}
}

// TestDeepScratch: arguments of calls that go on stay when most of scratch is given back and used again.
func TestDeepScratch(t *testing.T) {
	s := newStore(t)
	words := func(n uint64) []uint64 { return slices.Repeat([]uint64{n}, 500) }
	var f *Func
	calls := 0
	f = host(t, s, fn(types(500, i64), nil), func(_ *Caller, args, _ []uint64) error {
		calls++
		n := args[0]
		if n > 0 {
			for _, next := range []uint64{n - 1, 0} {
				if err := f.Call(words(next), nil); err != nil {
					return err
				}
			}
		}
		if !slices.Equal(args, words(n)) {
			t.Errorf("arguments of level %d: %d", n, args)
		}
		return nil
	})
	if err := f.Call(words(300), nil); err != nil || calls != 601 {
		t.Error(calls, err)
	}
}

func TestGoStackWithin(t *testing.T) {
	for limit, want := range map[int]uintptr{
		-1: 0, 0: 0, 1: 0, 2: 1, 6 << 20: 2 << 20, 8 << 20: 4 << 20, 250_000_000: 64 << 20,
		1_000_000_000: 256 << 20, 1 << 30: 256 << 20, math.MaxInt: 256 << 20,
	} {
		if got := goStackWithin(limit); got != want {
			t.Errorf("%d: %d, not %d", limit, got, want)
		}
	}
}

// TestMeasure measures stacks of all depths, some of which move meanwhile.
func TestMeasure(t *testing.T) {
	var at func(depth int) error
	at = func(depth int) error {
		if depth == 0 {
			return new(processState).measureGoStack()
		}
		return at(depth - 1)
	}
	for depth := range 1000 {
		done := make(chan error)
		go func() { done <- at(depth) }()
		if err := <-done; err != nil {
			t.Errorf("at depth %d: %v", depth, err)
		}
	}
}
