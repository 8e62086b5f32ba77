package guestfuzz

import (
	"errors"
	"maps"
	"slices"

	"github.com/waot-project/waot/host"
)

// instantiate makes an instance of a random program.
func (w *world) instantiate() {
	if w.stop || len(w.instances) >= 6 {
		return
	}
	e, err := w.runner.pool.get(w.runner.seed, w.r.Uint64())
	w.must(err, "compiling")
	defer w.runner.pool.put(e)
	mod := e.module
	if w.r.IntN(8) == 0 { // a module of its own, which is closed while its instances live
		own, err := host.Load(e.object, nil)
		w.must(err, "Load")
		defer func() {
			w.must(own.Close(), "Module.Close")
			if _, err := w.store.Instantiate(nil, own, nil); !errors.Is(err, host.ErrClosed) {
				w.fail("Instantiate of a closed module: %v", err)
			}
		}()
		mod = own
	}
	i, imports, ok := w.link(e.program)
	if !ok {
		return
	}
	if mod == e.module {
		i.entry = e
	}
	if w.r.IntN(20) == 0 {
		w.breakLink(mod, imports)
		return
	}
	if over := w.overLimits(i); len(over) > 0 {
		_, err := w.store.Instantiate(nil, mod, imports)
		w.granted("Instantiate", err, over)
		return
	}
	w.counted++
	w.own(i)
	w.instances = append(w.instances, i)
	ctx := w.newContext()
	defer ctx.always()
	a := &activation{init: i}
	a.ctx = ctx
	var real *host.Instance
	err = w.enter(a, func() (err error) {
		real, err = w.store.Instantiate(ctx.ctx, mod, imports)
		return err
	})
	w.finish(a, err, nil)
	if err == nil {
		w.meet(i, real)
	} else {
		w.count("instantiations that failed")
		// If the store's call was cancelled, the model cannot know how much was made, and the limits depend on that.
		w.stop = w.stop || w.inside() && errors.Is(err, host.ErrCancelled)
	}
}

// link finds or makes what a program imports. ok is false if a limit does not allow it.
func (w *world) link(p *program) (i *instance, imports host.Imports, ok bool) {
	env := map[string]any{}
	i = &instance{prog: p, elems: make([][]value, len(p.elems)), datas: make([][]byte, len(p.datas))}
	for n, s := range p.imports {
		others := w.r.IntN(2) == 0 // of other instances only, so that calls and tail calls lead there
		f := live(w, w.funcs, func(f *funcItem) bool { return f.signature() == s && (f.host == nil || !others) })
		switch {
		case n == cancelImport || f == nil || !others && w.r.IntN(3) != 0:
			h := &hostFunc{signature: s, cancels: n == cancelImport, w: w}
			f = h.item()
			env[exportName('h', n)] = h.makeFunc()
		default:
			env[exportName('h', n)] = f.real
		}
		i.funcs = append(i.funcs, f)
	}
	for n := range p.funcs {
		i.funcs = append(i.funcs, &funcItem{inst: i, n: len(p.imports) + n})
	}
	for n, d := range p.tags {
		t := &tagItem{params: d.params}
		if d.imported {
			t = w.tagFor(d)
			env[exportName('e', n)] = t.real
		}
		i.tags = append(i.tags, t)
	}
	for n, d := range p.tables {
		t := &tableItem{elem: d.elem}
		if d.imported {
			if t = w.tableFor(d); t == nil {
				return nil, nil, false
			}
			env[exportName('t', n)] = t.real
		}
		i.tables = append(i.tables, t)
	}
	if i.mem = (&memoryItem{}); p.memory.imported {
		if i.mem = w.memoryFor(p.memory); i.mem == nil {
			return nil, nil, false
		}
		env["memory"] = i.mem.real
	}
	for n, d := range p.globals {
		g := &globalItem{typ: d.typ, mutable: d.mutable}
		if d.imported {
			switch n {
			case globalStep:
				g = w.stepGlobal
			case globalFuel:
				g = w.fuelGlobal
			case globalSeed:
				g = w.seedGlobal
			default:
				if g = w.globalFor(d); g == nil {
					return nil, nil, false
				}
			}
			env[exportName('g', n)] = g.real
		}
		i.globals = append(i.globals, g)
	}
	return i, host.Imports{"env": env}, true
}

