package guestfuzz

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// Sample is what the process holds while no store is open and no garbage is left.
type Sample struct {
	At       time.Duration // since the beginning
	Episodes int
	// Resident is the memory in use in bytes; the others are numbers of mappings, open files, goroutines and threads.
	Resident, Mappings, Files, Goroutines, Threads int
}

func takeSample() Sample {
	s := Sample{Goroutines: runtime.NumGoroutine()}
	// An emulator says how much it has in use itself, and the race detector's memory grows with all that was ever used.
	if b, err := os.ReadFile("/proc/self/statm"); err == nil && os.Getenv("WAOT_EMULATOR") == "" && !raceDetector {
		var size int
		fmt.Sscan(string(b), &size, &s.Resident)
		s.Resident *= os.Getpagesize()
	}
	if b, err := os.ReadFile("/proc/self/maps"); err == nil {
		s.Mappings = bytes.Count(b, []byte("\n"))
	}
	if d, err := os.ReadDir("/proc/self/fd"); err == nil {
		s.Files = len(d)
	}
	if d, err := os.ReadDir("/proc/self/task"); err == nil {
		s.Threads = len(d)
	}
	return s
}

// quantity is one of the numbers of samples. What a process holds is called flat if a line fitted to the samples, without the
// first third of them, does not rise by more than allowed and a share of its height.
type quantity struct {
	name    string
	of      func(*Sample) int
	allowed float64
	share   float64
	warms   bool // it is judged from warm episodes on
}

func mappings(s *Sample) int { return s.Mappings }

func quantities() []quantity {
	return []quantity{
		{"resident bytes", func(s *Sample) int { return s.Resident }, 8 << 20, 0.1, true},
		{"mappings", mappings, 12, 0.05, true},
		{"open files", func(s *Sample) int { return s.Files }, 1, 0, false},
		{"goroutines", func(s *Sample) int { return s.Goroutines }, 1, 0, false},
		{"threads", func(s *Sample) int { return s.Threads }, 4, 0.2, true},
	}
}

// minSamples is the least number of samples for a judgement.
const minSamples = 6

// warm is after how many episodes a process has all the emptied mappings that closed stores leave for the next ones, some hundred at most.
const warm = 1000

// since returns the samples after that many episodes.
func since(all []Sample, episodes int) []Sample {
	for len(all) > 0 && all[0].Episodes < episodes {
		all = all[1:]
	}
	return all
}

// Flat returns an error that names what has grown. It is nil for few samples.
func Flat(all []Sample) error {
	for _, q := range quantities() {
		judged := all
		if q.warms {
			judged = since(all, warm)
		}
		if len(judged) < minSamples {
			continue
		}
		judged = judged[len(judged)/3:]
		mean, rise := fit(judged, q.of)
		if rise > q.allowed+q.share*mean {
			return fmt.Errorf("%s rise by %.0f in %d samples, their mean is %.0f", q.name, rise, len(judged), mean)
		}
	}
	return nil
}

// fit returns the mean, and how much the line of least squares rises from the first sample to the last.
func fit(all []Sample, of func(*Sample) int) (mean, rise float64) {
	n := float64(len(all))
	middle := (n - 1) / 2
	var slope, weight float64
	for i := range all {
		mean += float64(of(&all[i])) / n
	}
	for i := range all {
		x := float64(i) - middle
		slope += x * (float64(of(&all[i])) - mean)
		weight += x * x
	}
	return mean, slope / weight * (n - 1)
}

// Table shows samples, at most about 20 of them.
func Table(all []Sample) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%8s %10s %12s %9s %6s %11s %8s\n", "time", "episodes", "resident KiB", "mappings", "files", "goroutines", "threads")
	every := max(1, len(all)/20)
	for i, s := range all {
		if i%every == 0 || i == len(all)-1 {
			fmt.Fprintf(&b, "%8s %10d %12d %9d %6d %11d %8d\n", s.At.Round(time.Second), s.Episodes, s.Resident>>10, s.Mappings, s.Files, s.Goroutines, s.Threads)
		}
	}
	return b.String()
}
