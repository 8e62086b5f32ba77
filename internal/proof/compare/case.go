package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/waot-project/waot/internal/proof/wat"
)

// Call is a call of an export of the case's module number Module, with raw bits: i32 and f32 zero-extended.
type Call struct {
	Module int
	Func   string
	Args   []uint64
}

func (k *Call) String() string { return fmt.Sprintf("%d.%s(%#x)", k.Module, k.Func, k.Args) }

// Module is a module of a case, as text or as bytes. Later modules import from it by its name. Imports from any other name
// are functions of the host. Their names say their types: "il_d" takes i32 and i64 and returns f64.
type Module struct {
	Name string
	Text string
	Wasm []byte // of Text if it is nil
}

// Case is a list of modules, which are instantiated in order, and a list of calls, which are then made in order. A module
// that traps when instantiated has no exports.
type Case struct {
	Modules []Module
	Calls   []Call
	// Watch compares the memories after each instantiation and call, not only at the end.
	Watch bool
	// ExactNaNs demands that NaNs have equal bits. Otherwise all NaNs are equal.
	ExactNaNs bool
}

// Single returns a case of one module.
func Single(text string, calls ...Call) *Case {
	return &Case{Modules: []Module{{Text: text}}, Calls: calls}
}

// assembled returns the case with bytes for all modules.
func (c *Case) assembled() (*Case, error) {
	out := *c
	out.Modules = slices.Clone(c.Modules)
	for i := range out.Modules {
		m := &out.Modules[i]
		if m.Wasm != nil {
			continue
		}
		var err error
		if m.Wasm, err = wat.Assemble(m.Text); err != nil {
			return nil, fmt.Errorf("module %d: %w", i, err)
		}
	}
	return &out, nil
}

// size returns the number of bytes of the modules.
func (c *Case) size() (n int) {
	for i := range c.Modules {
		n += len(c.Modules[i].Wasm)
	}
	return n
}

// Builder collects the text of a module with many functions, and calls of them.
type Builder struct {
	strings.Builder
	Calls []Call
	funcs int
}

// Add adds an exported function, and one call of it for each list of arguments. Letters stand for the types of parameters and
// results, as in package wat. For 32-bit parameters, only the lower halves of the arguments count. Add returns the
// function's name, f and a number.
func (b *Builder) Add(params, results, body string, args ...[]uint64) (name string) {
	name = fmt.Sprintf("f%d", b.funcs)
	b.AddNamed(name, params, results, body, args...)
	return name
}

// AddNamed is Add with a name of its own.
func (b *Builder) AddNamed(name, params, results, body string, args ...[]uint64) {
	b.funcs++
	fmt.Fprintf(b, "(func (export %q) %s %s %s)\n", name, wat.Types("param", params), wat.Types("result", results), body)
	for _, a := range args {
		a = slices.Clone(a)
		for i := range a {
			if params[i] == 'i' || params[i] == 'f' {
				a[i] = uint64(uint32(a[i]))
			}
		}
		b.Calls = append(b.Calls, Call{Func: name, Args: a})
	}
}

// NumFuncs returns the number of functions that were added.
func (b *Builder) NumFuncs() int { return b.funcs }

// Product returns all lists with an element of each set.
func Product(sets ...[]uint64) [][]uint64 {
	out := [][]uint64{nil}
	for _, s := range sets {
		var next [][]uint64
		for _, head := range out {
			for _, x := range s {
				next = append(next, append(slices.Clone(head), x))
			}
		}
		out = next
	}
	return out
}

// Each returns one list of one element for each value.
func Each(values ...uint64) [][]uint64 { return Product(values) }

// Corners returns numbers of a type (i, l, f or d) that operators treat differently, as bits. Floats are sorted by their
// bits.
func Corners(letter byte) (out []uint64) {
	switch letter {
	case 'i':
		return []uint64{0, 1, 2, 7, 31, 32, 33, 0x7F, 0x80, 0xFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0x80000001,
			0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFF80, 0x12345678}
	case 'l':
		return []uint64{0, 1, 2, 7, 31, 32, 63, 64, 0x80, 0x8000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x100000000, 0x123456789ABCDEF0,
			0x7FFFFFFFFFFFFFFF, 0x8000000000000000, 0x8000000000000001, 0xFFFFFFFF80000000, 0xFFFFFFFFFFFFFFFF}
	case 'f':
		out = []uint64{0x7F800001, 0x7FC00000, 0xFFC12345, 0x80000000, 1, 0x807FFFFF, 0x4EFFFFFF, 0x5EFFFFFF, 0xCF000001, 0xDF000001}
		for _, x := range cornerFloats {
			out = append(out, uint64(math.Float32bits(float32(x))))
		}
	case 'd':
		out = []uint64{0x7FF0000000000001, 0x7FF8000000000000, 0xFFF8123456789ABC, 1 << 63, 1, 0x800FFFFFFFFFFFFF,
			0x41DFFFFFFFC00000, 0x43DFFFFFFFFFFFFF, 0xC1E0000000200000, 0xC3E0000000000001, 0x36A0000000000000, 0x47EFFFFFF0000000}
		for _, x := range cornerFloats {
			out = append(out, math.Float64bits(x))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// cornerFloats are ordinary numbers, among them the limits of integers.
var cornerFloats = []float64{0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 0.1, math.Inf(1), math.Inf(-1), 2147483647, 2147483648, -2147483648,
	-2147483649, 4294967295, 4294967296, 8388609.5, 1 << 63, -1 << 63, 1 << 64, 1e30, -0.99}
