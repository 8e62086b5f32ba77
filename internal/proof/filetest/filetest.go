package filetest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/inline"
	"github.com/waot-project/waot/clif/text"
	"github.com/waot-project/waot/clif/verify"
)

// Command produces text for a function of a file; the file states it in the
// comments below the function. Options are the words after the command's name.
type Command func(file *text.File, f *clif.Func, options []string) (string, error)

// Pass rewrites a function.
type Pass func(f *clif.Func) error

// Runner runs files.
type Runner struct {
	// Engines execute `test run`; results must be the same on all.
	Engines []Engine
	// Passes are what `test opt` can name, beside inline.
	Passes map[string]Pass
	// Commands are further commands that produce text, by name.
	Commands map[string]Command
	// Update rewrites expected texts instead of comparing them.
	Update bool
}

// Failure is a difference from what the file says.
type Failure struct {
	Line int
	Msg  string
}

// Outcome is the result of running a file.
type Outcome struct {
	Failures []Failure
	// Updated is the new text if an expected text was rewritten, else nil.
	Updated []byte
	// Runs is the number of calls that were executed and compared.
	Runs int
	// Calls is the number of lines that state a call. Called is how many of them each engine, by name, has executed for the
	// file as it is.
	Calls  int
	Called map[string]int
	// Lacking are the engines, by name, that cannot execute the file.
	Lacking map[string]bool
	// Skipped is the commands that are not registered here.
	Skipped []string
}

// test is one line of the header.
type test struct {
	name    string
	options []string
	line    int
}

// job is the work on one file.
type job struct {
	*Runner
	Outcome
	lines  []string // of the file
	source string   // without the header, lines kept
	tests  []test
	inline inliner
}

// Run runs one file. Its name is only for messages.
func (r *Runner) Run(src []byte) *Outcome {
	j := &job{Runner: r, Outcome: Outcome{Called: map[string]int{}, Lacking: map[string]bool{}}, lines: strings.Split(string(src), "\n")}
	if j.header(); len(j.Failures) > 0 {
		return &j.Outcome
	}
	if _, err := text.Parse(j.source); err != nil {
		line := 0
		if e, ok := err.(*text.Error); ok {
			line = e.Line
		}
		j.fail(line, "%v", err)
		return &j.Outcome
	}
	for _, t := range j.tests {
		j.test(t)
	}
	j.count()
	return &j.Outcome
}

// count counts the lines that state a call. If no command executes them, they are mistakes.
func (j *job) count() {
	runs := slices.ContainsFunc(j.tests, func(t test) bool { return t.name == "run" })
	for i, line := range j.lines {
		if !strings.HasPrefix(strings.TrimSpace(line), ";") || !isDirective(line) {
			continue
		}
		if j.Calls++; !runs {
			j.fail(i+1, "a call in a file without test run")
		}
	}
}

func (j *job) fail(line int, format string, args ...any) {
	j.Failures = append(j.Failures, Failure{line, fmt.Sprintf(format, args...)})
}

// header reads the lines that begin with "test".
func (j *job) header() {
	rest := append([]string(nil), j.lines...)
	for i, line := range rest {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], ";") {
			continue
		}
		if words[0] != "test" {
			break
		}
		rest[i] = ""
		if len(words) < 2 {
			j.fail(i+1, "which test?")
			continue
		}
		j.tests = append(j.tests, test{words[1], words[2:], i + 1})
	}
	if len(j.tests) == 0 {
		j.fail(1, "no test command")
	}
	j.source = strings.Join(rest, "\n")
}

// builtin are the commands that do not produce text.
func (j *job) builtin(name string) func(test) {
	return map[string]func(test){"cat": j.cat, "verify": j.verify, "run": j.run}[name]
}

func (j *job) test(t test) {
	if run := j.builtin(t.name); run != nil {
		run(t)
		return
	}
	command := j.Commands[t.name]
	switch t.name {
	case "domtree":
		command = domtree
	case "opt":
		command = j.opt
	}
	if command == nil {
		j.Skipped = append(j.Skipped, t.name)
		return
	}
	for _, other := range j.tests {
		if other.line < t.line && j.builtin(other.name) == nil {
			j.fail(t.line, "a file can state the text of one command only, which is %s", other.name)
			return
		}
	}
	j.precise(t, command)
}

// parse parses the file anew: commands may change functions.
func (j *job) parse() *text.File {
	f, err := text.Parse(j.source)
	if err != nil {
		panic(err) // Run has parsed it
	}
	return f
}

