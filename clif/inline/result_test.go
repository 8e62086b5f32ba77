package inline

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/interp"
	"github.com/waot-project/waot/clif/rewrite"
	"github.com/waot-project/waot/clif/text"
	"github.com/waot-project/waot/clif/verify"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// TestResults compares random functions before and after: callees that return constants and others on some ways, and callers with all kinds of things
// behind the call and where the branch on its result leads.
func TestResults(t *testing.T) {
	n := testenv.Cases[uint64](300, 300, 5000)
	decided := 0
	for seed := range n {
		source := resultSource(rand.New(rand.NewPCG(seed, 5)))
		before, after := parse(t, source), parse(t, source)
		ctl := rewrite.Control{Limit: -1}
		in := &Inliner{Eager: true, Control: &ctl}
		body, f := in.Keep(after.Funcs[0].Func, false), after.Funcs[1].Func
		in.Run(f, func(clif.FuncIndex) *Body { return body })
		if err := verify.Func(f); err != nil {
			t.Fatalf("%v\n%s\n%v", err, source, f)
		}
		decided += len(ctl.Log) - 1
		for _, x := range []uint64{0, 1, 2, 3, 4, 1 << 16} {
			for _, y := range []uint64{0, 1, 5} {
				if a, b := outcome(t, before, x, y), outcome(t, after, x, y); a != b {
					t.Fatalf("seed %d, %d, %d: %s, then %s\n%s\n%v", seed, x, y, a, b, source, f)
				}
			}
		}
	}
	t.Logf("%d of %d branches decided", decided, n)
	if uint64(decided) < n/20 || uint64(decided) > n/2 {
		t.Error("too few, or too many")
	}
}

func parse(t *testing.T, source string) *text.File {
	file, err := text.Parse(source)
	if err != nil {
		t.Fatalf("%v\n%s", err, source)
	}
	return file
}

// resultSource returns the text of a callee and a caller.
func resultSource(r *rand.Rand) string {
	var b strings.Builder
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	b.WriteString("mem0 1 1\nglobal0 i32 mut = 7\nfunction \"callee\" (i32, i32) -> (i32) {\nblock0(v0: i32, v1: i32):\n")
	b.WriteString("    br v0, block1, block2\nblock1:\n    br v1, block3, block4\nblock2:\n    br v1, block5, block6\n")
	for k := 3; k < 7; k++ {
		fmt.Fprintf(&b, "block%d:\n    v%d = iconst.i32 %s\n", k, 3*k, pick("0", "0", "1", "7"))
		if r.IntN(2) == 0 {
			fmt.Fprintf(&b, "    global_set.i32 global0, v%d\n", r.IntN(2))
		}
		own := fmt.Sprintf("return v%d", 3*k)
		fmt.Fprintf(&b, "    %s\n", pick(own, own, own, own, own, own, "return v0", "return v1", "return_call fn2(v1, v0)"))
	}
	b.WriteString("}\nfunction \"caller\" (i32, i32) -> (i32, i32) {\nblock0(v0: i32, v1: i32):\n    v2 = iconst.i32 9\n    v3 = call fn0(v0, v1) ; @0010\n")
	b.WriteString(pick("    v4 = iadd.i32 v0, v1\n", "    v4 = global_get.i32 global0\n", "    v4 = global_get.i32 global0\n", "    v4 = load.i32 mem0 v0\n",
		"    v4 = iadd.i32 v3, v0\n", "    v4 = iconst.i32 4\n    global_set.i32 global0, v2\n"))
	values := func() string { return pick("v0", "v1", "v2", "v2", "v2", "v3", "v4") }
	leave := func() string {
		return pick("    return v0, v1\n", "    return v5, v0\n", "    trap unreachable\n", fmt.Sprintf("    v9 = isub.i32 %s, v0\n    return v9, v2\n", values()))
	}
	fmt.Fprintf(&b, "    br %s, block1(%s), block2\nblock1(v5: i32):\n%sblock2:\n", pick("v3", "v3", "v3", "v1"), values(), pick(leave(), leave(), leave(), "    jump block2\n"))
	fmt.Fprintf(&b, "    return %s, %s\n}\n", values(), values())
	b.WriteString("function \"other\" (i32, i32) -> (i32) {\nblock0(v0: i32, v1: i32):\n    v2 = iconst.i32 1\n    v3 = band.i32 v0, v2\n    return v3\n}\n")
	return b.String()
}

// outcome calls function 1 of a file and returns what it gives, or its trap, and the global.
func outcome(t *testing.T, file *text.File, x, y uint64) string {
	inst, err := interp.NewStore(interp.Options{MaxSteps: 1 << 20}).Instantiate(file.Mod, file.Body, nil)
	if err != nil {
		t.Fatal(err)
	}
	results, err := inst.Func(1).Call([]uint64{x, y})
	return fmt.Sprint(results, err, inst.Global(0).Bits)
}
