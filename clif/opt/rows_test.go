package opt

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/pattern"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// This file tests each row of each rule alone, from its text: functions that its left fits, and functions that it fits but for one thing.

// rowMiss changes one place of the left of a row.
type rowMiss struct {
	at  *pattern.Pattern
	how missKind
	to  int64 // an opcode, a condition or a number
}

type missKind uint8

const (
	noMiss missKind = iota
	missOp
	missCond
	missLiteral
	missName  // a name that stands twice is two values here
	missOrder // the first two operands are exchanged
	missConst // a constant is a variable
	missValue // a variable is a constant
	missType  // a type is the other one
)

// rowFunc builds functions for the left of a row.
type rowFunc struct {
	b      bld
	shrink uint8
	root   clif.Type
	op     clif.Opcode // of the whole
	cond   uint8       // and its condition, which has a name in the pattern
	miss   rowMiss
	r      *rand.Rand
	// kind says how a variable without a property is made.
	kind  int
	named map[string]val
	bad   bool // there is no such function

	params, consts []clif.Type
	words          []string // of the constants
	// p and k are the parameters and constants; the first run, where real is not set, finds out which there must be.
	real bool
	p, k []val
	next [2]int
}

func (g *rowFunc) misses(n *pattern.Pattern, how missKind) bool {
	return g.miss.at == n && g.miss.how == how
}

// param is a parameter of type t.
func (g *rowFunc) param(t clif.Type) val {
	if !g.real {
		g.params = append(g.params, t)
		return g.b.AddParam(0, t)
	}
	g.next[0]++
	return g.p[g.next[0]-1]
}

func (g *rowFunc) constant(t clif.Type, word string) val {
	if !g.real {
		g.consts, g.words = append(g.consts, t), append(g.words, word)
		return g.b.Iconst(t, 0)
	}
	g.next[1]++
	return g.k[g.next[1]-1]
}

// Kinds of variables.
const (
	plainVar = iota
	maskedVar
	shortVar
	decidedVar
	strippedVar
	numVars
)

// variable is a value of type t.
func (g *rowFunc) variable(t clif.Type, word string) val {
	switch {
	case !t.IsInt():
		g.bad = true
		return 0
	case word == "extended" && t == clif.I64 && g.kind != plainVar:
		return g.b.Unary(extensions[g.kind%2], t, g.param(clif.I32))
	}
	switch g.kind {
	case maskedVar:
		return g.b.Binary(clif.OpBand, t, g.param(t), g.constant(t, ""))
	case shortVar:
		x := g.b.Icmp(clif.Slt, clif.I32, g.param(clif.I32), g.constant(clif.I32, ""))
		if t == clif.I64 {
			x = g.b.Unary(clif.OpUextend, t, x)
		}
		return x
	case decidedVar:
		if t == clif.I32 {
			x := g.param(t)
			g.b.TrapIf(x, 1)
			return x
		}
	case strippedVar:
		if t == clif.I32 {
			return g.b.Icmp(clif.Eq, t, g.param(t), g.b.Iconst(t, 0))
		}
	}
	return g.param(t)
}

// operand is an operand of type t.
func (g *rowFunc) operand(n *pattern.Pattern, t clif.Type) val {
	name := n.Name
	if g.misses(n, missName) {
		name += "'"
	}
	v, ok := g.named[name]
	switch {
	case ok && name != "":
		if g.b.F.TypeOf(v) != t {
			g.bad = true
		}
		return v
	case n.Ops != nil:
		v = g.inst(n, t)
	case n.Leaf == pattern.LeafLiteral:
		lit := n.Lit
		if g.misses(n, missLiteral) {
			lit += g.miss.to
		}
		v = g.b.Iconst(t, uint64(lit)&mask(uint(t.Bits())>>g.shrink))
	case (n.Leaf == pattern.LeafConst) != (g.misses(n, missConst) || g.misses(n, missValue)):
		if !t.IsInt() {
			g.bad = true
			return 0
		}
		v = g.constant(t, n.Word)
	default:
		v = g.variable(t, n.Word)
	}
	if name != "" {
		g.named[name] = v
	}
	return v
}

