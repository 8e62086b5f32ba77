package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/wasmfront/wat"
)

// shell runs commands in a folder, where waot is in the path, and returns what they print.
func shell(t *testing.T, dir, waot, commands string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute) // for a busy machine
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-e", "-c", commands)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(waot)+":"+os.Getenv("PATH"))
	out, err := cmd.Output()
	return string(out), err
}

func needTools(t *testing.T, tools ...string) {
	t.Helper()
	for _, x := range tools {
		if _, err := exec.LookPath(x); err != nil {
			testenv.Missing(t, "no "+x)
		}
	}
}

// waotInPath is a waot called waot.
func waotInPath(t *testing.T) string {
	t.Helper()
	link := filepath.Join(t.TempDir(), "waot")
	if err := os.Symlink(builtHere(t), link); err != nil {
		t.Fatal(err)
	}
	return link
}

// commentOf are the beginnings of the comment that names the file of a block, by language.
var commentOf = map[string]string{"wat": ";; ", "c": "/* ", "cpp": "// "}

// TestEmbeddingC and TestExecutables do what pages say.
func TestEmbeddingC(t *testing.T) {
	needTools(t, "cc", "c++")
	follow(t, "embedding-c.md", 8, 5)
}

func TestExecutables(t *testing.T) { follow(t, "executables.md", 2, 3) }

