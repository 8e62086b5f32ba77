package snapshot

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/encode"
	"github.com/waot-project/waot/wasmfront/validate"
)

// Changes say what a snapshot has beside the state.
type Changes struct {
	// Drop has the names of exports that the snapshot does not have.
	Drop []string
	// Resume is the name of the exported function that has been called and is under way, if State has Frames: the export is what goes on.
	Resume string
}

// Stats say what became of a module.
type Stats struct {
	// Funcs are those of the module's own, Dead those that can no longer be called: they are only traps.
	Funcs, Dead int
	// Bytes is the size of the bodies, DeadBytes that of those that have gone.
	Bytes, DeadBytes int
	// Memory is the size of the memories, Data that of the segments for what they hold.
	Memory, Data int
}

// freezer makes a snapshot.
type freezer struct {
	ctx     context.Context
	m       *wasmfront.Module
	state   *State
	changes *Changes
	marker  uint32
	kept    int // how many functions are the same as before: imported ones and the module's own

	live    []bool // functions that can be called, by index
	todo    []uint32
	bodies  [][]byte // of the live functions
	refs    []bool   // functions that live code refers to
	types   []wasmfront.FuncType
	typeAt  map[string]uint32 // the types by their encoding
	added   []added
	stats   Stats
	resumed uint32 // the function that goes on, if there is one
}

// added is a function that the module has not had.
type added struct {
	of   uint32 // the function of the module whose name it gets, or none
	typ  uint32
	body []byte
}

// Freeze returns the module whose instances begin in the given state of an instance of m, which must be valid. The state's slices are only read. The errors are *Error, and that of ctx.
func Freeze(ctx context.Context, m *wasmfront.Module, state *State, changes *Changes) ([]byte, *Stats, error) {
	marker, err := markerOf(m)
	if err != nil {
		return nil, nil, err
	}
	n := len(m.Funcs)
	z := &freezer{ctx: ctx, m: m, state: state, changes: changes, marker: marker, kept: n, live: make([]bool, n), refs: make([]bool, n), bodies: make([][]byte, len(m.Code)), typeAt: map[string]uint32{}}
	for i := range m.Types {
		z.addType(&m.Types[i].FuncType)
	}
	if marker != none {
		// It becomes a function that does nothing, in front of those that go on.
		z.kept--
		z.added = append(z.added, added{of: marker, typ: z.typeOf(&wasmfront.FuncType{}), body: []byte{0, byte(wasmfront.OpEnd)}})
	}
	if err := z.resume(); err != nil {
		return nil, nil, err
	}
	s := sectionsOf(m)
	z.start(s)
	z.roots()
	if err := z.reach(); err != nil {
		return nil, nil, err
	}
	z.declarations(s)
	z.exports(s)
	z.elements(s)
	z.code(s)
	if err := z.data(s); err != nil {
		return nil, nil, err
	}
	z.customs(s)
	b := s.module()
	if _, err := validate.All(b, validate.Config{Features: m.Features}); err != nil {
		return nil, nil, Errorf("what is left of the program is no module that may be: %v", err)
	}
	return b, &z.stats, ctx.Err()
}

// start adds a start function that makes the calls, in the place of what the module has.
func (z *freezer) start(s *sections) {
	s.of[sectionStart] = nil
	if len(z.state.Calls) == 0 {
		return
	}
	body := []byte{0}
	for _, c := range z.state.Calls {
		z.keep(c.Func)
		for _, x := range c.Args {
			body = i32(body, x)
		}
		body = index(body, wasmfront.OpCall, z.index(c.Func))
		for range z.m.FuncType(c.Func).Results {
			body = plain(body, wasmfront.OpDrop)
		}
	}
	s.of[sectionStart] = encode.Index(nil, uint32(z.kept+len(z.added)))
	z.added = append(z.added, added{of: none, typ: z.typeOf(&wasmfront.FuncType{}), body: plain(body, wasmfront.OpEnd)})
}

