package backend

import (
	"fmt"
	"maps"

	"github.com/waot-project/waot/clif"
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
	RuleElementConst
	RuleTableChain
	RuleTableFirst
	FirstOwn
)

// sharedRules are the rows of the rules that all machines share.
var sharedRules = [FirstOwn]RuleDef{
	RuleLowReduce: {Name: "low_ireduce", Term: TermOperand, Pattern: "(ireduce.any x)",
		Gives: "x", Why: "who reads the low half reads it in the wide register"},
	RuleNarrowExtend: {Name: "narrow_extend", Term: TermOperand, Pattern: "(ireduce|sextend.any x)", When: "low-half",
		Gives: "x", Why: "a store of at most four bytes takes them from the wide or the narrow register"},
	RuleNarrowSext16: {Name: "narrow_sext16", Term: TermOperand, Pattern: "(sext16.any x)", When: "two-bytes",
		Gives: "x", Why: "a store of two bytes takes no others"},
	RuleNarrowSext8: {Name: "narrow_sext8", Term: TermOperand, Pattern: "(sext8.any x)", When: "one-byte",
		Gives: "x", Why: "a store of one byte takes no others"},
	RuleNarrowMask: {Name: "narrow_mask", Term: TermOperand, Pattern: "(band.any! x k)", When: "mask-covers",
		Gives: "x", Why: "the mask keeps all bytes that the store takes"},
	RuleCondEqz: {Name: "cond_eqz", Term: TermOperand, Pattern: "(icmp:eq|ne.i32 x 0)",
		Gives: "the condition x, inverted for eq", Why: "the inverse condition costs nothing"},
	RuleCondCompare: {Name: "cond_cmp", Term: TermOperand, Pattern: "(icmp|fcmp|ref_is_null.any x)",
		Gives: "the flags of the comparison", Why: "no 0 or 1 is made only to be tested"},
	RuleElementConst: {Name: "element_const", Term: TermOperand, Pattern: "x:index",
		Gives: "[base+8k]", Why: "the displacement takes the index"},
	RuleTableChain: {Name: "br_table_chain", Term: TermInst, Pattern: "(br_table x)", When: "few-entries", Lower: lowerChain,
		Gives: "a chain of comparisons", Why: "few of them are faster than an indirect jump"},
	RuleTableFirst: {Name: "br_table_first", Term: TermInst, Pattern: "(br_table x)", When: "rare-entries", Lower: lowerTableFirst,
		Gives: "a comparison, then the table", Why: "most times the first entry is taken: no load and no indirect jump"},
}

// Term is the place where rules are tried. Each term has its own order of rules.
type Term uint8

// The terms that all machines have; a machine may add its own from FirstOwnTerm on.
const (
	// TermInst: the instruction being lowered. The rule appends what takes its place.
	TermInst Term = iota
	// TermOperand: a value that an instruction reads, when its user asks for this one rule; see Lower.Fold.
	TermOperand
	FirstOwnTerm
	maxTerms = FirstOwnTerm + 6
)

// RuleDef is a row of a table of lowering rules. Of the rows of a term that fit, the first one is applied.
type RuleDef struct {
	// Name is unique among those of the machine and those of the mid-end.
	Name string
	Term Term
	// Pattern is what the rule matches, in the language that pattern.go describes.
	Pattern string
	// When names the further conditions, with blanks between: functions of the machine.
	When string
	// Gives is what becomes of it, Why the gain.
	Gives, Why string
	// Lower appends it. Nil in TermOperand: the user does.
	Lower func(l *Lower, m *Match)
}

// Rules is a machine's table of lowering rules, ready for use.
type Rules struct {
	Rows []RuleDef
	// Words are all words that patterns may use: the machine's own and the shared ones.
	Words Vocabulary
	// infos describe the rows to Control.
	infos    []rewrite.Info
	programs []program
	// byOp has the rules of each term by opcode of the instruction, in order.
	byOp [maxTerms][clif.NumOpcodes]*candidates
}

// candidates are the rules of a term for an opcode, in order, at most 32. needs is indexed by the operand's number and the
// opcode that defines the operand. It has a bit for each rule that this opcode does not rule out.
type candidates struct {
	rules []Rule
	needs [2][clif.NumOpcodes + 1]uint32
	// always has a bit for each rule that no opcode of the operand rules out. NewRules adds them to needs.
	always [2]uint32
}

