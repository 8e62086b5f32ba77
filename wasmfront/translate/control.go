package translate

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/wasmfront"
)

// pushFrame opens a block whose label takes operands of the given types and
// whose parameters begin at height on the stack.
func (t *Translator) pushFrame(kind wasmfront.BlockKind, label clif.Block, types []wasmfront.ValType, height int) *frame {
	fr := frame{kind: kind, label: label, height: height, live: true}
	for _, ty := range types {
		t.ssa.push(&fr.phis, t.ssa.newPhi(label, noLocal, typeOf(ty)))
	}
	t.frames = append(t.frames, fr)
	return &t.frames[len(t.frames)-1]
}

// pushDead opens a block in unreachable code.
func (t *Translator) pushDead(kind wasmfront.BlockKind) {
	t.frames = append(t.frames, frame{kind: kind, height: len(t.stack)})
}

// branchTo makes an edge from the current point to the label of fr, carrying
// the operands on top of the stack, which stay there.
func (t *Translator) branchTo(fr *frame) clif.Target {
	fr.used = true
	tg := t.ssa.edge(fr.label)
	at := len(t.stack) - int(fr.phis.len)
	for i := uint32(0); i < fr.phis.len; i++ {
		t.ssa.addPhiArg(t.ssa.pool[fr.phis.off+i], t.stack[at+int(i)])
	}
	return tg
}

func (t *Translator) frameAt(label uint32) *frame { return &t.frames[len(t.frames)-1-int(label)] }

// dead marks the rest of the innermost block unreachable.
func (t *Translator) dead() {
	t.live = false
	t.stack = t.stack[:t.frames[len(t.frames)-1].height]
}

func (t *Translator) block(op *wasmfront.Operator, _ *handler) {
	if !t.live {
		t.pushDead(wasmfront.BlockBlock)
		return
	}
	t.pushFrame(wasmfront.BlockBlock, t.ssa.newBlock(), op.Results, len(t.stack)-len(op.Params))
}

func (t *Translator) loop(op *wasmfront.Operator, _ *handler) {
	if !t.live {
		t.pushDead(wasmfront.BlockLoop)
		return
	}
	header := t.ssa.newBlock()
	fr := t.pushFrame(wasmfront.BlockLoop, header, op.Params, len(t.stack)-len(op.Params))
	t.b.Jump(t.branchTo(fr))
	t.b.SwitchTo(header)
	t.stack = t.stack[:fr.height]
	for i := uint32(0); i < fr.phis.len; i++ {
		t.push(t.ssa.phis[t.ssa.pool[fr.phis.off+i]].value)
	}
}

func (t *Translator) ifOp(op *wasmfront.Operator, _ *handler) {
	if !t.live {
		t.pushDead(wasmfront.BlockIf)
		return
	}
	cond := t.pop()
	then, els := t.ssa.newBlock(), t.ssa.newBlock()
	t.b.Branch(cond, t.ssa.edge(then), t.ssa.edge(els))
	t.ssa.seal(then)
	t.ssa.seal(els)
	height := len(t.stack) - len(op.Params)
	fr := t.pushFrame(wasmfront.BlockIf, t.ssa.newBlock(), op.Results, height)
	fr.els = els
	fr.params = append(fr.params, t.stack[height:]...)
	t.b.SwitchTo(then)
}

func (t *Translator) elseOp(*wasmfront.Operator, *handler) {
	fr := &t.frames[len(t.frames)-1]
	fr.kind = wasmfront.BlockElse
	if !fr.live {
		return
	}
	if t.live {
		t.b.Jump(t.branchTo(fr))
	}
	t.enterElse(fr)
}

// enterElse starts the else part of fr.
func (t *Translator) enterElse(fr *frame) {
	t.b.SwitchTo(fr.els)
	t.live = true
	t.stack = append(t.stack[:fr.height], fr.params...)
}

