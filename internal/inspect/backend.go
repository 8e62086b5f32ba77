package inspect

import (
	"encoding/hex"
	"fmt"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/regalloc"
	"github.com/waot-project/waot/regalloc/flow"
)

// backend adds the stages of the back end.
func (b *builder) backend(s *backend.Stages, lines []Line) {
	b.fn.Bytes, b.fn.Frame = len(s.Code.Bytes), int(s.Code.FrameBytes)
	if n := len(b.fn.Stages); n > 0 {
		b.fn.Stages[n-1].Main = true
		for i := range b.fn.Stages {
			if b.fn.Stages[i].ID == "clif" {
				b.fn.Stages[i].Main = true
			}
		}
	}
	b.blocks(s)
	b.vregs(s)
	b.fn.Stages = append(b.fn.Stages,
		Stage{ID: "vcode", Kind: StageVCode, Title: "VCode", Main: true, Rows: b.vcode(s)},
		Stage{ID: "alloc", Kind: StageAllocated, Title: "Allocated", Main: true, Rows: b.allocated(s)},
		Stage{ID: "asm", Kind: StageMachine, Title: "Machine code", Main: true, Rows: b.machine(s, lines)})
}

// blocks fills in what is known of the blocks of VCode.
func (b *builder) blocks(s *backend.Stages) {
	freq := flow.Frequencies(&s.VCode.In)
	for i := range s.VCode.In.Blocks {
		info := &s.VCode.In.Blocks[i]
		blk := Block{Depth: int(info.LoopDepth), Head: s.VCode.Headers[i], Cold: info.Cold, Frequency: float64(freq[i]) / flow.EntryFreq}
		if orig, ok := s.BlockOf(regalloc.Block(i)); ok {
			blk.Orig = int(orig) + 1
		}
		b.fn.Blocks = append(b.fn.Blocks, blk)
	}
}

// vregs fills in which values the virtual registers hold.
func (b *builder) vregs(s *backend.Stages) {
	b.fn.VRegs = make([][]int, len(s.VCode.In.VRegs))
	s.Held(func(v clif.Value, r regalloc.VReg) { b.fn.VRegs[r] = append(b.fn.VRegs[r], int(v)) })
}

// blockRow is the head of block i of VCode.
func blockRow(s *backend.Stages, i int) Row {
	text := fmt.Sprintf("block%d", i)
	for k, p := range s.VCode.In.ParamsOf(regalloc.Block(i)) {
		text += [2]string{", ", "("}[b2i(k == 0)] + p.String()
	}
	if s.VCode.In.Blocks[i].Params.Len() > 0 {
		text += ")"
	}
	return Row{Kind: RowBlock, Text: text, Block: i + 1}
}

func b2i(x bool) int {
	if x {
		return 1
	}
	return 0
}

