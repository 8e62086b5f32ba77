package isatest

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/instance"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/pattern"
	"github.com/waot-project/waot/regalloc/linear"
)

// This file defines the words of lowering rules by examples.

// ConstWord is constants that a word accepts, and some that it refuses, by type, sign-extended. The rejected ones are next to
// accepted ones where that can be.
type ConstWord struct{ Accepts, Refuses map[clif.Type][]int64 }

// both returns a word that is the same for both types.
func both(accepts, refuses []int64) ConstWord {
	return ConstWord{map[clif.Type][]int64{clif.I32: accepts, clif.I64: accepts}, map[clif.Type][]int64{clif.I32: refuses, clif.I64: refuses}}
}

// ofTypes returns a word that differs by type: accepted and refused i32, then i64.
func ofTypes(accepts32, refuses32, accepts64, refuses64 []int64) ConstWord {
	return ConstWord{map[clif.Type][]int64{clif.I32: accepts32, clif.I64: accepts64}, map[clif.Type][]int64{clif.I32: refuses32, clif.I64: refuses64}}
}

type ks = []int64

const (
	minI32 = math.MinInt32
	maxI32 = math.MaxInt32
)

// constWords are the predicates of constants on all machines. Where machines have a word, it means the same.
var constWords = map[string]ConstWord{
	"nonzero":        both(ks{1, -1, 2, minI32}, ks{0}),
	"divisor":        both(ks{1, 2, -2, maxI32}, ks{0, -1}),
	"not-minus-one":  both(ks{0, 1, -2}, ks{-1}),
	"pow2":           ofTypes(ks{1, 2, 64, 1 << 30}, ks{0, -1, 3, 65, minI32}, ks{1, 2, 1 << 31, 1 << 62}, ks{0, -1, 3, minI32, math.MinInt64}),
	"pow2-imm32":     ofTypes(ks{1, 2, 1 << 30}, ks{0, -1, 3, minI32}, ks{1, 2, 1 << 30}, ks{0, 3, 1 << 31, 1 << 40}),
	"pow2-plus-1":    ofTypes(ks{3, 5, 9, 1<<30 + 1}, ks{0, 1, 2, 4, 6, 7, -1}, ks{3, 5, 1<<40 + 1}, ks{0, 1, 2, 4, 7, -1}),
	"imm32":          ofTypes(ks{0, -1, minI32, maxI32}, nil, ks{0, -1, minI32, maxI32}, ks{minI32 - 1, maxI32 + 1}),
	"neg-imm32":      ofTypes(ks{0, 1, minI32 + 1, maxI32}, ks{minI32}, ks{0, 1 << 31, minI32 + 1}, ks{minI32, 1<<31 + 1}),
	"nonzero-imm32":  ofTypes(ks{1, -1, minI32, maxI32}, ks{0}, ks{1, -1, minI32, maxI32}, ks{0, minI32 - 1, maxI32 + 1}),
	"imm31":          ofTypes(ks{0, 1, maxI32}, ks{-1, minI32}, ks{0, maxI32}, ks{-1, maxI32 + 1}),
	"scale":          ofTypes(ks{1, 2, 3, 33}, ks{0, 4, 32, 36, -1}, ks{1, 2, 3, 65}, ks{0, 4, 33, 64, 68, -1}),
	"lea-factor":     both(ks{3, 5, 9}, ks{2, 4, 6, 8, 10, -3}),
	"low-mask":       ofTypes(ks{0xff, 0xffff}, ks{0xfe, 0x1ff, 0x7fff, 0x1ffff, maxI32}, ks{0xff, 0xffff, 0xffff_ffff}, ks{0xfe, 0x1ffff, maxI32, 0x1_ffff_ffff}),
	"by-one":         ofTypes(ks{1, 33}, ks{0, 2, 32, 34, -1}, ks{1, 65}, ks{0, 2, 33, 64}),
	"amount":         ofTypes(ks{1, 31, 33, -1}, ks{0, 32, 64, -32}, ks{1, 32, 63, 65}, ks{0, 64, 128}),
	"to4":            ofTypes(ks{1, 4, 33}, ks{0, 5, 32, -1}, ks{1, 4, 65}, ks{0, 5, 33, 64}),
	"to32":           ofTypes(ks{1, 32}, ks{0, 33, -1}, ks{1, 32, 65}, ks{0, 33, 63, 64}),
	"keeps-amount":   ofTypes(ks{31, 63, -1}, ks{30, 0, 32, 15}, ks{63, 127, -1}, ks{31, 62, 64}),
	"extension":      ofTypes(ks{0xff, 0xffff}, ks{0xfe, 0x1ff, 0xfffe, -1}, ks{0xff, 0xffff, 0xffff_ffff}, ks{0xfe, 0x1ffff, 0xffff_fffe, -1}),
	"ones":           ofTypes(ks{1, 3, 0xff, -1}, ks{0, 2, 5, -2}, ks{1, 3, 0xff, -1, 1<<33 - 1}, ks{0, 2, 5, -2}),
	"arith":          both(ks{0, 1, 4095, 4096, 0xfff000, -1, -4095, -0xfff000}, ks{4097, 0xfff001, 0x1000000, -4097, minI32}),
	"arith-twice":    both(ks{1<<16 + 1, 1<<24 - 1, -(1<<16 + 1)}, ks{0, 1 << 16, 1 << 24, -(1 << 16), -(1 << 24)}),
	"positive-arith": both(ks{1, 4095, 4096, 0xfff000}, ks{0, -1, 4097, 0x1000000}),
	"five-bits":      both(ks{0, 1, 31, -1, -31}, ks{32, -32, minI32}),
	"offset":         both(ks{0, 1, 4095, 4096, 0xfff000}, ks{-1, -4096, 4097, 0x1000000}),
	"elements":       both(ks{0, 1, 511, 512}, ks{-1, -512, maxI32}),
	"bits":           ofTypes(ks{1, 2, 0xff, -2, 0x55555555}, ks{0, -1, 5, 0x12345}, ks{1, 0xff, -2, 0x5555555555555555}, ks{0, -1, 5, 0x12345}),
}

