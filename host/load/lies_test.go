package load_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/internal/proof/hostile"
	"github.com/waot-project/waot/internal/proof/metaedit"
	"github.com/waot-project/waot/objfile"
	"github.com/waot-project/waot/wasmfront/wat"
)

// everything is a module that has something of each kind that metadata describes:
//
//	(import "e" "h" (func $h (param externref) (result externref)))
//	(import "e" "g" (global $imported i32))
//	(memory (export "memory") 1 2)
//	(table $refs (export "refs") 4 8 externref)
//	(table $funcs (export "funcs") 4 8 funcref)
//	(global $ref (export "ref") (mut externref) (ref.null extern))
//	(global $n (mut i64) (i64.const 7))
//	(elem (table $funcs) (i32.const 0) func $load $sum)
//	(elem $spare externref (ref.null extern) (ref.null extern))
//	(data (i32.const 8) "static data")
//	(data (i32.const 1000) "more")
//	(data $passive "passive")
//	(func $load (export "load") (param i32) (result i64) (i64.load (local.get 0)))
//	(func $sum (export "sum") (param i64 i64) (result i64)
//	  (global.set $n (i64.add (global.get $n) (i64.extend_i32_u (global.get $imported))))
//	  (i64.add (i64.add (local.get 0) (local.get 1)) (global.get $n)))
//	(func (export "hold") (param externref) (result externref)
//	  (drop (call $h (local.get 0)))
//	  (global.set $ref (local.get 0))
//	  (table.set $refs (i32.const 1) (local.get 0))
//	  (drop (table.grow $refs (ref.null extern) (i32.const 1)))
//	  (local.get 0))
//	(func (export "indirect") (param i32) (result i64)
//	  (call_indirect $funcs (param i32) (result i64) (i32.const 8) (local.get 0)))
//	(func (export "divide") (param i64) (result i64) (i64.div_s (i64.const 100) (local.get 0)))
//	(func (export "copy") (result i32)
//	  (memory.init $passive (i32.const 0) (i32.const 0) (i32.const 7))
//	  (table.init $refs $spare (i32.const 0) (i32.const 0) (i32.const 1))
//	  (drop (memory.grow (i32.const 1)))
//	  (memory.size))
const everything = "0061736d01000000011a0560016f016f60017f017e60027e7e017e60017e017e6000017f020e0201650168000001650167037f000307060102000103" +
	"040409026f01040870010408050401010102060b026f01d06f0b7e0142070b074e0a066d656d6f72790200047265667301000566756e637301010372" +
	"65660301046c6f616400010373756d000204686f6c64000308696e646972656374000406646976696465000504636f70790006091302020141000b00" +
	"020102056f02d06f0bd06f0b0c01030a6906070020002903000b120023022300ad7c2402200020017c23027c0b1b00200010001a2000240141012000" +
	"2600d06f4101fc0f001a20000b0900410820001101010b080042e40020007f0b1d00410041004107fc080200410041004101fc0c0100410140001a3f" +
	"000b0b24030041080b0b73746174696320646174610041e8070b046d6f7265010770617373697665"

// everythingObject is the object of everything for this machine.
func everythingObject(t testing.TB) []byte {
	t.Helper()
	wasm, err := hex.DecodeString(everything)
	if err != nil {
		t.Fatal(err)
	}
	o, err := hostile.Compile(wasm, compile.Options{OptLevel: opt.O1, Jobs: 1})
	if err != nil || o == nil {
		t.Fatal(err)
	}
	return o
}

// decoded is an object and its metadata.
func decoded(t testing.TB, file []byte) (*objfile.Object, *meta.Module) {
	t.Helper()
	o, err := objfile.ReadELF(bytes.Clone(file))
	if err != nil {
		t.Fatal(err)
	}
	img, err := load.Object(o)
	if err != nil {
		t.Fatal(err)
	}
	return o, img.Meta
}

