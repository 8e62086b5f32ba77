package translate_test

import (
	"os"
	"sort"
	"strconv"
	"testing"
	"fmt"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/internal/wasmgen"
)

func TestBisect(t *testing.T) {
	seed, _ := strconv.ParseUint(os.Getenv("SEED"), 10, 64)
	p := wasmgen.Generate(seed, wasmgen.Config{NoTraps: seed%2 == 0})
	want := runWazero(t, p)
	n := sort.Search(100000, func(n int) bool {
		fuel := n
		got := runInterp(t, p, &opt.Optimizer{Fuel: &fuel})
		for i := range want {
			if !got[i].equal(&want[i]) {
				return true
			}
		}
		return false
	})
	t.Log("fuel", n)
	dump := func(n int) string {
		fuel := n
		o := &opt.Optimizer{Fuel: &fuel}
		c := compile(t, p.Wasm, o)
		s := ""
		for _, f := range c.funcs {
			if f != nil { s += (&clif.Printer{F: f}).F.String() }
		}
		return s
	}
	os.WriteFile("/tmp/w/a.txt", []byte(dump(n-1)), 0o644)
	os.WriteFile("/tmp/w/b.txt", []byte(dump(n)), 0o644)
	fmt.Println(n)
}
