/* Calls the objects that the test compiles, as a C program would: supplies the
 * helpers and imports, reserves memory, instantiates, calls exports, and turns
 * faults into results. Prints "ok" and exits with 0, or says what is wrong. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define PAGE 65536ull
#define RESERVATION ((8ull << 30) + PAGE)

struct waot_slot {
	char **base;
	uint64_t min, max, flags;
};

struct waot_object {
	uint64_t abi;
	const char *text;
	uint64_t text_size;
	char *instance;
	uint64_t instance_size;
	void (*init)(void);
	const unsigned char *meta, *traps, *stackmaps, *calls;
	const struct waot_slot *memories;
	uint64_t num_memories;
	const struct waot_slot *tables;
	uint64_t num_tables;
	const char *adapters;
	uint64_t adapters_size;
};

extern const struct waot_object lib__object __asm__("lib.object"), user__object __asm__("user.object");
extern char lib__instance[] __asm__("lib.instance");

/* Helpers. They see whether the stack is aligned: the frame of a function of C begins at a multiple of 16 then. */

#define NEED_ALIGNED() \
	do { \
		if ((uint64_t)__builtin_frame_address(0) % 16) { \
			printf("%s is called with a misaligned stack\n", __func__); \
			exit(1); \
		} \
	} while (0)

uint64_t waot_memory_grow(void *base, uint64_t pages)
{
	NEED_ALIGNED();
	uint64_t *word = base, size = word[-1] / PAGE;
	if (pages > word[-2] - size)
		return UINT64_MAX;
	if (mprotect((char *)base + size * PAGE, pages * PAGE, PROT_READ | PROT_WRITE))
		return UINT64_MAX;
	word[-1] = (size + pages) * PAGE;
	return size;
}

uint64_t waot_table_grow(void *base, uint64_t n, uint64_t init)
{
	NEED_ALIGNED();
	uint64_t *word = base, size = word[-1];
	if (n > word[-2] - size)
		return UINT64_MAX;
	for (uint64_t i = 0; i < n; i++)
		word[size + i] = init;
	word[-1] = size + n;
	return size;
}

void waot_memmove(void *to, const void *from, uint64_t n)
{
	NEED_ALIGNED();
	memmove(to, from, n);
}

void waot_memset(void *to, uint64_t byte, uint64_t n)
{
	NEED_ALIGNED();
	memset(to, (int)byte, n);
}

void waot_table_fill(void *to, uint64_t word, uint64_t n)
{
	NEED_ALIGNED();
	for (uint64_t i = 0; i < n; i++)
		((uint64_t *)to)[i] = word;
}

/* Instantiation. */

static char *reserve(uint64_t bytes, uint64_t usable)
{
	char *p = mmap(0, bytes + 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED || mprotect(p, 4096 + usable, PROT_READ | PROT_WRITE)) {
		perror("mmap");
		exit(2);
	}
	return p + 4096;
}

static void instantiate(const struct waot_object *o)
{
	if (o->abi != 4)
		exit(3);
	for (uint64_t i = 0; i < o->num_memories; i++) {
		const struct waot_slot *s = &o->memories[i];
		char *base = reserve(RESERVATION, s->min * PAGE);
		((uint64_t *)base)[-1] = s->min * PAGE;
		((uint64_t *)base)[-2] = s->max;
		*s->base = base;
	}
	for (uint64_t i = 0; i < o->num_tables; i++) {
		const struct waot_slot *s = &o->tables[i];
		char *base = reserve(s->max * 8, s->max * 8);
		((uint64_t *)base)[-1] = s->min;
		((uint64_t *)base)[-2] = s->max;
		*s->base = base;
	}
	o->init();
}

/* Traps. */

static sigjmp_buf trap_env;
static int trap_code;

static uint64_t uleb(const unsigned char **p)
{
	uint64_t v = 0;
	for (int s = 0;; s += 7) {
		unsigned char c = *(*p)++;
		v |= (uint64_t)(c & 0x7f) << s;
		if (!(c & 0x80))
			return v;
	}
}