// fits reports whether something with a size and limits can be imported where min and max are declared.
func fits(size uint64, l host.Limits, min, max uint64, hasMax bool) bool {
	return size >= min && (!hasMax || l.HasMax && l.Max <= max)
}

// newLimits returns limits that fit the declared ones, and mostly equal them.
func (w *world) newLimits(min, max uint64, hasMax bool) host.Limits {
	l := host.Limits{Min: min, Max: max, HasMax: hasMax}
	if !hasMax && w.r.IntN(2) == 0 {
		l.Min += uint64(w.r.IntN(3))
		l.Max, l.HasMax = l.Min+uint64(w.r.IntN(5)), true
	}
	return l
}

func (w *world) tableFor(d tableDef) *tableItem {
	t := live(w, w.tables, func(t *tableItem) bool {
		return t.real != nil && t.elem == d.elem && fits(uint64(len(t.elems)), t.limits, d.min, d.max, d.hasMax)
	})
	if t != nil && w.r.IntN(4) != 0 {
		return t
	}
	t = &tableItem{elem: d.elem, limits: w.newLimits(d.min, d.max, d.hasMax)}
	var err error
	t.real, err = w.store.NewTable(host.ValType(abiType(d.elem)), t.limits)
	over := w.exceeded(usage{tables: 1, elements: t.limits.Min})
	if t.limits.Min > w.limits.elements {
		over = append(over, "table elements")
	}
	if !w.granted("NewTable", err, over) {
		return nil
	}
	w.addTable(t)
	return t
}

func (w *world) tagFor(d tagDef) *tagItem {
	t := live(w, w.tags, func(t *tagItem) bool { return t.real != nil && t.params == d.params })
	if t != nil && w.r.IntN(4) != 0 {
		return t
	}
	t = &tagItem{params: d.params}
	var err error
	t.real, err = w.store.NewTag(hostTypes(d.params)...)
	w.must(err, "NewTag")
	w.tags = append(w.tags, t)
	return t
}

func (w *world) memoryFor(d memoryDef) *memoryItem {
	m := live(w, w.memories, func(m *memoryItem) bool {
		return m.real != nil && fits(uint64(len(m.data))/wasmPage, m.limits, d.min, d.max, d.hasMax)
	})
	if m != nil && w.r.IntN(4) != 0 {
		return m
	}
	m = &memoryItem{limits: w.newLimits(d.min, d.max, d.hasMax)}
	var err error
	m.real, err = w.store.NewMemory(m.limits)
	over := w.exceeded(usage{memories: 1, pages: m.limits.Min})
	if m.limits.Min > w.limits.pages {
		over = append(over, "memory pages")
	}
	if !w.granted("NewMemory", err, over) {
		return nil
	}
	w.addMemory(m)
	return m
}

func (w *world) addMemory(m *memoryItem) {
	m.limit = w.limits.pages
	if m.limits.HasMax {
		m.limit = min(m.limit, m.limits.Max)
	}
	m.data = make([]byte, m.limits.Min*wasmPage)
	w.memories = append(w.memories, m)
}

func (w *world) addTable(t *tableItem) {
	t.limit = w.limits.elements
	if t.limits.HasMax {
		t.limit = min(t.limit, t.limits.Max)
	}
	t.elems = make([]value, t.limits.Min)
	w.tables = append(w.tables, t)
}

func (w *world) globalFor(d globalDef) *globalItem {
	g := live(w, w.globals, func(g *globalItem) bool {
		return g.real != nil && g.typ == d.typ && g.mutable == d.mutable && g != w.stepGlobal && g != w.fuelGlobal
	})
	if g != nil && w.r.IntN(4) != 0 {
		return g
	}
	return w.newGlobal(d.typ, d.mutable, nil)
}

// own makes the entities that the instance defines, which are empty before they are initialized.
func (w *world) own(i *instance) {
	p := i.prog
	if !p.memory.imported {
		i.mem.limits = host.Limits{Min: p.memory.min, Max: p.memory.max, HasMax: p.memory.hasMax}
		w.addMemory(i.mem)
	}
	for n, d := range p.tables {
		if !d.imported {
			i.tables[n].limits = host.Limits{Min: d.min, Max: d.max, HasMax: d.hasMax}
			w.addTable(i.tables[n])
		}
	}
	for n, d := range p.globals {
		if !d.imported {
			w.globals = append(w.globals, i.globals[n])
		}
	}
	for n, d := range p.tags {
		if !d.imported {
			w.tags = append(w.tags, i.tags[n])
		}
	}
}

