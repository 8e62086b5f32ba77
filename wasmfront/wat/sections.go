package wat

import (
	"slices"
	"sort"
)

// The sections, by the ids that the binary format has.
const (
	secCustom = iota
	secType
	secImport
	secFunc
	secTable
	secMemory
	secGlobal
	secExport
	secStart
	secElem
	secCode
	secData
	secDataCount
	numSections = iota
)

// orderedSection is a section and the word that (@custom has for it.
type orderedSection struct {
	id   uint8
	word string
}

// sectionOrder has the sections in the order of a module.
var sectionOrder = [...]orderedSection{
	{secType, "type"}, {secImport, "import"}, {secFunc, "func"}, {secTable, "table"}, {secMemory, "memory"}, {secGlobal, "global"},
	{secExport, "export"}, {secStart, "start"}, {secElem, "elem"}, {secDataCount, ""}, {secCode, "code"}, {secData, "data"},
}

// section is a section being written. Its places have offsets in bytes.
type section struct {
	count  uint32 // of entries
	bytes  []byte
	places []place
}

// entry begins an entry that is written at an offset in the text.
func (s *section) entry(text int) {
	s.count++
	s.mark(text)
}

// mark says that what comes next is written at an offset in the text.
func (s *section) mark(text int) {
	s.places = append(s.places, place{uint32(len(s.bytes)), uint32(text)})
}

// append appends what t has to the entry being written.
func (s *section) append(t *section) {
	base := uint32(len(s.bytes))
	s.bytes = append(s.bytes, t.bytes...)
	for _, p := range t.places {
		s.places = append(s.places, place{base + p.wasm, p.text})
	}
}

// custom is a custom section. Its rank is the place among the others: that
// before section i of sectionOrder is 2*i, behind it 2*i+1.
type custom struct {
	name  string
	bytes []byte
	rank  int
	text  int // offset
}

// nameSection is what the section is called that has the names of entities.
const nameSection = "name"

// The ranks of custom sections that are written without a section.
const (
	rankFirst = -1
	rankLast  = 2 * len(sectionOrder)
)

// customField takes an (@custom.
func (a *assembler) customField() {
	s := custom{text: a.Token().Offset, rank: rankLast}
	a.Next()
	if t := a.Token(); t.Kind != String {
		a.Fail(t.Offset, annotated("missing section name"))
		return
	}
	if s.name = a.Name("the name of the section"); a.Err != nil {
		a.Err.Msg = annotated(a.Err.Msg)
		return
	}
	if a.Token().Kind == Open {
		s.rank = a.customPlace()
	}
	s.bytes = a.AppendStrings(nil)
	if t := a.Token(); a.Err == nil && t.Kind != Close {
		a.FailError(&Error{Offset: t.Offset, Msg: annotated("unexpected token"), Found: found(t), Expected: ")"})
	}
	a.Close()
	a.customs = append(a.customs, s)
}

func annotated(msg string) string { return "@custom annotation: " + msg }

// customPlace takes where a custom section belongs: (before word) or (after word).
func (a *assembler) customPlace() (rank int) {
	after := 0
	end := "first"
	switch {
	case a.Open("before"):
	case a.Open("after"):
		after, end = 1, "last"
	default:
		a.Fail(a.Token().Offset, annotated("malformed placement"))
		return 0
	}
	t := a.Next()
	i := slices.IndexFunc(sectionOrder[:], func(s orderedSection) bool { return t.Is(s.word) })
	switch {
	case t.Is(end) && after == 0:
		rank = rankFirst
	case t.Is(end):
		rank = rankLast
	case i >= 0:
		rank = 2*i + after
	default:
		a.Fail(t.Offset, annotated("malformed section kind"))
	}
	a.Close()
	return rank
}

// writer puts the sections together.
type writer struct {
	out    []byte
	places []place
}

// module returns the module that has been translated.
func (a *assembler) module() *Module {
	if a.usesData {
		s := &a.sections[secDataCount]
		s.entry(0)
		s.bytes = appendIndex(nil, a.sections[secData].count)
	}
	sort.SliceStable(a.customs, func(i, j int) bool { return a.customs[i].rank < a.customs[j].rank })
	customs := a.customs
	w := writer{out: []byte("\x00asm\x01\x00\x00\x00")}
	names := a.nameSection()
	name := func() {
		if len(names) > 0 {
			w.custom(nameSection, names, 0)
		}
		names = nil
	}
	upTo := func(rank int) {
		for len(customs) > 0 && customs[0].rank <= rank {
			if customs[0].name == nameSection {
				name() // the first one counts
			}
			w.custom(customs[0].name, customs[0].bytes, customs[0].text)
			customs = customs[1:]
		}
	}
	for i := range sectionOrder {
		upTo(2 * i)
		w.section(sectionOrder[i].id, &a.sections[sectionOrder[i].id])
		upTo(2*i + 1)
	}
	upTo(rankLast)
	name()
	return &Module{ID: a.id, Wasm: w.out, text: a.scan.text, places: w.places}
}

// section appends a section, unless it is empty.
func (w *writer) section(id uint8, s *section) {
	if s.count == 0 {
		return
	}
	var count []byte
	if id != secStart && id != secDataCount {
		count = appendIndex(nil, s.count)
	}
	w.out = append(w.out, id)
	w.out = appendIndex(w.out, uint32(len(count)+len(s.bytes)))
	w.out = append(w.out, count...)
	base := uint32(len(w.out))
	w.out = append(w.out, s.bytes...)
	for _, p := range s.places {
		w.places = append(w.places, place{base + p.wasm, p.text})
	}
}

func (w *writer) custom(name string, contents []byte, text int) {
	s := section{bytes: append(appendSized(nil, name), contents...), places: []place{{0, uint32(text)}}}
	w.out = append(w.out, secCustom)
	w.out = appendIndex(w.out, uint32(len(s.bytes)))
	w.places = append(w.places, place{uint32(len(w.out)), uint32(text)})
	w.out = append(w.out, s.bytes...)
}
