package compile

import (
	"encoding/binary"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/x64/asm"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/objfile"
	"github.com/waot-project/waot/regalloc"
)

// The C convention (System V) as adapters see it. A function with at most one result
// has the prototype one expects. One with more returns nothing and takes, in front of its
// arguments, the address of an array of 64-bit words that gets the results in order.
var (
	sysvInts   = abi.X64.IntArgs[:6]
	sysvFloats = abi.X64.FloatArgs
)

// Registers that adapters use between moves: no argument or result is in r11, and r10 holds
// neither a C argument nor a result.
const (
	scratch  = asm.R11
	scratch2 = asm.R10
)

// adaptable reports whether functions of this type can be called from C.
func adaptable(s *clif.Signature) bool {
	for _, ts := range [][]clif.Type{s.Params, s.Results} {
		for _, t := range ts {
			if t == clif.V128 {
				return false
			}
		}
	}
	return true
}

// adapterSection collects the machine code of adapters.
type adapterSection struct {
	code   []byte
	relocs []objfile.Reloc
	frames []objfile.Frame
}

// begin starts an adapter and returns its offset.
func (a *adapterSection) begin() uint64 {
	for len(a.code)%textAlign != 0 {
		a.code = append(a.code, trapFiller)
	}
	return uint64(len(a.code))
}

// end ends the adapter that begins at start and returns its size.
func (a *adapterSection) end(start uint64, section objfile.SymbolIndex) uint64 {
	size := uint64(len(a.code)) - start
	a.frames = append(a.frames, objfile.Frame{Symbol: section, Addend: int64(start), Size: uint32(size), Unwind: unwindOf(a.code[start:])})
	return size
}

func (a *adapterSection) inst(i backend.Inst, regs ...regalloc.PReg) asm.Patch {
	var allocs [4]regalloc.Allocation
	for n, r := range regs {
		allocs[n] = regalloc.InReg(r)
	}
	var p asm.Patch
	a.code, p = asm.Append(a.code, &i, allocs[:len(regs)], nil)
	return p
}

// relocate makes the last four bytes a relocation.
func (a *adapterSection) relocate(kind objfile.RelocKind, sym objfile.SymbolIndex, addend int64) {
	at := len(a.code) - 4
	binary.LittleEndian.PutUint32(a.code[at:], 0)
	a.relocs = append(a.relocs, objfile.Reloc{Offset: uint64(at), Kind: kind, Symbol: sym, Addend: addend - 4})
}

func (a *adapterSection) jump(kind objfile.RelocKind, sym objfile.SymbolIndex, addend int64) {
	a.inst(backend.Inst{Op: asm.Jmp})
	a.relocate(kind, sym, addend)
}

func (a *adapterSection) call(kind objfile.RelocKind, sym objfile.SymbolIndex, addend int64) {
	a.inst(backend.Inst{Op: asm.Call})
	a.relocate(kind, sym, addend)
}

// jumpThrough jumps to the address in a word of data.
func (a *adapterSection) jumpThrough(sym objfile.SymbolIndex, addend int64) {
	a.inst(backend.Inst{Op: asm.JmpInd, Size: 8, Mode: backend.ModeSym})
	a.relocate(objfile.PC32, sym, addend)
}

func (a *adapterSection) move(to, from regalloc.PReg, bytes uint8) {
	a.inst(backend.Inst{Op: asm.Mov, Size: bytes}, from, to)
}

// load loads a word of type t, which makes an i32 clean.
func (a *adapterSection) load(to, base regalloc.PReg, disp int32, t clif.Type) {
	op := asm.Mov
	if t.IsFloat() {
		op = asm.MovfLoad
	}
	a.inst(backend.Inst{Op: op, Size: wordBytes(t), Mode: backend.ModeBase, Disp: disp}, base, to)
}

// store stores a whole word.
func (a *adapterSection) store(base regalloc.PReg, disp int32, from regalloc.PReg) {
	op := asm.MovStore
	if from.Class() == regalloc.Float {
		op = asm.MovfStore
	}
	a.inst(backend.Inst{Op: op, Size: 8, Mode: backend.ModeBase, Disp: disp}, base, from)
}