// vcode returns the rows of VCode.
func (b *builder) vcode(s *backend.Stages) (rows []Row) {
	in := &s.VCode.In
	for bi := range in.Blocks {
		rows = append(rows, blockRow(s, bi))
		r := in.Blocks[bi].Insts
		for i := regalloc.Inst(r.Start); i < regalloc.Inst(r.End); i++ {
			rows = append(rows, b.instRow(s, i, bi, s.InstText(i)))
		}
		for _, e := range in.SuccsOf(regalloc.Block(bi)) {
			row := Row{Kind: RowEdge, Text: fmt.Sprintf("→ block%d", e.To), Block: bi + 1}
			for k, v := range in.ArgsOf(e) {
				row.Text += [2]string{", ", "("}[b2i(k == 0)] + v.String()
			}
			if e.Args.Len() > 0 {
				row.Text += ")"
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// instRow is the row of instruction i in block bi.
func (b *builder) instRow(s *backend.Stages, i regalloc.Inst, bi int, text string) Row {
	return Row{Label: fmt.Sprint(i), Text: text, Place: b.place(s.Func, s.VCode.Srcs[i]), Block: bi + 1, Inst: int(i) + 1}
}

// allocated returns the rows of the allocated code, and fills the segments.
func (b *builder) allocated(s *backend.Stages) (rows []Row) {
	in, out := &s.VCode.In, s.Out
	t := newTimeline(in, out)
	next := 0 // edit
	edits := func(bi int, at regalloc.ProgPoint) {
		for ; next < len(out.Edits) && out.Edits[next].Point <= at; next++ {
			rows = append(rows, b.editRow(s, next, bi, t.edit(next, len(rows))))
		}
	}
	for bi := range in.Blocks {
		row := blockRow(s, bi)
		if out.UnsavedIn(regalloc.Block(bi)) {
			row.Notes = "callee-saved registers are not saved here"
		}
		t.enter(bi, len(rows))
		rows = append(rows, row)
		r := in.Blocks[bi].Insts
		for i := regalloc.Inst(r.Start); i < regalloc.Inst(r.End); i++ {
			edits(bi, regalloc.Before(i))
			row := b.instRow(s, i, bi, s.AllocatedText(i))
			start, end := in.OperandRange(i)
			for k := start; k < end; k++ {
				o := &in.Operands[k]
				row.Operands = append(row.Operands, Operand{int(o.VReg), b.loc(s, out.Allocs[k]), int(o.Access)})
			}
			t.inst(i, bi, len(rows))
			rows = append(rows, row)
			edits(bi, regalloc.After(i))
		}
		t.leave(bi)
	}
	t.finish(len(rows))
	b.fn.Omitted = t.omitted
	for _, g := range t.done {
		b.fn.Segments = append(b.fn.Segments, Segment{int(g.vreg), b.loc(s, g.at), g.from, g.to})
	}
	return rows
}

// editRow is the row of edit n, which moves the given values to where they are said to be.
func (b *builder) editRow(s *backend.Stages, n, bi int, moved []held) Row {
	e := &s.Out.Edits[n]
	row := Row{Kind: RowEdit, Block: bi + 1, Edit: n + 1, Label: e.Point.String(), Move: "move"}
	switch e.Kind {
	case regalloc.Remat, regalloc.StoreConst:
		row.Move, row.Text = "remat", fmt.Sprintf("%s ← inst %d again", s.Place(e.To), e.Inst)
		row.Place = b.place(s.Func, s.VCode.Srcs[e.Inst])
	case regalloc.Swap:
		row.Move, row.Text = "swap", fmt.Sprintf("%s ↔ %s", s.Place(e.To), s.Place(e.From))
	default:
		if e.To.IsMem() {
			row.Move = "spill"
		} else if e.From.IsMem() {
			row.Move = "reload"
		}
		row.Text = fmt.Sprintf("%s ← %s", s.Place(e.To), s.Place(e.From))
	}
	for _, h := range moved {
		row.Operands = append(row.Operands, Operand{int(h.vreg), b.loc(s, h.at), int(regalloc.Def)})
	}
	return row
}

// loc returns the index of a location, or -1 for none.
func (b *builder) loc(s *backend.Stages, a regalloc.Allocation) int {
	if a.IsNone() {
		return -1
	}
	l := Location{Name: s.Place(a)}
	switch {
	case a.IsReg():
		l.Kind, l.Number = a.Reg().Class().String(), int(a.Reg().Enc())
	case a.IsSlot():
		l.Kind, l.Number = "slot", a.Index()
	default:
		l.Kind, l.Number = "arg", a.Index()
	}
	n, ok := b.location[l.Name]
	if !ok {
		n = len(b.fn.Locations)
		b.fn.Locations = append(b.fn.Locations, l)
		b.location[l.Name] = n
	}
	return n
}

// machine returns the rows of machine code. Behind the code of the last instruction are traps, whose places are known, and constants.
func (b *builder) machine(s *backend.Stages, lines []Line) (rows []Row) {
	marks, traps := s.Marks, s.Code.Traps
	blocks := blocksOf(&s.VCode.In)
	now, last := backend.Mark{Inst: regalloc.NoInst, Edit: -1}, 0
	for _, l := range lines {
		for len(marks) > 0 && int(marks[0].Offset) <= l.Offset {
			now, marks = marks[0], marks[1:]
		}
		row := Row{Label: fmt.Sprintf("%04x", l.Offset), Text: l.Text, Notes: l.Notes, Bytes: hex.EncodeToString(s.Code.Bytes[l.Offset : l.Offset+l.Len])}
		for len(traps) > 0 && int(traps[0].Offset) < l.Offset {
			traps = traps[1:]
		}
		block := -1
		switch {
		case now.Edit >= 0:
			row.Edit = now.Edit + 1
			block = int(blocks[s.Out.Edits[now.Edit].Point.Inst()])
		case now.Inst != regalloc.NoInst:
			row.Inst, row.Place = int(now.Inst)+1, b.place(s.Func, s.VCode.Srcs[now.Inst])
			block = int(blocks[now.Inst])
		case len(traps) > 0 && int(traps[0].Offset) < l.Offset+l.Len:
			row.Place = b.place(s.Func, traps[0].Src)
		}
		if row.Block = block + 1; row.Block != 0 && row.Block != last {
			rows, last = append(rows, Row{Kind: RowBlock, Text: fmt.Sprintf("block%d", block), Block: row.Block}), row.Block
		}
		rows = append(rows, row)
	}
	return rows
}

// blocksOf returns the block of each instruction.
func blocksOf(in *regalloc.Input) []regalloc.Block {
	blocks := make([]regalloc.Block, len(in.Insts))
	for b := range in.Blocks {
		for i := in.Blocks[b].Insts.Start; i < in.Blocks[b].Insts.End; i++ {
			blocks[i] = regalloc.Block(b)
		}
	}
	return blocks
}
