package compile

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/internal/quote"
	"github.com/waot-project/waot/internal/reloc"
	"github.com/waot-project/waot/objfile"
)

// Suffixes of symbols that are not for C.
const (
	suffixCode   = objfile.SuffixCode
	suffixDesc   = objfile.SuffixDesc
	suffixMemory = ".memory"
	suffixTable  = ".table"
	suffixGlobal = ".global"
	suffixTag    = ".tag"
)

// importSymbols are the symbols of an imported function, and where the stub is in the adapters, and its descriptor in relro; stub is false if there is none.
type importSymbols struct {
	code, desc       objfile.SymbolIndex
	stub             bool
	ownStub, ownDesc uint64
}

// relroSection collects immutable data that holds addresses.
type relroSection struct {
	data   []byte
	relocs []objfile.Reloc
}

func (s *relroSection) word(v uint64) { s.data = binary.LittleEndian.AppendUint64(s.data, v) }

func (s *relroSection) address(sym objfile.SymbolIndex, addend int64) {
	s.relocs = append(s.relocs, objfile.Reloc{Offset: uint64(len(s.data)), Kind: reloc.Abs64, Symbol: sym, Addend: addend})
	s.word(0)
}

// exported returns the C symbol of an export; reserved that of something that the module does not
// name itself.
func (l *linker) exported(name string) string { return objfile.MangleIn(l.opt.Name, name) }
func (l *linker) reserved(name string) string { return objfile.ReservedIn(l.opt.Name, name) }

// importKey distinguishes imports that need their own symbols.
type importKey struct {
	name clif.ImportName
	slot uint32 // of the type
}

// addImports gives each imported function the symbols that another object may define,
// and weak definitions of both that call a C function.
func (l *linker) addImports() {
	seen := make(map[importKey]importSymbols)
	for i := range l.cm.NumImportedFuncs {
		f := &l.cm.Funcs[i]
		key := importKey{*f.Import, l.layout.Type(f.Sig)}
		s, ok := seen[key]
		if !ok {
			s = l.addImport(clif.FuncIndex(i))
			seen[key] = s
		}
		l.imports = append(l.imports, s)
	}
}

func (l *linker) addImport(i clif.FuncIndex) importSymbols {
	f := &l.cm.Funcs[i]
	name := objfile.MangleIn(f.Import.Module, f.Import.Name)
	ofCode, ofDesc := objfile.ImportSuffixes(l.heap)
	code := objfile.Symbol{Name: name + ofCode, Section: objfile.Undefined, Binding: objfile.Global}
	desc := objfile.Symbol{Name: name + ofDesc, Section: objfile.Undefined, Binding: objfile.Global}
	w := l.adapters.importWay(f.Sig, l.cm.FuncSig(i))
	if w.kind == wayNone { // only another object of ours can supply it
		return importSymbols{code: l.o.AddSymbol(code), desc: l.o.AddSymbol(desc)}
	}
	function := l.o.AddSymbol(objfile.Symbol{Name: name, Section: objfile.Undefined, Binding: objfile.Global})
	code.Section, code.Binding, code.Kind = secAdapters, objfile.Weak, objfile.Func
	code.Value, code.Size = l.adapters.addImport(w, function)
	l.alignHostDesc()
	s := importSymbols{code: l.o.AddSymbol(code), stub: true, ownStub: code.Value, ownDesc: uint64(len(l.relro.data))}
	desc.Section, desc.Value, desc.Binding, desc.Kind = secRelro, uint64(len(l.relro.data)), objfile.Weak, objfile.Data
	desc.Size = abi.DescSize
	if l.exceptions() || l.heap { // its own stub, whatever linkers make of the symbol
		l.relro.address(sectionSymbol(secAdapters), int64(s.ownStub))
	} else {
		l.relro.address(s.code, 0)
	}
	l.relro.address(l.types[f.Sig], 0)
	s.desc = l.o.AddSymbol(desc)
	return s
}

// alignHostDesc makes what is added next the descriptor of a function that may be the host's: its address says so.
func (l *linker) alignHostDesc() {
	if len(l.relro.data)%abi.DescSize != abi.DescHost {
		l.relro.data = append(l.relro.data, make([]byte, abi.DescHost)...)
	}
}

// addFuncSymbols gives each function that has code a local symbol, for debuggers and profilers.
func (l *linker) addFuncSymbols() {
	for i := l.cm.NumImportedFuncs; i < len(l.cm.Funcs); i++ {
		if l.results[i].absent() {
			continue
		}
		name := fmt.Sprintf("fn%d", i)
		if clif.FuncIndex(i) == l.cm.InitFunc() {
			name = "init"
		} else if n := l.cm.Funcs[i].Name; n != "" {
			name += "." + readable(n)
		}
		l.o.AddSymbol(objfile.Symbol{Name: name, Section: secText, Value: uint64(l.at[i]), Size: uint64(l.m.Funcs[i].Size), Kind: objfile.Func})
	}
}

