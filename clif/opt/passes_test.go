package opt

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/text"
	"github.com/waot-project/waot/clif/verify"
)

// shapeCases are functions of several blocks and what passes make of them; no pass means all.
var shapeCases = []struct{ name, pass, src, want string }{
	{"a parameter with one value", "params", `
function "f" (i32) -> (i32) {
block0(v0: i32):
    br v0, block1(v0), block2
block2:
    jump block1(v0)
block1(v1: i32):
    return v1
}`, `block0 [0]
br v0, block1, block2
block2 []
jump block1
block1 []
return v0`},
	{"parameters that feed one another", "params", `
function "f" (i32) -> (i32) {
block0(v0: i32):
    jump block1(v0, v0)
block1(v1: i32, v2: i32):
    br v1, block2(v2, v1), block3(v1)
block2(v3: i32, v4: i32):
    jump block1(v3, v4)
block3(v5: i32):
    return v5
}`, `block0 [0]
jump block1(v0, v0)
block1 [1 2]
br v1, block2, block3
block2 []
jump block1(v2, v1)
block3 []
return v1`},
	{"a chain of parameters against the order of blocks", "params", `
function "f" (i32) -> (i32) {
block0(v0: i32):
    jump block1(v0)
block1(v1: i32):
    jump block2(v1)
block2(v2: i32):
    br v2, block2(v2), block3
block3:
    br v2, block1(v2), block4
block4:
    return v1
}`, `block0 [0]
jump block1
block1 []
jump block2
block2 []
br v0, block2, block3
block3 []
br v0, block1, block4
block4 []
return v0`},
	{"a parameter that waits for another", "params", `
function "f" (i32) -> (i32) {
block0(v0: i32):
    jump block1(v0)
block1(v1: i32):
    br v1, block2(v1), block3(v1)
block2(v2: i32):
    br v2, block2(v2), block4
block4:
    br v0, block1(v2), block3(v0)
block3(v3: i32):
    return v3
}`, `block0 [0]
jump block1
block1 []
br v0, block2, block3
block2 []
br v0, block2, block4
block4 []
br v0, block1, block3
block3 []
return v0`},
	{"irreducible parameters stay", "params", `
function "f" (i32) -> (i32) {
block0(v0: i32):
    br v0, block3(v0), block2(v0)
block1(v1: i32):
    return v1
block2(v2: i32):
    br v2, block1(v2), block3(v2)
block3(v3: i32):
    br v3, block1(v3), block2(v3)
}`, `block0 [0]
br v0, block3(v0), block2(v0)
block1 [1]
return v1
block2 [2]
br v2, block1(v2), block3(v2)
block3 [3]
br v3, block1(v3), block2(v3)`},
	{"one target on both edges", "params", `
function "f" (i32, i64) -> (i64) {
block0(v0: i32, v1: i64):
    br v0, block1(v0, v1), block1(v0, v1)
block1(v2: i32, v3: i64):
    return v3
}`, `block0 [0 1]
br v0, block1, block1
block1 []
return v1`},
	{"dead parameters that feed themselves", "dce", `
function "f" (i32) -> (i32) {
block0(v0: i32):
    v1 = iconst.i32 7
    jump block1(v0, v1)
block1(v2: i32, v3: i32):
    v4 = iadd.i32 v3, v3
    v5 = isub.i32 v2, v0
    br v2, block1(v5, v4), block2
block2:
    return v0
}`, `block0 [0]
jump block1(v0)
block1 [2]
v5 = isub.i32 v2, v0
br v2, block1(v5), block2
block2 []
return v0`},
	{"a dispatcher's edges", "dispatch", `
function "f" (i32, i64) -> (i64) {
block0(v0: i32, v1: i64):
    jump block1(v0, v1, v1)
block1(v2: i32, v3: i64, v4: i64):
    v5 = iconst.i32 1
    v6 = isub.i32 v2, v5
    br_table v6, [block2, block3(v4), block4]
block2:
    v7 = iadd.i64 v3, v4
    v8 = iconst.i32 2
    jump block1(v8, v3, v7)
block3(v9: i64):
    v10 = ireduce.i32 v9
    v11 = iconst.i32 1
    v12 = iconst.i32 3
    br v10, block1(v11, v4, v9), block1(v12, v9, v9)
block4:
    br v5, block1(v2, v4, v3), block5
block5:
    return v3
}`, `block0 [0 1]
v5 = iconst.i32 1
jump block1(v0, v1, v1)
block1 [2 3 4]
v6 = isub.i32 v2, v5
br_table v6, [block2(v3, v4), block3(v4, v4), block4(v2, v4, v3)]
block2 [13 14]
v7 = iadd.i64 v13, v14
v8 = iconst.i32 2
jump block3(v7, v7)
block3 [9 18]
v10 = ireduce.i32 v9
v11 = iconst.i32 1
v12 = iconst.i32 3
br v10, block2(v18, v9), block4(v12, v9, v9)
block4 [15 16 17]
br v5, block1(v15, v16, v17), block5
block5 []
return v17`},
	{"edges past a branch", "dispatch", `
function "f" (i32, i32, i64) -> (i64) {
block0(v0: i32, v1: i32, v2: i64):
    v3 = iconst.i32 7
    br v0, block1(v3, v2), block2
block1(v4: i32, v5: i64):
    v6 = iconst.i32 7
    v7 = icmp.i32 eq, v4, v6
    br v7, block3(v5), block4(v6)
block2:
    v8 = iconst.i64 9
    br v1, block1(v1, v8), block1(v1, v2)
block3(v9: i64):
    v10 = uextend.i64 v4
    v11 = iadd.i64 v9, v10
    return v11
block4(v12: i32):
    v13 = uextend.i64 v12
    return v13
}`, `block0 [0 1 2]
v6 = iconst.i32 7
v3 = iconst.i32 7
br v0, block3(v2, v3), block2
block1 [4 5]
v7 = icmp.i32 eq, v4, v6
br v7, block3(v5, v4), block4(v6)
block2 []
v8 = iconst.i64 9
br v1, block1(v1, v8), block1(v1, v2)
block3 [9 14]
v10 = uextend.i64 v14
v11 = iadd.i64 v9, v10
return v11
block4 [12]
v13 = uextend.i64 v12
return v13`},
	{"a branch whose condition is used elsewhere", "dispatch", `
function "f" (i32, i32) -> (i32) {
block0(v0: i32, v1: i32):
    v2 = iconst.i32 3
    br v0, block1(v2), block1(v1)
block1(v3: i32):
    v4 = iadd.i32 v3, v3
    br v4, block2, block3
block2:
    return v4
block3:
    return v1
}`, `block0 [0 1]
v2 = iconst.i32 3
br v0, block1(v2), block1(v1)
block1 [3]
v4 = iadd.i32 v3, v3
br v4, block2, block3
block2 []
return v4
block3 []
return v1`},
	{"a branch at the top of a loop: the entry stays, the edge back does not", "dispatch", `
function "f" (i32, i32) -> (i32) {
block0(v0: i32, v1: i32):
    v2 = iconst.i32 1
    jump block1(v2, v0)
block1(v3: i32, v4: i32):
    br v3, block2, block3
block2:
    v5 = iconst.i32 -1
    v6 = iadd.i32 v4, v5
    v7 = iconst.i32 0
    br v6, block1(v6, v6), block1(v7, v1)
block3:
    return v4
}`, `block0 [0 1]
v2 = iconst.i32 1
jump block1(v2, v0)
block1 [3 4]
br v3, block2, block3(v4)
block2 []
v5 = iconst.i32 -1
v6 = iadd.i32 v4, v5
v7 = iconst.i32 0
br v6, block1(v6, v6), block3(v1)
block3 [8]
return v8`},
	{"entries of a table do not go past a branch", "dispatch", `
function "f" (i32, i32) -> (i32) {
block0(v0: i32, v1: i32):
    v2 = iconst.i32 0
    br_table v0, [block1(v2), block2, block1(v1)]
block1(v3: i32):
    br v3, block2, block3
block2:
    return v0
block3:
    return v1
}`, `block0 [0 1]
v2 = iconst.i32 0
br_table v0, [block1(v2), block2, block1(v1)]
block1 [3]
br v3, block2, block3
block2 []
return v0
block3 []
return v1`},
	{"decided comparisons on edges", "fold", `
mem0 1
function "f" (i32, i32, f64) -> (i32, i32) {
block0(v0: i32, v1: i32, v2: f64):
    v3 = icmp.i32 slt, v0, v1
    v4 = fcmp.f64 lt, v2, v2
    br v3, block1(v3, v4), block2(v3)
block1(v5: i32, v6: i32):
    trapif v4, unreachable
    store.i32 mem0 v0, v4
    v7 = select.i32 v1, v3, v4
    return v3, v5
block2(v8: i32):
    br v0, block3, block4(v0, v3)
block3:
    return v0, v8
block4(v9: i32, v10: i32):
    return v9, v10
}`, `block0 [0 1 2]
v3 = icmp.i32 slt, v0, v1
v4 = fcmp.f64 lt, v2, v2
v11 = iconst.i32 1
v12 = iconst.i32 0
br v3, block1(v11, v4), block2(v12)
block1 [5 6]
trapif v4, unreachable
store.i32 mem0 v0+0, v4
v7 = select.i32 v1, v3, v4
return v3, v5
block2 [8]
br v0, block3, block4(v0, v12)
block3 []
return v0, v8
block4 [9 10]
return v9, v10`},
	{"a condition that is no comparison on edges", "fold", `
function "f" (i32, i32) -> (i32) {
block0(v0: i32, v1: i32):
    v2 = iadd.i32 v0, v1
    br v2, block1(v2), block1(v0)
block1(v3: i32):
    return v3
}`, `block0 [0 1]
v2 = iadd.i32 v0, v1
br v2, block1(v2), block1(v0)
block1 [3]
return v3`},
	{"both ways lead to one place: nothing is decided", "fold", `
function "f" (i32, i32) -> (i32) {
block0(v0: i32, v1: i32):
    v2 = icmp.i32 slt, v0, v1
    br v2, block1(v2), block1(v0)
block1(v3: i32):
    br v3, block2(v2), block2(v2)
block2(v4: i32):
    v5 = iadd.i32 v4, v2
    return v5
}`, `block0 [0 1]
v2 = icmp.i32 slt, v0, v1
v6 = iconst.i32 1
br v2, block1(v6), block1(v0)
block1 [3]
jump block2(v2)
block2 [4]
v5 = iadd.i32 v4, v2
return v5`},
	{"a branch on what was loaded chooses a value", "selects", `
mem0 1
function "f" (i32, i32) -> (i32) {
block0(v0: i32, v1: i32):
    v2 = load.i32 mem0 v0
    v3 = icmp.i32 slt, v2, v1
    br v3, block1(v0, v1), block1(v1, v1)
block1(v4: i32, v5: i32):
    v6 = iadd.i32 v4, v5
    return v6
}`, `block0 [0 1]
v2 = load.i32 mem0 v0+0
v3 = icmp.i32 slt, v2, v1
v7 = select.i32 v3, v0, v1
jump block1(v7, v1)
block1 [4 5]
v6 = iadd.i32 v4, v5
return v6`},
	{"branches that stay: on a constant, on nothing loaded, with too much to choose, and floats", "selects", `
mem0 1
function "f" (i32, i32, f64) -> (i32, f64) {
block0(v0: i32, v1: i32, v2: f64):
    v3 = load.i32 mem0 v0
    v4 = iconst.i32 7
    v5 = icmp.i32 slt, v3, v4
    br v5, block1(v0), block1(v1)
block1(v6: i32):
    v7 = icmp.i32 slt, v3, v1
    br v7, block2(v0, v1, v3), block2(v1, v0, v3)
block2(v8: i32, v9: i32, v10: i32):
    v11 = load.i32 mem0 v1
    v12 = icmp.i32 slt, v11, v1
    br v12, block3(v0, v1, v3), block3(v1, v3, v0)
block3(v13: i32, v14: i32, v15: i32):
    v16 = load.f64 mem0 v1
    v17 = fcmp.f64 lt, v2, v16
    br v17, block4(v2), block4(v16)
block4(v18: f64):
    return v6, v18
}`, `block0 [0 1 2]
v3 = load.i32 mem0 v0+0
v4 = iconst.i32 7
v5 = icmp.i32 slt, v3, v4
br v5, block1(v0), block1(v1)
block1 [6]
v7 = icmp.i32 slt, v3, v1
br v7, block2(v0, v1, v3), block2(v1, v0, v3)
block2 [8 9 10]
v11 = load.i32 mem0 v1+0
v12 = icmp.i32 slt, v11, v1
br v12, block3(v0, v1, v3), block3(v1, v3, v0)
block3 [13 14 15]
v16 = load.f64 mem0 v1+0
v17 = fcmp.f64 lt, v2, v16
br v17, block4(v2), block4(v16)
block4 [18]
return v6, v18`},
	{"a dispatcher through which no loop goes any more", "", `
function "f" (i32, i64) -> (i64) {
block0(v0: i32, v1: i64):
    jump block1(v0, v1)
block1(v2: i32, v3: i64):
    br_table v2, [block2, block3, block4]
block2:
    v4 = iconst.i64 1
    v5 = isub.i64 v3, v4
    v6 = iconst.i32 1
    jump block1(v6, v5)
block3:
    v7 = ireduce.i32 v3
    v8 = iconst.i32 0
    v9 = iconst.i32 2
    br v7, block1(v8, v3), block1(v9, v3)
block4:
    return v3
}`, `block0 [0 1]
br_table v0, [block2(v1), block5(v1), block6(v1)] rare
block2 [12]
v10 = iconst.i64 -1
v5 = iadd.i64 v12, v10
v7 = ireduce.i32 v5
br v7, block2(v5), block4
block4 []
return v5
block5 [14]
v15 = ireduce.i32 v14
br v15, block7, block6(v14)
block6 [18]
return v18
block7 []
v21 = iconst.i64 -1
v22 = iadd.i64 v14, v21
jump block5(v22)`},
	{"an ordinary switch, one case of which goes to another", "dispatch", `
function "f" (i32, i64) -> (i64) {
block0(v0: i32, v1: i64):
    jump block1(v0)
block1(v2: i32):
    br_table v2, [block2, block3, block4, block4]
block2:
    v3 = iconst.i32 2
    jump block1(v3)
block3:
    trap unreachable
block4:
    return v1
}`, `block0 [0 1]
jump block1(v0)
block1 [2]
br_table v2, [block2, block3, block4, block4]
block2 []
v3 = iconst.i32 2
jump block4
block3 []
trap unreachable
block4 []
return v1`},
	{"a dispatcher in a loop, which keeps it", "dispatch", `
function "f" (i32, i64) -> (i64) {
block0(v0: i32, v1: i64):
    jump block1(v0)
block1(v2: i32):
    br_table v2, [block2, block3, block4]
block2:
    v3 = iconst.i32 1
    jump block1(v3)
block3:
    v4 = ireduce.i32 v1
    br v4, block1(v4), block4
block4:
    return v1
}`, `block0 [0 1]
jump block1(v0)
block1 [2]
br_table v2, [block2, block3, block4]
block2 []
v3 = iconst.i32 1
jump block3
block3 []
v4 = ireduce.i32 v1
br v4, block1(v4), block4
block4 []
return v1`},
	{"dispatchers that lead to each other", "dispatch", `
function "f" (i64) -> (i64) {
block0(v0: i64):
    v1 = iconst.i32 0
    jump block1(v1, v0)
block1(v2: i32, v3: i64):
    br_table v2, [block2(v2, v3), block3]
block2(v4: i32, v5: i64):
    v6 = iconst.i32 1
    br_table v4, [block1(v6, v5), block3]
block3:
    return v3
}`, `block0 [0]
v1 = iconst.i32 0
jump block3(v0)
block3 [7]
return v7`},
	{"an index that others use stays", "dispatch", `
function "f" (i32) -> (i32) {
block0(v0: i32):
    v1 = iconst.i32 0
    jump block1(v1)
block1(v2: i32):
    v3 = iadd.i32 v2, v0
    v4 = isub.i32 v2, v2
    br_table v4, [block2, block3]
block2:
    v5 = iconst.i32 1
    jump block1(v5)
block3:
    return v4
}`, `block0 [0]
v1 = iconst.i32 0
jump block1(v1)
block1 [2]
v3 = iadd.i32 v2, v0
v4 = isub.i32 v2, v2
br_table v4, [block2, block3]
block2 []
v5 = iconst.i32 1
jump block1(v5)
block3 []
return v4`},
	{"effects before the table stay", "dispatch", `
function "f" (i32) -> (i32) {
block0(v0: i32):
    v1 = iconst.i32 0
    jump block1(v1)
block1(v2: i32):
    trapif v0, unreachable
    br_table v2, [block2, block3]
block2:
    v3 = iconst.i32 1
    jump block1(v3)
block3:
    return v2
}`, `block0 [0]
v1 = iconst.i32 0
jump block1(v1)
block1 [2]
trapif v0, unreachable
br_table v2, [block2, block3]
block2 []
v3 = iconst.i32 1
jump block1(v3)
block3 []
return v2`},
	{"a loop that counts for nobody stays a loop", "", `
function "f" (i32) -> () {
block0(v0: i32):
    jump block1(v0)
block1(v1: i32):
    v2 = iconst.i32 1
    v3 = isub.i32 v1, v2
    br v3, block1(v3), block2
block2:
    return
}`, `block0 [0]
jump block1(v0)
block1 [1]
v4 = iconst.i32 -1
v3 = iadd.i32 v1, v4
br v3, block1(v3), block2
block2 []
return`},
	{"blocks in a row become one", "", `
function "f" (i32) -> (i32) {
block0(v0: i32):
    jump block1(v0)
block1(v1: i32):
    v2 = iadd.i32 v1, v1
    jump block2(v2)
block2(v3: i32):
    v4 = iadd.i32 v3, v1
    jump block3
block3:
    return v4
}`, `block0 [0]
v2 = iadd.i32 v0, v0
v4 = iadd.i32 v2, v0
return v4`},
	{"edges skip empty blocks", "branches", `
function "f" (i32) -> (i32) {
block0(v0: i32):
    br v0, block1, block2
block1:
    jump block3
block2:
    jump block4(v0)
block3:
    jump block4(v0)
block4(v1: i32):
    return v1
}`, `block0 [0]
jump block4(v0)
block4 [1]
return v1`},
	{"empty blocks in a circle", "", `
function "f" (i32) -> (i32) {
block0(v0: i32):
    br v0, block1, block3
block1:
    jump block2
block2:
    jump block1
block3:
    return v0
}`, `block0 [0]
br v0, block1, block3
block1 []
jump block1
block3 []
return v0`},
	{"a condition decided above", "", `
function "f" (i32, i32) -> (i32) {
block0(v0: i32, v1: i32):
    v2 = icmp.i32 slt, v0, v1
    br v2, block1, block2
block1:
    v3 = icmp.i32 sge, v0, v1
    br v3, block3, block4
block2:
    v4 = icmp.i32 slt, v0, v1
    trapif v4, unreachable
    return v4
block3:
    return v1
block4:
    return v0
}`, `block0 [0 1]
v2 = icmp.i32 slt, v0, v1
br v2, block1, block2
block1 []
return v0
block2 []
return v2`},
	{"a condition decided on one way only", "", `
function "f" (i32, i32) -> (i32) {
block0(v0: i32, v1: i32):
    br v0, block1, block2
block1:
    jump block2
block2:
    br v0, block3, block4
block3:
    return v1
block4:
    return v0
}`, `block0 [0 1]
jump block2
block2 []
br v0, block3, block4
block3 []
return v1
block4 []
return v0`},
	{"branch on a constant", "", `
function "f" (i32) -> (i32) {
block0(v0: i32):
    v1 = iconst.i32 0
    br v1, block1, block2(v0)
block1:
    jump block2(v1)
block2(v2: i32):
    return v2
}`, `block0 [0]
jump block2
block2 []
return v0`},
	{"br_table on a constant beyond the end", "", `
function "f" (i32) -> (i32) {
block0(v0: i32):
    v1 = iconst.i32 -1
    br_table v1, [block1, block1, block2]
block1:
    return v0
block2:
    return v1
}`, `block0 [0]
v1 = iconst.i32 -1
return v1`},
	{"br_table with one target", "", `
function "f" (i32) -> (i32) {
block0(v0: i32):
    br_table v0, [block1]
block1:
    return v0
}`, `block0 [0]
return v0`},
	{"a trapif that always traps cuts what follows", "", `
function "f" (i32) -> (i32) {
block0(v0: i32):
    br v0, block1, block4(v0)
block1:
    v1 = iconst.i32 1
    trapif v1, integer_overflow
    v2 = iadd.i32 v0, v0
    br v2, block2, block3
block2:
    v3 = iadd.i32 v2, v2
    jump block4(v3)
block3:
    jump block4(v2)
block4(v4: i32):
    return v4
}`, `block0 [0]
br v0, block1, block4
block1 []
trap integer_overflow
block4 []
return v0`},
	{"memory along one way", "", `
mem0 1 2
function "f" (i32, i32) -> (i32) {
block0(v0: i32, v1: i32):
    v2 = load.i32 mem0 v0+0
    br v1, block1, block2
block1:
    v3 = load.i32 mem0 v0+0
    store.i32 mem0 v0+0, v1
    v4 = load.i32 mem0 v0+0
    v5 = iadd.i32 v3, v4
    return v5
block2:
    v6 = load.i32 mem0 v0+0
    jump block3(v6)
block3(v7: i32):
    v8 = load.i32 mem0 v0+0
    v9 = iadd.i32 v7, v8
    return v9
}`, `block0 [0 1]
v2 = load.i32 mem0 v0+0
br v1, block1, block2
block1 []
store.i32 mem0 v0+0, v1
v5 = iadd.i32 v2, v1
return v5
block2 []
v9 = iadd.i32 v2, v2
return v9`},
	{"memory where ways meet", "", `
mem0 1 2
function "f" (i32, i32) -> (i32) {
block0(v0: i32, v1: i32):
    v2 = load.i32 mem0 v0+0
    br v1, block1, block2
block1:
    store.i32 mem0 v0+0, v1
    jump block2
block2:
    v3 = load.i32 mem0 v0+0
    v4 = iadd.i32 v2, v3
    return v4
}`, `block0 [0 1]
v2 = load.i32 mem0 v0+0
br v1, block1, block2
block1 []
store.i32 mem0 v0+0, v1
jump block2
block2 []
v3 = load.i32 mem0 v0+0
v4 = iadd.i32 v2, v3
return v4`},
	{"imported globals may be one", "", `
import global0 "a" "g" i64 mut
import global1 "a" "h" i64 mut
import global2 "a" "i" i32 mut
global3 i64 mut = 0
function "f" (i64, i32) -> (i64, i64, i32, i64) {
block0(v0: i64, v1: i32):
    global_set.i64 global1, v0
    global_set.i32 global2, v1
    global_set.i64 global3, v0
    global_set.i64 global0, v0
    v2 = global_get.i64 global0
    v3 = global_get.i64 global1
    v4 = global_get.i32 global2
    v5 = global_get.i64 global3
    return v2, v3, v4, v5
}`, `block0 [0 1]
global_set.i64 global1, v0
global_set.i32 global2, v1
global_set.i64 global3, v0
global_set.i64 global0, v0
v3 = global_get.i64 global1
return v0, v3, v1, v0`},
	{"a call may write globals, not immutable ones", "", `
sig0 = () -> (i32)
import fn0 "env" "g" sig0
global0 i32 mut = 0
global1 i32 = 5
function fn1 "f" () -> (i32, i32, i32, i32) {
block0:
    v0 = global_get.i32 global0
    v1 = global_get.i32 global1
    v2 = call fn0()
    v3 = global_get.i32 global0
    v4 = global_get.i32 global1
    return v0, v1, v3, v4
}`, `block0 []
v0 = global_get.i32 global0
v1 = global_get.i32 global1
v2 = call fn0()
v3 = global_get.i32 global0
return v0, v1, v3, v1`},
	{"init writes immutable globals", "", `
global0 i32 = 0
function "init" () -> () {
block0:
    v0 = global_get.i32 global0
    v1 = iconst.i32 5
    global_set.i32 global0, v1
    v2 = global_get.i32 global0
    trapif v0, unreachable
    trapif v2, unreachable
    return
}`, `block0 []
v0 = global_get.i32 global0
v1 = iconst.i32 5
global_set.i32 global0, v1
trapif v0, unreachable
trap unreachable`},
	{"sizes between growths", "", `
mem0 1 5
function "f" () -> (i64, i64, i64) {
block0:
    v0 = memory_size mem0
    v1 = memory_size mem0
    v2 = iconst.i32 1
    v3 = memory_grow mem0, v2
    v4 = memory_size mem0
    return v0, v1, v4
}`, `block0 []
v0 = memory_size mem0
v2 = iconst.i32 1
v3 = memory_grow mem0, v2
v4 = memory_size mem0
return v0, v0, v4`},
	{"calls through a table", "", `
sig0 = () -> ()
table0 funcref 10 20
function "f" (i32) -> () {
block0(v0: i32):
    v1 = uextend.i64 v0
    v2 = table_size table0
    v3 = icmp.i64 uge, v1, v2
    trapif v3, undefined_element
    v4 = table_get.funcref table0, v1
    sig_check sig0, v4
    v5 = uextend.i64 v0
    v6 = table_size table0
    v7 = icmp.i64 uge, v5, v6
    trapif v7, undefined_element
    v8 = table_get.funcref table0, v5
    sig_check sig0, v8
    call_ref sig0, v8()
    return
}`, `block0 [0]
v1 = uextend.i64 v0
v2 = table_size table0
v3 = icmp.i64 uge, v1, v2
trapif v3, undefined_element
v4 = table_get.funcref table0, v1
sig_check sig0, v4
call_ref sig0, v4()
return`},
	{"division is available only below", "", `
function "f" (i32, i32) -> (i32) {
block0(v0: i32, v1: i32):
    br v0, block1, block2
block1:
    v2 = sdiv.i32 v0, v1
    v3 = sdiv.i32 v0, v1
    v4 = iadd.i32 v2, v3
    jump block3(v4)
block2:
    jump block3(v1)
block3(v5: i32):
    v6 = sdiv.i32 v0, v1
    v7 = iadd.i32 v5, v6
    return v7
}`, `block0 [0 1]
br v0, block1, block3(v1)
block1 []
v2 = sdiv.i32 v0, v1
v4 = iadd.i32 v2, v2
jump block3(v4)
block3 [5]
v6 = sdiv.i32 v0, v1
v7 = iadd.i32 v5, v6
return v7`},
	{"what is not reachable goes first", "", `
function "f" (i32) -> (i32) {
block0(v0: i32):
    jump block2(v0)
block1:
    v1 = iconst.i32 4
    v2 = iadd.i32 v1, v1
    jump block2(v2)
block2(v3: i32):
    return v3
block3:
    jump block3
}`, `block0 [0]
return v0`},
}

