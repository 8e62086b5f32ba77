package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/proof/testenv"
)

var update = flag.Bool("update", false, "rewrite the files in testdata")

// number is an unsigned LEB128 number.
func number(n int) string { return string(binary.AppendUvarint(nil, uint64(n))) }

// section is a section of a module; all numbers of these modules but sizes are below 128.
func section(id byte, items ...string) string {
	return string(id) + name(number(len(items))+strings.Join(items, ""))
}

// name is a string, or a part of a module, behind its size.
func name(s string) string { return number(len(s)) + s }

func custom(title, content string) string {
	body := name(title) + content
	return "\x00" + string(byte(len(body))) + body
}

func code(instructions string) string {
	b := "\x00" + instructions + "\x0b"
	return string(byte(len(b))) + b
}

func module(sections ...string) string {
	return "\x00asm\x01\x00\x00\x00" + strings.Join(sections, "")
}

// funcNames is a name section for two functions.
func funcNames(a, b string) string {
	m := "\x02\x00" + name(a) + "\x01" + name(b)
	return custom("name", "\x01"+string(byte(len(m)))+m)
}

// files are what the command lines of the tests find in their folder.
var files = map[string]string{
	// add: (i32, i32) -> i32; div: (i64, i64) -> i64; both: () -> (f32, f64).
	"lib.wasm": module(
		section(1, "\x60\x02\x7f\x7f\x01\x7f", "\x60\x02\x7e\x7e\x01\x7e", "\x60\x00\x02\x7d\x7c"),
		section(3, "\x00", "\x01", "\x02"),
		section(5, "\x00\x01"),
		section(7, name("add")+"\x00\x00", name("div")+"\x00\x01", name("both")+"\x00\x02", name("mem")+"\x02\x00"),
		section(10, code("\x20\x00\x20\x01\x6a"), code("\x20\x00\x20\x01\x7f"),
			code("\x43\x00\x00\xc0\x3f\x44\x00\x00\x00\x00\x00\x00\xf8\x7f")),
	),
	// _start calls a function that traps.
	"trap.wasm": module(
		section(1, "\x60\x00\x00"), section(3, "\x00", "\x00"), section(7, name("_start")+"\x00\x00"),
		section(10, code("\x10\x01"), code("\x00")), funcNames("outer", "inner"),
	),
	// _start exits with 7.
	"exit.wasm": module(
		section(1, "\x60\x00\x00", "\x60\x01\x7f\x00"),
		section(2, name("wasi_snapshot_preview1")+name("proc_exit")+"\x00\x01"),
		section(3, "\x00"), section(7, name("_start")+"\x00\x01"), section(10, code("\x41\x07\x10\x00")),
	),
	"loop.wasm": module(
		section(1, "\x60\x00\x00"), section(3, "\x00"), section(7, name("forever")+"\x00\x00"),
		section(10, code("\x03\x40\x0c\x00\x0b")),
	),
	"import.wasm": module(
		section(1, "\x60\x00\x00"), section(2, name("env")+name("missing")+"\x00\x00"),
	),
	"invalid.wasm": module(
		section(1, "\x60\x00\x01\x7f"), section(3, "\x00"), section(10, code("\x42\x00")),
	),
	"feature.wasm": module(section(5, "\x04\x01")),
	"vector.wasm": module(
		section(1, "\x60\x02\x7b\x7b\x01\x7b", "\x60\x03\x7b\x7d\x7b\x02\x7d\x7b"), section(3, "\x00", "\x01"),
		section(6, "\x7b\x00\xfd\x0c\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x0b", "\x7b\x01\xfd\x0c"+strings.Repeat("\x00", 16)+"\x0b"),
		section(7, name("add")+"\x00\x00", name("last")+"\x00\x01", name("constant")+"\x03\x00", name("variable")+"\x03\x01"),
		section(10, code("\x20\x00\x20\x01\xfd\xae\x01"), code("\x20\x02\x24\x01\x20\x01\x20\x02")),
	),
	"gzip.wasm":      "\x1f\x8b\x08\x00",
	"zstd.wasm":      "\x28\xb5\x2f\xfd\x04",
	"tar.wasm":       "app.wasm" + strings.Repeat("\x00", 249) + "ustar\x00",
	"gzip.wat":       "\x1f\x8b\x08\x00",
	"zip.wasm":       "PK\x03\x04",
	"component.wasm": "\x00asm\x0d\x00\x01\x00",
	"other.wasm":     "int main(void) { return 0; }\n",
	"empty.wasm":     "",
	"binary.wasm":    "\x01\x02\x03\x04",
	"imports.wat": `(module (import "env" "f" (func (param i32 f64) (result i64))) (import "wasi_snapshot_preview1" "proc_exit" (func (param i32)))
  (import "lib" "memory" (memory 1)) (import "lib" "g" (global (mut i32))))`,
	"abort.wat": `(module (import "env" "abort" (func $abort (param i32 i32 i32 i32)))
  (func (export "_start")) (func (export "fail") (call $abort (i32.const 1) (i32.const 2) (i32.const 3) (i32.const 4))))`,
	"gojs.wat":  `(module (import "gojs" "runtime.wasmExit" (func (param i32))) (func (export "run")))`,
	"start.wat": `(func (export "_start") (result i32) (i32.const 42))`,
	"loop.wat":  `(func (export "nothing"))`,
	"random.wat": `(module (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32))) (memory (export "memory") 1)
  (func (export "_start") (drop (call $random (i32.const 8) (i32.const 4))) (drop (call $random (i32.const 65536) (i32.const 1)))))`,
	"truncated":     "\x00asm\x01\x00\x00",
	"text.txt":      "(module)",
	"elf.o":         "\x7fELF nonsense",
	"other.img":     "waotimg1" + strings.Repeat("of another version", 100),
	"pass.json":     sumScript(5),
	"fail.json":     sumScript(6),
	"module.0.wasm": "", // lib.wasm, see setUp
	// _start calls a function that traps.
	"trap.wat":      "(module $m\n  (func $outer (export \"_start\")\n    call $inner)\n  (func $inner\n    unreachable))\n",
	"vectors.wat":   "(module (memory 1) (func (param i32 i32 v128) (result v128)\n  (i32x4.mul (i32x4.add (v128.load offset=16 (local.get 0)) (local.get 2)) (i32x4.splat (i32.shl (local.get 1) (local.get 0))))))",
	"invalid.wat":   ";; not i32\n(func (result i32)\n\ti64.const 0)\n",
	"malformed.wat": "(module (func\n  i32.cnst 1))",
	"shared.wat":    "(module (memory 1 1 shared))",
	"memory64.wat":  "(module (memory i64 1))",
	"pass.wast": `(module (func (export "add") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1))))
(assert_return (invoke "add" (i32.const 2) (i32.const 3)) (i32.const 5))
(assert_malformed (module quote "(func (local $x i32) (local $x i32))") "duplicate local")
(assert_invalid (module (func (result i32))) "type mismatch")`,
	"fail.wast": "(module (func (export \"f\") (result i32) (i32.const 1)))\n\n(assert_return (invoke \"f\")\n  (i32.const 2))\n" +
		"(assert_malformed (module quote \"(func)\") \"unexpected token\")\n(assert_invalid (module (func $f) (func $f)) \"duplicate func\")\n(module (fnc))\n",
	"malformed.wast": "(module)\n(assert_retrun (invoke \"f\"))\n",
}

