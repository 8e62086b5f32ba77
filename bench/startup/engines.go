package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed wasmtime/run.c
var wasmtimeSource []byte

// builder makes the engines in a folder.
type builder struct {
	dir    string
	module string
	args   []string
}

// engines makes them, and what each needs of the module. One that cannot be made is left out, and a line says why.
func (b *builder) engines() (list []engine, err error) {
	plain, err := b.program("waot", "./cmd/waot")
	if err != nil {
		return nil, err
	}
	made, err := b.program("waot-make", "-tags=urfave_cli_no_docs", "./cmd/waot")
	if err != nil {
		return nil, err
	}
	list = []engine{
		b.waot("waot as `go build` makes it", plain),
		b.waot("the same", plain),
		b.waot("waot as `make build` makes it", made),
	}
	for _, other := range []func() (engine, error){b.wasmtime, b.wazero} {
		e, err := other()
		if err != nil {
			fmt.Fprintln(os.Stderr, "startup: not measured:", err)
			continue
		}
		list = append(list, e)
	}
	return list, nil
}

func (b *builder) path(name string) string { return filepath.Join(b.dir, name) }

// command runs a program; the error has what it wrote.
func command(dir string, argv ...string) (string, error) {
	c := exec.Command(argv[0], argv[1:]...)
	c.Dir, c.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	out, err := c.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, bytes.TrimSpace(out))
	}
	return string(out), err
}

// program builds a Go program, and returns the name of a copy: the pages that a linker has written are not in the system's cache as those of
// a file that was copied or read, and take longer to map.
func (b *builder) program(name string, args ...string) (string, error) {
	if _, err := command("", append([]string{"go", "build", "-o", b.path(name + ".linked")}, args...)...); err != nil {
		return "", err
	}
	return b.copied(name)
}

func (b *builder) copied(name string) (string, error) {
	p, err := os.ReadFile(b.path(name + ".linked"))
	if err != nil {
		return "", err
	}
	return b.path(name), os.WriteFile(b.path(name), p, 0o755)
}

func (b *builder) waot(name, program string) engine {
	argv := append([]string{program, "run", b.module, "--cache", b.path("waot-cache"), "--"}, b.args...)
	return engine{name: name, argv: argv}
}

func (b *builder) wazero() (engine, error) {
	program, err := b.program("wazero", "github.com/tetratelabs/wazero/cmd/wazero")
	argv := append([]string{program, "run", "-cachedir", b.path("wazero-cache"), b.module}, b.args...)
	return engine{name: "wazero's command with its cache", argv: argv}, err
}

func (b *builder) wasmtime() (engine, error) {
	const lib = "github.com/bytecodealliance/wasmtime-go/v39"
	found, err := command("oracle", "go", "list", "-m", "-f", "{{.Dir}}", lib)
	if err != nil {
		return engine{}, err
	}
	if err := os.WriteFile(b.path("wasmtime.c"), wasmtimeSource, 0o644); err != nil {
		return engine{}, err
	}
	root := filepath.Join(strings.TrimSpace(found), "build")
	if _, err := command("", "gcc", "-O2", "-I", filepath.Join(root, "include"), "-o", b.path("wasmtime.linked"), b.path("wasmtime.c"),
		filepath.Join(root, "linux-x86_64", "libwasmtime.a"), "-lpthread", "-ldl", "-lm"); err != nil {
		return engine{}, err
	}
	program, err := b.copied("wasmtime")
	if err != nil {
		return engine{}, err
	}
	compiled := b.path("module.cwasm")
	if _, err := command("", program, "compile", b.module, compiled); err != nil {
		return engine{}, err
	}
	argv := append([]string{program, "run", compiled}, b.args...)
	return engine{name: "a C program with wasmtime 39, precompiled", argv: argv}, nil
}
