package knownbugs

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/internal/proof/compare"
)

// tailTypes are the types of parameters, in turn, of the functions of TestTailArguments, what makes an i64 of a value, and a constant.
var tailTypes = []struct{ name, hash, constant string }{
	{"i32", "(i64.extend_i32_u %s)", "(i32.const -%d)"},
	{"f64", "(i64.reinterpret_f64 %s)", "(f64.const %d.5)"},
	{"i64", "%s", "(i64.const 0x1234567890%d)"},
	{"v128", "(i64.xor (i64x2.extract_lane 0 %[1]s) (i64.mul (i64.const 5) (i64x2.extract_lane 1 %[1]s)))", "(v128.const i32x4 %[1]d 7 -%[1]d 9)"},
	{"f32", "(i64.extend_i32_u (i32.reinterpret_f32 %s))", "(f32.const %d.25)"},
}

// tailArities are numbers of parameters, with which all, some or none are in registers.
var tailArities = []int{0, 1, 2, 5, 7, 8, 9, 12, 15, 16, 17, 23, 32, 33, 40}

// tailParams are the types of n parameters: those that begin at type n, in turn, or, of some, one type.
func tailParams(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = (n + i) % len(tailTypes)
		if n%8 == 1 {
			list[i] = n / 8 % len(tailTypes)
		}
	}
	return list
}

// chainEnds are the ends of tailChain.
type chainEnds struct {
	fields string // other fields of the module
	last   string // what the last function does with the number, $h
	first  string // the call of the first one, at %s
}

// returning are ends by calls and returns.
var returning = chainEnds{last: "(return (local.get $h))", first: "%s"}

// tailChain is functions of all arities, each of which makes a number of its arguments and goes on, unless a count has ended, by a tail call of the next one, directly, through
// a table or by reference. The arguments go on in reverse order, as far as types agree. "f0" to "f14" call one of them with many values across the call.
func tailChain(ends chainEnds) (text string, calls []compare.Call) {
	var b strings.Builder
	b.WriteString("(module " + ends.fields + " (table funcref (elem")
	for k := range tailArities {
		fmt.Fprintf(&b, " $f%d", k)
	}
	b.WriteString("))\n")
	call := func(how, k int, args string) string {
		switch how {
		case 0:
			return fmt.Sprintf("(return_call $f%d %s)", k, args)
		case 1:
			return fmt.Sprintf("(return_call_indirect (type $t%d) %s (i32.const %d))", k, args, k)
		}
		return fmt.Sprintf("(return_call_ref $t%d %s (ref.func $f%d))", k, args, k)
	}
	for k, n := range tailArities {
		params, hash := "", ""
		for i, ty := range tailParams(n) {
			params += fmt.Sprintf(" (param $p%d %s)", i, tailTypes[ty].name)
			hash += fmt.Sprintf("(local.set $h (i64.add (i64.rotl (local.get $h) (i64.const 7)) %s))", fmt.Sprintf(tailTypes[ty].hash, fmt.Sprintf("(local.get $p%d)", i)))
		}
		next := (k*7 + 4) % len(tailArities)
		args := "(i64.sub (local.get $n) (i64.const 1)) (local.get $h)"
		from := tailParams(n)
		for i, ty := range tailParams(tailArities[next]) {
			at := n - 1 - i%max(n, 1)
			for tries := 0; at >= 0 && from[at] != ty && tries < n; tries++ {
				at = (at + 1) % n
			}
			if at >= 0 && from[at] == ty {
				args += fmt.Sprintf(" (local.get $p%d)", at)
			} else {
				args += " " + fmt.Sprintf(tailTypes[ty].constant, i+1)
			}
		}
		fmt.Fprintf(&b, "(type $t%d (func (param i64 i64)%s (result i64)))\n", k, strings.ReplaceAll(params, "$", "$x"))
		fmt.Fprintf(&b, "(func $f%d (type $t%d) (param $n i64) (param $h i64)%s (result i64) %s (if (i64.eqz (local.get $n)) (then %s)) %s)\n",
			k, k, params, hash, ends.last, call(k%3, next, args))
		first := ""
		for i, ty := range tailParams(n) {
			first += " " + fmt.Sprintf(tailTypes[ty].constant, 10*i)
		}
		// Some values are in registers, the rest in slots on both ends of the frame.
		locals, sets, sum := "", "", "(local.get $b)"
		for i := range 60 {
			locals += fmt.Sprintf("(local $x%d i64)", i)
			sets += fmt.Sprintf("(local.set $x%d (i64.mul (local.get $b) (i64.const %d)))", i, 2*i+3)
			sum = fmt.Sprintf("(i64.add %s (i64.rotl (local.get $x%d) (i64.const %d)))", sum, i, i)
		}
		fmt.Fprintf(&b, `(func (export "f%[1]d") (param $a i64) (param $b i64) (result i64) (local $c i64) (local $d i64) (local $e f64) %[3]s
			%[4]s (local.set $c (i64.mul (local.get $a) (i64.const 3))) (local.set $d (i64.xor (local.get $a) (local.get $b))) (local.set $e (f64.convert_i64_s (local.get $b)))
			(i64.add %[2]s (i64.add (i64.mul (local.get $c) (local.get $d)) (i64.add (i64.reinterpret_f64 (local.get $e)) %[5]s))))
			`, k, fmt.Sprintf(ends.first, fmt.Sprintf("(call $f%d (local.get $a) (i64.const 1)%s)", k, first)), locals, sets, sum)
		for _, a := range []uint64{0, 1, 2, 14, 40, 1000} {
			calls = append(calls, compare.Call{Func: fmt.Sprintf("f%d", k), Args: []uint64{a, 12345}})
		}
	}
	b.WriteString(")")
	return b.String(), calls
}