// index returns the index that a function of the module has in the snapshot.
func (z *freezer) index(f uint32) uint32 {
	switch {
	case f == z.marker:
		return uint32(z.kept)
	case f > z.marker:
		return f - 1
	}
	return f
}

// typeOf returns the index of a type, which is added if there is none.
func (z *freezer) typeOf(t *wasmfront.FuncType) uint32 {
	if i, ok := z.typeAt[string(encode.FuncType(nil, t))]; ok {
		return i
	}
	return z.addType(t)
}

func (z *freezer) addType(t *wasmfront.FuncType) uint32 {
	i := uint32(len(z.types))
	z.types = append(z.types, *t)
	if key := string(encode.FuncType(nil, t)); z.typeAt[key] == 0 {
		z.typeAt[key] = i
	}
	return i
}

// exported reports whether the snapshot has the export.
func (z *freezer) exported(e *wasmfront.Export) bool { return !slices.Contains(z.changes.Drop, e.Name) }

// keep marks a function that can be called.
func (z *freezer) keep(f uint32) {
	if !z.live[f] {
		z.live[f] = true
		z.todo = append(z.todo, f)
	}
}

func (z *freezer) keepRef(r Ref) {
	if r != Null {
		z.keep(uint32(r))
	}
}

// roots marks what can be called from outside, and what the state refers to.
func (z *freezer) roots() {
	for i := range z.m.Exports {
		if e := &z.m.Exports[i]; e.Kind == abi.ExternFunc && z.exported(e) && !z.goesOn(e) {
			z.keep(e.Index)
		}
	}
	for _, t := range z.state.Tables {
		for _, r := range t {
			z.keepRef(r)
		}
	}
	for i := range z.m.Globals {
		if g := &z.m.Globals[i]; g.Type.IsRef() && g.Mutable {
			z.keepRef(z.state.Globals[i].Ref)
		} else if !g.Mutable {
			z.keepExpr(&g.Init)
		}
	}
	for i := range z.m.Elems {
		e := &z.m.Elems[i]
		if !z.elemLives(i) {
			continue
		}
		for _, f := range e.Funcs {
			z.keep(f)
		}
		for k := range e.Exprs {
			z.keepExpr(&e.Exprs[k])
		}
	}
}

func (z *freezer) keepExpr(e *wasmfront.ConstExpr) {
	for i := range e.Ops {
		if e.Ops[i].Op == wasmfront.OpRefFunc {
			z.keep(e.Ops[i].Index)
		}
	}
}

// elemLives reports whether an element segment still has its elements; dataLives is the same for data.
func (z *freezer) elemLives(i int) bool {
	return z.m.Elems[i].Mode == wasmfront.SegmentPassive && !z.state.DroppedElems[i]
}

func (z *freezer) dataLives(i int) bool {
	return z.m.Data[i].Mode == wasmfront.SegmentPassive && !z.state.DroppedData[i]
}

// goesOn reports whether the export is of the function that is under way.
func (z *freezer) goesOn(e *wasmfront.Export) bool {
	return len(z.state.Frames) > 0 && e.Kind == abi.ExternFunc && e.Name == z.changes.Resume
}

// reach reads the bodies of all functions that can be called.
func (z *freezer) reach() error {
	v := new(validate.Func)
	for len(z.todo) > 0 {
		f := z.todo[len(z.todo)-1]
		z.todo = z.todo[:len(z.todo)-1]
		if f < z.m.NumImportedFuncs {
			continue
		}
		if err := z.ctx.Err(); err != nil {
			return err
		}
		e := editOf(z.m, f)
		v.Begin(z.m, f)
		var op wasmfront.Operator
		for v.Next(&op) {
			z.operator(e, &op, v.Pos)
		}
		if err := v.Err(); err != nil {
			return err
		}
		z.bodies[f-z.m.NumImportedFuncs] = e.bytes()
	}
	return nil
}

