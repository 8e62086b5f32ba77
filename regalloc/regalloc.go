// Package regalloc is the vocabulary and contract of register allocation: what
// a back end hands to an allocator, and what it gets back. It holds no
// algorithm. The terms are those of regalloc2 (Fallin et al.). A PReg is what
// Cranelift and wazero call RealReg.
//
// Place in the pipeline: between lowering, which fills an Input, and emission,
// which reads an Output. The checker reads both and imports nothing else.
//
// Input: a VCode body in final block order, in SSA form over virtual
// registers, without critical edges (I1 to I6 at type Input).
// Output: an Allocation for each Operand, Edits between program points, stack
// maps at safepoints, and an untrusted claim of each block's entry state.
package regalloc

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/waot-project/waot/internal/stop"
)

// ErrTooLarge is wrapped by the errors of allocators about functions that would
// take too much memory.
var ErrTooLarge = errors.New("function too large")

// Class is the bank of registers that a virtual register lives in.
type Class uint8

// The register classes. Float holds scalars and vectors.
const (
	Int Class = iota
	Float
	NumClasses = 2
)

func (c Class) String() string {
	if c == Int {
		return "int"
	}
	return "float"
}

// PReg is a physical register: 0 to 31 are of class Int, 32 to 63 of class
// Float, each in hardware numbering.
type PReg uint8

// NumPRegs is the number of registers.
const NumPRegs = 64

// NoPReg is no register.
const NoPReg PReg = 255

// IntReg returns the integer register with hardware number n (0 to 31).
func IntReg(n int) PReg { return PReg(n) }

// FloatReg returns the float register with hardware number n (0 to 31).
func FloatReg(n int) PReg { return PReg(32 + n) }

// Class returns the bank of p.
func (p PReg) Class() Class { return Class(p >> 5 & 1) }

// Enc returns the hardware number of p (0 to 31).
func (p PReg) Enc() uint8 { return uint8(p & 31) }

func (p PReg) String() string {
	if p == NoPReg {
		return "p-"
	}
	return fmt.Sprintf("p%d%c", p.Enc(), "if"[p.Class()])
}

// PRegSet is a set of physical registers, bit n for PReg n.
type PRegSet uint64

// SetOf returns the set of the given registers.
func SetOf(regs ...PReg) PRegSet {
	var s PRegSet
	for _, r := range regs {
		s |= 1 << r
	}
	return s
}

// Has reports whether p is in s.
func (s PRegSet) Has(p PReg) bool { return s>>p&1 != 0 }

// Add returns s with p.
func (s PRegSet) Add(p PReg) PRegSet { return s | 1<<p }

// Remove returns s without p.
func (s PRegSet) Remove(p PReg) PRegSet { return s &^ (1 << p) }

// Len returns the number of registers in s.
func (s PRegSet) Len() int { return bits.OnesCount64(uint64(s)) }

// First returns the lowest register of s; s must not be empty.
func (s PRegSet) First() PReg { return PReg(bits.TrailingZeros64(uint64(s))) }

// Last returns the highest register of s; s must not be empty.
func (s PRegSet) Last() PReg { return PReg(bits.Len64(uint64(s)) - 1) }

// OfClass returns the registers of s that are of class c.
func (s PRegSet) OfClass(c Class) PRegSet {
	if c == Int {
		return s & 0xffff_ffff
	}
	return s &^ 0xffff_ffff
}

// Clobbers is what an instruction overwrites, by halves of registers. A half that is
// not in it keeps its contents: AArch64's C convention preserves the low 64 bits of v8
// to v15, so a call has these registers in High only. Int registers have no high half.
type Clobbers struct {
	// Low are the registers whose low 64 bits are lost, High those of which the bits
	// from 64 on are.
	Low, High PRegSet
}

// WholeRegs are the clobbers of whole registers.
func WholeRegs(s PRegSet) Clobbers { return Clobbers{s, s} }

// Lost are the registers in which a value of the given number of bytes, 8 or 16, does not
// survive.
func (c Clobbers) Lost(bytes uint8) PRegSet {
	if bytes > 8 {
		return c.Low | c.High
	}
	return c.Low
}

// IsEmpty reports whether c loses nothing.
func (c Clobbers) IsEmpty() bool { return c == Clobbers{} }

