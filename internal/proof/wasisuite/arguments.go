package wasisuite

// Arguments says what the arguments of each function are, so that most random calls get past their first checks: d descriptor, v iovecs, n
// their number, r where a result goes, p path and its length, b buffer, z its size, o flags, w small number, R rights, s subscriptions.
func Arguments() map[string]string { return arguments }

var arguments = map[string]string{
	"args_get": "bb", "args_sizes_get": "rr", "clock_res_get": "or", "clock_time_get": "owr", "environ_get": "bb",
	"environ_sizes_get": "rr", "fd_advise": "dwwo", "fd_allocate": "dww", "fd_close": "d", "fd_datasync": "d",
	"fd_fdstat_get": "dr", "fd_fdstat_set_flags": "do", "fd_fdstat_set_rights": "dRR", "fd_filestat_get": "dr",
	"fd_filestat_set_size": "dw", "fd_filestat_set_times": "dwwo", "fd_pread": "dvnwr", "fd_prestat_dir_name": "dbz",
	"fd_prestat_get": "dr", "fd_pwrite": "dvnwr", "fd_read": "dvnr", "fd_readdir": "dbzwr", "fd_renumber": "dd",
	"fd_seek": "dwor", "fd_sync": "d", "fd_tell": "dr", "fd_write": "dvnr", "path_create_directory": "dp",
	"path_filestat_get": "dopr", "path_filestat_set_times": "dopwwo", "path_link": "dopdp", "path_open": "dopoRRor",
	"path_readlink": "dpbzr", "path_remove_directory": "dp", "path_rename": "dpdp", "path_symlink": "pdp",
	"path_unlink_file": "dp", "poll_oneoff": "sbnr", "proc_exit": "w", "proc_raise": "o", "random_get": "bz",
	"sched_yield": "", "sock_accept": "dor", "sock_recv": "dvnorr", "sock_send": "dvnor", "sock_shutdown": "do",
}
