// Package linear is the fast register allocator: linear scan on SSA form
// (Wimmer and Franz 2010) with lifetime holes, optimised interval splitting
// (Wimmer and Mössenböck 2005) and register hints.
//
// The steps, one file each: liveness.go finds which values are live into which
// blocks; build.go makes lifetime intervals and use positions in one backward
// pass, fixed.go what instructions reserve for themselves; coalesce.go finds
// parameters and arguments that are best in one place; walk.go gives registers
// to intervals in order of their starts, splitting them (split.go) or leaving
// them in memory, vote.go looks where a parameter comes from; slots.go places
// those that need one in spill slots; resolve.go connects the pieces inside
// blocks and over edges; emit.go sequentialises the moves; stackmap.go lists the
// references.
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
// Each value has at most one home in memory: a spill slot, the incoming
// argument word it came in, or no place at all if it can be rematerialised.
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

	atUse = 2 // offset of the position where an instruction reads
	atDef = 3 // offset of the position where an instruction writes

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
	pref  uint8 // register wanted, or NoPReg
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
	softUse         // no operand: the value is wanted again in the next iteration
	kindBits = 28   // shift of the kind in use.op
	opMask   = 1<<kindBits - 1
)

// use is one use position. nextMust is the first mustUse from here on.
type use struct{ pos, next, op, nextMust uint32 }

// part is a piece of an interval with one location. Parts with the numbers of
// values are the first ones of these values.
type part struct {
	start, end uint32
	rng        uint32 // first range that matters still
	first      uint32 // first use
	use        uint32 // first use not before the walk's position (or start)
	last       uint32 // position of the last operand passed by use, or 0
	vreg       uint32
	sib        uint32 // the next part of the same value
	next       uint32 // in the queue
	// loc is a register, or none: memory, or wherever the value's home is.
	loc regalloc.Allocation
}

// Allocator is a reusable context for Run; it is for one goroutine at a time.
type Allocator struct {
	in  *regalloc.Input
	env *regalloc.MachineEnv
	out *regalloc.Output

	liveness
	builder
	coalescer
	fixed
	walker
	spiller
	resolver

	instBlock []uint32
	freq      []uint32 // execution estimate of each block, from 1
	vregs     []vreg
	ranges    []rng // 0 is the end of lists
	uses      []use // 0 is the end of lists, at position inf
	parts     []part
	homes     []regalloc.Allocation
	budget    int
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
	a.in, a.env, a.out = in, env, out
	err := a.run()
	a.in, a.env, a.out = nil, nil, nil
	return err
}

func (a *Allocator) run() error {
	a.setup()
	if err := a.findLiveness(); err != nil {
		return err
	}
	a.build()
	a.coalesce()
	if err := a.walk(); err != nil {
		return err
	}
	a.assignSlots()
	if err := a.fillOperands(); err != nil {
		return err
	}
	a.connect()
	a.resolveEdges()
	a.storeDefs()
	a.emit()
	a.makeClaims()
	return a.makeStackMaps()
}

// setup sizes the tables and describes the values of the input.
func (a *Allocator) setup() {
	in := a.in
	n := len(in.VRegs)
	a.vregs = stop.Resize(a.in.Stop, a.vregs, n)
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
		}
		a.vregs[v] = vreg{defInst: none, defBlock: none, link: none, pref: uint8(regalloc.NoPReg), flags: f}
	}
	a.ranges = append(a.ranges[:0], rng{start: inf, end: inf})
	a.uses = append(stop.Resize(in.Stop, a.uses, len(in.Operands)+1)[:0], use{pos: inf})
	a.out.Allocs = stop.Resize(a.in.Stop, a.out.Allocs, len(in.Operands))
	a.instBlock = stop.Resize(a.in.Stop, a.instBlock, len(in.Insts))
	a.freq = stop.Resize(a.in.Stop, a.freq, len(in.Blocks))
	for b := range in.Blocks {
		info := &in.Blocks[b]
		a.freq[b] = entryFreq << (3 * min(info.LoopDepth, 7))
		if info.Cold {
			a.freq[b] = 1
		}
	}
	a.budget = 1024 + 32*(len(in.Insts)+len(in.Operands)+len(in.VRegs)+len(in.VRegLists))
}

const entryFreq = 8

func (a *Allocator) bytes(v uint32) uint8 { return 8 + uint8(a.vregs[v].flags&isWide)<<2 }

func (a *Allocator) class(v uint32) regalloc.Class {
	return regalloc.Class(a.vregs[v].flags & isFloat)
}

// depthAt is the loop depth at a position.
func (a *Allocator) depthAt(pos uint32) uint32 {
	return uint32(a.in.Blocks[a.instBlock[pos>>2]].LoopDepth)
}
