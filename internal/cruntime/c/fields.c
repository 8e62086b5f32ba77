/* fields.c: structures and arrays for C code: what types they have, their fields and elements, and how they are made. Executables have none of it.
 *
 * A word that C code passes as a reference may be any: what it refers to is looked at before anything is read or written. */

#ifdef __cplusplus
extern "C" {
#endif

/* The codes of what a field stores, beside those of WAOT_I32 and the like, which are the public ones: as in the binary format, but for the last two, references to what a type says. */
enum {
	CORE_ANY = 0x6e, CORE_EQ = 0x6d, CORE_I31 = 0x6c, CORE_STRUCT = 0x6b, CORE_ARRAY = 0x6a, CORE_EXTERN = 0x6f, CORE_EXN = 0x69, CORE_FUNC = 0x70,
	CORE_OF_FUNCTION = 0x63, CORE_OF_OBJECT = 0x64
};

static uint8_t core_code(const struct heap_field *f) { return (uint8_t)f->what; }
static bool core_is_number(uint8_t code) { return code >= WAOT_I16; }
static bool core_is_function(uint8_t code) { return code == CORE_FUNC || code == CORE_OF_FUNCTION || code == 0x73 /* nofunc */; }
static bool core_is_collected(uint8_t code) { return !core_is_number(code) && !core_is_function(code); }
static bool core_is_wide(uint8_t code) { return code == CORE_ANY || code == CORE_EXTERN || code == 0x72 /* noextern */ || code == CORE_EXN || code == 0x74 /* noexn */ || core_is_function(code); }

/* core_field_size is how many bytes a field of a code takes. */
static uint32_t core_field_size(uint8_t code)
{
	switch (code) {
	case WAOT_I8: return 1;
	case WAOT_I16: return 2;
	case WAOT_I32: case WAOT_F32: return 4;
	case WAOT_I64: case WAOT_F64: return 8;
	case WAOT_V128: return 16;
	}
	return core_is_wide(code) ? 8 : 4;
}

/* ---- Types ---- */

static const struct heap_type *core_of_public(const waot_type *t) { return (const struct heap_type *)t; }
static const waot_type *core_to_public(const struct heap_type *t) { return (const waot_type *)t; }

/* core_canonical is the one description of a type of structures or arrays that all modules have, or NULL. */
static const struct heap_type *core_canonical(const struct heap_type *t)
{
	if (t->kind != HEAP_STRUCTURE && t->kind != HEAP_ARRAY)
		return NULL;
	uint32_t n = core_number_of(t->key);
	return n ? core_types.objects[n] : NULL;
}

static const struct heap_field *core_fields(const struct heap_type *t) { return (const struct heap_field *)(t->offsets + t->num_refs + t->num_words); }
static uint32_t core_num_fields(const struct heap_type *t) { return (uint32_t)((t->bytes - ((const char *)core_fields(t) - (const char *)t)) / sizeof(struct heap_field)); }

/* core_target is the type that a field refers to, as the same module describes it. */
static const struct heap_type *core_target(const struct heap_type *t, const struct heap_field *f) { return (const struct heap_type *)((const char *)t + f->to); }

const waot_type *waot_type_of(const waot_object *object, uint32_t index)
{
	if (object->abi != WAOT_ABI_HEAP)
		return NULL;
	const char *p = object->heap_types, *end = p + object->heap_types_size;
	for (; p < end; p += ((const struct heap_type *)p)->bytes)
		if (index-- == 0)
			return core_to_public(core_canonical((const struct heap_type *)p));
	return NULL;
}

int waot_type_kind(const waot_type *type)
{
	return !type ? 0 : core_of_public(type)->kind == HEAP_ARRAY ? WAOT_ARRAY : WAOT_STRUCT;
}

uint32_t waot_type_length(const waot_type *type) { return type ? core_num_fields(core_of_public(type)) : 0; }

int waot_type_field(const waot_type *type, uint32_t i, waot_field *field)
{
	if (i >= waot_type_length(type))
		return WAOT_ERROR_BOUNDS;
	const struct heap_type *t = core_of_public(type);
	const struct heap_field *f = &core_fields(t)[i];
	uint8_t code = core_code(f);
	field->storage = core_is_number(code) ? (int)code : core_is_function(code) ? (int)WAOT_FUNCTION : (int)WAOT_REFERENCE;
	field->is_mutable = (f->what & HEAP_MUTABLE) != 0;
	field->is_nullable = !core_is_number(code) && !(f->what & HEAP_NOT_NULL);
	field->type = code == CORE_OF_OBJECT ? core_to_public(core_canonical(core_target(t, f))) : NULL;
	return 0;
}

const waot_type *waot_type_super(const waot_type *type)
{
	const struct heap_type *t = core_of_public(type);
	return t && t->super ? core_to_public(core_canonical((const struct heap_type *)((const char *)t - t->super))) : NULL;
}

/* core_is_within reports whether the type with a number is one, or a subtype of it. */
static bool core_is_within(uint32_t number, const struct heap_type *t)
{
	uint32_t super = core_number_of(t->key);
	return number && super && core_types.rows[number + core_depth(super)] == super;
}

int waot_type_matches(const waot_type *type, const waot_type *of)
{
	return type && of && core_is_within(core_number_of(core_of_public(type)->key), core_of_public(of));
}

/* ---- Objects ---- */

/* core_object is the type of the object that a word refers to, or NULL if it refers to none. What it does not refer to is not read, but for a word within the heap. */
static const struct heap_type *core_object(waot_ref ref)
{
	struct heap *h = &core_objects;
	uint64_t end = 0;
	if (!h->base || ref % HEAP_ALIGN)
		return NULL;
	if (ref >= heap_start(h->space) + HEAP_LEAD && ref < heap_state(h)->next)
		end = heap_state(h)->next;
	for (uint32_t low = 0, high = h->num_large; ref >= HEAP_LARGE_START && ref < HEAP_SIZE && low < high;) {
		uint32_t middle = (low + high) / 2;
		const struct heap_large *o = &h->large[middle];
		if (o->at + HEAP_LEAD == ref) {
			end = o->at + o->size;
			break;
		}
		if (o->at < ref)
			low = middle + 1;
		else
			high = middle;
	}
	const struct heap_type *t = end ? heap_type_at(h, ref) : NULL;
	return t && ref + heap_size_of(t, heap_length(h, t, ref)) <= end ? t : NULL;
}

const waot_type *waot_object_type(waot_ref ref) { return core_to_public(core_object(ref)); }

/* core_parts is the number of elements or fields of an object of a type. */
static uint32_t core_parts(const struct heap_type *t, waot_ref ref) { return t->kind == HEAP_ARRAY ? heap_length(&core_objects, t, ref) : core_num_fields(t); }

uint32_t waot_object_length(waot_ref ref)
{
	const struct heap_type *t = core_object(ref);
	return t ? core_parts(t, ref) : 0;
}

/* A field of a structure, or an element of an array. */
struct core_place {
	const struct heap_type *type;   /* of the object */
	const struct heap_field *field;
	char *at;
};

/* core_find finds field or element i. */
static int core_find(struct core_place *p, waot_ref ref, uint32_t i)
{
	const struct heap_type *t = p->type = core_object(ref);
	if (!t)
		return WAOT_ERROR_OBJECT;
	if (i >= core_parts(t, ref))
		return WAOT_ERROR_BOUNDS;
	p->field = core_fields(t) + (t->kind == HEAP_ARRAY ? 0 : i);
	p->at = core_objects.base + ref + (p->field->what >> HEAP_OFFSET) + (t->kind == HEAP_ARRAY ? (uint64_t)t->elem * i : 0);
	return 0;
}

/* core_get copies a field that has one code. */
static int core_get(waot_ref ref, uint32_t i, uint8_t code, void *to)
{
	struct core_place p;
	int error = core_find(&p, ref, i);
	if (!error && core_code(p.field) != code)
		return WAOT_ERROR_TYPE;
	if (!error)
		memcpy(to, p.at, core_field_size(code));
	return error;
}

/* core_store writes a field that may change. */
static int core_store(const struct core_place *p, const void *from)
{
	if (!(p->field->what & HEAP_MUTABLE))
		return WAOT_ERROR_IMMUTABLE;
	memcpy(p->at, from, core_field_size(core_code(p->field)));
	return 0;
}

/* core_set is core_get in the other direction. */
static int core_set(waot_ref ref, uint32_t i, uint8_t code, const void *from)
{
	struct core_place p;
	int error = core_find(&p, ref, i);
	if (!error && core_code(p.field) != code)
		return WAOT_ERROR_TYPE;
	return error ? error : core_store(&p, from);
}

/* core_find_i32 is core_find for integers of 32 bits, of which some may be kept. */
static int core_find_i32(struct core_place *p, waot_ref ref, uint32_t i)
{
	int error = core_find(p, ref, i);
	if (error)
		return error;
	uint8_t code = core_code(p->field);
	return code == WAOT_I8 || code == WAOT_I16 || code == WAOT_I32 ? 0 : WAOT_ERROR_TYPE;
}

/* core_bits are those that are kept of such an integer. */
static uint32_t core_bits(const struct core_place *p)
{
	uint32_t bits = 0;
	memcpy(&bits, p->at, core_field_size(core_code(p->field))); /* the lowest bytes are the first */
	return bits;
}

int waot_get_u32(waot_ref ref, uint32_t i, uint32_t *to)
{
	struct core_place p;
	int error = core_find_i32(&p, ref, i);
	if (!error)
		*to = core_bits(&p);
	return error;
}

int waot_get_i32(waot_ref ref, uint32_t i, int32_t *to)
{
	struct core_place p;
	int error = core_find_i32(&p, ref, i);
	if (error)
		return error;
	uint32_t bits = core_bits(&p);
	*to = core_code(p.field) == WAOT_I8 ? (int8_t)bits : core_code(p.field) == WAOT_I16 ? (int16_t)bits : (int32_t)bits;
	return 0;
}

int waot_set_i32(waot_ref ref, uint32_t i, int32_t v)
{
	struct core_place p;
	int error = core_find_i32(&p, ref, i);
	return error ? error : core_store(&p, &v);
}

int waot_get_i64(waot_ref ref, uint32_t i, int64_t *to) { return core_get(ref, i, WAOT_I64, to); }
int waot_get_f32(waot_ref ref, uint32_t i, float *to) { return core_get(ref, i, WAOT_F32, to); }
int waot_get_f64(waot_ref ref, uint32_t i, double *to) { return core_get(ref, i, WAOT_F64, to); }
int waot_get_v128(waot_ref ref, uint32_t i, waot_v128 *to) { return core_get(ref, i, WAOT_V128, to); }
int waot_set_i64(waot_ref ref, uint32_t i, int64_t v) { return core_set(ref, i, WAOT_I64, &v); }
int waot_set_f32(waot_ref ref, uint32_t i, float v) { return core_set(ref, i, WAOT_F32, &v); }
int waot_set_f64(waot_ref ref, uint32_t i, double v) { return core_set(ref, i, WAOT_F64, &v); }
int waot_set_v128(waot_ref ref, uint32_t i, waot_v128 v) { return core_set(ref, i, WAOT_V128, &v); }

/* ---- References ---- */

/* core_is_function_of reports whether a function is of a type that a type with a number describes. */
static bool core_is_function_of(const uint64_t *descriptor, const struct heap_type *t, uint32_t number)
{
	const char *have = (const char *)descriptor[1], *record;
	if (t->kind == HEAP_PLAIN) {
		if (!t->key[0]) /* the module has no such function, and knows none */
			return false;
		memcpy(&record, core_types.known[number].object->instance + t->key[0], sizeof record);
		return core_same_type(have, record);
	}
	return core_key(have) && core_is_within(core_number_of(core_key(have)), t);
}

/* core_may_have reports whether a field of the type with a number may have a reference. */
static bool core_may_have(uint32_t number, const struct heap_type *t, const struct heap_field *f, waot_ref ref)
{
	if (ref == 0)
		return !(f->what & HEAP_NOT_NULL);
	bool is_i31 = ref < HEAP_SIZE && ref & 1;
	const struct heap_type *object = is_i31 ? NULL : core_object(ref);
	switch (core_code(f)) {
	case CORE_FUNC: return true;
	case CORE_OF_FUNCTION: return core_is_function_of((const uint64_t *)ref, core_target(t, f), number);
	case CORE_EXN: return core_exception_of(ref) != NULL;
	case CORE_ANY: case CORE_EXTERN: return ref >= HEAP_SIZE || is_i31 || object;
	case CORE_EQ: return is_i31 || object;
	case CORE_I31: return is_i31;
	case CORE_STRUCT: return object && object->kind == HEAP_STRUCTURE;
	case CORE_ARRAY: return object && object->kind == HEAP_ARRAY;
	case CORE_OF_OBJECT: return object && core_is_within(*heap_number(&core_objects, ref), core_target(t, f));
	}
	return false; /* null only */
}

/* core_find_ref is core_find for a field with a reference. */
static int core_find_ref(struct core_place *p, waot_ref ref, uint32_t i)
{
	int error = core_find(p, ref, i);
	return !error && core_is_number(core_code(p->field)) ? WAOT_ERROR_TYPE : error;
}

int waot_get_ref(waot_ref ref, uint32_t i, waot_ref *to)
{
	struct core_place p;
	int error = core_find_ref(&p, ref, i);
	if (error)
		return error;
	waot_ref word = 0;
	memcpy(&word, p.at, core_field_size(core_code(p.field)));
	*to = word;
	return 0;
}

int waot_set_ref(waot_ref ref, uint32_t i, waot_ref v)
{
	struct core_place p;
	int error = core_find_ref(&p, ref, i);
	if (error)
		return error;
	if (p.field->what & HEAP_MUTABLE && !core_may_have(*heap_number(&core_objects, ref), p.type, p.field, v))
		return WAOT_ERROR_TYPE;
	return core_store(&p, &v);
}

/* ---- Many elements ---- */

/* core_range finds elements of numbers that take so many bytes each. */
static int core_range(struct core_place *p, waot_ref ref, uint32_t first, uint32_t n, size_t size)
{
	const struct heap_type *t = p->type = core_object(ref);
	if (!t)
		return WAOT_ERROR_OBJECT;
	p->field = core_fields(t);
	if (t->kind != HEAP_ARRAY || !core_is_number(core_code(p->field)) || size != t->elem)
		return WAOT_ERROR_TYPE;
	if ((uint64_t)first + n > heap_length(&core_objects, t, ref))
		return WAOT_ERROR_BOUNDS;
	p->at = core_objects.base + ref + (p->field->what >> HEAP_OFFSET) + size * first;
	return 0;
}

int waot_array_read(waot_ref array, uint32_t first, uint32_t n, void *to, size_t size)
{
	struct core_place p;
	int error = core_range(&p, array, first, n, size);
	if (!error && n)
		memcpy(to, p.at, n * size);
	return error;
}

int waot_array_write(waot_ref array, uint32_t first, uint32_t n, const void *from, size_t size)
{
	struct core_place p;
	int error = core_range(&p, array, first, n, size);
	if (error)
		return error;
	if (!(p.field->what & HEAP_MUTABLE))
		return WAOT_ERROR_IMMUTABLE;
	if (n)
		memcpy(p.at, from, n * size);
	return 0;
}

/* ---- Making objects ---- */

/* core_make makes an object of zeros and nulls, while words of C code's are roots. */
static int core_make(uint32_t number, uint32_t length, waot_ref *words, uint64_t n, uint32_t *ref)
{
	struct heap *h = &core_objects;
	core_lock();
	memset(&core_here, 0, sizeof core_here);
	core_pending.words = words;
	core_pending.n = n;
	enum heap_error error = core_alloc(number, length, ref);
	core_pending.n = 0;
	core_unlock();
	if (error == HEAP_CORRUPT)
		core_is_corrupt(h);
	return !error ? 0 : error == HEAP_FULL ? (int)WAOT_TRAP_HEAP_EXHAUSTED : error == HEAP_HIDDEN ? (int)WAOT_ERROR_FRAMES : (int)WAOT_ERROR_MEMORY;
}

/* core_new is what waot_struct_new and waot_array_new share: an object of as many elements, if it is an array, whose fields get values unless that is NULL. */
static int core_new(const struct heap_type *t, uint32_t length, const waot_value *values, waot_handle *to)
{
	enum { most = 16 };
	waot_ref room[most], *words = room;
	uint32_t number = core_number_of(t->key), fields = core_num_fields(t), n = 0, ref = 0;
	const struct heap_field *f = core_fields(t);
	for (uint32_t i = 0; i < fields; i++) {
		if (core_is_number(core_code(&f[i])))
			continue;
		if (!core_may_have(number, t, &f[i], values ? values[i].ref : 0))
			return WAOT_ERROR_TYPE;
		n += values && core_is_collected(core_code(&f[i]));
	}
	if (!to)
		return WAOT_ERROR_MEMORY;
	/* A collection updates copies of the references. */
	if (n > most && !(words = (waot_ref *)core_map(NULL, n * sizeof *words, CORE_PROT_RW, CORE_MAP_ANON, -1, 0)))
		return WAOT_ERROR_MEMORY;
	waot_ref *word = words;
	for (uint32_t i = 0; n && i < fields; i++)
		if (core_is_collected(core_code(&f[i])))
			*word++ = values[i].ref;
	int error = core_make(number, length, words, n, &ref);
	word = words;
	for (uint32_t i = 0; values && !error && i < fields; i++) {
		uint8_t code = core_code(&f[i]);
		const void *from = core_is_collected(code) ? (const void *)word++ : &values[i];
		char *at = core_objects.base + ref + (f[i].what >> HEAP_OFFSET);
		for (uint32_t k = t->kind == HEAP_ARRAY ? length : 1; k > 0; k--, at += t->elem)
			memcpy(at, from, core_field_size(code));
	}
	if (words != room)
		core_unmap(words, n * sizeof *words);
	if (!error)
		to->ref = ref;
	return error;
}

int waot_struct_new(const waot_type *type, const waot_value *fields, waot_handle *to)
{
	return waot_type_kind(type) == WAOT_STRUCT ? core_new(core_of_public(type), 0, fields, to) : WAOT_ERROR_TYPE;
}

int waot_array_new(const waot_type *type, uint32_t n, const waot_value *element, waot_handle *to)
{
	return waot_type_kind(type) == WAOT_ARRAY ? core_new(core_of_public(type), n, element, to) : WAOT_ERROR_TYPE;
}

int waot_array_new_from(const waot_type *type, uint32_t n, const void *from, size_t size, waot_handle *to)
{
	const struct heap_type *t = core_of_public(type);
	if (waot_type_kind(type) != WAOT_ARRAY || !core_is_number(core_code(core_fields(t))) || size != t->elem)
		return WAOT_ERROR_TYPE;
	int error = core_new(t, n, NULL, to);
	if (!error && n)
		memcpy(core_objects.base + to->ref + (core_fields(t)->what >> HEAP_OFFSET), from, n * size);
	return error;
}

#ifdef __cplusplus
}
#endif
