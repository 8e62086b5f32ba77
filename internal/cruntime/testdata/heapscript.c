/* Does what a script says with a heap, as TestHeapScript does with that of internal/gcheap, and prints what lives, told by what refers to it. */
#include "c_heap.c"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { FIRST = 3, MOST = 1 << 20 };

static struct heap h;
static const struct heap_type *types[64];
static uint64_t roots[1000], queue[MOST];
static int num_roots;
static uint32_t *ids; /* of objects, by the reference in units of 8 */

static bool heap_commit(char *at, uint64_t size) { return mprotect(at, size, PROT_READ | PROT_WRITE) == 0; }
static bool heap_release(char *at, uint64_t size) { return mmap(at, size, PROT_NONE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == at; }
static bool heap_clear(char *at, uint64_t size) { return madvise(at, size, MADV_DONTNEED) == 0; }

static bool heap_finds_roots(struct heap *heap) { return heap != NULL; }

static void heap_each_root(struct heap *heap)
{
	for (int i = 0; i < num_roots; i++)
		heap_word(heap, &roots[i]);
}

static void *reserve(uint64_t size)
{
	void *p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

static void put_word(uint64_t w, uint32_t *found)
{
	if (w == 0 || w & 1 || w >= HEAP_SIZE) {
		printf(" %llx", (unsigned long long)w);
		return;
	}
	if (!ids[w / 8]) {
		queue[*found] = w;
		ids[w / 8] = ++*found;
	}
	printf(" #%u", ids[w / 8]);
}

/* print tells the roots, and each object that they reach, by numbers in the order in which they are found: its type, what is no reference, and references. */
static void print(void)
{
	uint32_t found = 0, n;
	printf("roots");
	for (int i = 0; i < num_roots; i++)
		put_word(roots[i], &found);
	for (n = 0; n < found; n++) {
		uint64_t at = queue[n];
		const struct heap_type *t = heap_type_at(&h, at);
		uint32_t length = heap_length(&h, t, at), count = t->elem ? length : 1, hash = 2166136261u;
		uint64_t size = heap_size_of(t, length);
		printf("\n%u %u:", *heap_number(&h, at), length);
		for (uint32_t i = 0; i < count && t->num_refs + t->num_words; i++) {
			const uint32_t *off = t->offsets;
			for (uint32_t k = 0; k < t->num_refs; k++)
				put_word(*heap_at(&h, at + i * (uint64_t)t->elem + *off++), &found);
			for (uint32_t k = 0; k < t->num_words; k++) {
				uint64_t w;
				memcpy(&w, heap_at(&h, at + i * (uint64_t)t->elem + *off++), 8);
				put_word(w, &found);
			}
		}
		for (uint64_t k = 0; k + 4 < size; k += 4) {
			bool reference = t->elem && t->num_refs + t->num_words && k >= t->offsets[0];
			for (uint32_t f = 0; f < t->num_refs + t->num_words && !t->elem; f++)
				reference = reference || (k >= t->offsets[f] && k < t->offsets[f] + (f < t->num_refs ? 4u : 8u));
			if (!reference)
				hash = (hash ^ *heap_at(&h, at + k)) * 16777619u;
		}
		printf(" %x", hash);
	}
	printf("\n");
	for (n = 0; n < found; n++)
		ids[queue[n] / 8] = 0;
}

int main(int argc, char **argv)
{
	static char room[1 << 16];
	unsigned long long a, b, c;
	char op;
	FILE *f = argc > 1 ? fopen(argv[1], "rb") : NULL;
	const char *p = room;
	if (!f || fread(room, 1, sizeof room, f) == 0)
		return 2;
	for (int n = FIRST; n < 64 && ((const struct heap_type *)p)->bytes; n++) {
		types[n] = (const struct heap_type *)p;
		p += types[n]->bytes;
	}
	char *base = (char *)reserve(HEAP_SIZE + 2 * HEAP_FIRST);
	ids = (uint32_t *)mmap(NULL, HEAP_SIZE / 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (!base || !heap_commit(base, HEAP_FIRST))
		return 2;
	h.types = types;
	h.num_types = 64;
	h.large = (struct heap_large *)calloc(HEAP_MOST_LARGE, sizeof *h.large);
	h.pending = (uint32_t *)calloc(HEAP_MOST_LARGE, sizeof *h.pending);
	if (scanf("%llu %llu", &a, &b) != 2)
		return 2;
	heap_begin(&h, base + HEAP_FIRST, a);
	h.torture = b;
	while (scanf(" %c", &op) == 1) {
		enum heap_error error = HEAP_OK;
		uint32_t ref = 0;
		switch (op) {
		case 'n': /* a new object is the last root */
			if (scanf("%llu %llu", &a, &b) != 2)
				return 2;
			error = heap_alloc(&h, (uint32_t)a, (uint32_t)b, &ref);
			if (!error)
				roots[num_roots++] = ref;
			break;
		case 'd': /* root a is the last one from now on, which goes */
			if (scanf("%llu", &a) != 1)
				return 2;
			roots[a] = roots[--num_roots];
			break;
		case 'w': /* 4 bytes of the object of root a, at b */
		case 'r': /* what root c is, likewise, in 4 bytes, */
		case 'R': /* or in 8 */
			if (scanf("%llu %llu %llu", &a, &b, &c) != 3)
				return 2;
			if (op != 'w')
				c = roots[c];
			memcpy(h.base + roots[a] + (int32_t)b, &c, op == 'R' ? 8 : 4);
			break;
		case 's': /* root a is b */
			if (scanf("%llu %llu", &a, &b) != 2)
				return 2;
			roots[a] = b;
			break;
		case '+': /* another root is b more than root a */
			if (scanf("%llu %llu", &a, &b) != 2)
				return 2;
			roots[num_roots++] = roots[a] + b;
			break;
		case 'c':
			error = heap_collect(&h);
			break;
		case 'p':
			print();
			break;
		}
		if (error)
			printf("%s\n", error == HEAP_FULL ? "full" : error == HEAP_REFUSED ? "refused" : "corrupt");
		if (error == HEAP_CORRUPT)
			return 0;
	}
	return 0;
}
