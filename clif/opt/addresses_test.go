package opt

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/text"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// addressCases are functions and how their addresses end up: what is left of each access, in order.
var addressCases = []struct{ name, memory, src, want string }{
	{"bounded by an instruction", "1", `
    v2 = iconst.i32 1023
    v3 = band.i32 v0, v2
    v4 = iconst.i32 40
    v5 = iadd.i32 v3, v4
    v6 = load.i32 mem0 v5+8
    v7 = load.v128 mem0 v5+9
    v8 = load.i32 s16 mem0 v5+10
    store.i32 u8 mem0 v5+11, v6
    store.v128 mem0 v5+12, v7
    return v8`, "v3+48 v3+49 v3+50 v3+51 v3+52"},
	{"not bounded", "1", `
    v4 = iconst.i32 40
    v5 = iadd.i32 v0, v4
    v6 = load.i32 mem0 v5+8
    return v6`, "v5+8"},
	{"the last offset", "1", `
    v2 = iconst.i32 1
    v3 = ushr.i32 v0, v2
    v4 = iconst.i32 40
    v5 = iadd.i32 v3, v4
    v6 = load.i32 mem0 v5+2147483607
    v7 = load.i32 mem0 v5+2147483608
    return v7`, "v3+2147483647 v5+2147483608"},
	{"the last sum", "1 65536", `
    v2 = iconst.i32 1
    v3 = ushr.i32 v0, v2
    v9 = iconst.i32 1
    v4 = iadd.i32 v3, v9
    v10 = iconst.i32 2147483647
    v5 = iadd.i32 v4, v10
    v6 = load.i32 u8 mem0 v5+0
    v7 = load.i32 u8 mem0 v4+2147483646
    return v7`, "v5+0 v3+2147483647"},
	{"bounded by a branch", "1", `
    v2 = iconst.i32 1000
    v3 = icmp.i32 ult, v0, v2
    br v3, block1, block2
block1:
    v5 = iadd.i32 v0, v2
    v6 = load.i32 mem0 v5+0
    return v6
block2:
    v7 = iadd.i32 v0, v2
    v8 = load.i32 mem0 v7+0
    return v8`, "v0+1000 v7+0"},
	{"bounded by a trap", "1", `
    v2 = iconst.i32 1000
    v3 = icmp.i32 ugt, v0, v2
    trapif v3, unreachable
    v5 = iadd.i32 v0, v2
    v6 = load.i32 mem0 v5+0
    return v6`, "v0+1000"},
	{"an edge with a bound and one without", "1", `
    v2 = iconst.i32 1000
    v3 = icmp.i32 ult, v0, v2
    br v3, block3(v0, v2), block2
block2:
    v4 = icmp.i32 ult, v1, v2
    br v4, block3(v1, v0), block3(v2, v2)
block3(v5: i32, v6: i32):
    v7 = iadd.i32 v5, v2
    v8 = load.i32 mem0 v7+0
    v9 = iadd.i32 v6, v2
    v10 = load.i32 mem0 v9+0
    return v10`, "v5+1000 v9+0"},
	{"behind an access", "1", `
    v2 = iconst.i32 4
    v3 = iadd.i32 v0, v2
    v4 = load.i32 u8 mem0 v3+0
    v5 = load.i32 mem0 v0+0
    v6 = load.i32 mem0 v3+0
    return v6`, "v3+0 v0+0 v0+4"},
	{"as far as possible behind an access", "1", `
    v5 = load.i32 mem0 v0+0
    v7 = iconst.i32 1048579
    v8 = iadd.i32 v0, v7
    v9 = load.i32 mem0 v8+0
    return v9`, "v0+0 v0+1048579"},
	{"too far behind an access", "1", `
    v5 = load.i32 mem0 v0+0
    v7 = iconst.i32 1048580
    v8 = iadd.i32 v0, v7
    v9 = load.i32 mem0 v8+0
    return v9`, "v0+0 v8+0"},
	{"behind an access, a memory that may get as large as addresses", "1 65536", `
    v5 = load.i32 mem0 v0+2
    v2 = iconst.i32 6
    v3 = iadd.i32 v0, v2
    v6 = load.i32 mem0 v3+0
    return v6`, "v0+2 v3+0"},
	{"behind an access, a large memory", "65521", `
    v5 = load.i32 mem0 v0+2
    v2 = iconst.i32 5
    v3 = iadd.i32 v0, v2
    v6 = load.i32 mem0 v3+0
    return v6`, "v0+2 v0+5"},
	{"near a sum that was accessed", "1", `
    v2 = iconst.i32 8
    v3 = iadd.i32 v0, v2
    v4 = load.i32 mem0 v3+0
    v5 = iconst.i32 12
    v6 = iadd.i32 v0, v5
    v7 = load.i32 mem0 v6+1
    v8 = iconst.i32 4
    v9 = iadd.i32 v0, v8
    v10 = load.i32 mem0 v9+0
    v11 = iconst.i32 -8
    v12 = iadd.i32 v0, v11
    v13 = load.i32 mem0 v12+0
    v14 = load.i32 mem0 v6+3
    return v14`, "v3+0 v3+5 v9+0 v12+0 v12+23"},
	{"not dominated by the access", "1", `
    v2 = iconst.i32 4
    br v1, block1, block2
block1:
    v3 = load.i32 mem0 v0+0
    jump block2
block2:
    v4 = iadd.i32 v0, v2
    v5 = load.i32 mem0 v4+0
    return v5`, "v0+0 v4+0"},
	{"a loop from -16 to 0", "1", `
    v2 = iconst.i32 -16
    jump block1(v2)
block1(v3: i32):
    v4 = iconst.i32 20
    v5 = iadd.i32 v3, v4
    v6 = load.i32 mem0 v5+0
    v7 = iconst.i32 15
    v8 = iadd.i32 v3, v7
    v9 = load.i32 mem0 v8+0
    v10 = iconst.i32 4
    v11 = iadd.i32 v3, v10
    br v11, block1(v11), block2
block2:
    return v9`, "v3+4 v8+0"},
	{"a loop from -16 to 0 with another use", "1", `
    v2 = iconst.i32 -16
    jump block1(v2)
block1(v3: i32):
    v4 = iconst.i32 20
    v5 = iadd.i32 v3, v4
    store.i32 mem0 v5+0, v3
    v10 = iconst.i32 4
    v11 = iadd.i32 v3, v10
    br v11, block1(v11), block2
block2:
    return v5`, "v5+0"},
	{"a loop from 0 that another variable ends", "1", `
    v2 = iconst.i32 0
    v12 = iconst.i32 100
    jump block1(v2, v12)
block1(v3: i32, v13: i32):
    v4 = iconst.i32 20
    v5 = iadd.i32 v3, v4
    store.i32 mem0 v5+0, v3
    v10 = iconst.i32 4
    v11 = iadd.i32 v3, v10
    v14 = iconst.i32 -1
    v15 = iadd.i32 v13, v14
    br v15, block1(v11, v15), block2
block2:
    return v5`, "v3+20"},
	{"a loop from -16 to 0, the first address", "1", `
    v2 = iconst.i32 -16
    jump block1(v2)
block1(v3: i32):
    v4 = iconst.i32 16
    v5 = iadd.i32 v3, v4
    store.i32 mem0 v5+0, v0
    v10 = iconst.i32 4
    v11 = iadd.i32 v3, v10
    br v11, block1(v11), block2
block2:
    return v0`, "v3+0"},
	{"a loop from -16 to -4", "1", `
    v2 = iconst.i32 -16
    jump block1(v2)
block1(v3: i32):
    v5 = iconst.i32 20
    v6 = iadd.i32 v3, v5
    store.i32 mem0 v6+0, v0
    v7 = iconst.i32 4
    v8 = iadd.i32 v3, v7
    v9 = iconst.i32 -4
    v10 = icmp.i32 ne, v8, v9
    br v10, block1(v8), block2
block2:
    return v0`, "v3+4"},
	{"a loop with a limit that grows", "1", `
    v2 = iconst.i32 0
    v3 = iconst.i32 1000
    jump block1(v2, v3)
block1(v4: i32, v5: i32):
    v6 = iadd.i32 v4, v3
    store.i32 mem0 v6+0, v5
    v7 = iadd.i32 v4, v0
    v8 = iadd.i32 v5, v1
    v9 = icmp.i32 ult, v7, v5
    br v9, block1(v7, v8), block2
block2:
    return v0`, "v6+0"},
	{"a loop with two starts", "1", `
    v2 = iconst.i32 0
    v3 = iconst.i32 3
    br v0, block1(v2), block2
block2:
    store.i32 mem0 v2+0, v0
    jump block1(v3)
block1(v4: i32):
    v5 = iconst.i32 20
    v6 = iadd.i32 v4, v5
    store.i32 mem0 v6+0, v0
    v7 = iconst.i32 4
    v8 = iadd.i32 v4, v7
    v9 = iconst.i32 15
    v10 = icmp.i32 ne, v8, v9
    br v10, block1(v8), block3
block3:
    return v0`, "v2+0 v6+0"},
	{"two entries of one loop", "1", `
    v2 = iconst.i32 20
    br v0, block1(v2), block2(v2)
block1(v3: i32):
    v4 = iadd.i32 v3, v2
    store.i32 mem0 v4+0, v0
    br v4, block2(v0), block3
block2(v5: i32):
    v6 = iadd.i32 v5, v2
    store.i32 mem0 v6+0, v0
    br v6, block1(v1), block3
block3:
    return v0`, "v4+0 v6+0"},
	{"a loop that may wrap", "1", `
    v2 = iconst.i32 0
    jump block1(v2)
block1(v3: i32):
    v4 = iconst.i32 20
    v5 = iadd.i32 v3, v4
    store.i32 mem0 v5+0, v3
    v10 = iconst.i32 3
    v11 = iadd.i32 v3, v10
    v12 = iconst.i32 400
    v13 = icmp.i32 ne, v11, v12
    br v13, block1(v11), block2
block2:
    return v5`, "v5+0"},
}

