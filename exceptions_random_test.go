//go:build linux && (amd64 || arm64)

package waot_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/waot-project/waot"
)

// outcome is what a level of a tower does: it returns a number, or throws an exception with a tag and the number as argument, or traps.
type outcome struct {
	kind  outcomeKind
	tag   int
	value int64
}

type outcomeKind int

const (
	returns outcomeKind = iota
	throws
	traps
)

// level is a function that calls the one below, in an instance of its own. All do the same in Go, by do, and in WebAssembly, by text.
type level struct {
	number int64
	how    int  // 0: no handler; 1: catch a tag; 2: the same, of the legacy proposal; 3: catch all and throw again; 4: the same, legacy; 5: catch all; 6: throw another; 7: a delegate
	tag    int  // that is caught
	other  int  // that is thrown instead
	hop    int  // how the one below is called: 0 directly, 1 through a Go function, 2 through one that throws by an error that wraps
	own    bool // there is a tag of its own in front of the clause, which never fits
}

// numTags is how many tags a tower has, which all levels import.
const numTags = 3

// bottom is what the lowest function does with its argument.
func bottom(x int64) outcome {
	switch x % 5 {
	case 0:
		return outcome{returns, 0, x + 1}
	case 4:
		return outcome{traps, 0, 0}
	}
	return outcome{throws, int(x%5) - 1, x * 7}
}

func (l *level) do(below outcome) outcome {
	switch below.kind {
	case traps:
		return below
	case returns:
		return outcome{returns, 0, below.value*3 + l.number}
	}
	switch l.how {
	case 1, 2:
		if below.tag == l.tag {
			return outcome{returns, 0, below.value + l.number}
		}
	case 5:
		return outcome{returns, 0, l.number}
	case 6:
		if below.tag == l.tag {
			return outcome{throws, l.other, below.value + 1}
		}
	}
	return below
}

// text is the module of a level. Variables are alive all the time, and must have what they had.
func (l *level) text() string {
	handlers := [...]string{
		1: `(block $out (result i64) (block $h (result i64 externref) (try_table OWN (catch TAG $h) (br $out CALL)) unreachable)
			(local.set $ref) (return (call $check (i64.add (i64.const NUMBER)) VARIABLES)))`,
		2: `(try (result i64) (do CALL) (catch TAG (local.set $ref) (return (call $check (i64.add (i64.const NUMBER)) VARIABLES))))`,
		3: `(block $out (result i64) (block $h (result exnref) (try_table OWN (catch_all_ref $h) (br $out CALL)) unreachable)
			(local.set $x) (call $check (i64.const 0) VARIABLES) drop (throw_ref (local.get $x)))`,
		4: `(try (result i64) (do CALL) (catch_all (drop (call $check (i64.const 0) VARIABLES)) (rethrow 0)))`,
		5: `(block $out (result i64) (block $h (try_table OWN (catch_all $h) (br $out CALL)) unreachable) (return (call $check (i64.const NUMBER) VARIABLES)))`,
		6: `(block $out (result i64) (block $h (result i64 externref) (try_table OWN (catch TAG $h) (br $out CALL)) unreachable)
			(local.set $ref) (i64.add (i64.const 1)) (local.get $ref) (throw OTHER))`,
		7: `(try (result i64) (do (try (result i64) (do CALL) (delegate 0))) (catch_all (rethrow 0)))`,
	}
	body := handlers[l.how]
	if l.how == 0 {
		body = "CALL"
	}
	body = strings.NewReplacer("TAG", fmt.Sprint("$t", l.tag), "OTHER", fmt.Sprint("$t", l.other), "NUMBER", fmt.Sprint(l.number)).Replace(body)
	variables := ""
	locals, sets, sum := "", "", ""
	for i := range 6 {
		locals += fmt.Sprintf(" (local $v%d i64)", i)
		sets += fmt.Sprintf("(local.set $v%d (call $id (i64.const %d)))", i, l.number+int64(i))
		variables += fmt.Sprintf(" (local.get $v%d)", i)
		sum += fmt.Sprintf(" (if (i64.ne (local.get %d) (i64.const %d)) (then unreachable))", i+1, l.number+int64(i))
	}
	module := `(module (import "env" "id" (func $id (param i64) (result i64))) (import "env" "below" (func $below (param i64 externref) (result i64)))
		(import "env" "t0" (tag $t0 (param i64 externref))) (import "env" "t1" (tag $t1 (param i64 externref))) (import "env" "t2" (tag $t2 (param i64 externref)))
		(tag $own (param i64 externref))
		(func $check (param i64 i64 i64 i64 i64 i64 i64) (result i64)` + sum + ` (local.get 0))
		(func (export "f") (param $n i64) (param $r externref) (result i64) (local $ref externref) (local $x exnref)` + locals + sets + "\n" + body + `
			(i64.mul (i64.const 3)) (i64.add (i64.const ` + fmt.Sprint(l.number) + `)) (call $check` + variables + `)))`
	return strings.NewReplacer("OWN", l.ownClause(), "CALL", "(call $below (local.get $n) (local.get $r))", "VARIABLES", variables).Replace(module)
}

