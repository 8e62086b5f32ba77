package wazero_test

import (
	"archive/zip"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// docProgram returns the first program of docs/from-wazero.md, and what it prints.
func docProgram(t *testing.T) (code, output string) {
	doc, err := os.ReadFile("../../docs/from-wazero.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(doc), "```go\n")
	code, rest, _ = strings.Cut(rest, "```")
	_, rest, _ = strings.Cut(rest, "```text\n")
	output, _, ok := strings.Cut(rest, "```")
	if !ok || !strings.HasPrefix(code, "package main\n") {
		t.Fatal("docs/from-wazero.md has no program with output")
	}
	return code, output
}

// folder returns a folder with a program that requires wazero, and lines for its go.mod.
func folder(t *testing.T, code string, lines ...string) string {
	dir := t.TempDir()
	mod := "module example.com/program\n\ngo 1.25.0\n\nrequire github.com/tetratelabs/wazero " + upstream + "\n" + strings.Join(lines, "\n") + "\n"
	for name, text := range map[string]string{"main.go": code, "go.mod": mod} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func goCommand(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	c := exec.Command("go", args...)
	c.Dir = dir
	c.Env = append(append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "GOSUMDB=off", "CGO_ENABLED=0"), env...)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func abs(t *testing.T, path string) string {
	a, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestReplaceByPath runs the program of the documentation with wazero and with this module: the lines of go.mod are all that differs.
func TestReplaceByPath(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	upstreamDir(t)
	code, want := docProgram(t)
	for name, lines := range map[string][]string{"wazero": nil,
		"waot": {"replace github.com/tetratelabs/wazero => " + abs(t, "."), "replace github.com/waot-project/waot => " + abs(t, "../..")}} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, code, lines...)
			goCommand(t, dir, nil, "build", "-o", "program", ".")
			out, err := exec.Command(filepath.Join(dir, "program")).CombinedOutput()
			if err != nil || string(out) != want {
				t.Errorf("%v\n%s", err, out)
			}
			if size, err := os.ReadFile(filepath.Join(dir, "program")); err != nil || strings.Contains(string(size), "waot/host/inproc") != (name == "waot") {
				t.Errorf("the program does not have the right module: %v", err)
			}
		})
	}
}

// TestReplaceByVersion: the line of go.mod that names a version finds all packages, as a module proxy serves them. The module's go.mod says the path of
// the module that it replaces, which is the path that its packages import each other by.
func TestReplaceByVersion(t *testing.T) {
	cache := strings.TrimSpace(goCommand(t, ".", nil, "env", "GOMODCACHE"))
	proxy := t.TempDir()
	serve(t, proxy, "github.com/waot-project/waot", "v0.0.0", "../..")
	serve(t, proxy, "github.com/waot-project/waot/compat/wazero", "v0.1.0", ".")
	code, _ := docProgram(t)
	dir := folder(t, code, "replace github.com/tetratelabs/wazero => github.com/waot-project/waot/compat/wazero v0.1.0")
	out := goCommand(t, dir, []string{"GOMODCACHE=" + t.TempDir(), "GOPROXY=file://" + proxy + ",file://" + cache + "/cache/download", "GOFLAGS=-mod=mod -modcacherw"},
		"list", "-deps", "-f", "{{.ImportPath}} {{with .Module}}{{.Version}} {{with .Replace}}{{.Path}} {{.Version}}{{end}}{{end}}", ".")
	for _, want := range []string{"github.com/tetratelabs/wazero v1.12.0 github.com/waot-project/waot/compat/wazero v0.1.0\n", "github.com/waot-project/waot/host v0.0.0"} {
		if !strings.Contains(out, want) {
			t.Errorf("no line %q in:\n%s", want, out)
		}
	}
}

// serve makes files of a module proxy for a module: those that a build needs.
func serve(t *testing.T, proxy, path, version, dir string) {
	at := filepath.Join(proxy, path, "@v")
	if err := os.MkdirAll(at, 0o777); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{".mod": string(mod), ".info": fmt.Sprintf(`{"Version":%q,"Time":"2020-01-01T00:00:00Z"}`, version)} {
		if err := os.WriteFile(filepath.Join(at, version+name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Create(filepath.Join(at, version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := zip.NewWriter(f)
	if err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, name)
		switch ext := filepath.Ext(name); {
		case err != nil:
			return err
		case d.IsDir() && rel != ".":
			if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil || d.Name()[0] == '.' || d.Name() == "testdata" {
				return fs.SkipDir // another module, or nothing that is built
			}
			return nil
		case d.IsDir(), d.Type()&fs.ModeSymlink != 0, strings.HasSuffix(name, "_test.go"), ext != ".go" && ext != ".s" && ext != ".h" && rel != "go.mod":
			return nil
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		w, err := z.Create(path + "@" + version + "/" + filepath.ToSlash(rel))
		if err == nil {
			_, err = w.Write(b)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
}
