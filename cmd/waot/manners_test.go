package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/waot-project/waot/internal/proof/testenv"
)

// reachable exits with 100 + the number of its variables, or with the error of making a folder "made" in the first directory.
const reachable = `(module
  (import "wasi_snapshot_preview1" "environ_sizes_get" (func $sizes (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_create_directory" (func $make (param i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (data (i32.const 100) "made")
  (func (export "variables") (drop (call $sizes (i32.const 0) (i32.const 4))) (call $exit (i32.add (i32.const 100) (i32.load (i32.const 0)))))
  (func (export "make") (call $exit (call $make (i32.const 3) (i32.const 100) (i32.const 4)))))`

// TestReach: what a program reaches is what --env, --env-inherit and --dir say.
func TestReach(t *testing.T) {
	setUp(t)
	if err := os.WriteFile("reachable.wat", []byte(reachable), 0o666); err != nil {
		t.Fatal(err)
	}
	runs := func(want int, args ...string) {
		t.Helper()
		status, _, stderr := execute(append([]string{"run", "reachable.wat"}, args...)...)
		if status != want {
			t.Errorf("%v: status %d, want %d, %s", args, status, want, stderr)
		}
	}
	t.Setenv("WAOT_TEST_A", "a")
	t.Setenv("WAOT_TEST_B", "b")
	all := len(os.Environ())
	runs(100, "--invoke=variables")
	runs(102, "--invoke=variables", "--env=WAOT_TEST_A", "--env", "C=D=E")
	runs(101, "--invoke=variables", "--env=A=1", "--env=A=2")
	runs(100+all, "--invoke=variables", "--env-inherit")
	runs(100+all, "--invoke=variables", "--env-inherit", "--env=WAOT_TEST_A=other", "--env", "WAOT_TEST_B")
	runs(100+all+1, "--invoke=variables", "--env-inherit", "--env=WAOT_TEST_C=c")

	const notPermitted, exists = 69, 20 // of WASI: rofs, exist
	if err := os.Mkdir("given", 0o777); err != nil {
		t.Fatal(err)
	}
	runs(notPermitted, "--invoke=make", "--dir=given::/:ro")
	if _, err := os.Stat("given/made"); err == nil {
		t.Error("a folder was made in a read-only directory")
	}
	runs(0, "--invoke=make", "--dir=given::/")
	runs(exists, "--invoke=make", "--dir=given")
	if err := os.Mkdir("a:b", 0o777); err != nil {
		t.Fatal(err)
	}
	runs(0, "--invoke=make", "--dir=a:b") // there is one of that name
}

// TestBuildersEnv: an executable that is given the variables of whoever starts it has none of those of whoever built it.
func TestBuildersEnv(t *testing.T) {
	setUp(t)
	t.Setenv("WAOT_TEST_SECRET", "of the builder")
	for _, flag := range []string{"--inherit-env", "--env-inherit"} {
		if status, _, stderr := execute("build", "exit.wasm", "-o", "app", flag, "--env=WAOT_TEST_A=named"); status != 0 {
			t.Fatal(stderr)
		}
		b, err := os.ReadFile("app")
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(b, []byte("WAOT_TEST_A=named")) || bytes.Contains(b, []byte("WAOT_TEST_SECRET")) {
			t.Errorf("%s: the executable must have the variable that is named, and no other", flag)
		}
	}
}

// TestVersionFlag: the flag says what the command says.
func TestVersionFlag(t *testing.T) {
	_, want, _ := execute("version")
	if status, got, stderr := execute("--version"); status != 0 || got != want || !strings.HasPrefix(got, "waot ") {
		t.Errorf("status %d, %q, %q, want %q", status, got, stderr, want)
	}
}

// TestGuestHelp: behind --, --help is the program's.
func TestGuestHelp(t *testing.T) {
	setUp(t)
	if status, stdout, _ := execute("run", "exit.wasm", "--", "--help"); status != 7 || stdout != "" {
		t.Errorf("status %d, %q", status, stdout)
	}
	if status, stdout, _ := execute("run", "exit.wasm", "--help"); status != 0 || !strings.Contains(stdout, "USAGE") {
		t.Errorf("status %d, %q", status, stdout)
	}
}