// ownClause is a clause for a tag that nobody throws, whose label takes what it brings: that of the clause behind it.
func (l *level) ownClause() string {
	if l.own && (l.how == 1 || l.how == 6) {
		return "(catch $own $h)"
	}
	return ""
}

const bottomText = `(module (import "env" "id" (func $id (param i64) (result i64)))
	(import "env" "t0" (tag $t0 (param i64 externref))) (import "env" "t1" (tag $t1 (param i64 externref))) (import "env" "t2" (tag $t2 (param i64 externref)))
	(func (export "f") (param $n i64) (param $r externref) (result i64)
		(block $trap (block $three (block $two (block $one (block $zero
			(br_table $zero $one $two $three $trap (i32.wrap_i64 (i64.rem_u (local.get $n) (i64.const 5)))))
			(return (i64.add (local.get $n) (i64.const 1))))
			(throw $t0 (i64.mul (local.get $n) (i64.const 7)) (local.get $r)))
			(throw $t1 (i64.mul (local.get $n) (i64.const 7)) (local.get $r)))
			(throw $t2 (i64.mul (local.get $n) (i64.const 7)) (local.get $r)))
		unreachable))`

// TestExceptionsRandom: random towers of functions that throw, catch, pass on and throw again, each in an instance of its own, some with Go functions between them, do what a model does.
func TestExceptionsRandom(t *testing.T) {
	towers := 300
	if testing.Short() {
		towers = 20
	}
	counts := map[outcomeKind]int{}
	for seed := range towers {
		o := &waot.CompileOptions{NoOptimize: seed%2 == 1}
		buildTower(t, rand.New(rand.NewPCG(uint64(seed), 1)), o, counts)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	for kind := range traps + 1 {
		if counts[kind] < towers {
			t.Errorf("%d outcomes of kind %d", counts[kind], kind)
		}
	}
}

// buildTower makes a random tower and calls it.
func buildTower(t *testing.T, r *rand.Rand, o *waot.CompileOptions, counts map[outcomeKind]int) {
	s, err := waot.NewStore(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	env := map[string]any{"id": func(x int64) int64 { return x }}
	var tags [numTags]*waot.Tag
	for i := range tags {
		if tags[i], err = s.NewTag(waot.TypeI64, waot.TypeExternRef); err != nil {
			t.Fatal(err)
		}
		env[fmt.Sprintf("t%d", i)] = tags[i]
	}
	add := func(text string) *waot.Func {
		t.Helper()
		wasm, err := waot.ParseText([]byte(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		m, err := waot.Compile(wasm, o)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		t.Cleanup(func() { m.Close() })
		inst, err := s.Instantiate(nil, m, waot.Imports{"env": env})
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		return function(inst, "f")
	}
	top := add(bottomText)
	levels := make([]level, 1+r.IntN(6))
	for i := range levels {
		l := &levels[i]
		*l = level{number: int64(1000 * (i + 1)), how: r.IntN(8), tag: r.IntN(numTags), other: r.IntN(numTags), hop: r.IntN(4) % 3, own: r.IntN(2) == 0}
		below := top
		switch env["below"] = below; l.hop {
		case 1:
			env["below"] = func(ctx context.Context, x int64, ref any) (int64, error) {
				r, err := below.Call(ctx, x, ref)
				if err != nil {
					return 0, err
				}
				return r[0].(int64), nil
			}
		case 2:
			env["below"] = func(ctx context.Context, x int64, ref any) (int64, error) {
				r, err := below.Call(ctx, x, ref)
				if err != nil {
					return 0, fmt.Errorf("level %d: %w", i, err)
				}
				return r[0].(int64), nil
			}
		}
		top = add(l.text())
	}
	for x := range int64(10) {
		want := bottom(x)
		for i := range levels {
			want = levels[i].do(want)
		}
		counts[want.kind]++
		ref := fmt.Sprintf("value %d", x)
		results, err := top.Call(context.Background(), x, ref)
		got := outcome{}
		var e *waot.Exception
		var trap *waot.Trap
		switch {
		case err == nil:
			got.value = results[0].(int64)
		case errors.As(err, &e):
			got = outcome{throws, -1, e.Args()[0].I64()}
			for i := range tags {
				if tags[i] == e.Tag() {
					got.tag = i
				}
			}
			if e.Args()[1].Ref() != any(ref) {
				t.Errorf("the reference is %v", e.Args()[1])
			}
		case errors.As(err, &trap) && trap.Code == waot.TrapUnreachable:
			got.kind = traps
		default:
			t.Error(err)
		}
		if got != want {
			t.Errorf("f(%d) does %v (%v), want %v; levels %+v", x, got, err, want, levels)
		}
	}
}
