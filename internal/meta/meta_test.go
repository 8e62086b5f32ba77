package meta

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/internal/abi"
)

var sampleSizes = Sizes{Text: 4096, Rodata: 568, Data: 512}

func sample() *Module {
	return &Module{
		ABI: abi.Version, Arch: "x86-64", CPU: "x86-64-v2", Name: "mod", InstanceSize: 512, Helpers: 16, TypeSlots: 88,
		SlotTypes: []uint32{0, 1},
		Types:     []FuncType{{}, {Params: []ValType{I32, I64, F32, F64}, Results: []ValType{FuncRef, ExternRef, V128}}},
		Memories:  []Memory{{Slot: 56, Min: 1, Max: 2, HasMax: true, Import: &ImportName{"env", "mem"}}, {Slot: 64, Min: 1, Max: 65536}},
		Tables:    []Table{{Slot: 72, Elem: ExternRef, Import: &ImportName{"", "ü"}}, {Slot: 80, Elem: FuncRef, Min: 3, Max: 1<<32 - 1, HasMax: true}},
		Globals:   []Global{{Offset: 184, Type: F64, Import: &ImportName{"a", "b"}}, {Offset: 192, Type: I32, Mutable: true}, {Offset: 208, Type: V128}},
		Elems:     []Elem{{Pair: 152, Array: 488, Len: 2}, {Pair: 168, Array: 504, Len: 1}},
		Datas:     []Data{{Pair: 120, Memory: 1, Offset: 65000, Rodata: 0, Len: 536}, {Pair: 136, Memory: 1, Rodata: 544, Len: 24}},
		Funcs: []Func{{Type: 1, Import: &ImportName{"env", "f"}, Slot: 104}, {Type: 1, Name: "g", Text: 16, Size: 100, Frame: 48, Desc: 224, HasDesc: true},
			{Type: 1, Text: 128, Size: 10, Frame: 1 << 30, Desc: 240, HasDesc: true}, {Type: 0, Name: "init", Text: 4000, Size: 96}},
		Exports:   []Export{{"g", 0, 1}, {"t", 1, 1}, {"m", 2, 0}, {"", 3, 2}},
		Traps:     []abi.TrapSite{{Offset: 16, Code: abi.TrapUnreachable, Fault: abi.FaultUndefined, Memory: 0, Src: 77}, {Offset: 4095, Code: abi.TrapMemoryOutOfBounds, Fault: abi.FaultMemory, Memory: 1, Src: abi.InlinedPlace + 2}},
		Calls:     []abi.CallSite{{Offset: 17, Src: 6}, {Offset: 116, Src: abi.InlinedPlace}, {Offset: 4096, Src: 0}},
		StackMaps: coded(sampleMaps()...),
		Inlined:   []abi.Inlined{{Func: 2, Src: 900, Caller: 6}, {Func: 1, Src: 70, Caller: abi.InlinedPlace}, {Func: 1, Src: 75, Caller: abi.InlinedPlace}},
		Digests:   []SectionDigest{{".text", [DigestSize]byte{1, 2, 3}}},
	}
}

func sampleMaps() []abi.StackMap {
	return []abi.StackMap{{Offset: 116, Slots: []int32{-8, -48}}, {Offset: 138, Slots: []int32{-1 << 30}}, {Offset: 4010, Slots: nil}}
}

// coded are maps of functions of their own.
func coded(maps ...abi.StackMap) StackMaps {
	var b StackMapBuilder
	for _, m := range maps {
		b.Function()
		b.Add(m.Offset, m.Slots)
	}
	return b.Maps
}

// mapped changes the maps of a sample.
func mapped(change func(maps []abi.StackMap)) func(*Module) {
	return func(m *Module) {
		maps := sampleMaps()
		change(maps)
		m.StackMaps = coded(maps...)
	}
}

// least is a module with as little as there can be.
func least() *Module {
	return &Module{ABI: abi.Version, InstanceSize: 512, Helpers: 16, TypeSlots: 56, Types: []FuncType{{}}, Funcs: []Func{{Size: 1}}}
}

