package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/tetratelabs/wazero/api"
	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/internal/expctxkeys"
	"github.com/tetratelabs/wazero/sys"

	"github.com/waot-project/waot/wasi"
)

// SystemConfig is what an instance can reach.
type SystemConfig struct {
	Args               []string
	Env                [][2]string
	Stdin              io.Reader
	Stdout, Stderr     io.Writer
	Rand               io.Reader
	Walltime           sys.Walltime
	WalltimeResolution sys.ClockResolution
	Nanotime           sys.Nanotime
	NanotimeResolution sys.ClockResolution
	Nanosleep          sys.Nanosleep
	Osyield            sys.Osyield
	Mounts             []Mount
}

// Mount is a file system and its place in the guest.
type Mount struct {
	FS    experimentalsys.FS
	Guest string
}

// Mountable is a file system that WASI can serve.
type Mountable interface{ Preopen() (wasi.Preopen, error) }

// System is what an instance can reach, by WASI and by the functions of AssemblyScript.
type System struct {
	config SystemConfig
	mu     sync.Mutex // of wasi and done, except while a Go function of the program runs
	wasi   *wasi.Context
	done   <-chan struct{} // interrupts the call that has mu
}

// newSystem checks the settings, fills in the defaults, and opens what they name.
func newSystem(ctx context.Context, c *SystemConfig) (*System, error) {
	s := &System{config: *c}
	d := &s.config
	o := &wasi.Options{Args: d.Args, Stdin: s.input(d.Stdin), Stdout: s.output(d.Stdout), Stderr: s.output(d.Stderr)}
	for _, a := range d.Args {
		if strings.IndexByte(a, 0) >= 0 {
			return nil, errors.New("args invalid: contains NUL character")
		}
	}
	for _, e := range d.Env {
		switch {
		case e[0] == "":
			return nil, errors.New("environ invalid: empty key")
		case strings.IndexByte(e[0], '=') >= 0:
			return nil, errors.New("environ invalid: key contains '=' character")
		case strings.IndexByte(e[0]+e[1], 0) >= 0:
			return nil, errors.New("environ invalid: contains NUL character")
		}
		o.Env = append(o.Env, e[0]+"="+e[1])
	}
	ownRand := d.Rand != nil
	if err := d.defaults(); err != nil {
		return nil, err
	}
	o.Rand = d.Rand
	if ownRand {
		o.Rand = outsideReader{s, d.Rand}
	}
	o.Monotonic = func() (t int64) {
		s.outside(func() { t = d.Nanotime() })
		return t
	}
	o.Walltime = func() (t int64) {
		s.outside(func() {
			sec, nsec := d.Walltime()
			t = sec*1e9 + int64(nsec)
		})
		return t
	}
	o.Nanosleep = func(t time.Duration) { s.outside(func() { d.Nanosleep(int64(t)) }) }
	for _, m := range d.Mounts {
		p, err := preopen(m)
		if err != nil {
			return nil, err
		}
		o.Preopens = append(o.Preopens, p)
	}
	sockets, err := listen(ctx)
	o.Sockets = sockets
	if err == nil {
		s.wasi, err = wasi.New(o)
	}
	for _, f := range sockets {
		f.Close()
	}
	return s, err
}

// input is standard input as WASI reads it.
func (s *System) input(r io.Reader) io.Reader {
	switch r.(type) {
	case nil, *os.File:
		return r
	}
	return reader{outsideReader{s, r}}
}

// output is a standard stream as WASI writes to it.
func (s *System) output(w io.Writer) io.Writer {
	switch w.(type) {
	case nil, *os.File:
		return w
	}
	return streamWriter{s, w}
}

// outsideReader is a reader of the program, which may wait, and call the guest.
type outsideReader struct {
	s *System
	r io.Reader
}

func (r outsideReader) Read(b []byte) (n int, err error) {
	r.s.outside(func() { n, err = r.r.Read(b) })
	return n, err
}

// reader is one whose closed pipe is an input/output error.
type reader struct{ outsideReader }

func (r reader) Read(b []byte) (int, error) {
	n, err := r.outsideReader.Read(b)
	return n, pipeError(err)
}

// streamWriter is like reader.
type streamWriter struct {
	s *System
	w io.Writer
}

func (w streamWriter) Write(b []byte) (n int, err error) {
	w.s.outside(func() { n, err = w.w.Write(b) })
	return n, pipeError(err)
}

