package backend

import (
	"math/rand"
	"testing"

	"github.com/waot-project/waot/machbuffer"
	"github.com/waot-project/waot/regalloc"
)

// randomPlace is a register of the float class, the scratch one being number 15, of the integer class, or a slot.
func randomPlace(rng *rand.Rand) regalloc.Allocation {
	switch rng.Intn(6) {
	case 0:
		return regalloc.InReg(regalloc.FloatReg(rng.Intn(2)))
	case 1:
		return regalloc.InSlot(rng.Intn(2))
	}
	return regalloc.InReg(regalloc.IntReg(rng.Intn(4)))
}

// TestCycles executes random edits as they are and as they are emitted: everything but the scratch register must be
// the same, and that where it is read.
func TestCycles(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	scratch := regalloc.InReg(regalloc.FloatReg(15))
	swaps, kept := 0, 0
	for range 100_000 {
		var edits []regalloc.Edit
		move := func(p regalloc.ProgPoint, to, from regalloc.Allocation) {
			edits = append(edits, regalloc.Edit{Point: p, Kind: regalloc.Move, Bytes: 8, From: from, To: to})
		}
		points := []regalloc.ProgPoint{regalloc.Before(1), regalloc.After(1), regalloc.Before(2), regalloc.After(2)}
		for _, p := range points {
			for range rng.Intn(3) {
				if rng.Intn(3) > 0 { // a cycle, perhaps a wrong one
					regs := rng.Perm(4)[:2+rng.Intn(3)]
					last := scratch
					for _, r := range regs {
						a := regalloc.InReg(regalloc.IntReg(r))
						if rng.Intn(30) == 0 {
							a = randomPlace(rng)
						}
						move(p, last, a)
						last = a
					}
					move(p, last, scratch)
					continue
				}
				to, from := randomPlace(rng), randomPlace(rng)
				if rng.Intn(4) == 0 {
					from = scratch
				} else if rng.Intn(6) == 0 {
					to = scratch
				}
				move(p, to, from)
			}
		}
		start := map[regalloc.Allocation]int{scratch: 100}
		for n := range 4 {
			start[regalloc.InReg(regalloc.IntReg(n))] = n
			start[regalloc.InReg(regalloc.FloatReg(n))] = 10 + n
			start[regalloc.InSlot(n)] = 20 + n
		}
		var want, got [2]map[regalloc.Allocation]int
		state := map[regalloc.Allocation]int{}
		e := &Emitter{Target: &Target{Emission: Emission{
			EmitSwap: func(_ *Emitter, a, b regalloc.PReg) {
				x, y := regalloc.InReg(a), regalloc.InReg(b)
				state[x], state[y] = state[y], state[x]
				swaps++
			},
			AppendMove: func(_ []byte, from, to regalloc.Allocation, _ uint8, _ *Frame) []byte {
				state[to] = state[from]
				kept++
				return nil
			},
		}}}
		e.Buf = machbuffer.New(new(machbuffer.Target))
		e.Target.Env.Scratch[regalloc.Float] = scratch.Reg()
		run := func(out *[2]map[regalloc.Allocation]int, step func([]regalloc.Edit) []regalloc.Edit) {
			state = map[regalloc.Allocation]int{}
			for k, v := range start {
				state[k] = v
			}
			rest, instruction := edits, regalloc.Inst(1)
			for n := range out {
				for len(rest) > 0 && rest[0].Point <= regalloc.Before(instruction) {
					rest = step(rest)
				}
				state[scratch] = 1000 // any instruction may change it
				out[n] = map[regalloc.Allocation]int{}
				for k, v := range state {
					out[n][k] = v
				}
				instruction++
			}
			for len(rest) > 0 {
				rest = step(rest)
			}
			delete(state, scratch)
			for k, v := range state {
				out[1][k] = v
			}
		}
		run(&want, func(es []regalloc.Edit) []regalloc.Edit {
			state[es[0].To] = state[es[0].From]
			return es[1:]
		})
		run(&got, e.edit)
		for n := range want {
			for k, v := range want[n] {
				if got[n][k] != v {
					t.Fatalf("%v: %v is %d, want %d", edits, k, got[n][k], v)
				}
			}
		}
	}
	if swaps < 1000 || kept < 1000 {
		t.Error("too few of a kind:", swaps, kept)
	}
}
