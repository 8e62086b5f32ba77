package difftest

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/interp"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/proof/fuelcount"
	"github.com/waot-project/waot/internal/proof/randprog"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/internal/proof/wasmgen"
	"github.com/waot-project/waot/internal/proof/wat"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/spectest/interpengine"
	"github.com/waot-project/waot/spectest/nativeengine"
	"github.com/waot-project/waot/wasmfront/fuel"
	"github.com/waot-project/waot/wasmfront/translate"
)

// fuelOptions are the ways to compile that must count alike.
var fuelOptions = []compile.Options{
	{OptLevel: opt.O0}, {OptLevel: opt.O1}, {OptLevel: opt.O1, EagerInlining: true}, {OptLevel: opt.O1, Regalloc: "ssa", ExplicitBounds: true},
	{OptLevel: opt.O1, Regalloc: "local", NoSpectre: true}, {OptLevel: opt.O0, Regalloc: "linear"},
}

// fuelEngines returns engines whose stores have n units of fuel. slack leaves out the exact ones, but the interpreter.
func fuelEngines(n int64, slack bool) (list []spectest.Engine) {
	costs := fuel.Default()
	trap := abi.TrapOutOfFuel
	if slack {
		trap = abi.TrapNone
	}
	t := translate.Options{Fuel: costs, OutOfFuel: trap}
	limits := interp.Options{Fuel: n, MaxSteps: 3_000_000}
	list = append(list, &interpengine.Engine{Translation: t, Options: limits},
		&interpengine.Engine{Label: "-O1", Translation: t, Options: limits, Rewrite: func(f *clif.Func) error { return new(opt.Optimizer).Run(f, opt.O1) }})
	for _, o := range fuelOptions {
		o.Fuel, o.FuelSlack, o.Verify, o.Jobs = costs, slack, true, 1
		list = append(list, &nativeengine.Engine{Options: o, Config: inproc.Config{Fuel: uint64(n)}})
	}
	return list
}

// TestFuelRandom compares what random modules have left with what they count themselves, under wazero: with enough fuel, and with less, where they must stop at
// the same place with the same effects.
func TestFuelRandom(t *testing.T) {
	const plenty = 100_000 // there are endless loops
	count := cmp.Or(*countFlag, testenv.Cases[uint64](15, 16, 150))
	stopped, whole, skipped := 0, 0, 0
	for seed := *seedFlag; seed < *seedFlag+2*count; seed += 2 {
		p := randprog.Generate(seed + 1) // those whose environment has no code
		if seed%3 == 0 {
			p = randprog.GenerateVectors(seed+1, false, true)
		}
		if seed%8 == 2 {
			p = randprog.GenerateTyped(seed+1, false)
		}
		if seed%8 == 6 {
			p = randprog.GenerateTails(seed + 1)
		}
		if seed%8 == 4 {
			p = randprog.GenerateOwnExceptions(seed+1, false, seed%16 == 4)
		}
		p.Reset = false // between calls: it would trap, too
		used, ok := compareFuel(t, seed, p, plenty, false)
		if !ok {
			skipped++
			continue
		}
		if used < plenty {
			whole++
			compareFuel(t, seed, p, plenty, true)
		} else {
			stopped++
		}
		rnd := rand.New(rand.NewPCG(seed, 1))
		for _, n := range []int64{0, used - 1, rnd.Int64N(used + 1), rnd.Int64N(min(used, 100) + 1)} {
			if n >= 0 && n < used {
				if _, ok := compareFuel(t, seed, p, n, false); ok {
					stopped++
				}
			}
		}
	}
	t.Logf("%d modules ran to their end, %d runs stopped for want of fuel; %d were not compared, as they run out of stack or steps", whole, stopped, skipped)
	if whole < int(count)/2 || stopped < whole {
		t.Error("too few")
	}
}

// compareFuel is compareFuelWith wazero.
func compareFuel(t *testing.T, seed uint64, p *randprog.Program, n int64, slack bool) (used int64, ok bool) {
	t.Helper()
	return compareFuelWith(t, seed, p, n, slack, func(p *randprog.Program) (*randprog.Outcome, error) {
		want, left, err := randprog.Judge(context.Background(), p, fuelcount.Global)
		if err != nil {
			return nil, err
		}
		want.Fuel = max(0, int64(left[0])) // below 0 behind another trap in a block that does not compare
		return want, nil
	})
}

