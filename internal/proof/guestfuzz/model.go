package guestfuzz

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/waot-project/waot/host"
)

// handle is an externref or exnref as compiled code has it: a word that stands for token number tok, or for an exception.
type handle struct {
	tok  uint64
	exn  *exception
	from *handle // that this may be the same as; see like
}

// value is a value of any type.
type value struct {
	bits uint64    // of a number
	ref  *handle   // of an externref or exnref, nil is null
	fn   *funcItem // of a funcref, nil is null
}

// funcItem is a function of a store: of an instance, or of the host.
type funcItem struct {
	inst *instance
	n    int // number in the instance, of a function that is not imported
	host *hostFunc
	real *host.Func // nil if it is not known yet
}

func (f *funcItem) signature() signature {
	if f.host != nil {
		return f.host.signature
	}
	return f.inst.prog.sigOf(f.n)
}

type memoryItem struct {
	data   []byte
	limit  uint64 // in pages
	limits host.Limits
	real   *host.Memory
}

type tableItem struct {
	elem   byte
	elems  []value
	limit  uint64
	limits host.Limits
	real   *host.Table
}

type globalItem struct {
	typ     byte
	mutable bool
	v       value
	real    *host.Global
}

// instance is an instance of a program.
type instance struct {
	prog    *program
	mem     *memoryItem
	tables  []*tableItem
	globals []*globalItem
	tags    []*tagItem
	funcs   []*funcItem // imports first, which are those of others
	elems   [][]value   // nil once dropped
	datas   [][]byte
	real    *host.Instance // nil if its instantiation has failed
	entry   *entry         // where it is from; nil if its module has been closed
	closed  bool
}

// frame is a function that is active.
type frame struct {
	inst   *instance
	n      int // number of the function
	fn     *function
	pc     int
	locals []value
	// sized is the most that its native frame can take, in bytes.
	sized uint64
}

// eventKind is why the model has stopped.
type eventKind uint8

const (
	eventReturn eventKind = iota // values are the results
	eventHost                    // a call of fn with values
	eventTrap                    // trap
	eventThrow                   // thrown is caught by none
	eventSpin                    // loops for ever
	eventStep                    // the step at which it should stop comes next
)

func (k eventKind) String() string {
	return [...]string{"a return", "a call of the host", "a trap", "an exception", "a loop without end", "the action in question"}[k]
}

type event struct {
	kind   eventKind
	fn     *funcItem
	values []value
	trap   host.TrapCode
	thrown throwing
}

// activation is a call from Go, or the instantiation of inst.
type activation struct {
	frames []frame
	fn     *funcItem // that was called, nil for an instantiation
	args   []value   // of fn if it is the host's, until it has been called
	// pending: a function of the host has been called and has not returned yet. Its results go to the
	// innermost frame. If there is no frame, they are the results of the activation.
	pending  *funcItem
	results  []value
	spinning bool
	ended    *event // a trap, which stays
	init     *instance
	begun    bool   // of init: segments have been applied
	segment  func() // called in front of each active segment, if not nil

	throws    *throwing // by a function of the host that is about to return
	callState           // of the real call
}

// step returns the number of actions done in the store.
func (w *world) step() uint64 { return w.stepGlobal.v.bits }

// enterFrame makes fn active.
func (a *activation) enterFrame(f *funcItem, args []value) {
	fn := &f.inst.prog.funcs[f.n-len(f.inst.prog.imports)]
	locals := make([]value, len(fn.locals))
	copy(locals, args)
	a.frames = append(a.frames, frame{inst: f.inst, n: f.n, fn: fn, locals: locals, sized: frameBound(fn)})
}

// frameBound is more than any native frame of a function takes.
func frameBound(fn *function) uint64 {
	return 4096 + 16*uint64(len(fn.locals)+len(fn.params)+len(fn.results)) + 256*uint64(len(fn.body))
}

// newActivation returns a call of f.
func newActivation(f *funcItem, args []value) *activation {
	a := &activation{fn: f}
	if f.host != nil {
		a.args = args
		return a
	}
	a.invoke(f, args)
	return a
}

// invoke makes f active in a, or pending if it is the host's. It reports whether it is the host's.
func (a *activation) invoke(f *funcItem, args []value) (pending bool) {
	if f.host != nil {
		a.pending, a.args = f, args
		return true
	}
	a.enterFrame(f, args)
	return false
}

