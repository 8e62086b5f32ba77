package clif

import (
	"encoding/binary"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/stop"
)

// InstData is one instruction: a fixed record whose fields mean what the format
// of Op says.
type InstData struct {
	Op   Opcode
	Type Type  // the controlling type (OpInfo.Sig), Invalid where there is none
	Cond uint8 // IntCC, FloatCC, Access or abi.TrapCode
	// NumResults values, numbered from Result, are the results.
	NumResults uint16
	Result     Value
	Args       [3]uint32 // A, B and C of the format: Values, Targets or a pool list
	Aux        uint32    // an entity of the module
	Imm        uint64
}

// TableRare, as Cond of a br_table, says that all entries but the first are rarely taken: see package resumable.
const TableRare = 1

// ArgA, ArgB and ArgC are the value operands.
func (d *InstData) ArgA() Value { return Value(d.Args[0]) }

// ArgB returns the second value operand.
func (d *InstData) ArgB() Value { return Value(d.Args[1]) }

// ArgC returns the third value operand.
func (d *InstData) ArgC() Value { return Value(d.Args[2]) }

// IntCC returns the condition of an icmp.
func (d *InstData) IntCC() IntCC { return IntCC(d.Cond) }

// FloatCC returns the condition of an fcmp.
func (d *InstData) FloatCC() FloatCC { return FloatCC(d.Cond) }

// Access returns the access of a load or store.
func (d *InstData) Access() Access { return Access(d.Cond) }

// Trap returns the code of a trap or trapif.
func (d *InstData) Trap() abi.TrapCode { return abi.TrapCode(d.Cond) }

// RefTestTypes returns the type that the operand of a ref_test is known to have, and the one that it asks for, as the module has them.
func (d *InstData) RefTestTypes() (from, want abi.ValType) {
	return abi.ValType(d.Aux), abi.ValType(d.Imm)
}

// V128 returns the halves of the constant of a vconst: Imm is the low one, B and C are the high one.
func (d *InstData) V128() (low, high uint64) { return d.Imm, uint64(d.Args[2])<<32 | uint64(d.Args[1]) }

// SetV128 sets the constant of a vconst.
func (d *InstData) SetV128(low, high uint64) {
	d.Imm, d.Args[1], d.Args[2] = low, uint32(high), uint32(high>>32)
}

// Lane returns the lane of a vextract or vinsert.
func (d *InstData) Lane() uint8 { return uint8(d.Imm) }

// Lanes returns the lanes of a vshuffle: 0 to 15 are those of A, 16 to 31 those of B. Imm, C and Aux
// hold them in this order.
func (d *InstData) Lanes() (lanes [16]uint8) {
	binary.LittleEndian.PutUint64(lanes[:], d.Imm)
	binary.LittleEndian.PutUint32(lanes[8:], d.Args[2])
	binary.LittleEndian.PutUint32(lanes[12:], d.Aux)
	return lanes
}

// SetLanes sets the lanes of a vshuffle.
func (d *InstData) SetLanes(lanes [16]uint8) {
	d.Imm = binary.LittleEndian.Uint64(lanes[:])
	d.Args[2] = binary.LittleEndian.Uint32(lanes[8:])
	d.Aux = binary.LittleEndian.Uint32(lanes[12:])
}

// ValueKind says where a value comes from.
type ValueKind uint8

// The kinds.
const (
	ValueResult ValueKind = iota // of instruction Def
	ValueParam                   // of block Def
	ValueAlias                   // of value Def: the same value under another name
	ValueDead                    // of nothing: removed, and not used
)

// ValueData describes one value.
type ValueData struct {
	Type Type
	Kind ValueKind
	Num  uint16 // which result or parameter
	Def  uint32 // Inst, Block or Value
}

// List is a list of numbers in Func.Pool.
type List struct{ Off, Len, cap uint32 }

// TargetData is a branch target with the arguments for its parameters.
type TargetData struct {
	Block Block
	Args  List // of Values
}

// BlockData is a basic block: the instructions [Start, End), all but the last
// not terminators (removed ones are OpNop), and parameters.
type BlockData struct {
	Start, End Inst
	Params     List // of Values
}

