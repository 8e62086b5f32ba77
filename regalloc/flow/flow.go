// Package flow implements the steps that global register allocators share: all but the one
// that decides where values are (flow.Placer), and the tables that the steps use. Before that step it computes liveness, block frequencies and the
// intervals of values; after it, slots, moves, claims and stack maps.
//
// # Steps
//
//	frequency.go     input                     -> estimates of how often blocks run
//	liveness.go      input                     -> values live into each block
//	build.go         input, liveness           -> intervals: ranges and uses of values;
//	                                              reservations of instructions
//	wrap.go          liveness, intervals,      -> blocks in which callee-saved registers
//	                 reservations                 are not saved; reservations there
//	coalesce.go      intervals, reservations   -> classes: parameters and arguments
//	                                              that should share a place
//	(a Placer)       all of these              -> parts of intervals, each in a register
//	                                              or in memory
//	slots.go         intervals, classes, which -> homes of values in memory
//	                 values are in memory
//	resolve.go       parts, homes, liveness    -> operands' locations; moves that
//	                                              connect parts
//	emit.go          moves                     -> edits: parallel moves in order
//	claims.go        parts, homes, liveness    -> what is where at block entries
//	stackmap.go      parts, homes, safepoints  -> slots of references
//
// A step's first method takes what the step needs and returns or holds its results; Steps.Run lists the steps.
//
// # Positions
//
// Instruction i has four positions: 4i is the gap before it, where Fixed and
// Reuse operands fetch their values by moves and blocks are entered;
// 4i+2 is where it reads; 4i+3 is where it writes. An interval is a list of
// half-open ranges of positions. It may be split at
//
//	4i    block boundary: edges connect the pieces; else moves After(i-1)
//	4i+2  moves at Before(i)
//	4i+3  the later piece is in memory: if it has to be stored there, that
//	      happens at Before(i)
//
// # Homes
//
// Each value has at most one home in memory: a spill slot, or the argument
// word in which it came. A value that can be rematerialised has none.
//
// Place in the pipeline: the allocators (regalloc/linear, regalloc/ssa) are
// made of it and of one step each.
//
// Input: regalloc.Input with its invariants I1 to I6, a
// regalloc.MachineEnv whose float scratch register exists, and a Placer.
// Output: regalloc.Output.
package flow

