package difftest

import (
	"bytes"
	"testing"
	"time"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/internal/proof/cputime"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// repeat is n copies of b.
func repeat(n int, b ...byte) []byte { return bytes.Repeat(b, n) }

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// largeModule has one function (i32) -> i32, exported as "f", with the given
// declaration of locals and body, a memory of a page, and a table.
func largeModule(locals, body []byte) []byte {
	section := func(id byte, parts ...[]byte) []byte {
		b := join(parts...)
		return join([]byte{id}, uleb(len(b)), b)
	}
	code := join(locals, body, []byte{0x0B})
	return join([]byte{0, 'a', 's', 'm', 1, 0, 0, 0},
		section(1, []byte{1, 0x60, 1, 0x7F, 1, 0x7F}),
		section(3, []byte{1, 0}), section(4, []byte{1, 0x70, 0, 1}), section(5, []byte{1, 0, 1}),
		section(7, []byte{1, 1, 'f', 0, 0}),
		section(10, []byte{1}, uleb(len(code)), code))
}

// numbered calls f for 0 to n-1 and joins what it gives.
func numbered(n int, f func(i int) []byte) []byte {
	var b []byte
	for i := range n {
		b = append(b, f(i)...)
	}
	return b
}

// largeFunctions are functions of extreme shapes, with the result for the argument 7.
var largeFunctions = []struct {
	name   string
	locals []byte
	body   []byte
	want   uint64
}{
	{"a long sum", []byte{0}, join([]byte{0x20, 0}, repeat(200_000, 0x20, 0, 0x6A)), 7 * 200_001},
	{"a deep stack", []byte{0}, join(repeat(20_000, 0x20, 0), repeat(19_999, 0x6A)), 7 * 20_000},
	{"a deep stack of different values", []byte{0}, join(numbered(5000, func(i int) []byte {
		return join([]byte{0x20, 0, 0x41}, sleb(i), []byte{0x6C, 0x20, 0, 0x73})
	}), repeat(4999, 0x73)), func() (x uint64) {
		for i := range uint64(5000) {
			x ^= 7*i ^ 7
		}
		return x
	}()},
	{"nested blocks", []byte{0}, join(repeat(5000, 0x02, 0x40), repeat(5000, 0x20, 0, 0x0D, 0, 0x0B), []byte{0x20, 0}), 7},
	{"nested blocks with branches to all", []byte{0}, join(repeat(3000, 0x02, 0x40),
		numbered(3000, func(i int) []byte { return join([]byte{0x20, 0, 0x41}, sleb(i+100), []byte{0x46, 0x0D}, uleb(i)) }),
		repeat(3000, 0x0B), []byte{0x20, 0}), 7},
	{"nested loops", []byte{0}, join(repeat(2000, 0x03, 0x40), repeat(2000, 0x20, 0, 0x45, 0x0D, 0, 0x0B), []byte{0x20, 0}), 7},
	{"nested ifs with results", []byte{0}, join(repeat(2000, 0x20, 0, 0x04, 0x7F), []byte{0x20, 0}, repeat(2000, 0x05, 0x41, 0, 0x0B)), 7},
	{"a wide switch", []byte{0}, join([]byte{0x02, 0x40, 0x02, 0x40, 0x20, 0, 0x0E}, uleb(60_000), repeat(30_000, 0, 1), []byte{0, 0x0B, 0x41, 1, 0x0F, 0x0B, 0x41, 2}), 2},
	{"a switch with a value", []byte{0}, join([]byte{0x02, 0x7F, 0x02, 0x7F, 0x41, 5, 0x20, 0, 0x0E}, uleb(20_000), repeat(10_000, 0, 1), []byte{0, 0x0B, 0x41, 1, 0x6A, 0x0F, 0x0B, 0x41, 3, 0x6A}), 8},
	{"many cases", []byte{0}, join(repeat(3000, 0x02, 0x40), []byte{0x20, 0, 0x0E}, uleb(2999), numbered(3000, uleb),
		numbered(3000, func(i int) []byte { return join([]byte{0x0B, 0x41}, sleb(3*i), []byte{0x0F}) }), []byte{0x41, 0}), 21},
	{"many locals in a loop", join([]byte{1}, uleb(20_000), []byte{0x7F}), join([]byte{0x03, 0x40},
		numbered(3000, func(i int) []byte {
			return join([]byte{0x20}, uleb(i+1), []byte{0x41, 1, 0x6A, 0x21}, uleb(i+1))
		}), []byte{0x20, 0, 0x41, 1, 0x6B, 0x22, 0, 0x0D, 0, 0x0B},
		[]byte{0x20}, uleb(3000)), 7},
	{"many locals through many branches", join([]byte{1}, uleb(300), []byte{0x7F}), join(
		numbered(2000, func(i int) []byte {
			return join([]byte{0x20, 0, 0x41}, sleb(i), []byte{0x46, 0x04, 0x40, 0x41}, sleb(i), []byte{0x21}, uleb(1+i%300), []byte{0x0B})
		}), numbered(300, func(i int) []byte { return join([]byte{0x20}, uleb(1+i)) }), repeat(299, 0x6A)), 7},
	{"many stores", []byte{0}, join(numbered(30_000, func(i int) []byte {
		return join([]byte{0x41}, sleb(i), []byte{0x20, 0, 0x3A, 0, 0})
	}), []byte{0x41, 9, 0x2D, 0, 0}), 7},
	{"many calls", []byte{0}, join([]byte{0x20, 0, 0x45, 0x04, 0x40, 0x41, 1, 0x0F, 0x0B}, repeat(10_000, 0x41, 0, 0x10, 0, 0x1A), []byte{0x20, 0}), 7},
	{"many loads that stay", []byte{0}, join(numbered(4000, func(i int) []byte { return join([]byte{0x41, 0, 0x2D, 0}, uleb(i)) }),
		repeat(3999, 0x6A), []byte{0x20, 0, 0x6A}), 7},
	{"divisions", []byte{0}, join([]byte{0x20, 0}, repeat(10_000, 0x20, 0, 0x6D, 0x20, 0, 0x6C)), 7},
	{"unreachable code", []byte{0}, join([]byte{0x20, 0, 0x0F}, repeat(100_000, 0x6A), []byte{0x1A, 0x41, 0}), 7},
}

// TestLargeFunctions compiles functions of extreme shapes, in time about proportional to
// their size, and runs them.
func TestLargeFunctions(t *testing.T) {
	notEmulated(t)
	for i := range largeFunctions {
		c := &largeFunctions[i]
		t.Run(c.name, func(t *testing.T) {
			wasm := largeModule(c.locals, c.body)
			for _, level := range testenv.Cases([]opt.Level{opt.O1}, []opt.Level{opt.O1}, []opt.Level{opt.O0, opt.O1}) {
				var r *compile.Result
				const most = 10 * time.Second
				took := cputime.Least(1, most, func() {
					var err error
					if r, err = compile.Module(wasm, compile.Options{OptLevel: level, Jobs: 1}); err != nil {
						t.Fatal(err)
					}
				})
				t.Logf("O%d: %d bytes of Wasm, %d of code, %v", level, len(wasm), r.Stats.Text, took)
				if took > most {
					t.Errorf("O%d: %v", level, took)
				}
				img, err := load.Image(r.Object, r.Meta)
				if err != nil {
					t.Fatal(err)
				}
				s, err := inproc.NewStore(inproc.Config{})
				if err != nil {
					t.Fatal(err)
				}
				m, err := s.Load(img)
				if err != nil {
					t.Fatal(err)
				}
				inst, err := s.Instantiate(m, nil)
				if err != nil {
					t.Fatal(err)
				}
				f, err := inst.Func("f")
				if err != nil {
					t.Fatal(err)
				}
				out := []uint64{7}
				if err := f.Call(out, out); err != nil || out[0] != c.want {
					t.Errorf("O%d: %d (%v), want %d", level, out[0], err, c.want)
				}
				s.Close()
			}
		})
	}
}
