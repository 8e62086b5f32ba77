// Command instances measures how making instances scales: one goroutine on one processor, and then many on all of them. An instance of a small module is made in a store of its own, called and
// closed. It also says how much memory and how many mappings the process has before and after, which must stay the same.
//
// Place in the pipeline: none; it measures.
//
// Input: flags.
// Output: a line for each number of processors.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/waot-project/waot"
	"github.com/waot-project/waot/internal/proof/stress/guest"
)

func main() {
	goroutines := flag.Int("goroutines", 16, "goroutines on all processors")
	each := flag.Int("each", 100_000, "instances for each goroutine")
	flag.Parse()
	mod, err := waot.Compile(guest.Small(), nil)
	if err != nil {
		fail(err)
	}
	all := runtime.GOMAXPROCS(0)
	var alone float64
	for _, m := range []struct{ processors, goroutines int }{{1, 1}, {all, *goroutines}, {1, 1}} {
		runtime.GOMAXPROCS(m.processors)
		waot.FreeOSMemory()                                   // each begins alike
		if err := many(mod, m.goroutines, 2000); err != nil { // the first ones are others
			fail(err)
		}
		mappings, resident := process()
		began := time.Now()
		if err := many(mod, m.goroutines, *each); err != nil {
			fail(err)
		}
		n := float64(m.goroutines * *each)
		rate := n / time.Since(began).Seconds()
		if alone == 0 {
			alone = rate
		}
		after, residentAfter := process()
		fmt.Printf("%d goroutines on %d processors: %.0f instances, %.0f per second, %.2f of one alone; mappings %d, then %d; resident %d KiB, then %d\n",
			m.goroutines, m.processors, n, rate, rate/alone, mappings, after, resident, residentAfter)
	}
}

// many makes instances in goroutines.
func many(mod *waot.Module, goroutines, each int) error {
	var g sync.WaitGroup
	errs := make([]error, goroutines)
	for i := range goroutines {
		g.Go(func() {
			for range each {
				if errs[i] = one(mod); errs[i] != nil {
					return
				}
			}
		})
	}
	g.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func one(mod *waot.Module) error {
	store, err := waot.NewStore(nil)
	if err != nil {
		return err
	}
	defer store.Close()
	inst, err := store.Instantiate(context.Background(), mod, nil)
	if err != nil {
		return err
	}
	f, err := inst.Func("add")
	if err != nil {
		return err
	}
	var words [2]uint64
	return f.CallRaw(nil, words[:])
}

// process returns how many mappings the process has, and its resident memory in KiB.
func process() (mappings, resident int) {
	runtime.GC()
	if b, err := os.ReadFile("/proc/self/maps"); err == nil {
		mappings = bytes.Count(b, []byte("\n"))
	}
	if b, err := os.ReadFile("/proc/self/statm"); err == nil {
		var size, pages int
		fmt.Sscan(string(b), &size, &pages)
		resident = pages * os.Getpagesize() / 1024
	}
	return mappings, resident
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
