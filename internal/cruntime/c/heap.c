/* heap.c: the heap of structures and arrays, and its collector: what internal/gcheap is in Go programs. docs/gc.md describes both. It knows nothing of instances and threads: what includes it
 * defines the functions that are declared here and not defined. */

#include "waot_runtime.h"
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

void *memcpy(void *, const void *, size_t);
void *memset(void *, int, size_t);

enum {
	HEAP_ALIGN = 8,
	HEAP_FIRST = 256 << 10,         /* the lowest reference there can be */
	HEAP_STEP = 64 << 10,           /* by how much spaces are made accessible */
	HEAP_LARGE = 4 * HEAP_STEP,     /* from which size on objects are not moved */
	HEAP_SPACE = 1 << 30,           /* of each space, the first of which begins at HEAP_FIRST and is that much shorter */
	HEAP_LEAST_FREE = 1 << 20,      /* the least room for objects behind a collection: about what caches hold */
	HEAP_MOST_EXTRA = 32 << 20,     /* the most room that there is beyond as much as lives */
	HEAP_LEAD = HEAP_ALIGN,         /* from what is accessible to the first reference: the number of a type stands in front of it */
	HEAP_TYPE = -4                  /* where an object has the number of its type, relative to the reference */
};
#define HEAP_SIZE (1ull << 32)
#define HEAP_LARGE_START (2ull * HEAP_SPACE)
/* The number of the type of an object that has been moved: where references were to is where it is now. */
#define HEAP_FORWARDED 0xffffffffu
/* There are at most so many large objects. */
#define HEAP_MOST_LARGE ((HEAP_SIZE - HEAP_LARGE_START) / (HEAP_LARGE + HEAP_STEP) + 1)

/* Kinds of types: functions that nothing is a subtype of but themselves, structures, arrays, and other functions. */
enum { HEAP_PLAIN, HEAP_STRUCTURE, HEAP_ARRAY, HEAP_FUNCTION };

/* A type of a module, as its object has it (.rodata.waot.types). */
struct heap_type {
	uint32_t bytes;                 /* of this description */
	uint32_t kind;                  /* HEAP_PLAIN and the like */
	uint32_t super;                 /* how many bytes in front of this the description of the supertype is, 0 without one */
	uint32_t fixed, elem;           /* the size of a structure with its number, or where elements begin from that on; the size of an element, 0 for a structure */
	uint32_t num_refs, num_words;   /* fields of 4 and of 8 bytes that are references; of the elements of an array 1 or 0 */
	uint32_t key[8];                /* of its record; of HEAP_PLAIN where the instance data has the address of its record, or 0 */
	uint32_t offsets[];             /* of these fields, from the reference on; behind them is a heap_field for each field, or for the elements */
};

/* A field of a type. */
struct heap_field {
	uint32_t what;                  /* what is stored in the low byte, HEAP_MUTABLE and HEAP_NOT_NULL, and from HEAP_OFFSET on its offset */
	int32_t to;                     /* how far behind the description of the type that of the type is which the field refers to */
};
enum { HEAP_MUTABLE = 1 << 8, HEAP_NOT_NULL = 1 << 9, HEAP_OFFSET = 10 };

struct heap_large {
	uint64_t at, size;
	bool marked;
};

/* State that compiled code reads and writes, in front of the base. */
struct heap_state {
	uint64_t exit;                  /* the frame of the innermost adapter that has called; the collector knows nothing of it */
	uint32_t next, end;             /* the reference to the next object, and the one that it must not be above when that has been made: what is between is zero */
	uint64_t zero;
};

struct heap {
	char *base;
	uint64_t limit;                 /* of the bytes of objects */
	uint64_t committed[2];          /* the end of what is accessible of each space */
	uint64_t dirty[2];              /* the end of where objects have been: what is behind is zero */
	uint64_t clean;                 /* the end of what is zero behind the last object */
	uint64_t large_end, large_used;
	uint64_t target;                /* how far the space may grow before there is a collection */
	uint64_t from_start, from_size; /* during a collection: the first reference that there can be to the space that objects leave, and how long that is */
	const struct heap_type *const *types; /* by number, NULL for what is none */
	struct heap_large *large;       /* in order of places; both have room for HEAP_MOST_LARGE */
	uint32_t *pending;              /* large objects that are marked and not looked at */
	uint32_t num_types, num_large, num_pending;
	uint32_t space;                 /* that objects are made in */
	bool torture;                   /* a collection for each object */
	uint32_t corrupt;               /* what is wrong, or HEAP_WHOLE, */
	uint64_t wrong;                 /* and with which reference */
};

