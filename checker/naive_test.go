package checker_test

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/waot-project/waot/regalloc"
)

type loc = regalloc.Allocation

// claimUse is a claim that is made only if something relies on it.
type claimUse struct {
	claim  regalloc.Claim
	used   bool
	parent *claimUse
}

func (c *claimUse) mark() {
	for ; c != nil && !c.used; c = c.parent {
		c.used = true
	}
}

type cached struct {
	v   vreg
	src *claimUse
}

// naive is an allocator that gives each value a home (a slot, or a register of
// its own) and remembers within extended blocks what registers happen to hold.
type naive struct {
	choices
	in     *regalloc.Input
	env    *regalloc.MachineEnv
	out    *regalloc.Output
	home   []loc
	was    []loc // home, while a tail call has other ones
	shadow []loc
	homes  regalloc.PRegSet // registers that are homes
	live   []map[vreg]bool  // live into blocks, parameters too if used
	cache  [64]cached
	exits  [][64]cached
	edits  map[regalloc.ProgPoint][]regalloc.Edit
	claims [][]*claimUse
	done   []bool
	slots  map[regalloc.Inst][]uint32
}

func allocate(seed uint64, in *regalloc.Input, env *regalloc.MachineEnv) *regalloc.Output {
	return allocateOf(rand.New(rand.NewPCG(seed, 2)), in, env)
}

// allocateOf allocates by r's choices.
func allocateOf(r choices, in *regalloc.Input, env *regalloc.MachineEnv) *regalloc.Output {
	a := &naive{choices: r, in: in, env: env, out: &regalloc.Output{}}
	a.out.Allocs = make([]loc, len(in.Operands))
	a.edits = map[regalloc.ProgPoint][]regalloc.Edit{}
	a.slots = map[regalloc.Inst][]uint32{}
	n := len(in.Blocks)
	a.exits, a.claims, a.done = make([][64]cached, n), make([][]*claimUse, n), make([]bool, n)
	a.liveness()
	a.setHomes()
	for b := range in.Blocks {
		a.blockTree(regalloc.Block(b))
	}
	a.finish()
	return a.out
}

func (a *naive) liveness() {
	a.live = make([]map[vreg]bool, len(a.in.Blocks))
	for b := range a.live {
		a.live[b] = map[vreg]bool{}
	}
	for again := true; again; {
		again = false
		for b := len(a.live) - 1; b >= 0; b-- {
			l := a.liveOut(regalloc.Block(b))
			r := a.in.Blocks[b].Insts
			for i := r.End; i > r.Start; i-- {
				a.stepBack(l, regalloc.Inst(i-1))
			}
			if len(l) > len(a.live[b]) {
				a.live[b], again = l, true
			}
		}
	}
}

func (a *naive) liveOut(b regalloc.Block) map[vreg]bool {
	l := map[vreg]bool{}
	for _, e := range a.in.SuccsOf(b) {
		args, params := a.in.ArgsOf(e), a.in.ParamsOf(e.To)
		for v := range a.live[e.To] {
			if k := slices.Index(params, v); k >= 0 {
				l[args[k]] = true
			} else {
				l[v] = true
			}
		}
	}
	return l
}

func (a *naive) stepBack(l map[vreg]bool, i regalloc.Inst) {
	for _, op := range a.in.OperandsOf(i) {
		if op.Access.Defines() {
			delete(l, op.VReg)
		}
	}
	for _, op := range a.in.OperandsOf(i) {
		if op.Access.Reads() {
			l[op.VReg] = true
		}
	}
}

func (a *naive) slot(v vreg) loc {
	words := a.in.VRegs[v].Words()
	a.out.SlotWords = (a.out.SlotWords + words - 1) &^ (words - 1)
	s := regalloc.InSlot(a.out.SlotWords)
	a.out.SlotWords += words
	return s
}

