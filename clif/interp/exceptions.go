package interp

import (
	"fmt"

	"github.com/waot-project/waot/clif"
)

// Tag is a tag of exceptions.
type Tag struct {
	store  *Store
	sig    clif.Signature
	number uint64 // what stands for it
}

// NewTag returns a tag whose exceptions have arguments of the types of sig's parameters.
func (s *Store) NewTag(sig clif.Signature) *Tag {
	s.tags++
	return &Tag{s, sig, s.tags}
}

// Exception is an exception, as an error that nothing has caught. A host function throws it by returning it.
type Exception struct {
	tag  *Tag
	args []uint64 // raw bits, as a function with these parameters has them
}

// NewException returns an exception with a tag and raw bits as its arguments, which it keeps.
func NewException(tag *Tag, args []uint64) *Exception { return &Exception{tag, args} }

// Tag returns the exception's tag.
func (x *Exception) Tag() *Tag { return x.tag }

// Signature returns the type whose parameters are the arguments of the tag's exceptions; it must not be changed.
func (t *Tag) Signature() *clif.Signature { return &t.sig }

// Tags returns the tags of the instance, by index. They must not be changed.
func (i *Instance) Tags() []*Tag { return i.tags }

// Args returns the arguments, as raw bits.
func (x *Exception) Args() []uint64 { return x.args }

// Thrown: it is an exception (spectest.Thrower).
func (x *Exception) Thrown() {}

func (x *Exception) Error() string {
	return fmt.Sprintf("uncaught exception with %d words", len(x.args))
}

// unwind goes to the handler of the innermost frame that has one around its call, or ends the run with the exception.
func (m *machine) unwind() {
	for len(m.frames) > m.floor {
		m.enter()
		if catches(m.fn.body, m.pc) {
			m.thrown = true
			return
		}
		m.frames = m.frames[:len(m.frames)-1]
	}
	m.store.Fuel = max(0, m.store.Fuel)
	m.fail(m.store.exception)
}

// catches reports whether a catch belongs to the call in front of pc. What is between goes on to be executed.
func catches(f *clif.Func, pc clif.Inst) bool {
	for {
		switch op := f.Insts[pc].Op; {
		case op == clif.OpCatch:
			return true
		case !op.MayFollowCaught():
			return false
		}
		pc++
	}
}

func opCatch(m *machine, d *clif.InstData) {
	if !m.thrown {
		m.jump(d.Args[1])
		return
	}
	m.thrown = false
	m.jump(d.Args[2])
}

func opRaise(m *machine, _ *clif.InstData) {
	m.frames = m.frames[:len(m.frames)-1]
	m.unwind()
}

func opExnSet(m *machine, d *clif.InstData) {
	x := &Exception{tag: m.inst.tags[d.Aux]}
	for _, v := range m.fn.body.ListOperands(d) {
		x.args = m.pack(x.args, v)
	}
	m.store.exception = x
}

func opExnOpen(m *machine, d *clif.InstData) {
	x, ok := m.store.ExternValue(m.a(d)).(*Exception)
	if !ok {
		m.undefined("0x%x is not a reference to an exception", m.a(d))
		return
	}
	m.store.exception = x
}

func opExnTag(m *machine, d *clif.InstData) { m.set64(d, m.store.exception.tag.number) }

func opTagAddr(m *machine, d *clif.InstData) { m.set64(d, m.inst.tags[d.Aux].number) }

func opExnArgs(m *machine, d *clif.InstData) {
	x := m.store.exception
	if x.tag != m.inst.tags[d.Aux] {
		m.undefined("the exception has another tag")
		return
	}
	args := x.args
	for i := range clif.Value(d.NumResults) {
		args = m.unpack(uint32(d.Result+i), args)
	}
}

func opExnRef(m *machine, d *clif.InstData) { m.set64(d, m.store.ExternRef(m.store.exception)) }
