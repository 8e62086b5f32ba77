package backend

import (
	"math"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/regalloc"
)

// Address is a memory operand that is not yet part of an instruction.
type Address struct {
	Mode  Mode
	Scale uint8
	N     uint8 // how many of Regs
	// Extend is the immediate of an instruction whose index is not the whole register (AArch64).
	Extend uint8
	Disp   int32
	ref    uint32 // as Inst.ref
	Regs   [2]regalloc.VReg
}

// Faulting sets how an access at a, an address with registers, may fault. By default it cannot.
func (a *Address) Faulting(f Fault) { a.ref = uint32(f) }

// InstanceAt returns the address at offset off of the instance data.
func InstanceAt(off uint32) Address {
	return Address{Mode: ModeSym, Disp: int32(off), ref: uint32(SymInstance)}
}

// Based returns [base + disp], which does not fault.
func Based(base regalloc.VReg, disp int32) Address {
	return Address{Mode: ModeBase, N: 1, Regs: [2]regalloc.VReg{base}, Disp: disp}
}

// Indexed returns [base + index<<scale], which does not fault.
func Indexed(base, index regalloc.VReg, scale uint8) Address {
	return Address{Mode: ModeBaseIndex, N: 2, Scale: scale, Regs: [2]regalloc.VReg{base, index}}
}

// Pool returns the address of the constant lo, hi of the given width in bytes.
func (l *Emit) Pool(lo, hi uint64, bytes uint8) Address {
	return Address{Mode: ModeConst, ref: l.PoolConst(lo, hi, bytes)}
}

// Set puts the address into in.
func (a *Address) Set(in *Inst) {
	in.Mode, in.Scale, in.Disp, in.ref = a.Mode, a.Scale, a.Disp, a.ref
	if a.Extend != 0 {
		in.Imm = int64(a.Extend)
	}
}

// HeapBase returns the register of the base of memory m, for accesses at addr.
func (l *Place) HeapBase(m uint32, addr clif.Value) regalloc.VReg {
	if l.F.TypeOf(addr) != clif.I32 {
		panic(Unsupported("64-bit memories are not supported"))
	}
	if m > math.MaxUint8 {
		panic(Unsupported("more than 256 memories are not supported"))
	}
	return l.MemBase(clif.MemoryIndex(m))
}

// Form is the row and size of a load or store.
type Form struct {
	Op   Op
	Size uint8
}

// LoadForm returns the form of a load of type t.
func (l *Query) LoadForm(t clif.Type, a clif.Access) Form {
	return l.Target.Loads[t][a]
}

// Full is LoadForm for a load of all of a value of type t.
func (l *Query) Full(t clif.Type) Form { return l.LoadForm(t, clif.Full) }

// Emit appends an instruction with the given registers in the order of its row.
func (l *Emit) Emit(in Inst, regs ...regalloc.VReg) {
	l.operands(&in, regs...)
	l.Push(in, 0)
}

// operands appends the operands of in. A slot has 4 bytes of a value of 4, so where 8 are read of it, it must be in a register.
func (l *Emit) operands(in *Inst, regs ...regalloc.VReg) {
	start := len(l.Ops)
	l.Ops = l.Target.Shapes.Operands(l.Ops, in, regs...)
	if k := l.Target.Shapes.wide(in); k >= 0 {
		if op := &l.Ops[start+k]; op.Constraint == regalloc.Any && l.BytesOfVReg(op.VReg) == 4 {
			op.Constraint = regalloc.Reg
		}
	}
}

// EmitRemat appends an instruction without effects that defines dst.
func (l *Emit) EmitRemat(in Inst, dst regalloc.VReg) {
	l.Ops = l.Target.Shapes.Operands(l.Ops, &in, dst)
	l.PushRemat(in)
}

// Access appends an instruction whose operands are the address a and then the registers to load or store, at most two.
func (l *Emit) Access(op Op, size uint8, a Address, regs ...regalloc.VReg) {
	in := Inst{Op: op, Size: size}
	if a.Mode == ModeSym && op != l.Target.Common.Lea && a.Disp <= l.Target.MaxDisp/8*int32(size) {
		if base, ok := l.InstanceBase(); ok {
			a = Based(base, a.Disp)
		}
	}
	a.Set(&in)
	var all [4]regalloc.VReg
	n := copy(all[:], a.Regs[:a.N])
	n += copy(all[n:], regs)
	l.Emit(in, all[:n]...)
}

// LoadAs appends the result of m's instruction as a load of the whole of its type at a.
func (l *Emit) LoadAs(m *Match, a Address) {
	f := l.Full(m.T)
	l.Access(f.Op, f.Size, a, l.Def(m.D, 0))
}

// ReadWord appends a fresh register with the 64-bit word at offset off of the instance data.
func (l *Emit) ReadWord(off uint32) regalloc.VReg {
	v := l.NewVReg(clif.I64)
	l.loadWord(InstanceAt(off), v)
	return v
}

// loadWord appends dst = the 64-bit word at a.
func (l *Emit) loadWord(a Address, dst regalloc.VReg) {
	f := &l.Target.Loads[clif.I64][clif.Full]
	l.Access(f.Op, f.Size, a, dst)
}

// loadReg and storeReg append a load and a store of the whole register r, of any class, at a.
func (l *Emit) loadReg(a Address, r regalloc.VReg) {
	f := &l.Target.Loads[[regalloc.NumClasses]clif.Type{clif.I64, clif.F64}[l.ClassOfVReg(r)]][clif.Full]
	l.Access(f.Op, l.wholeBytes(r), a, r)
}

func (l *Emit) storeReg(a Address, r regalloc.VReg) {
	if a.Mode == ModeBase && a.Disp > l.Target.MaxDisp {
		a = Indexed(a.Regs[0], l.Temp(int64(a.Disp)), 0)
	}
	l.Access(l.Target.Common.Store[l.ClassOfVReg(r)], l.wholeBytes(r), a, r)
}

// wholeBytes returns how many bytes hold r in memory: 4 bytes are zero-extended there, too.
func (l *Query) wholeBytes(r regalloc.VReg) uint8 { return max(l.BytesOfVReg(r), 8) }