func (a *naive) setHomes() {
	free := homeRegs()
	a.home, a.shadow = make([]loc, len(a.in.VRegs)), make([]loc, len(a.in.VRegs))
	for k, op := range a.in.OperandsOf(0) {
		if op.Constraint == regalloc.FixedArg && !a.in.VRegs[op.VReg].Ref && a.IntN(2) == 0 {
			a.home[op.VReg] = regalloc.InArg(int(op.Arg))
		}
		_ = k
	}
	for _, n := range a.Perm(len(a.home)) {
		v := vreg(n)
		if !a.home[v].IsNone() {
			continue
		}
		info := a.in.VRegs[v]
		f := free.OfClass(info.Class)
		if info.Bytes == 16 {
			f &^= a.halves()
		}
		if !info.Ref && f != 0 && a.IntN(3) == 0 {
			free = free.Remove(f.First())
			a.homes = a.homes.Add(f.First())
			a.home[v] = regalloc.InReg(f.First())
			continue
		}
		a.home[v] = a.slot(v)
	}
	for b := range a.in.Blocks {
		for _, p := range a.in.ParamsOf(regalloc.Block(b)) {
			a.shadow[p] = a.slot(p)
		}
	}
}

// halves are the registers of which some instruction clobbers only the upper half.
func (a *naive) halves() (set regalloc.PRegSet) {
	for _, c := range a.in.ClobberSets {
		set |= c.High &^ c.Low
	}
	return set
}

func (a *naive) edit(p regalloc.ProgPoint, e regalloc.Edit) {
	e.Point = p
	a.edits[p] = append(a.edits[p], e)
	if e.To.IsReg() {
		a.out.Used = a.out.Used.Add(e.To.Reg())
	}
	if e.Kind == regalloc.Swap {
		a.out.Used = a.out.Used.Add(e.From.Reg())
	}
}

// swap exchanges two registers there and back, or turns three by as many swaps and then by moves.
func (a *naive) swap(p regalloc.ProgPoint) {
	order := a.Perm(len(a.env.Order[regalloc.Int]))
	reg := func(k int) loc { return regalloc.InReg(a.env.Order[regalloc.Int][order[k]]) }
	exchange := func(x, y int) {
		a.edit(p, regalloc.Edit{Kind: regalloc.Swap, From: reg(x), To: reg(y), Bytes: 8})
	}
	exchange(0, 1)
	if a.IntN(2) == 0 {
		exchange(1, 0)
		return
	}
	exchange(1, 2)
	s := regalloc.InReg(scratchReg) // now 0 has what 1 had, 1 what 2 had, and 2 what 0 had
	for _, m := range [...][2]loc{{reg(0), s}, {reg(2), reg(0)}, {reg(1), reg(2)}, {s, reg(1)}} {
		a.edit(p, regalloc.Edit{From: m[0], To: m[1], Bytes: 8})
	}
}

// move copies v's value, through the scratch register where needed.
func (a *naive) move(p regalloc.ProgPoint, from, to loc, v vreg) {
	bytes := a.in.VRegs[v].Bytes
	switch {
	case from == to:
		return
	case from.IsMem() && to.IsMem():
		s := regalloc.InReg(scratchReg)
		a.edit(p, regalloc.Edit{From: from, To: s, Bytes: bytes})
		from = s
	}
	a.edit(p, regalloc.Edit{From: from, To: to, Bytes: bytes})
}

// blockTree allocates b, after the only predecessor if there is one.
func (a *naive) blockTree(b regalloc.Block) {
	if a.done[b] {
		return
	}
	a.done[b] = true
	preds := a.in.PredsOf(b)
	if len(preds) == 1 {
		a.blockTree(preds[0])
	}
	a.enter(b, preds)
	r := a.in.Blocks[b].Insts
	for i := regalloc.Inst(r.Start); i < regalloc.Inst(r.End); i++ {
		a.inst(b, i)
	}
	if a.in.Insts[r.End-1].Flags&regalloc.IsTailCall != 0 {
		copy(a.home, a.was)
	}
	a.exits[b] = a.cache
	if succs := a.in.SuccsOf(b); len(succs) == 1 && len(a.in.PredsOf(succs[0].To)) > 1 {
		a.edgeMoves(regalloc.Before(regalloc.Inst(r.End-1)), succs[0])
	}
}

func (a *naive) claim(b regalloc.Block, l loc, v vreg) *claimUse {
	c := &claimUse{claim: regalloc.Claim{Loc: l, VReg: v}, used: true}
	a.claims[b] = append(a.claims[b], c)
	return c
}

