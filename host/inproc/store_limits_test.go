//go:build linux && (amd64 || arm64)

package inproc

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
)

// refused checks that err is a *LimitError of that name.
func refused(t *testing.T, err error, what string) {
	t.Helper()
	var limit *LimitError
	if !errors.As(err, &limit) || limit.What != what || limit.Want <= limit.Limit {
		t.Errorf("%v, not above the limit of %s", err, what)
	}
}

func TestDefaults(t *testing.T) {
	var c Config
	want := Config{
		MaxMemoryPages: 65536, MaxTotalMemoryPages: 262144, MaxTableElements: 10_000_000, MaxTableMemory: 128 << 20, MaxExceptionMemory: 128 << 20, MaxHeapMemory: 1 << 30,
		MaxTables: 4096, MaxMemories: 4096, MaxGlobals: 1_000_000,
		MaxStack: 8 << 20, MaxHostStack: 8 << 20, MaxHostDepth: 10_000,
	}
	if err := c.complete(); err != nil || !cmp.Equal(c, want) {
		t.Error(err, cmp.Diff(want, c))
	}
	c = Config{MaxTableElements: math.MaxUint64, MaxMemoryPages: math.MaxUint64, MaxStack: 1}
	if err := c.complete(); err != nil || c.MaxTableMemory != 8*(1<<32-1) || c.MaxMemoryPages != 65536 || c.MaxStack != abi.MinStack {
		t.Error(err, c)
	}
	refused(t, (&Config{MaxStack: maxStack + 1}).complete(), "stack bytes")
	refused(t, (&Config{MaxHostStack: maxHostStack + 1}).complete(), "host stack bytes")
}

