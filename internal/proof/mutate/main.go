// Command mutate tests the checker of register allocations with faults: it
// allocates registers for random functions and for the functions of real modules
// on both machines, plants a fault of one of many kinds in the allocation or in
// the allocator's input, and demands that the checker, in both of its modes,
// rejects each mutant whose behaviour differs from that of the code. Only execution
// (internal/proof/regalloc/exec) decides whether it differs, never the checker. A mutant
// that shows no difference on any of the paths taken is discarded; the number of these
// is printed for each kind.
//
// Place in the pipeline: none; a campaign for testing.
//
// Input: flags; WebAssembly modules as arguments. Modules of internal/proof/wasmgen are
// always among the real ones.
// Output: a table on the standard output; status 1 and a reproduction if a mutant
// survives or the modes of the checker disagree.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/waot-project/waot/internal/proof/wasmgen"
	"github.com/waot-project/waot/wasmfront/wat"
)

func main() {
	var c campaign
	mutant := flag.Int64("mutant", -1, "plant this one mutant only, and show it")
	modules := flag.Int("generated", 40, "generated modules among the real ones")
	flag.IntVar(&c.want, "n", 10_000, "stop when this many mutants have changed the meaning")
	flag.Uint64Var(&c.seed, "seed", 0, "number of the first mutant; those that follow have the numbers that follow")
	flag.Float64Var(&c.seconds, "seconds", 0, "stop after this many seconds; 0 is never")
	flag.IntVar(&c.workers, "workers", 1, "mutants to work on at once")
	flag.Parse()
	err := c.addCorpus(*modules, flag.Args())
	switch {
	case err != nil:
	case *mutant >= 0:
		err = c.show(uint64(*mutant))
	default:
		start := time.Now()
		if err = c.run(); err == nil {
			fmt.Print(c.table())
			fmt.Printf("%.0f s\n", time.Since(start).Seconds())
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// addCorpus adds the functions of generated modules and of files, for each machine.
func (c *campaign) addCorpus(generated int, files []string) error {
	for _, machine := range machines {
		add := func(name string, wasm []byte) error {
			fns, _, err := realFunctions(name, wasm, machine)
			for _, f := range fns {
				if len(f.in.Insts) <= maxInsts {
					c.corpus = append(c.corpus, f)
				} else {
					c.tooLarge++
				}
			}
			return err
		}
		quick, err := wat.Assemble([]byte(quickWays))
		if err != nil {
			return err
		}
		if err := add("quick ways", quick.Wasm); err != nil {
			return err
		}
		for seed := range uint64(generated) {
			if err := add(fmt.Sprintf("wasmgen %d", seed), wasmgen.Generate(seed, wasmgen.Config{}).Wasm); err != nil {
				return err
			}
		}
		for _, file := range files {
			wasm, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			if err := add(filepath.Base(file), wasm); err != nil {
				return err
			}
		}
	}
	return nil
}
