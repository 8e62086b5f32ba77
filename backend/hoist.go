package backend

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/analysis"
	"github.com/waot-project/waot/internal/effect"
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

// Placement of rematerialisable definitions. Constants that a loop uses go in front of the loop. Bases of memories and of
// the instance data go to the nearest block that dominates their uses and is in no loop.

// maxHoisted is the most constants of the function that are defined in front of one loop: of scalars, and as many vectors. maxMade is
// the most vectors that lowering asks for, maxPlaces the most places in memories. maxAtHome is the most constants that one block defines, for all loops that it is the home of.
const (
	maxHoisted = 16
	maxMade    = 8
	maxPlaces  = 4
	maxAtHome  = 64
)

// loop is a loop, without its cold blocks. Outer loops come before the loops in them.
type loop struct {
	header uint32
	depth  uint16
	calls  bool   // the loop contains a call
	parent int32  // the loop around it, or -1
	front  int32  // the outermost loop without calls that contains this one, perhaps itself; or -1
	latch  uint32 // a block that dominates all blocks that branch back; noBlock before the first one is seen
	consts uint32 // list of the constants in front of it: first entry + 1, or 0
	made   uint8  // how many of them are vectors that lowering asked for; what it asked for comes first
	places uint8  // how many are places in memories
}

// hoisted is a constant that is defined in front of a loop, at the end of its home block.
type hoisted struct {
	inst      clif.Inst     // of which it is the result; NoInst for what lowering asked for
	place     bool          // a place in a memory, not a vector
	reg       regalloc.VReg // of what lowering asked for
	low, high uint64        // the value of a vector; the offset and the memory of a place
	sameHome  uint32        // next entry + 1 in the list of the home block
	before    uint32        // next entry + 1 in the list of the loop
}

// hoister decides where the definitions go; lowering appends them there.
type hoister struct {
	stop   *stop.Flag
	dom    analysis.Idoms // of the blocks of the order
	deep   bool           // nested deeper than maxDepth: loops are not told apart
	found  bool           // loops, inLoop and always are filled
	bases  []baseUse      // by memory, then of the heap, of the rows of types and of the instance data
	loops  []loop
	inLoop []int32   // by block: its innermost loop, or -1
	always []bool    // by block in a loop: each iteration of the innermost loop executes it, except perhaps the last
	list   []hoisted // entries of the lists of loops and blocks
	homes  []uint32  // by block: list of the constants at its end: first entry + 1, or 0
	front  int32     // the loop before which constants of the current block go, or -1
}

// baseUse is a base and the block that defines it.
type baseUse struct {
	reg   regalloc.VReg // NoVReg before the first use
	home  uint32        // the block that defines it: at the end, or at the start if home is first
	first uint32        // the first block with a use
	last  uint32        // the block of the last use that was expected
	uses  uint32        // number of expected uses
}

const noBlock = analysis.NoNode

// flat reports whether dominators or loops are not known: everything goes to the entry, constants stay.
func (h *hoister) flat() bool { return h.deep || !h.dom.Exact() }

// begin fills dom, and prepares the bases of the memories and of the instance data.
func (h *hoister) begin(flag *stop.Flag, o *BlockOrder, memories int) {
	h.stop = flag
	h.list, h.loops, h.front, h.deep, h.found = h.list[:0], h.loops[:0], -1, false, false
	h.bases = stop.Zeroed(h.stop, h.bases, memories+numOtherBases)
	for k := range h.bases {
		h.bases[k].reg = regalloc.NoVReg
	}
	h.homes = stop.Zeroed(h.stop, h.homes, len(o.Blocks))
	h.dom.Begin(h.stop, len(o.Blocks))
	for b := 0; b < len(o.Blocks) && !h.flat(); b++ {
		h.stop.PollAt(b)
		h.deep = o.Blocks[b].LoopDepth >= maxDepth
		h.dom.Node(uint32(b))
		for _, s := range o.SuccsOf(b) {
			h.dom.Edge(uint32(b), s.To)
		}
	}
}

// outside is b, or the nearest dominator of b, that is in at most depth loops.
func (h *hoister) outside(o *BlockOrder, b uint32, depth uint16) uint32 {
	for o.Blocks[b].LoopDepth > depth {
		b = h.dom.Of(b)
	}
	return b
}

