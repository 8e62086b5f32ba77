package opt

import (
	"cmp"
	"fmt"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/verify"
)

// TestInsert: new instructions are where they belong, whether few blocks get some, which are written anew behind the others, or many, and whatever the order of the
// layout and of the calls.
func TestInsert(t *testing.T) {
	const blocks, adds = 40, 5
	for _, changed := range []int{1, 3, blocks} {
		for _, backwards := range []bool{false, true} {
			f, b := newFunc(testModule([]clif.Type{i32}, []clif.Type{i32}))
			v := val(0)
			for n := range blocks {
				if n > 0 {
					next := b.NewBlock()
					b.Jump(b.Target(next, nil))
					b.SwitchTo(next)
				}
				for range adds {
					v = b.Binary(clif.OpIadd, i32, v, v)
				}
			}
			b.Return([]val{v})
			if backwards { // the second half of the layout is in front of the first
				f.Layout = append(append([]clif.Block{f.Layout[0]}, f.Layout[blocks/2:]...), f.Layout[1:blocks/2]...)
			}
			var z insertions
			size, want := len(f.Insts), map[clif.Block]string{}
			for n := range blocks {
				blk := clif.Block(n)
				if backwards {
					blk = clif.Block(blocks - 1 - n)
				}
				if n%(blocks/changed) != 0 {
					continue
				}
				start := f.Blocks[blk].Start
				for _, k := range []clif.Inst{0, 0, adds} {
					z.add(f, start+k, i32, clif.InstData{Op: clif.OpIconst, Type: i32, Imm: uint64(len(z.fresh))})
				}
				first := len(z.fresh) - 3
				want[blk] = fmt.Sprintf("(%d)(%d)+++++(%d)end", first, first+1, first+2)
			}
			z.insert(f)
			if err := verify.Func(f); err != nil {
				t.Fatal(err)
			}
			if few := changed < blocks/4; few != (len(f.Insts) > size+3*changed) {
				t.Errorf("%d blocks of %d: %d instructions, before %d", changed, blocks, len(f.Insts), size)
			}
			for _, blk := range f.Layout {
				got := ""
				for i := f.Blocks[blk].Start; i < f.Blocks[blk].End; i++ {
					d := &f.Insts[i]
					switch d.Op {
					case clif.OpIadd:
						got += "+"
					case clif.OpIconst:
						got += fmt.Sprintf("(%d)", d.Imm)
					default:
						got += "end"
					}
					if d.NumResults == 1 && f.DefInst(d.Result) != i {
						t.Errorf("%v is not where it is defined", d.Result)
					}
				}
				if w := cmp.Or(want[blk], "+++++end"); got != w {
					t.Errorf("%v: %q, want %q", blk, got, w)
				}
			}
		}
	}
}
