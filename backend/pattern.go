package backend

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/waot-project/waot/clif"
)

// This file reads the patterns of lowering rules. A pattern is an s-expression:
//
//	(op arg ...)    an instruction; op may be several, as in ishl|ushr, with conditions, as in icmp:eq|ne, and a type, as
//	                in band.i64. An instruction inside has the type of the whole; .any stands for each type.
//	(only (op ...)) the same, and nothing else uses the result: the instruction is saved
//	x y z w         a value
//	x:kept          a value with a property, a word of Vocabulary.Values
//	k j i           an integer constant
//	k:imm32         a constant with a property, a word of Vocabulary.Consts
//	-1              this constant
//	[x]             what a load reads, of the whole type, if the instruction can do the load itself (Query.SinkableLoad)
//	[x:1]           the same, of exactly this number of bytes of memory: 1, 2, 4, 8 or 16
//	[x:narrow]      the same, a load of one or two bytes, zero-extended
//
// No name stands twice in a pattern. A constant operand of a commutative instruction stands last in a pattern, wherever it is
// in the function; op! keeps operands as they are. In TermOperand the pattern describes the operand.

// Pattern is a pattern, parsed: an instruction, or a leaf.
type Pattern struct {
	Ops     []clif.Opcode // of an instruction
	Conds   []uint8       // of a comparison; nil for all
	Type    clif.Type     // Invalid: the type of the whole
	AnyType bool
	Only    bool
	Ordered bool // constants stand where they are
	Args    []Pattern

	Leaf Leaf
	Name string // of a variable
	Word string // behind the colon
	Lit  int64
}

// Leaf is the kind of an operand in a pattern.
type Leaf uint8

// The kinds of leaves.
const (
	NoLeaf Leaf = iota
	LeafValue
	LeafConst
	LeafLiteral
	LeafLoad
)

// patternParser reads patterns, one after the other.
type patternParser struct {
	rest string
	ops  map[string]clif.Opcode
	// What the pattern at hand is made of: its instructions' operands, opcodes and conditions.
	args    []Pattern
	opcodes []clif.Opcode
	conds   []uint8
}

var errPattern = errors.New("wrong pattern")

// ParsePattern reads a pattern; ops has the opcodes by name.
func ParsePattern(s string, ops map[string]clif.Opcode) (Pattern, error) {
	p := patternParser{ops: ops}
	return p.parse(s)
}

// parse reads pattern s, which is valid until the next one is parsed.
func (p *patternParser) parse(s string) (Pattern, error) {
	p.rest, p.args, p.opcodes, p.conds = s, p.args[:0], p.opcodes[:0], p.conds[:0]
	n, err := p.node()
	if err == nil && strings.TrimSpace(p.rest) != "" {
		err = fmt.Errorf("%w: %q is left", errPattern, p.rest)
	}
	return n, err
}

