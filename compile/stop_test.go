package compile

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/internal/proof/cputime"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/wasmfront"
)

// pieces are pieces of code, without operands before or after, for a function with parameter 0, locals 1 to 3 of type i32, and a
// memory: of loads and stores, calls, loops, branches, and values that live long.
var pieces = []string{
	"\x20\x01\x20\x01\x28\x02\x04\x20\x00\x6a\x22\x01\x20\x00\x6a\x36\x02\x08",
	"\x20\x00\x10\x00\x1a",
	"\x03\x40\x20\x00\x41\x01\x6a\x22\x00\x0d\x00\x0b",
	"\x20\x00\x04\x40\x41\x07\x21\x01\x0b",
	"\x02\x40\x02\x40\x20\x00\x0e\x03\x00\x01\x00\x01\x0b\x20\x01\x41\x05\x6a\x21\x02\x0b\x20\x02\x21\x03",
}

// hugeModule is a module with a global whose initial value is computed, a table and its elements, a data segment, a name section, and
// function 0 of some size in bytes, which is exported.
func hugeModule(size int, pieces ...string) []byte {
	body := []byte("\x01\x03\x7f")
	for len(body) < size {
		for _, p := range pieces {
			body = append(body, p...)
		}
	}
	body = append(body, "\x20\x01\x0b"...)
	m := []byte("\x00asm\x01\x00\x00\x00")
	section := func(id byte, b string) { m = append(binary.AppendUvarint(append(m, id), uint64(len(b))), b...) }
	section(1, "\x01\x60\x01\x7f\x01\x7f")
	section(2, "\x01\x01m\x01g\x03\x7f\x00")
	section(3, "\x01\x00")
	section(4, "\x01\x70\x00\x02")
	section(5, "\x01\x00\x01")
	section(6, "\x01\x7f\x00\x23\x00\x0b")
	section(7, "\x01\x01f\x00\x00")
	section(9, "\x01\x00\x41\x00\x0b\x02\x00\x00")
	section(10, "\x01"+string(binary.AppendUvarint(nil, uint64(len(body))))+string(body))
	section(11, "\x01\x00\x41\x00\x0b\x03abc")
	section(0, "\x04name\x01\x04\x01\x00\x01f")
	return m
}

// build compiles a module to an object file, with the named register allocator and one worker that polls flag.
func build(wasm []byte, regalloc string, flag *stop.Flag) (file []byte, err error) {
	defer stop.Recover(&err)
	o := Options{OptLevel: opt.O1, Jobs: 1, Regalloc: regalloc, stop: flag}
	r, err := Module(wasm, o)
	if err != nil {
		return nil, err
	}
	r.Object.Stop = flag
	var b bytes.Buffer
	err = r.WriteELF(&b)
	return b.Bytes(), err
}

// stages are functions that must poll, in the order of the pipeline.
var stages = []string{
	"wasmfront.(*decoder).section", "wasmfront.(*decoder).functionSection", "wasmfront.(*decoder).codeSection",
	"wasmfront.(*decoder).elemItems", "wasmfront.(*decoder).constExpr",
	"validate.(*checker).functions", "validate.(*checker).exports", "validate.(*checker).constExpr",
	"wasmfront.nameMap", "translate.ModuleUntil", "translate.declareExports", "instance.New",
	"translate.(*Translator).Func", "translate.(*Translator).scan", "translate.(*ssa).removeTrivial", "translate.(*ssa).makeParams",
	"clif.(*Func).ResolveInsts", "translate.(*Translator).Init",
	"analysis.(*CFG).Compute", "analysis.(*CFG).postorder", "analysis.(*CFG).fillPreds", "analysis.(*DomTree).Compute", "analysis.(*DomTree).number",
	"opt.fold", "opt.(*folder).instructions", "clif.(*Func).ResolveTargets", "opt.threadEmpty", "opt.removeParams", "opt.removeDead",
	"backend.(*BlockOrder).search", "backend.(*BlockOrder).loops",
	"backend.(*Place).analyse", "backend.(*lowering).lowerBlock", "backend.(*VCodeBuilder).finish", "backend.(*VCodeBuilder).preds",
	"checker.(*Checker).initValues", "checker.(*Checker).checkBlocks", "checker.(*Checker).visit",
	"backend.(*Emitter).measure", "backend.(*Emitter).plan", "backend.(*Emitter).insts", "backend.(*Emitter).result",
	"compile.(*linker).eachFunc", "compile.(*linker).placeFuncs", "compile.(*linker).applyRelocs", "compile.appendSites[...]",
	"compile.(*linker).layRodata", "compile.(*linker).fillData", "compile.(*linker).fillElems", "compile.(*linker).describe",
	"objfile.(*Object).AddSymbol", "objfile.(*Object).Digest", "objfile.(*Object).validateSection", "objfile.(*Object).validateSymbols",
	"objfile.(*elfWriter).orderSymbols", "objfile.(*elfWriter).rela", "objfile.(*elfWriter).addSymbols", "objfile.(*elfWriter).file",
}

