package checker_test

import (
	"math/rand/v2"
	"testing"

	"github.com/waot-project/waot/checker"
)

// FuzzDamaged: a damaged output gives an error or none in both modes, never a
// panic, and what passes with claims passes without.
func FuzzDamaged(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed, seed, uint8(1+seed%4))
	}
	env := testEnv()
	f.Fuzz(func(t *testing.T, function, damages uint64, n uint8) {
		in := generate(function, 15)
		out := allocate(function, in, env)
		rnd := rand.New(rand.NewPCG(damages, 9))
		for range n % 8 {
			damage(rnd, out)
		}
		c := checker.New()
		claims := c.Check(in, env, out, checker.Options{})
		fixpoint := c.Check(in, env, out, checker.Options{Fixpoint: true})
		if claims == nil && fixpoint != nil {
			t.Errorf("passes with claims, but %v", fixpoint)
		}
	})
}
