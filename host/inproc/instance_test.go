//go:build linux && (amd64 || arm64)

package inproc

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/image"
	"github.com/waot-project/waot/internal/link"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/internal/proof/metaedit"
	"github.com/waot-project/waot/internal/reloc"
)

func TestTwoInstances(t *testing.T) {
	ways := map[string]func(*Image) (*Module, error){
		"shared": func(img *Image) (*Module, error) { return load(img, true) },
		"copied": func(img *Image) (*Module, error) { return load(img, false) },
		"file":   func(img *Image) (*Module, error) { return throughFile(t, img) },
		"file without execution": func(img *Image) (*Module, error) {
			m, err := throughFile(t, img)
			if err == nil {
				err = m.readFile()
			}
			return m, err
		},
	}
	for name, way := range ways {
		s := newStore(t)
		m, err := way(newBuilder().global(meta.Global{Type: i64, Mutable: true}).
			def("count", fn(nil, vt{i64})).def("const", fn(nil, vt{i64})).def("answer", fn(nil, vt{i32})).
			export("g", abi.ExternGlobal, 0).image("init"))
		if err != nil {
			t.Fatal(name, err)
		}
		if (name != "copied") != (m.fd >= 0) {
			t.Logf("no memfd here")
		}
		a, err := s.Instantiate(m, nil)
		if err != nil {
			t.Fatal(err)
		}
		b, err := s.Instantiate(m, nil)
		if err != nil {
			t.Fatal(err)
		}
		for n := range uint64(3) {
			if got, err := call(t, a, "count"); err != nil || got[0] != n+1 {
				t.Fatal(got, err)
			}
		}
		if got, err := call(t, b, "count"); err != nil || got[0] != 1 {
			t.Fatal(got, err)
		}
		if got, err := call(t, b, "const"); err != nil || got[0] != 0x0807060504030201 {
			t.Fatal(got, err)
		}
		g, _ := a.Global("g")
		if g.Get() != 3 || g.Set(10) != nil {
			t.Fatal(g.Get())
		}
		if got, _ := call(t, a, "count"); got[0] != 11 {
			t.Fatal(got)
		}
		if export(t, a, "answer").Ref() == export(t, b, "answer").Ref() {
			t.Error("instances share a descriptor")
		}
		if err := a.Reset(nil); err != nil {
			t.Fatal(err)
		}
		if got, err := call(t, a, "count"); err != nil || got[0] != 1 {
			t.Fatal(got, err)
		}
		m.Close()
		if err := a.Reset(nil); err != ErrClosed {
			t.Error(err)
		}
		if _, err := s.Instantiate(m, nil); err != ErrClosed {
			t.Error(err)
		}
		if got, err := call(t, b, "count"); err != nil || got[0] != 2 {
			t.Error(got, err)
		}
		a.Close()
		if _, err := a.Func("count"); err != ErrClosed {
			t.Error(err)
		}
	}
}

