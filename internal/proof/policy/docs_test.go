package policy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPackagesNamed checks that the tables of docs/pipeline.md name each package of the product, and those of docs/testing.md each of proof; measurements and
// examples need no row.
func TestPackagesNamed(t *testing.T) {
	tables := map[bool]string{}
	for proof, page := range map[bool]string{false: "pipeline.md", true: "testing.md"} {
		_, table, ok := strings.Cut(readDoc(t, page), "## Packages\n")
		if !ok {
			t.Fatalf("docs/%s has no section Packages", page)
		}
		tables[proof] = table
	}
	seen := map[string]bool{}
	for _, f := range sourceFiles(t) {
		if top, _, _ := strings.Cut(f.pkg, "/"); seen[f.pkg] || top == "bench" || top == "examples" || top == "oracle" {
			continue
		}
		proof := strings.HasPrefix(f.pkg, "internal/proof/")
		if seen[f.pkg] = true; !strings.Contains(tables[proof], "`"+f.pkg+"`") {
			t.Errorf("no document names package %s", f.pkg)
		}
	}
	if len(seen) < 60 {
		t.Errorf("%d packages", len(seen))
	}
}

// readDoc returns the page of that name in docs.
func readDoc(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../../../docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// maxCellWords is how many words a cell of a table may have in the pages that TestTableCells reads.
// Longer text belongs into a paragraph or a list beside the table.
const maxCellWords = 25

// TestTableCells checks that the cells of the tables in docs/testing.md and docs/correctness.md are short.
func TestTableCells(t *testing.T) {
	for _, name := range []string{"testing.md", "correctness.md"} {
		cells := 0
		for n, line := range strings.Split(readDoc(t, name), "\n") {
			for _, cell := range tableCells(line) {
				cells++
				if words := len(strings.Fields(cell)); words > maxCellWords {
					t.Errorf("docs/%s:%d: a cell has %d words, at most %d are allowed: %s", name, n+1, words, maxCellWords, cell)
				}
			}
		}
		if cells < 100 {
			t.Errorf("docs/%s: only %d cells of tables", name, cells)
		}
	}
}

// tableCells returns the cells of a row of a Markdown table, nil for other lines.
// A vertical bar inside backquotes belongs to its cell.
func tableCells(line string) []string {
	if !strings.HasPrefix(line, "|") {
		return nil
	}
	var cells []string
	code := false
	start := 1
	for i := 1; i < len(line); i++ {
		switch {
		case line[i] == '`':
			code = !code
		case line[i] == '|' && !code:
			cells = append(cells, line[start:i])
			start = i + 1
		}
	}
	return cells
}

func TestTableCellsOfRow(t *testing.T) {
	for _, c := range []struct {
		line string
		want []string
	}{
		{"no | table", nil},
		{"| a b | `c|d` e |", []string{" a b ", " `c|d` e "}},
		{"|||", []string{"", ""}},
	} {
		if got := tableCells(c.line); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.line, got, c.want)
		}
	}
}