// without is a module with functions that have no code, where the next one begins.
func without() *Module {
	m := least()
	m.Funcs = []Func{{Name: "a"}, {Name: "b"}, {Size: 20}, {Name: "c", Text: 32}, {Text: 32, Size: 1}}
	m.Traps = []abi.TrapSite{{Offset: 0, Code: abi.TrapUnreachable}, {Offset: 32, Code: abi.TrapUnreachable, Src: abi.InlinedPlace}}
	m.Calls = []abi.CallSite{{Offset: 20}, {Offset: 33}}
	m.Inlined = []abi.Inlined{{Func: 3, Src: 5}}
	return m
}

// fuelled is a module whose code counts fuel.
func fuelled(f Fuel) *Module {
	m := sample()
	m.ABI, m.Fuel = abi.FuelVersion, &f
	return m
}

// typed is a module whose references say more than their class.
func typed() *Module {
	m := sample()
	m.Types[1] = FuncType{Params: []ValType{abi.RefTo(1), I64, F32, abi.RefTo(0).NotNull()}, Results: []ValType{FuncRef.NotNull(), ExternRef.NotNull(), V128}}
	m.Tables[0].Elem, m.Tables[1].Elem = ExternRef.NotNull(), abi.RefTo(1).NotNull()
	m.Globals[0].Type, m.Globals[1].Type = abi.RefTo(0), abi.RefTo(1).NotNull()
	return m
}

// heaped is a module with structures, arrays and a recursion group.
func heaped() *Module {
	m := least()
	array := abi.RefToKind(abi.KindArray, 2)
	m.ABI, m.Types = abi.HeapVersion, []FuncType{{}, {}, {}, {Params: []ValType{array}}, {}}
	m.Funcs[0].Type = 4
	m.Heap = &Heap{Part: 208, Defs: []abi.TypeDef{
		{Kind: abi.KindStruct, Open: true, Fields: []abi.FieldType{{Type: I32, Packed: 8, Mutable: true}, {Type: abi.AnyRef}}},
		{Kind: abi.KindStruct, HasSuper: true, Depth: 1, NoDefault: 3, Fields: []abi.FieldType{{Type: I32, Packed: 8, Mutable: true}, {Type: abi.AnyRef}, {Type: array.NotNull()}}},
		{Kind: abi.KindArray, Place: 1, Fields: []abi.FieldType{{Type: abi.RefToKind(abi.KindStruct, 1), Mutable: true}}},
		{FuncType: FuncType{Params: []ValType{array}}},
	}}
	return m
}

// heapedMore is one that counts fuel and throws, too.
func heapedMore() *Module {
	m := heaped()
	m.Fuel, m.Exceptions = &Fuel{Slack: true}, &Exceptions{Helpers: 96, Current: 128, Words: 2, TagSlots: 160, Tags: []Tag{{Type: 3}}}
	return m
}

func TestRoundTrip(t *testing.T) {
	for _, m := range []*Module{sample(), typed(), heaped(), heapedMore(), least(), without(), fuelled(Fuel{}), fuelled(Fuel{Slack: true, Costs: "call 7\n"})} {
		got, err := Decode(Encode(m), sampleSizes)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(m, got); d != "" {
			t.Error(d)
		}
	}
}

