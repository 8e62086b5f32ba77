// Package verify checks the invariants of CLIF: those listed at clif.Func.
//
// Place in the pipeline: after the front end and after each pass of the
// mid-end, in all tests and on request.
//
// Input: a clif.Func.
// Output: nil, or an *Error for the first violation.
package verify

import (
	"fmt"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/analysis"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/stop"
)

// Error is a violated invariant.
type Error struct {
	Func  string
	Block clif.Block // NoBlock if none in particular
	Inst  clif.Inst  // NoInst if none in particular
	Text  string     // of the instruction
	Msg   string
}

func (e *Error) Error() string {
	s := fmt.Sprintf("verify %q", e.Func)
	if e.Block != clif.NoBlock {
		s += fmt.Sprintf(" %v", e.Block)
	}
	if e.Inst != clif.NoInst {
		s += fmt.Sprintf(" %v (%s)", e.Inst, e.Text)
	}
	return s + ": " + e.Msg
}

// Verifier checks functions, one after the other, and keeps its tables between them. The zero value is ready.
type Verifier struct {
	f   *clif.Func
	cfg analysis.CFG
	dom analysis.DomTree
	// defBlock is where each value is defined, NoBlock if nowhere in the layout.
	defBlock []clif.Block
	// owned has the instructions that are in a block, inLayout the blocks of the layout.
	owned, inLayout []bool
	// caught is the call that the catch at the end of each block belongs to, or NoInst.
	caught []clif.Inst
	normal bool // arguments of the first target of a catch are checked
	block  clif.Block
	inst   clif.Inst
	err    *Error
}

// Func checks f alone.
func Func(f *clif.Func) error { return new(Verifier).Func(f) }

// Func checks f.
func (v *Verifier) Func(f *clif.Func) error {
	v.f, v.block, v.inst, v.err = f, clif.NoBlock, clif.NoInst, nil
	v.structure()
	if v.err == nil {
		v.cfg.Compute(f)
		v.dom.Compute(&v.cfg)
		v.definitions()
		v.catches()
	}
	for _, b := range f.Layout {
		if v.err != nil {
			break
		}
		v.checkBlock(b)
	}
	if v.err != nil {
		return v.err
	}
	return nil
}

func (v *Verifier) fail(format string, args ...any) {
	if v.err != nil {
		return
	}
	v.err = &Error{Func: v.f.Name, Block: v.block, Inst: v.inst, Msg: fmt.Sprintf(format, args...)}
	if v.inst != clif.NoInst {
		if op := v.f.Insts[v.inst].Op; op < clif.NumOpcodes {
			v.err.Text = op.String()
		}
	}
}

// places checks the table of F7.
func (v *Verifier) places() {
	for i := range v.f.Inlined {
		in := &v.f.Inlined[i]
		if in.Caller >= abi.InlinedPlace && in.Caller-abi.InlinedPlace >= uint32(i) {
			v.fail("the caller of place %d is not before it", i)
		}
		if in.Src >= abi.InlinedPlace || int(in.Func) >= len(v.f.Mod.Funcs) {
			v.fail("place %d is in no function", i)
		}
	}
}

// structure checks F1 to F3 and F7, and that all indices are in range.
func (v *Verifier) structure() {
	f := v.f
	if len(f.Srcs) != len(f.Insts) {
		v.fail("%d instructions have %d places", len(f.Insts), len(f.Srcs))
		return
	}
	v.places()
	if len(f.Layout) == 0 {
		v.fail("no blocks")
		return
	}
	v.owned = stop.Zeroed(f.Stop, v.owned, len(f.Insts))
	v.inLayout = stop.Zeroed(f.Stop, v.inLayout, len(f.Blocks))
	for _, b := range f.Layout {
		v.block, v.inst = b, clif.NoInst
		if int(b) >= len(f.Blocks) || v.inLayout[b] {
			v.fail("block is not in the function, or twice in the layout")
			return
		}
		v.inLayout[b] = true
		bd := &f.Blocks[b]
		if bd.Start > bd.End || int(bd.End) > len(f.Insts) {
			v.fail("instruction range %d to %d", bd.Start, bd.End)
			return
		}
		term := f.Terminator(b)
		if term == clif.NoInst || f.Insts[term].Op >= clif.NumOpcodes || !f.Insts[term].Op.IsTerminator() {
			v.fail("does not end in a terminator")
			return
		}
		for i := bd.Start; i < bd.End; i++ {
			v.inst = i
			if v.owned[i] {
				v.fail("instruction is in two blocks")
				return
			}
			v.owned[i] = true
			if v.shape(i, term); v.err != nil {
				return
			}
		}
	}
	v.block, v.inst = f.Entry(), clif.NoInst
	params := f.Params(f.Entry())
	sig := f.Signature()
	if len(params) != len(sig.Params) {
		v.fail("the entry has %d parameters, the signature %d", len(params), len(sig.Params))
		return
	}
	for i, p := range params {
		if int(p) >= len(f.Values) {
			v.fail("value v%d does not exist", p)
			return
		}
		v.wantType(clif.Value(p), sig.Params[i])
	}
	v.targets()
}

