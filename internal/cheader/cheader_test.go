package cheader

import (
	"bytes"
	"strings"
	"testing"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
)

// exporting is a module that exports functions without parameters.
func exporting(names ...string) *meta.Module {
	m := &meta.Module{Types: []meta.FuncType{{}}, Funcs: []meta.Func{{}}}
	for _, n := range names {
		m.Exports = append(m.Exports, meta.Export{Name: n, Kind: abi.ExternFunc})
	}
	return m
}

// TestExportNames: a readable name if it is the only one, or else the symbol's, or else one with "export".
func TestExportNames(t *testing.T) {
	for _, x := range []struct {
		prefix, exports, want string
	}{
		{"p", "f g", "p_f p_g"},
		{"my-lib", "f-1", "my_lib_f_1"},
		{"7z", "_start", "m7z__start"},
		{"p", "a-b a_b a.b", "p_aZ2db p_a_b p_aZ2eb"},
		{"p", "new delete_ delete", "p_export_new p_delete_ p_export_delete"},
		{"p", "new export_new", "p_export_new_ p_export_new"},
		{"p", "reset map", "p_export_reset p_export_map"},
		{"p", "aZ2db a-b", "p_aZ2db p_a_b"},
		{"p", "x- x_ xZ2d", "p_export_x_ p_x_ p_xZ2d"},
		{"size", "t s", "size_export_t size_s"},
		{"_", "unix add", "m__unix m__add"},
		{"p", "export_new export_new_ new", "p_export_new p_export_new_ p_export_new__"},
		{"INT32", "C MAX c", "INT32_export_C INT32_export_MAX INT32_c"},
		{"WAOT", "EXIT", "mWAOT_EXIT"},
		{"WAOT_MODULE", "p_H", "mWAOT_MODULE_p_H"},
		{"va", "arg", "mva_arg"},
		{"atomic", "load", "matomic_load"},
		{"ifr", "name", "mifr_name"},
		{"timer", "delete", "mtimer_export_delete"},
	} {
		g := &generator{m: exporting(strings.Fields(x.exports)...), module: x.prefix, prefix: prefixIdentifier(x.prefix)}
		err := g.chooseNames()
		got := strings.Join(g.exports, " ")
		if err != nil || got != x.want {
			t.Errorf("%s: %q, want %q, error %v", x.exports, got, x.want, err)
		}
		seen := map[string]bool{}
		for _, n := range g.exports {
			if seen[n] {
				t.Errorf("%s: %s twice", x.exports, n)
			}
			seen[n] = true
		}
	}
}

// TestImportNames: functions of different modules have different names in C, and none is one of the runtime's.
func TestImportNames(t *testing.T) {
	m := exporting()
	m.Funcs = nil
	for _, n := range []meta.ImportName{{Module: "a_b", Name: "c"}, {Module: "a", Name: "b_c"}, {Module: "a", Name: "b-c"}, {Module: "on", Name: "exit"}, {Module: "waot-memory", Name: "grow"}, {Module: "on", Name: "exit"},
		{Module: "static", Name: "assert"}, {Module: "uint32", Name: "t"}, {Module: "$", Name: "restrict"},
		{Module: "INT32", Name: "C"}, {Module: "WAOT", Name: "EXIT"}, {Module: "other", Name: "new"}, {Module: "_x", Name: "f"}, {Module: "m_x", Name: "f"}, {Module: "WAOT", Name: "MODULE_p_H"}, {Module: "mWAOT", Name: "MODULE_p_H"}} {
		m.Funcs = append(m.Funcs, meta.Func{Import: &n})
	}
	h, err := Generate(m, "p")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`void a_b_c(void) __asm__("a_b..c");`, `void a_import_b_c(void) __asm__("a..b_c");`, `void a_bZ2dc(void) __asm__("a..bZ2dc");`, `void on_exit(void) __asm__("on..exit");`,
		`void static_import_assert(void) __asm__("static..assert");`, `void uint32_import_t(void) __asm__("uint32..t");`, `void m__restrict(void) __asm__("Z24..restrict");`,
		`void INT32_import_C(void) __asm__("INT32..C");`, `void mWAOT_EXIT(void) __asm__("WAOT..EXIT");`, `void other_import_new(void) __asm__("other..new");`,
		`void Z5fx_f(void) __asm__("_x..f");`, `void m_x_f(void) __asm__("m_x..f");`, `void Z57AOT_MODULE_p_H(void) __asm__("WAOT..MODULE_p_H");`, `void mWAOT_MODULE_p_H(void) __asm__("mWAOT..MODULE_p_H");`,
		`void waotZ2dmemory_grow(void) __asm__("waotZ2dmemory..grow");`} {
		if n := bytes.Count(h, []byte("\n"+want)); n != 1 {
			t.Errorf("%s: %d times", want, n)
		}
	}
}

// TestRuntimeNames: a module neither calls nor replaces the runtime's functions.
func TestRuntimeNames(t *testing.T) {
	importing := exporting()
	importing.Funcs[0].Import = &meta.ImportName{Module: "waot", Name: "instance_free"}
	for prefix, m := range map[string]*meta.Module{"waot": exporting("try"), "waot-memory": exporting("grow"), "p": importing} {
		if h, err := Generate(m, prefix); err == nil || !strings.Contains(err.Error(), "the runtime's") {
			t.Errorf("%s: %v\n%s", prefix, err, h)
		}
	}
	if _, err := Generate(exporting("waot"), "waots"); err != nil {
		t.Error(err)
	}
}