// addressFunc parses a case.
func addressFunc(t *testing.T, memory, src string) *clif.Func {
	file, err := text.Parse("mem0 " + memory + "\nfunction \"f\" (i32, i32) -> (i32) {\nblock0(v0: i32, v1: i32):" + src + "\n}")
	if err != nil {
		t.Fatal(err)
	}
	return file.Funcs[0].Func
}

// addressesOf lists addresses and offsets of the loads and stores of f.
func addressesOf(f *clif.Func) string {
	var all []string
	for _, b := range f.Layout {
		for i := f.Blocks[b].Start; i < f.Blocks[b].End; i++ {
			if d := &f.Insts[i]; d.Op == clif.OpLoad || d.Op == clif.OpStore {
				all = append(all, fmt.Sprintf("%v+%d", d.ArgA(), d.Imm))
			}
		}
	}
	return strings.Join(all, " ")
}

// TestAddressCases: which constants become offsets, and which do not.
func TestAddressCases(t *testing.T) {
	for _, c := range addressCases {
		var o Optimizer
		if got := addressesOf(optimized(t, &o, addressFunc(t, c.memory, c.src))); got != c.want {
			t.Errorf("%s: %s; want %s", c.name, got, c.want)
		}
	}
}

// addressLoop makes random loops whose addresses are near the places where they wrap and where memory ends.
type addressLoop struct {
	*clif.Builder
	r *rand.Rand
}

