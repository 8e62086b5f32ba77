package validate_test

import (
	"slices"
	"testing"

	"github.com/waot-project/waot/internal/proof/suitetest"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/spectest/script"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/validate"
)

// TestOperator: an operator that is read by itself is the one that validation finds, with the same immediates.
func TestOperator(t *testing.T) {
	seen := map[wasmfront.Opcode]bool{}
	bodies, every := 0, testenv.Cases(4, 1, 1)
	for _, s := range suites(t) {
		for _, group := range s.Groups() {
			suitetest.Modules(t, s, group, func(_ *script.Script, _ *script.Command, b []byte) {
				m, err := validate.All(b, validate.Config{Features: wasmfront.DecodableFeatures})
				if err != nil {
					return
				}
				for f := range m.Code {
					if bodies++; bodies%every == 0 {
						sameOperators(t, m, m.NumImportedFuncs+uint32(f), seen)
					}
				}
			})
		}
	}
	t.Logf("%d bodies, %d operators", bodies/every, len(seen))
	if len(seen) < testenv.Cases(300, 400, 420) {
		t.Errorf("only %d operators occur", len(seen))
	}
}

// sameOperators reads the operators of a function in both ways.
func sameOperators(t *testing.T, m *wasmfront.Module, f uint32, seen map[wasmfront.Opcode]bool) {
	t.Helper()
	var v validate.Func
	var want, got wasmfront.Operator
	v.Begin(m, f)
	r := v.Reader
	for v.Next(&want) {
		r.Operator(&got, m.Features)
		seen[want.Op] = true
		same := got.Op == want.Op && got.Offset == want.Offset && r.Pos == v.Pos && r.Err == nil
		if _, opens := want.Op.Opens(); opens {
			params, results := got.Params, got.Results
			if got.Index != wasmfront.NoIndex {
				params, results = m.Types[got.Index].Params, m.Types[got.Index].Results
			}
			same = same && slices.Equal(params, want.Params) && slices.Equal(results, want.Results)
			same = same && (want.Op != wasmfront.OpTryTable || slices.Equal(got.Catches, want.Catches))
		} else {
			same = same && got.String() == want.String()
		}
		if !same {
			t.Fatalf("function %d: %v at %#x, want %v at %#x (%v)", f, &got, got.Offset, &want, want.Offset, r.Err)
		}
	}
}
