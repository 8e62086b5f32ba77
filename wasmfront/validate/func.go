package validate

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/wasmfront"
)

// Func validates function bodies, operator by operator, with the algorithm and
// the names of the specification's appendix. It is reusable: once its stacks
// have grown, it does not allocate. The zero value is ready for Begin.
type Func struct {
	wasmfront.Reader // of the body

	m        *wasmfront.Module
	features wasmfront.Features
	rules    *ruleTable
	index    uint32
	typ      *wasmfront.FuncType

	locals    []wasmfront.ValType
	numParams int
	// Only locals of types that are never null have no value at first. Those that have got one have the number of the function in given, which is as long as the locals if
	// there are such; sets are those that have got it in the blocks that are open, in order. Numbers are for one function only, so that nothing need be written for
	// each local, as a function may have many in few bytes.
	given    []uint32
	number   uint32
	sets     []uint32
	operands []wasmfront.ValType
	controls []Frame

	// Copies of what the innermost frame says, for speed.
	height      int
	unreachable bool

	// values is how many values have been passed in this function and those before it, see maxValues.
	values, maxValues int
	price             *wasmfront.Price // of the memory for open blocks; nil is nothing
	stamp             uint32
	targets           []uint32          // of the last br_table
	catches           []wasmfront.Catch // of the last try_table
}

// Frame is an entry of the control stack: a block that is open.
type Frame struct {
	Kind        wasmfront.BlockKind
	Unreachable bool // the rest of the block is
	Offset      int  // of the operator that opened it
	Height      int  // of the operand stack below the block's parameters
	Params      []wasmfront.ValType
	Results     []wasmfront.ValType

	stamp uint32 // the br_table that checked this label last
	sets  uint32 // how many locals had got their first value before the block
}

// LabelTypes are the types of the operands that a branch to the block takes.
func (f *Frame) LabelTypes() []wasmfront.ValType {
	if f.Kind == wasmfront.BlockLoop {
		return f.Params
	}
	return f.Results
}

func errorAt(offset, fn int, format string, args ...any) *wasmfront.Error {
	return &wasmfront.Error{Offset: offset, Func: fn, Msg: fmt.Sprintf(format, args...)}
}

// Begin starts the validation of function index of m (in the index space, not
// imported) and decodes its locals. Errors show in Err. The module must be
// valid up to the body, as Module sees to.
func (v *Func) Begin(m *wasmfront.Module, index uint32) { v.beginAfter(m, index, 0) }

// beginAfter is Begin for a function before which values have been passed in those before it.
func (v *Func) beginAfter(m *wasmfront.Module, index uint32, values int) {
	body := m.Body(index)
	v.Reader = wasmfront.Reader{
		Buf: m.Bytes, Pos: body.Offset, End: body.Offset + len(body.Bytes), Func: int(index), Types: m.Types,
		Singles: v.Singles[:0],
	}
	v.m, v.features, v.rules, v.index = m, m.Features, rules(), index
	v.typ = m.FuncType(index)
	v.operands = v.operands[:0]
	v.controls = v.controls[:0]
	v.values, v.maxValues = values, MaxValues(m)
	v.numParams = len(v.typ.Params)
	v.pass(v.Pos, len(v.typ.Params)+len(v.typ.Results))
	v.locals = append(v.locals[:0], v.typ.Params...)
	v.given, v.sets = v.given[:0], v.sets[:0]
	if v.number++; v.number == 0 { // all have been used
		clear(v.given[:cap(v.given)])
		v.number = 1
	}
	if v.decodeLocals() {
		v.given = slices.Grow(v.given, len(v.locals))[:len(v.locals)]
	}
	v.pushControl(wasmfront.BlockFunc, v.Pos, nil, v.typ.Results)
}

// decodeLocals reports whether some are never null.
func (v *Func) decodeLocals() (notNull bool) {
	for n := v.U32(); n > 0 && v.Reader.Err == nil; n-- {
		at := v.Pos
		count := v.U32()
		t := v.ValType(v.features)
		if v.Reader.Err != nil {
			return notNull
		}
		notNull = notNull || t.IsNotNull()
		if uint64(count)+uint64(len(v.locals)) > wasmfront.MaxLocals {
			have := uint64(count) + uint64(len(v.locals))
			v.FailLimit(at, wasmfront.LimitError{What: "locals", Want: have, Limit: wasmfront.MaxLocals}, "too many locals")
			return notNull
		}
		v.addLocals(int(count), t)
	}
	return notNull
}

// addLocals appends n locals of type t. It copies what it has filled in, as a
// function may have many locals in few bytes.
func (v *Func) addLocals(n int, t wasmfront.ValType) {
	have := len(v.locals)
	v.locals = slices.Grow(v.locals, n)[:have+n]
	added := v.locals[have:]
	if n > 0 {
		added[0] = t
	}
	for i := 1; i < n; i *= 2 {
		copy(added[i:], added[:i])
	}
}