// follow does what a page of docs says: files are written, commands run, and they print what the page shows. It must have so
// many files and commands at least.
func follow(t *testing.T, name string, leastFiles, leastCommands int) {
	page, err := os.ReadFile("../../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	waot, dir := waotInPath(t), t.TempDir()
	files, commands, shown := 0, 0, ""
	for i, part := range strings.Split("\n"+string(page), "\n```") {
		if i%2 == 0 {
			continue
		}
		lang, text, _ := strings.Cut(part, "\n")
		text += "\n"
		switch comment, isFile := commentOf[lang]; {
		case isFile:
			first, _, _ := strings.Cut(text, "\n")
			name, ok := strings.CutPrefix(strings.TrimSuffix(first, " */"), comment)
			if !ok {
				t.Fatalf("a block does not name its file: %s", first)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
			files++
		case lang == "":
			if shown, err = shell(t, dir, waot, text); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			commands++
		case lang == "text":
			if !strings.HasSuffix(shown, text) {
				t.Errorf("the page shows\n%sthe program prints\n%s", text, shown)
			}
		default:
			t.Errorf("language %q", lang)
		}
	}
	if files < leastFiles || commands < leastCommands {
		t.Errorf("%d files, %d commands", files, commands)
	}
}

// TestExamplesC builds examples/c and examples/rust with their makefiles: they compress, and report damage as a trap.
func TestExamplesC(t *testing.T) {
	needTools(t, "cc", "make")
	waot, dir := waotInPath(t), t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../examples")); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		name, folder, make, run string
		tools                   []string
		full                    bool
	}{
		{"c", "c", "make -s", "", nil, false},
		{"rust", "rust", "make -s", "", []string{"rustc"}, true},
		{"c on AArch64", "c", "make -s clean; make -s CC=aarch64-linux-gnu-gcc TARGET=--target=aarch64-linux LDFLAGS=-static", "qemu-aarch64 ",
			[]string{"aarch64-linux-gnu-gcc", "qemu-aarch64"}, true},
	} {
		t.Run(x.name, func(t *testing.T) {
			if x.full {
				testenv.OnlyFull(t, "another compiler or machine")
			}
			needTools(t, x.tools...)
			folder := filepath.Join(dir, x.folder)
			if _, err := shell(t, folder, waot, x.make); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, "c", "squash.c")
			out, err := shell(t, folder, waot, x.run+"./squash "+file)
			if err != nil || !strings.HasPrefix(out, file+": ") || !strings.HasSuffix(out, " compressed\n") {
				t.Errorf("%v: %s", err, out)
			}
			out, err = shell(t, folder, waot, x.run+"./squash "+file+" --damage 2>&1 || echo $?")
			if err != nil || !strings.Contains(out, " (expand): wasm trap: unreachable\n") || !strings.HasSuffix(out, "\n1\n") {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// TestHeader: build writes a header beside the object, or neither; c-runtime wants a folder.
func TestHeader(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(path("m.wat"), []byte(`(module (func (export "f")))`), 0o666); err != nil {
		t.Fatal(err)
	}
	var out, errs strings.Builder
	try := func(want int, message string, args ...string) {
		t.Helper()
		out.Reset()
		errs.Reset()
		if got := run(args, strings.NewReader(""), &out, &errs); got != want || !strings.Contains(errs.String(), message) {
			t.Errorf("%v: status %d, %s", args, got, errs.String())
		}
	}
	try(0, "", "build", path("m.wat"), "-o", path("m.o"), "--header", path("m.h"), "--prefix", "lib-x")
	if h, err := os.ReadFile(path("m.h")); err != nil || !strings.Contains(string(h), "\nvoid lib_x_f(void) __asm__(\"libZ2dx..f\");\n") {
		t.Errorf("%v: %s", err, h)
	}
	try(2, "--header", "build", path("m.wat"), "-o", path("n.o"), "--header", path("n.o"))
	try(1, "none", "build", path("m.wat"), "-o", path("n.o"), "--header", path("none/m.h"))
	if _, err := os.Stat(path("n.o")); err == nil {
		t.Error("an object without its header")
	}
	try(2, "a file of its own", "build", path("m.wat"), "-o", path("n.o"), "--header", path("m.wat"))
	if err := os.Link(path("m.wat"), path("same.o")); err != nil {
		t.Fatal(err)
	}
	try(2, "the module itself", "build", path("m.wat"), "-o", path("same.o"))
	if err := os.Symlink("/dev/full", path("full.o")); err != nil {
		t.Fatal(err)
	}
	try(1, "full.o", "build", path("m.wat"), "-o", path("full.o"), "--header", path("n.h"))
	if _, err := os.Stat(path("n.h")); err == nil {
		t.Error("a header without its object")
	}
	try(0, "", "c-runtime", "--dir", dir)
	try(2, "no folder", "c-runtime")
	try(2, "unexpected", "c-runtime", "--dir", dir, "x")
	try(1, "none", "c-runtime", "--dir", path("none"))
}

// TestExecutableName: what a module's file is called does not matter to its executable, even if the runtime's names begin so.
func TestExecutableName(t *testing.T) {
	dir := t.TempDir()
	var all []string
	for _, name := range []string{"waot", "wasi_snapshot_preview1", "other"} {
		file := filepath.Join(dir, name)
		text := `(module (import "wasi_snapshot_preview1" "fd_read" (func (param i32 i32 i32 i32) (result i32)))
  (func (export "try")) (func (export "fd_read")) (func (export "_start")))`
		if err := os.WriteFile(file+".wat", []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		var out, errs strings.Builder
		if status := run([]string{"build", file + ".wat", "-o", file, "--target=x86-64-linux"}, strings.NewReader(""), &out, &errs); status != 0 {
			t.Errorf("%s: status %d, %s", name, status, errs.String())
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(b))
	}
	if all[0] != all[1] || all[1] != all[2] {
		t.Error("the bytes depend on the name")
	}
}

// trapsMain calls each export in turn and prints the trap: its text, and a line for each frame.
const trapsMain = `#include "traps.h"
#include <stdio.h>

#define CALL(f) static void call_##f(void *p) { (void)p; traps_##f(); }
#include "calls.h"
#undef CALL
#define CALL(f) print(#f, call_##f);

static void print(const char *name, void (*f)(void *))
{
	waot_trap trap;
	waot_try(&trap, f, NULL);
	printf("%s: %s\n", name, trap.text);
	for (uint32_t i = 0; i < trap.num_frames; i++)
		printf("%u %.*s %u\n", trap.frames[i].function, (int)trap.frames[i].name_size, trap.frames[i].name, trap.frames[i].offset);
}

int main(void)
{
	if (traps_instantiate(NULL) != 0)
		return 1;
#include "calls.h"
	return 0;
}
`

// TestTrapsInC: traps in a C program have the texts, functions and places that waot run prints, whatever was inlined.
func TestTrapsInC(t *testing.T) {
	needTools(t, "cc")
	waot, dir := waotInPath(t), t.TempDir()
	text, err := os.ReadFile("testdata/c/traps.wat")
	if err != nil {
		t.Fatal(err)
	}
	m, err := wat.Assemble(text)
	if err != nil {
		t.Fatal(err)
	}
	calls, want := "", ""
	for _, x := range regexp.MustCompile(`export "(\w+)"`).FindAllStringSubmatch(string(text), -1) {
		calls += "CALL(" + x[1] + ")\n"
		want += trapOfRun(t, filepath.Join(dir, "traps.wasm"), m.Wasm, x[1])
	}
	for name, data := range map[string]string{"main.c": trapsMain, "calls.h": calls} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := shell(t, dir, waot, `waot build traps.wasm -o traps.o --header traps.h >build.txt
waot c-runtime --dir . >>build.txt
cc main.c waot_runtime.c traps.o -o traps
./traps`)
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); err != nil || diff != "" {
		t.Errorf("%v: traps in C (-run +C)\n%s", err, diff)
	}
	if strings.Count(want, "\n") < 150 || strings.Count(want, ": ") < 15 {
		t.Errorf("too few traps:\n%s", want)
	}
}

// trapOfRun is the trap of an export in the form that trapsMain prints.
func trapOfRun(t *testing.T, file string, module []byte, export string) string {
	t.Helper()
	if err := os.WriteFile(file, module, 0o666); err != nil {
		t.Fatal(err)
	}
	var out, errs strings.Builder
	run([]string{"run", file, "--invoke", export, "--json"}, strings.NewReader(""), &out, &errs)
	var p struct{ Error problem }
	if err := json.Unmarshal([]byte(out.String()), &p); err != nil || p.Error.Kind != "trap" {
		t.Fatalf("%s: %v: %s%s", export, err, out.String(), errs.String())
	}
	s := export + ": " + p.Error.Reason[strings.Index(p.Error.Reason, "wasm trap: ")+len("wasm trap: "):] + "\n"
	for _, f := range p.Error.Frames {
		s += fmt.Sprintln(f.Func, f.Name, f.Offset)
	}
	return s
}
