/* Compresses a file with a library that runs as WebAssembly compiled to native code: whatever is wrong with the library or its input, it
 * can only damage its own memory, and a trap is an error like any other. */
#include "squash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct job {
	const uint8_t *data;
	uint32_t size, packed, unpacked; /* bytes */
	uint32_t at;                     /* where the compressed bytes are in the library's memory */
	int damage;
};

/* run does the work; waot_try calls it. */
static void run(void *p)
{
	struct job *job = p;
	squash_export_reset();
	uint32_t from = (uint32_t)squash_allocate((int32_t)job->size);
	job->at = (uint32_t)squash_allocate(squash_bound((int32_t)job->size));
	uint32_t back = (uint32_t)squash_allocate((int32_t)job->size);
	if (!from || !job->at || !back)
		waot_throw("out of the library's memory");
	memcpy(squash_memory().base + from, job->data, job->size);
	job->packed = (uint32_t)squash_compress((int32_t)job->at, (int32_t)from, (int32_t)job->size);
	if (job->damage)
		memset(squash_memory().base + job->at, 0xff, job->packed);
	job->unpacked = (uint32_t)squash_expand((int32_t)back, (int32_t)job->size, (int32_t)job->at, (int32_t)job->packed);
	if (job->unpacked != job->size || memcmp(squash_memory().base + back, job->data, job->size) != 0)
		waot_throw("the data does not come back");
}

static uint8_t *read_file(const char *name, uint32_t *size)
{
	FILE *f = fopen(name, "rb");
	uint8_t *data = malloc(1 << 26);
	*size = 0;
	if (f && data)
		*size = (uint32_t)fread(data, 1, 1 << 26, f);
	if (!f || !data || ferror(f)) {
		fprintf(stderr, "%s cannot be read\n", name);
		exit(1);
	}
	fclose(f);
	return data;
}

int main(int argc, char **argv)
{
	struct job job = {0};
	waot_trap trap;
	if (argc != 2 && !(argc == 3 && strcmp(argv[2], "--damage") == 0)) {
		fprintf(stderr, "usage: %s FILE [--damage]\n", argv[0]);
		return 2;
	}
	job.data = read_file(argv[1], &job.size);
	job.damage = argc == 3;
	if (squash_instantiate(&trap) != 0 || waot_try(&trap, run, &job) != 0) {
		fflush(stdout);
		waot_print(&trap, 2);
		return 1;
	}
	printf("%s: %u bytes, %u compressed\n", argv[1], job.size, job.packed);
	return 0;
}
