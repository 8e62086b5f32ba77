package compile_test

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
)

// TestInProcess runs the object of the sample module in this process: once straight from the
// compiler, once by way of an ELF file.
func TestInProcess(t *testing.T) {
	r := build(t, sampleModule().bytes(), compile.Options{Name: "lib", OptLevel: opt.O1})
	direct, err := load.Image(r.Object, r.Meta)
	if err != nil {
		t.Fatal(err)
	}
	file, err := load.ELF(elf(t, r))
	if err != nil {
		t.Fatal(err)
	}
	for _, img := range []*inproc.Image{direct, file} {
		store, err := inproc.NewStore(inproc.Config{})
		if errors.Is(err, inproc.ErrUnsupported) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		run(t, store, img)
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
}

// hostImports are the functions that the sample module imports.
func hostImports(t *testing.T, store *inproc.Store, m *meta.Module) inproc.Resolver {
	funcs := map[string]inproc.HostFunc{
		"log": func(_ *inproc.Caller, args, results []uint64) error {
			results[0] = args[0] + 1
			return nil
		},
		"many": func(_ *inproc.Caller, args, results []uint64) error { return nil },
		"pair": func(_ *inproc.Caller, args, results []uint64) error {
			results[0], results[1], results[2] = args[1], args[0], math.Float64bits(2.5)
			return nil
		},
	}
	return func(_, name string) inproc.Extern {
		for i := range m.Funcs {
			if f := &m.Funcs[i]; f.Import != nil && f.Import.Name == name {
				fn, err := store.NewHostFunc(m.Types[f.Type], funcs[name])
				if err != nil {
					t.Fatal(err)
				}
				return fn
			}
		}
		return nil
	}
}

func run(t *testing.T, store *inproc.Store, img *inproc.Image) {
	m, err := store.Load(img)
	if err != nil {
		t.Fatal(err)
	}
	inst, err := store.Instantiate(m, hostImports(t, store, img.Meta))
	if err != nil {
		t.Fatal(err)
	}
	f := math.Float64bits
	tests := []struct {
		name       string
		args, want []uint64
		trap       abi.TrapCode
	}{
		{"add", []uint64{2, 3}, []uint64{5}, 0},
		{"fadd", []uint64{f(1.5), uint64(math.Float32bits(2.25))}, []uint64{f(3.75)}, 0},
		{"load", []uint64{8}, []uint64{0x6c6c6568}, 0},
		{"load", []uint64{65533}, []uint64{0}, abi.TrapMemoryOutOfBounds},
		{"grow", []uint64{2}, []uint64{1}, 0},
		{"size", nil, []uint64{3}, 0},
		{"div", []uint64{7, 0}, []uint64{0}, abi.TrapIntegerDivideByZero},
		{"unreachable!", nil, nil, abi.TrapUnreachable},
		{"bump", nil, []uint64{8}, 0},
		{"log", []uint64{41}, []uint64{42}, 0},
		{"log2", []uint64{1}, []uint64{2}, 0},
		{"fib", []uint64{15}, []uint64{610}, 0},
		{"indirect", []uint64{0, 10}, []uint64{55}, 0},
		{"indirect", []uint64{2, 5}, []uint64{6}, 0},
		{"indirect", []uint64{1, 5}, []uint64{0}, abi.TrapUninitializedElement},
		{"seven", []uint64{100}, []uint64{100, 101, 102, 103, 104, 105, 106}, 0},
		{"sum11", []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, []uint64{506}, 0},
		{"callpair", []uint64{7, 9}, []uint64{9, 7, f(2.5)}, 0},
	}
	for _, c := range tests {
		fn, err := inst.Func(c.name)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]uint64, len(c.want))
		err = fn.Call(c.args, got)
		if c.trap != 0 {
			var trap *inproc.Trap
			if !errors.As(err, &trap) || trap.Code != c.trap {
				t.Errorf("%s%v: %v, want %v", c.name, c.args, err, c.trap)
			}
			continue
		}
		if d := cmp.Diff(c.want, got); err != nil || len(c.want) > 0 && d != "" {
			t.Errorf("%s%v: %v %s", c.name, c.args, err, d)
		}
	}
}
