package backend

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/pattern"
)

// This file compiles the patterns of lowering rules; package pattern describes their language. No name stands twice in a pattern.
// In TermOperand the pattern describes the operand.

// program is a compiled pattern. Operands have slots: first those with names, then the others.
type program struct {
	root pattern.OpSet
	// roots are the slots of the root's operands; needs are the opcodes that may define them.
	roots [3]uint8
	needs [2]pattern.OpSet
	typ   clif.Type // of the root, Invalid for any
	conds uint16    // of the root: a bit each
	steps []step
}

var anyOp = func() (s pattern.OpSet) {
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
	ops    pattern.OpSet
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
	parser pattern.Parser
	steps  []step // with room behind them for those of the next pattern
	p      program
	temps  uint8
	named  string    // names so far
	typ    clif.Type // of the instruction around
}

func newPatternCompiler(words *Vocabulary) patternCompiler {
	return patternCompiler{words: words, parser: pattern.Parser{Ops: clif.OpcodesByName()}}
}

// compile compiles the pattern of a row.
func (c *patternCompiler) compile(row *RuleDef) (program, error) {
	n, err := c.parser.Parse(row.Pattern)
	if err == nil && pattern.Orders(row.Pattern) > 1 {
		err = fmt.Errorf("%w: in lowering each order of operands is a row of its own", pattern.ErrWrong)
	}
	if err != nil {
		return program{}, err
	}
	if cap(c.steps)-len(c.steps) < numSlots {
		c.steps = make([]step, 0, 8*numSlots)
	}
	c.p, c.temps, c.named, c.typ = program{steps: c.steps[len(c.steps):]}, firstTemp, "", clif.Invalid
	c.p.needs = [2]pattern.OpSet{anyOp, anyOp}
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
			return c.p, fmt.Errorf("%w: no guard %q", pattern.ErrWrong, word)
		}
		c.p.steps = append(c.p.steps, step{do: stepGuard, guard: guard})
	}
	c.steps = c.p.steps
	c.p.steps = slices.Clip(c.p.steps)
	return c.p, err
}

func (c *patternCompiler) root(n *pattern.Pattern) (err error) {
	if n.Ops == nil {
		return fmt.Errorf("%w: an instruction must be outside", pattern.ErrWrong)
	}
	c.p.root.Add(n.Ops...)
	c.p.typ = n.Type
	c.p.conds = pattern.CondSet(n.Conds)
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

// needs returns the opcodes that may define an operand.
func (c *patternCompiler) needs(n *pattern.Pattern) (s pattern.OpSet) {
	switch {
	case n.Ops != nil:
		s.Add(n.Ops...)
	case n.Leaf == pattern.LeafConst || n.Leaf == pattern.LeafLiteral:
		s.Add(clif.OpIconst, clif.OpRefNull)
	case n.Leaf == pattern.LeafLoad && n.Word != "narrow":
		s.Add(c.words.Loads...)
	case n.Leaf == pattern.LeafLoad:
		s.Add(clif.OpLoad)
	default:
		return anyOp
	}
	return s
}

// operand adds the questions about an operand, and returns its slot.
func (c *patternCompiler) operand(n *pattern.Pattern) (slot uint8, err error) {
	if n.Leaf == pattern.LeafValue || n.Leaf == pattern.LeafLoad {
		name := strings.Index("xyzw", n.Name)
		if name < 0 || len(n.Name) != 1 {
			return 0, fmt.Errorf("%w: what is %q?", pattern.ErrWrong, n.Name)
		}
		slot = uint8(name)
	} else {
		slot = c.temp()
	}
	if n.Name != "" && strings.Contains(c.named, n.Name) {
		return 0, fmt.Errorf("%w: two operands are %s", pattern.ErrWrong, n.Name)
	}
	if n.Leaf == pattern.NoLeaf && n.Name != "" {
		return 0, fmt.Errorf("%w: lowering has no use for the result %s of an instruction that is folded", pattern.ErrWrong, n.Name)
	}
	c.named += n.Name
	s := step{slot: slot, typ: c.typ}
	switch n.Leaf {
	case pattern.NoLeaf:
		return slot, c.inst(n, s)
	case pattern.LeafLiteral:
		s.do, s.lit = stepLiteral, n.Lit
	case pattern.LeafConst:
		s.do, s.konst = stepConst, uint8(strings.Index("kji", n.Name))
		if n.Word != "" {
			if s.onK = c.words.Consts[n.Word]; s.onK == nil {
				return 0, fmt.Errorf("%w: no property %q", pattern.ErrWrong, n.Word)
			}
		}
	case pattern.LeafLoad:
		s.do, s.ops = stepLoad, c.needs(n)
		switch n.Word {
		case "":
		case "narrow":
			s.width = narrow
		default:
			width, err := strconv.ParseUint(n.Word, 10, 5)
			if err != nil || width&(width-1) != 0 || width == 0 {
				return 0, fmt.Errorf("%w: no width %q", pattern.ErrWrong, n.Word)
			}
			s.width = uint8(width)
		}
	default:
		if n.Word == "" {
			return slot, nil
		}
		s.do = stepValue
		if s.onV = c.words.Values[n.Word]; s.onV == nil {
			return 0, fmt.Errorf("%w: no property %q", pattern.ErrWrong, n.Word)
		}
	}
	c.p.steps = append(c.p.steps, s)
	return slot, nil
}

// inst adds the questions about an instruction inside.
func (c *patternCompiler) inst(n *pattern.Pattern, s step) (err error) {
	if n.Same {
		return fmt.Errorf("%w: lowering does not compare types", pattern.ErrWrong)
	}
	s.do, s.only, s.any, s.typ, s.conds, s.choice = stepInst, n.Only, n.AnyType, n.Type, pattern.CondSet(n.Conds), len(n.Ops) > 1
	s.ops.Add(n.Ops...)
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
