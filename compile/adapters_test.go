package compile_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// cTypes are types as C declares them: i32 with 64 bits, so that upper halves show.
var cTypes = map[byte]string{i32: "uint64_t", i64: "uint64_t", f32: "float", f64: "double", v128: "vec"}

// cValue is a value of type t in C, and what is to arrive of it, which is less if it is an i32 with a dirty upper half.
func cValue(t byte, n int) (sent, arrives string) {
	switch t {
	case i32:
		return fmt.Sprintf("0x%x80000%03xull", 0xd00d0000+n, n), fmt.Sprintf("0x80000%03xull", n)
	case i64:
		s := fmt.Sprintf("0x%x80000%03xull", 0xf00d0000+n, n)
		return s, s
	case f32:
		s := fmt.Sprintf("%d.25f", n)
		return s, s
	case v128:
		s := fmt.Sprintf("VEC(0x%x80000%03xull, 0x%x0a0b0c0dull)", 0xf00d0000+n, n, 0xbeef0000+n)
		return s, s
	}
	s := fmt.Sprintf("%d.125", n)
	return s, s
}

// cWords is how many words of the array of results a result of type t takes.
func cWords(t byte) int {
	if t == v128 {
		return 2
	}
	return 1
}

// cList is "T a0, T a1" of some types.
func cList(prefix string, ts []byte) []string {
	var l []string
	for i, t := range ts {
		l = append(l, fmt.Sprintf("%s %s%d", cTypes[t], prefix, i))
	}
	return l
}

// signature adds to the module an import, and, once all imports are there, an export that calls it, of the same type.
func signature(m *wasmModule, n int, params, results []byte) {
	f := m.importFunc("env", fmt.Sprint("g", n), params, results)
	var body []byte
	for i := range params {
		body = cat(body, []byte{0x20}, leb(i))
	}
	m.pending = append(m.pending, func() {
		m.exportFn(fmt.Sprint("f", n), params, results, nil, cat(body, []byte{0x10}, leb(f))...)
	})
}

// cSignature is the import in C, and a function that calls the export. The import calls further exports.
func cSignature(n int, params, results []byte) string {
	var g, c strings.Builder
	plist := cList("p", params)
	ret, words := "void", 0 // words of the array of results
	var sent []string
	switch {
	case len(results) == 1:
		ret = cTypes[results[0]]
	case len(results) > 1:
		plist = append([]string{"uint64_t *r"}, plist...)
		sent = []string{"r"}
	}
	list := strings.Join(plist, ", ")
	if list == "" {
		list = "void"
	}
	fmt.Fprintf(&g, "%s lib_f%d(%s) __asm__(\"lib..f%d\");\n%s env_g%d(%s) __asm__(\"env..g%d\");\n", ret, n, list, n, ret, n, list, n)
	fmt.Fprintf(&g, "%s env_g%d(%s)\n{\n", ret, n, list)
	for i, t := range params {
		s, want := cValue(t, i+1)
		sent = append(sent, s)
		fmt.Fprintf(&g, "\tCHECK(%d, SAME(%s, p%d, %s));\n", n, cTypes[t], i, want)
	}
	fmt.Fprintf(&g, "\tinside(%d);\n\tsmash();\n", n)
	call := fmt.Sprintf("lib_f%d(%s)", n, strings.Join(sent, ", "))
	switch {
	case len(results) == 0:
		fmt.Fprintf(&c, "\t%s;\n", call)
	case len(results) == 1:
		s, want := cValue(results[0], 500)
		fmt.Fprintf(&g, "\treturn %s;\n", s)
		fmt.Fprintf(&c, "\tCHECK(%d, SAME(%s, %s, %s));\n", n, cTypes[results[0]], call, want)
	default:
		fmt.Fprintf(&c, "\tmemset(r, 0xee, sizeof r);\n\t%s;\n", call)
		for i, t := range results {
			s, want := cValue(t, i+500)
			fmt.Fprintf(&g, "\tPUT(%s, r + %d, %s);\n", cTypes[t], words, s)
			fmt.Fprintf(&c, "\tCHECK(%d, SAME(%s, GET(%s, r + %d), %s));\n", n, cTypes[t], cTypes[t], words, want)
			words += cWords(t)
		}
		fmt.Fprintf(&c, "\tCHECK(%d, r[%d] == 0xeeeeeeeeeeeeeeeeull);\n", n, words)
	}
	return fmt.Sprintf("%s}\n\nstatic void call%d(void)\n{\n\tuint64_t r[%d];\n\t(void)r;\n%s}\n\n", g.String(), n, words+1, c.String())
}

