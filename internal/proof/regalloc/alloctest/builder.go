package alloctest

import (
	"github.com/waot-project/waot/internal/proof/regalloc/gen"
	"github.com/waot-project/waot/regalloc"
)

// Builder makes an input block by block.
type Builder struct{ In regalloc.Input }

// VReg makes a virtual register of 8 bytes.
func (b *Builder) VReg(c regalloc.Class) regalloc.VReg {
	b.In.VRegs = append(b.In.VRegs, regalloc.VRegInfo{Class: c, Bytes: 8, Remat: regalloc.NoInst})
	return regalloc.VReg(len(b.In.VRegs) - 1)
}

// Inst adds an instruction. The area of the arguments has as many words as operands name.
func (b *Builder) Inst(flags regalloc.InstFlags, clobbers uint16, ops ...regalloc.Operand) {
	for _, o := range ops {
		if o.Constraint == regalloc.FixedArg {
			b.In.ArgWords = max(b.In.ArgWords, (int(o.Arg)+b.In.VRegs[o.VReg].Words()+1)&^1)
		}
	}
	b.In.Operands = append(b.In.Operands, ops...)
	b.In.Insts = append(b.In.Insts, regalloc.InstInfo{OperandEnd: uint32(len(b.In.Operands)), Flags: flags, Clobbers: clobbers})
}

// List adds a list of virtual registers.
func (b *Builder) List(vs []regalloc.VReg) regalloc.Range {
	s := uint32(len(b.In.VRegLists))
	b.In.VRegLists = append(b.In.VRegLists, vs...)
	return regalloc.Range{Start: s, End: uint32(len(b.In.VRegLists))}
}

// Block ends the block of the instructions since the one before.
func (b *Builder) Block(params []regalloc.VReg, depth int, edges ...regalloc.Edge) {
	start := uint32(0)
	if n := len(b.In.Blocks); n > 0 {
		start = b.In.Blocks[n-1].Insts.End
	}
	e := uint32(len(b.In.Edges))
	b.In.Edges = append(b.In.Edges, edges...)
	b.In.Blocks = append(b.In.Blocks, regalloc.BlockInfo{
		Insts: regalloc.Range{Start: start, End: uint32(len(b.In.Insts))}, Params: b.List(params),
		Succs: regalloc.Range{Start: e, End: uint32(len(b.In.Edges))}, LoopDepth: uint16(depth),
	})
}

// Finish fills in predecessors.
func (b *Builder) Finish() *regalloc.Input {
	preds := make([][]regalloc.Block, len(b.In.Blocks))
	for k := range b.In.Blocks {
		for _, e := range b.In.SuccsOf(regalloc.Block(k)) {
			preds[e.To] = append(preds[e.To], regalloc.Block(k))
		}
	}
	for k, p := range preds {
		s := uint32(len(b.In.BlockLists))
		b.In.BlockLists = append(b.In.BlockLists, p...)
		b.In.Blocks[k].Preds = regalloc.Range{Start: s, End: uint32(len(b.In.BlockLists))}
	}
	if b.In.ClobberSets == nil {
		b.In.ClobberSets = []regalloc.Clobbers{{}}
	}
	return &b.In
}

// Entry makes the arguments.
func (b *Builder) Entry(n int) []regalloc.VReg {
	var vs []regalloc.VReg
	var ops []regalloc.Operand
	for k := range n {
		v := b.VReg(regalloc.Int)
		vs = append(vs, v)
		ops = append(ops, regalloc.FixedDef(v, gen.X64().Order[0][k]))
	}
	b.Inst(0, 0, ops...)
	return vs
}

// CallClobbers adds the clobber set 1: what calls overwrite.
func (b *Builder) CallClobbers(env *regalloc.MachineEnv) {
	b.In.ClobberSets = []regalloc.Clobbers{{}, {Low: env.Allocatable &^ env.CalleeSaved, High: env.Allocatable.OfClass(regalloc.Float)}}
}
