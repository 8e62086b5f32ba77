package translate

import "github.com/waot-project/waot/clif"

// ssa builds SSA form on the fly after Braun et al., "Simple and Efficient
// Construction of Static Single Assignment Form" (CC 2013), with two changes.
// What a merge needs from its predecessors is looked up from a worklist, not
// by recursion, so that deep control flow costs no stack. And a merge is a phi
// in a side table until the function is complete; only those that turn out
// not to be trivial become block parameters.
//
// Variables are the locals of the function. The operands that branches carry to
// a label are phis too, filled in edge by edge.
type ssa struct {
	f *clif.Func
	b *clif.Builder

	blocks []blockInfo  // parallel to f.Blocks
	from   []clif.Block // parallel to f.Targets: the source of the edge
	phis   []phi
	pool   []uint32
	defs   defTable
	work   []uint32 // phis whose operands are to be looked up
	zero   [clif.NumTypes]clif.Value
}

// blockInfo is what construction knows of a block. Sealed blocks have all
// their edges.
type blockInfo struct {
	edges  list // of Targets
	phis   list // of phis; before sealing, those of variables lack operands
	sealed bool
}

// phi is a merge of one value per edge of its block.
type phi struct {
	value clif.Value
	block clif.Block
	local uint32 // noLocal for an operand of a label
	args  list   // of Values, parallel to the block's edges
}

const noLocal = ^uint32(0)

// list is a growing list of numbers in a pool.
type list struct{ off, len, cap uint32 }

func (s *ssa) push(l *list, x uint32) {
	if l.len == l.cap {
		n := max(2*l.cap, 4)
		off := uint32(len(s.pool))
		s.pool = append(s.pool, s.pool[l.off:l.off+l.len]...)
		for i := l.len; i < n; i++ {
			s.pool = append(s.pool, 0)
		}
		l.off, l.cap = off, n
	}
	s.pool[l.off+l.len] = x
	l.len++
}

func (s *ssa) at(l list) []uint32 { return s.pool[l.off : l.off+l.len] }

func (s *ssa) reset(f *clif.Func, b *clif.Builder) {
	s.f, s.b = f, b
	s.blocks, s.from, s.phis, s.pool = s.blocks[:0], s.from[:0], s.phis[:0], s.pool[:0]
	s.defs.reset()
	for i := range s.zero {
		s.zero[i] = clif.NoValue
	}
}

// newBlock creates a block that is not sealed.
func (s *ssa) newBlock() clif.Block {
	s.blocks = append(s.blocks, blockInfo{})
	return s.b.NewBlock()
}

// edge makes a target for a branch from the current block to blk.
func (s *ssa) edge(blk clif.Block) clif.Target {
	t := s.b.Target(blk, nil)
	s.from = append(s.from, s.b.Current())
	s.push(&s.blocks[blk].edges, uint32(t))
	return t
}

// newPhi adds a phi without operands to blk.
func (s *ssa) newPhi(blk clif.Block, local uint32, t clif.Type) uint32 {
	v := clif.Value(len(s.f.Values))
	s.f.Values = append(s.f.Values, clif.ValueData{Type: t, Kind: clif.ValueParam, Def: uint32(blk)})
	n := uint32(len(s.phis))
	s.phis = append(s.phis, phi{value: v, block: blk, local: local})
	s.push(&s.blocks[blk].phis, n)
	return n
}

// addPhiArg gives the phi its operand for the next edge.
func (s *ssa) addPhiArg(n uint32, v clif.Value) { s.push(&s.phis[n].args, uint32(v)) }

// write makes v the value of a local at the end of blk, so far.
func (s *ssa) write(blk clif.Block, local uint32, v clif.Value) {
	s.defs.put(uint32(blk), local, uint32(v))
}

// read is the value of a local of type t at the end of blk, so far.
func (s *ssa) read(blk clif.Block, local uint32, t clif.Type) clif.Value {
	v := s.find(blk, local, t)
	for len(s.work) > 0 {
		n := s.work[len(s.work)-1]
		s.work = s.work[:len(s.work)-1]
		s.fill(n, t)
	}
	return s.f.Resolve(v)
}