// opt runs the passes that are named and verifies after each.
func (j *job) opt(file *text.File, f *clif.Func, passes []string) (string, error) {
	for _, name := range passes {
		pass := j.Passes[name]
		if name == inline.Pass {
			pass = j.inline.pass(file)
		}
		if pass == nil {
			return "", fmt.Errorf("no pass %q", name)
		}
		if err := pass(f); err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		if err := verify.Func(f); err != nil {
			return "", fmt.Errorf("after %s: %w", name, err)
		}
	}
	return f.String(), nil
}

// cat checks that the functions are written as they print, except for comments
// and spacing.
func (j *job) cat(test) {
	file := j.parse()
	for i := range file.Funcs {
		f := &file.Funcs[i]
		want := significant(strings.Split(f.String(), "\n"))
		if diff := Diff(significant(j.lines[f.Line-1:f.End]), want); diff != "" {
			j.fail(f.Line, "prints in another way (+):\n%s", diff)
		}
	}
	again, err := text.Parse(file.String())
	if err != nil {
		j.fail(1, "what it prints does not parse: %v", err)
	} else if a, b := file.String(), again.String(); a != b {
		j.fail(1, "printing is not stable:\n%s", Diff(strings.Split(a, "\n"), strings.Split(b, "\n")))
	}
}

// significant returns the lines without comments and empty lines.
func significant(lines []string) []string {
	var out []string
	for _, line := range lines {
		code, _ := splitComment(line)
		if code = strings.Join(strings.Fields(code), " "); code != "" {
			out = append(out, code)
		}
	}
	return out
}

// splitComment splits a line at the semicolon that is not in a string.
func splitComment(line string) (code, comment string) {
	quoted := false
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '"':
			quoted = !quoted
		case line[i] == '\\' && quoted:
			i++
		case line[i] == ';' && !quoted:
			return line[:i], line[i+1:]
		}
	}
	return line, ""
}

// verify checks that exactly the lines with an error comment are wrong.
func (j *job) verify(test) {
	file := j.parse()
	for i := range file.Funcs {
		f := &file.Funcs[i]
		err := verify.Func(f.Func)
		at := f.Line
		if e, ok := err.(*verify.Error); ok && e.Inst != clif.NoInst {
			at = f.InstLines[e.Inst]
		}
		wanted := false
		for n := f.Line; n <= f.End; n++ {
			_, comment := splitComment(j.lines[n-1])
			want, ok := strings.CutPrefix(strings.TrimSpace(comment), "error:")
			if !ok {
				continue
			}
			wanted = true
			want = strings.TrimSpace(want)
			switch {
			case err == nil:
				j.fail(n, "no error, want %q", want)
			case n != at:
				j.fail(n, "want %q here; line %d: %v", want, at, err)
			case !strings.Contains(err.Error(), want):
				j.fail(n, "%v, want %q", err, want)
			}
		}
		if err != nil && !wanted {
			j.fail(at, "%v", err)
		}
	}
}

// Test runs the files that match a pattern as subtests, named by their paths below
// root. With Update it writes them and logs which have changed.
func (r *Runner) Test(t *testing.T, root, pattern string) {
	t.Helper()
	calls := 0
	files, err := filepath.Glob(filepath.Join(root, pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files match %s in %s (%v)", pattern, root, err)
	}
	for _, name := range files {
		sub := strings.TrimSuffix(filepath.Base(name), ".clif")
		t.Run(sub, func(t *testing.T) {
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			out := r.Run(src)
			for _, f := range out.Failures {
				t.Errorf("%s:%d: %s", name, f.Line, f.Msg)
			}
			calls += out.Calls
			for _, e := range r.Engines {
				if n := out.Called[e.Name()]; n != out.Calls && !out.Lacking[e.Name()] {
					t.Errorf("%s executes %d of %d calls", e.Name(), n, out.Calls)
				}
			}
			if len(out.Failures) > 0 && !r.Update {
				t.Logf("if this is right, run: go test . -run '%s' -update", t.Name())
			}
			if out.Updated != nil {
				if err := os.WriteFile(name, out.Updated, 0o666); err != nil {
					t.Fatal(err)
				}
				t.Logf("updated %s", name)
			}
		})
	}
	var names []string
	for _, e := range r.Engines {
		names = append(names, e.Name())
	}
	t.Logf("%d files, %d calls on each of %s", len(files), calls, strings.Join(names, ", "))
}