// compareFuelWith runs a program with n units, and returns how many it used by its own count, as the judge executes it; ok is false if it cannot be compared.
func compareFuelWith(t *testing.T, seed uint64, p *randprog.Program, n int64, slack bool, judge func(*randprog.Program) (*randprog.Outcome, error)) (used int64, ok bool) {
	t.Helper()
	q := *p
	var err error
	if q.Wasm, err = fuelcount.Exact(p.Wasm, n); err != nil {
		t.Fatal(err)
	}
	want, err := judge(&q)
	switch {
	case randprog.JudgePanics(err):
		return 0, false
	case err != nil:
		t.Fatalf("seed %d: %v", seed, err)
	}
	if want.Overflow != nil || want.TooLong() {
		return 0, false
	}
	if want.Start.Trapped() {
		want.Fuel = 0 // nobody can ask a module that could not be instantiated
	}
	for k, e := range fuelEngines(n, slack) {
		got := randprog.Run(e, p)
		if k == 0 && (got.TooLong() || got.Overflow != nil) {
			return 0, false
		}
		if got.Start.Trapped() {
			got.Fuel = 0
		}
		name := fmt.Sprintf("seed %d, %d units, slack %t, engine %d (%s)", seed, n, slack, k, e.Name())
		if d := asUnreachable(got).Diff(want); d != "" {
			t.Errorf("%s: %s", name, d)
		} else if got.Fuel != want.Fuel {
			t.Errorf("%s: %d left, want %d", name, got.Fuel, want.Fuel)
		}
	}
	return n - want.Fuel, true
}

// asUnreachable makes traps for want of fuel what the judge's are.
func asUnreachable(o *randprog.Outcome) *randprog.Outcome {
	c := *o
	change := func(r *randprog.Result) {
		if r.Text == randprog.TrapPrefix+abi.TrapOutOfFuel.Message() {
			r.Text = randprog.TrapPrefix + abi.TrapUnreachable.Message()
		}
		r.Place = nil
	}
	c.Calls, c.Again = append([]randprog.Result(nil), o.Calls...), append([]randprog.Result(nil), o.Again...)
	change(&c.Start)
	for i := range c.Calls {
		change(&c.Calls[i])
	}
	for i := range c.Again {
		change(&c.Again[i])
	}
	c.Failed = strings.TrimSpace(c.Failed)
	return &c
}

