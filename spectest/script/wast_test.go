package script

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestText: the scripts in text have the commands that they have in JSON.
func TestText(t *testing.T) {
	s, err := Locate()
	if err != nil {
		t.Skip(err)
	}
	scripts, commands := 0, 0
	for _, name := range s.Groups() {
		g, err := s.Group(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range g.Scripts {
			want, err := g.Script(n)
			if err != nil {
				t.Fatal(err)
			}
			got, err := g.Text(n)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			scripts++
			commands += len(got.Commands)
			plain(want.Commands)
			if !reflect.DeepEqual(want.Commands, got.Commands) {
				t.Errorf("%s: %s: %s", name, n, cmp.Diff(want.Commands, got.Commands))
			}
		}
	}
	t.Logf("%d scripts, %d commands", scripts, commands)
}

// plain takes away what only scripts in JSON have, and makes lists that are empty nil.
func plain(commands []Command) {
	for i := range commands {
		c := &commands[i]
		c.Features = nil
		if len(c.Expected) == 0 {
			c.Expected = nil
		}
		if c.Action != nil && len(c.Action.Args) == 0 {
			c.Action.Args = nil
		}
		plain(c.Commands)
	}
}
