package interpengine_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/clif/text"
	"github.com/waot-project/waot/internal/proof/suitetest"
	"github.com/waot-project/waot/spectest/interpengine"
	"github.com/waot-project/waot/spectest/script"
)

// TestRoundTrip parses what CLIF of all modules of the suite prints and prints it again.
func TestRoundTrip(t *testing.T) {
	s, err := script.Locate()
	if err != nil {
		t.Skip(err)
	}
	modules := 0
	for _, group := range s.Groups() {
		if group != "core" && group != "bulk-memory" && group != "v2" {
			continue
		}
		suitetest.Modules(t, s, group, func(sc *script.Script, c *script.Command, wasm []byte) {
			if c.Type != script.Module {
				return
			}
			m, err := (&interpengine.Engine{}).Translate(wasm)
			if err != nil {
				return
			}
			modules++
			var b strings.Builder
			b.WriteString(m.Decl.String())
			for _, f := range m.Funcs {
				if f != nil {
					b.WriteString("\n" + f.String())
				}
			}
			f, err := text.Parse(b.String())
			if err != nil {
				t.Fatalf("%s.%d: %v", sc.Name, c.Line, err)
			}
			if diff := cmp.Diff(b.String(), f.String()); diff != "" {
				t.Fatalf("%s.%d: %s", sc.Name, c.Line, diff)
			}
		})
	}
	if modules == 0 {
		t.Error("no modules")
	}
	t.Log(modules, "modules")
}
