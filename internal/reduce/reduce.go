package reduce

import (
	"fmt"
	"slices"

	"github.com/waot-project/waot/internal/wasmedit"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/validate"
)

// Options say how to reduce.
type Options struct {
	// Features are what modules may use; 0 means wasmfront.DefaultFeatures.
	Features wasmfront.Features
	// MaxTries bounds the calls of the predicate; 0 means 5,000.
	MaxTries int
}

// Stats are what a reduction did.
type Stats struct {
	// Tries is how often the predicate was called, Steps how often it held.
	Tries, Steps int
	// Exhausted says that MaxTries has ended the reduction.
	Exhausted bool
}

// Module makes a module smaller as long as shows holds for it, which it must for the module given (or that, without
// its custom sections and written anew, is an error). All modules that shows gets are valid. What it does is
// the same each time, if shows is.
func Module(b []byte, o Options, shows func(b []byte) bool) ([]byte, Stats, error) {
	if o.Features == 0 {
		o.Features = wasmfront.DefaultFeatures
	}
	if o.MaxTries == 0 {
		o.MaxTries = 5000
	}
	m, err := wasmedit.Decode(b, o.Features)
	if err != nil {
		return nil, Stats{}, err
	}
	r := &reducer{opt: o, shows: shows, m: m}
	if !r.try(func(*wasmedit.Module) bool { return true }) {
		return nil, r.stats, fmt.Errorf("the module, written anew without its custom sections, does not show it")
	}
	for changed := true; changed && !r.stats.Exhausted; {
		changed = false
		for _, pass := range [...]func(*reducer) bool{(*reducer).exports, (*reducer).start, (*reducer).bodies, (*reducer).unused,
			(*reducer).imports, (*reducer).segments, (*reducer).code, (*reducer).unused, (*reducer).contents, (*reducer).types} {
			if pass(r) {
				changed = true
			}
		}
	}
	return r.bytes, r.stats, nil
}

// reducer reduces one module.
type reducer struct {
	opt   Options
	shows func(b []byte) bool
	m     *wasmedit.Module // shows it
	bytes []byte           // of m
	stats Stats
}

// try changes a copy of the module, and keeps it if it is valid and still shows it. change says whether there is
// anything to change.
func (r *reducer) try(change func(m *wasmedit.Module) bool) bool {
	c := r.m.Clone()
	if r.stats.Exhausted || !change(c) {
		return false
	}
	b, err := c.Encode()
	if err != nil {
		return false
	}
	if _, err := validate.All(b, validate.Config{Features: r.opt.Features}); err != nil {
		return false
	}
	if r.stats.Tries >= r.opt.MaxTries {
		r.stats.Exhausted = true
		return false
	}
	r.stats.Tries++
	if !r.shows(b) {
		return false
	}
	r.stats.Steps++
	r.m, r.bytes = c, b
	return true
}

// sweep cuts ranges of n things, halves first, from the end, where what depends on others mostly is. cut says whether
// there was anything to cut.
func (r *reducer) sweep(n int, cut func(m *wasmedit.Module, from, to int) bool) (changed bool) {
	for size := n; size > 0; size /= 2 {
		for to := n; to > 0; to -= size {
			if r.try(func(m *wasmedit.Module) bool { return cut(m, max(to-size, 0), to) }) {
				changed = true
			}
		}
	}
	return changed
}

// kill returns a cut that marks things as dead.
func kill(from, to int, dead func(i int) *bool) (changed bool) {
	for i := from; i < to; i++ {
		if d := dead(i); !*d {
			*d, changed = true, true
		}
	}
	return changed
}

func (r *reducer) exports() bool {
	return r.sweep(len(r.m.Exports), func(m *wasmedit.Module, from, to int) bool {
		return kill(from, to, func(i int) *bool { return &m.Exports[i].Dead })
	})
}

func (r *reducer) start() bool {
	return r.m.Start >= 0 && r.try(func(m *wasmedit.Module) bool {
		m.Start = -1
		return true
	})
}

