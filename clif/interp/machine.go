package interp

import (
	"errors"
	"fmt"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
)

// ErrSteps is the error of a call that exceeds Options.MaxSteps.
var ErrSteps = errors.New("interp: too many steps")

// UndefinedError is an operation whose result CLIF leaves undefined, since the
// front end has to check its operands first. It is a bug in the producer of the function.
type UndefinedError struct {
	Func string
	Inst string
	Msg  string
}

func (e *UndefinedError) Error() string {
	return fmt.Sprintf("undefined: %s: %s: %s", e.Func, e.Inst, e.Msg)
}

// frame is an active call.
type frame struct {
	fn   *Function
	base int       // of its values in machine.stack
	pc   clif.Inst // the next instruction, while it waits for a callee
}

// machine is a stack of frames. Calls of compiled functions push frames, not Go
// stack; only a host function that calls back runs the machine recursively.
type machine struct {
	store  *Store
	frames []frame
	stack  []uint64 // values of all frames: one word per clif.Value
	high   []uint64 // high halves of vectors, parallel to stack as far as functions with vectors were

	// The current frame.
	fn    *Function
	inst  *Instance
	insts []clif.InstData
	regs  []uint64
	highs []uint64 // parallel to regs if fn has vectors, else nil
	pc    clif.Inst

	thrown  bool     // the call behind which the current frame goes on has thrown
	floor   int      // run returns when there are no more frames than this
	results []uint64 // of the function that made it return
	stop    bool     // run is to return
	err     error
	args    []uint64 // scratch of jumps

	ticks, steps int64 // until the next look at limits; steps until then
	nesting      int   // of host functions that call back
}

// tickSteps is how many instructions run between looks at the limits.
const tickSteps = 1 << 14

// maxNesting is how many host functions may be active: they use Go's stack.
const maxNesting = 1000

// Call calls f with raw bits and returns its results, as a HostFunc has them. A trap is a *Trap.
func (f *Function) Call(args []uint64) ([]uint64, error) {
	m := &machine{store: f.store, ticks: tickSteps}
	if n := f.store.opt.MaxSteps; n > 0 {
		m.ticks = min(m.ticks, n)
	}
	m.steps = m.ticks
	return m.call(f, args)
}

// call runs f on top of the current frames.
func (m *machine) call(f *Function, args []uint64) ([]uint64, error) {
	if len(args) != f.wordsIn {
		return nil, fmt.Errorf("interp: %d words of arguments for a function of type %v", len(args), &f.sig)
	}
	saved := *m
	m.floor, m.stop, m.err = len(m.frames), false, nil
	if f.host != nil {
		m.results = make([]uint64, f.wordsOut)
		m.err = m.hostCall(f, args, m.results)
	} else if m.push(f) {
		for _, p := range m.fn.body.Params(m.fn.body.Entry()) {
			args = m.unpack(p, args)
		}
		m.run()
	}
	results, err := m.results, m.err
	if err == nil && m.store.Fuel < 0 { // the last blocks were none that compare
		m.store.Fuel, err = 0, &Trap{Code: abi.TrapOutOfFuel}
	}
	// The frames below are as they were, though the stack may have moved.
	saved.frames, saved.stack, saved.high = m.frames[:m.floor], m.stack, m.high
	saved.ticks, saved.steps = m.ticks, m.steps
	*m = saved
	m.enter()
	if err != nil {
		return nil, err
	}
	return results, nil
}

// run executes until the frames above floor have returned, or an error.
func (m *machine) run() {
	for !m.stop {
		if m.ticks--; m.ticks < 0 {
			m.tick()
			continue
		}
		d := &m.insts[m.pc]
		m.pc++
		ops[d.Op](m, d)
	}
}

// tick looks at the limits.
func (m *machine) tick() {
	opt := &m.store.opt
	if opt.Context != nil && opt.Context.Err() != nil {
		m.fail(opt.Context.Err())
		return
	}
	m.ticks = tickSteps
	if opt.MaxSteps > 0 {
		m.ticks = min(m.ticks, opt.MaxSteps-m.steps)
		if m.ticks <= 0 {
			m.fail(ErrSteps)
			return
		}
	}
	m.steps += m.ticks
}

// fail ends the execution with an error.
func (m *machine) fail(err error) { m.stop, m.err = true, err }

