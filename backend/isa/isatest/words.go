package isatest

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/clif"
)

// This file says what the words of lowering rules mean, by examples.

// ConstWord is constants that a word accepts, and some that it refuses, by type, sign-extended. The rejected ones are next to
// accepted ones where that can be.
type ConstWord struct{ Accepts, Refuses map[clif.Type][]int64 }

// both is a word that is the same for both types.
func both(accepts, refuses []int64) ConstWord {
	return ConstWord{map[clif.Type][]int64{clif.I32: accepts, clif.I64: accepts}, map[clif.Type][]int64{clif.I32: refuses, clif.I64: refuses}}
}

// ofTypes is a word that is another one for each type: accepted and refused i32, then i64.
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
	"bits":           ofTypes(ks{1, 2, 0xff, -2, 0x55555555}, ks{0, -1, 5, 0x12345}, ks{1, 0xff, -2, 0x5555555555555555}, ks{0, -1, 5, 0x12345}),
}

// testWords: each word of a machine is in a pattern, and accepts and refuses what its examples say.
func testWords(t *testing.T, on *Machine) {
	target, err := on.Target(on.Levels[0])
	if err != nil {
		t.Fatal(err)
	}
	words := &target.Rules.Words
	used := map[string]bool{}
	for _, row := range target.Rules.Rows {
		p, err := backend.ParsePattern(row.Pattern)
		if err != nil {
			t.Fatal(err)
		}
		wordsOf(&p, used)
		for word := range strings.FieldsSeq(row.When) {
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

// wordsOf adds the words in a pattern.
func wordsOf(p *backend.Pattern, used map[string]bool) {
	used[p.Word] = true
	for k := range p.Args {
		wordsOf(&p.Args[k], used)
	}
}
