//go:build linux && (amd64 || arm64)

package stress

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/proof/stress/guest"
)

// children are what the test binary can do instead of tests.
func children() map[string]func() error {
	return map[string]func() error{
		"nothing":       func() error { return nil },
		"no preemption": withoutPreemption,
		"ignored":       ignoredAtFirst,
		"no addresses":  withoutAddresses,
		"few addresses": fewAddresses,
	}
}

// child is the test binary as a process of its own; it gives the exit status.
func child(what string) int {
	if err := children()[what](); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// self is the test binary as another process, in the emulator that WAOT_EMULATOR names, if any.
func self(ctx context.Context) (*exec.Cmd, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if emulator := os.Getenv("WAOT_EMULATOR"); emulator != "" {
		words := append(strings.Fields(emulator), path)
		return exec.CommandContext(ctx, words[0], words[1:]...), nil
	}
	return exec.CommandContext(ctx, path), nil
}

func runChild(t *testing.T, what string, env ...string) {
	t.Helper()
	newTestWorld(t, 1)                                                      // or skip
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // less than go test allows, so that the test can say which child hangs
	defer cancel()
	cmd, err := self(ctx)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(append(os.Environ(), childEnv+"="+what), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestWithoutPreemption runs a process whose Go runtime never interrupts goroutines.
func TestWithoutPreemption(t *testing.T) {
	runChild(t, "no preemption", "GODEBUG=asyncpreemptoff=1")
}

func withoutPreemption() error {
	if err := inproc.Preemption(); !errors.Is(err, inproc.ErrPreemptionOff) {
		return fmt.Errorf("Preemption() = %v", err)
	}
	// One processor is for those who end the calls. A garbage collection would stop it, then wait for an endless call that nothing
	// could end any more: none begins, and one that compiling began is over.
	runtime.GOMAXPROCS(2)
	debug.SetGCPercent(-1)
	w, err := newWorld(inproc.Config{}, 2)
	if err != nil {
		return err
	}
	for _, c := range computations() {
		if err := w.expect(nil, 1, c.name, c.mirror(300, 9), 300, 9); err != nil {
			return err
		}
	}
	for _, c := range guest.Traps() {
		_, err := w.call(nil, 0, c.Export)
		if err := isTrap(err, c); err != nil {
			return err
		}
	}
	runtime.GC()
	for range 5 {
		for _, name := range guest.Endless() {
			ctx, cancel := context.WithTimeout(context.Background(), 3*time.Millisecond)
			_, err := w.call(ctx, 0, name)
			cancel()
			if err := isCancelled(err, context.DeadlineExceeded); err != nil {
				return err
			}
			if err := w.sound(1); err != nil {
				return err
			}
		}
	}
	return w.store.Close()
}

// TestSignalsIgnoredAtFirst runs a process that ignores the scheduler's signal from its beginning.
func TestSignalsIgnoredAtFirst(t *testing.T) { runChild(t, "ignored") }

func ignoredAtFirst() error {
	signal.Ignore(syscall.SIGURG, syscall.SIGPROF)
	// The scheduler's signals are lost meanwhile. It does not send a second one to a
	// thread before the first has arrived.
	for start := time.Now(); time.Since(start) < 100*time.Millisecond; {
	}
	w, err := newWorld(inproc.Config{}, 1)
	if err != nil {
		return err
	}
	if err := w.sound(0); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	if inproc.Preemption() == nil {
		runtime.GOMAXPROCS(1)
		go runtime.GC()
	}
	_, err = w.call(ctx, 0, "spin")
	return errors.Join(isCancelled(err, context.DeadlineExceeded), w.store.Close())
}

// TestWithoutAddresses runs a process whose address space is used up.
func TestWithoutAddresses(t *testing.T) {
	if os.Getenv("WAOT_EMULATOR") != "" {
		t.Skip("emulators do not apply the limit of addresses to what they run")
	}
	runChild(t, "no addresses")
}

// TestFewAddresses runs a process that may have 24 GiB of addresses, as under ulimit -v.
func TestFewAddresses(t *testing.T) {
	if os.Getenv("WAOT_EMULATOR") != "" {
		t.Skip("emulators do not apply the limit of addresses to what they run")
	}
	if raceDetector {
		t.Skip("the race detector needs more addresses than that")
	}
	runChild(t, "few addresses")
}

func fewAddresses() error {
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: 24 << 30, Max: 24 << 30}); err != nil {
		return err
	}
	w, err := newWorld(inproc.Config{}, 1)
	if err != nil {
		return err
	}
	return errors.Join(w.sound(0), w.store.Close())
}

func withoutAddresses() error {
	w, err := newWorld(inproc.Config{}, 1)
	if err != nil {
		return err
	}
	var statm uint64 // pages of addresses in use
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return err
	}
	if _, err := fmt.Sscan(string(b), &statm); err != nil {
		return err
	}
	// Room for Go, none for the reservation of a memory.
	room := statm*uint64(os.Getpagesize()) + 2<<30
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: room, Max: room}); err != nil {
		return err
	}
	_, err = w.store.NewMemory(inproc.Limits{Min: 1})
	var system *inproc.SystemError
	if !errors.As(err, &system) || !errors.Is(err, syscall.ENOMEM) {
		return fmt.Errorf("NewMemory: %v", err)
	}
	// What is there goes on.
	return errors.Join(w.sound(0), w.store.Close())
}
