package translate

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/fuel"
	"github.com/waot-project/waot/wasmfront/validate"
)

// Options choose what operators become.
type Options struct {
	// NoSpectre leaves indices of tables as they are once they are checked: a misspeculation may use any.
	NoSpectre bool
	// Relaxed chooses the results of relaxed operators.
	Relaxed Relaxed
	// CanonicalNaNs makes each NaN that an operator computes the canonical one, positive and quiet without payload.
	CanonicalNaNs bool
	// Fuel, if it is not nil, says what operators cost: blocks are charged for them. OutOfFuel is the trap where that is more than is left, TrapNone for
	// none.
	Fuel      *fuel.Costs
	OutOfFuel abi.TrapCode
	// MaxBytes, if it is not 0, is how much Bytes may be: Func gives up with ErrBytes once it is more.
	MaxBytes int64
}

// ErrBytes means that a function takes more than Options.MaxBytes.
var ErrBytes = errors.New("the tables of the function are too large")

// Translator translates the function bodies of one module. It is reusable from
// function to function, but not by two goroutines at once.
type Translator struct {
	Options

	m  *wasmfront.Module
	cm *clif.Module
	f  *clif.Func
	b  clif.Builder

	ssa      ssa
	check    validate.Func
	op       wasmfront.Operator
	stack    []clif.Value
	frames   []frame
	locals   []wasmfront.ValType
	args     []clif.Value  // scratch
	targets  []clif.Target // scratch
	results  []clif.Value  // scratch of returnResults
	labelFor []clif.Target // scratch of br_table: by depth
	tries    []int         // the open blocks to whose pads exceptions go, by number
	rethrows rethrows
	saved    []clif.Value // parameters of open ifs, for their else parts
	open     []uint32     // scratch of scan: open blocks, by number of the loop
	live     bool         // the current point is reachable
	charge   charge
	beyond   int // see Beyond
	deepest  int // most frames that were open at once
}

// frame is an open block.
type frame struct {
	kind  wasmfront.BlockKind
	live  bool                // the block was entered
	types []wasmfront.ValType // of the operands of a branch to it
	// label is where a branch to it goes: the header of a loop, else the end,
	// which is NoBlock until somebody branches to it. Its phis for operands
	// begin with firstPhi.
	label    clif.Block
	firstPhi uint32
	from     clif.Block // the current block when the block was entered
	start    position   // where it opened
	loop     uint32     // the innermost loop around it
	els      clif.Block // of an if: the block of the else part, entered or not
	height   int        // of the stack below the block's parameters
	saved    int        // where in Translator.saved the parameters of an if begin
	try      *try       // of a block that may catch
}

// New returns a translator for m, as declared by Module.
func New(m *wasmfront.Module, cm *clif.Module) *Translator { return &Translator{m: m, cm: cm} }

// bytesPerInst is how many bytes of a body about become one instruction: for as many there is room from the start, so that large tables are not copied
// while they grow.
const bytesPerInst = 3

// start begins the function i in f: entry block, parameters, zeros.
func (t *Translator) start(f *clif.Func, i clif.FuncIndex) {
	f.Reset()
	f.Name, f.Index, f.Sig, f.Mod = t.cm.Funcs[i].Name, i, t.cm.Funcs[i].Sig, t.cm
	t.f, t.b = f, clif.Builder{F: f}
	offset, size := 0, 0
	if body := t.m.Body(uint32(i)); body != nil { // the init function has none
		offset, size = body.Offset, len(body.Bytes)
	}
	n := size / bytesPerInst
	f.Insts, f.Srcs, f.Values = stop.Grow(f.Stop, f.Insts, n), stop.Grow(f.Stop, f.Srcs, n), stop.Grow(f.Stop, f.Values, 2*n)
	f.Pool = stop.Grow(f.Stop, f.Pool, n)
	t.ssa.reset(f, &t.b, uint32(offset), uint32(size))
	t.stack, t.frames, t.saved, t.live, t.deepest = t.stack[:0], t.frames[:0], t.saved[:0], true, 0
	t.tries, t.rethrows = t.tries[:0], unknownRethrows
	entry := t.ssa.enterEntry()
	params := f.Signature().Params
	t.ssa.entryParams = clif.Value(len(params))
	t.ssa.setLocals(len(params))
	for n, ty := range params {
		t.ssa.write(uint32(n), t.b.AddParam(entry, ty))
	}
}

