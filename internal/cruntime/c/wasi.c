/* WASI preview 1 (the import module wasi_snapshot_preview1) for C hosts on Linux.
 *
 * Place in the pipeline: behind core.c in the one source of the C runtime. Compiled code imports the 46
 * functions at the end of this file; core.c says which instance calls.
 *
 * Input: waot_wasi_config, which names all that an instance may reach; then the arguments of each call, and
 * the instance's memory 0. Output: an error number of WASI per call, results in that memory, or
 * waot_exit_guest. Linux is asked by system calls alone; their results are values, or negative error numbers.
 *
 * Confinement. A guest reaches only its own descriptors. The kernel resolves each path by openat2 with
 * RESOLVE_BENEATH; where that is missing, wasi_walk opens one component after the other with O_NOFOLLOW.
 * Operations on a name resolve its parent in this way, and then act on one component that is neither "." nor
 * "..". Nothing that is reached by a path lies on the kernel's own file systems (wasi_kernel_files), and device
 * files are refused but for a few (wasi_openable). What is to be opened is looked at first through a descriptor
 * with O_PATH, which does nothing to the file, and then opened through that descriptor.
 *
 * Arguments are hostile. All access to the guest's memory goes through wasi_guest, which computes its bound in
 * 64 bits. Work and memory of a call are bounded: WASI_MAX_IOVECS buffers, WASI_MAX_TRANSFER bytes,
 * WASI_MAX_SUBSCRIPTIONS, WASI_PATH_SIZE; and WASI_MAX_OPEN descriptors.
 *
 * Package wasi of this project is the same in Go, and tests compare both. */

#include <stdbool.h>

#include "waot_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Limits ---- */

enum {
	WASI_MAX_OPEN = 4096,          /* descriptors; what waot_wasi_open opens is always allowed */
	WASI_MAX_IOVECS = 1024,        /* as IOV_MAX of Linux */
	WASI_MAX_TRANSFER = 0x7ffff000, /* bytes, as Linux limits its own */
	WASI_PATH_SIZE = 4096,         /* bytes of a path with its NUL, as PATH_MAX */
	WASI_NAME_SIZE = 256,          /* bytes of a component with its NUL, as NAME_MAX has it */
	WASI_MAX_SUBSCRIPTIONS = 16384,
	WASI_MAX_LINKS = 40,           /* links followed in one path, as Linux has it */
	WASI_MAX_DEPTH = 256,          /* directories that wasi_walk holds open */
	WASI_MIN_DIRENTS = 1024,       /* bytes; the longest entry has 280 */
	WASI_MAX_DIRENTS = 32768,
	WASI_TRIES = 16                /* when somebody else exchanges files meanwhile */
};

/* ---- Linux ---- */

/* WASI_SYSCALLS has each call that is made, and its numbers on x86-64 and AArch64. */
#define WASI_SYSCALLS(row) \
	row(read, 0, 63) row(write, 1, 64) row(close, 3, 57) row(lseek, 8, 62) row(mmap, 9, 222) row(munmap, 11, 215) \
	row(ioctl, 16, 29) row(pread64, 17, 67) row(pwrite64, 18, 68) \
	row(readv, 19, 65) row(writev, 20, 66) row(sched_yield, 24, 124) row(getpid, 39, 172) row(sendmsg, 46, 211) \
	row(recvmsg, 47, 212) row(shutdown, 48, 210) row(getsockopt, 55, 209) row(fcntl, 72, 25) row(fsync, 74, 82) \
	row(fdatasync, 75, 83) row(ftruncate, 77, 46) row(getrlimit, 97, 163) \
	row(fstatfs, 138, 44) row(getdents64, 217, 61) row(fadvise64, 221, 223) row(clock_gettime, 228, 113) \
	row(openat, 257, 56) row(mkdirat, 258, 34) row(unlinkat, 263, 35) row(renameat, 264, 38) row(linkat, 265, 37) \
	row(symlinkat, 266, 36) row(readlinkat, 267, 78) row(ppoll, 271, 73) row(utimensat, 280, 88) \
	row(fallocate, 285, 47) row(accept4, 288, 242) row(preadv, 295, 69) row(pwritev, 296, 70) \
	row(getrandom, 318, 278) row(statx, 332, 291) row(openat2, 437, 437)

#if defined(__x86_64__)
#define WASI_MACHINE(x64, a64) x64
#elif defined(__aarch64__)
#define WASI_MACHINE(x64, a64) a64
#else
#error "waot supports x86-64 and AArch64"
#endif
#define WASI_SYS_ROW(name, x64, a64) WASI_SYS_##name = WASI_MACHINE(x64, a64),
enum { WASI_SYSCALLS(WASI_SYS_ROW) WASI_SYS_end };

/* Flags and numbers. Those that are not WASI_MACHINE are the same on both machines. */
enum {
	WASI_O_WRONLY = 1, WASI_O_RDWR = 2, WASI_O_CREAT = 0x40, WASI_O_EXCL = 0x80, WASI_O_NOCTTY = 0x100,
	WASI_O_TRUNC = 0x200, WASI_O_APPEND = 0x400, WASI_O_NONBLOCK = 0x800, WASI_O_DSYNC = 0x1000,
	WASI_O_DIRECTORY = WASI_MACHINE(0x10000, 0x4000), WASI_O_NOFOLLOW = WASI_MACHINE(0x20000, 0x8000), WASI_O_CLOEXEC = 0x80000, WASI_O_SYNC = 0x101000, WASI_O_PATH = 0x200000,
	WASI_AT_FDCWD = -100, WASI_AT_NOFOLLOW = 0x100, WASI_AT_REMOVEDIR = 0x200, WASI_AT_EMPTY_PATH = 0x1000,
	WASI_RESOLVE_NO_MAGICLINKS = 2, WASI_RESOLVE_BENEATH = 8,
	WASI_F_GETFD = 1, WASI_F_GETFL = 3, WASI_F_SETFL = 4, WASI_F_DUPFD_CLOEXEC = 1030,
	WASI_FIONREAD = 0x541b, WASI_TCGETS = 0x5401,
	WASI_POLLIN = 1, WASI_POLLOUT = 4, WASI_POLLHUP = 0x10, WASI_POLLNVAL = 0x20,
	WASI_MSG_PEEK = 2, WASI_MSG_TRUNC = 0x20, WASI_MSG_DONTWAIT = 0x40, WASI_MSG_WAITALL = 0x100, WASI_MSG_NOSIGNAL = 0x4000,
	WASI_UTIME_NOW = 0x3fffffff, WASI_UTIME_OMIT = 0x3ffffffe,
	WASI_SEEK_SET = 0, WASI_SEEK_CUR = 1, WASI_SEEK_END = 2,
	WASI_S_IFMT = 0xf000, WASI_S_IFIFO = 0x1000, WASI_S_IFCHR = 0x2000, WASI_S_IFDIR = 0x4000, WASI_S_IFBLK = 0x6000,
	WASI_S_IFREG = 0x8000, WASI_S_IFLNK = 0xa000, WASI_S_IFSOCK = 0xc000,
	WASI_PROCFS = 0x9fa0
};

/* Linux's error numbers that are looked at or given here. */
enum {
	WASI_H_PERM = 1, WASI_H_NOENT = 2, WASI_H_INTR = 4, WASI_H_2BIG = 7, WASI_H_BADF = 9, WASI_H_AGAIN = 11, WASI_H_NOMEM = 12,
	WASI_H_ACCES = 13, WASI_H_BUSY = 16, WASI_H_EXIST = 17, WASI_H_XDEV = 18, WASI_H_NOTDIR = 20, WASI_H_ISDIR = 21,
	WASI_H_INVAL = 22, WASI_H_NFILE = 23, WASI_H_MFILE = 24, WASI_H_SPIPE = 29, WASI_H_NAMETOOLONG = 36, WASI_H_NOSYS = 38, WASI_H_NOTEMPTY = 39,
	WASI_H_LOOP = 40, WASI_H_NOTSOCK = 88, WASI_H_CONNABORTED = 103
};

typedef struct wasi_timespec { int64_t sec, nsec; } wasi_timespec;
typedef struct wasi_iovec { uint8_t *base; uint64_t len; } wasi_iovec;
typedef struct wasi_pollfd { int32_t fd; int16_t events, revents; } wasi_pollfd;
typedef struct wasi_msghdr {
	void *name; uint64_t name_len;
	wasi_iovec *iov; uint64_t iov_len;
	void *control; uint64_t control_len;
	int64_t flags;
} wasi_msghdr;
typedef struct wasi_open_how { uint64_t flags, mode, resolve; } wasi_open_how;
typedef struct wasi_stat_time { int64_t sec; uint32_t nsec; int32_t pad; } wasi_stat_time;
typedef struct wasi_stat { /* statx's, which both machines share */
	uint32_t mask, blksize;
	uint64_t attributes;
	uint32_t nlink, uid, gid;
	uint16_t mode, pad;
	uint64_t ino, size, blocks, attributes_mask;
	wasi_stat_time atime, btime, ctime, mtime;
	uint32_t rdev_major, rdev_minor, dev_major, dev_minor;
	uint64_t rest[14];
} wasi_stat;
typedef char wasi_stat_has_256_bytes[sizeof(wasi_stat) == 256 ? 1 : -1];

#define WASI_PTR(p) ((long)(uintptr_t)(p))

/* WASI_SHARED is for functions with many callers, into which compilers would copy them even for size. */
#define WASI_SHARED __attribute__((noinline))

static WASI_SHARED long wasi_sys(long n, long a, long b, long c, long d)
{
	return core_sys(n, a, b, c, d, 0, 0);
}

/* wasi_sys_quiet makes a call, which may raise a signal if `signals` says so; core_quiet. */
static WASI_SHARED long wasi_sys_quiet(bool signals, long n, long a, long b, long c, long d, long whole)
{
	return signals ? core_quiet(n, a, b, c, d, whole) : wasi_sys(n, a, b, c, d);
}

/* wasi_shut closes a descriptor. Linux frees it even where it reports an error, so there is no second try. */
static WASI_SHARED int64_t wasi_shut(int64_t fd)
{
	int64_t r = waot_sys_call(WASI_SYS_close, (long)fd, 0, 0, 0, 0, 0);
	return r == -WASI_H_INTR ? 0 : r;
}

/* wasi_dup duplicates fd, to a number behind those of the standard streams. */
static WASI_SHARED int64_t wasi_dup(int64_t fd)
{
	const int first = 3;
	int64_t r = wasi_sys(WASI_SYS_fcntl, (long)fd, WASI_F_DUPFD_CLOEXEC, first, 0);
	return r == -WASI_H_INVAL ? -WASI_H_MFILE : r; /* EINVAL: the limit is not higher than first */
}

/* wasi_opened is for what has just been opened: where a standard stream is closed, it has got the stream's number, which programs write to
 * without asking what is there, and gets another one. */
static WASI_SHARED int64_t wasi_opened(int64_t fd)
{
	if (fd < 0 || fd > 2)
		return fd;
	int64_t r = wasi_dup(fd);
	wasi_shut(fd);
	return r;
}

static void *wasi_map(size_t size)
{
	long r = (long)core_sys(WASI_SYS_mmap, 0, (long)size, 3 /* read, write */, 0x22 /* private, anonymous */, -1, 0);
	return r < 0 ? NULL : (void *)(uintptr_t)r;
}

static void wasi_unmap(void *p, size_t size)
{
	wasi_sys(WASI_SYS_munmap, WASI_PTR(p), (long)size, 0, 0);
}

static WASI_SHARED int64_t wasi_openat(int64_t dir, const char *name, int flags, int mode)
{
	return wasi_opened(wasi_sys(WASI_SYS_openat, (long)dir, WASI_PTR(name), flags | WASI_O_CLOEXEC, mode));
}

static int64_t wasi_openat2(int64_t dir, const char *path, int flags)
{
	wasi_open_how how;
	how.flags = (uint64_t)(flags | WASI_O_CLOEXEC);
	how.mode = 0;
	how.resolve = WASI_RESOLVE_BENEATH | WASI_RESOLVE_NO_MAGICLINKS;
	return wasi_opened(wasi_sys(WASI_SYS_openat2, (long)dir, WASI_PTR(path), WASI_PTR(&how), sizeof how));
}

/* wasi_stat_at describes name in dir, not following it; an empty name is dir itself, which may be open with O_PATH. */
static WASI_SHARED int64_t wasi_stat_at(int64_t dir, const char *name, wasi_stat *st)
{
	const long basic = 0x7ff; /* all that stat has */
	return core_sys(WASI_SYS_statx, (long)dir, WASI_PTR(name), WASI_AT_NOFOLLOW | WASI_AT_EMPTY_PATH, basic, WASI_PTR(st), 0);
}

/* wasi_device gives a device number as the kernel writes it into 32 bits. */
static uint64_t wasi_device(uint32_t major, uint32_t minor)
{
	return (minor & 0xff) | (uint64_t)major << 8 | (uint64_t)(minor & ~0xffu) << 12;
}

static uint64_t wasi_dev_of(const wasi_stat *st) { return wasi_device(st->dev_major, st->dev_minor); }

static uint64_t wasi_clock(int clock)
{
	wasi_timespec ts;
	wasi_sys(WASI_SYS_clock_gettime, clock, WASI_PTR(&ts), 0, 0);
	return (uint64_t)ts.sec * 1000000000u + (uint64_t)ts.nsec;
}

/* wasi_poll waits until a descriptor is ready or ns nanoseconds have passed; negative means without end. */
static int64_t wasi_poll(wasi_pollfd *fds, size_t n, int64_t ns)
{
	const int monotonic = 1;
	uint64_t start = ns > 0 ? wasi_clock(monotonic) : 0;
	int64_t left = ns;
	for (;;) {
		wasi_timespec ts;
		ts.sec = left / 1000000000;
		ts.nsec = left % 1000000000;
		int64_t r = waot_sys_call(WASI_SYS_ppoll, WASI_PTR(fds), (long)n, ns < 0 ? 0 : WASI_PTR(&ts), 0, 0, 0);
		if (r != -WASI_H_INTR)
			return r;
		if (ns > 0) {
			uint64_t passed = wasi_clock(monotonic) - start;
			left = passed < (uint64_t)ns ? ns - (int64_t)passed : 0;
		}
	}
}

/* wasi_wait waits, for at most ns nanoseconds, until fd is ready for events, and reports whether it is. */
static WASI_SHARED bool wasi_wait(int fd, int events, int64_t ns)
{
	wasi_pollfd p;
	p.fd = fd;
	p.events = (int16_t)events;
	p.revents = 0;
	return wasi_poll(&p, 1, ns) != 0;
}

static size_t wasi_length(const char *s)
{
	const char *p = s;
	while (*p)
		p++;
	return (size_t)(p - s);
}

