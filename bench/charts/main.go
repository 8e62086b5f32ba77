// Command charts draws the tables of docs/benchmarks.md as charts, docs/charts/*.svg. A test fails if a chart does not show what
// its table says.
//
//	go run ./bench/charts
//
// It reads the Markdown, so the tables stay the only place where figures are.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// series is a column of a table in a chart. An engine has the same colour in all charts.
type series struct{ column, name, colour string }

// spec says what a chart shows of which table.
type spec struct {
	file, title string
	// section is the heading above the table, first the table's first column: it is the first such table of the section.
	section, first string
	// base is what the ratios are to, unit what is compared.
	base, unit string
	series     []series
}

// specs are the charts, in the order of the document.
var specs = []spec{
	{"run-time", "Run time of modules", "Run time", "module", "wasmtime", "processor time",
		[]series{{"waot", "waot", "waot"}, {"wazero", "wazero", "wazero"}}},
	{"vectors", "Kernels with vectors", "Kernels with vectors", "kernel", "wasmtime", "processor time",
		[]series{{"waot", "waot", "waot"}, {"waot, x86-64-v3", "waot, x86-64-v3", "v3"}, {"V8", "V8", "v8"}, {"wazero, medians of an earlier run", "wazero, an earlier run", "wazero"}}},
	{"go-programs", "Go programs", "Go programs", "program", "wasmtime", "processor time",
		[]series{{"waot / wasmtime", "waot", "waot"}, {"V8 / wasmtime", "V8", "v8"}, {"wazero / wasmtime", "wazero", "wazero"}}},
	{"go-native", "Go programs beside native Go", "Go programs", "program", "native Go", "processor time",
		[]series{{"waot / native Go", "waot", "waot"}, {"V8 / native Go", "V8", "v8"}, {"wasmtime / native Go", "wasmtime", "wasmtime"}}},
	{"compile-time", "Compile time", "Compiling: CPU time, size of machine code, peak memory of the process", "module", "wasmtime", "processor time",
		[]series{{"waot", "waot", "waot"}, {"wazero", "wazero", "wazero"}}},
	{"instructions", "Instructions executed on AArch64", "Instructions executed on AArch64", "module", "the other engine", "instructions of waot's code",
		[]series{{"waot / wasmtime", "beside wasmtime", "wasmtime"}, {"waot / wazero", "beside wazero", "wazero"}, {"waot / (wasm2c + clang)", "beside wasm2c and clang", "clang"}}},
}

// chart is a spec with its figures.
type chart struct {
	spec
	date string
	rows []row
}

// row is a bar for each series.
type row struct {
	label  string
	mean   bool
	values []value
}

// value is a figure, and how the table writes it.
type value struct {
	ratio float64
	text  string
}

// table is a table of a document.
type table struct {
	header []string
	rows   [][]string
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "charts:", err)
		os.Exit(1)
	}
}

func run() error {
	text, err := os.ReadFile("docs/benchmarks.md")
	if err != nil {
		return err
	}
	files, err := draw(string(text))
	if err != nil {
		return err
	}
	if err := os.MkdirAll("docs/charts", 0o777); err != nil {
		return err
	}
	for name, svg := range files {
		if err := os.WriteFile(filepath.Join("docs/charts", name), []byte(svg), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// draw returns the charts of a document by the names of their files.
func draw(text string) (map[string]string, error) {
	files := map[string]string{}
	for i := range specs {
		c, err := read(&specs[i], text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", specs[i].file, err)
		}
		files[c.file+".svg"] = c.svg()
	}
	return files, nil
}

// measured finds the day of a measurement.
var measured = regexp.MustCompile(`\bon (\d{4}-\d{2}-\d{2})\b`)

// read finds the table of s in a document and reads its figures.
func read(s *spec, text string) (*chart, error) {
	intro, _, _ := strings.Cut(text, "\n## ")
	_, section, ok := strings.Cut(text, "\n## "+s.section+"\n")
	if !ok {
		return nil, fmt.Errorf("there is no section %q", s.section)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	before, t, err := findTable(section, s)
	if err != nil {
		return nil, err
	}
	c := &chart{spec: *s}
	for _, text := range []string{before, intro} {
		if m := measured.FindStringSubmatch(text); m != nil && c.date == "" {
			c.date = m[1]
		}
	}
	if c.date == "" {
		return nil, fmt.Errorf("there is no date")
	}
	for _, cells := range t.rows {
		r := row{label: cells[0], mean: strings.HasPrefix(cells[0], "geometric mean")}
		for _, column := range s.series {
			text := cells[slices.Index(t.header, column.column)]
			v, err := strconv.ParseFloat(text, 64)
			if err != nil || !(v > 0 && v < 1000) {
				return nil, fmt.Errorf("row %q, column %q: %q is no ratio", cells[0], column.column, text)
			}
			r.values = append(r.values, value{v, text})
		}
		c.rows = append(c.rows, r)
	}
	return c, nil
}

// findTable returns the table of s in its section, and the text in front of it.
func findTable(section string, s *spec) (before string, t *table, err error) {
	lines := strings.Split(section, "\n")
	for i := range lines {
		header := cellsOf(lines[i])
		if len(header) == 0 || header[0] != s.first || i+1 == len(lines) || !strings.HasPrefix(lines[i+1], "|---") || missing(header, s) != "" {
			continue
		}
		t = &table{header: header}
		for _, line := range lines[i+2:] {
			cells := cellsOf(line)
			if len(cells) == 0 {
				break
			}
			if len(cells) != len(header) {
				return "", nil, fmt.Errorf("row %q has %d cells, and the header %d", line, len(cells), len(header))
			}
			t.rows = append(t.rows, cells)
		}
		return strings.Join(lines[:i], "\n"), t, nil
	}
	return "", nil, fmt.Errorf("no table of the section has the columns %q and %v", s.first, s.series)
}

// missing returns a column of s that the header lacks, or "".
func missing(header []string, s *spec) string {
	for _, column := range s.series {
		if !slices.Contains(header, column.column) {
			return column.column
		}
	}
	return ""
}

// cellsOf splits a line of a table; it returns nil if the line is none.
func cellsOf(line string) []string {
	inner, ok := strings.CutPrefix(strings.TrimSpace(line), "|")
	if !ok {
		return nil
	}
	cells := strings.Split(strings.TrimSuffix(inner, "|"), "|")
	for i := range cells {
		cells[i] = strings.Trim(strings.TrimSpace(cells[i]), "*")
	}
	return cells
}
