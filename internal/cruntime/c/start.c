/* start.c: how an executable begins. `waot build app.wasm -o app` links the program with this, core.c and wasi.c, compiled with
 * WAOT_STANDALONE. docs/executables.md describes what such a program does. */
#include "waot_runtime.h"

/* A run of whole pages of the memory that are not all zero: where it is, and how long, in bytes. */
struct waot_run {
	uint64_t at, size;
};

/* What waot build decides; internal/program writes it. */
struct waot_program {
	const waot_object *object;
	void (*start)(void);            /* the function _start */
	void (*initialize)(void);       /* or NULL */
	const waot_wasi_dir *dirs;
	uint64_t num_dirs;
	const char *const *env;         /* NULL-terminated */
	uint64_t flags;                 /* START_INHERIT_ENV, START_GRANTS */
	uint64_t stack;                 /* bytes, a multiple of 16 */
	char *memory;                   /* what the memory holds at first: the pages of the runs; NULL if init copies that */
	const struct waot_run *runs;
	uint64_t num_runs;
	int (*prepare_heap)(waot_instance *, waot_trap *); /* waot_heap_prepare; NULL if the program has nothing to do with objects */
	uint64_t heap_limit;            /* bytes, 0 for the default */
};
enum { START_INHERIT_ENV = 1, START_GRANTS = 2, START_COLLECT_ALWAYS = 4 };
extern const struct waot_program waot_program;

/* The linker defines these. */
extern char waot_link_header[], waot_link_relro[], waot_link_relro_end[];
extern uint64_t waot_link_relr[], waot_link_relr_end[];

/* The program runs on a stack of its own, as deep as that of `waot run`, whatever the limit of the first thread's stack is. Below it are bytes that
 * cannot be accessed. */
enum { START_GUARD = 64 << 10 };

enum { START_FAILED = 1, START_USAGE = 2, START_TRAPPED = 134 };

/* Tags of the kernel's auxiliary vector. */
enum { START_AT_PAGESZ = 6, START_AT_SECURE = 23 };

#if defined __x86_64__
enum { START_NR_exit_group = 231, START_NR_mprotect = 10, START_NR_mmap = 9, START_NR_mremap = 25 };
__asm__(".section .text._start,\"ax\",@progbits\n"
	".globl _start\n.type _start,@function\n"
	"_start:\n"
	".cfi_startproc\n"
	".cfi_undefined rip\n"
	"	endbr64\n"
	"	xorl %ebp, %ebp\n"
	"	movq %rsp, %rdi\n"
	"	andq $-16, %rsp\n"
	"	call waot_start_linked\n"
	"	movq %rax, %rsp\n"
	"	movq %rdx, %rdi\n"
	"	call waot_start_main\n"
	"	ud2\n"
	".cfi_endproc\n"
	".size _start, . - _start\n"
	".previous\n");
#else
enum { START_NR_exit_group = 94, START_NR_mprotect = 226, START_NR_mmap = 222, START_NR_mremap = 216 };
__asm__(".section .text._start,\"ax\",@progbits\n"
	".globl _start\n.type _start,@function\n"
	"_start:\n"
	".cfi_startproc\n"
	".cfi_undefined x30\n"
	"	bti c\n"
	"	mov x29, #0\n"
	"	mov x30, #0\n"
	"	mov x0, sp\n"
	"	bl waot_start_linked\n"
	"	mov sp, x0\n"
	"	mov x0, x1\n"
	"	bl waot_start_main\n"
	"	udf #0\n"
	".cfi_endproc\n"
	".size _start, . - _start\n"
	".previous\n");
#endif

/* memcpy and its kin, which compilers call. The compiler must not turn their loops into calls of themselves: -ffreestanding. */
typedef uint8_t start_16 __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint64_t start_8 __attribute__((aligned(1), may_alias));
typedef uint32_t start_4 __attribute__((aligned(1), may_alias));
typedef uint16_t start_2 __attribute__((aligned(1), may_alias));

