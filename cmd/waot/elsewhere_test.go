package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/emulate"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/spectest/script"
)

// otherTarget is the target that this machine is not.
func otherTarget() string {
	for _, target := range compile.Targets() {
		if target != compile.HostTarget() {
			return target
		}
	}
	return ""
}

// otherRunner is the flags for the other target, with a runner built from source. Without an emulator the test is
// skipped, or fails where that must not be.
func otherRunner(t *testing.T) []string {
	t.Helper()
	if testing.Short() {
		t.Skip("runs in an emulator")
	}
	target := otherTarget()
	m, err := emulate.For(compile.GOARCH(target), "")
	if err != nil {
		os.Stderr.WriteString("WARNING: code for " + target + " is not executed: " + err.Error() + "\n")
		testenv.Missing(t, err.Error())
	}
	return []string{"--target=" + target, "--runner", built(t, m)}
}

// TestSuiteElsewhere: the official scripts give the same for the other target as for this one, script by script and
// message by message.
func TestSuiteElsewhere(t *testing.T) {
	flags := otherRunner(t)
	var paths, official []string
	scripts, passed := 200, 40_000 // at least
	if dir := testenv.OptionalMaterial(t, script.EnvDir); dir != "" && testenv.Full() {
		official = []string{dir}
	}
	if s, err := script.OpenWazero(); err == nil {
		pattern, step := "testdata", 1
		if !testenv.Full() { // some scripts of each folder
			pattern, step, scripts, passed = "testdata/*.json", 39, 5, 300
		}
		found, _ := filepath.Glob(filepath.Join(s.Dir, "*", pattern))
		for i := 0; i < len(found); i += step {
			paths = append(paths, found[i])
		}
	}
	if len(paths)+len(official) == 0 { // the suite in wazero's module is always there
		testenv.Missing(t, "no test suite found; set "+script.EnvDir)
	}
	type result struct {
		Scripts []specResult
		Total   specResult
	}
	suite := func(t *testing.T, paths []string, args ...string) (r result) {
		_, stdout, stderr := execute(slices.Concat([]string{"spectest", "--json"}, args, paths)...)
		if err := json.Unmarshal([]byte(stdout), &r); err != nil || stderr != "" || r.Total.Passed == 0 {
			t.Fatalf("%v: %v %.300s %s", args, err, stdout, stderr)
		}
		return r
	}
	const noLowering = "--rules-off=lower"
	for _, how := range testenv.Cases(nil, []string{"-O1"}, []string{"-O0", "-O1", noLowering}) {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			paths, scripts := paths, scripts
			switch { // both copies of the suite at one level, the newer one at the others
			case len(official) > 0 && how == "-O1":
				paths, scripts = slices.Concat(official, paths), 500
			case len(official) > 0:
				paths, scripts = official, 250
			}
			here, there := suite(t, paths, how), suite(t, paths, append([]string{how}, flags...)...)
			if d := cmp.Diff(here, there); d != "" {
				t.Errorf("-here +there\n%s", d)
			}
			t.Logf("%d scripts: %d passed, %d failed", len(there.Scripts), there.Total.Passed, there.Total.Failed)
			if n := len(there.Scripts); n < scripts || there.Total.Passed < passed {
				t.Errorf("only %d scripts with %d commands passed", n, there.Total.Passed)
			}
		})
	}
}

