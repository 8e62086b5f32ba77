package compile

import (
	"encoding/binary"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/x64"
	"github.com/waot-project/waot/backend/isa/x64/asm"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/reloc"
	"github.com/waot-project/waot/objfile"
	"github.com/waot-project/waot/regalloc"
)

// sysv is the C convention on x86-64 (System V). No argument or result is in r11, and r10 holds
// neither a C argument nor a result.
var sysv = cMachine{
	waot: &abi.X64, ints: abi.X64.IntArgs[:6], floats: abi.X64.FloatArgs,
	fp: asm.RBP, sp: asm.RSP, through: asm.R11, scratch: asm.R11, scratch2: asm.R10,
	code: func(b *adapterCode) cCode { return sysvCode{b} },
}

// sysvCode is cCode of x86-64.
type sysvCode struct{ *adapterCode }

func (a sysvCode) land() { a.code = append(a.code, asm.Endbr64[:]...) }

func (a sysvCode) inst(i backend.Inst, regs ...regalloc.PReg) {
	allocs := backend.InRegs(regs...)
	a.code, _ = asm.Append(a.code, &i, allocs[:len(regs)], nil)
}

// relocate attaches a relocation to the last four bytes.
func (a sysvCode) relocate(kind reloc.Kind, sym objfile.SymbolIndex, addend int64) {
	at := len(a.code) - 4
	binary.LittleEndian.PutUint32(a.code[at:], 0)
	a.relocs = append(a.relocs, objfile.Reloc{Offset: uint64(at), Kind: kind, Symbol: sym, Addend: addend - 4})
}

// calleeRelocs are the relocations of calls and jumps.
var calleeRelocs = [...]reloc.Kind{ours: reloc.PC32, foreign: reloc.Call32}

func (a sysvCode) jump(to place, sym objfile.SymbolIndex, addend int64) {
	a.inst(backend.Inst{Op: asm.Jmp})
	a.relocate(calleeRelocs[to], sym, addend)
}

func (a sysvCode) call(to place, sym objfile.SymbolIndex, addend int64) {
	a.inst(backend.Inst{Op: asm.Call})
	a.relocate(calleeRelocs[to], sym, addend)
}

func (a sysvCode) jumpThrough(sym objfile.SymbolIndex, addend int64) {
	a.inst(backend.Inst{Op: asm.JmpInd, Size: 8, Mode: backend.ModeSym})
	a.relocate(reloc.PC32, sym, addend)
}

func (a sysvCode) jumpBack(at uint64) {
	a.inst(backend.Inst{Op: asm.Jmp})
	binary.LittleEndian.PutUint32(a.code[len(a.code)-4:], uint32(at)-uint32(len(a.code)))
}

func (a sysvCode) callAt(r regalloc.PReg) { a.inst(backend.Inst{Op: asm.CallInd, Size: 8}, r) }

func (a sysvCode) address(to regalloc.PReg, sym objfile.SymbolIndex, addend int64) {
	a.inst(backend.Inst{Op: asm.Lea, Size: 8, Mode: backend.ModeSym}, to)
	a.relocate(reloc.PC32, sym, addend)
}

func (a sysvCode) behindJump(to regalloc.PReg) {
	const jump = 5 // bytes
	a.inst(backend.Inst{Op: asm.Lea, Size: 8, Mode: backend.ModeSym}, to)
	binary.LittleEndian.PutUint32(a.code[len(a.code)-4:], jump)
}

func (a sysvCode) move(to, from regalloc.PReg, bytes uint8) {
	a.inst(backend.Inst{Op: asm.Mov, Size: bytes}, from, to)
}

func (a sysvCode) load(to, base regalloc.PReg, disp int32, t clif.Type) {
	op := asm.Mov
	if to.Class() == regalloc.Float {
		op = asm.MovfLoad
	}
	a.inst(backend.Inst{Op: op, Size: loadBytes(t), Mode: backend.ModeBase, Disp: disp}, base, to)
}

func (a sysvCode) store(base regalloc.PReg, disp int32, from regalloc.PReg, t clif.Type) {
	op := asm.MovStore
	if from.Class() == regalloc.Float {
		op = asm.MovfStore
	}
	a.inst(backend.Inst{Op: op, Size: storeBytes(t), Mode: backend.ModeBase, Disp: disp}, base, from)
}

func (a sysvCode) lea(to, base regalloc.PReg, disp int32) {
	a.inst(backend.Inst{Op: asm.Lea, Size: 8, Mode: backend.ModeBase, Disp: disp}, base, to)
}

// enter touches each page of a large frame before the stack pointer moves further.
func (a sysvCode) enter(n int) {
	const page = 4096
	a.setUpFrame(x64.FrameSetup[:], a.inst)
	for n = (n + 15) &^ 15; n > page; n -= page {
		a.inst(backend.Inst{Op: asm.SubImm, Size: 8, Imm: page}, asm.RSP, asm.RSP)
		a.inst(backend.Inst{Op: asm.CmpMem, Size: 8, Mode: backend.ModeBase}, asm.RSP, asm.RSP)
	}
	if n > 0 {
		a.inst(backend.Inst{Op: asm.SubImm, Size: 8, Imm: int64(n)}, asm.RSP, asm.RSP)
	}
}

func (a sysvCode) leave(n int) {
	a.move(asm.RSP, asm.RBP, 8)
	a.inst(backend.Inst{Op: asm.Pop, Size: 8}, asm.RBP)
	a.leftFrame(0)
	if n > 0 {
		a.inst(backend.Inst{Op: asm.RetImm, Imm: int64(n)})
		return
	}
	a.inst(backend.Inst{Op: asm.Ret})
}
