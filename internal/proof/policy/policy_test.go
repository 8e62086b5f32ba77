package policy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

const modulePath = "github.com/waot-project/waot/"

// file is a parsed source file of the module.
type file struct {
	path string // relative to the module's root, with slashes
	pkg  string // folder
	test bool
	ast  *ast.File
	fset *token.FileSet
}

// sourceFiles parses all Go files of the module, nested modules aside.
func sourceFiles(t *testing.T) []file {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	var files []file
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if _, err := os.Stat(filepath.Join(p, "go.mod")); err == nil && p != root {
				return filepath.SkipDir
			}
			if name := d.Name(); p != root && (strings.HasPrefix(name, ".") || name == "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, p, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		files = append(files, file{rel, path.Dir(rel), strings.HasSuffix(rel, "_test.go"), f, fset})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// deps is who may import whom within the module: a package may import what is
// listed behind its name, and what those may. It is a statement of policy: do not
// change it to make a build pass.
const deps = `
internal/abi:
internal/cost:
internal/effect:
internal/gcpace:
internal/proof/cputime:
internal/proof/testenv:
internal/emulate:
internal/input:
internal/reloc:
internal/stop:
internal/quote:
internal/meta: internal/abi
internal/gcheap: internal/abi
regalloc: internal/stop
machbuffer: internal/reloc internal/stop
objfile: internal/abi internal/reloc internal/stop
internal/cheader: objfile internal/meta
internal/cruntime: objfile
internal/proof/wasisuite: internal/proof/testenv
wasi: internal/abi
wasmfront: internal/abi internal/effect internal/stop
wasmfront/encode: wasmfront
wasmfront/wat: wasmfront/encode internal/quote
wasmfront/validate: wasmfront
wasmfront/printer: wasmfront
wasmfront/fuel: wasmfront
clif: internal/abi internal/effect internal/stop
clif/analysis: clif
clif/verify: clif/analysis
clif/text: clif
clif/pattern: clif
clif/rewrite: clif
clif/arith: clif
clif/resumable: clif/analysis
clif/opt: clif/resumable clif/arith clif/pattern clif/rewrite
clif/inline: clif/resumable clif/rewrite
clif/interp: clif/analysis clif/arith
wasmfront/translate: wasmfront/validate wasmfront/fuel clif
regalloc/parmove: regalloc
regalloc/flow: regalloc/parmove
regalloc/linear: regalloc/flow
regalloc/ssa: regalloc/flow
regalloc/local: regalloc/flow
internal/proof/regalloc/gen: regalloc
internal/proof/regalloc/exec: regalloc
checker: regalloc
internal/proof/regalloc/alloctest: internal/proof/regalloc/gen internal/proof/testenv internal/proof/cputime checker
internal/proof/regalloc/soak: regalloc/linear regalloc/ssa regalloc/local internal/proof/regalloc/gen internal/proof/regalloc/exec checker
backend/instance: clif
backend: backend/instance clif/resumable clif/pattern clif/rewrite checker machbuffer
backend/isa/x64/asm: backend
backend/isa/x64: backend/isa/x64/asm
backend/isa/a64/asm: backend
backend/isa/a64: backend/isa/a64/asm
compile: wasmfront/translate clif/inline clif/opt clif/verify backend/isa/x64 backend/isa/a64 regalloc/linear regalloc/ssa regalloc/local objfile internal/meta internal/cost internal/quote
internal/inspect: compile
internal/image: internal/meta internal/reloc
internal/link: internal/image objfile internal/quote
internal/cruntime/mkblob: objfile
host/hosterr:
host/inproc: host/hosterr internal/image internal/gcheap internal/quote
host/loaded: host/inproc
host/load: host/inproc internal/link
host/sign:
internal/cache: host/loaded
host: host/loaded host/load host/sign internal/input
host/wasirun: host wasi
host/jsstring: host
internal/program: internal/cruntime internal/link
internal/proof/stress/guest: wasmfront internal/abi
internal/proof/stress:
spectest/script: wasmfront/wat internal/input
internal/proof/entropy:
internal/proof/metaedit: internal/abi internal/meta
internal/proof/wasmgen: wasmfront internal/proof/entropy
internal/snapshot: wasmfront/validate wasmfront/encode
internal/initialize: internal/snapshot compile host/wasirun
internal/wasmedit: wasmfront/validate wasmfront/encode
internal/reduce: internal/wasmedit
internal/proof/fuelcount: internal/wasmedit
internal/proof/hostile: compile host/load
internal/proof/mutate: compile internal/proof/regalloc/gen internal/proof/regalloc/exec internal/proof/wasmgen wasmfront/wat
spectest: spectest/script internal/abi clif wasmfront
internal/proof/suitetest: spectest internal/proof/testenv
spectest/remote: spectest
spectest/interpengine: spectest clif/interp wasmfront/translate clif/verify
spectest/nativeengine: spectest compile host/load
internal/proof/filetest: clif/text clif/verify clif/interp clif/inline
internal/proof/isatest: compile internal/proof/filetest internal/proof/testenv
internal/proof/asmtest:
internal/proof/randprog: spectest/interpengine internal/proof/wasmgen
internal/proof/moving: host/inproc
internal/proof/wrongrules: clif/rewrite
internal/proof/campaign: internal/proof/randprog internal/proof/moving spectest/nativeengine internal/proof/filetest internal/reduce wasmfront/printer
internal/proof/campaign/soak: internal/proof/campaign internal/emulate
internal/proof/wat: wasmfront/wat
internal/proof/gobpipe:
internal/proof/compare: internal/proof/wat internal/proof/gobpipe spectest/interpengine spectest/nativeengine
internal/proof/bugcases: internal/proof/wat internal/proof/compare
internal/proof/difftest:
internal/proof/knownbugs:
internal/proof/plant: internal/proof/bugcases
internal/proof/policy:
.: internal/initialize wasmfront/wat internal/cache
internal/proof/guestfuzz: . internal/proof/stress/guest
internal/proof/guestfuzz/soak: internal/proof/guestfuzz
`

func allowed(t *testing.T) map[string]map[string]bool {
	t.Helper()
	may := map[string]map[string]bool{}
	for _, line := range strings.Split(strings.TrimSpace(deps), "\n") {
		name, list, _ := strings.Cut(line, ":")
		set := map[string]bool{}
		for _, d := range strings.Fields(list) {
			below, ok := may[d]
			if !ok {
				t.Fatalf("%s: %s is not listed above it", name, d)
			}
			set[d] = true
			for b := range below {
				set[b] = true
			}
		}
		may[name] = set
	}
	return may
}

// free may import anything of ours: programs, and what only tests use.
func free(pkg string) bool {
	return strings.HasPrefix(pkg, "cmd/") || strings.HasPrefix(pkg, "bench") || strings.HasPrefix(pkg, "examples")
}

func TestImports(t *testing.T) {
	may := allowed(t)
	for _, f := range sourceFiles(t) {
		if f.test || free(f.pkg) {
			continue
		}
		set, ok := may[f.pkg]
		if !ok {
			t.Errorf("package %s is not in the policy", f.pkg)
			continue
		}
		for _, imp := range f.ast.Imports {
			p := strings.Trim(imp.Path.Value, `"`)
			d, ours := strings.CutPrefix(p+"/", modulePath)
			if d = strings.TrimSuffix(d, "/"); d == "" {
				d = "." // the root package
			}
			if ours && !set[d] {
				t.Errorf("%s imports %s, which the policy does not allow", f.path, d)
			}
		}
	}
}

// proofFolder holds what shows that the product is right.
const proofFolder = "internal/proof/"

// TestProof: nothing of the product needs what proves it. Tests do, and so may programs that measure.
func TestProof(t *testing.T) {
	product, proof := 0, 0
	for _, f := range sourceFiles(t) {
		if strings.HasPrefix(f.pkg, proofFolder) {
			proof++
			continue
		}
		if f.test || strings.HasPrefix(f.pkg, "bench/") {
			continue
		}
		product++
		for _, imp := range f.ast.Imports {
			p := strings.Trim(imp.Path.Value, `"`)
			if strings.HasPrefix(p, modulePath+proofFolder) {
				t.Errorf("%s imports %s", f.path, p)
			}
		}
	}
	if product < 100 || proof < 50 {
		t.Errorf("%d files of the product, %d of what proves it", product, proof)
	}
}

func TestPackageComments(t *testing.T) {
	docs := map[string]string{}
	for _, f := range sourceFiles(t) {
		if f.test {
			continue
		}
		docs[f.pkg] += f.ast.Doc.Text()
	}
	for pkg, doc := range docs {
		if doc == "" {
			t.Errorf("package %s has no comment", pkg)
		} else if !free(pkg) && (!strings.Contains(doc, "Input:") || !strings.Contains(doc, "Output:")) {
			t.Errorf("the comment of package %s does not say Input: and Output:", pkg)
		}
	}
}

// Limits of size, in lines. Tables are exempt: files that are one literal.
const (
	maxFunc = 120
	maxFile = 1000
)

func TestSizes(t *testing.T) {
	for _, f := range sourceFiles(t) {
		if f.test {
			continue
		}
		lines := func(n ast.Node) int {
			return f.fset.Position(n.End()).Line - f.fset.Position(n.Pos()).Line + 1
		}
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && lines(fn) > maxFunc {
				t.Errorf("%s: %s has %d lines, more than %d", f.path, fn.Name.Name, lines(fn), maxFunc)
			}
		}
		if n := f.fset.File(f.ast.Pos()).LineCount(); n > maxFile && !isTable(f) {
			t.Errorf("%s has %d lines, more than %d", f.path, n, maxFile)
		}
	}
}

// isTable reports whether most of a file is declarations without functions.
func isTable(f file) bool {
	inFuncs := 0
	for _, d := range f.ast.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			inFuncs += f.fset.Position(fn.End()).Line - f.fset.Position(fn.Pos()).Line + 1
		}
	}
	return inFuncs*5 < f.fset.File(f.ast.Pos()).LineCount()
}

