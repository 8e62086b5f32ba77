// Package checker proves that a register allocation preserves the meaning of
// the code it was made for, or says which instruction and register it breaks.
// It shares no code with any allocator and knows neither CLIF nor an ISA: what
// it believes is the VCode (regalloc.Input, whose invariants I1 to I6 it takes
// as given where it does not say otherwise, but neither SSA form nor which instructions are
// safepoints and calls) and the rules below.
//
// Place in the pipeline: after register allocation, before emission, on every
// compile. Anything that rewrites code after it needs its own check.
//
// Input: a regalloc.Input, the regalloc.MachineEnv, a regalloc.Output that may
// be wrong in any way.
// Output: nil, or an *Error. A malformed Output is an error, never a panic.
//
// # State
//
// A location l is a register p0 to p63, a word of the spill area, or a word of
// the argument area. The state S maps each location to the set of
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
// ends it. W(v) is 1 or 2 words. Two words are aligned: n is even, since a machine
// may demand it (movaps). So no location that a rule names below begins at an odd word for a
// value, a move or a claim of 16 bytes.
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
// Clobbers lose all names in a register of Low, and only the names of 16 bytes in a
// register of High alone. Below, an operand's location is clobbered if its value is
// lost there in this way.
//
// Constraints, with A = allocatable registers of v's class:
//
//	Reg      l in A
//	Any      l in A, or a spill slot, or, of a Use or LateUse, an argument word
//	Fixed    l = the register named, allocatable
//	Reuse    l = the location of the Use named (Reg or Fixed)
//	FixedArg l = the argument word named
//
// The operands with FixedArg are Defs of the first instruction and Uses of tail calls, of 8 or 16 bytes; their words are below ArgWords, and those of a tail call have none in
// common [RuleInput].
//
// A slot lies inside [0, SlotWords) with all its words, and is aligned. Conflicts, where one
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
// slots, and at Before a tail call argument words. So arguments stay where they come in, up to there. With X = MachineEnv.Swaps, of the allocatable int registers:
//
//	move4  t <- f    S(t) := S(f) without names of 8 or 16 bytes
//	move8  t <- f    S(t) := S(f) without names of 16 bytes, and, if f is memory, of 4
//	move16 t <- f    S(t) := S(f) (both words of memory; no int registers)
//	remat  t <- j    S(int scratch) := {}, then S(t) := {v}, where j only defines v in a Reg
//	                 of t's class and VRegs[v].Remat = j
//	store  t <- j    the same, where t is a slot, or at Before a tail call an argument word,
//	                 VRegs[v].Storable, and the store has as many bytes as v
//	swap   t, f      S(t), S(f) := S(f), S(t), where t and f are two registers of X
//
// An instruction j that may be repeated in this way may be left out as well: the location of its Def is none. Then, of the steps above,
// only v leaves every S(l').
//
// Tail calls: a tail call i has no successors, no clobbers, and no operands but Uses, which are FixedArg, or Fixed in registers that are not CalleeSaved, since these
// get back what the caller's had before control leaves [RuleInput]. Nothing is known, or asked, behind it.
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
// Check takes the marks as they are, and demands one stack map for each. After it, Safepoints compares
// the list of stack maps with L. Nor is it believed what calls clobber: with C the calls, again derived from the machine's instructions, and X what
// calls may change in the convention of all that they call, functions and helpers,
//
//	i in C  implies  X is in the clobbers of i                      [RuleCall]
//
// which Calls compares.
//
// SSA form, I3, is not believed either. No value has a second definition, parameters included [RuleInput]; and as a use finds its value in a location
// only if each way there has passed the definition, that dominates the use.
//
// That a value of 4 bytes is zero-extended to 8 where instructions define it is believed, and that they read no more than 4 bytes of it in memory. Edges keep
// it: an argument has as many bytes as its parameter [RuleInput]. A move of 4 bytes clears the next 4 of its target if that is a register, and does not write
// them in memory. So registers have all 8 bytes, and instructions may read them; a word of memory has the first 4.
//
// Edges: at the end of a block with state S, along an edge to T with arguments
// a1..an for parameters p1..pn, let n' = name(ak) if n is pk, else n. Then
//
//	n in E_T(l) implies n' in S(l)                                 [RuleClaim]
//
// A call i that may throw ends a block with two edges [RuleInput]. S is the state behind it on the first of these. On the second, to the handler, it is
//
//	S(l) := {} for each location l of a Def or EarlyDef of i
//
// so that nothing reads there what i defines; nor is that among the arguments of this edge [RuleInput], after which parameters might be named. What S has of
// other values holds on both edges: the clobbers of i have been taken from it, and what unwinds the stack restores the other registers, as a return does. The stack map of i is one for
// both.
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
// With Options.Fixpoint the claims are ignored and E is the greatest solution
// of the same formula. So the two modes agree:
//
//	the fixpoint finds a fault  iff  no claims pass
//	it finds none               iff  the claims it has found pass (Checker.Claim)
//
// because every E for which claims pass solves the formula and is below the greatest
// solution, and knowing less never removes a fault.
//
// Nothing passes vacuously: every block is reachable from the entry and visited
// (I2 is checked), the entry knows nothing, instructions are partitioned by
// blocks.
//
// Finally, with W all that Defs, EarlyDefs and edits write, and K the Low of all clobbers:
//
//	W is in Output.Used, K & CalleeSaved is in Output.Used          [RuleUsed]
//
// so that a frame which saves Used & CalleeSaved returns with the caller's values. It does so from the entry on, or, if the
// output says which blocks are unsaved, where control leaves them; where control comes back to them, it restores. With C = CalleeSaved,
// W_b what is written in block b, and any edge from b to d,
//
//	b unsaved                     implies  W_b & C is empty                 [RuleSaved]
//	b not unsaved, d unsaved      implies  b has no other edge              [RuleSaved]
//	b unsaved, d not unsaved      implies  all edges to d come from unsaved blocks
//	                                                                        [RuleSaved]
//
// In the second case, S(l) := {} for each l in C at the end of b. So, by induction over the length of a path, C holds the caller's values
// throughout each unsaved block, and the frame holds them in the others. Returns and tail calls of the others restore them.
//
// # Cost
//
// A fact is a name and the time it was established. A fact about memory is void when
// older than the visit of the root of the block's tree, or, for references, any fact
// older than the last safepoint: memory is never swept. At a branch of a tree, what
// registers hold is copied, and later changes to memory are logged,
// until all paths from the branch are visited. No memory is allocated once the context
// has grown.
//
// Removing v from every S(l') at its definition costs nothing: by I3 no path has brought
// v there. All locations are searched only if a visit has met v before, by a false claim.
//
// Unpredictable branches (on which operands come next, or whether a block continues) cost
// more than arithmetic, so tables and register sets answer questions where possible, and
// each list is traversed once. Instructions with only Uses and a last Def in
// registers, nearly all of them, take a short path, in one loop up to the next edit; the general path decides what the short one does not pass.
package checker