// guardWord has matches that a guard accepts and some that it refuses, for guards that look only at what bound has.
type guardWord struct{ accepts, refuses []bound }

// bound is the part of a match that such guards look at.
type bound struct {
	t       clif.Type
	k, j, i int64
	bytes   int
}

var guardWords = map[string]guardWord{
	"low-half":        {[]bound{{bytes: 1}, {bytes: 4}}, []bound{{bytes: 8}}},
	"two-bytes":       {[]bound{{bytes: 1}, {bytes: 2}}, []bound{{bytes: 4}, {bytes: 8}}},
	"one-byte":        {[]bound{{bytes: 1}}, []bound{{bytes: 2}, {bytes: 8}}},
	"mask-covers":     {[]bound{{k: 0xff, bytes: 1}, {k: 0x1ffff, bytes: 2}, {k: -1, bytes: 8}}, []bound{{k: 0xfe, bytes: 1}, {k: 0x7fff, bytes: 2}, {k: maxI32, bytes: 4}}},
	"whole-width":     {[]bound{{t: clif.I32, k: 8, j: 24}, {t: clif.I64, k: 8, j: 56}}, []bound{{t: clif.I32, k: 8, j: 23}, {t: clif.I32, k: 9, j: 24}, {t: clif.I64, k: 8, j: 24}}},
	"ones-below-sign": {[]bound{{t: clif.I32, k: 24, j: 0xff}, {t: clif.I64, k: 25, j: 0xff}}, []bound{{t: clif.I32, k: 25, j: 0xff}, {t: clif.I64, k: 57, j: 0xff}}},
	"ones-from-k":     {[]bound{{t: clif.I32, k: 8, j: 0xff00}}, []bound{{t: clif.I32, k: 8, j: 0xfe00}, {t: clif.I32, k: 8, j: 0xff}}},
	"ones-above-k":    {[]bound{{t: clif.I32, k: 8, j: 0xff0f}}, []bound{{t: clif.I32, k: 8, j: 0xfe0f}, {t: clif.I32, k: 8, j: 0xff}}},
	"extracts":        {[]bound{{t: clif.I32, k: 8, j: 8}, {t: clif.I32, k: 9, j: 8}}, []bound{{t: clif.I32, k: 7, j: 8}}},
	"places":          {[]bound{{t: clif.I32, k: 7, j: 8}}, []bound{{t: clif.I32, k: 8, j: 8}, {t: clif.I32, k: 9, j: 8}}},
	"takes-field": {[]bound{{t: clif.I32, k: ^0xff, i: 0xff, j: 24}},
		[]bound{{t: clif.I32, k: ^0xff, i: 0xff, j: 25}, {t: clif.I32, k: ^0xff, i: 0x7f, j: 8}, {t: clif.I32, k: ^0xff00, i: 0xff00, j: 8}, {t: clif.I32, k: -1, i: 0, j: 8}}},
	"low-field":    {[]bound{{t: clif.I32, k: ^0xff, i: 0xff}}, []bound{{t: clif.I32, k: ^0xff, i: 0x1ff}, {t: clif.I32, k: ^0xff0, i: 0xff0}, {t: clif.I32, k: -1}}},
	"takes-top":    {[]bound{{t: clif.I32, k: ^0xff, j: 24}, {t: clif.I64, k: ^0xff, j: 56}}, []bound{{t: clif.I32, k: ^0xff, j: 23}, {t: clif.I32, k: ^0xff00, j: 24}, {t: clif.I64, k: ^0xff, j: 24}}},
	"masked-field": {[]bound{{t: clif.I32, k: ^0xff00, j: 8, i: 0xff}}, []bound{{t: clif.I32, k: ^0xff00, j: 7, i: 0xff}, {t: clif.I32, k: ^0xff00, j: 8, i: 0x7f}, {t: clif.I32, k: ^0xf0f00, j: 8, i: 0xf0f}}},
	"top-field":    {[]bound{{t: clif.I32, k: 0xffff, j: 16}, {t: clif.I64, k: maxI32, j: 31}}, []bound{{t: clif.I32, k: 0xffff, j: 15}, {t: clif.I32, k: ^0xff0000, j: 16}, {t: clif.I64, k: 0xffff, j: 48}}},
	"placed-field": {[]bound{{t: clif.I32, k: ^0xff00, j: 8, i: 0xff00}}, []bound{{t: clif.I32, k: ^0xff00, j: 7, i: 0xff00}, {t: clif.I32, k: ^0xff00, j: 8, i: 0xff}}},
	"compare-imm":  {[]bound{{t: clif.I32, k: 4095}, {t: clif.I32, k: -4096}}, []bound{{t: clif.I32, k: 0x12345}, {t: clif.I64, k: 1 << 40}}},
}

