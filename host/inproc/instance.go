package inproc

import (
	"context"
	"fmt"
	"slices"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
)

// Extern is what can be imported and exported: *Func, *Table, *Memory, *Global or *Tag.
type Extern interface{ isExtern() }

func (*Func) isExtern()   {}
func (*Table) isExtern()  {}
func (*Memory) isExtern() {}
func (*Global) isExtern() {}

// Resolver gives what an import names, or nil. It is called once for each import.
type Resolver func(module, name string) Extern

// Instance is an instantiated module. It lives as long as its store.
type Instance struct {
	store  *Store
	module *Module
	base   uintptr // of the text
	data   uintptr // of the instance data

	types    []storeType // by index; made when asked for
	funcs    []*Func     // by index; defined ones are made when asked for
	tables   []*Table
	memories []*Memory
	globals  []*Global
	tags     []*Tag
	spare    []Func // for the first functions
	closed   bool
	made     bool        // the init function has returned
	filled   []byte      // of the data before the init function ran, if it was reset and they are few
	number   int         // in the order in which the store's were made
	owner    ModuleOwner // see Reset
	// allocator makes the bytes of its memories; nil if they are mappings.
	allocator MemoryAllocator
	// memory is the one exported as "memory", or nil.
	memory *Memory
}

// Instantiate makes an instance: it checks and fills the imports, makes memories,
// tables and globals, and runs the init function. Errors are *LinkError, *LimitError,
// *SystemError, ErrBusy, ErrClosed, and those of a call: after a trap of the init function,
// or an error of a host function it called, what it wrote to imported memories and
// tables stays, and functions it put there stay callable.
func (s *Store) Instantiate(m *Module, imports Resolver) (*Instance, error) {
	return s.InstantiateContext(nil, m, imports)
}

// InstantiateContext is Instantiate with a context that ends the init function as
// CallContext has it.
func (s *Store) InstantiateContext(ctx context.Context, m *Module, imports Resolver) (*Instance, error) {
	return s.InstantiateIn(ctx, m, imports, nil)
}

// InstanceOptions are for one instance. Allocator, if it is not nil, is for its memories in the place of the store's; Made, if it is not nil, is called before any code of
// the instance runs.
type InstanceOptions struct {
	Allocator MemoryAllocator
	Made      func(*Instance)
}

// InstantiateIn is InstantiateContext with options, which may be nil. It fails with ErrGuardPages if there is an allocator, the module has a memory of its own, and its code no
// explicit bounds checks.
func (s *Store) InstantiateIn(ctx context.Context, m *Module, imports Resolver, o *InstanceOptions) (*Instance, error) {
	a := s.config.Allocator
	if o != nil && o.Allocator != nil {
		a = o.Allocator
	}
	done, err := s.hold()
	if err != nil {
		return nil, err
	}
	defer done()
	if s.restoring {
		return nil, ErrBusy
	}
	i := newInstance(m.meta)
	i.store, i.module, i.allocator = s, m, a
	if err := i.make(imports, o); err != nil {
		return nil, err
	}
	if err := i.init(ctx); err != nil {
		return nil, err
	}
	return i, nil
}

// make makes all of the instance, before any of its code runs.
func (i *Instance) make(imports Resolver, o *InstanceOptions) error {
	i.store.instantiating++
	defer func() { i.store.instantiating-- }()
	if err := i.store.mayCount(i.module); err != nil {
		return err
	}
	if i.module.meta.Heap != nil {
		if err := i.store.prepareHeap(i.module); err != nil {
			return err
		}
	}
	if err := i.resolve(imports); err != nil {
		return err
	}
	if err := i.checkLimits(); err != nil {
		return err
	}
	if err := i.place(); err != nil {
		return err
	}
	if err := i.define(); err != nil {
		return err
	}
	if err := i.fill(); err != nil {
		return err
	}
	if err := i.mapImages(); err != nil {
		return err
	}
	i.memory, _ = i.Memory("memory")
	if o != nil && o.Made != nil {
		o.Made(i)
	}
	return nil
}

// init runs the init function, the module's last, or does what is left of it.
func (i *Instance) init(ctx context.Context) error {
	if i.module.ready {
		i.made = true
		return i.fillTables()
	}
	init, err := i.function(uint32(len(i.module.meta.Funcs) - 1))
	if err != nil {
		return err
	}
	if err := init.CallContext(ctx, nil, nil); err != nil {
		return err
	}
	i.made = true
	return nil
}

