package script

import (
	"archive/zip"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/waot-project/waot/internal/input"
)

// hugeSize is the size of files that must not be read, in bytes.
const hugeSize = 5 << 30

// TestLargeFiles: of scripts and their modules that are too large nothing is read, in folders and in zip files.
func TestLargeFiles(t *testing.T) {
	dir := t.TempDir()
	const script = `{"source_filename": "m.wast", "commands": [{"type": "module", "line": 1, "filename": "large.wasm"}, {"type": "module", "line": 2, "filename": "large.wat"}]}`
	if err := os.WriteFile(filepath.Join(dir, "m.json"), []byte(script), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"large.json", "large.wast", "large.wasm", "large.wat"} {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(file, nil, 0o666), os.Truncate(file, hugeSize)); err != nil { // a hole
			t.Fatal(err)
		}
	}
	packed := filepath.Join(t.TempDir(), "packed.zip")
	if err := os.WriteFile(packed, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(packed, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := zip.NewWriter(f)
	for _, name := range []string{"large.json", "large.wast"} {
		if _, err := z.CreateRaw(&zip.FileHeader{Name: name, Method: zip.Deflate, UncompressedSize64: hugeSize}); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}

	refused := func(what string, err error) {
		t.Helper()
		var limit *input.LimitError
		if !errors.As(err, &limit) || limit.Want != hugeSize || limit.Limit != maxFile {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, name := range []string{"large.json", "large.wast"} {
		_, err := Open(filepath.Join(dir, name))
		refused(name, err)
	}
	for _, group := range []string{dir, packed} {
		g, err := OpenGroup(group)
		if err != nil {
			t.Fatal(err)
		}
		_, err = g.Script("large")
		refused(group+": JSON", err)
		_, err = g.Text("large")
		refused(group+": text", err)
	}
	s, err := Open(filepath.Join(dir, "m.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range s.Commands {
		_, err := s.Module(c.Filename)
		refused(c.Filename, err)
	}
}
