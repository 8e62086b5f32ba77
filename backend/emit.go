package backend

import (
	"encoding/binary"
	"fmt"
	"sort"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/reloc"
	"github.com/waot-project/waot/internal/stop"
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
	// Addressed: the function may be reached by other calls than direct ones of its module.
	Addressed bool
	// Block is the block being emitted.
	Block int
	// Scratch is for the machine's encoder.
	Scratch []byte
	// OpStart is the index of the current instruction's first operand.
	OpStart uint32

	verify  bool // check that bounds of sizes hold
	marking bool // fill marks
	marks   []Mark

	sites    []abi.TrapSite
	caught   []caughtCall
	blocks   []blockPlan // by block, and one for the end
	order    []uint32    // of emission
	rotated  bool        // the order differs from the blocks' own
	tables   []machbuffer.Label
	stackMap int    // next in Out.StackMaps
	prologue uint32 // see Code.Prologue
	unwind   []abi.CFIChange
	saved    bool // the caller's callee-saved registers are in the frame here

	places []loopPlace
	moving []machbuffer.Place
	ops    []Operation

	sideTraps []sideTrap
	merged    []abi.CFIChange

	code  Code
	slots []int32
	inst  regalloc.Inst // the current one
	step  Inst          // an edit, or an instruction that sets up a frame or saves a register, and its allocations
	to    [4]regalloc.Allocation
}

// Room is the space in bytes that the buffer reserves for an encoded instruction or move.
const Room = 48

// run emits everything and returns the code, which aliases e's memory.
func (e *Emitter) run() (*Code, error) {
	e.places = e.places[:0]
	if err := e.emitBlocks(); err != nil {
		return nil, err
	}
	if e.placeLoops() && !e.moveLoops() {
		if err := e.emitBlocks(); err != nil {
			return nil, err
		}
	}
	if e.Target.TablesBehind {
		for n := range e.VC.Tables {
			e.Buf.BindAligned(e.TableLabel(uint32(n)), 4)
			if !e.VC.Chained[n] {
				e.TableEntries(uint32(n))
			}
		}
	}
	res, err := e.Buf.Finish()
	if err == nil {
		err = e.verifyMaps(res)
	}
	if err != nil {
		return nil, err
	}
	return e.result(res), nil
}

// emitBlocks emits the blocks' code, from an empty buffer.
func (e *Emitter) emitBlocks() error {
	b, in := e.Buf, &e.VC.In
	b.Reset()
	b.Stop = in.Stop
	b.NewLabels(len(in.Blocks))
	e.sites, e.tables, e.stackMap, e.unwind, e.saved, e.sideTraps = e.sites[:0], e.tables[:0], 0, e.unwind[:0], false, e.sideTraps[:0]
	e.caught = e.caught[:0]
	e.marks = e.marks[:0]
	for range e.VC.Tables {
		e.tables = append(e.tables, b.NewLabel())
	}
	e.plan()
	b.Expect(int(e.blocks[0].start))
	edits := e.Out.Edits
	for _, n := range e.order {
		bi := int(n)
		in.Stop.Poll()
		e.Block = bi
		blk := &in.Blocks[bi]
		if e.rotated {
			edits = e.editsFrom(regalloc.Inst(blk.Insts.Start))
		}
		b.EmitIslandMaybe(e.blocks[bi].before - e.end(bi))
		bound := e.blocks[bi].start - e.end(bi)
		if l := e.blocks[bi].landing; l != 0 { // direct branches lead past it
			b.Bind(l)
			b.PutBytes(e.Target.Landing)
			bound -= min(bound, uint32(len(e.Target.Landing)))
		}
		switch p := &e.blocks[bi]; {
		case p.placed:
			b.BindPlaced(machbuffer.Label(bi), p.at)
		case p.span != 0:
			b.BindInLine(machbuffer.Label(bi), p.span)
		case p.aligned:
			b.BindAligned(machbuffer.Label(bi), e.Target.LoopAlign)
		default:
			b.Bind(machbuffer.Label(bi))
		}
		if bi == 0 {
			saves := e.Out.SavesAt(in, 0)
			if e.prologueCode(saves); saves {
				e.setSaved(true)
			}
		} else if len(e.Out.Unsaved) > 0 {
			e.setSaved(!e.Out.UnsavedIn(regalloc.Block(bi)) && !e.Out.SavesAt(in, regalloc.Block(bi)))
		}
		var err error
		if edits, err = e.insts(edits, blk.Insts, bound); err != nil {
			return err
		}
		e.blocks[bi].ends = b.Offset()
	}
	return nil
}

// editsFrom returns the edits from instruction i on.
func (e *Emitter) editsFrom(i regalloc.Inst) []regalloc.Edit {
	n := sort.Search(len(e.Out.Edits), func(n int) bool { return e.Out.Edits[n].Point >= regalloc.Before(i) })
	return e.Out.Edits[n:]
}

