package opt

import (
	"math"
	"strings"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/effect"
	"github.com/waot-project/waot/internal/stop"
)

// This file draws the conclusions of the pass fold from addresses of linear memory. Memories never shrink, and most end at least
// 1 MiB below 2^32 bytes (abi.MemoryLimit). So after an access at x that did not trap, x plus the end of the
// access is in memory. Two things follow: x plus a constant does not wrap if the constant is less than that end plus the distance from the largest memory to 2^32,
// and a narrower access at x does not trap.

// bounds holds what the accesses on the path to this point have proved. Few values are addresses, so the table by value has small numbers.
type bounds struct {
	of    []uint32 // by value: 1 plus the position in known, 0 if nothing is known
	known []bound
	log   []boundBefore
}

// bound holds facts about a value as an address of memory 0.
type bound struct {
	end uint64 // the memory has that many bytes from the address on, or more
	// base is the value itself if it was an address, or else the last sum of it and a constant that was one, plus 1; 0 if there is none.
	base uint32
}

// boundBefore is where what was known of a value before is.
type boundBefore struct {
	v  clif.Value
	at uint32
}

func (b *bounds) reset(f *stop.Flag, values int) {
	b.undo(0)
	if n := values + values/4; n > len(b.of) {
		b.of = stop.Zeroed(f, b.of, n)
	}
}

func (b *bounds) mark() int { return len(b.log) }

// undo forgets what was noted behind mark: the last of known, one for each entry of the log.
func (b *bounds) undo(mark int) {
	for i := len(b.log) - 1; i >= mark; i-- {
		b.of[b.log[i].v] = b.log[i].at
	}
	b.log, b.known = b.log[:mark], b.known[:mark]
}

func (b *bounds) get(v clif.Value) (x bound) {
	if int(v) < len(b.of) && b.of[v] != 0 {
		x = b.known[b.of[v]-1]
	}
	return x
}

func (b *bounds) set(f *stop.Flag, v clif.Value, x bound) {
	if n, more := len(b.of), int(v)/4+1; int(v) >= n { // elements behind the last were never written
		b.of = stop.Grow(f, b.of, int(v)+more-n)[:int(v)+more]
	}
	b.log, b.known = stop.Append(f, b.log, boundBefore{v, b.of[v]}), append(stop.Room(f, b.known), x)
	b.of[v] = uint32(len(b.known))
}

// accessed notes that the load or store d did not trap.
func (c *folder) accessed(d *clif.InstData) {
	addr, end := d.ArgA(), d.Imm+uint64(d.Access().Bytes(d.Type))
	if d.Aux != 0 || d.Imm > math.MaxUint32 || c.f.TypeOf(addr) != clif.I32 {
		return
	}
	x, _ := c.sum(addr)
	old := c.bounds.get(addr)
	now := bound{max(old.end, end), old.base}
	if x == addr {
		now.base = uint32(addr) + 1
	}
	if now != old {
		c.bounds.set(c.f.Stop, addr, now)
	}
	if x == addr {
		return
	}
	if old := c.bounds.get(x); old.base != uint32(x)+1 && old.base != uint32(addr)+1 {
		c.bounds.set(c.f.Stop, x, bound{old.end, uint32(addr) + 1})
	}
}

// sum splits the address v into x + k, modulo 2^32; k is 0 if v is no such sum.
func (c *folder) sum(v clif.Value) (x clif.Value, k uint64) {
	if in := c.defOp(v, clif.OpIadd); in != nil && in.Type == clif.I32 {
		if k, ok := c.constant(in.ArgB()); ok {
			return in.ArgA(), k
		}
	}
	return v, 0
}

// address replaces the address of the access d by another, which was one before, and puts the difference into the offset. The
// difference is a constant that does not leave what is known to be in memory, so that the sum does not wrap. Machines have
// no use for offsets of 2^31 and more.
func (c *folder) address(d *clif.InstData) {
	x, k := c.sum(d.ArgA())
	at := c.bounds.get(x)
	if d.Aux != 0 || at.base == 0 {
		return
	}
	base := clif.Value(at.base - 1)
	_, start := c.sum(base)
	if k = c.trunc(clif.I32, k-start); base != d.ArgA() && k < c.bounds.get(base).end+c.spare() && k+d.Imm <= math.MaxInt32 && c.may(RuleAddressSum) {
		d.Args[0], d.Imm = uint32(base), d.Imm+k
	}
}

