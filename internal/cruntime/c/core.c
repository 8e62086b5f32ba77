/* The core of waot's runtime for C: instances, memories, tables, traps. It uses no library; kernel calls are its own. */

#include "waot_runtime.h"
#include <stdbool.h>

#if !defined(__linux__) || !(defined(__x86_64__) || defined(__aarch64__))
#error "waot's runtime is for Linux on x86-64 and AArch64"
#endif

#ifdef __cplusplus
extern "C" {
#endif

void *memcpy(void *, const void *, size_t);
void *memmove(void *, const void *, size_t);
void *memset(void *, int, size_t);
int memcmp(const void *, const void *, size_t);

#define CORE_HIDDEN __attribute__((visibility("hidden")))

/* What compiled code calls by itself stands together, with all that it calls but memmove and memset: there, too, the end of the stack is a
 * trap. */
#define CORE_HELPER __attribute__((section("waot_helpers"), noinline))
#define CORE_INLINE __attribute__((always_inline)) static inline
extern const char __start_waot_helpers[] CORE_HIDDEN, __stop_waot_helpers[] CORE_HIDDEN;

/* ---- The kernel ---- */

/* waot_sys_call makes a system call. The result is negative errno if it fails. */
CORE_INLINE long waot_sys_call(long n, long a, long b, long c, long d, long e, long f)
{
#ifdef __x86_64__
	long result;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	__asm__ volatile("syscall" : "=a"(result) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
	return result;
#else
	register long x8 __asm__("x8") = n;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;
	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
	return x0;
#endif
}

enum {
#ifdef __x86_64__
	CORE_NR_read = 0, CORE_NR_write = 1, CORE_NR_close = 3, CORE_NR_mmap = 9, CORE_NR_mprotect = 10, CORE_NR_munmap = 11, CORE_NR_sched_yield = 24, CORE_NR_mincore = 27, CORE_NR_madvise = 28,
	CORE_NR_rt_sigaction = 13, CORE_NR_rt_sigprocmask = 14, CORE_NR_rt_sigpending = 127, CORE_NR_rt_sigtimedwait = 128, CORE_NR_getpid = 39, CORE_NR_sigaltstack = 131, CORE_NR_gettid = 186,
	CORE_NR_exit_group = 231, CORE_NR_tgkill = 234, CORE_NR_openat = 257, CORE_NR_statx = 332,
#else
	CORE_NR_read = 63, CORE_NR_write = 64, CORE_NR_close = 57, CORE_NR_mmap = 222, CORE_NR_mprotect = 226, CORE_NR_munmap = 215, CORE_NR_sched_yield = 124, CORE_NR_mincore = 232, CORE_NR_madvise = 233,
	CORE_NR_rt_sigaction = 134, CORE_NR_rt_sigprocmask = 135, CORE_NR_rt_sigpending = 136, CORE_NR_rt_sigtimedwait = 137, CORE_NR_getpid = 172, CORE_NR_sigaltstack = 132, CORE_NR_gettid = 178,
	CORE_NR_exit_group = 94, CORE_NR_tgkill = 131, CORE_NR_openat = 56, CORE_NR_statx = 291,
#endif
	CORE_PROT_NONE = 0, CORE_PROT_READ = 1, CORE_PROT_WRITE = 2, CORE_PROT_EXEC = 4, CORE_PROT_RW = 3,
	CORE_MAP_PRIVATE = 2, CORE_MAP_FIXED = 16, CORE_MAP_ANON = 32, CORE_MAP_NORESERVE = 0x4000,
	CORE_AT_FDCWD = -100, CORE_O_CLOEXEC = 02000000
};

static void *core_map(void *at, uint64_t size, int protection, int flags, int fd, uint64_t offset)
{
	long r = waot_sys_call(CORE_NR_mmap, (long)at, (long)size, protection, flags | CORE_MAP_PRIVATE, fd, (long)offset);
	return r < 0 && r > -4096 ? NULL : (void *)r;
}

#ifndef WAOT_STANDALONE
static bool core_free_spares(void);
#else
static bool core_free_spares(void) { return false; }
#endif

/* objects.c, but core_prepare_heap in executables, of which only those have it that need it: start.c. */
static int core_prepare_heap(waot_instance *i, waot_trap *t);
static bool core_is_null_object(uint64_t address);
static void core_mark_objects(void);
static uint64_t core_last_exit(void);
static void core_set_exit(uint64_t exit);

/* core_reserve takes addresses that cannot be accessed yet, if there are no others those of spare instances. */
static char *core_reserve(uint64_t size)
{
	void *p;
	do
		p = core_map(NULL, size, CORE_PROT_NONE, CORE_MAP_ANON | CORE_MAP_NORESERVE, -1, 0);
	while (!p && core_free_spares());
	return (char *)p;
}

CORE_INLINE bool core_protect(void *at, uint64_t size, int protection)
{
	return size == 0 || waot_sys_call(CORE_NR_mprotect, (long)at, (long)size, protection, 0, 0, 0) == 0;
}

static void core_unmap(void *at, uint64_t size)
{
	if (at)
		waot_sys_call(CORE_NR_munmap, (long)at, (long)size, 0, 0, 0, 0);
}

/* core_sys makes a system call, again when a signal has cut it short. It is not inlined: it has many callers, into which compilers would copy it even
 * for size. */
__attribute__((noinline)) static long core_sys(long n, long a, long b, long c, long d, long e, long f)
{
	long r;
	do
		r = waot_sys_call(n, a, b, c, d, e, f);
	while (r == -4 /* EINTR */);
	return r;
}

static void core_raise(int signal)
{
	long process = waot_sys_call(CORE_NR_getpid, 0, 0, 0, 0, 0, 0), thread = waot_sys_call(CORE_NR_gettid, 0, 0, 0, 0, 0, 0);
	waot_sys_call(CORE_NR_tgkill, process, thread, signal, 0, 0, 0);
}

/* core_quiet makes a call that may raise SIGPIPE or SIGXFSZ, and keeps the signal from the process, which is not the guest's to end. The kernel
 * raises them also where it has written a part, and then the result is no error. So only the result `whole`, of a call that has done all, says that
 * there is none: else what is pending afterwards, and was not before, is taken. What another process has sent meanwhile is not the call's, and is raised again. */
static __attribute__((noinline)) long core_quiet(long n, long a, long b, long c, long d, long whole)
{
	const uint64_t both = 1u << 12 | 1u << 24;
	const long block = 0, set = 2, size = 8;
	const int64_t none[2] = {0, 0}; /* a time */
	uint64_t old = 0, pending = 0;
	int32_t info[32];               /* siginfo_t: the kind is at 8, the process that has sent it at 16 */
	core_sys(CORE_NR_rt_sigprocmask, block, (long)&both, (long)&old, size, 0, 0);
	if (old & both)
		core_sys(CORE_NR_rt_sigpending, (long)&pending, size, 0, 0, 0, 0);
	long r = core_sys(n, a, b, c, d, 0, 0), got = -1;
	uint64_t ours = both & ~pending;
	if (r != whole && ours)
		got = core_sys(CORE_NR_rt_sigtimedwait, (long)&ours, (long)info, (long)none, size, 0, 0);
	if (got > 0 && info[2] <= 0 && info[4] != (int32_t)waot_sys_call(CORE_NR_getpid, 0, 0, 0, 0, 0, 0))
		core_raise((int)got);
	core_sys(CORE_NR_rt_sigprocmask, set, (long)&old, 0, size, 0, 0);
	return r;
}

/* The largest page that a kernel may have, in bytes. What has protections of its own begins at a multiple of it. */
#define CORE_PAGE 65536ull

CORE_INLINE uint64_t core_page_up(uint64_t n) { return (n + CORE_PAGE - 1) & ~(CORE_PAGE - 1); }

#ifdef WAOT_STANDALONE
#define CORE_THREAD static
#elif defined(__cplusplus)
#define CORE_THREAD static thread_local __attribute__((tls_model("initial-exec")))
#else
#define CORE_THREAD static _Thread_local __attribute__((tls_model("initial-exec")))
#endif

/* ---- Text ---- */

/* core_write writes all of a text, or until an error, which is nobody's to hear of. */
static void core_write(int fd, const char *s, size_t n)
{
	while (n > 0) {
		long r = core_quiet(CORE_NR_write, fd, (long)s, (long)n, 0, (long)n);
		if (r <= 0)
			return;
		s += r;
		n -= (size_t)r;
	}
}

/* core_line is a line of text. Where its room ends, it is written to fd and begins again, or cut if there is no fd (-1). */
struct core_line {
	char *at;
	size_t size, room;
	int fd;
};

static void core_flush(struct core_line *l)
{
	core_write(l->fd, l->at, l->size);
	l->size = 0;
}

/* core_put_whole appends n bytes, all of them or none, and reports which. */
static bool core_put_whole(struct core_line *l, const char *s, size_t n)
{
	if (l->fd >= 0 && l->size + n >= l->room)
		core_flush(l);
	if (l->size + n >= l->room)
		return false;
	for (size_t i = 0; i < n; i++)
		l->at[l->size++] = s[i];
	l->at[l->size] = 0;
	return true;
}

static void core_put(struct core_line *l, const char *s, size_t n)
{
	for (size_t i = 0; i < n && core_put_whole(l, s + i, 1); i++)
		;
}

static size_t core_length(const char *s)
{
	size_t n = 0;
	while (s[n])
		n++;
	return n;
}

static void core_puts(struct core_line *l, const char *s) { core_put(l, s, core_length(s)); }

static void core_put_number(struct core_line *l, uint64_t x, unsigned base)
{
	char digits[20];
	size_t n = sizeof digits;
	do {
		digits[--n] = "0123456789abcdef"[x % base];
		x /= base;
	} while (x);
	core_put(l, digits + n, sizeof digits - n);
}

/* core_rune decodes the character at the beginning of n > 0 bytes into *c, and returns its length in bytes; 0 for what is no UTF-8. */
static size_t core_rune(const char *s, size_t n, uint32_t *c)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const uint8_t *p = (const uint8_t *)s;
	*c = p[0];
	if (p[0] < 0x80)
		return 1;
	size_t size = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if (p[0] < 0xc0 || p[0] > 0xf7 || size > n)
		return 0;
	uint32_t v = p[0] & (0x7fu >> size);
	for (size_t i = 1; i < size; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		v = v << 6 | (p[i] & 0x3fu);
	}
	if (v < least[size] || v > 0x10ffff || (v >= 0xd800 && v < 0xe000))
		return 0;
	*c = v;
	return size;
}

/* core_hides reports whether a character from 0x80 on steers a terminal or an editor, or cannot be seen. Package quote has the same ranges. */
static bool core_hides(uint32_t c)
{
	static const uint32_t ranges[][2] = {
		{0x80, 0x9f}, {0x61c, 0x61c}, {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xfffe, 0xffff}, {0xe0000, 0xe0fff},
	};
	for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
		if (c >= ranges[i][0] && c <= ranges[i][1])
			return true;
	return false;
}

/* core_put_name appends a name of n bytes that somebody else has given. What could steer a terminal or break the line is written with digits, as
 * \xNN or \u{N}. It cuts the name between two characters where the line's room or `most` bytes of its end. */
static void core_put_name(struct core_line *l, const char *name, size_t n, size_t most)
{
	while (n > 0) {
		uint32_t c;
		char room[12];
		struct core_line escape = {room, 0, sizeof room, -1};
		const char *unit = name;
		size_t used = core_rune(name, n, &c), size = used;
		if (used == 0 || c < ' ' || c == 0x7f) {
			used = 1;
			core_puts(&escape, c < 16 ? "\\x0" : "\\x");
			core_put_number(&escape, c, 16);
		} else if (core_hides(c)) {
			core_puts(&escape, "\\u{");
			core_put_number(&escape, c, 16);
			core_puts(&escape, "}");
		}
		if (escape.size) {
			unit = room;
			size = escape.size;
		}
		if (size > most) {
			core_puts(l, "...");
			return;
		}
		if (!core_put_whole(l, unit, size))
			return;
		most -= size;
		name += used;
		n -= used;
	}
}

static void core_put_function(struct core_line *l, const waot_frame *f, const char *unnamed, size_t most)
{
	core_puts(l, "function ");
	core_put_number(l, f->function, 10);
	if (f->name_size) {
		core_puts(l, " (");
		core_put_name(l, f->name, f->name_size, most);
		core_puts(l, ")");
	} else {
		core_puts(l, unnamed);
	}
}

static void core_put_offset(struct core_line *l, const waot_frame *f)
{
	core_puts(l, "offset 0x");
	core_put_number(l, f->offset, 16);
}

const char *waot_text(int code)
{
	static const char *const traps[] = {
		"no trap", "unreachable", "out of bounds memory access", "out of bounds table access", "undefined element",
		"uninitialized element", "indirect call type mismatch", "integer overflow", "integer divide by zero",
		"invalid conversion to integer", "call stack exhausted", "null reference", "all fuel consumed", "null structure reference",
		"null array reference", "null i31 reference", "out of bounds array access", "cast failure", "heap exhausted",
	};
	static const char *const errors[] = {
		"the object and the runtime have different versions", "the code needs another processor", "an import is missing or does not fit",
		"out of memory", "the instance exists already", "compiled code may be running",
#ifndef WAOT_STANDALONE
		"no structure or array", "no such field or element", "another type", "an immutable field",
		"objects cannot be collected: a module without objects has called a C function in a call of one with objects",
#endif
	};
	if (code >= 0 && (size_t)code < sizeof traps / sizeof *traps)
		return traps[code];
	if (code < 0 && (size_t)-(long)code <= sizeof errors / sizeof *errors)
		return errors[-code - 1];
	switch (code) {
	case WAOT_THROWN: return "error in a C function";
	case WAOT_EXIT: return "exit";
	case WAOT_EXCEPTION: return "uncaught wasm exception";
	}
	return "unknown trap";
}

/* core_put_trap appends what a trap's message says, with at most so many bytes of the function's name. */
static void core_put_trap(struct core_line *l, const waot_trap *t, size_t most)
{
	if (t->num_frames) {
		const waot_frame *f = &t->frames[0];
		if (f->offset) {
			core_put_offset(l, f);
			core_puts(l, ": ");
		}
		core_put_function(l, f, "", most);
		core_puts(l, ": ");
	}
	if (t->code > 0 && t->code < WAOT_THROWN)
		core_puts(l, "wasm trap: ");
	core_puts(l, t->text);
}

/* core_describe completes a trap whose code and frames are known; detail stands for the text if it is not NULL. */
static void core_describe(waot_trap *t, const char *detail)
{
	struct core_line l = {t->message, 0, sizeof t->message, -1}, name = {t->function, 0, sizeof t->function, -1};
	const size_t most = 128; /* the reason, which is behind the name, must have room, too */
	t->text = detail ? detail : waot_text(t->code);
	t->function[0] = 0;
	t->offset = 0;
	if (t->num_frames) {
		core_put_name(&name, t->frames[0].name, t->frames[0].name_size, sizeof t->function);
		t->offset = t->frames[0].offset;
	}
	core_put_trap(&l, t, most);
}

/* core_fail makes *t, unless it is NULL, an error of instantiation, and returns its code. */
static int core_fail(waot_trap *t, int code, const char *detail)
{
	if (t) {
		t->code = code;
		t->status = 0;
		t->instance = NULL;
		t->exception = 0;
		t->num_frames = 0;
		core_describe(t, detail);
	}
	return code;
}

/* core_print writes a trap behind a line that has been begun. */
static void core_print(struct core_line *l, const waot_trap *t)
{
	core_put_trap(l, t, SIZE_MAX);
	core_puts(l, "\n");
	core_flush(l);
	for (uint32_t i = 0; i < t->num_frames; i++) {
		core_puts(l, i < 10 ? "   " : "  ");
		core_put_number(l, i, 10);
		core_puts(l, ": ");
		core_put_function(l, &t->frames[i], " (?)", SIZE_MAX);
		if (t->frames[i].offset) {
			core_puts(l, " at ");
			core_put_offset(l, &t->frames[i]);
		}
		core_puts(l, "\n");
		core_flush(l);
	}
}

void waot_print(const waot_trap *t, int fd)
{
	char room[512];
	struct core_line l = {room, 0, sizeof room, fd};
	core_print(&l, t);
}

/* ---- Metadata ---- */

/* core_reader reads a section of metadata; at its end it reads zeros and is bad. */
struct core_reader {
	const uint8_t *at, *end;
	bool bad;
};

/* Where adapters keep the frame of the one that was noted before (compile/adapters.go), in words from their frame on, and the marks of frames: C calls compiled code; this runtime does, without an adapter. */
enum { CORE_LINK = -3, CORE_ENTRY = 1, CORE_OWN_ENTRY = 2, CORE_MARKS = 3 };

/* The parts of an instance's data for the heap (internal/abi). */
enum { CORE_HEAP_BASE = 40, CORE_HEAP_ROWS = 48, CORE_HEAP_TYPES = 80 };

enum { CORE_META = 1, CORE_TRAPS = 2, CORE_STACKMAPS = 3, CORE_CALLS = 4, CORE_FORMAT = 11, CORE_HEADER = 20, CORE_DESC_SIZE = 16, CORE_STEPS = 112 };

static struct core_reader core_read(const void *section, int kind)
{
	const uint8_t *p = (const uint8_t *)section;
	struct core_reader r = {p, p, true};
	if (p && memcmp(p, "WAOT", 4) == 0 && p[4] == kind && p[5] == CORE_FORMAT) {
		uint32_t size = p[8] | (uint32_t)p[9] << 8 | (uint32_t)p[10] << 16 | (uint32_t)p[11] << 24;
		r.at = p + CORE_HEADER;
		r.end = r.at + size;
		r.bad = false;
	}
	return r;
}

static uint8_t core_byte(struct core_reader *r)
{
	if (r->at == r->end) {
		r->bad = true;
		return 0;
	}
	return *r->at++;
}

static uint64_t core_number(struct core_reader *r)
{
	uint64_t v = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t b = core_byte(r);
		v |= (uint64_t)(b & 0x7f) << shift;
		if (b < 0x80)
			return v;
	}
	r->bad = true;
	return 0;
}

static uint32_t core_signed(struct core_reader *r)
{
	uint64_t v = core_number(r);
	return (uint32_t)(v >> 1 ^ -(v & 1));
}

