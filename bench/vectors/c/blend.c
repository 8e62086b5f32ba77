// Alpha blending of pixels of four bytes over others: out = (src*alpha + dst*(255-alpha) + 127) / 255, rounded by the usual shifts.
#include "kernel.h"
enum { N = 1 << 16, ROUNDS = 900 };
static uint32_t src[N], dst[N], out[N];
static v128_t mix(v128_t s, v128_t d, v128_t a) {
	v128_t x = wasm_i16x8_add(wasm_i16x8_mul(s, a), wasm_i16x8_mul(d, wasm_i16x8_sub(wasm_i16x8_splat(255), a)));
	x = wasm_i16x8_add(x, wasm_i16x8_splat(128));
	return wasm_u16x8_shr(wasm_i16x8_add(x, wasm_u16x8_shr(x, 8)), 8);
}
static void blend(void) {
	for (int i = 0; i < N; i += 4) {
		v128_t s = wasm_v128_load(src + i), d = wasm_v128_load(dst + i);
		v128_t a = wasm_i8x16_shuffle(s, s, 3, 3, 3, 3, 7, 7, 7, 7, 11, 11, 11, 11, 15, 15, 15, 15);
		v128_t low = mix(wasm_u16x8_extend_low_u8x16(s), wasm_u16x8_extend_low_u8x16(d), wasm_u16x8_extend_low_u8x16(a));
		v128_t high = mix(wasm_u16x8_extend_high_u8x16(s), wasm_u16x8_extend_high_u8x16(d), wasm_u16x8_extend_high_u8x16(a));
		wasm_v128_store(out + i, wasm_u8x16_narrow_i16x8(low, high));
	}
}
__attribute__((export_name("_start"))) void start(void) {
	for (int i = 0; i < N; i++) src[i] = random_next(), dst[i] = random_next();
	bench_start();
	for (int r = 0; r < ROUNDS; r++) { src[r % N] ^= r; blend(); }
	bench_end();
	for (int i = 0; i < N; i++) {
		uint32_t a = src[i] >> 24, want = 0;
		for (int k = 0; k < 32; k += 8) {
			uint32_t x = (src[i] >> k & 255) * a + (dst[i] >> k & 255) * (255 - a) + 128;
			want |= ((x + (x >> 8)) >> 8 & 255) << k;
		}
		expect("blend", out[i], want);
	}
	if (!failed) print("blend", hash(out, sizeof out));
}
