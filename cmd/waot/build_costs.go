package main

import (
	"fmt"
	"io"
	"runtime"
	"text/tabwriter"
	"time"

	"github.com/waot-project/waot/internal/cost"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/internal/quote"
)

// costReport is what build --time says; elsewhere is what neither stages nor measuring has taken: the start of the process, the collector, and
// other threads.
type costReport struct {
	CPUNS       int64       `json:"cpu_ns"` // of the process
	MeasuringNS int64       `json:"measuring_ns"`
	ElsewhereNS int64       `json:"elsewhere_ns"`
	PeakBytes   int64       `json:"peak_bytes"`
	Allocated   uint64      `json:"allocated_bytes"`
	Collections uint32      `json:"collections"`
	PageFaults  int64       `json:"page_faults"`
	Stages      []stageCost `json:"stages"`
	Functions   []funcCost  `json:"functions"` // those that took longest
}

// stageCost is what a stage has taken.
type stageCost struct {
	Name       string `json:"name"`
	CPUNS      int64  `json:"cpu_ns"`
	PageFaults int64  `json:"page_faults"`
}

// funcCost is what a function has taken.
type funcCost struct {
	Func       uint32      `json:"func"`
	Name       string      `json:"name,omitempty"`
	CodeBytes  uint32      `json:"code_bytes"`
	CPUNS      int64       `json:"cpu_ns"`
	PageFaults int64       `json:"page_faults"`
	Stages     []stageCost `json:"stages"`
}

// reportCosts returns what the compilation of module m has taken so far.
func reportCosts(c *cost.Meter, m *meta.Module) *costReport {
	var heap runtime.MemStats
	runtime.ReadMemStats(&heap)
	p := cost.Read()
	r := &costReport{CPUNS: p.CPU.Nanoseconds(), MeasuringNS: c.Measuring().Nanoseconds(), PeakBytes: p.Peak, PageFaults: p.PageFaults,
		Allocated: heap.TotalAlloc, Collections: heap.NumGC, Stages: stageCosts(c.Stages())}
	r.ElsewhereNS = r.CPUNS - r.MeasuringNS
	for _, s := range r.Stages {
		r.ElsewhereNS -= s.CPUNS
	}
	for _, f := range c.Dearest() {
		x := funcCost{Func: f.Index, CPUNS: f.CPU.Nanoseconds(), PageFaults: f.PageFaults, Stages: stageCosts(f.Stages)}
		if int(f.Index) < len(m.Funcs) {
			x.Name, x.CodeBytes = m.Funcs[f.Index].Name, m.Funcs[f.Index].Size
		}
		r.Functions = append(r.Functions, x)
	}
	return r
}

func stageCosts(stages []cost.Stage) []stageCost {
	out := make([]stageCost, 0, len(stages))
	for _, s := range stages {
		out = append(out, stageCost{s.Name, s.CPU.Nanoseconds(), s.PageFaults})
	}
	return out
}

// print writes the report as two tables.
func (r *costReport) print(w io.Writer) {
	fmt.Fprintf(w, "%s of processor time, %.1f MiB at most, %.1f MiB allocated, %d collections, %d page faults\n",
		milliseconds(r.CPUNS), mebibytes(r.PeakBytes), mebibytes(int64(r.Allocated)), r.Collections, r.PageFaults)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	share := func(ns int64) string { return fmt.Sprintf("%.1f %%", 100*float64(ns)/float64(max(r.CPUNS, 1))) }
	fmt.Fprintf(t, "stage\ttime\tshare\tpage faults\t\n")
	for _, s := range r.Stages {
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t\n", s.Name, milliseconds(s.CPUNS), share(s.CPUNS), s.PageFaults)
	}
	fmt.Fprintf(t, "measuring\t%s\t%s\t\t\nelsewhere\t%s\t%s\t\t\n",
		milliseconds(r.MeasuringNS), share(r.MeasuringNS), milliseconds(r.ElsewhereNS), share(r.ElsewhereNS))
	t.Flush()
	t = tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "function\ttime\tshare\tpage faults\tcode\tdearest stage\t\n")
	for _, f := range r.Functions {
		most := f.dearestStage()
		fmt.Fprintf(t, "%d\t%s\t%s\t%d\t%d B\t%s %s\t %s\n", f.Func, milliseconds(f.CPUNS), share(f.CPUNS), f.PageFaults, f.CodeBytes,
			most.Name, milliseconds(most.CPUNS), quote.Name(f.Name))
	}
	t.Flush()
}

func (f *funcCost) dearestStage() (most stageCost) {
	for _, s := range f.Stages {
		if s.CPUNS >= most.CPUNS {
			most = s
		}
	}
	return most
}

func milliseconds(ns int64) string {
	return fmt.Sprintf("%.2f ms", float64(ns)/float64(time.Millisecond))
}

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }
