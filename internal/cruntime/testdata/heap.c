/* Structures and arrays between compiled code and C functions. Prints "ok", or what is wrong. */
#include "heap.h"
#include "heapcaller.h"
#include "heaphides.h"
#include "heapuser.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An emulator is slow. */
#define LOOPS (SLOWER > 100 ? 40000 : 200000)

#define CHECK(x) \
	do { \
		if (!(x)) { \
			printf("line %d: %s; trap: %s\n", __LINE__, #x, trap.message); \
			exit(1); \
		} \
	} while (0)

static waot_trap trap;
static waot_tag host;
static uint64_t shared;
static waot_ref *table;
static int mode, bottom;

enum { DEEP = -1000 };
enum { BARE, TRY, TRAP, THROW, EXCEPTION, RETHROW, MIXED };

static void nest_it(void *n) { heap_nest(*(int32_t *)n); }
static void trap_it(void *n)
{
	*(int32_t *)n += heap_nest(3);
	heap_nest(DEEP); /* which traps, below */
}
static void throw_it(void *n) { heap_throw(*(int32_t *)n); }
static void throw_hidden(void *none) { (void)none; heap_throw_hidden(); }
static void leave_it(void *n)
{
	heap_nest(-*(int32_t *)n); /* which throws, in C, below */
}

#ifdef __cplusplus
extern "C" {
#endif

int32_t env_callback(int32_t n)
{
	waot_trap inner;
	uint64_t args[2];
	int32_t x = n - 1;
	heap_garbage(1);
	if (n == DEEP)
		heap_trap();
	if (n < 0)
		waot_throw("left");
	if (n <= 3) {
		bottom++;
		return n;
	}
	switch (mode) {
	case BARE: heap_nest(x); break;
	case TRY: waot_try(&inner, nest_it, &x); break;
	case TRAP:
		if (waot_try(&inner, trap_it, &x) != WAOT_TRAP_UNREACHABLE)
			abort();
		break;
	case THROW:
		if (waot_try(&inner, leave_it, &n) != WAOT_THROWN)
			abort();
		break;
	case EXCEPTION:
		args[0] = heap_make(n + 7);
		args[1] = 9;
		waot_throw_exception(&host, args);
	case RETHROW:
		if (waot_try(&inner, throw_it, &n) != WAOT_EXCEPTION || waot_exception_tag(inner.exception) != heap_e())
			abort();
		heap_garbage(2);
		if (heap_check(waot_exception_args(inner.exception, NULL)[1]) != n)
			abort();
		break;
	case MIXED:
		if (n % 3 == 0)
			heap_nest_pass(x);
		else if (n % 3 == 1)
			heap_nest_many(x);
		else
			waot_try(&inner, nest_it, &x);
		break;
	}
	if (heap_behind_thin(40) != 40) /* over what has been left */
		abort();
	return n;
}

waot_ref env_pass(waot_ref node, int32_t n)
{
	waot_handle *h = waot_handle_new(node);
	heap_garbage(1);
	env_callback(n);
	node = waot_handle_ref(h);
	waot_handle_free(h);
	return node;
}

void env_many(uint64_t *results, int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f, int64_t g, waot_ref node, int64_t h, double i, int32_t n)
{
	results[0] = env_pass(node, n);
	results[1] = (uint64_t)(a + b + c + d + e + f + g + h);
	results[2] = (uint64_t)i;
}

#ifdef __cplusplus
}
#endif

struct number { int32_t n, result; };

static void run_nest(void *p)
{
	struct number *x = (struct number *)p;
	x->result = heap_nest(x->n);
}

static void test_nesting(void)
{
	for (mode = BARE; mode <= MIXED; mode++) {
		if (mode == EXCEPTION)
			continue;
		struct number x = {40, 0};
		bottom = 0;
		CHECK(waot_try(&trap, run_nest, &x) == 0 && x.result == 40);
		CHECK(heap_nest(41) == 41);
		CHECK(mode == THROW || mode == RETHROW || bottom >= 2);
	}
	mode = MIXED;
	CHECK(heap_nest_pass(40) == 1040 && heap_nest_many(40) == 540 + 36 + 9);
	for (mode = BARE; mode <= MIXED; mode++)
		CHECK(mode == EXCEPTION || heapcaller_call(20) == 20);
	mode = EXCEPTION;
	for (int n = 10; n < 20; n++)
		CHECK(heap_nest_catch(n) == n + 7 && heap_nest_hold(n) == n + 7);
	CHECK(heap_behind_thin(9) == 9 && heap_in_segment() == 90);
	/* What is left behind is not looked at. */
	mode = BARE;
	CHECK(heap_nest(5) == 5);
}

static void run_null(void *p) { *(int32_t *)p = heap_null(); }
static void run_fill(void *unused)
{
	(void)unused;
	heap_fill();
}

static void test_handles(void)
{
	enum { many = 10000 };
	static waot_handle *h[many];
	waot_heap_collect_always(0);
	for (int n = 0; n < many; n++)
		CHECK((h[n] = waot_handle_new(heap_make(n))));
	for (int n = 0; n < many; n += 2)
		waot_handle_free(h[n]);
	heap_garbage(LOOPS);
	for (int n = 1; n < many; n += 2)
		CHECK(heap_check(waot_handle_ref(h[n])) == n);
	for (int n = 0; n < 200; n++)
		CHECK(heap_is_zero(10000));
	waot_handle_set(h[1], heap_make(77));
	for (int n = 0; n < many; n += 2)
		CHECK((h[n] = waot_handle_new(0)));
	heap_garbage(LOOPS);
	CHECK(heap_check(waot_handle_ref(h[1])) == 77 && waot_handle_ref(h[2]) == 0);
	for (int n = 0; n < many; n++)
		waot_handle_free(h[n]);
	waot_handle_free(NULL);
	waot_heap_collect_always(1);
}

static void test_modules(void)
{
	heap_large(70000);
	heap_set_large(0);
	heap_set_large(69999);
	heap_share(heap_make(5), 1);
	heap_garbage(3);
	CHECK(heapuser_shared() == 5 && heapuser_in_table(1) == 5 && shared == table[1]);
	heapuser_set(6);
	heap_garbage(3);
	CHECK(heap_get_large(0) == 0 && heap_get_large(69999) == 69999);
	heap_large(0);
	CHECK(heapuser_get() == 12 && heap_check(*heap_kept()) == 6 && heap_check(heap_nodes().elements[1]) == 6);
	CHECK(heapuser_is_node(heap_make(1)) && !heapuser_is_named(heap_make(1)) && !heapuser_is_other(heap_make(1)));
	CHECK(heapuser_is_node(heapuser_make(1)) && heapuser_is_named(heapuser_make(1)) && !heapuser_is_node(3) && !heapuser_is_node(0));
	CHECK(heapuser_is_unary(heap_unary()) && !heapuser_is_unary(0) && heapuser_is_unary(heap_special()) && heapuser_is_special(heap_special()) && !heapuser_is_special(heap_unary()));
	CHECK(!heap_is_eq(waot_host_ref(0)) && !heap_is_eq(waot_host_ref(1)) && heap_is_eq(heap_as_extern(heap_make(1))) && heap_is_eq(9));
	CHECK(waot_host_index(waot_host_ref(0)) == 0 && waot_host_index(waot_host_ref(123456789012)) == 123456789012);
	heap_share(waot_host_ref(3), 0);
	heap_garbage(1);
	CHECK(shared == waot_host_ref(3));
}

static void test_exceptions(void)
{
	waot_trap thrown;
	uint32_t words = 1;
	CHECK(waot_try(&thrown, throw_hidden, NULL) == WAOT_EXCEPTION); /* what it refers to is the module's own */
	CHECK(!waot_exception_tag(thrown.exception) && !waot_exception_args(thrown.exception, &words) && words == 0);
	waot_heap_collect_always(0);
	for (int n = 0; n < 100; n++)
		heap_hold(n);
	heap_loop(LOOPS / 4); /* collects exceptions, and objects */
	waot_heap_collect_always(1);
	heap_garbage(3);
	for (int n = 0; n < 100; n++)
		CHECK(heap_held(n) == n);
	waot_heap_collect_always(0);
	waot_heap_limit(4 << 20);
	heap_throw_arrays(500); /* of 100,000 bytes each */
	waot_heap_limit(1 << 30);
	waot_heap_collect_always(1);
}

static void test_limit(void)
{
	waot_heap_collect_always(0);
	waot_heap_limit(1 << 20);
	for (int n = 0; n < 3; n++) {
		CHECK(waot_try(&trap, run_fill, NULL) == WAOT_TRAP_HEAP_EXHAUSTED && trap.code == WAOT_TRAP_HEAP_EXHAUSTED);
		CHECK(strcmp(trap.text, "heap exhausted") == 0 && strcmp(trap.function, "fill") == 0 && trap.offset != 0 && trap.num_frames == 1);
	}
	waot_heap_limit(1 << 30);
	waot_heap_collect_always(1);
	int32_t n = 0;
	CHECK(waot_try(&trap, run_null, &n) == WAOT_TRAP_NULL_STRUCTURE && strcmp(trap.text, "null structure reference") == 0);
	heap_garbage(3);
}

static void test_instances(const struct heap_imports *imports)
{
	struct heap_exports a, b;
	CHECK(heap_new(&a, imports, &trap) == 0 && heap_new(&b, imports, &trap) == 0);
	*b.kept = a.make(21);
	((waot_ref *)*a.nodes)[0] = 0;
	a.garbage(3);
	CHECK(heap_check(*b.kept) == 21 && a.check(*b.kept) == 21 && heapuser_is_node(*b.kept));
	heap_delete(&a);
	heap_garbage(3);
	CHECK(b.check(*b.kept) == 21);
	CHECK(heap_new(&a, imports, &trap) == 0); /* of the spare one */
	CHECK(*a.kept == 0 && a.check(a.make(3)) == 3);
	CHECK(heap_reset(b.instance, &trap) == 0 && *b.kept == 0);
	b.garbage(3);
	CHECK(b.check(b.make(4)) == 4);
	waot_handle *h = waot_handle_new(b.make(22));
	/* One that imports a table and a global of another one comes first in the list of instances. */
	struct heapuser_exports c;
	struct heapuser_imports user = {NULL, NULL, NULL, NULL};
	heap_delete(&a);
	waot_free_spares();
	user.env_global = &shared;
	user.env_table = table;
	user.heap_nodes = (waot_ref *)*b.nodes;
	user.heap_kept = b.kept;
	CHECK(heapuser_new(&c, &user, &trap) == 0);
	c.set(7);
	b.garbage(3);
	CHECK(c.get() == 14 && b.check(*b.kept) == 7);
	heapuser_delete(&c);
	heap_delete(&b);
	waot_free_spares();
	heap_garbage(3);
	CHECK(heap_check(waot_handle_ref(h)) == 22);
	waot_handle_free(h);
}

int main(int argc, char **argv)
{
	struct heap_imports imports;
	struct heapuser_imports user;
	memset(&imports, 0, sizeof imports);
	memset(&user, 0, sizeof user);
	waot_init_heap_env_host(&host);
	imports.env_host = &host;
	imports.env_global = &shared;
	imports.env_table = table = (waot_ref *)waot_table_new(2, 2);
	CHECK(heap_instantiate(&imports, &trap) == 0);
	user.env_global = &shared;
	user.env_table = table;
	user.heap_nodes = heap_nodes().elements;
	user.heap_kept = heap_kept();
	CHECK(heapuser_instantiate(&user, &trap) == 0);
	if (argc > 1 && strcmp(argv[1], "corrupt") == 0) {
		waot_handle_new(16);
		heap_garbage(100000);
	}
	if (argc > 1 && strcmp(argv[1], "full") == 0)
		waot_heap_limit(1 << 20), heap_fill();
	CHECK(heaphides_instantiate(&trap) == 0 && heapcaller_instantiate(&trap) == 0);
	waot_heap_collect_always(1);
	test_nesting();
	test_handles();
	test_modules();
	test_exceptions();
	test_limit();
	test_instances(&imports);
	test_nesting();
	puts("ok");
	return 0;
}
