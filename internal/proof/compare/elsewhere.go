package compare

import (
	"bufio"
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"

	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/spectest/nativeengine"
)

// Process is a process of another machine, which plays one case after the other. Goroutines may share it.
type Process struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	lock sync.Mutex // of both ends of the pipes
	enc  *gob.Encoder
	dec  *gob.Decoder
}

// Elsewhere is native code of a level that a process executes. Modules are compiled here.
type Elsewhere struct {
	name    string
	options compile.Options
	process *Process
}

// request is a case with the objects of its modules.
type request struct {
	Case    Case
	Objects [][]byte
}

// reply is what it did, or why it could not be played.
type reply struct {
	History *History
	Err     string
}

// StartProcess starts a process, which must call Serve on its standard streams. The command's standard input and output must not be set.
func StartProcess(cmd *exec.Cmd) (*Process, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &Process{cmd: cmd, in: in, enc: gob.NewEncoder(in), dec: gob.NewDecoder(bufio.NewReader(out))}, cmd.Start()
}

// Close ends the process and waits for it.
func (p *Process) Close() error {
	p.in.Close()
	return p.cmd.Wait()
}

// With returns the engine that compiles with options, whose target must be the process's machine.
func (p *Process) With(name string, options compile.Options) *Elsewhere {
	return &Elsewhere{name, options, p}
}

// play is Play in the process. The case must be assembled.
func (e *Elsewhere) play(c *Case) (*History, error) {
	q := request{Case: *c}
	for i := range c.Modules {
		r, err := compile.Module(c.Modules[i].Wasm, e.options)
		if err != nil {
			return nil, fmt.Errorf("module %d: %w", i, err)
		}
		var object bytes.Buffer
		if err := r.WriteELF(&object); err != nil {
			return nil, fmt.Errorf("module %d: %w", i, err)
		}
		q.Objects = append(q.Objects, object.Bytes())
	}
	a, err := e.process.ask(&q)
	if err == nil && a.Err != "" {
		err = errors.New(a.Err)
	}
	return a.History, err
}

func (p *Process) ask(q *request) (a reply, err error) {
	p.lock.Lock()
	defer p.lock.Unlock()
	if err := p.enc.Encode(q); err != nil {
		return a, fmt.Errorf("to the process: %w", err)
	}
	if err := p.dec.Decode(&a); err != nil {
		return a, fmt.Errorf("from the process: %w", err)
	}
	return a, nil
}

// Serve plays cases until r ends.
func Serve(r io.Reader, w io.Writer) error {
	dec, enc := gob.NewDecoder(bufio.NewReader(r)), gob.NewEncoder(w)
	for {
		var q request
		switch err := dec.Decode(&q); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		var a reply
		h, err := Play(&nativeengine.Engine{Image: q.image}, &q.Case)
		if a.History = h; err != nil {
			a.Err = err.Error()
		}
		if err := enc.Encode(&a); err != nil {
			return err
		}
	}
}

// image loads the object of a module.
func (q *request) image(wasm []byte) (*inproc.Image, error) {
	for i := range q.Case.Modules {
		if bytes.Equal(q.Case.Modules[i].Wasm, wasm) {
			return load.ELF(q.Objects[i])
		}
	}
	return nil, errors.New("a module that is not of the case")
}
