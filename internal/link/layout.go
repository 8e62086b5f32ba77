package link

import (
	"fmt"
	"slices"
	"strings"

	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/internal/reloc"
	"github.com/waot-project/waot/objfile"
)

// machine is what differs between machines.
type machine struct {
	// page is the largest page size that kernels have, in bytes.
	page uint64
	// filler is what lies between functions.
	filler []byte
	// relocs are the kinds of relocation.
	relocs *reloc.Types
}

var machines = map[objfile.Machine]*machine{
	objfile.X86_64:  {page: 4 << 10, filler: []byte{0xcc}, relocs: &reloc.X64},        // int3
	objfile.AArch64: {page: 64 << 10, filler: []byte{0, 0, 0, 0}, relocs: &reloc.A64}, // udf #0
}

// filePage is the alignment of segments in the file of a program: the smallest page size.
const filePage = 4 << 10

// A segment is a range of memory with one protection.
type segment struct {
	offset, address  uint64
	fileSize, memory uint64 // in bytes
}

// The segments, in the order of their addresses.
const (
	segConst = iota // headers and constants
	segText
	segRelro // written by the program's start only
	segData
	segMemory // moved into the program's memory by its start
	numSegments
)

// outSection is a section of the program.
type outSection struct {
	name    string
	segment int
	kind    uint32 // ELF's sh_type
	entry   uint64 // size of entries, if they have one
	made    []byte // contents that are not those of inputs

	align, offset, address, size uint64
}

// The sections of a program, in the order of their addresses.
const (
	outProperty = iota
	outDynsym
	outDynstr
	outRelr
	outRodata
	outMeta
	outTraps
	outStackMaps
	outCalls
	outFrames
	outText
	outDynamic
	outRelro
	outData
	outBss
	outMemory
	numOuts
)

// SectionMemory is the section of a program with what its memory holds at first.
const SectionMemory = ".waot.memory"

// outSections says what the sections are.
var outSections = [numOuts]outSection{
	outProperty:  {name: ".note.gnu.property", segment: segConst, kind: shtNote, align: 8},
	outDynsym:    {name: ".dynsym", segment: segConst, kind: shtDynsym, align: 8, entry: symSize},
	outDynstr:    {name: ".dynstr", segment: segConst, kind: shtStrtab, align: 1},
	outRelr:      {name: ".relr.dyn", segment: segConst, kind: shtRelr, align: 8, entry: 8},
	outRodata:    {name: ".rodata", segment: segConst, kind: shtProgbits},
	outMeta:      {name: meta.SectionMeta, segment: segConst, kind: shtProgbits},
	outTraps:     {name: meta.SectionTraps, segment: segConst, kind: shtProgbits},
	outStackMaps: {name: meta.SectionStackMaps, segment: segConst, kind: shtProgbits},
	outCalls:     {name: meta.SectionCalls, segment: segConst, kind: shtProgbits},
	outFrames:    {name: ehFrame, segment: segConst, kind: shtProgbits},
	outText:      {name: ".text", segment: segText, kind: shtProgbits},
	outDynamic:   {name: ".dynamic", segment: segRelro, kind: shtDynamic, align: 8, entry: dynSize},
	outRelro:     {name: ".data.rel.ro", segment: segRelro, kind: shtProgbits},
	outData:      {name: ".data", segment: segData, kind: shtProgbits},
	outBss:       {name: ".bss", segment: segData, kind: shtNobits},
	outMemory:    {name: SectionMemory, segment: segMemory, kind: shtProgbits},
}

// outOf returns the section of the program that s becomes a part of; ok is false for sections that become part of none.
func outOf(s *objfile.Section) (out int32, ok bool) {
	switch {
	case s.Flags&objfile.Alloc == 0 || s.Flags&objfile.Exclude != 0 || s.Kind == objfile.Note:
		return 0, false
	case s.Flags&objfile.Exec != 0:
		return outText, true
	case s.Kind == objfile.Nobits:
		return outBss, true
	case s.Flags&objfile.Write != 0 && strings.HasPrefix(s.Name, ".data.rel.ro"):
		return outRelro, true
	case s.Flags&objfile.Write != 0:
		return outData, true
	}
	if s.Name == SectionMemory {
		return outMemory, true
	}
	for n := int32(outMeta); n <= outFrames; n++ {
		if outSections[n].name == s.Name {
			return n, true
		}
	}
	return outRodata, true
}

// contents is what section n of input i has in the program.
func (l *linker) contents(i, n int) *objfile.Section {
	s := &l.inputs[i].Object.Sections[n]
	if s.Name == ehFrame {
		return &l.frames[i]
	}
	return s
}

// programSegments are the segments of a program, in order.
var programSegments = []int{segConst, segText, segRelro, segData, segMemory}

