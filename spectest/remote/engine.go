package remote

import (
	"cmp"
	"fmt"
	"io"
	"os/exec"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/wasmfront"
)

// Engine is a process that executes what is compiled here.
type Engine struct {
	name     string
	features wasmfront.Features
	compile  func(wasm []byte) (object []byte, err error)
	conn     *conn
	stdin    io.Closer
	wait     func() error
	stores   map[uint64]*store
	ended    bool
}

// Config describes an engine.
type Config struct {
	Name     string
	Features wasmfront.Features
	// Compile makes an object of a module, for the machine of the process.
	Compile func(wasm []byte) (object []byte, err error)
	// About is what the process must say of itself in Serve.
	About string
	// Start starts the process; nil stands for the command's own Start.
	Start func(*exec.Cmd) error
}

// Start starts a process, which must call Serve on its standard streams. The command's
// standard input and output must not be set.
func Start(cmd *exec.Cmd, cfg Config) (*Engine, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	start := (*exec.Cmd).Start
	if cfg.Start != nil {
		start = cfg.Start
	}
	if err := start(cmd); err != nil {
		return nil, err
	}
	e := newEngine(cfg, out, in)
	e.stdin, e.wait = in, cmd.Wait
	hello, err := e.call(&message{Op: opHello})
	if err == nil && hello.Name != cfg.About {
		err = fmt.Errorf("the process that runs the code is %q, not %s", hello.Name, cfg.About)
	}
	if err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

func newEngine(cfg Config, r io.Reader, w io.Writer) *Engine {
	e := &Engine{name: cfg.Name, features: cfg.Features, compile: cfg.Compile, conn: newConn(r, w), stores: map[uint64]*store{}}
	e.conn.answer = e.answer
	return e
}

// call asks the process. If that has ended, the error says how.
func (e *Engine) call(m *message) (*message, error) {
	r, err := e.conn.call(m)
	if e.conn.broken != nil && !e.ended {
		e.ended = true
		e.stdin.Close()
		e.conn.broken = fmt.Errorf("the process that runs the code: %w", cmp.Or(e.wait(), e.conn.broken))
	}
	if e.conn.broken != nil {
		err = e.conn.broken
	}
	return r, err
}

// Close ends the process and waits for it.
func (e *Engine) Close() error {
	if e.ended {
		return nil // call has said how
	}
	e.ended = true
	e.stdin.Close()
	return e.wait()
}

// Name returns the configured one.
func (e *Engine) Name() string { return e.name }

// Features are the configured ones.
func (e *Engine) Features() wasmfront.Features { return e.features }

// NewStore makes a store in the process.
func (e *Engine) NewStore() (spectest.Store, error) {
	r, err := e.call(&message{Op: opNewStore})
	if err != nil {
		return nil, err
	}
	s := &store{engine: e, id: r.Store}
	e.stores[s.id] = s
	return s, nil
}

// answer serves the process while it instantiates or calls.
func (e *Engine) answer(m *message) *message {
	r := &message{}
	s := e.stores[m.Store]
	switch {
	case s == nil:
		r.Fault = &fault{Text: "no such store"}
	case m.Op == opImport && s.imports != nil:
		var x spectest.Extern
		if x, r.OK = s.imports(m.Module, m.Name); r.OK {
			r.Thing = x.(uint64)
		}
	case m.Op == opHost && m.Thing < uint64(len(s.funcs)):
		f := &s.funcs[m.Thing]
		r.Bits = make([]uint64, f.results)
		f.run(m.Bits, r.Bits)
	default:
		r.Fault = &fault{Text: fmt.Sprintf("unexpected message %d", m.Op)}
	}
	return r
}

// store is a store in the process. Its modules and externs are numbers.
type store struct {
	engine  *Engine
	id      uint64
	imports func(module, name string) (spectest.Extern, bool) // during Instantiate
	funcs   []hostFunc
}

// hostFunc is a function of this side.
type hostFunc struct {
	results int // words
	run     func(args, results []uint64)
}

func (s *store) call(m *message) (*message, error) {
	m.Store = s.id
	return s.engine.call(m)
}

func (s *store) Compile(wasm []byte) (spectest.Module, error) {
	object, err := s.engine.compile(wasm)
	if err != nil {
		return nil, err
	}
	r, err := s.call(&message{Op: opCompile, Data: object})
	return r.Thing, err
}

func (s *store) Instantiate(m spectest.Module, imports func(module, name string) (spectest.Extern, bool)) (spectest.Instance, error) {
	defer func(before func(string, string) (spectest.Extern, bool)) { s.imports = before }(s.imports)
	s.imports = imports
	r, err := s.call(&message{Op: opInstantiate, Thing: m.(uint64)})
	if err != nil {
		return nil, err
	}
	return &instance{s, r.Thing, map[string]*clif.Signature{}}, nil
}

// extern makes something that a script's modules can import.
func (s *store) extern(m *message) (spectest.Extern, error) {
	r, err := s.call(m)
	return r.Thing, err
}

func (s *store) NewFunc(sig clif.Signature, fn func(args, results []uint64)) (spectest.Extern, error) {
	s.funcs = append(s.funcs, hostFunc{clif.Words(sig.Results), fn})
	return s.extern(&message{Op: opNewFunc, Thing: uint64(len(s.funcs) - 1), Sig: sig})
}

func (s *store) NewGlobal(t clif.Type, mutable bool, bits uint64) (spectest.Extern, error) {
	return s.extern(&message{Op: opNewGlobal, Type: t, OK: mutable, Bits: []uint64{bits}})
}

func (s *store) NewMemory(min, max uint64) (spectest.Extern, error) {
	return s.extern(&message{Op: opNewMemory, Bits: []uint64{min, max}})
}

func (s *store) NewTable(elem clif.Type, min, max uint64) (spectest.Extern, error) {
	return s.extern(&message{Op: opNewTable, Type: elem, Bits: []uint64{min, max}})
}

// ExternRef is 0 if the process has ended, which whatever uses the reference says.
func (s *store) ExternRef(n uint64) uint64 {
	r, err := s.call(&message{Op: opExternRef, Bits: []uint64{n}})
	if err != nil || len(r.Bits) != 1 {
		return 0
	}
	return r.Bits[0]
}

func (s *store) ExternNumber(ref uint64) (uint64, bool) {
	r, err := s.call(&message{Op: opExternNumber, Bits: []uint64{ref}})
	if err != nil || len(r.Bits) != 1 {
		return 0, false
	}
	return r.Bits[0], r.OK
}

func (s *store) Close() error {
	_, err := s.call(&message{Op: opCloseStore})
	delete(s.engine.stores, s.id)
	return err
}

// instance is an instance in the process.
type instance struct {
	store *store
	id    uint64
	types map[string]*clif.Signature // of the functions that were asked for
}

func (i *instance) call(o op, name string, bits []uint64) (*message, error) {
	return i.store.call(&message{Op: o, Thing: i.id, Name: name, Bits: bits})
}

func (i *instance) Export(name string) (spectest.Extern, bool) {
	r, err := i.call(opExport, name, nil)
	return r.Thing, err == nil && r.OK
}

func (i *instance) FuncType(name string) (*clif.Signature, bool) {
	if sig := i.types[name]; sig != nil {
		return sig, true
	}
	r, err := i.call(opFuncType, name, nil)
	if err != nil || !r.OK {
		return nil, false
	}
	i.types[name] = &r.Sig
	return &r.Sig, true
}

func (i *instance) Invoke(name string, args []uint64) ([]spectest.Value, error) {
	r, err := i.call(opInvoke, name, args)
	return r.Values, err
}

func (i *instance) Get(name string) (spectest.Value, error) {
	r, err := i.call(opGet, name, nil)
	if err != nil {
		return spectest.Value{}, err
	}
	if len(r.Values) != 1 {
		return spectest.Value{}, fmt.Errorf("%d values of a global", len(r.Values))
	}
	return r.Values[0], nil
}
