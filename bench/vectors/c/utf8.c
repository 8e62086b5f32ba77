// Validates UTF-8. Blocks of ASCII are seen by their top bits; others by three tables of nibbles: each bit of a table's entry is one
// way in which two bytes one after the other cannot be UTF-8, so that a bit in all three is an error (Keiser and Lemire, 2020).
#include "kernel.h"
enum { N = 1 << 18, ROUNDS = 400 };
static uint8_t text[N + 64];
enum { SHORT = 1, LONG = 2, OVER3 = 4, LARGE = 8, SURR = 16, OVER2 = 32, LARGE1000 = 64, OVER4 = 64, TWO = 128, CARRY = SHORT | LONG | TWO };
static int valid(const uint8_t *p, size_t n) {
	const v128_t high1 = wasm_u8x16_make(LONG, LONG, LONG, LONG, LONG, LONG, LONG, LONG, TWO, TWO, TWO, TWO, SHORT | OVER2, SHORT, SHORT | OVER3 | SURR, SHORT | LARGE | LARGE1000 | OVER4);
	const v128_t low1 = wasm_u8x16_make(CARRY | OVER3 | OVER2 | OVER4, CARRY | OVER2, CARRY, CARRY, CARRY | LARGE, CARRY | LARGE | LARGE1000, CARRY | LARGE | LARGE1000, CARRY | LARGE | LARGE1000,
		CARRY | LARGE | LARGE1000, CARRY | LARGE | LARGE1000, CARRY | LARGE | LARGE1000, CARRY | LARGE | LARGE1000, CARRY | LARGE | LARGE1000, CARRY | LARGE | LARGE1000 | SURR, CARRY | LARGE | LARGE1000, CARRY | LARGE | LARGE1000);
	const v128_t high2 = wasm_u8x16_make(SHORT, SHORT, SHORT, SHORT, SHORT, SHORT, SHORT, SHORT, LONG | OVER2 | TWO | OVER3 | LARGE1000 | OVER4, LONG | OVER2 | TWO | OVER3 | LARGE,
		LONG | OVER2 | TWO | SURR | LARGE, LONG | OVER2 | TWO | SURR | LARGE, SHORT, SHORT, SHORT, SHORT);
	const v128_t nibble = wasm_i8x16_splat(15);
	v128_t error = wasm_i8x16_splat(0), last = error;
	int open = 0;
	for (size_t i = 0; i < n; i += 16) {
		v128_t x = wasm_v128_load(p + i);
		if (!wasm_i8x16_bitmask(x)) {
			if (open && wasm_v128_any_true(wasm_u8x16_sub_sat(last, wasm_u8x16_make(255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 239, 223, 191)))) return 0;
			open = 0;
			last = x;
			continue;
		}
		open = 1;
		v128_t p1 = wasm_i8x16_shuffle(last, x, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30);
		v128_t p2 = wasm_i8x16_shuffle(last, x, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29);
		v128_t p3 = wasm_i8x16_shuffle(last, x, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28);
		v128_t special = wasm_v128_and(wasm_v128_and(wasm_i8x16_swizzle(high1, wasm_u8x16_shr(p1, 4)), wasm_i8x16_swizzle(low1, wasm_v128_and(p1, nibble))),
			wasm_i8x16_swizzle(high2, wasm_u8x16_shr(x, 4)));
		v128_t must = wasm_v128_or(wasm_u8x16_sub_sat(p2, wasm_u8x16_splat(0xe0 - 0x80)), wasm_u8x16_sub_sat(p3, wasm_u8x16_splat(0xf0 - 0x80)));
		error = wasm_v128_or(error, wasm_v128_xor(wasm_v128_and(must, wasm_u8x16_splat(0x80)), special));
		last = x;
	}
	return !wasm_v128_any_true(error);
}
static int valid_scalar(const uint8_t *p, size_t n) {
	for (size_t i = 0; i < n;) {
		uint32_t c = p[i++], least, more;
		if (c < 0x80) continue;
		if (c >= 0xc2 && c < 0xe0) more = 1, least = 0x80, c &= 31;
		else if (c >= 0xe0 && c < 0xf0) more = 2, least = 0x800, c &= 15;
		else if (c >= 0xf0 && c < 0xf5) more = 3, least = 0x10000, c &= 7;
		else return 0;
		while (more--) {
			if (i >= n || (p[i] & 0xc0) != 0x80) return 0;
			c = c << 6 | (p[i++] & 63);
		}
		if (c < least || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return 0;
	}
	return 1;
}
static size_t put(uint8_t *p, uint32_t c) {
	if (c < 0x80) { p[0] = c; return 1; }
	if (c < 0x800) { p[0] = 0xc0 | c >> 6; p[1] = 0x80 | (c & 63); return 2; }
	if (c < 0x10000) { p[0] = 0xe0 | c >> 12; p[1] = 0x80 | (c >> 6 & 63); p[2] = 0x80 | (c & 63); return 3; }
	p[0] = 0xf0 | c >> 18; p[1] = 0x80 | (c >> 12 & 63); p[2] = 0x80 | (c >> 6 & 63); p[3] = 0x80 | (c & 63);
	return 4;
}
__attribute__((export_name("_start"))) void start(void) {
	size_t n = 0;
	while (n < N - 64) {
		uint32_t r = random_next();
		if (r % 64 < 40) { // a run of ASCII
			for (int i = 0; i < 24; i++) text[n++] = 'a' + i;
			continue;
		}
		uint32_t c = r % 64 < 52 ? 0x80 + random_next() % 0x700 : r % 64 < 62 ? 0x800 + random_next() % 0xc000 : 0x10000 + random_next() % 0x100000;
		n += put(text + n, c);
	}
	int good = 0;
	bench_start();
	for (int r = 0; r < ROUNDS; r++) {
		text[N - 32 + r % 16] = 'a' + r % 26;
		good += valid(text, N);
	}
	bench_end();
	expect("utf8 valid", valid(text, N), valid_scalar(text, N));
	for (int i = 0; i < 200; i++) { // with one byte changed
		size_t at = random_next() % (N - 64);
		uint8_t old = text[at];
		text[at] = random_next() >> 24;
		expect("utf8 changed", valid(text, N), valid_scalar(text, N));
		text[at] = old;
	}
	if (!failed) print("utf8", good);
}
