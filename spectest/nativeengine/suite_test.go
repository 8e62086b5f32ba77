package nativeengine_test

import (
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/clif/rewrite"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/proof/moving"
	"github.com/waot-project/waot/internal/proof/suitetest"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/spectest/nativeengine"
)

// TestSuite runs the suite without and with the mid-end, with the other register allocator, with all that may be inlined, with explicit bounds checks and memories that move, and without any lowering rule, each opcode alone.
func TestSuite(t *testing.T) {
	bare := nativeengine.New(opt.O0)
	bare.Options.Control = func(clif.FuncIndex) *opt.Control {
		return &opt.Control{Limit: -1, Off: map[string]bool{rewrite.LowerPass: true}}
	}
	inlined := nativeengine.New(opt.O1)
	inlined.Options.EagerInlining = true
	ssa := nativeengine.New(opt.O1)
	ssa.Options.Regalloc = "ssa"
	explicit := nativeengine.New(opt.O1)
	explicit.Options.ExplicitBounds = true
	explicit.Config.Allocator = moving.Allocator{}
	scripts := suitetest.Open(t)
	for _, c := range []struct {
		name   string
		engine *nativeengine.Engine
	}{{"O0", nativeengine.New(opt.O0)}, {"O1", nativeengine.New(opt.O1)}, {"ssa", ssa}, {"inlined", inlined}, {"no lowering rules", bare}, {"explicit bounds", explicit}} {
		t.Run(c.name, func(t *testing.T) { scripts.Run(t, c.engine) })
	}
}

// TestSuiteText runs the scripts as they are written. Below the full level these are the modules that must be rejected, each in text.
func TestSuiteText(t *testing.T) {
	if testenv.Full() {
		suitetest.RunText(t, nativeengine.New(opt.O1))
	} else {
		suitetest.RunRejected(t, nativeengine.New(opt.O1))
	}
}

// TestSuiteVectors runs the groups of vectors for the levels of processors above the lowest that this machine has, and with results that do not
// depend on the machine.
func TestSuiteVectors(t *testing.T) {
	scripts := suitetest.Open(t)
	for _, level := range []opt.Level{opt.O0, opt.O1} {
		for _, cpu := range append([]string{""}, above[runtime.GOARCH]...) {
			for _, deterministic := range []bool{false, true} {
				if cpu == "" && !deterministic {
					continue // TestSuite
				}
				t.Run(fmt.Sprintf("O%d/%s/deterministic=%t", level, cpu, deterministic), func(t *testing.T) {
					e := nativeengine.New(level)
					e.Options.CPU, e.Options.Deterministic = cpu, deterministic
					unlessLacking(t, e)
					scripts.RunGroup(t, e, "simd")
					scripts.RunGroup(t, e, "relaxed-simd")
				})
			}
		}
	}
}

// above are the levels of processors but the lowest.
var above = map[string][]string{"amd64": {"x86-64-v3"}, "arm64": {"armv8.2-a+dotprod"}}

// unlessLacking skips the test if this machine has less than the level of e.
func unlessLacking(t *testing.T, e *nativeengine.Engine) {
	t.Helper()
	s, err := e.NewStore()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var lacking *inproc.CPUError
	if _, err := s.Compile([]byte("\x00asm\x01\x00\x00\x00")); errors.As(err, &lacking) {
		t.Skip(err)
	}
}
