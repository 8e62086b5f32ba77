package translate

import "github.com/waot-project/waot/clif"

// watches are lists of phis by phi: those to look at again should it become an
// alias.
type watches struct {
	head []uint32 // by phi: first node + 1, or 0
	next []uint32 // by node
	who  []uint32 // by node: the phi that watches
	work []uint32 // phis that have become aliases
}

// finish makes the phis that are left block parameters, and replaces aliases in all
// operands. It comes after removeTrivial.
func (s *ssa) finish() {
	for blk := range s.blocks {
		if s.blocks[blk].phis.len > 0 {
			s.makeParams(clif.Block(blk))
		}
	}
	if s.aliases > 0 {
		s.f.ResolveInsts()
	}
}

// numOperands returns how many operands finish adds.
func (s *ssa) numOperands() (n int) {
	for k := range s.phis {
		s.f.Stop.Poll()
		p := &s.phis[k]
		if s.f.Values[p.value].Kind != clif.ValueAlias {
			n += int(s.blocks[p.block].edges.len) + 1
		}
	}
	return n
}

// removeTrivial makes aliases of the phis that merge one value besides
// themselves, until there are none. Values that are the same stay the same, so
// each phi goes once through its operands: it waits at the first that differs from those
// before, until one of the two becomes an alias.
func (s *ssa) removeTrivial() {
	w := &s.watch
	if cap(w.head) < len(s.phis) {
		w.head = make([]uint32, len(s.phis)+len(s.phis)/2)
	}
	w.head = w.head[:len(s.phis)]
	clear(w.head)
	w.next, w.who, w.work = w.next[:0], w.who[:0], w.work[:0]
	for n := range s.phis {
		s.f.Stop.Poll()
		s.examine(uint32(n))
	}
	for len(w.work) > 0 {
		n := w.work[len(w.work)-1]
		w.work = w.work[:len(w.work)-1]
		node := w.head[n]
		w.head[n] = 0
		for node != 0 {
			s.f.Stop.Poll()
			s.examine(w.who[node-1])
			node = w.next[node-1]
		}
	}
}

// examine continues with the operands of phi n, and makes it an alias if there is
// only one value among them.
func (s *ssa) examine(n uint32) {
	p := &s.phis[n]
	if s.f.Values[p.value].Kind == clif.ValueAlias {
		return
	}
	edges := s.blocks[p.block].edges
	same := p.same
	if same != clif.NoValue {
		same = s.f.Resolve(same)
	}
	for ; p.at < edges.len; p.at++ {
		v := s.f.Resolve(s.arg(p, edges, p.at))
		if v == p.value || v == same {
			continue
		}
		if same != clif.NoValue {
			p.same = same
			s.watchValue(same, n)
			s.watchValue(v, n)
			return
		}
		same = v
	}
	if same == clif.NoValue {
		return // merges nothing: a block without edges, which is not in the layout
	}
	s.alias(p, same)
	s.watch.work = append(s.watch.work, n)
}

// watchValue makes phi n look again when v becomes an alias.
func (s *ssa) watchValue(v clif.Value, n uint32) {
	if m, ok := s.phiOf(v); ok {
		w := &s.watch
		w.next = append(w.next, w.head[m])
		w.who = append(w.who, n)
		w.head[m] = uint32(len(w.who))
	}
}

// makeParams makes parameters of the phis of blk, and gives its edges the
// arguments.
func (s *ssa) makeParams(blk clif.Block) {
	f, bi := s.f, &s.blocks[blk]
	live, list := s.work[:0], s.scratch[:0]
	for _, n := range s.at(bi.phis) {
		v := s.phis[n].value
		d := &f.Values[v]
		if d.Kind == clif.ValueAlias {
			continue
		}
		d.Num, d.Def = uint16(len(live)), uint32(blk)
		live, list = append(live, n), append(list, v)
	}
	s.work, s.scratch = live[:0], list[:0]
	if len(live) == 0 {
		return
	}
	f.Blocks[blk].Params = clif.MakeList(f, list)
	for i := range bi.edges.len {
		f.Stop.Poll()
		for k, n := range live {
			list[k] = s.f.Resolve(s.arg(&s.phis[n], bi.edges, i))
		}
		f.Targets[s.pool[bi.edges.off+i]].Args = clif.MakeList(f, list)
	}
}

// defTable maps (block, local) to a value: open addressing, emptied by a new
// generation.
type defTable struct {
	slots []defSlot
	used  int
	gen   uint32
}

type defSlot struct{ gen, block, local, value uint32 }

func (d *defTable) reset() {
	d.gen++
	d.used = 0
	if d.gen == 0 || len(d.slots) == 0 || len(d.slots) > 1<<20 {
		d.slots, d.gen = make([]defSlot, 1<<10), 1
	}
}

func (d *defTable) slot(block, local uint32) *defSlot {
	h := (uint64(block)<<32 | uint64(local)) * 0x9e3779b97f4a7c15
	mask := uint64(len(d.slots) - 1)
	for i := h >> 32; ; i++ {
		s := &d.slots[i&mask]
		if s.gen != d.gen || s.block == block && s.local == local {
			return s
		}
	}
}

func (d *defTable) get(block, local uint32) (uint32, bool) {
	s := d.slot(block, local)
	return s.value, s.gen == d.gen
}

func (d *defTable) put(block, local, value uint32) {
	s := d.slot(block, local)
	if s.gen != d.gen {
		if d.used++; d.used*2 > len(d.slots) {
			d.grow()
			s = d.slot(block, local)
		}
	}
	*s = defSlot{d.gen, block, local, value}
}

func (d *defTable) grow() {
	old := d.slots
	d.slots = make([]defSlot, 2*len(old))
	for i := range old {
		if o := &old[i]; o.gen == d.gen {
			*d.slot(o.block, o.local) = *o
		}
	}
}
