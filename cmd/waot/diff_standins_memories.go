package main

import (
	"fmt"
	"math"

	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/internal/wasmedit"
	"github.com/waot-project/waot/wasmfront"
)

// lent is what stands in for the memories, tables and globals that a module imports: an empty memory and tables of nulls, as large as the
// module needs them, and globals with the values of lentValue. Compiled code and the CLIF interpreter import them. wazero has no
// way to make one, so there the module owns them: owned changes it so, and exports them for a look at the end.
type lent struct {
	memory  *inproc.Memory
	globals []lentGlobal // those that are no references
}

type lentGlobal struct {
	name   string // in reports
	global *inproc.Global
}

// lentValue is the value of imported global n: different ones, all of which are also small addresses. References are null.
func lentValue(t meta.ValType, n int) (low, high uint64) {
	at := uint64(1024 + 16*n)
	switch t {
	case meta.I32, meta.I64:
		return at, 0
	case meta.F32:
		return uint64(math.Float32bits(float32(at))), 0
	case meta.F64:
		return math.Float64bits(float64(at)), 0
	case meta.V128:
		return at, at + 1
	}
	return 0, 0
}

// lentName is the name in reports of a global.
func lentName(module, name string) string { return module + "." + name }

// add makes the stand-in for an import that is no function.
func (l *lent) add(s *inproc.Store, d *host.ImportType) (any, error) {
	switch d.Type.Kind {
	case host.KindMemory:
		m, err := s.NewMemory(inproc.Limits(d.Type.Limits))
		l.memory = m
		return (*host.Memory)(m), err
	case host.KindTable:
		t, err := s.NewTable(meta.ValType(d.Type.Value), inproc.Limits(d.Type.Limits))
		return (*host.Table)(t), err
	}
	t := meta.ValType(d.Type.Value)
	low, high := lentValue(t, len(l.globals))
	g, err := s.NewGlobal(t, d.Type.Mutable, low, high)
	l.globals = append(l.globals, lentGlobal{lentName(d.Module, d.Name), g})
	return (*host.Global)(g), err
}

// note puts what became of the stand-ins into an outcome.
func (l *lent) note(o *execution) {
	if l.memory != nil {
		o.Memory = hashOf(l.memory.Bytes())
	}
	for _, g := range l.globals {
		if g.global.Type().IsRef() {
			continue
		}
		words := g.global.GetWords()
		o.Globals = append(o.Globals, globalOutcome{g.name, formatValue(g.global.Type(), words[:])})
	}
}

// ownMemory is the name under which owned exports a memory.
const ownMemory = "imported memory"

// owned returns a module that owns what it would import, but for functions, and what there is to look at: lent's memory and globals, by
// their names in reports. The module itself is returned if it imports only functions.
func owned(bin []byte) ([]byte, observed, error) {
	var at observed
	m, err := wasmedit.Decode(bin, wasmfront.DefaultFeatures)
	if err != nil {
		return nil, at, err
	}
	imports := 0
	for i := range m.Tables {
		if m.Tables[i].Import != nil {
			m.Tables[i].Import = nil
			imports++
		}
	}
	for i := range m.Memories {
		if m.Memories[i].Import != nil {
			m.Memories[i].Import = nil
			at.memory = ownMemory
			m.Exports = append(m.Exports, wasmedit.Export{Name: ownMemory, Kind: abi.ExternMemory, Index: uint32(i)})
			imports++
		}
	}
	values := map[uint32]wasmfront.ConstOp{}
	for i := range m.Globals {
		g := &m.Globals[i]
		if g.Import == nil {
			continue
		}
		op := constantOf(g.Type.Type, i)
		g.Init, values[uint32(i)] = []wasmfront.ConstOp{op}, op
		if !g.Type.Type.IsRef() {
			name := lentName(g.Import.Module, g.Import.Name)
			at.globals = append(at.globals, name)
			m.Exports = append(m.Exports, wasmedit.Export{Name: ownGlobal + name, Kind: abi.ExternGlobal, Index: uint32(i)})
		}
		g.Import = nil
		imports++
	}
	if imports == 0 {
		return bin, observed{}, nil
	}
	// A constant expression may read imported globals only.
	known := func(ops []wasmfront.ConstOp) {
		for i := range ops {
			if v, ok := values[ops[i].Index]; ok && ops[i].Op == wasmfront.OpGlobalGet {
				ops[i] = v
			}
		}
	}
	for i := range m.Globals {
		known(m.Globals[i].Init)
	}
	for i := range m.Data {
		known(m.Data[i].Offset)
	}
	for i := range m.Elems {
		known(m.Elems[i].Offset)
		for _, item := range m.Elems[i].Items {
			known(item)
		}
	}
	own, err := m.Encode()
	return own, at, err
}

// ownGlobal is in front of the names of exported globals.
const ownGlobal = "imported global "

// constantOf is the operator that pushes the value of imported global n.
func constantOf(t wasmfront.ValType, n int) wasmfront.ConstOp {
	low, high := lentValue(t, n)
	return wasmfront.ConstOp{Op: wasmfront.ConstOpcode(t), Bits: low, High: high, Type: t}
}

// noSharing refuses what no stand-in can be: one thing under two imports, and what has typed references.
func noSharing(m *wasmfront.Module) error {
	seen := map[[2]string]bool{}
	for i := range m.Imports {
		imp := &m.Imports[i]
		at := [2]string{imp.Module, imp.Name}
		if imp.Kind != abi.ExternFunc && seen[at] {
			return fmt.Errorf("the import %q %q is there twice, and is no function", imp.Module, imp.Name)
		}
		seen[at] = seen[at] || imp.Kind != abi.ExternFunc
		if imp.Kind == abi.ExternTag {
			return fmt.Errorf("the import %q %q is a tag, so nothing can stand in for it", imp.Module, imp.Name)
		}
		if typedImport(m, imp) {
			return fmt.Errorf("the import %q %q has typed references, so nothing can stand in for it", imp.Module, imp.Name)
		}
	}
	return nil
}

// typedImport reports whether references of an import say more than their class.
func typedImport(m *wasmfront.Module, imp *wasmfront.Import) bool {
	switch imp.Kind {
	case abi.ExternFunc:
		return m.FuncType(imp.Index).IsTyped()
	case abi.ExternTable:
		return m.TableType(imp.Index).Elem.IsTyped()
	case abi.ExternGlobal:
		return m.GlobalType(imp.Index).Type.IsTyped()
	}
	return false
}