// TestInvalid: each change must be noticed though the hash is right.
func TestInvalid(t *testing.T) {
	const apart = " of the instance data, is outside or in the place of another"
	env := &ImportName{"env", "x"}
	for _, c := range []struct {
		want   string
		change func(*Module)
	}{
		{"binary interface version 9", func(m *Module) { m.ABI = 9 }},
		{"bytes after the end", func(m *Module) { m.Fuel = &Fuel{} }},                                   // of another version
		{"fuel", func(m *Module) { m.ABI = abi.FuelVersion }},                                           // without what this version has
		{"binary interface version 5", func(m *Module) { m.ABI, m.Fuel = abi.CheckedVersion, &Fuel{} }}, // of records only
		{"instance data has 512 bytes, not 500", func(m *Module) { m.InstanceSize = 500 }},
		{"helper slot 0, at 480" + apart, func(m *Module) { m.Helpers = 480 }},
		{"helper slot 0, at 8" + apart, func(m *Module) { m.Helpers = 8 }}, // the header's place
		{"helper slot 0, at 20" + apart, func(m *Module) { m.Helpers = 20 }},
		{"type slot 0, at 504" + apart, func(m *Module) { m.TypeSlots = 504 }},
		{"type slot 0, at 80" + apart, func(m *Module) { m.TypeSlots = 80 }},
		{"type 2 of type slot 1", func(m *Module) { m.SlotTypes[1] = 2 }},
		{"slot of function 0", func(m *Module) { m.SlotTypes = append(m.SlotTypes, 1) }},
		{"value type", func(m *Module) { m.Types[1].Params[0] = abi.ValTypeUnknown }},
		{"type 2, which type 1 refers to", func(m *Module) { m.Types[1].Params[0] = abi.RefTo(2) }},
		{"type 1, which type 0 refers to", func(m *Module) { m.Types[0].Results = []ValType{abi.RefTo(1).NotNull()} }},
		{"type 2, which table 1 refers to", func(m *Module) { m.Tables[1].Elem = abi.RefTo(2).NotNull() }},
		{"type 1000000, which global 1 refers to", func(m *Module) { m.Globals[1].Type = abi.RefTo(1_000_000) }},
		{"reference type", func(m *Module) { m.Globals[1].Type = I32.NotNull() }},
		{"reference type", func(m *Module) { m.Globals[1].Type = ExternRef | abi.RefTo(7)&^FuncRef }},
		{"function type too long", func(m *Module) { m.Types[1].Params = make([]ValType, 1<<16) }},

		{"memory slot 0, at 48" + apart, func(m *Module) { m.Memories[0].Slot = 48 }}, // a helper's
		{"memory slot 0, at 57" + apart, func(m *Module) { m.Memories[0].Slot = 57 }},
		{"memory slot 1, at 56" + apart, func(m *Module) { m.Memories[1].Slot = 56 }}, // the other memory's
		{"limits 3 and 2 of memory 0", func(m *Module) { m.Memories[0].Min = 3 }},
		{"limits 65537 and 65536 of memory 1", func(m *Module) { m.Memories[1].Min = 65537 }},
		{"limits 1 and 65537 of memory 1", func(m *Module) { m.Memories[1].Max = 65537 }},
		{"limits 1 and 18446744073709551615 of memory 1", func(m *Module) { m.Memories[1].Max = 1<<64 - 1 }},
		{"imported memory 1 after", func(m *Module) { m.Memories[0].Import, m.Memories[1].Import = nil, env }},

		{"table slot 1, at 64" + apart, func(m *Module) { m.Tables[1].Slot = m.Memories[1].Slot }},
		{"table slot 0, at 1048576" + apart, func(m *Module) { m.Tables[0].Slot = 1 << 20 }},
		{"element type of table 0", func(m *Module) { m.Tables[0].Elem = I32 }},
		{"limits 3 and 4294967296 of table 1", func(m *Module) { m.Tables[1].Max = 1 << 32 }},
		{"limits 3 and 2 of table 1", func(m *Module) { m.Tables[1].Max = 2 }},
		{"imported table 1 after", func(m *Module) { m.Tables[0].Import, m.Tables[1].Import = nil, env }},

		{"global 2, at 504" + apart, func(m *Module) { m.Globals[2].Offset = 504 }},
		{"descriptor of function 1, at 224" + apart, func(m *Module) { m.Globals[2].Offset = 224 }},
		{"descriptor of function 1, at 224" + apart, func(m *Module) { m.Globals[1].Type = V128; m.Globals[2].Offset = 216 }},
		{"imported global 1 after", func(m *Module) { m.Globals[0].Import, m.Globals[1].Import = nil, env }},

		{"pair of element segment 0, at 500" + apart, func(m *Module) { m.Elems[0].Pair = 500 }},
		{"pair of element segment 0, at 136" + apart, func(m *Module) { m.Elems[0].Pair = m.Datas[1].Pair }},
		{"elements of segment 1, at 504" + apart, func(m *Module) { m.Elems[1].Len = 2 }},
		{"elements of segment 1, at 504" + apart, func(m *Module) { m.Elems[1].Len = 1<<32 - 1 }},
		{"elements of segment 0, at 240" + apart, func(m *Module) { m.Elems[0].Array = m.Funcs[2].Desc }},
		{"elements of segment 1, at 504" + apart, func(m *Module) { m.Elems[0].Len = 3 }},

		{"pair of data segment 0, at 508" + apart, func(m *Module) { m.Datas[0].Pair = 508 }},
		{"pair of data segment 1, at 120" + apart, func(m *Module) { m.Datas[1].Pair = 120 }},
		{"bytes of data segment 1", func(m *Module) { m.Datas[1].Len++ }},
		{"bytes of data segment 1", func(m *Module) { m.Datas[1].Rodata = 535 }}, // some of the first
		{"data segment 0 is outside of its memory", func(m *Module) { m.Datas[0].Len = 537 }},
		{"data segment 0 is outside of its memory", func(m *Module) { m.Memories[1].Min = 0 }},
		{"data segment 1 is outside of its memory", func(m *Module) { m.Datas[1].Memory = 0 }}, // an import
		{"memory 2 of data segment 1", func(m *Module) { m.Datas[1].Memory = 2 }},

		{"type 2 of function 1", func(m *Module) { m.Funcs[1].Type = 2 }},
		{"slot of function 0, at 504" + apart, func(m *Module) { m.Funcs[0].Slot = 504 }},
		{"slot of function 0, at 96" + apart, func(m *Module) { m.Funcs[0].Slot = 96 }}, // a type slot's
		{"imported function 1 after", func(m *Module) { m.Funcs[0], m.Funcs[1] = m.Funcs[1], m.Funcs[0] }},
		{"code of function 1 is outside of the text or out of order", func(m *Module) { m.Funcs[1].Size = 4090 }},
		{"code of function 2 is outside of the text or out of order", func(m *Module) { m.Funcs[1].Size = 113 }},
		{"code of function 2 is outside of the text or out of order", func(m *Module) { m.Funcs[2].Text = 0 }},
		{"code of function 2 is outside of the text or out of order", func(m *Module) { m.Funcs[2].Text = 136 }},
		{"function 2 has no code", func(m *Module) { m.Funcs[2].Size, m.Funcs[2].Frame = 0, 0 }}, // but a descriptor
		{"function 1 has no code", func(m *Module) { m.Funcs[1].Size, m.Funcs[1].HasDesc = 0, false }},
		{"function 3 has no code", func(m *Module) { m.Funcs[3].Size, m.Funcs[3].Frame = 0, 0 }}, // the init function
		{"code of function 2 is outside of the text or out of order", func(m *Module) { m.Funcs[2] = Func{Type: 1, Text: 1 << 20} }},
		{"code of function 2 is outside of the text or out of order", func(m *Module) { m.Funcs[2] = Func{Type: 1} }},
		{"code of function 3 is outside of the text or out of order", func(m *Module) { m.Funcs[3].Size = 97 }},
		{"frame of 47 bytes of function 1", func(m *Module) { m.Funcs[1].Frame = 47 }},
		{"frame of 1073741840 bytes of function 1", func(m *Module) { m.Funcs[1].Frame = 1<<30 + 16 }},
		{"descriptor of function 1, at 500" + apart, func(m *Module) { m.Funcs[1].Desc = 500 }},
		{"descriptor of function 2, at 224" + apart, func(m *Module) { m.Funcs[2].Desc = 224 }},
		{"type of the init", func(m *Module) { m.Funcs[3].Type = 1 }},
		{"no init", func(m *Module) { m.Funcs = m.Funcs[:1] }},

		{"kind 4 or index 1 of export 0", func(m *Module) { m.Exports[0].Kind = 4 }},
		{"kind 0 or index 4 of export 0", func(m *Module) { m.Exports[0].Index = 4 }},
		{`second export "m"`, func(m *Module) { m.Exports[0].Name = "m" }},

		{"trap 1, at 0x1000, is in no function", func(m *Module) { m.Traps[1].Offset = 4096 }},
		{"trap 0, at 0x74, is in no function", func(m *Module) { m.Traps[0].Offset = 116 }},
		{"trap 0, at 0xf, is in no function", func(m *Module) { m.Traps[0].Offset = 15 }},
		{"trap 1 is out of order", func(m *Module) { m.Traps[1].Offset = 16 }},
		{"code or kind of fault of trap 1", func(m *Module) { m.Traps[1].Code = abi.NumTrapCodes }},
		{"code or kind of fault of trap 1", func(m *Module) { m.Traps[1].Code = abi.TrapNone }},
		{"code or kind of fault of trap 1", func(m *Module) { m.Traps[1].Fault = abi.FaultDivide + 1 }},
		{"place 0x80000003 of trap 0", func(m *Module) { m.Traps[0].Src = abi.InlinedPlace + 3 }},
		{"place 0xffffffff of call 2", func(m *Module) { m.Calls[2].Src = 1<<32 - 1 }},
		{"inlined place 1: function 4,", func(m *Module) { m.Inlined[1].Func = 4 }},
		{"inlined place 1: function 0,", func(m *Module) { m.Inlined[1].Func = 0 }}, // imported
		{"inlined place 2: function 1, offset 2147483648,", func(m *Module) { m.Inlined[2].Src = abi.InlinedPlace }},
		{"inlined place 1: function 1, offset 70, caller 0x80000001", func(m *Module) { m.Inlined[1].Caller++ }}, // its own
		{"memory 2 of trap 1", func(m *Module) { m.Traps[1].Memory = 2 }},
		{"memory 1 of trap 0", func(m *Module) { m.Traps[0].Memory = 1 }},

		{"call 1 is out of order", func(m *Module) { m.Calls[1].Offset = 17 }},
		{"call 0, at 0x10, is in no function", func(m *Module) { m.Calls[0].Offset = 16 }},
		{"call 2, at 0x1001, is in no function", func(m *Module) { m.Calls[2].Offset = 4097 }},
		{"stack map 2, at 0x1001, is in no function", mapped(func(m []abi.StackMap) { m[2].Offset = 4097 })},
		{"stack map 0, at 0x75, is in no function", mapped(func(m []abi.StackMap) { m[0].Offset = 117 })},
		{"stack map 1 is out of order", mapped(func(m []abi.StackMap) { m[1].Offset = 116 })},
		{"slots [-12] of stack map 0 are", mapped(func(m []abi.StackMap) { m[0].Slots[0] = -12 })},
		{"slots [0] of stack map 0 are", mapped(func(m []abi.StackMap) { m[0].Slots[0] = 0 })},
		{"slots [8] of stack map 0 are", mapped(func(m []abi.StackMap) { m[0].Slots[0] = 8 })},
		{"slots [-56] of stack map 0 are outside of the frame of 48 bytes", mapped(func(m []abi.StackMap) { m[0].Slots[0] = -56 })},
		{"slots [-1073741824] of stack map 0 are outside of the frame of 48 bytes", mapped(func(m []abi.StackMap) { m[0].Slots[0] = -1 << 30 })},
		{"slots [-2147483648] of stack map 1 are", mapped(func(m []abi.StackMap) { m[1].Slots[0] = -1 << 31 })},
		{"slots [-8] of stack map 2 are outside of the frame of 0 bytes", mapped(func(m []abi.StackMap) { m[2].Slots = []int32{-8} })},
	} {
		m := sample()
		c.change(m)
		if _, err := Decode(Encode(m), sampleSizes); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.want, err)
		}
	}
}

