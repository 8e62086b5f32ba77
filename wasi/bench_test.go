//go:build linux

package wasi

import (
	"crypto/rand"
	"encoding/binary"
	"io"
	"os"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// benchGuest has a file of 64 KiB as descriptor 3's "file", opened as 4, and
// /dev/null as standard output.
func benchGuest(b *testing.B) *guest {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { null.Close() })
	dir := b.TempDir()
	writeFile(b, dir+"/file", string(make([]byte, 64<<10)))
	g := newGuest(b, Options{
		Args: []string{"prog", "-v", "x"}, Stdout: null, Stderr: io.Discard,
		Preopens: []Preopen{{Guest: "/", Host: dir}},
	})
	g.open(3, "file", 0, rightsRW)
	le := binary.LittleEndian
	g.mem[4096+16] = clockMonotonic // a subscription due at once
	le.PutUint32(g.mem[64:], 1024)  // one iovec of 64 bytes at 64
	le.PutUint32(g.mem[68:], 64)
	le.PutUint32(g.mem[128:], 1024) // two at 128
	le.PutUint32(g.mem[132:], 32)
	le.PutUint32(g.mem[136:], 2048)
	le.PutUint32(g.mem[140:], 32)
	return g
}

// BenchmarkCalls measures a call as an engine makes it, beside what the host
// itself would do ("host"), and opening and closing a file.
func BenchmarkCalls(b *testing.B) {
	for _, bb := range []struct {
		name string
		args []uint64
	}{
		{"clock_time_get", []uint64{0, 0, 512}},
		{"clock_time_get", []uint64{1, 0, 512}},
		{"args_sizes_get", []uint64{512, 516}},
		{"fd_write", []uint64{1, 64, 1, 512}},
		{"fd_write", []uint64{1, 128, 2, 512}},
		{"fd_write", []uint64{2, 64, 1, 512}},
		{"fd_pread", []uint64{4, 64, 1, 0, 512}},
		{"fd_read", []uint64{4, 64, 1, 512}},
		{"fd_seek", []uint64{4, 0, 0, 512}},
		{"fd_fdstat_get", []uint64{4, 512}},
		{"fd_filestat_get", []uint64{4, 512}},
		{"path_filestat_get", []uint64{3, 0, 0, 4, 512}},
		{"random_get", []uint64{512, 16}},
		{"poll_oneoff", []uint64{4096, 5120, 1, 512}},
		{"sched_yield", nil},
	} {
		name := bb.name
		switch {
		case name == "clock_time_get" && bb.args[0] == 0:
			name += "/realtime"
		case name == "clock_time_get":
			name += "/monotonic"
		case name == "fd_write" && bb.args[0] == 2:
			name += "/writer"
		case name == "fd_write" && bb.args[2] == 2:
			name += "/two"
		case name == "fd_write":
			name += "/null"
		}
		b.Run(name, func(b *testing.B) {
			g := benchGuest(b)
			copy(g.mem, "file")
			call := g.fns[bb.name].Call
			b.ReportAllocs()
			for b.Loop() {
				if e, err := call(g.c, g.mem, bb.args); e != 0 || err != nil {
					b.Fatal(Errno(e), err)
				}
			}
		})
	}
	b.Run("path_open and fd_close", func(b *testing.B) {
		g := benchGuest(b)
		copy(g.mem, "file")
		open, shut := g.fns["path_open"].Call, g.fns["fd_close"].Call
		args := []uint64{3, 1, 0, 4, 0, uint64(rightFdRead), 0, 0, 512}
		b.ReportAllocs()
		for b.Loop() {
			if e, err := open(g.c, g.mem, args); e != 0 || err != nil {
				b.Fatal(Errno(e), err)
			}
			if e, err := shut(g.c, g.mem, []uint64{uint64(g.u32(512))}); e != 0 || err != nil {
				b.Fatal(Errno(e), err)
			}
		}
	})
	for name, f := range hostCalls(b) {
		b.Run("host/"+name, func(b *testing.B) {
			for b.Loop() {
				f()
			}
		})
	}
}

func hostCalls(b *testing.B) map[string]func() {
	null, err := syscall.Open(os.DevNull, syscall.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { syscall.Close(null) })
	name := b.TempDir() + "/file"
	writeFile(b, name, string(make([]byte, 64<<10)))
	file, err := syscall.Open(name, syscall.O_RDONLY, 0)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { syscall.Close(file) })
	buf := make([]byte, 64)
	start := time.Now()
	return map[string]func(){
		"now":   func() { time.Now().UnixNano() },
		"since": func() { time.Since(start) },
		"null":  func() { syscall.Write(null, buf) },
		"raw_null": func() {
			syscall.Syscall(syscall.SYS_WRITE, uintptr(null), uintptr(unsafe.Pointer(&buf[0])), 64)
		},
		"pread":  func() { syscall.Pread(file, buf, 0) },
		"read":   func() { syscall.Read(file, buf) },
		"random": func() { rand.Read(buf[:16]) },
		"open and close": func() {
			if fd, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0); err == nil {
				syscall.Close(fd)
			}
		},
	}
}
