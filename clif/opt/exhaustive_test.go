package opt

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/verify"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/proof/testenv"
)

var everything = flag.Bool("everything", false, "TestExhaustive: no samples of the largest patterns, but all of them")

// fired is how often rules applied, by rule and type.
type fired [NumRules][clif.NumControlTypes]int

func (n *fired) add(log []Rewrite) {
	for i := range log {
		for r := range NumRules {
			if r.Info() == log[i].Rule {
				n[r][log[i].Type]++
			}
		}
	}
}

// prover compares functions before and after, on columns of inputs.
type prover struct {
	opt           Optimizer
	mod           *clif.Module
	before, after *small
	f, g          clif.Func
	fired         fired
	functions     int
	evaluations   int
}

func newProver(shrink uint8) *prover {
	p := &prover{before: newSmall(uint(shrink)), after: newSmall(uint(shrink))}
	p.opt.widths.shrink = shrink
	p.opt.Control = &Control{Limit: -1}
	return p
}

// widths returns how many bits the scalars of the types have together, and one independent part of each vector of the pattern.
func (p *prover) widths(pat *family, types []clif.Type) (scalars, vectors uint) {
	part, _ := p.parts(pat)
	for _, t := range types {
		if t == clif.V128 {
			vectors += part
		} else {
			scalars += p.before.bits(t)
		}
	}
	return scalars, vectors
}

// columns are n combinations of values of the types: all that there are, or samples.
func (p *prover) columns(types []clif.Type, n int, all bool, r *rand.Rand) (cols [][]uint64) {
	for range types {
		cols = append(cols, make([]uint64, n))
	}
	for i := range n {
		rest := uint64(i)
		for k, t := range types {
			bits := p.before.bits(t)
			if all {
				cols[k][i] = rest & mask(bits)
				rest >>= bits
			} else {
				cols[k][i] = p.sample(t, r)
			}
		}
	}
	return cols
}

// sample is a corner value or a random one.
func (p *prover) sample(t clif.Type, r *rand.Rand) uint64 {
	bits := p.opt.widths.bits(t)
	near := uint64(r.IntN(5)) - 2
	switch r.IntN(4) {
	case 0: // near a power of two
		return (1<<r.UintN(bits) + near) & mask(bits)
	case 1:
		return (mask(bits)<<r.UintN(bits) + near) & mask(bits)
	case 2:
		return near & mask(bits)
	}
	return r.Uint64() >> r.UintN(64) & mask(bits)
}

// function makes one function of the pattern.
func (p *prover) function(pat *family, consts []uint64) *clif.Func {
	f := &p.f
	f.Reset()
	f.Name, f.Mod = pat.name, p.mod
	b := &clif.Builder{F: f}
	entry := b.NewBlock()
	var params, ks []val
	for i := range pat.params {
		params = append(params, b.AddParam(entry, pat.typeOf(pat.params[i])))
	}
	b.SwitchTo(entry)
	words := consts
	for i := range pat.consts {
		switch t := pat.typeOf(pat.consts[i]); {
		case t == clif.V128:
			ks = append(ks, b.Vconst(words[0], words[1]))
			words = words[1:]
		case t.IsFloat():
			ks = append(ks, b.Fconst(t, words[0]))
		default:
			ks = append(ks, b.Iconst(t, words[0]))
		}
		words = words[1:]
	}
	v := pat.build(b, params, ks)
	p.mod.Sigs[0].Results = append(p.mod.Sigs[0].Results[:0], f.TypeOf(v))
	b.Return([]val{v})
	return f
}

// check compares one function of the pattern.
func (p *prover) check(pat *family, consts []uint64, in [][]uint64, n int) error {
	f := p.function(pat, consts)
	copyFunc(&p.g, f)
	p.opt.Control.Reset()
	if err := p.opt.Run(&p.g, O1); err != nil {
		return err
	}
	if p.functions%16 == 0 {
		if err := verify.Func(&p.g); err != nil {
			return fmt.Errorf("%w\n%v%v", err, f, &p.g)
		}
	}
	p.fired.add(p.opt.Control.Log)
	p.functions++
	p.evaluations += n
	x, xt := p.before.run(f, in, n)
	y, yt := p.after.run(&p.g, in, n)
	for i := range n {
		if xt[i] != yt[i] || xt[i] == 0 && differ(x, y, i) {
			return p.difference(i, in, consts, x, y, xt[i], yt[i])
		}
	}
	return nil
}

// differ reports whether input i has other words in x than in y.
func differ(x, y [][]uint64, i int) bool {
	for w := range x {
		if x[w][i] != y[w][i] {
			return true
		}
	}
	return false
}

