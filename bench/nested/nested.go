// Package nested builds programs of the Go modules that lie inside this one: they need what the module itself must not depend on.
//
// Place in the pipeline: none.
//
// Input: the folder of a program.
// Output: an executable file.
package nested

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Dir returns a folder of the tree, named as seen from its root.
func Dir(folder string) (string, error) {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/waot-project/waot").Output()
	return filepath.Join(strings.TrimSpace(string(root)), folder), err
}

// Build builds a package in a folder of the tree into a file, with additions to the environment.
func Build(folder, pkg, file string, env ...string) error {
	dir, err := Dir(folder)
	if err != nil {
		return err
	}
	c := exec.Command("go", "build", "-o", file, pkg)
	c.Dir, c.Env = dir, append(os.Environ(), env...)
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", c, err, bytes.TrimSpace(out))
	}
	return nil
}
