package validate_test

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/validate"
)

// The functions below assemble modules from strings of bytes.

func module(sections ...string) []byte {
	return []byte("\x00asm\x01\x00\x00\x00" + strings.Join(sections, ""))
}

func uleb(n int) string { return string(binary.AppendUvarint(nil, uint64(n))) }

func sized(s string) string { return uleb(len(s)) + s }

func section(id byte, contents string) string { return string(id) + sized(contents) }

func vec(items ...string) string { return uleb(len(items)) + strings.Join(items, "") }

func funcType(params, results []wasmfront.ValType) string {
	code := [...]string{"", "\x7f", "\x7e", "\x7d", "\x7c", "\x7b", "\x70", "\x6f"}
	s := "\x60"
	for _, ts := range [][]wasmfront.ValType{params, results} {
		s += uleb(len(ts))
		for _, t := range ts {
			s += code[t]
		}
	}
	return s
}

// oneFunc is a module with a function of the given type, a table, a memory and
// a mutable i32 global.
func oneFunc(params, results []wasmfront.ValType, body string) []byte {
	return module(
		section(1, vec(funcType(params, results))),
		section(3, vec("\x00")),
		section(4, vec("\x70\x00\x01")),
		section(5, vec("\x00\x01")),
		section(6, vec("\x7f\x01\x41\x00\x0b")),
		section(10, vec(sized(body))),
	)
}

func wantError(t *testing.T, err error, msg, limit string) {
	t.Helper()
	var e *wasmfront.Error
	if !errors.As(err, &e) || !strings.HasPrefix(e.Msg, msg) || e.Limit != limit {
		t.Errorf("got %v, want %q (limit %q)", err, msg, limit)
	}
}

