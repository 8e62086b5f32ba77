package randprog

import (
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif/interp"
	"github.com/waot-project/waot/internal/abi"
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