// word reads up to a blank or bracket.
func (p *patternParser) word() string {
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
func (p *patternParser) next(s string) bool {
	rest, ok := strings.CutPrefix(strings.TrimLeft(p.rest, " "), s)
	if ok {
		p.rest = rest
	}
	return ok
}

func (p *patternParser) node() (n Pattern, err error) {
	switch {
	case p.next("(only "):
		if n, err = p.node(); err == nil && n.Ops == nil {
			err = fmt.Errorf("%w: only an instruction can have no other user", errPattern)
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
		return n, fmt.Errorf("%w: what is %q?", errPattern, w)
	}
	return n, nil
}

// closed demands a closing bracket, unless there is an error already.
func (p *patternParser) closed(bracket string, err error) error {
	if err == nil && !p.next(bracket) {
		err = fmt.Errorf("%w: %s expected before %q", errPattern, bracket, p.rest)
	}
	return err
}

// inst reads an instruction from behind its opening bracket on.
func (p *patternParser) inst() (n Pattern, err error) {
	word := p.word()
	n.Ordered = strings.HasSuffix(word, "!")
	head, typ, typed := strings.Cut(strings.TrimSuffix(word, "!"), ".")
	ops, conds, _ := strings.Cut(head, ":")
	start := len(p.opcodes)
	for name := range strings.SplitSeq(ops, "|") {
		op, ok := p.ops[name]
		if !ok {
			return n, fmt.Errorf("%w: no opcode %q", errPattern, name)
		}
		p.opcodes = append(p.opcodes, op)
	}
	n.Ops = p.opcodes[start:len(p.opcodes):len(p.opcodes)]
	if conds != "" {
		start := len(p.conds)
		for name := range strings.SplitSeq(conds, "|") {
			cc, ok := condNamed(n.Ops[0], name)
			if !ok {
				return n, fmt.Errorf("%w: no condition %q", errPattern, name)
			}
			p.conds = append(p.conds, cc)
		}
		n.Conds = p.conds[start:len(p.conds):len(p.conds)]
	}
	if n.AnyType = typ == "any"; typed && !n.AnyType {
		if n.Type = clif.ControlTypeByName(typ); n.Type == clif.Invalid {
			return n, fmt.Errorf("%w: no type %q", errPattern, typ)
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
		return n, fmt.Errorf("%w: %d operands", errPattern, num)
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

// program is a compiled pattern. Operands have slots: first those with names, then the others.
type program struct {
	root opSet
	// roots are the slots of the root's operands; needs are the opcodes that may define them.
	roots [3]uint8
	needs [2]opSet
	typ   clif.Type // of the root, Invalid for any
	conds uint16    // of the root: a bit each
	steps []step
}

// opSet is a set of opcodes. NumOpcodes stands for values that no instruction with one result defines.
type opSet [clif.NumOpcodes/64 + 1]uint64

func (s *opSet) has(op clif.Opcode) bool { return s[op>>6]>>(op&63)&1 != 0 }
func (s *opSet) add(ops ...clif.Opcode) {
	for _, op := range ops {
		s[op>>6] |= 1 << (op & 63)
	}
}

// all yields the members of s.
func (s *opSet) all(yield func(clif.Opcode) bool) {
	for i, w := range s {
		for ; w != 0; w &= w - 1 {
			if !yield(clif.Opcode(i<<6 | bits.TrailingZeros64(w))) {
				return
			}
		}
	}
}

var anyOp = func() (s opSet) {
	for i := range s {
		s[i] = ^uint64(0)
	}
	return s
}()

// step is one question that a pattern asks.
type step struct {
	do     stepKind
	slot   uint8    // of the operand in question
	args   [3]uint8 // of an instruction's operands; noSlot if no step needs it
	only   bool
	any    bool
	swap   bool // there are two operands: a constant is the last
	choice bool // one of several opcodes
	konst  uint8
	width  uint8
	typ    clif.Type // Invalid: the type of the whole
	ops    opSet
	conds  uint16
	lit    int64
	onK    func(t clif.Type, k int64) bool
	onV    func(q *Query, v clif.Value) bool
	guard  func(q *Query, m *Match) bool
}

type stepKind uint8

const (
	stepInst stepKind = iota
	stepConst
	stepLiteral
	stepValue
	stepLoad
	stepGuard
)

// Slots.
const (
	firstTemp = 4 // behind x, y, z, w
	numSlots  = 12
	noSlot    = numSlots - 1
)

// Widths of folded loads that are not numbers of bytes.
const (
	wholeType uint8 = 0
	narrow    uint8 = 255
)

type patternCompiler struct {
	words  *Vocabulary
	parser patternParser
	steps  []step // with room behind them for those of the next pattern
	p      program
	temps  uint8
	named  string    // names so far
	typ    clif.Type // of the instruction around
}

func newPatternCompiler(words *Vocabulary) patternCompiler {
	return patternCompiler{words: words, parser: patternParser{ops: clif.OpcodesByName()}}
}

// compile compiles the pattern of a row.
func (c *patternCompiler) compile(row *RuleDef) (program, error) {
	n, err := c.parser.parse(row.Pattern)
	if err != nil {
		return program{}, err
	}
	if cap(c.steps)-len(c.steps) < numSlots {
		c.steps = make([]step, 0, 8*numSlots)
	}
	c.p, c.temps, c.named, c.typ = program{steps: c.steps[len(c.steps):]}, firstTemp, "", clif.Invalid
	c.p.needs = [2]opSet{anyOp, anyOp}
	c.p.roots = [3]uint8{noSlot, noSlot, noSlot}
	if row.Term == TermOperand {
		c.p.roots[0], err = c.operand(&n)
		c.p.needs[0] = c.needs(&n)
	} else {
		err = c.root(&n)
	}
	for _, word := range strings.Fields(row.When) {
		guard := c.words.Guards[word]
		if guard == nil {
			return c.p, fmt.Errorf("%w: no guard %q", errPattern, word)
		}
		c.p.steps = append(c.p.steps, step{do: stepGuard, guard: guard})
	}
	c.steps = c.p.steps
	c.p.steps = slices.Clip(c.p.steps)
	return c.p, err
}

func (c *patternCompiler) root(n *Pattern) (err error) {
	if n.Ops == nil {
		return fmt.Errorf("%w: an instruction must be outside", errPattern)
	}
	c.p.root.add(n.Ops...)
	c.p.typ = n.Type
	c.p.conds = condSet(n.Conds)
	for k := range n.Args {
		if c.p.roots[k], err = c.operand(&n.Args[k]); err != nil {
			return err
		}
		if k < len(c.p.needs) {
			c.p.needs[k] = c.needs(&n.Args[k])
		}
	}
	return nil
}

// anyCond is the set of all conditions.
const anyCond = ^uint16(0)

func condSet(conds []uint8) (s uint16) {
	if conds == nil {
		return anyCond
	}
	for _, cc := range conds {
		s |= 1 << cc
	}
	return s
}

// needs returns the opcodes that may define an operand.
func (c *patternCompiler) needs(n *Pattern) (s opSet) {
	switch {
	case n.Ops != nil:
		s.add(n.Ops...)
	case n.Leaf == LeafConst || n.Leaf == LeafLiteral:
		s.add(clif.OpIconst, clif.OpRefNull)
	case n.Leaf == LeafLoad && n.Word != "narrow":
		s.add(c.words.Loads...)
	case n.Leaf == LeafLoad:
		s.add(clif.OpLoad)
	default:
		return anyOp
	}
	return s
}

// operand adds the questions about an operand, and returns its slot.
func (c *patternCompiler) operand(n *Pattern) (slot uint8, err error) {
	if n.Leaf == LeafValue || n.Leaf == LeafLoad {
		name := strings.Index("xyzw", n.Name)
		if name < 0 || len(n.Name) != 1 {
			return 0, fmt.Errorf("%w: what is %q?", errPattern, n.Name)
		}
		slot = uint8(name)
	} else {
		slot = c.temp()
	}
	if n.Name != "" && strings.Contains(c.named, n.Name) {
		return 0, fmt.Errorf("%w: two operands are %s", errPattern, n.Name)
	}
	c.named += n.Name
	s := step{slot: slot, typ: c.typ}
	switch n.Leaf {
	case NoLeaf:
		return slot, c.inst(n, s)
	case LeafLiteral:
		s.do, s.lit = stepLiteral, n.Lit
	case LeafConst:
		s.do, s.konst = stepConst, uint8(strings.Index("kji", n.Name))
		if n.Word != "" {
			if s.onK = c.words.Consts[n.Word]; s.onK == nil {
				return 0, fmt.Errorf("%w: no property %q", errPattern, n.Word)
			}
		}
	case LeafLoad:
		s.do, s.ops = stepLoad, c.needs(n)
		switch n.Word {
		case "":
		case "narrow":
			s.width = narrow
		default:
			width, err := strconv.ParseUint(n.Word, 10, 5)
			if err != nil || width&(width-1) != 0 || width == 0 {
				return 0, fmt.Errorf("%w: no width %q", errPattern, n.Word)
			}
			s.width = uint8(width)
		}
	default:
		if n.Word == "" {
			return slot, nil
		}
		s.do = stepValue
		if s.onV = c.words.Values[n.Word]; s.onV == nil {
			return 0, fmt.Errorf("%w: no property %q", errPattern, n.Word)
		}
	}
	c.p.steps = append(c.p.steps, s)
	return slot, nil
}

// inst adds the questions about an instruction inside.
func (c *patternCompiler) inst(n *Pattern, s step) (err error) {
	s.do, s.only, s.any, s.typ, s.conds, s.choice = stepInst, n.Only, n.AnyType, n.Type, condSet(n.Conds), len(n.Ops) > 1
	s.ops.add(n.Ops...)
	s.args = [3]uint8{noSlot, noSlot, noSlot}
	at := len(c.p.steps)
	c.p.steps = append(c.p.steps, s)
	around := c.typ
	c.typ = n.Type
	for k := range n.Args {
		if s.args[k], err = c.operand(&n.Args[k]); err != nil {
			return err
		}
	}
	c.typ = around
	s.swap = len(n.Args) == 2 && !n.Ordered
	c.p.steps[at] = s
	return nil
}

func (c *patternCompiler) temp() uint8 {
	if c.temps++; c.temps > noSlot {
		panic("a pattern has too many operands")
	}
	return c.temps - 1
}
