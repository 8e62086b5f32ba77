package backend

import (
	"encoding/binary"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/machbuffer"
	"github.com/waot-project/waot/regalloc"
)

// Emitter is the context of emission: VCode with its allocation goes through the
// machine buffer. The machine's functions read the exported fields.
type Emitter struct {
	Buf    *machbuffer.Buffer
	VC     *VCode
	Out    *regalloc.Output
	Target *Target
	Frame  Frame
	// Block is the block being emitted.
	Block int
	// Scratch is for the machine's encoder.
	Scratch []byte
	// OpStart is the index of the current instruction's first operand.
	OpStart uint32

	sites    []TrapSite
	bound    []uint32 // by block: bound of the offset where it starts
	tables   []machbuffer.Label
	stackMap int // next in Out.StackMaps

	code  Code
	slots []int32
}

// run emits everything and returns the code, which aliases e's memory.
func (e *Emitter) run() (*Code, error) {
	b, in := e.Buf, &e.VC.In
	b.Reset()
	b.NewLabels(len(in.Blocks))
	e.sites, e.tables, e.stackMap = e.sites[:0], e.tables[:0], 0
	for range e.VC.Tables {
		e.tables = append(e.tables, b.NewLabel())
	}
	e.measure()
	edits := e.Out.Edits
	for bi := range in.Blocks {
		e.Block = bi
		blk := &in.Blocks[bi]
		b.EmitIslandMaybe(e.bound[bi+1] - e.bound[bi])
		if e.aligned(bi) {
			b.BindAligned(machbuffer.Label(bi), e.Target.LoopAlign)
		} else {
			b.Bind(machbuffer.Label(bi))
		}
		if bi == 0 {
			e.Target.EmitPrologue(e)
		}
		for i := regalloc.Inst(blk.Insts.Start); i < regalloc.Inst(blk.Insts.End); i++ {
			for len(edits) > 0 && edits[0].Point <= regalloc.Before(i) {
				edits = e.edit(edits)
			}
			e.OpStart, _ = in.OperandRange(i)
			if e.VC.Insts[i].Op != OpArgs {
				e.Target.EmitInst(e, i)
			}
			for len(edits) > 0 && edits[0].Point == regalloc.After(i) {
				edits = e.edit(edits)
			}
		}
	}
	for n := range e.VC.Tables {
		e.Target.EmitTable(e, uint32(n))
	}
	res, err := b.Finish()
	if err != nil {
		return nil, err
	}
	return e.result(res), nil
}

// edit emits the first edit, or the first three if they exchange two integer
// registers through the scratch register, and returns the others. The scratch
// register then does not get the value it would have had; so no move behind them at
// the same point may read it before it is written.
func (e *Emitter) edit(edits []regalloc.Edit) []regalloc.Edit {
	if len(edits) >= 3 && e.isSwap(edits) {
		e.Target.EmitSwap(e, edits[0].From.Reg(), edits[2].To.Reg())
		return edits[3:]
	}
	e.Target.EmitEdit(e, &edits[0])
	return edits[1:]
}

// isSwap reports whether edits begin with scratch <- a, a <- b, b <- scratch.
func (e *Emitter) isSwap(edits []regalloc.Edit) bool {
	s := regalloc.InReg(e.Target.Env.Scratch[regalloc.Float])
	x, y, z := &edits[0], &edits[1], &edits[2]
	if x.To != s || z.From != s || y.To != x.From || y.From != z.To || x.From == z.To {
		return false
	}
	for _, ed := range edits[:3] {
		if ed.Kind != regalloc.Move || ed.Bytes != 8 || ed.Point != x.Point {
			return false
		}
	}
	if a, b := x.From, z.To; !a.IsReg() || !b.IsReg() || a.Reg().Class() != regalloc.Int || b.Reg().Class() != regalloc.Int {
		return false
	}
	return len(edits) == 3 || edits[3].Point != x.Point || edits[3].Kind != regalloc.Move || edits[3].From != s
}

// aligned reports whether block bi is the header of a hot loop.
func (e *Emitter) aligned(bi int) bool {
	return e.VC.Headers[bi] && !e.VC.In.Blocks[bi].Cold && e.Target.LoopAlign > 1
}

// measure bounds the offset of each block, so that forward branches can be proved
// short.
func (e *Emitter) measure() {
	in := &e.VC.In
	e.bound = resize(e.bound, len(in.Blocks)+1)
	edits := e.Out.Edits
	at, next := uint64(0), 0
	for bi := range in.Blocks {
		blk := &in.Blocks[bi]
		if e.aligned(bi) {
			at += uint64(e.Target.LoopAlign - 1)
		}
		e.bound[bi] = uint32(min(at, 1<<32-1))
		for i := blk.Insts.Start; i < blk.Insts.End; i++ {
			e.OpStart, _ = in.OperandRange(regalloc.Inst(i))
			at += uint64(e.Target.MaxBytes(e, regalloc.Inst(i)))
		}
		from := next
		for next < len(edits) && edits[next].Point.Inst() < regalloc.Inst(blk.Insts.End) {
			next++
		}
		at += uint64(next-from) * uint64(e.Target.MaxEdit)
	}
	e.bound[len(in.Blocks)] = uint32(min(at, 1<<32-1))
}

