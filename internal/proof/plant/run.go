//go:build linux

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	maxMemory = 8 << 30 // bytes resident, of all processes of a run
	poll      = 200 * time.Millisecond
	// A run that takes at most idle of processor time during patience waits for something that never happens.
	idle     = 50 * time.Millisecond
	patience = time.Minute
)

// usage is what a run takes, or may take: processor time, and time by the clock. The limit of processor time ends a run that
// a fault has made endless. The other limit is generous, since the machine may be busy.
type usage struct{ cpu, wall time.Duration }

// errRunaway is that of a command that was ended by a limit.
type errRunaway struct{ what string }

func (e errRunaway) Error() string { return e.what }

// limited runs a command in a session of its own and kills all processes of that when a limit is reached.
func limited(ctx context.Context, cmd *exec.Cmd, max usage) (usage, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return usage{}, err
	}
	session := cmd.Process.Pid
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	ticks := time.NewTicker(poll)
	defer ticks.Stop()
	defer killSession(session)
	var over error
	waits := newWatch(start)
	for {
		select {
		case err := <-done:
			s := cmd.ProcessState
			return usage{s.UserTime() + s.SystemTime(), time.Since(start)}, cmp.Or(over, err)
		case <-ticks.C:
		}
		cpu, memory := sessionUsage(session)
		switch {
		case over != nil:
			continue
		case ctx.Err() != nil:
			over = ctx.Err()
		case cpu > max.cpu:
			over = errRunaway{fmt.Sprint("more than ", max.cpu.Round(time.Second), " of processor time")}
		case memory > maxMemory:
			over = errRunaway{fmt.Sprint("more than ", maxMemory>>30, " GiB")}
		case waits.tooLong(time.Now(), cpu):
			over = errRunaway{fmt.Sprint("nothing for ", patience)}
		case time.Since(start) > max.wall:
			over = errRunaway{fmt.Sprint("more than ", max.wall.Round(time.Second))}
		default:
			continue
		}
		killSession(session)
	}
}

// watch notices that a run waits.
type watch struct {
	since time.Time
	cpu   time.Duration // then
}

func newWatch(start time.Time) *watch { return &watch{since: start} }

// tooLong reports whether a run that has used so much processor time by now has waited for longer than patience.
func (w *watch) tooLong(now time.Time, cpu time.Duration) bool {
	if cpu > w.cpu+idle {
		w.since, w.cpu = now, cpu
	}
	return now.Sub(w.since) > patience
}

// process holds the facts about a process from /proc.
type process struct {
	pid, session int
	cpu          time.Duration // with that of children that have ended
	memory       int64         // bytes resident
}

// hertz is the unit in which Linux counts processor time in /proc, on all machines.
const hertz = 100

// sessionProcesses lists the processes of a session.
func sessionProcesses(session int) (list []process) {
	paths, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		// The name, in parentheses, may contain anything.
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		field := func(number int) int64 { // numbers as in proc(5)
			v, _ := strconv.ParseInt(fields[number-3], 10, 64)
			return v
		}
		if len(fields) < 24 || int(field(6)) != session {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		ticks := field(14) + field(15) + field(16) + field(17)
		list = append(list, process{pid, session, time.Duration(ticks) * time.Second / hertz, field(24) * int64(os.Getpagesize())})
	}
	return list
}

func sessionUsage(session int) (cpu time.Duration, memory int64) {
	for _, p := range sessionProcesses(session) {
		cpu, memory = cpu+p.cpu, memory+p.memory
	}
	return cpu, memory
}

// killSession kills the processes of a session that are left.
func killSession(session int) {
	for _, p := range sessionProcesses(session) {
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
	}
}

// verdict is the result of trying a fault.
type verdict struct {
	status status
	by     string // what noticed it
}

// status is what has become of a fault that is tried.
type status uint8

const (
	undecided status = iota // other tests might notice it
	survived
	killed
	ranAway
	noCode
	numStatuses
)

func (s status) String() string {
	return [numStatuses]string{undecided: "undecided", survived: "survived", killed: "killed", ranAway: "ran away", noCode: "does not compile"}[s]
}

// laboratory builds and runs tests of a tree.
type laboratory struct {
	root    string // of the tree
	dir     string // for what it writes
	without map[run]usage
	// spare is what a run may take beyond a multiple of what it takes without a fault.
	spare usage
	// asleep has the faults that need no build of their own.
	asleep sleepers
}

// limits returns what tests with a fault may take.
func (l *laboratory) limits(r run) usage {
	without := l.without[r]
	return usage{3*without.cpu + l.spare.cpu, 10*without.wall + l.spare.wall}
}

