package load_test

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/host/sign"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/internal/proof/hostile"
	"github.com/waot-project/waot/internal/proof/wasmgen"
	"github.com/waot-project/waot/internal/reloc"
	"github.com/waot-project/waot/objfile"
)

// tables are the sections of metadata.
var tables = []string{meta.SectionMeta, meta.SectionTraps, meta.SectionStackMaps, meta.SectionCalls}

// edit is one change of an object: of what a byte chooses, at a place that two bytes choose, by a byte.
type edit struct {
	what  byte
	at    int
	value byte
}

const editSize = 4

// edits are what bytes stand for.
func edits(b []byte) (list []edit) {
	for ; len(b) >= editSize; b = b[editSize:] {
		list = append(list, edit{b[0], int(b[1])<<8 | int(b[2]), b[3]})
	}
	return list
}

// bytesOf changes, lengthens or shortens b.
func (e *edit) bytesOf(b []byte) []byte {
	if len(b) == 0 {
		return b
	}
	switch at := e.at % len(b); e.what >> 4 {
	case 0:
		return slices.Insert(b, at, e.value)
	case 1:
		return slices.Delete(b, at, min(len(b), at+1+int(e.value%8)))
	case 2:
		b[at] += e.value
	default:
		b[at] = e.value
	}
	return b
}

// apply makes the edit of an object, unless it is one of the file.
func (e *edit) apply(o *objfile.Object) {
	section := &o.Sections[e.at%len(o.Sections)]
	symbol := &o.Symbols[e.at%len(o.Symbols)]
	var rel *objfile.Reloc
	if n := len(section.Relocs); n > 0 {
		rel = &section.Relocs[e.at/len(o.Sections)%n]
	}
	switch what := e.what & 15; {
	case what < 7: // the metadata, most of all the first part
		s := o.Section(tables[min(3, max(0, int(what)-3))])
		s.Data = e.bytesOf(s.Data)
	case what == 7:
		s := &o.Sections[e.value%8&^1] // those with code and data come first
		s.Data = e.bytesOf(s.Data)
	case what == 8 && rel != nil:
		rel.Offset += uint64(int8(e.value))
	case what == 9 && rel != nil:
		rel.Kind = reloc.Kind(e.value % 16)
	case what == 10 && rel != nil:
		rel.Symbol = objfile.SymbolIndex(int(e.value) % (len(o.Symbols) + 1))
	case what == 11 && rel != nil:
		rel.Addend += int64(int8(e.value)) << (e.what >> 4 * 4)
	case what == 12:
		symbol.Section = objfile.SectionIndex(int(e.value)%(len(o.Sections)+2) - 1)
	case what == 13:
		symbol.Value += uint64(int8(e.value)) << (e.what >> 4 * 2)
	case what == 14:
		symbol.Binding = objfile.Binding(e.value % 3)
	}
}

// damaged is the file of an object with edits, which no hash reveals but edits of the file itself. It is nil if that
// cannot be written.
func damaged(t *testing.T, good []byte, list []edit) []byte {
	o, err := objfile.ReadELF(bytes.Clone(good))
	if err != nil {
		t.Fatal(err)
	}
	digests := hostile.DigestsOf(o)
	for i := range list {
		list[i].apply(o)
	}
	if err := o.Validate(); err != nil {
		if _, err := load.Object(o); err == nil {
			t.Error("an object that is not valid is loaded")
		} else if err := hostile.OneLine(err); err != nil {
			t.Error(err)
		}
		return nil
	}
	hostile.Reseal(o, digests)
	b, err := o.AppendELF(nil)
	if err != nil {
		var unwritable *objfile.Error
		if !errors.As(err, &unwritable) {
			t.Error(err)
		}
		load.Object(o) // as good as any
		return nil
	}
	for i := range list {
		if e := &list[i]; e.what&15 == 15 {
			at := e.at
			if e.what>>4 < 8 { // in the table of sections, at the end
				at = len(b) - 1 - e.at%(16*64)
			}
			b[(at+len(b))%len(b)] = e.value
		}
	}
	return b
}

