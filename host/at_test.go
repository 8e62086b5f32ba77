//go:build linux && (amd64 || arm64)

package host_test

import (
	"errors"
	"testing"

	"github.com/waot-project/waot"
	"github.com/waot-project/waot/host"
)

// TestAt finds what a module does not export, and what it imports, by index.
func TestAt(t *testing.T) {
	wasm, err := waot.ParseText([]byte(`(module
		(import "env" "g" (global i32))
		(memory 1) (table 2 funcref) (global (mut i64) (i64.const 7))
		(func $f (export "f") (result i32) (i32.load (i32.const 8)))
		(elem (i32.const 1) $f))`))
	if err != nil {
		t.Fatal(err)
	}
	m, err := waot.Compile(wasm, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := newStore(t)
	g, err := s.NewGlobal(false, host.I32(5))
	if err != nil {
		t.Fatal(err)
	}
	inst, err := s.Instantiate(nil, m, host.Imports{"env": {"g": g}})
	if err != nil {
		t.Fatal(err)
	}
	get := func(k host.Kind, n uint32) any {
		t.Helper()
		x, err := inst.At(k, n)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	if get(host.KindGlobal, 0) != any(g) {
		t.Error("global 0 is not the imported one")
	}
	if v, err := get(host.KindGlobal, 1).(*host.Global).Get(); err != nil || v.I64() != 7 {
		t.Errorf("global 1: %v, %v", v, err)
	}
	f, err := inst.Func("f")
	if err != nil {
		t.Fatal(err)
	}
	if x, err := get(host.KindTable, 0).(*host.Table).Get(1); err != nil || x != any(f) {
		t.Errorf("element 1: %v, %v", x, err)
	}
	if err := get(host.KindGlobal, 1).(*host.Global).Set(host.I64(8)); !errors.Is(err, host.ErrType) {
		t.Errorf("a global that is not exported is set: %v", err)
	}
	if err := get(host.KindTable, 0).(*host.Table).Set(0, f); !errors.Is(err, host.ErrType) {
		t.Errorf("an element of a table that is not exported is set: %v", err)
	}
	if _, err := get(host.KindTable, 0).(*host.Table).Grow(1, f); !errors.Is(err, host.ErrType) {
		t.Errorf("a table that is not exported grows: %v", err)
	}
	thief := must[[]byte](t)(waot.ParseText([]byte(`(module (import "env" "t" (table 2 funcref)) (import "env" "g" (global (mut i64))))`)))
	theft := must[*host.Module](t)(waot.Compile(thief, nil))
	for _, x := range []host.Imports{
		{"env": {"t": get(host.KindTable, 0), "g": must[*host.Global](t)(s.NewGlobal(true, host.I64(1)))}},
		{"env": {"t": must[*host.Table](t)(s.NewTable(host.TypeFuncRef, host.Limits{Min: 2})), "g": get(host.KindGlobal, 1)}},
	} {
		var link *host.LinkError
		if _, err := s.Instantiate(nil, theft, x); !errors.As(err, &link) {
			t.Errorf("what is not exported is imported: %v", err)
		}
	}
	get(host.KindMemory, 0).(*host.Memory).WriteUint32(8, 42)
	if r, err := f.Call(bg); err != nil || r[0] != int32(42) {
		t.Errorf("f: %v, %v", r, err)
	}
	for _, x := range []struct {
		kind host.Kind
		n    uint32
		want error
	}{{host.KindMemory, 1, host.ErrBounds}, {host.KindTable, 1, host.ErrBounds}, {host.KindGlobal, 2, host.ErrBounds}, {host.KindFunc, 0, host.ErrType}} {
		if got, err := inst.At(x.kind, x.n); got != nil || !errors.Is(err, x.want) {
			t.Errorf("%v %d: %v, %v", x.kind, x.n, got, err)
		}
	}
}
