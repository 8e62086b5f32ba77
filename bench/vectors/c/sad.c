// The sum of absolute differences of blocks of 16 by 16 pixels, as a search for motion takes it.
#include "kernel.h"
enum { W = 256, H = 160, R = 8 };
static uint8_t now[H][W], before[H + 2 * R][W + 2 * R + 16];
static uint32_t sad(const uint8_t *a, const uint8_t *b) {
	v128_t s = wasm_i16x8_splat(0);
	for (int y = 0; y < 16; y++, a += W, b += W + 2 * R + 16) {
		v128_t x = wasm_v128_load(a), z = wasm_v128_load(b);
		v128_t d = wasm_v128_or(wasm_u8x16_sub_sat(x, z), wasm_u8x16_sub_sat(z, x));
		s = wasm_i16x8_add(s, wasm_u16x8_extadd_pairwise_u8x16(d));
	}
	v128_t t = wasm_u32x4_extadd_pairwise_u16x8(s);
	return wasm_i32x4_extract_lane(t, 0) + wasm_i32x4_extract_lane(t, 1) + wasm_i32x4_extract_lane(t, 2) + wasm_i32x4_extract_lane(t, 3);
}
static uint64_t search(void) {
	uint64_t sum = 0;
	for (int y = 0; y + 16 <= H; y += 16)
		for (int x = 0; x + 16 <= W; x += 16) {
			uint32_t best = ~0u, at = 0;
			for (int j = 0; j < 2 * R; j++)
				for (int i = 0; i < 2 * R; i++) {
					uint32_t s = sad(&now[y][x], &before[y + j][x + i]);
					if (s < best) best = s, at = j * 16 + i;
				}
			sum = sum * 31 + best * 256 + at;
		}
	return sum;
}
__attribute__((export_name("_start"))) void start(void) {
	for (int y = 0; y < H + 2 * R; y++)
		for (int x = 0; x < W + 2 * R + 16; x++) before[y][x] = random_next() >> 24;
	for (int y = 0; y < H; y++)
		for (int x = 0; x < W; x++) now[y][x] = before[y + 5][x + 3] + (random_next() >> 30);
	uint64_t sum = 0;
	bench_start();
	for (int r = 0; r < 20; r++) { now[r][r]++; sum = sum * 7 + search(); }
	bench_end();
	for (int i = 0; i < 64; i++) {
		const uint8_t *a = &now[i][i], *b = &before[i / 2][i];
		uint32_t want = 0;
		for (int y = 0; y < 16; y++)
			for (int x = 0; x < 16; x++) {
				int d = a[y * W + x] - b[y * (W + 2 * R + 16) + x];
				want += d < 0 ? -d : d;
			}
		expect("sad", sad(a, b), want);
	}
	if (!failed) print("sad", sum);
}