// inst is an instruction inside that gives a t, or the whole if t is Invalid.
func (g *rowFunc) inst(n *pattern.Pattern, t clif.Type) val {
	op, ctl := g.op, n.Type
	if t != clif.Invalid && n.Ops[0] != opWhole {
		var ops []clif.Opcode
		for _, op := range n.Ops {
			if strings.Trim(op.Info().Sig, "Cil:") == "" && (op.Info().Types.Has(clif.I32) || op.Info().Types.Has(clif.I64)) {
				ops = append(ops, op)
			}
		}
		if len(ops) == 0 {
			g.bad = true
			return 0
		}
		op = ops[g.r.IntN(len(ops))]
	}
	if g.misses(n, missOp) {
		op = clif.Opcode(g.miss.to)
	}
	switch {
	case t == clif.Invalid || ctl == clif.Invalid && !n.AnyType:
		ctl = g.root
	case n.AnyType:
		ctl = [...]clif.Type{clif.I32, clif.I64}[g.r.IntN(2)]
	}
	if g.misses(n, missType) {
		ctl = clif.I32 + clif.I64 - ctl
	}
	info := op.Info()
	if !info.Types.Has(ctl) || t != clif.Invalid && op.ResultType(ctl) != t {
		g.bad = true
		return 0
	}
	var args [3]val
	given := n.Args
	for k := range info.Sig[:strings.Index(info.Sig, ":")] {
		at := ctl
		switch info.Sig[k] {
		case 'i':
			at = clif.I32
		case 'l':
			at = clif.I64
		}
		if len(given) == 0 {
			args[k] = g.variable(at, "")
			continue
		}
		if args[k] = g.operand(&given[min(k, len(given)-1)], at); g.bad {
			return 0
		}
	}
	if g.misses(n, missOrder) {
		if args[0], args[1] = args[1], args[0]; g.b.F.TypeOf(args[0]) != g.b.F.TypeOf(args[1]) {
			g.bad = true
			return 0
		}
	}
	switch info.Format {
	case clif.FormatUnary:
		return g.b.Unary(op, ctl, args[0])
	case clif.FormatBinary:
		return g.b.Binary(op, ctl, args[0], args[1])
	case clif.FormatTernary:
		return g.b.Select(ctl, args[0], args[1], args[2])
	case clif.FormatIntCmp:
		return g.b.Icmp(clif.IntCC(g.condition(n, t == clif.Invalid)), ctl, args[0], args[1])
	}
	g.bad = true
	return 0
}

func (g *rowFunc) condition(n *pattern.Pattern, whole bool) uint8 {
	switch {
	case g.misses(n, missCond):
		return uint8(g.miss.to)
	case whole:
		return g.cond
	case n.Conds != nil:
		return n.Conds[g.r.IntN(len(n.Conds))]
	}
	return uint8(g.r.IntN(int(clif.NumIntCCs)))
}

// rowMisses are all changes of a pattern.
func rowMisses(n *pattern.Pattern, seen map[string]bool) (all []rowMiss) {
	if seen[n.Name] && n.Name != "" {
		all = append(all, rowMiss{at: n, how: missName})
	}
	seen[n.Name] = true
	switch {
	case n.Leaf == pattern.LeafLiteral:
		all = append(all, rowMiss{n, missLiteral, 1}, rowMiss{n, missLiteral, -1}, rowMiss{n, missConst, 0})
	case n.Leaf == pattern.LeafConst:
		all = append(all, rowMiss{at: n, how: missConst})
	case n.Leaf == pattern.LeafValue:
		all = append(all, rowMiss{at: n, how: missValue})
	default:
		if n.Type.IsInt() {
			all = append(all, rowMiss{at: n, how: missType})
		}
		if len(n.Args) > 1 {
			all = append(all, rowMiss{at: n, how: missOrder})
		}
		if n.Conds != nil {
			for cc := range clif.NumIntCCs {
				all = append(all, rowMiss{n, missCond, int64(cc)})
			}
		}
		for op := range clif.NumOpcodes {
			f := op.Info().Format
			if strings.Trim(op.Info().Sig, "Cil:") == "" && (f == clif.FormatUnary || f == clif.FormatBinary || f == clif.FormatIntCmp) && (op.Info().Types.Has(clif.I32) || op.Info().Types.Has(clif.I64)) && !slices.Contains(n.Ops, op) {
				all = append(all, rowMiss{n, missOp, int64(op)})
			}
		}
		for k := range n.Args {
			all = append(all, rowMisses(&n.Args[k], seen)...)
		}
	}
	return all
}