// TestInvalidHeap is TestInvalid for what the heap needs.
func TestInvalidHeap(t *testing.T) {
	for _, c := range []struct {
		want   string
		change func(*Module)
	}{
		{"part for the heap 0, at 480", func(m *Module) { m.Heap.Part = 480 }},
		{"the part for the heap is not aligned", func(m *Module) { m.Heap.Part = 216 }},
		{"6 type definitions for 5 types", func(m *Module) { m.Heap.Defs = append(m.Heap.Defs, make([]abi.TypeDef, 2)...) }},
		{"flags of a type definition", func(m *Module) { m.Heap.Defs[0].Kind = 3 }},
		{"flags of a type definition", func(m *Module) { m.Heap.Defs[0].Place = 1 }},
		{"supertype", func(m *Module) { m.Heap.Defs[1].Super = 1 }},
		{"supertype", func(m *Module) { m.Heap.Defs[0].HasSuper = true }}, // of itself
		{"supertype", func(m *Module) { m.Heap.Defs[0].Open = false }},
		{"supertype", func(m *Module) { m.Heap.Defs[0].Kind = abi.KindFunc }},
		{"a packed field", func(m *Module) { m.Heap.Defs[0].Fields[0].Packed = 7 }},
		{"a packed field", func(m *Module) { m.Heap.Defs[0].Fields[0].Type = I64 }},
		{"0 types of elements", func(m *Module) { m.Heap.Defs[2].Fields = nil }},
		{"type 2, which type 1 refers to", func(m *Module) { m.Heap.Defs[2].Place = 0 }},
		{"type 5, which type 0 refers to", func(m *Module) { m.Heap.Defs[0].Fields[1].Type = abi.RefToKind(abi.KindArray, 5) }},
		{"bytes after the end", func(m *Module) { m.ABI = abi.Version }},
	} {
		m := heaped()
		c.change(m)
		if _, err := Decode(Encode(m), sampleSizes); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.want, err)
		}
	}
	m := typed()
	m.Globals[0].Type = abi.AnyRef
	if _, err := Decode(Encode(m), sampleSizes); err == nil || !strings.Contains(err.Error(), "reference type") {
		t.Errorf("anyref without a heap: %v", err)
	}
}