func TestLimits(t *testing.T) {
	locals := func(n int) []byte { return oneFunc(nil, nil, "\x01"+uleb(n)+"\x7f\x0b") }
	types := func(n int) []byte {
		ts := make([]wasmfront.ValType, n)
		for i := range ts {
			ts[i] = wasmfront.I32
		}
		return module(section(1, vec(funcType(ts, nil))))
	}
	branches := func(n int) []byte {
		return oneFunc(nil, nil, "\x00\x41\x00\x0e"+uleb(n)+strings.Repeat("\x00", n+1)+"\x0b")
	}
	body := func(n int) []byte {
		return oneFunc(nil, nil, "\x00"+strings.Repeat("\x01", n-2)+"\x0b")
	}
	results := func(n int) []byte {
		return module(section(1, vec(funcType(nil, slices.Repeat([]wasmfront.ValType{wasmfront.F64}, n)))))
	}
	manyTypes := func(n int) []byte { return module(section(1, uleb(n)+strings.Repeat("\x60\x00\x00", n))) }
	imports := func(n int) []byte {
		return module(section(1, vec(funcType(nil, nil))), section(2, uleb(n)+strings.Repeat("\x00\x00\x00\x00", n)))
	}
	funcs := func(n int) []byte {
		return module(section(1, vec(funcType(nil, nil))), section(3, uleb(n)+strings.Repeat("\x00", n)), section(10, uleb(n)+strings.Repeat("\x02\x00\x0b", n)))
	}
	memories := func(n int) []byte {
		return module(section(2, vec("\x01m\x01m\x02\x00\x01")), section(5, uleb(n-1)+strings.Repeat("\x00\x01", n-1)))
	}
	tags := func(n int) []byte {
		return module(section(1, vec(funcType(nil, nil))), section(13, uleb(n)+strings.Repeat("\x00\x00", n)))
	}
	importedTags := func(n int) []byte {
		return module(section(1, vec(funcType(nil, nil))), section(2, uleb(n-1)+strings.Repeat("\x00\x00\x04\x00\x00", n-1)), section(13, vec("\x00\x00")))
	}
	catches := func(n int) []byte {
		return oneFunc(nil, nil, "\x00\x1f\x40"+uleb(n)+strings.Repeat("\x02\x00", n)+"\x0b\x0b")
	}
	group := func(n int) []byte {
		return module(section(1, vec("\x4e"+uleb(n-1)+strings.Repeat("\x60\x00\x00", n-1), "\x5f\x00")))
	}
	fields := func(n int) []byte { return module(section(1, vec("\x5f"+uleb(n)+strings.Repeat("\x77\x01", n)))) }
	supertypes := func(n int) []byte {
		types := []string{"\x50\x00\x5f\x00"}
		for i := range n {
			types = append(types, "\x50\x01"+uleb(i)+"\x5f\x00")
		}
		return module(section(1, vec(types...)))
	}
	const array = "\x5e\x7f\x00"
	elements := func(n int) []byte {
		code := "\x00" + strings.Repeat("\x41\x00", n) + "\xfb\x08\x00" + uleb(n) + "\x1a\x0b"
		return module(section(1, vec(array, funcType(nil, nil))), section(3, vec("\x01")), section(10, vec(sized(code))))
	}
	constElements := func(n int) []byte {
		return module(section(1, vec(array)), section(6, vec("\x64\x00\x00"+strings.Repeat("\x41\x00", n)+"\xfb\x08\x00"+uleb(n)+"\x0b")))
	}
	for _, c := range []struct {
		limit, msg string
		n          int
		module     func(int) []byte
	}{
		{"types", "too many types", wasmfront.MaxTypes, group},
		{"fields", "too many fields", wasmfront.MaxFields, fields},
		{"supertypes", "too many supertypes of supertypes", abi.MaxDepth, supertypes},
		{"elements of array.new_fixed", "array.new_fixed of 10001 elements", wasmfront.MaxFixedElements, elements},
		{"elements of array.new_fixed", "array.new_fixed of 10001 elements", wasmfront.MaxFixedElements, constElements},
		{"results", "too many results", wasmfront.MaxResults, results},
		{"types", "too many types", wasmfront.MaxTypes, manyTypes},
		{"functions", "too many functions", wasmfront.MaxFuncs, imports},
		{"functions", "too many functions", wasmfront.MaxFuncs, funcs},
		{"locals", "too many locals", wasmfront.MaxLocals, locals},
		{"parameters", "too many parameters", wasmfront.MaxParams, types},
		{"br_table targets", "br_table", wasmfront.MaxBrTable, branches},
		{"memories", "too many memories", wasmfront.MaxMemories, memories},
		{"tags", "too many tags", wasmfront.MaxTags, tags},
		{"tags", "too many tags", wasmfront.MaxTags, importedTags},
		{"catch clauses", "try_table of 65521 catch clauses", wasmfront.MaxCatches, catches},
		{"function body size", "function body", wasmfront.MaxBodySize, body},
	} {
		if _, err := validate.All(c.module(c.n), validate.Config{Features: wasmfront.DecodableFeatures}); err != nil {
			t.Errorf("%s at the limit: %v", c.limit, err)
		}
		_, err := validate.All(c.module(c.n+1), validate.Config{Features: wasmfront.DecodableFeatures})
		wantError(t, err, c.msg, c.limit)
	}
}