// Err returns what was wrong with the body, an *wasmfront.Error, or nil.
func (v *Func) Err() error {
	if v.Reader.Err != nil {
		return v.Reader.Err
	}
	return nil
}

// Next decodes and validates the next operator into op. It is false at an
// error and after the end of the body. On return the stacks are as after the
// operator.
func (v *Func) Next(op *wasmfront.Operator) bool {
	at := v.Pos
	if at >= v.End || len(v.controls) == 0 {
		v.finish()
		return false
	}
	b := v.Buf[at]
	v.Pos++
	code, r := wasmfront.Opcode(b), &v.rules[0][b]
	if wasmfront.IsPrefix(b) {
		code, r = v.prefixed(b)
	}
	op.Op, op.Offset = code, at
	if r.features&^v.features != 0 {
		v.refuse(code, at)
		return false
	}
	r.run(v, op, r)
	return v.Reader.Err == nil
}

// finish checks that the body ends where its outermost block does.
func (v *Func) finish() {
	switch {
	case v.Reader.Err != nil:
	case len(v.controls) == 0 && v.Pos < v.End:
		v.Fail(v.Pos, "section size mismatch: operators after the end of the function")
	case len(v.controls) > 0:
		v.Byte() // fails: unexpected end
	}
}

// prefixed reads the number of an operator that starts with a prefix byte.
func (v *Func) prefixed(b byte) (wasmfront.Opcode, *rule) {
	n := v.U32()
	code, ok := wasmfront.PrefixedOpcode(b, n)
	if !ok {
		return wasmfront.Opcode(b), &v.rules[0][b]
	}
	return code, &v.rules[code.Page()][code&0xFF]
}

// refuse says why the operator at offset is not accepted.
func (v *Func) refuse(code wasmfront.Opcode, offset int) {
	switch info := code.Info(); {
	case v.Reader.Err != nil:
	case info.Name != "":
		v.FailFeature(offset, info.Feature&^v.features, "unsupported operator %s", info.Name)
	case code > 0xFF:
		v.Fail(offset, "illegal opcode %02x %02x", v.Buf[offset], uint8(code))
	default:
		v.Fail(offset, "illegal opcode %02x", v.Buf[offset])
	}
}

// Type returns the function's type.
func (v *Func) Type() *wasmfront.FuncType { return v.typ }

// Locals are the types of the locals, parameters first. The slice is valid
// until the next Begin.
func (v *Func) Locals() []wasmfront.ValType { return v.locals }

// NumParams returns the number of locals that are parameters.
func (v *Func) NumParams() int { return v.numParams }

// Depth returns the number of open blocks, that of the function included. It is 0
// after the last end.
func (v *Func) Depth() int { return len(v.controls) }

// Frame returns the open block that label refers to: 0 is the innermost. It is
// valid until the next operator.
func (v *Func) Frame(label uint32) *Frame {
	return &v.controls[len(v.controls)-1-int(label)]
}

// NumOperands returns the height of the operand stack.
func (v *Func) NumOperands() int { return len(v.operands) }

// OperandType returns the type of the operand i places below the top of the stack.
func (v *Func) OperandType(i int) wasmfront.ValType {
	return v.operands[len(v.operands)-1-i]
}

// pushOperand pushes an operand.
func (v *Func) pushOperand(t wasmfront.ValType) { v.operands = append(v.operands, t) }

// pushOperands pushes operands, the first first. Only this can make the stack
// much longer than the body.
func (v *Func) pushOperands(ts []wasmfront.ValType) {
	v.pass(v.Pos, len(ts))
	if v.operands = append(v.operands, ts...); len(v.operands) > wasmfront.MaxOperands {
		v.FailLimit(v.Pos, wasmfront.LimitError{What: "operands", Want: uint64(len(v.operands)), Limit: wasmfront.MaxOperands}, "too many operands on the stack")
	}
}

// popOperand pops an operand of any type. In unreachable code, the stack of a
// block has unknown operands below those pushed.
func (v *Func) popOperand(at int) wasmfront.ValType {
	n := len(v.operands) - 1
	if n < v.height {
		if !v.unreachable {
			v.Fail(at, "type mismatch: nothing on the stack")
		}
		return wasmfront.TypeUnknown
	}
	t := v.operands[n]
	v.operands = v.operands[:n]
	return t
}

// popExpect pops an operand of type want.
func (v *Func) popExpect(at int, want wasmfront.ValType) {
	n := len(v.operands) - 1
	if n >= v.height && v.operands[n] == want {
		v.operands = v.operands[:n]
		return
	}
	if n < v.height && !v.unreachable {
		v.Fail(at, "type mismatch: expected %s but nothing on the stack", want)
		return
	}
	if t := v.popOperand(at); !v.fits(t, want) {
		v.Fail(at, "type mismatch: expected %s but %s on the stack", want, t)
	}
}

