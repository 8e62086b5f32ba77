package backend

import (
	"slices"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/effect"
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

// This file lowers accesses to memories with explicit bounds checks (clif.MemoryDecl.Checked). Their base and size are words of a descriptor, which
// calls and memory.grow may change. Each such instruction begins a new version of both words, which all code up to the next one shares. A version is loaded
// after the instruction that begins it, or at the start of a block where different versions meet. So a loop without such instructions keeps
// base and size in registers.
//
// An access needs no check if the same value was checked as an address on every path to it, because memories do not shrink. Against
// misspeculation, a check also returns the index, as 0 if the processor executed past the trap; the accesses without a check use that result.

// checkedMemories is what lowering knows of a function's checked memories. It is empty if the module has none.
type checkedMemories struct {
	any bool
	// in and out are, by block of the order, the version at its start and at its end. Version b + 1 begins with block b. At the end of a block whose last call ends it, and
	// changes sizes, there is none: lost.
	in, out []uint32
	// caught is, by block of the order, the call that ends it, or NoInst.
	caught []clif.Inst
	// behind are the versions that begin behind an instruction, in the order of blocks and instructions.
	behind    []clif.Inst
	first     []uint32 // by block: the index in behind of its first
	uses      []versionUse
	limits    []sizeLimit
	lists     []uint32 // by version: list of uses: first entry + 1, or 0
	version   uint32   // of the instruction being lowered
	preds     []uint32
	predStart []uint32

	// checks is, by instruction, what an access needs.
	checks []accessCheck
}

// versionUse is a version of a memory. Its registers are NoVReg until something uses them.
type versionUse struct {
	memory     uint32
	base, size regalloc.VReg
	limits     uint32 // list of limits: first entry + 1, or 0
	next       uint32 // next entry + 1
}

// sizeLimit is the size less a constant, with which addresses are compared that are followed by that many bytes and one more. A register with it
// saves an addition for each check, and is made where the version begins.
type sizeLimit struct {
	last   uint64
	gain   uint32 // how many additions it saves, about
	reg    regalloc.VReg
	before uint32 // the one before + 1
}

// maxLimits is how many limits of one version are in registers, maxLast the greatest constant.
const maxLimits, maxLast = 3, 4095

// accessCheck is what an access needs: by is the access that checks its address, perhaps itself, or NoInst if the address is surely in memory.
type accessCheck struct {
	by     clif.Inst
	masked regalloc.VReg // of an access that checks: the index that is 0 if the check was misspeculated
}

// begin finds the versions of f's memories.
func (c *checkedMemories) begin(f *clif.Func, o *BlockOrder) {
	c.any = false
	for i := range f.Mod.Memories {
		c.any = c.any || f.Mod.Memories[i].Checked
	}
	if !c.any {
		return
	}
	n := len(o.Blocks)
	c.in, c.out = stop.Zeroed(f.Stop, c.in, n), stop.Zeroed(f.Stop, c.out, n)
	c.first, c.caught = stop.Zeroed(f.Stop, c.first, n+1), stop.Resize(f.Stop, c.caught, n)
	c.behind, c.uses, c.limits = c.behind[:0], c.uses[:0], c.limits[:0]
	for b := range o.Blocks {
		c.first[b], c.caught[b] = uint32(len(c.behind)), clif.NoInst
		if orig := o.Blocks[b].Orig; orig != clif.NoBlock {
			bd := &f.Blocks[orig]
			c.caught[b] = f.CaughtCall(orig)
			for i := bd.Start; i < bd.End; i++ {
				f.Stop.PollAt(int(i))
				if d := &f.Insts[i]; i != c.caught[b] && d.Op.Has(effect.Writes) && f.Mod.WrittenBy(d)&clif.StateMemorySize != 0 {
					c.behind = append(c.behind, i)
				}
			}
		}
	}
	c.first[n] = uint32(len(c.behind))
	c.lists = stop.Zeroed(f.Stop, c.lists, n+1+len(c.behind))
	c.findPreds(f, o)
	c.flow(f, o)
}

// findPreds fills preds.
func (c *checkedMemories) findPreds(f *clif.Func, o *BlockOrder) {
	c.predStart = stop.Zeroed(f.Stop, c.predStart, len(o.Blocks)+1)
	for i := range o.Succs {
		f.Stop.PollAt(i)
		c.predStart[o.Succs[i].To+1]++
	}
	for b := range o.Blocks {
		c.predStart[b+1] += c.predStart[b]
	}
	c.preds = stop.Resize(f.Stop, c.preds, len(o.Succs))
	for b := len(o.Blocks) - 1; b >= 0; b-- {
		f.Stop.PollAt(b)
		for _, s := range o.SuccsOf(b) {
			c.predStart[s.To+1]--
			c.preds[c.predStart[s.To+1]] = uint32(b)
		}
	}
	// What is left of predStart[b+1] is where the list of b begins.
	copy(c.predStart, c.predStart[1:])
	c.predStart[len(o.Blocks)] = uint32(len(o.Succs))
}

// lost is the version at the end of a block that a call ends: what follows begins its own.
const lost = ^uint32(0)

// maxRounds is how often flow looks at all blocks before it lets each block where ways meet begin a version.
const maxRounds = 8

// flow fills in and out. A block has the version of its predecessors, or begins one if these differ. It begins one for good:
// the others only follow, so that this ends.
func (c *checkedMemories) flow(f *clif.Func, o *BlockOrder) {
	for round, changed := 0, true; changed; round++ {
		changed = false
		for b := range o.Blocks {
			f.Stop.PollAt(b)
			own := uint32(b + 1)
			v := own
			if c.in[b] != own && b > 0 {
				v = c.meet(o, uint32(b), round >= maxRounds)
			}
			out := v
			if c.first[b] < c.first[b+1] {
				out = c.afterInst(o, c.first[b+1]-1)
			}
			if c.caught[b] != clif.NoInst {
				out = lost
			}
			if c.in[b] != v || c.out[b] != out {
				c.in[b], c.out[b], changed = v, out, true
			}
		}
	}
}

// meet returns the version at the start of block b by those at the ends of its predecessors, of which those that were not reached yet, 0, do not count.
// A block without code of its own has no place to begin a version: its successor does.
func (c *checkedMemories) meet(o *BlockOrder, b uint32, apart bool) uint32 {
	own, v := b+1, uint32(0)
	preds := c.preds[c.predStart[b]:c.predStart[b+1]]
	if apart && len(preds) > 1 {
		return own
	}
	for _, p := range preds {
		switch at := c.out[p]; {
		case at == 0:
		case at == lost:
			return own
		case v != 0 && v != at, int(at) <= len(o.Blocks) && o.Blocks[at-1].Orig == clif.NoBlock:
			return own
		default:
			v = at
		}
	}
	return v
}

// afterInst returns the version that begins behind instruction c.behind[n].
func (c *checkedMemories) afterInst(o *BlockOrder, n uint32) uint32 {
	return uint32(len(o.Blocks)) + 1 + n
}

// use returns version v of memory m.
func (c *checkedMemories) use(v, m uint32) *versionUse {
	for n := c.lists[v]; n != 0; n = c.uses[n-1].next {
		if c.uses[n-1].memory == m {
			return &c.uses[n-1]
		}
	}
	c.uses = append(c.uses, versionUse{memory: m, base: regalloc.NoVReg, size: regalloc.NoVReg, next: c.lists[v]})
	c.lists[v] = uint32(len(c.uses))
	return &c.uses[len(c.uses)-1]
}

// analyseChecked notes which versions of memories are used, where their descriptors are read, and which accesses check what others rely on.
func (l *Place) analyseChecked() {
	c := &l.checked
	if !c.any {
		return
	}
	f := l.F
	c.checks = stop.Resize(f.Stop, c.checks, len(f.Insts))
	for b := range l.Order.Blocks {
		l.eachChecked(b, func(i clif.Inst, d *clif.InstData, m, version uint32) {
			if d.Op != clif.OpMemorySize && d.Op != clif.OpMemoryGrow {
				c.use(version, m)
			}
			if d.Op == clif.OpLoad || d.Op == clif.OpStore {
				c.checks[i] = accessCheck{l.checkFor(i, d, uint32(b)), regalloc.NoVReg}
				if c.checks[i].by == i {
					l.noteLimit(d, b, version)
				}
			}
		})
	}
	for b := range l.Order.Blocks {
		l.expectVersion(b, uint32(b+1))
		for n := c.first[b]; n < c.first[b+1]; n++ {
			l.expectVersion(b, c.afterInst(l.Order, n))
		}
		l.eachChecked(b, func(_ clif.Inst, d *clif.InstData, m, _ uint32) {
			if d.Op == clif.OpMemorySize || d.Op == clif.OpMemoryGrow {
				l.expect(int(m), b)
			}
		})
	}
}

// expectVersion notes that block b reads descriptors for version v.
func (l *Place) expectVersion(b int, v uint32) {
	c := &l.checked
	for n := c.lists[v]; n != 0; n = c.uses[n-1].next {
		l.expect(int(c.uses[n-1].memory), b)
	}
}

// eachChecked calls do for each instruction of block b of the order and each checked memory that it names, with the version in front of it.
func (l *Place) eachChecked(b int, do func(i clif.Inst, d *clif.InstData, m, version uint32)) {
	orig := l.Order.Blocks[b].Orig
	if orig == clif.NoBlock {
		return
	}
	c := &l.checked
	bd, version, n := &l.F.Blocks[orig], c.in[b], c.first[b]
	for i := bd.Start; i < bd.End; i++ {
		l.F.Stop.PollAt(int(i))
		d := &l.F.Insts[i]
		info := d.Op.Info()
		if info.Entity == clif.EntMemory && l.isChecked(d.Aux) {
			do(i, d, d.Aux, version)
		}
		if info.Entity2 == clif.EntMemory && l.isChecked(uint32(d.Imm)) {
			do(i, d, uint32(d.Imm), version)
		}
		if n < c.first[b+1] && c.behind[n] == i {
			version = c.afterInst(l.Order, n)
			n++
		}
	}
}

// isChecked reports whether accesses to memory m are checked.
func (l *Query) isChecked(m uint32) bool { return l.Mod.Memories[m].Checked }

// checkFor returns which instruction checks the address of the access i in block b. Blocks are visited in order.
func (l *Place) checkFor(i clif.Inst, d *clif.InstData, b uint32) clif.Inst {
	if endOf(d) > l.surely(d.Aux) && !l.noSpectre {
		return i // Checked masks the sum with the offset, which nothing else can take.
	}
	return l.inBoundsBy(i, d, b)
}

// noteLimit notes that the check of access d, in block b, compares with a version's size less a constant.
func (l *Place) noteLimit(d *clif.InstData, b int, version uint32) {
	last := endOf(d) - 1
	if last == 0 || last > maxLast || last >= l.surely(d.Aux) {
		return
	}
	gain := uint32(1)
	if l.Order.Blocks[b].LoopDepth > l.Order.Blocks[l.checked.blockOf(l.Order, version)].LoopDepth {
		gain = 2
	}
	u := l.checked.use(version, d.Aux)
	count := 0
	for n := u.limits; n != 0; n = l.checked.limits[n-1].before {
		if x := &l.checked.limits[n-1]; x.last == last {
			x.gain += gain
			return
		}
		count++
	}
	if count < maxLimits {
		l.checked.limits = append(l.checked.limits, sizeLimit{last, gain, regalloc.NoVReg, u.limits})
		u.limits = uint32(len(l.checked.limits))
	}
}

// blockOf returns the block in which a version begins.
func (c *checkedMemories) blockOf(o *BlockOrder, version uint32) int {
	n := uint32(len(o.Blocks))
	if version <= n {
		return int(version - 1)
	}
	b, _ := slices.BinarySearch(c.first, version-n) // the first block whose list begins behind it
	return b - 1
}

// limit returns the register with the size of the current version less last, or NoVReg if it is not worth it.
func (l *Place) limit(m uint32, last uint64) regalloc.VReg {
	c := &l.checked
	for n := c.use(c.version, m).limits; n != 0; n = c.limits[n-1].before {
		x := &c.limits[n-1]
		if x.last == last && x.gain > 1 {
			if x.reg == regalloc.NoVReg {
				x.reg = l.NewVReg(clif.I64)
			}
			return x.reg
		}
	}
	return regalloc.NoVReg
}

// beginVersion appends the loads of the current version's bases and sizes, as far as something uses them.
func (l *lowering) beginVersion() {
	c := &l.checked
	for n := c.lists[c.version]; n != 0; n = c.uses[n-1].next {
		u := &c.uses[n-1]
		for k := u.limits; k != 0; k = c.limits[k-1].before {
			if x := &c.limits[k-1]; x.reg != regalloc.NoVReg {
				l.group(0)
				l.Target.Sum(&l.Emit, l.memSize(u.memory), SumTerm{V: clif.NoValue, K: -int64(x.last)}, x.reg)
			}
		}
		if u.base == regalloc.NoVReg && u.size == regalloc.NoVReg {
			continue
		}
		at := l.base(int(u.memory))
		l.group(0)
		if u.base != regalloc.NoVReg {
			l.loadWord(Based(at, abi.MemoryBaseOffset), u.base)
		}
		if u.size != regalloc.NoVReg {
			l.loadWord(Based(at, abi.MemorySizeOffset), u.size)
		}
	}
}

// enterVersions is called before block b is lowered, from its end.
func (l *Place) enterVersions(b int) {
	c := &l.checked
	if !c.any {
		return
	}
	switch c.version = c.out[b]; {
	case c.version != lost:
	case c.first[b] < c.first[b+1]:
		c.version = c.afterInst(l.Order, c.first[b+1]-1)
	default:
		c.version = c.in[b]
	}
}

// passVersion is called before instruction i of block b is lowered, and begins the version behind it if there is one.
func (l *lowering) passVersion(b int, i clif.Inst) {
	c := &l.checked
	if !c.any || int(c.version) <= len(l.Order.Blocks) {
		return
	}
	n := c.version - uint32(len(l.Order.Blocks)) - 1
	if n < c.first[b] || n >= c.first[b+1] || c.behind[n] != i {
		return
	}
	l.beginVersion()
	if c.version = c.in[b]; n > c.first[b] {
		c.version = c.afterInst(l.Order, n-1)
	}
}

// leaveVersions is called when the instructions of block b have been lowered, up to its start.
func (l *lowering) leaveVersions(b int) {
	if l.checked.any && l.checked.version == uint32(b+1) {
		l.beginVersion()
	}
}

// MemBase returns the register that holds the base of memory m.
func (l *Place) MemBase(m clif.MemoryIndex) regalloc.VReg {
	if !l.isChecked(uint32(m)) {
		return l.base(int(m))
	}
	u := l.checked.use(l.checked.version, uint32(m))
	if u.base == regalloc.NoVReg {
		u.base = l.NewVReg(clif.I64)
	}
	return u.base
}

// memSize returns the register that holds the size of the checked memory m.
func (l *Place) memSize(m uint32) regalloc.VReg {
	u := l.checked.use(l.checked.version, m)
	if u.size == regalloc.NoVReg {
		u.size = l.NewVReg(clif.I64)
	}
	return u.size
}

// CheckedPlace is where an access to a checked memory is: at Base + Index + Offset, behind a check if Check is set: Index + Last is in front of Size.
// The machine appends the check with PushCheck.
type CheckedPlace struct {
	Base, Index regalloc.VReg
	Offset      uint64
	Check       bool
	Size        regalloc.VReg
	Last        uint64
	inst        clif.Inst
}

// Checked returns the place of the access i, which d describes. ok is false if the memory is not checked. far makes a register with the sum of an address and a
// constant: if an offset is beyond what the memory surely has, the sum is what is checked.
func (l *Emit) Checked(i clif.Inst, d *clif.InstData, far func(l *Emit, addr clif.Value, k uint64) regalloc.VReg) (p CheckedPlace, ok bool) {
	if !l.isChecked(d.Aux) {
		return p, false
	}
	check := &l.checked.checks[i]
	p = CheckedPlace{Base: l.HeapBase(d.Aux, d.ArgA()), Offset: min(d.Imm, 1<<32), inst: check.by}
	width := endOf(d) - p.Offset
	switch {
	case check.by == clif.NoInst || check.by != i && l.noSpectre:
		p.Index = l.Use(d.ArgA())
		return p, true
	case check.by != i:
		p.Index = l.masked(check.by)
		return p, true
	}
	p.Check, p.Last = true, endOf(d)-1
	if p.Size = l.limit(d.Aux, p.Last); p.Size != regalloc.NoVReg {
		p.Index, p.Last = l.Use(d.ArgA()), 0
		return p, true
	}
	p.Size = l.memSize(d.Aux)
	if endOf(d) > l.surely(d.Aux) && p.Offset != 0 && !l.noSpectre {
		p.Index = far(l, d.ArgA(), p.Offset)
		p.Offset, p.Last = 0, width-1
	} else {
		p.Index = l.Use(d.ArgA())
	}
	return p, true
}

// masked returns the register of the index that the check of access i gives.
func (l *Place) masked(i clif.Inst) regalloc.VReg {
	c := &l.checked.checks[i]
	if c.masked == regalloc.NoVReg {
		c.masked = l.NewVReg(clif.I64)
	}
	return c.masked
}

// PushCheck appends the check of a place: cmp compares its last byte with the memory's size, and cond holds if the access traps. plus returns a register with
// x + k.
func (l *Emit) PushCheck(p *CheckedPlace, cmp Op, cond uint8, plus func(l *Emit, x regalloc.VReg, k uint64) regalloc.VReg) {
	last := p.Index
	if p.Last != 0 {
		last = plus(l, p.Index, p.Last)
	}
	c := Comparing(Inst{Op: cmp, Size: 8}, cond)
	c.Add(last, p.Size)
	c.In.Trap = uint8(abi.TrapMemoryOutOfBounds)
	if l.noSpectre {
		c.Push(l, TailTrap, 0)
	} else {
		masked := l.masked(p.inst)
		c.Push(l, TailBound, 0, p.Index, masked)
		p.Index = masked
	}
	l.meta[len(l.meta)-1].src = l.F.Srcs[p.inst]
}
