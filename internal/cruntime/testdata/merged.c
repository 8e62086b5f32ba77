/* A C function that modules of three kinds import, of which linkers keep one stub. Only one module is instantiated, and of that only further instances. Prints "ok", or what is wrong. */
#include "merged.h"

#include <stdio.h>
#include <stdlib.h>

#define CHECK(x) \
	do { \
		if (!(x)) { \
			printf("line %d: %s; trap: %s\n", __LINE__, #x, trap.message); \
			exit(1); \
		} \
	} while (0)

static waot_trap trap;
static waot_tag tag;
static struct merged_exports x;
static int throws;

#ifdef __cplusplus
extern "C" {
#endif

int32_t env_hidden(int32_t n)
{
	uint64_t args[] = {7};
	x.make(n);
	if (waot_caller() == NULL)
		abort();
	if (throws)
		waot_throw_exception(&tag, args);
	return n;
}

#ifdef __cplusplus
}
#endif

struct call { int32_t way, result; };

static void run(void *p)
{
	struct call *c = (struct call *)p;
	c->result = x.call(10, c->way);
}

int main(void)
{
	waot_init_merged_env_tag(&tag);
	struct merged_imports imports = {&tag};
	for (int n = 0; n < 2; n++) {
		CHECK(merged_new(&x, &imports, &trap) == 0);
		waot_heap_collect_always(1);
		for (throws = 0; throws < 2; throws++)
			for (int32_t way = 0; way < 3; way++) {
				struct call c = {way, 0};
				CHECK(waot_try(&trap, run, &c) == 0);
				CHECK(c.result == (throws ? 47 : 40));
				CHECK(merged_reset(x.instance, &trap) == 0);
			}
		merged_delete(&x);
	}
	puts("ok");
	return 0;
}