func sumScript(sum int) string {
	return fmt.Sprintf(`{"source_filename": "s.wast", "commands": [
 {"type": "module", "line": 1, "filename": "module.0.wasm"},
 {"type": "assert_return", "line": 2, "action": {"type": "invoke", "field": "add",
  "args": [{"type": "i32", "value": "2"}, {"type": "i32", "value": "3"}]}, "expected": [{"type": "i32", "value": "%d"}]},
 {"type": "assert_trap", "line": 3, "action": {"type": "invoke", "field": "div",
  "args": [{"type": "i64", "value": "2"}, {"type": "i64", "value": "0"}]}, "text": "integer divide by zero", "expected": []}]}`, sum)
}

// setUp makes the files in a new folder and goes there.
func setUp(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if name == "module.0.wasm" {
			text = files["lib.wasm"]
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "loose"), 0o777), os.Chmod(filepath.Join(dir, "loose"), 0o777)); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
}

func execute(args ...string) (status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	input := ""
	if slices.Contains(args, "-") && args[0] != completeCommand {
		input = files["lib.wasm"]
	}
	defer withoutMemoryLimit()
	status = run(args, strings.NewReader(input), &out, &errs)
	return status, out.String(), errs.String()
}

// withoutMemoryLimit ends the limit that a command with --max-memory has set for the process: with it, what follows would collect garbage all the time.
func withoutMemoryLimit() { debug.SetMemoryLimit(math.MaxInt64) }

