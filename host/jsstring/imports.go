package jsstring

import (
	"fmt"
	"slices"
	"strings"

	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/loaded"
	"github.com/waot-project/waot/internal/abi"
)

// Options say what to give a module. A field that is zero means its default, as does a nil pointer for all.
type Options struct {
	// Constants is the name of the module that constants are imported from; default "'". JavaScript calls it importedStringConstants.
	Constants string
	// MaxMemory bounds the strings that the functions have made and that compiled code of the store can reach, in bytes: 2 for each code unit, and 64 for each string. The default is 1 GiB.
	MaxMemory uint64
}

// functions is the name of the module that the functions are imported from.
const functions = "wasm:js-string"

// Imports returns what a module imports of "wasm:js-string" and of constants, for an instance in the store: the functions, and for each constant an immutable global, whose value is its name.
// The caller may add to the maps. Each call makes the constants anew; they live as long as the store. What the module imports of "wasm:js-string" that the proposal does not have is left out.
// The errors are *host.LinkError for an import of another type, *host.LimitError, *host.SystemError, host.ErrBusy and host.ErrClosed.
func Imports(s *host.Store, m *host.Module, o *Options) (host.Imports, error) {
	if s == nil {
		return nil, host.ErrClosed
	}
	var options Options
	if o != nil {
		options = *o
	}
	if options.Constants == "" {
		options.Constants = "'"
	}
	if options.MaxMemory == 0 {
		options.MaxMemory = 1 << 30
	}
	imports := host.Imports{}
	given := &texts{}
	for n, d := range m.Imports() {
		var v any
		var err error
		switch d.Module {
		case functions:
			v, err = function(m, n, &d, given, options.MaxMemory)
		case options.Constants:
			v, err = constant((*inproc.Store)(s), &d)
		}
		if err != nil {
			return nil, err
		}
		if v == nil {
			continue
		}
		if imports[d.Module] == nil {
			imports[d.Module] = map[string]any{}
		}
		imports[d.Module][d.Name] = v
	}
	return imports, nil
}

// constant returns the global for a constant.
func constant(s *inproc.Store, d *host.ImportType) (any, error) {
	if d.Type.Kind != host.KindGlobal || d.Type.Mutable || d.Type.Value != host.TypeExternRef && d.Type.Value != typeSome {
		return nil, incompatible(d, "wanted %v, but a constant is an immutable global of type externref or (ref extern)", d.Type)
	}
	outer, err := s.Hold()
	if err != nil {
		return nil, err
	}
	if outer {
		defer s.Leave()
	}
	ref := s.ExternRef(New(d.Name))
	defer s.Unmake(ref)
	g, err := s.NewGlobal(abi.ValType(typeSome), false, ref, 0) // of a subtype of externref, which is as good
	return (*host.Global)(g), err
}

// function returns the function for import n, nil if there is none of that name.
func function(m *host.Module, n int, d *host.ImportType, given *texts, limit uint64) (any, error) {
	i := slices.IndexFunc(builtins[:], func(b builtin) bool { return b.name == d.Name })
	if i < 0 {
		return nil, nil
	}
	b := &builtins[i]
	if err := b.check(m, n, d); err != nil {
		return nil, err
	}
	arrays := arraysOf(m, &d.Type.Func)
	return host.RawFunc{Params: general(d.Type.Func.Params), Results: general(d.Type.Func.Results), Func: func(c *host.Caller, args, results []uint64) error {
		r, err := b.run(&call{(*inproc.Store)(c.Store()), args, given, limit, arrays})
		if t, ok := err.(trap); ok {
			return &host.Trap{Code: host.TrapCode(t), Backtrace: c.Backtrace(), Inner: len(c.Frames())}
		}
		results[0] = r
		return err
	}}, nil
}

// general returns the types of a function as Go code has them.
func general(types []host.ValType) []host.ValType {
	out := make([]host.ValType, len(types))
	for i, t := range types {
		out[i] = t.Base()
	}
	return out
}

func incompatible(d *host.ImportType, format string, args ...any) error {
	return &host.LinkError{Module: d.Module, Name: d.Name, Reason: "incompatible import type", Detail: fmt.Sprintf(format, args...)}
}

// The types of parameters and results. typeArray stands for (ref null (array (mut i16))).
const (
	typeInt   = host.TypeI32
	typeAny   = host.TypeExternRef
	typeArray = host.TypeAnyRef
)

// typeSome is (ref extern).
var typeSome = host.ValType(abi.ExternRef.NotNull())

// units is the type of arrays of code units.
var units = abi.TypeDef{Kind: abi.KindArray, Fields: []abi.FieldType{{Type: abi.I32, Packed: 16, Mutable: true}}}

// types are the definition of the function's type, behind what it refers to.
func (b *builtin) types() []abi.TypeDef {
	t := abi.FuncType{Results: []abi.ValType{abi.ValType(b.result)}}
	for _, p := range b.params {
		if p == typeArray {
			p = host.ValType(abi.RefToKind(units.Kind, 0))
		}
		t.Params = append(t.Params, abi.ValType(p))
	}
	return []abi.TypeDef{units, {FuncType: t}}
}

// check returns an error if import n does not have the type of the builtin. Types are compared whole, as an instantiation does.
func (b *builtin) check(m *host.Module, n int, d *host.ImportType) error {
	if d.Type.Kind != host.KindFunc {
		return incompatible(d, "wanted %v, but the builtin is a function %s", d.Type, b)
	}
	of := (*loaded.Module)(m).Inproc()
	if of.IsType(of.Meta().Funcs[n].Type, b.types()) { // functions are the first imports, and the first of the functions
		return nil
	}
	wanted := signature(m, &d.Type.Func)
	if wanted == b.String() {
		return incompatible(d, "wanted a function %s of a type, or with one, that is open, a subtype, or in a recursion group with others, and those of the builtin are not", wanted)
	}
	return incompatible(d, "wanted a function %s, but the builtin is a function %s", wanted, b)
}

// String writes the type as signature does.
func (b *builtin) String() string {
	t := host.FuncType{Params: b.params, Results: []host.ValType{b.result}}
	return strings.ReplaceAll(t.String(), typeArray.String(), "(ref null (array (mut i16)))")
}

// signature writes a type of functions with the types of structures and arrays in place of their indices.
func signature(m *host.Module, t *host.FuncType) string {
	list := func(types []host.ValType) string {
		texts := make([]fmt.Stringer, len(types))
		for i, t := range types {
			texts[i] = t
			if o := objectOf(m, t); o != nil {
				texts[i] = host.RefType{Type: t, Object: o}
			}
		}
		return abi.TypeList(texts, ", ")
	}
	return list(t.Params) + " -> " + list(t.Results)
}

// objectOf returns the type of structures or arrays that a type of a module has the index of, or nil.
func objectOf(m *host.Module, t host.ValType) *host.ObjectType {
	if index, ok := t.TypeIndex(); ok {
		o, _ := m.ObjectType(index)
		return o
	}
	return nil
}

// arraysOf returns the type of arrays that a function is given, nil if there is none.
func arraysOf(m *host.Module, t *host.FuncType) *inproc.ObjectType {
	for _, p := range t.Params {
		if o := objectOf(m, p); o != nil {
			return (*inproc.ObjectType)(o)
		}
	}
	return nil
}
