package main

import (
	"fmt"
	"html"
	"math"
	"sort"
	"strings"
)

// Sizes in pixels.
const (
	width  = 860
	left   = 196 // of the bars
	right  = 48
	margin = 18
	head   = 84 // title and legend
	foot   = 52 // axis
	thick  = 11 // the first bar of a row, and the others
	thin   = 8
	gap    = 8
)

// style follows the reader's theme, also where the chart is an image in a page.
const style = `
    svg { --bg: #ffffff; --fg: #1b1f24; --dim: #59636e; --grid: #e4e8ec; --ref: #1b1f24; --waot: #0b5cad; --v3: #74aee6; --wazero: #d9822b; --v8: #3c8f63; --wasmtime: #8a6fb8; --clang: #8b96a3; }
    @media (prefers-color-scheme: dark) {
      svg { --bg: #14171c; --fg: #e6eaef; --dim: #a2acb8; --grid: #2b313a; --ref: #e6eaef; --waot: #5aa9ff; --v3: #2f6fb3; --wazero: #d58a45; --v8: #5fae86; --wasmtime: #a48fd6; --clang: #7d8896; }
    }
    text { font: 12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: var(--fg); }
    .title { font-size: 16px; font-weight: 600; }
    .dim, .tick { fill: var(--dim); }
    .tick, .value { font-size: 11px; }
    .mean { font-weight: 600; }
    .grid { stroke: var(--grid); }
    .ref { stroke: var(--ref); stroke-width: 1.5; }
    .bg { fill: var(--bg); }
    .waot { fill: var(--waot); } .v3 { fill: var(--v3); } .wazero { fill: var(--wazero); } .v8 { fill: var(--v8); } .wasmtime { fill: var(--wasmtime); } .clang { fill: var(--clang); }
`

// ticks are where an axis may have a label.
var ticks = []float64{0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1, 1.5, 2, 3, 4, 5, 7, 10, 15, 20}

// axis maps ratios to places, by their logarithms.
type axis struct{ low, high float64 }

func (c *chart) axis() axis {
	a := axis{1, 1}
	for _, r := range c.rows {
		for _, v := range r.values {
			a.low, a.high = min(a.low, v.ratio), max(a.high, v.ratio)
		}
	}
	return axis{a.low / 1.2, a.high * 1.06}
}

func (a axis) at(v float64) float64 {
	return left + (width-left-right)*math.Log(v/a.low)/math.Log(a.high/a.low)
}

// svg draws the chart: a group of bars for each row, from 1 to the left if the figure is lower, else to the right; the best rows on
// top, means at the end.
func (c *chart) svg() string {
	rows := append([]row(nil), c.rows...)
	sort.SliceStable(rows, func(i, j int) bool {
		if rows[i].mean || rows[j].mean {
			return !rows[i].mean
		}
		return rows[i].values[0].ratio < rows[j].values[0].ratio
	})
	tall := thick + thin*(len(c.series)-1)
	height := head + foot + len(rows)*(tall+gap) + gap
	a := c.axis()
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	text := func(x, y float64, class, anchor, s string) {
		p(`  <text x="%.1f" y="%.1f" class="%s" text-anchor="%s">%s</text>`, x, y, class, anchor, html.EscapeString(s))
	}
	p(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-labelledby="title desc">`, width, height, width, height)
	p(`  <title id="title">%s</title>`, html.EscapeString(c.title))
	p(`  <desc id="desc">%s</desc>`, html.EscapeString(c.subtitle()+". The table beside the chart has the figures."))
	p("  <style>%s  </style>", style)
	p(`  <rect class="bg" width="%d" height="%d" rx="8"/>`, width, height)
	text(margin, 28, "title", "start", c.title)
	text(margin, 47, "dim", "start", c.subtitle())
	c.legend(p, text)
	bottom := float64(height - foot)
	for _, v := range ticks {
		if v < a.low || v > a.high {
			continue
		}
		p(`  <line class="grid" x1="%.1f" x2="%.1f" y1="%d" y2="%.1f"/>`, a.at(v), a.at(v), head, bottom)
		text(a.at(v), bottom+16, "tick", "middle", fmt.Sprint(v))
	}
	text(a.at(1)-10, bottom+36, "dim", "end", "← "+c.lower())
	text(a.at(1)+10, bottom+36, "dim", "start", c.higher()+" →")
	y := float64(head + gap)
	for i, r := range rows {
		if r.mean && (i == 0 || !rows[i-1].mean) {
			p(`  <line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/>`, margin, width-margin, y-gap/2, y-gap/2)
		}
		c.bars(p, text, a, r, y, tall)
		y += float64(tall + gap)
	}
	p(`  <line class="ref" x1="%.1f" x2="%.1f" y1="%d" y2="%.1f"/>`, a.at(1), a.at(1), head, bottom)
	b.WriteString("</svg>\n")
	return b.String()
}

// subtitle says what the figures are, and when they were measured.
func (c *chart) subtitle() string {
	if c.base == "the other engine" {
		return fmt.Sprintf("%s; %s = 1, logarithmic; lower is better; measured on %s", capital(c.unit), c.base, c.date)
	}
	return fmt.Sprintf("%s, ratio to %s (= 1), logarithmic; lower is better; measured on %s", capital(c.unit), c.base, c.date)
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func (c *chart) lower() string {
	if strings.Contains(c.unit, "instructions") {
		return "fewer"
	}
	return "faster"
}

func (c *chart) higher() string {
	if strings.Contains(c.unit, "instructions") {
		return "more"
	}
	return "slower"
}

func (c *chart) legend(p func(string, ...any), text func(x, y float64, class, anchor, s string)) {
	x := float64(margin)
	for _, s := range c.series {
		p(`  <rect class="%s" x="%.1f" y="59" width="12" height="12" rx="2"/>`, s.colour, x)
		text(x+18, 69, "", "start", s.name)
		x += 18 + 7*float64(len(s.name)) + 22
	}
}

// bars draws a row.
func (c *chart) bars(p func(string, ...any), text func(x, y float64, class, anchor, s string), a axis, r row, y float64, tall int) {
	class := map[bool]string{true: "mean"}[r.mean]
	lines := wrap(r.label, 25)
	for i, line := range lines {
		text(left-10, y+float64(tall)/2+4+13*(float64(i)-float64(len(lines)-1)/2), class, "end", line)
	}
	for i, v := range r.values {
		h := float64(thin)
		if i == 0 {
			h = thick
		}
		x0, x1 := a.at(min(v.ratio, 1)), a.at(max(v.ratio, 1))
		p(`  <rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"><title>%s</title></rect>`, c.series[i].colour, x0, y, max(x1-x0, 1), h-1,
			html.EscapeString(fmt.Sprintf("%s, %s: %s", r.label, c.series[i].name, v.text)))
		if i == 0 {
			if v.ratio <= 1 {
				text(x0-4, y+8.5, "value "+class, "end", v.text)
			} else {
				text(x1+4, y+8.5, "value "+class, "start", v.text)
			}
		}
		y += h
	}
}

// wrap breaks a label into lines of at most n characters, as far as its words allow.
func wrap(s string, n int) (lines []string) {
	for _, word := range strings.Fields(s) {
		if last := len(lines) - 1; last >= 0 && len(lines[last])+1+len(word) <= n {
			lines[last] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}
