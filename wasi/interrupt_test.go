//go:build linux

package wasi

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// openTerminal gives both ends of a new terminal; the guest's is not made
// non-blocking.
func openTerminal(t testing.TB) (host, guest *os.File) {
	t.Helper()
	m, err := syscall.Open("/dev/ptmx", syscall.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
	if err != nil {
		t.Skip("no terminals:", err)
	}
	var n, unlock int32
	for _, c := range [][2]uintptr{{0x40045431, uintptr(unsafe.Pointer(&unlock))}, {0x80045430, uintptr(unsafe.Pointer(&n))}} {
		if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, uintptr(m), c[0], c[1]); e != 0 {
			t.Skip("no terminals:", e)
		}
	}
	s, err := syscall.Open(fmt.Sprintf("/dev/pts/%d", n), syscall.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
	if err != nil {
		syscall.Close(m)
		t.Skip("no terminals:", err)
	}
	host, guest = os.NewFile(uintptr(m), "host"), os.NewFile(uintptr(s), "guest")
	t.Cleanup(func() { host.Close(); guest.Close() })
	return host, guest
}

// blockingPipe is a pipe whose open files block, as those of other programs do.
func blockingPipe(t testing.TB) (r, w *os.File) {
	t.Helper()
	var p [2]int
	if err := syscall.Pipe2(p[:], syscall.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	r, w = os.NewFile(uintptr(p[0]), "r"), os.NewFile(uintptr(p[1]), "w")
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

func mkfifo(t testing.TB, name string) {
	t.Helper()
	if err := syscall.Mkfifo(name, 0o666); err != nil {
		t.Skip(err)
	}
}

// waitCases are calls that wait for ever. Each setup gives a guest and the
// call's arguments.
var waitCases = []struct {
	name, call string
	setup      func(t testing.TB) (*guest, []uint64)
}{
	{"clock", "poll_oneoff", func(t testing.TB) (*guest, []uint64) {
		g := newGuest(t, Options{})
		g.subscribe(0, eventClock, clockMonotonic, 1<<62)
		return g, []uint64{0, 1024, 1, result}
	}},
	{"pipe", "poll_oneoff", func(t testing.TB) (*guest, []uint64) {
		r, _ := blockingPipe(t)
		g := newGuest(t, Options{Stdin: r})
		g.subscribe(0, eventFdRead, 0, 0)
		return g, []uint64{0, 1024, 1, result}
	}},
	{"pipe and clock", "poll_oneoff", func(t testing.TB) (*guest, []uint64) {
		r, _ := blockingPipe(t)
		g := newGuest(t, Options{Stdin: r})
		g.subscribe(0, eventFdRead, 0, 0)
		g.subscribe(1, eventClock, clockRealtime, 1<<40)
		return g, []uint64{0, 1024, 2, result}
	}},
	{"pipe", "fd_read", func(t testing.TB) (*guest, []uint64) {
		r, _ := blockingPipe(t)
		return transferGuest(t, Options{Stdin: r}, 0, 100)
	}},
	{"Go's pipe", "fd_read", func(t testing.TB) (*guest, []uint64) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close(); w.Close() })
		return transferGuest(t, Options{Stdin: r}, 0, 100)
	}},
	{"terminal", "fd_read", func(t testing.TB) (*guest, []uint64) {
		_, s := openTerminal(t)
		return transferGuest(t, Options{Stdin: s}, 0, 100)
	}},
	{"socket", "fd_read", func(t testing.TB) (*guest, []uint64) {
		return transferGuest(t, Options{Sockets: []*os.File{waitingSocket(t, false)}}, 3, 100)
	}},
	{"FIFO", "fd_read", func(t testing.TB) (*guest, []uint64) {
		dir := t.TempDir()
		mkfifo(t, dir+"/fifo")
		g, args := transferGuest(t, Options{Preopens: []Preopen{{Guest: "/", Host: dir}}}, 4, 100)
		g.c.SetInterrupt(make(chan struct{}))
		g.open(3, "fifo", 0, rightFdRead)
		return g, args
	}},
	{"FIFO", "path_open", func(t testing.TB) (*guest, []uint64) {
		dir := t.TempDir()
		mkfifo(t, dir+"/fifo")
		g := newGuest(t, Options{Preopens: []Preopen{{Guest: "/", Host: dir}}})
		copy(g.mem, "fifo")
		return g, []uint64{3, 1, 0, 4, 0, uint64(rightFdWrite), 0, 0, result}
	}},
	{"pipe", "fd_write", func(t testing.TB) (*guest, []uint64) {
		_, w := blockingPipe(t)
		return transferGuest(t, Options{Stdout: w}, 1, 1<<20)
	}},
	{"terminal", "fd_write", func(t testing.TB) (*guest, []uint64) {
		_, s := openTerminal(t)
		return transferGuest(t, Options{Stdout: s}, 1, 1<<20)
	}},
	{"socket", "fd_write", func(t testing.TB) (*guest, []uint64) {
		return transferGuest(t, Options{Sockets: []*os.File{waitingSocket(t, false)}}, 3, 4<<20)
	}},
	{"socket", "sock_recv", func(t testing.TB) (*guest, []uint64) {
		g, args := transferGuest(t, Options{Sockets: []*os.File{waitingSocket(t, false)}}, 3, 100)
		return g, []uint64{3, args[1], 1, 0, result, result + 8}
	}},
	{"socket for all", "sock_recv", func(t testing.TB) (*guest, []uint64) {
		g, args := transferGuest(t, Options{Sockets: []*os.File{waitingSocket(t, true)}}, 3, 100)
		return g, []uint64{3, args[1], 1, recvWaitall, result, result + 8}
	}},
	{"socket", "sock_send", func(t testing.TB) (*guest, []uint64) {
		g, args := transferGuest(t, Options{Sockets: []*os.File{waitingSocket(t, false)}}, 3, 4<<20)
		return g, []uint64{3, args[1], 1, 0, result}
	}},
	{"listener", "sock_accept", func(t testing.TB) (*guest, []uint64) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Skip(err)
		}
		t.Cleanup(func() { l.Close() })
		f, err := l.(*net.TCPListener).File()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		syscall.SetNonblock(int(f.Fd()), false)
		g := newGuest(t, Options{Sockets: []*os.File{f}})
		return g, []uint64{3, 0, result}
	}},
}

