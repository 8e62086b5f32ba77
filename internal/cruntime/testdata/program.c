/* Uses lib.wat as a program in C or C++ would: every kind of trap, instances, threads of control through waot_try. Prints "ok", or what is
 * wrong. With an argument it does one thing that ends the process. */
#include "lib.h"
#include "user.h"

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
static waot_instance *caller;
static int log_calls;

/* What lib imports. */
#ifdef __cplusplus
extern "C" {
#endif

int32_t env_log(int32_t x)
{
	caller = waot_caller();
	log_calls++;
	return x + 1;
}

static void load_far(void *p)
{
	(void)p;
	lib_load(-1);
}

/* Nested: a call from compiled code that tries something itself. */
void env_poke(int32_t what)
{
	caller = waot_caller();
	waot_trap inner;
	switch (what) {
	case 0:
		CHECK(waot_try(&inner, load_far, NULL) == WAOT_TRAP_MEMORY_OUT_OF_BOUNDS);
		CHECK(inner.num_frames >= 1 && !strcmp(inner.function, "load"));
		break;
	case 1: waot_throw("thrown by poke");
	case 2: waot_exit_guest(42);
	case 3: lib_unreachable_();
	}
}

#ifdef __cplusplus
}
#endif

/* A call with up to two arguments, for waot_try. */
struct call {
	int32_t (*one)(int32_t);
	int32_t (*two)(int32_t, int32_t);
	void (*none)(void);
	void (*poke)(int32_t);
	int32_t a, b, result;
};

static void make(void *p)
{
	struct call *c = (struct call *)p;
	if (c->one)
		c->result = c->one(c->a);
	if (c->two)
		c->result = c->two(c->a, c->b);
	if (c->none)
		c->none();
	if (c->poke)
		c->poke(c->a);
}

static int try_one(int32_t (*f)(int32_t), int32_t a)
{
	struct call c = {f, NULL, NULL, NULL, a, 0, 0};
	return waot_try(&trap, make, &c);
}

static int try_two(int32_t (*f)(int32_t, int32_t), int32_t a, int32_t b)
{
	struct call c = {NULL, f, NULL, NULL, a, b, 0};
	return waot_try(&trap, make, &c);
}

static int try_none(void (*f)(void))
{
	struct call c = {NULL, NULL, f, NULL, 0, 0, 0};
	return waot_try(&trap, make, &c);
}

static int try_poke(int32_t a)
{
	struct call c = {NULL, NULL, NULL, lib_poke, a, 0, 0};
	return waot_try(&trap, make, &c);
}

static void truncate_huge(void *p)
{
	(void)p;
	lib_trunc(1e30);
}

static void has_frame(unsigned i, const char *name)
{
	CHECK(i < trap.num_frames && trap.frames[i].name_size == strlen(name) && !memcmp(trap.frames[i].name, name, strlen(name)));
}

static void traps(void)
{
	CHECK(try_one(lib_load, 8) == 0 && trap.code == 0 && trap.message[0] == 0);
	CHECK(try_one(lib_load, 3 * 65536 - 3) == WAOT_TRAP_MEMORY_OUT_OF_BOUNDS && trap.code == WAOT_TRAP_MEMORY_OUT_OF_BOUNDS);
	CHECK(!strcmp(trap.text, "out of bounds memory access") && !strcmp(trap.function, "load") && trap.offset > 0 && trap.instance == lib_instance());
	CHECK(!strncmp(trap.message, "offset 0x", 9) && strstr(trap.message, " (load): wasm trap: out of bounds memory access"));
	CHECK(trap.num_frames == 1);
	CHECK(try_two(lib_put, -1, 1) == WAOT_TRAP_MEMORY_OUT_OF_BOUNDS);
	CHECK(try_one(lib_outer, -1) == WAOT_TRAP_MEMORY_OUT_OF_BOUNDS);
	has_frame(0, "load");
	has_frame(1, "outer");
	CHECK(trap.num_frames == 2 && trap.frames[0].offset != trap.frames[1].offset);
	CHECK(try_two(lib_div, 1, 0) == WAOT_TRAP_INTEGER_DIVIDE_BY_ZERO);
	CHECK(try_two(lib_div, INT32_MIN, -1) == WAOT_TRAP_INTEGER_OVERFLOW);
	CHECK(try_none(lib_unreachable_) == WAOT_TRAP_UNREACHABLE && strstr(trap.message, " (unreachable!): wasm trap: unreachable"));
	CHECK(waot_try(&trap, truncate_huge, NULL) == WAOT_TRAP_INTEGER_OVERFLOW || trap.code == WAOT_TRAP_BAD_CONVERSION);
	CHECK(try_one(lib_tget, 100) == WAOT_TRAP_TABLE_OUT_OF_BOUNDS);
	CHECK(try_two(lib_indirect, 100, 1) == WAOT_TRAP_UNDEFINED_ELEMENT);
	CHECK(try_two(lib_indirect, 3, 1) == WAOT_TRAP_UNINITIALIZED_ELEMENT);
	CHECK(try_two(lib_indirect, 1, 1) == WAOT_TRAP_BAD_SIGNATURE);
	CHECK(try_one(lib_recurse, 0) == WAOT_TRAP_STACK_OVERFLOW);
	CHECK(trap.num_frames == WAOT_MAX_FRAMES);
	for (unsigned i = 0; i < WAOT_MAX_FRAMES; i++)
		has_frame(i, "rec");
	for (int i = 0; i < 100; i++)
		CHECK(try_one(lib_recurse, 0) == WAOT_TRAP_STACK_OVERFLOW);
	CHECK(lib_fib(15) == 610);
}

