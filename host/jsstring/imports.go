package jsstring

import (
	"fmt"

	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/inproc"
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
	for _, d := range m.Imports() {
		var v any
		var err error
		switch d.Module {
		case functions:
			v, err = function(m, &d, options.MaxMemory)
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
		return nil, incompatible(d, "an immutable global of type externref")
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

// function returns the function for an import, nil if there is none of that name.
func function(m *host.Module, d *host.ImportType, limit uint64) (any, error) {
	for i := range builtins {
		b := &builtins[i]
		if b.name != d.Name {
			continue
		}
		if d.Type.Kind != host.KindFunc {
			return nil, incompatible(d, "the type of the builtin")
		}
		arrays, ok := b.isOf(m, &d.Type.Func)
		if !ok {
			return nil, incompatible(d, "the type of the builtin")
		}
		return host.RawFunc{Params: general(d.Type.Func.Params), Results: general(d.Type.Func.Results), Func: func(c *host.Caller, args, results []uint64) error {
			r, err := b.run(&call{(*inproc.Store)(c.Store()), args, limit, arrays})
			if t, ok := err.(trap); ok {
				return &host.Trap{Code: host.TrapCode(t), Backtrace: c.Backtrace(), Inner: len(c.Frames())}
			}
			results[0] = r
			return err
		}}, nil
	}
	return nil, nil
}

// general returns the types of a function as Go code has them.
func general(types []host.ValType) []host.ValType {
	out := make([]host.ValType, len(types))
	for i, t := range types {
		out[i] = t.Base()
	}
	return out
}

func incompatible(d *host.ImportType, want string) error {
	return &host.LinkError{Module: d.Module, Name: d.Name, Reason: "incompatible import type", Detail: fmt.Sprintf("wanted %v, not %s", d.Type, want)}
}

// The types of parameters and results. typeArray stands for (ref null (array (mut i16))).
const (
	typeInt   = host.TypeI32
	typeAny   = host.TypeExternRef
	typeArray = host.TypeAnyRef
)

// typeSome is (ref extern).
var typeSome = host.ValType(abi.ExternRef.NotNull())

// isOf reports whether a type of a module has the parameters and the result of the builtin, and returns the type of arrays among them, nil if there is none.
func (b *builtin) isOf(m *host.Module, t *host.FuncType) (arrays *inproc.ObjectType, ok bool) {
	if len(t.Params) != len(b.params) || len(t.Results) != 1 || t.Results[0] != b.result {
		return nil, false
	}
	for i, p := range t.Params {
		switch want := b.params[i]; {
		case want == typeArray:
			if arrays = arrayOf(m, p); arrays == nil {
				return nil, false
			}
		case want != p:
			return nil, false
		}
	}
	return arrays, true
}

// arrayOf returns what a type of a module refers to, if it is what typeArray stands for, and nil if not.
func arrayOf(m *host.Module, t host.ValType) *inproc.ObjectType {
	index, ok := t.TypeIndex()
	if !ok || t.IsNotNull() {
		return nil
	}
	o, err := m.ObjectType(index)
	if x := (*inproc.ObjectType)(o); err == nil && x.IsOnly(abi.TypeDef{Kind: abi.KindArray, Fields: []abi.FieldType{{Type: abi.I32, Packed: 16, Mutable: true}}}) {
		return x
	}
	return nil
}
