package reduce

import (
	"slices"

	"github.com/waot-project/waot/internal/wasmedit"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/validate"
)

// unit is what is known of an operator and of the code that only makes its operands. An end stands for its block.
type unit struct {
	// start is the first operator of the code that makes the operands.
	start int
	// height is that of the stack before the operator, low what is below its operands.
	height, low int
	// below is how many operands come from in front of start: a block has got them as parameters.
	below  int
	pushed []wasmfront.ValType
	// opens is true where a block, its else or a catch starts: such are no units.
	opens bool
	// open is the operator that opened the block that ends here, middle its else or first catch, or -1.
	open, middle int
	// leaves says that what follows cannot be reached; frame are then the results of the block.
	leaves bool
	frame  []wasmfront.ValType
	dead   bool
}

// pushesOne are operators without a fixed signature that push one operand.
func pushesOne(op wasmfront.Opcode) bool {
	switch op {
	case wasmfront.OpSelect, wasmfront.OpSelectT, wasmfront.OpLocalGet, wasmfront.OpLocalTee, wasmfront.OpGlobalGet, wasmfront.OpTableGet,
		wasmfront.OpTableSize, wasmfront.OpTableGrow, wasmfront.OpRefNull, wasmfront.OpRefIsNull, wasmfront.OpRefFunc, wasmfront.OpRefAsNonNull, wasmfront.OpRefEq:
		return true
	}
	const prefixGC = 0xFB
	return op>>8 == prefixGC && !returnsNothing(op)
}

// returnsNothing reports whether an operator of garbage collection is none that pushes one operand.
func returnsNothing(op wasmfront.Opcode) bool {
	switch op {
	case wasmfront.OpStructSet, wasmfront.OpArraySet, wasmfront.OpArrayFill, wasmfront.OpArrayCopy, wasmfront.OpArrayInitData, wasmfront.OpArrayInitElem,
		wasmfront.OpBrOnCast, wasmfront.OpBrOnCastFail:
		return true
	}
	return false
}

// pushes returns how many operands an operator pushes.
func pushes(op *wasmfront.Operator) int {
	info := op.Op.Info()
	switch info.Imm {
	case wasmfront.ImmBlock, wasmfront.ImmTryTable:
		return len(op.Params)
	case wasmfront.ImmFunc, wasmfront.ImmCallIndirect, wasmfront.ImmType:
		if op.Op != wasmfront.OpRefFunc && op.Op>>8 == 0 { // a call
			return len(op.Results)
		}
	case wasmfront.ImmBrOnCast:
		return len(op.Params)
	}
	for i := range info.Sig {
		if info.Sig[i] == ':' {
			return len(info.Sig) - i - 1
		}
	}
	switch {
	case op.Op == wasmfront.OpEnd, op.Op == wasmfront.OpDelegate:
		return len(op.Results)
	case op.Op == wasmfront.OpElse, op.Op == wasmfront.OpCatch, op.Op == wasmfront.OpBrIf:
		return len(op.Params)
	case op.Op == wasmfront.OpBrOnNull:
		return len(op.Params) + 1
	case op.Op == wasmfront.OpBrOnNonNull:
		return len(op.Params) - 1
	case pushesOne(op.Op):
		return 1
	}
	return 0
}

// leaving returns how many operands an operator takes after which nothing is reached; false if it is none.
func leaving(op *wasmfront.Operator) (int, bool) {
	switch op.Op {
	case wasmfront.OpUnreachable, wasmfront.OpRethrow:
		return 0, true
	case wasmfront.OpThrowRef:
		return 1, true
	case wasmfront.OpBr, wasmfront.OpReturn, wasmfront.OpReturnCall, wasmfront.OpThrow:
		return len(op.Params), true
	case wasmfront.OpBrTable, wasmfront.OpReturnCallIndirect, wasmfront.OpReturnCallRef:
		return len(op.Params) + 1, true
	}
	return 0, false
}

