// Package backend turns CLIF into machine code. It is the machine-independent part:
// block order, the lowering driver, lowering rules, lowering that all machines share, VCode, calls
// and frames, the emission driver. The ISA packages below it supply a Target: tables, and twelve functions, grouped by what asks for them. Selection
// makes VCode of addresses, sums, stores, comparisons and vectors, Emission turns an instruction into bytes, Framing makes room on the
// stack, Branching bounds sizes, and Printing is for people. What tables can say is data: rows of common instructions, lowering
// functions by opcode, forms of loads, landing pads, how registers are saved. Edits are emitted and measured as instructions are.
//
// Place in the pipeline: after the mid-end, before the object file.
//
// Input: a verified clif.Func of a clif.Module, and a Target.
// Output: machine code with relocations, traps, stack maps and source
// locations, its register allocation checked.
//
// Lowering has one context in three layers, each inside the next: Query is what may be asked, Place decides where definitions that
// instructions share go, Emit appends code. Guards of rules get a Query and lowering functions an Emit.
package backend
