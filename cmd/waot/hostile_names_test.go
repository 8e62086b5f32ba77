//go:build linux

package main

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/urfave/cli/v2"

	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/wasmfront/wat"
)

// steeringName sets a color, ends the line, moves the cursor, turns the order around, and cannot be seen; steeringWAT is the same in the text format.
const (
	steeringName = "e\x1b[31m\nBROKEN\u009b2J\u202e\u2028\x7f\u200bé"
	steeringWAT  = `"e\1b[31m\0aBROKEN\u{9b}2J\u{202e}\u{2028}\7f\u{200b}é"`
	shownName    = `e\x1b[31m\x0aBROKEN\u{9b}2J\u{202e}\u{2028}\x7f\u{200b}é`
)

// hostileModules are modules whose every name is H, by what is wrong with them. FILE is the name of a file in which H follows.
var hostileModules = map[string]string{
	"fine":   `(module $H (@custom H "x") (memory $H (export "memory") 1) (global $H (export H) (mut i32) (i32.const 3)) (func $H (export "H2") (param $H i32) (result i32) (local $l i32) (block $H (br $H)) (local.get $H)) (func (export "_start")))`,
	"trap":   `(module $H (memory 1) (func $H (export H) unreachable) (func $"_start" (export "_start") (call $H)))`,
	"called": `(module $H (func $H (export H) (param i32) (result i32) (i32.div_u (i32.const 1) (local.get 0))))`,
	"needy": `(module $H (import H H (func $H (param i32) (result i32))) (import H "g" (global i32)) (import H "t" (table 1 funcref)) (import "m" H (memory 1))
  (func (export "_start") (drop (call $H (i32.const 1)))))`,
	"lending":  `(module $H (import H H (func $H (param i32) (result i32))) (func (export "_start") (drop (call $H (i32.const 1)))))`,
	"twice":    `(module $H (import H H (func)) (import H H (func (param i32))) (import H H (global i32)) (import H H (global i32)) (func (export "_start")))`,
	"wasi":     `(module $H (import "wasi_snapshot_preview1" H (func)) (func (export "_start")))`,
	"mistyped": `(module $H (func $H (export H) (result i32) (f32.const 1)))`,
	"same":     `(module $H (func $H (export H)) (func (export H)))`,
	"long":     `(module $H (func $H (export H) (loop $H (br $H))) (func (export "_start") (call $H)))`,
	"start":    `(module $H (func $H unreachable) (start $H) (func (export "_start")))`,
	"word":     `(module (func $f (call $H)))`,
	"twin":     `(module (func $H) (func $H))`,
	"note":     `(module (@H) (func (@H x)))`,
	"token":    "(module (func \x1b[31m))",
	"string":   "(module (func (export \"\x1b[31m\u202e\")))",
	"script":   `(module $H (func (export H) (result i32) (i32.const 1))) (assert_return (invoke H) (i32.const 2)) (assert_return (invoke $H H) (i32.const 2)) (assert_return (invoke "H2")) (assert_return (invoke $H H (i32.const 1))) (register H $H) (module (import H H (func (result i64)))) (module (import H "H2" (func))) (assert_trap (invoke H) H) (assert_invalid (module (func $H)) H) (assert_exhaustion (invoke H) H) (invoke $x H)`,
}

