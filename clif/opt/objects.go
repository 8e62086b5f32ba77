package opt

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/analysis"
	"github.com/waot-project/waot/clif/rewrite"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/stop"
)

// This file makes values of the fields of objects that nothing sees but accesses to their fields: such an object is not made. Its fields are variables. The making defines them, with zeros
// and nulls, and so does each struct_set; struct_get uses them. Where ways meet, blocks get parameters for them, on demand (Braun et al., "Simple and Efficient Construction of Static
// Single Assignment Form", 2013).
//
// The fields of an array are its elements. It is such an object if its length is a small constant, and no other elements than constant ones are accessed.
//
// An object that is an argument of a call or block, is in another object, or is compared, is made. One that is only in another that is not made is not made either: rounds see to that.

// objectPass is the state of replaceObjects.
type objectPass struct {
	insertions
	o *Optimizer
	f *clif.Func

	made []madeObject
	of   []uint32 // by value: the number of the object that it is, plus 1, or 0
	vars []fieldVar
	// The values of variables, by block and variable: at the end of the block if it defines it, and at the start as far as that was asked for. Values are kept as definition has them.
	ends, starts []definition
	current      []definition // by variable, in the block at hand
	trail        []int
	pending      []varParam // parameters that have no arguments yet
}

// madeObject is what a struct_new or an array_new makes.
type madeObject struct {
	def    clif.Inst
	typ    uint32
	first  uint32 // the variable of its first field
	fields uint32 // how many it has
	seen   bool   // by more than accesses to its fields
}

// fieldVar is a field of an object that is not made.
type fieldVar struct {
	object uint32
	field  abi.FieldType
	zero   clif.Value // what it is at first, NoValue until that is needed
}

// definition is what defines a variable: notHere, atFirst, or 2 plus a value.
type definition uint32

const (
	notHere definition = iota
	atFirst            // the making of the object
)

func definedBy(v clif.Value) definition { return definition(v) + 2 }

// varParam is a parameter that a block gets for a variable.
type varParam struct {
	block clif.Block
	v     uint32
}

const (
	// maxElements is how many elements an array may have that is not made.
	maxElements = 64
	// maxObjectRounds is how deep objects may be in each other.
	maxObjectRounds = 4
	// maxVars bounds the number of variables, and with parameters that blocks have already, that of the parameters of a block.
	maxVars = 1 << 12
	// maxVarPlaces bounds the number of variables times that of blocks and edges, varWork does so for each instruction.
	maxVarPlaces, varWork = 1 << 18, 16
)

// replaceObjects makes values of the fields of objects that are not seen.
func replaceObjects(o *Optimizer, f *clif.Func) {
	if !o.fold.makes {
		return
	}
	p := &o.objects
	p.o, p.f = o, f
	o.flow(f)
	for range maxObjectRounds {
		if !p.find() {
			return
		}
		p.replace()
		o.threaded = true // what was in a field may decide something
	}
}

// find fills made, of and vars; it reports whether there is an object that is not seen.
func (p *objectPass) find() bool {
	f := p.f
	p.made, p.vars = p.made[:0], p.vars[:0]
	p.of = stop.Zeroed(f.Stop, p.of, len(f.Values))
	for _, b := range p.o.cfg.Order() {
		f.Stop.Poll()
		for i := f.Blocks[b].Start; i < f.Blocks[b].End; i++ {
			f.Stop.PollAt(int(i))
			d := &f.Insts[i]
			if fields, ok := p.fieldsOf(d); ok {
				p.made = append(p.made, madeObject{def: i, typ: d.Aux, fields: fields})
				p.of[d.Result] = uint32(len(p.made))
			}
		}
	}
	if len(p.made) == 0 {
		return false
	}
	for _, b := range p.o.cfg.Order() {
		f.Stop.Poll()
		for i := f.Blocks[b].Start; i < f.Blocks[b].End; i++ {
			f.Stop.PollAt(int(i))
			p.look(&f.Insts[i])
		}
		for _, t := range p.o.cfg.Succs(b) {
			p.seen(f.TargetArgs(t))
		}
	}
	return p.choose()
}

