// A 3x3 convolution of an image of bytes with small signed weights.
#include "kernel.h"
enum { W = 1024, H = 256, ROUNDS = 160, SHIFT = 4 };
static uint8_t in[H + 2][W + 32], out[H][W], want[H][W];
static const int16_t k[3][3] = {{1, 2, 1}, {2, 4, 2}, {1, 2, 1}};
static void convolve(void) {
	for (int y = 0; y < H; y++)
		for (int x = 0; x < W; x += 16) {
			v128_t low = wasm_i16x8_splat(8), high = low;
			for (int j = 0; j < 3; j++)
				for (int i = 0; i < 3; i++) {
					v128_t p = wasm_v128_load(&in[y + j][x + i]), w = wasm_i16x8_splat(k[j][i]);
					low = wasm_i16x8_add(low, wasm_i16x8_mul(wasm_u16x8_extend_low_u8x16(p), w));
					high = wasm_i16x8_add(high, wasm_i16x8_mul(wasm_u16x8_extend_high_u8x16(p), w));
				}
			wasm_v128_store(&out[y][x], wasm_u8x16_narrow_i16x8(wasm_i16x8_shr(low, SHIFT), wasm_i16x8_shr(high, SHIFT)));
		}
}
__attribute__((export_name("_start"))) void start(void) {
	for (int y = 0; y < H + 2; y++)
		for (int x = 0; x < W + 32; x++) in[y][x] = random_next() >> 24;
	bench_start();
	for (int r = 0; r < ROUNDS; r++) { in[1][r % W]++; convolve(); }
	bench_end();
	for (int y = 0; y < H; y++)
		for (int x = 0; x < W; x++) {
			int s = 8;
			for (int j = 0; j < 3; j++)
				for (int i = 0; i < 3; i++) s += in[y + j][x + i] * k[j][i];
			want[y][x] = s >> SHIFT > 255 ? 255 : s >> SHIFT;
		}
	expect("convolve", hash(out, sizeof out), hash(want, sizeof want));
	if (!failed) print("convolve", hash(out, sizeof out));
}
