// Package figures keeps counts that the documents quote equal to what tests count.
//
// Place in the pipeline: none; for tests.
//
// Input: counts; README.md and docs/*.md, where a comment with a name follows a number: 1,234<!--name-->.
// Output: errors where they differ, or, if WAOT_UPDATE is set, documents with the right numbers.
package figures

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// EnvUpdate writes the numbers into the documents when it is set. Tests of one package at a time must do that: go test -p 1.
const EnvUpdate = "WAOT_UPDATE"

// Mark is a number in a document and its name.
var Mark = regexp.MustCompile(`(\d[\d,]*)<!--([\w.-]+)-->`)

// Documents are the paths of all that have marks, from the root of the module.
func Documents() ([]string, error) {
	root, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
		if root == filepath.Dir(root) {
			err = fmt.Errorf("no go.mod above the working directory")
		}
		root = filepath.Dir(root)
	}
	if err != nil {
		return nil, err
	}
	docs, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	return append(docs, filepath.Join(root, "README.md")), err
}

// Check reports an error unless a document has the name, and each place that has it has the number n.
func Check(t testing.TB, name string, n int) {
	t.Helper()
	docs, err := Documents()
	if err != nil {
		t.Fatal(err)
	}
	if err := check(docs, name, n, os.Getenv(EnvUpdate) != ""); err != nil {
		t.Error(err)
	}
}

func check(docs []string, name string, n int, update bool) error {
	found := false
	for _, doc := range docs {
		text, err := os.ReadFile(doc)
		if err != nil {
			return err
		}
		changed := false
		after := Mark.ReplaceAllStringFunc(string(text), func(mark string) string {
			parts := Mark.FindStringSubmatch(mark)
			if parts[2] != name {
				return mark
			}
			found = true
			if want := withCommas(n); parts[1] != want {
				changed = true
				return want + "<!--" + name + "-->"
			}
			return mark
		})
		switch {
		case !changed:
		case update:
			if err := os.WriteFile(doc, []byte(after), 0o666); err != nil {
				return err
			}
		default:
			return fmt.Errorf("%s: %s is %s; set %s to write it", filepath.Base(doc), name, withCommas(n), EnvUpdate)
		}
	}
	if !found {
		return fmt.Errorf("no document has the figure %s, which is %s", name, withCommas(n))
	}
	return nil
}

// withCommas writes a number as the documents do: 1,234.
func withCommas(n int) string {
	s := strconv.Itoa(n)
	var groups []string
	for len(s) > 3 {
		groups, s = append([]string{s[len(s)-3:]}, groups...), s[:len(s)-3]
	}
	return strings.Join(append([]string{s}, groups...), ",")
}
