package oracle

import (
	"fmt"
	"slices"
	"strings"

	"github.com/waot-project/waot/internal/proof/compare"
	"github.com/waot-project/waot/internal/proof/wat"
)

// corners are compare.Corners, of floats those first that are no ordinary numbers: who takes a few takes them.
func corners(letter byte) []uint64 {
	list := compare.Corners(letter)
	ordinary := func(x uint64) int {
		exponent, all := x>>23&0xFF, uint64(0xFF)
		if letter == 'd' {
			exponent, all = x>>52&0x7FF, 0x7FF
		}
		if exponent == 0 || exponent == all {
			return 0
		}
		return 1
	}
	if letter == 'f' || letter == 'd' {
		slices.SortStableFunc(list, func(x, y uint64) int { return ordinary(x) - ordinary(y) })
	}
	return list
}

// loads and stores are ordered by the types of their numbers, integers first.
func loads() []wat.Operator {
	list, _ := wat.Accesses()
	return byType(list)
}

func stores() []wat.Operator {
	_, list := wat.Accesses()
	return byType(list)
}

func byType(list []wat.Operator) []wat.Operator {
	rank := func(o wat.Operator) int { return strings.IndexByte("ilfd", o.Type()) }
	slices.SortStableFunc(list, func(x, y wat.Operator) int { return rank(x) - rank(y) })
	return list
}

// reinterpreted is a constant; floats are made of integers.
func reinterpreted(letter byte, bits uint64) string {
	switch letter {
	case 'f':
		return "(f32.reinterpret_i32 " + wat.Const('i', bits) + ")"
	case 'd':
		return "(f64.reinterpret_i64 " + wat.Const('l', bits) + ")"
	}
	return wat.Const(letter, bits)
}

// oneNaN is wat.ToI64, but the same for all NaNs; for floats it calls a function of oneNaNFuncs.
func oneNaN(letter byte, e string) string {
	if letter == 'f' || letter == 'd' {
		return fmt.Sprintf("(call $bits_%c %s)", letter, e)
	}
	return wat.ToI64(letter, e)
}

const oneNaNFuncs = `
(func $bits_f (param f32) (result i64)
  (if (f32.ne (local.get 0) (local.get 0)) (then (return (i64.const 0x7fc00000))))
  (i64.extend_i32_u (i32.reinterpret_f32 (local.get 0))))
(func $bits_d (param f64) (result i64)
  (if (f64.ne (local.get 0) (local.get 0)) (then (return (i64.const 0x7ff8000000000000))))
  (i64.reinterpret_f64 (local.get 0)))
`
