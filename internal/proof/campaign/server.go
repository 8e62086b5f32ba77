package campaign

import (
	"bufio"
	"cmp"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/internal/proof/moving"
	"github.com/waot-project/waot/internal/proof/randprog"
	"github.com/waot-project/waot/spectest/nativeengine"
)

// request asks a process to run a program once for each object of its module. Of the program there is neither
// module.
type request struct {
	Program randprog.Program
	Env     *environment
	Objects [][]byte
}

// endless is the outcome's text for an object that took too long.
const endless = "it does not end"

// startLimit bounds the start of a process.
const startLimit = 5 * time.Minute

// maxRun bounds how long one object may run, in case the client is gone. A live client ends slow objects much earlier.
const maxRun = 10 * time.Minute

// Serve runs programs for the process at the other end of the pipes, until r ends, so that compiled code can break only this
// process. It sends one reply for each object, and an empty reply at the start, so that the time to start, which is long in an
// emulator, does not count for an object.
func Serve(r io.Reader, w io.Writer) error {
	out := bufio.NewWriter(w)
	dec, enc := gob.NewDecoder(bufio.NewReader(r)), gob.NewEncoder(out)
	reply := func(o *randprog.Outcome) error {
		if err := enc.Encode(o); err != nil {
			return err
		}
		return out.Flush()
	}
	if err := reply(&randprog.Outcome{}); err != nil { // it is up
		return err
	}
	for {
		var q request
		switch err := dec.Decode(&q); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		for _, object := range q.Objects {
			p := q.Program
			e, env := q.Env.engine(object)
			p.Env, p.Wasm = env, object
			e.Config.CollectAlways = p.CollectAlways
			watchdog := time.AfterFunc(maxRun, func() { os.Exit(1) })
			o := randprog.Run(e, &p)
			watchdog.Stop()
			if err := reply(o); err != nil {
				return err
			}
		}
	}
}

// environment is what programs import, without and with explicit bounds checks: objects.
type environment struct{ Guarded, Checked []byte }

// engine returns what runs an object, and what it imports. Memories of objects with explicit bounds checks move whenever they grow.
func (x *environment) engine(object []byte) (*nativeengine.Engine, []byte) {
	img, err := load.ELF(object)
	e := &nativeengine.Engine{Image: func(module []byte) (*inproc.Image, error) {
		if &module[0] != &object[0] {
			return load.ELF(module)
		}
		return img, err
	}}
	if err == nil && slices.ContainsFunc(img.Meta.Memories, func(m meta.Memory) bool { return m.Checked }) {
		e.Config.Allocator = moving.Allocator{}
		return e, x.Checked
	}
	return e, x.Guarded
}

// process is a process that serves, started when it is needed.
type process struct {
	command func() *exec.Cmd
	launch  func(*exec.Cmd) error // nil for the command's own Start
	timeout time.Duration         // for one object
	// perProcess is how many programs one process runs, maxBytes how much memory it may have.
	perProcess int
	maxBytes   uint64

	cmd    *exec.Cmd
	in     io.Closer
	out    *bufio.Writer
	enc    *gob.Encoder
	dec    *gob.Decoder
	served int
	starts int
	peak   uint64 // bytes
}

func (s *process) start() error {
	cmd := s.command()
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	start := (*exec.Cmd).Start
	if s.launch != nil {
		start = s.launch
	}
	if err := start(cmd); err != nil {
		return err
	}
	s.cmd, s.in, s.out, s.served = cmd, in, bufio.NewWriter(in), 0
	s.enc, s.dec = gob.NewEncoder(s.out), gob.NewDecoder(bufio.NewReader(out))
	s.starts++
	if _, late, err := s.reply(startLimit); err != nil {
		how := cmp.Or(s.stop(), err)
		return fmt.Errorf("a process does not start (late: %t): %w", late, how)
	}
	return nil
}

// reply waits for a reply, and ends the process if it takes longer than limit.
func (s *process) reply(limit time.Duration) (o *randprog.Outcome, late bool, err error) {
	o = &randprog.Outcome{}
	proc, killed := s.cmd.Process, make(chan struct{})
	timer := time.AfterFunc(limit, func() { proc.Kill(); close(killed) })
	err = s.dec.Decode(o)
	if !timer.Stop() {
		<-killed
		late, err = true, cmp.Or(err, errors.New("too late"))
	}
	return o, late, err
}

// stop ends the process and says how it ended.
func (s *process) stop() error {
	if s.cmd == nil {
		return nil
	}
	s.in.Close()
	err := s.cmd.Wait()
	s.cmd = nil
	return err
}

// run runs a program as each of the objects. If a process ends or takes too long, that is the outcome of the object that it was
// running. An error means that no process can be started.
func (s *process) run(p *randprog.Program, env *environment, objects [][]byte) ([]*randprog.Outcome, error) {
	if s.cmd != nil && (s.served >= s.perProcess || s.memory() > s.maxBytes) {
		if err := s.stop(); err != nil {
			return nil, fmt.Errorf("a process at its end: %w", err)
		}
	}
	var list []*randprog.Outcome
	for len(list) < len(objects) {
		if s.cmd == nil {
			if err := s.start(); err != nil {
				return nil, err
			}
		}
		q := request{Program: *p, Env: env, Objects: objects[len(list):]}
		q.Program.Wasm, q.Program.Env = nil, nil
		s.served++
		err := s.enc.Encode(&q)
		if err == nil {
			err = s.out.Flush()
		}
		late := false
		for err == nil && len(list) < len(objects) {
			var o *randprog.Outcome
			if o, late, err = s.reply(s.timeout); err == nil {
				list = append(list, o)
			}
		}
		if err != nil {
			how := cmp.Or(s.stop(), err)
			o := &randprog.Outcome{Failed: "the process has ended: " + randprog.FirstLine(how)}
			if late {
				o.Failed = endless
			}
			list = append(list, o)
		}
	}
	return list, nil
}

// memory returns the resident memory of the process in bytes, or 0 if unknown.
func (s *process) memory() uint64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.cmd.Process.Pid))
	if f := strings.Fields(string(b)); err == nil && len(f) > 1 {
		n, _ := strconv.ParseUint(f[1], 10, 64)
		n *= uint64(os.Getpagesize())
		s.peak = max(s.peak, n)
		return n
	}
	return 0
}