// VReg is a virtual register: an index into Input.VRegs. Each has exactly one
// definition (an operand of kind Def, or a block parameter).
type VReg uint32

// NoVReg is no virtual register.
const NoVReg VReg = ^VReg(0)

func (v VReg) String() string { return fmt.Sprintf("%%%d", uint32(v)) }

// VRegInfo describes one virtual register.
type VRegInfo struct {
	Class Class
	// Bytes is how much of a register the value occupies: 8 or 16, or 4 of class Int. A value of 4 bytes is zero-extended
	// to 8 in registers, where instructions may read all 8. In memory it has 4: an instruction that reads more does not take it from there. It is an
	// argument only for parameters of 4 bytes. An f32 counts as 8.
	Bytes uint8
	// Ref marks a reference to a collected object: live across a safepoint, it
	// must be in a slot listed in the stack map.
	Ref bool
	// Storable says of a value with Remat that the machine can make it in a slot without a register (StoreConst).
	Storable bool
	// Remat, if not NoInst, is an instruction without uses, clobbers or effects
	// whose only operand is the definition of this register (constraint Reg):
	// the allocator may repeat it anywhere instead of reloading. It may also leave the instruction itself out, by giving its
	// operand NoAllocation: the definition then puts the value nowhere.
	Remat Inst
}

// Words returns how many words of memory the value needs: 2 if it has 16 bytes.
func (v *VRegInfo) Words() int { return int(v.Bytes+7) / 8 }

// Inst is an index into Input.Insts.
type Inst uint32

// NoInst is no instruction.
const NoInst Inst = ^Inst(0)

// Block is an index into Input.Blocks; block 0 is the entry.
type Block uint32

// Constraint says where an operand's value may be.
type Constraint uint8

// The constraints.
const (
	// Any register of the class, or a spill slot.
	Any Constraint = iota
	// Reg is any register of the class.
	Reg
	// Fixed is the physical register Operand.Arg.
	Fixed
	// Reuse, of a Def only, is the register of the Use operand number
	// Operand.Arg of the same instruction (a two-address instruction). That
	// operand is a Use (not a LateUse) with the constraint Reg or Fixed.
	Reuse
	// FixedArg is word Operand.Arg of the function's argument area, which is even for a value of 16
	// bytes: of a Def in the first instruction, an incoming argument; of a Use in a tail call, of 8 or 16 bytes, an outgoing one.
	FixedArg
)

// Access says what an instruction does with an operand, and when.
type Access uint8

// The accesses. A Use is read before any Def is written, so they may share a
// register. A LateUse must survive all Defs; an EarlyDef must not share a
// register with any Use. Clobbers act together with Defs: they may coincide with
// Uses, but not with LateUses, nor with Defs other than Fixed ones, as far as they
// lose any of the value (Clobbers.Lost). A Def that nothing uses is a temporary or
// dead: it still needs a register.
const (
	Use Access = iota
	LateUse
	Def
	EarlyDef
)

// Reads reports whether the operand's value is read.
func (a Access) Reads() bool { return a <= LateUse }

// Defines reports whether the operand is the definition of its register.
func (a Access) Defines() bool { return a > LateUse }

func (a Access) String() string {
	return [...]string{"use", "late", "def", "early"}[a]
}

// Operand is one mention of a virtual register in an instruction.
type Operand struct {
	VReg       VReg
	Constraint Constraint
	Access     Access
	// Arg is the PReg of Fixed, the operand number of Reuse, the word index of
	// FixedArg, else 0.
	Arg uint16
}

// UseOf returns a Use with the constraint c.
func UseOf(v VReg, c Constraint) Operand { return Operand{VReg: v, Constraint: c} }

// DefOf returns a Def with the constraint c.
func DefOf(v VReg, c Constraint) Operand { return Operand{VReg: v, Constraint: c, Access: Def} }

// FixedUse returns a Use in p.
func FixedUse(v VReg, p PReg) Operand {
	return Operand{VReg: v, Constraint: Fixed, Arg: uint16(p)}
}

// FixedDef returns a Def in p.
func FixedDef(v VReg, p PReg) Operand {
	return Operand{VReg: v, Constraint: Fixed, Access: Def, Arg: uint16(p)}
}

