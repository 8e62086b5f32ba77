package oracle

import (
	"flag"
	"sync"
	"testing"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/proof/compare"
	"github.com/waot-project/waot/spectest"
)

var dumpFlag = flag.String("dump", "", "write the modules of failing cases to this directory")

var judge = sync.OnceValue(New)

// check runs a case under wasmtime and on our engines, and reports where they differ: the
// CLIF interpreter, which knows the places of traps, and native code of each level.
func check(t *testing.T, c *compare.Case) *compare.History {
	t.Helper()
	return checkOn(t, c, append(compare.Interpreters()[:1], compare.Natives()...))
}

// checkNative is check without the interpreter: for memories of gigabytes, and for cases that look at the bits of NaNs that
// operators make, which are the processor's for wasmtime, too.
func checkNative(t *testing.T, c *compare.Case) {
	t.Helper()
	checkOn(t, c, compare.Natives())
}

func checkOn(t *testing.T, c *compare.Case, engines []spectest.Engine) *compare.History {
	t.Helper()
	h := compare.Harness{Judge: judge(), JudgeTraps: wasmtimeTraps, Engines: engines, Watch: true, Dump: *dumpFlag}
	return h.Check(t, c)
}

// wasmtimeTraps are the codes of traps that wasmtime has one code for.
var wasmtimeTraps = map[abi.TrapCode]abi.TrapCode{abi.TrapUndefinedElement: abi.TrapTableOutOfBounds}