// TestLinking shares a memory, a table and a global between two instances, with a
// function of each and one of the host in the table.
func TestLinking(t *testing.T) {
	s := newStore(t)
	a := instantiate(t, s, newBuilder().
		memory(meta.Memory{Min: 1, Max: 4, HasMax: true}).
		table(meta.Table{Elem: fref, Min: 4, Max: 10, HasMax: true}).
		global(meta.Global{Type: i64, Mutable: true}).global(meta.Global{Type: i64, Mutable: true}).
		typeSlot(fn(vt{i64}, vt{i64})).
		def("double", fn(vt{i64}, vt{i64})).def("load", fn(vt{i64}, vt{i32})).def("grow", fn(vt{i64}, vt{i64})).
		def("count", fn(nil, vt{i64})).
		export("t", abi.ExternTable, 0).export("m", abi.ExternMemory, 0).export("g", abi.ExternGlobal, 0).image("init"), nil)
	imports := func(_, name string) Extern {
		if name == "counter" {
			name = "g"
		}
		e, _ := a.Export(name)
		return e
	}
	name := func(n string) *meta.ImportName { return &meta.ImportName{Module: "a", Name: n} }
	b := instantiate(t, s, newBuilder().imp("a", "double", fn(vt{i64}, vt{i64})).
		memory(meta.Memory{Min: 1, Max: 5, HasMax: true, Import: name("m")}).
		table(meta.Table{Elem: fref, Min: 2, Import: name("t")}).
		global(meta.Global{Type: i64, Mutable: true, Import: name("counter")}).
		global(meta.Global{Type: i64, Mutable: true, Import: name("counter")}).
		typeSlot(fn(vt{i64}, vt{i64})).
		def("pass", fn(vt{i64}, vt{i64})).def("store", fn(vt{i64, i64}, nil)).
		def("indirect", fn(vt{i32, i64}, vt{i64})).def("countimported", fn(nil, vt{i64})).
		def("answer", fn(nil, vt{i32})).def("refunc", fn(nil, vt{fref})).
		export("double", abi.ExternFunc, 0).export("m", abi.ExternMemory, 0).image("init"), imports)
	if got, err := call(t, b, "pass", 21); err != nil || got[0] != 42 {
		t.Error("imported function", got, err)
	}
	if f := export(t, b, "double"); f != export(t, a, "double") {
		t.Error("a re-exported import is another function")
	}
	if _, err := call(t, b, "store", 65536+8, 99); err == nil {
		t.Error("store past the end")
	}
	if got, err := call(t, a, "grow", 2); err != nil || got[0] != 1 {
		t.Error("grow", got, err)
	}
	if _, err := call(t, b, "store", 65536+8, 99); err != nil {
		t.Error(err)
	}
	if got, err := call(t, a, "load", 65536+8); err != nil || got[0] != 99 {
		t.Error("shared memory", got, err)
	}
	call(t, a, "count")
	if got, err := call(t, b, "countimported"); err != nil || got[0] != 2 {
		t.Error("shared global", got, err)
	}
	tab, _ := a.Table("t")
	h := host(t, s, fn(vt{i64}, vt{i64}), func(c *Caller, args, results []uint64) error {
		results[0] = args[0] * 100
		if c.Instance() != b {
			t.Error("caller")
		}
		return nil
	})
	for n, ref := range []uint64{export(t, a, "double").Ref(), h.Ref(), export(t, b, "pass").Ref()} {
		if err := tab.Set(uint64(n), ref); err != nil {
			t.Fatal(err)
		}
	}
	for n, want := range []uint64{14, 700, 14} {
		if got, err := call(t, b, "indirect", uint64(n), 7); err != nil || got[0] != want {
			t.Errorf("element %d: %v %v", n, got, err)
		}
	}
	got, err := call(t, b, "refunc")
	if err != nil || s.FuncOf(got[0]) != export(t, b, "answer") {
		t.Error("function reference", err)
	}
	if f := s.FuncOf(h.Ref()); f != h {
		t.Error("reference to a host function")
	}
	if s.FuncOf(0) != nil || s.FuncOf(8) != nil || s.FuncOf(h.Ref()+1) != nil || s.FuncOf(h.Ref()-4) != nil || s.FuncOf(uint64(h.desc)) != nil {
		t.Error("FuncOf of no reference")
	}
	if err := tab.Set(0, 12345); err != ErrType {
		t.Error(err)
	}
}

func TestGrowth(t *testing.T) {
	s, err := NewStore(Config{MaxMemoryPages: 100, MaxTableElements: 50})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	i := instantiate(t, s, newBuilder().
		memory(meta.Memory{Min: 1, Max: 65536}).
		table(meta.Table{Elem: fref, Min: 1, Max: 1 << 32}).
		def("grow", fn(vt{i64}, vt{i64})).def("tablegrow", fn(vt{i64, fref}, vt{i64})).
		def("load", fn(vt{i64}, vt{i32})).def("answer", fn(nil, vt{i32})).
		export("m", abi.ExternMemory, 0).export("t", abi.ExternTable, 0).image("init"), nil)
	m, _ := i.Memory("m")
	tab, _ := i.Table("t")
	if got, _ := call(t, i, "grow", 0); got[0] != 1 {
		t.Error(got)
	}
	if got, _ := call(t, i, "grow", 2); got[0] != 1 || m.Size() != 3*abi.PageSize {
		t.Error(got, m.Size())
	}
	if got, err := call(t, i, "load", 3*abi.PageSize-4); err != nil || got[0] != 0 {
		t.Error(err)
	}
	for _, n := range []uint64{98, 1 << 20, 1 << 63, ^uint64(0)} {
		if got, _ := call(t, i, "grow", n); got[0] != growFailed {
			t.Error(n, got)
		}
		if got, _ := call(t, i, "tablegrow", n, 0); got[0] != growFailed {
			t.Error(n, got)
		}
	}
	if old := m.Grow(97); old != 3 || len(m.Bytes()) != 100*abi.PageSize {
		t.Error(old)
	}
	ref := export(t, i, "answer").Ref()
	if got, _ := call(t, i, "tablegrow", 49, ref); got[0] != 1 || tab.Len() != 50 {
		t.Error(got, tab.Len())
	}
	if v, err := tab.Get(49); v != ref || err != nil {
		t.Error(v, err)
	}
	if v, _ := tab.Get(0); v != 0 {
		t.Error(v)
	}
	if _, err := tab.Get(50); err != ErrBounds {
		t.Error(err)
	}
	if tab.Grow(1, 0) != growFailed {
		t.Error("grew past the limit")
	}
	var limit *LimitError
	if _, err := s.NewMemory(Limits{Min: 101}); !errors.As(err, &limit) {
		t.Error(err)
	}
	if _, err := s.NewTable(fref, Limits{Min: 51}); !errors.As(err, &limit) {
		t.Error(err)
	}
}

