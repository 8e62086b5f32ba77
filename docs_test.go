package waot_test

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot"
)

// The Go code of the pages in docs is of two kinds. A block that begins with "package" is a whole
// program; if a block marked as text follows, that is what it prints. All other blocks are
// declarations, which make one program with those of a driver below.

// block is a block of code in a page.
type block struct {
	line       int
	lang, code string
	program    bool
	output     string // of a program
}

func readBlocks(t *testing.T, page string) (blocks []block) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var b *block
	for n, line := range strings.Split(string(text), "\n") {
		lang, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && b == nil:
			b = &block{line: n + 1, lang: lang}
		case fence:
			last := len(blocks) - 1
			if b.lang == "text" && last >= 0 && blocks[last].program {
				blocks[last].output = b.code
			} else if b.lang == "go" {
				b.program = strings.HasPrefix(b.code, "package ")
				blocks = append(blocks, *b)
			}
			b = nil
		case b != nil:
			b.code += line + "\n"
		}
	}
	return blocks
}

// packages are what declarations may use, by name.
var packages = map[string]string{
	"bytes": "bytes", "context": "context", "debug": "runtime/debug", "errors": "errors", "filepath": "path/filepath", "fmt": "fmt", "fs": "io/fs",
	"io": "io", "iter": "iter", "math": "math", "os": "os", "runtime": "runtime", "sha256": "crypto/sha256", "strings": "strings", "sync": "sync", "time": "time",
	"waot": "github.com/waot-project/waot", "host": "github.com/waot-project/waot/host", "jsstring": "github.com/waot-project/waot/host/jsstring", "sign": "github.com/waot-project/waot/host/sign",
}

// program makes a program of declarations.
func program(t *testing.T, declarations string) string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "", "package main\n"+declarations, 0)
	if err != nil {
		t.Fatal(err)
	}
	imports := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && x.Obj == nil && packages[x.Name] != "" {
				imports[packages[x.Name]] = true
			}
		}
		return true
	})
	text := "package main\n"
	for _, p := range slices.Sorted(maps.Keys(imports)) {
		text += fmt.Sprintf("import %q\n", p)
	}
	return text + declarations
}

// runProgram builds a program beside the modules of testdata/wasm, runs it there, and gives its
// output.
func runProgram(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	for name, b := range modules() {
		if err := os.WriteFile(filepath.Join(dir, name+".wasm"), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	object, err := waot.CompileObject(modules()["add"], nil)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "add.o"), object, 0o666)
	}
	file := filepath.Join(dir, "main.go")
	if err == nil {
		err = os.WriteFile(file, []byte(text), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	return runBuilt(t, file, dir)
}

// runBuilt builds a package of this module, or files, and runs the program in dir.
func runBuilt(t *testing.T, what, dir string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "program")
	if out, err := exec.Command("go", "build", "-o", binary, what).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(binary)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return string(out)
}

// canRunDocs skips a test where programs cannot be built and run, or not quickly.
func canRunDocs(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED: programs of the documentation are not built in short mode")
	}
	if _, err := waot.NewStore(nil); errors.Is(err, waot.ErrUnsupported) {
		t.Skip("SKIPPED: programs of the documentation: ", err)
	}
}

