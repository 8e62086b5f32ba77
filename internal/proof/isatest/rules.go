package isatest

import (
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/instance"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/pattern"
	"github.com/waot-project/waot/clif/rewrite"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/regalloc/linear"
)

// This file builds functions from the patterns of lowering rules and executes them.

// triesOfRule is the most functions that are built for a rule.
const triesOfRule = 6000

// testRules executes each lowering rule: functions are built at random from its pattern, compiled with no rule but it, with all
// but it, with all and with none, and compared with the interpreter. Where a pattern allows several opcodes, there are
// functions of each. A rule counts as executed if a function in which it alone was applied has been called: such a function
// is one block, or branches in its last instruction.
func testRules(t *testing.T, on *Machine) {
	target, err := on.Target(on.Levels[0])
	if err != nil {
		t.Fatal(err)
	}
	all := variantsOf(t, target.Rules)
	executed := make([]int, len(all))
	for _, level := range on.Levels {
		if target, err = on.Target(level); err != nil {
			t.Fatal(err)
		}
		s := newRuleSuite(on)
		of := map[clif.FuncIndex]int{}
		compiler := backend.New(target, instance.New(&s.Module.Module), &s.Module.Module, backend.Options{Allocator: linear.New(), SkipChecker: true})
		for first := 0; first < len(all); {
			end := first + 1
			for end < len(all) && all[end].rule == all[first].rule {
				end++
			}
			s.functionsOf(t, compiler, target.Rules, all, first, end, of)
			first = end
		}
		for _, f := range s.Defined[1:] {
			what := fmt.Sprintf("%v of %v", &all[of[f.Index]], f)
			for range testenv.Cases(4, 4, 8) {
				s.call(f.Index, what, randomArgs(s.rng)...)
			}
		}
		s.AddInit()
		for _, how := range []string{"alone", "without", "all", "none"} {
			t.Run(level+"/"+how, func(t *testing.T) {
				logs := map[clif.FuncIndex]*rewrite.Control{}
				compiled := *on
				compiled.Options.Jobs = 1
				compiled.Options.Control = func(i clif.FuncIndex) *rewrite.Control {
					logs[i] = controlFor(how, target.Rules, all[of[i]].rule)
					return logs[i]
				}
				s.on = &compiled
				im, in := s.start(t, level)
				if im == nil {
					return
				}
				defer im.Close()
				defer in.Close()
				s.compare(t, level, in)
				for fn, n := range of {
					if how == "alone" && all[n].applied(logs[fn], target.Rules) {
						executed[n]++
					}
				}
			})
		}
	}
	total := 0
	for n := range all {
		v := &all[n]
		if executed[n] == 0 {
			t.Errorf("rule %d, %v, is not executed: %s", v.rule, v, v.row.Pattern)
		}
		total += executed[n]
	}
	t.Logf("%d rules and opcodes executed, each alone in a function: %d functions; %d rules need a heap", len(all), total, len(needHeap))
}

// newRuleSuite returns a suite with everything that the functions of rules use.
func newRuleSuite(on *Machine) *suite {
	s := newSuite(on)
	s.Globals = []clif.GlobalDecl{{Type: clif.I32, Mutable: true, Init: 77}, {Type: clif.I64, Mutable: true, Init: 1 << 40},
		{Type: clif.F32, Mutable: true, Init: 0x40000000}, {Type: clif.F64, Mutable: true, Init: 0x4008 << 48}}
	s.Tables = []clif.TableDecl{{Elem: clif.FuncRef, Min: 10, Max: 40, HasMax: true}}
	s.Fn(nil, nil, func(b *clif.Builder, _ []clif.Value) { b.Return(nil) }) // to be put into the table
	return s
}

// needHeap are the rules about objects, which the instances of this package cannot make: spectest/nativeengine TestHeap executes their code, without and with all rules.
var needHeap = map[string]bool{"cond-full": true}

// partners are the rules that another rule needs before it can apply.
var partners = map[string][]string{
	"branch-sign":     {"cond-cmp"},
	"branch-bit":      {"cond-cmp", "test-imm"},
	"ccmp-imm":        {"compare-two-value"},
	"heap-share-zero": {"heap-share", "heap-sum"},
}

// controlFor says which rules apply in a function of rule r.
func controlFor(how string, rules *backend.Rules, r backend.Rule) *rewrite.Control {
	ctl := &rewrite.Control{Limit: -1, Trace: true}
	switch how {
	case "alone":
		ctl.Off = othersOf(rules, r)
	case "without":
		ctl.Off = map[string]bool{rules.Rows[r].Name: true}
	case "none":
		ctl.Limit = 0
	}
	return ctl
}

