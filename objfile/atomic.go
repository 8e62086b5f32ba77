package objfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// WriteFileAtomic writes data to the file name as WriteAtomic does.
func WriteFileAtomic(name string, data []byte, perm fs.FileMode) error {
	return WriteAtomic(name, perm, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// WriteAtomic writes the file name so that, whatever happens, name is either what it
// was before or complete: it writes a file beside it, synchronises it and
// renames it. The file beside is removed on failure; after a kill it may stay, with a name
// that begins with a dot. A new file gets perm less the process's mask; an existing one
// keeps its permissions and gets those to execute that perm has. The target of a symbolic
// link is replaced, not the link. What is not a regular file (a device, a
// pipe) is written to directly.
func WriteAtomic(name string, perm fs.FileMode, write func(io.Writer) error) (err error) {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	old, statErr := os.Stat(name)
	if statErr == nil && !old.Mode().IsRegular() {
		return writeDirect(name, write)
	}
	f, err := createBeside(name, perm)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	err = write(f)
	if err == nil && statErr == nil {
		err = addMode(f, old.Mode().Perm())
	}
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	return err
}

// createBeside creates a new file in the directory of name.
func createBeside(name string, perm fs.FileMode) (*os.File, error) {
	for range 1000 {
		beside := fmt.Sprintf(".%s.tmp%08x", filepath.Base(name), rand.Uint32())
		f, err := os.OpenFile(filepath.Join(filepath.Dir(name), beside), os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return nil, &fs.PathError{Op: "create a file beside", Path: name, Err: fs.ErrExist}
}

// addMode gives f the permissions old and those to execute that it was created with.
func addMode(f *os.File, old fs.FileMode) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	return f.Chmod(old | st.Mode().Perm()&0o111)
}

func writeDirect(name string, write func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