/* core_place is the next place, from the last ones of each kind: an offset in the module times two, or the number of an inlined place times two and 1. */
static uint32_t core_place(struct core_reader *r, uint32_t last[2])
{
	uint64_t v = core_number(r);
	if (v < CORE_STEPS)
		return (last[0] += (uint32_t)v) << 1;
	uint64_t d = (v -= CORE_STEPS) >> 1;
	uint32_t kind = v & 1;
	last[kind] += (uint32_t)(d >> 1 ^ -(d & 1));
	return last[kind] << 1 | kind;
}

/* core_string skips a string, and returns its place and size. */
static const char *core_string(struct core_reader *r, uint64_t *size)
{
	uint64_t n = core_number(r);
	const uint8_t *s = r->at;
	if (n > (uint64_t)(r->end - r->at)) {
		r->bad = true;
		n = 0;
	}
	r->at += n;
	*size = n;
	return (const char *)s;
}

static void core_skip(struct core_reader *r, int numbers)
{
	while (numbers-- > 0)
		core_number(r);
}

/* A table of metadata can be packed: a DEFLATE stream (RFC 1951), behind the size of the table. It is unpacked when it is first needed, in
 * memory that its first instance has taken, since what needs it is a trap. It stays, as names of functions are in it. */
struct core_table {
	struct core_table *next;
	const void *section;
	uint64_t size;
	bool unpacked, bad;
	uint8_t bytes[];
};

static struct core_table *core_tables;

/* core_table_of finds the table of a section that is packed. */
static struct core_table *core_table_of(const void *section)
{
	struct core_table *t = __atomic_load_n(&core_tables, __ATOMIC_ACQUIRE);
	while (t && t->section != section)
		t = t->next;
	return t;
}