// smallInstance is an instance of a small module with its index spaces, in one piece.
type smallInstance struct {
	Instance
	types    [4]storeType
	funcs    [8]*Func
	tables   [1]*Table
	memories [1]*Memory
	globals  [4]*Global
	own      [4]Func
}

// newInstance makes an instance with room for what the module has.
func newInstance(m *meta.Module) *Instance {
	i := new(smallInstance)
	i.Instance.types = roomFor(i.types[:], len(m.Types))
	i.Instance.funcs = roomFor(i.funcs[:], len(m.Funcs))
	i.Instance.tables = roomFor(i.tables[:], len(m.Tables))
	i.Instance.memories = roomFor(i.memories[:], len(m.Memories))
	i.Instance.globals = roomFor(i.globals[:], len(m.Globals))
	i.Instance.spare = i.own[:]
	return &i.Instance
}

// roomFor returns n elements, those given if they are enough.
func roomFor[T any](given []T, n int) []T {
	if n <= len(given) {
		return given[:n:n]
	}
	return make([]T, n)
}

// place maps the image. If it succeeds the store owns the mapping, whatever fails later.
func (i *Instance) place() error {
	s, m := i.store, i.module
	if err := process.hook(); err != nil {
		return err
	}
	var err error
	if i.base, err = process.takeImage(m); err != nil {
		return err
	}
	s.largeFrames = s.largeFrames || m.largeFrames
	i.data = i.base + m.offset[Data]
	at, _ := slices.BinarySearchFunc(s.instances, i.base, func(x *Instance, b uintptr) int {
		if x.base < b {
			return -1
		}
		return 1
	})
	s.cancelMu.Lock()
	defer s.cancelMu.Unlock()
	i.number = len(s.instances)
	s.instances = slices.Insert(s.instances, at, i)
	s.setKind(m)
	i.addRefRoots()
	if s.callEnded() {
		return s.cancelError(false)
	}
	return nil
}

// define creates the memories, tables and globals that the module defines.
func (i *Instance) define() error {
	m, a := i.module.meta, i.allocator
	for n := range m.Memories {
		if d := &m.Memories[n]; d.Import == nil {
			if !d.Checked && a != nil {
				return ErrGuardPages
			}
			mem, err := i.store.newMemory(Limits{d.Min, d.Max, d.HasMax}, d.Checked, a)
			if err != nil {
				return err
			}
			i.memories[n] = mem
		}
	}
	for n := range m.Tables {
		if d := &m.Tables[n]; d.Import == nil {
			t, err := i.store.newTable(d.Elem, i.module.own(d.Elem), Limits{d.Min, d.Max, d.HasMax})
			if err != nil {
				return err
			}
			i.tables[n] = t
		}
	}
	i.store.used.globals += ownGlobals(m)
	for n := range m.Globals {
		if d := &m.Globals[n]; d.Import == nil {
			i.globals[n] = &Global{store: i.store, addr: i.data + uintptr(d.Offset), typ: d.Type, own: i.module.own(d.Type), mutable: d.Mutable}
		}
	}
	i.hide()
	return nil
}

// hide marks the tables and globals that the module neither imports nor exports. The compiler knows all that happens to them, and has
// left checks out: so nobody else may change them.
func (i *Instance) hide() {
	m := i.module.meta
	for n, t := range i.tables {
		t.hidden = t.hidden || m.Tables[n].Import == nil
	}
	for n, g := range i.globals {
		g.hidden = g.hidden || m.Globals[n].Import == nil
	}
	for n := range m.Exports {
		switch e := &m.Exports[n]; {
		case e.Kind == abi.ExternTable:
			i.tables[e.Index].hidden = false // imported ones are not hidden anyway
		case e.Kind == abi.ExternGlobal:
			i.globals[e.Index].hidden = false
		}
	}
}

