package edges

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/waot-project/waot/bench/protocol"
	"github.com/waot-project/waot/wasmfront/wat"
)

// Loop is an item of its own: an exported function that does an operation n times and returns n. So engines that no Go program has can measure it, too.
type Loop struct {
	Name         string
	Module, Func string
	// Args are arguments behind n.
	Args []uint64
	// Start is not 0 of a program for WASI: then the function takes and gives nothing, does as many operations in an instance, and prints what is expected.
	Start uint64
}

// Loops are measured in nanoseconds of processor time. Their modules are small, so that what an engine lacks leaves out few of them.
func Loops() (loops []*Loop) {
	add := func(name, module, function string, args ...uint64) {
		loops = append(loops, &Loop{Name: name, Module: module, Func: function, Args: args})
	}
	for _, frames := range []uint64{1, 10, 100} {
		add(fmt.Sprintf("throw, and catch %d frames up", frames), "throwing", "throw", frames-1)
		add(fmt.Sprintf("return from %d frames", frames), "throwing", "return", frames-1)
	}
	add("throw, catch a reference 10 frames up, and throw it again", "throwing", "again", 9)
	for _, x := range []struct{ of, module string }{{"", "parser"}, {", legacy exceptions", "legacy parser"}} {
		add("parse a text in C++, 9 levels deep"+x.of, x.module, "good")
		add("parse one with a mistake in its innermost level"+x.of, x.module, "bad")
	}
	if programs() != "" {
		for _, x := range []struct{ of, module string }{{"", "ehbig-new"}, {", legacy exceptions", "ehbig-legacy"}} {
			loops = append(loops, &Loop{Name: "throw and catch in a C++ program" + x.of, Module: x.module, Func: "_start", Start: 200_000})
		}
	}
	for _, x := range []struct{ how, function string }{
		{"direct", "direct"}, {"direct, 2 and 12 parameters in turn", "wide"},
		{"through a table", "table"}, {"through a table, 2 and 12 parameters in turn", "widetable"},
	} {
		add("tail call: "+x.how, "tails", x.function)
	}
	add("tail call: through a reference", "tails through references", "ref")
	add("call and return: through a table", "calls", "table", 0)
	add("call and return: through a reference", "calls through references", "one")
	add("call and return: through a table, to two functions in turn", "calls", "table", 1)
	add("call and return: through a reference, to two functions in turn", "calls through references", "two")
	return loops
}

// programs is the folder of programs that use what WebAssembly 3.0 has added, or empty.
func programs() string { return os.Getenv("WAOT_WASM3_DIR") }

// measure calls a loop with what makes it last some milliseconds.
func (l *Loop) measure(b *bench) (float64, error) {
	p, err := b.program(l.Module)
	if err != nil {
		return 0, err
	}
	if l.Start > 0 {
		v, err := perOp(processorTime, once(func() error { return l.start(p) }))
		return v / float64(l.Start), err
	}
	i, f, err := l.instance(p, nil)
	if err != nil {
		return 0, err
	}
	defer i.Close()
	return perOp(processorTime, func(n uint64) error {
		stack := append([]uint64{n}, l.Args...)
		err := f.Raw(context.Background(), stack)
		if err == nil && uint32(stack[0]) != uint32(n) {
			err = fmt.Errorf("%s gives %d, not %d", l.Func, uint32(stack[0]), n)
		}
		return err
	})
}

func (l *Loop) instance(p Program, stdout *os.File) (Instance, Func, error) {
	i, err := p.Instantiate(stdout != nil, stdout)
	if err != nil {
		return nil, Func{}, err
	}
	f, err := i.Func(l.Func)
	if err != nil {
		i.Close()
	}
	return i, f, err
}

// start runs a program.
func (l *Loop) start(p Program) error {
	stdout, err := os.CreateTemp("", "stdout")
	if err != nil {
		return err
	}
	defer os.Remove(stdout.Name())
	defer stdout.Close()
	i, f, err := l.instance(p, stdout)
	if err != nil {
		return err
	}
	defer i.Close()
	if err := f.Raw(context.Background(), nil); err != nil {
		return err
	}
	got, err := os.ReadFile(stdout.Name())
	if err != nil {
		return err
	}
	want, err := os.ReadFile(filepath.Join(programs(), l.Module+".expected"))
	if err == nil && string(got) != string(want) {
		err = fmt.Errorf("%s prints %q", l.Module, got)
	}
	return err
}

