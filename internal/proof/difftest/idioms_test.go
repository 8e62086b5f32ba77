package difftest

import (
	"cmp"
	"flag"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/waot-project/waot/internal/proof/randprog"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/internal/proof/wasmgen"
)

var idiomsFlag = flag.Uint64("idioms", 0, "number of modules of idioms, if not as many as the level of the tests says")

// TestIdioms compares modules of straight-line code made of what mid-end and lowering
// have patterns for: arithmetic with constants, shifts and masks, extensions,
// comparisons that are selected on, divisions by constants, addresses of sums,
// operations on memory in place.
func TestIdioms(t *testing.T) {
	count := cmp.Or(*idiomsFlag, testenv.Cases[uint64](20, 60, 200))
	list := engines()
	var next atomic.Uint64
	var failed, calls, traps, places atomic.Int32
	next.Store(*seedFlag)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				seed := next.Add(1) - 1
				if seed >= *seedFlag+count || failed.Load() >= 10 {
					return
				}
				p := idiomProgram(seed)
				want, n, err := compareProgram(p, list)
				places.Add(int32(n))
				if err != nil {
					failed.Add(1)
					t.Errorf("seed %d: %v", seed, err)
					save(t, seed, p)
				}
				if want != nil {
					for _, c := range want.Calls {
						calls.Add(1)
						if c.Trapped() {
							traps.Add(1)
						}
					}
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d modules, %d calls, %d of them trap, %d places of traps compared", count, calls.Load(), traps.Load(), places.Load())
}

const (
	idiomFuncs  = 6
	idiomParams = "iiillldf"
	// Locals of type i32 are 0 to 2, of i64 3 to 5, and of f64 and f32 6 and 7; 8 and
	// 9 are for addresses, which often are the same.
	idiomAddr  = 8
	idiomOther = 9
)

// idiomGen generates one function.
type idiomGen struct {
	r *rand.Rand
	b []byte
}

// corner is a constant that patterns are sensitive to.
func corner(r *rand.Rand, size int) uint64 {
	x := uint64(1) << r.IntN(size)
	switch r.IntN(9) {
	case 0:
		x = uint64(r.IntN(4))
	case 1:
		x = -uint64(r.IntN(10))
	case 2:
		x--
	case 3:
		x++
	case 4:
		x = -x
	case 5:
		x = uint64(r.IntN(300))
	case 6:
		x = r.Uint64() >> r.IntN(size)
	case 7:
		x = bits.RotateLeft64(x-1, r.IntN(64))
	}
	if size == 32 {
		x = uint64(uint32(x))
	}
	return x
}

func idiomProgram(seed uint64) *randprog.Program {
	r := rand.New(rand.NewPCG(seed, 21))
	section := func(id byte, parts ...[]byte) []byte {
		b := join(parts...)
		return join([]byte{id}, uleb(len(b)), b)
	}
	params := []byte{8, 0x7F, 0x7F, 0x7F, 0x7E, 0x7E, 0x7E, 0x7C, 0x7D}
	funcs, codes := uleb(idiomFuncs+1), uleb(idiomFuncs+1)
	exports := join(uleb(idiomFuncs+2), []byte{6}, []byte("memory"), []byte{2, 0}, []byte{5}, []byte("reset"), []byte{0, idiomFuncs})
	p := &randprog.Program{Reset: true}
	for i := range idiomFuncs {
		g := &idiomGen{r: r}
		code := g.function()
		funcs = append(funcs, 0)
		codes = join(codes, uleb(len(code)), code)
		exports = append(exports, 1, byte('a'+i), 0, byte(i))
		for range 12 {
			c := wasmgen.Call{Export: string(rune('a' + i)), Params: idiomParams, Results: "ill"}
			for _, t := range []byte(idiomParams) {
				switch t {
				case 'i':
					c.Args = append(c.Args, corner(r, 32))
				case 'l':
					c.Args = append(c.Args, corner(r, 64))
				default:
					c.Args = append(c.Args, 0) // 0 of both types
				}
			}
			p.Calls = append(p.Calls, c)
		}
	}
	p.Wasm = join([]byte{0, 'a', 's', 'm', 1, 0, 0, 0},
		section(1, []byte{2, 0x60}, params, []byte{3, 0x7F, 0x7E, 0x7E, 0x60, 0, 0}),
		section(3, funcs, []byte{1}), section(5, []byte{1, 1, 1, 2}), section(7, exports),
		section(10, codes, []byte{2, 0, 0x0B}))
	p.Env = []byte{0, 'a', 's', 'm', 1, 0, 0, 0}
	return p
}

func (g *idiomGen) emit(b ...byte) { g.b = append(g.b, b...) }

func (g *idiomGen) function() []byte {
	g.emit(1, 3, 0x7F)
	for range 6 + g.r.IntN(25) {
		g.statement()
	}
	g.emit(0x20, byte(g.r.IntN(3)), 0x20, 3, 0x20, 4, 0x0B)
	return g.b
}

// local appends a local.get. wide says whether the value is an i64.
func (g *idiomGen) local(wide bool) byte {
	n := byte(g.r.IntN(3))
	if wide {
		n += 3
	}
	return n
}

func (g *idiomGen) konst(wide bool, x uint64) {
	if wide {
		g.emit(0x42)
		g.b = append(g.b, sleb(int(int64(x)))...)
		return
	}
	g.emit(0x41)
	g.b = append(g.b, sleb(int(int32(x)))...)
}

// op emits an operator on i32 given by its number, or the same on i64.
func (g *idiomGen) op(wide bool, on32 byte) {
	switch {
	case !wide:
	case on32 == 0x45:
		on32 = 0x50
	case on32 >= 0x46 && on32 <= 0x4F:
		on32 += 11
	case on32 >= 0xC0:
		on32 += 2
	default:
		on32 += 18
	}
	g.emit(on32)
}

func (g *idiomGen) statement() {
	wide := g.r.IntN(2) == 0
	switch n := g.r.IntN(20); {
	case n < 12:
		g.value(wide, 4)
		g.emit(0x21, g.local(wide))
	case n < 15: // memory in place: address, the same address loaded, an operation, a store
		g.address()
		g.emit(0x22, idiomAddr, 0x20, idiomAddr)
		at := byte(g.r.IntN(16))
		other := at
		if g.r.IntN(4) == 0 {
			other = byte(g.r.IntN(16))
		}
		load, store := byte(0x28), byte(0x36)
		if wide {
			load, store = 0x29, 0x37
		}
		if k := g.r.IntN(4); k > 0 {
			load, store = [2][4]byte{{0, 0x2C, 0x2E, 0x2D}, {0, 0x30, 0x32, 0x34}}[b2i(wide)][k],
				[2][4]byte{{0, 0x3A, 0x3B, 0x3A}, {0, 0x3C, 0x3D, 0x3E}}[b2i(wide)][k]
		}
		g.emit(load, 0, at)
		g.value(wide, 2)
		if g.r.IntN(6) == 0 { // something in between
			g.emit(0x20, idiomAddr)
			g.value(true, 1)
			g.emit(0x37, 0, byte(g.r.IntN(16)))
		}
		g.op(wide, []byte{0x6A, 0x6B, 0x71, 0x72, 0x73}[g.r.IntN(5)])
		g.emit(store, 0, other)
	case n < 16:
		g.overlapping(wide)
	case n < 18:
		g.address()
		g.value(wide, 2)
		stores := [2][]byte{{0x36, 0x3A, 0x3B}, {0x37, 0x3C, 0x3D, 0x3E}}[b2i(wide)]
		g.emit(stores[g.r.IntN(len(stores))], 0, byte(g.r.IntN(32)))
	default:
		g.condition(3)
		g.emit(0x04, 0x40)
		g.value(wide, 3)
		g.emit(0x21, g.local(wide), 0x0B)
	}
}

// overlapping reads or writes a place, perhaps changes it through another address, and
// reads it again.
func (g *idiomGen) overlapping(wide bool) {
	g.address()
	g.emit(0x21, idiomAddr)
	g.address()
	if g.r.IntN(2) == 0 {
		g.konst(false, uint64(g.r.IntN(24)-12))
		g.emit(0x20, idiomAddr, 0x6A, 0x21, idiomOther, 0x1A)
	} else {
		g.emit(0x21, idiomOther)
	}
	at, far := byte(g.r.IntN(32)), byte(g.r.IntN(32))
	g.emit(0x20, idiomAddr)
	if g.r.IntN(2) == 0 {
		g.value(wide, 1)
		g.emit(0x36+byte(b2i(wide)), 0, at)
	} else {
		g.emit(0x28+byte(b2i(wide)), 0, at, 0x21, g.local(wide))
	}
	g.emit(0x20, idiomOther)
	g.value(true, 1)
	g.emit([]byte{0x37, 0x3C, 0x3D, 0x3E}[g.r.IntN(4)], 0, far)
	g.emit(0x20, idiomAddr, 0x28+byte(b2i(wide)), 0, at, 0x21, g.local(wide))
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// address pushes a sum whose parts may wrap around, most often to something small.
func (g *idiomGen) address() {
	switch g.r.IntN(4) {
	case 0:
		g.konst(false, uint64(g.r.IntN(200)))
	case 1: // now and then below zero, where the parts must not be folded
		g.emit(0x20, g.local(false))
		g.konst(false, 47)
		g.emit(0x71)
		g.konst(false, 16)
		g.emit(0x72)
		g.konst(false, uint64(-int64(g.r.IntN(18))))
		g.emit(0x6A)
		if g.r.IntN(3) == 0 {
			g.konst(false, uint64(g.r.IntN(100)-16))
			g.emit(0x6A)
		}
	case 2: // index << k plus base
		g.emit(0x20, g.local(false))
		g.konst(false, uint64(15))
		g.emit(0x71)
		g.konst(false, uint64(g.r.IntN(5)))
		g.emit(0x74, 0x20, g.local(false))
		g.konst(false, 127)
		g.emit(0x71, 0x6A)
		g.konst(false, corner(g.r, 32)&255)
		g.emit(0x6A)
	default:
		g.emit(0x20, g.local(true), 0xA7)
		g.konst(false, 255)
		g.emit(0x71)
	}
}

// condition pushes an i32 that is a truth value.
func (g *idiomGen) condition(depth int) {
	wide := g.r.IntN(2) == 0
	switch g.r.IntN(7) {
	case 0:
		g.value(wide, depth-1)
		g.op(wide, 0x45)
	case 1, 2:
		g.value(wide, depth-1)
		g.konst(wide, corner(g.r, 32<<b2i(wide)))
		g.op(wide, 0x46+byte(g.r.IntN(10)))
	case 3:
		g.value(wide, depth-1)
		g.value(wide, depth-1)
		g.op(wide, 0x46+byte(g.r.IntN(10)))
	case 4: // a test of bits
		g.value(wide, depth-1)
		g.konst(wide, corner(g.r, 32<<b2i(wide)))
		g.op(wide, 0x71)
		if g.r.IntN(2) == 0 {
			g.op(wide, 0x45)
		} else {
			g.konst(wide, corner(g.r, 32<<b2i(wide)))
			g.op(wide, 0x46+byte(g.r.IntN(2)))
		}
	case 5: // negated, also twice
		if depth > 0 {
			g.condition(depth - 1)
		} else {
			g.emit(0x20, g.local(false))
		}
		g.emit(0x45)
		if g.r.IntN(2) == 0 {
			g.emit(0x45)
		}
	default: // two at once
		if depth > 0 {
			g.condition(depth - 1)
			g.condition(depth - 1)
			g.emit(0x71 + byte(g.r.IntN(3)))
		} else {
			g.emit(0x20, g.local(false))
		}
	}
}

// value pushes an i32 or i64.
func (g *idiomGen) value(wide bool, depth int) {
	size := 32 << b2i(wide)
	if depth <= 0 {
		if g.r.IntN(4) == 0 {
			g.konst(wide, corner(g.r, size))
		} else {
			g.emit(0x20, g.local(wide))
		}
		return
	}
	switch n := g.r.IntN(32); {
	case n < 7: // with a constant
		g.value(wide, depth-1)
		g.konst(wide, corner(g.r, size))
		g.op(wide, []byte{0x6A, 0x6B, 0x6C, 0x71, 0x72, 0x73}[g.r.IntN(6)])
	case n < 9:
		g.konst(wide, corner(g.r, size))
		g.value(wide, depth-1)
		g.op(wide, []byte{0x6A, 0x6B, 0x6C, 0x71, 0x72, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78}[g.r.IntN(11)])
	case n < 13: // shifts by constants, also two in a row
		g.value(wide, depth-1)
		for range 1 + g.r.IntN(2) {
			g.konst(wide, uint64(g.r.IntN(size+3)))
			g.op(wide, 0x74+byte(g.r.IntN(5)))
		}
	case n < 15: // by a variable, masked or not
		g.value(wide, depth-1)
		g.value(wide, depth-1)
		if g.r.IntN(2) == 0 {
			g.konst(wide, uint64(size-1))
			g.op(wide, 0x71)
		}
		g.op(wide, 0x74+byte(g.r.IntN(5)))
	case n < 19: // division by a constant that is not zero
		g.value(wide, depth-1)
		c := corner(g.r, size)
		g.konst(wide, max(c, 1))
		g.op(wide, 0x6D+byte(g.r.IntN(4)))
		if g.r.IntN(3) == 0 {
			g.konst(wide, max(c, 1))
			g.op(wide, []byte{0x6C, 0x6A, 0x46}[g.r.IntN(2)])
		}
	case n < 20:
		g.value(wide, depth-1)
		g.value(wide, depth-1)
		g.konst(wide, 1)
		g.op(wide, 0x72)
		g.op(wide, 0x6E+2*byte(g.r.IntN(2)))
	case n < 22:
		g.value(wide, depth-1)
		g.value(wide, depth-1)
		g.op(wide, []byte{0x6A, 0x6B, 0x6C, 0x71, 0x72, 0x73}[g.r.IntN(6)])
	case n < 24:
		g.value(wide, depth-1)
		g.op(wide, []byte{0x67, 0x68, 0x69, 0xC0, 0xC1}[g.r.IntN(5)])
	case n < 25:
		if wide {
			g.value(true, depth-1)
			g.emit(0xC4)
		} else {
			g.condition(depth - 1)
		}
	case n < 28: // between the widths
		g.value(!wide, depth-1)
		switch {
		case !wide:
			g.emit(0xA7)
		default:
			g.emit(0xAC + byte(g.r.IntN(2)))
		}
	case n < 30:
		g.value(wide, depth-1)
		g.value(wide, depth-1)
		if g.r.IntN(4) == 0 {
			g.value(false, depth-1)
		} else {
			g.condition(depth - 1)
		}
		g.emit(0x1B)
	default:
		g.address()
		loads := [2][]byte{{0x28, 0x2C, 0x2D, 0x2E, 0x2F}, {0x29, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35}}[b2i(wide)]
		g.emit(loads[g.r.IntN(len(loads))], 0, byte(g.r.IntN(32)))
	}
}
