package wasmedit

import (
	"fmt"
	"slices"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/encode"
)

// gone is the number of what is dead.
const gone = ^uint32(0)

// encoder encodes a module.
type encoder struct {
	m                                                   *Module
	types                                               []wasmfront.TypeDef
	funcs, tables, memories, tags, globals, elems, data []uint32 // new indices
	locals                                              []uint32 // of the function
	err                                                 error
}

// Encode puts the module together. It fails if something that is dead is used.
func (m *Module) Encode() ([]byte, error) {
	e := &encoder{m: m, types: slices.Clone(m.Types)}
	e.funcs = number(m.Funcs, func(f *Func) (bool, bool) { return f.Dead, f.Import != nil })
	e.tables = number(m.Tables, func(t *Table) (bool, bool) { return t.Dead, t.Import != nil })
	e.memories = number(m.Memories, func(x *Memory) (bool, bool) { return x.Dead, x.Import != nil })
	e.tags = number(m.Tags, func(t *Tag) (bool, bool) { return t.Dead, t.Import != nil })
	e.globals = number(m.Globals, func(g *Global) (bool, bool) { return g.Dead, g.Import != nil })
	e.elems = number(m.Elems, func(s *Elem) (bool, bool) { return s.Dead, false })
	e.data = number(m.Data, func(s *Data) (bool, bool) { return s.Dead, false })
	// The types come first but are known last.
	var rest []byte
	rest = section(rest, 2, e.imports())
	rest = section(rest, 3, vec(m.Funcs, func(b []byte, f *Func) ([]byte, bool) {
		if f.Dead || f.Import != nil {
			return b, false // and its type is not needed
		}
		return encode.Unsigned(b, uint64(e.named(f.TypeIndex, &f.Type))), true
	}))
	rest = section(rest, 4, vec(m.Tables, func(b []byte, t *Table) ([]byte, bool) {
		if t.Dead || t.Import != nil {
			return b, false
		}
		return e.table(b, t), true
	}))
	rest = section(rest, 5, vec(m.Memories, func(b []byte, x *Memory) ([]byte, bool) {
		return encode.Limits(b, x.Type.Limits), !x.Dead && x.Import == nil
	}))
	rest = section(rest, 13, vec(m.Tags, func(b []byte, t *Tag) ([]byte, bool) {
		if t.Dead || t.Import != nil {
			return b, false
		}
		return e.tag(b, t), true
	}))
	rest = section(rest, 6, vec(m.Globals, func(b []byte, g *Global) ([]byte, bool) {
		if g.Dead || g.Import != nil {
			return b, false
		}
		return e.constant(encode.GlobalType(b, g.Type), g.Init), true
	}))
	rest = section(rest, 7, vec(m.Exports, func(b []byte, x *Export) ([]byte, bool) {
		if x.Dead {
			return b, false
		}
		return encode.Unsigned(append(encode.Sized(b, x.Name), byte(x.Kind)), uint64(e.entity(x.Kind, x.Index))), true
	}))
	if m.Start >= 0 {
		rest = section(rest, 8, encode.Unsigned(nil, uint64(e.use(e.funcs, uint32(m.Start)))))
	}
	rest = section(rest, 9, vec(m.Elems, e.elem))
	live := uint64(0)
	for _, n := range e.data {
		if n != gone {
			live++
		}
	}
	if m.Counted && live > 0 {
		rest = section(rest, 12, encode.Unsigned(nil, live))
	}
	rest = section(rest, 10, vec(m.Funcs, e.body))
	rest = section(rest, 11, vec(m.Data, e.segment))
	return append(section([]byte(encode.Header), 1, encodeTypes(e.types)), rest...), e.err
}

// number gives what is not dead its index, what is imported first.
func number[T any](list []T, is func(*T) (dead, imported bool)) []uint32 {
	out, n := slices.Repeat([]uint32{gone}, len(list)), uint32(0)
	for _, first := range [...]bool{true, false} {
		for i := range list {
			if dead, imported := is(&list[i]); !dead && imported == first {
				out[i] = n
				n++
			}
		}
	}
	return out
}