// Func is the body of one function: tables that refer to each other by index.
//
// Invariants, which clif/verify checks:
//
//	F1 Layout[0] is the entry; its parameters are those of the signature.
//	F2 Blocks in Layout own disjoint ranges of Insts.
//	F3 Exactly the last instruction of a block that is not a nop terminates.
//	F4 Each use is dominated by its definition; types agree with OpInfo.Sig.
//	F5 A target has as many arguments as its block parameters, of their types.
//	F6 No operand and no argument is an alias.
//	F7 Places are offsets, or entries of Inlined; the Caller of an entry is an earlier one.
//	F8 A catch belongs to a call in its block (CaughtCall), whose results nothing in the block uses. They are arguments of the catch's first target, or used
//	   where all ways have gone along that edge.
type Func struct {
	Name  string
	Index FuncIndex
	Sig   SigIndex
	Mod   *Module
	// Stop is polled by every pass over the function and can end it; a nil flag never does.
	Stop *stop.Flag

	Insts   []InstData
	Srcs    []uint32 // parallel to Insts: place in the Wasm module, 0 if none
	Values  []ValueData
	Blocks  []BlockData
	Targets []TargetData
	Layout  []Block
	Pool    []uint32
	// Inlined is the table of places in functions that were inlined (abi.InlinedPlace).
	Inlined []abi.Inlined

	// spare is what Rewriting returns: arrays that Insts and Srcs were before.
	spare struct {
		insts []InstData
		srcs  []uint32
	}
}

// Rewriting returns empty arrays with room for n instructions and their places, and some more, for a pass that writes all of them anew and ends with Rewritten.
// The passes share them, as pages that are touched for the first time cost more than the instructions.
func (f *Func) Rewriting(n int) (insts []InstData, srcs []uint32) {
	insts, srcs = f.spare.insts, f.spare.srcs
	f.spare.insts, f.spare.srcs = nil, nil
	n += n / 4
	return stop.Resize(f.Stop, insts, n)[:0], stop.Resize(f.Stop, srcs, n)[:0]
}

// Rewritten puts what a pass has written in the place of Insts and Srcs. What these were is for the next pass: nothing may refer to it.
func (f *Func) Rewritten(insts []InstData, srcs []uint32) {
	f.spare.insts, f.spare.srcs = f.Insts, f.Srcs
	f.Insts, f.Srcs = insts, srcs
}

// Reset empties f, keeping its memory.
func (f *Func) Reset() {
	f.Insts, f.Srcs, f.Values = f.Insts[:0], f.Srcs[:0], f.Values[:0]
	f.Blocks, f.Targets, f.Layout, f.Pool = f.Blocks[:0], f.Targets[:0], f.Layout[:0], f.Pool[:0]
	f.Inlined = f.Inlined[:0]
}

// Offset returns the offset in the Wasm module of a place.
func (f *Func) Offset(place uint32) uint32 {
	if place >= abi.InlinedPlace {
		return f.Inlined[place-abi.InlinedPlace].Src
	}
	return place
}

// Signature returns the function's.
func (f *Func) Signature() *Signature { return &f.Mod.Sigs[f.Sig] }

// Entry returns the entry block.
func (f *Func) Entry() Block { return f.Layout[0] }

// ListAt returns the numbers of l; they alias the pool.
func (f *Func) ListAt(l List) []uint32 { return f.Pool[l.Off : l.Off+l.Len : l.Off+l.Len] }

// AppendList appends x to the list l, moving it to the end of the pool when it has no room.
func (f *Func) AppendList(l *List, x uint32) {
	if l.Len == l.cap {
		n := l.cap * 2
		if n == 0 {
			n = 2
		}
		off := uint32(len(f.Pool))
		f.Pool = append(f.Pool, f.Pool[l.Off:l.Off+l.Len]...)
		for i := l.Len; i < n; i++ {
			f.Pool = append(f.Pool, 0)
		}
		l.Off, l.cap = off, n
	}
	f.Pool[l.Off+l.Len] = x
	l.Len++
}

// MakeList puts xs into the pool.
func MakeList[T ~uint32](f *Func, xs []T) List {
	l := List{Off: uint32(len(f.Pool)), Len: uint32(len(xs)), cap: uint32(len(xs))}
	for _, x := range xs {
		f.Pool = append(f.Pool, uint32(x))
	}
	return l
}

// CopyList puts a copy of l into the pool.
func (f *Func) CopyList(l List) List { return MakeList(f, f.ListAt(l)) }

// Params returns the parameters of b, as numbers of Values.
func (f *Func) Params(b Block) []uint32 { return f.ListAt(f.Blocks[b].Params) }

// TargetArgs returns the arguments of t, as numbers of Values; they may be written.
func (f *Func) TargetArgs(t Target) []uint32 { return f.ListAt(f.Targets[t].Args) }

// TypeOf returns the type of v.
func (f *Func) TypeOf(v Value) Type { return f.Values[v].Type }

// DefInst returns the instruction that v is the result of, or NoInst.
func (f *Func) DefInst(v Value) Inst {
	if d := &f.Values[v]; d.Kind == ValueResult {
		return Inst(d.Def)
	}
	return NoInst
}

// Terminator returns the last instruction of b that is not a nop, or NoInst.
func (f *Func) Terminator(b Block) Inst {
	bd := &f.Blocks[b]
	for i := bd.End; i > bd.Start; i-- {
		if f.Insts[i-1].Op != OpNop {
			return i - 1
		}
	}
	return NoInst
}
