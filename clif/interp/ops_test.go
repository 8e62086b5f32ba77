package interp

import (
	"testing"

	"github.com/waot-project/waot/clif"
)

// TestComplete: each opcode has a function.
func TestComplete(t *testing.T) {
	for op, f := range ops {
		if f == nil {
			t.Errorf("%v cannot be executed", clif.Opcode(op))
		}
	}
}
