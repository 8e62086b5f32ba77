package opt

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/interp"
	"github.com/waot-project/waot/internal/proof/wat"
	"github.com/waot-project/waot/wasmfront/translate"
	"github.com/waot-project/waot/wasmfront/validate"
)

// heldTypes are a class, a subclass, and tables of their methods. Method 0 is not overridden, 1 is, 2 is abstract in the class, and $more has one that only the subclass has.
// $mixed holds nothing that is known, $parts structures of one type or null, $kind those of one type, $either of two.
const heldTypes = `
	(rec
		(type $table (sub (struct (field $zero (ref $method)) (field $one (ref $method)) (field $two (ref null $method))
			(field $parts structref) (field $kind (ref struct)) (field $either (ref struct)) (field $number i32))))
		(type $tableB (sub final $table (struct (field $zero (ref $method)) (field $one (ref $method)) (field $two (ref null $method))
			(field $parts structref) (field $kind (ref struct)) (field $either (ref struct)) (field $number i32) (field $more (ref $method)))))
		(type $object (sub (struct (field $table (ref $table)) (field $n (mut i32)))))
		(type $objectB (sub final $object (struct (field $table (ref $tableB)) (field $n (mut i32)))))
		(type $method (func (param (ref null $object) i32) (result i32))))
	(type $part (sub (struct (field $f (ref $method)) (field $k i32))))
	(type $kinds (struct (field $k i64)))
	(type $numbers (struct (field i32) (field i64) (field f32) (field f64) (field i8) (field i16) (field (ref null $part)) (field (ref null $method)) (field v128) (field (mut i32)) (field (ref $kinds)) (field i8)))
	(type $zeros (struct (field i32) (field i64) (field f32) (field f64) (field i8) (field i16) (field (ref null $part)) (field (ref null $method))))
	(type $made (sub (struct (field $f (ref $method)))))`

const heldFields = `
	(func $a (type $method) (i32.add (local.get 1) (i32.const 100)))
	(func $b (type $method) (i32.add (local.get 1) (i32.const 200)))
	(func $c (type $method) (i32.add (local.get 1) (struct.get $object $n (local.get 0))))
	(global $long i32 (i32.const 0x1ff))
	(global $kinds (ref $kinds) (struct.new $kinds (i64.const 9)))
	(global $table (ref $table) (struct.new $table (ref.func $a) (ref.func $a) (ref.null $method)
		(ref.null struct) (struct.new $kinds (i64.const 1)) (struct.new $kinds (i64.const 2)) (i32.const 5)))
	(global $tableB (ref $tableB) (struct.new $tableB (ref.func $a) (ref.func $b) (ref.func $c)
		(struct.new $part (ref.func $b) (i32.const 3)) (global.get $kinds) (struct.new $part (ref.func $a) (i32.const 4)) (i32.const 6) (ref.func $c)))
	(global $numbers (ref null $numbers) (struct.new $numbers (i32.const -7) (i64.const -8) (f32.const 1.5) (f64.const nan:0x4000000000001) (i32.const 0x1ff) (i32.const -1)
		(ref.null $part) (ref.func $a) (v128.const i64x2 1 2) (i32.const 77) (global.get $kinds) (global.get $long)))
	(global $zeros (ref $zeros) (struct.new_default $zeros))
	(global $made (ref $made) (struct.new $made (ref.func $a)))
	(global $changes (mut (ref $table)) (struct.new $table (ref.func $a) (ref.func $a) (ref.null $method) (ref.null struct) (struct.new $kinds (i64.const 1)) (struct.new $kinds (i64.const 2)) (i32.const 7)))
	(func $object (param $kind i32) (result (ref null $object))
		(if (i32.eqz (local.get $kind)) (then (return (ref.null $object))))
		(if (result (ref null $object)) (i32.eq (local.get $kind) (i32.const 1))
			(then (struct.new $object (global.get $table) (i32.const 1000)))
			(else (struct.new $objectB (global.get $tableB) (i32.const 2000)))))
	(func $bodyMade (param i32) (result i32) (drop (struct.new $made (ref.func $b))) (global.set $changes (global.get $table)) (local.get 0))`