/* start_small copies n bytes, at most 32: all is read before anything is written. */
static void start_small(char *to, const char *from, size_t n)
{
	if (n >= 16) {
		start_16 a = *(const start_16 *)from, b = *(const start_16 *)(from + n - 16);
		*(start_16 *)to = a;
		*(start_16 *)(to + n - 16) = b;
	} else if (n >= 8) {
		start_8 a = *(const start_8 *)from, b = *(const start_8 *)(from + n - 8);
		*(start_8 *)to = a;
		*(start_8 *)(to + n - 8) = b;
	} else if (n >= 4) {
		start_4 a = *(const start_4 *)from, b = *(const start_4 *)(from + n - 4);
		*(start_4 *)to = a;
		*(start_4 *)(to + n - 4) = b;
	} else if (n >= 2) {
		start_2 a = *(const start_2 *)from, b = *(const start_2 *)(from + n - 2);
		*(start_2 *)to = a;
		*(start_2 *)(to + n - 2) = b;
	} else if (n) {
		*to = *from;
	}
}

void *memmove(void *to, const void *from, size_t n)
{
	char *t = (char *)to;
	const char *f = (const char *)from;
	if (n <= 32) {
		start_small(t, f, n);
		return to;
	}
	if ((size_t)(t - f) >= n) { /* upwards: the last 32 bytes are read first, as what is written may reach them */
		start_16 a = *(const start_16 *)(f + n - 32), b = *(const start_16 *)(f + n - 16);
		char *end = t + n - 32;
		for (; t < end; t += 32, f += 32) {
			start_16 c = *(const start_16 *)f, d = *(const start_16 *)(f + 16);
			*(start_16 *)t = c;
			*(start_16 *)(t + 16) = d;
		}
		*(start_16 *)end = a;
		*(start_16 *)(end + 16) = b;
	} else {
		start_16 a = *(const start_16 *)f, b = *(const start_16 *)(f + 16);
		size_t left = n;
		for (; left > 32; left -= 32) {
			start_16 c = *(const start_16 *)(f + left - 32), d = *(const start_16 *)(f + left - 16);
			*(start_16 *)(t + left - 32) = c;
			*(start_16 *)(t + left - 16) = d;
		}
		*(start_16 *)t = a;
		*(start_16 *)(t + 16) = b;
	}
	return to;
}

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
	return memmove(to, from, n);
}

void *memset(void *to, int byte, size_t n)
{
	char *t = (char *)to;
	if (n < 16) {
		for (size_t i = 0; i < n; i++)
			t[i] = (char)byte;
		return to;
	}
	start_16 v = (start_16){0} + (uint8_t)byte;
	for (size_t i = 0; i + 16 <= n; i += 16)
		*(start_16 *)(t + i) = v;
	*(start_16 *)(t + n - 16) = v;
	return to;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const uint8_t *x = (const uint8_t *)a, *y = (const uint8_t *)b;
	for (size_t i = 0; i < n; i++)
		if (x[i] != y[i])
			return x[i] - y[i];
	return 0;
}

static size_t start_length(const char *s)
{
	size_t n = 0;
	while (s[n])
		n++;
	return n;
}

WAOT_NORETURN static void start_exit(int status)
{
	for (;;)
		waot_sys_call(START_NR_exit_group, status, 0, 0, 0, 0, 0);
}

/* What the kernel put on the stack. */
struct start_process {
	char **argv;
	long argc;
	char **envp;
	bool secure;            /* has rights that its caller lacks: nothing is granted at run time */
	const char *name;
};

/* start_read reads what the kernel put at sp. */
static struct start_process start_read(uintptr_t *sp)
{
	struct start_process p = {(char **)(sp + 1), (long)sp[0], (char **)(sp + 1 + sp[0] + 1), false, "waot"};
	if (p.argc > 0)
		p.name = p.argv[0];
	return p;
}

/* start_line begins a line on standard error, with the program's name. */
static void start_line(const struct start_process *p, struct core_line *l)
{
	core_put_name(l, p->name, start_length(p->name), SIZE_MAX);
	core_puts(l, ": ");
}

