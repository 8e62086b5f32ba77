package translate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/translate"
	"github.com/waot-project/waot/wasmfront/validate"
	"github.com/waot-project/waot/wasmfront/wat"
)

// surveyed returns the module of some fields, with what a survey says.
func surveyed(t *testing.T, fields string) *clif.Module {
	t.Helper()
	parsed, err := wat.Assemble([]byte("(module " + fields + ")"))
	if err != nil {
		t.Fatal(fields, err)
	}
	m, err := validate.Module(parsed.Wasm, validate.Config{})
	if err != nil {
		t.Fatal(fields, err)
	}
	cm := translate.Module(m, m.DecodeNames())
	translate.TakeSurvey(m, cm, 1, nil).Declare(cm)
	return cm
}

// stateNames are the parts that writes shows; the parts of globals are g0 and so on.
var stateNames = []struct {
	state clif.StateSet
	name  string
}{
	{clif.StateMemory, "memory"}, {clif.StateMemorySize, "size"}, {clif.StateTable, "table"}, {clif.StateTableSize, "length"},
	{clif.StateSegments, "segments"}, {clif.StateImported, "imported"},
}

// writes lists what a call of function i may write.
func writes(cm *clif.Module, i int) string {
	set := ^cm.Funcs[i].Keeps
	if set == clif.AllState {
		return "all"
	}
	var names []string
	for _, n := range stateNames {
		if set&n.state != 0 {
			names = append(names, n.name)
		}
	}
	for g := range cm.Globals {
		if d := &cm.Globals[g]; set&cm.GlobalState(uint32(g)) != 0 && (d.Import == nil || !d.Mutable) {
			names = append(names, fmt.Sprintf("g%d", g))
		}
	}
	return strings.Join(names, " ")
}

// TestSurveyWrites: what a call of function 0 may write, or of function 1 if function 0 is imported.
func TestSurveyWrites(t *testing.T) {
	const around = ` (global $g (mut i32) (i32.const 0)) (global $h (mut i64) (i64.const 0)) (memory 1) (memory 1) (table $t 3 funcref) (table $u 3 funcref)
		(data $d "abc") (elem $e func 0) (type $v (func))`
	for _, c := range []struct{ funcs, want string }{
		{`(func (result i32) (i32.add (global.get $g) (i32.load (i32.const 0))))`, ""},
		{`(func (result i32) (i64.store8 (i32.const 2044) (i64.const 5)) (memory.size))`, "memory"},
		{`(func (i32.store 1 offset=65 (i32.const 0) (i32.const 0)) (global.set $g (i32.const 3)))`, "memory g0"}, // 65 is i32.const
		{`(func (v128.store32_lane 1 offset=65 3 (i32.const 0) (v128.const i32x4 0 0 0 0)) (global.set $g (i32.const 3)))`, "memory g0"},
		{`(func (v128.store8_lane 3 (i32.const 0) (v128.const i32x4 0 0 0 0)))`, "memory"},
		{`(func (v128.store (i32.const 0) (v128.const i32x4 0 0 0 0)))`, "memory"},
		{`(func (memory.fill (i32.const 0) (i32.const 0) (i32.const 1)))`, "memory"},
		{`(func (memory.copy (i32.const 0) (i32.const 0) (i32.const 1)))`, "memory"},
		{`(func (memory.init $d (i32.const 0) (i32.const 0) (i32.const 1)))`, "memory"},
		{`(func (drop (memory.grow (i32.const 0))))`, "size"},
		{`(func (data.drop $d))`, "segments"},
		{`(func (elem.drop $e))`, "segments"},
		{`(func (table.set $t (i32.const 0) (ref.null func)))`, "table"},
		{`(func (table.fill $t (i32.const 0) (ref.null func) (i32.const 1)))`, "table"},
		{`(func (drop (table.grow $t (ref.null func) (i32.const 1))))`, "length"},
		{`(func (table.copy $t $u (i32.const 0) (i32.const 0) (i32.const 1)))`, "table"},
		{`(func (table.init $t $e (i32.const 0) (i32.const 0) (i32.const 1)))`, "table"},
		{`(func (global.set $h (i64.const 1)))`, "g1"},
		{`(func (global.set $h (i64.const 1)) (global.set $g (i32.const 1)))`, "g0 g1"},
		{`(func (block (loop (global.set $g (i32.const 1)) (br_if 1 (i32.const 0)) (f64.store (i32.const 0) (f64.const 1)))))`, "memory g0"},
		{`(func (call_indirect $t (type $v) (i32.const 0)))`, "all"},
		{`(import "m" "f" (func)) (func (call 0))`, "all"},
		{`(func (call 1)) (func (global.set $h (i64.const 1)) (call 2)) (func (i32.store (i32.const 0) (i32.const 0)))`, "memory g1"},
		{`(func (call 1) (global.set $g (i32.const 0))) (func (call 0) (drop (memory.grow (i32.const 0))))`, "size g0"},
		{`(func (call 2)) (func (global.set $h (i64.const 1))) (func)`, ""},
		{`(func (call 1)) (func (call 2)) (func (call 3)) (func (call_indirect $t (type $v) (i32.const 0)))`, "all"},
		{`(import "m" "g" (global $i (mut i32))) (func (global.set $i (i32.const 0)))`, "imported"},
	} {
		cm := surveyed(t, c.funcs+around)
		if got := writes(cm, cm.NumImportedFuncs); got != c.want {
			t.Errorf("%s writes %q, want %q", c.funcs, got, c.want)
		}
	}
}

