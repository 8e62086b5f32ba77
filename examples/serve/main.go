// Command serve answers each HTTP request by a run of a WASI program: the body is its standard input, the path its argument, and what it
// writes is the answer. No request sees anything of another one: a pool hands out instances, and resets those that come back.
//
//	go run ./examples/serve app.wasm &
//	curl --data-binary @README.md localhost:8080/
//
// Each run has a deadline, bounded memory and bounded output. There are never more instances than processors.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/waot-project/waot"
)

const (
	deadline  = 2 * time.Second // of a request, with the time that it waits for an instance
	maxPages  = 1024            // of memory, 64 KiB each
	maxOutput = 1 << 20         // bytes
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: serve app.wasm")
		os.Exit(2)
	}
	wasm, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	s, err := newServer(wasm)
	if err != nil {
		log.Fatal(err)
	}
	err = http.ListenAndServe("localhost:8080", s)
	s.close()
	log.Fatal(err)
}

// server runs a program for each request.
type server struct {
	module *waot.Module
	pool   *waot.Pool
}

func newServer(wasm []byte) (*server, error) {
	module, err := waot.Compile(wasm, nil)
	if err != nil {
		return nil, err
	}
	pool := waot.NewPool(module, &waot.PoolOptions{
		Store:  &waot.StoreOptions{MaxMemoryPages: maxPages, MaxTotalMemoryPages: maxPages},
		System: func() (waot.System, error) { return waot.NewWASI(nil) },
		Max:    runtime.GOMAXPROCS(0),
	})
	return &server{module, pool}, nil
}

// close gives up the instances.
func (s *server) close() {
	s.pool.Close()
	s.module.Close()
}

// ServeHTTP implements http.Handler.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), deadline)
	defer cancel()
	// No context ends the reading of a body.
	http.NewResponseController(w).SetReadDeadline(time.Now().Add(deadline))
	if strings.ContainsRune(r.URL.Path, 0) {
		http.Error(w, "NUL in the path", http.StatusBadRequest)
		return
	}
	out, err := s.run(ctx, r)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		http.Error(w, "out of time", http.StatusServiceUnavailable)
	case err != nil:
		log.Print(err)
		http.Error(w, "the program failed", http.StatusInternalServerError)
	default:
		w.Write(out)
	}
}

// run runs the program once, in an instance that nobody has used, or that was reset.
func (s *server) run(ctx context.Context, r *http.Request) ([]byte, error) {
	inst, err := s.pool.Get(ctx)
	if err != nil {
		return nil, err
	}
	defer inst.Release()
	out := &output{}
	system := inst.System.(*waot.WASI)
	if err := system.Reopen(&waot.WASIOptions{Args: []string{"app", r.URL.Path}, Stdin: r.Body, Stdout: out}); err != nil {
		return nil, err
	}
	status, err := system.Start(ctx, inst.Instance)
	if err == nil && status != 0 {
		err = fmt.Errorf("exit status %d", status)
	}
	return out.Bytes(), err
}

// output is what a program has written, up to a limit.
type output struct{ bytes.Buffer }

// Write implements io.Writer.
func (o *output) Write(b []byte) (int, error) {
	if o.Len()+len(b) > maxOutput {
		return 0, errors.New("too much output")
	}
	return o.Buffer.Write(b)
}
