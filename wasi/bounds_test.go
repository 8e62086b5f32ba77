//go:build linux

package wasi

import (
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/waot-project/waot/internal/abi"
)

func TestTable(t *testing.T) {
	fns := Functions()
	if len(fns) != 46 {
		t.Errorf("%d functions, want 46", len(fns))
	}
	for i := range rows { // which have only names in common with the table of types
		if rows[i].name != abi.WASIFunctions[i].Name {
			t.Errorf("row %d is %s, its type that of %s", i, rows[i].name, abi.WASIFunctions[i].Name)
		}
	}
	for i, f := range fns {
		if i > 0 && fns[i-1].Name >= f.Name {
			t.Errorf("%s is not after %s", f.Name, fns[i-1].Name)
		}
		for _, r := range f.Params {
			if r != 'i' && r != 'l' {
				t.Errorf("%s: parameters %q", f.Name, f.Params)
			}
		}
	}
}

// boundsGuest has one of each kind of descriptor: 3 a directory with "file" and
// the link "ln", 4 the file, 5 a socket pair's end.
func boundsGuest(t *testing.T, file rights) *guest {
	dir := t.TempDir()
	writeFile(t, dir+"/file", "hello")
	a, b := socketPair(t)
	g := newGuest(t, Options{
		Args: []string{"a", "bc"}, Env: []string{"K=V"},
		Preopens:  []Preopen{{Guest: "/", Host: dir}},
		Nanosleep: func(time.Duration) {},
	})
	g.open(3, "file", 0, file)
	d, err := socketDescriptor(a)
	if err != nil {
		t.Fatal(err)
	}
	g.c.insert(d)
	if _, err := b.Write(make([]byte, 4096)); err != nil {
		t.Fatal(err)
	}
	// Only one direction, so that sending works and reading never waits.
	if err := syscall.Shutdown(int(b.Fd()), syscall.SHUT_WR); err != nil {
		t.Fatal(err)
	}
	g.must("path_symlink", "file", 3, "ln")
	return g
}

// TestTypes checks the types of a function as an engine has them.
func TestTypes(t *testing.T) {
	params, results := Types(&Func{Params: "ili", Results: "i"}, 32, 64)
	if !slices.Equal(params, []int{32, 64, 32}) || !slices.Equal(results, []int{32}) {
		t.Error(params, results)
	}
	if params, results = Types(&Func{Params: "l"}, 32, 64); !slices.Equal(params, []int{64}) || len(results) != 0 {
		t.Error(params, results)
	}
}

