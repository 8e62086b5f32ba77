package validate_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/validate"
	"github.com/waot-project/waot/wasmfront/wat"
)

var withExceptions = validate.Config{Features: wasmfront.DecodableFeatures}

// assembled returns the module of a text that has some types, tags and functions in front.
func assembled(t *testing.T, fields string) []byte {
	t.Helper()
	const first = `(type $t (func)) (tag $e) (tag $i (param i32)) (tag $il (param i32 i64)) (tag $f (param (ref $t))) (table $x 1 exnref) (table $ext 1 externref) (func $dummy) `
	m, err := wat.Assemble([]byte(first + fields))
	if err != nil {
		t.Fatalf("%s: %v", fields, err)
	}
	return m.Wasm
}

// TestExceptions: what is valid, and what is not, with the message.
func TestExceptions(t *testing.T) {
	for _, c := range []struct{ fields, msg string }{
		// Tags.
		{`(tag (type 1))`, ``},
		{`(tag (type 9))`, `unknown type 9`},
		{`(tag (result i32))`, `non-empty tag result type: () -> (i32)`},
		{`(tag (param i32) (result i32 i64))`, `non-empty tag result type`},
		{`(export "a" (tag 3))`, ``},
		{`(export "a" (tag 4))`, `unknown tag 4`},
		{`(export "a" (tag 0)) (export "a" (func 0))`, `duplicate export name "a"`},

		// Throwing.
		{`(func (throw $il (i32.const 1) (i64.const 2)))`, ``},
		{`(func (result f64) (throw $e))`, ``},
		{`(func (throw $il (i64.const 2) (i32.const 1)))`, `type mismatch: expected i64 but i32 on the stack`},
		{`(func (throw $i))`, `type mismatch: expected i32 but nothing on the stack`},
		{`(func (throw 4))`, `unknown tag 4`},
		{`(func (unreachable) (throw $il))`, ``},
		{`(func (unreachable) (i64.const 1) (throw $il))`, ``},
		{`(func (unreachable) (i32.const 1) (throw $il))`, `type mismatch`},
		{`(func (throw $e) (throw_ref) (throw $il) (drop))`, ``},
		{`(func (param exnref) (throw_ref (local.get 0)))`, ``},
		{`(func (param (ref exn)) (result i32) (throw_ref (local.get 0)))`, ``},
		{`(func (throw_ref (ref.null noexn)))`, ``},
		{`(func (throw_ref))`, `type mismatch: expected exnref but nothing on the stack`},
		{`(func (param externref) (throw_ref (local.get 0)))`, `type mismatch: expected exnref but externref on the stack`},
		{`(func (param funcref) (throw_ref (local.get 0)))`, `type mismatch: expected exnref but funcref on the stack`},
		{`(func (throw_ref (i64.const 0)))`, `type mismatch: expected exnref but i64 on the stack`},

		// Labels of clauses: those around the block.
		{`(func (try_table (catch_all 0) (catch $e 0)))`, ``},
		{`(func (try_table (catch_all 1)))`, `unknown label 1`},
		{`(func (block (block (try_table (catch_all 2)))))`, ``},
		{`(func (block (block (try_table (catch_all 3)))))`, `unknown label 3`},
		{`(func (block $a (result i32) (try_table $b (result i64) (catch $i $a) (i64.const 1)) (drop) (i32.const 1)) (drop))`, ``},
		{`(func (block $a (try_table $b (result i32) (catch $i $a) (i32.const 1)) (drop)))`, `type mismatch: catch of an exception that brings other values than the label takes`},
		{`(func (block $a (result i32) (try_table (catch $e $a)) (i32.const 1)) (drop))`, `type mismatch: catch of`},
		{`(func (block $a (result i32) (try_table (catch_all $a)) (i32.const 1)) (drop))`, `type mismatch: catch_all of`},
		{`(func (block $a (result i64) (try_table (catch $i $a)) (i64.const 1)) (drop))`, `type mismatch: catch of`},
		{`(func (block $a (result i32) (try_table (catch $il $a)) (i32.const 1)) (drop))`, `type mismatch: catch of`},
		{`(func (block $a (result i64) (try_table (catch $il $a)) (i64.const 1)) (drop))`, `type mismatch: catch of`},
		{`(func (result i32 i64) (try_table (catch $il 0)) (i32.const 1) (i64.const 1))`, ``},
		{`(func (result i64 i32) (try_table (catch $il 0)) (i64.const 1) (i32.const 1))`, `type mismatch: catch of`},
		{`(func (i32.const 1) (loop $a (param i32) (drop) (try_table (catch $i $a))))`, ``},
		{`(func (loop $a (result i32) (try_table (catch $i $a)) (i32.const 1)) (drop))`, `type mismatch: catch of`},
		{`(func (try_table (catch 4 0)))`, `unknown tag 4`},
		{`(func (try_table (catch_ref 4 0)))`, `unknown tag 4`},

		// The reference is the last operand, and not null.
		{`(func (result (ref exn)) (try_table (catch_all_ref 0)) (unreachable))`, ``},
		{`(func (result exnref) (try_table (catch_all_ref 0) (catch_ref $e 0)) (unreachable))`, ``},
		{`(func (result nullexnref) (try_table (catch_all_ref 0)) (unreachable))`, `type mismatch: catch_all_ref for a label that does not take a reference`},
		{`(func (result externref) (try_table (catch_all_ref 0)) (unreachable))`, `type mismatch: catch_all_ref for a label`},
		{`(func (result funcref) (try_table (catch_ref $e 0)) (unreachable))`, `type mismatch: catch_ref for a label`},
		{`(func (try_table (catch_all_ref 0)))`, `type mismatch: catch_all_ref for a label`},
		{`(func (result i32 exnref) (try_table (catch_ref $i 0)) (unreachable))`, ``},
		{`(func (result exnref i32) (try_table (catch_ref $i 0)) (unreachable))`, `type mismatch: catch_ref for a label`},
		{`(func (result exnref) (try_table (catch_ref $i 0)) (unreachable))`, `type mismatch: catch_ref of an exception`},
		{`(func (result i32 exnref) (try_table (catch_all_ref 0)) (unreachable))`, `type mismatch: catch_all_ref of an exception`},
		{`(func (result exnref) (try_table (catch_all 0)) (unreachable))`, `type mismatch: catch_all of an exception`},
		{`(func (result (ref null $t)) (try_table (catch $f 0)) (unreachable))`, ``},
		{`(func (result funcref exnref) (try_table (catch_ref $f 0)) (unreachable))`, ``},
		{`(tag $n (param funcref)) (func (result (ref func)) (try_table (catch $n 0)) (unreachable))`, `type mismatch: catch of`},

		// A try_table is a block.
		{`(func (result i32) (i32.const 1) (try_table (param i32) (result i32 i64) (i64.const 1)) (drop))`, ``},
		{`(func (try_table (result i32)) (drop))`, `type mismatch: expected i32 but nothing on the stack`},
		{`(func (try_table (i32.const 1)))`, `type mismatch: values remaining on stack at end of block`},
		{`(func (try_table (param i32) (drop)))`, `type mismatch: expected i32 but nothing on the stack`},
		{`(func (result i32) (try_table (result i32) (br 0 (i32.const 1))))`, ``},
		{`(func (result i32) (block $a (try_table (result i32) (catch_all $a) (br 0)) (drop)) (i32.const 2))`, `type mismatch: expected i32 but nothing`},

		// In unreachable code, clauses are checked all the same.
		{`(func (unreachable) (try_table (catch_all 0) (throw $e)))`, ``},
		{`(func (result i32) (unreachable) (try_table (param i32) (result i32) (catch $i 0)))`, ``},
		{`(func (return) (block $a (try_table (catch_all $a) (catch $e $a) (unreachable))))`, ``},
		{`(func (unreachable) (try_table (catch_all_ref 0)))`, `type mismatch: catch_all_ref for a label`},
		{`(func (unreachable) (try_table (catch $i 0)))`, `type mismatch: catch of`},
		{`(func (unreachable) (try (do) (catch $i)))`, `type mismatch: values remaining on stack at end of block`},
		{`(func (unreachable) (try (result i32) (do (unreachable)) (catch $i) (catch_all (unreachable))) (drop))`, ``},

		// The parts of a try.
		{`(func (result i32) (try (result i32) (do (i32.const 1)) (catch $i) (catch $il (drop)) (catch $e (i32.const 2)) (catch_all (i32.const 3))))`, ``},
		{`(func (try (do)))`, ``},
		{`(func (i32.const 1) (try (param i32) (do (drop)) (catch $i (drop)) (catch_all)))`, ``},
		{`(func (i32.const 1) (try (param i32) (do (drop)) (catch_all (drop))))`, `type mismatch: nothing on the stack`},
		{`(func (try (result i32) (do) (catch_all (i32.const 1))) (drop))`, `type mismatch: expected i32 but nothing on the stack`},
		{`(func (try (result i32) (do (i32.const 1)) (catch $e)) (drop))`, `type mismatch: expected i32 but nothing on the stack`},
		{`(func (try (result i32) (do (i32.const 1)) (catch_all)) (drop))`, `type mismatch: expected i32 but nothing on the stack`},
		{`(func (try (do) (catch $i)))`, `type mismatch: values remaining on stack at end of block`},
		{`(func (try (do) (catch_all (i32.const 1))))`, `type mismatch: values remaining on stack at end of block`},
		{`(func (try (do) (catch 4)))`, `unknown tag 4`},
		{`(func (result i32) (try (result i32) (do (br 0 (i32.const 1))) (catch_all (br 0 (i32.const 2)))))`, ``},
		{`(func (result i32) (try (result i32) (do (i32.const 1)) (catch_all (br 0))))`, `type mismatch: expected i32 but nothing`},
		{`(func (try (do (throw $e) (drop)) (catch_all (rethrow 0) (drop))))`, ``},
		{`(func (try (do (throw $e)) (catch_all (drop))))`, `type mismatch: nothing on the stack`},

		// Rethrow.
		{`(func (try $t (do) (catch $e (try $u (do (rethrow $t)) (catch_all (block (rethrow $t) (rethrow $u)) (rethrow $t) (rethrow $u))))))`, ``},
		{`(func (try $t (do (rethrow $t)) (catch_all)))`, `invalid rethrow label 0: the block is try`},
		{`(func (try $t (do) (catch_all (try $u (do (rethrow $u)) (catch_all)))))`, `invalid rethrow label 0: the block is try`},
		{`(func (try (do) (catch_all (block $b (rethrow $b)))))`, `invalid rethrow label 0: the block is block`},
		{`(func (try (do) (catch_all (rethrow 1))))`, `invalid rethrow label 1: the block is func`},
		{`(func (try (do) (catch_all (rethrow 2))))`, `unknown label 2`},
		{`(func (block (try_table (catch_all 0) (rethrow 0))))`, `invalid rethrow label 0: the block is try_table`},
		{`(func (try (do (rethrow 0)) (delegate 0)))`, `invalid rethrow label 0: the block is try`},
		{`(func (unreachable) (rethrow 0))`, `invalid rethrow label 0: the block is func`},

		// Delegate.
		{`(func (try (do) (delegate 0)))`, ``},
		{`(func (try (do) (delegate 1)))`, `unknown label 1`},
		{`(func (block (loop (try (do) (catch_all (try (do) (delegate 0)) (try (do) (delegate 3)))))))`, ``},
		{`(func (block (loop (try (do) (catch_all (try (do) (delegate 4)))))))`, `unknown label 4`},
		{`(func (try (do) (delegate 4294967295)))`, `unknown label 4294967295`},
		{`(func (result i32) (i32.const 1) (try (param i32) (result i32) (do) (delegate 0)))`, ``},
		{`(func (try (result i32) (do) (delegate 0)) (drop))`, `type mismatch: expected i32 but nothing on the stack`},
		{`(func (try (do (i32.const 1)) (delegate 0)))`, `type mismatch: values remaining on stack at end of block`},

		// Both kinds in a module, and in a function.
		{`(func (try (do (block (try_table (catch_all 0) (throw $e)))) (catch_all (block $r (result exnref) (try_table (catch_all_ref $r) (rethrow 2)) (unreachable)) (throw_ref))))`, ``},

		// A local that is never null has no value behind what may not have run to the end.
		{`(func (param (ref exn)) (local (ref exn)) (local.set 1 (local.get 0)) (try_table (drop (local.get 1))))`, ``},
		{`(func (param (ref exn)) (local (ref exn)) (try_table (local.set 1 (local.get 0)) (drop (local.get 1))))`, ``},
		{`(func (param (ref exn)) (local (ref exn)) (try_table (local.set 1 (local.get 0))) (drop (local.get 1)))`, `uninitialized local 1`},
		{`(func (param (ref exn)) (local (ref exn)) (try (do (local.set 1 (local.get 0))) (catch_all (drop (local.get 1)))))`, `uninitialized local 1`},
		{`(func (param (ref exn)) (local (ref exn)) (try (do) (catch $e (local.set 1 (local.get 0))) (catch_all (drop (local.get 1)))))`, `uninitialized local 1`},
		{`(func (param (ref exn)) (local (ref exn)) (try (do (local.set 1 (local.get 0))) (delegate 0)) (drop (local.get 1)))`, `uninitialized local 1`},

		// References to exceptions are no others.
		{`(func (local exnref nullexnref) (local.set 0 (local.get 1)) (drop (local.get 0)))`, ``},
		{`(func (local exnref nullexnref) (local.set 1 (local.get 0)))`, `type mismatch: expected nullexnref but exnref on the stack`},
		{`(func (local exnref externref) (local.set 1 (local.get 0)))`, `type mismatch: expected externref but exnref on the stack`},
		{`(func (local exnref externref) (local.set 0 (local.get 1)))`, `type mismatch: expected exnref but externref on the stack`},
		{`(func (local exnref) (local.set 0 (ref.null extern)))`, `type mismatch: expected exnref but externref on the stack`},
		{`(func (local externref) (local.set 0 (ref.null noexn)))`, `type mismatch: expected externref but nullexnref on the stack`},
		{`(global exnref (ref.null exn)) (global exnref (ref.null noexn)) (global nullexnref (ref.null noexn)) (global exnref (global.get 2)) (global (mut exnref) (ref.null exn))`, ``},
		{`(global exnref (ref.null extern))`, `type mismatch: constant expression must yield one exnref`},
		{`(global externref (ref.null exn))`, `type mismatch: constant expression must yield one externref`},
		{`(global nullexnref (ref.null exn))`, `type mismatch: constant expression must yield one nullexnref`},
		{`(global (ref exn) (ref.null exn))`, `type mismatch: constant expression must yield one (ref exn)`},
		{`(table 1 (ref exn))`, `type mismatch: table of (ref exn) without an initial value`},
		{`(table 1 exnref (ref.null noexn))`, ``},
		{`(elem (table $x) (i32.const 0) exnref (ref.null exn))`, ``},
		{`(elem (table $x) (i32.const 0) nullexnref (ref.null noexn))`, ``},
		{`(elem (table $ext) (i32.const 0) exnref (ref.null exn))`, `type mismatch: segment of exnref for a table of externref`},
		{`(elem (table $x) (i32.const 0) externref (ref.null extern))`, `type mismatch: segment of externref for a table of exnref`},
		{`(elem (table $x) (i32.const 0) func 0)`, `type mismatch: segment of (ref func) for a table of exnref`},
		{`(func (table.copy $x $x (i32.const 0) (i32.const 0) (i32.const 0)))`, ``},
		{`(func (table.copy $x $ext (i32.const 0) (i32.const 0) (i32.const 0)))`, `type mismatch: table of externref for a table of exnref`},
		{`(func (table.set $x (i32.const 0) (ref.null extern)))`, `type mismatch: expected exnref but externref`},
		{`(func (throw_ref (table.get $x (i32.const 0))))`, ``},
		{`(func (call_indirect $x (i32.const 0)))`, `type mismatch: indirect call through a table of exnref`},
		{`(func (call_ref $t (ref.null exn)))`, `type mismatch: expected (ref null 0) but exnref`},
		{`(func (param exnref) (drop (ref.is_null (local.get 0))) (throw_ref (ref.as_non_null (local.get 0))))`, ``},
		{`(func (param exnref) (result (ref exn)) (block $n (return (br_on_null $n (local.get 0)))) (unreachable))`, ``},
		{`(func (param exnref) (result (ref exn)) (br_on_non_null 0 (local.get 0)) (unreachable))`, ``},
		{`(func (param exnref i32) (drop (select (result exnref) (local.get 0) (ref.null noexn) (local.get 1))))`, ``},
		{`(func (param exnref i32) (drop (select (local.get 0) (local.get 0) (local.get 1))))`, `type mismatch: select of exnref and exnref`},
		{`(func (unreachable) (ref.as_non_null) (throw_ref))`, ``},
	} {
		_, err := validate.All(assembled(t, c.fields), withExceptions)
		switch {
		case c.msg != "":
			if t.Run(c.fields, func(t *testing.T) { wantError(t, err, c.msg, "") }) {
				continue
			}
		case err != nil:
			t.Errorf("%s: %v", c.fields, err)
		}
	}
}

