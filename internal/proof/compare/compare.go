package compare

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/spectest"
)

// Harness compares engines.
type Harness struct {
	// Judge says what a case must do, except for the places of traps.
	Judge spectest.Engine
	// JudgeTraps maps codes of traps, between which the judge makes no difference, to one of them.
	JudgeTraps map[abi.TrapCode]abi.TrapCode
	// Engines are compared with the judge until the first of them agrees with it; the others are compared with that one.
	// Their traps must then have equal codes, and equal places where both are known.
	Engines []spectest.Engine
	// Elsewhere are compared behind the engines, as those are.
	Elsewhere []*Elsewhere
	// Watch is Case.Watch for all cases.
	Watch bool
	// Dump, if not empty, is a folder for the modules of cases that differ.
	Dump string
}

// Check runs a case on all engines and reports where they differ. It returns the history of the first engine that agrees with
// the judge, or else the judge's.
func (x *Harness) Check(t testing.TB, c *Case) *History {
	t.Helper()
	watched := *c
	watched.Watch = c.Watch || x.Watch
	c, err := watched.assembled()
	if err != nil {
		t.Fatal(err)
	}
	want, err := x.judge(c)
	if err != nil {
		t.Fatalf("%s: %v", x.Judge.Name(), err)
	}
	reference, traps, places, differ := x.Judge.Name(), x.JudgeTraps, 0, false
	compare := func(name string, got *History, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		if d := c.diff(got, want, traps); d != "" {
			t.Errorf("%s against %s: %s", name, reference, d)
			differ = true
		} else if reference != x.Judge.Name() {
			places += got.places(want)
		} else { // From here on, compare with one of our engines, which know places and all kinds of traps.
			want, reference, traps = got, name, nil
		}
	}
	for _, e := range x.Engines {
		got, err := Play(e, c)
		compare(e.Name(), got, err)
	}
	for _, e := range x.Elsewhere {
		got, err := e.play(c)
		compare(e.name, got, err)
	}
	if differ {
		x.dump(t, c)
	}
	t.Logf("%d bytes of modules, %d calls, %d of them trap, %d places of traps compared", c.size(), len(c.Calls), want.traps(), places)
	return want
}

// judge returns what the judge does with a case. Places of its traps do not count: another compiler may let another
// instruction trap.
func (x *Harness) judge(c *Case) (*History, error) {
	h, err := Play(x.Judge, c)
	if err != nil {
		return nil, err
	}
	for i := range h.Events {
		h.Events[i].Place = nil
	}
	return h, nil
}

// places returns how many places of traps both histories know.
func (h *History) places(other *History) (n int) {
	for i := range h.Events {
		if h.Events[i].Place != nil && other.Events[i].Place != nil {
			n++
		}
	}
	return n
}

func (x *Harness) dump(t testing.TB, c *Case) {
	if x.Dump == "" {
		return
	}
	for i := range c.Modules {
		name := fmt.Sprintf("%s.%d.wasm", strings.NewReplacer("/", "_", " ", "_").Replace(t.Name()), i)
		if err := os.WriteFile(filepath.Join(x.Dump, name), c.Modules[i].Wasm, 0o666); err != nil {
			t.Error(err)
		}
	}
}

// diff describes the first differences; it is empty if there are none. Codes of traps that traps maps to the same one
// are equal.
func (c *Case) diff(got, want *History, traps map[abi.TrapCode]abi.TrapCode) string {
	var b bytes.Buffer
	n := 0
	for i := range want.Events {
		g, w := &got.Events[i], &want.Events[i]
		if c.equal(g, w, traps) {
			continue
		}
		what := fmt.Sprintf("module %d", i)
		if i >= len(c.Modules) {
			what = c.Calls[i-len(c.Modules)].String()
		}
		if n++; n <= 6 {
			fmt.Fprintf(&b, "\n%s: %v\n\twant %v", what, g, w)
		}
	}
	switch {
	case n > 0:
		return fmt.Sprintf("%d differences:%s", n, b.String())
	case !slices.Equal(got.Host, want.Host):
		return fmt.Sprintf("calls of the host: %#x, want %#x", got.Host, want.Host)
	case !c.equalValues(got.Globals, want.Globals):
		return fmt.Sprintf("globals afterwards: %s, want %s", valuesText(got.Globals), valuesText(want.Globals))
	case got.Memories != want.Memories:
		return fmt.Sprintf("memories afterwards: %08x, want %08x", got.Memories, want.Memories)
	}
	return ""
}

func (c *Case) equal(g, w *Event, traps map[abi.TrapCode]abi.TrapCode) bool {
	class := func(code abi.TrapCode) abi.TrapCode {
		if one, ok := traps[code]; ok {
			return one
		}
		return code
	}
	return class(g.Trap) == class(w.Trap) && g.NoInstance == w.NoInstance && !g.Place.Differs(w.Place) && g.Memories == w.Memories && c.equalValues(g.Values, w.Values)
}

// equalValues compares values and their types. References to functions are equal if both are null, or none. Vectors have equal
// bits, also where lanes are NaNs: the type does not say what the lanes are.
func (c *Case) equalValues(got, want []spectest.Value) bool {
	return slices.EqualFunc(got, want, func(g, w spectest.Value) bool {
		switch {
		case g.Type != w.Type || g.High != w.High:
			return false
		case g.Type == clif.FuncRef:
			return (g.Bits == 0) == (w.Bits == 0)
		case c.ExactNaNs:
			return g.Bits == w.Bits
		}
		return AnyNaN(g.Type, g.Bits) == AnyNaN(w.Type, w.Bits)
	})
}
