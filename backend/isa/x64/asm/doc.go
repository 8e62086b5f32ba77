// Package asm describes the x86-64 instructions that waot uses: one Row per
// machine instruction, and the readers of the rows: the encoder (Append), the
// printer (PrintAsm, PrintVCode), and Shapes, by which the back end collects
// operands and verifies VCode.
//
// Place in the pipeline: lowering names rows by Op and collects operands, the
// emission driver encodes each instruction into the machine buffer.
//
// Input: a backend.Inst, and its operands: virtual registers before
// allocation, a regalloc.Allocation each after it.
// Output: operands with constraints; bytes with a Patch; text.
//
// # Operand order
//
// An instruction's operands stand in the order of its Form's roles (file
// forms.go). As a rule: the uses in the order of the assembly text, then the
// defs. A two-address instruction is Use a, Use b, Def d with d reusing a; a
// store is the address, then the value; the sources of Cmov are those of
// backend.TailSelect. At most one role is the rm operand: it is one register
// operand if Inst.Mode is ModeNone, which may be allocated to memory where its
// constraint is Any; in any other mode the address's operands stand in its
// place (see backend.Mode).
//
// # Sizes
//
// Inst.Size is the size of the operation in bytes. It is the size of the
// integer registers, and of the memory operand unless the row says otherwise
// (Row.RM). For scalar and packed floating point it is the size of one
// element: Add of Size 4 is a 32-bit integer addition, Addf of Size 4 is addss. For
// conversions it is the integer's size, or the source's where both are floats.
// Results of Size 4 are zero-extended to the whole register; results of Size 1
// and 2 leave the rest of it as it was, so loads use Movzx and Movsx.
//
// # Flags
//
// No flags live from one Inst to the next. Sbb, AdcImm, SbbImm, Cmov, Setcc, Jcc are for the
// emission driver and pseudo-instructions, which place them right behind what
// they consume.
package asm
