// Package measure marks the measured part of a program of bench/programs, and gives it numbers that look random.
//
// Place in the pipeline: none.
//
// Input: none.
// Output: calls of the host at both ends of the part; natively the line that drivers of benchmarks read.
package measure

import "fmt"

// Program measures work, which gives a number that depends on all that it does, and prints the number after the program's name.
func Program(name string, work func() uint64) {
	end := start()
	sum := work()
	end()
	fmt.Printf("%s %016x\n", name, sum)
}

// Random is a generator of numbers (xorshift), the same everywhere. It must not begin at 0.
type Random uint64

// Next returns the next number.
func (r *Random) Next() uint64 {
	*r ^= *r << 13
	*r ^= *r >> 7
	*r ^= *r << 17
	return uint64(*r)
}

// Below returns a number from 0 to n-1.
func (r *Random) Below(n int) int { return int(r.Next() >> 11 % uint64(n)) }

// Sum is a checksum of what is added to it, in order.
type Sum uint64

// Add adds a number.
func (s *Sum) Add(x uint64) { *s = (*s ^ Sum(x)) * 0x100000001b3 }

// AddString adds the bytes of a string.
func (s *Sum) AddString(x string) {
	for i := range len(x) {
		s.Add(uint64(x[i]))
	}
}
