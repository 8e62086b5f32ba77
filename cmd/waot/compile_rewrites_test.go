package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/internal/proof/wrongrules"
)

// rewriteCommands are command lines, by command, of all that compile; they lack flags.
var rewriteCommands = map[string][]string{
	"build":    {"build", "m.wasm", "-o", "m.o"},
	"run":      {"run", "m.wasm", "--invoke=main"},
	"diff":     {"diff", "m.wasm", "--invoke=main"},
	"inspect":  {"inspect", "m.wasm", "--emit=opt"},
	"spectest": {"spectest", "main.json"},
	"bisect":   {"bisect", "m.wasm", "--check=exit 0"},
}

// setUpRewrites is setUp with the module that many rules fit, and a script that calls it with the same argument as
// the command lines here.
func setUpRewrites(t *testing.T) {
	t.Helper()
	setUp(t)
	script := `{"source_filename": "s.wast", "commands": [{"type": "module", "line": 1, "filename": "m.wasm"},
 {"type": "assert_return", "line": 2, "action": {"type": "invoke", "field": "main",
  "args": [{"type": "i32", "value": "4294967276"}]}, "expected": [{"type": "i32", "value": "%d"}]}]}`
	for name, text := range map[string]string{"m.wasm": bisected(), "main.json": fmt.Sprintf(script, uint32(resultOfMain()))} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// argOfMain is an argument of main, of bisected, with which most wrong rules can be seen.
const argOfMain = "-20"

// resultOfMain is what main returns for argOfMain.
func resultOfMain() (sum int32) {
	truth := func(b bool) int32 {
		if b {
			return 1
		}
		return 0
	}
	for x := int32(-20); x < -16; x++ {
		v := (x*8 + (x - 5)) ^ int32(uint32(x)/16)
		if x == 0 {
			v += x * 7
		} else {
			v += x
		}
		sum += v + truth(5 < x) + truth(x >= 7) + (x ^ 3 ^ 9)
	}
	return sum
}

// TestRewriteFlags: all commands that compile have the flags, and say the same of wrong ones, in one line, with status 2.
func TestRewriteFlags(t *testing.T) {
	setUpRewrites(t)
	for _, c := range newApp(nil, nil, nil).Commands {
		has := func(name string) bool {
			return slices.ContainsFunc(c.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
		}
		if compiles := rewriteCommands[c.Name] != nil; has("regalloc-check") != compiles || has("rules-off") != compiles || has("rewrites") != compiles {
			t.Errorf("%s: wrong flags, or not tested here", c.Name)
		}
	}
	outside := "--rewrites=7:1: the functions with code are 0 to 6"
	for _, c := range []struct{ flag, want string }{
		{"--rules-off=sugar", "--rules-off=sugar: no such rule or pass; waot bisect --rules lists them"},
		{"--rules-off=mul-pow2,fold,sugar", "--rules-off=sugar: no such rule or pass; waot bisect --rules lists them"},
		{"--rewrites=", "--rewrites=: must be N, "},
		{"--rewrites=many", "--rewrites=many: must be N, "},
		{"--rewrites=-1", "--rewrites=-1: must be N, "},
		{"--rewrites=:1", "--rewrites=:1: must be N, "},
		{"--rewrites=1:", "--rewrites=1:: must be N, "},
		{"--rewrites=1:2:3", "--rewrites=1:2:3: must be N, "},
		{"--rewrites=4294967296", "--rewrites=4294967296: must be N, "},
		{"--rewrites=7:1", outside},
	} {
		for name, command := range rewriteCommands {
			if name == "spectest" && c.want == outside {
				continue // it has many modules
			}
			args := append(slices.Clone(command), c.flag)
			if name == "run" || name == "diff" {
				args = append(args, "--", argOfMain)
			}
			status, stdout, stderr := execute(args...)
			if status != statusUsage || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, c.want) {
				t.Errorf("%v: status %d\n%s%s", args, status, stdout, stderr)
			}
		}
	}
	if _, err := os.Stat("m.o"); err == nil {
		t.Error("an object has been written")
	}
	for _, c := range []struct{ args, want string }{
		{"bisect m.wasm --rewrites=3", "bisect: --rewrites=3: must be F:N, "},
		{"bisect m.wasm -o bad.o", "bisect: -o wants --rewrites"},
		{"bisect m.wasm --check=false --runner=x", "bisect: --check runs the object itself, "},
		{"bisect m.wasm --check=false --emulator=x", "bisect: --check runs the object itself, "},
	} {
		if status, stdout, stderr := execute(strings.Fields(c.args)...); status != statusUsage || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: status %d\n%s%s", c.args, status, stdout, stderr)
		}
	}
	// What is compiled cannot be compiled otherwise.
	if status, _, stderr := execute("build", "m.wasm", "-o", "m.o"); status != 0 {
		t.Fatal(stderr)
	}
	for _, flag := range []string{"--rules-off=fold", "--rewrites=0:1", "--bounds=explicit", "--opt=0", "--deterministic=true"} {
		status, stdout, stderr := execute("run", "m.o", "--invoke=main", flag, "--", argOfMain)
		if status != statusUsage || stdout != "" || !strings.Contains(stderr, "m.o is compiled already: "+flag) {
			t.Errorf("%s: status %d\n%s%s", flag, status, stdout, stderr)
		}
	}
}

