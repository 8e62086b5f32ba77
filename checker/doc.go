// Package checker proves that a register allocation preserves the meaning of
// the code it was made for, or says which instruction and register it breaks.
// It shares no code with any allocator and knows neither CLIF nor an ISA: what
// it believes is the VCode (regalloc.Input, whose invariants I1 to I6 it takes
// as given where it does not say otherwise, but not which instructions are
// safepoints) and the rules below.
//
// Place in the pipeline: after register allocation, before emission, on every
// compile. Whatever rewrites code after it needs a check of its own.
//
// Input: a regalloc.Input, the regalloc.MachineEnv, a regalloc.Output that may
// be wrong in any way.
// Output: nil, or an *Error. A malformed Output is an error, never a panic.
//
// # State
//
// A location l is a register p0 to p63, a word of the spill area, or a word of
// the incoming stack arguments. The state S maps each location to the set of
// names of values it is known to hold; {} is "nothing known". There is no
// element for conflict: the meet of two states is S1(l) & S2(l), and the state
// that knows everything (top) is only ever that of a block not yet reached.
//
//	name(v)  = name(u)  if v is the parameter of a block with one incoming edge
//	                    whose argument is u
//	         = v        otherwise
//
// Names stand for copies because SSA makes them equal wherever the copy is
// live: from v's definition no path leads through u's definition to a use of v
// without passing v's definition again, or u's would not dominate v's.
//
// A value of 16 bytes in memory word n is known only if word n is known to
// hold its low half and word n+1 its high half: every write of either word
// ends it. W(v) is 1 or 2 words.
//
// # Rules
//
// An instruction i happens in these steps:
//
//	edits at Before(i), one after the other
//	S(scratch) := {}                        scratch survives no instruction
//	each Use, LateUse o of v:               name(v) in S(l)          [RuleUse]
//	each operand: l meets the constraint                      [RuleConstraint]
//	each pair of operands sharing a word, and clobbers:         [RuleConflict]
//	safepoint:                                                  [RuleStackMap]
//	S(l) := S(l) without what the clobbers of i lose in l
//	each Def, EarlyDef of v: v leaves every S(l'), then S(l) := {v}
//	edits at After(i), one after the other
//
// Clobbers lose, in a register of Low, all names; in one of High only, those of 16
// bytes. Below, that an operand's location is clobbered means that its value is lost
// there so.
//
// Constraints, with A = allocatable registers of v's class:
//
//	Reg      l in A
//	Any      l in A, or a spill slot, or, of a Use or LateUse, an argument word
//	Fixed    l = the register named, allocatable
//	Reuse    l = the location of the Use named (Reg or Fixed)
//	FixedArg l = the argument word named; only of Defs of the first instruction
//
// A slot lies inside [0, SlotWords) with all its words. Conflicts, where one
// location (any word of it) is that of two operands, or is clobbered:
//
//	          Use  LateUse  Def  EarlyDef  clobber
//	Use        .      .      .      x         .
//	LateUse    .      .      x      x         x
//	Def        .      x      x      x         x unless Fixed
//	EarlyDef   x      x      x      x         x unless Fixed
//
// Edits [RuleEdit]: sorted by point; never After a terminator, and never before
// the first instruction of the entry, where arguments not yet named are; not
// from memory to memory; writing only allocatable and scratch registers and
// slots, never argument words.
//
//	move8  t <- f    S(t) := S(f) without names of 16 bytes
//	move16 t <- f    S(t) := S(f) (both words of memory; no int registers)
//	remat  t <- j    S(t) := {v}, where j only defines v in a Reg of t's class
//	                 and VRegs[v].Remat = j
//
// Safepoints: one stack map each, in order, no others. With M the slots listed:
//
//	each l in M: some reference is in S(l), and i has no EarlyDef of l
//	each l not in M: S(l) := S(l) without references
//
// so that a reference used later must have been in a listed slot: registers and
// argument words do not carry references over a safepoint. The instruction's
// own Uses are read before.
//
// Which instructions are safepoints is the one thing of the VCode that is not believed:
// an allocation is right without a stack map if nothing asks for one. With L the
// instructions that may run the collector, which the caller derives from what
// they call and not from the flags,
//
//	i is marked as a safepoint  iff  i in L                     [RuleSafepoint]
//
// Check takes the marks as they are, and demands one stack map for each. Safepoints, behind it, looks at
// the list of stack maps, and holds L against that.
//
// Edges: at the end of a block with state S, along an edge to T with arguments
// a1..an for parameters p1..pn, let n' = name(ak) if n is pk, else n. Then
//
//	n in E_T(l) implies n' in S(l)                                 [RuleClaim]
//
// E_T is the entry state of T. E_entry = {}, and the output may claim nothing of
// it. By default E_T is the output's claim, an untrusted one: each block is visited
// once with its claim as the state, each edge is checked against the claim at
// its end, and by induction over the length of a path the claims are true. Where
// nothing is claimed of a T with one incoming edge, E_T is S itself: the parameters
// of T have the names of their arguments, so this is the greatest solution of the
// formula. Such blocks make trees, and going back to a branch of one brings back
// the state at the branch.
//
// With Options.Fixpoint the claims are not looked at and E is the greatest solution
// of the same formula. So the two modes agree:
//
//	the fixpoint finds a fault  iff  no claims pass
//	it finds none               iff  the claims it has found pass (Checker.Claim)
//
// for every E that claims pass with solves the formula, and is below the greatest
// solution, and with less known no less is wrong.
//
// Nothing passes vacuously: every block is reachable from the entry and visited
// (I2 is checked), the entry knows nothing, instructions are partitioned by
// blocks.
//
// Finally, with W all that Defs, EarlyDefs and edits write, and K the Low of all clobbers:
//
//	W is in Output.Used, K & CalleeSaved is in Output.Used          [RuleUsed]
//
// so that a frame which saves Used & CalleeSaved returns with the caller's values.
//
// # Cost
//
// A fact is a name and the time it was established. A fact about memory is void when
// older than the visit of the root of the block's tree, or, for references, any fact
// older than the last safepoint: memory is never swept. At a branch of a tree, what
// registers hold is copied, and what is changed of memory behind it is kept in a log,
// until all ways on from there are visited. No memory is allocated once the context
// has grown.
//
// That v leaves every S(l') at its definition costs nothing: by I3 no path has brought
// v there, and only if a visit has met v before all locations are looked at.
//
// What little foretells (which operands come next, whether a block goes on) costs more
// than arithmetic, so what can be asked of tables and of sets of registers is, and
// each list is gone through once. Instructions with only Uses and a last Def in
// registers, nearly all, go a short way; what it does not pass, the general one decides.
//
// This package is not part of the stable API and may change in any release.
package checker
