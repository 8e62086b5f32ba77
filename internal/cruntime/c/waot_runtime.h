/* waot_runtime.h: what a C or C++ program needs to run code that waot has compiled.
 *
 * The header that `waot build --header` writes includes this one. The functions are in
 * waot_runtime.c, which is compiled once and linked into the program. docs/embedding-c.md
 * explains both.
 *
 * The same names work in C11 and C++17, on Linux, on x86-64 and AArch64. */
#ifndef WAOT_RUNTIME_H
#define WAOT_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define WAOT_NORETURN [[noreturn]]
#else
#define WAOT_NORETURN _Noreturn
#endif

/* The version of the binary interface that objects must have. */
#define WAOT_ABI 4
#define WAOT_ABI_CHECKED 5 /* of objects with explicit bounds checks */
#define WAOT_ABI_EXCEPTIONS 7 /* of objects with exceptions */
#define WAOT_ABI_HEAP 8 /* of objects that have to do with structures and arrays */

/* A page of a memory, in bytes. */
#define WAOT_PAGE 65536u

/* The object's own description; docs/object.md, "The record". */
struct waot_slot {
	void **base;            /* the word that holds the base */
	uint64_t min, max;      /* pages or elements */
	uint64_t flags;         /* 1 imported, 2 the module states max, 4 table of host references, 8 code checks bounds,
	                         * 16 the memory exported as "memory", if it is not the first */
};

struct waot_tag_slot {
	void **word;            /* the word that holds the address of the tag */
	const void *type;       /* the record of its type */
	uint64_t flags;         /* 1 imported, 32 what its exceptions refer to is the module's own */
	uint64_t words;         /* of the arguments */
};

/* An imported function: its slot, and the module's own stub and its descriptor, or 0. */
struct waot_stub {
	const void **slot;
	const void *code, *descriptor;
};

struct waot_object {
	uint64_t abi;
	const char *text;       uint64_t text_size;
	char *instance;         uint64_t instance_size;
	void (*init)(void);
	const void *meta, *traps, *stackmaps, *calls;
	const struct waot_slot *memories;   uint64_t num_memories;
	const struct waot_slot *tables;     uint64_t num_tables;
	const char *adapters;   uint64_t adapters_size;
	/* Objects with exceptions or a heap only; of those without exceptions zeros. */
	char *exception;        uint64_t exception_words;
	const struct waot_tag_slot *tags;   uint64_t num_tags;
	const struct waot_stub *stubs;      uint64_t num_stubs; /* of those, too */
	/* Objects with a heap only. */
	char *heap;             /* the part of the instance data */
	const char *heap_types; uint64_t heap_types_size;
};

typedef struct waot_object waot_object;

/* An instance of a module: code, instance data, memories and tables. */
typedef struct waot_instance waot_instance;

/* A vector, as the machine passes __m128i or int64x2_t. */
typedef long long waot_v128 __attribute__((vector_size(16)));

/* A reference. 0 is null. What is below 2^32 is a structure or array, or, with 1 in the low bit, a small integer, but for functions. */
typedef uint64_t waot_ref;

/* waot_host_ref is a reference to entry n of a table of the host's own; waot_host_index is n. n is below 2^61. */
static inline waot_ref waot_host_ref(uint64_t n) { return (n << 2 | 2) + (1ull << 32); }
static inline uint64_t waot_host_index(waot_ref r) { return (r - (1ull << 32)) >> 2; }

/* A tag of exceptions. Its address stands for it; the contents are the runtime's, and those of a module's tag are others. */
typedef struct waot_tag { const void *type; uint64_t words; } waot_tag;

/* A memory, and a table, as they are now. The base stays; the size grows. */
typedef struct waot_memory { uint8_t *base; uint64_t size; } waot_memory;            /* size in bytes */
typedef struct waot_table { waot_ref *elements; uint64_t length; } waot_table;