// bodies makes functions do nothing, or trap.
func (r *reducer) bodies() bool {
	with := func(body func(results []wasmfront.ValType) []wasmedit.Inst) bool {
		return r.sweep(len(r.m.Funcs), func(m *wasmedit.Module, from, to int) (changed bool) {
			for i := from; i < to; i++ {
				f := &m.Funcs[i]
				if code := body(f.Type.Results); !f.Dead && f.Import == nil && len(code) < len(f.Code) {
					f.Code, changed = code, true
				}
			}
			return changed
		})
	}
	a := with(func(results []wasmfront.ValType) []wasmedit.Inst {
		return append(zeros(nil, results), wasmedit.Plain(wasmfront.OpEnd))
	})
	b := with(func([]wasmfront.ValType) []wasmedit.Inst {
		return []wasmedit.Inst{wasmedit.Plain(wasmfront.OpUnreachable), wasmedit.Plain(wasmfront.OpEnd)}
	})
	return a || b
}

func zeros(code []wasmedit.Inst, types []wasmfront.ValType) []wasmedit.Inst {
	for _, t := range types {
		code = append(code, wasmedit.Zero(t))
	}
	return code
}

// segments removes segments.
func (r *reducer) segments() bool {
	a := r.sweep(len(r.m.Elems), func(m *wasmedit.Module, from, to int) bool {
		return kill(from, to, func(i int) *bool { return &m.Elems[i].Dead })
	})
	b := r.sweep(len(r.m.Data), func(m *wasmedit.Module, from, to int) bool {
		return kill(from, to, func(i int) *bool { return &m.Data[i].Dead })
	})
	return a || b
}

// imports makes what is imported the module's own: functions that give zeros, memories and tables of the least size that they need, globals
// of zero. What is imported comes first, so the last ones go first.
func (r *reducer) imports() (changed bool) {
	own := func(n int, of func(m *wasmedit.Module, i int) (imp **wasmedit.Import, dead bool), define func(m *wasmedit.Module, i int)) {
		for i := n - 1; i >= 0; i-- {
			if r.try(func(m *wasmedit.Module) bool {
				imp, dead := of(m, i)
				if dead || *imp == nil {
					return false
				}
				*imp = nil
				define(m, i)
				return true
			}) {
				changed = true
			}
		}
	}
	asItIs := func(*wasmedit.Module, int) {}
	own(len(r.m.Funcs), func(m *wasmedit.Module, i int) (**wasmedit.Import, bool) { return &m.Funcs[i].Import, m.Funcs[i].Dead }, func(m *wasmedit.Module, i int) {
		m.Funcs[i].Code = append(zeros(nil, m.Funcs[i].Type.Results), wasmedit.Plain(wasmfront.OpEnd))
	})
	own(len(r.m.Tables), func(m *wasmedit.Module, i int) (**wasmedit.Import, bool) {
		return &m.Tables[i].Import, m.Tables[i].Dead
	}, asItIs)
	own(len(r.m.Memories), func(m *wasmedit.Module, i int) (**wasmedit.Import, bool) {
		return &m.Memories[i].Import, m.Memories[i].Dead
	}, asItIs)
	own(len(r.m.Tags), func(m *wasmedit.Module, i int) (**wasmedit.Import, bool) {
		return &m.Tags[i].Import, m.Tags[i].Dead
	}, asItIs)
	own(len(r.m.Globals), func(m *wasmedit.Module, i int) (**wasmedit.Import, bool) {
		return &m.Globals[i].Import, m.Globals[i].Dead
	}, func(m *wasmedit.Module, i int) {
		zeroInit(&m.Globals[i])
	})
	return changed
}

// unused removes what nothing uses: all at once, or else what can be removed of each kind.
func (r *reducer) unused() (changed bool) {
	u := usesOf(r.m)
	kinds := [...]struct {
		used []bool
		dead func(m *wasmedit.Module, i int) *bool
	}{
		{u.elems, func(m *wasmedit.Module, i int) *bool { return &m.Elems[i].Dead }},
		{u.data, func(m *wasmedit.Module, i int) *bool { return &m.Data[i].Dead }},
		{u.funcs, func(m *wasmedit.Module, i int) *bool { return &m.Funcs[i].Dead }},
		{u.tables, func(m *wasmedit.Module, i int) *bool { return &m.Tables[i].Dead }},
		{u.memories, func(m *wasmedit.Module, i int) *bool { return &m.Memories[i].Dead }},
		{u.tags, func(m *wasmedit.Module, i int) *bool { return &m.Tags[i].Dead }},
		{u.globals, func(m *wasmedit.Module, i int) *bool { return &m.Globals[i].Dead }},
	}
	if r.try(func(m *wasmedit.Module) bool {
		any := u.killLocals(m)
		for _, k := range kinds {
			any = killUnused(k.used, 0, len(k.used), func(i int) *bool { return k.dead(m, i) }) || any
		}
		return any
	}) {
		return true
	}
	for _, k := range kinds {
		if r.sweep(len(k.used), func(m *wasmedit.Module, from, to int) bool {
			return killUnused(k.used, from, to, func(i int) *bool { return k.dead(m, i) })
		}) {
			changed = true
		}
	}
	return r.try(u.killLocals) || changed
}

