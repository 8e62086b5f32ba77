package translate

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/validate"
)

// Translator translates the function bodies of one module. It is reusable from
// function to function, but not by two goroutines at once.
type Translator struct {
	m  *wasmfront.Module
	cm *clif.Module
	f  *clif.Func
	b  clif.Builder

	ssa      ssa
	check    validate.Func
	op       wasmfront.Operator
	stack    []clif.Value
	frames   []frame
	locals   []clif.Type
	args     []clif.Value  // scratch
	targets  []clif.Target // scratch
	labelFor []clif.Target // scratch of br_table: by depth
	live     bool          // the current point is reachable
}

// frame is an open block.
type frame struct {
	kind   wasmfront.BlockKind
	label  clif.Block   // where a branch to it goes: the header of a loop, else the end
	els    clif.Block   // of an if: the block of the else part, entered or not
	phis   list         // of label's phis for operands, in ssa.pool
	params []clif.Value // of an if: its parameters, for the else part
	height int          // of the stack below the block's parameters
	live   bool         // the block was entered
	used   bool         // somebody branches to label
}

// New returns a translator for m, as declared by Module.
func New(m *wasmfront.Module, cm *clif.Module) *Translator { return &Translator{m: m, cm: cm} }

// start begins the function i in f: entry block, parameters, zeros.
func (t *Translator) start(f *clif.Func, i clif.FuncIndex) {
	f.Reset()
	f.Name, f.Index, f.Sig, f.Mod = t.cm.Funcs[i].Name, i, t.cm.Funcs[i].Sig, t.cm
	t.f, t.b = f, clif.Builder{F: f}
	t.ssa.reset(f, &t.b)
	t.stack, t.frames, t.live = t.stack[:0], t.frames[:0], true
	entry := t.ssa.newBlock()
	t.ssa.blocks[entry].sealed = true
	for n, ty := range f.Signature().Params {
		t.ssa.write(entry, uint32(n), t.b.AddParam(entry, ty))
	}
	t.b.SwitchTo(entry)
}

// Func decodes, validates and translates function i, which must not be
// imported, into f. An error is a *wasmfront.Error.
func (t *Translator) Func(f *clif.Func, i uint32) error {
	t.check.Begin(t.m, i)
	if err := t.check.Err(); err != nil {
		return err
	}
	t.start(f, clif.FuncIndex(i))
	t.declareLocals()
	ft := t.m.FuncType(i)
	t.pushFrame(wasmfront.BlockFunc, t.ssa.newBlock(), ft.Results, 0)
	for t.check.Next(&t.op) {
		op := &t.op
		t.b.Src = uint32(op.Offset)
		h := handlerOf(op.Op)
		if t.live || h.always {
			h.run(t, op, h)
		}
	}
	if err := t.check.Err(); err != nil {
		return err
	}
	t.ssa.finish()
	return nil
}

// declareLocals notes the locals' types and makes a zero for each type that a
// declared local has.
func (t *Translator) declareLocals() {
	t.locals = t.locals[:0]
	for _, ty := range t.check.Locals() {
		t.locals = append(t.locals, typeOf(ty))
	}
	for _, ty := range t.locals[len(t.f.Signature().Params):] {
		if t.ssa.zero[ty] != clif.NoValue {
			continue
		}
		t.ssa.zero[ty] = t.zeroOf(ty)
	}
}

func (t *Translator) zeroOf(ty clif.Type) clif.Value {
	switch {
	case ty.IsInt():
		return t.b.Iconst(ty, 0)
	case ty.IsRef():
		return t.b.RefNull(ty)
	}
	return t.b.Fconst(ty, 0)
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

// handler translates one operator. The fields after run parameterise the
// uniform ones.
type handler struct {
	run    func(t *Translator, op *wasmfront.Operator, h *handler)
	always bool // runs in unreachable code too: it opens or closes blocks
	code   clif.Opcode
	typ    clif.Type // controlling type
	cond   uint8     // condition or access
}

func handlerOf(op wasmfront.Opcode) *handler {
	if op < 0x100 {
		return &handlers[op]
	}
	return &miscHandlers[op&0x1f]
}
