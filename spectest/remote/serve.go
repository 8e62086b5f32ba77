package remote

import (
	"errors"
	"fmt"
	"io"

	"github.com/waot-project/waot/spectest"
)

// Serve lets the process at the other end of the pipes run scripts on e, whose stores must take objects
// for modules, until r ends. about says what this process is.
func Serve(e spectest.Engine, about string, r io.Reader, w io.Writer) error {
	s := &server{engine: e, about: about, conn: newConn(r, w), stores: map[uint64]*served{}}
	s.conn.answer = s.answer
	defer s.close()
	for {
		m := s.conn.receive()
		if s.conn.broken == nil {
			s.conn.send(s.answer(m))
		}
		switch {
		case errors.Is(s.conn.broken, io.EOF):
			return nil
		case s.conn.broken != nil:
			return s.conn.broken
		}
	}
}

type server struct {
	engine spectest.Engine
	about  string
	conn   *conn
	stores map[uint64]*served
	made   uint64 // stores, which are numbered
}

// served is a store with what was made in it, by number.
type served struct {
	spectest.Store
	id     uint64
	things []any
}

func (s *server) close() {
	for _, st := range s.stores {
		st.Close()
	}
}

// handlers are what a store does. They fill in the reply.
var handlers = [numOps]func(s *server, st *served, m, r *message) error{
	opCloseStore: func(s *server, st *served, _, _ *message) error {
		delete(s.stores, st.id)
		return st.Close()
	},
	opCompile: func(_ *server, st *served, m, r *message) error {
		mod, err := st.Compile(m.Data)
		return st.add(r, mod, err)
	},
	opInstantiate: (*server).instantiate,
	opNewFunc:     (*server).newFunc,
	opNewGlobal: func(_ *server, st *served, m, r *message) error {
		g, err := st.NewGlobal(m.Type, m.OK, m.bits(0))
		return st.add(r, g, err)
	},
	opNewMemory: func(_ *server, st *served, m, r *message) error {
		x, err := st.NewMemory(m.bits(0), m.bits(1))
		return st.add(r, x, err)
	},
	opNewTable: func(_ *server, st *served, m, r *message) error {
		x, err := st.NewTable(m.Type, m.bits(0), m.bits(1))
		return st.add(r, x, err)
	},
	opExternRef: func(_ *server, st *served, m, r *message) error {
		r.Bits = []uint64{st.ExternRef(m.bits(0))}
		return nil
	},
	opExternNumber: func(_ *server, st *served, m, r *message) error {
		n, ok := st.ExternNumber(m.bits(0))
		r.Bits, r.OK = []uint64{n}, ok
		return nil
	},
	opExport: onInstance(func(st *served, i spectest.Instance, m, r *message) error {
		x, ok := i.Export(m.Name)
		if r.OK = ok; !ok {
			return nil
		}
		return st.add(r, x, nil)
	}),
	opFuncType: onInstance(func(_ *served, i spectest.Instance, m, r *message) error {
		sig, ok := i.FuncType(m.Name)
		if r.OK = ok; ok {
			r.Sig = *sig
		}
		return nil
	}),
	opInvoke: onInstance(func(_ *served, i spectest.Instance, m, r *message) (err error) {
		r.Values, err = i.Invoke(m.Name, m.Bits)
		return err
	}),
	opGet: onInstance(func(_ *served, i spectest.Instance, m, r *message) error {
		v, err := i.Get(m.Name)
		r.Values = []spectest.Value{v}
		return err
	}),
}

// onInstance returns a handler for an instance.
func onInstance(f func(*served, spectest.Instance, *message, *message) error) func(*server, *served, *message, *message) error {
	return func(_ *server, st *served, m, r *message) error {
		i, ok := st.thing(m.Thing).(spectest.Instance)
		if !ok {
			return fmt.Errorf("%d is no instance", m.Thing)
		}
		return f(st, i, m, r)
	}
}

// answer answers a request.
func (s *server) answer(m *message) *message {
	r := &message{}
	st := s.stores[m.Store]
	switch h := handlers[m.Op]; {
	case m.Op == opHello:
		r.Name = s.about
	case m.Op == opNewStore:
		r.Fault = faultOf(s.newStore(r))
	case h == nil || st == nil:
		r.Fault = &fault{Text: fmt.Sprintf("unexpected message %d for store %d", m.Op, m.Store)}
	default:
		r.Fault = faultOf(h(s, st, m, r))
	}
	return r
}

func (s *server) newStore(r *message) error {
	st, err := s.engine.NewStore()
	if err != nil {
		return err
	}
	s.made++
	r.Store = s.made
	s.stores[s.made] = &served{Store: st, id: s.made}
	return nil
}

// add gives something new a number, unless there is an error.
func (st *served) add(r *message, x any, err error) error {
	if err == nil {
		st.things = append(st.things, x)
		r.Thing = uint64(len(st.things)) // 0 is nothing
	}
	return err
}

// thing returns what has the number n, nil if nothing has.
func (st *served) thing(n uint64) any {
	if n == 0 || n > uint64(len(st.things)) {
		return nil
	}
	return st.things[n-1]
}

// bits is word i of a request, 0 if it has less.
func (m *message) bits(i int) uint64 {
	if i < len(m.Bits) {
		return m.Bits[i]
	}
	return 0
}

func (s *server) instantiate(st *served, m, r *message) error {
	mod := st.thing(m.Thing)
	if mod == nil {
		return fmt.Errorf("%d is no module", m.Thing)
	}
	i, err := st.Instantiate(mod, func(module, name string) (spectest.Extern, bool) {
		a, err := s.conn.call(&message{Op: opImport, Store: st.id, Module: module, Name: name})
		x := st.thing(a.Thing)
		return x, err == nil && a.OK && x != nil
	})
	return st.add(r, i, err)
}

func (s *server) newFunc(st *served, m, r *message) error {
	n := m.Thing
	f, err := st.NewFunc(m.Sig, func(args, results []uint64) {
		a, _ := s.conn.call(&message{Op: opHost, Store: st.id, Thing: n, Bits: args})
		copy(results, a.Bits)
	})
	return st.add(r, f, err)
}