const adapterPrelude = `
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

#define CHECK(n, x) do { if (!(x)) { printf("signature %d, line %d: %s\n", n, __LINE__, #x); exit(1); } } while (0)
#define GET(t, w) ({ t v_; memcpy(&v_, w, sizeof v_); v_; })
#define PUT(t, w, x) do { t v_ = (x); memcpy(w, &v_, sizeof v_); } while (0)
#define SAME(t, x, y) ({ t x_ = (x), y_ = (y); memcmp(&x_, &y_, sizeof x_) == 0; })
#define VEC(low, high) ({ uint64_t w_[] = {low, high}; GET(vec, w_); })

#ifdef __aarch64__
#include <arm_neon.h>
typedef int8x16_t vec;
#else
#include <emmintrin.h>
typedef __m128i vec;
#endif

void waot_memory_grow(void) {}
void waot_table_grow(void) {}
void waot_memmove(void) {}
void waot_memset(void) {}
void waot_table_fill(void) {}
void lib__init(void) __asm__("lib.init");

/* Changes what a C function may change. */
static void smash(void)
{
#ifdef __aarch64__
	__asm__ volatile("mov x0, #-1; mov x1, x0; mov x2, x0; mov x3, x0; mov x4, x0; mov x5, x0; mov x6, x0; mov x7, x0; mov x8, x0; "
		"mov x9, x0; mov x10, x0; mov x11, x0; mov x12, x0; mov x13, x0; mov x14, x0; mov x15, x0; mov x16, x0; mov x17, x0"
		::: "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17");
	/* Of v8 to v15 the upper halves. */
	__asm__ volatile(".irp n, 0,1,2,3,4,5,6,7,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31; movi v\\n\\().16b, #255; .endr; "
		".irp n, 8,9,10,11,12,13,14,15; fmov d\\n, d\\n; .endr"
		::: "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25",
		"v26", "v27", "v28", "v29", "v30", "v31");
#else
	__asm__ volatile("mov $-1, %%rax; mov %%rax, %%rcx; mov %%rax, %%rdx; mov %%rax, %%rsi; mov %%rax, %%rdi; mov %%rax, %%r8; "
		"mov %%rax, %%r9; mov %%rax, %%r10; mov %%rax, %%r11"
		::: "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11");
	__asm__ volatile(".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15; pcmpeqd %%xmm\\n, %%xmm\\n; .endr"
		::: "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
		"xmm14", "xmm15");
#endif
}

/* guarded calls f with callee-saved registers that it knows, and gives the number of those that f has changed. */
uint64_t guarded(void (*f)(void));
#ifdef __aarch64__
__asm__(".text; .globl guarded; .type guarded, %function; guarded: .cfi_startproc; bti c; stp x29, x30, [sp, #-160]!; "
	".cfi_def_cfa_offset 160; .cfi_offset 29, -160; .cfi_offset 30, -152; mov x29, sp; .cfi_def_cfa_register 29; "
	"stp x19, x20, [sp, #16]; stp x21, x22, [sp, #32]; stp x23, x24, [sp, #48]; stp x25, x26, [sp, #64]; stp x27, x28, [sp, #80]; "
	"stp d8, d9, [sp, #96]; stp d10, d11, [sp, #112]; stp d12, d13, [sp, #128]; stp d14, d15, [sp, #144]; "
	".irp n, 19,20,21,22,23,24,25,26,27,28; .cfi_offset \\n, 8*(\\n-19)-144; .endr; .irp n, 8,9,10,11,12,13,14,15; .cfi_offset 64+\\n, 8*(\\n-8)-64; .endr; "
	".irp n, 19,20,21,22,23,24,25,26,27,28; mov x\\n, #0x5000+\\n; .endr; "
	".irp n, 8,9,10,11,12,13,14,15; mov x9, #0x6000+\\n; fmov d\\n, x9; .endr; blr x0; mov x0, #0; "
	".irp n, 19,20,21,22,23,24,25,26,27,28; mov x9, #0x5000+\\n; cmp x9, x\\n; cinc x0, x0, ne; .endr; "
	".irp n, 8,9,10,11,12,13,14,15; mov x9, #0x6000+\\n; fmov x10, d\\n; cmp x9, x10; cinc x0, x0, ne; .endr; "
	"ldp x19, x20, [sp, #16]; ldp x21, x22, [sp, #32]; ldp x23, x24, [sp, #48]; ldp x25, x26, [sp, #64]; ldp x27, x28, [sp, #80]; "
	"ldp d8, d9, [sp, #96]; ldp d10, d11, [sp, #112]; ldp d12, d13, [sp, #128]; ldp d14, d15, [sp, #144]; "
	"ldp x29, x30, [sp], #160; .cfi_def_cfa 31, 0; .irp n, 19,20,21,22,23,24,25,26,27,28,29,30; .cfi_restore \\n; .endr; "
	".irp n, 8,9,10,11,12,13,14,15; .cfi_restore 64+\\n; .endr; ret; .cfi_endproc; .size guarded, .-guarded");
#else
__asm__(".text; .globl guarded; .type guarded, @function; guarded: .cfi_startproc; push %rbp; .cfi_def_cfa_offset 16; .cfi_offset 6, -16; "
	"mov %rsp, %rbp; .cfi_def_cfa_register 6; push %rbx; push %r12; push %r13; push %r14; push %r15; sub $8, %rsp; "
	".cfi_offset 3, -24; .cfi_offset 12, -32; .cfi_offset 13, -40; .cfi_offset 14, -48; .cfi_offset 15, -56; "
	"mov $0x5001, %ebx; mov $0x5002, %r12d; mov $0x5003, %r13d; mov $0x5004, %r14d; mov $0x5005, %r15d; call *%rdi; xor %eax, %eax; "
	"cmp $0x5001, %rbx; setne %al; cmp $0x5002, %r12; setne %cl; add %cl, %al; cmp $0x5003, %r13; setne %cl; add %cl, %al; "
	"cmp $0x5004, %r14; setne %cl; add %cl, %al; cmp $0x5005, %r15; setne %cl; add %cl, %al; "
	"add $8, %rsp; pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp; .cfi_def_cfa 7, 8; ret; .cfi_endproc; .size guarded, .-guarded");
#endif

int main(void);

/* frame looks for main; without the right unwind information there may be no end of frames. */
static _Unwind_Reason_Code frame(struct _Unwind_Context *context, void *frames)
{
	int *left = frames;
	if (_Unwind_FindEnclosingFunction((void *)(_Unwind_GetIP(context) - 1)) == (void *)main)
		*left = -1;
	return *left < 0 || --*left == 0 ? _URC_NORMAL_STOP : _URC_NO_REASON;
}

extern void (*const calls[])(void);
static const int number;
static int depth;

/* What each import does besides: it looks at the stack, and calls other exports. */
static void inside(int n)
{
	int left = 100, found = 0;
	CHECK(n, ((uintptr_t)__builtin_frame_address(0) & 15) == 0);
	_Unwind_Backtrace(frame, &left);
	CHECK(n, left < 0);
	for (uintptr_t *f = __builtin_frame_address(0), *up; (up = (uintptr_t *)f[0]); f = up) {
		CHECK(n, up > f);
		if ((found = _Unwind_FindEnclosingFunction((void *)(f[1] - 1)) == (void *)main))
			break;
	}
	CHECK(n, found);
	if (depth < 3) {
		depth++;
		CHECK(n, guarded(calls[(7 * n + depth) % number]) == 0);
		depth--;
	}
}
`

