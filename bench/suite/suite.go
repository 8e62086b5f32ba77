// Package suite finds the modules of a benchmark suite, which are not in the tree.
//
// Place in the pipeline: none.
//
// Input: the folder of the suite, or one with other modules.
// Output: modules, with what they must print.
package suite

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// paths are the modules of the benchmarks' table, relative to the folder of modules.
const paths = `bz2/benchmark blake3-scalar/benchmark gcc-loops/benchmark pulldown-cmark/benchmark quicksort/benchmark
	richards/benchmark rust-compression/benchmark rust-json/benchmark sqlite3/sqlite3 tinygo/tinygo-json
	shootout/shootout-ackermann shootout/shootout-base64 shootout/shootout-fib2 shootout/shootout-heapsort
	shootout/shootout-keccak shootout/shootout-matrix shootout/shootout-random shootout/shootout-sieve
	shootout/shootout-switch shootout/shootout-xchacha20`

// Module is a benchmark module.
type Module struct {
	Name   string // in tables
	File   string // absolute
	SHA256 string // of the file, as hexadecimal digits
	Stdout []byte // what it must print
}

// Find reads those modules in folder dir whose names match only: of the suite, with more of it, or, if the folder itself has modules,
// all of those.
func Find(dir string, only *regexp.Regexp, more ...string) ([]*Module, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	list := append(strings.Fields(paths), more...)
	if own, _ := filepath.Glob(filepath.Join(dir, "*.wasm")); len(own) > 0 {
		list = nil
		for _, file := range own {
			list = append(list, strings.TrimSuffix(filepath.Base(file), ".wasm"))
		}
	}
	var found []*Module
	for _, path := range list {
		folder, base := filepath.Split(path)
		m := &Module{Name: base, File: filepath.Join(dir, path+".wasm")}
		if base == "benchmark" {
			m.Name = filepath.Clean(folder)
		}
		if !only.MatchString(m.Name) {
			continue
		}
		b, err := os.ReadFile(m.File)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(b)
		m.SHA256 = hex.EncodeToString(sum[:])
		if m.Stdout, err = expected(filepath.Dir(m.File), base); err != nil {
			return nil, err
		}
		found = append(found, m)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no module's name matches %s", only)
	}
	return found, nil
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

// WorkingFolder copies the folder of a module, which a program may write to, to a new one.
func (m *Module) WorkingFolder(in string) (string, error) {
	dir, err := os.MkdirTemp(in, "run")
	if err != nil {
		return "", err
	}
	from := filepath.Dir(m.File)
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