// told is the file of an object with other metadata, which all hashes and digests fit.
func told(t testing.TB, o *objfile.Object, m *meta.Module) []byte {
	t.Helper()
	s := meta.EncodeTables(m)
	o.Section(meta.SectionTraps).Data = s.Traps
	o.Section(meta.SectionStackMaps).Data = s.StackMaps
	o.Section(meta.SectionCalls).Data = s.Calls
	for i := range m.Digests {
		if n := o.SectionIndex(m.Digests[i].Section); n != objfile.Undefined {
			m.Digests[i].Digest = o.Digest(n)
		}
	}
	o.Section(meta.SectionMeta).Data = meta.EncodeMeta(m)
	file, err := o.AppendELF(nil)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// word writes a word of the instance data.
func word(o *objfile.Object, at uint32, v uint64) {
	binary.LittleEndian.PutUint64(o.Section(".data").Data[at:], v)
}

// relocAt is the relocation of a word of the instance data.
func relocAt(o *objfile.Object, at uint32) *objfile.Reloc {
	relocs := o.Section(".data").Relocs
	return &relocs[slices.IndexFunc(relocs, func(r objfile.Reloc) bool { return r.Offset == uint64(at) })]
}

// element is the relocation of the last element that is a function: nothing of the instance data stands behind elements.
func element(o *objfile.Object) *objfile.Reloc {
	relocs := o.Section(".data").Relocs
	last := &relocs[0]
	for i := range relocs {
		if relocs[i].Offset > last.Offset {
			last = &relocs[i]
		}
	}
	return last
}

// mapped changes the stack maps of a module.
func mapped(change func(m *meta.Module, maps []abi.StackMap)) func(*meta.Module, *objfile.Object) {
	return func(m *meta.Module, _ *objfile.Object) {
		maps := metaedit.StackMaps(m)
		change(m, maps)
		m.StackMaps = metaedit.Coded(maps)
	}
}

// lies are edits of metadata, and of what it must agree with, that loading notices though all hashes and digests are right
// again, with what it says.
var lies = []struct {
	name string
	tell func(m *meta.Module, o *objfile.Object)
	want string
}{
	{"stack slot far below the frame", mapped(func(_ *meta.Module, maps []abi.StackMap) { maps[0].Slots = []int32{-1 << 30} }), "outside of the frame"},
	{"stack slot above the frame", mapped(func(_ *meta.Module, maps []abi.StackMap) { maps[0].Slots[0] = 16 }), "outside of the frame"},
	{"stack slot in the return address", mapped(func(_ *meta.Module, maps []abi.StackMap) { maps[0].Slots[0] = 8 }), "outside of the frame"},
	{"stack slot just below the frame", mapped(func(m *meta.Module, maps []abi.StackMap) {
		maps[0].Slots[0] = -8 - int32(m.Funcs[3].Frame)
	}), "outside of the frame"},
	{"stack slot between words", mapped(func(_ *meta.Module, maps []abi.StackMap) { maps[0].Slots[0] = -4 }), "outside of the frame"},
	{"stack map behind the text", func(m *meta.Module, o *objfile.Object) {
		maps := metaedit.StackMaps(m)
		maps[len(maps)-1].Offset = uint32(len(o.Section(".text").Data)) + 1
		m.StackMaps = metaedit.Coded(maps)
	}, "in no function"},
	{"stack map between functions", func(m *meta.Module, _ *objfile.Object) {
		m.Funcs[3].Size, m.Calls = 4, nil
		m.Traps = slices.DeleteFunc(m.Traps, func(t abi.TrapSite) bool { return t.Offset >= m.Funcs[3].Text && t.Offset < m.Funcs[4].Text })
	}, "stack map 0"},
	{"frame of 4 GiB", func(m *meta.Module, _ *objfile.Object) { m.Funcs[3].Frame = 1<<32 - 16 }, "frame of"},

	{"parameters of another type", func(m *meta.Module, _ *objfile.Object) {
		for i := range m.Types {
			for k := range m.Types[i].Params {
				if m.Types[i].Params[k] == meta.I32 {
					m.Types[i].Params[k] = meta.I64
				}
			}
		}
	}, "not for the record of type"},
	{"words as vectors", func(m *meta.Module, _ *objfile.Object) {
		for i := range m.Types {
			for k := range m.Types[i].Params {
				if m.Types[i].Params[k] == meta.I64 {
					m.Types[i].Params[k] = meta.V128
				}
			}
		}
	}, "not for the record of type"},
	{"reference as a number", func(m *meta.Module, _ *objfile.Object) {
		for i := range m.Types {
			if len(m.Types[i].Results) == 1 && m.Types[i].Results[0] == meta.ExternRef {
				m.Types[i].Results[0] = meta.I64
			}
		}
	}, "not for the record of type"},
	{"type of another function", func(m *meta.Module, _ *objfile.Object) { m.Funcs[1].Type = m.Funcs[2].Type }, "descriptor of function 1 has another type"},
	{"type of a function without its descriptor", func(m *meta.Module, _ *objfile.Object) {
		m.Funcs[1].Type, m.Funcs[1].HasDesc = m.Funcs[5].Type, false
	}, "function 1 is exported without a descriptor"},
	{"type of a function without its descriptor and export", func(m *meta.Module, _ *objfile.Object) {
		m.Funcs[1].Type, m.Funcs[1].HasDesc = m.Funcs[5].Type, false
		m.Exports = slices.DeleteFunc(m.Exports, func(x meta.Export) bool { return x.Name == "load" })
	}, "6 descriptors of functions, and 5 in the metadata"},
	{"function left out", func(m *meta.Module, _ *objfile.Object) {
		m.Funcs, m.Exports = slices.Delete(m.Funcs, 2, 3), nil
		m.Traps, m.Calls, m.StackMaps, m.Saves = nil, nil, meta.StackMaps{}, nil
	}, "6 descriptors of functions, and 5 in the metadata"},
	{"type of an import", func(m *meta.Module, _ *objfile.Object) { m.Funcs[0].Type = m.Funcs[1].Type }, "imported function 0 has another type"},
	{"name of an import", func(m *meta.Module, _ *objfile.Object) { m.Funcs[0].Import.Name = "i" }, "imported function 0 has another name"},
	{"module of an import", func(m *meta.Module, _ *objfile.Object) { m.Funcs[0].Import.Module = "f" }, "imported function 0 has another name"},
	{"type of an import without its descriptor", func(m *meta.Module, o *objfile.Object) {
		m.Funcs[0].Type = m.Funcs[1].Type
		s := &o.Symbols[relocAt(o, m.Funcs[0].Slot+8).Symbol]
		s.Section, s.Value, s.Size, s.Binding = objfile.Undefined, 0, 0, objfile.Global
	}, "imported function 0 has no descriptor"},
	{"type without a record", func(m *meta.Module, _ *objfile.Object) {
		m.Types = append(m.Types, meta.FuncType{Params: []meta.ValType{meta.F64}})
		m.Funcs[1].Type = uint32(len(m.Types) - 1)
	}, "has no type slot"},
	{"type of another slot", func(m *meta.Module, _ *objfile.Object) {
		m.SlotTypes[0], m.SlotTypes[1] = m.SlotTypes[1], m.SlotTypes[0]
	}, "not for the record of type"},
	{"second slot of a type", func(m *meta.Module, o *objfile.Object) {
		m.SlotTypes[1] = m.SlotTypes[0]
		relocAt(o, m.TypeSlots+8).Symbol = relocAt(o, m.TypeSlots).Symbol
	}, "type slot 1 is the second one of type 0"},
	{"record of other bytes", func(m *meta.Module, o *objfile.Object) {
		s := &o.Sections[o.Symbols[relocAt(o, m.TypeSlots).Symbol].Section]
		s.Data = bytes.Replace(s.Data, []byte{meta.ExternRef.Code()}, []byte{meta.I64.Code()}, 1)
	}, "not for the record of type"},
	{"record with another's name", func(m *meta.Module, o *objfile.Object) {
		a, b := &o.Symbols[relocAt(o, m.TypeSlots).Symbol], &o.Symbols[relocAt(o, m.TypeSlots+8).Symbol]
		a.Name, b.Name = b.Name, a.Name
	}, "not for the record of type"},
	{"descriptor of another place", func(m *meta.Module, o *objfile.Object) { relocAt(o, m.Funcs[1].Desc).Addend += 16 }, "descriptor of function 1"},
	{"descriptor's type", func(m *meta.Module, o *objfile.Object) {
		relocAt(o, m.Funcs[1].Desc+8).Symbol = relocAt(o, m.Funcs[2].Desc+8).Symbol
	}, "descriptor of function 1 has another type"},
	{"code of another function", func(m *meta.Module, _ *objfile.Object) { m.Funcs[2].Text -= 16 }, "function"},
	{"code that begins later", func(m *meta.Module, _ *objfile.Object) { m.Funcs[2].Text++; m.Funcs[2].Size-- }, "code of function 2"},
	{"code of two functions", func(m *meta.Module, _ *objfile.Object) { m.Funcs[1].Size += 16 }, "out of order"},
	{"functions out of order", func(m *meta.Module, _ *objfile.Object) {
		a, b := &m.Funcs[1], &m.Funcs[2]
		a.Text, a.Size, b.Text, b.Size = b.Text, b.Size, a.Text, a.Size
	}, "out of order"},

	{"two slots in one place", func(m *meta.Module, _ *objfile.Object) { m.Tables[0].Slot = m.Memories[0].Slot }, "place of another"},
	{"tables swapped", func(m *meta.Module, _ *objfile.Object) {
		m.Tables[0].Slot, m.Tables[1].Slot = m.Tables[1].Slot, m.Tables[0].Slot
	}, "place of another"},
	{"helpers over memories", func(m *meta.Module, _ *objfile.Object) { m.Helpers += 8 }, "place of another"},
	{"helpers earlier", func(m *meta.Module, _ *objfile.Object) { m.Helpers -= 8 }, "place of another"},
	{"helpers swapped", func(m *meta.Module, o *objfile.Object) {
		a, b := relocAt(o, m.Helpers), relocAt(o, m.Helpers+16)
		a.Symbol, b.Symbol = b.Symbol, a.Symbol
	}, "helper slot 0 is for another one"},
	{"types over tables", func(m *meta.Module, _ *objfile.Object) { m.TypeSlots = m.Tables[1].Slot }, "place of another"},
	{"global over a descriptor", func(m *meta.Module, _ *objfile.Object) { m.Globals[2].Offset = m.Funcs[1].Desc }, "place of another"},
	{"global over a pair", func(m *meta.Module, _ *objfile.Object) { m.Globals[0].Offset = m.Elems[0].Pair }, "place of another"},
	{"vector for a number", func(m *meta.Module, _ *objfile.Object) { m.Globals[1].Type = meta.V128 }, "place of another"},
	{"elements over descriptors", func(m *meta.Module, _ *objfile.Object) { m.Elems[0].Array = m.Funcs[1].Desc }, "place of another"},
	{"more elements", func(m *meta.Module, _ *objfile.Object) { m.Elems[0].Len += 1 << 20 }, "place of another"},
	{"fewer elements", func(m *meta.Module, _ *objfile.Object) { m.Elems[0].Len-- }, "length of element segment 0"},
	{"elements of another segment", func(m *meta.Module, o *objfile.Object) { relocAt(o, m.Elems[0].Pair).Addend -= 8 }, "element segment 0 is not at"},
	{"longer segment in its pair", func(m *meta.Module, o *objfile.Object) { word(o, m.Elems[0].Pair+8, 1<<40) }, "length of element segment 0"},
	{"data of another segment", func(m *meta.Module, _ *objfile.Object) { m.Datas[1].Rodata = m.Datas[0].Rodata }, "bytes of data segment 1"},
	{"data later", func(m *meta.Module, _ *objfile.Object) { m.Datas[1].Rodata++ }, "data segment 1 is not at"},
	{"longer data", func(m *meta.Module, _ *objfile.Object) { m.Datas[1].Len++ }, "length of data segment 1"},
	{"longer data in its pair", func(m *meta.Module, o *objfile.Object) { word(o, m.Datas[0].Pair+8, 1<<40) }, "length of data segment 0"},
	{"data behind the constants", func(m *meta.Module, _ *objfile.Object) { m.Datas[1].Len = 60000 }, "bytes of data segment 1"},
	{"data behind the memory", func(m *meta.Module, _ *objfile.Object) { m.Datas[1].Offset = 1 << 16 }, "outside of its memory"},
	{"memory slot that is relocated", func(m *meta.Module, o *objfile.Object) {
		r := *relocAt(o, m.Datas[0].Pair)
		r.Offset = uint64(m.Memories[0].Slot)
		o.Section(".data").Relocs = append(o.Section(".data").Relocs, r)
	}, "memory slot 0 is relocated"},
	{"two relocations of a word", func(m *meta.Module, o *objfile.Object) { relocAt(o, m.Helpers).Offset = uint64(m.Helpers) + 8 }, "not of a whole word, or its second"},
	{"relocation between words", func(m *meta.Module, o *objfile.Object) { relocAt(o, m.Datas[0].Pair).Offset += 4 }, "not of a whole word, or its second"},
	{"relocation before its section", func(_ *meta.Module, o *objfile.Object) {
		r := o.Section(".text").Relocs
		r[len(r)-1].Addend = -1 << 20
	}, "outside of its section"},
	{"element that is a helper", func(m *meta.Module, o *objfile.Object) {
		r := element(o)
		r.Symbol, r.Addend = relocAt(o, m.Helpers).Symbol, 0
	}, "stands for nothing known"},
	{"element that is a type", func(m *meta.Module, o *objfile.Object) {
		r := element(o)
		r.Symbol, r.Addend = relocAt(o, m.TypeSlots).Symbol, 0
	}, "stands for nothing known"},
	{"element that is code of an import", func(m *meta.Module, o *objfile.Object) {
		r := element(o)
		r.Symbol, r.Addend = relocAt(o, m.Funcs[0].Slot).Symbol, 0
	}, "stands for nothing known"},
	{"relocation behind its section", func(_ *meta.Module, o *objfile.Object) { o.Section(".text").Relocs[0].Addend += 1 << 20 }, "outside of its section"},

	{"memory of too many pages", func(m *meta.Module, _ *objfile.Object) { m.Memories[0].Max = 65537 }, "limits"},
	{"memory without a maximum", func(m *meta.Module, _ *objfile.Object) { m.Memories[0].HasMax, m.Memories[0].Max = false, 0 }, "limits"},
	{"table of too many elements", func(m *meta.Module, _ *objfile.Object) { m.Tables[0].Max = 1 << 40 }, "limits"},
	{"table of numbers", func(m *meta.Module, _ *objfile.Object) { m.Tables[0].Elem = meta.I64 }, "element type"},
	{"memory of fewer pages", func(m *meta.Module, _ *objfile.Object) { m.Memories[0].Max-- }, "memory 0 differs from the record"},
	{"table of fewer elements", func(m *meta.Module, _ *objfile.Object) { m.Tables[1].Max-- }, "table 1 differs from the record"},
	{"table of fewer elements at first", func(m *meta.Module, _ *objfile.Object) { m.Tables[0].Min = 0 }, "table 0 differs from the record"},
	{"table that states no maximum", func(m *meta.Module, _ *objfile.Object) { m.Tables[0].HasMax = false }, "table 0 differs from the record"},
	{"table of functions", func(m *meta.Module, _ *objfile.Object) { m.Tables[0].Elem = meta.FuncRef }, "table 0 differs from the record"},
	{"table of host values", func(m *meta.Module, _ *objfile.Object) { m.Tables[1].Elem = meta.ExternRef }, "table 1 differs from the record"},
	{"memory from elsewhere", func(m *meta.Module, _ *objfile.Object) {
		m.Memories[0].Import, m.Datas = &meta.ImportName{Module: "e", Name: "m"}, nil
	}, "memory 0 differs from the record"},
	{"memory left out", func(m *meta.Module, _ *objfile.Object) {
		m.Memories, m.Datas, m.Traps = nil, nil, nil
		m.Exports = slices.DeleteFunc(m.Exports, func(x meta.Export) bool { return x.Name == "memory" })
	}, "the record is of another module"},
	{"table left out", func(m *meta.Module, _ *objfile.Object) {
		m.Tables, m.Exports = m.Tables[:1], slices.DeleteFunc(m.Exports, func(x meta.Export) bool { return x.Name == "funcs" })
	}, "the record is of another module"},
	{"another init function", func(m *meta.Module, o *objfile.Object) {
		m.Funcs[len(m.Funcs)-1].Text += 16
		m.Funcs[len(m.Funcs)-1].Size -= 16
	}, "the record is of another module"},
	{"no record", func(m *meta.Module, o *objfile.Object) {
		s := o.Section(".data.rel.ro")
		s.Data, s.Relocs = nil, nil
		for i := range o.Symbols {
			if x := &o.Symbols[i]; x.Section != objfile.Undefined && o.Sections[x.Section].Name == ".data.rel.ro" {
				x.Value, x.Size = 0, 0
			}
		}
	}, "imported function 0 has another type"},

	{"two exports of a name", func(m *meta.Module, _ *objfile.Object) { m.Exports[0].Name = m.Exports[1].Name }, "second export"},

	{"trap outside of functions", func(m *meta.Module, _ *objfile.Object) {
		m.Funcs[1].Size = m.Traps[0].Offset - m.Funcs[1].Text
	}, "trap 0"},
	{"trap without a code", func(m *meta.Module, _ *objfile.Object) { m.Traps[0].Code = abi.TrapNone }, "code or kind of fault"},
	{"trap of another memory", func(m *meta.Module, _ *objfile.Object) {
		i := slices.IndexFunc(m.Traps, func(t abi.TrapSite) bool { return t.Fault == abi.FaultMemory })
		m.Traps[i].Memory = 1
	}, "memory 1 of trap"},
	{"call outside of functions", func(m *meta.Module, o *objfile.Object) {
		m.Calls[len(m.Calls)-1].Offset = uint32(len(o.Section(".text").Data)) + 8
	}, "in no function"},
	{"no digest of the code", func(m *meta.Module, _ *objfile.Object) { m.Digests = m.Digests[1:] }, `no digest of section ".text"`},
	{"no digest of the record", func(m *meta.Module, _ *objfile.Object) {
		m.Digests = slices.DeleteFunc(m.Digests, func(d meta.SectionDigest) bool { return d.Section == ".data.rel.ro" })
	}, `no digest of section ".data.rel.ro"`},
	{"second digest of a section", func(m *meta.Module, _ *objfile.Object) { m.Digests = append(m.Digests, m.Digests[0]) }, "which has another one or none"},
	{"digest of another section", func(m *meta.Module, o *objfile.Object) {
		m.Digests = append(m.Digests, meta.SectionDigest{Section: ".eh_frame", Digest: o.Digest(o.SectionIndex(".eh_frame"))})
	}, "which has another one or none"},
}

// TestLies: each lie is refused where the object is read, or where the host links it, in one line that says what is wrong.
func TestLies(t *testing.T) {
	good := everythingObject(t)
	for _, l := range lies {
		o, m := decoded(t, good)
		l.tell(m, o)
		img, err := load.ELF(told(t, o, m))
		if err == nil {
			var mod *inproc.Module
			if mod, err = inproc.Load(img); err == nil {
				mod.Close()
			}
		}
		switch {
		case err == nil:
			t.Errorf("%s: loaded", l.name)
		case !strings.Contains(err.Error(), l.want) || hostile.OneLine(err) != nil:
			t.Errorf("%s: %v", l.name, err)
		}
	}
	if _, err := load.ELF(func() []byte { o, m := decoded(t, good); return told(t, o, m) }()); err != nil {
		t.Error("the truth:", err)
	}
}

// TestRecord: each word of the record counts, and those of the descriptors of imports before it.
func TestRecord(t *testing.T) {
	good := everythingObject(t)
	o, _ := decoded(t, good)
	for at := range uint64(len(o.Section(".data.rel.ro").Data)) / 8 {
		o, m := decoded(t, good)
		s := o.Section(".data.rel.ro")
		if i := slices.IndexFunc(s.Relocs, func(r objfile.Reloc) bool { return r.Offset == 8*at }); i >= 0 {
			s.Relocs[i].Addend += 8
		} else {
			s.Data[8*at]++
		}
		if _, err := load.ELF(told(t, o, m)); err == nil && at > 1 { // the first is in front of the import's descriptor, for its address; then comes the code of the stub, which hosts have their own for
			t.Errorf("word %d: loaded", at)
		}
	}
}

// TestHeapTypes: each word of the record of a module with a heap counts, and each byte of what hosts in C know of its types.
func TestHeapTypes(t *testing.T) {
	for _, tag := range []string{"", "(tag (param i32))"} {
		m, err := wat.Assemble([]byte(`(module ` + tag + ` (memory 1) (type $a (sub (struct (field i32) (field (mut externref)))))
			(type (sub final $a (struct (field i32) (field (mut externref)) (field (ref null $a))))) (type (array (mut i8))) (func (export "f") (result (ref $a)) (struct.new_default $a)))`))
		if err != nil {
			t.Fatal(err)
		}
		c, err := compile.Module(m.Wasm, compile.Options{Name: "lib"})
		if err != nil {
			t.Fatal(err)
		}
		good, err := c.ELF(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		read := func() *objfile.Object {
			o, err := objfile.ReadELF(bytes.Clone(good)) // which the object shares
			if err != nil {
				t.Fatal(err)
			}
			return o
		}
		refused := func(o *objfile.Object, what string, at int) {
			_, info := decoded(t, good)
			if _, err := load.ELF(told(t, o, info)); err == nil {
				t.Errorf("%q: %s %d: loaded", tag, what, at)
			}
		}
		if _, err := load.ELF(good); err != nil {
			t.Fatal(err)
		}
		for at := range read().Section(meta.SectionHeapTypes).Data {
			o := read()
			o.Section(meta.SectionHeapTypes).Data[at]++
			refused(o, "byte", at)
		}
		for at := range len(read().Section(".data.rel.ro").Data) / 8 {
			o := read()
			s := o.Section(".data.rel.ro")
			if i := slices.IndexFunc(s.Relocs, func(r objfile.Reloc) bool { return r.Offset == uint64(8*at) }); i >= 0 {
				s.Relocs[i].Addend += 8
			} else {
				s.Data[8*at]++
			}
			refused(o, "word", at)
		}
	}
}
