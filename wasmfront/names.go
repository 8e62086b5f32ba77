package wasmfront

import (
	"slices"
	"unicode/utf8"

	"github.com/waot-project/waot/internal/stop"
)

// Names are the names of a module and of its functions, from the name section,
// which only serves debugging.
type Names struct {
	Module string
	Funcs  []string // by function index; shorter if the last have no names
}

// AllNames is the contents of the name section.
type AllNames struct {
	Module    string
	HasModule bool // the module has a name, which may be empty
	// Spaces are the names in each index space but those of locals, labels and fields.
	Spaces [NumSpaces][]NameAssoc
	// Locals and Labels are of functions, Fields of structures, in increasing order of Of. Labels are counted in the
	// order of the operators that open blocks.
	Locals, Labels, Fields []InnerNames
}

// InnerNames are the names of what a function or a type has inside.
type InnerNames struct {
	Of    uint32
	Names []NameAssoc
}

// NameAssoc is a name for an index. Lists of them are in increasing order of
// Index.
type NameAssoc struct {
	Index uint32
	Name  string
}

// namesModule is the subsection for the name of the module. The numbers of the others
// are those of index spaces.
const namesModule = 0

// DecodeNames decodes the names that compiled code needs. A subsection that is
// malformed is ignored together with those after it; without a name section, the result is
// empty. Each call decodes anew: keep the result.
func (m *Module) DecodeNames() *Names { return m.DecodeNamesUntil(nil) }

// DecodeNamesUntil is DecodeNames that polls a flag, which may be nil.
func (m *Module) DecodeNamesUntil(end *stop.Flag) *Names {
	names := new(Names)
	m.nameSubsections(func(id uint8, s *Reader) {
		switch id {
		case namesModule:
			if name := s.Name(); s.Err == nil {
				names.Module = name
			}
		case uint8(SpaceFunc):
			funcs := nameMap(s, uint32(len(m.Funcs)), end)
			if s.Err == nil {
				names.setFuncs(funcs)
			}
		}
	})
	return names
}

// DecodeAllNames decodes the name section. It is false if the module has none, or
// one that is malformed, that has no names, or that has more than AllNames can hold.
func (m *Module) DecodeAllNames() (*AllNames, bool) {
	names, last := new(AllNames), -1
	ok := m.nameSubsections(func(id uint8, s *Reader) {
		if int(id) <= last || int(id) >= NumSpaces {
			s.Fail(0, "subsection %d", id)
		}
		last = int(id)
		switch space := IndexSpace(id); {
		case id == namesModule:
			names.Module, names.HasModule = s.Name(), true
		case space == SpaceLocal:
			names.Locals = innerNameMaps(s, len(m.Funcs), anyIndex)
		case space == SpaceLabel:
			names.Labels = innerNameMaps(s, len(m.Funcs), anyIndex)
		case space == SpaceField:
			names.Fields = innerNameMaps(s, len(m.Types), m.numFields)
		case id < NumSpaces:
			names.Spaces[id] = nameMap(s, m.spaceSize(space), nil)
		}
		if s.Pos != s.End {
			s.Fail(s.Pos, "names left over")
		}
	})
	return names, ok && names.any()
}

// any reports whether there is a name.
func (n *AllNames) any() bool {
	named := func(f InnerNames) bool { return len(f.Names) > 0 }
	return n.HasModule || slices.ContainsFunc(n.Locals, named) || slices.ContainsFunc(n.Labels, named) || slices.ContainsFunc(n.Fields, named) ||
		slices.ContainsFunc(n.Spaces[:], func(list []NameAssoc) bool { return len(list) > 0 })
}

// spaceSize returns how many indices a space has that belongs to the module.
func (m *Module) spaceSize(space IndexSpace) uint32 {
	return uint32([NumSpaces]int{
		SpaceFunc: len(m.Funcs), SpaceType: len(m.Types), SpaceTable: len(m.Tables), SpaceMemory: len(m.Memories),
		SpaceGlobal: len(m.Globals), SpaceElem: len(m.Elems), SpaceData: len(m.Data), SpaceTag: len(m.Tags),
	}[space])
}

// nameSubsections visits the subsections of the name section up to one in which
// visit fails. It reports whether there is a name section in which nothing failed.
func (m *Module) nameSubsections(visit func(id uint8, s *Reader)) bool {
	b, ok := m.Custom("name")
	r := Reader{Buf: b, End: len(b), Func: -1}
	for r.More() {
		id := r.Byte()
		sub := r.sized()
		if r.Err != nil {
			return false
		}
		s := Reader{Buf: sub, End: len(sub), Func: -1}
		if visit(id, &s); s.Err != nil {
			return false
		}
	}
	return ok
}

// Func returns the name of function i, or "".
func (n *Names) Func(i uint32) string {
	if int64(i) < int64(len(n.Funcs)) {
		return n.Funcs[i]
	}
	return ""
}

func (n *Names) setFuncs(assoc []NameAssoc) {
	if len(assoc) == 0 {
		return
	}
	n.Funcs = make([]string, assoc[len(assoc)-1].Index+1)
	for _, a := range assoc {
		n.Funcs[a.Index] = a.Name
	}
}

// nameMap reads names whose indices must increase and be below limit.
func nameMap(r *Reader, limit uint32, end *stop.Flag) []NameAssoc {
	var assoc []NameAssoc
	for n := r.U32(); n > 0 && r.Err == nil; n-- {
		end.Poll()
		at := r.Pos
		i := r.U32()
		b := r.sized()
		if !utf8.Valid(b) || i >= limit || len(assoc) > 0 && i <= assoc[len(assoc)-1].Index {
			r.Fail(at, "malformed name map")
		}
		if r.Err == nil {
			assoc = append(assoc, NameAssoc{i, string(b)})
		}
	}
	return assoc
}

// anyIndex is the limit for names of what only bodies tell of.
func anyIndex(uint32) uint32 { return NoIndex }

// numFields returns how many fields type i has: only structures have some.
func (m *Module) numFields(i uint32) uint32 {
	if t := &m.Types[i]; t.Kind == KindStruct {
		return uint32(len(t.Fields))
	}
	return 0
}

// innerNameMaps reads the names of what functions or types have inside, of which there are n; limit says below what the indices inside of each are.
func innerNameMaps(r *Reader, n int, limit func(uint32) uint32) []InnerNames {
	var list []InnerNames
	for left := r.U32(); left > 0 && r.Err == nil; left-- {
		at := r.Pos
		i := r.U32()
		if int64(i) >= int64(n) || len(list) > 0 && i <= list[len(list)-1].Of {
			r.Fail(at, "malformed indirect name map")
			break
		}
		list = append(list, InnerNames{i, nameMap(r, limit(i), nil)})
	}
	return list
}
