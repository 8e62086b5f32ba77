package main

import (
	"os"
	"strings"
	"testing"
)

// TestBrokenScripts runs scripts that cannot be read among one that can: each of them is one
// failure by name, the others run, and the total comes at the end.
func TestBrokenScripts(t *testing.T) {
	setUp(t)
	pass, err := os.ReadFile("pass.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll("scripts", 0o777); err != nil {
		t.Fatal(err)
	}
	scripts := map[string]string{
		"a-unknown": `{"source_filename": "a.wast", "commands": [{"type": "assert_riddle", "line": 7}]}`,
		"b-field":   `{"source_filename": "b.wast", "commands": [{"type": "assert_trap", "line": 7, "shared": true}]}`,
		"c-cut":     `{"source_filename": "c.wast", "commands": [`,
		"d-more":    `{"source_filename": "d.wast", "commands": []} []`,
		"e-type":    `{"source_filename": "e.wast", "commands": [{"type": 3}]}`,
		"f-value":   `{"source_filename": "f.wast", "commands": [{"type": "assert_return", "line": 1, "expected": [{"type": "i32", "value": "x"}]}]}`,
		"g-module":  `{"source_filename": "g.wast", "commands": [{"type": "module", "line": 1, "filename": "nowhere.wasm"}]}`,
		"h-invalid": `{"source_filename": "h.wast", "commands": [{"type": "assert_invalid", "line": 1, "filename": "nowhere.wasm", "text": "unknown type"}]}`,
		"i-action":  `{"source_filename": "i.wast", "commands": [{"type": "assert_return", "line": 1}]}`,
		"j-action":  `{"source_filename": "j.wast", "commands": [{"type": "action", "line": 1, "action": {"type": "resume"}}]}`,
		"k-empty":   `{"source_filename": "k.wast"}`,
		"l-null":    `null`,
		"z-pass":    string(pass),
	}
	for name, text := range scripts {
		if err := os.WriteFile("scripts/"+name+".json", []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	// An argument of another type than the parameter.
	if err := os.WriteFile("type.json", []byte(strings.Replace(string(pass), `"i32", "value": "2"`, `"f32", "value": "2"`, 1)), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("broken.zip", []byte("PK"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, engine := range []string{"native", "interp"} {
		status, stdout, stderr := execute("spectest", "nowhere.json", "broken.zip", "scripts", "pass.json", "type.json", "--engine="+engine)
		if status != statusBad || stderr != "" {
			t.Errorf("status %d, %s", status, stderr)
		}
		for name := range scripts {
			verdict := "FAIL"
			if name == "z-pass" {
				continue // its modules are not beside it
			}
			if !strings.Contains(stdout, verdict+" "+name+" ") {
				t.Errorf("%s is not named in:\n%s", name, stdout)
			}
		}
		for _, words := range []string{"FAIL nowhere.json ", "FAIL broken.zip ", "ok   pass ", "FAIL type ", "argument 0 of type f32", "assert_riddle", `unknown field "shared"`, " 17 scripts: "} {
			if !strings.Contains(stdout, words) {
				t.Errorf("%q is not in:\n%s", words, stdout)
			}
		}
	}
}