// sampleObjects are objects of this machine that have, together, all that objects have.
func sampleObjects(f testing.TB) (objects [][]byte) {
	// A memory with so much data that a host shares it between instances.
	data := slices.Concat([]byte("\x00asm\x01\x00\x00\x00\x05\x03\x01\x00\x01\x0b\x88\x80\x02\x01\x00\x41\x00\x0b\x80\x80\x02"),
		bytes.Repeat([]byte{7}, 1<<15))
	modules := [][]byte{data, wasmgen.Generate(2, wasmgen.Config{Funcs: 1, Size: 20}).Wasm}
	for _, name := range []string{"many", "keep", "greet"} {
		b, err := os.ReadFile("../../testdata/wasm/" + name + ".wasm")
		if err != nil {
			f.Fatal(err)
		}
		modules = append(modules, b)
	}
	for i, wasm := range modules {
		o, err := hostile.Compile(wasm, compile.Options{OptLevel: opt.O1, Jobs: 1})
		if err != nil || o == nil {
			f.Fatal(i, err)
		}
		objects = append(objects, o)
	}
	return objects
}

// FuzzLoad: an object with changes that its hashes fit is refused, or all that its image refers to is there, and the
// host links it, or refuses it. Nothing of it is executed. The signature of the object as it was is behind it: it fits
// if nothing has changed, and is no part of the object.
func FuzzLoad(f *testing.F) {
	objects := sampleObjects(f)
	key, signatures := signed(f, objects)
	for i := range objects {
		f.Add([]byte{byte(i)})
		for what := range byte(16) {
			f.Add([]byte{byte(i), what | what<<4, what, 77, 1, what, 0, 200 - what, 255})
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 || len(b) > 256 {
			return
		}
		list := edits(b[1:])
		file := damaged(t, objects[int(b[0])%len(objects)], list)
		if file == nil {
			return
		}
		n := int(b[0]) % len(objects)
		file = append(file, signatures[n]...)
		content, err := key.Verify(file)
		if (err == nil) != bytes.Equal(file[:len(file)-len(signatures[n])], objects[n]) || err == nil && len(content) != len(objects[n]) {
			t.Error("signature:", err)
		}
		img, err := hostile.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		if img == nil {
			if len(list) == 0 {
				t.Error("refused, though there is no damage")
			}
			return
		}
		if err := hostile.Bounds(img); err != nil {
			t.Fatal(err)
		}
		if linked, err := hostile.Link(img); err != nil || !linked && len(list) == 0 {
			t.Error(err)
		}
	})
}

// signed is a key, and what it puts behind each object.
func signed(f testing.TB, objects [][]byte) (key *sign.Key, signatures [][]byte) {
	key, err := sign.NewPrivate(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))
	if err != nil {
		f.Fatal(err)
	}
	for _, o := range objects {
		b, err := key.Sign(o)
		if err != nil {
			f.Fatal(err)
		}
		signatures = append(signatures, b[len(o):])
	}
	return key, signatures
}

// TestNames: errors are of one line, whatever names are in objects.
func TestNames(t *testing.T) {
	const name = "a\nb"
	good := sampleObjects(t)[1]
	for what, change := range map[string]func(o *objfile.Object){
		"section of a digest": func(o *objfile.Object) {
			m := o.Section(meta.SectionMeta)
			m.Data = bytes.ReplaceAll(m.Data, []byte(".text"), []byte(name+"cd"))
			meta.Seal(m.Data)
		},
		"second section": func(o *objfile.Object) {
			m := o.Section(meta.SectionMeta)
			m.Data = bytes.ReplaceAll(m.Data, []byte(".text"), []byte(name+"cd"))
			meta.Seal(m.Data)
			o.AddSection(objfile.Section{Name: name + "cd"})
			o.AddSection(objfile.Section{Name: name + "cd"})
		},
		"alignment": func(o *objfile.Object) { o.AddSection(objfile.Section{Name: name, Align: 3}) },
		"processor": func(o *objfile.Object) {
			m := o.Section(meta.SectionMeta)
			for _, cpu := range []string{"x86-64-v2", "armv8.0-a"} {
				m.Data = bytes.Replace(m.Data, []byte(cpu), []byte("x86-64\nv9"), 1)
			}
			meta.Seal(m.Data)
		},
	} {
		o, err := objfile.ReadELF(bytes.Clone(good))
		if err != nil {
			t.Fatal(err)
		}
		change(o)
		img, err := load.Object(o)
		if err == nil {
			_, err = inproc.Load(img)
		}
		if err == nil {
			t.Errorf("%s: loaded", what)
		} else if err := hostile.OneLine(err); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		t.Log(what, err)
	}
}
