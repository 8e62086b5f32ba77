package waot_test

import (
	"context"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/waot-project/waot"
)

// TestWideArithmetic: numbers of 128 bits are added, subtracted and made of products as they are without a limit, also where operands are constants.
func TestWideArithmetic(t *testing.T) {
	halves := []uint64{0, 1, 2, 1 << 31, 1<<32 - 1, 1 << 32, 1<<63 - 1, 1 << 63, 1<<63 + 1, 1<<64 - 2, 1<<64 - 1, 0x123456789abcdef0}
	wide := func(low, high uint64) *big.Int {
		x := new(big.Int).SetUint64(high)
		return x.Lsh(x, 64).Add(x, new(big.Int).SetUint64(low))
	}
	signed := func(x uint64) *big.Int { return big.NewInt(int64(x)) }
	unsigned := func(x uint64) *big.Int { return new(big.Int).SetUint64(x) }
	limit := new(big.Int).Lsh(big.NewInt(1), 128)
	ops := []struct {
		name   string
		params int
		want   func(a []uint64) *big.Int
	}{
		{"i64.add128", 4, func(a []uint64) *big.Int { return new(big.Int).Add(wide(a[0], a[1]), wide(a[2], a[3])) }},
		{"i64.sub128", 4, func(a []uint64) *big.Int { return new(big.Int).Sub(wide(a[0], a[1]), wide(a[2], a[3])) }},
		{"i64.mul_wide_s", 2, func(a []uint64) *big.Int { return new(big.Int).Mul(signed(a[0]), signed(a[1])) }},
		{"i64.mul_wide_u", 2, func(a []uint64) *big.Int { return new(big.Int).Mul(unsigned(a[0]), unsigned(a[1])) }},
	}
	// Each set of operands is given as arguments, as constants, and half of it as constants.
	type run struct {
		op     int
		name   string
		args   []uint64
		passed []any
	}
	var runs []run
	var b strings.Builder
	for i := range ops {
		for _, x := range halves {
			for _, y := range halves {
				args := []uint64{x, y, y ^ 1, x + 3}[:ops[i].params]
				for form, first := range []int{0, ops[i].params / 2, ops[i].params} { // operands from the first on are arguments
					name := fmt.Sprintf("%d %d", len(runs), form)
					fmt.Fprintf(&b, "(func (export %q)%s (result i64 i64) (%s", name, strings.Repeat(" (param i64)", len(args)-first), ops[i].name)
					r := run{op: i, name: name, args: args}
					for k, a := range args {
						if k < first {
							fmt.Fprintf(&b, " (i64.const %d)", int64(a))
							continue
						}
						fmt.Fprintf(&b, " (local.get %d)", k-first)
						r.passed = append(r.passed, int64(a))
					}
					b.WriteString("))\n")
					runs = append(runs, r)
				}
			}
		}
	}
	wasm, err := waot.ParseText([]byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	for _, plain := range []bool{false, true} {
		m, err := waot.Compile(wasm, &waot.CompileOptions{NoOptimize: plain})
		if err != nil {
			t.Fatal(err)
		}
		s, err := waot.NewStore(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		inst, err := s.Instantiate(context.Background(), m, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range runs {
			f, err := inst.Func(r.name)
			if err != nil {
				t.Fatal(err)
			}
			got, err := f.Call(context.Background(), r.passed...)
			if err != nil {
				t.Fatal(err)
			}
			want := ops[r.op].want(r.args)
			want.Mod(want, limit)
			if result := wide(uint64(got[0].(int64)), uint64(got[1].(int64))); result.Cmp(want) != 0 {
				t.Fatalf("not optimised is %v: %s%#x is %#x, want %#x", plain, ops[r.op].name, r.args, result, want)
			}
		}
	}
	if len(runs) != 4*12*12*3 {
		t.Error(len(runs))
	}
}