// cases are command lines by the name of their golden file. What varies from
// one version of the compiler to the next is masked by mask.
var cases = []struct {
	name string
	args []string
}{
	{"help", []string{"--help"}},
	{"help-build", []string{"build", "--help"}},
	{"help-run", []string{"run", "--help"}},
	{"help-validate", []string{"validate", "-h"}},
	{"help-inspect", []string{"inspect", "--help"}},
	{"help-print", []string{"print", "--help"}},
	{"help-spectest", []string{"spectest", "--help"}},
	{"help-diff", []string{"diff", "--help"}},
	{"help-bisect", []string{"bisect", "--help"}},
	{"help-cache", []string{"cache", "--help"}},
	{"help-version", []string{"version", "--help"}},
	{"help-completion", []string{"completion", "--help"}},
	{"no-command", nil},
	{"unknown-command", []string{"complie", "lib.wasm"}},
	{"unknown-command-far", []string{"frobnicate"}},
	{"unknown-flag-near", []string{"run", "--ivnoke", "add", "lib.wasm"}},
	{"unknown-flag-dashes", []string{"run", "lib.wasm", "-timeut=5s"}},
	{"help-behind", []string{"validate", "lib.wasm", "--json", "--help"}},
	{"unknown-flag", []string{"--frobnicate"}},
	{"unknown-flag-build", []string{"build", "lib.wasm", "-o", "lib.o", "--frobnicate"}},
	{"unknown-flag-json", []string{"build", "--json", "--frobnicate"}},
	{"flag-without-value", []string{"run", "exit.wasm", "--dir"}},
	{"bad-number", []string{"build", "lib.wasm", "-o", "lib.o", "--jobs=many"}},

	{"build", []string{"build", "lib.wasm", "-o", "lib.o", "-O1", "--verify"}},
	{"build-json", []string{"build", "lib.wasm", "-o", "lib.o", "--json", "--cpu=v3", "--jobs=1"}},
	{"build-no-module", []string{"build", "-o", "lib.o"}},
	{"build-two-modules", []string{"build", "lib.wasm", "exit.wasm", "-o", "lib.o"}},
	{"build-no-output", []string{"build", "lib.wasm"}},
	{"build-executable", []string{"build", "lib.wasm", "-o", "lib"}},
	{"build-executable-header", []string{"build", "exit.wasm", "-o", "exit", "--header", "exit.h"}},
	{"build-over-module", []string{"build", "exit.wasm", "-o", "exit.wasm"}},
	{"build-image", []string{"build", "lib.wasm", "-o", "lib.img", "--json"}},
	{"build-image-header", []string{"build", "lib.wasm", "-o", "lib.img", "--header", "lib.h"}},
	{"build-image-grant", []string{"build", "exit.wasm", "-o", "exit.img", "--dir", "."}},
	{"build-of-image", []string{"build", "other.img", "-o", "other.o"}},
	{"run-image-damaged", []string{"run", "other.img"}},
	{"build-object-grant", []string{"build", "exit.wasm", "-o", "exit.o", "--dir", "."}},
	{"build-aarch64", []string{"build", "lib.wasm", "-o", "lib.o", "--target=aarch64-linux"}},
	{"build-target", []string{"build", "lib.wasm", "-o", "lib.o", "--target=vax"}},
	{"build-level", []string{"build", "lib.wasm", "-o", "lib.o", "-O9"}},
	{"build-cpu", []string{"build", "lib.wasm", "-o", "lib.o", "--cpu=486"}},
	{"build-aarch64-cpu", []string{"build", "lib.wasm", "-o", "lib.o", "--target=aarch64-linux", "--cpu=v3"}},
	{"build-x64-cpu", []string{"build", "lib.wasm", "-o", "lib.o", "--target=x86-64-linux", "--cpu=armv8.0-a"}},
	{"build-check", []string{"build", "lib.wasm", "-o", "lib.o", "--regalloc-check=maybe"}},
	{"build-missing", []string{"build", "nowhere.wasm", "-o", "lib.o"}},
	{"build-invalid", []string{"build", "invalid.wasm", "-o", "invalid.o"}},
	{"build-invalid-json", []string{"build", "invalid.wasm", "-o", "invalid.o", "--json"}},
	{"build-feature", []string{"build", "feature.wasm", "-o", "feature.o"}},
	{"build-max-module-bytes", []string{"build", "lib.wasm", "-o", "lib.o", "--max-module-bytes=50"}},
	{"build-max-functions", []string{"build", "lib.wasm", "-o", "lib.o", "--max-functions=1"}},
	{"build-max-function-bytes", []string{"build", "lib.wasm", "-o", "lib.o", "--max-function-bytes=2"}},
	{"build-max-code-bytes", []string{"build", "lib.wasm", "-o", "lib.o", "--max-code-bytes=20"}},
	{"build-max-memory-json", []string{"build", "lib.wasm", "-o", "lib.o", "--max-memory=1000", "--json"}},
	{"build-max-zero", []string{"build", "lib.wasm", "-o", "lib.o", "--max-memory=0"}},
	{"build-max-negative", []string{"build", "lib.wasm", "-o", "lib.o", "--max-functions=-1"}},
	{"build-timeout", []string{"build", "lib.wasm", "-o", "lib.o", "--timeout=1ns"}},
	{"build-timeout-negative", []string{"build", "lib.wasm", "-o", "lib.o", "--timeout=-1s"}},
	{"run-max-functions", []string{"run", "lib.wasm", "--invoke", "add", "--max-functions=1", "--", "40", "2"}},
	{"build-nowhere", []string{"build", "lib.wasm", "-o", "no/where/lib.o"}},

	{"run-exit", []string{"run", "exit.wasm"}},
	{"run-trap", []string{"run", "trap.wasm"}},
	{"run-trap-json", []string{"run", "trap.wasm", "--json"}},
	{"run-add", []string{"run", "lib.wasm", "--invoke", "add", "--", "40", "2"}},
	{"run-negative", []string{"run", "lib.wasm", "--invoke", "add", "--", "-1", "0xffffffff"}},
	{"run-floats", []string{"run", "--invoke=both", "lib.wasm"}},
	{"run-divide", []string{"run", "lib.wasm", "--invoke", "div", "1", "0"}},
	{"run-vector", []string{"run", "vector.wasm", "--invoke", "add", "--", "v128:i32x4:1,2,3,-4", "i8x16:255,0,0,0,0,1,0,0,-1,-1,-1,-1,4,0,0,0"}},
	{"run-vector-float", []string{"run", "vector.wasm", "--invoke", "last", "--", "v128.const i64x2 0 0", "-0x1p-2", "v128:f32x4:nan:0x1,-inf,1.5,-nan:canonical"}},
	{"run-vector-lanes", []string{"run", "vector.wasm", "--invoke", "add", "--", "v128:i32x4:1,2,3", "i32x4:1,2,3,4"}},
	{"run-vector-lane", []string{"run", "vector.wasm", "--invoke", "add", "--", "v128:i16x8:1,2,3,4,5,6,7,65536", "i32x4:1,2,3,4"}},
	{"run-vector-shape", []string{"run", "vector.wasm", "--invoke", "add", "--", "1", "i32x4:1,2,3,4"}},
	{"diff-vector", []string{"diff", "vector.wasm", "--json"}},
	{"run-arguments", []string{"run", "lib.wasm", "--invoke", "add", "1"}},
	{"run-value", []string{"run", "lib.wasm", "--invoke", "add", "1", "x"}},
	{"run-no-export", []string{"run", "lib.wasm", "--invoke", "sub"}},
	{"run-no-start", []string{"run", "lib.wasm"}},
	{"run-timeout", []string{"run", "loop.wasm", "--invoke", "forever", "--timeout", "500ms"}},
	{"run-timeout-negative", []string{"run", "exit.wasm", "--timeout=-1ns"}},
	{"run-import", []string{"run", "import.wasm"}},
	{"run-import-json", []string{"run", "import.wasm", "--json"}},
	{"run-dir", []string{"run", "exit.wasm", "--dir=::/"}},
	{"run-dir-missing", []string{"run", "exit.wasm", "--dir=nowhere::/"}},
	{"run-env", []string{"run", "exit.wasm", "--env", "novalue"}},
	{"run-nothing", []string{"run"}},
	{"run-elf", []string{"run", "elf.o"}},
	{"run-stdin", []string{"run", "-", "--invoke", "add", "40", "2"}},
	{"build-stdin", []string{"build", "-", "-o", "lib.o"}},
	{"validate-stdin", []string{"validate", "-"}},
	{"inspect-stdin", []string{"inspect", "-", "--func", "add", "--emit=wasm"}},
	{"print-stdin", []string{"print", "-"}},
	{"print-stdout", []string{"print", "lib.wasm", "-o", "-"}},
	{"build-stdout", []string{"build", "lib.wasm", "-o", "-"}},
	{"diff-stdin", []string{"diff", "-"}},
	{"bisect-stdin", []string{"bisect", "-", "--invoke", "add", "--check", "true"}},
	{"run-json", []string{"run", "lib.wasm", "--json", "--invoke=both"}},
	{"run-json-none", []string{"run", "loop.wat", "--json", "--invoke=nothing"}},
	{"run-imports", []string{"run", "imports.wat"}},
	{"run-imports-json", []string{"run", "imports.wat", "--json"}},
	{"run-imports-memory", []string{"run", "imports.wat", "--stub-missing"}},
	{"run-abort", []string{"run", "abort.wat"}},
	{"run-stub", []string{"run", "abort.wat", "--stub-missing"}},
	{"run-stub-call", []string{"run", "abort.wat", "--stub-missing", "--invoke", "fail"}},
	{"run-stub-json", []string{"run", "abort.wat", "--stub-missing", "--invoke", "fail", "--json"}},
	{"run-gojs", []string{"run", "gojs.wat"}},
	{"run-trace", []string{"run", "exit.wasm", "--trace-hostcalls"}},
	{"run-trace-random", []string{"run", "random.wat", "--trace-hostcalls"}},
	{"run-start-results", []string{"run", "start.wat"}},
	{"run-start-parameters", []string{"run", "start.wat", "--invoke", "_start"}},
	{"run-env-missing", []string{"run", "exit.wasm", "--env", "WAOT_NO_SUCH_VARIABLE"}},
	{"run-env-empty", []string{"run", "exit.wasm", "--env", "=x"}},
	{"run-dir-colon", []string{"run", "exit.wasm", "--dir", "here:there"}},
	{"run-timeout-unit", []string{"run", "exit.wasm", "--timeout", "5"}},
	{"build-gzip", []string{"build", "gzip.wasm", "-o", "x.o"}},
	{"build-gzip-text", []string{"build", "gzip.wat", "-o", "x.o"}},
	{"run-zstd", []string{"run", "zstd.wasm"}},
	{"run-tar", []string{"run", "tar.wasm"}},
	{"build-elf", []string{"build", "elf.o", "-o", "x.o"}},
	{"validate-zip", []string{"validate", "zip.wasm"}},
	{"validate-component", []string{"validate", "component.wasm"}},
	{"validate-component-json", []string{"validate", "component.wasm", "--json"}},
	{"validate-other-text", []string{"validate", "other.wasm"}},
	{"validate-empty", []string{"validate", "empty.wasm"}},
	{"validate-binary", []string{"validate", "binary.wasm"}},
	{"run-text", []string{"run", "text.txt"}},
	{"run-text-trap", []string{"run", "trap.wat"}},
	{"run-text-trap-json", []string{"run", "trap.wat", "--json"}},

	{"validate", []string{"validate", "lib.wasm"}},
	{"validate-json", []string{"validate", "--json", "lib.wasm"}},
	{"validate-invalid", []string{"validate", "invalid.wasm"}},
	{"validate-invalid-json", []string{"validate", "invalid.wasm", "--json"}},
	{"validate-truncated", []string{"validate", "truncated"}},
	{"validate-feature-json", []string{"validate", "feature.wasm", "--json"}},

	{"validate-text", []string{"validate", "trap.wat"}},
	{"validate-text-invalid", []string{"validate", "invalid.wat"}},
	{"validate-text-invalid-json", []string{"validate", "invalid.wat", "--json"}},
	{"validate-text-malformed", []string{"validate", "malformed.wat"}},
	{"validate-text-malformed-json", []string{"validate", "malformed.wat", "--json"}},
	{"validate-text-feature-json", []string{"validate", "memory64.wat", "--json"}},
	{"build-text-feature", []string{"build", "shared.wat", "-o", "shared.o"}},

	{"inspect", []string{"inspect", "lib.wasm"}},
	{"inspect-wasm", []string{"inspect", "trap.wasm", "--emit=wasm"}},
	{"inspect-func", []string{"inspect", "lib.wasm", "--func", "add", "--emit=wasm,clif"}},
	{"inspect-number", []string{"inspect", "trap.wasm", "--func=1"}},
	{"inspect-stage", []string{"inspect", "lib.wasm", "--emit=llvm"}},
	{"inspect-no-func", []string{"inspect", "lib.wasm", "--func=nobody"}},
	{"inspect-target", []string{"inspect", "lib.wasm", "--func=0", "--target=aarch32-linux"}},
	{"inspect-import", []string{"inspect", "exit.wasm", "--func=0"}},

	{"inspect-vex", []string{"inspect", "vectors.wat", "--emit=asm", "--cpu=x86-64-v3"}},
	{"inspect-text", []string{"inspect", "trap.wat"}},
	{"inspect-text-invalid", []string{"inspect", "invalid.wat"}},

	{"print", []string{"print", "lib.wasm"}},
	{"print-invalid", []string{"print", "invalid.wasm"}},
	{"print-truncated", []string{"print", "truncated"}},
	{"print-truncated-json", []string{"print", "truncated", "--json"}},
	{"print-nowhere", []string{"print", "lib.wasm", "-o", "no/where/lib.wat"}},
	{"print-text", []string{"print", "trap.wat"}},
	{"print-nothing", []string{"print"}},

	{"spectest", []string{"spectest", "pass.json"}},
	{"spectest-text", []string{"spectest", "pass.wast"}},
	{"spectest-text-fail", []string{"spectest", "fail.wast", "--engine=interp"}},
	{"spectest-text-malformed", []string{"spectest", "malformed.wast", "pass.wast"}},
	{"spectest-interp", []string{"spectest", "pass.json", "--engine=interp", "-O0"}},
	{"spectest-interp-regalloc", []string{"spectest", "pass.json", "--engine=interp", "--regalloc=ssa"}},
	{"spectest-fail", []string{"spectest", "fail.json"}},
	{"spectest-json", []string{"spectest", "pass.json", "fail.json", "--json"}},
	{"spectest-engine", []string{"spectest", "pass.json", "--engine=jit"}},
	{"spectest-target", []string{"spectest", "pass.json", "--target=pdp11"}},
	{"spectest-interp-target", []string{"spectest", "pass.json", "--engine=interp", "--target=aarch64-linux", "-O0"}},
	{"spectest-missing", []string{"spectest", "nowhere.json"}},

	{"diff", []string{"diff", "lib.wasm"}},
	{"diff-text", []string{"diff", "trap.wat"}},
	{"diff-text-invalid", []string{"diff", "invalid.wat"}},
	{"bisect-text-invalid", []string{"bisect", "invalid.wat"}},
	{"build-text", []string{"build", "trap.wat", "-o", "trap.o"}},
	{"build-text-invalid", []string{"build", "invalid.wat", "-o", "invalid.o"}},
	{"diff-invoke-json", []string{"diff", "lib.wasm", "--invoke", "add", "--json", "--", "1", "2"}},
	{"diff-exit", []string{"diff", "exit.wasm"}},

	{"bisect-rules", []string{"bisect", "--rules", "--target=x86-64-linux"}},
	{"bisect-rules-off", []string{"bisect", "lib.wasm", "--rules-off", "mul-pow2,sugar"}},
	{"bisect-rewrites", []string{"bisect", "lib.wasm", "--rewrites", "first"}},

	{"cache-nothing", []string{"cache"}},
	{"cache-unknown", []string{"cache", "list"}},
	{"cache-off", []string{"cache", "ls", "--cache=off"}},
	{"cache-max", []string{"cache", "ls", "--cache-max=0"}},
	{"cache-empty", []string{"cache", "clear", "--cache=new", "--json"}},
	{"run-cache-max", []string{"run", "exit.wasm", "--cache=new", "--cache-max=0"}},
	{"run-cache-warning", []string{"run", "exit.wasm", "--cache=loose"}},
	{"run-cache-no-folder", []string{"run", "exit.wasm", "--cache=lib.wasm"}},
	{"version-argument", []string{"version", "please"}},
	{"completion-bash", []string{"completion", "bash"}},
	{"completion-zsh", []string{"completion", "zsh"}},
	{"completion-csh", []string{"completion", "csh"}},
	{"completion-fish", []string{"completion", "fish"}},
	{"complete-commands", []string{"__complete", ""}},
	{"complete-options", []string{"__complete", "-"}},
	{"complete-flags", []string{"__complete", "validate", "-"}},
	{"complete-run", []string{"__complete", "run", "lib.wasm", "--"}},
	{"complete-target", []string{"__complete", "build", "--target", "x"}},
	{"complete-target-word", []string{"__complete", "build", "--target", "=", "aarch"}},
	{"complete-target-equals", []string{"__complete", "build", "--target=aarch"}},
	{"complete-cpu", []string{"__complete", "run", "lib.wasm", "--cpu", ""}},
	{"complete-emit", []string{"__complete", "inspect", "--emit", ""}},
	{"complete-level", []string{"__complete", "build", "-O", ""}},
	{"complete-file", []string{"__complete", "build", "li"}},
	{"complete-guest", []string{"__complete", "run", "lib.wasm", "--", "-"}},
	{"complete-cache", []string{"__complete", "cache", ""}},
}

