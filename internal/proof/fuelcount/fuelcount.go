// Package fuelcount makes modules count what they cost, with operators of their own: the oracle of compiled code that counts fuel. It knows nothing of the front end but the
// decoder, and has its own tables of what docs/fuel.md says.
//
// Place in the pipeline: none; for tests.
//
// Input: a valid module, and an amount of fuel.
// Output: a module that does the same until it has consumed the fuel, with a global that says what is left.
package fuelcount

import (
	"slices"
	"strings"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/wasmedit"
	"github.com/waot-project/waot/wasmfront"
)

// Global is the name of the exported global, of type i64, that has what is left. It is below 0 only while code runs.
const Global = "fuel left"

// Exact returns a module that traps, by unreachable, where docs/fuel.md says that fuel runs out. What was left is gone then.
func Exact(wasm []byte, fuel int64) ([]byte, error) {
	m, err := wasmedit.Decode(wasm, wasmfront.DefaultFeatures)
	if err != nil {
		return nil, err
	}
	c := &counter{global: uint32(len(m.Globals))}
	m.Globals = append(m.Globals, wasmedit.Global{Type: wasmfront.GlobalType{Type: wasmfront.I64, Mutable: true},
		Init: []wasmfront.ConstOp{{Op: wasmfront.OpI64Const, Bits: uint64(fuel)}}})
	for i := range m.Tags {
		c.tags = append(c.tags, len(m.Tags[i].Type.Params))
	}
	for i := range m.Funcs {
		if f := &m.Funcs[i]; f.Import == nil {
			c.body(f)
		}
	}
	c.calledFromOutside(m)
	m.Exports = append(m.Exports, wasmedit.Export{Name: Global, Kind: abi.ExternGlobal, Index: c.global})
	return m.Encode()
}

// counter instruments function bodies.
type counter struct {
	global uint32
	tags   []int // how many values exceptions have, by tag
	code   []wasmedit.Inst
	blocks []block
	live   bool
	// Of the basic block at hand: where in code its charge belongs, and what that is.
	at     int
	cost   int64
	effect bool
}

// block is an open block, loop, if or function.
type block struct {
	op      wasmfront.Opcode // OpElse in the second part of an if
	entered bool
	left    bool // some branch leads to its end
	carried int  // values that a branch to it takes along
	// Of a block that catches: what a try_table catches; whether anything may be thrown in it, or, behind a catch, may not have been caught.
	catches []wasmfront.Catch
	thrown  bool
}

func (c *counter) body(f *wasmedit.Func) {
	c.code, c.blocks = nil, []block{{op: wasmfront.OpBlock, entered: true, carried: len(f.Type.Results)}}
	size := uint32(len(f.Type.Params) + len(f.Locals)) // a local for the sizes of bulk operators
	f.Locals = append(f.Locals, wasmedit.Local{Type: wasmfront.I32})
	c.live = true
	c.begin(false)
	c.cost = int64(len(f.Type.Params)+len(f.Locals)-1) / 8
	for _, in := range f.Code {
		if c.live {
			c.count(&in, size)
		}
		c.operator(in)
	}
	f.Code = c.code
}

// count adds an operator to the block.
func (c *counter) count(in *wasmedit.Inst, size uint32) {
	name := in.Op.String()
	c.cost += costOf(name)
	switch in.Op {
	case wasmfront.OpBr, wasmfront.OpBrIf, wasmfront.OpBrTable, wasmfront.OpBrOnNull, wasmfront.OpBrOnNonNull:
		c.cost += int64(c.blocks[len(c.blocks)-1-int(in.Index)].carried) / 8
	case wasmfront.OpReturn:
		c.cost += int64(c.blocks[0].carried) / 8
	case wasmfront.OpThrow:
		c.cost += int64(c.tags[in.Index]) / 8
	}
	if mayThrow(name) {
		c.throwIn(len(c.blocks))
	}
	c.effect = c.effect || hasEffect(name)
	if shift, ok := bulk[name]; ok {
		c.code = append(c.code, wasmedit.Inst{Op: wasmfront.OpLocalTee, Index: size})
		c.code = append(c.code, c.charge(true, wasmedit.Inst{Op: wasmfront.OpLocalGet, Index: size}, wasmedit.Plain(wasmfront.OpI64ExtendI32U),
			wasmedit.I64(uint64(shift)), wasmedit.Plain(wasmfront.OpI64ShrU))...)
	}
}

