package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/inline"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/clif/rewrite"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/internal/proof/wrongrules"
)

// bisected is a module of four functions with the same body, that many rules fit, and a
// fifth, main, that calls them with x, x+1, x+2, x+3 and adds the results. All are exported, so that main's calls are not the only uses.
func bisected() string {
	const (
		x    = "\x20\x00"
		body = x + "\x41\x08\x6c" + // x*8
			x + "\x41\x05\x6b\x6a" + // + (x-5)
			x + "\x41\x10\x6e\x73" + // ^ x/16
			x + "\x41\x07\x6c" + x + x + "\x45\x1b\x6a" + // + (x == 0 ? x*7 : x)
			"\x41\x05" + x + "\x48\x6a" + // + (5 < x)
			x + "\x41\x07\x48\x45\x6a" + // + !(x < 7)
			x + "\x41\x03\x73\x41\x09\x73\x6a" + // + (x ^ 3 ^ 9)
			"\x10\x05\x6a" // + zero()
		calls = x + "\x10\x00" + x + "\x41\x01\x6a\x10\x01\x6a" + x + "\x41\x02\x6a\x10\x02\x6a" + x + "\x41\x03\x6a\x10\x03\x6a"
	)
	return module(
		section(1, "\x60\x01\x7f\x01\x7f", "\x60\x00\x01\x7f"), section(3, "\x00", "\x00", "\x00", "\x00", "\x00", "\x01"),
		section(7, name("main")+"\x00\x04", name("a")+"\x00\x00", name("b")+"\x00\x01", name("c")+"\x00\x02", name("d")+"\x00\x03"),
		bigCode(body, body, body, body, calls, "\x41\x00"),
	)
}

// bigCode is a code section that may be longer than 127 bytes.
func bigCode(bodies ...string) string {
	s := string(byte(len(bodies)))
	for _, b := range bodies {
		s += code(b)
	}
	return "\x0a" + string([]byte{byte(len(s)&0x7f | 0x80), byte(len(s) >> 7)}) + s
}

// wrong are rules with a way to do them wrong: of functions that they change in place.
var wrong = map[opt.Rule]func(d *clif.InstData){
	opt.RuleMulPow2:        func(d *clif.InstData) { d.Op = clif.OpRotl },
	opt.RuleSubConst:       func(d *clif.InstData) { d.Args[1] = d.Args[0] },
	opt.RuleUdivPow2:       func(d *clif.InstData) { d.Op = clif.OpSshr },
	opt.RuleSelectStrip:    func(d *clif.InstData) { d.Args[1], d.Args[2] = d.Args[2], d.Args[1] },
	opt.RuleIcmpConstRight: func(d *clif.InstData) { d.Cond = uint8(d.IntCC().Swap()) },
	opt.RuleIcmpInvert:     func(d *clif.InstData) { d.Cond = uint8(d.IntCC().Invert()) },
	opt.RuleReassociate:    func(d *clif.InstData) { d.Op = clif.OpBor },
}

// TestBisectPlanted plants one wrong rule at a time, in one function at a time: the search must
// find function, pass, rule and the rewrite itself.
func TestBisectPlanted(t *testing.T) {
	if wrongrules.Elsewhere(t, programs.dir) {
		return
	}
	dir := t.TempDir()
	wasm := filepath.Join(dir, "m.wasm")
	if err := os.WriteFile(wasm, []byte(bisected()), 0o666); err != nil {
		t.Fatal(err)
	}
	found, checks := 0, 0
	for rule, spoil := range wrong {
		for fn := range clif.FuncIndex(4) {
			plantIn(t, fn, rule, spoil)
			b := search(t, wasm, dir)
			f, err := b.find()
			if err != nil {
				t.Fatal(err)
			}
			if f.Func != uint32(fn) || f.Rule != rule.Info().Name || f.Pass != "fold" || f.Without != "good" || f.Before == "" || len(f.After) == 0 {
				t.Fatalf("%v in function %d: found %+v", rule.Info(), fn, f)
			}
			// The place is what --rewrites checks.
			for n, want := range map[int]bool{f.Rewrite: false, f.Rewrite - 1: true} {
				if good, _, err := b.try(place{int(f.Func), n}); err != nil || good != want {
					t.Errorf("%v in function %d, %d rewrites: %v, %v", rule.Info(), fn, n, good, err)
				}
			}
			found++
			checks += f.Checks
		}
	}
	t.Logf("%d planted wrong rules found, each in %d checks", found, checks/found)
}

