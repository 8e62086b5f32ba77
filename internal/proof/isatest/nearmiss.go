package isatest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/instance"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/pattern"
	"github.com/waot-project/waot/clif/rewrite"
	"github.com/waot-project/waot/clif/verify"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/regalloc/linear"
)

// This file builds functions that match the pattern of a lowering rule in all but one place. Each is built twice from
// the same random numbers: first as an exact match, then with that one place changed.

// nearMiss is one place of a pattern, and how a function fails to match there.
type nearMiss struct {
	at  *pattern.Pattern
	how missKind
	op  clif.Opcode // of missOpcode
	k   int64       // of missConst
}

type missKind uint8

const (
	missPlain       missKind = iota // a parameter instead
	missOpcode                      // another opcode with operands of the same types
	missCond                        // a condition that is not listed
	missUsed                        // a second use of what only the instruction may use
	missUsedInFront                 // the same, in front of the instruction
	missExtended                    // an operation of 32 bits, zero-extended
	missSwapped                     // operands in the other order
	missConst                       // a constant that the word refuses, or another one than the literal
	missWord                        // a value that does not have the property
	missWidth                       // a load of another width
	missStore                       // a store between the load and the instruction
	missCall                        // a call between
	missLoad                        // another load between
	missBlock                       // the load in the block in front
)

var missNames = [...]string{"plain", "opcode", "condition", "used", "used in front", "extended", "swapped", "constant", "word", "width", "store", "call", "load", "block"}

func (m *nearMiss) String() string {
	s := missNames[m.how]
	switch m.how {
	case missOpcode:
		s += " " + m.op.String()
	case missConst:
		s += fmt.Sprint(" ", m.k)
	}
	return s
}

// nearMisses returns the near misses of a pattern of type t: those of its outer instruction, and those of the operands.
func nearMisses(p *pattern.Pattern, term backend.Term, t clif.Type, words map[string]ConstWord) (all []nearMiss) {
	if term == backend.TermOperand {
		return missesInside(p, t, words)
	}
	if p.Conds != nil {
		all = append(all, nearMiss{at: p, how: missCond})
	}
	if orderMatters(p) {
		all = append(all, nearMiss{at: p, how: missSwapped})
	}
	for k := range p.Args {
		of := t
		if format := p.Ops[0].Info().Format; k == 0 && (format == clif.FormatLoad || format == clif.FormatStore) {
			of = clif.I32 // an address
		}
		if !p.Ops[0].IsTerminator() { // decider makes the operand of a terminator
			all = append(all, missesInside(&p.Args[k], of, words)...)
		}
	}
	return all
}

// orderMatters reports whether a pattern distinguishes the order of the operands of a binary operation: one may be any
// value, and the other is neither any value nor a constant that may stand in either place.
func orderMatters(p *pattern.Pattern) bool {
	if len(p.Args) != 2 || p.Ops[0].Info().Format != clif.FormatBinary {
		return false
	}
	if sig := p.Ops[0].Info().Sig; sig[0] != sig[1] {
		return false // the operands have different types
	}
	anything := func(a *pattern.Pattern) bool { return a.Leaf == pattern.LeafValue && (a.Word == "" || a.Word == "var") }
	if anything(&p.Args[0]) == anything(&p.Args[1]) {
		return false
	}
	commutes := slices.ContainsFunc(p.Ops, func(op clif.Opcode) bool { return op.Info().Commutative })
	return !commutes || p.Ordered || !slices.ContainsFunc(p.Args, func(a pattern.Pattern) bool { return a.Leaf == pattern.LeafConst || a.Leaf == pattern.LeafLiteral })
}

