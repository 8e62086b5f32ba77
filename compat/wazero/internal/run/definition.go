// Package run implements the interfaces of package api on packages waot and waot/host.
//
// Place: the root package and imports/... give it modules, Go functions and settings; it compiles, links and calls. All that is stated of
// stores there holds here for groups: a guest has a store of its own unless it imports something of another guest.
//
// Input: modules in the binary format, Go functions, settings of runtimes and instances.
// Output: instances, results, and errors worded as programs expect them.
package run

import (
	"strconv"
	"strings"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/internal/internalapi"
)

// definition is what functions and memories have in common.
type definition struct {
	internalapi.WazeroOnlyType
	module  string
	index   uint32
	from    *[2]string // module and name of the import
	exports []string
}

func (d *definition) ModuleName() string    { return d.module }
func (d *definition) Index() uint32         { return d.index }
func (d *definition) ExportNames() []string { return d.exports }

func (d *definition) Import() (module, name string, isImport bool) {
	if d.from == nil {
		return "", "", false
	}
	return d.from[0], d.from[1], true
}

// FuncDef describes a function.
type FuncDef struct {
	definition
	name                    string
	goFunc                  any
	params, results         []api.ValueType
	paramNames, resultNames []string
	paramWords, resultWords int
	refs                    bool // references are among the parameters or results
	objects                 bool // references to objects are among them, so that Go code cannot call it
}

func (d *FuncDef) Name() string                 { return d.name }
func (d *FuncDef) GoFunction() interface{}      { return d.goFunc }
func (d *FuncDef) ParamTypes() []api.ValueType  { return d.params }
func (d *FuncDef) ParamNames() []string         { return d.paramNames }
func (d *FuncDef) ResultTypes() []api.ValueType { return d.results }
func (d *FuncDef) ResultNames() []string        { return d.resultNames }
func (d *FuncDef) DebugName() string            { return debugName(d.module, d.name, d.index) }

// debugName is a function's name in stack traces.
func debugName(module, name string, index uint32) string {
	if name == "" {
		name = "$" + strconv.FormatUint(uint64(index), 10)
	}
	return module + "." + name
}

// Types without a constant in package api.
const (
	typeV128    = api.ValueType(0x7b)
	typeFuncref = api.ValueType(0x70)
	typeExnref  = api.ValueType(0x69) // a word, as the store has it
	typeAnyref  = api.ValueType(0x6e) // any reference to objects and small integers, which Go code has none of
)

// countWords fills in what follows from the types.
func (d *FuncDef) countWords() {
	for _, list := range []struct {
		types []api.ValueType
		n     *int
	}{{d.params, &d.paramWords}, {d.results, &d.resultWords}} {
		*list.n = len(list.types)
		for _, t := range list.types {
			switch t {
			case typeV128:
				*list.n++
			case typeFuncref, api.ValueTypeExternref:
				d.refs = true
			case typeAnyref:
				d.objects = true
			}
		}
	}
}

// words is the number of words that a stack for the function has at least.
func (d *FuncDef) words() int { return max(d.paramWords, d.resultWords) }

// typeName is the type in a form such as i32i64_f32, with v for none.
func (d *FuncDef) typeName() string { return typeNames(d.params) + "_" + typeNames(d.results) }

func typeNames(types []api.ValueType) string {
	if len(types) == 0 {
		return "v"
	}
	return joined(types, "")
}

func joined(types []api.ValueType, between string) string {
	names := make([]string, len(types))
	for i, t := range types {
		switch names[i] = api.ValueTypeName(t); t {
		case typeV128:
			names[i] = "v128"
		case typeFuncref:
			names[i] = "funcref"
		case typeExnref:
			names[i] = "exnref"
		case typeAnyref:
			names[i] = "anyref"
		}
	}
	return strings.Join(names, between)
}

// signature is the function in stack traces, such as m.f(i32,i32) i64.
func (d *FuncDef) signature() string {
	s := d.DebugName() + "(" + joined(d.params, ",") + ")"
	switch len(d.results) {
	case 0:
		return s
	case 1:
		return s + " " + joined(d.results, "")
	}
	return s + " (" + joined(d.results, ",") + ")"
}

// MemDef describes a memory.
type MemDef struct {
	definition
	min, max uint32
	hasMax   bool
}

func (d *MemDef) Min() uint32         { return d.min }
func (d *MemDef) Max() (uint32, bool) { return d.max, d.hasMax }

// CustomSection is a custom section.
type CustomSection struct {
	internalapi.WazeroOnlyType
	name string
	data []byte
}

func (c *CustomSection) Name() string { return c.name }
func (c *CustomSection) Data() []byte { return c.data }