// othersOf returns the names of all rules but r and its partners.
func othersOf(rules *backend.Rules, r backend.Rule) map[string]bool {
	others := make(map[string]bool, len(rules.Rows))
	for n := range rules.Rows {
		name := rules.Rows[n].Name
		others[name] = backend.Rule(n) != r && !slices.Contains(partners[rules.Rows[r].Name], name)
	}
	return others
}

// ruleParams are the parameters of the functions: two of each type, and addresses.
var ruleParams = []clif.Type{clif.I32, clif.I32, clif.I64, clif.I64, clif.F32, clif.F32, clif.F64, clif.F64, clif.I32}

func randomArgs(r *rand.Rand) (args []uint64) {
	for _, t := range ruleParams[:8] {
		args = append(args, corners[t][r.IntN(len(corners[t]))])
	}
	return append(args, uint64(r.IntN(30)*8))
}

// functionsOf adds functions in which a rule is applied, all of its variants in turn, and some similar ones in which it is not.
// The variants are those from first on, before end, of all. The number of each function's variant is put into of.
func (s *suite) functionsOf(t *testing.T, compiler *backend.Compiler, rules *backend.Rules, all []variant, first, end int, of map[clif.FuncIndex]int) {
	r := all[first].rule
	// By name: a new rule changes nothing for those behind it.
	s.rng = rand.New(rand.NewPCG(uint64(crc32.ChecksumIEEE([]byte(rules.Rows[r].Name))), 7))
	// How many functions of a variant are executed that it fits, and how many of the rule that it does not.
	hits, misses := max(testenv.Cases(1, 1, 2), testenv.Cases(2, 2, 6)/(end-first)), testenv.Cases(1, 2, 4)
	others := othersOf(rules, r)
	var wanted []int // the variants of the functions that are missing
	for n := first; n < end; n++ {
		wanted = append(wanted, slices.Repeat([]int{n}, hits)...)
	}
	for n := 0; n < 4*triesOfRule && len(wanted) > 0; n++ { // some patterns want masks that fit each other
		k := n % len(wanted)
		v := &all[wanted[k]]
		g := &ruleBuilder{rng: s.rng, row: v.row, term: v.row.Term, variant: v}
		fn := s.Fn(ruleParams, ruleResults, func(b *clif.Builder, p []clif.Value) {
			g.builder, g.params = builder{b}, p
			g.function(v.pattern)
		})
		f := s.Defined[len(s.Defined)-1]
		ctl := &rewrite.Control{Limit: -1, Off: others, Trace: true}
		compiler.Control = ctl
		if _, err := compiler.Compile(f); err != nil {
			t.Fatalf("%v: %v\n%v", v, err, f)
		}
		fits := !g.other && v.applied(ctl, rules)
		if !fits && (misses == 0 || g.other) {
			s.drop()
			continue
		}
		of[fn] = wanted[k]
		if fits {
			wanted = slices.Delete(wanted, k, k+1)
		} else {
			misses--
		}
	}
}

// ruleResults are the results of the functions: one of each type, so that values can have further uses.
var ruleResults = []clif.Type{clif.I32, clif.I64, clif.F32, clif.F64}

// drop removes the last function.
func (m *Module) drop() {
	m.Sigs, m.Funcs, m.Defined = m.Sigs[:len(m.Sigs)-1], m.Funcs[:len(m.Funcs)-1], m.Defined[:len(m.Defined)-1]
}

// ruleBuilder builds one function from a pattern.
type ruleBuilder struct {
	builder
	rng    *rand.Rand
	params []clif.Value
	row    *backend.RuleDef
	term   backend.Term
	t      clif.Type // of the whole
	named  map[string]clif.Value
	keep   []clif.Value // to be used once more
	// vectors are for rules about them.
	vectors [4]clif.Value
	stored  clif.Value // the address of a store, or NoValue
	access  clif.Access
	// loop is the block that the function seems to repeat, or NoBlock.
	loop clif.Block
	// Constants of one function fit together: a field of width bits from at on, of n.
	at, width int
	// exact makes constants and further uses only where the pattern has them. miss is the place that must not match the
	// pattern; nil for none.
	exact bool
	// near: the function is one of a pair, of which one has a near miss. noConsts: no further value is a constant, which an operand
	// rule could be applied to as well.
	near, noConsts bool
	miss           *nearMiss
	// variant says which opcode a place of the pattern has, nil that it is any. other says that the place had another type, and
	// so another opcode.
	variant *variant
	other   bool
}

