//go:build linux

package wasi

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestArguments(t *testing.T) {
	g := newGuest(t, Options{Args: []string{"prog", "", "ü x"}, Env: []string{"A=1", "B="}})
	for _, tt := range []struct {
		prefix string
		want   []string
	}{{"args", []string{"prog", "", "ü x"}}, {"environ", []string{"A=1", "B="}}} {
		g.must(tt.prefix+"_sizes_get", result, result+4)
		n, size := g.u32(result), g.u32(result+4)
		g.must(tt.prefix+"_get", buffer, buffer+256)
		var got []string
		end := uint32(buffer + 256)
		for i := range n {
			p := g.u32(buffer + 4*i)
			if p != end {
				t.Errorf("string %d at %d, want %d", i, p, end)
			}
			for end = p; g.mem[end] != 0; end++ {
			}
			got = append(got, string(g.mem[p:end]))
			end++
		}
		if d := cmp.Diff(tt.want, got); d != "" || end-buffer-256 != size {
			t.Errorf("%s: %d bytes of %d (-want +got):\n%s", tt.prefix, end-buffer-256, size, d)
		}
	}
}

func TestClocks(t *testing.T) {
	g := newGuest(t, Options{})
	for id := range 4 {
		g.must("clock_res_get", id, result)
		if r := g.u64(result); r == 0 || r > 1e9 {
			t.Errorf("clock %d has resolution %d", id, r)
		}
		g.must("clock_time_get", id, 1, result)
		first := g.u64(result)
		g.must("clock_time_get", id, 0, result)
		if second := g.u64(result); first == 0 || second < first {
			t.Errorf("clock %d went from %d to %d", id, first, second)
		}
	}
	g.want(ErrnoInval, "clock_res_get", 4, result)
	g.want(ErrnoInval, "clock_time_get", 4, 0, result)
	g = newGuest(t, Options{Walltime: func() int64 { return 5 }, Monotonic: func() int64 { return 6 }})
	for id, want := range []uint64{5, 6, 6, 6} {
		g.must("clock_time_get", id, 0, result)
		if n := g.u64(result); n != want {
			t.Errorf("clock %d gives %d", id, n)
		}
	}
}

func TestRandomAndYield(t *testing.T) {
	g := newGuest(t, Options{})
	g.must("random_get", buffer, 64)
	if [64]byte(g.mem[buffer:]) == [64]byte{} {
		t.Error("random bytes are all zero")
	}
	g.must("random_get", 0, 0)
	g.must("sched_yield")
	g = newGuest(t, Options{Rand: failing{errors.New("broken")}})
	g.want(ErrnoIo, "random_get", buffer, 64)
}

func TestExit(t *testing.T) {
	g := newGuest(t, Options{})
	exit := func(name string, arg uint64) (Errno, *ExitError) {
		e, err := g.fns[name].Call(g.c, g.mem, []uint64{arg})
		var x *ExitError
		if err != nil && !errors.As(err, &x) {
			t.Fatal(err)
		}
		return Errno(e), x
	}
	if _, x := exit("proc_exit", 1<<32-1); x == nil || x.Code != math.MaxUint32 {
		t.Errorf("proc_exit: %v", x)
	}
	for sig, code := range map[uint64]uint32{1: 129, 6: 134, 11: 139, 15: 143, 30: 159} {
		if _, x := exit("proc_raise", sig); x == nil || x.Code != code {
			t.Errorf("signal %d: %v, want %d", sig, x, code)
		}
	}
	for sig, want := range map[uint64]Errno{0: 0, 16: 0, 17: 0, 22: 0, 27: 0, 18: ErrnoNotSup, 31: ErrnoInval, 1<<32 - 1: ErrnoInval} {
		if e, x := exit("proc_raise", sig); e != want || x != nil {
			t.Errorf("signal %d: %v, %v", sig, e, x)
		}
	}
}

func TestErrnoNames(t *testing.T) {
	for e := ErrnoSuccess; e <= ErrnoNotCapable; e++ {
		if e.String() == "" {
			t.Errorf("errno %d has no name", e)
		}
	}
	if ErrnoNotCapable != 76 || ErrnoNoent.Error() != "wasi: ENOENT" || Errno(77).String() != "errno 77" {
		t.Error("names and numbers do not match")
	}
}

// poll subscribes and gives the events by user data.
func (g *guest) poll(subs ...[4]uint64) map[uint64]event {
	g.t.Helper()
	le := binary.LittleEndian
	b := g.mem[buffer:]
	clear(b[:len(subs)*subscriptionSize])
	for i, s := range subs { // type, descriptor or clock, timeout, flags
		le.PutUint64(b, uint64(i))
		b[8] = byte(s[0])
		le.PutUint32(b[16:], uint32(s[1]))
		le.PutUint64(b[24:], s[2])
		le.PutUint16(b[40:], uint16(s[3]))
		b = b[subscriptionSize:]
	}
	g.must("poll_oneoff", buffer, buffer, len(subs), result) // in place
	out := map[uint64]event{}
	b = g.mem[buffer:]
	for range g.u32(result) {
		ev := event{le.Uint64(b), Errno(le.Uint16(b[8:])), b[10], le.Uint64(b[16:]), le.Uint16(b[24:]) != 0}
		out[ev.userdata] = ev
		b = b[eventSize:]
	}
	return out
}

