// ChaCha20 (RFC 8439), one block at a time in four rows, and four blocks at a time in sixteen columns.
#include "kernel.h"
enum { N = 1 << 16, ROUNDS = 700 };
static uint8_t out[N], rows[N];
static uint32_t key[8];
#define ROTATE(x, n) wasm_v128_or(wasm_i32x4_shl(x, n), wasm_u32x4_shr(x, 32 - n))
#define ROTATE16(x) wasm_i8x16_shuffle(x, x, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13)
#define ROTATE8(x) wasm_i8x16_shuffle(x, x, 3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14)
#define QUARTER(a, b, c, d) \
	a = wasm_i32x4_add(a, b), d = ROTATE16(wasm_v128_xor(d, a)), c = wasm_i32x4_add(c, d), b = ROTATE(wasm_v128_xor(b, c), 12), \
	a = wasm_i32x4_add(a, b), d = ROTATE8(wasm_v128_xor(d, a)), c = wasm_i32x4_add(c, d), b = ROTATE(wasm_v128_xor(b, c), 7)
static void by_rows(uint8_t *to, uint32_t counter) {
	const v128_t a0 = wasm_u32x4_const(0x61707865, 0x3320646e, 0x79622d32, 0x6b206574), b0 = wasm_v128_load(key), c0 = wasm_v128_load(key + 4);
	for (int i = 0; i < N; i += 64) {
		v128_t d0 = wasm_u32x4_make(counter++, 1, 2, 3), a = a0, b = b0, c = c0, d = d0;
		for (int r = 0; r < 10; r++) {
			QUARTER(a, b, c, d);
			b = wasm_i32x4_shuffle(b, b, 1, 2, 3, 0), c = wasm_i32x4_shuffle(c, c, 2, 3, 0, 1), d = wasm_i32x4_shuffle(d, d, 3, 0, 1, 2);
			QUARTER(a, b, c, d);
			b = wasm_i32x4_shuffle(b, b, 3, 0, 1, 2), c = wasm_i32x4_shuffle(c, c, 2, 3, 0, 1), d = wasm_i32x4_shuffle(d, d, 1, 2, 3, 0);
		}
		wasm_v128_store(to + i, wasm_i32x4_add(a, a0));
		wasm_v128_store(to + i + 16, wasm_i32x4_add(b, b0));
		wasm_v128_store(to + i + 32, wasm_i32x4_add(c, c0));
		wasm_v128_store(to + i + 48, wasm_i32x4_add(d, d0));
	}
}
static void by_columns(uint8_t *to, uint32_t counter) {
	v128_t s[16];
	static const uint32_t name[4] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
	for (int i = 0; i < 4; i++) s[i] = wasm_u32x4_splat(name[i]);
	for (int i = 0; i < 8; i++) s[4 + i] = wasm_u32x4_splat(key[i]);
	s[13] = wasm_u32x4_splat(1), s[14] = wasm_u32x4_splat(2), s[15] = wasm_u32x4_splat(3);
	for (int n = 0; n < N; n += 256, counter += 4) {
		s[12] = wasm_u32x4_make(counter, counter + 1, counter + 2, counter + 3);
		v128_t x[16];
		for (int i = 0; i < 16; i++) x[i] = s[i];
		for (int r = 0; r < 10; r++) {
			QUARTER(x[0], x[4], x[8], x[12]);
			QUARTER(x[1], x[5], x[9], x[13]);
			QUARTER(x[2], x[6], x[10], x[14]);
			QUARTER(x[3], x[7], x[11], x[15]);
			QUARTER(x[0], x[5], x[10], x[15]);
			QUARTER(x[1], x[6], x[11], x[12]);
			QUARTER(x[2], x[7], x[8], x[13]);
			QUARTER(x[3], x[4], x[9], x[14]);
		}
		for (int i = 0; i < 16; i += 4) {
			v128_t a = wasm_i32x4_add(x[i], s[i]), b = wasm_i32x4_add(x[i + 1], s[i + 1]), c = wasm_i32x4_add(x[i + 2], s[i + 2]), d = wasm_i32x4_add(x[i + 3], s[i + 3]);
			v128_t ab = wasm_i32x4_shuffle(a, b, 0, 4, 1, 5), cd = wasm_i32x4_shuffle(c, d, 0, 4, 1, 5), AB = wasm_i32x4_shuffle(a, b, 2, 6, 3, 7), CD = wasm_i32x4_shuffle(c, d, 2, 6, 3, 7);
			wasm_v128_store(to + n + 4 * i, wasm_i64x2_shuffle(ab, cd, 0, 2));
			wasm_v128_store(to + n + 4 * i + 64, wasm_i64x2_shuffle(ab, cd, 1, 3));
			wasm_v128_store(to + n + 4 * i + 128, wasm_i64x2_shuffle(AB, CD, 0, 2));
			wasm_v128_store(to + n + 4 * i + 192, wasm_i64x2_shuffle(AB, CD, 1, 3));
		}
	}
}
__attribute__((export_name("_start"))) void start(void) {
	for (int i = 0; i < 8; i++) key[i] = random_next();
	bench_start();
	for (uint32_t r = 0; r < ROUNDS; r++) { by_rows(rows, r); by_columns(out, r); }
	bench_end();
	expect("chacha20", hash(out, N), hash(rows, N));
	for (int i = 0; i < 8; i++) key[i] = 0x03020100 + 0x04040404 * i; // the key of RFC 8439, 2.3.2, with another nonce
	by_columns(out, 1);
	if (!failed) print("chacha20", hash(out, N));
}
