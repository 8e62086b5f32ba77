// Package backend turns CLIF into machine code. It holds the machine-independent parts:
// block order, the lowering driver, the matcher of lowering rules, the lowering that all machines share, VCode, calls,
// frames and the emission driver. The packages below backend/isa each supply a Target.
//
// Place in the pipeline: after the mid-end, before the object file.
//
// Input: a verified clif.Func of a clif.Module, and a Target.
// Output: machine code with relocations, traps, stack maps and source
// locations, whose register allocation has been checked.
package backend
