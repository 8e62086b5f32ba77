package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/waot-project/waot/bench/suite"
)

// engine is a way to run WebAssembly.
type engine struct {
	name string
	// version says what was measured. Where it is fixed, counts may be kept in a file.
	version func(*builder) (string, error)
	fixed   bool
	// prepare builds what all modules need; the runner is for one module at a time.
	prepare func(*builder) (runner, error)
}

// runner builds what a module needs, and says how to run it.
type runner func(*suite.Module) (program, error)

// program is what the emulator executes.
type program struct {
	argv []string
	// host is the addresses of code that is not counted; or else generated is those of
	// the only code that is.
	host      []addressRange
	generated addressRange
	// object is the file whose code is the only one that is counted, wherever it is loaded, unless this is empty: hosts also make code at
	// run time, such as helpers that copy memory.
	object  string
	symbols string // ELF file that names the generated functions, if there is one
}

// options are the plugin's options for the program.
func (p *program) options() string {
	if p.generated.hi > 0 {
		return ",only=" + p.generated.String()
	}
	var s strings.Builder
	for _, r := range p.host {
		s.WriteString(",skip=" + r.String())
	}
	return s.String()
}

// Names of engines that the table's columns ask for.
const (
	nameWaot     = "waot"
	nameWasmtime = "wasmtime"
	nameWazero   = "wazero"
	nameClang    = "wasm2c-clang"
	nameGCC      = "wasm2c-gcc"
)

func engines(m *machine) []engine {
	gcc := []string{m.tool("gcc"), "-O2"}
	clang := []string{"clang-19", "--target=" + m.triple, "-O2"}
	return []engine{
		{nameWaot, waotVersion, false, prepareWaot},
		{nameWasmtime, moduleVersion("bench/instcount/wasmtimerun", "github.com/bytecodealliance/wasmtime-go/v39"), true, prepareWasmtime},
		{nameWazero, moduleVersion(".", "github.com/tetratelabs/wazero"), true, prepareWazero},
		{nameClang, wasm2cVersion(clang), true, prepareWasm2c(clang)},
		{nameGCC, wasm2cVersion(gcc), true, prepareWasm2c(gcc)},
	}
}

// selectEngines finds engines by name, separated by commas; all if there is no name.
func selectEngines(m *machine, names string) ([]engine, error) {
	all := engines(m)
	if names == "" {
		return all, nil
	}
	var found []engine
	for _, n := range strings.Split(names, ",") {
		i := slices.IndexFunc(all, func(e engine) bool { return e.name == n })
		if i < 0 {
			return nil, fmt.Errorf("no engine is called %q", n)
		}
		found = append(found, all[i])
	}
	return found, nil
}

// output runs a program in folder dir and gives the first line that it writes.
func output(dir string, argv ...string) (string, error) {
	c := exec.Command(argv[0], argv[1:]...)
	c.Dir = dir
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", strings.Join(argv, " "), err)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(line), nil
}

// waotVersion returns the checkout's revision, if it has one.
func waotVersion(b *builder) (string, error) {
	v, err := output(b.waot, "git", "describe", "--always", "--dirty")
	if err != nil {
		v = "unknown revision"
	}
	return strings.Join(append([]string{v}, b.waotArgs...), " "), nil
}

// moduleVersion is of a Go module that the module in folder dir, relative to the root, requires.
func moduleVersion(dir, path string) func(*builder) (string, error) {
	return func(b *builder) (string, error) {
		return output(filepath.Join(b.root, dir), "go", "list", "-m", "-f", "{{.Version}}", path)
	}
}

func wasm2cVersion(compiler []string) func(*builder) (string, error) {
	return func(b *builder) (string, error) {
		v, err := output(b.dir, "wasm2c", "--version")
		if err != nil {
			return "", err
		}
		cc, err := output(b.dir, compiler[0], "--version")
		return "wabt " + v + ", " + cc + ", " + strings.Join(compiler[1:], " "), err
	}
}

