package cruntime_test

import (
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// exceptionModules are the modules of testdata/exceptions.c. Of one without exceptions that imports the same C function, linkers keep the stub.
var exceptionModules = []string{"heaphides", "exn", "exnuser", "exnmid", "exnstart", "exntop"}

// TestExceptions: exceptions within modules, between them, and between them and C functions; references to them; the end of the stack, threads, and tags. In several builds, with
// sanitizers, too.
func TestExceptions(t *testing.T) {
	builds := append(slices.Clone(toolchains), toolchain{"gcc -fsanitize", compile.TargetX64, []string{"gcc"}, c11,
		[]string{"-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"}, nil, 1})
	for _, c := range builds {
		t.Run(c.name, func(t *testing.T) {
			if c.level > 0 {
				testenv.OnlyFull(t, "one of many builds")
			}
			if n := testenv.Cases("", "", "10000000"); n != "" && c.name == "gcc" {
				c.flags = append(slices.Clone(c.flags), "-DLOOPS="+n)
			}
			if c.name == "gcc" && testenv.Full() {
				if out, errs, end := c.exec(t, c.buildWith(t, compile.Options{ExplicitBounds: true}, "exceptions.c", exceptionModules...)); out != "ok\n" || end != "exit status 0" {
					t.Errorf("with explicit bounds checks: %s: %s%.2000s", end, out, errs)
				}
			}
			if out, errs, end := c.exec(t, c.build(t, "exceptions.c", exceptionModules...)); out != "ok\n" || end != "exit status 0" {
				t.Errorf("%s: %s%.2000s", end, out, errs)
			}
		})
	}
}

// TestUncaught: an exception that nobody tries ends the process, as a trap does, and so does a C function that throws what is no exception, or none any more, also into code
// that catches everything.
func TestUncaught(t *testing.T) {
	c := &toolchains[0]
	program := c.build(t, "exceptions.c", exceptionModules...)
	const uncaught, nothing = `offset 0x[0-9a-f]+: function \d+ \(%s\): uncaught wasm exception`, `a reference is of no exception, or of one that is gone`
	for what, text := range map[string]string{"throw": fmt.Sprintf(uncaught, "throw"), "callback": fmt.Sprintf(uncaught, "calls_bare"), "nothing": nothing, "stale": nothing} {
		out, errs, end := c.exec(t, program, what)
		if want := "^waot: " + text + `\n$`; end != "signal: aborted" || out != "" || !regexp.MustCompile(want).MatchString(errs) {
			t.Errorf("%s: %s, %q, %q", what, end, out, errs)
		}
	}
}
