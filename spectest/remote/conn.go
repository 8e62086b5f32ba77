package remote

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/spectest"
)

// op is what a message asks for.
type op uint8

const (
	opReply op = iota
	// Asked by the side that has the scripts.
	opHello        // says what the other side is
	opNewStore     // makes store Store
	opCloseStore   // closes it
	opCompile      // Data is an object
	opInstantiate  // Thing is a module
	opNewFunc      // of type Sig, which is function Thing of the asking side
	opNewGlobal    // of type Type, mutable if OK, with Bits[0]
	opNewMemory    // with Bits[0] to Bits[1] pages
	opNewTable     // of Type, with Bits[0] to Bits[1] entries
	opExternRef    // the reference to object Bits[0]
	opExternNumber // its inverse
	opExport       // Name of the instance Thing
	opFuncType     // Name of the instance Thing
	opInvoke       // Name of the instance Thing, with Bits
	opGet          // Name of the instance Thing
	// Asked by the side that has the code, while it instantiates or calls.
	opImport // Module, Name
	opHost   // function Thing with Bits
	numOps
)

// message is a request or a reply; what of it counts depends on Op. Stores and what is in them have
// numbers that the answering side gives.
type message struct {
	Op           op
	Store, Thing uint64
	Module, Name string
	Data         []byte
	Type         clif.Type
	Sig          clif.Signature
	Bits         []uint64
	Values       []spectest.Value
	OK           bool
	Fault        *fault // why there is no answer
}

// fault is an error that has crossed.
type fault struct {
	Text   string
	Trap   abi.TrapCode // TrapNone if it is none
	Link   string       // what spectest.Unlinkable says, empty if it is none
	Thrown bool         // it is an exception
}

func (f *fault) Error() string { return f.Text }

// trapped, unlinkable and thrown are faults with the methods that spectest asks for.
type trapped struct{ *fault }

func (t trapped) TrapCode() abi.TrapCode { return t.Trap }

type unlinkable struct{ *fault }

type thrown struct{ *fault }

func (thrown) Thrown() {}

func (u unlinkable) Unlinkable() string { return u.Link }

// faultOf describes an error, if there is one, to the other side.
func faultOf(err error) *fault {
	if err == nil {
		return nil
	}
	f := &fault{Text: err.Error()}
	var t spectest.Trapper
	var u spectest.Unlinkable
	var x spectest.Thrower
	switch {
	case errors.As(err, &t):
		f.Trap = t.TrapCode()
	case errors.As(err, &u):
		f.Link = u.Unlinkable()
	case errors.As(err, &x):
		f.Thrown = true
	}
	return f
}

// err returns the error that f describes, nil if f is.
func (f *fault) err() error {
	switch {
	case f == nil:
		return nil
	case f.Trap != abi.TrapNone:
		return trapped{f}
	case f.Link != "":
		return unlinkable{f}
	case f.Thrown:
		return thrown{f}
	}
	return f
}

// conn is one side of a connection.
type conn struct {
	w      *bufio.Writer
	enc    *json.Encoder
	dec    *json.Decoder
	answer func(*message) *message
	broken error // why nothing can be sent or received any more
}

func newConn(r io.Reader, w io.Writer) *conn {
	c := &conn{w: bufio.NewWriter(w), dec: json.NewDecoder(bufio.NewReader(r))}
	c.enc = json.NewEncoder(c.w)
	return c
}

func (c *conn) send(m *message) {
	if c.broken == nil {
		c.broken = c.enc.Encode(m)
	}
	if c.broken == nil {
		c.broken = c.w.Flush()
	}
}

func (c *conn) receive() *message {
	m := &message{}
	if c.broken == nil {
		c.broken = c.dec.Decode(m)
	}
	if c.broken == nil && m.Op >= numOps {
		c.broken = fmt.Errorf("unknown message %d", m.Op)
	}
	return m
}

// call asks the other side and gives its reply, or the reply's fault, or what broke the connection. The
// reply is never nil.
func (c *conn) call(m *message) (*message, error) {
	c.send(m)
	for {
		r := c.receive()
		switch {
		case c.broken != nil:
			return &message{}, c.broken
		case r.Op == opReply:
			return r, r.Fault.err()
		}
		c.send(c.answer(r))
	}
}