// fieldsOf returns how many fields the object has that d makes; ok is false if d makes none, or an array of another length than a small constant one.
func (p *objectPass) fieldsOf(d *clif.InstData) (fields uint32, ok bool) {
	switch d.Op {
	case clif.OpStructNew:
		return uint32(len(p.f.Mod.Types[d.Aux].Fields)), true
	case clif.OpArrayNew:
		n, ok := p.constant(d.ArgA())
		return uint32(n), ok && n <= maxElements
	}
	return 0, false
}

// constant returns the bits of v if it is an integer constant.
func (p *objectPass) constant(v clif.Value) (uint64, bool) {
	if !isConst(p.f, v) {
		return 0, false
	}
	return p.f.Insts[p.f.DefInst(v)].Imm, true
}

// look notes which objects d sees.
func (p *objectPass) look(d *clif.InstData) {
	operands := d.Operands()
	if isAccess(d.Op) {
		if n := p.of[d.ArgA()]; n != 0 && p.fits(d, &p.made[n-1]) {
			operands = operands[1:]
		}
	}
	list := p.f.ListOperands(d)
	if d.Op == clif.OpArrayFill {
		if n := p.of[list[filledArray]]; n != 0 && p.fills(d, list, &p.made[n-1]) {
			list = list[filledWith:][:1]
		}
	}
	p.seen(operands)
	p.seen(list)
}

// The operands of an array_fill.
const (
	filledArray = iota
	filledFrom
	filledWith
	filledLength
)

// fills reports whether the array_fill d with these operands writes constant elements that an object has. Code behind a cast that fails may fill another one.
func (p *objectPass) fills(d *clif.InstData, operands []uint32, m *madeObject) bool {
	from, ok := p.constant(clif.Value(operands[filledFrom]))
	n, known := p.constant(clif.Value(operands[filledLength]))
	return ok && known && from <= uint64(m.fields) && n <= uint64(m.fields)-from && p.f.Mod.IsSubType(m.typ, d.Aux)
}

// seen notes that values are used.
func (p *objectPass) seen(values []uint32) {
	for _, v := range values {
		if n := p.of[v]; n != 0 {
			p.made[n-1].seen = true
		}
	}
}

func isFieldAccess(op clif.Opcode) bool {
	return op == clif.OpStructGet || op == clif.OpStructGetS || op == clif.OpStructGetU || op == clif.OpStructSet
}

// isAccess reports whether op reads or writes a field or an element of what its first operand is.
func isAccess(op clif.Opcode) bool {
	return isFieldAccess(op) || op == clif.OpArrayGet || op == clif.OpArrayGetS || op == clif.OpArrayGetU || op == clif.OpArraySet
}

// fits reports whether an object has the field that d names. Code behind a cast or a check that fails may name others.
func (p *objectPass) fits(d *clif.InstData, m *madeObject) bool {
	k, ok := p.accessed(d)
	return ok && k < uint64(m.fields) && p.f.Mod.IsSubType(m.typ, d.Aux)
}

// accessed returns which field d, an access, names; ok is false if that is not constant.
func (p *objectPass) accessed(d *clif.InstData) (field uint64, ok bool) {
	if isFieldAccess(d.Op) {
		return d.Imm, true
	}
	return p.constant(d.ArgB())
}

// assigned returns what d, which defines a variable, gives it.
func assigned(d *clif.InstData) clif.Value {
	if d.Op == clif.OpArraySet {
		return clif.Value(d.Args[2])
	}
	return d.ArgB()
}

func isAssignment(op clif.Opcode) bool { return op == clif.OpStructSet || op == clif.OpArraySet }

// choose gives the objects that are not seen variables, as far as there may be so many; it reports whether there is one.
func (p *objectPass) choose() (chosen bool) {
	f := p.f
	most, places := maxVars, len(f.Blocks) // a variable may be a parameter of each block, and an argument on each edge
	for _, b := range p.o.cfg.Order() {
		f.Stop.Poll()
		most = min(most, maxParams-maxVars-int(f.Blocks[b].Params.Len))
		places += len(p.o.cfg.Succs(b))
	}
	most = min(most, maxVarPlaces/places, (varWork*len(f.Insts)+maxVars)/places)
	for n := range p.made {
		m := &p.made[n]
		if m.seen || len(p.vars)+int(m.fields) > most || !p.o.may(RuleObjectUnseen) {
			p.of[f.Insts[m.def].Result] = 0
			continue
		}
		if p.o.tracing() {
			p.o.note(f.Offset(f.Srcs[m.def]), rewrite.Text(f, &f.Insts[m.def]), "its fields")
		}
		m.first, chosen = uint32(len(p.vars)), true
		for k := range m.fields {
			p.vars = append(p.vars, fieldVar{uint32(n), p.fieldType(m, k), clif.NoValue})
		}
	}
	return chosen
}

