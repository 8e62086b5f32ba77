// The dot products of vectors of floats and of 16-bit integers.
#include "kernel.h"
enum { N = 4096, ROUNDS = 60000 };
static float x[N], y[N];
static int16_t a[N], b[N];
static float dot_f32(const float *x, const float *y) {
	v128_t s0 = wasm_f32x4_splat(0), s1 = s0, s2 = s0, s3 = s0;
	for (int i = 0; i < N; i += 16) {
		s0 = wasm_f32x4_add(s0, wasm_f32x4_mul(wasm_v128_load(x + i), wasm_v128_load(y + i)));
		s1 = wasm_f32x4_add(s1, wasm_f32x4_mul(wasm_v128_load(x + i + 4), wasm_v128_load(y + i + 4)));
		s2 = wasm_f32x4_add(s2, wasm_f32x4_mul(wasm_v128_load(x + i + 8), wasm_v128_load(y + i + 8)));
		s3 = wasm_f32x4_add(s3, wasm_f32x4_mul(wasm_v128_load(x + i + 12), wasm_v128_load(y + i + 12)));
	}
	s0 = wasm_f32x4_add(wasm_f32x4_add(s0, s1), wasm_f32x4_add(s2, s3));
	return wasm_f32x4_extract_lane(s0, 0) + wasm_f32x4_extract_lane(s0, 1) + wasm_f32x4_extract_lane(s0, 2) + wasm_f32x4_extract_lane(s0, 3);
}
static int32_t dot_i16(const int16_t *a, const int16_t *b) {
	v128_t s0 = wasm_i32x4_splat(0), s1 = s0;
	for (int i = 0; i < N; i += 16) {
		s0 = wasm_i32x4_add(s0, wasm_i32x4_dot_i16x8(wasm_v128_load(a + i), wasm_v128_load(b + i)));
		s1 = wasm_i32x4_add(s1, wasm_i32x4_dot_i16x8(wasm_v128_load(a + i + 8), wasm_v128_load(b + i + 8)));
	}
	s0 = wasm_i32x4_add(s0, s1);
	return wasm_i32x4_extract_lane(s0, 0) + wasm_i32x4_extract_lane(s0, 1) + wasm_i32x4_extract_lane(s0, 2) + wasm_i32x4_extract_lane(s0, 3);
}
__attribute__((export_name("_start"))) void start(void) {
	for (int i = 0; i < N; i++) {
		x[i] = (int)(random_next() % 32) - 16; // small integers: sums are exact
		y[i] = (int)(random_next() % 32) - 16;
		a[i] = random_next() % 512 - 256;
		b[i] = random_next() % 512 - 256;
	}
	double f = 0; int64_t n = 0;
	bench_start();
	for (int r = 0; r < ROUNDS; r++) {
		int at = r % N;
		x[at] += 1; a[at] ^= 1;
		f += dot_f32(x, y);
		n += dot_i16(a, b);
	}
	bench_end();
	float want = 0; int32_t wantn = 0;
	for (int i = 0; i < N; i++) { want += x[i] * y[i]; wantn += a[i] * b[i]; }
	expect("dot_f32", (int64_t)dot_f32(x, y), (int64_t)want);
	expect("dot_i16", (uint32_t)dot_i16(a, b), (uint32_t)wantn);
	if (!failed) print("dot", (uint64_t)(int64_t)f ^ (uint64_t)n * 31);
}
