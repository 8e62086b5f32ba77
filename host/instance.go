package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/waot-project/waot/host/inproc"
)

// Imports gives imports their values, by module and name: a Go function (see
// Store.NewFunc), a RawFunc, or a *Func, *Memory, *Table, *Global or *Tag of the store. What Instance.Exports
// returns can be one of the inner maps. For an immutable global of type externref, a *Func, *Memory, *Table or *Tag is its value: a module may import one memory as both, as JavaScript allows.
// Of several values, in a []any, an import takes the first that fits: a module may import a function of JavaScript with several types.
type Imports map[string]map[string]any

// Instance is an instantiated module. It lives as long as its store. Its methods are for the goroutine that is inside the
// store, except Store and Name, which may be called from any goroutine.
type Instance inproc.Instance

// Instantiate makes an instance and runs the module's start function, if it has one. imports may hold more than
// the module imports. ctx may be nil.
//
// The errors are *LinkError, *LimitError, *SystemError, ErrBusy, ErrClosed, and those of a
// call. After a failed start, what it wrote to imported memories and tables stays, and
// functions that it put there can be called.
func (s *Store) Instantiate(ctx context.Context, m *Module, imports Imports) (*Instance, error) {
	return s.InstantiateWith(ctx, m, imports, nil)
}

// InstanceOptions are for one instance. A field that is zero means its default, as does a nil pointer for all.
type InstanceOptions struct {
	// Allocator supplies the bytes of the instance's own memories. The default is StoreOptions.Allocator.
	Allocator MemoryAllocator
	// Made, if not nil, is called inside the store when the instance has been made and none of its code has run: Go functions that the start function calls can tell by it
	// who calls. It must not call functions of the instance, whose segments are not in its memories and tables yet, and which may fail still.
	Made func(*Instance)
}

// inproc is the options as package inproc has them.
func (o *InstanceOptions) inproc() *inproc.InstanceOptions {
	if o == nil {
		return nil
	}
	in := &inproc.InstanceOptions{}
	if o.Allocator != nil {
		in.Allocator = allocator{o.Allocator}
	}
	if made := o.Made; made != nil {
		in.Made = func(i *inproc.Instance) { made((*Instance)(i)) }
	}
	return in
}

// InstantiateWith is Instantiate with options. It has one more error, ErrGuardPages.
func (s *Store) InstantiateWith(ctx context.Context, m *Module, imports Imports, o *InstanceOptions) (*Instance, error) {
	if m == nil {
		return nil, detail(ErrType, "no module to instantiate")
	}
	if err := m.loaded().Use(); err != nil {
		return nil, err
	}
	defer m.loaded().Release()
	var inst *Instance
	err := s.do(func(p *inproc.Store) error {
		found, err := s.resolve(m, imports)
		if err != nil {
			return err
		}
		i, err := p.InstantiateIn(ctx, m.loaded().Inproc(), m.needs().resolver(found), o.inproc())
		if err == nil {
			i.SetOwner(m.loaded())
		}
		inst = (*Instance)(i)
		return hostError(err)
	})
	if err != nil {
		return nil, err
	}
	return inst, nil
}

// The reasons of link errors, in the words of the specification's test suite.
const (
	reasonUnknown      = "unknown import"
	reasonIncompatible = "incompatible import type"
)

// resolve finds what the imports of a module stand for. Limits and types other than those
// of functions are left to the instantiation.
func (s *Store) resolve(m *Module, imports Imports) ([]inproc.Extern, error) {
	needs := m.needs()
	found := make([]inproc.Extern, len(needs.list))
	for n := range needs.list {
		d := &needs.list[n]
		v, ok := imports[d.Module][d.Name]
		if !ok || v == nil {
			return nil, linkError(d, reasonUnknown, "")
		}
		if first := needs.first[n]; first < n && isGoFunc(v) && sameType(&needs.list[first].Type, &d.Type) {
			v = (*Func)(found[first].(*inproc.Func)) // imported twice: one function
		}
		x, got, err := s.extern(m, n, v)
		if err != nil {
			return nil, err
		}
		if x == nil {
			return nil, linkError(d, reasonIncompatible, got)
		}
		found[n] = x
	}
	return found, nil
}