// TestBisectLowering plants one wrong lowering rule at a time, in one function at a time: what it appends has another
// constant. The search must find function, rule and place.
func TestBisectLowering(t *testing.T) {
	dir := t.TempDir()
	wasm := filepath.Join(dir, "m.wasm")
	if err := os.WriteFile(wasm, []byte(bisected()), 0o666); err != nil {
		t.Fatal(err)
	}
	target, err := compile.CodeTarget("", "", false)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for r := range backend.Rule(len(target.Rules.Rows)) {
		name := target.Rules.Info(r).Name
		if name != "alu-imm" && name != "sum-imm" && name != "logic-imm" && name != "shift-imm" {
			continue
		}
		for fn := range clif.FuncIndex(4) {
			b := search(t, wasm, dir)
			b.opt.Trace = &backend.Trace{Rule: func(f *clif.Func, fired backend.Rule, insts []backend.Inst) {
				if fired == r && f.Index == fn {
					insts[len(insts)-1].Imm ^= 6
				}
			}}
			f, err := b.find()
			if err != nil {
				t.Fatal(err)
			}
			if f.Func != uint32(fn) || f.Rule != name || f.Pass != rewrite.LowerPass || f.Without != "good" || f.Before == "" || len(f.After) == 0 {
				t.Fatalf("%v in function %d: found %+v", name, fn, f)
			}
			for n, want := range map[int]bool{f.Rewrite: false, f.Rewrite - 1: true} {
				if good, _, err := b.try(place{int(f.Func), n}); err != nil || good != want {
					t.Errorf("%v in function %d, %d rewrites: %v, %v", name, fn, n, good, err)
				}
			}
			found++
		}
	}
	if found < 8 {
		t.Errorf("%d planted wrong rules found", found)
	}
}

// TestBisectInlined: the search reaches each call by itself. A check that is bad once that call is inlined must lead to it.
func TestBisectInlined(t *testing.T) {
	const (
		divide = "\x20\x00\x20\x01\x6d"
		caller = 1
		calls  = "\x20\x00\x20\x01\x10\x00" + "\x20\x01\x10\x00" + "\x20\x00\x10\x00" // divide(divide(divide(x, y), y), x)
	)
	wasm := module(section(1, "\x60\x02\x7f\x7f\x01\x7f"), section(3, "\x00", "\x00"), section(7, name("main")+"\x00\x01"), bigCode(divide, calls))
	dir := t.TempDir()
	file := filepath.Join(dir, "m.wasm")
	if err := os.WriteFile(file, []byte(wasm), 0o666); err != nil {
		t.Fatal(err)
	}
	b := search(t, file, dir)
	var ran bool
	var left []uint32 // the offsets of the calls in caller after the last pass
	b.opt.AfterPass = func(_ string, f *clif.Func) {
		if f.Index != caller {
			return
		}
		ran, left = true, nil
		for i := range f.Insts {
			if f.Insts[i].Op == clif.OpCall {
				left = append(left, f.Srcs[i])
			}
		}
	}
	plain := b.opt
	plain.Control = func(clif.FuncIndex) *opt.Control {
		return &opt.Control{Limit: -1, Off: map[string]bool{inline.Pass: true}}
	}
	if _, err := compile.Module([]byte(wasm), plain); err != nil || len(left) != 3 {
		t.Fatalf("%v, calls at %v", err, left)
	}
	for n, site := range slices.Clone(left) {
		b.good = func() (bool, error) {
			good := !ran || slices.Contains(left, site)
			ran = false
			return good, nil
		}
		ran = false
		f, err := b.find()
		if err != nil || f.Func != caller || f.Rule != "inline-call" || f.Pass != inline.Pass || f.Rewrite != n+1 || f.Offset != site || f.Without != "good" {
			t.Errorf("the call at %#x: %v, found %+v", site, err, f)
		}
	}
}

