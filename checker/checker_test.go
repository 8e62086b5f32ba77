package checker_test

import (
	"testing"

	"github.com/waot-project/waot/checker"
)

func TestNaive(t *testing.T) {
	env := testEnv()
	c := checker.New()
	insts := 0
	for seed := range uint64(400) {
		in := generate(seed, 30)
		out := allocate(seed, in, env)
		insts += len(in.Insts)
		if err := run(seed, 10, in, env, out); err != nil {
			t.Fatalf("seed %d: the test's own allocator is wrong: %v\n%s", seed, err, dump(in, out))
		}
		for _, fix := range []bool{false, true} {
			if err := c.Check(in, env, out, checker.Options{Fixpoint: fix}); err != nil {
				t.Fatalf("seed %d fixpoint %v: %v\n%s", seed, fix, err, dump(in, out))
			}
		}
	}
	t.Logf("%d instructions", insts)
}