var scalars = []clif.Type{clif.I32, clif.I64, clif.F32, clif.F64}

func pickOne[T any](r *rand.Rand, xs ...T) T { return xs[r.IntN(len(xs))] }

// function fills the function.
func (g *ruleBuilder) function(p *pattern.Pattern) {
	g.named, g.stored, g.loop = map[string]clif.Value{}, clif.NoValue, clif.NoBlock
	if strings.Contains(g.row.When, "no-loop") && !g.exact && g.rng.IntN(4) == 0 {
		g.loop = g.NewBlock()
		g.Jump(g.Target(g.loop, nil))
		g.SwitchTo(g.loop)
	}
	g.t = pickOne(g.rng, clif.I32, clif.I64)
	if p.Leaf == pattern.LeafValue && strings.HasPrefix(p.Word, "float") {
		g.t = pickOne(g.rng, clif.F32, clif.F64)
	}
	switch {
	case p.AnyType:
		g.t = g.typeFor(p.Ops[0], g.t) // inst chooses that of the place
	case p.Ops != nil:
		g.t = g.typeFor(g.opcodes(p)[0], g.t)
	}
	if p.Type != clif.Invalid {
		g.t = p.Type
	}
	if hasVectors(p) {
		g.makeVectors()
		switch {
		case g.row.Term == backend.TermOperand && p.Ops == nil:
			g.t = clif.V128
		case hasLanes(p):
			g.t = pickOne(g.rng, scalars...)
		}
	}
	g.width = 1 + g.rng.IntN(20)
	g.at = pickOne(g.rng, 0, 1, 8, g.rng.IntN(64), g.t.Bits()-g.width)
	if g.row.Term == backend.TermOperand {
		v := g.value(p, g.t)
		g.noConsts = g.near
		g.context(v)
		return
	}
	g.root(p)
}

// root makes the outer instruction of a pattern.
func (g *ruleBuilder) root(p *pattern.Pattern) {
	op := g.opcode(p, g.t)
	info := op.Info()
	if onVectors(op) {
		g.finish(g.vectorInst(p, op, g.t))
		return
	}
	switch op {
	case clif.OpIcmp, clif.OpFcmp:
		x, y := g.args2(p, g.t)
		cc := uint8(g.rng.IntN(int(clif.NumFloatCCs)))
		if op == clif.OpIcmp {
			cc = uint8(g.rng.IntN(int(clif.NumIntCCs)))
		}
		if p.Conds != nil {
			cc = pickOne(g.rng, p.Conds...)
		}
		cc = g.cond(p, cc)
		if op == clif.OpIcmp {
			g.condition(g.Icmp(clif.IntCC(cc), g.t, x, y))
		} else {
			g.condition(g.Fcmp(clif.FloatCC(cc), g.t, x, y))
		}
	case clif.OpBranch:
		g.branch(g.decider())
	case clif.OpBrTable:
		g.table(g.intValue(clif.I32))
	case clif.OpBound:
		x, y := g.args2(p, clif.I64)
		g.finish(g.Bound(x, y, abi.TrapIntegerOverflow))
	case clif.OpLoad, clif.OpStore:
		g.memory(p, op)
	default:
		if info.Format == clif.FormatUnary {
			g.finish(g.Unary(op, g.t, g.value(&p.Args[0], g.operandType(op, g.t))))
			return
		}
		x, y := g.args2(p, g.t)
		if strings.Contains(g.row.When, "other-half") && (g.exact || g.rng.IntN(8) != 0) {
			g.keep = append(g.keep, g.Binary(otherHalf(op, g.rng), g.t, y, x))
		}
		if g.misses(p, missSwapped) {
			x, y = y, x
		}
		g.finish(g.Binary(op, g.t, x, y))
	}
}

// otherHalf returns an opcode for the other half of a product.
func otherHalf(op clif.Opcode, rng *rand.Rand) clif.Opcode {
	if op == clif.OpImul {
		return pickOne(rng, clif.OpUmulhi, clif.OpSmulhi)
	}
	return clif.OpImul
}

// opcodes returns the opcodes that the place p of the pattern may have.
func (g *ruleBuilder) opcodes(p *pattern.Pattern) []clif.Opcode {
	if g.variant != nil && g.variant.at == p {
		return []clif.Opcode{g.variant.op}
	}
	return p.Ops
}

