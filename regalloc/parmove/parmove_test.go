package parmove

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/regalloc"
)

const (
	places   = 9 // locations under test, the two scratches, the extra slot
	maxTests = 6
)

// machine is the contents of a few locations: the value's number, and how many
// of its bytes are there.
type machine struct {
	locs  []regalloc.Allocation
	value [places]uint8
	bytes [places]uint8
}

func (m *machine) find(a regalloc.Allocation) int {
	for i, l := range m.locs {
		if l == a {
			return i
		}
	}
	panic(fmt.Sprint("no location ", a))
}

func (m *machine) do(mv Move) {
	f, t := m.find(mv.From), m.find(mv.To)
	if mv.Swap {
		m.value[f], m.value[t] = m.value[t], m.value[f]
		m.bytes[f], m.bytes[t] = min(m.bytes[t], mv.Bytes), min(m.bytes[f], mv.Bytes)
		return
	}
	m.value[t], m.bytes[t] = m.value[f], min(m.bytes[f], mv.Bytes)
}

// reset gives location i the value i, whole.
func (m *machine) reset(locs []regalloc.Allocation) {
	m.locs = locs
	for i := range locs {
		m.value[i], m.bytes[i] = uint8(i), 16
	}
}

// leroy is the algorithm of Rideau, Serpette and Leroy (2008), over locations
// by index; tmp is the index of the temporary.
type leroy struct {
	src, dst, status []int
	tmp              int
	out              [][2]int
}

func (l *leroy) all() {
	for i := range l.src {
		if l.status[i] == 0 {
			l.one(i)
		}
	}
}

func (l *leroy) one(i int) {
	if l.src[i] == l.dst[i] {
		l.status[i] = 2
		return
	}
	l.status[i] = 1
	for j := range l.src {
		if l.src[j] != l.dst[i] {
			continue
		}
		switch l.status[j] {
		case 0:
			l.one(j)
		case 1:
			l.out = append(l.out, [2]int{l.src[j], l.tmp})
			l.src[j] = l.tmp
		}
	}
	l.out = append(l.out, [2]int{l.src[i], l.dst[i]})
	l.status[i] = 2
}

// boissinot is the sequentialisation of Boissinot et al. (2009, algorithm 1, with
// the condition on the last line as it has to be), over locations by index. at and
// pred have none where the paper has bottom.
type boissinot struct {
	at, pred  [places]int
	todo, can []int
	tmp       int
	out       [][2]int
}

func (b *boissinot) all(src, dst []int) {
	const none = -1
	b.todo, b.can, b.out = b.todo[:0], b.can[:0], b.out[:0]
	for i := range b.at {
		b.at[i], b.pred[i] = none, none
	}
	for i, d := range dst {
		if src[i] != d && b.pred[d] == none {
			b.at[src[i]], b.pred[d] = src[i], src[i]
			b.todo = append(b.todo, d)
		}
	}
	for _, d := range b.todo {
		if b.at[d] == none {
			b.can = append(b.can, d)
		}
	}
	for len(b.todo) > 0 {
		for len(b.can) > 0 {
			d := b.can[len(b.can)-1]
			b.can = b.can[:len(b.can)-1]
			a := b.pred[d]
			c := b.at[a]
			b.out = append(b.out, [2]int{c, d})
			b.at[a] = d
			if a == c && b.pred[a] != none {
				b.can = append(b.can, a)
			}
		}
		d := b.todo[len(b.todo)-1]
		b.todo = b.todo[:len(b.todo)-1]
		if d != b.at[b.pred[d]] && b.at[d] == d {
			b.out = append(b.out, [2]int{d, b.tmp})
			b.at[d] = b.tmp
			b.can = append(b.can, d)
		}
	}
}

// references are the published algorithms, with their memory.
type references struct {
	l leroy
	b boissinot
}

// effect is what location i holds after a sequence of moves, if location k held k.
func effect(moves [][2]int) (at [places]int) {
	for i := range at {
		at[i] = i
	}
	for _, mv := range moves {
		at[mv[1]] = at[mv[0]]
	}
	return at
}

func isInt(a regalloc.Allocation) bool { return a.IsReg() && a.Reg().Class() == regalloc.Int }

