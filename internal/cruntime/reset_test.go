package cruntime_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/cruntime"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/internal/proof/wasmgen"
	"github.com/waot-project/waot/wasmfront/wat"
)

// TestReset: an instance that was reset, or made of a spare one, is what a new one is, with each compiler, on each machine, with memories of each kind; and what cannot be reset says so.
func TestReset(t *testing.T) {
	for _, bounds := range []struct {
		name     string
		explicit bool
	}{{"reserved", false}, {"explicit", true}} {
		for _, c := range toolchains {
			t.Run(bounds.name+" "+c.name, func(t *testing.T) {
				if c.level > 0 {
					testenv.OnlyFull(t, "one of many builds")
				}
				program := c.buildWith(t, compile.Options{ExplicitBounds: bounds.explicit}, "reset.c", "state", "needy", "large")
				if out, errs, end := c.exec(t, program); out != "ok\n" || end != "exit status 0" {
					t.Errorf("%s: %s%s", end, out, errs)
				}
			})
		}
	}
}

// TestResetRandom: random modules do the same again when they and what they import have been reset, and in a spare instance, on each machine.
func TestResetRandom(t *testing.T) {
	for i := range toolchains {
		switch c := &toolchains[i]; c.name {
		case "gcc":
			testResetRandom(t, c, testenv.Cases(2, 8, 60))
		case "aarch64 gcc":
			t.Run(c.name, func(t *testing.T) {
				testenv.OnlyFull(t, "another machine")
				testResetRandom(t, c, 30)
			})
		}
	}
}

func testResetRandom(t *testing.T, c *toolchain, cases int) {
	t.Helper()
	same, ran := 0, 0
	if tool := c.missing(); tool != "" {
		testenv.Missing(t, "no "+tool)
	}
	for seed := range uint64(cases) {
		rounds := resetRounds(t, c, wasmgen.Generate(seed, wasmgen.Config{}), seed%2 == 1)
		if len(rounds) == 1 {
			continue // it cannot be instantiated
		}
		ran++
		if rounds[2] == rounds[0] {
			same++
		}
		for _, again := range []int{1, 3, 4, 5} {
			if diff := cmp.Diff(strings.Split(rounds[0], "\n"), strings.Split(rounds[again], "\n")); diff != "" {
				t.Fatalf("seed %d, round %d: (-new +reset)\n%s", seed, again, diff)
			}
		}
	}
	if ran == 0 || ran-same < ran/4 {
		t.Errorf("of %d modules %d do the same without a reset", ran, same)
	}
}

