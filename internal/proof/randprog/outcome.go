package randprog

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/proof/wasmgen"
	"github.com/waot-project/waot/spectest"
)

// Outcome is what a program did.
type Outcome struct {
	Failed  string // why it was not compiled or not run to its end; then no other field is set
	Start   Result // why instantiation failed
	Calls   []Result
	Host    []uint64 // arguments of the calls of the host
	Again   []Result // calls that the host made meanwhile
	Globals []uint64
	Memory  []byte
	// Fuel is how much is left, of engines that have some.
	Fuel int64
	// Counts are the values of Program.Counters; Diff does not compare them.
	Counts []uint64
	// Overflow is where the first call ended for want of stack; nil if none did.
	Overflow *Moment
}

// Moment is a moment of a run: how long the lists of an outcome are.
type Moment struct{ Calls, Host, Again int }

// noted returns the result of a call that has just ended, and remembers when the first stack overflow was.
func (o *Outcome) noted(r Result) Result {
	if r.Overflowed() && o.Overflow == nil {
		o.Overflow = &Moment{len(o.Calls), len(o.Host), len(o.Again)}
	}
	return r
}

// Result is what a call did.
type Result struct {
	Text  string          // export and results, or TrapPrefix and the words of a trap
	Place *spectest.Place // of the trap, if the engine says it
}

// Trapped reports whether the call ended with a trap, Overflowed with one for want of stack.
func (r *Result) Trapped() bool    { return strings.HasPrefix(r.Text, TrapPrefix) }
func (r *Result) Overflowed() bool { return r.Text == TrapPrefix+StackOverflow }

// Exhausted reports whether a call ended with a trap for want of room for objects.
func (o *Outcome) Exhausted() bool {
	return slices.ContainsFunc(o.Calls, func(r Result) bool { return r.Text == TrapPrefix+TrapWords(abi.TrapHeapExhausted) })
}

func resultDiff(got, want Result) string {
	switch {
	case got.Text != want.Text:
		return fmt.Sprintf("%q, want %q", got.Text, want.Text)
	case got.Place.Differs(want.Place):
		return fmt.Sprintf("%s: in %v, want %v", got.Text, got.Place, want.Place)
	}
	return ""
}

// common returns the parts of two outcomes that must be equal although one of them has more stack. How deep a recursion goes until there is
// none left is each engine's affair, and if it calls the host on its way, the host sees how deep that was. Then only what came
// before in both can be compared: earlier calls, and as many calls of the host as both made. Everything else depends on it. ok says
// that it is so.
func (o *Outcome) common(want *Outcome) (got, expected *Outcome, ok bool) {
	a, b := o.Overflow, want.Overflow
	if a == nil || b == nil || a.Calls != b.Calls || a.Host == b.Host {
		return nil, nil, false
	}
	until := Moment{a.Calls, min(a.Host, b.Host), min(a.Again, b.Again)}
	before := func(o *Outcome) *Outcome {
		return &Outcome{Failed: o.Failed, Start: o.Start, Calls: o.Calls[:until.Calls], Host: o.Host[:until.Host], Again: o.Again[:until.Again]}
	}
	return before(o), before(want), true
}

// Cut reports whether Diff compares only what came before both ran out of stack.
func (o *Outcome) Cut(want *Outcome) bool {
	_, _, ok := o.common(want)
	return ok
}

// Places returns how many places of traps are known of both outcomes: those that Diff has compared if it finds no difference.
func (o *Outcome) Places(want *Outcome) (n int) {
	if got, expected, ok := o.common(want); ok {
		o, want = got, expected
	}
	for _, l := range [][2][]Result{{{o.Start}, {want.Start}}, {o.Calls, want.Calls}, {o.Again, want.Again}} {
		for i := range min(len(l[0]), len(l[1])) {
			if l[0][i].Place != nil && l[1][i].Place != nil {
				n++
			}
		}
	}
	return n
}

// OnlyPlaces reports whether two outcomes differ, but only in places of traps.
func (o *Outcome) OnlyPlaces(want *Outcome) bool {
	return o.Diff(want) != "" && o.WithoutPlaces().Diff(want) == ""
}

// WithoutPlaces returns the outcome without the places of traps.
func (o *Outcome) WithoutPlaces() *Outcome {
	p := *o
	p.Start.Place = nil
	for _, l := range []*[]Result{&p.Calls, &p.Again} {
		*l = slices.Clone(*l)
		for i := range *l {
			(*l)[i].Place = nil
		}
	}
	return &p
}