// waitingSocket is an end of a pair without data, or with too little.
func waitingSocket(t testing.TB, some bool) *os.File {
	p, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	a, b := os.NewFile(uintptr(p[0]), "a"), os.NewFile(uintptr(p[1]), "b")
	t.Cleanup(func() { a.Close(); b.Close() })
	if some {
		b.Write(make([]byte, 10))
	}
	return a
}

// transferGuest has a memory of 8 MiB, and the arguments of a transfer of n
// bytes on fd.
func transferGuest(t testing.TB, cfg Options, fd, n int) (*guest, []uint64) {
	g := newGuest(t, cfg)
	g.mem = make([]byte, 8<<20)
	const at = 256
	binary.LittleEndian.PutUint32(g.mem[at:], 1<<20)
	binary.LittleEndian.PutUint32(g.mem[at+4:], uint32(n))
	return g, []uint64{uint64(fd), at, 1, result}
}

// subscribe writes subscription i of an array at 0.
func (g *guest) subscribe(i, typ, what int, timeout uint64) {
	b := g.mem[i*subscriptionSize:]
	clear(b[:subscriptionSize])
	b[8] = byte(typ)
	binary.LittleEndian.PutUint32(b[16:], uint32(what))
	binary.LittleEndian.PutUint64(b[24:], timeout)
}