// TestMemoryOfAccess: a flag says that the index of a memory follows the alignment, in one byte or more, also where it is 0.
func TestMemoryOfAccess(t *testing.T) {
	for _, c := range []struct{ access, msg string }{
		{"\x02\x00", ""},
		{"\x42\x00\x00", ""},
		{"\x42\x01\x00", ""},
		{"\xc2\x00\x01\x00", ""},         // the flags in two bytes
		{"\x42\x81\x80\x00\xff\x7f", ""}, // the index in three, and the offset in two
		{"\x42\x02\x00", "unknown memory 2"},
		{"\x42\x7f\x00", "unknown memory 127"},
		{"\x43\x01\x00", "alignment must not be larger than natural: 2^3 > 2^2"},
		{"\x7f\x01\x00", "alignment must not be larger than natural: 2^63 > 2^2"},
		{"\x80\x01\x00", "malformed memop flags 0x80"},
		{"\x42\x01\x80\x80\x80\x80\x10", "offset out of range"},
		{"\x42\x80\x80\x80\x80\x10\x00", "integer too large"},
	} {
		body := "\x00\x41\x00\x28" + c.access + "\x1a\x0b"
		b := module(section(1, vec(funcType(nil, nil))), section(3, vec("\x00")), section(5, vec("\x00\x01", "\x00\x01")), section(10, vec(sized(body))))
		m, err := validate.All(b, validate.Config{})
		if c.msg != "" {
			wantError(t, err, c.msg, "")
		} else if err != nil || len(m.Memories) != 2 {
			t.Errorf("% x: %v", c.access, err)
		}
		var e *wasmfront.Error
		if _, err := validate.All(b, validate.Config{Features: wasmfront.DefaultFeatures &^ wasmfront.FeatureMultiMemory}); !errors.As(err, &e) || e.Feature != "multi-memory" {
			t.Errorf("% x without the feature: %v", c.access, err)
		}
	}
}

// TestEveryOpcode puts each operator into a function: those that are not
// accepted must be refused with the name of their feature and their offset,
// and those that do not exist are malformed.
func TestEveryOpcode(t *testing.T) {
	named := map[string]bool{}
	try := func(code string, info *wasmfront.OpInfo, accept wasmfront.Features) {
		t.Helper()
		b := oneFunc(nil, nil, "\x00\x00"+code+strings.Repeat("\x00", 20)+"\x0b")
		_, err := validate.All(b, validate.Config{Features: accept})
		var e *wasmfront.Error
		errors.As(err, &e)
		at := strings.LastIndex(string(b), "\x00\x00"+code+"\x00\x00") + 2
		switch {
		case info.Name == "":
			if e == nil || !strings.HasPrefix(e.Msg, "illegal opcode") || e.Offset != at || e.Feature != "" {
				t.Errorf("%x: %v, want an illegal opcode at 0x%x", code, err, at)
			}
		case !accept.Has(info.Feature):
			if e == nil || e.Feature != (info.Feature&^accept).String() || e.Offset != at {
				t.Errorf("%s: %v, want a refusal for %s at 0x%x", info.Name, err, info.Feature&^accept, at)
			}
			named[e.Feature] = true
		// Its immediates may need a feature: ref.null of type 0.
		case e != nil && (e.Feature != "" && e.Offset == at || strings.HasPrefix(e.Msg, "illegal opcode")):
			t.Errorf("%s: %v, want it accepted", info.Name, err)
		}
	}
	for _, accept := range []wasmfront.Features{wasmfront.FeatureMultiValue, wasmfront.DefaultFeatures, wasmfront.DecodableFeatures} {
		for i := range 0x100 {
			if !wasmfront.IsPrefix(byte(i)) {
				try(string([]byte{byte(i)}), wasmfront.Opcode(i).Info(), accept)
				continue
			}
			for n := range 0x140 {
				op, ok := wasmfront.PrefixedOpcode(byte(i), uint32(n))
				info := new(wasmfront.OpInfo)
				if ok {
					info = op.Info()
				}
				try(string([]byte{byte(i)})+uleb(n), info, accept)
			}
		}
	}
	for _, f := range []string{"simd", "relaxed-simd", "threads", "tail-call", "exceptions", "legacy-exceptions",
		"function-references", "gc", "bulk-memory", "reference-types", "sign-extension"} {
		if !named[f] {
			t.Errorf("no operator was refused for %s", f)
		}
	}
}