// TestPackageState demands that package-level variables are never assigned to
// outside their declaration, and that there are no init functions. What a
// host must keep per process (signal handlers are a property of the process) is
// listed with the reason.
func TestPackageState(t *testing.T) {
	exempt := map[string]string{
		"host/inproc": "signal handlers, the code arena and type records belong to the process",
	}
	pkgVars := map[string]map[string]bool{}
	files := sourceFiles(t)
	for _, f := range files {
		if f.test {
			continue
		}
		if pkgVars[f.pkg] == nil {
			pkgVars[f.pkg] = map[string]bool{}
		}
		for _, d := range f.ast.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			for _, s := range g.Specs {
				for _, n := range s.(*ast.ValueSpec).Names {
					pkgVars[f.pkg][n.Name] = true
				}
			}
		}
	}
	for _, f := range files {
		if f.test || exempt[f.pkg] != "" {
			continue
		}
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			if fn.Name.Name == "init" && fn.Recv == nil {
				t.Errorf("%s has an init function", f.path)
			}
			checkAssignments(t, f, fn, pkgVars[f.pkg])
		}
	}
}

// checkAssignments reports assignments to package variables (as far as names
// tell: a local variable of the same name is recognised by its object).
func checkAssignments(t *testing.T, f file, fn *ast.FuncDecl, vars map[string]bool) {
	report := func(e ast.Expr) {
		for {
			switch x := e.(type) {
			case *ast.IndexExpr:
				e = x.X
				continue
			case *ast.SelectorExpr:
				e = x.X
				continue
			case *ast.StarExpr:
				e = x.X
				continue
			}
			break
		}
		id, ok := e.(*ast.Ident)
		if !ok || !vars[id.Name] || id.Name == "_" {
			return
		}
		if id.Obj != nil {
			if v, ok := id.Obj.Decl.(*ast.ValueSpec); !ok || v.Pos() > fn.Pos() && v.End() < fn.End() {
				return
			}
		}
		t.Errorf("%s: %s assigns to the package variable %s", f.fset.Position(e.Pos()), fn.Name.Name, id.Name)
	}
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch s := n.(type) {
		case *ast.AssignStmt:
			if s.Tok != token.DEFINE {
				for _, l := range s.Lhs {
					report(l)
				}
			}
		case *ast.IncDecStmt:
			report(s.X)
		}
		return true
	})
}

