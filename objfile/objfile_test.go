package objfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/reloc"
)

// sample is an object with everything in it. Its text has a reloc.PC32 reference to data and a
// call of an undefined symbol; its data has absolute addresses.
func sample(prefix string) *Object {
	o := &Object{Machine: X86_64}
	text := o.AddSection(Section{Name: ".text", Flags: Alloc | Exec, Align: 16, Data: bytes.Repeat([]byte{0xcc}, 32)})
	ro := o.AddSection(Section{Name: ".rodata", Flags: Alloc, Align: 8, Data: []byte("constants")})
	data := o.AddSection(Section{Name: ".data", Flags: Alloc | Write, Align: 16, Data: make([]byte, 32)})
	bss := o.AddSection(Section{Name: ".bss", Kind: Nobits, Flags: Alloc | Write, Align: 64, Size: 100})
	typ := o.AddSection(Section{Name: ".rodata.type.a", Flags: Alloc, Align: 8, Data: []byte("record a")})
	o.AddSection(StackNote())
	o.AddSection(PropertyNote(X86V2))
	o.AddSymbol(Symbol{Name: prefix + ".wasm", Kind: FileSym, Section: Undefined})
	symData := o.AddSymbol(Symbol{Kind: SectionSym, Section: data})
	symText := o.AddSymbol(Symbol{Kind: SectionSym, Section: text})
	f := o.AddSymbol(Symbol{Name: prefix + "_f", Kind: Func, Section: text, Value: 0, Size: 16, Binding: Global})
	weak := o.AddSymbol(Symbol{Name: "shared_g", Kind: Func, Section: text, Value: 16, Size: 16, Binding: Weak})
	record := o.AddSymbol(Symbol{Name: "type.a", Kind: Data, Section: typ, Size: 8, Binding: Weak})
	help := o.AddSymbol(Symbol{Name: "helper", Section: Undefined, Binding: Global})
	o.AddSymbol(Symbol{Name: prefix + "_ro", Kind: Data, Section: ro, Size: 9, Binding: Global, Hidden: true})
	o.AddSymbol(Symbol{Name: prefix + "_zeros", Kind: Data, Section: bss, Size: 100, Binding: Global})
	o.Groups = append(o.Groups, Group{Signature: record, Sections: []SectionIndex{typ}})
	o.Sections[text].Relocs = []Reloc{{0, reloc.PC32, symData, 8 - 4}, {4, reloc.Call32, help, -4}, {8, reloc.PC64, f, 0}}
	o.Sections[data].Relocs = []Reloc{{0, reloc.Abs64, record, 0}, {8, reloc.Abs64, weak, 0}, {16, reloc.Abs64, symText, 3}}
	eh := EHFrame(&testCFI, []Frame{{Symbol: symText, Size: 16, HasFrame: true}, {Symbol: symText, Addend: 16, Size: 16}})
	o.AddSection(eh)
	return o
}

// testCFI is of frames with push rbp; mov rbp, rsp.
var testCFI = abi.CFI{CodeAlign: 1, ReturnAddress: 16,
	Entry: []abi.CFIRule{{Kind: abi.CFAIs, Reg: 7, Offset: 8}, {Kind: abi.SavedAt, Reg: 16, Offset: -8}},
	Steps: []abi.CFIStep{{Bytes: 1, Rules: []abi.CFIRule{{Kind: abi.CFAOffset, Offset: 16}, {Kind: abi.SavedAt, Reg: 6, Offset: -16}}},
		{Bytes: 3, Rules: []abi.CFIRule{{Kind: abi.CFARegister, Reg: 6}}}},
}

func TestRoundTrip(t *testing.T) {
	o := sample("a")
	b, err := o.AppendELF(nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadELF(b)
	if err != nil {
		t.Fatal(err)
	}
	again, err := got.AppendELF(nil)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b, again) {
		t.Error("reading and writing changes the file")
	}
	for i := range o.Sections {
		if o.Digest(SectionIndex(i)) != got.Digest(SectionIndex(i)) {
			t.Errorf("digest of %s differs", o.Sections[i].Name)
		}
	}
	if got.Symbol("a_f") == nil || !got.Symbol("a_ro").Hidden || got.Section(".bss").Size != 100 {
		t.Error("contents")
	}
	prefixed, err := o.AppendELF([]byte("x"))
	if err != nil || !bytes.Equal(prefixed[1:], b) {
		t.Error("AppendELF depends on what it appends to")
	}
}

