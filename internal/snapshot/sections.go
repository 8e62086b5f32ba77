package snapshot

import (
	"encoding/binary"

	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/encode"
)

// The sections.
const (
	sectionCustom = iota
	sectionType
	sectionImport
	sectionFunction
	sectionTable
	sectionMemory
	sectionGlobal
	sectionExport
	sectionStart
	sectionElement
	sectionCode
	sectionData
	sectionDataCount
	numSections
)

// sectionOrder is the order in which sections are written.
var sectionOrder = [...]uint8{sectionType, sectionImport, sectionFunction, sectionTable, sectionMemory, sectionGlobal, sectionExport, sectionStart,
	sectionElement, sectionDataCount, sectionCode, sectionData}

// sections are the contents of a module's sections; nil where there is none. Those of custom sections are written with their names, in this order.
type sections struct {
	of      [numSections][]byte
	customs []wasmfront.CustomSection
}

// sectionsOf returns the sections that m was decoded from.
func sectionsOf(m *wasmfront.Module) *sections {
	s := &sections{customs: m.Customs}
	for _, x := range m.Sections {
		if x.ID != sectionCustom {
			s.of[x.ID] = m.Bytes[x.Offset : x.Offset+x.Size]
		}
	}
	return s
}

// add appends n items to a section that is a vector.
func (s *sections) add(id uint8, n int, items []byte) {
	if n == 0 {
		return
	}
	have, at := uint64(0), 0
	if old := s.of[id]; old != nil {
		have, at = binary.Uvarint(old)
	}
	s.of[id] = append(append(encode.Unsigned(nil, have+uint64(n)), s.of[id][at:]...), items...)
}

// set makes a section of n items.
func (s *sections) set(id uint8, n int, items []byte) {
	s.of[id] = nil
	s.add(id, n, items)
}

// module returns the module.
func (s *sections) module() []byte {
	size := len(encode.Header)
	for _, c := range s.of {
		size += len(c) + binary.MaxVarintLen64
	}
	b := append(make([]byte, 0, size), encode.Header...)
	for _, id := range sectionOrder {
		if s.of[id] != nil {
			b = encode.Section(b, id, s.of[id])
		}
	}
	for i := range s.customs {
		c := &s.customs[i]
		b = encode.Section(b, sectionCustom, append(encode.Sized(nil, c.Name), c.Bytes...))
	}
	return b
}
