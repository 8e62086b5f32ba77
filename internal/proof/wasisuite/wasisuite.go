// Package wasisuite reads the official tests of WASI preview 1, and says how to make random calls of its functions.
//
// Place in the pipeline: none; for tests of everything that gives programs WASI.
//
// Input: the folder of the tests, three archives.
// Output: tests: modules, with what each is given and must do.
package wasisuite

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/internal/proof/testenv"
)

// Count is how many tests there are.
const Count = 72

// Test is a test: a program, what it is given, and what it must do.
type Test struct {
	Name string // language/name
	Wasm []byte
	Args []string // argv[0] first
	Env  []string // NAME=value
	// ExitCode is the exit status, Stdout what the program must print, if it is not nil.
	ExitCode int
	Stdout   *string

	root  string // in the archive, the files of the directory that the program sees as "/"; empty if it has none
	files *zip.Reader
}

// sample are programs of each language, with files and without.
var sample = []string{
	"environ_get-multiple-variables", "fd_write-to-stdout", "proc_exit-failure", "fdopendir-with-access", "fd_readdir",
	"file_unbuffered_write", "path_rename", "symlink_filestat", "stdio", "poll_oneoff_stdio",
}

// Run runs f on each test or, unless the tests are to be complete, on a sample, as subtests. It checks that all are there.
func Run(t *testing.T, complete bool, f func(t *testing.T, test *Test)) {
	dir := testenv.Material(t, testenv.EnvWASI)
	n := 0
	for _, lang := range []string{"assemblyscript", "c", "rust"} {
		archive, err := zip.OpenReader(filepath.Join(dir, lang+".zip"))
		if err != nil {
			t.Fatal(err)
		}
		defer archive.Close()
		for _, file := range archive.File {
			base, ok := strings.CutSuffix(path.Base(file.Name), ".wasm")
			if !ok {
				continue
			}
			n++
			if !complete && !slices.Contains(sample, base) {
				continue
			}
			t.Run(lang+"/"+base, func(t *testing.T) {
				test, err := read(&archive.Reader, file.Name)
				if err != nil {
					t.Fatal(err)
				}
				test.Name = lang + "/" + base
				f(t, test)
			})
		}
	}
	if n != Count {
		t.Errorf("%d tests, want %d", n, Count)
	}
}

// read reads the test whose module has that name in an archive. Its description has the name with .json; not all have one.
func read(files *zip.Reader, name string) (*Test, error) {
	test := &Test{files: files, Args: []string{path.Base(name)}}
	var err error
	if test.Wasm, err = content(files, name); err != nil {
		return nil, err
	}
	b, err := content(files, strings.TrimSuffix(name, ".wasm")+".json")
	if os.IsNotExist(err) {
		return test, nil
	}
	if err != nil {
		return nil, err
	}
	var spec struct {
		Args     []string
		Env      map[string]string
		Root     *string
		ExitCode int `json:"exit_code"`
		Stdout   *string
	}
	if err := json.Unmarshal(b, &spec); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	test.Args = append(test.Args, spec.Args...)
	for _, k := range slices.Sorted(maps.Keys(spec.Env)) {
		test.Env = append(test.Env, k+"="+spec.Env[k])
	}
	if spec.Root != nil {
		test.root = path.Join(path.Dir(name), *spec.Root) + "/"
	}
	test.ExitCode, test.Stdout = spec.ExitCode, spec.Stdout
	return test, nil
}

// content reads a file of an archive.
func content(files *zip.Reader, name string) ([]byte, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// Directory makes the directory that the program is to see as "/", which lasts as long as t. It returns "" if there is none.
func (test *Test) Directory(t *testing.T) string {
	if test.root == "" {
		return ""
	}
	dir := t.TempDir()
	for _, f := range test.files.File {
		name, ok := strings.CutPrefix(f.Name, test.root)
		if !ok || strings.HasSuffix(name, "/") {
			continue
		}
		b, err := content(test.files, f.Name)
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
