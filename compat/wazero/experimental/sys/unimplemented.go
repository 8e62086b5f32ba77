package sys

import (
	"io/fs"

	"github.com/tetratelabs/wazero/sys"
)

// UnimplementedFS is a file system that can do nothing, to be embedded.
type UnimplementedFS struct{}

func (UnimplementedFS) OpenFile(string, Oflag, fs.FileMode) (File, Errno) { return nil, ENOSYS }
func (UnimplementedFS) Lstat(string) (sys.Stat_t, Errno)                  { return sys.Stat_t{}, ENOSYS }
func (UnimplementedFS) Stat(string) (sys.Stat_t, Errno)                   { return sys.Stat_t{}, ENOSYS }
func (UnimplementedFS) Mkdir(string, fs.FileMode) Errno                   { return ENOSYS }
func (UnimplementedFS) Chmod(string, fs.FileMode) Errno                   { return ENOSYS }
func (UnimplementedFS) Rename(string, string) Errno                       { return ENOSYS }
func (UnimplementedFS) Rmdir(string) Errno                                { return ENOSYS }
func (UnimplementedFS) Unlink(string) Errno                               { return ENOSYS }
func (UnimplementedFS) Link(string, string) Errno                         { return ENOSYS }
func (UnimplementedFS) Symlink(string, string) Errno                      { return ENOSYS }
func (UnimplementedFS) Readlink(string) (string, Errno)                   { return "", ENOSYS }
func (UnimplementedFS) Utimens(string, int64, int64) Errno                { return ENOSYS }

// UnimplementedFile is a file that can do nothing but be synchronized and closed, to be embedded.
type UnimplementedFile struct{}

func (UnimplementedFile) Dev() (uint64, Errno)              { return 0, 0 }
func (UnimplementedFile) Ino() (sys.Inode, Errno)           { return 0, 0 }
func (UnimplementedFile) IsDir() (bool, Errno)              { return false, 0 }
func (UnimplementedFile) IsAppend() bool                    { return false }
func (UnimplementedFile) SetAppend(bool) Errno              { return ENOSYS }
func (UnimplementedFile) Stat() (sys.Stat_t, Errno)         { return sys.Stat_t{}, ENOSYS }
func (UnimplementedFile) Read([]byte) (int, Errno)          { return 0, ENOSYS }
func (UnimplementedFile) Pread([]byte, int64) (int, Errno)  { return 0, ENOSYS }
func (UnimplementedFile) Seek(int64, int) (int64, Errno)    { return 0, ENOSYS }
func (UnimplementedFile) Readdir(int) ([]Dirent, Errno)     { return nil, ENOSYS }
func (UnimplementedFile) Write([]byte) (int, Errno)         { return 0, ENOSYS }
func (UnimplementedFile) Pwrite([]byte, int64) (int, Errno) { return 0, ENOSYS }
func (UnimplementedFile) Truncate(int64) Errno              { return ENOSYS }
func (UnimplementedFile) Sync() Errno                       { return 0 }
func (UnimplementedFile) Datasync() Errno                   { return 0 }
func (UnimplementedFile) Utimens(int64, int64) Errno        { return ENOSYS }
func (UnimplementedFile) Close() Errno                      { return 0 }

// DirFile is what a directory answers where only files can do something, to be embedded.
type DirFile struct{}

func (DirFile) IsAppend() bool                    { return false }
func (DirFile) SetAppend(bool) Errno              { return EISDIR }
func (DirFile) IsDir() (bool, Errno)              { return true, 0 }
func (DirFile) Read([]byte) (int, Errno)          { return 0, EISDIR }
func (DirFile) Pread([]byte, int64) (int, Errno)  { return 0, EISDIR }
func (DirFile) Write([]byte) (int, Errno)         { return 0, EISDIR }
func (DirFile) Pwrite([]byte, int64) (int, Errno) { return 0, EISDIR }
func (DirFile) Truncate(int64) Errno              { return EISDIR }