// opcode returns an opcode of the pattern that has the type t, if there is one.
func (g *ruleBuilder) opcode(p *pattern.Pattern, t clif.Type) clif.Opcode {
	var ops []clif.Opcode
	for _, op := range p.Ops {
		if op.Info().Types.Has(t) {
			ops = append(ops, op)
		}
	}
	if ops == nil {
		ops = p.Ops
	}
	if wanted := g.opcodes(p); len(wanted) < len(p.Ops) {
		if slices.Contains(ops, wanted[0]) {
			return wanted[0]
		}
		g.other = true
	}
	return pickOne(g.rng, ops...)
}

// operandType returns the type of the operand of a unary operation of type t.
func (g *ruleBuilder) operandType(op clif.Opcode, t clif.Type) clif.Type {
	switch op.Info().Sig[0] {
	case 'i':
		return clif.I32
	case 'l':
		return clif.I64
	case 'n':
		return pickOne(g.rng, clif.I32, clif.I64)
	case 'f':
		return pickOne(g.rng, clif.F32, clif.F64)
	case 's':
		return map[clif.Type]clif.Type{clif.F32: clif.F64, clif.F64: clif.F32}[t]
	case 'b':
		return map[clif.Type]clif.Type{clif.F32: clif.I32, clif.F64: clif.I64, clif.I32: clif.F32, clif.I64: clif.F64}[t]
	}
	return t
}

// args2 makes two operands of type t; an operand that the pattern does not mention is any value.
func (g *ruleBuilder) args2(p *pattern.Pattern, t clif.Type) (x, y clif.Value) {
	x = g.value(&p.Args[0], t)
	if len(p.Args) < 2 {
		return x, g.leaf(t)
	}
	return x, g.value(&p.Args[1], t)
}

// value makes what a pattern describes, of type t, or something like it, or the near miss.
func (g *ruleBuilder) value(p *pattern.Pattern, t clif.Type) clif.Value {
	if g.miss == nil || g.miss.at != p {
		return g.like(p, t)
	}
	return g.nearly(p, t)
}

// like makes what a pattern describes, of type t, or something like it.
func (g *ruleBuilder) like(p *pattern.Pattern, t clif.Type) clif.Value {
	if p.Type != clif.Invalid {
		t = p.Type
	}
	if p.Ops != nil {
		v := g.inst(p, t)
		if t == clif.I64 && g.F.TypeOf(v) == clif.I32 { // the pattern looks through the extension
			v = g.Unary(clif.OpUextend, t, v)
		}
		if !g.exact && (!p.Only && g.rng.IntN(3) == 0 || g.rng.IntN(12) == 0) {
			g.keep = append(g.keep, v)
		}
		return v
	}
	switch p.Leaf {
	case pattern.LeafConst:
		if strings.Contains(g.row.When, "rotates-bytes") {
			return g.rotation(p)
		}
		return g.constant(t)
	case pattern.LeafLiteral:
		if g.rng.IntN(12) == 0 {
			return g.constant(t)
		}
		return g.Iconst(t, uint64(p.Lit))
	case pattern.LeafLoad:
		return g.load(t, p.Word)
	}
	if x, ok := g.named["x"]; ok && p.Name == "y" && strings.Contains(g.row.When, "rotates-bytes") && g.rng.IntN(8) != 0 {
		return x
	}
	v, ok := g.named[p.Name]
	if !ok {
		v = g.property(p.Word, t, p.Name)
		g.named[p.Name] = v
	}
	return v
}

// inst makes an instruction inside.
func (g *ruleBuilder) inst(p *pattern.Pattern, t clif.Type) clif.Value {
	if p.AnyType {
		op := pickOne(g.rng, g.opcodes(p)...)
		for t = pickOne(g.rng, scalars...); !onVectors(op) && !op.Info().Types.Has(t); {
			t = pickOne(g.rng, append(scalars, clif.FuncRef, clif.Ref)...)
		}
		t = g.typeFor(op, t)
	}
	op := g.opcode(p, t)
	if g.misses(p, missOpcode) {
		op = g.miss.op
	}
	if onVectors(op) {
		return g.vectorInst(p, op, t)
	}
	switch op {
	case clif.OpIcmp:
		x, y := g.args2(p, t)
		cc := clif.IntCC(g.rng.IntN(int(clif.NumIntCCs)))
		if p.Conds != nil {
			cc = clif.IntCC(pickOne(g.rng, p.Conds...))
		}
		return g.Icmp(clif.IntCC(g.cond(p, uint8(cc))), t, x, y)
	case clif.OpFcmp:
		return g.Fcmp(clif.FloatCC(g.rng.IntN(int(clif.NumFloatCCs))), t, g.leaf(t), g.leaf(t))
	case clif.OpRefIsNull:
		return g.Unary(op, clif.FuncRef, g.Entity(clif.OpTableGet, clif.FuncRef, 0, g.Iconst(clif.I64, 3)))
	}
	if op == clif.OpRefEq || op == clif.OpRefTest {
		return g.compareRefs(op)
	}
	if op.Info().Format == clif.FormatUnary {
		return g.Unary(op, t, g.value(&p.Args[0], g.operandType(op, t)))
	}
	x, y := g.args2(p, t)
	if g.misses(p, missSwapped) {
		x, y = y, x
	}
	return g.Binary(op, t, x, y)
}

