// How many bytes are in each of eight ranges, and the least, the largest and the sum of all.
#include "kernel.h"
enum { N = 1 << 16, ROUNDS = 1200 };
static uint8_t in[N];
static uint32_t counts[8], least, largest, total;
static uint32_t add(v128_t x) {
	v128_t s = wasm_u32x4_extadd_pairwise_u16x8(wasm_u16x8_extadd_pairwise_u8x16(x));
	return wasm_i32x4_extract_lane(s, 0) + wasm_i32x4_extract_lane(s, 1) + wasm_i32x4_extract_lane(s, 2) + wasm_i32x4_extract_lane(s, 3);
}
static void histogram(void) {
	uint32_t above[8] = {N};
	v128_t low = wasm_u8x16_splat(255), high = wasm_u8x16_splat(0), sum = wasm_i32x4_splat(0);
	for (int i = 0; i < N; i += 16 * 255) {
		int end = i + 16 * 255 < N ? i + 16 * 255 : N;
		v128_t n1 = wasm_i8x16_splat(0), n2 = n1, n3 = n1, n4 = n1, n5 = n1, n6 = n1, n7 = n1;
		for (int j = i; j < end; j += 16) {
			v128_t x = wasm_v128_load(in + j);
			n1 = wasm_i8x16_sub(n1, wasm_u8x16_ge(x, wasm_u8x16_splat(32)));
			n2 = wasm_i8x16_sub(n2, wasm_u8x16_ge(x, wasm_u8x16_splat(64)));
			n3 = wasm_i8x16_sub(n3, wasm_u8x16_ge(x, wasm_u8x16_splat(96)));
			n4 = wasm_i8x16_sub(n4, wasm_u8x16_ge(x, wasm_u8x16_splat(128)));
			n5 = wasm_i8x16_sub(n5, wasm_u8x16_ge(x, wasm_u8x16_splat(160)));
			n6 = wasm_i8x16_sub(n6, wasm_u8x16_ge(x, wasm_u8x16_splat(192)));
			n7 = wasm_i8x16_sub(n7, wasm_u8x16_ge(x, wasm_u8x16_splat(224)));
			low = wasm_u8x16_min(low, x);
			high = wasm_u8x16_max(high, x);
			sum = wasm_i32x4_add(sum, wasm_u32x4_extadd_pairwise_u16x8(wasm_u16x8_extadd_pairwise_u8x16(x)));
		}
		above[1] += add(n1), above[2] += add(n2), above[3] += add(n3), above[4] += add(n4), above[5] += add(n5), above[6] += add(n6), above[7] += add(n7);
	}
	for (int i = 0; i < 8; i++) counts[i] = above[i] - (i < 7 ? above[i + 1] : 0);
	uint8_t l[16], h[16];
	wasm_v128_store(l, low), wasm_v128_store(h, high);
	least = 255, largest = 0;
	for (int i = 0; i < 16; i++) least = l[i] < least ? l[i] : least, largest = h[i] > largest ? h[i] : largest;
	total = wasm_i32x4_extract_lane(sum, 0) + wasm_i32x4_extract_lane(sum, 1) + wasm_i32x4_extract_lane(sum, 2) + wasm_i32x4_extract_lane(sum, 3);
}
__attribute__((export_name("_start"))) void start(void) {
	for (int i = 0; i < N; i++) in[i] = random_next() >> 24;
	bench_start();
	for (int r = 0; r < ROUNDS; r++) { in[r % N]++; histogram(); }
	bench_end();
	uint32_t want[8] = {0}, sum = 0;
	for (int i = 0; i < N; i++) want[in[i] >> 5]++, sum += in[i];
	expect("histogram", hash(counts, sizeof counts), hash(want, sizeof want));
	expect("sum", total, sum);
	if (!failed) print("histogram", hash(counts, sizeof counts) ^ least ^ largest << 8);
}
