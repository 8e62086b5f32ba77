package compile_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/objfile"
)

// adapterSizes are the size of the section of adapters, and the numbers of shared ones in both directions.
func adapterSizes(t *testing.T, target string, m *wasmModule) (size, fromC, toC int) {
	t.Helper()
	o := build(t, m.bytes(), compile.Options{Target: target, Name: "lib"}).Object
	for i := range o.Symbols {
		switch s := &o.Symbols[i]; {
		case s.Binding != objfile.Local || s.Kind != objfile.Func || o.Sections[max(s.Section, 0)].Name != ".text.waot":
		case strings.HasPrefix(s.Name, "from_c"):
			fromC++
		case strings.HasPrefix(s.Name, "to_c"):
			toC++
		}
	}
	return len(o.Section(".text.waot").Data), fromC, toC
}

// TestSharedAdapters: functions whose types adapters cannot tell apart share them, and each further one has a stub of
// constant size.
func TestSharedAdapters(t *testing.T) {
	const exportStub, importStub = 16, 32 // bytes, with the gap behind
	wide := bytes.Repeat(types(i32, f64, i64), 30)
	unreachable := byte(0)
	export := func(n int, ps ...[]byte) *wasmModule {
		m := &wasmModule{}
		for i := range n {
			m.exportFn(fmt.Sprint("f", i), ps[2*i%len(ps)], ps[2*i%len(ps)+1], nil, unreachable)
		}
		return m
	}
	imports := func(n int, ps ...[]byte) *wasmModule {
		m := &wasmModule{}
		for i := range n {
			m.importFunc("env", fmt.Sprint("g", i), ps[2*i%len(ps)], ps[2*i%len(ps)+1])
		}
		return m
	}
	eight := bytes.Repeat(types(i64), 9)
	for _, target := range compile.Targets() {
		for _, c := range []struct {
			name       string
			make       func(n int, ps ...[]byte) *wasmModule
			types      [][]byte // parameters and results in turn
			stub       int
			fromC, toC int
		}{
			{"one type exported", export, [][]byte{wide, wide}, exportStub, 1, 0},
			{"one type imported", imports, [][]byte{wide, wide}, importStub, 0, 1},
			{"floats of both sizes exported", export, [][]byte{wide, wide, flip(wide), flip(wide)}, exportStub, 1, 0},
			{"floats of both sizes imported", imports, [][]byte{wide, wide, flip(wide), flip(wide)}, importStub, 0, 1},
			{"arguments of 32 and 64 bits exported", export, [][]byte{wide, nil, clear32(wide), nil}, exportStub, 2, 0},
			{"arguments of 32 and 64 bits imported", imports, [][]byte{wide, nil, clear32(wide), nil}, importStub, 0, 1},
			{"one result of several types exported", export, [][]byte{eight, types(i32), eight, types(f64), eight, nil}, exportStub, 1, 0},
			{"one result of several types imported", imports, [][]byte{eight, types(i32), eight, types(i64), eight, types(f64), eight, nil}, importStub, 0, 2},
			{"results of 32 and 64 bits imported", imports, [][]byte{nil, wide, nil, clear32(wide)}, importStub, 0, 2},
			{"conventions agree, exported", export, [][]byte{types(i64, f64), types(i32)}, exportStub, 0, 0},
			{"conventions agree, imported", imports, [][]byte{types(i32, f64), types(i64)}, exportStub, 0, 0},
		} {
			few, fromC, toC := adapterSizes(t, target, c.make(len(c.types), c.types...))
			many, _, _ := adapterSizes(t, target, c.make(9*len(c.types), c.types...))
			if fromC != c.fromC || toC != c.toC {
				t.Errorf("%s, %s: %d adapters from C and %d to C, want %d and %d", target, c.name, fromC, toC, c.fromC, c.toC)
			}
			if got, most := many-few, 8*len(c.types)*c.stub; got > most || got <= most-c.stub {
				t.Errorf("%s, %s: %d bytes for %d more functions, want %d", target, c.name, got, 8*len(c.types), most)
			}
		}
	}
}

// clear32 makes each i32 an i64.
func clear32(ts []byte) []byte { return bytes.ReplaceAll(ts, types(i32), types(i64)) }