// compareRefs makes a comparison of small integers.
func (g *ruleBuilder) compareRefs(op clif.Opcode) clif.Value {
	x := g.Unary(clif.OpRefI31, clif.Ref, g.leaf(clif.I32))
	if op == clif.OpRefTest {
		return g.RefTest(clif.Ref, x, abi.AnyRef, abi.I31Ref.NotNull())
	}
	return g.Binary(op, clif.Ref, x, g.Unary(clif.OpRefI31, clif.Ref, g.leaf(clif.I32)))
}

// property makes a value that may have the named property.
func (g *ruleBuilder) property(word string, t clif.Type, name string) clif.Value {
	var v clif.Value
	switch {
	case word == "u32" && g.rng.IntN(8) != 0:
		return g.Unary(clif.OpUextend, clif.I64, g.leaf(clif.I32))
	case word == "float-const" || word == "float-zero":
		return g.Fconst(t, pickOne(g.rng, 0, corners[t][g.rng.IntN(len(corners[t]))]))
	case word == "compared" || word == "" && strings.Contains(g.row.When, "both-compare"):
		if v = g.comparison(); t == clif.I64 {
			v = g.Unary(clif.OpUextend, t, v)
		}
		return v
	case word == "vector-zero":
		return g.Vconst(0, 0)
	case word == "vector-test":
		return g.testOfVector(clif.OpVanyTrue, clif.OpVallTrue, clif.OpVbitmask)
	case word == "vector-const":
		return g.Vconst(pickOne(g.rng, 0, ^uint64(0), g.rng.Uint64()), pickOne(g.rng, 0, ^uint64(0), g.rng.Uint64()))
	case word == "lane-mask" && g.rng.IntN(6) != 0:
		return g.laneMask()
	case word == "low-indices" && g.rng.IntN(6) != 0:
		return g.lowIndices()
	case strings.HasSuffix(word, "signed-bytes") && g.rng.IntN(6) != 0:
		return g.extendedBytes(word == "signed-bytes")
	case word == "lane" && g.rng.IntN(6) != 0:
		return g.laneOf(t)
	case word == "index":
		return g.Iconst(t, uint64(g.rng.IntN(10)))
	case name == "y" && strings.Contains(g.row.When, "place-left") && g.stored != clif.NoValue && g.rng.IntN(8) != 0:
		return g.Load(t, g.access, 0, g.stored, 16)
	default:
		v = g.leaf(t)
	}
	if word == "kept" && g.rng.IntN(8) != 0 {
		g.keep = append(g.keep, v)
	}
	return v
}

// leaf returns any value of type t.
func (g *ruleBuilder) leaf(t clif.Type) clif.Value {
	if t == clif.FuncRef {
		return g.RefNull(t)
	}
	if isVector(t) {
		return g.vectorLeaf(t)
	}
	if t.IsInt() && !g.exact && !g.noConsts && g.rng.IntN(16) == 0 {
		return g.constant(t)
	}
	for k := range scalars {
		if scalars[k] == t {
			return g.params[2*k+g.rng.IntN(2)]
		}
	}
	panic(t)
}

func (g *ruleBuilder) intValue(t clif.Type) clif.Value { return g.leaf(t) }

// constant returns a constant that a rule tests for, or one near it.
func (g *ruleBuilder) constant(t clif.Type) clif.Value {
	n := t.Bits()
	field := uint64(1)<<g.width - 1
	x := pickOne(g.rng,
		uint64(g.at), uint64(g.at), uint64(n-g.at), uint64(n-g.width), uint64(g.width), field, field, field<<g.at, field<<g.at, ^(field << g.at), ^(field << g.at), ^field,
		0, 1, 2, 3, 4, 5, 8, 9, 16, 24, 31, 32, 0xff, 0xffff, 0xffff_ffff, ^uint64(0), ^uint64(1), 7, 63, 17, 4095, 4096, 4097, 100_000, 0x12345, 1<<31-1, 1<<31,
		uint64(1)<<g.rng.IntN(n), uint64(1)<<g.rng.IntN(n)+1, uint64(1)<<g.rng.IntN(n)-1, uint64(g.rng.Uint32N(300)), g.rng.Uint64())
	if t == clif.I32 {
		x = uint64(uint32(x))
	}
	return g.Iconst(t, x)
}