func (a *naive) enter(b regalloc.Block, preds []regalloc.Block) {
	a.cache = [64]cached{}
	for p := range a.cache {
		a.cache[p].v = regalloc.NoVReg
	}
	if b == 0 {
		return
	}
	params := a.in.ParamsOf(b)
	var live []vreg
	for v := range a.live[b] {
		live = append(live, v)
	}
	slices.Sort(live)
	var edge regalloc.Edge
	var made []vreg
	if len(preds) == 1 {
		for _, e := range a.in.SuccsOf(preds[0]) {
			if e.To == b {
				edge = e
			}
		}
		r := a.in.Blocks[preds[0]].Insts
		made = defsOf(a.in.OperandsOf(regalloc.Inst(r.End - 1)))
		for p, c := range a.exits[preds[0]] {
			if c.v == regalloc.NoVReg || !a.live[b][c.v] || slices.Contains(params, c.v) {
				continue
			}
			a.cache[p] = cached{c.v, a.claim(b, regalloc.InReg(preg(p)), c.v)}
			a.cache[p].src.used, a.cache[p].src.parent = false, c.src
		}
	}
	first := regalloc.Before(regalloc.Inst(a.in.Blocks[b].Insts.Start))
	for _, v := range live {
		k := slices.Index(params, v)
		switch {
		case k < 0 && slices.Contains(made, v):
			// Defined by the call before, not at home yet unless it is there.
			at := a.callResult(preds[0], v)
			if at.IsReg() && !a.homes.Has(at.Reg()) {
				a.cache[at.Reg()].src.mark()
			} else {
				a.claim(b, at, v)
			}
			a.move(first, at, a.home[v], v)
		case k >= 0 && len(preds) == 1:
			a.claim(b, a.home[a.in.ArgsOf(edge)[k]], v)
		default:
			a.claim(b, a.home[v], v)
		}
	}
	if len(preds) == 1 {
		a.edgeMoves(first, edge)
	}
}

func (a *naive) callResult(b regalloc.Block, v vreg) loc {
	i := regalloc.Inst(a.in.Blocks[b].Insts.End - 1)
	s, _ := a.in.OperandRange(i)
	for k, op := range a.in.OperandsOf(i) {
		if op.VReg == v && op.Access.Defines() {
			return a.out.Allocs[int(s)+k]
		}
	}
	return regalloc.NoAllocation
}

func (a *naive) edgeMoves(p regalloc.ProgPoint, e regalloc.Edge) {
	args, params := a.in.ArgsOf(e), a.in.ParamsOf(e.To)
	for k, v := range params {
		switch info := &a.in.VRegs[args[k]]; {
		case !a.live[e.To][v]:
		case info.Storable && a.shadow[v].IsSlot() && a.IntN(2) == 0:
			a.edit(p, regalloc.Edit{Kind: regalloc.StoreConst, Inst: info.Remat, To: a.shadow[v], Bytes: info.Bytes})
		default:
			a.move(p, a.home[args[k]], a.shadow[v], v)
		}
	}
	for _, v := range params {
		if a.live[e.To][v] {
			a.move(p, a.shadow[v], a.home[v], v)
		}
	}
}

