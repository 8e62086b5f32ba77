//go:build linux && (amd64 || arm64)

package stress

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/waot-project/waot/host/inproc"
)

// background is what goes on beside the workers.
type background struct {
	t      *testing.T
	ctx    context.Context
	counts *counts
	// calm is held for reading by workers during a step, and for writing while Go is
	// told to ignore the signals of its scheduler: until the handlers are back, an
	// endless loop cannot be stopped, and a collection would wait for it for ever.
	calm *sync.RWMutex
}

// repeat runs f until the end of the test, with pauses.
func (b *background) repeat(pause time.Duration, what string, f func() error) {
	for b.ctx.Err() == nil {
		if err := f(); err != nil {
			b.t.Errorf("%s: %v", what, err)
			return
		}
		b.counts.add(what, 1)
		select {
		case <-b.ctx.Done():
		case <-time.After(pause):
		}
	}
}

// all runs everything and returns after the end of the test.
func (b *background) all() {
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	if b.startProfile() {
		defer pprof.StopCPUProfile()
	}
	var wg sync.WaitGroup
	for _, f := range []func(){b.collect, b.dumpStacks, b.notify, b.ignore, b.storm, b.execute, b.readStats} {
		wg.Go(f)
	}
	wg.Wait()
}

// startProfile profiles at 1000 Hz. The rate has to be set before, which the runtime then
// remarks upon on standard error.
func (b *background) startProfile() bool {
	runtime.SetCPUProfileRate(1000)
	var out bytes.Buffer
	return pprof.StartCPUProfile(&out) == nil // not so with -cpuprofile
}

func (b *background) collect() {
	b.repeat(time.Millisecond, "collections of garbage", func() error {
		runtime.GC()
		b.counts.collections.Add(1)
		return nil
	})
}

func (b *background) dumpStacks() {
	buf := make([]byte, 1<<20)
	b.repeat(20*time.Millisecond, "dumps of all stacks", func() error {
		if runtime.Stack(buf, true) == 0 {
			return fmt.Errorf("empty")
		}
		return nil
	})
}

func (b *background) readStats() {
	b.repeat(5*time.Millisecond, "readings of statistics", func() error {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		var g debug.GCStats
		debug.ReadGCStats(&g)
		return nil
	})
}

// notify asks for all signals, and takes that back.
func (b *background) notify() {
	ch := make(chan os.Signal, 100)
	go func() {
		for range ch {
		}
	}()
	b.repeat(10*time.Millisecond, "notifications of signals", func() error {
		signal.Notify(ch)
		time.Sleep(5 * time.Millisecond)
		if rand.IntN(2) == 0 {
			signal.Reset()
		} else {
			signal.Stop(ch)
		}
		return nil
	})
	signal.Reset()
	signal.Stop(ch)
	close(ch)
}

// ignore ignores a signal that native code depends on. The next store must undo that.
func (b *background) ignore() {
	b.repeat(150*time.Millisecond, "signals ignored", func() error {
		b.calm.Lock()
		defer b.calm.Unlock()
		sig := []os.Signal{syscall.SIGURG, syscall.SIGURG, syscall.SIGPROF, syscall.SIGSEGV}[rand.IntN(4)]
		signal.Ignore(sig)
		w, err := newWorld(inproc.Config{}, 1)
		if err != nil {
			return err
		}
		defer w.store.Close()
		if err := inproc.Preemption(); err != nil {
			return err
		}
		if rand.IntN(2) == 0 {
			signal.Reset(sig)
		}
		return w.sound(0)
	})
}

// storm sends signals to all threads of the process, at random.
func (b *background) storm() {
	pid := os.Getpid()
	b.repeat(time.Millisecond, "storms of signals", func() error {
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		for range 50 {
			tid, err := strconv.Atoi(tasks[rand.IntN(len(tasks))].Name())
			if err != nil {
				return err
			}
			sig := syscall.SIGURG
			if rand.IntN(3) == 0 {
				sig = syscall.SIGPROF
			}
			syscall.Syscall(syscall.SYS_TGKILL, uintptr(pid), uintptr(tid), uintptr(sig)) // the thread may be gone
		}
		return nil
	})
}

// execute starts processes.
func (b *background) execute() {
	b.repeat(10*time.Millisecond, "processes", func() error {
		cmd, err := self(b.ctx)
		if err != nil {
			return err
		}
		if rand.IntN(8) != 0 {
			cmd = exec.CommandContext(b.ctx, "/bin/true")
		}
		cmd.Env = append(os.Environ(), childEnv+"=nothing")
		err = cmd.Run()
		if b.ctx.Err() != nil {
			return nil // killed at the end
		}
		return err
	})
}
