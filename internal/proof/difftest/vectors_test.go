//go:build linux

package difftest

import (
	"errors"
	"strings"
	"testing"

	"github.com/waot-project/waot/bench/vectors"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/validate"
)

// eachVectorKernel visits the kernels of bench/vectors, each in a subtest.
func eachVectorKernel(t *testing.T, visit func(t *testing.T, name string, wasm []byte, m *wasmfront.Module)) {
	t.Helper()
	for _, name := range vectors.Names() {
		t.Run(name, func(t *testing.T) {
			wasm, err := vectors.Module(name)
			if err != nil {
				t.Fatal(err)
			}
			m, err := validate.Module(wasm, validate.Config{})
			if err != nil {
				t.Fatal(err)
			}
			visit(t, name, wasm, m)
		})
	}
}

// TestVectorKernels runs the kernels of bench/vectors at all levels that this machine can execute. A kernel prints one line only if its
// vectors and its scalar version agree; output and memory must also be those under wazero's compiler.
func TestVectorKernels(t *testing.T) {
	notEmulated(t) // TestElsewhere runs them there
	targets := []compile.Options{{OptLevel: opt.O0}, {OptLevel: opt.O1}, {OptLevel: opt.O1, CPU: "v3"}}
	eachVectorKernel(t, func(t *testing.T, name string, wasm []byte, m *wasmfront.Module) {
		t.Parallel()
		var engines []engine
		for _, options := range targets {
			options.Verify = true
			mod, err := nativeFor(wasm, options)
			var unfit *inproc.CPUError
			if options.CPU != "" && errors.As(err, &unfit) {
				t.Logf("not run: %v", err)
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { mod.Close() })
			engines = append(engines, func(r *run) (*effects, error) {
				return checksum(t, name, r, func(r *run) (*effects, error) { return r.native(mod) })
			})
		}
		runProgram(t, name, wasm, m, engines)
	})
}

// vectorKernels is TestVectorKernels on the other machine.
func (x *elsewhere) vectorKernels(t *testing.T) {
	eachVectorKernel(t, func(t *testing.T, name string, wasm []byte, m *wasmfront.Module) {
		if slowKernels[name] {
			testenv.OnlyFull(t, "takes a second or more in an emulator")
		}
		var engines []engine
		for _, level := range testenv.Cases([]opt.Level{opt.O1}, []opt.Level{opt.O1}, []opt.Level{opt.O0, opt.O1}) {
			do, err := x.compile(wasm, level)
			if err != nil {
				t.Fatal(err)
			}
			engines = append(engines, func(r *run) (*effects, error) { return checksum(t, name, r, do) })
		}
		before := x.cpu
		runProgram(t, name, wasm, m, engines)
		t.Logf("%.1f s", (x.cpu - before).Seconds())
	})
}

// checksum runs a kernel, and demands the line that says that its two versions agree.
func checksum(t *testing.T, name string, r *run, do engine) (*effects, error) {
	want, err := vectors.Expected(name)
	if err != nil || !strings.HasPrefix(want, name+" ") {
		t.Fatalf("%s must print %q (%v)", name, want, err)
	}
	e, err := do(r)
	if err == nil && e.Stdout != want {
		t.Errorf("%s prints %.200q, want %q", name, e.Stdout, want)
	}
	return e, err
}

// slowKernels take more than a second of processor time in an emulator, with their run under wazero.
var slowKernels = map[string]bool{"base64": true, "blend": true, "chacha20": true, "dot": true, "mandelbrot": true, "matrix": true, "utf8": true}