// unknownRef is the type of a reference in unreachable code of which nothing is known.
const unknownRef = abi.UnknownRef

// fits reports whether an operand of type t can be where want is wanted.
func (v *Func) fits(t, want wasmfront.ValType) bool {
	return t == want || t == wasmfront.TypeUnknown || t == unknownRef && want.IsRef() || v.m.Matches(t, want)
}

// popOperands pops operands of the types ts, the last first.
func (v *Func) popOperands(at int, ts []wasmfront.ValType) {
	v.operands = v.operands[:len(v.operands)-v.checkTop(at, ts)]
}

// checkTop fails unless the types on top of the stack are ts. The result is how many of them are on the stack: in
// unreachable code, those below are unknown, and cost nothing.
func (v *Func) checkTop(at int, ts []wasmfront.ValType) int {
	have := v.operands[v.height:]
	n := min(len(ts), len(have))
	v.pass(at, n)
	have = have[len(have)-n:]
	for i, want := range slices.Backward(ts[len(ts)-n:]) {
		if t := have[i]; t != want && !v.fits(t, want) {
			v.Fail(at, "type mismatch: expected %s but %s on the stack", want, t)
			return n
		}
	}
	if n < len(ts) && !v.unreachable {
		v.Fail(at, "type mismatch: expected %s but nothing on the stack", ts[len(ts)-n-1])
	}
	return n
}

// pass counts n values that the operator at an offset passes, or the function.
func (v *Func) pass(at, n int) {
	if v.values += n; v.values > v.maxValues {
		v.FailLimit(at, wasmfront.LimitError{What: valuesPassed, Want: uint64(v.values), Limit: uint64(v.maxValues)},
			"the module passes more than %d values", v.maxValues)
	}
}

// Values returns how many values the function passes; see MaxValues.
func (v *Func) Values() int { return v.values }

// MaxValues returns how many values the functions of m may pass: parameters and results of functions, and of the
// calls, blocks and branches in them. Each takes time and memory, while an operator of two bytes may pass 2,000.
func MaxValues(m *wasmfront.Module) int { return freeValues + valuesPerByte*len(m.Bytes) }

// Of real modules of more than 1 KB none has more than 0.1 values for a byte.
const freeValues, valuesPerByte = 1 << 20, 4

// valuesPassed is the name of the limit.
const valuesPassed = "values that functions, calls, blocks and branches pass"

// pushControl opens a block whose parameters were popped.
func (v *Func) pushControl(kind wasmfront.BlockKind, at int, params, results []wasmfront.ValType) {
	v.height = len(v.operands)
	v.unreachable = false
	if len(v.controls) == cap(v.controls) {
		v.chargeControls(at)
	}
	v.controls = append(stop.Room(nil, v.controls), Frame{
		Kind: kind, Offset: at, Height: v.height, Params: params, Results: results, stamp: v.stamp, sets: uint32(len(v.sets)),
	})
	v.pushOperands(params)
}

// chargeControls fails if more open blocks take more memory than may be charged, before the array of them grows.
func (v *Func) chargeControls(at int) {
	p := v.price
	if p == nil || p.Most == 0 {
		return
	}
	const each = 2 * int64(unsafe.Sizeof(Frame{})) // with the array that was too small
	if v.m.Cost+each*int64(len(v.controls)) > p.Most {
		v.FailLimit(at, wasmfront.LimitError{What: p.What, Limit: p.Limit}, "the compiler needs too much memory")
	}
}

// popControl closes the innermost block: its results, and nothing else, must
// be on the stack. They are popped. The frame is valid until the next
// pushControl.
func (v *Func) popControl(at int) *Frame {
	f := &v.controls[len(v.controls)-1]
	v.popOperands(at, f.Results)
	if len(v.operands) != v.height {
		v.Fail(at, "type mismatch: values remaining on stack at end of block")
	}
	for ; len(v.sets) > int(f.sets); v.sets = v.sets[:len(v.sets)-1] {
		v.given[v.sets[len(v.sets)-1]] = 0 // where the block did not go on, it has no value
	}
	v.controls = v.controls[:len(v.controls)-1]
	if n := len(v.controls); n > 0 {
		v.height, v.unreachable = v.controls[n-1].Height, v.controls[n-1].Unreachable
	}
	return f
}

// setUnreachable makes the rest of the innermost block unreachable.
func (v *Func) setUnreachable() {
	v.operands = v.operands[:v.height]
	v.controls[len(v.controls)-1].Unreachable = true
	v.unreachable = true
}

// label returns the frame that label i refers to, or nil after a failure.
func (v *Func) label(at int, i uint32) *Frame {
	if int64(i) >= int64(len(v.controls)) {
		v.Fail(at, "unknown label %d", i)
		return nil
	}
	return v.Frame(i)
}