// flowStages are those of register allocators that take the steps of package flow.
var flowStages = []string{
	"flow.(*function).setup", "flow.(*Liveness).scanUses", "flow.(*Liveness).propagate", "flow.(*Liveness).enter", "flow.(*Liveness).climb", "flow.(*Liveness).sort",
	"flow.(*builder).build", "flow.(*Classes).coalesceEdges",
	"flow.(*spiller).assign", "flow.(*resolver).fillOperands", "flow.(*resolver).connect", "flow.(*locations).flatten",
	"flow.(*resolver).findEntries", "flow.(*resolver).resolveEdges", "flow.(*resolver).storeDefs", "flow.(*emitter).emit",
	"flow.(*resolver).makeClaims", "flow.(*resolver).makeStackMaps",
}

// allocatorStages are those of each register allocator.
var allocatorStages = map[string][]string{
	"local": {
		"local.(*Allocator).begin", "local.(*function).orderBlocks", "local.(*Allocator).scanInsts", "local.(*Allocator).findLive", "local.(*Allocator).climb",
		"local.(*Allocator).walk", "local.(*Allocator).insts", "local.(*Allocator).passArgs", "local.(*Allocator).claim",
	},
	"linear": slices.Concat(flowStages, []string{"linear.(*walker).makeParts", "linear.(*walker).walk"}),
	"ssa": slices.Concat(flowStages, []string{
		"ssa.(*order).find", "ssa.(*distances).find", "ssa.(*distances).block", "ssa.(*distances).behind", "ssa.(*distances).foldLoops",
		"ssa.(*spilling).spill", "ssa.(*spilling).block", "ssa.(*spilling).enter", "ssa.(*spilling).meet", "ssa.(*spilling).candidates", "ssa.(*spilling).take",
		"ssa.(*colouring).colour", "ssa.(*colouring).block", "ssa.(*colouring).vote", "ssa.(*validity).find", "ssa.(*validity).block", "ssa.(*parts).make",
	}),
}

// pollers are the places that poll, as the program counters at which Observe's function was called, with the
// number of the first poll at each.
type pollers struct {
	flag  stop.Flag
	n     int
	first map[[5]uintptr]int
}

func newPollers() *pollers {
	p := &pollers{first: map[[5]uintptr]int{}}
	p.flag.Observe(func() {
		var at [5]uintptr
		runtime.Callers(3, at[:]) // up to three of package stop, which may be inlined, or not
		if _, ok := p.first[at]; !ok {
			p.first[at] = p.n
		}
		p.n++
	})
	return p
}

// name is the first function outside of package stop.
func name(at [5]uintptr) string {
	for frames := runtime.CallersFrames(at[:]); ; {
		f, more := frames.Next()
		if !strings.Contains(f.Function, "/internal/stop.") || !more {
			return f.Function[strings.LastIndexByte(f.Function, '/')+1:]
		}
	}
}

// TestStages: each stage polls, and wherever the first poll of a place ends a compilation, it ends with the error, and what is compiled
// afterwards is as ever.
func TestStages(t *testing.T) {
	for _, regalloc := range Allocators() {
		t.Run(regalloc, func(t *testing.T) { testStages(t, regalloc) })
	}
}