// function is f(x, y): a loop with a variable that counts, one that goes along, and a third that ends the loop at the latest after 40
// iterations, from its middle, where nothing is known of it.
func (l *addressLoop) function() *clif.Func {
	r := l.r
	m := testModule([]clif.Type{i32, i32}, []clif.Type{i32, i32, i32})
	if r.IntN(3) == 0 {
		m.Memories[0] = clif.MemoryDecl{Min: 1}
	}
	f, b := newFunc(m)
	l.Builder = b
	step := []uint64{1, 2, 4, 8, 16, 0x10000}[r.IntN(6)]
	start, limit := -step*(1+r.Uint64N(12)), -step*(r.Uint64N(3)/2)
	switch r.IntN(4) {
	case 0:
		start, limit = step*r.Uint64N(3), step*r.Uint64N(14)
	case 1:
		start, limit, step = step*(1+r.Uint64N(12)), 0, -step
	}
	if r.IntN(6) == 0 {
		limit += r.Uint64N(3) - 1
	}
	header, middle, end := b.NewBlock(), b.NewBlock(), b.NewBlock()
	results := []val{b.AddParam(end, i32), b.AddParam(end, i32), b.AddParam(end, i32)}
	p, q, fuel, sum := b.AddParam(header, i32), b.AddParam(header, i32), b.AddParam(header, i32), b.AddParam(header, i32)
	first := []val{b.Iconst(i32, start), l.pointer(), b.Iconst(i32, 40), b.Iconst(i32, 1)}
	if r.IntN(4) == 0 {
		first[0] = l.pointer()
	}
	b.Jump(b.Target(header, first))
	b.SwitchTo(header)
	for range 1 + r.IntN(3) {
		sum = l.access(p, q, sum, -start)
	}
	left := l.plus(fuel, ^uint64(0))
	b.Branch(left, b.Target(middle, nil), b.Target(end, []val{[]val{p, q, q, q}[r.IntN(4)], q, sum}))
	b.SwitchTo(middle)
	sum = l.access(p, q, sum, -start)
	p2, q2 := l.plus(p, step), l.plus(q, []uint64{1, 4, 8, ^uint64(3), 0xFFF0}[r.IntN(5)])
	again, done := b.Target(header, []val{p2, q2, left, sum}), b.Target(end, []val{[]val{p, p2, q, q2}[r.IntN(4)], q2, sum})
	x, cc := p2, []clif.IntCC{clif.Ne, clif.Ne, clif.Ult, clif.Slt, clif.Sgt, clif.Ugt, clif.Sge}[r.IntN(7)]
	if r.IntN(3) == 0 {
		x = p
	}
	switch cond := b.Icmp(cc, i32, x, b.Iconst(i32, limit)); r.IntN(3) {
	case 0:
		b.Branch(b.Icmp(cc.Invert(), i32, x, b.Iconst(i32, limit)), done, again)
	case 1:
		b.Branch(x, again, done)
	default:
		b.Branch(cond, again, done)
	}
	b.SwitchTo(end)
	b.Return(results)
	return f
}

