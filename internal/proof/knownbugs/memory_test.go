package knownbugs

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/proof/compare"
	"github.com/waot-project/waot/internal/proof/wat"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/spectest/interpengine"
)

// TestFreshMemory makes instances again and again, of modules with and without data, after
// others whose memories were grown and filled have gone, in the same store and in new ones: each
// memory holds zeros and its own data only, and ends where it should.
func TestFreshMemory(t *testing.T) {
	const with = `(module (memory (export "memory") 2 40) (data (i32.const 70000) "own data") (func (export "f") (param i32) (result i32) (i32.load8_u (local.get 0))))`
	const without = `(module (memory (export "memory") 1 40) (func (export "f") (param i32) (result i32) (i32.load8_u (local.get 0))))`
	rounds := 12
	if cases.Sample() {
		rounds = 4
	}
	var s *inproc.Store
	for round := range rounds {
		if round%3 == 0 {
			if s != nil {
				s.Close()
			}
			var err error
			if s, err = inproc.NewStore(inproc.Config{}); err != nil {
				t.Fatal(err)
			}
		}
		for _, text := range []string{with, without, with} {
			inst := instantiate(t, s, text, nil)
			mem, err := inst.Memory("memory")
			if err != nil {
				t.Fatal(err)
			}
			f, err := inst.Func("f")
			if err != nil {
				t.Fatal(err)
			}
			want := make([]byte, 1<<16)
			if text == with {
				want = make([]byte, 2<<16)
				copy(want[70000:], "own data")
			}
			if !bytes.Equal(mem.Bytes(), want) {
				t.Fatalf("round %d: a new memory of %d bytes is not what it should be", round, len(mem.Bytes()))
			}
			for _, at := range []int{len(want), len(want) + 4096, len(want) + 1<<16, 40<<16 - 1, 40 << 16, 1<<32 - 1} {
				out := []uint64{uint64(at)}
				if trap := trapOf(wasmError(f.Call(out, out))); trap != "out of bounds memory access" {
					t.Fatalf("round %d: load at %#x of a memory of %#x bytes: %d, %q", round, at, len(want), out[0], trap)
				}
			}
			// Grown memory is zero, too. Leave everything dirty.
			if mem.Grow(30) == ^uint64(0) {
				t.Fatal("memory does not grow")
			}
			b := mem.Bytes()
			if bytes.ContainsFunc(b[len(want):], func(r rune) bool { return r != 0 }) {
				t.Fatalf("round %d: grown memory is not zero", round)
			}
			for i := range b {
				b[i] = 0xAA
			}
		}
		runtime.GC()
	}
	s.Close()
}

// TestLargeBulk runs bulk operations whose operands, as parameters and as constants, are
// above 2 GiB, on a memory of 3 GiB: they trap if a sum, computed without wrapping, is
// beyond the end, and write where they should if not.
func TestLargeBulk(t *testing.T) {
	const size = 3 << 30
	var b compare.Builder
	type op struct {
		name         string
		dst, src, n  uint64
		constant, in bool
	}
	var ops []op
	for _, name := range []string{"memory.fill", "memory.copy", "memory.init 0"} {
		b.AddNamed(name, "iii", "", fmt.Sprintf("(%s (local.get 0) (local.get 1) (local.get 2))", name))
		for _, p := range compare.Product([]uint64{0, 1, 0x7FFFFFFF, 0x80000000, 0xBFFFFFF7, 0xBFFFFFFF, 0xC0000000, 0xC0000001, 0xFFFFFFFF}, []uint64{3, 0x80000005, 0xBFFFFFF8, 0xBFFFFFFF, 0xFFFFFFFF},
			[]uint64{0, 1, 8, 9, 0x40000001, 0x80000000, 0xC0000001, 0xFFFFFFFF}) {
			o := op{name: name, dst: p[0], src: p[1], n: p[2], in: p[0]+p[2] <= size}
			switch name {
			case "memory.copy":
				o.in = o.in && p[1]+p[2] <= size
			case "memory.init 0":
				o.in = o.in && p[1]+p[2] <= 16
			}
			if o.in && o.n > 100 {
				continue // would touch gigabytes
			}
			ops = append(ops, o)
			o.constant = true
			ops = append(ops, o)
			b.AddNamed(fmt.Sprintf("%s %#x", name, p), "", "", fmt.Sprintf("(%s %s %s %s)", name, wat.Const('i', p[0]), wat.Const('i', p[1]), wat.Const('i', p[2])))
		}
	}
	wasm := assemble(t, fmt.Sprintf(`(module (memory (export "memory") %d) (data "0123456789abcdef") %s)`, size>>16, b.String()))
	for _, e := range compare.Natives() {
		inst := start(t, e, wasm)
		mem := memoryOf(t, inst)
		traps := 0
		for _, o := range ops {
			for _, at := range []uint64{0x80000005, 0xBFFFFFF8} {
				copy(mem[at:], "ABCDEFGH")
			}
			near := func(at uint64) []byte { return mem[min(at, size)-min(at, size, 16) : min(at+24, size)] }
			before := bytes.Clone(near(o.dst))
			want := bytes.Clone(before)
			if o.in {
				for i := range o.n {
					v := byte(o.src)
					switch o.name {
					case "memory.copy":
						v = mem[o.src+i]
					case "memory.init 0":
						v = "0123456789abcdef"[o.src+i]
					}
					want[min(o.dst, 16)+i] = v
				}
			}
			args, fn := []uint64{o.dst, o.src, o.n}, o.name
			if o.constant {
				args, fn = nil, fmt.Sprintf("%s %#x", o.name, []uint64{o.dst, o.src, o.n})
			}
			_, err := inst.Invoke(fn, args)
			if text := trapOf(err); (text == "") != o.in || text != "" && text != "out of bounds memory access" {
				t.Fatalf("%s: %+v: %q", e.Name(), o, text)
			}
			if !bytes.Equal(near(o.dst), want) {
				t.Fatalf("%s: %+v: % x, want % x", e.Name(), o, near(o.dst), want)
			}
			if !o.in {
				traps++
			}
			clear(near(o.dst))
		}
		t.Logf("%s: %d operations, %d of them trap", e.Name(), len(ops), traps)
	}
}

