package knownbugs

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/waot-project/waot/internal/proof/compare"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/spectest"
)

var dataSeed = flag.Uint64("data-seed", 0, "the first seed of TestDataSegments, if not 1")

// dataGen makes a random case of data segments. Its modules are: env, which owns what others import; m, which has the segments; and a
// second instance of m, since segments are a module's but dropped in an instance.
type dataGen struct {
	*rand.Rand
	// beyond says that the case has what wazero does otherwise: it keeps active segments, which memory.init can then copy from, and
	// fills memories before tables.
	beyond bool
	// foreign says that m's memory is env's, published that env's table has a function of m, which reads m's memory.
	foreign, published bool
	pages              uint32    // of the memory, at first
	at                 [2]uint64 // of the imported globals
	lens               []int     // of the segments
	active             []bool
	place              uint64 // near which segments are put
	b                  strings.Builder
}

func (g *dataGen) chance(percent int) bool { return g.IntN(100) < percent }

func (g *dataGen) printf(format string, args ...any) { fmt.Fprintf(&g.b, format, args...) }

// oneOf returns one of the numbers.
func oneOf[T any](g *dataGen, list ...T) T { return list[g.IntN(len(list))] }

// module returns the text of m.
func (g *dataGen) module() string {
	g.b.Reset()
	g.printf("(module (type $t (func (param i32) (result i32)))\n")
	g.printf(`(import "env" "g0" (global $g0 i32)) (import "env" "g1" (global $g1 i32)) (import "env" "zero" (global i32))` + "\n")
	if g.published {
		g.printf(`(import "env" "table" (table 4 funcref))` + "\n")
	}
	if g.foreign {
		g.printf(`(import "env" "memory" (memory %d 9))`+"\n", g.pages)
	} else {
		g.printf(`(memory (export "memory") %d 9)`+"\n", g.pages)
	}
	if g.published {
		g.printf("(elem (i32.const 1) $load)\n")
	}
	g.printf("(data (i32.const 0) \"%s\")\n", firstData)
	g.lens, g.active = []int{len(firstData)}, []bool{true}
	for range g.IntN(14) {
		g.segment()
	}
	n := len(g.lens)
	g.printf(`(func $load (export "load") (type $t) (i32.load8_u (local.get 0)))` + "\n")
	g.printf(`(func (export "grow") (type $t) (memory.grow (local.get 0)))` + "\n")
	for i := range n {
		g.functions(i)
	}
	if g.chance(25) {
		g.printf("(func $start")
		for range 1 + g.IntN(3) {
			g.printf(" %s", g.operation(g.IntN(n)))
		}
		g.printf(") (start $start)\n")
	}
	g.printf(")")
	return g.b.String()
}

// segment writes a segment: a passive one, or an active one near the one before, at an edge of a page or of the memory, or anywhere.
func (g *dataGen) segment() {
	n := oneOf(g, 0, 1, 1, 3, 8, 16, 17, 40, 100, 127, 128, 129, 300)
	if g.chance(1) {
		n = 70_000
	}
	g.lens = append(g.lens, n)
	passive := g.chance(25)
	g.active = append(g.active, !passive)
	g.printf("(data ")
	if !passive {
		g.offset(uint64(n))
	}
	g.printf("\"")
	zeroes := g.chance(20)
	for range n {
		b := byte(1 + g.IntN(255))
		if zeroes && g.chance(80) {
			b = 0
		}
		g.printf("\\%02x", b)
	}
	g.printf("\")\n")
}

// offset writes where an active segment of n bytes begins.
func (g *dataGen) offset(n uint64) {
	if g.chance(15) {
		g.printf("(global.get $g%d) ", g.IntN(2))
		return
	}
	size := uint64(g.pages) << 16
	at := uint64(0)
	switch {
	case g.chance(60): // beside or over the one before
		at = g.place + oneOf[uint64](g, 0, 0, 1, 2, 16, 127, 128, 129, 256) - oneOf[uint64](g, 0, 0, 0, 1, 16, 40, 200)
	case g.chance(30):
		at = size - n + oneOf[uint64](g, 0, 0, 0, 0, 0, 0, 0, 1)
	case g.chance(25):
		at = oneOf[uint64](g, 65536, 131072, 4096) - g.Uint64N(n+2)
	case g.chance(3): // beyond, or with its end just beyond
		at = oneOf(g, size-n+1, size, size+1, 1<<31, 1<<32-1, -n, 1-n)
	default:
		at = g.Uint64N(size)
	}
	if at+n > size+1 && !g.chance(6) {
		at = (size - n) * min(size/max(n, 1), 1) // most must fit
	}
	g.printf("(i32.const %d) ", int32(uint32(at)))
	g.place = uint64(uint32(at)) + n
}

// functions writes functions that copy and drop segment i, by arguments and by constants.
func (g *dataGen) functions(i int) {
	g.printf(`(func (export "init%d") (param i32 i32 i32) (memory.init %d (local.get 0) (local.get 1) (local.get 2)))`+"\n", i, i)
	g.printf(`(func (export "drop%d") (data.drop %d))`+"\n", i, i)
	g.printf(`(func (export "do%d") %s %s)`+"\n", i, g.operation(i), g.operation(g.IntN(len(g.lens))))
}

// operation returns code that does something constant with segment i.
func (g *dataGen) operation(i int) string {
	if g.chance(20) {
		return fmt.Sprintf("(data.drop %d)", i)
	}
	to, from, n := g.copied(i)
	return fmt.Sprintf("(memory.init %d (i32.const %d) (i32.const %d) (i32.const %d))", i, int32(to), int32(from), int32(n))
}

