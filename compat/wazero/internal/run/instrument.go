package run

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/encode"
)

// Listeners of guests' functions are called by code that is added to the module before it is compiled. Each such function moves to the end
// of the index space, and a function takes its place that calls Go before it and after it, through a table at the end of theirs. So no index
// changes. The start function is called by the instantiation, when the table has been filled.

// hookName is the name of what an instrumented module exports in addition: the table, and the start function. The module itself exports nothing of that name.
func (m *Module) hookName(what string) string {
	name := "\x00waot." + what
	for {
		if _, taken := m.exports[name]; !taken {
			return name
		}
		name += "+"
	}
}

// What hookName names.
const (
	hookTable = "listeners"
	hookStart = "start"
)

// hook is a function with a listener.
type hook struct {
	def      *FuncDef
	listener experimental.FunctionListener
}

// The sections that are changed, by their numbers.
const (
	sectionType     = 1
	sectionFunction = 3
	sectionTable    = 4
	sectionExport   = 7
	sectionStart    = 8
	sectionCode     = 10
)

// order is the place of each section in a module.
var order = [...]int{1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 13: 6, 6: 7, 7: 8, 8: 9, 9: 10, 12: 11, 10: 12, 11: 13}

func leb(b []byte, n int) []byte { return binary.AppendUvarint(b, uint64(n)) }

// vector is the contents of a section that is a list, and what is added to it.
type vector struct {
	count int
	items []byte
}

func (v *vector) add(item ...byte) {
	v.count++
	v.items = append(v.items, item...)
}

// instrument returns the module, which is w, with calls of its hooks.
func (m *Module) instrument(w *wasmfront.Module) []byte {
	lists := map[uint8]*vector{}
	for _, id := range []uint8{sectionType, sectionFunction, sectionTable, sectionExport} {
		lists[id] = &vector{}
	}
	for _, s := range w.Sections {
		if v := lists[s.ID]; v != nil {
			b := w.Bytes[s.Offset : s.Offset+s.Size]
			n, size := binary.Uvarint(b)
			v.count, v.items = int(n), append(v.items, b[size:]...)
		}
	}
	bodies := make([][]byte, len(w.Code))
	for i := range w.Code {
		bodies[i] = w.Code[i].Bytes
	}
	table := len(w.Tables)
	for i, h := range m.hooks {
		before := len(w.Types) + 2*i // a recursion group counts as one in the section
		for _, types := range [][]api.ValueType{h.def.params, h.def.results} {
			lists[sectionType].add(append(typeList([]byte{0x60}, shown(types)), 0)...)
		}
		lists[sectionFunction].add(leb(nil, int(w.Funcs[h.def.index].Type))...)
		own := &bodies[h.def.index-w.NumImportedFuncs]
		moved := len(w.Funcs) + i
		bodies = append(bodies, *own)
		*own = nil
		bodies[h.def.index-w.NumImportedFuncs] = wrapper(h.def, w.Types[w.Funcs[h.def.index].Type].Results, before, table, 2*i, moved)
	}
	lists[sectionTable].add(leb([]byte{typeFuncref, 0}, 2*len(m.hooks))...)
	lists[sectionExport].add(exportEntry(m.hookName(hookTable), api.ExternTypeTable, table)...)
	if w.HasStart {
		lists[sectionExport].add(exportEntry(m.hookName(hookStart), api.ExternTypeFunc, int(w.Start))...)
	}
	code := leb(nil, len(bodies))
	for _, b := range bodies {
		code = append(leb(code, len(b)), b...)
	}
	return assemble(w, lists, code)
}

// shown are types of which listeners are told the values: a reference to an object is the number 0 for them.
func shown(types []api.ValueType) []api.ValueType {
	types = slices.Clone(types)
	for i, t := range types {
		if t == typeAnyref {
			types[i] = api.ValueTypeI32
		}
	}
	return types
}

// assemble writes the module with the lists and the code in the place of the former ones, and without a start section.
func assemble(w *wasmfront.Module, lists map[uint8]*vector, code []byte) []byte {
	out := append([]byte{}, w.Bytes[:8]...)
	section := func(id uint8, contents []byte) {
		out = append(leb(append(out, id), len(contents)), contents...)
	}
	// list writes the lists up to a place that have not been written.
	list := func(place int) {
		for _, id := range []uint8{sectionType, sectionFunction, sectionTable, sectionExport} {
			if v := lists[id]; v != nil && order[id] <= place {
				section(id, append(leb(nil, v.count), v.items...))
				delete(lists, id)
			}
		}
	}
	for _, s := range w.Sections {
		if s.ID != 0 {
			list(order[s.ID])
		}
		switch s.ID {
		case sectionType, sectionFunction, sectionTable, sectionExport, sectionStart:
		case sectionCode:
			section(s.ID, code)
		default:
			section(s.ID, w.Bytes[s.Offset:s.Offset+s.Size])
		}
	}
	return out
}

func typeList(b []byte, types []api.ValueType) []byte { return append(leb(b, len(types)), types...) }

