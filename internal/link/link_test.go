package link

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/emulate"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/internal/reloc"
	"github.com/waot-project/waot/objfile"
)

// exit is a program that ends with the status that the 4 bytes of the symbol "status" say, found through the word "pointer",
// which holds an address that nothing has added the program's own to.
var exit = map[objfile.Machine]struct {
	name   string
	code   []uint32
	relocs []objfile.Reloc // of "pointer", and of "header", the ELF header
}{
	objfile.X86_64: {"amd64", []uint32{
		0x00058b48, 0x90000000, // mov rax, [rip + pointer]; nop
		0x000d8d48, 0x90000000, // lea rcx, [rip + header]; nop
		0x90083c8b, // mov edi, [rax + rcx]; nop
		0x00003cb8, // mov eax, 60
		0x050f00,   // syscall
	}, []objfile.Reloc{{Offset: 3, Kind: reloc.PC32, Symbol: 1, Addend: -4}, {Offset: 11, Kind: reloc.PC32, Symbol: 2, Addend: -4}}},
	objfile.AArch64: {"arm64", []uint32{
		0x90000001, // adrp x1, pointer
		0xf9400021, // ldr x1, [x1, :lo12:pointer]
		0x90000002, // adrp x2, header
		0x91000042, // add x2, x2, :lo12:header
		0xb8626820, // ldr w0, [x1, x2]
		0xd2800ba8, // mov x8, 93
		0xd4000001, // svc 0
	}, []objfile.Reloc{{Offset: 0, Kind: reloc.Page21, Symbol: 1}, {Offset: 4, Kind: reloc.Ldst64Lo12, Symbol: 1},
		{Offset: 8, Kind: reloc.Page21, Symbol: 2}, {Offset: 12, Kind: reloc.AddLo12, Symbol: 2}}},
}

// exitProgram makes the objects of that program: one with the code, and one with the data.
func exitProgram(m objfile.Machine, status uint32) []Input {
	x := exit[m]
	var code []byte
	for _, w := range x.code {
		code = binary.LittleEndian.AppendUint32(code, w)
	}
	a := &objfile.Object{Machine: m}
	text := a.AddSection(objfile.Section{Name: ".text.start", Flags: objfile.Alloc | objfile.Exec, Align: 16, Data: code, Relocs: x.relocs})
	a.AddSymbol(objfile.Symbol{Name: "start", Section: text, Size: uint64(len(code)), Binding: objfile.Global, Kind: objfile.Func})
	a.AddSymbol(objfile.Symbol{Name: "pointer", Section: objfile.Undefined, Binding: objfile.Global})
	a.AddSymbol(objfile.Symbol{Name: definedNames[symHeader], Section: objfile.Undefined, Binding: objfile.Global})

	b := &objfile.Object{Machine: m}
	data := b.AddSection(objfile.Section{Name: ".data.status", Flags: objfile.Alloc | objfile.Write, Align: 32,
		Data: binary.LittleEndian.AppendUint32(nil, status)})
	relro := b.AddSection(objfile.Section{Name: ".data.rel.ro", Flags: objfile.Alloc | objfile.Write, Align: 8, Data: make([]byte, 8),
		Relocs: []objfile.Reloc{{Kind: reloc.Abs64, Symbol: 0}}})
	b.AddSymbol(objfile.Symbol{Section: data, Name: "status", Kind: objfile.Data, Size: 4})
	b.AddSymbol(objfile.Symbol{Section: relro, Name: "pointer", Binding: objfile.Global, Kind: objfile.Data, Size: 8})
	return []Input{{"code", a}, {"data", b}}
}

