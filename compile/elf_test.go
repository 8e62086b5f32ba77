package compile_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/sign"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// tool finds a program that the test needs. Without it the test is skipped, but on
// the build server it fails.
func tool(t *testing.T, name string) string {
	t.Helper()
	p, err := exec.LookPath(name)
	if err == nil {
		return p
	}
	testenv.Missing(t, name+" is not installed")
	return ""
}

func runTool(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(tool(t, name), args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// userModule imports functions that the sample module exports.
func userModule() *wasmModule {
	m := &wasmModule{}
	add := m.importFunc("lib", "add", types(i32, i32), types(i32))
	fib := m.importFunc("lib", "fib", types(i32), types(i32))
	sum := m.importFunc("lib", "sum11", types(i64, i32, i64, i32, i64, i32, i64, i32, i64, i32, i64), types(i64))
	m.export("sum", 0, sum)
	m.exportFn("twice", types(i32, i32), types(i32), nil,
		cat([]byte{0x20, 0, 0x20, 1, 0x10}, leb(add), []byte{0x41, 2, 0x6c})...)
	m.tables = append(m.tables, cat([]byte{funcref, 0}, leb(1)))
	m.elems = append(m.elems, cat([]byte{0, 0x41, 0, 0x0b}, leb(1), leb(fib)))
	m.exportFn("fib", types(i32), types(i32), nil,
		cat([]byte{0x20, 0, 0x41, 0, 0x11}, leb(m.typ(types(i32), types(i32))), []byte{0})...)
	return m
}

func writeObjects(t *testing.T, target string, level opt.Level) (dir, lib, user string) {
	t.Helper()
	dir = t.TempDir()
	lib, user = filepath.Join(dir, "lib.o"), filepath.Join(dir, "user.o")
	for name, m := range map[string]*wasmModule{"lib": sampleModule(), "user": userModule()} {
		b := elf(t, build(t, m.bytes(), compile.Options{Target: target, Name: name, OptLevel: level}))
		if err := os.WriteFile(filepath.Join(dir, name+".o"), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir, lib, user
}

// toolchain is where programs for a target come from and how they run.
type toolchain struct {
	target, prefix string
	run            []string // in front of a program
	// modes are options of the compiler that links the driver.
	modes [][]string
	frame string // the address of frames as readelf shows it
	bad   string // what objdump says of something that is no instruction
}

func toolchains() []toolchain {
	pie, fixed := []string{"-pie", "-fPIE"}, []string{"-no-pie", "-fno-pie"}
	return []toolchain{
		{compile.TargetX64, "", nil, [][]string{pie, fixed}, "rbp+16", "(bad)"},
		{compile.TargetA64, "aarch64-linux-gnu-", []string{"qemu-aarch64"},
			[][]string{{"-static-pie", "-fPIE"}, {"-static", "-no-pie", "-fno-pie"}}, "x29+16", "undefined\n"},
	}
}

// each runs a test for each toolchain.
func each(t *testing.T, f func(t *testing.T, c toolchain)) {
	for _, c := range toolchains() {
		t.Run(c.target, func(t *testing.T) {
			if runtime.GOARCH != "amd64" && c.prefix == "" {
				t.Skip("the compiler of this machine is for another target")
			}
			f(t, c)
		})
	}
}

// warnings of the driver's compiler.
var warnings = []string{"-O1", "-Wall", "-Wextra", "-Wno-builtin-declaration-mismatch", "-Wl,--fatal-warnings"}

func (c *toolchain) driver(t *testing.T, what string, exe string, cc, run []string) {
	t.Helper()
	if out := runTool(t, c.prefix+"gcc", slices.Concat(warnings, []string{"-o", exe, "testdata/driver.c"}, cc)...); out != "" {
		t.Errorf("%s: %s", what, out)
	}
	run = append(slices.Clone(run), exe)
	out, err := exec.Command(tool(t, run[0]), run[1:]...).CombinedOutput()
	if err != nil || string(out) != "ok\n" {
		t.Errorf("%s: %v\n%s", what, err, out)
	}
}

// TestDriver links two objects with a program in C, which checks everything that C can
// see, and runs it.
func TestDriver(t *testing.T) {
	each(t, func(t *testing.T, c toolchain) {
		tool(t, c.prefix+"gcc")
		for _, level := range []opt.Level{opt.O0, opt.O1} {
			dir, lib, user := writeObjects(t, c.target, level)
			for name, objs := range map[string][]string{"lib first": {lib, user}, "user first": {user, lib}} {
				for _, mode := range c.modes {
					c.driver(t, fmt.Sprintf("%s %s O%d", name, mode, level), filepath.Join(dir, "driver"), append(objs, mode...), c.run)
				}
			}
		}
	})
}

// TestLandingPads runs AArch64 objects in a shared library whose pages allow indirect branches to landing pads only.
func TestLandingPads(t *testing.T) {
	c := toolchains()[1]
	tool(t, c.prefix+"gcc")
	dir, lib, user := writeObjects(t, c.target, opt.O1)
	so := filepath.Join(dir, "libboth.so")
	runTool(t, c.prefix+"gcc", "-shared", "-nostdlib", "-Wl,-z,force-bti,--fatal-warnings", "-o", so, lib, user)
	if out := runTool(t, c.prefix+"readelf", "-n", so); !strings.Contains(out, "AArch64 feature: BTI") {
		t.Fatal(out)
	}
	c.driver(t, "shared", filepath.Join(dir, "driver"), []string{"-DCHECK_BTI", so, "-Wl,-rpath," + dir},
		[]string{c.run[0], "-cpu", "max", "-L", "/usr/aarch64-linux-gnu"})
}

// TestTools checks that the usual tools read the objects without complaint.
func TestTools(t *testing.T) { each(t, testTools) }

func testTools(t *testing.T, c toolchain) {
	dir, lib, user := writeObjects(t, c.target, opt.O1)
	for _, file := range []string{lib, user} {
		for _, args := range [][]string{{"-aW"}, {"--debug-dump=frames"}, {"-nW"}} {
			out := runTool(t, c.prefix+"readelf", append(args, file)...)
			if s := strings.ToLower(out); strings.Contains(s, "warning") || strings.Contains(s, "error") || strings.Contains(s, "corrupt") {
				t.Errorf("readelf %v %s:\n%s", args, file, out)
			}
		}
		out := runTool(t, c.prefix+"objdump", "-d", "-r", file)
		if strings.Contains(out, c.bad) {
			t.Errorf("objdump %s:\n%s", file, out)
		}
	}
	frames := runTool(t, c.prefix+"readelf", "--debug-dump=frames-interp", lib)
	if !strings.Contains(frames, c.frame) {
		t.Errorf("frames:\n%s", frames)
	}
	symbols := runTool(t, c.prefix+"readelf", "-sW", lib)
	for _, want := range []string{"lib..fib.waot", "lib..fib.desc", "lib..mem.memory", "lib..tab.table", "lib..counter.global", "lib.init",
		"lib.instance", "lib.object", ".fibonacci_number", "lib..unreachableZ21", "env..log.waot"} {
		if !strings.Contains(symbols, want) {
			t.Errorf("no symbol %s", want)
		}
	}
	both := filepath.Join(dir, "both.o")
	if out := runTool(t, c.prefix+"ld", "-r", "--fatal-warnings", "-o", both, lib, user); out != "" {
		t.Error(out)
	}
	if out := runTool(t, c.prefix+"readelf", "-aW", both); strings.Contains(strings.ToLower(out), "warning") {
		t.Error(out)
	}
}

// TestSignedObjects: linkers and tools take signed objects as they take others; what they write is not signed.
func TestSignedObjects(t *testing.T) {
	k, err := sign.NewMAC(bytes.Repeat([]byte{7}, sign.MinSecret))
	if err != nil {
		t.Fatal(err)
	}
	each(t, func(t *testing.T, c toolchain) {
		tool(t, c.prefix+"gcc")
		dir, lib, user := writeObjects(t, c.target, opt.O1)
		for _, file := range []string{lib, user} {
			b, err := os.ReadFile(file)
			if err == nil {
				b, err = k.Sign(b)
			}
			if err == nil {
				err = os.WriteFile(file, b, 0o666)
			}
			if err != nil {
				t.Fatal(err)
			}
			if out := runTool(t, c.prefix+"readelf", "-aW", file); strings.Contains(strings.ToLower(out), "warning") {
				t.Error(out)
			}
		}
		c.driver(t, "signed", filepath.Join(dir, "driver"), append([]string{lib, user}, c.modes[0]...), c.run)
		archive := filepath.Join(dir, "libboth.a")
		runTool(t, c.prefix+"ar", "rcs", archive, lib, user)
		c.driver(t, "signed, in an archive", filepath.Join(dir, "driver"), append([]string{archive}, c.modes[0]...), c.run)
		out := filepath.Join(dir, "out.o")
		for _, args := range [][]string{{"strip", "-g", "-o", out, lib}, {"objcopy", lib, out}, {"ld", "-r", "-o", out, lib, user}} {
			runTool(t, c.prefix+args[0], args[1:]...)
			b, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := k.Verify(b); err == nil {
				t.Errorf("%s keeps the signature", args[0])
			}
		}
	})
}