/* Traps. The numbers are part of the binary interface. */
enum {
	WAOT_OK = 0,
	WAOT_TRAP_UNREACHABLE = 1,
	WAOT_TRAP_MEMORY_OUT_OF_BOUNDS = 2,
	WAOT_TRAP_TABLE_OUT_OF_BOUNDS = 3,
	WAOT_TRAP_UNDEFINED_ELEMENT = 4,
	WAOT_TRAP_UNINITIALIZED_ELEMENT = 5,
	WAOT_TRAP_BAD_SIGNATURE = 6,
	WAOT_TRAP_INTEGER_OVERFLOW = 7,
	WAOT_TRAP_INTEGER_DIVIDE_BY_ZERO = 8,
	WAOT_TRAP_BAD_CONVERSION = 9,
	WAOT_TRAP_STACK_OVERFLOW = 10,
	WAOT_TRAP_NULL_REFERENCE = 11,
	WAOT_TRAP_NULL_STRUCTURE = 13,
	WAOT_TRAP_NULL_ARRAY = 14,
	WAOT_TRAP_NULL_I31 = 15,
	WAOT_TRAP_ARRAY_OUT_OF_BOUNDS = 16,
	WAOT_TRAP_CAST_FAILURE = 17,
	WAOT_TRAP_HEAP_EXHAUSTED = 18,
	WAOT_THROWN = 64,       /* a C function called waot_throw */
	WAOT_EXIT = 65,         /* the program called proc_exit; the field status has its argument */
	WAOT_EXCEPTION = 66,    /* an exception that no compiled code has caught; the field exception refers to it */
	/* What instantiation and resets may return besides. */
	WAOT_ERROR_ABI = -1,     /* the object and this runtime do not fit together */
	WAOT_ERROR_CPU = -2,     /* the code needs another processor */
	WAOT_ERROR_IMPORT = -3,  /* an imported memory, table or global is missing or too small */
	WAOT_ERROR_MEMORY = -4,  /* the system gives no more memory or addresses */
	WAOT_ERROR_STATE = -5,   /* the instance exists already; or what is to be reset does not */
	WAOT_ERROR_BUSY = -6,    /* nothing is reset while compiled code may run */
	/* What functions that work on structures and arrays may return. */
	WAOT_ERROR_OBJECT = -7,  /* the reference is to no structure or array */
	WAOT_ERROR_BOUNDS = -8,  /* there is no such field or element */
	WAOT_ERROR_TYPE = -9,    /* the value, or the type, is of another type */
	WAOT_ERROR_IMMUTABLE = -10, /* the field may not change */
	/* What ends calls of compiled code, too. */
	WAOT_ERROR_FRAMES = -11  /* objects cannot be collected here: a module without objects has called a C function in a call of one with objects, through a table or reference */
};

#define WAOT_MAX_FRAMES 64

/* A frame of a backtrace. */
typedef struct waot_frame {
	const char *name;       /* of the function, in the module; not terminated; may be empty */
	uint32_t name_size;     /* bytes */
	uint32_t function;      /* its index in the module */
	uint32_t offset;        /* of the instruction in the Wasm module, 0 if it is not known */
	waot_instance *instance;
} waot_frame;

/* What went wrong. */
typedef struct waot_trap {
	int code;               /* one of the above */
	int32_t status;         /* of WAOT_EXIT */
	const char *text;       /* the kind, such as "out of bounds memory access" */
	char message[256];      /* one line: the kind, the function, whose name is cut behind 128 bytes, and the place */
	char function[64];      /* name of the function that trapped, as in the message, cut to fit; "" if it has none */
	uint32_t offset;        /* of the instruction in the Wasm module */
	waot_instance *instance;/* where it happened, NULL if not in compiled code */
	waot_ref exception;     /* of WAOT_EXCEPTION, else 0 */
	uint32_t num_frames;    /* innermost first, functions that the compiler inlined included */
	waot_frame frames[WAOT_MAX_FRAMES];
} waot_trap;

/* waot_try calls f(arg) and returns 0. If compiled code traps in it, waot_try returns the trap's code at once, and describes it in
 * *out unless out is NULL. Calls nest: the innermost waot_try of the thread gets the trap. What is between is left without
 * a return, so C functions that compiled code calls must hold no lock across a call that may trap, and destructors do not run. f runs on
 * the caller's stack, whose size is its limit. Without a waot_try, a trap is one line on stderr and SIGABRT. */
