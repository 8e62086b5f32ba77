package abi

// WASIModule is the import module of the functions of WASI preview 1.
const WASIModule = "wasi_snapshot_preview1"

// MarkerModule and MarkerName are the import, a function without parameters and results, whose call says where a program is to be frozen (docs/snapshots.md).
// Hosts of programs have it, too: there it does nothing.
const (
	MarkerModule = "waot"
	MarkerName   = "snapshot"
)

// WASIFunc is a function of WASI: its name, and the types of its parameters and results in order, 'i' for i32, 'l' for i64.
// Results is "i", the errno, or empty.
type WASIFunc struct{ Name, Params, Results string }

// HasType reports whether t is the type of the function.
func (w *WASIFunc) HasType(t *FuncType) bool {
	return letters(t.Params) == w.Params && letters(t.Results) == w.Results
}

// WASIFunctions are the functions of WASI preview 1, ordered by name.
var WASIFunctions = [...]WASIFunc{
	{"args_get", "ii", "i"},
	{"args_sizes_get", "ii", "i"},
	{"clock_res_get", "ii", "i"},
	{"clock_time_get", "ili", "i"},
	{"environ_get", "ii", "i"},
	{"environ_sizes_get", "ii", "i"},
	{"fd_advise", "illi", "i"},
	{"fd_allocate", "ill", "i"},
	{"fd_close", "i", "i"},
	{"fd_datasync", "i", "i"},
	{"fd_fdstat_get", "ii", "i"},
	{"fd_fdstat_set_flags", "ii", "i"},
	{"fd_fdstat_set_rights", "ill", "i"},
	{"fd_filestat_get", "ii", "i"},
	{"fd_filestat_set_size", "il", "i"},
	{"fd_filestat_set_times", "illi", "i"},
	{"fd_pread", "iiili", "i"},
	{"fd_prestat_dir_name", "iii", "i"},
	{"fd_prestat_get", "ii", "i"},
	{"fd_pwrite", "iiili", "i"},
	{"fd_read", "iiii", "i"},
	{"fd_readdir", "iiili", "i"},
	{"fd_renumber", "ii", "i"},
	{"fd_seek", "ilii", "i"},
	{"fd_sync", "i", "i"},
	{"fd_tell", "ii", "i"},
	{"fd_write", "iiii", "i"},
	{"path_create_directory", "iii", "i"},
	{"path_filestat_get", "iiiii", "i"},
	{"path_filestat_set_times", "iiiilli", "i"},
	{"path_link", "iiiiiii", "i"},
	{"path_open", "iiiiillii", "i"},
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