/* Helpers of the runtime run out of stack, too, wherever the stack ends. */
static void overflow_in_helpers(unsigned deeper)
{
	volatile char room[48];
	room[0] = (char)deeper;
	if (deeper > 0)
		overflow_in_helpers(deeper - 1);
	else
		CHECK(try_one(lib_growing, 0) == WAOT_TRAP_STACK_OVERFLOW && trap.num_frames == WAOT_MAX_FRAMES);
	room[1] = room[0];
}

static void nested(void)
{
	CHECK(try_poke(0) == 0);
	CHECK(try_poke(1) == WAOT_THROWN && !strcmp(trap.message, "thrown by poke"));
	CHECK(try_poke(2) == WAOT_EXIT && trap.status == 42);
	CHECK(try_poke(3) == WAOT_TRAP_UNREACHABLE);
	CHECK(lib_log(1) == 2 && caller == lib_instance());
	lib_poke(-1);
	CHECK(caller == lib_instance());
}

static void growth(void)
{
	waot_memory m = lib_memory();
	CHECK(m.size == WAOT_PAGE && !memcmp(m.base + 8, "hello", 5) && waot_memory_base(lib_instance(), 0) == m.base);
	lib_store(65532, 42);
	CHECK(lib_load(65532) == 42 && m.base[65532] == 42);
	CHECK(lib_grow(1) == 1 && lib_memory().size == 2 * WAOT_PAGE && lib_memory().base == m.base);
	CHECK(lib_load(65536) == 0 && lib_grow(2) == -1 && lib_grow(1) == 2 && lib_grow(1) == -1 && lib_grow(0) == 3);
	CHECK(lib_load(3 * 65536 - 4) == 0 && try_one(lib_load, 3 * 65536) == WAOT_TRAP_MEMORY_OUT_OF_BOUNDS);
	CHECK(lib_tab().length == 4 && lib_growtab(3) == 4 && lib_growtab(2) == -1 && lib_tab().length == 7);
	CHECK(lib_indirect(6, 10) == 55 && lib_indirect(2, 5) == 6);
	CHECK(*lib_counter() == 8 && lib_bump() == 9 && *lib_counter() == 9);
	*lib_counter() = 20;
	CHECK(lib_bump() == 21 && *lib_limit() == 99 && lib_export_new() == 1);
	uint64_t results[2];
	lib_pair(results, 7);
	CHECK((uint32_t)results[0] == 7 && (int64_t)results[1] == -5);
}

