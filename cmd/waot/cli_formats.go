package main

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/waot-project/waot/wasmfront"
)

// formats are files that are given in place of modules, by how they begin, with what to do.
var formats = []struct{ prefix, what string }{
	{"\x1f\x8b", "a gzip archive: unpack it first (gunzip)"},
	{"\x28\xb5\x2f\xfd", "a zstd archive: unpack it first (zstd -d)"},
	{"\xfd7zXZ\x00", "an xz archive: unpack it first (unxz)"},
	{"BZh", "a bzip2 archive: unpack it first (bunzip2)"},
	{"PK\x03\x04", "a zip archive: unpack it first (unzip)"},
	{"\x7fELF", "an ELF file, not a module; waot run runs objects that waot build made"},
	{"waotimg", "an image, not a module; waot run runs images that waot build made"},
	{"!<arch>\n", "a library of objects, not a module: link it first (wasm-ld)"},
	{"BC\xc0\xde", "LLVM bitcode, not a module: compile it first (llc, wasm-ld)"},
	{"\xcf\xfa\xed\xfe", "a Mach-O file, not a module"},
	{"MZ", "a Windows program, not a module"},
	{"#!", "a script, not a module"},
	{"<", "HTML or XML, not a module: was it downloaded as it should be?"},
	{"version https://git-lfs", "a pointer of Git LFS, not the module: git lfs pull gets it"},
}

// knownFormat says which of the formats a file has, empty if none.
func knownFormat(b []byte) string {
	for _, f := range formats {
		if bytes.HasPrefix(b, []byte(f.prefix)) {
			return f.what
		}
	}
	return ""
}

// formatOf says what a file is that is no module, empty if that is unknown.
func formatOf(b []byte) string {
	if what := knownFormat(b); what != "" {
		return what
	}
	const enough = 512
	head := b[:min(len(b), enough)]
	const tarMagic = 257 // where a tar archive has its magic
	switch {
	case len(b) == 0:
		return "an empty file"
	case len(b) > tarMagic && bytes.HasPrefix(b[tarMagic:], []byte("ustar")):
		return "a tar archive: unpack it first (tar xf)"
	case bytes.HasPrefix(b, []byte("\x00asm")):
		return ""
	case !bytes.ContainsFunc(head, func(r rune) bool { return r < ' ' && !strings.ContainsRune("\t\r\n\f", r) || r == utf8.RuneError }):
		return "text, but not of a module: that begins with a parenthesis or a comment"
	}
	return ""
}

// withFormat says of an error about the beginning of a module what the file is instead.
func withFormat(err error, b []byte) error {
	var e *wasmfront.Error
	if !errors.As(err, &e) || e.Offset >= len("\x00asm\x01\x00\x00\x00") || !strings.HasPrefix(e.Msg, "magic header") && len(b) > 0 {
		return err
	}
	what := formatOf(b)
	if what == "" {
		return err
	}
	told := *e
	told.Msg += ": this is " + what
	return &told
}
