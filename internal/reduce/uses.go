package reduce

import (
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/wasmedit"
	"github.com/waot-project/waot/wasmfront"
)

// uses says what is used by something that is not dead.
type uses struct {
	funcs, tables, memories, tags, globals, elems, data []bool
	locals                                              [][]bool // by function, declared ones only
}

func usesOf(m *wasmedit.Module) *uses {
	u := &uses{
		funcs: make([]bool, len(m.Funcs)), tables: make([]bool, len(m.Tables)), memories: make([]bool, len(m.Memories)),
		tags: make([]bool, len(m.Tags)), globals: make([]bool, len(m.Globals)), elems: make([]bool, len(m.Elems)), data: make([]bool, len(m.Data)),
		locals: make([][]bool, len(m.Funcs)),
	}
	if m.Start >= 0 {
		u.funcs[m.Start] = true
	}
	for i := range m.Exports {
		if e := &m.Exports[i]; !e.Dead {
			[...][]bool{abi.ExternFunc: u.funcs, abi.ExternTable: u.tables, abi.ExternMemory: u.memories,
				abi.ExternGlobal: u.globals, abi.ExternTag: u.tags}[e.Kind][e.Index] = true
		}
	}
	for i := range m.Globals {
		if g := &m.Globals[i]; !g.Dead {
			u.constant(g.Init)
		}
	}
	for i := range m.Elems {
		s := &m.Elems[i]
		if s.Dead {
			continue
		}
		// An active segment has an effect at instantiation; a declarative one is used by code.
		u.elems[i] = s.Mode != wasmfront.SegmentPassive
		u.constant(s.Offset)
		for _, item := range s.Items {
			u.constant(item)
		}
		if s.Mode == wasmfront.SegmentActive {
			u.tables[s.Table] = true
		}
	}
	for i := range m.Data {
		if d := &m.Data[i]; !d.Dead && d.Mode == wasmfront.SegmentActive {
			u.data[i], u.memories[d.Memory] = true, true
			u.constant(d.Offset)
		}
	}
	for i := range m.Funcs {
		if f := &m.Funcs[i]; !f.Dead && f.Import == nil {
			u.code(i, f)
		}
	}
	return u
}

func (u *uses) constant(ops []wasmfront.ConstOp) {
	for i := range ops {
		switch ops[i].Op.Info().Imm {
		case wasmfront.ImmGlobal:
			u.globals[ops[i].Index] = true
		case wasmfront.ImmFunc:
			u.funcs[ops[i].Index] = true
		}
	}
}

// code notes what a body uses.
func (u *uses) code(i int, f *wasmedit.Func) {
	u.locals[i] = make([]bool, len(f.Locals))
	params := len(f.Type.Params)
	for k := range f.Code {
		in := &f.Code[k]
		switch in.Imm() {
		case wasmfront.ImmLocal:
			if n := int(in.Index) - params; n >= 0 {
				u.locals[i][n] = true
			}
		case wasmfront.ImmFunc:
			u.funcs[in.Index] = true
		case wasmfront.ImmTag:
			u.tags[in.Index] = true
		case wasmfront.ImmTryTable:
			for _, c := range in.Catches {
				if c.Kind.HasTag() {
					u.tags[c.Tag] = true
				}
			}
		case wasmfront.ImmGlobal:
			u.globals[in.Index] = true
		case wasmfront.ImmTable:
			u.tables[in.Index] = true
		case wasmfront.ImmTable2:
			u.tables[in.Index], u.tables[in.Index2] = true, true
		case wasmfront.ImmCallIndirect:
			u.tables[in.Index2] = true
		case wasmfront.ImmElem:
			u.elems[in.Index] = true
		case wasmfront.ImmElemTable:
			u.elems[in.Index], u.tables[in.Index2] = true, true
		case wasmfront.ImmTypeElem:
			u.elems[in.Index2] = true
		case wasmfront.ImmTypeData:
			u.data[in.Index2] = true
		case wasmfront.ImmData:
			u.data[in.Index] = true
		case wasmfront.ImmDataMem:
			u.data[in.Index], u.memories[in.Index2] = true, true
		case wasmfront.ImmMem, wasmfront.ImmMemArg, wasmfront.ImmMemArgLane:
			u.memories[in.Index] = true
		case wasmfront.ImmMem2:
			u.memories[in.Index], u.memories[in.Index2] = true, true
		}
	}
}

// killLocals removes declared locals that are not used.
func (u *uses) killLocals(m *wasmedit.Module) (changed bool) {
	for i, used := range u.locals {
		locals := append([]wasmedit.Local(nil), m.Funcs[i].Locals...)
		if killUnused(used, 0, len(used), func(n int) *bool { return &locals[n].Dead }) {
			m.Funcs[i].Locals, changed = locals, true
		}
	}
	return changed
}