// TestInterrupt ends each kind of waiting, in both ways of trying a transfer,
// and then lets the same Context wait once more.
func TestInterrupt(t *testing.T) {
	for _, tt := range waitCases {
		for _, how := range []attempt{attemptUnknown, attemptReady} {
			if how == attemptReady && (!strings.HasPrefix(tt.call, "fd_") || tt.name == "socket" || tt.name == "FIFO") {
				continue
			}
			t.Run(fmt.Sprintf("%s/%s/%d", tt.call, tt.name, how), func(t *testing.T) {
				g, args := tt.setup(t)
				fds := hostFds(t)
				call := g.fns[tt.call].Call
				var took, others []time.Duration // until the call ends, and until another goroutine wakes
				for round := range 8 {
					done := make(chan struct{})
					g.c.SetInterrupt(done)
					if d := g.c.fds[args[0]%uint64(len(g.c.fds))]; how == attemptReady && d != nil {
						d.chooseAttempt(true)
					}
					closed := make(chan time.Time, 1)
					go func() {
						if round%2 == 0 {
							time.Sleep(time.Millisecond)
						}
						closed <- time.Now()
						close(done)
					}()
					woken := make(chan time.Time, 1)
					go func() {
						<-done
						woken <- time.Now()
					}()
					_, err := call(g.c, g.mem, args)
					now := time.Now()
					if !errors.Is(err, ErrInterrupted) {
						t.Fatalf("round %d: %v", round, err)
					}
					end := <-closed
					took, others = append(took, now.Sub(end)), append(others, (<-woken).Sub(end))
				}
				start := time.Now()
				if _, err := call(g.c, g.mem, args); !errors.Is(err, ErrInterrupted) {
					t.Fatal("with the channel closed:", err)
				}
				slices.Sort(took)
				slices.Sort(others)
				t.Logf("median %v, most %v, already closed %v", took[len(took)/2], took[len(took)-1], time.Since(start))
				if m := took[len(took)/2]; m > 20*time.Millisecond+10*others[len(others)-1] { // a busy machine lets all wait
					t.Errorf("took %v to end", m)
				}
				if n := hostFds(t); n != fds {
					t.Errorf("%d host descriptors, before %d", n, fds)
				}
			})
		}
	}
}

// TestInterruptIdle checks that waiting uses no processor time, and does not
// hold up the garbage collector.
func TestInterruptIdle(t *testing.T) {
	for _, tt := range waitCases {
		if tt.name == "FIFO" && tt.call == "path_open" {
			continue // wakes up now and then, as documented
		}
		g, args := tt.setup(t)
		done := make(chan struct{})
		g.c.SetInterrupt(done)
		ended := make(chan error)
		go func() {
			_, err := g.fns[tt.call].Call(g.c, g.mem, args)
			ended <- err
		}()
		time.Sleep(2 * time.Millisecond)
		used := int64(1 << 62) // the least of several, since the collector runs too
		for try := 0; try < 5 && used > 10e6; try++ {
			var before, after syscall.Rusage
			syscall.Getrusage(syscall.RUSAGE_SELF, &before)
			time.Sleep(20 * time.Millisecond)
			syscall.Getrusage(syscall.RUSAGE_SELF, &after)
			used = min(used, after.Utime.Nano()+after.Stime.Nano()-before.Utime.Nano()-before.Stime.Nano())
		}
		if used > 10e6 {
			t.Errorf("%s on %s: %v of processor time in 20 ms", tt.call, tt.name, time.Duration(used))
		}
		runtime.GC() // does not wait for the call
		close(done)
		if err := <-ended; !errors.Is(err, ErrInterrupted) {
			t.Errorf("%s on %s: %v", tt.call, tt.name, err)
		}
	}
}

