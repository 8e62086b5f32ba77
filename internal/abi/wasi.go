package abi

// WASIModule is the import module of the functions of WASI preview 1.
const WASIModule = "wasi_snapshot_preview1"

// WASIFunc is a function of WASI: its name, and the types of its parameters and results in order, 'i' for i32, 'I' for i64.
// Results is "i", the errno, or empty.
type WASIFunc struct{ Name, Params, Results string }

// HasType reports whether t is the type of the function.
func (w *WASIFunc) HasType(t *FuncType) bool {
	return lettersOf(t.Params) == w.Params && lettersOf(t.Results) == w.Results
}

// lettersOf returns types as in WASIFunc; other types than WASI's are zero bytes.
func lettersOf(types []ValType) string {
	b := make([]byte, len(types))
	for i, v := range types {
		switch v {
		case I32:
			b[i] = 'i'
		case I64:
			b[i] = 'I'
		}
	}
	return string(b)
}

// WASIFunctions are the functions of WASI preview 1, ordered by name.
var WASIFunctions = [...]WASIFunc{
	{"args_get", "ii", "i"},
	{"args_sizes_get", "ii", "i"},
	{"clock_res_get", "ii", "i"},
	{"clock_time_get", "iIi", "i"},
	{"environ_get", "ii", "i"},
	{"environ_sizes_get", "ii", "i"},
	{"fd_advise", "iIIi", "i"},
	{"fd_allocate", "iII", "i"},
	{"fd_close", "i", "i"},
	{"fd_datasync", "i", "i"},
	{"fd_fdstat_get", "ii", "i"},
	{"fd_fdstat_set_flags", "ii", "i"},
	{"fd_fdstat_set_rights", "iII", "i"},
	{"fd_filestat_get", "ii", "i"},
	{"fd_filestat_set_size", "iI", "i"},
	{"fd_filestat_set_times", "iIIi", "i"},
	{"fd_pread", "iiiIi", "i"},
	{"fd_prestat_dir_name", "iii", "i"},
	{"fd_prestat_get", "ii", "i"},
	{"fd_pwrite", "iiiIi", "i"},
	{"fd_read", "iiii", "i"},
	{"fd_readdir", "iiiIi", "i"},
	{"fd_renumber", "ii", "i"},
	{"fd_seek", "iIii", "i"},
	{"fd_sync", "i", "i"},
	{"fd_tell", "ii", "i"},
	{"fd_write", "iiii", "i"},
	{"path_create_directory", "iii", "i"},
	{"path_filestat_get", "iiiii", "i"},
	{"path_filestat_set_times", "iiiiIIi", "i"},
	{"path_link", "iiiiiii", "i"},
	{"path_open", "iiiiiIIii", "i"},
	{"path_readlink", "iiiiii", "i"},
	{"path_remove_directory", "iii", "i"},
	{"path_rename", "iiiiii", "i"},
	{"path_symlink", "iiiii", "i"},
	{"path_unlink_file", "iii", "i"},
	{"poll_oneoff", "iiii", "i"},
	{"proc_exit", "i", ""},
	{"proc_raise", "i", "i"},
	{"random_get", "ii", "i"},
	{"sched_yield", "", "i"},
	{"sock_accept", "iii", "i"},
	{"sock_recv", "iiiiii", "i"},
	{"sock_send", "iiiii", "i"},
	{"sock_shutdown", "ii", "i"},
}
