/* Exceptions between compiled code and C, between modules, and through the stack. Prints "ok", or what is wrong. */
#include "exn.h"
#include "exnmid.h"
#include "exnstart.h"
#include "exntop.h"
#include "exnuser.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* An emulator is slow. */
#define EMULATED (SLOWER > 100)
#ifndef LOOPS
#define LOOPS (EMULATED ? 20000 : 300000)
#endif

#define CHECK(x) \
	do { \
		if (!(x)) { \
			printf("line %d: %s; trap: %s\n", __LINE__, #x, trap.message); \
			exit(1); \
		} \
	} while (0)

static waot_trap trap;
static waot_tag host, other;
static const waot_tag *further; /* of another instance */
static int64_t number;
static int mode, reached;
static waot_ref seen;

enum { RETURN, THROW_HOST, THROW_E, THROW_OTHER, THROW_FURTHER, TRAP, PASS, LOOP, CATCH, NOTHING, STALE };

/* What callbacks call in waot_try. */
static void throw_it(void *n) { exn_throw(*(int32_t *)n); }
static void trap_it(void *unused)
{
	(void)unused;
	exn_trap();
}

#ifdef __cplusplus
extern "C" {
#endif

int32_t env_callback(int32_t n)
{
	waot_trap inner;
	uint64_t args[2] = {(uint64_t)(uint32_t)n, 77};
	if (n < 0) {
		exn_loop(5000);
		return 0;
	}
	switch (mode) {
	case THROW_HOST: waot_throw_exception(&host, args);
	case THROW_E: waot_throw_exception(exn_e(), args);
	case THROW_OTHER: waot_throw_exception(&other, args);
	case THROW_FURTHER: waot_throw_exception(further, args);
	case TRAP: trap_it(NULL); break;
	case PASS:
		if (waot_try(&inner, throw_it, &n) == WAOT_EXCEPTION) {
			seen = inner.exception;
			waot_rethrow(inner.exception);
		}
		break;
	case NOTHING: waot_rethrow(0);
	case STALE: waot_rethrow(seen);
	case CATCH:
		if (waot_try(&inner, throw_it, &n) == WAOT_EXCEPTION && waot_exception_tag(inner.exception) == exn_e())
			return (int32_t)waot_exception_args(inner.exception, NULL)[0] + 1;
		break;
	}
	reached++;
	return n;
}

void env_many(uint64_t *results, int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f, int64_t g, int64_t h, double i, int32_t n, waot_v128 v)
{
	uint64_t arg = (uint64_t)(a + b + c + d + e + f + g + h) + (uint64_t)i + (uint64_t)v[1];
	if (n)
		waot_throw_exception(&host, &arg);
	memset(results, 0, 3 * sizeof *results);
	results[0] = arg;
}

int32_t env_twice(int32_t x) { return 2 * x; }

#ifdef __cplusplus
}
#endif

struct call {
	int32_t n, result;
	double f;
};

static void run_calls(void *p)
{
	struct call *c = (struct call *)p;
	c->result = exn_calls(c->n, c->f);
}

static void run_bare(void *p)
{
	struct call *c = (struct call *)p;
	c->result = exn_calls_bare(c->n);
}

static void run_outside(void *unused)
{
	uint64_t args[2] = {1, 2};
	(void)unused;
	waot_throw_exception(exn_e(), args);
}

static void run_wide(void *unused)
{
	(void)unused;
	exn_throw_wide(waot_host_ref(9));
}

static void run_pass(void *unused)
{
	(void)unused;
	exnuser_pass(waot_host_ref(9));
}

static void run_throw_own(void *unused)
{
	(void)unused;
	exnuser_throw_own();
}

static void run_endless(void *unused)
{
	(void)unused;
	exn_endless();
}

/* is_wide checks an exception of exn_wide. */
static void is_wide(waot_ref r)
{
	uint32_t words;
	const uint64_t *args = waot_exception_args(r, &words);
	float f = 4;
	double d = 5;
	CHECK(waot_exception_tag(r) == exn_wide() && words == 7 && args[0] == 1 && args[2] == 2 && args[3] == 3 && memcmp(&args[4], &f, 4) == 0 && memcmp(&args[5], &d, 8) == 0 &&
		args[6] == waot_host_ref(9));
}

static void test_uncaught(void)
{
	int32_t n = -7;
	uint32_t words;
	CHECK(waot_try(&trap, throw_it, &n) == WAOT_EXCEPTION && trap.code == WAOT_EXCEPTION && trap.instance == exn_instance());
	CHECK(waot_exception_tag(trap.exception) == exn_e() && waot_exception_args(trap.exception, &words)[0] == 0xfffffff9 && words == 2);
	CHECK(waot_exception_args(trap.exception, NULL)[1] == (uint64_t)-7);
	CHECK(strstr(trap.message, "(throw): uncaught wasm exception") && trap.num_frames == 1 && strcmp(trap.function, "throw") == 0);
	CHECK(waot_try(NULL, throw_it, &n) == WAOT_EXCEPTION);
	CHECK(waot_try(&trap, run_wide, NULL) == WAOT_EXCEPTION);
	is_wide(trap.exception);
	CHECK(waot_try(&trap, trap_it, NULL) == WAOT_TRAP_UNREACHABLE && trap.exception == 0);
	CHECK(waot_exception_tag(0) == NULL && waot_exception_args(waot_host_ref(3), &words) == NULL && words == 0);
	CHECK(waot_try(&trap, run_outside, NULL) == WAOT_THROWN && trap.exception == 0);
	CHECK(exn_none() == 1);
}

/* test_registers: values in registers that functions save, and in frames, are what they were. */
static void test_registers(void)
{
	for (int32_t n = 0; n < 50; n++)
		CHECK(exn_deep(n, 1000 + n, 20.5) == 39 * (1000 + n) + 11 + 20);
	CHECK(exn_late(0, 1000) == 2 * 26 * 1000 && exn_late(1, 5) == 10 && exn_late(2, 5) == 10 && exn_late(3, 5) == 2 * (18 + 26 * 5));
}

static void test_callbacks(void)
{
	struct call c = {3, 0, 7.5};
	const struct { int mode, result; } caught[] = {{RETURN, 4}, {THROW_HOST, 1003 + 30 + 300 + 3000 + 7}, {THROW_E, 2003}, {THROW_OTHER, 4000}, {PASS, 2003}, {CATCH, 5}};
	for (size_t k = 0; k < sizeof caught / sizeof *caught; k++) {
		mode = caught[k].mode;
		CHECK(waot_try(&trap, run_calls, &c) == 0);
		CHECK(c.result == caught[k].result && (mode != PASS || waot_exception_tag(seen) == exn_e()));
	}
	mode = TRAP;
	CHECK(waot_try(&trap, run_calls, &c) == WAOT_TRAP_UNREACHABLE);
	mode = THROW_HOST;
	CHECK(waot_try(&trap, run_bare, &c) == WAOT_EXCEPTION && waot_exception_tag(trap.exception) == &host && waot_exception_args(trap.exception, NULL)[0] == 3);
	CHECK(strstr(trap.message, "(calls_bare): uncaught wasm exception") && trap.instance == exn_instance());
	mode = PASS;
	CHECK(waot_try(&trap, run_bare, &c) == WAOT_EXCEPTION && trap.exception == seen);
	mode = RETURN;
	CHECK(exn_calls_many(0) == 36 + 9 + 11 && exn_calls_many(5) == 36 + 9 + 11 + 15);
}

static void test_modules(void)
{
	CHECK(exnuser_through(3) == 33333);
	CHECK(exnuser_catch(12) == 12 && exnuser_e() == exn_e());
	CHECK(waot_try(&trap, run_pass, NULL) == WAOT_EXCEPTION);
	is_wide(trap.exception);
	exnuser_own(34);
	CHECK(*exn_kept() == 0);
	exn_loop(5000);
	CHECK(exn_number(exnuser_get()) == 34);
	CHECK(waot_try(&trap, run_throw_own, NULL) == WAOT_EXCEPTION && trap.instance == exnuser_instance() && trap.exception == exnuser_get());
}

static long peak(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return u.ru_maxrss;
}

/* Exceptions that the program keeps, where no stack refers to them. */
enum { HIDDEN = 100 };
static uint64_t hidden[HIDDEN];

__attribute__((noinline)) static void hide(int on)
{
	for (int n = 0; n < HIDDEN; n++) {
		if (on > 0)
			hidden[n] = ~exn_keep(n);
		/* Those with odd numbers twice. */
		for (int twice = 0; twice <= n % 2; twice++)
			(on > 0 ? waot_exception_keep : waot_exception_release)(~hidden[n]);
	}
}

__attribute__((noinline)) static int hidden_left(void)
{
	int left = 0;
	for (int n = 0; n < HIDDEN; n++)
		left += waot_exception_tag(~hidden[n]) == exn_e();
	return left;
}

static void run_chain(void *unused)
{
	(void)unused;
	exn_chain(20000);
}

/* test_references: what is referred to stays, and what is not goes. */
static void test_references(void)
{
	enum { most = 2000 };
	CHECK(exn_grow(most) == 0);
	for (int32_t n = 0; n < most; n++)
		exn_put(n, 10 * n);
	hide(1);
	exn_keep(-6);
	exn_loop(20000);
	CHECK(exn_number(*exn_kept()) == -6 && hidden_left() == HIDDEN);
	for (int32_t n = 0; n < most; n++)
		CHECK(exn_number(exn_get(n)) == 10 * n);
	CHECK(exn_frame(91) == 91);
	exn_forget();
	hide(-1);
	exn_loop(20000);
	CHECK(hidden_left() < HIDDEN / 2);
	exn_chain(3000);
	exn_loop(20000);
	CHECK(exnuser_get() != 0 && exn_sum() == 3000 * 3001 / 2);
	exn_forget();

	waot_exception_limit(1 << 20);
	CHECK(waot_try(&trap, run_chain, NULL) == WAOT_ERROR_MEMORY && strstr(trap.message, "no memory for an exception"));
	CHECK(exn_sum() > 3000000);
	exn_forget();
	exn_loop(20000);
	waot_exception_limit(128 << 20);
	CHECK(waot_try(&trap, run_chain, NULL) == 0 && exn_sum() == (int64_t)20000 * 20001 / 2);
	exn_forget();

	exn_loop(LOOPS / 10);
	long before = peak();
	exn_loop(LOOPS);
	for (int n = 0; n < LOOPS / 10000; n++)
		exn_chain(1000);
	exn_forget();
	CHECK(peak() - before < 2000);
}

/* on_stack runs f on another stack of so many bytes. */
static void on_stack(size_t bytes, void *(*f)(void *))
{
	pthread_t thread;
	pthread_attr_t attr;
	pthread_attr_init(&attr);
	CHECK(pthread_attr_setstacksize(&attr, bytes) == 0 && pthread_create(&thread, &attr, f, NULL) == 0 && pthread_join(thread, NULL) == 0);
}

struct deep {
	int32_t n;
	int64_t result;
};

static void run_deep(void *p)
{
	struct deep *d = (struct deep *)p;
	d->result = exn_deep(d->n, 1, 1.5);
}

/* A million frames. */
static void *test_frames(void *unused)
{
	struct deep d = {1000000, 0};
	(void)unused;
	CHECK(waot_try(&trap, run_deep, &d) == 0 && d.result == 39 + 12);
	waot_thread_end();
	return NULL;
}

/* An exception that is thrown where the stack ends: it is caught, or the overflow is a trap. */
static void *test_stack_end(void *unused)
{
	struct deep d = {0, 0};
	int32_t fits = 0, too_many = 1 << 20;
	int traps = 0, caught = 0;
	(void)unused;
	CHECK(waot_try(&trap, run_endless, NULL) == WAOT_TRAP_STACK_OVERFLOW);
	while (too_many - fits > 1) {
		d.n = fits + (too_many - fits) / 2;
		int code = waot_try(&trap, run_deep, &d);
		CHECK(code == 0 || code == WAOT_TRAP_STACK_OVERFLOW);
		if (code == 0)
			fits = d.n;
		else
			too_many = d.n;
	}
	for (d.n = fits - 500; d.n < fits + 1000; d.n += EMULATED ? 13 : 1) {
		int code = waot_try(&trap, run_deep, &d);
		CHECK(code == 0 || code == WAOT_TRAP_STACK_OVERFLOW);
		traps += code != 0;
		caught += code == 0;
	}
	CHECK(traps > 20 && caught > 20);
	waot_thread_end();
	return NULL;
}

static void *test_thread(void *unused)
{
	struct exn_exports x;
	struct exn_imports imports = {&host};
	waot_trap mine;
	(void)unused;
	for (int n = 0; n < 5; n++) {
		if (exn_new(&x, &imports, &mine) || x.e == exn_e() || x.grow(100) != 0)
			return &host;
		for (int32_t k = 0; k < 100; k++)
			x.put(k, k);
		x.loop(20000);
		for (int32_t k = 0; k < 100; k++)
			if (x.number(x.get(k)) != k)
				return &host;
		x.chain(1000);
		x.loop(3000);
		if (x.sum() != 500500)
			return &host;
		waot_ref r = *x.kept;
		if (n % 2 && (exn_reset(x.instance, &mine) || *x.kept || waot_table_at(*x.refs).length || x.deep(3, 1, 2) != 39 + 13))
			return &host;
		exn_delete(&x);
		if (waot_exception_tag(r))
			return &host;
	}
	waot_thread_end();
	return NULL;
}

static void test_threads(void)
{
	pthread_t threads[4];
	void *bad;
	for (int n = 0; n < 4; n++)
		CHECK(pthread_create(&threads[n], NULL, test_thread, NULL) == 0);
	for (int n = 0; n < 4; n++)
		CHECK(pthread_join(threads[n], &bad) == 0 && !bad);
	waot_free_spares();
}

static void test_tags(void)
{
	struct exnstart_imports imports = {&number, NULL};
	struct exnstart_exports x;
	waot_tag tag;
	number = 8;
	CHECK(exnstart_instantiate(&imports, &trap) == WAOT_ERROR_IMPORT);
	imports.env_tag = &host;
	CHECK(exnstart_instantiate(&imports, &trap) == WAOT_ERROR_IMPORT && strstr(trap.message, "another type"));
	imports.env_tag = exn_e();
	CHECK(exnstart_instantiate(&imports, &trap) == WAOT_ERROR_IMPORT);
	waot_init_exnstart_env_tag(&tag);
	imports.env_tag = &tag;
	CHECK(exnstart_new(&x, &imports, &trap) == WAOT_EXCEPTION && waot_exception_tag(trap.exception) == NULL && !x.instance);
	CHECK(exnstart_instantiate(&imports, &trap) == WAOT_EXCEPTION && waot_exception_tag(trap.exception) == &tag && waot_exception_args(trap.exception, NULL)[0] == 8);
	CHECK(exnstart_reset(exnstart_instance(), &trap) == WAOT_EXCEPTION);
	number = 0;
	CHECK(exnstart_reset(exnstart_instance(), &trap) == 0 && exnstart_tag() == &tag && exnstart_f() == 8);
	CHECK(exnstart_new(&x, &imports, &trap) == 0 && x.tag == &tag && x.f() == 8);
	exnstart_delete(&x);
}

/* test_between: exceptions go through a module that has no room for their arguments, and are what they were. */
static void test_between(void)
{
	struct exntop_imports imports = {exn_wide()};
	CHECK(exntop_instantiate(&imports, &trap) == 0);
	for (int32_t how = 0; how < 3; how++) {
		*exntop_ref() = 0;
		CHECK(exntop_caught(how, waot_host_ref(9)) == 54321 && *exntop_ref() == waot_host_ref(9));
	}
}

/* test_deleted: with an instance go the exceptions that have its tags, and what others have imported of it. */
static void test_deleted(void)
{
	struct exn_exports x;
	struct exn_imports imports = {&host};
	struct exnuser_exports u;
	struct exnuser_imports user;
	struct call c = {3, 0, 0};
	CHECK(exn_new(&x, &imports, &trap) == 0);
	further = x.e;
	mode = THROW_FURTHER;
	CHECK(waot_try(&trap, run_bare, &c) == WAOT_EXCEPTION && waot_exception_tag(trap.exception) == x.e && trap.instance == exn_instance());
	waot_ref r = trap.exception;
	waot_exception_keep(r);
	user.exn_kept = x.kept;
	user.exn_refs = waot_table_at(*x.refs).elements;
	user.exn_e = x.e;
	CHECK(exnuser_new(&u, &user, &trap) == 0);
	CHECK(waot_exception_tag(r) == x.e);
	exn_delete(&x);
	waot_free_spares();
	CHECK(waot_exception_tag(r) == NULL && exn_number(exn_keep(5)) == 5);
	exn_loop(5000);
	exnuser_delete(&u);
	exn_forget();
}

int main(int argc, char **argv)
{
	struct exn_imports imports = {&host};
	waot_init_exn_env_host(&host);
	waot_init_exn_env_host(&other);
	CHECK(exn_instantiate(&imports, &trap) == 0);
	if (argc > 1) {
		int32_t n = 1;
		mode = THROW_HOST;
		if (strcmp(argv[1], "nothing") == 0)
			mode = NOTHING;
		if (strcmp(argv[1], "stale") == 0) {
			mode = STALE;
			struct exn_exports x;
			CHECK(exn_new(&x, &imports, &trap) == 0);
			seen = x.keep(1);
			exn_delete(&x);
		}
		if (strcmp(argv[1], "callback") == 0)
			exn_calls_bare(1);
		if (mode != THROW_HOST)
			exn_calls(1, 0); /* which catches everything */
		throw_it(&n);
	}
	struct exnuser_imports user;
	CHECK(exnmid_instantiate(&trap) == 0);
	user.exn_kept = exn_kept();
	user.exn_refs = exn_refs().elements;
	user.exn_e = exn_e();
	CHECK(exnuser_instantiate(&user, &trap) == 0);
	test_uncaught();
	test_registers();
	test_callbacks();
	test_modules();
	test_references();
	on_stack((size_t)400 << 20, test_frames);
	on_stack((size_t)1 << 20, test_stack_end);
	test_threads();
	test_tags();
	test_between();
	test_deleted();
	test_callbacks();
	puts("ok");
	return 0;
}
