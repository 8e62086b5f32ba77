package waot_test

import (
	"fmt"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/internal/proof/testenv"
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

// run runs commands of the shell in the module, until one fails.
func (f *foreign) run(commands string) (out string, err error) {
	cmd := exec.Command("sh", "-e", "-c", commands)
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

// TestReadme does what README.md shows, in folders beside this tree: its Go program is main.go in each, scripts run in a folder of their own and print
// what is shown below them, and other commands of waot succeed.
func TestReadme(t *testing.T) {
	canRunDocs(t)
	tree, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	bin := filepath.Join(parent, "bin")
	if out, err := exec.Command("go", "build", "-o", bin+"/", "./cmd/waot").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	scripts, commands := 0, 0
	program, shown, ran := "", "", false
	for i, part := range strings.Split("\n"+readFile(t, "README.md"), "\n```") {
		if i%2 == 0 {
			continue
		}
		lang, text, _ := strings.Cut(part, "\n")
		text += "\n"
		f := &foreign{t, filepath.Join(parent, fmt.Sprint("block", i))}
		if err := os.Mkdir(f.dir, 0o777); err != nil {
			t.Fatal(err)
		}
		switch first, _, _ := strings.Cut(text, " "); {
		case lang == "go":
			if code, err := format.Source([]byte(text)); err != nil || string(code) != text {
				t.Errorf("not gofmt's: %v", err)
			}
			program = text
		case lang == "text":
			if ran && !strings.HasSuffix(shown, text) {
				t.Errorf("README.md shows\n%sbut this is printed\n%s", text, shown)
			}
		case strings.Contains(text, "\nmake "):
			inClone(t, text)
		case first == "waot":
			commands += runCommands(f, text)
		default:
			scripts++
			ran = false
			f.write("main.go", []byte(program))
			t.Run(fmt.Sprint("script", scripts), func(t *testing.T) {
				if _, err := exec.LookPath("cc"); err != nil && strings.Contains(text, "\ncc ") {
					testenv.Missing(t, "no cc")
				}
				if shown, err = f.run(strings.ReplaceAll(text, "=../waot", "="+tree)); err != nil {
					t.Fatalf("%v\n%s\n%s", err, text, shown)
				}
				ran = true
			})
		}
	}
	if scripts != 3 || commands < 5 {
		t.Errorf("%d scripts, %d commands", scripts, commands)
	}
}

// runCommands runs commands of waot, one in each line, on modules of testdata/wasm, and gives their number.
func runCommands(f *foreign, text string) (n int) {
	for file, module := range map[string]string{"app": "cat", "lib": "add", "module": "hello"} {
		f.write(file+".wasm", modules()[module])
	}
	f.write("file.txt", []byte("some text"))
	for line := range strings.Lines(text) {
		f.must(line)
		n++
	}
	return n
}

// inClone checks commands that are run in a clone, and take too long for that here: make has the targets, which CI runs.
func inClone(t *testing.T, text string) {
	t.Helper()
	makefile := readFile(t, "Makefile")
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		line = strings.TrimSpace(line)
		if target, ok := strings.CutPrefix(line, "make "); !ok {
			goInstall(t, line)
		} else if !strings.Contains(makefile, "\n"+target+":") {
			t.Errorf("the Makefile has no target %s", target)
		}
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
