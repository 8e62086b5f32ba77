// Package linear is the fast register allocator: linear scan on SSA form
// (Wimmer and Franz 2010) with lifetime holes, optimised interval splitting
// (Wimmer and Mössenböck 2005) and register hints.
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
//	walk.go          all of these              -> parts of intervals, each in a register
//	                                              or in memory, by rising start
//	slots.go         intervals, classes, which -> homes of values in memory
//	                 values are in memory
//	resolve.go       parts, homes, liveness    -> operands' locations; moves that
//	                                              connect parts
//	emit.go          moves                     -> edits: parallel moves in order
//	claims.go        parts, homes, liveness    -> what is where at block entries
//	stackmap.go      parts, homes, safepoints  -> slots of references
//
// The walk has more files: reservations.go and regs.go say what is free, split.go cuts
// and evicts parts, vote.go finds where a parameter comes from. A step's first method
// takes what the step needs and returns or holds its results; Allocator.run lists the steps.
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
// # Rare code
//
// No profile says how often blocks run, so frequency.go lets control divide equally where it branches. Values live across
// calls in rare code without a callee-saved register: they are stored there. A part that begins in rare code of a loop ends
// where control joins the usual way through the loop. There its value returns to the place that it has at the loop's header, so
// that the usual way needs no moves, whatever the rare code does to registers.
//
// # Homes
//
// Each value has at most one home in memory: a spill slot, or the argument
// word in which it came. A value that can be rematerialised has none.
//
// Place in the pipeline: between lowering and the checker. It is the default
// allocator, and so far the only one.
//
// Input: regalloc.Input with its invariants I1 to I6, and a
// regalloc.MachineEnv whose float scratch register exists.
// Output: regalloc.Output.
//
// This package is not part of the stable API and may change in any release.
package linear

import (
	"fmt"

	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
)

const (
	inf = ^uint32(0)
	// none is no index of a part, virtual register, block or instruction.
	none = ^uint32(0)

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
}