// insts emits the instructions of the current block with their edits, at most bound bytes, and returns the edits of
// the instructions behind.
func (e *Emitter) insts(edits []regalloc.Edit, r regalloc.Range, bound uint32) ([]regalloc.Edit, error) {
	b := e.Buf
	from, limit := b.Offset(), bound
	pieces := e.Target.MaxPiece > 0 && bound > e.Target.MaxPiece
	if len(e.Out.Unsaved) > 0 && e.Block > 0 && e.Out.SavesAt(&e.VC.In, regalloc.Block(e.Block)) {
		if pieces {
			b.EmitIslandMaybe(e.Target.SavesBytes(&e.Frame))
			from = b.Offset()
		}
		e.Save()
		e.setSaved(true)
	}
	restores := regalloc.NoInst // where that happens, if it does
	if e.Out.RestoresAt(&e.VC.In, regalloc.Block(e.Block)) {
		restores = regalloc.Inst(r.End - 1)
	}
	for i := regalloc.Inst(r.Start); i < regalloc.Inst(r.End); i++ {
		e.VC.In.Stop.PollAt(int(i))
		if pieces {
			limit = e.pieceBytes(i, edits)
			if i == restores {
				limit += e.Target.SavesBytes(&e.Frame)
			}
			b.EmitIslandMaybe(limit)
			from = b.Offset()
		}
		for len(edits) > 0 && edits[0].Point <= regalloc.Before(i) {
			edits = e.edit(edits)
		}
		if i == restores {
			e.mark(regalloc.NoInst)
			e.Restore()
		}
		e.mark(i)
		e.OpStart, _ = e.VC.In.OperandRange(i)
		e.inst = i
		if in := &e.VC.Insts[i]; in.Op != OpArgs && !leftOut(e.Out.Allocs[e.OpStart:e.VC.In.Insts[i].OperandEnd]) {
			e.Target.Emit(e, in, e.Out.Allocs[e.OpStart:], e.VC.Srcs[i])
		}
		for len(edits) > 0 && edits[0].Point == regalloc.After(i) {
			edits = e.edit(edits)
		}
		if n := b.Offset() - from; e.verify && n > limit && limit < tooFar {
			return nil, fmt.Errorf("block %d has %d bytes, bound is %d", e.Block, n, limit)
		}
	}
	e.mark(regalloc.NoInst)
	return edits, nil
}

// leftOut reports whether the instruction with these allocations is a definition that the allocator has left out.
func leftOut(allocs []regalloc.Allocation) bool { return len(allocs) == 1 && allocs[0].IsNone() }

// pieceBytes bounds the bytes of instruction i with its edits, which come first, and its branches.
func (e *Emitter) pieceBytes(i regalloc.Inst, edits []regalloc.Edit) uint32 {
	start, end := e.VC.In.OperandRange(i)
	n := uint32(0)
	if allocs := e.Out.Allocs[start:end]; !leftOut(allocs) {
		n = e.Target.MaxBytes(e, &e.VC.Insts[i], allocs)
	}
	if e.VC.In.Insts[i].Flags&regalloc.IsTerminator != 0 {
		n += e.Target.MaxBranches
	}
	for k := range edits {
		if edits[k].Point.Inst() > i {
			break
		}
		n += e.maxEdit(&edits[k])
	}
	return n
}

// edit emits the first edit, and returns the others.
func (e *Emitter) edit(edits []regalloc.Edit) []regalloc.Edit {
	e.markEdit(edits)
	in, allocs, src := e.instOf(&edits[0])
	e.Target.Emit(e, in, allocs, src)
	return edits[1:]
}

// instOf returns the instruction that an edit is, its allocations and its source.
func (e *Emitter) instOf(ed *regalloc.Edit) (in *Inst, allocs []regalloc.Allocation, src uint32) {
	switch ed.Kind {
	case regalloc.Remat:
		e.to[0] = ed.To
		return &e.VC.Insts[ed.Inst], e.to[:1], e.VC.Srcs[ed.Inst]
	case regalloc.StoreConst:
		e.step, _ = e.Target.Common.StoreOf(&e.VC.Insts[ed.Inst], ed.Bytes) // it is one, as the value is Storable
		e.to[0] = ed.To
		return &e.step, e.to[:1], 0
	case regalloc.Swap:
		e.step = Inst{Op: e.Target.Common.Swap, Size: ed.Bytes}
		e.to[0], e.to[1] = ed.To, ed.From
	default:
		e.step = Inst{Op: OpMove, Size: ed.Bytes}
		e.to[0], e.to[1] = ed.From, ed.To
	}
	return &e.step, e.to[:2], 0
}

