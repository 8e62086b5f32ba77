package checker_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/waot-project/waot/checker"
	"github.com/waot-project/waot/internal/proof/entropy"
	"github.com/waot-project/waot/internal/proof/regalloc/exec"
)

// Bounds of FuzzDamaged, in bytes: more than the largest function takes, and more than the damages do.
const (
	maxFunction = 4 << 10
	maxDamages  = 256
)

// A spill area of more words takes too long; the checker refuses those of more than refusedSlots words at once.
const (
	maxSlots     = 1 << 14
	refusedSlots = 1 << 22
)

// FuzzDamaged: the bytes choose a function with an allocation, and what is done to it. Undamaged it passes; damaged it gives
// an error or none in both modes, never a panic; what passes with claims passes without, and does what the function means.
func FuzzDamaged(f *testing.F) {
	r := rand.NewChaCha8([32]byte{7: 'c'})
	for kind := range 16 + len(outputFaults) { // each kind of damage alone, then each fault
		function, damages := make([]byte, 24*(kind%16)), make([]byte, 12)
		r.Read(function)
		r.Read(damages)
		if damages[0], damages[1] = 1, byte(kind); kind >= 16 {
			damages[0], damages[1] = 8, byte(kind-16)
		}
		f.Add(function, damages)
	}
	env := testEnv()
	f.Fuzz(func(t *testing.T, function, damages []byte) {
		if len(function) > maxFunction || len(damages) > maxDamages {
			t.Skip("too long")
		}
		e := entropy.New(function)
		in := generateOf(e, 15)
		out := allocateOf(e, in, env)
		c := checker.New()
		for _, fix := range []bool{false, true} {
			if err := c.Check(in, env, out, checker.Options{Fixpoint: fix}); err != nil {
				t.Fatalf("undamaged, fixpoint %v: %v\n%s", fix, err, dump(in, out))
			}
		}
		e = entropy.New(damages)
		n := e.IntN(16) // bit 3 is for a fault, which expects everything else to be in order
		if n&8 != 0 {
			m := &mutator{choices: e, in: in, out: out}
			outputFaults[m.IntN(len(outputFaults))].f(m)
		}
		for range n & 7 {
			damage(e, out)
		}
		if out.SlotWords > maxSlots && out.SlotWords <= refusedSlots {
			out.SlotWords = maxSlots
		}
		claims := c.Check(in, env, out, checker.Options{})
		fixpoint := c.Check(in, env, out, checker.Options{Fixpoint: true})
		if claims == nil && fixpoint != nil {
			t.Errorf("passes with claims, but %v", fixpoint)
		}
		if fixpoint != nil {
			return
		}
		if err := run(uint64(e.Uint32()), 6, in, env, out); err != nil && !errors.Is(err, exec.ErrMalformed) {
			t.Errorf("passes, but %v\n%s", err, dump(in, out))
		}
	})
}
