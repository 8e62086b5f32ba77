//go:build linux && (amd64 || arm64)

package stress

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/proof/stress/guest"
	"github.com/waot-project/waot/internal/proof/testenv"
)

const (
	durationEnv = "WAOT_STRESS"
	numWorkers  = 16
	// patience is how long a step may take. After that the process ends, with all
	// stacks: a test that hangs does not always let the test binary's own limit fire.
	patience = 10 * time.Minute
)

// TestStress does everything at once for a while. See the package comment.
func TestStress(t *testing.T) {
	duration := testenv.Cases(time.Second, time.Second, 3*time.Second)
	if s := os.Getenv(durationEnv); s != "" {
		var err error
		if duration, err = time.ParseDuration(s); err != nil {
			t.Fatalf("%s: %v", durationEnv, err)
		}
	}
	newTestWorld(t, 1) // or skip
	if err := inproc.Preemption(); err != nil {
		skip(t, err)
	}
	endless, err := loadEndless()
	if err != nil {
		t.Fatal(err)
	}
	var expected []expectation
	for _, c := range computations() {
		for i, n := range []uint64{c.scale / 50, c.scale / 5, c.scale} {
			seed := 1000003 * uint64(i+1)
			expected = append(expected, expectation{c.name, n, seed, c.mirror(n, seed)})
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	c := &counts{n: map[string]int{}}
	go func() {
		// On a slow machine a short run may not have come to everything.
		time.Sleep(duration)
		for end := time.Now().Add(10 * time.Minute); len(c.missing()) > 0 && time.Now().Before(end); {
			time.Sleep(50 * time.Millisecond)
		}
		stop()
	}()
	calm := &sync.RWMutex{}
	b := &background{t: t, ctx: ctx, counts: c, calm: calm}
	var wg sync.WaitGroup
	wg.Go(b.all)
	workers := make([]worker, numWorkers)
	for i := range workers {
		k := &workers[i]
		seed := rand.Uint64()
		*k = worker{rng: rand.New(rand.NewPCG(seed, 0)), counts: c, expected: expected, endless: endless}
		wg.Go(func() {
			if err := k.work(ctx, calm); err != nil {
				t.Errorf("worker %d: %v", i, err)
				stop()
			}
		})
	}
	finished := make(chan struct{})
	go watch(workers, finished)
	wg.Wait()
	close(finished)
	report(t, c)
}

// work does steps at random until the end.
func (k *worker) work(ctx context.Context, calm *sync.RWMutex) error {
	list := steps()
	total := 0
	for _, s := range list {
		total += s.weight
	}
	if err := k.renew(); err != nil {
		return err
	}
	for ctx.Err() == nil {
		pick := k.rng.IntN(total)
		i := 0
		for ; pick >= list[i].weight; i++ {
			pick -= list[i].weight
		}
		name := fmt.Sprintf("%s since %v", list[i].name, time.Now())
		k.doing.Store(&name)
		calm.RLock()
		err := list[i].run(k)
		if err == nil && k.rng.IntN(20) == 0 {
			err = k.renew()
		}
		calm.RUnlock()
		if err != nil {
			return fmt.Errorf("%s: %w", list[i].name, err)
		}
		k.counts.add("step "+list[i].name, 1)
	}
	done := "finished"
	k.doing.Store(&done)
	return k.close()
}

// watch ends the process if no worker gets on.
func watch(workers []worker, finished chan struct{}) {
	last := make([]*string, len(workers))
	for {
		select {
		case <-finished:
			return
		case <-time.After(patience):
		}
		stuck := false
		for i := range workers {
			now := workers[i].doing.Load()
			stuck = stuck || now == last[i] && *now != "finished"
			last[i] = now
		}
		if stuck {
			for _, s := range last {
				fmt.Fprintln(os.Stderr, *s)
			}
			buf := make([]byte, 4<<20)
			os.Stderr.Write(buf[:runtime.Stack(buf, true)])
			os.Exit(3)
		}
	}
}

// wanted are the counts that must not be zero.
func wanted() []string {
	want := []string{"computations stopped by a collection", "cancellations", "re-entrant calls", "refusals as busy",
		"collections of garbage", "dumps of all stacks", "notifications of signals", "signals ignored", "storms of signals",
		"processes", "readings of statistics", "stores", "instances"}
	for _, s := range steps() {
		want = append(want, "step "+s.name)
	}
	for _, x := range guest.Traps() {
		want = append(want, "trap "+x.Code.String())
	}
	return want
}

// missing are those that are zero.
func (c *counts) missing() (out []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range wanted() {
		if c.n[name] == 0 {
			out = append(out, name)
		}
	}
	return out
}

// report prints the counts, and fails if there is something that has not been done.
func report(t *testing.T, c *counts) {
	for _, name := range wanted() {
		c.n[name] += 0
	}
	steps, traps := 0, 0
	for _, name := range slices.Sorted(maps.Keys(c.n)) {
		n := c.n[name]
		if n == 0 {
			t.Errorf("%s: none", name)
			continue
		}
		t.Logf("%9d %s", n, name)
		switch {
		case strings.HasPrefix(name, "step "):
			steps += n
		case strings.HasPrefix(name, "trap "):
			traps += n
		}
	}
	t.Logf("%9d steps, %d traps", steps, traps)
}
