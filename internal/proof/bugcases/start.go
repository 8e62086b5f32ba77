package bugcases

import (
	"slices"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/proof/compare"
	"github.com/waot-project/waot/internal/proof/wat"
)

// Start is an instantiation that may trap on its way, in segments or in the start function.
type Start struct {
	Case compare.Case
	Trap abi.TrapCode
	// Memory is the first 16 bytes and the last two of the memory afterwards, a dot for zero; Table what its four elements
	// give, - for null. The first 18 calls of the case read the memory, the others call the elements.
	Memory, Table string
}

// Starts instantiates modules of which one segment does not fit, or whose start function traps: what comes before has happened, and
// nothing after it, in the memory and the table of another module, which goes on to use them.
func Starts() (out []Start) {
	const owner = `(module (memory (export "memory") 1) (table (export "table") 4 funcref) (global (export "g") (mut i32) (i32.const 0))
		(func (export "get") (param i32) (result i32) (i32.load8_u (local.get 0)))
		(func (export "call") (param i32) (result i32) (call_indirect (result i32) (local.get 0))))`
	const imports = `(import "owner" "memory" (memory 1)) (import "owner" "table" (table 4 funcref)) (import "owner" "g" (global $g (mut i32)))
		(func $one (result i32) (i32.const 1)) (func $two (result i32) (i32.add (i32.const 2) (global.get $g))) `
	const oob, noTable = abi.TrapMemoryOutOfBounds, abi.TrapTableOutOfBounds
	var calls []compare.Call
	for n := range uint64(18) {
		if n >= 16 {
			n += 65534 - 16
		}
		calls = append(calls, compare.Call{Module: 0, Func: "get", Args: []uint64{n}})
	}
	for n := range uint64(4) {
		calls = append(calls, compare.Call{Module: 0, Func: "call", Args: []uint64{n}})
	}
	for _, s := range []struct {
		body          string
		trap          abi.TrapCode
		memory, table string
	}{
		{`(func $s (i32.store8 (i32.const 8) (i32.const 65)) (global.set $g (i32.const 3)) unreachable) (start $s) (elem (i32.const 1) func $one $two)`,
			abi.TrapUnreachable, "........A.........", "-15-"},
		{`(data (i32.const 8) "abc") (data (i32.const 65534) "defg") (data (i32.const 12) "xyz") (elem (i32.const 0) func $two)`, oob, "........abc.......", "2---"},
		{`(elem (i32.const 0) func $one) (elem (i32.const 3) func $one $two) (elem (i32.const 1) func $two) (data (i32.const 4) "no")`, noTable, "..................", "1---"},
		{`(elem (i32.const 0) func $two $one) (data (i32.const 4) "yes") (data (i32.const 65537) "")`, oob, "....yes...........", "21--"},
		{`(elem (i32.const 4) func) (data (i32.const 65536) "") (data (i32.const 4) "yes") (data (i32.const 65534) "zz")`, abi.TrapNone, "....yes.........zz", "----"},
		{`(elem (i32.const 5) func) (data (i32.const 4) "no")`, noTable, "..................", "----"},
		{`(data (i32.const -1) "a")`, oob, "..................", "----"},
		{`(data (i32.const -1) "")`, oob, "..................", "----"},
		{`(elem (i32.const -1) func $one)`, noTable, "..................", "----"},
		{`(func $s (call $s)) (start $s)`, abi.TrapStackOverflow, "..................", "----"},
		{`(func $s (drop (i32.div_u (i32.const 1) (global.get $g)))) (start $s)`, abi.TrapIntegerDivideByZero, "..................", "----"},
		{`(func $s (global.set $g (i32.const 5)) (call_indirect (i32.const 0))) (elem (i32.const 0) func $two) (start $s)`, abi.TrapBadSignature, "..................", "7---"},
		{`(data $d (i32.const 0) "abc") (func $s (memory.init $d (i32.const 9) (i32.const 0) (i32.const 0)) (memory.init $d (i32.const 9) (i32.const 0) (i32.const 1))) (start $s)`, oob, "abc...............", "----"},
		{`(elem $e (i32.const 0) func $two) (func $s (table.init $e (i32.const 1) (i32.const 0) (i32.const 0)) (table.init $e (i32.const 1) (i32.const 0) (i32.const 1))) (start $s)`, noTable, "..................", "2---"},
		{`(data $d "abc") (func $s (memory.init $d (i32.const 65534) (i32.const 0) (i32.const 3))) (start $s)`, oob, "..................", "----"},
		{`(elem $e func $one $two) (func $s (table.init $e (i32.const 3) (i32.const 0) (i32.const 2))) (start $s)`, noTable, "..................", "----"},
		{`(elem $e func $one $two) (func $s (elem.drop $e) (table.init $e (i32.const 4) (i32.const 0) (i32.const 0)) (table.init $e (i32.const 0) (i32.const 1) (i32.const 0))) (start $s)`, noTable, "..................", "----"},
		{`(data $d "abc") (func $s (data.drop $d) (data.drop $d) (memory.init $d (i32.const 65536) (i32.const 0) (i32.const 0)) (memory.init $d (i32.const 65537) (i32.const 0) (i32.const 0))) (start $s)`, oob, "..................", "----"},
	} {
		modules := []compare.Module{{Name: "owner", Text: owner}, {Text: "(module " + imports + s.body + ")"}}
		out = append(out, Start{compare.Case{Modules: modules, Calls: calls}, s.trap, s.memory, s.table})
	}
	return out
}

