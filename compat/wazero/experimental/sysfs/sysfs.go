// Package sysfs has file systems that instances can be given by FSConfig.WithSysFSMount. They can be mounted; called directly by a program, their
// methods return ENOSYS.
package sysfs

import (
	"github.com/tetratelabs/wazero"
	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/internal/mounts"
)

// FSConfig is what a wazero.FSConfig is, too.
type FSConfig interface {
	// WithSysFSMount mounts a file system of this package. Another one makes the instantiation fail.
	WithSysFSMount(fs experimentalsys.FS, guestPath string) wazero.FSConfig
}

// AdaptFS is a file system of package io/fs, to be read only.
type AdaptFS = mounts.AdaptFS

// ReadFS is another file system of this package, to be read only.
type ReadFS = mounts.ReadFS

// DirFS is a directory of the host. The program cannot leave it.
func DirFS(dir string) experimentalsys.FS { return mounts.DirFS(dir) }