// inst allocates the operands of i.
func (a *naive) inst(b regalloc.Block, i regalloc.Inst) {
	s, e := a.in.OperandRange(i)
	ops, allocs := a.in.Operands[s:e], a.out.Allocs[s:e]
	info := a.in.Insts[i]
	term := info.Flags&regalloc.IsTerminator != 0
	clob := a.in.ClobbersOf(i)
	var early, late regalloc.PRegSet
	take := func(k int, r preg) {
		acc := ops[k].Access
		if acc != regalloc.Def {
			early = early.Add(r)
		}
		if acc != regalloc.Use {
			late = late.Add(r)
		}
		for _, o := range ops {
			if o.Constraint == regalloc.Reuse && int(o.Arg) == k {
				late = late.Add(r)
			}
		}
		allocs[k] = regalloc.InReg(r)
	}
	for k, op := range ops {
		if op.Constraint == regalloc.Fixed {
			take(k, op.PReg())
		}
	}
	// Homes of operands that are used where they are.
	order := a.Perm(len(ops))
	slices.SortStableFunc(order, func(x, y int) int { return a.rank(ops, y) - a.rank(ops, x) })
	for _, k := range order {
		op := ops[k]
		home := a.home[op.VReg]
		reused := slices.ContainsFunc(ops, func(o operand) bool { return o.Constraint == regalloc.Reuse && int(o.Arg) == k })
		direct := !reused
		switch op.Constraint {
		case regalloc.Fixed, regalloc.Reuse:
			continue
		case regalloc.FixedArg:
			allocs[k] = regalloc.InArg(int(op.Arg))
			continue
		case regalloc.Any:
			if direct && (home.IsSlot() || home.IsArg() && !op.Access.Defines()) && (a.IntN(2) == 0 || term && op.Access.Defines()) {
				allocs[k] = home
				continue
			}
		}
		if direct && home.IsReg() {
			allocs[k] = home
			continue
		}
		take(k, a.choose(op, reused, early, late, clob))
	}
	for k, op := range ops {
		if op.Constraint == regalloc.Reuse {
			allocs[k] = allocs[op.Arg]
		}
	}
	if info.Flags&regalloc.IsTailCall != 0 {
		a.keepArgs(regalloc.Before(i), ops)
	}
	for k, op := range ops {
		if op.Access.Reads() {
			a.load(regalloc.Before(i), allocs[k], op.VReg)
		}
	}
	if i > 0 && a.IntN(8) == 0 {
		a.swap(regalloc.Before(i))
	}
	a.after(b, i, ops, allocs, clob, term)
}

// keepArgs moves the values that are at home in argument words to slots, at p in front of a tail call, whose own arguments take the words.
func (a *naive) keepArgs(p regalloc.ProgPoint, ops []operand) {
	a.was = append(a.was[:0], a.home...)
	for _, op := range ops {
		if from := a.home[op.VReg]; from.IsArg() {
			a.home[op.VReg] = a.slot(op.VReg)
			a.move(p, from, a.home[op.VReg], op.VReg)
		}
	}
}

// rank puts the operands with the fewest choices first.
func (a *naive) rank(ops []operand, k int) int {
	switch ops[k].Access {
	case regalloc.EarlyDef, regalloc.LateUse:
		return 2
	}
	for _, o := range ops {
		if o.Constraint == regalloc.Reuse && int(o.Arg) == k {
			return 1
		}
	}
	return 0
}

func (a *naive) choose(op operand, reused bool, early, late regalloc.PRegSet, clob regalloc.Clobbers) preg {
	free := a.env.Allocatable.OfClass(a.in.VRegs[op.VReg].Class) &^ homeRegs()
	if op.Access != regalloc.Def {
		free &^= early
	}
	if op.Access != regalloc.Use || reused {
		free &^= late | clob.Lost(a.in.VRegs[op.VReg].Bytes)
	}
	if free == 0 {
		panic("naive: out of registers")
	}
	var all []preg
	for m := free; m != 0; m = m.Remove(m.First()) {
		if op.Access.Reads() && a.cache[m.First()].v == op.VReg {
			return m.First()
		}
		all = append(all, m.First())
	}
	return all[a.IntN(len(all))]
}

// load brings v to the location to.
func (a *naive) load(p regalloc.ProgPoint, to loc, v vreg) {
	if to == a.home[v] {
		return
	}
	if to.IsReg() && a.cache[to.Reg()].v == v {
		a.cache[to.Reg()].src.mark()
		return
	}
	if to.IsReg() {
		defer func() { a.cache[to.Reg()] = cached{v: v} }()
	}
	for r, c := range a.cache {
		if c.v == v && a.IntN(2) == 0 {
			c.src.mark()
			a.move(p, regalloc.InReg(preg(r)), to, v)
			return
		}
	}
	if r := a.in.VRegs[v].Remat; r != regalloc.NoInst && to.IsReg() && a.IntN(2) == 0 {
		a.edit(p, regalloc.Edit{Kind: regalloc.Remat, Inst: r, To: to})
		return
	}
	a.move(p, a.home[v], to, v)
}

