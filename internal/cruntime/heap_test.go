package cruntime_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// heapModules are the modules of testdata/heap.c.
var heapModules = []string{"heaphides", "heap", "heapuser", "heapcaller"}

// TestFields: objects that C code makes, whose fields it reads and writes, and what it must not do.
func TestFields(t *testing.T) { runInHeapBuilds(t, "fields.c", "fields") }

// TestHidden: frames behind a function of a module without objects are found or missed, never forgotten.
func TestHidden(t *testing.T) { runInHeapBuilds(t, "hidden.c", "hidden", "between", "seen", "hider") }

// TestMerged: a module does not depend on which others import its C functions, and on whether they are instantiated.
func TestMerged(t *testing.T) { runInHeapBuilds(t, "merged.c", "hidden", "seen", "merged") }

// TestHeap: objects in frames on both sides of C functions, in what the program itself has, in handles and exceptions, and in two modules and further instances, with a collection for each object. In several builds, with sanitizers, too.
func TestHeap(t *testing.T) { runInHeapBuilds(t, "heap.c", heapModules...) }

// runInHeapBuilds runs a program, which prints "ok", in several builds on both machines.
func runInHeapBuilds(t *testing.T, source string, modules ...string) {
	builds := append(slices.Clone(toolchains), toolchain{"gcc -fsanitize", compile.TargetX64, []string{"gcc"}, c11,
		[]string{"-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"}, nil, 1})
	for _, c := range builds {
		t.Run(c.name, func(t *testing.T) {
			if c.level > 0 { // the collector in C is tried on the other machine by TestHeap of internal/program
				testenv.OnlyFull(t, "one of many builds")
			}
			if out, errs, end := c.exec(t, c.build(t, source, modules...)); out != "ok\n" || end != "exit status 0" {
				t.Errorf("%s: %s%.2000s", end, out, errs)
			}
		})
	}
}

// TestHeapDies: what nobody tries ends the process with a message, and so does a reference to no object.
func TestHeapDies(t *testing.T) {
	c := &toolchains[0]
	program := c.build(t, "heap.c", heapModules...)
	for what, text := range map[string]string{"full": `offset 0x[0-9a-f]+: function \d+ \(fill\): wasm trap: heap exhausted`, "corrupt": `the heap is corrupt: a reference that is not to the space of objects: 0x10`} {
		out, errs, end := c.exec(t, program, what)
		if want := "^waot: " + text + `\n$`; end != "signal: aborted" || out != "" || !regexp.MustCompile(want).MatchString(errs) {
			t.Errorf("%s: %s, %q, %q", what, end, out, errs)
		}
	}
}
