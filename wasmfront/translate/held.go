package translate

import (
	"slices"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/wasmfront"
)

// This file finds what is in fields that never change. Constant expressions make the tables of methods that compilers of object-oriented languages have: what those of a global have is
// known by itself, and in a module that no reference enters or leaves also what all structures of a type have.

// objectSurvey is what bodies say of objects.
type objectSurvey struct {
	made     []bool // by type: a body makes structures of it; nil if the module has no such types
	converts bool   // references become external ones, or such ones internal
}

func newObjectSurvey(m *wasmfront.Module) (s objectSurvey) {
	if slices.ContainsFunc(m.Types, func(t abi.TypeDef) bool { return t.Kind == abi.KindStruct }) {
		s.made = make([]bool, len(m.Types))
	}
	return s
}

func isConversion(op wasmfront.Opcode) bool {
	return op == wasmfront.OpAnyConvertExtern || op == wasmfront.OpExternConvertAny
}

// operator notes what op of a body, or of a constant expression, does.
func (s *objectSurvey) operator(op wasmfront.Opcode, index uint32) {
	switch {
	case isConversion(op):
		s.converts = true
	case (op == wasmfront.OpStructNew || op == wasmfront.OpStructNewDefault) && int64(index) < int64(len(s.made)):
		s.made[index] = true
	}
}

// add adds what p has seen.
func (s *objectSurvey) add(p *objectSurvey) {
	for i, made := range p.made {
		s.made[i] = s.made[i] || made
	}
	s.converts = s.converts || p.converts
}

// constObjects evaluates constant expressions.
type constObjects struct {
	cm    *clif.Module
	stop  *stop.Flag
	seen  *objectSurvey
	stack []clif.ConstField
	held  heldFields
}

// declareObjects tells cm what the survey knows of structures.
func (s *Survey) declareObjects(cm *clif.Module) {
	if s.objects.made == nil || s.refused {
		return
	}
	e := constObjects{cm: cm, stop: s.stop, seen: &s.objects, held: newHeldFields(cm)}
	for i := range s.m.Globals {
		g := &s.m.Globals[i]
		made := e.value(&g.Init)
		if made.Kind == clif.ConstMade && !g.Mutable {
			cm.Globals[i].Made = made.Object
		}
	}
	for i := range s.m.Tables {
		e.value(&s.m.Tables[i].Init)
	}
	for i := range s.m.Elems {
		for j := range s.m.Elems[i].Exprs {
			e.value(&s.m.Elems[i].Exprs[j])
		}
	}
	if s.isClosed() {
		cm.Held = e.held.table(cm, s.objects.made)
		s.callHeld(cm)
	}
}

// value returns what x, which is valid, is, if that is known. Of what it makes that has only defaults all is unknown, so that it takes no longer than it is long.
func (e *constObjects) value(x *wasmfront.ConstExpr) clif.ConstField {
	e.stack = e.stack[:0]
	for i := range x.Ops {
		e.stop.PollAt(i)
		e.operator(&x.Ops[i])
	}
	if len(e.stack) != 1 { // an empty expression
		return clif.ConstField{}
	}
	return e.stack[0]
}

func (e *constObjects) operator(op *wasmfront.ConstOp) {
	pops, v := 0, clif.ConstField{}
	switch op.Op {
	case wasmfront.OpI32Const:
		v = clif.ConstField{Kind: clif.ConstNumber, Bits: uint64(uint32(op.Bits))}
	case wasmfront.OpI64Const, wasmfront.OpF32Const, wasmfront.OpF64Const:
		v = clif.ConstField{Kind: clif.ConstNumber, Bits: op.Bits}
	case wasmfront.OpRefNull:
		v = clif.ConstField{Kind: clif.ConstNumber}
	case wasmfront.OpRefFunc:
		v = clif.ConstField{Kind: clif.ConstFunc, Bits: uint64(op.Index)}
	case wasmfront.OpGlobalGet:
		if g := &e.cm.Globals[op.Index]; !g.Mutable {
			v = clif.ConstField{Kind: clif.ConstGlobal, Bits: uint64(op.Index)}
		}
	case wasmfront.OpStructNew:
		pops = len(e.cm.Types[op.Index].Fields)
		fields := slices.Clone(e.stack[len(e.stack)-pops:])
		v = clif.ConstField{Kind: clif.ConstMade, Object: &clif.ConstObject{Type: op.Index, Fields: fields}}
		e.held.made(e.cm, v.Object)
	case wasmfront.OpStructNewDefault:
		v = clif.ConstField{Kind: clif.ConstMade, Object: &clif.ConstObject{Type: op.Index}}
		e.seen.operator(op.Op, op.Index)
	case wasmfront.OpI32Add, wasmfront.OpI32Sub, wasmfront.OpI32Mul, wasmfront.OpI64Add, wasmfront.OpI64Sub, wasmfront.OpI64Mul, wasmfront.OpArrayNew:
		pops = 2
	case wasmfront.OpArrayNewFixed:
		pops = int(op.Bits)
	case wasmfront.OpArrayNewDefault, wasmfront.OpRefI31, wasmfront.OpAnyConvertExtern, wasmfront.OpExternConvertAny:
		pops = 1
		e.seen.operator(op.Op, 0)
	}
	e.stack = stop.Append(e.stop, e.stack[:len(e.stack)-pops], v)
}

