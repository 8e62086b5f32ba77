package main

import (
	"os"
	"strings"
	"testing"
)

// TestInspectInlined: functions are shown as they are in the object, with what is inlined in them; a rule shows them with their calls.
func TestInspectInlined(t *testing.T) {
	setUp(t)
	const text = `(module (memory 1) (func $load (param i32) (result i32) (i32.load (local.get 0)))
		(func $twice (export "twice") (param i32) (result i32) (call $load (call $load (local.get 0)))))`
	if err := os.WriteFile("m.wat", []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		flags     string
		has, lack []string
	}{
		{"--emit=wasm,clif,opt,vcode,regalloc,asm", []string{";; wasm: function 1", ";; clif: function 1", "call fn0", ";; opt: function 1", "called at", ";; vcode:", ";; regalloc:", ";; asm: function 0",
			";; function 0 \"load\" has no code in the object"}, []string{";; function 1 \"twice\" has no"}},
		{"--func=twice --emit=opt", []string{";; opt: function 1", "called at"}, []string{"call fn0", "function 0", ";; clif", ";; vcode"}},
		{"--func=twice --emit=asm --jobs=1", []string{";; asm: function 1", "called at"}, []string{"fn0", ";; opt"}},
		{"--func=twice --emit=opt,asm --rules-off=inline", []string{"call fn0", "call 0x"}, []string{"called at"}},
		{"--emit=opt --rules-off=inline", []string{"function 0", "call fn0"}, []string{"no code"}},
		{"--func=twice --emit=opt -O0", []string{"call fn0"}, []string{"called at"}},
		{"--func=load --emit=asm", []string{";; asm: function 0", "no code in the object"}, []string{"function 1"}},
	} {
		status, stdout, stderr := execute(append(strings.Fields("inspect m.wat --target=x86-64-linux"), strings.Fields(c.flags)...)...)
		if status != 0 {
			t.Errorf("%s: status %d, %s", c.flags, status, stderr)
		}
		for _, s := range c.has {
			if !strings.Contains(stdout, s) {
				t.Errorf("%s: no %q in\n%s", c.flags, s, stdout)
			}
		}
		for _, s := range c.lack {
			if strings.Contains(stdout, s) {
				t.Errorf("%s: %q in\n%s", c.flags, s, stdout)
			}
		}
	}
}
