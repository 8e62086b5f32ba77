package waot_test

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot"
)

// shellLines are the commands in the blocks of a page that have no language, without their comments.
func shellLines(t *testing.T, page string) (lines []string) {
	t.Helper()
	inside, shell := false, false
	for _, line := range strings.Split(readFile(t, page), "\n") {
		if lang, fence := strings.CutPrefix(line, "```"); fence {
			inside = !inside
			shell = inside && lang == ""
		} else if command, _, _ := strings.Cut(line, "#"); shell && strings.TrimSpace(command) != "" {
			lines = append(lines, strings.TrimSpace(command))
		}
	}
	return lines
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// foreign is a new module of somebody else, for which this tree stands for the published module.
type foreign struct {
	t   *testing.T
	dir string
}

// run runs a command in the module.
func (f *foreign) run(line string) (out string, err error) {
	words := strings.Fields(line)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir = f.dir
	// Nothing is downloaded: what waot needs is there, since these tests run. No proxy is asked for what is not published, either: its answer may be no.
	cmd.Env = append(os.Environ(), "WAOT_CACHE=off", "GOPROXY=http://127.0.0.1:1", "GOSUMDB=off", "GOFLAGS=", "GOWORK=off")
	b, err := cmd.CombinedOutput()
	return string(b), err
}

func (f *foreign) must(line string) {
	f.t.Helper()
	if out, err := f.run(line); err != nil {
		f.t.Fatalf("%s: %v\n%s", line, err, out)
	}
}

func (f *foreign) write(name string, b []byte) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), b, 0o666); err != nil {
		f.t.Fatal(err)
	}
}

// TestGenerate pastes the first program of docs/embedding-go.md with a line for go generate into a foreign module, and runs the commands
// of the page, of which the last runs the program.
func TestGenerate(t *testing.T) {
	canRunDocs(t)
	tree, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	const page = "docs/embedding-go.md"
	blocks := readBlocks(t, page)
	n := slices.IndexFunc(blocks, func(b block) bool { return b.program && strings.Contains(b.code, "\n//go:generate ") })
	if n < 0 {
		t.Fatal("no program with a line for go generate")
	}
	f := &foreign{t, t.TempDir()}
	f.write("main.go", []byte(blocks[n].code))
	f.write("add.wasm", modules()["add"])
	lines := slices.DeleteFunc(shellLines(t, page), func(line string) bool { return !strings.HasPrefix(line, "go ") })
	want := []string{"go mod init example.com/app", "", "go mod tidy", "go generate", "go run ."}
	if len(lines) != len(want) {
		t.Fatalf("the page has the commands %q", lines)
	}
	for i, line := range lines {
		if want[i] != "" && line != want[i] {
			t.Errorf("command %q, want %q", line, want[i])
		}
		out, err := f.run(strings.Replace(line, "=../waot", "="+tree, 1))
		if err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		if i == len(lines)-1 && out != blocks[n].output {
			t.Errorf("%s: %q, want %q", line, out, blocks[n].output)
		}
	}
}

// TestReadmeCommands runs the commands of README.md, and the go:generate line of docs/embedding-go.md, in a foreign module that has
// waot as a tool.
func TestReadmeCommands(t *testing.T) {
	canRunDocs(t)
	tree, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	f := &foreign{t, t.TempDir()}
	for file, module := range map[string]string{"app": "cat", "lib": "add", "add": "add", "module": "hello"} {
		f.write(file+".wasm", modules()[module])
	}
	f.write("file.txt", []byte("some text"))
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	f.write("key.pem", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
	f.must("go mod init example.com/foreign")

	lines, kinds := shellLines(t, "README.md"), map[string]int{}
	for _, line := range lines {
		kind, _, _ := strings.Cut(line, " ")
		kinds[kind]++
		switch {
		case kind == "make": // in a clone: CI runs them
		case strings.HasPrefix(line, "go install "):
			goInstall(t, line)
		case kind == "go":
			f.must(strings.Replace(line, "=../waot", "="+tree, 1))
		case strings.Contains(line, " spectest "), strings.Contains(line, " --target="): // need the official suite, an emulator
		case strings.HasPrefix(line, "waot bisect "):
			// A module that behaves well is not what it is for.
			if out, err := f.run("go tool " + line); err == nil || !strings.Contains(out, "nothing to find") {
				t.Errorf("%s: %v\n%s", line, err, out)
			}
		case kind == "waot":
			f.must("go tool " + line)
		default:
			t.Errorf("README.md has a command of a new kind: %s", line)
		}
	}
	if kinds["go"] < 3 || kinds["waot"] < 8 {
		t.Errorf("README.md has %v commands", kinds)
	}
	_, generate, _ := strings.Cut(readFile(t, "docs/embedding-go.md"), "//go:generate ")
	generate, _, _ = strings.Cut(generate, "\n")
	f.must(generate)
	if _, err := waot.Load([]byte(readFile(t, filepath.Join(f.dir, "add.o"))), nil); err != nil {
		t.Errorf("%s: %v", generate, err)
	}
}

// goInstall checks what go install demands: the path is that of a command here, and, as somebody who has no clone will give the path
// and a version, go.mod changes no other module.
func goInstall(t *testing.T, line string) {
	t.Helper()
	out, err := exec.Command("go", "list", "-f", "{{.Name}} {{.Module.Path}}", strings.TrimPrefix(line, "go install ")).CombinedOutput()
	if want := "main github.com/waot-project/waot\n"; err != nil || string(out) != want {
		t.Errorf("%s: %v, %s, want %s", line, err, out, want)
	}
	if words := strings.Fields(readFile(t, "go.mod")); slices.Contains(words, "replace") || slices.Contains(words, "exclude") {
		t.Error("go install refuses modules whose go.mod replaces or excludes others")
	}
}
