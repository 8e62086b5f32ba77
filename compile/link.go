package compile

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/machbuffer"
	"github.com/waot-project/waot/objfile"
	"github.com/waot-project/waot/regalloc"
)

// dataAlign is the alignment of segments in the constants, in bytes.
const dataAlign = 16

// linker assembles the object.
type linker struct {
	*driver
	o *objfile.Object
	m *meta.Module

	text, rodata, data []byte
	at                 []uint32 // by function, and behind the last one: offset in the text
	textRelocs         []objfile.Reloc
	dataRelocs         []objfile.Reloc
	frames             []objfile.Frame
	saveChanges        []uint32 // of all meta.Module.Saves
	maps               meta.StackMapBuilder

	symText, symRodata, symData objfile.SymbolIndex
	adapters                    *adapterSection
	relro                       relroSection
	types                       []objfile.SymbolIndex // by signature: the type record
	imports                     []importSymbols       // by imported function
	stubs                       int64                 // where the table of stubs begins in relro
	throws                      bool                  // some function uses the part of the instance data for exceptions
	heap                        bool                  // instances have a part for the heap
}

// link makes the object of the compiled functions.
func (d *driver) link() (*Result, error) {
	l := &linker{driver: d, o: &objfile.Object{Machine: d.target.elf, Stop: d.opt.stop}, m: new(meta.Module)}
	l.throws = slices.ContainsFunc(d.results, func(r result) bool { return r.exceptions })
	l.heap = slices.ContainsFunc(d.results, func(r result) bool { return r.heap }) || d.cm.HasHeap()
	l.adapters = newAdapterSection(d.target, len(d.cm.Sigs), l.exceptions() || l.heap)
	if l.heap {
		l.adapters.linkExits(sectionSymbol(secData), d.layout.Heap()+uint32(abi.HeapBase))
	}
	l.addSections()
	if err := l.layText(); err != nil {
		return nil, err
	}
	l.layRodata()
	l.describe()
	l.addTypes()
	l.addImports()
	l.fillData()
	l.addFuncSymbols()
	l.addExports()
	if err := l.adapters.check(); err != nil {
		return nil, err
	}
	l.o.Symbols = append(l.o.Symbols, l.adapters.symbols...)
	l.addStubs()
	l.addRecord()
	l.finish()
	if err := l.limitTables(); err != nil {
		return nil, err
	}
	d.opt.Costs.Ended("link")
	l.o.Stop = nil // the object outlives the compilation
	r := &Result{Object: l.o, Meta: l.m, parallel: d.jobs() > 1, loose: d.opt.OptLevel == opt.O0}
	r.Stats = Stats{Funcs: len(d.order), Text: len(l.text), Rodata: len(l.rodata),
		Data: len(l.data), Types: len(d.layout.TypeSlots()), Memory: int64(d.account.memory())}
	if d.wm != nil {
		r.Stats.WasmBytes = len(d.wm.Bytes)
	}
	return r, nil
}

// The sections of every object, in this order.
const (
	secText objfile.SectionIndex = iota
	secAdapters
	secRodata
	secData
	secRelro
	secMeta
	secTraps
	secStackMaps
	secCalls
	secEHFrame
	secStackNote
	secProperty
)

