//go:build linux && (amd64 || arm64)

package guestfuzz

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waot-project/waot"
	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// skipUnsupported skips a test where nothing can run, which must not be so in CI.
func skipUnsupported(t *testing.T) {
	t.Helper()
	if err := host.Preemption(); err != nil {
		testenv.Missing(t, err.Error())
	}
}

// TestEpisodes runs episodes for some seconds, a third of what WAOT_STRESS says. The command in soak, with the same
// seeds, names those that were running if the process ends.
func TestEpisodes(t *testing.T) {
	skipUnsupported(t)
	cfg := Config{First: 1, For: testenv.Cases(time.Second, time.Second, 3*time.Second), Workers: 8, Between: time.Second, Patience: 10 * time.Minute}
	if s := os.Getenv("WAOT_STRESS"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			t.Fatal(err)
		}
		cfg.For = d / 3
	}
	if os.Getenv("WAOT_EMULATOR") != "" {
		cfg.For *= 3 // it is slow, and what a process holds is judged once it is warm
	}
	result, err := Run(&cfg)
	if err != nil {
		t.Error(err)
	}
	for _, what := range slices.Sorted(maps.Keys(result.Counts)) {
		t.Logf("%8d %s", result.Counts[what], what)
	}
	t.Logf("%d of %d samples are of a warm process\n%s", len(since(result.Samples, warm)), len(result.Samples), Table(result.Samples))
	// What must have been done in so many episodes.
	must := map[string]int{"exceptions caught": 500, "exceptions of the host caught": 500, "exceptions that leave calls": 500, "tail calls of the host": 500,
		"tail calls of other instances": 3000, "exceptions caught by other instances": 20_000}
	for _, d := range deeds() {
		must[d.name] = 500
	}
	for what, n := range must {
		if result.Counts[what] == 0 && result.Counts["episodes"] > n {
			t.Errorf("%s: none", what)
		}
	}
}

// TestCancelledBetweenSegments has the model settle an instantiation that was cancelled after the first of two segments
// that are for the same place, which the code has after neither and after both of them.
func TestCancelledBetweenSegments(t *testing.T) {
	skipUnsupported(t)
	for _, applied := range []bool{false, true} {
		w := newWorld(&runner{Config: &Config{}, counts: map[string]int{}}, 1, 0)
		table := &tableItem{elem: 'x', limits: host.Limits{Min: 2}}
		var err error
		table.real, err = w.store.NewTable(host.TypeExternRef, table.limits)
		w.must(err, "NewTable")
		w.addTable(table)
		if applied {
			seed, err := w.seedGlobal.real.Get()
			w.must(err, "Get")
			w.must(table.real.Set(1, seed.Ref()), "Set")
		}
		segment := func(items ...int) elemDef { return elemDef{elem: 'x', items: items, active: true} }
		p := &program{globals: []globalDef{{imported: true}, {imported: true}, {imported: true}}, start: -1}
		p.elems = []elemDef{segment(-1, 0), segment(0, -1)}
		i := &instance{prog: p, mem: &memoryItem{}, tables: []*tableItem{table}, elems: make([][]value, 2)}
		i.globals = []*globalItem{w.stepGlobal, w.fuelGlobal, w.seedGlobal}
		w.settle(&activation{init: i})
		if got := table.elems[1].ref != nil; got != applied {
			t.Errorf("first segment applied: %v, want %v", got, applied)
		}
		w.must(w.store.Close(), "Close")
	}
}