// findLoops fills loops and inLoop, by the loops that o has found. Edge blocks and cold blocks are in none.
func (h *hoister) findLoops(f *clif.Func, o *BlockOrder) {
	h.found = true
	h.inLoop = stop.Zeroed(h.stop, h.inLoop, len(o.Blocks))
	for b := range o.Blocks {
		h.stop.PollAt(b)
		lb := &o.Blocks[b]
		h.inLoop[b] = -1
		if lb.Cold {
			continue
		}
		if lb.TopOf != clif.NoBlock {
			h.enterLoop(o, b, lb.TopOf)
		}
		if lb.Orig != clif.NoBlock {
			h.enterLoop(o, b, lb.Orig)
			h.noteCall(f, b, lb.Orig)
		}
		h.backEdges(o, b)
	}
	h.mark()
}

// enterLoop fills inLoop of block b, which is not cold and stands for the CLIF block orig. If b is a header, it adds the loop.
// The headers around b come before b.
func (h *hoister) enterLoop(o *BlockOrder, b int, orig clif.Block) {
	lb := &o.Blocks[b]
	at := int32(-1)
	if pos := o.info[orig].pos; pos != uint32(b) { // behind the top of the loop
		at = h.inLoop[pos]
	} else if around := o.nest.Around(orig); around != clif.NoBlock {
		at = h.inLoop[o.info[around].pos]
	}
	if lb.Header {
		h.loops = append(h.loops, loop{header: uint32(b), latch: noBlock, depth: lb.LoopDepth, parent: at})
		at = int32(len(h.loops) - 1)
	}
	h.inLoop[b] = at
}

// noteCall marks the loops around block b, which is orig, if there is a call in it.
func (h *hoister) noteCall(f *clif.Func, b int, orig clif.Block) {
	at := h.inLoop[b]
	if at < 0 || h.loops[at].calls || !hasCall(f, orig) {
		return
	}
	for ; at >= 0 && !h.loops[at].calls; at = h.loops[at].parent {
		h.loops[at].calls = true
	}
}

// backEdges notes that b branches back to loops' headers.
func (h *hoister) backEdges(o *BlockOrder, b int) {
	for _, s := range o.SuccsOf(b) {
		if int(s.To) > b {
			continue
		}
		if lp := &h.loops[h.inLoop[s.To]]; lp.latch == noBlock {
			lp.latch = uint32(b)
		} else {
			lp.latch = h.dom.Common(lp.latch, uint32(b))
		}
	}
}

// mark fills always, and front of the loops.
func (h *hoister) mark() {
	h.always = stop.Zeroed(h.stop, h.always, len(h.inLoop))
	for k := range h.loops {
		lp := &h.loops[k]
		switch lp.front = int32(k); {
		case lp.calls:
			lp.front = -1
		case lp.parent >= 0 && !h.loops[lp.parent].calls:
			lp.front = h.loops[lp.parent].front
		}
		// Blocks of loops inside are theirs to mark.
		for b := lp.latch; b != noBlock && b > lp.header && h.dom.Steps > 0; b = h.dom.Of(b) {
			h.always[b] = h.always[b] || h.inLoop[b] == int32(k)
			h.dom.Steps--
		}
		h.always[lp.header] = true
	}
}

// hasCall reports whether there is a call in b.
func hasCall(f *clif.Func, b clif.Block) bool {
	bd := &f.Blocks[b]
	for i := bd.Start; i < bd.End; i++ {
		if f.Insts[i].Op.Has(effect.Calls) {
			return true
		}
	}
	return false
}

// enter notes that block b is next in the order.
func (h *hoister) enter(b int) { h.front = h.frontOf(b) }

// frontOf returns the loop before which constants of block b go, or -1. If each iteration executes b, that is the outermost loop
// around it without calls: a call would take their registers.
func (h *hoister) frontOf(b int) int32 {
	if len(h.loops) == 0 || h.flat() || !h.always[b] {
		return -1
	}
	return h.loops[h.inLoop[b]].front
}

// expect notes that block b will use base k.
func (h *hoister) expect(k, b int) {
	u := &h.bases[k]
	if u.uses++; u.uses == 1 {
		u.home, u.first = uint32(b), uint32(b)
	} else if u.last != uint32(b) && !h.flat() {
		// What dominates last is on one path up the tree, where home is, too. From last, which is near b, it is a short way up.
		u.home = min(u.home, h.dom.Common(u.last, uint32(b)))
	}
	u.last = uint32(b)
}

