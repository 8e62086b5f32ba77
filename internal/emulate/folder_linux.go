package emulate

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Folder is a temporary folder, which is locked as long as it is used. What a process has left
// that was killed is removed by the next one that makes a folder of the prefix.
type Folder struct {
	Path string
	lock *os.File // the folder itself
}

// NewFolder makes a folder in the system's temporary directory, whose name begins with
// prefix.
func NewFolder(prefix string) (*Folder, error) {
	sweep(os.TempDir(), prefix)
	for {
		dir, err := os.MkdirTemp("", prefix)
		if err != nil {
			return nil, err
		}
		f, err := lockFolder(dir)
		if err == nil {
			return &Folder{dir, f}, nil
		}
		// Another process took it for left over before it was locked.
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
	}
}

// Remove removes the folder with all that is in it.
func (f *Folder) Remove() error { return errors.Join(os.RemoveAll(f.Path), f.lock.Close()) }

// sweep removes the folders in dir that begin with prefix, are this user's and are not locked.
// What cannot be removed stays.
func sweep(dir, prefix string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if f, err := lockFolder(path); err == nil {
			os.RemoveAll(path)
			f.Close()
		}
	}
}

// lockFolder locks a folder, which must be this user's and no link. It is an error if somebody
// has locked it, or it is not at that path any more. The lock ends with the process; a
// child does not inherit it.
func lockFolder(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
		err = sameFolder(f, path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func sameFolder(f *os.File, path string) error {
	opened, err := f.Stat()
	if err != nil {
		return err
	}
	named, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !os.SameFile(opened, named) {
		return fs.ErrNotExist
	}
	if st, ok := opened.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
		return fs.ErrPermission
	}
	return nil
}
