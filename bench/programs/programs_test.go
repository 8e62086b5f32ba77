package programs_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/waot-project/waot"
	"github.com/waot-project/waot/bench/programs"
	"github.com/waot-project/waot/bench/protocol"
	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/wasirun"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// TestNames: each folder with a program has a name, and the other way round.
func TestNames(t *testing.T) {
	files, err := filepath.Glob("*/main.go")
	if err != nil {
		t.Fatal(err)
	}
	var folders []string
	for _, f := range files {
		folders = append(folders, filepath.Dir(f))
	}
	if !slices.Equal(folders, programs.Names()) {
		t.Errorf("folders %q, names %q", folders, programs.Names())
	}
	if err := programs.Native("../kernels", filepath.Join(t.TempDir(), "x")); err == nil {
		t.Error("a folder elsewhere is built")
	}
}

// TestChecksums runs programs natively and as modules. Both must print the same line; the marks must come once each, in order,
// and natively the time between them must be reported.
func TestChecksums(t *testing.T) {
	names := programs.Names()
	for _, name := range testenv.Cases(names[:1], []string{"floats", "json"}, names) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			want := native(t, name, dir)
			if !regexp.MustCompile(`^` + name + ` [0-9a-f]{16}\n$`).MatchString(want) {
				t.Errorf("natively it prints %q", want)
			}
			if got := compiled(t, name, dir); got != want {
				t.Errorf("the module prints %q, natively it is %q", got, want)
			}
		})
	}
}

func native(t *testing.T, name, dir string) string {
	exe, report := filepath.Join(dir, name), filepath.Join(dir, "report")
	if err := programs.Native(name, exe); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(exe)
	c.Env = append(os.Environ(), protocol.Variable+"="+report)
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	line, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	var r protocol.Result
	if err := json.Unmarshal(line, &r); err != nil || r.ExecNS <= 0 || r.ExecCPUNS <= 0 || r.Err != "" {
		t.Errorf("it reports %s (%v)", line, err)
	}
	return string(out)
}

func compiled(t *testing.T, name, dir string) string {
	file := filepath.Join(dir, name+".wasm")
	if err := programs.Module(name, file); err != nil {
		t.Fatal(err)
	}
	wasm, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	m, err := waot.Compile(wasm, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var out bytes.Buffer
	var marks []string
	status, err := wasirun.Run(t.Context(), (*host.Module)(m), &wasirun.Options{Args: []string{name}, Stdout: &out, Stderr: os.Stderr}, host.Imports{"bench": {
		"start": func() { marks = append(marks, "start") },
		"end":   func() { marks = append(marks, "end") },
	}})
	if err != nil || status != 0 {
		t.Fatalf("exit status %d, %v", status, err)
	}
	if !slices.Equal(marks, []string{"start", "end"}) {
		t.Errorf("marks: %q", marks)
	}
	return out.String()
}
