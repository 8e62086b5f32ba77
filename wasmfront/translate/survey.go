package translate

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/effect"
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/wasmfront"
)

// Survey is what one look at all bodies of a module says, before any is translated: who calls whom, and what nobody writes. Bodies need
// not be valid: what it says may be anything then, and validation refuses the module.
type Survey struct {
	Calls []CallsOf // by function

	m    *wasmfront.Module
	ops  *operators
	stop *stop.Flag
	// writes is, by function, what a call of it may write; while bodies are read, what its own operators may write.
	writes []clif.StateSet
	// The calls of functions that do not write everything: callees[starts[i]:starts[i+1]] are those of function i.
	starts, callees []uint32
	globals, tables []bool   // by index: a body writes it
	results         []answer // by function; see declareNonzero
	anyTable        bool     // a body writes a table whose index is not noted
	refused         bool     // a body is refused: it may write any global and table
	objects         objectSurvey
}

// CallsOf says who calls a function by call.
type CallsOf struct {
	All, Cold uint32 // how many calls there are, and how many of them are followed by unreachable
	Caller    uint32 // of the last one
}

// TakeSurvey reads all bodies of m, which cm declares, in at most the given number of goroutines.
func TakeSurvey(m *wasmfront.Module, cm *clif.Module, jobs int, end *stop.Flag) *Survey {
	return takeSurvey(m, cm, &allOperators, jobs, end)
}

func takeSurvey(m *wasmfront.Module, cm *clif.Module, ops *operators, jobs int, end *stop.Flag) *Survey {
	s, ends := newSurvey(m, ops, end), splitBodies(m, jobs)
	s.writes, s.starts = make([]clif.StateSet, len(m.Funcs)), make([]uint32, len(m.Funcs)+1)
	for i := range m.NumImportedFuncs {
		s.writes[i] = clif.AllState
	}
	others := make([]*Survey, len(ends)-1)
	var g stop.Group
	defer g.Wait() // if a poll ends the survey
	for k := range others {
		p := newSurvey(m, ops, end)
		p.writes, p.starts = s.writes, s.starts
		others[k] = p
		g.Go(func() { p.read(cm, ends[k], ends[k+1]) })
	}
	s.read(cm, m.NumImportedFuncs, ends[0])
	g.Wait()
	for k, p := range others {
		s.add(p, ends[k], ends[k+1])
	}
	s.starts[len(m.Funcs)] = uint32(len(s.callees))
	return s
}

func newSurvey(m *wasmfront.Module, ops *operators, end *stop.Flag) *Survey {
	return &Survey{Calls: make([]CallsOf, len(m.Funcs)), m: m, ops: ops, stop: end, globals: make([]bool, len(m.Globals)), tables: make([]bool, len(m.Tables)), objects: newObjectSurvey(m)}
}

// partBytes is how many bytes of bodies are worth a goroutine, and callBytes for how many bytes of them a part may have a CallsOf: so parts
// take less memory than the bodies.
const partBytes, callBytes = 1 << 16, 16

// splitBodies divides the functions into at most n parts, whose bodies are about equally long, and returns where each part ends.
func splitBodies(m *wasmfront.Module, n int) (ends []uint32) {
	last, total := uint32(len(m.Funcs)), 0
	for i := m.NumImportedFuncs; i < last; i++ {
		total += len(m.Body(i).Bytes)
	}
	n = min(n, total/max(partBytes, callBytes*len(m.Funcs)))
	for i, bytes := m.NumImportedFuncs, 0; i+1 < last && len(ends) < n-1; i++ {
		if bytes += len(m.Body(i).Bytes); bytes >= total/n*(len(ends)+1) {
			ends = append(ends, i+1)
		}
	}
	return append(ends, last)
}

// read reads the bodies of the functions from from to to.
func (s *Survey) read(cm *clif.Module, from, to uint32) {
	var b bodyReader
	for i := from; i < to; i++ {
		s.stop.Poll()
		b = s.ops.bodyOf(s.m, i)
		s.starts[i] = uint32(len(s.callees))
		s.body(cm, &b, i)
	}
}

