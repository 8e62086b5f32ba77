//go:build linux

package program_test

import (
	"bytes"
	"debug/elf"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/program"
)

// withoutMremap is the variable with the program that a child of a test becomes, after the system forbids it to move mappings.
const withoutMremap = "WAOT_TEST_WITHOUT_MREMAP"

// TestInitialMemory: a program whose memory is mapped from its file finds there what its segments say, and zeros, as one whose memory is
// copied. It can write to all of it and grow it; so can one that the linker's, or another's, tools have stripped, and one that may not move mappings.
func TestInitialMemory(t *testing.T) {
	const pages = 30 // of 64 KiB
	want := make([]byte, pages<<16)
	r := rand.New(rand.NewPCG(1, 2))
	var segments strings.Builder
	put := func(at, n int) {
		fmt.Fprintf(&segments, "(data (i32.const %d) \"", at)
		for i := range n {
			want[at+i] = byte(1 + r.IntN(255))
			fmt.Fprintf(&segments, "\\%02x", want[at+i])
		}
		segments.WriteString("\")\n")
	}
	put(70_001, 900_000)
	put(1_200_003, 500_000)
	put(900_000, 100_000) // over the end of the first one
	put(1_500_000, 3)     // within the second one
	// _start writes its memory, all of a new page, and the memory after it has changed each byte, in place.
	module := wasm(t, fmt.Sprintf(`(module
	  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
	  (memory (export "memory") %d)
	  %s
	  (func $show (param $at i32) (param $n i32)
	    (i32.store (i32.const 16) (local.get $at))
	    (i32.store (i32.const 20) (local.get $n))
	    (br_if 0 (i32.eqz (call $write (i32.const 1) (i32.const 16) (i32.const 1) (i32.const 24))))
	    unreachable)
	  (func (export "_start") (local $i i32)
	    (call $show (i32.const 65536) (i32.const %[3]d))
	    (call $show (i32.shl (memory.grow (i32.const 1)) (i32.const 16)) (i32.const 65536))
	    (local.set $i (i32.const 65536))
	    (loop $next
	      (i32.store8 (local.get $i) (i32.xor (i32.load8_u (local.get $i)) (i32.const 255)))
	      (br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const %[4]d))))
	    (call $show (i32.const 65536) (i32.const %[3]d))))`, pages, segments.String(), (pages-1)<<16, pages<<16))
	output := append(bytes.Clone(want[1<<16:]), make([]byte, 1<<16)...)
	for _, c := range want[1<<16:] {
		output = append(output, ^c)
	}
	for _, target := range compile.Targets() {
		m := machine(t, target)
		file := build(t, target, module, new(program.Options))
		f, err := elf.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		s, info := f.Section(".waot.memory"), f.Section(".rodata")
		if s == nil || s.Addr%map[string]uint64{"x86-64-linux": 4 << 10, "aarch64-linux": 64 << 10}[target] != 0 || info.Size > 64<<10 {
			t.Errorf("%s: %v, constants of %d bytes", target, s, info.Size)
		}
		f.Close()
		check := func(what string, cmd *exec.Cmd) {
			t.Helper()
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			got, err := cmd.Output()
			if err != nil || !bytes.Equal(got, output) {
				at := 0
				for at < min(len(got), len(output)) && got[at] == output[at] {
					at++
				}
				t.Errorf("%s, %s: %v, %d bytes of %d, of which %d are right\n%s", target, what, err, len(got), len(output), at, stderr.Bytes())
			}
		}
		check("as built", m.Command(t.Context(), file))
		check("stripped", m.Command(t.Context(), build(t, target, module, &program.Options{Stripped: true})))
		if strip, err := exec.LookPath(map[string]string{"x86-64-linux": "x86_64-linux-gnu-strip", "aarch64-linux": "aarch64-linux-gnu-strip"}[target]); err == nil {
			stripped := filepath.Join(t.TempDir(), "stripped")
			if out, err := exec.Command(strip, "-o", stripped, file).CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			check("after strip", m.Command(t.Context(), stripped))
		}
		if target == compile.HostTarget() {
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), withoutMremap+"="+file)
			check("without mremap", cmd)
		}
	}
}

func TestMain(m *testing.M) {
	if file := os.Getenv(withoutMremap); file != "" {
		fmt.Fprintln(os.Stderr, becomeWithoutMremap(file))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// becomeWithoutMremap makes this process one of another program, which may not move mappings. It returns only if that fails.
func becomeWithoutMremap(file string) error {
	runtime.LockOSThread()
	const (
		noNewPrivileges = 38 // prctl's options
		setSeccomp      = 22
		filterMode      = 2
		load            = 0x20 // a word; classic BPF
		jumpIfEqual     = 0x15
		end             = 0x06
		allow           = 0x7fff0000
		fail            = 0x00050000
	)
	filter := []syscall.SockFilter{
		{Code: load}, // the number of the call
		{Code: jumpIfEqual, Jf: 1, K: syscall.SYS_MREMAP},
		{Code: end, K: fail | uint32(syscall.EPERM)},
		{Code: end, K: allow},
	}
	prog := syscall.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if _, _, err := syscall.RawSyscall(syscall.SYS_PRCTL, noNewPrivileges, 1, 0); err != 0 {
		return err
	}
	if _, _, err := syscall.RawSyscall(syscall.SYS_PRCTL, setSeccomp, filterMode, uintptr(unsafe.Pointer(&prog))); err != 0 {
		return err
	}
	return syscall.Exec(file, []string{file}, nil)
}
