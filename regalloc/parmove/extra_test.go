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
	}{
		{"slots", slots, 8, none, true},
		{"slots, a scratch", slots, 8, scratch, false},
		{"slots, a temporary", slots, 8, temp, false},
		{"slots, a float temporary", slots, 8, floatTemp, false},
		{"wide slots", slots, 16, none, true},
		{"wide slots, an int scratch", slots, 16, scratch, true},
		{"wide slots, an int temporary", slots, 16, temp, true},
		{"wide slots, a float temporary", slots, 16, floatTemp, false},
		{"a slot and a register", [2]regalloc.Allocation{slots[0], ints[0]}, 8, none, false},
		{"a slot and a float", [2]regalloc.Allocation{slots[0], floats[0]}, 16, none, false},
		{"ints", ints, 8, none, false},
		{"floats", floats, 16, none, false},
	} {
		var r Resolver
		a, b := c.cycle[0], c.cycle[1]
		out := r.Resolve(nil, []Move{{a, b, c.bytes}, {b, a, c.bytes}}, c.env)
		used := false
		for _, m := range out {
			used = used || m.From == c.env.Extra || m.To == c.env.Extra
		}
		if used != c.extra || r.UsedExtra != c.extra {
			t.Errorf("%s: %v, the extra slot is used: %v, said to be: %v", c.name, out, used, r.UsedExtra)
		}
	}
}