// processorTime begins to measure the time of this process on all processors.
func processorTime() func() time.Duration {
	c := protocol.Start()
	return func() time.Duration {
		_, cpu := c.Read()
		return time.Duration(cpu)
	}
}

//go:embed parser/parser.wasm
var parser []byte

//go:embed parser/legacy.wasm
var legacyParser []byte

// loopModule returns the module of a loop.
func loopModule(name string) ([]byte, bool, error) {
	switch name {
	case "parser":
		return parser, true, nil
	case "legacy parser":
		return legacyParser, true, nil
	}
	if slices.ContainsFunc(Loops(), func(l *Loop) bool { return l.Start > 0 && l.Module == name }) {
		wasm, err := os.ReadFile(filepath.Join(programs(), name+".wasm"))
		return wasm, true, err
	}
	text, ok := loopTexts()[name]
	if !ok {
		return nil, false, nil
	}
	m, err := wat.Assemble([]byte(text))
	if err != nil {
		return nil, true, err
	}
	return m.Wasm, true, nil
}

// loopTexts are the modules that are text.
func loopTexts() map[string]string {
	return map[string]string{"throwing": throwing, "tails": tails(), "tails through references": tailRefs, "calls": calls, "calls through references": callRefs}
}

// throwing has functions that throw and catch n times, d+1 frames up, and count it. Frames are of calls through a table, which nobody inlines.
const throwing = `(module (tag $t (param i32)) (table 2 2 funcref) (elem (i32.const 0) $throws $returns) (type $f (func (param i32) (result i32)))
	(func $throws (type $f)
		(if (i32.eqz (local.get 0)) (then (throw $t (i32.const 1))))
		(i32.mul (call_indirect (type $f) (i32.sub (local.get 0) (i32.const 1)) (i32.const 0)) (i32.const 2)))
	(func $returns (type $f)
		(if (i32.eqz (local.get 0)) (then (return (i32.const 1))))
		(i32.add (call_indirect (type $f) (i32.sub (local.get 0) (i32.const 1)) (i32.const 1)) (i32.const 0)))
	(func (export "throw") (param $n i32) (param $d i32) (result i32) (local $sum i32) (loop $l
		(block $h (result i32) (try_table (catch $t $h) (drop (call_indirect (type $f) (local.get $d) (i32.const 0)))) unreachable)
		(local.set $sum (i32.add (local.get $sum)))
		(br_if $l (local.tee $n (i32.sub (local.get $n) (i32.const 1))))) (local.get $sum))
	(func (export "again") (param $n i32) (param $d i32) (result i32) (local $sum i32) (local $x exnref) (loop $l
		(local.set $x (block $h (result exnref) (try_table (catch_all_ref $h) (drop (call_indirect (type $f) (local.get $d) (i32.const 0)))) unreachable))
		(block $g (result i32) (try_table (catch $t $g) (throw_ref (local.get $x))) unreachable)
		(local.set $sum (i32.add (local.get $sum)))
		(br_if $l (local.tee $n (i32.sub (local.get $n) (i32.const 1))))) (local.get $sum))
	(func (export "return") (param $n i32) (param $d i32) (result i32) (local $sum i32) (loop $l
		(call_indirect (type $f) (local.get $d) (i32.const 1))
		(local.set $sum (i32.add (local.get $sum)))
		(br_if $l (local.tee $n (i32.sub (local.get $n) (i32.const 1))))) (local.get $sum)))`

