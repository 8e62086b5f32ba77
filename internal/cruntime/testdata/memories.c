/* A module with two memories: both are found by name, grow alone, and have their own bounds, in each instance. */
#include "memories.h"

#include <stdio.h>
#include <string.h>

static int failures;

#define CHECK(x) do { if (!(x)) { printf("line %d: %s\n", __LINE__, #x); failures++; } } while (0)

struct load { struct memories_exports *in; int32_t which, at, result; };

static void load(void *data)
{
	struct load *l = (struct load *)data;
	l->result = l->in->load(l->which, l->at);
}

static int traps(struct memories_exports *in, int32_t which, int32_t at)
{
	struct load l = { in, which, at, 0 };
	waot_trap trap;
	return waot_try(&trap, load, &l) == WAOT_TRAP_MEMORY_OUT_OF_BOUNDS;
}

int main(void)
{
	struct memories_exports a, b;
	waot_trap trap;
	if (memories_new(&a, &trap) != 0 || memories_new(&b, &trap) != 0)
		return 1;
	CHECK(waot_memory_at(*a.memory).size == 65536 && waot_memory_at(*a.text).size == 65536);
	CHECK(memcmp(waot_memory_at(*b.text).base + 65530, "static", 6) == 0);
	a.take(7, 65530, 6);
	CHECK(memcmp(waot_memory_at(*a.memory).base + 7, "static", 6) == 0 && b.load(0, 7) == 0);
	CHECK(traps(&a, 0, 65536) && traps(&a, 1, 65536));
	CHECK(a.grow_text(1) == -1 && a.grow(2) == 1 && waot_memory_at(*a.memory).size == 3 * 65536);
	CHECK(!traps(&a, 0, 3 * 65536 - 1) && traps(&a, 0, 3 * 65536) && traps(&a, 1, 65536) && traps(&b, 0, 65536));
	a.store(65536, 9);
	CHECK(a.load(0, 65536) == 9);
	memories_delete(&a);
	memories_delete(&b);
	if (failures == 0)
		puts("ok");
	return failures;
}
