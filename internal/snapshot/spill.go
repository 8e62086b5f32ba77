package snapshot

import (
	"encoding/binary"
	"slices"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/encode"
	"github.com/waot-project/waot/wasmfront/validate"
)

// Records lie one behind the other, in units of 16 bytes: the number of the site, the locals, and the operands below the arguments of the call. Each record is there as long as its call.
// References to functions are in a table, at the number of their unit; of those to the host it is only noted whether they are null.
const recordUnit = 16

// spiller changes a function with sites. Code inside of a block cannot reach the operands that are below it. So what is below the blocks around a site is copied to locals where these begin.
type spiller struct {
	z      *instrumenter
	f      uint32
	locals []wasmfront.ValType
	pool   map[wasmfront.ValType][]uint32 // locals that are free between operators
	around map[int]bool                   // the blocks around sites, by the number of their operator
	below  map[int][]uint32               // the locals with what is below them and not below the block around them
	blocks []int                          // those that are open
	ops    int
	calls  int
}

// spillerOf returns what changes function f, nil if it has no sites.
func (z *instrumenter) spillerOf(f uint32, locals []wasmfront.ValType) *spiller {
	if !z.hasSites[f] {
		return nil
	}
	p := &spiller{z: z, f: f, around: map[int]bool{}}
	v := new(validate.Func)
	v.Begin(z.m, f)
	var op wasmfront.Operator
	for v.Next(&op) {
		if p.site(&op) != nil {
			for _, b := range p.blocks {
				p.around[b] = true
			}
		}
		p.passed(&op)
	}
	return &spiller{z: z, f: f, locals: slices.Clone(locals), pool: map[wasmfront.ValType][]uint32{}, around: p.around, below: map[int][]uint32{}}
}

// site returns the site that the operator is, or nil.
func (p *spiller) site(op *wasmfront.Operator) *site {
	if op.Op != wasmfront.OpCall && op.Op != wasmfront.OpCallIndirect {
		return nil
	}
	if n, ok := p.z.siteAt[Place{p.f, p.calls}]; ok {
		return &p.z.sites[n]
	}
	return nil
}

// passed counts an operator.
func (p *spiller) passed(op *wasmfront.Operator) {
	switch op.Op {
	case wasmfront.OpBlock, wasmfront.OpLoop, wasmfront.OpIf:
		p.blocks = append(p.blocks, p.ops)
	case wasmfront.OpEnd:
		p.blocks = p.blocks[:max(0, len(p.blocks)-1)]
	case wasmfront.OpCall, wasmfront.OpCallIndirect:
		p.calls++
	}
	p.ops++
}

// operator changes an operator, which v is behind, if it must be.
func (p *spiller) operator(e *edit, v *validate.Func, op *wasmfront.Operator) {
	if s := p.site(op); s != nil {
		e.replace(op.Offset, v.Pos, p.record(s, v, op))
	}
	switch op.Op {
	case wasmfront.OpBlock, wasmfront.OpLoop, wasmfront.OpIf:
		if p.around[p.ops] {
			e.replace(op.Offset, op.Offset, p.copyBelow(v, op))
		}
	}
	p.passed(op)
}

// add adds locals, and returns their numbers.
func (p *spiller) add(types []wasmfront.ValType) (locals []uint32) {
	for _, t := range types {
		locals = append(locals, uint32(len(p.locals)))
		p.locals = append(p.locals, t)
	}
	return locals
}

// borrow returns locals for as long as an operator takes.
func (p *spiller) borrow(types []wasmfront.ValType) (locals []uint32) {
	used := map[wasmfront.ValType]int{}
	for _, t := range types {
		if used[t] == len(p.pool[t]) {
			p.pool[t] = append(p.pool[t], p.add([]wasmfront.ValType{t})...)
		}
		locals = append(locals, p.pool[t][used[t]])
		used[t]++
	}
	return locals
}

// copyBelow returns code for in front of a block, which v is just inside: it copies to locals what is on the stack above the block around.
func (p *spiller) copyBelow(v *validate.Func, op *wasmfront.Operator) []byte {
	low, high := v.Frame(1).Height, v.Frame(0).Height
	if low == high {
		return nil
	}
	above := slices.Clone(op.Params)
	if op.Op == wasmfront.OpIf {
		above = append(above, wasmfront.I32)
	}
	kept := p.add(below(v, 0)[low:high])
	p.below[p.ops] = kept
	locals := append(slices.Clone(kept), p.borrow(above)...)
	return push(pop(nil, locals), locals)
}

// pop appends code that moves the stack to locals, and push code that moves it back.
func pop(b []byte, locals []uint32) []byte {
	for _, l := range slices.Backward(locals) {
		b = index(b, wasmfront.OpLocalSet, l)
	}
	return b
}

func push(b []byte, locals []uint32) []byte {
	for _, l := range locals {
		b = index(b, wasmfront.OpLocalGet, l)
	}
	return b
}

