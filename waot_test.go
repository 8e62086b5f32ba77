package waot_test

import (
	_ "embed"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot"
)

// addWasm is described in testdata/wasm/README.md.
//
//go:embed testdata/wasm/add.wasm
var addWasm []byte

// parseDir parses the files of a package, tests aside, and gives its exported names.
func parseDir(t *testing.T, dir string) (names []string, text string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		text += f.Doc.Text()
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					names = append(names, d.Name.Name)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						names = append(names, s.Name.Name)
					case *ast.ValueSpec:
						for _, n := range s.Names {
							names = append(names, n.Name)
						}
					}
				}
			}
		}
	}
	names = slices.DeleteFunc(names, func(n string) bool { return !ast.IsExported(n) })
	slices.Sort(names)
	return names, text
}

// TestAliases checks that everything of package host is here too.
func TestAliases(t *testing.T) {
	here, _ := parseDir(t, ".")
	there, _ := parseDir(t, "host")
	missing := slices.DeleteFunc(slices.Clone(there), func(n string) bool { return slices.Contains(here, n) })
	if len(missing) > 0 {
		t.Errorf("package host has, and this package lacks: %v", missing)
	}
}

// TestDocProgram runs the program of the package comment.
func TestDocProgram(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("SKIPPED: the program in the package comment is not run in short mode, or where nothing runs")
	}
	_, text := parseDir(t, ".")
	program := ""
	for _, line := range strings.Split(text, "\n") {
		if code, ok := strings.CutPrefix(line, "\t"); ok || line == "" {
			program += code + "\n"
		} else if strings.Contains(program, "package main") {
			break
		}
	}
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(program), 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "run", file).CombinedOutput()
	if d := cmp.Diff("[42] <nil>\n", string(out)); err != nil || d != "" {
		t.Errorf("%v %s\n%s", err, d, program)
	}
}

// TestLoadOnly checks that programs which only load objects contain neither compiler nor WASI.
func TestLoadOnly(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "./host").Output()
	if err != nil {
		t.Skipf("SKIPPED: dependencies of package host, because go list does not run: %v", err)
	}
	const module = "github.com/waot-project/waot"
	allowed := []string{"/host", "/host/hosterr", "/host/inproc", "/host/load", "/host/loaded", "/host/sign", "/internal/abi", "/internal/gcheap", "/internal/image", "/internal/input", "/internal/link", "/internal/meta", "/internal/quote", "/internal/reloc", "/internal/stop", "/objfile"}
	for _, p := range strings.Fields(string(out)) {
		if rest, ours := strings.CutPrefix(p, module); ours && !slices.Contains(allowed, rest) {
			t.Errorf("package host depends on %s", p)
		} else if host, _, _ := strings.Cut(p, "/"); !ours && strings.Contains(host, ".") {
			t.Errorf("package host depends on the other module's %s", p)
		} else if p == "net" {
			t.Error("package host depends on package net, which costs half a megabyte and work at start")
		}
	}
}

func TestCompileErrors(t *testing.T) {
	var invalid *waot.ModuleError
	if _, err := waot.Compile([]byte("\x00asm\x02\x00\x00\x00"), nil); !errors.As(err, &invalid) {
		t.Errorf("wrong version: %v", err)
	}
	if _, err := waot.CompileObject(nil, nil); !errors.As(err, &invalid) {
		t.Errorf("nothing: %v", err)
	}
	if _, err := waot.CompileObject(modules()["add"], &waot.CompileOptions{CPU: "z80"}); err == nil {
		t.Error("no error for an unknown processor")
	}
}

// TestCompileOptions checks that the options reach the compiler.
func TestCompileOptions(t *testing.T) {
	done := 0
	o := &waot.CompileOptions{Name: "sum", Workers: 1, Progress: func(n, total int) { done = n }}
	object, err := waot.CompileObject(modules()["add"], o)
	if err != nil {
		t.Fatal(err)
	}
	if done == 0 {
		t.Error("no progress")
	}
	o.NoOptimize = true
	if _, err := waot.CompileObject(modules()["add"], o); err != nil {
		t.Error(err)
	}
	mod, err := waot.Load(object, nil)
	if errors.Is(err, waot.ErrUnsupported) {
		t.Skip("SKIPPED: ", err)
	}
	if err != nil || mod.Name() != "sum" {
		t.Errorf("%v, name %q", err, mod.Name())
	}
}

// Objects are made for either machine, and loaded on the one they are for.
func TestTargets(t *testing.T) {
	for _, target := range []string{"x86-64-linux", "aarch64-linux"} {
		object, err := waot.CompileObject(addWasm, &waot.CompileOptions{Target: target})
		if err != nil {
			t.Fatal(err)
		}
		own := target == map[string]string{"amd64": "x86-64-linux", "arm64": "aarch64-linux"}[runtime.GOARCH]
		if _, err := waot.Load(object, nil); runtime.GOOS == "linux" && (err == nil) != own {
			t.Errorf("%s: %v", target, err)
		}
	}
	if _, err := waot.CompileObject(addWasm, &waot.CompileOptions{Target: "z80"}); err == nil {
		t.Error("unknown target accepted")
	}
}

// TestRegalloc: each register allocator by name; another name is an error.
func TestRegalloc(t *testing.T) {
	for _, name := range []string{"", "linear", "ssa", "local"} {
		if _, err := waot.CompileObject(addWasm, &waot.CompileOptions{Regalloc: name}); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := waot.CompileObject(addWasm, &waot.CompileOptions{Regalloc: "none"}); err == nil {
		t.Error("unknown register allocator accepted")
	}
}
