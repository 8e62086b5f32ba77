package sys

import (
	"errors"
	"io"
	"io/fs"
	"strconv"
	"syscall"
)

// Errno is an error of a file system; 0 is success. The numbers are not those of any system.
type Errno uint16

// The errors.
const (
	EACCES Errno = iota + 1
	EAGAIN
	EBADF
	EEXIST
	EFAULT
	EINTR
	EINVAL
	EIO
	EISDIR
	ELOOP
	ENAMETOOLONG
	ENOENT
	ENOSYS
	ENOTDIR
	ERANGE
	ENOTEMPTY
	ENOTSOCK
	ENOTSUP
	EPERM
	EROFS
)

// errnos is what each number stands for: the wording of POSIX, and the error of Linux.
var errnos = [...]struct {
	text   string
	system syscall.Errno
}{
	0:            {"success", 0},
	EACCES:       {"permission denied", syscall.EACCES},
	EAGAIN:       {"resource unavailable, try again", syscall.EAGAIN},
	EBADF:        {"bad file descriptor", syscall.EBADF},
	EEXIST:       {"file exists", syscall.EEXIST},
	EFAULT:       {"bad address", syscall.EFAULT},
	EINTR:        {"interrupted function", syscall.EINTR},
	EINVAL:       {"invalid argument", syscall.EINVAL},
	EIO:          {"input/output error", syscall.EIO},
	EISDIR:       {"is a directory", syscall.EISDIR},
	ELOOP:        {"too many levels of symbolic links", syscall.ELOOP},
	ENAMETOOLONG: {"filename too long", syscall.ENAMETOOLONG},
	ENOENT:       {"no such file or directory", syscall.ENOENT},
	ENOSYS:       {"functionality not supported", syscall.ENOSYS},
	ENOTDIR:      {"not a directory or a symbolic link to a directory", syscall.ENOTDIR},
	ERANGE:       {"result too large", syscall.ERANGE},
	ENOTEMPTY:    {"directory not empty", syscall.ENOTEMPTY},
	ENOTSOCK:     {"not a socket", syscall.ENOTSOCK},
	ENOTSUP:      {"not supported (may be the same value as [EOPNOTSUPP])", syscall.ENOTSUP},
	EPERM:        {"operation not permitted", syscall.EPERM},
	EROFS:        {"read-only file system", syscall.EROFS},
}

// Error implements error.
func (e Errno) Error() string {
	if int(e) < len(errnos) {
		return errnos[e].text
	}
	return "Errno(" + strconv.Itoa(int(e)) + ")"
}

// Unwrap returns the error of the system.
func (e Errno) Unwrap() error {
	switch {
	case e == 0:
		return nil
	case int(e) < len(errnos):
		return errnos[e].system
	}
	return syscall.EIO
}

// UnwrapOSError returns the number for an error of packages os, fs or syscall: 0 for nil and io.EOF, EIO for what is unknown.
func UnwrapOSError(err error) Errno {
	if err == nil || err == io.EOF {
		return 0
	}
	var same Errno
	var system syscall.Errno
	switch {
	case errors.As(err, &same):
		return same
	case errors.As(err, &system):
		for e := range errnos {
			if errnos[e].system == system {
				return Errno(e)
			}
		}
		return EIO
	}
	for _, x := range []struct {
		err   error
		errno Errno
	}{{fs.ErrInvalid, EINVAL}, {fs.ErrPermission, EPERM}, {fs.ErrExist, EEXIST}, {fs.ErrNotExist, ENOENT}, {fs.ErrClosed, EBADF}} {
		if errors.Is(err, x.err) {
			return x.errno
		}
	}
	return EIO
}