// maxName bounds the readable part of a local symbol's name, in bytes.
const maxName = 512

// readable replaces what tools stumble over in names of symbols: what steers a terminal or hides, blanks, and
// the at sign, which introduces versions.
func readable(name string) string {
	if len(name) > maxName {
		name = strings.ToValidUTF8(name[:maxName], "")
	}
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '@' || quote.Hides(r) {
			return '_'
		}
		return r
	}, name)
}

// addExports defines the symbols of exports, of the init function and of the
// instance data.
func (l *linker) addExports() {
	global := func(name string, s objfile.SectionIndex, at, size uint64, kind objfile.SymbolKind) objfile.SymbolIndex {
		return l.o.AddSymbol(objfile.Symbol{Name: name, Section: s, Value: at, Size: size, Binding: objfile.Global, Kind: kind})
	}
	word := func(name string, off uint32) { global(name, secData, uint64(off), 8, objfile.Data) }
	init := &l.m.Funcs[l.cm.InitFunc()]
	global(l.reserved("init"), secText, uint64(init.Text), uint64(init.Size), objfile.Func)
	global(l.reserved("instance"), secData, 0, uint64(l.m.InstanceSize), objfile.Data)
	for i := range l.m.Memories {
		if l.m.Memories[i].Import != nil {
			word(l.reserved(fmt.Sprintf("memory%d", i)), l.m.Memories[i].Slot)
		}
	}
	for i := range l.m.Tables {
		if l.m.Tables[i].Import != nil {
			word(l.reserved(fmt.Sprintf("table%d", i)), l.m.Tables[i].Slot)
		}
	}
	for i := range l.m.Globals {
		if l.m.Globals[i].Import != nil {
			word(l.reserved(fmt.Sprintf("global%d", i)), l.m.Globals[i].Offset)
		}
	}
	for i := range l.cm.Tags {
		if l.cm.Tags[i].Import != nil {
			word(l.reserved(fmt.Sprintf("tag%d", i)), l.layout.Tag(uint32(i)))
		}
	}
	for i := range l.cm.Exports {
		x := &l.cm.Exports[i]
		name := l.exported(x.Name)
		switch x.Kind {
		case abi.ExternFunc:
			l.exportFunc(name, clif.FuncIndex(x.Index), global)
		case abi.ExternMemory:
			word(name+suffixMemory, l.m.Memories[x.Index].Slot)
		case abi.ExternTable:
			word(name+suffixTable, l.m.Tables[x.Index].Slot)
		case abi.ExternGlobal:
			word(name+suffixGlobal, l.m.Globals[x.Index].Offset)
		case abi.ExternTag:
			word(name+suffixTag, l.layout.Tag(x.Index))
		}
	}
}

// exportFunc defines the three symbols of an exported function, five in a module with a heap. That of an import
// which is exported again is a jump through the import's slot, with a descriptor of its own.
func (l *linker) exportFunc(name string, i clif.FuncIndex, global func(string, objfile.SectionIndex, uint64, uint64, objfile.SymbolKind) objfile.SymbolIndex) {
	a := l.adapters
	// Modules with a heap find each other's functions by names of their own.
	both := func(name, suffix string, s objfile.SectionIndex, at, size uint64, kind objfile.SymbolKind) objfile.SymbolIndex {
		if l.heap {
			global(name+objfile.SuffixHeap+suffix, s, at, size, kind)
		}
		return global(name+suffix, s, at, size, kind)
	}
	target, addend := l.symText, int64(l.at[i])
	if l.layout.IsImport(i) {
		at := a.begin()
		a.land()
		a.jumpThrough(l.symData, int64(l.layout.Import(i))+abi.ImportCode)
		size := a.end(at)
		code := both(name, suffixCode, secAdapters, at, size, objfile.Func)
		l.alignHostDesc()
		both(name, suffixDesc, secRelro, uint64(len(l.relro.data)), abi.DescSize, objfile.Data)
		l.relro.address(code, 0)
		l.relro.address(l.types[l.cm.Funcs[i].Sig], 0)
		target, addend = sectionSymbol(secAdapters), int64(at)
	} else {
		f := &l.m.Funcs[i]
		both(name, suffixCode, secText, uint64(f.Text), uint64(f.Size), objfile.Func)
		both(name, suffixDesc, secData, uint64(f.Desc), abi.DescSize, objfile.Data)
	}
	if w := a.exportWay(l.cm.Funcs[i].Sig, l.cm.FuncSig(i)); w.kind != wayNone {
		at, size := a.addExport(w, target, addend)
		global(name, secAdapters, at, size, objfile.Func)
	}
}

