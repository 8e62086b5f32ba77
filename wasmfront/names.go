package wasmfront

import (
	"unicode/utf8"

	"github.com/waot-project/waot/internal/stop"
)

// Names is the contents of the name section, which only serves debugging.
type Names struct {
	Module string
	Funcs  []string // by function index; shorter if the last have no names
	Locals []FuncLocalNames
}

// FuncLocalNames are the names of the locals of a function.
type FuncLocalNames struct {
	Func  uint32
	Names []NameAssoc // in increasing order of Index
}

// NameAssoc is a name for an index.
type NameAssoc struct {
	Index uint32
	Name  string
}

// The numbers of the subsections.
const (
	namesModule = iota
	namesFuncs
	namesLocals
)

// DecodeNames decodes the name section. A subsection that is malformed is
// ignored together with those after it; without a name section, the result is
// empty. Each call decodes anew: keep the result.
func (m *Module) DecodeNames() *Names { return m.DecodeNamesUntil(nil) }

// DecodeNamesUntil is DecodeNames that polls a flag, which may be nil.
func (m *Module) DecodeNamesUntil(end *stop.Flag) *Names {
	names := new(Names)
	b, ok := m.Custom("name")
	if !ok {
		return names
	}
	r := Reader{Buf: b, End: len(b), Func: -1}
	for r.More() {
		id := r.Byte()
		sub := r.sized()
		if r.Err != nil {
			break
		}
		s := Reader{Buf: sub, End: len(sub), Func: -1}
		switch id {
		case namesModule:
			if name := s.Name(); s.Err == nil {
				names.Module = name
			}
		case namesFuncs:
			funcs := nameMap(&s, uint32(len(m.Funcs)), end)
			if s.Err == nil {
				names.setFuncs(funcs)
			}
		case namesLocals:
			locals := localNames(&s, uint32(len(m.Funcs)), end)
			if s.Err == nil {
				names.Locals = locals
			}
		}
		if s.Err != nil {
			break
		}
	}
	return names
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

func localNames(r *Reader, limit uint32, end *stop.Flag) []FuncLocalNames {
	var funcs []FuncLocalNames
	for n := r.U32(); n > 0 && r.Err == nil; n-- {
		end.Poll()
		at := r.Pos
		f := r.U32()
		if f >= limit || len(funcs) > 0 && f <= funcs[len(funcs)-1].Func {
			r.Fail(at, "malformed indirect name map")
		}
		funcs = append(funcs, FuncLocalNames{f, nameMap(r, MaxLocals, end)})
	}
	return funcs
}
