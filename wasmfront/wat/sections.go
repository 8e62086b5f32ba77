package wat

import (
	"encoding/binary"
	"slices"

	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/wasmfront/encode"
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
	secTag
	numSections = iota
)

// orderedSection is a section and the word that (@custom has for it.
type orderedSection struct {
	id   uint8
	word string
}

// sectionOrder has the sections in the order of a module.
var sectionOrder = [...]orderedSection{
	{secType, "type"}, {secImport, "import"}, {secFunc, "func"}, {secTable, "table"}, {secMemory, "memory"}, {secTag, "tag"}, {secGlobal, "global"},
	{secExport, "export"}, {secStart, "start"}, {secElem, "elem"}, {secDataCount, "datacount"}, {secCode, "code"}, {secData, "data"},
}

// section is a section being written. Its places have offsets in bytes.
type section struct {
	stop   *stop.Flag
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
	s.places = appendOne(s.stop, s.places, place{uint32(len(s.bytes)), uint32(text)})
}

// add appends bytes to the entry being written.
func (s *section) add(bytes []byte) { s.bytes = appendAll(s.stop, s.bytes, bytes) }

// counted appends a byte, and a list of n things that are encoded.
func (s *section) counted(n uint32, list []byte, form byte) {
	s.bytes = encode.Index(append(grown(s.stop, s.bytes, 1+binary.MaxVarintLen32), form), n)
	s.add(list)
}

// append appends what t has to the entry being written.
func (s *section) append(t *section) {
	s.places = appendPlaces(s.stop, s.places, t.places, len(s.bytes))
	s.bytes = appendAll(s.stop, s.bytes, t.bytes)
}

// appendPlaces appends places of what begins at an offset in the output.
func appendPlaces(f *stop.Flag, list, more []place, base int) []place {
	list = grown(f, list, len(more))
	for i, p := range more {
		f.PollAt(i)
		list = append(list, place{uint32(base) + p.wasm, p.text})
	}
	return list
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
	numRanks  = rankLast - rankFirst + 1
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
	rank := &a.customs[s.rank-rankFirst]
	*rank = appendOne(a.scan.stop, *rank, s)
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
	stop   *stop.Flag
	out    []byte
	places []place
}

// module returns the module that has been translated.
func (a *assembler) module() *Module {
	if a.usesData {
		s := &a.sections[secDataCount]
		s.entry(0)
		s.bytes = encode.Index(nil, a.sections[secData].count)
	}
	w := writer{stop: a.scan.stop, out: []byte("\x00asm\x01\x00\x00\x00")}
	names := a.nameSection()
	name := func() {
		if len(names) > 0 {
			w.custom(nameSection, names, 0)
		}
		names = nil
	}
	for rank, customs := range a.customs {
		for i := range customs {
			if customs[i].name == nameSection {
				name() // the first one counts
			}
			w.custom(customs[i].name, customs[i].bytes, customs[i].text)
		}
		// Section i is between the ranks 2*i and 2*i+1.
		if rank += rankFirst; rank >= 0 && rank%2 == 0 && rank < rankLast {
			id := sectionOrder[rank/2].id
			w.section(id, &a.sections[id])
		}
	}
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
		count = encode.Index(nil, s.count)
	}
	w.out = append(w.out, id)
	w.out = encode.Index(w.out, uint32(len(count)+len(s.bytes)))
	w.out = append(w.out, count...)
	w.places = appendPlaces(w.stop, w.places, s.places, len(w.out))
	w.out = appendAll(w.stop, w.out, s.bytes)
}

func (w *writer) custom(name string, contents []byte, text int) {
	head := encode.Sized(nil, name)
	w.out = append(grown(w.stop, w.out, 1), secCustom)
	w.out = encode.Index(w.out, uint32(len(head)+len(contents)))
	w.places = appendOne(w.stop, w.places, place{uint32(len(w.out)), uint32(text)})
	w.out = appendAll(w.stop, appendAll(w.stop, w.out, head), contents)
}