// heldCases are bodies of functions whose parameter says which object $o is, 0 for null, and the rules that must apply, of those that this file is about.
var heldCases = []struct{ name, body, rules string }{
	{"never overridden", `(call_ref $method (local.get $o) (i32.const 1) (struct.get $table $zero (struct.get $object $table (local.get $o))))`, "call-held"},
	{"never overridden, tail call", `(return_call_ref $method (local.get $o) (i32.const 1) (struct.get $table $zero (struct.get $object $table (local.get $o))))`, "call-held"},
	{"overridden", `(call_ref $method (local.get $o) (i32.const 1) (struct.get $table $one (struct.get $object $table (local.get $o))))`, ""},
	{"overridden, in the subclass", `(call_ref $method (local.get $o) (i32.const 1) (struct.get $tableB $one (struct.get $objectB $table (ref.cast (ref null $objectB) (local.get $o)))))`, "call-held"},
	{"abstract", `(call_ref $method (local.get $o) (i32.const 1) (struct.get $table $two (struct.get $object $table (local.get $o))))`, "call-held"},
	{"only in the subclass", `(call_ref $method (local.get $o) (i32.const 1) (struct.get $tableB $more (struct.get $objectB $table (ref.cast (ref $objectB) (local.get $o)))))`, "call-held"},
	{"made by bodies too", `(call_ref $method (local.get $o) (i32.const 1) (struct.get $made $f (block (result (ref $made)) (global.get $made))))`, "field-fixed"},
	{"structures of one type, or null", `(struct.get $part $k (ref.cast (ref $part) (struct.get $table $parts (struct.get $object $table (local.get $o)))))`, "test-held"},
	{"structures of one type, or null, which may be", `(struct.get $part $k (ref.cast (ref null $part) (struct.get $table $parts (struct.get $object $table (local.get $o)))))`, "test-held"},
	{"another type", `(ref.test (ref $kinds) (struct.get $table $parts (struct.get $object $table (local.get $o))))`, "test-held"},
	{"another type, or null", `(ref.test (ref null $kinds) (struct.get $table $parts (struct.get $object $table (local.get $o))))`, "test-held"},
	{"structures of one type", `(ref.test (ref $kinds) (struct.get $table $kind (struct.get $object $table (local.get $o))))`, "test-held"},
	{"structures of one type, not another", `(ref.test (ref $part) (struct.get $table $kind (struct.get $object $table (local.get $o))))`, "test-held"},
	{"structures of two types", `(ref.test (ref $part) (struct.get $table $either (struct.get $object $table (local.get $o))))`, ""},
	{"constants", `(i32.add (struct.get $numbers 0 (global.get $numbers)) (i32.wrap_i64 (struct.get $numbers 1 (global.get $numbers))))`, "field-fixed"},
	{"floats", `(i32.xor (i32.reinterpret_f32 (struct.get $numbers 2 (global.get $numbers))) (i32.wrap_i64 (i64.reinterpret_f64 (struct.get $numbers 3 (global.get $numbers)))))`, "field-fixed"},
	{"packed", `(i32.add (i32.add (struct.get_s $numbers 4 (global.get $numbers)) (struct.get_u $numbers 4 (global.get $numbers)))
		(i32.mul (i32.const 3) (i32.add (struct.get_s $numbers 5 (global.get $numbers)) (struct.get_u $numbers 5 (global.get $numbers)))))`, "field-fixed"},
	{"null", `(ref.is_null (struct.get $numbers 6 (global.get $numbers)))`, "field-fixed"},
	{"a function", `(call_ref $method (local.get $o) (i32.const 1) (struct.get $numbers 7 (global.get $numbers)))`, "call-held field-fixed"},
	{"a vector", `(i32x4.extract_lane 2 (struct.get $numbers 8 (global.get $numbers)))`, ""},
	{"a field that changes", `(struct.set $numbers 9 (global.get $numbers) (i32.const 1)) (struct.get $numbers 9 (global.get $numbers))`, ""},
	{"another global", `(i32.wrap_i64 (struct.get $kinds $k (struct.get $numbers 10 (global.get $numbers))))`, "field-fixed"},
	{"another global, packed", `(i32.add (struct.get_u $numbers 11 (global.get $numbers)) (struct.get_s $numbers 11 (global.get $numbers)))`, ""},
	{"of a structure in a structure", `(struct.get $part $k (ref.cast (ref $part) (struct.get $table $parts (global.get $tableB))))`, "field-fixed test-held"},
	{"behind a cast that fails", `(i32.wrap_i64 (struct.get $kinds $k (ref.cast (ref $kinds) (struct.get $table $parts (global.get $tableB)))))`, "test-held"},
	{"zeros", `(i32.add (i32.add (struct.get $zeros 0 (global.get $zeros)) (i32.wrap_i64 (struct.get $zeros 1 (global.get $zeros))))
		(i32.add (i32.add (i32.reinterpret_f32 (struct.get $zeros 2 (global.get $zeros))) (i32.wrap_i64 (i64.reinterpret_f64 (struct.get $zeros 3 (global.get $zeros)))))
		(i32.add (i32.add (struct.get_s $zeros 4 (global.get $zeros)) (struct.get_u $zeros 5 (global.get $zeros)))
		(i32.add (ref.is_null (struct.get $zeros 6 (global.get $zeros))) (ref.is_null (struct.get $zeros 7 (global.get $zeros)))))))`, "field-fixed"},
	{"a global that changes", `(drop (call $bodyMade (i32.const 0))) (struct.get $table $number (global.get $changes))`, ""},
	{"what a global's structure is", `(ref.test (ref $tableB) (block (result (ref $table)) (global.get $tableB)))`, ""},
	{"what a global's structure is not", `(ref.test (ref $tableB) (block (result (ref $table)) (global.get $table)))`, ""},
}

