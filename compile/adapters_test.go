package compile_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
)

// cTypes are types as C declares them: i32 with 64 bits, so that upper halves show.
var cTypes = map[byte]string{i32: "uint64_t", i64: "uint64_t", f32: "float", f64: "double"}

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
	}
	s := fmt.Sprintf("%d.125", n)
	return s, s
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

// cSignature is the import in C, and a statement that calls the export.
func cSignature(n int, params, results []byte) (def, call string) {
	var g, c strings.Builder
	plist := cList("p", params)
	ret := "void"
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
	fmt.Fprintf(&g, "%s lib_f%d(%s);\n%s env_g%d(%s)\n{\n", ret, n, list, ret, n, list)
	for i, t := range params {
		s, want := cValue(t, i+1)
		sent = append(sent, s)
		fmt.Fprintf(&g, "\tCHECK(%d, p%d == %s);\n", n, i, want)
	}
	fmt.Fprintf(&g, "\tsmash();\n")
	call = fmt.Sprintf("lib_f%d(%s)", n, strings.Join(sent, ", "))
	switch {
	case len(results) == 0:
		fmt.Fprintf(&c, "\t%s;\n", call)
	case len(results) == 1:
		s, want := cValue(results[0], 500)
		fmt.Fprintf(&g, "\treturn %s;\n", s)
		fmt.Fprintf(&c, "\tCHECK(%d, %s == %s);\n", n, call, want)
	default:
		fmt.Fprintf(&c, "\tmemset(r, 0xee, sizeof r);\n\t%s;\n", call)
		for i, t := range results {
			s, want := cValue(t, i+500)
			fmt.Fprintf(&g, "\tPUT(%s, r[%d], %s);\n", cTypes[t], i, s)
			fmt.Fprintf(&c, "\tCHECK(%d, GET(%s, r[%d]) == %s);\n", n, cTypes[t], i, want)
		}
		fmt.Fprintf(&c, "\tCHECK(%d, r[%d] == 0xeeeeeeeeeeeeeeeeull);\n", n, len(results))
	}
	fmt.Fprintf(&g, "}\n")
	return g.String(), c.String()
}

const adapterPrelude = `
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(n, x) do { if (!(x)) { printf("signature %d, line %d: %s\n", n, __LINE__, #x); exit(1); } } while (0)
#define GET(t, w) ({ t v_; memcpy(&v_, &(w), sizeof v_); v_; })
#define PUT(t, w, x) do { t v_ = (x); memcpy(&(w), &v_, sizeof v_); } while (0)

void waot_memory_grow(void) {}
void waot_table_grow(void) {}
void waot_memmove(void) {}
void waot_memset(void) {}
void waot_table_fill(void) {}
void lib__init(void);

/* Changes what a C function may change. */
static void smash(void)
{
#ifdef __aarch64__
	__asm__ volatile("mov x0, #-1; mov x1, x0; mov x2, x0; mov x3, x0; mov x4, x0; mov x5, x0; mov x6, x0; mov x7, x0; mov x8, x0; "
		"mov x9, x0; mov x10, x0; mov x11, x0; mov x12, x0; mov x13, x0; mov x14, x0; mov x15, x0; mov x16, x0; mov x17, x0"
		::: "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17");
#else
	__asm__ volatile("mov $-1, %%rax; mov %%rax, %%rcx; mov %%rax, %%rdx; mov %%rax, %%rsi; mov %%rax, %%rdi; mov %%rax, %%r8; "
		"mov %%rax, %%r9; mov %%rax, %%r10; mov %%rax, %%r11"
		::: "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11");
#endif
}

static uint64_t r[1024];
`

// TestAdapters calls functions of many types from C through compiled code to C.
func TestAdapters(t *testing.T) {
	each(t, func(t *testing.T, c toolchain) {
		tool(t, c.prefix+"gcc")
		rnd := rand.New(rand.NewPCG(1, 2))
		pick := func(most int) []byte {
			ts := make([]byte, rnd.IntN(most+1))
			for i := range ts {
				ts[i] = []byte{i32, i64, f32, f64}[rnd.IntN(4)]
			}
			return ts
		}
		m := &wasmModule{}
		var defs, calls strings.Builder
		add := func(n int, params, results []byte) {
			signature(m, n, params, results)
			def, call := cSignature(n, params, results)
			defs.WriteString(def)
			calls.WriteString(call)
		}
		const many = 40
		for n := range many {
			add(n, pick(3+n/3), pick(n/6))
		}
		var mixed []byte
		for i := range 640 {
			mixed = append(mixed, []byte{i32, f64, i64, f32}[i%4])
		}
		add(many, mixed, mixed)
		for _, f := range m.pending {
			f()
		}
		dir := t.TempDir()
		obj, src, exe := filepath.Join(dir, "lib.o"), filepath.Join(dir, "main.c"), filepath.Join(dir, "main")
		b := elf(t, build(t, m.bytes(), compile.Options{Target: c.target, Name: "lib", OptLevel: opt.O1}))
		text := adapterPrelude + defs.String() + "int main(void)\n{\n\tlib__init();\n" + calls.String() + "\tputs(\"ok\");\n\treturn 0;\n}\n"
		for name, b := range map[string][]byte{obj: b, src: []byte(text)} {
			if err := os.WriteFile(name, b, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		mode := c.modes[len(c.modes)-1]
		if out := runTool(t, c.prefix+"gcc", append([]string{"-O0", "-Wall", "-Wno-builtin-declaration-mismatch", "-Wl,--fatal-warnings", "-o", exe, src, obj}, mode...)...); out != "" {
			t.Error(out)
		}
		run := append(append([]string{}, c.run...), exe)
		if out := runTool(t, run[0], run[1:]...); out != "ok\n" {
			t.Error(out)
		}
	})
}
