// Package pattern reads the patterns that rules are written in: those of the mid-end (clif/opt) and those of lowering (backend).
// A pattern is an s-expression:
//
//	(op arg ...)    an instruction; op may be several, as in ishl|ushr, with conditions, as in icmp:eq|ne, and a type, as
//	                in band.i64. An instruction inside has the type of the whole; .any stands for each type.
//	x=(op arg ...)  the same; x is its result
//	x y z w         a value
//	x:kept          a value with a property, a word that the table of rules defines
//	k j i           a constant: an integer, in the mid-end also a float or a vector
//	k:imm32         a constant with a property; all lanes of a vector have it, and are equal
//	-1              this constant, or a vector of such lanes
//
// Ops and Conds of the Parser may have words of their own beside those of package clif.
//
// Further forms are for the mid-end:
//
//	(op~ x y)       the first two operands in either order: two patterns
//	(op.same x y)   an instruction inside, of the type that the one before it has, which is .any
//
// And these are for lowering, and no rule of the mid-end has them:
//
//	(only (op ...)) an instruction, and nothing else uses the result: it is saved
//	[x]             what a load reads, of the whole type, if the instruction can do the load itself
//	[x:1]           the same, of exactly this number of bytes of memory: 1, 2, 4, 8 or 16
//	[x:narrow]      the same, a load of one or two bytes, zero-extended
//
// In lowering, a constant operand of a commutative instruction stands last in a pattern, wherever it is in the function; op! keeps operands
// as they are. In the mid-end operands always stand as they are.
//
// Place in the pipeline: below the mid-end and the back end, each of which compiles the patterns of its rules before it needs them, to the
// questions that it asks.
//
// Input: the text of a pattern.
// Output: its tree, and the sets of opcodes and conditions that both compile trees to.
package pattern

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/waot-project/waot/clif"
)

// Pattern is a pattern, parsed: an instruction, or a leaf.
type Pattern struct {
	Ops     []clif.Opcode // of an instruction
	Conds   []uint8       // of a comparison; nil for all
	Type    clif.Type     // Invalid: the type of the whole
	AnyType bool
	Same    bool // the type of the instruction inside before this one
	Only    bool
	Ordered bool // constants stand where they are
	Args    []Pattern

	Leaf Leaf
	Name string // of a variable, or of what an instruction gives
	Word string // behind the colon
	Lit  int64
}

// Leaf is what an operand in a pattern is.
type Leaf uint8

// The kinds of leaves.
const (
	NoLeaf Leaf = iota
	LeafValue
	LeafConst
	LeafLiteral
	LeafLoad
)

// Parser reads patterns, one after the other.
type Parser struct {
	// Ops has the opcodes by name.
	Ops map[string]clif.Opcode
	// Conds has further conditions by name.
	Conds map[string]uint8
	// Exchange says by a bit for each ~ of a pattern, in the order of the text, whether the two operands behind it are exchanged.
	Exchange uint
	either   uint // the bit of the next ~
	rest     string
	// What the pattern at hand is made of: its instructions' operands, opcodes and conditions.
	args    []Pattern
	opcodes []clif.Opcode
	conds   []uint8
}

// ErrWrong is what is wrong with a pattern.
var ErrWrong = errors.New("wrong pattern")

// Parse reads a pattern; ops has the opcodes by name.
func Parse(s string, ops map[string]clif.Opcode) (Pattern, error) {
	p := Parser{Ops: ops}
	return p.Parse(s)
}

// Parse reads pattern s, which is valid until the next one is parsed.
func (p *Parser) Parse(s string) (Pattern, error) {
	p.either = 1
	p.rest, p.args, p.opcodes, p.conds = s, p.args[:0], p.opcodes[:0], p.conds[:0]
	n, err := p.node()
	if err == nil && strings.TrimSpace(p.rest) != "" {
		err = fmt.Errorf("%w: %q is left", ErrWrong, p.rest)
	}
	return n, err
}

// Orders returns how many patterns there are for s: twice as many for each ~.
func Orders(s string) int { return 1 << strings.Count(s, "~") }

// word reads up to a blank or bracket.
func (p *Parser) word() string {
	p.rest = strings.TrimLeft(p.rest, " ")
	n := strings.IndexAny(p.rest, " ()[]")
	if n < 0 {
		n = len(p.rest)
	}
	w := p.rest[:n]
	p.rest = p.rest[n:]
	return w
}

// next reports whether s comes next, and then reads it.
func (p *Parser) next(s string) bool {
	rest, ok := strings.CutPrefix(strings.TrimLeft(p.rest, " "), s)
	if ok {
		p.rest = rest
	}
	return ok
}

