package a64_test

import (
	"encoding/binary"
	"testing"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/instance"
	"github.com/waot-project/waot/backend/isa/a64"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/proof/isatest"
	"github.com/waot-project/waot/regalloc/linear"
)

// TestLandings: functions begin with bti c, and what a jump table leads to with bti j.
func TestLandings(t *testing.T) {
	i32 := []clif.Type{clif.I32}
	m := &isatest.Module{}
	for _, n := range []int{5, 40} {
		m.Fn(i32, i32, func(b *clif.Builder, p []clif.Value) {
			var targets []clif.Target
			var blocks []clif.Block
			for range n {
				blk := b.NewBlock()
				blocks, targets = append(blocks, blk), append(targets, b.Target(blk, nil))
			}
			join := b.NewBlock()
			b.BrTable(p[0], append(targets, b.Target(join, p)))
			for k, blk := range blocks {
				b.SwitchTo(blk)
				if k%3 == 0 { // nothing but a jump
					b.Jump(b.Target(join, p))
					continue
				}
				b.Return([]clif.Value{b.Iconst(clif.I32, uint64(k))})
			}
			b.SwitchTo(join)
			b.Return([]clif.Value{b.AddParam(join, clif.I32)})
		})
	}
	const btiC, btiJ = 0xd503245f, 0xd503249f
	for k, f := range m.Defined {
		code, err := backend.New(a64.New(0), instance.New(&m.Module), &m.Module, backend.Options{Allocator: linear.New(), Verify: true}).Compile(f)
		if err != nil {
			t.Fatal(err)
		}
		word := func(at int) uint32 { return binary.LittleEndian.Uint32(code.Bytes[at:]) }
		if word(0) != btiC {
			t.Errorf("function %d begins with %08x", k, word(0))
		}
		table := 0
		for at := 0; at < len(code.Bytes); at += 4 {
			if word(at)&^(31<<5) == 0xd61f0000 { // br
				table = at + 4
				break
			}
		}
		for n := range []int{5, 40}[k] {
			to := table + int(int32(word(table+4*n)))
			if to < 0 || to >= len(code.Bytes) || word(to) != btiJ {
				t.Errorf("function %d: entry %d leads to %#x", k, n, to)
			}
		}
	}
}
