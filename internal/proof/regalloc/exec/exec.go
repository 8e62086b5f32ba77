// Package exec executes code twice at once: over virtual registers, and over the
// locations of its register allocation. Along a path it computes each virtual register's
// value and the content of the machine's registers and memory, and compares them at each read. So
// tests know whether a wrong allocation changes what code does. It shares nothing with
// the checker, and knows neither claims nor liveness.
//
// Values are opaque: each execution of a definition makes a new one. Whatever the
// contract of regalloc leaves open is decided against the allocation, or at random:
// what may be written early is written early, definitions are written in any order, clobbered
// registers hold garbage, and a collector moves every object at each safepoint.
//
// Place in the pipeline: tests and fuzzing only.
//
// Input: a valid regalloc.Input, the regalloc.MachineEnv, a regalloc.Output that
// may be wrong in any way, a source of random numbers.
// Output: nil, or how the machine deviates from the meaning of the code.
package exec

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"

	"github.com/waot-project/waot/regalloc"
)

// Path says where to go: as directly as chance has it to the block Through, and
// from there anywhere, for at most Steps instructions after it was reached.
type Path struct {
	Through regalloc.Block
	Steps   int
}

// ErrMalformed is wrapped by errors about outputs that cannot be emitted at all.
var ErrMalformed = errors.New("malformed output")

// content is what a word of the machine holds: half number part of the value id,
// and where the collector had put objects then. The zero value is garbage.
type content struct {
	id    uint64
	epoch uint32
	part  uint8
}

const (
	// constantID and savedID are the first of the values of rematerialisable
	// virtual registers and of callee-saved registers at entry.
	constantID = 1 << 62
	savedID    = 1 << 61
	// halfID is part of the values of 4 bytes, which others do not survive the moves of. They do not survive moves of 8 bytes from memory, which
	// has 4.
	halfID = 1 << 60
	// maxWords bounds the spill area.
	maxWords = 1 << 20
)

// Executor is a context that keeps its memory between runs.
type Executor struct {
	in  *regalloc.Input
	env *regalloc.MachineEnv
	out *regalloc.Output

	vals        []uint64 // the value of each virtual register
	regs        [64][2]content
	slots, args []content
	last        uint64 // value
	epoch       uint32
	edit        int // next edit
	rand        *rand.Rand
	where       []regalloc.Allocation
	kept        [64]content // what the frame has saved of registers, the low halves
	made        []uint64    // values that the instruction defines, by operand

	dist  []int32 // edges from each block to Path.Through
	queue []regalloc.Block
}

// Run executes out along one path. An error tells a difference of meaning, or
// wraps ErrMalformed.
func (x *Executor) Run(r *rand.Rand, in *regalloc.Input, env *regalloc.MachineEnv, out *regalloc.Output, path Path) error {
	x.in, x.env, x.out, x.rand = in, env, out, r
	if err := x.check(); err != nil {
		return err
	}
	x.reset()
	x.distances(path.Through)
	steps, reached := path.Steps, false
	b := regalloc.Block(0)
	for n := 0; ; n++ {
		reached = reached || b == path.Through
		x.save(b)
		if err := x.block(b); err != nil {
			return fmt.Errorf("block%d: %w", b, err)
		}
		x.restore(b)
		if reached || x.dist[b] == 0 {
			steps -= in.Blocks[b].Insts.Len()
		}
		succs := in.SuccsOf(b)
		if len(succs) == 0 {
			return x.checkReturn()
		}
		if steps <= 0 {
			return nil
		}
		// Detours on the way are random, and have an end.
		direct := n > 4*len(in.Blocks) || r.IntN(4) > 0
		k := x.choose(r, succs, !reached, direct)
		if end := regalloc.Inst(in.Blocks[b].Insts.End - 1); k == 1 && in.Insts[end].Flags&regalloc.MayThrow != 0 {
			x.unwind(end)
		}
		b = x.follow(succs[k])
	}
}

