//go:build linux && (amd64 || arm64)

package inproc

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/meta"
)

// trapModule has a function for each kind of trap.
func trapParts() *parts {
	return newBuilder().
		memory(meta.Memory{Min: 1}).memory(meta.Memory{Min: 1, Max: 1, HasMax: true}).
		table(meta.Table{Elem: fref, Min: 3}).
		typeSlot(fn(vt{i64}, vt{i64})).
		def("unreachable", fn(nil, nil)).def("outer", fn(nil, nil)).
		def("div", fn(vt{i32, i32}, vt{i32})).def("idiv", fn(vt{i64, i64}, vt{i64})).
		def("load", fn(vt{i64}, vt{i32})).def("load1", fn(vt{i64}, vt{i32})).def("store", fn(vt{i64, i64}, nil)).
		def("indirect", fn(vt{i32, i64}, vt{i64})).
		def("overflow", fn(nil, nil)).def("bigframe", fn(nil, nil)).
		def("double", fn(vt{i64}, vt{i64})).def("answer", fn(nil, vt{i32})).
		def("unlisted", fn(nil, nil)).def("liesmemory", fn(nil, nil)).def("liesnull", fn(nil, nil)).
		export("table", abi.ExternTable, 0).export("memory", abi.ExternMemory, 0).
		parts("init")
}

func trapModule() *Image {
	img, err := trapParts().link()
	if err != nil {
		panic(err)
	}
	return img
}

// nilDereference makes Go's own fault and recovers it.
func nilDereference() (err any) {
	defer func() { err = recover() }()
	var p *[10]int
	return p[5]
}

func mustRecover(t testing.TB, where string) {
	t.Helper()
	if e, ok := nilDereference().(runtime.Error); !ok || !strings.Contains(e.Error(), "nil pointer") {
		t.Errorf("nil dereference %s: %v", where, e)
	}
}

func TestTraps(t *testing.T) {
	mustRecover(t, "before")
	s := newStore(t)
	mustRecover(t, "with handlers")
	i := instantiate(t, s, trapModule(), nil)
	table, err := i.Table("table")
	if err != nil {
		t.Fatal(err)
	}
	table.Set(1, export(t, i, "double").Ref())
	table.Set(2, export(t, i, "answer").Ref())
	const past = 1 << 32
	for range 2 {
		for _, c := range []struct {
			name string
			args []uint64
			want Trap
		}{
			{"unreachable", nil, Trap{Code: abi.TrapUnreachable, Offset: 101}},
			{"outer", nil, Trap{Code: abi.TrapUnreachable, Name: "unreachable", Offset: 101}},
			{"div", []uint64{1, 0}, Trap{Code: abi.TrapIntegerDivideByZero, Offset: 103}},
			{"idiv", []uint64{1 << 63, ^uint64(0)}, Trap{Code: abi.TrapIntegerOverflow, Offset: 104}},
			{"load", []uint64{65536}, Trap{Code: abi.TrapMemoryOutOfBounds, Offset: 105}},
			{"load", []uint64{65533}, Trap{Code: abi.TrapMemoryOutOfBounds, Offset: 105}},
			{"load", []uint64{2*past + 65535 - 4}, Trap{Code: abi.TrapMemoryOutOfBounds, Offset: 105}},
			{"load1", []uint64{past}, Trap{Code: abi.TrapMemoryOutOfBounds, Offset: 106}},
			{"store", []uint64{65532, 1}, Trap{Code: abi.TrapMemoryOutOfBounds, Offset: 107}},
			{"indirect", []uint64{0, 1}, Trap{Code: abi.TrapUninitializedElement, Offset: 124}},
			{"indirect", []uint64{2, 1}, Trap{Code: abi.TrapBadSignature, Offset: 127}},
			{"indirect", []uint64{3, 1}, Trap{Code: abi.TrapUndefinedElement, Offset: 126}},
			{"overflow", nil, Trap{Code: abi.TrapStackOverflow}},
			{"bigframe", nil, Trap{Code: abi.TrapStackOverflow}},
		} {
			_, err := call(t, i, c.name, c.args...)
			var trap *Trap
			if !errors.As(err, &trap) {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			if c.want.Name == "" {
				c.want.Name = c.name
			}
			got := Trap{Code: trap.Code, Name: trap.Name, Offset: trap.Offset}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("%s: %s", c.name, d)
			}
			if trap.Name != trap.Backtrace[0].Name || trap.Func != trap.Backtrace[0].Func {
				t.Errorf("%s: %+v", c.name, trap)
			}
			mustRecover(t, "after a trap")
		}
	}
	// The straddling store wrote nothing; good calls still work.
	m, _ := i.Memory("memory")
	if b := m.Bytes(); b[65532] != 0 && !tornStores || len(b) != 65536 {
		t.Error("a store that trapped wrote")
	}
	if got, err := call(t, i, "indirect", 1, 21); err != nil || got[0] != 42 {
		t.Error(got, err)
	}
	if got, err := call(t, i, "load", 65532); err != nil || got[0] != 0 {
		t.Error(got, err)
	}
	if _, err := call(t, i, "outer"); err.Error() != "wasm trap: unreachable in unreachable at offset 0x65" {
		t.Error(err)
	}
}