// TestLies has the host do what it does not tell the model. Each must be noticed, or a check is one that cannot fail.
func TestLies(t *testing.T) {
	skipUnsupported(t)
	var mu sync.Mutex // of kept and files
	var kept []*token
	var files []*os.File
	released := make(chan struct{})
	pick := func(w *world, n int) int { return w.r.IntN(n) }
	lies := map[string]func(*world){
		"a byte of a memory": func(w *world) {
			if m := live(w, w.memories, func(m *memoryItem) bool { return m.real != nil && len(m.data) > 0 }); m != nil {
				m.real.Bytes()[pick(w, len(m.data))] ^= 1
			}
		},
		"the size of a memory": func(w *world) {
			if m := live(w, w.memories, func(m *memoryItem) bool { return m.real != nil }); m != nil {
				m.real.Grow(1)
			}
		},
		"an element of a table": func(w *world) {
			if e := live(w, w.tables, func(e *tableItem) bool { return e.real != nil && e.elem == 'x' && len(e.elems) > 0 }); e != nil {
				e.real.Set(uint32(pick(w, len(e.elems))), w.newToken())
			}
		},
		"an exception in a table": func(w *world) {
			if e := live(w, w.tables, func(e *tableItem) bool { return e.real != nil && e.elem == 'e' && len(e.elems) > 0 }); e != nil {
				if x := w.newException(); x != nil {
					e.real.Set(uint32(pick(w, len(e.elems))), x.real)
				}
			}
		},
		"an exception thrown": func(w *world) {
			if n := len(w.exns); n > 1 { // Go code has taken one for another
				w.exns[0].real, w.exns[n-1].real = w.exns[n-1].real, w.exns[0].real
			}
		},
		"a global": func(w *world) { w.fuelGlobal.real.Set(host.I64(int64(w.fuelGlobal.v.bits) + 1)) },
		"actions not done": func(w *world) {
			w.stepGlobal.real.Set(host.I64(int64(w.step()) - 1))
		},
		"a claim": func(w *world) {
			if n := len(w.scopes); n > 0 && len(w.scopes[n-1].words) > 0 {
				w.store.Retain(w.scopes[n-1].words[0].word)
			}
		},
		"a claim given up": func(w *world) {
			if len(w.claims) > 0 {
				w.store.Release(w.claims[0].word)
			}
		},
		"a value kept alive": func(w *world) {
			mu.Lock()
			defer mu.Unlock()
			kept = append(kept, w.newToken())
		},
		// What must not stay is seen by samples.
		"left: a store":     func(w *world) { w.closed = true },
		"left: a goroutine": func(w *world) { go func() { <-released }() },
		"left: a file": func(w *world) {
			f, err := os.Open("/proc/self/maps")
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				files = append(files, f)
			}
		},
	}
	for what, lie := range lies {
		t.Run(what, func(t *testing.T) {
			cfg := Config{First: 1, N: 1000, Workers: 4, Between: 10 * time.Millisecond, Patience: time.Minute}
			if strings.HasPrefix(what, "left: ") {
				if os.Getenv("WAOT_EMULATOR") != "" {
					t.Skip("samples take seconds in an emulator, and what they show does not depend on the machine")
				}
				cfg.N = 120
			}
			cfg.lie = lie
			result, err := Run(&cfg)
			if what == "left: a store" {
				// So few episodes are not warm. Without the lie mappings rise by about ten, each store has more than one.
				if _, rise := fit(result.Samples, mappings); err == nil && rise > float64(cfg.N) {
					err = fmt.Errorf("mappings rise by %.0f", rise)
				}
			}
			if err == nil {
				t.Fatal("not noticed")
			}
			first, _, _ := strings.Cut(err.Error(), "\n")
			t.Logf("after %d episodes: %s", result.Counts["episodes"], first)
		})
	}
	close(released)
	for _, f := range files {
		f.Close()
	}
	if len(kept) == 0 {
		t.Error("nothing was kept")
	}
}

// TestPrograms checks that programs are valid, depend on nothing but their seeds, and are of many kinds.
func TestPrograms(t *testing.T) {
	ops := map[op]int{}
	for seed := range uint64(150) {
		p := newProgram(seed, "p")
		wasm := p.encode()
		if !bytes.Equal(wasm, newProgram(seed, "p").encode()) {
			t.Fatalf("seed %d: two programs", seed)
		}
		if _, err := waot.CompileObject(wasm, nil); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, f := range p.funcs {
			for _, a := range f.body {
				ops[a.op]++
			}
		}
	}
	for o := opEnter; o < numOps; o++ {
		if ops[o] == 0 {
			t.Errorf("no program has operator %d", o)
		}
	}
}

// TestFlat checks what is called flat.
func TestFlat(t *testing.T) {
	make := func(n int, of func(i int) Sample) (all []Sample) {
		for i := range n {
			all = append(all, of(i))
		}
		return all
	}
	steady := func(i int) Sample {
		return Sample{Episodes: warm + i, Resident: 30<<20 + i%3<<20, Mappings: 90 + i%5, Files: 10, Goroutines: 11, Threads: 8 + i%2}
	}
	warming := func(i int) Sample { // rises in the first third only
		s := steady(i)
		s.Resident += min(i, 10) << 20
		s.Mappings += 4 * min(i, 10)
		return s
	}
	for name, c := range map[string]struct {
		all  []Sample
		what string
	}{
		"steady":     {make(60, steady), ""},
		"warm":       {make(60, warming), ""},
		"few":        {make(minSamples-1, func(i int) Sample { return Sample{Files: 100 * i} }), ""},
		"memory":     {make(60, func(i int) Sample { s := steady(i); s.Resident += i << 19; return s }), "resident"},
		"mappings":   {make(60, func(i int) Sample { s := steady(i); s.Mappings += i; return s }), "mappings"},
		"files":      {make(60, func(i int) Sample { s := steady(i); s.Files += i / 10; return s }), "files"},
		"goroutines": {make(60, func(i int) Sample { s := steady(i); s.Goroutines += i / 10; return s }), "goroutines"},
		"threads":    {make(60, func(i int) Sample { s := steady(i); s.Threads += i / 4; return s }), "threads"},
	} {
		err := Flat(c.all)
		if (err == nil) != (c.what == "") || err != nil && !strings.Contains(err.Error(), c.what) {
			t.Errorf("%s: %v, want %q", name, err, c.what)
		}
	}
}