// deliver gives the results of the function of the host that is pending.
func (a *activation) deliver(results []value) {
	a.pending = nil
	if len(a.frames) == 0 {
		a.results = results
		return
	}
	f := &a.frames[len(a.frames)-1]
	body := &f.fn.body[f.pc]
	if body.isTail() {
		a.leaveWith(results)
		return
	}
	if body.op == opSpin {
		if results[0].bits != 0 {
			a.spinning = true
			return
		}
	} else {
		f.assign(body.dests, results)
	}
	f.pc++
}

// run continues until an event happens that the caller has to handle, or the next action would be number until.
func (w *world) run(a *activation, until uint64) event {
	switch {
	case a.ended != nil:
		return *a.ended
	case a.spinning:
		return event{kind: eventSpin}
	case a.pending != nil:
		return event{kind: eventHost, fn: a.pending, values: a.args}
	case a.fn != nil && a.fn.host != nil && a.results == nil:
		a.pending = a.fn
		return event{kind: eventHost, fn: a.fn, values: a.args}
	}
	if a.init != nil && !a.begun {
		if code, ok := a.init.applySegments(a.segment); !ok {
			return a.trap(code)
		}
		a.begun = true
		if p := a.init.prog; p.start >= 0 {
			a.enterFrame(a.init.funcs[len(p.imports)+p.start], nil)
		}
	}
	for len(a.frames) > 0 {
		f := &a.frames[len(a.frames)-1]
		if f.pc == len(f.fn.body) {
			a.leaveFrame()
			continue
		}
		act := &f.fn.body[f.pc]
		switch act.op {
		case opLoop:
			f.locals[act.d] = value{bits: uint64(act.k)}
			f.pc++
			continue
		case opEnd:
			if f.locals[act.d].bits--; f.locals[act.d].bits != 0 {
				f.pc = act.t
			}
			f.pc++
			continue
		case opTry, opTryEnd:
			f.pc++
			continue
		}
		if w.step()+1 == until {
			return event{kind: eventStep}
		}
		w.stepGlobal.v.bits++
		if act.guarded && int64(f.locals[act.guard].bits)&act.mask != act.want {
			f.pc++
			continue
		}
		if e, ok := w.perform(a, f, act); ok {
			return e
		}
	}
	return event{kind: eventReturn, values: a.results}
}

// leaveFrame returns from the innermost function.
func (a *activation) leaveFrame() {
	last := len(a.frames) - 1
	f := &a.frames[last]
	results := make([]value, len(f.fn.returned))
	for i, n := range f.fn.returned {
		results[i] = f.locals[n]
	}
	a.leaveWith(results)
}

func (a *activation) leaveWith(results []value) {
	a.frames = a.frames[:len(a.frames)-1]
	if len(a.frames) == 0 {
		a.results = results
		return
	}
	f := &a.frames[len(a.frames)-1]
	f.assign(f.fn.body[f.pc].dests, results)
	f.pc++
}

// assign gives results to locals, the last first, as code does.
func (f *frame) assign(locals []int, results []value) {
	for i := len(locals) - 1; i >= 0; i-- {
		f.locals[locals[i]] = results[i]
	}
}

// trap ends a.
func (a *activation) trap(code host.TrapCode) event {
	a.ended = &event{kind: eventTrap, trap: code}
	return *a.ended
}

