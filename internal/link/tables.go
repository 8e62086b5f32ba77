package link

import (
	"encoding/binary"

	"github.com/waot-project/waot/objfile"
)

// The fields of symbols.
const (
	bindGlobal = 1 << 4
	typeObject = 1
	typeFunc   = 2
)

// stringTable is a string table of ELF.
type stringTable []byte

func (t *stringTable) add(s string) uint32 {
	at := len(*t)
	*t = append(append(*t, s...), 0)
	return uint32(at)
}

// sectionHeader is what a section header says.
type sectionHeader struct {
	name       uint32
	kind       uint32
	flags      uint64
	address    uint64
	offset     uint64
	size       uint64
	link, info uint32
	align      uint64
	entry      uint64
}

// appendTables appends what debuggers and other tools read, the symbol table and the section headers, to the file that begins
// at start of dst.
func (l *linker) appendTables(dst []byte, start int) []byte {
	le := binary.LittleEndian
	headers := []sectionHeader{{}}
	names := stringTable{0}
	var number [numOuts]uint32
	for n := range l.outs {
		o := &l.outs[n]
		if o.size == 0 {
			continue
		}
		number[n] = uint32(len(headers))
		h := sectionHeader{name: names.add(o.name), kind: o.kind, flags: segmentFlags[o.segment].section, address: o.address,
			offset: o.offset, size: o.size, align: max(o.align, 1), entry: o.entry}
		headers = append(headers, h)
	}
	if h := number[outDynsym]; h != 0 {
		headers[h].link, headers[h].info = number[outDynstr], 1
		headers[number[outDynamic]].link = number[outDynstr]
	}
	appendAligned := func(kind uint32, name string, data []byte, align int) *sectionHeader {
		for (len(dst)-start)%align != 0 {
			dst = append(dst, 0)
		}
		headers = append(headers, sectionHeader{name: names.add(name), kind: kind, offset: uint64(len(dst) - start), size: uint64(len(data)), align: uint64(align)})
		dst = append(dst, data...)
		return &headers[len(headers)-1]
	}
	if !l.opt.Stripped {
		symbols, strs, locals := l.symbolTable(&number)
		h := appendAligned(shtSymtab, ".symtab", symbols, 8)
		h.link, h.info, h.entry = uint32(len(headers)), locals, symSize
		appendAligned(shtStrtab, ".strtab", strs, 1)
	}
	own := names.add(".shstrtab")
	appendAligned(shtStrtab, "", names, 1).name = own
	for (len(dst)-start)%8 != 0 {
		dst = append(dst, 0)
	}
	le.PutUint64(dst[start+40:], uint64(len(dst)-start))
	le.PutUint16(dst[start+60:], uint16(len(headers)))
	le.PutUint16(dst[start+62:], uint16(len(headers)-1))
	for _, h := range headers {
		dst = le.AppendUint32(dst, h.name)
		dst = le.AppendUint32(dst, h.kind)
		for _, x := range [...]uint64{h.flags, h.address, h.offset, h.size} {
			dst = le.AppendUint64(dst, x)
		}
		dst = le.AppendUint32(dst, h.link)
		dst = le.AppendUint32(dst, h.info)
		dst = le.AppendUint64(dst, h.align)
		dst = le.AppendUint64(dst, h.entry)
	}
	return dst
}

// symbolTable makes the symbol table, of functions and data that the program has, and its strings. Local symbols come first;
// locals is their number, with the null symbol.
func (l *linker) symbolTable(number *[numOuts]uint32) (table, strs []byte, locals uint32) {
	le := binary.LittleEndian
	table = make([]byte, symSize)
	names := stringTable{0}
	for _, global := range []bool{false, true} {
		if global {
			locals = uint32(len(table) / symSize)
		}
		for i := range l.inputs {
			o := l.inputs[i].Object
			for n := range o.Symbols {
				s := &o.Symbols[n]
				if (s.Binding != objfile.Local) != global || s.Section == objfile.Undefined || s.Name == "" || !l.sections[i][s.Section].live {
					continue
				}
				r := symbolRef{input: int32(i), index: int32(n)}
				if global && l.globals[s.Name] != r { // another definition came before this weak one
					continue
				}
				info := uint8(0)
				if global {
					info = bindGlobal
				}
				switch s.Kind {
				case objfile.Func:
					info |= typeFunc
				case objfile.Data:
					info |= typeObject
				}
				table = le.AppendUint32(table, names.add(s.Name))
				table = append(table, info, 0)
				table = le.AppendUint16(table, uint16(number[l.sections[i][s.Section].out]))
				table = le.AppendUint64(table, l.value(r))
				table = le.AppendUint64(table, s.Size)
			}
		}
	}
	return table, names, locals
}