func TestBacktraceAcrossActivations(t *testing.T) {
	s := newStore(t)
	var inner *Func
	h := host(t, s, fn(nil, nil), func(*Caller, []uint64, []uint64) error { return inner.Call(nil, nil) })
	i := instantiate(t, s, newBuilder().imp("env", "h", fn(nil, nil)).
		def("pass", fn(nil, nil)).def("unreachable", fn(nil, nil)).def("outer", fn(nil, nil)).image("init"), one(h))
	inner = export(t, i, "outer")
	_, err := call(t, i, "pass")
	var trap *Trap
	if !errors.As(err, &trap) {
		t.Fatal(err)
	}
	want := []Frame{{Module: "test", Func: 2, Name: "unreachable", Offset: 101}, {Module: "test", Func: 3, Name: "outer", Offset: 102}, {Module: "test", Func: 1, Name: "pass", Offset: 21}}
	if d := cmp.Diff(want, trap.Backtrace); d != "" {
		t.Error(d)
	}
}

// TestOverflowAtEntry overflows at each instruction of a prologue: the backtrace
// must not lose the caller.
func TestOverflowAtEntry(t *testing.T) {
	s := newStore(t)
	b := newBuilder()
	for range 1 {
		b.def("overflow24", fn(nil, nil))
	}
	i := instantiate(t, s, b.image("init"), nil)
	f := *export(t, i, "overflow24")
	for words := range 4 {
		f.typ = newFuncType(&meta.FuncType{Params: types(8+2*words, i64)}, false)
		f.plain = f.typ.plain // not: the arguments move where the first frame begins
		err := f.Call(make([]uint64, 8+2*words), nil)
		var trap *Trap
		if !errors.As(err, &trap) || trap.Code != abi.TrapStackOverflow || len(trap.Backtrace) != maxBacktrace {
			t.Fatal(err)
		}
		for n, fr := range trap.Backtrace {
			if fr.Name != "overflow24" || n > 0 && fr.Offset != 113 {
				t.Fatal(n, fr)
			}
		}
	}
}