// guardProgram calls exports on stacks of many sizes. What lies below the guard page must stay as it is.
const guardProgram = `
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define GUARD 4096
#define BELOW 65536
#define STACK 65536

void waot_memory_grow(void) {}
void waot_table_grow(void) {}
void waot_memmove(void) {}
void waot_memset(void) {}
void waot_table_fill(void) {}
void lib__init(void) __asm__("lib.init"), lib_results(uint64_t *) __asm__("lib..results"), lib_many(uint64_t *) __asm__("lib..many"), lib_take(void) __asm__("lib..take");
void env_many(uint64_t *) __asm__("env..many"), env_take(void) __asm__("env..take");

static int left;
void env_many(uint64_t *r) { memset(r, 0, 8000), left++; }
void env_take(void) { left++; }

static char *low;
static uint64_t r[1000];
static sigjmp_buf env;
static ucontext_t back, on;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)context;
	char *at = info->si_addr;
	if (at < low + BELOW || at >= low + BELOW + GUARD)
		printf("a fault %ld bytes above the guard page\n", (long)(at - low - BELOW)), exit(1);
	siglongjmp(env, 1);
}

static void results(void) { lib_results(r); }
static void many(void) { lib_many(r); }
static void take(void) { lib_take(); }

int main(void)
{
	stack_t ss = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
	struct sigaction sa = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	sigaltstack(&ss, 0);
	sigaction(SIGSEGV, &sa, 0);
	low = mmap(0, BELOW + GUARD + STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(low + BELOW, GUARD, PROT_NONE);
	lib__init();
	static void (*const calls[])(void) = {results, many, take};
	for (int c = 0; c < 3; c++) {
		volatile int overflows = 0, returns = 0;
		/* Contexts need some room for themselves, which is left. */
		for (volatile size_t size = 1024; size <= STACK; size += 256) {
			memset(low, 0x5a, BELOW);
			if (!sigsetjmp(env, 1)) {
				getcontext(&on);
				on.uc_stack.ss_sp = low + BELOW + GUARD;
				on.uc_stack.ss_size = size;
				on.uc_link = &back;
				makecontext(&on, calls[c], 0);
				swapcontext(&back, &on);
				returns++;
			} else
				overflows++;
			for (int i = 0; i < BELOW; i++)
				if (low[i] != 0x5a)
					printf("call %d on %zu bytes of stack writes below the guard page\n", c, size), exit(1);
		}
		if (overflows < 10 || returns < 10)
			printf("call %d: %d overflows, %d returns\n", c, overflows, returns), exit(1);
	}
	puts("ok");
	return 0;
}
`

// TestAdapterGuard: frames of adapters do not step over a guard page of 4096 bytes.
func TestAdapterGuard(t *testing.T) {
	each(t, func(t *testing.T, c toolchain) {
		thousand := bytes.Repeat(types(i64), 1000)
		m := &wasmModule{}
		g := m.importFunc("env", "many", nil, thousand)
		h := m.importFunc("env", "take", thousand, nil)
		m.exportFn("results", nil, thousand, nil, bytes.Repeat([]byte{0x42, 1}, 1000)...)
		m.exportFn("many", nil, thousand, nil, cat([]byte{0x10}, leb(g))...)
		m.exportFn("take", nil, nil, nil, cat(bytes.Repeat([]byte{0x42, 1}, 1000), []byte{0x10}, leb(h))...)
		dir := t.TempDir()
		obj, src, exe := filepath.Join(dir, "lib.o"), filepath.Join(dir, "main.c"), filepath.Join(dir, "main")
		b := elf(t, build(t, m.bytes(), compile.Options{Target: c.target, Name: "lib", OptLevel: opt.O1}))
		for name, b := range map[string][]byte{obj: b, src: []byte(guardProgram)} {
			if err := os.WriteFile(name, b, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		mode := c.modes[len(c.modes)-1]
		if out := runTool(t, c.prefix+"gcc", append([]string{"-O0", "-Wall", "-Wl,--fatal-warnings", "-o", exe, src, obj}, mode...)...); out != "" {
			t.Error(out)
		}
		run := append(append([]string{}, c.run...), exe)
		if out := runTool(t, run[0], run[1:]...); out != "ok\n" {
			t.Error(out)
		}
	})
}
