/* Structures and arrays that C code makes, fills and reads, with a collection for each object. Prints "ok", or what is wrong. */
#include "fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(x) \
	do { \
		if (!(x)) { \
			printf("line %d: %s\n", __LINE__, #x); \
			exit(1); \
		} \
	} while (0)
#define GIVES(code, x) CHECK((x) == (code))
#define REF(h) waot_handle_ref(h)

enum { PAIR, NAMED, UNARY, OPEN, CLOSED, STRANGER, ALL, BYTES, SHORTS, DOUBLES, VECTORS, FROZEN, PAIRS, ANYS, EQS, NEEDY, MANY, HIDDEN };
enum { A_I8, A_I16, A_I32, A_I64, A_F32, A_F64, A_V128, A_PAIR, A_EQ, A_ANY, A_EXTERN, A_I31, A_STRUCT, A_ARRAY, A_NONE, A_EXN, A_FUNC, A_UNARY, A_OPEN, A_CONST, A_CONST_EQ, A_NOEXTERN, A_STRANGER, A_END };

static waot_handle *made; /* by env_make */

static const waot_type *type(uint32_t index) { return waot_types_fields(index); }

/* pair makes a pair. */
static void pair(waot_handle *to, int32_t n, waot_ref rest)
{
	waot_value v[2];
	v[0].i32 = n;
	v[1].ref = rest;
	GIVES(0, waot_struct_new(type(PAIR), v, to));
}

#ifdef __cplusplus
extern "C" {
#endif

waot_ref env_make(int32_t n, waot_ref rest)
{
	pair(made, n, rest);
	return REF(made);
}

#ifdef __cplusplus
}
#endif

static void test_types(void)
{
	waot_field f;
	for (uint32_t i = PAIR; i <= HIDDEN; i++)
		CHECK((type(i) == NULL) == (i >= UNARY && i <= STRANGER));
	CHECK(!type(HIDDEN + 1000) && !type(UINT32_MAX));
	CHECK(waot_type_kind(type(ALL)) == WAOT_STRUCT && waot_type_kind(type(BYTES)) == WAOT_ARRAY && waot_type_kind(NULL) == 0);
	CHECK(waot_type_length(type(ALL)) == A_END && waot_type_length(type(BYTES)) == 1 && waot_type_length(NULL) == 0);
	static const int storage[A_END] = {WAOT_I8, WAOT_I16, WAOT_I32, WAOT_I64, WAOT_F32, WAOT_F64, WAOT_V128, WAOT_REFERENCE, WAOT_REFERENCE, WAOT_REFERENCE, WAOT_REFERENCE, WAOT_REFERENCE, WAOT_REFERENCE, WAOT_REFERENCE,
		WAOT_REFERENCE, WAOT_REFERENCE, WAOT_FUNCTION, WAOT_FUNCTION, WAOT_FUNCTION, WAOT_I32, WAOT_REFERENCE, WAOT_REFERENCE, WAOT_FUNCTION};
	for (uint32_t i = 0; i < A_END; i++) {
		GIVES(0, waot_type_field(type(ALL), i, &f));
		CHECK(f.storage == storage[i] && f.is_mutable == (i != A_CONST && i != A_CONST_EQ) && f.is_nullable == (f.storage <= WAOT_FUNCTION));
		CHECK(f.type == (i == A_PAIR ? type(PAIR) : NULL));
	}
	GIVES(WAOT_ERROR_BOUNDS, waot_type_field(type(ALL), A_END, &f));
	GIVES(WAOT_ERROR_BOUNDS, waot_type_field(NULL, 0, &f));
	GIVES(0, waot_type_field(type(PAIRS), 0, &f));
	CHECK(f.type == type(PAIR) && !f.is_nullable && f.is_mutable);
	CHECK(waot_type_super(type(NAMED)) == type(PAIR) && !waot_type_super(type(PAIR)) && !waot_type_super(NULL));
	CHECK(waot_type_matches(type(NAMED), type(PAIR)) && waot_type_matches(type(PAIR), type(PAIR)) && !waot_type_matches(type(PAIR), type(NAMED)) && !waot_type_matches(type(ALL), type(PAIR)));
	CHECK(!waot_type_matches(NULL, type(PAIR)) && !waot_type_matches(type(PAIR), NULL));
}

static void test_numbers(void)
{
	waot_handle *all = waot_handle_new(0), *p = waot_handle_new(0);
	waot_v128 v = {11, 12}, w;
	waot_ref r;
	uint64_t results[8];
	int32_t i;
	uint32_t u;
	int64_t l;
	float f;
	double d;
	pair(p, 5, 0);
	GIVES(0, waot_struct_new(type(ALL), NULL, all));
	CHECK(waot_object_type(REF(all)) == type(ALL) && waot_object_length(REF(all)) == A_END);
	GIVES(0, waot_set_i32(REF(all), A_I8, 0x7fffff80));
	GIVES(0, waot_set_i32(REF(all), A_I16, -0x8001));
	GIVES(0, waot_set_i32(REF(all), A_I32, -3));
	GIVES(0, waot_set_i64(REF(all), A_I64, -4000000000));
	GIVES(0, waot_set_f32(REF(all), A_F32, 1.5f));
	GIVES(0, waot_set_f64(REF(all), A_F64, -2.25));
	GIVES(0, waot_set_v128(REF(all), A_V128, v));
	fields_garbage();
	fields_numbers(results, REF(all));
	float f32;
	double f64;
	memcpy(&f32, &results[4], 4);
	memcpy(&f64, &results[5], 8);
	CHECK((int32_t)results[0] == -128 && (int32_t)results[1] == 0x7fff && (int32_t)results[2] == -3 && (int64_t)results[3] == -4000000000 && f32 == 1.5f && f64 == -2.25 && results[6] == 11 && results[7] == 12);
	fields_fill(REF(all), REF(p));
	GIVES(0, waot_get_i32(REF(all), A_I8, &i));
	CHECK(i == -2);
	GIVES(0, waot_get_u32(REF(all), A_I8, &u));
	CHECK(u == 0xfe);
	GIVES(0, waot_get_i32(REF(all), A_I16, &i));
	CHECK(i == -3);
	GIVES(0, waot_get_u32(REF(all), A_I16, &u));
	CHECK(u == 0xfffd);
	GIVES(0, waot_get_i32(REF(all), A_I32, &i));
	CHECK(i == -4);
	GIVES(0, waot_get_u32(REF(all), A_I32, &u));
	CHECK(u == 0xfffffffc);
	GIVES(0, waot_get_i64(REF(all), A_I64, &l));
	CHECK(l == -5);
	GIVES(0, waot_get_f32(REF(all), A_F32, &f));
	GIVES(0, waot_get_f64(REF(all), A_F64, &d));
	CHECK(f == 6.5f && d == -7.25);
	GIVES(0, waot_get_v128(REF(all), A_V128, &w));
	CHECK(w[0] == 8 && w[1] == 9);
	GIVES(0, waot_get_ref(REF(all), A_PAIR, &r));
	CHECK(r == REF(p) && fields_sum(r) == 5);
	GIVES(0, waot_get_ref(REF(all), A_ANY, &r));
	CHECK(r == REF(p));
	GIVES(0, waot_get_ref(REF(all), A_I31, &r));
	CHECK(waot_i31_value(r) == -10 && r == waot_i31_ref(-10));
	GIVES(0, waot_get_ref(REF(all), A_ARRAY, &r));
	CHECK(r == 0);
	/* Each accessor refuses all other types, and writes nothing. */
	for (uint32_t k = 0; k < A_END; k++) {
		i = 77, u = 77, l = 77, f = 77, d = 77, w = v, r = 77;
		CHECK(waot_get_i32(REF(all), k, &i) == (k <= A_I32 || k == A_CONST ? 0 : WAOT_ERROR_TYPE) || i != 77);
		CHECK(waot_get_u32(REF(all), k, &u) == (k <= A_I32 || k == A_CONST ? 0 : WAOT_ERROR_TYPE) || u != 77);
		CHECK((k <= A_I32 || k == A_CONST) == (i != 77) && (i != 77) == (u != 77));
		GIVES(k == A_I64 ? 0 : WAOT_ERROR_TYPE, waot_get_i64(REF(all), k, &l));
		GIVES(k == A_F32 ? 0 : WAOT_ERROR_TYPE, waot_get_f32(REF(all), k, &f));
		GIVES(k == A_F64 ? 0 : WAOT_ERROR_TYPE, waot_get_f64(REF(all), k, &d));
		GIVES(k == A_V128 ? 0 : WAOT_ERROR_TYPE, waot_get_v128(REF(all), k, &w));
		GIVES(k < A_PAIR || k == A_CONST ? WAOT_ERROR_TYPE : 0, waot_get_ref(REF(all), k, &r));
		CHECK((k == A_I64) == (l != 77) && (k == A_F32) == (f != 77) && (k == A_F64) == (d != 77) && (k == A_V128) == (w[0] != 11) && (k < A_PAIR || k == A_CONST) == (r == 77));
		GIVES(k <= A_I32 ? 0 : k == A_CONST ? WAOT_ERROR_IMMUTABLE : WAOT_ERROR_TYPE, waot_set_i32(REF(all), k, 1));
		GIVES(k == A_I64 ? 0 : WAOT_ERROR_TYPE, waot_set_i64(REF(all), k, 1));
		GIVES(k == A_F32 ? 0 : WAOT_ERROR_TYPE, waot_set_f32(REF(all), k, 1));
		GIVES(k == A_F64 ? 0 : WAOT_ERROR_TYPE, waot_set_f64(REF(all), k, 1));
		GIVES(k == A_V128 ? 0 : WAOT_ERROR_TYPE, waot_set_v128(REF(all), k, v));
		GIVES(k < A_PAIR || k == A_CONST ? WAOT_ERROR_TYPE : k == A_CONST_EQ ? WAOT_ERROR_IMMUTABLE : 0, waot_set_ref(REF(all), k, 0));
	}
	waot_handle_free(all);
	waot_handle_free(p);
}

/* What a field may refer to. */
enum { NOTHING, A_SMALL, A_PAIR_OBJECT, A_NAMED_OBJECT, AN_ALL_OBJECT, AN_ARRAY_OBJECT, A_HOST, AN_EXCEPTION, WORDS };

static void test_references(void)
{
	waot_handle *all = waot_handle_new(0), *p = waot_handle_new(0), *named = waot_handle_new(0), *other = waot_handle_new(0), *array = waot_handle_new(0);
	waot_ref exception = fields_thrown(), r;
	waot_exception_keep(exception);
	GIVES(0, waot_struct_new(type(ALL), NULL, all));
	GIVES(0, waot_struct_new(type(ALL), NULL, other));
	GIVES(0, waot_struct_new(type(NAMED), NULL, named));
	GIVES(0, waot_array_new(type(BYTES), 3, NULL, array));
	pair(p, 1, 0);
	const waot_ref words[WORDS] = {0, waot_i31_ref(7), REF(p), REF(named), REF(other), REF(array), waot_host_ref(3), exception};
	enum { ANY_WORD = (1 << WORDS) - 1, N = 1 << NOTHING, OBJECTS = 1 << A_PAIR_OBJECT | 1 << A_NAMED_OBJECT | 1 << AN_ALL_OBJECT | 1 << AN_ARRAY_OBJECT };
	static const struct { uint32_t field; int may; } rows[] = {
		{A_PAIR, N | 1 << A_PAIR_OBJECT | 1 << A_NAMED_OBJECT}, {A_EQ, N | OBJECTS | 1 << A_SMALL}, {A_ANY, ANY_WORD}, {A_EXTERN, ANY_WORD}, {A_I31, N | 1 << A_SMALL},
		{A_STRUCT, N | (OBJECTS & ~(1 << AN_ARRAY_OBJECT))}, {A_ARRAY, N | 1 << AN_ARRAY_OBJECT}, {A_NONE, N}, {A_EXN, N | 1 << AN_EXCEPTION}, {A_NOEXTERN, N},
	};
	for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
		for (int w = WORDS - 1; w >= 0; w--) {
			int may = rows[k].may >> w & 1;
			GIVES(may ? 0 : WAOT_ERROR_TYPE, waot_set_ref(REF(all), rows[k].field, words[w]));
			GIVES(0, waot_get_ref(REF(all), rows[k].field, &r));
			CHECK((r == words[w]) == may);
		}
	/* Words that refer to nothing. */
	const waot_ref none[] = {8, 12, 1 << 18, REF(p) + 4, REF(p) + 2, REF(p) ^ 1ull << 30, (1ull << 31) + 8, (1ull << 32) - 8};
	int32_t i;
	for (size_t k = 0; k < sizeof none / sizeof *none; k++) {
		GIVES(WAOT_ERROR_TYPE, waot_set_ref(REF(all), A_ANY, none[k]));
		GIVES(WAOT_ERROR_OBJECT, waot_get_i32(none[k], 0, &i));
		GIVES(WAOT_ERROR_OBJECT, waot_set_i32(none[k], 0, 1));
		CHECK(!waot_object_type(none[k]) && waot_object_length(none[k]) == 0);
	}
	for (int w = 0; w < WORDS; w++)
		if (!(OBJECTS >> w & 1)) {
			GIVES(WAOT_ERROR_OBJECT, waot_get_ref(words[w], 0, &r));
			GIVES(WAOT_ERROR_OBJECT, waot_set_ref(words[w], 0, 0));
			GIVES(WAOT_ERROR_OBJECT, waot_array_read(words[w], 0, 0, &i, 1));
			GIVES(WAOT_ERROR_OBJECT, waot_array_write(words[w], 0, 0, &i, 1));
			CHECK(!waot_object_type(words[w]));
		}
	/* Functions. */
	waot_ref twice = fields_function(0), open = fields_function(1), closed = fields_function(2);
	GIVES(0, waot_set_ref(REF(all), A_UNARY, twice));
	CHECK(fields_call(REF(all), 21) == 42);
	GIVES(WAOT_ERROR_TYPE, waot_set_ref(REF(all), A_UNARY, open));
	GIVES(WAOT_ERROR_TYPE, waot_set_ref(REF(all), A_OPEN, twice));
	GIVES(0, waot_set_ref(REF(all), A_OPEN, open));
	GIVES(0, waot_set_ref(REF(all), A_OPEN, closed));
	GIVES(WAOT_ERROR_TYPE, waot_set_ref(REF(all), A_STRANGER, twice));
	GIVES(WAOT_ERROR_TYPE, waot_set_ref(REF(all), A_STRANGER, open));
	GIVES(0, waot_set_ref(REF(all), A_FUNC, closed));
	GIVES(0, waot_get_ref(REF(all), A_FUNC, &r));
	CHECK(r == closed);
	GIVES(0, waot_set_ref(REF(all), A_UNARY, 0));
	GIVES(WAOT_ERROR_BOUNDS, waot_set_ref(REF(all), A_END, 0));
	GIVES(WAOT_ERROR_BOUNDS, waot_get_ref(REF(all), UINT32_MAX, &r));
	GIVES(WAOT_ERROR_BOUNDS, waot_get_i32(REF(all), A_END, &i));
	GIVES(WAOT_ERROR_BOUNDS, waot_set_i32(REF(all), A_END, i));
	waot_exception_release(exception);
	waot_handle_free(all);
	waot_handle_free(p);
	waot_handle_free(named);
	waot_handle_free(other);
	waot_handle_free(array);
}

static void test_arrays(void)
{
	waot_handle *a = waot_handle_new(0), *p = waot_handle_new(0);
	waot_value v;
	int8_t bytes[600];
	for (int n = 0; n < 600; n++)
		bytes[n] = (int8_t)n;
	GIVES(0, waot_array_new_from(type(BYTES), 600, bytes, 1, a));
	CHECK(fields_bytes_sum(REF(a)) == 3572 && waot_object_length(REF(a)) == 600);
	int8_t part[3] = {0, 0, 0};
	GIVES(0, waot_array_read(REF(a), 597, 3, part, 1));
	CHECK(part[0] == (int8_t)597 && part[2] == (int8_t)599);
	GIVES(WAOT_ERROR_BOUNDS, waot_array_read(REF(a), 598, 3, part, 1));
	GIVES(WAOT_ERROR_BOUNDS, waot_array_read(REF(a), UINT32_MAX, 2, part, 1));
	GIVES(WAOT_ERROR_BOUNDS, waot_array_write(REF(a), 1, UINT32_MAX, part, 1));
	GIVES(0, waot_array_read(REF(a), 600, 0, NULL, 1));
	GIVES(WAOT_ERROR_BOUNDS, waot_array_read(REF(a), 601, 0, part, 1));
	GIVES(WAOT_ERROR_TYPE, waot_array_read(REF(a), 0, 1, part, 2));
	GIVES(WAOT_ERROR_TYPE, waot_array_write(REF(a), 0, 1, part, 2));
	part[0] = 100;
	GIVES(0, waot_array_write(REF(a), 599, 1, part, 1));
	CHECK(fields_bytes_sum(REF(a)) == 3572 - (int8_t)599 + 100);
	int32_t i;
	GIVES(0, waot_get_i32(REF(a), 599, &i));
	CHECK(i == 100);
	GIVES(WAOT_ERROR_BOUNDS, waot_get_i32(REF(a), 600, &i));
	GIVES(WAOT_ERROR_BOUNDS, waot_set_i32(REF(a), 600, i));
	/* A large one, which stays where it is. */
	enum { LARGE = 100000 };
	double *d = (double *)calloc(LARGE, sizeof *d);
	d[LARGE - 1] = 2.5;
	GIVES(0, waot_array_new_from(type(DOUBLES), LARGE, d, sizeof *d, a));
	pair(p, 1, 0);
	d[LARGE - 1] = 0;
	GIVES(0, waot_array_read(REF(a), 1, LARGE - 1, d + 1, sizeof *d));
	CHECK(d[LARGE - 1] == 2.5 && d[1] == 0);
	GIVES(0, waot_get_f64(REF(a), LARGE - 1, d));
	CHECK(d[0] == 2.5);
	free(d);
	uint16_t shorts[3];
	v.i32 = -2;
	GIVES(0, waot_array_new(type(SHORTS), 3, &v, a));
	GIVES(0, waot_array_read(REF(a), 0, 3, shorts, sizeof *shorts));
	CHECK(shorts[0] == 0xfffe && shorts[2] == 0xfffe);
	v.v128 = (waot_v128){3, 4};
	GIVES(0, waot_array_new(type(VECTORS), 5, &v, a));
	waot_v128 w;
	GIVES(0, waot_get_v128(REF(a), 4, &w));
	CHECK(w[0] == 3 && w[1] == 4);
	/* One that may not change. */
	const int32_t numbers[2] = {1, 2};
	GIVES(0, waot_array_new_from(type(FROZEN), 2, numbers, sizeof *numbers, a));
	GIVES(WAOT_ERROR_IMMUTABLE, waot_array_write(REF(a), 0, 1, numbers, sizeof *numbers));
	GIVES(WAOT_ERROR_IMMUTABLE, waot_set_i32(REF(a), 0, 1));
	GIVES(0, waot_get_i32(REF(a), 1, &i));
	CHECK(i == 2);
	/* References, also in elements that have the room that those of the supertype have. */
	pair(p, 8, 0);
	v.ref = REF(p);
	GIVES(0, waot_array_new(type(EQS), 3, &v, a));
	GIVES(WAOT_ERROR_TYPE, waot_array_new(type(ANYS), 2, &v, p)); /* the pair has moved away from where this word says */
	fields_garbage();
	waot_ref r;
	for (uint32_t n = 0; n < 3; n++) {
		GIVES(0, waot_get_ref(REF(a), n, &r));
		CHECK(r == fields_eq_at(REF(a), (int32_t)n) && r == fields_any_at(REF(a), (int32_t)n) && fields_sum(r) == 8);
	}
	GIVES(WAOT_ERROR_IMMUTABLE, waot_set_ref(REF(a), 0, 0));
	GIVES(WAOT_ERROR_TYPE, waot_array_read(REF(a), 0, 1, &r, sizeof r));
	GIVES(WAOT_ERROR_TYPE, waot_array_new_from(type(EQS), 1, &r, sizeof r, a));
	pair(p, 9, 0);
	v.ref = REF(p);
	GIVES(0, waot_array_new(type(PAIRS), 4, &v, a));
	CHECK(fields_sum(fields_pairs_at(REF(a), 3)) == 9);
	GIVES(WAOT_ERROR_TYPE, waot_set_ref(REF(a), 3, 0));
	pair(p, 10, 0);
	GIVES(0, waot_set_ref(REF(a), 2, REF(p)));
	fields_garbage();
	CHECK(fields_sum(fields_pairs_at(REF(a), 2)) == 10 && fields_sum(fields_pairs_at(REF(a), 1)) == 9);
	waot_handle_free(a);
	waot_handle_free(p);
}

static void test_making(void)
{
	waot_handle *h = waot_handle_new(0), *p = waot_handle_new(0);
	waot_value v[20];
	CHECK(fields_sum(fields_list(5)) == 5004003002001);
	/* All fields at once. */
	pair(p, 3, 0);
	v[0].ref = REF(p);
	v[1].ref = waot_i31_ref(-100);
	v[2].i64 = 40;
	GIVES(0, waot_struct_new(type(NEEDY), v, h));
	CHECK(fields_needy_sum(REF(h)) == -57);
	GIVES(WAOT_ERROR_TYPE, waot_struct_new(type(NEEDY), NULL, h));
	GIVES(WAOT_ERROR_TYPE, waot_array_new(type(PAIRS), 0, NULL, h));
	v[0].ref = 0;
	GIVES(WAOT_ERROR_TYPE, waot_struct_new(type(NEEDY), v, h));
	v[0].ref = REF(h);
	GIVES(WAOT_ERROR_TYPE, waot_struct_new(type(NEEDY), v, h));
	CHECK(fields_needy_sum(REF(h)) == -57);
	for (int n = 0; n < 20; n++)
		v[n].ref = n == 0 || n == 19 ? REF(p) : waot_i31_ref(n);
	GIVES(0, waot_struct_new(type(MANY), v, h));
	CHECK(fields_many_at(REF(h)) == 6);
	waot_ref r;
	for (uint32_t n = 1; n < 19; n++) {
		GIVES(0, waot_get_ref(REF(h), n, &r));
		CHECK(waot_i31_value(r) == (int32_t)n);
	}
	/* Types that are not of the kind. */
	GIVES(WAOT_ERROR_TYPE, waot_struct_new(type(BYTES), NULL, h));
	GIVES(WAOT_ERROR_TYPE, waot_struct_new(NULL, NULL, h));
	GIVES(WAOT_ERROR_TYPE, waot_array_new(type(PAIR), 1, NULL, h));
	GIVES(WAOT_ERROR_TYPE, waot_array_new(NULL, 1, NULL, h));
	GIVES(WAOT_ERROR_TYPE, waot_array_new_from(NULL, 1, v, 1, h));
	GIVES(WAOT_ERROR_TYPE, waot_array_new_from(type(BYTES), 1, v, 2, h));
	GIVES(WAOT_ERROR_MEMORY, waot_struct_new(type(PAIR), NULL, NULL));
	/* No room: nothing has happened. */
	CHECK(fields_many_at(REF(h)) == 6);
	waot_heap_limit(1 << 20);
	GIVES(WAOT_TRAP_HEAP_EXHAUSTED, waot_array_new(type(DOUBLES), 1 << 20, NULL, h));
	GIVES(WAOT_TRAP_HEAP_EXHAUSTED, waot_array_new(type(VECTORS), UINT32_MAX, NULL, h));
	GIVES(WAOT_TRAP_HEAP_EXHAUSTED, waot_array_new_from(type(DOUBLES), UINT32_MAX, NULL, 8, h));
	waot_heap_limit(1 << 30);
	CHECK(fields_many_at(REF(h)) == 6 && strcmp(waot_text(WAOT_ERROR_IMMUTABLE), "an immutable field") == 0 && strcmp(waot_text(WAOT_ERROR_OBJECT), "no structure or array") == 0);
	/* Lists that only C code makes, with and without a collection for each object. */
	for (int always = 1; always >= 0; always--) {
		waot_heap_collect_always(always);
		waot_handle_set(h, 0);
		for (int32_t n = 1; n <= (always ? 300 : 100000); n++)
			pair(h, n, REF(h));
		for (int32_t n = always ? 300 : 100000, i; n >= 1; n--) {
			GIVES(0, waot_get_i32(REF(h), 0, &i));
			GIVES(0, waot_get_ref(REF(h), 1, &r));
			CHECK(i == n);
			waot_handle_set(h, r);
		}
		CHECK(!REF(h));
	}
	waot_heap_collect_always(1);
	waot_handle_free(h);
	waot_handle_free(p);
}

int main(void)
{
	waot_trap trap;
	CHECK(!type(PAIR) && !waot_object_type(8)); /* no instance is there yet */
	CHECK(fields_instantiate(&trap) == 0);
	waot_heap_collect_always(1);
	made = waot_handle_new(0);
	test_types();
	test_numbers();
	test_references();
	test_arrays();
	test_making();
	struct fields_exports more;
	CHECK(fields_new(&more, &trap) == 0);
	test_references();
	CHECK(more.sum(more.list(3)) == 3002001);
	fields_delete(&more);
	puts("ok");
	return 0;
}