// check resolves the moves and compares the effect with that of the parallel move
// and of the sequences of both published algorithms, and the number of moves, where
// no move takes two, with that of Boissinot et al., who prove theirs the least. Swaps save two of them in each cycle.
func check(t *testing.T, r *Resolver, ref *references, moves []Move, locs []regalloc.Allocation, env Env, out []Move) []Move {
	out = r.Resolve(out[:0], moves, env)
	var m machine
	m.reset(locs)
	saved := 0
	for k, mv := range out {
		if mv.Swap {
			if !isSwappable(mv.From, env) || !isSwappable(mv.To, env) || mv.From == mv.To || mv.Bytes != 8 {
				t.Fatalf("%v: no such swap in %v", moves, out)
			}
			if k == 0 || !out[k-1].Swap || out[k-1].From != mv.To { // a cycle begins
				saved += 2
			}
		}
		if mv.From.IsMem() && mv.To.IsMem() {
			t.Fatalf("%v: memory to memory in %v", moves, out)
		}
		if mv.Bytes == 16 && (isInt(mv.From) || isInt(mv.To)) {
			t.Fatalf("%v: 16 bytes in an int register in %v", moves, out)
		}
		m.do(mv)
	}
	n := len(locs) - 3
	var want machine
	want.reset(locs)
	l := &ref.l
	l.tmp, ref.b.tmp = places-1, places-1
	l.src, l.dst, l.status, l.out = l.src[:0], l.dst[:0], l.status[:0], l.out[:0]
	for _, mv := range moves {
		l.src, l.dst, l.status = append(l.src, want.find(mv.From)), append(l.dst, want.find(mv.To)), append(l.status, 0)
	}
	for k, mv := range moves {
		if mv.From != mv.To {
			want.value[l.dst[k]], want.bytes[l.dst[k]] = uint8(l.src[k]), mv.Bytes
		}
	}
	ref.b.all(l.src, l.dst)
	l.all() // which changes l.src
	byLeroy, byBoissinot := effect(l.out), effect(ref.b.out)
	memory := false
	for i := range n {
		memory = memory || locs[i].IsMem()
		if m.value[i] != want.value[i] || m.bytes[i] < want.bytes[i] || int(m.value[i]) != byLeroy[i] || byLeroy[i] != byBoissinot[i] {
			t.Fatalf("%v: %v has value %d of %d bytes after %v, not %d of %d, by Leroy %d, by Boissinot %d",
				moves, locs[i], m.value[i], m.bytes[i], out, want.value[i], want.bytes[i], byLeroy[i], byBoissinot[i])
		}
	}
	if !memory && len(out)+saved != len(ref.b.out) {
		t.Fatalf("%v: %d moves %v, not %d", moves, len(out), out, len(ref.b.out)-saved)
	}
	return out
}

func isSwappable(a regalloc.Allocation, env Env) bool { return a.IsReg() && env.Swaps.Has(a.Reg()) }

var (
	floatScratch = regalloc.FloatReg(31)
	intScratch   = regalloc.IntReg(31)
	swaps        = (^regalloc.PRegSet(0)).OfClass(regalloc.Int) &^ regalloc.SetOf(regalloc.IntReg(31))
)

// envs are the ways in which scratches may be there or not.
func envs() []Env {
	extra := regalloc.InSlot(100)
	no := [2]regalloc.PReg{regalloc.NoPReg, floatScratch}
	both := [2]regalloc.PReg{intScratch, floatScratch}
	return []Env{
		{Scratch: no, Extra: extra},
		{Scratch: both, Extra: extra},
		{Scratch: no, Temp: regalloc.InReg(intScratch), Extra: extra},
		{Scratch: no, Swaps: swaps, Extra: extra},
	}
}

// locations are i int registers, f float registers, then slots, n in all, then
// what the resolver may use.
func locations(i, f, n int) []regalloc.Allocation {
	var l []regalloc.Allocation
	for k := range n {
		switch {
		case k < i:
			l = append(l, regalloc.InReg(regalloc.IntReg(k)))
		case k < i+f:
			l = append(l, regalloc.InReg(regalloc.FloatReg(k)))
		default:
			l = append(l, regalloc.InSlot(2*k))
		}
	}
	return append(l, regalloc.InReg(floatScratch), regalloc.InReg(intScratch), regalloc.InSlot(100))
}

var every = flag.Bool("every", false, "try six locations with every set of scratch registers")

// TestExhaustive tries all sets of moves between up to six locations of every
// mix of kinds.
func TestExhaustive(t *testing.T) {
	most := maxTests
	if testing.Short() {
		most--
	}
	var r Resolver
	var ref references
	var out []Move
	total := 0
	for n := 2; n <= most; n++ {
		for i := 0; i <= n; i++ {
			for f := 0; i+f <= n; f++ {
				locs := locations(i, f, n)
				all := envs()
				if n == maxTests && !*every && !testenv.Full() {
					all = all[:1]
				}
				for k, env := range all {
					total += allMoves(n, func(moves []Move) {
						out = check(t, &r, &ref, moves, locs, env, out)
					}, locs, k)
				}
			}
		}
	}
	if r.UsedExtra == 0 {
		t.Error("the extra slot was never needed")
	}
	if t.Logf("%d sets of moves", total); total < 10_000_000 && (*every || testenv.Full()) {
		t.Error("too few")
	}
}

