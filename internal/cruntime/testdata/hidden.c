/* C functions that modules without objects have called, in calls of code with objects. A collection finds all frames, or says that it does not. Prints "ok", or what is wrong. */
#include "between.h"
#include "hidden.h"
#include "hider.h"
#include "seen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(x) \
	do { \
		if (!(x)) { \
			printf("line %d: %s; trap: %s\n", __LINE__, #x, trap.message); \
			exit(1); \
		} \
	} while (0)

enum { NOTHING, MAKE, MAKE_IN_C, THROW, AGAIN, BETWEEN };

static waot_trap trap;
static waot_handle *handle;
static int what, status, start = -1;

static int32_t call_through_table(int32_t n) { return hider_indirect(n, 1); }

#ifdef __cplusplus
extern "C" {
#endif

int32_t env_at_start(void) { return start; }

int32_t env_hidden(int32_t n)
{
	int now = what;
	switch (now) {
	case MAKE: hider_make(n); break;
	case MAKE_IN_C: status = waot_struct_new(waot_types_hider(0), NULL, handle); break;
	case THROW: waot_throw("left");
	case BETWEEN: between_touch(n); break;
	case AGAIN:
		what = MAKE;
		call_through_table(n);
		what = now;
		break;
	}
	return n;
}

#ifdef __cplusplus
}
#endif

struct call { int32_t (*f)(int32_t n, int32_t at); int32_t n, at, result; };

static void run(void *p)
{
	struct call *c = (struct call *)p;
	c->result = c->f(c->n, c->at);
}

/* call makes a call and returns how it ends. */
static int call(int32_t (*f)(int32_t n, int32_t at), int32_t at)
{
	struct call c = {f, 50, at, 0};
	int code = waot_try(&trap, run, &c);
	CHECK(code || c.result == 50);
	return code;
}

static int32_t many(int32_t n, int32_t at)
{
	uint64_t results[2];
	hider_many(results, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, n, at);
	CHECK((int32_t)results[1] == n);
	return (int32_t)results[0];
}
static int32_t direct(int32_t n, int32_t at) { return at == 0 ? hider_direct(n) : 0; }
static int32_t from_plain(int32_t n, int32_t at) { return at == 0 ? hidden_through(n) : 0; }

int main(void)
{
	void *table = waot_table_new(4, 4);
	struct hidden_imports hidden = {(waot_ref *)table};
	struct seen_imports seen = {(waot_ref *)table};
	struct hider_imports imports = {(waot_ref *)table};
	CHECK(hidden_instantiate(&hidden, &trap) == 0 && between_instantiate(&trap) == 0 && seen_instantiate(&seen, &trap) == 0 && hider_instantiate(&imports, &trap) == 0);
	handle = waot_handle_new(0);
	waot_heap_collect_always(1);
	/* Two times, as nothing that has ended is still noted. */
	for (int n = 0; n < 2; n++) {
		/* The table has a function of hidden.wat, and that has called C: no collection finds the frame in front. */
		what = MAKE;
		CHECK(call(hider_indirect, 0) == WAOT_ERROR_FRAMES && trap.code == WAOT_ERROR_FRAMES && trap.num_frames == 2);
		CHECK(strcmp(trap.text, "objects cannot be collected: a module without objects has called a C function in a call of one with objects") == 0);
		CHECK(call(many, 0) == WAOT_ERROR_FRAMES);
		waot_handle_set(handle, 0);
		what = MAKE_IN_C;
		CHECK(call(hider_indirect, 0) == 0 && status == WAOT_ERROR_FRAMES && !waot_handle_ref(handle));
		/* Nor behind a call that is noted. */
		what = AGAIN;
		CHECK(call(hider_indirect, 0) == WAOT_ERROR_FRAMES);
		/* Nor is it taken for the call that is under way, which C has not made itself. */
		what = BETWEEN;
		CHECK(call(hider_indirect, 0) == WAOT_ERROR_FRAMES);
		/* Where none is needed, nothing is missing. */
		what = NOTHING;
		CHECK(call(hider_indirect, 0) == 0 && call(many, 0) == 0);
		waot_heap_collect_always(0);
		what = MAKE;
		CHECK(call(hider_indirect, 0) == 0);
		waot_heap_collect_always(1);
		/* What is noted is found: calls of imports, of the other module's function, and of modules without objects that nothing with objects has called. */
		for (what = NOTHING; what <= BETWEEN; what++) {
			int end = what == THROW ? WAOT_THROWN : 0;
			status = 0;
			CHECK(call(hider_indirect, 1) == end && call(many, 1) == end && call(direct, 0) == end && call(from_plain, 0) == end && status == 0);
		}
	}
	/* The start function, which C calls without an adapter. */
	struct hider_exports x;
	for (start = 0; start < 2; start++) {
		what = MAKE;
		CHECK(hider_new(&x, &imports, &trap) == (start == 0 ? WAOT_ERROR_FRAMES : 0));
		CHECK(start == 0 || *x.started == 70);
		if (start)
			hider_delete(&x);
		what = MAKE;
		CHECK(call(hider_indirect, 1) == 0 && call(hider_indirect, 0) == WAOT_ERROR_FRAMES);
	}
	waot_handle_free(handle);
	puts("ok");
	return 0;
}