func (l *addressLoop) plus(x val, k uint64) val {
	return l.Binary(clif.OpIadd, i32, x, l.Iconst(i32, k))
}

// pointer is a parameter, or a part of one.
func (l *addressLoop) pointer() val {
	switch x := val(l.r.IntN(2)); l.r.IntN(3) {
	case 0:
		return l.Binary(clif.OpBand, i32, x, l.Iconst(i32, 0xFFFFFFFF>>l.r.UintN(20)))
	default:
		return x
	}
}

// access accesses memory near one of the variables.
func (l *addressLoop) access(p, q, sum val, n uint64) val {
	r := l.r
	x, near := p, n+[]uint64{200, 200, 0, 65336}[r.IntN(4)]
	if r.IntN(3) == 0 {
		x, near = []val{q, 0}[r.IntN(2)], 0
	}
	if r.IntN(20) == 0 {
		near = []uint64{0, 65536, 65536 + n, 1 << 20, -n}[r.IntN(5)]
	}
	near += []uint64{0, 1, 4, 8, ^uint64(0), ^uint64(3), ^uint64(7)}[r.IntN(7)]
	l.Src = 70 + uint32(r.IntN(9)) // where a trap comes from
	defer func() { l.Src = 1 }()
	at, offset := l.plus(x, near), []uint64{0, 0, 1, 5}[r.IntN(4)]
	if r.IntN(4) == 0 {
		at = x
	}
	if r.IntN(3) > 0 {
		return l.Binary(clif.OpIadd, i32, sum, l.Load(i32, []clif.Access{clif.Full, clif.U8, clif.S16}[r.IntN(3)], 0, at, offset))
	}
	l.Store(i32, []clif.Access{clif.Full, clif.U8, clif.U16}[r.IntN(3)], 0, at, sum, offset)
	return sum
}

// TestAddressLoops: random loops do the same as before, with each trap at its place.
func TestAddressLoops(t *testing.T) {
	loops, traps, fired := testenv.Cases(2000, 3000, 20000), 0, map[string]int{}
	memory := make([]byte, abi.PageSize)
	random := rand.New(rand.NewPCG(9, 9))
	for i := range memory {
		memory[i] = byte(random.Uint32())
	}
	for seed := range uint64(loops) {
		l := addressLoop{r: rand.New(rand.NewPCG(seed, 21))}
		f := l.function()
		o := Optimizer{Control: &Control{Limit: -1}}
		g := optimized(t, &o, f)
		for i := range o.Control.Log {
			if rule := o.Control.Log[i].Rule; rule.Pass == "addresses" || rule == RuleAddressSum.Info() {
				fired[rule.Name]++
			}
		}
		worlds := [...]*world{newWorld(t, f), newWorld(t, g)} // all that changes in them is the memory
		for range 6 {
			in := []uint64{l.input(), l.input()}
			var ends [2]string
			var left [2][]byte
			for i, w := range worlds {
				copy(w.inst.Memory(0).Data, memory)
				results, err := w.inst.Func(0).Call(in)
				ends[i], left[i] = fmt.Sprint(results, err), w.inst.Memory(0).Data
				if i == 0 && err != nil {
					traps++
				}
			}
			if ends[0] != ends[1] || !bytes.Equal(left[0], left[1]) {
				t.Fatalf("seed %d, f(%#x): %s before, %s after\n%v\n%v", seed, in, ends[0], ends[1], f, g)
			}
		}
	}
	t.Logf("%d loops, %d calls trapped; %v", loops, traps, fired)
	for _, rule := range []Rule{RuleCountFromZero, RuleAddressBounded, RuleAddressSum} {
		if fired[rule.Info().Name] < loops/100 {
			t.Errorf("%v applied %d times", rule.Info(), fired[rule.Info().Name])
		}
	}
	if traps < loops || traps > 5*loops {
		t.Errorf("%d of %d calls trapped", traps, 6*loops)
	}
}

// input is an address near a place where something happens.
func (l *addressLoop) input() uint64 {
	at := []uint64{100, 1000, 20000, 40000, 60000, 65536, 0, []uint64{1 << 31, 1<<32 - 1<<20, 1 << 32}[l.r.IntN(3)]}[l.r.IntN(8)]
	return (at + 4*l.r.Uint64N(40) - 80) & (1<<32 - 1)
}