/* find_trap looks the program counter up in .waot.traps: its code, or 0. */
static int find_trap(const struct waot_object *o, uint64_t pc)
{
	uint64_t at = pc - (uint64_t)o->text;
	const unsigned char *p = o->traps + 20;
	if (uleb(&p) != 0) /* the table is packed */
		abort();
	for (uint64_t kinds = uleb(&p); kinds > 0; kinds--) {
		int code = *p;
		uint64_t off = 0;
		p += 3;
		for (uint64_t n = uleb(&p); n > 0; n--) {
			off += uleb(&p);
			uleb(&p);
			if (off == at)
				return code;
		}
	}
	return 0;
}

#ifdef __aarch64__
#define PC(u) (u)->uc_mcontext.pc
#else
#define PC(u) (u)->uc_mcontext.gregs[REG_RIP]
#endif

#ifdef CHECK_BTI
static uint64_t no_landing;
#endif

static void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)info;
	ucontext_t *u = context;
	trap_code = find_trap(&lib__object, PC(u));
	if (!trap_code)
		trap_code = find_trap(&user__object, PC(u));
#ifdef CHECK_BTI
	if (!trap_code && sig == SIGILL && PC(u) == no_landing)
		trap_code = 100;
#endif
	if (!trap_code)
		abort();
	siglongjmp(trap_env, 1);
}

