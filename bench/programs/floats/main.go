// Command floats computes with floating-point numbers: matrices, planets, a Fourier transform. Products are converted, so that no
// processor adds to them without rounding.
package main

import (
	"math"

	"github.com/waot-project/waot/bench/programs/measure"
)

type matrix [][]float64

func newMatrix(n int, at func(i, j int) float64) matrix {
	m := make(matrix, n)
	for i := range m {
		m[i] = make([]float64, n)
		for j := range m[i] {
			m[i][j] = at(i, j)
		}
	}
	return m
}

func (m matrix) times(o matrix) matrix {
	return newMatrix(len(m), func(i, j int) float64 {
		s := 0.0
		for k, x := range m[i] {
			s += float64(x * o[k][j])
		}
		return s
	})
}

// solve solves m x = b by elimination, and overwrites both.
func (m matrix) solve(b []float64) []float64 {
	for c := range m {
		p := c
		for r := c + 1; r < len(m); r++ {
			if math.Abs(m[r][c]) > math.Abs(m[p][c]) {
				p = r
			}
		}
		m[c], m[p] = m[p], m[c]
		b[c], b[p] = b[p], b[c]
		for r := c + 1; r < len(m); r++ {
			f := m[r][c] / m[c][c]
			for k := c; k < len(m); k++ {
				m[r][k] -= float64(f * m[c][k])
			}
			b[r] -= float64(f * b[c])
		}
	}
	for r := len(m) - 1; r >= 0; r-- {
		for k := r + 1; k < len(m); k++ {
			b[r] -= float64(m[r][k] * b[k])
		}
		b[r] /= m[r][r]
	}
	return b
}

type vector struct{ x, y, z float64 }

func (v vector) plus(o vector, f float64) vector {
	return vector{v.x + float64(o.x*f), v.y + float64(o.y*f), v.z + float64(o.z*f)}
}

func (v vector) square() float64 { return float64(v.x*v.x) + float64(v.y*v.y) + float64(v.z*v.z) }

type body struct {
	at, speed vector
	mass      float64
}

func planets(steps int) []body {
	r := measure.Random(83)
	place := func() float64 { return float64(r.Below(2000)-1000) / 64 }
	bodies := make([]body, 12)
	for i := range bodies {
		bodies[i] = body{vector{place(), place(), place()}, vector{}, 1 + float64(i)/8}
	}
	const dt = 1.0 / 256
	for range steps {
		for i := range bodies {
			for j := range bodies {
				if i != j {
					d := bodies[j].at.plus(bodies[i].at, -1)
					q := d.square() + 0.25
					bodies[i].speed = bodies[i].speed.plus(d, dt*bodies[j].mass/(q*math.Sqrt(q)))
				}
			}
		}
		for i := range bodies {
			bodies[i].at = bodies[i].at.plus(bodies[i].speed, dt)
		}
	}
	return bodies
}

// transform is the fast Fourier transform of x, whose length is a power of 2, with the roots of unity of that order.
func transform(x, roots []complex128) []complex128 {
	n := len(x)
	if n == 1 {
		return x
	}
	half := [2][]complex128{make([]complex128, n/2), make([]complex128, n/2)}
	for i, v := range x {
		half[i%2][i/2] = v
	}
	even, odd := transform(half[0], roots), transform(half[1], roots)
	out := make([]complex128, n)
	for i := range n / 2 {
		w, o := roots[i*(len(roots)/n)], odd[i]
		t := complex(float64(real(w)*real(o))-float64(imag(w)*imag(o)), float64(real(w)*imag(o))+float64(imag(w)*real(o)))
		out[i], out[i+n/2] = even[i]+t, even[i]-t
	}
	return out
}

// unityRoots returns the n-th roots of unity without functions whose last bit depends on the processor: n is a power of 2.
func unityRoots(n int) []complex128 {
	roots := make([]complex128, n)
	roots[0] = 1
	for step := n / 2; step > 0; step /= 2 {
		c, s := -1.0, 0.0 // of the angle of step places
		for k := n / 2; k > step; k /= 2 {
			c, s = math.Sqrt((1+c)/2), math.Sqrt((1-c)/2)
		}
		for i := 0; i+step < n; i += 2 * step {
			re, im := real(roots[i]), imag(roots[i])
			roots[i+step] = complex(float64(re*c)-float64(im*s), float64(re*s)+float64(im*c))
		}
	}
	return roots
}

func work() uint64 {
	var sum measure.Sum
	add := func(x float64) { sum.Add(math.Float64bits(x)) }
	r := measure.Random(79)
	number := func(int, int) float64 { return float64(r.Below(1e6)) / 1e3 }
	m := newMatrix(220, number).times(newMatrix(220, number))
	for _, x := range m.solve(make([]float64, 219, 220)[:220:220]) {
		add(x)
	}
	for _, row := range m {
		add(row[len(row)-1])
	}
	for _, b := range planets(13_000) {
		add(b.at.square())
	}
	signal := make([]complex128, 1<<14)
	for i := range signal {
		signal[i] = complex(number(0, 0), 0)
	}
	roots := unityRoots(len(signal))
	for range 6 {
		signal = transform(signal, roots)
		for i, x := range signal {
			signal[i] = complex(real(x)/128, imag(x)/128)
		}
	}
	for _, x := range signal {
		add(real(x) + imag(x))
	}
	return uint64(sum)
}

func main() { measure.Program("floats", work) }
