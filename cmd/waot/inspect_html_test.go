package main

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// hostileName ends scripts, elements and attributes, if it is not escaped.
const hostileName = `</script><script>alert(1)</script><img src=x onerror=alert(2)>"'&amp;]]>`

// pageModule has what pages show: a loop, calls, a jump table, more values than there are registers, references, vectors, and names.
const pageModule = `(module (import "env" "f" (func $imported (param externref))) (memory 1) (table 3 funcref) (global $g (mut externref) (ref.null extern))
	(elem (i32.const 0) $square $sum 8)
	(func $square (param i32) (result i32) (i32.mul (local.get 0) (i32.load offset=4 (local.get 0))))
	(func $sum (export "sum") (param $p i32) (param $n i32) (result i32) (local $s i32) (local $i i32)
		(block $done (loop $top
			(br_if $done (i32.ge_u (local.get $i) (local.get $n)))
			(local.set $s (i32.add (local.get $s) (call $square (i32.load (i32.add (local.get $p) (i32.shl (local.get $i) (i32.const 2)))))))
			(local.set $i (i32.add (local.get $i) (i32.const 1)))
			(br $top)))
		(local.get $s))
	(func $switch (export "switch") (param i32) (result i32)
		(block $a (block $b (block $c (block $d (block $e (br_table $a $b $c $d $a $b $e (local.get 0))) (return (i32.const 1)))
			(return (i32.div_s (local.get 0) (i32.const 0)))) (unreachable)) (return (i32.const 4))) (i32.const 5))
	(func $pressure (export "pressure") (param f64 i64) (result i64) (local %s)
		%s (call $square (i32.const 3)) drop %s)
	(func $refs (export "refs") (param externref) (global.set $g (local.get 0)) (call $imported (local.get 0)) (call $imported (local.get 0)))
	(func $vectors (export "vectors") (param v128 v128) (result v128) (local v128)
		(local.set 2 (i32x4.add (local.get 0) (v128.load (i32.const 16)))) (call $refs (global.get $g)) (i8x16.shuffle 0 1 2 3 4 5 6 7 24 25 26 27 28 29 30 31 (local.get 2) (local.get 0)))
	(func $back (export "back") (param i32) (result i32)
		(if (result i32) (local.get 0) (then (i32.add (i32.const 1) (call $back (i32.sub (local.get 0) (i32.const 1))))) (else (i32.const 0))))
	(func (export %q) (param i64 i64 i64 i64 i64 i64 i64 i64 i64 i64) (result i64) (i64.add (local.get 9) (i64.div_u (local.get 7) (local.get 8)))))`

func writePageModule(t *testing.T) {
	t.Helper()
	var sets, sums string
	for n := range 30 {
		sets += fmt.Sprintf("(local.set %d (i64.mul (local.get 1) (i64.add (local.get 1) (i64.const %d))))", n+2, n)
		sums += fmt.Sprintf("(local.get %d)", n+2)
	}
	sums += strings.Repeat("i64.xor ", 29)
	quoted := fmt.Sprintf("%q", hostileName)
	text := strings.NewReplacer("local %s", "local"+strings.Repeat(" i64", 30), "%q", quoted).Replace(pageModule)
	text = strings.Replace(strings.Replace(text, "%s", sets, 1), "%s", sums, 1)
	if err := os.WriteFile("page.wat", []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// pageFunction is a function as the script of a page reads it.
type pageFunction struct {
	Index     int
	Name      string
	Bytes     int
	Places    [][2]any
	Locations []struct{ N, K string }
	Stages    []struct {
		ID, Kind, Title string
		Main            bool
		Rows            []pageRow
		Pooled          []int
	}
	Pool     []pageRow
	Blocks   []struct{ O int }
	VRegs    [][]int
	Segments [][4]int
	Omitted  string
}

type pageRow struct {
	K, P, B, I, E int
	L, T, M, X    string
	O             [][3]int
}

var pageScript = regexp.MustCompile(`(?s)<(script|style)([^>]*)>(.*?)</(?:script|style)>`)

// readPage checks that a page is well formed and asks for nothing outside, and returns its functions by name.
func readPage(t *testing.T, page string) map[string]*pageFunction {
	t.Helper()
	funcs := map[string]*pageFunction{}
	scripts := 0
	for _, m := range pageScript.FindAllStringSubmatch(page, -1) {
		if !strings.Contains(m[2], "application/json") {
			scripts++
			continue
		}
		f := new(pageFunction)
		if err := json.Unmarshal([]byte(m[3]), f); err != nil {
			t.Fatalf("%v in %.200s", err, m[3])
		}
		funcs[f.Name] = f
	}
	if scripts != 2 {
		t.Errorf("%d elements of style and script, want one of each", scripts)
	}
	rest := strings.TrimPrefix(pageScript.ReplaceAllString(page, ""), "<!DOCTYPE html>")
	ids := map[string]bool{}
	var refs []string
	d := xml.NewDecoder(strings.NewReader(rest))
	d.Entity = xml.HTMLEntity
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the page is not well formed: %v", err)
		}
		e, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}
		for _, a := range e.Attr {
			switch name := a.Name.Local; {
			case name == "id" && ids[a.Value]:
				t.Errorf("two elements have the id %s", a.Value)
			case name == "id":
				ids[a.Value] = true
			case name == "aria-controls" || name == "for":
				refs = append(refs, a.Value)
			case name == "src" || name == "href" || strings.HasPrefix(name, "on"):
				t.Errorf("<%s %s=%q>", e.Name.Local, name, a.Value)
			}
		}
	}
	for _, r := range refs {
		if !ids[r] {
			t.Errorf("nothing has the id %s", r)
		}
	}
	return funcs
}

