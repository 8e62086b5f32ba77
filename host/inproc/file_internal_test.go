//go:build linux && (amd64 || arm64)

package inproc

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/waot-project/waot/internal/meta"
)

// throughFile writes an image to a file and opens it. The file is removed at once: descriptors keep it.
func throughFile(t testing.TB, img *Image) (*Module, error) {
	f, err := os.Create(filepath.Join(t.TempDir(), "module"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	defer os.Remove(f.Name())
	if err := WriteFile(f, 2*granule, img); err != nil {
		return nil, err
	}
	return OpenFile(f, 2*granule)
}

// TestFileHeader damages each byte of the header and of the tables of relocations: the file is refused, or all that it says
// lies within it. Who opens a file knows it to be undamaged, but a mistake there must not become a panic.
func TestFileHeader(t *testing.T) {
	img := newBuilder().global(meta.Global{Type: i64, Mutable: true}).
		def("count", fn(nil, vt{i64})).def("answer", fn(nil, vt{i32})).image("init")
	file := filepath.Join(t.TempDir(), "module")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := WriteFile(f, 0, img); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for at := range 600 {
		for _, change := range []byte{1, 0x80, 0xff} {
			f.WriteAt([]byte{good[at] ^ change}, int64(at))
			if m, err := OpenFile(f, 0); err == nil {
				m.Close()
			} else {
				refused++
			}
		}
		f.WriteAt(good[at:at+1], int64(at))
	}
	if refused < 100 {
		t.Errorf("%d damaged headers refused", refused)
	}
	for _, size := range []int{0, 7, 100, 600, len(good) / 2, len(good) - 1} {
		if err := os.Truncate(file, int64(size)); err != nil {
			t.Fatal(err)
		}
		var image *ImageError
		if _, err := OpenFile(f, 0); !errors.As(err, &image) {
			t.Errorf("file of %d bytes: %v", size, err)
		}
		if _, err := f.WriteAt(good, 0); err != nil {
			t.Fatal(err)
		}
	}
	m, err := OpenFile(f, 0)
	if err != nil {
		t.Fatal(err)
	}
	m.Close()
}

// TestFileRefused: an image that Load refuses is not written.
func TestFileRefused(t *testing.T) {
	img := newBuilder().def("answer", fn(nil, vt{i32})).image("init")
	img.Meta.ABI++
	if m, err := throughFile(t, img); err == nil {
		m.Close()
		t.Error("written")
	}
}