// Func decodes, validates and translates function i, which must not be
// imported, into f. An error is a *wasmfront.Error, or ErrBytes.
func (t *Translator) Func(f *clif.Func, i uint32) error {
	t.check.Begin(t.m, i)
	if err := t.check.Err(); err != nil {
		return err
	}
	t.start(f, clif.FuncIndex(i))
	t.declareLocals()
	t.charge.inst = clif.NoInst
	t.leader(false)
	t.charge.locals = uint64(len(t.locals)) >> fuel.ValuesShift
	ft := t.m.FuncType(i)
	t.pushFrame(wasmfront.BlockFunc, ft.Results, 0)
	bytes := len(t.m.Body(i).Bytes)
	maxSize, maxSteps := min(freeSize+bytes*sizePerByte, mostSize), min(freeSteps+bytes*stepsPerByte, mostSteps)
	t.ssa.room = maxSize
	for t.check.Next(&t.op) {
		f.Stop.Poll()
		op := &t.op
		t.b.Src = uint32(op.Offset)
		h := t.handlerOf(op.Op)
		switch {
		case h.run == nil:
			t.unsupported(op)
		case t.live || h.always:
			if t.Fuel != nil && t.live {
				t.count(op)
			}
			h.run(t, op, h)
		}
		if t.size() > maxSize || t.ssa.steps > maxSteps || t.ssa.full {
			t.tooComplex(op.Offset, maxSize)
		}
		if t.full() {
			return ErrBytes
		}
	}
	if err := t.check.Err(); err != nil {
		return err
	}
	t.closeCharge()
	t.ssa.removeTrivial()
	size := t.size() + perOperand*t.ssa.numOperands()
	if size > maxSize {
		t.tooComplex(int(t.b.Src), maxSize)
		return t.check.Err()
	}
	passed := (perValue + perOperand) * t.check.Values() // the module has a limit of them
	t.beyond = max(0, size-passed-bytes*sizePerByte) + max(0, t.ssa.steps-bytes*stepsPerByte)/(freeSteps/freeSize)
	t.ssa.finish()
	return nil
}

// tooComplex refuses the function. What it would take in the end is not known.
func (t *Translator) tooComplex(offset, maxSize int) {
	l := wasmfront.LimitError{What: "complexity of a function", Limit: uint64(maxSize)}
	t.check.FailLimit(offset, l, "the function is too complex")
}

// Values returns how many values the function passes: see validate.MaxValues.
func (t *Translator) Values() int { return t.check.Values() }

// Bytes is about how many bytes the tables of the function take in all of the compiler together.
func (t *Translator) Bytes() int64 {
	withoutResults := max(0, len(t.f.Insts)-len(t.f.Values))
	return bytesPerSize*int64(t.size()+perValue*withoutResults) + bytesPerFrame*int64(t.deepest)
}

// full reports whether the function takes more than it may.
func (t *Translator) full() bool { return t.MaxBytes != 0 && t.Bytes() > t.MaxBytes }

// GrownBytes is about how many bytes the given numbers of values and of words in the pool of a function add.
func GrownBytes(values, pool int) int64 { return bytesPerSize * int64(perValue*values+perOperand*pool) }

// bytesPerSize is measured: see docs/correctness.md.
const bytesPerSize = 100

// Beyond returns what the construction has taken beyond what is for each byte of the body, where a function may have freeSize, and
// as much again in steps.
func (t *Translator) Beyond() int { return t.beyond }

// bytesPerFrame is what an open block takes here and in the validator, and as much again for arrays that were too small.
const bytesPerFrame = 2 * int64(unsafe.Sizeof(frame{})+unsafe.Sizeof(validate.Frame{}))

