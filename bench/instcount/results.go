package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"

	"github.com/waot-project/waot/bench/suite"
)

// result is what a run of an engine on a module has executed.
type result struct {
	Engine  string `json:"engine"`
	Version string `json:"version"`
	Module  string `json:"module"`
	SHA256  string `json:"sha256"` // of the module
	// Emulator is its command line: what processors it has, code may depend on.
	Emulator string `json:"emulator"`
	counts
}

// same reports whether two results are of the same thing.
func (r result) same(o result) bool {
	return r.Engine == o.Engine && r.Version == o.Version && r.Module == o.Module && r.SHA256 == o.SHA256 && r.Emulator == o.Emulator
}

// results are in the order of engines, then modules.
type results []result

// find returns the counts of an engine on a module, nil if there are none.
func (rs results) find(engine, module string) *counts {
	for i := range rs {
		if rs[i].Engine == engine && rs[i].Module == module {
			return &rs[i].counts
		}
	}
	return nil
}

// put replaces the result of the same engine and module, or adds it.
func (rs *results) put(r result) {
	for i := range *rs {
		if o := &(*rs)[i]; o.Engine == r.Engine && o.Module == r.Module {
			*o = r
			return
		}
	}
	*rs = append(*rs, r)
}

// readResults reads what write has written. A file that does not exist has none.
func readResults(file string) (results, error) {
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var rs results
	if err := json.Unmarshal(b, &rs); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return rs, nil
}

func (rs results) write(file string) error {
	b, err := json.MarshalIndent(rs, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(b, '\n'), 0o666)
}

// Quantities that are compared.
func instructions(c *counts) uint64 { return c.Instructions }
func accesses(c *counts) uint64     { return c.Loads + c.Stores }
func taken(c *counts) uint64        { return c.Taken }

// column is a quantity of waot's relative to that of another engine.
type column struct {
	title    string
	engine   string
	quantity func(*counts) uint64
}

// writeTable writes the ratios of waot to others as Markdown.
func (rs results) writeTable(w io.Writer, modules []*suite.Module) {
	columns := []column{
		{"waot / wasmtime", nameWasmtime, instructions},
		{"waot / wazero", nameWazero, instructions},
		{"waot / (wasm2c + clang)", nameClang, instructions},
		{"waot / (wasm2c + gcc)", nameGCC, instructions},
		{"loads and stores: waot / wasmtime", nameWasmtime, accesses},
		{"taken branches: waot / wasmtime", nameWasmtime, taken},
	}
	fmt.Fprint(w, "| module | wasmtime, millions |")
	for _, c := range columns {
		fmt.Fprintf(w, " %s |", c.title)
	}
	fmt.Fprint(w, "\n|---|---|")
	for range columns {
		fmt.Fprint(w, "---|")
	}
	fmt.Fprintln(w)
	means := make([]mean, len(columns))
	for _, m := range modules {
		fmt.Fprintf(w, "| %s |", m.Name)
		if c := rs.find(nameWasmtime, m.Name); c != nil {
			fmt.Fprintf(w, " %.1f |", float64(c.Instructions)/1e6)
		} else {
			fmt.Fprint(w, " |")
		}
		waot := rs.find(nameWaot, m.Name)
		for i, c := range columns {
			other := rs.find(c.engine, m.Name)
			if waot == nil || other == nil {
				fmt.Fprint(w, " |")
				continue
			}
			ratio := float64(c.quantity(waot)) / float64(c.quantity(other))
			means[i].add(ratio)
			fmt.Fprintf(w, " %.3f |", ratio)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprint(w, "| **geometric mean** | |")
	for i := range means {
		if means[i].n == 0 {
			fmt.Fprint(w, " |")
			continue
		}
		fmt.Fprintf(w, " **%.3f** |", means[i].value())
	}
	fmt.Fprintln(w)
}

// mean is a geometric mean.
type mean struct {
	logs float64
	n    int
}

func (m *mean) add(x float64)  { m.logs, m.n = m.logs+math.Log(x), m.n+1 }
func (m *mean) value() float64 { return math.Exp(m.logs / float64(m.n)) }

// writeCounts writes all counts, in thousands, as Markdown.
func (rs results) writeCounts(w io.Writer) {
	fmt.Fprintln(w, "| module | engine | instructions, thousands | loads | stores | of both, stack | pairs | moves | branches | taken |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|")
	for _, r := range rs {
		fmt.Fprintf(w, "| %s | %s |", r.Module, r.Engine)
		for _, n := range []uint64{r.Instructions, r.Loads, r.Stores, r.Stack, r.Pairs, r.Moves, r.Branches, r.Taken} {
			fmt.Fprintf(w, " %.0f |", float64(n)/1e3)
		}
		fmt.Fprintln(w)
	}
}

// writeVersions says what was measured.
func (rs results) writeVersions(w io.Writer) {
	seen := map[[2]string]bool{}
	for _, r := range rs {
		if k := [2]string{r.Engine, r.Version}; !seen[k] {
			seen[k] = true
			fmt.Fprintf(w, "%s: %s\n", r.Engine, r.Version)
		}
	}
}