// TestShapes checks what passes make of control flow and memory.
func TestShapes(t *testing.T) {
	for _, c := range shapeCases {
		file, err := text.Parse(c.src)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		f := file.Funcs[0].Func
		var o Optimizer
		if err := verify.Func(f); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if c.pass == "" {
			f = optimized(t, &o, f)
		} else if !o.RunPass(f, c.pass) {
			t.Fatalf("no pass %q", c.pass)
		}
		if err := verify.Func(f); err != nil {
			t.Fatalf("%s: %v\n%v", c.name, err, f)
		}
		var lines []string
		p := clif.Printer{F: f}
		for _, b := range f.Layout {
			lines = append(lines, fmt.Sprint(b, f.Params(b)))
			for i := f.Blocks[b].Start; i < f.Blocks[b].End; i++ {
				if f.Insts[i].Op != clif.OpNop {
					lines = append(lines, p.Inst(i))
				}
			}
		}
		got := strings.Join(lines, "; ")
		if os.Getenv("SHOW") != "" {
			fmt.Printf("%s\t%s\n", c.name, got)
		} else if d := cmp.Diff(strings.Split(c.want, "\n"), lines); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
		// Once more must find everything as it should be.
		if err := o.Run(f, O1); err != nil {
			t.Errorf("%s, again: %v", c.name, err)
		}
	}
}

// TestFuel checks that each rewrite can be switched off: with fuel for n
// rewrites the function is valid, and with none it is what it was.
func TestFuel(t *testing.T) {
	for _, c := range shapeCases {
		for n := range 30 {
			file, err := text.Parse(c.src)
			if err != nil {
				t.Fatal(err)
			}
			f := file.Funcs[0].Func
			before := body(f)
			ctl := &Control{Limit: n}
			got := body(optimized(t, &Optimizer{Control: ctl}, f))
			if n == 0 && got != before && c.name != "what is not reachable goes first" {
				t.Errorf("%s: changed without fuel:\n%s\n%s", c.name, before, got)
			}
			if len(ctl.Log) < n {
				break
			}
		}
	}
}
