package isatest

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/interp"
	"github.com/waot-project/waot/clif/verify"
)

// suite is a module with calls whose outcomes on the interpreter and compiled are
// compared.
type suite struct {
	module
	calls []Call
	rng   *rand.Rand // of the rule in question
	// wholeMemory compares all of the memories, not only the first bytes.
	wholeMemory bool
	// ends, if not 0, thins out the calls with one corner value.
	ends int
}

func (s *suite) call(fn clif.FuncIndex, what string, args ...uint64) {
	s.calls = append(s.calls, Call{fn, args, what})
}

// isNaN reports whether x are the bits of a NaN of type t.
func isNaN(t clif.Type, x uint64) bool {
	switch t {
	case clif.F32:
		return x&0x7fffffff > 0x7f800000
	case clif.F64:
		return x&(1<<63-1) > 0x7ff<<52
	}
	return false
}

// run compares all calls on all processor levels.
func (s *suite) run(t *testing.T) {
	t.Helper()
	s.on.need(t)
	for _, f := range s.Defined {
		if s.noVerify {
			break
		}
		if err := verify.Func(f); err != nil {
			t.Fatal(err)
		}
	}
	s.each(t, s.compare)
}

// compare compares all calls.
func (s *suite) compare(t *testing.T, level string, in Instance) {
	inst, err := interp.NewStore(interp.Options{}).Instantiate(&s.Module.Module,
		func(i clif.FuncIndex) (*clif.Func, error) { return s.Defined[i], nil }, nil)
	if err != nil {
		t.Fatal(err)
	}
	bytes, every := 256, 1
	if s.wholeMemory { // what is wrong stays wrong
		bytes, every = 0, s.on.WholeEvery
	}
	bad, n := 0, 0
	same := true // memories, so far
	look := func(n int) bool { return n%every == 0 || n == len(s.calls)-1 }
	in.Calls(s.calls, bytes, look, func(k int, o *Outcome) bool {
		n++
		c := &s.calls[k]
		results, trap := s.expect(t, inst, c)
		if trap == nil && len(o.Results) == len(results) {
			word := 0
			for _, ty := range s.FuncSig(c.Fn).Results {
				if isNaN(ty, o.Results[word]) && isNaN(ty, results[word]) {
					o.Results[word] = results[word]
				}
				word += clif.Words([]clif.Type{ty})
			}
		}
		memories := "" // what is wrong with them
		if look(k) && len(o.Memories) != len(s.Memories) {
			memories = " and memories are missing"
		}
		for m, v := range o.Memories {
			if same && !v.Equal(inst.Memory(clif.MemoryIndex(m)).Data) {
				memories += " and memory differs"
				same = false // from then on
			}
		}
		if memories != "" || !o.is(results, trap) {
			if bad++; bad <= 10 {
				t.Errorf("%s: %s%#x = %s%s, want %s\n%s\n%v", level, c.What, c.Args, Describe(o.Results, o.Trap, o.Err), memories,
					Describe(results, trap, nil), in.Code(c.Fn), s.Defined[c.Fn])
			}
		}
		return true
	})
	if bad > 10 {
		t.Errorf("%s: %d calls of %d", level, bad, len(s.calls))
	}
	if n != len(s.calls) {
		t.Errorf("%s: %d calls of %d are answered", level, n, len(s.calls))
	}
}

// is reports whether the outcome has these results, or the trap if it is not nil.
func (o *Outcome) is(results []uint64, trap *Trap) bool {
	switch {
	case o.Err != nil:
		return false
	case trap == nil || o.Trap == nil:
		return trap == o.Trap && slices.Equal(o.Results, results)
	}
	return o.Trap.Code == trap.Code
}

// expect returns the outcome of a call on the interpreter.
func (s *suite) expect(t *testing.T, inst *interp.Instance, c *Call) ([]uint64, *Trap) {
	t.Helper()
	results, err := inst.Func(c.Fn).Call(append([]uint64(nil), c.Args...))
	var trap *interp.Trap
	if errors.As(err, &trap) {
		return nil, &Trap{Code: trap.Code}
	}
	if err != nil {
		t.Fatal(err)
	}
	return results, nil
}
