package opt

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/interp"
	"github.com/waot-project/waot/clif/text"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// typedSource has, for values of one type, a read, writes, equal instructions, choices.
const typedSource = `
global0 TYPE mut = 0
function "f" (i32, TYPE, TYPE) -> (TYPE, TYPE, TYPE, TYPE, TYPE) {
block0(v0: i32, v1: TYPE, v2: TYPE):
    v3 = global_get.TYPE global0
    v4 = global_get.TYPE global0
    global_set.TYPE global0, v3
    v5 = iconst.i32 0
    v6 = icmp.i32 ne, v0, v5
    v7 = select.TYPE v6, v1, v2
    v8 = select.TYPE v0, v1, v2
    v9 = select.TYPE v0, v1, v1
    v10 = select.TYPE v5, v1, v2
    global_set.TYPE global0, v1
    global_set.TYPE global0, v2
    return v4, v7, v8, v9, v10
}`

// heapFuncs returns the functions of a file of tests that work on the collected heap.
func heapFuncs(t *testing.T) (funcs []*clif.Func) {
	src, err := os.ReadFile("../../testdata/clif/heap.clif")
	if err != nil {
		t.Fatal(err)
	}
	_, module, _ := strings.Cut(string(src), "\n") // behind what the file is for
	file, err := text.Parse(module)
	if err != nil {
		t.Fatal(err)
	}
	for i := range file.Funcs {
		funcs = append(funcs, file.Funcs[i].Func)
	}
	return funcs
}

// firingFuncs are functions to which, all together, every rule applies at every type that
// its table names.
func firingFuncs(t *testing.T) (funcs []*clif.Func) {
	parse := func(src string) {
		file, err := text.Parse(src)
		if err != nil {
			t.Fatal(err)
		}
		funcs = append(funcs, file.Funcs[0].Func)
	}
	for _, c := range ruleCases() {
		funcs = append(funcs, c.function(c.k))
	}
	for _, c := range shapeCases {
		parse(c.src)
	}
	for i := range vectorCases {
		funcs = append(funcs, vectorFunc(t, i))
	}
	funcs = append(funcs, vectorRowFuncs(t)...)
	for _, ty := range []clif.Type{clif.I32, clif.I64, clif.F32, clif.F64, clif.V128, clif.Ref, clif.FuncRef} {
		src := strings.ReplaceAll(typedSource, "TYPE", ty.String())
		if ty.IsRef() || ty == clif.V128 {
			src = strings.Replace(src, " = 0", "", 1)
		}
		parse(src)
	}
	funcs = append(funcs, bulkFunc(clif.OpMemoryCopy, 20, false), bulkFunc(clif.OpMemoryFill, 20, true))
	for _, c := range addressCases {
		funcs = append(funcs, addressFunc(t, c.memory, c.src))
	}
	funcs = append(append(append(funcs, closedFuncs()...), heapFuncs(t)...), heldFuncs(t, false)...)
	for _, c := range unwindingCases {
		funcs = append(funcs, unwindingFuncs(t, c.body, true)[2])
	}
	for _, c := range tailCases {
		funcs = append(funcs, tailFunc(t, c.body))
	}
	for _, form := range byteForms() {
		if form.count < countEqual {
			funcs = append(funcs, form.function())
		}
	}
	r := rand.New(rand.NewPCG(11, 12))
	ops := pureOps()
	for range 2000 {
		funcs = append(funcs, dag(r, ops, 12))
	}
	for seed := range uint64(200) {
		funcs = append(funcs, randomGraph(rand.New(rand.NewPCG(seed, 98)), ops[:30]).f)
	}
	return funcs
}