// find is read, but operands of new phis are left to the worklist.
func (s *ssa) find(blk clif.Block, local uint32, t clif.Type) clif.Value {
	first := blk
	for {
		if v, ok := s.defs.get(uint32(blk), local); ok {
			if blk != first {
				s.write(first, local, clif.Value(v))
			}
			return clif.Value(v)
		}
		bi := &s.blocks[blk]
		switch {
		case bi.sealed && bi.edges.len == 1:
			blk = s.from[s.pool[bi.edges.off]]
			continue
		case bi.sealed && bi.edges.len == 0: // the entry: a local never written
			return s.zero[t]
		}
		n := s.newPhi(blk, local, t)
		v := s.phis[n].value
		s.write(blk, local, v)
		if blk != first {
			s.write(first, local, v)
		}
		if bi = &s.blocks[blk]; bi.sealed {
			s.work = append(s.work, n)
		}
		return v
	}
}

// fill looks up the operands of a phi of a sealed block.
func (s *ssa) fill(n uint32, t clif.Type) {
	p := s.phis[n]
	edges := s.blocks[p.block].edges
	for i := uint32(0); i < edges.len; i++ {
		src := s.from[s.pool[edges.off+i]]
		s.addPhiArg(n, s.find(src, p.local, t))
	}
	s.simplify(n)
}

// simplify makes the phi an alias if it merges only one value besides itself;
// it reports whether it did.
func (s *ssa) simplify(n uint32) bool {
	p := &s.phis[n]
	if s.f.Values[p.value].Kind == clif.ValueAlias {
		return false
	}
	same := clif.NoValue
	for _, a := range s.at(p.args) {
		v := s.f.Resolve(clif.Value(a))
		if v == p.value || v == same {
			continue
		}
		if same != clif.NoValue {
			return false
		}
		same = v
	}
	if same == clif.NoValue {
		return false // merges nothing: a loop that cannot be entered
	}
	d := &s.f.Values[p.value]
	d.Kind, d.Def = clif.ValueAlias, uint32(same)
	return true
}

// seal says that blk has all its edges.
func (s *ssa) seal(blk clif.Block) {
	bi := &s.blocks[blk]
	bi.sealed = true
	phis := bi.phis // fill adds no phis to blk itself: it is sealed and defines them
	for i := uint32(0); i < phis.len; i++ {
		n := s.pool[phis.off+i]
		p := &s.phis[n]
		if p.local == noLocal {
			s.simplify(n)
			continue
		}
		t := s.f.Values[p.value].Type
		s.fill(n, t)
		for len(s.work) > 0 {
			m := s.work[len(s.work)-1]
			s.work = s.work[:len(s.work)-1]
			s.fill(m, t)
		}
	}
}

// finish removes the phis that have become trivial, makes the rest block
// parameters, and replaces aliases in all operands.
func (s *ssa) finish() {
	for changed := true; changed; {
		changed = false
		for n := range s.phis {
			changed = s.simplify(uint32(n)) || changed
		}
	}
	f := s.f
	for n := range s.phis {
		p := &s.phis[n]
		d := &f.Values[p.value]
		if d.Kind == clif.ValueAlias {
			continue
		}
		params := &f.Blocks[p.block].Params
		d.Num = uint16(params.Len)
		f.AppendList(params, uint32(p.value))
		edges := s.blocks[p.block].edges
		for i := uint32(0); i < edges.len; i++ {
			t := clif.Target(s.pool[edges.off+i])
			s.b.AddArg(t, f.Resolve(clif.Value(s.pool[p.args.off+i])))
		}
	}
	s.replaceAliases()
}

// replaceAliases makes all operands name values that are not aliases.
func (s *ssa) replaceAliases() {
	f := s.f
	for i := range f.Insts {
		d := &f.Insts[i]
		args := [...]*uint32{&d.A, &d.B, &d.C}
		for _, a := range args[:d.NumArgs()] {
			*a = uint32(f.Resolve(clif.Value(*a)))
		}
		if d.Op == clif.OpBrTable {
			continue
		}
		list := f.VarArgs(d)
		for k, a := range list {
			list[k] = uint32(f.Resolve(clif.Value(a)))
		}
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