// analyse describes the operators of function i, but for the last end.
func (r *reducer) analyse(i int) []unit {
	wm, err := validate.Module(r.bytes, validate.Config{Features: r.opt.Features})
	if err != nil {
		return nil // impossible: it was validated
	}
	index := uint32(0)
	for k := range r.m.Funcs[:i] {
		if !r.m.Funcs[k].Dead {
			index++
		}
	}
	var v validate.Func
	var op wasmfront.Operator
	var units []unit
	var opened [][2]int // block, else or first catch
	v.Begin(wm, index)
	for {
		u := unit{height: v.NumOperands(), open: -1, middle: -1, dead: v.Depth() > 0 && v.Frame(0).Unreachable}
		base := v.Frame(0).Height
		frame := v.Frame(0).Results
		if !v.Next(&op) || v.Depth() == 0 {
			return units
		}
		at := len(units)
		if n, ok := leaving(&op); ok {
			u.leaves, u.frame, u.low = true, frame, max(base, u.height-n)
		} else {
			n := pushes(&op)
			u.low = v.NumOperands() - n
			for k := range n {
				u.pushed = append(u.pushed, v.OperandType(n-1-k))
			}
		}
		from := at
		switch {
		case nesting(op.Op) > 0:
			u.opens = true
			opened = append(opened, [2]int{at, -1})
		case isPart(op.Op):
			u.opens = true
			if middle := &opened[len(opened)-1][1]; *middle < 0 {
				*middle = at
			}
		case nesting(op.Op) < 0:
			last := opened[len(opened)-1]
			opened = opened[:len(opened)-1]
			u.open, u.middle, from = last[0], last[1], last[0]
		}
		h := u.height
		if from != at {
			h = units[from].height
		}
		for h > u.low && from > 0 && !units[from-1].opens {
			from = units[from-1].start
			h = units[from].height
		}
		u.start, u.below = from, max(h-u.low, 0)
		units = append(units, u)
	}
}

// code makes bodies smaller.
func (r *reducer) code() (changed bool) {
	for i := len(r.m.Funcs) - 1; i >= 0; i-- {
		if f := &r.m.Funcs[i]; f.Dead || f.Import != nil {
			continue
		}
		changed = r.unreachable(i) || changed
		changed = r.catches(i) || changed
		changed = r.statements(i) || changed
		changed = r.units(i) || changed
	}
	for i := range r.m.Funcs {
		changed = r.inline(i) || changed
	}
	return changed
}

// replace puts other code in the place of operators from to to of function i.
func (r *reducer) replace(i, from, to int, with ...wasmedit.Inst) bool {
	return r.try(func(m *wasmedit.Module) bool {
		f := &m.Funcs[i]
		f.Code = slices.Concat(f.Code[:from], with, f.Code[to:])
		return true
	})
}

// unreachable removes code that cannot be reached.
func (r *reducer) unreachable(i int) (changed bool) {
	return r.try(func(m *wasmedit.Module) bool {
		f := &m.Funcs[i]
		var code []wasmedit.Inst
		depth, dead := 0, -1 // dead is the depth of the block whose rest is not reached
		for k := range f.Code {
			in := &f.Code[k]
			if depth == dead && (nesting(in.Op) < 0 || isPart(in.Op)) {
				dead = -1
			}
			if dead < 0 {
				code = append(code, *in)
			}
			depth += nesting(in.Op)
			if _, leaves := leaving(&wasmfront.Operator{Op: in.Op}); leaves && dead < 0 {
				dead = depth
			}
		}
		shorter := len(code) < len(f.Code)
		f.Code = code
		return shorter
	})
}

// catches removes what catches exceptions: clauses, and parts of a try with their code.
func (r *reducer) catches(i int) (changed bool) {
	for k := len(r.m.Funcs[i].Code) - 1; k >= 0; k-- {
		code := r.m.Funcs[i].Code
		switch in := code[k]; in.Op {
		case wasmfront.OpCatch, wasmfront.OpCatchAll:
			changed = r.replace(i, k, partEnd(code, k)) || changed
		case wasmfront.OpTryTable:
			for c := len(in.Catches) - 1; c >= 0; c-- {
				without := in
				without.Catches = slices.Delete(slices.Clone(in.Catches), c, c+1)
				if r.replace(i, k, k+1, without) {
					in, changed = without, true
				}
			}
		}
	}
	return changed
}

// partEnd returns the operator that ends the part of a block that operator k begins.
func partEnd(code []wasmedit.Inst, k int) int {
	for depth := 0; ; {
		k++
		if op := code[k].Op; depth == 0 && (nesting(op) < 0 || isPart(op)) {
			return k
		}
		depth += nesting(code[k].Op)
	}
}

// nesting is by how much an operator changes the depth of blocks.
func nesting(op wasmfront.Opcode) int {
	if _, opens := op.Opens(); opens {
		return 1
	}
	if op == wasmfront.OpEnd || op == wasmfront.OpDelegate {
		return -1
	}
	return 0
}

// isPart reports whether an operator begins another part of a block.
func isPart(op wasmfront.Opcode) bool {
	return op == wasmfront.OpElse || op == wasmfront.OpCatch || op == wasmfront.OpCatchAll
}