func (e *Error) Error() string {
	s := "regalloc/linear: " + errorText[e.Kind]
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

func fail(k ErrorKind, i uint32, v uint32) error {
	return &Error{Kind: k, Inst: regalloc.Inst(i), VReg: regalloc.VReg(v)}
}

// Flags of a value.
const (
	isFloat  uint16 = 1 << iota
	isWide          // 16 bytes
	isRef           // a reference to a collected object
	isRemat         // rematerialised rather than stored
	isArg           // its home is the incoming argument word vreg.def
	needSlot        // some part of it is in memory
	stored          // its slot is valid everywhere, from the definition on
	isParam
	unread // see resolver.leaveOut

	wideShift = 1 // isWide is 1<<wideShift
)

// vreg is what is known of one value.
type vreg struct {
	rng, use uint32 // first range and first use of the whole value
	end      uint32 // end of the last range
	defInst  uint32 // none for parameters
	defBlock uint32
	link     uint32 // a value with which it would like to share a register
	// def is where a Fixed or FixedArg definition puts the value, or none.
	def   regalloc.Allocation
	flags uint16
	pref  uint8 // preferred register, or NoPReg
	depth uint8 // greatest loop depth of a use
	// lastWish is the last use that must have a register or, at the end of a
	// loop, would like one; 0 for none.
	lastWish uint32
	index    uint32 // of a parameter, among those of its block
	// weight is how often it is used; from makeParts on per position.
	weight float32
}

// rng is one range of an interval.
type rng struct{ start, end, next uint32 }

// Kinds of use.
const (
	mustUse  = iota // needs a register
	anyUse          // reads memory just as well
	gapUse          // read by a move in the gap, to where the operand is
	softUse         // no operand: the next iteration uses the value again
	kindBits = 28   // shift of the kind in use.op
	opMask   = 1<<kindBits - 1
)

// use is one use position. op is its kind and the number of its operand; nextMust is
// the first mustUse from here on.
type use struct{ pos, next, op, nextMust uint32 }

func (u *use) kind() uint32    { return u.op >> kindBits }
func (u *use) operand() uint32 { return u.op & opMask }

// part is a piece of an interval with one location. Parts with the numbers of
// values are the first ones of these values.
type part struct {
	start, end uint32
	rng        uint32 // first range that still matters
	first      uint32 // first use
	use        uint32 // first use not before the walk's position (or start)
	last       uint32 // position of the last operand passed by use, or 0
	vreg       uint32
	sib        uint32 // the next part of the same value
	next       uint32 // in the queue
	// loc is a register, or none: memory, or wherever the value's home is.
	loc regalloc.Allocation
}

// function is the input and what is known of its blocks and values. Each step has a
// copy of its own, which shares the tables.
type function struct {
	in  *regalloc.Input
	env *regalloc.MachineEnv
	out *regalloc.Output

	frequencies
	instBlock []uint32
	vregs     []vreg
	remats    []uint32 // values that can be rematerialised
}

// intervals are where values live and where they are used: what build makes of a
// function. The walk splits them.
type intervals struct {
	function
	ranges    []rng    // 0 is the end of lists
	uses      []use    // 0 is the end of lists, at position inf
	fixedDefs []uint32 // values whose definition is in a place of its own
	refArgs   []uint32 // references that come in argument words
	passed    []passed // values that can be rematerialised
}

// passed is a value that block b passes for a parameter.
type passed struct{ v, param, b uint32 }

// Allocator is a reusable context for Run; only one goroutine at a time may use it. It holds
// the memory of the steps. The first method of each step says what it takes from the steps
// before.
type Allocator struct {
	function  function
	liveness  liveness
	builder   builder
	reserved  reservations
	wrapper   wrapper
	coalescer coalescer
	walker    walker
	spiller   spiller
	resolver  resolver
	emitter   emitter
}

// New returns an empty context.
func New() *Allocator { return new(Allocator) }

// Run allocates registers for in and puts the result in out. The error, if
// any, is an *Error; out is then of no use.
func (a *Allocator) Run(in *regalloc.Input, env *regalloc.MachineEnv, out *regalloc.Output) error {
	out.Reset()
	if max(len(in.Insts), len(in.Operands), len(in.VRegs), len(in.VRegLists)) >= maxInsts/2 {
		return fail(TooLarge, none, none)
	}
	a.function.setup(in, env, out)
	err := a.run(a.function)
	a.forget()
	return err
}

// run takes the steps.
func (a *Allocator) run(fn function) error {
	if err := a.liveness.find(fn); err != nil {
		return err
	}
	iv := a.builder.build(fn, &a.liveness, &a.reserved)
	a.wrapper.wrap(iv, &a.liveness, &a.reserved)
	a.coalescer.coalesce(iv, &a.reserved)
	parts, err := a.walker.walk(iv, &a.reserved, &a.coalescer)
	iv.ranges = a.walker.ranges // has grown
	a.builder.ranges = iv.ranges
	if err != nil {
		return err
	}
	homes, spilled := a.spiller.assign(iv, &a.coalescer)
	rs := &a.resolver
	if err := rs.resolve(iv, &a.liveness, parts, homes, spilled); err != nil {
		return err
	}
	a.emitter.emit(fn, &rs.moves)
	if fn.out.Used&fn.env.CalleeSaved == 0 {
		fn.out.Unsaved = fn.out.Unsaved[:0]
	}
	rs.makeClaims()
	return rs.makeStackMaps(a.reserved.safepoints)
}

// forget drops the input and the output, which belong to the caller.
func (a *Allocator) forget() {
	for _, fn := range [...]*function{&a.function, &a.liveness.function, &a.builder.function, &a.reserved.function,
		&a.wrapper.function, &a.coalescer.function, &a.walker.function, &a.spiller.function, &a.resolver.function, &a.emitter.function} {
		fn.in, fn.env, fn.out = nil, nil, nil
	}
}

// setup initialises fn from the function in, with descriptions of its values.
func (fn *function) setup(in *regalloc.Input, env *regalloc.MachineEnv, out *regalloc.Output) {
	fn.in, fn.env, fn.out = in, env, out
	n := len(in.VRegs)
	fn.vregs = stop.Resize(in.Stop, fn.vregs, n)
	fn.remats = fn.remats[:0]
	for v := range in.VRegs {
		in.Stop.PollAt(v)
		info := &in.VRegs[v]
		var f uint16
		if info.Class == regalloc.Float {
			f = isFloat
		}
		if info.Bytes == 16 {
			f |= isWide
		}
		if info.Ref {
			f |= isRef
		}
		if info.Remat != regalloc.NoInst {
			f |= isRemat
			fn.remats = stop.Append(in.Stop, fn.remats, uint32(v))
		}
		fn.vregs[v] = vreg{defInst: none, defBlock: none, link: none, pref: uint8(regalloc.NoPReg), flags: f}
	}
	out.Allocs = stop.Resize(in.Stop, out.Allocs, len(in.Operands))
	fn.instBlock = stop.Resize(in.Stop, fn.instBlock, len(in.Insts))
	fn.estimate()
}

func (fn *function) bytes(v uint32) uint8 { return 8 + uint8(fn.vregs[v].flags&isWide)<<2 }

func (fn *function) class(v uint32) regalloc.Class {
	return regalloc.Class(fn.vregs[v].flags & isFloat)
}

// depthAt returns the loop depth at a position.
func (fn *function) depthAt(pos uint32) uint32 {
	return uint32(fn.in.Blocks[fn.instBlock[instOf(pos)]].LoopDepth)
}
