package backend

import (
	"testing"

	"github.com/waot-project/waot/clif"
)

// TestFarConsts: only in functions with many blocks, and only if the constants are many and their uses far away.
func TestFarConsts(t *testing.T) {
	const consts = 1200
	function := func(blocks int, far bool) (*clif.Func, *BlockOrder) {
		mod := &clif.Module{Sigs: make([]clif.Signature, 1), Memories: make([]clif.MemoryDecl, 1), Funcs: make([]clif.FuncDecl, 1)}
		f := &clif.Func{Mod: mod}
		b := clif.Builder{F: f}
		var values []clif.Value
		for n := range blocks {
			blk := b.NewBlock()
			b.SwitchTo(blk)
			if n == 0 || !far {
				values = values[:0]
				for k := range consts {
					if n == 0 || k == 0 {
						values = append(values, b.Iconst(clif.I64, uint64(k)))
					}
				}
			}
			if n+1 == blocks {
				for _, v := range values {
					b.Binary(clif.OpImul, clif.I64, v, v)
				}
				b.Return(nil)
				break
			}
			b.Jump(b.Target(clif.Block(n+1), nil))
		}
		o := new(BlockOrder)
		for n := range blocks {
			o.Blocks = append(o.Blocks, LoweredBlock{Orig: clif.Block(n)})
		}
		return f, o
	}
	var fc farConsts
	for _, c := range []struct {
		blocks    int
		far, want bool
	}{{farBlocks - 1, true, false}, {farBlocks, true, true}, {farBlocks, false, false}, {farBlocks, true, true}, {2, true, false}} {
		if got := fc.tooMany(function(c.blocks, c.far)); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