// fieldType returns the type of field k of an object: all elements of an array have one.
func (p *objectPass) fieldType(m *madeObject, k uint32) abi.FieldType {
	t := &p.f.Mod.Types[m.typ]
	if t.Kind == abi.KindArray {
		k = 0
	}
	return t.Fields[k]
}

// variable returns the variable that d, which is not a nop, accesses, if its object is not made.
func (p *objectPass) variable(d *clif.InstData) (v uint32, ok bool) {
	if !isAccess(d.Op) || p.of[d.ArgA()] == 0 {
		return 0, false
	}
	k, _ := p.accessed(d)
	return p.made[p.of[d.ArgA()]-1].first + uint32(k), true
}

// begins returns the variables that d begins, if it makes an object that has variables: those from first up to end.
func (p *objectPass) begins(d *clif.InstData) (first, end uint32, ok bool) {
	if d.Op != clif.OpStructNew && d.Op != clif.OpArrayNew || p.of[d.Result] == 0 {
		return 0, 0, false
	}
	m := &p.made[p.of[d.Result]-1]
	return m.first, m.first + m.fields, true
}

// filled returns the variables that d gives x, if it is an array_fill of an array that is not made: those from first up to end.
func (p *objectPass) filled(d *clif.InstData) (first, end uint32, x clif.Value, ok bool) {
	if d.Op != clif.OpArrayFill {
		return 0, 0, clif.NoValue, false
	}
	operands := p.f.ListOperands(d)
	n := p.of[operands[filledArray]]
	if n == 0 {
		return 0, 0, clif.NoValue, false
	}
	from, _ := p.constant(clif.Value(operands[filledFrom]))
	length, _ := p.constant(clif.Value(operands[filledLength]))
	first = p.made[n-1].first + uint32(from)
	return first, first + uint32(length), clif.Value(operands[filledWith]), true
}

// replace removes the objects that have variables, and what accesses them.
func (p *objectPass) replace() {
	o, f := p.o, p.f
	p.ends = stop.Zeroed(f.Stop, p.ends, len(f.Blocks)*len(p.vars))
	p.starts = stop.Zeroed(f.Stop, p.starts, len(f.Blocks)*len(p.vars))
	p.pending = p.pending[:0]
	for _, b := range o.cfg.Order() {
		f.Stop.Poll()
		p.define(b, p.ends[int(b)*len(p.vars):][:len(p.vars)])
	}
	for _, b := range o.cfg.Order() {
		f.Stop.Poll()
		p.current = stop.Zeroed(f.Stop, p.current, len(p.vars))
		p.rewrite(b)
	}
	for i := 0; i < len(p.pending); i++ {
		p.passOn(p.pending[i])
	}
	p.insert(f)
	f.ResolveInsts()
	f.ResolveTargets()
}

// define finds what block b defines.
func (p *objectPass) define(b clif.Block, ends []definition) {
	f := p.f
	for i := f.Blocks[b].Start; i < f.Blocks[b].End; i++ {
		f.Stop.PollAt(int(i))
		d := &f.Insts[i]
		first, end, _ := p.begins(d)
		for v := first; v < end; v++ {
			ends[v] = atFirst
		}
		if v, ok := p.variable(d); ok && isAssignment(d.Op) {
			ends[v] = definedBy(assigned(d))
		}
		first, end, x, _ := p.filled(d)
		for v := first; v < end; v++ {
			ends[v] = definedBy(x)
		}
	}
}