enum heap_error { HEAP_OK, HEAP_FULL, HEAP_REFUSED, HEAP_CORRUPT, HEAP_HIDDEN };

/* Bytes of a heap become accessible and zero; are given back; become zero. Each reports whether it could. */
static bool heap_commit(char *at, uint64_t size);
static bool heap_release(char *at, uint64_t size);
static bool heap_clear(char *at, uint64_t size);
/* heap_finds_roots reports whether all roots can be found, and heap_each_root calls heap_word for each. */
static bool heap_finds_roots(struct heap *h);
static void heap_each_root(struct heap *h);

static struct heap_state *heap_state(struct heap *h) { return (struct heap_state *)h->base - 1; }
static uint32_t *heap_at(struct heap *h, uint64_t at) { return (uint32_t *)(h->base + at); }
static uint32_t *heap_number(struct heap *h, uint64_t at) { return (uint32_t *)(h->base + at + HEAP_TYPE); }
static uint64_t heap_start(uint32_t space) { return space ? HEAP_SPACE : HEAP_FIRST; }
static uint64_t heap_up(uint64_t n, uint64_t unit) { return (n + unit - 1) & ~(unit - 1); }
static uint64_t heap_min(uint64_t a, uint64_t b) { return a < b ? a : b; }
static uint64_t heap_max(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* heap_begin makes a heap of a memory of which nothing but its state is accessible. */
static void heap_begin(struct heap *h, char *base, uint64_t limit)
{
	h->base = base;
	h->limit = heap_min(limit, HEAP_SPACE - HEAP_FIRST - HEAP_LEAD);
	for (uint32_t s = 0; s < 2; s++)
		h->committed[s] = h->dirty[s] = heap_start(s);
	h->large_end = HEAP_LARGE_START;
	h->target = HEAP_LEAST_FREE;
	heap_state(h)->next = HEAP_FIRST + HEAP_LEAD;
	h->clean = HEAP_FIRST + HEAP_LEAD;
}

/* heap_used is how many bytes the objects take, those that nothing reaches included. */
static uint64_t heap_used(struct heap *h) { return heap_state(h)->next - heap_start(h->space) - HEAP_LEAD + h->large_used; }

/* What can be wrong with a heap. The texts have a section of their own, which executables without a heap lack. */
enum { HEAP_WHOLE, HEAP_NOT_LARGE, HEAP_UNALIGNED, HEAP_OUTSIDE, HEAP_NO_TYPE, HEAP_TOO_LONG, HEAP_TOO_MUCH };
static const char heap_texts[][48] = {
	"nothing", "a reference to no large object", "a reference that is not aligned", "a reference that is not to the space of objects", "an object of no type",
	"an object that is longer than it can be", "more is reached than there was",
};

/* heap_is_corrupt notes what is wrong, unless something was before. */
__attribute__((noinline)) static void heap_is_corrupt(struct heap *h, uint32_t what, uint64_t wrong)
{
	if (!h->corrupt) {
		h->corrupt = what;
		h->wrong = wrong;
	}
}

/* heap_type_at is the type of the object at a place, or NULL. */
static const struct heap_type *heap_type_at(struct heap *h, uint64_t at)
{
	uint32_t n = *heap_number(h, at);
	return n < h->num_types ? h->types[n] : NULL;
}

/* heap_size_of is how many bytes an object takes. */
static uint64_t heap_size_of(const struct heap_type *t, uint32_t length) { return heap_up(t->fixed + (uint64_t)t->elem * length, HEAP_ALIGN); }

static uint32_t heap_length(struct heap *h, const struct heap_type *t, uint64_t at) { return t->elem ? *heap_at(h, at) : 0; }

/* heap_open sets how far code may make objects by itself: as far as there are zeros. */
static void heap_open(struct heap *h)
{
	uint64_t limit = heap_min(h->target, h->limit), most = heap_start(h->space) + HEAP_LEAD + limit - heap_min(limit, h->large_used);
	heap_state(h)->end = h->torture ? 0 : (uint32_t)heap_min(h->clean, most);
}

/* ---- Collection ---- */

/* heap_mark notes a large object. */
static void heap_mark(struct heap *h, uint64_t at)
{
	uint32_t low = 0, high = h->num_large;
	while (low < high) {
		uint32_t middle = (low + high) / 2;
		if (h->large[middle].at + HEAP_LEAD < at)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == h->num_large || h->large[low].at + HEAP_LEAD != at) {
		heap_is_corrupt(h, HEAP_NOT_LARGE, at);
		return;
	}
	if (h->large[low].marked)
		return;
	const struct heap_type *t = heap_type_at(h, at);
	if (!t || heap_size_of(t, heap_length(h, t, at)) + HEAP_LEAD > h->large[low].size) {
		heap_is_corrupt(h, t ? HEAP_TOO_LONG : HEAP_NO_TYPE, at);
		return;
	}
	h->large[low].marked = true;
	h->pending[h->num_pending++] = low;
}

/* heap_elsewhere sees to a reference that is not to the space that objects leave: to a large object, a small integer or nothing. */
__attribute__((noinline)) static void heap_elsewhere(struct heap *h, uint32_t r)
{
	if (r == 0 || r & 1 || h->corrupt)
		return;
	if (r % HEAP_ALIGN)
		heap_is_corrupt(h, HEAP_UNALIGNED, r);
	else if (r >= HEAP_LARGE_START)
		heap_mark(h, r);
	else
		heap_is_corrupt(h, HEAP_OUTSIDE, r);
}

/* heap_move copies an object, and returns where it is. Nothing is written but to the other space, as far as that is accessible, and to the object. */
static uint32_t heap_move(struct heap *h, uint64_t at)
{
	const struct heap_type *t = heap_type_at(h, at);
	struct heap_state *s = heap_state(h);
	if (!t) {
		heap_is_corrupt(h, HEAP_NO_TYPE, at);
		return 0;
	}
	uint64_t size = heap_size_of(t, heap_length(h, t, at)), to = s->next;
	if (h->corrupt)
		return 0;
	if (at - h->from_start + size > h->from_size) {
		heap_is_corrupt(h, HEAP_TOO_LONG, at);
		return 0;
	}
	if (to + size > h->committed[h->space]) {
		heap_is_corrupt(h, HEAP_TOO_MUCH, at);
		return 0;
	}
	char *out = h->base + to + HEAP_TYPE;
	const char *in = h->base + at + HEAP_TYPE;
	for (uint64_t i = 0; i < size; i += 8)
		memcpy(out + i, in + i, 8); /* aligned to 4 */
	s->next += (uint32_t)size;
	*heap_number(h, at) = HEAP_FORWARDED;
	*heap_at(h, at) = (uint32_t)to;
	return (uint32_t)to;
}

/* heap_ref is where the object that a reference is to will be. */
static inline uint32_t heap_ref(struct heap *h, uint32_t r)
{
	if (r - h->from_start >= h->from_size || r % HEAP_ALIGN) {
		heap_elsewhere(h, r);
		return r;
	}
	return *heap_number(h, r) == HEAP_FORWARDED ? *heap_at(h, r) : heap_move(h, r);
}

/* heap_word updates a root, or a field of 8 bytes. From HEAP_SIZE on words are the host's. */
static void heap_word(struct heap *h, void *w)
{
	uint64_t x;
	memcpy(&x, w, 8); /* whatever type its place has in C */
	if (x == 0 || x >= HEAP_SIZE || x & 1)
		return;
	x = heap_ref(h, (uint32_t)x);
	memcpy(w, &x, 8);
}

/* heap_look updates the references in an object, and returns its size. */
static uint64_t heap_look(struct heap *h, uint64_t at)
{
	const struct heap_type *t = heap_type_at(h, at);
	if (!t) {
		heap_is_corrupt(h, HEAP_NO_TYPE, at);
		return 0;
	}
	uint32_t length = heap_length(h, t, at), refs = t->num_refs, words = t->num_words;
	uint64_t n = t->elem ? length : 1;
	for (; n > 0 && refs + words && !h->corrupt; n--) {
		const uint32_t *off = t->offsets;
		for (uint32_t k = 0; k < refs; k++) {
			uint32_t *p = heap_at(h, at + *off++);
			if (*p)
				*p = heap_ref(h, *p);
		}
		for (uint32_t k = 0; k < words; k++)
			heap_word(h, heap_at(h, at + *off++));
		at += t->elem;
	}
	return heap_size_of(t, length);
}

/* heap_extend makes a space accessible up to an end, at least. */
static bool heap_extend(struct heap *h, uint32_t space, uint64_t end)
{
	uint64_t have = h->committed[space], start = heap_start(space), half = ((have - start) / 2) & ~(uint64_t)(HEAP_STEP - 1);
	end = heap_min(heap_max(heap_up(end, HEAP_STEP), have + half), start + HEAP_SPACE - HEAP_FIRST);
	if (!heap_commit(h->base + have, end - have))
		return false;
	h->committed[space] = end;
	return true;
}

/* heap_room_for is how many bytes of new objects there may be before the next collection, if so many live: small heaps have much room in proportion, as a collection takes time for what lives. */
static uint64_t heap_room_for(uint64_t live) { return heap_max(heap_max(live, heap_min(8 * live, HEAP_MOST_EXTRA)), HEAP_LEAST_FREE); }

/* heap_shrink gives back what an empty space has beyond what it will need, which is at most the target: to clear pages takes less time than to touch new ones. */
static void heap_shrink(struct heap *h, uint32_t space)
{
	uint64_t keep = heap_start(space) + heap_up(h->target + HEAP_LEAD, HEAP_STEP), have = h->committed[space];
	if (have <= keep + keep / 4 || !heap_release(h->base + keep, have - keep))
		return;
	h->committed[space] = keep;
	h->dirty[space] = heap_min(h->dirty[space], keep);
}

/* heap_collect moves all objects that roots reach to the other space, updates the roots, and forgets the rest. If the heap is corrupt, it is not usable any more; HEAP_REFUSED and HEAP_HIDDEN: nothing has been moved. */
static enum heap_error heap_collect(struct heap *h)
{
	if (!heap_finds_roots(h))
		return HEAP_HIDDEN;
	struct heap_state *s = heap_state(h);
	uint32_t from = h->space, to = 1 - from;
	uint64_t end = heap_start(to) + s->next - heap_start(from);
	if (end > h->committed[to] && !heap_extend(h, to, end))
		return HEAP_REFUSED;
	h->from_start = heap_start(from) + HEAP_LEAD;
	h->from_size = s->next - h->from_start;
	h->dirty[from] = heap_max(h->dirty[from], s->next);
	h->space = to;
	h->num_pending = 0;
	uint64_t scan = heap_start(to) + HEAP_LEAD;
	s->next = (uint32_t)scan;
	heap_each_root(h);
	while (!h->corrupt && (scan < s->next || h->num_pending)) {
		if (h->num_pending)
			heap_look(h, h->large[h->pending[--h->num_pending]].at + HEAP_LEAD);
		else
			scan += heap_look(h, scan);
	}
	h->clean = s->next;
	h->dirty[to] = heap_max(h->dirty[to], h->clean);
	if (h->corrupt)
		return HEAP_CORRUPT;
	uint32_t left = 0;
	for (uint32_t n = 0; n < h->num_large; n++) {
		struct heap_large o = h->large[n];
		if (!o.marked && heap_clear(h->base + o.at, o.size)) {
			h->large_used -= o.size;
			continue;
		}
		o.marked = false;
		h->large[left++] = o;
	}
	h->num_large = left;
	h->target = heap_used(h) + heap_room_for(heap_used(h));
	if (h->torture)
		memset(h->base + h->from_start, 0x5b, h->from_size); /* which looks like no reference to an object */
	heap_shrink(h, from);
	heap_open(h);
	return HEAP_OK;
}

/* ---- Allocation ---- */

/* heap_ready makes the space zero up to an end, at least. It goes on in pieces, so that what code is about to write to is in the cache. */
static bool heap_ready(struct heap *h, uint64_t end)
{
	uint32_t s = h->space;
	if (end > h->committed[s] && !heap_extend(h, s, end))
		return false;
	end = heap_min(heap_up(end, HEAP_STEP), h->committed[s]);
	uint64_t from = h->clean + HEAP_TYPE, to = heap_min(end, h->dirty[s]);
	if (from < to)
		memset(h->base + from, 0, to - from);
	h->clean = end;
	return true;
}

/* heap_place_large finds room for a large object: a gap between others, or behind them. It returns where references are to, or 0. */
static uint64_t heap_place_large(struct heap *h, uint64_t size, enum heap_error *error)
{
	uint64_t at = HEAP_LARGE_START;
	uint32_t i = 0;
	size = heap_up(size + HEAP_LEAD, HEAP_STEP);
	for (; i < h->num_large && h->large[i].at - at < size; i++)
		at = h->large[i].at + h->large[i].size;
	if (at + size > HEAP_SIZE)
		return 0;
	if (at + size > h->large_end) {
		if (!heap_commit(h->base + h->large_end, at + size - h->large_end)) {
			*error = HEAP_REFUSED;
			return 0;
		}
		h->large_end = at + size;
	}
	for (uint32_t n = h->num_large++; n > i; n--)
		h->large[n] = h->large[n - 1];
	h->large[i].at = at;
	h->large[i].size = size;
	h->large[i].marked = false;
	h->large_used += size;
	return at + HEAP_LEAD;
}

/* heap_place finds room for an object below a bound. It returns where references are to, or 0. */
static uint64_t heap_place(struct heap *h, uint64_t size, uint64_t bound, enum heap_error *error)
{
	struct heap_state *s = heap_state(h);
	if (heap_used(h) + size > bound)
		return 0;
	if (size >= HEAP_LARGE)
		return heap_place_large(h, size, error);
	if (s->next + size > h->clean && !heap_ready(h, s->next + size)) {
		*error = HEAP_REFUSED;
		return 0;
	}
	uint64_t at = s->next;
	s->next += (uint32_t)size;
	return at;
}

/* heap_find_room is heap_place behind a collection, if there is no room in front of one. */
static uint64_t heap_find_room(struct heap *h, uint64_t size, enum heap_error *error)
{
	uint64_t at = 0;
	if (!h->torture && (at = heap_place(h, size, heap_min(h->target, h->limit), error)))
		return at;
	if (*error || (*error = heap_collect(h)))
		return 0;
	if ((at = heap_place(h, size, heap_min(h->target, h->limit), error)) || *error)
		return at;
	h->target *= 2;
	if (!(at = heap_place(h, size, h->limit, error)) && !*error)
		*error = HEAP_FULL;
	return at;
}

/* heap_alloc makes an object, of zeros and nulls, and *ref a reference to it. It may collect. */
static enum heap_error heap_alloc(struct heap *h, uint32_t number, uint32_t length, uint32_t *ref)
{
	const struct heap_type *t = number < h->num_types ? h->types[number] : NULL;
	enum heap_error error = HEAP_OK;
	if (!t) {
		heap_is_corrupt(h, HEAP_NO_TYPE, number);
		return HEAP_CORRUPT;
	}
	uint64_t size = heap_size_of(t, length);
	uint64_t at = size > h->limit ? 0 : heap_find_room(h, size, &error);
	if (at) {
		*heap_number(h, at) = number;
		*heap_at(h, at) = length; /* of a structure 0, as its fields are */
		*ref = (uint32_t)at;
	} else if (!error) {
		error = HEAP_FULL;
	}
	heap_open(h);
	return error;
}

#ifdef __cplusplus
}
#endif