// ReuseDef returns a Def in the register of operand number use.
func ReuseDef(v VReg, use int) Operand {
	return Operand{VReg: v, Constraint: Reuse, Access: Def, Arg: uint16(use)}
}

// StackArgDef returns the Def of the incoming stack argument word (0 to 65535).
func StackArgDef(v VReg, word int) Operand {
	return Operand{VReg: v, Constraint: FixedArg, Access: Def, Arg: uint16(word)}
}

// StackArgUse returns the Use of a tail call in the argument word (0 to 65535).
func StackArgUse(v VReg, word int) Operand {
	return Operand{VReg: v, Constraint: FixedArg, Arg: uint16(word)}
}

// PReg returns the register of a Fixed operand.
func (o Operand) PReg() PReg { return PReg(o.Arg) }

// InstFlags are properties of an instruction that matter to allocation.
type InstFlags uint8

// The flags.
const (
	// Safepoint: live references must be in slots here, as a collector may run (typically a
	// call). That it is set where it must be, checker.Safepoints checks.
	Safepoint InstFlags = 1 << iota
	// IsTerminator: last of its block. One with several successors may read and define
	// values, and be a safepoint: a conditional branch with temporaries, or a call that may throw.
	IsTerminator
	// IsReturn: a terminator without successors whose uses are results.
	IsReturn
	// IsTailCall: a terminator without successors that calls a function in place of this one (I5). Edits in front of it, and no others, write argument words. Callee-saved
	// registers are restored in front of it, as they are in front of a return.
	IsTailCall
	// MayThrow: a terminator with two successors, a call. What it defines exists on the edge to the first; on the other, which leads to a handler, its
	// definitions have no value and their places hold nothing (I3). What survives its clobbers survives on both, since what unwinds restores callee-saved registers.
	MayThrow
)

// InstInfo is what the allocator knows of one instruction.
type InstInfo struct {
	// OperandEnd is the end of the instruction's operands in Input.Operands; they
	// begin where the previous instruction's end.
	OperandEnd uint32
	// Clobbers is an index into Input.ClobberSets (element 0 is empty).
	Clobbers uint16
	Flags    InstFlags
}

// Range is a half-open interval of indices.
type Range struct{ Start, End uint32 }

// Len returns the number of indices.
func (r Range) Len() int { return int(r.End - r.Start) }

// BlockInfo is one basic block: a range of instructions, not empty, the last of
// which is the only terminator.
type BlockInfo struct {
	Insts Range
	// Params is a range of Input.VRegLists: block parameters.
	Params Range
	// Preds is a range of Input.BlockLists.
	Preds Range
	// Succs is a range of Input.Edges.
	Succs Range
	// LoopDepth is 0 outside loops. Cold blocks (traps) have Cold set.
	LoopDepth uint16
	Cold      bool
}

// Edge is one way out of a block.
type Edge struct {
	To Block
	// Args is a range of Input.VRegLists, as long as the target's parameters.
	Args Range
}

// Input is a function as allocators see it: a plain struct of slices, without
// pointers per instruction. Allocators must not write to it.
//
// Invariants:
//
//	I1 Blocks[0] is the entry, has no parameters and no predecessors; its first
//	   instruction defines the incoming arguments by Fixed and FixedArg operands.
//	   FixedArg operands name words below ArgWords, which is even; no two of one
//	   instruction have a word in common.
//	I2 Blocks are in final order and their instruction ranges partition Insts in
//	   that order. Every block is reachable from the entry.
//	I3 Each VReg has one definition that dominates all its uses. One by an
//	   instruction with MayThrow dominates what its first edge dominates: it is
//	   neither used behind the second one nor an argument of that.
//	I4 No critical edges: of an edge's two ends, the source has one successor or
//	   the target one predecessor. A block appears in Preds once per edge. A
//	   terminator with one successor has neither operands nor clobbers, so that
//	   the moves of its edge can stand before it.
//	I5 An instruction needs at most as many registers at once as the class has
//	   allocatable ones. No two reading Fixed operands of one
//	   instruction name one PReg for different VRegs, nor do two defining ones.
//	   A safepoint has no LateUse of a reference with the constraint Reg.
//	   An instruction with IsTailCall has no other flag but IsTerminator, and no
//	   clobbers; its operands are Uses, Fixed in registers that are not
//	   callee-saved, or FixedArg, of 8 or 16 bytes.
//	   One with MayThrow is a terminator with two successors.
//	I6 VRegs[i].Class agrees with each Fixed register's class. Arguments of edges have the class and width of their
//	   parameters, and are references if these are.
type Input struct {
	VRegs       []VRegInfo
	Insts       []InstInfo
	Operands    []Operand
	ClobberSets []Clobbers
	Blocks      []BlockInfo
	Edges       []Edge
	BlockLists  []Block
	VRegLists   []VReg
	// ArgWords is the length of the argument area in words, an even number: the incoming arguments are at its end, and those of each tail call. Where a tail call
	// has more than come in, the prologue makes the area longer.
	ArgWords int
	// Stop is polled by every pass over the code and can end it; a nil flag never does.
	Stop *stop.Flag
}