// TestManySections: section numbers that do not fit into 16 bits.
func TestManySections(t *testing.T) {
	o := &Object{Machine: X86_64}
	for i := range 0x10000 {
		s := o.AddSection(Section{Name: ".rodata", Flags: Alloc, Data: []byte{byte(i)}})
		if i%0x3fff == 0 {
			o.AddSymbol(Symbol{Name: fmt.Sprint("s", i), Section: s, Binding: Global})
		}
	}
	b, err := o.AppendELF(nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadELF(b)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(o.Symbols, got.Symbols); d != "" || len(got.Sections) != 0x10000 {
		t.Error(d)
	}
}

func TestInvalid(t *testing.T) {
	tests := map[string]func(*Object){
		"not a power of two": func(o *Object) { o.Sections[0].Align = 3 },
		"is outside":         func(o *Object) { o.Sections[0].Relocs[0].Offset = 29 },
		"has no symbol":      func(o *Object) { o.Sections[0].Relocs[0].Symbol = 99 },
		"unknown kind":       func(o *Object) { o.Sections[0].Relocs[0].Kind = 99 },
		"occurs twice":       func(o *Object) { o.Symbols[7].Name = "a_f" },
		"outside of its":     func(o *Object) { o.Symbols[3].Size = 33 },
		"does not exist":     func(o *Object) { o.Symbols[3].Section = 33 },
		"sections of group":  func(o *Object) { o.Groups = append(o.Groups, o.Groups[0]) },
		"no name":            func(o *Object) { o.Symbols[3].Name = "" },
		"machine 7":          func(o *Object) { o.Machine = 7 },
		"local but":          func(o *Object) { o.Symbols[1].Section = Undefined },
	}
	for want, change := range tests {
		o := sample("a")
		change(o)
		var e *Error
		if _, err := o.AppendELF(nil); !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestMangle(t *testing.T) {
	for in, want := range map[string]string{"": "", "abc9": "abc9", "a_b": "a_b", "_a": "_a", "a__b": "a__b",
		"Zoo": "Z5aoo", "a.b": "aZ2eb", "é": "Zc3Za9", "a_": "a_"} {
		if got := Mangle(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	for got, want := range map[string]string{MangleIn("m_", "_f"): "m_.._f", MangleIn("9p", "1"): "Z39p..1", MangleIn("", ""): "Z..", MangleIn("a.", ".b"): "aZ2e..Z2eb",
		ReservedIn("Z", "object"): "Z5a.object"} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func FuzzMangle(f *testing.F) {
	f.Add("a", "Z61")
	f.Fuzz(func(t *testing.T, a, b string) {
		if a != b && Mangle(a) == Mangle(b) {
			t.Errorf("%q and %q are %q", a, b, Mangle(a))
		}
		if s := MangleIn(a, b); strings.Count(s, ".") != 2 || strings.HasPrefix(s, ".") || s[0] >= '0' && s[0] <= '9' {
			t.Errorf("%q, %q: %q", a, b, s)
		}
		if a != b && MangleModule(a) == MangleModule(b) {
			t.Errorf("modules %q and %q are %q", a, b, MangleModule(a))
		}
	})
}

func FuzzReadELF(f *testing.F) {
	b, err := sample("a").AppendELF(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := ReadELF(b)
		if err != nil {
			var fe *FormatError
			if !errors.As(err, &fe) {
				t.Fatalf("%T", err)
			}
			return
		}
		if len(o.Sections) > 100 { // padding could make the file large
			return
		}
		c, err := o.AppendELF(nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ReadELF(c); err != nil {
			t.Fatal(err)
		}
	})
}

// TestDamagedELF: any change of a byte, and any cut, gives an object or a FormatError.
func TestDamagedELF(t *testing.T) {
	b, err := sample("a").AppendELF(nil)
	if err != nil {
		t.Fatal(err)
	}
	try := func(b []byte) {
		var fe *FormatError
		o, err := ReadELF(b)
		if err != nil {
			if !errors.As(err, &fe) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		c, err := o.AppendELF(nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ReadELF(c); err != nil {
			t.Fatal(err)
		}
	}
	for i := range b {
		try(b[:i])
		for _, x := range []byte{1, 0x80, 0xff} {
			c := bytes.Clone(b)
			c[i] ^= x
			try(c)
		}
	}
}

// TestApply: the addend, the offset of the field and the address of its section count.
func TestApply(t *testing.T) {
	o := sample("a")
	const text, target = 0x40000000, 0x40010000
	for n, want := range []uint64{target + 8 - 4 - text, target - 4 - (text + 4), target - (text + 8)} {
		r, data := &o.Sections[0].Relocs[n], bytes.Clone(o.Sections[0].Data)
		if !r.Apply(data, text, target) {
			t.Errorf("relocation %d does not reach", n)
		}
		field := data[r.Offset:][:r.Kind.Width()]
		wanted := binary.LittleEndian.AppendUint64(nil, want)[:len(field)]
		if !bytes.Equal(field, wanted) {
			t.Errorf("relocation %d: %x, want %x", n, field, wanted)
		}
		copy(field, o.Sections[0].Data[r.Offset:])
		if !bytes.Equal(data, o.Sections[0].Data) {
			t.Errorf("relocation %d changes more than its field", n)
		}
	}
	far := Reloc{Kind: reloc.PC32, Addend: 1 << 40}
	if data := bytes.Clone(o.Sections[0].Data); far.Apply(data, text, target) || !bytes.Equal(data, o.Sections[0].Data) {
		t.Error("a distance that does not fit")
	}
}

func TestWriteFileAtomic(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "out")
	if err := WriteFileAtomic(name, []byte("one"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := WriteFileAtomic(name, []byte("two"), 0o755); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(name)
	if err != nil || string(b) != "two" {
		t.Error(string(b), err)
	}
	if st, _ := os.Stat(name); runtime.GOOS != "windows" && st.Mode().Perm()&0o100 == 0 {
		t.Error(st.Mode())
	}
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{filepath.Join(dir, "sub"), filepath.Join(dir, "no", "file")} {
		if err := WriteFileAtomic(bad, []byte("x"), 0o644); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Error("left behind:", entries)
	}
	if _, err := os.Stat("/dev/full"); err == nil {
		if err := WriteFileAtomic("/dev/full", []byte("x"), 0o644); err == nil {
			t.Error("full device: no error")
		}
	}
}

// TestTogether: functions that lie together share an entry of .eh_frame. What is far away, or of another symbol, does not, and entries do not
// get too long. Between two functions with frames, the rules return to those of the entry.
func TestTogether(t *testing.T) {
	at := func(symbol SymbolIndex, offset int64, frame bool) Frame {
		return Frame{Symbol: symbol, Addend: offset, Size: 10, HasFrame: frame}
	}
	var many []Frame
	for i := range int64(maxTogether + 1) {
		many = append(many, at(1, 16*i, true))
	}
	for _, x := range []struct {
		frames                        []Frame
		entries, remembered, restored int
	}{
		{[]Frame{at(1, 0, true)}, 1, 0, 0},
		{[]Frame{at(1, 0, true), at(1, 16, true)}, 1, 1, 1},
		{[]Frame{at(1, 0, false), at(1, 16, true), at(1, 32, false), at(1, 48, false), at(1, 64, true)}, 1, 1, 1},
		{[]Frame{at(1, 0, true), at(2, 16, true)}, 2, 0, 0},
		{[]Frame{at(1, 0, true), at(1, 10+maxGap, true)}, 1, 1, 1},
		{[]Frame{at(1, 0, true), at(1, 11+maxGap, true)}, 2, 0, 0},
		{[]Frame{at(1, 16, true), at(1, 0, true)}, 2, 0, 0},
		{many, 2, maxTogether - 1, maxTogether - 1},
	} {
		s := EHFrame(&testCFI, x.frames)
		remembered, restored := 0, 0
		le := binary.LittleEndian
		for i, r := range s.Relocs {
			end := len(s.Data)
			if i+1 < len(s.Relocs) {
				end = int(s.Relocs[i+1].Offset) - 8
			}
			size := le.Uint32(s.Data[r.Offset+4:])
			if size == 0 || size > 16*maxTogether {
				t.Errorf("%d frames: entry of %d bytes", len(x.frames), size)
			}
			code := s.Data[r.Offset+9 : end]
			remembered += bytes.Count(code, []byte{cfaRemember})
			restored += bytes.Count(code, []byte{cfaRestoreState})
		}
		if len(s.Relocs) != x.entries || remembered != x.remembered || restored != x.restored {
			t.Errorf("%d frames: %d entries, %d and %d states, want %+v", len(x.frames), len(s.Relocs), remembered, restored, x)
		}
	}
}
