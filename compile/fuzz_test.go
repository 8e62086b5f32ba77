package compile_test

import (
	"bytes"
	"errors"
	"hash/fnv"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/instance"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/clif/text"
	"github.com/waot-project/waot/clif/verify"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/hostile"
	"github.com/waot-project/waot/internal/wasmgen"
	"github.com/waot-project/waot/regalloc/linear"
)

// maxFuzzed bounds the modules of FuzzModule, in bytes.
const maxFuzzed = 64 << 10

// FuzzModule: any bytes are, for each target, a module that is compiled to an object that can be read, or refused for
// a reason that is the module's; now and then again, with the same result.
func FuzzModule(f *testing.F) {
	f.Add(sampleModule().bytes())
	f.Add(userModule().bytes())
	for seed := range uint64(6) {
		f.Add(wasmgen.Generate(seed, wasmgen.Config{Funcs: 2, Size: 40, NoTraps: seed%2 == 0}).Wasm)
	}
	files, _ := filepath.Glob("../testdata/wasm/*.wasm")
	for _, name := range append(files, "testdata/bound.wasm") {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		if len(b) < 4<<10 {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, wasm []byte) {
		if len(wasm) > maxFuzzed {
			t.Skip("too large")
		}
		h := fnv.New32a()
		h.Write(wasm)
		pick := h.Sum32()
		for _, target := range compile.Targets() {
			o := compile.Options{Target: target, OptLevel: opt.Level(pick % 3), Fixpoint: pick%5 == 0, Verify: true, Jobs: 1}
			if target == compile.TargetX64 && pick&8 != 0 {
				o.CPU = "v3"
			}
			object, err := hostile.Compile(wasm, o)
			if errors.Is(err, backend.ErrUnsupported) {
				continue
			}
			if err != nil {
				t.Fatalf("%s -O%d: %v", target, o.OptLevel, err)
			}
			if object == nil || pick%16 != 0 {
				continue
			}
			o.Jobs = 3
			again, err := hostile.Compile(wasm, o)
			if err != nil || !bytes.Equal(again, object) {
				t.Fatalf("%s -O%d: compiled again, it is another object (%v)", target, o.OptLevel, err)
			}
		}
	})
}

// FuzzCLIF: each function of a text that satisfies the verifier still does after each pass of the mid-end, and then is
// compiled for each processor; only what is not supported is refused.
func FuzzCLIF(f *testing.F) {
	for _, dir := range []string{"clif", "x64", "a64"} {
		files, _ := filepath.Glob("../testdata/" + dir + "/*.clif")
		for _, name := range files {
			b, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			if len(b) < 16<<10 {
				f.Add(string(commands.ReplaceAll(b, nil)))
			}
		}
	}
	var machines []*backend.Target
	for _, m := range [][2]string{{compile.TargetX64, ""}, {compile.TargetX64, "v3"}, {compile.TargetA64, ""}} {
		target, err := compile.CodeTarget(m[0], m[1])
		if err != nil {
			f.Fatal(err)
		}
		machines = append(machines, target)
	}
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) > maxFuzzed {
			t.Skip("too large")
		}
		file, err := text.Parse(src)
		if err != nil {
			return
		}
		for i := range file.Funcs {
			fn := file.Funcs[i].Func
			if verify.Func(fn) != nil {
				continue
			}
			fuzzFunc(t, machines, fn, "-O0")
			o := opt.Optimizer{After: func(p *opt.Pass, f *clif.Func) error {
				if err := verify.Func(f); err != nil {
					t.Fatalf("function %d after %s: %v\n%v", i, p.Name, err, f)
				}
				return nil
			}}
			if err := o.Run(fn, opt.O2); err != nil {
				t.Fatalf("function %d: %v", i, err)
			}
			fuzzFunc(t, machines, fn, "-O2")
		}
	})
}

// commands are the lines of a file test that say what is tested.
var commands = regexp.MustCompile(`(?m)^test .*$`)

// fuzzFunc compiles a verified function.
func fuzzFunc(t *testing.T, machines []*backend.Target, fn *clif.Func, level string) {
	for _, m := range machines {
		c := backend.New(m, instance.New(fn.Mod), fn.Mod, backend.Options{Allocator: linear.New(), Fixpoint: true, Verify: true})
		if _, err := c.Compile(fn); err != nil && !errors.Is(err, backend.ErrUnsupported) {
			t.Fatalf("%s %s: %v\n%v", m.Name, level, err, fn)
		}
	}
}