func linkError(d *ImportType, reason, got string) error {
	e := &LinkError{Module: d.Module, Name: d.Name, Reason: reason, Detail: fmt.Sprintf("wanted %v", d.Type)}
	if got != "" {
		e.Detail += ", got " + got
	}
	return e
}

// isGoFunc reports whether v is given as Go code.
func isGoFunc(v any) bool {
	switch v.(type) {
	case *Func, *Memory, *Table, *Global, *Tag:
		return false
	}
	return true
}

// isValue reports whether an import is a constant externref, which can be any Go value.
func (t *ExternType) isValue() bool {
	return t.Kind == KindGlobal && t.Value == TypeExternRef && !t.Mutable
}

// isOfStore reports whether v is a function, memory, table or tag of a store. Given for a constant externref it is its value, as in JavaScript: modules import one memory as both.
func isOfStore(v any) bool {
	switch v := v.(type) {
	case *Func:
		return v != nil && v.Store() != nil
	case *Memory:
		return v != nil && v.inproc().Store() != nil
	case *Table:
		return v != nil && v.inproc().Store() != nil
	case *Tag:
		return v != nil && v.Store() != nil
	}
	return false
}

// extern is v as import n of m; nil if it cannot be one: then, and only then, got says what
// it is. Whether references say the same beyond their class is left to the instantiation.
func (s *Store) extern(m *Module, n int, v any) (x inproc.Extern, got string, err error) {
	want := &m.needs().list[n].Type
	if want.isValue() && isOfStore(v) {
		g, err := s.NewGlobal(false, Ref(v))
		return (*inproc.Global)(g), "", err
	}
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			if x, got, err = s.extern(m, n, one); got == "" {
				return x, "", err
			}
		}
		return nil, fmt.Sprintf("none of %d values", len(v)), nil
	case *Func:
		if v != nil && v.Store() != nil {
			if t := v.inproc().Type(); want.Kind == KindFunc && sameClasses(&want.Func, t.Params, t.Results) {
				return v.inproc(), "", nil
			}
			return nil, fmt.Sprintf("%s %v", KindFunc, v.Type()), nil
		}
	case *Memory:
		if v != nil && v.inproc().Store() != nil && want.Kind == KindMemory {
			return (*inproc.Memory)(v), "", nil
		}
	case *Table:
		if v != nil && v.inproc().Store() != nil && want.Kind == KindTable {
			return (*inproc.Table)(v), "", nil
		}
	case *Global:
		if v != nil && v.inproc().Store() != nil && want.Kind == KindGlobal {
			return (*inproc.Global)(v), "", nil
		}
	case *Tag:
		if v != nil && v.inproc().Store() != nil && want.Kind == KindTag {
			return (*inproc.Tag)(v), "", nil
		}
	default:
		g, err := goFuncOf(v)
		if errors.Is(err, ErrType) {
			return nil, err.Error(), nil
		}
		if err != nil {
			return nil, "", err
		}
		if want.Kind != KindFunc || !want.Func.accepts(&g.typ) {
			return nil, fmt.Sprintf("%T, %s %v", v, KindFunc, g.typ), nil
		}
		// Functions are the first imports of a module, and the first of its functions.
		of := m.loaded().Inproc()
		f, err := s.inproc().NewHostFuncOf(of, of.Meta().Funcs[n].Type, g.adapter)
		return f, "", err
	}
	return nil, fmt.Sprintf("%T", v), nil
}

func (i *Instance) inproc() *inproc.Instance { return (*inproc.Instance)(i) }

// Store returns the store of the instance; nil for a nil Instance, from which no export can be had (ErrClosed).
func (i *Instance) Store() *Store {
	if i == nil {
		return nil
	}
	return (*Store)(i.inproc().Store())
}

// Name returns the name of the instance's module; "" for a nil or zero Instance.
func (i *Instance) Name() string {
	if i.Store() == nil {
		return ""
	}
	return i.inproc().Module().Meta().Name
}