// fuelIdioms are modules whose code the optimizer changes most: they export run, from i32 to i32.
var fuelIdioms = map[string]string{
	"a dispatcher": `(memory (export "memory") 1)
	(func (export "run") (param $n i32) (result i32) (local $pc i32) (local $s i32) (local $old i32) (local $i i32)
	  (loop $again
	    (block $d (block $c (block $b (block $a (br_table $a $b $c $d (local.get $pc)))
	      (local.set $s (i32.add (local.get $s) (i32.const 1))) (local.set $old (local.get $s)) (local.set $pc (i32.const 2)) (br $again))
	      (local.set $s (i32.mul (local.get $s) (i32.const 3))) (i32.store (i32.const 8) (local.get $old)) (local.set $pc (i32.const 3)) (br $again))
	      (local.set $s (i32.xor (local.get $s) (local.get $old))) (local.set $old (i32.add (local.get $old) (local.get $i))) (local.set $pc (i32.const 1)) (br $again))
	    (local.set $i (i32.add (local.get $i) (i32.const 1)))
	    (local.set $pc (i32.const 0))
	    (br_if $again (i32.lt_u (local.get $i) (local.get $n))))
	  (i32.add (local.get $s) (local.get $old)))`,
	"a dispatcher with a variable": `(memory (export "memory") 1)
	(func (export "run") (param $n i32) (result i32) (local $pc i32) (local $x i32) (local $y i32) (local $t i32)
	  (local.set $x (i32.const 1))
	  (loop $again
	    (block $out (block $swap (block $step (br_table $step $swap $out (local.get $pc)))
	      (local.set $t (local.get $x)) (local.set $x (i32.add (local.get $x) (local.get $y))) (local.set $y (local.get $t))
	      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
	      (if (i32.le_s (local.get $n) (i32.const 0)) (then (local.set $pc (i32.const 2))) (else (local.set $pc (i32.const 1))))
	      (br $again))
	      (local.set $t (local.get $x)) (local.set $x (local.get $y)) (local.set $y (local.get $t)) (local.set $pc (i32.const 0)) (br $again)))
	  (i32.sub (local.get $x) (local.get $y)))`,
	"branches that become selects": `(memory (export "memory") 1)
	(func (export "run") (param $n i32) (result i32) (local $i i32) (local $k i32) (local $m i32)
	  (loop $l
	    (local.set $k (i32.const 3))
	    (if (i32.lt_u (i32.load8_u (local.get $i)) (i32.load8_u offset=1 (local.get $i))) (then (local.set $k (i32.const 5))))
	    (if (i32.gt_s (i32.load8_s offset=7 (local.get $i)) (i32.load8_s offset=9 (local.get $i)))
	      (then (local.set $m (local.get $i))) (else (nop) (local.set $m (local.get $k)) (drop (i32.const 0)) (drop (i32.const 1))))
	    (if (i32.eq (i32.load offset=64 (local.get $i)) (local.get $m)) (then (local.set $m (local.get $k))) (else (local.set $m (local.get $n))))
	    (i32.store8 (local.get $i) (i32.mul (local.get $m) (local.get $k)))
	    (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
	  (local.get $m))`,
	"small functions": `(global $g (mut i32) (i32.const 0))
	(func $max (param i32 i32) (result i32) (if (i32.gt_s (local.get 0) (local.get 1)) (then (return (local.get 0)))) (local.get 1))
	(func $note (param i32) (global.set $g (i32.add (global.get $g) (local.get 0))))
	(func $even (param i32) (result i32) (i32.eqz (i32.and (local.get 0) (i32.const 1))))
	(func (export "run") (param $n i32) (result i32) (local $i i32)
	  (loop $l
	    (if (call $even (local.get $i)) (then (call $note (call $max (local.get $i) (i32.const 3)))))
	    (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
	  (global.get $g))`,
	"bytes": `(memory (export "memory") 1) (data (i32.const 100) "some text that is compared") (data $d "dropped")
	(func (export "run") (param $n i32) (result i32) (local $i i32)
	  (block $done (loop $l
	    (br_if $done (i32.ne (i32.load8_u offset=100 (local.get $i)) (i32.load8_u offset=200 (local.get $i))))
	    (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n)))))
	  (memory.copy (i32.const 200) (i32.const 100) (local.get $n))
	  (memory.fill (i32.const 300) (i32.const 7) (i32.mul (local.get $n) (i32.const 10)))
	  (memory.init $d (i32.const 500) (i32.const 0) (i32.and (local.get $n) (i32.const 7)))
	  (local.set $i (i32.const 0))
	  (loop $c
	    (i32.store8 offset=1000 (local.get $i) (i32.load8_u offset=100 (local.get $i)))
	    (br_if $c (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
	  (local.get $i))`,
	"a dispatcher that traps": `(memory (export "memory") 1)
	(func (export "run") (param $n i32) (result i32) (local $pc i32) (local $s i32) (local $i i32)
	  (loop $again
	    (block $c (block $b (block $a (br_table $a $b $c (local.get $pc)))
	      (local.set $s (i32.add (local.get $s) (i32.load (i32.mul (local.get $i) (i32.const 20000)))))
	      (local.set $i (i32.add (local.get $i) (i32.const 1))) (local.set $pc (i32.const 1)) (br $again))
	      (if (i32.lt_u (local.get $i) (local.get $n)) (then (local.set $pc (i32.const 0)) (br $again))) (local.set $pc (i32.const 2)) (br $again)))
	  (local.get $s))`,
	"many values": `(memory (export "memory") 1)
	(func $many (param i32) (result i32) (local i32 i32 i32 i32 i32 i32 i32 i64 i64 i64 i64 i64 i64 i64 i64 f64) (i32.store (i32.const 0) (local.get 0)) (local.get 0))
	(func (export "run") (param $n i32) (result i32)
	  (local.get $n) (i32.const 1) (i32.const 2) (i32.const 3) (i32.const 4) (i32.const 5) (i32.const 6) (i32.const 7) (i32.const 8)
	  (loop $l (param i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32 i32 i32 i32 i32 i32 i32 i32 i32)
	    (call $many) (br_if $l (i32.eqz (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
	  drop drop drop drop drop drop drop drop)`,
	"a dispatcher behind a branch": `(func (export "run") (param $n i32) (result i32) (local $s i32)
	  (loop $l
	    (block $c (block $b (block $a
	      (block $out (br_if $out (i32.const 0)) (br_table $a $b $c (local.get $s)))
	      (return (i32.const 7)))
	      (local.set $s (i32.add (i32.const 1) (i32.const 0))) (br $l))
	      (local.set $s (i32.const 2)) (br $l))
	    (drop (i32.div_u (local.get $n) (i32.const 0)))) (i32.const 1))`,
	"a loop that traps": `(memory (export "memory") 1)
	(func (export "run") (param $n i32) (result i32) (local $s i32)
	  (loop $l
	    (local.set $s (i32.add (local.get $s) (i32.load (i32.mul (local.get $n) (i32.const 4000)))))
	    (br_if $l (local.tee $n (i32.add (local.get $n) (i32.const 1)))))
	  (local.get $s))`,
	"a call that traps": `(memory (export "memory") 1)
	(func $div (param i32) (result i32) (nop) (i32.div_u (i32.const 1) (local.get 0)))
	(func (export "run") (param $n i32) (result i32) (local $s i32)
	  (local.set $s (i32.mul (local.get $n) (i32.add (local.get $n) (i32.const 3))))
	  (i32.add (call $div (i32.and (local.get $n) (i32.const 3))) (local.get $s)))`,
	"a copy that traps": `(memory (export "memory") 1)
	(func (export "run") (param $n i32) (result i32)
	  (memory.copy (i32.const 0) (i32.const 9) (i32.mul (local.get $n) (i32.const 20000))) (i32.load (i32.const 4)))`,
	"ways that end": `(memory (export "memory") 1) (global $g (mut i32) (i32.const 0))
	(func (export "run") (param $n i32) (result i32)
	  (block $a (block $b
	    (br_if $a (i32.eq (local.get $n) (i32.const 1)))
	    (if (i32.eq (local.get $n) (i32.const 2)) (then (return (i32.const 7))) (else (br_if $b (i32.eq (local.get $n) (i32.const 3)))))
	    (if (i32.eq (local.get $n) (i32.const 4)) (then (unreachable)))
	    (drop (i32.load (i32.mul (local.get $n) (i32.const 20000))))
	    (global.set $g (i32.const 9)) (br $a) (i32.store (i32.const 0) (i32.const 1)))
	    (i32.store (i32.const 4) (i32.div_u (i32.const 9) (i32.sub (local.get $n) (i32.const 3)))))
	  (global.get $g))`,
}

