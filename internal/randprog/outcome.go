package randprog

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/wasmgen"
)

// Outcome is what a program did.
type Outcome struct {
	Failed  string // why it was not compiled or not run to its end; then there is nothing more
	Start   string // why instantiation failed
	Calls   []string
	Host    []uint64 // arguments of the calls of the host
	Again   []string // calls that the host made meanwhile
	Globals []uint64
	Memory  []byte
}

// Diff describes the first difference from what the judge says; it is empty if there is none.
func (o *Outcome) Diff(want *Outcome) string {
	switch {
	case o.Failed != want.Failed:
		return fmt.Sprintf("it fails: %q, want %q", o.Failed, want.Failed)
	case o.Start != want.Start:
		return fmt.Sprintf("instantiation: %q, want %q", o.Start, want.Start)
	case len(o.Calls) != len(want.Calls):
		return fmt.Sprintf("%d calls, want %d", len(o.Calls), len(want.Calls))
	}
	for i := range want.Calls {
		if o.Calls[i] != want.Calls[i] {
			return fmt.Sprintf("call %d: %s, want %s", i, o.Calls[i], want.Calls[i])
		}
	}
	switch {
	case !slices.Equal(o.Host, want.Host):
		return differ("host call", o.Host, want.Host, "%#x")
	case !slices.Equal(o.Again, want.Again):
		return differ("host's own call", o.Again, want.Again, "%q")
	case !slices.Equal(o.Globals, want.Globals):
		return differ("global", o.Globals, want.Globals, "%#x")
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

// differ describes the first difference of two lists.
func differ[T comparable](what string, got, want []T, verb string) string {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Sprintf("%s %d: "+verb+", want "+verb, what, i, got[i], want[i])
		}
	}
	return fmt.Sprintf("%s: there are %d, want %d", what, len(got), len(want))
}

// guest is what the host can do with a program while the program calls it.
type guest struct {
	depth  int // of the host within itself
	call   func(*wasmgen.Call) string
	memory func() []byte
	global func(name string, bits uint64)
}

// react is the host function: it notes the call, and may change memory and globals behind the back of the code, or
// call into it again. It gives the result.
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
			o.Again = append(o.Again, g.call(&p.Calls[pick%n]))
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

// A trap in Outcome.Calls is TrapPrefix and its words; StackOverflow are those of one.
const (
	TrapPrefix    = "trap: "
	StackOverflow = "stack overflow"
)

// callText is the results of a call; the upper half of 32-bit ones does not count for wazero, and for us must be
// zero.
func (p *Program) callText(c *wasmgen.Call, results []uint64, clean bool) string {
	s := c.Export
	for i, r := range results {
		if clean && (c.Results[i] == 'i' || c.Results[i] == 'f') {
			r = uint64(uint32(r))
		}
		s += fmt.Sprintf(" %c:%x", c.Results[i], p.anyNaN(c.Results[i], r))
	}
	return s
}

// anyNaN makes one NaN of all, if the program may have any.
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
