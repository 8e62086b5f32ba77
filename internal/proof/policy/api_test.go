package policy

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write testdata/api.txt")

// apiFile lists what the stable packages export.
const apiFile = "../../../testdata/api.txt"

// stableFolders are the folders of the packages whose API is stable.
func stableFolders() []string {
	return []string{".", "host", "host/hosterr", "host/jsstring", "host/sign", "host/wasirun", "wasi"}
}

// isStable reports whether exported declarations of stable packages may mention types of the package: it is stable itself, or
// of the standard library.
func isStable(pkg *types.Package) bool {
	folder, ours := strings.CutPrefix(pkg.Path()+"/", modulePath)
	folder = strings.TrimSuffix(folder, "/")
	if ours {
		return slices.Contains(stableFolders(), path.Clean(folder))
	}
	host, _, _ := strings.Cut(pkg.Path(), "/")
	return !strings.Contains(host, ".")
}

// stablePackages loads the stable packages from what the go command compiles.
func stablePackages(t *testing.T) []*types.Package {
	t.Helper()
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"}
	for _, f := range stableFolders() {
		args = append(args, "./"+f)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = "../../.."
	cmd.Env = append(os.Environ(), "GOOS=linux") // package wasi is for Linux
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	files := map[string]string{}
	for _, line := range strings.Split(string(out), "\n") {
		name, file, _ := strings.Cut(line, " ")
		files[name] = file
	}
	imp := importer.ForCompiler(token.NewFileSet(), "gc", func(name string) (io.ReadCloser, error) { return os.Open(files[name]) })
	var pkgs []*types.Package
	for _, f := range stableFolders() {
		pkg, err := imp.Import(strings.TrimSuffix(path.Join(modulePath, f), "/"))
		if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, pkg)
	}
	return pkgs
}

