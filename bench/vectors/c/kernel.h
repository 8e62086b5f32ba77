// What every kernel has: no library, marks of time, a checksum as output.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <wasm_simd128.h>

__attribute__((import_module("bench"), import_name("start"))) void bench_start(void);
__attribute__((import_module("bench"), import_name("end"))) void bench_end(void);
struct ciovec { const void *at; size_t len; };
__attribute__((import_module("wasi_snapshot_preview1"), import_name("fd_write"))) int fd_write(int, const struct ciovec *, size_t, size_t *);

// random_next is a xorshift generator; the inputs of all kernels come from it.
static uint32_t random_state = 2463534242u;
static inline uint32_t random_next(void) {
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	return random_state ^= random_state << 5;
}

// hash is FNV-1a.
static inline uint64_t hash(const void *at, size_t n) {
	const uint8_t *p = at;
	uint64_t h = 14695981039346656037u;
	while (n--) h = (h ^ *p++) * 1099511628211u;
	return h;
}

static void print(const char *name, uint64_t x) {
	char line[64];
	size_t n = 0, written;
	while (name[n]) { line[n] = name[n]; n++; }
	line[n++] = ' ';
	for (int i = 60; i >= 0; i -= 4) line[n++] = "0123456789abcdef"[x >> i & 15];
	line[n++] = '\n';
	struct ciovec v = {line, n};
	fd_write(1, &v, 1, &written);
}

void *memcpy(void *restrict to, const void *restrict from, size_t n) {
	uint8_t *t = to; const uint8_t *f = from;
	for (size_t i = 0; i < n; i++) t[i] = f[i];
	return to;
}
void *memset(void *to, int c, size_t n) {
	uint8_t *t = to;
	for (size_t i = 0; i < n; i++) t[i] = c;
	return to;
}

// fail prints which check of a kernel against its scalar version failed.
static int failed;
static void expect(const char *name, uint64_t got, uint64_t want) {
	if (got != want) { print(name, got ^ want); failed = 1; }
}
