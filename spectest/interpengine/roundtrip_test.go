package interpengine_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/clif/text"
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
		g, err := s.Group(group)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range g.Scripts {
			sc, err := g.Script(name)
			if err != nil {
				t.Fatal(err)
			}
			for i := range sc.Commands {
				c := &sc.Commands[i]
				if c.Type != script.Module || c.IsText() {
					continue
				}
				wasm, err := sc.Module(c.Filename)
				if err != nil {
					t.Fatal(err)
				}
				m, err := (&interpengine.Engine{}).Translate(wasm)
				if err != nil {
					continue
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
					t.Fatalf("%s.%d: %v", name, c.Line, err)
				}
				if diff := cmp.Diff(b.String(), f.String()); diff != "" {
					t.Fatalf("%s.%d: %s", name, c.Line, diff)
				}
			}
		}
	}
	t.Log(modules, "modules")
}