// operator appends an operator, and begins a block where one begins behind it.
func (c *counter) operator(in wasmedit.Inst) {
	defer func() { c.code = append(c.code, in) }()
	behind := func(loop bool) {
		c.finish()
		c.code = append(c.code, in)
		c.begin(loop)
		in = wasmedit.Inst{Op: wasmfront.OpNop, Raw: []byte{byte(wasmfront.OpNop)}}
	}
	top := &c.blocks[len(c.blocks)-1]
	switch in.Op {
	case wasmfront.OpBlock, wasmfront.OpLoop, wasmfront.OpIf, wasmfront.OpTryTable, wasmfront.OpTry:
		b := block{op: in.Op, entered: c.live, carried: len(in.Type.Results), catches: in.Catches}
		if in.Op == wasmfront.OpLoop {
			b.carried = len(in.Type.Params)
		}
		c.blocks = append(c.blocks, b)
		if c.live && (in.Op == wasmfront.OpLoop || in.Op == wasmfront.OpIf) {
			behind(in.Op == wasmfront.OpLoop)
		}
	case wasmfront.OpElse:
		top.left = top.left || c.live
		top.op = wasmfront.OpElse
		if c.live = top.entered; c.live {
			behind(false)
		}
	case wasmfront.OpEnd:
		c.endCatching(len(c.blocks) - 1)
		b := *top
		c.blocks = c.blocks[:len(c.blocks)-1]
		switch {
		case len(c.blocks) == 0:
			c.finish()
		case !b.entered || b.op == wasmfront.OpLoop:
		case b.op == wasmfront.OpIf || b.left:
			c.live = true
			behind(false)
		}
	case wasmfront.OpCatch, wasmfront.OpCatchAll:
		top.left = top.left || c.live
		top.op = wasmfront.OpCatch
		if c.live = top.entered && top.thrown; c.live {
			top.thrown = in.Op == wasmfront.OpCatch
			behind(false)
		}
	case wasmfront.OpDelegate:
		n := len(c.blocks) - 1
		c.endCatching(n - int(in.Index))
		left := top.left && top.entered
		if c.blocks = c.blocks[:n]; left {
			c.live = true
			behind(false)
		}
	case wasmfront.OpBr:
		c.leave(in.Index)
		c.live = false
	case wasmfront.OpBrIf, wasmfront.OpBrOnNull, wasmfront.OpBrOnNonNull:
		if c.live {
			c.leave(in.Index)
			behind(false)
		}
	case wasmfront.OpBrTable:
		for _, l := range in.Targets {
			c.leave(l)
		}
		c.leave(in.Index)
		c.live = false
	case wasmfront.OpReturn, wasmfront.OpUnreachable, wasmfront.OpThrow, wasmfront.OpThrowRef, wasmfront.OpRethrow, wasmfront.OpReturnCall, wasmfront.OpReturnCallIndirect, wasmfront.OpReturnCallRef:
		c.live = false
	}
}

// leave notes a branch to a label, if it is reached.
func (c *counter) leave(label uint32) {
	if c.live {
		c.blocks[len(c.blocks)-1-int(label)].left = true
	}
}

// throwIn notes that something may be thrown in the innermost of the first n blocks that catches.
func (c *counter) throwIn(n int) {
	for n--; n >= 0; n-- {
		if b := &c.blocks[n]; b.entered && (b.op == wasmfront.OpTryTable || b.op == wasmfront.OpTry) {
			b.thrown = true
			return
		}
	}
}

// endCatching ends the innermost block, if it catches and something may be thrown in it: what leaves its end is a branch then, and so is what leads from its clauses to their labels. What it may
// not catch is thrown in the first n blocks.
func (c *counter) endCatching(n int) {
	at := len(c.blocks) - 1
	b := &c.blocks[at]
	catches := b.op == wasmfront.OpTryTable || b.op == wasmfront.OpTry || b.op == wasmfront.OpCatch
	if !catches || !b.entered || !b.thrown {
		return
	}
	b.left = b.left || c.live
	c.live = false
	for _, k := range b.catches {
		c.blocks[at-1-int(k.Label)].left = true
		if !k.Kind.HasTag() {
			return
		}
	}
	c.throwIn(n)
}

// begin begins a basic block behind the code so far.
func (c *counter) begin(loop bool) { c.at, c.cost, c.effect = len(c.code), 0, loop }

// finish puts the charge of the block where it began. It is called once for each block: the block that begins when it has been called is another one.
func (c *counter) finish() {
	if c.cost != 0 || c.effect {
		c.code = slices.Insert(c.code, c.at, c.charge(c.effect, wasmedit.I64(uint64(c.cost)))...)
	}
	c.cost, c.effect = 0, false
}