// rowCase is a kind of functions for a row.
type rowCase struct {
	left *pattern.Pattern
	op   clif.Opcode
	root clif.Type
	cond uint8
	kind int
	miss rowMiss
	seed uint64
}

// build builds a function of the case, or says that there is none.
func (c *rowCase) build(g *rowFunc) val {
	g.root, g.op, g.cond, g.kind, g.miss = c.root, c.op, c.cond, c.kind, c.miss
	g.named, g.r, g.next = map[string]val{}, rand.New(rand.NewPCG(c.seed, 7)), [2]int{}
	return g.inst(c.left, clif.Invalid)
}

// run compares functions of a case before and after the row, and returns how often it was applied.
func (c *rowCase) run(t *testing.T, p *prover, rule Rule, text string, functions int, r *rand.Rand) int {
	t.Helper()
	g := rowFunc{shrink: p.opt.shrink, b: &clif.Builder{F: &clif.Func{Mod: testModule(nil, nil)}}}
	g.b.SwitchTo(g.b.NewBlock())
	if c.build(&g); g.bad {
		return 0
	}
	p.mod = testModule(g.params, nil)
	bits, kBits := uint(0), uint(0)
	for _, t := range g.params {
		bits += p.before.bits(t)
	}
	for _, t := range g.consts {
		kBits += p.before.bits(t)
	}
	all, allK := bits <= 8, kBits <= 8 && c.miss.how == noMiss
	n, m := 100, functions
	if all {
		n = 1 << bits
	}
	if allK {
		m = 1 << kBits
	}
	in, ks := p.columns(g.params, n, all, r), p.columns(g.consts, m, allK, r)
	fam := family{name: text, build: func(b bld, params, ks []val) val {
		g := rowFunc{shrink: p.opt.shrink, b: b, real: true, p: params, k: ks}
		return c.build(&g)
	}}
	for _, t := range g.params {
		fam.params += string("nw"[t-clif.I32])
	}
	for _, t := range g.consts {
		fam.consts += string("nw"[t-clif.I32])
	}
	before := 0
	for _, n := range p.fired[rule] {
		before -= n
	}
	consts := make([]uint64, len(g.consts))
	for i := range m {
		for k := range consts {
			if consts[k] = ks[k][i]; !allK && i%4 == 1 {
				consts[k] = r.Uint64N(2)
			}
			is := constWords[g.words[k]]
			for try := 0; !allK && is != nil && i%4 != 0 && try < 500 && !is(p.opt.widths, g.consts[k], consts[k]); try++ {
				consts[k] = p.sample(g.consts[k], r)
			}
		}
		if err := p.check(&fam, consts, in, n); err != nil {
			t.Errorf("%v: %s, %v.%v, variables %d, change %v of %v: %v", rule, text, c.op, c.root, c.kind, c.miss.how, c.miss.at, err)
			return 1
		}
	}
	for _, n := range p.fired[rule] {
		before += n
	}
	return before
}

// noRowTest are the rows that TestRows does not execute, by what stands in them, with the reason.
var noRowTest = map[string]string{"bitcast": "floats have no form of 8 bits; TestRules has the functions"}

// TestRows takes each row of each rule alone. For each opcode, type and condition that it names, functions that its left fits give the same
// as before, for all values of narrow integers and for some of wide ones, and the row is applied to some. So do functions with one change: another
// opcode, condition, constant or type, other operands, or operands in another order.
func TestRows(t *testing.T) {
	functions, misses := testenv.Cases(16, 24, 60), testenv.Cases(3, 8, 20)
	numRows, numCases, numMisses, applied := 0, 0, 0, 0
	for _, shrink := range []uint8{3, 2, 0} {
		r := rand.New(rand.NewPCG(uint64(shrink), 11))
		eachRow(t, func(rule Rule, text string, cases []rowCase) {
			numRows++
			p := newProver(shrink)
			p.only(rule, text)
			changes := rowMisses(cases[0].left, map[string]bool{})
			for _, c := range cases {
				hits := 0
				for kind := range numVars {
					c.kind, c.seed = kind, r.Uint64()
					hits += c.run(t, p, rule, text, functions, r)
					for range misses {
						miss := c
						miss.miss, miss.seed = changes[r.IntN(len(changes))], r.Uint64()
						applied += min(1, miss.run(t, p, rule, text, 4, r))
						numMisses++
					}
				}
				if numCases++; hits == 0 {
					t.Errorf("%s: never applied to %v.%v %d", text, c.op, c.root, c.cond)
				}
			}
		})
	}
	t.Logf("%d rows at all widths, %d opcodes, types and conditions; %d functions with a change, of which rows still fit %d", numRows, numCases, numMisses, applied)
}