#define TRAPS(code, call) \
	do { \
		if (!sigsetjmp(trap_env, 1)) { \
			call; \
			printf("%s: no trap\n", #call), exit(1); \
		} \
		CHECK(trap_code == code); \
	} while (0)

#define CHECK(x) \
	do { \
		if (!(x)) \
			printf("line %d: %s\n", __LINE__, #x), exit(1); \
	} while (0)

/* The imports of lib that C supplies. Results have dirty upper halves on purpose. */

uint64_t env_log(uint64_t) __asm__("env..log");
double env_many(uint32_t, double, int64_t, uint32_t, uint32_t, uint32_t, uint32_t, int64_t, float, uint32_t) __asm__("env..many");
void env_pair(uint64_t *, uint32_t, int64_t) __asm__("env..pair");

uint64_t env_log(uint64_t x) { return 0xdeadbeef00000000 | (uint32_t)(x + 1); }

double env_many(uint32_t a, double b, int64_t c, uint32_t d, uint32_t e, uint32_t f, uint32_t g, int64_t h, float i, uint32_t j)
{
	return a + 2 * b + 3 * c + 4.0 * d + 5.0 * e + 6.0 * f + 7.0 * g + 8.0 * h + 9.0 * i + 10.0 * j;
}

void env_pair(uint64_t *results, uint32_t a, int64_t b)
{
	double d = 2.5;
	results[0] = b;
	results[1] = 0xffffffff00000000 | a;
	memcpy(&results[2], &d, 8);
}

/* The exports. */

#define EXPORT(type, object, name, ...) type object##_##name(__VA_ARGS__) __asm__(#object ".." #name)

EXPORT(uint32_t, lib, add, uint64_t, uint64_t); /* 64 bits wide to pass dirty upper halves */
EXPORT(double, lib, fadd, double, float);
EXPORT(uint32_t, lib, load, uint32_t);
EXPORT(uint32_t, lib, grow, uint32_t);
EXPORT(uint32_t, lib, size, void);
EXPORT(uint32_t, lib, div, int32_t, int32_t);
EXPORT(void, lib, store, uint32_t, uint32_t);
EXPORT(void, lib, unreachableZ21, void);
EXPORT(uint32_t, lib, bump, void);
EXPORT(uint32_t, lib, log, uint32_t);
EXPORT(uint32_t, lib, log2, uint32_t);
EXPORT(uint32_t, lib, indirect, uint32_t, uint32_t);
EXPORT(uint32_t, lib, fib, uint32_t);
EXPORT(void, lib, reverse, uint64_t *, uint32_t, int64_t, double, float, uint32_t);
EXPORT(void, lib, seven, uint64_t *, int64_t);
EXPORT(int64_t, lib, sum11, int64_t, uint64_t, int64_t, uint64_t, int64_t, uint64_t, int64_t, uint64_t, int64_t, uint64_t, int64_t);
EXPORT(double, lib, callmany, uint32_t, double, int64_t, uint32_t, uint32_t, uint32_t, uint32_t, int64_t, float, uint32_t);
EXPORT(void, lib, callpair, uint64_t *, uint32_t, int64_t);
EXPORT(uint32_t, user, twice, uint32_t, uint32_t);
EXPORT(uint32_t, user, fib, uint32_t);
EXPORT(int64_t, user, sum, int64_t, uint64_t, int64_t, uint64_t, int64_t, uint64_t, int64_t, uint64_t, int64_t, uint64_t, int64_t);
extern uint32_t counter __asm__("lib..counter.global");
extern char *mem __asm__("lib..mem.memory");
/* The library's own entry in the table and the importer's reference must be the same type. */

int main(void)
{
	stack_t ss = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
	struct sigaction sa = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	sigaltstack(&ss, 0);
	sigaction(SIGSEGV, &sa, 0), sigaction(SIGILL, &sa, 0), sigaction(SIGFPE, &sa, 0), sigaction(SIGBUS, &sa, 0);

	CHECK(lib__object.instance == lib__instance);
	instantiate(&lib__object);
	instantiate(&user__object);

	CHECK(lib_add(0xffffffff00000002, 0x1234567800000003) == 5);
	CHECK(lib_fadd(1.5, 2.25f) == 3.75);
	CHECK(!strcmp(mem + 8, "hello"));
	CHECK(lib_load(8) == 0x6c6c6568);
	lib_store(65532, 42);
	CHECK(lib_load(65532) == 42);
	TRAPS(2, lib_load(65533));
	TRAPS(2, lib_store(0xffffffff, 1));
	CHECK(lib_size() == 1 && lib_grow(2) == 1 && lib_size() == 3);
	CHECK(lib_load(65536) == 0 && lib_grow(100) == 0xffffffff);
	CHECK(lib_div(-7, 2) == (uint32_t)-3);
	TRAPS(8, lib_div(1, 0));
	TRAPS(7, lib_div(INT32_MIN, -1));
	TRAPS(1, lib_unreachableZ21());
	CHECK(counter == 7 && lib_bump() == 8 && counter == 8);
	CHECK(lib_log(41) == 42 && lib_log2(0xffffffff) == 0);
	CHECK(lib_fib(15) == 610);
	CHECK(lib_indirect(0, 10) == 55 && lib_indirect(2, 5) == 6 && lib_indirect(3, 6) == 7);
	TRAPS(5, lib_indirect(1, 1));
	TRAPS(4, lib_indirect(4, 1));

	uint64_t r[8];
	double d = 0.5;
	float f = 0.25f;
	lib_reverse(r, 1, 2, d, f, 5);
	CHECK(r[0] == 5 && !memcmp(&r[1], &f, 4) && !memcmp(&r[2], &d, 8) && r[3] == 2 && r[4] == 1);
	lib_seven(r, 100);
	for (int i = 0; i < 7; i++)
		CHECK(r[i] == 100 + (uint64_t)i);
	uint64_t dirty = 0xabcdef0100000000;
	CHECK(lib_sum11(1, dirty | 2, 3, dirty | 4, 5, dirty | 6, 7, dirty | 8, 9, dirty | 10, 11) == 506);
	CHECK(lib_callmany(1, 2, 3, 4, 5, 6, 7, 8, 9, 10) == 1 + 4 + 9 + 16 + 25 + 36 + 49 + 64 + 81 + 100);
	lib_callpair(r, 7, -9);
	d = 2.5;
	CHECK((int64_t)r[0] == -9 && r[1] == 7 && !memcmp(&r[2], &d, 8));

	/* The other object's imports are this object's exports. */
	CHECK(user_twice(20, 22) == 84);
	CHECK(user_fib(12) == 144);
	CHECK(user_sum(1, dirty | 2, 3, dirty | 4, 5, dirty | 6, 7, dirty | 8, 9, dirty | 10, 11) == 506);

#ifdef CHECK_BTI
	/* Only landing pads can be called. */
	uint32_t (*second)(uint32_t) = (uint32_t (*)(uint32_t))((char *)lib_fib + 4);
	no_landing = (uint64_t)second;
	TRAPS(100, second(1));
#endif
	puts("ok");
	return 0;
}
