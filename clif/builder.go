package clif

import (
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/stop"
)

// Builder appends instructions to a Func, block by block: a block is filled
// from SwitchTo to its terminator and not resumed afterwards.
type Builder struct {
	F *Func
	// Src is the source offset given to appended instructions.
	Src uint32
	cur Block
}

// NewBlock creates a block without parameters; SwitchTo puts it in the layout.
func (b *Builder) NewBlock() Block {
	b.F.Blocks = append(stop.Room(b.F.Stop, b.F.Blocks), BlockData{})
	return Block(len(b.F.Blocks) - 1)
}

// AddParam appends a parameter to block blk.
func (b *Builder) AddParam(blk Block, t Type) Value {
	f := b.F
	v := Value(len(f.Values))
	bd := &f.Blocks[blk]
	f.Values = append(stop.Room(f.Stop, f.Values), ValueData{Type: t, Kind: ValueParam, Num: uint16(bd.Params.Len), Def: uint32(blk)})
	f.AppendList(&bd.Params, uint32(v))
	return v
}

// SwitchTo appends blk to the layout; subsequent instructions go to it.
func (b *Builder) SwitchTo(blk Block) {
	f := b.F
	n := Inst(len(f.Insts))
	f.Blocks[blk].Start, f.Blocks[blk].End = n, n
	f.Layout = append(f.Layout, blk)
	b.cur = blk
}

// Current returns the block being filled.
func (b *Builder) Current() Block { return b.cur }

// emit appends d without results.
func (b *Builder) emit(d InstData) Inst {
	f := b.F
	i := Inst(len(f.Insts))
	d.Result = NoValue
	f.Insts = append(stop.Room(f.Stop, f.Insts), d)
	f.Srcs = stop.Append(f.Stop, f.Srcs, b.Src)
	f.Blocks[b.cur].End = i + 1
	return i
}

// emit1 appends d with one result of type t.
func (b *Builder) emit1(d InstData, t Type) Value {
	f := b.F
	i := b.emit(d)
	v := Value(len(f.Values))
	f.Values = append(stop.Room(f.Stop, f.Values), ValueData{Type: t, Def: uint32(i)})
	f.Insts[i].Result, f.Insts[i].NumResults = v, 1
	return v
}

// Iconst returns an integer constant; only the low bits of t count.
func (b *Builder) Iconst(t Type, x uint64) Value {
	if t == I32 {
		x = uint64(uint32(x))
	}
	return b.emit1(InstData{Op: OpIconst, Type: t, Imm: x}, t)
}

// Fconst returns a float constant with the IEEE bits x.
func (b *Builder) Fconst(t Type, x uint64) Value {
	return b.emit1(InstData{Op: OpFconst, Type: t, Imm: x}, t)
}

// RefNull returns the null reference of type t.
func (b *Builder) RefNull(t Type) Value { return b.emit1(InstData{Op: OpRefNull, Type: t}, t) }

// Unary is op x; t is the controlling type.
func (b *Builder) Unary(op Opcode, t Type, x Value) Value {
	return b.emit1(InstData{Op: op, Type: t, Args: [3]uint32{uint32(x)}}, op.ResultType(t))
}

// Binary is x op y.
func (b *Builder) Binary(op Opcode, t Type, x, y Value) Value {
	return b.emit1(InstData{Op: op, Type: t, Args: [3]uint32{uint32(x), uint32(y)}}, op.ResultType(t))
}

// Ternary is op of x, y and z.
func (b *Builder) Ternary(op Opcode, t Type, x, y, z Value) Value {
	return b.emit1(InstData{Op: op, Type: t, Args: [3]uint32{uint32(x), uint32(y), uint32(z)}}, op.ResultType(t))
}

// Vconst returns the vector with the given halves.
func (b *Builder) Vconst(low, high uint64) Value {
	d := InstData{Op: OpVconst, Type: V128}
	d.SetV128(low, high)
	return b.emit1(d, V128)
}