// missesInside returns the near misses of an operand.
func missesInside(p *pattern.Pattern, t clif.Type, words map[string]ConstWord) (all []nearMiss) {
	add := func(hows ...missKind) {
		for _, how := range hows {
			all = append(all, nearMiss{at: p, how: how})
		}
	}
	if p.Type != clif.Invalid {
		t = p.Type
	}
	switch p.Leaf {
	case pattern.LeafValue:
		if p.Word != "" {
			add(missWord)
		}
		return all
	case pattern.LeafConst:
		add(missPlain)
		for _, k := range words[p.Word].Refuses[t] {
			all = append(all, nearMiss{at: p, how: missConst, k: k})
		}
		return all
	case pattern.LeafLiteral:
		add(missPlain)
		return append(all, nearMiss{at: p, how: missConst, k: p.Lit - 1}, nearMiss{at: p, how: missConst, k: p.Lit + 1})
	case pattern.LeafLoad:
		add(missPlain, missWidth, missUsed, missUsedInFront, missStore, missCall, missLoad, missBlock)
		return all
	}
	add(missPlain)
	if p.Only {
		add(missUsed, missUsedInFront)
	}
	if orderMatters(p) {
		add(missSwapped)
	}
	if p.Conds != nil {
		add(missCond)
	}
	if t == clif.I64 && p.Type == clif.Invalid && !p.AnyType && p.Ops[0].Info().Types.Has(clif.I32) {
		add(missExtended)
	}
	for op := clif.Opcode(0); op < clif.NumOpcodes; op++ {
		info, own := op.Info(), p.Ops[0].Info()
		if !slices.Contains(p.Ops, op) && !p.AnyType && op.IsPure() && info.Format == own.Format && info.Sig == own.Sig && info.Types.Has(t) && info.Format != clif.FormatIntCmp {
			all = append(all, nearMiss{at: p, how: missOpcode, op: op})
		}
	}
	for k := range p.Args {
		all = append(all, missesInside(&p.Args[k], t, words)...)
	}
	return all
}

// misses reports whether p is the place of the near miss, and how is its kind.
func (g *ruleBuilder) misses(p *pattern.Pattern, how missKind) bool {
	return g.miss != nil && g.miss.at == p && g.miss.how == how
}

// cond returns cc, or a condition that p does not list.
func (g *ruleBuilder) cond(p *pattern.Pattern, cc uint8) uint8 {
	if g.misses(p, missCond) {
		for cc = 0; slices.Contains(p.Conds, cc); cc++ {
		}
	}
	return cc
}

// nearly makes an operand that misses its pattern.
func (g *ruleBuilder) nearly(p *pattern.Pattern, t clif.Type) clif.Value {
	whole := t
	if g.miss.how == missExtended {
		t = clif.I32
	}
	v := g.like(p, t) // takes as many random numbers as without the miss
	switch g.miss.how {
	case missPlain, missWord:
		return g.refused(p, g.F.TypeOf(v))
	case missUsed:
		g.keep = append(g.keep, v)
	case missUsedInFront:
		op := clif.OpClz
		switch t := g.F.TypeOf(v); {
		case t.IsFloat():
			op = clif.OpFneg
		case t == clif.V128:
			op = clif.OpVnot
		}
		g.keep = append(g.keep, g.Unary(op, g.F.TypeOf(v), v))
	case missExtended:
		return g.Unary(clif.OpUextend, whole, v)
	case missConst:
		k := uint64(g.miss.k)
		if t == clif.I32 {
			k = uint64(uint32(k))
		}
		return g.Iconst(t, k)
	case missWidth:
		if t = g.F.TypeOf(v); t.IsFloat() {
			g.miss = nil // has no other width
			return v
		}
		if t == clif.V128 {
			return g.Load(t, clif.U32, 0, g.params[8], 0)
		}
		return g.Load(t, otherWidths[p.Word], 0, g.params[8], 0)
	case missStore:
		g.Store(clif.I32, clif.Full, 0, g.params[8], g.params[0], 24)
	case missCall:
		g.Call(0, nil)
	case missLoad:
		if _, d := g.definition(v); d.Op != clif.OpLoad {
			g.miss = nil // others pass loads
			return v
		}
		g.keep = append(g.keep, g.Load(clif.I64, clif.Full, 0, g.params[8], 24))
	case missBlock:
		b := g.NewBlock()
		g.Jump(g.Target(b, nil))
		g.SwitchTo(b)
	}
	return v
}

// otherWidths are accesses that the words of folded loads do not take.
var otherWidths = map[string]clif.Access{"": clif.U8, "1": clif.U16, "2": clif.U8, "4": clif.U16, "narrow": clif.S8}

// refused returns a value of type t that p does not accept: it is not p's constant, instruction or load, and does not have
// p's property.
func (g *ruleBuilder) refused(p *pattern.Pattern, t clif.Type) clif.Value {
	switch p.Word {
	case "var":
		return g.Iconst(t, 3)
	case "kept":
		return g.Unary(clif.OpPopcnt, t, g.params[2*slices.Index(scalars, t)])
	}
	if t == clif.V128 {
		return g.vectors[0]
	}
	return g.params[2*slices.Index(scalars, t)]
}

