package edges

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waot-project/waot/internal/proof/stress/guest"
)

// bench is an engine with what was made to measure it. Things are made when they are first needed.
type bench struct {
	engine   Engine
	ending   context.Context // can end, but does not
	guests   map[bool]Guest  // by whether calls end with their context
	programs map[string]Program
	system   Instance
}

func memo[K comparable, V any](m map[K]V, k K, make func() (V, error)) (V, error) {
	if v, ok := m[k]; ok {
		return v, nil
	}
	v, err := make()
	if err == nil {
		m[k] = v
	}
	return v, err
}

func (b *bench) guest(closing bool) (Guest, error) {
	return memo(b.guests, closing, func() (Guest, error) { return NewGuest(b.engine, closing) })
}

func (b *bench) program(module string) (Program, error) {
	return memo(b.programs, module, func() (Program, error) {
		wasm, err := readModule(module)
		if err != nil {
			return nil, err
		}
		return b.engine.Program(wasm)
	})
}

func (b *bench) close() (err error) {
	if b.system != nil {
		err = b.system.Close()
	}
	for _, p := range b.programs {
		err = errors.Join(err, p.Close())
	}
	for _, g := range b.guests {
		err = errors.Join(err, g.Close())
	}
	return err
}

// suite is the folder of a benchmark suite's modules, or empty.
func suite() string { return os.Getenv("WAOT_BENCH_DIR") }

// Large is the name of the large module: one of the suite, or a program of this tree.
func Large() string {
	if suite() != "" {
		return "sqlite3"
	}
	return "a Go program"
}

func readModule(name string) ([]byte, error) {
	if wasm, ok, err := loopModule(name); ok {
		return wasm, err
	}
	switch {
	case name == "small":
		return guest.Small(), nil
	case name == "system":
		return guest.System(), nil
	case name == "growing":
		return guest.Growing(), nil
	case suite() != "":
		return os.ReadFile(filepath.Join(suite(), "sqlite3", "sqlite3.wasm"))
	}
	dir, err := os.MkdirTemp("", "waot-costs")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "report.wasm")
	cmd := exec.Command("go", "build", "-o", out, "github.com/waot-project/waot/examples/report")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	return os.ReadFile(out)
}

// failed begins the line of an error.
const failed = "failed: "

// Serve measures what lines of standard input name, until it ends. If a module is named, it prints by how much its instances make
// the process grow instead.
func Serve(engine Engine, module string) (err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b := &bench{engine: engine, ending: ctx, guests: map[bool]Guest{}, programs: map[string]Program{}}
	defer func() { err = errors.Join(err, b.close()) }()
	if module != "" {
		return b.printResident(module)
	}
	items := Items(Large())
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		i := slices.IndexFunc(items, func(i Item) bool { return i.Name == in.Text() })
		if i < 0 {
			return fmt.Errorf("there is no %q", in.Text())
		}
		if v, err := items[i].measure(b); err != nil {
			fmt.Printf("%s%q\n", failed, err)
		} else {
			fmt.Println(v)
		}
	}
	return in.Err()
}

// Process is a process that serves.
type Process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// Start starts a program that calls Serve.
func Start(argv ...string) (*Process, error) {
	p := &Process{cmd: exec.Command(argv[0], argv[1:]...)}
	p.cmd.Stderr = os.Stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewScanner(out)
	return p, p.cmd.Start()
}

// Measure asks for one figure.
func (p *Process) Measure(i Item) (float64, error) {
	if _, err := fmt.Fprintln(p.in, i.Name); err != nil {
		return 0, err
	}
	if !p.out.Scan() {
		return 0, errors.Join(io.ErrUnexpectedEOF, p.out.Err())
	}
	if why, ok := strings.CutPrefix(p.out.Text(), failed); ok {
		return 0, errors.New(why)
	}
	return strconv.ParseFloat(p.out.Text(), 64)
}

// Close ends the process.
func (p *Process) Close() error { return errors.Join(p.in.Close(), p.cmd.Wait()) }

// perOp returns the nanoseconds of one of the n operations that f(n) does: n is found so
// that the measurement takes some milliseconds. start begins to measure a time.
func perOp(start func() func() time.Duration, f func(n uint64) error) (float64, error) {
	runtime.GC()
	for n := uint64(1); ; {
		read := start()
		if err := f(n); err != nil {
			return 0, err
		}
		d := read()
		if d > 15*time.Millisecond {
			return float64(d) / float64(n), nil
		}
		n = min(n*100, n*uint64(25*time.Millisecond)/uint64(d+1)+1)
	}
}

func once(f func() error) func(uint64) error {
	return func(n uint64) error {
		for range n {
			if err := f(); err != nil {
				return err
			}
		}
		return nil
	}
}

func elapsed() func() time.Duration {
	t := time.Now()
	return func() time.Duration { return time.Since(t) }
}

func nanos(f func(n uint64) error) (float64, error) { return perOp(elapsed, f) }

func micros(f func(n uint64) error) (float64, error) {
	v, err := perOp(elapsed, f)
	return v / 1000, err
}

// numResident is how many instances are alive when memory is measured.
const numResident = 200

// resident measures memory in a new process.
func resident(kind, module string) (float64, error) {
	cmd := exec.Command("/proc/self/exe", append(os.Args[1:], "-resident", module)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, err
	}
	for _, f := range strings.Fields(string(out)) {
		if v, ok := strings.CutPrefix(f, kind+"="); ok {
			return strconv.ParseFloat(v, 64)
		}
	}
	return 0, fmt.Errorf("no %s in %q", kind, out)
}

// printResident makes instances and prints by how much each makes the process grow.
func (b *bench) printResident(module string) error {
	p, err := b.program(module)
	if err != nil {
		return err
	}
	alive := []Instance{}
	add := func(n int) error {
		for range n {
			i, err := p.Instantiate(wasi(module), nil)
			if err != nil {
				return err
			}
			alive = append(alive, i)
		}
		return nil
	}
	if err := add(1); err != nil { // what is made once
		return err
	}
	before, err := readResident()
	if err != nil {
		return err
	}
	if err := add(numResident); err != nil {
		return err
	}
	after, err := readResident()
	if err != nil {
		return err
	}
	for k := range after {
		fmt.Printf("%s=%.2f ", k, (after[k]-before[k])/numResident)
	}
	for _, i := range alive {
		err = errors.Join(err, i.Close())
	}
	return err
}

// readResident returns the process's memory in KiB, by kind, after a collection of garbage.
func readResident() (map[string]float64, error) {
	debug.FreeOSMemory()
	b, err := os.ReadFile("/proc/self/smaps_rollup")
	if err != nil {
		return nil, err
	}
	r := map[string]float64{}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) == 3 && (f[0] == "Rss:" || f[0] == "Pss:") {
			v, err := strconv.ParseFloat(f[1], 64)
			if err != nil {
				return nil, err
			}
			r[strings.TrimSuffix(f[0], ":")] = v
		}
	}
	return r, nil
}