func exportEntry(name string, kind byte, index int) []byte {
	return leb(append(append(leb(nil, len(name)), name...), kind), index)
}

// wrapper is the body of a function that takes the place of another, with the given results: types before and before+1 are those of the Go functions, which the table
// has from slot on.
func wrapper(d *FuncDef, results []wasmfront.ValType, before, table, slot, moved int) []byte {
	const localGet, localSet, i32Const, call, callIndirect, end = 0x20, 0x21, 0x41, 0x10, 0x11, 0x0b
	b := leb(nil, len(results))
	for _, t := range results {
		b = encode.ValType(append(b, 1), t)
	}
	op := func(code byte, n int) { b = leb(append(b, code), n) }
	// tell calls a Go function with what locals from one on have.
	tell := func(first int, types []api.ValueType, typ, slot int) {
		for i, t := range types {
			if t == typeAnyref {
				b = append(b, i32Const, 0)
			} else {
				op(localGet, first+i)
			}
		}
		b = append(b, i32Const)
		b = appendSigned(b, slot)
		op(callIndirect, typ)
		b = leb(b, table)
	}
	params := len(d.params)
	tell(0, d.params, before, slot)
	for i := range d.params {
		op(localGet, i)
	}
	op(call, moved)
	for i := len(d.results) - 1; i >= 0; i-- {
		op(localSet, params+i)
	}
	tell(params, d.results, before+1, slot+1)
	for i := range d.results {
		op(localGet, params+i)
	}
	return append(b, end)
}

// appendSigned appends a number that is not negative as a signed one.
func appendSigned(b []byte, n int) []byte {
	for n >= 64 {
		b = append(b, byte(n)|0x80)
		n >>= 7
	}
	return append(b, byte(n))
}

// told is what listeners have been told of a call: the beginnings of the functions whose ends they have not been told, the innermost last. It is for the goroutine of the call,
// and nil for a call that began when there were no listeners.
type told struct{ actives []active }

// active is a function that a listener has been told the beginning of.
type active struct {
	hook
	ctx context.Context
	m   *Instance
}

// toldOf is what belongs to the context of a call.
func toldOf(ctx context.Context) *told {
	if l, ok := ctx.(*listened); ok {
		return l.told
	}
	return nil
}

// install fills the table of an instance whose module is instrumented.
func (m *Instance) install(inst *host.Instance) error {
	t, err := inst.Table(m.mod.hookName(hookTable))
	if err != nil {
		return err
	}
	for i, h := range m.mod.hooks {
		for n, f := range []host.RawFunc{
			{Params: hostTypes(shown(h.def.params)), Func: func(c *host.Caller, args, _ []uint64) error { return m.before(h, c, args) }},
			{Params: hostTypes(shown(h.def.results)), Func: func(c *host.Caller, args, _ []uint64) error { return m.after(h, c, args) }},
		} {
			fn, err := m.grp.store.NewFunc(f)
			if err == nil {
				err = t.Set(uint32(2*i+n), fn)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// before tells a listener that a call begins.
func (m *Instance) before(h hook, c *host.Caller, args []uint64) (err error) {
	defer m.listenerPanic(h, c, &err)
	ctx := given(c.Context())
	words := append([]uint64(nil), args...)
	fromStore(c.Store(), h.def.params, words)
	if t := toldOf(c.Context()); t != nil {
		t.actives = append(t.actives, active{h, ctx, m})
	}
	m.grp.outside(c, func() { h.listener.Before(ctx, m, h.def, words, &frames{caller: c, outside: true, m: m, at: -1}) })
	return nil
}

// after tells a listener that a call has ended.
func (m *Instance) after(h hook, c *host.Caller, results []uint64) (err error) {
	defer m.listenerPanic(h, c, &err)
	words := append([]uint64(nil), results...)
	fromStore(c.Store(), h.def.results, words)
	if t := toldOf(c.Context()); t != nil {
		t.ended(h)
	}
	ctx := given(c.Context())
	m.grp.outside(c, func() { h.listener.After(ctx, m, h.def, words) })
	return nil
}

// listenerPanic makes a panic of a listener end the call, as that of a Go function does.
func (m *Instance) listenerPanic(h hook, c *host.Caller, err *error) {
	if r := recover(); r != nil {
		*err = (&HostFunc{def: h.def}).recovered(m, c, r)
	}
}

// ended notes the end of the innermost call of a function. Those inside of it that have not ended have been left by an exception, and their listeners are told nothing. It may be none: a
// Go function can keep a panic of a snapshot from going back.
func (t *told) ended(h hook) {
	for n := len(t.actives) - 1; n >= 0; n-- {
		if t.actives[n].def == h.def {
			t.actives = t.actives[:n]
			return
		}
	}
}

// abort tells the listeners of functions that have not ended that they never will.
func (t *told) abort(err error) {
	for n := len(t.actives) - 1; n >= 0; n-- {
		a := t.actives[n]
		t.actives = t.actives[:n]
		a.listener.Abort(a.ctx, a.m, a.def, err)
	}
}