// testNearMisses: no lowering rule fires where its pattern fits but for one thing.
func testNearMisses(t *testing.T, on *Machine) {
	found := map[backend.Rule]int{}
	var rules *backend.Rules
	tried := map[missKind]int{}
	for _, level := range slices.Backward(on.Levels) { // most rules apply on the last
		target, err := on.Target(level)
		if err != nil {
			t.Fatal(err)
		}
		rules = target.Rules
		s := newRuleSuite(on)
		s.Fn(nil, nil, func(b *clif.Builder, _ []clif.Value) { b.Return(nil) }) // to be called
		compiler := backend.New(target, instance.New(&s.Module.Module), &s.Module.Module, backend.Options{Allocator: linear.New(), SkipChecker: true})
		for r := range backend.Rule(len(rules.Rows)) {
			if needHeap[rules.Rows[r].Name] || found[r] > 0 && !testenv.Full() {
				continue
			}
			pattern, err := pattern.Parse(rules.Rows[r].Pattern, clif.OpcodesByName())
			if err != nil {
				t.Fatal(err)
			}
			found[r] += s.missesOf(t, compiler, rules, r, &pattern, tried)
		}
	}
	for r, row := range rules.Rows {
		if found[backend.Rule(r)] == 0 && !needHeap[row.Name] {
			t.Errorf("%s: no function is found in which it is applied once", row.Name)
		}
	}
	for how, name := range missNames {
		if tried[missKind(how)] == 0 {
			t.Errorf("no near miss of the kind %s", name)
		}
		t.Logf("%s: %d", name, tried[missKind(how)])
	}
}

// missesOf tries the near misses of a rule, and counts them by kind in tried. It returns the number of functions that they
// were made from.
func (s *suite) missesOf(t *testing.T, compiler *backend.Compiler, rules *backend.Rules, r backend.Rule, p *pattern.Pattern, tried map[missKind]int) (hits int) {
	row, exact := &rules.Rows[r], p.Ops != nil
	others, enough := othersOf(rules, r), testenv.Cases(1, 2, 8)
	for seed := uint64(0); seed < triesOfRule && hits < enough; seed++ {
		n, hit, text := s.tryRule(t, compiler, rules, r, others, p, seed, exact, nil)
		if n != 1 {
			continue
		}
		hits++
		for _, miss := range nearMisses(p, row.Term, hit.t, constWords) {
			n, g, missed := s.tryRule(t, compiler, rules, r, others, p, seed, exact, &miss)
			if g.miss == nil {
				continue
			}
			tried[miss.how]++
			if n != 0 {
				t.Errorf("%s, %s, is applied, though one thing is otherwise: %v\nas it is:\n%v\notherwise:\n%v", row.Name, row.Pattern, &miss, text, missed)
			}
		}
	}
	return hits
}

// tryRule compiles a function of a rule without the others, and returns how often the rule is applied, what built the function and, if it is applied,
// the function's text. The miss has gone if it cannot be.
func (s *suite) tryRule(t *testing.T, compiler *backend.Compiler, rules *backend.Rules, r backend.Rule, others map[string]bool, p *pattern.Pattern, seed uint64, exact bool, miss *nearMiss) (n int, g *ruleBuilder, text string) {
	row := &rules.Rows[r]
	s.Fn(ruleParams, ruleResults, func(b *clif.Builder, params []clif.Value) {
		g = &ruleBuilder{builder: builder{b}, rng: rand.New(rand.NewPCG(uint64(r), seed)), params: params, row: row, term: row.Term, exact: exact, near: true, miss: miss}
		g.function(p)
	})
	defer s.drop()
	if err := verify.Func(g.F); err != nil {
		t.Fatalf("%s, %v: %v\n%v", row.Name, miss, err, g.F)
	}
	ctl := &rewrite.Control{Limit: -1, Off: others}
	compiler.Control = ctl
	if _, err := compiler.Compile(g.F); err != nil {
		t.Fatalf("%s, %v: %v\n%v", row.Name, miss, err, g.F)
	}
	for i := range ctl.Log {
		if ctl.Log[i].Rule == rules.Info(r) {
			n++
		}
	}
	if n != 0 {
		text = g.F.String()
	}
	return n, g, text
}
