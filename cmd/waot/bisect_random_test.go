package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/rewrite"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/internal/proof/cputime"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/internal/proof/wasmgen"
	"github.com/waot-project/waot/internal/proof/wrongrules"
)

var plantedFlag = flag.Int("planted", 0, "how many wrong rewrites TestBisectRandom plants in random modules, if not as many as the level of the tests says")

// spoilt makes a rewrite wrong, whatever it is, and keeps the types right: operands change
// places, conditions their sense, and a value becomes a parameter of the function.
func spoilt(f *clif.Func, d *clif.InstData, v clif.Value) clif.Value {
	if v != clif.NoValue {
		for _, p := range f.Params(f.Entry()) {
			if w := clif.Value(p); f.TypeOf(w) == f.TypeOf(v) {
				return w
			}
		}
		return v
	}
	switch d.Op.Info().Format {
	case clif.FormatBinary:
		d.Args[1] = d.Args[0]
	case clif.FormatIntCmp:
		d.Cond = uint8(d.IntCC().Invert())
	case clif.FormatTernary:
		d.Args[1], d.Args[2] = d.Args[2], d.Args[1]
	}
	return v
}

// TestBisectRandom makes one rule wrong in one function of a random module. Where that can
// be seen, the search must find that function and that rule.
func TestBisectRandom(t *testing.T) {
	if wrongrules.Elsewhere(t, programs.dir) {
		return
	}
	n := cmp.Or(*plantedFlag, testenv.Cases(2, 2, 6))
	found, invisible, checks := 0, 0, 0
	rules := map[*rewrite.Info]int{}
	for seed := uint64(0); found < n; seed++ {
		rule, f := plantRandom(t, seed)
		switch {
		case f == nil:
		case f.Reason == "good at -O1: nothing to find":
			invisible++
		default:
			found++
			rules[rule]++
			checks += f.Checks
		}
	}
	t.Logf("%d planted wrong rewrites of %d rules found, %d could not be seen; %.1f checks each", found, len(rules), invisible, float64(checks)/float64(n))
}

// plantRandom searches in the module of a seed; there is no finding where nothing can be planted.
func plantRandom(t *testing.T, seed uint64) (*rewrite.Info, *finding) {
	p := seeded(seed)
	dir := t.TempDir()
	wasm := filepath.Join(dir, "m.wasm")
	if err := os.WriteFile(wasm, p.Wasm, 0o666); err != nil {
		t.Fatal(err)
	}
	o := &options{level: 1, check: true}
	if err := o.readTarget("", ""); err != nil {
		t.Fatal(err)
	}
	b, err := newBisection(t.Context(), &source{file: wasm, b: p.Wasm}, o)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(seed, 42))
	fn := int(b.first) + r.IntN(len(b.funcs)-int(b.first)-1) // not the init function
	var fits []*rewrite.Info
	b.opt.Jobs = 1
	wrongrules.Set(t, func(_ *rewrite.Control, r *rewrite.Info, f *clif.Func, d *clif.InstData, v clif.Value) clif.Value {
		if int(f.Index) == fn && !slices.Contains(fits, r) {
			fits = append(fits, r)
		}
		return v
	})
	if _, _, err := b.compile(place{fn, -1}); err != nil {
		t.Fatal(err)
	}
	if len(fits) == 0 {
		return nil, nil
	}
	rule := fits[r.IntN(len(fits))]
	b.opt.Jobs = 0
	wrongrules.Set(t, func(_ *rewrite.Control, r *rewrite.Info, f *clif.Func, d *clif.InstData, v clif.Value) clif.Value {
		if r == rule && int(f.Index) == fn {
			return spoilt(f, d, v)
		}
		return v
	})
	b.object = filepath.Join(dir, "object.o")
	want := ""
	b.good = func() (bool, error) {
		// Another process: wrong code may write where it likes.
		child := exec.Command(os.Args[0], "-test.run=^TestBisectChild$")
		child.Env = append(os.Environ(), fmt.Sprintf("WAOT_BISECT_CHILD=%d %s", seed, b.object))
		out, _ := child.Output() // of a crash it is as good as any other
		got := string(out)
		if want == "" {
			if want = got; !strings.Contains(got, "sum ") {
				t.Fatalf("seed %d: %s", seed, out)
			}
		}
		return got == want, nil
	}
	f, err := b.find()
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	if f.Reason == "" && (int(f.Func) != fn || f.Rule != rule.String()) {
		t.Fatalf("seed %d: planted in function %d, rule %v; found %+v", seed, fn, rule, f)
	}
	return rule, f
}

// seeded is the program of a seed.
func seeded(seed uint64) *wasmgen.Program {
	return wasmgen.Generate(seed, wasmgen.Config{NoTraps: seed%3 > 0, Size: []int{40, 80, 120}[seed%3]})
}

// TestBisectChild is the process that executes code for TestBisectRandom.
func TestBisectChild(t *testing.T) {
	var seed uint64
	var object string
	if n, _ := fmt.Sscan(os.Getenv("WAOT_BISECT_CHILD"), &seed, &object); n != 2 {
		return // there is nothing to execute
	}
	code, err := os.ReadFile(object)
	if err != nil {
		t.Fatal(err)
	}
	p := seeded(seed)
	env, err := compile.Module(p.Env, compile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var envObject bytes.Buffer
	if err := env.WriteELF(&envObject); err != nil {
		t.Fatal(err)
	}
	fmt.Println("sum " + runObjects(t, p, envObject.Bytes(), code))
	os.Exit(0) // without the time that the test took
}

// runObjects runs the calls of a program, and says what they did and left behind.
func runObjects(t *testing.T, p *wasmgen.Program, env, object []byte) string {
	t.Helper()
	ctx, cancel := cputime.WithTimeout(context.Background(), time.Second)
	defer cancel()
	s, err := host.NewStore(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	instance := func(object []byte, imports host.Imports) (*host.Instance, error) {
		m, err := host.Load(object, nil)
		if err != nil {
			t.Fatal(err)
		}
		return s.Instantiate(ctx, m, imports)
	}
	e, err := instance(env, nil)
	if err != nil {
		t.Fatal(err)
	}
	i, err := instance(object, host.Imports{"env": e.Exports()})
	if err != nil {
		return err.Error()
	}
	sum := fnv.New64a()
	call := func(name string, stack []uint64) {
		f, err := i.Func(name)
		if err != nil {
			t.Fatal(err)
		}
		var trap *host.Trap
		switch err := f.CallRaw(ctx, stack); {
		case errors.As(err, &trap):
			fmt.Fprintf(sum, "%s trap %v\n", name, trap.Code)
		case err != nil:
			fmt.Fprintf(sum, "%s %v\n", name, err)
		default:
			fmt.Fprintf(sum, "%s %x\n", name, stack[:len(f.Type().Results)])
		}
	}
	for _, c := range p.Calls {
		call("reset", nil)
		call(c.Export, append(slices.Clone(c.Args), make([]uint64, len(c.Results))...))
	}
	if m, err := i.Memory("memory"); err == nil {
		sum.Write(m.Bytes())
	}
	for _, name := range p.Globals {
		if g, err := i.Global(name); err == nil {
			v, _ := g.Get()
			fmt.Fprintln(sum, name, v)
		}
	}
	return fmt.Sprintf("%x", sum.Sum64())
}
