package filetest_test

import (
	"flag"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/internal/proof/filetest"
)

var update = flag.Bool("update", false, "rewrite the expected texts")

func runner() *filetest.Runner {
	return &filetest.Runner{Engines: []filetest.Engine{filetest.Interp{}}, Update: *update}
}

// TestOptimized runs all files once more, with functions as the mid-end
// makes them.
func TestOptimized(t *testing.T) {
	r := &filetest.Runner{Engines: []filetest.Engine{filetest.Interp{
		Label: "-O1", Rewrite: func(f *clif.Func) error { return new(opt.Optimizer).Run(f, opt.O1) },
	}}}
	r.Test(t, "../../../testdata/clif", "*.clif")
}

func TestFiles(t *testing.T) { runner().Test(t, "../../../testdata/clif", "*.clif") }