// check reports an out that cannot be emitted, whatever path is executed.
func (x *Executor) check() error {
	in, out := x.in, x.out
	bad := func(msg string) error { return fmt.Errorf("%w: %s", ErrMalformed, msg) }
	switch {
	case len(out.Allocs) != len(in.Operands):
		return bad("allocations are missing")
	case out.SlotWords < 0 || out.SlotWords > maxWords:
		return bad("no such size of the spill area")
	case !slices.IsSortedFunc(out.Edits, func(a, b regalloc.Edit) int { return int(int64(a.Point) - int64(b.Point)) }):
		return bad("edits are out of order")
	}
	if n := len(out.Unsaved); n != 0 && n != len(in.Blocks) {
		return bad("blocks are unsaved that do not exist")
	}
	for b := range in.Blocks {
		succs := in.SuccsOf(regalloc.Block(b))
		for _, e := range succs {
			if len(succs) > 1 && !out.UnsavedIn(regalloc.Block(b)) && out.UnsavedIn(e.To) {
				return bad("nothing can be restored on one edge out of several")
			}
		}
	}
	for _, e := range out.Edits {
		i := e.Point.Inst()
		if int64(i) >= int64(len(in.Insts)) || e.Point == regalloc.Before(0) ||
			e.Point.IsAfter() && in.Insts[i].Flags&regalloc.IsTerminator != 0 {
			return bad(e.String() + ": nothing can be put there")
		}
	}
	for k, m := range out.StackMaps {
		if int64(m.Inst) >= int64(len(in.Insts)) || k > 0 && m.Inst <= out.StackMaps[k-1].Inst ||
			m.Slots.Start > m.Slots.End || int64(m.Slots.End) > int64(len(out.StackMapSlots)) {
			return bad("stack maps are out of order")
		}
	}
	return nil
}

// reset makes the state at entry.
func (x *Executor) reset() {
	x.vals = append(x.vals[:0], make([]uint64, len(x.in.VRegs))...)
	x.slots = append(x.slots[:0], make([]content, x.out.SlotWords)...)
	x.args = append(x.args[:0], make([]content, x.in.ArgWords)...)
	x.last, x.epoch, x.kept = 0, 1, [64]content{}
	for p := range x.regs {
		x.regs[p] = [2]content{}
		if x.env.CalleeSaved.Has(regalloc.PReg(p)) {
			x.regs[p] = [2]content{{savedID + uint64(p), 0, 0}, {savedID + uint64(p), 0, 1}}
		}
	}
}

// distances sets x.dist.
func (x *Executor) distances(to regalloc.Block) {
	x.dist = append(x.dist[:0], make([]int32, len(x.in.Blocks))...)
	x.dist[to] = 1
	x.queue = append(x.queue[:0], to)
	for k := 0; k < len(x.queue); k++ {
		b := x.queue[k]
		for _, p := range x.in.PredsOf(b) {
			if x.dist[p] == 0 {
				x.dist[p] = x.dist[b] + 1
				x.queue = append(x.queue, p)
			}
		}
	}
}

// choose picks a random edge, by its number. On the way to Path.Through it picks an edge from which that
// block can be reached; if direct is set, one of the nearest to it.
func (x *Executor) choose(r *rand.Rand, succs []regalloc.Edge, to, direct bool) int {
	start := r.IntN(len(succs))
	best := start
	if !to {
		return best
	}
	for k := range succs {
		k = (start + k) % len(succs)
		if d, least := x.dist[succs[k].To], x.dist[succs[best].To]; d != 0 && (least == 0 || direct && d < least) {
			best = k
		}
	}
	return best
}

// follow assigns the parameters of the edge's target, which it returns.
func (x *Executor) follow(e regalloc.Edge) regalloc.Block {
	x.made = x.made[:0]
	for _, a := range x.in.ArgsOf(e) {
		x.made = append(x.made, x.vals[a])
	}
	for k, p := range x.in.ParamsOf(e.To) {
		x.vals[p] = x.made[k]
	}
	return e.To
}