int waot_try(waot_trap *out, void (*f)(void *), void *arg);

/* waot_throw ends the innermost waot_try with WAOT_THROWN and that text, which must stay. */
WAOT_NORETURN void waot_throw(const char *text);

/* waot_exit_guest ends the innermost waot_try with WAOT_EXIT; without one, the process. */
WAOT_NORETURN void waot_exit_guest(int32_t status);

/* Exceptions. A function that compiled code has called throws one with waot_throw_exception, or again with waot_rethrow. Compiled code around the call catches it; if none up to the
 * next C function does, it ends the innermost waot_try with WAOT_EXCEPTION, as a trap would. So a C function that is to let exceptions pass, or to catch them, calls compiled code in waot_try,
 * and may rethrow what that gives it. Both must stand in the very function that compiled code has called, as waot_caller must, and like a trap they leave it without a return.
 * Elsewhere they end the innermost waot_try with WAOT_THROWN. The arguments are words: floats by their bits, a v128 as two words, from an even one on. */
#define waot_throw_exception(tag, args) waot_throw_exception_at((tag), (args), __builtin_return_address(0), __builtin_frame_address(0))
#define waot_rethrow(exception) waot_rethrow_at((exception), __builtin_return_address(0), __builtin_frame_address(0))
WAOT_NORETURN void waot_throw_exception_at(const waot_tag *tag, const uint64_t *args, void *return_address, void *frame);
WAOT_NORETURN void waot_rethrow_at(waot_ref exception, void *return_address, void *frame);

/* waot_tag_init makes a tag of the program's own, whose type is that of tag n of an object. Generated headers wrap it. */
void waot_tag_init(waot_tag *tag, const waot_object *object, uint32_t n);

/* waot_exception_tag returns the tag of an exception, or NULL if the reference is of none; waot_exception_args the words of its arguments, and their number unless words is NULL. Both give NULL,
 * and no words, for an exception of a tag that its module neither imports nor exports, with references other than externrefs: these are the module's own. */
const waot_tag *waot_exception_tag(waot_ref exception);
const uint64_t *waot_exception_args(waot_ref exception, uint32_t *words);

/* An exception lives while compiled code, another exception or the stack of the thread refers to it, or it is the last one that ended a waot_try of the thread. For C code that holds a reference
 * elsewhere, waot_exception_keep keeps it until waot_exception_release has been called as often. With the instance whose code made it, it is gone. */
void waot_exception_keep(waot_ref exception);
void waot_exception_release(waot_ref exception);

/* waot_exception_limit sets how many bytes the exceptions of an instance may take, 128 MiB at first: some 64 for each and its arguments. Half of it is for those that nothing refers to
 * any more and that are not freed yet. A throw that needs more ends the innermost waot_try with WAOT_ERROR_MEMORY. */
void waot_exception_limit(uint64_t bytes);

/* Structures and arrays. All instances of a program share one heap, which one thread at a time uses: it calls functions of instances that have to do with it, and these. A reference to an object
 * that C code holds is good until compiled code runs again: objects move, and compiled code knows nothing of variables in C. A handle keeps its object, and always has the reference to it.
 * waot_handle_new returns NULL if there is no memory. */
typedef struct waot_handle waot_handle;
waot_handle *waot_handle_new(waot_ref ref);
waot_ref waot_handle_ref(const waot_handle *handle);
void waot_handle_set(waot_handle *handle, waot_ref ref);
void waot_handle_free(waot_handle *handle);

/* waot_heap_limit sets how many bytes all objects may take, 1 GiB at first, which is about the most that there is. What lives counts twice while it is collected. Code that needs more traps with
 * WAOT_TRAP_HEAP_EXHAUSTED. */
void waot_heap_limit(uint64_t bytes);

/* waot_heap_collect_always makes each object a collection, for tests: what nothing keeps is found out at once. */
void waot_heap_collect_always(int on);

/* The types of structures and arrays. Equal types of all modules are one address, so that == compares them. waot_type_of is the type that has an index in a module, whose header wraps it
 * (waot_types_P). It is NULL if that is no type of structures or arrays, or no instance of the module has been initialised. All functions take NULL for a type, too. */