// TestExceptionBytes: bodies that no text can have.
func TestExceptionBytes(t *testing.T) {
	const try, catch0, catchAll, end, delegate0 = "\x06\x40", "\x07\x00", "\x19", "\x0b", "\x18\x00"
	for _, c := range []struct{ body, msg string }{
		{try + catch0 + catchAll + end, ""},
		{try + catchAll + catch0 + end, "END opcode expected: catch in a block that is catch_all"},
		{try + catchAll + catchAll + end, "END opcode expected: catch_all in a block that is catch_all"},
		{try + catch0 + delegate0, "END opcode expected: delegate in a block that is catch"},
		{try + catchAll + delegate0, "END opcode expected: delegate in a block that is catch_all"},
		{try + delegate0 + catchAll + end, "END opcode expected: catch_all in a block that is func"},
		{try + "\x05" + end, "END opcode expected: else without if"},
		{catch0, "END opcode expected: catch in a block that is func"},
		{catchAll, "END opcode expected: catch_all in a block that is func"},
		{delegate0, "END opcode expected: delegate in a block that is func"},
		{"\x02\x40" + catch0 + end, "END opcode expected: catch in a block that is block"},
		{"\x41\x00\x04\x40\x05" + catchAll + end, "END opcode expected: catch_all in a block that is else"},
		{"\x1f\x40\x00" + catchAll + end, "END opcode expected: catch_all in a block that is try_table"},
		{"\x1f\x40\x00" + delegate0, "END opcode expected: delegate in a block that is try_table"},
		{"\x1f\x40\x01\x04\x00" + end, "malformed catch clause 0x04"},
		{"\x1f\x40\x01\xff\x00" + end, "malformed catch clause 0xff"},
		{try, "section size mismatch: unexpected end"},
		{try + catchAll, "section size mismatch: unexpected end"},
		{"\x06\x05" + end, "unknown type 5"},
		{"\x1f\x67\x00" + end, "unsupported type 0x67"},
		{"\x08\x00\x00", ""},
	} {
		b := module(section(1, vec(funcType(nil, nil))), section(3, vec("\x00")), section(13, vec("\x00\x00")), section(7, vec("\x01t\x04\x00")), section(10, vec(sized("\x00"+c.body+end))),
			section(11, vec("\x01\x00")))
		if c.msg == "" {
			if _, err := validate.All(b, withExceptions); err != nil {
				t.Errorf("% x: %v", c.body, err)
			}
			continue
		}
		_, err := validate.All(b, withExceptions)
		if e, ok := err.(*wasmfront.Error); !ok || !strings.HasPrefix(e.Msg, c.msg) {
			t.Errorf("% x: %v, want %s", c.body, err, c.msg)
		}
		checkInput(t, b)
	}
	for _, c := range []struct{ tags, msg string }{
		{vec("\x01\x00"), "malformed tag attribute 0x01"},
		{vec("\x00\x80\x80\x80\x80\x10"), "integer too large"},
		{"\x02\x00\x00", "unexpected end"},
	} {
		_, err := validate.All(module(section(1, vec(funcType(nil, nil))), section(13, c.tags)), withExceptions)
		wantError(t, err, c.msg, "")
	}
	_, err := validate.All(module(section(1, vec(funcType(nil, nil))), section(6, vec("\x7f\x00\x41\x00\x0b")), section(13, vec("\x00\x00"))), withExceptions)
	wantError(t, err, "unexpected content after last section: tag section out of order", "")
	_, err = validate.All(module(section(1, vec(funcType(nil, nil))), section(13, vec("\x00\x00")), section(5, vec("\x00\x00"))), withExceptions)
	wantError(t, err, "unexpected content after last section: memory section out of order", "")
}