// TestMemorySequences runs random straight and branching sequences of loads, stores, bulk
// operations, calls and growth that overlap in a few bytes of two regions: what a mid-end
// remembers of memory is what is there.
func TestMemorySequences(t *testing.T) {
	for seed := range uint64(12) {
		if !cases.Has(int(seed), 3) {
			continue
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			g := &sequence{r: rand.New(rand.NewPCG(seed, 84))}
			g.loads, g.stores = wat.Accesses()
			var b compare.Builder
			for range 25 {
				b.Add("iil", "l", "(local $h i64)"+g.text(2, 4+g.r.IntN(25))+"(local.get $h)",
					compare.Product([]uint64{0, 2, 8, 65530}, []uint64{0, 4, 65536}, []uint64{0x0123456789ABCDEF})...)
			}
			c := compare.Single(`(module (memory (export "memory") 1 2)`+wat.Filled(0, 64)+`
				(global $g (export "g") (mut i64) (i64.const 1)) (global $k (mut i32) (i32.const 6))
				(func $change `+wat.NotInlined+`(i64.store offset=3 (global.get $k) (global.get $g)) (global.set $g (i64.add (global.get $g) (i64.const 3))))
				`+b.String()+")", b.Calls...)
			c.Watch = !cases.Sample()
			check(t, c)
		})
	}
}

// sequence makes random text that uses memory: locals 0 and 1 are addresses, 2 a number.
type sequence struct {
	r             *rand.Rand
	loads, stores []wat.Operator
}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

func (g *sequence) address() string {
	return pick(g.r, "(i32.const 8)", "(local.get 0)", "(local.get 1)", "(i32.add (local.get 0) (i32.const 4))", "(i32.and (local.get 1) (i32.const 15))", "(global.get $k)")
}

func (g *sequence) text(depth, n int) string {
	var s strings.Builder
	for range n {
		l, st := pick(g.r, g.loads...), pick(g.r, g.stores...)
		switch g.r.IntN(13) {
		case 0, 1, 2, 3:
			e := wat.ToI64(l.Result[0], fmt.Sprintf("(%s offset=%d %s)", l.Name, g.r.IntN(9), g.address()))
			fmt.Fprintf(&s, "(local.set $h (i64.xor (i64.rotl (local.get $h) (i64.const 9)) %s))", e)
		case 4, 5, 6, 7, 8:
			v := pick(g.r, "(local.get 2)", "(local.get $h)", "(i64.const 0x1122334455667788)", "(i64.const 0)", "(i64.load (i32.const 8))", "(i64.load16_s (local.get 0))")
			v = map[byte]string{'i': "(i32.wrap_i64 " + v + ")", 'l': v, 'f': "(f32.reinterpret_i32 (i32.wrap_i64 " + v + "))", 'd': "(f64.reinterpret_i64 " + v + ")"}[st.Params[1]]
			fmt.Fprintf(&s, "(%s offset=%d %s %s)", st.Name, g.r.IntN(9), g.address(), v)
		case 9:
			s.WriteString(pick(g.r, "(call $change)", "(memory.fill (local.get 0) (i32.const 3) (i32.const 5))", "(memory.copy (i32.const 10) (local.get 0) (i32.const 7))", "(drop (memory.grow (i32.const 1)))",
				"(global.set $k (i32.and (local.get 0) (i32.const 31)))"))
		case 10, 11:
			if depth > 0 {
				fmt.Fprintf(&s, "(if (i64.eqz (i64.and (local.get $h) (i64.const %d))) (then %s) (else %s))", 1<<g.r.IntN(3), g.text(depth-1, n/3), g.text(depth-1, n/3))
			}
		case 12:
			if depth > 0 {
				fmt.Fprintf(&s, "(loop %s (local.set 1 (i32.add (local.get 1) (i32.const 9))) (br_if 0 (i32.and (local.get 1) (i32.const 4))))", g.text(0, n/3))
			}
		}
	}
	return s.String()
}

