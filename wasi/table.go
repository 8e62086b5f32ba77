//go:build linux

package wasi

import (
	"fmt"

	"github.com/waot-project/waot/internal/abi"
)

// ModuleName is the import module of all functions here.
const ModuleName = abi.WASIModule

// Func describes one function of the import module.
type Func struct {
	// Name is the import's field name.
	Name string
	// Params and Results are the value types in order: 'i' for i32, 'l' for
	// i64. Results is "i", the errno, or empty.
	Params, Results string
	// Call runs the function. mem is the whole linear memory at this moment;
	// params has one word per parameter, of which an i32 uses the low half.
	// It returns the errno. The error is nil, or an [*ExitError] or
	// [ErrInterrupted] when the guest is to end: unwind it and run no more of it.
	Call func(c *Context, mem []byte, params []uint64) (uint32, error)
}

// ExitError reports that the guest ended itself.
type ExitError struct {
	// Code is the exit status the guest gave.
	Code uint32
}

// Error implements error.
func (e *ExitError) Error() string { return fmt.Sprintf("exit status %d", e.Code) }

// row is one function before it is wrapped for callers.
type row struct {
	name string
	fn   func(c *Context, m memory, p []uint64) Errno
}

// rows are the functions in the order of abi.WASIFunctions, which has their types.
var rows = [len(abi.WASIFunctions)]row{
	{"args_get", argsGet},
	{"args_sizes_get", argsSizesGet},
	{"clock_res_get", clockResGet},
	{"clock_time_get", clockTimeGet},
	{"environ_get", environGet},
	{"environ_sizes_get", environSizesGet},
	{"fd_advise", fdAdvise},
	{"fd_allocate", fdAllocate},
	{"fd_close", fdClose},
	{"fd_datasync", fdDatasync},
	{"fd_fdstat_get", fdFdstatGet},
	{"fd_fdstat_set_flags", fdFdstatSetFlags},
	{"fd_fdstat_set_rights", fdFdstatSetRights},
	{"fd_filestat_get", fdFilestatGet},
	{"fd_filestat_set_size", fdFilestatSetSize},
	{"fd_filestat_set_times", fdFilestatSetTimes},
	{"fd_pread", fdPread},
	{"fd_prestat_dir_name", fdPrestatDirName},
	{"fd_prestat_get", fdPrestatGet},
	{"fd_pwrite", fdPwrite},
	{"fd_read", fdRead},
	{"fd_readdir", fdReaddir},
	{"fd_renumber", fdRenumber},
	{"fd_seek", fdSeek},
	{"fd_sync", fdSync},
	{"fd_tell", fdTell},
	{"fd_write", fdWrite},
	{"path_create_directory", pathCreateDirectory},
	{"path_filestat_get", pathFilestatGet},
	{"path_filestat_set_times", pathFilestatSetTimes},
	{"path_link", pathLink},
	{"path_open", pathOpen},
	{"path_readlink", pathReadlink},
	{"path_remove_directory", pathRemoveDirectory},
	{"path_rename", pathRename},
	{"path_symlink", pathSymlink},
	{"path_unlink_file", pathUnlinkFile},
	{"poll_oneoff", pollOneoff},
	{"proc_exit", procExit},
	{"proc_raise", procRaise},
	{"random_get", randomGet},
	{"sched_yield", schedYield},
	{"sock_accept", sockAccept},
	{"sock_recv", sockRecv},
	{"sock_send", sockSend},
	{"sock_shutdown", sockShutdown},
}

// Functions returns all 46 functions of preview 1, ordered by name. The result
// is a fresh slice; its functions may serve any number of Contexts.
func Functions() []Func {
	out := make([]Func, len(rows))
	for i := range rows {
		t := &abi.WASIFunctions[i]
		// Too few parameters, and no Context, are the caller's mistake, yet answered with an errno.
		out[i] = Func{Name: t.Name, Params: t.Params, Results: t.Results, Call: func(c *Context, mem []byte, params []uint64) (uint32, error) {
			if !c.made() || len(params) < len(t.Params) {
				return uint32(ErrnoInval), nil
			}
			return rows[i].call(c, mem, params)
		}}
	}
	return out
}

// call runs one row. Being called with a closed Context is the caller's mistake, yet answered with an errno.
func (r *row) call(c *Context, mem []byte, params []uint64) (uint32, error) {
	errno := r.fn(c, memory(mem), params)
	if c.err != nil {
		err := c.err
		c.err = nil
		return uint32(errno), err
	}
	return uint32(errno), nil
}