// withoutSIMD is what is accepted by default but for vectors, multiple memories, typed function references, tail calls, exceptions, garbage collection and wide arithmetic.
const withoutSIMD = wasmfront.DefaultFeatures &^ (wasmfront.FeatureSIMD | wasmfront.FeatureRelaxedSIMD | wasmfront.FeatureMultiMemory | wasmfront.FeatureFunctionReferences |
	wasmfront.FeatureTailCall | wasmfront.FeatureExceptions | wasmfront.FeatureLegacyExceptions | wasmfront.FeatureGC | wasmfront.FeatureWideArithmetic)

// TestRefusedTypes checks the refusals that are not of operators.
func TestRefusedTypes(t *testing.T) {
	for feature, b := range map[string][]byte{
		"gc":                  module(section(1, vec("\x5f\x00"))),
		"function-references": module(section(1, vec("\x60\x01\x64\x70\x00"))),
		"exceptions":          module(section(1, vec("\x60\x00\x00")), section(13, vec("\x00\x00"))),
		"memory64":            module(section(5, vec("\x04\x00"))),
		"threads":             module(section(5, vec("\x03\x00\x01"))),
		"custom-page-sizes":   module(section(5, vec("\x08\x00\x00"))),
		"multi-memory":        module(section(5, vec("\x00\x00", "\x00\x00"))),
		"simd":                module(section(1, vec("\x60\x01\x7b\x00"))),
	} {
		_, err := validate.All(b, validate.Config{Features: withoutSIMD})
		var e *wasmfront.Error
		if !errors.As(err, &e) || e.Feature != feature || !strings.Contains(e.Error(), feature) || e.Offset < 8 {
			t.Errorf("%s: %v", feature, err)
		}
	}
}

// TestLowestOffset has errors in a body, before it and after it.
func TestLowestOffset(t *testing.T) {
	build := func(badGlobal, badBody, badData bool) []byte {
		global, body, data := "\x41\x00", "\x00\x0b", "\x00\x41\x00\x0b\x00"
		if badGlobal {
			global = "\x42\x00"
		}
		if badBody {
			body = "\x00\x6a\x0b"
		}
		if badData {
			data = "\x07\x41\x00\x0b\x00"
		}
		return module(section(1, vec(funcType(nil, nil))), section(3, vec("\x00")), section(5, vec("\x00\x01")),
			section(6, vec("\x7f\x00"+global+"\x0b")), section(10, vec(sized(body))), section(11, vec(data)))
	}
	for _, c := range []struct {
		global, body, data bool
		msg                string
		fn                 int
	}{
		{true, true, true, "type mismatch: constant expression", -1},
		{false, true, true, "type mismatch: expected i32", 0},
		{false, false, true, "malformed data segment kind", -1},
	} {
		_, err := validate.All(build(c.global, c.body, c.data), validate.Config{})
		wantError(t, err, c.msg, "")
		var e *wasmfront.Error
		if errors.As(err, &e) && e.Func != c.fn {
			t.Errorf("function %d, want %d", e.Func, c.fn)
		}
	}
}

