// Command snapshots measures how long programs take to begin, as they are and frozen after their initialisation. Each program is compiled once each way; a start makes a store and an instance, initialises it
// if that has not been done, and has the program write its first output.
//
// Place in the pipeline: none; it measures.
//
// Input: modules, by flags; those that are not given are left out.
// Output: a table of medians in milliseconds, with the sizes of modules and images.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/waot-project/waot"
)

// guest is a program.
type guest struct {
	name    string
	imports func() waot.Imports
	// begin initialises an instance, behind _initialize; nil if that is all, or if _start does it up to the marker. work writes the first output; nil stands for _start.
	begin, work func(ctx context.Context, inst *waot.Instance) error
	want        string // the output
}

// program is a Go program that calls the marker, or anything else with _start.
var program = guest{name: "program", imports: func() waot.Imports { return waot.Imports{"waot": {"snapshot": func() {}}} }}

func main() {
	files := map[*guest]*string{&ruby: flag.String("ruby", "", "ruby.wasm"), &program: flag.String("program", "", "a program that calls the marker")}
	rounds := flag.Int("rounds", 15, "how often each is started")
	flag.Parse()
	for _, g := range []*guest{&ruby, &program} {
		if *files[g] == "" {
			continue
		}
		if err := g.measure(*files[g], *rounds); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", g.name, err)
			os.Exit(1)
		}
	}
}

func (g *guest) measure(file string, rounds int) error {
	wasm, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	plain, err := waot.Compile(wasm, nil)
	if err != nil {
		return err
	}
	defer plain.Close()
	frozen, stats, err := waot.SnapshotModule(nil, wasm, &waot.CompileOptions{Snapshot: &waot.SnapshotOptions{Run: g.begin, Output: os.Stderr, Time: time.Unix(1_700_000_000, 0), Seed: "1", Imports: g.imports()}})
	if err != nil {
		return err
	}
	began := time.Now()
	mod, err := waot.Compile(frozen, nil)
	if err != nil {
		return err
	}
	defer mod.Close()
	before, err := waot.CompileObject(wasm, nil)
	if err != nil {
		return err
	}
	after, err := waot.CompileObject(frozen, nil)
	if err != nil {
		return err
	}
	fmt.Printf("%s: as an object %d bytes, frozen %d\n", g.name, len(before), len(after))
	fmt.Printf("%s: the module has %d bytes, frozen %d; %d of %d functions left; %d of %d bytes of memory not zero; compiled in %v\n",
		g.name, len(wasm), len(frozen), stats.Funcs-stats.DeadFuncs, stats.Funcs, stats.DataBytes, stats.MemoryBytes, time.Since(began).Round(time.Millisecond))
	ways := []way{{"as it is", plain, true, nil}, {"frozen", mod, false, nil}, {"as it is, again", plain, true, nil}}
	if g.work != nil { // a library; a program is frozen while it runs
		copied, err := g.image(plain)
		if err != nil {
			return err
		}
		defer copied.Close()
		ways = append(ways, way{"image of an instance", copied, false, nil})
	}
	for range rounds {
		for i := range ways {
			began := time.Now()
			if err := g.start(ways[i].mod, ways[i].begin, nil); err != nil {
				return err
			}
			ways[i].times = append(ways[i].times, time.Since(began))
		}
	}
	for i := range ways {
		slices.Sort(ways[i].times)
		half, first := ways[i].times[rounds/2], ways[0].times[rounds/2]
		fmt.Printf("%s: %s: %.2f ms to the first output, %.4f\n", g.name, ways[i].name, ms(half), float64(half)/float64(first))
	}
	return nil
}

// way is a way to start a program.
type way struct {
	name  string
	mod   *waot.Module
	begin bool // it has not been initialised
	times []time.Duration
}

// image returns a module made of an instance that has been initialised.
func (g *guest) image(plain *waot.Module) (m *waot.Module, err error) {
	err = g.start(plain, true, func(inst *waot.Instance) error {
		began := time.Now()
		b, err := inst.Snapshot()
		if err != nil {
			return err
		}
		took := time.Since(began)
		m, err = waot.Load(b, nil)
		fmt.Printf("%s: an image of %d bytes made of an instance in %.1f ms, loaded in %.1f\n", g.name, len(b), ms(took), ms(time.Since(began)-took))
		return err
	})
	return m, err
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// start starts the program, and looks at its output, or calls then in the place of its work.
func (g *guest) start(mod *waot.Module, begin bool, then func(*waot.Instance) error) error {
	ctx := context.Background()
	var out bytes.Buffer
	sys, err := waot.NewWASI(&waot.WASIOptions{Args: []string{g.name}, Stdout: &out, Stderr: &out})
	if err != nil {
		return err
	}
	defer sys.Close()
	store, err := waot.NewStore(nil)
	if err != nil {
		return err
	}
	defer store.Close()
	imports := sys.Imports()
	for name, funcs := range g.imports() {
		imports[name] = funcs
	}
	for _, x := range mod.Imports() {
		if _, ok := imports[x.Module][x.Name]; !ok {
			if imports[x.Module] == nil {
				imports[x.Module] = map[string]any{}
			}
			imports[x.Module][x.Name] = waot.RawFunc{Params: x.Type.Func.Params, Results: x.Type.Func.Results, Func: func(*waot.Caller, []uint64, []uint64) error {
				return fmt.Errorf("%s %s is not there", x.Module, x.Name)
			}}
		}
	}
	inst, err := store.Instantiate(ctx, mod, imports)
	if err != nil {
		return err
	}
	if begin {
		if err := sys.Initialize(ctx, inst); err != nil {
			return err
		}
		if g.begin != nil {
			if err := g.begin(ctx, inst); err != nil {
				return err
			}
		}
	}
	if then != nil {
		return then(inst)
	}
	if g.work == nil {
		_, err = sys.Start(ctx, inst)
	} else {
		err = g.work(ctx, inst)
	}
	if err == nil && g.want != "" && out.String() != g.want {
		err = fmt.Errorf("the output is %q, not %q", &out, g.want)
	}
	return err
}