// Diff describes the first difference from the expected outcome; it is empty if there is none. Places of traps are compared where
// both are known: the judge knows none, so the others are compared with a Reference.
func (o *Outcome) Diff(want *Outcome) string {
	if got, expected, ok := o.common(want); ok {
		o, want = got, expected
	}
	switch {
	case o.Failed != want.Failed:
		return fmt.Sprintf("it fails: %q, want %q", o.Failed, want.Failed)
	case len(o.Calls) != len(want.Calls):
		return fmt.Sprintf("%d calls, want %d", len(o.Calls), len(want.Calls))
	}
	if d := resultDiff(o.Start, want.Start); d != "" {
		return "instantiation: " + d
	}
	if d := differ("call", o.Calls, want.Calls, resultDiff); d != "" {
		return d
	}
	if d := differ("host call", o.Host, want.Host, numberDiff); d != "" {
		return d
	}
	if d := differ("host's own call", o.Again, want.Again, resultDiff); d != "" {
		return d
	}
	if d := differ("global", o.Globals, want.Globals, numberDiff); d != "" {
		return d
	}
	switch {
	case len(o.Memory) != len(want.Memory):
		return fmt.Sprintf("memory of %d bytes, want %d", len(o.Memory), len(want.Memory))
	case !bytes.Equal(o.Memory, want.Memory):
		i := 0
		for o.Memory[i] == want.Memory[i] {
			i++
		}
		return fmt.Sprintf("memory at %#x: %#x, want %#x", i, o.Memory[i], want.Memory[i])
	}
	return ""
}

// differ describes the first difference of two lists; it is empty if there is none. diff describes the difference of two
// elements.
func differ[T any](what string, got, want []T, diff func(got, want T) string) string {
	for i := range min(len(got), len(want)) {
		if d := diff(got[i], want[i]); d != "" {
			return fmt.Sprintf("%s %d: %s", what, i, d)
		}
	}
	if len(got) != len(want) {
		return fmt.Sprintf("%s: there are %d, want %d", what, len(got), len(want))
	}
	return ""
}

func numberDiff(got, want uint64) string {
	if got != want {
		return fmt.Sprintf("%#x, want %#x", got, want)
	}
	return ""
}

// guest is what the host can do with a program while the program calls it.
type guest struct {
	depth  int // of the host within itself
	call   func(*wasmgen.Call) Result
	memory func() []byte
	global func(name string, bits uint64)
}

// react is the host function: it records the call, and may change memory and globals, or call back into the code. It
// returns the result.
func (g *guest) react(p *Program, o *Outcome, x uint64) uint64 {
	o.Host = append(o.Host, x)
	a := x*0x9e3779b97f4a7c15 ^ x>>7
	if g.call == nil {
		return a
	}
	switch pick := a >> 20; a >> 60 {
	case 0, 1, 2:
		if m := g.memory(); len(m) > 0 {
			m[x%uint64(min(len(m), 512))] ^= byte(pick)
		}
	case 3, 4, 5:
		if n := uint64(len(p.Globals)); n > 0 {
			g.global(p.Globals[pick%n], a)
		}
	case 6, 7, 8:
		if n := uint64(len(p.Calls)); n > 0 && g.depth < 2 {
			g.depth++
			r := o.noted(g.call(&p.Calls[pick%n])) // appends, too
			o.Again = append(o.Again, r)
			g.depth--
		}
	}
	return a
}

// TrapWords are a trap's words, as far as wazero tells them apart.
func TrapWords(code abi.TrapCode) string {
	switch code {
	case abi.TrapTableOutOfBounds, abi.TrapUndefinedElement, abi.TrapUninitializedElement:
		return "invalid table access"
	case abi.TrapStackOverflow:
		return StackOverflow
	}
	return code.Message()
}

// A trap in Result.Text is TrapPrefix and its words; StackOverflow are those of one, Uncaught those of an exception that nothing has caught.
const (
	TrapPrefix    = "trap: "
	StackOverflow = "stack overflow"
	Uncaught      = "uncaught exception"
)

// callText returns the results of a call, which have these words, of references whether they are null; the upper half of 32-bit ones does not count for wazero, and for us
// must be zero.
func (p *Program) callText(c *wasmgen.Call, words []uint64, clean bool) string {
	s := c.Export
	for _, t := range []byte(c.Results) {
		switch r := words[0]; {
		case t == 'v':
			words = words[1:]
			s += fmt.Sprintf(" v:%016x%016x", words[0], r)
		case t == 'x': // what engines have for references differs
			s += fmt.Sprintf(" null:%v", r == 0)
		case clean && (t == 'i' || t == 'f'):
			s += fmt.Sprintf(" %c:%x", t, p.anyNaN(t, uint64(uint32(r))))
		default:
			s += fmt.Sprintf(" %c:%x", t, p.anyNaN(t, r))
		}
		words = words[1:]
	}
	return s
}

// anyNaN maps all NaNs to one, if the program may have any NaN.
func (p *Program) anyNaN(t byte, bits uint64) uint64 {
	switch {
	case !p.AnyNaN:
	case t == 'f' && bits&0x7FFFFFFF > 0x7F800000 && bits>>32 == 0:
		return 0x7FC00000
	case t == 'd' && bits&(1<<63-1) > 0x7FF<<52:
		return 0x7FF8 << 48
	}
	return bits
}
