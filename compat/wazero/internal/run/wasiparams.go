package run

import "strings"

// wasiParams are the names of the parameters of WASI's functions, as its description has them. A list has its address and its length.
var wasiParams = func() map[string][]string {
	m := map[string][]string{}
	for line := range strings.SplitSeq(strings.TrimSpace(`
args_get argv argv_buf
args_sizes_get result.argc result.argv_len
clock_res_get id result.resolution
clock_time_get id precision result.timestamp
environ_get environ environ_buf
environ_sizes_get result.environc result.environv_len
fd_advise fd offset len advice
fd_allocate fd offset len
fd_close fd
fd_datasync fd
fd_fdstat_get fd result.stat
fd_fdstat_set_flags fd flags
fd_fdstat_set_rights fd fs_rights_base fs_rights_inheriting
fd_filestat_get fd result.filestat
fd_filestat_set_size fd size
fd_filestat_set_times fd atim mtim fst_flags
fd_pread fd iovs iovs_len offset result.nread
fd_prestat_dir_name fd result.path result.path_len
fd_prestat_get fd result.prestat
fd_pwrite fd iovs iovs_len offset result.nwritten
fd_read fd iovs iovs_len result.nread
fd_readdir fd buf buf_len cookie result.bufused
fd_renumber fd to
fd_seek fd offset whence result.newoffset
fd_sync fd
fd_tell fd result.offset
fd_write fd iovs iovs_len result.nwritten
path_create_directory fd path path_len
path_filestat_get fd flags path path_len result.filestat
path_filestat_set_times fd flags path path_len atim mtim fst_flags
path_link old_fd old_flags old_path old_path_len new_fd new_path new_path_len
path_open fd dirflags path path_len oflags fs_rights_base fs_rights_inheriting fdflags result.opened_fd
path_readlink fd path path_len buf buf_len result.bufused
path_remove_directory fd path path_len
path_rename fd old_path old_path_len new_fd new_path new_path_len
path_symlink old_path old_path_len fd new_path new_path_len
path_unlink_file fd path path_len
poll_oneoff in out nsubscriptions result.nevents
proc_exit rval
proc_raise sig
random_get buf buf_len
sched_yield
sock_accept fd flags result.fd
sock_recv fd ri_data ri_data_len ri_flags result.ro_datalen result.ro_flags
sock_send fd si_data si_data_len si_flags result.so_datalen
sock_shutdown fd how`), "\n") {
		words := strings.Fields(line)
		if len(words) > 1 {
			m[words[0]] = words[1:]
		}
	}
	return m
}()