// operator marks the function that an operator names, and gives that its index.
func (z *freezer) operator(e *edit, op *wasmfront.Operator, end int) {
	if op.Op.Info().Imm != wasmfront.ImmFunc {
		return
	}
	z.keep(op.Index)
	if op.Op == wasmfront.OpRefFunc {
		z.refs[op.Index] = true
	}
	if i := z.index(op.Index); i != op.Index {
		e.replace(op.Offset, end, index(nil, op.Op, i))
	}
}

// declarations writes types, imports, functions, tables, memories and globals.
func (z *freezer) declarations(s *sections) {
	m := z.m
	var b []byte
	for i := range z.types {
		b = encode.FuncType(b, &z.types[i])
	}
	s.set(sectionType, len(z.types), b)
	if z.marker != none {
		b = nil
		for i := range m.Imports {
			if imp := &m.Imports[i]; imp.Index != z.marker {
				b = append(encode.Sized(encode.Sized(b, imp.Module), imp.Name), byte(abi.ExternFunc))
				b = encode.Index(b, m.Funcs[imp.Index].Type)
			}
		}
		s.set(sectionImport, len(m.Imports)-1, b)
	}
	b = nil
	for i := range z.added {
		b = encode.Index(b, z.added[i].typ)
	}
	s.add(sectionFunction, len(z.added), b)
	b = nil
	for i := range m.Tables {
		t := m.TableType(uint32(i))
		t.Min = uint64(len(z.state.Tables[i]))
		b = encode.Limits(append(b, t.Elem.Code()), t.Limits)
	}
	s.set(sectionTable, len(m.Tables), b)
	b = nil
	for i := range m.Memories {
		l := m.Memories[i].Limits
		l.Min = uint64(len(z.state.Memories[i])) / abi.PageSize
		b = encode.Limits(b, l)
		z.stats.Memory += len(z.state.Memories[i])
	}
	s.set(sectionMemory, len(m.Memories), b)
	b = nil
	for i := range m.Globals {
		g := &m.Globals[i]
		b = encode.GlobalType(b, g.GlobalType)
		if g.Mutable {
			c := constant(g.Type, z.value(z.state.Globals[i]))
			b = append(encode.Const(b, &c), byte(wasmfront.OpEnd))
		} else {
			b = z.expr(b, &g.Init)
		}
	}
	s.set(sectionGlobal, len(m.Globals), b)
}

// value returns a value whose function has its index in the snapshot.
func (z *freezer) value(v Value) Value {
	if v.Ref != Null {
		v.Ref = Ref(z.index(uint32(v.Ref)))
	}
	return v
}

// expr appends a constant expression of the module.
func (z *freezer) expr(b []byte, e *wasmfront.ConstExpr) []byte {
	ops := slices.Clone(e.Ops)
	for i := range ops {
		if ops[i].Op == wasmfront.OpRefFunc {
			ops[i].Index = z.index(ops[i].Index)
		}
	}
	return encode.Expr(b, ops)
}

func (z *freezer) exports(s *sections) {
	var b []byte
	n := 0
	for i := range z.m.Exports {
		e := &z.m.Exports[i]
		if !z.exported(e) {
			continue
		}
		to := e.Index
		switch {
		case z.goesOn(e):
			to = z.resumed
		case e.Kind == abi.ExternFunc:
			to = z.index(to)
		}
		b = encode.Index(append(encode.Sized(b, e.Name), byte(e.Kind)), to)
		n++
	}
	s.set(sectionExport, n, b)
}

// Forms of element segments: what their first number says.
const (
	elemActive      = 0
	elemPassive     = 1
	elemTable       = 2 // active, with the index of the table
	elemDeclarative = 3
	elemExprs       = 4 // added to the others: the elements are expressions
)

