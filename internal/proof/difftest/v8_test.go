package difftest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/waot-project/waot/internal/proof/randprog"
	"github.com/waot-project/waot/spectest/interpengine"
)

var nodeFlag = flag.String("node", "", "node 25 or later, whose V8 judges random modules with garbage collection")

// v8Program is a program as testdata/judge.js reads it, v8Outcome what that writes.
type v8Program struct {
	Env     []byte   `json:"env"`
	Wasm    []byte   `json:"wasm"`
	Calls   []v8Call `json:"calls"`
	Globals []string `json:"globals"`
}

type v8Call struct {
	Export  string   `json:"export"`
	Params  string   `json:"params"`
	Results string   `json:"results"`
	Args    []string `json:"args"`
}

type v8Outcome struct {
	Start, Memory string
	Calls         []string
}

// v8Traps are the words of V8 for a trap that we have others for. V8 tells fewer apart, and some others.
var v8Traps = map[string][]string{
	"unreachable":                   {"unreachable"},
	"out of bounds memory access":   {"memory access out of bounds", "data segment out of bounds", "requested new array is too large"},
	"invalid table access":          {"table index is out of bounds", "table access out of bounds", "null function", "function signature mismatch", "element segment out of bounds", "requested new array is too large"},
	"indirect call type mismatch":   {"function signature mismatch"},
	"integer overflow":              {"divide result unrepresentable", "float unrepresentable in integer range"},
	"integer divide by zero":        {"divide by zero", "remainder by zero"},
	"invalid conversion to integer": {"float unrepresentable in integer range"},
	"null reference":                {"dereferencing a null pointer", "rethrowing null value"},
	"null structure reference":      {"dereferencing a null pointer"},
	"null array reference":          {"dereferencing a null pointer"},
	"null i31 reference":            {"dereferencing a null pointer"},
	"out of bounds array access":    {"array element access out of bounds", "element segment out of bounds", "requested new array is too large"},
	"cast failure":                  {"illegal cast"},
	"heap exhausted":                {"requested new array is too large"},
	randprog.StackOverflow:          {"Maximum call stack size exceeded"},
	randprog.Uncaught:               {randprog.Uncaught},
}

// v8Agrees reports whether what a call did here is what it did under V8.
func v8Agrees(got, want string) bool {
	words, trapped := strings.CutPrefix(got, randprog.TrapPrefix)
	if !trapped {
		return got == want
	}
	theirs, ok := strings.CutPrefix(want, randprog.TrapPrefix)
	if !ok {
		return false
	}
	for _, w := range v8Traps[words] {
		if strings.Contains(theirs, w) {
			return true
		}
	}
	return false
}

// runV8 runs programs in one process.
func runV8(ctx context.Context, node string, programs []*randprog.Program) ([]v8Outcome, error) {
	var in bytes.Buffer
	for _, p := range programs {
		q := v8Program{Env: p.Env, Wasm: p.Wasm, Globals: append([]string{}, p.Globals...), Calls: []v8Call{}}
		for _, c := range p.Calls {
			v := v8Call{c.Export, c.Params, c.Results, []string{}}
			for _, a := range c.Args {
				v.Args = append(v.Args, fmt.Sprintf("%x", a))
			}
			q.Calls = append(q.Calls, v)
		}
		b, err := json.Marshal(q)
		if err != nil {
			return nil, err
		}
		in.Write(append(b, '\n'))
	}
	cmd := exec.CommandContext(ctx, node, "testdata/judge.js")
	cmd.Stdin = &in
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %.500s", err, stderr.String())
	}
	var list []v8Outcome
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var o v8Outcome
		if err := d.Decode(&o); err != nil {
			return nil, err
		}
		list = append(list, o)
	}
	if len(list) != len(programs) {
		return nil, fmt.Errorf("%d outcomes of %d programs", len(list), len(programs))
	}
	return list, nil
}

// TestRandomGCV8 compares the CLIF interpreter with V8 on random modules with garbage collection, if -node says where that is.
func TestRandomGCV8(t *testing.T) {
	if *nodeFlag == "" {
		t.Skip("SKIPPED: only with -node, the path of a node whose V8 knows garbage collection; TestRandomGC and the nested module compare with other judges")
	}
	const batch = 100
	calls, cut, long := 0, 0, 0
	end := *seedFlag + cmp.Or(*countFlag, batch)
	for first := *seedFlag; first < end && !t.Failed(); first += batch {
		var programs []*randprog.Program
		var plain []*randprog.Outcome
		var seeds []uint64
		for seed := first; seed < min(first+batch, end); seed++ {
			p := randprog.GenerateGC(seed, false, false)
			p.AnyNaN = true
			o := randprog.Run(&interpengine.Engine{Options: gcLimits}, p)
			if o.TooLong() {
				long++
				continue
			}
			programs, plain, seeds = append(programs, p), append(plain, o), append(seeds, seed)
		}
		theirs, err := runV8(t.Context(), *nodeFlag, programs)
		if err != nil {
			t.Fatal(err)
		}
		for i, o := range theirs {
			got := plain[i]
			if got.Start.Text != "" || o.Start != "" {
				if !v8Agrees(got.Start.Text, o.Start) {
					t.Errorf("seed %d: instantiation: %q, want %q", seeds[i], got.Start.Text+got.Failed, o.Start)
				}
				continue
			}
			overflow := false
			for k := range o.Calls {
				if overflow = strings.Contains(o.Calls[k], "call stack") || got.Calls[k].Overflowed(); overflow {
					cut++
					break // how much stack there is is each engine's affair
				}
				if calls++; !v8Agrees(got.Calls[k].Text, o.Calls[k]) {
					t.Errorf("seed %d: call %d: %q, want %q", seeds[i], k, got.Calls[k].Text, o.Calls[k])
					break
				}
			}
			if sum := sha256.Sum256(got.Memory); !overflow && fmt.Sprintf("%x", sum) != o.Memory {
				t.Errorf("seed %d: another memory", seeds[i])
			}
		}
	}
	t.Logf("%d modules, %d calls; %d modules up to a stack overflow, %d too long", end-*seedFlag, calls, cut, long)
}