var (
	clifNames = regexp.MustCompile(`\bv(\d+)\b|\bblock(\d+)\b`)
	vregNames = regexp.MustCompile(`%(\d+)|\bblock(\d+)\b`)
)

// valuesIn returns the names of values and blocks in a row of CLIF, as the script finds them: behind a point or a colon, v128 is a type.
func valuesIn(text string) (names []string) {
	for _, m := range clifNames.FindAllStringIndex(text, -1) {
		if before := strings.TrimSuffix(text[:m[0]], " "); !strings.HasSuffix(before, ".") && !strings.HasSuffix(before, ":") {
			names = append(names, text[m[0]:m[1]])
		}
	}
	return names
}

// check demands that everything a page refers to is there, and that what it says of the allocation fits together.
func (f *pageFunction) check(t *testing.T) {
	t.Helper()
	stages := map[string][]pageRow{}
	within := func(what string, n, count int) {
		if n < 0 || n >= count {
			t.Errorf("%s: %s %d of %d", f.Name, what, n, count)
		}
	}
	for _, s := range f.Stages {
		rows := s.Rows
		for _, n := range s.Pooled {
			within("row", n, len(f.Pool))
			rows = append(rows, f.Pool[n])
		}
		stages[s.ID] = rows
		defined := map[string]bool{}
		for _, r := range rows {
			within("place", r.P, len(f.Places)+1)
			for _, o := range r.O {
				within("register", o[0], len(f.VRegs))
				within("location", o[1]+1, len(f.Locations)+1)
			}
			if s.Kind != "clif" {
				within("block", r.B, len(f.Blocks)+1)
			} else if def, _, ok := strings.Cut(r.T, " = "); ok && r.K == 0 {
				for v := range strings.SplitSeq(def, ", ") {
					defined[v] = true
				}
			} else if r.K == 1 {
				for _, v := range valuesIn(r.T) {
					defined[v] = true
				}
			}
		}
		for _, r := range rows {
			switch s.Kind {
			case "clif":
				for _, v := range valuesIn(r.T) {
					if !defined[v] {
						t.Errorf("%s, %s: %q, but nothing defines %s", f.Name, s.ID, r.T, v)
					}
				}
			case "vcode", "alloc":
				for _, m := range vregNames.FindAllStringSubmatch(r.T, -1) {
					var n int
					fmt.Sscan(m[1]+m[2], &n)
					within(m[0], n, map[bool]int{true: len(f.VRegs), false: len(f.Blocks)}[m[1] != ""])
				}
			}
		}
	}
	for _, p := range f.Places { // the last offset is the operator in the function itself
		text, offset := p[0].(string), p[1].(float64)
		if at := strings.TrimSuffix(text[strings.LastIndexByte(text, '@')+1:], " inlined"); at != fmt.Sprintf("%04x", int(offset)) {
			t.Errorf("%s: place %s belongs to the operator at %#x", f.Name, text, int(offset))
		}
	}
	for _, b := range f.Blocks {
		within("block of CLIF", b.O, 1<<20)
	}
	f.checkMachine(t, stages["alloc"], stages["asm"])
	f.checkSegments(t, stages["alloc"])
}