// TestRun runs a program on each machine, and reads it as tools do.
func TestRun(t *testing.T) {
	for elfMachine, x := range exit {
		t.Run(x.name, func(t *testing.T) {
			b, err := Executable(nil, exitProgram(elfMachine, 42), Options{Entry: "start"})
			if err != nil {
				t.Fatal(err)
			}
			checkELF(t, b)
			file := filepath.Join(t.TempDir(), "program")
			if err := os.WriteFile(file, b, 0o777); err != nil {
				t.Fatal(err)
			}
			m, err := emulate.For(x.name, "")
			if err != nil {
				testenv.Missing(t, err.Error())
			}
			err = m.Command(t.Context(), file).Run()
			var status *exec.ExitError
			if !errors.As(err, &status) || status.ExitCode() != 42 {
				t.Errorf("%v, want status 42", err)
			}
			again, err := Executable(nil, exitProgram(elfMachine, 42), Options{Entry: "start"})
			if err != nil || !bytes.Equal(b, again) {
				t.Error("the second time it is another file")
			}
		})
	}
}

// checkELF checks what the kernel and tools rely on: where segments are, their protections, and that sections lie in them.
func checkELF(t *testing.T, b []byte) {
	t.Helper()
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	end := uint64(0)
	var loads []*elf.Prog
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD {
			continue
		}
		loads = append(loads, p)
		if p.Off%p.Align != p.Vaddr%p.Align || p.Vaddr < end || p.Off+p.Filesz > uint64(len(b)) || p.Filesz > p.Memsz {
			t.Errorf("segment %+v", p.ProgHeader)
		}
		if p.Flags&elf.PF_W != 0 && p.Flags&elf.PF_X != 0 {
			t.Errorf("segment %+v is writable and executable", p.ProgHeader)
		}
		end = p.Vaddr + p.Memsz
	}
	for i := 1; i < len(loads); i++ { // no page has two protections
		if a, b := loads[i-1], loads[i]; (a.Vaddr+a.Memsz-1)/b.Align >= b.Vaddr/b.Align && a.Memsz != 0 {
			t.Errorf("segments %+v and %+v share a page", a.ProgHeader, b.ProgHeader)
		}
	}
	for _, s := range f.Sections {
		if s.Size != 0 && s.Type == elf.SHT_SYMTAB && s.Link >= uint32(len(f.Sections)) {
			t.Errorf("section %+v", s.SectionHeader)
		}
		if s.Flags&elf.SHF_ALLOC == 0 {
			continue
		}
		in := slices.ContainsFunc(loads, func(p *elf.Prog) bool {
			return s.Addr >= p.Vaddr && s.Addr+s.Size <= p.Vaddr+p.Memsz && s.Offset-p.Off == s.Addr-p.Vaddr && (s.Type == elf.SHT_NOBITS || s.Offset+s.Size <= p.Off+p.Filesz) &&
				(s.Flags&elf.SHF_WRITE != 0) == (p.Flags&elf.PF_W != 0) && (s.Flags&elf.SHF_EXECINSTR != 0) == (p.Flags&elf.PF_X != 0)
		})
		if !in || s.Addralign != 0 && s.Addr%s.Addralign != 0 {
			t.Errorf("section %+v is in no segment", s.SectionHeader)
		}
	}
}