// TestBounds puts each range that a function touches at the end of memory,
// where it fits exactly, and one byte further, where it must be EFAULT.
func TestBounds(t *testing.T) {
	const pathAt, iovAt, subAt = 0, 64, 128
	for _, tt := range []struct {
		name string
		args []uint64
		ptr  int    // index of the pointer
		size uint32 // bytes at it
	}{
		{"args_get", []uint64{256, 512}, 0, 8},
		{"args_get", []uint64{256, 512}, 1, 5},
		{"args_sizes_get", []uint64{256, 512}, 0, 4},
		{"args_sizes_get", []uint64{256, 512}, 1, 4},
		{"environ_get", []uint64{256, 512}, 0, 4},
		{"environ_get", []uint64{256, 512}, 1, 4},
		{"environ_sizes_get", []uint64{256, 512}, 0, 4},
		{"environ_sizes_get", []uint64{256, 512}, 1, 4},
		{"clock_res_get", []uint64{0, 0}, 1, 8},
		{"clock_time_get", []uint64{1, 0, 0}, 2, 8},
		{"fd_fdstat_get", []uint64{4, 0}, 1, 24},
		{"fd_filestat_get", []uint64{4, 0}, 1, 64},
		{"fd_filestat_get", []uint64{0, 0}, 1, 64},
		{"fd_pread", []uint64{4, iovAt, 1, 0, 0}, 4, 4},
		{"fd_pread", []uint64{4, 0, 2, 0, 512}, 1, 16},
		{"fd_prestat_dir_name", []uint64{3, 0, 1}, 1, 1},
		{"fd_prestat_get", []uint64{3, 0}, 1, 8},
		{"fd_pwrite", []uint64{4, iovAt, 1, 0, 0}, 4, 4},
		{"fd_pwrite", []uint64{4, 0, 2, 0, 512}, 1, 16},
		{"fd_read", []uint64{4, iovAt, 1, 0}, 3, 4},
		{"fd_read", []uint64{4, 0, 2, 512}, 1, 16},
		{"fd_read", []uint64{0, iovAt, 1, 0}, 3, 4},
		{"fd_readdir", []uint64{3, 0, 100, 0, 512}, 1, 100},
		{"fd_readdir", []uint64{3, 512, 100, 0, 0}, 4, 4},
		{"fd_seek", []uint64{4, 0, 0, 0}, 3, 8},
		{"fd_tell", []uint64{4, 0}, 1, 8},
		{"fd_write", []uint64{1, iovAt, 1, 0}, 3, 4},
		{"fd_write", []uint64{1, 0, 2, 512}, 1, 16},
		{"path_create_directory", []uint64{3, 0, 4}, 1, 4},
		{"path_filestat_get", []uint64{3, 0, pathAt, 4, 0}, 4, 64},
		{"path_filestat_get", []uint64{3, 0, 0, 4, 512}, 2, 4},
		{"path_filestat_set_times", []uint64{3, 0, 0, 4, 0, 0, 0}, 2, 4},
		{"path_link", []uint64{3, 0, 0, 4, 3, pathAt, 4}, 2, 4},
		{"path_link", []uint64{3, 0, pathAt, 4, 3, 0, 4}, 5, 4},
		{"path_open", []uint64{3, 0, 0, 4, 0, 0, 0, 0, 512}, 2, 4},
		{"path_open", []uint64{3, 0, pathAt, 4, 0, 0, 0, 0, 0}, 8, 4},
		{"path_readlink", []uint64{3, pathAt + 4, 2, 0, 100, 512}, 3, 100},
		{"path_readlink", []uint64{3, pathAt + 4, 2, 512, 100, 0}, 5, 4},
		{"path_readlink", []uint64{3, 0, 2, 512, 100, 640}, 1, 2},
		{"path_remove_directory", []uint64{3, 0, 4}, 1, 4},
		{"path_rename", []uint64{3, 0, 4, 3, pathAt, 4}, 1, 4},
		{"path_rename", []uint64{3, pathAt, 4, 3, 0, 4}, 4, 4},
		{"path_symlink", []uint64{0, 4, 3, pathAt, 4}, 0, 4},
		{"path_symlink", []uint64{pathAt, 4, 3, 0, 4}, 3, 4},
		{"path_unlink_file", []uint64{3, 0, 4}, 1, 4},
		{"poll_oneoff", []uint64{0, 512, 2, 1024}, 0, 96},
		{"poll_oneoff", []uint64{subAt, 0, 1, 512}, 1, 32},
		{"poll_oneoff", []uint64{subAt, 512, 1, 0}, 3, 4},
		{"random_get", []uint64{0, 100}, 0, 100},
		{"sock_recv", []uint64{5, 0, 2, 0, 512, 640}, 1, 16},
		{"sock_recv", []uint64{5, iovAt, 1, 0, 0, 640}, 4, 4},
		{"sock_recv", []uint64{5, iovAt, 1, 0, 512, 0}, 5, 2},
		{"sock_send", []uint64{5, 0, 2, 0, 512}, 1, 16},
		{"sock_send", []uint64{5, iovAt, 1, 0, 0}, 4, 4},
	} {
		g := boundsGuest(t, rightsRW)
		set := func(end uint32) Errno {
			clear(g.mem)
			copy(g.mem[pathAt:], "fileln")
			binary.LittleEndian.PutUint32(g.mem[iovAt:], 2048)
			binary.LittleEndian.PutUint32(g.mem[iovAt+4:], 16)
			args := append([]uint64(nil), tt.args...)
			args[tt.ptr] = uint64(end - tt.size)
			if tt.size == 4 || tt.size == 2 {
				if at := args[tt.ptr]; at+uint64(tt.size) <= guestMem && tt.name[:4] == "path" {
					copy(g.mem[at:], map[uint32]string{4: "file", 2: "ln"}[tt.size])
				}
			}
			e, err := g.fns[tt.name].Call(g.c, g.mem, args)
			if err != nil {
				t.Fatalf("%s: %v", tt.name, err)
			}
			return Errno(e)
		}
		if e := set(guestMem + 1); e != ErrnoFault {
			t.Errorf("%s argument %d one byte too far: %v", tt.name, tt.ptr, e)
		}
		if e := set(tt.size - 1); e != ErrnoFault { // wraps around
			t.Errorf("%s argument %d at 2^32-1: %v", tt.name, tt.ptr, e)
		}
		if e := set(guestMem); e == ErrnoFault {
			t.Errorf("%s argument %d exactly at the end: %v", tt.name, tt.ptr, e)
		}
		// The buffer inside an iovec.
		if tt.size == 16 {
			binary.LittleEndian.PutUint32(g.mem[iovAt:], guestMem-15)
			args := append([]uint64(nil), tt.args...)
			args[1], args[2] = iovAt, 1
			if e, _ := g.fns[tt.name].Call(g.c, g.mem, args); Errno(e) != ErrnoFault {
				t.Errorf("%s: iovec one byte too far: %v", tt.name, Errno(e))
			}
		}
	}
}

