//go:build linux

package wasi

import (
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"testing"
)

// guest calls functions as a program would. Strings go to the memory below
// scratch, results to result.
type guest struct {
	t    testing.TB
	c    *Context
	mem  []byte
	fns  map[string]Func
	next uint32 // where the next string goes
}

const (
	guestMem = 1 << 16
	result   = guestMem - 64 // an aligned place for results
	buffer   = 1 << 15       // a place for data, 16 KiB
)

func newGuest(t testing.TB, cfg Options) *guest {
	t.Helper()
	c, err := New(&cfg)
	if err != nil {
		t.Fatal(err)
	}
	g := &guest{t: t, c: c, mem: make([]byte, guestMem), fns: map[string]Func{}}
	for _, f := range Functions() {
		g.fns[f.Name] = f
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// str puts s into memory and gives its address and length.
func (g *guest) str(s string) (ptr, n uint64) {
	if int(g.next)+len(s) > buffer {
		g.next = 0
	}
	p := g.next
	copy(g.mem[p:], s)
	g.next += uint32(len(s))
	return uint64(p), uint64(len(s))
}

// call calls a function; a string argument becomes a pointer and a length.
func (g *guest) call(name string, args ...any) Errno {
	g.t.Helper()
	var p []uint64
	for _, a := range args {
		switch a := a.(type) {
		case string:
			ptr, n := g.str(a)
			p = append(p, ptr, n)
		case int:
			p = append(p, uint64(a))
		case uint32:
			p = append(p, uint64(a))
		case uint64:
			p = append(p, a)
		case rights:
			p = append(p, uint64(a))
		default:
			g.t.Fatalf("argument of type %T", a)
		}
	}
	f := g.fns[name]
	if len(p) != len(f.Params) {
		g.t.Fatalf("%s: %d arguments, want %d", name, len(p), len(f.Params))
	}
	e, err := f.Call(g.c, g.mem, p)
	if err != nil {
		g.t.Fatalf("%s: %v", name, err)
	}
	return Errno(e)
}

// must is call for what has to succeed.
func (g *guest) must(name string, args ...any) {
	g.t.Helper()
	g.want(ErrnoSuccess, name, args...)
}

func (g *guest) want(e Errno, name string, args ...any) {
	g.t.Helper()
	if got := g.call(name, args...); got != e {
		g.t.Errorf("%s%v: %v, want %v", name, args, got, e)
	}
}

func (g *guest) u16(p uint32) uint16 { return binary.LittleEndian.Uint16(g.mem[p:]) }
func (g *guest) u32(p uint32) uint32 { return binary.LittleEndian.Uint32(g.mem[p:]) }
func (g *guest) u64(p uint32) uint64 { return binary.LittleEndian.Uint64(g.mem[p:]) }

// iov writes an iovec array over the data buffer, one entry per length, and
// gives its address and count.
func (g *guest) iov(lens ...int) (int, int) {
	const at = buffer + 20<<10
	off := buffer
	for i, n := range lens {
		binary.LittleEndian.PutUint32(g.mem[at+8*i:], uint32(off))
		binary.LittleEndian.PutUint32(g.mem[at+8*i+4:], uint32(n))
		off += n
	}
	return at, len(lens)
}

// open opens a path and gives the descriptor.
func (g *guest) open(dir int, path string, oflags int, r rights) int {
	g.t.Helper()
	g.must("path_open", dir, lookupFollow, path, oflags, r, rightsAll, 0, result)
	return int(g.u32(result))
}

func (g *guest) write(fd int, s string) {
	g.t.Helper()
	copy(g.mem[buffer:], s)
	p, n := g.iov(len(s))
	g.must("fd_write", fd, p, n, result)
	if got := g.u32(result); int(got) != len(s) {
		g.t.Errorf("wrote %d bytes, want %d", got, len(s))
	}
}

func (g *guest) read(fd, n int) string {
	g.t.Helper()
	p, k := g.iov(n)
	g.must("fd_read", fd, p, k, result)
	return string(g.mem[buffer : buffer+g.u32(result)])
}

// names lists a directory with the given buffer size.
func (g *guest) names(fd, size int) []string {
	g.t.Helper()
	var out []string
	for cookie := uint64(0); ; {
		g.must("fd_readdir", fd, buffer, size, cookie, result)
		used := g.u32(result)
		b := g.mem[buffer : buffer+used]
		for len(b) >= direntSize {
			n := binary.LittleEndian.Uint32(b[16:])
			if len(b) < direntSize+int(n) {
				break
			}
			out = append(out, string(b[direntSize:direntSize+n]))
			cookie = binary.LittleEndian.Uint64(b)
			b = b[direntSize+n:]
		}
		if int(used) < size {
			return out
		}
	}
}

func hostFds(t testing.TB) int {
	t.Helper()
	ents, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range ents {
		// The runtime's own poller may come into being meanwhile.
		if to, _ := os.Readlink("/proc/self/fd/" + e.Name()); !strings.HasPrefix(to, "anon_inode:") {
			n++
		}
	}
	return n
}

func writeFile(t testing.TB, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
}

func modes(t *testing.T, f func(t *testing.T, walk bool)) {
	for _, walk := range []bool{false, true} {
		t.Run(fmt.Sprintf("walk=%v", walk), func(t *testing.T) { f(t, walk) })
	}
}
