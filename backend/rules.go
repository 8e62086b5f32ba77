package backend

import (
	"fmt"
	"maps"
	"sync"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/resumable"
	"github.com/waot-project/waot/clif/rewrite"
)

// Rule is the number of a lowering rule: its row in Rules.Rows. The rules that all machines share come first, a machine's own
// from FirstOwn on.
type Rule uint8

// The rules that all machines share.
const (
	RuleLowReduce Rule = iota
	RuleNarrowExtend
	RuleNarrowSext16
	RuleNarrowSext8
	RuleNarrowMask
	RuleCondEqz
	RuleCondCompare
	RuleCondFull
	RuleElementConst
	RuleTableChain
	RuleTableFirst
	FirstOwn
)

// sharedRules are the rows of the rules that all machines share.
var sharedRules = [FirstOwn]RuleDef{
	RuleLowReduce: {Name: "low-ireduce", Term: TermOperand, Pattern: "(ireduce.any x)",
		Gives: "x", Why: "who reads the low half reads it in the wide register"},
	RuleNarrowExtend: {Name: "narrow-extend", Term: TermOperand, Pattern: "(ireduce|sextend.any x)", When: "low-half",
		Gives: "x", Why: "a store of at most four bytes takes them from the wide or the narrow register"},
	RuleNarrowSext16: {Name: "narrow-sext16", Term: TermOperand, Pattern: "(sext16.any x)", When: "two-bytes",
		Gives: "x", Why: "a store of two bytes takes no others"},
	RuleNarrowSext8: {Name: "narrow-sext8", Term: TermOperand, Pattern: "(sext8.any x)", When: "one-byte",
		Gives: "x", Why: "a store of one byte takes no others"},
	RuleNarrowMask: {Name: "narrow-mask", Term: TermOperand, Pattern: "(band.any! x k)", When: "mask-covers",
		Gives: "x", Why: "the mask keeps all bytes that the store takes"},
	RuleCondEqz: {Name: "cond-eqz", Term: TermOperand, Pattern: "(icmp:eq|ne.i32 x 0)",
		Gives: "the condition x, inverted for eq", Why: "the inverse condition costs nothing"},
	RuleCondCompare: {Name: "cond-cmp", Term: TermOperand, Pattern: "(icmp|fcmp|ref_is_null|ref_eq|ref_test.any x)",
		Gives: "the flags of the comparison", Why: "no 0 or 1 is made only to be tested"},
	RuleCondFull: {Name: "cond-full", Term: TermOperand, Pattern: "(heap_full.any x)",
		Gives: "the flags of the comparison", Why: "as for other comparisons"},
	RuleElementConst: {Name: "element-const", Term: TermOperand, Pattern: "x:index",
		Gives: "[base+8k]", Why: "the displacement takes the index"},
	RuleTableChain: {Name: "br-table-chain", Term: TermInst, Pattern: "(br_table x)", When: "few-entries", Lower: lowerChain,
		Gives: "a chain of comparisons", Why: "few of them are faster than an indirect jump"},
	RuleTableFirst: {Name: "br-table-first", Term: TermInst, Pattern: "(br_table x)", When: "rare-entries", Lower: lowerTableFirst,
		Gives: "a comparison, then the table", Why: "most times the first entry is taken: no load and no indirect jump"},
}

// Term is the place where rules are tried. Each term has its own order of rules.
type Term uint8

// The terms that all machines have; a machine may add its own from FirstOwnTerm on.
const (
	// TermInst: the instruction being lowered. The rule appends what takes its place.
	TermInst Term = iota
	// TermOperand: a value that an instruction reads, when its user asks for this one rule; see Emit.Fold.
	TermOperand
	FirstOwnTerm
	maxTerms = FirstOwnTerm + 6
)

// RuleDef is a row of a table of lowering rules. Of the rows of a term that fit, the first one is applied.
type RuleDef struct {
	// Name is unique among those of the machine and those of the mid-end.
	Name string
	Term Term
	// Pattern is what the rule matches, in the language that package pattern describes.
	Pattern string
	// When names the further conditions, with blanks between: functions of the machine.
	When string
	// Gives is the code that replaces it, and Why the gain.
	Gives, Why string
	// Lower appends it. Nil in TermOperand: the user does.
	Lower func(l *Emit, m *Match)
}

// Rules is a machine's table of lowering rules, ready for use.
type Rules struct {
	Rows []RuleDef
	// Words are all words that patterns may use: the machine's own and the shared ones.
	Words Vocabulary
	// infos returns what describes the rows to Control.
	infos    func() []rewrite.Info
	programs []program
	// byOp has the rules of each term by opcode of the instruction, in order.
	byOp [maxTerms][clif.NumOpcodes]*candidates
	// class tells the opcodes apart that patterns name for operands; 0 is all others. Most are, so tables by class are small.
	class [clif.NumOpcodes + 1]uint8
}

// maxClasses is the most classes of opcodes that a machine has, with 0.
const maxClasses = 64

// candidates are the rules of a term for an opcode, in order, at most 32. needs is indexed by the operand's number and the
// class of the opcode that defines the operand. It has a bit for each rule that this opcode does not rule out.
type candidates struct {
	rules [32]Rule
	num   uint8
	needs [2][maxClasses]uint32
}