// TestDocPages runs what is in the pages about embedding.
func TestDocPages(t *testing.T) {
	canRunDocs(t)
	for _, p := range []struct {
		page, driver, want string
		programs           int
	}{
		{"docs/embedding-go.md", embeddingDriver, embeddingWant, 5},
		{"docs/from-wazero.md", wazeroDriver, wazeroWant, 3},
	} {
		programs, declarations := 0, p.driver
		for _, b := range readBlocks(t, p.page) {
			name := fmt.Sprintf("%s:%d", filepath.Base(p.page), b.line)
			if code, err := format.Source([]byte(b.code)); err != nil || !bytes.Equal(code, []byte(b.code)) {
				t.Errorf("%s is not gofmt's: %v", name, err)
			}
			if !b.program {
				declarations += b.code
				continue
			}
			programs++
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				if d := cmp.Diff(b.output, runProgram(t, b.code)); d != "" {
					t.Error(d)
				}
			})
		}
		if programs != p.programs {
			t.Errorf("%s has %d programs, not %d", p.page, programs, p.programs)
		}
		t.Run(filepath.Base(p.page), func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(p.want, runProgram(t, program(t, declarations))); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestExample runs examples/embed, whose modules are copies.
func TestExample(t *testing.T) {
	for _, name := range []string{"greet", "loop"} {
		b, err := os.ReadFile(filepath.Join("examples", "embed", name+".wasm"))
		if err != nil || !bytes.Equal(b, modules()[name]) {
			t.Errorf("examples/embed/%s.wasm differs from the one in testdata/wasm: %v", name, err)
		}
	}
	canRunDocs(t)
	out := runBuilt(t, "./examples/embed", ".")
	if d := cmp.Diff("the module says: hello, world\nwaot: cancelled: context deadline exceeded\n", out); d != "" {
		t.Error(d)
	}
}

// The drivers: programs are built beside testdata/wasm. They begin with what they share.

const commonDriver = `
func check(err error) {
	if err != nil {
		panic(err)
	}
}

func must[T any](v T, err error) T {
	check(err)
	return v
}

var ctx = context.Background()

func module(name string) *waot.Module {
	return must(waot.Compile(must(os.ReadFile(name+".wasm")), nil))
}

func instance(name string, imports waot.Imports) *waot.Instance {
	return must(must(waot.NewStore(nil)).Instantiate(ctx, module(name), imports))
}

func function(i *waot.Instance, name string) *waot.Func { return must(i.Func(name)) }
`

const embeddingDriver = commonDriver + `
func main() {
	check(compileFile("add.wasm", "app.o"))
	_, err := waot.Load(must(os.ReadFile("app.o")), nil)
	var cpu *waot.CPUError
	fmt.Println("compileFile", err == nil || errors.As(err, &cpu))
	check(os.Setenv("XDG_CACHE_HOME", must(os.MkdirTemp(must(os.Getwd()), "cache"))))
	for range 2 {
		fmt.Println("compileOnce", must(compileOnce(must(os.ReadFile("add.wasm")))).Name())
	}

	fmt.Println("serve", must(serve(ctx, module("add"), 40, 2)))
	pool := newPool(module("cat"))
	for _, text := range []string{"first", "second"} {
		var out strings.Builder
		status, err := request(ctx, pool, strings.NewReader(text), &out)
		fmt.Println("request", status, err, out.String())
	}
	pool.Close()

	words := must(waot.ParseText([]byte("(module (memory (export \"memory\") 1) (global $n (mut i32) (i32.const 0))" +
		"(func (export \"alloc\") (param i32) (result i32) (i32.const 64))" +
		"(func (export \"load\") (param i32 i32) (global.set $n (i32.add (local.get 1) (i32.load8_u (local.get 0)))))" +
		"(func (export \"count\") (result i32) (global.get $n)))")))
	warm := must(must(waot.NewStore(nil)).Instantiate(ctx, must(warmed(words, []byte("abc"))), nil))
	again := must(must(waot.NewStore(nil)).Instantiate(ctx, must(copied(warm)), nil))
	fmt.Println("warmed", must(function(warm, "count").Call(ctx)), must(function(again, "count").Call(ctx)))

	lib := instance("add", nil)
	linked := must(link(ctx, lib.Store(), lib, module("many")))
	fmt.Println("link", must(function(linked, "f").Call(ctx, 40, 2)))

	fmt.Println(threeWays(ctx, function(lib, "add")))

	var out bytes.Buffer
	greeter := instance("greet", imports(&out))
	fmt.Println("imports", must(function(greeter, "greet").Call(ctx)), out.String())
	fmt.Println("sum", must(must(lib.Store().NewFunc(sum())).Call(ctx, 40, 2)))

	fmt.Println("shout", must(shout(greeter)))

	keeper := instance("keep", waot.Imports{"env": {"show": func(v any) { fmt.Println("show", v) }}})
	fmt.Println("keep", must(keep(ctx, keeper, time.Second)))
	check(putRaw(ctx, function(keeper, "put"), time.Minute))
	must(function(keeper, "show").Call(ctx, 2))

	loop := instance("loop", nil)
	fmt.Println(withDeadline(function(loop, "forever"), 20*time.Millisecond))

	fmt.Println("parallel", must(parallel(ctx, module("add"), 10)))
	check(twice(ctx, function(greeter, "greet")))
	fmt.Println("twice", strings.Count(out.String(), "\n"))
	check(checkPreemption())

	store := must(limited())
	must(store.Instantiate(ctx, module("add"), nil))
	_, err = store.Instantiate(ctx, module("add"), nil)
	fmt.Println(explain(err))

	_, err = function(instance("div", nil), "div").Call(ctx, 1, 0)
	fmt.Println(explain(err))
	_, err = function(linked, "deep").Call(ctx)
	fmt.Println(explain(err))
	short, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	_, err = function(loop, "forever").Call(short)
	fmt.Println(explain(err))

	fmt.Println(runProgram(ctx, module("cat"), ".", os.DirFS(".")))
}
`

const embeddingWant = `compileFile true
compileOnce plugin
compileOnce plugin
serve 42
request 5 <nil> first
request 6 <nil> second
warmed [100] [100]
link [42]
42 42 42 <nil>
imports [] hello, world

sum [42]
shout HELLO, world
keep 1s
show 1m0s
still in forever after 20ms: waot: cancelled: context deadline exceeded
parallel 90
twice 3
waot: 2 instances wanted, limit 1
it trapped: integer divide by zero, in [{module 0 div 39}]
it recursed too deeply
it took too long
9 some text <nil>
`

const wazeroDriver = commonDriver + `
func main() {
	dir := must(os.MkdirTemp("", ""))
	defer os.RemoveAll(dir)
	wasm := must(os.ReadFile("add.wasm"))
	for range 2 {
		mod := must(compileCached(wasm, dir))
		fmt.Println(mod.Name(), len(must(os.ReadDir(dir)))) // an entry, and the tag
	}
	fmt.Println(words(ctx, function(instance("add", nil), "add")))
}
`

const wazeroWant = `module 2
module 2
42 <nil>
`