// killUnused returns a cut that marks what is not used as dead.
func killUnused(used []bool, from, to int, dead func(i int) *bool) (changed bool) {
	for i := from; i < to; i++ {
		if d := dead(i); !used[i] && !*d {
			*d, changed = true, true
		}
	}
	return changed
}

// contents makes smaller what is in entities that are left.
func (r *reducer) contents() (changed bool) {
	for i := range r.m.Elems {
		if r.sweep(len(r.m.Elems[i].Items), func(m *wasmedit.Module, from, to int) bool {
			s := &m.Elems[i]
			if to = min(to, len(s.Items)); s.Dead || from >= to {
				return false
			}
			s.Items = slices.Delete(slices.Clone(s.Items), from, to)
			return true
		}) {
			changed = true
		}
		if r.try(func(m *wasmedit.Module) bool { return declare(&m.Elems[i]) }) {
			changed = true
		}
	}
	for i := range r.m.Data {
		for _, part := range []func(n int) int{func(n int) int { return n - n/2 }, func(n int) int { return n / 8 }, func(n int) int { return min(n, 1) }} {
			for _, front := range []bool{false, true} {
				for r.try(func(m *wasmedit.Module) bool {
					d := &m.Data[i]
					n := part(len(d.Bytes))
					switch {
					case d.Dead || n == 0:
						return false
					case front:
						cutFront(d, n)
					default:
						d.Bytes = d.Bytes[:len(d.Bytes)-n]
					}
					return true
				}) {
					changed = true
				}
			}
		}
	}
	for i := range r.m.Globals {
		if r.try(func(m *wasmedit.Module) bool { return zeroInit(&m.Globals[i]) }) {
			changed = true
		}
	}
	return changed
}

// declare leaves of a segment with elements that are made only that the functions that they name may be referred to.
func declare(s *wasmedit.Elem) bool {
	if s.Dead || !slices.ContainsFunc(s.Items, func(x []wasmfront.ConstOp) bool { return len(x) > 1 }) {
		return false
	}
	var funcs [][]wasmfront.ConstOp
	for _, x := range s.Items {
		for _, op := range x {
			if op.Op == wasmfront.OpRefFunc {
				funcs = append(funcs, []wasmfront.ConstOp{op})
			}
		}
	}
	*s = wasmedit.Elem{Mode: wasmfront.SegmentDeclarative, Type: wasmfront.FuncRef, Items: funcs}
	return true
}

// types makes types that are named, and are not used, as small as can be: those behind them keep their indices.
func (r *reducer) types() (changed bool) {
	for i := len(r.m.Types) - 1; i >= 0; i-- {
		if r.try(func(m *wasmedit.Module) bool {
			if last := i == len(m.Types)-1; last {
				m.Types = m.Types[:i]
				return true
			}
			least := wasmfront.TypeDef{Place: m.Types[i].Place}
			if t := &m.Types[i]; t.Kind == wasmfront.KindFunc && len(t.Params)+len(t.Results) == 0 && !t.Open && !t.HasSuper {
				return false
			}
			m.Types[i] = least
			return true
		}) {
			changed = true
		}
	}
	return changed
}

// cutFront leaves out the first n bytes of a segment. What is copied by instantiation stays where it was, if that is known.
func cutFront(d *wasmedit.Data, n int) {
	d.Bytes = d.Bytes[n:]
	if len(d.Offset) == 1 && d.Offset[0].Op == wasmfront.OpI32Const {
		d.Offset = slices.Clone(d.Offset)
		d.Offset[0].Bits = uint64(uint32(d.Offset[0].Bits) + uint32(n))
	}
}

// zeroInit makes a global start with zero.
func zeroInit(g *wasmedit.Global) bool {
	z := wasmfront.ConstOp{Op: wasmedit.Zero(g.Type.Type).Op}
	if g.Type.Type.IsRef() {
		z.Type = g.Type.Type
	}
	if g.Dead || g.Import != nil || len(g.Init) == 1 && g.Init[0] == z {
		return false
	}
	g.Init = []wasmfront.ConstOp{z}
	return true
}