// OperandRange returns the range of i's operands in in.Operands.
func (in *Input) OperandRange(i Inst) (start, end uint32) {
	if i > 0 {
		start = in.Insts[i-1].OperandEnd
	}
	return start, in.Insts[i].OperandEnd
}

// OperandsOf returns the operands of i.
func (in *Input) OperandsOf(i Inst) []Operand {
	s, e := in.OperandRange(i)
	return in.Operands[s:e:e]
}

// ClobbersOf returns what i overwrites besides its Defs.
func (in *Input) ClobbersOf(i Inst) Clobbers { return in.ClobberSets[in.Insts[i].Clobbers] }

// ParamsOf returns the parameters of block b.
func (in *Input) ParamsOf(b Block) []VReg {
	r := in.Blocks[b].Params
	return in.VRegLists[r.Start:r.End:r.End]
}

// PredsOf returns the predecessors of block b.
func (in *Input) PredsOf(b Block) []Block {
	r := in.Blocks[b].Preds
	return in.BlockLists[r.Start:r.End:r.End]
}

// SuccsOf returns the edges out of block b.
func (in *Input) SuccsOf(b Block) []Edge {
	r := in.Blocks[b].Succs
	return in.Edges[r.Start:r.End:r.End]
}

// ArgsOf returns the arguments passed along e.
func (in *Input) ArgsOf(e Edge) []VReg {
	return in.VRegLists[e.Args.Start:e.Args.End:e.Args.End]
}

// ProgPoint is a point between instructions: Before(i) < After(i) < Before(i+1).
type ProgPoint uint32

// Before returns the point just before i.
func Before(i Inst) ProgPoint { return ProgPoint(i) << 1 }

// After returns the point just after i; never used of a terminator.
func After(i Inst) ProgPoint { return ProgPoint(i)<<1 | 1 }

// Inst returns the instruction that the point is beside.
func (p ProgPoint) Inst() Inst { return Inst(p >> 1) }

// IsAfter tells After(i) from Before(i).
func (p ProgPoint) IsAfter() bool { return p&1 != 0 }

func (p ProgPoint) String() string {
	return fmt.Sprintf("%d%s", p.Inst(), [2]string{"-", "+"}[p&1])
}

// Allocation is a location: a register, a spill slot, or an incoming stack
// argument word. The zero value is none.
type Allocation uint32

const (
	allocReg  = 1 << 30
	allocSlot = 2 << 30
	allocArg  = 3 << 30
	allocMask = 3 << 30
)

// NoAllocation is no location.
const NoAllocation Allocation = 0

// InReg returns the register p.
func InReg(p PReg) Allocation { return allocReg | Allocation(p) }

// InSlot returns the spill slot that begins at 8-byte word n of the spill area. A
// 16-byte value occupies words n and n+1.
func InSlot(n int) Allocation { return allocSlot | Allocation(n) }

// InArg returns word n of the argument area. A
// 16-byte value occupies words n and n+1.
func InArg(n int) Allocation { return allocArg | Allocation(n) }

// IsNone reports whether a is no location.
func (a Allocation) IsNone() bool { return a&allocMask == 0 }

