package policy

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
)

// twins are packages that do the same for different machines.
var twins = [][2]string{
	{"backend/isa/x64", "backend/isa/a64"},
	{"backend/isa/x64/asm", "backend/isa/a64/asm"},
}

// trivial is the number of characters up to which equal bodies are no repetition.
const trivial = 60

// body is the text of a function's body without comments, spaces, and the names of what the
// function declares, its parameters and receiver included.
func body(fn *ast.FuncDecl) string {
	declared := map[string]bool{}
	declare := func(id *ast.Ident) { declared[id.Name] = true }
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			for _, id := range n.Names {
				declare(id)
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, x := range n.Lhs {
					if id, ok := x.(*ast.Ident); ok {
						declare(id)
					}
				}
			}
		case *ast.ValueSpec:
			for _, id := range n.Names {
				declare(id)
			}
		case *ast.RangeStmt:
			for _, x := range []ast.Expr{n.Key, n.Value} {
				if id, ok := x.(*ast.Ident); ok {
					declare(id)
				}
			}
		}
		return true
	})
	var b bytes.Buffer
	if err := format.Node(&b, token.NewFileSet(), fn.Body); err != nil {
		return ""
	}
	// Names are numbered as they come in the text: a field of the same name is renamed alike in both.
	var out strings.Builder
	names := map[string]int{}
	word := ""
	flush := func() {
		if declared[word] {
			if names[word] == 0 {
				names[word] = len(names) + 1
			}
			fmt.Fprintf(&out, "v%d", names[word])
		} else {
			out.WriteString(word)
		}
		word = ""
	}
	for _, r := range b.String() {
		switch {
		case r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z':
			word += string(r)
		case strings.ContainsRune(" \t\n", r):
			flush()
		default:
			flush()
			out.WriteRune(r)
		}
	}
	flush()
	return out.String()
}

// TestTwins finds functions that two machines have alike: they belong to what the machines share.
func TestTwins(t *testing.T) {
	files := sourceFiles(t)
	seen := 0
	for _, pair := range twins {
		where := map[string]string{}
		for side, pkg := range pair {
			for _, f := range files {
				if f.pkg != pkg || f.test {
					continue
				}
				for _, d := range f.ast.Decls {
					fn, ok := d.(*ast.FuncDecl)
					if !ok || fn.Body == nil {
						continue
					}
					text := body(fn)
					if len(text) <= trivial {
						continue
					}
					seen++
					name := path.Base(f.path) + ":" + fn.Name.Name
					if side == 0 {
						where[text] = name
					} else if other := where[text]; other != "" {
						t.Errorf("%s: %s is the same as %s: %s", pair[1], name, pair[0], other)
					}
				}
			}
		}
	}
	if seen < 100 {
		t.Errorf("%d functions were looked at", seen)
	}
}

// TestBody: bodies that differ in names, comments and spaces only are equal, others are not.
func TestBody(t *testing.T) {
	parse := func(src string) *ast.FuncDecl {
		f, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+src, 0)
		if err != nil {
			t.Fatal(err)
		}
		return f.Decls[0].(*ast.FuncDecl)
	}
	a := body(parse("func f(x int) int { y := x + 1; for i := range y { x += i }; return x*y }"))
	if b := body(parse("func (r T) g(k, n int) (_ int) {\n\tvar m = n+1 // more\n\tm = 0 }")); b == a {
		t.Error("another function is not noticed")
	}
	if b := body(parse("func (n T) g(k int) int {\n\tm := n+1 // more\n\tfor k := range m { n += k }\n\treturn n * m }")); b != a {
		t.Errorf("%s\n%s", a, b)
	}
	if b := body(parse("func f(x int) int { y := x + 2; for i := range y { x += i }; return x*y }")); b == a {
		t.Error("another constant is not noticed")
	}
}

// TestTwinOrder: what two machines name alike stands in files of the same name in the same order, so
// that the difference of two files is that of the machines.
func TestTwinOrder(t *testing.T) {
	type place struct{ pkg, file string }
	names := map[place][]string{}
	for _, f := range sourceFiles(t) {
		p := place{f.pkg, path.Base(f.path)}
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && !f.test {
				names[p] = append(names[p], fn.Name.Name)
			}
		}
	}
	common := func(a, b []string) []string {
		return slices.DeleteFunc(slices.Clone(a), func(name string) bool { return !slices.Contains(b, name) })
	}
	compared := 0
	for _, pair := range twins {
		for p, one := range names {
			if p.pkg != pair[0] {
				continue
			}
			other := names[place{pair[1], p.file}]
			a, b := common(one, other), common(other, one)
			compared += len(a)
			if !slices.Equal(a, b) {
				t.Errorf("%s: the order in %s is %v, in %s %v", p.file, pair[0], a, pair[1], b)
			}
		}
	}
	if compared < 50 {
		t.Errorf("%d functions were compared", compared)
	}
}