// Extract returns a lane of x: op is OpVextract or OpVextractS.
func (b *Builder) Extract(op Opcode, shape Type, x Value, lane uint8) Value {
	return b.emit1(InstData{Op: op, Type: shape, Args: [3]uint32{uint32(x)}, Imm: uint64(lane)}, op.ResultType(shape))
}

// Insert returns x with a lane replaced by y.
func (b *Builder) Insert(shape Type, x, y Value, lane uint8) Value {
	return b.emit1(InstData{Op: OpVinsert, Type: shape, Args: [3]uint32{uint32(x), uint32(y)}, Imm: uint64(lane)}, V128)
}

// Shuffle returns lanes of x and y.
func (b *Builder) Shuffle(x, y Value, lanes [16]uint8) Value {
	d := InstData{Op: OpVshuffle, Type: I8x16, Args: [3]uint32{uint32(x), uint32(y)}}
	d.SetLanes(lanes)
	return b.emit1(d, V128)
}

// Vicmp compares lanes of integers.
func (b *Builder) Vicmp(cc IntCC, shape Type, x, y Value) Value {
	return b.emit1(InstData{Op: OpVicmp, Type: shape, Cond: uint8(cc), Args: [3]uint32{uint32(x), uint32(y)}}, V128)
}

// Vfcmp compares lanes of floats.
func (b *Builder) Vfcmp(cc FloatCC, shape Type, x, y Value) Value {
	return b.emit1(InstData{Op: OpVfcmp, Type: shape, Cond: uint8(cc), Args: [3]uint32{uint32(x), uint32(y)}}, V128)
}

// Icmp compares integers of type t; the result is an i32, 0 or 1.
func (b *Builder) Icmp(cc IntCC, t Type, x, y Value) Value {
	return b.emit1(InstData{Op: OpIcmp, Type: t, Cond: uint8(cc), Args: [3]uint32{uint32(x), uint32(y)}}, I32)
}

// Fcmp compares floats of type t.
func (b *Builder) Fcmp(cc FloatCC, t Type, x, y Value) Value {
	return b.emit1(InstData{Op: OpFcmp, Type: t, Cond: uint8(cc), Args: [3]uint32{uint32(x), uint32(y)}}, I32)
}

// Select is c != 0 ? x : y.
func (b *Builder) Select(t Type, c, x, y Value) Value {
	return b.emit1(InstData{Op: OpSelect, Type: t, Args: [3]uint32{uint32(c), uint32(x), uint32(y)}}, t)
}

// Load reads memory m at addr + offset.
func (b *Builder) Load(t Type, a Access, m MemoryIndex, addr Value, offset uint64) Value {
	return b.emit1(InstData{Op: OpLoad, Type: t, Cond: uint8(a), Aux: uint32(m), Args: [3]uint32{uint32(addr)}, Imm: offset}, t)
}

// Store writes x of type t to memory m at addr + offset.
func (b *Builder) Store(t Type, a Access, m MemoryIndex, addr, x Value, offset uint64) {
	b.emit(InstData{Op: OpStore, Type: t, Cond: uint8(a), Aux: uint32(m), Args: [3]uint32{uint32(addr), uint32(x)}, Imm: offset})
}

// Entity returns an instruction of FormatEntity or FormatEntity2 with a result.
func (b *Builder) Entity(op Opcode, t Type, aux uint32, args ...Value) Value {
	return b.emit1(entityInst(op, t, aux, 0, args), op.ResultType(t))
}

// EntityEffect is an instruction of FormatEntity or FormatEntity2 without a result.
func (b *Builder) EntityEffect(op Opcode, t Type, aux, aux2 uint32, args ...Value) {
	b.emit(entityInst(op, t, aux, aux2, args))
}

func entityInst(op Opcode, t Type, aux, aux2 uint32, args []Value) InstData {
	d := InstData{Op: op, Type: t, Aux: aux, Imm: uint64(aux2)}
	for i, p := range [...]*uint32{&d.Args[0], &d.Args[1], &d.Args[2]} {
		if i < len(args) {
			*p = uint32(args[i])
		}
	}
	return d
}

