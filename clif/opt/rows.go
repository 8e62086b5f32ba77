package opt

import (
	"fmt"
	"strings"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/pattern"
)

// This file reads the rows of rules. A row is
//
//	(isub x k) => (iadd x k:neg)
//	(sext8|sext16|sext32|sextend x) when positive => ...
//
// and a rule has one row, or several with "; " between. On the left is a pattern (package pattern), with these additions:
//
//   - A name that stands twice is the same value, or an equal constant.
//   - (op x y) inside has the opcode of the whole.
//   - Operands stand as they are: rule const-right has put constants last.
//
// Behind "when" are words of conditions. On the right is what takes the place of the whole:
//
//	x, k            a value of the left
//	0, -1           a constant of the type of the result
//	k:neg           a constant that a word computes from k
//	x:low           a value that a word makes from x
//	(op x k:neg)    an instruction; "op" is the opcode of the whole, "in" that of the instruction inside, where the left names several. It
//	                has the type of the whole; .any is the type of the instruction inside. Its condition is a fixed one, cc for that of the
//	                whole, swapped or unsigned for what these make of it, or inverse for the inverse of that of the comparison inside.
//	divided         what the function of this name makes
//
// All words are in rowwords.go.

// row is a row, compiled.
type row struct {
	rule  Rule
	last  bool // if the left fits, later rows are not tried
	typ   clif.Type
	conds uint16
	roots [3]uint8 // slots of the operands
	steps []rowStep
	when  []condition
	gives []making
	maker maker
}

// rowStep is one question of a row's left.
type rowStep struct {
	do    question
	slot  uint8    // of the value in question
	other uint8    // askSame: of that which it must be
	args  [3]uint8 // askInst: of its operands; noSlot if nothing asks
	typ   clif.Type
	any   bool // any type
	op    bool // the opcode of the whole
	inner bool // one of several opcodes
	ops   pattern.OpSet
	conds uint16
	lit   int64
	isK   constWord
	isV   valueWord
}

type question uint8

const (
	askInst question = iota
	askConst
	askEqual // a constant equal to an earlier one
	askLiteral
	askSame
	askValue
)

// making is a node of a row's right, behind those of its operands.
type making struct {
	do   give
	slot uint8
	args [3]uint8 // giveInst: the parts of the operands
	op   clif.Opcode
	typ  clif.Type // Invalid: that of the whole
	any  bool      // giveInst: the type of the instruction inside
	cond uint8
	root bool // giveConst: the type of the result
	lit  int64
	k    constMaker
	v    valueMaker
}

type give uint8

const (
	giveValue give = iota
	giveMade
	giveConst
	giveInst
)

// Opcodes that stand for others in rows.
const (
	opWhole = clif.NumOpcodes + 1 + iota
	opInner
)

// Conditions on the right that are no fixed ones.
const (
	condSame uint8 = 64 + iota
	condSwapped
	condUnsigned
	condInverse
)

// slotNames are the names, in the order of their slots; constants are the last.
const (
	slotNames  = "xyzwkji"
	firstConst = 4
	firstTemp  = uint8(len(slotNames))
	numSlots   = 16
	noSlot     = numSlots - 1
	maxParts   = 8
	numConds   = 16
)

// rowTable has the rows in a form for decisions.
type rowTable struct {
	rows []row
	byOp [clif.NumOpcodes]*candidates
	// class tells the opcodes apart that rows name for operands; 0 is all others.
	class [clif.NumOpcodes + 1]uint8
}

const maxClasses = 64

// candidates are the rows for an opcode, in order. A row is out of the question if needs, by operand and the class of the opcode that
// defines it, lacks its bit, or types or conds, by the instruction's type and condition, or if it is in same and the operands are not.
type candidates struct {
	rows  [32]uint8
	num   int
	same  uint32
	two   bool // there is a second operand
	types [clif.NumControlTypes]uint32
	conds [numConds]uint32
	needs [2][maxClasses]uint32
}

// rowCompiler compiles the rows of rules.
type rowCompiler struct {
	left, right pattern.Parser
	table       *rowTable
	needs       [][2]pattern.OpSet // by row: what may define the first two operands; empty for anything
	ops         [][]clif.Opcode
	row         *row
	temps       uint8
	bound       uint32 // slots that have a value
	typ         clif.Type
	err         error
}

// newRowTable compiles the rows of the rules. It panics if one is wrong.
func newRowTable(defs []ruleDef) *rowTable {
	c := rowCompiler{table: &rowTable{}}
	ops := clif.OpcodesByName()
	ops["op"], ops["in"] = opWhole, opInner
	conds := map[string]uint8{"cc": condSame, "swapped": condSwapped, "unsigned": condUnsigned, "inverse": condInverse}
	c.left.Ops, c.right.Ops, c.right.Conds = ops, ops, conds
	for r := range defs {
		for _, text := range rowTexts(defs[r].Row) {
			c.compile(Rule(r), text)
			c.row.last = defs[r].Last
			if c.err != nil {
				panic(fmt.Sprintf("rule %s: %v: %s", defs[r].Name, c.err, text))
			}
		}
	}
	c.classify()
	for n := range c.table.rows {
		for _, op := range c.ops[n] {
			c.enter(n, op)
		}
	}
	return c.table
}

