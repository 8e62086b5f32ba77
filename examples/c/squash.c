/* squash: a small compressor, the library of this example. It is compiled to WebAssembly, and so cannot reach anything but its own memory:
 *
 *     clang --target=wasm32 -O2 -mbulk-memory -nostdlib -Wl,--no-entry -o squash.wasm squash.c
 *
 * Compressed data is a sequence of: a byte c below 128 and c + 1 bytes as they are; or a byte c from 128 on and the distance, in two
 * bytes, back to c - 124 bytes that come again. */

typedef unsigned char byte;
typedef unsigned size;

#define EXPORT(name) __attribute__((export_name(name)))

enum { PAGE = 65536, HASH_BITS = 13, MIN_MATCH = 4, MAX_MATCH = 131, MAX_LITERALS = 128, MAX_DISTANCE = 65535 };

extern byte __heap_base;
static size used;

/* allocate returns the address of n new bytes, or 0. reset frees them all. */
EXPORT("allocate") size allocate(size n)
{
	size base = (size)&__heap_base, at = base + used;
	if (n > 0x7fffffff - at)
		return 0;
	size have = __builtin_wasm_memory_size(0), need = (at + n + PAGE - 1) / PAGE;
	if (need > have && __builtin_wasm_memory_grow(0, need - have) == (size)-1)
		return 0;
	used += (n + 15) & ~15u;
	return at;
}

EXPORT("reset") void reset(void) { used = 0; }

/* bound returns how many bytes compress may need for n. */
EXPORT("bound") size bound(size n) { return n + n / MAX_LITERALS + 1; }

static size last[1 << HASH_BITS]; /* by hash: where four such bytes were, plus one */

static size hash(const byte *p)
{
	size v = p[0] | p[1] << 8 | p[2] << 16 | (size)p[3] << 24;
	return v * 2654435761u >> (32 - HASH_BITS);
}

static byte *literals(byte *to, const byte *from, size n)
{
	while (n > 0) {
		size k = n < MAX_LITERALS ? n : MAX_LITERALS;
		*to++ = (byte)(k - 1);
		for (size i = 0; i < k; i++)
			*to++ = *from++;
		n -= k;
	}
	return to;
}

/* compress compresses n bytes to to, where there is room for bound(n), and returns how many there are then. */
EXPORT("compress") size compress(byte *to, const byte *from, size n)
{
	byte *begin = to;
	size start = 0, i = 0;
	for (size k = 0; k < 1 << HASH_BITS; k++)
		last[k] = 0;
	while (i + MIN_MATCH <= n) {
		size h = hash(from + i), before = last[h], length = 0;
		last[h] = i + 1;
		if (before && i + 1 - before <= MAX_DISTANCE) {
			const byte *p = from + before - 1;
			while (length < MAX_MATCH && i + length < n && p[length] == from[i + length])
				length++;
		}
		if (length < MIN_MATCH) {
			i++;
			continue;
		}
		to = literals(to, from + start, i - start);
		size distance = i + 1 - before;
		*to++ = (byte)(length + 124);
		*to++ = (byte)distance;
		*to++ = (byte)(distance >> 8);
		i += length;
		start = i;
	}
	return (size)(literals(to, from + start, n - start) - begin);
}

/* expand undoes compress, and returns how many bytes there are, at most room. Damaged data traps. */
EXPORT("expand") size expand(byte *to, size room, const byte *from, size n)
{
	size at = 0;
	for (size i = 0; i < n;) {
		size c = from[i++];
		if (c < 128) {
			if (c + 1 > n - i || c + 1 > room - at)
				__builtin_trap();
			for (size k = 0; k <= c; k++)
				to[at++] = from[i++];
			continue;
		}
		if (n - i < 2)
			__builtin_trap();
		size distance = from[i] | (size)from[i + 1] << 8, length = c - 124;
		i += 2;
		if (distance == 0 || distance > at || length > room - at)
			__builtin_trap();
		for (size k = 0; k < length; k++, at++)
			to[at] = to[at - distance];
	}
	return at;
}