/* core_take_table takes the memory for a table that is packed. It reports whether there is enough. */
static bool core_take_table(const void *section, int kind)
{
	struct core_reader r = core_read(section, kind);
	uint64_t size = core_number(&r);
	if (r.bad || size == 0 || core_table_of(section))
		return true;
	struct core_table *t = (struct core_table *)core_map(NULL, sizeof *t + size, CORE_PROT_RW, CORE_MAP_ANON | CORE_MAP_NORESERVE, -1, 0);
	if (!t)
		return false;
	t->section = section;
	t->size = size;
	/* Two threads may take the memory at once; then the first table in the list counts. */
	t->next = __atomic_load_n(&core_tables, __ATOMIC_ACQUIRE);
	while (!__atomic_compare_exchange_n(&core_tables, &t->next, t, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		;
	return true;
}

/* core_bits is the state of unpacking. Bits come from the lowest of each byte on. */
struct core_bits {
	struct core_reader from;
	uint32_t held, count; /* bits that have been read and not used */
	uint8_t *to;
	uint64_t at, size;
};

static uint32_t core_take(struct core_bits *b, uint32_t n)
{
	while (b->count < n) {
		b->held |= (uint32_t)core_byte(&b->from) << b->count;
		b->count += 8;
	}
	uint32_t v = b->held & ((1u << n) - 1);
	b->held >>= n;
	b->count -= n;
	return v;
}

/* core_code is a prefix code: how many symbols have codes of each length, and the symbols in the order of their codes. */
struct core_code {
	uint16_t count[16], symbols[288];
};

static void core_make_code(struct core_code *c, const uint8_t *lengths, uint32_t n)
{
	uint16_t next[16];
	memset(c->count, 0, sizeof c->count);
	for (uint32_t i = 0; i < n; i++)
		c->count[lengths[i]]++;
	c->count[0] = next[0] = 0;
	for (int i = 1; i < 16; i++)
		next[i] = (uint16_t)(next[i - 1] + c->count[i - 1]);
	for (uint32_t i = 0; i < n; i++) {
		if (lengths[i])
			c->symbols[next[lengths[i]]++] = (uint16_t)i;
	}
}

static uint32_t core_symbol(struct core_bits *b, const struct core_code *c)
{
	/* The codes of a length follow those of the length before, with one bit more. */
	uint32_t code = 0, first = 0, index = 0;
	for (int length = 1; length < 16; length++) {
		code = code << 1 | core_take(b, 1);
		first <<= 1;
		if (code - first < c->count[length])
			return c->symbols[index + code - first];
		first += c->count[length];
		index += c->count[length];
	}
	b->from.bad = true;
	return 256; /* the end of a block */
}

static void core_put_byte(struct core_bits *b, uint8_t byte)
{
	if (b->at == b->size)
		b->from.bad = true;
	else
		b->to[b->at++] = byte;
}

/* core_put_copies unpacks a block, by the codes of bytes and lengths, and of distances. */
static void core_put_copies(struct core_bits *b, const struct core_code *bytes, const struct core_code *distances)
{
	for (uint32_t s; (s = core_symbol(b, bytes)) != 256 && !b->from.bad;) {
		if (s < 256) {
			core_put_byte(b, (uint8_t)s);
			continue;
		}
		/* From 8 on four lengths at a time, and from 4 on two distances, have one bit more behind their symbol. */
		uint32_t n = s - 257, length = n + 3;
		if (n == 28)
			length = 258;
		else if (n >= 8 && n < 28)
			length = ((4 + n % 4) << (n / 4 - 1)) + 3 + core_take(b, n / 4 - 1);
		uint32_t d = core_symbol(b, distances), distance = d + 1;
		if (n > 28 || d >= 30) {
			b->from.bad = true;
			return;
		}
		if (d >= 4)
			distance = ((2 + d % 2) << (d / 2 - 1)) + 1 + core_take(b, d / 2 - 1);
		if (distance > b->at) {
			b->from.bad = true;
			return;
		}
		while (length-- > 0)
			core_put_byte(b, b->to[b->at - distance]);
	}
}

/* core_put_block unpacks a block, whose codes are described in it if its kind is 2, and else fixed. */
static void core_put_block(struct core_bits *b, uint32_t kind)
{
	static const uint8_t order[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
	struct core_code bytes, distances;
	uint8_t lengths[288 + 32];
	uint32_t num_bytes = 288, num_distances = 30, n = 0;
	if (kind == 1) {
		for (; n < 288; n++)
			lengths[n] = n < 144 ? 8 : n < 256 ? 9 : n < 280 ? 7 : 8;
		memset(lengths + n, 5, num_distances);
	} else {
		uint8_t own[19] = {0};
		num_bytes = 257 + core_take(b, 5);
		num_distances = 1 + core_take(b, 5);
		for (uint32_t i = 0, most = 4 + core_take(b, 4); i < most; i++)
			own[order[i]] = (uint8_t)core_take(b, 3);
		core_make_code(&bytes, own, 19);
		while (n < num_bytes + num_distances && !b->from.bad) {
			uint32_t s = core_symbol(b, &bytes), times = 1;
			uint8_t length = (uint8_t)s;
			if (s >= 16) {
				length = s == 16 && n > 0 ? lengths[n - 1] : 0;
				times = s == 16 ? 3 + core_take(b, 2) : s == 17 ? 3 + core_take(b, 3) : 11 + core_take(b, 7);
			}
			while (times-- > 0 && n < num_bytes + num_distances)
				lengths[n++] = length;
		}
		if (num_bytes > 286 || b->from.bad) {
			b->from.bad = true;
			return;
		}
	}
	core_make_code(&bytes, lengths, num_bytes);
	core_make_code(&distances, lengths + num_bytes, num_distances);
	core_put_copies(b, &bytes, &distances);
}

/* core_unpack unpacks a table. If several threads do, they write the same. */
static void core_unpack(struct core_table *t, struct core_reader from)
{
	struct core_bits b = {from, 0, 0, t->bytes, 0, t->size};
	for (bool last = false; !last && !b.from.bad;) {
		last = core_take(&b, 1);
		uint32_t kind = core_take(&b, 2);
		if (kind == 0) { /* bytes as they are, behind their number and its complement */
			b.held = b.count = 0;
			uint32_t n = core_take(&b, 16);
			core_take(&b, 16);
			while (n-- > 0 && !b.from.bad)
				core_put_byte(&b, core_byte(&b.from));
		} else if (kind == 3) {
			b.from.bad = true;
		} else {
			core_put_block(&b, kind);
		}
	}
	t->bad = b.from.bad || b.at != t->size;
	__atomic_store_n(&t->unpacked, true, __ATOMIC_RELEASE);
}

/* core_read_table is core_read of a table that may be packed. */
static struct core_reader core_read_table(const void *section, int kind)
{
	struct core_reader r = core_read(section, kind);
	uint64_t size = core_number(&r);
	if (r.bad || size == 0)
		return r;
	struct core_table *t = core_table_of(section);
	if (!t) { /* no instance has taken memory for it */
		r.bad = true;
		return r;
	}
	if (!__atomic_load_n(&t->unpacked, __ATOMIC_ACQUIRE))
		core_unpack(t, r);
	r.at = t->bytes;
	r.end = r.at + t->size;
	r.bad = t->bad;
	return r;
}

/* core_import skips where something is imported from, and reports whether it is. */
static bool core_import(struct core_reader *r)
{
	uint64_t n;
	if (!core_byte(r))
		return false;
	core_string(r, &n);
	core_string(r, &n);
	return true;
}

/* core_meta is the part of the metadata that instantiation needs. r stands where the section goes on. */
struct core_meta {
	struct core_reader r;
	const char *arch, *cpu;
	uint64_t arch_size, cpu_size, helpers, type_slots, num_type_slots;
	const uint8_t *globals; /* the list */
};

/* core_read_meta reads up to the globals, which is where r stands. It reports whether this runtime understands the object. */
static bool core_read_meta(const waot_object *o, struct core_meta *m)
{
	uint64_t n, skipped;
	struct core_reader *r = &m->r;
	if (o->abi != WAOT_ABI && o->abi != WAOT_ABI_CHECKED && o->abi != WAOT_ABI_EXCEPTIONS && o->abi != WAOT_ABI_HEAP)
		return false;
	*r = core_read(o->meta, CORE_META);
	if (core_number(r) != (o->abi >= WAOT_ABI_EXCEPTIONS ? o->abi : WAOT_ABI))
		return false;
	m->arch = core_string(r, &m->arch_size);
	m->cpu = core_string(r, &m->cpu_size);
	core_string(r, &skipped);
	core_skip(r, 1);
	m->helpers = core_number(r);
	m->type_slots = core_number(r);
	m->num_type_slots = core_number(r);
	for (n = m->num_type_slots; n > 0 && !r->bad; n--)
		core_skip(r, 1);
	for (n = core_number(r); n > 0 && !r->bad; n--)
		core_string(r, &skipped), core_string(r, &skipped);
	for (n = core_number(r); n > 0 && !r->bad; n--) {
		core_skip(r, 2);
		core_byte(r);
		core_skip(r, 1);
		core_import(r);
	}
	for (n = core_number(r); n > 0 && !r->bad; n--) {
		core_skip(r, 1);
		core_byte(r);
		core_skip(r, 1);
		core_byte(r);
		core_skip(r, 1);
		core_import(r);
	}
	m->globals = r->at;
	return !r->bad;
}

/* core_global is an entry of the list of globals. */
struct core_global {
	uint64_t offset;
	uint8_t type;
	bool imported;
};

static struct core_global core_read_global(struct core_reader *r)
{
	struct core_global g;
	g.offset = core_number(r);
	g.type = core_byte(r);
	core_byte(r);
	g.imported = core_import(r);
	return g;
}

/* core_read_funcs goes from the globals to the functions, and returns their number. */
static uint64_t core_read_funcs(struct core_reader *r)
{
	uint64_t n;
	for (n = core_number(r); n > 0 && !r->bad; n--)
		core_read_global(r);
	for (n = core_number(r); n > 0 && !r->bad; n--)
		core_skip(r, 3);
	for (n = core_number(r); n > 0 && !r->bad; n--)
		core_skip(r, 5);
	return core_number(r);
}

/* core_func is an entry of the list of functions. */
struct core_func {
	uint32_t slot, text, size, frame, desc;
	bool imported, has_desc;
	uint32_t next_text, next_desc; /* where those of the next function may be */
};

/* core_next_func reads an entry behind *f, which is at first all zeros. */
static void core_next_func(struct core_reader *r, struct core_func *f)
{
	core_skip(r, 1);
	f->imported = core_import(r);
	f->has_desc = false;
	if (f->imported) {
		f->slot = (uint32_t)core_number(r);
		return;
	}
	f->text = f->next_text + core_signed(r);
	f->size = (uint32_t)core_number(r);
	f->next_text = f->text + f->size;
	f->frame = (uint32_t)core_number(r);
	f->has_desc = core_byte(r);
	if (f->has_desc) {
		f->desc = f->next_desc + core_signed(r);
		f->next_desc = f->desc + CORE_DESC_SIZE;
	}
}

/* core_site is an entry of the traps. */
struct core_site {
	uint8_t code, fault, memory;
	uint64_t place;
};

/* Kinds of fault. */
enum { CORE_FAULT_UNDEFINED, CORE_FAULT_MEMORY, CORE_FAULT_NULL, CORE_FAULT_DIVIDE };

/* core_find_trap finds the trap of the instruction at an offset in the text. */
static bool core_find_trap(const waot_object *o, uint64_t offset, struct core_site *s)
{
	struct core_reader r = core_read_table(o->traps, CORE_TRAPS);
	for (uint64_t kinds = core_number(&r); kinds > 0 && !r.bad; kinds--) {
		s->code = core_byte(&r);
		s->fault = core_byte(&r);
		s->memory = core_byte(&r);
		uint64_t at = 0;
		uint32_t last[2] = {0, 0};
		for (uint64_t n = core_number(&r); n > 0 && !r.bad; n--) {
			at += core_number(&r);
			s->place = core_place(&r, last);
			if (at == offset)
				return !r.bad;
		}
	}
	return false;
}

/* ---- Instances ---- */

/* A spare instance is nobody's: it waits, emptied, for the next waot_instance_map of its object. */
/* What is in a table of one that changes may be gone at any time. */
enum core_state { CORE_FREE, CORE_SPARE, CORE_CHANGING, CORE_NEW, CORE_READY, CORE_FAILED };

/* An instance. All are in one list, and none leaves it: a free one is used again. So a signal handler can read the list at any time. */
struct waot_instance {
	waot_instance *next;
	const waot_object *object;
	uint64_t text, text_size;       /* text_size is 0 while the others change */
	uint64_t delta;                 /* how far text and data are from those that are linked */
	char *span;                     /* what a further instance occupies */
	uint64_t span_size;
	char *pristine;                 /* copy of the linked instance's data before init */
	char *filled;                   /* copy of this instance's data before init, NULL before the first reset, or before it was spare */
	struct core_file *file;         /* where the linked instance's code comes from, NULL before it is looked for */
	void *user, *wasi;
	void (*initialize)(void);       /* what runs behind init, or NULL */
	waot_instance *spare;           /* the next spare one */
	bool lent;                      /* another instance has imported a global */
	bool emptied;                   /* before now */
	int state;
	struct core_unwind *unwind;     /* what unwinding needs to know of the object, NULL before it is first needed */
	struct core_exception *exceptions; /* those that its code has made references to, */
	uint64_t num_exceptions, most_exceptions; /* how many, and how many there are when those are freed that nothing refers to */
	uint64_t exception_bytes;       /* what they take */
	struct core_roots *roots;       /* what collections of the heap need to know of the object, NULL before they first do */
};

/* Other threads look at the state of an instance whose thread changes it. */
static int core_state(const waot_instance *i) { return __atomic_load_n(&i->state, __ATOMIC_RELAXED); }
static void core_set_state(waot_instance *i, int state) { __atomic_store_n(&i->state, state, __ATOMIC_RELAXED); }

static waot_instance *core_instances, *core_spares;
static char core_lock_word;

static void core_lock(void)
{
	/* Whoever has it may wait for a processor. */
	for (int n = 1; __atomic_test_and_set(&core_lock_word, __ATOMIC_ACQUIRE); n++)
		if (n % 64 == 0)
			waot_sys_call(CORE_NR_sched_yield, 0, 0, 0, 0, 0, 0);
}

static void core_unlock(void) { __atomic_clear(&core_lock_word, __ATOMIC_RELEASE); }

/* core_of_text finds the instance whose text holds an address. */
static waot_instance *core_of_text(uint64_t pc)
{
	waot_instance *i = __atomic_load_n(&core_instances, __ATOMIC_ACQUIRE);
	for (; i; i = i->next) {
		uint64_t size = __atomic_load_n(&i->text_size, __ATOMIC_ACQUIRE);
		if (pc - __atomic_load_n(&i->text, __ATOMIC_ACQUIRE) < size)
			return i;
	}
	return NULL;
}

/* core_adapter_of finds the instance in whose adapters an address is. */
static waot_instance *core_adapter_of(uint64_t pc)
{
	waot_instance *i = __atomic_load_n(&core_instances, __ATOMIC_ACQUIRE);
	for (; i; i = i->next) {
		if (__atomic_load_n(&i->text_size, __ATOMIC_ACQUIRE) && pc - (uint64_t)i->object->adapters - i->delta < i->object->adapters_size)
			return i;
	}
	return NULL;
}

static bool core_is_adapter(uint64_t pc) { return core_adapter_of(pc); }

/* core_show makes an instance one that exists and is not initialised; the lock is held. */
static void core_show(waot_instance *i)
{
	i->user = i->wasi = NULL;
	i->initialize = NULL;
	i->lent = false;
	core_set_state(i, CORE_NEW);
	__atomic_store_n(&i->text_size, i->object->text_size, __ATOMIC_RELEASE);
}

/* core_add puts an instance into the list, whose lock is held. */
static waot_instance *core_add(const waot_object *o, uint64_t delta)
{
	waot_instance *i = core_instances;
	while (i && core_state(i) != CORE_FREE)
		i = i->next;
	if (!i) {
		/* Sixteen at once, the others free. */
		waot_instance *block = (waot_instance *)core_map(NULL, 16 * sizeof *block, CORE_PROT_RW, CORE_MAP_ANON, -1, 0);
		if (!block)
			return NULL;
		for (int n = 0; n < 16; n++)
			block[n].next = n < 15 ? &block[n + 1] : core_instances;
		__atomic_store_n(&core_instances, block, __ATOMIC_RELEASE);
		i = block;
	}
	i->object = o;
	i->delta = delta;
	i->span = NULL;
	i->span_size = 0;
	i->pristine = i->filled = NULL;
	i->file = NULL;
	i->emptied = false;
	i->unwind = NULL;
	i->roots = NULL;
	i->exceptions = NULL;
	i->num_exceptions = i->most_exceptions = i->exception_bytes = 0;
	__atomic_store_n(&i->text, (uint64_t)o->text + delta, __ATOMIC_RELEASE);
	core_show(i);
	return i;
}

/* core_linked is the linked instance of an object; the lock is held. */
static waot_instance *core_linked(const waot_object *o)
{
	for (waot_instance *i = core_instances; i; i = i->next) {
		if (core_state(i) != CORE_FREE && i->object == o && i->delta == 0)
			return i;
	}
	return core_add(o, 0);
}

waot_instance *waot_instance_of(const waot_object *o)
{
	core_lock();
	waot_instance *i = core_linked(o);
	core_unlock();
	return i;
}

void *waot_moved(waot_instance *i, const void *linked) { return (void *)((uint64_t)linked + i->delta); }
void **waot_instance_user(waot_instance *i) { return &i->user; }
void **waot_instance_wasi(waot_instance *i) { return &i->wasi; }

/* core_slots is how many memories and tables an object has; core_slot is one of them, memories first. */
static uint64_t core_slots(const waot_object *o) { return o->num_memories + o->num_tables; }

static const struct waot_slot *core_slot(const waot_object *o, uint64_t n)
{
	return n < o->num_memories ? &o->memories[n] : &o->tables[n - o->num_memories];
}

/* core_base is where the base of a memory or table of the instance is kept. */
static void **core_base(waot_instance *i, const struct waot_slot *s) { return (void **)waot_moved(i, s->base); }

uint8_t *waot_memory_base(waot_instance *i, uint32_t memory)
{
	return memory < i->object->num_memories ? (uint8_t *)*core_base(i, &i->object->memories[memory]) : NULL;
}

uint64_t waot_memory_size(waot_instance *i, uint32_t memory) { return waot_memory_at(waot_memory_base(i, memory)).size; }

/* The flag of a slot: the memory is exported as "memory", and not the first. */
#define CORE_MAIN 16

uint32_t waot_memory_main(waot_instance *i)
{
	for (uint64_t m = 1; m < i->object->num_memories; m++)
		if (i->object->memories[m].flags & CORE_MAIN)
			return (uint32_t)m;
	return 0;
}

/* ---- Memories and tables ---- */

/* Behind the base of a memory, any index + offset + width is within this. */
#define CORE_RESERVATION ((8ull << 30) + CORE_PAGE)
/* The flag of a slot: code checks the bounds of the memory. */
#define CORE_CHECKED 8

/* core_new_block reserves bytes behind a page for the words before the base; the first of them can be accessed. */
static void *core_new_block(uint64_t reserved, uint64_t used, uint64_t size, uint64_t max)
{
	char *p = core_reserve(CORE_PAGE + reserved);
	if (!p)
		return NULL;
	if (!core_protect(p, CORE_PAGE + used, CORE_PROT_RW)) {
		core_unmap(p, CORE_PAGE + reserved);
		return core_free_spares() ? core_new_block(reserved, used, size, max) : NULL;
	}
	uint64_t *base = (uint64_t *)(p + CORE_PAGE);
	base[-1] = size;
	base[-2] = max;
	base[-3] = reserved;
	base[-4] = (uint64_t)base; /* where code with explicit bounds checks finds the base of a memory */
	base[-5] = 0;              /* 1 when an instance has imported it */
	return base;
}

static void core_free_block(void *base)
{
	if (base)
		core_unmap((char *)base - CORE_PAGE, CORE_PAGE + ((uint64_t *)base)[-3]);
}

void *waot_memory_new(uint64_t min, uint64_t max)
{
	if (max > 65536)
		max = 65536;
	if (min > max)
		return NULL;
	return core_new_block(CORE_RESERVATION, min * WAOT_PAGE, min * WAOT_PAGE, max);
}

/* core_own makes a memory of code with explicit bounds checks, or a table, of the instance itself: it has the addresses of its maximum, or a lower maximum where
 * these are short. Then `spare` bytes of addresses are left for what follows. */
static void *core_own(bool memory, uint64_t min, uint64_t max, uint64_t spare)
{
	if (memory && max > 65536)
		max = 65536;
	for (; min <= max; max = max / 2 > min ? max / 2 : min) {
		char *kept = core_reserve(spare);
		void *base = !kept && max != min ? NULL :
			memory ? core_new_block(max * WAOT_PAGE, min * WAOT_PAGE, min * WAOT_PAGE, max) : waot_table_new(min, max);
		core_unmap(kept, spare);
		if (base || max == min)
			return base;
	}
	return NULL;
}

/* core_least is how many addresses an instance needs at least for its own memories and tables from slot n on, and for what it does later, in bytes. */
static uint64_t core_least(const waot_object *o, uint64_t n)
{
	uint64_t least = 4 << 20;
	for (; n < core_slots(o); n++) {
		bool memory = n < o->num_memories;
		const struct waot_slot *s = core_slot(o, n);
		if (!(s->flags & 1))
			least += CORE_PAGE + core_page_up(s->min * (memory ? WAOT_PAGE : 8));
	}
	return least;
}

void *waot_table_new(uint64_t min, uint64_t max)
{
	if (max > 0xffffffff)
		max = 0xffffffff;
	if (min > max)
		return NULL;
	return core_new_block(core_page_up(8 * max), core_page_up(8 * min), min, max);
}

CORE_INLINE void core_fill_words(uint64_t *to, uint64_t word, uint64_t words)
{
	for (uint64_t i = 0; i < words; i++)
		to[i] = word;
}

CORE_HELPER uint64_t waot_memory_grow(void *base, uint64_t pages)
{
	uint64_t *word = (uint64_t *)base, size = word[-1] / WAOT_PAGE;
	if (size > word[-2] || pages > word[-2] - size)
		return UINT64_MAX;
	if (!core_protect((char *)base + size * WAOT_PAGE, pages * WAOT_PAGE, CORE_PROT_RW))
		return UINT64_MAX;
	word[-1] = (size + pages) * WAOT_PAGE;
	return size;
}

CORE_HELPER uint64_t waot_table_grow(void *base, uint64_t elements, uint64_t init)
{
	uint64_t *word = (uint64_t *)base, size = word[-1];
	if (size > word[-2] || elements > word[-2] - size)
		return UINT64_MAX;
	uint64_t from = core_page_up(8 * size), to = core_page_up(8 * (size + elements));
	if (!core_protect((char *)base + from, to - from, CORE_PROT_RW))
		return UINT64_MAX;
	core_fill_words(word + size, init, elements);
	word[-1] = size + elements;
	return size;
}

CORE_HELPER void waot_memmove(void *to, const void *from, uint64_t bytes) { memmove(to, from, bytes); }
CORE_HELPER void waot_memset(void *to, uint64_t byte, uint64_t bytes) { memset(to, (int)(byte & 0xff), bytes); }
CORE_HELPER void waot_table_fill(void *to, uint64_t word, uint64_t words) { core_fill_words((uint64_t *)to, word, words); }

/* ---- Threads, and leaving compiled code ---- */

/* core_context is where a waot_try goes on. The order of the registers is known to the assembly below. */
struct core_context {
	uint64_t registers[20];
	struct core_context *outer;
	waot_trap *out;
};

CORE_THREAD struct core_context *core_top, *core_scanning; /* the latter while the stack is looked at */
CORE_THREAD char *core_signal_stack;

#define CORE_SIGNAL_STACK 65536ull

/* core_enter saves callee-saved registers, calls f(arg) and returns 0. core_leave returns from core_enter once more, with a code. */
CORE_HIDDEN int waot_core_enter(struct core_context *c, void (*f)(void *), void *arg);
WAOT_NORETURN CORE_HIDDEN void waot_core_leave(struct core_context *c, int code);
CORE_HIDDEN void waot_core_restorer(void);

/* core_forget_exits forgets calls of C functions that are left without a return: their adapters have frames from one address up to another. Those of other threads have other stacks. */
static void core_forget_exits(uint64_t from, uint64_t to)
{
	uint64_t exit;
	while ((exit = core_last_exit() & ~(uint64_t)CORE_MARKS) && exit >= from && exit < to)
		core_set_exit(((const uint64_t *)exit)[CORE_LINK]);
}

/* core_leave goes on in a waot_try, from a frame at an address or above it. */
WAOT_NORETURN static void core_leave(struct core_context *c, int code, const void *from)
{
	core_forget_exits((uint64_t)from, (uint64_t)c);
	waot_core_leave(c, code);
}

#ifdef __x86_64__
__asm__(
	".pushsection .text\n"
	".p2align 4\n"
	".globl waot_core_enter\n.hidden waot_core_enter\n.type waot_core_enter, @function\n"
	"waot_core_enter:\n"
	".cfi_startproc\n"
	"push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\n"
	"mov %rsp, %rbp\n.cfi_def_cfa_register %rbp\n"
	"mov %rbp, (%rdi)\nmov %rbx, 8(%rdi)\nmov %r12, 16(%rdi)\nmov %r13, 24(%rdi)\nmov %r14, 32(%rdi)\nmov %r15, 40(%rdi)\n"
	"mov %rdx, %rdi\n"
	"call *%rsi\n"
	"xor %eax, %eax\n"
	"pop %rbp\n.cfi_def_cfa %rsp, 8\n.cfi_restore %rbp\n"
	"ret\n"
	".cfi_endproc\n.size waot_core_enter, . - waot_core_enter\n"
	".p2align 4\n"
	".globl waot_core_leave\n.hidden waot_core_leave\n.type waot_core_leave, @function\n"
	"waot_core_leave:\n"
	".cfi_startproc\n" /* from where rbp is that of core_enter, the frame is */
	"mov 8(%rdi), %rbx\n.cfi_undefined %rbx\nmov 16(%rdi), %r12\n.cfi_undefined %r12\nmov 24(%rdi), %r13\n.cfi_undefined %r13\n"
	"mov 32(%rdi), %r14\n.cfi_undefined %r14\nmov 40(%rdi), %r15\n.cfi_undefined %r15\n"
	"mov (%rdi), %rbp\n.cfi_def_cfa %rbp, 16\n.cfi_offset %rbp, -16\n"
	".cfi_restore %rbx\n.cfi_restore %r12\n.cfi_restore %r13\n.cfi_restore %r14\n.cfi_restore %r15\n"
	"mov %rbp, %rsp\n"
	"mov %esi, %eax\n"
	"pop %rbp\n.cfi_def_cfa %rsp, 8\n.cfi_restore %rbp\n"
	"ret\n"
	".cfi_endproc\n.size waot_core_leave, . - waot_core_leave\n"
	".p2align 4\n"
	".globl waot_core_restorer\n.hidden waot_core_restorer\n.type waot_core_restorer, @function\n"
	"nop\n"
	"waot_core_restorer:\n"
	"mov $15, %rax\n"
	"syscall\n"
	".size waot_core_restorer, . - waot_core_restorer\n"
	".popsection\n");
#else
__asm__(
	".pushsection .text\n"
	".p2align 4\n"
	".globl waot_core_enter\n.hidden waot_core_enter\n.type waot_core_enter, %function\n"
	"waot_core_enter:\n"
	".cfi_startproc\n"
	"hint #34\n"
	"stp x29, x30, [sp, #-16]!\n.cfi_def_cfa_offset 16\n.cfi_offset x29, -16\n.cfi_offset x30, -8\n"
	"mov x29, sp\n.cfi_def_cfa_register x29\n"
	"stp x29, x19, [x0]\nstp x20, x21, [x0, #16]\nstp x22, x23, [x0, #32]\nstp x24, x25, [x0, #48]\nstp x26, x27, [x0, #64]\nstr x28, [x0, #80]\n"
	"stp d8, d9, [x0, #88]\nstp d10, d11, [x0, #104]\nstp d12, d13, [x0, #120]\nstp d14, d15, [x0, #136]\n"
	"mov x0, x2\n"
	"blr x1\n"
	"mov w0, #0\n"
	"ldp x29, x30, [sp], #16\n.cfi_def_cfa sp, 0\n.cfi_restore x29\n.cfi_restore x30\n"
	"ret\n"
	".cfi_endproc\n.size waot_core_enter, . - waot_core_enter\n"
	".p2align 4\n"
	".globl waot_core_leave\n.hidden waot_core_leave\n.type waot_core_leave, %function\n"
	"waot_core_leave:\n"
	".cfi_startproc\n"
	"hint #34\n"
	/* The caller's frame is gone when its registers are; from where x29 is that of core_enter, the frame is. */
	".irp n, 19,20,21,22,23,24,25,26,27,28,72,73,74,75,76,77,78,79\n.cfi_undefined \\n\n.endr\n"
	"ldp d8, d9, [x0, #88]\nldp d10, d11, [x0, #104]\nldp d12, d13, [x0, #120]\nldp d14, d15, [x0, #136]\n"
	"ldp x20, x21, [x0, #16]\nldp x22, x23, [x0, #32]\nldp x24, x25, [x0, #48]\nldp x26, x27, [x0, #64]\nldr x28, [x0, #80]\n"
	"ldp x29, x19, [x0]\n.cfi_def_cfa x29, 16\n.cfi_offset x29, -16\n.cfi_offset x30, -8\n"
	".irp n, 19,20,21,22,23,24,25,26,27,28,72,73,74,75,76,77,78,79\n.cfi_restore \\n\n.endr\n"
	"mov sp, x29\n"
	"mov w0, w1\n"
	"ldp x29, x30, [sp], #16\n.cfi_def_cfa sp, 0\n.cfi_restore x29\n.cfi_restore x30\n"
	"ret\n"
	".cfi_endproc\n.size waot_core_leave, . - waot_core_leave\n"
	".popsection\n");
#endif

/* struct stack_t of the kernel. */
struct core_stack {
	void *at;
	int32_t flags;
	size_t size;
};

enum {
	CORE_SIGILL = 4, CORE_SIGABRT = 6, CORE_SIGBUS = 7, CORE_SIGFPE = 8, CORE_SIGSEGV = 11,
	CORE_SA_SIGINFO = 4, CORE_SA_RESTORER = 0x4000000, CORE_SA_ONSTACK = 0x8000000, CORE_SA_NODEFER = 0x40000000,
	CORE_SIG_BLOCK = 0, CORE_SIG_UNBLOCK = 1
};

int waot_thread_begin(void)
{
	if (core_signal_stack)
		return 0;
	/* A fault whose signal is blocked ends the process, and threads that leave signals to others may have blocked all. */
	const uint64_t faults = 1u << (CORE_SIGILL - 1) | 1u << (CORE_SIGBUS - 1) | 1u << (CORE_SIGFPE - 1) | 1u << (CORE_SIGSEGV - 1);
	waot_sys_call(CORE_NR_rt_sigprocmask, CORE_SIG_UNBLOCK, (long)&faults, 0, 8, 0, 0);
	struct core_stack s;
	enum { disabled = 2 };
	long r = waot_sys_call(CORE_NR_sigaltstack, 0, (long)&s, 0, 0, 0, 0);
	if (r == 0 && !(s.flags & disabled) && s.size >= CORE_SIGNAL_STACK / 4)
		return 0; /* the program has one that is large enough */
	/* The lowest page stays out of reach. */
	char *p = core_reserve(CORE_PAGE + CORE_SIGNAL_STACK);
	if (!p)
		return WAOT_ERROR_MEMORY;
	s.at = p + CORE_PAGE;
	s.flags = 0;
	s.size = CORE_SIGNAL_STACK;
	if (!core_protect(s.at, s.size, CORE_PROT_RW) || waot_sys_call(CORE_NR_sigaltstack, (long)&s, 0, 0, 0, 0, 0)) {
		core_unmap(p, CORE_PAGE + CORE_SIGNAL_STACK);
		return WAOT_ERROR_MEMORY;
	}
	core_signal_stack = p;
	return 0;
}

void waot_thread_end(void)
{
	struct core_stack s = {NULL, 2, 0};
	if (!core_signal_stack)
		return;
	waot_sys_call(CORE_NR_sigaltstack, (long)&s, 0, 0, 0, 0, 0);
	core_unmap(core_signal_stack, CORE_PAGE + CORE_SIGNAL_STACK);
	core_signal_stack = NULL;
}

int waot_try(waot_trap *out, void (*f)(void *), void *arg)
{
	struct core_context c;
	waot_thread_begin(); /* without its stack, only stack overflows end the process */
	c.outer = core_top;
	c.out = out;
	core_top = &c;
	int code = waot_core_enter(&c, f, arg);
	core_top = c.outer;
	if (code == 0 && out) {
		out->code = 0;
		out->status = 0;
		out->text = waot_text(0);
		out->message[0] = out->function[0] = 0;
		out->offset = out->num_frames = 0;
		out->instance = NULL;
		out->exception = 0;
	}
	return code;
}

/* The kernel's struct sigaction. */
struct core_action {
	union {
		void (*simple)(int);
		void (*full)(int, void *, void *);
		uint64_t word;
	} handler;
	uint64_t flags;
	void (*restorer)(void);
	uint64_t mask;
};

static void core_set_action(int signal, const struct core_action *to, struct core_action *old)
{
	waot_sys_call(CORE_NR_rt_sigaction, signal, (long)to, (long)old, 8, 0, 0);
}

/* core_abort ends the process as abort() does. */
WAOT_NORETURN static void core_abort(void)
{
	uint64_t mask = 1ull << (CORE_SIGABRT - 1);
	waot_sys_call(CORE_NR_rt_sigprocmask, CORE_SIG_UNBLOCK, (long)&mask, 0, 8, 0, 0);
	core_raise(CORE_SIGABRT);
	struct core_action none;
	memset(&none, 0, sizeof none);
	core_set_action(CORE_SIGABRT, &none, NULL);
	core_raise(CORE_SIGABRT);
	for (;;)
		waot_sys_call(CORE_NR_exit_group, 134, 0, 0, 0, 0, 0);
}

WAOT_NORETURN static void core_die(const char *text)
{
	char room[320];
	struct core_line l = {room, 0, sizeof room, 2};
	core_puts(&l, "waot: ");
	core_puts(&l, text);
	core_puts(&l, "\n");
	core_flush(&l);
	core_abort();
}

void waot_throw(const char *text)
{
	if (!core_top)
		core_die(text);
	core_fail(core_top->out, WAOT_THROWN, text);
	core_leave(core_top, WAOT_THROWN, __builtin_frame_address(0));
}

void waot_exit_guest(int32_t status)
{
	if (!core_top) {
		for (;;)
			waot_sys_call(CORE_NR_exit_group, status, 0, 0, 0, 0, 0);
	}
	core_fail(core_top->out, WAOT_EXIT, NULL);
	if (core_top->out)
		core_top->out->status = status;
	core_leave(core_top, WAOT_EXIT, __builtin_frame_address(0));
}

/* ---- Backtraces ---- */

/* core_raw is a frame as the stack has it. */
struct core_raw {
	waot_instance *instance;
	uint64_t offset;        /* of the return address in the text, or of the instruction that trapped */
	uint64_t place;         /* encoded as in the metadata; 0 is not known */
	uint32_t function;
};

/* core_walk finds the frames around one that has the frame pointer fp, up to the C function that called compiled code. */
static uint32_t core_walk(struct core_raw *raw, uint32_t n, uint64_t fp)
{
	while (n < WAOT_MAX_FRAMES && fp % 8 == 0 && fp >= 4096) {
		const uint64_t *frame = (const uint64_t *)fp;
		waot_instance *i = core_of_text(frame[1]);
		if (!i) {
			/* An adapter of a call to another instance, or of one from C, behind which there are no frames of ours. */
			if (!core_is_adapter(frame[1]) || frame[0] <= fp || !core_of_text(((const uint64_t *)frame[0])[1]))
				break;
			fp = frame[0];
			continue;
		}
		raw[n].instance = i;
		raw[n].offset = frame[1] - i->text;
		raw[n].place = 0;
		raw[n].function = UINT32_MAX;
		n++;
		if (frame[0] <= fp)
			break;
		fp = frame[0];
	}
	return n;
}

/* core_landmarks are the sites of the first kind of traps, which calls are told by. */
struct core_landmarks {
	struct core_reader r;
	uint64_t left;
};

static struct core_landmarks core_read_landmarks(const waot_object *o)
{
	struct core_landmarks l = {core_read_table(o->traps, CORE_TRAPS), 0};
	if (core_number(&l.r) > 0) {
		for (int n = 0; n < 3; n++) /* the kind */
			core_byte(&l.r);
		l.left = core_number(&l.r);
	}
	return l;
}

/* core_places finds the places of the calls of an object, from frame first on. */
static void core_places(const waot_object *o, struct core_raw *raw, uint32_t first, uint32_t n)
{
	struct core_reader r = core_read_table(o->calls, CORE_CALLS);
	struct core_landmarks marks = core_read_landmarks(o);
	uint64_t at = 0, mark = 0;
	uint32_t last[2] = {0, 0}, last_mark[2] = {0, 0};
	for (uint64_t left = core_number(&r); left > 0 && !r.bad; left--) {
		for (uint64_t passed = core_number(&r); passed > 0 && marks.left > 0 && !marks.r.bad; passed--, marks.left--) {
			mark += core_number(&marks.r);
			uint32_t kind = core_place(&marks.r, last_mark) & 1;
			at = mark;
			last[kind] = last_mark[kind];
		}
		at += core_number(&r);
		uint32_t place = core_place(&r, last);
		for (uint32_t i = first; i < n; i++) {
			if (raw[i].offset == at && raw[i].instance->object == o)
				raw[i].place = place;
		}
	}
}

/* core_functions finds the functions that hold the frames of an object. A return address may be the end of its function. */
static void core_functions(const waot_object *o, struct core_raw *raw, uint32_t calls, uint32_t n)
{
	struct core_meta m;
	if (!core_read_meta(o, &m))
		return;
	uint64_t funcs = core_read_funcs(&m.r);
	struct core_func f;
	memset(&f, 0, sizeof f);
	for (uint64_t k = 0; k < funcs && !m.r.bad; k++) {
		core_next_func(&m.r, &f);
		if (f.imported)
			continue;
		for (uint32_t i = 0; i < n; i++) {
			if (raw[i].instance->object == o && raw[i].offset - (i >= calls) - f.text < f.size)
				raw[i].function = (uint32_t)k;
		}
	}
}

/* CORE_ENDED is the place around an inlined one if that has taken the place of the function that it is inlined in, by a tail call. */
#define CORE_ENDED 0xfffffffeull

/* core_inlined is the function and offset of an inlined place, and the place around it. */
static bool core_inlined(const waot_object *o, uint64_t index, uint32_t *function, uint32_t *offset, uint64_t *caller)
{
	struct core_reader r = core_read_table(o->calls, CORE_CALLS);
	for (uint64_t n = core_number(&r); n > 0 && !r.bad; n--)
		core_skip(&r, 3);
	uint64_t n = core_number(&r);
	uint32_t last[2] = {0, 0};
	*function = *offset = 0;
	for (uint64_t i = 0; i < n && i <= index && !r.bad; i++) {
		*function += core_signed(&r);
		*offset += core_signed(&r);
		*caller = core_place(&r, last);
	}
	return index < n && !r.bad;
}

/* core_names finds the names of the functions of an object. */
static void core_names(const waot_object *o, waot_trap *t)
{
	struct core_reader r = core_read_table(o->calls, CORE_CALLS);
	for (uint64_t n = core_number(&r); n > 0 && !r.bad; n--)
		core_skip(&r, 3);
	for (uint64_t n = core_number(&r); n > 0 && !r.bad; n--)
		core_skip(&r, 3);
	uint64_t funcs = core_number(&r);
	for (uint64_t k = 0; k < funcs && !r.bad; k++) {
		uint64_t size;
		const char *name = core_string(&r, &size);
		for (uint32_t i = 0; i < t->num_frames; i++) {
			if (t->frames[i].instance->object == o && t->frames[i].function == k) {
				t->frames[i].name = name;
				t->frames[i].name_size = (uint32_t)size;
			}
		}
	}
}

static void core_add_frame(waot_trap *t, waot_instance *i, uint32_t function, uint32_t offset)
{
	if (t->num_frames == WAOT_MAX_FRAMES)
		return;
	waot_frame *f = &t->frames[t->num_frames++];
	f->name = "";
	f->name_size = 0;
	f->function = function;
	f->offset = offset;
	f->instance = i;
}

/* core_resolve makes frames of raw ones, of which those before calls are no calls. It looks each object's tables through once. */
static void core_resolve(waot_trap *t, struct core_raw *raw, uint32_t calls, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const waot_object *o = raw[i].instance->object;
		bool seen = false;
		for (uint32_t j = 0; j < i; j++)
			seen = seen || raw[j].instance->object == o;
		if (!seen) {
			core_places(o, raw, calls, n);
			core_functions(o, raw, calls, n);
		}
	}
	t->num_frames = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t place = raw[i].place, caller = 0;
		uint32_t function, offset;
		while (place & 1 && core_inlined(raw[i].instance->object, place >> 1, &function, &offset, &caller)) {
			core_add_frame(t, raw[i].instance, function, offset);
			place = caller;
		}
		if (place != CORE_ENDED)
			core_add_frame(t, raw[i].instance, raw[i].function, (uint32_t)(place >> 1));
	}
	for (uint32_t i = 0; i < t->num_frames; i++) {
		const waot_object *o = t->frames[i].instance->object;
		bool seen = false;
		for (uint32_t j = 0; j < i; j++)
			seen = seen || t->frames[j].instance->object == o;
		if (!seen)
			core_names(o, t);
	}
}

waot_instance *waot_caller_at(void *return_address, void *frame)
{
	uint64_t pc = (uint64_t)return_address;
	waot_instance *i = core_of_text(pc);
	if (i || !core_is_adapter(pc))
		return i;
	/* An adapter has called: its frame is around that of the C function. */
	const uint64_t *adapter = *(const uint64_t *const *)frame;
	return core_of_text(adapter[1]);
}

/* ---- Exceptions ---- */

/* The exception under way, as compiled code has it in the instance's data. */
struct core_current {
	uint64_t tag, ref, args[];
};

/* An exception that there may be references to. */
struct core_exception {
	struct core_exception *next;    /* of the same instance, or of the same list of free ones */
	struct core_exception *gray;    /* the next one whose arguments are still to be looked at */
	waot_instance *owner;           /* whose code has thrown it, or caught it */
	uint64_t ref;
	uint64_t tag;
	uint64_t kept;                  /* how often by C code */
	uint64_t seen;                  /* the collection that has found it last */
	uint32_t words, size;           /* of the arguments; of all, as a class */
	uint64_t args[];
};

/* A reference is the number of an entry, and which of those it is that have had the entry, so that one that is out of date is found out. */
struct core_entry {
	struct core_exception *exception; /* NULL: free */
	uint32_t serial, next;            /* of the last one; the next free entry and 1 */
};

enum {
	CORE_FIRST_CHUNK = 1024, CORE_CHUNKS = 22, /* chunk n has CORE_FIRST_CHUNK << n entries */
	CORE_CLASSES = 10, CORE_LEAST_BYTES = 96,   /* class n has CORE_LEAST_BYTES << n bytes; larger ones have pages of their own */
	CORE_BLOCK = 1 << 18,                       /* what small ones are cut from, in bytes */
	CORE_LEAST_EXCEPTIONS = 1024,               /* an instance may have so many before they are collected */
	CORE_SERIALS = 1 << 30, CORE_SERIAL_SHIFT = 34
};

/* core_heap has the exceptions of all instances; core_lock guards it. What it has taken for them it keeps for others. */
static struct {
	struct core_entry *chunks[CORE_CHUNKS];
	uint32_t used, free;                    /* entries; the first free one and 1 */
	struct core_exception *spare[CORE_CLASSES];
	char *block;
	uint64_t left;                          /* bytes of the block */
	uint64_t collection;
	struct core_exception *gray;
	uint64_t looked_at;                     /* words, in this collection */
} core_heap;

CORE_THREAD uint64_t core_last_exception;

/* What the exceptions of an instance may take, in bytes. */
static uint64_t core_most_bytes = 128 << 20;

void waot_exception_limit(uint64_t bytes) { __atomic_store_n(&core_most_bytes, bytes, __ATOMIC_RELAXED); }

static uint64_t core_bytes(uint64_t words) { return sizeof(struct core_exception) + 8 * words; }

static struct core_entry *core_entry_at(uint32_t n)
{
	uint64_t at = (uint64_t)n + CORE_FIRST_CHUNK;
	int chunk = 53 - __builtin_clzll(at);
	return &core_heap.chunks[chunk][at - ((uint64_t)CORE_FIRST_CHUNK << chunk)];
}

/* core_exception_of is what a word refers to, or NULL. */
static struct core_exception *core_exception_of(uint64_t ref)
{
	uint32_t n = (uint32_t)(ref >> 2);
	if ((ref & 3) != 2 || n >= core_heap.used)
		return NULL;
	struct core_exception *x = core_entry_at(n)->exception;
	return x && x->ref == ref ? x : NULL;
}

static void core_mark(uint64_t ref)
{
	struct core_exception *x = core_exception_of(ref);
	if (x && x->seen != core_heap.collection) {
		x->seen = core_heap.collection;
		x->gray = core_heap.gray;
		core_heap.gray = x;
	}
}

/* Stacks, and instances that other threads use, are not what sanitizers think that this reads. */
#define CORE_UNSANITIZED __attribute__((noinline, no_sanitize_address, no_sanitize_thread))

/* core_mark_words marks what words may refer to: those of another type look like a reference by chance, and keep an exception for a while. */
CORE_UNSANITIZED static void core_mark_words(const void *from, const void *to)
{
	const volatile uint64_t *end = (const volatile uint64_t *)to;
	for (const volatile uint64_t *p = (const volatile uint64_t *)from; p < end; p++)
		core_mark(*p);
	core_heap.looked_at += (uint64_t)((const char *)to - (const char *)from) / 8;
}

/* core_stack_end is where the stack of the thread ends, or what is mapped behind it; 0 if that is not known. */
#ifdef WAOT_STANDALONE
static uint64_t core_stack_top; /* start.c sets it */
static uint64_t core_stack_end(uint64_t sp) { return sp < core_stack_top ? core_stack_top : 0; }
#else
static uint64_t core_stack_end(uint64_t sp)
{
	char buffer[1024];
	uint64_t bounds[3] = {0, 0, 0}, found = 0;
	int bound = 0; /* the bounds of a mapping stand at the start of its line */
	long n, fd = waot_sys_call(CORE_NR_openat, CORE_AT_FDCWD, (long)"/proc/self/maps", CORE_O_CLOEXEC, 0, 0, 0);
	while (fd >= 0 && !found && (n = core_sys(CORE_NR_read, fd, (long)buffer, sizeof buffer, 0, 0, 0)) > 0) {
		for (long at = 0; at < n && !found; at++) {
			unsigned c = (unsigned char)buffer[at], d = c >= 'a' ? c - 'a' + 10 : c - '0';
			if (c == '\n') {
				bound = 0;
				bounds[0] = bounds[1] = 0;
			} else if (bound < 2 && d < 16) {
				bounds[bound] = bounds[bound] << 4 | d;
			} else if (bound < 2 && ++bound == 2 && sp >= bounds[0] && sp < bounds[1]) {
				found = bounds[1];
			}
		}
	}
	if (fd >= 0)
		waot_sys_call(CORE_NR_close, fd, 0, 0, 0, 0, 0);
	return found;
}
#endif

CORE_UNSANITIZED static void core_mark_to(void *end) { core_mark_words(__builtin_frame_address(0), end); }

/* core_mark_by marks by f what may be gone, or be unmapped by another thread at the moment: a fault is the end. */
static void core_mark_by(void (*f)(void *), void *what)
{
	struct core_context c;
	core_scanning = &c;
	waot_core_enter(&c, f, what);
	core_scanning = NULL;
}

/* core_mark_stack marks what the thread's stack refers to: frames of compiled code and of C functions, in whatever order, and what may be mapped behind it. It reports whether it has found
 * all. */
__attribute__((noinline)) static bool core_mark_stack(void)
{
	__builtin_unwind_init(); /* registers are in this frame, too */
	uint64_t end = core_stack_end((uint64_t)__builtin_frame_address(0));
	if (end)
		core_mark_by(core_mark_to, (void *)end);
	return end;
}

CORE_UNSANITIZED static void core_mark_table(void *base)
{
	const uint64_t *words = (const uint64_t *)base;
	core_mark_words(words, words + __atomic_load_n(&words[-1], __ATOMIC_RELAXED));
}

static void core_mark_global(void *value) { core_mark_words(value, (const uint64_t *)value + 1); }

/* core_mark_instance marks what the data of an instance refer to, which its globals, its element segments and the exception under way are in; its tables; and imported globals. The instances
 * that it has imported from may be gone. */
static void core_mark_instance(waot_instance *i)
{
	const waot_object *o = i->object;
	const char *data = (const char *)waot_moved(i, o->instance);
	struct core_meta m;
	const uint8_t reference = 0x6f;
	core_mark_words(data, data + o->instance_size);
	for (uint64_t n = 0; n < o->num_tables; n++) {
		void *base = o->tables[n].flags & 4 ? *core_base(i, &o->tables[n]) : NULL;
		if (base)
			core_mark_by(core_mark_table, base);
	}
	if (!core_read_meta(o, &m))
		return;
	for (uint64_t n = core_number(&m.r); n > 0 && !m.r.bad; n--) {
		struct core_global g = core_read_global(&m.r);
		if (!g.imported)
			break;
		void *value = *(void *const *)waot_moved(i, o->instance + g.offset);
		if (value && g.type == reference)
			core_mark_by(core_mark_global, value);
	}
}

/* core_free_exception gives back what is no longer in a list of an instance. */
static void core_free_exception(struct core_exception *x)
{
	uint32_t n = (uint32_t)(x->ref >> 2);
	struct core_entry *e = core_entry_at(n);
	e->exception = NULL;
	e->next = core_heap.free;
	core_heap.free = n + 1;
	x->owner->num_exceptions--;
	x->owner->exception_bytes -= core_bytes(x->words);
	if (x->size == CORE_CLASSES) {
		core_unmap(x, core_page_up(core_bytes(x->words)));
		return;
	}
	x->next = core_heap.spare[x->size];
	core_heap.spare[x->size] = x;
}

/* core_collect frees the exceptions of an instance that nothing refers to. References to them are in the thread that uses the instance, and what that uses. */
static void core_collect(waot_instance *owner)
{
	core_heap.collection++;
	core_heap.looked_at = 0;
	core_mark(core_last_exception);
	core_mark_objects();
	bool all = core_mark_stack();
	for (waot_instance *i = core_instances; i; i = i->next) {
		if (core_state(i) > CORE_CHANGING)
			core_mark_instance(i);
		for (struct core_exception *x = i->exceptions; x; x = x->next)
			if (x->kept)
				core_mark(x->ref);
	}
	while (core_heap.gray) {
		struct core_exception *x = core_heap.gray;
		core_heap.gray = x->gray;
		core_mark_words(x->args, x->args + x->words);
	}
	for (struct core_exception **at = &owner->exceptions; all && *at;) {
		struct core_exception *x = *at;
		if (x->seen == core_heap.collection) {
			at = &x->next;
		} else {
			*at = x->next;
			core_free_exception(x);
		}
	}
	/* The next time there is as much to free as there is to look at. */
	uint64_t most = 2 * owner->num_exceptions, least = core_heap.looked_at / 16;
	owner->most_exceptions = most > least ? most : least;
}

/* core_take_exception takes memory for an exception with so many words, or returns NULL. */
static struct core_exception *core_take_exception(uint32_t words)
{
	struct core_exception *x;
	uint64_t bytes = core_bytes(words);
	uint32_t size = 0;
	while (size < CORE_CLASSES && ((uint64_t)CORE_LEAST_BYTES << size) < bytes)
		size++;
	if (size == CORE_CLASSES) {
		x = (struct core_exception *)core_map(NULL, core_page_up(bytes), CORE_PROT_RW, CORE_MAP_ANON, -1, 0);
	} else if ((x = core_heap.spare[size])) {
		core_heap.spare[size] = x->next;
	} else {
		bytes = (uint64_t)CORE_LEAST_BYTES << size;
		if (core_heap.left < bytes) {
			char *block = (char *)core_map(NULL, CORE_BLOCK, CORE_PROT_RW, CORE_MAP_ANON, -1, 0);
			if (!block)
				return NULL;
			core_heap.block = block;
			core_heap.left = CORE_BLOCK;
		}
		x = (struct core_exception *)core_heap.block;
		core_heap.block += bytes;
		core_heap.left -= bytes;
	}
	if (x) {
		x->words = words;
		x->size = size;
	}
	return x;
}

/* core_take_entry makes a reference to an exception. It reports whether there is memory for it. */
static bool core_take_entry(struct core_exception *x)
{
	if (!core_heap.free) {
		uint64_t at = (uint64_t)core_heap.used + CORE_FIRST_CHUNK;
		int chunk = 53 - __builtin_clzll(at);
		if (chunk == CORE_CHUNKS - 1)
			return false;
		struct core_entry **entries = &core_heap.chunks[chunk];
		if (!*entries)
			*entries = (struct core_entry *)core_map(NULL, sizeof **entries * ((uint64_t)CORE_FIRST_CHUNK << chunk), CORE_PROT_RW, CORE_MAP_ANON, -1, 0);
		if (!*entries)
			return false;
		core_heap.free = ++core_heap.used;
	}
	uint32_t n = core_heap.free - 1;
	struct core_entry *e = core_entry_at(n);
	core_heap.free = e->next;
	e->next = 0;
	e->serial = (e->serial + 1) % CORE_SERIALS;
	if (!e->serial)
		e->serial = 1; /* all references are from 2^32 on: what is below is no handle */
	e->exception = x;
	x->ref = 2 | (uint64_t)n << 2 | (uint64_t)e->serial << CORE_SERIAL_SHIFT;
	return true;
}

/* core_no_exception ends the innermost waot_try, as there is no memory for an exception. */
WAOT_NORETURN static void core_no_exception(void)
{
	static const char text[] = "no memory for an exception";
	if (!core_top)
		core_die(text);
	core_fail(core_top->out, WAOT_ERROR_MEMORY, text);
	core_leave(core_top, WAOT_ERROR_MEMORY, __builtin_frame_address(0));
}

/* core_keep_exception makes a reference to an exception, which is the instance's. */
static uint64_t core_keep_exception(waot_instance *owner, uint64_t tag, const uint64_t *args, uint64_t words)
{
	core_lock();
	uint64_t most = __atomic_load_n(&core_most_bytes, __ATOMIC_RELAXED), bytes = core_bytes(words);
	bool full = owner->exception_bytes + bytes > most;
	if (full || (owner->num_exceptions >= CORE_LEAST_EXCEPTIONS && owner->num_exceptions >= owner->most_exceptions))
		core_collect(owner);
	/* Half of it is for those that nothing refers to any more, so that they are not collected at each throw. */
	bool refused = full && owner->exception_bytes + bytes > most / 2;
	struct core_exception *x = refused ? NULL : core_take_exception((uint32_t)words);
	if (!x || !core_take_entry(x)) {
		core_unlock();
		core_no_exception();
	}
	x->owner = owner;
	x->tag = tag;
	x->kept = x->seen = 0;
	memcpy(x->args, args, 8 * words);
	x->next = owner->exceptions;
	owner->exceptions = x;
	owner->num_exceptions++;
	owner->exception_bytes += bytes;
	core_unlock();
	return x->ref;
}

/* core_tag is what is known of a tag: the record of its type, and how many words the arguments of its exceptions take. */
struct core_tag {
	const void *type;
	uint64_t words;
	bool hidden;    /* what its exceptions refer to is the module's own */
};

/* core_has_exceptions reports whether code of an object throws or catches. */
static bool core_has_exceptions(const waot_object *o) { return o->abi == WAOT_ABI_EXCEPTIONS || (o->abi == WAOT_ABI_HEAP && o->exception); }

/* core_num_tags is how many tags an object has. */
static uint64_t core_num_tags(const waot_object *o) { return core_has_exceptions(o) ? o->num_tags : 0; }

/* core_tag_in reports whether an address stands for a tag of an instance. */
static bool core_tag_in(waot_instance *i, uint64_t address, struct core_tag *t)
{
	uint64_t tags = core_num_tags(i->object);
	if (!tags)
		return false;
	uint64_t n = (address - (uint64_t)waot_moved(i, i->object->tags[0].word)) / 8;
	if (n >= tags)
		return false;
	t->type = i->object->tags[n].type;
	t->words = i->object->tags[n].words;
	t->hidden = i->object->tags[n].flags & 32;
	return true;
}

#ifndef WAOT_STANDALONE
/* core_drop_exceptions frees the exceptions of an instance, and those of others that have its tags: what stands for a tag may stand for another one later. The lock is held. */
static void core_drop_exceptions(waot_instance *gone)
{
	struct core_tag t;
	bool tags = core_num_tags(gone->object);
	for (waot_instance *i = tags ? core_instances : gone; i; i = tags ? i->next : NULL) {
		for (struct core_exception **at = &i->exceptions; *at;) {
			struct core_exception *x = *at;
			if (i != gone && !core_tag_in(gone, x->tag, &t)) {
				at = &x->next;
				continue;
			}
			*at = x->next;
			core_free_exception(x);
		}
	}
}
#endif

/* core_find_tag finds out what an address stands for, which is likely a tag of the instance near, unless that is NULL. */
static struct core_tag core_find_tag(waot_instance *near, uint64_t address)
{
	struct core_tag t;
	if (near && core_tag_in(near, address, &t))
		return t;
	for (waot_instance *i = __atomic_load_n(&core_instances, __ATOMIC_ACQUIRE); i; i = i->next)
		if (core_state(i) > CORE_SPARE && core_tag_in(i, address, &t))
			return t;
	const waot_tag *own = (const waot_tag *)address;
	t.type = own->type;
	t.words = own->words;
	t.hidden = false;
	return t;
}

/* core_same_type compares the records of two function types, of which linkers may have left several: version, kind, the numbers of parameters and results in two bytes each, their types and a
 * zero; or version, another kind and a hash. */
static bool core_same_type(const void *a, const void *b)
{
	const uint8_t *p = (const uint8_t *)a;
	const uint8_t function = 0x60;
	uint64_t size = 2 + 32;
	if (p[1] == function)
		size = 7 + ((uint64_t)p[2] | (uint64_t)p[3] << 8) + ((uint64_t)p[4] | (uint64_t)p[5] << 8);
	return a == b || (memcmp(a, b, 2) == 0 && memcmp(a, b, size) == 0);
}

void waot_tag_init(waot_tag *tag, const waot_object *o, uint32_t n)
{
	tag->type = o->tags[n].type;
	tag->words = o->tags[n].words;
}

/* ---- Unwinding ---- */

/* What unwinding needs to know of the calls and functions of an object, in the order of the text: the tables of metadata are read from their beginning, and exceptions come by the
 * thousand. It is made when the first exception comes, and stays. */
struct core_landing {
	uint32_t from, to;              /* offsets in the text: what a call returns to, and where an exception goes that comes out of it */
};

struct core_frame {
	uint32_t text, bytes;           /* where the function begins, and the size of its frame */
	uint32_t registers, first;      /* which registers it saves; the first of the offsets in it where this changes */
};

struct core_unwind {
	struct core_unwind *next;
	const waot_object *object;
	uint64_t num_landings, num_frames;
	struct core_landing *landings;
	struct core_frame *frames;      /* one more than there are: the end of the last one's changes */
	uint32_t *changes;
};

static struct core_unwind *core_unwinds;

/* core_read_landings goes to the handlers, which are behind the calls, inlined places and names. */
static struct core_reader core_read_landings(const waot_object *o)
{
	uint64_t size;
	struct core_reader r = core_read_table(o->calls, CORE_CALLS);
	for (int list = 0; list < 2; list++)
		for (uint64_t n = core_number(&r); n > 0 && !r.bad; n--)
			core_skip(&r, 3);
	for (uint64_t n = core_number(&r); n > 0 && !r.bad; n--)
		core_string(&r, &size);
	return r;
}

/* core_read_saves reads what the next function saves: its registers, and, unless changes is NULL, the offsets where that changes. It returns their number. */
static uint64_t core_read_saves(struct core_reader *r, uint32_t *registers, uint32_t *changes)
{
	uint32_t at = 0;
	*registers = (uint32_t)core_number(r);
	uint64_t n = *registers ? core_number(r) : 0, read = 0;
	for (; read < n && !r->bad; read++) {
		at += (uint32_t)core_number(r);
		if (changes)
			changes[read] = at;
	}
	return read;
}

/* core_make_unwind reads the tables of an object; NULL: no memory. */
static struct core_unwind *core_make_unwind(const waot_object *o)
{
	struct core_meta m;
	struct core_func f;
	struct core_reader start = core_read_landings(o), r = start;
	uint64_t landings = core_number(&r), changes = 0;
	uint32_t registers;
	if (landings > (uint64_t)(r.end - r.at))
		landings = 0;
	for (uint64_t n = 0; n < landings; n++)
		core_skip(&r, 2);
	for (uint64_t n = core_number(&r); n > 0 && !r.bad; n--)
		changes += core_read_saves(&r, &registers, NULL);
	core_read_meta(o, &m);
	uint64_t funcs = core_read_funcs(&m.r);
	if (funcs > (uint64_t)(m.r.end - m.r.at))
		funcs = 0;
	struct core_unwind *u = (struct core_unwind *)core_map(NULL, sizeof *u + landings * sizeof *u->landings + (funcs + 1) * sizeof *u->frames + changes * sizeof *u->changes,
		CORE_PROT_RW, CORE_MAP_ANON, -1, 0);
	if (!u)
		return NULL;
	u->object = o;
	u->landings = (struct core_landing *)(u + 1);
	u->frames = (struct core_frame *)(u->landings + landings);
	u->changes = (uint32_t *)(u->frames + funcs + 1);
	r = start;
	core_number(&r);
	for (uint32_t at = 0; u->num_landings < landings; u->num_landings++) {
		struct core_landing *l = &u->landings[u->num_landings];
		l->from = at += (uint32_t)core_number(&r);
		l->to = at + core_signed(&r);
	}
	uint32_t first = 0;
	uint64_t saves = core_number(&r);
	memset(&f, 0, sizeof f);
	for (uint64_t n = 0; n < funcs && !m.r.bad; n++) {
		struct core_frame *to = &u->frames[u->num_frames];
		core_next_func(&m.r, &f);
		to->first = first;
		to->registers = 0;
		if (n < saves)
			first += (uint32_t)core_read_saves(&r, &to->registers, u->changes + first);
		if (!f.imported && f.size) {
			to->text = f.text;
			to->bytes = f.frame;
			u->num_frames++;
		}
	}
	u->frames[u->num_frames].first = first;
	return u;
}

static struct core_unwind *core_unwind_of(waot_instance *i)
{
	struct core_unwind *u = i->unwind;
	if (u)
		return u;
	core_lock();
	for (u = core_unwinds; u && u->object != i->object;)
		u = u->next;
	if (!u && (u = core_make_unwind(i->object))) {
		u->next = core_unwinds;
		core_unwinds = u;
	}
	core_unlock();
	if (!u)
		core_no_exception();
	return i->unwind = u;
}

/* core_registers is where compiled code is, and the callee-saved registers that it has there. The order is that of the metadata, and known to the assembly below. */
struct core_registers {
#ifdef __x86_64__
	uint64_t saved[5];              /* rbx, r12 to r15 */
#else
	uint64_t saved[17];             /* x19 to x27, v8 to v15 */
#endif
	uint64_t fp, pc, sp;
};

enum { CORE_SAVED = sizeof ((struct core_registers *)0)->saved / 8 };

/* core_take_saved makes the registers those that are in a frame, whose first one is below at. */
static void core_take_saved(struct core_registers *r, uint32_t which, uint64_t at)
{
	for (int n = 0; n < CORE_SAVED; n++)
		if (which >> n & 1)
			r->saved[n] = *(const uint64_t *)(at -= 8);
}

/* core_land_at reports whether the call that is under way in the frame of *r catches, and where. */
static bool core_land_at(const struct core_unwind *u, uint64_t text, const struct core_frame *f, struct core_registers *r)
{
	uint64_t low = 0, high = u->num_landings;
	uint32_t from = (uint32_t)(r->pc - text);
	while (low < high) {
		uint64_t middle = (low + high) / 2;
		if (u->landings[middle].from < from)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == u->num_landings || u->landings[low].from != from)
		return false;
	r->pc = text + u->landings[low].to;
	r->sp = r->fp - f->bytes;
	return true;
}

/* core_frame_of finds the function that a call in the text returns to; it may be the function's last instruction. NULL: none. */
static const struct core_frame *core_frame_of(const struct core_unwind *u, uint32_t offset)
{
	uint64_t low = 0, high = u->num_frames;
	while (low < high) {
		uint64_t middle = (low + high) / 2;
		if (u->frames[middle].text < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &u->frames[low - 1] : NULL;
}

/* core_leave_frame makes *r the caller's of the function. */
static void core_leave_frame(const struct core_unwind *u, uint64_t text, const struct core_frame *f, struct core_registers *r)
{
	bool saved = false;
	uint32_t offset = (uint32_t)(r->pc - text) - f->text;
	/* What is at the return address may be another block. */
	for (uint32_t n = f[0].first; n < f[1].first && u->changes[n] < offset; n++)
		saved = !saved;
	if (saved)
		core_take_saved(r, f->registers, r->fp);
	r->pc = ((const uint64_t *)r->fp)[1];
	r->fp = *(const uint64_t *)r->fp;
}

/* core_unwind_to goes from frame to frame, from that of *r, whose call throws, to the innermost that catches, and returns its instance. NULL: none up to the C function that has called. */
static waot_instance *core_unwind_to(struct core_registers *r)
{
	waot_instance *i = NULL;
	for (uint64_t last = 0; r->fp > last;) {
		last = r->fp;
		if (!i || r->pc - i->text >= i->text_size)
			i = core_of_text(r->pc);
		if (!i)
			return NULL;
		const struct core_unwind *u = core_unwind_of(i);
		const struct core_frame *f = core_frame_of(u, (uint32_t)(r->pc - i->text));
		if (!f)
			return NULL;
		if (core_land_at(u, i->text, f, r))
			return i;
		core_leave_frame(u, i->text, f, r);
	}
	return NULL;
}

/* core_give makes an exception the one under way of the instance that catches it. If there is no room for the arguments, it knows no such tag, and needs a reference. */
static void core_give(waot_instance *to, uint64_t tag, uint64_t ref, const uint64_t *args, uint64_t words)
{
	struct core_current *c = (struct core_current *)waot_moved(to, to->object->exception);
	bool room = words <= to->object->exception_words;
	if (!room && !ref)
		ref = core_keep_exception(to, tag, args, words);
	c->tag = tag;
	c->ref = ref;
	if (room)
		memmove(c->args, args, 8 * words);
}

/* core_uncaught ends the innermost waot_try with an exception that a call in the frame of *r has thrown. */
WAOT_NORETURN static void core_uncaught(waot_instance *i, const struct core_registers *r, uint64_t ref)
{
	struct core_raw raw[WAOT_MAX_FRAMES];
	struct core_context *c = core_top;
	waot_trap here, *t = c ? c->out : &here;
	core_last_exception = ref;
	if (t) {
		t->code = WAOT_EXCEPTION;
		t->status = 0;
		t->instance = i;
		t->exception = ref;
		raw[0].instance = i;
		raw[0].offset = r->pc - i->text;
		raw[0].place = 0;
		raw[0].function = UINT32_MAX;
		core_resolve(t, raw, 0, core_walk(raw, 1, r->fp));
		core_describe(t, NULL);
		if (!c)
			core_die(t->message);
	}
	core_leave(c, WAOT_EXCEPTION, __builtin_frame_address(0));
}

/* What compiled code calls comes to these by way of waot_core_probe, so that what is left of the stack is enough for them: an overflow there is a trap, and none while the lock is held. */
CORE_HIDDEN void waot_core_raise(void *exception, struct core_registers *r);
CORE_HIDDEN uint64_t waot_core_ref(void *exception, uint64_t pc);
CORE_HIDDEN void waot_core_open(void *exception, uint64_t ref, uint64_t pc);
WAOT_NORETURN CORE_HIDDEN void waot_core_land(const struct core_registers *r);

/* core_known is the exception that a reference is of. */
static const struct core_exception *core_known(uint64_t ref)
{
	core_lock();
	const struct core_exception *x = core_exception_of(ref);
	core_unlock();
	if (!x)
		core_die("a reference is of no exception, or of one that is gone");
	return x;
}

/* core_args is where the arguments of the exception under way in an instance are. If there was no room for them, only the exception has them. */
static const uint64_t *core_args(waot_instance *i, const struct core_current *c, uint64_t words)
{
	return words <= i->object->exception_words ? c->args : core_known(c->ref)->args;
}

/* waot_core_raise makes *r that of the innermost frame that catches the exception under way. */
__attribute__((used)) void waot_core_raise(void *exception, struct core_registers *r)
{
	const struct core_current *c = (const struct core_current *)exception;
	const struct core_registers from = *r;
	waot_instance *i = core_of_text(r->pc), *to = core_unwind_to(r);
	if (to == i)
		return;
	uint64_t words = core_find_tag(i, c->tag).words;
	if (to)
		core_give(to, c->tag, c->ref, core_args(i, c, words), words);
	else
		core_uncaught(i, &from, c->ref ? c->ref : core_keep_exception(i, c->tag, c->args, words));
}

__attribute__((used)) uint64_t waot_core_ref(void *exception, uint64_t pc)
{
	struct core_current *c = (struct core_current *)exception;
	if (!c->ref) {
		waot_instance *i = core_of_text(pc);
		c->ref = core_keep_exception(i, c->tag, c->args, core_find_tag(i, c->tag).words);
	}
	return c->ref;
}

__attribute__((used)) void waot_core_open(void *exception, uint64_t ref, uint64_t pc)
{
	const struct core_exception *x = core_known(ref);
	(void)exception;
	core_give(core_of_text(pc), x->tag, ref, x->args, x->words);
}

#ifdef __x86_64__
#define CORE_STUB(name, to, last) \
	".pushsection .text." name ",\"ax\",@progbits\n" \
	".p2align 4\n" \
	".globl " name "\n.type " name ", @function\n" \
	name ":\n" \
	".cfi_startproc\n" \
	"endbr64\n" \
	"sub $8, %rsp\n.cfi_def_cfa_offset 16\n" \
	"call waot_core_probe\n" \
	"add $8, %rsp\n.cfi_def_cfa_offset 8\n" \
	"mov (%rsp), %" last "\n" \
	"jmp " to "\n" \
	".cfi_endproc\n.size " name ", . - " name "\n" \
	".popsection\n"
__asm__(
	CORE_STUB("waot_exception_open", "waot_core_open", "rdx")
	CORE_STUB("waot_exception_ref", "waot_core_ref", "rsi")
	".pushsection .text.waot_raise,\"ax\",@progbits\n"
	".p2align 4\n"
	".globl waot_raise\n.type waot_raise, @function\n"
	"waot_raise:\n"
	".cfi_startproc\n"
	"endbr64\n"
	"mov (%rsp), %rax\n"
	"sub $72, %rsp\n.cfi_def_cfa_offset 80\n"
	"mov %rbx, (%rsp)\nmov %r12, 8(%rsp)\nmov %r13, 16(%rsp)\nmov %r14, 24(%rsp)\nmov %r15, 32(%rsp)\nmov %rbp, 40(%rsp)\nmov %rax, 48(%rsp)\n"
	"call waot_core_probe\n"
	"mov %rsp, %rsi\n"
	"call waot_core_raise\n"
	"mov %rsp, %rdi\n"
	"jmp waot_core_land\n"
	".cfi_endproc\n.size waot_raise, . - waot_raise\n"
	".p2align 4\n"
	".globl waot_core_land\n.hidden waot_core_land\n.type waot_core_land, @function\n"
	"waot_core_land:\n"
	".cfi_startproc\n.cfi_undefined %rip\n"
	"mov (%rdi), %rbx\nmov 8(%rdi), %r12\nmov 16(%rdi), %r13\nmov 24(%rdi), %r14\nmov 32(%rdi), %r15\nmov 40(%rdi), %rbp\nmov 48(%rdi), %rax\nmov 56(%rdi), %rsp\n"
	"notrack jmp *%rax\n"
	".cfi_endproc\n.size waot_core_land, . - waot_core_land\n"
	".popsection\n"
	".pushsection waot_helpers,\"ax\",@progbits\n"
	".p2align 4\n"
	".globl waot_core_probe\n.hidden waot_core_probe\n.type waot_core_probe, @function\n"
	"waot_core_probe:\n" /* changes nothing but flags */
	".cfi_startproc\n"
	".irp n, 1,2,3,4,5,6,7,8\norq $0, -4096*\\n(%rsp)\n.endr\n"
	"ret\n"
	".cfi_endproc\n.size waot_core_probe, . - waot_core_probe\n"
	".popsection\n");
#else
#define CORE_STUB(name, to, last) \
	".pushsection .text." name ",\"ax\",%progbits\n" \
	".p2align 4\n" \
	".globl " name "\n.type " name ", %function\n" \
	name ":\n" \
	".cfi_startproc\n" \
	"hint #34\n" \
	"mov " last ", x30\n.cfi_register x30, " last "\n" \
	"bl waot_core_probe\n" \
	"mov x30, " last "\n.cfi_restore x30\n" \
	"b " to "\n" \
	".cfi_endproc\n.size " name ", . - " name "\n" \
	".popsection\n"
__asm__(
	CORE_STUB("waot_exception_open", "waot_core_open", "x2")
	CORE_STUB("waot_exception_ref", "waot_core_ref", "x1")
	".pushsection .text.waot_raise,\"ax\",%progbits\n"
	".p2align 4\n"
	".globl waot_raise\n.type waot_raise, %function\n"
	"waot_raise:\n"
	".cfi_startproc\n"
	"hint #34\n"
	"sub sp, sp, #160\n.cfi_def_cfa_offset 160\n"
	"stp x19, x20, [sp]\nstp x21, x22, [sp, #16]\nstp x23, x24, [sp, #32]\nstp x25, x26, [sp, #48]\nstr x27, [sp, #64]\n"
	"stp d8, d9, [sp, #72]\nstp d10, d11, [sp, #88]\nstp d12, d13, [sp, #104]\nstp d14, d15, [sp, #120]\n"
	"stp x29, x30, [sp, #136]\n.cfi_offset x30, -16\n"
	"bl waot_core_probe\n"
	"mov x1, sp\n"
	"bl waot_core_raise\n"
	"mov x0, sp\n"
	"b waot_core_land\n"
	".cfi_endproc\n.size waot_raise, . - waot_raise\n"
	".p2align 4\n"
	".globl waot_core_land\n.hidden waot_core_land\n.type waot_core_land, %function\n"
	"waot_core_land:\n"
	".cfi_startproc\n.cfi_undefined x30\n"
	"hint #34\n"
	"ldp x19, x20, [x0]\nldp x21, x22, [x0, #16]\nldp x23, x24, [x0, #32]\nldp x25, x26, [x0, #48]\nldr x27, [x0, #64]\n"
	"ldp d8, d9, [x0, #72]\nldp d10, d11, [x0, #88]\nldp d12, d13, [x0, #104]\nldp d14, d15, [x0, #120]\n"
	"ldp x29, x30, [x0, #136]\nldr x1, [x0, #152]\n"
	"mov sp, x1\n"
	"ret\n" /* no landing pad for branches is there */
	".cfi_endproc\n.size waot_core_land, . - waot_core_land\n"
	".popsection\n"
	".pushsection waot_helpers,\"ax\",%progbits\n"
	".p2align 4\n"
	".globl waot_core_probe\n.hidden waot_core_probe\n.type waot_core_probe, %function\n"
	"waot_core_probe:\n" /* changes nothing but x16 */
	".cfi_startproc\n"
	"mov x16, sp\n"
	".rept 8\nsub x16, x16, #4096\nstr xzr, [x16]\n.endr\n"
	"ret\n"
	".cfi_endproc\n.size waot_core_probe, . - waot_core_probe\n"
	".popsection\n");
#endif

/* core_thrown_from makes *r that of the compiled code that has called a C function, by way of an adapter that has saved the registers. NULL: none has. */
static waot_instance *core_thrown_from(struct core_registers *r, void *return_address, void *frame)
{
	const waot_instance *by = core_adapter_of((uint64_t)return_address);
	if (!by || by->object->abi < WAOT_ABI_EXCEPTIONS)
		return NULL;
	const uint64_t fixed = by->object->abi == WAOT_ABI_HEAP ? 32 : 16; /* bytes of the adapter's own in front of the registers */
	const uint64_t *adapter = *(const uint64_t *const *)frame;
	core_take_saved(r, UINT32_MAX, (uint64_t)adapter - fixed);
	r->fp = adapter[0];
	r->pc = adapter[1];
	r->sp = 0;
	return core_of_text(r->pc);
}

/* core_throw throws an exception in a C function; ref is 0 if there is no reference to it. */
WAOT_NORETURN static void core_throw(uint64_t tag, uint64_t ref, const uint64_t *args, uint64_t words, void *return_address, void *frame)
{
	struct core_registers r;
	waot_instance *i = core_thrown_from(&r, return_address, frame);
	if (!i)
		waot_throw("an exception was thrown where no compiled code with exceptions has called");
	const struct core_registers from = r;
	waot_instance *to = core_unwind_to(&r);
	if (!to)
		core_uncaught(i, &from, ref ? ref : core_keep_exception(i, tag, args, words));
	core_give(to, tag, ref, args, words);
	core_forget_exits((uint64_t)frame, r.fp);
	waot_core_land(&r);
}

void waot_throw_exception_at(const waot_tag *tag, const uint64_t *args, void *return_address, void *frame)
{
	core_throw((uint64_t)tag, 0, args, core_find_tag(NULL, (uint64_t)tag).words, return_address, frame);
}

void waot_rethrow_at(waot_ref exception, void *return_address, void *frame)
{
	const struct core_exception *x = core_known(exception);
	core_throw(x->tag, exception, x->args, x->words, return_address, frame);
}

/* core_open_exception returns an exception whose arguments are anybody's, or NULL. Compiled code relies on it that nobody else gets at those of others. */
static const struct core_exception *core_open_exception(waot_ref exception)
{
	core_lock();
	const struct core_exception *x = core_exception_of(exception);
	if (x && core_find_tag(x->owner, x->tag).hidden)
		x = NULL;
	core_unlock();
	return x;
}

const waot_tag *waot_exception_tag(waot_ref exception)
{
	const struct core_exception *x = core_open_exception(exception);
	return x ? (const waot_tag *)x->tag : NULL;
}

const uint64_t *waot_exception_args(waot_ref exception, uint32_t *words)
{
	const struct core_exception *x = core_open_exception(exception);
	if (words)
		*words = x ? x->words : 0;
	return x ? x->args : NULL;
}

void waot_exception_keep(waot_ref exception)
{
	core_lock();
	struct core_exception *x = core_exception_of(exception);
	if (x)
		x->kept++;
	core_unlock();
}

void waot_exception_release(waot_ref exception)
{
	core_lock();
	struct core_exception *x = core_exception_of(exception);
	if (x && x->kept)
		x->kept--;
	core_unlock();
}

/* ---- Signals ---- */

/* core_machine is the part of the kernel's ucontext that holds registers, in words. */
enum {
#ifdef __x86_64__
	CORE_ARG0 = 13, CORE_ARG1 = 14, CORE_FP = 15, CORE_SP = 20, CORE_PC = 21,
#else
	CORE_ARG0 = 23, CORE_ARG1 = 24, CORE_FP = 52, CORE_LR = 53, CORE_SP = 54, CORE_PC = 55, CORE_PSTATE = 56,
#endif
};

/* core_fits reports whether a signal and its address are those of a fault of the kind at that place. */
static bool core_fits(waot_instance *i, const struct core_site *s, int signal, uint64_t address)
{
	bool access = signal == CORE_SIGSEGV || signal == CORE_SIGBUS;
	switch (s->fault) {
	case CORE_FAULT_UNDEFINED: return signal == CORE_SIGILL;
	case CORE_FAULT_DIVIDE: return signal == CORE_SIGFPE;
	case CORE_FAULT_NULL: return access && (address < 4096 || core_is_null_object(address));
	case CORE_FAULT_MEMORY: return access && address - (uint64_t)waot_memory_base(i, s->memory) < CORE_RESERVATION;
	}
	return false;
}

/* How far from the stack pointer a fault of a stack overflow is at most, in bytes: a function touches each page of its frame in turn. */
#define CORE_STACK_FAULT 65536ull

/* core_is_helper reports whether an address is in what compiled code calls by itself. memmove and memset are elsewhere, but need no stack. */
static bool core_is_helper(uint64_t pc) { return pc - (uint64_t)__start_waot_helpers < (uint64_t)(__stop_waot_helpers - __start_waot_helpers); }

/* core_first_caller returns the return address of a function that has no frame yet, because its first instruction with an effect, which is
 * to store into the stack, has faulted, or one that touches the stack in front of it, where the function makes its argument area longer; 0 if pc is elsewhere. */
static uint64_t core_first_caller(const uint64_t *u, uint64_t address)
{
#ifdef __x86_64__
	const uint64_t *sp = (const uint64_t *)u[CORE_SP];
	const uint8_t *pc = (const uint8_t *)u[CORE_PC];
	int32_t far = (int8_t)pc[4];
	if (pc[2] == 0xa4)
		memcpy(&far, pc + 4, 4);
	bool touches = pc[0] == 0x48 && pc[1] == 0x39 && pc[3] == 0x24 && /* cmp [rsp+displacement], rsp */
		address == u[CORE_SP] + (uint64_t)(int64_t)far;
	return (pc[0] == 0x55 && address == u[CORE_SP] - 8) || touches ? *sp : 0; /* push rbp */
#else
	uint32_t insn = *(const uint32_t *)u[CORE_PC];
	bool pushes = (insn == 0xa9bf7bfd || insn == 0xb85f03ff) && address == u[CORE_SP] - 16; /* stp x29, x30, [sp, #-16]!; ldur wzr, [sp, #-16] */
	return pushes || (insn == 0xb94003ff && address == u[CORE_SP]) ? u[CORE_LR] : 0; /* ldr wzr, [sp] */
#endif
}

/* core_go_on makes the interrupted code leave to a waot_core_enter. */
static void core_go_on(uint64_t *u, struct core_context *c, int code)
{
	u[CORE_ARG0] = (uint64_t)c;
	u[CORE_ARG1] = (uint64_t)code;
	u[CORE_PC] = (uint64_t)&waot_core_leave;
#ifdef __aarch64__
	u[CORE_PSTATE] &= ~0xc00ull; /* no branch is under way */
#endif
}

int waot_handle_signal(int signal, void *info, void *context)
{
	uint64_t *u = (uint64_t *)context, pc = u[CORE_PC], address = 0;
	int32_t code;
	memcpy(&code, (char *)info + 8, 4);
	memcpy(&address, (char *)info + 16, 8);
	if (code <= 0)
		return 0; /* somebody has sent it */
	if (core_scanning) { /* behind the stack */
		core_go_on(u, core_scanning, 1);
		return 1;
	}
	struct core_raw raw[WAOT_MAX_FRAMES];
	struct core_site s = {0, 0, 0, 0};
	uint32_t n = 0;
	waot_instance *i = core_of_text(pc);
	uint64_t caller = 0;
	bool overflow = (signal == CORE_SIGSEGV || signal == CORE_SIGBUS) && address - (u[CORE_SP] - CORE_STACK_FAULT) < 2 * CORE_STACK_FAULT;
	if (i && core_find_trap(i->object, pc - i->text, &s) && core_fits(i, &s, signal, address)) {
		overflow = false;
	} else if (overflow && (i || core_is_adapter(pc) || core_is_helper(pc))) {
		s.code = WAOT_TRAP_STACK_OVERFLOW;
		s.place = 0;
		if (!core_is_helper(pc))
			caller = core_first_caller(u, address);
	} else {
		return 0;
	}
	if (i) {
		raw[n].instance = i;
		raw[n].offset = pc - i->text;
		raw[n].place = s.place;
		raw[n].function = UINT32_MAX;
		n++;
	}
	uint32_t calls = n;
	waot_instance *around = caller ? core_of_text(caller) : NULL;
	if (around) {
		raw[n].instance = around;
		raw[n].offset = caller - around->text;
		raw[n].place = 0;
		raw[n].function = UINT32_MAX;
		n++;
	}
	if (!caller || around)
		n = core_walk(raw, n, u[CORE_FP]);
	struct core_context *c = core_top;
	if (!c || c->out) {
		waot_trap here, *t = c ? c->out : &here;
		t->code = s.code;
		t->status = 0;
		t->instance = i;
		t->exception = 0;
		core_resolve(t, raw, calls, n);
		core_describe(t, NULL);
		if (!c)
			core_die(t->message);
	}
	core_forget_exits(u[CORE_SP], (uint64_t)c);
	core_go_on(u, c, s.code);
	return 1;
}

static const int core_signals[] = {CORE_SIGSEGV, CORE_SIGBUS, CORE_SIGFPE, CORE_SIGILL};
static struct core_action core_others[sizeof core_signals / sizeof *core_signals];

/* core_pass gives a signal that is not ours to whoever handled it before. */
static void core_pass(int signal, void *info, void *context)
{
	const struct core_action *a = core_others;
	for (size_t n = 0; n < sizeof core_signals / sizeof *core_signals; n++) {
		if (core_signals[n] == signal)
			a = &core_others[n];
	}
	int32_t code;
	memcpy(&code, (char *)info + 8, 4);
	if (a->handler.word == 1 && code <= 0)
		return; /* ignored, and sent */
	if (a->handler.word <= 1) {
		/* The default action: it comes when the instruction runs again, or the signal is sent again. */
		struct core_action none;
		memset(&none, 0, sizeof none);
		core_set_action(signal, &none, NULL);
		if (code <= 0)
			core_raise(signal);
		return;
	}
	uint64_t mask = a->mask, own = 1ull << (signal - 1);
	waot_sys_call(CORE_NR_rt_sigprocmask, CORE_SIG_BLOCK, (long)&mask, 0, 8, 0, 0);
	if (a->flags & CORE_SA_NODEFER)
		waot_sys_call(CORE_NR_rt_sigprocmask, CORE_SIG_UNBLOCK, (long)&own, 0, 8, 0, 0);
	if (a->flags & CORE_SA_SIGINFO)
		a->handler.full(signal, info, context);
	else
		a->handler.simple(signal);
}

static void core_on_signal(int signal, void *info, void *context)
{
	if (!waot_handle_signal(signal, info, context))
		core_pass(signal, info, context);
}

/* core_begin_signals sets the handlers once; the lock is held. */
static void core_begin_signals(void)
{
	static bool done;
	if (done)
		return;
	done = true;
	/* Now, not when the stack is nearly used up, the dynamic loader may look for these. */
	volatile uint64_t nothing = 0;
	waot_memmove(&core_signal_stack, &core_signal_stack, nothing);
	waot_memset(&core_signal_stack, 0, nothing);
	struct core_action a;
	memset(&a, 0, sizeof a);
	a.handler.full = core_on_signal;
	a.flags = CORE_SA_SIGINFO | CORE_SA_ONSTACK;
#ifdef __x86_64__
	a.flags |= CORE_SA_RESTORER;
	a.restorer = waot_core_restorer;
#endif
	for (size_t n = 0; n < sizeof core_signals / sizeof *core_signals; n++) {
		core_set_action(core_signals[n], NULL, &core_others[n]);
		core_set_action(core_signals[n], &a, NULL);
	}
}

/* ---- Instantiation ---- */

/* core_cpu reports whether this processor has what code for a level needs. */
#ifdef __x86_64__
static void core_cpuid(uint32_t leaf, uint32_t r[4])
{
	__asm__ volatile("cpuid" : "=a"(r[0]), "=b"(r[1]), "=c"(r[2]), "=d"(r[3]) : "a"(leaf), "c"(0));
}

/* core_level is the highest level of x86-64 that the processor has, 1 if none that code is compiled for. */
static int core_level(void)
{
	uint32_t one[4], seven[4] = {0, 0, 0, 0}, extended[4] = {0, 0, 0, 0}, most[4], saved = 0, high;
	core_cpuid(0, most);
	core_cpuid(1, one);
	if (most[0] >= 7)
		core_cpuid(7, seven);
	core_cpuid(0x80000000, most);
	if (most[0] >= 0x80000001)
		core_cpuid(0x80000001, extended);
	if (one[2] >> 27 & 1)
		__asm__ volatile("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
	/* SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2, POPCNT. */
	const uint32_t v2 = 1u << 0 | 1u << 9 | 1u << 13 | 1u << 19 | 1u << 20 | 1u << 23;
	/* FMA, MOVBE, AVX, F16C; BMI1, AVX2, BMI2; LZCNT. */
	const uint32_t v3 = 1u << 12 | 1u << 22 | 1u << 28 | 1u << 29, v3b = 1u << 3 | 1u << 5 | 1u << 8, v3c = 1u << 5;
	/* AVX-512 F, DQ, CD, BW, VL. */
	const uint32_t v4 = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;
	if ((one[2] & v2) != v2)
		return 1;
	if ((one[2] & v3) != v3 || (seven[1] & v3b) != v3b || (extended[2] & v3c) != v3c || (saved & 6) != 6)
		return 2;
	return (seven[1] & v4) == v4 && (saved & 0xe6) == 0xe6 ? 4 : 3;
}

static bool core_cpu(const char *level, uint64_t size)
{
	static int known; /* virtual machines take long to say */
	int most = __atomic_load_n(&known, __ATOMIC_RELAXED), n = size == 9 ? level[8] - '0' : 0; /* x86-64-vN */
	if (most == 0)
		__atomic_store_n(&known, most = core_level(), __ATOMIC_RELAXED);
	return n >= 2 && n <= most;
}
#define CORE_ARCH "x86-64"
#else
static bool core_has_dot_product(void)
{
	/* The auxiliary vector: pairs of words. */
	enum { hwcap = 16, dot_product = 20 };
	long fd = waot_sys_call(CORE_NR_openat, CORE_AT_FDCWD, (long)"/proc/self/auxv", CORE_O_CLOEXEC, 0, 0, 0);
	uint64_t pair[2];
	bool ok = fd < 0; /* unknown: an undefined instruction will tell */
	while (fd >= 0 && waot_sys_call(CORE_NR_read, fd, (long)pair, sizeof pair, 0, 0, 0) == sizeof pair && pair[0]) {
		if (pair[0] == hwcap)
			ok = pair[1] >> dot_product & 1;
	}
	if (fd >= 0)
		waot_sys_call(CORE_NR_close, fd, 0, 0, 0, 0, 0);
	return ok;
}

static bool core_cpu(const char *level, uint64_t size)
{
	static int known; /* 1 without and 2 with the dot product */
	if (size == 9 && memcmp(level, "armv8.0-a", 9) == 0)
		return true;
	if (size != 17 || memcmp(level, "armv8.2-a+dotprod", 17) != 0)
		return false;
	int has = __atomic_load_n(&known, __ATOMIC_RELAXED);
	if (has == 0)
		__atomic_store_n(&known, has = core_has_dot_product() ? 2 : 1, __ATOMIC_RELAXED);
	return has == 2;
}
#define CORE_ARCH "aarch64"
#endif

/* core_check reports whether the object can run here: 0 or an error. */
static int core_check(const waot_object *o, struct core_meta *m)
{
	if (!core_read_meta(o, m) || m->arch_size != sizeof CORE_ARCH - 1 || memcmp(m->arch, CORE_ARCH, m->arch_size) != 0)
		return WAOT_ERROR_ABI;
	if (!core_cpu(m->cpu, m->cpu_size))
		return WAOT_ERROR_CPU;
	return core_take_table(o->traps, CORE_TRAPS) && core_take_table(o->calls, CORE_CALLS) ? 0 : WAOT_ERROR_MEMORY;
}

/* core_set_word sets a word of the instance's data, also in the copy. */
static void core_set_word(waot_instance *i, const void *linked, void *value)
{
	*(void **)waot_moved(i, linked) = value;
	if (i->filled)
		memcpy(i->filled + ((const char *)linked - i->object->instance), &value, sizeof value);
}

/* core_kept is the memory or table of its own that an instance has from when it was spare, whose word is still empty. */
static void *core_kept(waot_instance *i, const struct waot_slot *s)
{
	void *base = NULL;
	if (i->filled)
		memcpy(&base, i->filled + ((const char *)s->base - i->object->instance), sizeof base);
	return base;
}

/* core_release frees the memories and tables that belong to the instance. */
static void core_release(waot_instance *i)
{
	const waot_object *o = i->object;
	for (uint64_t n = 0; n < core_slots(o); n++) {
		const struct waot_slot *s = core_slot(o, n);
		if (!(s->flags & 1)) {
			void *base = *core_base(i, s);
			core_free_block(base ? base : core_kept(i, s));
			core_set_word(i, s->base, NULL);
		}
	}
}

/* core_lend notes that an instance has imported what is at an address, if it is a global of a further one. */
static void core_lend(uint64_t address)
{
	core_lock();
	for (waot_instance *i = core_instances; i; i = i->next) {
		if (core_state(i) > CORE_SPARE && address - (uint64_t)i->span < i->span_size)
			i->lent = true;
	}
	core_unlock();
}

/* core_fill_tags sets the words of tags: that of a tag of the instance itself has its own address. */
static int core_fill_tags(waot_instance *i, void *const *imports, waot_trap *t)
{
	for (uint64_t n = 0; n < core_num_tags(i->object); n++) {
		const struct waot_tag_slot *s = &i->object->tags[n];
		void *tag = waot_moved(i, s->word);
		if (s->flags & 1) {
			if (!(tag = *imports++))
				return core_fail(t, WAOT_ERROR_IMPORT, "an imported tag is missing");
			if (!core_same_type(core_find_tag(NULL, (uint64_t)tag).type, s->type))
				return core_fail(t, WAOT_ERROR_IMPORT, "an imported tag has another type");
			core_lend((uint64_t)tag);
		}
		core_set_word(i, s->word, tag);
	}
	return 0;
}

/* core_fill sets the words of memories, tables, imported globals and tags. */
static int core_fill(waot_instance *i, struct core_meta *m, void *const *imports, waot_trap *t)
{
	const waot_object *o = i->object;
	for (uint64_t n = 0; n < core_slots(o); n++) {
		bool memory = n < o->num_memories;
		const struct waot_slot *s = core_slot(o, n);
		uint64_t *base;
		if (s->flags & 1) {
			base = (uint64_t *)*imports++;
			uint64_t unit = memory ? WAOT_PAGE : 1;
			if (!base)
				return core_fail(t, WAOT_ERROR_IMPORT, memory ? "an imported memory is missing" : "an imported table is missing");
			if (memory && !(s->flags & CORE_CHECKED) && base[-3] < CORE_RESERVATION)
				return core_fail(t, WAOT_ERROR_IMPORT, "an imported memory is for code with explicit bounds checks");
			if (base[-1] < s->min * unit)
				return core_fail(t, WAOT_ERROR_IMPORT, memory ? "an imported memory is too small" : "an imported table is too small");
			if (base[-1] > s->max * unit)
				return core_fail(t, WAOT_ERROR_IMPORT, memory ? "an imported memory is too large" : "an imported table is too large");
			if (base[-2] > s->max)
				base[-2] = s->max;
			__atomic_store_n(&base[-5], 1, __ATOMIC_RELAXED); /* so do other threads */
		} else if (!(base = (uint64_t *)core_kept(i, s))) {
			bool checked = s->flags & CORE_CHECKED;
			base = (uint64_t *)(memory && !checked ? waot_memory_new(s->min, s->max) : core_own(memory, s->min, s->max, core_least(o, n + 1)));
			if (!base)
				return core_fail(t, WAOT_ERROR_MEMORY, !memory ? "no room for what a table begins with: more addresses are needed (ulimit -v)" :
					checked ? "no room for what a memory begins with: more addresses are needed (ulimit -v)" :
					"no room for a memory: 8 GiB of addresses are needed, and with --bounds=explicit less");
		}
		core_set_word(i, s->base, base);
	}
	struct core_reader r = m->r;
	for (uint64_t n = core_number(&r); n > 0 && !r.bad; n--) {
		struct core_global g = core_read_global(&r);
		if (!g.imported)
			continue;
		void *value = *imports++;
		if (!value)
			return core_fail(t, WAOT_ERROR_IMPORT, "an imported global is missing");
		core_lend((uint64_t)value);
		core_set_word(i, o->instance + g.offset, value);
	}
	return core_fill_tags(i, imports, t);
}

/* core_start runs init functions. */
struct core_start {
	void (*init)(void), (*initialize)(void);
	bool heap;
	uint64_t before, noted[1 - CORE_LINK]; /* what was noted before, and what an adapter would have below its frame */
};

static void core_run_start(void *p)
{
	struct core_start *s = (struct core_start *)p;
	if (s->heap) {
		s->noted[0] = s->before;
		core_set_exit((uint64_t)&s->noted[-CORE_LINK] | CORE_ENTRY | CORE_OWN_ENTRY);
	}
	s->init();
	if (s->heap)
		core_set_exit(s->before);
	if (s->initialize)
		s->initialize();
}

/* core_begin runs the init function and what is behind it, in an instance that is as it is before. */
static int core_begin(waot_instance *i, waot_trap *t)
{
	struct core_start s;
	uint64_t init = (uint64_t)i->object->init + i->delta;
	memcpy(&s.init, &init, sizeof init);
	s.initialize = i->initialize;
	s.heap = i->object->abi == WAOT_ABI_HEAP;
	s.before = s.heap ? core_last_exit() : 0;
	waot_trap here;
	int code = waot_try(t ? t : &here, core_run_start, &s);
	if (s.heap)
		core_set_exit(s.before);
	core_set_state(i, code ? CORE_FAILED : CORE_READY);
	return code;
}

#ifndef WAOT_STANDALONE
/* core_leads_on reports whether the code of a function is a jump through a slot, which a module has for an import that it exports again (compile/adapters.go, jumpThrough). */
static bool core_leads_on(const void *code)
{
#ifdef __x86_64__
	return memcmp(code, "\xf3\x0f\x1e\xfa\xff\x25", 6) == 0; /* endbr64; jmp *... */
#else
	uint32_t second;
	memcpy(&second, (const char *)code + 4, 4);
	return (second & 0x9f000000u) == 0x90000000u; /* bti c; adrp */
#endif
}

/* core_use_own_stubs makes a linked instance with exceptions or a heap call C functions by its own stubs, of which others know nothing: they save registers, so that the function may throw, and note the call. Linkers
 * keep one stub of all modules that import a function, the first. What another module exports, or exports again, stays. */
static void core_use_own_stubs(const waot_object *o)
{
	if (o->abi != WAOT_ABI_EXCEPTIONS && o->abi != WAOT_ABI_HEAP)
		return;
	for (uint64_t n = 0; n < o->num_stubs; n++) {
		const struct waot_stub *s = &o->stubs[n];
		const void *other = s->slot[1];
		bool perhaps_in_c = (uint64_t)other % CORE_DESC_SIZE != 0; /* its address says so */
		if (!s->code || s->slot[0] == s->code || !perhaps_in_c || core_leads_on(s->slot[0]))
			continue;
		s->slot[0] = s->code;
		for (const void **w = (const void **)(void *)o->instance; (char *)w < o->instance + o->instance_size; w++)
			if (*w == other) /* the slot, and references to the function in segments */
				*w = s->descriptor;
	}
}

/* core_keep keeps a copy of the linked instance's data as it is before init; further instances begin with it. */
static bool core_keep(waot_instance *i)
{
	const waot_object *o = i->object;
	if (i->pristine)
		return true;
	core_use_own_stubs(o);
	i->pristine = (char *)core_map(NULL, core_page_up(o->instance_size), CORE_PROT_RW, CORE_MAP_ANON, -1, 0);
	if (i->pristine)
		memcpy(i->pristine, o->instance, o->instance_size);
	return i->pristine;
}
#else
static bool core_keep(waot_instance *i) { return i != NULL; }
static bool core_place_memory(waot_instance *i); /* start.c */
#endif

int waot_instance_init(waot_instance *i, void *const *imports, void (*initialize)(void), waot_trap *t)
{
	struct core_meta m;
	if (!i)
		return core_fail(t, WAOT_ERROR_MEMORY, NULL);
	int code = core_check(i->object, &m);
	if (code)
		return core_fail(t, code, NULL);
	core_lock();
	core_begin_signals();
	bool fresh = core_state(i) == CORE_NEW, kept = i->delta || core_keep(i);
	if (fresh && kept)
		core_set_state(i, CORE_FAILED); /* until it is ready */
	core_unlock();
	if (!fresh)
		return core_fail(t, WAOT_ERROR_STATE, NULL);
	if (!kept)
		return core_fail(t, WAOT_ERROR_MEMORY, NULL);
	code = core_fill(i, &m, imports, t);
	if (!code && i->object->abi == WAOT_ABI_HEAP)
		code = core_prepare_heap(i, t);
#ifdef WAOT_STANDALONE
	if (!code && !core_place_memory(i))
		code = core_fail(t, WAOT_ERROR_MEMORY, "no room for a memory");
#endif
	if (code) {
		core_release(i);
		core_set_state(i, CORE_NEW); /* nothing but its words has changed */
		return code;
	}
	i->initialize = initialize;
	return core_begin(i, t);
}

#ifndef WAOT_STANDALONE

static uint64_t core_down(uint64_t n, uint64_t page) { return n & ~(page - 1); }
static uint64_t core_up(uint64_t n, uint64_t page) { return (n + page - 1) & ~(page - 1); }

/* core_page_size returns the size of the kernel's pages: the least that has protections of its own. The kernel refuses to protect what begins
 * elsewhere, also if that is nothing. */
static uint64_t core_page_size(void)
{
	static uint64_t known;
	uint64_t page = __atomic_load_n(&known, __ATOMIC_RELAXED);
	if (page)
		return page;
	page = 4096;
	while (page < CORE_PAGE && waot_sys_call(CORE_NR_mprotect, (long)(CORE_PAGE + page), 0, CORE_PROT_NONE, 0, 0, 0) != 0)
		page *= 2;
	__atomic_store_n(&known, page, __ATOMIC_RELAXED);
	return page;
}

/* core_file is a mapping of the process from a file; no path: there is none. */
struct core_file {
	uint64_t start, end, offset;
	uint64_t stamp[5];              /* which file, and which state of it */
	char path[4096];
};

static uint64_t core_scan_number(const char **p, const char *end, unsigned base)
{
	uint64_t v = 0;
	for (; *p < end; ++*p) {
		unsigned c = (unsigned char)**p, d = c >= 'a' ? c - 'a' + 10 : c - '0';
		if (d >= base)
			break;
		v = v * base + d;
	}
	return v;
}

/* core_parse_line reads a line of /proc/self/maps. It reports whether the mapping holds the address and comes from a file. */
static bool core_parse_line(const char *line, const char *end, uint64_t address, struct core_file *f)
{
	const char *p = line;
	f->start = core_scan_number(&p, end, 16);
	p++;
	f->end = core_scan_number(&p, end, 16);
	if (address < f->start || address >= f->end)
		return false;
	p += 6; /* " r-xp " */
	f->offset = core_scan_number(&p, end, 16);
	while (p < end && *p != '/')
		p++; /* past the device and the number of the file, which other calls name differently in containers */
	if (p >= end || *p != '/' || (size_t)(end - p) >= sizeof f->path)
		return false;
	memcpy(f->path, p, (size_t)(end - p));
	f->path[end - p] = 0;
	return true;
}

/* core_stamp fills what tells a file and its state: device, number, size and time of change. */
static bool core_stamp(long fd, uint64_t stamp[5])
{
	/* struct statx has the number and the size at 32, the time at 96, the device at 136. */
	char st[256];
	enum { empty_path = 0x1000, basic = 0x7ff };
	if (waot_sys_call(CORE_NR_statx, fd, (long)"", empty_path, basic, (long)st, 0) != 0)
		return false;
	memcpy(stamp, st + 32, 16);
	memcpy(stamp + 2, st + 96, 8);
	stamp[3] = 0;
	memcpy(stamp + 3, st + 104, 4);
	memcpy(stamp + 4, st + 136, 8);
	return true;
}

static long core_open_path(const struct core_file *f)
{
	return f->path[0] ? waot_sys_call(CORE_NR_openat, CORE_AT_FDCWD, (long)f->path, CORE_O_CLOEXEC, 0, 0, 0) : -1;
}

static void core_close(long fd) { waot_sys_call(CORE_NR_close, fd, 0, 0, 0, 0, 0); }

/* core_open opens the file, if it is as it was. The result is a descriptor or negative. */
static long core_open(const struct core_file *f)
{
	uint64_t stamp[5];
	long fd = core_open_path(f);
	if (fd < 0 || (core_stamp(fd, stamp) && memcmp(stamp, f->stamp, sizeof stamp) == 0))
		return fd;
	core_close(fd);
	return -1;
}

/* core_find_file finds the file that is mapped at an address. */
static bool core_find_file(uint64_t address, struct core_file *f)
{
	enum { room = 8192 };
	char buffer[room];
	size_t have = 0;
	bool found = false;
	long fd = waot_sys_call(CORE_NR_openat, CORE_AT_FDCWD, (long)"/proc/self/maps", CORE_O_CLOEXEC, 0, 0, 0);
	if (fd < 0)
		return false;
	while (!found) {
		long r = waot_sys_call(CORE_NR_read, fd, (long)(buffer + have), (long)(room - have), 0, 0, 0);
		if (r <= 0)
			break;
		have += (size_t)r;
		size_t from = 0;
		for (size_t at = 0; at < have && !found; at++) {
			if (buffer[at] == '\n') {
				found = core_parse_line(buffer + from, buffer + at, address, f);
				from = at + 1;
			}
		}
		memmove(buffer, buffer + from, have - from);
		have -= from;
		if (have == room)
			break;
	}
	waot_sys_call(CORE_NR_close, fd, 0, 0, 0, 0, 0);
	return found;
}

/* core_same_text reports whether the file has the object's text where it should be; another file may have the name by now. */
static bool core_same_text(const waot_object *o, struct core_file *f)
{
	uint64_t text = (uint64_t)o->text;
	long fd = core_open_path(f);
	if (fd < 0)
		return false;
	bool same = false;
	if (text + o->text_size <= f->end && core_stamp(fd, f->stamp)) {
		uint64_t size = text + o->text_size - f->start;
		char *p = (char *)core_map(NULL, size, CORE_PROT_READ, 0, (int)fd, f->offset);
		same = p && memcmp(p + (text - f->start), o->text, o->text_size) == 0;
		core_unmap(p, size);
	}
	core_close(fd);
	return same;
}

/* core_file_of is the file that an object's text comes from; NULL if there is no memory. It is looked for once: the list of mappings may be long. */
static const struct core_file *core_file_of(const waot_object *o)
{
	waot_instance *linked = waot_instance_of(o);
	if (!linked)
		return NULL;
	struct core_file *f = __atomic_load_n(&linked->file, __ATOMIC_ACQUIRE);
	if (f)
		return f;
	f = (struct core_file *)core_map(NULL, sizeof *f, CORE_PROT_RW, CORE_MAP_ANON, -1, 0);
	if (!f)
		return NULL;
	if (!core_find_file((uint64_t)o->text, f) || !core_same_text(o, f))
		f->path[0] = 0;
	struct core_file *other = NULL;
	if (__atomic_compare_exchange_n(&linked->file, &other, f, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return f;
	core_unmap(f, sizeof *f);
	return other;
}

/* core_map_code puts the code from start to end at a distance of delta: pages of the file that it comes from, or else a copy. */
static bool core_map_code(const struct core_file *f, uint64_t start, uint64_t end, uint64_t delta, uint64_t page)
{
	uint64_t from = core_down(start, page), to = core_up(end, page);
	char *at = (char *)(from + delta);
	void *p = NULL;
	if (f && from >= f->start && to <= f->end) {
		long fd = core_open(f);
		if (fd >= 0) {
			p = core_map(at, to - from, CORE_PROT_READ | CORE_PROT_EXEC, CORE_MAP_FIXED, (int)fd, f->offset + (from - f->start));
			core_close(fd);
		}
	}
	if (p)
		return true;
	if (!core_map(at, to - from, CORE_PROT_RW, CORE_MAP_FIXED | CORE_MAP_ANON, -1, 0))
		return false;
	memcpy((void *)(start + delta), (const void *)start, end - start);
	__builtin___clear_cache((char *)(start + delta), (char *)(end + delta));
	return core_protect(at, to - from, CORE_PROT_READ | CORE_PROT_EXEC);
}

static void core_move_word(char *word, uint64_t start, uint64_t size, uint64_t delta)
{
	uint64_t v;
	memcpy(&v, word, 8);
	if (v - start <= size) {
		v += delta;
		memcpy(word, &v, 8);
	}
}

/* core_move_data moves the words of the instance data at data that point into the instance's own text and data. What else looks like such an
 * address, the values of globals and lengths, is passed over. Words that lead out of the module stay. docs/abi.md has the order of
 * the parts. */
static bool core_move_data(const waot_object *o, struct core_meta *m, char *data, uint64_t delta)
{
	struct core_reader r = m->r;
	uint64_t instance = (uint64_t)o->instance, size = o->instance_size;
	uint64_t pairs = (m->type_slots + 8 * m->num_type_slots + 15) & ~15ull, end = size, elements = size;
	if (core_number(&r))
		end = core_read_global(&r).offset;
	r = m->r;
	uint64_t n = core_read_funcs(&r);
	struct core_func f;
	memset(&f, 0, sizeof f);
	for (; n > 0 && !r.bad; n--) {
		core_next_func(&r, &f);
		if (f.imported) {
			pairs = f.slot + 16;
		} else if (f.has_desc) {
			if (f.desc < end)
				end = f.desc;
			elements = f.next_desc;
			core_move_word(data + f.desc, (uint64_t)o->text, o->text_size, delta);
		}
	}
	if (r.bad)
		return false;
	for (uint64_t at = pairs; at + 16 <= end && at + 16 <= size; at += 16) {
		uint64_t address;
		memcpy(&address, data + at, 8);
		if (address - instance <= size && address - instance < end && address - instance > at)
			end = address - instance; /* the first element segment's array */
		core_move_word(data + at, instance, size, delta);
	}
	for (uint64_t at = elements; at + 8 <= size; at += 8)
		core_move_word(data + at, instance, size, delta);
	return true;
}

/* core_range is addresses from start to before end. */
struct core_range {
	uint64_t start, end;
};

static bool core_overlap(struct core_range a, struct core_range b, uint64_t page)
{
	return core_down(a.start, page) < core_up(b.end, page) && core_down(b.start, page) < core_up(a.end, page);
}

/* core_join makes a the range of both. */
static void core_join(struct core_range *a, struct core_range b)
{
	if (b.start < a->start)
		a->start = b.start;
	if (b.end > a->end)
		a->end = b.end;
}

/* core_ranges is where an instance's code and data are. */
struct core_ranges {
	struct core_range code[2];      /* the text and the adapters, or one range with both */
	int num_code;
	struct core_range data, all;
};

static struct core_ranges core_measure(const waot_object *o, uint64_t page)
{
	struct core_ranges r;
	struct core_range text = {(uint64_t)o->text, (uint64_t)o->text + o->text_size};
	struct core_range adapters = {(uint64_t)o->adapters, (uint64_t)o->adapters + o->adapters_size};
	struct core_range data = {(uint64_t)o->instance, (uint64_t)o->instance + o->instance_size};
	r.code[0] = text;
	r.code[1] = adapters;
	r.num_code = 2;
	if (core_overlap(text, adapters, page)) {
		core_join(&r.code[0], adapters);
		r.num_code = 1;
	}
	r.data = r.all = data;
	core_join(&r.all, text);
	core_join(&r.all, adapters);
	return r;
}

/* core_map_all maps code and data of a further instance; the data is still empty. */
static int core_map_all(const struct core_file *f, const struct core_ranges *r, uint64_t delta, uint64_t page, waot_trap *t)
{
	struct core_range d = r->data;
	for (int n = 0; n < r->num_code; n++) {
		if (core_overlap(r->code[n], d, page))
			return core_fail(t, WAOT_ERROR_STATE, "code and data of the module share a page of the program");
		if (!core_map_code(f, r->code[n].start, r->code[n].end, delta, page))
			return core_fail(t, WAOT_ERROR_MEMORY, "the code cannot be mapped again");
	}
	char *at = (char *)(core_down(d.start, page) + delta);
	if (!core_protect(at, core_up(d.end, page) - core_down(d.start, page), CORE_PROT_RW))
		return core_fail(t, WAOT_ERROR_MEMORY, "no room for the data of an instance");
	return 0;
}

/* At most so many spare instances of an object wait, with so many bytes that can be accessed. */
enum { CORE_MOST_SPARES = 16, CORE_MOST_SPARE = 64 << 20 };

/* core_weight is how many bytes a spare instance of an object has at least. */
static uint64_t core_weight(const waot_object *o)
{
	uint64_t weight = o->text_size + 2 * o->instance_size;
	for (uint64_t n = 0; n < core_slots(o); n++) {
		const struct waot_slot *s = core_slot(o, n);
		if (!(s->flags & 1))
			weight += s->min * (n < o->num_memories ? WAOT_PAGE : 8);
	}
	return weight;
}

/* core_has_room reports whether one more instance of the object may be spare; the lock is held. */
static bool core_has_room(const waot_object *o)
{
	uint64_t count = 1;
	for (const waot_instance *i = core_spares; i; i = i->spare)
		count += i->object == o;
	return count <= CORE_MOST_SPARES && count * core_weight(o) <= CORE_MOST_SPARE;
}

/* core_take_spare takes a spare instance, of an object or of any, or NULL if there is none. */
static waot_instance *core_take_spare(const waot_object *o)
{
	core_lock();
	waot_instance **at = &core_spares;
	while (*at && o && (*at)->object != o)
		at = &(*at)->spare;
	waot_instance *i = *at;
	if (i)
		*at = i->spare;
	if (i && o)
		core_show(i);
	core_unlock();
	return i;
}

/* core_destroy returns to the kernel what an instance has that is no longer shown. */
static void core_destroy(waot_instance *i)
{
	core_release(i);
	core_unmap(i->filled, core_page_up(i->object->instance_size));
	core_unmap(i->span, i->span_size);
	core_lock();
	core_set_state(i, CORE_FREE);
	core_unlock();
}

static bool core_free_spares(void)
{
	waot_instance *i;
	bool any = false;
	for (; (i = core_take_spare(NULL)); any = true)
		core_destroy(i);
	return any;
}

void waot_free_spares(void) { core_free_spares(); }

waot_instance *waot_instance_map(const waot_object *o, waot_trap *t)
{
	waot_instance *spare = core_take_spare(o);
	if (spare)
		return spare; /* it has been checked when it was mapped */
	struct core_meta m;
	int code = core_check(o, &m);
	if (code) {
		core_fail(t, code, NULL);
		return NULL;
	}
	struct core_ranges r = core_measure(o, 1);
	uint64_t low = core_down(r.all.start, CORE_PAGE), size = core_page_up(r.all.end) - low + CORE_PAGE;
	char *span = core_reserve(size);
	if (!span) {
		core_fail(t, WAOT_ERROR_MEMORY, "no addresses for a further instance");
		return NULL;
	}
	uint64_t page = core_page_size(), delta = core_page_up((uint64_t)span) - low;
	r = core_measure(o, page);
	waot_instance *i = NULL;
	if (core_map_all(core_file_of(o), &r, delta, page, t) == 0) {
		char *data = o->instance + delta;
		core_lock();
		waot_instance *linked = core_linked(o);
		if (linked && core_keep(linked)) {
			memcpy(data, linked->pristine, o->instance_size);
			if (core_move_data(o, &m, data, delta))
				i = core_add(o, delta);
			if (i) {
				i->span = span;
				i->span_size = size;
			}
		}
		core_unlock();
		if (!i)
			core_fail(t, WAOT_ERROR_MEMORY, "no room for a further instance");
	}
	if (!i) {
		core_unmap(span, size);
		return core_free_spares() ? waot_instance_map(o, t) : NULL;
	}
	return i;
}

/* ---- Resets ---- */

/* core_put_word puts a word of the instance's data, as it is now, into a copy of the data. */
static void core_put_word(waot_instance *i, char *copy, const void *linked)
{
	memcpy(copy + ((const char *)linked - i->object->instance), waot_moved(i, linked), 8);
}

/* core_filled returns the instance's data as they are when init runs: those of the object, with the words that core_fill sets, which nothing changes
 * later. They are made once, as moving takes longer than copying. NULL: no memory. */
static const char *core_filled(waot_instance *i)
{
	const waot_object *o = i->object;
	struct core_meta m;
	if (i->filled || !core_read_meta(o, &m))
		return i->filled;
	waot_instance *linked = waot_instance_of(o);
	char *copy = (char *)core_map(NULL, core_page_up(o->instance_size), CORE_PROT_RW, CORE_MAP_ANON, -1, 0);
	if (!copy)
		return NULL;
	memcpy(copy, linked->pristine, o->instance_size);
	core_move_data(o, &m, copy, i->delta);
	for (uint64_t n = 0; n < core_slots(o); n++)
		core_put_word(i, copy, core_slot(o, n)->base);
	for (uint64_t n = core_number(&m.r); n > 0 && !m.r.bad; n--) {
		struct core_global g = core_read_global(&m.r);
		if (g.imported)
			core_put_word(i, copy, o->instance + g.offset);
	}
	for (uint64_t n = 0; n < core_num_tags(o); n++)
		core_put_word(i, copy, o->tags[n].word);
	if (o->abi == WAOT_ABI_HEAP) /* to the end of the data: where the heap is, and the numbers of types */
		memcpy(copy + (o->heap - o->instance), waot_moved(i, o->heap), (uint64_t)(o->instance + o->instance_size - o->heap));
	return i->filled = copy;
}

/* core_shrinks reports whether a reset leaves less than min of what is at base: it is the instance's own, and begins with less. */
static bool core_shrinks(waot_instance *i, const void *base, uint64_t min)
{
	for (uint64_t n = 0; n < core_slots(i->object); n++) {
		const struct waot_slot *s = core_slot(i->object, n);
		if (!(s->flags & 1) && s->min < min && *core_base(i, s) == base)
			return true;
	}
	return false;
}

/* core_is_lent reports whether an instance may have imported a memory or table of this one. */
static bool core_is_lent(waot_instance *i)
{
	for (uint64_t n = 0; n < core_slots(i->object); n++) {
		const struct waot_slot *s = core_slot(i->object, n);
		if (!(s->flags & 1) && __atomic_load_n((const uint64_t *)*core_base(i, s) - 5, __ATOMIC_RELAXED))
			return true;
	}
	return false;
}

/* core_is_needed reports whether another instance imports what a reset would make too small for it. */
static bool core_is_needed(waot_instance *i)
{
	bool needed = false;
	if (!core_is_lent(i))
		return false;
	core_lock();
	for (waot_instance *other = core_instances; other; other = other->next) {
		for (uint64_t n = 0; core_state(other) > CORE_SPARE && n < core_slots(other->object); n++) {
			const struct waot_slot *s = core_slot(other->object, n);
			if (s->flags & 1 && core_shrinks(i, *core_base(other, s), s->min))
				needed = true;
		}
	}
	core_unlock();
	return needed;
}

/* core_give_up makes memory zero: the kernel takes its pages, and gives others where they are touched again. */
static void core_give_up(char *at, uint64_t size)
{
	const long dont_need = 4;
	if (size > 0 && waot_sys_call(CORE_NR_madvise, (long)at, (long)size, dont_need, 0, 0, 0) != 0)
		memset(at, 0, size); /* pages that are locked stay */
}

/* core_empty makes memory zero, from the start of a page on up to the end of one. It writes the pages that are there, if they are few: to touch new ones takes
 * many times as long. The kernel takes all others, which it may have swapped out. Which are there is a hint and no more, and asked only of the first
 * ones, where programs write first. From the second time on it writes up to `unasked` bytes at once, as the question takes longer than that. */
static void core_empty(char *at, uint64_t size, uint64_t unasked)
{
	enum { looked = 1024, least_page = 4096, few = 64 };
	uint8_t there[looked]; /* of each page, in the lowest bit */
	uint64_t page = core_page_size(), found = 0, from = 0;
	if (size <= unasked) {
		memset(at, 0, size);
		return;
	}
	size = (size + page - 1) & ~(page - 1);
	uint64_t pages = (size < looked * least_page ? size : looked * least_page) / page;
	if (waot_sys_call(CORE_NR_mincore, (long)at, (long)(pages * page), (long)there, 0, 0, 0) != 0)
		pages = 0;
	for (uint64_t n = 0; n < pages; n++)
		found += there[n] & 1;
	for (uint64_t n = 0; n < pages && found <= few; n++) {
		if (there[n] & 1) {
			core_give_up(at + from, n * page - from);
			memset(at + n * page, 0, page);
			from = (n + 1) * page;
		}
	}
	core_give_up(at + from, size - from);
}

/* core_restore makes the instance's own memories, tables and data what they were before init. Bases stay, and limits, which other instances may have
 * lowered. It reports whether it could. */
static bool core_restore(waot_instance *i)
{
	const waot_object *o = i->object;
	const uint64_t unasked = 65536;
	for (uint64_t n = 0; n < core_slots(o); n++) {
		const struct waot_slot *s = core_slot(o, n);
		if (s->flags & 1)
			continue;
		/* The size is in bytes or elements. */
		uint64_t *base = (uint64_t *)*core_base(i, s), unit = n < o->num_memories ? 1 : 8;
		uint64_t size = base[-1] * unit, least = s->min * (n < o->num_memories ? WAOT_PAGE : 8);
		core_empty((char *)base, size, i->emptied ? unasked : 0);
		if (!core_protect((char *)base + core_page_up(least), core_page_up(size) - core_page_up(least), CORE_PROT_NONE))
			return false;
		base[-1] = least / unit;
	}
	memcpy(waot_moved(i, o->instance), i->filled, o->instance_size);
	i->emptied = true;
	return true;
}

int waot_instance_reset(waot_instance *i, const waot_instance *caller, waot_trap *t)
{
	if (caller || core_top)
		return core_fail(t, WAOT_ERROR_BUSY, NULL);
	if (!i || (core_state(i) != CORE_READY && core_state(i) != CORE_FAILED))
		return core_fail(t, WAOT_ERROR_STATE, "the instance is not initialised");
	if (core_is_needed(i))
		return core_fail(t, WAOT_ERROR_IMPORT, "another instance imports a memory or table, and needs more than it begins with");
	if (!core_filled(i))
		return core_fail(t, WAOT_ERROR_MEMORY, NULL);
	core_lock();
	core_set_state(i, CORE_CHANGING);
	core_unlock();
	bool restored = core_restore(i);
	core_lock();
	core_set_state(i, CORE_FAILED); /* until it is ready */
	core_unlock();
	return restored ? core_begin(i, t) : core_fail(t, WAOT_ERROR_MEMORY, NULL);
}

/* ---- Spare instances ---- */

/* core_make_spare empties an instance that is no longer shown, and keeps it for the next one of its object. It reports whether it could. What others have
 * imported is not kept: where they use it, they find nothing. */
static bool core_make_spare(waot_instance *i)
{
	const waot_object *o = i->object;
	struct core_meta m;
	if (i->lent || core_is_lent(i) || !core_read_meta(o, &m) || !core_filled(i) || !core_restore(i))
		return false;
	/* The words that core_fill sets are empty until then. */
	for (uint64_t n = 0; n < core_slots(o); n++)
		*core_base(i, core_slot(o, n)) = NULL;
	for (uint64_t n = core_number(&m.r); n > 0 && !m.r.bad; n--) {
		struct core_global g = core_read_global(&m.r);
		if (g.imported)
			*(void **)waot_moved(i, o->instance + g.offset) = NULL;
	}
	for (uint64_t n = 0; n < core_num_tags(o); n++)
		*(void **)waot_moved(i, o->tags[n].word) = NULL;
	core_lock();
	bool room = core_has_room(o);
	if (room) {
		i->spare = core_spares;
		core_spares = i;
	}
	core_unlock();
	return room;
}

void waot_instance_free(waot_instance *i)
{
	if (!i || i->delta == 0)
		return;
	if (i->wasi)
		waot_wasi_close(i);
	core_lock();
	bool shown = core_state(i) > CORE_SPARE, filled = core_state(i) > CORE_NEW, room = core_has_room(i->object);
	if (shown) {
		core_set_state(i, CORE_SPARE);
		__atomic_store_n(&i->text_size, 0, __ATOMIC_RELEASE);
		core_drop_exceptions(i);
	}
	core_unlock();
	if (shown && !(filled && room && core_make_spare(i)))
		core_destroy(i);
}

#endif

#ifdef __cplusplus
}
#endif
