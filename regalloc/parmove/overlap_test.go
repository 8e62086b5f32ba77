package parmove

import (
	"testing"

	"github.com/waot-project/waot/regalloc"
)

// memory is what words hold: of registers, two for each, of the spill area and of the arguments. 0 is nothing.
type memory map[regalloc.Allocation][2]uint16

// read returns the words of a; of memory, from two places.
func (m memory) read(a regalloc.Allocation, bytes uint8) (w [2]uint16) {
	w[0] = m[a][0]
	switch {
	case bytes <= 8:
	case a.IsReg():
		w[1] = m[a][1]
	default:
		w[1] = m[a+1][0]
	}
	return w
}

func (m memory) write(a regalloc.Allocation, bytes uint8, w [2]uint16) {
	if bytes <= 8 {
		w[1] = 0
	}
	if a.IsMem() && bytes > 8 {
		m[a+1] = [2]uint16{w[1]}
		w[1] = 0
	}
	m[a] = w
}

// argWords is how many argument words are under test.
const argWords = 4

// TestOverlaps tries all sets of moves that write argument words of 8 and of 16 bytes and two registers, and read these. So sources and destinations overlap in all ways.
func TestOverlaps(t *testing.T) {
	i, f := regalloc.InReg(regalloc.IntReg(1)), regalloc.InReg(regalloc.FloatReg(1))
	var narrow, wide []regalloc.Allocation // sources
	for w := range argWords {
		narrow = append(narrow, regalloc.InArg(w))
		if w&1 == 0 {
			wide = append(wide, regalloc.InArg(w))
		}
	}
	narrow, wide = append(narrow, i, f), append(wide, f)
	into := func(to regalloc.Allocation, from []regalloc.Allocation, bytes uint8) (sets [][]Move) {
		for _, a := range from {
			sets = append(sets, []Move{of(a, to, bytes)})
		}
		return sets
	}
	optional := func(sets ...[][]Move) (all [][]Move) {
		all = append(all, nil)
		for _, s := range sets {
			all = append(all, s...)
		}
		return all
	}
	both := func(x, y [][]Move) (all [][]Move) {
		for _, a := range x {
			for _, b := range y {
				all = append(all, append(append([]Move{}, a...), b...))
			}
		}
		return all
	}
	pair := func(w int) [][]Move { // what two words can receive
		low, high := regalloc.InArg(w), regalloc.InArg(w+1)
		return append(both(optional(into(low, narrow, 8)), optional(into(high, narrow, 8))), into(low, wide, 16)...)
	}
	regs := both(optional(into(i, narrow, 8)), optional(into(f, narrow, 8), into(f, wide, 16)))
	var r Resolver
	var out, set []Move
	total, aside := 0, 0
	for k, env := range envs() {
		env.Extra = regalloc.InSlot(100)
		for n, words := range both(pair(0), pair(2)) {
			if testing.Short() && n%4 != k {
				continue
			}
			for _, more := range regs {
				set = append(append(set[:0], words...), more...)
				r.UsedExtra = 0
				out = r.Resolve(out[:0], set, env)
				checkOverlaps(t, set, out, env, r.UsedExtra)
				if n := r.SetAside(set); n > 0 {
					aside++
					if r.UsedExtra != 2*n {
						t.Fatalf("%v: %d words for %d moves to be set aside", set, r.UsedExtra, n)
					}
				}
				total++
			}
		}
	}
	t.Logf("%d sets of moves, in %d of them sources to be set aside", total, aside)
	if total < 100_000 || aside < total/20 {
		t.Error("too few")
	}
}

// checkOverlaps compares the effect of out with that of set at once.
func checkOverlaps(t *testing.T, set, out []Move, env Env, extra int) {
	before, now := memory{}, memory{}
	id := uint16(0)
	fill := func(a regalloc.Allocation) {
		w := [2]uint16{id + 1}
		if id += 2; a.IsReg() {
			w[1] = id
		}
		before[a], now[a] = w, w
	}
	for w := range argWords {
		fill(regalloc.InArg(w))
	}
	fill(regalloc.InReg(regalloc.IntReg(1)))
	fill(regalloc.InReg(regalloc.FloatReg(1)))
	for _, m := range out {
		first := env.Extra.Index()
		switch {
		case m.Swap:
			t.Fatalf("%v: a swap in %v", set, out) // there is one int register
		case m.From.IsMem() && m.To.IsMem():
			t.Fatalf("%v: memory to memory in %v", set, out)
		case m.Bytes == 16 && (isInt(m.From) || isInt(m.To)):
			t.Fatalf("%v: 16 bytes in an int register in %v", set, out)
		case m.Bytes == 16 && (m.From.IsMem() && m.From.Index()&1 != 0 || m.To.IsMem() && m.To.Index()&1 != 0):
			t.Fatalf("%v: 16 bytes at an odd word in %v", set, out)
		case m.To.IsSlot() && (m.To.Index() < first || m.To.Index()+words(m.Bytes) > first+extra):
			t.Fatalf("%v: %v is not among the extra words in %v", set, m.To, out)
		}
		now.write(m.To, m.Bytes, now.read(m.From, m.Bytes))
	}
	for _, m := range set {
		if want := before.read(m.From, m.Bytes); now.read(m.To, m.Bytes) != want {
			t.Fatalf("%v: %v does not have what %v had after %v", set, m.To, m.From, out)
		}
	}
	for w := range argWords {
		a, written := regalloc.InArg(w), false
		for _, m := range set {
			written = written || m.To.IsArg() && m.To.Index() <= w && w < m.To.Index()+words(m.Bytes)
		}
		if !written && now[a] != before[a] {
			t.Fatalf("%v: %v has changed after %v", set, a, out)
		}
	}
}
