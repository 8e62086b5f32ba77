package compile

import (
	"encoding/binary"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/reloc"
	"github.com/waot-project/waot/objfile"
)

// addTypes makes a COMDAT record for each type slot. The symbols and groups are named by
// content, so that linkers keep one of each.
func (l *linker) addTypes() {
	l.types = make([]objfile.SymbolIndex, len(l.cm.Sigs))
	bySlot := make(map[uint32]objfile.SymbolIndex)
	for _, sig := range l.layout.TypeSlots() {
		record := l.cm.Sigs[sig].Record()
		name := objfile.TypeRecordName(record)
		s := l.o.AddSection(objfile.Section{Name: ".rodata." + name, Flags: objfile.Alloc, Align: 8, Data: record})
		sym := l.o.AddSymbol(objfile.Symbol{Name: name, Section: s, Size: uint64(len(record)), Binding: objfile.Weak, Kind: objfile.Data})
		l.o.Groups = append(l.o.Groups, objfile.Group{Signature: sym, Sections: []objfile.SectionIndex{s}})
		bySlot[l.layout.Type(sig)] = sym
	}
	for i := range l.types {
		if !l.cm.IsFuncType(uint32(i)) {
			continue
		}
		l.types[i] = bySlot[l.layout.Type(clif.SigIndex(i))]
	}
}

func (l *linker) put64(off uint32, v uint64) { binary.LittleEndian.PutUint64(l.data[off:], v) }

// address makes the word at off the address of a symbol.
func (l *linker) address(off uint32, sym objfile.SymbolIndex, addend int64) {
	l.dataRelocs = append(l.dataRelocs, objfile.Reloc{Offset: uint64(off), Kind: reloc.Abs64, Symbol: sym, Addend: addend})
}

// fillData makes the initial instance data, in the order of the layout.
func (l *linker) fillData() {
	cm, lay := l.cm, l.layout
	l.data = make([]byte, lay.Size(l.exceptions(), l.heap))
	l.put64(0, abi.Version)
	for h := range abi.NumHelpers {
		if h.OfHeap() && !l.heap || h.OfExceptions() && !l.exceptions() {
			continue
		}
		sym := l.o.AddSymbol(objfile.Symbol{Name: abi.Helpers[h].Symbol, Section: objfile.Undefined, Binding: objfile.Global})
		l.address(lay.Helper(h), sym, 0)
	}
	for _, sig := range lay.TypeSlots() {
		l.address(lay.Type(sig), l.types[sig], 0)
	}
	for i := range cm.NumImportedFuncs {
		slot := lay.Import(clif.FuncIndex(i))
		l.address(slot+abi.ImportCode, l.imports[i].code, 0)
		l.address(slot+abi.ImportDesc, l.imports[i].desc, 0)
	}
	at := uint32(0)
	for i := range cm.Datas {
		l.opt.stop.Poll()
		l.address(lay.Data(uint32(i))+abi.SegmentAddress, l.symRodata, int64(at))
		l.put64(lay.Data(uint32(i))+abi.SegmentLength, uint64(len(cm.Datas[i].Bytes)))
		at = dataEnd(at, &cm.Datas[i])
	}
	for i := range cm.Elems {
		l.opt.stop.Poll()
		l.address(lay.Elem(uint32(i))+abi.SegmentAddress, l.symData, int64(lay.ElemArray(uint32(i))))
		l.put64(lay.Elem(uint32(i))+abi.SegmentLength, uint64(len(cm.Elems[i].Funcs)))
	}
	for i := range cm.Globals {
		if off, indirect := lay.Global(clif.GlobalIndex(i)); !indirect {
			l.put64(off, cm.Globals[i].Init)
		}
	}
	for i := cm.NumImportedFuncs; i < len(cm.Funcs); i++ {
		l.opt.stop.Poll()
		if off, ok := lay.Desc(clif.FuncIndex(i)); ok {
			l.address(off+abi.DescCode, l.symText, int64(l.at[i]))
			l.address(off+abi.DescType, l.types[cm.Funcs[i].Sig], 0)
		}
	}
	l.fillElems()
}

// dataEnd returns where the next segment begins in .rodata, if d begins at at.
func dataEnd(at uint32, d *clif.DataDecl) uint32 {
	return at + uint32(len(d.Bytes)+dataAlign-1)&^(dataAlign-1)
}

func (l *linker) fillElems() {
	for i := range l.cm.Elems {
		off := l.layout.ElemArray(uint32(i))
		for _, f := range l.cm.Elems[i].Funcs {
			l.opt.stop.Poll()
			if f != clif.ElemNull && f != clif.ElemComputed {
				sym, addend := l.descriptor(f)
				l.address(off, sym, addend)
			}
			off += 8
		}
	}
}

// descriptor returns where the descriptor of function i is.
func (l *linker) descriptor(i clif.FuncIndex) (objfile.SymbolIndex, int64) {
	if l.layout.IsImport(i) {
		return l.imports[i].desc, 0
	}
	off, _ := l.layout.Desc(i)
	return l.symData, int64(off)
}