// masks hide what differs from run to run, or with each change to the compiler.
var masks = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`[0-9]+ bytes of code, object of [0-9]+ bytes, compiled in \S+`), "N bytes of code, object of N bytes, compiled in T"},
	{regexp.MustCompile(`/[^ "]*/(new|loose|lib.wasm)\b`), "/DIR/$1"},
	{regexp.MustCompile(`"(code_bytes|object_bytes|memory_bytes|compile_ns)": [0-9]+`), `"$1": N`},
}

func golden(t *testing.T, file string, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (rewrite with: go test ./cmd/waot -update):\n%s", filepath.Base(file), d)
	}
}

func TestGolden(t *testing.T) {
	testdata, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	setUp(t)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			status, stdout, stderr := execute(c.args...)
			for _, m := range masks {
				if !strings.HasPrefix(c.name, "validate") {
					stdout = m.pattern.ReplaceAllString(stdout, m.by)
					stderr = m.pattern.ReplaceAllString(stderr, m.by)
				}
			}
			text := fmt.Sprintf("$ waot %s\nstatus %d\n", strings.Join(c.args, " "), status)
			if stdout != "" {
				text += "--- standard output\n" + stdout
			}
			if stderr != "" {
				text += "--- standard error\n" + stderr
			}
			golden(t, filepath.Join(testdata, c.name+".golden"), text)
		})
	}
	if *update {
		return
	}
	have, err := filepath.Glob(filepath.Join(testdata, "*.golden"))
	if err != nil || len(have) != len(cases) {
		t.Errorf("%d golden files for %d cases, error %v", len(have), len(cases), err)
	}
}

