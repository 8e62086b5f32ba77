// Command interp compiles small programs twice and runs them: as a tree of nodes with methods and closures, and as byte code.
package main

import (
	"fmt"
	"strings"

	"github.com/waot-project/waot/bench/programs/measure"
)

// node is an expression over variables. Programs have assignments and loops, too.
type node interface {
	eval(vars []int64) int64
	compile(code *[]instruction)
}

type (
	constant int64
	variable int
	binary   struct {
		op   byte
		a, b node
	}
	assign struct {
		to    int
		value node
	}
	block []node
	while struct{ condition, body node }
)

func (c constant) eval([]int64) int64      { return int64(c) }
func (v variable) eval(vars []int64) int64 { return vars[v] }
func (b *binary) eval(vars []int64) int64  { return apply(b.op, b.a.eval(vars), b.b.eval(vars)) }
func (a *assign) eval(vars []int64) int64 {
	vars[a.to] = a.value.eval(vars)
	return vars[a.to]
}
func (b block) eval(vars []int64) (last int64) {
	for _, n := range b {
		last = n.eval(vars)
	}
	return last
}
func (w *while) eval(vars []int64) (last int64) {
	for w.condition.eval(vars) != 0 {
		last = w.body.eval(vars)
	}
	return last
}

func apply(op byte, a, b int64) int64 {
	switch op {
	case '+':
		return a + b
	case '-':
		return a - b
	case '*':
		return a * b
	case '%':
		if b == 0 {
			return 0
		}
		return a % b
	case '<':
		if a < b {
			return 1
		}
		return 0
	}
	panic("operator " + string(op))
}

type opcode byte

const (
	push opcode = iota
	load
	store
	operate
	drop
	jump
	jumpIfZero
)

type instruction struct {
	op  opcode
	arg int64
}

func (c constant) compile(code *[]instruction) { *code = append(*code, instruction{push, int64(c)}) }
func (v variable) compile(code *[]instruction) { *code = append(*code, instruction{load, int64(v)}) }
func (b *binary) compile(code *[]instruction) {
	b.a.compile(code)
	b.b.compile(code)
	*code = append(*code, instruction{operate, int64(b.op)})
}
func (a *assign) compile(code *[]instruction) {
	a.value.compile(code)
	*code = append(*code, instruction{store, int64(a.to)})
}
func (b block) compile(code *[]instruction) {
	for _, n := range b {
		n.compile(code)
		*code = append(*code, instruction{drop, 0})
	}
	*code = append(*code, instruction{push, 0})
}
func (w *while) compile(code *[]instruction) {
	top := len(*code)
	w.condition.compile(code)
	exit := len(*code)
	*code = append(*code, instruction{op: jumpIfZero})
	w.body.compile(code)
	*code = append(*code, instruction{drop, 0}, instruction{jump, int64(top)})
	(*code)[exit].arg = int64(len(*code))
	*code = append(*code, instruction{push, 0})
}

func execute(code []instruction, vars []int64) {
	var stack []int64
	for pc := 0; pc < len(code); pc++ {
		in, top := code[pc], len(stack)-1
		switch in.op {
		case push:
			stack = append(stack, in.arg)
		case load:
			stack = append(stack, vars[in.arg])
		case store:
			vars[in.arg] = stack[top]
		case operate:
			stack[top-1] = apply(byte(in.arg), stack[top-1], stack[top])
			stack = stack[:top]
		case drop:
			stack = stack[:top]
		case jump:
			pc = int(in.arg) - 1
		case jumpIfZero:
			if stack[top] == 0 {
				pc = int(in.arg) - 1
			}
			stack = stack[:top]
		}
	}
}

// closures turns a tree into functions that call each other.
func closures(n node) func([]int64) int64 {
	switch n := n.(type) {
	case constant:
		return func([]int64) int64 { return int64(n) }
	case variable:
		return func(v []int64) int64 { return v[n] }
	case *binary:
		a, b, op := closures(n.a), closures(n.b), n.op
		return func(v []int64) int64 { return apply(op, a(v), b(v)) }
	case *assign:
		f := closures(n.value)
		return func(v []int64) int64 {
			v[n.to] = f(v)
			return v[n.to]
		}
	case block:
		var all []func([]int64) int64
		for _, m := range n {
			all = append(all, closures(m))
		}
		return func(v []int64) (last int64) {
			for _, f := range all {
				last = f(v)
			}
			return last
		}
	case *while:
		condition, body := closures(n.condition), closures(n.body)
		return func(v []int64) (last int64) {
			for condition(v) != 0 {
				last = body(v)
			}
			return last
		}
	}
	panic(fmt.Sprintf("node %T", n))
}

// parse reads a program in Polish notation; letters are variables.
func parse(words []string) (node, []string) {
	w := words[0]
	words = words[1:]
	switch {
	case w == "=":
		to := int(words[0][0] - 'a')
		value, rest := parse(words[1:])
		return &assign{to, value}, rest
	case w == "while":
		condition, rest := parse(words)
		body, rest := parse(rest)
		return &while{condition, body}, rest
	case w == "{":
		var b block
		for words[0] != "}" {
			var n node
			n, words = parse(words)
			b = append(b, n)
		}
		return b, words[1:]
	case strings.Contains("+-*%<", w):
		a, rest := parse(words)
		b, rest := parse(rest)
		return &binary{w[0], a, b}, rest
	case w[0] >= 'a':
		return variable(w[0] - 'a'), words
	}
	n := int64(0)
	for _, d := range w {
		n = n*10 + int64(d-'0')
	}
	return constant(n), words
}

// program sums remainders, and iterates a polynomial.
const program = `{ = i 0 while < i 600 { = j 1 while < j 40 { = s + s % * i i j = x % + * x 1103 - j i 65537 = j + j 1 } = i + i 1 } }`

func work() uint64 {
	var sum measure.Sum
	tree, _ := parse(strings.Fields(program))
	var code []instruction
	tree.compile(&code)
	ways := []func([]int64){
		func(v []int64) { tree.eval(v) },
		func(v []int64) { execute(code, v) },
		func(v []int64) { closures(tree)(v) },
	}
	for range 22 {
		for _, run := range ways {
			vars := make([]int64, 26)
			vars['x'-'a'] = int64(sum & 0xffff)
			run(vars)
			for _, v := range vars {
				sum.Add(uint64(v))
			}
		}
	}
	return uint64(sum)
}

func main() { measure.Program("interp", work) }
