package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waot-project/waot/wasmfront/printer"
	"github.com/waot-project/waot/wasmfront/validate"
)

// liar is a runner that changes what the real one says, by a line of shell script.
func liar(t *testing.T, line string) string {
	t.Helper()
	program := builtHere(t)
	script := filepath.Join(t.TempDir(), "liar")
	text := "#!/bin/sh\n" + strings.ReplaceAll(line, "WAOT", program+` "$@"`) + "\n"
	if err := os.WriteFile(script, []byte(text), 0o777); err != nil {
		t.Fatal(err)
	}
	return script
}

// TestDiffReduce: a module that differs is made small, and still differs; one that does not is not written.
func TestDiffReduce(t *testing.T) {
	lying := liar(t, `WAOT | sed 's/"i32:3"/"i32:4"/'`)
	misplacing := liar(t, `WAOT | sed 's/"offset": /"offset": 1/'`)
	crashing := liar(t, `kill -SEGV $$`)
	honest := liar(t, `WAOT`)
	setUp(t)
	for _, c := range []struct {
		name, runner string
		status       int
		want         []string // of the report
		code         string   // that must be left
	}{
		{"result", lying, statusBad, []string{"add(i32:1, i32:2) differs", "waot:   [i32:4]", "wazero: [i32:3]", "agrees with wazero", "made small"}, "i32.add"},
		{"crash", crashing, statusBad, []string{"instantiation differs", "waot:   the process has ended: signal: segmentation fault", "made small"}, "(module"},
		{"place", misplacing, statusBad, []string{"place of the trap of div(i64:0, i64:0) differs\n  waot:   trap: integer divide by zero, in function 1 at offset 0x", "\n  CLIF interpreter: trap: integer divide by zero, in function 1 at offset 0x", "made small", "\ndifferent, places of 1 traps\n"}, "i64.div_s"},
		{"same", honest, statusDone, []string{"same: ", ", places of 1 traps\n"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := c.name + ".wasm"
			status, stdout, stderr := execute("diff", "lib.wasm", "--reduce", out, "--runner", c.runner)
			if status != c.status || stderr != "" {
				t.Errorf("status %d\n%s%s", status, stdout, stderr)
			}
			for _, w := range c.want {
				if !strings.Contains(stdout, w) {
					t.Errorf("no %q in\n%s", w, stdout)
				}
			}
			small, err := os.ReadFile(out)
			if c.code == "" {
				if err == nil {
					t.Error("a module is written though nothing differs")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := validate.All(small, validate.Config{}); err != nil {
				t.Error(err)
			}
			text, err := printer.String(small)
			if err != nil || !strings.Contains(text, c.code) || len(small) >= len(files["lib.wasm"]) {
				t.Errorf("%d bytes of %d, %v:\n%s", len(small), len(files["lib.wasm"]), err, text)
			}
			// It is small enough to be made small to itself.
			status, stdout, stderr = execute("diff", out, "--reduce", "again.wasm", "--json", "--runner", c.runner)
			var report struct{ Reduced reduced }
			if err := json.Unmarshal([]byte(stdout), &report); err != nil || status != statusBad || stderr != "" || report.Reduced.Bytes != len(small) || report.Reduced.Tries == 0 {
				t.Errorf("status %d, %v\n%s%s", status, err, stdout, stderr)
			}
			if status, stdout, _ = execute("diff", out, "--runner", honest); status != statusDone {
				t.Errorf("the difference is none of the runner's:\n%s", stdout)
			}
		})
	}
}

// TestDiffGlobals: exported globals are compared.
func TestDiffGlobals(t *testing.T) {
	lying := liar(t, `WAOT | sed 's/"value": "i32:5"/"value": "i32:6"/'`)
	setUp(t)
	writes := module(section(1, "\x60\x00\x00"), section(3, "\x00"), section(6, "\x7f\x01\x41\x00\x0b", "\x70\x01\xd0\x70\x0b"),
		section(7, name("_start")+"\x00\x00", name("g")+"\x03\x00", name("f")+"\x03\x01"), section(10, code("\x41\x05\x24\x00")))
	if err := os.WriteFile("global.wasm", []byte(writes), 0o666); err != nil {
		t.Fatal(err)
	}
	if status, stdout, stderr := execute("diff", "global.wasm", "--json"); status != statusDone || !strings.Contains(stdout, `"i32:5"`) {
		t.Errorf("status %d\n%s%s", status, stdout, stderr)
	}
	status, stdout, stderr := execute("diff", "global.wasm", "--runner", lying)
	if status != statusBad || !strings.Contains(stdout, "global g differs\n  waot:   i32:6\n  wazero: i32:5\n") {
		t.Errorf("status %d\n%s%s", status, stdout, stderr)
	}
}

// TestDiffGrowth: memories that state no maximum end at the same size under both engines, and others where they say.
func TestDiffGrowth(t *testing.T) {
	setUp(t)
	for _, c := range []struct {
		limits, by, want string
	}{
		{"1", "65520", "i32:-1"}, {"1 65530", "65530", "i32:-1"},
		{"1", "65519", "i32:1"}, {"65521", "15", "i32:65521"}, {"1 65530", "65529", "i32:1"},
	} {
		text := `(module (memory ` + c.limits + `) (func (export "g") (param i32) (result i32) (memory.grow (local.get 0))))`
		if err := os.WriteFile("grow.wat", []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		status, stdout, stderr := execute("diff", "grow.wat", "--json", "--timeout=10m", "--invoke", "g", "--", c.by)
		if status != statusDone || strings.Count(stdout, `"`+c.want+`"`) != 2 {
			t.Errorf("(memory %s) grows by %s: status %d, want %s twice\n%s%s", c.limits, c.by, status, c.want, stdout, stderr)
		}
	}
}

// endless is a program that does not end.
var endless = module(section(1, "\x60\x00\x00"), section(3, "\x00"), section(5, "\x00\x01"),
	section(7, name("memory")+"\x02\x00", name("_start")+"\x00\x00"), section(10, name("\x00\x03\x40\x0c\x00\x0b\x0b")))

// TestDiffTimeout: what does not end on the other engine is an error after the time that is given.
func TestDiffTimeout(t *testing.T) {
	setUp(t)
	if err := os.WriteFile("endless.wasm", []byte(endless), 0o666); err != nil {
		t.Fatal(err)
	}
	if status, stdout, stderr := execute("diff", "endless.wasm", "--timeout=50ms"); status != statusBad || stdout != "" || !strings.Contains(stderr, "deadline exceeded") {
		t.Errorf("status %d\n%s%s", status, stdout, stderr)
	}
}

// TestSymptom: what must remain of a difference tells traps from values and numbers from what is none.
func TestSymptom(t *testing.T) {
	for s, want := range map[string]string{"trap: unreachable": "trap: unreachable", "[i32:4]": "value", "[f32:nan:0x1]": "nan", "exit 3": "exit 3", "": ""} {
		if got := withoutNumbers(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}
