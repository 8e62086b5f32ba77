package wazero_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot"
)

// behaves are the lines in which the program of testdata/behaviour differs, by their beginnings, and why.
var behaves = map[string]string{
	"memory of closed: ":               "a closed instance's memory is empty",
	"global of closed: ":               "a closed instance's globals are 0",
	"provider first, 1 closed, go: ":   "a closed instance's functions do not run, so that the counter is lower from here on",
	"provider first, 2 closed, go: ":   "as above",
	"consumer first, 1 closed, ":       "as above",
	"consumer first, 2 closed, go: ":   "as above",
	"a start that fails: ":             "wazero adds the name of an export, of another function",
	"a start that has data outside":    "the text does not say which segment",
	"a start that has elements outs":   "wazero accepts it",
	"whose name it is then: ":          "wazero takes a name from the module that has it when another one could not get it",
	"exception between: other ":        "the stack is that of the last function that has looked at the exception",
	"sections kept: false ":            "wazero keeps custom sections also if that is not asked for",
	"fd_seek: [0 0 1 100] ":            "wazero says ENOSYS for streams, and not ESPIPE",
	"fd_seek: [2 0 1 100] ":            "as above",
	"open: 4 file 0 ":                  "wazero says ENOSYS or ENOENT where nothing can be changed, and not EROFS",
	"open: 4 new 1 ":                   "as above",
	"open: 6 zz 1 ":                    "as above",
	"open: 3 new 1 ":                   "as above",
	"path_create_directory: 6 ":        "as above",
	"path_remove_directory: 6 ":        "as above",
	"path_unlink_file: 6 ":             "as above",
	"poll_oneoff: [5000 5100 1 5200] ": "wazero does not wait until an absolute time",
	"written when asked for times: ":   "as above",
}

// TestBehaviour runs the program with wazero and with this module, and compares what it writes.
func TestBehaviour(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	upstreamDir(t)
	source := filepath.Join("testdata", "behaviour")
	modules := t.TempDir()
	files, err := filepath.Glob(filepath.Join(source, "*.wat"))
	if err != nil || len(files) == 0 {
		t.Fatal("no modules", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		wasm, err := waot.ParseText(text)
		if err == nil {
			err = os.WriteFile(filepath.Join(modules, strings.TrimSuffix(filepath.Base(file), ".wat")+".wasm"), wasm, 0o666)
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	var outputs [2][]string
	for i, lines := range [][]string{nil, {"replace github.com/tetratelabs/wazero => " + abs(t, "."), "replace github.com/waot-project/waot => " + abs(t, "../..")}} {
		dir := folder(t, "", lines...)
		for _, name := range []string{"main.go", "more.go", "linking.go", "throwing.go"} {
			code, err := os.ReadFile(filepath.Join(source, name))
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, name), code, 0o666)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		goCommand(t, dir, nil, "build", "-o", "program", ".")
		out, err := exec.Command(filepath.Join(dir, "program"), modules).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		outputs[i] = strings.Split(string(out), "\n")
	}
	if len(outputs[0]) != len(outputs[1]) {
		t.Errorf("%d lines and %d", len(outputs[0]), len(outputs[1]))
	}
	found := map[string]bool{}
	for i := range min(len(outputs[0]), len(outputs[1])) {
		wazero, ours := outputs[0][i], outputs[1][i]
		if wazero == ours {
			continue
		}
		known := false
		for begin := range behaves {
			if strings.HasPrefix(wazero, begin) && strings.HasPrefix(ours, begin) {
				known, found[begin] = true, true
			}
		}
		if !known {
			t.Errorf("line %d:\nwazero %s\nhere   %s", i+1, wazero, ours)
		}
	}
	for begin := range behaves {
		if !found[begin] {
			t.Errorf("no line %q differs; it is among: %q", begin, slices.DeleteFunc(outputs[1], func(s string) bool { return !strings.HasPrefix(s, begin) }))
		}
	}
}
