// Command mkblob makes the objects of the runtime that executables contain: it has clang compile the C runtime for each
// machine and writes the result the way package objfile does, so that it can be read again with the same few rules.
//
//	go run ./internal/cruntime/mkblob [-check] [-cc clang-19] [-dir DIR] FILE.c
//
// With -check it writes nothing and fails if the objects in the tree are others. It also says which compiler made them, in the file
// "compiler": another version may make others.
//
// Place in the pipeline: none; it makes what internal/link puts into executables beside the program.
//
// Input: the sources of the runtime, and clang.
// Output: an object for each machine.
package main

import (
	"bytes"
	"debug/elf"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

func main() {
	check := flag.Bool("check", false, "compare only")
	cc := flag.String("cc", "clang-19", "the C compiler, a clang")
	dir := flag.String("dir", "internal/cruntime/blob", "where the objects are")
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(*cc, *dir, flag.Arg(0), *check); err != nil {
		fmt.Fprintln(os.Stderr, "mkblob:", err)
		os.Exit(1)
	}
}

// targets are the machines and what their compilations differ in.
var targets = []struct {
	name    string
	options []string
}{
	{"x86-64", []string{"--target=x86_64-linux-gnu", "-march=x86-64-v2", "-mno-red-zone", "-fcf-protection=branch"}},
	{"aarch64", []string{"--target=aarch64-linux-gnu", "-march=armv8-a", "-mbranch-protection=bti", "-mno-outline-atomics"}},
}

// options are those of every compilation. Frame pointers and tables for debuggers stay; nothing needs a library or a dynamic
// loader.
var options = []string{"-c", "-std=c11", "-Os", "-ffreestanding", "-fPIE", "-fvisibility=hidden", "-fdirect-access-external-data", "-fno-stack-protector", "-fno-omit-frame-pointer",
	"-fasynchronous-unwind-tables", "-ffunction-sections", "-fdata-sections", "-fno-ident", "-fno-addrsig", "-fno-jump-tables", "-nostdinc", "-Wall", "-Wextra", "-Werror", "-DWAOT_STANDALONE"}

func run(cc, dir, source string, check bool) error {
	tmp, err := os.MkdirTemp("", "mkblob")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	builtin, err := exec.Command(cc, "-print-resource-dir").Output()
	if err != nil {
		return fmt.Errorf("%s: %w", cc, err)
	}
	version, err := exec.Command(cc, "--version").Output()
	if err != nil {
		return fmt.Errorf("%s: %w", cc, err)
	}
	version, _, _ = bytes.Cut(version, []byte("\n"))
	if err := put(filepath.Join(dir, "compiler"), append(version, '\n'), cc, check); err != nil {
		return err
	}
	include := filepath.Join(string(bytes.TrimSpace(builtin)), "include")
	for _, t := range targets {
		object := filepath.Join(tmp, t.name+".o")
		args := slices.Concat(options, t.options, []string{"-isystem", include, "-o", object, source})
		if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", cc, err, out)
		}
		f, err := elf.Open(object)
		if err != nil {
			return err
		}
		o, err := convert(f)
		f.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		b, err := o.AppendELF(nil)
		if err != nil {
			return err
		}
		if err := put(filepath.Join(dir, t.name+".elf"), b, cc, check); err != nil {
			return err
		}
	}
	return nil
}

// put writes a file, or checks that it has those bytes.
func put(file string, b []byte, cc string, check bool) error {
	if !check {
		return os.WriteFile(file, b, 0o666)
	}
	have, err := os.ReadFile(file)
	if err == nil && !bytes.Equal(have, b) {
		err = fmt.Errorf("%s is not what %s makes of the sources: run mkblob without -check", file, cc)
	}
	return err
}
