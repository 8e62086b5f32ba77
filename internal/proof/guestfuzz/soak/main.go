// Command soak runs the campaign of package guestfuzz in its own process, because a finding may end the process. It
// prints counts, and what the process held over time. The status is 1 if anything was found.
//
// Place in the pipeline: none; a campaign for testing.
//
// Input: flags.
// Output: figures on the standard output, what was found on the standard error.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/waot-project/waot/internal/proof/guestfuzz"
)

func main() {
	var cfg guestfuzz.Config
	flag.Uint64Var(&cfg.First, "seed", 1, "seed of the first episode")
	flag.Uint64Var(&cfg.N, "n", 0, "number of episodes; 0 is no limit")
	flag.BoolVar(&cfg.Same, "same", false, "run all episodes with the first seed")
	seconds := flag.Float64("seconds", 60, "stop after this many seconds; 0 is never")
	flag.IntVar(&cfg.Workers, "workers", 8, "episodes to run at once")
	between := flag.Float64("between", 15, "seconds between two samples of what the process holds")
	patience := flag.Float64("patience", 120, "seconds that an episode may take")
	failures := flag.Int("failures", 5, "stop after this many findings")
	flag.BoolVar(&cfg.NoForeignWords, "no-foreign-words", false, "leave out words of other stores")
	flag.BoolVar(&cfg.NoCollectAlways, "no-collect-always", false, "leave out stores that collect whenever they can")
	child := flag.Bool("child", false, "run the episodes, which is how soak starts itself")
	flag.Parse()
	duration := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	cfg.For, cfg.Between, cfg.Patience = duration(*seconds), duration(*between), duration(*patience)
	if *child {
		os.Exit(runChild(&cfg))
	}
	os.Exit(soak(&cfg, *failures))
}

// report is what a child tells its parent, one of each line of its output.
type report struct {
	Worker int
	Seed   uint64
	Sample *guestfuzz.Sample
	Counts map[string]int
}

// runChild runs episodes.
func runChild(cfg *guestfuzz.Config) int {
	var mu sync.Mutex
	out := json.NewEncoder(os.Stdout)
	tell := func(r report) {
		mu.Lock()
		defer mu.Unlock()
		out.Encode(r)
	}
	cfg.Begin = func(worker int, seed uint64) { tell(report{Worker: worker, Seed: seed}) }
	cfg.Sampled = func(s guestfuzz.Sample) { tell(report{Sample: &s}) }
	result, err := guestfuzz.Run(cfg)
	tell(report{Counts: result.Counts})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// run is one child.
type run struct {
	seeds   map[int]uint64 // of each worker, the last
	samples []guestfuzz.Sample
	counts  map[string]int
	next    uint64 // after the highest seed
	said    []byte // on the standard error
	err     error
}

// soak starts children until there has been enough, and prints what they did.
func soak(cfg *guestfuzz.Config, failures int) int {
	start := time.Now()
	total := map[string]int{}
	found := 0
	first, left := cfg.First, cfg.N
	for {
		seconds := 0.0
		if cfg.For != 0 {
			if seconds = (cfg.For - time.Since(start)).Seconds(); seconds <= 0 {
				break
			}
		}
		r := startChild(first, left, seconds)
		for what, n := range r.counts {
			total[what] += n
		}
		fmt.Print(guestfuzz.Table(r.samples))
		if r.err == nil {
			break
		}
		found++
		r.explain(os.Stderr)
		done := r.next - first
		if found == failures || cfg.Same || left != 0 && done >= left {
			break
		}
		first += done
		if left != 0 {
			left -= done
		}
	}
	for _, what := range slices.Sorted(maps.Keys(total)) {
		fmt.Printf("%10d %s\n", total[what], what)
	}
	fmt.Printf("%.0f s, %d findings\n", time.Since(start).Seconds(), found)
	return min(found, 1)
}

// startChild runs a child.
func startChild(first, n uint64, seconds float64) *run {
	r := &run{seeds: map[int]uint64{}, next: first}
	program, err := os.Executable()
	if err != nil {
		r.err = err
		return r
	}
	args := append(os.Args[1:len(os.Args):len(os.Args)], "-child", "-seed="+strconv.FormatUint(first, 10), "-n="+strconv.FormatUint(n, 10),
		"-seconds="+strconv.FormatFloat(seconds, 'f', 3, 64))
	argv := append(strings.Fields(os.Getenv("WAOT_EMULATOR")), program)
	cmd := exec.Command(argv[0], append(argv[1:], args...)...)
	var said tail
	cmd.Stderr = &said
	dir, err := os.MkdirTemp("", "waot-guestfuzz-") // the child may end without removing its files
	if err != nil {
		r.err = err
		return r
	}
	defer os.RemoveAll(dir)
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		r.err = err
		return r
	}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		r.note(line)
	}
	r.err = cmd.Wait()
	r.said = said.b
	return r
}

// note reads a line of a child.
func (r *run) note(line []byte) {
	var x report
	switch err := json.Unmarshal(line, &x); {
	case err != nil:
		os.Stdout.Write(line)
	case x.Sample != nil:
		r.samples = append(r.samples, *x.Sample)
	case x.Counts != nil:
		r.counts = x.Counts
	default:
		r.seeds[x.Worker] = x.Seed
		r.next = max(r.next, x.Seed+1)
	}
}

// explain says what a child has found and how to repeat it.
func (r *run) explain(w io.Writer) {
	fmt.Fprintf(w, "%s\nfound: %v\n", r.said, r.err)
	if strings.HasPrefix(string(r.said), "seed ") {
		seed, _, _ := strings.Cut(string(r.said[len("seed "):]), ":")
		fmt.Fprintf(w, "to repeat it: go run ./internal/proof/guestfuzz/soak -same -workers 1 -n 200 -seed %s\n", seed)
		return
	}
	fmt.Fprintf(w, "the process has ended; one of these episodes was running:\n")
	for _, worker := range slices.Sorted(maps.Keys(r.seeds)) {
		fmt.Fprintf(w, "  go run ./internal/proof/guestfuzz/soak -same -workers 1 -n 200 -seed %d\n", r.seeds[worker])
	}
}

// tail keeps the beginning and the end of what is written.
type tail struct{ b []byte }

// maxSaid is how many bytes of the standard error of a child are kept.
const maxSaid = 256 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if len(t.b) > maxSaid {
		t.b = append(t.b[:maxSaid/2], t.b[len(t.b)-maxSaid/2:]...)
	}
	return len(p), nil
}