// TestHostileArguments gives each function pairs of extreme arguments.
func TestHostileArguments(t *testing.T) {
	extremes := []uint64{
		0, 1, 3, 4, 1024, guestMem - 8, guestMem - 1, guestMem, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 63, 1<<64 - 1,
	}
	// Without the right to write, or fd_allocate would take gigabytes of disk.
	g := boundsGuest(t, rightFdRead)
	for _, f := range Functions() {
		n := len(f.Params)
		args := make([]uint64, n)
		for i := range n {
			for j := i; j < n; j++ {
				for _, a := range extremes {
					for _, b := range extremes {
						for _, fd := range []uint64{0, 3, 4, 5} {
							if n > 0 {
								clear(args)
								args[0] = fd
								args[i], args[j] = a, b
							}
							g.c.setNonblock()
							_, err := f.Call(g.c, g.mem, args)
							var exit *ExitError
							if err != nil && !errors.As(err, &exit) {
								t.Fatalf("%s%v: %v", f.Name, args, err)
							}
						}
					}
				}
			}
		}
	}
	for _, f := range Functions() {
		if e, err := f.Call(g.c, nil, make([]uint64, len(f.Params))); err != nil && f.Name != "proc_exit" {
			t.Errorf("%s without memory: %v, %v", f.Name, Errno(e), err)
		}
		if e, _ := f.Call(g.c, g.mem, nil); len(f.Params) > 0 && Errno(e) != ErrnoInval {
			t.Errorf("%s without arguments: %v", f.Name, Errno(e))
		}
	}
}

// setNonblock keeps a test from waiting on its descriptors.
func (c *Context) setNonblock() {
	for _, d := range c.fds {
		if d != nil {
			d.flags |= flagNonblock
		}
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }

// TestBoundedWork checks that sizes which a guest chooses cost no host memory.
func TestBoundedWork(t *testing.T) {
	g := newGuest(t, Options{Rand: endless{}, Stdin: endless{}, Stdout: io.Discard})
	g.mem = make([]byte, 64<<20)
	for i := range maxIovecs { // 1,024 times 32 MiB of the same memory: 32 GiB
		binary.LittleEndian.PutUint32(g.mem[8*i:], 1<<20)
		binary.LittleEndian.PutUint32(g.mem[8*i+4:], 32<<20)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	g.want(ErrnoInval, "fd_write", 1, 0, maxIovecs+1, result)
	g.want(ErrnoInval, "fd_write", 1, 0, 1<<29, result)
	g.want(ErrnoInval, "fd_read", 0, 0, 1<<32-1, result)
	g.must("fd_write", 1, 0, maxIovecs, result)
	if n := g.u32(result); n != maxTransfer {
		t.Errorf("wrote %d bytes, want %d", n, maxTransfer)
	}
	g.must("fd_read", 0, 0, maxIovecs, result)
	g.want(ErrnoFault, "random_get", 0, 1<<32-1)
	g.must("random_get", 0, 64<<20)
	g.want(ErrnoInval, "poll_oneoff", 0, 0, 1<<32-1, result)
	g.want(ErrnoInval, "poll_oneoff", 0, 0, 89478486, result) // times 48 wraps to 32
	g.want(ErrnoBadf, "path_create_directory", 9, 0, 1<<26)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("%d bytes allocated", n)
	}
}