// trap ends the execution with a trap at the current instruction.
func (m *machine) trap(code abi.TrapCode) {
	m.store.Fuel = max(0, m.store.Fuel) // what was left is gone
	t := &Trap{Code: code}
	if f := m.fn; f != nil {
		t.Func, t.Name, t.Inst, t.Src = f.index, f.name, m.pc-1, f.body.Srcs[m.pc-1]
		if t.Src >= abi.InlinedPlace {
			in := &f.body.Inlined[t.Src-abi.InlinedPlace]
			t.Func, t.Name, t.Src = clif.FuncIndex(in.Func), f.inst.mod.Funcs[in.Func].Name, in.Src
		}
	}
	m.fail(t)
}

// undefined ends the execution because d must not be executed in this state.
func (m *machine) undefined(format string, args ...any) {
	p := clif.Printer{F: m.fn.body}
	m.fail(&UndefinedError{Func: m.fn.name, Inst: p.Inst(m.pc - 1), Msg: fmt.Sprintf(format, args...)})
}

// push makes a frame for f, which is not the host's, and makes it current. It
// reports whether there was room.
func (m *machine) push(f *Function) bool {
	base := 0
	if n := len(m.frames); n > 0 {
		top := &m.frames[n-1]
		top.pc = m.pc
		base = top.base + len(top.fn.body.Values)
	}
	return m.pushAt(f, base)
}

// pushAt is push of a frame whose values begin at base, on top of frames whose pc is known.
func (m *machine) pushAt(f *Function, base int) bool {
	if err := f.load(); err != nil {
		m.fail(err)
		return false
	}
	end := base + len(f.body.Values)
	if len(m.frames) >= m.store.opt.MaxDepth || end > m.store.opt.MaxWords {
		m.trap(abi.TrapStackOverflow)
		return false
	}
	if end > len(m.stack) {
		m.stack = append(m.stack, make([]uint64, end+end/2-len(m.stack))...)
	}
	if f.vectors && end > len(m.high) {
		m.high = append(m.high, make([]uint64, end+end/2-len(m.high))...)
	}
	m.frames = append(m.frames, frame{fn: f, base: base, pc: f.body.Blocks[f.body.Entry()].Start})
	m.enter()
	return true
}

// enter makes the top frame current.
func (m *machine) enter() {
	if len(m.frames) == 0 {
		return
	}
	top := &m.frames[len(m.frames)-1]
	m.fn, m.inst, m.pc = top.fn, top.fn.inst, top.pc
	m.insts = top.fn.body.Insts
	end := top.base + len(top.fn.body.Values)
	m.regs, m.highs = m.stack[top.base:end], nil
	if top.fn.vectors {
		m.highs = m.high[top.base:end]
	}
}

// unpack sets value v to the first of the words, and returns the rest.
func (m *machine) unpack(v uint32, words []uint64) []uint64 {
	m.regs[v] = words[0]
	if m.fn.body.TypeOf(clif.Value(v)) != clif.V128 {
		return words[1:]
	}
	m.highs[v] = words[1]
	return words[2:]
}

// pack appends the words of value v.
func (m *machine) pack(words []uint64, v uint32) []uint64 {
	words = append(words, m.regs[v])
	if m.fn.body.TypeOf(clif.Value(v)) == clif.V128 {
		words = append(words, m.highs[v])
	}
	return words
}

// invoke executes a call instruction: args are the numbers of the caller's
// values.
func (m *machine) invoke(f *Function, d *clif.InstData, args []uint32) {
	if f.host != nil {
		m.invokeHost(f, d, args)
		return
	}
	base := m.frames[len(m.frames)-1].base
	if !m.push(f) {
		return
	}
	params := f.body.Params(f.body.Entry())
	caller := m.stack[base:]
	for i, p := range params {
		m.regs[p] = caller[args[i]]
	}
	if f.wordsIn == len(params) {
		return
	}
	caller = m.high[base:]
	for i, p := range params {
		if f.sig.Params[i] == clif.V128 {
			m.highs[p] = caller[args[i]]
		}
	}
}

// tailInvoke executes a tail call: args are the numbers of values of the function that ends. The callee's frame takes the place of its frame, so
// that tail calls, however many, take no more stack.
func (m *machine) tailInvoke(f *Function, args []uint32) {
	words := m.args[:0]
	for _, a := range args {
		words = m.pack(words, a)
	}
	m.args = words
	last := len(m.frames) - 1
	base := m.frames[last].base
	m.frames = m.frames[:last]
	if f.host != nil {
		m.tailHost(f, append([]uint64(nil), words...))
		return
	}
	if !m.pushAt(f, base) {
		return
	}
	for _, p := range f.body.Params(f.body.Entry()) {
		words = m.unpack(p, words)
	}
}