// layout gives each section its place in the file and in memory.
func (l *linker) layout() error {
	if err := l.fillSections(); err != nil {
		return err
	}
	l.makeSections()
	segments := programSegments
	if !l.segmentHas(segMemory) {
		segments = segments[:segMemory]
	}
	place := func() { l.place(segments, uint64(ehSize+phSize*len(l.headers)), filePage) }
	place()
	words, err := l.relativeWords()
	if err != nil {
		return err
	}
	// How long the list is depends on distances within segments only, which the second placing does not change.
	relr := &l.outs[outRelr]
	relr.size = uint64(len(encodeRelr(words)))
	place()
	if words, err = l.relativeWords(); err != nil {
		return err
	}
	if relr.made = encodeRelr(words); uint64(len(relr.made)) != relr.size {
		return &Error{Reason: "internal error: the size of .relr.dyn changed"}
	}
	l.outs[outDynamic].made = l.dynamic()
	return nil
}

// fillSections puts the sections of the inputs one behind the other.
func (l *linker) fillSections() (err error) {
	l.outs = outSections
	l.eachLive(func(i, n int, p *placed) {
		s := l.contents(i, n)
		out, ok := outOf(s)
		if !ok {
			err = &Error{l.inputs[i].Name, fmt.Sprintf("section %q cannot be a part of a program", s.Name)}
			return
		}
		o := &l.outs[out]
		align := uint64(max(s.Align, 1))
		p.out, p.offset = out, alignUp(o.size, align)
		o.align = max(o.align, align)
		o.size = p.offset + s.Bytes()
	})
	return err
}

// makeSections makes the sections that the linker itself contributes to a program.
func (l *linker) makeSections() {
	l.outs[outProperty].made = l.property()
	l.outs[outDynsym].made = make([]byte, symSize) // the null symbol
	l.outs[outDynstr].made = []byte{0}
	l.outs[outDynamic].made = l.dynamic()
	for n := range l.outs {
		if o := &l.outs[n]; o.made != nil {
			o.size = uint64(len(o.made))
		}
	}
	l.headers = l.programHeaders()
}

// place gives segments, in this order, and their sections addresses. The first segment begins with so many bytes of headers. In the file
// the others begin at multiples of filePage; in memory at the next page of their own that agrees with that.
func (l *linker) place(segments []int, headers, filePage uint64) {
	page := max(l.machine.page, filePage)
	for n := range l.outs {
		page = max(page, l.outs[n].align)
	}
	offset, address := headers, headers
	l.segments = [numSegments]segment{}
	for i, seg := range segments {
		s := &l.segments[seg]
		if i > 0 {
			offset = alignUp(offset, filePage)
			address = alignUp(address, page) + offset%page
			s.offset, s.address = offset, address
		}
		for n := range l.outs {
			o := &l.outs[n]
			if o.segment != seg {
				continue
			}
			address = alignUp(address, max(o.align, 1))
			o.address, o.offset = address, s.offset+address-s.address
			address += o.size
			if o.kind != shtNobits && o.size != 0 {
				offset = o.offset + o.size
			}
		}
		s.memory = address - s.address
		s.fileSize = offset - s.offset
	}
	l.page, l.fileSize = page, offset
}

// address returns the address of section n of input i, for a program that is loaded at 0.
func (l *linker) address(i, n int32) uint64 {
	p := &l.sections[i][n]
	return l.outs[p.out].address + p.offset
}

// value returns the address that r stands for.
func (l *linker) value(r symbolRef) uint64 {
	if r.input != linkerDefined {
		at := l.address(r.input, l.section(r))
		switch r.kind {
		case refStop:
			return at + l.inputs[r.input].Object.Sections[r.index].Bytes()
		case refSymbol:
			return at + l.symbol(r).Value
		}
		return at
	}
	relr, relro := &l.outs[outRelr], &l.segments[segRelro]
	switch definedSymbol(r.index) {
	case symRelr:
		return relr.address
	case symRelrEnd:
		return relr.address + relr.size
	case symRelro:
		return relro.address
	case symRelroEnd:
		return relro.address + relro.memory
	}
	return 0 // symHeader
}

// relativeWords returns the addresses of the words that hold addresses, in order, by segment.
func (l *linker) relativeWords() (words [numSegments][]uint64, err error) {
	l.eachLive(func(i, n int, p *placed) {
		relocs := l.contents(i, n).Relocs
		for k := range relocs {
			r := &relocs[k]
			if r.Kind != reloc.Abs64 || l.leaves(n, r) {
				continue
			}
			at := l.address(int32(i), int32(n)) + r.Offset
			seg := outSections[p.out].segment
			if seg != segRelro && seg != segData || at%8 != 0 {
				err = &Error{l.inputs[i].Name, fmt.Sprintf("section %q: the address at %#x is not in a word that can be written", l.contents(i, n).Name, r.Offset)}
			}
			words[seg] = append(words[seg], at)
		}
	})
	for seg := range words {
		slices.Sort(words[seg])
	}
	return words, err
}

// encodeRelr encodes lists of addresses as .relr.dyn has them.
func encodeRelr(lists [numSegments][]uint64) []byte {
	b := []byte{}
	for _, words := range lists {
		b = reloc.AppendRelr(b, words)
	}
	return b
}

// eachLive calls f for each section of an input that the program has.
func (l *linker) eachLive(f func(i, n int, p *placed)) {
	for i := range l.sections {
		for n := range l.sections[i] {
			if p := &l.sections[i][n]; p.live {
				f(i, n, p)
			}
		}
	}
}

func alignUp(n, to uint64) uint64 { return (n + to - 1) &^ (to - 1) }