// only makes p apply this row alone.
func (p *prover) only(rule Rule, text string) {
	alone := make([]ruleDef, NumRules)
	alone[rule] = ruleDef{Name: ruleDefs[rule].Name, Row: text, Last: ruleDefs[rule].Last}
	p.opt.fold.rules, p.opt.fold.rows = ruleTable(), newRowTable(alone)
	p.opt.Control.Off = map[string]bool{}
	for other := range NumRules {
		if other != rule {
			p.opt.Control.Off[ruleDefs[other].Name] = true
		}
	}
}

// rows compares functions for all rows, to which all rules are applied.
func (p *prover) rows(t *testing.T, functions int, r *rand.Rand) {
	t.Helper()
	eachRow(t, func(rule Rule, text string, cases []rowCase) {
		for _, c := range cases {
			for kind := range numVars {
				c.kind, c.seed = kind, r.Uint64()
				c.run(t, p, rule, text, functions, r)
			}
		}
	})
}

// eachRow calls f for each row that has a form of narrow integers.
func eachRow(t *testing.T, f func(rule Rule, text string, cases []rowCase)) {
	t.Helper()
	for rule := range NumRules {
		for _, text := range rowTexts(ruleDefs[rule].Row) {
			left, _, _ := splitRow(text)
			if op, _, _ := strings.Cut(left[1:], " "); noRowTest[op] == "" {
				n := parseLeft(t, left)
				f(rule, text, rowCases(&n, ruleDefs[rule].Types))
			}
		}
	}
}

func parseLeft(t *testing.T, left string) pattern.Pattern {
	t.Helper()
	ops := clif.OpcodesByName()
	ops["op"] = opWhole
	n, err := pattern.Parse(left, ops)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// rowCases are the opcodes, types and conditions to which a row applies.
func rowCases(n *pattern.Pattern, types clif.TypeSet) (all []rowCase) {
	for _, op := range n.Ops {
		for _, t := range []clif.Type{clif.I32, clif.I64} {
			if !types.Has(t) || n.Type != clif.Invalid && n.Type != t || !op.Info().Types.Has(t) {
				continue
			}
			c := rowCase{left: n, op: op, root: t}
			if op != clif.OpIcmp {
				all = append(all, c)
				continue
			}
			for cc := range uint8(clif.NumIntCCs) {
				if c.cond = cc; n.Conds == nil || slices.Contains(n.Conds, cc) {
					all = append(all, c)
				}
			}
		}
	}
	return all
}

// TestWrongRows: a row that is wrong is refused, with a message that says where.
func TestWrongRows(t *testing.T) {
	for _, c := range []struct{ row, message string }{
		{"(iadd x x) => x", ""},
		{"(iadd x y) => z", "z is not on the left"},
		{"(iadd x v) => x", "what is"},
		{"(iadd x k:odd) => x", "no property"},
		{"(iadd x:odd k) => x", "no property"},
		{"(iadd x y) when odd => x", "no condition"},
		{"(iadd x k) => k:odd", "no word"},
		{"(iadd x y) => odd", "what is"},
		{"(iadd x [y]) => x", "folds no loads"},
		{"(iadd x (only (ishl y k))) => x", "does not count users"},
		{"x => x", "wrong pattern"},
	} {
		func() {
			defer func() {
				got := fmt.Sprint(recover())
				if c.message == "" && got != "<nil>" || !strings.Contains(got, c.message) {
					t.Errorf("%s: %s", c.row, got)
				}
			}()
			newRowTable([]ruleDef{{Name: "a", Row: c.row}})
		}()
	}
}