static void instances(void)
{
	struct lib_exports x[3];
	waot_instance *before;
	for (int i = 0; i < 3; i++)
		CHECK(lib_new(&x[i], &trap) == 0);
	for (int i = 0; i < 3; i++) {
		CHECK(*x[i].counter == 8 && waot_memory_at(*x[i].memory).size == WAOT_PAGE);
		CHECK(x[i].fib(10) == 55 && x[i].load(8) == lib_load(8));
		x[i].store(16, 100 + i);
		*x[i].counter = 30 + i;
		CHECK(x[i].indirect(0, 10) == 55 && x[i].indirect(2, 5) == 6 && caller == x[i].instance);
		x[i].poke(-1);
		CHECK(caller == x[i].instance);
		CHECK(x[i].growtab(1) == 4 && x[i].indirect(4, 10) == 55);
		CHECK(waot_moved(x[i].instance, &waot_word_lib_memory) == (void *)x[i].memory);
	}
	CHECK(*lib_counter() == 21 && lib_load(16) == 0 && *x[2].limit == 99);
	for (int i = 0; i < 3; i++) {
		CHECK(x[i].load(16) == 100 + i && x[i].bump() == 31 + i);
		CHECK(try_one(x[i].load, -4) == WAOT_TRAP_MEMORY_OUT_OF_BOUNDS && trap.instance == x[i].instance && !strcmp(trap.function, "load"));
		CHECK(try_one(x[i].recurse, 0) == WAOT_TRAP_STACK_OVERFLOW && trap.instance == x[i].instance);
		CHECK(try_two(x[i].indirect, 1, 1) == WAOT_TRAP_BAD_SIGNATURE);
		CHECK(x[i].load(16) == 100 + i);
	}
	before = x[1].instance;
	lib_delete(&x[1]);
	CHECK(x[0].load(16) == 100 && x[2].load(16) == 102);
	CHECK(lib_new(&x[1], NULL) == 0 && x[1].load(16) == 0 && x[1].instance == before);
	for (int i = 0; i < 3; i++)
		lib_delete(&x[i]);
	/* The addresses of thousands, if they stayed, would not fit. */
	for (int i = 0; i < 20000 / SLOWER; i++) {
		CHECK(lib_new(&x[0], &trap) == 0 && x[0].fib(5) == 5);
		lib_delete(&x[0]);
	}
}

/* Two modules: user imports functions, memory, table and globals of lib. */
static void modules(void)
{
	struct user_imports in = {NULL, NULL, NULL, NULL};
	CHECK(user_instantiate(&in, &trap) == WAOT_ERROR_IMPORT && !strcmp(trap.message, "an imported memory is missing"));
	in.lib_memory = lib_memory().base;
	CHECK(user_instantiate(&in, &trap) == WAOT_ERROR_IMPORT && !strcmp(trap.text, "an imported table is missing"));
	in.lib_tab = lib_tab().elements;
	in.lib_counter = lib_counter();
	CHECK(user_instantiate(&in, &trap) == WAOT_ERROR_IMPORT && !strcmp(trap.text, "an imported global is missing"));
	in.lib_limit = lib_limit();
	void *small = waot_memory_new(0, 3);
	in.lib_memory = (uint8_t *)small;
	CHECK(user_instantiate(&in, &trap) == WAOT_ERROR_IMPORT && !strcmp(trap.text, "an imported memory is too small"));
	in.lib_memory = lib_memory().base;
	CHECK(user_instantiate(&in, &trap) == 0);
	CHECK(user_instantiate(&in, &trap) == WAOT_ERROR_STATE);
	CHECK(user_twice(12) == 288 && user_read(8) == lib_load(8) && user_sum() == (int64_t)*lib_counter() + 99);
	CHECK(user_through(0, 10) == 55);
	CHECK(try_one(user_far, -1) == WAOT_TRAP_MEMORY_OUT_OF_BOUNDS && trap.instance == lib_instance());
	has_frame(0, "load");
	has_frame(1, "far");
	CHECK(trap.frames[1].instance == user_instance());
	/* A start function that traps. The failure is reported, and what is there stays. */
	*lib_counter() = -77;
	struct user_exports x;
	CHECK(user_new(&x, &in, &trap) == WAOT_TRAP_UNREACHABLE && x.instance == NULL);
	*lib_counter() = 5;
	CHECK(user_new(&x, &in, &trap) == 0 && x.read(8) == lib_load(8) && *x.shared == 5 && x.twice(3) == 4);
	user_delete(&x);
}

static sigjmp_buf own_fault;
static volatile int own_signals, round_number;
static int *volatile nowhere = (int *)8;

static void on_own_fault(int signal)
{
	own_signals++;
	siglongjmp(own_fault, signal);
}