// allMoves calls f with each function from some of the n locations to their
// sources. A value from a location with an odd index is of 16 bytes where that
// is possible for all its destinations.
func allMoves(n int, f func([]Move), locs []regalloc.Allocation, parity int) (count int) {
	var src [maxTests]int // n: no destination
	var moves []Move
	for {
		moves = moves[:0]
		var narrow [maxTests]bool
		for d, s := range src[:n] {
			if s < n && (isInt(locs[d]) || isInt(locs[s])) {
				narrow[s] = true
			}
		}
		for d, s := range src[:n] {
			if s < n {
				bytes := uint8(8)
				if !narrow[s] && (s+parity)&1 == 1 {
					bytes = 16
				}
				moves = append(moves, of(locs[s], locs[d], bytes))
			}
		}
		f(moves)
		count++
		k := 0
		for ; k < n; k++ {
			if src[k]++; src[k] <= n {
				break
			}
			src[k] = 0
		}
		if k == n {
			return count
		}
	}
}

// of is a move.
func of(from, to regalloc.Allocation, bytes uint8) Move {
	return Move{From: from, To: to, Bytes: bytes}
}

func TestFew(t *testing.T) {
	a, b, c, d := regalloc.InReg(regalloc.IntReg(1)), regalloc.InReg(regalloc.IntReg(2)), regalloc.InReg(regalloc.IntReg(3)), regalloc.InReg(regalloc.IntReg(4))
	x, y := regalloc.InReg(regalloc.FloatReg(1)), regalloc.InReg(regalloc.FloatReg(2))
	slot, s := regalloc.InSlot(0), regalloc.InReg(floatScratch)
	none, swapping := envs()[0], envs()[3]
	swapsTwo := none
	swapsTwo.Swaps = regalloc.SetOf(a.Reg(), b.Reg())
	both := swapping
	both.Scratch[regalloc.Int] = intScratch
	for _, test := range []struct {
		name  string
		moves []Move
		env   Env
		want  int // moves and swaps
		swaps int
		// scratch: the float scratch register is used.
		scratch bool
	}{
		{"none", nil, none, 0, 0, false},
		{"itself", []Move{of(a, a, 8)}, none, 0, 0, false},
		{"twice the same", []Move{of(a, b, 8), of(a, b, 8)}, none, 1, 0, false},
		{"cycle", []Move{of(a, b, 8), of(b, a, 8)}, none, 3, 0, true},
		{"cycle with a copy needs no scratch", []Move{of(a, b, 8), of(b, a, 8), of(a, c, 8)}, none, 3, 0, false},
		{"argument to slot", []Move{of(regalloc.InArg(3), slot, 8)}, none, 2, 0, true},
		{"swap", []Move{of(a, b, 8), of(b, a, 8)}, swapping, 1, 1, false},
		{"swap of halves", []Move{of(a, b, 4), of(b, a, 8)}, swapping, 1, 1, false},
		{"swaps", []Move{of(a, b, 8), of(b, c, 8), of(c, d, 8), of(d, a, 8)}, swapping, 3, 3, false},
		{"two swaps", []Move{of(a, b, 8), of(b, a, 8), of(c, d, 8), of(d, c, 8)}, swapping, 2, 2, false},
		{"a copy is as good as a swap", []Move{of(a, b, 8), of(b, a, 8), of(a, c, 8)}, swapping, 3, 0, false},
		{"floats are not swapped", []Move{of(x, y, 16), of(y, x, 16)}, swapping, 3, 0, true},
		{"nor are a float and an int", []Move{of(x, a, 8), of(a, x, 8)}, swapping, 3, 0, true},
		{"nor is a slot", []Move{of(a, b, 8), of(b, slot, 8), of(slot, a, 8)}, swapping, 4, 0, true},
		{"nor are other registers", []Move{of(a, b, 8), of(b, c, 8), of(c, a, 8)}, swapsTwo, 4, 0, true},
		{"an int scratch register does as well", []Move{of(a, b, 8), of(b, a, 8)}, both, 3, 0, false},
	} {
		var r Resolver
		got := r.Resolve(nil, test.moves, test.env)
		swaps, scratch := 0, false
		for _, m := range got {
			if m.Swap {
				swaps++
			}
			scratch = scratch || m.From == s || m.To == s
		}
		if len(got) != test.want || swaps != test.swaps || scratch != test.scratch {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}

func TestConflictPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	var r Resolver
	a, b, c := regalloc.InSlot(0), regalloc.InSlot(1), regalloc.InReg(3)
	r.Resolve(nil, []Move{of(a, c, 8), of(b, c, 8)}, envs()[0])
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	moves := permutation(200)
	var r Resolver
	var out []Move
	if n := testing.AllocsPerRun(10, func() { out = r.Resolve(out[:0], moves, envs()[0]) }); n > 2 {
		t.Errorf("%v allocations", n)
	}
}

// permutation moves n slots and all registers about.
func permutation(n int) []Move {
	locs := locations(10, 0, n)[:n]
	var moves []Move
	for i, j := range rand.New(rand.NewPCG(1, 2)).Perm(n) {
		moves = append(moves, of(locs[i], locs[j], 8))
	}
	return moves
}

func BenchmarkPermutation(b *testing.B) {
	for _, n := range []int{2, 8, 100, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			moves, env := permutation(n), envs()[0]
			var r Resolver
			var out []Move
			b.ReportAllocs()
			for b.Loop() {
				out = r.Resolve(out[:0], moves, env)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/move")
		})
	}
}