// Kind tells what a is: that of InReg(0), InSlot(0), InArg(0) or NoAllocation. It is
// below 4.
func (a Allocation) Kind() uint32 { return uint32(a) >> 30 }

// IsReg reports whether a is a register.
func (a Allocation) IsReg() bool { return a&allocMask == allocReg }

// IsSlot reports whether a is a spill slot.
func (a Allocation) IsSlot() bool { return a&allocMask == allocSlot }

// IsArg reports whether a is an incoming stack argument.
func (a Allocation) IsArg() bool { return a&allocMask == allocArg }

// IsMem reports whether a is a spill slot or an incoming stack argument.
func (a Allocation) IsMem() bool { return a&allocSlot != 0 }

// Reg returns the register; a must be one.
func (a Allocation) Reg() PReg { return PReg(a) }

// Index returns the word index of a slot or argument.
func (a Allocation) Index() int { return int(a &^ allocMask) }

func (a Allocation) String() string {
	switch a & allocMask {
	case allocReg:
		return a.Reg().String()
	case allocSlot:
		return fmt.Sprintf("s%d", a.Index())
	case allocArg:
		return fmt.Sprintf("a%d", a.Index())
	}
	return "-"
}

// EditKind tells the edits apart.
type EditKind uint8

// The kinds of edit.
const (
	// Move copies Bytes bytes from From to To, 4 of them zero-extended to 8 if To is a register; they may be of different classes
	// (a scratch register of the other class may carry a value).
	Move EditKind = iota
	// Remat repeats instruction Edit.Inst with its Def in To, a register.
	Remat
	// Swap exchanges all 8 bytes of the registers From and To, two of MachineEnv.Swaps.
	Swap
	// StoreConst puts the value that instruction Edit.Inst defines, of Bytes bytes, into To, a slot, without a register but the integer scratch: VRegInfo.Storable allows it.
	StoreConst
)

// Edit is something to do between instructions. At one point, edits happen one
// after the other in the order of Output.Edits.
type Edit struct {
	Point    ProgPoint
	From, To Allocation
	Inst     Inst
	Kind     EditKind
	Bytes    uint8
}

func (e Edit) String() string {
	switch e.Kind {
	case Remat:
		return fmt.Sprintf("%v: %v = remat inst%d", e.Point, e.To, e.Inst)
	case Swap:
		return fmt.Sprintf("%v: swap %v, %v", e.Point, e.To, e.From)
	case StoreConst:
		return fmt.Sprintf("%v: %v = store%d inst%d", e.Point, e.To, e.Bytes*8, e.Inst)
	}
	return fmt.Sprintf("%v: %v = move%d %v", e.Point, e.To, e.Bytes*8, e.From)
}

// Claim says that at the entry of a block Loc holds the value of VReg. The
// block's parameters, already assigned, are among the claims.
type Claim struct {
	Loc  Allocation
	VReg VReg
}

// StackMap lists the slots that hold live references while Inst executes.
type StackMap struct {
	Inst  Inst
	Slots Range // of Output.StackMapSlots: word indices, rising
}

// Output is the result of an allocator.
type Output struct {
	// Allocs is parallel to Input.Operands.
	Allocs []Allocation
	// Edits are sorted by Point.
	Edits []Edit
	// SlotWords is the size of the spill area in 8-byte words.
	SlotWords int
	// StackMaps has exactly one entry for each safepoint, in order of Inst.
	StackMaps     []StackMap
	StackMapSlots []uint32
	// Claims of block b are Claims[ClaimEnd[b-1]:ClaimEnd[b]]. A block with one
	// incoming edge needs none.
	Claims   []Claim
	ClaimEnd []uint32
	// Used is every register that an allocation or edit writes, and every
	// callee-saved one whose low half an instruction clobbers.
	Used PRegSet
	// Unsaved says, by block, that callee-saved registers are not saved: they hold the caller's values from its start to its
	// end, and nothing may write them. It is empty if they are saved everywhere, from the entry on. Where an edge leads from an unsaved
	// block to another, SavesAt; where one leads back, RestoresAt: so its source has no other successor.
	Unsaved []bool
	Stats   Stats
}

