/* The driver that executes compiled code for AArch64 in tests: it maps images, one after the other, reads
 * commands from standard input and writes their outcomes to standard output. All
 * numbers are 64-bit words, little endian. The test that uses it (qemu_test.go of the a64
 * package) links the images and chooses all addresses. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

typedef uint64_t u64;

/* What enter exchanges with compiled code; offsets are in the assembly below. */
struct ctx {
	u64 fn;          /* 0 */
	u64 top;         /* 8: of the stack of compiled code */
	u64 sp;          /* 16: the driver's */
	u64 nstack;      /* 24 */
	u64 ints[8];     /* 32 */
	u64 floats[16];  /* 96: q0 to q7 */
	u64 after[21];   /* 224: x18 to x29, sp, d8 to d15 */
	u64 stack[64];   /* 392 */
};

struct ctx *cur;
void enter(struct ctx *c);

#define POISON 0x5a5a000000000000ull

/* Where compiled code is, and the callee-saved registers that it has there; offsets are in the assembly below. */
struct registers {
	u64 kept[17];    /* 0: x19 to x27, d8 to d15 */
	u64 fp, pc, sp;  /* 136, 144, 152 */
};

struct registers thrown;
void raise_exception(u64 *current);

__asm__(
".text\n"
".globl enter\n"
"enter:\n"
"	stp x29, x30, [sp, #-176]!\n"
"	stp x19, x20, [sp, #16]\n"
"	stp x21, x22, [sp, #32]\n"
"	stp x23, x24, [sp, #48]\n"
"	stp x25, x26, [sp, #64]\n"
"	stp x27, x28, [sp, #80]\n"
"	stp d8, d9, [sp, #96]\n"
"	stp d10, d11, [sp, #112]\n"
"	stp d12, d13, [sp, #128]\n"
"	stp d14, d15, [sp, #144]\n"
"	mov x9, sp\n"
"	str x9, [x0, #16]\n"
"	ldr x9, [x0, #8]\n"
"	mov sp, x9\n"
"	ldr x10, [x0, #24]\n"
"	add x11, x10, #1\n"
"	and x11, x11, #-2\n"
"	sub sp, sp, x11, lsl #3\n"
"	mov x12, #0\n"
"	add x13, x0, #392\n"
"1:	cmp x12, x10\n"
"	b.eq 2f\n"
"	ldr x14, [x13, x12, lsl #3]\n"
"	str x14, [sp, x12, lsl #3]\n"
"	add x12, x12, #1\n"
"	b 1b\n"
"2:	movz x9, #0x5a5a, lsl #48\n"
"	add x18, x9, #18\n"
"	add x19, x9, #19\n"
"	add x20, x9, #20\n"
"	add x21, x9, #21\n"
"	add x22, x9, #22\n"
"	add x23, x9, #23\n"
"	add x24, x9, #24\n"
"	add x25, x9, #25\n"
"	add x26, x9, #26\n"
"	add x27, x9, #27\n"
"	add x28, x9, #28\n"
"	add x29, x9, #29\n"
"	fmov d8, x19\n"
"	fmov d9, x20\n"
"	fmov d10, x21\n"
"	fmov d11, x22\n"
"	fmov d12, x23\n"
"	fmov d13, x24\n"
"	fmov d14, x25\n"
"	fmov d15, x26\n"
"	ldr x16, [x0]\n"
"	ldp q0, q1, [x0, #96]\n"
"	ldp q2, q3, [x0, #128]\n"
"	ldp q4, q5, [x0, #160]\n"
"	ldp q6, q7, [x0, #192]\n"
"	ldp x2, x3, [x0, #48]\n"
"	ldp x4, x5, [x0, #64]\n"
"	ldp x6, x7, [x0, #80]\n"
"	ldp x0, x1, [x0, #32]\n"
"	blr x16\n"
"	adrp x16, cur\n"
"	ldr x16, [x16, :lo12:cur]\n"
"	stp x0, x1, [x16, #32]\n"
"	stp x2, x3, [x16, #48]\n"
"	stp q0, q1, [x16, #96]\n"
"	stp q2, q3, [x16, #128]\n"
"	stp x18, x19, [x16, #224]\n"
"	stp x20, x21, [x16, #240]\n"
"	stp x22, x23, [x16, #256]\n"
"	stp x24, x25, [x16, #272]\n"
"	stp x26, x27, [x16, #288]\n"
"	stp x28, x29, [x16, #304]\n"
"	mov x9, sp\n"
"	str x9, [x16, #320]\n"
"	str d8, [x16, #328]\n"
"	str d9, [x16, #336]\n"
"	str d10, [x16, #344]\n"
"	str d11, [x16, #352]\n"
"	str d12, [x16, #360]\n"
"	str d13, [x16, #368]\n"
"	str d14, [x16, #376]\n"
"	str d15, [x16, #384]\n"
"	ldr x9, [x16, #16]\n"
"	mov sp, x9\n"
"	ldp x19, x20, [sp, #16]\n"
"	ldp x21, x22, [sp, #32]\n"
"	ldp x23, x24, [sp, #48]\n"
"	ldp x25, x26, [sp, #64]\n"
"	ldp x27, x28, [sp, #80]\n"
"	ldp d8, d9, [sp, #96]\n"
"	ldp d10, d11, [sp, #112]\n"
"	ldp d12, d13, [sp, #128]\n"
"	ldp d14, d15, [sp, #144]\n"
"	ldp x29, x30, [sp], #176\n"
"	ret\n"
/* raise_exception goes on where unwind says. All registers but those that a handler may rely on have other values then. */
".globl raise_exception\n"
"raise_exception:\n"
"	adrp x9, thrown\n"
"	add x9, x9, :lo12:thrown\n"
"	stp x19, x20, [x9]\n"
"	stp x21, x22, [x9, #16]\n"
"	stp x23, x24, [x9, #32]\n"
"	stp x25, x26, [x9, #48]\n"
"	str x27, [x9, #64]\n"
"	stp d8, d9, [x9, #72]\n"
"	stp d10, d11, [x9, #88]\n"
"	stp d12, d13, [x9, #104]\n"
"	stp d14, d15, [x9, #120]\n"
"	stp x29, x30, [x9, #136]\n"
"	mov x10, sp\n"
"	str x10, [x9, #152]\n"
"	bl unwind\n"
"	adrp x9, thrown\n"
"	add x9, x9, :lo12:thrown\n"
"	ldp x19, x20, [x9]\n"
"	ldp x21, x22, [x9, #16]\n"
"	ldp x23, x24, [x9, #32]\n"
"	ldp x25, x26, [x9, #48]\n"
"	ldr x27, [x9, #64]\n"
"	ldp d8, d9, [x9, #72]\n" /* this clears the upper halves */
"	ldp d10, d11, [x9, #88]\n"
"	ldp d12, d13, [x9, #104]\n"
"	ldp d14, d15, [x9, #120]\n"
"	ldp x29, x30, [x9, #136]\n"
"	ldr x10, [x9, #152]\n"
"	mov sp, x10\n"
"	movz x0, #0x5b5b, lsl #48\n"
".irp r, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17\n"
"	add x\\r, x0, #\\r\n"
".endr\n"
".irp r, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31\n"
"	dup v\\r\\().2d, x0\n"
".endr\n"
"	ret\n");

