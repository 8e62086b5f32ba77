package translate_test

import (
	"bytes"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/clif/verify"
	"github.com/waot-project/waot/internal/proof/cputime"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/translate"
	"github.com/waot-project/waot/wasmfront/validate"
)

func leb(x uint64) (b []byte) {
	for x >= 0x80 {
		b = append(b, byte(x)|0x80)
		x >>= 7
	}
	return append(b, byte(x))
}

func sized(b []byte) []byte { return append(leb(uint64(len(b))), b...) }

// wasmOf is a module with one function (i32) -> (i32), with locals of type
// i32, a memory, and a type 1 that has 100 results.
func wasmOf(locals int, body []byte) []byte {
	wide := append([]byte{0x60, 0, 100}, bytes.Repeat([]byte{0x7F}, 100)...)
	code := append([]byte{1}, leb(uint64(locals))...)
	code = append(append(append(code, 0x7F), body...), 0x0B)
	m := []byte{0, 'a', 's', 'm', 1, 0, 0, 0}
	section := func(id byte, b []byte) { m = append(append(m, id), sized(b)...) }
	section(1, append([]byte{2, 0x60, 1, 0x7F, 1, 0x7F}, wide...))
	section(3, []byte{1, 0})
	section(5, []byte{1, 0, 1})
	section(10, append([]byte{1}, sized(code)...))
	return m
}

func rep(n int, b ...byte) []byte { return bytes.Repeat(b, n) }

func each(n int, f func(i int) []byte) (b []byte) {
	for i := range n {
		b = append(b, f(i)...)
	}
	return b
}

func get(i int) []byte { return append([]byte{0x20}, leb(uint64(i))...) }
func set(i int) []byte { return append([]byte{0x21}, leb(uint64(i))...) }

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

var (
	block, loop, end = []byte{0x02, 0x40}, []byte{0x03, 0x40}, []byte{0x0B}
	ifVoid, elseOp   = []byte{0x20, 0, 0x04, 0x40}, []byte{0x05}
	brIf0            = []byte{0x20, 0, 0x0D, 0}
	drop             = []byte{0x1A}
	result           = []byte{0x20, 0}
)

// worst are families of functions that grow with n; locals says how many locals
// there are.
var worst = []struct {
	name   string
	n      int
	locals func(n int) int
	body   func(n int) []byte
}{
	{"nested loops", 10000, nil, func(n int) []byte {
		return join(rep(n, loop...), get(1), set(2), rep(n, join(brIf0, end)...), result)
	}},
	{"nested loops, many reads inside", 5000, nil, func(n int) []byte {
		return join(rep(n, loop...), rep(n, join(get(1), drop)...), rep(n, join(brIf0, end)...), result)
	}},
	{"nested blocks, branches to all", 10000, nil, func(n int) []byte {
		return join(rep(n, block...), each(n, func(i int) []byte { return join(get(1), []byte{0x0D}, leb(uint64(i))) }), rep(n, end...), result)
	}},
	{"ifs in a row", 50000, nil, func(n int) []byte { return join(rep(n, join(ifVoid, end)...), result) }},
	{"ifs in a row that write", 20000, nil, func(n int) []byte {
		return join(rep(n, join(ifVoid, get(1), set(2), elseOp, get(2), set(1), end)...), get(2))
	}},
	{"ifs in a row, then many locals", 20000, func(n int) int { return n }, func(n int) []byte {
		return join(rep(n, join(ifVoid, end)...), each(n, func(i int) []byte { return join(get(i), drop) }), result)
	}},
	{"branches in a row, then many locals", 20000, func(n int) int { return n }, func(n int) []byte {
		return join(block, rep(n, brIf0...), end, each(n, func(i int) []byte { return join(get(i), drop) }), result)
	}},
	{"branches in a row and many locals, again and again", 100, func(n int) int { return 50 * n }, func(n int) []byte {
		return rep1(n, func(int) []byte {
			return join(block, rep(50, brIf0...), end, each(50, func(i int) []byte { return join(get(i), drop) }))
		}, result)
	}},
	{"many writes in one block", 100000, func(int) int { return 20000 }, func(n int) []byte {
		return join(each(n, func(i int) []byte { return join(get(0), set(i%20000)) }), result)
	}},
	{"br_table of many targets", 20000, nil, func(n int) []byte {
		targets := each(n, func(i int) []byte { return leb(uint64(i % 500)) })
		return join(rep(500, block...), get(0), []byte{0x0E}, leb(uint64(n)), targets, []byte{0}, rep(500, end...), result)
	}},
	{"nested ifs", 20000, nil, func(n int) []byte {
		return join(rep(n, ifVoid...), get(1), set(2), rep(n, join(elseOp, get(2), set(1), end)...), result)
	}},
	{"if in else in else", 20000, nil, func(n int) []byte {
		return join(rep(n, join(ifVoid, get(1), set(2), elseOp)...), rep(n, end...), get(2))
	}},
	{"ifs in a row, then many locals written in one", 8000, func(n int) int { return n }, func(n int) []byte {
		return join(rep(n, join(ifVoid, end)...), ifVoid, each(n, func(i int) []byte { return join(get(0), set(i)) }), end,
			each(n, func(i int) []byte { return join(get(i), drop) }), result)
	}},
	{"nested loops around reads of many locals", 8000, func(n int) int { return n }, func(n int) []byte {
		return join(rep(n, loop...), each(n, func(i int) []byte { return join(get(i), drop) }), rep(n, join(brIf0, end)...), result)
	}},
	{"nested loops and reads of as many locals, which are written behind", 8000, func(n int) int { return n }, func(n int) []byte {
		return join(rep(n, loop...), each(n, func(i int) []byte { return join(get(i), drop) }), rep(n, join(brIf0, end)...),
			each(n, func(i int) []byte { return join(get(0), set(i)) }), result)
	}},
	{"ifs in else parts, each of which writes a local", 8000, func(n int) int { return n }, func(n int) []byte {
		return join(each(n, func(i int) []byte { return join(ifVoid, get(0), set(i), elseOp) }),
			each(n, func(i int) []byte { return join(get(i), drop) }), rep(n, end...), result)
	}},
	{"chains of additions", 50000, nil, func(n int) []byte {
		return join(result, rep(n, 0x41, 5, 0x6A))
	}},
	{"chains of eqz", 50000, nil, func(n int) []byte { return join(result, rep(n, 0x45)) }},
	{"chains of select x x", 50000, nil, func(n int) []byte {
		return join(result, rep(n, join(set(1), get(1), get(1), get(0), []byte{0x1B})...))
	}},
	{"chains of select", 50000, nil, func(n int) []byte {
		return join(result, rep(n, join(set(1), get(1), get(0), get(1), []byte{0x45, 0x1B})...))
	}},
	{"chains of masks and shifts", 50000, nil, func(n int) []byte {
		return join(result, rep(n, 0x41, 1, 0x74, 0x41, 0xFC, 0, 0x71, 0x41, 1, 0x76))
	}},
	{"chains of sign extensions", 50000, nil, func(n int) []byte { return join(result, rep(n, 0xAC, 0xA7, 0xC0, 0xC1)) }},
	{"one address", 50000, nil, func(n int) []byte {
		return join(rep(n, join(get(0), get(0), []byte{0x36, 2, 4})...), result)
	}},
	{"many addresses", 50000, nil, func(n int) []byte {
		return join(each(n, func(i int) []byte { return join(get(0), []byte{0x28, 2}, leb(uint64(4*i)), drop) }), result)
	}},
	{"deep stack", 50000, nil, func(n int) []byte { return join(rep(n, 0x20, 0), rep(n-1, 0x6A)) }},
	{"many constants", 50000, nil, func(n int) []byte {
		return join(each(n, func(i int) []byte { return join([]byte{0x41}, leb(uint64(i)), drop) }), result)
	}},
}

