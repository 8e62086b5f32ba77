/* Tests waot_wasi_open and waot_wasi_close: setup.c DIRECTORY, which has the file "file". Prints "ok" and exits with 0, or says what is wrong. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "waot_runtime.h"

extern const waot_object prog_object __asm__("prog.object");
#define WASI_CALL(name, ...) int32_t prog_c_##name(__VA_ARGS__) __asm__("prog..c_" #name)
WASI_CALL(args_sizes_get, int32_t, int32_t);
WASI_CALL(clock_time_get, int32_t, int64_t, int32_t);
WASI_CALL(random_get, int32_t, int32_t);
WASI_CALL(fd_write, int32_t, int32_t, int32_t, int32_t);
WASI_CALL(fd_read, int32_t, int32_t, int32_t, int32_t);
WASI_CALL(fd_prestat_get, int32_t, int32_t);
WASI_CALL(fd_close, int32_t);
WASI_CALL(fd_fdstat_get, int32_t, int32_t);
WASI_CALL(fd_fdstat_set_flags, int32_t, int32_t);
WASI_CALL(poll_oneoff, int32_t, int32_t, int32_t, int32_t);
WASI_CALL(path_open, int32_t, int32_t, int32_t, int32_t, int32_t, int64_t, int64_t, int32_t, int32_t);
WASI_CALL(fd_filestat_get, int32_t, int32_t);
WASI_CALL(fd_filestat_set_times, int32_t, int64_t, int64_t, int32_t);
WASI_CALL(path_filestat_set_times, int32_t, int32_t, int32_t, int32_t, int64_t, int64_t, int32_t);
WASI_CALL(sock_accept, int32_t, int32_t, int32_t);
WASI_CALL(fd_readdir, int32_t, int32_t, int32_t, int64_t, int32_t);

#define CHECK(x) \
	do { \
		if (!(x)) \
			printf("line %d: %s\n", __LINE__, #x), exit(1); \
	} while (0)

static waot_instance *inst;
static uint8_t *memory;

static int count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* refused checks that a configuration is refused and leaves nothing. */
static void refused(const waot_wasi_config *c, int want, int line)
{
	int fds = count_fds(), r = waot_wasi_open(inst, c);
	if (r != -want || count_fds() != fds || *waot_instance_wasi(inst)) {
		printf("line %d: %d (%s), %d descriptors, before %d\n", line, r, strerror(-r), count_fds(), fds);
		exit(1);
	}
}

static int32_t open_file(int dir, const char *name, int64_t rights)
{
	memcpy(memory + 100, name, strlen(name));
	return prog_c_path_open(dir, 1, 100, (int32_t)strlen(name), 0, rights, 0, 0, 16);
}

static uint32_t word(uint32_t at)
{
	uint32_t v;
	memcpy(&v, memory + at, 4);
	return v;
}

static void put(uint32_t at, uint32_t v) { memcpy(memory + at, &v, 4); }

/* make_entries makes 60 files. */
static void make_entries(const char *path)
{
	for (int i = 0; i < 60; i++) {
		char name[1000];
		snprintf(name, sizeof name, "%s/entry%02d", path, i);
		int fd = creat(name, 0666);
		CHECK(fd >= 0);
		close(fd);
	}
}

/* read_directory lists the directory 3 with room for a few entries at a time. */
static void read_directory(uint32_t room)
{
	uint64_t cookie = 0;
	uint32_t found = 0;
	for (;;) {
		CHECK(prog_c_fd_readdir(3, 400, (int32_t)room, (int64_t)cookie, 16) == 0);
		uint32_t used = word(16), at = 400;
		while (400 + used - at >= 24 && 400 + used - at >= 24 + word(at + 16)) {
			memcpy(&cookie, memory + at, 8);
			found += !memcmp(memory + at + 24, "entry", 5);
			at += 24 + word(at + 16);
		}
		if (used < room)
			break;
	}
	CHECK(found == 60);
}

