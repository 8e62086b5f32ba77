package compile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/instance"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/reloc"
	"github.com/waot-project/waot/machbuffer"
	"github.com/waot-project/waot/objfile"
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
			c.Relocs = []machbuffer.Reloc{
				{Offset: 1, Kind: reloc.Call32, Symbol: uint32(backend.SymFunc(uint32(2 - f.Index%3))), Addend: -4},
				{Offset: 8, Kind: reloc.PC32, Symbol: uint32(backend.SymInstance), Addend: int64(lay.Helper(0)) - 4},
			}
			c.Calls = []abi.CallSite{{Offset: 5, Src: uint32(f.Index)}}
			c.StackMaps = []abi.StackMap{{Offset: 5, Slots: []int32{-8}}}
			return c, nil
		}
	}
	r, err := Module(manyFuncs(3), Options{Target: TargetX64, generator: gen, Jobs: 2})
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
	if text.Data[31] != 0xcc {
		t.Error("gap is not filled")
	}
}

// TestLayoutA64 is the same for AArch64: a call, and instance data by page and offset.
func TestLayoutA64(t *testing.T) {
	words := func(ws ...uint32) (b []byte) {
		for _, w := range ws {
			b = binary.LittleEndian.AppendUint32(b, w)
		}
		return b
	}
	code := words(0xd503245f, 0xa9bf7bfd, 0x910003fd, 0x94000000, 0x90000009, 0xf9400120, 0xa8c17bfd, 0xd65f03c0)
	gen := func(_ *clif.Module, lay *instance.Layout) generate {
		return func(f *clif.Func) (*backend.Code, error) {
			c := &backend.Code{Bytes: code, Align: 4, Prologue: 4}
			c.Relocs = []machbuffer.Reloc{
				{Offset: 12, Kind: reloc.Call26, Symbol: uint32(backend.SymFunc(uint32(2 - f.Index%3)))},
				{Offset: 16, Kind: reloc.Page21, Symbol: uint32(backend.SymInstance), Addend: int64(lay.Helper(1))},
				{Offset: 20, Kind: reloc.Ldst64Lo12, Symbol: uint32(backend.SymInstance), Addend: int64(lay.Helper(1))},
			}
			if f.Index == 1 {
				c.Bytes = append(bytes.Clone(code), make([]byte, 5)...)
			}
			return c, nil
		}
	}
	r, err := Module(manyFuncs(3), Options{Target: TargetA64, generator: gen, Jobs: 2})
	if err != nil {
		t.Fatal(err)
	}
	if r.Meta.Arch != "aarch64" || r.Meta.CPU != "armv8.0-a" || r.Object.Machine != objfile.AArch64 {
		t.Error(r.Meta.Arch, r.Meta.CPU, r.Object.Machine)
	}
	text := r.Object.Sections[secText]
	at := []int{0, 32, 80, 112}
	if text.Align != 16 || len(text.Data) != 144 || len(text.Relocs) != 8 {
		t.Fatal(text.Align, len(text.Data), len(text.Relocs))
	}
	for i, from := range at {
		want := 0x94000000 | uint32((at[2-i%3]-from-12)/4)&(1<<26-1)
		if got := binary.LittleEndian.Uint32(text.Data[from+12:]); got != want {
			t.Errorf("call of function %d: %#x, want %#x", i, got, want)
		}
	}
	if !bytes.Equal(text.Data[69:80], make([]byte, 11)) {
		t.Error("gap is not filled")
	}
	if rel := text.Relocs[1]; rel.Kind != reloc.Ldst64Lo12 || rel.Offset != 20 || rel.Symbol != sectionSymbol(secData) {
		t.Errorf("%+v", rel)
	}
	// DW_CFA_advance_loc 2, def_cfa_offset 16, offset x29 2, offset x30 1; advance_loc 1, def_cfa_register x29.
	if eh := r.Object.Sections[secEHFrame]; bytes.Count(eh.Data, []byte("\x42\x0e\x10\x9d\x02\x9e\x01\x41\x0d\x1d")) != len(at) {
		t.Errorf("% x", eh.Data)
	}
	for name, rel := range map[string]machbuffer.Reloc{
		"does not have":       {Kind: reloc.Call32, Symbol: uint32(backend.SymFunc(0))},
		"outside of the code": {Offset: 30, Kind: reloc.Call26, Symbol: uint32(backend.SymFunc(0))},
		"over such a dist":    {Offset: 12, Kind: reloc.Call26, Symbol: uint32(backend.SymFunc(0)), Addend: 1 << 28},
		"not defined here":    {Offset: 12, Kind: reloc.Call26, Symbol: uint32(backend.SymFunc(9))},
	} {
		_, err := Module(manyFuncs(1), Options{Target: TargetA64, generator: func(*clif.Module, *instance.Layout) generate {
			return func(*clif.Func) (*backend.Code, error) {
				return &backend.Code{Bytes: code, Relocs: []machbuffer.Reloc{rel}}, nil
			}
		}})
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %s", err, name)
		}
	}
}

