package difftest

import (
	"cmp"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/interp"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/proof/randprog"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/spectest/interpengine"
	"github.com/waot-project/waot/spectest/nativeengine"
)

// gcFigures are what random modules with garbage collection do.
type gcFigures struct {
	modules, calls, traps int
	trapping              int // modules
	counts                randprog.Counts
}

func (f *gcFigures) add(p *randprog.Program, o *randprog.Outcome) {
	f.modules++
	f.calls += len(o.Calls)
	traps := 0
	for i := range o.Calls {
		if o.Calls[i].Trapped() {
			traps++
		}
	}
	f.traps += traps
	if traps > 0 {
		f.trapping++
	}
	f.counts.Add(p.Counters, o.Counts)
}

func (f *gcFigures) String() string {
	return fmt.Sprintf("%d modules, %d calls, of which %d trap, in %d modules; %v", f.modules, f.calls, f.traps, f.trapping, &f.counts)
}

// check reports what the generator no longer makes: most functions come to their end, few calls trap, and there is much of each kind of operator.
func (f *gcFigures) check(t *testing.T) {
	if f.modules == 0 {
		return
	}
	per := func(name string) float64 { return float64(f.counts.Of(name)) / float64(f.modules) }
	if entered, ended := per(randprog.FunctionsEntered), per(randprog.FunctionsEnded); ended < entered/2 || entered < 3 {
		t.Errorf("functions are entered %.0f times, and come to their end %.0f times, in a module", entered, ended)
	}
	if f.traps*3 > f.calls {
		t.Errorf("%d of %d calls trap", f.traps, f.calls)
	}
	for name, least := range map[string]float64{"struct.new": 20, "struct.get": 50, "struct.set": 0.5, "array.get": 5, "array.len": 20, "ref.eq": 20, "ref.test": 50, "ref.cast": 5, "br_on_cast": 5, "br_on_cast_fail": 100,
		"ref.i31": 3, "extern.convert_any": 0.1, "call_ref": 0.2} {
		if per(name) < least {
			t.Errorf("%s is executed %.1f times in a module, want at least %g", name, per(name), least)
		}
	}
	for _, name := range f.counts.Names {
		if per(name) == 0 && f.modules >= 200 {
			t.Errorf("%s is never executed", name)
		}
	}
}

// gcLimits bound the calls of a program, which are too long for a test beyond; gcLimitsIfSlow, where an engine is slow.
var (
	gcLimits       = interp.Options{MaxSteps: 20_000_000}
	gcLimitsIfSlow = interp.Options{MaxSteps: 60_000}
)

// gcEngines are what is under test: compiled code of each level and allocator, with a collection for each object, in which all of them move, and without; and the mid-end.
// Those with so many collections are for small programs.
func gcEngines() (list []gcEngine) {
	add := func(e *nativeengine.Engine, name string) {
		moving := *e
		moving.Config.CollectAlways = true
		list = append(list, gcEngine{variant{e, name}, false}, gcEngine{variant{&moving, name + " collecting always"}, true})
	}
	add(nativeengine.New(opt.O0), "")
	add(nativeengine.New(opt.O1), "")
	for _, v := range compilations() {
		e := nativeengine.New(v.level)
		v.set((*compile.Options)(&e.Options))
		add(e, v.name)
	}
	midEnd := &interpengine.Engine{Label: "-O1", Rewrite: func(f *clif.Func) error { return new(opt.Optimizer).Run(f, opt.O1) }}
	return append(list, gcEngine{Engine: midEnd})
}

// gcEngine is an engine, perhaps one that is slow where many objects live.
type gcEngine struct {
	spectest.Engine
	slow bool
}

// TestRandomGC compares our engines with the CLIF interpreter on random modules with garbage collection. Each module counts what it does, too, without doing anything else.
func TestRandomGC(t *testing.T) {
	count := cmp.Or(*countFlag, testenv.Cases[uint64](20, 20, 300)) // fewer say little of what is executed
	all := gcEngines()
	g := gcRun{}
	start := time.Now()
	var next atomic.Uint64
	next.Store(*seedFlag)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				seed := next.Add(1) - 1
				if seed >= *seedFlag+count || t.Failed() {
					return
				}
				list := all
				if !testenv.Full() && *countFlag == 0 { // O0 and O1 with collections, the mid-end, and one that takes turns
					list = []gcEngine{all[1], all[3], all[len(all)-1], all[4+seed%uint64(len(all)-5)]}
				}
				g.compare(t, seed, list)
			}
		})
	}
	wg.Wait()
	t.Logf("%v; %d places of traps compared, %d modules too long, %v", &g.figures, g.places, g.long, time.Since(start))
	g.figures.check(t)
}

// gcRun is a run of TestRandomGC.
type gcRun struct {
	mu           sync.Mutex
	figures      gcFigures
	places, long int
}

// compare compares engines on the module of a seed.
func (g *gcRun) compare(t *testing.T, seed uint64, list []gcEngine) {
	p := randprog.GenerateGC(seed, seed%2 == 1, false)
	plain := randprog.Run(&interpengine.Engine{Options: gcLimits}, p)
	if plain.TooLong() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.long++
		return
	}
	slow := randprog.Run(&interpengine.Engine{Options: gcLimitsIfSlow}, p).TooLong()
	places := 0
	for _, e := range list {
		if slow && e.slow {
			continue
		}
		got := randprog.Run(e, p)
		if d := got.Diff(plain); d != "" {
			t.Errorf("seed %d: %s: %s", seed, e.Name(), d)
			save(t, seed, p)
		}
		places += got.Places(plain)
	}
	q := randprog.GenerateGC(seed, seed%2 == 1, true)
	counted := randprog.Run(&interpengine.Engine{}, q)
	if d := counted.WithoutPlaces().Diff(plain); d != "" {
		t.Errorf("seed %d, counting: %s", seed, d)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.places += places
	g.figures.add(q, counted)
}
