package policy

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestStart: the command has no package that makes tables whenever a process starts and that it can do without: encoding/gob takes half a millisecond, a fifteenth of compiling a small module.
func TestStart(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "github.com/waot-project/waot/cmd/waot").Output()
	if err != nil {
		t.Fatal(err)
	}
	list := strings.Fields(string(out))
	if !slices.Contains(list, "encoding/json") {
		t.Error("the list is not that of the command")
	}
	for _, slow := range []string{"encoding/gob"} {
		if slices.Contains(list, slow) {
			t.Errorf("the command imports %s", slow)
		}
	}
}