import (
	"fmt"

	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

const (
	// Inf is a position behind all others.
	Inf = ^uint32(0)
	// None is no index of a part, virtual register, block or instruction.
	None = ^uint32(0)

	maxInsts = 1 << 28
)

// ErrorKind tells the errors of this package apart.
type ErrorKind uint8

// The kinds of error.
const (
	// TooLarge: more than 2^28 instructions, operands or virtual registers, or too
	// many values live in too many blocks, or references across calls. It wraps
	// regalloc.ErrTooLarge.
	TooLarge ErrorKind = iota
	// Undefined: a virtual register is live into the entry block.
	Undefined
	// Unallocatable: an instruction needs more registers than there are.
	Unallocatable
	// Exhausted: the allocator did not finish within a number of steps
	// proportional to the input, which is a bug in it or an impossible input.
	Exhausted
)

var errorText = [...]string{
	"function too large", "value without a definition", "not enough registers", "step budget exhausted",
}

// Error says why a function cannot be allocated.
type Error struct {
	Kind ErrorKind
	// Inst is where, or NoInst; VReg is what for, or NoVReg.
	Inst regalloc.Inst
	VReg regalloc.VReg
	// Pairs, if not 0, is the limit that the function exceeds.
	Pairs int
}

func (e *Error) Error() string {
	s := errorText[e.Kind]
	if e.Pairs != 0 {
		return fmt.Sprintf("%s: more than %d pairs of a value and a place where it lives", s, e.Pairs)
	}
	if e.VReg != regalloc.NoVReg {
		s += " " + e.VReg.String()
	}
	if e.Inst != regalloc.NoInst {
		s += fmt.Sprintf(" at inst%d", e.Inst)
	}
	return s
}

// Unwrap returns regalloc.ErrTooLarge if that is what e says, else nil.
func (e *Error) Unwrap() error {
	if e.Kind == TooLarge {
		return regalloc.ErrTooLarge
	}
	return nil
}

// Fail returns an error of kind k, at instruction i, about value v; either may be None.
func Fail(k ErrorKind, i uint32, v uint32) error {
	return &Error{Kind: k, Inst: regalloc.Inst(i), VReg: regalloc.VReg(v)}
}

// failLive is for more than limit pairs of a value and a block, or a call, where it lives; v is one of them.
func failLive(limit int, i uint32, v uint32) error {
	return &Error{Kind: TooLarge, Inst: regalloc.Inst(i), VReg: regalloc.VReg(v), Pairs: limit}
}

// Flags of a value.
const (
	IsFloat  uint16 = 1 << iota
	IsWide          // 16 bytes
	IsRef           // a reference to a collected object
	IsRemat         // rematerialised rather than stored
	IsArg           // its home is the incoming argument word vreg.def
	NeedSlot        // some part of it is in memory
	Stored          // its slot is valid everywhere, from the definition on
	IsParam
	unread // see resolver.leaveOut

	// WideShift is the shift of IsWide.
	WideShift = 1
)

// Value is what is known of one value.
type Value struct {
	Range, Use uint32 // first range and first use of the whole value
	End        uint32 // end of the last range
	DefInst    uint32 // none for parameters
	DefBlock   uint32
	Link       uint32 // a value with which it would like to share a register
	// Def is where a Fixed or FixedArg definition puts the value, or none.
	Def   regalloc.Allocation
	Flags uint16
	Pref  uint8 // preferred register, or NoPReg
	Depth uint8 // greatest loop depth of a use
	// LastWish is the last use that must have a register or, at the end of a
	// loop, would like one; 0 for none.
	LastWish uint32
	Index    uint32 // of a parameter, among those of its block
	// Weight is how often it is used; from makeParts on per position.
	Weight float32
	// Recent is the part that the walk has looked up last, 0 for the first part.
	Recent uint32
}

// Range is one range of an interval.
type Range struct{ Start, End, Next uint32 }

// Kinds of use.
const (
	MustUse  = iota // needs a register
	AnyUse          // reads memory just as well
	GapUse          // read by a move in the gap, to where the operand is
	SoftUse         // no operand: the next iteration uses the value again
	KindBits = 28   // shift of the kind in use.op
	OpMask   = 1<<KindBits - 1
)

// use is one use position. Op is its kind and the number of its operand; NextMust is
// the first MustUse from here on.
type use struct{ Pos, Next, Op, NextMust uint32 }

// Kind returns the kind of u.
func (u *use) Kind() uint32 { return u.Op >> KindBits }

// Operand returns the number of the operand in Input.Operands.
func (u *use) Operand() uint32 { return u.Op & OpMask }

// Part is a piece of an interval with one location. Parts with the numbers of
// values are the first ones of these values.
type Part struct {
	Start, End uint32
	Range      uint32 // first range that still matters
	First      uint32 // first use
	Use        uint32 // first use not before the walk's position (or start)
	Last       uint32 // position of the last operand passed by use, or 0
	Value      uint32
	Sib        uint32 // the next part of the same value
	Before     uint32 // the one in front of this one; not of the first
	Next       uint32 // in the queue
	// Loc is a register, or none: memory, or wherever the value's home is.
	Loc regalloc.Allocation
	// Valid says of a part in a register that the value's slot holds it as well, as it has come from there: nothing is stored where it
	// goes back to memory.
	Valid bool
}

// function is the input and what is known of its blocks and values. Each step has a
// copy of its own, which shares the tables.
type function struct {
	In  *regalloc.Input
	Env *regalloc.MachineEnv
	Out *regalloc.Output

	frequencies
	InstBlock []uint32
	Values    []Value
	Remats    []uint32 // values that can be rematerialised
	hasRefs   bool     // some values are references
}

// Intervals are where values live and where they are used: what build makes of a
// function. The walk splits them.
type Intervals struct {
	function
	Ranges    []Range  // 0 is the end of lists
	Uses      []use    // 0 is the end of lists, at position inf
	FixedDefs []uint32 // values whose definition is in a place of its own
	refArgs   []uint32 // references that come in argument words
	passed    []passed // values that can be rematerialised
}

// passed is a value that block b passes for a parameter.
type passed struct{ v, param, b uint32 }

// setup initialises fn from the function in, with descriptions of its values.
func (fn *function) setup(in *regalloc.Input, env *regalloc.MachineEnv, out *regalloc.Output) {
	fn.In, fn.Env, fn.Out = in, env, out
	n := len(in.VRegs)
	fn.Values = stop.Resize(in.Stop, fn.Values, n)
	fn.Remats, fn.hasRefs = fn.Remats[:0], false
	for v := range in.VRegs {
		in.Stop.PollAt(v)
		info := &in.VRegs[v]
		var f uint16
		if info.Class == regalloc.Float {
			f = IsFloat
		}
		if info.Bytes == 16 {
			f |= IsWide
		}
		if info.Ref {
			f |= IsRef
			fn.hasRefs = true
		}
		if info.Remat != regalloc.NoInst {
			f |= IsRemat
			fn.Remats = stop.Append(in.Stop, fn.Remats, uint32(v))
		}
		fn.Values[v] = Value{DefInst: None, DefBlock: None, Link: None, Pref: uint8(regalloc.NoPReg), Flags: f}
	}
	out.Allocs = stop.Resize(in.Stop, out.Allocs, len(in.Operands))
	fn.InstBlock = stop.Resize(in.Stop, fn.InstBlock, len(in.Insts))
	fn.estimate()
}

func (fn *function) Bytes(v uint32) uint8 { return fn.In.VRegs[v].Bytes }

func (fn *function) ClassOf(v uint32) regalloc.Class {
	return regalloc.Class(fn.Values[v].Flags & IsFloat)
}

// DepthAt returns the loop depth at a position.
func (fn *function) DepthAt(pos uint32) uint32 {
	return uint32(fn.In.Blocks[fn.InstBlock[InstOf(pos)]].LoopDepth)
}