// TestFuelIdioms is TestFuelRandom for programs that are made for the passes that change charges, with each budget up to what they need.
func TestFuelIdioms(t *testing.T) {
	for name, text := range fuelIdioms {
		t.Run(name, func(t *testing.T) {
			wasm, err := wat.Assemble("(module " + text + ")")
			if err != nil {
				t.Fatal(err)
			}
			for n := uint64(0); n < 9; n += testenv.Cases[uint64](4, 3, 1) {
				p := &randprog.Program{Wasm: wasm, Env: randprog.HostEnv(false), Calls: []wasmgen.Call{{Export: "run", Params: "i", Results: "i", Args: []uint64{n}}}}
				used, ok := compareFuel(t, n, p, 1<<30, false)
				if !ok || used == 0 {
					t.Fatalf("%d: %d units, compared: %t", n, used, ok)
				}
				compareFuel(t, n, p, 1<<30, true)
				for budget := int64(0); budget < used; budget += testenv.Cases(1+used/4, 1+used/6, 1) {
					compareFuel(t, n, p, budget, false)
				}
			}
		})
	}
}

// TestFuelExceptions compares what random modules with exceptions of either proposal have left with what they count themselves in the CLIF interpreter: wazero does not know the legacy one, and has
// other limits of the stack, where exceptions may bring those that call it on.
func TestFuelExceptions(t *testing.T) {
	const plenty = 100_000
	count := cmp.Or(*countFlag, testenv.Cases[uint64](20, 24, 300))
	judge := func(p *randprog.Program) (*randprog.Outcome, error) {
		q := *p
		q.Counter = fuelcount.Global
		o := randprog.Run(&interpengine.Engine{Options: interp.Options{MaxSteps: 30_000_000}}, &q)
		o.Fuel = max(0, o.Fuel)
		return o.WithoutPlaces(), nil
	}
	whole, stopped, skipped := 0, 0, 0
	for seed := *seedFlag; seed < *seedFlag+count; seed++ {
		p := randprog.GenerateOwnExceptions(2*seed+1, seed%3 > 0, seed%5 == 0)
		p.Reset = false
		used, ok := compareFuelWith(t, seed, p, plenty, false, judge)
		switch {
		case !ok:
			skipped++
			continue
		case used < plenty:
			whole++
			compareFuelWith(t, seed, p, plenty, true, judge)
		default:
			stopped++
		}
		rnd := rand.New(rand.NewPCG(seed, 1))
		for _, n := range []int64{used - 1, rnd.Int64N(used + 1), rnd.Int64N(min(used, 300) + 1)} {
			if n >= 0 && n < used {
				if _, ok := compareFuelWith(t, seed, p, n, false, judge); ok {
					stopped++
				}
			}
		}
		if t.Failed() {
			save(t, seed, p)
			return
		}
	}
	t.Logf("%d modules ran to their end, %d runs stopped for want of fuel; %d were not compared, as they run out of stack or steps", whole, stopped, skipped)
	if whole < int(count)/3 || stopped < whole {
		t.Error("too few")
	}
}