// withholds reports whether Go code must not get w, what compiled code has in a table or global that is hidden, of type t. Compiled code of a module that no reference enters or leaves relies on what its
// structures hold: Go code could change an object, or make another one and pass it to a function that is not exported.
func (s *Store) withholds(t meta.ValType, w uint64) bool {
	switch {
	case s.heap == nil || w == 0:
		return false
	case t.Base() == meta.ExternRef:
		return isObject(w)
	case t.Base() != meta.FuncRef:
		return false
	}
	f := s.describedBy(uintptr(w))
	return f != nil && f.inst != nil && f.inst.module.meta.Heap != nil && (f.typ.refsIn || f.typ.refsOut)
}

// Withholds reports whether element i is one that only the module may have.
func (t *Table) Withholds(i uint64) bool {
	return t.hidden && i < t.Len() && t.store.withholds(t.elem, load64(t.base+8*uintptr(i)))
}

// Withholds reports whether the value is one that only the module may have.
func (g *Global) Withholds() bool { return g.hidden && g.store.withholds(g.typ, load64(g.addr)) }

// fill writes the slots and descriptors of the instance data and applies
// relocations.
func (i *Instance) fill() error {
	m := i.module.meta
	i.relocate()
	if err := i.fillHelpers(0, abi.NumCommonHelpers, i.data+uintptr(m.Helpers)); err != nil {
		return err
	}
	for n, t := range m.SlotTypes {
		typ, err := i.funcType(t)
		if err != nil {
			return err
		}
		store64(i.data+uintptr(m.TypeSlots)+8*uintptr(n), uint64(typ.record))
	}
	for n := range m.Memories {
		i.memories[n].limitTo(m.Memories[n].Max)
		store64(i.data+uintptr(m.Memories[n].Slot), uint64(i.memories[n].desc))
	}
	for n := range m.Tables {
		store64(i.data+uintptr(m.Tables[n].Slot), uint64(i.tables[n].base))
	}
	for n := range m.Globals {
		if m.Globals[n].Import != nil {
			store64(i.data+uintptr(m.Globals[n].Offset), uint64(i.globals[n].addr))
		}
	}
	for n := range m.Funcs {
		f := &m.Funcs[n]
		switch {
		case f.Import != nil:
			store64(i.data+uintptr(f.Slot)+abi.ImportCode, uint64(i.funcs[n].code))
			store64(i.data+uintptr(f.Slot)+abi.ImportDesc, uint64(i.funcs[n].desc))
		case f.HasDesc:
			typ, err := i.funcType(f.Type)
			if err != nil {
				return err
			}
			writeDescriptor(i.data+uintptr(f.Desc), i.base+uintptr(f.Text), typ)
		}
	}
	if err := i.fillExceptions(); err != nil {
		return err
	}
	return i.fillHeap()
}

// fillHelpers fills the slots of the helpers from one on up to another one.
func (i *Instance) fillHelpers(first, end abi.Helper, slots uintptr) error {
	for h := first; h < end; h++ {
		code, err := i.helper(h)
		if err != nil {
			return err
		}
		store64(slots+8*uintptr(h-first), uint64(code))
	}
	return nil
}

// relocate writes the words that need addresses.
func (i *Instance) relocate() {
	for _, at := range i.module.addresses {
		word := i.data + uintptr(at)
		store64(word, uint64(i.base)+load64(word))
	}
	for _, w := range i.module.importWords {
		store64(i.data+uintptr(w.At), uint64(i.funcs[w.Func].desc)+uint64(w.Addend))
	}
}

// helper returns the address of a helper: machine code, or the stub of its binding.
func (i *Instance) helper(h abi.Helper) (uintptr, error) {
	switch h {
	case abi.HelperMemoryGrow:
		return process.stub(bindMemoryGrow)
	case abi.HelperTableGrow:
		return process.stub(bindTableGrow)
	case abi.HelperRaise:
		return process.stub(bindRaise)
	case abi.HelperExceptionOpen:
		return process.stub(bindExceptionOpen)
	case abi.HelperExceptionRef:
		return process.stub(bindExceptionRef)
	case abi.HelperFuncTest:
		return process.stub(bindFuncTest)
	}
	return process.helpers[h], nil
}

// funcType returns the store's type for type n of the module.
func (i *Instance) funcType(n uint32) (storeType, error) {
	if t := i.types[n]; t.funcType != nil {
		return t, nil
	}
	t, err := i.store.internModuleType(i.module, n)
	i.types[n] = t
	return t, err
}