// AppendMove appends a move at p to the edits of in, whose order is the caller's matter.
func (o *Output) AppendMove(in *Input, p ProgPoint, from, to Allocation, bytes uint8) {
	switch {
	case to.IsMem():
		o.Stats.Spills++
	case from.IsMem():
		o.Stats.Reloads++
	default:
		o.Stats.Moves++
	}
	if to.IsReg() {
		o.Used = o.Used.Add(to.Reg())
	}
	o.Edits = stop.Append(in.Stop, o.Edits, Edit{Point: p, From: from, To: to, Bytes: bytes, Kind: Move})
}

// AppendRemat is AppendMove for v, which is made again in a register.
func (o *Output) AppendRemat(in *Input, p ProgPoint, v VReg, to Allocation) {
	o.Stats.Remats++
	o.Used = o.Used.Add(to.Reg())
	o.Edits = stop.Append(in.Stop, o.Edits, Edit{Point: p, To: to, Inst: in.VRegs[v].Remat, Kind: Remat, Bytes: in.VRegs[v].Bytes})
}

// AppendSwap is AppendMove for an exchange of two registers.
func (o *Output) AppendSwap(in *Input, p ProgPoint, from, to Allocation) {
	o.Stats.Swaps++
	o.Used = o.Used.Add(from.Reg()).Add(to.Reg())
	o.Edits = stop.Append(in.Stop, o.Edits, Edit{Point: p, From: from, To: to, Bytes: 8, Kind: Swap})
}

// AppendStoreConst is AppendMove for v, which is Storable and made again in a slot.
func (o *Output) AppendStoreConst(in *Input, p ProgPoint, v VReg, to Allocation) {
	o.Stats.StoredConsts++
	o.Edits = stop.Append(in.Stop, o.Edits, Edit{Point: p, To: to, Inst: in.VRegs[v].Remat, Kind: StoreConst, Bytes: in.VRegs[v].Bytes})
}

// Reset empties o, keeping its memory.
func (o *Output) Reset() {
	o.Allocs, o.Edits = o.Allocs[:0], o.Edits[:0]
	o.StackMaps, o.StackMapSlots = o.StackMaps[:0], o.StackMapSlots[:0]
	o.Claims, o.ClaimEnd, o.Unsaved = o.Claims[:0], o.ClaimEnd[:0], o.Unsaved[:0]
	o.SlotWords, o.Used, o.Stats = 0, 0, Stats{}
}

// Stats counts what an allocator did.
type Stats struct {
	Moves, Spills, Reloads, Swaps, Remats, StoredConsts, LeftOut, Splits int
	// Live and Refs are how many pairs of a place and a value the function has beyond PairsPerInst for each instruction: of a block, or an edge, and
	// a value that lives through it, and of a safepoint and a reference that lives across it.
	Live, Refs int
}

// A function may be small and have many values that are live through many blocks or calls: their product takes memory in liveness, in claims and in
// stack maps. So the functions of a module may have FreePairs of each kind together, and besides PairsPerInst for each instruction. The largest real
// functions (of Go's compiler and SQLite, among 31,000) have 135,000 pairs of value and block,
// and never more than 30 for an instruction.
const (
	FreePairs    = 1 << 21
	PairsPerInst = 64
)

// PairsBeyond returns how many of the pairs of a place and a value are beyond PairsPerInst for each instruction.
func (in *Input) PairsBeyond(pairs int) int { return max(0, pairs-PairsPerInst*len(in.Insts)) }

// MachineEnv is what an allocator knows of a machine.
type MachineEnv struct {
	// Allocatable registers of each class in order of preference, first those
	// that a call clobbers.
	Order [NumClasses][]PReg
	// Allocatable is the set of Order's registers.
	Allocatable PRegSet
	// CalleeSaved registers cost a save and a restore in the frame on first use. A
	// function keeps the low 64 bits of them for its caller, and no more.
	CalleeSaved PRegSet
	// Scratch of class Float is never allocated: moves between memory go through
	// it, and it breaks cycles of moves of either class (64 or 128 bits).
	// Scratch[Int] is NoPReg where the machine has none; instructions that are made again, by Remat and StoreConst, may change it.
	Scratch [NumClasses]PReg
	// Swaps are the registers of which one instruction, a Swap, exchanges any two: allocatable ones of class Int, or none.
	Swaps PRegSet
}