// inSpace reports whether the access d does not wrap, nor leave the 2^32 bytes, as an access through the same address shows.
func (c *folder) inSpace(d *clif.InstData) bool {
	end := c.bounds.get(d.ArgA()).end
	return d.Aux == 0 && end > 0 && d.Imm < end+c.spare()
}

// spare is how many bytes addresses can reach that memory 0 never has.
func (c *folder) spare() uint64 {
	space, most := uint64(1)<<c.bits(clif.I32), c.f.Mod.Memories[0].MaxPages()*abi.PageSize
	return max(space, most) - most
}

// ruleLoad simplifies the address, and loads 4 bytes instead of 8 if nothing needs the others and they are in memory.
func ruleLoad(c *folder, d *clif.InstData) (clif.Value, bool) {
	c.address(d)
	if d.Type != clif.I64 || d.Access() != clif.Full || d.Aux != 0 || !c.demand.onlyLow(d.Result) || c.bounds.get(d.ArgA()).end < d.Imm+8 ||
		c.loaded(d) != nil || !c.may(RuleLoadLow) {
		return none, false
	}
	load := clif.InstData{Op: clif.OpLoad, Type: clif.I32, Cond: uint8(clif.Full), Aux: d.Aux, Args: [3]uint32{d.Args[0]}, Imm: d.Imm, NumResults: 1}
	if f := c.loaded(&load); f != nil {
		load.Result = f.value // all of it: this is no narrow load of 32 bits
	} else {
		load.Result = clif.Value(len(c.f.Values))
		c.f.Values = append(stop.Room(c.f.Stop, c.f.Values), clif.ValueData{Type: clif.I32})
		c.read(&load)
		c.place(&load)
	}
	*d = clif.InstData{Op: clif.OpUextend, Type: clif.I64, Args: [3]uint32{uint32(load.Result)}, Result: d.Result, NumResults: 1}
	return none, true
}

// demand is which values have a use that needs more than their low half, before the pass.
type demand struct {
	upper []bool // by value
}

// compute fills upper. Uses come before definitions, except where values go around a loop as parameters, whose upper halves
// are needed.
func (u *demand) compute(f *clif.Func, order []clif.Block) {
	u.upper = stop.Zeroed(f.Stop, u.upper, len(f.Values))
	for n := len(order) - 1; n >= 0; n-- {
		b := &f.Blocks[order[n]]
		for i := b.End; i > b.Start; i-- {
			f.Stop.PollAt(int(i))
			d := &f.Insts[i-1]
			switch {
			case d.Op == clif.OpIreduce || d.Type == clif.I32 && narrow[d.Op]: // needs no upper half, or has no operand with one
			case lowMakesLow[d.Op] && !u.upper[d.Result]:
				if d.Op == clif.OpIshl {
					u.upper[f.Resolve(d.ArgB())] = true
				}
			default:
				u.uses(f, d)
			}
		}
	}
}

// uses notes that d needs all of its operands.
func (u *demand) uses(f *clif.Func, d *clif.InstData) {
	u.all(f, d.Operands())
	u.all(f, f.ListOperands(d))
	for _, t := range f.TargetsOf(d) {
		u.all(f, f.TargetArgs(clif.Target(t)))
	}
}

func (u *demand) all(f *clif.Func, values []uint32) {
	for _, v := range values {
		u.upper[f.Resolve(clif.Value(v))] = true
	}
}

// onlyLow reports whether all uses of v, a result of the function before the pass, need its low half only.
func (u *demand) onlyLow(v clif.Value) bool { return int(v) < len(u.upper) && !u.upper[v] }

// narrow are the opcodes all of whose operands are i32 if their type is.
// Most instructions of a program have such an opcode and type, and are passed over.
var narrow = func() (of [clif.NumOpcodes]bool) {
	for op := range of {
		info := clif.Opcode(op).Info()
		operands, _, _ := strings.Cut(info.Sig, ":")
		of[op] = info.Sig != "" && !info.Effects.Has(effect.Control) && strings.Trim(operands, "Ci") == ""
	}
	return of
}()

// lowMakesLow are the operations on numbers whose low half depends on the low halves of the operands only; of a shift, on all of the amount.
var lowMakesLow = [clif.NumOpcodes]bool{
	clif.OpIadd: true, clif.OpIsub: true, clif.OpImul: true, clif.OpBand: true, clif.OpBor: true, clif.OpBxor: true, clif.OpIshl: true,
}