func TestPoll(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	dir := t.TempDir()
	writeFile(t, dir+"/f", "12345")
	var slept []time.Duration
	g := newGuest(t, Options{
		Stdin: r, Monotonic: func() int64 { return 100 }, Nanosleep: func(d time.Duration) { slept = append(slept, d) },
		Preopens: []Preopen{{Guest: "/", Host: dir}},
	})
	f := uint64(g.open(3, "f", 0, rightFdRead))
	const never = math.MaxUint64
	check := func(what string, got map[uint64]event, want ...event) {
		t.Helper()
		m := map[uint64]event{}
		for _, e := range want {
			m[e.userdata] = e
		}
		if d := cmp.Diff(m, got, cmp.AllowUnexported(event{})); d != "" {
			t.Errorf("%s (-want +got):\n%s", what, d)
		}
	}
	check("clocks", g.poll([4]uint64{0, 1, 50}, [4]uint64{0, 1, 70, 0}, [4]uint64{0, 1, 120, 1}), event{userdata: 2})
	check("past", g.poll([4]uint64{0, 1, 50, 1}, [4]uint64{0, 0, never}), event{userdata: 0})
	check("zero", g.poll([4]uint64{0, 0, 0}), event{userdata: 0})
	check("long", g.poll([4]uint64{0, 0, never}), event{userdata: 0})
	if d := cmp.Diff([]time.Duration{20, math.MaxInt64}, slept); d != "" {
		t.Errorf("slept (-want +got):\n%s", d)
	}
	check("bad clocks", g.poll([4]uint64{0, 7, 0}, [4]uint64{0, 1, 0, 2}, [4]uint64{0, 1, never}),
		event{userdata: 0, errno: ErrnoInval}, event{userdata: 1, errno: ErrnoInval})
	check("timeout", g.poll([4]uint64{1, 0}, [4]uint64{0, 1, 1e6}), event{userdata: 1})
	check("bad descriptors", g.poll([4]uint64{1, 99}, [4]uint64{2, 0}, [4]uint64{1, 1}, [4]uint64{0, 1, never}),
		event{userdata: 0, errno: ErrnoBadf, typ: 1}, event{userdata: 1, errno: ErrnoBadf, typ: 2}, event{userdata: 2, errno: ErrnoBadf, typ: 1})
	check("file and Writer", g.poll([4]uint64{1, f}, [4]uint64{2, 1}, [4]uint64{1, 0}),
		event{userdata: 0, typ: 1, nbytes: 5}, event{userdata: 1, typ: 2})
	go func() {
		time.Sleep(5 * time.Millisecond)
		w.Write([]byte("abc"))
	}()
	check("pipe", g.poll([4]uint64{1, 0}, [4]uint64{0, 1, 60e9}), event{userdata: 0, typ: 1, nbytes: 3})
	g.read(0, 3)
	w.Close()
	check("hang-up", g.poll([4]uint64{1, 0}), event{userdata: 0, typ: 1, hangup: true})
	g.mem[buffer+8] = 3
	g.want(ErrnoInval, "poll_oneoff", buffer, buffer+1024, 1, result)
	g.want(ErrnoInval, "poll_oneoff", buffer, buffer+1024, 0, result)
}

// TestPollNested: the function that sleeps may call the guest, which sleeps.
func TestPollNested(t *testing.T) {
	const never = math.MaxUint64
	var g *guest
	var slept []time.Duration
	g = newGuest(t, Options{Monotonic: func() int64 { return 0 }, Nanosleep: func(d time.Duration) {
		slept = append(slept, d)
		if d > 10 {
			if got := g.poll([4]uint64{0, 1, uint64(d) / 2}); len(got) != 1 || got[0] != (event{}) {
				t.Errorf("nested in %v: %v", d, got)
			}
		}
	}})
	if got := g.poll([4]uint64{0, 1, never}, [4]uint64{0, 1, 50}, [4]uint64{0, 1, never}); len(got) != 1 || got[1] != (event{userdata: 1}) {
		t.Errorf("outermost: %v", got)
	}
	if d := cmp.Diff([]time.Duration{50, 25, 12, 6}, slept); d != "" {
		t.Errorf("slept (-want +got):\n%s", d)
	}
}

// TestPollInClock: a clock of the program may call the guest in the middle of a poll, where that polls or closes the same descriptors, and other files of the process get
// their numbers.
func TestPollInClock(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if _, err := w.WriteString("x"); err != nil {
		t.Fatal(err)
	}
	var inside func(g *guest)
	var g *guest
	g = newGuest(t, Options{Stdin: r, Stdout: w, Monotonic: func() int64 {
		if f := inside; f != nil {
			inside = nil
			saved := bytes.Clone(g.mem)
			f(g)
			copy(g.mem, saved)
		}
		return 100
	}})
	subs := [][4]uint64{{1, 0}, {0, 1, 200, 1}}
	for _, tt := range []struct {
		name   string
		inside func(g *guest)
		want   map[uint64]event
	}{
		{"poll", func(g *guest) { g.poll([4]uint64{2, 1}, [4]uint64{1, 0}) },
			map[uint64]event{0: {userdata: 0, typ: 1, nbytes: 1}}},
		{"renumber", func(g *guest) { g.must("fd_renumber", 1, 2) },
			map[uint64]event{0: {userdata: 0, typ: 1, nbytes: 1}}},
		{"close", func(g *guest) {
			n := g.c.fds[0].fd
			g.must("fd_close", 0)
			if e := syscall.Dup3(int(r.Fd()), n, syscall.O_CLOEXEC); e != nil {
				t.Fatal(e)
			}
			t.Cleanup(func() { syscall.Close(n) })
		}, map[uint64]event{0: {userdata: 0, typ: 1, errno: ErrnoBadf}}},
	} {
		inside = tt.inside
		got := g.poll(subs...)
		if d := cmp.Diff(tt.want, got, cmp.AllowUnexported(event{})); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}