/* write_much writes more to descriptor 1, a non-blocking pipe, than it has room for. */
static void write_much(int reader)
{
	enum { step = 20000, steps = 20, first = 777 };
	pid_t pid = fork();
	if (pid == 0) {
		static uint8_t all[steps * (step + first) + 1];
		size_t n = 0;
		usleep(50000);
		for (ssize_t r; n < sizeof all - 1; n += (size_t)r)
			if ((r = read(reader, all + n, sizeof all - n)) <= 0) {
				CHECK(r < 0 && errno == EAGAIN);
				usleep(1000);
				r = 0;
			}
		for (size_t i = 0; i < n; i++) {
			size_t at = i % (step + first);
			CHECK(all[i] == (uint8_t)(at < first ? at * 7 : (at - first) * 13));
		}
		_exit(0);
	}
	for (uint32_t i = 0; i < step; i++) {
		memory[10000 + i] = (uint8_t)(i * 7);
		memory[35000 + i] = (uint8_t)(i * 13);
	}
	for (uint32_t i = 0; i < steps; i++) {
		put(400 + 16 * i, 10000), put(404 + 16 * i, first);
		put(408 + 16 * i, 35000), put(412 + 16 * i, step);
	}
	int status;
	CHECK(prog_c_fd_write(1, 400, 2 * steps, 16) == 0 && word(16) == steps * (step + first));
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

/* child runs f in a process of its own, which must end well. */
static void child(void (*f)(const char *dir), const char *dir)
{
	int status;
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		f(dir);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

/* closed_streams begins in a program whose streams are closed: nothing that is opened gets their numbers. */
static void closed_streams(const char *dir)
{
	waot_wasi_dir dirs[1] = {{.host = dir, .guest = "/", .fd = -1}};
	waot_wasi_config c = {.dirs = dirs, .num_dirs = 1, .fds = {0, 1, 2}};
	int said = dup(1), low = 0;
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	int r = waot_wasi_open(inst, &c), opened = open_file(3, "file", 2);
	for (int i = 0; i < 4 && !opened; i++)
		opened = open_file(3, "file", 2);
	for (int fd = 0; fd < 3; fd++)
		low += fcntl(fd, F_GETFD) >= 0;
	struct rlimit few = {.rlim_cur = 3, .rlim_max = 3};
	int full = setrlimit(RLIMIT_NOFILE, &few) ? -1 : open_file(3, "file", 2);
	dup2(said, 1);
	CHECK(r == 0 && opened == 0 && low == 0);
	CHECK(full == 33); /* too many open files, and none under a stream's number */
	CHECK(fcntl(0, F_GETFD) < 0 && fcntl(2, F_GETFD) < 0);
}

/* leave writes more to a pipe than it has room for, to a reader that leaves. */
static int32_t leave(void)
{
	int ends[2], status;
	CHECK(pipe(ends) == 0);
	waot_wasi_config c = {.fds = {-1, ends[1], -1}};
	CHECK(waot_wasi_open(inst, &c) == 0);
	close(ends[1]);
	pid_t pid = fork();
	if (pid == 0) {
		char byte;
		waot_wasi_close(inst);
		_exit(read(ends[0], &byte, 1) != 1);
	}
	close(ends[0]);
	for (uint32_t i = 0; i < 100; i++)
		put(400 + 8 * i, 10000), put(404 + 8 * i, 50000);
	int32_t e = prog_c_fd_write(1, 400, 100, 16);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK(e == 0 && word(16) > 0 && word(16) < 100 * 50000);
	e = prog_c_fd_write(1, 400, 100, 16);
	waot_wasi_close(inst);
	return e;
}

/* signals checks that the signal of a broken pipe does not reach the program, whether it blocks it or not, and that the program's own does. */
static void signals(const char *dir)
{
	(void)dir;
	sigset_t pipes, pending;
	CHECK(leave() == 64);
	sigemptyset(&pipes);
	sigaddset(&pipes, SIGPIPE);
	CHECK(sigprocmask(SIG_BLOCK, &pipes, NULL) == 0 && leave() == 64 && sigpending(&pending) == 0 && !sigismember(&pending, SIGPIPE));
	CHECK(raise(SIGPIPE) == 0 && leave() == 64 && sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE));
	int ends[2];
	waot_trap trap = {.code = WAOT_THROWN, .text = "text"};
	CHECK(signal(SIGPIPE, SIG_IGN) != SIG_ERR && signal(SIGPIPE, SIG_DFL) != SIG_ERR); /* which forgets it */
	CHECK(sigprocmask(SIG_UNBLOCK, &pipes, NULL) == 0 && pipe(ends) == 0 && close(ends[0]) == 0);
	waot_print(&trap, ends[1]);
}

/* many_subscriptions polls more often than files may be open. */
static void many_subscriptions(const char *dir)
{
	enum { n = 1000, at = 1000 };
	waot_wasi_dir dirs[1] = {{.host = dir, .guest = "/", .fd = -1}};
	waot_wasi_config c = {.dirs = dirs, .num_dirs = 1, .fds = {-1, 1, -1}};
	CHECK(waot_wasi_open(inst, &c) == 0 && open_file(3, "file", 2) == 0 && word(16) == 0);
	struct rlimit few = {.rlim_cur = 64, .rlim_max = 64};
	CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
	memset(memory + at, 0, 48 * n);
	for (uint32_t i = 0; i < n; i++) /* reading from 0, which the kernel always allows, and writing to 1 */
		memory[at + 48 * i] = (uint8_t)i, memory[at + 48 * i + 8] = 1 + i % 2, memory[at + 48 * i + 16] = i % 2;
	CHECK(prog_c_poll_oneoff(at, at, n, 16) == 0 && word(16) == n);
	for (uint32_t i = 0; i < n; i++)
		CHECK(memory[at + 32 * i] == (uint8_t)i && word(at + 32 * i + 8) == (1 + i % 2) << 16 && word(at + 32 * i + 16) == (i % 2 ? 0 : 5));
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	waot_trap trap;
	inst = waot_instance_of(&prog_object);
	CHECK(inst && waot_instance_init(inst, NULL, NULL, &trap) == 0);
	memory = waot_memory_base(inst, 0);
	int fds = count_fds();
	bool inherited[1024];
	for (int fd = 0; fd < 1024; fd++)
		inherited[fd] = fcntl(fd, F_GETFD) >= 0;
	put(0, 32);
	put(4, 5);

	/* In processes of their own. */
	child(closed_streams, argv[1]);
	child(signals, argv[1]);
	child(many_subscriptions, argv[1]);

	/* Without a configuration. */
	CHECK(prog_c_args_sizes_get(16, 20) == 0 && word(16) == 0 && word(20) == 0);
	CHECK(prog_c_fd_write(1, 0, 1, 16) == 8 && prog_c_fd_read(0, 0, 1, 16) == 8 && prog_c_fd_prestat_get(3, 16) == 8 && prog_c_fd_close(0) == 8);
	CHECK(prog_c_clock_time_get(0, 0, 16) == 0 && word(20) != 0 && prog_c_random_get(16, 8) == 0);
	memset(memory + 200, 0, 48);
	CHECK(prog_c_poll_oneoff(200, 300, 1, 16) == 0 && word(16) == 1);
	waot_wasi_close(inst);

	/* What is refused. */
	waot_wasi_config c = {.fds = {-1, -1, -1}};
	waot_wasi_dir dirs[2] = {{.host = argv[1], .guest = "/", .fd = -1}};
	c.dirs = dirs;
	c.num_dirs = 2;
	dirs[1] = (waot_wasi_dir){.host = "/nonexistent", .guest = "/x", .fd = -1};
	refused(&c, ENOENT, __LINE__);
	dirs[1].host = "/proc/self";
	refused(&c, EACCES, __LINE__);
	dirs[1].host = "/dev/null";
	refused(&c, ENOTDIR, __LINE__);
	dirs[1] = dirs[0], dirs[1].guest = "";
	refused(&c, EINVAL, __LINE__);
	dirs[1].guest = NULL;
	refused(&c, EINVAL, __LINE__);
	dirs[1] = (waot_wasi_dir){.guest = "/x", .fd = -1};
	refused(&c, EINVAL, __LINE__);
	dirs[1] = (waot_wasi_dir){.guest = "/x", .fd = 999};
	refused(&c, EBADF, __LINE__);
	c.num_dirs = 1;
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	c.sockets = &null, c.num_sockets = 1;
	refused(&c, ENOTSOCK, __LINE__);
	close(null);

	/* Everything closed but a directory of the host's; the configuration does not stay. */
	char guest[] = "/name", arg[] = "arg", *args[] = {arg, NULL};
	int dir = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dirs[0] = (waot_wasi_dir){.guest = guest, .fd = dir};
	c.args = (const char *const *)args, c.num_sockets = 0, c.fds[1] = 998; /* not open */
	CHECK(waot_wasi_open(inst, &c) == 0);
	CHECK(waot_wasi_open(inst, &c) == -EBUSY);
	memset(guest, 'x', 5), memset(arg, 'x', 3), args[0] = NULL;
	close(dir);
	CHECK(prog_c_args_sizes_get(16, 20) == 0 && word(16) == 1 && word(20) == 4);
	CHECK(prog_c_fd_prestat_get(3, 16) == 0 && word(20) == 5);
	CHECK(prog_c_fd_write(1, 0, 1, 16) == 8 && prog_c_fd_read(0, 0, 1, 16) == 8);
	CHECK(open_file(3, "file", 2) == 0 && word(16) == 0); /* the lowest number that is free */
	CHECK(prog_c_fd_read(0, 0, 1, 16) == 0 && word(16) == 5 && !memcmp(memory + 32, "hello", 5));
	struct stat st;
	uint64_t dev;
	CHECK(prog_c_fd_filestat_get(3, 400) == 0 && stat(argv[1], &st) == 0);
	memcpy(&dev, memory + 400, 8);
	CHECK(dev == st.st_dev);
	make_entries(argv[1]);
	for (uint32_t room = 60; room < 130; room++) /* the last entry is cut off at each place, and not at all */
		read_directory(room);

	/* Times. */
	char file_name[1000];
	snprintf(file_name, sizeof file_name, "%s/file", argv[1]);
	CHECK(prog_c_fd_filestat_set_times(0, 1000000002, 3000000004, 5) == 0 && stat(file_name, &st) == 0);
	CHECK(st.st_atim.tv_sec == 1 && st.st_atim.tv_nsec == 2 && st.st_mtim.tv_sec == 3 && st.st_mtim.tv_nsec == 4);
	CHECK(prog_c_path_filestat_set_times(3, 0, 100, 4, 7, 5000000006, 4) == 0 && stat(file_name, &st) == 0);
	CHECK(st.st_atim.tv_sec == 1 && st.st_mtim.tv_sec == 5 && st.st_mtim.tv_nsec == 6);
	CHECK(prog_c_path_filestat_set_times(3, 0, 100, 4, 7, 7, 2) == 0 && stat(file_name, &st) == 0);
	CHECK(st.st_atim.tv_sec > 1000000000 && st.st_mtim.tv_sec == 5);
	CHECK(prog_c_fd_filestat_get(0, 400) == 0);
	uint64_t times[3], want[3] = {(uint64_t)st.st_atim.tv_sec * 1000000000 + (uint64_t)st.st_atim.tv_nsec, 5000000006, (uint64_t)st.st_ctim.tv_sec * 1000000000 + (uint64_t)st.st_ctim.tv_nsec};
	memcpy(times, memory + 440, sizeof times);
	CHECK(!memcmp(times, want, sizeof want));
	memcpy(times, memory + 408, 8);
	CHECK(times[0] == st.st_ino);

	/* All that was opened is closed on exec. */
	int opened = 0;
	for (int fd = 0; fd < 1024; fd++) {
		int flags = fcntl(fd, F_GETFD);
		if (flags < 0 || inherited[fd])
			continue;
		CHECK(flags & FD_CLOEXEC);
		opened++;
	}
	CHECK(opened == 3); /* the directory, the file, and the process's directory of open files */

	/* A process made by fork opens its own files, not those that its parent has under the same numbers. */
	int pipes[2];
	CHECK(pipe(pipes) == 0);
	pid_t pid = fork();
	if (pid == 0) {
		char byte;
		CHECK(read(pipes[0], &byte, 1) == 1);
		CHECK(open_file(3, "file", 2) == 0);
		CHECK(prog_c_fd_read((int32_t)word(16), 0, 1, 16) == 0 && word(16) == 5 && !memcmp(memory + 32, "hello", 5));
		_exit(0);
	}
	int others[64], status;
	for (int i = 0; i < 64; i++) /* take the numbers that the child will use */
		CHECK((others[i] = open("/dev/null", O_RDONLY)) >= 0);
	CHECK(write(pipes[1], "x", 1) == 1 && waitpid(pid, &status, 0) == pid && status == 0);
	for (int i = 0; i < 64; i++)
		close(others[i]);
	close(pipes[0]), close(pipes[1]);
	waot_wasi_close(inst);
	CHECK(!*waot_instance_wasi(inst) && count_fds() == fds);
	waot_wasi_close(inst);
	CHECK(prog_c_fd_close(3) == 8);

	/* A listening socket, and a host that has made its descriptors non-blocking. */
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	snprintf(at.sun_path, sizeof at.sun_path, "%s/socket", argv[1]);
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), in[2];
	CHECK(bind(listener, (struct sockaddr *)&at, sizeof at) == 0 && listen(listener, 4) == 0);
	CHECK(pipe2(in, O_NONBLOCK | O_CLOEXEC) == 0);
	c.num_dirs = 0, c.args = NULL, c.sockets = &listener, c.num_sockets = 1, c.fds[0] = c.fds[1] = c.fds[2] = in[0];
	CHECK(waot_wasi_open(inst, &c) == 0);
	CHECK(prog_c_fd_fdstat_set_flags(3, 4) == 0 && prog_c_sock_accept(3, 0, 16) == 6 && prog_c_fd_fdstat_set_flags(3, 0) == 0);
	pid = fork();
	if (pid == 0) {
		usleep(20000);
		int s = socket(AF_UNIX, SOCK_STREAM, 0);
		CHECK(connect(s, (struct sockaddr *)&at, sizeof at) == 0 && write(s, "howdy", 5) == 5);
		usleep(20000);
		CHECK(write(in[1], "input", 5) == 5);
		_exit(0);
	}
	CHECK(prog_c_sock_accept(3, 0, 16) == 0 && word(16) == 4); /* waits */
	CHECK(prog_c_fd_read(4, 0, 1, 16) == 0 && word(16) == 5 && !memcmp(memory + 32, "howdy", 5));
	CHECK(prog_c_fd_read(0, 0, 1, 16) == 0 && word(16) == 5 && !memcmp(memory + 32, "input", 5)); /* waits */
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	waot_wasi_close(inst);
	unlink(at.sun_path);

	/* What the guest sets of a descriptor that the host has too does not change the host's. */
	char name[1000];
	snprintf(name, sizeof name, "%s/output", argv[1]);
	int file = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0666), out[2];
	c.num_sockets = 0, c.fds[0] = c.fds[2] = file;
	CHECK(pipe2(out, O_NONBLOCK | O_CLOEXEC) == 0);
	c.fds[1] = out[1];
	CHECK(waot_wasi_open(inst, &c) == 0);
	for (int fd = 0; fd < 1024; fd++)
		CHECK(inherited[fd] || fcntl(fd, F_GETFD) != 0); /* open, and not closed on exec */
	CHECK(prog_c_fd_fdstat_set_flags(2, 5) == 0 && !(fcntl(file, F_GETFL) & (O_APPEND | O_NONBLOCK)));
	write_much(out[0]);
	waot_wasi_close(inst);
	puts("ok");
	return 0;
}
