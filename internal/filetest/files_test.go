package filetest_test

import (
	"flag"
	"fmt"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/internal/filetest"
)

var update = flag.Bool("update", false, "rewrite the expected texts")

func runner() *filetest.Runner {
	return &filetest.Runner{Engines: []filetest.Engine{filetest.Interp{}}, Update: *update}
}

// TestOptimized runs all files once more, with functions as the mid-end makes
// them at each level.
func TestOptimized(t *testing.T) {
	r := &filetest.Runner{}
	for _, l := range []opt.Level{opt.O1, opt.O2} {
		r.Engines = append(r.Engines, filetest.Interp{
			Label: fmt.Sprintf("-O%d", l), Rewrite: func(f *clif.Func) error { return new(opt.Optimizer).Run(f, l) },
		})
	}
	r.Test(t, "../../testdata/clif", "*.clif")
}

func TestFiles(t *testing.T) { runner().Test(t, "../../testdata/clif", "*.clif") }