func (x *Executor) block(b regalloc.Block) error {
	r := x.in.Blocks[b].Insts
	first := regalloc.Before(regalloc.Inst(r.Start))
	x.edit = sort.Search(len(x.out.Edits), func(k int) bool { return x.out.Edits[k].Point >= first })
	for i := regalloc.Inst(r.Start); i < regalloc.Inst(r.End); i++ {
		if err := x.editsAt(regalloc.Before(i)); err != nil {
			return err
		}
		if err := x.inst(i); err != nil {
			return fmt.Errorf("inst%d: %w", i, err)
		}
		if err := x.editsAt(regalloc.After(i)); err != nil {
			return err
		}
	}
	return nil
}

// save does what the code does at the start of block b: the frame keeps the low halves of the callee-saved registers that are known
// as used, if the block before is one where they are not saved. The prologue does it for the entry.
func (x *Executor) save(b regalloc.Block) {
	if !x.out.SavesAt(x.in, b) {
		return
	}
	for m := x.env.CalleeSaved & x.out.Used; m != 0; m = m.Remove(m.First()) {
		x.kept[m.First()] = x.regs[m.First()][0]
	}
}

// restore does what the code does at the end of block b, behind the edits.
func (x *Executor) restore(b regalloc.Block) {
	succs := x.in.SuccsOf(b)
	if !x.out.RestoresAt(x.in, b) && (len(succs) > 0 || x.out.UnsavedIn(b)) {
		return
	}
	for m := x.env.CalleeSaved & x.out.Used; m != 0; m = m.Remove(m.First()) {
		x.regs[m.First()] = [2]content{x.kept[m.First()]}
	}
}

// checkReturn reports callee-saved registers that have changed.
func (x *Executor) checkReturn() error {
	for m := x.env.CalleeSaved; m != 0; m = m.Remove(m.First()) {
		p := m.First()
		if x.regs[p][0].id != savedID+uint64(p) {
			return fmt.Errorf("callee-saved %v has changed on return", p)
		}
	}
	return nil
}

// words returns the location a, of n words; nil if there is none. Two words of memory that begin at an odd
// one are none: an instruction that needs them aligned faults.
func (x *Executor) words(a regalloc.Allocation, n int) []content {
	k := a.Index()
	switch {
	case a.IsReg() && k < len(x.regs):
		return x.regs[k][:n]
	case n == 2 && k&1 != 0:
		return nil
	case a.IsSlot() && k+n <= len(x.slots):
		return x.slots[k : k+n]
	case a.IsArg() && k+n <= len(x.args):
		return x.args[k : k+n]
	}
	return nil
}

func (x *Executor) size(v regalloc.VReg) int { return x.in.VRegs[v].Words() }

// moves reports whether the value id of v is a reference to an object that moves.
func (x *Executor) moves(v regalloc.VReg, id uint64) bool {
	return x.in.VRegs[v].Ref && id < constantID
}

// put writes the value id of v to a.
func (x *Executor) put(a regalloc.Allocation, v regalloc.VReg, id uint64) {
	epoch := uint32(0)
	if x.moves(v, id) {
		epoch = x.epoch
	}
	w := x.words(a, x.size(v))
	for k := range w {
		w[k] = content{id, epoch, uint8(k)}
	}
	if a.IsReg() && len(w) == 1 {
		x.regs[a.Index()][1] = content{}
	}
}

// read compares what a holds with the value of v.
func (x *Executor) read(a regalloc.Allocation, v regalloc.VReg) error {
	id, epoch := x.vals[v], uint32(0)
	if x.moves(v, id) {
		epoch = x.epoch
	}
	for k, got := range x.words(a, x.size(v)) {
		if got != (content{id, epoch, uint8(k)}) || id == 0 {
			return fmt.Errorf("reads something else than %v in %v", v, a)
		}
	}
	return nil
}

