package inline

import (
	"unsafe"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/effect"
	"github.com/waot-project/waot/internal/stop"
)

// Body is a function that may be inlined. It is not changed any more, so that any number of goroutines may use it.
type Body struct {
	// f has nothing in its tables that is not used: all its blocks are in the layout, in order. The places of its instructions
	// with effects are entries of its table.
	f      clif.Func
	weight int    // see scales.weigh
	size   int    // see sizeOf
	depth  uint32 // how deep calls are inlined in it
	once   bool   // nothing refers to the function but one call
}

// outside is, as the Caller of an entry in a Body's table, the place of the call that is inlined.
const outside = ^uint32(0)

// Bytes is how much memory the body takes.
func (b *Body) Bytes() int64 {
	f := &b.f
	return int64(unsafe.Sizeof(*b)) + bytesOf(f.Insts) + bytesOf(f.Srcs) + bytesOf(f.Values) + bytesOf(f.Blocks) + bytesOf(f.Targets) +
		bytesOf(f.Layout) + bytesOf(f.Pool) + bytesOf(f.Inlined)
}

func bytesOf[T any](s []T) int64 {
	var x T
	return int64(cap(s)) * int64(unsafe.Sizeof(x))
}

// Slight reports whether the function is worth inlining wherever it is called.
func (b *Body) Slight() bool { return b.costs() <= limits[0] }

// Keep returns a copy of f, in which n was the last to inline and that the mid-end has optimised; nil if it is not small enough to
// be inlined anywhere. Once says that nothing refers to f but one call.
func (n *Inliner) Keep(f *clif.Func, once bool) *Body {
	weight := n.scales.weigh(f)
	most := maxWeight
	switch {
	case n.Eager:
		most = maxEagerWeight
	case once:
		most = maxOnceWeight
	}
	if weight > most || n.depth >= maxDepth || sizeOf(f) > maxSize {
		return nil
	}
	b := &Body{weight: weight, depth: n.depth, once: once}
	g := &b.f
	g.Name, g.Index, g.Sig, g.Mod = f.Name, f.Index, f.Sig, f.Mod
	r := &n.names
	r.number(f)
	r.makeRoom(g, f)
	n.memo = stop.Zeroed(f.Stop, n.memo, len(f.Inlined))
	for k, old := range f.Layout {
		bd := clif.BlockData{Start: clif.Inst(len(g.Insts)), Params: r.list(g, f, f.Blocks[old].Params)}
		for i, v := range f.Params(old) {
			g.Values = append(g.Values, clif.ValueData{Type: f.Values[v].Type, Kind: clif.ValueParam, Num: uint16(i), Def: uint32(k)})
		}
		for i := f.Blocks[old].Start; i < f.Blocks[old].End; i++ {
			d := f.Insts[i]
			if d.Op == clif.OpNop {
				continue
			}
			for v := range clif.Value(d.NumResults) {
				g.Values = append(g.Values, clif.ValueData{Type: f.TypeOf(d.Result + v), Num: uint16(v), Def: uint32(len(g.Insts))})
			}
			for _, t := range f.TargetsOf(&d) {
				r.targets[t] = uint32(len(g.Targets))
				td := &f.Targets[t]
				g.Targets = append(g.Targets, clif.TargetData{Block: clif.Block(r.blocks[td.Block]), Args: r.list(g, f, td.Args)})
			}
			g.Insts = append(g.Insts, r.inst(g, f, d))
			g.Srcs = append(g.Srcs, n.keepSrc(g, f, &d, f.Srcs[i]))
		}
		bd.End = clif.Inst(len(g.Insts))
		g.Blocks = append(g.Blocks, bd)
	}
	b.size = sizeOf(g)
	return b
}

// keepSrc returns the place of d in g. Only where d has effects may anybody ask for the calls around it.
func (n *Inliner) keepSrc(g, f *clif.Func, d *clif.InstData, src uint32) uint32 {
	if !d.Op.Has(effect.Traps | effect.Writes | effect.Calls) {
		return f.Offset(src)
	}
	return n.keepPlace(g, f, src)
}