// maxEdit bounds the size of an edit, in bytes.
func (e *Emitter) maxEdit(ed *regalloc.Edit) uint32 {
	in, allocs, _ := e.instOf(ed)
	return e.Target.MaxBytes(e, in, allocs)
}

// do emits an instruction that is not in VCode.
func (e *Emitter) do(in Inst, allocs ...regalloc.Allocation) {
	e.step = in
	copy(e.to[:], allocs)
	e.Target.Emit(e, &e.step, e.to[:], 0)
}

// Bytes returns how many bytes the value of operand k of the current instruction has.
func (e *Emitter) Bytes(k int) uint8 {
	in := &e.VC.In
	return in.VRegs[in.Operands[e.OpStart+uint32(k)].VReg].Bytes
}

// Succ returns the block with code that edge n of the current block leads to.
func (e *Emitter) Succ(n int) int {
	in := &e.VC.In
	return e.Dest(in.Edges[in.Blocks[e.Block].Succs.Start+uint32(n)].To)
}

// Dest returns block b, or the block with code to which it leads if it has none.
func (e *Emitter) Dest(b regalloc.Block) int { return int(e.blocks[b].dest) }

// Label returns the label of block b, which has code.
func (e *Emitter) Label(b int) machbuffer.Label { return machbuffer.Label(b) }

// LandingLabel returns where indirect jumps enter block b, which has code.
func (e *Emitter) LandingLabel(b int) machbuffer.Label {
	if l := e.blocks[b].landing; l != 0 {
		return l
	}
	return e.Label(b)
}

// TableLabel returns the label of jump table n, for the machine to bind.
func (e *Emitter) TableLabel(n uint32) machbuffer.Label { return e.tables[n] }

// Table returns the blocks of jump table n, the default last; see Dest.
func (e *Emitter) Table(n uint32) []regalloc.Block {
	r := e.VC.Tables[n]
	return e.VC.TableBlocks[r.Start:r.End]
}

// TableEntries emits the entries of jump table n.
func (e *Emitter) TableEntries(n uint32) {
	b, blocks := e.Buf, e.Table(n)
	for k, to := range blocks[:len(blocks)-1] {
		at := b.Offset()
		b.PutU32(uint32(4 * k))
		b.UseLabel(at, e.Target.EntryUse, e.LandingLabel(e.Dest(to)))
	}
	b.NoFallThrough()
}

// Trap records that the instruction at off may trap.
func (e *Emitter) Trap(off uint32, code abi.TrapCode, fault abi.FaultKind, memory uint32, src uint32) {
	e.Buf.AddTrap(off, uint8(code), e.site(code, fault, memory, src))
}

// nullTraps are the traps of faults through null.
var nullTraps = [memoryFaults]abi.TrapCode{NullFaults: abi.TrapUninitializedElement, NullStructureFaults: abi.TrapNullStructure, NullArrayFaults: abi.TrapNullArray}

// MemoryTrap records how the instruction at off may fault on its access, if it may.
func (e *Emitter) MemoryTrap(off uint32, f Fault, src uint32) {
	if m, ok := f.Memory(); ok {
		e.Trap(off, abi.TrapMemoryOutOfBounds, abi.FaultMemory, m, src)
	} else if f != NoFault {
		e.Trap(off, nullTraps[f], abi.FaultNull, 0, src)
	}
}

// InRegs returns the allocations of operands in the given registers, at most four.
func InRegs(regs ...regalloc.PReg) (allocs [4]regalloc.Allocation) {
	for i, r := range regs {
		allocs[i] = regalloc.InReg(r)
	}
	return allocs
}

// TrapLabel returns the label of an out-of-line trap.
func (e *Emitter) TrapLabel(code abi.TrapCode, src uint32) machbuffer.Label {
	site := e.site(code, abi.FaultUndefined, 0, src)
	l := e.Buf.DeferTrap(uint8(code), site)
	e.noteSideTrap(site, l)
	return l
}

// Charge emits what follows the subtraction from the count of fuel, the current instruction: branch branches to a trap aside if the count is below 0, from which
// a host may go on behind the branch. If what runs out is to be noticed elsewhere, that is nothing.
func (e *Emitter) Charge(in *Inst, src uint32, branch func(*Emitter, machbuffer.Label)) {
	if abi.TrapCode(in.Trap) == abi.TrapNone {
		return
	}
	site := e.site(abi.TrapCode(in.Trap), abi.FaultUndefined, 0, src)
	l := e.Buf.DeferTrap(in.Trap, site)
	e.noteSideTrap(site, l)
	branch(e, l)
	e.Buf.Resume()
	e.resumeSideTrap(site)
}

// site adds a trap site without its offset, and returns its number, from 1, for the machine buffer.
func (e *Emitter) site(code abi.TrapCode, fault abi.FaultKind, memory, src uint32) machbuffer.TrapSite {
	e.sites = append(e.sites, abi.TrapSite{Code: code, Fault: fault, Memory: uint8(memory), Src: src})
	return machbuffer.TrapSite(len(e.sites))
}

