package opt_test

import (
	"errors"
	"flag"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/internal/proof/filetest"
)

var update = flag.Bool("update", false, "rewrite the expected texts")

// TestFiles: what the passes make of the functions of files, and that the results do the same. A file names passes, or O1 for all of them.
func TestFiles(t *testing.T) {
	passes := map[string]filetest.Pass{"O1": func(f *clif.Func) error {
		var o opt.Optimizer
		return errors.Join(o.Run(f, opt.O1), o.Finish(f, opt.O1))
	}}
	for _, p := range opt.Passes() {
		passes[p.Name] = func(f *clif.Func) error {
			new(opt.Optimizer).RunPass(f, p.Name)
			return nil
		}
	}
	r := &filetest.Runner{Engines: []filetest.Engine{filetest.Interp{}}, Passes: passes, Update: *update}
	r.Test(t, "testdata", "*.clif")
}
