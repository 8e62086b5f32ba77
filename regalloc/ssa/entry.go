package ssa

import (
	"slices"

	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/regalloc"
	"github.com/waot-project/waot/regalloc/flow"
)

// entering is the state of deciding what is in registers at the start of a block.
type entering struct {
	block  []uint32 // by value: the latest block plus 1 that it is live into, or is a parameter of
	spills []uint32 // by class: the latest header plus 1 of a loop at which a parameter of it is in memory
	header []uint32 // by value: the latest block plus 1 of a loop at whose header it is in a register
	// inside is, by value, how often control comes with it in a register; outside, for parameters, with the argument in memory.
	inside, outside []uint32
	visit           uint32
	seen            []uint32 // by value: the latest visit of a predecessor that ends with it in a register
	keys            []uint64 // distances and values
	through         [regalloc.NumClasses]int32
}

func (e *entering) reset(f *stop.Flag, values, classes int) {
	e.spills = stop.Zeroed(f, e.spills, classes)
	e.block, e.seen, e.header = stop.Zeroed(f, e.block, values), stop.Zeroed(f, e.seen, values), stop.Zeroed(f, e.header, values)
	e.inside = stop.Resize(f, e.inside, values)
	e.outside = stop.Resize(f, e.outside, values)
	e.visit = 0
}

// enter decides what is in registers at the start of block b.
func (s *spilling) enter(b uint32) {
	in := s.In
	s.entries.begin(b)
	preds := in.PredsOf(regalloc.Block(b))
	if len(preds) == 1 && s.inherit(b, uint32(preds[0])) {
		s.entries.end(b)
		return
	}
	if len(preds) > 0 {
		s.meet(b)
		total, back := uint32(0), false
		for _, p := range preds {
			in.Stop.Poll()
			if s.order.number[p] >= s.order.number[b] {
				back = true
				continue
			}
			total += s.Freq[p]
			s.meetPred(b, uint32(p))
		}
		s.candidates(b, total, back)
		s.take(b, back)
	}
	s.entries.end(b)
}

// inherit leaves in registers what its only predecessor p leaves there, and reports whether it has done so: they are not too many.
func (s *spilling) inherit(b, p uint32) bool {
	if s.In.Blocks[b].Params.Len() > 0 || s.order.number[p] >= s.order.number[b] {
		return false
	}
	var count [regalloc.NumClasses]int
	for _, v := range s.exits.of(p) {
		count[s.ClassOf(v)]++
	}
	for c, n := range count {
		if n > s.regs(regalloc.Class(c), 0) {
			return false
		}
	}
	s.meet(b)
	for _, v := range s.exits.of(p) {
		if s.entering.block[v] == b+1 {
			s.enterIn(v)
		}
	}
	s.spills = s.spills || len(s.set[regalloc.Int])+len(s.set[regalloc.Float]) < len(s.live.LiveInto(b))
	return true
}

// enterIn puts v into a register from the start of the block on.
func (s *spilling) enterIn(v uint32) {
	s.add(v)
	s.entries.words = append(s.entries.words, v)
	s.unused[v] = uint32(len(s.entries.words))
}

// meet notes what is live into b.
func (s *spilling) meet(b uint32) {
	e := &s.entering
	start := s.In.Blocks[b].Insts.Start
	dist := s.dist.intoBlock(b)
	for k, v := range s.live.LiveInto(b) {
		s.In.Stop.PollAt(k)
		e.block[v], e.inside[v], e.outside[v] = b+1, 0, 0
		s.next[v] = start + dist[k]
	}
	for k, v := range s.In.ParamsOf(regalloc.Block(b)) {
		s.In.Stop.PollAt(k)
		e.block[v], e.inside[v], e.outside[v] = b+1, 0, 0
		s.next[v] = start + s.dist.params[v]
	}
}