// resetRounds builds a program of a random module and returns what it prints for six rounds of the calls: new, reset, not reset, reset, and two in a
// spare instance.
func resetRounds(t *testing.T, c *toolchain, p *wasmgen.Program, explicit bool) []string {
	t.Helper()
	dir := t.TempDir()
	if err := cruntime.Write(dir); err != nil {
		t.Fatal(err)
	}
	o := compile.Options{Target: c.target, ExplicitBounds: explicit}
	addWasm(t, dir, "env", o, p.Env)
	addWasm(t, dir, "mod", o, p.Wasm)
	header, err := os.ReadFile(filepath.Join(dir, "mod.h"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "program.c", roundsProgram(p, string(header)))
	compiler := slices.Concat(c.compiler, c.language, warnings, c.flags)
	compileRuntime(t, dir, compiler)
	tool(t, dir, slices.Concat(c.compiler, c.language, c.flags, []string{"program.c", "waot_runtime.o", "env.o", "mod.o", "-o", "program"})...)
	out, errs, end := c.exec(t, filepath.Join(dir, "program"))
	if end != "exit status 0" {
		t.Fatalf("%s: %s%s", end, out, errs)
	}
	return strings.Split(out, "--\n")
}

// roundsProgram is a program in C that makes the calls of a random module in six rounds, and prints what they do and leave.
func roundsProgram(p *wasmgen.Program, header string) []byte {
	var b bytes.Buffer
	b.WriteString(`#include "env.h"
#include "mod.h"
#include <stdio.h>
#include <string.h>

static struct mod_exports x;
static uint64_t r[64];
static float f32(uint32_t bits) { float f; memcpy(&f, &bits, 4); return f; }
static double f64(uint64_t bits) { double f; memcpy(&f, &bits, 8); return f; }
static uint64_t sum(const void *at, uint64_t size)
{
	uint64_t h = 0;
	for (uint64_t i = 0; i < size; i++)
		h = h * 31 + ((const uint8_t *)at)[i];
	return h;
}
static void report(int n, int code)
{
	printf("call %d: %d", n, code);
	for (int i = 0; i < 64; i++)
		if (r[i])
			printf(" %d=%lx", i, (unsigned long)r[i]);
	waot_memory own = waot_memory_at(waot_memory_base(x.instance, 0)), others = env_memory();
	printf("\nmemory %lx %lx, %lx %lx\n", own.size, sum(own.base, own.size), others.size, sum(others.base, others.size));
	memset(r, 0, sizeof r);
}
`)
	for n, call := range p.Calls {
		var args []string
		words := call.Args
		if len(call.Results) > 1 {
			args = append(args, "r")
		}
		for _, kind := range call.Params {
			args = append(args, fmt.Sprintf(map[rune]string{'i': "(int32_t)%#xu", 'l': "(int64_t)%#xull", 'f': "f32(%#xu)", 'd': "f64(%#xull)"}[kind], words[0]))
			words = words[1:]
		}
		invoke := fmt.Sprintf("x.%s(%s)", call.Export, strings.Join(args, ", "))
		if len(call.Results) == 1 {
			result := map[string]string{"i": "int32_t", "l": "int64_t", "f": "float", "d": "double"}[call.Results]
			invoke = fmt.Sprintf("%s v = %s; memcpy(r, &v, sizeof v)", result, invoke)
		}
		fmt.Fprintf(&b, "static void call%d(void *p) { (void)p; %s; }\n", n, invoke)
	}
	b.WriteString("static void all(void)\n{\n\twaot_trap trap;\n")
	for n := range p.Calls {
		fmt.Fprintf(&b, "\tx.export_reset();\n\treport(%d, waot_try(&trap, call%d, NULL));\n", n, n)
	}
	for _, g := range p.Globals {
		fmt.Fprintf(&b, "\tprintf(\"global %%lx\\n\", sum(x.%s, sizeof *x.%s));\n", g, g)
	}
	b.WriteString("\tputs(\"--\");\n}\nint main(void)\n{\n\twaot_trap trap;\n\tif (env_instantiate(&trap) != 0)\n\t\treturn 1;\n\tstruct mod_imports imports;\n")
	for field, value := range map[string]string{"env_memory": "env_memory().base", "env_table": "env_table().elements", "env_g0": "env_g0()", "env_g1": "env_g1()"} {
		if strings.Contains(header, "*"+field+";") {
			fmt.Fprintf(&b, "\timports.%s = %s;\n", field, value)
		}
	}
	b.WriteString(`	if (mod_new(&x, &imports, &trap) != 0)
		return 0;
	for (int round = 0; round < 6; round++) {
		if ((round % 2 || round == 4) && env_reset(env_instance(), &trap) != 0)
			return puts(trap.message), 1;
		if (round == 1 || round == 3) {
			if (mod_reset(x.instance, &trap) != 0)
				return puts(trap.message), 1;
		} else if (round > 3) {
			waot_instance *was = x.instance;
			mod_delete(&x);
			if (mod_new(&x, &imports, &trap) != 0 || x.instance != was)
				return puts("no new one of the spare one"), 1;
		}
		all();
	}
	return 0;
}
`)
	return b.Bytes()
}

// BenchmarkReset reports what a reset takes beside a new instance, of a small module and, if there is one, a large one: the medians of a program's second half.
func BenchmarkReset(b *testing.B) {
	small, err := wat.Assemble([]byte(`(module (memory (export "memory") 1) (data (i32.const 16) "abcdefgh") (global (mut i32) (i32.const 1)) (func (export "f")))`))
	if err != nil {
		b.Fatal(err)
	}
	modules := []struct {
		name string
		wasm []byte
	}{{"small", small.Wasm}, {"sqlite3", nil}}
	if dir := os.Getenv(testenv.EnvBench); dir == "" {
		modules = modules[:1]
	} else if modules[1].wasm, err = os.ReadFile(filepath.Join(dir, "sqlite3", "sqlite3.wasm")); err != nil {
		b.Fatal(err)
	}
	for _, m := range modules {
		b.Run(m.name, func(b *testing.B) {
			c := &toolchains[0]
			dir := b.TempDir()
			if err := cruntime.Write(dir); err != nil {
				b.Fatal(err)
			}
			program, err := os.ReadFile("testdata/resetcost.c")
			if err != nil {
				b.Fatal(err)
			}
			write(b, dir, "program.c", program)
			addWasm(b, dir, "mod", compile.Options{Target: c.target}, m.wasm)
			tool(b, dir, "gcc", "-O2", "program.c", "waot_runtime.c", "mod.o", "-o", "program")
			out, err := exec.Command(filepath.Join(dir, "program")).Output()
			if err != nil {
				b.Fatal(err)
			}
			for line := range strings.Lines(string(out)) {
				var unit string
				var took float64
				if _, err := fmt.Sscan(line, &unit, &took); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(took, unit)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