// copied returns arguments of memory.init for segment i: within it, up to its end, across it or beyond, to as many places.
func (g *dataGen) copied(i int) (to, from, n uint32) {
	length, size := uint32(g.lens[i]), g.pages<<16
	if g.active[i] && !g.beyond {
		length = 0
	}
	from = oneOf(g, 0, 0, g.Uint32N(length+1), length)
	n = oneOf(g, 0, length-from, length-from, g.Uint32N(length-from+1))
	if g.chance(12) {
		if g.active[i] && !g.beyond {
			from = oneOf(g, uint32(g.lens[i])+1, 1<<31, 1<<32-1) // it cannot be copied from there either way
		} else if g.chance(50) {
			from = oneOf(g, length+1, 1<<31, 1<<32-1)
		} else {
			n = oneOf(g, length-from+1, length+1, 1<<31, 1<<32-1, -from)
		}
	}
	to = oneOf(g, g.Uint32N(size), size-n, size-n, uint32(g.place)-g.Uint32N(200))
	if g.chance(8) {
		to = oneOf(g, size-n+1, size, size+1, 9<<16, 1<<31, 1<<32-1, -n)
	}
	return to, from, n
}

// dataCase returns the case of a seed.
func dataCase(seed uint64) (*compare.Case, *dataGen) {
	r := rand.New(rand.NewPCG(seed, 67))
	g := &dataGen{Rand: r}
	g.beyond, g.foreign = g.chance(30), g.chance(25)
	g.published = g.beyond && g.chance(50)
	g.pages = oneOf[uint32](g, 1, 1, 2, 3)
	for k := range g.at {
		g.at[k] = g.Uint64N(uint64(g.pages)<<16 - 400)
	}
	if g.chance(10) {
		g.at[0] = oneOf[uint64](g, 1<<16-1, 1<<16, 1<<32-1, 1<<31)
	}
	env := fmt.Sprintf(`(module (memory (export "memory") %d 9) (data (i32.const 0) "of the owner") (table (export "table") 4 9 funcref)
		(type $t (func (param i32) (result i32)))
		(global (export "g0") i32 (i32.const %d)) (global (export "g1") i32 (i32.const %d)) (global (export "zero") i32 (i32.const 0))
		(func (export "load") (param i32 i32) (result i32) (call_indirect (type $t) (local.get 1) (local.get 0))))`,
		g.pages, int32(uint32(g.at[0])), g.at[1])
	text := g.module()
	c := &compare.Case{Watch: true, Modules: []compare.Module{{Name: "env", Text: env}, {Name: "m", Text: text}, {Name: "again", Text: text}}}
	call := func(module int, name string, args ...uint64) {
		c.Calls = append(c.Calls, compare.Call{Module: module, Func: name, Args: args})
	}
	for range 4 + g.IntN(24) {
		module := oneOf(g, 1, 1, 2)
		if g.chance(10) {
			call(module, "grow", uint64(g.IntN(3)))
			call(0, "load", 1, uint64(uint32(g.place-1-g.Uint64N(10))))
			call(module, "load", uint64(uint32(g.place-1-g.Uint64N(10))))
			continue
		}
		i := g.IntN(len(g.lens))
		switch g.IntN(8) {
		case 0:
			call(module, fmt.Sprint("drop", i))
		case 1:
			call(module, fmt.Sprint("do", i))
		default:
			to, from, n := g.copied(i)
			call(module, fmt.Sprint("init", i), uint64(to), uint64(from), uint64(n))
		}
	}
	return c, g
}

// firstData is the content of the first segment, which is at 0.
const firstData = "the first one"

// oneByOne is an engine that sees another module: the place of the first segment is the value of a global. So the compiler cannot join
// segments, or leave them to the host.
type oneByOne struct{ spectest.Engine }

type oneByOneStore struct{ spectest.Store }

func (e oneByOne) Name() string { return e.Engine.Name() + ", segments one by one" }

func (e oneByOne) NewStore() (spectest.Store, error) {
	s, err := e.Engine.NewStore()
	return oneByOneStore{s}, err
}

func (s oneByOneStore) Compile(wasm []byte) (spectest.Module, error) {
	const content = "\x0B" + string(rune(len(firstData))) + firstData
	const zero = 2 // the number of that global
	return s.Store.Compile(bytes.Replace(wasm, []byte("\x41\x00"+content), append([]byte{0x23, zero}, content...), 1))
}

// TestDataSegments: random data segments, active and passive, that overlap, touch, lie apart or leave the memory, are copied from and
// dropped. Memories are compared after each step. An instantiation that traps has written what its memory's owner can see, and
// functions that it left in a table see the same.
func TestDataSegments(t *testing.T) {
	n := testenv.Cases[uint64](30, 60, 1500)
	if emulated() {
		n = max(n/10, 10)
	}
	instances, traps := 0, 0 // of m
	for seed := cmp.Or(*dataSeed, 1); n > 0; n, seed = n-1, seed+1 {
		c, g := dataCase(seed)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			h := here()
			if g.beyond {
				h = &compare.Harness{Judge: oneByOne{compare.Interpreters()[0]}, Engines: append(compare.Interpreters(), compare.Natives()...)}
			}
			if seed%3 == 0 { // a call takes long there
				h.Elsewhere = other.engines(t)
			}
			if h.Check(t, c).Events[1].Trapped() {
				traps++
			} else {
				instances++
			}
			if t.Failed() {
				t.Logf("%s\n%s\n%v", c.Modules[0].Text, c.Modules[1].Text, c.Calls)
			}
		})
	}
	t.Logf("%d modules trapped when they were instantiated, %d did not", traps, instances)
	if traps == 0 || instances == 0 {
		t.Error("one of both never happened")
	}
}