// tailHost executes a tail call of a host function, whose caller is that of the function which has ended.
func (m *machine) tailHost(f *Function, in []uint64) {
	if m.enter(); len(m.frames) == 0 {
		m.fn = nil
	}
	out := make([]uint64, f.wordsOut)
	if err := m.hostCall(f, in, out); err != nil {
		m.hostError(err)
		return
	}
	if len(m.frames) == m.floor {
		m.results, m.stop = out, true
		return
	}
	d := &m.insts[m.pc-1]
	for i := range clif.Value(d.NumResults) {
		out = m.unpack(uint32(d.Result+i), out)
	}
}

func (m *machine) invokeHost(f *Function, d *clif.InstData, args []uint32) {
	words := make([]uint64, f.wordsIn+f.wordsOut)
	in, out := words[:0:f.wordsIn], words[f.wordsIn:]
	for _, a := range args {
		in = m.pack(in, a)
	}
	m.frames[len(m.frames)-1].pc = m.pc
	if err := m.hostCall(f, in, out); err != nil {
		m.hostError(err)
		return
	}
	for i := range clif.Value(d.NumResults) {
		out = m.unpack(uint32(d.Result+i), out)
	}
}

// hostError unwinds with an exception that a host function has thrown, or ends the execution with another error; a trap gets
// the place of the call if it has none.
func (m *machine) hostError(err error) {
	var x *Exception
	if errors.As(err, &x) && x.tag.store == m.store {
		m.store.exception = x
		m.unwind()
		return
	}
	var t *Trap
	if errors.As(err, &t) && t.Name == "" && t.Src == 0 {
		m.trap(t.Code)
		return
	}
	m.fail(err)
}

// doReturn leaves the current frame with the values numbered by results.
func (m *machine) doReturn(results []uint32) {
	fn, from, high := m.fn, m.regs, m.highs
	m.frames = m.frames[:len(m.frames)-1]
	if len(m.frames) == m.floor {
		m.results = make([]uint64, 0, fn.wordsOut)
		for _, r := range results {
			m.results = m.pack(m.results, r)
		}
		m.stop = true
		return
	}
	m.enter()
	d := &m.insts[m.pc-1]
	for i, r := range results {
		m.regs[d.Result+clif.Value(i)] = from[r]
	}
	if fn.wordsOut == len(results) {
		return
	}
	for i, r := range results {
		if fn.sig.Results[i] == clif.V128 {
			m.highs[d.Result+clif.Value(i)] = high[r]
		}
	}
}

// jump goes to a target: its arguments become the parameters, all at once.
func (m *machine) jump(t uint32) {
	f := m.fn.body
	tg := &f.Targets[t]
	args, params := f.ListAt(tg.Args), f.Params(tg.Block)
	m.move(m.regs, params, args)
	if m.highs != nil {
		m.move(m.highs, params, args) // those of scalars do not count
	}
	m.pc = f.Blocks[tg.Block].Start
}

// move copies the words of args to those of params, all at once.
func (m *machine) move(words []uint64, params, args []uint32) {
	switch len(args) {
	case 0:
	case 1:
		words[params[0]] = words[args[0]]
	default:
		m.args = m.args[:0]
		for _, a := range args {
			m.args = append(m.args, words[a])
		}
		for i, p := range params {
			words[p] = m.args[i]
		}
	}
}

// HostCall is what a host function knows of the call.
type HostCall struct{ m *machine }

// Caller returns the instance that called, or nil if the host did.
func (c *HostCall) Caller() *Instance {
	if len(c.m.frames) == 0 {
		return nil
	}
	return c.m.inst
}

// Call calls a function on the same stack, so that depth and steps are counted
// together. Host functions should prefer it to Function.Call.
func (c *HostCall) Call(f *Function, args []uint64) ([]uint64, error) { return c.m.call(f, args) }

func (m *machine) hostCall(f *Function, in, out []uint64) error {
	if m.nesting >= maxNesting {
		return &Trap{Code: abi.TrapStackOverflow}
	}
	m.nesting++
	err := f.host(&HostCall{m}, in, out)
	m.nesting--
	return err
}
