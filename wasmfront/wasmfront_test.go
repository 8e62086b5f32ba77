package wasmfront

import (
	"math"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/internal/effect"
)

// TestOperatorTable checks what the users of the table rely on.
func TestOperatorTable(t *testing.T) {
	if !sort.SliceIsSorted(opRows[:], func(i, j int) bool { return opRows[i].op < opRows[j].op }) {
		t.Error("rows out of order")
	}
	names := map[string]bool{}
	for _, op := range Opcodes() {
		info := op.Info()
		if info.Name == "" || names[info.Name] {
			t.Errorf("%#x: name %q", uint16(op), info.Name)
		}
		names[info.Name] = true
		if s := info.Sig; s != "" && strings.Count(s, ":") != 1 || strings.Trim(s, "ilfdvrx:") != "" {
			t.Errorf("%s: signature %q", op, s)
		}
		memory := info.Imm == ImmMemArg || info.Imm == ImmMemArgLane
		if !memory && info.Align != 0 {
			t.Errorf("%s: alignment %d", op, info.Align)
		}
		if op.String() != info.Name {
			t.Errorf("%s is called %s", op, info.Name)
		}
	}
	for feature, n := range map[Features]int{FeatureSIMD: 236, FeatureRelaxedSIMD: 20, FeatureGC: 32, FeatureThreads: 67} {
		have := 0
		for _, r := range opRows {
			if r.Feature == feature {
				have++
			}
		}
		if have != n {
			t.Errorf("%d operators of %s, want %d", have, feature, n)
		}
	}
}

// TestOperatorEffects: each operator that is accepted says its effects, and they are of what its immediates name.
func TestOperatorEffects(t *testing.T) {
	parts := map[ImmKind]effect.Parts{ImmGlobal: effect.Global, ImmTable: effect.Table | effect.TableSize, ImmTable2: effect.Table,
		ImmElem: effect.Segments, ImmElemTable: effect.Segments, ImmData: effect.Segments, ImmDataMem: effect.Segments,
		ImmMem: effect.Memory | effect.MemorySize, ImmMem2: effect.Memory, ImmMemArg: effect.Memory, ImmMemArgLane: effect.Memory,
		ImmField: effect.Heap, ImmTypeCount: effect.Heap, ImmType2: effect.Heap, ImmTypeData: effect.Segments, ImmTypeElem: effect.Segments}
	control := map[ImmKind]bool{ImmBlock: true, ImmTryTable: true, ImmLabel: true, ImmBrTable: true, ImmTag: true, ImmBrOnCast: true}
	for _, op := range Opcodes() {
		info := op.Info()
		e := info.Effects
		if e == effect.Unknown && !DefaultFeatures.Has(info.Feature) {
			continue
		}
		if !e.Sound() {
			t.Errorf("%v: its effects are %b", op, e)
		}
		if p, touched := parts[info.Imm], e.Read()|e.Written(); p != 0 && touched&p == 0 {
			t.Errorf("%v: its immediates name what it neither reads nor writes", op)
		}
		if tail := strings.HasPrefix(info.Name, "return_call"); tail != (e.Has(effect.Control) && e.Has(effect.Calls)) || !tail && control[info.Imm] != e.Has(effect.Control) && info.Imm != ImmNone {
			t.Errorf("%v: its effects are %b", op, e)
		}
		// Readers of bodies take the first immediate for what is written.
		if e.Has(effect.WriteGlobal|effect.ReadGlobal) && info.Imm != ImmGlobal || e.Has(effect.WriteLocal) && info.Imm != ImmLocal {
			t.Errorf("%v: its immediates do not name what it writes", op)
		}
		if (info.Imm == ImmMemArg || info.Imm == ImmMemArgLane) && !e.Has(effect.Traps) {
			t.Errorf("%v does not trap", op)
		}
	}
	if e := Opcode(0xFC7F).Info().Effects; e != effect.Unknown {
		t.Errorf("no operator has effects %b", e)
	}
}

func TestFeatureNames(t *testing.T) {
	for i := range numFeatures {
		f := Features(1) << i
		if FeatureByName(f.String()) != f {
			t.Errorf("feature %d is called %q", i, f)
		}
	}
	if FeatureByName("none") != 0 || (FeatureSIMD|FeatureGC).String() != "simd,gc" {
		t.Error("names of sets")
	}
}