// TestWords demands that the tree speaks only of itself.
func TestWords(t *testing.T) {
	words := []string{"/wo" + "rk/", "TO" + "DO", "FIX" + "ME"}
	for _, f := range sourceFiles(t) {
		for _, g := range f.ast.Comments {
			for _, w := range words {
				if strings.Contains(g.Text(), w) {
					t.Errorf("%s: a comment contains %q", f.fset.Position(g.Pos()), w)
				}
			}
		}
	}
}

// TestDeadCode: the lists of functions that nothing reaches, which .ci/run compares with what the tool finds, have
// not grown, but by functions of the public interface that no program of ours calls, by those that assembly calls, and by what makes a type one of an interface. Lower the numbers as they shrink.
func TestDeadCode(t *testing.T) {
	for list, most := range map[string]int{"programs.txt": 95, "tests.txt": 26} {
		data, err := os.ReadFile("../deadcode/" + list)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for line := range strings.Lines(string(data)) {
			if line != "\n" && line[0] != '#' {
				n++
			}
		}
		if n > most {
			t.Errorf("%s has %d functions, more than %d", list, n, most)
		}
	}
}

// TestOperandsOnce: passes and the back end ask clif for operands and targets, and have no switch of their own over how many there are or over formats.
func TestOperandsOnce(t *testing.T) {
	read := 0
	for _, f := range sourceFiles(t) {
		if f.test || !strings.HasPrefix(f.pkg, "clif/") && !strings.HasPrefix(f.pkg, "backend") && !strings.HasPrefix(f.pkg, "wasmfront/") {
			continue
		}
		read++
		for _, n := range operandSwitches(f.ast, f.pkg == "clif/text") {
			t.Errorf("%s: InstData.Operands, Func.ListOperands and Func.TargetsOf say where operands and targets are", f.fset.Position(n.Pos()))
		}
	}
	if read < 100 {
		t.Errorf("only %d files", read)
	}
}