typedef struct waot_type waot_type;
enum { WAOT_STRUCT = 1, WAOT_ARRAY = 2 };

/* What a field or element stores. The integers of 8 and 16 bits are values of 32 of which that many bits are kept. */
enum { WAOT_I8 = 0x78, WAOT_I16 = 0x77, WAOT_I32 = 0x7f, WAOT_I64 = 0x7e, WAOT_F32 = 0x7d, WAOT_F64 = 0x7c, WAOT_V128 = 0x7b, WAOT_REFERENCE = 1, WAOT_FUNCTION = 2 };

/* A field of a structure, or the elements of an array. */
typedef struct waot_field {
	int storage;            /* WAOT_I8 and the like */
	int is_mutable;
	int is_nullable;        /* of references: null is allowed */
	const waot_type *type;  /* of what a reference is to, if the field says a type of structures or arrays, else NULL */
} waot_field;

const waot_type *waot_type_of(const waot_object *object, uint32_t index);
int waot_type_kind(const waot_type *type); /* WAOT_STRUCT, WAOT_ARRAY, or 0 for NULL */
uint32_t waot_type_length(const waot_type *type); /* the number of fields; 1 for an array */
int waot_type_field(const waot_type *type, uint32_t i, waot_field *field); /* 0 or WAOT_ERROR_BOUNDS */
const waot_type *waot_type_super(const waot_type *type); /* the declared supertype, or NULL */
int waot_type_matches(const waot_type *type, const waot_type *of); /* whether type is the other one, or a subtype of it */

/* waot_object_type is the type of the structure or array that a reference is to, NULL if it is to none, and waot_object_length the number of its fields or elements, or 0. */
const waot_type *waot_object_type(waot_ref ref);
uint32_t waot_object_length(waot_ref ref);

/* These get and set field i of a structure, or element i of an array. They return 0, WAOT_ERROR_OBJECT, WAOT_ERROR_BOUNDS, WAOT_ERROR_TYPE or WAOT_ERROR_IMMUTABLE, and do nothing but for 0.
 * Of integers of 8 and 16 bits waot_get_i32 extends the sign, waot_get_u32 does not, and waot_set_i32 drops the bits above. A reference must fit the type of the field. A reference to a function must be one
 * that a module has made: its type is checked, what it points to is not. */
int waot_get_i32(waot_ref ref, uint32_t i, int32_t *to);
int waot_get_u32(waot_ref ref, uint32_t i, uint32_t *to);
int waot_get_i64(waot_ref ref, uint32_t i, int64_t *to);
int waot_get_f32(waot_ref ref, uint32_t i, float *to);
int waot_get_f64(waot_ref ref, uint32_t i, double *to);
int waot_get_v128(waot_ref ref, uint32_t i, waot_v128 *to);
int waot_get_ref(waot_ref ref, uint32_t i, waot_ref *to);
int waot_set_i32(waot_ref ref, uint32_t i, int32_t v);
int waot_set_i64(waot_ref ref, uint32_t i, int64_t v);
int waot_set_f32(waot_ref ref, uint32_t i, float v);
int waot_set_f64(waot_ref ref, uint32_t i, double v);
int waot_set_v128(waot_ref ref, uint32_t i, waot_v128 v);
int waot_set_ref(waot_ref ref, uint32_t i, waot_ref v);

/* waot_array_read copies n elements of an array of numbers from one on, waot_array_write copies in the other direction. size is what an element takes, sizeof *to: of another size they are of another type. */
int waot_array_read(waot_ref array, uint32_t first, uint32_t n, void *to, size_t size);
int waot_array_write(waot_ref array, uint32_t first, uint32_t n, const void *from, size_t size);

/* A value of a field. */
typedef union waot_value {
	int32_t i32;
	int64_t i64;
	float f32;
	double f64;
	waot_v128 v128;
	waot_ref ref;
} waot_value;