static bool wasi_is_terminal(int fd)
{
	uint64_t termios[8]; /* larger than any */
	return wasi_sys(WASI_SYS_ioctl, fd, WASI_TCGETS, WASI_PTR(termios), 0) == 0;
}

/* ---- WASI's numbers ---- */

/* Error numbers that are given here; others come from wasi_errnos. */
enum {
	WASI_OK = 0, WASI_EACCES = 2, WASI_EAGAIN = 6, WASI_EBADF = 8, WASI_EBUSY = 10, WASI_EEXIST = 20, WASI_EFAULT = 21,
	WASI_EINVAL = 28, WASI_EIO = 29, WASI_EISDIR = 31, WASI_ELOOP = 32, WASI_EMFILE = 33, WASI_ENAMETOOLONG = 37,
	WASI_ENOENT = 44, WASI_ENOMEM = 48, WASI_ENOTDIR = 54, WASI_ENOTEMPTY = 55, WASI_ENOTSOCK = 57, WASI_ENOTSUP = 58,
	WASI_EPERM = 63, WASI_EROFS = 69, WASI_ESPIPE = 70, WASI_ENOTCAPABLE = 76
};

/* wasi_errnos has WASI's number for each of Linux's; what WASI does not know is EIO (29). */
static const uint8_t wasi_errnos[] = {
	/*   0 */ 0, 63, 44, 71, 27, 29, 60, 1, 45, 8,
	/*  10 */ 12, 6, 48, 2, 21, 29, 10, 20, 75, 43,
	/*  20 */ 54, 31, 28, 41, 33, 59, 74, 22, 51, 70,
	/*  30 */ 69, 34, 64, 18, 68, 16, 37, 46, 52, 55,
	/*  40 */ 32, 29, 49, 24, 29, 29, 29, 29, 29, 29,
	/*  50 */ 29, 29, 29, 29, 29, 29, 29, 29, 29, 29,
	/*  60 */ 29, 29, 29, 29, 29, 29, 29, 47, 29, 29,
	/*  70 */ 29, 65, 36, 29, 9, 61, 29, 29, 29, 29,
	/*  80 */ 29, 29, 29, 29, 25, 29, 29, 29, 57, 17,
	/*  90 */ 35, 67, 50, 66, 29, 58, 29, 5, 3, 4,
	/* 100 */ 38, 40, 39, 13, 15, 42, 30, 53, 29, 29,
	/* 110 */ 73, 14, 29, 23, 7, 26, 72, 29, 29, 29,
	/* 120 */ 29, 29, 19, 29, 29, 11, 29, 29, 29, 29,
	/* 130 */ 62, 56,
};

/* wasi_errno gives WASI's number for the result of a system call. */
static WASI_SHARED int32_t wasi_errno(int64_t result)
{
	if (result >= 0)
		return WASI_OK;
	if (result <= -(int64_t)sizeof wasi_errnos)
		return WASI_EIO;
	return wasi_errnos[-result];
}

enum { /* rights */
	WASI_R_DATASYNC = 1 << 0, WASI_R_READ = 1 << 1, WASI_R_SEEK = 1 << 2, WASI_R_SET_FLAGS = 1 << 3, WASI_R_SYNC = 1 << 4,
	WASI_R_TELL = 1 << 5, WASI_R_WRITE = 1 << 6, WASI_R_ADVISE = 1 << 7, WASI_R_ALLOCATE = 1 << 8,
	WASI_R_CREATE_DIRECTORY = 1 << 9, WASI_R_CREATE_FILE = 1 << 10, WASI_R_LINK_SOURCE = 1 << 11,
	WASI_R_LINK_TARGET = 1 << 12, WASI_R_OPEN = 1 << 13, WASI_R_READDIR = 1 << 14, WASI_R_READLINK = 1 << 15,
	WASI_R_RENAME_SOURCE = 1 << 16, WASI_R_RENAME_TARGET = 1 << 17, WASI_R_PATH_STAT = 1 << 18,
	WASI_R_PATH_SET_SIZE = 1 << 19, WASI_R_PATH_SET_TIMES = 1 << 20, WASI_R_STAT = 1 << 21, WASI_R_SET_SIZE = 1 << 22,
	WASI_R_SET_TIMES = 1 << 23, WASI_R_SYMLINK = 1 << 24, WASI_R_REMOVE_DIRECTORY = 1 << 25, WASI_R_UNLINK = 1 << 26,
	WASI_R_POLL = 1 << 27, WASI_R_SHUTDOWN = 1 << 28, WASI_R_ACCEPT = 1 << 29,
	WASI_R_ALL = (1 << 30) - 1,
	/* What a directory can hold, a socket, and anything else. */
	WASI_R_DIR = WASI_R_DATASYNC | WASI_R_SET_FLAGS | WASI_R_SYNC | (WASI_R_SET_SIZE - WASI_R_CREATE_DIRECTORY) |
		WASI_R_SET_TIMES | WASI_R_SYMLINK | WASI_R_REMOVE_DIRECTORY | WASI_R_UNLINK,
	WASI_R_SOCKET = WASI_R_READ | WASI_R_WRITE | WASI_R_SET_FLAGS | WASI_R_STAT | WASI_R_POLL | WASI_R_SHUTDOWN | WASI_R_ACCEPT,
	WASI_R_FILE = (WASI_R_CREATE_DIRECTORY - WASI_R_DATASYNC) | WASI_R_STAT | WASI_R_SET_SIZE | WASI_R_SET_TIMES | WASI_R_POLL,
	/* What nobody holds below a read-only directory. */
	WASI_R_MUTATE = WASI_R_WRITE | WASI_R_ALLOCATE | WASI_R_CREATE_DIRECTORY | WASI_R_CREATE_FILE | WASI_R_LINK_SOURCE |
		WASI_R_LINK_TARGET | WASI_R_RENAME_SOURCE | WASI_R_RENAME_TARGET | WASI_R_PATH_SET_SIZE | WASI_R_PATH_SET_TIMES |
		WASI_R_SET_SIZE | WASI_R_SET_TIMES | WASI_R_SYMLINK | WASI_R_REMOVE_DIRECTORY | WASI_R_UNLINK
};

enum { /* file types */
	WASI_T_UNKNOWN, WASI_T_BLOCK, WASI_T_CHARACTER, WASI_T_DIRECTORY, WASI_T_REGULAR, WASI_T_DGRAM, WASI_T_STREAM, WASI_T_SYMLINK
};
enum { /* fdflags */
	WASI_APPEND = 1, WASI_DSYNC = 2, WASI_NONBLOCK = 4, WASI_RSYNC = 8, WASI_SYNC = 16,
	WASI_FLAGS_SYNC = WASI_DSYNC | WASI_RSYNC | WASI_SYNC, WASI_FLAGS_ALL = 31
};
enum { WASI_FOLLOW = 1 }; /* lookupflags */
enum { WASI_CREAT = 1, WASI_DIRECTORY = 2, WASI_EXCL = 4, WASI_TRUNC = 8 }; /* oflags */
enum { WASI_CLOCK_REALTIME, WASI_CLOCK_MONOTONIC, WASI_CLOCK_PROCESS, WASI_CLOCK_THREAD, WASI_CLOCKS };

/* wasi_type gives the file type of a mode. A pipe has none. */
static int wasi_type(uint32_t mode)
{
	switch (mode & WASI_S_IFMT) {
	case WASI_S_IFBLK: return WASI_T_BLOCK;
	case WASI_S_IFCHR: return WASI_T_CHARACTER;
	case WASI_S_IFDIR: return WASI_T_DIRECTORY;
	case WASI_S_IFREG: return WASI_T_REGULAR;
	case WASI_S_IFSOCK: return WASI_T_STREAM;
	case WASI_S_IFLNK: return WASI_T_SYMLINK;
	}
	return WASI_T_UNKNOWN;
}

/* wasi_socket_type gives the type of a socket, or WASI_T_UNKNOWN for what is none. */
static int wasi_socket_type(int fd)
{
	const int sol_socket = 1, so_type = 3, stream = 1, seqpacket = 5;
	int32_t type = 0;
	uint32_t size = sizeof type;
	if (core_sys(WASI_SYS_getsockopt, fd, sol_socket, so_type, WASI_PTR(&type), WASI_PTR(&size), 0) < 0)
		return WASI_T_UNKNOWN;
	return type == stream || type == seqpacket ? WASI_T_STREAM : WASI_T_DGRAM;
}

/* wasi_signals reports whether writing to a file of that type may raise a signal: a pipe's, or that of the limit for files, which is
 * looked at when one is opened and is rarely there. */
static bool wasi_signals(int type)
{
	const int fsize = 1;
	uint64_t limit[2] = {0, 0}, none = UINT64_MAX; /* now, at most */
	if (type == WASI_T_REGULAR && wasi_sys(WASI_SYS_getrlimit, fsize, WASI_PTR(limit), 0, 0) == 0)
		return limit[0] != none;
	return type == WASI_T_UNKNOWN;
}

/* ---- State of an instance ---- */

#define WASI_DIR_POS_UNKNOWN UINT64_MAX

typedef struct wasi_desc { /* one open thing of the guest */
	bool used;
	bool waits;     /* reading or writing may have to wait, so that the non-blocking flag means something */
	bool read_only; /* it is below a read-only directory, whatever the rights say */
	bool signals;   /* writing to it may raise a signal: SIGPIPE, or SIGXFSZ beyond the limit for files */
	bool shared;    /* the host may hold the same open file, whose status flags are then not ours to change */
	uint8_t type;
	uint16_t flags;
	int fd;         /* the host's, or -1 for a stream that is WAOT_WASI_NULL, and while there is none yet */
	uint32_t slot;  /* of fd in what poll_oneoff asks the kernel about, if fd is there */
	/* What the guest asked for, as it is told. Of these only reading and writing must have been asked for; any
	 * other right is there unless denied, or denied_below for what is opened here. */
	uint32_t base, inheriting;
	uint32_t denied, denied_below;
	uint64_t dev;     /* device number of the file system, of what is reached by paths */
	uint64_t dir_pos; /* the cookie at which the kernel's directory stream stands, or WASI_DIR_POS_UNKNOWN */
	const char *name; /* the guest's name of a preopened directory, or NULL */
} wasi_desc;

typedef struct wasi_strings { /* strings with their NULs, one behind the other */
	const char *bytes;
	uint32_t count, size;
} wasi_strings;

/* wasi_scratch is space for one call. It is not on the stack, whose guard a large frame could step over. */
typedef struct wasi_scratch {
	wasi_iovec iov[WASI_MAX_IOVECS];
	char path[2][WASI_PATH_SIZE];
	char rest[2 * WASI_PATH_SIZE]; /* of wasi_walk: what is still to resolve, up to the end */
	char link[WASI_PATH_SIZE];     /* of wasi_walk: the target of a link */
	char target[WASI_PATH_SIZE];
	int stack[WASI_MAX_DEPTH];     /* of wasi_walk: directories entered */
	uint8_t dirents[WASI_MAX_DIRENTS];
} wasi_scratch;

typedef struct wasi_state {
	wasi_desc *fds;
	uint32_t num_fds;  /* entries of fds */
	uint32_t open;     /* entries in use */
	uint32_t low_free; /* no entry below is free */
	bool no_openat2;
	int proc_fds;      /* this process's directory of open files in procfs, or -1; see wasi_proc_fds */
	int64_t proc_pid;  /* the process that proc_fds is of */
	uint64_t start;    /* monotonic clock at waot_wasi_open */
	wasi_strings args, env;
	wasi_scratch *scratch;
	size_t size;       /* bytes mapped for this, scratch and the strings */
} wasi_state;

/* wasi_nothing is what an instance has without waot_wasi_open. It has no descriptors, so nothing changes it. */
static wasi_state wasi_nothing;

typedef struct wasi_call { /* one call of an instance */
	wasi_state *s;
	uint8_t *memory;
	uint64_t size; /* bytes of memory */
} wasi_call;

/* WASI_CALL declares c for an imported function. waot_caller looks at the frame that calls it, so the function does it itself. */
#define WASI_CALL(c) wasi_call c = wasi_begin(waot_caller())

static WASI_SHARED wasi_call wasi_begin(waot_instance *inst)
{
	wasi_call c;
	c.s = &wasi_nothing;
	c.memory = NULL;
	c.size = 0;
	if (inst) {
		if (*waot_instance_wasi(inst))
			c.s = (wasi_state *)*waot_instance_wasi(inst);
		uint32_t memory = waot_memory_main(inst);
		c.memory = waot_memory_base(inst, memory);
		c.size = waot_memory_size(inst, memory);
	}
	return c;
}

/* wasi_guest gives the n bytes of the guest's memory at ptr, or NULL when not all are inside. */
static WASI_SHARED uint8_t *wasi_guest(const wasi_call *c, int32_t ptr, uint64_t n)
{
	uint64_t at = (uint32_t)ptr;
	if (!c->memory || n > c->size || at > c->size - n)
		return NULL;
	return c->memory + at;
}

static uint32_t wasi_u32(const uint8_t *p) { uint32_t v; memcpy(&v, p, 4); return v; }
static uint64_t wasi_u64(const uint8_t *p) { uint64_t v; memcpy(&v, p, 8); return v; }
static void wasi_put16(uint8_t *p, uint16_t v) { memcpy(p, &v, 2); }
static void wasi_put32(uint8_t *p, uint32_t v) { memcpy(p, &v, 4); }
static void wasi_put64(uint8_t *p, uint64_t v) { memcpy(p, &v, 8); }

/* wasi_path copies the path of n bytes at ptr to out. It may have any bytes but NUL. */
static int32_t wasi_path(const wasi_call *c, int32_t ptr, int32_t len, char out[WASI_PATH_SIZE])
{
	uint32_t n = (uint32_t)len;
	const uint8_t *p = wasi_guest(c, ptr, n);
	if (!p)
		return WASI_EFAULT;
	if (n == 0)
		return WASI_ENOENT;
	if (n >= WASI_PATH_SIZE)
		return WASI_ENAMETOOLONG;
	for (uint32_t i = 0; i < n; i++) {
		if (!p[i])
			return WASI_EINVAL;
		out[i] = (char)p[i];
	}
	out[n] = 0;
	return WASI_OK;
}

/* wasi_iovecs puts the buffers of an array of n iovecs into the scratch space, without empty ones, and their number
 * into count. It checks each, and cuts the sum at WASI_MAX_TRANSFER. */
static int32_t wasi_iovecs(const wasi_call *c, int32_t ptr, int32_t n, uint32_t *count)
{
	if ((uint32_t)n > WASI_MAX_IOVECS)
		return WASI_EINVAL;
	const uint8_t *list = wasi_guest(c, ptr, (uint64_t)(uint32_t)n * 8);
	if (!list)
		return WASI_EFAULT;
	uint32_t room = WASI_MAX_TRANSFER, used = 0;
	for (int32_t i = 0; i < n; i++, list += 8) {
		uint32_t len = wasi_u32(list + 4);
		uint8_t *base = wasi_guest(c, (int32_t)wasi_u32(list), len);
		if (!base)
			return WASI_EFAULT;
		if (len > room)
			len = room;
		room -= len;
		if (len) {
			c->s->scratch->iov[used].base = base;
			c->s->scratch->iov[used++].len = len;
		}
	}
	*count = used;
	return WASI_OK;
}