// TestTotals reaches each limit of a store in all, by growth in compiled code, by Go, and by
// instantiation.
func TestTotals(t *testing.T) {
	s, err := NewStore(Config{MaxTotalMemoryPages: 10, MaxTableMemory: 800, MaxTables: 2, MaxMemories: 2, MaxGlobals: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	img := func() *Image {
		return newBuilder().memory(meta.Memory{Min: 4, Max: 65536}).table(meta.Table{Elem: fref, Min: 10, Max: 1 << 32}).
			global(meta.Global{Type: i64}).global(meta.Global{Type: i64}).
			def("grow", fn(vt{i64}, vt{i64})).def("tablegrow", fn(vt{i64, fref}, vt{i64})).image("init")
	}
	i := instantiate(t, s, img(), nil)
	for _, c := range []struct {
		name string
		n    []uint64
		want uint64
	}{
		{"grow", []uint64{7}, growFailed}, {"grow", []uint64{5}, 4}, {"grow", []uint64{2}, growFailed},
		{"grow", []uint64{1}, 9}, {"grow", []uint64{1}, growFailed}, {"grow", []uint64{0}, 10},
		{"tablegrow", []uint64{91, 0}, growFailed}, {"tablegrow", []uint64{80, 0}, 10}, {"tablegrow", []uint64{10, 0}, 90},
		{"tablegrow", []uint64{1, 0}, growFailed}, {"tablegrow", []uint64{1 << 61, 0}, growFailed}, {"tablegrow", []uint64{0, 0}, 100},
	} {
		if got, err := call(t, i, c.name, c.n...); err != nil || got[0] != c.want {
			t.Errorf("%s %d: %d, not %d (%v)", c.name, c.n, got, c.want, err)
		}
	}
	_, err = s.NewMemory(Limits{Min: 1})
	refused(t, err, "pages of memories")
	m, err := s.NewMemory(Limits{})
	if err != nil || m.Grow(1) != growFailed || m.Grow(0) != 0 {
		t.Error(err)
	}
	_, err = s.NewMemory(Limits{})
	refused(t, err, "memories")
	_, err = s.NewTable(xref, Limits{Min: 1})
	refused(t, err, "bytes of tables")
	tab, err := s.NewTable(xref, Limits{})
	if err != nil || tab.Grow(1, 0) != growFailed || tab.Grow(0, 0) != 0 {
		t.Error(err)
	}
	refused(t, tab.CheckGrow(1, 0), "bytes of tables")
	refused(t, tab.CheckGrow(1<<63, 0), "table elements")
	_, err = s.NewTable(xref, Limits{})
	refused(t, err, "tables")
	if _, err := s.NewGlobal(i64, true, 1, 0); err != nil {
		t.Error(err)
	}
	_, err = s.NewGlobal(i64, true, 1, 0)
	refused(t, err, "globals")
	// What a limit refuses leaves nothing.
	used := s.used
	for _, b := range []*Image{img(), newBuilder().global(meta.Global{Type: i64}).image("init")} {
		mod, err := s.Load(b)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = s.Instantiate(mod, nil); err == nil {
			t.Error("instantiated")
		}
		refused(t, err, map[bool]string{true: "tables", false: "globals"}[len(b.Meta.Tables) != 0])
	}
	if s.used != used || len(s.instances) != 1 || len(s.tables) != 2 || len(s.memories) != 2 {
		t.Errorf("left behind: %+v", s.used)
	}
}

// TestNone: negative limits of numbers allow none.
func TestNone(t *testing.T) {
	s, err := NewStore(Config{MaxTables: -1, MaxMemories: -1, MaxGlobals: -1, MaxInstances: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = s.NewTable(fref, Limits{})
	refused(t, err, "tables")
	_, err = s.NewMemory(Limits{})
	refused(t, err, "memories")
	_, err = s.NewGlobal(i64, true, 1, 0)
	refused(t, err, "globals")
	m, err := s.Load(newBuilder().image("init"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Instantiate(m, nil)
	refused(t, err, "instances")
}

// TestFailedCounts: what instantiations made that failed later is counted.
func TestFailedCounts(t *testing.T) {
	s, err := NewStore(Config{MaxTables: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	m, err := s.Load(newBuilder().table(meta.Table{Elem: fref, Min: 1, Max: 1}).image("inittrap"))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		var trap *Trap
		if _, err := s.Instantiate(m, nil); !errors.As(err, &trap) {
			t.Error(err)
		}
	}
	_, err = s.Instantiate(m, nil)
	refused(t, err, "tables")
}

// TestCancelledGrowth: a table that grows when a context ends the call is as it was.
func TestCancelledGrowth(t *testing.T) {
	s := newStore(t)
	tab, err := s.NewTable(xref, Limits{Min: 3})
	if err != nil {
		t.Fatal(err)
	}
	s.cancelled.Store(1)
	if tab.Grow(200_000, s.ExternRef("x")) != growFailed || tab.Len() != 3 {
		t.Error(tab.Len())
	}
	s.cancelled.Store(0)
	if tab.Grow(200_000, 0) != 3 {
		t.Error(tab.Len())
	}
	for i := range tab.Len() {
		if v, err := tab.Get(i); v != 0 || err != nil {
			t.Fatal(i, v, err)
		}
	}
}

// TestCollectionShare: handles pay for a bounded share of a collection each, however long the tables,
// from the first on.
func TestCollectionShare(t *testing.T) {
	s := newStore(t)
	const elements = 1 << 20
	if _, err := s.NewTable(xref, Limits{Min: elements}); err != nil {
		t.Fatal(err)
	}
	for n := range elements {
		s.Release(s.ExternRef(n))
		if n == minRefRoom-1 && s.refs.epoch != 0 {
			t.Error("collected at once")
		}
	}
	if n := s.refs.epoch; n < 2 || n > 10 {
		t.Errorf("%d collections", n)
	}
}

// TestProcessLimits reaches the limits of the process, by making them what is in use.
func TestProcessLimits(t *testing.T) {
	s := newStore(t)
	img := newBuilder().image("init")
	m, err := s.Load(img)
	if err != nil {
		t.Fatal(err)
	}
	instance := func() error { _, err := s.Instantiate(m, nil); return err }
	memory := func() error { _, err := s.NewMemory(Limits{}); return err }
	table := func() error { _, err := s.NewTable(fref, Limits{}); return err }
	store := func() error {
		s, err := NewStore(Config{})
		if err == nil {
			s.Close()
		}
		return err
	}
	p := &process
	p.dropSpares() // so that what is free is known
	set := func(f func()) {
		p.mu.Lock()
		defer p.mu.Unlock()
		f()
	}
	most, stacks, stacksMax, free := p.maxMappings, p.stacks, p.stacksMax, p.free

	const mappings = "memory mappings of the process"
	set(func() { p.maxMappings, p.stacks = p.mappings, nil })
	for _, f := range []func() error{instance, memory, table, store} {
		err := f()
		for tries := 0; err == nil && tries < 100; tries++ { // memories of other tests may be given back only now
			set(func() { p.maxMappings = p.mappings })
			err = f()
		}
		refused(t, err, mappings)
	}
	set(func() { p.maxMappings, p.stacksMax = most, p.stacksUsed })
	refused(t, store(), "stores")
	set(func() { p.stacks, p.stacksMax, p.free = stacks, stacksMax, nil })
	var system *SystemError
	if err := instance(); !errors.As(err, &system) || !errors.Is(err, ErrNoSpace) {
		t.Error(err)
	}
	set(func() { p.free = free })

	for _, f := range []func() error{instance, memory, table, store} {
		if err := f(); err != nil {
			t.Error(err)
		}
	}
}