// testWords: each word of a machine is in a pattern, and accepts and refuses what its examples say.
func testWords(t *testing.T, on *Machine) {
	target, err := on.Target(on.Levels[0])
	if err != nil {
		t.Fatal(err)
	}
	words := &target.Rules.Words
	used := map[string]bool{}
	for r := range target.Rules.Rows {
		_, asked := rowWords(t, &target.Rules.Rows[r])
		for _, word := range asked {
			used[word] = true
		}
	}
	for _, word := range slices.Concat(slices.Collect(maps.Keys(words.Consts)), slices.Collect(maps.Keys(words.Values)), slices.Collect(maps.Keys(words.Guards))) {
		if !used[word] {
			t.Errorf("no rule has the word %s", word)
		}
	}
	for word, accepts := range words.Consts {
		examples := constWords[word]
		for want, byType := range map[bool]map[clif.Type][]int64{true: examples.Accepts, false: examples.Refuses} {
			n := 0
			for typ, ks := range byType {
				for _, k := range ks {
					n++
					if accepts(typ, k) != want {
						t.Errorf("%s of %v: %#x is accepted: %v", word, typ, k, !want)
					}
				}
			}
			if n == 0 {
				t.Errorf("%s: no example that it accepts: %v", word, want)
			}
		}
	}
}

