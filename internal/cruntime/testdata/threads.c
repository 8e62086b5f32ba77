/* Threads with an instance each: state and traps stay apart. Prints "ok", or what is wrong. */
#include "lib.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, ROUNDS = 200 };

int32_t env_log(int32_t x) { return x + 1; }
void env_poke(int32_t x) { (void)x; }

struct work {
	struct lib_exports exports;
	int32_t number;
};

static void fail(const char *what, const waot_trap *trap)
{
	printf("%s: %s\n", what, trap->message);
	exit(1);
}

static void load_far(void *p) { ((struct work *)p)->exports.load(-1); }
static void recurse(void *p) { ((struct work *)p)->exports.recurse(0); }
static void divide(void *p) { ((struct work *)p)->exports.div(1, 0); }

static void *run(void *p)
{
	struct work *w = (struct work *)p;
	waot_trap trap;
	sigset_t all;
	sigfillset(&all);
	if (w->number % 2)
		pthread_sigmask(SIG_SETMASK, &all, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		w->exports.store(64, w->number * ROUNDS + i);
		if (waot_try(&trap, load_far, w) != WAOT_TRAP_MEMORY_OUT_OF_BOUNDS || trap.instance != w->exports.instance)
			fail("load", &trap);
		if (waot_try(&trap, divide, w) != WAOT_TRAP_INTEGER_DIVIDE_BY_ZERO || trap.instance != w->exports.instance)
			fail("divide", &trap);
		if (i % 50 == 0 && (waot_try(&trap, recurse, w) != WAOT_TRAP_STACK_OVERFLOW || trap.instance != w->exports.instance))
			fail("recurse", &trap);
		if (w->exports.load(64) != w->number * ROUNDS + i)
			fail("state", &trap);
		/* Instances come and go, and are reset, while other threads trap. */
		if (i % 10 == 0 && (lib_reset(w->exports.instance, &trap) != 0 || w->exports.load(64) != 0))
			fail("reset", &trap);
		if (i % 20 == 0) {
			struct lib_exports x;
			if (lib_new(&x, &trap) != 0 || x.fib(10) != 55)
				fail("new", &trap);
			lib_delete(&x);
		}
	}
	waot_thread_end();
	return NULL;
}

int main(void)
{
	static struct work work[THREADS];
	pthread_t threads[THREADS];
	waot_trap trap;
	for (int i = 0; i < THREADS; i++) {
		work[i].number = i + 1;
		if (lib_new(&work[i].exports, &trap) != 0)
			fail("new", &trap);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run, &work[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	puts("ok");
	return 0;
}
