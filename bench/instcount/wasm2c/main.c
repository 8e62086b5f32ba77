/* Runs a program that wasm2c (wabt 1.0.32) has translated, under the name prog, to
 * prog.c. It has what command waotrun gives it, as far as the benchmark modules ask for it:
 * this is for trusted programs, whose paths are not confined to the directory.
 *
 * HOSTS is as many null pointers, with a comma before each, as there are modules imported
 * from: the functions here need no state of their own. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "prog.h"
#include "wasm-rt-impl.h"

struct Z_wasi_snapshot_preview1_instance_t;
struct Z_bench_instance_t;

static Z_prog_instance_t prog;

/* The descriptors are the host's: this is the directory. */
enum { DIRECTORY = 3 };

static void *mem(u32 p) { return Z_progZ_memory(&prog)->data + p; }

static u32 get32(u32 p) {
  u32 v;
  memcpy(&v, mem(p), sizeof v);
  return v;
}
static void put32(u32 p, u32 v) { memcpy(mem(p), &v, sizeof v); }
static void put64(u32 p, u64 v) { memcpy(mem(p), &v, sizeof v); }

/* WASI's number of the last error, or of EINVAL where it has another name. */
static u32 failure(void) {
  static const struct {
    int host;
    u32 wasi;
  } codes[] = {{EACCES, 2}, {EBADF, 8}, {EEXIST, 20}, {EINVAL, 28}, {EIO, 29}, {EISDIR, 31}, {ENOENT, 44}, {ENOTDIR, 54}, {ESPIPE, 70}};
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
    if (codes[i].host == errno) return codes[i].wasi;
  return 28;
}
static u32 outcome(int result) { return result < 0 ? failure() : 0; }

/* Declares a function of WASI. */
#define WASI(name, ...) u32 Z_wasi_snapshot_preview1Z_##name(struct Z_wasi_snapshot_preview1_instance_t *none, __VA_ARGS__)

void Z_benchZ_start(struct Z_bench_instance_t *none) {}
void Z_benchZ_end(struct Z_bench_instance_t *none) {}

void Z_wasi_snapshot_preview1Z_proc_exit(struct Z_wasi_snapshot_preview1_instance_t *none, u32 status) { exit(status); }

static const char name[] = "benchmark.wasm";

WASI(args_sizes_get, u32 count, u32 size) {
  put32(count, 1);
  put32(size, sizeof name);
  return 0;
}
WASI(args_get, u32 pointers, u32 text) {
  put32(pointers, text);
  memcpy(mem(text), name, sizeof name);
  return 0;
}
WASI(environ_sizes_get, u32 count, u32 size) {
  put32(count, 0);
  put32(size, 0);
  return 0;
}
WASI(environ_get, u32 pointers, u32 text) { return 0; }

WASI(clock_time_get, u32 id, u64 precision, u32 time) {
  static u64 reads;
  put64(time, ++reads * 1000000);
  return 0;
}
WASI(random_get, u32 p, u32 n) {
  memset(mem(p), 42, n);
  return 0;
}

/* Transfers what the n vectors at iov say, one after the other. */
static u32 transfer(u32 fd, u32 iov, u32 n, u32 done, ssize_t (*one)(int, void *, size_t)) {
  u32 total = 0;
  for (u32 end = iov + 8 * n; iov < end; iov += 8) {
    u32 want = get32(iov + 4);
    ssize_t r = one(fd, mem(get32(iov)), want);
    if (r < 0) return failure();
    total += r;
    if (r < (ssize_t)want) break;
  }
  put32(done, total);
  return 0;
}
static ssize_t put(int fd, void *p, size_t n) { return write(fd, p, n); }

WASI(fd_read, u32 fd, u32 iov, u32 n, u32 done) { return transfer(fd, iov, n, done, read); }
WASI(fd_write, u32 fd, u32 iov, u32 n, u32 done) { return transfer(fd, iov, n, done, put); }
WASI(fd_close, u32 fd) { return outcome(close(fd)); }
WASI(fd_sync, u32 fd) { return outcome(fsync(fd)); }
WASI(fd_seek, u32 fd, u64 offset, u32 whence, u32 result) {
  off_t at = lseek(fd, offset, whence == 0 ? SEEK_SET : whence == 1 ? SEEK_CUR : SEEK_END);
  if (at >= 0) put64(result, at);
  return outcome(at < 0 ? -1 : 0);
}

static u8 kind(const struct stat *s) {
  return S_ISCHR(s->st_mode) ? 2 : S_ISDIR(s->st_mode) ? 3 : S_ISREG(s->st_mode) ? 4 : 0;
}
WASI(fd_fdstat_get, u32 fd, u32 result) {
  struct stat s;
  if (fstat(fd, &s) < 0) return failure();
  memset(mem(result), 0, 24);
  *(u8 *)mem(result) = kind(&s);
  put64(result + 8, -1); /* all rights */
  put64(result + 16, -1);
  return 0;
}
static u32 describe(const struct stat *s, u32 result) {
  memset(mem(result), 0, 64);
  put64(result, s->st_dev);
  put64(result + 8, s->st_ino);
  *(u8 *)mem(result + 16) = kind(s);
  put64(result + 24, s->st_nlink);
  put64(result + 32, s->st_size);
  return 0;
}
WASI(fd_filestat_get, u32 fd, u32 result) {
  struct stat s;
  return fstat(fd, &s) < 0 ? failure() : describe(&s, result);
}

WASI(fd_prestat_get, u32 fd, u32 result) {
  if (fd != DIRECTORY) return 8; /* badf */
  put32(result, 0);
  put32(result + 4, 1);
  return 0;
}
WASI(fd_prestat_dir_name, u32 fd, u32 text, u32 n) {
  *(char *)mem(text) = '.';
  return 0;
}

/* A copy of a path, to be freed. */
static char *path(u32 text, u32 n) { return strndup(mem(text), n); }

WASI(path_filestat_get, u32 dir, u32 flags, u32 text, u32 n, u32 result) {
  struct stat s;
  char *p = path(text, n);
  int r = fstatat(dir, p, &s, flags & 1 ? 0 : AT_SYMLINK_NOFOLLOW);
  free(p);
  return r < 0 ? failure() : describe(&s, result);
}
WASI(path_open, u32 dir, u32 lookup, u32 text, u32 n, u32 oflags, u64 rights, u64 inherited, u32 fdflags, u32 result) {
  static const int extra[] = {O_CREAT, O_DIRECTORY, O_EXCL, O_TRUNC};
  enum { READ = 1 << 1, WRITE = 1 << 6 };
  int flags = !(rights & WRITE) || oflags & 2 ? O_RDONLY : rights & READ ? O_RDWR : O_WRONLY;
  for (int i = 0; i < 4; i++)
    if (oflags & 1 << i) flags |= extra[i];
  char *p = path(text, n);
  int fd = openat(dir, p, flags, 0644);
  free(p);
  if (fd >= 0) put32(result, fd);
  return outcome(fd);
}

int main(void) {
  int fd = open(".", O_RDONLY | O_DIRECTORY);
  if (fd < 0 || (fd != DIRECTORY && dup2(fd, DIRECTORY) < 0)) {
    perror(".");
    return 1;
  }
  wasm_rt_init();
  Z_prog_init_module();
  wasm_rt_trap_t trap = wasm_rt_impl_try();
  if (trap) {
    fprintf(stderr, "trap: %s\n", wasm_rt_strerror(trap));
    return 1;
  }
  Z_prog_instantiate(&prog HOSTS);
  Z_progZ__start(&prog);
  return 0;
}
