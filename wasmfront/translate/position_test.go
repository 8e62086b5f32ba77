package translate

import (
	"testing"

	"github.com/waot-project/waot/clif"
)

// TestPositionsRunOut: a function is translated the same whatever was translated before, also
// where positions or chains begin again and those left by earlier functions are larger.
func TestPositionsRunOut(t *testing.T) {
	const limit = 1 << 31
	_, m := program(7)
	tr, cm := New(m, Module(m, m.DecodeNames())), Module(m, m.DecodeNames())
	var got, want clif.Func
	restarts := 0
	for i := m.NumImportedFuncs; i < uint32(len(m.Funcs)); i++ {
		switch i % 4 {
		case 1:
			tr.ssa.body.end = limit + 1
		case 3:
			tr.ssa.chain = limit + 1
		}
		restart := i%2 == 1
		if err := tr.Func(&got, i); err != nil {
			t.Fatal(err)
		}
		if err := New(m, cm).Func(&want, i); err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() {
			t.Errorf("function %d: restart %v\n%s\nwant\n%s", i, restart, &got, &want)
		}
		if restart {
			restarts++
			if tr.ssa.body.start > limit || tr.ssa.chain > limit {
				t.Errorf("function %d: at position %d, in chain %d", i, tr.ssa.body.start, tr.ssa.chain)
			}
		}
	}
	if restarts < 2 {
		t.Errorf("only %d restarts", restarts)
	}
}