/* These make a structure, with a value for each field, an array of n times one value, and one of n numbers that take size bytes each, and have a handle refer to it. NULL in place of values stands
 * for zeros and nulls, where the type allows null. Objects may move, as in a call of compiled code, so references that only C variables have are lost; those in fields and element are not. The results
 * are 0, WAOT_ERROR_TYPE, WAOT_TRAP_HEAP_EXHAUSTED, WAOT_ERROR_FRAMES, and WAOT_ERROR_MEMORY, also if the handle is NULL. */
int waot_struct_new(const waot_type *type, const waot_value *fields, waot_handle *to);
int waot_array_new(const waot_type *type, uint32_t n, const waot_value *element, waot_handle *to);
int waot_array_new_from(const waot_type *type, uint32_t n, const void *from, size_t size, waot_handle *to);

/* waot_i31_ref is a reference to a small integer, of 31 bits, and waot_i31_value is that integer. */
static inline waot_ref waot_i31_ref(int32_t n) { return (uint32_t)n << 1 | 1; }
static inline int32_t waot_i31_value(waot_ref r) { return (int32_t)(uint32_t)r >> 1; }

/* waot_print writes the message, with the whole name, and the backtrace to a file descriptor. It raises no SIGPIPE. In all texts here, characters of names that
 * could steer a terminal or break the line are written as \xNN or \u{N}. */
void waot_print(const waot_trap *trap, int fd);

/* waot_text is the text of a code. */
const char *waot_text(int code);

/* Instances. Generated headers wrap these six. */

/* waot_instance_of returns the instance that is linked into the program, whether initialised or not; NULL if there is no memory. */
waot_instance *waot_instance_of(const waot_object *object);

/* waot_instance_map makes a further instance, not initialised, of a spare one if there is one. NULL: *trap says why. */
waot_instance *waot_instance_map(const waot_object *object, waot_trap *trap);

/* waot_instance_init reserves memories and tables, runs the init function and then initialize, if it is not NULL, in the instance. imports are
 * the imported memories, tables, globals and tags in this order: bases, addresses of values, and tags. It returns 0 or a code, also in *trap. */
int waot_instance_init(waot_instance *instance, void *const *imports, void (*initialize)(void), waot_trap *trap);

/* waot_instance_free ends a further instance. No code of it may run or be called any more. Up to 16 of an object, if they do not have more than 64 MiB
 * together, are kept as spare ones: they are emptied, and only their addresses, code and some pages of zeros stay. One whose memory, table or global
 * another instance has imported is not kept. */
void waot_instance_free(waot_instance *instance);

/* waot_free_spares returns to the system what spare instances have, of all objects. Any thread may call it at any time. */
void waot_free_spares(void);

/* waot_instance_reset makes an initialised instance, also one whose init function failed, what it was when it was new: its own memories, tables and
 * globals, and segments that were dropped. Then init and initialize run again. All addresses stay as they are, and so does what the instance
 * imports, WASI included, but for active segments. caller is waot_caller(), which is not NULL in a function that compiled code has called: there,
 * and inside waot_try, the result is WAOT_ERROR_BUSY. The others are 0, WAOT_ERROR_STATE, and WAOT_ERROR_IMPORT if another instance needs more than
 * what this one begins with, and nothing has happened then; and WAOT_ERROR_MEMORY and those of waot_try: then the instance must not be used unless another
 * reset succeeds. All but 0 are in *trap, too. */
int waot_instance_reset(waot_instance *instance, const waot_instance *caller, waot_trap *trap);

/* waot_moved returns where something of the linked instance's code or data is in another instance. */
void *waot_moved(waot_instance *instance, const void *linked);

/* waot_caller is the instance whose code called the C function in which it stands: for C functions that modules import. NULL: none did. */
#define waot_caller() waot_caller_at(__builtin_return_address(0), __builtin_frame_address(0))
waot_instance *waot_caller_at(void *return_address, void *frame);

/* The memories of an instance by index. Size is in bytes; NULL and 0 for one that does not exist. */
uint8_t *waot_memory_base(waot_instance *instance, uint32_t memory);
uint64_t waot_memory_size(waot_instance *instance, uint32_t memory);

/* waot_memory_main is the index of the memory exported as "memory", which WASI uses; 0 if there is none. */
uint32_t waot_memory_main(waot_instance *instance);

