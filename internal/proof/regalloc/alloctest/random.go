// Package alloctest tests register allocators with random functions. It checks each allocation with the checker, and executes it with a
// simulation that knows nothing of claims or liveness.
//
// Place in the pipeline: none; it is for tests.
//
// Input: an allocator.
// Output: failures of a test.
package alloctest

import (
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/waot-project/waot/checker"
	"github.com/waot-project/waot/internal/proof/regalloc/gen"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/regalloc"
)

// Allocator is what all allocators are.
type Allocator interface {
	Run(in *regalloc.Input, env *regalloc.MachineEnv, out *regalloc.Output) error
}

// Dump prints a function and its allocation.
func Dump(in *regalloc.Input, out *regalloc.Output) string {
	var b strings.Builder
	edit := 0
	for n := range in.Blocks {
		info := in.Blocks[n]
		fmt.Fprintf(&b, "block%d%v preds %v depth %d\n", n, in.ParamsOf(regalloc.Block(n)), in.PredsOf(regalloc.Block(n)), info.LoopDepth)
		if len(out.ClaimEnd) > n && n > 0 {
			fmt.Fprintf(&b, "  claims %v\n", out.Claims[out.ClaimEnd[n-1]:out.ClaimEnd[n]])
		}
		for i := info.Insts.Start; i < info.Insts.End; i++ {
			for ; edit < len(out.Edits) && out.Edits[edit].Point <= regalloc.Before(regalloc.Inst(i)); edit++ {
				fmt.Fprintf(&b, "      %v\n", out.Edits[edit])
			}
			fmt.Fprintf(&b, "  inst%d", i)
			s, _ := in.OperandRange(regalloc.Inst(i))
			for k, o := range in.OperandsOf(regalloc.Inst(i)) {
				fmt.Fprintf(&b, " %v%v/%d", o.Access, o.VReg, o.Constraint)
				if len(out.Allocs) > int(s)+k {
					fmt.Fprintf(&b, "=%v", out.Allocs[int(s)+k])
				}
			}
			fmt.Fprintf(&b, " clobbers %d flags %d\n", in.Insts[i].Clobbers, in.Insts[i].Flags)
		}
		for _, e := range in.SuccsOf(regalloc.Block(n)) {
			fmt.Fprintf(&b, "    -> block%d%v\n", e.To, in.ArgsOf(e))
		}
	}
	return b.String()
}

// Random tests allocators that fresh makes with n random functions, whose seeds begin with first; 0 stands for as many as the level of the tests says.
// Every feature of gen.Distribution occurs but those that the allocators never have.
func Random(t *testing.T, fresh func() Allocator, n int, first uint64, never ...string) {
	if n == 0 {
		n = testenv.Cases(200, 500, 10_000)
	}
	envs := gen.Envs()
	a, c := fresh(), checker.New()
	var out regalloc.Output
	var d gen.Distribution
	for seed := first; seed < first+uint64(n); seed++ {
		r := rand.New(rand.NewPCG(seed, 7))
		env := envs[seed%uint64(len(envs))]
		in := gen.Func(r, gen.Varied(r), env)
		if err := guarded(a, in, env, &out); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, Dump(in, &out))
		}
		d.Add(in, &out)
		if err := c.Check(in, env, &out, checker.Options{}); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, Dump(in, &out))
		}
		if seed%8 == 0 {
			if err := c.Check(in, env, &out, checker.Options{Fixpoint: true}); err != nil {
				t.Fatalf("seed %d: fixpoint: %v\n%s", seed, err, Dump(in, &out))
			}
		}
		if seed%4 == 1 {
			// Nothing of the functions before may be left in the allocator.
			var other regalloc.Output
			if err := guarded(fresh(), in, env, &other); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if diff := cmp.Diff(&other, &out, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("seed %d: the functions before change the allocation: %s", seed, diff)
			}
		}
		for range 2 {
			s := sim{in: in, out: &out, env: env, rng: r}
			if err := s.run(2 * len(in.Insts)); err != nil {
				t.Fatalf("seed %d: simulation: %v\n%s", seed, err, Dump(in, &out))
			}
		}
	}
	t.Log(d.String())
	if n >= 1000 && (d.Median() < 200 || d.Least() < 30) {
		t.Errorf("the distribution is too simple")
	}
	if diff := cmp.Diff(never, d.Missing(), cmpopts.EquateEmpty()); n >= 1000 && diff != "" {
		t.Errorf("what no function has: %s", diff)
	}
}

// guarded is Run with panics as errors.
func guarded(a Allocator, in *regalloc.Input, env *regalloc.MachineEnv, out *regalloc.Output) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return a.Run(in, env, out)
}