// rowTexts splits what a rule does into rows.
func rowTexts(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, "; ")
}

// splitRow splits a row into its parts.
func splitRow(text string) (left, when, right string) {
	left, right, _ = strings.Cut(text, " => ")
	left, when, _ = strings.Cut(left, " when ")
	return left, when, right
}

func (c *rowCompiler) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("%w: "+format, append([]any{pattern.ErrWrong}, args...)...)
	}
}

// failed is fail for what the parser says, which may be nothing about a left that is no instruction.
func (c *rowCompiler) failed(err error) {
	if err == nil {
		err = fmt.Errorf("%w: the left is no instruction", pattern.ErrWrong)
	}
	if c.err == nil {
		c.err = err
	}
}

// compile appends a row.
func (c *rowCompiler) compile(r Rule, text string) {
	left, when, right := splitRow(text)
	c.table.rows = append(c.table.rows, row{rule: r, roots: [3]uint8{noSlot, noSlot, noSlot}})
	c.row, c.temps, c.bound, c.typ = &c.table.rows[len(c.table.rows)-1], firstTemp, 0, clif.Invalid
	n, err := c.left.Parse(left)
	if err != nil || n.Ops == nil {
		c.failed(err)
		return
	}
	c.row.typ, c.row.conds = n.Type, pattern.CondSet(n.Conds)
	var needs [2]pattern.OpSet
	for k := range n.Args {
		c.row.roots[k] = c.operand(&n.Args[k])
		if k < len(needs) {
			needs[k] = neededOps(&n.Args[k])
		}
	}
	c.needs, c.ops = append(c.needs, needs), append(c.ops, append([]clif.Opcode(nil), n.Ops...))
	for _, word := range strings.Fields(when) {
		w := conditions[word]
		if w == nil {
			c.fail("no condition %q", word)
		}
		c.row.when = append(c.row.when, w)
	}
	if c.row.maker = makers[right]; c.row.maker != nil {
		return
	}
	n, err = c.right.Parse(right)
	if err != nil {
		c.failed(err)
		return
	}
	c.give(&n, clif.Invalid)
	if last := &c.row.gives[len(c.row.gives)-1]; last.do == giveConst {
		last.root = true
	}
	if len(c.row.gives) > maxParts {
		c.fail("%d parts", len(c.row.gives))
	}
}

// neededOps returns the opcodes that may define an operand, none for any; opWhole is opcode 0 here.
func neededOps(n *pattern.Pattern) (s pattern.OpSet) {
	switch {
	case n.Ops != nil && n.Ops[0] == opWhole:
		s.Add(clif.OpNop)
	case n.Ops != nil:
		s.Add(n.Ops...)
	case n.Leaf == pattern.LeafConst || n.Leaf == pattern.LeafLiteral:
		s.Add(clif.OpIconst)
	}
	return s
}

// slotOf returns the slot of a name, or a fresh one if there is none.
func (c *rowCompiler) slotOf(name string) uint8 {
	if name == "" {
		if c.temps++; c.temps > noSlot {
			c.fail("too many operands")
			return noSlot
		}
		return c.temps - 1
	}
	slot := strings.Index(slotNames, name)
	if slot < 0 || len(name) != 1 {
		c.fail("what is %q?", name)
		return noSlot
	}
	return uint8(slot)
}

// operand adds the questions about an operand, and returns its slot.
func (c *rowCompiler) operand(n *pattern.Pattern) (slot uint8) {
	slot = c.slotOf(n.Name)
	s := rowStep{slot: slot, typ: c.typ, lit: n.Lit}
	if c.bound>>slot&1 != 0 {
		s.slot, s.other = c.slotOf(""), slot
		if s.do = askSame; n.Leaf == pattern.LeafConst {
			s.do = askEqual
		}
		c.row.steps = append(c.row.steps, s)
		return s.slot
	}
	if n.Name != "" {
		c.bound |= 1 << slot
	}
	switch n.Leaf {
	case pattern.NoLeaf:
		c.inst(n, s)
		return slot
	case pattern.LeafLiteral:
		s.do = askLiteral
	case pattern.LeafConst:
		s.do = askConst
		if s.isK = constWords[n.Word]; s.isK == nil && n.Word != "" {
			c.fail("no property %q", n.Word)
		}
	case pattern.LeafValue:
		if n.Word == "" {
			return slot
		}
		s.do = askValue
		if s.isV = valueWords[n.Word]; s.isV == nil {
			c.fail("no property %q", n.Word)
		}
	default:
		c.fail("the mid-end folds no loads")
	}
	c.row.steps = append(c.row.steps, s)
	return slot
}

