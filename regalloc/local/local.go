// Package local is the register allocator that compiles fastest: it goes through the code once, block by block, and keeps in registers what it
// has there. It is of the kind of V8's Liftoff and of regalloc2's fastalloc.
//
// # Trees
//
// A block with one predecessor begins with the state at the end of that. So blocks make trees (extended basic blocks), each below a root: the entry,
// or a block where several edges meet. In a tree, registers are a cache: they hold values until others want them, or an instruction clobbers
// them. Between trees, a value is in its home: a slot, the argument word in which it came, or a register of its own; what all
// ways to a root have in a register, too, stays there. So nothing
// but the arguments of an edge has to move at the end of a block.
//
//   - What is used only in the tree that defines it is stored when it loses its register, if that happens and another use follows.
//   - What is used in other trees is stored once, behind its definition.
//   - What can be made again is made again, and has no home.
//   - A few values with many uses in other trees have a register of their own throughout the function (pin.go): one that no instruction names or clobbers,
//     such as a callee-saved one.
//   - A parameter has a register where its block begins, if one is free: that of the first argument for it that is seen.
//
// # Why forwards
//
// A walk backwards, as in fastalloc, knows the last use of a value when it meets it, and the register that a fixed use wants. But where ways divide, it
// meets several states that have to agree, and needs moves. Forwards they agree, as they begin with the same state. What it
// has to know, the scan in front of it tells: where the last use is, and which register a use names.
//
// # Files
//
//	order.go         input                     -> an order of blocks in which trees grow from their roots
//	scan.go          order                     -> last uses, trees, values used in other trees
//	live.go          scan                      -> values live into roots
//	refs.go          input                     -> references live into blocks
//	pin.go           scan                      -> values with registers of their own
//	walk.go          all of these              -> blocks and edges
//	inst.go          state, one instruction    -> locations of operands; edits
//	state.go                                      what registers hold
//	meet.go                                       what registers hold where ways meet
//	slots.go                                      slots of values
//	finish.go        homes, liveness           -> claims, order of edits
//
// Positions count instructions from 1 on, in the order of the walk, which is nearly always that of the code.
//
// Place in the pipeline: between lowering and the checker, in place of regalloc/linear where nothing is optimised.
//
// Input: regalloc.Input with its invariants I1 to I6, and a
// regalloc.MachineEnv whose float scratch register exists.
// Output: regalloc.Output.
package local

import (
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
	"github.com/waot-project/waot/regalloc/flow"
	"github.com/waot-project/waot/regalloc/parmove"
)

const (
	// none is no value, block or list.
	none     = ^uint32(0)
	maxInsts = 1 << 28
)

// Flags of a value.
const (
	isFloat  uint8 = 1 << iota
	isWide         // 16 bytes
	isRef          // a reference to a collected object
	isRemat        // made again rather than stored
	isGlobal       // used in another tree than that which defines it
	isArg          // its home is an argument word
	noPin          // a definition or another thing forbids a register of its own
)

// value is what is known of a virtual register.
type value struct {
	def  uint32 // position of the definition; of a parameter, that in front of its block
	last uint32 // position of the last use, 0 if there is none
	end  uint32 // position up to which its home is needed; only of values that are isGlobal
	// home is where the value is between trees, and where it is stored; NoAllocation if it has no slot yet.
	home regalloc.Allocation
	// entry is where edges put a parameter of a root; NoAllocation before the first one is seen, or if it has no uses.
	entry  regalloc.Allocation
	tree   uint32        // root of the tree that defines it, none before the definition
	uses   uint32        // list of uses in other trees
	link   uint32        // the parameter of a root for which it is passed, or none
	weight uint32        // of its uses and its definition
	where  regalloc.PReg // the register in which it was last
	hint   regalloc.PReg // a register that a use names, or NoPReg
	bytes  uint8
	flags  uint8
}

func (x *value) class() regalloc.Class { return regalloc.Class(x.flags & isFloat) }

// pinned reports whether the value has a register of its own.
func (x *value) pinned() bool { return x.home.IsReg() }

// function is the input and what is known of its values and blocks.
type function struct {
	in     *regalloc.Input
	env    *regalloc.MachineEnv
	out    *regalloc.Output
	values []value
	order  []uint32 // blocks in the order of the walk
	tree   []uint32 // by block: the root of its tree
	// unordered: some block comes before the root of its tree, or a block before the definition of a value that is live into it. So positions do not
	// tell where values of several trees are dead.
	unordered bool
	hasRefs   bool
}

// Allocator is a reusable context for Run; only one goroutine at a time may use it. It holds
// the memory of the steps.
type Allocator struct {
	function
	scanner
	liveness
	references
	state
	slots
	walker
	meetings
	moves parmove.Resolver
}

// New returns an empty context.
func New() *Allocator { return new(Allocator) }

// Run allocates registers for in and puts the result in out. The error, if
// any, is a *flow.Error; out is then of no use.
func (a *Allocator) Run(in *regalloc.Input, env *regalloc.MachineEnv, out *regalloc.Output) error {
	out.Reset()
	if max(len(in.Insts), len(in.Operands), len(in.VRegs), len(in.VRegLists)) >= maxInsts/2 {
		return flow.Fail(flow.TooLarge, none, none)
	}
	a.in, a.env, a.out = in, env, out
	err := a.run()
	a.in, a.env, a.out = nil, nil, nil
	return err
}

// run takes the steps.
func (a *Allocator) run() error {
	a.begin()
	a.orderBlocks()
	a.scan()
	if err := a.findLive(); err != nil {
		return err
	}
	if err := a.findRefs(); err != nil {
		return err
	}
	a.pin()
	if err := a.walk(); err != nil {
		return err
	}
	a.finish()
	return nil
}

// begin describes the values.
func (a *Allocator) begin() {
	in := a.in
	a.values = stop.Resize(in.Stop, a.values, len(in.VRegs))
	a.hasRefs, a.unordered = false, false
	for v := range in.VRegs {
		in.Stop.PollAt(v)
		info := &in.VRegs[v]
		f := uint8(info.Class)
		if info.Bytes == 16 {
			f |= isWide
		}
		if info.Remat != regalloc.NoInst {
			f |= isRemat
		}
		if info.Ref {
			f |= isRef | noPin
			a.hasRefs = true
		}
		a.values[v] = value{tree: none, uses: none, link: none, hint: regalloc.NoPReg, bytes: info.Bytes, flags: f}
	}
	a.out.Allocs = stop.Resize(in.Stop, a.out.Allocs, len(in.Operands))
}
