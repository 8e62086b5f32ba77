package initialize

import (
	"crypto/sha256"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/wasirun"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/snapshot"
	"github.com/waot-project/waot/wasmfront"
)

// system is what code can reach while it initialises a module. What is refused ends the call, and the initialisation, whatever the program makes of it.
type system struct {
	wasi    *wasirun.System
	options *Options
	given   uint32            // descriptors from the start: the streams and the directories
	open    map[uint32]bool   // those that the program has opened
	flags   map[uint32]uint32 // that the program has given to those from the start
	refused *snapshot.Error   // the first thing that was
}

func newSystem(o *Options, name string) (_ *system, err error) {
	s := &system{options: o, given: 3 + uint32(len(o.Dirs)), open: map[uint32]bool{}, flags: map[uint32]uint32{}}
	w := &wasirun.Options{Args: o.Args, Env: o.Env, Dirs: o.Dirs, Stdin: refusedStream{s}, Stdout: o.Output, Stderr: o.Output}
	if o.Args == nil {
		w.Args = []string{name}
	}
	if o.Output == nil {
		w.Stdout, w.Stderr = refusedStream{s}, refusedStream{s}
	}
	now := o.Time.UnixNano()
	clock := func() int64 {
		now += int64(time.Microsecond)
		return now
	}
	w.Walltime, w.Monotonic, w.Nanosleep = clock, clock, func(d time.Duration) { now += max(0, int64(d)) }
	if o.Seed != "" {
		w.Rand = rand.NewChaCha8(sha256.Sum256([]byte(o.Seed)))
	}
	s.wasi, err = wasirun.NewSystem(w)
	return s, err
}

func (s *system) close() { s.wasi.Close() }

// refuse notes and returns what is refused.
func (s *system) refuse(format string, args ...any) error {
	if s.refused == nil {
		s.refused = snapshot.Errorf("the program "+format, args...)
	}
	return s.refused
}

// refusedStream is a stream of which there is nothing.
type refusedStream struct{ s *system }

func (r refusedStream) Read([]byte) (int, error) { return 0, r.s.refuse("reads standard input") }
func (r refusedStream) Write([]byte) (int, error) {
	return 0, r.s.refuse("writes to standard output, and nobody has said where that goes")
}

var _ io.ReadWriter = refusedStream{}

// rule is what becomes of a function of WASI. needs returns why it is refused, or nothing; done looks at a call that has succeeded.
type rule struct {
	needs func(o *Options) string
	done  func(s *system, c *host.Caller, args []uint64) error
}

// setFlagsName is the function that changes the flags of a descriptor.
const setFlagsName = "fd_fdstat_set_flags"

// rules are those functions that do more, or less, than they do elsewhere.
var rules = map[string]rule{
	"clock_time_get": {needs: clock},
	"clock_res_get":  {needs: clock},
	"poll_oneoff":    {needs: clock},
	"random_get": {needs: func(o *Options) string {
		if o.Seed != "" {
			return ""
		}
		return "asks for random numbers, and no seed is given"
	}},
	"path_open":            {done: opens(8)},
	"sock_accept":          {done: opens(2)},
	"fd_close":             {done: (*system).closes},
	"fd_renumber":          {done: (*system).renumbers},
	setFlagsName:           {done: (*system).setsFlags},
	"fd_fdstat_set_rights": {done: (*system).setsRights},
}

func clock(o *Options) string {
	if !o.Time.IsZero() {
		return ""
	}
	return "looks at a clock, and no time is given"
}

// opens is for functions that write the number of a new descriptor where an argument says.
func opens(arg int) func(*system, *host.Caller, []uint64) error {
	return func(s *system, c *host.Caller, args []uint64) error {
		if fd, ok := c.Memory().ReadUint32(uint32(args[arg])); ok {
			s.open[fd] = true
		}
		return nil
	}
}

func (s *system) closes(_ *host.Caller, args []uint64) error {
	fd := uint32(args[0])
	if fd < s.given && !s.open[fd] {
		return s.refuse("closes descriptor %d, which it was given", fd)
	}
	delete(s.open, fd)
	return nil
}

func (s *system) renumbers(_ *host.Caller, args []uint64) error {
	from, to := uint32(args[0]), uint32(args[1])
	if from < s.given || to < s.given {
		return s.refuse("renumbers descriptor %d to %d, of those that it was given", from, to)
	}
	delete(s.open, from)
	s.open[to] = true
	return nil
}

// setsFlags notes flags, which each instance sets again.
func (s *system) setsFlags(_ *host.Caller, args []uint64) error {
	if fd := uint32(args[0]); fd < s.given && !s.open[fd] {
		s.flags[fd] = uint32(args[1])
	}
	return nil
}

func (s *system) setsRights(_ *host.Caller, args []uint64) error {
	if fd := uint32(args[0]); fd < s.given && !s.open[fd] {
		return s.refuse("changes the rights of descriptor %d, which it was given", fd)
	}
	return nil
}

// left returns what a snapshot cannot have: files that are open.
func (s *system) left() error {
	lowest := uint32(1<<32 - 1)
	for fd := range s.open {
		lowest = min(lowest, fd)
	}
	if len(s.open) > 0 {
		return snapshot.Errorf("the program has left descriptor %d open; a snapshot has only those that the program was given", lowest)
	}
	return nil
}

// calls are those that each instance makes again.
func (s *system) calls(m *wasmfront.Module) (calls []snapshot.Call) {
	for i := range m.Imports {
		imp := &m.Imports[i]
		if imp.Module != abi.WASIModule || imp.Name != setFlagsName {
			continue
		}
		for _, fd := range slices.Sorted(maps.Keys(s.flags)) {
			calls = append(calls, snapshot.Call{Func: imp.Index, Args: []uint32{fd, s.flags[fd]}})
		}
		return calls
	}
	return nil
}

// imports are the functions of WASI, as far as they are not refused.
func (s *system) imports() host.Imports {
	all := s.wasi.Imports()
	funcs := all[abi.WASIModule]
	for name, r := range rules {
		f := funcs[name].(host.RawFunc)
		inner := f.Func
		f.Func = func(c *host.Caller, args, results []uint64) error {
			if r.needs != nil {
				if why := r.needs(s.options); why != "" {
					return s.refuse("%s", why)
				}
			}
			if err := inner(c, args, results); err != nil || results[0] != 0 || r.done == nil {
				return err
			}
			return r.done(s, c, args)
		}
		funcs[name] = f
	}
	return all
}