// inst adds the questions about an instruction inside.
func (c *rowCompiler) inst(n *pattern.Pattern, s rowStep) {
	if n.Only {
		c.fail("the mid-end does not count users")
	}
	s.do, s.any, s.typ, s.conds, s.inner = askInst, n.AnyType, n.Type, pattern.CondSet(n.Conds), len(n.Ops) > 1
	if s.op = n.Ops[0] == opWhole; !s.op {
		s.ops.Add(n.Ops...)
	}
	s.args = [3]uint8{noSlot, noSlot, noSlot}
	at := len(c.row.steps)
	c.row.steps = append(c.row.steps, s)
	around := c.typ
	c.typ = n.Type
	for k := range n.Args {
		s.args[k] = c.operand(&n.Args[k])
	}
	c.typ = around
	c.row.steps[at] = s
}

// give adds the parts of the right, and returns the last one's number. A constant has type t.
func (c *rowCompiler) give(n *pattern.Pattern, t clif.Type) uint8 {
	p := making{do: giveInst, typ: t, lit: n.Lit}
	switch n.Leaf {
	case pattern.NoLeaf:
		p.op, p.typ, p.any = n.Ops[0], n.Type, n.AnyType
		if n.Conds != nil {
			p.cond = n.Conds[0]
		}
		for k := range n.Args {
			p.args[k] = c.give(&n.Args[k], c.constType(&p, k))
		}
	case pattern.LeafLiteral:
		p.do = giveConst
	default:
		p.slot = c.slotOf(n.Name)
		if c.bound>>p.slot&1 == 0 {
			c.fail("%s is not on the left", n.Name)
		}
		switch {
		case n.Word == "":
			p.do = giveValue
		case n.Leaf == pattern.LeafConst:
			p.do, p.k = giveConst, constMakers[n.Word]
		default:
			p.do, p.v = giveMade, valueMakers[n.Word]
		}
		if n.Word != "" && p.k == nil && p.v == nil {
			c.fail("no word %q", n.Word)
		}
	}
	c.row.gives = append(c.row.gives, p)
	return uint8(len(c.row.gives) - 1)
}

// constType returns the type of a constant as operand k of an instruction.
func (c *rowCompiler) constType(p *making, k int) clif.Type {
	op := p.op
	switch op {
	case opWhole:
		op = c.ops[len(c.ops)-1][0]
	case opInner:
		return p.typ
	}
	switch sig := op.Info().Sig; sig[k] {
	case 'i':
		return clif.I32
	case 'l':
		return clif.I64
	}
	return p.typ
}

// classify gives each opcode that a row names for an operand a class of its own.
func (c *rowCompiler) classify() {
	last := uint8(0)
	for n := range c.needs {
		for k := range c.needs[n] {
			s := c.needs[n][k]
			if s.Has(clif.OpNop) {
				s.Add(c.ops[n]...)
			}
			for op := range s.All {
				if op != clif.OpNop && c.table.class[op] == 0 {
					last++
					c.table.class[op] = last
				}
			}
		}
	}
	if last >= maxClasses {
		panic("rules name too many opcodes of operands")
	}
}

// enter makes row n one of the candidates of op.
func (c *rowCompiler) enter(n int, op clif.Opcode) {
	to := c.table.byOp[op]
	if to == nil {
		to = &candidates{two: (&clif.InstData{Op: op}).NumArgs() > 1}
		c.table.byOp[op] = to
	}
	if to.num == len(to.rows) {
		panic("too many rows of an opcode")
	}
	bit := uint32(1) << to.num
	to.rows[to.num] = uint8(n)
	to.num++
	r := &c.table.rows[n]
	if len(r.steps) > 0 && r.steps[0].do == askSame && r.steps[0].slot == r.roots[1] && r.steps[0].other == r.roots[0] {
		to.same |= bit
	}
	for t := range to.types {
		if r.typ == clif.Invalid || r.typ == clif.Type(t) {
			to.types[t] |= bit
		}
	}
	for cc := range to.conds {
		if r.conds>>cc&1 != 0 {
			to.conds[cc] |= bit
		}
	}
	for k := range to.needs {
		switch s := c.needs[n][k]; {
		case s.IsEmpty():
			for class := range to.needs[k] {
				to.needs[k][class] |= bit
			}
		case s.Has(clif.OpNop):
			to.needs[k][c.table.class[op]] |= bit
		default:
			for op := range s.All {
				to.needs[k][c.table.class[op]] |= bit
			}
		}
	}
}