func testStages(t *testing.T, regalloc string) {
	nested := strings.Repeat("\x03\x40", 10) + "\x20\x00\x28\x02\x00\x21\x01" + strings.Repeat("\x20\x01\x0d\x00\x0b", 10)
	loads := ""
	for i := range 20 {
		loads += "\x20\x00\x28\x02" + string(rune(4*i))
	}
	spilled := loads + "\x20\x00\x10\x00" + strings.Repeat("\x6a", 20) + "\x21\x01"
	wasm := hugeModule(600, append(slices.Clone(pieces), nested, spilled)...)
	good, err := build(wasm, regalloc, nil)
	if err != nil {
		t.Fatal(err)
	}
	all := newPollers()
	if file, err := build(wasm, regalloc, &all.flag); err != nil || !bytes.Equal(file, good) {
		t.Fatal("observed:", err)
	}
	found := map[string]bool{}
	for at := range all.first {
		found[name(at)] = true
	}
	for _, s := range append(slices.Clone(stages), allocatorStages[regalloc]...) {
		if !found[s] {
			t.Errorf("%s does not poll", s)
		}
	}
	for at, first := range all.first {
		n, after := 0, 0
		var flag stop.Flag
		flag.Observe(func() {
			if n == first {
				flag.Set()
			} else if n > first {
				after++
			}
			n++
		})
		if _, err := build(wasm, regalloc, &flag); !errors.Is(err, stop.Stopped{}) || n <= first {
			t.Errorf("%s: %v after %d polls", name(at), err, n)
		}
		if after != 0 {
			t.Errorf("%s: %d polls after the end", name(at), after)
		}
	}
	t.Logf("%d places in %d functions, %d polls", len(all.first), len(found), all.n)
	if file, err := build(wasm, regalloc, nil); err != nil || !bytes.Equal(file, good) {
		t.Error("afterwards:", err)
	}
}

// longest is the longest processor time between two polls while a module is compiled.
func longest(t testing.TB, wasm []byte, regalloc string) (most time.Duration, where string) {
	last, lastUsed, polls := time.Now(), cputime.Used(), 0
	var flag stop.Flag
	flag.Observe(func() {
		// The clock is cheaper to read than the processor time. That is also of collections beside, and of what earlier polls have not asked for: at
		// most as much as the clock says counts.
		wall := time.Since(last)
		if polls++; polls%512 != 0 && wall < most {
			last = time.Now()
			return
		}
		used := cputime.Used()
		if d := min(wall, used-lastUsed); d > most {
			var at [5]uintptr
			runtime.Callers(3, at[:])
			most, where = d, name(at)
		}
		last, lastUsed = time.Now(), used
	})
	if _, err := build(wasm, regalloc, &flag); err != nil {
		t.Fatal(err)
	}
	return most, where
}

// TestPolls: no stage goes on for long without a poll, in large functions, at the full level in one of the largest size that is accepted, too. There each function goes through the
// usual allocator and one of the others, by turns.
func TestPolls(t *testing.T) {
	if os.Getenv("WAOT_EMULATOR") != "" {
		t.Skip("half a minute of compile time: not in an emulator")
	}
	size := testenv.Cases(100_000, 200_000, 1_000_000)
	most := testenv.Slow(50 * time.Millisecond) // 5 ms are usual, 20 to 50 for the largest on a busy machine
	nested := strings.Repeat("\x20\x00\x04\x40", 200) + "\x41\x07\x21\x01" + strings.Repeat("\x0b", 200)
	blocks := strings.Repeat("\x02\x40", 200) + "\x20\x00\x0d\x05" + strings.Repeat("\x0b", 200)
	stack := strings.Repeat("\x20\x00", 300) + strings.Repeat("\x6a", 299) + "\x21\x01"
	straight := "\x20\x01\x41\x01\x6a\x21\x01"
	deep := strings.Repeat("\x20\x00", size/7) + strings.Repeat("\x6a", size/7-1) + "\x21\x01"
	for i, p := range append(slices.Clone(pieces), nested, blocks, stack, straight, deep) {
		wasm := hugeModule(size-len(p), p)
		for k, regalloc := range Allocators() {
			if k == i%len(Allocators()) || testenv.Full() && (regalloc == DefaultAllocator(opt.O1) || k == 1+i%(len(Allocators())-1)) {
				testPolls(t, i, wasm, regalloc, most)
			}
		}
	}
	if testenv.Full() {
		testPolls(t, 0, hugeModule(wasmfront.MaxBodySize-10_000, pieces...), DefaultAllocator(opt.O1), most)
	}
}

// testPolls compiles a module of piece i.
func testPolls(t *testing.T, i int, wasm []byte, regalloc string, most time.Duration) {
	took, where := longest(t, wasm, regalloc)
	for n := 1; n < cputime.Tries && took > most; n++ {
		again, at := longest(t, wasm, regalloc)
		if again < took {
			took, where = again, at
		}
	}
	t.Logf("piece %d, %s: %v before %s", i, regalloc, took, where)
	if took > most {
		t.Errorf("piece %d, %s: %v before a poll of %s", i, regalloc, took, where)
	}
}

