//go:build linux && (amd64 || arm64)

package inproc_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/waot-project/waot/host/inproc"
)

// loaders are the ways to a module.
var loaders = map[string]func(*testing.T, *inproc.Image) *inproc.Module{
	"image":                  fromImage,
	"file":                   fromFile,
	"bytes":                  fromBytes,
	"file without execution": fromFileRead,
}

func fromImage(t *testing.T, img *inproc.Image) *inproc.Module {
	m, err := inproc.Load(img)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func fromFile(t *testing.T, img *inproc.Image) *inproc.Module {
	f, err := os.Create(filepath.Join(t.TempDir(), "module"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(inproc.AppendImage(nil, img), 64<<10); err != nil {
		t.Fatal(err)
	}
	m, err := inproc.OpenFile(f, 64<<10, true)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// fromBytes gives the bytes of the file, and destroys them when the module is loaded.
func fromBytes(t *testing.T, img *inproc.Image) *inproc.Module {
	b := inproc.AppendImage(nil, img)
	m, err := inproc.LoadBytes(b)
	if err != nil {
		t.Fatal(err)
	}
	clear(b)
	return m
}

func fromFileRead(t *testing.T, img *inproc.Image) *inproc.Module {
	m := fromFile(t, img)
	if err := m.ReadFile(); err != nil {
		t.Fatal(err)
	}
	return m
}