// TestInterruptible checks that with a channel set, never closed, all transfers
// are as without one.
func TestInterruptible(t *testing.T) {
	const size = 3<<20 + 5
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(i * 7 >> 3)
	}
	socket := func(t *testing.T) (a, b *os.File) { return socketPair(t) }
	pipe := func(t *testing.T) (a, b *os.File) { r, w := blockingPipe(t); return w, r }
	for _, tt := range []struct {
		name, call string
		ends       func(t *testing.T) (guest, host *os.File)
		how        attempt
	}{
		{"pipe", "fd_write", pipe, attemptUnknown}, {"reopened pipe", "fd_write", pipe, attemptPlain},
		{"asked pipe", "fd_write", pipe, attemptChunk}, {"socket", "fd_write", socket, 0}, {"socket", "sock_send", socket, 0},
	} {
		t.Run(tt.call+"/"+tt.name, func(t *testing.T) {
			gf, hf := tt.ends(t)
			cfg := Options{Sockets: []*os.File{gf}}
			fd := 3
			if tt.call == "fd_write" && tt.name != "socket" {
				cfg, fd = Options{Stdout: gf}, 1
			}
			g, args := transferGuest(t, cfg, fd, size)
			copy(g.mem[1<<20:], data)
			g.c.SetInterrupt(make(chan struct{}))
			switch tt.how {
			case attemptPlain:
				g.c.fds[fd].chooseAttempt(true)
				if g.c.fds[fd].attempt != attemptPlain {
					t.Skip("cannot be reopened")
				}
			case attemptChunk:
				g.c.fds[fd].attempt = attemptChunk
			}
			got := make(chan []byte)
			go func() {
				b := make([]byte, size)
				n, _ := io.ReadFull(hf, b)
				got <- b[:n]
			}()
			if tt.call == "sock_send" {
				args = []uint64{3, args[1], 1, 0, result}
			}
			if e, err := g.fns[tt.call].Call(g.c, g.mem, args); e != 0 || err != nil {
				t.Fatal(Errno(e), err)
			}
			if n := g.u32(result); n != size || !bytes.Equal(<-got, data) {
				t.Errorf("wrote %d bytes, or others", n)
			}
		})
	}
	t.Run("sock_recv/all", func(t *testing.T) {
		a, b := socketPair(t)
		g, args := transferGuest(t, Options{Sockets: []*os.File{a}}, 3, size)
		g.c.SetInterrupt(make(chan struct{}))
		go b.Write(data)
		if e, err := g.fns["sock_recv"].Call(g.c, g.mem, []uint64{3, args[1], 1, recvWaitall, result, result + 8}); e != 0 || err != nil {
			t.Fatal(Errno(e), err)
		}
		if n := g.u32(result); n != size || !bytes.Equal(g.mem[1<<20:1<<20+size], data) {
			t.Errorf("received %d bytes, or others", n)
		}
	})
	t.Run("FIFO", func(t *testing.T) {
		dir := t.TempDir()
		mkfifo(t, dir+"/fifo")
		g := newGuest(t, Options{Preopens: []Preopen{{Guest: "/", Host: dir}}})
		g.c.SetInterrupt(make(chan struct{}))
		fd := g.open(3, "fifo", 0, rightFdRead)
		go func() {
			time.Sleep(2 * time.Millisecond)
			os.WriteFile(dir+"/fifo", []byte("late"), 0)
		}()
		if s := g.read(fd, 100); s != "late" {
			t.Errorf("read %q", s)
		}
		if s := g.read(fd, 100); s != "" {
			t.Errorf("read %q at the end", s)
		}
		read := make(chan []byte)
		go func() {
			time.Sleep(5 * time.Millisecond)
			b, _ := os.ReadFile(dir + "/fifo")
			read <- b
		}()
		g.must("fd_close", fd)
		fd = g.open(3, "fifo", 0, rightFdWrite)
		g.write(fd, "found")
		g.must("fd_close", fd)
		if b := <-read; string(b) != "found" {
			t.Errorf("the host read %q", b)
		}
	})
	t.Run("terminal", func(t *testing.T) {
		host, s := openTerminal(t)
		g := newGuest(t, Options{Stdin: s, Stdout: s})
		g.c.SetInterrupt(make(chan struct{}))
		go func() {
			time.Sleep(2 * time.Millisecond)
			host.Write([]byte("line\n"))
		}()
		if s := g.read(0, 100); s != "line\n" {
			t.Errorf("read %q", s)
		}
		g.must("fd_fdstat_set_flags", 0, int(flagNonblock))
		p, n := g.iov(10)
		g.want(ErrnoAgain, "fd_read", 0, p, n, result)
		g.write(1, "answer")
		b := make([]byte, 100)
		k, err := host.Read(b)
		for err == nil && !strings.HasSuffix(string(b[:k]), "answer") {
			var m int
			m, err = host.Read(b[k:])
			k += m
		}
		if err != nil {
			t.Error(err)
		}
		// The host's own open file has been left as it was.
		fl, _, _ := syscall.Syscall(syscall.SYS_FCNTL, s.Fd(), syscall.F_GETFL, 0)
		if fl&syscall.O_NONBLOCK != 0 {
			t.Error("the host's terminal has been made non-blocking")
		}
	})
	t.Run("end and errors", func(t *testing.T) {
		r, w := blockingPipe(t)
		r2, w2 := blockingPipe(t)
		g := newGuest(t, Options{Stdin: r, Stdout: w2})
		g.c.SetInterrupt(make(chan struct{}))
		w.Close()
		r2.Close()
		if s := g.read(0, 10); s != "" {
			t.Errorf("read %q", s)
		}
		p, n := g.iov(10, 20)
		g.want(ErrnoPipe, "fd_write", 1, p, n, result)
		g.must("fd_read", 0, p, 0, result)
	})
}