// cancelled compiles a module, to an object file, until a context ends after some time, and returns the processor time from then on.
func cancelled(t testing.TB, wasm []byte, jobs int, after time.Duration) (took time.Duration, err error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	var from time.Duration
	cause := errors.New("enough")
	timer := time.AfterFunc(after, func() {
		from = cputime.Used()
		cancel(cause)
	})
	defer timer.Stop()
	r, err := Module(wasm, Options{OptLevel: opt.O1, Jobs: jobs, Context: ctx})
	if err == nil {
		var file []byte
		if file, err = r.ELF(ctx); err != nil && file != nil {
			t.Error("a file that is not complete")
		}
	}
	if ctx.Err() != nil {
		took = cputime.Used() - from
	}
	if err != nil {
		var c *CancelError
		if !errors.As(err, &c) || c.Cause != cause || !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
			t.Errorf("error %v", err)
		}
	}
	return took, err
}

// TestCancel cancels compilations at random times: they end soon, no goroutine is left, and what is compiled next is as ever.
func TestCancel(t *testing.T) {
	if os.Getenv("WAOT_EMULATOR") != "" {
		t.Skip("seconds of compile time: not in an emulator")
	}
	modules := [][]byte{hugeModule(testenv.Cases(100_000, 200_000, 500_000), pieces...)}
	var real []string
	if dir := testenv.OptionalMaterial(t, testenv.EnvBench); dir != "" && testenv.Full() {
		real, _ = filepath.Glob(filepath.Join(dir, "tinygo", "*.wasm"))
	}
	for _, f := range real {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		modules = append(modules, b)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for i, wasm := range modules {
		start := time.Now()
		good, err := build(wasm, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		whole := time.Since(start)
		before := runtime.NumGoroutine()
		ended := 0
		var worst time.Duration
		for n := range 12 {
			took, err := cancelled(t, wasm, n%3+1, time.Duration(rng.Int64N(int64(whole))))
			if err == nil {
				continue
			}
			ended++
			worst = max(worst, took)
			// Goroutines that have said that they are done may still be about to end.
			for n := 0; runtime.NumGoroutine() > before && n < 10_000; n++ {
				time.Sleep(time.Millisecond)
			}
			if now := runtime.NumGoroutine(); now > before {
				t.Errorf("module %d: %d goroutines, %d before", i, now, before)
			}
		}
		t.Logf("module %d: %d of 12 cancelled, at most %v of processor time afterwards", i, ended, worst)
		if ended == 0 || worst > 300*time.Millisecond { // three workers, the collector
			t.Errorf("module %d: %d cancelled, %v", i, ended, worst)
		}
		if file, err := build(wasm, "", nil); err != nil || !bytes.Equal(file, good) {
			t.Errorf("module %d: afterwards another object, %v", i, err)
		}
	}
}

// TestCancelled: a context that has ended before ends a compilation at once.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), -1)
	defer cancel()
	_, err := Module(hugeModule(100, pieces...), Options{Context: ctx})
	var c *CancelError
	if !errors.As(err, &c) || !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// BenchmarkCancel is the wall time from the end of a context to the end of a compilation, at random times, for a function of a megabyte.
func BenchmarkCancel(b *testing.B) {
	wasm := hugeModule(1_000_000, pieces...)
	start := time.Now()
	if _, err := build(wasm, "", nil); err != nil {
		b.Fatal(err)
	}
	whole := time.Since(start)
	rng := rand.New(rand.NewPCG(1, 2))
	var delays []time.Duration
	for b.Loop() {
		ctx, cancel := context.WithCancel(context.Background())
		var from time.Time
		time.AfterFunc(time.Duration(rng.Int64N(int64(whole/2))), func() { from = time.Now(); cancel() })
		if _, err := Module(wasm, Options{OptLevel: opt.O1, Jobs: 1, Context: ctx}); err != nil {
			delays = append(delays, time.Since(from))
		}
		cancel()
	}
	slices.Sort(delays)
	if n := len(delays); n > 0 {
		b.ReportMetric(float64(delays[n/2].Microseconds())/1000, "ms-median")
		b.ReportMetric(float64(delays[n-1].Microseconds())/1000, "ms-max")
	}
}
