//go:build linux

// Package main plants random one-line faults in the product's code, and runs the tests that should notice them. A
// fault that survives has no visible effect, or reveals a hole in the tests.
//
// Place in the pipeline: none; it measures the tests.
//
// Input: the source tree in the working directory, and tables of this package: which tests cover a package, which files have no faults.
// Output: a line for each fault, and how many were killed and survived. A seed, a tree and the same tests always give the same output,
// except for faults that never end.
//
// Half of the faults are in the two machines' packages. Faults that do not compile are counted separately. Tests run one after the other; on a
// shared machine, use nice and GOFLAGS=-p=1. It needs Linux.
package main

import (
	"context"
	"flag"
	"fmt"
	"go/build"
	"maps"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/waot-project/waot/internal/proof/bugcases"
)

func main() {
	n := flag.Int("n", 200, "faults that compile")
	seed := flag.Uint64("seed", 1, "of the choice of faults")
	from := flag.Int("from", 1, "the number of the first fault to be tried")
	list := flag.Bool("list", false, "only list the faults")
	in := flag.String("in", "", "only in files whose path begins with this")
	known := flag.Bool("kept", false, "instead of random faults, plant those that a test is known to notice")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if *known {
		err = withLaboratory(func(lab *laboratory) error { return plantKept(ctx, lab, bugcases.All(), *in) })
	} else {
		err = plant(ctx, *n, *seed, *from, *list, *in)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		stop()
		os.Exit(1)
	}
}

// trial is a fault with the tests that have still to run.
type trial struct {
	*fault
	number int // in the sequence of the seed
	left   []run
}

// plant tries n faults that compile: first all of them with the first tests of their rows, then the survivors with the second
// tests, and so on, since the first tests decide most. Faults that are left when the context ends are reported as undecided.
func plant(ctx context.Context, n int, seed uint64, from int, list bool, in string) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	next, err := sequence(root, seed, in)
	if err != nil {
		return err
	}
	if list {
		for number := 1; number < from+n; number++ {
			if f := next(); f != nil && number >= from {
				fmt.Printf("%d\t%v\n", number, f)
			}
		}
		return nil
	}
	return withLaboratory(func(lab *laboratory) error { return tryEach(ctx, lab, next, n, from) })
}

// withLaboratory calls do with a laboratory for the tree in the working directory.
func withLaboratory(do func(*laboratory) error) error {
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "plant")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return do(&laboratory{root: root, dir: dir, without: map[run]usage{}, spare: usage{20 * time.Second, 10 * time.Minute}})
}

// tryEach tries n faults, from a number on, and prints what becomes of each, and the counts.
func tryEach(ctx context.Context, lab *laboratory, next func() *fault, n, from int) (err error) {
	var count [numStatuses]int
	var trials []trial
	// step runs the next tests of a trial, and keeps it if they decide nothing.
	step := func(t trial) error {
		v, err := lab.try(ctx, t.fault, t.left[0])
		if err != nil {
			return err
		}
		r := t.left[0]
		if t.left = t.left[1:]; v.status == undecided && len(t.left) == 0 {
			v.status = survived
		}
		if v.status == undecided {
			trials = append(trials, t)
		} else {
			count[v.status]++
		}
		fmt.Printf("%d\t%v\t%v\t%v\t%s\n", t.number, v.status, t.fault, r, v.by)
		return nil
	}
	for number := 1; err == nil && count[killed]+count[ranAway]+count[survived]+len(trials) < n; number++ {
		f := next()
		if f == nil {
			break
		}
		if number >= from {
			err = step(trial{f, number, runsFor(f.file)})
		}
	}
	for err == nil && len(trials) > 0 {
		t := trials[0]
		trials = trials[1:]
		if err = step(t); err != nil {
			trials = append(trials, t)
		}
	}
	count[undecided] = len(trials)
	for o, c := range count {
		fmt.Printf("%v: %d\n", status(o), c)
	}
	return err
}

// sequence returns a function that gives the faults of a seed one after the other, in files whose path begins with in.
func sequence(root string, seed uint64, in string) (func() *fault, error) {
	all := map[string][]fault{}
	for pkg := range covers {
		faults, err := packageFaults(root, pkg)
		if err != nil {
			return nil, err
		}
		all[pkg] = slices.DeleteFunc(faults, func(f fault) bool { return !strings.HasPrefix(f.file, in) })
	}
	return choose(all, rand.New(rand.NewPCG(seed, 0))), nil
}

// isa reports whether a package is one of the two machines'.
func isa(pkg string) bool { return strings.HasPrefix(pkg, "backend/isa/") }

// runsFor returns the tests that cover a file.
func runsFor(file string) (runs []run) {
	pkg := filepath.ToSlash(filepath.Dir(file))
	for _, r := range slices.Concat(foremost[file], covers[pkg]) {
		if r == here {
			r.pkg = pkg
		}
		if !slices.Contains(runs, r) {
			runs = append(runs, r)
		}
	}
	return runs
}

// packageFaults returns all faults that the files of a package can have, on this machine.
func packageFaults(root, pkg string) (faults []fault, err error) {
	p, err := build.ImportDir(filepath.Join(root, pkg), 0)
	if err != nil {
		return nil, err
	}
	for _, file := range p.GoFiles {
		name := filepath.ToSlash(filepath.Join(pkg, file))
		if excluded[name] != "" {
			continue
		}
		src, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return nil, err
		}
		more, err := find(name, src)
		if err != nil {
			return nil, err
		}
		faults = append(faults, more...)
	}
	return faults, nil
}

// choose returns a function that gives one fault after the other, none twice, and nil when none are left. It alternates between
// the machines' packages and the others. All packages of a group have a turn before one has its next turn. In a package, the
// kind of fault is random.
func choose(all map[string][]fault, rng *rand.Rand) func() *fault {
	left := map[string]*[numKinds][]fault{}
	var groups, turns [2][]string
	for _, pkg := range slices.Sorted(maps.Keys(all)) {
		g := 1
		if isa(pkg) {
			g = 0
		}
		groups[g] = append(groups[g], pkg)
		left[pkg] = new([numKinds][]fault)
		for _, f := range all[pkg] {
			left[pkg][f.kind] = append(left[pkg][f.kind], f)
		}
	}
	pick := func(pkg string) *fault {
		var kinds []kind
		for k, faults := range left[pkg] {
			if len(faults) > 0 {
				kinds = append(kinds, kind(k))
			}
		}
		if kinds == nil {
			return nil
		}
		of := &left[pkg][kinds[rng.IntN(len(kinds))]]
		i := rng.IntN(len(*of))
		f := (*of)[i]
		*of = slices.Delete(*of, i, i+1)
		return &f
	}
	// of gives the next fault of a group, and nil when there are none left.
	of := func(g int) *fault {
		for range 2 * len(groups[g]) { // the rest of a round, and a whole one
			if len(turns[g]) == 0 {
				turns[g] = slices.Clone(groups[g])
				rng.Shuffle(len(turns[g]), func(i, j int) { turns[g][i], turns[g][j] = turns[g][j], turns[g][i] })
			}
			pkg := turns[g][0]
			turns[g] = turns[g][1:]
			if f := pick(pkg); f != nil {
				return f
			}
		}
		return nil
	}
	g := 0
	return func() *fault {
		g = 1 - g
		if f := of(g); f != nil {
			return f
		}
		return of(1 - g)
	}
}
