package campaign_test

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/clif/rewrite"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/emulate"
	"github.com/waot-project/waot/internal/proof/bugcases"
	"github.com/waot-project/waot/internal/proof/campaign"
	"github.com/waot-project/waot/internal/proof/filetest"
	"github.com/waot-project/waot/internal/proof/randprog"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/internal/proof/wrongrules"
	"github.com/waot-project/waot/wasmfront/validate"
)

var (
	modulesFlag = flag.Uint64("modules", 0, "number of modules of TestCampaign, if not as many as the level of the tests says")
	faultsFlag  = flag.Bool("faults", false, "plant all faults, not some")
	updateFlag  = flag.Bool("update", false, "write the files of testdata/programs that planted faults leave")
)

// serveEnv makes the test binary a process that serves; buildsEnv is where one that runs tests for another finds campaign.Builds.
const (
	serveEnv  = "WAOT_CAMPAIGN_SERVE"
	buildsEnv = "WAOT_CAMPAIGN_BUILDS"
)

func TestMain(m *testing.M) {
	if os.Getenv(serveEnv) == "" {
		os.Exit(func() int {
			if campaign.Builds = os.Getenv(buildsEnv); campaign.Builds != "" {
				return m.Run()
			}
			dir, err := os.MkdirTemp("", "campaign")
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 2
			}
			defer os.RemoveAll(dir)
			campaign.Builds = dir
			os.Setenv(buildsEnv, dir)
			return m.Run()
		}())
	}
	if err := campaign.Serve(os.Stdin, os.Stdout); err != nil {
		os.Exit(1)
	}
}

const a64 = "aarch64-linux"

// elsewhere returns this test binary for another machine, built once.
func elsewhere(m *emulate.Machine) (string, error) {
	program := filepath.Join(campaign.Builds, "program-"+m.GOARCH)
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	return m.Build(context.Background(), campaign.Builds, ".", "test", "-c")
}

// commands returns what serves, by target. Without an emulator there is no other target, which is an error where that must not be.
func commands(t *testing.T) (targets []string, command func(target string) *exec.Cmd) {
	t.Helper()
	servers := map[string]func() *exec.Cmd{}
	for _, target := range compile.Targets() {
		m, err := emulate.For(compile.GOARCH(target), "")
		if err != nil {
			if testenv.CI() {
				t.Fatal(err)
			}
			fmt.Fprintf(os.Stderr, "WARNING: nothing is run for %s: %v\n", target, err)
			continue
		}
		program, err := os.Executable()
		if err == nil && m.GOARCH != runtime.GOARCH {
			if testing.Short() {
				continue
			}
			program, err = elsewhere(m)
		}
		if err != nil {
			t.Fatal(err)
		}
		servers[target] = func() *exec.Cmd {
			cmd := m.Command(context.Background(), program)
			cmd.Env = append(cmd.Env, serveEnv+"=1")
			return cmd
		}
		targets = append(targets, target)
	}
	return targets, func(target string) *exec.Cmd { return servers[target]() }
}

