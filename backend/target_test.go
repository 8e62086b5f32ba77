package backend

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"testing"
)

// TestFewFunctions: a machine is tables and at most fifteen functions, and no layer of the context of lowering has more than 50 methods of its own. What a machine
// does as others do belongs into this package, by a row.
func TestFewFunctions(t *testing.T) {
	const maxFunctions, maxMethods = 15, 50
	n := 0
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Target]()) {
		if f.Type.Kind() == reflect.Func {
			n++
		}
	}
	if n > maxFunctions {
		t.Errorf("a Target has %d functions, more than %d", n, maxFunctions)
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	methods := map[string]int{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil {
				of := fn.Recv.List[0].Type
				if p, ok := of.(*ast.StarExpr); ok {
					of = p.X
				}
				if name, ok := of.(*ast.Ident); ok {
					methods[name.Name]++
				}
			}
		}
	}
	for _, layer := range []string{"Query", "Place", "Emit"} {
		if n := methods[layer]; n == 0 || n > maxMethods {
			t.Errorf("%s has %d methods, more than %d, or none", layer, n, maxMethods)
		}
	}
}