func (a *adapterSection) lea(to, base regalloc.PReg, disp int32) {
	a.inst(backend.Inst{Op: asm.Lea, Size: 8, Mode: backend.ModeBase, Disp: disp}, base, to)
}

// enter opens a frame of at least n bytes below rbp.
func (a *adapterSection) enter(n int) {
	a.inst(backend.Inst{Op: asm.Push, Size: 8}, asm.RBP)
	a.move(asm.RBP, asm.RSP, 8)
	if n = (n + 15) &^ 15; n > 0 {
		a.inst(backend.Inst{Op: asm.SubImm, Size: 8, Imm: int64(n)}, asm.RSP, asm.RSP)
	}
}

// leave closes the frame and returns, popping n bytes of arguments.
func (a *adapterSection) leave(n int) {
	a.move(asm.RSP, asm.RBP, 8)
	a.inst(backend.Inst{Op: asm.Pop, Size: 8}, asm.RBP)
	if n > 0 {
		a.inst(backend.Inst{Op: asm.RetImm, Imm: int64(n)})
		return
	}
	a.inst(backend.Inst{Op: asm.Ret})
}

// wordBytes is how much of a word counts: i32 is loaded as 4 bytes, which clears the
// rest; of an f32 the rest is not specified, so whole words are moved.
func wordBytes(t clif.Type) uint8 {
	if t == clif.I32 {
		return 4
	}
	return 8
}

// conventions is a signature in both conventions. In C, the pointer to results is not in
// the arguments but in rdi.
type conventions struct {
	sig  *clif.Signature
	waot abi.Sig
	c    []abi.Loc
	// cWords is the number of C's stack argument words; many whether there is a pointer to results.
	cWords int
	many   bool
}

func kindsOf(ts []clif.Type) []abi.ArgKind {
	ks := make([]abi.ArgKind, len(ts))
	for i, t := range ts {
		if t.IsFloat() {
			ks[i] = abi.ArgFloat
		}
	}
	return ks
}

func conventionsOf(sig *clif.Signature) *conventions {
	v := &conventions{sig: sig, many: len(sig.Results) > 1}
	args := kindsOf(sig.Params)
	abi.X64.Assign(&v.waot, args, kindsOf(sig.Results))
	ints := sysvInts
	if v.many {
		ints = ints[1:]
	}
	sysv := abi.CallConv{IntArgs: ints, FloatArgs: sysvFloats}
	var c abi.Sig
	sysv.Assign(&c, args, nil)
	v.c, v.cWords = c.Args, c.ArgWords
	return v
}

// same reports whether both conventions pass the arguments alike and need no
// result area.
func (v *conventions) same() bool { return !v.many && v.cWords == 0 && v.waot.ArgWords == 0 }

func pregOf(l abi.Loc) regalloc.PReg {
	if l.Kind == abi.ArgFloat {
		return regalloc.FloatReg(int(l.Reg))
	}
	return regalloc.IntReg(int(l.Reg))
}

// Displacements from rbp in an adapter's frame.
const (
	inArgs = 16 // incoming argument words: above the caller's rbp and the return address
	saved  = -8 // the caller's pointer to results
)

