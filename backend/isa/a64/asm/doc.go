// Package asm describes the AArch64 instructions that waot uses: one Row per
// machine instruction, and the readers of the rows: the encoder (Append), the
// printer (PrintAsm, PrintVCode), and Shapes, by which the back end collects
// operands and verifies VCode.
//
// Place in the pipeline: lowering names rows by Op and collects operands, the
// emission driver encodes each instruction into the machine buffer.
//
// Input: a backend.Inst, and its operands: virtual registers before
// allocation, a regalloc.Allocation each after it.
// Output: operands with constraints; words with a Patch; text.
//
// # Operand order
//
// An instruction's operands stand in the order of its Form's roles (file
// forms.go, and by row in ops.go). As a rule: the uses in the order of the assembly text, then the
// defs. A store is the address, then the value. An address stands where the comment says addr: one
// operand (ModeBase), two (ModeBaseIndex: base, index), or none (ModeSym, ModeConst, ModeOutArg,
// ModeLocal). The sources and the result of a backend.TailSelect are registers of their own: d does not reuse b.
// No operand may be in memory, so no constraint is regalloc.Any.
//
// # Addresses
//
// ModeBase: Disp as FitsDisp says for the row; any for Lea. ModeBaseIndex: Disp is 0, Scale is 0 or
// the logarithm of the access width (0 to 4 for Lea), Inst.Imm is the Extend of the index: 0 or
// UXTX for all 64 bits, UXTW, SXTW, SXTX. ModeSym: adrp to AddrScratch (Lea: to the result), then the
// access: two words; Disp is a multiple of the access width. ModeConst: the literal form, of Ldr, Ldrsw,
// Fldr; Lea is adr. ModeLocal, ModeOutArg: any Disp; an address out of reach of fp and sp is made in
// AddrScratch, in up to four words. There is no ModeIndex. Rows that load or store one lane of several
// have ModeBase without a displacement only.
//
// # Sizes
//
// Inst.Size is the size of the operation and its registers in bytes: 4 (w, s) or 8 (x, d), or
// 16 (q). Memory operands are as wide unless the row's name says otherwise. For conversions it is
// the integer's size. Results of Size 4 are zero-extended to the whole register.
//
// # Lanes
//
// Rows of vectors that have Lanes take the width of a lane from Inst.Scale, the logarithm of bytes. Where lanes become
// twice or half as wide, it is that of the narrow ones. Inst.Imm of rows that move lanes is the number of a lane.
//
// # Register 31
//
// It is the stack pointer in the base of an address and where ops.go says so, the zero register
// elsewhere (Row.SP).
//
// # Flags
//
// No flags live from one Inst to the next. Rows that read flags are for the
// emission driver and pseudo-instructions, which place them right behind what
// they consume. Cbz, Cbnz, Tbz and Tbnz may have backend.TailJump or TailTrap: then they are the comparison and
// the branch in one. They ignore Inst.Cond, and have the tail's target.
//
// TailSet and the selects may have other rows for the result: Inst.Choice of such an instruction is one of the rows that choose.
//
// # Encoding
//
//	func Append(buf []byte, inst *backend.Inst, allocs []regalloc.Allocation, fr *backend.Frame) ([]byte, Patch)
//	func AppendMove(buf []byte, from, to regalloc.Allocation, bytes uint8, fr *backend.Frame) []byte
//	func Bound(inst *backend.Inst, allocs []regalloc.Allocation, fr *backend.Frame) uint32 // exact length
//	func MoveBound(from, to regalloc.Allocation, fr *backend.Frame) uint32
//	type Patch struct{ Kind PatchKind; Off, Scale uint8 } // the field's word is at Off
//
// The field of a Patch holds Inst.Disp, except of PatchSym and PatchPage, where it is 0 and Disp
// is the relocation's addend.
package asm