// vec returns a vector of those items that item does not leave out; nil if it is empty.
func vec[T any](list []T, item func(b []byte, x *T) ([]byte, bool)) []byte {
	var b []byte
	n := uint64(0)
	for i := range list {
		if c, ok := item(b, &list[i]); ok {
			b = c
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return append(encode.Unsigned(nil, n), b...)
}

// section appends a section, unless it is empty.
func section(b []byte, id byte, content []byte) []byte {
	if content == nil {
		return b
	}
	return encode.Section(b, id, content)
}

// use returns the new index of entity i of a space.
func (e *encoder) use(space []uint32, i uint32) uint32 {
	if int64(i) >= int64(len(space)) || space[i] == gone {
		e.err = fmt.Errorf("entity %d is used and not there", i)
		return 0
	}
	return space[i]
}

// entity is use by the kind of an export.
func (e *encoder) entity(k abi.ExternKind, i uint32) uint32 {
	return e.use([...][]uint32{abi.ExternFunc: e.funcs, abi.ExternTable: e.tables, abi.ExternMemory: e.memories,
		abi.ExternGlobal: e.globals, abi.ExternTag: e.tags}[k], i)
}

// typeIndex returns the index of a type of functions that has nothing but its signature, which may be a new one.
func (e *encoder) typeIndex(t *wasmfront.FuncType) int {
	for i := range e.types {
		if u := &e.types[i]; u.Equal(t) && u.Kind == wasmfront.KindFunc && !u.Open && !u.HasSuper && groupEnd(e.types, i) == i+1 && u.Place == 0 {
			return i
		}
	}
	e.types = append(e.types, wasmfront.TypeDef{FuncType: *t})
	return len(e.types) - 1
}

// named returns the index of the type with a signature that has index i, if the module has such types.
func (e *encoder) named(i uint32, t *wasmfront.FuncType) int {
	if int64(i) < int64(len(e.m.Types)) && e.m.Types[i].Kind == wasmfront.KindFunc && e.m.Types[i].Equal(t) {
		return int(i)
	}
	return e.typeIndex(t)
}

// groupEnd returns the end of the recursion group that type i is of.
func groupEnd(types []wasmfront.TypeDef, i int) int {
	for i++; i < len(types) && types[i].Place != 0; i++ {
	}
	return i
}

// encodeTypes returns the content of the section of types.
func encodeTypes(types []wasmfront.TypeDef) []byte {
	var b []byte
	n := uint64(0)
	for i := 0; i < len(types); n++ {
		end := groupEnd(types, i)
		if end > i+1 {
			b = encode.Unsigned(append(b, wasmfront.FormRec), uint64(end-i))
		}
		for ; i < end; i++ {
			b = encodeType(b, &types[i])
		}
	}
	if n == 0 {
		return nil
	}
	return append(encode.Unsigned(nil, n), b...)
}

// encodeType appends the definition of a type.
func encodeType(b []byte, t *wasmfront.TypeDef) []byte {
	if t.Open || t.HasSuper {
		form := byte(wasmfront.FormSubFinal)
		if t.Open {
			form = wasmfront.FormSub
		}
		if b = append(b, form); t.HasSuper {
			b = encode.Unsigned(append(b, 1), uint64(t.Super))
		} else {
			b = append(b, 0)
		}
	}
	switch t.Kind {
	case wasmfront.KindFunc:
		return encode.FuncType(b, &t.FuncType)
	case wasmfront.KindArray:
		return encode.FieldType(append(b, wasmfront.FormArray), t.Fields[0])
	}
	b = encode.Unsigned(append(b, wasmfront.FormStruct), uint64(len(t.Fields)))
	for _, f := range t.Fields {
		b = encode.FieldType(b, f)
	}
	return b
}

func (e *encoder) imports() []byte {
	var b []byte
	n := uint64(0)
	one := func(i *Import, dead bool, kind abi.ExternKind, desc func(b []byte) []byte) {
		if i != nil && !dead {
			b = desc(append(encode.Sized(encode.Sized(b, i.Module), i.Name), byte(kind)))
			n++
		}
	}
	for i := range e.m.Funcs {
		f := &e.m.Funcs[i]
		one(f.Import, f.Dead, abi.ExternFunc, func(b []byte) []byte { return encode.Unsigned(b, uint64(e.named(f.TypeIndex, &f.Type))) })
	}
	for i := range e.m.Tables {
		t := &e.m.Tables[i]
		one(t.Import, t.Dead, abi.ExternTable, func(b []byte) []byte { return encode.Limits(encode.ValType(b, t.Type.Elem), t.Type.Limits) })
	}
	for i := range e.m.Memories {
		x := &e.m.Memories[i]
		one(x.Import, x.Dead, abi.ExternMemory, func(b []byte) []byte { return encode.Limits(b, x.Type.Limits) })
	}
	for i := range e.m.Tags {
		t := &e.m.Tags[i]
		one(t.Import, t.Dead, abi.ExternTag, func(b []byte) []byte { return e.tag(b, t) })
	}
	for i := range e.m.Globals {
		g := &e.m.Globals[i]
		one(g.Import, g.Dead, abi.ExternGlobal, func(b []byte) []byte { return encode.GlobalType(b, g.Type) })
	}
	if n == 0 {
		return nil
	}
	return append(encode.Unsigned(nil, n), b...)
}

// constant appends a constant expression with its end.
func (e *encoder) constant(b []byte, ops []wasmfront.ConstOp) []byte {
	for _, in := range Constant(ops) {
		b = e.inst(b, &in)
	}
	return append(b, byte(wasmfront.OpEnd))
}

// tag appends a tag.
func (e *encoder) tag(b []byte, t *Tag) []byte {
	const exception = 0
	return encode.Unsigned(append(b, exception), uint64(e.named(t.TypeIndex, &t.Type)))
}

// table appends a table, with its initial value if it has one.
func (e *encoder) table(b []byte, t *Table) []byte {
	if t.Init != nil {
		b = append(b, 0x40, 0)
	}
	b = encode.Limits(encode.ValType(b, t.Type.Elem), t.Type.Limits)
	if t.Init != nil {
		b = e.constant(b, t.Init)
	}
	return b
}

// elem appends an element segment, in the form with expressions if it has any but functions.
func (e *encoder) elem(b []byte, s *Elem) ([]byte, bool) {
	if s.Dead {
		return b, false
	}
	exprs := s.Type != wasmfront.FuncRef || slices.ContainsFunc(s.Items, func(ops []wasmfront.ConstOp) bool { return ops[0].Op != wasmfront.OpRefFunc })
	flags := byte(0)
	if exprs {
		flags = 4
	}
	switch s.Mode {
	case wasmfront.SegmentActive:
		if t := e.use(e.tables, s.Table); t != 0 || s.Type != wasmfront.FuncRef {
			flags |= 2
		}
		b = append(b, flags)
		if flags&2 != 0 {
			b = encode.Unsigned(b, uint64(e.use(e.tables, s.Table)))
		}
		b = e.constant(b, s.Offset)
	case wasmfront.SegmentPassive:
		flags |= 1
		b = append(b, flags)
	default:
		flags |= 3
		b = append(b, flags)
	}
	switch {
	case flags&3 == 0:
	case exprs:
		b = encode.ValType(b, s.Type)
	default:
		b = append(b, 0) // functions
	}
	b = encode.Unsigned(b, uint64(len(s.Items)))
	for _, ops := range s.Items {
		if exprs {
			b = e.constant(b, ops)
		} else {
			b = encode.Unsigned(b, uint64(e.use(e.funcs, ops[0].Index)))
		}
	}
	return b, true
}

// segment appends a data segment.
func (e *encoder) segment(b []byte, s *Data) ([]byte, bool) {
	if s.Dead {
		return b, false
	}
	if s.Mode == wasmfront.SegmentPassive {
		b = append(b, 1)
	} else {
		if i := e.use(e.memories, s.Memory); i != 0 {
			b = encode.Unsigned(append(b, 2), uint64(i))
		} else {
			b = append(b, 0)
		}
		b = e.constant(b, s.Offset)
	}
	return append(encode.Unsigned(b, uint64(len(s.Bytes))), s.Bytes...), true
}

// body appends a function body with its length.
func (e *encoder) body(b []byte, f *Func) ([]byte, bool) {
	if f.Dead || f.Import != nil {
		return b, false
	}
	e.locals = e.locals[:0]
	next := uint32(0)
	for range f.Type.Params {
		e.locals = append(e.locals, next)
		next++
	}
	type group struct {
		n uint64
		t wasmfront.ValType
	}
	var groups []group
	for _, l := range f.Locals {
		if l.Dead {
			e.locals = append(e.locals, gone)
			continue
		}
		e.locals = append(e.locals, next)
		next++
		if n := len(groups); n > 0 && groups[n-1].t == l.Type {
			groups[n-1].n++
		} else {
			groups = append(groups, group{1, l.Type})
		}
	}
	code := encode.Unsigned(nil, uint64(len(groups)))
	for _, g := range groups {
		code = encode.ValType(encode.Unsigned(code, g.n), g.t)
	}
	for i := range f.Code {
		code = e.inst(code, &f.Code[i])
	}
	return append(encode.Unsigned(b, uint64(len(code))), code...), true
}

// inst appends an operator.
func (e *encoder) inst(b []byte, in *Inst) []byte {
	imm := in.Imm()
	if imm == wasmfront.ImmMemArg || imm == wasmfront.ImmMemArgLane {
		return e.access(b, in)
	}
	if in.Raw != nil {
		return append(b, in.Raw...)
	}
	b = encode.Opcode(b, in.Op)
	one := func(space []uint32, i uint32) { b = encode.Unsigned(b, uint64(e.use(space, i))) }
	switch imm {
	case wasmfront.ImmBlock:
		return e.blockType(b, &in.Type)
	case wasmfront.ImmTryTable:
		return e.catches(e.blockType(b, &in.Type), in.Catches)
	case wasmfront.ImmTag:
		one(e.tags, in.Index)
	case wasmfront.ImmCallIndirect:
		b = encode.Unsigned(b, uint64(e.named(in.Index, &in.Type)))
		one(e.tables, in.Index2)
	case wasmfront.ImmBrTable:
		b = encode.Unsigned(b, uint64(len(in.Targets)))
		for _, t := range in.Targets {
			b = encode.Unsigned(b, uint64(t))
		}
		b = encode.Unsigned(b, uint64(in.Index))
	case wasmfront.ImmLabel, wasmfront.ImmType: // types keep their indices
		b = encode.Unsigned(b, uint64(in.Index))
	case wasmfront.ImmBrOnCast:
		b = encode.Unsigned(append(b, castFlags(in)), uint64(in.Index))
		b = encode.HeapType(encode.HeapType(b, in.From), in.To)
	case wasmfront.ImmTypeData:
		b = encode.Unsigned(b, uint64(in.Index))
		one(e.data, in.Index2)
	case wasmfront.ImmTypeElem:
		b = encode.Unsigned(b, uint64(in.Index))
		one(e.elems, in.Index2)
	case wasmfront.ImmFunc:
		one(e.funcs, in.Index)
	case wasmfront.ImmLocal:
		one(e.locals, in.Index)
	case wasmfront.ImmGlobal:
		one(e.globals, in.Index)
	case wasmfront.ImmTable:
		one(e.tables, in.Index)
	case wasmfront.ImmTable2:
		one(e.tables, in.Index)
		one(e.tables, in.Index2)
	case wasmfront.ImmElem:
		one(e.elems, in.Index)
	case wasmfront.ImmElemTable:
		one(e.elems, in.Index)
		one(e.tables, in.Index2)
	case wasmfront.ImmData:
		one(e.data, in.Index)
	case wasmfront.ImmDataMem:
		one(e.data, in.Index)
		one(e.memories, in.Index2)
	case wasmfront.ImmMem:
		one(e.memories, in.Index)
	case wasmfront.ImmMem2:
		one(e.memories, in.Index)
		one(e.memories, in.Index2)
	}
	return b
}

// castFlags say which of the types of a branch on a cast have null.
func castFlags(in *Inst) (flags byte) {
	if !in.From.IsNotNull() {
		flags |= 1
	}
	if !in.To.IsNotNull() {
		flags |= 2
	}
	return flags
}

// catches appends the clauses of a try_table.
func (e *encoder) catches(b []byte, list []wasmfront.Catch) []byte {
	b = encode.Unsigned(b, uint64(len(list)))
	for _, c := range list {
		b = append(b, byte(c.Kind))
		if c.Kind.HasTag() {
			b = encode.Unsigned(b, uint64(e.use(e.tags, c.Tag)))
		}
		b = encode.Unsigned(b, uint64(c.Label))
	}
	return b
}

// access appends an access to memory. The index is written only where it is not 0.
func (e *encoder) access(b []byte, in *Inst) []byte {
	b = encode.Opcode(b, in.Op)
	if memory := e.use(e.memories, in.Index); memory != 0 {
		b = encode.Unsigned(append(b, in.Raw[0]|wasmfront.WithMemory), uint64(memory))
	} else {
		b = append(b, in.Raw[0])
	}
	return append(b, in.Raw[1:]...)
}

func (e *encoder) blockType(b []byte, t *wasmfront.FuncType) []byte {
	switch {
	case len(t.Params) == 0 && len(t.Results) == 0:
		return append(b, 0x40)
	case len(t.Params) == 0 && len(t.Results) == 1:
		return encode.ValType(b, t.Results[0])
	}
	return encode.Signed(b, int64(e.typeIndex(t)))
}
