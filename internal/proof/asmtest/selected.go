package asmtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// Selected demands that each of the first n rows of an asm package is selected by its machine's package, in the folder above, or
// by asm itself. It goes by names, those of the constants in ops.go in their order, of which the first is no row.
func Selected(t *testing.T, n int) {
	t.Helper()
	var ops []string
	ast.Inspect(parse(t, "ops.go"), func(n ast.Node) bool {
		if s, ok := n.(*ast.ValueSpec); ok {
			ops = append(ops, s.Names[0].Name)
		}
		return true
	})
	used := map[string]bool{}
	for _, file := range sources(t, "..") {
		ast.Inspect(parse(t, file), func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && isIdent(s.X, "asm") {
				used[s.Sel.Name] = true
			}
			return true
		})
	}
	for _, file := range sources(t, ".") {
		if file == "ops.go" {
			continue
		}
		ast.Inspect(parse(t, file), func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.KeyValueExpr: // the key is the row itself
				if _, ok := n.Key.(*ast.Ident); ok {
					ast.Inspect(n.Value, func(n ast.Node) bool { return noteIdent(used, n) })
					return false
				}
			default:
				return noteIdent(used, n)
			}
			return true
		})
	}
	for _, name := range ops[1:n] {
		if !used[name] {
			t.Errorf("%s is selected by nothing: drop the row", name)
		}
	}
	t.Logf("%d rows", n-1)
}

func noteIdent(used map[string]bool, n ast.Node) bool {
	if id, ok := n.(*ast.Ident); ok {
		used[id.Name] = true
	}
	return true
}

func isIdent(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

// sources returns the Go files of a folder, without tests.
func sources(t *testing.T, dir string) (files []string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(all) == 0 {
		t.Fatal(dir, err)
	}
	for _, f := range all {
		if !strings.HasSuffix(f, "_test.go") {
			files = append(files, f)
		}
	}
	return files
}

func parse(t *testing.T, file string) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
