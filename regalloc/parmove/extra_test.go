package parmove

import (
	"testing"

	"github.com/waot-project/waot/regalloc"
)

// TestExtra: a cycle takes the extra slot only if nothing else can hold what it needs: all of it between slots without an int scratch or a
// temporary register, or, with more than 8 bytes, without a temporary of the float class.
func TestExtra(t *testing.T) {
	slots := [2]regalloc.Allocation{regalloc.InSlot(0), regalloc.InSlot(2)}
	ints := [2]regalloc.Allocation{regalloc.InReg(regalloc.IntReg(1)), regalloc.InReg(regalloc.IntReg(2))}
	floats := [2]regalloc.Allocation{regalloc.InReg(regalloc.FloatReg(1)), regalloc.InReg(regalloc.FloatReg(2))}
	none, scratch, temp := envs()[0], envs()[1], envs()[2]
	floatTemp := none
	floatTemp.Temp = regalloc.InReg(regalloc.FloatReg(30))
	for _, c := range []struct {
		name  string
		cycle [2]regalloc.Allocation
		bytes uint8
		env   Env
		extra bool
		via   regalloc.Allocation // what the cycle goes through, if it is a register that is said here
	}{
		{"slots", slots, 8, none, true, 0},
		{"slots, a scratch", slots, 8, scratch, false, 0},
		{"slots, a temporary", slots, 8, temp, false, 0},
		{"slots, a float temporary", slots, 8, floatTemp, false, 0},
		{"wide slots", slots, 16, none, true, 0},
		{"wide slots, an int scratch", slots, 16, scratch, true, 0},
		{"wide slots, an int temporary", slots, 16, temp, true, 0},
		{"wide slots, a float temporary", slots, 16, floatTemp, false, 0},
		{"a slot and a register", [2]regalloc.Allocation{slots[0], ints[0]}, 8, none, false, 0},
		{"a slot and a float", [2]regalloc.Allocation{slots[0], floats[0]}, 16, none, false, 0},
		{"ints", ints, 8, none, false, regalloc.InReg(floatScratch)},
		{"ints, a scratch", ints, 8, scratch, false, regalloc.InReg(intScratch)},
		{"floats", floats, 16, scratch, false, regalloc.InReg(floatScratch)},
	} {
		var r Resolver
		a, b := c.cycle[0], c.cycle[1]
		out := r.Resolve(nil, []Move{of(a, b, c.bytes), of(b, a, c.bytes)}, c.env)
		if c.via != 0 && (len(out) != 3 || out[0].To != c.via) {
			t.Errorf("%s: %v, not by %v", c.name, out, c.via)
		}
		used := false
		for _, m := range out {
			used = used || m.From == c.env.Extra || m.To == c.env.Extra
		}
		if used != c.extra || (r.UsedExtra == 2) != c.extra {
			t.Errorf("%s: %v, the extra slot is used: %v, said to be: %v", c.name, out, used, r.UsedExtra)
		}
	}
}
