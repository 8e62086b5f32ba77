// Command kernels runs one small computation, named by its argument, between
// bench.start and bench.end, and prints a checksum. It is built for WASI, and compared
// under different engines by bench/compare.
package main

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"sort"
	"strings"
)

// kernels are the computations: each gives a number that depends on all of its work.
var kernels = map[string]func() uint64{
	"fib": func() uint64 { return uint64(fib(32)) }, "sieve": sieve, "matrix": matrix, "mandelbrot": mandelbrot,
	"sha256": hashes, "sort": sorting, "maps": maps, "json": records, "regexp": patterns, "deflate": compression,
}

func main() {
	var names []string
	for n := range kernels {
		names = append(names, n)
	}
	sort.Strings(names)
	if len(os.Args) < 2 || kernels[os.Args[1]] == nil {
		fmt.Println(strings.Join(names, "\n"))
		return
	}
	k := kernels[os.Args[1]]
	start()
	sum := k()
	end()
	fmt.Printf("%s %016x\n", os.Args[1], sum)
}

type random uint64

func (r *random) next() uint64 {
	*r ^= *r << 13
	*r ^= *r >> 7
	*r ^= *r << 17
	return uint64(*r)
}

func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

func sieve() uint64 {
	const n = 1 << 21
	composite := make([]bool, n)
	count := uint64(0)
	for i := 2; i < n; i++ {
		if composite[i] {
			continue
		}
		count++
		for j := i * i; j < n; j += i {
			composite[j] = true
		}
	}
	return count
}

func matrix() uint64 {
	const n = 160
	r := random(1)
	a, b, c := make([]float64, n*n), make([]float64, n*n), make([]float64, n*n)
	for i := range a {
		a[i], b[i] = float64(r.next()%1000)/8, float64(r.next()%1000)/16
	}
	for i := range n {
		for j := range n {
			s := 0.0
			for k := range n {
				s += a[i*n+k] * b[k*n+j]
			}
			c[i*n+j] = s
		}
	}
	s := 0.0
	for _, x := range c {
		s += x
	}
	return uint64(s)
}

func mandelbrot() uint64 {
	const n, limit = 200, 100
	sum := uint64(0)
	for py := range n {
		for px := range n {
			cx, cy := float64(px)*3/n-2, float64(py)*2/n-1
			x, y := 0.0, 0.0
			i := 0
			for ; i < limit && x*x+y*y < 4; i++ {
				x, y = x*x-y*y+cx, 2*x*y+cy
			}
			sum = sum*31 + uint64(i)
		}
	}
	return sum
}

func hashes() uint64 {
	b := make([]byte, 1<<16)
	for range 24 {
		h := sha256.Sum256(b)
		copy(b[1000:], h[:])
		b[0]++
	}
	return binary.LittleEndian.Uint64(b[1000:])
}

func sorting() uint64 {
	r := random(7)
	words := make([]string, 20000)
	for i := range words {
		words[i] = fmt.Sprintf("%x", r.next()>>40)
	}
	sort.Strings(words)
	sum := uint64(0)
	for _, w := range words {
		sum = sum*31 + uint64(w[0])<<8 + uint64(w[len(w)-1])
	}
	return sum
}

func maps() uint64 {
	r := random(3)
	m := map[uint64]uint64{}
	for range 300000 {
		m[r.next()%50000]++
	}
	sum := uint64(0)
	for k, v := range m {
		sum += k * v
	}
	return sum
}

// record is what the JSON kernel writes and reads.
type record struct {
	ID    int               `json:"id"`
	Name  string            `json:"name"`
	Score float64           `json:"score"`
	Tags  []string          `json:"tags"`
	Attrs map[string]string `json:"attrs"`
}

func records() uint64 {
	var in []record
	r := random(5)
	for i := range 800 {
		in = append(in, record{i, fmt.Sprint("name ", r.next()%1000), float64(r.next()%10000) / 16,
			[]string{"a", "b", fmt.Sprint(i)}, map[string]string{"k": fmt.Sprint(r.next() % 10), "z": "\u00fc"}})
	}
	sum := uint64(0)
	for range 2 {
		b, err := json.Marshal(in)
		if err != nil {
			panic(err)
		}
		in = nil
		if err := json.Unmarshal(b, &in); err != nil {
			panic(err)
		}
		sum += uint64(len(b))
	}
	return sum
}

// text is words and numbers.
func text(n int) string {
	r := random(9)
	var b strings.Builder
	for range n {
		fmt.Fprintf(&b, "%s%d ", [...]string{"alpha", "beta", "gamma", "delta"}[r.next()%4], r.next()%100)
	}
	return b.String()
}

func patterns() uint64 {
	re := regexp.MustCompile(`(alpha|gamma)([0-9]+) beta(\d)`)
	s := text(12000)
	sum := uint64(0)
	for _, m := range re.FindAllStringSubmatchIndex(s, -1) {
		sum = sum*31 + uint64(m[0]+m[1])
	}
	return sum
}

func compression() uint64 {
	s := text(20000)
	var b bytes.Buffer
	w, _ := flate.NewWriter(&b, flate.DefaultCompression)
	io.WriteString(w, s)
	w.Close()
	n := b.Len()
	back, err := io.ReadAll(flate.NewReader(&b))
	if err != nil || string(back) != s {
		panic("compression")
	}
	return uint64(n)
}