// testGuards: guards that look at constants accept and refuse what their examples say; each other guard and each property of a value
// accepts something and refuses something in functions made from the patterns that have it.
func testGuards(t *testing.T, on *Machine) {
	answers := map[string]*[2]int{} // how often a word has refused, and accepted
	known := func(word string) bool {
		n, x := answers[word], guardWords[word]
		return n == nil || n[0]+len(x.refuses) > 0 && n[1]+len(x.accepts) > 0
	}
	count := func(word string, yes bool) bool {
		if yes {
			answers[word][1]++
		} else {
			answers[word][0]++
		}
		return yes
	}
	for _, level := range slices.Backward(on.Levels) { // most rules apply on the last
		original, err := on.Target(level)
		if err != nil {
			t.Fatal(err)
		}
		words := original.Rules.Words
		words.Guards, words.Values = maps.Clone(words.Guards), maps.Clone(words.Values)
		for word, accepts := range words.Guards {
			answers[word] = cmp.Or(answers[word], new([2]int))
			guardExamples(t, word, accepts)
			words.Guards[word] = func(q *backend.Query, m *backend.Match) bool { return count(word, accepts(q, m)) }
		}
		for word, accepts := range words.Values {
			answers[word] = cmp.Or(answers[word], new([2]int))
			words.Values[word] = func(q *backend.Query, v clif.Value) bool { return count(word, accepts(q, v)) }
		}
		target := *original
		target.Rules = backend.NewRules(original.Rules.Rows, &words)
		s := newRuleSuite(on)
		compiler := backend.New(&target, instance.New(&s.Module.Module), &s.Module.Module, backend.Options{Allocator: linear.New(), SkipChecker: true})
		for r := range backend.Rule(len(target.Rules.Rows)) {
			p, asked := rowWords(t, &target.Rules.Rows[r])
			open := func(word string) bool { return !known(word) }
			others := othersOf(target.Rules, r)
			for seed := uint64(0); seed < triesOfRule && slices.ContainsFunc(asked, open); seed++ {
				s.tryRule(t, compiler, target.Rules, r, others, &p, seed, false, nil)
			}
		}
	}
	for word, n := range answers {
		if !known(word) {
			t.Errorf("%s has refused %d times and accepted %d times", word, n[0], n[1])
		}
	}
}

// guardExamples asks a guard what its examples answer, if it has some.
func guardExamples(t *testing.T, word string, accepts func(q *backend.Query, m *backend.Match) bool) {
	examples := guardWords[word]
	for want, list := range map[bool][]bound{true: examples.accepts, false: examples.refuses} {
		for _, x := range list {
			m := &backend.Match{T: x.t, Bytes: x.bytes}
			m.K, m.J, m.I = x.k, x.j, x.i
			if accepts(nil, m) != want {
				t.Errorf("%s: %+v is accepted: %v", word, x, !want)
			}
		}
	}
}

// rowWords returns the pattern of a rule, and the words that it and When have.
func rowWords(t *testing.T, row *backend.RuleDef) (p pattern.Pattern, words []string) {
	p, err := pattern.Parse(row.Pattern, clif.OpcodesByName())
	if err != nil {
		t.Fatal(err)
	}
	return p, append(patternWords(&p), strings.Fields(row.When)...)
}

// patternWords returns the words in a pattern.
func patternWords(p *pattern.Pattern) []string {
	words := []string{p.Word}
	for k := range p.Args {
		words = append(words, patternWords(&p.Args[k])...)
	}
	return words
}