// tails has functions that make n tail calls, and count them. Some have ten parameters more, which they pass on.
func tails() string {
	const few, ten = "(param $n i32) (param $sum i32) (result i32) ", "i32 i32 i32 i32 i32 i32 i32 i32 i32 i32"
	const end = "(if (i32.eqz (local.get $n)) (then (return (local.get $sum)))) "
	const next = "(i32.sub (local.get $n) (i32.const 1)) (i32.add (local.get $sum) (i32.const 1))"
	more := " " + strings.Repeat("(local.get $n) ", 10)
	const wide = "(param $n i32) (param $sum i32) (param " + ten + ") (result i32) "
	// They are all the same number, but nothing says so.
	const fewer = "(i32.sub (local.get $n) (i32.const 1)) (i32.add (local.get $sum) (i32.add (i32.const 1) (i32.sub (local.get 2) (local.get 11))))"
	return `(module (type $few (func (param i32 i32) (result i32))) (type $wide (func (param i32 i32 ` + ten + `) (result i32)))
		(table 4 4 funcref) (elem (i32.const 0) $e $f $g $h)
		(func $a ` + few + end + "(return_call $b " + next + `))
		(func $b ` + few + end + "(return_call $a " + next + `))
		(func $c ` + few + end + "(return_call $d " + next + more + `))
		(func $d ` + wide + end + "(return_call $c " + fewer + `))
		(func $e ` + few + end + "(return_call_indirect (type $few) " + next + ` (i32.const 1)))
		(func $f ` + few + end + "(return_call_indirect (type $few) " + next + ` (i32.const 0)))
		(func $g ` + few + end + "(return_call_indirect (type $wide) " + next + more + ` (i32.const 3)))
		(func $h ` + wide + end + "(return_call_indirect (type $few) " + fewer + ` (i32.const 2)))
		(func (export "direct") (param i32) (result i32) (call $a (local.get 0) (i32.const 0)))
		(func (export "wide") (param i32) (result i32) (call $c (local.get 0) (i32.const 0)))
		(func (export "table") (param i32) (result i32) (call $e (local.get 0) (i32.const 0)))
		(func (export "widetable") (param i32) (result i32) (call $g (local.get 0) (i32.const 0))))`
}

// tailRefs has what tails has, through references that may change.
const tailRefs = `(module (type $f (func (param i32 i32) (result i32)))
	(global $x (export "x") (mut (ref null $f)) (ref.func $a)) (global $y (export "y") (mut (ref null $f)) (ref.func $b))
	(func $a (type $f) (if (i32.eqz (local.get 0)) (then (return (local.get 1))))
		(return_call_ref $f (i32.sub (local.get 0) (i32.const 1)) (i32.add (local.get 1) (i32.const 1)) (global.get $y)))
	(func $b (type $f) (if (i32.eqz (local.get 0)) (then (return (local.get 1))))
		(return_call_ref $f (i32.sub (local.get 0) (i32.const 1)) (i32.add (local.get 1) (i32.const 1)) (global.get $x)))
	(func (export "ref") (param i32) (result i32) (call_ref $f (local.get 0) (i32.const 0) (global.get $x))))`

// calls calls functions n times, which count it: two in turn if mask is 1, and one if it is 0.
const calls = `(module (type $f (func (param i32) (result i32))) (table (export "t") 2 2 funcref) (elem (i32.const 0) $a $b)
	(func $a (type $f) (i32.add (local.get 0) (i32.const 1)))
	(func $b (type $f) (i32.sub (local.get 0) (i32.const -1)))
	(func (export "table") (param $n i32) (param $mask i32) (result i32) (local $sum i32) (loop $l
		(local.set $sum (call_indirect (type $f) (local.get $sum) (i32.and (local.get $n) (local.get $mask))))
		(br_if $l (local.tee $n (i32.sub (local.get $n) (i32.const 1))))) (local.get $sum)))`

// callRefs calls one function or two in turn, through references that may change.
const callRefs = `(module (type $f (func (param i32) (result i32)))
	(global $x (export "x") (mut (ref null $f)) (ref.func $a)) (global $y (export "y") (mut (ref null $f)) (ref.func $b))
	(func $a (type $f) (i32.add (local.get 0) (i32.const 1)))
	(func $b (type $f) (i32.sub (local.get 0) (i32.const -1)))
	(func (export "one") (param $n i32) (result i32) (local $sum i32) (loop $l
		(local.set $sum (call_ref $f (local.get $sum) (global.get $x)))
		(br_if $l (local.tee $n (i32.sub (local.get $n) (i32.const 1))))) (local.get $sum))
	(func (export "two") (param $n i32) (result i32) (local $sum i32) (loop $l
		(local.set $sum (call_ref $f (local.get $sum) (select (result (ref null $f)) (global.get $x) (global.get $y) (i32.and (local.get $n) (i32.const 1)))))
		(br_if $l (local.tee $n (i32.sub (local.get $n) (i32.const 1))))) (local.get $sum)))`

// WriteLoops writes the loops and their modules to a folder.
func WriteLoops(dir string) error {
	loops := Loops()
	text, err := json.Marshal(loops)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "loops.json"), text, 0o666); err != nil {
		return err
	}
	for _, l := range loops {
		wasm, _, err := loopModule(l.Module)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, l.Module+".wasm"), wasm, 0o666); err != nil {
			return err
		}
	}
	return nil
}