// flip is types that adapters cannot tell from ts.
func flip(ts []byte) []byte {
	out := bytes.Clone(ts)
	for i, t := range ts {
		switch t {
		case f32:
			out[i] = f64
		case f64:
			out[i] = f32
		}
	}
	return out
}

// writeAdapters writes a program with calls of functions of that many types at least: an object, and the rest in C. exe is free for the program.
func writeAdapters(t *testing.T, c toolchain, most int) (obj, src, exe string) {
	rnd := rand.New(rand.NewPCG(1, 2))
	pick := func(most int) []byte {
		ts := make([]byte, rnd.IntN(most+1))
		for i := range ts {
			ts[i] = []byte{i32, i64, f32, f64, v128}[rnd.IntN(5)]
		}
		return ts
	}
	m := &wasmModule{}
	var defs, list strings.Builder
	add := func(n int, params, results []byte) {
		signature(m, n, params, results)
		defs.WriteString(cSignature(n, params, results))
		fmt.Fprintf(&list, "call%d, ", n)
	}
	n := 0
	for n < most { // three at a time that share adapters, later ones with longer signatures
		params, results := pick(3+14*n/most), pick(7*n/most)
		for _, x := range [][2][]byte{{params, results}, {flip(params), flip(results)}, {params, results}} {
			add(n, x[0], x[1])
			n++
		}
	}
	var mixed []byte
	for i := range 640 {
		mixed = append(mixed, []byte{i32, f64, i64, f32, v128}[i%5])
	}
	add(n, mixed, mixed)
	for _, f := range m.pending {
		f()
	}
	dir := t.TempDir()
	obj, src, exe = filepath.Join(dir, "lib.o"), filepath.Join(dir, "main.c"), filepath.Join(dir, "main")
	b := elf(t, build(t, m.bytes(), compile.Options{Target: c.target, Name: "lib", OptLevel: opt.O1}))
	text := adapterPrelude + defs.String() + fmt.Sprintf(`
void (*const calls[])(void) = {%s};
static const int number = %d;

int main(void)
{
	lib__init();
	for (int n = 0; n < number; n++) {
		depth = 0;
		CHECK(n, guarded(calls[n]) == 0);
	}
	puts("ok");
	return 0;
}
`, list.String(), n+1)
	for name, b := range map[string][]byte{obj: b, src: []byte(text)} {
		if err := os.WriteFile(name, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return obj, src, exe
}

// TestAdapters calls functions of many types from C through compiled code to C, which calls others in turn: values arrive, stacks are
// aligned, callee-saved registers stay, and backtraces get through, by frame pointers and by .eh_frame.
func TestAdapters(t *testing.T) {
	each(t, func(t *testing.T, c toolchain) {
		tool(t, c.prefix+"gcc")
		obj, src, exe := writeAdapters(t, c, testenv.Cases(60, 60, 120))
		for _, mode := range c.modes {
			if out := runTool(t, c.prefix+"gcc", append([]string{"-O0", "-Wall", "-Wno-builtin-declaration-mismatch", "-Wl,--fatal-warnings", "-o", exe, src, obj}, mode...)...); out != "" {
				t.Error(out)
			}
			run := append(append([]string{}, c.run...), exe)
			if out := runTool(t, run[0], run[1:]...); out != "ok\n" {
				t.Error(out)
			}
		}
	})
}
