package verify_test

import (
	"strings"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/text"
	"github.com/waot-project/waot/clif/verify"
)

const good = `mem0 1
sig0 = (i32) -> (i32)
function fn0 "f" (i32) -> (i32) {
block0(v0: i32):
    v1 = iconst.i32 5
    v2 = icmp.i32 eq, v0, v1
    v3 = call fn0(v2)
    trapif v3, unreachable
    v4 = fconst.f32 0
    v5 = fcmp.f32 eq, v4, v4
    store.i32 mem0 v0+0, v5
    br_table v3, [block1(v3), block2]
block1(v6: i32):
    return v6
block2:
    v7 = func_addr.funcref fn0
    v8 = ref_null.ref
    jump block1(v5)
}`

// TestBroken breaks what text cannot express. testdata/clif/verify.clif has the
// rest.
func TestBroken(t *testing.T) {
	inst := func(op clif.Opcode) func(*clif.Func) *clif.InstData {
		return func(f *clif.Func) *clif.InstData {
			for i := range f.Insts {
				if f.Insts[i].Op == op {
					return &f.Insts[i]
				}
			}
			return nil
		}
	}
	for _, c := range []struct {
		name, err string
		change    func(f *clif.Func)
	}{
		{"nothing", "", func(*clif.Func) {}},
		{"opcode", "unknown opcode", func(f *clif.Func) { f.Insts[0].Op = clif.NumOpcodes }},
		{"last opcode", "does not end in a terminator", func(f *clif.Func) { inst(clif.OpReturn)(f).Op = clif.NumOpcodes + 3 }},
		{"layout", "twice in the layout", func(f *clif.Func) { f.Layout = append(f.Layout, 1) }},
		{"block", "not in the function", func(f *clif.Func) { f.Layout = append(f.Layout, 9) }},
		{"range", "instruction range", func(f *clif.Func) { f.Blocks[2].End = 1000 }},
		{"backward range", "instruction range", func(f *clif.Func) { f.Blocks[2].End = f.Blocks[2].Start - 1 }},
		{"overlap", "instruction is in two blocks", func(f *clif.Func) { f.Blocks[2] = f.Blocks[1] }},
		{"argument", "v99 does not exist", func(f *clif.Func) { inst(clif.OpIcmp)(f).Args[0] = 99 }},
		{"list", "is not in the pool", func(f *clif.Func) { inst(clif.OpCall)(f).Args[2] = 1 << 31 }},
		{"list of targets", "is not in the pool", func(f *clif.Func) { inst(clif.OpBrTable)(f).Args[1] = 1<<32 - 1 }},
		{"hint", "hint 2", func(f *clif.Func) { inst(clif.OpBrTable)(f).Cond = clif.TableRare + 1 }},
		{"list entry", "v99 does not exist", func(f *clif.Func) { f.Pool[inst(clif.OpCall)(f).Args[1]] = 99 }},
		{"target", "target 77 does not exist", func(f *clif.Func) { inst(clif.OpJump)(f).Args[1] = 77 }},
		{"target block", "target 2 does not exist", func(f *clif.Func) { f.Targets[2].Block = 44 }},
		{"target argument", "v99 does not exist", func(f *clif.Func) { f.TargetArgs(0)[0] = 99 }},
		{"result", "result v0 is not this instruction's", func(f *clif.Func) { f.Insts[0].Result = 0 }},
		{"two results", "result v2 is not this instruction's", func(f *clif.Func) { f.Insts[0].NumResults = 2 }},
		{"no result", "0 results, want 1", func(f *clif.Func) { f.Insts[0].NumResults = 0 }},
		{"type of result", "v1 has the type i64", func(f *clif.Func) { f.Values[1].Type = clif.I64 }},
		{"removed", "v1 is not defined", func(f *clif.Func) { f.Insts[0] = clif.InstData{Op: clif.OpNop} }},
		{"removed with its result", "1 results, want 0", func(f *clif.Func) { f.Insts[0].Op, f.Insts[0].Type = clif.OpNop, clif.Invalid }},
		{"alias", "v1 is an alias", func(f *clif.Func) { f.Values[1].Kind, f.Insts[0] = clif.ValueAlias, clif.InstData{} }},
		{"parameter", "v6 is not parameter 0", func(f *clif.Func) { f.Values[6].Num = 1 }},
		{"parameter twice", "is not parameter 1", func(f *clif.Func) { f.AppendList(&f.Blocks[1].Params, 6) }},
		{"parameter value", "v99 does not exist", func(f *clif.Func) { f.Params(1)[0] = 99 }},
		{"entry parameter value", "v99 does not exist", func(f *clif.Func) { f.Params(0)[0] = 99 }},
		{"constant", "does not fit i32", func(f *clif.Func) { f.Insts[0].Imm = 1 << 32 }},
		{"float constant", "does not fit f32", func(f *clif.Func) { inst(clif.OpFconst)(f).Imm = 1 << 32 }},
		{"null", "null is", func(f *clif.Func) { inst(clif.OpRefNull)(f).Imm = 1 }},
		{"int condition", "condition 200", func(f *clif.Func) { inst(clif.OpIcmp)(f).Cond = 200 }},
		{"float condition", "condition 6", func(f *clif.Func) { inst(clif.OpFcmp)(f).Cond = 6 }},
		{"trap code", "trap code 200", func(f *clif.Func) { inst(clif.OpTrapIf)(f).Cond = 200 }},
		{"access", "access 50", func(f *clif.Func) { inst(clif.OpStore)(f).Cond = 50 }},
		{"function", "fn7 does not exist", func(f *clif.Func) { inst(clif.OpCall)(f).Aux = 7 }},
		{"not addressed", "fn0 is not addressed", func(f *clif.Func) { f.Mod.Funcs[0].Addressed = false }},
	} {
		file, err := text.Parse(good)
		if err != nil {
			t.Fatal(err)
		}
		f := file.Funcs[0].Func
		c.change(f)
		err = verify.Func(f)
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.err)
		}
	}
}
