/* Makes the calls of a script with the functions of WASI, and writes what each did: calls.c OPTIONS -- SCRIPT OUTPUT.
 *
 * A script is records, of numbers in this machine's order: 'W', address (4 bytes), length (4), bytes: to be written to the memory; or
 * 'C', number of the function by name (1), nine arguments (8 each). Of each call the output has the errno, or 65536 and the exit
 * status when the guest ends itself (8 bytes), and the ranges of the memory that have changed: address, length (4 each) and the bytes; a range without
 * bytes is the last. What is different in each run (times, inodes, random bytes) is cleared in the memory; forget in wasi_calls_test.go does the same. */
#define _GNU_SOURCE
#include <dirent.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "waot_runtime.h"
#include "options.h"

typedef int32_t function(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

#define FUNCTIONS(row) \
	row(args_get) row(args_sizes_get) row(clock_res_get) row(clock_time_get) row(environ_get) row(environ_sizes_get) \
	row(fd_advise) row(fd_allocate) row(fd_close) row(fd_datasync) row(fd_fdstat_get) row(fd_fdstat_set_flags) \
	row(fd_fdstat_set_rights) row(fd_filestat_get) row(fd_filestat_set_size) row(fd_filestat_set_times) row(fd_pread) \
	row(fd_prestat_dir_name) row(fd_prestat_get) row(fd_pwrite) row(fd_read) row(fd_readdir) row(fd_renumber) row(fd_seek) \
	row(fd_sync) row(fd_tell) row(fd_write) row(path_create_directory) row(path_filestat_get) row(path_filestat_set_times) \
	row(path_link) row(path_open) row(path_readlink) row(path_remove_directory) row(path_rename) row(path_symlink) \
	row(path_unlink_file) row(poll_oneoff) row(proc_exit) row(proc_raise) row(random_get) row(sched_yield) row(sock_accept) \
	row(sock_recv) row(sock_send) row(sock_shutdown)

#define DECLARE(name) function prog_c_##name __asm__("prog..c_" #name);
#define NUMBER(name) number_##name,
#define POINTER(name) prog_c_##name,
FUNCTIONS(DECLARE)
enum { FUNCTIONS(NUMBER) num_functions };
static function *const functions[] = {FUNCTIONS(POINTER)};

extern const waot_object prog_object __asm__("prog.object");

struct call { int number; uint64_t arg[9]; int64_t result; };

static void one(void *p)
{
	struct call *c = p;
	uint64_t *a = c->arg;
	c->result = functions[c->number](a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8]);
}

static void forget(uint8_t *memory, const struct call *c)
{
	uint32_t at, used;
	switch (c->number) {
	case number_fd_filestat_get:
	case number_path_filestat_get:
		at = (uint32_t)c->arg[c->number == number_fd_filestat_get ? 1 : 4];
		memset(memory + at, 0, 16);
		memset(memory + at + 40, 0, 24);
		break;
	case number_clock_time_get:
		memset(memory + (uint32_t)c->arg[2], 0, 8);
		break;
	case number_random_get:
		memset(memory + (uint32_t)c->arg[0], 0, (uint32_t)c->arg[1]);
		break;
	case number_fd_readdir:
		memcpy(&used, memory + (uint32_t)c->arg[4], 4);
		for (at = 0; at < used;) {
			uint32_t name = 0;
			if (used - at >= 20)
				memcpy(&name, memory + (uint32_t)c->arg[1] + at + 16, 4);
			memset(memory + (uint32_t)c->arg[1] + at, 0, used - at < 16 ? used - at : 16);
			at += 24 + name;
		}
	}
}

static int count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void get(void *to, size_t n, FILE *f)
{
	if (fread(to, 1, n, f) != n) {
		fprintf(stderr, "the script is cut off\n");
		exit(116);
	}
}

int main(int argc, char **argv)
{
	static uint8_t before[1 << 16];
	waot_wasi_config config;
	struct call c;
	uint8_t number;
	FILE *in = NULL, *out = NULL;
	char **files = argv + argc - 2;
	if (!(in = fopen(files[0], "r")) || !(out = fopen(files[1], "w")))
		return 117;
	argv[argc - 2] = NULL;
	options(argc - 2, argv, &config);
	int fds = count_fds();
	waot_instance *inst = instantiate(&prog_object);
	int r = waot_wasi_open(inst, &config);
	if (r < 0) {
		fprintf(stderr, "waot_wasi_open: %s\n", strerror(-r));
		return 112;
	}
	alarm(100);
	uint8_t *memory = waot_memory_base(inst, 0);
	for (int kind; (kind = fgetc(in)) != EOF;) {
		if (kind == 'W') {
			uint32_t range[2];
			get(range, sizeof range, in);
			get(memory + range[0], range[1], in);
			continue;
		}
		get(&number, 1, in);
		get(c.arg, sizeof c.arg, in);
		c.number = number;
		memcpy(before, memory, sizeof before);
		waot_trap trap;
		int64_t e = waot_try(&trap, one, &c);
		if (e == WAOT_EXIT)
			e = 65536 + (int64_t)(uint32_t)trap.status;
		else if (e)
			waot_print(&trap, 2);
		else
			e = c.number == number_proc_exit ? -1 : c.result;
		if (e == 0)
			forget(memory, &c);
		fwrite(&e, 8, 1, out);
		for (uint32_t i = 0; i < sizeof before;) {
			const uint32_t block = 256;
			uint32_t range[2] = {i, 0};
			if (i % block == 0 && !memcmp(memory + i, before + i, block)) {
				i += block;
				continue;
			}
			while (i < sizeof before && memory[i] != before[i])
				i++;
			if (!(range[1] = i - range[0])) {
				i++;
				continue;
			}
			fwrite(range, sizeof range, 1, out);
			fwrite(memory + range[0], 1, range[1], out);
		}
		fwrite("\0\0\0\0\0\0\0\0", 8, 1, out);
		fflush(out);
	}
	waot_wasi_close(inst);
	if (count_fds() != fds) {
		fprintf(stderr, "descriptors of the host leak: %d, before %d\n", count_fds(), fds);
		return 118;
	}
	return 0;
}
