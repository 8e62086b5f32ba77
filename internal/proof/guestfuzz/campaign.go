package guestfuzz

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/waot-project/waot"
)

// Config says what to run.
type Config struct {
	First   uint64        // seed of the first episode
	N       uint64        // number of episodes; 0 is no limit
	Same    bool          // all of them with the first seed
	For     time.Duration // 0 is no limit
	Workers int
	// Between is the time between two samples, for each of which all workers stop.
	Between time.Duration
	// Patience is how long an episode may take. If one takes longer the process ends, with all stacks.
	Patience time.Duration
	// NoForeignWords leaves out words of other stores, NoCollectAlways stores that collect whenever they can.
	NoForeignWords, NoCollectAlways bool
	// Begin, if not nil, is called before each episode, and Sampled with each sample.
	Begin   func(worker int, seed uint64)
	Sampled func(Sample)

	lie func(*world) // if not nil, does something that the model does not know of, which must be noticed; for tests
}

// Result is what a campaign has done.
type Result struct {
	Counts  map[string]int
	Samples []Sample
}

// campaign is a campaign that runs.
type campaign struct {
	*Config
	start   time.Time
	next    atomic.Uint64
	stopped atomic.Bool
	// calm is held for reading during an episode, and for writing while a sample is taken.
	calm    sync.RWMutex
	pool    pool
	wasi    *wasiShared
	runners []*runner
	errs    []error
	result  Result
}

// Run runs episodes until there have been enough, or until one finds something, which the error describes.
func Run(cfg *Config) (*Result, error) {
	c := &campaign{Config: cfg, start: time.Now(), pool: pool{entries: map[uint64]*entry{}}, result: Result{Counts: map[string]int{}}}
	c.errs = make([]error, cfg.Workers)
	var err error
	if c.wasi, err = newWASIShared(); err != nil {
		return &c.result, err
	}
	defer c.wasi.close()
	for n := range cfg.Workers {
		c.runners = append(c.runners, newRunner(c, n))
	}
	finished := make(chan struct{})
	var beside, workers sync.WaitGroup
	beside.Go(func() { c.watch(finished) })
	for n, r := range c.runners {
		workers.Go(func() {
			c.errs[n] = c.work(r)
			if c.errs[n] != nil {
				c.stopped.Store(true)
			}
		})
	}
	var sampleErr error
	beside.Go(func() { sampleErr = c.sampling(finished) })
	workers.Wait()
	close(finished)
	beside.Wait()
	err = errors.Join(append(c.errs, sampleErr)...)
	if err == nil {
		err = c.sample() // the last one
	}
	for _, r := range c.runners {
		for what, n := range r.counts {
			c.result.Counts[what] += n
		}
	}
	if err == nil {
		err = Flat(c.result.Samples)
	}
	return &c.result, err
}

// work runs one episode after the other.
func (c *campaign) work(r *runner) error {
	for !c.stopped.Load() && (c.For == 0 || time.Since(c.start) < c.For) {
		k := c.next.Add(1) - 1
		if c.N != 0 && k >= c.N {
			break
		}
		seed := c.First + k
		if c.Same {
			seed = c.First
		}
		if c.Begin != nil {
			c.Begin(r.n, seed)
		}
		c.calm.RLock()
		err := r.episode(seed)
		c.calm.RUnlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// watch ends the process if an episode does not end.
func (c *campaign) watch(finished chan struct{}) {
	for {
		select {
		case <-finished:
			return
		case <-time.After(c.Patience / 10):
		}
		for _, r := range c.runners {
			if at := r.since.Load(); at != 0 && time.Since(time.Unix(0, at)) > c.Patience {
				fmt.Fprintf(os.Stderr, "worker %d, seed %d does not end\n", r.n, r.seed)
				buf := make([]byte, 8<<20)
				os.Stderr.Write(buf[:runtime.Stack(buf, true)])
				os.Exit(3)
			}
		}
	}
}

// sampling takes samples until the workers have finished, or until something is left that must be gone.
func (c *campaign) sampling(finished chan struct{}) error {
	for {
		select {
		case <-finished:
			return nil
		case <-time.After(c.Between):
		}
		if err := c.sample(); err != nil {
			c.stopped.Store(true)
			return err
		}
	}
}

// sample stops all workers and looks at what is left.
func (c *campaign) sample() error {
	c.calm.Lock()
	defer c.calm.Unlock()
	c.pool.tidy()
	err := c.collect()
	waot.FreeOSMemory() // what closed stores leave grows for some seconds
	s := takeSample()
	s.At = time.Since(c.start)
	for _, r := range c.runners {
		s.Episodes += r.counts["episodes"]
	}
	c.result.Samples = append(c.result.Samples, s)
	if c.Sampled != nil {
		c.Sampled(s)
	}
	return err
}

// collect fails if values of closed stores stay. One collection may miss values in registers of goroutines that it
// interrupts.
func (c *campaign) collect() error {
	for try := 0; ; try++ {
		debug.FreeOSMemory() // it collects
		left := 0
		for _, r := range c.runners {
			for _, p := range r.left {
				if p.Value() != nil {
					left++
				}
			}
		}
		if left == 0 {
			break
		}
		if try == 20 {
			return fmt.Errorf("%d values of closed stores are still there", left)
		}
		time.Sleep(time.Duration(try) * time.Millisecond)
	}
	for _, r := range c.runners {
		r.left = nil
	}
	return nil
}
