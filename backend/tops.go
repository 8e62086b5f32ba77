package backend

import (
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

// The top of a loop is a block without code in front of the header. All edges to the header lead to the top, and the header's
// parameters are its parameters.
//
// Where a parameter is still used when its next value exists, the two cannot share a register, so that the conditional
// branch back would lead to a block with a move and a jump. Such a parameter becomes a copy, from the top to the header, of a
// fresh one, which can share a register with the next value: the move is then at the start of the loop, and the
// branch leads straight there.
// Up to where the next value is defined, the header reads the fresh one.

// tops finds these parameters.
type tops struct {
	// vregs is, by block, the number of virtual registers before the block was lowered, backwards: those below are used in
	// blocks behind it, or are parameters of a block there.
	vregs []uint32
	// def and last are, by VReg, the instructions that define it and that use it last in the loop; of what is defined in front
	// of the loop, def is in front too.
	def, last []uint32
	copied    []copied
	// copyAt is, by VReg, the index in copied plus 1.
	copyAt []uint32
}

// copied is parameter index of a top, which becomes a copy. until is the first instruction that defines a next value.
type copied struct {
	index, until uint32
	fresh        regalloc.VReg
}

// begin prepares for a function with the given number of blocks.
func (t *tops) begin(flag *stop.Flag, blocks int) { t.vregs = stop.Resize(flag, t.vregs, blocks) }

// split makes copies of parameters at the tops of vc's loops. It is called once all of vc is there.
func (t *tops) split(vc *VCode, o *BlockOrder) {
	if len(o.tops) == 0 {
		return
	}
	t.def = stop.Zeroed(vc.In.Stop, t.def, len(vc.In.VRegs))
	t.last = stop.Zeroed(vc.In.Stop, t.last, len(vc.In.VRegs))
	t.copyAt = stop.Zeroed(vc.In.Stop, t.copyAt, len(vc.In.VRegs))
	for _, top := range o.tops {
		vc.In.Stop.Poll()
		end := top
		for _, b := range vc.In.PredsOf(regalloc.Block(top)) {
			if goesBack(&vc.In, top, b) {
				end = max(end, uint32(b))
			}
		}
		if t.scan(&vc.In, top, end); t.choose(vc, top, end) {
			t.copy(&vc.In, top)
			t.rename(&vc.In, top+1)
		}
	}
}

// scan fills def and last from block first to block end.
func (t *tops) scan(in *regalloc.Input, first, end uint32) {
	for b := regalloc.Block(first); b <= regalloc.Block(end); b++ {
		r := in.Blocks[b].Insts
		for _, p := range in.ParamsOf(b) {
			t.def[p] = r.Start
		}
		at, _ := in.OperandRange(regalloc.Inst(r.Start))
		for i := r.Start; i < r.End; i++ {
			in.Stop.PollAt(int(i))
			end := in.Insts[i].OperandEnd
			for _, o := range in.Operands[at:end] {
				if o.Access.Defines() {
					t.def[o.VReg] = i
				} else {
					t.last[o.VReg] = i
				}
			}
			at = end
		}
		for _, e := range in.SuccsOf(b) {
			for _, v := range in.ArgsOf(e) {
				t.last[v] = r.End - 1
			}
		}
	}
}

// choose fills copied, and reports whether some branch back to top needs no moves then. The last such branch ends block end.
func (t *tops) choose(vc *VCode, top, end uint32) bool {
	in := &vc.In
	t.copied = t.copied[:0]
	for k, p := range in.ParamsOf(regalloc.Block(top)) {
		in.Stop.Poll()
		if uint32(p) < t.vregs[end] {
			t.last[p] = ^uint32(0)
		}
		if until, ok := t.outlives(in, top, uint32(k)); ok {
			t.copied = append(t.copied, copied{index: uint32(k), until: until})
		}
	}
	if len(t.copied) == 0 {
		return false
	}
	for _, b := range in.PredsOf(regalloc.Block(top)) {
		in.Stop.Poll()
		if isLatch(vc, top, b) && t.free(in, top, b) {
			return true
		}
	}
	return false
}

// outlives reports whether parameter k of top is used when a value that an edge back passes for it exists, and where the
// first such value is defined. No edge back passes the parameter itself, which would need moves as a copy.
func (t *tops) outlives(in *regalloc.Input, top, k uint32) (until uint32, ok bool) {
	p := in.ParamsOf(regalloc.Block(top))[k]
	until = ^uint32(0)
	for _, b := range in.PredsOf(regalloc.Block(top)) {
		in.Stop.Poll()
		if !goesBack(in, top, b) {
			continue
		}
		arg := in.ArgsOf(in.SuccsOf(b)[0])[k]
		if arg == p {
			return 0, false
		}
		until = min(until, t.def[arg])
	}
	return until, t.last[p] > until
}

// goesBack reports whether b, a predecessor of top, is in its loop and runs often. Cold predecessors are behind everything else, so that
// looking that far for each loop would not be linear; those that come in along rare edges are not even in the loop.
func goesBack(in *regalloc.Input, top uint32, b regalloc.Block) bool {
	return uint32(b) > top && !in.Blocks[b].Cold
}

// isLatch reports whether b is an edge block on an edge back to top.
func isLatch(vc *VCode, top uint32, b regalloc.Block) bool {
	blk := &vc.In.Blocks[b]
	return goesBack(&vc.In, top, b) && blk.Insts.Len() == 1 && vc.Insts[blk.Insts.Start].Op == OpJump
}

// free reports whether all that latch b passes can be in the registers of top's parameters: each is defined in
// the loop, and is no constant.
func (t *tops) free(in *regalloc.Input, top uint32, b regalloc.Block) bool {
	params := in.ParamsOf(regalloc.Block(top))
	for k, arg := range in.ArgsOf(in.SuccsOf(b)[0]) {
		in.Stop.PollAt(k)
		if arg != params[k] && (t.def[arg] < in.Blocks[top].Insts.Start || in.VRegs[arg].Remat != regalloc.NoInst) {
			return false
		}
	}
	return true
}

// copy makes the parameters copied of top parameters of the header, which follows, and gives top fresh ones.
func (t *tops) copy(in *regalloc.Input, top uint32) {
	args, old := len(in.VRegLists), len(in.VRegLists)+len(t.copied)
	in.VRegLists = append(in.VRegLists, make([]regalloc.VReg, 2*len(t.copied))...)
	params := in.ParamsOf(regalloc.Block(top))
	for n := range t.copied {
		c := &t.copied[n]
		p := params[c.index]
		c.fresh = regalloc.VReg(len(in.VRegs))
		in.VRegs = append(in.VRegs, in.VRegs[p])
		in.VRegLists[args+n], in.VRegLists[old+n] = c.fresh, p
		params[c.index] = c.fresh
		t.copyAt[p] = uint32(n + 1)
	}
	in.Edges[in.Blocks[top].Succs.Start].Args = regalloc.Range{Start: uint32(args), End: uint32(old)}
	in.Blocks[top+1].Params = regalloc.Range{Start: uint32(old), End: uint32(len(in.VRegLists))}
}

// rename makes instructions of the header read the fresh parameters, up to where a next value is defined. So there is no move
// between one value and the next.
func (t *tops) rename(in *regalloc.Input, header uint32) {
	r := in.Blocks[header].Insts
	at, _ := in.OperandRange(regalloc.Inst(r.Start))
	for i := r.Start; i < r.End-1; i++ {
		in.Stop.PollAt(int(i))
		end := in.Insts[i].OperandEnd
		for k := at; k < end; k++ {
			o := &in.Operands[k]
			if o.Access != regalloc.Use || t.copyAt[o.VReg] == 0 {
				continue
			}
			if c := &t.copied[t.copyAt[o.VReg]-1]; i <= c.until && c.until < r.End {
				o.VReg = c.fresh
			}
		}
		at = end
	}
	for _, p := range in.ParamsOf(regalloc.Block(header)) {
		t.copyAt[p] = 0
	}
}