// Field returns field i of a structure of type typ: op is one of the struct_gets.
func (b *Builder) Field(op Opcode, t Type, typ, i uint32, object Value) Value {
	return b.emit1(entityInst(op, t, typ, i, []Value{object}), t)
}

// Bulk emits an operation on many elements of an array; aux2 is another type, or a segment.
func (b *Builder) Bulk(op Opcode, typ, aux2 uint32, args ...Value) {
	l := MakeList(b.F, args)
	b.emit(InstData{Op: op, Aux: typ, Imm: uint64(aux2), Args: [3]uint32{1: l.Off, 2: l.Len}})
}

// RefTest is 1 if x, a reference of class t that is of the type from, is of the type want, else 0.
func (b *Builder) RefTest(t Type, x Value, from, want abi.ValType) Value {
	return b.emit1(InstData{Op: OpRefTest, Type: t, Aux: uint32(from), Imm: uint64(want), Args: [3]uint32{uint32(x)}}, I32)
}

// FuncAddr returns the reference to function i.
func (b *Builder) FuncAddr(i FuncIndex) Value {
	return b.emit1(InstData{Op: OpFuncAddr, Type: FuncRef, Aux: uint32(i)}, FuncRef)
}

// Trap ends the block.
func (b *Builder) Trap(code abi.TrapCode) { b.emit(InstData{Op: OpTrap, Cond: uint8(code)}) }

// TrapIf traps if c is not zero.
func (b *Builder) TrapIf(c Value, code abi.TrapCode) {
	b.emit(InstData{Op: OpTrapIf, Args: [3]uint32{uint32(c)}, Cond: uint8(code)})
}

// Bound emits an instruction whose result is x, an i64. It traps unless x, unsigned, is less than n.
func (b *Builder) Bound(x, n Value, code abi.TrapCode) Value {
	return b.emit1(InstData{Op: OpBound, Type: I64, Args: [3]uint32{uint32(x), uint32(n)}, Cond: uint8(code)}, I64)
}

// Charge consumes n units of fuel, at most MaxCharge, and ChargeBy as many as the i64 n says; code is TrapOutOfFuel or TrapNone.
func (b *Builder) Charge(n uint64, code abi.TrapCode) Inst {
	return b.emit(InstData{Op: OpCharge, Imm: n, Cond: uint8(code)})
}

// ChargeBy: see Charge.
func (b *Builder) ChargeBy(n Value, code abi.TrapCode) {
	b.emit(InstData{Op: OpChargeBy, Args: [3]uint32{uint32(n)}, Cond: uint8(code)})
}

// SigCheck traps unless callee is a function of type sig.
func (b *Builder) SigCheck(sig SigIndex, callee Value) {
	b.emit(InstData{Op: OpSigCheck, Aux: uint32(sig), Args: [3]uint32{uint32(callee)}})
}

// results appends values of the given types as the results of i.
func (b *Builder) results(i Inst, types []Type) (first Value) {
	f := b.F
	first = Value(len(f.Values))
	for n, t := range types {
		f.Values = append(stop.Room(f.Stop, f.Values), ValueData{Type: t, Num: uint16(n), Def: uint32(i)})
	}
	if len(types) > 0 {
		f.Insts[i].Result, f.Insts[i].NumResults = first, uint16(len(types))
	}
	return first
}

// Call calls function fn; the results are consecutive values from first.
func (b *Builder) Call(fn FuncIndex, args []Value) (first Value) {
	l := MakeList(b.F, args)
	i := b.emit(InstData{Op: OpCall, Aux: uint32(fn), Args: [3]uint32{0, l.Off, l.Len}})
	return b.results(i, b.F.Mod.FuncSig(fn).Results)
}