// Close makes further look-ups of exports fail with ErrClosed. What has been looked up stays
// usable. Memory is given back when the store is closed.
func (i *Instance) Close() {
	if i.Store() != nil {
		i.inproc().Close()
	}
}

// Export returns the export of that name: a *Func, *Memory, *Table, *Global or *Tag. The errors are
// ErrNotExported, ErrBusy and ErrClosed.
func (i *Instance) Export(name string) (any, error) {
	var x inproc.Extern
	err := i.Store().do(func(*inproc.Store) (err error) {
		x, err = i.inproc().Export(name)
		return err
	})
	if errors.Is(err, ErrNotExported) {
		return nil, detail(ErrNotExported, "%q", name)
	}
	if err != nil {
		return nil, err
	}
	switch x := x.(type) {
	case *inproc.Func:
		return (*Func)(x), nil
	case *inproc.Memory:
		return (*Memory)(x), nil
	case *inproc.Table:
		return (*Table)(x), nil
	case *inproc.Tag:
		return (*Tag)(x), nil
	}
	return (*Global)(x.(*inproc.Global)), nil
}

// Exports returns all exports by name, as Imports takes them. The map belongs to the caller. It is
// empty if the instance or store is closed, or another goroutine is inside.
func (i *Instance) Exports() map[string]any {
	all := map[string]any{}
	if i.Store() == nil {
		return all
	}
	for _, e := range i.inproc().Module().Meta().Exports {
		if x, err := i.Export(e.Name); err == nil {
			all[e.Name] = x
		}
	}
	return all
}

// lookUp returns the export of that name and type.
func lookUp[T any](i *Instance, name string, kind Kind) (T, error) {
	x, err := i.Export(name)
	v, ok := x.(T)
	if err == nil && !ok {
		err = detail(ErrNotExported, "%q is no %v", name, kind)
	}
	return v, err
}

// Func returns the exported function of that name. The errors are ErrNotExported, ErrBusy and
// ErrClosed.
func (i *Instance) Func(name string) (*Func, error) { return lookUp[*Func](i, name, KindFunc) }

// Memory is like Func for a memory.
func (i *Instance) Memory(name string) (*Memory, error) {
	return lookUp[*Memory](i, name, KindMemory)
}

// Table is like Func for a table.
func (i *Instance) Table(name string) (*Table, error) { return lookUp[*Table](i, name, KindTable) }

// Global is like Func for a global variable.
func (i *Instance) Global(name string) (*Global, error) {
	return lookUp[*Global](i, name, KindGlobal)
}

// Tag is like Func for a tag of exceptions.
func (i *Instance) Tag(name string) (*Tag, error) { return lookUp[*Tag](i, name, KindTag) }

// At returns what has index n in the index space of tables, memories or globals, imports first: a *Table, *Memory or *Global, exported
// or not. It is for hosts that know how their modules are made, such as one that calls what a toolchain has in table 0. Tables and globals that are neither imported
// nor exported can only be read, or else the error is ErrType: the compiler relies on nobody else changing them. Neither can objects in these be read, nor, of a module with structures or arrays, functions with references
// among their parameters and results: it relies on these staying inside. Memories may be written. The
// errors are ErrBounds, ErrType for functions, ErrBusy and ErrClosed.
func (i *Instance) At(kind Kind, n uint32) (x any, err error) {
	err = i.Store().do(func(*inproc.Store) error {
		p := i.inproc()
		switch kind {
		case KindTable:
			x, err = at(p.Tables(), n, func(t *inproc.Table) any { return (*Table)(t) })
		case KindMemory:
			x, err = at(p.Memories(), n, func(m *inproc.Memory) any { return (*Memory)(m) })
		case KindGlobal:
			x, err = at(p.Globals(), n, func(g *inproc.Global) any { return (*Global)(g) })
		default:
			err = detail(ErrType, "no %v can be had by its index", kind)
		}
		return err
	})
	return x, err
}

// at is element n of an index space as this package has it.
func at[T any](space []T, n uint32, face func(T) any) (any, error) {
	if uint64(n) >= uint64(len(space)) {
		return nil, detail(ErrBounds, "index %d of %d", n, len(space))
	}
	return face(space[n]), nil
}
