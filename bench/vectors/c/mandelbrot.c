// The Mandelbrot set, two points of doubles and four of floats at a time.
#include "kernel.h"
enum { W = 320, H = 200, MOST = 400 };
static int32_t counts[H][W], counts32[H][W];
static void lines64(void) {
	for (int y = 0; y < H; y++)
		for (int x = 0; x < W; x += 2) {
			v128_t cr = wasm_f64x2_make(-2.0 + 3.0 * x / W, -2.0 + 3.0 * (x + 1) / W), ci = wasm_f64x2_splat(-1.25 + 2.5 * y / H);
			v128_t zr = wasm_f64x2_splat(0), zi = zr, n = wasm_i64x2_splat(0), four = wasm_f64x2_splat(4);
			for (int i = 0; i < MOST; i++) {
				v128_t rr = wasm_f64x2_mul(zr, zr), ii = wasm_f64x2_mul(zi, zi);
				v128_t in = wasm_f64x2_le(wasm_f64x2_add(rr, ii), four);
				if (!wasm_v128_any_true(in)) break;
				n = wasm_i64x2_sub(n, in);
				v128_t ri = wasm_f64x2_mul(zr, zi);
				zi = wasm_f64x2_add(wasm_f64x2_add(ri, ri), ci);
				zr = wasm_f64x2_add(wasm_f64x2_sub(rr, ii), cr);
			}
			counts[y][x] = wasm_i64x2_extract_lane(n, 0);
			counts[y][x + 1] = wasm_i64x2_extract_lane(n, 1);
		}
}
static void lines32(void) {
	for (int y = 0; y < H; y++)
		for (int x = 0; x < W; x += 4) {
			v128_t cr = wasm_f32x4_add(wasm_f32x4_splat(-2.0f + 3.0f * x / W), wasm_f32x4_make(0, 3.0f / W, 6.0f / W, 9.0f / W)), ci = wasm_f32x4_splat(-1.25f + 2.5f * y / H);
			v128_t zr = wasm_f32x4_splat(0), zi = zr, n = wasm_i32x4_splat(0), four = wasm_f32x4_splat(4);
			for (int i = 0; i < MOST; i++) {
				v128_t rr = wasm_f32x4_mul(zr, zr), ii = wasm_f32x4_mul(zi, zi);
				v128_t in = wasm_f32x4_le(wasm_f32x4_add(rr, ii), four);
				if (!wasm_v128_any_true(in)) break;
				n = wasm_i32x4_sub(n, in);
				v128_t ri = wasm_f32x4_mul(zr, zi);
				zi = wasm_f32x4_add(wasm_f32x4_add(ri, ri), ci);
				zr = wasm_f32x4_add(wasm_f32x4_sub(rr, ii), cr);
			}
			wasm_v128_store(&counts32[y][x], n);
		}
}
__attribute__((export_name("_start"))) void start(void) {
	bench_start();
	for (int r = 0; r < 10; r++) { lines64(); lines32(); }
	bench_end();
	for (int y = 0; y < H; y += 7)
		for (int x = 0; x < W; x++) {
			double cr = -2.0 + 3.0 * x / W, ci = -1.25 + 2.5 * y / H, zr = 0, zi = 0;
			int n = 0;
			for (; n < MOST; n++) {
				double rr = zr * zr, ii = zi * zi;
				if (rr + ii > 4) break;
				double ri = zr * zi;
				zi = ri + ri + ci;
				zr = rr - ii + cr;
			}
			expect("mandelbrot", counts[y][x], n);
		}
	if (!failed) print("mandelbrot", hash(counts, sizeof counts) ^ hash(counts32, sizeof counts32));
}