// add adds what p says, which has read the functions from from to to, behind those that s has read.
func (s *Survey) add(p *Survey, from, to uint32) {
	for i := range p.Calls {
		c, more := &s.Calls[i], &p.Calls[i]
		if more.All > 0 {
			*c = CallsOf{All: c.All + more.All, Cold: c.Cold + more.Cold, Caller: more.Caller}
		}
	}
	for i, written := range p.globals {
		s.globals[i] = s.globals[i] || written
	}
	for i, written := range p.tables {
		s.tables[i] = s.tables[i] || written
	}
	s.anyTable, s.refused = s.anyTable || p.anyTable, s.refused || p.refused
	s.objects.add(&p.objects)
	for i := from; i < to; i++ {
		s.starts[i] += uint32(len(s.callees))
	}
	s.callees = append(s.callees, p.callees...)
}

// body reads the body of function i. What calls it may write is the sum of what its operators write, or everything if it calls what is not known or is refused.
func (s *Survey) body(cm *clif.Module, b *bodyReader, i uint32) {
	globals, more := clif.StateSet(0), effect.Set(0)
	for op, index := b.next(); op != endOfBody; op, index = b.next() {
		e := s.ops.of(op)
		switch {
		case isDirectCall(op, e):
			s.call(b, i, index)
			e &^= effect.Calls
		default:
			if e.Has(effect.WriteGlobal) {
				globals |= s.globalWritten(cm, b, op, index)
			}
			if e.Has(effect.WriteTable | effect.WriteTableSize) {
				s.tableWritten(op, index)
			}
			if e.Has(effect.WriteHeap) || isConversion(op) {
				s.objects.operator(op, index)
			}
		}
		more |= e
	}
	more |= b.seen
	writes := globals | clif.StateOf(more.Written())
	if s.refused = s.refused || b.refused; b.refused || more.Has(effect.Calls) || writes == clif.AllState {
		writes, s.callees = clif.AllState, s.callees[:s.starts[i]]
	}
	s.writes[i] = writes
}

// call notes that function i calls another; b is behind the call.
func (s *Survey) call(b *bodyReader, i, callee uint32) {
	if int64(callee) >= int64(len(s.Calls)) {
		return
	}
	c := &s.Calls[callee]
	c.All++
	c.Caller = i
	if b.More() && wasmfront.Opcode(b.Buf[b.Pos]) == wasmfront.OpUnreachable {
		c.Cold++
	}
	s.callees = stop.Append(s.stop, s.callees, callee)
}

// globalWritten notes that an operator writes a global, and returns what state that is. The body is refused if the operator's immediates do not begin with the global.
func (s *Survey) globalWritten(cm *clif.Module, b *bodyReader, op wasmfront.Opcode, index uint32) clif.StateSet {
	switch {
	case op.Info().Imm != wasmfront.ImmGlobal:
		b.refused = true
	case int64(index) < int64(len(s.globals)):
		s.globals[index] = true
		return cm.GlobalState(index)
	}
	return 0
}

// tableWritten notes which tables op writes. The index is that of a table only if it is the only immediate.
func (s *Survey) tableWritten(op wasmfront.Opcode, index uint32) {
	switch {
	case op.Info().Imm != wasmfront.ImmTable:
		s.anyTable = true
	case int64(index) < int64(len(s.tables)):
		s.tables[index] = true
	}
}

// Declare tells cm what the survey has found.
func (s *Survey) Declare(cm *clif.Module) {
	s.spread()
	for i := range s.writes {
		cm.Funcs[i].Keeps = ^s.writes[i]
	}
	for i := range cm.Globals {
		s.stop.PollAt(i)
		if g := &cm.Globals[i]; g.Import == nil && (!g.Mutable || !g.Exported && !s.refused && !s.globals[i]) {
			_, g.Fixed = constBits(&s.m.Globals[i].Init)
		}
	}
	s.declareTables(cm)
	s.declareNonzero(cm)
	s.declareObjects(cm)
}

// spread adds to what each function may write what its callees may write.
func (s *Survey) spread() {
	callers, starts := s.callers()
	var work []uint32
	for i, w := range s.writes {
		if w != 0 {
			work = append(stop.Room(s.stop, work), uint32(i))
		}
	}
	for len(work) > 0 {
		i := work[len(work)-1]
		work = work[:len(work)-1]
		for n := starts[i]; n < starts[i+1]; n++ {
			s.stop.Poll()
			if c := callers[n]; s.writes[i]&^s.writes[c] != 0 {
				s.writes[c] |= s.writes[i]
				work = append(stop.Room(s.stop, work), c)
			}
		}
	}
}