// targets checks that branches go to blocks of the layout other than the entry,
// whose parameters are the function's.
func (v *Verifier) targets() {
	f := v.f
	for _, b := range f.Layout {
		v.block, v.inst = b, f.Terminator(b)
		d := &f.Insts[v.inst]
		if d.Op == clif.OpBrTable && d.Args[2] == 0 {
			v.fail("no targets")
		}
		if d.Op == clif.OpBrTable && d.Cond > clif.TableRare {
			v.fail("hint %d", d.Cond)
		}
		for _, t := range f.TargetsOf(d) {
			to := f.Targets[t].Block
			if !v.inLayout[to] {
				v.fail("branch to %v, which is not in the layout", to)
			}
			if to == f.Entry() {
				v.fail("branch to the entry")
			}
		}
		if v.err != nil {
			return
		}
	}
}

// shape checks what can be seen of an instruction alone.
func (v *Verifier) shape(i, term clif.Inst) {
	f := v.f
	d := &f.Insts[i]
	if d.Op >= clif.NumOpcodes {
		v.fail("unknown opcode %d", d.Op)
		return
	}
	info := d.Op.Info()
	if d.Op.IsTerminator() && i != term {
		v.fail("terminator inside a block")
	}
	if src := f.Srcs[i]; src >= abi.InlinedPlace && int(src-abi.InlinedPlace) >= len(f.Inlined) {
		v.fail("its place is not in the table")
	}
	if !info.Types.Has(d.Type) {
		v.fail("%v cannot have the type %v", d.Op, d.Type)
	}
	for _, a := range d.Operands() {
		if int(a) >= len(f.Values) {
			v.fail("value v%d does not exist", a)
		}
	}
	for n := range uint32(d.NumResults) {
		r := uint32(d.Result) + n
		if int(r) >= len(f.Values) || f.Values[r].Kind != clif.ValueResult || f.Values[r].Def != uint32(i) {
			v.fail("result v%d is not this instruction's", r)
		}
	}
	if d.HasList() && uint64(d.Args[1])+uint64(d.Args[2]) > uint64(len(f.Pool)) {
		v.fail("list %d, %d is not in the pool", d.Args[1], d.Args[2])
		return
	}
	for _, t := range f.TargetsOf(d) {
		if int(t) >= len(f.Targets) || int(f.Targets[t].Block) >= len(f.Blocks) {
			v.fail("target %d does not exist", t)
		}
	}
	v.entity(info.Entity, uint64(d.Aux))
	v.entity(info.Entity2, d.Imm)
}

// entity checks that a module entity exists.
func (v *Verifier) entity(e clif.Entity, i uint64) {
	m := v.f.Mod
	n := 0
	switch e {
	case clif.EntNone:
		return
	case clif.EntGlobal:
		n = len(m.Globals)
	case clif.EntMemory:
		n = len(m.Memories)
	case clif.EntTable:
		n = len(m.Tables)
	case clif.EntData:
		n = len(m.Datas)
	case clif.EntElem:
		n = len(m.Elems)
	case clif.EntFunc:
		n = len(m.Funcs)
	case clif.EntSig:
		n = len(m.Sigs)
	case clif.EntTag:
		n = len(m.Tags)
	case clif.EntType:
		n = len(m.Types)
	case clif.EntField:
		return // see fields
	}
	if i >= uint64(n) {
		v.fail("%v%d does not exist", e, i)
	}
}