// TestTailArguments: arguments of tail calls arrive wherever they were and go, the callee's address too, and callers find their registers and stack as they were.
func TestTailArguments(t *testing.T) {
	text, calls := tailChain(returning)
	check(t, compare.Single(text, calls...))
}

var chained = flag.Uint64("chained", 1_000_000, "tail calls of TestTailStack")

// TestTailStack: a long chain of tail calls between functions of all arities takes no stack; as calls, it ends the stack.
func TestTailStack(t *testing.T) {
	chain, _ := tailChain(returning)
	for text, overflows := range map[string]bool{chain: false, strings.ReplaceAll(chain, "(return_call", "(call"): true} {
		inst := instantiate(t, newStore(t, inproc.Config{MaxStack: 1 << 16}), text, nil)
		f, err := inst.Func("f0")
		if err != nil {
			t.Fatal(err)
		}
		stack := []uint64{*chained, 1}
		err = f.Call(stack, stack[:1])
		var trap *inproc.Trap
		overflowed := errors.As(err, &trap) && trap.Code == abi.TrapStackOverflow
		if overflowed != overflows || err != nil && !overflowed {
			t.Errorf("%v, an overflow is wanted: %v", err, overflows)
		}
	}
}

// TestTailModules goes back and forth between two modules by tail calls with other numbers of arguments, directly and through tables, and has results on the stack.
func TestTailModules(t *testing.T) {
	const many, results = "(param i64 i64 i64 i64 i64 i64 i64 i64 i64 i64 i64 i64 i64)", "(result i64 i32 f64 i64 i64 i64 i64)"
	check(t, &compare.Case{Calls: []compare.Call{{Module: 1, Func: "f", Args: []uint64{0}}, {Module: 1, Func: "f", Args: []uint64{5}}, {Module: 1, Func: "f", Args: []uint64{1001}}}, Modules: []compare.Module{
		{Name: "a", Text: `(module (type $few (func (param i64 i64) ` + results + `)) (type $many (func ` + many + results + `)) (table (export "t") 2 funcref)
			(func $a (export "a") (type $many) (if (i64.eqz (local.get 0)) (then (return (local.get 12) (i32.const 2) (f64.const 3.5) (local.get 11) (local.get 10) (local.get 9) (local.get 1))))
			  (return_call_indirect (type $few) (i64.sub (local.get 0) (i64.const 1)) (i64.add (local.get 12) (local.get 11)) (i32.const 0))))`},
		{Name: "b", Text: `(module (type $few (func (param i64 i64) ` + results + `)) (import "a" "t" (table 2 funcref)) (import "a" "a" (func $a ` + many + results + `))
			(func $b (type $few) (if (i64.eqz (local.get 0)) (then (return (i64.const -1) (i32.const -2) (f64.const -3) (i64.const -4) (local.get 1) (i64.const -6) (i64.const -7))))
			  (return_call $a (i64.sub (local.get 0) (i64.const 1)) (i64.const 1) (i64.const 2) (i64.const 3) (i64.const 4) (i64.const 5) (i64.const 6) (i64.const 7) (i64.const 8) (i64.const 9) (local.get 0) (i64.const 11) (local.get 1)))
			(elem (i32.const 0) func $b)
			(func (export "f") (param i64) ` + results + ` (return_call $b (local.get 0) (i64.const 100))))`},
	}})
}