// TestInterruptNotWaiting checks that what need not wait is done even when the
// channel is closed, and that streams of Go are no longer called.
func TestInterruptNotWaiting(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir+"/f", "file")
	r, w := blockingPipe(t)
	w.Write([]byte("pipe"))
	done := make(chan struct{})
	close(done)
	g := newGuest(t, Options{Stdin: r, Stdout: w, Stderr: failing{nil}, Preopens: []Preopen{{Guest: "/", Host: dir}}})
	g.c.SetInterrupt(done)
	if s := g.read(0, 10); s != "pipe" {
		t.Errorf("read %q", s)
	}
	g.write(1, "more")
	fd := g.open(3, "f", 0, rightsRW)
	if s := g.read(fd, 10); s != "file" {
		t.Errorf("read %q", s)
	}
	g.write(fd, "!")
	g.must("clock_time_get", 0, 0, result)
	g.poll([4]uint64{0, 1, 0}, [4]uint64{1, 0})
	p, n := g.iov(5)
	for name, args := range map[string][]uint64{
		"fd_write": {2, uint64(p), uint64(n), result}, "random_get": {buffer, 10},
	} {
		if _, err := g.fns[name].Call(g.c, g.mem, args); err != ErrInterrupted {
			t.Errorf("%s: %v", name, err)
		}
	}
	g.c.SetInterrupt(nil)
	g.must("random_get", buffer, 10)
}

// BenchmarkInterrupt measures what a channel costs a transfer that does not have
// to wait, and one that does.
func BenchmarkInterrupt(b *testing.B) {
	for _, set := range []bool{false, true} {
		r, w := blockingPipe(b)
		g, in := transferGuest(b, Options{Stdin: r, Stdout: w}, 0, 64)
		out := slices.Clone(in)
		out[0] = 1
		if set {
			g.c.SetInterrupt(make(chan struct{}))
		}
		b.Run(fmt.Sprintf("ready/set=%v", set), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				g.fns["fd_write"].Call(g.c, g.mem, out)
				g.fns["fd_read"].Call(g.c, g.mem, in)
			}
		})
		b.Run(fmt.Sprintf("clock/set=%v", set), func(b *testing.B) {
			g.subscribe(0, eventClock, clockMonotonic, 1)
			b.ReportAllocs()
			for b.Loop() {
				g.fns["poll_oneoff"].Call(g.c, g.mem, []uint64{0, 1024, 1, result})
			}
		})
		b.Run(fmt.Sprintf("wait/set=%v", set), func(b *testing.B) {
			g.subscribe(0, eventFdRead, 0, 0)
			g.subscribe(1, eventClock, clockMonotonic, 1)
			b.ReportAllocs()
			for b.Loop() {
				g.fns["poll_oneoff"].Call(g.c, g.mem, []uint64{0, 1024, 2, result})
			}
		})
	}
}
