// Package vectors has kernels with vectors, for measurements and tests: C with the intrinsics of wasm_simd128.h, in the folder c, and the modules
// that build.sh there makes of it. A kernel is a WASI program that needs fd_write, and bench.start and bench.end around what is measured. It
// compares its results with those of scalar code, and prints its name and a checksum only if they are equal. The line is in the
// file NAME.stdout.expected, where programs that run benchmark modules look for it.
//
// Place in the pipeline: none.
//
// Input: the name of a kernel.
// Output: its module.
package vectors

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed *.wasm
var modules embed.FS

// Names returns the names of the kernels in alphabetical order.
func Names() (names []string) {
	files, err := fs.Glob(modules, "*.wasm")
	if err != nil {
		panic(err) // the pattern is right
	}
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f, ".wasm"))
	}
	return names
}

// Module returns the module of a kernel.
func Module(name string) ([]byte, error) { return modules.ReadFile(name + ".wasm") }

// Expected returns what a kernel prints.
func Expected(name string) (string, error) {
	b, err := expected.ReadFile(name + ".stdout.expected")
	return string(b), err
}

//go:embed *.expected
var expected embed.FS