// TestCampaign is a small campaign: nothing differs, and what the figures count is there.
func TestCampaign(t *testing.T) {
	targets, command := commands(t)
	n := cmp.Or(*modulesFlag, testenv.Cases[uint64](60, 30, 60)) // with -short on one machine
	f, err := campaign.Run(t.Context(), campaign.Config{N: n, Turns: turns(), Workers: 2, Targets: targets, Command: command, PerProcess: 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%v", f)
	if len(f.Failures) > 0 || f.Unsupported > 0 || f.OutOfSteps > 0 || f.Modules != int(n) {
		t.Error("see above")
	}
	for what, n := range map[string]int{"traps": f.Trapping, "loops": f.Looping, "indirect calls": f.Indirect, "growth": f.Growing, "the host": f.Hosting} {
		if n == 0 || n == f.Modules {
			t.Errorf("%s: %d of %d modules", what, n, f.Modules)
		}
	}
	if f.Starts < len(targets)*int(n)/20 || f.PeakBytes == 0 {
		t.Errorf("%d processes, %d bytes", f.Starts, f.PeakBytes)
	}
}

// turns is campaign.Config.Turns for these campaigns: the full level compiles each module in all ways.
func turns() int { return testenv.Cases(0, 3, 0) }

// TestTurns: where programs take turns, each way to compile has some, and half of those with structures run with a collection for each object.
func TestTurns(t *testing.T) {
	_, command := commands(t)
	target := compile.HostTarget()
	f, err := campaign.Run(t.Context(), campaign.Config{N: 60, GC: true, Turns: 1, Workers: 2, Targets: []string{target}, Command: command})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%v", f)
	if len(f.Failures) > 0 || f.Unsupported > 0 || f.OutOfSteps > 0 || f.Modules != 60 || f.Collecting < 15 || f.Counts.Programs < 3 {
		t.Error("see above")
	}
	least, all := f.Calls, 0
	for _, v := range campaign.Variants(target) {
		least, all = min(least, f.ComparedBy[v.Name]), all+f.ComparedBy[v.Name]
	}
	if least == 0 || all > 2*f.Calls {
		t.Errorf("%d calls compared in all, with one way %d", all, least)
	}
}

// TestVectors is TestCampaign with vectors, which at least a twelfth of the operators work on.
func TestVectors(t *testing.T) {
	targets, command := commands(t)
	n := cmp.Or(*modulesFlag, testenv.Cases[uint64](40, 30, 60))
	f, err := campaign.Run(t.Context(), campaign.Config{N: n, Turns: turns(), Vectors: true, Workers: 2, Targets: targets, Command: command})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%v", f)
	if len(f.Failures) > 0 || f.Unsupported > 0 || f.OutOfSteps > 0 || f.Modules != int(n) {
		t.Error("see above")
	}
	if f.VectorOperators < f.Operators/12 {
		t.Errorf("%d of %d operators work on vectors", f.VectorOperators, f.Operators)
	}
}

// TestTyped is TestCampaign with typed function references.
func TestTyped(t *testing.T) {
	targets, command := commands(t)
	n := cmp.Or(*modulesFlag, testenv.Cases[uint64](10, 15, 60))
	f, err := campaign.Run(t.Context(), campaign.Config{N: n, Turns: turns(), Typed: true, Workers: 2, Targets: targets, Command: command})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%v", f)
	if len(f.Failures) > 0 || f.Unsupported > 0 || f.OutOfSteps > 0 || f.Modules != int(n) {
		t.Error("see above")
	}
}

// TestThrows is TestCampaign with exceptions.
func TestThrows(t *testing.T) {
	targets, command := commands(t)
	n := cmp.Or(*modulesFlag, testenv.Cases[uint64](10, 16, 100))
	f, err := campaign.Run(t.Context(), campaign.Config{N: n, Turns: turns(), Throws: true, Workers: 2, Targets: targets, Command: command})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%v", f)
	if len(f.Failures) > 0 || f.Unsupported > 0 || f.OutOfSteps > 0 || f.Modules != int(n) || f.Unjudged > int(n)*2/3 {
		t.Error("see above")
	}
}

// TestGC is TestCampaign with structures and arrays: each module runs twice, unless it is long, and says what it has executed.
func TestGC(t *testing.T) {
	targets, command := commands(t)
	n := cmp.Or(*modulesFlag, testenv.Cases[uint64](2, 8, 20))
	f, err := campaign.Run(t.Context(), campaign.Config{N: n, Turns: turns(), GC: true, Workers: 2, Targets: targets, Command: command})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%v", f)
	variants := 1 + turns()*len(targets)
	if turns() == 0 {
		variants = 2
		for _, target := range targets {
			variants += len(campaign.Variants(target))
		}
	}
	if len(f.Failures) > 0 || f.Unsupported > 0 || f.OutOfSteps > 0 || f.Modules != int(n) || f.Compared <= f.Calls*variants || f.Counts.Of("struct.new") == 0 || f.Counts.Of(randprog.FunctionsEnded) == 0 {
		t.Error("see above")
	}
}

// TestResumedInlined: in some random modules a function that can be resumed, or one that it is inlined in, is copied where it was resumed.
func TestResumedInlined(t *testing.T) {
	modules, copied := 0, 0
	for seed := uint64(2); seed < 1000; seed += 5 { // those with small functions
		var mu sync.Mutex
		logs := map[clif.FuncIndex]*opt.Control{}
		o := compile.Options{OptLevel: opt.O1, Jobs: 1, EagerInlining: true, Control: func(i clif.FuncIndex) *opt.Control {
			mu.Lock()
			defer mu.Unlock()
			logs[i] = &opt.Control{Limit: -1}
			return logs[i]
		}}
		if _, err := compile.Module(randprog.Generate(seed).Wasm, o); err != nil {
			t.Fatal(err)
		}
		modules++
		for _, c := range logs {
			if fired(c, "inline-call") && fired(c, "copy-resumed") {
				copied++
				break
			}
		}
	}
	t.Logf("%d of %d modules", copied, modules)
	if copied < modules/20 {
		t.Error("too few")
	}
}

// fired reports whether a rule is in the log of c.
func fired(c *opt.Control, name string) bool {
	return slices.ContainsFunc(c.Log, func(r rewrite.Rewrite) bool { return r.Rule.Name == name })
}

// fault is a fault to plant: in a rewrite of the mid-end, in the constant that a lowering rule appends, or in the bytes of code.
type fault struct {
	name     string
	target   string // empty for any
	rule     string // of the mid-end that is spoiled
	lowering string // rule that is spoiled
	code     func(b []byte)
	often    bool // planted in ordinary runs of the tests
	vectors  bool // the modules have vectors
	seldom   bool // few modules have what it spoils, and that is large
}

const x64 = "x86-64-linux"

// faults are planted one at a time.
var faults = slices.Concat(scalarFaults[:], vectorFaults("x86-64: ", x64), vectorFaults("AArch64: ", a64))

// vectorFaults are those of vectors on one machine.
func vectorFaults(machine, target string) (list []fault) {
	for _, x := range bugcases.VectorFaults(compile.GOARCH(target)) {
		list = append(list, fault{name: machine + x.Name, target: target, code: x.Code, vectors: true})
	}
	return list
}

var scalarFaults = [...]fault{
	{name: "signed division by a power of two", rule: "sdiv-pow2"},
	{name: "signed remainder of a constant", rule: "srem-const"},
	{name: "comparison with the constant on the left", rule: "icmp-const-right", often: true},
	{name: "inverted comparison", rule: "icmp-invert"},
	{name: "select of a negated condition", rule: "select-strip"},
	{name: "equal instructions", rule: "equal"},
	{name: "forwarded loads", rule: "load-known", often: true},
	{name: "folded integers", rule: "fold-int"},
	{name: "folded counts of bits", rule: "fold-count"},
	{name: "reassociated constants", rule: "reassociate"},
	{name: "masked shifts", rule: "shift-mask"},
	{name: "extended comparisons", rule: "icmp-extends"},
	{name: "arguments of edges past dispatchers", rule: "thread-table", seldom: true},
	{name: "arguments of edges past branches", rule: "thread-branch"},
	{name: "selects in the place of branches", rule: "branch-select", seldom: true},
	{name: "decided comparisons on edges", rule: "condition-known"},
	{name: "lowered shifts by constants", lowering: "shift-imm", often: true},
	{name: "x86-64: setl becomes setle", target: x64, often: true, code: bugcases.BytesOf([]byte{0x0F, 0x9C}, func(b []byte) {
		if b[1] >= 0xC0 {
			b[0] = 0x9E
		}
	})},
	{name: "x86-64: moves between vector registers are dropped", target: x64, code: bugcases.BytesOf([]byte{0x0F, 0x28}, func(b []byte) {
		if b[1] >= 0xC0 {
			b[0] = 0x1F
		}
	})},
	{name: "x86-64: arithmetic shifts right by constants are logical", target: x64, code: bugcases.BytesOf([]byte{0x48, 0xC1}, func(b []byte) {
		if b[1] >= 0xF8 && b[2] < 64 {
			b[1] -= 0x10
		}
	})},
	{name: "x86-64: bytes are extended by zeros", target: x64, code: bugcases.BytesOf([]byte{0x48, 0x0F, 0xBE}, func(b []byte) { b[0] = 0xB6 })},
	{name: "x86-64: displacements of f32 loads are one off", target: x64, code: bugcases.BytesOf([]byte{0xF3, 0x0F, 0x10}, func(b []byte) {
		if b[1]>>6 == 1 && b[1]&7 != 4 {
			b[2]++
		}
	})},
	{name: "x86-64: the upper half of a number of 32 bits is not cleared", target: x64, code: func(b []byte) {
		for i := 1; i+1 < len(b); i++ { // mov of 32-bit registers, of which one is r8 to r15
			if b[i-1]&0xF8 == 0x40 && b[i] == 0x89 && b[i+1] >= 0xC0 {
				b[i-1] |= 8
			}
		}
	}},
	{name: "AArch64: csinc ge becomes gt", target: a64, often: true, code: bugcases.EachWord(func(w uint32) uint32 {
		if w&0x7FE0FC00 == 0x1A80A400 {
			w ^= 0x6000
		}
		return w
	})},
	{name: "AArch64: moves between vector registers are dropped", target: a64, code: bugcases.EachWord(func(w uint32) uint32 {
		if w&0xFFFFFC00 == 0x1E604000 || w&0xFFFFFC00 == 0x1E204000 {
			return 0xD503201F
		}
		return w
	})},
	{name: "AArch64: msub becomes madd", target: a64, code: bugcases.EachWord(func(w uint32) uint32 {
		if w&0x7FE08000 == 0x1B008000 {
			w &^= 0x8000
		}
		return w
	})},
	{name: "AArch64: offsets of f32 loads are one off", target: a64, code: bugcases.EachWord(func(w uint32) uint32 {
		if w&0xFFC00000 == 0xBD400000 && w>>10&0xFFF != 0 {
			w += 1 << 10
		}
		return w
	})},
	{name: "AArch64: asr becomes lsr", target: a64, code: bugcases.EachWord(func(w uint32) uint32 {
		if w&0x7FE0FC00 == 0x1AC02800 {
			w ^= 0x0C00
		}
		return w
	})},
}

// plant plants a fault.
func (x *fault) plant(v *campaign.Variant, o *compile.Options) {
	if x.code != nil {
		if v.Target == x.target {
			o.Trace = &backend.Trace{Code: func(_ *clif.Func, c *backend.Code) { x.code(c.Bytes) }}
		}
		return
	}
	if x.lowering != "" {
		o.Trace = &backend.Trace{Rule: x.spoilLowering(v)}
		return
	}
	control := o.Control
	o.Control = func(i clif.FuncIndex) *opt.Control {
		c := &opt.Control{Limit: -1}
		if control != nil {
			c = control(i)
		}
		c.Off = maps.Clone(c.Off)
		if c.Off == nil {
			c.Off = map[string]bool{}
		}
		c.Off[spoiltName+x.rule] = true
		return c
	}
}

// spoiltName begins names that no rule has: what a Control names so is rules to spoil.
const spoiltName = "spoilt "

// withFaults is wrongrules.Elsewhere for tests that plant faults in rewrites; there it has them planted.
func withFaults(t *testing.T) (elsewhere bool) {
	t.Helper()
	if wrongrules.Elsewhere(t, campaign.Builds) {
		return true
	}
	wrongrules.Set(t, func(ctl *rewrite.Control, r *rewrite.Info, f *clif.Func, d *clif.InstData, v clif.Value) clif.Value {
		if !ctl.Off[spoiltName+r.Name] {
			return v
		}
		return spoilt(f, d, v)
	})
	return false
}

// spoilLowering makes what the lowering rule appends wrong: its constant is another.
func (x *fault) spoilLowering(v *campaign.Variant) func(f *clif.Func, r backend.Rule, insts []backend.Inst) {
	target, err := compile.CodeTarget(v.Target, v.CPU, false)
	if err != nil || v.Target == "" {
		return nil
	}
	return func(_ *clif.Func, r backend.Rule, insts []backend.Inst) {
		if target.Rules.Info(r).Name == x.lowering {
			insts[len(insts)-1].Imm ^= 1
		}
	}
}

// spoilt makes a rewrite wrong and keeps the types right: values become a parameter of the function, constants grow by one,
// operands and conditions change places.
func spoilt(f *clif.Func, d *clif.InstData, v clif.Value) clif.Value {
	if v != clif.NoValue {
		for _, p := range f.Params(f.Entry()) {
			if w := clif.Value(p); f.TypeOf(w) == f.TypeOf(v) {
				return w
			}
		}
		return v
	}
	switch d.Op.Info().Format {
	case clif.FormatConst:
		d.Imm++
	case clif.FormatBinary:
		d.Args[1] = d.Args[0]
	case clif.FormatIntCmp:
		d.Cond = uint8(d.IntCC().Invert())
	case clif.FormatTernary:
		d.Args[1], d.Args[2] = d.Args[2], d.Args[1]
	}
	return v
}

// programs is where files of programs are.
const programs = "../../../testdata/programs"

// file returns the name of the file that shows the fault.
func (x *fault) file() string {
	words := strings.FieldsFunc(strings.ToLower(x.name), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	return filepath.Join(programs, strings.Join(words, "-")+".json")
}

// on returns the target that the fault is looked for on.
func (x *fault) on() string { return cmp.Or(x.target, compile.HostTarget()) }

// TestPlanted plants faults, one at a time; the campaign must find each, make the module small, and, for a rewrite, name its rule. What it writes
// for testdata must show the fault, and nothing without it.
func TestPlanted(t *testing.T) {
	if withFaults(t) {
		return
	}
	targets, command := commands(t)
	dir := t.TempDir()
	planted, files, filetests := 0, 0, 0
	for i := range faults {
		x := &faults[i]
		if !slices.Contains(targets, x.on()) || !x.often && !*faultsFlag {
			continue
		}
		if x.target == a64 && !testenv.Full() && !*faultsFlag { // TestPrograms has such faults
			continue
		}
		t.Run(x.name, func(t *testing.T) {
			planted++
			n, most := uint64(1000), 200
			if x.vectors || x.seldom { // there are more operators, and a constant takes 18 bytes
				n, most = 5000, 400
			}
			cfg := campaign.Config{N: n, Vectors: x.vectors, Targets: []string{x.on()}, Command: command, Spoil: x.plant, MaxFailures: 1, Dir: dir, Timeout: 30 * time.Second,
				ReduceFor: 5 * time.Minute}
			f, err := campaign.Run(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			if len(f.Failures) == 0 {
				t.Fatalf("not found in %d modules", f.Modules)
			}
			e := &f.Failures[0]
			t.Logf("found by module %d, %s: %s; from %d bytes to %d, %d calls, %d tries, %.1f s; %s", f.Modules, e.Variant, e.Diff, e.Size, len(e.Reduced), e.Calls,
				e.Tries, f.Elapsed.Seconds(), e.Rewrite)
			if len(e.Reduced) == 0 || len(e.Reduced) > most {
				t.Errorf("it is not made small:\n%s", e.Listing)
			}
			if rule := cmp.Or(x.rule, x.lowering); rule != "" && !strings.Contains(e.Rewrite, "rule "+rule+",") {
				t.Errorf("the rule is %s: %s", rule, e.Rewrite)
			}
			if testing.Verbose() && len(e.Reduced) > 150 {
				t.Log(e.Listing)
			}
			small, err := os.ReadFile(filepath.Join(e.Dir, "small.wasm"))
			if err == nil {
				_, err = validate.All(small, validate.Config{})
			}
			if err != nil {
				t.Error(err)
			}
			if e.File == nil {
				t.Fatalf("no file for testdata/programs: %s", e.NoFile)
			}
			written, err := os.ReadFile(filepath.Join(e.Dir, "program.json"))
			if err != nil || !bytes.Equal(written, e.File) {
				t.Errorf("program.json is not the file (%v)", err)
			}
			shows(t, cfg, e.File, e.Variant)
			files++
			if e.FileTest == "" {
				t.Logf("a file of %d bytes; no filetest: %s", len(e.File), e.NoFileTest)
			} else {
				t.Logf("a file of %d bytes and a filetest of %d", len(e.File), len(e.FileTest))
				filetests++
				passes(t, e.FileTest, x)
			}
			if *updateFlag {
				if err := os.WriteFile(x.file(), e.File, 0o666); err != nil {
					t.Error(err)
				}
			}
		})
	}
	t.Logf("of %d faults planted, %d have a file of the program that shows them, %d a filetest, too", planted, files, filetests)
}

// shows checks that the program of a file differs under the variant, and under none if nothing is planted.
func shows(t *testing.T, cfg campaign.Config, file []byte, variant string) {
	t.Helper()
	f, err := campaign.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, list, err := campaign.Check(t.Context(), cfg, f)
	if err != nil {
		t.Fatal(err)
	}
	differs(t, list[0], variant)
	cfg.Spoil = nil
	names, whole, err := campaign.Check(t.Context(), cfg, f)
	if err != nil || len(whole[0]) > 0 || len(names) < 6 {
		t.Errorf("without the fault, by %v: %v (%v)", names, whole[0], err)
	}
}

// differs checks that the program of a file differs under the variant, or any if that is empty.
func differs(t *testing.T, list []campaign.Difference, variant string) {
	t.Helper()
	if !slices.ContainsFunc(list, func(d campaign.Difference) bool { return variant == "" || d.Variant == variant }) {
		t.Errorf("the file does not show the fault: %v", list)
	}
}

// passes checks that the CLIF interpreter passes a filetest, but not on what the mid-end gives if the fault is in it.
func passes(t *testing.T, src string, x *fault) {
	t.Helper()
	run := func(e filetest.Interp) *filetest.Outcome {
		e.Options.MaxSteps = 1_000_000
		return (&filetest.Runner{Engines: []filetest.Engine{e}}).Run([]byte(src))
	}
	if o := run(filetest.Interp{}); len(o.Failures) > 0 || o.Runs == 0 || len(o.Skipped) > 0 {
		t.Errorf("%v\n%s", o.Failures, src)
	}
	spoiled := func(f *clif.Func) error {
		var o compile.Options
		x.plant(&campaign.Variant{}, &o)
		return (&opt.Optimizer{Control: o.Control(f.Index)}).Run(f, opt.O1)
	}
	if x.rule != "" && len(run(filetest.Interp{Rewrite: spoiled}).Failures) == 0 {
		t.Errorf("it does not show the fault:\n%s", src)
	}
}

// TestPrograms: the programs of testdata/programs do what their files say under the judge and everywhere else, and those that a planted
// fault has left show it.
func TestPrograms(t *testing.T) {
	if withFaults(t) {
		return
	}
	targets, command := commands(t)
	cfg := campaign.Config{Targets: targets, Command: command, Timeout: 30 * time.Second}
	paths, err := filepath.Glob(programs + "/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files in %s (%v)", programs, err)
	}
	var files []*campaign.File
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := campaign.ParseFile(b)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		// What people read in it is true.
		if text, err := f.Format(); err != nil || !bytes.Equal(text, b) {
			t.Errorf("%s is not written as it should be (%v):\n%s", path, err, text)
		}
		files = append(files, f)
	}
	checker := campaign.NewChecker(cfg)
	defer checker.Close()
	shown := 0
	for i := range faults {
		x := &faults[i]
		n := slices.Index(paths, x.file())
		if n < 0 || !slices.Contains(targets, x.on()) {
			continue
		}
		t.Run(x.name, func(t *testing.T) {
			list, err := checker.Planted(t.Context(), x.on(), x.plant, files[n])
			if err != nil {
				t.Fatal(err)
			}
			differs(t, list, "")
			shown++
		})
	}
	t.Logf("%d of %d planted faults are shown", shown, len(faults))
	// Without faults nothing differs, in the same processes: no fault has broken one.
	names, differences, err := checker.Check(t.Context(), files...)
	if err != nil {
		t.Fatal(err)
	}
	for i, list := range differences {
		for _, d := range list {
			t.Errorf("%s: %s: %s", paths[i], d.Variant, d.Diff)
		}
	}
	t.Logf("%d files, under each of %s", len(files), strings.Join(names, ", "))
	if testenv.Full() && len(targets) == len(compile.Targets()) && shown != len(faults) {
		t.Error("not all")
	}
}

// TestGone: a process that ends in the middle of a program is a difference, and the campaign goes on.
func TestGone(t *testing.T) {
	_, command := commands(t)
	kill := func(v *campaign.Variant, o *compile.Options) {
		if v.NoSpectre {
			o.Trace = &backend.Trace{Code: func(_ *clif.Func, c *backend.Code) {
				for i := range c.Bytes {
					c.Bytes[i] = 0xCC
				}
			}}
		}
	}
	if runtime.GOARCH != "amd64" {
		t.Skip("breakpoints of x86-64")
	}
	f, err := campaign.Run(t.Context(), campaign.Config{N: 2, Targets: []string{x64}, Command: command, Spoil: kill})
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Failures) != 2 || f.Modules != 2 {
		t.Fatal(f)
	}
	for i := range f.Failures {
		e := &f.Failures[i]
		if e.Variant != x64+" -O1 --spectre=off" || !strings.Contains(e.Diff, "the process has ended") || len(e.Reduced) > 60 {
			t.Error(e)
		}
		if e.File == nil {
			t.Error(e.NoFile)
		}
	}
}