// TestTailFrames: a tail call leaves its caller's place in backtraces, of traps and of what the host asks for; one of a function of the host does not, so that it knows who calls.
func TestTailFrames(t *testing.T) {
	s := newStore(t, inproc.Config{})
	var seen string
	names := func(frames []inproc.Frame) string {
		list := make([]string, len(frames))
		for i := range frames {
			list[i] = frames[i].Name
		}
		return strings.Join(list, " ")
	}
	h, err := s.NewHostFunc(meta.FuncType{Params: slices.Repeat([]meta.ValType{meta.I64}, 12), Results: []meta.ValType{meta.I64}}, func(c *inproc.Caller, args, results []uint64) error {
		seen = names(c.Backtrace())
		if results[0] = args[11]; args[0] == 1 {
			return errors.New("refused")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	const twelve = "(param i64 i64 i64 i64 i64 i64 i64 i64 i64 i64 i64 i64) (result i64)"
	const rest = "(i64.const 2) (i64.const 3) (i64.const 4) (i64.const 5) (i64.const 6) (i64.const 7) (i64.const 8) (i64.const 9) (i64.const 10) (i64.const 11) (i64.const 12)"
	inst := instantiate(t, s, `(module (import "h" "h" (func $h `+twelve+`)) (type $one (func (param i64) (result i64))) (table funcref (elem $trap $host))
		(func $trap (type $one) (unreachable))
		(func $host (type $one) (return_call $h (local.get 0) `+rest+`))
		(func $go (type $one) (return_call_indirect (type $one) (local.get 0) (i32.wrap_i64 (i64.shr_u (local.get 0) (i64.const 8)))))
		(func $small (type $one) (return_call $go (local.get 0)))
		(func $wide `+twelve+` (return_call $small (local.get 0)))
		(func $around (export "around") (type $one) (i64.add (i64.const 1) (call $wide (local.get 0) `+rest+`)))
		(func (export "direct") (type $one) (return_call $h (local.get 0) `+rest+`)))`, func(string, string) inproc.Extern { return h })
	for _, c := range []struct {
		export    string
		arg       uint64
		want      uint64
		seen, err string
	}{
		{"around", 0x100, 13, "host around", ""},
		{"around", 0, 0, "", "trap around"},
		{"direct", 0, 12, "direct", ""},
		{"direct", 1, 0, "direct", "refused"},
	} {
		f, err := inst.Func(c.export)
		if err != nil {
			t.Fatal(err)
		}
		seen = ""
		out := []uint64{c.arg}
		var trap *inproc.Trap
		text := ""
		switch err := f.Call(out, out); {
		case errors.As(err, &trap):
			text = names(trap.Backtrace)
		case err != nil:
			text = err.Error()
		}
		if text != c.err && !(c.err == "refused" && strings.Contains(text, c.err)) || seen != c.seen || c.err == "" && out[0] != c.want {
			t.Errorf("%s(%#x): %d, error %q, the host saw %q; want %+v", c.export, c.arg, out[0], text, seen, c)
		}
	}
}

// TestTailCaller: a function of the host that is called in the place of a function finds the instance of that function, not the one that called it: however it is
// reached, and also where the call came from the host.
func TestTailCaller(t *testing.T) {
	s := newStore(t, inproc.Config{})
	var seen *inproc.Instance
	h, err := s.NewHostFunc(meta.FuncType{Params: []meta.ValType{meta.I32}, Results: []meta.ValType{meta.I32}}, func(c *inproc.Caller, args, results []uint64) error {
		seen, results[0] = c.Instance(), args[0]+100
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	b := instantiate(t, s, `(module (type $f (func (param i32) (result i32))) (import "h" "h" (func $h (type $f))) (table (export "t") 2 funcref) (elem (i32.const 1) $h) (elem declare func $h)
		(global $r (mut (ref null $f)) (ref.func $h))
		(func (export "slot") (type $f) (return_call $h (local.get 0)))
		(func (export "table") (type $f) (return_call_indirect (type $f) (local.get 0) (i32.const 1)))
		(func (export "ref") (type $f) (return_call_ref $f (local.get 0) (global.get $r)))
		(table $own 1 funcref) (elem (table $own) (i32.const 0) func $h)
		(func (export "closed") (type $f) (return_call_indirect $own (type $f) (local.get 0) (i32.const 0)))
		(func $next (type $f) (return_call $h (i32.add (local.get 0) (i32.const 1))))
		(func (export "chain") (type $f) (return_call $next (local.get 0))))`, func(string, string) inproc.Extern { return h })
	names := []string{"slot", "table", "ref", "closed", "chain"}
	text := `(module (type $f (func (param i32) (result i32)))`
	for _, name := range names {
		text += fmt.Sprintf(` (import "b" %q (func $%s (type $f)))`, name, name)
	}
	for _, name := range names {
		text += fmt.Sprintf(` (func (export "call %[1]s") (type $f) (i32.add (i32.const 1000) (call $%[1]s (local.get 0)))) (func (export "tail %[1]s") (type $f) (return_call $%[1]s (local.get 0)))`, name)
	}
	a := instantiate(t, s, text+")", func(_, name string) inproc.Extern {
		f, err := b.Func(name)
		if err != nil {
			t.Fatal(err)
		}
		return f
	})
	for _, name := range names {
		want := uint64(105)
		if name == "chain" {
			want++
		}
		for inst, calls := range map[*inproc.Instance][]string{a: {"call " + name, "tail " + name}, b: {name}} {
			for _, call := range calls {
				f, err := inst.Func(call)
				if err != nil {
					t.Fatal(err)
				}
				seen = nil
				out, expected := []uint64{5}, want
				if strings.HasPrefix(call, "call") {
					expected += 1000
				}
				if err := f.Call(out, out); err != nil || out[0] != expected || seen != b {
					t.Errorf("%s: %d, %v; the caller is the instance that called: %v", call, out[0], err, seen == b)
				}
			}
		}
	}
}

// TestTailOverflow: where a tail call needs more room for its arguments than the stack has, that is a stack overflow, at whatever distance from its end, and the backtrace begins
// with the function that needed it and its caller.
func TestTailOverflow(t *testing.T) {
	const params = 900 // which are more than a page
	i64s, zeros := strings.Repeat("i64 ", params), strings.Repeat("(i64.const 0) ", params-1)
	inst := instantiate(t, newStore(t, inproc.Config{MaxStack: 1 << 17}), `(module (type $f (func (param i64) (result i64))) (type $w (func (param `+i64s+`) (result i64)))
		(table funcref (elem $grow0 $grow1 $down0 $down1 $wide0 $wide1))
		(func $wide0 (type $w) (return_call_indirect (type $f) (local.get 0) (i32.const 3)))
		(func $wide1 (type $w) (return_call_indirect (type $f) (local.get 0) (i32.const 2)))
		(func $grow0 (type $f) (return_call_indirect (type $w) (local.get 0) `+zeros+` (i32.const 4)))
		(func $grow1 (type $f) (return_call_indirect (type $w) (local.get 0) `+zeros+` (i32.const 5)))
		(func $down0 (type $f) (i64.add (i64.const 1) (call_indirect (type $f) (local.get 0) (i32.const 0))))
		(func $down1 (type $f) (i64.add (i64.const 1) (call_indirect (type $f) (local.get 0) (i32.const 1))))
		(func $pad (export "f") (type $f) (if (i64.eqz (local.get 0)) (then (return (call_indirect (type $f) (i64.const 0) (i32.const 2)))))
			(i64.add (i64.const 1) (call $pad (i64.sub (local.get 0) (i64.const 1))))))`, nil)
	f, err := inst.Func("f")
	if err != nil {
		t.Fatal(err)
	}
	around := map[string][]string{"grow0": {"down0", "down1"}, "grow1": {"down1", "down0"}, "down0": {"down1", "down0"}, "down1": {"down0", "down1"}}
	at := map[string]int{}
	for pad := range uint64(300) {
		out := []uint64{pad}
		var trap *inproc.Trap
		if err := f.Call(out, out); !errors.As(err, &trap) || trap.Code != abi.TrapStackOverflow || len(trap.Backtrace) < 3 {
			t.Fatalf("%d: %v", pad, err)
		}
		var names []string
		for _, f := range trap.Backtrace[:3] {
			names = append(names, f.Name)
		}
		at[names[0]]++
		if !slices.Equal(names[1:], around[names[0]]) {
			t.Errorf("%d: the backtrace begins with %s", pad, names)
		}
	}
	if at["grow0"] < 10 || at["grow1"] < 10 {
		t.Errorf("where the stack ends: %v", at)
	}
	t.Log(at)
}

// TestTailsEnd: endless chains of tail calls end with their context, whatever functions they go through, and the instance goes on to work.
func TestTailsEnd(t *testing.T) {
	s := newStore(t, inproc.Config{})
	other := instantiate(t, s, `(module (type $f (func (param i32 i64 i64 i64 i64 i64 i64 i64 i64 i64 i64) (result i32))) (table (export "t") 1 funcref)
		(func (export "f") (type $f) (return_call_indirect (type $f) (local.get 0) (local.get 1) (local.get 1) (local.get 1) (local.get 1) (local.get 1) (local.get 1) (local.get 1) (local.get 1) (local.get 1) (local.get 1) (i32.const 0))))`, nil)
	inst := instantiate(t, s, `(module (type $f (func (param i32 i64 i64 i64 i64 i64 i64 i64 i64 i64 i64) (result i32))) (import "o" "t" (table 1 funcref)) (import "o" "f" (func $o (type $f)))
		(func $self (export "self") (param i32) (result i32) (return_call $self (i32.add (local.get 0) (i32.const 1))))
		(func $a (export "mutual") (param i32) (result i32) (return_call $b (local.get 0) (i64.const 1) (i64.const 1) (i64.const 1) (i64.const 1) (i64.const 1) (i64.const 1) (i64.const 1) (i64.const 1) (i64.const 1) (i64.const 1)))
		(func $b (type $f) (return_call $a (i32.add (local.get 0) (i32.const 1))))
		(func $c (export "modules") (param i32) (result i32) (return_call $o (local.get 0) (i64.const 1) (i64.const 1) (i64.const 1) (i64.const 1) (i64.const 1) (i64.const 1) (i64.const 1) (i64.const 1) (i64.const 1) (i64.const 1)))
		(func $d (type $f) (return_call $c (i32.add (local.get 0) (i32.const 1))))
		(elem (i32.const 0) func $d)
		(func (export "check") (param i32) (result i32) (local.get 0)))`, func(_, name string) inproc.Extern {
		if name == "t" {
			table, err := other.Table("t")
			if err != nil {
				t.Fatal(err)
			}
			return table
		}
		f, err := other.Func("f")
		if err != nil {
			t.Fatal(err)
		}
		return f
	})
	for _, name := range []string{"self", "mutual", "modules"} {
		f, err := inst.Func(name)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
		out := []uint64{0}
		if err := f.CallContext(ctx, out, out); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
		check, err := inst.Func("check")
		if err != nil {
			t.Fatal(err)
		}
		if out[0] = 77; check.Call(out, out) != nil || out[0] != 77 {
			t.Errorf("%s: then %d", name, out[0])
		}
	}
}
