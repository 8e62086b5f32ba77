package policy

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// goFlags are flags of go test and go run, and whether a value follows.
var goFlags = map[string]bool{
	"-v": false, "-race": false, "-cover": false, "-short": false, "-run": true, "-bench": true, "-exec": true, "-timeout": true, "-cpuprofile": true,
}

var (
	commandInDocs = regexp.MustCompile("`((?:[A-Z_0-9]+=[^ `]+ )*go (?:test|run) [^`]*\\./[^`]*)`")
	testInDocs    = regexp.MustCompile("`([a-z0-9/]+)` ((?:Test|Fuzz)\\w+(?:, (?:Test|Fuzz)\\w+)*)")
	word          = regexp.MustCompile(`[^\s'"]*(?:'[^']*'|"[^"]*")|[^\s'"]+`)
)

// TestCommands: each command in the documents that runs tests or a campaign names a package, tests and flags that exist, and
// so does each test named behind its package.
func TestCommands(t *testing.T) {
	var s tree
	for _, f := range sourceFiles(t) {
		s.add(&f)
	}
	docs, err := filepath.Glob("../../../docs/*.md")
	if err != nil || len(docs) == 0 {
		t.Fatal("no documents")
	}
	commands, tests := 0, 0
	for _, doc := range docs {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range commandInDocs.FindAllStringSubmatch(string(text), -1) {
			commands++
			if problem := s.command(strings.Join(strings.Fields(m[1]), " ")); problem != "" {
				t.Errorf("%s: %s: %s", filepath.Base(doc), m[1], problem)
			}
		}
		for _, m := range testInDocs.FindAllStringSubmatch(string(text), -1) {
			for _, name := range strings.Split(m[2], ", ") {
				tests++
				if !slices.Contains(s.pkg(m[1]).tests, name) {
					t.Errorf("%s: there is no %s in %s", filepath.Base(doc), name, m[1])
				}
			}
		}
	}
	t.Logf("%d commands, %d tests", commands, tests)
	if commands == 0 || tests == 0 {
		t.Error("none are found")
	}
	for _, wrong := range []string{
		"go test ./nowhere", "go test ./checker -run TestNothingSo", "go test ./checker -nothing", "go run ./checker", "go run ./internal/proof/regalloc/soak -nothing 3",
		"go test ./clif/opt -run 'TestLimit|TestNothingSo'",
	} {
		if s.command(wrong) == "" {
			t.Errorf("%s: nothing is wrong", wrong)
		}
	}
}

// tree is what the source has, by folder.
type tree struct{ pkgs map[string]*pkg }

type pkg struct {
	command bool
	// tests are the names of tests; flags, those that tests or the command define.
	tests, flags []string
}

func (s *tree) pkg(name string) *pkg {
	if s.pkgs[name] == nil {
		if s.pkgs == nil {
			s.pkgs = map[string]*pkg{}
		}
		s.pkgs[name] = &pkg{}
	}
	return s.pkgs[name]
}

func (s *tree) add(f *file) {
	p := s.pkg(f.pkg)
	p.command = p.command || f.ast.Name.Name == "main"
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if f.test && n.Recv == nil {
				p.tests = append(p.tests, n.Name.Name)
			}
		case *ast.CallExpr:
			if sel, ok := n.Fun.(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok && x.Name == "flag" {
					p.flags = append(p.flags, stringArg(n))
				}
			}
		}
		return true
	})
}

// stringArg is the first string literal among the arguments.
func stringArg(call *ast.CallExpr) string {
	for _, a := range call.Args {
		if lit, ok := a.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			s, _ := strconv.Unquote(lit.Value)
			return "-" + s
		}
	}
	return ""
}

// command is what is wrong with a command.
func (s *tree) command(line string) string {
	words := word.FindAllString(line, -1)
	for len(words) > 0 && strings.Contains(words[0], "=") {
		words = words[1:]
	}
	run := words[1] == "run"
	var p *pkg
	pattern := ""
	for i := 2; i < len(words); i++ {
		w := words[i]
		name, _, hasValue := strings.Cut(w, "=")
		switch value, known := goFlags[name]; {
		case strings.HasPrefix(w, "./"):
			if p = s.under(w[2:]); p == nil {
				return "there is no such package"
			}
			if run && !p.command {
				return "that is no command"
			}
		case !strings.HasPrefix(w, "-"):
		case known && !(run && p != nil):
			if name == "-run" {
				pattern = strings.Trim(words[i+1], `'"`)
			}
			if value && !hasValue {
				i++
			}
		case p == nil || !slices.Contains(p.flags, name):
			return "there is no flag " + name
		}
	}
	if p == nil {
		return "it names no package"
	}
	if pattern == "^$" {
		return ""
	}
	for _, one := range strings.Split(pattern, "|") {
		one, _, _ = strings.Cut(one, "/")
		re, err := regexp.Compile(one)
		if err != nil {
			return err.Error()
		}
		if !run && !slices.ContainsFunc(p.tests, re.MatchString) {
			return "there is no test " + one
		}
	}
	return ""
}

// under is the package of a folder, or, for a pattern, what all below it have; nil if there is none.
func (s *tree) under(dir string) *pkg {
	prefix, all := strings.CutSuffix(dir, "...")
	if !all {
		return s.pkgs[dir]
	}
	sum := &pkg{}
	for name, p := range s.pkgs {
		if strings.HasPrefix(name, prefix) {
			sum.tests, sum.flags = append(sum.tests, p.tests...), append(sum.flags, p.flags...)
		}
	}
	if len(sum.tests) == 0 {
		return nil
	}
	return sum
}
