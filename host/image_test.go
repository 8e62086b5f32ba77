//go:build linux && (amd64 || arm64)

package host_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/waot-project/waot"
	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/internal/image"
	"github.com/waot-project/waot/internal/input"
)

// imageOf returns the file of the image of an object.
func imageOf(t *testing.T, object []byte) []byte {
	return image.Append(nil, must[*image.Image](t)(load.ELF(object)))
}

// adds checks that a module adds.
func adds(t *testing.T, m *host.Module) {
	t.Helper()
	inst := must[*host.Instance](t)(newStore(t).Instantiate(bg, m, nil))
	if r, err := must[*host.Func](t)(inst.Func("add")).Call(bg, 40, 2); err != nil || r[0] != int32(42) {
		t.Error(r, err)
	}
}

// TestImage loads an image from bytes, which are destroyed afterwards, and from a file, with and without a signature.
func TestImage(t *testing.T) {
	plain := imageOf(t, object(t, "add"))
	file := filepath.Join(t.TempDir(), "add.img")
	for name, k := range signingKeys(t) {
		signed := must[[]byte](t)(waot.SignObject(plain, k[0]))
		for _, o := range []*host.LoadOptions{nil, {}, {Verify: k[1]}} {
			b := bytes.Clone(signed)
			m := must[*host.Module](t)(host.Load(b, o))
			clear(b)
			adds(t, m)
			if err := os.WriteFile(file, signed, 0o666); err != nil {
				t.Fatal(err)
			}
			m = must[*host.Module](t)(waot.LoadFile(file, o))
			if err := os.Remove(file); err != nil { // it is mapped, or has been read
				t.Fatal(err)
			}
			adds(t, m)
		}
		if err := os.WriteFile(file, plain, 0o666); err != nil {
			t.Fatal(err)
		}
		var bad *host.SignatureError
		if _, err := host.LoadFile(file, &host.LoadOptions{Verify: k[1]}); !errors.As(err, &bad) {
			t.Errorf("%s: an image that nobody has signed: %v", name, err)
		}
	}
}

// TestLoadFile: objects are read, and what is neither gives the errors of Load.
func TestLoadFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "add.o")
	if err := os.WriteFile(file, object(t, "add"), 0o666); err != nil {
		t.Fatal(err)
	}
	adds(t, must[*host.Module](t)(host.LoadFile(file, nil)))
	if err := os.WriteFile(file, []byte("wa"), 0o666); err != nil {
		t.Fatal(err)
	}
	var bad *host.ObjectError
	if _, err := host.LoadFile(file, nil); !errors.As(err, &bad) {
		t.Error(err)
	}
	if _, err := host.LoadFile(file+"x", nil); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := host.LoadFile(t.TempDir(), nil); err == nil {
		t.Error("a folder is loaded")
	}
}

// TestLargeImageFile: the limit on the size of objects holds for images too, though they are mapped and not read.
func TestLargeImageFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "add.img")
	if err := os.WriteFile(file, imageOf(t, object(t, "add")), 0o666); err != nil {
		t.Fatal(err)
	}
	adds(t, must[*host.Module](t)(host.LoadFile(file, nil)))
	if err := os.Truncate(file, input.MaxObject+1); err != nil { // zeros, which take no room on the disk
		t.Fatal(err)
	}
	var limit *host.LimitError
	if m, err := host.LoadFile(file, nil); !errors.As(err, &limit) || limit.What != "bytes of object" || limit.Limit != input.MaxObject {
		t.Error(m, err)
	}
}

// TestImageDamage flips bits and cuts: damage is an error of its type, however the image is loaded.
func TestImageDamage(t *testing.T) {
	good := imageOf(t, object(t, "add"))
	file := filepath.Join(t.TempDir(), "add.img")
	refused := func(b []byte, what string, at int) {
		t.Helper()
		if err := os.WriteFile(file, b, 0o666); err != nil {
			t.Fatal(err)
		}
		_, inFile := host.LoadFile(file, nil)
		_, inBytes := host.Load(b, nil)
		for _, err := range []error{inFile, inBytes} {
			var bad *host.ObjectError
			if !errors.As(err, &bad) {
				t.Errorf("%s %d: %v", what, at, err)
			}
		}
	}
	step := 1
	for at := 0; at < len(good); at += step {
		if at > 512 {
			step = 37
		}
		good[at] ^= 1 << (at % 8)
		refused(good, "bit of byte", at)
		good[at] ^= 1 << (at % 8)
	}
	for _, n := range []int{0, 1, 8, 100, 4096, len(good) / 2, len(good) - 1} {
		refused(good[:n], "the first bytes,", n)
	}
}