func TestTargets(t *testing.T) {
	for _, c := range []struct{ target, cpu, want, level string }{
		{TargetX64, "", "x86-64", "x86-64-v2"}, {TargetX64, "v3", "x86-64", "x86-64-v3"}, {TargetA64, "", "aarch64", "armv8.0-a"},
		{TargetA64, "armv8.0-a", "aarch64", "armv8.0-a"}, {TargetA64, "v2", "", ""}, {TargetX64, "armv8.0-a", "", ""}, {"vax", "", "", ""},
	} {
		m, err := targetFor(c.target, c.cpu)
		if (err == nil) != (c.want != "") || err == nil && (m.arch != c.want || m.cpu != c.level) {
			t.Error(c, err)
		}
	}
	m, err := targetFor("", "")
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{"amd64": "x86-64", "arm64": "aarch64"}[runtime.GOARCH]; want != "" && m.arch != want {
		t.Error(m.arch)
	}
}

// TestMisplacedSites: sites outside of the code, or out of order, are an error.
func TestMisplacedSites(t *testing.T) {
	good := backend.Code{Bytes: make([]byte, 16), Align: 4, Traps: []abi.TrapSite{{Offset: 0}, {Offset: 15}},
		Calls: []abi.CallSite{{Offset: 4}, {Offset: 16}}, StackMaps: []abi.StackMap{{Offset: 4}, {Offset: 16, Slots: []int32{-8}}}}
	module := func(c *backend.Code) (*Result, error) {
		return Module(manyFuncs(1), Options{generator: func(*clif.Module, *instance.Layout) generate {
			return func(*clif.Func) (*backend.Code, error) { return c, nil }
		}})
	}
	r, err := module(&good)
	if err != nil {
		t.Fatal(err)
	}
	if m := r.Meta; m.Traps[3].Offset != 16+15 || m.Calls[3].Offset != 16+16 || m.StackMaps.Len() != 4 || !slices.Equal(m.StackMaps.At(16+16, nil), []int32{-8}) {
		t.Error(m.Traps, m.Calls, m.StackMaps)
	}
	for n, change := range []func(c *backend.Code){
		func(c *backend.Code) { c.Traps = []abi.TrapSite{{Offset: 16}} },
		func(c *backend.Code) { c.Traps = []abi.TrapSite{{Offset: 3}, {Offset: 3}} },
		func(c *backend.Code) { c.Traps = []abi.TrapSite{{Offset: 3}, {Offset: 2}} },
		func(c *backend.Code) { c.Calls = []abi.CallSite{{Offset: 17}} },
		func(c *backend.Code) { c.Calls = []abi.CallSite{{Offset: 3}, {Offset: 3}} },
		func(c *backend.Code) { c.StackMaps = []abi.StackMap{{Offset: 17}} },
		func(c *backend.Code) { c.StackMaps = []abi.StackMap{{Offset: 3}, {Offset: 2}} },
	} {
		c := good
		change(&c)
		if _, err := module(&c); err == nil || !strings.Contains(err.Error(), "internal error") {
			t.Errorf("%d: %v", n, err)
		}
	}
}
