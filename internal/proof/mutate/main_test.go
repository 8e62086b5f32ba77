package main

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/waot-project/waot/checker"
	"github.com/waot-project/waot/internal/proof/regalloc/exec"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/regalloc"
)

// TestCampaign is a small campaign: all mutants that change the meaning are caught
// in both modes, which agree, and each kind of fault is there.
func TestCampaign(t *testing.T) {
	files, err := filepath.Glob("../../../testdata/wasm/*.wasm")
	if err != nil || len(files) == 0 {
		t.Fatal("no modules")
	}
	c := campaign{want: testenv.Cases(2000, 3000, 10_000), workers: 2}
	if err := c.addCorpus(20, files); err != nil {
		t.Fatal(err)
	}
	if err := c.run(); err != nil {
		t.Fatal(err)
	}
	// Of some kinds only one in fifty changes anything: those that have changed nothing have some more chances.
	w, next := c.newWorker(), c.next/uint64(len(faults))+1
	for k := range faults {
		for n := uint64(0); n < 500 && c.counts[k].changed+c.counts[k].malformed == 0; n++ {
			if err := w.one((next+n)*uint64(len(faults)) + uint64(k)); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Log("\n" + c.table())
	if c.changed < c.want {
		t.Errorf("%d mutants change the meaning, fewer than %d", c.changed, c.want)
	}
	if names := c.missing(); len(names) > 0 {
		t.Errorf("nothing changed by %v", names)
	}
}

// TestVerdicts: what a checker can get wrong is an error of the campaign.
func TestVerdicts(t *testing.T) {
	err := errors.New("some fault")
	for _, test := range []struct {
		v  verdict
		ok bool
	}{
		{verdict{}, true},
		{verdict{claims: err}, true}, // too little claimed
		{verdict{claims: err, fixpoint: err}, true},
		{verdict{difference: err, claims: err, fixpoint: err}, true},
		{verdict{difference: err}, false},
		{verdict{difference: err, claims: err}, false},
		{verdict{difference: err, fixpoint: err}, false},
		{verdict{difference: exec.ErrMalformed}, false},
		{verdict{fixpoint: err}, false},
		{verdict{again: err}, false},
	} {
		if got := test.v.fault(); (got == nil) != test.ok {
			t.Errorf("%+v: %v", test.v, got)
		}
	}
}

// TestNoChecker: without a checker, each kind of fault would be missed: mutants
// that are not code, or do something else, are found by execution alone.
func TestNoChecker(t *testing.T) {
	c := campaign{}
	if err := c.addCorpus(4, nil); err != nil {
		t.Fatal(err)
	}
	w := c.newWorker()
	found := map[string]bool{}
	for number := range uint64(400 * len(faults)) {
		k := number % uint64(len(faults))
		if found[faults[k].name] {
			continue
		}
		m, err := w.make(number)
		if err != nil {
			t.Fatal(err)
		}
		if m != nil {
			v := w.judge(m)
			v.claims, v.fixpoint, v.again = nil, nil, nil
			found[m.fault.name] = v.fault() != nil
		}
	}
	for _, f := range faults {
		if !found[f.name] {
			t.Errorf("%s: never missed", f.name)
		}
	}
}

// TestModesAgree: whether claims exist with which an allocation passes is what the
// fixpoint finds without any: those that it finds pass, and where it finds a fault
// none do that the allocator, chance or an earlier fixpoint has made.
func TestModesAgree(t *testing.T) {
	c := campaign{}
	if err := c.addCorpus(10, nil); err != nil {
		t.Fatal(err)
	}
	n := testenv.Cases[uint64](3000, 5000, 20_000)
	w := c.newWorker()
	accepted, rejected, provenWrong, falseClaims := 0, 0, 0, 0
	for number := range n {
		m, err := w.make(number)
		if err != nil {
			t.Fatal(err)
		}
		if m == nil {
			continue
		}
		good := cloneOutput(&w.out)
		if m.fault.misread != nil || number%4 == 0 { // the allocation as it was, too
			if err := w.alloc[0].Run(m.in, m.env, good); err != nil {
				t.Fatal(err)
			}
		}
		outs := []*regalloc.Output{m.out}
		if number%4 == 0 {
			outs = append(outs, good)
		}
		for _, out := range outs {
			fixpoint := w.check.Check(m.in, m.env, out, checker.Options{Fixpoint: true})
			with := cloneOutput(out)
			if fixpoint == nil {
				accepted++
				w.check.Claim(with)
				if err := w.check.Check(m.in, m.env, with, checker.Options{}); err != nil {
					t.Fatalf("mutant %d, %s: claims of the fixpoint: %v", number, m.fault.name, err)
				}
			} else {
				rejected++
			}
			for try := range 5 {
				with := cloneOutput(out)
				switch {
				case try == 1:
					with.Claims = nil
					clear(with.ClaimEnd)
				case try == 2:
					if w.check.Check(m.in, m.env, good, checker.Options{Fixpoint: true}) == nil {
						w.check.Claim(with)
					}
				case try == 3:
					alterClaims(m.Rand, m.in, with)
				case try == 4:
					w.evade(m, with)
				}
				again := w.check.Check(m.in, m.env, with, checker.Options{Fixpoint: true})
				claims := w.check.Check(m.in, m.env, with, checker.Options{})
				switch {
				case (again == nil) != (fixpoint == nil):
					t.Fatalf("mutant %d, %s: the fixpoint depends on claims: %v, %v", number, m.fault.name, fixpoint, again)
				case claims == nil && fixpoint != nil:
					t.Fatalf("mutant %d, %s: claims pass, but %v", number, m.fault.name, fixpoint)
				case claims != nil && fixpoint != nil:
					provenWrong++
				case claims != nil:
					falseClaims++
				}
			}
		}
	}
	t.Logf("%d allocations accepted by both modes, %d rejected with each of %d sets of claims; %d sets that say too much or too little rejected",
		accepted, rejected, provenWrong, falseClaims)
	if accepted < int(n)/8 || rejected < int(n)/4 || falseClaims < int(n)/8 {
		t.Error("too few of a kind")
	}
}

// evade looks for claims that pass: as long as one is refuted, it is made by another name, or left out.
func (w *worker) evade(m *mutant, out *regalloc.Output) {
	for range 12 {
		var e *checker.Error
		if err := w.check.Check(m.in, m.env, out, checker.Options{}); !errors.As(err, &e) || e.Rule != checker.RuleClaim {
			return
		}
		k := slices.Index(out.Claims, regalloc.Claim{Loc: e.Loc, VReg: e.VReg})
		if k < 0 {
			return
		}
		if other := otherName(m.Rand, m.in, e.VReg); other != e.VReg && m.IntN(4) > 0 {
			out.Claims[k].VReg = other
		} else {
			withoutClaim(out, k)
		}
	}
}

// withoutClaim leaves out claim k.
func withoutClaim(out *regalloc.Output, k int) {
	out.Claims = slices.Delete(out.Claims, k, k+1)
	for b := range out.ClaimEnd {
		if int(out.ClaimEnd[b]) > k {
			out.ClaimEnd[b]--
		}
	}
}

// otherName is a parameter that v is passed to or what is passed to it; v itself if there is none.
func otherName(r *rand.Rand, in *regalloc.Input, v regalloc.VReg) regalloc.VReg {
	var names []regalloc.VReg
	pair := func(a, b regalloc.VReg) {
		switch v {
		case a:
			names = append(names, b)
		case b:
			names = append(names, a)
		}
	}
	for k := range in.Edges {
		args := in.ArgsOf(in.Edges[k])
		for j, p := range in.ParamsOf(in.Edges[k].To) {
			pair(p, args[j])
		}
	}
	if len(names) == 0 {
		return v
	}
	return names[r.IntN(len(names))]
}

// alterClaims changes some claims.
func alterClaims(r *rand.Rand, in *regalloc.Input, out *regalloc.Output) {
	for range 1 + r.IntN(4) {
		if n := len(out.Claims); n > 0 && r.IntN(2) == 0 {
			k := r.IntN(n)
			switch r.IntN(4) {
			case 0:
				out.Claims[k].VReg = regalloc.VReg(r.IntN(len(in.VRegs)))
			case 3:
				out.Claims[k].VReg = otherName(r, in, out.Claims[k].VReg)
			case 1:
				out.Claims[k].Loc = out.Claims[r.IntN(n)].Loc
			case 2:
				withoutClaim(out, k)
			}
			continue
		}
		if len(in.Operands) == 0 {
			continue
		}
		b := r.IntN(len(out.ClaimEnd))
		k := r.IntN(len(in.Operands))
		m := mutant{out: out}
		m.claim(b, regalloc.Claim{Loc: out.Allocs[k], VReg: in.Operands[k].VReg})
	}
}