// exportAdapter is a C function that calls a function in the waot convention.
func (a *adapterSection) exportAdapter(sig *clif.Signature, target objfile.SymbolIndex, addend int64) {
	v := conventionsOf(sig)
	if v.same() {
		for n, t := range sig.Params {
			if t == clif.I32 {
				a.move(pregOf(v.c[n]), pregOf(v.c[n]), 4)
			}
		}
		a.jump(objfile.PC32, target, addend)
		return
	}
	hidden := 8 * v.waot.ResultWords
	a.enter(16 + (hidden+15)&^15 + v.waot.ArgBytes(&abi.X64))
	if v.many {
		a.store(asm.RBP, saved, asm.RDI)
	}
	// No register argument goes to the stack, as the waot convention has more registers. Each
	// moves to its own register or the one of the argument before, so rising order is safe once
	// the words on the stack, which use the scratch register only, are copied.
	for n, t := range sig.Params {
		if to := v.waot.Args[n]; !to.InReg {
			a.load(scratch, asm.RBP, inArgs+8*int32(v.c[n].Word), wordType(t))
			a.store(asm.RSP, 8*int32(to.Word), scratch)
		}
	}
	for n, t := range sig.Params {
		to, from := v.waot.Args[n], v.c[n]
		switch {
		case !to.InReg:
		case !from.InReg:
			a.load(pregOf(to), asm.RBP, inArgs+8*int32(from.Word), t)
		case to.Kind == abi.ArgInt && (to.Reg != from.Reg || t == clif.I32):
			a.move(pregOf(to), pregOf(from), wordBytes(t))
		}
	}
	if v.waot.HasHidden() {
		a.lea(regalloc.IntReg(int(v.waot.HiddenReg)), asm.RBP, int32(-16-hidden))
	}
	a.call(objfile.PC32, target, addend)
	if v.many {
		a.load(scratch, asm.RBP, saved, clif.I64)
		for n, t := range sig.Results {
			from := v.waot.Results[n]
			reg := scratch2
			if from.InReg {
				reg = pregOf(from)
			} else {
				a.load(reg, asm.RBP, int32(-16-hidden+8*int(from.Word)), wordType(t))
			}
			a.store(scratch, 8*int32(n), reg)
		}
	}
	a.leave(0)
}

// wordType is the integer type to copy a word of type t with.
func wordType(t clif.Type) clif.Type {
	if t == clif.I32 {
		return clif.I32
	}
	return clif.I64
}

// importAdapter is a function in the waot convention that calls a C function.
func (a *adapterSection) importAdapter(sig *clif.Signature, callee objfile.SymbolIndex) {
	v := conventionsOf(sig)
	clean := len(sig.Results) == 1 && sig.Results[0] == clif.I32
	if v.same() && !clean {
		a.jump(objfile.Call32, callee, 0)
		return
	}
	results := 0 // size of the array of results
	if v.many {
		results = 8 * len(sig.Results)
	}
	a.enter(16 + (results+15)&^15 + (8*v.cWords+15)&^15)
	if v.waot.HasHidden() {
		a.store(asm.RBP, saved, regalloc.IntReg(int(v.waot.HiddenReg)))
	}
	a.importArgs(v)
	if v.many {
		a.lea(asm.RDI, asm.RBP, int32(-16-results))
	}
	a.call(objfile.Call32, callee, 0)
	switch {
	case clean:
		a.move(asm.RAX, asm.RAX, 4)
	case v.many:
		a.importResults(v, int32(-16-results))
	}
	a.leave(v.waot.ArgBytes(&abi.X64))
}

// importArgs moves arguments to where C wants them: first those that go to the stack, then
// the others from the last, since each goes to its own register or that of the argument after.
func (a *adapterSection) importArgs(v *conventions) {
	for n, to := range v.c {
		if to.InReg {
			continue
		}
		reg := scratch
		if from := v.waot.Args[n]; from.InReg {
			reg = pregOf(from)
		} else {
			a.load(reg, asm.RBP, inArgs+8*int32(from.Word), clif.I64)
		}
		a.store(asm.RSP, 8*int32(to.Word), reg)
	}
	for n := len(v.c) - 1; n >= 0; n-- {
		to, from := v.c[n], v.waot.Args[n]
		if to.InReg && to.Kind == abi.ArgInt && to.Reg != from.Reg {
			a.move(pregOf(to), pregOf(from), 8)
		}
	}
}

// importResults loads the results from the array at area.
func (a *adapterSection) importResults(v *conventions, area int32) {
	if v.waot.HasHidden() {
		a.load(scratch2, asm.RBP, saved, clif.I64)
	}
	for n, t := range v.sig.Results {
		if to := v.waot.Results[n]; !to.InReg {
			a.load(scratch, asm.RBP, area+8*int32(n), wordType(t))
			a.store(scratch2, 8*int32(to.Word), scratch)
		}
	}
	for n, t := range v.sig.Results {
		if to := v.waot.Results[n]; to.InReg {
			a.load(pregOf(to), asm.RBP, area+8*int32(n), t)
		}
	}
}
