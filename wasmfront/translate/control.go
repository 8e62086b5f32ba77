package translate

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/stop"
	"github.com/waot-project/waot/wasmfront"
)

// pushFrame opens a block whose label takes operands of the given types and
// whose parameters begin at height on the stack.
func (t *Translator) pushFrame(kind wasmfront.BlockKind, types []wasmfront.ValType, height int) *frame {
	t.frames = append(stop.Room(t.f.Stop, t.frames), frame{
		kind: kind, label: clif.NoBlock, types: types, height: height, live: true,
		from: t.b.Current(), start: t.ssa.now(), loop: t.ssa.loop, saved: len(t.saved),
	})
	t.deepest = max(t.deepest, len(t.frames))
	return &t.frames[len(t.frames)-1]
}

// pushDead opens a block in unreachable code.
func (t *Translator) pushDead(kind wasmfront.BlockKind) {
	t.frames = append(stop.Room(t.f.Stop, t.frames), frame{kind: kind, height: len(t.stack), saved: len(t.saved)})
	t.deepest = max(t.deepest, len(t.frames))
}

func (t *Translator) popFrame() {
	n := len(t.frames) - 1
	t.saved = t.saved[:t.frames[n].saved]
	t.frames = t.frames[:n]
}

// branchTo makes an edge from the current point to the label of fr, carrying
// the operands on top of the stack, which stay there.
func (t *Translator) branchTo(fr *frame) clif.Target {
	if fr.label == clif.NoBlock {
		fr.label = t.ssa.newBlock(fr.from, fr.start, fr.loop)
		fr.firstPhi = uint32(len(t.ssa.phis))
		for i, ty := range fr.types {
			t.ssa.newPhi(fr.label, uint32(i), true, clif.TypeOf(ty))
		}
	}
	return t.ssa.edgeTo(fr.label, t.stack[len(t.stack)-len(fr.types):])
}

func (t *Translator) frameAt(label uint32) *frame { return &t.frames[len(t.frames)-1-int(label)] }

// jump ends the block with a jump to the label of fr.
func (t *Translator) jump(fr *frame) {
	t.b.Jump(t.branchTo(fr))
	t.ssa.endBlock()
}

// branch ends the block with a branch to one of two blocks.
func (t *Translator) branch(cond clif.Value, then, els clif.Target) {
	t.b.Branch(cond, then, els)
	t.ssa.endBlock()
}

// doReturn ends the block with a return of the n topmost operands.
func (t *Translator) doReturn(n int) {
	t.b.Return(t.popN(n))
	t.ssa.endBlock()
}

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
	t.pushFrame(wasmfront.BlockBlock, op.Results, len(t.stack)-len(op.Params))
}

func (t *Translator) loop(op *wasmfront.Operator, _ *handler) {
	if !t.live {
		t.pushDead(wasmfront.BlockLoop)
		return
	}
	fr := t.pushFrame(wasmfront.BlockLoop, op.Params, len(t.stack)-len(op.Params))
	t.jump(fr)
	if t.ssa.loops[t.ssa.loop].depth == maxOpenLoops && t.ssa.scanned == never {
		t.scan()
	}
	t.ssa.openLoop(fr.label)
	t.ssa.enter(fr.label, false)
	t.leader(true)
	t.pushPhis(fr)
}

// enter makes b the current block, as ssa.enter does; it begins a basic block.
func (t *Translator) enter(b clif.Block, follows bool) {
	t.ssa.enter(b, follows)
	t.leader(false)
}

// pushPhis makes the operands of the label of fr those on the stack.
func (t *Translator) pushPhis(fr *frame) {
	t.stack = t.stack[:fr.height]
	for i := range uint32(len(fr.types)) {
		t.push(t.ssa.f.Resolve(t.ssa.phis[fr.firstPhi+i].value))
	}
}

func (t *Translator) ifOp(op *wasmfront.Operator, _ *handler) {
	if !t.live {
		t.pushDead(wasmfront.BlockIf)
		return
	}
	cond := t.pop()
	height := len(t.stack) - len(op.Params)
	fr := t.pushFrame(wasmfront.BlockIf, op.Results, height)
	then, els := t.ssa.newSingle(), t.ssa.newSingle()
	fr.els = els
	t.saved = append(t.saved, t.stack[height:]...)
	t.branch(cond, t.ssa.edgeTo(then, nil), t.ssa.edgeTo(els, nil))
	t.enter(then, true)
}

func (t *Translator) elseOp(*wasmfront.Operator, *handler) {
	fr := &t.frames[len(t.frames)-1]
	fr.kind = wasmfront.BlockElse
	if !fr.live {
		return
	}
	if t.live {
		t.jump(fr)
	}
	t.enterElse(fr)
}

// enterElse starts the else part of fr.
func (t *Translator) enterElse(fr *frame) {
	t.enter(fr.els, false)
	t.live = true
	t.stack = append(t.stack[:fr.height], t.saved[fr.saved:]...)
}