func (l *linker) addSections() {
	const ro = objfile.Alloc
	l.o.Sections = []objfile.Section{
		secText:      {Name: ".text", Flags: objfile.Alloc | objfile.Exec, Align: abi.FuncAlign},
		secAdapters:  {Name: ".text.waot", Flags: objfile.Alloc | objfile.Exec, Align: abi.FuncAlign},
		secRodata:    {Name: ".rodata", Flags: ro, Align: dataAlign},
		secData:      {Name: ".data", Flags: objfile.Alloc | objfile.Write, Align: max(16, l.target.instanceAlign)},
		secRelro:     {Name: ".data.rel.ro", Flags: objfile.Alloc | objfile.Write, Align: 16},
		secMeta:      {Name: meta.SectionMeta, Flags: ro, Align: 8},
		secTraps:     {Name: meta.SectionTraps, Flags: ro, Align: 8},
		secStackMaps: {Name: meta.SectionStackMaps, Flags: ro, Align: 8},
		secCalls:     {Name: meta.SectionCalls, Flags: ro, Align: 8},
		secEHFrame:   {Name: ".eh_frame", Flags: ro, Align: 8},
		secStackNote: objfile.StackNote(),
		secProperty:  l.target.property,
	}
	l.o.AddSymbol(objfile.Symbol{Name: readable(l.opt.Name), Kind: objfile.FileSym, Section: objfile.Undefined})
	for s := secText; s <= secCalls; s++ {
		l.o.AddSymbol(objfile.Symbol{Kind: objfile.SectionSym, Section: s})
	}
	l.symText, l.symRodata, l.symData = sectionSymbol(secText), sectionSymbol(secRodata), sectionSymbol(secData)
}

// sectionSymbol returns the symbol of one of the sections up to secCalls.
func sectionSymbol(s objfile.SectionIndex) objfile.SymbolIndex { return 1 + objfile.SymbolIndex(s) }

// layText places the functions in the order of the module, with islands where calls do not reach. It
// patches references to other functions and collects references to instance data. It also collects call and trap sites for the metadata.
func (l *linker) layText() error {
	if _, err := l.placeFuncs(new(islands)); err != nil {
		return err
	}
	s := l.findIslands(slices.Clone(l.at))
	n, err := l.placeFuncs(s)
	if err != nil {
		return err
	}
	l.text = make([]byte, n)
	l.makeRoom()
	var sites error
	l.aside(func() { sites = l.eachFunc(l.addSites) }, func() { err = l.copyCode(s) })
	l.m.StackMaps = l.maps.Maps
	return cmp.Or(err, sites)
}

