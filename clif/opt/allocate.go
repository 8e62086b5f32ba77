package opt

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/rewrite"
	"github.com/waot-project/waot/internal/stop"
)

// This file makes structures in line where there is room: the call of a helper is in a block of its own, which is cold.

// allocatePass is the state of allocateInLine.
type allocatePass struct {
	f      *clif.Func
	insts  []clif.InstData
	srcs   []uint32
	layout []clif.Block
	src    uint32 // of the instruction at hand
}

// maxInLine is in how many places a function may make structures in line. Where there are more, it fills tables, and runs once.
const maxInLine = 64

func allocateInLine(o *Optimizer, f *clif.Func) {
	if !o.fold.makes || f.Index == f.Mod.InitFunc() {
		return
	}
	sites := 0
	for _, b := range f.Layout {
		for i := f.Blocks[b].Start; i < f.Blocks[b].End && sites <= maxInLine; i++ {
			f.Stop.PollAt(int(i))
			if f.Insts[i].Op == clif.OpStructNew {
				sites++
			}
		}
	}
	if sites == 0 || sites > maxInLine {
		return
	}
	p := &o.allocate
	p.f, p.layout = f, p.layout[:0]
	p.insts, p.srcs = f.Rewriting(len(f.Insts) + 6*sites)
	for _, b := range f.Layout {
		f.Stop.Poll()
		p.block(o, b)
	}
	f.Rewritten(p.insts, p.srcs)
	f.Layout = append(f.Layout[:0], p.layout...)
	p.f, p.insts, p.srcs, o.cfgValid = nil, nil, nil, false
}

// block rewrites block b, of which the rest goes to a block of its own behind each structure. What a block makes that throws or traps is made rarely.
func (p *allocatePass) block(o *Optimizer, b clif.Block) {
	f := p.f
	old := f.Blocks[b]
	last := f.Insts[f.Terminator(b)].Op
	p.begin(b)
	for i := old.Start; i < old.End; i++ {
		f.Stop.PollAt(int(i))
		p.src = f.Srcs[i]
		if d := f.Insts[i]; d.Op == clif.OpStructNew && last != clif.OpRaise && last != clif.OpTrap && o.may(RuleAllocateInLine) {
			if o.tracing() {
				o.note(f.Offset(p.src), rewrite.Text(f, &d), "in line")
			}
			b = p.split(b, d)
		} else {
			p.place(d)
		}
	}
	p.end(b)
}

// split ends block b with what the struct_new d becomes, and begins the block where its object is a parameter.
func (p *allocatePass) split(b clif.Block, d clif.InstData) (behind clif.Block) {
	f := p.f
	warm, cold := p.newBlock(), p.newBlock()
	behind = p.newBlock()
	next, full := p.newValue(clif.Ref), p.newValue(clif.I32)
	p.place(clif.InstData{Op: clif.OpHeapNext, Type: clif.Ref, Aux: d.Aux, Result: next, NumResults: 1})
	p.place(clif.InstData{Op: clif.OpHeapFull, Type: clif.Ref, Aux: d.Aux, Result: full, NumResults: 1, Args: [3]uint32{uint32(next)}})
	p.place(clif.InstData{Op: clif.OpBranch, Result: clif.NoValue, Args: [3]uint32{uint32(full), uint32(p.target(cold)), uint32(p.target(warm))}})
	p.end(b)
	p.begin(warm)
	p.place(clif.InstData{Op: clif.OpHeapClaim, Type: clif.Ref, Aux: d.Aux, Result: clif.NoValue, Args: [3]uint32{uint32(next)}})
	p.place(clif.InstData{Op: clif.OpJump, Result: clif.NoValue, Args: [3]uint32{0, uint32(p.target(behind, next))}})
	p.end(warm)
	object := d.Result
	d.Result = p.newValue(clif.Ref)
	p.begin(cold)
	p.place(d)
	p.place(clif.InstData{Op: clif.OpJump, Result: clif.NoValue, Args: [3]uint32{0, uint32(p.target(behind, d.Result))}})
	p.end(cold)
	f.Values[object] = clif.ValueData{Type: clif.Ref, Kind: clif.ValueParam, Def: uint32(behind)}
	f.AppendList(&f.Blocks[behind].Params, uint32(object))
	p.begin(behind)
	return behind
}

func (p *allocatePass) begin(b clif.Block) {
	p.f.Blocks[b].Start = clif.Inst(len(p.insts))
	p.layout = append(p.layout, b)
}

func (p *allocatePass) end(b clif.Block) { p.f.Blocks[b].End = clif.Inst(len(p.insts)) }

// place appends d to the new instructions.
func (p *allocatePass) place(d clif.InstData) {
	for n := range clif.Value(d.NumResults) {
		p.f.Values[d.Result+n].Def = uint32(len(p.insts))
	}
	p.insts, p.srcs = append(stop.Room(p.f.Stop, p.insts), d), append(stop.Room(p.f.Stop, p.srcs), p.src)
}

func (p *allocatePass) newBlock() clif.Block {
	p.f.Blocks = append(stop.Room(p.f.Stop, p.f.Blocks), clif.BlockData{})
	return clif.Block(len(p.f.Blocks) - 1)
}

func (p *allocatePass) newValue(t clif.Type) clif.Value {
	p.f.Values = append(stop.Room(p.f.Stop, p.f.Values), clif.ValueData{Type: t})
	return clif.Value(len(p.f.Values) - 1)
}

func (p *allocatePass) target(b clif.Block, args ...clif.Value) clif.Target {
	p.f.Targets = append(stop.Room(p.f.Stop, p.f.Targets), clif.TargetData{Block: b, Args: clif.MakeList(p.f, args)})
	return clif.Target(len(p.f.Targets) - 1)
}
