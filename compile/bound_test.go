package compile_test

import (
	"os"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
)

// TestBlockBound: what is planned for the branches of a block holds when they are emitted. In this module a branch forward is
// short only if the branch back behind it is, which the plan knew and the emission did not.
func TestBlockBound(t *testing.T) {
	wasm, err := os.ReadFile("testdata/bound.wasm")
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range compile.Targets() {
		for level := opt.O0; level <= opt.O1; level++ {
			if _, err := compile.Module(wasm, compile.Options{OptLevel: level, Target: target, Verify: true}); err != nil {
				t.Error(target, level, err)
			}
		}
	}
}
