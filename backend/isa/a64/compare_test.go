package a64

import (
	"math"
	"testing"

	"github.com/waot-project/waot/clif"
)

// holds reports what a comparison of numbers of type t gives.
func holds(t clif.Type, cc clif.IntCC, x, y int64) bool {
	ux, uy := uint64(x), uint64(y)
	if t == clif.I32 {
		x, y, ux, uy = int64(int32(x)), int64(int32(y)), uint64(uint32(x)), uint64(uint32(y))
	}
	switch cc {
	case clif.Slt:
		return x < y
	case clif.Sge:
		return x >= y
	case clif.Sle:
		return x <= y
	case clif.Sgt:
		return x > y
	case clif.Ult:
		return ux < uy
	case clif.Uge:
		return ux >= uy
	case clif.Ule:
		return ux <= uy
	case clif.Ugt:
		return ux > uy
	}
	panic(cc)
}

// TestNeighbour: each order has a comparison with a neighbour of the constant that gives the same for all numbers, unless that would
// be beyond the ends; equality has none.
func TestNeighbour(t *testing.T) {
	for _, typ := range []clif.Type{clif.I32, clif.I64} {
		least, most := int64(math.MinInt64), int64(math.MaxInt64)
		if typ == clif.I32 {
			least, most = math.MinInt32, math.MaxInt32
		}
		numbers := []int64{least, least + 1, least + 2, -4098, -4097, -2, -1, 0, 1, 2, 4097, 4098, most - 2, most - 1, most}
		for _, cc := range []clif.IntCC{clif.Eq, clif.Ne} {
			if _, _, ok := neighbour(typ, 4097, cc); ok {
				t.Errorf("%v %v has a neighbour", typ, cc)
			}
		}
		// beyond is the constant whose neighbour would be beyond the end; that of 0, without sign, is never asked for.
		for cc, beyond := range map[clif.IntCC]int64{clif.Slt: least, clif.Sge: least, clif.Sle: most, clif.Sgt: most,
			clif.Ult: 0, clif.Uge: 0, clif.Ule: -1, clif.Ugt: -1} {
			for _, k := range numbers {
				if k == 0 {
					continue
				}
				near, other, ok := neighbour(typ, k, cc)
				if ok != (k != beyond) {
					t.Errorf("%v %v %d: %v", typ, cc, k, ok)
				}
				if !ok {
					continue
				}
				if near != k-1 && near != k+1 {
					t.Errorf("%v %v %d: %d is no neighbour", typ, cc, k, near)
				}
				for _, x := range numbers {
					if holds(typ, cc, x, k) != holds(typ, other, x, near) {
						t.Errorf("%v: %d %v %d is not %d %v %d", typ, x, cc, k, x, other, near)
					}
				}
			}
		}
	}
}