// operandSwitches returns the nodes of a file that tell instructions apart by their numbers of operands or their formats: switches, with and without a tag, and,
// but for a file that reads or writes text, any name of a format.
func operandSwitches(file *ast.File, text bool) (found []ast.Node) {
	asks := func(n ast.Node) (yes bool) {
		if n != nil {
			ast.Inspect(n, func(n ast.Node) bool {
				x, ok := n.(*ast.SelectorExpr)
				yes = yes || ok && (x.Sel.Name == "NumArgs" || x.Sel.Name == "Format")
				return !yes
			})
		}
		return yes
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SwitchStmt:
			own := n.Init != nil && asks(n.Init) || n.Tag != nil && asks(n.Tag)
			for _, c := range n.Body.List {
				for _, e := range c.(*ast.CaseClause).List {
					own = own || asks(e)
				}
			}
			if own {
				found = append(found, n)
			}
		case *ast.SelectorExpr:
			if pkg, ok := n.X.(*ast.Ident); ok && !text && pkg.Name == "clif" && strings.HasPrefix(n.Sel.Name, "Format") {
				found = append(found, n)
			}
		}
		return true
	})
	return found
}

// TestOperandSwitches: each spelling is found, and what only asks how many operands there are is not.
func TestOperandSwitches(t *testing.T) {
	for body, want := range map[string]int{
		"switch d.NumArgs() {\ncase 1:\n}": 1, "switch d.Op.Info().Format {\ncase clif.FormatUnary, clif.FormatBinary:\n}": 3,
		"switch f := d.Op.Info().Format; f {\n}": 1, "switch n := d.NumArgs(); {\ncase n > 1:\n}": 1, "switch {\ncase d.NumArgs() == 2:\n}": 1,
		"if d.Op.Info().Format == clif.FormatLoad {\n}": 1, "operands[clif.FormatStore] = 2": 1,
		"if n := d.NumArgs(); n > 0 {\n}": 0, "for k := range d.NumArgs() {\n}": 0, "switch d.Op {\ncase clif.OpIadd:\n}": 0, "for range d.Operands() {\n}": 0,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "p.go", "package p\n\nfunc f(d *clif.InstData) {\n"+body+"\n}\n", parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if found := operandSwitches(file, false); len(found) != want {
			t.Errorf("%s: %d found, want %d", body, len(found), want)
		}
	}
}
