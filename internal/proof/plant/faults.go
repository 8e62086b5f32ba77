//go:build linux

package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// kind is a kind of fault.
type kind uint8

const (
	swapComparison kind = iota
	swapArithmetic
	swapLogic
	negateCondition
	changeConstant
	flipBoolean
	removeStatement
	removeExit
	numKinds
)

// fault is one change of one line.
type fault struct {
	kind kind
	file string // relative to the root of the tree, with slashes
	line int
	// The bytes from start to end of the file become text.
	start, end int
	text       string
	// what describes the change.
	what string
}

func (f *fault) String() string { return fmt.Sprintf("%s:%d: %s", f.file, f.line, f.what) }

// apply returns the file's text with the fault.
func (f *fault) apply(src []byte) []byte {
	return slices.Concat(src[:f.start], []byte(f.text), src[f.end:])
}

// swaps are the operators that take each other's place.
var swaps = map[token.Token]struct {
	kind kind
	to   token.Token
}{
	token.LSS: {swapComparison, token.LEQ}, token.LEQ: {swapComparison, token.LSS},
	token.GTR: {swapComparison, token.GEQ}, token.GEQ: {swapComparison, token.GTR},
	token.EQL: {swapComparison, token.NEQ}, token.NEQ: {swapComparison, token.EQL},
	token.ADD: {swapArithmetic, token.SUB}, token.SUB: {swapArithmetic, token.ADD},
	token.LAND: {swapLogic, token.LOR}, token.LOR: {swapLogic, token.LAND},
}

// finder collects the faults that a file can have.
type finder struct {
	name   string
	src    []byte
	fset   *token.FileSet
	faults []fault
	// final is the return at the end of a function that must have one.
	final ast.Stmt
}

// find returns all faults that a file can have, in the order of their places.
func find(name string, src []byte) ([]fault, error) {
	f := &finder{name: name, src: src, fset: token.NewFileSet()}
	file, err := parser.ParseFile(f.fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	ast.Inspect(file, f.visit)
	return f.faults, nil
}

func (f *finder) offset(p token.Pos) int { return f.fset.Position(p).Offset }

func (f *finder) line(p token.Pos) int { return f.fset.Position(p).Line }

// add notes a fault if what it changes is on one line.
func (f *finder) add(k kind, from, to token.Pos, text, what string) {
	if f.line(from) == f.line(to) {
		f.faults = append(f.faults, fault{k, f.name, f.line(from), f.offset(from), f.offset(to), text, what})
	}
}

// text returns the source of a node.
func (f *finder) text(n ast.Node) string {
	return string(bytes.TrimSpace(f.src[f.offset(n.Pos()):f.offset(n.End())]))
}

// visit notes the faults of a node and reports whether to look at what it contains.
func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ImportSpec:
		return false
	case *ast.CallExpr:
		return f.call(n)
	case *ast.BinaryExpr:
		if s, ok := swaps[n.Op]; ok {
			f.add(s.kind, n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), s.to.String(), fmt.Sprintf("%s: %s for %s", f.text(n), s.to, n.Op))
		}
	case *ast.BasicLit:
		if n.Kind == token.INT {
			f.constant(n)
		}
	case *ast.Ident:
		if other := map[string]string{"true": "false", "false": "true"}[n.Name]; other != "" {
			f.add(flipBoolean, n.Pos(), n.End(), other, other+" for "+n.Name)
		}
	case *ast.IfStmt:
		f.condition(n.Cond)
	case *ast.ForStmt:
		f.condition(n.Cond)
	case *ast.FuncDecl:
		f.function(n.Type, n.Body)
	case *ast.FuncLit:
		f.function(n.Type, n.Body)
	case *ast.BlockStmt:
		f.statements(n.List)
	case *ast.CaseClause:
		f.statements(n.Body)
	case *ast.CommClause:
		f.statements(n.Body)
	}
	return true
}

// call reports whether to look at the parts of a call. It skips messages of panics, and capacities, which change nothing.
func (f *finder) call(n *ast.CallExpr) bool {
	switch name, _ := n.Fun.(*ast.Ident); {
	case name == nil:
		return true
	case name.Name == "panic":
		return false
	case name.Name == "make" && len(n.Args) == 3:
		ast.Inspect(n.Args[1], f.visit)
		return false
	}
	return true
}

// constant notes that an integer is one larger.
func (f *finder) constant(n *ast.BasicLit) {
	if v, err := strconv.ParseUint(n.Value, 0, 64); err == nil && v+1 != 0 {
		text := fmt.Sprint(v + 1)
		if strings.HasPrefix(n.Value, "0x") {
			text = fmt.Sprintf("%#x", v+1)
		}
		f.add(changeConstant, n.Pos(), n.End(), text, text+" for "+n.Value)
	}
}

// condition notes the negation of a condition. That of an equation is a swap of its operator.
func (f *finder) condition(cond ast.Expr) {
	if b, ok := cond.(*ast.BinaryExpr); cond == nil || ok && (b.Op == token.EQL || b.Op == token.NEQ) {
		return
	}
	text := f.text(cond)
	f.add(negateCondition, cond.Pos(), cond.End(), "!("+text+")", text+": negated")
}

// function notes which statement must stay, before the body is visited.
func (f *finder) function(t *ast.FuncType, body *ast.BlockStmt) {
	if f.final = nil; t.Results != nil && body != nil && len(body.List) > 0 {
		f.final = body.List[len(body.List)-1]
	}
}

// statements notes those of a block that can be removed. Declarations stay: without them nothing compiles.
func (f *finder) statements(list []ast.Stmt) {
	for _, s := range list {
		k := removeStatement
		switch s := s.(type) {
		case *ast.ExprStmt:
			if call, ok := s.X.(*ast.CallExpr); ok {
				if id, ok := call.Fun.(*ast.Ident); ok && id.Name == "panic" {
					continue
				}
			}
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				continue
			}
		case *ast.IncDecStmt, *ast.DeferStmt:
		case *ast.ReturnStmt, *ast.BranchStmt:
			if k = removeExit; s == f.final {
				continue
			}
		default:
			continue
		}
		f.add(k, s.Pos(), s.End(), "", f.text(s)+": removed")
	}
}
