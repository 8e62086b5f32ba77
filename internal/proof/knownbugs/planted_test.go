package knownbugs

import (
	"runtime"
	"slices"
	"testing"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/proof/bugcases"
	"github.com/waot-project/waot/internal/proof/compare"
	"github.com/waot-project/waot/spectest/nativeengine"
)

// TestPlantedVectorFaults plants faults into the code of vectors, one at a time: the results of the case named must change.
func TestPlantedVectorFaults(t *testing.T) {
	all := bugcases.All()
	list := slices.Concat(bugcases.VectorIdentities(all), bugcases.VectorShifts(all), bugcases.Shuffles(all), bugcases.VectorSpills(),
		[]bugcases.Case{{Name: "swizzle", Make: func() *compare.Case { return bugcases.Swizzles(all) }}})
	planted := bugcases.VectorFaults(runtime.GOARCH)
	for i := range planted {
		t.Run(planted[i].Name, func(t *testing.T) {
			t.Parallel()
			x := &planted[i]
			n := slices.IndexFunc(list, func(c bugcases.Case) bool { return c.Name == x.Case })
			if n < 0 {
				t.Fatalf("no case %s", x.Case)
			}
			c := list[n].Make()
			results := func(trace *backend.Trace) (out []string) {
				h, err := compare.Play(&nativeengine.Engine{Options: compile.Options{OptLevel: opt.O1, Jobs: 1, Trace: trace}}, c)
				if err != nil {
					t.Fatal(err)
				}
				for k := range h.Events {
					out = append(out, h.Events[k].Result())
				}
				return out
			}
			want := results(nil)
			if !slices.Equal(results(nil), want) {
				t.Fatal("results vary without a fault")
			}
			got := results(&backend.Trace{Code: func(_ *clif.Func, c *backend.Code) { x.Code(c.Bytes) }})
			wrong := 0
			for k := range want {
				if got[k] != want[k] {
					wrong++
				}
			}
			if wrong == 0 {
				t.Error("not noticed")
			}
			t.Logf("%d of %d results are wrong", wrong, len(want))
		})
	}
}