// meetPred notes what is in registers at the end of the predecessor p of b.
func (s *spilling) meetPred(b, p uint32) {
	e := &s.entering
	e.visit++
	f := s.Freq[p]
	for _, v := range s.exits.of(p) {
		e.seen[v] = e.visit
		if e.block[v] == b+1 {
			e.inside[v] += f
		}
	}
	params := s.In.ParamsOf(regalloc.Block(b))
	if len(params) == 0 {
		return
	}
	for _, edge := range s.In.SuccsOf(regalloc.Block(p)) {
		if uint32(edge.To) != b {
			continue
		}
		for k, a := range s.In.ArgsOf(edge) {
			s.In.Stop.PollAt(k)
			switch v := params[k]; {
			case e.seen[a] == e.visit || s.Values[a].Flags&(flow.IsRemat|flow.IsArg) != 0:
				e.inside[v] += f
			default:
				e.outside[v] += f
			}
		}
		return
	}
}

// meetHeader notes what is in registers at the header of the innermost loop around b, and reports whether there is one that comes before b.
func (s *spilling) meetHeader(b uint32) bool {
	h := s.Headers[b]
	if h == flow.None || s.order.number[h] >= s.order.number[b] {
		return false
	}
	for _, v := range s.entries.of(h) {
		if v != flow.None {
			s.entering.header[v] = b + 1
		}
	}
	return true
}

// candidates fills keys with what may be in a register at the start of b; total is how often control comes there from in front of it, and
// back says that it also comes from behind.
func (s *spilling) candidates(b, total uint32, back bool) {
	in, e := s.In, &s.entering
	e.keys = e.keys[:0]
	e.through = [regalloc.NumClasses]int32{}
	dist := s.dist.intoBlock(b)
	inLoop := s.HasLoops && !back && in.Blocks[b].Preds.Len() > 1 && s.meetHeader(b)
	for k, v := range s.live.LiveInto(b) {
		in.Stop.PollAt(k)
		inside := e.inside[v]
		through := back && dist[k] >= loopExit
		if through {
			e.through[s.ClassOf(v)]++
		}
		switch {
		case back && !through:
		case inside == 0:
			s.spills = true
			continue
		case inLoop && e.header[v] == b+1 && dist[k] < loopExit: // else the next iteration would reload it
		case inLoop && inside < total && dist[k] >= flow.Soon:
			s.spills = true
			continue // the next iteration wants it in memory
		case inside < total && (through || dist[k] >= intoCold || 2*inside < total):
			s.spills = true
			continue
		}
		e.keys = stop.Append(in.Stop, e.keys, uint64(dist[k])<<32|uint64(v))
	}
	for k, v := range in.ParamsOf(regalloc.Block(b)) {
		in.Stop.PollAt(k)
		d := s.dist.params[v]
		if s.Values[v].Range == 0 || d == never {
			continue
		}
		if !back && d >= flow.Soon && (e.outside[v] > e.inside[v] || inLoop && e.outside[v] > 0 && s.headerSpills(uint32(v), b)) {
			s.spills = true
			continue
		}
		if back && d >= loopExit {
			e.through[s.ClassOf(uint32(v))]++
		}
		e.keys = stop.Append(in.Stop, e.keys, uint64(d)<<32|uint64(v))
	}
}

// headerSpills reports whether the header of the innermost loop around b has a parameter of v's class that begins in memory.
func (s *spilling) headerSpills(v, b uint32) bool {
	c := s.classes.ClassFor(v)
	return c != flow.None && s.entering.spills[c] == s.Headers[b]+1
}

// take puts the candidates with the nearest uses into registers.
func (s *spilling) take(b uint32, back bool) {
	e := &s.entering
	slices.Sort(e.keys)
	var room [regalloc.NumClasses]int32
	for c := range room {
		room[c] = e.through[c] - max(s.dist.excess[b][c], 0)
	}
	for _, key := range e.keys {
		s.In.Stop.Poll()
		v, d := uint32(key), uint32(key>>32)
		c := s.ClassOf(v)
		if back && d >= loopExit {
			if room[c]--; room[c] < 0 {
				s.spills = true
				continue
			}
		}
		if len(s.set[c]) >= s.regs(c, 0) && !(s.pays(v) && s.allow(c, 0)) {
			s.spills = true
			continue
		}
		s.enterIn(v)
	}
	if !back {
		return
	}
	for k, v := range s.In.ParamsOf(regalloc.Block(b)) {
		s.In.Stop.PollAt(k)
		if c := s.classes.ClassFor(uint32(v)); c != flow.None && s.index[v] == 0 {
			e.spills[c] = b + 1
		}
	}
}