// TestEveryRule checks that every rule applies at every type that its table names, and no other, and
// that its pass is the one that applies it.
func TestEveryRule(t *testing.T) {
	var n fired
	ctl := &Control{Limit: -1}
	o := Optimizer{Control: ctl}
	run := func(f *clif.Func) {
		g := clone(f)
		ctl.Reset()
		seen := 0
		o.After = func(p *Pass, _ *clif.Func) error {
			for ; seen < len(ctl.Log); seen++ {
				if r := ctl.Log[seen].Rule; r.Pass != p.Name {
					t.Errorf("%v applied in %s", r, p.Name)
				}
			}
			return nil
		}
		if err := errors.Join(o.Begin(g, O1), o.Run(g, O1), o.Finish(g, O1)); err != nil {
			t.Fatal(err)
		}
		n.add(ctl.Log)
	}
	for _, f := range firingFuncs(t) {
		run(f)
	}
	p := newProver(0)
	r := rand.New(rand.NewPCG(7, 1))
	for _, pat := range patterns() {
		p.pattern(t, &pat, 0, 0, 20, r)
	}
	p.rows(t, 2, r)
	names := map[string]bool{}
	pairs := 0
	for rule := range NumRules {
		info := rule.Info()
		if names[info.Name] || info.What == "" {
			t.Errorf("rule %d: the name %q is not its own", rule, info.Name)
		}
		names[info.Name] = true
		if def := &ruleDefs[rule]; (def.Row != "") == (def.What != "") || (def.Code != noCode) != (def.Row == "" && def.Pass == "fold") {
			t.Errorf("%v: it is a row, or code of a kind, or part of another pass, and code has words", info)
		}
		line := ""
		for ty := range clif.NumControlTypes {
			k := n[rule][ty] + p.fired[rule][ty]
			if info.Types.Has(ty) || info.Types == 0 && ty == clif.Invalid {
				pairs++
				if k == 0 {
					t.Errorf("%v never applied to %v", rule.Info(), ty)
				}
			} else if k > 0 && ty != clif.Invalid {
				t.Errorf("%v applied to %v, which its table does not say", rule.Info(), ty)
			}
			if k > 0 {
				line += fmt.Sprintf(" %v %d", ty, k)
			}
		}
		t.Logf("%-18s%s", rule.Info(), line)
	}
	t.Logf("%d rules at %d types", NumRules, pairs)
}

// TestOff turns rules off one by one: the rule does not apply then, and functions do the
// same as before.
func TestOff(t *testing.T) {
	type run struct {
		f    *clif.Func
		in   []uint64
		want string // empty if it does not end, or needs more than there is
	}
	funcs := firingFuncs(t)
	funcs = funcs[:len(funcs)-2200] // not the random ones
	ops := pureOps()
	for seed := range uint64(40) {
		funcs = append(funcs, randomGraph(rand.New(rand.NewPCG(seed, 96)), ops[:30]).f)
	}
	var runs []run
	large := 0
	r := rand.New(rand.NewPCG(1, 3))
	for i := range 2 * len(funcs) {
		f := funcs[i/2]
		one := run{f: f, in: inputs(r, f)}
		if i%2 == 0 {
			clear(one.in)
		}
		if count(f, clif.OpMemoryCopy)+count(f, clif.OpMemoryFill) > 0 { // which check nothing
			for k := range one.in {
				one.in[k] &= 0xfff
			}
		}
		if len(f.Mod.Memories) > 0 && f.Mod.Memories[0].Min > 1000 { // which takes seconds to make; TestAddressCases looks at its code
			large++
		} else if len(f.Mod.Funcs) > 1 && f.Index == 0 && (len(f.Mod.Globals) == 0 || f.Mod.Globals[0].Import == nil) {
			one.want, _ = ending(t, f, one.in)
		}
		runs = append(runs, one)
	}
	applied := make([][]bool, len(funcs)) // the rules that apply to each function if none is off
	texts := make([]string, len(funcs))
	for i, f := range funcs {
		ctl := &Control{Limit: -1}
		texts[i] = optimized(t, &Optimizer{Control: ctl}, f).String()
		applied[i] = make([]bool, NumRules)
		for rule := range NumRules {
			applied[i][rule] = slices.ContainsFunc(ctl.Log, func(e Rewrite) bool { return e.Rule == rule.Info() })
		}
	}
	compared, same, tried := 0, 0, testenv.Cases(256, 128, 16)
	for rule := range NumRules {
		ctl := &Control{Limit: -1, Off: map[string]bool{rule.Info().Name: true}}
		o := Optimizer{Control: ctl}
		for i, f := range funcs {
			if !applied[i][rule] && (i+int(rule))%tried != 0 { // what does not apply can be off without a difference: some of these show it
				continue
			}
			g := optimized(t, &o, f)
			for k := range ctl.Log {
				if ctl.Log[k].Rule == rule.Info() {
					t.Fatalf("%v is off and applied", rule.Info())
				}
			}
			if !applied[i][rule] {
				if got := g.String(); got != texts[i] {
					t.Fatalf("%v does not apply to\n%v\nbut without it this is made:\n%s\nwith it:\n%s", rule.Info(), f, got, texts[i])
				}
				same++
				continue
			}
			for _, one := range runs[2*i : 2*i+2] {
				if one.want == "" {
					continue
				}
				if got, _ := ending(t, g, one.in); got != one.want {
					t.Fatalf("without %v, f(%#x): %s before, %s after\n%v\n%v", rule.Info(), one.in, one.want, got, f, g)
				}
				compared++
			}
		}
	}
	t.Logf("%d rules off, one after the other; %d comparisons, %d functions without the rule the same; not executed for the size of its memory: %d of %d", NumRules, compared, same, large, len(runs))
	if compared < 4000 || same < min(1000, 64*1000/tried) {
		t.Error("too few")
	}
}