// A function may be small and its SSA form huge: each branch may carry a
// thousand operands, each of many locals may need a merge in each of many
// blocks. So there are limits of what the construction takes: an amount that is free, and
// some for each byte of the body. Of 31,000 real functions, of Go's compiler, gofmt and
// SQLite among others, none that has more than 2,000 bytes takes more than a size of 9
// and 6 steps for a byte, so none needs what is free.
const (
	freeSize, sizePerByte, mostSize    = 1 << 21, 32, 1 << 26
	freeSteps, stepsPerByte, mostSteps = 1 << 24, 64, 1 << 27 // blocks visited for locals
)

// What things count in a size. A number in the pool of the construction counts as 1.
const perValue, perOperand, perPhi = 8, 4, 8

// size returns a measure of the memory that the function takes, in the compiler as a whole.
func (t *Translator) size() int {
	return perValue*len(t.f.Values) + perOperand*len(t.f.Pool) + perPhi*len(t.ssa.phis) + len(t.ssa.pool) + len(t.saved)
}

// declareLocals makes room for locals. Few functions read a local that they
// have not written, so the zeros are made when they are needed, in place of
// instructions that the entry reserves.
func (t *Translator) declareLocals() {
	t.locals = t.check.Locals()
	t.ssa.setLocals(len(t.locals))
	if len(t.locals) > len(t.f.Signature().Params) {
		t.ssa.reserveZeros()
	}
}

func (t *Translator) push(v clif.Value) { t.stack = append(t.stack, v) }

func (t *Translator) pop() clif.Value {
	v := t.stack[len(t.stack)-1]
	t.stack = t.stack[:len(t.stack)-1]
	return v
}

// popN pops n values into the scratch list; the first pushed is first.
func (t *Translator) popN(n int) []clif.Value {
	at := len(t.stack) - n
	t.args = append(t.args[:0], t.stack[at:]...)
	t.stack = t.stack[:at]
	return t.args
}

// wide extends an i32 to 64 bits.
func (t *Translator) wide(x clif.Value) clif.Value { return t.b.Unary(clif.OpUextend, clif.I64, x) }

// checkEnd traps unless at + n <= size, all 64 bits wide; at and n fit in 32
// bits, so the sum does not wrap.
func (t *Translator) checkEnd(at, n, size clif.Value, code abi.TrapCode) {
	end := t.b.Binary(clif.OpIadd, clif.I64, at, n)
	t.b.TrapIf(t.b.Icmp(clif.Ugt, clif.I64, end, size), code)
}

// handler translates one operator; it has nothing to do with exceptions, which go to pads here. The fields after run parameterise the
// uniform ones.
type handler struct {
	run    func(t *Translator, op *wasmfront.Operator, h *handler)
	always bool // runs in unreachable code too: it opens or closes blocks
	code   clif.Opcode
	typ    clif.Type // controlling type
	cond   uint8     // condition or access
}

// handlerOf returns the handler of op; what is not supported has one without run.
func (t *Translator) handlerOf(op wasmfront.Opcode) *handler {
	switch {
	case op < 0x100:
		return &handlers[op]
	case isOfGC(op):
		return &gcHandlers[op&0xFF]
	case op>>8 == 0xFC && op&0xFF < wasmfront.Opcode(len(miscHandlers)):
		return &miscHandlers[op&0xFF]
	case op>>8 == 0xFD:
		return &vectorHandlers[op&0xFF]
	case op>>8 == 0xFF && op&0xFF < relaxedCount:
		return &relaxedHandlers[t.Relaxed][op&0xFF]
	}
	return &handlers[0xFF] // 0xFF is no operator
}

// unsupported refuses an operator that the module's features allow but CLIF
// has no instructions for.
func (t *Translator) unsupported(op *wasmfront.Operator) {
	feature := op.Op.Info().Feature
	t.check.FailError(&wasmfront.Error{
		Offset: op.Offset, Func: int(t.f.Index), Msg: fmt.Sprintf("%v cannot be compiled", op.Op),
		Feature: feature.String(),
	})
}