// add adds rule n to those for op.
func (r *Rules) add(op clif.Opcode, n Rule) {
	c := r.byOp[r.Rows[n].Term][op]
	if c == nil {
		c = &candidates{}
		r.byOp[r.Rows[n].Term][op] = c
	}
	if int(c.num) == len(c.rules) {
		panic("too many lowering rules of an opcode")
	}
	bit := uint32(1) << c.num
	for k := range c.needs {
		if needs := &r.programs[n].needs[k]; *needs == anyOp {
			for class := range c.needs[k] {
				c.needs[k][class] |= bit
			}
		} else {
			for op := range needs.All {
				c.needs[k][r.class[op]] |= bit
			}
		}
	}
	c.rules[c.num] = n
	c.num++
}

// classify gives each opcode that a pattern names for an operand a class of its own.
func (r *Rules) classify() {
	last := uint8(0)
	for n := range r.programs {
		for k := range r.programs[n].needs {
			needs := &r.programs[n].needs[k]
			if *needs == anyOp {
				continue
			}
			for op := range needs.All {
				if r.class[op] == 0 {
					last++
					r.class[op] = last
				}
			}
		}
	}
	if last >= maxClasses {
		panic("lowering rules name too many opcodes of operands")
	}
}

// Vocabulary holds the words that the patterns of a machine may use.
type Vocabulary struct {
	// Consts are the predicates of constants of type t, sign-extended.
	Consts map[string]func(t clif.Type, k int64) bool
	// Values are the predicates of other operands.
	Values map[string]func(q *Query, v clif.Value) bool
	// Guards are the conditions that RuleDef.When names.
	Guards map[string]func(q *Query, m *Match) bool
	// Loads are the opcodes that may be folded into an operand in brackets.
	Loads []clif.Opcode
}

// NewRules returns the table of a machine with the given rows, from FirstOwn on. It panics if a pattern is wrong.
func NewRules(own []RuleDef, words *Vocabulary) *Rules {
	r := &Rules{Rows: append(sharedRules[:FirstOwn:FirstOwn], own[FirstOwn:]...)}
	r.infos, r.programs = sync.OnceValue(r.describe), make([]program, len(r.Rows))
	r.Words = Vocabulary{union(sharedConsts, words.Consts), union(sharedValues, words.Values), union(sharedGuards, words.Guards), words.Loads}
	c := newPatternCompiler(&r.Words)
	for n := range r.Rows {
		if r.Rows[n].Name == "" {
			panic(fmt.Sprintf("lowering rule %d has a constant and no row; the one in front is %s", n, r.Rows[max(n-1, 0)].Name))
		}
		p, err := c.compile(&r.Rows[n])
		if err != nil {
			panic(fmt.Sprintf("lowering rule %s: %v", r.Rows[n].Name, err))
		}
		r.programs[n] = p
	}
	r.classify()
	for n := range r.Rows {
		if r.Rows[n].Term == TermOperand {
			continue
		}
		for op := range r.programs[n].root.All {
			r.add(op, Rule(n))
		}
	}
	return r
}

// describe returns the descriptions of the rows.
func (r *Rules) describe() []rewrite.Info {
	infos := make([]rewrite.Info, len(r.Rows))
	for n := range r.Rows {
		row := &r.Rows[n]
		what := row.Pattern
		if row.When != "" {
			what += " when " + row.When
		}
		infos[n] = rewrite.Info{Name: row.Name, Pass: rewrite.LowerPass, What: what + " => " + row.Gives}
	}
	return infos
}

// union has the words of both.
func union[F any](shared, own map[string]F) map[string]F {
	all := maps.Clone(shared)
	maps.Copy(all, own)
	return all
}

// Info describes rule n.
func (r *Rules) Info(n Rule) *rewrite.Info { return &r.infos()[n] }

// sharedConsts, sharedValues and sharedGuards are the words that all machines have.
var (
	sharedConsts = map[string]func(t clif.Type, k int64) bool{
		"nonzero": func(_ clif.Type, k int64) bool { return k != 0 },
	}
	sharedValues = map[string]func(q *Query, v clif.Value) bool{
		// index: a constant that the displacement takes as the number of a word.
		"index": func(q *Query, v clif.Value) bool {
			c, ok := q.Iconst(v)
			return ok && c <= uint64(q.Target.MaxDisp>>3)
		},
	}
	sharedGuards = map[string]func(q *Query, m *Match) bool{
		"low-half":     func(_ *Query, m *Match) bool { return m.Bytes <= 4 },
		"two-bytes":    func(_ *Query, m *Match) bool { return m.Bytes <= 2 },
		"one-byte":     func(_ *Query, m *Match) bool { return m.Bytes == 1 },
		"mask-covers":  func(_ *Query, m *Match) bool { mask := int64(1)<<(8*m.Bytes) - 1; return m.K&mask == mask },
		"few-entries":  func(q *Query, m *Match) bool { return m.D.Args[2]-1 <= MaxChain && q.NumSuccs() > 1 },
		"rare-entries": func(q *Query, m *Match) bool { return resumable.IsTable(m.D) && q.NumSuccs() > 1 },
	}
)