// TestFullMemory grows to 4 GiB and reads the last word.
func TestFullMemory(t *testing.T) {
	s := newStore(t)
	i := instantiate(t, s, newBuilder().memory(meta.Memory{Max: 65536}).
		def("grow", fn(vt{i64}, vt{i64})).def("load", fn(vt{i64}, vt{i32})).image("init"), nil)
	if _, err := call(t, i, "load", 0); err == nil {
		t.Error("load from an empty memory")
	}
	if got, err := call(t, i, "grow", 65536); err != nil || got[0] != 0 {
		t.Skip("the system refuses 4 GiB:", got, err)
	}
	if _, err := call(t, i, "load", 1<<32-4); err != nil {
		t.Error(err)
	}
	if _, err := call(t, i, "load", 1<<32-3); err == nil {
		t.Error("load past 4 GiB")
	}
}

func TestHalfInstantiated(t *testing.T) {
	s := newStore(t)
	tab, err := s.NewTable(fref, Limits{Min: 2, Max: 2, HasMax: true})
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.Load(newBuilder().
		table(meta.Table{Elem: fref, Min: 1, Import: &meta.ImportName{Module: "e", Name: "t"}}).
		def("answer", fn(nil, vt{i32})).image("inittrap"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Instantiate(m, one(tab))
	var trap *Trap
	if !errors.As(err, &trap) || trap.Code != abi.TrapUnreachable || trap.Offset != 9 {
		t.Fatal(err)
	}
	ref, _ := tab.Get(0)
	f := s.FuncOf(ref)
	if f == nil {
		t.Fatal("the element was not written")
	}
	r := make([]uint64, 1)
	if err := f.Call(nil, r); err != nil || r[0] != 42 {
		t.Error(r, err)
	}
	user := instantiate(t, s, newBuilder().
		table(meta.Table{Elem: fref, Min: 1, Import: &meta.ImportName{Module: "e", Name: "t"}}).
		typeSlot(fn(nil, vt{i32})).def("indirect", fn(vt{i32, i64}, vt{i32})).image("init"), one(tab))
	if got, err := call(t, user, "indirect", 0, 0); err != nil || got[0] != 42 {
		t.Error(got, err)
	}
}

func TestInitCallsHost(t *testing.T) {
	s := newStore(t)
	calls := 0
	var fail error
	h := host(t, s, fn(nil, nil), func(*Caller, []uint64, []uint64) error { calls++; return fail })
	m, err := s.Load(newBuilder().imp("e", "h", fn(nil, nil)).image("initcall"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Instantiate(m, one(h)); err != nil || calls != 1 {
		t.Error(err, calls)
	}
	fail = errors.New("stop")
	if _, err := s.Instantiate(m, one(h)); err != fail {
		t.Error(err)
	}
	// From inside a host function.
	nested := host(t, s, fn(nil, nil), func(c *Caller, _, _ []uint64) error {
		fail = nil
		_, err := c.Store().Instantiate(m, one(h))
		return err
	})
	if _, err := s.Instantiate(m, one(nested)); err != nil || calls != 3 {
		t.Error(err, calls)
	}
}

func TestLinkErrors(t *testing.T) {
	s, other := newStore(t), newStore(t)
	void := fn(nil, nil)
	hv := host(t, s, void, func(*Caller, []uint64, []uint64) error { return nil })
	hi := host(t, s, fn(vt{i32}, nil), func(*Caller, []uint64, []uint64) error { return nil })
	ho := host(t, other, void, func(*Caller, []uint64, []uint64) error { return nil })
	mem, _ := s.NewMemory(Limits{Min: 1, Max: 3, HasMax: true})
	open, _ := s.NewMemory(Limits{Min: 1})
	tab, _ := s.NewTable(fref, Limits{Min: 1, Max: 10, HasMax: true})
	gi, _ := s.NewGlobal(i32, false, 7, 0)
	name := &meta.ImportName{Module: "m", Name: "n"}
	f := func() *builder { return newBuilder().imp("m", "n", void) }
	mm := func(min, max uint64, has bool) *builder {
		return newBuilder().memory(meta.Memory{Min: min, Max: max, HasMax: has, Import: name})
	}
	tt := func(e meta.ValType, min, max uint64, has bool) *builder {
		return newBuilder().table(meta.Table{Elem: e, Min: min, Max: max, HasMax: has, Import: name})
	}
	gg := func(v meta.ValType, mut bool) *builder {
		return newBuilder().global(meta.Global{Type: v, Mutable: mut, Import: name})
	}
	const unknown, bad = "unknown import", "incompatible import type"
	for n, c := range []struct {
		b    *builder
		e    Extern
		want string
	}{
		{f(), hv, ""}, {f(), nil, unknown}, {f(), hi, bad}, {f(), ho, bad}, {f(), mem, bad},
		{mm(1, 3, true), mem, ""}, {mm(0, 65536, false), mem, ""}, {mm(2, 3, true), mem, bad},
		{mm(1, 2, true), mem, bad}, {mm(1, 2, true), open, bad}, {mm(1, 0, false), open, ""}, {mm(1, 3, true), nil, unknown},
		{tt(fref, 1, 10, true), tab, ""}, {tt(fref, 1, 0, false), tab, ""}, {tt(xref, 1, 10, true), tab, bad},
		{tt(fref, 2, 10, true), tab, bad}, {tt(fref, 1, 9, true), tab, bad},
		{gg(i32, false), gi, ""}, {gg(i32, true), gi, bad}, {gg(i64, false), gi, bad}, {gg(i32, false), tab, bad},
	} {
		m, err := s.Load(c.b.image("init"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Instantiate(m, one(c.e))
		var link *LinkError
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%d: %v", n, err)
		case c.want != "" && (!errors.As(err, &link) || link.Reason != c.want || link.Name != "n"):
			t.Errorf("%d: %v, want %s", n, err, c.want)
		}
	}
	m, _ := s.Load(f().image("init"))
	if _, err := s.Instantiate(m, nil); err == nil {
		t.Error("no resolver")
	}
	small := storeWith(t, Config{MaxMemoryPages: 4})
	big, err := small.Load(newBuilder().memory(meta.Memory{Min: 5}).image("init"))
	if err != nil {
		t.Fatal(err)
	}
	var limit *LimitError
	if _, err := small.Instantiate(big, nil); !errors.As(err, &limit) {
		t.Error(err)
	}
}

func TestExternRefs(t *testing.T) {
	s := newStore(t)
	x := &struct{ n int }{1}
	r := s.ExternRef(x)
	if r == 0 || s.Extern(r) != x || s.ExternRef(nil) != 0 || s.Extern(0) != nil || s.Extern(r+4) != nil || s.Extern(5) != nil {
		t.Error("handles")
	}
	tab, err := s.NewTable(xref, Limits{Min: 1})
	if err != nil || tab.Set(0, r) != nil || tab.Set(0, r+4) != ErrType || tab.Set(1, r) != ErrBounds {
		t.Error(err)
	}
	g, err := s.NewGlobal(xref, true, 0, 0)
	if err != nil || g.Set(r) != nil || g.Get() != r || g.Set(r+4) != ErrType {
		t.Error(err)
	}
	v, err := s.NewGlobal(meta.V128, true, 5, 6)
	if err != nil || v.GetWords() != [2]uint64{5, 6} || v.SetWords([2]uint64{1, 2}) != nil || v.GetWords() != [2]uint64{1, 2} || v.Set(1) != ErrType {
		t.Error(err)
	}
	f, err := s.NewHostFunc(fn(vt{meta.I32, meta.V128}, vt{meta.V128}), func(_ *Caller, args, results []uint64) error {
		results[0], results[1] = args[2]+args[0], args[1]
		return nil
	})
	words := []uint64{1, 2, 3}
	if err != nil || f.CallStack(nil, words) != nil || words[0] != 4 || words[1] != 2 || f.Call(words[:2], words) != ErrType {
		t.Error(err, words)
	}
}

func TestRelocations(t *testing.T) {
	s := newStore(t)
	b := newBuilder().imp("e", "h", fn(nil, nil)).
		def("answer", fn(nil, vt{i32})).def("count", fn(nil, vt{i64})).
		def("const", fn(nil, vt{i64}))
	at := uint32(len(b.img.Data))
	b.img.Data = append(b.img.Data, make([]byte, 64)...)
	b.m.InstanceSize += 64
	for n, r := range []ref{
		{In: Text, TargetOffset: b.starts["count"], Addend: 4},
		{In: Rodata, TargetOffset: 2},
		{In: Data, TargetOffset: 16},
		{IsImport: true, Import: 0},
	} {
		r.Section, r.Offset, r.Kind = Data, at+8*uint32(n), reloc.Abs64
		b.img.Relocs = append(b.img.Relocs, r)
	}
	h := host(t, s, fn(nil, nil), func(*Caller, []uint64, []uint64) error { return nil })
	i := instantiate(t, s, b.image("init"), one(h))
	answer := export(t, i, "answer")
	for n, want := range []uintptr{export(t, i, "count").code + 4, i.base + i.module.offset[Rodata] + 2, i.data + 16, h.desc} {
		if got := uintptr(load64(i.data + uintptr(at) + 8*uintptr(n))); got != want {
			t.Errorf("%d: %#x, want %#x", n, got, want)
		}
	}
	if got := bytesAt(s.types.find(answer.typ.key).record, 8); string(got) != "\x01\x60\x00\x00\x01\x00\x7f\x00" {
		t.Errorf("record % x", got)
	}
}

// TestMalformedImages checks that each damage is refused.
func TestMalformedImages(t *testing.T) {
	for n, damage := range []func(b *parts){
		func(b *parts) { b.Meta.ABI++ },
		func(b *parts) { b.Meta.Arch = "another" },
		func(b *parts) { b.Data = b.Data[:100] },
		func(b *parts) { b.Rodata = make([]byte, abi.MaxSectionBytes+1) },
		func(b *parts) { b.Meta.Helpers = 4 },
		func(b *parts) { b.Meta.Helpers = 1 << 20 },
		func(b *parts) { b.Meta.TypeSlots = uint32(len(b.Data)) },
		func(b *parts) { b.Meta.SlotTypes[0] = 99 },
		func(b *parts) { b.Meta.Memories[0].Slot = uint32(len(b.Data)) - 4 },
		func(b *parts) { b.Meta.Tables[0].Slot = ^uint32(7) },
		func(b *parts) { b.Meta.Funcs[0].Type = 50 },
		func(b *parts) { b.Meta.Funcs[0].Text = 1 << 30 },
		func(b *parts) { b.Meta.Funcs[0].Size = ^uint32(0) },
		func(b *parts) { b.Meta.Funcs[0].HasDesc, b.Meta.Funcs[0].Desc = true, uint32(len(b.Data)) },
		func(b *parts) { b.Meta.Funcs = nil },
		func(b *parts) { b.Meta.Funcs[len(b.Meta.Funcs)-1].Type = b.Meta.Funcs[2].Type },
		func(b *parts) { b.Meta.Exports[0].Index = 1000 },
		func(b *parts) { b.Meta.Exports[0].Kind = 9 },
		func(b *parts) { b.Meta.Traps[0], b.Meta.Traps[1] = b.Meta.Traps[1], b.Meta.Traps[0] },
		func(b *parts) { b.Meta.Traps[len(b.Meta.Traps)-1].Offset = 1 << 31 },
		func(b *parts) { b.Meta.Traps[4].Memory = 7 },
		func(b *parts) { b.Meta.Calls[0].Offset = 1 << 31 },
		func(b *parts) { b.Relocs[0].Offset = uint32(len(b.Text)) - 3 },
		func(b *parts) { b.Relocs[0].Kind = reloc.Abs64 },
		func(b *parts) { b.Relocs[0].Kind = reloc.NumKinds },
		func(b *parts) { b.Relocs[0].Kind = reloc.PC64 },
		func(b *parts) { b.Relocs[0].In = 3 }, // no section of an image
		func(b *parts) { b.Relocs[0].TargetOffset = 1 << 30 },
		func(b *parts) { b.Relocs[0].Addend = math.MinInt64 },
		func(b *parts) { b.Relocs[0].Addend = math.MaxInt64 },
		func(b *parts) { b.Relocs[0].Addend = -int64(b.Relocs[0].TargetOffset) - 9 },
		func(b *parts) { b.Relocs[0].Addend = int64(len(b.Data) + len(b.Text) + len(b.Rodata)) },
		func(b *parts) {
			b.Relocs = append(b.Relocs, ref{Section: Data, Offset: 20, Kind: reloc.Abs64})
		},
		func(b *parts) {
			b.Meta.StackMaps = metaedit.Coded([]abi.StackMap{{Offset: b.Meta.Calls[0].Offset, Slots: []int32{-8}}}) // the frame has no room
		},
		func(b *parts) { b.Relocs[0].IsImport = true },
		func(b *parts) {
			b.Relocs = append(b.Relocs, ref{Section: Data, Kind: reloc.Abs64, IsImport: true, Import: 200})
		},
		func(b *parts) {
			b.Relocs = append(b.Relocs, ref{Section: Data, Kind: reloc.Abs64, IsImport: true})
		},
	} {
		p := trapParts()
		damage(p)
		var bad *ImageError
		var unlinked *link.Error
		if _, err := p.load(); !errors.As(err, &bad) && !errors.As(err, &unlinked) {
			t.Errorf("%d: %v", n, err)
		}
	}
	// What no link gives.
	for n, damage := range []func(b *Image){
		func(b *Image) { b.Meta = nil },
		func(b *Image) { b.Page = 1 },
		func(b *Image) { b.Page = 128 << 10 },
		func(b *Image) { b.Text = b.Text[:len(b.Text)-1] },
		func(b *Image) { b.Address[Text] = 64 << 10 },
		func(b *Image) { b.Address[Data] = b.Address[Rodata] },
		func(b *Image) { b.Address[Data] += 1 << 20 },
		func(b *Image) { b.Addresses = []uint64{4} },
		func(b *Image) { b.Addresses = []uint64{0, 0} },
		func(b *Image) { b.Addresses = []uint64{uint64(len(b.Data))} },
		func(b *Image) {
			b.Addresses = []uint64{0}
			binary.LittleEndian.PutUint64(b.Data, b.Size()+1)
		},
		func(b *Image) { b.Imports = []image.ImportWord{{At: 8}} },
		func(b *Image) { b.Memories = make([]image.Memory, 3) },
		func(b *Image) { b.Memories = []image.Memory{nil, {{Offset: 1<<16 - 1, Data: make([]byte, 2)}}} },
	} {
		img := trapModule()
		damage(img)
		var bad *ImageError
		if _, err := Load(img); !errors.As(err, &bad) {
			t.Errorf("image %d: %v", n, err)
		}
	}
	img := trapModule()
	img.Meta.CPU = "x86-64-v9"
	var cpu *CPUError
	if _, err := Load(img); !errors.As(err, &cpu) {
		t.Error(err)
	}
	img.Meta.CPU = levelNames[process.cpu]
	if _, err := Load(img); err != nil {
		t.Error(err)
	}
	if int(process.cpu)+1 < len(levelNames) {
		img.Meta.CPU = levelNames[process.cpu+1]
		if _, err := Load(img); !errors.As(err, &cpu) {
			t.Error(err)
		}
	}
}

// TestArena checks the allocator of the code arena by itself.
func TestArena(t *testing.T) {
	s := newStore(t)
	_ = s
	before := len(process.free)
	var at [5]uintptr
	for n := range at {
		a, err := process.allocCode(granule * uintptr(n+1))
		if err != nil || a%granule != 0 {
			t.Fatal(err)
		}
		at[n] = a
	}
	for _, n := range []int{1, 3, 2, 0, 4} {
		process.freeCode(at[n], granule*uintptr(n+1))
	}
	if len(process.free) != before {
		t.Errorf("%d free extents, %d before", len(process.free), before)
	}
	if _, err := process.allocCode(bytes64(codeArena * 2)); err == nil {
		t.Error("more than the arena")
	}
}

// BenchmarkInstantiate is a store with an instance of a module of a megabyte that is loaded
// already, and its end.
func BenchmarkInstantiate(b *testing.B) {
	p := newBuilder().memory(meta.Memory{Min: 2}).table(meta.Table{Elem: fref, Min: 10}).
		def("count", fn(nil, vt{i64})).parts("init")
	p.Text = append(p.Text, make([]byte, 1<<20)...)
	m, err := p.load()
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	for b.Loop() {
		s, err := NewStore(Config{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Instantiate(m, nil); err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