// CallRef calls callee, which must be a function of type sig.
func (b *Builder) CallRef(sig SigIndex, callee Value, args []Value) (first Value) {
	l := MakeList(b.F, args)
	i := b.emit(InstData{Op: OpCallRef, Aux: uint32(sig), Args: [3]uint32{uint32(callee), l.Off, l.Len}})
	return b.results(i, b.F.Mod.Sigs[sig].Results)
}

// ExnSet makes a new exception with a tag and its arguments the one under way.
func (b *Builder) ExnSet(tag uint32, args []Value) {
	l := MakeList(b.F, args)
	b.emit(InstData{Op: OpExnSet, Aux: tag, Args: [3]uint32{0, l.Off, l.Len}})
}

// ExnTag returns what stands for the tag of the exception under way, TagAddr what stands for a tag.
func (b *Builder) ExnTag() Value { return b.emit1(InstData{Op: OpExnTag}, I64) }

// TagAddr: see ExnTag.
func (b *Builder) TagAddr(tag uint32) Value {
	return b.emit1(InstData{Op: OpTagAddr, Aux: tag}, I64)
}

// ExnArgs returns the first of the arguments of the exception under way, which has the tag; they are consecutive values.
func (b *Builder) ExnArgs(tag uint32) (first Value) {
	i := b.emit(InstData{Op: OpExnArgs, Aux: tag})
	return b.results(i, b.F.Mod.TagSig(tag).Params)
}

// ExnRef returns a reference to the exception under way.
func (b *Builder) ExnRef() Value { return b.emit1(InstData{Op: OpExnRef, Type: Ref}, Ref) }

// ExnOpen makes the exception that x, not null, refers to the one under way.
func (b *Builder) ExnOpen(x Value) {
	b.emit(InstData{Op: OpExnOpen, Type: Ref, Args: [3]uint32{uint32(x)}})
}

// ReturnCall ends the block with a tail call of function fn.
func (b *Builder) ReturnCall(fn FuncIndex, args []Value) {
	l := MakeList(b.F, args)
	b.emit(InstData{Op: OpReturnCall, Aux: uint32(fn), Args: [3]uint32{0, l.Off, l.Len}})
}

// ReturnCallRef ends the block with a tail call of callee, which must be a function of type sig.
func (b *Builder) ReturnCallRef(sig SigIndex, callee Value, args []Value) {
	l := MakeList(b.F, args)
	b.emit(InstData{Op: OpReturnCallRef, Aux: uint32(sig), Args: [3]uint32{uint32(callee), l.Off, l.Len}})
}

// Target makes a branch target.
func (b *Builder) Target(blk Block, args []Value) Target {
	f := b.F
	f.Targets = append(stop.Room(f.Stop, f.Targets), TargetData{Block: blk, Args: MakeList(f, args)})
	return Target(len(f.Targets) - 1)
}

// Jump ends the block.
func (b *Builder) Jump(t Target) { b.emit(InstData{Op: OpJump, Args: [3]uint32{0, uint32(t)}}) }

// Branch ends the block: to then if c is not zero, else to els.
func (b *Builder) Branch(c Value, then, els Target) {
	b.emit(InstData{Op: OpBranch, Args: [3]uint32{uint32(c), uint32(then), uint32(els)}})
}

// BrTable ends the block: to targets[min(x, len(targets)-1)].
func (b *Builder) BrTable(x Value, targets []Target) {
	l := MakeList(b.F, targets)
	b.emit(InstData{Op: OpBrTable, Args: [3]uint32{uint32(x), l.Off, l.Len}})
}

// Catch ends a block whose last call may throw: to handler if it does, else to normal.
func (b *Builder) Catch(normal, handler Target) {
	b.emit(InstData{Op: OpCatch, Args: [3]uint32{0, uint32(normal), uint32(handler)}})
}

// Raise ends the block: it unwinds with the exception under way.
func (b *Builder) Raise() { b.emit(InstData{Op: OpRaise}) }

// Return ends the block.
func (b *Builder) Return(results []Value) {
	l := MakeList(b.F, results)
	b.emit(InstData{Op: OpReturn, Args: [3]uint32{0, l.Off, l.Len}})
}
