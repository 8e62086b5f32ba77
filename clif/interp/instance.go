package interp

import (
	"fmt"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
)

// Provider gives the body of a function of a module that is not imported,
// among them the init function. The interpreter keeps it and does not change it.
type Provider func(clif.FuncIndex) (*clif.Func, error)

// Resolver finds what an import asks for.
type Resolver func(module, name string) (Extern, bool)

// Instance is an instance of a module.
type Instance struct {
	mod   *clif.Module
	store *Store
	body  Provider

	funcs    []*Function
	globals  []*Global
	memories []*Memory
	tables   []*Table
	tags     []*Tag
	datas    [][]byte   // nil once dropped
	elems    [][]uint64 // nil once dropped
	types    []*defined // that the module defines
	exports  map[string]Extern
}

// LinkError says why an import cannot be satisfied.
type LinkError struct {
	Module, Name string
	// Reason is "unknown import" or "incompatible import type", as in the
	// specification's tests.
	Reason string
	Detail string
}

func (e *LinkError) Error() string {
	s := fmt.Sprintf("%s: %q %q", e.Reason, e.Module, e.Name)
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

// Unlinkable returns the reason.
func (e *LinkError) Unlinkable() string { return e.Reason }

// Instantiate links a module, allocates what it defines and runs its init
// function. If that traps, what it wrote until then to imported entities, and
// references to its functions, stay; the instance is returned with the *Trap, so that the
// caller can look at it. An import that cannot be satisfied is a *LinkError,
// and nothing happens.
func (s *Store) Instantiate(m *clif.Module, body Provider, imports Resolver) (*Instance, error) {
	inst := &Instance{mod: m, store: s, body: body, types: s.define(m), exports: map[string]Extern{}}
	l := linker{inst: inst, imports: imports}
	l.link()
	if l.err != nil {
		return nil, l.err
	}
	inst.define()
	for i := range m.Exports {
		e := &m.Exports[i]
		inst.exports[e.Name] = inst.entity(e.Kind, e.Index)
	}
	_, err := inst.funcs[m.InitFunc()].Call(nil)
	return inst, err
}

// linker fills in the imported entities.
type linker struct {
	inst    *Instance
	imports Resolver
	err     error
}

// extern returns the import called name, which is to be a T.
func extern[T Extern](l *linker, name *clif.ImportName) (x T, ok bool) {
	if l.err != nil {
		return x, false
	}
	var e Extern
	found := false
	if l.imports != nil {
		e, found = l.imports(name.Module, name.Name)
	}
	if !found {
		l.err = &LinkError{Module: name.Module, Name: name.Name, Reason: "unknown import"}
		return x, false
	}
	if x, ok = e.(T); !ok {
		l.mismatch(name, "it is of another kind")
	}
	return x, ok
}

func (l *linker) mismatch(name *clif.ImportName, format string, args ...any) {
	l.err = &LinkError{name.Module, name.Name, "incompatible import type", fmt.Sprintf(format, args...)}
}

func (l *linker) link() {
	m, inst := l.inst.mod, l.inst
	inst.funcs = make([]*Function, len(m.Funcs))
	inst.globals = make([]*Global, len(m.Globals))
	inst.memories = make([]*Memory, len(m.Memories))
	inst.tables = make([]*Table, len(m.Tables))
	inst.tags = make([]*Tag, len(m.Tags))
	for i := range m.Funcs {
		name := m.Funcs[i].Import
		if name == nil {
			continue
		}
		f, ok := extern[*Function](l, name)
		if want := m.FuncSig(clif.FuncIndex(i)); ok && !f.typ.isSub(inst.typeOf(m.Funcs[i].Sig)) {
			l.mismatch(name, "function of type %v, want %v", &f.sig, want)
		}
		inst.funcs[i] = f
	}
	for i := range m.Globals {
		d := &m.Globals[i]
		if d.Import == nil {
			continue
		}
		g, ok := extern[*Global](l, d.Import)
		if ok && !inst.store.fits(g, d) {
			l.mismatch(d.Import, "global of type %v, mutable: %v; want %v, %v", g.ownType().Type, g.Mutable, d.ValType(), d.Mutable)
		}
		inst.globals[i] = g
	}
	for i := range m.Memories {
		d := &m.Memories[i]
		if d.Import == nil {
			continue
		}
		mem, ok := extern[*Memory](l, d.Import)
		if ok {
			l.limits(d.Import, mem.Pages(), mem.Max, mem.HasMax, d.Min, d.Max, d.HasMax)
			if limit := d.MaxPages(); mem.Pages() > limit {
				l.mismatch(d.Import, "size %d, want at most %d", mem.Pages(), limit)
			}
		}
		inst.memories[i] = mem
	}
	for i := range m.Tables {
		d := &m.Tables[i]
		if d.Import == nil {
			continue
		}
		t, ok := extern[*Table](l, d.Import)
		if ok && t.own != d.OwnType() {
			l.mismatch(d.Import, "table of %v, want %v", t.own.Type, d.ValType())
		} else if ok {
			l.limits(d.Import, t.size, t.Max, t.HasMax, d.Min, d.Max, d.HasMax)
		}
		inst.tables[i] = t
	}
	for i := range m.Tags {
		d := &m.Tags[i]
		if d.Import == nil {
			continue
		}
		t, ok := extern[*Tag](l, d.Import)
		if want := m.TagSig(uint32(i)); ok && !t.sig.Equal(want) {
			l.mismatch(d.Import, "tag of type %v, want %v", &t.sig, want)
		}
		inst.tags[i] = t
	}
}

// fits reports whether a global can be imported as d says: of the same type, if it is mutable, or else of a subtype.
func (s *Store) fits(g *Global, d *clif.GlobalDecl) bool {
	have, want := g.ownType(), d.OwnType()
	return g.Mutable == d.Mutable && (have == want || !g.Mutable && s.matches(have, want))
}

// typeOf returns the type of functions with a signature of the module.
func (inst *Instance) typeOf(sig clif.SigIndex) *defined {
	if int64(sig) < int64(len(inst.types)) {
		return inst.types[sig]
	}
	return inst.store.plainType(&inst.mod.Sigs[sig]) // of the init function
}

func (g *Global) ownType() abi.OwnType {
	return (&clif.GlobalDecl{Type: g.Type, Typed: g.typed}).OwnType()
}

// limits checks that an entity of a size and maximum fits a declaration.
func (l *linker) limits(name *clif.ImportName, size, max uint64, hasMax bool, wantMin, wantMax uint64, wantHasMax bool) {
	switch {
	case size < wantMin:
		l.mismatch(name, "size %d, want at least %d", size, wantMin)
	case wantHasMax && !hasMax:
		l.mismatch(name, "no maximum, want at most %d", wantMax)
	case wantHasMax && max > wantMax:
		l.mismatch(name, "maximum %d, want at most %d", max, wantMax)
	}
}

// define creates the entities that are not imported.
func (inst *Instance) define() {
	m := inst.mod
	for i := range m.Funcs {
		if d := &m.Funcs[i]; d.Import == nil {
			index := clif.FuncIndex(i)
			inst.funcs[i] = inst.store.addFunc(&Function{sig: *m.FuncSig(index), typ: inst.typeOf(d.Sig), name: d.Name, inst: inst, index: index})
		}
	}
	for i := range m.Globals {
		if d := &m.Globals[i]; d.Import == nil {
			inst.globals[i] = &Global{Type: d.Type, typed: d.Typed, Mutable: d.Mutable, Bits: d.Init}
		}
	}
	for i := range m.Memories {
		d := &m.Memories[i]
		if d.Import == nil {
			inst.memories[i] = NewMemory(d.Min, d.Max, d.HasMax)
		}
		inst.memories[i].limit = min(inst.memories[i].limit, d.MaxPages())
	}
	for i := range m.Tables {
		if d := &m.Tables[i]; d.Import == nil {
			inst.tables[i] = NewTable(d.Elem, d.Min, d.Max, d.HasMax)
			inst.tables[i].own = d.OwnType()
		}
	}
	for i := range m.Tags {
		if m.Tags[i].Import == nil {
			inst.tags[i] = inst.store.NewTag(*m.TagSig(uint32(i)))
		}
	}
	for i := range m.Datas {
		inst.datas = append(inst.datas, m.Datas[i].Bytes)
	}
	for i := range m.Elems {
		refs := make([]uint64, len(m.Elems[i].Funcs))
		for j, f := range m.Elems[i].Funcs {
			if f != clif.ElemNull && f != clif.ElemComputed {
				refs[j] = inst.funcs[f].ref
			}
		}
		inst.elems = append(inst.elems, refs)
	}
}

func (inst *Instance) entity(kind abi.ExternKind, i uint32) Extern {
	switch kind {
	case abi.ExternFunc:
		return inst.funcs[i]
	case abi.ExternMemory:
		return inst.memories[i]
	case abi.ExternTable:
		return inst.tables[i]
	case abi.ExternTag:
		return inst.tags[i]
	}
	return inst.globals[i]
}

// Export returns the entity exported as name.
func (inst *Instance) Export(name string) (Extern, bool) {
	e, ok := inst.exports[name]
	return e, ok
}

// Func is function i, exported or not.
func (inst *Instance) Func(i clif.FuncIndex) *Function { return inst.funcs[i] }

// Memory is memory i.
func (inst *Instance) Memory(i clif.MemoryIndex) *Memory { return inst.memories[i] }

// Global is global i.
func (inst *Instance) Global(i clif.GlobalIndex) *Global { return inst.globals[i] }

// Table is table i.
func (inst *Instance) Table(i clif.TableIndex) *Table { return inst.tables[i] }

// Trap is a trap of the code.
type Trap struct {
	Code abi.TrapCode
	Func clif.FuncIndex // where, in its module
	Name string         // of the function
	Inst clif.Inst
	Src  uint32 // offset in the Wasm module, 0 if unknown
}

func (t *Trap) Error() string {
	return fmt.Sprintf("trap: %s (function %d %q, offset 0x%x)", t.Code.Message(), t.Func, t.Name, t.Src)
}

// TrapCode returns the code.
func (t *Trap) TrapCode() abi.TrapCode { return t.Code }

// TrapPlace returns the function, and the offset of the instruction, in the Wasm module.
func (t *Trap) TrapPlace() (fn, offset uint32) { return uint32(t.Func), t.Src }

// load fetches the body of f if f does not have it yet.
func (f *Function) load() error {
	if f.body != nil {
		return nil
	}
	body, err := f.inst.body(f.index)
	if err != nil {
		return fmt.Errorf("interp: function %d: %w", f.index, err)
	}
	f.body = body
	for i := range body.Values {
		f.vectors = f.vectors || body.Values[i].Type == clif.V128
	}
	return nil
}
