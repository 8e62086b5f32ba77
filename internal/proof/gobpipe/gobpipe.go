// Package gobpipe has another process, which may belong to another machine, answer one request after the other over its standard streams.
//
// Place in the pipeline: none; for tests that run or compile code elsewhere.
//
// Input: a command that calls Serve, requests.
// Output: replies. Both are types that encoding/gob can write.
package gobpipe

import (
	"bufio"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
)

// Process answers requests of type Q with replies of type A. Goroutines may share it.
type Process[Q, A any] struct {
	cmd  *exec.Cmd // nil in tests
	in   io.WriteCloser
	lock sync.Mutex // of both ends of the pipes
	enc  *gob.Encoder
	dec  *gob.Decoder
}

// Start starts a process. The command's standard input and output must not be set.
func Start[Q, A any](cmd *exec.Cmd) (*Process[Q, A], error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p := Connect[Q, A](out, in)
	p.cmd = cmd
	return p, cmd.Start()
}

// Connect returns what Start does for a Serve at the other ends of two pipes.
func Connect[Q, A any](r io.Reader, w io.WriteCloser) *Process[Q, A] {
	return &Process[Q, A]{in: w, enc: gob.NewEncoder(w), dec: gob.NewDecoder(bufio.NewReader(r))}
}

// Ask sends a request and returns the reply.
func (p *Process[Q, A]) Ask(q *Q) (*A, error) {
	p.lock.Lock()
	defer p.lock.Unlock()
	if err := p.enc.Encode(q); err != nil {
		return nil, fmt.Errorf("to the process: %w", err)
	}
	a := new(A)
	if err := p.dec.Decode(a); err != nil {
		return nil, fmt.Errorf("from the process: %w", err)
	}
	return a, nil
}

// Close ends the process and waits for it. The error is how it ended.
func (p *Process[Q, A]) Close() error {
	err := p.in.Close()
	if p.cmd != nil {
		err = errors.Join(err, p.cmd.Wait())
	}
	return err
}

// Serve answers requests until r ends.
func Serve[Q, A any](r io.Reader, w io.Writer, answer func(*Q) *A) error {
	dec, enc := gob.NewDecoder(bufio.NewReader(r)), gob.NewEncoder(w)
	for {
		q := new(Q)
		switch err := dec.Decode(q); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := enc.Encode(answer(q)); err != nil {
			return err
		}
	}
}
