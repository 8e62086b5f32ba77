package snapshot

import (
	"slices"

	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/encode"
	"github.com/waot-project/waot/wasmfront/validate"
)

// A call that is under way becomes a function without parameters: its locals and operands are constants, it calls the function that is what is left of its callee, and then come the operators
// behind the call. WebAssembly has no jumps into blocks, so those around the call are built anew:
//
//	block … CALL rest end               block rest' end
//	loop … CALL rest end                block block rest' br 1 end loop … CALL rest end end
//
// where rest' is what is left of the block, and CALL rest in it if the call is further inside. A branch to the loop leaves the inner block, and the loop begins as it always did.

// maxResumed bounds the code of all functions that go on: a call deep inside of loops, or in a recursion, can need many times the code that there is.
const maxResumed = 128 << 20

// resume adds a function for each call that is under way.
func (z *freezer) resume() error {
	functions, err := z.functions()
	if err != nil {
		return err
	}
	first := z.kept + len(z.added)
	if n := first + len(z.state.Frames); n > wasmfront.MaxFuncs {
		return Errorf("%d calls are under way; with a function for each, the module would have %d", len(z.state.Frames), n)
	}
	room := maxResumed
	for i := range z.state.Frames {
		if err := z.ctx.Err(); err != nil {
			return err
		}
		f := &z.state.Frames[i]
		r := resumer{z: z, frame: f, function: functions[f.Func], callee: uint32(first + i + 1), room: min(room, wasmfront.MaxBodySize)}
		r.innermost = i == len(z.state.Frames)-1
		body, err := r.body()
		if err != nil {
			return err
		}
		room -= len(body)
		t := z.typeOf(&wasmfront.FuncType{Results: z.m.FuncType(f.Func).Results})
		z.added = append(z.added, added{of: f.Func, typ: t, body: body})
	}
	z.resumed = uint32(first)
	return nil
}

// function is a function in which calls are under way.
type function struct {
	ops    []operator
	locals []wasmfront.ValType
	calls  map[int]*callSite // those under way, by how many calls are in front
}

// callSite is a call in a function.
type callSite struct {
	at       int      // in the list of operators
	open     []opened // around the call, the function first
	operands []wasmfront.ValType
}

