/* An instance that was reset is what a new one is, whatever was done to it, and so is one that is made of a spare one; and what is not reset says why.
 * Prints "ok", or what is wrong. */
#include "large.h"
#include "needy.h"
#include "state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define CHECK(x) \
	do { \
		if (!(x)) { \
			printf("line %d: %s; trap: %s\n", __LINE__, #x, trap.message); \
			exit(1); \
		} \
	} while (0)

static waot_trap trap;
static waot_instance *used;             /* what the functions below reset */
static int code, started, last, failure;

static void reset_used(void *unused)
{
	(void)unused;
	code = state_reset(used, NULL);
}

#ifdef __cplusplus
extern "C" {
#endif

void env_started(int32_t n)
{
	started++;
	last = n;
	if (used)
		reset_used(NULL);
	switch (failure) {
	case WAOT_THROWN: waot_throw("refused");
	case WAOT_EXIT: waot_exit_guest(9);
	case WAOT_TRAP_MEMORY_OUT_OF_BOUNDS: state_load(-1);
	}
}

int32_t env_inside(void)
{
	return state_reset(used, &trap);
}

#ifdef __cplusplus
}
#endif

struct call {
	int32_t (*f)(int32_t);
	int32_t (*none)(void);
	int32_t a, result;
};

static void make(void *p)
{
	struct call *c = (struct call *)p;
	c->result = c->f ? c->f(c->a) : c->none();
}

/* seen is what can be seen of an instance. */
struct seen {
	char text[1 << 16];
	size_t size;
};

static void add(struct seen *s, const char *name, uint64_t value)
{
	s->size += (size_t)snprintf(s->text + s->size, sizeof s->text - s->size, "%s %llx\n", name, (unsigned long long)value);
}

static void add_call(struct seen *s, const char *name, int32_t (*f)(int32_t), int32_t a)
{
	struct call c = {f, NULL, a, 0};
	int r = waot_try(&trap, make, &c);
	add(s, name, r ? 1000u + (unsigned)r : (uint32_t)c.result);
}

static uint64_t sum(const void *at, uint64_t size)
{
	const uint64_t *p = (const uint64_t *)at;
	uint64_t h = 0;
	for (uint64_t i = 0; i < size / 8; i++)
		h = h * 31 + p[i];
	return h;
}

static void add_state(struct seen *s, const struct state_exports *x)
{
	waot_memory m = waot_memory_at(*x->memory), second = waot_memory_at(*x->second);
	waot_table funcs = waot_table_at(*x->funcs), refs = waot_table_at(*x->refs);
	add(s, "memory", m.size);
	add(s, "sum", sum(m.base, m.size));
	add(s, "second", second.size);
	add(s, "sum", sum(second.base, second.size));
	for (uint64_t i = 0; i < funcs.length; i++)
		add(s, "func", funcs.elements[i] != 0);
	add(s, "refs", refs.length);
	add(s, "sum", sum(refs.elements, 8 * refs.length));
}

/* observe tells all, and leaves the instance disturbed. */
static void observe(struct seen *s, const struct state_exports *x)
{
	s->size = 0;
	add_state(s, x);
	add(s, "n", (uint64_t)*x->n);
	add(s, "g", *x->g);
	add(s, "vector", (uint64_t)x->vector());
	add(s, "null", (uint64_t)x->is_null());
	for (int i = 0; i < 3; i++)
		add_call(s, "call", x->call, i);
	add_call(s, "load", x->load, 65532);
	add_call(s, "load", x->load, 65533);
	add_call(s, "load", x->load, 100000);
	add_call(s, "second", x->second_load, 3 * 65536 - 3);
	add_call(s, "data", x->data, 13);
	add_call(s, "elem", x->elem, 2);
	add_call(s, "load", x->load, 200);
	/* What is new is empty, and there is room for as much. */
	add_call(s, "grow", x->grow, 3);
	add_state(s, x);
	for (int i = 0; i < 6; i++)
		add_call(s, "call", x->call, i);
	add_call(s, "grow", x->grow, 30);
	add_call(s, "grow", x->grow, 6);
}

static struct state_imports imports;
static int32_t count;
static struct seen want, got;

/* check_same resets an instance, and compares it with a new one. */
static void check_same(struct state_exports *x, int line)
{
	started = 0;
	CHECK(state_reset(x->instance, &trap) == 0 && started == 1 && last == 8);
	CHECK(!memcmp(imports.env_shared + 8, "again", 5));
	observe(&got, x);
	if (strcmp(want.text, got.text) != 0) {
		printf("line %d: a new instance has\n%s\none that was reset has\n%s", line, want.text, got.text);
		exit(1);
	}
}

/* there reports whether what is at an address can be read. */
static int there(const void *at)
{
	static int ends[2];
	char c;
	CHECK(ends[1] || pipe(ends) == 0);
	return write(ends[1], at, 1) == 1 && read(ends[0], &c, 1) == 1;
}

/* found is the instance that stands in the text of x. */
static waot_instance *found(void *text) { return waot_caller_at((char *)text + 1, NULL); }

/* renew deletes an instance and makes one, of the same, and compares it with a new one. */
static void renew(struct state_exports *x, const struct state_imports *in, int line)
{
	waot_instance *was = x->instance;
	void *memory = *x->memory, *funcs = *x->funcs, *refs = *x->refs, *text = waot_moved(was, state__object.text);
	int before = started;
	*waot_instance_user(was) = &started;
	CHECK(found(text) == was);
	state_delete(x);
	CHECK(found(text) == NULL && there(text) && x->instance == NULL && started == before);
	x->instance = state_map(&trap);
	CHECK(x->instance == was && found(text) == was);
	/* It is not initialised, as a new one. */
	CHECK(waot_memory_base(was, 0) == NULL && waot_memory_base(was, 1) == NULL && waot_memory_size(was, 1) == 0);
	CHECK(*x->memory == NULL && *x->funcs == NULL && *x->refs == NULL && *x->n == 7);
	CHECK(*waot_instance_user(was) == NULL && *waot_instance_wasi(was) == NULL);
	CHECK(state_reset(was, &trap) == WAOT_ERROR_STATE);
	CHECK(state_start(x, was, in, &trap) == 0 && started == before + 1 && last == 8);
	CHECK(*x->memory == memory && *x->funcs == funcs && *x->refs == refs && !memcmp(in->env_shared + 8, "again", 5));
	observe(&got, x);
	if (strcmp(want.text, got.text) != 0) {
		printf("line %d: a new instance has\n%s\none of a spare one has\n%s", line, want.text, got.text);
		exit(1);
	}
}

static void spares(struct state_exports *x)
{
	struct state_imports others = imports;
	int32_t other_count = 0;
	others.env_shared = (uint8_t *)waot_memory_new(1, 1);
	others.env_slots = (waot_ref *)waot_table_new(2, 2);
	others.env_count = &other_count;
	for (int round = 0; round < 6; round++) {
		const struct state_imports *in = round % 2 ? &others : &imports;
		renew(x, in, __LINE__); /* of observing */
		CHECK(state_reset(x->instance, NULL) == 0);
		renew(x, in, __LINE__); /* of nothing */
		CHECK(state_reset(x->instance, NULL) == 0);
		count = other_count = 5;
		x->disturb(waot_host_ref(5), round % 3 ? 80 : 0);
		CHECK(count == 5 + (in == &imports) && other_count == 5 + (in == &others) && in->env_shared[7] == 0xcc);
		memset(in->env_shared, 0, 100);
		renew(x, round % 2 ? &imports : &others, __LINE__);
		if (round == 5)
			check_same(x, __LINE__); /* what resets begin with is that of now */
	}
	others.env_shared[8] = 0;
	CHECK(state_reset(x->instance, NULL) == 0 && others.env_shared[8] == 0);

	/* What was initialised by more than init, or not well. */
	failure = WAOT_THROWN;
	CHECK(state_reset(x->instance, &trap) == WAOT_THROWN);
	failure = 0;
	renew(x, &imports, __LINE__);
	waot_instance *was = x->instance;
	state_delete(x);
	failure = WAOT_EXIT;
	CHECK(state_new(x, &imports, &trap) == WAOT_EXIT && x->instance == NULL);
	failure = 0;
	CHECK(state_new(x, &imports, &trap) == 0 && x->instance == was);
	renew(x, &imports, __LINE__);

	/* What cannot be initialised can be later. */
	void *memory = *x->memory;
	state_delete(x);
	waot_instance_free(was); /* is free */
	others.env_count = NULL;
	x->instance = state_map(&trap);
	CHECK(x->instance == was && state_start(x, was, &others, &trap) == WAOT_ERROR_IMPORT && !there(memory));
	CHECK(state_start(x, was, &imports, &trap) == 0);
	observe(&got, x);
	CHECK(!strcmp(want.text, got.text));
	renew(x, &imports, __LINE__);
	memory = *x->memory;
	state_delete(x);
	others.env_shared = NULL;
	CHECK(state_new(x, &others, &trap) == WAOT_ERROR_IMPORT && !there(memory));
	CHECK(state_new(x, &imports, &trap) == 0);
	renew(x, &imports, __LINE__);
	memory = *x->memory;
	state_delete(x);
	x->instance = state_map(&trap);
	waot_instance_free(x->instance); /* never initialised */
	CHECK(!there(memory) && state_new(x, &imports, &trap) == 0);

	/* What is not kept. */
	state_delete(x);
	waot_free_spares();
	CHECK(state_new(x, &imports, &trap) == 0);
	renew(x, &imports, __LINE__);
	memory = *x->memory;
	void *data = x->n;
	CHECK(there(memory) && there(data));
	state_delete(x);
	CHECK(there(memory) && there(data));
	waot_free_spares();
	waot_free_spares();
	CHECK(!there(memory) && !there(data) && state_new(x, &imports, &trap) == 0);
}

/* What others have imported ends with its instance. */
static void lent(void)
{
	struct state_exports a, b;
	struct needy_exports other;
	struct needy_imports in;
	void *memory, *data;
	for (int round = 0; round < 2; round++) {
		CHECK(state_new(&a, &imports, &trap) == 0 && a.grow(3) == 1);
		memory = *a.memory;
		data = a.n;
		in.state_memory = (uint8_t *)*a.memory;
		in.state_funcs = (waot_ref *)*a.funcs;
		CHECK(needy_new(&other, &in, &trap) == 0);
		if (round == 1)
			needy_delete(&other);
		state_delete(&a);
		CHECK(!there(memory) && !there(data));
		if (round == 0)
			needy_delete(&other);
	}
	struct state_imports borrowed = imports;
	CHECK(state_new(&a, &imports, &trap) == 0);
	borrowed.env_count = (int32_t *)a.n;
	CHECK(state_new(&b, &borrowed, &trap) == 0);
	memory = *a.memory;
	data = a.n;
	state_delete(&a);
	CHECK(!there(memory) && !there(data));
	memory = *b.memory;
	state_delete(&b);
	CHECK(there(memory));
	/* The next one's are its own again. */
	CHECK(state_new(&b, &imports, &trap) == 0 && *b.memory == memory);
	renew(&b, &imports, __LINE__);
	state_delete(&b);
}

/* A few are kept, and no more. */
static void many(void)
{
	enum { MANY = 20, KEPT = 16 };
	static struct state_exports x[MANY];
	void *memories[MANY];
	for (int round = 0; round < 2; round++) {
		int kept = 0;
		for (int i = 0; i < MANY; i++) {
			CHECK(state_new(&x[i], &imports, &trap) == 0 && *x[i].n == 8);
			x[i].disturb(waot_host_ref(7), 2);
			memories[i] = *x[i].memory;
		}
		for (int i = 0; i < MANY; i++)
			for (int j = 0; j < i; j++)
				CHECK(x[i].instance != x[j].instance && memories[i] != memories[j]);
		for (int i = 0; i < MANY; i++)
			state_delete(&x[i]);
		for (int i = 0; i < MANY; i++)
			kept += there(memories[i]);
		CHECK(kept == KEPT);
	}
	/* Where there are no more addresses, those of spare ones are taken. */
	struct rlimit limit, old;
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	CHECK(f && fscanf(f, "%lu", &pages) == 1 && fclose(f) == 0 && getrlimit(RLIMIT_AS, &old) == 0);
	limit = old;
	limit.rlim_cur = pages * (unsigned long)sysconf(_SC_PAGESIZE);
	CHECK(setrlimit(RLIMIT_AS, &limit) == 0 && waot_table_new(1, 1000) != NULL && setrlimit(RLIMIT_AS, &old) == 0);
	waot_free_spares();
	for (int i = 0; i < MANY; i++)
		CHECK(!there(memories[i]));
	/* Large ones are fewer. */
	struct large_exports large[3];
	int kept = 0;
	for (int i = 0; i < 3; i++) {
		CHECK(large_new(&large[i], &trap) == 0);
		memories[i] = *large[i].memory;
	}
	for (int i = 0; i < 3; i++)
		large_delete(&large[i]);
	for (int i = 0; i < 3; i++)
		kept += there(memories[i]);
	CHECK(kept == 2);
	waot_free_spares();
}

static void states(struct state_exports *x)
{
	struct state_exports same = *x;
	void *memory = *x->memory, *funcs = *x->funcs;
	uint8_t *locked = (uint8_t *)memory;
	count = 3;
	observe(&got, x);
	CHECK(!strcmp(want.text, got.text));
	for (int round = 0; round < 4; round++) {
		check_same(x, __LINE__); /* of observing */
		CHECK(state_reset(x->instance, NULL) == 0);
		check_same(x, __LINE__); /* of nothing */
		CHECK(state_reset(x->instance, &trap) == 0);
		CHECK(waot_memory_at(memory).size == 65536 && *x->n == 8);
		x->disturb(waot_host_ref(5), round % 2 ? 80 : 0);
		CHECK(*x->n == 1000 && imports.env_slots[0] && !imports.env_slots[1]);
		if (round == 3)
			CHECK(mlock(locked, 4096) == 0);
		check_same(x, __LINE__);
		if (round == 3)
			CHECK(munlock(locked, 4096) == 0);
		/* What is imported stays, but for active segments. */
		CHECK(imports.env_shared[7] == 0xcc && imports.env_shared[13] == 0xcc && imports.env_slots[0] && imports.env_slots[1]);
		CHECK(*x->memory == memory && *x->funcs == funcs && !memcmp(x, &same, sizeof same));
	}
	CHECK(count == 7);
}

/* What is not reset is as it was. */
static void refusals(struct state_exports *x)
{
	struct call c = {NULL, x->inside, 0, 0};
	CHECK(state_reset(x->instance, &trap) == 0);
	x->disturb(0, 3);
	used = x->instance;
	CHECK(x->inside() == WAOT_ERROR_BUSY && trap.code == WAOT_ERROR_BUSY && !strcmp(trap.message, "compiled code may be running"));
	CHECK(waot_try(&trap, make, &c) == 0 && c.result == WAOT_ERROR_BUSY);
	CHECK(waot_try(&trap, reset_used, NULL) == 0 && code == WAOT_ERROR_BUSY && !strcmp(waot_text(code), "compiled code may be running"));
	CHECK(*x->n == 1000 && waot_memory_at(*x->memory).size == 4 * 65536 && x->load(200000) == (int32_t)0xaaaaaaaa);
	code = 0;
	CHECK(state_reset(used, &trap) == 0 && code == WAOT_ERROR_BUSY); /* in the start function */
	used = NULL;

	/* The start function fails. */
	failure = WAOT_THROWN;
	CHECK(state_reset(x->instance, &trap) == WAOT_THROWN && !strcmp(trap.message, "refused"));
	failure = WAOT_EXIT;
	CHECK(state_reset(x->instance, &trap) == WAOT_EXIT && trap.status == 9);
	failure = 0;
	check_same(x, __LINE__);

	/* Others need what has grown. */
	struct needy_imports in = {NULL, NULL};
	struct needy_exports other;
	CHECK(state_reset(x->instance, &trap) == 0 && x->grow(1) == 1);
	in.state_memory = (uint8_t *)*x->memory;
	in.state_funcs = (waot_ref *)*x->funcs;
	CHECK(needy_new(&other, &in, &trap) == 0);
	CHECK(state_reset(x->instance, &trap) == WAOT_ERROR_IMPORT && strstr(trap.message, "another instance imports a memory or table"));
	CHECK(other.load(131068) == 0 && x->load(131068) == 0 && needy_reset(other.instance, &trap) == 0);
	needy_delete(&other);
	check_same(x, __LINE__);
}

/* WASI is the program's to close and to open: it is not the instance's. */
static void wasi(struct state_exports *x)
{
	waot_wasi_config config;
	memset(&config, 0, sizeof config);
	CHECK(waot_wasi_open(x->instance, &config) == 0);
	*waot_instance_user(x->instance) = &config;
	CHECK(state_reset(x->instance, &trap) == 0);
	CHECK(waot_wasi_open(x->instance, &config) == -EBUSY && *waot_instance_user(x->instance) == &config);
	waot_wasi_close(x->instance);
	CHECK(waot_wasi_open(x->instance, &config) == 0);
	waot_wasi_close(x->instance);
	/* Deleting closes it as well. */
	CHECK(waot_wasi_open(x->instance, &config) == 0);
	CHECK(state_reset(x->instance, &trap) == 0);
	renew(x, &imports, __LINE__);
}

int main(void)
{
	struct state_exports fresh, further, linked;
	memset(&linked, 0, sizeof linked);
	imports.env_shared = (uint8_t *)waot_memory_new(1, 1);
	imports.env_slots = (waot_ref *)waot_table_new(2, 2);
	imports.env_count = &count;
	CHECK(state_reset(NULL, &trap) == WAOT_ERROR_STATE);
	CHECK(state_reset(state_instance(), &trap) == WAOT_ERROR_STATE && !strcmp(trap.message, "the instance is not initialised"));
	CHECK(state_new(&fresh, &imports, &trap) == 0 && *fresh.n == 8 && fresh.load(12) == 8);
	observe(&want, &fresh);
	CHECK(state_new(&further, &imports, &trap) == 0);
	states(&further);
	refusals(&further);
	state_delete(&further); /* of which another instance has imported something: it is not kept */
	CHECK(state_new(&further, &imports, &trap) == 0);
	wasi(&further);
	spares(&further);
	lent();
	many();

	/* The linked instance, whose first start fails. */
	failure = WAOT_EXIT;
	CHECK(state_start(&linked, state_instance(), &imports, &trap) == WAOT_EXIT);
	failure = 0;
	CHECK(state_instantiate(&imports, &trap) == WAOT_ERROR_STATE && state_reset(state_instance(), &trap) == 0);
	CHECK(state_memory().size == 65536 && linked.instance == state_instance());
	states(&linked);
	failure = WAOT_TRAP_MEMORY_OUT_OF_BOUNDS;
	CHECK(state_reset(linked.instance, &trap) == WAOT_TRAP_MEMORY_OUT_OF_BOUNDS && !strcmp(trap.function, "load"));
	failure = 0;
	check_same(&linked, __LINE__);

	/* None has changed another one. */
	CHECK(state_reset(fresh.instance, &trap) == 0);
	state_delete(&further);
	check_same(&fresh, __LINE__);
	state_delete(&fresh);
	for (int i = 0; i < 200 / SLOWER + 1; i++) {
		CHECK(state_new(&fresh, &imports, &trap) == 0 && state_reset(fresh.instance, &trap) == 0 && *fresh.n == 8);
		state_delete(&fresh);
	}
	puts("ok");
	return 0;
}
