// Package mounts has the file systems of package experimental/sysfs. They can be mounted; called directly by a program, their methods
// return ENOSYS.
package mounts

import (
	"fmt"
	"io/fs"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"

	"github.com/waot-project/waot/wasi"
)

// AdaptFS is a file system of package io/fs, to be read only.
type AdaptFS struct {
	experimentalsys.UnimplementedFS
	FS fs.FS
}

// Preopen returns the file system as WASI has it.
func (a *AdaptFS) Preopen() (wasi.Preopen, error) { return wasi.Preopen{FS: a.FS}, nil }

// DirFS is a directory of the host.
func DirFS(dir string) experimentalsys.FS { return &dirFS{dir: dir} }

type dirFS struct {
	experimentalsys.UnimplementedFS
	dir string
}

// Preopen returns the directory as WASI has it.
func (d *dirFS) Preopen() (wasi.Preopen, error) { return wasi.Preopen{Host: d.dir}, nil }

// String returns the directory.
func (d *dirFS) String() string { return d.dir }

// ReadFS is another file system of this package, to be read only.
type ReadFS struct{ experimentalsys.FS }

// Preopen returns the file system as WASI has it.
func (r *ReadFS) Preopen() (wasi.Preopen, error) {
	m, ok := r.FS.(interface{ Preopen() (wasi.Preopen, error) })
	if !ok {
		return wasi.Preopen{}, fmt.Errorf("waot cannot serve a %T", r.FS)
	}
	p, err := m.Preopen()
	p.ReadOnly = true
	return p, err
}
