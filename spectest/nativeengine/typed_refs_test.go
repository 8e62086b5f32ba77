package nativeengine_test

import (
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/spectest/interpengine"
	"github.com/waot-project/waot/spectest/nativeengine"
	"github.com/waot-project/waot/spectest/script"
)

// TestTypedRefs: the interpreter and compiled code do what the script says.
func TestTypedRefs(t *testing.T) {
	s, err := script.Open("testdata/typed_refs.wast")
	if err != nil {
		t.Fatal(err)
	}
	engines := []spectest.Engine{&interpengine.Engine{}, nativeengine.New(opt.O0), nativeengine.New(opt.O1)}
	for _, e := range engines {
		if r, err := spectest.Run(s, e); err != nil || r.Passed != len(s.Commands) {
			t.Errorf("%s: %v, of %d commands (error: %v)%v", e.Name(), r, len(s.Commands), err, r.Failures)
		}
	}
}
