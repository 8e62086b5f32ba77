/* objects.c: structures and arrays in programs: their types, what refers to them, and what compiled code calls to make them. All instances of a program share one heap, which one thread at a time uses. */

#ifdef __cplusplus
extern "C" {
#endif

/* Texts have a section of their own, which executables without objects lack. */
static const struct {
	char corrupt[24], at[8], frame[40], damaged[48], refused[48], addresses[80];
} core_texts = {
	"the heap is corrupt: ", ": 0x", "a stack map is of another frame", "the metadata of an object are damaged", "the system gives no memory for objects",
	"no room for objects: 4 GiB of addresses are needed (ulimit -v)",
};

static struct heap core_objects; /* base is NULL before the first instance that has to do with it */
static uint64_t core_most_objects; /* bytes; 0: as many as there can be */
static int core_collect_always;

void waot_heap_limit(uint64_t bytes) { __atomic_store_n(&core_most_objects, bytes, __ATOMIC_RELAXED); }
void waot_heap_collect_always(int on) { __atomic_store_n(&core_collect_always, on, __ATOMIC_RELAXED); }

static bool heap_commit(char *at, uint64_t size) { return core_protect(at, size, CORE_PROT_RW); }

static bool heap_release(char *at, uint64_t size)
{
	return core_map(at, size, CORE_PROT_NONE, CORE_MAP_FIXED | CORE_MAP_ANON | CORE_MAP_NORESERVE, -1, 0);
}

static bool heap_clear(char *at, uint64_t size)
{
	return core_map(at, size, CORE_PROT_RW, CORE_MAP_FIXED | CORE_MAP_ANON | CORE_MAP_NORESERVE, -1, 0);
}

/* core_is_null_object reports whether an access through null may fault at an address. */
static bool core_is_null_object(uint64_t address) { return core_objects.base && address - (uint64_t)core_objects.base < HEAP_FIRST; }

/* The frame of the innermost adapter that has called, with marks, 0 for none. Adapters of code with a heap keep it in the heap's state. */
static uint64_t core_last_exit(void) { return core_objects.base ? __atomic_load_n(&heap_state(&core_objects)->exit, __ATOMIC_RELAXED) : 0; }
static void core_set_exit(uint64_t exit) { __atomic_store_n(&heap_state(&core_objects)->exit, exit, __ATOMIC_RELAXED); }

/* core_mark_objects marks the exceptions that objects refer to, also those that nothing reaches any more. */
static void core_mark_objects(void)
{
	struct heap *h = &core_objects;
	if (!h->base)
		return;
	core_mark_words(h->base + heap_start(h->space) + HEAP_LEAD, h->base + heap_state(h)->next); /* in front of the first object nothing is accessible before there is one */
	for (uint32_t n = 0; n < h->num_large; n++)
		core_mark_words(h->base + h->large[n].at, h->base + h->large[n].at + h->large[n].size);
}

/* ---- Types ---- */

enum {
	CORE_ROW_WORDS = 1 << 22,       /* of the table of rows, in words */
	CORE_FIRST_ROW = 3,             /* what is below are kinds of rows */
	CORE_MOST_DEPTH = 64,
	CORE_BUCKETS = 1 << 12
};

/* What is known of the type with a number: its description, the object that has that, and the next number of the bucket. */
struct core_known {
	const struct heap_type *type;
	const waot_object *object;
	uint32_t next;
};

/* core_types are the types of all modules. The number of a type is where its row begins: its kind, the numbers of its supertypes, the furthest first, and its own. */
static struct {
	uint32_t *rows;
	const struct heap_type **objects;                       /* by number, and NULL for types of functions */
	struct core_known *known;                               /* by number */
	uint64_t rows_end, objects_end, known_end;              /* what is accessible, in bytes */
	uint32_t next;
	uint32_t buckets[CORE_BUCKETS];
} core_types;

/* core_reach makes a part accessible up to a number and what rows may read behind it. */
static bool core_reach(void *part, uint64_t *end, uint64_t number, uint64_t size)
{
	uint64_t need = core_page_up((number + CORE_MOST_DEPTH + 1) * size);
	if (need <= *end)
		return true;
	if (!core_protect((char *)part + *end, need - *end, CORE_PROT_RW))
		return false;
	*end = need;
	return true;
}

/* core_number_of finds the number of the type with a key, or 0. */
static uint32_t core_number_of(const void *key)
{
	uint32_t first;
	memcpy(&first, key, 4);
	uint32_t n = __atomic_load_n(&core_types.buckets[first % CORE_BUCKETS], __ATOMIC_ACQUIRE);
	while (n && memcmp(core_types.known[n].type->key, key, sizeof core_types.known[n].type->key) != 0)
		n = core_types.known[n].next;
	return n;
}

/* core_depth is the depth of a type by its number: 1 without a supertype. */
static uint32_t core_depth(uint32_t number)
{
	uint32_t d = 1;
	while (core_types.rows[number + d] != number)
		d++;
	return d;
}

/* core_add_type gives a type, which has none, a number. The lock is held. It returns 0 if there is no memory. */
static uint32_t core_add_type(const waot_object *o, const struct heap_type *t)
{
	uint32_t super = t->super ? core_number_of(((const struct heap_type *)((const char *)t - t->super))->key) : 0;
	uint32_t above = super ? core_depth(super) : 0, n = core_types.next, end = n + above + 2;
	if (n > CORE_ROW_WORDS - 2 * (CORE_MOST_DEPTH + 1) || !core_reach(core_types.rows, &core_types.rows_end, end, sizeof *core_types.rows) ||
	    !core_reach(core_types.objects, &core_types.objects_end, end, sizeof *core_types.objects) || !core_reach(core_types.known, &core_types.known_end, end, sizeof *core_types.known))
		return 0;
	core_types.rows[n] = t->kind == HEAP_FUNCTION ? 0 : t->kind;
	for (uint32_t k = 1; k <= above; k++)
		core_types.rows[n + k] = core_types.rows[super + k];
	core_types.rows[n + above + 1] = n;
	core_types.objects[n] = t->kind == HEAP_FUNCTION ? NULL : t;
	core_types.known[n].type = t;
	core_types.known[n].object = o;
	uint32_t *bucket = &core_types.buckets[t->key[0] % CORE_BUCKETS];
	core_types.known[n].next = *bucket;
	core_types.next = end;
	core_objects.num_types = end;
	__atomic_store_n(bucket, n, __ATOMIC_RELEASE);
	return n;
}

/* core_fill_types gives the types of an object their numbers, and writes them into the data of an instance. The lock is held. */
static bool core_fill_types(waot_instance *i)
{
	const waot_object *o = i->object;
	uint32_t *to = (uint32_t *)waot_moved(i, o->heap + CORE_HEAP_TYPES);
	const char *end = o->heap_types + o->heap_types_size;
	for (const char *p = o->heap_types; p < end; to++) {
		const struct heap_type *t = (const struct heap_type *)p;
		p += t->bytes;
		if (t->kind == HEAP_PLAIN)
			continue;
		uint32_t n = core_number_of(t->key);
		if (!n && !(n = core_add_type(o, t)))
			return false;
		if (t->kind != HEAP_FUNCTION)
			*to = n;
	}
	return true;
}

/* core_open_heap makes the heap and the table of rows. The lock is held. */
static bool core_open_heap(void)
{
	const uint64_t lead = 4 * CORE_PAGE, tail = HEAP_FIRST + CORE_PAGE;
	const uint64_t rows = CORE_ROW_WORDS * sizeof *core_types.rows, objects = CORE_ROW_WORDS * sizeof *core_types.objects, known = CORE_ROW_WORDS * sizeof *core_types.known;
	if (core_objects.base)
		return true;
	char *table = core_reserve(rows + objects + known), *p = core_reserve(lead + HEAP_SIZE + tail);
	if (!table || !p || !core_protect(p, lead, CORE_PROT_RW)) {
		core_unmap(table, rows + objects + known);
		core_unmap(p, lead + HEAP_SIZE + tail);
		return false;
	}
	core_types.rows = (uint32_t *)table;
	core_types.objects = (const struct heap_type **)(table + rows);
	core_types.known = (struct core_known *)(table + rows + objects);
	core_types.next = CORE_FIRST_ROW;
	core_objects.types = core_types.objects;
	core_objects.large = (struct heap_large *)p;
	core_objects.pending = (uint32_t *)(p + HEAP_MOST_LARGE * sizeof *core_objects.large);
	heap_begin(&core_objects, p + lead, HEAP_SIZE);
	return true;
}

/* waot_heap_prepare fills the part of an instance's data for the heap, of an object that has one. */
CORE_HIDDEN int waot_heap_prepare(waot_instance *i, waot_trap *t);
int waot_heap_prepare(waot_instance *i, waot_trap *t)
{
	char *part = (char *)waot_moved(i, i->object->heap);
	core_lock();
	bool ok = core_open_heap() && core_fill_types(i);
	if (ok) {
		memcpy(part + CORE_HEAP_BASE, &core_objects.base, 8);
		memcpy(i->object->heap + CORE_HEAP_BASE, &core_objects.base, 8); /* stubs of the linked instance are those of all */
		memcpy(part + CORE_HEAP_ROWS, &core_types.rows, 8);
	}
	core_unlock();
	return ok ? 0 : core_fail(t, WAOT_ERROR_MEMORY, core_texts.addresses);
}

/* core_key is the key in the record of a type, which is of functions, or NULL if the type is of functions that nothing else is a subtype of. */
static const char *core_key(const char *record) { return record[1] == 0x62 ? record + 2 : NULL; }

CORE_HIDDEN uint64_t waot_core_test(const uint64_t *descriptor, const char *record);

__attribute__((used)) uint64_t waot_core_test(const uint64_t *descriptor, const char *record)
{
	if (!descriptor)
		return 0;
	const char *have = (const char *)descriptor[1];
	if (core_same_type(have, record))
		return 1;
	if (!core_key(have) || !core_key(record))
		return 0;
	uint32_t sub = core_number_of(core_key(have)), super = core_number_of(core_key(record));
	return sub && super && core_types.rows[sub + core_depth(super)] == super;
}

#ifndef WAOT_STANDALONE
static int core_prepare_heap(waot_instance *i, waot_trap *t) { return waot_heap_prepare(i, t); }
#endif

/* ---- Stack maps ---- */

/* core_map is what a call site has: where it returns to, and the set of slots that have references. */
struct core_map {
	uint32_t offset, set;
};

/* core_slots is a set of slots: those that either its base or its own changes have, but not both. The base is the set's number and 1. */
struct core_slots {
	uint32_t base, from, to, most;
};

/* core_roots is what a collection needs to know of an object, made when it first does. It stays. */
struct core_roots {
	struct core_roots *next;
	const waot_object *object;
	const uint8_t *globals, *end;   /* lists of the metadata: of globals, and behind it of element segments */
	uint64_t num_maps;
	struct core_map *maps;
	struct core_slots *sets;
	int32_t *changes, *room[2];     /* room for the slots of a set */
	uint32_t *tags;                 /* for each tag where its list begins: how many words of its arguments have references, and which */
};

static struct core_roots *core_all_roots;

enum { CORE_RECENT = 8 };

/* core_read_maps reads the stack maps of an object into memory that has room for them, and returns the most slots that a set can have. */
static uint32_t core_read_maps(struct core_reader *r, struct core_roots *to)
{
	uint32_t recent[CORE_RECENT], known = 0, at = 0, sets = 0, changes = 0, most = 0;
	uint64_t n = core_number(r);
	for (to->num_maps = 0; to->num_maps < n && !r->bad; to->num_maps++) {
		struct core_map *m = &to->maps[to->num_maps];
		m->offset = at += (uint32_t)core_number(r);
		uint64_t k = core_number(r);
		if (k > CORE_RECENT + known || (k < CORE_RECENT && k >= known)) {
			r->bad = true;
			return 0;
		}
		if (k < CORE_RECENT) {
			m->set = recent[k];
		} else {
			struct core_slots *s = &to->sets[sets];
			s->base = k == CORE_RECENT ? 0 : recent[k - CORE_RECENT - 1] + 1;
			s->from = changes;
			uint64_t own = core_number(r);
			for (uint64_t c = 0; c < own && !r->bad; c++, changes++)
				to->changes[changes] = c ? to->changes[changes - 1] + (int32_t)core_number(r) : (int32_t)core_signed(r);
			s->to = changes;
			s->most = (s->base ? to->sets[s->base - 1].most : 0) + (uint32_t)own;
			if (s->most > most)
				most = s->most;
			m->set = sets++;
			k = known < CORE_RECENT ? known++ : CORE_RECENT - 1;
		}
		for (; k > 0; k--)
			recent[k] = recent[k - 1];
		recent[0] = m->set;
	}
	return most;
}

/* core_differing writes the numbers that one of two rising lists has, and returns how many. */
static uint32_t core_differing(int32_t *to, const int32_t *a, uint32_t as, const int32_t *b, uint32_t bs)
{
	uint32_t n = 0, i = 0, j = 0;
	while (i < as || j < bs) {
		if (j == bs || (i < as && a[i] < b[j])) {
			to[n++] = a[i++];
		} else if (i == as || b[j] < a[i]) {
			to[n++] = b[j++];
		} else {
			i++;
			j++;
		}
	}
	return n;
}

/* core_slots_of finds the slots of the call that returns to an offset, and returns how many. */
static uint32_t core_slots_of(const struct core_roots *r, uint32_t offset, const int32_t **slots)
{
	uint64_t low = 0, high = r->num_maps;
	while (low < high) {
		uint64_t middle = (low + high) / 2;
		if (r->maps[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == r->num_maps || r->maps[low].offset != offset)
		return 0;
	/* The difference of all sets of the chain, in any order. */
	const struct core_slots *s = &r->sets[r->maps[low].set];
	uint32_t n = s->to - s->from, to = 0;
	*slots = r->changes + s->from;
	while (s->base) {
		s = &r->sets[s->base - 1];
		if (s->from == s->to)
			continue;
		n = core_differing(r->room[to], *slots, n, r->changes + s->from, s->to - s->from);
		*slots = r->room[to];
		to = 1 - to;
	}
	return n;
}

/* core_skip_exports goes from the functions, of which there are n, to what stands behind the lists of exports and digests. */
static void core_skip_exports(struct core_reader *r, uint64_t n)
{
	uint64_t size;
	struct core_func f;
	memset(&f, 0, sizeof f);
	for (; n > 0 && !r->bad; n--)
		core_next_func(r, &f);
	for (n = core_number(r); n > 0 && !r->bad; n--) {
		core_string(r, &size);
		core_byte(r);
		core_skip(r, 1);
	}
	for (n = core_number(r); n > 0 && !r->bad; n--) {
		core_string(r, &size);
		for (int k = 0; k < 16; k++)
			core_byte(r);
	}
}

/* core_go_to_types goes to the function types in the metadata of an object, and returns their number. */
static uint64_t core_go_to_types(struct core_reader *r, const waot_object *o)
{
	uint64_t size;
	*r = core_read(o->meta, CORE_META);
	core_skip(r, 1);
	for (int n = 0; n < 3; n++)
		core_string(r, &size);
	core_skip(r, 3);
	for (uint64_t n = core_number(r); n > 0 && !r->bad; n--)
		core_skip(r, 1);
	return core_number(r);
}

/* core_read_tag lists which words of the arguments of a tag, whose type has an index, have references. */
static uint32_t core_read_tag(const waot_object *o, uint64_t type, uint32_t *to)
{
	const uint8_t vector = 0x7b, reference = 0x6f;
	struct core_reader r;
	uint64_t size, types = core_go_to_types(&r, o);
	for (; type > 0 && types > 0 && !r.bad; type--, types--)
		core_string(&r, &size), core_string(&r, &size);
	const uint8_t *param = (const uint8_t *)core_string(&r, &size);
	uint32_t word = 0, n = 0;
	for (uint64_t k = 0; k < size; k++) {
		if (param[k] == vector)
			word = ((word + 1) & ~1u) + 1;
		else if (param[k] == reference)
			to[++n] = word;
		word++;
	}
	to[0] = n;
	return n + 1;
}

/* core_read_tags makes the lists of tags. lists is behind the places of the lists. */
static void core_read_tags(struct core_reader *r, struct core_roots *to, uint32_t *lists)
{
	const waot_object *o = to->object;
	uint64_t size;
	if (o->abi == WAOT_ABI_HEAP && !core_byte(r))
		return;
	if (core_byte(r)) { /* fuel */
		core_byte(r);
		core_string(r, &size);
	}
	core_skip(r, 4);
	uint64_t tags = core_number(r);
	for (uint64_t n = 0; n < tags && n < o->num_tags && !r->bad; n++) {
		uint64_t type = core_number(r);
		core_import(r);
		to->tags[n] = (uint32_t)(lists - to->tags);
		lists += core_read_tag(o, type, lists);
	}
}

/* core_make_roots reads the tables of an object; NULL: no memory. The lock is held. */
static struct core_roots *core_make_roots(const waot_object *o)
{
	struct core_meta m;
	if (!core_take_table(o->stackmaps, CORE_STACKMAPS))
		return NULL;
	struct core_reader maps = core_read_table(o->stackmaps, CORE_STACKMAPS);
	uint64_t bytes = (uint64_t)(maps.end - maps.at), most = bytes / 2 + 1, words = 0, tags = core_num_tags(o);
	for (uint64_t n = 0; n < tags; n++)
		words += o->tags[n].words + 1;
	/* Numbers take at least a byte, and sites two. What is not used is never touched. */
	uint64_t size = sizeof(struct core_roots) + most * (sizeof(struct core_map) + sizeof(struct core_slots)) + bytes * 4 + (tags + words) * 4;
	struct core_roots *r = (struct core_roots *)core_map(NULL, size, CORE_PROT_RW, CORE_MAP_ANON | CORE_MAP_NORESERVE, -1, 0);
	if (!r)
		return NULL;
	r->object = o;
	r->maps = (struct core_map *)(r + 1);
	r->sets = (struct core_slots *)(r->maps + most);
	r->changes = (int32_t *)(r->sets + most);
	r->tags = (uint32_t *)(r->changes + bytes);
	uint64_t slots = core_read_maps(&maps, r);
	if (slots) {
		r->room[0] = (int32_t *)core_map(NULL, 2 * slots * sizeof *r->room[0], CORE_PROT_RW, CORE_MAP_ANON | CORE_MAP_NORESERVE, -1, 0);
		if (!r->room[0]) {
			core_unmap(r, size);
			return NULL;
		}
		r->room[1] = r->room[0] + slots;
	}
	core_read_meta(o, &m);
	r->globals = m.r.at;
	r->end = m.r.end;
	if (tags) {
		uint64_t n = core_read_funcs(&m.r);
		core_skip_exports(&m.r, n);
		core_read_tags(&m.r, r, r->tags + tags);
	}
	if (maps.bad || m.r.bad)
		core_die(core_texts.damaged);
	r->next = core_all_roots;
	return core_all_roots = r;
}

static bool core_is_live(waot_instance *i) { return core_state(i) > CORE_CHANGING; }

/* core_find_roots makes what a collection needs to know of all objects that have instances. It reports whether there is memory for it. */
static bool core_find_roots(void)
{
	for (waot_instance *i = core_instances; i; i = i->next) {
		if (!core_is_live(i) || i->roots)
			continue;
		struct core_roots *r = core_all_roots;
		while (r && r->object != i->object)
			r = r->next;
		if (!(i->roots = r ? r : core_make_roots(i->object)))
			return false;
	}
	return true;
}

/* ---- Roots ---- */

/* core_here is the call of compiled code that a collection is in. The lock is held. */
static struct {
	uint64_t pc, fp, low;           /* where it returns to, the frame that it is in, and what is below that */
} core_here;

/* core_visit_frames visits the references in the frames of compiled code from one on, up to a C function, and returns the frame pointer of that. Without a heap it only goes there. */
static uint64_t core_visit_frames(struct heap *h, uint64_t pc, uint64_t fp, uint64_t low)
{
	waot_instance *i = NULL;
	while (fp >= low && fp % 8 == 0) { /* a function without slots has its frame at the end of the one below */
		if (!i || pc - i->text >= i->text_size)
			i = core_of_text(pc);
		if (!i)
			break;
		const int32_t *slots = NULL;
		uint32_t n = h ? core_slots_of(i->roots, (uint32_t)(pc - i->text), &slots) : 0;
		for (; n > 0; n--, slots++) {
			uint64_t at = fp + (uint64_t)(int64_t)*slots;
			if (at < low || at >= fp || at % 8)
				core_die(core_texts.frame);
			heap_word(h, (void *)at);
		}
		low = fp + 16;
		pc = ((const uint64_t *)fp)[1];
		fp = ((const uint64_t *)fp)[0];
	}
	return fp;
}

/* core_frame is an adapter's frame of what is noted: the frame pointer and the return address of its caller, and below the one that was noted before. */
static const uint64_t *core_frame(uint64_t noted) { return (const uint64_t *)(noted & ~(uint64_t)CORE_MARKS); }

/* core_visit_stack visits all frames: those around this call, and those around each call of a C function that is under way. */
static void core_visit_stack(struct heap *h)
{
	core_visit_frames(h, core_here.pc, core_here.fp, core_here.low);
	for (uint64_t noted = heap_state(h)->exit; noted; noted = core_frame(noted)[CORE_LINK]) {
		const uint64_t *frame = core_frame(noted);
		if (!(noted & CORE_ENTRY))
			core_visit_frames(h, frame[1], frame[0], (uint64_t)frame + 16);
	}
}

/* heap_finds_roots looks at what adapters have noted. Where C calls code with objects, this is the innermost such code until that calls a C function, and notes it. Behind a function of a module
 * without objects, which code with objects has called through a table or reference, nobody notes that: then C code is active, or code that C has called elsewhere, though that call is not noted. */
static bool heap_finds_roots(struct heap *h)
{
	uint64_t pc = core_here.pc, fp = core_here.fp, low = core_here.low, noted = heap_state(h)->exit;
	bool in_code = pc != 0;
	for (; noted; noted = core_frame(noted)[CORE_LINK]) {
		const uint64_t *frame = core_frame(noted);
		if (noted & CORE_ENTRY) {
			if (!in_code || (!(noted & CORE_OWN_ENTRY) && core_visit_frames(NULL, pc, fp, low) != (uint64_t)frame))
				return false;
			in_code = false;
			continue;
		}
		fp = frame[0];
		pc = frame[1];
		low = (uint64_t)frame + 16;
		in_code = true;
	}
	return true;
}

static bool core_is_own_global(uint64_t address)
{
	for (waot_instance *i = core_instances; i; i = i->next)
		if (core_is_live(i) && address - (uint64_t)waot_moved(i, i->object->instance) < i->object->instance_size)
			return true;
	return false;
}

static bool core_is_own_table(const void *base)
{
	for (waot_instance *i = core_instances; i; i = i->next)
		for (uint64_t n = 0; core_is_live(i) && n < i->object->num_tables; n++)
			if (!(i->object->tables[n].flags & 1) && *core_base(i, &i->object->tables[n]) == base)
				return true;
	return false;
}

/* Words are visited once in a collection. So of what is imported only that of the program itself is visited, and for the first import that there is of it. */

static void core_visit_words(struct heap *h, uint64_t *words, uint64_t n)
{
	for (; n > 0; n--)
		heap_word(h, words++);
}

/* core_each_global calls f for each global that is a reference, until that returns true. */
static bool core_each_global(waot_instance *i, bool (*f)(waot_instance *i, uint64_t index, struct core_global g, void *arg), void *arg)
{
	const uint8_t reference = 0x6f;
	struct core_reader r = {i->roots->globals, i->roots->end, false};
	uint64_t n = core_number(&r);
	for (uint64_t k = 0; k < n && !r.bad; k++) {
		struct core_global g = core_read_global(&r);
		if (g.type == reference && f(i, k, g, arg))
			return true;
	}
	return false;
}

struct core_sought { waot_instance *until; uint64_t index; const void *value; };

static bool core_is_sought(waot_instance *i, uint64_t index, struct core_global g, void *arg)
{
	const struct core_sought *s = (const struct core_sought *)arg;
	return g.imported && (i != s->until || index < s->index) && *(void *const *)waot_moved(i, i->object->instance + g.offset) == s->value;
}

/* core_visited_global and core_visited_table tell whether an instance in front of one, or an earlier import of it, has imported the same. */
static bool core_visited_global(waot_instance *until, uint64_t index, const void *value)
{
	struct core_sought s = {until, index, value};
	for (waot_instance *i = core_instances; i; i = i->next) {
		if (core_is_live(i) && core_each_global(i, core_is_sought, &s))
			return true;
		if (i == until)
			return false;
	}
	return false;
}

static bool core_visited_table(waot_instance *until, uint64_t index, const void *base)
{
	for (waot_instance *i = core_instances; i; i = i->next) {
		for (uint64_t n = 0; core_is_live(i) && n < (i == until ? index : i->object->num_tables); n++)
			if (i->object->tables[n].flags & 4 && *core_base(i, &i->object->tables[n]) == base)
				return true;
		if (i == until)
			return false;
	}
	return false;
}

static bool core_visit_global(waot_instance *i, uint64_t index, struct core_global g, void *heap)
{
	uint64_t *value = (uint64_t *)waot_moved(i, i->object->instance + g.offset);
	if (g.imported) {
		memcpy(&value, value, 8);
		if (!value || core_is_own_global((uint64_t)value) || core_visited_global(i, index, value))
			return false;
	}
	heap_word((struct heap *)heap, value);
	return false;
}

static void core_visit_tables(struct heap *h, waot_instance *i)
{
	const waot_object *o = i->object;
	for (uint64_t n = 0; n < o->num_tables; n++) {
		uint64_t *base = (uint64_t *)*core_base(i, &o->tables[n]);
		if (!(o->tables[n].flags & 4) || !base)
			continue;
		if (o->tables[n].flags & 1 && (core_is_own_table(base) || core_visited_table(i, n, base)))
			continue;
		core_visit_words(h, base, base[-1]);
	}
}

/* core_visit_segments visits element segments, up to the length that they have: 0 once dropped. */
static void core_visit_segments(struct heap *h, waot_instance *i)
{
	struct core_reader r = {i->roots->globals, i->roots->end, false};
	for (uint64_t n = core_number(&r); n > 0 && !r.bad; n--)
		core_read_global(&r);
	for (uint64_t n = core_number(&r); n > 0 && !r.bad; n--) {
		const char *data = i->object->instance;
		const uint64_t *pair = (const uint64_t *)waot_moved(i, data + core_number(&r));
		uint64_t *array = (uint64_t *)waot_moved(i, data + core_number(&r)), most = core_number(&r);
		core_visit_words(h, array, heap_min(pair[1], most));
	}
}

/* core_tag_list is the list of the words with references in the arguments of a tag, which an instance has, or else NULL. */
static const uint32_t *core_tag_list(uint64_t tag)
{
	struct core_tag t;
	for (waot_instance *i = core_instances; i; i = i->next) {
		if (!core_is_live(i) || !core_tag_in(i, tag, &t))
			continue;
		uint64_t n = (tag - (uint64_t)waot_moved(i, i->object->tags[0].word)) / 8;
		return i->roots->tags + i->roots->tags[n];
	}
	return NULL;
}

/* core_same_list finds the list of a tag of the program itself: an instance that knows the exception has imported a tag of that type. */
static const uint32_t *core_same_list(const void *type)
{
	for (waot_instance *i = core_instances; i; i = i->next)
		for (uint64_t n = 0; core_is_live(i) && n < core_num_tags(i->object); n++)
			if (core_same_type(i->object->tags[n].type, type))
				return i->roots->tags + i->roots->tags[n];
	return NULL;
}

static void core_visit_exceptions(struct heap *h, waot_instance *i)
{
	for (struct core_exception *x = i->exceptions; x; x = x->next) {
		const uint32_t *list = core_tag_list(x->tag);
		if (!list && x->words)
			list = core_same_list(((const waot_tag *)x->tag)->type);
		for (uint32_t n = list ? list[0] : 0; n > 0; n--)
			heap_word(h, &x->args[list[n]]);
	}
}

/* ---- Handles ---- */

struct waot_handle {
	waot_ref ref;
	struct waot_handle *next;       /* the next free one */
};

enum { CORE_HANDLES = (1 << 16) / sizeof(struct waot_handle) - 1 };

struct core_handles {
	struct core_handles *next;
	struct waot_handle handles[CORE_HANDLES];
};

static struct core_handles *core_handles;
static struct waot_handle *core_free_handle;

waot_handle *waot_handle_new(waot_ref ref)
{
	core_lock();
	if (!core_free_handle) {
		struct core_handles *block = (struct core_handles *)core_map(NULL, sizeof *block, CORE_PROT_RW, CORE_MAP_ANON, -1, 0);
		for (int n = 0; block && n < CORE_HANDLES; n++) {
			block->handles[n].next = core_free_handle;
			core_free_handle = &block->handles[n];
		}
		if (block) {
			block->next = core_handles;
			core_handles = block;
		}
	}
	struct waot_handle *h = core_free_handle;
	if (h) {
		core_free_handle = h->next;
		h->ref = ref;
	}
	core_unlock();
	return h;
}

waot_ref waot_handle_ref(const waot_handle *h) { return h->ref; }
void waot_handle_set(waot_handle *h, waot_ref ref) { h->ref = ref; }

void waot_handle_free(waot_handle *h)
{
	if (!h)
		return;
	core_lock();
	h->ref = 0;
	h->next = core_free_handle;
	core_free_handle = h;
	core_unlock();
}

static void core_visit_handles(struct heap *h)
{
	for (struct core_handles *b = core_handles; b; b = b->next)
		for (int n = 0; n < CORE_HANDLES; n++)
			heap_word(h, &b->handles[n].ref);
}

/* core_pending are references that C code makes an object of. The lock is held. */
static struct { waot_ref *words; uint64_t n; } core_pending;

static void heap_each_root(struct heap *h)
{
	core_visit_stack(h);
	core_visit_words(h, core_pending.words, core_pending.n);
	for (waot_instance *i = core_instances; i; i = i->next) {
		if (!core_is_live(i))
			continue;
		core_each_global(i, core_visit_global, h);
		core_visit_tables(h, i);
		core_visit_segments(h, i);
		core_visit_exceptions(h, i);
	}
	core_visit_handles(h);
}

/* ---- What compiled code calls ---- */

/* core_collect_exceptions frees exceptions that nothing refers to, of all instances, as they keep what their arguments refer to. It reports whether there were any. */
static bool core_collect_exceptions(void)
{
	bool any = false;
	for (waot_instance *i = core_instances; i; i = i->next) {
		uint64_t before = i->num_exceptions;
		if (before && core_is_live(i))
			core_collect(i);
		any = any || i->num_exceptions < before;
	}
	return any;
}

/* core_end_call ends the innermost waot_try with a code, in a call of compiled code. */
WAOT_NORETURN static void core_end_call(int code, const char *text, uint64_t pc, uint64_t fp)
{
	struct core_raw raw[WAOT_MAX_FRAMES];
	struct core_context *c = core_top;
	waot_trap here, *t = c ? c->out : &here;
	if (t) {
		t->code = code;
		t->status = 0;
		t->exception = 0;
		t->instance = raw[0].instance = core_of_text(pc);
		raw[0].offset = pc - raw[0].instance->text;
		raw[0].place = 0;
		raw[0].function = UINT32_MAX;
		core_resolve(t, raw, 0, core_walk(raw, 1, fp));
		core_describe(t, text);
		if (!c)
			core_die(t->message);
	}
	core_leave(c, code, __builtin_frame_address(0));
}

/* core_is_corrupt ends the process: compiled code has done what it never may. */
WAOT_NORETURN static void core_is_corrupt(const struct heap *h)
{
	char room[128];
	struct core_line l = {room, 0, sizeof room, -1};
	core_puts(&l, core_texts.corrupt);
	core_puts(&l, heap_texts[h->corrupt]);
	core_puts(&l, core_texts.at);
	core_put_number(&l, h->wrong, 16);
	core_die(room);
}

/* core_alloc makes an object, of zeros and nulls. It may collect; the lock is held. */
static enum heap_error core_alloc(uint32_t number, uint32_t length, uint32_t *ref)
{
	struct heap *h = &core_objects;
	uint64_t limit = __atomic_load_n(&core_most_objects, __ATOMIC_RELAXED);
	h->limit = heap_min(limit ? limit : HEAP_SIZE, HEAP_SPACE - HEAP_FIRST - HEAP_LEAD);
	h->torture = __atomic_load_n(&core_collect_always, __ATOMIC_RELAXED);
	if (!core_find_roots())
		return HEAP_REFUSED;
	enum heap_error error = heap_alloc(h, number, length, ref);
	if (error == HEAP_FULL && core_collect_exceptions())
		error = heap_alloc(h, number, length, ref);
	return error;
}

CORE_HIDDEN uint64_t waot_core_new(uint64_t number, uint64_t length, uint64_t size, void *base, uint64_t pc, uint64_t fp);

/* waot_core_new makes an object where the code of waot_heap_new does not. */
__attribute__((used)) uint64_t waot_core_new(uint64_t number, uint64_t length, uint64_t size, void *base, uint64_t pc, uint64_t fp)
{
	struct heap *h = &core_objects;
	uint32_t ref = 0;
	(void)size;
	(void)base;
	core_lock();
	core_here.pc = pc;
	core_here.fp = fp;
	core_here.low = (uint64_t)__builtin_frame_address(0);
	enum heap_error error = core_alloc((uint32_t)number, (uint32_t)length, &ref);
	core_unlock();
	if (!error)
		return ref;
	if (error == HEAP_CORRUPT)
		core_is_corrupt(h);
	if (error == HEAP_FULL)
		core_end_call(WAOT_TRAP_HEAP_EXHAUSTED, NULL, pc, fp);
	if (error == HEAP_HIDDEN)
		core_end_call(WAOT_ERROR_FRAMES, NULL, pc, fp);
	core_end_call(WAOT_ERROR_MEMORY, core_texts.refused, pc, fp);
}

#define CORE_FILL(bytes) \
	for (; n > 0; n--, p += bytes) \
		memcpy(p, value, bytes)

/* These, too, come by way of waot_core_probe: what stands with other helpers is in each executable. */
CORE_HIDDEN void waot_core_fill(void *to, const void *value, uint64_t n, uint64_t size);
CORE_HIDDEN void waot_core_widen(uint64_t *to, const uint32_t *from, uint64_t n);
CORE_HIDDEN void waot_core_narrow(uint32_t *to, const uint64_t *from, uint64_t n);

__attribute__((used)) void waot_core_fill(void *to, const void *value, uint64_t n, uint64_t size)
{
	char *p = (char *)to;
	switch (size) {
	case 1: memset(p, *(const uint8_t *)value, n); break;
	case 2: CORE_FILL(2); break;
	case 4: CORE_FILL(4); break;
	case 8: CORE_FILL(8); break;
	case 16: CORE_FILL(16); break;
	}
}

__attribute__((used)) void waot_core_widen(uint64_t *to, const uint32_t *from, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		to[i] = from[i];
}

__attribute__((used)) void waot_core_narrow(uint32_t *to, const uint64_t *from, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		to[i] = (uint32_t)from[i];
}

/* waot_heap_new makes the object where there is room and it is not large. */
#ifdef __x86_64__
__asm__(
	CORE_STUB("waot_func_test", "waot_core_test", "rdx")
	CORE_STUB("waot_heap_fill", "waot_core_fill", "r8")
	CORE_STUB("waot_heap_widen", "waot_core_widen", "rcx")
	CORE_STUB("waot_heap_narrow", "waot_core_narrow", "rcx")
	".pushsection .text.waot_heap_new,\"ax\",@progbits\n"
	".p2align 4\n"
	".globl waot_heap_new\n.type waot_heap_new, @function\n"
	"waot_heap_new:\n"
	".cfi_startproc\n"
	"endbr64\n"
	"cmp $0x40000, %rdx\n"
	"jae 1f\n"
	"mov -16(%rcx), %eax\n"
	"mov -12(%rcx), %r9d\n"
	"lea (%rax,%rdx), %r8\n"
	"cmp %r9, %r8\n"
	"ja 1f\n"
	"mov %r8d, -16(%rcx)\n"
	"mov %edi, -4(%rcx,%rax)\n"
	"mov %esi, (%rcx,%rax)\n"
	"ret\n"
	"1:\n"
	"sub $8, %rsp\n.cfi_def_cfa_offset 16\n"
	"call waot_core_probe\n"
	"add $8, %rsp\n.cfi_def_cfa_offset 8\n"
	"mov (%rsp), %r8\n"
	"mov %rbp, %r9\n"
	"jmp waot_core_new\n"
	".cfi_endproc\n.size waot_heap_new, . - waot_heap_new\n"
	".popsection\n");
#else
__asm__(
	CORE_STUB("waot_func_test", "waot_core_test", "x2")
	CORE_STUB("waot_heap_fill", "waot_core_fill", "x4")
	CORE_STUB("waot_heap_widen", "waot_core_widen", "x3")
	CORE_STUB("waot_heap_narrow", "waot_core_narrow", "x3")
	".pushsection .text.waot_heap_new,\"ax\",%progbits\n"
	".p2align 4\n"
	".globl waot_heap_new\n.type waot_heap_new, %function\n"
	"waot_heap_new:\n"
	".cfi_startproc\n"
	"hint #34\n"
	"cmp x2, #64, lsl #12\n"
	"b.hs 1f\n"
	"ldur w4, [x3, #-16]\n"
	"ldur w5, [x3, #-12]\n"
	"add x6, x4, x2\n"
	"cmp x6, x5\n"
	"b.hi 1f\n"
	"stur w6, [x3, #-16]\n"
	"add x7, x3, x4\n"
	"stur w0, [x7, #-4]\n"
	"str w1, [x7]\n"
	"mov x0, x4\n"
	"ret\n"
	"1:\n"
	"mov x4, x30\n.cfi_register x30, x4\n"
	"bl waot_core_probe\n"
	"mov x30, x4\n.cfi_restore x30\n"
	"mov x5, x29\n"
	"b waot_core_new\n"
	".cfi_endproc\n.size waot_heap_new, . - waot_heap_new\n"
	".popsection\n");
#endif

#ifdef __cplusplus
}
#endif
