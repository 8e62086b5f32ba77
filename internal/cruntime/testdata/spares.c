/* Threads that make, use, grow and delete instances of one module, which others have left; a spare instance has one owner, and nothing of the last one.
 * Prints "ok", or what is wrong. */
#include "state.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 6, ROUNDS = 40000 / SLOWER, HELD = 5 };

#ifdef __cplusplus
extern "C" {
#endif

void env_started(int32_t n) { (void)n; }
int32_t env_inside(void) { return 0; }

#ifdef __cplusplus
}
#endif

#define CHECK(x) \
	do { \
		if (!(x)) { \
			printf("line %d: %s; trap: %s\n", __LINE__, #x, trap.message); \
			exit(1); \
		} \
	} while (0)

/* What threads hand to each other. */
static struct {
	pthread_mutex_t lock;
	struct state_exports x;
} shelves[THREADS];

static int empty(const void *at, uint64_t size)
{
	const uint64_t *p = (const uint64_t *)at;
	for (uint64_t i = 0; i < size / 8; i++)
		if (p[i])
			return 0;
	return 1;
}

static void far(void *p) { ((struct state_exports *)p)->load(65536); }

/* begin makes an instance, which is new. */
static void begin(struct state_exports *x, const struct state_imports *in)
{
	waot_trap trap;
	trap.message[0] = 0;
	CHECK(state_new(x, in, &trap) == 0);
	waot_memory m = waot_memory_at(*x->memory), second = waot_memory_at(*x->second);
	waot_table refs = waot_table_at(*x->refs);
	CHECK(m.size == 65536 && second.size == 3 * 65536 && refs.length == 5000 && waot_table_at(*x->funcs).length == 2);
	CHECK(empty(m.base + 128, m.size - 128) && !memcmp(m.base + 100, "static", 6) && m.base[12] == 8);
	CHECK(empty(second.base, 131064) && empty(second.base + 131080, 65536 - 8) && empty(refs.elements, 8 * refs.length));
	CHECK(*x->n == 8 && *x->g == 0 && x->vector() == 605 && !x->is_null() && x->call(1) == 1 && x->data(13) == 0 && x->elem(2) == 0);
	CHECK(*waot_instance_user(x->instance) == NULL);
	*waot_instance_user(x->instance) = x->instance;
}

static void use(struct state_exports *x, unsigned number)
{
	waot_trap trap;
	trap.message[0] = 0;
	if (number % 4 == 0) /* it traps in its own instance, not in what is spare */
		CHECK(waot_try(&trap, far, x) == WAOT_TRAP_MEMORY_OUT_OF_BOUNDS && trap.instance == x->instance && trap.num_frames == 1);
	x->disturb(waot_host_ref(number), number % 3);
	CHECK(*x->n == 1000 && waot_memory_at(*x->memory).size == 65536 * (1 + number % 3));
}

static void end(struct state_exports *x)
{
	waot_trap trap;
	trap.message[0] = 0;
	CHECK(*waot_instance_user(x->instance) == x->instance);
	state_delete(x);
}

static void *run(void *p)
{
	struct state_exports held[HELD];
	unsigned random = (unsigned)(size_t)p;
	int32_t count = 0;
	struct state_imports in;
	memset(held, 0, sizeof held);
	in.env_shared = (uint8_t *)waot_memory_new(1, 1);
	in.env_slots = (waot_ref *)waot_table_new(2, 2);
	in.env_count = &count;
	for (int round = 0; round < ROUNDS; round++) {
		random = random * 1103515245 + 12345;
		struct state_exports *x = &held[(random >> 16) % HELD];
		int32_t before = count;
		if (!x->instance) {
			begin(x, &in);
			use(x, random >> 20);
			if (count != before + 1) {
				puts("another thread's global");
				exit(1);
			}
		} else {
			int at = (int)((random >> 20) % THREADS);
			pthread_mutex_lock(&shelves[at].lock);
			struct state_exports other = shelves[at].x;
			shelves[at].x = *x;
			pthread_mutex_unlock(&shelves[at].lock);
			if (other.instance)
				end(&other);
			x->instance = NULL;
		}
		if (random >> 24 == 0)
			waot_free_spares();
	}
	for (int i = 0; i < HELD; i++)
		if (held[i].instance)
			end(&held[i]);
	waot_thread_end();
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++)
		pthread_mutex_init(&shelves[i].lock, NULL);
	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run, (void *)(i + 1));
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	puts("ok");
	return 0;
}