// statements removes runs of statements: code that takes nothing from the stack and leaves nothing there. The blocks of the body
// have their turns from the outside to the inside.
func (r *reducer) statements(i int) (changed bool) {
	for block := -1; ; block++ {
		us := r.analyse(i)
		for block >= 0 && block < len(us) && !us[block].opens {
			block++
		}
		if block >= len(us) {
			return changed
		}
		for size := len(runs(us, block)); size > 0; size /= 2 {
			list := runs(r.analyse(i), block)
			for to := len(list); to > 0; to -= size {
				from := max(to-size, 0)
				if r.replace(i, list[from][0], list[to-1][1]) {
					changed = true
				}
			}
		}
	}
}

// runs are the statements of the block that operator block opens, the body's for -1: the first operator of each, and the first
// behind it.
func runs(us []unit, block int) (list [][2]int) {
	base, k, before := 0, block+1, -1
	if block >= 0 {
		base = us[block].low
	}
	end := map[int]int{}
	for e := range us {
		if us[e].open >= 0 {
			end[us[e].open] = e
		}
	}
	for {
		height := 0
		switch {
		case k < len(us):
			height = us[k].height
		case k > 0:
			height = us[k-1].low + len(us[k-1].pushed)
		}
		if height == base {
			if before >= 0 {
				list = append(list, [2]int{before, k})
			}
			before = k
		}
		// The blocks that end here were opened outside, except those that are jumped over.
		if k >= len(us) || us[k].open >= 0 || us[k].opens && end[k] == 0 {
			return list
		}
		if us[k].opens {
			k = end[k]
		}
		k++
	}
}

// units makes operators with their operands simpler, from the last to the first.
func (r *reducer) units(i int) (changed bool) {
	us := r.analyse(i)
	for j := len(us) - 1; j >= 0; j-- {
		if u := &us[j]; !u.opens && !u.dead && r.simplify(i, us, j) {
			changed = true
			us = r.analyse(i)
			j = min(j+1, len(us))
		}
	}
	return changed
}

// weight orders code by how simple it is: by operators that do something, then by all.
func weight(code []wasmedit.Inst) int {
	w := 0
	for k := range code {
		w += simple
		switch in := &code[k]; in.Op {
		case wasmfront.OpDrop, wasmfront.OpUnreachable, wasmfront.OpRefNull:
			w -= simple - 1
		case wasmfront.OpCallIndirect, wasmfront.OpReturnCallIndirect:
			w += simple // a call is simpler: it needs no table
		case wasmfront.OpI32Const, wasmfront.OpI64Const, wasmfront.OpF32Const, wasmfront.OpF64Const:
			if !slices.ContainsFunc(in.Raw[1:], func(b byte) bool { return b != 0 }) {
				w -= simple - 1
			}
		}
	}
	return w
}

// simple is how many simple operators weigh as much as another.
const simple = 1 << 10

// lighter is replace if the new code weighs less.
func (r *reducer) lighter(i, from, to int, with ...wasmedit.Inst) bool {
	return weight(with) < weight(r.m.Funcs[i].Code[from:to]) && r.replace(i, from, to, with...)
}

// simplify puts something simpler in the place of operator j of function i and what makes its operands.
func (r *reducer) simplify(i int, us []unit, j int) bool {
	u := &us[j]
	code := r.m.Funcs[i].Code
	drops := func(n int) []wasmedit.Inst {
		return slices.Repeat([]wasmedit.Inst{wasmedit.Plain(wasmfront.OpDrop)}, n)
	}
	if u.leaves {
		return r.lighter(i, u.start, j+1, append(drops(u.below), zeros(nil, u.frame)...)...) ||
			r.lighter(i, u.start, j+1, wasmedit.Plain(wasmfront.OpUnreachable)) ||
			r.lighter(i, j, j+1, append(drops(u.height-u.low), zeros(nil, u.frame)...)...) ||
			code[j].Op == wasmfront.OpReturnCallIndirect && r.direct(i, j, wasmfront.OpReturnCall)
	}
	if r.lighter(i, u.start, j+1, zeros(drops(u.below), u.pushed)...) {
		return true
	}
	// An operand may replace the operator.
	from := j
	if u.open >= 0 {
		from = u.open
	}
	for p := from; p > u.start; {
		o := &us[p-1]
		if u.below == 0 && o.below == 0 && len(u.pushed) > 0 && slices.Equal(o.pushed, u.pushed) && r.lighter(i, u.start, j+1, code[o.start:p]...) {
			return true
		}
		if code[j].Op == wasmfront.OpDrop && o.start == u.start && r.lighter(i, u.start, j+1, code[p:j]...) {
			return true // without what is dropped, but with what comes between
		}
		p = o.start
	}
	if u.open >= 0 {
		return r.unwrap(i, u, j)
	}
	return code[j].Op == wasmfront.OpCallIndirect && r.direct(i, j, wasmfront.OpCall) || r.lighter(i, j, j+1, zeros(drops(u.height-u.low), u.pushed)...)
}