// checkMachine demands that the rows of machine code have all its bytes, and that all instructions that are not left out or without code have some.
func (f *pageFunction) checkMachine(t *testing.T, alloc, asm []pageRow) {
	bytes, have := 0, map[string]bool{}
	for _, r := range asm {
		bytes += len(r.X) / 2
		if r.I > 0 {
			have[fmt.Sprint("i", r.I)] = true
		}
		if r.E > 0 {
			have[fmt.Sprint("e", r.E)] = true
		}
	}
	if bytes != f.Bytes {
		t.Errorf("%s: rows of %d bytes, of %d", f.Name, bytes, f.Bytes)
	}
	edits, moved := 0, 0
	for _, r := range alloc {
		if r.E > 0 {
			edits++
			moved += map[bool]int{true: 1}[have[fmt.Sprint("e", r.E)]]
		}
		if r.K != 0 || r.T == "args" || r.T == "jump" || strings.HasPrefix(r.T, "mov") || strings.HasPrefix(r.T, "trap") || have[fmt.Sprint("i", r.I)] {
			continue
		}
		if len(r.O) == 1 && r.O[0][1] < 0 {
			continue // left out
		}
		t.Errorf("%s: no machine code comes from %q", f.Name, r.T)
	}
	if edits > 8 && 2*moved < edits { // several that exchange registers have one instruction
		t.Errorf("%s: %d of %d edits have machine code", f.Name, moved, edits)
	}
}

// checkSegments demands that the segments say of each operand that it is where it was put.
func (f *pageFunction) checkSegments(t *testing.T, alloc []pageRow) {
	if f.Omitted != "" {
		t.Errorf("%s: no segments: %s", f.Name, f.Omitted)
	}
	covered := map[[3]int]bool{}
	for _, s := range f.Segments {
		if s[2] > s[3] || s[2] < 0 || s[3] >= 2*len(alloc) {
			t.Errorf("%s: segment %v of %d rows", f.Name, s, len(alloc))
		}
		for pos := s[2]; pos <= s[3]; pos++ {
			if covered[[3]int{s[0], s[1], pos}] {
				t.Errorf("%s: segment %v overlaps another", f.Name, s)
			}
			covered[[3]int{s[0], s[1], pos}] = true
		}
	}
	for n, r := range alloc {
		for _, o := range r.O {
			pos := 2*n + map[bool]int{true: 1}[o[2] == 1 || o[2] == 2]
			if o[1] >= 0 && !covered[[3]int{o[0], o[1], pos}] {
				t.Errorf("%s: row %d, %q: register %d is not shown in %s", f.Name, n, r.T, o[0], f.Locations[o[1]].N)
			}
		}
	}
}

// TestInspectPage: pages are well formed for both machines and levels and each allocator, whatever functions are called; what they refer to is there; and they do not depend on
// the number of workers.
func TestInspectPage(t *testing.T) {
	setUp(t)
	writePageModule(t)
	for _, target := range compile.Targets() {
		for _, level := range []string{"-O1", "-O0", "-O1 --regalloc=ssa"} {
			t.Run(target+level, func(t *testing.T) {
				args := append([]string{"inspect", "page.wat", "--target=" + target}, strings.Fields(level)...)
				status, page, stderr := execute(append(args, "--html=-", "--jobs=1")...)
				if status != 0 {
					t.Fatal(stderr)
				}
				funcs := readPage(t, page)
				for _, name := range []string{"square", "sum", "switch", "pressure", "refs", "vectors", "back", "init", hostileName} {
					if f := funcs[name]; f == nil {
						t.Errorf("there is no function %q", name)
					} else {
						f.check(t)
					}
				}
				if places := fmt.Sprint(funcs["sum"].Places); level != "-O0" && (!strings.Contains(places, " called at @") || !strings.Contains(places, " inlined")) {
					t.Errorf("the places of what is inlined are not named: %s", places)
				}
				if f := funcs["pressure"]; !strings.Contains(fmt.Sprint(f.Stages), "spill") || !strings.Contains(fmt.Sprint(f.Stages), "reload") {
					t.Error("there are no spills and reloads")
				}
				if status, again, stderr := execute(append(args, "--html=again.html", "--jobs=4")...); status != 0 || !strings.HasPrefix(again, "again.html: 9 functions") {
					t.Errorf("%s, %s", again, stderr)
				}
				if again, err := os.ReadFile("again.html"); err != nil || string(again) != page {
					t.Errorf("with four workers the page differs (%v)", err)
				}
			})
		}
	}
}