// GrowInCallee grows memories and tables in callees, of the same module, of another and by the other's export, and then uses
// the old and the new range.
func GrowInCallee() (out []Case) {
	const owner = `(module (memory (export "memory") 1 6) (table (export "table") 2 8 funcref) (func $f (result i32) (i32.const 5)) (elem (i32.const 1) func $f)
		(func (export "grow") (param i32) (result i32) (memory.grow (local.get 0)))
		(func (export "growt") (param i32) (result i32) (table.grow (ref.func $f) (local.get 0)))
		(func (export "size") (result i32) (memory.size)) (func (export "get") (param i32) (result i32) (i32.load (local.get 0))))`
	const user = `(module (import "owner" "memory" (memory 1 6)) (import "owner" "table" (table 2 8 funcref))
		(import "owner" "grow" (func $grow (param i32) (result i32))) (import "owner" "growt" (func $growt (param i32) (result i32)))
		(func $own (param i32) (result i32) ` + wat.NotInlined + `(memory.grow (local.get 0)))
		(func (export "f") (param i32 i32) (result i32 i32 i32) (local $a i32) (local $b i32)
			(local.set $a (i32.load (i32.const 4))) (i32.store offset=8 (i32.const 0) (i32.const 6))
			(local.set $b (call $grow (local.get 0))) (i32.store (local.get 1) (i32.const 77))
			(i32.add (local.get $a) (i32.load (local.get 1))) (local.get $b) (memory.size))
		(func (export "g") (param i32 i32) (result i32 i32 i32) (local $a i32) (local $b i32)
			(local.set $a (memory.size)) (local.set $b (call $own (local.get 0))) (i64.store (local.get 1) (i64.const 78))
			(i32.add (local.get $a) (memory.size)) (local.get $b) (i32.load (local.get 1)))
		(func (export "h") (param i32 i32) (result i32 i32 i32) (local $a i32) (local $b i32)
			(local.set $a (table.size)) (local.set $b (call $growt (local.get 0)))
			(table.size) (local.get $b) (call_indirect (result i32) (local.get 1)))
		(func (export "bulk") (param i32 i32) (result i32 i32) (local $a i32)
			(memory.fill (i32.const 100) (i32.const 7) (i32.const 50)) (local.set $a (call $grow (local.get 0)))
			(memory.copy (local.get 1) (i32.const 100) (i32.const 50)) (memory.fill (i32.add (local.get 1) (i32.const 20)) (i32.const 9) (i32.const 5))
			(local.get $a) (i32.load offset=18 (local.get 1)))
		(func (export "bulkt") (param i32 i32) (result i32 i32) (local $a i32)
			(local.set $a (call $growt (local.get 0))) (table.copy (local.get 1) (i32.const 1) (i32.const 1)) (table.fill (i32.const 0) (table.get (local.get 1)) (i32.const 2))
			(local.get $a) (call_indirect (result i32) (i32.const 0)))
		(func (export "sizes") (param i32 i32) (result i32 i32 i32 i32 i32 i32) (memory.size) (memory.grow (local.get 0)) (memory.size) (table.size) (table.grow (ref.null func) (local.get 1)) (table.size))
		(func (export "branch") (param i32 i32) (result i32) (local $a i32) (local.set $a (memory.size)) (if (local.get 0) (then (drop (memory.grow (i32.const 1)))))
			(if (local.get 1) (then (drop (call $grow (i32.const 1))))) (i32.sub (memory.size) (local.get $a)))
		(func (export "k") (param i32 i32) (result i32) (loop $l (drop (memory.grow (local.get 0))) (i32.store8 (local.get 1) (i32.const 9))
			(local.set 1 (i32.add (local.get 1) (i32.const 65536))) (br_if $l (i32.lt_u (local.get 1) (i32.const 600000)))) (memory.size)))`
	add := func(name string, calls ...compare.Call) {
		out = append(out, Case{name, func() *compare.Case {
			return &compare.Case{Modules: []compare.Module{{Name: "owner", Text: owner}, {Text: user}}, Calls: calls, Watch: true}
		}})
	}
	on := func(name string, args ...[]uint64) (calls []compare.Call) {
		for _, x := range args {
			calls = append(calls, compare.Call{Module: 1, Func: name, Args: x})
		}
		return calls
	}
	var calls []compare.Call
	for _, x := range [][]uint64{{0, 65532}, {0, 65533}, {1, 65533}, {1, 131072}, {1, 196604}, {1, 196605}, {9, 0}, {0xFFFFFFFF, 0}, {1, 262140}, {2, 262144}, {1, 393212}, {1, 393213}} {
		calls = append(calls, compare.Call{Module: 1, Func: "f", Args: x}, compare.Call{Module: 1, Func: "g", Args: []uint64{0, x[1]}}, compare.Call{Module: 0, Func: "get", Args: x[1:]}, compare.Call{Module: 0, Func: "size"})
	}
	add("accesses", append(calls, on("h", []uint64{0, 1}, []uint64{0, 0}, []uint64{0, 2}, []uint64{1, 2}, []uint64{1, 3}, []uint64{1, 5}, []uint64{9, 1}, []uint64{4, 7}, []uint64{0, 8}, []uint64{0xFFFFFFFF, 7})...)...)
	add("loops", slices.Concat(on("k", []uint64{1, 65535}), on("g", []uint64{1, 0}), on("k", []uint64{0, 3}))...)
	add("sizes", on("sizes", []uint64{0, 0}, []uint64{1, 1}, []uint64{1, 0}, []uint64{0, 2}, []uint64{9, 9}, []uint64{1, 1})...)
	add("branches", on("branch", []uint64{0, 0}, []uint64{1, 0}, []uint64{0, 1}, []uint64{1, 1}, []uint64{1, 1})...)
	add("bulk", append(on("bulk", []uint64{0, 65486}, []uint64{0, 65487}, []uint64{1, 65500}, []uint64{1, 131100}, []uint64{0, 196558}, []uint64{0, 196559}, []uint64{9, 400}, []uint64{3, 393166}, []uint64{0, 393167}),
		on("bulkt", []uint64{0, 0}, []uint64{0, 2}, []uint64{1, 2}, []uint64{2, 4}, []uint64{0, 5}, []uint64{9, 1}, []uint64{3, 7}, []uint64{0, 8})...)...)
	return out
}
