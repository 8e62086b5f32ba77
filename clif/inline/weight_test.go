package inline

import (
	"strings"
	"testing"

	"github.com/waot-project/waot/clif/text"
)

// TestWeight: what only resumption leads to, and a check that rarely fails, weigh nothing.
func TestWeight(t *testing.T) {
	const function = `mem0 1
global0 i32 mut = 0
function "f" (i32) -> (i32) {
block0(v0: i32):
    v1 = global_get.i32 global0
    TABLE
block1:
    v2 = load.i64 mem0 v1+8
    v3 = iconst.i64 0
    v4 = icmp.i64 CHECK, v2, v3
    br v4, block2, block3(v1)
block2:
    v5 = iconst.i32 0
    v6 = call fn0(v5)
    v7 = global_get.i32 global0
    br v6, block4, block3(v7)
block3(v8: i32):
    v9 = load.i64 mem0 v8+8
    store.i64 mem0 v8+16, v9
    v10 = iconst.i32 0
    return v10
block4:
    v11 = iconst.i32 1
    return v11
block5:
    trap unreachable
block6:
    v12 = global_get.i32 global0
    jump block3(v12)
}
`
	const usual, check, resumption = 6, callWeight + 2, 1
	for _, c := range []struct {
		table, check string
		want         int
	}{
		{"br_table v0, [block1, block6, block5] rare", "eq", usual},
		{"br_table v0, [block1, block1, block5]", "eq", usual},
		{"br_table v0, [block1, block1, block5]", "ne", usual + check}, // what is not null is nothing rare
		{"br_table v0, [block1, block6, block5]", "eq", usual + check + resumption + 3 + 1},
		{"br v0, block1, block5", "eq", usual + check + resumption + 1 + 1}, // cannot be resumed
	} {
		file, err := text.Parse(strings.NewReplacer("TABLE", c.table, "CHECK", c.check).Replace(function))
		if err != nil {
			t.Fatal(err)
		}
		f := file.Funcs[0].Func
		var s scales
		if got := s.weigh(f); got != c.want {
			t.Errorf("%s, %s: weight %d, want %d", c.table, c.check, got, c.want)
		}
	}
}

// TestWeightOfRaise: what only throws weighs little.
func TestWeightOfRaise(t *testing.T) {
	file, err := text.Parse(`sig0 = () -> ()
tag0 sig0
function "check" (i32, i32) -> () {
block0(v0: i32, v1: i32):
    v2 = icmp.i32 slt, v0, v1
    br v2, block1, block2
block1:
    return
block2:
    v3 = call fn1(v0)
    v4 = call fn1(v3)
    exn_set tag0()
    raise
}
function "other" (i32) -> (i32) {
block0(v0: i32):
    return v0
}
`)
	if err != nil {
		t.Fatal(err)
	}
	var s scales
	if got, want := s.weigh(file.Funcs[0].Func), 2+raiseWeight; got != want {
		t.Errorf("weight %d, want %d", got, want)
	}
}