// outside calls a function of the program in the middle of a call, while other calls, also by that function, may go on.
func (s *System) outside(f func()) {
	done := s.done
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.interruptBy(done)
	}()
	f()
}

// interruptBy lets a channel interrupt the call that has the mutex.
func (s *System) interruptBy(done <-chan struct{}) {
	s.done = done
	s.wasi.SetInterrupt(done)
}

func pipeError(err error) error {
	if err == io.ErrClosedPipe {
		return experimentalsys.EIO
	}
	return err
}

// The default clocks and random numbers are the same in each run.
const (
	fakeStep  = int64(time.Millisecond)
	fakeEpoch = int64(1640995200) * int64(time.Second) // the beginning of 2022
	fakeSeed  = 42
)

// defaults fills in what is not set.
func (c *SystemConfig) defaults() error {
	if c.Rand == nil {
		c.Rand = &fakeRand{}
	}
	if c.Walltime == nil {
		next := counter(fakeEpoch)
		c.Walltime = func() (int64, int32) { t := next(); return t / 1e9, int32(t % 1e9) }
		c.WalltimeResolution = sys.ClockResolution(time.Microsecond)
	}
	if c.Nanotime == nil {
		c.Nanotime, c.NanotimeResolution = counter(0), 1
	}
	if c.Nanosleep == nil {
		c.Nanosleep = func(int64) {}
	}
	if c.Osyield == nil {
		c.Osyield = func() {}
	}
	for _, clock := range []struct {
		name       string
		resolution sys.ClockResolution
	}{{"Walltime", c.WalltimeResolution}, {"Nanotime", c.NanotimeResolution}} {
		if clock.resolution < 1 || time.Duration(clock.resolution) > time.Hour {
			return fmt.Errorf("invalid %s resolution: %d", clock.name, clock.resolution)
		}
	}
	return nil
}

// fakeRand is a source of random numbers that is seeded when it is first read: that takes longer than an instance.
type fakeRand struct{ source *rand.Rand }

// Read implements io.Reader.
func (r *fakeRand) Read(b []byte) (int, error) {
	if r.source == nil {
		r.source = rand.New(rand.NewSource(fakeSeed))
	}
	return r.source.Read(b)
}

// counter is a clock that advances by a step at each reading.
func counter(first int64) func() int64 {
	var mu sync.Mutex
	next := first
	return func() int64 {
		mu.Lock()
		defer mu.Unlock()
		t := next
		next += fakeStep
		return t
	}
}

// preopen is a mount as WASI has it.
func preopen(m Mount) (wasi.Preopen, error) {
	x, ok := m.FS.(Mountable)
	if !ok {
		return wasi.Preopen{}, fmt.Errorf("mount %q: waot cannot serve a %T: only those of package experimental/sysfs, and any io/fs.FS", m.Guest, m.FS)
	}
	p, err := x.Preopen()
	p.Guest = m.Guest
	if CleanGuestPath(m.Guest) == "" {
		p.Guest = "/"
	}
	return p, err
}

// CleanGuestPath is the part of a guest's path that names something: without slashes around it and dots in front.
func CleanGuestPath(p string) string {
	for {
		switch {
		case strings.HasPrefix(p, "/"):
			p = p[1:]
		case strings.HasPrefix(p, "./"):
			p = p[2:]
		case p == ".":
			return ""
		default:
			return strings.TrimRight(p, "/")
		}
	}
}

// listen opens the sockets that a context asks for.
func listen(ctx context.Context) (files []*os.File, err error) {
	addresses, _ := ctx.Value(expctxkeys.SockConfigKey{}).([]string)
	for _, a := range addresses {
		l, err := net.Listen("tcp", a)
		if err != nil {
			return files, err
		}
		f, err := l.(*net.TCPListener).File()
		l.Close()
		if err != nil {
			return files, err
		}
		files = append(files, f)
	}
	return files, nil
}

// close closes the descriptors. It may be called more than once, and for a nil system.
func (s *System) close() {
	if s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.wasi.Close()
	}
}

// Rand is the source of random numbers.
func (s *System) Rand() io.Reader { return s.config.Rand }

// Stdout and Stderr are the standard streams; nothing is read from them if they are not set.
func (s *System) Stdout() io.Writer { return writer(s.config.Stdout) }

// Stderr is like Stdout.
func (s *System) Stderr() io.Writer { return writer(s.config.Stderr) }