func TestReader(t *testing.T) {
	read := func(s string, f func(r *Reader) int64) (int64, string) {
		r := &Reader{Buf: []byte(s), End: len(s), Func: -1}
		n := f(r)
		if r.Err != nil {
			return n, r.Err.Msg
		}
		if r.Pos != len(s) {
			return n, "left over"
		}
		return n, ""
	}
	u32 := func(r *Reader) int64 { return int64(r.U32()) }
	s32 := func(r *Reader) int64 { return int64(r.S32()) }
	s33 := func(r *Reader) int64 { return r.S33() }
	u64 := func(r *Reader) int64 { return int64(r.U64()) }
	s64 := func(r *Reader) int64 { return r.S64() }
	const end, long, large = "unexpected end of section or function", "integer representation too long", "integer too large"
	for _, c := range []struct {
		in   string
		f    func(*Reader) int64
		want int64
		msg  string
	}{
		{"\x00", u32, 0, ""},
		{"\x7f", u32, 127, ""},
		{"\x80\x00", u32, 0, ""},
		{"\xff\xff\xff\xff\x0f", u32, math.MaxUint32, ""},
		{"\xff\xff\xff\xff\x1f", u32, 0, large},
		{"\xff\xff\xff\xff\x8f\x00", u32, 0, long},
		{"\x80", u32, 0, end},
		{"", u32, 0, end},
		{"\x7f", s32, -1, ""},
		{"\x3f", s32, 63, ""},
		{"\x80\x80\x80\x80\x78", s32, math.MinInt32, ""},
		{"\xff\xff\xff\xff\x07", s32, math.MaxInt32, ""},
		{"\xff\xff\xff\xff\x0f", s32, 0, large},
		{"\x80\x80\x80\x80\x70", s32, 0, large},
		{"\x80\x80\x80\x80\x80\x00", s32, 0, long},
		{"\x80\x80\x80\x80\x70", s33, math.MinInt32 * 2, ""},
		{"\xff\xff\xff\xff\x0f", s33, math.MaxUint32, ""},
		{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", u64, -1, ""},
		{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", u64, 0, large},
		{"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f", s64, math.MinInt64, ""},
		{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00", s64, math.MaxInt64, ""},
		{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", s64, 0, large},
	} {
		got, msg := read(c.in, c.f)
		if got != c.want || msg != c.msg {
			t.Errorf("%x: %d, %q; want %d, %q", c.in, got, msg, c.want, c.msg)
		}
	}
}

func TestOperatorString(t *testing.T) {
	for _, c := range []struct {
		op   Operator
		want string
	}{
		{Operator{Op: OpI32Const, I64: 0xFFFFFFFF}, "i32.const -1"},
		{Operator{Op: OpI64Const, I64: 1 << 63}, "i64.const -9223372036854775808"},
		{Operator{Op: OpF32Const, I64: 0x3F800000}, "f32.const 1"},
		{Operator{Op: OpF32Const, I64: 0x7FC00000}, "f32.const nan"},
		{Operator{Op: OpF32Const, I64: 0xFFC00001}, "f32.const -nan:0x400001"},
		{Operator{Op: OpF64Const, I64: 0xFFF0000000000000}, "f64.const -inf"},
		{Operator{Op: OpF64Const, I64: 0x7FF0000000000000}, "f64.const inf"},
		{Operator{Op: OpF64Const, I64: 1 << 63}, "f64.const -0"},
		{Operator{Op: OpF64Const, I64: math.Float64bits(1e100)}, "f64.const 1e+100"},
		{Operator{Op: OpIf, Params: []ValType{I32}, Results: []ValType{F32, F64}}, "if (param i32) (result f32 f64)"},
		{Operator{Op: OpI64Load8U, Align: 0, I64: 4}, "i64.load8_u offset=4"},
		{Operator{Op: OpI64Store, Align: 1}, "i64.store align=2"},
		{Operator{Op: OpBrTable, Targets: []uint32{2, 0}, Index: 1}, "br_table 2 0 1"},
		{Operator{Op: OpCallIndirect, Index: 3}, "call_indirect (type 3)"},
		{Operator{Op: OpCallIndirect, Index: 3, Index2: 1}, "call_indirect 1 (type 3)"},
		{Operator{Op: OpSelect, Type: I32}, "select"},
		{Operator{Op: OpSelectT, Type: I32}, "select (result i32)"},
		{Operator{Op: OpRefNull, Type: ExternRef}, "ref.null extern"},
		{Operator{Op: OpMemoryGrow}, "memory.grow"},
		{Operator{Op: OpTableGet}, "table.get 0"},
		{Operator{Op: OpMemoryInit, Index: 2}, "memory.init 2"},
		{Operator{Op: OpTableInit, Index: 2, Index2: 1}, "table.init 1 2"},
		{Operator{Op: OpTableCopy, Index: 2, Index2: 1}, "table.copy 2 1"},
		{Operator{Op: OpI8x16ExtractLaneS, Lane: 7}, "i8x16.extract_lane_s 7"},
	} {
		if got := c.op.String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if got := Opcode(0xF3).String(); got != "opcode(0xf3)" {
		t.Error(got)
	}
}

// TestNames decodes a name section, also cut off at every byte.
func TestNames(t *testing.T) {
	const (
		header = "\x00asm\x01\x00\x00\x00"
		funcs  = "\x01\x04\x01\x60\x00\x00" + "\x03\x04\x03\x00\x00\x00"
		code   = "\x0a\x0a\x03\x02\x00\x0b\x02\x00\x0b\x02\x00\x0b"
		names  = "\x00\x02\x01m" + "\x01\x07\x02\x00\x01a\x02\x01c" + "\x02\x0a\x01\x02\x02\x00\x02xy\x03\x01z" + "\x09\x01?"
	)
	build := func(names string) *Module {
		custom := "\x04name" + names
		m, err := Decode([]byte(header+funcs+code+"\x00"+string(byte(len(custom)))+custom), DefaultFeatures)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	want := &Names{Module: "m", Funcs: []string{"a", "", "c"}}
	n := build(names).DecodeNames()
	if diff := cmp.Diff(want, n); diff != "" {
		t.Error(diff)
	}
	if n.Func(2) != "c" || n.Func(3) != "" {
		t.Error("Func")
	}
	for i := range len(names) {
		build(names[:i]).DecodeNames()
	}
	if got := build("\x00\x02\x01m" + "\x01\x07\x02\x02\x01a\x00\x01c").DecodeNames(); got.Module != "m" || got.Funcs != nil {
		t.Errorf("unordered names: %+v", got)
	}
	if got := build("\x01\x0a\x01\xff\xff\xff\xff\x0f\x03abc").DecodeNames(); got.Funcs != nil {
		t.Errorf("index out of range: %+v", got)
	}
}

// TestFieldNames: names are of fields that exist, each once, in order; else they are not known.
func TestFieldNames(t *testing.T) {
	const header = "\x00asm\x01\x00\x00\x00"
	const types = "\x01\x11\x04" + "\x5f\x02\x7f\x00\x78\x01" + "\x60\x00\x00" + "\x5e\x7f\x00" + "\x5f\x01\x7f\x00"
	decode := func(names string) (*AllNames, bool) {
		custom := "\x04name" + names
		m, err := Decode([]byte(header+types+"\x00"+string(byte(len(custom)))+custom), DecodableFeatures)
		if err != nil {
			t.Fatal(err)
		}
		return m.DecodeAllNames()
	}
	const two = "\x0a\x0e\x02" + "\x00\x02\x00\x01a\x01\x01b" + "\x03\x01\x00\x01a"
	want := []InnerNames{{0, []NameAssoc{{0, "a"}, {1, "b"}}}, {3, []NameAssoc{{0, "a"}}}}
	if names, ok := decode(two); !ok || !cmp.Equal(want, names.Fields) {
		t.Errorf("%v %v", names, ok)
	}
	for i := 1; i < len(two); i++ {
		if _, ok := decode(two[:i]); ok {
			t.Errorf("%x: known", two[:i])
		}
	}
	if names, ok := decode("\x0a\x03\x01\x02\x00" + "\x0b\x01\x00"); ok {
		t.Errorf("no names: %v", names)
	}
	for _, c := range []struct{ contents, what string }{
		{"\x01\x00\x01\x02\x01a", "no such field"},
		{"\x01\x00\x01\xff\xff\xff\xff\x0f\x01a", "no such field"},
		{"\x01\x00\x02\x00\x01a\x00\x01b", "the same field"},
		{"\x01\x00\x02\x01\x01a\x00\x01b", "fields out of order"},
		{"\x02\x03\x01\x00\x01a\x00\x01\x00\x01a", "types out of order"},
		{"\x02\x00\x01\x00\x01a\x00\x01\x01\x01a", "the same type"},
		{"\x01\x04\x01\x00\x01a", "no such type"},
		{"\x01\xff\xff\xff\xff\x0f\x01\x00\x01a", "no such type"},
		{"\x01\x01\x01\x00\x01a", "a type of functions"},
		{"\x01\x02\x01\x00\x01a", "an array"},
		{"\xff\xff\xff\xff\x0f\x00\x01\x00\x01a", "more types than there are bytes"},
		{"\x01\x00\x01\x00\x01\xff", "no UTF-8"},
		{"\x01\x00\x01\x00\x01a\x00", "something behind"},
	} {
		if names, ok := decode("\x0a" + string(byte(len(c.contents))) + c.contents); ok {
			t.Errorf("%s: %v", c.what, names)
		}
	}
}
