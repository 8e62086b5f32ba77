package cruntime_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/internal/cruntime"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// hostileImports and hostileExports are names that mean something in C: macros, keywords, types, functions, and what the runtime has.
var (
	hostileImports = [][2]string{{"INT32", "C"}, {"SIZE", "MAX"}, {"WAOT", "EXIT"}, {"WAOT", "RUNTIME_H"}, {"static", "assert"}, {"xor", "eq"}, {"size", "t"}, {"va", "arg"},
		{"SIG", "DFL"}, {"si", "pid"}, {"atomic", "load"}, {"_", "Bool"}, {"", "_INT_MAX__"}, {"other", "new"}, {"a", "b_c"}, {"a_b", "c"}, {"a", "b-c"}, {"", ""}, {"9", "9"}, {"env", "import_x"}, {"env", "x"}}
	hostileExports = []string{"C", "MAX", "INT32_C", "WAOT_EXIT", "WAOT_MODULE_lib_H", "offsetof", "uint8_t", "int32_t", "xor_eq", "and", "new", "export_new", "export_new_", "instance", "exports", "t",
		"__LINE__", "_Bool", "SIGINT", "PRId64", "noreturn", "waot_trap", "waot_caller", "errno", "int", "int_", "requires", "constexpr", "", "-", "_", "I", "memory", "code", "words", "NULL", "assert"}
)

// hostileText is a module with these names: export k calls import k, again from the first on, and adds 1000.
func hostileText() string {
	var b strings.Builder
	b.WriteString("(module\n")
	for i, n := range hostileImports {
		fmt.Fprintf(&b, "  (import %q %q (func $i%d (param i32) (result i32)))\n", n[0], n[1], i)
	}
	for i, n := range hostileExports {
		fmt.Fprintf(&b, "  (func (export %q) (param i32) (result i32) (i32.add (call $i%d (local.get 0)) (i32.const 1000)))\n", n, i%len(hostileImports))
	}
	return b.String() + ")"
}

// TestHostileProgram: programs implement imports and call exports, of three modules in one file, whatever these are called. The prefixes of two
// differ in nothing but case, and that of the third makes a macro of an export.
func TestHostileProgram(t *testing.T) {
	declared := regexp.MustCompile(`(?m)^int32_t (\w+)\(int32_t\) __asm__\("([^"]+)"\);`)
	fields := regexp.MustCompile(`(?m)^\tint32_t \(\*(\w+)\)\(int32_t\);`)
	for _, c := range toolchains {
		t.Run(c.name, func(t *testing.T) {
			if c.level > 0 {
				testenv.OnlyFull(t, "one of many builds")
			}
			if tool := c.missing(); tool != "" {
				testenv.Missing(t, "no "+tool)
			}
			dir := t.TempDir()
			if err := cruntime.Write(dir); err != nil {
				t.Fatal(err)
			}
			compiler := slices.Concat(c.compiler, c.language, warnings, c.flags)
			link := slices.Concat(c.compiler, c.flags, []string{"program.o", "waot_runtime.o"})
			program := "#include <inttypes.h>\n#include <signal.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <assert.h>\n#include <errno.h>\n"
			imports, calls := "", ""
			for i, prefix := range []string{"lib", "LIB", "UINT64"} {
				addText(t, dir, prefix, c.target, []byte(hostileText()))
				h, err := os.ReadFile(filepath.Join(dir, prefix+".h"))
				if err != nil {
					t.Fatal(err)
				}
				all, slots := declared.FindAllStringSubmatch(string(h), -1), fields.FindAllStringSubmatch(string(h), -1)
				if len(all) != len(hostileImports)+len(hostileExports) || len(slots) != len(hostileExports) {
					t.Fatalf("%s: %d functions, %d fields\n%s", prefix, len(all), len(slots), h)
				}
				program += "#include \"" + prefix + ".h\"\n"
				link = append(link, prefix+".o")
				calls += fmt.Sprintf("\tif (%[1]s_instantiate(&trap) || %[1]s_new(&%[1]s_more, &trap)) return waot_print(&trap, 2), 99;\n", prefix)
				program += fmt.Sprintf("static struct %[1]s_exports %[1]s_more;\n", prefix)
				for k, f := range all[:len(hostileImports)] {
					if i == 0 {
						imports += fmt.Sprintf("int32_t %s(int32_t x) { return x + %d; }\n", f[1], k)
					}
				}
				for k, f := range all[len(hostileImports):] {
					want := 1005 + k%len(hostileImports)
					calls += fmt.Sprintf("\tif (%s(5) != %d || %s_more.%s(5) != %d) return puts(%q), 1;\n", f[1], want, prefix, slots[k][1], want, f[1])
				}
			}
			write(t, dir, "program.c", []byte(program+imports+"int main(void)\n{\n\twaot_trap trap;\n"+calls+"\treturn 7;\n}\n"))
			tool(t, dir, slices.Concat(compiler, []string{"-c", "program.c", "-o", "program.o"})...)
			compileRuntime(t, dir, compiler)
			tool(t, dir, append(link, "-o", "program")...)
			if out, errs, end := c.exec(t, filepath.Join(dir, "program")); end != "exit status 7" {
				t.Errorf("%s: %s%s", end, out, errs)
			}
		})
	}
}
