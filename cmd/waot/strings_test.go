package main

import (
	"os"
	"strings"
	"testing"
)

// stringsText is a program as a compiler for JavaScript makes it, that writes its texts, of code units below 128, by WASI. CONST is the module that its constants are from.
const stringsText = `(module $strings
	(type $units (array (mut i16)))
	(import "wasm:js-string" "length" (func $length (param externref) (result i32)))
	(import "wasm:js-string" "concat" (func $concat (param externref externref) (result (ref extern))))
	(import "wasm:js-string" "intoCharCodeArray" (func $into (param externref (ref null $units) i32) (result i32)))
	(import "wasm:js-string" "charCodeAt" (func $at (param externref i32) (result i32)))
	(import "CONST" "hello, " (global $hello (ref extern)))
	(import "CONST" "\c3\bc\e2\82\ac\07\n" (global $other externref))
	(import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
	(memory (export "memory") 1)
	(func $print (param $s externref) (local $a (ref $units)) (local $i i32)
		(local.set $a (array.new_default $units (call $length (local.get $s))))
		(drop (call $into (local.get $s) (local.get $a) (i32.const 0)))
		(loop $l
			(i32.store8 (i32.add (local.get $i) (i32.const 16)) (array.get_u $units (local.get $a) (local.get $i)))
			(br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (array.len (local.get $a)))))
		(i32.store (i32.const 0) (i32.const 16))
		(i32.store (i32.const 4) (local.get $i))
		(drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))))
	(func (export "_start") (call $print (call $concat (global.get $hello) (global.get $hello))))
	(func (export "greet") (param i32) (result i32 externref externref)
		(local.get 0) (call $concat (global.get $hello) (global.get $other)) (ref.null extern))
	(func (export "twice") (param (ref extern) externref i32) (result externref) (call $concat (local.get 0) (local.get 1)))
	(func (export "trap") (drop (call $at (global.get $hello) (i32.const 7)))))`

// TestRunStrings: a module that imports the strings of JavaScript runs by the command, compiled before or not, with its constants from wherever it has them.
func TestRunStrings(t *testing.T) {
	setUp(t)
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("kotlin.wat", strings.ReplaceAll(stringsText, "CONST", "'"))
	write("dart.wat", strings.ReplaceAll(stringsText, "CONST", "S"))
	write("wrong.wat", `(module (import "wasm:js-string" "length" (func (param externref) (result i64))) (func (export "_start")))`)
	write("unknown.wat", `(module (import "wasm:js-string" "size" (func (param externref) (result i64))) (func (export "_start")))`)
	write("alone.wat", `(module (import "S" "x" (global externref)) (export "x" (global 0)) (func (export "get") (result externref) (global.get 0)))`)
	if status, _, stderr := execute("build", "kotlin.wat", "-o", "kotlin.o"); status != 0 {
		t.Fatal(stderr)
	}
	const greeting = "i32:5\nexternref:\"hello, ü€\\a\\n\"\nexternref:null\n"
	for _, c := range []struct {
		args   string
		status int
		want   string // all of it, or a part of an error
	}{
		{"kotlin.wat", 0, "hello, hello, "},
		{"kotlin.o", 0, "hello, hello, "},
		{"dart.wat --string-constants S", 0, "hello, hello, "},
		{"kotlin.wat --invoke greet 5", 0, greeting},
		{"dart.wat --string-constants=S --invoke greet 5", 0, greeting},
		{"alone.wat --string-constants S --invoke get --json", 0, "{\n  \"results\": [\n    {\n      \"type\": \"externref\",\n      \"value\": \"\\\"x\\\"\"\n    }\n  ]\n}\n"},
		{"alone.wat --string-constants S --invoke get", 0, "externref:\"x\"\n"},
		{`kotlin.wat --invoke twice "ü\n" externref:"x" 5`, 0, "externref:\"ü\\nx\"\n"},
		{`kotlin.wat --invoke twice "a" null 5`, 1, "cast failure"},
		{`kotlin.wat --invoke twice a "b" 5`, 2, `"a" is no (ref extern)`},
		{`kotlin.wat --invoke twice null "b" 5`, 2, `"null" is no (ref extern)`},
		{`kotlin.wat --invoke twice "a" "b" "5"`, 2, `is no i32`},
		{"kotlin.wat --invoke trap", 1, "out of bounds array access"},
		{"kotlin.wat --trace-hostcalls", 0, "waot: wasm:js-string.concat(\"hello, \", \"hello, \") = \"hello, hello, \"\nwaot: wasm:js-string.length(\"hello, hello, \") = 14\n"},
		{"dart.wat", 1, `2 unknown imports: "S" "hello, ": wanted global (ref extern), "S" "ü€\a\n": wanted global externref; if these are constant strings of JavaScript: --string-constants="S"`},
		{"dart.wat --stub-missing", 1, `--string-constants="S"`},
		{"wrong.wat", 1, `incompatible import type: "wasm:js-string" "length": wanted`},
		{"unknown.wat", 1, `unknown import: "wasm:js-string" "size"`},
	} {
		status, stdout, stderr := execute(append([]string{"run"}, strings.Fields(c.args)...)...)
		out := stdout + stderr
		if status != c.status || !strings.Contains(out, c.want) || status == 0 && !strings.Contains(c.args, "trace") && out != c.want {
			t.Errorf("run %s: status %d, %q", c.args, status, out)
		}
	}
}

// TestRunStringsElsewhere: code for another machine gets the same.
func TestRunStringsElsewhere(t *testing.T) {
	flags := otherRunner(t)
	setUp(t)
	if err := os.WriteFile("dart.wat", []byte(strings.ReplaceAll(stringsText, "CONST", "S")), 0o666); err != nil {
		t.Fatal(err)
	}
	if status, stdout, stderr := execute(append([]string{"run", "dart.wat", "--string-constants=S"}, flags...)...); status != 0 || stdout != "hello, hello, " {
		t.Errorf("status %d, %q, %s", status, stdout, stderr)
	}
}
