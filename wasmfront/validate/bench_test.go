package validate_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/validate"
)

// benchModules returns the modules in the folder that WAOT_BENCH_DIR names,
// or in a subfolder of it.
func benchModules(t testing.TB) []string {
	t.Helper()
	dir := os.Getenv("WAOT_BENCH_DIR")
	if dir == "" {
		t.Skip("WAOT_BENCH_DIR is not set")
	}
	var files []string
	for _, pattern := range []string{"*.wasm", "*/*.wasm", "*/*/*.wasm"} {
		found, _ := filepath.Glob(filepath.Join(dir, pattern))
		files = append(files, found...)
	}
	return files
}

// TestPrograms validates real programs and checks that function bodies take no
// allocations once the stacks have grown.
func TestPrograms(t *testing.T) {
	for _, file := range benchModules(t) {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m, err := validate.All(b, validate.Config{Features: wasmfront.DecodableFeatures})
		var e *wasmfront.Error
		if errors.As(err, &e) && e.Feature != "" {
			t.Logf("%s: %v", filepath.Base(file), err)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		f, op := new(validate.Func), new(wasmfront.Operator)
		walk(f, op, m)
		// Of several runs, as the runtime's own allocations count, too; a body's would be in each.
		if n := testing.AllocsPerRun(5, func() { walk(f, op, m) }); n > 0 {
			t.Errorf("%s: %.0f allocations", file, n)
		}
	}
}

// walk validates all bodies and returns the number of operators.
func walk(f *validate.Func, op *wasmfront.Operator, m *wasmfront.Module) int {
	ops := 0
	for i := range m.Code {
		for f.Begin(m, m.NumImportedFuncs+uint32(i)); f.Next(op); {
			ops++
		}
	}
	return ops
}

func BenchmarkBodies(b *testing.B) {
	for _, file := range benchModules(b) {
		code, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		if len(code) < 500_000 {
			continue
		}
		b.Run(filepath.Base(file), func(b *testing.B) {
			m, err := validate.Module(code, validate.Config{Features: wasmfront.DecodableFeatures})
			if err != nil {
				b.Fatal(err)
			}
			f, op := new(validate.Func), new(wasmfront.Operator)
			b.ReportAllocs()
			ops := 0
			for b.Loop() {
				ops += walk(f, op, m)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(ops), "ns/operator")
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, file := range benchModules(b) {
		code, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		if len(code) < 500_000 {
			continue
		}
		b.Run(filepath.Base(file), func(b *testing.B) {
			b.SetBytes(int64(len(code)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := validate.Module(code, validate.Config{Features: wasmfront.DecodableFeatures}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
