package backend

import (
	"fmt"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/text"
)

// goFunction is a function as Go's compiler makes them: block1 checks by CHECK whether block2 must call first. Block3 goes on, block5
// unwinds. TABLE and CALL differ as well.
const goFunction = `mem0 1
global0 i32 mut = 0
global1 i64 mut = 0
function "callee" (i32) -> (i32) {
block0(v0: i32):
    return v0
}
function "f" (i32, i64, i32) -> (i32) {
block0(v0: i32, v1: i64, v2: i32):
    TABLE
block1:
    CHECK
block2:
    v20 = iconst.i32 0
    CALL
block3(v30: i64):
    v31 = iconst.i32 3
    return v31
block4:
    jump block3(v1)
block5:
    v50 = iconst.i32 1
    return v50
block6:
    trap unreachable
}
`

// TestRareSide: which of the blocks are cold. Block4 is what only resumption leads to, block5 what unwinding leads to.
func TestRareSide(t *testing.T) {
	const (
		table  = "br_table v0, [block1, block4, block5] rare"
		common = "br_table v0, [block1, block4, block5]"
		call   = "v21 = call fn0(v20); br v21, block5, block3(v1)"
		null   = "v10 = iconst.i64 0; v11 = icmp.i64 eq, v1, v10; br v11, block2, block3(v1)"
	)
	type rareCase struct {
		name, table, check, call, cold string
	}
	check := func(c rareCase, nonzero bool) {
		t.Helper()
		src := strings.NewReplacer("TABLE", c.table, "CHECK", c.check, "CALL", c.call).Replace(goFunction)
		m, err := text.Parse(strings.ReplaceAll(src, "; ", "\n"))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		f := m.Funcs[1].Func
		f.Mod.Funcs[0].Nonzero = nonzero
		if got := coldBlocks(f); got != c.cold {
			t.Errorf("%s: %q is cold, want %q", c.name, got, c.cold)
		}
	}
	for _, c := range []rareCase{
		{"a null pointer", table, null, call, "2 4 5"},
		{"a null pointer, the other way", table, "v10 = iconst.i64 0; v11 = icmp.i64 ne, v1, v10; br v11, block3(v1), block2", call, "2 4 5"},
		{"a limit of the stack", table, "v9 = global_get.i32 global0; v10 = load.i32 mem0 v2+16; v11 = icmp.i32 ule, v9, v10; br v11, block2, block3(v1)", call, "2 4 5"},
		{"the call only unwinds", table, "br v2, block2, block3(v1)", "v21 = call fn0(v20); br v21, block5, block6", "2 4 5 6"},
		{"no function that is resumed", common, null, call, ""},
		{"not null", table, "v10 = iconst.i64 0; v11 = icmp.i64 ne, v1, v10; br v11, block2, block3(v1)", call, "4"},
		{"not null, the other way", table, "v10 = iconst.i64 0; v11 = icmp.i64 eq, v1, v10; br v11, block3(v1), block2", call, "4"},
		{"one", table, strings.Replace(null, "iconst.i64 0", "iconst.i64 1", 1), call, "4"},
		{"no pointer", table, "v10 = iconst.i32 0; v11 = icmp.i32 eq, v2, v10; br v11, block2, block3(v1)", call, "4"},
		{"a limit of no global", table, "v10 = load.i32 mem0 v2+16; v11 = icmp.i32 ule, v2, v10; br v11, block2, block3(v1)", call, "4"},
		{"a limit in no memory", table, "v9 = global_get.i32 global0; v11 = icmp.i32 ule, v9, v2; br v11, block2, block3(v1)", call, "4"},
		{"a limit of a sum", table, "v9 = iadd.i32 v2, v2; v10 = load.i32 mem0 v2+16; v11 = icmp.i32 ule, v9, v10; br v11, block2, block3(v1)", call, "4"},
		{"a limit that is a sum", table, "v9 = global_get.i32 global0; v10 = iadd.i32 v2, v2; v11 = icmp.i32 ule, v9, v10; br v11, block2, block3(v1)", call, "4"},
		{"no comparison", table, "br v2, block2, block3(v1)", call, "4"},
		{"no call", table, null, "br v2, block5, block3(v1)", "4"},
		{"another way behind the call", table, null, "v21 = call fn0(v20); br v21, block5, block7; block7:; v70 = iconst.i32 7; return v70", "4"},
		{"the call goes on where it does not return 0", table, null, "v21 = call fn0(v20); br v21, block3(v1), block5", "4"},
		{"code behind the call", table, null, "v21 = call fn0(v20); v22 = iadd.i32 v21, v20; br v22, block5, block3(v1)", "2 4 5"},
		{"the call goes on or traps", table, "br v2, block2, block3(v1)", "v21 = call fn0(v20); br v21, block7, block6; block7:; jump block3(v1)", "4 5 6"},
		{"other code behind the call", table, null, "v21 = call fn0(v20); br v21, block7, block3(v1); block7:; jump block3(v1)", "4 5"},
	} {
		check(c, false)
	}
	const choice = "br v2, block2, block3(v1)"
	for _, c := range []struct {
		rareCase
		otherwise string // is cold if the function may return 0
	}{
		{rareCase{"it unwinds", table, choice, "v21 = call fn0(v20); jump block5", "2 4 5"}, "4"},
		{rareCase{"it unwinds at once", table, choice, "v21 = call fn0(v20); return v21", "2 4 5"}, "4 5"},
		{rareCase{"it goes on", table, choice, "v21 = call fn0(v20); jump block4", "5"}, "5"},
		{rareCase{"it traps", table, choice, "v21 = call fn0(v20); jump block6", "2 4 5 6"}, "2 4 5 6"},
		{rareCase{"no call", table, choice, "return v20", "4 5"}, "4 5"},
		{rareCase{"no function that is resumed", common, choice, "v21 = call fn0(v20); jump block5", ""}, ""},
	} {
		check(c.rareCase, true)
		c.cold = c.otherwise
		check(c.rareCase, false)
	}
}

// coldBlocks lists the blocks of f that are cold.
func coldBlocks(f *clif.Func) string {
	var o BlockOrder
	o.Compute(f)
	var cold []string
	seen := map[clif.Block]bool{}
	for b := clif.Block(0); int(b) < len(f.Blocks); b++ {
		for _, lb := range o.Blocks {
			if lb.Orig == b && lb.Cold && !seen[b] {
				seen[b] = true
				cold = append(cold, fmt.Sprint(uint32(b)))
			}
		}
	}
	return strings.Join(cold, " ")
}