// TestDamage: each flipped bit is noticed.
func TestDamage(t *testing.T) {
	s := Encode(sample())
	for n, p := range []*[]byte{&s.Meta, &s.Traps, &s.StackMaps, &s.Calls} {
		whole := *p
		for i := range whole {
			b := bytes.Clone(whole)
			b[i] ^= 1 << (i % 8)
			*p = b
			var de *DecodeError
			var ve *VersionError
			if _, err := Decode(s, sampleSizes); !errors.As(err, &de) && !errors.As(err, &ve) {
				t.Errorf("section %d, byte %d: %v", n, i, err)
			}
			*p = whole[:i]
			if _, err := Decode(s, sampleSizes); err == nil {
				t.Errorf("section %d cut at %d", n, i)
			}
		}
		*p = whole
	}
}

// TestLongString: a string that claims one byte more than the section has.
func TestLongString(t *testing.T) {
	s := Encode(least())
	for n := range byte(40) {
		b := append(bytes.Clone(s.Meta[:headerSize+1]), n) // the version, then the architecture
		for cut := range 40 {
			s.Meta = rehash(append(b[:headerSize+2:headerSize+2], make([]byte, cut)...))
			if _, err := Decode(s, sampleSizes); err == nil {
				t.Error(n, cut)
			}
		}
	}
}