// keepPlace returns a place of f in g: an entry of its table. Chains of entries are at most maxDepth long.
func (n *Inliner) keepPlace(g, f *clif.Func, src uint32) uint32 {
	p := abi.Inlined{Func: uint32(f.Index), Src: src, Caller: outside}
	if src >= abi.InlinedPlace {
		if known := n.memo[src-abi.InlinedPlace]; known != 0 {
			return known
		}
		p = f.Inlined[src-abi.InlinedPlace]
		if p.Caller == abi.Ended { // f has ended here: what has taken its place is called where f is
			p.Caller = outside
		} else {
			p.Caller = n.keepPlace(g, f, p.Caller)
		}
	}
	place := abi.InlinedPlace + uint32(len(g.Inlined))
	g.Inlined = append(g.Inlined, p)
	if src >= abi.InlinedPlace {
		n.memo[src-abi.InlinedPlace] = place
	}
	return place
}

// renaming says what numbers of one function are in another: each plus a constant, or, if there are tables, what those say.
type renaming struct {
	value, block, target, place uint32
	values, blocks, targets     []uint32
	// With tables: how many instructions, values and targets there are, and words in lists.
	insts, named, edges, words uint32
}

// number makes r the renaming that leaves out what f does not use. The targets are numbered by the caller.
func (r *renaming) number(f *clif.Func) {
	r.values = stop.Zeroed(f.Stop, r.values, len(f.Values))
	r.insts, r.edges, r.words = 0, 0, 0
	r.blocks = stop.Zeroed(f.Stop, r.blocks, len(f.Blocks))
	r.targets = stop.Zeroed(f.Stop, r.targets, len(f.Targets))
	next := uint32(0)
	name := func(v uint32) {
		r.values[v] = next
		next++
	}
	for k, b := range f.Layout {
		r.blocks[b] = uint32(k)
		r.words += f.Blocks[b].Params.Len
		for _, v := range f.Params(b) {
			name(v)
		}
		for i := f.Blocks[b].Start; i < f.Blocks[b].End; i++ {
			d := &f.Insts[i]
			if d.Op != clif.OpNop {
				r.insts++
			}
			for k := range uint32(d.NumResults) {
				name(uint32(d.Result) + k)
			}
			if d.HasList() {
				r.words += d.Args[2]
			}
		}
		for _, t := range f.TargetsOf(&f.Insts[f.Terminator(b)]) {
			r.edges++
			r.words += f.Targets[t].Args.Len
		}
	}
	r.named = next
}

// makeRoom makes the tables of g that hold what r has numbered, no larger than needed.
func (r *renaming) makeRoom(g, f *clif.Func) {
	g.Insts, g.Srcs = make([]clif.InstData, 0, r.insts), make([]uint32, 0, r.insts)
	g.Values, g.Blocks = make([]clif.ValueData, 0, r.named), make([]clif.BlockData, 0, len(f.Layout))
	g.Targets, g.Pool = make([]clif.TargetData, 0, r.edges), make([]uint32, 0, r.words)
}

func (r *renaming) valueOf(v uint32) uint32 {
	if r.values != nil {
		return r.values[v]
	}
	return v + r.value
}

func (r *renaming) targetOf(t uint32) uint32 {
	if r.targets != nil {
		return r.targets[t]
	}
	return t + r.target
}

// list copies a list of values of g to f.
func (r *renaming) list(f, g *clif.Func, l clif.List) clif.List {
	out := clif.MakeList(f, g.ListAt(l))
	for i, v := range f.ListAt(out) {
		f.Pool[int(out.Off)+i] = r.valueOf(v)
	}
	return out
}

// appendTables appends the values, blocks and targets of g to f.
func (r *renaming) appendTables(f, g *clif.Func) {
	for _, v := range g.Values {
		if v.Kind == clif.ValueParam {
			v.Def += r.block
		}
		f.Values = append(f.Values, v)
	}
	for i := range g.Blocks {
		f.Blocks = append(f.Blocks, clif.BlockData{Params: r.list(f, g, g.Blocks[i].Params)})
	}
	for i := range g.Targets {
		t := &g.Targets[i]
		f.Targets = append(f.Targets, clif.TargetData{Block: t.Block + clif.Block(r.block), Args: r.list(f, g, t.Args)})
	}
}

// inst returns instruction d of g as one of f; its lists are copied.
func (r *renaming) inst(f, g *clif.Func, d clif.InstData) clif.InstData {
	if d.NumResults > 0 {
		d.Result = clif.Value(r.valueOf(uint32(d.Result)))
	}
	f.CopyOperands(&d, g, r.valueOf, r.targetOf)
	return d
}