// charge returns code that consumes what the given code computes, and traps if there is not so much, if it is to compare.
func (c *counter) charge(compare bool, amount ...wasmedit.Inst) []wasmedit.Inst {
	get := wasmedit.Inst{Op: wasmfront.OpGlobalGet, Index: c.global}
	code := slices.Concat([]wasmedit.Inst{get}, amount, []wasmedit.Inst{wasmedit.Plain(wasmfront.OpI64Sub), {Op: wasmfront.OpGlobalSet, Index: c.global}})
	if compare {
		code = append(code, c.compare()...)
	}
	return code
}

// forgive returns code that makes what is left 0 if it is less.
func (c *counter) forgive() []wasmedit.Inst {
	return []wasmedit.Inst{{Op: wasmfront.OpGlobalGet, Index: c.global}, wasmedit.I64(0), wasmedit.Plain(wasmfront.OpI64LtS), {Op: wasmfront.OpIf}, wasmedit.I64(0),
		{Op: wasmfront.OpGlobalSet, Index: c.global}, wasmedit.Plain(wasmfront.OpEnd)}
}

func (c *counter) compare() []wasmedit.Inst {
	set := wasmedit.Inst{Op: wasmfront.OpGlobalSet, Index: c.global}
	return []wasmedit.Inst{{Op: wasmfront.OpGlobalGet, Index: c.global}, wasmedit.I64(0), wasmedit.Plain(wasmfront.OpI64LtS), {Op: wasmfront.OpIf}, wasmedit.I64(0), set,
		wasmedit.Plain(wasmfront.OpUnreachable), wasmedit.Plain(wasmfront.OpEnd)}
}

// calledFromOutside lets exports, and the start function, compare when they return.
func (c *counter) calledFromOutside(m *wasmedit.Module) {
	wrapped := func(i uint32) uint32 {
		if m.Funcs[i].Import != nil {
			return i
		}
		f := wasmedit.Func{Type: m.Funcs[i].Type}
		f.Code = c.forgive() // of a call before, that has trapped
		for p := range f.Type.Params {
			f.Code = append(f.Code, wasmedit.Inst{Op: wasmfront.OpLocalGet, Index: uint32(p)})
		}
		f.Code = append(f.Code, wasmedit.Inst{Op: wasmfront.OpCall, Index: i})
		f.Code = append(append(f.Code, c.compare()...), wasmedit.Plain(wasmfront.OpEnd))
		m.Funcs = append(m.Funcs, f)
		return uint32(len(m.Funcs) - 1)
	}
	for i := range m.Exports {
		if e := &m.Exports[i]; e.Kind == abi.ExternFunc {
			e.Index = wrapped(e.Index)
		}
	}
	if m.Start >= 0 {
		m.Start = int(wrapped(uint32(m.Start)))
	}
}

// costOf returns what the operator of that name costs, bytes and elements apart.
func costOf(name string) int64 {
	switch {
	case name == "block" || name == "loop" || name == "else" || name == "end" || name == "nop" || name == "drop":
		return 0
	case strings.HasPrefix(name, "try") || strings.HasPrefix(name, "catch") || name == "delegate":
		return 0
	case throws(name):
		return 100
	case isCall(name):
		return 5
	case strings.HasSuffix(name, ".grow"):
		return 1000
	}
	if _, ok := bulk[name]; ok {
		return 5
	}
	return 1
}

// bulk has the operators that cost something for each byte or element: for 1<<shift of them a unit.
var bulk = map[string]int64{"memory.copy": 6, "memory.fill": 6, "memory.init": 6, "table.copy": 3, "table.fill": 3, "table.init": 3}

// isCall reports whether the operator of that name calls a function.
func isCall(name string) bool { return strings.HasPrefix(strings.TrimPrefix(name, "return_"), "call") }

// throws reports whether the operator of that name throws, mayThrow whether something may be thrown in the function by it.
func throws(name string) bool   { return name == "throw" || name == "throw_ref" || name == "rethrow" }
func mayThrow(name string) bool { return throws(name) || strings.HasPrefix(name, "call") }

// hasEffect reports whether the operator of that name changes something that outlives the function, or calls.
func hasEffect(name string) bool {
	_, ok := bulk[name]
	return ok || isCall(name) || throws(name) || strings.Contains(name, ".store") || strings.HasSuffix(name, ".grow") ||
		strings.HasSuffix(name, ".drop") || name == "global.set" || name == "table.set"
}