// plantIn makes the rule wrong in one function, and no other.
func plantIn(t *testing.T, fn clif.FuncIndex, rule opt.Rule, spoil func(d *clif.InstData)) {
	t.Helper()
	wrongrules.Set(t, func(_ *rewrite.Control, r *rewrite.Info, f *clif.Func, d *clif.InstData, v clif.Value) clif.Value {
		if r == rule.Info() && f.Index == fn && v == clif.NoValue {
			spoil(d)
		}
		return v
	})
}

// search is a search in a module.
func search(t *testing.T, wasm, dir string) *bisection {
	o := &options{target: compile.HostTarget(), level: 1, check: true}
	if err := o.readTarget("", ""); err != nil {
		t.Fatal(err)
	}
	bin, err := os.ReadFile(wasm)
	if err != nil {
		t.Fatal(err)
	}
	src, err := sourceOf(t.Context(), wasm, bin)
	if err != nil {
		t.Fatal(err)
	}
	b, err := newBisection(t.Context(), src, o)
	if err != nil {
		t.Fatal(err)
	}
	b.object = filepath.Join(dir, "object.o")
	results := func() string {
		s := ""
		for _, x := range []string{"0", "3", "5", "7", "0x7fffffff", "0x80000000", "-1", "-20"} {
			_, stdout, stderr := execute("run", b.object, "--invoke", "main", "--", x)
			s += stdout + stderr
		}
		return s
	}
	var want string
	b.good = func() (bool, error) {
		if want == "" { // the first is without the mid-end
			want = results()
		}
		return results() == want, nil
	}
	return b
}

// TestBisectAgain: the line that checks the place again has the level, however it was given, and finds the same.
func TestBisectAgain(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		testenv.Missing(t, "no shell")
	}
	setUp(t)
	if err := os.WriteFile("m.wasm", []byte(bisected()), 0o666); err != nil {
		t.Fatal(err)
	}
	if status, _, stderr := execute("build", "m.wasm", "-O0", "-o", "m.o"); status != 0 {
		t.Fatal(stderr)
	}
	const check = "--check=! cmp -s {} m.o" // bad is the object of all rewrites
	for _, level := range []string{"-O0", "-O=0", "--O=0", "--opt=0"} {
		status, stdout, stderr := execute("bisect", "m.wasm", level, "--json", check)
		var f finding
		if err := json.Unmarshal([]byte(stdout), &f); err != nil || status != 0 {
			t.Fatalf("%s: status %d: %s%s, %v", level, status, stdout, stderr, err)
		}
		last := fmt.Sprintf("--rewrites=%d:%d", f.Func, f.Rewrite)
		words := []string{"bisect", "m.wasm", last, check, "--opt=0"}
		if want := "waot bisect m.wasm " + last + " '" + check + "' --opt=0"; f.Again != want {
			t.Errorf("%s: again: %s, want %s", level, f.Again, want)
		}
		if status, stdout, stderr := execute(words...); status != 1 || !strings.Contains(stdout, ": bad with ") {
			t.Errorf("%v: status %d: %s%s", words, status, stdout, stderr)
		}
	}
}