// add adds rule n.
func (c *candidates) add(n Rule, p *program) *candidates {
	if c == nil {
		c = &candidates{}
	}
	bit := uint32(1) << len(c.rules)
	for k := range c.needs {
		if p.needs[k] == anyOp {
			c.always[k] |= bit
			continue
		}
		for op := range p.needs[k].all {
			c.needs[k][op] |= bit
		}
	}
	if c.rules = append(c.rules, n); len(c.rules) > 32 {
		panic("too many lowering rules of an opcode")
	}
	return c
}

// close completes c, which has all its rules.
func (c *candidates) close() {
	for k := range c.needs {
		for op := range c.needs[k] {
			c.needs[k][op] |= c.always[k]
		}
	}
}

// Vocabulary holds the words that the patterns of a machine may use.
type Vocabulary struct {
	// Consts are the predicates of constants of type t, sign-extended.
	Consts map[string]func(t clif.Type, k int64) bool
	// Values are the predicates of other operands.
	Values map[string]func(l *Lower, v clif.Value) bool
	// Guards are the conditions that RuleDef.When names.
	Guards map[string]func(l *Lower, m *Match) bool
	// Loads are the opcodes that may be folded into an operand in brackets.
	Loads []clif.Opcode
}

// NewRules returns the table of a machine with the given rows, from FirstOwn on. It panics if a pattern is wrong.
func NewRules(own []RuleDef, words *Vocabulary) *Rules {
	r := &Rules{Rows: append(sharedRules[:FirstOwn:FirstOwn], own[FirstOwn:]...)}
	r.infos, r.programs = make([]rewrite.Info, len(r.Rows)), make([]program, len(r.Rows))
	r.Words = Vocabulary{union(sharedConsts, words.Consts), union(sharedValues, words.Values), union(sharedGuards, words.Guards), words.Loads}
	c := newPatternCompiler(&r.Words)
	for n := range r.Rows {
		row := &r.Rows[n]
		what := row.Pattern
		if row.When != "" {
			what += " when " + row.When
		}
		r.infos[n] = rewrite.Info{Name: row.Name, Pass: rewrite.LowerPass, What: what + " => " + row.Gives}
		p, err := c.compile(row)
		if err != nil {
			panic(fmt.Sprintf("lowering rule %s: %v", row.Name, err))
		}
		r.programs[n] = p
		if row.Term == TermOperand {
			continue
		}
		for op := range p.root.all {
			r.byOp[row.Term][op] = r.byOp[row.Term][op].add(Rule(n), &r.programs[n])
		}
	}
	for t := range r.byOp {
		for _, c := range r.byOp[t] {
			if c != nil {
				c.close()
			}
		}
	}
	return r
}

// union has the words of both.
func union[F any](shared, own map[string]F) map[string]F {
	all := maps.Clone(shared)
	maps.Copy(all, own)
	return all
}

// Info describes rule n.
func (r *Rules) Info(n Rule) *rewrite.Info { return &r.infos[n] }

// sharedConsts, sharedValues and sharedGuards are the words that all machines have.
var (
	sharedConsts = map[string]func(t clif.Type, k int64) bool{
		"nonzero": func(_ clif.Type, k int64) bool { return k != 0 },
	}
	sharedValues = map[string]func(l *Lower, v clif.Value) bool{
		// index: a constant that the displacement takes as the number of a word.
		"index": func(l *Lower, v clif.Value) bool {
			c, ok := l.Iconst(v)
			return ok && c <= uint64(l.Target.MaxDisp>>3)
		},
	}
	sharedGuards = map[string]func(l *Lower, m *Match) bool{
		"low-half":     func(_ *Lower, m *Match) bool { return m.Bytes <= 4 },
		"two-bytes":    func(_ *Lower, m *Match) bool { return m.Bytes <= 2 },
		"one-byte":     func(_ *Lower, m *Match) bool { return m.Bytes == 1 },
		"mask-covers":  func(_ *Lower, m *Match) bool { mask := int64(1)<<(8*m.Bytes) - 1; return m.K&mask == mask },
		"few-entries":  func(l *Lower, m *Match) bool { return m.D.C-1 <= MaxChain && l.NumSuccs() > 1 },
		"rare-entries": func(l *Lower, m *Match) bool { return m.D.Cond == clif.TableRare && l.NumSuccs() > 1 },
	}
)
