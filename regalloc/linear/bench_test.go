package linear_test

import (
	"flag"
	"fmt"
	"testing"

	"github.com/waot-project/waot/internal/proof/cputime"
	"github.com/waot-project/waot/internal/proof/regalloc/alloctest"
	"github.com/waot-project/waot/internal/proof/regalloc/gen"
	"github.com/waot-project/waot/regalloc"
	"github.com/waot-project/waot/regalloc/linear"
)

func BenchmarkRun(b *testing.B) {
	env := gen.X64()
	for _, size := range []struct{ funcs, blocks, insts int }{{64, 10, 10}, {32, 40, 16}, {2, 2000, 16}} {
		b.Run(fmt.Sprintf("blocks=%d", size.blocks), func(b *testing.B) {
			list := alloctest.Ordinary(size.funcs, size.blocks, size.insts)
			insts := 0
			for _, in := range list {
				insts += len(in.Insts)
			}
			a := linear.New()
			var out regalloc.Output
			b.ReportAllocs()
			start := cputime.Used()
			for b.Loop() {
				for _, in := range list {
					if err := a.Run(in, env, &out); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64((cputime.Used()-start).Nanoseconds())/float64(b.N*insts), "cpu-ns/inst")
			b.ReportMetric(float64(insts)/float64(len(list)), "insts/func")
		})
	}
}

// BenchmarkStraight is straight-line code without pressure, calls or spills: the
// least that an instruction can cost.
func BenchmarkStraight(b *testing.B) {
	in, env := alloctest.OneBlock(2000, 10), gen.X64()
	a := linear.New()
	var out regalloc.Output
	start := cputime.Used()
	for b.Loop() {
		if err := a.Run(in, env, &out); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((cputime.Used()-start).Nanoseconds())/float64(b.N*len(in.Insts)), "cpu-ns/inst")
}

const (
	term = regalloc.IsTerminator
	ret  = regalloc.IsTerminator | regalloc.IsReturn
	tail = regalloc.IsTerminator | regalloc.IsTailCall
)

func def(v regalloc.VReg) regalloc.Operand { return regalloc.DefOf(v, regalloc.Reg) }
func reg(v regalloc.VReg) regalloc.Operand { return regalloc.UseOf(v, regalloc.Reg) }

var full = flag.Bool("full", false, "run the pathological tests at full size")

func fresh() alloctest.Allocator { return linear.New() }

func TestSteadyStateAllocatesNothing(t *testing.T) { alloctest.SteadyState(t, linear.New()) }

// TestPathological measures shapes that make allocators quadratic.
func TestPathological(t *testing.T) { alloctest.Pathological(t, fresh, *full) }
