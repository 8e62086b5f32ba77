// Package entropy turns a string of bytes into choices, so that a fuzzer that changes the string steers a generator.
//
// Place in the pipeline: none; tests and fuzz targets only.
//
// Input: bytes.
// Output: numbers.
package entropy

import (
	"encoding/binary"
	"math/rand/v2"
)

// Source makes choices of a string of bytes, and behind its end of random numbers, which its first bytes seed.
type Source struct {
	bytes []byte // that are left
	rand  *rand.Rand
}

// New returns a source whose choices are b, in order.
func New(b []byte) *Source {
	var seed [8]byte
	copy(seed[:], b)
	return &Source{bytes: b, rand: rand.New(rand.NewPCG(binary.LittleEndian.Uint64(seed[:]), 0xe27))}
}

// take returns the number of the next n bytes, at most 8.
func (e *Source) take(n int) (x uint64) {
	for range n {
		b := byte(e.rand.Uint32())
		if len(e.bytes) > 0 {
			b, e.bytes = e.bytes[0], e.bytes[1:]
		}
		x = x<<8 | uint64(b)
	}
	return x
}

// IntN returns a number below n. It takes one byte if that reaches all numbers, or else four.
func (e *Source) IntN(n int) int {
	if n <= 256 {
		return int(e.take(1) % uint64(n))
	}
	return int(e.take(4) % uint64(n))
}

// Uint32 takes four bytes.
func (e *Source) Uint32() uint32 { return uint32(e.take(4)) }

// Uint64 takes eight bytes.
func (e *Source) Uint64() uint64 { return e.take(8) }

// Float64 returns a number of at least 0 and below 1. It takes one byte: enough to decide with some chance, of which there are
// 256 then.
func (e *Source) Float64() float64 { return float64(e.take(1)) / 256 }

// Shuffle puts n elements into any order with swap. It takes what IntN does for each but the first (Fisher and Yates).
func (e *Source) Shuffle(n int, swap func(i, j int)) {
	for i := n - 1; i > 0; i-- {
		swap(i, e.IntN(i+1))
	}
}

// Perm returns the numbers below n in any order. It takes what Shuffle does.
func (e *Source) Perm(n int) []int {
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	e.Shuffle(n, func(i, j int) { p[i], p[j] = p[j], p[i] })
	return p
}

// NormFloat64 is some number around 0: nothing depends on the distribution.
func (e *Source) NormFloat64() float64 { return float64(int16(e.take(2))) / (1 << 13) }