// meet records the exports of an instance.
func (w *world) meet(i *instance, real *host.Instance) {
	i.real = real
	w.count("instances")
	p := i.prog
	for n, f := range i.funcs {
		have, err := real.Func(exportName('f', n))
		w.must(err, "Instance.Func")
		if f.real != nil && f.real != have {
			w.fail("function %d is exported as another", n)
		}
		if f.real == nil || !slices.Contains(w.funcs, f) {
			f.real = have
			w.know(f)
		}
	}
	if n := len(real.Exports()); n != len(i.funcs)+len(i.tables)+len(i.globals)+len(i.tags)+1 {
		w.fail("%d exports", n)
	}
	var err error
	if !p.memory.imported {
		i.mem.real, err = real.Memory("memory")
		w.must(err, "Instance.Memory")
	}
	for n, d := range p.tables {
		if !d.imported {
			i.tables[n].real, err = real.Table(exportName('t', n))
			w.must(err, "Instance.Table")
		}
	}
	for n, d := range p.globals {
		if !d.imported {
			i.globals[n].real, err = real.Global(exportName('g', n))
			w.must(err, "Instance.Global")
		}
	}
	for n, t := range i.tags {
		have, err := real.Tag(exportName('e', n))
		w.must(err, "Instance.Tag")
		if t.real != nil && t.real != have {
			w.fail("tag %d is exported as another", n)
		}
		t.real = have
	}
	w.compare()
}

// breakLink removes an import, or puts something else in its place.
func (w *world) breakLink(mod *host.Module, imports host.Imports) {
	env := imports["env"]
	names := slices.Sorted(maps.Keys(env))
	name := names[w.r.IntN(len(names))]
	switch w.r.IntN(4) {
	case 0:
		delete(env, name)
	case 1:
		env[name] = 5
	case 2:
		env[name] = w.misfit(name, env[name])
	default:
		if env[name] = any(w.stepGlobal.real); name == exportName('g', globalStep) || name == exportName('g', globalFuel) {
			env[name] = func() {}
		}
		if name[0] == 'g' && len(name) == 2 { // may be of the same type
			delete(env, name)
		}
	}
	_, err := w.store.Instantiate(nil, mod, imports)
	var link *host.LinkError
	if !errors.As(err, &link) || link.Name != name {
		w.fail("Instantiate without %s: %v", name, err)
	}
	w.count("imports that did not fit")
}

// misfit returns something of the same kind as x that cannot be imported in its place: it has another type, or is from
// another store.
func (w *world) misfit(name string, x any) any {
	other, err := host.NewStore(nil)
	w.must(err, "NewStore")
	defer func() { w.must(other.Close(), "Close") }()
	switch name[0] {
	case 'h':
		f, err := other.NewFunc(func(float64, float32, int32) {})
		w.must(err, "NewFunc")
		if w.r.IntN(2) == 0 {
			f, err = w.store.NewFunc(func(float64, float32, int32) {})
			w.must(err, "NewFunc")
		}
		return f
	case 'e':
		params := x.(*host.Tag).Params()
		if w.r.IntN(2) == 0 {
			t, err := w.store.NewTag(append(params, host.TypeF64)...)
			w.must(err, "NewTag")
			return t
		}
		t, err := other.NewTag(params...)
		w.must(err, "NewTag")
		return t
	case 't':
		elem := x.(*host.Table).Elem()
		t, err := other.NewTable(elem, x.(*host.Table).Limits())
		w.must(err, "NewTable")
		return t
	case 'm':
		m, err := other.NewMemory(x.(*host.Memory).Limits())
		w.must(err, "NewMemory")
		return m
	}
	g, err := other.NewGlobal(!x.(*host.Global).Mutable(), value0(valueTypes[w.r.IntN(len(valueTypes))]))
	w.must(err, "NewGlobal")
	return g
}