func (t *Translator) end(*wasmfront.Operator, *handler) {
	fr := &t.frames[len(t.frames)-1]
	if !fr.live {
		t.popFrame()
		return
	}
	switch fr.kind {
	case wasmfront.BlockLoop:
		t.ssa.closeLoop()
		t.ssa.seal(fr.label) // what is on the stack is the result
	case wasmfront.BlockIf: // without else the parameters are the results
		if t.live {
			t.jump(fr)
		}
		t.enterElse(fr)
		t.join(fr)
	case wasmfront.BlockTryTable:
		t.endTryTable(fr)
		t.join(fr)
	case wasmfront.BlockTry:
		t.endTry(fr, t.tryAround(len(t.frames)-1))
		t.join(fr)
	case wasmfront.BlockCatch:
		t.endCatches(fr)
		t.join(fr)
	default:
		t.join(fr)
	}
	if fr.kind == wasmfront.BlockFunc && t.live {
		t.doReturn(len(fr.types))
	}
	t.popFrame()
}

// join continues at the label of fr, which has all its edges but the one from
// here, if there is one.
func (t *Translator) join(fr *frame) {
	if fr.label == clif.NoBlock {
		return // no branch goes to it: continue here, or be unreachable
	}
	if t.live {
		t.jump(fr)
	}
	t.ssa.seal(fr.label)
	t.live = true
	t.enter(fr.label, false)
	t.pushPhis(fr)
}

func (t *Translator) br(op *wasmfront.Operator, _ *handler) {
	fr := t.frameAt(op.Index)
	if fr.kind == wasmfront.BlockFunc {
		t.doReturn(len(fr.types))
	} else {
		t.jump(fr)
	}
	t.dead()
}

func (t *Translator) brIf(op *wasmfront.Operator, _ *handler) {
	cond := t.pop()
	taken := t.branchTo(t.frameAt(op.Index))
	next := t.ssa.newSingle()
	t.branch(cond, taken, t.ssa.edgeTo(next, nil))
	t.enter(next, true)
}

// brOnNull: a branch takes what is below the reference, which stays where it is not null.
func (t *Translator) brOnNull(op *wasmfront.Operator, _ *handler) {
	x := t.pop()
	null := t.isNull(x)
	taken := t.branchTo(t.frameAt(op.Index))
	next := t.ssa.newSingle()
	t.branch(null, taken, t.ssa.edgeTo(next, nil))
	t.enter(next, true)
	t.push(x)
}

// brOnNonNull: a branch takes the reference along, which is dropped where it is null.
func (t *Translator) brOnNonNull(op *wasmfront.Operator, _ *handler) {
	null := t.isNull(t.stack[len(t.stack)-1])
	taken := t.branchTo(t.frameAt(op.Index))
	t.pop()
	next := t.ssa.newSingle()
	t.branch(null, t.ssa.edgeTo(next, nil), taken)
	t.enter(next, true)
}

// brTable makes one edge per label that occurs, however often.
func (t *Translator) brTable(op *wasmfront.Operator, _ *handler) {
	index := t.pop()
	t.targets = stop.Grow(t.f.Stop, t.targets[:0], len(op.Targets)+1)
	for len(t.labelFor) < len(t.frames) {
		t.labelFor = stop.Append(t.f.Stop, t.labelFor, clif.NoTarget)
	}
	for i := 0; i <= len(op.Targets); i++ {
		label := op.Index
		if i < len(op.Targets) {
			label = op.Targets[i]
		}
		if t.labelFor[label] == clif.NoTarget {
			if i > 0 && t.size() > t.ssa.room { // the function will be refused
				t.ssa.full = true
				break
			}
			t.labelFor[label] = t.branchTo(t.frameAt(label))
		}
		t.targets = append(t.targets, t.labelFor[label])
	}
	for _, label := range op.Targets {
		t.labelFor[label] = clif.NoTarget
	}
	t.labelFor[op.Index] = clif.NoTarget
	t.b.BrTable(index, t.targets)
	t.ssa.endBlock()
	t.dead()
}

func (t *Translator) ret(op *wasmfront.Operator, _ *handler) {
	t.doReturn(len(op.Params))
	t.dead()
}

func (t *Translator) unreachable(*wasmfront.Operator, *handler) {
	t.b.Trap(abi.TrapUnreachable)
	t.ssa.endBlock()
	t.dead()
}

func (t *Translator) call(op *wasmfront.Operator, _ *handler) {
	first := t.b.Call(clif.FuncIndex(op.Index), t.popN(len(op.Params)))
	t.pushCalled(first, len(op.Results))
}