// TestFields: no keyword, macro or type, no reserved beginning, none twice.
func TestFields(t *testing.T) {
	used := newFieldNames("instance")
	for _, x := range [][2]string{{"f", "f"}, {"int", "int_"}, {"int_", "int__"}, {"9", "m9"}, {"", "m"}, {"instance", "instance_"}, {"requires", "requires_"}, {"linux", "linux_"},
		{"__asm__", "m__asm__"}, {"m__asm__", "m__asm___"}, {"_Bool", "m_Bool"}, {"_start", "_start"}, {"INT32_MAX", "INT32_MAX_"}, {"INT32_MAX_", "INT32_MAX__"}, {"INT32_C", "INT32_C_"}, {"int32_t", "int32_t_"},
		{"uint8_t", "uint8_t_"}, {"offsetof", "offsetof_"}, {"waot_ref", "mwaot_ref"}, {"WAOT_EXIT", "mWAOT_EXIT"}, {"WAOT_MODULE_p_H", "mWAOT_MODULE_p_H"}, {"PRId64", "PRId64_"}, {"noreturn", "noreturn_"}, {"xor_eq", "xor_eq_"},
		{"SIGINT", "SIGINT_"}, {"ENOENT", "ENOENT_"}, {"malloc", "malloc"}, {"memory", "memory"}, {"strlen", "strlen"}, {"__heap_base", "m__heap_base"}, {"ifa_dstaddr", "ifa_dstaddr_"}, {"ifc_buf", "ifc_buf_"}} {
		if got := used.add(x[0]); got != x[1] {
			t.Errorf("%q: %q, want %q", x[0], got, x[1])
		}
	}
}

// TestManyEqual: names that would be equal stay short, however many they are: fields of what is imported again and again, and exports whose other names are reserved.
func TestManyEqual(t *testing.T) {
	const n = 2000
	imports, exports := exporting(), exporting()
	for i := range n {
		imports.Globals = append(imports.Globals, meta.Global{Type: abi.I32, Import: &meta.ImportName{Module: "a", Name: "b"}})
		name := []byte("------------_t")
		for k := range 11 {
			name[k] += byte(i >> k & 1)
		}
		exports.Exports = append(exports.Exports, meta.Export{Name: string(name), Kind: abi.ExternFunc})
	}
	for _, m := range []*meta.Module{imports, exports} {
		h, err := Generate(m, "p")
		if err != nil || len(h) > 600*n {
			t.Errorf("%d bytes, %v", len(h), err)
		}
		if names := declaredNames(h); len(unique(names)) != len(declaredNames(h)) {
			t.Error("names twice")
		}
	}
}

// TestComment: a name can neither end the comment that quotes it nor seem to begin another one, of which compilers warn.
func TestComment(t *testing.T) {
	h, err := Generate(exporting("*/ x /*", "/*/ y"), "p")
	if err != nil || bytes.Contains(h, []byte("*/ x")) || bytes.Contains(h, []byte("*/ y")) || bytes.Contains(h, []byte(`x /*`)) || bytes.Contains(h, []byte(`"/*`)) {
		t.Errorf("%v\n%s", err, h)
	}
	again, err := Generate(exporting("*/ x /*", "/*/ y"), "p")
	if err != nil || !bytes.Equal(h, again) {
		t.Error("not the same bytes")
	}
}

// TestObjectTypes: the header tells which types of structures and arrays exports and imports have, and only if there are any.
func TestObjectTypes(t *testing.T) {
	m := exporting("f")
	ref := func(i uint32) abi.ValType { return abi.RefToKind(abi.KindStruct, i) }
	fields := make([]abi.FieldType, mostFields+1)
	for i := range fields {
		fields[i] = abi.FieldType{Type: abi.I32, Packed: 8}
	}
	m.Types = []meta.FuncType{{}, {}, {}, {Params: []abi.ValType{abi.I32, ref(1).NotNull()}, Results: []abi.ValType{ref(0)}}}
	m.Heap = &meta.Heap{Defs: []abi.TypeDef{{Kind: abi.KindStruct, Fields: fields}, {Kind: abi.KindStruct, Fields: []abi.FieldType{{Type: ref(2), Mutable: true}}}, {Kind: abi.KindStruct}, {Kind: abi.KindFunc}}}
	m.Funcs[0].Type = 3
	h, err := Generate(m, "p")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"waot_ref p_f(int32_t, waot_ref) __asm__(\"p..f\"); /* (i32 (ref 1)) -> ((ref null 0)) */\n",
		" * 0 is (struct" + strings.Repeat(" (field i8)", mostFields) + " ...)\n * 1 is (struct (field (mut (ref null 2))))\n */\nstatic inline const waot_type *waot_types_p(uint32_t index) { return waot_type_of(&p__object, index); }\n",
	} {
		if !bytes.Contains(h, []byte(want)) {
			t.Errorf("no %q in\n%s", want, h)
		}
	}
	if h, err := Generate(exporting("f"), "p"); err != nil || bytes.Contains(h, []byte("waot_type")) {
		t.Errorf("without types: %v\n%s", err, h)
	}
}