// TestHugeDeclarations declares memories and tables of extreme sizes: an error or an instance,
// in little memory, never a panic.
func TestHugeDeclarations(t *testing.T) {
	for _, c := range []struct {
		decl string
		ok   bool // valid; instantiation may fail
	}{
		{"(memory 0)", true}, {"(memory 65536)", true}, {"(memory 65537)", false}, {"(memory 0 65537)", false}, {"(memory 0x80000000)", false}, {"(memory 0xFFFFFFFF)", false}, {"(memory 0 0xFFFFFFFF)", false},
		{"(memory 2 1)", false}, {"(table 0 funcref)", true}, {"(table 0x80000000 funcref)", true}, {"(table 0xFFFFFFFF funcref)", true}, {"(table 0xFFFFFFFF externref)", true},
		{"(table 0x20000000 funcref)", true}, {"(table 0x10000000 0xFFFFFFFF externref)", true}, {"(table 0 0xFFFFFFFF funcref)", true}, {"(table 2 1 funcref)", false},
	} {
		for _, use := range []string{"", " (func (export \"f\") (param i32) (result i32) (memory.grow (local.get 0)))", " (func (export \"f\") (param i32) (result i32) (table.grow (ref.null func) (local.get 0)))"} {
			text := "(module " + c.decl + use + ")"
			kind := c.decl[1:4]
			if use != "" && !strings.Contains(use, kind) || strings.Contains(c.decl, "externref") && use != "" {
				continue
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			wasm := assemble(t, text)
			_, err := compile.Module(wasm, compile.Options{OptLevel: opt.O1})
			if (err == nil) != c.ok {
				t.Errorf("%s: %v", text, err)
				continue
			}
			if err == nil {
				s, err := inproc.NewStore(inproc.Config{})
				if err != nil {
					t.Fatal(err)
				}
				inst, err := tryInstantiate(s, text, nil)
				if err == nil && use != "" {
					f, err := inst.Func("f")
					if err != nil {
						t.Fatal(err)
					}
					for _, by := range []uint64{0x7FFFFFFF, 0x80000000, 0xFFFFFFFF} {
						out := []uint64{by}
						if err := f.Call(out, out); err != nil || out[0] != 0xFFFFFFFF {
							t.Errorf("%s: growth by %#x gives %#x, %v", text, by, out[0], err)
						}
					}
				}
				s.Close()
			}
			runtime.ReadMemStats(&after)
			if d := after.TotalAlloc - before.TotalAlloc; d > 64<<20 {
				t.Errorf("%s: %d MiB allocated", text, d>>20)
			}
		}
	}
}

// nextTo are unsigned comparisons, with the ones that differ where both sides are equal.
var nextTo = map[clif.IntCC]clif.IntCC{clif.Ugt: clif.Uge, clif.Uge: clif.Ugt, clif.Ult: clif.Ule, clif.Ule: clif.Ult}

// boundsChecks are the comparisons that decide whether a trapif traps.
func boundsChecks(f *clif.Func) (out []clif.Inst) {
	for i := range f.Insts {
		if f.Insts[i].Op != clif.OpTrapIf {
			continue
		}
		d := f.DefInst(f.Resolve(clif.Value(f.Insts[i].Args[0])))
		if d == clif.NoInst || f.Insts[d].Op != clif.OpIcmp {
			continue
		}
		if _, ok := nextTo[clif.IntCC(f.Insts[d].Cond)]; ok {
			out = append(out, d)
		}
	}
	return out
}

// The kinds of errors to plant in a comparison.
const (
	wrongByOne = iota
	neverTraps
	numErrors
)

func plant(f *clif.Func, i clif.Inst, kind int) {
	d := &f.Insts[i]
	switch kind {
	case wrongByOne:
		d.Cond = uint8(nextTo[clif.IntCC(d.Cond)])
	case neverTraps:
		d.Args[1], d.Cond = d.Args[0], uint8(clif.Ugt)
	}
}

// TestBoundsMutants plants an error in each comparison that translation emits for the bounds
// of tables, segments and bulk operations, one at a time, and demands that the edges tried here
// tell: wrong by one, and never true.
func TestBoundsMutants(t *testing.T) {
	text := `(module (memory (export "memory") 1 1) (table $t 7 7 funcref) (table $u 5 9 externref) (elem $e func $f $f $f) (data $d "abcdefghi")
		(func $f (export "f"))
		(func (export "table.get") (param i32) (result i32) (ref.is_null (table.get $t (local.get 0))))
		(func (export "table.set") (param i32) (table.set $t (local.get 0) (ref.func $f)))
		(func (export "call_indirect") (param i32) (call_indirect $t (local.get 0)))`
	length := map[string][2]uint64{} // of destination and source
	for _, o := range []struct {
		name     string
		dst, src uint64
	}{{"memory.fill", 65536, 1 << 40}, {"memory.copy", 65536, 65536}, {"memory.init $d", 65536, 9}, {"table.init $t $e", 7, 3}, {"table.copy $t $t", 7, 7}, {"table.copy $u $u", 5, 5}, {"table.fill $t", 7, 1 << 40}} {
		second := "(local.get 1)"
		if strings.HasPrefix(o.name, "table.fill") {
			second = "(ref.func $f)"
		}
		text += fmt.Sprintf("(func (export %q) (param i32 i32 i32) (%s (local.get 0) %s (local.get 2)))\n", o.name, o.name, second)
		length[o.name] = [2]uint64{o.dst, o.src}
	}
	text += ")"
	wasm := assemble(t, text)
	outside := []abi.TrapCode{abi.TrapMemoryOutOfBounds, abi.TrapTableOutOfBounds, abi.TrapUndefinedElement, abi.TrapUninitializedElement}
	// failures tries all edges and counts results that arithmetic does not expect.
	failures := func(e spectest.Engine) int {
		s, err := e.NewStore()
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		mod, err := s.Compile(wasm)
		if err != nil {
			t.Fatal(err)
		}
		inst, err := s.Instantiate(mod, nil)
		if err != nil {
			return 1
		}
		wrong := 0
		try := func(name string, fine bool, args ...uint64) {
			_, err := inst.Invoke(name, args)
			var trap spectest.Trapper
			if (err == nil) != fine || err != nil && !(errors.As(err, &trap) && slices.Contains(outside, trap.TrapCode())) {
				wrong++
			}
		}
		for at := range uint64(10) {
			try("table.get", at < 7, at)
			try("table.set", at < 7, at)
			try("call_indirect", at < 7, at)
		}
		for name, l := range length {
			for _, n := range []uint64{0, 1, 2, l[0] - 1, l[0], l[0] + 1, l[1]&0xFFFFFFFF - 1, l[1] & 0xFFFFFFFF, 0xFFFFFFFF} {
				for _, dst := range []uint64{0, 1, l[0] - n, l[0] - n + 1, l[0], l[0] + 1, 0xFFFFFFFF} {
					for _, src := range []uint64{0, 1, l[1] - n, l[1] - n + 1, l[1], l[1] + 1, 0xFFFFFFFF} {
						n, dst, src := n&0xFFFFFFFF, dst&0xFFFFFFFF, src&0xFFFFFFFF
						try(name, dst+n <= l[0] && src+n <= l[1], dst, src, n)
					}
				}
			}
		}
		return wrong
	}
	if n := failures(&interpengine.Engine{}); n != 0 {
		t.Fatalf("%d failures without an error", n)
	}
	planted, survived := 0, 0
	for kind := range numErrors {
		for target := 0; ; target++ {
			seen, done := 0, false
			e := &interpengine.Engine{Rewrite: func(f *clif.Func) error {
				for _, i := range boundsChecks(f) {
					if seen++; seen-1 != target {
						continue
					}
					done = true
					plant(f, i, kind)
				}
				return nil
			}}
			n := failures(e)
			if !done {
				break
			}
			if planted++; n == 0 {
				survived++
				t.Errorf("comparison %d with error %d: nothing tells", target, kind)
			}
		}
	}
	if planted < 20 {
		t.Errorf("%d errors planted", planted)
	}
	t.Logf("%d errors planted in comparisons, %d survived", planted, survived)
}
