package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/waot-project/waot/bench/programs"
)

// suite is the modules of the benchmarks' table, relative to the folder of modules.
const suite = `bz2/benchmark blake3-scalar/benchmark gcc-loops/benchmark pulldown-cmark/benchmark quicksort/benchmark
	richards/benchmark rust-compression/benchmark rust-json/benchmark sqlite3/sqlite3 tinygo/tinygo-json
	shootout/shootout-ackermann shootout/shootout-base64 shootout/shootout-fib2 shootout/shootout-heapsort
	shootout/shootout-keccak shootout/shootout-matrix shootout/shootout-random shootout/shootout-sieve
	shootout/shootout-switch shootout/shootout-xchacha20`

// module is a benchmark module.
type module struct {
	name   string // in tables
	file   string // absolute
	sha256 string // of the file, as hexadecimal digits
	stdout []byte // what it must print
}

// findModules reads those modules in folder dir whose names match only: of the suite, or, if the folder itself has modules, all of those.
func findModules(dir string, only *regexp.Regexp) ([]*module, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	paths := strings.Fields(suite)
	if own, _ := filepath.Glob(filepath.Join(dir, "*.wasm")); len(own) > 0 {
		paths = nil
		for _, file := range own {
			paths = append(paths, strings.TrimSuffix(filepath.Base(file), ".wasm"))
		}
	}
	var found []*module
	for _, path := range paths {
		folder, base := filepath.Split(path)
		m := &module{name: base, file: filepath.Join(dir, path+".wasm")}
		if base == "benchmark" {
			m.name = filepath.Clean(folder)
		}
		if !only.MatchString(m.name) {
			continue
		}
		b, err := os.ReadFile(m.file)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(b)
		m.sha256 = hex.EncodeToString(sum[:])
		if m.stdout, err = expected(filepath.Dir(m.file), base); err != nil {
			return nil, err
		}
		found = append(found, m)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no module's name matches %s", only)
	}
	return found, nil
}

// buildPrograms builds those programs of bench/programs whose names match only into folder dir, as modules with what they print natively.
func buildPrograms(dir string, only *regexp.Regexp) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for _, name := range programs.Names() {
		if !only.MatchString(name) {
			continue
		}
		native := filepath.Join(dir, name)
		if err := errors.Join(programs.Native(name, native), programs.Module(name, native+".wasm")); err != nil {
			return err
		}
		out, err := exec.Command(native).Output()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		// What lies beside the modules is copied for each run.
		if err := errors.Join(os.WriteFile(native+".stdout.expected", out, 0o666), os.Remove(native)); err != nil {
			return err
		}
	}
	return nil
}

// expected returns the expected output of a module, in the file that is named after it or
// after its input.
func expected(dir, base string) ([]byte, error) {
	for _, name := range []string{base, "default"} {
		b, err := os.ReadFile(filepath.Join(dir, name+".stdout.expected"))
		if !os.IsNotExist(err) {
			return b, err
		}
	}
	return nil, fmt.Errorf("%s has no expected output of %s", dir, base)
}

// workingFolder copies the folder of a module, which a program may write to, to a new one.
func (m *module) workingFolder(in string) (string, error) {
	dir, err := os.MkdirTemp(in, "run")
	if err != nil {
		return "", err
	}
	from := filepath.Dir(m.file)
	return dir, fs.WalkDir(os.DirFS(from), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || strings.HasSuffix(path, ".wasm") {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(dir, path), 0o755)
		}
		b, err := os.ReadFile(filepath.Join(from, path))
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, path), b, 0o644)
	})
}