// TestElsewhere: run and diff do the same for the other target as for this one.
func TestElsewhere(t *testing.T) {
	flags := otherRunner(t)
	setUp(t)
	// One name imported with two types, which no object can have symbols for.
	twice := module(section(1, "\x60\x00\x00", "\x60\x01\x7f\x00"),
		section(2, name("m")+name("f")+"\x00\x00", name("m")+name("f")+"\x00\x01"))
	if err := os.WriteFile("twice.wasm", []byte(twice), 0o666); err != nil {
		t.Fatal(err)
	}
	lines := [][]string{
		{"run", "lib.wasm", "--invoke", "add", "--", "1", "-2"},
		{"run", "lib.wasm", "--invoke", "div", "--json", "--", "7", "0"},
		{"run", "exit.wasm"},
		{"run", "trap.wat"}, // whose backtrace has lines
		{"diff", "lib.wasm", "--json", "--invoke", "div", "--", "7", "0"},
		{"diff", "twice.wasm", "--json"},
	}
	if testenv.Full() {
		lines = append(lines, [][]string{
			{"run", "lib.wasm", "--invoke", "nothing"},
			{"run", "twice.wasm", "--invoke", "f"},
			{"run", "invalid.wasm"},
			{"run", "nowhere.wasm"},
			{"run", "lib.wasm", "--invoke", "both", "-O0"},
			{"run", "lib.wasm", "--invoke", "add", "--", "1"},
			{"run", "trap.wasm"},
			{"run", "trap.wat", "--json"},
			{"run", "import.wasm"},
			{"diff", "lib.wasm"},
			{"diff", "exit.wasm"},
		}...)
	}
	for _, args := range lines {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			status, stdout, stderr := execute(args...)
			args := append([]string{args[0]}, append(flags, args[1:]...)...)
			s, out, errs := execute(args...)
			if s != status || out != stdout || errs != stderr {
				t.Errorf("here:  %d %q %q\nthere: %d %q %q", status, stdout, stderr, s, out, errs)
			}
		})
	}
	t.Run("timeout", func(t *testing.T) {
		// The time may be over before the function is entered, in an emulator on a busy machine: there may be no frame, or the module may not be loaded.
		status, _, stderr := execute(append([]string{"run", "loop.wasm", "--invoke", "forever", "--timeout", "2s"}, flags...)...)
		line := strings.Replace(stderr, "loading cancelled", "cancelled", 1)
		if status != statusBad || !strings.HasPrefix(line, "waot: loop.wasm: cancelled: timed out after 2s\n") {
			t.Errorf("%d %q", status, stderr)
		}
	})
	t.Run("object", func(t *testing.T) {
		if status, _, stderr := execute("build", "lib.wasm", flags[0], "-o", "lib.o"); status != 0 {
			t.Fatal(stderr)
		}
		status, stdout, stderr := execute(append([]string{"run", "lib.o", "--invoke", "add", "--", "1", "2"}, flags...)...)
		if status != 1 {
			t.Errorf("flags behind -- are the program's: %d %q", status, stdout)
		}
		status, stdout, stderr = execute(append(append([]string{"run", "lib.o", "--invoke", "add"}, flags...), "--", "1", "2")...)
		if status != 0 || stdout != "i32:3\n" {
			t.Errorf("%d %q %q", status, stdout, stderr)
		}
	})
}

// TestNoRunner: what is missing to execute code of another target is said in one line, with status 1, and no file stays.
func TestNoRunner(t *testing.T) {
	setUp(t)
	tmp := filepath.Join(t.TempDir(), "tmp")
	if err := os.Mkdir(tmp, 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", tmp)
	env, err := exec.LookPath("env")
	if err != nil {
		testenv.Missing(t, err.Error())
	}
	target := "--target=" + otherTarget()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--emulator", "nowhere-to-be-found -x"}, "the emulator nowhere-to-be-found is not installed"},
		{[]string{"--emulator", env, "--runner", "nowhere"}, "nowhere: no such file or directory"},
		// Here is no source to build a waot from.
		{[]string{"--emulator", env}, "no waot to load the code there: name one with --runner"},
	} {
		for _, command := range [][]string{{"spectest", "pass.json"}, {"run", "lib.wasm", "--invoke", "add"}, {"diff", "lib.wasm"}, {"bisect", "lib.wasm"}} {
			status, stdout, stderr := execute(append(append(command[:len(command):len(command)], target), c.args...)...)
			if status != statusBad || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, c.want) {
				t.Errorf("%v %v: status %d\n%s%s", command, c.args, status, stdout, stderr)
			}
		}
	}
	// A program that is no waot.
	status, stdout, stderr := execute("spectest", "pass.json", target, "--emulator", env, "--runner", env)
	if status != statusBad || stdout != "" || !strings.Contains(stderr, "the process that runs the code") {
		t.Errorf("status %d\n%s%s", status, stdout, stderr)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) != 0 {
		t.Error(left, err)
	}
}

// TestSuiteFolder: a folder of zip files is a suite, whatever else is in it.
func TestSuiteFolder(t *testing.T) {
	setUp(t)
	if err := os.Mkdir("suite", 0o777); err != nil {
		t.Fatal(err)
	}
	zipped(t, filepath.Join("suite", "group.zip"), "pass.json", "module.0.wasm")
	if err := os.WriteFile(filepath.Join("suite", "index.json"), []byte("[]"), 0o666); err != nil {
		t.Fatal(err)
	}
	if status, stdout, stderr := execute("spectest", "suite"); status != 0 || !strings.Contains(stdout, "1 scripts") {
		t.Errorf("%d %s%s", status, stdout, stderr)
	}
}

// zipped writes a zip file of files.
func zipped(t *testing.T, archive string, files ...string) {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range files {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(archive, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}
