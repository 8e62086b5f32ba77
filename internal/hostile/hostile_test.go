package hostile_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/hostile"
)

const empty = "\x00asm\x01\x00\x00\x00"

// TestCompile: what is rightly refused is no fault, and what is wrong is one, for each target.
func TestCompile(t *testing.T) {
	for _, target := range compile.Targets() {
		o := compile.Options{Target: target, Jobs: 1}
		b, err := hostile.Compile([]byte(empty), o)
		if err != nil || b == nil {
			t.Fatal(target, err)
		}
		again, err := hostile.Compile([]byte(empty+"\x00"), o)
		if err != nil || again != nil {
			t.Error(target, err)
		}
		for what, fault := range map[string]func(string, *clif.Func){
			"panic":           func(string, *clif.Func) { panic("planted") },
			"bytes allocated": func(string, *clif.Func) { _ = bytes.Clone(make([]byte, 16<<20)) },
		} {
			o.AfterPass = fault
			if _, err := hostile.Compile([]byte(empty), o); err == nil || what != "panic" && !strings.Contains(err.Error(), what) {
				t.Errorf("%s: %s: %v", target, what, err)
			}
		}
	}
}

func TestLoad(t *testing.T) {
	b, err := hostile.Compile([]byte(empty), compile.Options{Target: compile.HostTarget()})
	if err != nil {
		t.Fatal(err)
	}
	if img, err := hostile.Load(b); err != nil || img == nil {
		t.Error(err)
	}
	if img, err := hostile.Load(b[:len(b)-1]); err != nil || img != nil {
		t.Error(err)
	}
	if hostile.OneLine(errors.New("a\nb")) == nil || hostile.OneLine(errors.New("")) == nil || hostile.OneLine(errors.New("a b")) != nil {
		t.Error("lines are not counted")
	}
}
