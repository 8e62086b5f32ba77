package objfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteFileAtomic writes data to the file name so that, whatever happens, name is either what it
// was before or complete: it writes a file beside it, synchronises it and
// renames it. The file beside is removed on failure; after a kill it may stay, with a name
// that begins with a dot. An existing file keeps its permissions unless perm has more; the target
// of a symbolic link is replaced, not the link. What is not a regular file (a
// device, a pipe) is written to directly.
func WriteFileAtomic(name string, data []byte, perm fs.FileMode) (err error) {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	if st, err := os.Stat(name); err == nil && !st.Mode().IsRegular() {
		return writeDirect(name, data)
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".tmp*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(data)
	if err == nil {
		err = chmodLike(f, name, perm)
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

// chmodLike gives f the permissions it would have if it were created as name with perm.
func chmodLike(f *os.File, name string, perm fs.FileMode) error {
	if st, err := os.Stat(name); err == nil {
		return f.Chmod(st.Mode().Perm() | perm&st.Mode().Perm()>>2&0o111)
	}
	// There is no portable way to read the mask without setting it; a probe file of the
	// wanted mode shows what the system grants.
	probe := f.Name() + ".mode"
	p, err := os.OpenFile(probe, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
	if err != nil {
		return err
	}
	st, err := p.Stat()
	err = errors.Join(err, p.Close(), os.Remove(probe))
	if err != nil {
		return err
	}
	return f.Chmod(st.Mode().Perm())
}

func writeDirect(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