// direct makes operator j of function i, which calls through a table, a call, which is to be op, of a function that has the type.
func (r *reducer) direct(i, j int, op wasmfront.Opcode) bool {
	t := &r.m.Funcs[i].Code[j].Type
	for n := range r.m.Funcs {
		if f := &r.m.Funcs[n]; !f.Dead && slices.Equal(f.Type.Params, t.Params) && slices.Equal(f.Type.Results, t.Results) &&
			r.lighter(i, j, j+1, wasmedit.Plain(wasmfront.OpDrop), wasmedit.Inst{Op: op, Index: uint32(n)}) {
			return true
		}
	}
	return false
}

// unwrap puts the inside of a block that ends at operator j in its place, if nothing branches to it.
func (r *reducer) unwrap(i int, u *unit, j int) bool {
	code := r.m.Funcs[i].Code
	inside := func(from, to int) bool {
		with, ok := relabel(code[from:to])
		if code[u.open].Op == wasmfront.OpIf {
			with = append([]wasmedit.Inst{wasmedit.Plain(wasmfront.OpDrop)}, with...)
		}
		return ok && r.lighter(i, u.open, j+1, with...)
	}
	if u.middle >= 0 {
		return inside(u.open+1, u.middle) || inside(u.middle+1, j)
	}
	return inside(u.open+1, j)
}

// relabel is code without the block around it; false if it branches to the end or start of that.
func relabel(code []wasmedit.Inst) (out []wasmedit.Inst, ok bool) {
	depth := uint32(0)
	ok = true
	label := func(l uint32) uint32 {
		if l == depth {
			ok = false
		}
		if l > depth {
			return l - 1
		}
		return l
	}
	for _, in := range code {
		switch in.Imm() {
		case wasmfront.ImmLabel, wasmfront.ImmBrOnCast:
			if in.Op == wasmfront.OpDelegate { // whose label is counted from outside of its block
				in.Index = label(in.Index+1) - 1
			} else {
				in.Index = label(in.Index)
			}
		case wasmfront.ImmTryTable:
			in.Catches = slices.Clone(in.Catches)
			for k := range in.Catches {
				in.Catches[k].Label = label(in.Catches[k].Label)
			}
		case wasmfront.ImmBrTable:
			in.Index, in.Targets = label(in.Index), slices.Clone(in.Targets)
			for k := range in.Targets {
				in.Targets[k] = label(in.Targets[k])
			}
		}
		out = append(out, in)
		depth = uint32(int(depth) + nesting(in.Op))
	}
	return out, ok
}

// inline puts the body of function i in the place of the only call of it, if there is but one use of it.
func (r *reducer) inline(i int) bool {
	callee := &r.m.Funcs[i]
	if callee.Dead || callee.Import != nil || r.m.Start == i {
		return false
	}
	caller, at := -1, -1
	for c := range r.m.Funcs {
		f := &r.m.Funcs[c]
		for k := range f.Code {
			if in := &f.Code[k]; !f.Dead && in.Imm() == wasmfront.ImmFunc && int(in.Index) == i {
				if caller >= 0 || in.Op != wasmfront.OpCall || c == i {
					return false
				}
				caller, at = c, k
			}
		}
	}
	return caller >= 0 && r.try(func(m *wasmedit.Module) bool {
		f := &m.Funcs[caller]
		first := uint32(len(f.Type.Params) + len(f.Locals))
		locals := slices.Clone(f.Locals)
		var code []wasmedit.Inst
		set := func(n int) { code = append(code, wasmedit.Inst{Op: wasmfront.OpLocalSet, Index: first + uint32(n)}) }
		params := callee.Type.Params
		for _, t := range params {
			locals = append(locals, wasmedit.Local{Type: t})
		}
		locals = append(locals, callee.Locals...)
		for n := len(params) - 1; n >= 0; n-- {
			set(n)
		}
		for n, l := range callee.Locals {
			if !l.Dead { // the call may be in a loop
				code = append(code, wasmedit.Zero(l.Type))
				set(len(params) + n)
			}
		}
		code = append(code, wasmedit.Inst{Op: wasmfront.OpBlock, Type: wasmfront.FuncType{Results: callee.Type.Results}})
		depth := uint32(0)
		for _, in := range callee.Code {
			switch {
			case in.Imm() == wasmfront.ImmLocal:
				in.Index += first
			case in.Op == wasmfront.OpReturn:
				in = wasmedit.Inst{Op: wasmfront.OpBr, Index: depth}
			}
			code = append(code, in)
			depth = uint32(int(depth) + nesting(in.Op))
		}
		f.Code = slices.Concat(f.Code[:at], code, f.Code[at+1:])
		f.Locals = locals
		m.Funcs[i].Dead = true // if it is exported or in a table, that cannot be encoded
		return true
	})
}