// rewrite removes the instructions of block b that variables replace.
func (p *objectPass) rewrite(b clif.Block) {
	f := p.f
	for i := f.Blocks[b].Start; i < f.Blocks[b].End; i++ {
		f.Stop.PollAt(int(i))
		d := &f.Insts[i]
		if first, end, ok := p.begins(d); ok {
			for v := first; v < end; v++ {
				p.current[v] = atFirst
			}
			f.Values[d.Result].Kind = clif.ValueDead
		} else if first, end, x, ok := p.filled(d); ok {
			for v := first; v < end; v++ {
				p.current[v] = definedBy(x)
			}
		} else if v, ok := p.variable(d); !ok {
			continue
		} else if isAssignment(d.Op) {
			p.current[v] = definedBy(assigned(d))
		} else {
			x := p.value(p.current[v], v)
			if p.current[v] == notHere {
				x = p.atStart(b, v)
			}
			f.MakeAlias(d.Result, p.extended(i, d, p.vars[v].field.Packed, x))
		}
		*d = clif.InstData{Result: clif.NoValue}
	}
}

// extended returns what the access d, instruction i, gives of a field that holds x: of one that is packed, the low bits.
func (p *objectPass) extended(i clif.Inst, d *clif.InstData, bits uint8, x clif.Value) clif.Value {
	switch {
	case bits == 0:
		return x
	case d.Op == clif.OpStructGetU || d.Op == clif.OpArrayGetU:
		mask := p.add(p.f, i, clif.I32, clif.InstData{Op: clif.OpIconst, Type: clif.I32, Imm: 1<<bits - 1})
		return p.add(p.f, i, clif.I32, clif.InstData{Op: clif.OpBand, Type: clif.I32, Args: [3]uint32{uint32(x), uint32(mask)}})
	case bits == 8:
		return p.add(p.f, i, clif.I32, clif.InstData{Op: clif.OpSext8, Type: clif.I32, Args: [3]uint32{uint32(x)}})
	}
	return p.add(p.f, i, clif.I32, clif.InstData{Op: clif.OpSext16, Type: clif.I32, Args: [3]uint32{uint32(x)}})
}

// value returns the value of a definition of v that is one, or NoValue.
func (p *objectPass) value(d definition, v uint32) clif.Value {
	switch d {
	case notHere:
		return clif.NoValue
	case atFirst:
		return p.zero(&p.vars[v])
	}
	return clif.Value(d - 2)
}

// zero returns what a variable is at first.
func (p *objectPass) zero(v *fieldVar) clif.Value {
	if v.zero == clif.NoValue {
		t := clif.TypeOf(v.field.Type)
		d := clif.InstData{Op: clif.OpIconst, Type: t}
		switch t {
		case clif.F32, clif.F64:
			d.Op = clif.OpFconst
		case clif.V128:
			d.Op = clif.OpVconst
		case clif.Ref, clif.FuncRef:
			d.Op = clif.OpRefNull
		}
		v.zero = p.add(p.f, p.made[v.object].def, t, d)
	}
	return v.zero
}

// atStart returns the value of v at the start of block b. The making of the object is on all ways there, so the search ends.
func (p *objectPass) atStart(b clif.Block, v uint32) (x clif.Value) {
	p.trail = p.trail[:0]
	for {
		p.f.Stop.Poll()
		slot := int(b)*len(p.vars) + int(v)
		if x = p.value(p.starts[slot], v); x != clif.NoValue {
			break
		}
		p.trail = append(p.trail, slot)
		preds := p.o.cfg.Preds(b)
		if len(preds) != 1 {
			x = p.meet(b, v)
			break
		}
		b = preds[0].From
		if x = p.value(p.ends[int(b)*len(p.vars)+int(v)], v); x != clif.NoValue {
			break
		}
	}
	for _, slot := range p.trail {
		p.starts[slot] = definedBy(x)
	}
	return x
}

// meet gives b a parameter for v.
func (p *objectPass) meet(b clif.Block, v uint32) clif.Value {
	p.pending = append(p.pending, varParam{b, v})
	return addParam(p.f, b, clif.TypeOf(p.vars[v].field.Type))
}

// passOn appends the arguments of a parameter to the edges: those of the parameters of a block in the order in which it got them.
func (p *objectPass) passOn(x varParam) {
	p.o.addArgs(p.f, x.block, func(e analysis.Edge) clif.Value {
		if arg := p.value(p.ends[int(e.From)*len(p.vars)+int(x.v)], x.v); arg != clif.NoValue {
			return arg
		}
		return p.atStart(e.From, x.v)
	})
}
