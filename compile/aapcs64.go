package compile

import (
	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/a64"
	"github.com/waot-project/waot/backend/isa/a64/asm"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/reloc"
	"github.com/waot-project/waot/objfile"
	"github.com/waot-project/waot/regalloc"
)

// aapcs64 is the C convention on AArch64 (AAPCS64). x9 and x10 hold neither arguments nor results; x16 is for
// addresses, of callees and of what is far in the frame.
var aapcs64 = cMachine{
	waot: &abi.A64, ints: abi.A64.IntArgs, floats: abi.A64.FloatArgs,
	fp: asm.FP, sp: asm.SP, through: asm.X16, scratch: asm.X9, scratch2: asm.X10,
	code: func(b *adapterCode) cCode { return aapcs64Code{b} },
}

// aapcs64Code is cCode of AArch64.
type aapcs64Code struct{ *adapterCode }

// land: adapters may be reached by indirect calls, and by jumps through x16.
func (a aapcs64Code) land() { a.inst(backend.Inst{Op: asm.Bti, Imm: asm.BtiC}) }

func (a aapcs64Code) inst(i backend.Inst, regs ...regalloc.PReg) {
	allocs := backend.InRegs(regs...)
	a.code, _ = asm.Append(a.code, &i, allocs[:len(regs)], nil)
}

// relocate attaches a relocation to the last instruction.
func (a aapcs64Code) relocate(kind reloc.Kind, sym objfile.SymbolIndex, addend int64) {
	a.relocs = append(a.relocs, objfile.Reloc{Offset: uint64(len(a.code) - 4), Kind: kind, Symbol: sym, Addend: addend})
}

func (a aapcs64Code) jump(_ place, sym objfile.SymbolIndex, addend int64) {
	a.inst(backend.Inst{Op: asm.B})
	a.relocate(reloc.Jump26, sym, addend)
}

func (a aapcs64Code) call(_ place, sym objfile.SymbolIndex, addend int64) {
	a.inst(backend.Inst{Op: asm.Bl})
	a.relocate(reloc.Call26, sym, addend)
}

func (a aapcs64Code) jumpThrough(sym objfile.SymbolIndex, addend int64) {
	a.inst(backend.Inst{Op: asm.Adrp, Size: 8}, asm.X16)
	a.relocate(reloc.Page21, sym, addend)
	a.inst(backend.Inst{Op: asm.Ldr, Size: 8, Mode: backend.ModeBase}, asm.X16, asm.X16)
	a.relocate(reloc.Ldst64Lo12, sym, addend)
	a.inst(backend.Inst{Op: asm.Br, Size: 8}, asm.X16)
}

func (a aapcs64Code) jumpBack(at uint64) {
	a.inst(backend.Inst{Op: asm.B, Disp: int32(int64(at) - int64(len(a.code)))})
}

func (a aapcs64Code) callAt(r regalloc.PReg) { a.inst(backend.Inst{Op: asm.Blr, Size: 8}, r) }

func (a aapcs64Code) address(to regalloc.PReg, sym objfile.SymbolIndex, addend int64) {
	a.inst(backend.Inst{Op: asm.Adrp, Size: 8}, to)
	a.relocate(reloc.Page21, sym, addend)
	a.inst(backend.Inst{Op: asm.AddImm, Size: 8}, to, to)
	a.relocate(reloc.AddLo12, sym, addend)
}

func (a aapcs64Code) behindJump(to regalloc.PReg) {
	a.inst(backend.Inst{Op: asm.Adr, Size: 8, Disp: 2 * asm.WordBytes}, to)
}

func (a aapcs64Code) move(to, from regalloc.PReg, bytes uint8) {
	a.inst(backend.Inst{Op: asm.Mov, Size: bytes}, from, to)
}

func (a aapcs64Code) load(to, base regalloc.PReg, disp int32, t clif.Type) {
	op := asm.Ldr
	if to.Class() == regalloc.Float {
		op = asm.Fldr
	}
	a.access(op, loadBytes(t), base, disp, to)
}

func (a aapcs64Code) store(base regalloc.PReg, disp int32, from regalloc.PReg, t clif.Type) {
	op := asm.Str
	if from.Class() == regalloc.Float {
		op = asm.Fstr
	}
	a.access(op, storeBytes(t), base, disp, from)
}

// access loads or stores r at a multiple of 8 from base.
func (a aapcs64Code) access(op backend.Op, size uint8, base regalloc.PReg, disp int32, r regalloc.PReg) {
	if !asm.FitsDisp(op, size, disp) {
		a.lea(asm.X16, base, disp)
		base, disp = asm.X16, 0
	}
	a.inst(backend.Inst{Op: op, Size: size, Mode: backend.ModeBase, Disp: disp}, base, r)
}

// lea adds disp, less than 1<<24 either way, to base, either of which may be the stack pointer.
func (a aapcs64Code) lea(to, base regalloc.PReg, disp int32) {
	op := asm.AddImm
	if disp < 0 {
		op, disp = asm.SubImm, -disp
	}
	high, low := int64(disp)&^0xfff, int64(disp)&0xfff
	if high != 0 {
		a.inst(backend.Inst{Op: op, Size: 8, Imm: high}, base, to)
		base = to
	}
	if low != 0 || high == 0 {
		a.inst(backend.Inst{Op: op, Size: 8, Imm: low}, base, to)
	}
}

// enter touches each page of a large frame before the stack pointer moves further.
func (a aapcs64Code) enter(n int) {
	const page = 4096
	a.setUpFrame(a64.FrameSetup[:], a.inst)
	for n = (n + 15) &^ 15; n > page; n -= page {
		a.lea(asm.SP, asm.SP, -page)
		a.store(asm.SP, 0, asm.ZR, clif.I64)
	}
	if n > 0 {
		a.lea(asm.SP, asm.SP, -int32(n))
	}
}

func (a aapcs64Code) leave(n int) {
	a.lea(asm.SP, asm.FP, 0)
	a.inst(backend.Inst{Op: asm.LdpPost, Size: 8, Mode: backend.ModeBase, Disp: 16}, asm.SP, asm.FP, asm.LR)
	a.leftFrame(0)
	popped := 0
	for _, part := range [2]int{n &^ 0xfff, n & 0xfff} { // each is one instruction
		if part > 0 {
			a.lea(asm.SP, asm.SP, int32(part))
			popped += part
			a.leftFrame(popped)
		}
	}
	a.inst(backend.Inst{Op: asm.Ret})
}