// perform does one action of the innermost function. ok is false if a continues.
func (w *world) perform(a *activation, f *frame, act *action) (e event, ok bool) {
	l := f.locals
	switch act.op {
	case opEnter:
		fuel := &w.fuelGlobal.v.bits
		if *fuel == 0 {
			a.leaveWith(make([]value, len(f.fn.results)))
			return e, false
		}
		*fuel--
	case opEnterFree:
	case opConst:
		l[act.d] = value{bits: uint64(act.k)}
	case opArith:
		l[act.d] = value{bits: arith(act.k, l[act.a].bits, l[act.b].bits)}
	case opConvert:
		x := uint32(l[act.a].bits) & (1<<act.k - 1)
		l[act.d] = value{bits: converted(byte(act.t), x)}
	case opExtend:
		l[act.d] = l[act.a]
	case opGlobalGet:
		l[act.d] = f.inst.globals[act.t].v
	case opGlobalSet:
		f.inst.globals[act.t].v = l[act.a]
	case opNull:
		l[act.d] = value{}
	case opIsNull:
		isNull := l[act.a].ref == nil && l[act.a].fn == nil
		l[act.d] = value{bits: uint64(b2i(isNull))}
	case opRefFunc:
		l[act.d] = value{fn: f.inst.funcs[act.t]}
	case opMove:
		l[act.d] = l[act.a]
	case opReturn:
		a.leaveFrame()
		return e, false
	case opSpread:
		for n := range int(act.k) {
			l[act.d+n] = value{bits: l[act.a].bits * uint64(2*n+1)}
		}
	case opGather:
		sum := uint64(0)
		for n := range int(act.k) {
			sum ^= l[act.a+n].bits
		}
		l[act.d] = value{bits: sum}
	case opThrow:
		args := []value{{bits: w.step()}}
		for _, n := range act.args {
			args = append(args, l[n].like())
		}
		return w.throw(a, throwing{exn: &exception{tag: f.inst.tags[act.t], args: args}})
	case opThrowRef:
		h := l[act.a].ref
		if h == nil {
			return a.trap(host.TrapNullReference), true
		}
		return w.throw(a, throwing{exn: h.exn, ref: h})
	case opCall, opIndirect, opTail, opTailIndirect, opSpin:
		return w.performCall(a, f, act)
	case opTrap:
		return a.trap([numTraps]host.TrapCode{host.TrapUnreachable, host.TrapIntegerDivideByZero, host.TrapIntegerOverflow, host.TrapBadConversion,
			host.TrapIntegerOverflow, host.TrapMemoryOutOfBounds, host.TrapTableOutOfBounds}[act.k]), true
	case opLoad, opStore, opMemorySize, opMemoryGrow, opMemoryFill, opMemoryCopy, opMemoryInit, opDataDrop:
		if !w.performMemory(f, act) {
			return a.trap(host.TrapMemoryOutOfBounds), true
		}
	default:
		if !w.performTable(f, act) {
			return a.trap(host.TrapTableOutOfBounds), true
		}
	}
	f.pc++
	return e, false
}

