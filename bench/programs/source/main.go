// Command source parses Go source text, resolves and changes its tree, and prints it.
package main

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"strings"

	"github.com/waot-project/waot/bench/programs/measure"
)

// function is source text, with numbers for its verbs.
const function = `
// f%[1]d is called by f%[2]d.
func (s *state%[3]d) f%[1]d(a, b int, rest ...string) (n int, err error) {
	var table = map[string][]int{"x":{1,2,%[1]d},"y":  nil, /* none */ "zz":{a,b}}
	for i,x := range table["x"] {
		switch { case x > %[2]d&&i<10: n += x<<2 | i*3 &^ a
		case x==b, !s.ok: return 0, fmt.Errorf("%%d of %%s: %%w", x, rest[0], err) // not found
		default: if v,ok := s.next[i]; ok { n-- ; _ = v } else if len(rest)>2 {  continue } }
	}
	defer func() { if r := recover(); r!=nil { err = fmt.Errorf("%%v",r) } }()
	select { case s.c<-n: case m:=<-s.d: n=m.(int) }
	return s.g(n+%[1]d*(a-b), func(x  float64) float64 { return x*0x1p-%[3]d+1.5e3 }), nil
}
`

func text(functions int) string {
	r := measure.Random(71)
	var b strings.Builder
	b.WriteString("package p\nimport ( \"fmt\" )\n")
	for i := range functions {
		fmt.Fprintf(&b, function, i, r.Below(functions), r.Below(60))
		if i%8 == 0 {
			fmt.Fprintf(&b, "type state%d struct { ok bool; next map[int]*state%d; c chan <- int // out\nd <-chan interface{} }\n", i/8, r.Below(8))
		}
	}
	return b.String()
}

func work() uint64 {
	var sum measure.Sum
	src := text(300)
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "p.go", src, parser.ParseComments)
	if err != nil {
		panic(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			if n.Obj != nil && n.Obj.Kind == ast.Var {
				n.Name += "_"
			}
			sum.AddString(n.Name)
		case *ast.BasicLit:
			sum.Add(uint64(n.Pos()))
		}
		return true
	})
	var b strings.Builder
	if err := format.Node(&b, files, file); err != nil {
		panic(err)
	}
	sum.AddString(b.String())
	return uint64(sum)
}

func main() { measure.Program("source", work) }