// load reads memory, or something else that can be an operand.
func (g *ruleBuilder) load(t clif.Type, word string) clif.Value {
	addr := g.params[8]
	acc := clif.Full
	if isVector(t) {
		if word == "8" {
			acc = clif.U64
		}
		return g.Load(clif.V128, acc, 0, addr, uint64(8*g.rng.IntN(3)))
	}
	switch word {
	case "1":
		acc = pickOne(g.rng, clif.U8, clif.S8)
	case "2":
		acc = pickOne(g.rng, clif.U16, clif.S16)
	case "4":
		if t == clif.I64 {
			acc = pickOne(g.rng, clif.U32, clif.S32)
		}
	case "narrow":
		acc = pickOne(g.rng, clif.U8, clif.U16)
	default:
		if g.rng.IntN(3) == 0 {
			for k := range scalars {
				if scalars[k] == t {
					return g.Entity(clif.OpGlobalGet, t, uint32(k))
				}
			}
		}
		if t == clif.I64 && word == "" && g.rng.IntN(4) == 0 {
			return g.Entity(clif.OpTableSize, clif.Invalid, 0)
		}
	}
	return g.Load(t, acc, 0, addr, uint64(8*g.rng.IntN(3)))
}

// comparison returns a comparison of integers or floats, some of masks or with constants.
func (g *ruleBuilder) comparison() clif.Value {
	t := pickOne(g.rng, scalars...)
	if t.IsFloat() {
		return g.Fcmp(clif.FloatCC(g.rng.IntN(int(clif.NumFloatCCs))), t, g.leaf(t), g.leaf(t))
	}
	x, y := g.leaf(t), g.leaf(t)
	switch g.rng.IntN(4) {
	case 0:
		x, y = g.Binary(clif.OpBand, t, x, g.Iconst(t, uint64(1)<<g.rng.IntN(t.Bits()))), g.Iconst(t, 0)
	case 1:
		y = g.Iconst(t, 0)
	case 2:
		y = g.constant(t)
	}
	return g.Icmp(clif.IntCC(g.rng.IntN(int(clif.NumIntCCs))), t, x, y)
}

// decider returns a value that a branch tests, and that something uses later.
func (g *ruleBuilder) decider() clif.Value {
	t := pickOne(g.rng, clif.I32, clif.I64)
	if g.rng.IntN(2) == 0 {
		v := g.comparison()
		g.keep = append(g.keep, v)
		return v
	}
	op := pickOne(g.rng, clif.OpIadd, clif.OpIsub, clif.OpBand, clif.OpBor, clif.OpBxor)
	v := g.Binary(op, t, g.leaf(t), g.leaf(t))
	g.keep = append(g.keep, v)
	if t == clif.I32 && g.rng.IntN(2) == 0 {
		return v
	}
	return g.Icmp(clif.IntCC(g.rng.IntN(int(clif.NumIntCCs))), t, v, g.Iconst(t, 0))
}

// condition uses a condition.
func (g *ruleBuilder) condition(c clif.Value) {
	switch g.rng.IntN(5) {
	case 0:
		g.branch(c)
	case 1:
		g.finish(g.Select(clif.I64, c, g.leaf(clif.I64), g.leaf(clif.I64)))
	case 2:
		g.TrapIf(c, abi.TrapUnreachable)
		g.finish(g.leaf(clif.I32))
	case 3:
		g.finish(g.Icmp(clif.Eq, clif.I32, c, g.Iconst(clif.I32, 0)))
	default:
		g.finish(c)
	}
}

// branch ends the function in two blocks.
func (g *ruleBuilder) branch(c clif.Value) {
	yes, no := g.NewBlock(), g.NewBlock()
	g.Branch(c, g.Target(yes, nil), g.Target(no, nil))
	keep := g.keep
	g.SwitchTo(yes)
	g.finish(g.Iconst(clif.I32, 5))
	g.keep = keep
	g.SwitchTo(no)
	g.finish(g.Iconst(clif.I32, 6))
}