// Distance bounds the number of bytes from the end of the current block to the
// block to, which must follow; padding in front of to is counted.
func (e *Emitter) Distance(to int) uint32 {
	if e.bound[to] == 1<<32-1 {
		return 1<<32 - 1
	}
	return e.bound[to] - e.bound[e.Block+1] + e.pad(e.Block+1)
}

// pad is the padding that may come in front of block bi but is not between its bound
// and that of the block before.
func (e *Emitter) pad(bi int) uint32 {
	if bi < len(e.VC.Headers) && e.aligned(bi) {
		return e.Target.LoopAlign - 1
	}
	return 0
}

// Allocs are the allocations of the current instruction, and of all that follow.
func (e *Emitter) Allocs() []regalloc.Allocation { return e.Out.Allocs[e.OpStart:] }

// Succ is the block that edge n of the current block leads to.
func (e *Emitter) Succ(n int) int {
	in := &e.VC.In
	return int(in.Edges[in.Blocks[e.Block].Succs.Start+uint32(n)].To)
}

// Label is the label of block b.
func (e *Emitter) Label(b int) machbuffer.Label { return machbuffer.Label(b) }

// TableLabel is the label of jump table n, for the machine to bind.
func (e *Emitter) TableLabel(n uint32) machbuffer.Label { return e.tables[n] }

// Table is the blocks of jump table n, the default last.
func (e *Emitter) Table(n uint32) []uint32 {
	r := e.VC.Tables[n]
	return e.VC.TableBlocks[r.Start:r.End]
}

// Trap records that the instruction at off may trap.
func (e *Emitter) Trap(off uint32, code abi.TrapCode, fault abi.FaultKind, memory uint32, src uint32) {
	e.Buf.AddTrap(off, uint8(code), e.site(code, fault, memory, src))
}

// TrapLabel is the label of an out-of-line trap.
func (e *Emitter) TrapLabel(code abi.TrapCode, src uint32) machbuffer.Label {
	return e.Buf.DeferTrap(uint8(code), e.site(code, abi.FaultUndefined, 0, src))
}

// site is the name, for the machine buffer, of a trap site without its offset.
func (e *Emitter) site(code abi.TrapCode, fault abi.FaultKind, memory, src uint32) machbuffer.SrcLoc {
	e.sites = append(e.sites, TrapSite{Code: code, Fault: fault, Memory: uint8(memory), Src: src})
	return machbuffer.SrcLoc(len(e.sites))
}

// Called records the call just emitted: its site, and its stack map if it is a
// safepoint.
func (e *Emitter) Called(i regalloc.Inst) {
	if e.VC.In.Insts[i].Flags&regalloc.Safepoint != 0 {
		e.Buf.AddCallSite(e.VC.Srcs[i])
		e.Buf.AddStackMap(uint32(e.stackMap))
		e.stackMap++
	}
}

// Constant is the label of constant n of the pool.
func (e *Emitter) Constant(n uint32) machbuffer.Label {
	c := e.VC.Consts[n]
	var buf [16]byte
	binary.LittleEndian.PutUint64(buf[:], c.Lo)
	binary.LittleEndian.PutUint64(buf[8:], c.Hi)
	return e.Buf.Constant(buf[:c.Bytes], uint32(c.Bytes))
}

// result translates the buffer's records.
func (e *Emitter) result(res *machbuffer.Result) *Code {
	c := &e.code
	c.Bytes, c.Align, c.FrameBytes = res.Code, res.Align, uint32(e.Frame.Size)
	c.Relocs, c.Traps, c.StackMaps, c.Calls = c.Relocs[:0], c.Traps[:0], c.StackMaps[:0], c.Calls[:0]
	for _, r := range res.Relocs {
		c.Relocs = append(c.Relocs, Reloc{Offset: r.Offset, Kind: RelocKind(r.Kind), Sym: SymRef(r.Symbol), Addend: r.Addend})
	}
	for _, t := range res.Traps {
		s := e.sites[t.Loc-1]
		s.Offset = t.Offset
		c.Traps = append(c.Traps, s)
	}
	for _, s := range res.Calls {
		c.Calls = append(c.Calls, SrcSite{Offset: s.Return, Src: s.Data})
	}
	e.slots = e.slots[:0]
	e.slots = append(e.slots, make([]int32, len(e.Out.StackMapSlots))...)
	for i, w := range e.Out.StackMapSlots {
		e.slots[i] = e.Frame.Slots + 8*int32(w)
	}
	for _, m := range res.StackMaps {
		sm := &e.Out.StackMaps[m.Index]
		if sm.Slots.Len() == 0 {
			continue
		}
		c.StackMaps = append(c.StackMaps, CodeStackMap{
			Offset: m.Return, Slots: e.slots[sm.Slots.Start:sm.Slots.End:sm.Slots.End],
		})
	}
	return c
}