// definitions notes the block that defines each value.
func (v *Verifier) definitions() {
	f := v.f
	v.defBlock = stop.Zeroed(f.Stop, v.defBlock, len(f.Values))
	for i := range v.defBlock {
		v.defBlock[i] = clif.NoBlock
	}
	for _, b := range f.Layout {
		v.block, v.inst = b, clif.NoInst
		for n, p := range f.Params(b) {
			if int(p) >= len(f.Values) {
				v.fail("value v%d does not exist", p)
				return
			}
			d := &f.Values[p]
			if d.Kind != clif.ValueParam || d.Def != uint32(b) || int(d.Num) != n {
				v.fail("v%d is not parameter %d", p, n)
			}
			v.defBlock[p] = b
		}
		for i := f.Blocks[b].Start; i < f.Blocks[b].End; i++ {
			d := &f.Insts[i]
			if d.Op == clif.OpNop {
				continue
			}
			for n := range clif.Value(d.NumResults) {
				v.defBlock[d.Result+n] = b
			}
		}
	}
}

func (v *Verifier) wantType(x clif.Value, t clif.Type) {
	if got := v.f.TypeOf(x); got != t {
		v.fail("%v has the type %v, want %v", x, got, t)
	}
}

// use checks F4 for one operand.
func (v *Verifier) use(x clif.Value) {
	f := v.f
	if int(x) >= len(f.Values) {
		v.fail("value %v does not exist", x)
		return
	}
	d := &f.Values[x]
	if d.Kind == clif.ValueAlias {
		v.fail("%v is an alias", x)
		return
	}
	db := v.defBlock[x]
	switch {
	case db == clif.NoBlock:
		v.fail("%v is not defined", x)
	case v.cfg.Number(v.block) == analysis.Unreached:
	case v.cfg.Number(db) == analysis.Unreached || !v.dom.Dominates(db, v.block):
		v.fail("%v is defined in %v, which does not dominate", x, db)
	case db == v.block && d.Kind == clif.ValueResult && clif.Inst(d.Def) >= v.inst:
		v.fail("%v is used before its definition", x)
	case d.Kind == clif.ValueResult && clif.Inst(d.Def) == v.caught[db] && !(v.normal && db == v.block) && !v.behindNormal(db):
		v.fail("%v does not exist here, as the call may have thrown", x)
	}
}

func (v *Verifier) checkBlock(b clif.Block) {
	f := v.f
	v.block = b
	for i := f.Blocks[b].Start; i < f.Blocks[b].End && v.err == nil; i++ {
		v.inst = i
		d := &f.Insts[i]
		for _, a := range d.Operands() {
			v.use(clif.Value(a))
		}
		for _, a := range f.ListOperands(d) {
			v.use(clif.Value(a))
		}
		if v.err != nil {
			return
		}
		v.types(d)
		for _, t := range f.TargetsOf(d) {
			v.target(clif.Target(t), d.Op == clif.OpCatch && t == d.Args[1])
		}
	}
}

// target checks the arguments of t; normal says that it is the first one of a catch.
func (v *Verifier) target(t clif.Target, normal bool) {
	f := v.f
	args, params := f.TargetArgs(t), f.Params(f.Targets[t].Block)
	if len(args) != len(params) {
		v.fail("%d arguments for %v, which has %d parameters", len(args), f.Targets[t].Block, len(params))
		return
	}
	v.normal = normal
	for i, a := range args {
		v.use(clif.Value(a))
		if v.err == nil {
			v.wantType(clif.Value(a), f.TypeOf(clif.Value(params[i])))
		}
	}
	v.normal = false
}

func (v *Verifier) listTypes(what string, args []uint32, types []clif.Type) {
	if len(args) != len(types) {
		v.fail("%d %s, want %d", len(args), what, len(types))
		return
	}
	for i, a := range args {
		v.wantType(clif.Value(a), types[i])
	}
}

// results checks the types of the results.
func (v *Verifier) results(d *clif.InstData, types ...clif.Type) {
	if int(d.NumResults) != len(types) {
		v.fail("%d results, want %d", d.NumResults, len(types))
		return
	}
	for i, t := range types {
		v.wantType(d.Result+clif.Value(i), t)
	}
}
