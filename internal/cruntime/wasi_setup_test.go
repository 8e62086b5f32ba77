//go:build linux

package cruntime_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/waot-project/waot/internal/cruntime"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/wasi"
)

// TestWASISetup opens and closes WASI of an instance, with good and bad configurations.
func TestWASISetup(t *testing.T) {
	for _, w := range wasiTargets() {
		t.Run(w.name, func(t *testing.T) {
			if w.prefix != "" {
				testenv.OnlyFull(t, "programs of another machine")
			}
			w.missing(t)
			exe := w.link(t, callsModule(), w.wasiRuntime(t, "setup.c"))
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "file"), []byte("hello"), 0o666); err != nil {
				t.Fatal(err)
			}
			args := append(slices.Clone(w.run), exe, dir)
			if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil || string(out) != "ok\n" {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// errnoWriter gives an error number of Linux.
type errnoWriter struct{ e syscall.Errno }

func (w errnoWriter) Write([]byte) (int, error) { return 0, w.e }

// TestWASIErrnos compares the table of error numbers with that of package wasi.
func TestWASIErrnos(t *testing.T) {
	source := string(cruntime.Source())
	_, table, ok := strings.Cut(source, "wasi_errnos[] = {")
	table, _, ok2 := strings.Cut(table, "};")
	if !ok || !ok2 {
		t.Fatal("no table")
	}
	var got []int
	for _, s := range regexp.MustCompile(`(\d+),`).FindAllStringSubmatch(table, -1) {
		n, err := strconv.Atoi(s[1])
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, n)
	}
	i := slices.IndexFunc(wasi.Functions(), func(f wasi.Func) bool { return f.Name == "fd_write" })
	mem := make([]byte, 64)
	binary.LittleEndian.PutUint32(mem[4:], 1)
	for e := 1; e < 200; e++ {
		c, err := wasi.New(&wasi.Options{Stdout: errnoWriter{syscall.Errno(e)}})
		if err != nil {
			t.Fatal(err)
		}
		want, err := wasi.Functions()[i].Call(c, mem, []uint64{1, 0, 1, 32})
		c.Close()
		have := int(wasi.ErrnoIo)
		if e < len(got) {
			have = got[e]
		}
		if err != nil || have != int(want) {
			t.Errorf("%v: %v in C, %v in Go (%v)", syscall.Errno(e), wasi.Errno(have), wasi.Errno(want), err)
		}
	}
}

// maxWASISize bounds the bytes of WASI's code and tables where compilers save space. Executables of 64 KiB must have room for more.
const maxWASISize = 24 << 10

// TestWASISource compiles the source without warnings, as C and as C++, and looks at what it needs and at its size.
func TestWASISource(t *testing.T) {
	dir := t.TempDir()
	if err := cruntime.Write(dir); err != nil {
		t.Fatal(err)
	}
	type compiler struct {
		args []string
		full bool
	}
	compilers := []compiler{
		{[]string{"gcc", "-std=c11", "-Os"}, false}, {[]string{"clang-19", "-std=c11", "-Os"}, true}, {[]string{"aarch64-linux-gnu-gcc", "-std=c11", "-Os"}, true},
	}
	for _, o := range []string{"-O0", "-O2"} {
		for _, lang := range [][]string{{"-std=c11"}, {"-x", "c++", "-std=c++17"}, {"-x", "c++", "-std=c++20"}} {
			for _, cc := range []string{"gcc", "clang-19"} {
				compilers = append(compilers, compiler{append([]string{cc, o}, lang...), true})
			}
		}
	}
	libc := []string{"memcpy", "memmove", "memset", "memcmp"}
	for _, c := range compilers {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			if c.full {
				testenv.OnlyFull(t, "one more compiler")
			}
			if _, err := exec.LookPath(c.args[0]); err != nil {
				testenv.Missing(t, err.Error())
			}
			obj := filepath.Join(dir, "runtime.o")
			args := slices.Concat(c.args[1:], []string{"-ffreestanding", "-fPIE", "-Wall", "-Wextra", "-Werror", "-c", "-o", obj, filepath.Join(dir, cruntime.SourceFile)})
			if out, err := exec.Command(c.args[0], args...).CombinedOutput(); err != nil || len(out) != 0 {
				t.Fatalf("%v\n%s", err, out)
			}
			out, err := exec.Command("nm", "-S", obj).Output()
			if err != nil {
				t.Fatal(err)
			}
			size, functions := uint64(0), 0
			for line := range strings.Lines(string(out)) {
				f := strings.Fields(line)
				name := f[len(f)-1]
				switch {
				case f[0] == "U" && !slices.Contains(libc, name) && name[0] != '_': // what begins so is the compiler's own
					t.Errorf("needs %s", name)
				case len(f) == 4 && strings.Contains(name, "wasi") && !strings.ContainsAny(f[2], "bB"):
					n, err := strconv.ParseUint(f[1], 16, 64)
					if err != nil {
						t.Fatal(err)
					}
					size += n
					if f[2] == "T" && strings.HasPrefix(name, "wasi_snapshot_preview1..") {
						functions++
					}
				}
			}
			if functions != len(wasi.Functions()) {
				t.Errorf("%d functions, want %d", functions, len(wasi.Functions()))
			}
			if slices.Contains(c.args, "-Os") && size > maxWASISize {
				t.Errorf("%d bytes of WASI, want at most %d", size, maxWASISize)
			}
			t.Log(fmt.Sprint(size, " bytes of WASI"))
		})
	}
}
