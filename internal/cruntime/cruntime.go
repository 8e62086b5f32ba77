// Package cruntime holds the runtime in C for programs that link objects: instances, memories, traps and WASI.
//
// Place in the pipeline: behind it. cmd/waot writes the runtime's two files; the user's C compiler compiles them and a linker
// joins them with objects of package compile. docs/embedding-c.md explains their use.
//
// Input: nothing.
// Output: the text of waot_runtime.h and waot_runtime.c, or both as files.
package cruntime

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/waot-project/waot/objfile"
)

// The files that Write writes.
const (
	HeaderFile = "waot_runtime.h"
	SourceFile = "waot_runtime.c"
)

//go:embed c
var files embed.FS

// parts are the parts of the source, in this order. A part may use what earlier ones define.
var parts = [...]string{"heap.c", "core.c", "objects.c", "fields.c", "wasi.c"}

// Header returns the text of waot_runtime.h.
func Header() []byte { return part(HeaderFile) }

// Source returns the text of waot_runtime.c.
func Source() []byte {
	var b bytes.Buffer
	b.WriteString("/* waot_runtime.c: the runtime of programs that waot has compiled, for C and C++. Compile it once and link it. */\n")
	for _, name := range parts {
		fmt.Fprintf(&b, "\n#line 1 %q\n", name)
		b.Write(part(name))
	}
	return b.Bytes()
}

// part returns one of the embedded files; nothing for one that does not exist.
func part(name string) []byte {
	b, err := fs.ReadFile(files, "c/"+name)
	if err != nil {
		return nil
	}
	return b
}

// Write writes both files into the folder dir, which must exist.
func Write(dir string) error {
	if err := objfile.WriteFileAtomic(filepath.Join(dir, HeaderFile), Header(), 0o666); err != nil {
		return err
	}
	return objfile.WriteFileAtomic(filepath.Join(dir, SourceFile), Source(), 0o666)
}