// prepareWaot compiles on this machine, which gives the same objects as compiling in the
// emulator, and loads them there.
func prepareWaot(b *builder) (runner, error) {
	compiler, driver := b.path("waot"), b.path("waotrun")
	if err := command(b.waot, []string{"CGO_ENABLED=0"}, "go", "build", "-o", compiler, "./cmd/waot"); err != nil {
		return nil, err
	}
	overlay, pkg, err := b.overlay()
	if err != nil {
		return nil, err
	}
	if err := command(b.waot, b.goEnv("0"), "go", "build", "-overlay", overlay, "-o", driver, pkg); err != nil {
		return nil, err
	}
	host, err := codeOf(driver)
	if err != nil {
		return nil, err
	}
	return func(m *suite.Module) (program, error) {
		object := b.path(m.Name + ".o")
		argv := append([]string{compiler, "build", m.File, "-o", object, "--target", b.target}, b.waotArgs...)
		return program{argv: []string{driver, object}, host: host, object: object, symbols: object}, command(b.dir, nil, argv...)
	}, nil
}

func prepareWasmtime(b *builder) (runner, error) {
	driver := b.path("wasmtimerun")
	err := command(filepath.Join(b.root, "bench/instcount/wasmtimerun"),
		append(b.goEnv("1"), "CC="+b.tool("gcc")),
		"go", "build", "-ldflags", "-linkmode external -extldflags -static", "-o", driver, ".")
	return justInTime(driver, err)
}

func prepareWazero(b *builder) (runner, error) {
	driver := b.path("wazerorun")
	return justInTime(driver, command(b.root, b.goEnv("0"), "go", "build", "-o", driver, "./bench/instcount/wazerorun"))
}

// justInTime is of a driver that compiles the module that it runs; err is that of its build.
func justInTime(driver string, err error) (runner, error) {
	if err != nil {
		return nil, err
	}
	host, err := codeOf(driver)
	return func(m *suite.Module) (program, error) {
		return program{argv: []string{driver, m.File}, host: host}, nil
	}, err
}

// generatedSection is the section that wasm2c's code is put into.
const generatedSection = "generated"

// prepareWasm2c translates modules to C for a compiler.
func prepareWasm2c(compiler []string) func(*builder) (runner, error) {
	return func(b *builder) (runner, error) {
		return func(m *suite.Module) (program, error) {
			dir := b.path(filepath.Base(compiler[0]) + "-" + m.Name)
			if err := os.MkdirAll(dir, 0o777); err != nil {
				return program{}, err
			}
			file, err := buildWasm2c(dir, filepath.Join(b.root, "bench/instcount/wasm2c/main.c"), m, compiler, b.machine)
			if err != nil {
				return program{}, err
			}
			code, err := sectionOf(file, generatedSection)
			return program{argv: []string{file}, generated: code, symbols: file}, err
		}, nil
	}
}

// runtimeC is the folder of wasm2c's runtime, where packages of wabt put it.
const runtimeC = "/usr/share/wabt/wasm2c"

// buildWasm2c builds the program of module m in folder dir. shim is the C program around it, which is always
// gcc's.
func buildWasm2c(dir, shim string, m *suite.Module, compiler []string, on *machine) (file string, err error) {
	file = filepath.Join(dir, "prog")
	steps := [][]string{
		{"wasm2c", m.File, "-n", "prog", "-o", "prog.c"},
		append(compiler[:len(compiler):len(compiler)], "-w", "-I", runtimeC, "-c", "prog.c", "-o", "prog.o"),
		{on.tool("objcopy"),
			"--rename-section", ".text=" + generatedSection, "--rename-section", ".text.unlikely=" + generatedSection,
			"--rename-section", ".text.startup=" + generatedSection, "prog.o"},
	}
	for _, s := range steps {
		if err := command(dir, nil, s...); err != nil {
			return "", err
		}
	}
	hosts, err := importedModules(filepath.Join(dir, "prog.h"))
	if err != nil {
		return "", err
	}
	return file, command(dir, nil, on.tool("gcc"), "-O2", "-w", "-static", "-DHOSTS="+strings.Repeat(",0", hosts),
		"-I", ".", "-I", runtimeC, shim, filepath.Join(runtimeC, "wasm-rt-impl.c"), "prog.o", "-lm", "-o", file)
}

// importedModules counts the modules that a program of wasm2c is instantiated with, by its header.
func importedModules(header string) (int, error) {
	b, err := os.ReadFile(header)
	if err != nil {
		return 0, err
	}
	f := regexp.MustCompile(`void Z_prog_instantiate\(([^)]*)\);`).FindSubmatch(b)
	if f == nil {
		return 0, fmt.Errorf("%s does not declare the function that instantiates", header)
	}
	return strings.Count(string(f[1]), ","), nil
}