// editsAt executes the edits at p, the next in order.
func (x *Executor) editsAt(p regalloc.ProgPoint) error {
	for ; x.edit < len(x.out.Edits) && x.out.Edits[x.edit].Point == p; x.edit++ {
		e := x.out.Edits[x.edit]
		if err := x.apply(e); err != nil {
			return fmt.Errorf("%v: %w", e, err)
		}
	}
	return nil
}

func (x *Executor) apply(e regalloc.Edit) error {
	may := x.env.Allocatable | x.scratch()
	if e.To.IsReg() && (e.To.Index() >= len(x.regs) || !may.Has(e.To.Reg())) {
		return errors.New("writes a register it may not")
	}
	switch e.Kind {
	case regalloc.Remat, regalloc.StoreConst:
		return x.remat(e)
	case regalloc.Swap:
		return x.swap(e)
	}
	n := int(e.Bytes+7) / 8
	if e.Kind != regalloc.Move || e.Bytes != 4 && e.Bytes != 8 && e.Bytes != 16 || e.From.IsMem() && e.To.IsMem() || e.To.IsArg() && !x.maySetArg(e) {
		return errors.New("there is no such move")
	}
	from, to := x.words(e.From, n), x.words(e.To, n)
	if from == nil || to == nil {
		return errors.New("there is no such location")
	}
	for _, a := range [...]regalloc.Allocation{e.From, e.To} {
		if n == 2 && a.IsReg() && a.Reg().Class() == regalloc.Int {
			return errors.New("16 bytes in an int register")
		}
	}
	copy(to, from)
	if half := from[0].id&halfID != 0; e.Bytes == 4 && !half || e.Bytes == 8 && half && e.From.IsMem() {
		to[0] = content{}
	}
	if e.To.IsReg() && n == 1 {
		x.regs[e.To.Index()][1] = content{}
	}
	return nil
}

// maySetArg reports whether e may write an argument word: it stands in front of a tail call.
func (x *Executor) maySetArg(e regalloc.Edit) bool {
	return !e.Point.IsAfter() && x.in.Insts[e.Point.Inst()].Flags&regalloc.IsTailCall != 0
}

// remat makes a value again, in a register or in a slot. The instruction may change the int scratch register.
func (x *Executor) remat(e regalloc.Edit) error {
	if int64(e.Inst) >= int64(len(x.in.Insts)) {
		return errors.New("there is no such instruction")
	}
	ops := x.in.OperandsOf(e.Inst)
	if len(ops) != 1 || x.in.VRegs[ops[0].VReg].Remat != e.Inst {
		return errors.New("the instruction cannot be repeated so")
	}
	v := ops[0].VReg
	info := x.in.VRegs[v]
	switch {
	case e.Kind == regalloc.Remat:
		if !e.To.IsReg() || e.To.Reg().Class() != info.Class {
			return errors.New("the instruction cannot be repeated so")
		}
	case !info.Storable || e.Bytes != info.Bytes || !e.To.IsSlot() && (!e.To.IsArg() || !x.maySetArg(e)):
		return errors.New("there is no such store")
	case x.words(e.To, info.Words()) == nil:
		return errors.New("there is no such location")
	}
	x.clobber(regalloc.WholeRegs(x.scratch().OfClass(regalloc.Int)))
	x.put(e.To, v, x.constant(v))
	return nil
}

// swap exchanges two int registers.
func (x *Executor) swap(e regalloc.Edit) error {
	for _, a := range [...]regalloc.Allocation{e.From, e.To} {
		if !a.IsReg() || a.Index() >= len(x.regs) || !x.env.Swaps.Has(a.Reg()) {
			return errors.New("there is no such swap")
		}
	}
	if e.From == e.To || e.Bytes != 8 {
		return errors.New("there is no such swap")
	}
	from, to := &x.regs[e.From.Index()], &x.regs[e.To.Index()]
	*from, *to = *to, *from
	return nil
}

func (x *Executor) scratch() (s regalloc.PRegSet) {
	for _, p := range x.env.Scratch {
		if p != regalloc.NoPReg {
			s = s.Add(p)
		}
	}
	return s
}
