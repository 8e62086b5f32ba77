package policy

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/token"
	"path"
	"strings"
	"testing"
)

// twins are packages that do the same for different machines.
var twins = [][2]string{
	{"backend/isa/x64", "backend/isa/a64"},
	{"backend/isa/x64/asm", "backend/isa/a64/asm"},
}

// pending are functions of the first machine that the second still repeats. They are to move to a
// package that both use; nothing may be added, and what has moved must leave the list.
var pending = strings.Fields(`
amode.go:sym amode.go:based amode.go:pool amode.go:set build.go:defOf build.go:low emit.go:memoryTrap emit.go:op
emit.go:verify lower_branch.go:push lower_branch.go:truth lower_branch.go:negated lower_branch.go:lowerTrap
lower_branch.go:jump lower_call.go:localAddr lower_conv.go:floatBits lower_int.go:lowerIconst lower_mem.go:full
lower_mem.go:narrow lower_mem.go:global lower_mem.go:lowerGlobalGet lower_mem.go:lowerGlobalSet lower_mem.go:grown
lower_mem.go:lowerMemoryGrow lower_mem.go:lowerMemoryCopy lower_mem.go:lowerMemoryFill lower_mem.go:lowerMemoryInit
lower_mem.go:lowerTableSet lower_mem.go:lowerTableGrow lower_mem.go:lowerTableCopy lower_mem.go:lowerTableFill
lower_mem.go:lowerTableInit lower_mem.go:lowerElemSet
encode.go:slotDisp forms.go:NumOperands row.go:Allows`)

// trivial is the number of characters up to which equal bodies are no repetition.
const trivial = 60

// body is the text of a function's signature and body without comments, spaces, and the names of
// what it declares.
func body(fn *ast.FuncDecl) string {
	names := map[string]string{}
	declare := func(id *ast.Ident) {
		if id != nil && names[id.Name] == "" {
			names[id.Name] = "v" + string(rune('a'+len(names)%26)) + string(rune('a'+len(names)/26))
		}
	}
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
	// Names are replaced in the text: a field of the same name is renamed alike in both.
	var out strings.Builder
	word := ""
	flush := func() {
		if to, ok := names[word]; ok {
			out.WriteString(to)
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
	left := map[string]bool{}
	for _, name := range pending {
		left[name] = true
	}
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
					name := path.Base(f.path) + ":" + fn.Name.Name
					other := where[text]
					switch {
					case side == 0:
						where[text] = name
					case left[other]:
						delete(left, other)
					case other != "":
						t.Errorf("%s: %s is the same as %s: %s", pair[1], name, pair[0], other)
					}
				}
			}
		}
	}
	for name := range left {
		t.Errorf("%s is pending, but no longer repeated", name)
	}
	t.Logf("%d functions are repeated and pending", len(pending))
}