// TestBisectBroken has the compiler itself fail after a planted rewrite: that is bad, too.
func TestBisectBroken(t *testing.T) {
	if wrongrules.Elsewhere(t, programs.dir) {
		return
	}
	dir := t.TempDir()
	wasm := filepath.Join(dir, "m.wasm")
	if err := os.WriteFile(wasm, []byte(bisected()), 0o666); err != nil {
		t.Fatal(err)
	}
	plantIn(t, 2, opt.RuleMulPow2, func(d *clif.InstData) { d.Args[0] = 1 << 20 })
	f, err := search(t, wasm, dir).find()
	if err != nil || f.Func != 2 || f.Rule != "mul-pow2" {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestBisectCommand runs the command with checks that are commands.
func TestBisectCommand(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		testenv.Missing(t, "no shell")
	}
	setUp(t)
	if err := os.WriteFile("m.wasm", []byte(bisected()), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ check, timeout, want string }{
		{"exit 0", "1h", "m.wasm: good at -O1: nothing to find\n2 checks\n"},
		{"exit 1", "1h", "m.wasm: bad without any rewrite at -O0 too: no rule is to blame\n1 checks\n"},
		{"sleep 9999", "300ms", "m.wasm: bad without any rewrite at -O0 too: no rule is to blame\n1 checks\n"},
	} {
		status, stdout, stderr := execute("bisect", "m.wasm", "--check", c.check, "--timeout="+c.timeout)
		if status != 1 || stdout != c.want {
			t.Errorf("%s: status %d, %q %q", c.check, status, stdout, stderr)
		}
	}
	// A check that no wrong rule is needed for: bad is the object of all rewrites.
	if status, _, stderr := execute("build", "m.wasm", "-o", "m.o"); status != 0 {
		t.Fatal(stderr)
	}
	if status, _, _ := execute("bisect", "m.wasm", "--rewrites=9999:0", "--check=exit 0"); status != 2 {
		t.Error("a function that there is not")
	}
	status, stdout, stderr := execute("bisect", "m.wasm", "--json", "--check", "! cmp -s {} m.o")
	var f finding
	if err := json.Unmarshal([]byte(stdout), &f); err != nil || status != 0 || f.Rule == "" || f.Rewrite == 0 {
		t.Fatalf("status %d: %s%s, %v", status, stdout, stderr, err)
	}
	last := fmt.Sprintf("--rewrites=%d:%d", f.Func, f.Rewrite)
	if want := "waot bisect m.wasm " + last + " '--check=! cmp -s {} m.o'"; f.Again != want {
		t.Errorf("again: %s, want %s", f.Again, want)
	}
	status, stdout, _ = execute("bisect", "m.wasm", last, "--check=! cmp -s {} m.o", "-o", "bad.o")
	if a, _ := os.ReadFile("bad.o"); status != 1 || !strings.Contains(stdout, ": bad with ") {
		t.Errorf("status %d: %s, %d bytes", status, stdout, len(a))
	} else if b, _ := os.ReadFile("m.o"); string(a) != string(b) {
		t.Error("what -o wrote is not what was checked")
	}
	before := fmt.Sprintf("--rewrites=%d:%d", f.Func, f.Rewrite-1)
	if status, stdout, _ := execute("bisect", "m.wasm", before, "--check=! cmp -s {} m.o"); status != 0 || !strings.Contains(stdout, ": good with ") {
		t.Errorf("status %d: %s", status, stdout)
	}
	// Without the rules of the pass that does nearly all, the object is never that one.
	if status, stdout, _ := execute("bisect", "m.wasm", "--rules-off=fold", "--check=! cmp -s {} m.o"); status != 1 || !strings.Contains(stdout, "nothing to find") {
		t.Errorf("status %d: %s", status, stdout)
	}
	if status, _, stderr := execute("bisect", "m.wasm", "--rules-off=folding"); status != 2 || !strings.Contains(stderr, "no such rule or pass") {
		t.Errorf("status %d: %s", status, stderr)
	}
}

// TestBisectRun runs a waot as bisect does without --check: a module is what it is at -O0.
func TestBisectRun(t *testing.T) {
	self := builtHere(t)
	setUp(t)
	out, err := exec.Command(self, "bisect", "import.wasm").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "the check could not be made: waot run says") {
		t.Errorf("a module that cannot be run: %s, %v", out, err)
	}
	for _, args := range [][]string{
		{"lib.wasm", "--invoke=div", "--", "7", "0"}, {"exit.wasm"}, {"trap.wasm"},
	} {
		out, err := exec.Command(self, append([]string{"bisect"}, args...)...).CombinedOutput()
		if want := args[0] + ": good at -O1: nothing to find\n2 checks\n"; string(out) != want {
			t.Errorf("%s: %s, %v", args, out, err)
		}
	}
}