/* start_fail ends the program with a line, which begins with name unless that is empty. */
WAOT_NORETURN static void start_fail(const struct start_process *p, int status, const char *name, const char *text)
{
	char room[512];
	struct core_line l = {room, 0, sizeof room, 2};
	start_line(p, &l);
	core_put_name(&l, name, start_length(name), SIZE_MAX);
	core_puts(&l, text);
	core_puts(&l, "\n");
	core_flush(&l);
	start_exit(status);
}

struct start_pair { void *stack; void *process; };

/* waot_start_linked makes the program whole: it adds where the program was loaded to the words that hold addresses (ELF's
 * SHT_RELR), protects those that stay as they are, and makes the stack. It returns the stack's top, and sp. */
struct start_pair waot_start_linked(uintptr_t *sp)
{
	uintptr_t base = (uintptr_t)waot_link_header;
	uint64_t *where = NULL;
	for (const uint64_t *p = waot_link_relr; p < waot_link_relr_end; p++) {
		uint64_t e = *p;
		if (!(e & 1)) {
			where = (uint64_t *)(base + e);
			*where++ += base;
			continue;
		}
		for (int i = 0; e >>= 1; i++)
			if (e & 1)
				where[i] += base;
		where += 63;
	}
	uintptr_t page = 4096;
	char **p = (char **)(sp + 1 + sp[0] + 1);
	while (*p)
		p++;
	for (uintptr_t *aux = (uintptr_t *)(p + 1); aux[0]; aux += 2)
		if (aux[0] == START_AT_PAGESZ)
			page = aux[1];
	uintptr_t first = (uintptr_t)waot_link_relro & -page, end = ((uintptr_t)waot_link_relro_end + page - 1) & -page;
	enum { NONE = 0, READ = 1, READ_WRITE = 3, MAP = 0x2 | 0x20 | 0x4000 | 0x20000 }; /* private, anonymous, no reserve, stack */
	waot_sys_call(START_NR_mprotect, (long)first, (long)(end - first), READ, 0, 0, 0);
	uint64_t size = waot_program.stack;
	long stack = waot_sys_call(START_NR_mmap, 0, (long)size + START_GUARD, READ_WRITE, MAP, -1, 0);
	if (stack < 0 && stack > -4096) {
		struct start_process p = start_read(sp);
		start_fail(&p, START_FAILED, "", "no room for the stack: more addresses are needed (ulimit -v), and --max-stack makes a program that needs less");
	}
	waot_sys_call(START_NR_mprotect, stack, START_GUARD, NONE, 0, 0, 0);
	core_stack_top = (uint64_t)(stack + START_GUARD + (long)size);
	struct start_pair r = {(void *)core_stack_top, sp};
	return r;
}

/* start_pages returns zeroed memory for n bytes. */
static void *start_pages(const struct start_process *p, size_t n)
{
	long at = waot_sys_call(START_NR_mmap, 0, (long)n, 3, 0x22, -1, 0);
	if (at < 0 && at > -4096)
		start_fail(p, START_FAILED, "", "no memory for arguments");
	return (void *)at;
}

/* start_value returns what follows a prefix in s, or NULL. */
static char *start_value(char *s, const char *prefix)
{
	while (*prefix)
		if (*s++ != *prefix++)
			return NULL;
	return s;
}

/* start_is_variable reports whether s is NAME=VALUE. */
static bool start_is_variable(const char *s)
{
	const char *p = s;
	while (*p && *p != '=')
		p++;
	return *p && p != s;
}

/* start_same_name reports whether two variables, NAME=value, have one name. */
static bool start_same_name(const char *a, const char *b)
{
	for (; *a == *b; a++, b++)
		if (*a == '=' || !*a)
			return true;
	return false;
}

/* start_add_variable appends v to the variables of the program unless its name is there. */
static size_t start_add_variable(const char **env, size_t n, const char *v)
{
	for (size_t i = 0; i < n; i++)
		if (start_same_name(env[i], v))
			return n;
	env[n] = v;
	return n + 1;
}