// elements writes the segments of the module, so that they keep their indices, and then those that fill the tables and declare functions.
func (z *freezer) elements(s *sections) {
	var b []byte
	n := len(z.m.Elems)
	for i := range z.m.Elems {
		e := &z.m.Elems[i]
		switch {
		case !z.elemLives(i):
			b = append(b, elemDeclarative|elemExprs, e.Type.Code(), 0)
		case e.Exprs != nil || e.Type != wasmfront.FuncRef:
			b = encode.Index(append(b, elemPassive|elemExprs, e.Type.Code()), uint32(len(e.Exprs)))
			for k := range e.Exprs {
				b = z.expr(b, &e.Exprs[k])
			}
		default:
			b = z.funcs(append(b, elemPassive, 0), e.Funcs)
		}
	}
	for i, t := range z.state.Tables {
		for low, high := nextElements(t, 0); low < high; low, high = nextElements(t, high) {
			n++
			b = z.fill(b, uint32(i), low, t[low:high])
		}
	}
	var refs []uint32
	for f, is := range z.refs {
		if is {
			refs = append(refs, uint32(f))
		}
	}
	if len(refs) > 0 {
		n++
		b = z.funcs(append(b, elemDeclarative, 0), refs)
	}
	s.set(sectionElement, n, b)
}

// maxNulls is how many nulls between two runs of functions make two segments of them.
const maxNulls = 8

// nextElements returns the next run of elements that are not null, or have others close to them, from a place on; low is high if there is none.
func nextElements(t []Ref, from int) (low, high int) {
	for low = from; low < len(t) && t[low] == Null; low++ {
	}
	high = low
	for at := low; at < len(t) && at-high <= maxNulls; at++ {
		if t[at] != Null {
			high = at + 1
		}
	}
	return low, high
}

// fill appends a segment that fills a part of a table.
func (z *freezer) fill(b []byte, table uint32, at int, elements []Ref) []byte {
	form, exprs := byte(elemTable), slices.Contains(elements, Null)
	if exprs {
		form |= elemExprs
	}
	b = append(i32(encode.Index(append(b, form), table), uint32(at)), byte(wasmfront.OpEnd))
	if !exprs {
		funcs := make([]uint32, len(elements))
		for i, r := range elements {
			funcs[i] = uint32(r)
		}
		return z.funcs(append(b, 0), funcs)
	}
	b = encode.Index(append(b, wasmfront.FuncRef.Code()), uint32(len(elements)))
	for _, r := range elements {
		c := constant(wasmfront.FuncRef, z.value(Value{Ref: r}))
		b = append(encode.Const(b, &c), byte(wasmfront.OpEnd))
	}
	return b
}

// funcs appends a number of functions, and the functions.
func (z *freezer) funcs(b []byte, list []uint32) []byte {
	b = encode.Index(b, uint32(len(list)))
	for _, f := range list {
		b = encode.Index(b, z.index(f))
	}
	return b
}

// trap is the body of a function that can no longer be called.
var trap = []byte{0, byte(wasmfront.OpUnreachable), byte(wasmfront.OpEnd)}

func (z *freezer) code(s *sections) {
	var b []byte
	for i, body := range z.bodies {
		old := len(z.m.Code[i].Bytes)
		z.stats.Funcs++
		z.stats.Bytes += old
		if body == nil {
			body = trap
			z.stats.Dead++
			z.stats.DeadBytes += old
		}
		b = encode.Sized(b, body)
	}
	for i := range z.added {
		b = encode.Sized(b, z.added[i].body)
	}
	s.set(sectionCode, len(z.bodies)+len(z.added), b)
}

// Bounds of what memories hold. Engines refuse modules with more segments, and this one those with more bytes.
const (
	maxSegments = 100_000
	maxBytes    = 1 << 30
	// leastGap is how many zeroes between two runs of bytes make two segments of them, if there are not too many then.
	leastGap = 128
)