func (t *Translator) end(op *wasmfront.Operator, _ *handler) {
	fr := &t.frames[len(t.frames)-1]
	if !fr.live {
		t.frames = t.frames[:len(t.frames)-1]
		return
	}
	if fr.kind == wasmfront.BlockLoop {
		t.ssa.seal(fr.label) // what is on the stack is the result
		t.frames = t.frames[:len(t.frames)-1]
		return
	}
	if fr.kind == wasmfront.BlockFunc && !fr.used {
		if t.live {
			t.b.Return(t.popN(int(fr.phis.len)))
		}
		t.frames = t.frames[:len(t.frames)-1]
		return
	}
	if t.live {
		t.b.Jump(t.branchTo(fr))
	}
	if fr.kind == wasmfront.BlockIf { // without else: the parameters are the results
		t.enterElse(fr)
		t.b.Jump(t.branchTo(fr))
	}
	t.join(fr)
	if fr.kind == wasmfront.BlockFunc && t.live {
		t.b.Return(t.popN(int(fr.phis.len)))
	}
	t.frames = t.frames[:len(t.frames)-1]
}

// join continues at the label of fr, which has all its edges now.
func (t *Translator) join(fr *frame) {
	t.ssa.seal(fr.label)
	t.live = fr.used
	if !t.live {
		t.stack = t.stack[:fr.height]
		return
	}
	t.b.SwitchTo(fr.label)
	t.stack = t.stack[:fr.height]
	for i := uint32(0); i < fr.phis.len; i++ {
		v := t.ssa.phis[t.ssa.pool[fr.phis.off+i]].value
		t.push(t.f.Resolve(v))
	}
}

func (t *Translator) br(op *wasmfront.Operator, _ *handler) {
	fr := t.frameAt(op.Index)
	if fr.kind == wasmfront.BlockFunc {
		t.b.Return(t.popN(int(fr.phis.len)))
	} else {
		t.b.Jump(t.branchTo(fr))
	}
	t.dead()
}

func (t *Translator) brIf(op *wasmfront.Operator, _ *handler) {
	cond := t.pop()
	next := t.ssa.newBlock()
	taken := t.branchTo(t.frameAt(op.Index))
	t.b.Branch(cond, taken, t.ssa.edge(next))
	t.ssa.seal(next)
	t.b.SwitchTo(next)
}

// brTable makes one edge per label that occurs, however often.
func (t *Translator) brTable(op *wasmfront.Operator, _ *handler) {
	index := t.pop()
	t.targets = t.targets[:0]
	for len(t.labelFor) < len(t.frames) {
		t.labelFor = append(t.labelFor, clif.NoTarget)
	}
	for i := 0; i <= len(op.Targets); i++ {
		label := op.Index
		if i < len(op.Targets) {
			label = op.Targets[i]
		}
		if t.labelFor[label] == clif.NoTarget {
			t.labelFor[label] = t.branchTo(t.frameAt(label))
		}
		t.targets = append(t.targets, t.labelFor[label])
	}
	for _, label := range op.Targets {
		t.labelFor[label] = clif.NoTarget
	}
	t.labelFor[op.Index] = clif.NoTarget
	t.b.BrTable(index, t.targets)
	t.dead()
}

func (t *Translator) ret(op *wasmfront.Operator, _ *handler) {
	t.b.Return(t.popN(len(op.Params)))
	t.dead()
}

func (t *Translator) unreachable(*wasmfront.Operator, *handler) {
	t.b.Trap(abi.TrapUnreachable)
	t.dead()
}

func (t *Translator) call(op *wasmfront.Operator, _ *handler) {
	first := t.b.Call(clif.FuncIndex(op.Index), t.popN(len(op.Params)))
	t.pushResults(first, len(op.Results))
}

func (t *Translator) pushResults(first clif.Value, n int) {
	for i := range n {
		t.push(first + clif.Value(i))
	}
}

// callIndirect: bounds, the reference, its type, the call.
func (t *Translator) callIndirect(op *wasmfront.Operator, _ *handler) {
	index := t.wide(t.pop())
	size := t.b.Entity(clif.OpTableSize, clif.Invalid, op.Index2)
	t.b.TrapIf(t.b.Icmp(clif.Uge, clif.I64, index, size), abi.TrapUndefinedElement)
	callee := t.b.Entity(clif.OpTableGet, clif.FuncRef, op.Index2, index)
	sig := clif.SigIndex(op.Index)
	t.b.SigCheck(sig, callee)
	first := t.b.CallRef(sig, callee, t.popN(len(op.Params)))
	t.pushResults(first, len(op.Results))
}