// ending is what a call of f does and leaves behind; it reports whether it ends.
func ending(t *testing.T, f *clif.Func, in []uint64) (s string, ends bool) {
	w := newShortWorld(t, 1<<16, f, callee(f.Mod))
	var trap *interp.Trap
	results, err := w.inst.Func(0).Call(in)
	switch {
	case errors.Is(err, interp.ErrSteps):
		return "", false
	case errors.As(err, &trap):
		s = trap.Code.String()
	case err != nil:
		t.Fatal(err)
	}
	s = fmt.Sprintf("%s%#x", s, results)
	if len(f.Mod.Memories) > 0 && len(f.Mod.Tables) > 1 {
		s += " " + w.state(len(f.Mod.Globals))
	}
	return s, true
}

func inputs(r *rand.Rand, f *clif.Func) (in []uint64) {
	for _, ty := range f.Signature().Params {
		if ty == clif.V128 {
			v := cornerVector(r)
			in = append(in, v[0], v[1])
			continue
		}
		xs := append(corners(ty), 0) // a reference is null
		in = append(in, xs[r.IntN(len(xs))])
	}
	return in
}

// TestLimit takes random functions from no rewrites to all, one by one: with each number they are
// valid, do the same, and the log is the beginning of the whole log.
func TestLimit(t *testing.T) {
	ops := pureOps()
	steps := 0
	for seed := range uint64(25) {
		r := rand.New(rand.NewPCG(seed, 95))
		f := dag(r, ops, 25)
		switch {
		case seed%2 == 0:
			f = randomGraph(r, ops[:30]).f
		case seed%5 == 0:
			f = dag(r, vectorOps(), 25)
		}
		whole := &Control{Limit: -1, Trace: true}
		optimized(t, &Optimizer{Control: whole}, f)
		in := inputs(r, f)
		want, ends := ending(t, f, in)
		if !ends {
			continue
		}
		for n := range len(whole.Log) + 1 {
			ctl := &Control{Limit: n, Trace: n%2 == 0}
			g := optimized(t, &Optimizer{Control: ctl}, f)
			if len(ctl.Log) != n {
				t.Fatalf("seed %d: %d of %d rewrites", seed, len(ctl.Log), n)
			}
			for i := range ctl.Log {
				x, y := ctl.Log[i], whole.Log[i]
				if x.Rule != y.Rule || x.Type != y.Type || ctl.Trace && x.Before != y.Before {
					t.Fatalf("seed %d: rewrite %d of %d is %+v, of all %+v", seed, i, n, x, y)
				}
			}
			if got, _ := ending(t, g, in); got != want {
				t.Fatalf("seed %d, %d rewrites, f(%#x): %s before, %s after\n%v\n%v", seed, n, in, want, got, f, g)
			}
			steps++
		}
		for i := range whole.Log {
			if whole.Log[i].Before == "" {
				t.Errorf("seed %d: rewrite %d, %v, has no text", seed, i, whole.Log[i].Rule)
			}
		}
	}
	if t.Logf("%d steps", steps); steps < 800 {
		t.Error("too few")
	}
}