func writeDescriptor(at, code uintptr, t storeType) {
	store64(at+descCode, uint64(code))
	store64(at+descType, uint64(t.record))
}

// function is function n of the instance.
func (i *Instance) function(n uint32) (*Func, error) {
	if f := i.funcs[n]; f != nil {
		return f, nil
	}
	d := &i.module.meta.Funcs[n]
	typ, err := i.funcType(d.Type)
	if err != nil {
		return nil, err
	}
	var f *Func
	if len(i.spare) > 0 {
		f, i.spare = &i.spare[0], i.spare[1:]
	} else {
		f = new(Func)
	}
	*f = Func{store: i.store, inst: i, typ: typ.funcType, code: i.base + uintptr(d.Text), index: n, plain: typ.plain}
	if d.HasDesc {
		f.desc = i.data + uintptr(d.Desc)
	} else if f.desc, err = i.store.newDescriptor(f.code, typ); err != nil {
		return nil, err
	}
	i.funcs[n] = f
	i.store.addFunc(f)
	return f, nil
}

// Module returns the module of the instance, Store its store.
func (i *Instance) Module() *Module { return i.module }

// Store returns the store of the instance.
func (i *Instance) Store() *Store { return i.store }

// Close makes the handle refuse look-ups. Functions and references that
// others hold keep working: nothing is unmapped before the store is closed.
func (i *Instance) Close() { i.closed = true }

// Export returns the export of that name, or ErrNotExported or ErrClosed.
func (i *Instance) Export(name string) (Extern, error) {
	if i.closed {
		return nil, ErrClosed
	}
	n, ok := i.module.exports[name]
	if !ok {
		return nil, ErrNotExported
	}
	e := &i.module.meta.Exports[n]
	switch e.Kind {
	case abi.ExternFunc:
		return i.function(e.Index)
	case abi.ExternTable:
		return i.tables[e.Index], nil
	case abi.ExternMemory:
		return i.memories[e.Index], nil
	case abi.ExternTag:
		return i.tags[e.Index], nil
	}
	return i.globals[e.Index], nil
}

func lookUp[T Extern](i *Instance, name string) (T, error) {
	var none T
	e, err := i.Export(name)
	if err != nil {
		return none, err
	}
	if v, ok := e.(T); ok {
		return v, nil
	}
	return none, ErrNotExported
}

// Func returns the exported function of that name, or ErrNotExported or ErrClosed.
func (i *Instance) Func(name string) (*Func, error) { return lookUp[*Func](i, name) }

// Memory is like Func for a memory.
func (i *Instance) Memory(name string) (*Memory, error) { return lookUp[*Memory](i, name) }

// MainMemory returns the memory exported as "memory", as languages have it, or nil. It can be
// had from a closed instance, too, and faster than by name.
func (i *Instance) MainMemory() *Memory { return i.memory }

// Tags is like Tables for tags.
func (i *Instance) Tags() []*Tag { return i.tags }

// Tables, Memories and Globals return the index spaces of the module, imports first. They must not be changed.
func (i *Instance) Tables() []*Table { return i.tables }

// Memories is like Tables for memories.
func (i *Instance) Memories() []*Memory { return i.memories }

// Globals is like Tables for global variables.
func (i *Instance) Globals() []*Global { return i.globals }

// Table is like Func for a table.
func (i *Instance) Table(name string) (*Table, error) { return lookUp[*Table](i, name) }

// Global is like Func for a global variable.
func (i *Instance) Global(name string) (*Global, error) { return lookUp[*Global](i, name) }

// resolve fetches and checks the imports, which are the first of their kind.
func (i *Instance) resolve(imports Resolver) error {
	m := i.module.meta
	for n := range m.Funcs {
		d := &m.Funcs[n]
		if d.Import == nil {
			break
		}
		f, err := resolveAs[*Func](imports, d.Import)
		if err == nil {
			i.funcs[n] = f
			err = i.checkFunc(f, d)
		}
		if err != nil {
			return err
		}
	}
	for n := range m.Tables {
		d := &m.Tables[n]
		if d.Import == nil {
			break
		}
		t, err := resolveAs[*Table](imports, d.Import)
		if err == nil {
			i.tables[n] = t
			err = i.checkTable(t, d)
		}
		if err != nil {
			return err
		}
	}
	for n := range m.Memories {
		d := &m.Memories[n]
		if d.Import == nil {
			break
		}
		mem, err := resolveAs[*Memory](imports, d.Import)
		if err == nil {
			i.memories[n] = mem
			err = i.checkMemory(mem, d)
		}
		if err != nil {
			return err
		}
	}
	for n := range m.Globals {
		d := &m.Globals[n]
		if d.Import == nil {
			break
		}
		g, err := resolveAs[*Global](imports, d.Import)
		if err == nil {
			i.globals[n] = g
			err = i.checkGlobal(g, d)
		}
		if err != nil {
			return err
		}
	}
	return i.resolveTags(imports)
}