// TestAPI compares the exported declarations of the stable packages with testdata/api.txt, and demands that they mention no
// type of another package of this module, and none that is not exported. A change of the API is made on purpose, with
// -update, and said in CHANGELOG.md.
func TestAPI(t *testing.T) {
	var have bytes.Buffer
	for _, pkg := range stablePackages(t) {
		a := listing{pkg: pkg, out: &have}
		a.write()
		for _, leak := range a.leaks {
			t.Errorf("package %s: %s", pkg.Path(), leak)
		}
	}
	if *update {
		if err := os.WriteFile(apiFile, have.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(apiFile)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(have.String(), "\n")); d != "" {
		t.Errorf("the API has changed (testdata/api.txt -, packages +); if it should, repeat this with -update:\n%s", d)
	}
}

// TestLeaks: each way to mention a type that is not in the API is found.
func TestLeaks(t *testing.T) {
	const inner = `package inner
type T struct{}
func (T) Method(*T) {}
const C = Number(1)
type Number int`
	const outer = `package outer
import "example.com/inner"
type Alias = inner.T
type Field struct { F map[string][]inner.T; hidden inner.T }
type Embedded struct { inner.T }
type Defined inner.T
type Elements []inner.T
type hidden struct{}
type Interface interface { M() chan inner.T }
type Generic[P interface{ *inner.T }] struct{}
type Inherited struct { base }
type base struct { Base inner.T }
func (*Field) Method(func(...inner.T)) {}
func Hidden() *hidden { return nil }
func Good(Field, *Defined, error) *Elements { return nil }
const Const = inner.C
var Var [2]*inner.T
`
	fset := token.NewFileSet()
	pkgs := packages{}
	for _, p := range [][2]string{{"example.com/inner", inner}, {"outer", outer}} {
		f, err := parser.ParseFile(fset, p[0], p[1], 0)
		if err != nil {
			t.Fatal(err)
		}
		conf := types.Config{Importer: pkgs}
		if pkgs[p[0]], err = conf.Check(p[0], fset, []*ast.File{f}, nil); err != nil {
			t.Fatal(err)
		}
	}
	a := listing{pkg: pkgs["outer"], out: new(bytes.Buffer)}
	a.write()
	const number, typ = "example.com/inner.Number", "example.com/inner.T"
	want := []string{
		"Alias mentions " + typ, "Const mentions " + number,
		"Elements mentions " + typ,
		"Embedded.T mentions " + typ, "Embedded.Method mentions " + typ,
		"Field.F mentions " + typ, "Field.Method mentions " + typ, "Generic mentions " + typ,
		"Hidden mentions outer.hidden", "Inherited.Base mentions " + typ, "Interface.M mentions " + typ, "Var mentions " + typ,
	}
	if d := cmp.Diff(want, a.leaks); d != "" {
		t.Error(d)
	}
}

// packages are packages by path, as an importer.
type packages map[string]*types.Package

func (p packages) Import(name string) (*types.Package, error) { return p[name], nil }

// listing writes what a package exports, a line for each declaration, method and field, and collects what is mentioned
// there but not in the API.
type listing struct {
	pkg   *types.Package
	out   *bytes.Buffer
	leaks []string
}

// name qualifies names of other packages.
func (a *listing) name(pkg *types.Package) string {
	if pkg == a.pkg {
		return ""
	}
	return pkg.Path()
}

func (a *listing) write() {
	fmt.Fprintf(a.out, "package %s\n", a.pkg.Path())
	scope := a.pkg.Scope()
	for _, n := range scope.Names() {
		if o := scope.Lookup(n); o.Exported() {
			a.object(o)
		}
	}
	fmt.Fprintln(a.out)
}

// line writes a declaration whose type is t.
func (a *listing) line(name string, t types.Type, text string) {
	fmt.Fprintf(a.out, "\t%s\n", strings.ReplaceAll(text, modulePath, ""))
	seen := map[string]bool{}
	mentioned(t, func(o *types.TypeName) {
		if o.Pkg() == nil || o.Exported() && (o.Pkg() == a.pkg || isStable(o.Pkg())) {
			return
		}
		leak := fmt.Sprintf("%s mentions %s.%s", name, o.Pkg().Path(), o.Name())
		if !seen[leak] {
			a.leaks = append(a.leaks, leak)
		}
		seen[leak] = true
	})
}

func (a *listing) object(o types.Object) {
	text := types.ObjectString(o, a.name)
	switch o := o.(type) {
	case *types.Const:
		a.line(o.Name(), o.Type(), fmt.Sprintf("%s = %s", text, o.Val().ExactString()))
	case *types.TypeName:
		if o.IsAlias() {
			a.line(o.Name(), types.Unalias(o.Type()), text)
			return
		}
		a.typeName(o)
	default:
		a.line(o.Name(), o.Type(), text)
	}
}

// typeName writes a type with its fields and methods, those of embedded fields included.
func (a *listing) typeName(o *types.TypeName) {
	named := o.Type().(*types.Named)
	for p := range named.TypeParams().TypeParams() {
		a.line(o.Name(), p.Constraint(), fmt.Sprintf("type %s, %s %s", o.Name(), p, types.TypeString(p.Constraint(), a.name)))
	}
	switch u := named.Underlying().(type) {
	case *types.Struct:
		fmt.Fprintf(a.out, "\ttype %s struct\n", o.Name())
		a.fields(o.Name(), u)
	case *types.Interface:
		fmt.Fprintf(a.out, "\ttype %s interface\n", o.Name())
		for m := range u.Methods() {
			a.method(o.Name(), o.Name(), m)
		}
		return
	default:
		a.line(o.Name(), u, fmt.Sprintf("type %s %s", o.Name(), types.TypeString(u, a.name)))
	}
	values := types.NewMethodSet(named)
	for s := range types.NewMethodSet(types.NewPointer(named)).Methods() {
		receiver := "*" + o.Name()
		if values.Lookup(a.pkg, s.Obj().Name()) != nil {
			receiver = o.Name()
		}
		a.method(o.Name(), receiver, s.Obj().(*types.Func))
	}
}

func (a *listing) method(typ, receiver string, m *types.Func) {
	if m.Exported() {
		signature := strings.TrimPrefix(types.TypeString(m.Type(), a.name), "func")
		a.line(typ+"."+m.Name(), m.Type(), fmt.Sprintf("func (%s) %s%s", receiver, m.Name(), signature))
	}
}

// fields writes the exported fields of a struct, and those of structs that are embedded under a hidden name.
func (a *listing) fields(typ string, s *types.Struct) {
	for f := range s.Fields() {
		if f.Exported() {
			a.line(typ+"."+f.Name(), f.Type(), fmt.Sprintf("field %s.%s %s", typ, f.Name(), types.TypeString(f.Type(), a.name)))
			continue
		}
		t := f.Type()
		if p, ok := t.Underlying().(*types.Pointer); ok {
			t = p.Elem()
		}
		if inner, ok := t.Underlying().(*types.Struct); ok && f.Embedded() {
			a.fields(typ, inner)
		}
	}
}

// mentioned calls found with each named type that t mentions, t included, but nothing of what these are made of.
func mentioned(t types.Type, found func(*types.TypeName)) {
	each := func(list ...types.Type) {
		for _, t := range list {
			mentioned(t, found)
		}
	}
	switch t := t.(type) {
	case *types.Alias:
		found(t.Obj())
		each(slices.Collect(t.TypeArgs().Types())...)
	case *types.Named:
		found(t.Obj())
		each(slices.Collect(t.TypeArgs().Types())...)
	case *types.Pointer:
		each(t.Elem())
	case *types.Slice:
		each(t.Elem())
	case *types.Array:
		each(t.Elem())
	case *types.Chan:
		each(t.Elem())
	case *types.Map:
		each(t.Key(), t.Elem())
	case *types.Signature:
		for v := range t.Params().Variables() {
			each(v.Type())
		}
		for v := range t.Results().Variables() {
			each(v.Type())
		}
		for p := range t.TypeParams().TypeParams() {
			each(p.Constraint())
		}
	case *types.Struct:
		for f := range t.Fields() {
			each(f.Type())
		}
	case *types.Interface:
		for m := range t.ExplicitMethods() {
			each(m.Type())
		}
		for e := range t.EmbeddedTypes() {
			each(e)
		}
	case *types.Union:
		for e := range t.Terms() {
			each(e.Type())
		}
	}
}