func (g *ruleBuilder) table(x clif.Value) {
	var targets []clif.Target
	var blocks []clif.Block
	for range 2 + g.rng.IntN(6) {
		blocks = append(blocks, g.NewBlock())
		targets = append(targets, g.Target(blocks[len(blocks)-1], nil))
	}
	rare := g.rng.IntN(2) == 0
	if rare && g.rng.IntN(2) == 0 {
		targets[1] = targets[0]
	}
	g.BrTable(g.Binary(clif.OpBand, clif.I32, x, g.Iconst(clif.I32, 7)), targets)
	if rare {
		g.F.Insts[len(g.F.Insts)-1].Cond = clif.TableRare
	}
	for k, blk := range blocks {
		g.SwitchTo(blk)
		g.finish(g.Iconst(clif.I32, uint64(k)))
	}
}

// memory makes a load or store, and others of the same address before or after.
func (g *ruleBuilder) memory(p *pattern.Pattern, op clif.Opcode) {
	offset := pickOne[uint64](g.rng, 0, 8, 16, 4095, 4096, 4104, 32760, 40000, 1<<24, 1<<31, 1<<32-1)
	other := pickOne(g.rng, offset, offset+8, offset&^4095, 0)
	var addr clif.Value
	if p.Args[0].Leaf == pattern.LeafValue || g.rng.IntN(8) == 0 {
		addr = g.params[8]
		if g.rng.IntN(3) == 0 {
			addr = g.Binary(clif.OpBand, clif.I32, g.leaf(clif.I32), g.Iconst(clif.I32, 0x78))
		}
	} else {
		typ := g.t
		g.t = clif.I32
		addr = g.address(&p.Args[0])
		g.t = typ
	}
	if g.row.Term == backend.TermInst {
		offset = 16
		g.stored, g.access = addr, pickOne(g.rng, clif.Full, clif.U8, clif.U16)
		if g.t.IsFloat() {
			g.access = clif.Full
		}
		v := g.value(&p.Args[1], g.t)
		g.Store(g.t, g.access, 0, addr, v, offset)
		g.finish(g.Load(g.t, clif.Full, 0, addr, 16))
		return
	}
	g.t = pickOne(g.rng, scalars...)
	if g.rng.IntN(2) == 0 {
		g.keep = append(g.keep, g.Load(clif.I64, clif.Full, 0, addr, other))
	}
	var v clif.Value
	if op == clif.OpStore {
		g.Store(g.t, clif.Full, 0, addr, g.leaf(g.t), offset)
		v = g.leaf(clif.I32)
	} else {
		v = g.Load(g.t, clif.Full, 0, addr, offset)
	}
	if g.rng.IntN(3) == 0 {
		g.keep = append(g.keep, g.Load(clif.I64, clif.Full, 0, addr, other))
	}
	g.finish(v)
}

// address makes the i32 that a pattern of an address describes, a small one where it is shifted.
func (g *ruleBuilder) address(p *pattern.Pattern) clif.Value {
	if p.Ops != nil {
		g.named["x"] = g.Binary(clif.OpBand, clif.I32, g.params[8], g.Iconst(clif.I32, 0x1f))
	}
	return g.value(p, clif.I32)
}

// context makes a user of v.
func (g *ruleBuilder) context(v clif.Value) {
	t := g.F.TypeOf(v)
	if t == clif.V128 {
		g.vectorContext(v)
		return
	}
	if t == clif.I32 && g.rng.IntN(4) == 0 {
		if strings.Contains("negative equals-zero tests-sign tests-bit", g.row.When) && g.row.When != "" {
			v = g.comparison()
		}
		g.condition(v)
		return
	}
	if t.IsInt() {
		g.intContext(v, t)
		return
	}
	if g.rng.IntN(2) == 0 {
		g.Store(t, clif.Full, 0, g.params[8], v, 8)
		g.finish(g.leaf(clif.I32))
		return
	}
	g.finish(g.Binary(clif.OpFadd, t, g.leaf(t), v))
}