// heldFields finds what is in fields. Types that are equal are one here, the first of them.
type heldFields struct {
	first  []uint32      // by type: the first one that is equal
	fields [][]clif.Held // by type that is the first; nil if nothing makes it or a subtype
}

func newHeldFields(cm *clif.Module) heldFields {
	h := heldFields{make([]uint32, len(cm.Types)), make([][]clif.Held, len(cm.Types))}
	of := make(map[abi.Digest]uint32, len(cm.Types))
	for i := range h.first {
		cm.Stop.PollAt(i)
		digest := cm.Records.Digest(uint32(i))
		first, ok := of[digest]
		if !ok {
			first = uint32(i)
			of[digest] = first
		}
		h.first[i] = first
	}
	return h
}

// made notes what the fields of a structure, and of the same one as one of its supertypes, hold.
func (h *heldFields) made(cm *clif.Module, o *clif.ConstObject) {
	for t := o.Type; ; t = cm.Types[t].Super {
		def := &cm.Types[t]
		if h.fields[h.first[t]] == nil {
			h.fields[h.first[t]] = make([]clif.Held, len(def.Fields))
		}
		held := h.fields[h.first[t]]
		for k := range def.Fields {
			cm.Stop.PollAt(k)
			join(&held[k], h.valueOf(cm, &o.Fields[k]))
			if def.Fields[k].Mutable {
				held[k].Kind = clif.HeldAny
			}
		}
		if !def.HasSuper {
			return
		}
	}
}

// valueOf returns what holds v only.
func (h *heldFields) valueOf(cm *clif.Module, v *clif.ConstField) clif.Held {
	switch v.Kind {
	case clif.ConstNumber:
		return clif.Held{Null: true}
	case clif.ConstFunc:
		return clif.Held{Kind: clif.HeldFunc, Index: uint32(v.Bits)}
	case clif.ConstGlobal:
		if made := cm.Globals[v.Bits].Made; made != nil {
			return clif.Held{Kind: clif.HeldObject, Index: h.first[made.Type]}
		}
	case clif.ConstMade:
		return clif.Held{Kind: clif.HeldObject, Index: h.first[v.Object.Type]}
	}
	return clif.Held{Kind: clif.HeldAny}
}

// join adds to h what more holds.
func join(h *clif.Held, more clif.Held) {
	h.Null = h.Null || more.Null
	switch {
	case more.Kind == clif.HeldNothing:
	case h.Kind == clif.HeldNothing:
		h.Kind, h.Index = more.Kind, more.Index
	case h.Kind != more.Kind || h.Index != more.Index:
		h.Kind = clif.HeldAny
	}
}

// table returns clif.Module.Held; made are the types of which anything may have been made elsewhere.
func (h *heldFields) table(cm *clif.Module, made []bool) [][]clif.Held {
	for i, elsewhere := range made {
		cm.Stop.PollAt(i)
		for t := uint32(i); elsewhere; t = cm.Types[t].Super {
			h.fields[h.first[t]] = nil
			elsewhere = cm.Types[t].HasSuper
		}
	}
	for i, first := range h.first {
		h.fields[i] = h.fields[first]
	}
	return h.fields
}

// isClosed reports whether no reference to an object or function enters or leaves the module. External references may, if none becomes one to an object. So may exceptions that nobody else
// has a tag for, unless they have external references, since hosts get at these.
func (s *Survey) isClosed() bool {
	m := s.m
	for i := range m.Imports {
		s.stop.PollAt(i)
		if e := &m.Imports[i]; s.crosses(e.Kind, e.Index) {
			return false
		}
	}
	for i := range m.Exports {
		s.stop.PollAt(i)
		if e := &m.Exports[i]; s.crosses(e.Kind, e.Index) {
			return false
		}
	}
	external := func(t abi.ValType) bool { return t.IsRef() && t.Top() == abi.ExternRef }
	return !s.objects.converts || !slices.ContainsFunc(m.Tags, func(tag wasmfront.Tag) bool { return slices.ContainsFunc(m.Types[tag.Type].Params, external) })
}

// crosses reports whether references to objects or functions may enter or leave through what the module imports or exports.
func (s *Survey) crosses(kind abi.ExternKind, index uint32) bool {
	m := s.m
	of := func(t abi.ValType) bool { return t.IsRef() && (s.objects.converts || t.Top() != abi.ExternRef) }
	ofType := func(i uint32) bool {
		return slices.ContainsFunc(m.Types[i].Params, of) || slices.ContainsFunc(m.Types[i].Results, of)
	}
	switch kind {
	case abi.ExternFunc:
		return ofType(m.Funcs[index].Type)
	case abi.ExternTable:
		return of(m.Tables[index].Elem)
	case abi.ExternGlobal:
		return of(m.Globals[index].Type)
	case abi.ExternTag:
		return ofType(m.Tags[index].Type)
	}
	return false
}

// callHeld counts functions that are the only ones in a field as called: so they are inlined where their calls become direct ones.
func (s *Survey) callHeld(cm *clif.Module) {
	for t, fields := range cm.Held {
		s.stop.PollAt(t)
		for k := range fields {
			s.stop.PollAt(k)
			if h := &fields[k]; h.Kind == clif.HeldFunc && s.Calls[h.Index].All == 0 {
				s.Calls[h.Index].All = 1
			}
		}
	}
}
