/* Maps a further instance of each module, and prints the offsets of the words of its data that are not those of the linked instance. Each
 * must differ by the distance between the two. */
#include "waot_runtime.h"

#include <stdio.h>

#define OBJECT(n) extern const waot_object mod##n##_object __asm__("mod" #n ".object");
#include "objects.h"
#undef OBJECT
#define OBJECT(n) &mod##n##_object,

static const waot_object *const objects[] = {
#include "objects.h"
};

static int print_moved(const waot_object *o)
{
	waot_trap trap;
	waot_instance *instance = waot_instance_map(o, &trap);
	if (!instance)
		return puts(trap.message), 1;
	const uint64_t *linked = (const uint64_t *)o->instance, *moved = (const uint64_t *)waot_moved(instance, linked);
	uint64_t delta = (uint64_t)moved - (uint64_t)linked;
	for (uint64_t i = 0; i < o->instance_size / 8; i++) {
		if (moved[i] == linked[i])
			continue;
		if (moved[i] - linked[i] != delta)
			return printf("word %lu: %lx became %lx\n", i, linked[i], moved[i]), 1;
		printf(" %lu", 8 * i);
	}
	puts("");
	return 0;
}

int main(void)
{
	for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
		printf("%zu:", i);
		if (print_moved(objects[i]) != 0)
			return 1;
	}
	return 0;
}