// rehash makes the header fit the payload, so that fuzzing gets past it.
func rehash(b []byte) []byte {
	b = bytes.Clone(b)
	Seal(b)
	return b
}

// TestMutated changes random bytes of the payloads: Decode answers, and what it accepts
// survives another round.
func TestMutated(t *testing.T) {
	for _, m := range []*Module{typed(), heapedMore()} {
		testMutated(t, Encode(m))
	}
}

func testMutated(t *testing.T, s Sections) {
	r := rand.New(rand.NewPCG(1, 2))
	accepted := 0
	for range 10000 {
		parts := [4][]byte{s.Meta, s.Traps, s.StackMaps, s.Calls}
		p := &parts[r.IntN(4)]
		*p = bytes.Clone(*p)
		for range 1 + r.IntN(3) {
			(*p)[headerSize+r.IntN(len(*p)-headerSize)] = byte(r.Uint32())
		}
		*p = rehash(*p)
		m, err := Decode(Sections{parts[0], parts[1], parts[2], parts[3]}, sampleSizes)
		if err != nil {
			continue
		}
		accepted++
		got, err := Decode(Encode(m), sampleSizes)
		if err != nil || !reflect.DeepEqual(m, got) {
			t.Fatal(err, cmp.Diff(m, got))
		}
	}
	if accepted == 0 {
		t.Error("nothing was accepted")
	}
}

func FuzzDecode(f *testing.F) {
	for _, m := range []*Module{typed(), heapedMore()} {
		s := Encode(m)
		f.Add(s.Meta, s.Traps, s.StackMaps, s.Calls)
	}
	f.Fuzz(func(t *testing.T, a, b, c, d []byte) {
		m, err := Decode(Sections{rehash(a), rehash(b), rehash(c), rehash(d)}, sampleSizes)
		if err != nil {
			return
		}
		got, err := Decode(Encode(m), sampleSizes)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(m, got); diff != "" {
			t.Error(diff)
		}
	})
}
