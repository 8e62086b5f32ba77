package bugcases

import (
	"fmt"
	"slices"
	"strings"

	"github.com/waot-project/waot/internal/proof/compare"
	"github.com/waot-project/waot/internal/proof/wat"
)

// divisors are constants by which division has a special form, and their neighbours.
func divisors(width int) []uint64 {
	var list []uint64
	add := func(x uint64) { list = append(list, x<<(64-width)>>(64-width), -x<<(64-width)>>(64-width)) }
	for x := range uint64(21) {
		add(x)
	}
	for k := range width {
		add(1<<k - 1)
		add(1 << k)
		add(1<<k + 1)
	}
	for _, x := range []uint64{25, 60, 100, 125, 365, 625, 641, 1000, 3600, 10000, 86400, 1000000, 1000000007, 0x55555555, 0xAAAAAAAB, 274177, 6700417} {
		add(x)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Divisors divides by every constant that divisors returns.
func Divisors(choice Choice) (out []Case) {
	for _, p := range []byte("il") {
		out = append(out, Case{wat.TypeName(p), func() *compare.Case { return divisions(choice, p) }})
	}
	return out
}

// divisions divides numbers of the type p by constants.
func divisions(choice Choice, p byte) *compare.Case {
	var b compare.Builder
	width := map[byte]int{'i': 32, 'l': 64}[p]
	for _, op := range []string{"div_s", "div_u", "rem_s", "rem_u"} {
		for _, d := range Part(choice, divisors(width), 5) {
			args := Sampled(choice, append(compare.Corners(p), d, d-1, d+1, 2*d, 2*d-1, -d, 1-d, 100, 12345678), 2)
			var list [][]uint64
			for _, a := range args {
				list = append(list, []uint64{a << (64 - width) >> (64 - width)})
			}
			b.AddNamed(fmt.Sprintf("%s %#x", op, d), string(p), string(p), fmt.Sprintf("(%s.%s (local.get 0) %s)", wat.TypeName(p), op, wat.Const(p, d)), list...)
		}
	}
	return compare.Single("(module "+b.String()+")", b.Calls...)
}

// ShiftPairs combines two shifts by constants, of one value or of two, for pairs of amounts from 0 to the width plus 1:
// expressions that could be a rotation, a double shift, a mask, an extension, or the extraction or insertion of a field.
func ShiftPairs(choice Choice) (out []Case) {
	args := [][]uint64{{0x8123456789ABCDEF, 0xFEDCBA9876543211}, {^uint64(0), 0}, {1, 1 << 31}, {0x80000001, 0x7F}}
	for _, p := range []byte("il") {
		n, width := wat.TypeName(p), map[byte]int{'i': 32, 'l': 64}[p]
		for _, join := range []string{"or", "xor", "add", "and", "nest"} {
			out = append(out, Case{n + " " + join, func() *compare.Case {
				var b compare.Builder
				for k1 := range width + 2 {
					if join != "or" && k1 > 3 && k1%8 > 1 && k1 < width-2 || !choice.Has(k1, 5) {
						continue
					}
					var body strings.Builder
					body.WriteString("(local $h i64)")
					for k2 := range width + 2 {
						if join != "or" && k1%3 != k2%3 && k1+k2 != width {
							continue
						}
						for _, ops := range [][2]string{{"shl", "shr_u"}, {"shl", "shr_s"}, {"shr_u", "shl"}, {"rotl", "shr_u"}, {"shr_s", "rotr"}} {
							for y := range 2 {
								e := fmt.Sprintf("(%[1]s.%[2]s (%[1]s.%[3]s (local.get 0) (%[1]s.const %[4]d)) (%[1]s.%[5]s (local.get %[7]d) (%[1]s.const %[6]d)))",
									n, join, ops[0], k1, ops[1], k2, y)
								if join == "nest" {
									e = fmt.Sprintf("(%[1]s.%[4]s (%[1]s.%[2]s (local.get %[6]d) (%[1]s.const %[3]d)) (%[1]s.const %[5]d))", n, ops[0], k1, ops[1], k2, y)
								}
								body.WriteString("(local.set $h (i64.xor (i64.rotl (i64.mul (local.get $h) (i64.const 31)) (i64.const 5)) " + wat.ToI64(p, e) + "))")
							}
						}
					}
					list := args
					if p == 'i' {
						list = nil
						for _, a := range args {
							list = append(list, []uint64{uint64(uint32(a[0])), uint64(uint32(a[1]))})
						}
					}
					b.AddNamed(fmt.Sprintf("shift %d", k1), string([]byte{p, p}), "l", body.String()+"(local.get $h)", list...)
				}
				return compare.Single("(module "+b.String()+")", b.Calls...)
			}})
		}
	}
	return out
}
