package hostile_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/internal/proof/hostile"
	"github.com/waot-project/waot/objfile"
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
	img, err := hostile.Load(b)
	if err != nil || img == nil {
		t.Fatal(err)
	}
	if img, err := hostile.Load(b[:len(b)-1]); err != nil || img != nil {
		t.Error(err)
	}
	if err := hostile.Bounds(img); err != nil {
		t.Error(err)
	}
	if ok, err := hostile.Link(img); err != nil || !ok {
		t.Error(ok, err)
	}
	last := &img.Meta.Funcs[len(img.Meta.Funcs)-1]
	if last.Size += 1 << 20; hostile.Bounds(img) == nil {
		t.Error("a function that ends behind the code is not noticed")
	}
	if hostile.OneLine(errors.New("a\nb")) == nil || hostile.OneLine(errors.New("")) == nil || hostile.OneLine(errors.New("a b")) != nil {
		t.Error("lines are not counted")
	}
}

// TestReseal: an object whose code was changed is refused for its hashes, and not once they fit, for each target.
func TestReseal(t *testing.T) {
	for _, target := range compile.Targets() {
		b, err := hostile.Compile([]byte(empty), compile.Options{Target: target})
		if err != nil {
			t.Fatal(err)
		}
		o, err := objfile.ReadELF(b)
		if err != nil {
			t.Fatal(err)
		}
		digests := hostile.DigestsOf(o)
		for _, c := range []struct {
			what   string
			change func()
			loads  bool
		}{
			{"nothing", func() {}, true},
			{"code", func() { o.Section(".text").Data[0] ^= 1 }, false},
			{"hashes", func() { hostile.Reseal(o, digests) }, true},
			{"metadata", func() { d := o.Section(meta.SectionTraps).Data; d[len(d)-1]++ }, false},
		} {
			c.change()
			if img, err := hostile.Read(b); err != nil || (img != nil) != c.loads {
				t.Errorf("%s: %s changed: loads: %v, want %v, %v", target, c.what, img != nil, c.loads, err)
			}
		}
	}
}