/* ---- Descriptors ---- */

static bool wasi_can(const wasi_desc *d, uint32_t right)
{
	if (right & (WASI_R_READ | WASI_R_WRITE))
		return (d->base & right) != 0;
	return (d->denied & right) == 0;
}

static int32_t wasi_need(const wasi_desc *d, uint32_t right)
{
	if (d->read_only && (right & WASI_R_MUTATE))
		return WASI_EROFS;
	return wasi_can(d, right) ? WASI_OK : WASI_ENOTCAPABLE;
}

static WASI_SHARED int32_t wasi_find(const wasi_call *c, int32_t fd, wasi_desc **d)
{
	if ((uint32_t)fd >= c->s->num_fds || !c->s->fds[fd].used)
		return WASI_EBADF;
	*d = &c->s->fds[fd];
	return WASI_OK;
}

/* wasi_find_for finds a descriptor that holds a right. */
static WASI_SHARED int32_t wasi_find_for(const wasi_call *c, int32_t fd, uint32_t right, wasi_desc **d)
{
	int32_t e = wasi_find(c, fd, d);
	return e ? e : wasi_need(*d, right);
}

static WASI_SHARED int32_t wasi_find_dir(const wasi_call *c, int32_t fd, uint32_t right, wasi_desc **d)
{
	int32_t e = wasi_find(c, fd, d);
	if (!e && (*d)->type != WASI_T_DIRECTORY)
		return WASI_ENOTDIR;
	return e ? e : wasi_need(*d, right);
}

/* wasi_find_file finds what is no directory and holds a right. */
static WASI_SHARED int32_t wasi_find_file(const wasi_call *c, int32_t fd, uint32_t right, wasi_desc **d)
{
	int32_t e = wasi_find(c, fd, d);
	if (!e && (*d)->type == WASI_T_DIRECTORY)
		return WASI_EISDIR;
	return e ? e : wasi_need(*d, right);
}

static WASI_SHARED int32_t wasi_find_socket(const wasi_call *c, int32_t fd, uint32_t right, wasi_desc **d)
{
	int32_t e = wasi_find(c, fd, d);
	if (!e && (*d)->type != WASI_T_STREAM && (*d)->type != WASI_T_DGRAM)
		return WASI_ENOTSOCK;
	return e ? e : wasi_need(*d, right);
}

/* wasi_reserve makes place for n descriptors: 0, or a negative error number. */
static int64_t wasi_reserve(wasi_state *s, uint32_t n)
{
	if (n <= s->num_fds)
		return 0;
	uint32_t more = s->num_fds * 2 > n ? s->num_fds * 2 : n;
	wasi_desc *fds = (wasi_desc *)wasi_map(more * sizeof(wasi_desc));
	if (!fds)
		return -WASI_H_NOMEM;
	if (s->fds) {
		memcpy(fds, s->fds, s->num_fds * sizeof(wasi_desc));
		wasi_unmap(s->fds, s->num_fds * sizeof(wasi_desc));
	}
	s->fds = fds;
	s->num_fds = more;
	return 0;
}

/* wasi_room says whether the guest may have one more descriptor, and makes place for it. Descriptors move. */
static int32_t wasi_room(wasi_state *s)
{
	if (s->open >= WASI_MAX_OPEN)
		return WASI_EMFILE;
	return wasi_errno(wasi_reserve(s, s->open + 1));
}

/* wasi_insert adds d at the lowest free number. There is place. */
static uint32_t wasi_insert(wasi_state *s, const wasi_desc *d)
{
	uint32_t i = s->low_free;
	while (s->fds[i].used)
		i++;
	s->fds[i] = *d;
	s->fds[i].used = true;
	s->open++;
	s->low_free = i + 1;
	return i;
}

static void wasi_remove(wasi_state *s, uint32_t fd)
{
	s->fds[fd].used = false;
	s->open--;
	if (fd < s->low_free)
		s->low_free = fd;
}

/* wasi_fresh is a descriptor without rights. */
static wasi_desc wasi_fresh(void)
{
	wasi_desc d;
	memset(&d, 0, sizeof d);
	d.fd = -1;
	d.dir_pos = WASI_DIR_POS_UNKNOWN;
	return d;
}

/* ---- What no path may lead to ---- */

/* wasi_kernel_magic has the types of file systems by which the kernel shows processes and the machine, as statfs
 * numbers them. */
static const uint32_t wasi_kernel_magic[] = {
	WASI_PROCFS,
	0x62656572, /* sysfs */
	0x64626720, /* debugfs */
	0x74726163, /* tracefs */
	0x0027e0eb, /* cgroup */
	0x63677270, /* cgroup2 */
	0x07655821, /* resctrl */
	0xcafe4a11, /* bpf */
	0x73636673, /* securityfs */
	0xf97cff8c, /* selinuxfs */
	0x43415d53, /* smackfs */
	0x5a3c69f0, /* apparmorfs */
	0x62656570, /* configfs */
	0xde5e81e4, /* efivarfs */
	0x6165676c, /* pstore */
	0x42494e4d, /* binfmt_misc */
	0x6e736673, /* nsfs */
	0x19800202, /* mqueue */
	0x65735543, /* fusectl */
	0x6e667364, /* nfsd */
	0x67596969, /* rpc_pipefs */
	0x00009fa2, /* usbfs */
	0xabba1974, /* xenfs */
};

/* wasi_file_system gives the type of the file system of what is open as fd, or 0 if that cannot be told. */
static uint32_t wasi_file_system(int64_t fd)
{
	uint64_t statfs[15]; /* the type first */
	if (wasi_sys(WASI_SYS_fstatfs, (long)fd, WASI_PTR(statfs), 0, 0) < 0)
		return 0;
	return (uint32_t)statfs[0];
}

/* wasi_kernel_files reports whether fd is on a file system of the kernel's own, or on one that cannot be told. */
static bool wasi_kernel_files(int64_t fd)
{
	uint32_t type = wasi_file_system(fd);
	if (!type)
		return true;
	for (size_t i = 0; i < sizeof wasi_kernel_magic / sizeof *wasi_kernel_magic; i++)
		if (wasi_kernel_magic[i] == type)
			return true;
	return false;
}

/* wasi_openable gives 0, or a negative error number, for opening a file: links that were not followed and devices
 * cannot be opened. Devices that hold nothing can: many programs need /dev/null, and a guest has zeros and random numbers anyhow. */
static int64_t wasi_openable(const wasi_stat *st)
{
	const uint32_t memory = 1; /* major number */
	switch (st->mode & WASI_S_IFMT) {
	case WASI_S_IFLNK:
		return -WASI_H_LOOP;
	case WASI_S_IFBLK:
		return -WASI_H_ACCES;
	case WASI_S_IFCHR:
		if (st->rdev_major == memory)
			switch (st->rdev_minor) {
			case 3: case 5: case 7: case 8: case 9: /* null, zero, full, random, urandom */
				return 0;
			}
		return -WASI_H_ACCES;
	}
	return 0;
}

/* ---- Paths ---- */

