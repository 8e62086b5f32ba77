package compile_test

import (
	_ "embed"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
)

// nobytes is a random module. At -O0 its function 5 has a block whose only definition the allocator leaves out, in front of a loop that is
// aligned. The block's label moves past the padding, out of reach of a short branch if planning forgets that.
//
//go:embed testdata/nobytes.wasm
var nobytes []byte

func TestBlockWithoutBytes(t *testing.T) {
	for _, target := range compile.Targets() {
		for _, level := range []opt.Level{opt.O0, opt.O1} {
			if _, err := compile.Module(nobytes, compile.Options{OptLevel: level, Target: target, Verify: true}); err != nil {
				t.Errorf("%s %v: %v", target, level, err)
			}
		}
	}
}