/* waot_instance_user is a word for the host's own use, NULL at first; waot_instance_wasi one for WASI. */
void **waot_instance_user(waot_instance *instance);
void **waot_instance_wasi(waot_instance *instance);

/* Memories and tables that modules import but no module exports. They have min pages or elements and grow to max. NULL: no memory. */
void *waot_memory_new(uint64_t min, uint64_t max);
void *waot_table_new(uint64_t min, uint64_t max);

/* Threads and signals. Any thread may call compiled code, one at a time per instance. A thread that does so without waot_try
 * calls waot_thread_begin before, so that a stack overflow is a trap, and faults are not blocked; waot_thread_end returns what waot_try or waot_thread_begin took. */
int waot_thread_begin(void);
void waot_thread_end(void);

/* waot_handle_signal is for programs that set a handler for SIGSEGV, SIGBUS, SIGFPE or SIGILL after the first instantiation. It returns 1 if
 * the signal was a trap; the handler must return then. The arguments are those of a handler with SA_SIGINFO. */
int waot_handle_signal(int signal, void *info, void *context);

/* Called by compiled code. */
uint64_t waot_memory_grow(void *base, uint64_t pages);
uint64_t waot_table_grow(void *base, uint64_t elements, uint64_t init);
void waot_memmove(void *to, const void *from, uint64_t bytes);
void waot_memset(void *to, uint64_t byte, uint64_t bytes);
void waot_table_fill(void *to, uint64_t word, uint64_t words);
WAOT_NORETURN void waot_raise(void *exception);
void waot_exception_open(void *exception, uint64_t ref);
uint64_t waot_exception_ref(void *exception);
uint64_t waot_heap_new(uint64_t type, uint64_t length, uint64_t size, void *base);
void waot_heap_fill(void *to, const void *value, uint64_t n, uint64_t size);
void waot_heap_widen(uint64_t *to, const uint32_t *from, uint64_t n);
void waot_heap_narrow(uint32_t *to, const uint64_t *from, uint64_t n);
uint64_t waot_func_test(void *descriptor, void *record);

/* For generated headers. */
static inline waot_memory waot_memory_at(void *base)
{
	waot_memory m = {(uint8_t *)base, base ? ((const uint64_t *)base)[-1] : 0};
	return m;
}

static inline waot_table waot_table_at(void *base)
{
	waot_table t = {(waot_ref *)base, base ? ((const uint64_t *)base)[-1] : 0};
	return t;
}

/* WASI preview 1: a directory that the program gets, and what else it gets. */
typedef struct waot_wasi_dir {
	const char *host, *guest;
	int fd;                 /* open directory, or -1: host is opened */
	int read_only;
} waot_wasi_dir;

/* For fds below: a stream that is closed, and one that is at its end, and takes all that is written. */
enum { WAOT_WASI_CLOSED = -1, WAOT_WASI_NULL = -2 };

typedef struct waot_wasi_config {
	const char *const *args;        /* NULL-terminated, or NULL */
	const char *const *env;         /* "NAME=value", NULL-terminated, or NULL */
	const waot_wasi_dir *dirs;
	size_t num_dirs;
	int fds[3];                     /* descriptors for stdin, stdout, stderr; WAOT_WASI_CLOSED, or one that is not open: closed; WAOT_WASI_NULL */
	const int *sockets;             /* connected or listening sockets, whose descriptors follow those of the directories */
	size_t num_sockets;
} waot_wasi_config;

/* waot_wasi_open gives an instance what is in the configuration, which need not stay: descriptors are duplicated, strings copied.
 * It returns 0 or a negative errno; EACCES is also a directory of the kernel's own, such as one in /proc. Without it, an
 * instance has no arguments, no environment, no directories and closed descriptors. waot_wasi_close closes what the instance has open. What the
 * functions open has none of the numbers 0 to 2, also where these are free, since programs write to them without asking what is there. */
int waot_wasi_open(waot_instance *instance, const waot_wasi_config *config);
void waot_wasi_close(waot_instance *instance);

#ifdef __cplusplus
}
#endif
#endif