// TestHostCallsNearGuard leaves native code at every depth around the end of the
// stack: each is either a host call or a stack overflow.
func TestHostCallsNearGuard(t *testing.T) {
	s := newStore(t)
	h := host(t, s, fn(nil, nil), func(*Caller, []uint64, []uint64) error { return nil })
	i := instantiate(t, s, newBuilder().imp("env", "h", fn(nil, nil)).
		def("deephost", fn(vt{i64}, nil)).image("init"), one(h))
	const frames = abi.DefaultStack / 16
	overflows := 0
	for n := frames - 8; n < frames+8; n++ {
		_, err := call(t, i, "deephost", uint64(n))
		var trap *Trap
		if errors.As(err, &trap) && trap.Code == abi.TrapStackOverflow {
			overflows++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if overflows == 0 || overflows == 16 {
		t.Errorf("%d overflows", overflows)
	}
}

func TestOverflowThroughHost(t *testing.T) {
	s := newStore(t)
	var f *Func
	deepest := 0
	h := host(t, s, fn(nil, nil), func(c *Caller, _, _ []uint64) error {
		deepest = max(deepest, s.depth)
		return f.Call(nil, nil)
	})
	i := instantiate(t, s, newBuilder().imp("env", "h", fn(nil, nil)).
		def("hostoverflow", fn(nil, nil)).image("init"), one(h))
	f = export(t, i, "hostoverflow")
	for range 2 {
		err := f.Call(nil, nil)
		var trap *Trap
		if !errors.As(err, &trap) || trap.Code != abi.TrapStackOverflow || deepest < 1000 {
			t.Fatal(err, deepest)
		}
	}
}

func TestNilDereferenceInHost(t *testing.T) {
	s := newStore(t)
	h := host(t, s, fn(nil, nil), func(*Caller, []uint64, []uint64) error {
		mustRecover(t, "in a host function")
		return nil
	})
	i := instantiate(t, s, newBuilder().imp("env", "h", fn(nil, nil)).
		def("saved", fn(nil, nil)).image("init"), one(h))
	if _, err := call(t, i, "saved"); err != nil {
		t.Error(err)
	}
}

// TestNotify checks that os/signal does not displace the handlers.
func TestNotify(t *testing.T) {
	s := newStore(t)
	i := instantiate(t, s, trapModule(), nil)
	c := make(chan os.Signal, 10)
	signal.Notify(c)
	check := func() {
		t.Helper()
		var trap *Trap
		if _, err := call(t, i, "load", 1<<31); !errors.As(err, &trap) {
			t.Error(err)
		}
		mustRecover(t, "with Notify")
	}
	check()
	signal.Stop(c)
	signal.Reset(syscall.SIGSEGV, syscall.SIGFPE)
	check()
}

// TestWrongFaults runs faults that are no traps in processes of their own.
func TestWrongFaults(t *testing.T) {
	const variable = "INPROC_TEST_FAULT"
	if name := os.Getenv(variable); name != "" {
		s := newStore(t)
		img := trapModule()
		if name == "nopad" {
			img = newBuilder().def(name, fn(nil, nil)).image("init")
		}
		_, err := call(t, instantiate(t, s, img, nil), name)
		t.Fatal("survived:", err)
	}
	wrong := map[string]string{
		"unlisted":   "trap table lists none",
		"liesmemory": "does not fit the trap table",
		"liesnull":   "does not fit the trap table",
	}
	if landingPads() != 0 {
		wrong["nopad"] = "trap table lists none" // it is no target of an indirect call
	}
	for name, want := range wrong {
		run := func(program ...string) ([]byte, error) {
			cmd := exec.Command(program[0], append(program[1:], "-test.run=^TestWrongFaults$")...)
			cmd.Env = append(os.Environ(), variable+"="+name)
			return cmd.CombinedOutput()
		}
		out, err := run(os.Args[0])
		if errors.Is(err, syscall.ENOEXEC) { // this process runs in an emulator
			out, err = run("qemu-aarch64", os.Args[0])
		}
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(out), want) ||
			!strings.Contains(string(out), `"`+name+`"`) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// TestTrapStorm traps on several goroutines under constant garbage collection.
func TestTrapStorm(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	const goroutines = 8
	each := 12500
	if testing.Short() {
		each = 1000
	}
	m, err := Load(trapModule())
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	stop := make(chan bool)
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				runtime.GC()
			}
		}
	}()
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			s, err := NewStore(Config{})
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			i, err := s.Instantiate(m, nil)
			if err != nil {
				t.Error(err)
				return
			}
			for n := range each {
				var err error
				want := abi.TrapUnreachable
				switch (n + g) % 4 {
				case 0:
					_, err = call(t, i, "outer")
				case 1:
					want = abi.TrapMemoryOutOfBounds
					_, err = call(t, i, "load", 1<<31)
				case 2:
					want = abi.TrapIntegerDivideByZero
					_, err = call(t, i, "div", 1, 0)
				case 3:
					growGoStack(n % 30)
					want = abi.TrapUninitializedElement
					_, err = call(t, i, "indirect", 0, 0)
					if n%64 == 3 {
						mustRecover(t, "in the storm")
					}
				}
				var trap *Trap
				if !errors.As(err, &trap) || trap.Code != want {
					t.Errorf("%d: %v", n, err)
					return
				}
			}
		})
	}
	wg.Wait()
	close(stop)
}

func BenchmarkTrap(b *testing.B) {
	s := newStore(b)
	i := instantiate(b, s, trapModule(), nil)
	f := export(b, i, "unreachable")
	for b.Loop() {
		f.Call(nil, nil)
	}
}