func (w *world) performCall(a *activation, f *frame, act *action) (e event, ok bool) {
	var callee *funcItem
	switch act.op {
	case opSpin:
		callee = f.inst.funcs[cancelImport]
	case opCall, opTail:
		callee = f.inst.funcs[act.t]
	case opIndirect, opTailIndirect:
		t := f.inst.tables[0]
		i := index(f, act.a, act.k)
		switch {
		case i >= uint64(len(t.elems)):
			return a.trap(host.TrapUndefinedElement), true
		case t.elems[i].fn == nil:
			return a.trap(host.TrapUninitializedElement), true
		case t.elems[i].fn.signature() != f.inst.prog.sigOf(act.t):
			return a.trap(host.TrapBadSignature), true
		}
		callee = t.elems[i].fn
	}
	args := make([]value, len(act.args))
	for i, n := range act.args {
		args[i] = f.locals[n]
	}
	switch {
	case !act.isTail():
	case callee.host != nil: // it is called
		w.count("tail calls of the host")
	default:
		if callee.inst != f.inst {
			w.count("tail calls of other instances")
		}
		a.frames = a.frames[:len(a.frames)-1]
	}
	if a.invoke(callee, args) {
		return event{kind: eventHost, fn: a.pending, values: args}, true
	}
	return e, false
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func arith(kind int64, x, y uint64) uint64 {
	switch kind {
	case 0:
		return x + y
	case 1:
		return x - y
	case 2:
		return x * y
	case 3:
		return x ^ y
	case 4:
		return x & y
	}
	return bits.RotateLeft64(x, int(y&63))
}

// converted is x as a number of a type.
func converted(t byte, x uint32) uint64 {
	switch t {
	case 'f':
		return uint64(math.Float32bits(float32(x)))
	case 'd':
		return math.Float64bits(float64(x))
	}
	return uint64(x)
}

// index returns the lower half of a local & mask.
func index(f *frame, local int, mask int64) uint64 {
	return uint64(uint32(f.locals[local].bits) & uint32(mask))
}

// growthFailed is the result of growth that is refused.
const growthFailed = math.MaxUint32

// performMemory reports false if it is out of bounds.
func (w *world) performMemory(f *frame, act *action) bool {
	m, l := f.inst.mem, f.locals
	at := index(f, act.a, act.k)
	size := uint64(len(m.data))
	switch act.op {
	case opLoad:
		if at+8 > size {
			return false
		}
		l[act.d] = value{bits: binary.LittleEndian.Uint64(m.data[at:])}
	case opStore:
		if at+8 > size {
			return false
		}
		binary.LittleEndian.PutUint64(m.data[at:], l[act.b].bits)
	case opMemorySize:
		l[act.d] = value{bits: size / wasmPage}
	case opMemoryGrow:
		l[act.d] = value{bits: w.growMemory(m, at)}
	case opMemoryFill:
		n := index(f, act.c, 255)
		if at+n > size {
			return false
		}
		for i := range n {
			m.data[at+i] = byte(l[act.b].bits)
		}
	case opMemoryCopy:
		from, n := index(f, act.b, act.k), index(f, act.c, 255)
		if at+n > size || from+n > size {
			return false
		}
		copy(m.data[at:at+n], m.data[from:from+n])
	case opMemoryInit:
		segment := f.inst.datas[f.inst.prog.data(act.t)]
		from, n := index(f, act.b, 15), index(f, act.c, 15)
		if at+n > size || from+n > uint64(len(segment)) {
			return false
		}
		copy(m.data[at:at+n], segment[from:])
	case opDataDrop:
		f.inst.datas[f.inst.prog.data(act.t)] = nil
	}
	return true
}

// performTable reports false if it is out of bounds.
func (w *world) performTable(f *frame, act *action) bool {
	l := f.locals
	if act.op == opElemDrop {
		f.inst.elems[act.t%len(f.inst.elems)] = nil
		return true
	}
	t := f.inst.tables[act.t]
	at := index(f, act.a, act.k)
	size := uint64(len(t.elems))
	switch act.op {
	case opTableGet:
		if at >= size {
			return false
		}
		l[act.d] = t.elems[at]
	case opTableSet:
		if at >= size {
			return false
		}
		t.elems[at] = l[act.b]
	case opTableSize:
		l[act.d] = value{bits: size}
	case opTableGrow:
		l[act.d] = value{bits: w.growTable(t, at, l[act.b])}
	case opTableFill:
		n := index(f, act.c, 3)
		if at+n > size {
			return false
		}
		for i := range n {
			t.elems[at+i] = l[act.b]
		}
	case opTableCopy:
		from := f.inst.tables[act.u]
		k, n := index(f, act.b, act.k), index(f, act.c, 3)
		if at+n > size || k+n > uint64(len(from.elems)) {
			return false
		}
		copy(t.elems[at:at+n], from.elems[k:k+n])
	case opTableInit:
		s := f.inst.prog.elem(act)
		if s < 0 {
			return true
		}
		k, n := index(f, act.b, 1), index(f, act.c, 3)
		if at+n > size || k+n > uint64(len(f.inst.elems[s])) {
			return false
		}
		copy(t.elems[at:at+n], f.inst.elems[s][k:])
	}
	return true
}

// applySegments does what an instantiation does before the start function. It calls segment, if not nil, in front of each
// active segment. It gives the trap if ok is false.
func (i *instance) applySegments(segment func()) (code host.TrapCode, ok bool) {
	p := i.prog
	for n := range p.elems {
		s := &p.elems[n]
		i.elems[n] = make([]value, len(s.items))
		for k, item := range s.items {
			switch {
			case item < 0:
			case s.elem == 'r':
				i.elems[n][k].fn = i.funcs[item]
			default:
				i.elems[n][k] = i.globals[globalSeed].v
			}
		}
	}
	for n := len(importedGlobals(p)); n < len(p.globals); n++ {
		g := &p.globals[n]
		switch {
		case g.typ != 'r' && g.typ != 'x' && g.typ != 'e':
			i.globals[n].v = value{bits: g.init}
		case g.typ == 'x' && g.init == 1:
			i.globals[n].v = i.globals[globalSeed].v
		}
	}
	for n := range p.datas {
		i.datas[n] = p.datas[n].bytes
	}
	for n := range p.elems {
		s := &p.elems[n]
		if !s.active {
			continue
		}
		if segment != nil {
			segment()
		}
		t := i.tables[s.table]
		if uint64(s.offset)+uint64(len(s.items)) > uint64(len(t.elems)) {
			return host.TrapTableOutOfBounds, false
		}
		copy(t.elems[s.offset:], i.elems[n])
		i.elems[n] = nil
	}
	for n := range p.datas {
		s := &p.datas[n]
		if !s.active {
			continue
		}
		if segment != nil {
			segment()
		}
		if uint64(s.offset)+uint64(len(s.bytes)) > uint64(len(i.mem.data)) {
			return host.TrapMemoryOutOfBounds, false
		}
		copy(i.mem.data[s.offset:], s.bytes)
		i.datas[n] = nil
	}
	return 0, true
}

// importedGlobals returns the globals that a program imports.
func importedGlobals(p *program) []globalDef {
	for n := range p.globals {
		if !p.globals[n].imported {
			return p.globals[:n]
		}
	}
	return p.globals
}
