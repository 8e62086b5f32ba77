package opt

import (
	"fmt"
	"slices"
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
// A property of a constant is one of a number as wide as the instruction around it counts with: for shifts of lanes, an amount, too, is
// compared with the width of a lane.
//
// Behind "when" are words of conditions. On the right is what takes the place of the whole:
//
//	x, k            a value of the left
//	0, -1           a constant of the type of the result; of a vector, each lane
//	k:neg           a constant that a word computes from k
//	x:low           a value that a word makes from x
//	(op x k:neg)    an instruction; "op" is the opcode of the whole, and its lane; "in" is the opcode of the instruction inside, where the
//	                left names several. It has the type of the whole; .any is the type of the instruction inside. Its condition is a fixed
//	                one, cc for that of the whole, swapped or unsigned for what these make of it, or inverse for the inverse of that of the
//	                comparison inside.
//	divided         what the function of this name makes
//
// All words are in rowwords.go. A row applies to the types that its rule has in the table, as far as the instructions that it makes have them.

// row is a row, compiled.
type row struct {
	rule  Rule
	last  bool         // if the left fits, later rows are not tried
	types clif.TypeSet // of the whole
	inner clif.TypeSet // of the instruction inside; 0 for all
	conds uint16
	roots [3]uint8 // slots of the operands
	steps []rowStep
	when  []condition
	gives []making
	maker maker
	// needs are the opcodes that may define the first two operands; empty for anything.
	needs [2]pattern.OpSet
}

// rowStep is one question of a row's left.
type rowStep struct {
	do    question
	slot  uint8    // of the value in question
	other uint8    // askSame: of that which it must be
	args  [3]uint8 // askInst: of its operands; noSlot if nothing asks
	typ   clif.Type
	any   bool // any type
	same  bool // the type of the instruction inside before this one
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

// rowCompiler compiles the rows of rules.
type rowCompiler struct {
	left, right pattern.Parser
	row         *row
	root        clif.Opcode // the first one of the whole
	steps       []rowStep
	gives       []making
	temps       uint8
	bound       uint32 // slots that have a value
	typ         clif.Type
	any         bool // typ is any
	err         error
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

// compile compiles a row, unless there is an error.
func (c *rowCompiler) compile(t *rowText) *row {
	left, when, right := splitRow(t.text)
	r := &row{rule: t.rule, last: t.last, types: t.types, roots: [3]uint8{noSlot, noSlot, noSlot}}
	c.row, c.steps, c.gives, c.temps, c.bound, c.typ, c.any = r, c.steps[:0], c.gives[:0], firstTemp, 0, clif.Invalid, false
	c.left.Exchange = t.exchange
	n, err := c.left.Parse(left)
	if err != nil || n.Ops == nil || n.AnyType || n.Same {
		c.failed(err)
		return r
	}
	if n.Ordered {
		c.fail("operands of rules stand as they are")
	}
	if c.root = n.Ops[0]; n.Type != clif.Invalid {
		r.types &= 1 << n.Type
	}
	r.conds = pattern.CondSet(n.Conds)
	for k := range n.Args {
		r.roots[k] = c.operand(&n.Args[k])
		if k < len(r.needs) {
			r.needs[k] = neededOps(&n.Args[k])
		}
	}
	r.steps = slices.Clone(c.steps)
	for word := range strings.FieldsSeq(when) {
		w := conditions[word]
		if w == nil {
			c.fail("no condition %q", word)
		}
		r.when = append(r.when, w)
	}
	if r.maker = makers[right]; r.maker != nil {
		return r
	}
	if n, err = c.right.Parse(right); err != nil {
		c.failed(err)
		return r
	}
	if pattern.Orders(right) > 1 {
		c.fail("the right has one order of operands")
	}
	c.give(&n, clif.Invalid)
	if last := &c.gives[len(c.gives)-1]; last.do == giveConst {
		last.root = true
	}
	if r.gives = slices.Clone(c.gives); len(r.gives) > maxParts {
		c.fail("%d parts", len(r.gives))
	}
	return r
}

// constOps are the opcodes of constants that rows match.
var constOps = func() (s pattern.OpSet) {
	s.Add(clif.OpIconst, clif.OpFconst, clif.OpVconst)
	return s
}()

// neededOps returns the opcodes that may define an operand, none for any; opWhole is opcode 0 here.
func neededOps(n *pattern.Pattern) (s pattern.OpSet) {
	switch {
	case n.Ops != nil && n.Ops[0] == opWhole:
		s.Add(clif.OpNop)
	case n.Ops != nil:
		s.Add(n.Ops...)
	case n.Leaf == pattern.LeafConst || n.Leaf == pattern.LeafLiteral:
		return constOps
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
	s := rowStep{slot: slot, typ: c.typ, any: c.any, lit: n.Lit}
	if c.bound>>slot&1 != 0 {
		s.slot, s.other = c.slotOf(""), slot
		if s.do = askSame; n.Leaf == pattern.LeafConst {
			s.do = askEqual
		}
		c.steps = append(c.steps, s)
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
	c.steps = append(c.steps, s)
	return slot
}

// inst adds the questions about an instruction inside.
func (c *rowCompiler) inst(n *pattern.Pattern, s rowStep) {
	if n.Only {
		c.fail("the mid-end does not count users")
	}
	if n.Ordered {
		c.fail("operands of rules stand as they are")
	}
	s.do, s.any, s.same, s.typ, s.conds, s.inner = askInst, n.AnyType, n.Same, n.Type, pattern.CondSet(n.Conds), len(n.Ops) > 1
	if s.op = n.Ops[0] == opWhole; !s.op {
		s.ops.Add(n.Ops...)
	}
	s.args = [3]uint8{noSlot, noSlot, noSlot}
	at := len(c.steps)
	c.steps = append(c.steps, s)
	around, any := c.typ, c.any
	c.typ, c.any = n.Type, n.AnyType || n.Same
	for k := range n.Args {
		s.args[k] = c.operand(&n.Args[k])
	}
	c.typ, c.any = around, any
	c.steps[at] = s
}

// give adds the parts of the right, and returns the last one's number. A constant has type t.
func (c *rowCompiler) give(n *pattern.Pattern, t clif.Type) uint8 {
	p := making{do: giveInst, typ: t, lit: n.Lit}
	switch n.Leaf {
	case pattern.NoLeaf:
		if p.op, p.typ, p.any = n.Ops[0], n.Type, n.AnyType; n.Same {
			c.fail("which type is the same?")
		}
		if n.Conds != nil {
			p.cond = n.Conds[0]
		}
		c.restrict(&p)
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
	c.gives = append(c.gives, p)
	return uint8(len(c.gives) - 1)
}

// restrict leaves the types that an instruction can have that the row makes.
func (c *rowCompiler) restrict(p *making) {
	if p.op >= clif.NumOpcodes {
		return
	}
	types := p.op.Info().Types
	switch {
	case p.any && c.row.inner == 0:
		c.row.inner = types
	case p.any:
		c.row.inner &= types
	case p.typ == clif.Invalid:
		c.row.types &= types
	}
}

// constType returns the type of a constant as operand k of an instruction: for a vector, what it counts with.
func (c *rowCompiler) constType(p *making, k int) clif.Type {
	op := p.op
	switch op {
	case opWhole:
		op = c.root
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
