package compare

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"

	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/internal/proof/gobpipe"
	"github.com/waot-project/waot/spectest/nativeengine"
)

// Process is a process, of another machine perhaps, which plays one case after the other.
type Process struct {
	pipe *gobpipe.Process[request, reply]
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
	p, err := gobpipe.Start[request, reply](cmd)
	return &Process{p}, err
}

// Close ends the process and waits for it.
func (p *Process) Close() error { return p.pipe.Close() }

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
	a, err := e.process.pipe.Ask(&q)
	switch {
	case err != nil:
		return nil, err
	case a.Err != "":
		return nil, errors.New(a.Err)
	}
	return a.History, nil
}

// Serve plays cases until r ends.
func Serve(r io.Reader, w io.Writer) error { return gobpipe.Serve(r, w, (*request).play) }

func (q *request) play() *reply {
	h, err := Play(&nativeengine.Engine{Image: q.image}, &q.Case)
	if err != nil {
		return &reply{Err: err.Error()}
	}
	return &reply{History: h}
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
