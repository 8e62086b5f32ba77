//go:build !linux

package emulate

import "os"

// Folder is a temporary folder.
type Folder struct{ Path string }

// NewFolder makes a folder in the system's temporary directory, whose name begins with
// prefix.
func NewFolder(prefix string) (*Folder, error) {
	dir, err := os.MkdirTemp("", prefix)
	return &Folder{dir}, err
}

// Remove removes the folder with all that is in it.
func (f *Folder) Remove() error { return os.RemoveAll(f.Path) }
