package opt

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/stop"
)

// loopTails turns tail calls of f itself into jumps. What they jump to is the entry, in front of which a new one stands, as nothing may jump to the entry. What the
// first block charges is charged again with each jump, as with each call.
func loopTails(o *Optimizer, f *clif.Func) {
	header := clif.NoBlock
	for n := range f.Layout {
		f.Stop.PollAt(n)
		b := f.Layout[n]
		i := f.Terminator(b)
		if d := &f.Insts[i]; d.Op != clif.OpReturnCall || clif.FuncIndex(d.Aux) != f.Index || !o.may(RuleTailSelf) {
			continue
		}
		if header == clif.NoBlock {
			header = newEntry(f)
		}
		if o.tracing() {
			o.note(f.Offset(f.Srcs[i]), "return_call of itself", "jump "+header.String())
		}
		args := f.ListOperands(&f.Insts[i])
		f.Insts[i] = jumpWith(f, header, args)
		o.cfgValid = false
	}
	if header != clif.NoBlock {
		f.Layout = append(stop.Room(f.Stop, f.Layout), clif.NoBlock)
		copy(f.Layout[1:], f.Layout)
		f.Layout[0] = clif.Block(len(f.Blocks) - 1)
	}
}

// newEntry makes a block that jumps to the entry of f with the parameters of f. It is not in the layout, but the last one in f.Blocks. It returns the entry.
func newEntry(f *clif.Func) (old clif.Block) {
	old = f.Entry()
	b, i := clif.Block(len(f.Blocks)), clif.Inst(len(f.Insts))
	f.Blocks = append(stop.Room(f.Stop, f.Blocks), clif.BlockData{Start: i, End: i + 1})
	for n, t := range f.Signature().Params {
		v := uint32(len(f.Values))
		f.Values = append(stop.Room(f.Stop, f.Values), clif.ValueData{Type: t, Kind: clif.ValueParam, Num: uint16(n), Def: uint32(b)})
		f.AppendList(&f.Blocks[b].Params, v)
	}
	f.Insts = append(stop.Room(f.Stop, f.Insts), jumpWith(f, old, f.Params(b)))
	f.Srcs = stop.Append(f.Stop, f.Srcs, 0)
	return old
}

// jumpWith returns a jump to b with arguments.
func jumpWith(f *clif.Func, b clif.Block, args []uint32) clif.InstData {
	f.Targets = append(stop.Room(f.Stop, f.Targets), clif.TargetData{Block: b, Args: clif.MakeList(f, args)})
	return clif.InstData{Op: clif.OpJump, Result: clif.NoValue, Args: [3]uint32{0, uint32(len(f.Targets) - 1)}}
}