// TestOperators walks a body and compares operators and stacks.
func TestOperators(t *testing.T) {
	i32 := []wasmfront.ValType{wasmfront.I32}
	b := oneFunc(i32, i32, "\x01\x01\x7c"+ // a local of type f64
		"\x02\x7f"+ // block (result i32)
		"\x20\x00"+ // local.get 0
		"\x41\x7f"+ // i32.const -1
		"\x28\x02\x10"+ // i32.load offset=16
		"\x0d\x00"+ // br_if 0
		"\x0e\x01\x00\x01"+ // br_table: see below
		"\x0b"+
		"\x1a\x00\x1a\x41\x01\x0b")
	// br_table 0 1 needs an operand besides the index.
	b = []byte(strings.Replace(string(b), "\x0d\x00\x0e", "\x0d\x00\x41\x03\x0e", 1))
	b = fixSizes(b)
	m, err := validate.Module(b, validate.Config{})
	if err != nil {
		t.Fatal(err)
	}
	type step struct {
		Text     string
		Depth    int
		Operands int
	}
	var got []step
	var f validate.Func
	var op wasmfront.Operator
	for f.Begin(m, 0); f.Next(&op); {
		got = append(got, step{op.String(), f.Depth(), f.NumOperands()})
	}
	if f.Err() != nil {
		t.Fatal(f.Err())
	}
	want := []step{
		{"block (result i32)", 2, 0},
		{"local.get 0", 2, 1},
		{"i32.const -1", 2, 2},
		{"i32.load offset=16", 2, 2},
		{"br_if 0", 2, 1},
		{"i32.const 3", 2, 2},
		{"br_table 0 1", 2, 0},
		{"end", 1, 1},
		{"drop", 1, 0},
		{"unreachable", 1, 0},
		{"drop", 1, 0},
		{"i32.const 1", 1, 1},
		{"end", 0, 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]wasmfront.ValType{wasmfront.I32, wasmfront.F64}, f.Locals()); diff != "" || f.NumParams() != 1 {
		t.Error(diff, f.NumParams())
	}
}

// fixSizes corrects the sizes of the code section, which is the last and has
// one short body, after an edit.
func fixSizes(b []byte) []byte {
	m, _ := wasmfront.Decode(b, wasmfront.DefaultFeatures)
	s := m.Sections[len(m.Sections)-1]
	body := string(b[s.Offset+2:])
	return []byte(string(b[:s.Offset-2]) + section(10, vec(sized(body))))
}

// TestOperandTypes checks what drop and select say of their operands.
func TestOperandTypes(t *testing.T) {
	b := oneFunc(nil, nil, "\x00"+
		"\x43\x00\x00\x00\x00\x1a"+ // f32.const 0, drop
		"\x42\x00\x42\x00\x41\x00\x1b\x1a"+ // i64.const twice, i32.const, select, drop
		"\x00\x1b\x1a\x0b") // unreachable, select, drop
	m, err := validate.Module(b, validate.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var got []wasmfront.ValType
	var f validate.Func
	var op wasmfront.Operator
	for f.Begin(m, 0); f.Next(&op); {
		if op.Op == wasmfront.OpDrop || op.Op == wasmfront.OpSelect {
			got = append(got, op.Type)
		}
	}
	want := []wasmfront.ValType{wasmfront.F32, wasmfront.I64, wasmfront.I64, wasmfront.TypeUnknown, wasmfront.TypeUnknown}
	if diff := cmp.Diff(want, got); diff != "" || f.Err() != nil {
		t.Error(diff, f.Err())
	}
}

// TestOwnGlobals checks that constant expressions may use globals defined
// before, if these are immutable.
func TestOwnGlobals(t *testing.T) {
	globals := func(first, second string) []byte { return module(section(6, vec(first, second))) }
	if _, err := validate.All(globals("\x7f\x00\x41\x05\x0b", "\x7f\x00\x23\x00\x23\x00\x6c\x0b"), validate.Config{}); err != nil {
		t.Error(err)
	}
	_, err := validate.All(globals("\x7f\x01\x41\x05\x0b", "\x7f\x00\x23\x00\x0b"), validate.Config{})
	wantError(t, err, "constant expression required", "")
	_, err = validate.All(globals("\x7f\x00\x23\x00\x0b", "\x7f\x00\x23\x00\x0b"), validate.Config{})
	wantError(t, err, "unknown global 0", "")
}

func TestEarliest(t *testing.T) {
	a, b := error(&wasmfront.Error{Offset: 1}), error(&wasmfront.Error{Offset: 2})
	for _, c := range [][3]error{{a, b, a}, {b, a, a}, {a, nil, a}, {nil, b, b}, {nil, nil, nil}} {
		if got := validate.Earliest(c[0], c[1]); got != c[2] {
			t.Errorf("Earliest(%v, %v) = %v", c[0], c[1], got)
		}
	}
}