// Called records the call just emitted, if what it calls may collect: its site, and its
// stack map.
func (e *Emitter) Called() {
	n, i := e.stackMap, e.inst
	if n < len(e.VC.Safepoints) && e.VC.Safepoints[n] == i && n < len(e.Out.StackMaps) && e.Out.StackMaps[n].Inst == i {
		e.Buf.AddCallSite(e.VC.Srcs[i])
		e.Buf.AddStackMap(uint32(n))
		e.stackMap++
		if e.Catches() {
			e.caught = append(e.caught, caughtCall{n, e.Label(e.Succ(1))})
		}
	}
}

// caughtCall is a call that catches, with a stack map, and the pad where an exception goes from there.
type caughtCall struct {
	stackMap int
	pad      machbuffer.Label
}

// Catches reports whether the current instruction is a call that ends its block, as what it throws goes to a handler: edge 1 of the block. Edge 0 is how it goes on.
func (e *Emitter) Catches() bool { return e.VC.In.Insts[e.inst].Flags&regalloc.MayThrow != 0 }

// EndsInBranches reports whether the current block has branches at its end.
func (e *Emitter) EndsInBranches() bool {
	i := e.VC.In.Blocks[e.Block].Insts.End - 1
	in := &e.VC.Insts[i]
	return in.Op == OpJump || in.Tail == TailJump || e.VC.In.Insts[i].Flags&regalloc.MayThrow != 0
}

// verifyMaps checks that each call that may collect has its own stack map, and that direct
// calls, found by their relocations, return to a place with a stack map.
func (e *Emitter) verifyMaps(res *machbuffer.Result) error {
	if n := e.stackMap; n != len(e.VC.Safepoints) {
		return fmt.Errorf("no stack map was recorded for the call that is instruction %d", e.VC.Safepoints[n])
	}
	maps := res.StackMaps
	for i, r := range res.Relocs {
		e.VC.In.Stop.PollAt(i)
		if r.Kind != reloc.Call32 && r.Kind != reloc.Call26 {
			continue
		}
		end := r.Offset + 4 // of the field, and of the instruction
		for len(maps) > 0 && maps[0].Return < end {
			maps = maps[1:]
		}
		if len(maps) == 0 || maps[0].Return != end {
			return fmt.Errorf("no stack map was recorded for the call that returns to %#x", end)
		}
	}
	return nil
}

// Constant returns the label of constant n of the pool.
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
	c.Bytes, c.Align, c.Starts, c.Relocs = res.Code, res.Align, res.Starts, res.Relocs
	c.Prologue, c.FrameBytes = e.prologue, uint32(e.Frame.Size)
	c.Saved, c.Unwind = e.Frame.Saved, e.changes(res)
	c.Stats, c.HasExceptions, c.HasHeap = e.Out.Stats, e.VC.HasExceptions, e.VC.HasHeap
	c.Traps, c.StackMaps, c.Calls = c.Traps[:0], c.StackMaps[:0], c.Calls[:0]
	flag := e.VC.In.Stop
	c.Traps = stop.Grow(flag, c.Traps, len(res.Traps))
	for i, t := range res.Traps {
		flag.PollAt(i)
		s := e.sites[t.Site-1]
		s.Offset = t.Offset
		c.Traps = append(c.Traps, s)
	}
	c.Calls = stop.Grow(flag, c.Calls, len(res.Calls))
	for i, s := range res.Calls {
		flag.PollAt(i)
		c.Calls = append(c.Calls, abi.CallSite{Offset: s.Return, Src: s.Data})
	}
	c.Handlers = stop.Grow(flag, c.Handlers[:0], len(e.caught))
	for i, call := range e.caught {
		flag.PollAt(i)
		at, bound := e.Buf.LabelOffset(call.pad)
		if !bound {
			panic("a pad without code")
		}
		c.Handlers = append(c.Handlers, abi.Handler{Return: res.StackMaps[call.stackMap].Return, Landing: at})
	}
	e.slots = stop.Resize(flag, e.slots, len(e.Out.StackMapSlots))
	for i, w := range e.Out.StackMapSlots {
		flag.PollAt(i)
		e.slots[i] = e.Frame.slotOffset(w)
	}
	for i, m := range res.StackMaps {
		flag.PollAt(i)
		sm := &e.Out.StackMaps[m.Index]
		if sm.Slots.Len() == 0 {
			continue
		}
		c.StackMaps = append(c.StackMaps, abi.StackMap{
			Offset: m.Return, Slots: e.slots[sm.Slots.Start:sm.Slots.End:sm.Slots.End],
		})
	}
	return c
}
