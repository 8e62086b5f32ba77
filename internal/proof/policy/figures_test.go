package policy

import (
	"go/ast"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/waot-project/waot/internal/proof/figures"
)

// TestFigures: each number that a document marks with a name is checked by a test.
func TestFigures(t *testing.T) {
	checked := map[string]bool{}
	for _, f := range sourceFiles(t) {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 3 {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || sel.Sel.Name != "Check" {
				return true
			}
			pkg, ok := sel.X.(*ast.Ident)
			if !ok || pkg.Name != "figures" {
				return true
			}
			if name, ok := call.Args[1].(*ast.BasicLit); ok {
				s, err := strconv.Unquote(name.Value)
				if err != nil {
					t.Error(err)
				}
				checked[s] = true
			} else {
				t.Errorf("%s: the name of a figure is not a constant", f.fset.Position(n.Pos()))
			}
			return true
		})
	}
	docs, err := figures.Documents()
	if err != nil {
		t.Fatal(err)
	}
	marks := 0
	for _, doc := range docs {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range figures.Mark.FindAllStringSubmatch(string(text), -1) {
			marks++
			if !checked[m[2]] {
				t.Errorf("%s: no test checks the figure %s", filepath.Base(doc), m[2])
			}
		}
	}
	t.Logf("%d numbers, %d names", marks, len(checked))
	if marks < 20 {
		t.Error("fewer than there should be")
	}
}
