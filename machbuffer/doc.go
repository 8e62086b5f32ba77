// Package machbuffer is the smart code buffer at the end of a backend: machine code is appended in one streaming
// pass and leaves with its branches simplified, its labels resolved and its records at final offsets. It knows
// neither the IR nor a machine; a machine is a Target, which is data.
//
// Input: bytes from an encoder, and beside them the declarations of labels, label uses, branches, constants,
// deferred traps, relocations, traps, stack maps and call sites.
// Output: a Result: final bytes and records sorted by offset, or a typed error.
//
// # Branches
//
// A backend emits each two-way branch naively, a conditional branch and then an unconditional one, and declares
// both. Only the tail is edited, that is, a run of declared branches which ends at the current
// offset, at the moment a label is bound there (and once more in Finish):
//
//	R1  a branch to the next instruction is dropped
//	R2  a label in front of an unconditional branch becomes an alias of that branch's target (jump threading)
//	R3  an unconditional branch that nothing reaches is dropped
//	R4  a conditional branch over an unconditional one is inverted, and the unconditional one is dropped
//	R5  a conditional branch before an unconditional one to the same place is dropped
//
// # Labels
//
// A label is unbound, attached (it has a position) or detached (bound once, but the branch it stood in front of was
// dropped). An alias is a preference, not a move: an attached label keeps its position, where an unconditional
// branch to the alias stays in the code (its landing). Each use is patched, exactly once, with the root of its
// label's alias chain if that is in range, and otherwise with the landing. So threading can never push a short
// branch out of its range: R3 and R4 refuse to detach a label that has a narrow use, one with neither a veneer
// nor the full range of the machine.
//
// # Moves
//
// Code stays where it is, but Move may give aligned labels other padding in front, when all code of a function is there: it moves bytes, labels, uses and
// records, or nothing if a use would not reach its label. No use is patched before.
//
// # Islands
//
// A use whose kind has a veneer, or whose label is a constant or deferred trap, has a deadline: the last offset at
// which something it reaches can be placed. Uses of one kind are declared in offset order, so a queue per kind is a
// queue by deadline and only queue heads are ever looked at. Before each instruction (or group of them) the driver
// calls EmitIslandMaybe with a bound of its size; see there for why no deadline can then be missed.
//
// # Invariants
//
// They are checked in full by CheckInvariants and argued where state changes:
//
//	I1  uses: each use is either patched or in exactly one queue; queues ascend by offset and lie inside the code
//	I2  tail: branches are adjacent, the last ends at tailOff, and none of their uses is patched
//	I3  tail labels: the label stack holds exactly the attached labels at or after the tail's base, grouped by
//	    the branch they stand in front of, the last group at tailOff
//	I4  aliases form a forest
//	I5  landing: an attached label with an alias stands in front of an unconditional branch to it, or beside it
//	I6  detached labels have an alias and no narrow use
//	I7  reach: an edit lengthens no distance between a use and its label, unless the new distance is shown in range
//	I8  deadline: the cached deadline is no later than that of any pending use
//	I9  cost: veneerCost is the size of all veneers that the pending uses could need, chains included
//	I10 records ascend by offset and lie inside the code
//
// # Work
//
// All work is linear in the input, with small constants. Each branch is dropped or inverted at most once. A rule visits
// at most maxTailLabels labels; with more labels at one place it is skipped, which costs an optimisation but
// not correctness. Alias chains are halved when walked; queues are only popped at their ends.
package machbuffer