// try plants a fault and runs tests that should notice it. An error says that they fail without the fault, or that the context has ended.
func (l *laboratory) try(ctx context.Context, f *fault, r run) (verdict, error) {
	if number := l.asleep.numbers[f]; number != "" {
		return l.wake(ctx, number, r)
	}
	overlay, err := l.overlay(f)
	if err != nil {
		return verdict{}, err
	}
	if err := l.withoutFault(ctx, r); err != nil {
		return verdict{}, err
	}
	binary := filepath.Join(l.dir, "fault.test")
	if out, err := l.build(ctx, binary, r, overlay); err != nil {
		// The package alone is built only now, as that takes as long as building the tests of a small one.
		pkg := "./" + filepath.ToSlash(filepath.Dir(f.file))
		if _, err := l.goCommand(ctx, "build", "-overlay="+overlay, "-o", os.DevNull, pkg); err != nil {
			return verdict{noCode, ""}, ctx.Err()
		}
		return verdict{killed, lastLine(out)}, ctx.Err()
	}
	out, _, err := l.test(ctx, binary, r, overlay, "", l.limits(r))
	return judge(ctx, out, err)
}

// judge says what has become of a fault from how a run with it ended.
func judge(ctx context.Context, out []byte, err error) (verdict, error) {
	var runaway errRunaway
	switch {
	case ctx.Err() != nil:
		return verdict{}, ctx.Err()
	case errors.As(err, &runaway):
		return verdict{ranAway, runaway.what}, nil
	case err != nil:
		return verdict{killed, firstFailure(out)}, nil
	}
	return verdict{undecided, ""}, nil
}

// overlay writes the file with the fault and what go build wants to know of it.
func (l *laboratory) overlay(f *fault) (string, error) {
	path := filepath.Join(l.root, f.file)
	src, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	planted := filepath.Join(l.dir, "fault.go")
	if err := os.WriteFile(planted, f.apply(src), 0o666); err != nil {
		return "", err
	}
	overlay := filepath.Join(l.dir, "overlay.json")
	return overlay, writeOverlay(overlay, map[string]string{path: planted})
}

// writeOverlay writes what go build wants to know of files that are elsewhere.
func writeOverlay(file string, elsewhere map[string]string) error {
	text, err := json.Marshal(map[string]map[string]string{"Replace": elsewhere})
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o666)
}

// withoutFault runs tests without a fault, once: they must pass, and what they take gives the limits for those with one.
func (l *laboratory) withoutFault(ctx context.Context, r run) error {
	if _, ok := l.without[r]; ok {
		return nil
	}
	binary := filepath.Join(l.dir, "sound.test")
	if out, err := l.build(ctx, binary, r, ""); err != nil {
		return fmt.Errorf("%v: %w\n%s", r, err, out)
	}
	return l.sound(ctx, binary, r, "")
}

// sound runs tests in which no fault is planted, or awake.
func (l *laboratory) sound(ctx context.Context, binary string, r run, overlay string) error {
	out, took, err := l.test(ctx, binary, r, overlay, "", usage{time.Hour, time.Hour})
	if err != nil {
		return fmt.Errorf("%v fails without a fault: %w\n%s", r, err, out)
	}
	l.without[r] = took
	return nil
}

func (l *laboratory) goCommand(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = l.root
	return cmd.CombinedOutput()
}

func (l *laboratory) build(ctx context.Context, binary string, r run, overlay string) ([]byte, error) {
	args := []string{"test", "-c", "-vet=off", "-ldflags=-w", "-o", binary}
	if overlay != "" {
		args = append(args, "-overlay="+overlay)
	}
	os.Remove(binary)
	out, err := l.goCommand(ctx, append(args, "./"+r.pkg)...)
	if err == nil {
		_, err = os.Stat(binary) // a package without tests gives none
	}
	return out, err
}

// test runs a test binary where go test runs it, with the fault awake that has the number, if any. Programs that the tests build have the fault, too.
func (l *laboratory) test(ctx context.Context, binary string, r run, overlay, number string, max usage) ([]byte, usage, error) {
	cmd := exec.Command(binary, "-test.failfast", "-test.timeout=0", "-test.paniconexit0", "-test.run="+r.pattern, "-test.short="+strconv.FormatBool(!r.long))
	cmd.Dir = filepath.Join(l.root, r.pkg)
	cmd.Env = append(os.Environ(), "PWD="+cmd.Dir, envAwake+"="+number)
	if overlay != "" {
		cmd.Env = append(cmd.Env, "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -overlay="+overlay))
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	took, err := limited(ctx, cmd, max)
	return out.Bytes(), took, err
}

var failure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)|^(panic: .*|fatal error: .*|SIG[A-Z]+: .*)`)

// firstFailure returns the innermost test that the output names first as failed, or what ended the process.
func firstFailure(out []byte) string {
	name := ""
	for _, m := range failure.FindAllSubmatch(out, -1) {
		switch {
		case m[1] == nil:
			return cmp.Or(name, string(m[2]))
		case name == "" || strings.HasPrefix(string(m[1]), name+"/"):
			name = string(m[1])
		}
	}
	return cmp.Or(name, lastLine(out))
}

func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}