/* A program's own faults are its own. */
static void chaining(void)
{
	for (round_number = 1; round_number < 4; round_number++) {
		if (sigsetjmp(own_fault, 1) == 0) {
			*nowhere = 1;
			CHECK(!"reached");
		}
		CHECK(own_signals == round_number);
		CHECK(try_one(lib_load, -1) == WAOT_TRAP_MEMORY_OUT_OF_BOUNDS);
	}
	if (sigsetjmp(own_fault, 1) == 0) {
		kill(getpid(), SIGSEGV);
		pause();
	}
	CHECK(own_signals == 4);
}

static void on_late_signal(int signal, siginfo_t *info, void *context)
{
	own_signals++;
	if (!waot_handle_signal(signal, info, context))
		siglongjmp(own_fault, signal);
}

/* A handler that is set after the runtime's asks the runtime. */
static void late(void)
{
	struct sigaction a;
	memset(&a, 0, sizeof a);
	a.sa_sigaction = on_late_signal;
	a.sa_flags = SA_SIGINFO | SA_ONSTACK;
	sigaction(SIGSEGV, &a, NULL);
	CHECK(try_one(lib_load, -1) == WAOT_TRAP_MEMORY_OUT_OF_BOUNDS && own_signals == 1);
	CHECK(try_one(lib_recurse, 0) == WAOT_TRAP_STACK_OVERFLOW && own_signals == 2);
	if (sigsetjmp(own_fault, 1) == 0) {
		*nowhere = 1;
		CHECK(!"reached");
	}
	CHECK(own_signals == 3);
}

/* Objects that do not fit, and too few addresses. */
static void errors(void)
{
	waot_object o = lib__object;
	o.text_size = 0;
	o.abi = WAOT_ABI - 1;
	CHECK(waot_instance_init(waot_instance_of(&o), NULL, NULL, &trap) == WAOT_ERROR_ABI && waot_instance_map(&o, &trap) == NULL);
	o.abi = WAOT_ABI;
	o.meta = "NONE";
	CHECK(waot_instance_init(waot_instance_of(&o), NULL, NULL, NULL) == WAOT_ERROR_ABI);
	struct rlimit few = {1ul << 30, 1ul << 30};
	CHECK(setrlimit(RLIMIT_AS, &few) == 0);
	CHECK(lib_instantiate(&trap) == WAOT_ERROR_MEMORY && !strcmp(trap.message, "no room for a memory: 8 GiB of addresses are needed, and with --bounds=explicit less"));
	struct lib_exports x;
	CHECK(lib_new(&x, &trap) == WAOT_ERROR_MEMORY && x.instance == NULL);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	struct rlimit no_core = {0, 0};
	setrlimit(RLIMIT_CORE, &no_core);
	if (!*what) {
		struct sigaction a;
		memset(&a, 0, sizeof a);
		a.sa_handler = on_own_fault;
		sigaction(SIGSEGV, &a, NULL);
	}
	if (!strcmp(what, "errors")) {
		errors();
		puts("ok");
		return 0;
	}
	CHECK(lib_instantiate(&trap) == 0);
	CHECK(lib_instantiate(NULL) == WAOT_ERROR_STATE);
	if (!strcmp(what, "trap"))
		lib_outer(-1);
	if (!strcmp(what, "overflow"))
		lib_recurse(1);
	if (!strcmp(what, "fault"))
		*nowhere = 1;
	if (!strcmp(what, "exit"))
		lib_poke(2);
	if (!strcmp(what, "print")) {
		try_one(lib_outer, -1);
		waot_print(&trap, 1);
		return 0;
	}
	if (!strcmp(what, "late"))
		late();
	else if (!strcmp(what, "deleted")) {
		/* There is no file to map again. */
		CHECK(unlink(argv[0]) == 0);
		growth();
		instances();
	} else if (*what)
		return 3;
	if (*what) {
		puts("ok");
		return 0;
	}
	growth();
	traps();
	for (unsigned i = 0; i < 100 && SLOWER < 1000; i++)
		overflow_in_helpers(i);
	nested();
	instances();
	modules();
	chaining();
	waot_thread_end();
	CHECK(try_one(lib_load, -1) == WAOT_TRAP_MEMORY_OUT_OF_BOUNDS);
	puts("ok");
	return 0;
}