// eachFunc calls do for each function that has code, in order, until there is an error.
func (l *linker) eachFunc(do func(i uint32, r *result) error) error {
	for i := uint32(l.cm.NumImportedFuncs); i < uint32(len(l.cm.Funcs)); i++ {
		l.opt.stop.Poll()
		if r := &l.results[i]; !r.absent() {
			if err := do(i, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// copyCode fills the text.
func (l *linker) copyCode(s *islands) error {
	end := 0
	err := l.eachFunc(func(i uint32, r *result) error {
		at := int(l.at[i])
		for ; end < at; end++ {
			l.text[end] = l.target.filler
		}
		code := r.worker.code.at(r.code)
		end += copy(l.text[at:], code)
		if err := l.applyRelocs(i, r, s); err != nil {
			return err
		}
		l.frames = append(l.frames, objfile.Frame{Symbol: l.symText, Addend: int64(at), Size: uint32(len(code)), HasFrame: true, Prologue: r.prologue,
			Saved: l.target.savedRules(r.saved), Changes: r.worker.unwind.at(r.unwind)})
		return nil
	})
	if err != nil {
		return err
	}
	if !s.emit(l.text, l.target, l.at) {
		return fmt.Errorf("%w: calls over such distances, in %d bytes of code", backend.ErrUnsupported, len(l.text))
	}
	return nil
}

// makeRoom makes the tables of all functions together, so that they need not grow.
func (l *linker) makeRoom() {
	var traps, calls, maps, inlined, relocs int
	for i := range l.results {
		l.opt.stop.Poll()
		r := &l.results[i]
		traps, calls, maps, inlined = traps+int(r.traps.len()), calls+int(r.calls.len()), maps+int(r.maps.len()), inlined+int(r.inlined.len())
		relocs += l.instanceRelocs(r)
	}
	m := l.m
	m.Traps, m.Calls = slices.Grow(m.Traps, traps), slices.Grow(m.Calls, calls)
	l.maps.Grow(maps)
	m.Inlined, l.textRelocs = slices.Grow(m.Inlined, inlined), slices.Grow(l.textRelocs, relocs)
	l.frames = slices.Grow(l.frames, len(l.results))
}

// instanceRelocs returns how many relocations of a function remain for whoever links the object.
func (l *linker) instanceRelocs(r *result) (n int) {
	if r.absent() {
		return 0
	}
	for i, rel := range r.worker.relocs.at(r.relocs) {
		l.opt.stop.PollAt(i)
		if backend.SymRef(rel.Symbol) == backend.SymInstance {
			n++
		}
	}
	return n
}

// placeFuncs decides where the functions and islands are, and how long the text is, which is the last of l.at, too.
func (l *linker) placeFuncs(s *islands) (int, error) {
	n := 0
	l.at = make([]uint32, len(l.cm.Funcs)+1)
	for i := uint32(l.cm.NumImportedFuncs); i < uint32(len(l.cm.Funcs)); i++ {
		l.opt.stop.Poll()
		if k, ok := s.find(i); ok {
			n = alignUp(n, veneerSize)
			s.list[k].at = uint32(n)
			n += s.list[k].size()
		}
		r := &l.results[i]
		if r.absent() {
			l.at[i] = uint32(alignUp(n, abi.FuncAlign)) // so that offsets ascend
			continue
		}
		align := max(abi.FuncAlign, int(r.align))
		n = r.starts.Next(alignUp(n, align))
		l.at[i] = uint32(n)
		if !r.starts.Anywhere() {
			align = max(align, machbuffer.CacheLine)
		}
		l.o.Sections[secText].Align = uint32(max(align, int(l.o.Sections[secText].Align)))
		n += int(r.code.len())
		if n > abi.MaxSectionBytes {
			return 0, &LimitError{What: "bytes of code", Limit: abi.MaxSectionBytes}
		}
	}
	l.at[len(l.cm.Funcs)] = uint32(n)
	return n, nil
}

// alignUp returns the lowest multiple of align, a power of two, from n on.
func alignUp(n, align int) int { return (n + align - 1) &^ (align - 1) }

func (l *linker) applyRelocs(i uint32, r *result, s *islands) error {
	for _, rel := range r.worker.relocs.at(r.relocs) {
		l.opt.stop.Poll()
		if !l.target.relocs.Has(rel.Kind) || rel.Kind.Width() != 4 {
			return l.internal(i, "relocation of a kind that code of this machine does not have")
		}
		sym := backend.SymRef(rel.Symbol)
		out := objfile.Reloc{Offset: uint64(l.at[i] + rel.Offset), Kind: rel.Kind, Addend: rel.Addend}
		switch {
		case uint64(rel.Offset)+out.Kind.Width() > uint64(r.code.len()):
			return l.internal(i, "relocation outside of the code")
		case sym == backend.SymInstance:
			out.Symbol = l.symData
			l.textRelocs = append(l.textRelocs, out)
		case sym.Func() >= uint32(len(l.cm.Funcs)) || sym.Func() < uint32(l.cm.NumImportedFuncs):
			return l.internal(i, "relocation names a function that is not defined here")
		case !out.Apply(l.text, 0, uint64(s.target(i, rel.Offset, sym.Func(), l.at))):
			return l.funcError(i, "link", fmt.Errorf("%w: a call over such a distance, in %d bytes of code", backend.ErrUnsupported, len(l.text)))
		}
	}
	return nil
}

func (l *linker) internal(i uint32, reason string) error {
	return l.funcError(i, "link", fmt.Errorf("internal error: %s", reason))
}

// addSites adds the sites of function i to the metadata.
func (l *linker) addSites(i uint32, r *result) error {
	m, w, at, size := l.m, r.worker, l.at[i], r.code.len()
	var ok bool
	inlined := len(m.Inlined)
	l.addPlaces(r)
	move := func(offset, src *uint32) *uint32 {
		*src = moved(*src, inlined)
		return offset
	}
	if m.Traps, ok = appendSites(l, m.Traps, w.traps.at(r.traps), at, size, func(s *abi.TrapSite) *uint32 { return move(&s.Offset, &s.Src) }); !ok {
		return l.internal(i, "trap sites")
	}
	// The last call may have the end of the code as its return address.
	if m.Calls, ok = appendSites(l, m.Calls, w.calls.at(r.calls), at, size+1, func(s *abi.CallSite) *uint32 { return move(&s.Offset, &s.Src) }); !ok {
		return l.internal(i, "call sites")
	}
	if m.Handlers, ok = appendSites(l, m.Handlers, w.handlers.at(r.handlers), at, size+1, func(h *abi.Handler) *uint32 {
		h.Landing += at
		return &h.Return
	}); !ok {
		return l.internal(i, "handlers")
	}
	if !l.addStackMaps(w.maps.at(r.maps), at, size+1) {
		return l.internal(i, "stack maps")
	}
	return nil
}

// addStackMaps is appendSites for stack maps.
func (l *linker) addStackMaps(maps []abi.StackMap, at, end uint32) bool {
	next := uint32(0)
	l.maps.Function()
	for i := range maps {
		l.opt.stop.Poll()
		o := maps[i].Offset
		if o < next || o >= end {
			return false
		}
		next = o + 1
		l.maps.Add(at+o, maps[i].Slots)
	}
	return true
}

// appendSites appends the sites of a function whose code is at at. It reports whether their offsets ascend, and are below end.
func appendSites[S any](l *linker, dst, sites []S, at, end uint32, offset func(*S) *uint32) ([]S, bool) {
	next := uint32(0)
	for i := range sites {
		l.opt.stop.Poll()
		dst = append(dst, sites[i])
		o := offset(&dst[len(dst)-1])
		if *o < next || *o >= end {
			return dst, false
		}
		next = *o + 1
		*o += at
	}
	return dst, true
}

// layRodata concatenates the data segments.
func (l *linker) layRodata() {
	n := uint32(0)
	for i := range l.cm.Datas {
		l.opt.stop.Poll()
		n = dataEnd(n, &l.cm.Datas[i])
	}
	l.rodata = make([]byte, 0, n)
	for i := range l.cm.Datas {
		l.opt.stop.Poll()
		l.rodata = append(l.rodata, l.cm.Datas[i].Bytes...)
		for len(l.rodata)%dataAlign != 0 {
			l.rodata = append(l.rodata, 0)
		}
	}
}

// finish puts the bytes into the sections, and the metadata, whose last part needs all
// other sections.
func (l *linker) finish() {
	s := l.o.Sections
	s[secText].Data, s[secText].Relocs = l.text, l.textRelocs
	s[secAdapters].Data, s[secAdapters].Relocs = l.adapters.code, l.adapters.relocs
	s[secRodata].Data = l.rodata
	s[secData].Data, s[secData].Relocs = l.data, l.dataRelocs
	s[secRelro].Data, s[secRelro].Relocs = l.relro.data, l.relro.relocs
	complete := [...]objfile.SectionIndex{secText, secAdapters, secRodata, secData, secRelro}
	tables := [...]objfile.SectionIndex{secTraps, secStackMaps, secCalls}
	l.m.Digests = make([]meta.SectionDigest, len(complete)+len(tables))
	digest := func(to []meta.SectionDigest, sections []objfile.SectionIndex) {
		for k, i := range sections {
			to[k] = meta.SectionDigest{Section: s[i].Name, Digest: l.o.Digest(i)}
		}
	}
	l.aside(func() { digest(l.m.Digests, complete[:]) }, func() {
		t := meta.EncodeTables(l.m)
		s[secTraps].Data, s[secStackMaps].Data, s[secCalls].Data = t.Traps, t.StackMaps, t.Calls
		eh := objfile.EHFrame(l.target.cfi, append(l.frames, l.adapters.frames...))
		s[secEHFrame].Data, s[secEHFrame].Relocs = eh.Data, eh.Relocs
		digest(l.m.Digests[len(complete):], tables[:])
	})
	s[secMeta].Data = meta.EncodeMeta(l.m)
}

// limitTables checks the tables about code, which count as code: a call may take more bytes there than in the code.
func (l *linker) limitTables() error {
	n := uint64(l.account.code.Load())
	for _, i := range [...]objfile.SectionIndex{secTraps, secStackMaps, secCalls} {
		size := uint64(len(l.o.Sections[i].Data))
		if size > abi.MaxSectionBytes {
			return &LimitError{What: "bytes of " + l.o.Sections[i].Name, Want: size, Limit: abi.MaxSectionBytes}
		}
		n += size
	}
	if most := l.opt.Limits.CodeBytes; most != 0 && n > most {
		return &LimitError{What: "bytes of code", Want: n, Limit: most}
	}
	return nil
}

func importOf(n *clif.ImportName) *meta.ImportName {
	if n == nil {
		return nil
	}
	return &meta.ImportName{Module: n.Module, Name: n.Name}
}

// exceptions reports whether the instance data has the part for exceptions: for the tags, or for code that throws again or catches what others throw.
func (l *linker) exceptions() bool { return len(l.cm.Tags) > 0 || l.throws }

// describeExceptions returns the parts of the instance data that exceptions need, and the tags.
func (l *linker) describeExceptions() *meta.Exceptions {
	lay := l.layout
	x := &meta.Exceptions{Helpers: lay.Exceptions(), Current: lay.Exception(), Words: lay.ExceptionWords(), TagSlots: lay.Tag(0)}
	for i := range l.cm.Tags {
		l.opt.stop.PollAt(i)
		x.Tags = append(x.Tags, meta.Tag{Type: uint32(l.cm.Tags[i].Sig), Import: importOf(l.cm.Tags[i].Import)})
	}
	return x
}

// describe fills the metadata but for the tables of sites.
func (l *linker) describe() {
	m, cm, lay := l.m, l.cm, l.layout
	m.ABI, m.Arch, m.CPU, m.Name = abi.Version, l.target.arch, l.target.cpu, cm.Name
	if c := l.opt.Fuel; c != nil {
		m.ABI, m.Fuel = abi.FuelVersion, &meta.Fuel{Slack: l.opt.FuelSlack, Costs: c.String()}
	}
	if l.exceptions() {
		m.ABI, m.Exceptions = abi.ExceptionsVersion, l.describeExceptions()
	}
	if l.heap {
		m.ABI, m.Heap = abi.HeapVersion, &meta.Heap{Part: lay.Heap(), Defs: cm.Types}
	}
	if m.Name == "" {
		m.Name = l.opt.Name
	}
	m.InstanceSize, m.Helpers, m.TypeSlots = lay.Size(l.exceptions(), l.heap), lay.Helper(0), lay.TypesOffset()
	for _, s := range lay.TypeSlots() {
		m.SlotTypes = append(m.SlotTypes, uint32(s))
	}
	for i := range cm.Sigs {
		l.opt.stop.Poll()
		m.Types = append(m.Types, cm.Sigs[i].FuncType())
	}
	for i := range cm.Memories {
		x := &cm.Memories[i]
		d := meta.Memory{Slot: lay.Memory(clif.MemoryIndex(i)), Min: x.Min, Max: x.Max, HasMax: x.HasMax, Checked: x.Checked, Import: importOf(x.Import)}
		if !d.HasMax {
			d.Max = x.MaxPages()
		}
		m.Memories = append(m.Memories, d)
	}
	for i := range cm.Tables {
		x := &cm.Tables[i]
		d := meta.Table{Slot: lay.Table(clif.TableIndex(i)), Elem: x.ValType(), Min: x.Min, Max: x.Max, HasMax: x.HasMax, Import: importOf(x.Import)}
		if !d.HasMax {
			d.Max = max(d.Min, abi.DefaultTableElements)
		}
		m.Tables = append(m.Tables, d)
	}
	for i := range cm.Globals {
		x := &cm.Globals[i]
		off, _ := lay.Global(clif.GlobalIndex(i))
		m.Globals = append(m.Globals, meta.Global{Offset: off, Type: x.ValType(), Mutable: x.Mutable, Import: importOf(x.Import)})
	}
	for i := range cm.Elems {
		if x := &cm.Elems[i]; x.Type == clif.Ref && len(x.Funcs) != 0 {
			m.Elems = append(m.Elems, meta.Elem{Pair: lay.Elem(uint32(i)), Array: lay.ElemArray(uint32(i)), Len: uint32(len(x.Funcs))})
		}
	}
	at := uint32(0)
	for i := range cm.Datas {
		l.opt.stop.Poll()
		x := &cm.Datas[i]
		if n := uint32(len(x.Bytes)); x.Static && n != 0 {
			m.Datas = append(m.Datas, meta.Data{Pair: lay.Data(uint32(i)), Memory: uint32(x.Memory), Offset: uint32(x.Offset), Rodata: at, Len: n})
		}
		at = dataEnd(at, x)
	}
	m.Saves = slices.Grow(m.Saves, len(cm.Funcs))
	for i := range cm.Funcs {
		l.opt.stop.Poll()
		m.Funcs = append(m.Funcs, l.describeFunc(clif.FuncIndex(i)))
		m.Saves = append(m.Saves, l.describeSaves(clif.FuncIndex(i)))
	}
	for i := range cm.Exports {
		x := &cm.Exports[i]
		m.Exports = append(m.Exports, meta.Export{Name: x.Name, Kind: x.Kind, Index: x.Index})
	}
}

// describeSaves returns what function i saves.
func (l *linker) describeSaves(i clif.FuncIndex) (s abi.Saves) {
	if l.cm.Funcs[i].Import == nil && !l.results[i].absent() {
		r := &l.results[i]
		s = l.saves(r.saved, r.worker.unwind.at(r.unwind))
	}
	return s
}

// saves describes the registers that a function saves, and where in its code, as hosts know them.
func (l *linker) saves(s regalloc.PRegSet, changes []abi.CFIChange) (out abi.Saves) {
	if s == 0 {
		return out
	}
	n, from := 0, len(l.saveChanges)
	for kept := l.target.kept; kept != 0; kept = kept.Remove(kept.First()) {
		if s.Has(kept.First()) {
			out.Registers |= 1 << n
		}
		n++
	}
	saved := false
	for i := range changes {
		switch c := &changes[i]; c.Kind {
		case abi.RegistersSaved, abi.RegistersKept:
			if now := c.Kind == abi.RegistersSaved; now != saved {
				saved = now
				if n := len(l.saveChanges); n > from && l.saveChanges[n-1] == c.Offset {
					l.saveChanges = l.saveChanges[:n-1]
				} else {
					l.saveChanges = append(l.saveChanges, c.Offset)
				}
			}
		}
	}
	out.Changes = l.saveChanges[from:len(l.saveChanges):len(l.saveChanges)]
	return out
}

func (l *linker) describeFunc(i clif.FuncIndex) meta.Func {
	x := &l.cm.Funcs[i]
	f := meta.Func{Type: uint32(x.Sig), Name: x.Name, Import: importOf(x.Import)}
	if f.Import != nil {
		f.Slot = l.layout.Import(i)
		return f
	}
	f.Text, f.Size = l.at[i], l.results[i].code.len()
	f.Frame = l.results[i].frame
	if off, ok := l.layout.Desc(i); ok {
		f.Desc, f.HasDesc = off, true
	}
	return f
}
