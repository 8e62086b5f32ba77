package interp

import (
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
)

// TestMemoryLimit: a memory that states no maximum ends below 4 GiB, also one that is only imported as such.
func TestMemoryLimit(t *testing.T) {
	for _, c := range []struct {
		d    clif.MemoryDecl
		want uint64
	}{
		{clif.MemoryDecl{Min: 1}, abi.DefaultMemoryPages},
		{clif.MemoryDecl{Min: abi.DefaultMemoryPages}, abi.DefaultMemoryPages},
		{clif.MemoryDecl{Min: abi.DefaultMemoryPages + 1}, abi.MaxMemoryPages},
		{clif.MemoryDecl{Min: 1, Max: 3, HasMax: true}, 3},
		{clif.MemoryDecl{Min: 1, Max: 1 << 40, HasMax: true}, abi.MaxMemoryPages},
	} {
		if got := c.d.MaxPages(); got != c.want {
			t.Errorf("%+v has up to %d pages, want %d", c.d, got, c.want)
		}
	}
	if m := NewMemory(1, 0, false); m.limit != abi.DefaultMemoryPages {
		t.Errorf("a limit of %d", m.limit)
	} else if _, ok := m.Grow(abi.DefaultMemoryPages); ok {
		t.Error("it grows to 65,521 pages")
	}
	large := NewMemory(0, abi.MaxMemoryPages, true)
	m := &clif.Module{
		Sigs: []clif.Signature{{}}, Funcs: []clif.FuncDecl{{Name: "init"}},
		Memories: []clif.MemoryDecl{{Import: &clif.ImportName{Module: "m", Name: "n"}}},
	}
	init := &clif.Func{Name: "init", Mod: m}
	b := &clif.Builder{F: init}
	b.SwitchTo(b.NewBlock())
	b.Return(nil)
	_, err := NewStore(Options{}).Instantiate(m, func(clif.FuncIndex) (*clif.Func, error) { return init, nil },
		func(string, string) (Extern, bool) { return large, true })
	if err != nil || large.limit != abi.DefaultMemoryPages {
		t.Errorf("the imported memory has a limit of %d: %v", large.limit, err)
	}
}