// TestObject builds an object and an image, runs them, and runs damaged ones.
func TestObject(t *testing.T) {
	for _, ext := range []string{".o", ".img"} {
		t.Run(ext, func(t *testing.T) { testObject(t, ext) })
	}
}

func testObject(t *testing.T, ext string) {
	setUp(t)
	if status, _, stderr := execute("build", "lib.wasm", "-o", "lib"+ext); status != 0 {
		t.Fatal(stderr)
	}
	status, stdout, stderr := execute("run", "lib"+ext, "--invoke", "add", "1", "2")
	if status != 0 || stdout != "i32:3\n" {
		t.Errorf("status %d, %q %q", status, stdout, stderr)
	}
	b, err := os.ReadFile("lib" + ext)
	if err != nil {
		t.Fatal(err)
	}
	for _, cut := range []int{4, 15, 63, 64, len(b) / 2, len(b) - 1} {
		if err := os.WriteFile("cut"+ext, b[:cut], 0o666); err != nil {
			t.Fatal(err)
		}
		if status, _, stderr := execute("run", "cut"+ext, "--invoke", "add", "1", "2"); status != 1 || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%d bytes: status %d, %q", cut, status, stderr)
		}
	}
}

// TestNoPartialOutput has builds fail: nothing is left, and what was there stays.
func TestNoPartialOutput(t *testing.T) {
	setUp(t)
	if err := os.WriteFile("old.o", []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadDir(".")
	for _, out := range []string{"new.o", "old.o"} {
		if status, _, _ := execute("build", "invalid.wasm", "-o", out); status != 1 {
			t.Errorf("status %d", status)
		}
	}
	after, _ := os.ReadDir(".")
	if len(before) != len(after) {
		t.Errorf("%d files before, %d after", len(before), len(after))
	}
	if b, err := os.ReadFile("old.o"); err != nil || string(b) != "old" {
		t.Errorf("%q, %v", b, err)
	}
}

// TestJobs checks that objects do not depend on the number of workers.
func TestJobs(t *testing.T) {
	setUp(t)
	var objects [2][]byte
	for i, jobs := range []string{"1", "8"} {
		if status, _, stderr := execute("build", "lib.wasm", "-o", "lib.o", "--jobs", jobs); status != 0 {
			t.Fatal(stderr)
		}
		objects[i], _ = os.ReadFile("lib.o")
	}
	if !bytes.Equal(objects[0], objects[1]) {
		t.Error("objects differ")
	}
}

// TestStages shows every stage of a function.
func TestStages(t *testing.T) {
	setUp(t)
	for target, code := range map[string]string{compile.TargetX64: "idiv", compile.TargetA64: "sdiv"} {
		status, stdout, stderr := execute("inspect", "lib.wasm", "--func=div", "--emit=all", "--verify", "--target", target)
		if status != 0 {
			t.Fatal(stderr)
		}
		for _, s := range stages {
			if !strings.Contains(stdout, ";; "+s+": ") {
				t.Errorf("no %s in\n%s", s, stdout)
			}
		}
		_, asm, _ := strings.Cut(stdout, ";; asm: ")
		if !strings.Contains(asm, "traps integer_divide_by_zero") || !strings.Contains(asm, "  "+code+" ") {
			t.Error(stdout)
		}
	}
}

func TestVersion(t *testing.T) {
	status, stdout, _ := execute("version", "--json")
	var v versionInfo
	if err := json.Unmarshal([]byte(stdout), &v); err != nil || status != 0 || v.ABI == 0 || v.Version == "" || len(v.Targets) != 2 {
		t.Errorf("status %d, error %v: %s", status, err, stdout)
	}
	if _, text, _ := execute("version"); !strings.HasPrefix(text, "waot "+v.Version) {
		t.Error(text)
	}
}

func TestArrange(t *testing.T) {
	app := newApp(nil, nil, nil)
	for in, want := range map[string]string{
		"":                               "",
		"--help":                         "--help",
		"build m -o o":                   "build -o o -- m",
		"build m -O1 -o o --json":        "build -O=1 -o o --json -- m",
		"run m --dir a::b -- -x --dir c": "run --dir a::b -- m -x --dir c",
		"run --env=A=b m x y":            "run --env=A=b -- m x y",
		"run m --json x":                 "run --json -- m x",
		"nonsense m -o":                  "nonsense m -o",
		"run m -":                        "run -- m -",
		"build m -o":                     "build -o",
	} {
		got := strings.Join(arrange(app, strings.Fields(in)), " ")
		if got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestBar(t *testing.T) {
	for _, c := range []struct {
		done, total int64
		want        string
	}{
		{0, 0, "x ..."},
		{5, 10, "x [" + strings.Repeat("#", 20) + strings.Repeat(".", 20) + "] 5/10"},
		{12, 10, "x [" + strings.Repeat("#", 40) + "] 10/10"},
	} {
		if got := bar("x", c.done, c.total); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestNativeCPU: the processor has what the kernel's list of flags says, as far as levels ask for it.
func TestNativeCPU(t *testing.T) {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		testenv.Missing(t, err.Error())
	}
	_, flags, ok := strings.Cut(string(info), map[string]string{"amd64": "\nflags", "arm64": "\nFeatures"}[runtime.GOARCH])
	if !ok {
		testenv.Missing(t, "no flags: an emulator shows the list of another machine")
	}
	flags, _, _ = strings.Cut(flags, "\n")
	have := strings.Fields(flags)
	want := cpuNames[compile.HostTarget()][0]
	for _, level := range []struct{ target, name, flags string }{
		{compile.TargetX64, "x86-64-v3", "avx avx2 bmi1 bmi2 f16c fma abm movbe xsave"},
		{compile.TargetX64, "x86-64-v4", "avx512f avx512bw avx512cd avx512dq avx512vl"},
		{compile.TargetA64, "armv8.2-a+dotprod", "atomics asimdrdm dcpop asimddp"},
	} {
		missing := slices.ContainsFunc(strings.Fields(level.flags), func(f string) bool { return !slices.Contains(have, f) })
		if level.target == compile.HostTarget() && !missing {
			want = level.name
		}
	}
	if got := nativeCPU(); got != want {
		t.Errorf("%s, want %s by %s", got, want, flags)
	}
}

// TestRunCPU: run compiles for this processor unless it is told otherwise, or counts rewrites.
func TestRunCPU(t *testing.T) {
	module := filepath.Join(t.TempDir(), "m.wat")
	text := `(module (func (export "f") (result f32) (f32x4.extract_lane 0 (f32x4.relaxed_madd
		(f32x4.splat (f32.const 0x1.000002p0)) (f32x4.splat (f32.const 0x1.000002p0)) (f32x4.splat (f32.const -0x1.000004p0))))))`
	if err := os.WriteFile(module, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	const once, twice = "f32:1.4210855e-14\n", "f32:0\n" // how often the sum is rounded
	native := once
	if nativeCPU() == "x86-64-v2" {
		native = twice
	}
	floor := once
	if compile.HostTarget() == compile.TargetX64 {
		floor = twice
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, native},
		{[]string{"--cpu=native"}, native},
		{[]string{"--cpu=" + cpuNames[compile.HostTarget()][0]}, floor},
		{[]string{"--rewrites=0"}, floor},
		{[]string{"--deterministic"}, twice},
	} {
		status, out, errs := execute(slices.Concat([]string{"run", module, "--invoke", "f"}, c.args)...)
		if status != 0 || out != c.want {
			t.Errorf("%v: %q, want %q (%d, %s)", c.args, out, c.want, status, errs)
		}
	}
}

// TestBuildTimeoutLarge: the build of a function of the largest size ends in time with one line, and leaves no file.
func TestBuildTimeoutLarge(t *testing.T) {
	const size = 7_600_000
	dir := t.TempDir()
	module, object := filepath.Join(dir, "m.wasm"), filepath.Join(dir, "m.o")
	one := "\x03\x40\x20\x00\x41\x01\x6a\x22\x00\x0d\x00\x0b" // a loop
	body := "\x00" + strings.Repeat(one, size/len(one)) + "\x20\x00\x0b"
	code := "\x01" + number(len(body)) + body
	wasm := "\x00asm\x01\x00\x00\x00\x01\x06\x01\x60\x01\x7f\x01\x7f\x03\x02\x01\x00\x0a" + number(len(code)) + code
	if err := os.WriteFile(module, []byte(wasm), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, timeout := range []string{"50ms", "300ms"} {
		start := time.Now()
		status, stdout, stderr := execute("build", module, "-o", object, "--timeout="+timeout)
		stage, _, _ := strings.Cut(strings.TrimPrefix(stderr, "waot: "+module+": "), " ") // on a busy machine the time may be over before there is anything to compile
		want := "waot: " + module + ": " + stage + " cancelled: timed out after " + timeout + "\n"
		if status != 1 || stdout != "" || stderr != want || stage != "compilation" && stage != "reading" {
			t.Errorf("%s: status %d, %q, %q", timeout, status, stdout, stderr)
		}
		if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
			t.Errorf("%s: left %v, %v", timeout, files, err)
		}
		t.Logf("%s: ended after %v", timeout, time.Since(start))
	}
}
