package randprog

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif/interp"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/proof/wasmgen"
	"github.com/waot-project/waot/internal/proof/wat"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/spectest/interpengine"
)

// TestPlaces: a trap at another place is a difference, wherever it is in an outcome, and one whose place is not known is none.
func TestPlaces(t *testing.T) {
	at := func(fn, offset uint32) Result {
		return Result{TrapPrefix + "unreachable", &spectest.Place{Func: fn, Offset: offset}}
	}
	unknown := Result{Text: TrapPrefix + "unreachable"}
	for _, c := range []struct {
		got, want Result
		places    int
		diff      string
	}{
		{at(3, 70), at(3, 70), 1, ""},
		{at(3, 71), at(3, 70), 1, "trap: unreachable: in function 3 at offset 0x47, want function 3 at offset 0x46"},
		{at(4, 70), at(3, 70), 1, "trap: unreachable: in function 4 at offset 0x46, want function 3 at offset 0x46"},
		{at(3, 0), at(3, 70), 1, "trap: unreachable: in function 3 at offset 0x0, want function 3 at offset 0x46"}, // an offset is missing
		{at(3, 70), unknown, 0, ""},
		{unknown, at(3, 70), 0, ""},
		{unknown, Result{Text: "f"}, 0, `"trap: unreachable", want "f"`},
	} {
		for where, put := range map[string]func(o *Outcome, r Result){
			"instantiation":     func(o *Outcome, r Result) { o.Start = r },
			"call 1":            func(o *Outcome, r Result) { o.Calls = []Result{{Text: "f"}, r} },
			"host's own call 0": func(o *Outcome, r Result) { o.Again = []Result{r} },
		} {
			var got, want Outcome
			put(&got, c.got)
			put(&want, c.want)
			diff := c.diff
			if diff != "" {
				diff = where + ": " + diff
			}
			if d := got.Diff(&want); d != diff || got.Places(&want) != c.places {
				t.Errorf("%s of %d places, want %s of %d", d, got.Places(&want), diff, c.places)
			}
			if only := c.diff != "" && c.got.Text == c.want.Text; got.OnlyPlaces(&want) != only {
				t.Errorf("%s: only places: %t", diff, !only)
			}
		}
	}
}

// TestDepth: where both outcomes have a stack overflow in the same call and host calls show how deep it was, what came before is compared,
// and nothing else.
func TestDepth(t *testing.T) {
	overflow := Result{Text: TrapPrefix + StackOverflow}
	outcome := func(n int) *Outcome { // of a recursion of depth n
		o := &Outcome{}
		o.Calls = append(o.Calls, o.noted(Result{Text: "f"}))
		for i := range n {
			o.Host = append(o.Host, uint64(i))
		}
		for range n / 4 {
			o.Again = append(o.Again, o.noted(Result{Text: "g"}))
		}
		o.Calls = append(o.Calls, o.noted(overflow))
		o.Host = append(o.Host, uint64(100*n))
		o.Calls = append(o.Calls, Result{Text: fmt.Sprint("f", n)})
		o.Memory = []byte{byte(n)}
		return o
	}
	want := outcome(8)
	for _, c := range []struct {
		what   string
		got    *Outcome
		change func(o *Outcome)
		diff   string
	}{
		{"deeper", outcome(20), func(*Outcome) {}, ""},
		{"less deep", outcome(5), func(*Outcome) {}, ""},
		{"an earlier call", outcome(20), func(o *Outcome) { o.Calls[0].Text = "h" }, `call 0: "h", want "f"`},
		{"an earlier call of the host", outcome(20), func(o *Outcome) { o.Host[7] = 77 }, "host call 7: 0x4d, want 0x7"},
		{"a call by the host", outcome(20), func(o *Outcome) { o.Again[1].Text = "h" }, `host's own call 1: "h", want "g"`},
		{"no overflow", outcome(20), func(o *Outcome) { o.Overflow, o.Calls[1].Text = nil, "f" }, `call 1: "f", want "trap: stack overflow"`},
		{"an overflow in another call", outcome(20), func(o *Outcome) { o.Overflow.Calls, o.Calls[1].Text = 2, "f" }, `call 1: "f", want "trap: stack overflow"`},
		{"a failure", outcome(20), func(o *Outcome) { o.Failed = "no memory" }, `it fails: "no memory", want ""`},
		{"the same depth", outcome(8), func(o *Outcome) { o.Memory[0] = 9 }, "memory at 0x0: 0x9, want 0x8"},
	} {
		c.change(c.got)
		if d := c.got.Diff(want); d != c.diff {
			t.Errorf("%s: %q, want %q", c.what, d, c.diff)
		}
	}
}

// TestDeepRecursion: a program that calls the host at each level of a recursion without end is the same to engines whose stacks are not.
func TestDeepRecursion(t *testing.T) {
	const note = 9 // at which the host does nothing else
	text := fmt.Sprintf(`(module (import "env" "note" (func $note (param i64) (result i64)))
		(func $f (export "f") (drop (call $note (i64.const %d))) (call $f)) (func (export "g") (drop (call $note (i64.const %[1]d)))))`, note)
	wasm, err := wat.Assemble(text)
	if err != nil {
		t.Fatal(err)
	}
	p := &Program{Wasm: wasm, Env: HostEnv(false), Calls: []wasmgen.Call{{Export: "g"}, {Export: "f"}, {Export: "g"}}}
	judge, _, err := Judge(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	got := Run(&interpengine.Engine{Options: interp.Options{MaxDepth: 300}}, p)
	if d := got.Diff(judge); d != "" || !got.Cut(judge) || got.Overflow.Host == judge.Overflow.Host || judge.Overflow.Calls != 1 {
		t.Errorf("%s; %+v and %+v", d, got.Overflow, judge.Overflow)
	}
	if got.Host[100]++; got.Diff(judge) == "" {
		t.Error("another argument is no difference")
	}
}

// TestReference: the CLIF interpreter agrees with the judge and adds the places of all traps, but of those for want of stack.
func TestReference(t *testing.T) {
	traps, deep := 0, 0
	for seed := range uint64(30) {
		p := Generate(seed)
		judge, _, err := Judge(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		r := Reference(judge, Run(&interpengine.Engine{}, p))
		for _, c := range slices.Concat(r.Calls, r.Again) {
			if known := c.Place != nil; known != (c.Trapped() && !c.Overflowed()) || known && c.Place.Offset == 0 {
				t.Errorf("seed %d: %q: %v", seed, c.Text, c.Place)
			}
			if c.Trapped() {
				traps++
			}
		}
		shallow := Run(&interpengine.Engine{Options: interp.Options{MaxDepth: 1}}, p)
		for _, c := range shallow.Calls {
			if c.Overflowed() {
				deep++
				if c.Place != nil {
					t.Errorf("seed %d: a place of a stack overflow: %v", seed, c.Place)
				}
			}
		}
		if other := (&Outcome{Failed: "it does not end"}); Reference(judge, other) != judge {
			t.Error("an interpreter that differs is no reference")
		}
	}
	if traps == 0 || deep == 0 {
		t.Errorf("%d traps, %d stack overflows", traps, deep)
	}
	if words := TrapWords(abi.TrapStackOverflow); !strings.HasSuffix(words, StackOverflow) {
		t.Error(words)
	}
}
