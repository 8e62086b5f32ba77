package main

import (
	"bytes"
	"debug/elf"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed qemu/plugin.c
var pluginSource []byte

//go:embed waotrun/main.go
var waotrunSource []byte

// builder builds programs into a folder, once each.
type builder struct {
	dir  string // absolute
	root string // of the module that this program is of
	*machine
	waot string // of the module that the compiler is built from
	// waotArgs are more arguments of waot build.
	waotArgs []string
}

// path returns a file in the builder's folder.
func (b *builder) path(name string) string { return filepath.Join(b.dir, name) }

// command runs a program in folder dir with additions to the environment. The error has what
// it wrote.
func command(dir string, env []string, argv ...string) error {
	c := exec.Command(argv[0], argv[1:]...)
	c.Dir, c.Env = dir, append(os.Environ(), env...)
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, bytes.TrimSpace(out))
	}
	return nil
}

// plugin builds the emulator's plugin.
func (b *builder) plugin() (string, error) {
	src, so := b.path("plugin.c"), b.path("plugin.so")
	if err := os.WriteFile(src, pluginSource, 0o644); err != nil {
		return "", err
	}
	return so, command(b.dir, nil, "gcc", "-O2", "-shared", "-fPIC", "-fvisibility=hidden", "-o", so, src, "-pthread")
}

// overlay writes the overlay for the go command that puts this program's driver of waot into
// a checkout that may not have it, and gives the overlay's name and the driver's package.
func (b *builder) overlay() (file, pkg string, err error) {
	src := b.path("waotrun.go")
	if err := os.WriteFile(src, waotrunSource, 0o644); err != nil {
		return "", "", err
	}
	const at = "bench/instcount/waotrun"
	j, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(b.waot, at, "main.go"): src}})
	if err != nil {
		return "", "", err
	}
	file = b.path("overlay.json")
	return file, "./" + at, os.WriteFile(file, j, 0o644)
}

// addressRange is the addresses from lo to below hi.
type addressRange struct{ lo, hi uint64 }

func (r addressRange) String() string { return fmt.Sprintf("%#x-%#x", r.lo, r.hi) }

// codeOf returns the addresses of a static program's own code, which the emulator must not count.
func codeOf(program string) ([]addressRange, error) {
	f, err := elf.Open(program)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if f.Type != elf.ET_EXEC {
		return nil, fmt.Errorf("%s is not at a fixed address", program)
	}
	var code []addressRange
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return nil, fmt.Errorf("%s is not static", program)
		}
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 {
			code = append(code, addressRange{p.Vaddr, p.Vaddr + p.Memsz})
		}
	}
	if len(code) == 0 {
		return nil, fmt.Errorf("%s has no code", program)
	}
	return code, nil
}

// sectionOf returns the addresses of a section of a static program.
func sectionOf(program, name string) (addressRange, error) {
	f, err := elf.Open(program)
	if err != nil {
		return addressRange{}, err
	}
	defer f.Close()
	s := f.Section(name)
	switch {
	case f.Type != elf.ET_EXEC:
		return addressRange{}, fmt.Errorf("%s is not at a fixed address", program)
	case s == nil || s.Flags&elf.SHF_EXECINSTR == 0 || s.Size == 0:
		return addressRange{}, fmt.Errorf("%s has no code in a section %s", program, name)
	}
	return addressRange{s.Addr, s.Addr + s.Size}, nil
}
