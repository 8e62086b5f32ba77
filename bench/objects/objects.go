// Package objects has kernels with structures, arrays and references to functions, in the text format, for measurements and tests. A
// kernel is a WASI program that has bench.start and bench.end around what is measured, and prints its name and a checksum.
//
// Place in the pipeline: none.
//
// Input: how much a kernel does.
// Output: its module.
package objects

import (
	"cmp"
	"embed"
	"fmt"
	"strings"
	"text/template"

	"github.com/waot-project/waot/wasmfront/wat"
)

// Kernel is a program that does one thing as often as its size says.
type Kernel struct {
	Name string
	// Size makes it take a third of a second to a second, and Small a few milliseconds.
	Size, Small int
	// Checksum is that of Size, of which V8 was the judge.
	Checksum uint32
	// Text is the name of the kernel whose text it has, or empty.
	Text string
}

// Line is the last line that a kernel prints.
func (k *Kernel) Line() string { return fmt.Sprintf("%s %08x\n", k.Name, k.Checksum) }

// Kernels returns those that do what programs do.
func Kernels() []Kernel {
	return []Kernel{
		{"closures", 60_000, 20, 0x0fc4fc40, ""},
		{"maps", 120, 1, 0x6b9ed17e, ""},
		{"rays", 400, 1, 0xec872b3a, ""},
		{"strings", 500, 1, 0x2e22cb2a, ""},
		{"trees", 800, 1, 0x8848f3de, ""},
	}
}

// Parts returns those that do one thing only, which the size counts: allocations, and the loop around them without any; casts, and the loop
// around them; and, of pauses, 64 KiB that live while other objects are made, and of dropped, that do not.
func Parts() []Kernel {
	return []Kernel{
		{"alloc", 100_000_000, 1000, 0x602eb0a7, ""},
		{"ring", 100_000_000, 1000, 0x6c98ddd2, ""},
		{"casts", 300_000_000, 1000, 0x33438e80, ""},
		{"loads", 300_000_000, 1000, 0x33438e80, ""},
		{"pauses", 1024, 1, 0x003ffc00, ""},
		{"dropped", 1024, 1, 0, "pauses"},
	}
}

//go:embed wat/*.wat
var texts embed.FS

// Module returns the kernel with another size as a binary module.
func (k *Kernel) Module(size int) ([]byte, error) {
	file := cmp.Or(k.Text, k.Name) + ".wat"
	t, err := template.ParseFS(texts, "wat/common.wat", "wat/"+file)
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	text.WriteString("(module\n")
	for _, file := range []string{"common.wat", file} {
		if err := t.ExecuteTemplate(&text, file, struct {
			Name string
			Size int
		}{k.Name, size}); err != nil {
			return nil, err
		}
	}
	text.WriteString(")\n")
	m, err := wat.Assemble([]byte(text.String()))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", k.Name, err)
	}
	return m.Wasm, nil
}