// data writes the segments of the module if code can name them, and then what is in the memories.
func (z *freezer) data(s *sections) error {
	var b []byte
	n := 0
	if z.m.HasDataCount {
		n = len(z.m.Data)
		for i := range z.m.Data {
			bytes := z.m.Data[i].Bytes
			if !z.dataLives(i) {
				bytes = nil
			}
			b = encode.Sized(append(b, 1), bytes)
		}
	}
	gap := leastGap
	for ; ; gap *= 2 {
		count, bytes, err := z.countData(gap)
		switch {
		case err != nil:
			return err
		case bytes > maxBytes:
			return Errorf("the memories hold more than %d bytes that are not zero, or few zeroes in between", maxBytes)
		}
		if z.stats.Data = bytes; n+count <= max(maxSegments, n) || count <= 1 {
			break
		}
	}
	for i, mem := range z.state.Memories {
		for low, high := nextData(mem, 0, gap); low < high; low, high = nextData(mem, high, gap) {
			n++
			const active = 2
			b = append(i32(encode.Index(append(b, active), uint32(i)), uint32(low)), byte(wasmfront.OpEnd))
			b = encode.Sized(b, mem[low:high])
		}
	}
	s.set(sectionData, n, b)
	if z.m.HasDataCount {
		s.of[sectionDataCount] = encode.Index(nil, uint32(n))
	}
	return nil
}

// countData returns how many segments the memories need with such gaps, and how many bytes these have.
func (z *freezer) countData(gap int) (n, bytes int, err error) {
	for _, mem := range z.state.Memories {
		for low, high := nextData(mem, 0, gap); low < high; low, high = nextData(mem, high, gap) {
			n++
			bytes += high - low
			if n%1000 == 0 && z.ctx.Err() != nil {
				return 0, 0, z.ctx.Err()
			}
		}
	}
	return n, bytes, z.ctx.Err()
}

// nextData returns the next run of bytes in a memory that are not 0, or have others around them, from a place on; low is high if there is none.
func nextData(mem []byte, from, gap int) (low, high int) {
	low = from + zeroes(mem[from:])
	for high = low; high < len(mem); {
		n := zeroes(mem[high:min(len(mem), high+gap+1)])
		if n > gap || high+n == len(mem) {
			break
		}
		high += n + 1
	}
	return low, high
}

// zeroes returns how many bytes are 0 at first.
func zeroes(b []byte) int {
	n := 0
	for ; len(b)-n >= 8; n += 8 {
		if binary.LittleEndian.Uint64(b[n:]) != 0 {
			break
		}
	}
	for n < len(b) && b[n] == 0 {
		n++
	}
	return n
}

// customs leaves out what speaks of places in the code, and gives functions their names.
func (z *freezer) customs(s *sections) {
	s.customs = slices.DeleteFunc(slices.Clone(s.customs), func(c wasmfront.CustomSection) bool {
		return strings.HasPrefix(c.Name, ".debug_") || !slices.Contains([]string{"name", "producers", "target_features"}, c.Name)
	})
	names, ok := z.m.DecodeAllNames()
	if len(z.added) == 0 {
		return
	}
	if !ok { // nobody knows which functions they are of
		s.customs = slices.DeleteFunc(s.customs, func(c wasmfront.CustomSection) bool { return c.Name == "name" })
		return
	}
	var funcs []wasmfront.NameAssoc
	byIndex := map[uint32]string{}
	for _, a := range names.Spaces[wasmfront.SpaceFunc] {
		byIndex[a.Index] = a.Name
		if a.Index != z.marker {
			funcs = append(funcs, wasmfront.NameAssoc{Index: z.index(a.Index), Name: a.Name})
		}
	}
	for i := range z.added {
		if name, ok := byIndex[z.added[i].of]; ok {
			funcs = append(funcs, wasmfront.NameAssoc{Index: uint32(z.kept + i), Name: name})
		}
	}
	slices.SortFunc(funcs, func(a, b wasmfront.NameAssoc) int { return cmp.Compare(a.Index, b.Index) })
	var b []byte
	if names.HasModule {
		b = encode.Sized(append(b, 0), encode.Sized(nil, names.Module))
	}
	list := encode.Index(nil, uint32(len(funcs)))
	for i := range funcs {
		list = encode.Sized(encode.Index(list, funcs[i].Index), funcs[i].Name)
	}
	b = encode.Sized(append(b, byte(wasmfront.SpaceFunc)), list)
	for i := range s.customs {
		if s.customs[i].Name == "name" {
			s.customs[i].Bytes = b
		}
	}
}
