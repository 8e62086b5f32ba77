// Package protocol is what engines tell a driver of benchmarks: one line of JSON in the file that the environment names.
//
// Place in the pipeline: none.
//
// Input: what a run measures.
// Output: the line.
package protocol

import (
	"encoding/json"
	"errors"
	"os"
	"syscall"
	"time"
	"unsafe"
)

// Variable is the environment's name of the file to which Emit appends.
const Variable = "WASMBENCH_RESULT"

// Result is the line.
type Result struct {
	CompileNS    int64  `json:"compile_ns,omitempty"`     // wall
	CompileCPUNS int64  `json:"compile_cpu_ns,omitempty"` // user and system, all threads
	CompileRSSKB int64  `json:"compile_rss_kb,omitempty"` // the process's peak, at the end of compiling
	CodeBytes    int    `json:"code_bytes,omitempty"`
	ExecNS       int64  `json:"exec_ns,omitempty"` // from bench.start to bench.end, or, by engines that have a Stopwatch, of all of a run without marks
	ExecCPUNS    int64  `json:"exec_cpu_ns,omitempty"`
	Err          string `json:"err,omitempty"`
}

// Emit appends the line to the file, or writes it to standard error if there is none.
func (r *Result) Emit() error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	b = append(b, '\n')
	name := os.Getenv(Variable)
	if name == "" {
		_, err = os.Stderr.Write(b)
		return err
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Close())
}

// Clock reads both times since Start.
type Clock struct {
	start time.Time
	cpu   int64
}

// Start begins to measure.
func Start() Clock { return Clock{time.Now(), cpuTime()} }

// Read returns nanoseconds since Start: of the wall clock, and user and system time of this process.
func (c Clock) Read() (wall, cpu int64) { return time.Since(c.start).Nanoseconds(), cpuTime() - c.cpu }

// Stopwatch measures from bench.start to bench.end. Whoever starts it before a module runs has the time of all of it if the module has no
// marks.
type Stopwatch struct {
	clock     Clock
	ended     bool
	wall, cpu int64
}

// Start begins to measure, or begins again.
func (s *Stopwatch) Start() { s.clock, s.ended = Start(), false }

// End ends what is measured.
func (s *Stopwatch) End() {
	s.wall, s.cpu = s.clock.Read()
	s.ended = true
}

// Read returns nanoseconds from the latest Start to the End behind it, or to now: of the wall clock, and user and system time.
func (s *Stopwatch) Read() (wall, cpu int64) {
	if !s.ended {
		s.End()
	}
	return s.wall, s.cpu
}

// cpuTime returns the user and system time of this process.
func cpuTime() int64 {
	const clockProcessCPU = 2
	var t syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockProcessCPU, uintptr(unsafe.Pointer(&t)), 0)
	return t.Nano()
}