// TestTables checks what tools read: the sections, symbols and dynamic tags of a program with zeroes and large alignments.
func TestTables(t *testing.T) {
	for _, stripped := range []bool{false, true} {
		in := exitProgram(objfile.X86_64, 1)
		o := in[1].Object
		zeroes := o.AddSection(objfile.Section{Name: ".bss.z", Kind: objfile.Nobits, Size: 100 << 20, Flags: objfile.Alloc | objfile.Write, Align: 64 << 10})
		note := objfile.PropertyNote(objfile.X86V3)
		in[0].Object.AddSection(note)
		o.AddSection(objfile.PropertyNote(objfile.X86V4)) // which has no code
		o.AddSymbol(objfile.Symbol{Name: "zeroes", Section: zeroes, Value: 16, Size: 32, Binding: objfile.Global, Kind: objfile.Data})
		o.AddSection(objfile.Section{Name: "extra_words", Flags: objfile.Alloc | objfile.Write, Align: 8, Data: make([]byte, 24)})
		status := &o.Sections[0]
		status.Data = append(status.Data, make([]byte, 12)...)
		status.Relocs = []objfile.Reloc{{Offset: 8, Kind: reloc.Abs64, Symbol: 2, Addend: 5}}
		for i, name := range slices.Concat(definedNames[:], []string{"__start_extra_words", "__stop_extra_words"}) { // in the order in which values holds them
			status.Data = append(status.Data, make([]byte, 8)...)
			sym := o.AddSymbol(objfile.Symbol{Name: name, Section: objfile.Undefined, Binding: objfile.Global})
			status.Relocs = append(status.Relocs, objfile.Reloc{Offset: uint64(16 + 8*i), Kind: reloc.Abs64, Symbol: sym})
		}
		b, err := Executable([]byte("before"), in, Options{Entry: "start", Stripped: stripped})
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(b, []byte("before")) || len(b) > 64<<10 {
			t.Errorf("a file of %d bytes", len(b))
		}
		b = b[len("before"):]
		checkELF(t, b)
		f, err := elf.NewFile(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		section := func(name string) *elf.Section {
			s := f.Section(name)
			if s == nil {
				t.Fatalf("no section %s", name)
			}
			return s
		}
		relr, err := section(".relr.dyn").Data()
		if err != nil {
			t.Fatal(err)
		}
		data := section(".data")
		words := []uint64{section(".data.rel.ro").Addr}
		for at := data.Addr + 8; at < data.Addr+data.Size-24; at += 8 {
			words = append(words, at)
		}
		if diff := cmp.Diff(words, decodeRelr(relr)); diff != "" {
			t.Error(diff)
		}
		content, err := data.Data()
		if err != nil {
			t.Fatal(err)
		}
		zero := section(".bss").Addr + 16
		if got := binary.LittleEndian.Uint64(content[8:]); got != zero+5 {
			t.Errorf("the address of zeroes is %#x, want %#x", got-5, zero)
		}
		list, relro := section(".relr.dyn"), section(".data.rel.ro")
		for i, want := range [...]uint64{0, list.Addr, list.Addr + list.Size, section(".dynamic").Addr, relro.Addr + relro.Size, data.Addr + data.Size - 24, data.Addr + data.Size} {
			if got := binary.LittleEndian.Uint64(content[16+8*i:]); got != want {
				t.Errorf("address %d is %#x, want %#x", i, got, want)
			}
		}
		for tag, want := range map[elf.DynTag]uint64{dtRelr: section(".relr.dyn").Addr, dtRelrsz: uint64(len(relr)), dtRelrent: 8, elf.DT_FLAGS: uint64(elf.DF_BIND_NOW),
			elf.DT_FLAGS_1: uint64(elf.DF_1_NOW | elf.DF_1_PIE), elf.DT_SYMTAB: section(".dynsym").Addr, elf.DT_STRTAB: section(".dynstr").Addr} {
			if got, err := f.DynValue(tag); err != nil || len(got) != 1 || got[0] != want {
				t.Errorf("tag %v: %#x %v, want %#x", tag, got, err, want)
			}
		}
		property, err := section(".note.gnu.property").Data()
		if err != nil || !bytes.Equal(property, note.Data) {
			t.Errorf("property %x %v, want %x", property, err, note.Data)
		}
		symbols, err := f.Symbols()
		switch {
		case stripped && errors.Is(err, elf.ErrNoSymbols):
			continue
		case err != nil:
			t.Fatal(err)
		}
		var got []string
		for _, s := range symbols {
			in := f.Sections[s.Section]
			got = append(got, fmt.Sprintf("%s %s+%d %d %v %v", s.Name, in.Name, s.Value-in.Addr, s.Size, elf.ST_BIND(s.Info), elf.ST_TYPE(s.Info)))
		}
		want := []string{"status .data+0 4 STB_LOCAL STT_OBJECT", "start .text+0 28 STB_GLOBAL STT_FUNC", "pointer .data.rel.ro+0 8 STB_GLOBAL STT_OBJECT",
			"zeroes .bss+16 32 STB_GLOBAL STT_OBJECT"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// TestProperty checks which objects count for what a program keeps: all that have code.
func TestProperty(t *testing.T) {
	for _, c := range []struct {
		code, data, more bool // which objects say that they have landing pads; more has code, too
		withMore, want   bool
	}{{code: true, want: true}, {code: true, data: true, want: true}, {data: true}, {code: true, withMore: true}, {code: true, more: true, withMore: true, want: true}} {
		in := exitProgram(objfile.AArch64, 1)
		if c.withMore {
			more := exitProgram(objfile.AArch64, 1)[0]
			more.Object.Symbols[0].Name = "more"
			in = append(in, more)
		}
		for i, says := range []bool{c.code, c.data, c.more} {
			if says {
				in[i].Object.AddSection(objfile.BTINote())
			}
		}
		b, err := Executable(nil, in, Options{Entry: "start"})
		if err != nil {
			t.Fatal(err)
		}
		f, err := elf.NewFile(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Section(objfile.SectionProperty) != nil; got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}

// TestRelr encodes random sets of words and decodes them as the generic ABI's draft says.
func TestRelr(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var lists [numSegments][]uint64
		var want []uint64
		at := uint64(8 * rng.IntN(100))
		for s := range lists {
			for range rng.IntN(100) {
				at += 8 * uint64(1+rng.IntN(1+rng.IntN(200)))
				lists[s] = append(lists[s], at)
			}
		}
		for _, l := range lists {
			want = append(want, l...)
		}
		if diff := cmp.Diff(want, decodeRelr(encodeRelr(lists))); diff != "" {
			t.Fatal(diff)
		}
	}
}

func decodeRelr(b []byte) (words []uint64) {
	next := uint64(0)
	for ; len(b) > 0; b = b[8:] {
		e := binary.LittleEndian.Uint64(b)
		if e&1 == 0 {
			words = append(words, e)
			next = e + 8
			continue
		}
		for i := range uint64(63) {
			if e>>(i+1)&1 != 0 {
				words = append(words, next+8*i)
			}
		}
		next += 63 * 8
	}
	return words
}

// TestResolve links objects whose symbols meet, or do not.
func TestResolve(t *testing.T) {
	const code = objfile.Alloc | objfile.Exec
	// An object of functions of 16 bytes. A name that begins with "w:" is weak, with "g:" in a COMDAT group of that name;
	// "?" is a reference from the first function.
	object := func(names ...string) *objfile.Object {
		o := &objfile.Object{Machine: objfile.X86_64}
		for _, name := range names {
			if undefined, ok := strings.CutPrefix(name, "?"); ok {
				sym := objfile.SymbolIndex(slices.IndexFunc(o.Symbols, func(s objfile.Symbol) bool { return s.Name == undefined }))
				if int32(sym) < 0 {
					sym = o.AddSymbol(objfile.Symbol{Name: undefined, Section: objfile.Undefined, Binding: objfile.Global})
				}
				s := &o.Sections[0]
				s.Relocs = append(s.Relocs, objfile.Reloc{Offset: 4 * uint64(len(s.Relocs)), Kind: reloc.PC32, Symbol: sym})
				continue
			}
			binding := objfile.Global
			name, weak := strings.CutPrefix(name, "w:")
			name, grouped := strings.CutPrefix(name, "g:")
			if weak {
				binding = objfile.Weak
			}
			n := o.AddSection(objfile.Section{Name: ".text." + name, Flags: code, Align: 16, Data: make([]byte, 16)})
			sym := o.AddSymbol(objfile.Symbol{Name: name, Section: n, Binding: binding, Kind: objfile.Func})
			if grouped {
				o.Groups = append(o.Groups, objfile.Group{Signature: sym, Sections: []objfile.SectionIndex{n}})
			}
		}
		return o
	}
	edges := func() *objfile.Object {
		o := &objfile.Object{Machine: objfile.X86_64}
		o.AddSection(objfile.Section{Name: "words", Flags: objfile.Alloc, Data: make([]byte, 8)})
		return o
	}
	for _, c := range []struct {
		name    string
		objects []*objfile.Object
		want    string // the functions that the program has, by object; or the error
	}{
		{"what nothing refers to is left out", []*objfile.Object{object("start", "?a", "b"), object("c", "a")}, "0.start 1.a"},
		{"a strong definition behind a weak one", []*objfile.Object{object("start", "?a"), object("w:a"), object("a")}, "0.start 2.a"},
		{"a weak definition behind a strong one", []*objfile.Object{object("start", "?a"), object("a"), object("w:a")}, "0.start 1.a"},
		{"the first of weak ones", []*objfile.Object{object("start", "?a"), object("w:a"), object("w:a")}, "0.start 1.a"},
		{"one group of a name", []*objfile.Object{object("start", "?g", "?a"), object("g:g"), object("a", "g:g", "?g")}, "0.start 1.g 2.a"},
		{"two definitions", []*objfile.Object{object("start"), object("a"), object("a")}, `link: 2: symbol "a" is defined twice`},
		{"the linker's own names", []*objfile.Object{object("start", "waot_link_relr")}, `link: 0: symbol "waot_link_relr" is defined twice`},
		{"missing", []*objfile.Object{object("start", "?a", "?x", "?y"), object("a", "?z", "?x")}, "link: nothing defines x, y, z"},
		{"missing where nothing comes", []*objfile.Object{object("start"), object("a", "?z")}, "0.start"},
		{"no entry", []*objfile.Object{object("a")}, "link: nothing defines start"},
		{"two sections of one name that has edges", []*objfile.Object{object("start"), edges(), edges()}, `link: 2: second section "words"`},
		{"no objects", nil, "link: no objects"},
	} {
		var inputs []Input
		for i, o := range c.objects {
			for n := range o.Symbols {
				if s := &o.Symbols[n]; s.Section != objfile.Undefined {
					s.Size = uint64(i + 1)
				}
			}
			inputs = append(inputs, Input{strconv.Itoa(i), o})
		}
		b, err := Executable(nil, inputs, Options{Entry: "start"})
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = functions(t, b)
		}
		if got != c.want {
			t.Errorf("%s: %s; want %s", c.name, got, c.want)
		}
	}
}

// functions lists the functions of a program as object.name: the size of a symbol is one more than its object's number.
func functions(t *testing.T, b []byte) string {
	t.Helper()
	checkELF(t, b)
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	if size := f.Section(".text").Size; size != 16*uint64(len(symbols)) {
		t.Errorf("%d bytes of code, %d functions", size, len(symbols))
	}
	names := make([]string, len(symbols))
	for i, s := range symbols {
		names[i] = fmt.Sprintf("%d.%s", s.Size-1, s.Name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// TestFrames checks that the entries of functions that are left out are, too, and that the others say what they said.
func TestFrames(t *testing.T) {
	info := &abi.CFI{CodeAlign: 1, ReturnAddress: 16}
	o := &objfile.Object{Machine: objfile.X86_64}
	var frames []objfile.Frame
	for i, name := range []string{"a", "start", "b", "c"} {
		n := o.AddSection(objfile.Section{Name: ".text." + name, Flags: objfile.Alloc | objfile.Exec, Align: 16, Data: make([]byte, 16*(i+1))})
		sym := o.AddSymbol(objfile.Symbol{Name: name, Section: n, Size: uint64(16 * (i + 1)), Binding: objfile.Global, Kind: objfile.Func})
		frames = append(frames, objfile.Frame{Symbol: sym, Size: uint32(16 * (i + 1))})
	}
	o.Sections[1].Relocs = []objfile.Reloc{{Kind: reloc.PC32, Symbol: 3}}
	o.AddSection(objfile.EHFrame(info, frames))
	b, err := Executable(nil, []Input{{"o", o}, {"again", &objfile.Object{Machine: objfile.X86_64}}}, Options{Entry: "start"})
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	s := f.Section(".eh_frame")
	data, err := s.Data()
	if err != nil {
		t.Fatal(err)
	}
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	le := binary.LittleEndian
	var got []string
	for at := 0; at < len(data); at += 4 + int(le.Uint32(data[at:])) {
		id := int(le.Uint32(data[at+4:]))
		if id == 0 {
			continue
		}
		if at+4-id != 0 {
			t.Errorf("the entry at %#x is of the CIE at %#x", at, at+4-id)
		}
		function := s.Addr + uint64(at) + 8 + uint64(int64(int32(le.Uint32(data[at+8:]))))
		for _, sym := range symbols {
			if sym.Value == function && sym.Size == uint64(le.Uint32(data[at+12:])) {
				got = append(got, sym.Name)
			}
		}
	}
	if diff := cmp.Diff([]string{"start", "c"}, got); diff != "" {
		t.Error(diff)
	}

	eh := o.Section(".eh_frame")
	second := 4 + int(le.Uint32(eh.Data)) // where the first entry of a function is
	damage := func(change func(s *objfile.Section)) error {
		s := *eh
		s.Data, s.Relocs = slices.Clone(s.Data), slices.Clone(s.Relocs)
		change(&s)
		damaged := *o
		damaged.Sections = slices.Clone(o.Sections)
		damaged.Sections[len(damaged.Sections)-1] = s
		_, err := Executable(nil, []Input{{"o", &damaged}}, Options{Entry: "start"})
		return err
	}
	for name, change := range map[string]func(s *objfile.Section){
		"longer than the section":  func(s *objfile.Section) { le.PutUint32(s.Data[second:], 1<<20) },
		"shorter than an entry":    func(s *objfile.Section) { le.PutUint32(s.Data[second:], 3) },
		"no CIE there":             func(s *objfile.Section) { le.PutUint32(s.Data[second+4:], uint32(second)+12) },
		"no function":              func(s *objfile.Section) { s.Relocs = s.Relocs[1:] },
		"the function's elsewhere": func(s *objfile.Section) { s.Relocs[0].Offset += 4 },
	} {
		if err := damage(change); err == nil || err.Error() != "link: o: section .eh_frame is malformed" {
			t.Errorf("%s: %v", name, err)
		}
	}
	for cut := range len(eh.Data) { // nothing panics
		_ = damage(func(s *objfile.Section) {
			s.Data = s.Data[:cut]
			s.Relocs = slices.DeleteFunc(s.Relocs, func(r objfile.Reloc) bool { return int(r.Offset)+4 > cut })
		})
	}
	if err := damage(func(s *objfile.Section) { s.Data = append(s.Data, 0, 0, 0, 0) }); err != nil {
		t.Errorf("with an end: %v", err)
	}
}

// TestRefused checks what cannot be linked.
func TestRefused(t *testing.T) {
	program := func(change func(in []Input)) []Input {
		in := exitProgram(objfile.X86_64, 1)
		change(in)
		return in
	}
	for _, c := range []struct {
		want   string
		inputs []Input
	}{
		{"link: data: code for machine 183", program(func(in []Input) { in[1].Object.Machine = objfile.AArch64 })},
		{`link: data: objfile: section ".data.status": alignment is not a power of two, or too large`,
			program(func(in []Input) { in[1].Object.Sections[0].Align = 3 })},
		{`link: data: section ".data.rel.ro": the address at 0x0 is not in a word that can be written`,
			program(func(in []Input) { in[1].Object.Sections[1].Flags = objfile.Alloc })},
		{`link: data: section ".note.x" cannot be a part of a program`,
			program(func(in []Input) {
				in[1].Object.Sections[0].Kind, in[1].Object.Sections[0].Name = objfile.Note, ".note.x"
			})},
		{`link: code: section ".text.start": what the field at 0x3 refers to is too far away`,
			program(func(in []Input) { in[0].Object.Sections[0].Relocs[0].Addend = 1 << 40 })},
	} {
		_, err := Executable(nil, c.inputs, Options{Entry: "start"})
		if err == nil || err.Error() != c.want {
			t.Errorf("%v; want %s", err, c.want)
		}
	}
}
