package opt

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/arith"
	"github.com/waot-project/waot/clif/pattern"
	"github.com/waot-project/waot/internal/abi"
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
	missType  // a type is another one
	missLane  // a lane of a constant is another number than the others
)

// rowConst is a constant of a function for a row.
type rowConst struct {
	typ     clif.Type
	counted clif.Type // what a property is one of
	word    string
}

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
	last  clif.Type // of the instruction inside before
	bad   bool      // there is no such function

	params []clif.Type
	consts []rowConst
	// p and k are the parameters and constants; the first run, where real is not set, finds out which there must be.
	real bool
	p, k []val
	next [2]int
}

func (g *rowFunc) misses(n *pattern.Pattern, how missKind) bool {
	return g.miss.at == n && g.miss.how == how
}

// fail says that there is no such function.
func (g *rowFunc) fail() val {
	g.bad = true
	return 0
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

// constant is a constant of type t, an operand of an instruction of type around.
func (g *rowFunc) constant(t, around clif.Type, word string) val {
	if !g.real {
		g.consts = append(g.consts, rowConst{t, g.counted(around), word})
		return g.number(t, t, 0)
	}
	g.next[1]++
	return g.k[g.next[1]-1]
}

// counted is what constants of an instruction of type around count with.
func (g *rowFunc) counted(around clif.Type) clif.Type {
	if g.root.IsShape() {
		around = g.root
	}
	return lanesOf(around)
}

// number is the constant x of type t; a vector has the lanes of a shape.
func (g *rowFunc) number(t, shape clif.Type, x uint64) val {
	switch {
	case t == clif.V128:
		v := arith.Splat(lanesOf(shape), g.shrink, x)
		return g.b.Vconst(v[0], v[1])
	case t.IsFloat():
		return g.b.Fconst(t, x)
	}
	return g.b.Iconst(t, x&mask(uint(t.Bits())>>g.shrink))
}

// literal is the number of a pattern.
func (g *rowFunc) literal(n *pattern.Pattern, t, around clif.Type) val {
	x := uint64(n.Lit)
	if g.misses(n, missLiteral) {
		x += uint64(g.miss.to)
	}
	if g.misses(n, missLane) && t == clif.V128 {
		shape := g.counted(around)
		v := arith.Splat(shape, g.shrink, x)
		insert := clif.InstData{Op: clif.OpVinsert, Type: shape, Imm: uint64(g.r.IntN(shape.Lanes()))}
		v = arith.Vector(&insert, g.shrink, v, arith.V128{x ^ 1}, arith.V128{})
		return g.b.Vconst(v[0], v[1])
	}
	return g.number(t, g.counted(around), x)
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

// variable is a value of type t, an operand of an instruction of type around.
func (g *rowFunc) variable(t, around clif.Type, word string) val {
	switch {
	case t.IsRef() || t.IsFloat() && g.shrink > 0:
		return g.fail()
	case !t.IsInt():
		return g.param(t)
	case word == "extended" && t == clif.I64 && g.kind != plainVar:
		return g.b.Unary(extensions[g.kind%2], t, g.param(clif.I32))
	}
	switch g.kind {
	case maskedVar:
		return g.b.Binary(clif.OpBand, t, g.param(t), g.constant(t, around, ""))
	case shortVar:
		x := g.b.Icmp(clif.Slt, clif.I32, g.param(clif.I32), g.constant(clif.I32, around, ""))
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

// operand is an operand of type t of an instruction of type around.
func (g *rowFunc) operand(n *pattern.Pattern, t, around clif.Type) val {
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
	case n.Leaf == pattern.LeafLiteral && !g.misses(n, missConst):
		v = g.literal(n, t, around)
	case (n.Leaf == pattern.LeafValue) == g.misses(n, missValue):
		if t.IsRef() || t.IsFloat() && g.shrink > 0 {
			return g.fail()
		}
		word := n.Word
		if g.misses(n, missLane) {
			word = ""
		}
		v = g.constant(t, around, word)
	default:
		v = g.variable(t, around, n.Word)
	}
	if name != "" {
		g.named[name] = v
	}
	return v
}

// rowOperands are the types of the operands of op with the controlling type ctl.
func rowOperands(op clif.Opcode, ctl clif.Type) (types []clif.Type, ok bool) {
	sig, _, _ := strings.Cut(op.Info().Sig, ":")
	for _, letter := range sig {
		t := ctl
		switch letter {
		case 'C':
		case 'i':
			t = clif.I32
		case 'l':
			t = clif.I64
		case 'V':
			t = clif.V128
		case 'e':
			t = ctl.LaneType()
		case 's':
			t = clif.F32 + clif.F64 - ctl
		case 'b':
			t = map[clif.Type]clif.Type{clif.I32: clif.F32, clif.I64: clif.F64, clif.F32: clif.I32, clif.F64: clif.I64}[ctl]
		default:
			return nil, false
		}
		types = append(types, t)
	}
	return types, true
}

// inRows are the formats of instructions that functions are made of.
var inRows = map[clif.Format]bool{clif.FormatUnary: true, clif.FormatBinary: true, clif.FormatTernary: true, clif.FormatIntCmp: true,
	clif.FormatFloatCmp: true, clif.FormatExtract: true, clif.FormatInsert: true, clif.FormatShuffle: true, clif.FormatBound: true}

// control is an opcode of instruction n, and a type: the instruction gives a t, or is the whole if t is Invalid.
func (g *rowFunc) control(n *pattern.Pattern, t clif.Type) (op clif.Opcode, ctl clif.Type) {
	if op = g.op; t != clif.Invalid && n.Ops[0] != opWhole {
		op = pickFrom(g.r, n.Ops)
	}
	if g.misses(n, missOp) {
		op = clif.Opcode(g.miss.to)
	}
	var types []clif.Type
	for ty := range clif.NumControlTypes {
		if op.Info().Types.Has(ty) {
			types = append(types, ty)
		}
	}
	switch {
	case t != clif.Invalid && (n.AnyType || g.misses(n, missType)):
		if ctl = pickFrom(g.r, types); g.root.IsShape() && g.r.IntN(2) == 0 {
			ctl = g.root
		}
	case n.Same:
		ctl = g.last
	case t == clif.Invalid || n.Type == clif.Invalid:
		ctl = g.root
	default:
		ctl = n.Type
	}
	if !slices.Contains(types, ctl) || !inRows[op.Info().Format] || t != clif.Invalid && op.ResultType(ctl) != t || g.shrink > 0 && (ctl.IsFloat() || ctl.IsShape() && ctl.IsFloatShape()) {
		g.bad = true
	}
	return op, ctl
}

// inst is an instruction inside that gives a t, or the whole if t is Invalid.
func (g *rowFunc) inst(n *pattern.Pattern, t clif.Type) val {
	op, ctl := g.control(n, t)
	if g.bad {
		return 0
	}
	if t != clif.Invalid {
		g.last = ctl
	}
	types, ok := rowOperands(op, ctl)
	if !ok {
		return g.fail()
	}
	var args [3]val
	for k, t := range types {
		if len(n.Args) == 0 {
			args[k] = g.variable(t, ctl, "")
		} else {
			args[k] = g.operand(&n.Args[min(k, len(n.Args)-1)], t, ctl)
		}
		if g.bad {
			return 0
		}
	}
	if g.misses(n, missOrder) {
		if args[0], args[1] = args[1], args[0]; len(types) < 2 || types[0] != types[1] {
			return g.fail()
		}
	}
	for k, v := range args[:len(types)] {
		if g.b.F.TypeOf(v) != types[k] {
			return g.fail()
		}
	}
	return g.emit(op, ctl, args, g.condition(n, op, t == clif.Invalid))
}

// emit is the instruction.
func (g *rowFunc) emit(op clif.Opcode, ctl clif.Type, args [3]val, cond uint8) val {
	lane := func() uint8 {
		if g.r.IntN(3) == 0 {
			return uint8(ctl.Lanes() - 1)
		}
		return uint8(g.r.IntN(2))
	}
	switch op.Info().Format {
	case clif.FormatUnary:
		return g.b.Unary(op, ctl, args[0])
	case clif.FormatBinary:
		return g.b.Binary(op, ctl, args[0], args[1])
	case clif.FormatTernary:
		return g.b.Ternary(op, ctl, args[0], args[1], args[2])
	case clif.FormatIntCmp:
		if ctl.IsShape() {
			return g.b.Vicmp(clif.IntCC(cond), ctl, args[0], args[1])
		}
		return g.b.Icmp(clif.IntCC(cond), ctl, args[0], args[1])
	case clif.FormatFloatCmp:
		if ctl.IsShape() {
			return g.b.Vfcmp(clif.FloatCC(cond), ctl, args[0], args[1])
		}
		return g.b.Fcmp(clif.FloatCC(cond), ctl, args[0], args[1])
	case clif.FormatExtract:
		return g.b.Extract(op, ctl, args[0], lane())
	case clif.FormatInsert:
		return g.b.Insert(ctl, args[0], args[1], lane())
	case clif.FormatShuffle:
		some := shuffles(pickFrom(g.r, allShapes))
		return g.b.Shuffle(args[0], args[1], pickFrom(g.r, append(some, some[1])).lanes)
	case clif.FormatBound:
		return g.b.Bound(args[0], args[1], abi.TrapIntegerOverflow)
	}
	return g.fail()
}

// condition is one for op, and one of those of n if op has them.
func (g *rowFunc) condition(n *pattern.Pattern, op clif.Opcode, whole bool) uint8 {
	switch {
	case g.misses(n, missCond):
		return uint8(g.miss.to)
	case whole:
		return g.cond
	case n.Conds != nil:
		if c := pickFrom(g.r, n.Conds); int(c) < numConditions(op) { // otherwise op is another one, which does not have it
			return c
		}
	}
	return uint8(g.r.IntN(numConditions(op)))
}

func numConditions(op clif.Opcode) int {
	switch op.Info().Format {
	case clif.FormatIntCmp:
		return int(clif.NumIntCCs)
	case clif.FormatFloatCmp:
		return int(clif.NumFloatCCs)
	}
	return 1
}

// rowMisses are all changes of a pattern.
func rowMisses(n *pattern.Pattern, root bool, seen map[string]bool) (all []rowMiss) {
	if seen[n.Name] && n.Name != "" {
		all = append(all, rowMiss{at: n, how: missName})
	}
	seen[n.Name] = true
	switch {
	case n.Leaf == pattern.LeafLiteral:
		return append(all, rowMiss{n, missLiteral, 1}, rowMiss{n, missLiteral, -1}, rowMiss{n, missConst, 0}, rowMiss{n, missLane, 0})
	case n.Leaf == pattern.LeafConst:
		return append(all, rowMiss{at: n, how: missConst}, rowMiss{at: n, how: missLane})
	case n.Leaf == pattern.LeafValue:
		return append(all, rowMiss{at: n, how: missValue})
	}
	if !root {
		all = append(all, rowMiss{at: n, how: missType})
	}
	if len(n.Args) > 1 {
		all = append(all, rowMiss{at: n, how: missOrder})
	}
	for cc := range numConditions(n.Ops[0] % clif.NumOpcodes) {
		if n.Conds != nil {
			all = append(all, rowMiss{n, missCond, int64(cc)})
		}
	}
	vector := arith.IsVector(n.Ops[0])
	for op := range clif.NumOpcodes {
		if _, ok := rowOperands(op, clif.I8x16); ok && inRows[op.Info().Format] && arith.IsVector(op) == vector && !slices.Contains(n.Ops, op) &&
			(numConditions(op) == 0 || numConditions(op) >= numConditions(n.Ops[0]%clif.NumOpcodes)) { // it has the condition, too
			all = append(all, rowMiss{n, missOp, int64(op)})
		}
	}
	for k := range n.Args {
		all = append(all, rowMisses(&n.Args[k], false, seen)...)
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

// begin finds out the parameters and constants of the functions of the case, if there are any.
func (c *rowCase) begin(p *prover) (g *rowFunc, ok bool) {
	g = &rowFunc{shrink: p.opt.shrink, b: &clif.Builder{F: &clif.Func{Mod: testModule(nil, nil)}}}
	g.b.SwitchTo(g.b.NewBlock())
	c.build(g)
	return g, !g.bad
}

// lanewise returns the one shape of an f each lane of whose result depends on the lanes in the same place, if it is such a function.
func lanewise(f *clif.Func) (shape clif.Type, ok bool) {
	shape = clif.Invalid
	for i := range f.Insts {
		d := &f.Insts[i]
		switch {
		case acrossLanes[d.Op] || d.Op == clif.OpVextract || d.Op == clif.OpVextractS || d.Op == clif.OpVinsert:
			return clif.I8x16, false
		case d.Type.IsShape() && shape != clif.Invalid && d.Type != shape:
			return clif.I8x16, false
		case d.Type.IsShape():
			shape = d.Type
		}
	}
	if shape == clif.Invalid {
		shape = clif.I8x16 // each bit for itself, so any
	}
	return shape, true
}

// rowRun is the functions of a case, on inputs.
type rowRun struct {
	family
	consts []rowConst
	in     [][]uint64 // columns
	n      int
	ks     [][]uint64 // words of constants, by function
	floats bool
}

const rowLetters = "?nwfdv" // by type

// plan makes the inputs and constants for the functions that g has begun: all of them, if there are few, or some.
func (c *rowCase) plan(p *prover, g *rowFunc, functions int, r *rand.Rand) (run rowRun) {
	p.mod = testModule(g.params, nil)
	run.consts = g.consts
	run.build = func(b bld, params, ks []val) val {
		g := rowFunc{shrink: p.opt.shrink, b: b, real: true, p: params, k: ks}
		return c.build(&g)
	}
	vectors := c.root == clif.V128 || c.root.IsShape()
	var consts []clif.Type
	for _, k := range g.consts {
		consts = append(consts, k.typ)
		run.family.consts += string(rowLetters[k.typ])
	}
	for _, t := range g.params {
		run.params += string(rowLetters[t])
	}
	for _, t := range append(consts, g.params...) {
		run.floats, vectors = run.floats || t.IsFloat(), vectors || t == clif.V128
	}
	if vectors {
		run.shape, run.lanewise = lanewise(g.b.F)
		run.floats = run.floats || run.shape.IsFloatShape()
	}
	scalars, parts := p.widths(&run.family, g.params)
	kScalars, kParts := p.widths(&run.family, consts)
	all := scalars+parts <= 8 && !run.floats
	allK := kScalars+kParts <= 8 && c.miss.how == noMiss && !run.floats
	var rows [][]uint64
	if all {
		_, per := p.parts(&run.family)
		for s := range uint64(1) << scalars {
			for first := 0; first < 1<<parts; first += per {
				rows = append(rows, p.spread(&run.family, g.params, s, func(i int) uint64 { return uint64(first+i) & mask(parts) }))
			}
		}
	} else {
		for range 100 {
			rows = append(rows, p.samples(&run.family, g.params, r))
		}
	}
	run.n, run.in = len(rows), make([][]uint64, clif.Words(g.params))
	for _, words := range rows {
		for w, x := range words {
			run.in[w] = append(run.in[w], x)
		}
	}
	if allK {
		for k := range uint64(1) << (kScalars + kParts) {
			run.ks = append(run.ks, p.spread(&run.family, consts, k&mask(kScalars), func(int) uint64 { return k >> kScalars }))
		}
	}
	if vectors {
		functions = max(functions/2, 3) // lanes are many inputs
	}
	for i := range functions {
		if !allK || kParts > 0 && i < 4 {
			run.ks = append(run.ks, run.sampleConsts(p, i, r))
		}
	}
	return run
}

// sampleConsts returns words of constants, most often such as have their properties.
func (run *rowRun) sampleConsts(p *prover, i int, r *rand.Rand) (words []uint64) {
	for _, k := range run.consts {
		is := constWords[k.word]
		if k.typ.IsFloat() || k.typ == clif.V128 && (is == nil || i%4 == 0) {
			words = append(words, p.samples(&family{shape: run.shape}, []clif.Type{k.typ}, r)...)
			continue
		}
		t := k.typ
		if t == clif.V128 {
			t = k.counted
		}
		x := p.sample(t, r)
		if i%4 == 1 {
			x = r.Uint64N(2)
		}
		for try := 0; is != nil && i%4 != 0 && try < 500 && !is(p.opt.widths, k.counted, x); try++ {
			x = p.sample(t, r)
		}
		if k.typ == clif.V128 {
			v := arith.Splat(t, p.opt.shrink, x)
			words = append(words, v[:]...)
		} else {
			words = append(words, x)
		}
	}
	return words
}

// run compares functions of a case before and after the row. It returns how often it was applied, and whether there are such functions.
func (c *rowCase) run(t *testing.T, p *prover, rule Rule, text string, functions int, r *rand.Rand) (hits int, ok bool) {
	t.Helper()
	g, ok := c.begin(p)
	if !ok {
		return 0, false
	}
	run := c.plan(p, g, functions, r)
	run.name = text
	before := sum(p.fired[rule][:])
	for i, ks := range run.ks {
		err := p.check(&run.family, ks, run.in, run.n)
		if err == nil && p.opt.shrink == 0 && (run.floats || i == 0 && arith.IsVector(c.op)) {
			err = run.interpreted(t, p)
		}
		if err != nil {
			t.Errorf("%v: %s, %v.%v, variables %d, change %v of %v: %v", rule, text, c.op, c.root, c.kind, c.miss.how, c.miss.at, err)
			return 1, true
		}
	}
	return sum(p.fired[rule][:]) - before, true
}

func sum(ns []int) (n int) {
	for _, x := range ns {
		n += x
	}
	return n
}

// interpreted compares what the interpreter gives before and after.
func (run *rowRun) interpreted(t *testing.T, p *prover) error {
	t.Helper()
	before, after := newWorld(t, &p.f), newWorld(t, &p.g)
	for i := range min(run.n, 20) {
		var in []uint64
		for _, c := range run.in {
			in = append(in, c[i])
		}
		if a, b := before.call(t, in), after.call(t, in); a != b {
			return fmt.Errorf("f(%#x): %s before, %s after\n%v%v", in, a, b, &p.f, &p.g)
		}
	}
	return nil
}

// TestRows takes each row of each rule alone. For each opcode, type, condition and order of operands that it names, functions that its left
// fits give the same as before, for all values of narrow integers and lanes and for some of wide ones, and the row is applied to some. So do
// functions with one change: another opcode, condition, constant or type, a lane that differs, other operands, or operands in another order.
func TestRows(t *testing.T) {
	functions, misses := testenv.Cases(16, 16, 40), testenv.Cases(3, 4, 20)
	numRows, numCases, numMisses, applied := 0, 0, 0, 0
	for _, shrink := range []uint8{3, 2, 0} {
		r := rand.New(rand.NewPCG(uint64(shrink), 11))
		eachRow(t, func(rule Rule, text string, cases []rowCase) {
			numRows++
			p := newProver(shrink)
			p.only(rule, text)
			var changes []rowMiss
			if len(cases) > 0 {
				changes = rowMisses(cases[0].left, true, map[string]bool{})
			}
			for _, c := range cases {
				hits, built := 0, shrink == 0 // floats are not narrow
				for kind := range c.kinds() {
					c.kind = kind
					// Where opcode, type or lane inside may be one of several, some have no function, or do not fit.
					for range 32 {
						c.seed = r.Uint64()
						if n, ok := c.run(t, p, rule, text, functions, r); ok {
							built = true
							if hits += n; hits > 0 {
								break
							}
						}
					}
					for m, tries := 0, 0; m < misses && tries < 8*misses; tries++ {
						miss := c
						miss.miss, miss.seed = pickFrom(r, changes), r.Uint64()
						if n, ok := miss.run(t, p, rule, text, 4, r); ok {
							applied += min(1, n)
							numMisses++
							m++
						}
					}
				}
				if numCases++; hits == 0 && built {
					t.Errorf("%s: never applied to %v.%v %d, widths over %d", text, c.op, c.root, c.cond, 1<<shrink)
				}
			}
			if len(cases) == 0 {
				t.Errorf("%s: no type", text)
			}
		})
	}
	t.Logf("%d rows at all widths, %d opcodes, types and conditions; %d functions with a change, of which rows still fit %d", numRows, numCases, numMisses, applied)
}

// rowsAlone is ruleTable without code, which might do what a row says.
func rowsAlone(rows *rowTable) (r [clif.NumOpcodes]rule) {
	for op := range clif.NumOpcodes {
		if rows.byOp[op].num > 0 {
			r[op] = ruleRows
		}
	}
	return r
}

// TestRowsAsked: where an opcode has rows, they are what is asked, alone or by one of the functions that ask for something besides. All of them compile.
func TestRowsAsked(t *testing.T) {
	asks := map[uintptr]bool{}
	for _, f := range []rule{ruleRows, ruleVector, ruleAdd, ruleMul, ruleUshr} {
		asks[reflect.ValueOf(f).Pointer()] = true
	}
	rules, rows := ruleTable(), rows()
	for op := range clif.NumOpcodes {
		if rows.byOp[op].num == 0 {
			continue
		}
		if !asks[reflect.ValueOf(rules[op]).Pointer()] {
			t.Errorf("%v has rows, and another function is asked", op)
		}
		if n := len(rows.of(op).rows); n != int(rows.byOp[op].num) {
			t.Errorf("%v has %d rows of %d", op, n, rows.byOp[op].num)
		}
	}
}

// kinds is the number of kinds of variables that make a difference.
func (c *rowCase) kinds() int {
	if arith.IsVector(c.op) {
		return 1
	}
	return numVars
}

// only makes p apply this row alone.
func (p *prover) only(rule Rule, text string) {
	alone := make([]ruleDef, NumRules)
	def := &ruleDefs[rule]
	alone[rule] = ruleDef{Name: def.Name, Row: text, Last: def.Last, Types: def.Types}
	rows := newRowTable(alone)
	p.opt.fold.rules, p.opt.fold.rows, p.opt.fold.byOp = rowsAlone(rows), rows, [clif.NumOpcodes]*candidates{}
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
			for kind := range c.kinds() {
				c.kind, c.seed = kind, r.Uint64()
				c.run(t, p, rule, text, functions, r)
			}
		}
	})
}

// vectorRowFuncs are functions that rows for vectors fit, one for each opcode and type.
func vectorRowFuncs(t *testing.T) (funcs []*clif.Func) {
	t.Helper()
	p, r := newProver(0), rand.New(rand.NewPCG(3, 8))
	eachRow(t, func(_ Rule, _ string, cases []rowCase) {
		for _, c := range cases {
			for try := uint64(0); arith.IsVector(c.op) && try < 32; try++ {
				c.seed = try
				if g, ok := c.begin(p); ok {
					run := c.plan(p, g, 3, r)
					funcs = append(funcs, clone(p.function(&run.family, run.ks[len(run.ks)-1])))
					break
				}
			}
		}
	})
	return funcs
}

// eachRow calls f for each row, in each order of operands.
func eachRow(t *testing.T, f func(rule Rule, text string, cases []rowCase)) {
	t.Helper()
	for rule := range NumRules {
		for text := range rowTexts(ruleDefs[rule].Row) {
			left, _, _ := splitRow(text)
			for exchange := range pattern.Orders(left) {
				n := parseLeft(t, left, uint(exchange))
				f(rule, text, rowCases(&n, ruleDefs[rule].Types))
			}
		}
	}
}

func parseLeft(t *testing.T, left string, exchange uint) pattern.Pattern {
	t.Helper()
	p := pattern.Parser{Ops: clif.OpcodesByName(), Exchange: exchange}
	p.Ops["op"] = opWhole
	n, err := p.Parse(left)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// rowCases are the opcodes, types and conditions to which a row applies.
func rowCases(n *pattern.Pattern, types clif.TypeSet) (all []rowCase) {
	for _, op := range n.Ops {
		for t := range clif.NumControlTypes {
			if !types.Has(t) || n.Type != clif.Invalid && n.Type != t || !op.Info().Types.Has(t) || t.IsRef() {
				continue
			}
			c := rowCase{left: n, op: op, root: t}
			for cc := range uint8(numConditions(op)) {
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
		{"(iadd! x k) => x", "stand as they are"},
		{"(iadd x (ishl! y k)) => x", "stand as they are"},
		{"x => x", "wrong pattern"},
		{"(vadd.any x y) => x", "no instruction"},
		{"(vaddd x y) => x", "no instruction"},
		{"(vadd x y) => (vadd~ x y)", "one order"},
		{"(vadd x y) => (vadd.same x y)", "the same"},
	} {
		func() {
			defer func() {
				got := fmt.Sprint(recover())
				if c.message == "" && got != "<nil>" || !strings.Contains(got, c.message) {
					t.Errorf("%s: %s", c.row, got)
				}
			}()
			rows := newRowTable([]ruleDef{{Name: "a", Row: c.row}})
			for op := range clif.NumOpcodes {
				rows.of(op)
			}
		}()
	}
}