// record returns a call with its record.
func (p *spiller) record(s *site, v *validate.Func, op *wasmfront.Operator) []byte {
	z := p.z
	s.locals = slices.Clone(v.Locals())
	s.operands = below(v, len(op.Results))
	// What can be reached, the arguments included.
	low := v.Frame(0).Height
	stack := append(slices.Clone(s.operands[low:]), op.Params...)
	if op.Op == wasmfront.OpCallIndirect {
		stack = append(stack, wasmfront.I32)
	}
	top := p.borrow(stack)
	var from []uint32 // where what is recorded is
	for i := range s.locals {
		from = append(from, uint32(i))
	}
	for _, b := range p.blocks {
		from = append(from, p.below[b]...)
	}
	from = append(from, top[:len(s.operands)-low]...)
	size := uint32(recordUnit * (1 + len(from)))
	code := z.reserve(pop(nil, top), size)
	memory := uint32(len(z.m.Memories))
	types := slices.Concat(s.locals, s.operands)
	if slices.Contains(types, wasmfront.FuncRef) {
		code = z.reserveRefs(code, size)
	}
	for i, t := range types {
		at := uint32(1 + i)
		code = index(code, wasmfront.OpGlobalGet, z.end)
		if t == wasmfront.FuncRef {
			code = plain(i32(plain(i32(code, recordUnit), wasmfront.OpI32DivU), at), wasmfront.OpI32Add)
			code = index(index(code, wasmfront.OpLocalGet, from[i]), wasmfront.OpTableSet, uint32(len(z.m.Tables)))
			continue
		}
		code = index(code, wasmfront.OpLocalGet, from[i])
		store := storeOf[t.Class()]
		if t.IsRef() {
			code = plain(code, wasmfront.OpRefIsNull, wasmfront.OpI32Eqz)
			store = wasmfront.OpI32Store
		}
		code = storeTo(code, store, memory, recordUnit*at)
	}
	number := z.siteAt[s.Place]
	code = storeTo(i32(index(code, wasmfront.OpGlobalGet, z.end), uint32(number)), wasmfront.OpI32Store, memory, 0)
	code = push(z.move(code, wasmfront.OpI32Add, size), top)
	code = append(code, z.m.Bytes[op.Offset:v.Pos]...)
	return z.move(code, wasmfront.OpI32Sub, size)
}

// storeOf has the operators that store values of the types, by class.
var storeOf = [wasmfront.NumValTypes]wasmfront.Opcode{wasmfront.I32: wasmfront.OpI32Store, wasmfront.I64: wasmfront.OpI64Store, wasmfront.F32: wasmfront.OpF32Store,
	wasmfront.F64: wasmfront.OpF64Store, wasmfront.V128: wasmfront.OpV128Store}

func storeTo(b []byte, op wasmfront.Opcode, memory, offset uint32) []byte {
	return encode.Index(encode.Index(append(encode.Opcode(b, op), wasmfront.WithMemory), memory), offset)
}

// move appends code that moves the end of the records.
func (z *instrumenter) move(b []byte, op wasmfront.Opcode, size uint32) []byte {
	b = i32(index(b, wasmfront.OpGlobalGet, z.end), size)
	return index(plain(b, op), wasmfront.OpGlobalSet, z.end)
}

// reserve appends code that grows the memory of the records if a record of that size does not fit. If it cannot, the stores trap.
func (z *instrumenter) reserve(b []byte, size uint32) []byte {
	const pages = 1 + recordUnit*(wasmfront.MaxLocals+wasmfront.MaxOperands)/abi.PageSize // more than any record
	memory := uint32(len(z.m.Memories))
	b = plain(i32(index(b, wasmfront.OpGlobalGet, z.end), size), wasmfront.OpI32Add)
	b = plain(i32(index(b, wasmfront.OpMemorySize, memory), 16), wasmfront.OpI32Shl, wasmfront.OpI32GtU)
	b = append(plain(b, wasmfront.OpIf), noType)
	b = index(i32(b, pages), wasmfront.OpMemoryGrow, memory)
	return plain(b, wasmfront.OpDrop, wasmfront.OpEnd)
}

// reserveRefs is reserve for the table of the records.
func (z *instrumenter) reserveRefs(b []byte, size uint32) []byte {
	const more = wasmfront.MaxLocals + wasmfront.MaxOperands // more than any record has
	table := uint32(len(z.m.Tables))
	b = plain(i32(index(b, wasmfront.OpGlobalGet, z.end), size), wasmfront.OpI32Add)
	b = plain(index(plain(i32(b, recordUnit), wasmfront.OpI32DivU), wasmfront.OpTableSize, table), wasmfront.OpI32GtU)
	b = append(plain(b, wasmfront.OpIf), noType)
	b = encode.Const(b, &wasmfront.ConstOp{Op: wasmfront.OpRefNull, Type: wasmfront.FuncRef})
	b = index(i32(b, more), wasmfront.OpTableGrow, table)
	return plain(b, wasmfront.OpDrop, wasmfront.OpEnd)
}

// ReadFrames returns the calls that are under way, the outermost first, from the records; ref returns an element of their table.
func (r *Running) ReadFrames(records []byte, ref func(i uint32) (Ref, error)) ([]Frame, error) {
	var frames []Frame
	for at := 0; at < len(records); {
		s := &r.sites[binary.LittleEndian.Uint32(records[at:])]
		f := Frame{Func: s.Func, Call: s.Call}
		at += recordUnit
		for i, t := range slices.Concat(s.locals, s.operands) {
			v := Value{binary.LittleEndian.Uint64(records[at:]), binary.LittleEndian.Uint64(records[at+8:]), Null}
			switch {
			case t == wasmfront.FuncRef:
				x, err := ref(uint32(at / recordUnit))
				if err != nil {
					return nil, err
				}
				v = Value{Ref: x}
			case t.IsRef() && uint32(v.Bits) != 0:
				return nil, Errorf("function %d has a reference to a value of the host in a local or an operand", s.Func)
			case t.IsRef():
				v = Value{Ref: Null}
			case t.Bits() == 32:
				v.Bits, v.High = uint64(uint32(v.Bits)), 0
			case t.Bits() == 64:
				v.High = 0
			}
			at += recordUnit
			if i < len(s.locals) {
				f.Locals = append(f.Locals, v)
			} else {
				f.Operands = append(f.Operands, v)
			}
		}
		frames = append(frames, f)
	}
	return frames, nil
}