// functions reads the functions in which calls are under way, each of them once.
func (z *freezer) functions() (map[uint32]*function, error) {
	all := map[uint32]*function{}
	for i := range z.state.Frames {
		f := &z.state.Frames[i]
		if all[f.Func] == nil {
			all[f.Func] = &function{calls: map[int]*callSite{}}
		}
		all[f.Func].calls[f.Call] = nil
	}
	for i, f := range all {
		if err := z.ctx.Err(); err != nil {
			return nil, err
		}
		if err := f.read(z, i); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// resumer makes the function for a call that is under way.
type resumer struct {
	*function
	z         *freezer
	frame     *Frame
	callee    uint32
	innermost bool // what is called is the marker
	room      int  // how many bytes the function may take

	open     []opened
	operands []wasmfront.ValType
	out      []byte
	depth    int // how many blocks are open in out
}

// operator is an operator of a function.
type operator struct {
	op       wasmfront.Opcode
	from, to int    // in the module
	index    uint32 // the label of a branch, or the function
	targets  []uint32
	end      int // of what opens a block: where its end is in the list, or its else
}

// opened is a block that is open at the call.
type opened struct {
	kind            wasmfront.BlockKind
	at              int // its operator in the list; -1 for the function
	end             int // its end in the list, or the else if the call is in front of it
	height          int // how many operands are below it
	params, results []wasmfront.ValType
	label           int // how many blocks are open in out inside of what a branch to it leaves, that one included
}

func (r *resumer) body() ([]byte, error) {
	site := r.calls[r.frame.Call]
	if site == nil || len(r.frame.Locals) != len(r.locals) || len(r.frame.Operands) != len(site.operands) {
		return nil, Errorf("function %d has no call number %d with %d locals and %d operands", r.frame.Func, r.frame.Call, len(r.frame.Locals), len(r.frame.Operands))
	}
	r.open, r.operands = slices.Clone(site.open), site.operands
	r.out = appendLocals(nil, r.locals)
	for i, t := range r.locals {
		if v := r.frame.Locals[i]; v != (Value{Ref: Null}) {
			r.constant(t, v)
			r.out = index(r.out, wasmfront.OpLocalSet, uint32(i))
		}
	}
	r.blocks(site.at)
	if r.full() {
		return nil, Errorf("a call of function %d is under way whose rest takes too much code, as it is inside of loops or a recursion: more than %d bytes, or %d with all others", r.frame.Func, wasmfront.MaxBodySize, maxResumed)
	}
	return plain(r.out, wasmfront.OpEnd), nil
}

// full reports whether the function has become too large: then it is of no use.
func (r *resumer) full() bool { return len(r.out) >= r.room }

// read reads function i.
func (f *function) read(z *freezer, i uint32) error {
	v := new(validate.Func)
	v.Begin(z.m, i)
	f.locals = slices.Clone(v.Locals())
	var op wasmfront.Operator
	var blocks []int // in the list, that are open
	calls := 0
	for v.Next(&op) {
		n := len(f.ops)
		f.ops = append(f.ops, operator{op: op.Op, from: op.Offset, to: v.Pos, index: op.Index, end: -1})
		switch op.Op {
		case wasmfront.OpBlock, wasmfront.OpLoop, wasmfront.OpIf:
			blocks = append(blocks, n)
		case wasmfront.OpElse:
			f.ops[blocks[len(blocks)-1]].end = n
			blocks[len(blocks)-1] = n
		case wasmfront.OpEnd:
			if len(blocks) > 0 {
				f.ops[blocks[len(blocks)-1]].end = n
				blocks = blocks[:len(blocks)-1]
			}
		case wasmfront.OpBrTable:
			f.ops[n].targets = slices.Clone(op.Targets)
		case wasmfront.OpCall, wasmfront.OpCallIndirect:
			if _, ok := f.calls[calls]; ok {
				f.calls[calls] = siteAt(n, v, blocks, len(op.Results))
			}
			calls++
		}
		if op.Op.Info().Imm == wasmfront.ImmFunc {
			z.keep(op.Index)
			z.refs[op.Index] = z.refs[op.Index] || op.Op == wasmfront.OpRefFunc
		}
	}
	for _, site := range f.calls {
		if site == nil {
			continue
		}
		site.open[0].end = len(f.ops) - 1
		for k := range site.open[1:] {
			o := &site.open[k+1]
			o.end = f.ops[o.at].end
		}
	}
	return v.Err()
}

// siteAt notes what is around a call, which v is behind.
func siteAt(at int, v *validate.Func, blocks []int, results int) *callSite {
	s := &callSite{at: at, operands: below(v, results)}
	for i := range v.Depth() {
		b := v.Frame(uint32(v.Depth() - 1 - i))
		at := -1
		if i > 0 {
			at = blocks[i-1]
		}
		s.open = append(s.open, opened{kind: b.Kind, at: at, height: b.Height, params: b.Params, results: b.Results})
	}
	return s
}

// blocks writes what is left of the blocks around the call, the function's first. It is a loop, as there may be very many.
func (r *resumer) blocks(call int) {
	last := len(r.open) - 1
	for i := range r.open {
		o := &r.open[i]
		if i > 0 {
			r.begin(o)
		}
		high := len(r.operands)
		if i < last {
			high = r.open[i+1].height
		}
		for k := o.height; k < high; k++ {
			r.constant(r.operands[k], r.frame.Operands[k])
		}
	}
	if !r.innermost {
		r.out = index(r.out, wasmfront.OpCall, r.callee)
	}
	from := call + 1
	for i := last; i >= 0; i-- {
		o := &r.open[i]
		r.copy(i, from, o.end)
		if i > 0 {
			r.end(i)
			from = o.end + 1
			if r.ops[o.end].op == wasmfront.OpElse {
				from = r.ops[o.end].end + 1
			}
		}
	}
}

// constant writes a value of the frame.
func (r *resumer) constant(t wasmfront.ValType, v Value) {
	if t.IsRef() && v.Ref != Null {
		r.z.keep(uint32(v.Ref))
		r.z.refs[v.Ref] = true
	}
	c := constant(t, r.z.value(v))
	r.out = encode.Const(r.out, &c)
}

// begin opens what stands for a block.
func (r *resumer) begin(o *opened) {
	r.openBlock(wasmfront.OpBlock, nil, o.results)
	o.label = r.depth
	if o.kind == wasmfront.BlockLoop {
		r.openBlock(wasmfront.OpBlock, nil, o.params)
		o.label = r.depth
	}
}

// end closes what stands for block i.
func (r *resumer) end(i int) {
	o := &r.open[i]
	if o.kind == wasmfront.BlockLoop {
		r.out = index(r.out, wasmfront.OpBr, 1)
		r.close()
		r.openBlock(wasmfront.OpLoop, o.params, o.results)
		r.copy(i, o.at+1, o.end) // its label is as deep as that of the block was
		r.close()
	}
	r.close()
}

func (r *resumer) openBlock(op wasmfront.Opcode, params, results []wasmfront.ValType) {
	r.out = encode.Opcode(r.out, op)
	switch {
	case len(params)+len(results) == 0:
		r.out = append(r.out, noType)
	case len(params) == 0 && len(results) == 1:
		r.out = append(r.out, results[0].Code())
	default:
		r.out = encode.Signed(r.out, int64(r.z.typeOf(&wasmfront.FuncType{Params: params, Results: results})))
	}
	r.depth++
}

func (r *resumer) close() {
	r.out = plain(r.out, wasmfront.OpEnd)
	r.depth--
}

// copy writes operators of the list, which are directly in block i or in blocks inside of it.
func (r *resumer) copy(i, from, to int) {
	inside := 0
	// label returns the label of a branch in out.
	label := func(l uint32) uint32 {
		if int(l) < inside {
			return l
		}
		return uint32(inside + r.depth - r.open[i-(int(l)-inside)].label)
	}
	for n := from; n < to && !r.full(); n++ {
		op := &r.ops[n]
		switch op.op.Info().Imm {
		case wasmfront.ImmLabel:
			r.out = index(r.out, op.op, label(op.index))
		case wasmfront.ImmBrTable:
			r.out = encode.Index(encode.Opcode(r.out, op.op), uint32(len(op.targets)))
			for _, t := range op.targets {
				r.out = encode.Index(r.out, label(t))
			}
			r.out = encode.Index(r.out, label(op.index))
		case wasmfront.ImmFunc:
			r.out = index(r.out, op.op, r.z.index(op.index))
		default:
			r.out = append(r.out, r.z.m.Bytes[op.from:op.to]...)
		}
		switch op.op {
		case wasmfront.OpBlock, wasmfront.OpLoop, wasmfront.OpIf:
			inside++
		case wasmfront.OpEnd:
			inside--
		}
	}
}
