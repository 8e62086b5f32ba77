/* What a reset of an instance takes beside one that is deleted and one that is made, in nanoseconds: the medians of rounds. In each, 20 pages of the
 * memory are written. */
#include "mod.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* What modules of benchmarks import. */
void bench_import_start(void) {}
void bench_end(void) {}

enum { ROUNDS = 1001, PAGES = 20 };

static struct mod_exports x;
static waot_trap trap;

static void fail(void)
{
	puts(trap.message);
	exit(1);
}

static void renew(void)
{
	mod_delete(&x);
	if (mod_new(&x, &trap) != 0)
		fail();
}

static void reset(void)
{
	if (mod_reset(x.instance, &trap) != 0)
		fail();
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* median writes pages and does something, round by round, and prints the median of what both take. */
static void median(const char *name, void (*f)(void))
{
	static double took[ROUNDS];
	for (int n = 0; n < ROUNDS; n++) {
		struct timespec from, to;
		clock_gettime(CLOCK_MONOTONIC, &from);
		uint64_t size = waot_memory_size(x.instance, 0);
		for (uint64_t page = 0; page < PAGES && 4096 * page < size; page++)
			waot_memory_base(x.instance, 0)[4096 * page]++;
		f();
		clock_gettime(CLOCK_MONOTONIC, &to);
		took[n] = (double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec);
	}
	qsort(took, ROUNDS, sizeof *took, compare);
	printf("%s %.0f\n", name, took[ROUNDS / 2]);
}

static void nothing(void) {}

int main(void)
{
	if (mod_new(&x, &trap) != 0)
		fail();
	for (int n = 0; n < 2; n++) {
		median("ns/nothing", nothing);
		median("ns/new", renew);
		median("ns/reset", reset);
	}
	return 0;
}