func (t *Translator) returnCall(op *wasmfront.Operator, _ *handler) {
	fn, args := clif.FuncIndex(op.Index), t.popN(len(op.Params))
	if op.Index < t.m.NumImportedFuncs {
		otherwise := t.ifHost(t.b.FuncAddr(fn))
		t.returnResults(t.b.Call(fn, args), len(op.Results), otherwise)
	}
	t.b.ReturnCall(fn, args)
	t.ssa.endBlock()
	t.dead()
}

// ifHost begins a block for a function of the host, which is called as others are: otherwise the host would not know that this instance has called, since its caller would seem
// to have. It takes no more stack than a tail call once the host returns. The block is of the same operator, and so not charged. returnResults ends it, and begins the one that ifHost
// returns, for functions of modules.
func (t *Translator) ifHost(callee clif.Value) (otherwise clif.Block) {
	host := t.b.Unary(clif.OpFuncBits, clif.FuncRef, callee)
	bit := t.b.Binary(clif.OpBand, clif.I64, host, t.b.Iconst(clif.I64, abi.DescHost))
	yes, otherwise := t.ssa.newSingle(), t.ssa.newSingle()
	t.branch(t.b.Icmp(clif.Ne, clif.I64, bit, t.b.Iconst(clif.I64, 0)), t.ssa.edgeTo(yes, nil), t.ssa.edgeTo(otherwise, nil))
	t.ssa.enter(yes, true)
	return otherwise
}

// returnResults ends the block with a return of n values from first on, and begins the block next.
func (t *Translator) returnResults(first clif.Value, n int, next clif.Block) {
	t.results = t.results[:0]
	for i := range n {
		t.results = append(t.results, first+clif.Value(i))
	}
	t.b.Return(t.results)
	t.ssa.endBlock()
	t.ssa.enter(next, false)
}

func (t *Translator) pushResults(first clif.Value, n int) {
	for i := range n {
		t.push(first + clif.Value(i))
	}
}

func (t *Translator) callIndirect(op *wasmfront.Operator, _ *handler) {
	t.callReference(op, t.tableFunc(op))
}

func (t *Translator) returnCallIndirect(op *wasmfront.Operator, _ *handler) {
	t.returnCallReference(op, t.tableFunc(op), t.cm.Tables[op.Index2].Own)
}

// tableFunc pops an index and returns the function that is called through the table: bounds, the reference, its type.
func (t *Translator) tableFunc(op *wasmfront.Operator) clif.Value {
	index := t.tableIndex(op.Index2, abi.TrapUndefinedElement)
	callee := t.b.Entity(clif.OpTableGet, clif.FuncRef, op.Index2, index)
	elem := t.m.TableType(op.Index2).Elem
	if of, typed := elem.TypeIndex(); typed && t.m.IsSubType(of, op.Index) {
		t.trapIfNull(callee, elem, abi.TrapUninitializedElement)
	} else if t.m.Types[op.Index].Open {
		t.trapIfNull(callee, elem, abi.TrapUninitializedElement)
		is := t.b.RefTest(clif.FuncRef, callee, elem, abi.RefTo(op.Index).NotNull())
		t.b.TrapIf(t.b.Icmp(clif.Eq, clif.I32, is, t.b.Iconst(clif.I32, 0)), abi.TrapBadSignature)
	} else {
		t.b.SigCheck(clif.SigIndex(op.Index), callee)
	}
	return callee
}

func (t *Translator) callRef(op *wasmfront.Operator, _ *handler) {
	t.callReference(op, t.popFunc(op))
}

func (t *Translator) returnCallRef(op *wasmfront.Operator, _ *handler) {
	callee := t.popFunc(op)
	def := t.f.DefInst(callee)
	t.returnCallReference(op, callee, def != clif.NoInst && t.f.Insts[def].Op == clif.OpFuncAddr && t.f.Insts[def].Aux >= t.m.NumImportedFuncs)
}

// popFunc pops the reference that is called. It has the type, but may be null.
func (t *Translator) popFunc(op *wasmfront.Operator) clif.Value {
	callee := t.pop()
	t.trapIfNull(callee, op.Type, abi.TrapNullReference)
	return callee
}

// callReference calls a function of the type that op names.
func (t *Translator) callReference(op *wasmfront.Operator, callee clif.Value) {
	first := t.b.CallRef(clif.SigIndex(op.Index), callee, t.popN(len(op.Params)))
	t.pushCalled(first, len(op.Results))
}

// returnCallReference is callReference as a tail call; own says that the module defines the function.
func (t *Translator) returnCallReference(op *wasmfront.Operator, callee clif.Value, own bool) {
	sig, args := clif.SigIndex(op.Index), t.popN(len(op.Params))
	if !own {
		otherwise := t.ifHost(callee)
		t.returnResults(t.b.CallRef(sig, callee, args), len(op.Results), otherwise)
	}
	t.b.ReturnCallRef(sig, callee, args)
	t.ssa.endBlock()
	t.dead()
}