func (p *prover) difference(i int, in [][]uint64, consts []uint64, x, y [][]uint64, xt, yt abi.TrapCode) error {
	var at []uint64
	for _, c := range in {
		at = append(at, c[i])
	}
	show := func(r [][]uint64, trap abi.TrapCode) string {
		if trap != 0 {
			return trap.String()
		}
		var words []uint64
		for w := range r {
			words = append(words, r[w][i])
		}
		return fmt.Sprintf("%#x", words)
	}
	return fmt.Errorf("f(%#x) with constants %#x: %s before, %s after\n%v%v", at, consts, show(x, xt), show(y, yt), &p.f, &p.g)
}

// pattern compares the functions of one pattern: with all constants on all inputs, if
// these are at most limit bits, and the constants limitK; else the given number of functions on 200 inputs.
// It reports which it was.
func (p *prover) pattern(t *testing.T, pat *family, limit, limitK uint, functions int, r *rand.Rand) bool {
	if pat.shape != clif.Invalid {
		return p.vectors(t, pat, limit, limitK, functions, r)
	}
	params, consts := pat.types(pat.params), pat.types(pat.consts)
	p.mod = testModule(params, nil)
	n, m := 200, functions
	all := p.exhaustible(pat, limit, limitK)
	if all {
		bits, _ := p.widths(pat, params)
		kBits, _ := p.widths(pat, consts)
		n, m = 1<<bits, 1<<kBits
	} else if len(consts) == 0 {
		n, m = 200*functions, 1
	}
	in, rows := p.columns(params, n, all, r), p.columns(consts, m, all, r)
	ks := make([]uint64, len(consts))
	for i := range m {
		for k := range ks {
			ks[k] = rows[k][i]
		}
		if err := p.check(pat, ks, in, n); err != nil {
			t.Fatalf("%s: %v", pat.name, err)
		}
	}
	return all
}

// exhaustible reports whether the operands of a pattern have at most limit bits, limitK of them in constants. Of a vector its independent
// parts count, and it takes as long as many numbers.
func (p *prover) exhaustible(pat *family, limit, limitK uint) bool {
	if pat.shape != clif.Invalid {
		limit = min(limit, 20)
	}
	scalars, vectors := p.widths(pat, pat.types(pat.params))
	kScalars, kVectors := p.widths(pat, pat.types(pat.consts))
	k := kScalars + kVectors
	return !pat.shape.IsFloatShape() && scalars+vectors+k <= limit && k <= limitK
}

// notSmall is why TestExhaustive does not see a rule, or empty.
func notSmall(r Rule) string {
	switch ruleDefs[r].Code {
	case codeModule:
		return "no arithmetic: what the module declares"
	case codeRef:
		return "no arithmetic: references"
	case codeControl:
		return "control flow"
	}
	return notSmallRules[r]
}

var notSmallRules = map[Rule]string{
	RuleBitcastBack: "floats have no form of 8 bits", RuleFoldBitcast: "floats have no form of 8 bits",
	RuleFoldFloat: "floats have no form of 8 bits", RuleFoldFcvt: "floats have no form of 8 bits",
	RuleLoadLow: "no arithmetic: memory", RuleAddressSum: "no arithmetic: memory",
	RuleStoreSame: "no arithmetic: memory", RuleStoreOver: "no arithmetic: memory", RuleStoreBorn: "no arithmetic: objects", RuleCopySmall: "no arithmetic: memory", RuleFillSmall: "no arithmetic: memory", RuleEqualCheck: "no arithmetic: types of functions",
	RuleTailSelf: "control flow", RuleNonzeroResult: "control flow", RuleThreadEdge: "control flow", RuleEdgesAgree: "control flow", RuleThreadTable: "control flow", RuleThreadBranch: "control flow", RuleParamSame: "control flow", RuleBranchSelect: "control flow",
	RuleCountFromZero: "control flow", RuleExitValue: "control flow", RuleCopyResumed: "control flow", RuleObjectUnseen: "no arithmetic: objects", RuleCallHeld: "no arithmetic: what the module declares", RuleAllocateInLine: "no arithmetic: objects",
	RuleByteCopy: "control flow", RuleByteFill: "control flow", RuleByteCompare: "control flow",
}