// TestSurveyStores: each operator that stores writes memory, and none that loads.
func TestSurveyStores(t *testing.T) {
	stores := 0
	for _, op := range wasmfront.Opcodes() {
		name := op.String()
		ty, what, ok := strings.Cut(name, ".")
		if !ok || !strings.HasPrefix(what, "store") && !strings.HasPrefix(what, "load") {
			continue
		}
		value, lane := "("+ty+".const 0)", ""
		if ty == "v128" {
			value = "(v128.const i64x2 0 0)"
		}
		if strings.HasSuffix(what, "lane") {
			lane = " 0"
		}
		body, want := "("+name+lane+" (i32.const 0) "+value+")", "memory"
		if strings.HasPrefix(what, "load") {
			want = ""
			if lane == "" {
				value = ""
			}
			body = "(drop (" + name + lane + " (i32.const 0) " + value + "))"
		} else {
			stores++
		}
		if got := writes(surveyed(t, "(memory 1) (func "+body+")"), 0); got != want {
			t.Errorf("%s writes %q, want %q", name, got, want)
		}
	}
	if stores != 14 {
		t.Errorf("%d operators store", stores)
	}
}

// TestSurveyGlobals: which globals are fixed.
func TestSurveyGlobals(t *testing.T) {
	cm := surveyed(t, `
		(import "m" "c" (global i32)) (import "m" "v" (global (mut i32)))
		(global i32 (i32.const 1)) (global (mut i32) (i32.const 2)) (global (mut i32) (i32.const 3)) (global (export "e") (mut f64) (f64.const 4))
		(global (export "f") i64 (i64.const 5)) (global i32 (global.get 0)) (global (mut funcref) (ref.null func)) (global v128 (v128.const i32x4 1 2 3 4))
		(func (global.set 3 (i32.const 0)))`)
	got := ""
	for i := range cm.Globals {
		got += fmt.Sprintf("%d:%v ", i, cm.Globals[i].Fixed)
	}
	const want = "0:false 1:false 2:true 3:false 4:true 5:false 6:true 7:false 8:true 9:false "
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestSurveyTables: what is known of the entries of table $t.
func TestSurveyTables(t *testing.T) {
	const null, computed = clif.ElemNull, clif.ElemComputed
	const fill = `(table $t 4 funcref) (elem (table $t) (i32.const 1) func $a $c)`
	for _, c := range []struct {
		name, imports, fields string
		want                  []clif.FuncIndex
		only                  bool
	}{
		{"one type", "", fill, []clif.FuncIndex{null, 0, 2, null}, true},
		{"two types", "", `(table $t 2 funcref) (elem (table $t) (i32.const 0) func $a $b)`, []clif.FuncIndex{0, 1}, false},
		{"a later segment", "", fill + `(elem (table $t) (i32.const 2) func $b)`, []clif.FuncIndex{null, 0, 1, null}, false},
		{"nothing", "", `(table $t 1 funcref)`, []clif.FuncIndex{null}, false},
		{"computed", "", `(table $t 2 funcref) (elem (table $t) (i32.const 0) funcref (ref.func $a) (global.get $i))`, []clif.FuncIndex{0, computed}, false},
		{"reads", "", fill + `(func (result funcref) (table.get $t (i32.const 1)))`, []clif.FuncIndex{null, 0, 2, null}, true},
		{"another is written", "", fill + `(table $u 1 funcref) (func (table.set $u (i32.const 0) (ref.null func)))`, []clif.FuncIndex{null, 0, 2, null}, true},
		{"written", "", fill + `(func (table.set $t (i32.const 0) (ref.null func)))`, nil, false},
		{"filled", "", fill + `(func (table.fill $t (i32.const 0) (ref.null func) (i32.const 1)))`, nil, false},
		{"grown", "", fill + `(func (drop (table.grow $t (ref.null func) (i32.const 1))))`, nil, false},
		{"copied to", "", fill + `(func (table.copy $t $t (i32.const 0) (i32.const 0) (i32.const 1)))`, nil, false},
		{"initialised later", "", fill + `(elem $e func $a) (func (table.init $t $e (i32.const 0) (i32.const 0) (i32.const 1)))`, nil, false},
		{"exported", "", `(table $t (export "t") 4 funcref) (elem (table $t) (i32.const 1) func $a $c)`, nil, false},
		{"imported", `(import "m" "t" (table $t 4 funcref))`, `(elem (table $t) (i32.const 1) func $a $c)`, nil, false},
		{"too short", "", `(table $t 2 funcref) (elem (table $t) (i32.const 1) func $a $c)`, nil, false},
		{"at an imported place", `(import "m" "o" (global $o i32))`, `(table $t 4 funcref) (elem (table $t) (global.get $o) func $a)`, nil, false},
		{"another is imported, and gets functions", `(import "m" "t" (table $u 4 funcref))`, `(elem (table $u) (i32.const 0) func $a)` + fill, nil, false},
		{"of externref", "", `(table $t 4 externref)`, nil, false},
		{"large", "", `(table $t 1000000 funcref)`, nil, false},
	} {
		cm := surveyed(t, c.imports+`(import "m" "g" (global $i funcref)) (func $a) (func $b (param i32)) (func $c)`+c.fields)
		table := &cm.Tables[strings.Count(c.imports, "$u")]
		if d := cmp.Diff(c.want, table.Entries); d != "" || table.HasOnly != c.only {
			t.Errorf("%s: one type is %v; entries (-want +got):\n%s", c.name, table.HasOnly, d)
		}
		if table.HasOnly && len(cm.Sigs[table.Only].Params) > 0 {
			t.Errorf("%s: the type is %d", c.name, table.Only)
		}
	}
}
