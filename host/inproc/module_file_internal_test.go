//go:build linux && (amd64 || arm64)

package inproc

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/waot-project/waot/internal/image"
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
	if _, err := f.WriteAt(image.Append(nil, img), 2*granule); err != nil {
		return nil, err
	}
	return OpenFile(f, 2*granule, true)
}

// TestFileHeader damages each byte of the header and of the tables of relocations, of a file that is said to be undamaged: it is refused, or
// all that it says lies within it. A mistake there must not become a panic. If nothing is said, each is refused.
func TestFileHeader(t *testing.T) {
	img := newBuilder().global(meta.Global{Type: i64, Mutable: true}).
		def("count", fn(nil, vt{i64})).def("answer", fn(nil, vt{i32})).image("init")
	good := image.Append(nil, img)
	file := filepath.Join(t.TempDir(), "module")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(good, 0); err != nil {
		t.Fatal(err)
	}
	refused := 0
	for at := range 600 {
		for _, change := range []byte{1, 0x80, 0xff} {
			f.WriteAt([]byte{good[at] ^ change}, int64(at))
			if m, err := OpenFile(f, 0, true); err == nil {
				m.Close()
			} else {
				refused++
			}
			if _, err := OpenFile(f, 0, false); err == nil && at < 400 { // the header, and zeros
				t.Errorf("byte %d changed, and nobody has seen it", at)
			}
		}
		f.WriteAt(good[at:at+1], int64(at))
	}
	if refused < 100 {
		t.Errorf("%d damaged headers refused", refused)
	}
	var malformed *ImageError
	for at := 600; at < len(good); at += 97 {
		f.WriteAt([]byte{good[at] ^ 4}, int64(at))
		if _, err := OpenFile(f, 0, false); !errors.As(err, &malformed) {
			t.Errorf("byte %d changed: %v", at, err)
		}
		f.WriteAt(good[at:at+1], int64(at))
	}
	for _, size := range []int{0, 7, 100, 600, len(good) / 2, len(good) - 1} {
		if err := os.Truncate(file, int64(size)); err != nil {
			t.Fatal(err)
		}
		for _, known := range []bool{false, true} {
			if _, err := OpenFile(f, 0, known); !errors.As(err, &malformed) {
				t.Errorf("file of %d bytes: %v", size, err)
			}
		}
		if _, err := f.WriteAt(good, 0); err != nil {
			t.Fatal(err)
		}
	}
	m, err := OpenFile(f, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	m.Close()
}

// TestFileRefused: an image that Load refuses is not opened.
func TestFileRefused(t *testing.T) {
	img := newBuilder().def("answer", fn(nil, vt{i32})).image("init")
	img.Meta.ABI++
	if m, err := throughFile(t, img); err == nil {
		m.Close()
		t.Error("opened")
	}
}
