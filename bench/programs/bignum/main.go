// Command bignum computes with large numbers: digits of pi, factorials, powers modulo a prime, fractions.
package main

import (
	"math/big"

	"github.com/waot-project/waot/bench/programs/measure"
)

// piDigits returns digits of pi by Machin's formula, in fixed point.
func piDigits(n int) string {
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n+10)), nil)
	pi := new(big.Int).Sub(
		new(big.Int).Mul(big.NewInt(16), arctanInverse(5, unit)),
		new(big.Int).Mul(big.NewInt(4), arctanInverse(239, unit)))
	return pi.String()[:n]
}

// arctanInverse is arctan(1/x) times unit.
func arctanInverse(x int64, unit *big.Int) *big.Int {
	square := big.NewInt(x * x)
	power := new(big.Int).Quo(unit, big.NewInt(x))
	sum, term := new(big.Int).Set(power), new(big.Int)
	for k := int64(3); power.Sign() > 0; k += 2 {
		power.Quo(power, square)
		term.Quo(power, big.NewInt(k))
		if k%4 == 3 {
			sum.Sub(sum, term)
		} else {
			sum.Add(sum, term)
		}
	}
	return sum
}

// powers is a chain of powers modulo 2^521-1.
func powers(n int) *big.Int {
	p := new(big.Int).Lsh(big.NewInt(1), 521)
	p.Sub(p, big.NewInt(1))
	x := big.NewInt(3)
	e := new(big.Int).Rsh(p, 1)
	for range n {
		x.Exp(x.Add(x, e), e, p)
		x.Add(x, big.NewInt(5)).ModInverse(x, p)
	}
	return x
}

// harmonic is the sum of 1/k as a fraction.
func harmonic(n int64) *big.Rat {
	sum := new(big.Rat)
	for k := int64(1); k <= n; k++ {
		sum.Add(sum, big.NewRat(1, k))
	}
	return sum
}

func work() uint64 {
	var sum measure.Sum
	sum.AddString(piDigits(10_000))
	sum.AddString(new(big.Int).MulRange(1, 8000).Text(36))
	sum.AddString(powers(110).String())
	sum.AddString(harmonic(1500).String())
	return uint64(sum)
}

func main() { measure.Program("bignum", work) }
