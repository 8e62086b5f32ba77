// Encodes base64, 12 bytes a step: three bytes become four numbers of six bits by shuffles and shifts, and these letters by
// the difference to the letter of their range.
#include "kernel.h"
enum { N = 12 * 4096, ROUNDS = 3000 };
static uint8_t in[N + 16], out[N / 3 * 4 + 16], want[N / 3 * 4 + 16];
static void encode(void) {
	uint8_t *to = out;
	for (int i = 0; i < N; i += 12, to += 16) {
		v128_t x = wasm_v128_load(in + i);
		x = wasm_i8x16_shuffle(x, x, 2, 1, 0, 0, 5, 4, 3, 3, 8, 7, 6, 6, 11, 10, 9, 9); // big-endian words
		v128_t six = wasm_i32x4_splat(63);
		v128_t n = wasm_v128_or(
			wasm_v128_or(wasm_v128_and(wasm_u32x4_shr(x, 18), six), wasm_i32x4_shl(wasm_v128_and(wasm_u32x4_shr(x, 12), six), 8)),
			wasm_v128_or(wasm_i32x4_shl(wasm_v128_and(wasm_u32x4_shr(x, 6), six), 16), wasm_i32x4_shl(wasm_v128_and(x, six), 24)));
		v128_t range = wasm_u8x16_sub_sat(n, wasm_i8x16_splat(51)); // 0 for letters, 1 to 10 for digits, 11 +, 12 /
		range = wasm_v128_or(range, wasm_v128_and(wasm_u8x16_lt(n, wasm_i8x16_splat(26)), wasm_i8x16_splat(13)));
		v128_t shift = wasm_i8x16_make('a' - 26, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52, '0' - 52,
			'+' - 62, '/' - 63, 'A', 0, 0);
		wasm_v128_store(to, wasm_i8x16_add(n, wasm_i8x16_swizzle(shift, range)));
	}
}
__attribute__((export_name("_start"))) void start(void) {
	for (int i = 0; i < N; i++) in[i] = random_next() >> 24;
	bench_start();
	for (int r = 0; r < ROUNDS; r++) { in[r % N]++; encode(); }
	bench_end();
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	for (int i = 0, o = 0; i < N; i += 3) {
		uint32_t x = in[i] << 16 | in[i + 1] << 8 | in[i + 2];
		for (int s = 18; s >= 0; s -= 6) want[o++] = letters[x >> s & 63];
	}
	expect("base64", hash(out, N / 3 * 4), hash(want, N / 3 * 4));
	if (!failed) print("base64", hash(out, N / 3 * 4));
}
