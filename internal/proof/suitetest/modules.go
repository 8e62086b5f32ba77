package suitetest

import (
	"testing"

	"github.com/waot-project/waot/spectest/script"
)

// Modules visits the modules of a group that are in the binary format, with the commands that have them.
func Modules(t testing.TB, s *script.Suite, group string, visit func(sc *script.Script, c *script.Command, b []byte)) {
	t.Helper()
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
			if !c.HasModule() || c.IsText() {
				continue
			}
			b, err := sc.Module(c.Filename)
			if err != nil {
				t.Fatal(err)
			}
			visit(sc, c, b)
		}
	}
}