// heldFuncs are the functions of a module: those of heldCases are the last, in their order, and exports as their positions.
func heldFuncs(t *testing.T, open bool) (funcs []*clif.Func) {
	var b strings.Builder
	b.WriteString("(module " + heldTypes + heldFields)
	for i, c := range heldCases {
		fmt.Fprintf(&b, "(func (export \"%d\") (param $kind i32) (result i32) (local $o (ref null $object)) (local.set $o (call $object (local.get $kind))) %s)\n", i, c.body)
	}
	if open {
		b.WriteString(`(func (export "in") (param (ref $table)))`)
	}
	wasm, err := wat.Assemble(b.String() + ")")
	if err != nil {
		t.Fatal(err)
	}
	m, err := validate.Module(wasm, validate.Config{})
	if err != nil {
		t.Fatal(err)
	}
	cm := translate.Module(m, m.DecodeNames())
	translate.TakeSurvey(m, cm, 1, nil).Declare(cm)
	for i := range m.Funcs {
		f := &clif.Func{}
		if err := translate.New(m, cm).Func(f, uint32(i)); err != nil {
			t.Fatal(err)
		}
		funcs = append(funcs, f)
	}
	f := &clif.Func{}
	translate.New(m, cm).Init(f)
	return append(funcs, f)
}

// heldEnds says what the functions of heldCases give for each object.
func heldEnds(t *testing.T, funcs []*clif.Func) (ends []string) {
	inst, err := interp.NewStore(interp.Options{MaxSteps: 100_000}).Instantiate(funcs[0].Mod, func(i clif.FuncIndex) (*clif.Func, error) { return funcs[i], nil }, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range heldCases {
		var all []string
		for kind := range uint64(3) {
			e, _ := inst.Export(fmt.Sprint(i))
			results, err := e.(*interp.Function).Call([]uint64{kind})
			var trap *interp.Trap
			switch {
			case errors.As(err, &trap):
				all = append(all, trap.Code.String())
			case err != nil:
				t.Fatal(err)
			default:
				all = append(all, fmt.Sprint(results))
			}
		}
		ends = append(ends, strings.Join(all, " "))
	}
	return ends
}

// TestHeld: what fields that never change hold is made use of, and functions do the same as before.
func TestHeld(t *testing.T) {
	of := []string{RuleFieldFixed.Info().Name, RuleTestHeld.Info().Name, RuleCallHeld.Info().Name}
	for _, open := range []bool{false, true} {
		funcs := heldFuncs(t, open)
		want := heldEnds(t, funcs)
		for _, off := range append([]string{""}, of...) {
			ctl := &Control{Limit: -1, Off: map[string]bool{off: true}}
			o := Optimizer{Control: ctl}
			for i, f := range funcs {
				ctl.Reset()
				if err := errors.Join(o.Begin(f, O1), o.Run(f, O1), o.Finish(f, O1)); err != nil {
					t.Fatal(err)
				}
				k := i - (len(funcs) - 1 - len(heldCases))
				if open {
					k++
				}
				if k < 0 || k >= len(heldCases) || off != "" {
					continue
				}
				var rules []string
				for _, e := range ctl.Log {
					if slices.Contains(of, e.Rule.Name) {
						rules = append(rules, e.Rule.Name)
					}
				}
				slices.Sort(rules)
				wanted := heldCases[k].rules
				if open {
					wanted = strings.TrimSpace(strings.NewReplacer(of[1], "", of[2], "").Replace(wanted))
				}
				if got := strings.Join(slices.Compact(rules), " "); got != wanted {
					t.Errorf("%s, open %v: rules %q, want %q\n%v", heldCases[k].name, open, got, wanted, f)
				}
			}
			for k, got := range heldEnds(t, funcs) {
				if got != want[k] {
					t.Errorf("%s, without %q, open %v: %s, want %s", heldCases[k].name, off, open, got, want[k])
				}
			}
			funcs = heldFuncs(t, open)
		}
	}
}