// TestExceptionOperators: what a reader of a body gets to know of each operator.
func TestExceptionOperators(t *testing.T) {
	b := assembled(t, `(func
		(block $out (result i32)
			(block $ref (result i32 i64 exnref)
				(try_table (result i32) (catch $i $out) (catch_ref $il $ref) (i32.const 1))
				(br $out))
			(throw_ref))
		(try (param i32) (result i64)
			(do (try (param i32) (do drop (throw $e)) (delegate 0)) (unreachable))
			(catch $il (drop) (drop) (rethrow 0))
			(catch_all (i64.const 1)))
		(drop))`)
	m, err := validate.Module(b, withExceptions)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	var f validate.Func
	var op wasmfront.Operator
	for f.Begin(m, 1); f.Next(&op); {
		_, opens := op.Op.Opens()
		line := op.Op.String()
		switch {
		case opens:
			line += " " + (&wasmfront.FuncType{Params: op.Params, Results: op.Results}).String()
		case op.Op == wasmfront.OpEnd, op.Op == wasmfront.OpCatch, op.Op == wasmfront.OpCatchAll, op.Op == wasmfront.OpDelegate:
			line += " of " + op.Block.String() + " " + (&wasmfront.FuncType{Params: op.Params, Results: op.Results}).String()
		case op.Op == wasmfront.OpThrow:
			line += " " + (&wasmfront.FuncType{Params: op.Params}).String()
		}
		if op.Op == wasmfront.OpTryTable {
			for _, c := range op.Catches {
				line += " " + c.Kind.String()
			}
		}
		if f.Depth() > 0 {
			line += " in " + f.Frame(0).Kind.String()
		}
		got = append(got, line)
	}
	if f.Err() != nil {
		t.Fatal(f.Err())
	}
	want := []string{
		"block () -> (i32) in block",
		"block () -> (i32 i64 exnref) in block",
		"try_table () -> (i32) catch catch_ref in try_table",
		"i32.const in try_table",
		"end of try_table () -> (i32) in block",
		"br in block",
		"end of block () -> (i32 i64 exnref) in block",
		"throw_ref in block",
		"end of block () -> (i32) in func",
		"try (i32) -> (i64) in try",
		"try (i32) -> () in try",
		"drop in try",
		"throw () -> () in try",
		"delegate of try (i32) -> () in try",
		"unreachable in try",
		"catch of try (i32 i64) -> (i64) in catch",
		"drop in catch",
		"drop in catch",
		"rethrow in catch",
		"catch_all of catch () -> (i64) in catch_all",
		"i64.const in catch_all",
		"end of catch_all () -> (i64) in func",
		"drop in func",
		"end of func () -> ()",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestHostileExceptions: modules that nest, count or repeat what they can.
func TestHostileExceptions(t *testing.T) {
	body := func(code string) []byte {
		params := strings.Repeat("\x7f", wasmfront.MaxParams)
		return module(section(1, vec(funcType(nil, nil), "\x60"+uleb(wasmfront.MaxParams)+params+"\x00", "\x60\x00"+uleb(wasmfront.MaxParams)+params)), section(3, vec("\x00")),
			section(13, vec("\x00\x00", "\x00\x01")), section(10, vec(sized("\x00"+code+"\x0b"))))
	}
	const tables, trys = 100_000, 1_000_000
	for _, c := range []struct{ name, code, limit string }{
		{"try_tables", strings.Repeat("\x1f\x40\x02\x00\x00\x00\x02\x00", tables) + strings.Repeat("\x0b", tables), ""},
		{"trys", strings.Repeat("\x06\x40", trys) + strings.Repeat("\x0b", trys), ""},
		{"delegates", strings.Repeat("\x06\x40", trys) + strings.Repeat("\x18\x00", trys), ""},
		{"catches", strings.Repeat("\x06\x40\x19", trys) + strings.Repeat("\x09\x00\x0b", trys), ""},
		{"catches in a row", "\x06\x40" + strings.Repeat("\x07\x00", trys) + "\x0b", ""},
		// Each clause of 3 bytes brings 1,000 values, as do each catch and throw of 2 bytes.
		{"clauses", "\x02\x02" + strings.Repeat("\x1f\x40"+uleb(3000)+strings.Repeat("\x00\x01\x00", 3000)+"\x0b", 10) + "\x00\x0b\x00", "values that functions, calls, blocks and branches pass"},
		{"values", "\x06\x40" + strings.Repeat("\x07\x01\x00", 100_000) + "\x0b", "values that functions, calls, blocks and branches pass"},
	} {
		_, err := validate.All(body(c.code), withExceptions)
		e, _ := err.(*wasmfront.Error)
		if c.limit == "" && err != nil || c.limit != "" && (e == nil || e.Limit != c.limit) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	// A tag takes two bytes.
	b := module(section(1, vec(funcType(nil, nil))), section(13, uleb(wasmfront.MaxTags)+strings.Repeat("\x00\x00", wasmfront.MaxTags)))
	if n := allocated(func() {
		if m, err := validate.All(b, withExceptions); err != nil || len(m.Tags) != wasmfront.MaxTags {
			t.Errorf("%d tags: %v", len(m.Tags), err)
		}
	}); n > 100*wasmfront.MaxTags {
		t.Errorf("%d bytes allocated for %d tags", n, wasmfront.MaxTags)
	}
}
