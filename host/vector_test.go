//go:build linux && (amd64 || arm64)

package host_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/waot-project/waot/host"
)

// TestVectors gives vectors to compiled code and gets them from it, in every way that there is.
func TestVectors(t *testing.T) {
	s := newStore(t)
	constant := [16]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	mixes := map[string]any{
		"reflection": func(v [16]byte, n int32, w vector) (int32, [16]byte) { v[0] += w[0]; return n + 1, v },
		"raw": host.RawFunc{Params: []host.ValType{host.TypeV128, host.TypeI32, host.TypeV128}, Results: []host.ValType{host.TypeI32, host.TypeV128},
			Func: func(_ *host.Caller, args, results []uint64) error {
				results[0], results[1], results[2] = args[2]+1, args[0]+args[3]&0xff, args[1]
				return nil
			}},
	}
	for name, mix := range mixes {
		// The second instance imports what the first one exports.
		first := instantiate(t, s, "vector", host.Imports{"env": {"mix": mix}})
		i := instantiate(t, s, "vector", host.Imports{"env": first.Exports()})
		results, err := function(t, i, "mix").Call(bg, bytes16, -3, [16]byte{9})
		want := bytes16
		want[0] += 9
		if err != nil || len(results) != 2 || results[0] != int32(-2) || results[1] != want {
			t.Errorf("%s: %v, %v", name, results, err)
		}
		for _, i := range []*host.Instance{first, i} {
			last := must[*host.Global](t)(i.Global("last"))
			if v, err := last.Get(); v != host.V128(bytes16) || err != nil {
				t.Errorf("%s: the global is %v, %v", name, v, err)
			}
			if err := last.Set(host.V128(constant)); err != nil {
				t.Error(err)
			}
			if v, err := last.Get(); v.V128() != constant || err != nil {
				t.Errorf("%s: the global is %v, %v", name, v, err)
			}
			if err := last.Set(host.I64(1)); !errors.Is(err, host.ErrType) {
				t.Errorf("a number for a vector: %v", err)
			}
		}
	}

	i := instantiate(t, s, "vector", host.Imports{"env": {"mix": mixes["raw"]}})
	add := function(t, i, "add")
	v := must[host.Value](t)(must[*host.Global](t)(i.Global("constant")).Get())
	if v.V128() != constant || v.I64() != 0 || host.I64(1).V128() != [16]byte{} {
		t.Errorf("%v", v)
	}
	values := []host.Value{v, host.V128([16]byte{255, 0, 0, 0, 1})}
	if err := add.CallValues(bg, values, values[:1]); err != nil || values[0].String() != "v128:i32x4:0x04030300,0x08070606,0x0c0b0a09,0x100f0e0d" {
		t.Errorf("%v, %v", values, err)
	}
	stack := []uint64{1, 2, 3, 4}
	if err := add.CallRaw(bg, stack); err != nil || stack[0] != 4 || stack[1] != 6 {
		t.Errorf("%v, %v", stack, err)
	}
	if err := add.CallRaw(bg, stack[:3]); !errors.Is(err, host.ErrType) || !strings.Contains(err.Error(), "3 words") {
		t.Errorf("a stack that is too short: %v", err)
	}
	for _, wrong := range []any{1, nil, []byte{15: 1}, [4]uint32{}, host.I64(1)} {
		if _, err := add.Call(bg, constant, wrong); !errors.Is(err, host.ErrType) || !strings.Contains(err.Error(), "argument 1: ") {
			t.Errorf("%T for a vector: %v", wrong, err)
		}
	}
	// Behind vectors, the number of an argument is not that of its word.
	f := must[*host.Func](t)(s.NewFunc(func([16]byte, [16]byte, any) {}))
	var bad *host.ReferenceError
	if err := f.CallRaw(bg, []uint64{1, 2, 3, 4, 5}); !errors.As(err, &bad) || bad.Index != 2 {
		t.Errorf("a bad reference: %v", err)
	}
}
