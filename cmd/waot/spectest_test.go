package main

import (
	"os"
	"strings"
	"testing"

	"github.com/waot-project/waot/wasmfront/wat"
)

// TestForeignScripts: what scripts of other projects have beside the official ones.
func TestForeignScripts(t *testing.T) {
	setUp(t)
	const named = `(module $a (func (export "f") (result i32) (i32.const 7)))
(module $b (import "a" "f" (func $f (result i32))) (func (export "g") (result i32) (call $f)))
(module definition $d (func (export "h") (result i32) (i32.const 9)))
(module instance $c $d)
(module $e (import "c" "h" (func $h (result i32))) (export "h" (func $h)))
(assert_return (invoke $b "g") (i32.const 7))
(assert_return (invoke $e "h") (i32.const 9))
(module $a (func (export "f") (result i32) (i32.const 8)))
(module $b (import "a" "f" (func $f (result i32))) (func (export "g") (result i32) (call $f)))
(assert_return (invoke $b "g") (i32.const 8))`
	const suspension = `(module (func (export "f")))
(assert_return (invoke "f"))
(assert_suspension (invoke "f") "unhandled")`
	const functions = `(module (elem declare func $f) (func $f (export "f") (result funcref) (ref.func $f)) (func (export "null") (result funcref) (ref.null func)))
(assert_return (invoke "f") (ref.func 0))
(assert_return (invoke "f") (ref.func))`
	const null = functions + "\n(assert_return (invoke \"null\") (ref.func 0))"
	const inJSON = `{"source_filename": "j.wast", "commands": [{"type": "module", "line": 1, "filename": "functions.wasm"},
{"type": "assert_return", "line": 2, "action": {"type": "invoke", "field": "f", "args": []}, "expected": [{"type": "funcref", "value": "0"}]},
{"type": "assert_suspension", "line": 3, "action": {"type": "invoke", "field": "f", "args": []}, "text": "unhandled"}]}`
	files := map[string]string{"named.wast": named, "suspension.wast": suspension, "functions.wast": functions, "null.wast": null, "functions.json": inJSON}
	module, _, _ := strings.Cut(functions, "\n")
	m, err := wat.Assemble([]byte(module))
	if err != nil {
		t.Fatal(err)
	}
	files["functions.wasm"] = string(m.Wasm)
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args   string
		status int
		want   string
	}{
		{"named.wast --import-names", 0, "10 passed, 0 failed, 0 skipped"},
		{"named.wast", 1, "unknown import"},
		{"suspension.wast", 0, "2 passed, 0 failed, 1 skipped (not supported: assert_suspension: 1)"},
		{"functions.wast", 0, "3 passed, 0 failed"},
		{"null.wast", 1, "null.wast:4: assert_return: null: result 0 is"},
		{"functions.json", 0, "2 passed, 0 failed, 1 skipped (not supported: assert_suspension: 1)"},
	} {
		for _, engine := range [...]string{"native", "interp"} {
			status, stdout, stderr := execute(append([]string{"spectest", "--engine=" + engine}, strings.Fields(c.args)...)...)
			if status != c.status || !strings.Contains(stdout, c.want) {
				t.Errorf("%s: status %d, want %q\n%s%s", c.args, status, c.want, stdout, stderr)
			}
		}
	}
}
