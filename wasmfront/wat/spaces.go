package wat

import (
	"github.com/waot-project/waot/wasmfront"
)

// spaceNames say in messages what is in an index space.
var spaceNames = [wasmfront.NumSpaces]string{
	wasmfront.SpaceFunc: "function", wasmfront.SpaceLocal: "local", wasmfront.SpaceLabel: "label", wasmfront.SpaceType: "type",
	wasmfront.SpaceTable: "table", wasmfront.SpaceMemory: "memory", wasmfront.SpaceGlobal: "global",
	wasmfront.SpaceElem: "elem segment", wasmfront.SpaceData: "data segment", wasmfront.SpaceField: "field", wasmfront.SpaceTag: "tag",
}

// space is an index space: identifiers, and how many entries there are.
type space struct {
	ids   map[string]uint32
	n     uint32
	names []wasmfront.NameAssoc
}

// declare adds an entry to a space and takes its identifier and name, if they come next.
func (a *assembler) declare(i wasmfront.IndexSpace) {
	s := &a.spaces[i]
	t := a.Token()
	id, hasID := a.ID()
	if hasID {
		if _, twice := s.ids[id]; twice {
			a.FailError(&Error{Offset: t.Offset, Msg: "duplicate " + spaceNames[i], Found: found(t)})
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
		s.names = appendOne(a.scan.stop, s.names, wasmfront.NameAssoc{Index: s.n, Name: name})
	}
	s.n++
}

// skipID takes the identifier and the name that declare has seen.
func (a *assembler) skipID() {
	a.ID()
	a.nameAnnotation()
}

// atIndex reports whether an index comes next.
func (a *assembler) atIndex() bool { k := a.Token().Kind; return k == Nat || k == ID }

// index takes an index of a space, a number or an identifier.
func (a *assembler) index(i wasmfront.IndexSpace) uint32 {
	t := a.Token()
	if t.Kind != ID {
		return a.U32("the index of a " + spaceNames[i])
	}
	id, _ := a.ID()
	n, ok := a.spaces[i].ids[id]
	if !ok && i == wasmfront.SpaceType {
		n, ok = a.laterType(id)
	}
	if !ok {
		a.FailError(&Error{Offset: t.Offset, Msg: "unknown " + spaceNames[i], Found: found(t)})
	}
	return n
}

// laterType returns the type of that name that a later field declares, if types are still being declared. A type may not refer to it, but that is for
// validation to say.
func (a *assembler) laterType(id string) (n uint32, ok bool) {
	if a.later == nil && a.declaring {
		a.findLaterTypes()
	}
	n, ok = a.later[id]
	return n, ok
}

// findLaterTypes fills later with the names of types in this field and those behind it.
func (a *assembler) findLaterTypes() {
	a.later = map[string]uint32{}
	here, n := *a.Cursor, a.fieldType
	*a.Cursor = a.field
	declare := func() {
		if id, ok := a.ID(); ok {
			a.later[id] = n
		}
		n++
		a.skipRest()
		a.Close()
	}
	for a.More() {
		switch {
		case a.Open("type"):
			declare()
		case a.Open("rec"):
			for a.Open("type") {
				declare()
			}
			a.skipRest()
			a.Close()
		default:
			a.Skip()
		}
	}
	*a.Cursor = here
}

// optional takes an index of a space, which is 0 if there is none.
func (a *assembler) optional(i wasmfront.IndexSpace) uint32 {
	if a.atIndex() {
		return a.index(i)
	}
	return 0
}