// callers returns who calls: callers[starts[i]:starts[i+1]] call function i.
func (s *Survey) callers() (callers, starts []uint32) {
	starts = make([]uint32, len(s.writes)+2)
	for n, c := range s.callees {
		s.stop.PollAt(n)
		starts[c+2]++
	}
	for i := 2; i < len(starts); i++ {
		s.stop.PollAt(i)
		starts[i] += starts[i-1]
	}
	callers = make([]uint32, len(s.callees))
	for i := range s.writes {
		for n := s.starts[i]; n < s.starts[i+1]; n++ {
			s.stop.Poll()
			c := s.callees[n]
			callers[starts[c+1]] = uint32(i)
			starts[c+1]++
		}
	}
	return callers, starts
}

// maxEntries bounds how many entries of tables are kept.
const maxEntries = 1 << 18

// declareTables finds the tables of functions whose entries never change once the module is instantiated: those that no body writes, that are
// neither imported nor exported, and that active segments fill at constant places, where they fit. No function runs before all of that is done, unless a segment
// puts it into an imported table.
func (s *Survey) declareTables(cm *clif.Module) {
	if s.anyTable || s.refused {
		return
	}
	fixed, left := make([]bool, len(cm.Tables)), uint64(maxEntries)
	for i := range cm.Tables {
		t := &cm.Tables[i]
		if fixed[i] = t.Elem == clif.FuncRef && t.Import == nil && !t.Exported && !s.tables[i] && t.Min <= left; fixed[i] {
			left -= t.Min
		}
	}
	for i := range s.m.Tables {
		// An initial value, of which constBits knows null only, stands between the segments.
		if t := &s.m.Tables[i]; t.HasInit {
			if _, null := constBits(&t.Init); !null {
				fixed[i] = false
			}
		}
	}
	for i := range s.m.Elems {
		s.stop.PollAt(i)
		e := &s.m.Elems[i]
		if e.Mode != wasmfront.SegmentActive || int64(e.Table) >= int64(len(cm.Tables)) {
			continue
		}
		t := &cm.Tables[e.Table]
		if t.Import != nil {
			return
		}
		if at, ok := constBits(&e.OffExpr); !ok || at+uint64(e.Len()) > t.Min {
			fixed[e.Table] = false
		}
	}
	for i := range cm.Tables {
		if t := &cm.Tables[i]; fixed[i] {
			t.Entries = stop.Zeroed(s.stop, t.Entries, int(t.Min))
			for n := range t.Entries {
				t.Entries[n] = clif.ElemNull
			}
		}
	}
	for i := range s.m.Elems {
		if e := &s.m.Elems[i]; e.Mode == wasmfront.SegmentActive && fixed[e.Table] {
			at, _ := constBits(&e.OffExpr)
			s.fill(cm.Tables[e.Table].Entries[at:], cm.Elems[i].Funcs)
		}
	}
	for i := range cm.Tables {
		if t := &cm.Tables[i]; fixed[i] {
			t.Only, t.HasOnly = s.onlySig(cm, t.Entries)
			t.Own = s.ownOnly(t.Entries)
		}
	}
}

func (s *Survey) fill(entries, funcs []clif.FuncIndex) {
	for n, f := range funcs {
		s.stop.PollAt(n)
		entries[n] = f
	}
}

// onlySig returns the type of all entries that are not null, if they have one.
func (s *Survey) onlySig(cm *clif.Module, entries []clif.FuncIndex) (only clif.SigIndex, ok bool) {
	for n, f := range entries {
		s.stop.PollAt(n)
		switch {
		case f == clif.ElemNull:
		case f == clif.ElemComputed:
			return 0, false
		case !ok:
			only, ok = cm.Funcs[f].Sig, true
		case cm.Funcs[f].Sig != only && !cm.FuncSig(f).Equal(&cm.Sigs[only]):
			return 0, false
		}
	}
	return only, ok
}

// ownOnly reports whether the module defines all functions among the entries.
func (s *Survey) ownOnly(entries []clif.FuncIndex) bool {
	for n, f := range entries {
		s.stop.PollAt(n)
		if f != clif.ElemNull && (f == clif.ElemComputed || uint32(f) < s.m.NumImportedFuncs) {
			return false
		}
	}
	return true
}