func (p *Parser) node() (n Pattern, err error) {
	switch {
	case p.next("(only "):
		if n, err = p.node(); err == nil && n.Ops == nil {
			err = fmt.Errorf("%w: only an instruction can have no other user", ErrWrong)
		}
		n.Only = true
		return n, p.closed(")", err)
	case p.next("("):
		return p.inst()
	case p.next("["):
		n = Pattern{Leaf: LeafLoad}
		n.Name, n.Word, _ = strings.Cut(p.word(), ":")
		return n, p.closed("]", nil)
	}
	w := p.word()
	if name, named := strings.CutSuffix(w, "="); named && p.next("(") {
		n, err = p.inst()
		n.Name = name
		return n, err
	}
	if w != "" && (w[0] == '-' || w[0] >= '0' && w[0] <= '9') {
		if lit, err := strconv.ParseInt(w, 0, 64); err == nil {
			return Pattern{Leaf: LeafLiteral, Lit: lit}, nil
		}
	}
	n = Pattern{Leaf: LeafValue}
	n.Name, n.Word, _ = strings.Cut(w, ":")
	switch n.Name {
	case "k", "j", "i":
		n.Leaf = LeafConst
	case "x", "y", "z", "w":
	default:
		return n, fmt.Errorf("%w: what is %q?", ErrWrong, w)
	}
	return n, nil
}

// closed demands a closing bracket, unless there is an error already.
func (p *Parser) closed(bracket string, err error) error {
	if err == nil && !p.next(bracket) {
		err = fmt.Errorf("%w: %s expected before %q", ErrWrong, bracket, p.rest)
	}
	return err
}

// inst reads an instruction from behind its opening bracket on.
func (p *Parser) inst() (n Pattern, err error) {
	word := p.word()
	n.Ordered = strings.HasSuffix(word, "!")
	either := strings.HasSuffix(word, "~")
	exchange := either && p.Exchange&p.either != 0
	if either {
		p.either <<= 1
	}
	head, typ, typed := strings.Cut(strings.TrimRight(word, "!~"), ".")
	ops, conds, _ := strings.Cut(head, ":")
	start := len(p.opcodes)
	for name := range strings.SplitSeq(ops, "|") {
		op, ok := p.Ops[name]
		if !ok {
			return n, fmt.Errorf("%w: no opcode %q", ErrWrong, name)
		}
		p.opcodes = append(p.opcodes, op)
	}
	n.Ops = p.opcodes[start:len(p.opcodes):len(p.opcodes)]
	if conds != "" {
		start := len(p.conds)
		for name := range strings.SplitSeq(conds, "|") {
			cc, ok := condNamed(n.Ops[0], name)
			if !ok {
				cc, ok = p.Conds[name]
			}
			if !ok {
				return n, fmt.Errorf("%w: no condition %q", ErrWrong, name)
			}
			p.conds = append(p.conds, cc)
		}
		n.Conds = p.conds[start:len(p.conds):len(p.conds)]
	}
	n.AnyType, n.Same = typ == "any", typ == "same"
	if typed && !n.AnyType && !n.Same {
		if n.Type = clif.ControlTypeByName(typ); n.Type == clif.Invalid {
			return n, fmt.Errorf("%w: no type %q", ErrWrong, typ)
		}
	}
	var args [3]Pattern
	num := 0
	for ; !p.next(")"); num++ {
		arg, err := p.node()
		if err != nil {
			return n, err
		}
		if num < len(args) {
			args[num] = arg
		}
	}
	if num > len(args) {
		return n, fmt.Errorf("%w: %d operands", ErrWrong, num)
	}
	switch {
	case either && num < 2:
		return n, fmt.Errorf("%w: nothing to exchange in %d operands", ErrWrong, num)
	case exchange:
		args[0], args[1] = args[1], args[0]
	}
	start = len(p.args)
	p.args = append(p.args, args[:num]...)
	n.Args = p.args[start:len(p.args):len(p.args)]
	return n, nil
}

// condNamed returns the number of a condition of op.
func condNamed(op clif.Opcode, name string) (uint8, bool) {
	if op == clif.OpFcmp || op == clif.OpVfcmp {
		for cc := range clif.FloatCC(clif.NumFloatCCs) {
			if cc.String() == name {
				return uint8(cc), true
			}
		}
		return 0, false
	}
	for cc := range clif.IntCC(clif.NumIntCCs) {
		if cc.String() == name {
			return uint8(cc), true
		}
	}
	return 0, false
}