/* start_dir splits HOST::GUEST, either of which may be all, with :ro behind it for one that is read-only. */
static waot_wasi_dir start_dir(const struct start_process *p, char *option, char *s)
{
	waot_wasi_dir d = {s, s, -1, 0};
	size_t n = start_length(s);
	if (n > 3 && memcmp(s + n - 3, ":ro", 3) == 0) {
		d.read_only = 1;
		s[n -= 3] = 0;
	}
	for (size_t i = 0; i + 1 < n; i++) {
		if (s[i] == ':' && s[i + 1] == ':') {
			s[i] = 0;
			d.guest = s + i + 2;
			break;
		}
	}
	if (!*d.host || !*d.guest)
		start_fail(p, START_USAGE, option, ": must be HOST::GUEST");
	return d;
}

/* start_stream says what a standard stream is to the program: itself, or one that is empty and takes everything if it is closed. Nothing is opened in
 * its place, which needs files and may fail: its number stays free, as WASI opens nothing under it, and reports written to it are lost. */
static int start_stream(int fd)
{
	return wasi_sys(WASI_SYS_fcntl, fd, WASI_F_GETFD, 0, 0) == -WASI_H_BADF ? WAOT_WASI_NULL : fd;
}

/* start_configure decides what the program gets: what waot build granted and, if it allowed that, what the first arguments do,
 * --waot-dir=HOST::GUEST and --waot-env=NAME=VALUE. */
static waot_wasi_config start_configure(struct start_process *p)
{
	const struct waot_program *w = &waot_program;
	size_t inherited = 0, built = 0, n = 0, num_dirs = 0;
	while (p->envp[inherited])
		inherited++;
	while (w->env[built])
		built++;
	size_t argc = (size_t)p->argc;
	const char **args = (const char **)start_pages(p, (argc + 2 + built + inherited + argc + 1) * sizeof *args);
	const char **env = args + argc + 2;
	waot_wasi_dir *dirs = (waot_wasi_dir *)start_pages(p, (w->num_dirs + argc + 1) * sizeof *dirs);
	for (; num_dirs < w->num_dirs; num_dirs++)
		dirs[num_dirs] = w->dirs[num_dirs];
	size_t first = 1;
	for (; first < argc && w->flags & START_GRANTS && !p->secure; first++) {
		char *s = p->argv[first], *value;
		if (!start_value(s, "--waot-"))
			break;
		if ((value = start_value(s, "--waot-dir=")))
			dirs[num_dirs++] = start_dir(p, s, value);
		else if ((value = start_value(s, "--waot-env=")) && start_is_variable(value))
			n = start_add_variable(env, n, value);
		else
			start_fail(p, START_USAGE, s, ": must be --waot-dir=HOST::GUEST or --waot-env=NAME=VALUE");
	}
	for (size_t i = 0; i < built; i++)
		n = start_add_variable(env, n, w->env[i]);
	for (size_t i = 0; i < inherited && w->flags & START_INHERIT_ENV; i++)
		n = start_add_variable(env, n, p->envp[i]);
	args[0] = p->name;
	for (size_t i = first; i < argc; i++)
		args[1 + i - first] = p->argv[i];
	waot_wasi_config c = {args, env, dirs, num_dirs, {start_stream(0), start_stream(1), start_stream(2)}, NULL, 0};
	return c;
}

/* core_place_run moves a run of what the memory holds at first into it, as pages that are read from the program's file when they are touched. Where
 * the system does not let them move, they are copied. */
static bool core_place_run(char *to, char *from, uint64_t size)
{
	enum { MOVE = 1 | 2 }; /* to a fixed address */
	if (waot_sys_call(START_NR_mremap, (long)from, (long)size, (long)size, MOVE, (long)to, 0) == (long)to)
		return core_protect(to, size, CORE_PROT_RW);
	if (!core_map(to, size, CORE_PROT_RW, CORE_MAP_FIXED | CORE_MAP_ANON | CORE_MAP_NORESERVE, -1, 0))
		return false;
	memcpy(to, from, size);
	return true;
}

