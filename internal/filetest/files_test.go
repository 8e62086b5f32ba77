package filetest_test

import (
	"flag"
	"testing"

	"github.com/waot-project/waot/internal/filetest"
)

var update = flag.Bool("update", false, "rewrite the expected texts")

func runner() *filetest.Runner {
	return &filetest.Runner{Engines: []filetest.Engine{filetest.Interp{}}, Update: *update}
}

func TestFiles(t *testing.T) { runner().Test(t, "../../testdata/clif", "*.clif") }
