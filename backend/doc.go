// Package backend turns CLIF into machine code, independent of the machine:
// block order, lowering driver, lowering rules and what all machines lower alike, VCode, calls
// and frames, emission driver. The ISA packages below it supply a Target.
//
// Place in the pipeline: after the mid-end, before the object file.
//
// Input: a verified clif.Func of a clif.Module, and a Target.
// Output: machine code with relocations, traps, stack maps and source
// locations, its register allocation checked.
//
// This package is not part of the stable API and may change in any release.
package backend
