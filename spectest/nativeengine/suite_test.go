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
	"github.com/waot-project/waot/internal/proof/suitetest"
	"github.com/waot-project/waot/spectest/nativeengine"
)

func TestSuiteUnoptimised(t *testing.T) { suitetest.Run(t, nativeengine.New(opt.O0)) }

// TestSuiteNoLoweringRules: without any rule, each opcode alone.
func TestSuiteNoLoweringRules(t *testing.T) {
	e := nativeengine.New(opt.O0)
	e.Options.Control = func(clif.FuncIndex) *opt.Control {
		return &opt.Control{Limit: -1, Off: map[string]bool{rewrite.LowerPass: true}}
	}
	suitetest.Run(t, e)
}

func TestSuite(t *testing.T) { suitetest.Run(t, nativeengine.New(opt.O1)) }

// TestSuiteInlined: with all that may be inlined.
func TestSuiteInlined(t *testing.T) {
	e := nativeengine.New(opt.O1)
	e.Options.EagerInlining = true
	suitetest.Run(t, e)
}

// TestSuiteVectors runs the groups of vectors for the levels of processors above the lowest that this machine has, and with results that do not
// depend on the machine.
func TestSuiteVectors(t *testing.T) {
	for _, level := range []opt.Level{opt.O0, opt.O1} {
		for _, cpu := range append([]string{""}, above[runtime.GOARCH]...) {
			for _, deterministic := range []bool{false, true} {
				if cpu == "" && !deterministic {
					continue // TestSuite and TestSuiteUnoptimised
				}
				t.Run(fmt.Sprintf("O%d/%s/deterministic=%t", level, cpu, deterministic), func(t *testing.T) {
					e := nativeengine.New(level)
					e.Options.CPU, e.Options.Deterministic = cpu, deterministic
					unlessLacking(t, e)
					suitetest.RunGroup(t, e, "simd")
					suitetest.RunGroup(t, e, "relaxed-simd")
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
