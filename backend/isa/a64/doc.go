// Package a64 is the back end's machine AArch64: its registers, the lowering of each
// CLIF opcode, pseudo-instructions and emission. The instructions themselves
// are rows of package asm.
//
// Place in the pipeline: backend drives it through the Target it exports.
//
// Input: CLIF instructions through backend.Emit; allocated VCode through
// backend.Emitter.
// Output: VCode; bytes in the machine buffer.
//
// Every virtual register of an i32 holds it zero-extended to 64 bits: each
// instruction that defines one writes a 32-bit register. So an i32 may be used
// as an index or a 64-bit operand at once, and uextend is nothing. No rule folds
// a 32-bit addition or shift into a 64-bit address.
//
// x16 and x17 are free inside one instruction or edit. Between edits x16 may carry a value that a
// cycle of moves has saved, so that moves may use x17 only; across a rematerialisation x16 carries nothing, as the
// checker proves, so that it may use both.
package a64