func (a *naive) after(b regalloc.Block, i regalloc.Inst, ops []operand, allocs []loc, clob regalloc.Clobbers, term bool) {
	info := a.in.Insts[i]
	if info.Flags&regalloc.Safepoint != 0 {
		l := a.liveOut(b)
		for j := regalloc.Inst(a.in.Blocks[b].Insts.End - 1); j > i; j-- {
			a.stepBack(l, j)
		}
		for _, op := range ops {
			if op.Access.Defines() {
				delete(l, op.VReg)
			}
		}
		a.slots[i] = []uint32{}
		for v := range l {
			if a.in.VRegs[v].Ref {
				a.slots[i] = append(a.slots[i], uint32(a.home[v].Index()))
			}
		}
		slices.Sort(a.slots[i])
		for r, c := range a.cache {
			if c.v != regalloc.NoVReg && a.in.VRegs[c.v].Ref {
				a.cache[r].v = regalloc.NoVReg
			}
		}
	}
	for r, c := range a.cache {
		if c.v != regalloc.NoVReg && (clob.Lost(a.in.VRegs[c.v].Bytes).Has(preg(r)) || slices.Contains(defsOf(ops), c.v)) {
			a.cache[r].v = regalloc.NoVReg
		}
	}
	for k, op := range ops {
		if op.Access.Defines() && allocs[k].IsReg() {
			a.out.Used = a.out.Used.Add(allocs[k].Reg())
		}
		if !op.Access.Defines() {
			continue
		}
		if r := allocs[k]; r.IsReg() && !a.homes.Has(r.Reg()) {
			a.cache[r.Reg()] = cached{v: op.VReg}
		}
		if !term {
			l := a.liveOut(b)
			for j := regalloc.Inst(a.in.Blocks[b].Insts.End - 1); j > i; j-- {
				a.stepBack(l, j)
			}
			if l[op.VReg] {
				a.move(regalloc.After(i), allocs[k], a.home[op.VReg], op.VReg)
			}
		}
	}
}

func (a *naive) finish() {
	for i := range a.in.Insts {
		for _, p := range []regalloc.ProgPoint{regalloc.Before(regalloc.Inst(i)), regalloc.After(regalloc.Inst(i))} {
			a.out.Edits = append(a.out.Edits, a.edits[p]...)
		}
		if a.in.Insts[i].Flags&regalloc.Safepoint != 0 {
			s := uint32(len(a.out.StackMapSlots))
			a.out.StackMapSlots = append(a.out.StackMapSlots, a.slots[regalloc.Inst(i)]...)
			a.out.StackMaps = append(a.out.StackMaps, regalloc.StackMap{Inst: regalloc.Inst(i),
				Slots: regalloc.Range{Start: s, End: uint32(len(a.out.StackMapSlots))}})
		}
	}
	for b := range a.claims {
		for _, c := range a.claims[b] {
			if c.used {
				a.out.Claims = append(a.out.Claims, c.claim)
			}
		}
		a.out.ClaimEnd = append(a.out.ClaimEnd, uint32(len(a.out.Claims)))
	}
}

// dump prints an input and its allocation.
func dump(in *regalloc.Input, out *regalloc.Output) string {
	s := ""
	e := 0
	for b := range in.Blocks {
		b := regalloc.Block(b)
		start := uint32(0)
		if b > 0 {
			start = out.ClaimEnd[b-1]
		}
		s += fmt.Sprintf("block%d %v claims %v\n", b, in.ParamsOf(b), out.Claims[start:out.ClaimEnd[b]])
		for i := in.Blocks[b].Insts.Start; i < in.Blocks[b].Insts.End; i++ {
			i := regalloc.Inst(i)
			for ; e < len(out.Edits) && out.Edits[e].Point == regalloc.Before(i); e++ {
				s += fmt.Sprintf("    %v\n", out.Edits[e])
			}
			c := in.ClobbersOf(i)
			s += fmt.Sprintf("  inst%d flags %b clobbers %x/%x:", i, in.Insts[i].Flags, uint64(c.Low), uint64(c.High))
			st, _ := in.OperandRange(i)
			for k, op := range in.OperandsOf(i) {
				s += fmt.Sprintf(" %v %v/%d=%v", op.Access, op.VReg, op.Constraint, out.Allocs[int(st)+k])
			}
			s += "\n"
			for ; e < len(out.Edits) && out.Edits[e].Point == regalloc.After(i); e++ {
				s += fmt.Sprintf("    %v\n", out.Edits[e])
			}
		}
		for _, ed := range in.SuccsOf(b) {
			s += fmt.Sprintf("  -> block%d %v\n", ed.To, in.ArgsOf(ed))
		}
	}
	return s
}