static bool core_place_memory(waot_instance *i)
{
	const struct waot_program *w = &waot_program;
	char *from = w->memory;
	for (uint64_t n = 0; n < w->num_runs; n++) {
		const struct waot_run *r = &w->runs[n];
		if (!core_place_run((char *)*core_base(i, i->object->memories) + r->at, from, r->size))
			return false;
		from += r->size;
	}
	return true;
}

static int core_prepare_heap(waot_instance *i, waot_trap *t)
{
	const struct waot_program *w = &waot_program;
	core_most_objects = w->heap_limit;
	core_collect_always = w->flags & START_COLLECT_ALWAYS;
	return w->prepare_heap(i, t);
}

static void start_run(void *start)
{
	(*(void (**)(void))start)();
}

/* start_report prints a trap as `waot run` does. */
WAOT_NORETURN static void start_report(const struct start_process *p, const waot_trap *trap, int status)
{
	char room[512];
	struct core_line l = {room, 0, sizeof room, 2};
	start_line(p, &l);
	core_print(&l, trap);
	start_exit(status);
}

/* start_refuse ends a program that cannot be given what it is to have: which stream or directory, and why. */
WAOT_NORETURN static void start_refuse(const struct start_process *p, const waot_wasi_config *config, size_t at, int error)
{
	static const struct { int error; const char *text; } reasons[] = {
		{WASI_H_PERM, "operation not permitted"}, {WASI_H_NOENT, "no such file or directory"}, {WASI_H_NOMEM, "no memory for WASI"},
		{WASI_H_ACCES, "permission denied, or it has files of the kernel, not stored ones"}, {WASI_H_NOTDIR, "not a directory"},
		{WASI_H_2BIG, "too many arguments, variables or directories"}, {WASI_H_INVAL, "its name in the program is too long"}, {WASI_H_NFILE, "too many open files in the system"},
		{WASI_H_MFILE, "too many open files"}, {WASI_H_NAMETOOLONG, "file name too long"}, {WASI_H_LOOP, "too many levels of symbolic links"},
	};
	char room[512];
	struct core_line l = {room, 0, sizeof room, 2};
	start_line(p, &l);
	if (at >= 3 && at - 3 < config->num_dirs) {
		const char *host = config->dirs[at - 3].host;
		core_puts(&l, "directory ");
		core_put_name(&l, host, start_length(host), SIZE_MAX);
		core_puts(&l, ": ");
	}
	size_t i = 0;
	while (i < sizeof reasons / sizeof *reasons && reasons[i].error != -error)
		i++;
	if (i < sizeof reasons / sizeof *reasons) {
		core_puts(&l, reasons[i].text);
	} else {
		core_puts(&l, "error number ");
		core_put_number(&l, (uint64_t)-error, 10);
	}
	core_puts(&l, "\n");
	core_flush(&l);
	start_exit(START_FAILED);
}

WAOT_NORETURN void waot_start_main(uintptr_t *sp)
{
	struct start_process p = start_read(sp);
	char **e = p.envp;
	while (*e)
		e++;
	for (uintptr_t *aux = (uintptr_t *)(e + 1); aux[0]; aux += 2)
		if (aux[0] == START_AT_SECURE && aux[1])
			p.secure = true;
	const struct waot_program *w = &waot_program;
	static waot_trap trap;
	waot_wasi_config config = start_configure(&p);
	waot_instance *instance = waot_instance_of(w->object);
	if (!instance)
		start_fail(&p, START_FAILED, "", "no memory for the instance");
	size_t at = 0;
	int error = wasi_open(instance, &config, &at);
	if (error)
		start_refuse(&p, &config, at, error);
	int code = waot_instance_init(instance, NULL, w->initialize, &trap);
	if (code == 0)
		code = waot_try(&trap, start_run, (void *)&w->start);
	if (code == WAOT_EXIT) /* a failure stays one: the kernel takes the low byte */
		start_exit(trap.status && !(trap.status & 0xff) ? START_FAILED : trap.status);
	if (code)
		start_report(&p, &trap, code > 0 ? START_TRAPPED : START_FAILED);
	start_exit(0);
}
