// Package wasi implements WASI preview 1 (the import module
// "wasi_snapshot_preview1") for Linux hosts written in Go.
//
// It stands beside the pipeline, not in it: a host that runs compiled code
// looks up the functions of [Functions] by name, and calls them with a
// [Context], the instance's linear memory and the raw arguments. The package
// knows no compiler, no object format and no engine.
//
// Input: [Options] naming everything the guest may reach; then, per call, the
// linear memory as one slice and the arguments as 64-bit words.
// Output: an errno per call, results written to linear memory, or an
// [ExitError] when the guest ends itself, or [ErrInterrupted].
//
// # Confinement
//
// A guest reaches only the descriptors of its Context. Every path is resolved
// by openat2 with RESOLVE_BENEATH, so the kernel refuses to leave the
// directory by "..", an absolute path or a symbolic link; where openat2 is not
// available the package walks the path itself, one component at a time, with
// O_NOFOLLOW. Operations on a name (unlink, rename, link and so on) resolve the
// parent this way and then act on one component that is neither empty, "." nor
// "..", never through a trailing slash. Symbolic links with absolute targets
// can be neither created nor read. A read-only preopen, and all that is opened
// through it, refuses each mutation with EROFS. A preopened [io/fs.FS] is always
// read-only; ".." is resolved here and cannot leave it, and where symbolic links
// lead is up to the FS.
//
// No path leads to the files by which the kernel shows processes and the machine
// (procfs, sysfs and the like): opening or creating anything there is
// EACCES, and none of their directories can be preopened. The file system
// of the file that was reached decides, not its name, so that mounts and links do not
// matter. The guest can still tell whether a name exists there. Devices are EACCES as
// well, unless [Preopen.Devices] says otherwise, except null, zero, full, random and
// urandom. FIFOs and sockets behave like other files. The package first inspects a file through a
// descriptor with O_PATH, which does nothing to the file, and then opens that very file
// through the descriptor, so that nobody can exchange it in between.
//
// # Waiting
//
// A call that has to wait does so in a system call that the garbage collector
// and other goroutines need not wait for. With [Context.SetInterrupt] such calls
// end when a channel is closed: transfers are tried without waiting, and poll
// waits, on one more descriptor that becomes ready when the channel is closed. Without
// it there are no such system calls.
//
// # Arguments are hostile
//
// No argument makes a call panic. A range outside of the memory is EFAULT.
// Work and host memory per call are bounded: at most 1,024 iovecs, 2 GiB per
// transfer, 16,384 subscriptions, 4,095 bytes of path; the number of
// descriptors is limited by [Options.MaxOpen].
//
// # Rights
//
// Only a descriptor opened for reading can be read, and only one opened for
// writing can be written. Any other right is withheld when a guest has dropped
// it with fd_fdstat_set_rights, from the descriptor or, if inheriting, from everything
// opened through it. A right that the guest merely did not request from path_open
// exists nonetheless: Go's, Rust's and Zig's libraries each request fewer than
// they use. Guests are told the rights they requested.
//
// # Stability
//
// This package is part of the stable API, which package waot describes.
package wasi