// settle decides where bases are defined, when all uses are known.
func (h *hoister) settle(o *BlockOrder) {
	for k := range h.bases {
		u := &h.bases[k]
		if h.flat() {
			u.home, u.first = 0, 0
		} else if u.uses > 0 {
			u.home = h.outside(o, u.home, 0)
		}
	}
}

// hoist reports whether the constant of instruction i, in block b, is defined in front of a loop, if there is room. An equal constant that
// is there already stands for it then.
func (h *hoister) hoist(u *DefUse, o *BlockOrder, b int, i clif.Inst, d *clif.InstData) bool {
	if !h.found && !h.flat() {
		h.findLoops(u.F, o)
		h.enter(b)
	}
	if h.front < 0 {
		return false
	}
	lp := &h.loops[h.front]
	room := maxHoisted
	for n := lp.consts; n != 0; n = h.list[n-1].before {
		x := &u.F.Insts[h.list[n-1].inst]
		if x.Op == d.Op && x.Type == d.Type && x.Imm == d.Imm && (d.Op != clif.OpVconst || x.Args[1] == d.Args[1] && x.Args[2] == d.Args[2]) {
			u.canon[d.Result] = x.Result
			return true
		}
		if (x.Op == clif.OpVconst) == (d.Op == clif.OpVconst) {
			room--
		}
	}
	if room == 0 || !h.hasRoom(h.homeOf(o, lp)) {
		return false
	}
	h.putInFront(o, lp, hoisted{inst: i})
	return true
}

// homeOf returns the block at whose end the constants of a loop are defined.
func (h *hoister) homeOf(o *BlockOrder, lp *loop) uint32 {
	return h.outside(o, h.dom.Of(lp.header), lp.depth-1)
}

// hasRoom reports whether a block may define one more constant. Many loops may have one home, far in front of them, so that their
// constants would live in all blocks between.
func (h *hoister) hasRoom(home uint32) bool {
	room := maxAtHome
	for n := h.homes[home]; n != 0 && room > 0; n = h.list[n-1].sameHome {
		room--
	}
	return room > 0
}

// putInFront adds c to the constants in front of a loop.
func (h *hoister) putInFront(o *BlockOrder, lp *loop, c hoisted) {
	home := h.homeOf(o, lp)
	c.sameHome, c.before = h.homes[home], lp.consts
	h.list = append(h.list, c)
	lp.consts = uint32(len(h.list))
	h.homes[home] = lp.consts
}

// hoists reports whether d, a constant of a loop, is better defined in front of it.
func (t *Target) hoists(d *clif.InstData) bool {
	return t.HoistAll || d.Op == clif.OpIconst && d.Type == clif.I64 && int64(d.Imm) != int64(int32(d.Imm))
}

// expectBases notes which bases instruction d of block b will use, but for those of checked memories.
func (l *Place) expectBases(d *clif.InstData, b int) {
	info := d.Op.Info()
	if info.Entity == clif.EntMemory && !l.isChecked(d.Aux) {
		l.expect(int(d.Aux), b)
	}
	if info.Entity2 == clif.EntMemory && !l.isChecked(uint32(d.Imm)) {
		l.expect(int(d.Imm), b)
	}
	if usesInstance[d.Op] {
		l.expect(len(l.bases)-instanceBase, b)
	}
	if d.Op.IsOfHeap() {
		l.expectHeap(d, b)
	}
}

// usesInstance has the instructions that may use InstanceBase: all that name something in the instance data, except
// to call a function, or have to do with the exception under way, which is there.
var usesInstance = func() (uses [clif.NumOpcodes]bool) {
	inData := func(e clif.Entity) bool {
		return e == clif.EntGlobal || e == clif.EntTable || e == clif.EntData || e == clif.EntElem || e == clif.EntSig || e == clif.EntTag
	}
	for op := range uses {
		info := clif.Opcode(op).Info()
		exception := info.Effects.Has(effect.ReadException | effect.WriteException)
		uses[op] = !info.Effects.Has(effect.Calls) && (inData(info.Entity) || inData(info.Entity2) || exception || clif.Opcode(op) == clif.OpArrayFill || clif.Opcode(op) == clif.OpRefTest)
	}
	return uses
}()

// base returns the register of base k. Of a checked memory, that is its descriptor.
func (l *Place) base(k int) regalloc.VReg {
	u := &l.bases[k]
	if u.reg == regalloc.NoVReg {
		u.reg = l.NewVReg(clif.I64)
	}
	return u.reg
}