static WASI_SHARED bool wasi_equal(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

static bool wasi_is_dots(const char *name) { return wasi_equal(name, ".") || wasi_equal(name, ".."); }

/* wasi_walker resolves a path component by component. Each that it opens is a single name, not followed, in a
 * directory that was reached in the same way, and ".." goes back to where it came from. So it cannot leave base,
 * whatever happens to the tree meanwhile. */
typedef struct wasi_walker {
	wasi_scratch *scratch;
	int64_t base;
	char *rest; /* still to resolve; ends with scratch->rest */
	int depth;  /* directories open in scratch->stack */
	int links;
} wasi_walker;

static int64_t wasi_walk_here(const wasi_walker *w)
{
	return w->depth ? w->scratch->stack[w->depth - 1] : w->base;
}

/* wasi_walk_follow puts the target of the link name in front of the rest. It gives EINVAL when name is no link. */
static int64_t wasi_walk_follow(wasi_walker *w, const char *name)
{
	char *link = w->scratch->link;
	int64_t n = wasi_sys(WASI_SYS_readlinkat, (long)wasi_walk_here(w), WASI_PTR(name), WASI_PTR(link), WASI_PATH_SIZE);
	if (n < 0)
		return n;
	if (n == 0)
		return -WASI_H_NOENT;
	if (n >= WASI_PATH_SIZE || n > w->rest - w->scratch->rest)
		return -WASI_H_NAMETOOLONG;
	if (link[0] == '/')
		return -WASI_H_XDEV;
	if (++w->links > WASI_MAX_LINKS)
		return -WASI_H_LOOP;
	w->rest -= n;
	memcpy(w->rest, link, (size_t)n);
	return 0;
}

/* wasi_walk_enter goes down into the directory name, or follows the link name. */
static int64_t wasi_walk_enter(wasi_walker *w, const char *name)
{
	if (w->depth == WASI_MAX_DEPTH)
		return -WASI_H_NAMETOOLONG;
	int64_t fd = wasi_openat(wasi_walk_here(w), name, WASI_O_PATH | WASI_O_DIRECTORY | WASI_O_NOFOLLOW, 0);
	if (fd >= 0) {
		w->scratch->stack[w->depth++] = (int)fd;
		return 0;
	}
	if (fd == -WASI_H_NOTDIR || fd == -WASI_H_LOOP) {
		int64_t r = wasi_walk_follow(w, name);
		if (r != -WASI_H_INVAL && r != -WASI_H_NOENT)
			return r;
	}
	return fd;
}

/* wasi_walk_last opens the last component. It gives WASI_WALK_ON where it has followed a link instead. */
#define WASI_WALK_ON (-4096) /* no error number */

static int64_t wasi_walk_last(wasi_walker *w, const char *name, int flags, int mode)
{
	if (!(flags & (WASI_O_NOFOLLOW | WASI_O_EXCL))) {
		int64_t r = wasi_walk_follow(w, name);
		if (r == 0)
			return WASI_WALK_ON;
		if (r != -WASI_H_INVAL && r != -WASI_H_NOENT) /* else it is no link, or not there */
			return r;
	}
	if (flags & WASI_O_CREAT) {
		if (wasi_kernel_files(wasi_walk_here(w)))
			return -WASI_H_ACCES;
		flags |= WASI_O_EXCL;
	}
	/* A link that has appeared meanwhile is refused, not followed. */
	return wasi_openat(wasi_walk_here(w), name, flags | WASI_O_NOFOLLOW, mode);
}

static int64_t wasi_walk_all(wasi_walker *w, int flags, int mode)
{
	for (;;) {
		char name[WASI_NAME_SIZE];
		size_t n = 0;
		while (*w->rest == '/')
			w->rest++;
		for (; *w->rest && *w->rest != '/'; w->rest++) {
			if (n == sizeof name - 1)
				return -WASI_H_NAMETOOLONG;
			name[n++] = *w->rest;
		}
		name[n] = 0;
		bool slash = *w->rest == '/';
		const char *p = w->rest;
		while (*p == '/')
			p++;
		bool last = !*p;
		int64_t r = 0;
		if (n == 0 || (last && wasi_equal(name, "."))) {
			return wasi_openat(wasi_walk_here(w), ".", flags | WASI_O_NOFOLLOW, mode);
		} else if (wasi_equal(name, "..")) {
			if (w->depth == 0)
				return -WASI_H_XDEV;
			wasi_shut(w->scratch->stack[--w->depth]);
		} else if (wasi_equal(name, ".")) {
			continue;
		} else if (last && !slash) {
			r = wasi_walk_last(w, name, flags, mode);
			if (r != WASI_WALK_ON)
				return r;
			r = 0;
		} else if (last && (flags & WASI_O_CREAT)) {
			return -WASI_H_ISDIR;
		} else {
			r = wasi_walk_enter(w, name);
		}
		if (r < 0)
			return r;
	}
}

/* wasi_walk opens a path beneath the directory base without openat2. It gives XDEV where the path would leave. With
 * O_CREAT the file must not be there yet, though links to where it is to be are followed unless O_EXCL is given. */
static int64_t wasi_walk(wasi_state *s, int64_t base, const char *path, int flags, int mode)
{
	if (!path[0])
		return -WASI_H_NOENT;
	if (path[0] == '/')
		return -WASI_H_XDEV;
	size_t n = wasi_length(path) + 1;
	wasi_walker w;
	w.scratch = s->scratch;
	w.base = base;
	w.depth = w.links = 0;
	w.rest = s->scratch->rest + sizeof s->scratch->rest - n;
	memcpy(w.rest, path, n);
	int64_t r = wasi_walk_all(&w, flags, mode);
	while (w.depth)
		wasi_shut(w.scratch->stack[--w.depth]);
	return r == -WASI_H_XDEV ? -WASI_H_PERM : r;
}

/* wasi_open_beneath opens a path that must stay beneath the directory dir at each step: EPERM where it would leave,
 * EACCES where it ends in the kernel's own files. flags are without O_CREAT; with O_NOFOLLOW the last component is not followed if
 * it is a link without trailing slash. */
static int64_t wasi_open_beneath(wasi_state *s, int64_t dir, const char *path, int flags)
{
	/* The kernel gives EAGAIN when something was renamed while it went through "..". */
	int64_t fd = -WASI_H_AGAIN;
	for (int i = 0; !s->no_openat2 && fd == -WASI_H_AGAIN && i < WASI_TRIES; i++)
		fd = wasi_openat2(dir, path, flags);
	if (fd == -WASI_H_AGAIN)
		fd = wasi_walk(s, dir, path, flags, 0);
	if (fd >= 0 && wasi_kernel_files(fd)) {
		wasi_shut(fd);
		return -WASI_H_ACCES;
	}
	return fd == -WASI_H_XDEV ? -WASI_H_PERM : fd;
}

typedef struct wasi_place { /* a name in a directory, on which an operation acts */
	int64_t dir;
	bool owned;  /* dir was opened for this place */
	bool slash;  /* slashes follow the name */
	bool dots;   /* name is "." or "..": the path leads to a directory beneath, and name must not be used */
	const char *name; /* the last component of the path, not empty */
} wasi_place;

static WASI_SHARED void wasi_leave(wasi_place *p)
{
	if (p->owned)
		wasi_shut(p->dir);
}

/* wasi_locate resolves the parent of a path, whose bytes it changes: 0, or a negative error number. wasi_leave follows. */
static int64_t wasi_locate(wasi_state *s, const wasi_desc *d, char *path, wasi_place *p)
{
	const int flags = WASI_O_PATH | WASI_O_DIRECTORY;
	p->dir = d->fd;
	p->name = path;
	p->owned = p->slash = p->dots = false;
	if (path[0] == '/')
		return -WASI_H_PERM;
	size_t n = wasi_length(path), end = n;
	while (path[end - 1] == '/')
		end--;
	p->slash = end != n;
	size_t at = end;
	while (at && path[at - 1] != '/')
		at--;
	path[end] = 0;
	p->name = path + at;
	if (wasi_is_dots(p->name)) {
		p->dots = true;
		int64_t fd = wasi_open_beneath(s, d->fd, path, flags);
		if (fd < 0)
			return fd;
		wasi_shut(fd);
		return 0;
	}
	if (at == 0)
		return 0;
	path[at - 1] = 0; /* path is not empty now, because it does not begin with a slash */
	int64_t fd = wasi_open_beneath(s, d->fd, path, flags);
	if (fd < 0)
		return fd;
	p->dir = fd;
	p->owned = true;
	return 0;
}

/* wasi_must_be_dir gives ENOTDIR unless the place is a directory; links are not followed. */
static WASI_SHARED int64_t wasi_must_be_dir(const wasi_place *p)
{
	wasi_stat st;
	int64_t r = wasi_stat_at(p->dir, p->name, &st);
	if (r < 0)
		return r;
	return (st.mode & WASI_S_IFMT) == WASI_S_IFDIR ? 0 : -WASI_H_NOTDIR;
}

/* wasi_must_be_new refuses a place that cannot become a file or link: one with dots exists, and one with a trailing
 * slash does or can only be a directory. */
static int64_t wasi_must_be_new(const wasi_place *p)
{
	wasi_stat st;
	if (p->dots)
		return -WASI_H_EXIST;
	if (!p->slash)
		return 0;
	int64_t r = wasi_stat_at(p->dir, p->name, &st);
	return r < 0 ? r : -WASI_H_EXIST;
}

/* wasi_dir_path fetches what most functions with paths begin with: a directory that holds a right, and a path,
 * which it puts into place i of the scratch space. */
static int32_t wasi_dir_path(const wasi_call *c, int32_t fd, int32_t ptr, int32_t len, uint32_t right, int i, wasi_desc **d)
{
	int32_t e = wasi_find_dir(c, fd, right, d);
	return e ? e : wasi_path(c, ptr, len, c->s->scratch->path[i]);
}

/* wasi_place_arg fetches a directory and a path, and locates it. */
static WASI_SHARED int32_t wasi_place_arg(const wasi_call *c, int32_t fd, int32_t ptr, int32_t len, uint32_t right, wasi_place *p)
{
	wasi_desc *d;
	int32_t e = wasi_dir_path(c, fd, ptr, len, right, 0, &d);
	return e ? e : wasi_errno(wasi_locate(c->s, d, c->s->scratch->path[0], p));
}

/* ---- Opening ---- */

/* wasi_decimal writes a number with its NUL. */
static const char *wasi_decimal(uint32_t v, char out[11])
{
	char *p = out + 10;
	*p = 0;
	do
		*--p = (char)('0' + v % 10);
	while (v /= 10);
	return p;
}

/* wasi_proc_fds gives a descriptor of this process's directory of open files in procfs, or -1. It is known to be the
 * kernel's, so that a guest that may write to "/" cannot put another in its place. Processes made by fork get their own. */
static int wasi_proc_fds(wasi_state *s)
{
	int64_t pid = wasi_sys(WASI_SYS_getpid, 0, 0, 0, 0);
	if (s->proc_pid == pid)
		return s->proc_fds;
	if (s->proc_fds >= 0)
		wasi_shut(s->proc_fds);
	s->proc_pid = pid;
	int64_t fd = wasi_openat(WASI_AT_FDCWD, "/proc/self/fd", WASI_O_PATH | WASI_O_DIRECTORY, 0);
	if (fd >= 0) {
		char number[11];
		/* A process that is not dumpable has no access. */
		int64_t self = wasi_openat(fd, wasi_decimal((uint32_t)fd, number), WASI_O_PATH, 0);
		if (self >= 0)
			wasi_shut(self);
		if (self < 0 || wasi_file_system(fd) != WASI_PROCFS) {
			wasi_shut(fd);
			fd = -1;
		}
	}
	return s->proc_fds = fd < 0 ? -1 : (int)fd;
}

/* wasi_reopen opens for reading or writing the file that is open as fd with O_PATH, which st describes and which path
 * named below d. */
static int64_t wasi_reopen(wasi_state *s, int64_t fd, const wasi_desc *d, const char *path, const wasi_stat *st, int flags)
{
	int proc = wasi_proc_fds(s);
	if (proc >= 0) {
		char number[11];
		return wasi_openat(proc, wasi_decimal((uint32_t)fd, number), flags, 0);
	}
	/* Without procfs there is only the path again. What is there now may be something else, which then has been opened, but is not
	 * given to the guest. */
	wasi_stat now;
	int64_t n = wasi_open_beneath(s, d->fd, path, flags);
	if (n < 0)
		return n;
	if (wasi_stat_at(n, "", &now) < 0 || wasi_dev_of(&now) != wasi_dev_of(st) || now.ino != st->ino) {
		wasi_shut(n);
		return -WASI_H_AGAIN;
	}
	return n;
}

/* wasi_own makes n the descriptor of the open file fd, which st describes. */
static int64_t wasi_own(wasi_desc *n, int64_t fd, const wasi_stat *st)
{
	n->fd = (int)fd;
	n->type = (uint8_t)wasi_type(st->mode);
	n->dev = wasi_dev_of(st);
	n->waits = n->type == WASI_T_UNKNOWN || n->type == WASI_T_CHARACTER;
	n->signals = wasi_signals(n->type);
	return 0;
}

/* wasi_open_there opens what is there already: 0, or a negative error number. EAGAIN means that something else has taken its place. */
static int64_t wasi_open_there(wasi_state *s, wasi_desc *n, const wasi_desc *d, const char *path, int flags)
{
	const int exclusive = WASI_O_CREAT | WASI_O_EXCL;
	int64_t fd = wasi_open_beneath(s, d->fd, path, WASI_O_PATH | (flags & (WASI_O_NOFOLLOW | WASI_O_DIRECTORY)));
	if (fd < 0)
		return fd;
	wasi_stat st;
	int64_t r = wasi_stat_at(fd, "", &st);
	if (r == 0) {
		r = wasi_openable(&st);
		if ((flags & exclusive) == exclusive)
			r = -WASI_H_EXIST;
		else if (r == 0 && (flags & WASI_O_CREAT) && (st.mode & WASI_S_IFMT) == WASI_S_IFDIR)
			r = -WASI_H_ISDIR;
	}
	if (r == 0)
		r = wasi_reopen(s, fd, d, path, &st, flags & ~(exclusive | WASI_O_NOFOLLOW));
	wasi_shut(fd);
	return r < 0 ? r : wasi_own(n, r, &st);
}

/* wasi_open_path opens a path for the new descriptor n. Opening a device or a file of the kernel's may already do
 * something, so what the path names is looked at first. What is created is never opened if it is there, nor is what a link that has
 * appeared meanwhile leads to. */
static int64_t wasi_open_path(wasi_state *s, wasi_desc *n, const wasi_desc *d, const char *path, int flags)
{
	const int exclusive = WASI_O_CREAT | WASI_O_EXCL;
	for (int i = 0; i < WASI_TRIES; i++) { /* other files may come and go under that name */
		int64_t r = wasi_open_there(s, n, d, path, flags);
		if (r == -WASI_H_AGAIN)
			continue;
		if (r != -WASI_H_NOENT || !(flags & WASI_O_CREAT))
			return r;
		wasi_stat st;
		r = wasi_walk(s, d->fd, path, flags, 0666);
		if (r >= 0) {
			int64_t e = wasi_stat_at(r, "", &st);
			if (e < 0) {
				wasi_shut(r);
				return e;
			}
			return wasi_own(n, r, &st);
		}
		if (r != -WASI_H_EXIST || (flags & exclusive) == exclusive)
			return r;
	}
	return -WASI_H_AGAIN;
}

/* wasi_open_flags checks what path_open is asked for, and gives Linux's flags. */
static int32_t wasi_open_flags(const wasi_desc *d, uint32_t base, int32_t lookup, int32_t oflags, int32_t fdflags, int *flags)
{
	/* Each bit of oflags, and then of fdflags, with the right that it needs. */
	static const struct { int flag; uint32_t right; } bits[] = {
		{WASI_O_CREAT, WASI_R_CREATE_FILE}, {WASI_O_DIRECTORY, 0}, {WASI_O_EXCL, 0}, {WASI_O_TRUNC, WASI_R_PATH_SET_SIZE},
		{WASI_O_APPEND, 0}, {WASI_O_DSYNC, 0}, {WASI_O_NONBLOCK, 0}, {WASI_O_SYNC, 0}, {WASI_O_SYNC, 0},
	};
	if ((oflags & WASI_DIRECTORY) && (base & WASI_R_WRITE))
		return WASI_EISDIR;
	if (!(oflags & WASI_CREAT))
		oflags &= ~WASI_EXCL; /* without meaning */
	else if (oflags & WASI_DIRECTORY)
		return WASI_EINVAL;
	if (d->read_only && ((base & WASI_R_WRITE) || (oflags & (WASI_CREAT | WASI_TRUNC))))
		return WASI_EROFS;
	/* Linux truncates what is opened for reading too. */
	if ((base & (WASI_R_READ | WASI_R_WRITE) & d->denied_below) ||
		((oflags & WASI_TRUNC) && (d->denied_below & WASI_R_WRITE)))
		return WASI_ENOTCAPABLE;
	int out = WASI_O_NOCTTY;
	if (base & WASI_R_WRITE)
		out |= base & WASI_R_READ ? WASI_O_RDWR : WASI_O_WRONLY;
	if (!(lookup & WASI_FOLLOW))
		out |= WASI_O_NOFOLLOW;
	int32_t set = oflags | fdflags << 4;
	for (size_t i = 0; i < sizeof bits / sizeof *bits; i++) {
		if (!(set >> i & 1))
			continue;
		if (bits[i].right && !wasi_can(d, bits[i].right))
			return WASI_ENOTCAPABLE;
		out |= bits[i].flag;
	}
	*flags = out;
	return WASI_OK;
}

/* ---- Transfers ---- */

/* wasi_is_null reports whether a descriptor of the guest is a stream that is at its end and takes all that is written. There is nothing of the
 * host's behind it. */
static bool wasi_is_null(const wasi_desc *d) { return d->fd < 0; }

#define WASI_NO_OFFSET (-1) /* the descriptor's own position */

/* wasi_transferable finds a descriptor to read or write. A missing right is EBADF, as for a descriptor of POSIX that
 * was opened the other way. */
static int32_t wasi_transferable(const wasi_call *c, int32_t fd, uint32_t right, wasi_desc **d)
{
	int32_t e = wasi_find(c, fd, d);
	if (e)
		return e;
	if ((*d)->type == WASI_T_DIRECTORY)
		return WASI_EISDIR;
	return wasi_can(*d, right) ? WASI_OK : WASI_EBADF;
}

static int64_t wasi_total(const wasi_iovec *v, uint32_t n)
{
	int64_t total = 0;
	for (; n; v++, n--)
		total += (int64_t)v->len;
	return total;
}

/* wasi_transfer makes one of four calls over n > 0 buffers, which may raise a signal if `signals` says so: plain over one, vectored, or these with an offset. */
static int64_t wasi_transfer(const int calls[4], bool signals, int fd, const wasi_iovec *v, uint32_t n, int64_t off)
{
	int call = calls[(n > 1) + 2 * (off != WASI_NO_OFFSET)];
	int64_t whole = wasi_total(v, n);
	if (n > 1)
		return wasi_sys_quiet(signals, call, fd, WASI_PTR(v), n, off, whole); /* the high word of the offset is not used in 64 bits */
	return wasi_sys_quiet(signals, call, fd, WASI_PTR(v->base), (long)v->len, off, whole);
}

static int64_t wasi_message(int call, int fd, wasi_iovec *v, uint32_t n, int flags, int64_t *got)
{
	wasi_msghdr m;
	memset(&m, 0, sizeof m);
	m.iov = v;
	m.iov_len = n;
	int64_t r = wasi_sys(call, fd, WASI_PTR(&m), flags, 0);
	*got = m.flags;
	return r;
}

static int64_t wasi_write_once(const wasi_desc *d, wasi_iovec *v, uint32_t n, int64_t off)
{
	static const int calls[4] = {WASI_SYS_write, WASI_SYS_writev, WASI_SYS_pwrite64, WASI_SYS_pwritev};
	int64_t got;
	if (off == WASI_NO_OFFSET && (d->type == WASI_T_STREAM || d->type == WASI_T_DGRAM))
		return wasi_message(WASI_SYS_sendmsg, d->fd, v, n, WASI_MSG_NOSIGNAL, &got);
	return wasi_transfer(calls, d->signals, d->fd, v, n, off);
}

/* wasi_read_into reads once into n buffers: the bytes, or a negative error number. None are the end, or no room given. */
static int64_t wasi_read_into(const wasi_desc *d, const wasi_iovec *v, uint32_t n, int64_t off)
{
	static const int calls[4] = {WASI_SYS_read, WASI_SYS_readv, WASI_SYS_pread64, WASI_SYS_preadv};
	if (wasi_is_null(d) && off != WASI_NO_OFFSET)
		return -WASI_H_SPIPE;
	if (wasi_is_null(d) || n == 0)
		return 0;
	bool nonblock = d->flags & WASI_NONBLOCK;
	if (d->waits && nonblock && off == WASI_NO_OFFSET && !wasi_wait(d->fd, WASI_POLLIN, 0))
		return -WASI_H_AGAIN;
	for (;;) {
		int64_t r = wasi_transfer(calls, false, d->fd, v, n, off);
		/* The host may have made the open file non-blocking; for the guest it is what the guest asked for. */
		if (r != -WASI_H_AGAIN || nonblock)
			return r;
		wasi_wait(d->fd, WASI_POLLIN, -1);
	}
}

/* wasi_swallow is writing to a stream that takes everything. */
static int64_t wasi_swallow(const wasi_iovec *v, uint32_t n, int64_t off)
{
	return off == WASI_NO_OFFSET ? wasi_total(v, n) : -WASI_H_SPIPE;
}

/* wasi_write_from writes all of n buffers, which it consumes, or until an error; a non-blocking descriptor takes what it
 * takes at once. It gives the bytes written, or a negative error number if there are none. */
static int64_t wasi_write_from(const wasi_desc *d, wasi_iovec *v, uint32_t n, int64_t off)
{
	bool nonblock = d->flags & WASI_NONBLOCK;
	if (wasi_is_null(d))
		return wasi_swallow(v, n, off);
	if (n && d->waits && nonblock && off == WASI_NO_OFFSET && !wasi_wait(d->fd, WASI_POLLOUT, 0))
		return -WASI_H_AGAIN;
	int64_t total = 0;
	while (n) {
		int64_t r = wasi_write_once(d, v, n, off);
		if (r == -WASI_H_AGAIN && !nonblock) {
			wasi_wait(d->fd, WASI_POLLOUT, -1);
			continue;
		}
		if (r < 0)
			return total ? total : r;
		total += r;
		if (nonblock && d->waits)
			break;
		if (off != WASI_NO_OFFSET)
			off += r;
		for (; n && (uint64_t)r >= v->len; v++, n--)
			r -= (int64_t)v->len;
		if (n) {
			v->base += r;
			v->len -= (uint64_t)r;
		}
	}
	return total;
}

/* wasi_read_write is the four functions that read or write, of which right says which. */
static WASI_SHARED int32_t wasi_read_write(const wasi_call *c, uint32_t right, int32_t fd, int32_t iovs, int32_t n, int64_t off, int32_t result)
{
	wasi_desc *d;
	uint32_t count;
	int32_t e = wasi_transferable(c, fd, right, &d);
	if (e)
		return e;
	uint8_t *out = wasi_guest(c, result, 4);
	if (!out)
		return WASI_EFAULT;
	if ((e = wasi_iovecs(c, iovs, n, &count)))
		return e;
	wasi_iovec *v = c->s->scratch->iov;
	int64_t r = right == WASI_R_READ ? wasi_read_into(d, v, count, off) : wasi_write_from(d, v, count, off);
	if (r < 0)
		return wasi_errno(r);
	wasi_put32(out, (uint32_t)r);
	return WASI_OK;
}

static int32_t wasi_seek(const wasi_call *c, const wasi_desc *d, int64_t off, int32_t whence, int32_t result)
{
	if ((uint32_t)whence > WASI_SEEK_END)
		return WASI_EINVAL;
	if (wasi_is_null(d))
		return WASI_ESPIPE;
	uint8_t *out = wasi_guest(c, result, 8);
	if (!out)
		return WASI_EFAULT;
	int64_t r = wasi_sys(WASI_SYS_lseek, d->fd, off, whence, 0); /* whence is numbered as on Linux */
	if (r < 0)
		return wasi_errno(r);
	wasi_put64(out, (uint64_t)r);
	return WASI_OK;
}

/* ---- What files are ---- */

static uint64_t wasi_nanoseconds(const wasi_stat_time *t) { return (uint64_t)t->sec * 1000000000u + t->nsec; }

static WASI_SHARED int32_t wasi_put_stat(const wasi_call *c, int32_t ptr, const wasi_stat *st, int type)
{
	uint8_t *p = wasi_guest(c, ptr, 64);
	if (!p)
		return WASI_EFAULT;
	wasi_put64(p, wasi_dev_of(st));
	wasi_put64(p + 8, st->ino);
	wasi_put64(p + 16, (uint64_t)type);
	wasi_put64(p + 24, st->nlink);
	wasi_put64(p + 32, st->size);
	wasi_put64(p + 40, wasi_nanoseconds(&st->atime));
	wasi_put64(p + 48, wasi_nanoseconds(&st->mtime));
	wasi_put64(p + 56, wasi_nanoseconds(&st->ctime));
	return WASI_OK;
}

/* wasi_put_stat_fd writes what fd is at ptr. */
static int32_t wasi_put_stat_fd(const wasi_call *c, int32_t ptr, int64_t fd)
{
	wasi_stat st;
	int64_t r = wasi_stat_at(fd, "", &st);
	if (r < 0)
		return wasi_errno(r);
	int type = wasi_type(st.mode);
	if (type == WASI_T_STREAM) {
		int t = wasi_socket_type((int)fd); /* that of a socket that is merely named cannot be asked for */
		if (t != WASI_T_UNKNOWN)
			type = t;
	}
	return wasi_put_stat(c, ptr, &st, type);
}

/* wasi_times makes times and fstflags what utimensat takes. */
static WASI_SHARED int32_t wasi_times(int64_t atim, int64_t mtim, int32_t flags, wasi_timespec ts[2])
{
	if ((uint32_t)flags > 15)
		return WASI_EINVAL;
	for (int i = 0; i < 2; i++, flags >>= 2) {
		uint64_t t = (uint64_t)(i ? mtim : atim);
		ts[i].sec = 0;
		switch (flags & 3) {
		case 3: /* both that time and now */
			return WASI_EINVAL;
		case 1:
			ts[i].sec = (int64_t)(t / 1000000000);
			ts[i].nsec = (int64_t)(t % 1000000000);
			break;
		case 2:
			ts[i].nsec = WASI_UTIME_NOW;
			break;
		default:
			ts[i].nsec = WASI_UTIME_OMIT;
		}
	}
	return WASI_OK;
}

/* wasi_set_times sets the times of what fd denotes, be it open with O_PATH or not. */
static WASI_SHARED int64_t wasi_set_times(wasi_state *s, int64_t fd, const wasi_timespec ts[2])
{
	int64_t r = wasi_sys(WASI_SYS_utimensat, (long)fd, WASI_PTR(""), WASI_PTR(ts), WASI_AT_EMPTY_PATH);
	if ((r == -WASI_H_INVAL || r == -WASI_H_NOENT) && wasi_proc_fds(s) >= 0) {
		/* Kernels before 5.8 know no empty path here. The link in procfs leads to the open file itself, not along a path. */
		char number[11];
		r = wasi_sys(WASI_SYS_utimensat, wasi_proc_fds(s), WASI_PTR(wasi_decimal((uint32_t)fd, number)), WASI_PTR(ts), 0);
	}
	return r;
}

/* wasi_open_thing opens what a path names without rights to its contents. */
static int64_t wasi_open_thing(wasi_state *s, const wasi_desc *d, const char *path, int32_t lookup)
{
	return wasi_open_beneath(s, d->fd, path, WASI_O_PATH | (lookup & WASI_FOLLOW ? 0 : WASI_O_NOFOLLOW));
}

/* ---- Arguments ---- */

static int32_t wasi_put_strings(const wasi_call *c, const wasi_strings *list, int32_t ptrs, int32_t buf)
{
	uint8_t *p = wasi_guest(c, ptrs, (uint64_t)list->count * 4), *b = wasi_guest(c, buf, list->size);
	if (!p || !b)
		return WASI_EFAULT;
	const char *s = list->bytes;
	for (uint32_t i = 0; i < list->count; i++) {
		size_t n = wasi_length(s) + 1;
		wasi_put32(p + 4 * (size_t)i, (uint32_t)buf);
		memcpy(b, s, n);
		s += n;
		b += n;
		buf = (int32_t)((uint32_t)buf + (uint32_t)n);
	}
	return WASI_OK;
}

static int32_t wasi_put_sizes(const wasi_call *c, const wasi_strings *list, int32_t count, int32_t size)
{
	uint8_t *n = wasi_guest(c, count, 4), *b = wasi_guest(c, size, 4);
	if (!n || !b)
		return WASI_EFAULT;
	wasi_put32(n, list->count);
	wasi_put32(b, list->size);
	return WASI_OK;
}

/* ---- Set-up ---- */

/* wasi_measure counts strings and their bytes with NULs: 0, or E2BIG where a 32-bit memory cannot have them. */
static int64_t wasi_measure(const char *const *list, wasi_strings *out)
{
	uint64_t total = 0;
	out->count = out->size = 0;
	for (; list && *list; list++) {
		size_t n = wasi_length(*list) + 1;
		total += n + 4;
		if (total > INT32_MAX)
			return -WASI_H_2BIG;
		out->count++;
		out->size += (uint32_t)n;
	}
	return 0;
}

/* wasi_copy copies strings to where it may write, and gives the place behind them. */
static char *wasi_copy(const char *const *list, wasi_strings *out, char *to)
{
	out->bytes = to;
	for (uint32_t i = 0; i < out->count; i++) {
		size_t n = wasi_length(list[i]) + 1;
		memcpy(to, list[i], n);
		to += n;
	}
	return to;
}

/* wasi_own_dup makes d own a duplicate of the host's fd. */
static int64_t wasi_own_dup(wasi_desc *d, int fd)
{
	int64_t r = wasi_dup(fd);
	if (r >= 0)
		d->fd = (int)r;
	return r;
}

/* wasi_open_stream makes one of the descriptors 0 to 2 of a descriptor of the host. */
static int64_t wasi_open_stream(wasi_desc *d, int fd, bool input)
{
	/* Seeking and the like are left to the kernel to refuse, whose errors programs know. */
	const uint32_t harmless = WASI_R_SEEK | WASI_R_TELL | WASI_R_SYNC | WASI_R_DATASYNC | WASI_R_ADVISE;
	d->shared = true;
	d->base = WASI_R_SET_FLAGS | WASI_R_STAT | WASI_R_POLL | (input ? WASI_R_READ : WASI_R_WRITE);
	d->denied = WASI_R_ALL & ~(d->base | harmless);
	if (fd == WAOT_WASI_NULL)
		return 0;
	wasi_stat st;
	int64_t r = wasi_own_dup(d, fd);
	if (r >= 0)
		r = wasi_stat_at(d->fd, "", &st);
	if (r < 0)
		return r;
	d->type = (uint8_t)wasi_type(st.mode);
	if (d->type == WASI_T_STREAM) {
		d->type = (uint8_t)wasi_socket_type(d->fd);
		d->base |= WASI_R_SHUTDOWN;
	}
	d->signals = wasi_signals(d->type);
	d->waits = d->type != WASI_T_REGULAR && d->type != WASI_T_BLOCK && d->type != WASI_T_DIRECTORY;
	/* Guests take a character device that cannot seek for a terminal. */
	if (!d->waits && d->type != WASI_T_DIRECTORY)
		d->base |= WASI_R_SEEK | WASI_R_TELL;
	if (d->type == WASI_T_CHARACTER && !wasi_is_terminal(d->fd))
		d->base |= WASI_R_SEEK | WASI_R_TELL;
	if (d->type == WASI_T_REGULAR) {
		d->base |= WASI_R_ADVISE | WASI_R_SYNC | WASI_R_DATASYNC;
		if (!input)
			d->base |= WASI_R_ALLOCATE | WASI_R_SET_SIZE | WASI_R_SET_TIMES;
	}
	d->denied = WASI_R_ALL & ~(d->base | harmless);
	return 0;
}

/* wasi_open_dir makes the descriptor of a preopened directory. The host's descriptor stays the host's: the guest gets an open
 * file of its own. */
static int64_t wasi_open_dir(wasi_desc *d, const waot_wasi_dir *dir)
{
	d->type = WASI_T_DIRECTORY;
	d->base = WASI_R_DIR;
	d->inheriting = WASI_R_DIR | WASI_R_FILE;
	if (dir->read_only) {
		d->read_only = true;
		d->denied = d->denied_below = WASI_R_MUTATE;
		d->base &= ~(uint32_t)WASI_R_MUTATE;
		d->inheriting &= ~(uint32_t)WASI_R_MUTATE;
	}
	wasi_stat st;
	int64_t r = wasi_openat(dir->fd >= 0 ? dir->fd : WASI_AT_FDCWD, dir->fd >= 0 ? "." : dir->host, WASI_O_DIRECTORY, 0);
	if (r < 0)
		return r;
	d->fd = (int)r;
	if ((r = wasi_stat_at(d->fd, "", &st)) < 0)
		return r;
	d->dev = wasi_dev_of(&st);
	return wasi_kernel_files(d->fd) ? -WASI_H_ACCES : 0;
}

static int64_t wasi_open_socket(wasi_desc *d, int fd)
{
	d->shared = d->waits = true;
	d->base = d->inheriting = WASI_R_SOCKET;
	d->denied = WASI_R_ALL & ~(uint32_t)WASI_R_SOCKET;
	int64_t r = wasi_own_dup(d, fd);
	if (r < 0)
		return r;
	d->type = (uint8_t)wasi_socket_type(d->fd);
	return d->type == WASI_T_UNKNOWN ? -WASI_H_NOTSOCK : 0;
}

/* wasi_open_all opens what is in the configuration: streams, directories, sockets. *at is how many have been opened. */
static int64_t wasi_open_all(wasi_state *s, const waot_wasi_config *config, char *names, size_t *at)
{
	size_t n = 3 + config->num_dirs + config->num_sockets;
	for (size_t i = 0; i < n; i++) {
		int64_t r;
		wasi_desc d = wasi_fresh();
		*at = i;
		if (i < 3) {
			if (config->fds[i] < 0 && config->fds[i] != WAOT_WASI_NULL)
				continue;
			r = wasi_open_stream(&d, config->fds[i], i == 0);
			if (r == -WASI_H_BADF) /* closed in the host too */
				continue;
		} else if (i - 3 < config->num_dirs) {
			const waot_wasi_dir *dir = &config->dirs[i - 3];
			size_t len = wasi_length(dir->guest) + 1;
			memcpy(names, dir->guest, len);
			d.name = names;
			names += len;
			r = wasi_open_dir(&d, dir);
		} else {
			r = wasi_open_socket(&d, config->sockets[i - 3 - config->num_dirs]);
		}
		s->low_free = (uint32_t)i; /* the number of a closed stream stays free for the guest */
		wasi_insert(s, &d); /* also where it failed, so that it is closed with the others */
		if (r < 0)
			return r;
	}
	s->low_free = 0;
	if (config->num_dirs) {
		/* EPERM is what a filter of system calls may say. */
		int64_t fd = wasi_openat2(s->fds[3].fd, ".", WASI_O_PATH | WASI_O_DIRECTORY);
		s->no_openat2 = fd == -WASI_H_NOSYS || fd == -WASI_H_PERM;
		if (fd >= 0)
			wasi_shut(fd);
	}
	return 0;
}

static void wasi_free(wasi_state *s)
{
	for (uint32_t i = 0; i < s->num_fds; i++)
		if (s->fds[i].used && s->fds[i].fd >= 0)
			wasi_shut(s->fds[i].fd);
	if (s->proc_fds >= 0)
		wasi_shut(s->proc_fds);
	if (s->fds)
		wasi_unmap(s->fds, s->num_fds * sizeof(wasi_desc));
	wasi_unmap(s, s->size);
}

/* wasi_open is waot_wasi_open that says which stream, directory or socket, counted from 0 in this order, an error is about: *at. */
static int wasi_open(waot_instance *inst, const waot_wasi_config *config, size_t *at)
{
	wasi_strings args, env;
	size_t names = 0;
	if (*waot_instance_wasi(inst))
		return -WASI_H_BUSY;
	int64_t r = wasi_measure(config->args, &args);
	if (r == 0)
		r = wasi_measure(config->env, &env);
	if (r < 0)
		return (int)r;
	if (config->num_dirs > WASI_MAX_OPEN || config->num_sockets > WASI_MAX_OPEN)
		return -WASI_H_2BIG;
	for (size_t i = 0; i < config->num_dirs; i++) {
		size_t len = config->dirs[i].guest ? wasi_length(config->dirs[i].guest) : 0;
		if (len == 0 || len >= WASI_PATH_SIZE || (config->dirs[i].fd < 0 && !config->dirs[i].host))
			return -WASI_H_INVAL;
		names += len + 1;
	}
	size_t size = sizeof(wasi_state) + sizeof(wasi_scratch) + args.size + env.size + names;
	wasi_state *s = (wasi_state *)wasi_map(size);
	if (!s)
		return -WASI_H_NOMEM;
	s->size = size;
	s->proc_fds = -1;
	s->scratch = (wasi_scratch *)(s + 1);
	s->args = args;
	s->env = env;
	s->start = wasi_clock(1);
	char *to = (char *)(s->scratch + 1);
	to = wasi_copy(config->args, &s->args, to);
	to = wasi_copy(config->env, &s->env, to);
	r = wasi_reserve(s, (uint32_t)(3 + config->num_dirs + config->num_sockets));
	if (r == 0)
		r = wasi_open_all(s, config, to, at);
	if (r < 0) {
		wasi_free(s);
		return (int)r;
	}
	*waot_instance_wasi(inst) = s;
	return 0;
}

int waot_wasi_open(waot_instance *inst, const waot_wasi_config *config)
{
	size_t at;
	return wasi_open(inst, config, &at);
}

void waot_wasi_close(waot_instance *inst)
{
	wasi_state *s = (wasi_state *)*waot_instance_wasi(inst);
	if (!s)
		return;
	*waot_instance_wasi(inst) = NULL;
	wasi_free(s);
}

/* ---- The functions: arguments, environment, clocks, the process ---- */

/* The marker, whose call says where a program is to be frozen (docs/snapshots.md), does nothing once it has been compiled. */
__attribute__((weak)) void waot_marker(void) __asm__("waot..snapshot");
void waot_marker(void) {}

/* WASI_FUNCTION begins the definition of one of the functions. Its symbol has dots, as those of all imports: docs/object.md. */
#define WASI_FUNCTION(result, name, params) \
	result wasi_snapshot_preview1_##name params __asm__("wasi_snapshot_preview1.." #name); \
	result wasi_snapshot_preview1_##name params

WASI_FUNCTION(int32_t, args_get, (int32_t ptrs, int32_t buf))
{
	WASI_CALL(c);
	return wasi_put_strings(&c, &c.s->args, ptrs, buf);
}

WASI_FUNCTION(int32_t, args_sizes_get, (int32_t count, int32_t size))
{
	WASI_CALL(c);
	return wasi_put_sizes(&c, &c.s->args, count, size);
}

WASI_FUNCTION(int32_t, environ_get, (int32_t ptrs, int32_t buf))
{
	WASI_CALL(c);
	return wasi_put_strings(&c, &c.s->env, ptrs, buf);
}

WASI_FUNCTION(int32_t, environ_sizes_get, (int32_t count, int32_t size))
{
	WASI_CALL(c);
	return wasi_put_sizes(&c, &c.s->env, count, size);
}

/* wasi_now reads a clock in nanoseconds. */
static uint64_t wasi_now(const wasi_state *s, uint32_t clock)
{
	const int process_cputime = 2; /* both clocks give it: calls of an instance may come from several threads */
	if (clock == WASI_CLOCK_REALTIME)
		return wasi_clock(0);
	if (clock == WASI_CLOCK_MONOTONIC) /* never zero, which some guests take for a failure */
		return wasi_clock(1) - s->start + 1;
	return wasi_clock(process_cputime);
}

WASI_FUNCTION(int32_t, clock_res_get, (int32_t clock, int32_t result))
{
	WASI_CALL(c);
	uint8_t *out = wasi_guest(&c, result, 8);
	if ((uint32_t)clock >= WASI_CLOCKS)
		return WASI_EINVAL;
	if (!out)
		return WASI_EFAULT;
	wasi_put64(out, 1);
	return WASI_OK;
}

WASI_FUNCTION(int32_t, clock_time_get, (int32_t clock, int64_t precision, int32_t result))
{
	WASI_CALL(c);
	(void)precision;
	uint8_t *out = wasi_guest(&c, result, 8);
	if ((uint32_t)clock >= WASI_CLOCKS)
		return WASI_EINVAL;
	if (!out)
		return WASI_EFAULT;
	wasi_put64(out, wasi_now(c.s, (uint32_t)clock));
	return WASI_OK;
}

WASI_FUNCTION(int32_t, random_get, (int32_t buf, int32_t len))
{
	WASI_CALL(c);
	uint64_t n = (uint32_t)len;
	uint8_t *p = wasi_guest(&c, buf, n);
	if (!p)
		return WASI_EFAULT;
	while (n) {
		int64_t r = wasi_sys(WASI_SYS_getrandom, WASI_PTR(p), (long)n, 0, 0);
		if (r <= 0)
			return WASI_EIO;
		p += r;
		n -= (uint64_t)r;
	}
	return WASI_OK;
}

WASI_FUNCTION(int32_t, sched_yield, (void))
{
	wasi_sys(WASI_SYS_sched_yield, 0, 0, 0, 0);
	return WASI_OK;
}

WASI_FUNCTION(void, proc_exit, (int32_t status)) { waot_exit_guest(status); }

/* proc_raise does what the signal does by default: the guest ends with 128 and Linux's number of the signal, as
 * shells report it, or nothing happens. Stopping is not supported. */
WASI_FUNCTION(int32_t, proc_raise, (int32_t signal))
{
	/* By bits of WASI's numbers, which begin with 0 (none), and lack Linux's 16 (STKFLT). */
	const uint32_t ignored = 1u << 0 | 1u << 16 | 1u << 17 | 1u << 22 | 1u << 27; /* none, child, continue, urgent, window size */
	const uint32_t stops = 1u << 18 | 1u << 19 | 1u << 20 | 1u << 21;
	if ((uint32_t)signal > 30)
		return WASI_EINVAL;
	if (ignored >> signal & 1)
		return WASI_OK;
	if (stops >> signal & 1)
		return WASI_ENOTSUP;
	waot_exit_guest(128 + signal + (signal >= 16));
}

/* ---- The functions: descriptors ---- */

WASI_FUNCTION(int32_t, fd_close, (int32_t fd))
{
	WASI_CALL(c);
	wasi_desc *d;
	int32_t e = wasi_find(&c, fd, &d);
	if (e)
		return e;
	wasi_remove(c.s, (uint32_t)fd);
	return wasi_is_null(d) ? WASI_OK : wasi_errno(wasi_shut(d->fd));
}

/* fd_renumber moves a descriptor over another open one, which is closed. A standard stream may be closed already:
 * programs that exchange one move it away, and something else to its number. */
WASI_FUNCTION(int32_t, fd_renumber, (int32_t from, int32_t to))
{
	WASI_CALL(c);
	wasi_desc *d;
	const uint32_t last_standard = 2;
	int32_t e = wasi_find(&c, from, &d);
	if (e)
		return e;
	if (from == to)
		return WASI_OK;
	if ((uint32_t)to >= c.s->num_fds)
		return WASI_EBADF;
	wasi_desc *old = &c.s->fds[to];
	if (old->used) {
		if (!wasi_is_null(old))
			wasi_shut(old->fd); /* an error is lost, as with dup2 */
	} else {
		if ((uint32_t)to > last_standard)
			return WASI_EBADF;
		c.s->open++;
	}
	*old = *d;
	wasi_remove(c.s, (uint32_t)from);
	return WASI_OK;
}

WASI_FUNCTION(int32_t, fd_advise, (int32_t fd, int64_t off, int64_t len, int32_t advice))
{
	WASI_CALL(c);
	/* Linux's numbers of normal, sequential, random, will need, don't need, no reuse. */
	static const uint8_t advices[] = {0, 2, 1, 3, 4, 5};
	wasi_desc *d;
	int32_t e = wasi_find(&c, fd, &d);
	if (e)
		return e;
	if (d->type == WASI_T_DIRECTORY)
		return WASI_EBADF;
	if ((e = wasi_need(d, WASI_R_ADVISE)))
		return e;
	if ((uint32_t)advice >= sizeof advices || off < 0 || len < 0)
		return WASI_EINVAL;
	if (wasi_is_null(d))
		return WASI_ESPIPE;
	return wasi_errno(wasi_sys(WASI_SYS_fadvise64, d->fd, off, len, advices[advice]));
}

WASI_FUNCTION(int32_t, fd_allocate, (int32_t fd, int64_t off, int64_t len))
{
	WASI_CALL(c);
	wasi_desc *d;
	int32_t e = wasi_find_file(&c, fd, WASI_R_ALLOCATE, &d);
	if (e)
		return e;
	if (off < 0 || len <= 0)
		return WASI_EINVAL;
	return wasi_errno(wasi_sys_quiet(d->signals, WASI_SYS_fallocate, d->fd, 0, off, len, 0));
}

WASI_FUNCTION(int32_t, fd_sync, (int32_t fd))
{
	WASI_CALL(c);
	wasi_desc *d;
	int32_t e = wasi_find_for(&c, fd, WASI_R_SYNC, &d);
	return e || wasi_is_null(d) ? e : wasi_errno(wasi_sys(WASI_SYS_fsync, d->fd, 0, 0, 0));
}

WASI_FUNCTION(int32_t, fd_datasync, (int32_t fd))
{
	WASI_CALL(c);
	wasi_desc *d;
	int32_t e = wasi_find_for(&c, fd, WASI_R_DATASYNC, &d);
	return e || wasi_is_null(d) ? e : wasi_errno(wasi_sys(WASI_SYS_fdatasync, d->fd, 0, 0, 0));
}

WASI_FUNCTION(int32_t, fd_fdstat_get, (int32_t fd, int32_t result))
{
	WASI_CALL(c);
	wasi_desc *d;
	int32_t e = wasi_find(&c, fd, &d);
	if (e)
		return e;
	uint8_t *p = wasi_guest(&c, result, 24);
	if (!p)
		return WASI_EFAULT;
	wasi_put64(p, d->type | (uint64_t)d->flags << 16);
	wasi_put64(p + 8, d->base);
	wasi_put64(p + 16, d->inheriting);
	return WASI_OK;
}

/* fd_fdstat_set_flags changes APPEND and NONBLOCK; the synchronous flags are fixed when a file is opened. The descriptor
 * alone keeps NONBLOCK, see wasi_read_into. */
WASI_FUNCTION(int32_t, fd_fdstat_set_flags, (int32_t fd, int32_t flags))
{
	WASI_CALL(c);
	wasi_desc *d;
	int32_t e = wasi_find_for(&c, fd, WASI_R_SET_FLAGS, &d);
	if (e)
		return e;
	if (flags & ~WASI_FLAGS_ALL)
		return WASI_EINVAL;
	int32_t changed = flags ^ d->flags;
	if (changed & WASI_FLAGS_SYNC)
		return WASI_ENOTSUP;
	if ((changed & WASI_APPEND) && !d->shared && d->type == WASI_T_REGULAR) {
		int64_t r = wasi_sys(WASI_SYS_fcntl, d->fd, WASI_F_GETFL, 0, 0);
		if (r >= 0)
			r = wasi_sys(WASI_SYS_fcntl, d->fd, WASI_F_SETFL, flags & WASI_APPEND ? r | WASI_O_APPEND : r & ~WASI_O_APPEND, 0);
		if (r < 0)
			return wasi_errno(r);
	}
	d->flags = (uint16_t)flags;
	return WASI_OK;
}

WASI_FUNCTION(int32_t, fd_fdstat_set_rights, (int32_t fd, int64_t base, int64_t inheriting))
{
	WASI_CALL(c);
	wasi_desc *d;
	int32_t e = wasi_find(&c, fd, &d);
	if (e)
		return e;
	if (((uint64_t)base & ~(uint64_t)d->base) || ((uint64_t)inheriting & ~(uint64_t)d->inheriting))
		return WASI_ENOTCAPABLE;
	d->denied |= d->base & ~(uint32_t)base;
	d->denied_below |= d->inheriting & ~(uint32_t)inheriting;
	d->base = (uint32_t)base;
	d->inheriting = (uint32_t)inheriting;
	return WASI_OK;
}

WASI_FUNCTION(int32_t, fd_filestat_get, (int32_t fd, int32_t result))
{
	WASI_CALL(c);
	wasi_desc *d;
	int32_t e = wasi_find_for(&c, fd, WASI_R_STAT, &d);
	if (e)
		return e;
	if (wasi_is_null(d)) {
		wasi_stat none;
		memset(&none, 0, sizeof none);
		return wasi_put_stat(&c, result, &none, WASI_T_UNKNOWN);
	}
	return wasi_put_stat_fd(&c, result, d->fd);
}

WASI_FUNCTION(int32_t, fd_filestat_set_size, (int32_t fd, int64_t size))
{
	WASI_CALL(c);
	wasi_desc *d;
	int32_t e = wasi_find_file(&c, fd, WASI_R_SET_SIZE, &d);
	if (e)
		return e;
	if (size < 0)
		return WASI_EINVAL;
	return wasi_errno(wasi_sys_quiet(d->signals, WASI_SYS_ftruncate, d->fd, size, 0, 0, 0));
}

WASI_FUNCTION(int32_t, fd_filestat_set_times, (int32_t fd, int64_t atim, int64_t mtim, int32_t flags))
{
	WASI_CALL(c);
	wasi_desc *d;
	wasi_timespec ts[2];
	int32_t e = wasi_find_for(&c, fd, WASI_R_SET_TIMES, &d);
	if (!e)
		e = wasi_times(atim, mtim, flags, ts);
	if (e)
		return e;
	return wasi_errno(wasi_set_times(c.s, d->fd, ts));
}

WASI_FUNCTION(int32_t, fd_read, (int32_t fd, int32_t iovs, int32_t n, int32_t result))
{
	WASI_CALL(c);
	return wasi_read_write(&c, WASI_R_READ, fd, iovs, n, WASI_NO_OFFSET, result);
}

WASI_FUNCTION(int32_t, fd_pread, (int32_t fd, int32_t iovs, int32_t n, int64_t off, int32_t result))
{
	WASI_CALL(c);
	return off < 0 ? WASI_EINVAL : wasi_read_write(&c, WASI_R_READ, fd, iovs, n, off, result);
}

WASI_FUNCTION(int32_t, fd_write, (int32_t fd, int32_t iovs, int32_t n, int32_t result))
{
	WASI_CALL(c);
	return wasi_read_write(&c, WASI_R_WRITE, fd, iovs, n, WASI_NO_OFFSET, result);
}

WASI_FUNCTION(int32_t, fd_pwrite, (int32_t fd, int32_t iovs, int32_t n, int64_t off, int32_t result))
{
	WASI_CALL(c);
	return off < 0 ? WASI_EINVAL : wasi_read_write(&c, WASI_R_WRITE, fd, iovs, n, off, result);
}

WASI_FUNCTION(int32_t, fd_seek, (int32_t fd, int64_t off, int32_t whence, int32_t result))
{
	WASI_CALL(c);
	wasi_desc *d;
	int32_t e = wasi_find_file(&c, fd, WASI_R_SEEK, &d);
	return e ? e : wasi_seek(&c, d, off, whence, result);
}

WASI_FUNCTION(int32_t, fd_tell, (int32_t fd, int32_t result))
{
	WASI_CALL(c);
	wasi_desc *d;
	int32_t e = wasi_find_file(&c, fd, WASI_R_TELL, &d);
	return e ? e : wasi_seek(&c, d, 0, WASI_SEEK_CUR, result);
}

WASI_FUNCTION(int32_t, fd_prestat_get, (int32_t fd, int32_t result))
{
	WASI_CALL(c);
	wasi_desc *d;
	int32_t e = wasi_find(&c, fd, &d);
	if (e)
		return e;
	if (!d->name)
		return WASI_EBADF;
	uint8_t *p = wasi_guest(&c, result, 8);
	if (!p)
		return WASI_EFAULT;
	wasi_put32(p, 0); /* a directory */
	wasi_put32(p + 4, (uint32_t)wasi_length(d->name));
	return WASI_OK;
}

WASI_FUNCTION(int32_t, fd_prestat_dir_name, (int32_t fd, int32_t buf, int32_t len))
{
	WASI_CALL(c);
	wasi_desc *d;
	int32_t e = wasi_find(&c, fd, &d);
	if (e)
		return e;
	if (!d->name)
		return WASI_EBADF;
	uint8_t *p = wasi_guest(&c, buf, (uint32_t)len);
	if (!p)
		return WASI_EFAULT;
	size_t n = wasi_length(d->name);
	if ((uint32_t)len < n)
		return WASI_ENAMETOOLONG;
	memcpy(p, d->name, n);
	return WASI_OK;
}

/* wasi_put_entry writes one of Linux's entries (inode, next position, length, type, name) as the guest's, as far as it
 * fits into room bytes, and gives the bytes written. */
static size_t wasi_put_entry(int dir, uint8_t *out, size_t room, const uint8_t *entry)
{
	const char *name = (const char *)entry + 19;
	uint64_t ino = wasi_u64(entry);
	int type = wasi_type((uint32_t)entry[18] << 12);
	wasi_stat st;
	uint8_t head[24];
	if (wasi_equal(name, "..")) {
		/* The parent may lie outside. Zero would not do: the scandir of wasi-libc asks for the filestat of such an
		 * entry, and fails if it gets none. */
		if (wasi_stat_at(dir, "", &st) == 0)
			ino = st.ino;
	} else if (entry[18] == 0 || ino == 0) { /* the file system does not say */
		if (wasi_stat_at(dir, name, &st) == 0) {
			ino = st.ino;
			type = wasi_type(st.mode);
		}
	}
	size_t n = wasi_length(name), first = room < sizeof head ? room : sizeof head;
	wasi_put64(head, wasi_u64(entry + 8));
	wasi_put64(head + 8, ino);
	wasi_put32(head + 16, (uint32_t)n);
	wasi_put32(head + 20, (uint32_t)type);
	memcpy(out, head, first);
	if (n > room - first)
		n = room - first;
	memcpy(out + first, name, n);
	return first + n;
}

/* fd_readdir fills the guest's buffer with entries, the last one cut off where the buffer ends; a buffer not full says
 * that the directory has ended. Cookies are the kernel's own positions, so they stay good while entries come and go, and no list is
 * kept here. */
WASI_FUNCTION(int32_t, fd_readdir, (int32_t fd, int32_t buf, int32_t len, int64_t cookie, int32_t result))
{
	WASI_CALL(c);
	wasi_desc *d;
	int32_t e = wasi_find_dir(&c, fd, WASI_R_READDIR, &d);
	if (e)
		return e;
	size_t room = (uint32_t)len, used = 0, size = room;
	uint8_t *out = wasi_guest(&c, buf, room), *count = wasi_guest(&c, result, 4), *dirents = c.s->scratch->dirents;
	uint64_t at = (uint64_t)cookie;
	if (!out || !count)
		return WASI_EFAULT;
	if (size < WASI_MIN_DIRENTS)
		size = WASI_MIN_DIRENTS;
	if (size > WASI_MAX_DIRENTS)
		size = WASI_MAX_DIRENTS;
	while (used < room) {
		int64_t r = 0;
		if (d->dir_pos != at)
			r = wasi_sys(WASI_SYS_lseek, d->fd, (long)at, WASI_SEEK_SET, 0);
		d->dir_pos = WASI_DIR_POS_UNKNOWN;
		if (r >= 0)
			r = wasi_sys(WASI_SYS_getdents64, d->fd, WASI_PTR(dirents), (long)size, 0);
		if (r < 0)
			return wasi_errno(r);
		if (r == 0)
			break;
		size_t i = 0, end = (size_t)r;
		while (i < end && used < room) {
			const uint8_t *entry = dirents + i;
			size_t bytes = entry[16] | (size_t)entry[17] << 8;
			if (bytes < 20 || bytes > end - i)
				return WASI_EIO;
			used += wasi_put_entry(d->fd, out + used, room - used, entry);
			at = wasi_u64(entry + 8);
			i += bytes;
		}
		if (i >= end)
			d->dir_pos = at;
	}
	wasi_put32(count, (uint32_t)used);
	return WASI_OK;
}

/* ---- The functions: paths ---- */

WASI_FUNCTION(int32_t, path_open, (int32_t fd, int32_t lookup, int32_t path, int32_t len, int32_t oflags,
	int64_t base, int64_t inheriting, int32_t fdflags, int32_t result))
{
	WASI_CALL(c);
	wasi_desc *d;
	int flags;
	int32_t e = wasi_dir_path(&c, fd, path, len, WASI_R_OPEN, 0, &d);
	if (e)
		return e;
	if ((lookup & ~WASI_FOLLOW) || (oflags & ~15) || (fdflags & ~WASI_FLAGS_ALL))
		return WASI_EINVAL;
	uint8_t *out = wasi_guest(&c, result, 4);
	if (!out)
		return WASI_EFAULT;
	wasi_desc n = wasi_fresh();
	n.base = (uint32_t)base & WASI_R_ALL & ~d->denied_below;
	n.inheriting = (uint32_t)inheriting & WASI_R_ALL & ~d->denied_below;
	n.denied = n.denied_below = d->denied_below;
	n.read_only = d->read_only;
	n.flags = (uint16_t)fdflags;
	e = wasi_open_flags(d, (uint32_t)base & WASI_R_ALL, lookup, oflags, fdflags, &flags);
	if (e || (e = wasi_room(c.s)))
		return e;
	wasi_find(&c, fd, &d); /* wasi_room may have moved it */
	if ((e = wasi_errno(wasi_open_path(c.s, &n, d, c.s->scratch->path[0], flags))))
		return e;
	if (n.type == WASI_T_DIRECTORY) {
		n.base &= WASI_R_DIR;
	} else {
		n.base &= WASI_R_FILE;
		n.inheriting = 0;
	}
	wasi_put32(out, wasi_insert(c.s, &n));
	return WASI_OK;
}

WASI_FUNCTION(int32_t, path_create_directory, (int32_t fd, int32_t path, int32_t len))
{
	WASI_CALL(c);
	wasi_place p;
	int32_t e = wasi_place_arg(&c, fd, path, len, WASI_R_CREATE_DIRECTORY, &p);
	if (e)
		return e;
	e = p.dots ? WASI_EEXIST : wasi_errno(wasi_sys(WASI_SYS_mkdirat, (long)p.dir, WASI_PTR(p.name), 0777, 0));
	wasi_leave(&p);
	return e;
}

WASI_FUNCTION(int32_t, path_remove_directory, (int32_t fd, int32_t path, int32_t len))
{
	WASI_CALL(c);
	wasi_place p;
	int32_t e = wasi_place_arg(&c, fd, path, len, WASI_R_REMOVE_DIRECTORY, &p);
	if (e)
		return e;
	if (p.dots)
		e = p.name[1] ? WASI_ENOTEMPTY : WASI_EINVAL;
	else
		e = wasi_errno(wasi_sys(WASI_SYS_unlinkat, (long)p.dir, WASI_PTR(p.name), WASI_AT_REMOVEDIR, 0));
	wasi_leave(&p);
	return e;
}

WASI_FUNCTION(int32_t, path_unlink_file, (int32_t fd, int32_t path, int32_t len))
{
	WASI_CALL(c);
	wasi_place p;
	int32_t e = wasi_place_arg(&c, fd, path, len, WASI_R_UNLINK, &p);
	if (e)
		return e;
	int64_t r = -WASI_H_ISDIR;
	if (!p.dots) {
		if (!p.slash)
			r = wasi_sys(WASI_SYS_unlinkat, (long)p.dir, WASI_PTR(p.name), 0, 0);
		else if ((r = wasi_must_be_dir(&p)) == 0)
			r = -WASI_H_ISDIR;
	}
	wasi_leave(&p);
	return wasi_errno(r);
}

WASI_FUNCTION(int32_t, path_filestat_get, (int32_t fd, int32_t lookup, int32_t path, int32_t len, int32_t result))
{
	WASI_CALL(c);
	wasi_desc *d;
	int32_t e = wasi_dir_path(&c, fd, path, len, WASI_R_PATH_STAT, 0, &d);
	if (e)
		return e;
	if (lookup & ~WASI_FOLLOW)
		return WASI_EINVAL;
	const char *name = c.s->scratch->path[0], *slash = name;
	while (*slash && *slash != '/')
		slash++;
	if (!*slash && !wasi_is_dots(name)) {
		/* A single name, not followed, cannot lead outside, and is the usual case. On another device it may be the
		 * kernel's own file. */
		wasi_stat st;
		int64_t r = wasi_stat_at(d->fd, name, &st);
		if (r < 0)
			return wasi_errno(r);
		if (wasi_dev_of(&st) == d->dev && !(lookup && (st.mode & WASI_S_IFMT) == WASI_S_IFLNK))
			return wasi_put_stat(&c, result, &st, wasi_type(st.mode));
	}
	int64_t r = wasi_open_thing(c.s, d, name, lookup);
	if (r < 0)
		return wasi_errno(r);
	e = wasi_put_stat_fd(&c, result, r);
	wasi_shut(r);
	return e;
}

WASI_FUNCTION(int32_t, path_filestat_set_times, (int32_t fd, int32_t lookup, int32_t path, int32_t len,
	int64_t atim, int64_t mtim, int32_t flags))
{
	WASI_CALL(c);
	wasi_desc *d;
	wasi_timespec ts[2];
	int32_t e = wasi_dir_path(&c, fd, path, len, WASI_R_PATH_SET_TIMES, 0, &d);
	if (!e)
		e = wasi_times(atim, mtim, flags, ts);
	if (e)
		return e;
	if (lookup & ~WASI_FOLLOW)
		return WASI_EINVAL;
	int64_t r = wasi_open_thing(c.s, d, c.s->scratch->path[0], lookup);
	if (r < 0)
		return wasi_errno(r);
	e = wasi_errno(wasi_set_times(c.s, r, ts));
	wasi_shut(r);
	return e;
}

/* wasi_two_places locates the source and the target of a link or rename: directory, path and its length each. Both must
 * hold their right before either path is looked at. */
static int32_t wasi_two_places(const wasi_call *c, const int32_t from[3], const int32_t to[3], uint32_t from_right, uint32_t to_right,
	wasi_place p[2])
{
	wasi_desc *d[2];
	int32_t e = wasi_dir_path(c, from[0], from[1], from[2], from_right, 0, &d[0]);
	if (!e)
		e = wasi_dir_path(c, to[0], to[1], to[2], to_right, 1, &d[1]);
	if (!e)
		e = wasi_errno(wasi_locate(c->s, d[0], c->s->scratch->path[0], &p[0]));
	if (e)
		return e;
	if ((e = wasi_errno(wasi_locate(c->s, d[1], c->s->scratch->path[1], &p[1]))))
		wasi_leave(&p[0]);
	return e;
}

WASI_FUNCTION(int32_t, path_link, (int32_t from_fd, int32_t lookup, int32_t from, int32_t from_len, int32_t to_fd, int32_t to,
	int32_t to_len))
{
	WASI_CALL(c);
	const int32_t source[3] = {from_fd, from, from_len}, target[3] = {to_fd, to, to_len};
	wasi_place p[2];
	if (lookup) /* hard links to what a symbolic link leads to are not supported */
		return WASI_EINVAL;
	int32_t e = wasi_two_places(&c, source, target, WASI_R_LINK_SOURCE, WASI_R_LINK_TARGET, p);
	if (e)
		return e;
	int64_t r = 0;
	if (p[0].dots)
		r = -WASI_H_PERM;
	else if (p[0].slash && (r = wasi_must_be_dir(&p[0])) == 0)
		r = -WASI_H_PERM;
	if (r == 0)
		r = wasi_must_be_new(&p[1]);
	if (r == 0)
		r = core_sys(WASI_SYS_linkat, (long)p[0].dir, WASI_PTR(p[0].name), (long)p[1].dir, WASI_PTR(p[1].name), 0, 0);
	wasi_leave(&p[0]);
	wasi_leave(&p[1]);
	return wasi_errno(r);
}

WASI_FUNCTION(int32_t, path_rename, (int32_t from_fd, int32_t from, int32_t from_len, int32_t to_fd, int32_t to, int32_t to_len))
{
	WASI_CALL(c);
	const int32_t source[3] = {from_fd, from, from_len}, target[3] = {to_fd, to, to_len};
	wasi_place p[2];
	int32_t e = wasi_two_places(&c, source, target, WASI_R_RENAME_SOURCE, WASI_R_RENAME_TARGET, p);
	if (e)
		return e;
	int64_t r = 0;
	if (p[0].dots || p[1].dots)
		r = -WASI_H_BUSY;
	else if (p[0].slash || p[1].slash)
		r = wasi_must_be_dir(&p[0]);
	if (r == 0)
		r = wasi_sys(WASI_SYS_renameat, (long)p[0].dir, WASI_PTR(p[0].name), (long)p[1].dir, WASI_PTR(p[1].name));
	wasi_leave(&p[0]);
	wasi_leave(&p[1]);
	return wasi_errno(r);
}

/* path_symlink refuses absolute targets: no guest could follow them, but a program of the host might. */
WASI_FUNCTION(int32_t, path_symlink, (int32_t target, int32_t target_len, int32_t fd, int32_t path, int32_t len))
{
	WASI_CALL(c);
	wasi_desc *d;
	wasi_place p;
	int32_t e = wasi_dir_path(&c, fd, path, len, WASI_R_SYMLINK, 0, &d);
	if (e)
		return e;
	char *to = c.s->scratch->target;
	if ((e = wasi_path(&c, target, target_len, to)))
		return e;
	if (to[0] == '/')
		return WASI_EPERM;
	if ((e = wasi_errno(wasi_locate(c.s, d, c.s->scratch->path[0], &p))))
		return e;
	int64_t r = wasi_must_be_new(&p);
	if (r == 0)
		r = wasi_sys(WASI_SYS_symlinkat, WASI_PTR(to), (long)p.dir, WASI_PTR(p.name), 0);
	wasi_leave(&p);
	return wasi_errno(r);
}

WASI_FUNCTION(int32_t, path_readlink, (int32_t fd, int32_t path, int32_t len, int32_t buf, int32_t buf_len, int32_t result))
{
	WASI_CALL(c);
	wasi_desc *d;
	wasi_place p;
	int32_t e = wasi_dir_path(&c, fd, path, len, WASI_R_READLINK, 0, &d);
	if (e)
		return e;
	uint8_t *out = wasi_guest(&c, buf, (uint32_t)buf_len), *count = wasi_guest(&c, result, 4);
	if (!out || !count)
		return WASI_EFAULT;
	if ((e = wasi_errno(wasi_locate(c.s, d, c.s->scratch->path[0], &p))))
		return e;
	char *target = c.s->scratch->target;
	int64_t r = -WASI_H_INVAL;
	if (!p.dots) {
		if (!p.slash)
			r = wasi_sys(WASI_SYS_readlinkat, (long)p.dir, WASI_PTR(p.name), WASI_PTR(target), WASI_PATH_SIZE);
		else if ((r = wasi_must_be_dir(&p)) == 0)
			r = -WASI_H_INVAL;
	}
	wasi_leave(&p);
	if (r < 0)
		return wasi_errno(r);
	if (r && target[0] == '/') /* names something of the host */
		return WASI_EPERM;
	uint32_t n = (uint32_t)r < (uint32_t)buf_len ? (uint32_t)r : (uint32_t)buf_len;
	memcpy(out, target, n);
	wasi_put32(count, n);
	return WASI_OK;
}

/* ---- The functions: waiting ---- */

enum { WASI_EVENT_CLOCK, WASI_EVENT_READ, WASI_EVENT_WRITE }; /* types of events */
enum { WASI_SUBSCRIPTION_SIZE = 48, WASI_EVENT_SIZE = 32 };    /* bytes */

typedef struct wasi_sub { /* one subscription */
	uint64_t userdata;
	uint64_t wait; /* nanoseconds, of a clock */
	const wasi_desc *d; /* to ask the kernel about, or NULL */
	int32_t e;
	uint8_t type;
	bool now; /* due without waiting */
} wasi_sub;

typedef struct wasi_poller { /* subscriptions, and what to ask the kernel for some of them */
	wasi_sub *subs;
	wasi_pollfd *fds;
	uint32_t n, num_fds;
	uint64_t least; /* shortest wait of clocks */
	bool clocks, now; /* there is a clock; something is due without waiting */
} wasi_poller;

/* wasi_subscribe reads a subscription; a type that does not exist is EINVAL for the whole call. */
static int32_t wasi_subscribe(const wasi_call *c, wasi_poller *w, const uint8_t *p, uint32_t i)
{
	wasi_sub *s = &w->subs[i];
	memset(s, 0, sizeof *s);
	s->userdata = wasi_u64(p);
	s->type = p[8];
	if (s->type == WASI_EVENT_CLOCK) {
		uint32_t clock = wasi_u32(p + 16), flags = p[40] | (uint32_t)p[41] << 8;
		uint64_t timeout = wasi_u64(p + 24);
		if (clock > WASI_CLOCK_MONOTONIC || flags > 1) {
			s->e = WASI_EINVAL;
			s->now = w->now = true;
			return WASI_OK;
		}
		if (flags) { /* absolute */
			uint64_t now = wasi_now(c->s, clock);
			timeout = timeout > now ? timeout - now : 0;
		}
		s->wait = timeout < INT64_MAX ? timeout : INT64_MAX;
		if (!w->clocks || s->wait < w->least)
			w->least = s->wait;
		w->clocks = true;
		return WASI_OK;
	}
	if (s->type > WASI_EVENT_WRITE)
		return WASI_EINVAL;
	wasi_desc *d = NULL; /* does not move during the call */
	bool read = s->type == WASI_EVENT_READ;
	s->e = wasi_find_for(c, (int32_t)wasi_u32(p + 16), WASI_R_POLL, &d);
	if (!s->e && !wasi_can(d, read ? WASI_R_READ : WASI_R_WRITE) && !wasi_can(d, WASI_R_ACCEPT))
		s->e = WASI_EBADF;
	if (s->e || wasi_is_null(d)) {
		s->now = w->now = true;
		return WASI_OK;
	}
	s->d = d;
	/* The kernel takes no more entries than the process may have files open, so each file has one. */
	if (d->slot >= w->num_fds || w->fds[d->slot].fd != d->fd) {
		d->slot = w->num_fds++;
		w->fds[d->slot].fd = d->fd;
		w->fds[d->slot].events = w->fds[d->slot].revents = 0;
	}
	w->fds[d->slot].events |= read ? WASI_POLLIN : WASI_POLLOUT;
	return WASI_OK;
}

/* wasi_readable gives the bytes that a read would find now. */
static uint64_t wasi_readable(const wasi_desc *d)
{
	wasi_stat st;
	int32_t n = 0;
	if (d->type == WASI_T_REGULAR) {
		int64_t pos = wasi_sys(WASI_SYS_lseek, d->fd, 0, WASI_SEEK_CUR, 0);
		if (pos < 0 || wasi_stat_at(d->fd, "", &st) < 0 || st.size < (uint64_t)pos)
			return 0;
		return st.size - (uint64_t)pos;
	}
	if (wasi_sys(WASI_SYS_ioctl, d->fd, WASI_FIONREAD, WASI_PTR(&n), 0) < 0 || n < 0)
		return 0;
	return (uint64_t)n;
}

static uint8_t *wasi_put_event(uint8_t *p, const wasi_sub *s, int32_t e, uint64_t bytes, bool hangup)
{
	wasi_put64(p, s->userdata);
	wasi_put64(p + 8, (uint64_t)e | (uint64_t)s->type << 16);
	wasi_put64(p + 16, bytes);
	wasi_put64(p + 24, hangup);
	return p + WASI_EVENT_SIZE;
}

/* wasi_poll_all waits until something is due, and writes events: first what needed no waiting, then descriptors, then clocks. */
static int32_t wasi_poll_all(wasi_poller *w, uint8_t *out, uint8_t *count)
{
	int64_t limit = w->now ? 0 : w->clocks ? (int64_t)w->least : -1;
	uint8_t *p = out;
	int64_t r = 0;
	if (w->num_fds || limit > 0)
		r = wasi_poll(w->fds, w->num_fds, limit);
	if (r < 0)
		return wasi_errno(r);
	for (uint32_t i = 0; i < w->n; i++)
		if (w->subs[i].now)
			p = wasi_put_event(p, &w->subs[i], w->subs[i].e, 0, false);
	for (uint32_t i = 0; i < w->n; i++) {
		const wasi_sub *s = &w->subs[i];
		int other = s->type == WASI_EVENT_READ ? WASI_POLLOUT : WASI_POLLIN; /* what another subscription may have asked for */
		int got = s->d ? w->fds[s->d->slot].revents & ~other : 0;
		if (!got)
			continue;
		bool bad = got & WASI_POLLNVAL;
		p = wasi_put_event(p, s, bad ? WASI_EBADF : WASI_OK, !bad && s->type == WASI_EVENT_READ ? wasi_readable(s->d) : 0, got & WASI_POLLHUP);
	}
	/* Without any descriptor ready, the shortest clocks are due. With one, only those that need no waiting are known to be. */
	uint64_t due = limit == 0 || p != out ? 0 : w->least;
	for (uint32_t i = 0; i < w->n; i++)
		if (w->subs[i].type == WASI_EVENT_CLOCK && !w->subs[i].now && w->subs[i].wait <= due)
			p = wasi_put_event(p, &w->subs[i], WASI_OK, 0, false);
	wasi_put32(count, (uint32_t)((p - out) / WASI_EVENT_SIZE));
	return WASI_OK;
}

WASI_FUNCTION(int32_t, poll_oneoff, (int32_t in, int32_t out, int32_t count, int32_t result))
{
	WASI_CALL(c);
	enum { few = 16 };
	wasi_sub subs[few];
	wasi_pollfd fds[few];
	uint32_t n = (uint32_t)count;
	size_t mapped = 0;
	if (n == 0 || n > WASI_MAX_SUBSCRIPTIONS)
		return WASI_EINVAL;
	const uint8_t *from = wasi_guest(&c, in, (uint64_t)n * WASI_SUBSCRIPTION_SIZE);
	uint8_t *to = wasi_guest(&c, out, (uint64_t)n * WASI_EVENT_SIZE), *events = wasi_guest(&c, result, 4);
	if (!from || !to || !events)
		return WASI_EFAULT;
	wasi_poller w;
	memset(&w, 0, sizeof w);
	w.subs = subs;
	w.fds = fds;
	w.n = n;
	if (n > few) {
		mapped = n * (sizeof *w.subs + sizeof *w.fds);
		if (!(w.subs = (wasi_sub *)wasi_map(mapped)))
			return WASI_ENOMEM;
		w.fds = (wasi_pollfd *)(w.subs + n);
	}
	int32_t e = WASI_OK;
	for (uint32_t i = 0; i < n && !e; i++)
		e = wasi_subscribe(&c, &w, from + (size_t)i * WASI_SUBSCRIPTION_SIZE, i);
	if (!e)
		e = wasi_poll_all(&w, to, events);
	if (mapped)
		wasi_unmap(w.subs, mapped);
	return e;
}

/* ---- The functions: sockets ---- */

WASI_FUNCTION(int32_t, sock_accept, (int32_t fd, int32_t flags, int32_t result))
{
	WASI_CALL(c);
	wasi_desc *d;
	int32_t e = wasi_find_socket(&c, fd, WASI_R_ACCEPT, &d);
	if (e)
		return e;
	if (flags & ~WASI_NONBLOCK)
		return WASI_EINVAL;
	uint8_t *out = wasi_guest(&c, result, 4);
	if (!out)
		return WASI_EFAULT;
	if ((e = wasi_room(c.s)))
		return e;
	wasi_find(&c, fd, &d); /* wasi_room may have moved it */
	bool nonblock = d->flags & WASI_NONBLOCK;
	int64_t r;
	for (;;) {
		r = -WASI_H_AGAIN;
		if (!nonblock || wasi_wait(d->fd, WASI_POLLIN, 0))
			r = wasi_opened(wasi_sys(WASI_SYS_accept4, d->fd, 0, 0, WASI_O_CLOEXEC /* as SOCK_CLOEXEC */));
		if (r == -WASI_H_AGAIN && !nonblock)
			wasi_wait(d->fd, WASI_POLLIN, -1);
		else if (r != -WASI_H_CONNABORTED)
			break;
	}
	if (r < 0)
		return wasi_errno(r);
	wasi_desc n = wasi_fresh();
	n.fd = (int)r;
	n.type = d->type;
	n.flags = (uint16_t)flags;
	n.waits = true;
	n.base = WASI_R_SOCKET & ~d->denied_below;
	n.inheriting = d->inheriting;
	n.denied = (WASI_R_ALL & ~(uint32_t)WASI_R_SOCKET) | d->denied_below;
	n.denied_below = d->denied_below;
	wasi_put32(out, wasi_insert(c.s, &n));
	return WASI_OK;
}

/* wasi_message_waiting makes one recvmsg or sendmsg that waits if the guest wants to; the host may have made the socket
 * non-blocking. */
static WASI_SHARED int64_t wasi_message_waiting(int call, const wasi_desc *d, wasi_iovec *v, uint32_t n, int flags, int64_t *got)
{
	bool nonblock = d->flags & WASI_NONBLOCK;
	for (;;) {
		int64_t r = wasi_message(call, d->fd, v, n, flags | (nonblock ? WASI_MSG_DONTWAIT : 0), got);
		if (r != -WASI_H_AGAIN || nonblock)
			return r;
		wasi_wait(d->fd, call == WASI_SYS_sendmsg ? WASI_POLLOUT : WASI_POLLIN, -1);
	}
}

WASI_FUNCTION(int32_t, sock_recv, (int32_t fd, int32_t iovs, int32_t n, int32_t riflags, int32_t result, int32_t roflags))
{
	WASI_CALL(c);
	enum { peek = 1, waitall = 2, truncated = 1 };
	wasi_desc *d;
	uint32_t count;
	int64_t got;
	int32_t e = wasi_find_socket(&c, fd, WASI_R_READ, &d);
	if (e)
		return e;
	if (riflags & ~(peek | waitall))
		return WASI_EINVAL;
	uint8_t *out = wasi_guest(&c, result, 4), *flags = wasi_guest(&c, roflags, 2);
	if (!out || !flags)
		return WASI_EFAULT;
	if ((e = wasi_iovecs(&c, iovs, n, &count)))
		return e;
	int64_t r = wasi_message_waiting(WASI_SYS_recvmsg, d, c.s->scratch->iov, count,
		(riflags & peek ? WASI_MSG_PEEK : 0) | (riflags & waitall ? WASI_MSG_WAITALL : 0), &got);
	if (r < 0)
		return wasi_errno(r);
	wasi_put16(flags, got & WASI_MSG_TRUNC ? truncated : 0);
	wasi_put32(out, (uint32_t)r);
	return WASI_OK;
}

WASI_FUNCTION(int32_t, sock_send, (int32_t fd, int32_t iovs, int32_t n, int32_t siflags, int32_t result))
{
	WASI_CALL(c);
	wasi_desc *d;
	uint32_t count;
	int64_t got;
	int32_t e = wasi_find_socket(&c, fd, WASI_R_WRITE, &d);
	if (e)
		return e;
	if (siflags)
		return WASI_EINVAL;
	uint8_t *out = wasi_guest(&c, result, 4);
	if (!out)
		return WASI_EFAULT;
	if ((e = wasi_iovecs(&c, iovs, n, &count)))
		return e;
	int64_t r = wasi_message_waiting(WASI_SYS_sendmsg, d, c.s->scratch->iov, count, WASI_MSG_NOSIGNAL, &got);
	if (r < 0)
		return wasi_errno(r);
	wasi_put32(out, (uint32_t)r);
	return WASI_OK;
}

WASI_FUNCTION(int32_t, sock_shutdown, (int32_t fd, int32_t how))
{
	WASI_CALL(c);
	wasi_desc *d;
	int32_t e = wasi_find_socket(&c, fd, WASI_R_SHUTDOWN, &d);
	if (e)
		return e;
	if (how < 1 || how > 3) /* reading 1, writing 2 */
		return WASI_EINVAL;
	return wasi_errno(wasi_sys(WASI_SYS_shutdown, d->fd, how - 1, 0, 0));
}

#ifdef __cplusplus
}
#endif
