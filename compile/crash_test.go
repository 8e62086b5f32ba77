package compile

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/instance"
	"github.com/waot-project/waot/clif"
)

// manyFuncs is a module of n functions without parameters and results.
func manyFuncs(n int) []byte {
	b := []byte("\x00asm\x01\x00\x00\x00\x01\x04\x01\x60\x00\x00")
	b = append(b, 3, byte(n+1), byte(n))
	b = append(b, make([]byte, n)...)
	b = append(b, 10, byte(3*n+1), byte(n))
	for range n {
		b = append(b, 2, 0, 0x0b)
	}
	return b
}

// TestCrash: a panic in a function is an error that names function and stage, the
// lowest function counts, and the hook gets it.
func TestCrash(t *testing.T) {
	for jobs := 1; jobs < 5; jobs++ {
		seen := make(map[uint32]bool)
		_, err := Module(manyFuncs(30), Options{
			Jobs: jobs,
			generator: func(*clif.Module, *instance.Layout) generate {
				return func(f *clif.Func) (*backend.Code, error) {
					switch {
					case f.Index == 25 || f.Index == 7:
						panic("planted")
					case f.Index == 12:
						return nil, &backend.Error{Func: "f", Stage: "check", Err: errors.New("planted, too")}
					}
					return &backend.Code{Bytes: []byte{0xc3}}, nil
				}
			},
			Crash: func(c *Crash) {
				if uint32(c.CLIF.Index) != c.Error.Func || len(c.CLIF.Insts) == 0 {
					t.Error("CLIF of another function")
				}
				seen[c.Error.Func] = true
			},
		})
		var fe *FuncError
		if !errors.As(err, &fe) || fe.Func != 7 || fe.Stage != "backend" || !strings.Contains(err.Error(), "planted") {
			t.Error(jobs, err)
		}
		if !seen[7] {
			t.Error("the hook was not called")
		}
	}
}

// TestLayout checks what the linker does with code that it is given: calls and references
// to instance data at known places.
func TestLayout(t *testing.T) {
	gen := func(_ *clif.Module, lay *instance.Layout) generate {
		return func(f *clif.Func) (*backend.Code, error) {
			c := &backend.Code{Bytes: make([]byte, 20+f.Index), Align: 32}
			c.Relocs = []backend.Reloc{
				{Offset: 1, Kind: backend.RelocCall32, Sym: backend.SymFunc(uint32(2 - f.Index%3)), Addend: -4},
				{Offset: 8, Kind: backend.RelocPC32, Sym: backend.SymInstance, Addend: int64(lay.Helper(0)) - 4},
			}
			c.Calls = []backend.SrcSite{{Offset: 5, Src: uint32(f.Index)}}
			c.StackMaps = []backend.CodeStackMap{{Offset: 5, Slots: []int32{-8}}}
			return c, nil
		}
	}
	r, err := Module(manyFuncs(3), Options{generator: gen, Jobs: 2})
	if err != nil {
		t.Fatal(err)
	}
	text := r.Object.Sections[secText]
	if text.Align != 32 || len(text.Data) != 96+23 || len(text.Relocs) != 4 {
		t.Fatal(text.Align, len(text.Data), len(text.Relocs))
	}
	for i := range 4 {
		at, target := 32*i, 32*(2-i%3)
		field := text.Data[at+1:]
		got := int(int32(uint32(field[0]) | uint32(field[1])<<8 | uint32(field[2])<<16 | uint32(field[3])<<24))
		if want := target - (at + 5); got != want {
			t.Errorf("call of function %d: %d, want %d", i, got, want)
		}
		if f := r.Meta.Funcs[i]; f.Text != uint32(at) || f.Size != uint32(20+i) {
			t.Error(fmt.Sprintf("%+v", f))
		}
		if c := r.Meta.Calls[i]; c.Offset != uint32(at+5) || c.Src != uint32(i) {
			t.Error(c)
		}
	}
	if text.Data[31] != trapFiller {
		t.Error("gap is not filled")
	}
}
