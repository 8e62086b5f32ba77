package figures

import (
	"os"
	"path/filepath"
	"testing"
)

// TestCheck: a wrong number and a missing name are errors; an update makes each place right, and changes no other.
func TestCheck(t *testing.T) {
	doc := filepath.Join(t.TempDir(), "a.md")
	const before, after = "12<!--a.b--> of 1,234<!--c--> and 13<!--a.b-->, 12\n", "1,000,012<!--a.b--> of 1,234<!--c--> and 1,000,012<!--a.b-->, 12\n"
	if err := os.WriteFile(doc, []byte(before), 0o666); err != nil {
		t.Fatal(err)
	}
	docs := []string{doc}
	for _, c := range []struct {
		name    string
		n       int
		update  bool
		correct bool
	}{
		{"c", 1234, false, true}, {"c", 1235, false, false}, {"a.b", 12, false, false}, {"d", 1, false, false}, {"d", 1, true, false},
		{"a.b", 1_000_012, true, true}, {"a.b", 1_000_012, false, true},
	} {
		if err := check(docs, c.name, c.n, c.update); (err == nil) != c.correct {
			t.Errorf("%s is %d, update %v: %v", c.name, c.n, c.update, err)
		}
	}
	if text, err := os.ReadFile(doc); err != nil || string(text) != after {
		t.Errorf("%s, %v", text, err)
	}
}
