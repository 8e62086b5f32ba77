package opt

import (
	"fmt"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/interp"
	"github.com/waot-project/waot/clif/text"
)

// unwinding is functions as Go's compiler makes them. The first returns what is not 0, but says so only if the test says it. Function
// "other" may return 0. BODY of "f" is what differs: it goes to block1 or to block2.
const unwinding = `global0 i32 mut = 7
function "fails" (i32) -> (i32) {
block0(v0: i32):
    v1 = iconst.i32 4
    v2 = bor.i32 v0, v1
    global_set.i32 global0, v2
    return v2
}
function "other" (i32) -> (i32) {
block0(v0: i32):
    v1 = iconst.i32 1
    v2 = band.i32 v0, v1
    return v2
}
function "f" (i32) -> (i32, i32) {
block0(v0: i32):
BODY
block1:
    v80 = iconst.i32 80
    v81 = global_get.i32 global0
    return v80, v81
block2:
    v90 = iconst.i32 90
    v91 = global_get.i32 global0
    return v90, v91
}
function "init" () -> () {
block0:
    return
}
`

// unwindingCases are bodies, and whether the branch is decided.
var unwindingCases = []struct {
	name, body string
	decided    bool
}{
	{"the result", "v1 = call fn0(v0); br v1, block1, block2", true},
	{"the result decides the other way", "v1 = call fn0(v0); br v1, block2, block1", true},
	{"code between", "v1 = call fn0(v0); v2 = call fn1(v0); global_set.i32 global0, v2; br v1, block1, block2", true},
	{"another call's result", "v1 = call fn0(v0); v2 = call fn1(v0); br v2, block1, block2", false},
	{"the argument", "v1 = call fn0(v0); br v0, block1, block2", false},
	{"a sum", "v1 = call fn0(v0); v2 = iadd.i32 v1, v0; br v2, block1, block2", false},
	{"passed on", "v1 = call fn0(v0); jump block3(v1); block3(v2: i32):; jump block4(v0, v2); block4(v3: i32, v4: i32):; br v4, block1, block2", true},
	{"passed on beside it", "v1 = call fn0(v0); jump block3(v1); block3(v2: i32):; jump block4(v0, v2); block4(v3: i32, v4: i32):; br v3, block1, block2", false},
	{"two ways", "br v0, block3, block4; block3:; v1 = call fn0(v0); jump block5(v1); block4:; v2 = call fn1(v0); jump block5(v2); block5(v3: i32):; br v3, block1, block2", false},
	{"a loop", "v1 = call fn0(v0); jump block3(v1); block3(v2: i32):; br v2, block4, block2; block4:; v3 = call fn1(v2); br v3, block3(v3), block1", false},
}

func unwindingFuncs(t *testing.T, body string, nonzero bool) (funcs []*clif.Func) {
	t.Helper()
	file, err := text.Parse(strings.Replace(unwinding, "BODY", strings.ReplaceAll(body, "; ", "\n"), 1))
	if err != nil {
		t.Fatal(err)
	}
	for i := range file.Funcs {
		funcs = append(funcs, file.Funcs[i].Func)
	}
	m := funcs[0].Mod
	m.Funcs[0].Nonzero, m.HasNonzero = nonzero, nonzero
	return funcs
}

// TestUnwinding: branches are decided by results that are never 0, and by no other value; a call gives the same as before.
func TestUnwinding(t *testing.T) {
	ctl := &Control{Limit: -1}
	o := Optimizer{Control: ctl}
	for _, c := range unwindingCases {
		for _, nonzero := range []bool{true, false} {
			funcs := unwindingFuncs(t, c.body, nonzero)
			g := optimized(t, &o, funcs[2])
			decided := 0
			for i := range ctl.Log {
				if ctl.Log[i].Rule == RuleNonzeroResult.Info() {
					decided++
				}
			}
			if want := c.decided && nonzero; (decided > 0) != want {
				t.Errorf("%s, nonzero is %v: %d branches decided\n%v", c.name, nonzero, decided, g)
			}
			for x := range uint64(4) {
				before, after := unwindingEnd(t, funcs, x), unwindingEnd(t, []*clif.Func{funcs[0], funcs[1], g, funcs[3]}, x)
				if before != after {
					t.Errorf("%s, nonzero is %v, f(%d): %s before, %s after\n%v", c.name, nonzero, x, before, after, g)
				}
			}
		}
	}
}

func unwindingEnd(t *testing.T, funcs []*clif.Func, x uint64) string {
	inst, err := interp.NewStore(interp.Options{MaxSteps: 1000}).Instantiate(funcs[0].Mod, func(i clif.FuncIndex) (*clif.Func, error) { return funcs[i], nil }, nil)
	if err != nil {
		t.Fatal(err)
	}
	results, err := inst.Func(2).Call([]uint64{x})
	return fmt.Sprint(results, err)
}

// TestUnwindingMeets: what is known outlives a check whose call never returns to what follows, so that the first read is used behind the check.
func TestUnwindingMeets(t *testing.T) {
	const body = `v1 = global_get.i32 global0
    br v0, block3, block4
block3:
    v2 = call fn0(v0)
    br v2, block1, block4
block4:
    v3 = global_get.i32 global0
    br v3, block1, block2`
	for _, nonzero := range []bool{true, false} {
		var o Optimizer
		g := optimized(t, &o, unwindingFuncs(t, body, nonzero)[2])
		if first, _, _ := strings.Cut(g.String(), "block3:"); strings.Contains(first, "global_get") != nonzero {
			t.Errorf("nonzero is %v\n%v", nonzero, g)
		}
	}
}
