//go:build linux

package wasi

import (
	"encoding/binary"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// withoutStdin calls f while this process's standard input is closed, and says what got its number.
func withoutStdin(t *testing.T, f func()) {
	t.Helper()
	aside, err := syscall.Dup(0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		syscall.Dup3(aside, 0, 0)
		syscall.Close(aside)
	}()
	syscall.Close(0)
	f()
	if to, err := os.Readlink("/proc/self/fd/0"); err == nil {
		t.Errorf("standard input is closed, and 0 is %s", to)
	}
}

// TestClosedStreamNumbers: no file of the guest has the number of a standard stream that the program has closed, to which it, or Go's runtime, may write.
func TestClosedStreamNumbers(t *testing.T) {
	modes(t, func(t *testing.T, walk bool) {
		dir := t.TempDir()
		writeFile(t, dir+"/f", "")
		listener, err := net.Listen("unix", filepath.Join(dir, "socket"))
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		file, err := listener.(*net.UnixListener).File()
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		defer w.Close()
		var g *guest
		withoutStdin(t, func() {
			g = newGuest(t, Options{Stdin: r, Preopens: []Preopen{{Guest: "/", Host: dir}}, Sockets: []*os.File{file}})
		})
		g.c.noOpenat2 = g.c.noOpenat2 || walk
		withoutStdin(t, func() {
			g.open(3, "f", 0, rightFdRead)
			g.open(3, "new", oCreat, rightFdWrite)
			g.open(3, ".", oDirectory, 0)
		})
		conn, err := net.Dial("unix", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		withoutStdin(t, func() { g.must("sock_accept", 4, 0, result) })
		done := make(chan struct{})
		g.c.SetInterrupt(done)
		withoutStdin(t, func() { g.poll([4]uint64{1, 0}, [4]uint64{0, 1, uint64(time.Millisecond)}) })
	})
}

// TestPollFewFiles: poll_oneoff takes more subscriptions than the process may have files open.
func TestPollFewFiles(t *testing.T) {
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	few := old
	if few.Cur = 1024; old.Cur < few.Cur {
		few = old
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	defer syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	w.Write([]byte("abc"))
	g := newGuest(t, Options{Stdin: r, Stdout: w, Preopens: []Preopen{{Guest: "/", Host: t.TempDir()}}})
	empty := uint64(g.open(3, "f", oCreat, rightFdRead))
	le := binary.LittleEndian
	g.mem = make([]byte, 64<<20)
	for _, n := range []int{2000, maxSubscriptions} {
		for i := range n {
			b := g.mem[i*subscriptionSize:][:subscriptionSize]
			clear(b)
			le.PutUint64(b, uint64(i))
			b[8], b[16] = byte(eventFdRead+i%2), byte(i%2)
			if i%4 == 2 {
				b[16] = byte(empty)
			}
		}
		const count = 63 << 20
		g.must("poll_oneoff", 0, 0, n, count)
		if got := g.u32(count); int(got) != n {
			t.Fatalf("%d subscriptions: %d events", n, got)
		}
		for i := range n {
			b := g.mem[i*eventSize:]
			want := event{userdata: uint64(i), typ: byte(eventFdRead + i%2)}
			if i%4 == 0 {
				want.nbytes = 3
			}
			if got := (event{le.Uint64(b), Errno(le.Uint16(b[8:])), b[10], le.Uint64(b[16:]), le.Uint16(b[24:]) != 0}); got != want {
				t.Fatalf("subscription %d: %+v, want %+v", i, got, want)
			}
		}
	}
	for _, n := range []int{maxSubscriptions + 1, 1e6, 1<<32 - 1} {
		g.want(ErrnoInval, "poll_oneoff", 0, 0, n, result)
	}
}
