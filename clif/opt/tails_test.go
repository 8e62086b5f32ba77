package opt

import (
	"strings"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/interp"
	"github.com/waot-project/waot/clif/text"
	"github.com/waot-project/waot/clif/verify"
)

// tails is a function that counts its first parameter down and adds it to the second, and another function. BODY of "f" is what differs: block1 goes on, block2 ends.
const tails = `global0 i32 mut = 7
function "other" (i32, i64) -> (i64) {
block0(v0: i32, v1: i64):
    v2 = iconst.i64 1000
    v3 = iadd.i64 v1, v2
    return v3
}
function "f" (i32, i64) -> (i64) {
block0(v0: i32, v1: i64):
    v2 = global_get.i32 global0
    v3 = iconst.i32 1
    v4 = iadd.i32 v2, v3
    global_set.i32 global0, v4
    br v0, block1, block2
block1:
    v5 = isub.i32 v0, v3
    v6 = uextend.i64 v0
    v7 = iadd.i64 v1, v6
BODY
block2:
    return v1
}
function "init" () -> () {
block0:
    return
}
`

// tailCases are bodies, how many jumps replace tail calls in them, and what f(10, 0) is.
var tailCases = []struct {
	name, body string
	jumps      int
	want       uint64
}{
	{"itself", "return_call fn1(v5, v7)", 1, 55},
	{"another", "return_call fn0(v5, v7)", 0, 1010},
	{"itself at two places", "br v5, block3, block4; block3:; return_call fn1(v5, v7); block4:; return_call fn1(v5, v7)", 2, 55},
	{"itself and another", "v8 = iconst.i32 4; v9 = icmp.i32 ugt, v5, v8; br v9, block3, block4; block3:; return_call fn1(v5, v7); block4:; return_call fn0(v5, v7)", 1, 1045},
	{"a loop in it", "jump block3(v5, v7); block3(v8: i32, v9: i64):; v10 = iconst.i32 5; v11 = icmp.i32 ugt, v8, v10; br v11, block4, block5; block4:; v12 = isub.i32 v8, v3; jump block3(v12, v9); block5:; return_call fn1(v8, v9)", 1, 10 + 5 + 4 + 3 + 2 + 1},
	{"its entry's parameters exchanged", "v8 = ireduce.i32 v7; v9 = uextend.i64 v5; v10 = iconst.i32 3; v11 = icmp.i32 ugt, v8, v10; br v11, block3, block4; block3:; v12 = iconst.i32 0; return_call fn1(v12, v9); block4:; return_call fn0(v8, v9)", 1, 9},
}

// tailFunc returns function "f" of tails.
func tailFunc(t *testing.T, body string) *clif.Func {
	t.Helper()
	return parseTails(t, body).Funcs[1].Func
}

func parseTails(t *testing.T, body string) *text.File {
	t.Helper()
	file, err := text.Parse(strings.ReplaceAll(strings.ReplaceAll(tails, "BODY", body), "; ", "\n"))
	if err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	return file
}

// TestTails: tail calls of the function itself become jumps, no others do, and all results and effects stay.
func TestTails(t *testing.T) {
	for _, c := range tailCases {
		file := parseTails(t, c.body)
		f := file.Funcs[1].Func
		before := count(f, clif.OpReturnCall)
		ctl := &Control{Limit: -1}
		o := Optimizer{Control: ctl}
		o.RunPass(f, "tails")
		if err := verify.Func(f); err != nil {
			t.Fatalf("%s: %v\n%v", c.name, err, f)
		}
		if got := before - count(f, clif.OpReturnCall); got != c.jumps || len(ctl.Log) != c.jumps {
			t.Errorf("%s: %d tail calls are jumps, want %d\n%v", c.name, got, c.jumps, f)
		}
		for _, all := range []bool{false, true} {
			if all {
				if err := new(Optimizer).Run(f, O1); err != nil {
					t.Fatal(err)
				}
			}
			in, err := interp.NewStore(interp.Options{MaxDepth: 2}).Instantiate(f.Mod, func(i clif.FuncIndex) (*clif.Func, error) { return file.Funcs[i].Func, nil }, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := in.Func(1).Call([]uint64{10, 0}); err != nil || got[0] != c.want {
				t.Errorf("%s, all passes %v: %v, %v, want %d\n%v", c.name, all, got, err, c.want, f)
			}
		}
	}
}