func resolveAs[T Extern](imports Resolver, name *meta.ImportName) (T, error) {
	var none T
	var e Extern
	if imports != nil {
		e = imports(name.Module, name.Name)
	}
	if e == nil {
		return none, &LinkError{Module: name.Module, Name: name.Name, Reason: "unknown import", Detail: ""}
	}
	v, ok := e.(T)
	if !ok {
		return none, incompatible(name, "wanted %T, got %T", none, e)
	}
	return v, nil
}

func incompatible(name *meta.ImportName, format string, args ...any) error {
	return &LinkError{Module: name.Module, Name: name.Name, Reason: "incompatible import type", Detail: fmt.Sprintf(format, args...)}
}

const otherStore = "belongs to another store"

// ofModule is why what is hidden is not imported elsewhere.
const ofModule = "is not exported by its module"

func (i *Instance) checkFunc(f *Func, d *meta.Func) error {
	if f.store != i.store {
		return incompatible(d.Import, otherStore)
	}
	want, err := i.funcType(d.Type)
	if err == nil && f.typ != want.funcType && !process.rows.isWithin(f.typ.number.number, want.number) {
		err = incompatible(d.Import, "wanted function type %v, got %v", &want.FuncType, &f.typ.FuncType)
	}
	return err
}

// checkImportLimits checks that something of the current size and with the declared
// limits may be imported as what has the limits want.
func checkImportLimits(name *meta.ImportName, size uint64, have, want Limits) error {
	switch {
	case size < want.Min:
		return incompatible(name, "size %d, at least %d wanted", size, want.Min)
	case want.HasMax && !have.HasMax:
		return incompatible(name, "no maximum, at most %d wanted", want.Max)
	case want.HasMax && have.Max > want.Max:
		return incompatible(name, "maximum %d, at most %d wanted", have.Max, want.Max)
	}
	return nil
}

func (i *Instance) checkTable(t *Table, d *meta.Table) error {
	if t.hidden {
		return incompatible(d.Import, ofModule)
	}
	switch {
	case t.store != i.store:
		return incompatible(d.Import, otherStore)
	case ownType(t.elem, t.own) != ownType(d.Elem, i.module.own(d.Elem)):
		return incompatible(d.Import, "element type differs")
	}
	return checkImportLimits(d.Import, t.Len(), t.limits, Limits{d.Min, d.Max, d.HasMax})
}

func (i *Instance) checkMemory(m *Memory, d *meta.Memory) error {
	if m.store != i.store {
		return incompatible(d.Import, otherStore)
	}
	if m.Movable() && !d.Checked {
		return incompatible(d.Import, "the memory may move, and the code has no explicit bounds checks")
	}
	size := m.Size() / abi.PageSize
	if !d.HasMax && size > d.Max {
		return incompatible(d.Import, "size %d, at most %d wanted", size, d.Max)
	}
	return checkImportLimits(d.Import, size, m.limits, Limits{d.Min, d.Max, d.HasMax})
}

func (i *Instance) checkGlobal(g *Global, d *meta.Global) error {
	if g.hidden {
		return incompatible(d.Import, ofModule)
	}
	switch {
	case g.store != i.store:
		return incompatible(d.Import, otherStore)
	case g.mutable != d.Mutable:
		return incompatible(d.Import, "mutability differs")
	}
	have, want := ownType(g.typ, g.own), ownType(d.Type, i.module.own(d.Type))
	if have != want && (g.mutable || !have.MatchesBy(want, process.rows.isSubtype)) {
		return incompatible(d.Import, "type differs")
	}
	return nil
}
