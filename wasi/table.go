//go:build linux

package wasi

import "fmt"

// ModuleName is the import module of all functions here.
const ModuleName = "wasi_snapshot_preview1"

// Func describes one function of the import module.
type Func struct {
	// Name is the import's field name.
	Name string
	// Params and Results are the value types in order: 'i' for i32, 'I' for
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
	name, params, results string
	fn                    func(c *Context, m memory, p []uint64) Errno
}

var rows = [...]row{
	{"args_get", "ii", "i", argsGet},
	{"args_sizes_get", "ii", "i", argsSizesGet},
	{"clock_res_get", "ii", "i", clockResGet},
	{"clock_time_get", "iIi", "i", clockTimeGet},
	{"environ_get", "ii", "i", environGet},
	{"environ_sizes_get", "ii", "i", environSizesGet},
	{"fd_advise", "iIIi", "i", fdAdvise},
	{"fd_allocate", "iII", "i", fdAllocate},
	{"fd_close", "i", "i", fdClose},
	{"fd_datasync", "i", "i", fdDatasync},
	{"fd_fdstat_get", "ii", "i", fdFdstatGet},
	{"fd_fdstat_set_flags", "ii", "i", fdFdstatSetFlags},
	{"fd_fdstat_set_rights", "iII", "i", fdFdstatSetRights},
	{"fd_filestat_get", "ii", "i", fdFilestatGet},
	{"fd_filestat_set_size", "iI", "i", fdFilestatSetSize},
	{"fd_filestat_set_times", "iIIi", "i", fdFilestatSetTimes},
	{"fd_pread", "iiiIi", "i", fdPread},
	{"fd_prestat_dir_name", "iii", "i", fdPrestatDirName},
	{"fd_prestat_get", "ii", "i", fdPrestatGet},
	{"fd_pwrite", "iiiIi", "i", fdPwrite},
	{"fd_read", "iiii", "i", fdRead},
	{"fd_readdir", "iiiIi", "i", fdReaddir},
	{"fd_renumber", "ii", "i", fdRenumber},
	{"fd_seek", "iIii", "i", fdSeek},
	{"fd_sync", "i", "i", fdSync},
	{"fd_tell", "ii", "i", fdTell},
	{"fd_write", "iiii", "i", fdWrite},
	{"path_create_directory", "iii", "i", pathCreateDirectory},
	{"path_filestat_get", "iiiii", "i", pathFilestatGet},
	{"path_filestat_set_times", "iiiiIIi", "i", pathFilestatSetTimes},
	{"path_link", "iiiiiii", "i", pathLink},
	{"path_open", "iiiiiIIii", "i", pathOpen},
	{"path_readlink", "iiiiii", "i", pathReadlink},
	{"path_remove_directory", "iii", "i", pathRemoveDirectory},
	{"path_rename", "iiiiii", "i", pathRename},
	{"path_symlink", "iiiii", "i", pathSymlink},
	{"path_unlink_file", "iii", "i", pathUnlinkFile},
	{"poll_oneoff", "iiii", "i", pollOneoff},
	{"proc_exit", "i", "", procExit},
	{"proc_raise", "i", "i", procRaise},
	{"random_get", "ii", "i", randomGet},
	{"sched_yield", "", "i", schedYield},
	{"sock_accept", "iii", "i", sockAccept},
	{"sock_recv", "iiiiii", "i", sockRecv},
	{"sock_send", "iiiii", "i", sockSend},
	{"sock_shutdown", "ii", "i", sockShutdown},
}

// Functions returns all 46 functions of preview 1, ordered by name. The result
// is a fresh slice; its functions may serve any number of Contexts.
func Functions() []Func {
	out := make([]Func, len(rows))
	for i := range rows {
		r := &rows[i]
		out[i] = Func{Name: r.name, Params: r.params, Results: r.results, Call: r.call}
	}
	return out
}

// call runs one row. Too few parameters or a closed Context are the caller's
// mistakes, yet answered with an errno.
func (r *row) call(c *Context, mem []byte, params []uint64) (uint32, error) {
	if len(params) < len(r.params) {
		return uint32(ErrnoInval), nil
	}
	errno := r.fn(c, memory(mem), params)
	if c.err != nil {
		err := c.err
		c.err = nil
		return uint32(errno), err
	}
	return uint32(errno), nil
}