// addStubs builds the table of the module's own stubs, if hosts in C need it: those that save registers, or note their calls, but linkers keep one of all modules that import a function.
func (l *linker) addStubs() {
	r := &l.relro
	l.stubs = int64(len(r.data))
	if !l.exceptions() && !l.heap {
		return
	}
	for i, s := range l.imports {
		r.address(l.symData, int64(l.layout.Import(clif.FuncIndex(i))))
		if !s.stub {
			r.word(0)
			r.word(0)
			continue
		}
		r.address(sectionSymbol(secAdapters), int64(s.ownStub))
		r.address(sectionSymbol(secRelro), int64(s.ownDesc))
	}
}

// addRecord builds the record and the slots of memories, tables and tags.
func (l *linker) addRecord() {
	r := &l.relro
	start := len(r.data)
	sym := func(s objfile.SectionIndex) objfile.SymbolIndex { return sectionSymbol(s) }
	slots := int64(start + 8*l.m.RecordWords())
	tables := slots + int64(8*meta.SlotWords*len(l.m.Memories))
	tags := tables + int64(8*meta.SlotWords*len(l.m.Tables))
	r.word(l.m.RecordVersion())
	r.address(l.symText, 0)
	r.word(uint64(len(l.text)))
	r.address(l.symData, 0)
	r.word(uint64(len(l.data)))
	r.address(l.symText, int64(l.m.Funcs[l.cm.InitFunc()].Text))
	for s := secMeta; s <= secCalls; s++ {
		r.address(sym(s), 0) // its header has the size
	}
	r.address(sym(secRelro), slots)
	r.word(uint64(len(l.m.Memories)))
	r.address(sym(secRelro), tables)
	r.word(uint64(len(l.m.Tables)))
	r.address(sym(secAdapters), 0)
	r.word(uint64(len(l.adapters.code)))
	switch x := l.m.Exceptions; {
	case x != nil:
		r.address(l.symData, int64(x.Current))
		r.word(uint64(x.Words))
		r.address(sym(secRelro), tags)
		r.word(uint64(len(x.Tags)))
	case l.m.Heap != nil:
		for range meta.RecordStubs - meta.RecordException {
			r.word(0)
		}
	}
	if l.m.HasStubs() {
		r.address(sym(secRelro), l.stubs)
		r.word(uint64(len(l.imports)))
	}
	if h := l.m.Heap; h != nil {
		types := l.m.HeapTypes(l.opt.stop.Poll)
		r.address(l.symData, int64(h.Part))
		r.address(l.addHeapTypes(types), 0)
		r.word(uint64(len(types)))
	}
	slot := func(off uint32, lo, hi uint64, flags uint64, imported, hasMax bool) {
		if imported {
			flags |= meta.SlotImported
		}
		if hasMax {
			flags |= meta.SlotHasMax
		}
		r.address(l.symData, int64(off))
		r.word(lo)
		r.word(hi)
		r.word(flags)
	}
	main := l.m.MainMemory()
	for i := range l.m.Memories {
		x := &l.m.Memories[i]
		slot(x.Slot, x.Min, x.Max, l.m.MemoryFlags(i, main), x.Import != nil, x.HasMax)
	}
	for i := range l.m.Tables {
		x := &l.m.Tables[i]
		flags := uint64(0)
		if l.cm.Tables[i].Elem == clif.Ref {
			flags = meta.SlotRefs
		}
		slot(x.Slot, x.Min, x.Max, flags, x.Import != nil, x.HasMax)
	}
	if x := l.m.Exceptions; x != nil {
		private := l.m.PrivateTags()
		for i := range x.Tags {
			l.opt.stop.PollAt(i)
			l.addTagSlot(uint32(i), private[i])
		}
	}
	l.o.AddSymbol(objfile.Symbol{Name: l.reserved("object"), Section: secRelro, Value: uint64(start),
		Size: uint64(len(r.data) - start), Binding: objfile.Global, Kind: objfile.Data})
}

// addHeapTypes adds a section with what hosts in C know of the types, and returns its symbol.
func (l *linker) addHeapTypes(types []byte) objfile.SymbolIndex {
	s := l.o.AddSection(objfile.Section{Name: meta.SectionHeapTypes, Flags: objfile.Alloc, Align: 8, Data: types})
	return l.o.AddSymbol(objfile.Symbol{Kind: objfile.SectionSym, Section: s})
}

// addTagSlot adds the slot of a tag to the record.
func (l *linker) addTagSlot(i uint32, private bool) {
	r, x := &l.relro, &l.m.Exceptions.Tags[i]
	flags, args := uint64(0), l.m.Types[x.Type].Params
	if x.Import != nil {
		flags = meta.SlotImported
	}
	if private {
		flags |= meta.SlotPrivate
	}
	r.address(l.symData, int64(l.layout.Tag(i)))
	r.address(l.types[x.Type], 0)
	r.word(flags)
	r.word(uint64(abi.ExceptionWord(args, len(args))))
}
