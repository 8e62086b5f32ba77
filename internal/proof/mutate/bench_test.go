package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/waot-project/waot/checker"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/regalloc"
	"github.com/waot-project/waot/regalloc/linear"
)

// modules are the files to measure: $WAOT_CHECK_MODULE, or those in testdata.
func modules(b *testing.B) []string {
	if file := os.Getenv("WAOT_CHECK_MODULE"); file != "" {
		return []string{file}
	}
	files, err := filepath.Glob("../../../testdata/wasm/*.wasm")
	if err != nil || len(files) == 0 {
		b.Fatal("no modules")
	}
	return files
}

// BenchmarkCompile compiles modules as waot build does, in one thread: the share of
// the checker is what a CPU profile of it says.
func BenchmarkCompile(b *testing.B) {
	for _, machine := range machines {
		for _, file := range modules(b) {
			wasm, err := os.ReadFile(file)
			if err != nil {
				b.Fatal(err)
			}
			b.Run(filepath.Base(file)+"/"+machine, func(b *testing.B) {
				for b.Loop() {
					if _, err := compile.Module(wasm, compile.Options{Jobs: 1, OptLevel: opt.O1, Target: machine}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkModule checks the allocations of a whole module, per WebAssembly
// operator. best-ns/operator is the sum of the shortest times of each function,
// which other work on the machine disturbs least.
func BenchmarkModule(b *testing.B) {
	files := modules(b)
	for _, machine := range machines {
		for _, file := range files {
			wasm, err := os.ReadFile(file)
			if err != nil {
				b.Fatal(err)
			}
			fns, operators, err := realFunctions(file, wasm, machine)
			if err != nil {
				b.Fatal(err)
			}
			a := linear.New()
			var outs []*regalloc.Output
			insts, operands, edits, claims, blocks := 0, 0, 0, 0, 0
			for _, f := range fns {
				var out regalloc.Output
				if err := a.Run(f.in, f.env, &out); err != nil {
					b.Fatal(err)
				}
				outs = append(outs, cloneOutput(&out))
				insts, operands, edits = insts+len(f.in.Insts), operands+len(f.in.Operands), edits+len(out.Edits)
				claims, blocks = claims+len(out.Claims), blocks+len(f.in.Blocks)
			}
			c := checker.New()
			b.Run(filepath.Base(file)+"/"+machine, func(b *testing.B) {
				best := make([]time.Duration, len(fns))
				for n := 0; b.Loop(); n++ {
					for k, f := range fns {
						start := time.Now()
						if err := c.Check(f.in, f.env, outs[k], checker.Options{}); err != nil {
							b.Fatal(err)
						}
						if d := time.Since(start); n == 0 || d < best[k] {
							best[k] = d
						}
					}
				}
				sum := time.Duration(0)
				for _, d := range best {
					sum += d
				}
				per := func(n int, unit string) { b.ReportMetric(float64(n)/float64(operators), unit+"/operator") }
				per(insts, "insts")
				per(operands, "operands")
				per(edits, "edits")
				per(claims, "claims")
				per(blocks, "blocks")
				b.ReportMetric(float64(operators), "operators")
				b.ReportMetric(float64(sum.Nanoseconds())/float64(operators), "best-ns/operator")
			})
		}
	}
}