// TestBashCompletion runs the script in bash.
func TestBashCompletion(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		testenv.Missing(t, "no bash: "+err.Error())
	}
	waot := builtHere(t)
	setUp(t)
	if err := os.WriteFile("sp ace.wasm", nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ words, want string }{
		{"waot ver", "version"},
		{"waot build lib.wa", "lib.wasm"},
		{"waot build lib.wasm --tar", "--target"},
		{"waot build --target aar", "aarch64-linux"},
		{"waot build --target = x", "x86-64-linux"},
		{"waot run lib.wasm --cpu armv8.2", "armv8.2-a+dotprod"},
		{"waot cache c", "clear"},
		{"waot run lib.wasm -- tru", "truncated"},
		{"waot run sp", "sp ace.wasm"},
	} {
		words := strings.Fields(c.words)
		script := fmt.Sprintf(`source <("$0" completion bash); COMP_WORDS=("$0" %s); COMP_CWORD=%d; _waot; echo "${COMPREPLY[*]}"`,
			strings.Join(words[1:], " "), len(words)-1)
		out, err := exec.CommandContext(t.Context(), bash, "-c", script, waot).CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", c.words, got, err, c.want)
		}
	}
}

// TestZshCompletion runs the script in zsh, with functions in place of those that only its editor has.
func TestZshCompletion(t *testing.T) {
	zsh, err := exec.LookPath("zsh")
	if err != nil {
		testenv.Missing(t, "no zsh: "+err.Error())
	}
	waot := builtHere(t)
	setUp(t)
	for words, want := range map[string]string{
		"ver":                                  "build|c-runtime|run|validate|inspect|print|spectest|diff|bisect|cache|version|completion",
		"build lib.wasm --spectre=o":           "--spectre=on|--spectre=off",
		"build --target ":                      "x86-64-linux|aarch64-linux",
		"build --target=aarch64-linux --cpu=a": "--cpu=armv8.0-a|--cpu=armv8.2-a+dotprod",
		"build --target x86-64-linux --cpu ":   "x86-64-v2|x86-64-v3|x86-64-v4",
		"cache ":                               "ls|clear",
		"run l":                                "files for l",
		"build lib.wasm --header=folder":       "files for folder",
	} {
		const script = `compdef() {}; compadd() { shift; print -rl -- "$@"; }; _files() { print -r "files for $PREFIX"; }
compset() { PREFIX="${PREFIX#*=}"; }
source <("$0" completion zsh); words=("$0" "$@"); CURRENT=${#words}; PREFIX="${words[-1]}"; _waot`
		out, err := exec.CommandContext(t.Context(), zsh, append([]string{"-f", "-c", script, waot}, strings.Split(words, " ")...)...).CombinedOutput()
		if got := strings.ReplaceAll(strings.TrimSpace(string(out)), "\n", "|"); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", words, got, err, want)
		}
	}
}

// TestFishCompletion runs the script in fish.
func TestFishCompletion(t *testing.T) {
	fish, err := exec.LookPath("fish")
	if err != nil {
		testenv.Missing(t, "no fish: "+err.Error())
	}
	waot := builtHere(t)
	setUp(t)
	for words, want := range map[string]string{
		"ver":                           "version",
		"build lib.wasm --spectre=o":    "--spectre=off|--spectre=on",
		"build --target ":               "aarch64-linux|x86-64-linux",
		"cache ":                        "clear|ls",
		"run lib.w":                     "lib.wasm",
		"build lib.wasm --header=lib.w": "--header=lib.wasm",
	} {
		const script = `$argv[1] completion fish | source; complete -C "$argv[1] $argv[2]"`
		out, err := exec.CommandContext(t.Context(), fish, "--no-config", "-c", script, waot, words).CombinedOutput()
		if got := strings.ReplaceAll(strings.TrimSpace(string(out)), "\n", "|"); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", words, got, err, want)
		}
	}
}

// TestSuggestion: words that are near are suggested, others not.
func TestSuggestion(t *testing.T) {
	commands := []string{"build", "run", "validate", "inspect", "print"}
	for word, want := range map[string]string{
		"biuld": "build", "buidl": "build", "valdate": "validate", "rnu": "run", "inspekt": "inspect", "prnit": "print",
		"frobnicate": "", "x": "", "": "", strings.Repeat("build", 20): "",
	} {
		got := suggestion(word, "", commands)
		if want != "" {
			want = " (did you mean " + want + "?)"
		}
		if got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}
