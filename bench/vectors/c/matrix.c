// The product of matrices of floats, four rows by four columns at a time.
#include "kernel.h"
enum { N = 256, ROUNDS = 12 };
static float a[N][N], b[N][N], c[N][N];
static void multiply(void) {
	for (int i = 0; i < N; i += 4)
		for (int j = 0; j < N; j += 4) {
			v128_t s0 = wasm_f32x4_splat(0), s1 = s0, s2 = s0, s3 = s0;
			for (int k = 0; k < N; k++) {
				v128_t row = wasm_v128_load(&b[k][j]);
				s0 = wasm_f32x4_add(s0, wasm_f32x4_mul(wasm_v128_load32_splat(&a[i][k]), row));
				s1 = wasm_f32x4_add(s1, wasm_f32x4_mul(wasm_v128_load32_splat(&a[i + 1][k]), row));
				s2 = wasm_f32x4_add(s2, wasm_f32x4_mul(wasm_v128_load32_splat(&a[i + 2][k]), row));
				s3 = wasm_f32x4_add(s3, wasm_f32x4_mul(wasm_v128_load32_splat(&a[i + 3][k]), row));
			}
			wasm_v128_store(&c[i][j], s0);
			wasm_v128_store(&c[i + 1][j], s1);
			wasm_v128_store(&c[i + 2][j], s2);
			wasm_v128_store(&c[i + 3][j], s3);
		}
}
__attribute__((export_name("_start"))) void start(void) {
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++) {
			a[i][j] = (int)(random_next() % 64) - 32;
			b[i][j] = (int)(random_next() % 64) - 32;
		}
	bench_start();
	for (int r = 0; r < ROUNDS; r++) { a[r][r] += 1; multiply(); }
	bench_end();
	for (int i = 0; i < N; i += 5)
		for (int j = 0; j < N; j++) {
			float s = 0;
			for (int k = 0; k < N; k++) s += a[i][k] * b[k][j];
			expect("matrix", (int64_t)c[i][j], (int64_t)s);
		}
	if (!failed) print("matrix", hash(c, sizeof c));
}