func rep1(n int, f func(int) []byte, last []byte) []byte { return append(each(n, f), last...) }

// compileTime is the time for translation and mid-end, measured as cputime.Least does.
func compileTime(t *testing.T, locals int, body []byte, enough time.Duration) time.Duration {
	m, err := validate.Module(wasmOf(locals, body), validate.Config{})
	if err != nil {
		t.Fatal(err)
	}
	cm := translate.Module(m, m.DecodeNames())
	tr := translate.New(m, cm)
	var f clif.Func
	var o opt.Optimizer
	took := cputime.Least(3, enough, func() {
		if err := tr.Func(&f, 0); err != nil {
			t.Fatal(err)
		}
		if err := o.Run(&f, opt.O1); err != nil {
			t.Fatal(err)
		}
	})
	if err := verify.Func(&f); err != nil {
		t.Fatal(err)
	}
	return took
}

// TestWorst demands that time grows with size, not with its square.
func TestWorst(t *testing.T) {
	only := os.Getenv("WORST")
	for _, w := range worst {
		if only != "" && only != w.name {
			continue
		}
		locals := func(n int) int {
			if w.locals == nil {
				return 3
			}
			return w.locals(n)
		}
		n := w.n / 2
		a := compileTime(t, locals(n), w.body(n), time.Hour)
		most := 3*a + 30*time.Millisecond
		b := compileTime(t, locals(2*n), w.body(2*n), most)
		t.Logf("%-50s %8d: %8v, doubled %8v", w.name, n, a.Round(time.Microsecond), b.Round(time.Microsecond))
		if b > most {
			t.Errorf("%s: %v for %d, %v for twice that", w.name, a, n, b)
		}
	}
}

// TestLimit checks that functions whose SSA form is far larger than their
// bytes are refused.
func TestLimit(t *testing.T) {
	values := rep(100, 0x41, 0)
	// br_if with 100 operands, 1.5 million times; a smaller number is fine.
	wide := func(n int) []byte {
		return join([]byte{0x02, 1}, values, rep(n, join(brIf0)...), end, rep(100, drop...), result)
	}
	for n, ok := range map[int]bool{1000: true, 1_500_000: false} {
		m, err := validate.Module(wasmOf(0, wide(n)), validate.Config{})
		if err != nil {
			t.Fatal(err)
		}
		var f clif.Func
		err = translate.New(m, translate.Module(m, m.DecodeNames())).Func(&f, 0)
		var e *wasmfront.Error
		if ok != (err == nil) || err != nil && (!errors.As(err, &e) || e.Limit == "") {
			t.Errorf("%d branches: %v", n, err)
		}
	}
}
