//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// buildStages are the stages of a module in which all occur.
var buildStages = []string{"read", "decode", "plan", "translate", "inline", "callees", "tails", "returns", "fold", "branches", "dispatch", "params", "objects", "selects", "addresses", "dce", "bytes", "exits", "allocate",
	"order", "lower", "regalloc", "check", "emit", "keep", "link", "file", "write"}

// TestTime: build --time names all stages, what they have taken adds up, and the object is the same.
func TestTime(t *testing.T) {
	setUp(t)
	for _, jobs := range [][]string{{"--jobs=1"}, {"--jobs=2"}} {
		status, stdout, stderr := execute(append([]string{"build", "lib.wasm", "-o", "timed.o", "--name=lib", "--time", "--json"}, jobs...)...)
		if status != 0 {
			t.Fatal(stderr)
		}
		var r buildResult
		if err := json.Unmarshal([]byte(stdout), &r); err != nil {
			t.Fatal(err)
		}
		c := r.Time
		var names []string
		sum := c.MeasuringNS + c.ElsewhereNS
		for _, s := range c.Stages {
			names = append(names, s.Name)
			sum += s.CPUNS
			if s.CPUNS < 0 || s.PageFaults < 0 {
				t.Errorf("%v: %+v", jobs, s)
			}
		}
		// With two workers the order depends on which function each begins with.
		if slices.Sort(names); !slices.Equal(names, slices.Sorted(slices.Values(buildStages))) {
			t.Errorf("%v: stages %q", jobs, names)
		}
		if sum != c.CPUNS || c.Allocated == 0 || c.PeakBytes == 0 || c.PageFaults == 0 {
			t.Errorf("%v: parts of %d ns, allocated %d", jobs, sum, c.Allocated)
		}
		if c.ElsewhereNS < -time.Millisecond.Nanoseconds() { // clocks of threads and of the process may differ a little
			t.Errorf("%v: stages and measuring have taken %d ns more than the process", jobs, -c.ElsewhereNS)
		}
		if len(c.Functions) == 0 || len(c.Functions) > 10 || !slices.IsSortedFunc(c.Functions, func(a, b funcCost) int { return int(b.CPUNS - a.CPUNS) }) {
			t.Errorf("%v: %+v", jobs, c.Functions)
		}
		if k := slices.IndexFunc(c.Functions, func(f funcCost) bool { return f.Name == "add" }); k < 0 || c.Functions[k].CodeBytes == 0 {
			t.Errorf("%v: no function add in %+v", jobs, c.Functions)
		}
	}
	if status, _, stderr := execute("build", "lib.wasm", "-o", "lib.o"); status != 0 {
		t.Fatal(stderr)
	}
	timed, err := os.ReadFile("timed.o")
	plain, _ := os.ReadFile("lib.o")
	if err != nil || !bytes.Equal(timed, plain) {
		t.Errorf("the object depends on --time: %v", err)
	}
}

// TestTimeText: without --json there are two tables.
func TestTimeText(t *testing.T) {
	setUp(t)
	status, stdout, stderr := execute("build", "lib.wasm", "-o", "lib.img", "--time")
	if status != 0 {
		t.Fatal(stderr)
	}
	for _, s := range append([]string{"of processor time", "MiB at most", "stage", "measuring", "elsewhere", "function", "dearest stage", "add"}, buildStages...) {
		if !strings.Contains(stdout, s) {
			t.Errorf("no %q in\n%s", s, stdout)
		}
	}
}
