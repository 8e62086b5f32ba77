package main

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const docs = "../../docs"

// TestCharts: each chart is what its table says, is part of the page, and nothing else lies beside them.
func TestCharts(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(docs, "benchmarks.md"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := draw(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(specs) {
		t.Errorf("%d charts of %d", len(files), len(specs))
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(docs, "charts", name))
		if err != nil || string(got) != want {
			t.Errorf("docs/charts/%s does not show its table (%v); go run ./bench/charts draws it", name, err)
		}
		if strings.Count(string(text), "](charts/"+name+")") != 1 {
			t.Errorf("docs/benchmarks.md does not show %s, or more than once", name)
		}
	}
	entries, err := os.ReadDir(filepath.Join(docs, "charts"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if files[e.Name()] == "" {
			t.Errorf("docs/charts/%s is no chart", e.Name())
		}
	}
}

const page = `# Benchmarks

Measured on 2020-01-02.

## Run time

Other text.

| other | waot |
|---|---|
| a | 1 |

| module | wasmtime, ms | waot | wazero |
|---|---|---|---|
| slow <&> | 5 | 2.00 | 8 |
| fast | 5 | 0.50 | 1.00 |
| **geometric mean** | | **1.00** | **4.0** |

On 2021-02-03 it was otherwise.

## Next
`

var example = spec{"x", "A title", "Run time", "module", "wasmtime", "processor time", []series{{"waot", "waot", "waot"}, {"wazero", "wazero", "wazero"}}}

// TestRead: the table is found, with its day, and its figures.
func TestRead(t *testing.T) {
	c, err := read(&example, page)
	if err != nil {
		t.Fatal(err)
	}
	if c.date != "2020-01-02" || len(c.rows) != 3 || c.rows[0].label != "slow <&>" || c.rows[0].values[1] != (value{8, "8"}) || !c.rows[2].mean || c.rows[2].values[0] != (value{1, "1.00"}) {
		t.Errorf("%+v", c)
	}
	for old, damaged := range map[string]string{
		"## Run time":                  "## Walk time",
		"wasmtime, ms | waot | wazero": "wasmtime, ms | waot | other",
		"2.00":                         "fast",
		"0.50":                         "-0.50",
		"| 1.00 |":                     "| NaN |",
		"| fast | 5":                   "| fast | 5 | 6",
		"2020-01-02":                   "some day",
	} {
		if !strings.Contains(page, old) {
			t.Fatal(old)
		}
		if c, err := read(&example, strings.Replace(page, old, damaged, 1)); err == nil {
			t.Errorf("with %q: %+v", damaged, c)
		}
	}
}

// TestSVG: a chart is well formed; its bars have lengths that are logarithms, and their sides say what is slower.
func TestSVG(t *testing.T) {
	c, err := read(&example, page)
	if err != nil {
		t.Fatal(err)
	}
	svg := c.svg()
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	bars := map[string][2]float64{} // by title: where it begins, how long it is
	for _, m := range regexp.MustCompile(`<rect class="\w+" x="([\d.]+)" y="[\d.]+" width="([\d.]+)" height="[\d.]+"><title>([^<]*)<`).FindAllStringSubmatch(svg, -1) {
		x, _ := strconv.ParseFloat(m[1], 64)
		w, _ := strconv.ParseFloat(m[2], 64)
		bars[m[3]] = [2]float64{x, w}
	}
	fast, slow, slower := bars["fast, waot: 0.50"], bars["slow &lt;&amp;&gt;, waot: 2.00"], bars["slow &lt;&amp;&gt;, wazero: 8"]
	if len(bars) != 6 || math.Abs(fast[1]-slow[1]) > 0.2 || math.Abs(3*slow[1]-slower[1]) > 0.3 || math.Abs(fast[0]+fast[1]-slow[0]) > 0.2 || slow[1] < 50 {
		t.Errorf("%v", bars)
	}
	if strings.Index(svg, ">fast<") > strings.Index(svg, ">slow ") || strings.Index(svg, ">geometric mean<") < strings.Index(svg, ">slow ") {
		t.Error("the rows are not in order")
	}
	for _, want := range []string{"prefers-color-scheme: dark", "measured on 2020-01-02", "<title id=\"title\">A title</title>", "wasmtime (= 1)", ">wazero</text>"} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %q", want)
		}
	}
}