// TestRewritesBuild: objects differ by the rewrites that happened and by nothing else, and a place is the same one for all commands.
func TestRewritesBuild(t *testing.T) {
	setUpRewrites(t)
	built := func(flags ...string) string {
		t.Helper()
		os.Remove("m.o")
		if status, _, stderr := execute(append([]string{"build", "m.wasm", "-o", "m.o"}, flags...)...); status != 0 {
			t.Fatalf("%v: %s", flags, stderr)
		}
		b, err := os.ReadFile("m.o")
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	plain := built()
	for _, same := range []string{"--rules-off=", "--rewrites=1000000", "--rewrites=6:1000000"} {
		if built(same) != plain {
			t.Errorf("%s: another object", same)
		}
	}
	if built("--rewrites=0") != built("--rewrites=0:0") {
		t.Error("no rewrite is not the same for --rewrites=0 and --rewrites=0:0")
	}
	for _, other := range []string{"--rules-off=fold", "--rules-off=mul-pow2,udiv-pow2", "--rewrites=0", "--rewrites=2", "--rewrites=1:2"} {
		b := built(other)
		if b == plain {
			t.Errorf("%s: the same object", other)
		}
		if built(other, "--jobs=1") != b || built(other, "--jobs=7") != b {
			t.Errorf("%s: the object depends on the number of workers", other)
		}
	}
	for _, place := range []string{"0:0", "0:3", "2:1", "6:0"} {
		flag := "--rewrites=" + place
		if status, _, stderr := execute("bisect", "m.wasm", flag, "--check=exit 0", "-o", "b.o"); status != 0 {
			t.Fatal(stderr)
		}
		if b, err := os.ReadFile("b.o"); err != nil || string(b) != built(flag) {
			t.Errorf("%s: build and bisect make different objects (%v)", flag, err)
		}
	}
	// inspect shows them.
	shown := func(flags ...string) string {
		t.Helper()
		status, stdout, stderr := execute(append([]string{"inspect", "m.wasm", "--func=1", "--emit=opt"}, flags...)...)
		if status != 0 {
			t.Fatalf("%v: %s", flags, stderr)
		}
		return stdout
	}
	for flag, want := range map[string][2]int{ // multiplications, divisions
		"": {1, 0}, "--rules-off=mul-pow2": {2, 0}, "--rules-off=udiv-pow2,mul-pow2": {2, 1}, "--rewrites=0": {2, 1},
		// The first rewrite is that of the call.
		"--rewrites=1": {2, 1}, "--rewrites=1:1": {2, 1}, "--rewrites=2": {1, 1}, "--rewrites=1:2": {1, 1}, "--rewrites=0:2": {2, 1}, "--rewrites=2:0": {1, 0},
	} {
		text := shown(strings.Fields(flag)...)
		if got := [2]int{strings.Count(text, " imul."), strings.Count(text, " udiv.")}; got != want {
			t.Errorf("%q: %d multiplications and divisions, want %d\n%s", flag, got, want, text)
		}
	}
}

// TestRewritesPlanted: a wrong rewrite shows in everything that executes code, and is gone when its rule is off, or when
// rewriting stops before it.
func TestRewritesPlanted(t *testing.T) {
	if wrongrules.Elsewhere(t, programs.dir) {
		return
	}
	setUpRewrites(t)
	right := fmt.Sprintf("i32:%d\n", resultOfMain())
	if _, stdout, stderr := execute("run", "m.wasm", "--invoke=main", "-O0", "--", argOfMain); stdout != right {
		t.Fatalf("%q, want %q %s", stdout, right, stderr)
	}
	tried := 0
	for rule, spoil := range wrong {
		plantIn(t, 2, rule, spoil)
		if _, stdout, _ := execute("run", "m.wasm", "--invoke=main", "--", argOfMain); stdout == right {
			continue // it cannot be seen with this argument
		}
		tried++
		for _, c := range []struct {
			flag string
			good bool
		}{
			{"--jobs=0", false}, {"--rules-off=" + rule.Info().Name, true}, {"--rules-off=" + rule.Info().Pass, true},
			{"--rules-off=dce", false}, {"--rewrites=2:0", true}, {"--rewrites=1:1000", true}, {"--rewrites=3:0", false}, {"--rewrites=0", true},
		} {
			for name, command := range map[string][]string{
				"run":            {"run", "m.wasm", "--invoke=main"},
				"diff":           {"diff", "m.wasm", "--invoke=main"},
				"spectest":       {"spectest", "main.json"},
				"spectest -O1":   {"spectest", "main.json", "-O1"},
				"spectest in it": {"spectest", "main.json", "--engine=interp"},
			} {
				args := append(slices.Clone(command), c.flag)
				if args[0] != "spectest" {
					args = append(args, "--", argOfMain)
				}
				status, stdout, stderr := execute(args...)
				good := status == 0
				if name == "run" {
					good = stdout == right
				}
				if good != c.good || stderr != "" {
					t.Errorf("%v: %v: good %t, want %t\n%s%s", rule.Info(), args, good, c.good, stdout, stderr)
				}
			}
		}
	}
	if tried < 4 {
		t.Errorf("only %d of %d wrong rules can be seen", tried, len(wrong))
	}
}

// TestRewritesReport: the report of a bug says which rewrites happened.
func TestRewritesReport(t *testing.T) {
	if wrongrules.Elsewhere(t, programs.dir) {
		return
	}
	setUpRewrites(t)
	t.Setenv("TMPDIR", t.TempDir())
	plantIn(t, 2, opt.RuleMulPow2, func(d *clif.InstData) { d.Args[0] = 1 << 20 })
	status, _, stderr := execute("build", "m.wasm", "-o", "m.o", "--rules-off=dce,inline", "--rewrites=2:1")
	_, dir, found := strings.Cut(stderr, "to reproduce it: ")
	if status != statusBad || !found {
		t.Fatalf("status %d: %s", status, stderr)
	}
	report, err := os.ReadFile(filepath.Join(strings.TrimSuffix(strings.TrimSpace(dir), ")"), "report.txt"))
	if err != nil || !strings.Contains(string(report), "--verify=false --rules-off=dce,inline --rewrites=2:1\n") {
		t.Errorf("%v\n%s", err, report)
	}
}

// TestBisectTargets: bisect finds a wrong rewrite in code for each target, which runs in a process of its machine.
func TestBisectTargets(t *testing.T) {
	const runnerEnv = "WAOT_BISECT_RUNNER"
	self := os.Getenv(runnerEnv)
	if self == "" {
		self = builtHere(t)
		t.Setenv(runnerEnv, self) // it need not be built again
	}
	if wrongrules.Elsewhere(t, programs.dir) {
		return
	}
	flags := map[string][]string{}
	flags[compile.HostTarget()] = []string{"--target=" + compile.HostTarget(), "--runner", self}
	for _, target := range compile.Targets() {
		t.Run(target, func(t *testing.T) {
			flags, rules := flags[target], []opt.Rule{opt.RuleMulPow2, opt.RuleUdivPow2, opt.RuleReassociate}
			rules = rules[:testenv.Cases(1, 2, 3)]
			if flags == nil {
				testenv.OnlyFull(t, "each check takes a second in an emulator; this machine has a runner, too, and TestElsewhere has the emulator")
				flags, rules = otherRunner(t), rules[:1] // what a rule does wrong does not depend on the machine
			}
			setUpRewrites(t)
			for _, rule := range rules {
				plantIn(t, 2, rule, wrong[rule])
				line := append([]string{"bisect", "m.wasm", "--invoke=main"}, flags...)
				begin := time.Now()
				status, stdout, stderr := execute(append(line, "--json", "--", argOfMain)...)
				var f finding
				if err := json.Unmarshal([]byte(stdout), &f); err != nil || status != 0 || stderr != "" {
					t.Fatalf("%v: status %d, %v\n%s%s", rule.Info(), status, err, stdout, stderr)
				}
				if f.Func != 2 || f.Rule != rule.Info().Name || f.Without != "good" || f.Checks < 4 {
					t.Errorf("%v: found %+v", rule.Info(), f)
				}
				t.Logf("%v: %d checks in %v", rule.Info(), f.Checks, time.Since(begin).Round(time.Millisecond))
				want := fmt.Sprintf("waot bisect m.wasm --rewrites=2:%d --invoke=main --runner=%s --target=%s -- %s", f.Rewrite, quoted(flags[2]), target, argOfMain)
				if f.Again != want {
					t.Errorf("again: %s, want %s", f.Again, want)
				}
				for n, verdict := range map[int]string{f.Rewrite: "bad", f.Rewrite - 1: "good"} {
					_, stdout, stderr := execute(append(line, fmt.Sprintf("--rewrites=2:%d", n), "--", argOfMain)...)
					if !strings.HasPrefix(stdout, "m.wasm: "+verdict+" with ") {
						t.Errorf("%v, %d rewrites: want %s, got %s%s", rule.Info(), n, verdict, stdout, stderr)
					}
				}
				_, stdout, stderr = execute(append(line, "--rules-off="+rule.Info().Name, "--", argOfMain)...)
				if stdout != "m.wasm: good at -O1: nothing to find\n2 checks\n" {
					t.Errorf("without %v: %s%s", rule.Info(), stdout, stderr)
				}
			}
		})
	}
}