// writeHostile writes the modules, as text, in the binary format if they can be assembled, and as scripts. It returns their files.
func writeHostile(t *testing.T) (list []string) {
	t.Helper()
	put := func(kind, ext string, data []byte) {
		list = append(list, kind+steeringName+ext)
		if err := os.WriteFile(list[len(list)-1], data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for kind, text := range hostileModules {
		// H is a name of its own, with or without a dollar sign or an at.
		words := strings.NewReplacer("$H", "$"+steeringWAT, "@H", "@"+steeringWAT, " H", " "+steeringWAT, `"H2"`, `"H2"`)
		text := []byte(words.Replace(text))
		put(kind, ".wast", text)
		if m, err := wat.Assemble(text); err == nil {
			put(kind, ".wasm", m.Wasm)
		} else {
			put(kind, ".wat", text)
		}
	}
	slices.Sort(list)
	return list
}

// steers complains about what does not belong into a line: characters that control, that format, and that separate lines.
func steers(t *testing.T, what any, text string) {
	t.Helper()
	for _, line := range strings.Split(text, "\n") {
		bad := strings.ContainsFunc(line, func(r rune) bool {
			return r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) || r == unicode.ReplacementChar
		})
		if bad || strings.HasPrefix(strings.TrimSpace(line), "BROKEN") {
			t.Errorf("%+q prints %+q", what, line)
		}
	}
}

// TestHostileNames drives modules, files and arguments of hostile names through every command: nothing that is printed steers a terminal or breaks a line.
func TestHostileNames(t *testing.T) {
	waot := waotInPath(t)
	setUp(t)
	t.Setenv("WAOT_CACHE", "kept")
	shown := map[string]int{}
	try := func(args ...string) string {
		t.Helper()
		_, stdout, stderr := execute(args...)
		steers(t, args, stdout)
		steers(t, args, stderr)
		if strings.Contains(stdout+stderr, shownName) {
			shown[args[0]]++
		}
		return stdout + stderr
	}
	wants := func(want string, args ...string) {
		t.Helper()
		if got := try(args...); !strings.Contains(got, want) {
			t.Errorf("%+q: no %q in %q", args, want, got)
		}
	}
	list := writeHostile(t)
	for i, file := range list {
		if i%testenv.Cases(4, 2, 1) != 0 {
			continue
		}
		for _, args := range [][]string{
			{"validate"}, {"print"}, {"inspect"}, {"inspect", "--emit=all"}, {"inspect", "--func=" + steeringName}, {"inspect", "--func=x" + steeringName},
			{"inspect", "--html=" + steeringName + ".html"}, {"run", "--timeout=20ms"}, {"run", "--trace-hostcalls", "--stand-ins", "--time", "--timeout=20ms"},
			{"run", "--stub-missing", "--timeout=20ms"}, {"run", "--invoke=" + steeringName, "--timeout=20ms"}, {"run", "--invoke=x" + steeringName}, {"spectest"},
			{"build", "-o", "out" + steeringName, "--json"}, {"build", "-o", "out" + steeringName + ".o", "--header=h" + steeringName + ".h", "--time"}, {"build", "-o", "out" + steeringName + ".img"},
		} {
			if args[0] == "spectest" != strings.HasSuffix(file, ".wast") {
				continue
			}
			args = append(slices.Clone(args), file)
			try(args...)
			if slices.Contains([]string{"validate", "run", "spectest"}, args[0]) {
				try(append(args, "--json")...)
			}
		}
	}
	in := func(kind string) string { return kind + steeringName + ".wasm" }
	wants(" function 0 ("+shownName+")", "run", in("trap"))
	wants(shownName+"."+shownName+"(1)", "run", in("lending"), "--stand-ins", "--trace-hostcalls")
	wants(shownName+"."+shownName+" (function)", "build", in("needy"), "-o", "app")
	wants(shownName, "print", "word"+steeringName+".wat")
	wants(shownName, "cache", "ls")
	wants(`\u009b2J\u202e`, "cache", "ls", "--json")
	wants(shownName, "diff", in("called"), "--wasmtime=none"+steeringName)
	for _, kind := range []string{"fine", "called", "lending", "needy", "twice", "wasi", "trap", "start"} {
		try("diff", in(kind))
		try("diff", in(kind), "--json", "--invoke="+steeringName)
	}
	wants(shownName, "bisect", in("called"), "--check=true "+"{}", "--", steeringName)
	try("bisect", in("called"), "--check=false", "--json")
	for _, page := range []string{steeringName + ".html"} {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		steers(t, page, string(bytes.ReplaceAll(b, []byte("\r"), nil)))
	}
	t.Log(shown)
	for _, command := range []string{"run", "build", "validate", "inspect", "spectest", "diff", "bisect", "cache", "print"} {
		if shown[command] == 0 {
			t.Errorf("%s has not printed a hostile name: nothing is tested", command)
		}
	}
	out, _ := exec.Command(waot, "run", in("trap")).CombinedOutput()
	steers(t, "a process", string(out))
}

// TestHostileArguments gives every flag of every command a hostile value, every command a hostile file, and none a hostile name.
func TestHostileArguments(t *testing.T) {
	setUp(t)
	t.Setenv("WAOT_CACHE", "kept")
	try := func(args ...string) {
		t.Helper()
		_, stdout, stderr := execute(args...)
		steers(t, args, stdout)
		steers(t, args, stderr)
	}
	try(steeringName)
	try("--" + steeringName)
	for _, c := range newApp(nil, nil, nil).Commands {
		try(c.Name, steeringName)
		try(c.Name, steeringName, steeringName)
		try(c.Name, "--"+steeringName, "exit.wasm")
		for _, f := range c.Flags {
			if _, isBool := f.(*cli.BoolFlag); !isBool {
				file := "exit.wasm"
				if c.Name == "diff" || c.Name == "bisect" { // they start processes
					file = "none.wasm"
				}
				try(c.Name, file, "--"+f.Names()[0]+"=v"+steeringName) // no file of the name above
			}
		}
	}
}