static void die(const char *why)
{
	fprintf(stderr, "driver: %s\n", why);
	exit(3);
}

/* reserve maps memory at an address. What is not mapped faults as if it were reserved, since nothing else
 * is near: emulating a reservation of gigabytes would take long. */
static void reserve(u64 at, u64 size, int prot)
{
	void *p = mmap((void *)at, size, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	if (p != (void *)at)
		die("mmap");
}

/* The helpers of the host. They see whether the stack is aligned: the frame of a function of C begins at a multiple
 * of 16 then. */
static int misaligned;
#define SEE_ALIGNMENT() (misaligned |= (u64)__builtin_frame_address(0) % 16 != 0)

static u64 memory_grow(char *base, u64 pages)
{
	SEE_ALIGNMENT();
	u64 *w = (u64 *)base;
	u64 old = w[-1] >> 16;
	if (pages > w[-2] || old + pages > w[-2])
		return ~0ull;
	if (pages)
		reserve((u64)base + w[-1], pages << 16, PROT_READ | PROT_WRITE);
	w[-1] += pages << 16;
	return old;
}

static u64 table_grow(char *base, u64 n, u64 init)
{
	SEE_ALIGNMENT();
	u64 *w = (u64 *)base;
	u64 old = w[-1];
	if (n > w[-2] || old + n > w[-2])
		return ~0ull;
	for (u64 i = 0; i < n; i++)
		w[old + i] = init;
	w[-1] = old + n;
	return old;
}

static void fill_bytes(void *to, u64 byte, u64 n)
{
	SEE_ALIGNMENT();
	memset(to, (int)byte, n);
}

static void move_bytes(void *to, const void *from, u64 n)
{
	SEE_ALIGNMENT();
	memmove(to, from, n);
}

static void fill_words(u64 *to, u64 word, u64 n)
{
	SEE_ALIGNMENT();
	while (n--)
		*to++ = word;
}

/* The exceptions that there are references to, each of room words: its tag, and its arguments. */
static u64 *exceptions, num_exceptions, room;

/* The words of the exception under way: those of one of exceptions, but that a reference, or 0, is in between. */
enum { CURRENT_TAG, CURRENT_REF, CURRENT_ARGS };

/* reference returns the word of a reference to exception n. It differs from those of other references, which the test makes. */
static u64 reference(u64 n) { return (n + 1) << 12 | 0x802; }

static u64 exception_ref(u64 *current)
{
	SEE_ALIGNMENT();
	if (!current[CURRENT_REF]) {
		exceptions = realloc(exceptions, 8 * room * (num_exceptions + 1));
		u64 *x = exceptions + room * num_exceptions;
		x[0] = current[CURRENT_TAG];
		memcpy(x + 1, current + CURRENT_ARGS, 8 * (room - 1));
		current[CURRENT_REF] = reference(num_exceptions++);
	}
	return current[CURRENT_REF];
}

static void exception_open(u64 *current, u64 ref)
{
	SEE_ALIGNMENT();
	u64 n = (ref >> 12) - 1;
	if (n >= num_exceptions || ref != reference(n))
		die("a reference to an exception is none");
	u64 *x = exceptions + room * n;
	current[CURRENT_TAG] = x[0];
	current[CURRENT_REF] = ref;
	memcpy(current + CURRENT_ARGS, x + 1, 8 * (room - 1));
}

/* What unwinding needs to know of the image's calls and functions, each in rising order; all are addresses but bytes, registers and first. */
static struct landing { u64 from, to; } *landings;
static struct frame { u64 text, bytes, registers, first; } *frames; /* the last one is at the end of the code */
static u64 nlandings, nframes, nchanges, *changes;

static sigjmp_buf back;

/* index_of returns how many of n entries, of width words whose first rises, begin below x. */
static u64 index_of(const void *entries, u64 n, u64 width, u64 x)
{
	u64 low = 0;
	while (low < n) {
		u64 middle = (low + n) / 2;
		if (((u64 *)entries)[width * middle] < x)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

/* unwind makes *thrown where an exception goes that is thrown there. */
void unwind(void)
{
	struct registers *r = &thrown;
	misaligned |= r->sp % 16 != 0;
	for (;;) {
		u64 n = index_of(frames, nframes, 4, r->pc);
		if (n == 0 || n == nframes)
			siglongjmp(back, 2); /* it is not compiled code: nobody catches */
		struct frame *f = &frames[n - 1];
		u64 l = index_of(landings, nlandings, 2, r->pc);
		if (l < nlandings && landings[l].from == r->pc) {
			r->pc = landings[l].to;
			r->sp = r->fp - f->bytes;
			return;
		}
		u64 passed = index_of(changes + f->first, f[1].first - f->first, 1, r->pc);
		u64 *at = (u64 *)r->fp;
		for (int k = 0; k < 17 && passed % 2; k++)
			if (f->registers >> k & 1)
				r->kept[k] = *--at;
		at = (u64 *)r->fp;
		if (at[0] <= r->fp)
			die("a frame that is not below that of its caller");
		r->fp = at[0];
		r->pc = at[1];
	}
}

/* The image. */
struct seg { u64 addr, size, write; unsigned char *bytes; u64 len; };
struct space { u64 slot, base, min, max; };
static struct seg segs[8];
static struct space mems[256], tabs[256];
static struct { u64 slot, addr; } globs[256];
static u64 nsegs, nmems, ntabs, nglobs, helpers, init, stack, stack_size, hidden;
static u64 exception_helpers, ntags, tags; /* where slots are; 0 if the image has nothing of exceptions */
static int dirty; /* there has been an instance of the image */
static FILE *in;

static u64 word(void)
{
	u64 x;
	if (fread(&x, 8, 1, in) != 1)
		die("truncated input");
	return x;
}

#define PAGE 0x10000ull

/* unload unmaps all that load and reset have mapped: what an image does not have must fault. */
static void unload(void)
{
	for (u64 i = 0; i < nsegs; i++) {
		munmap((void *)segs[i].addr, segs[i].size);
		free(segs[i].bytes);
	}
	for (u64 i = 0; i < nmems; i++) {
		int again = 0; /* imports may be one memory */
		for (u64 k = 0; k < i; k++)
			again |= mems[k].base == mems[i].base;
		if (!again)
			munmap((void *)(mems[i].base - PAGE), PAGE + ((u64 *)mems[i].base)[-1]);
	}
	for (u64 i = 0; i < ntabs; i++)
		munmap((void *)(tabs[i].base - PAGE), PAGE + 8 * tabs[i].max + PAGE);
	for (u64 i = 0; i < nglobs; i++)
		munmap((void *)globs[i].addr, PAGE);
	if (stack) {
		munmap((void *)(stack - PAGE), PAGE + stack_size);
		munmap((void *)hidden, PAGE);
	}
	dirty = misaligned = 0;
}

/* words reads n words. */
static void *words(void *to, u64 n)
{
	to = realloc(to, 8 * n + 1);
	if (fread(to, 8, n, in) != n)
		die("truncated image");
	return to;
}

static void load(const char *path)
{
	unload();
	in = fopen(path, "rb");
	if (!in)
		die("no image");
	nsegs = word();
	for (u64 i = 0; i < nsegs; i++) {
		struct seg *s = &segs[i];
		s->addr = word();
		s->write = word();
		s->len = word();
		s->size = (s->len + PAGE) & -PAGE;
		s->bytes = malloc(s->len + 1);
		if (fread(s->bytes, 1, s->len, in) != s->len)
			die("truncated image");
		reserve(s->addr, s->size, PROT_READ | PROT_WRITE);
		memcpy((void *)s->addr, s->bytes, s->len);
		if (!s->write) {
			mprotect((void *)s->addr, s->size, PROT_READ | PROT_EXEC);
			__builtin___clear_cache((char *)s->addr, (char *)s->addr + s->len);
		}
	}
	nmems = word();
	for (u64 i = 0; i < nmems; i++)
		mems[i] = (struct space){word(), word(), word(), word()};
	ntabs = word();
	for (u64 i = 0; i < ntabs; i++)
		tabs[i] = (struct space){word(), word(), word(), word()};
	nglobs = word();
	for (u64 i = 0; i < nglobs; i++) {
		globs[i].slot = word();
		globs[i].addr = word();
	}
	helpers = word();
	init = word();
	stack = word();
	stack_size = word();
	hidden = word();
	exception_helpers = word();
	room = 1 + word();
	ntags = word();
	tags = word();
	landings = words(landings, 2 * (nlandings = word()));
	frames = words(frames, 4 * (nframes = word()));
	changes = words(changes, nchanges = word());
	fclose(in);
	in = stdin;
	for (u64 i = 0; i < nmems; i++)
		reserve(mems[i].base - PAGE, PAGE, PROT_READ | PROT_WRITE);
	for (u64 i = 0; i < ntabs; i++)
		reserve(tabs[i].base - PAGE, PAGE + 8 * tabs[i].max + PAGE, PROT_READ | PROT_WRITE);
	reserve(stack, stack_size, PROT_READ | PROT_WRITE);
	reserve(stack - PAGE, PAGE, PROT_NONE);
	reserve(hidden, PAGE, PROT_READ | PROT_WRITE);
}

/* reset makes a fresh instance but for init. */
static void reset(void)
{
	for (u64 i = 0; i < nsegs; i++)
		if (segs[i].write)
			memcpy((void *)segs[i].addr, segs[i].bytes, segs[i].len);
	for (u64 i = 0; i < nmems; i++) {
		u64 *w = (u64 *)mems[i].base;
		if (dirty && w[-1])
			munmap(w, w[-1]);
		w[-1] = mems[i].min << 16;
		w[-2] = mems[i].max;
		w[-4] = mems[i].base;
		if (w[-1])
			reserve(mems[i].base, w[-1], PROT_READ | PROT_WRITE);
		*(u64 *)mems[i].slot = mems[i].base;
	}
	for (u64 i = 0; i < ntabs; i++) {
		u64 *w = (u64 *)tabs[i].base;
		if (dirty && w[-1])
			memset(w, 0, 8 * w[-1]);
		w[-1] = tabs[i].min;
		w[-2] = tabs[i].max;
		*(u64 *)tabs[i].slot = tabs[i].base;
	}
	for (u64 i = 0; i < nglobs; i++) {
		reserve(globs[i].addr, PAGE, PROT_READ | PROT_WRITE);
		*(u64 *)globs[i].slot = globs[i].addr;
	}
	u64 *h = (u64 *)helpers;
	h[0] = (u64)memory_grow;
	h[1] = (u64)table_grow;
	h[2] = (u64)move_bytes;
	h[3] = (u64)fill_bytes;
	h[4] = (u64)fill_words;
	if (exception_helpers) {
		h = (u64 *)exception_helpers;
		h[0] = (u64)raise_exception;
		h[1] = (u64)exception_open;
		h[2] = (u64)exception_ref;
	}
	for (u64 i = 0; i < ntags; i++)
		((u64 *)tags)[i] = (u64)((u64 *)tags + i);
	num_exceptions = 0;
	dirty = 1;
}

static volatile u64 trap_pc, trap_addr, trap_sig, trap_word;

static void on_signal(int sig, siginfo_t *si, void *uc)
{
	trap_pc = ((ucontext_t *)uc)->uc_mcontext.pc;
	trap_addr = (u64)si->si_addr;
	trap_sig = sig;
	siglongjmp(back, 1);
}

static void put(u64 x) { fwrite(&x, 8, 1, stdout); }

static u64 digest(const u64 *w, u64 n)
{
	u64 a = 0, b = 0;
	for (u64 i = 0; i < n / 8; i++) {
		a += w[i];
		b += a;
	}
	return a ^ b << 1;
}

/* call runs compiled code and writes the outcome: 0 and the results, 1 and
 * the fault, 2 and the number of the register that has changed, or 3: an exception that nothing catches. */
static void call(struct ctx *c, u64 nhidden)
{
	cur = c;
	c->top = stack + stack_size - 64;
	switch (sigsetjmp(back, 0)) {
	case 1:
		put(1);
		put(trap_pc);
		put(trap_addr);
		put(trap_sig);
		return;
	case 2:
		put(3);
		return;
	}
	enter(c);
	for (int i = 0; i < 12; i++)
		if (c->after[i] != POISON + 18 + i) {
			put(2);
			put(18 + i);
			return;
		}
	if (c->after[12] != c->top || misaligned) {
		put(2);
		put(31 + misaligned);
		misaligned = 0;
		return;
	}
	for (int i = 0; i < 8; i++)
		if (c->after[13 + i] != POISON + 19 + i) {
			put(2);
			put(100 + 8 + i);
			return;
		}
	put(0);
	for (int i = 0; i < 4; i++)
		put(c->ints[i]);
	for (int i = 0; i < 8; i++)
		put(c->floats[i]);
	for (u64 i = 0; i < nhidden; i++)
		put(((u64 *)hidden)[i]);
}

int main(void)
{
	static char altstack[64 << 10], inbuf[1 << 16], outbuf[1 << 16];
	static struct ctx c;
	struct sigaction sa = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
	stack_t ss = {.ss_sp = altstack, .ss_size = sizeof altstack};
	int op;
	sigaltstack(&ss, 0);
	sigaction(SIGSEGV, &sa, 0);
	sigaction(SIGBUS, &sa, 0);
	sigaction(SIGILL, &sa, 0);
	sigaction(SIGFPE, &sa, 0);
	sigaction(SIGTRAP, &sa, 0);
	in = stdin;
	setvbuf(stdin, inbuf, _IOFBF, sizeof inbuf);
	setvbuf(stdout, outbuf, _IOFBF, sizeof outbuf);
	while ((op = getchar()) != EOF) {
		switch (op) {
		case 'L': { /* bytes, the path of an image: what follows is about it */
			static char path[4096];
			u64 n = word();
			if (n >= sizeof path || fread(path, 1, n, stdin) != n)
				die("no path");
			path[n] = 0;
			load(path);
			break;
		}
		case 'N': /* a word; the word */
			put(word());
			break;
		case 'S': /* start a new instance; outcome */
			reset();
			memset(&c, 0, sizeof c);
			c.fn = init;
			call(&c, 0);
			break;
		case 'C': { /* function, hidden words, stack words, registers, stack; outcome */
			c.fn = word();
			u64 nhidden = word();
			c.nstack = word();
			for (int i = 0; i < 8; i++)
				c.ints[i] = word();
			for (int i = 0; i < 16; i++)
				c.floats[i] = word();
			if (c.nstack > 64)
				die("too many stack words");
			for (u64 i = 0; i < c.nstack; i++)
				c.stack[i] = word();
			call(&c, nhidden);
			break;
		}
		case 'D': { /* memory, bytes (0: all); size, digest */
			u64 *w = (u64 *)mems[word()].base;
			u64 n = word();
			if (n == 0 || n > w[-1])
				n = w[-1];
			put(w[-1]);
			put(digest(w, n));
			break;
		}
		case 'R': { /* address, bytes; bytes */
			u64 at = word(), n = word();
			fwrite((void *)at, 1, n, stdout);
			break;
		}
		case 'W': { /* address, bytes, the bytes */
			u64 at = word(), n = word();
			if (fread((void *)at, 1, n, stdin) != n)
				die("truncated input");
			break;
		}
		case 'F':
			fflush(stdout);
			break;
		default:
			die("bad command");
		}
	}
	return 0;
}