// TestInspectPageSize: a page leaves functions out when it gets too large, names them, and shows them when they are chosen.
func TestInspectPageSize(t *testing.T) {
	setUp(t)
	var text strings.Builder
	text.WriteString("(module ")
	for n := range 2100 {
		fmt.Fprintf(&text, "(func $f%d (export \"f%d\") (param i32) (result i32) (local.get 0) %s)", n, n, strings.Repeat("(i32.add (i32.const 1234567))", 8))
	}
	text.WriteString(")")
	if err := os.WriteFile("many.wat", []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	status, stdout, stderr := execute("inspect", "many.wat", "--html=many.html")
	if status != 0 || !strings.Contains(stdout, "more would make it too large: --func chooses") {
		t.Fatalf("%s, %s", stdout, stderr)
	}
	page, err := os.ReadFile("many.html")
	if err != nil {
		t.Fatal(err)
	}
	if len(page) > 12<<20 {
		t.Errorf("%d bytes", len(page))
	}
	shown := len(readPage(t, string(page)))
	if shown < 300 || shown > 1000 {
		t.Errorf("%d functions", shown)
	}
	if n := strings.Count(string(page), "disabled="); n != 1001 || !strings.Contains(string(page), fmt.Sprintf("and %d more", 2101-shown-1000)) {
		t.Errorf("%d functions are left out", n)
	}
	if status, page, stderr := execute("inspect", "many.wat", "--html=-", "--func=f2000"); status != 0 || len(readPage(t, page)) != 1 {
		t.Errorf("%s: %.500s", stderr, page)
	}
}

// TestInspectPageUsage: what goes wrong is said, and no file is written.
func TestInspectPageUsage(t *testing.T) {
	setUp(t)
	writePageModule(t)
	for _, c := range []struct{ flags, want string }{
		{"--html= page.wat", "no file given"},
		{"--html=x.html --emit=asm page.wat", "leave --emit out"},
		{"--html=page.wat page.wat", "is the module itself"},
		{"--html=x.html --func=nobody page.wat", "no function nobody"},
		{"--html=x.html --func=imported page.wat", "is imported"},
		{"--html=nowhere/x.html page.wat", "nowhere/x.html"},
	} {
		status, _, stderr := execute(append([]string{"inspect"}, strings.Fields(c.flags)...)...)
		if status == 0 || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: status %d, %s", c.flags, status, stderr)
		}
	}
	if _, err := os.Stat("x.html"); err == nil {
		t.Error("a file was written")
	}
}

// TestInspectPagePrograms: the same of functions of real programs.
func TestInspectPagePrograms(t *testing.T) {
	testenv.OnlyFull(t, "pages of programs")
	modules, err := filepath.Glob(filepath.Join(testenv.Material(t, testenv.EnvBench), "*", "*.wasm"))
	if err != nil || len(modules) < 15 {
		t.Fatalf("%d modules, %v", len(modules), err)
	}
	for _, target := range compile.Targets() {
		for _, module := range modules {
			status, page, stderr := execute("inspect", module, "--html=-", "--target="+target)
			if status != 0 {
				t.Errorf("%s: %s", module, stderr)
				continue
			}
			for _, f := range readPage(t, page) {
				f.check(t)
			}
		}
	}
}
