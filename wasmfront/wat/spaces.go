package wat

// The index spaces of a module.
const (
	spaceFunc = iota // the first four have the numbers of kinds of imports
	spaceTable
	spaceMemory
	spaceGlobal
	spaceType
	spaceElem
	spaceData
	numSpaces = iota
)

// spaceNames say in messages what is in an index space.
var spaceNames = [numSpaces]string{"function", "table", "memory", "global", "type", "elem segment", "data segment"}

// named is a name for the name section.
type named struct {
	index uint32
	name  string
}

// space is an index space: identifiers, and how many entries there are.
type space struct {
	ids   map[string]uint32
	n     uint32
	names []named // by increasing index
}

// bind adds an entry to a space and takes its identifier and name, if they come next.
func (a *assembler) bind(s *space, what string) {
	t := a.Token()
	id, hasID := a.ID()
	if hasID {
		if _, twice := s.ids[id]; twice {
			a.FailError(&Error{Offset: t.Offset, Msg: "duplicate " + what, Found: found(t)})
		}
		if s.ids == nil {
			s.ids = map[string]uint32{}
		}
		s.ids[id] = s.n
	}
	name, hasName := a.nameAnnotation()
	if !hasName {
		name = id
	}
	if hasID || hasName {
		s.names = append(s.names, named{s.n, name})
	}
	s.n++
}

// declare is bind for a space of the module.
func (a *assembler) declare(space int) { a.bind(&a.spaces[space], spaceNames[space]) }

// skipID takes the identifier and the name that declare has seen.
func (a *assembler) skipID() {
	a.ID()
	a.nameAnnotation()
}

// atIndex reports whether an index comes next.
func (a *assembler) atIndex() bool { k := a.Token().Kind; return k == Nat || k == ID }

// indexIn takes an index of a space, a number or an identifier.
func (a *assembler) indexIn(s *space, what string) uint32 {
	t := a.Token()
	if t.Kind != ID {
		return a.U32("the index of a " + what)
	}
	id, _ := a.ID()
	i, ok := s.ids[id]
	if !ok {
		a.FailError(&Error{Offset: t.Offset, Msg: "unknown " + what, Found: found(t)})
	}
	return i
}

// index takes an index of a space of the module.
func (a *assembler) index(space int) uint32 { return a.indexIn(&a.spaces[space], spaceNames[space]) }

// optional takes an index of a space of the module, which is 0 if there is none.
func (a *assembler) optional(space int) uint32 {
	if a.atIndex() {
		return a.index(space)
	}
	return 0
}