// TestExhaustive compares what rules make of their patterns with what was there, where all
// integers are so short that all of them can be tried: i64 of 8 bits with i32 of 4, and
// i32 of 8 bits with i64 of 16. Every rule must apply, at each type of integers that it is for; with
// -everything, in patterns that are tried on all values, except for vectors.
func TestExhaustive(t *testing.T) {
	limit, limitK, functions := testenv.Cases[uint](13, 15, 18), uint(8), testenv.Cases(50, 80, 300)
	vectorLimit, vectorPart := testenv.Cases[uint](11, 13, 18), testenv.Cases(1, 3, 1)
	const allLimit, allLimitK = 26, 16 // with -everything
	if *everything {
		limit, limitK, functions = allLimit, allLimitK, 4000
	}
	numPatterns, numSampled := 0, 0 // with -everything
	var total fired
	for _, shrink := range []uint8{3, 2} {
		p := newProver(shrink)
		r := rand.New(rand.NewPCG(uint64(shrink), 1))
		complete, sampled := 0, 0
		for _, pat := range patterns() {
			if pat.shape.IsFloatShape() {
				continue // floats have no narrow form
			}
			if numPatterns++; !p.exhaustible(&pat, allLimit, allLimitK) {
				numSampled++
			}
			old := p.fired
			limit, functions := limit, functions
			if pat.shape != clif.Invalid && !*everything { // there are many, for each shape
				limit, functions = min(limit, vectorLimit), functions/vectorPart
			}
			if p.pattern(t, &pat, limit, limitK, functions, r) {
				complete++
				continue
			}
			if sampled++; *everything && pat.shape == clif.Invalid {
				p.fired = old // of vectors, too many values would be left: what mixes lanes has all in one part
			}
		}
		p.rows(t, functions/10, r)
		t.Logf("i32 of %d bits, i64 of %d: %d patterns on all values, %d on samples; %d functions, %d evaluations",
			p.before.narrow, p.before.wide, complete, sampled, p.functions, p.evaluations)
		for r := range NumRules {
			for ty := range clif.NumControlTypes {
				total[r][ty] += p.fired[r][ty]
			}
		}
	}
	count, applications, unseen := 0, 0, 0
	for r := range NumRules {
		if notSmall(r) != "" {
			unseen++
			continue
		}
		info, before := r.Info(), count
		for ty := range clif.NumControlTypes {
			n := total[r][ty]
			applications += n
			switch has := info.Types.Has(ty) || info.Types == 0 && ty == clif.Invalid; {
			case has && !ty.IsFloat() && !ty.IsRef() && !ty.IsFloatShape():
				count++
				if n == 0 {
					t.Errorf("%v never applied to %v", r, ty)
				}
			case n > 0 && !has:
				t.Errorf("%v applied to %v, which its table does not say", r, ty)
			}
		}
		if count == before {
			t.Errorf("%v has no type that is tried", r)
		}
	}
	t.Logf("%d rules at %d types applied %d times; %d rules have no form of 8 bits", int(NumRules)-unseen, count, applications, unseen)
}

// TestPatterns is TestExhaustive on corner and random values at full width.
func TestPatterns(t *testing.T) {
	functions := testenv.Cases(20, 30, 60)
	if *everything {
		functions = 5000
	}
	p := newProver(0)
	r := rand.New(rand.NewPCG(5, 1))
	for _, pat := range patterns() {
		p.pattern(t, &pat, 0, 0, functions, r)
	}
	t.Logf("%d functions, %d evaluations", p.functions, p.evaluations)
}

// TestSmall compares the evaluator with the interpreter at full width, each operation on
// all pairs of corners.
func TestSmall(t *testing.T) {
	s := newSmall(0)
	compared := 0
	for _, p := range pureOps() {
		if !p.result.IsInt() || p.args[0].IsFloat() {
			continue
		}
		m := testModule(p.args, []clif.Type{p.result})
		f, b := newFunc(m)
		var args []val
		for i := range p.args {
			args = append(args, val(i))
		}
		b.Return([]val{p.emit(b, args)})
		var in [][]uint64
		n := 0
		for _, x := range corners(p.args[0]) {
			for _, y := range corners(p.args[len(p.args)-1]) {
				row := []uint64{x, y, y ^ 1}
				for i := range p.args {
					if len(in) <= i {
						in = append(in, nil)
					}
					in[i] = append(in[i], row[i])
				}
				n++
			}
		}
		out, traps := s.run(f, in, n)
		w := newWorld(t, f)
		for i := range n {
			var x []uint64
			for _, c := range in {
				x = append(x, c[i])
			}
			got := fmt.Sprintf(" %x", out[0][i])
			if traps[i] != 0 {
				got = "trap " + traps[i].String()
			}
			if want := w.call(t, x); got != want {
				t.Fatalf("%v(%#x): %s, the interpreter says %s", &p, x, got, want)
			}
			compared++
		}
	}
	t.Logf("%d evaluations agree", compared)
}