func writer(w io.Writer) io.Writer {
	if w == nil {
		return io.Discard
	}
	return w
}

// WASIFunctions are the functions of WASI preview 1, which serve the instance that calls them.
func WASIFunctions() []*HostFunc {
	all := wasi.Functions()
	list, byName := make([]*HostFunc, len(all)), map[string]*wasi.Func{}
	for i := range all {
		byName[all[i].Name] = &all[i]
	}
	for i := range all {
		w := &all[i]
		params, results := wasi.Types(w, api.ValueTypeI32, api.ValueTypeI64)
		h := &HostFunc{ExportName: w.Name, Params: params, Results: results, ParamNames: wasiParams[w.Name], Fn: wasiFunction(w, answers(w, byName)), HoldsMemory: true}
		if len(results) > 0 {
			h.ResultNames = []string{"errno"}
		}
		list[i] = h
	}
	return list
}

// wasiFunction is a function of WASI for any instance.
func wasiFunction(w *wasi.Func, call wasiCall) api.GoModuleFunc {
	n := len(w.Params)
	switch w.Name {
	case "sched_yield":
		return func(_ context.Context, m api.Module, stack []uint64) {
			m.(*Instance).sys.config.Osyield()
			stack[0] = 0
		}
	case "clock_res_get":
		return clockResGet
	case "clock_time_get":
		return clockTimeGet
	case "proc_exit":
		return func(ctx context.Context, m api.Module, stack []uint64) {
			m.(*Instance).wasiError(ctx, &wasi.ExitError{Code: uint32(stack[0])})
		}
	}
	return func(ctx context.Context, mod api.Module, stack []uint64) {
		m := mod.(*Instance)
		var done <-chan struct{}
		if m.rt.config.CloseOnContextDone {
			done = ctx.Done()
		}
		var errno uint32
		var err error
		m.mem.Load().Hold(func(mem []byte) { errno, err = m.sys.call(call, done, mem, stack[:n]) })
		if err != nil {
			m.wasiError(ctx, err)
		}
		if len(w.Results) > 0 {
			stack[0] = uint64(errno)
		}
	}
}

// call calls a function. It may wait, while other goroutines use the instance: their calls of such functions wait for it, unless it is in a Go
// function of the program.
func (s *System) call(call wasiCall, done <-chan struct{}, mem []byte, params []uint64) (uint32, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interruptBy(done)
	return call(s.wasi, mem, params)
}

// wasiError ends a call: the program ends itself, or the context has ended.
func (m *Instance) wasiError(ctx context.Context, err error) {
	var exit *wasi.ExitError
	switch {
	case errors.As(err, &exit):
		m.CloseWithExitCode(ctx, exit.Code)
		err = sys.NewExitError(exit.Code)
	case errors.Is(err, wasi.ErrInterrupted):
		m.CloseWithExitCode(ctx, exitCode(ctx.Err()))
		err = m.exitError()
	}
	panic(err)
}

// clockResGet gives the resolutions that the program has set.
func clockResGet(_ context.Context, mod api.Module, stack []uint64) {
	m := mod.(*Instance)
	var r sys.ClockResolution
	switch uint32(stack[0]) {
	case 0:
		r = m.sys.config.WalltimeResolution
	case 1:
		r = m.sys.config.NanotimeResolution
	default:
		stack[0] = uint64(wasi.ErrnoInval)
		return
	}
	m.answer(stack, stack[1], uint64(r))
}

// clockTimeGet gives the times of the clocks that the program has set. There is none of the time of the processor.
func clockTimeGet(_ context.Context, mod api.Module, stack []uint64) {
	m := mod.(*Instance)
	var t int64
	switch uint32(stack[0]) {
	case 0:
		sec, nsec := m.sys.config.Walltime()
		t = sec*1e9 + int64(nsec)
	case 1:
		t = m.sys.config.Nanotime()
	default:
		stack[0] = uint64(wasi.ErrnoInval)
		return
	}
	m.answer(stack, stack[2], uint64(t))
}

// answer writes a result to the memory, and the error number to the stack.
func (m *Instance) answer(stack []uint64, at, result uint64) {
	stack[0] = uint64(wasi.ErrnoSuccess)
	if mem := m.Memory(); mem == nil || !mem.WriteUint64Le(uint32(at), result) {
		stack[0] = uint64(wasi.ErrnoFault)
	}
}