// InstanceBase returns the register that holds the address of the instance data, for an instruction of usesInstance. ok is
// false if a register is not worth it, because only one instruction needs the address or the machine needs no register.
func (l *Place) InstanceBase() (v regalloc.VReg, ok bool) {
	if l.Target.Common.Instance == 0 {
		return regalloc.NoVReg, false
	}
	k := len(l.bases) - instanceBase
	if u := &l.bases[k]; u.uses < 2 && u.home == u.first {
		return regalloc.NoVReg, false
	}
	return l.base(k), true
}

// lowerHoisted lowers the definitions placed at the end of block b. The terminator of b has been lowered before.
func (l *lowering) lowerHoisted(b int) {
	for n := l.homes[b]; n != 0; n = l.list[n-1].sameHome {
		c := &l.list[n-1]
		if c.inst == clif.NoInst {
			l.group(0)
			if c.place {
				l.Target.Sum(&l.Emit, l.base(int(c.high)), SumTerm{V: clif.NoValue, K: int64(c.low)}, c.reg)
			} else {
				l.Target.VectorConst(&l.Emit, c.low, c.high, c.reg)
			}
		} else if d := &l.F.Insts[c.inst]; l.anyUsed(d) {
			l.group(l.F.Srcs[c.inst])
			l.Target.Lower[d.Op](&l.Emit, c.inst, d)
		}
	}
	l.lowerBases(b, false)
}

// madeConst is a constant and the register of a block that makes it.
type madeConst struct {
	value clif.Value
	reg   regalloc.VReg
}

// noteConst notes that the block being lowered uses v, if that is a constant that the block makes itself. An integer takes one instruction, which
// is better than a register from block to block, unless it comes from outside a loop.
func (l *Place) noteConst(v clif.Value) {
	i, d := l.DefInst(v)
	if d == nil || l.sunk[i] {
		return
	}
	switch d.Op {
	case clif.OpIconst:
		if !l.constsStay && (l.depths[i] < l.Order.Blocks[l.block].LoopDepth || l.definedInFront(i)) {
			return
		}
	case clif.OpFconst, clif.OpVconst:
		if !l.constsStay {
			return
		}
	default:
		return
	}
	l.consts = append(l.consts, i)
}

// definedInFront reports whether instruction i is in the nearest block that dominates the one being lowered, and that block has one or two ways out. Its result
// may be in the right place already, so that nothing remains to be done on an edge.
func (l *Place) definedInFront(i clif.Inst) bool {
	if l.block == 0 || l.flat() {
		return false
	}
	b := l.dom.Of(uint32(l.block))
	from := l.Order.Blocks[b].Orig
	return from != clif.NoBlock && i >= l.F.Blocks[from].Start && i < l.F.Blocks[from].End && len(l.Order.SuccsOf(int(b))) <= 2
}

// lowerConsts defines, at the start of the block being lowered, the constants that it has asked for. Blocks in front of it will ask
// for registers of their own. Those that the block itself defines have been lowered.
func (l *lowering) lowerConsts() {
	var here clif.BlockData
	if b := l.Order.Blocks[l.block].Orig; b != clif.NoBlock {
		here = l.F.Blocks[b]
	}
	for _, i := range l.consts {
		d := &l.F.Insts[i]
		if i < here.Start || i >= here.End {
			l.group(l.F.Srcs[i])
			l.Target.Lower[d.Op](&l.Emit, i, d)
		}
		if l.trace != nil {
			l.made = append(l.made, madeConst{d.Result, l.vregs[d.Result]})
		}
		l.vregs[d.Result] = regalloc.NoVReg
	}
	l.consts = l.consts[:0]
}

// lowerBases defines the bases at the start of block b, or at its end; those of tables at the start of each block that uses them.
func (l *lowering) lowerBases(b int, start bool) {
	if start && len(l.tables) > 0 {
		l.group(0)
		l.loadTables()
	}
	for k := range l.bases {
		u := &l.bases[k]
		if u.reg == regalloc.NoVReg || u.home != uint32(b) || (u.home == u.first) != start {
			continue
		}
		l.group(0)
		switch kind := len(l.bases) - k; kind {
		case instanceBase:
			l.EmitRemat(Inst{Op: l.Target.Common.Instance, Size: 8}.OfSymbol(SymInstance), u.reg)
		case heapBase, rowsBase:
			loadHeapBase(&l.Emit, u.reg, kind)
		default:
			loadBase(&l.Emit, u.reg, clif.MemoryIndex(k))
		}
	}
}