// intContext makes a user of the integer v.
func (g *ruleBuilder) intContext(v clif.Value, t clif.Type) {
	ops := []clif.Opcode{clif.OpIadd, clif.OpIsub, clif.OpImul, clif.OpBand, clif.OpBor, clif.OpBxor, clif.OpIshl, clif.OpUshr, clif.OpRotl, clif.OpSdiv, clif.OpUdiv, clif.OpSrem}
	switch g.rng.IntN(9) {
	case 0:
		acc := pickOne(g.rng, clif.Full, clif.U8, clif.U16)
		if t == clif.I64 && g.rng.IntN(2) == 0 {
			acc = clif.U32
		}
		g.Store(t, acc, 0, g.params[8], v, 8)
		g.finish(g.leaf(clif.I32))
	case 1:
		x, y := g.leaf(t), v
		if g.rng.IntN(2) == 0 {
			x, y = y, x
		}
		g.finish(g.Select(t, g.params[0], x, y))
	case 2:
		if t == clif.I64 {
			i := g.Bound(v, g.Iconst(clif.I64, 10), abi.TrapTableOutOfBounds)
			if g.rng.IntN(2) == 0 {
				i = v
				if _, d := g.definition(v); g.miss == nil && (d == nil || d.Op != clif.OpIconst || d.Imm >= 10) {
					i = g.Iconst(clif.I64, 4)
				}
			}
			g.finish(g.Unary(clif.OpRefIsNull, clif.FuncRef, g.Entity(clif.OpTableGet, clif.FuncRef, 0, i)))
			return
		}
		fallthrough
	case 3:
		g.finish(g.Binary(pickOne(g.rng, ops...), t, v, g.leaf(t)))
	case 4:
		g.finish(g.Icmp(clif.IntCC(g.rng.IntN(int(clif.NumIntCCs))), t, g.leaf(t), v))
	case 5:
		first := g.Icmp(clif.IntCC(g.rng.IntN(int(clif.NumIntCCs))), clif.I64, g.params[2], g.params[3])
		second := g.Icmp(clif.IntCC(g.rng.IntN(int(clif.NumIntCCs))), t, map[clif.Type]clif.Value{clif.I32: g.params[0], clif.I64: g.params[2]}[t], v)
		g.finish(g.Binary(pickOne(g.rng, clif.OpBand, clif.OpBor), clif.I32, first, second))
	case 6:
		if _, d := g.definition(v); t == clif.I64 && d != nil && d.Op == clif.OpIconst && d.Imm < 0xfff0 {
			g.fill(v, d.Imm)
			return
		}
		fallthrough
	case 7:
		if t == clif.I32 {
			g.finish(g.Load(clif.I32, pickOne(g.rng, clif.Full, clif.U8), 0, v, pickOne[uint64](g.rng, 0, 8, 1<<25+1)))
			return
		}
		fallthrough
	default:
		g.finish(g.Binary(pickOne(g.rng, ops...), t, g.leaf(t), v))
	}
}

// fill writes to memory, or to the table, at the constant v, which is k, and reads it.
func (g *ruleBuilder) fill(v clif.Value, k uint64) {
	if k < 10 && g.rng.IntN(2) == 0 {
		g.EntityEffect(clif.OpTableFill, clif.FuncRef, 0, 0, v, g.FuncAddr(0), g.Iconst(clif.I64, 1))
		g.finish(g.Unary(clif.OpRefIsNull, clif.FuncRef, g.Entity(clif.OpTableGet, clif.FuncRef, 0, v)))
		return
	}
	g.EntityEffect(clif.OpMemoryFill, clif.Invalid, 0, 0, v, g.leaf(clif.I32), g.Iconst(clif.I64, 4))
	g.finish(g.Load(clif.I64, clif.Full, 0, g.Iconst(clif.I32, k), 0))
}

// definition returns the instruction that defines v.
func (g *ruleBuilder) definition(v clif.Value) (clif.Inst, *clif.InstData) {
	vd := &g.F.Values[v]
	if vd.Kind != clif.ValueResult {
		return clif.NoInst, nil
	}
	return clif.Inst(vd.Def), &g.F.Insts[vd.Def]
}

// finish returns v, and uses the values in keep once more.
func (g *ruleBuilder) finish(v clif.Value) {
	g.storeVectors(append(g.keep, v))
	results := make([]clif.Value, len(ruleResults))
	for k, t := range ruleResults {
		results[k] = clif.NoValue
		for _, kept := range append(g.keep, v) {
			if g.F.TypeOf(kept) != t {
				continue
			}
			if results[k] == clif.NoValue {
				results[k] = kept
			} else if t.IsInt() {
				results[k] = g.Binary(clif.OpRotl, t, results[k], kept)
			} else {
				results[k] = g.Binary(clif.OpFmin, t, results[k], kept)
			}
		}
		if results[k] == clif.NoValue {
			results[k] = g.konst(t, uint64(k))
		}
	}
	if g.loop != clif.NoBlock {
		exit := g.NewBlock()
		g.Branch(g.Iconst(clif.I32, 1), g.Target(exit, nil), g.Target(g.loop, nil))
		g.SwitchTo(exit)
	}
	g.Return(results)
}
