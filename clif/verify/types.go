package verify

import (
	"slices"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
)

// types checks the operands and results of d against OpInfo.Sig and, for calls
// and returns, the signature.
func (v *Verifier) types(d *clif.InstData) {
	f := v.f
	switch d.Op {
	case clif.OpCall, clif.OpCallRef, clif.OpReturnCall, clif.OpReturnCallRef:
		v.call(d, f.Mod.CalleeSig(d))
		return
	case clif.OpExnSet:
		v.listTypes("arguments", f.ListOperands(d), f.Mod.TagSig(d.Aux).Params)
		v.results(d)
		return
	case clif.OpExnArgs:
		v.results(d, f.Mod.TagSig(d.Aux).Params...)
		return
	case clif.OpArrayFill, clif.OpArrayCopy, clif.OpArrayInitData, clif.OpArrayInitElem:
		v.bulk(d)
		v.results(d)
		return
	case clif.OpReturn:
		v.listTypes("results", f.ListOperands(d), f.Signature().Results)
	}
	v.signature(d, d.Op.Info().Sig)
	v.constant(d)
}

// call checks a call of a function of type s. A tail call has no results: it returns what the function v.f does.
func (v *Verifier) call(d *clif.InstData, s *clif.Signature) {
	if d.NumArgs() > 0 {
		v.wantType(d.ArgA(), clif.FuncRef)
	}
	v.listTypes("arguments", v.f.ListOperands(d), s.Params)
	if !d.Op.IsTailCall() {
		v.results(d, s.Results...)
		return
	}
	v.results(d)
	if own := v.f.Signature().Results; !slices.Equal(s.Results, own) {
		v.fail("the callee's results are %v, the function's %v", s.Results, own)
	}
}

// signature checks d against a text such as "iCC:C".
func (v *Verifier) signature(d *clif.InstData, sig string) {
	args := [...]uint32{d.Args[0], d.Args[1], d.Args[2]}
	i := 0
	for ; i < len(sig) && sig[i] != ':'; i++ {
		v.match(d, sig[i], clif.Value(args[i]))
	}
	if i == len(sig) || sig[i+1] == '.' {
		v.results(d)
		return
	}
	if d.NumResults != 1 {
		v.fail("%d results, want 1", d.NumResults)
		return
	}
	v.match(d, sig[i+1], d.Result)
}

// otherBank is the type of the same width in the other bank.
var otherBank = [clif.NumTypes]clif.Type{clif.I32: clif.F32, clif.F32: clif.I32, clif.I64: clif.F64, clif.F64: clif.I64}

// match checks the type of x against one letter of a signature.
func (v *Verifier) match(d *clif.InstData, letter byte, x clif.Value) {
	got := v.f.TypeOf(x)
	ok := false
	switch letter {
	case 'C':
		ok = got == d.Type
	case 'i':
		ok = got == clif.I32
	case 'l':
		ok = got == clif.I64
	case 'f':
		ok = got.IsFloat()
	case 'n', 'p':
		ok = got.IsInt()
	case 'b':
		ok = got == otherBank[d.Type]
	case 's':
		ok = got.IsFloat() && got != d.Type
	case 'V':
		ok = got == clif.V128
	case 'e':
		ok = got == d.Type.LaneType()
	case 'F':
		ok = got == clif.FuncRef
	case 'R':
		ok = got == clif.Ref
	}
	if !ok {
		v.fail("%v has the type %v, want %q of %s with %v", x, got, letter, d.Op.Info().Sig, d.Type)
	}
}

// constant checks that immediates and entities fit the type.
func (v *Verifier) constant(d *clif.InstData) {
	m := v.f.Mod
	switch d.Op {
	case clif.OpIconst, clif.OpFconst:
		if d.Type.Bits() == 32 && d.Imm>>32 != 0 {
			v.fail("constant 0x%x does not fit %v", d.Imm, d.Type)
		}
	case clif.OpRefNull:
		if d.Imm != 0 {
			v.fail("null is 0x%x", d.Imm)
		}
	case clif.OpIcmp, clif.OpVicmp:
		if d.IntCC() >= clif.NumIntCCs {
			v.fail("condition %d", d.Cond)
		}
	case clif.OpFcmp, clif.OpVfcmp:
		if d.FloatCC() >= clif.NumFloatCCs {
			v.fail("condition %d", d.Cond)
		}
	case clif.OpVextract, clif.OpVextractS, clif.OpVinsert:
		if d.Imm >= uint64(d.Type.Lanes()) {
			v.fail("lane %d of %v", d.Imm, d.Type)
		}
	case clif.OpVshuffle:
		for _, lane := range d.Lanes() {
			if lane >= 32 {
				v.fail("lane %d of two vectors", lane)
			}
		}
	case clif.OpTrap, clif.OpTrapIf, clif.OpBound:
		if d.Trap() == abi.TrapNone || d.Trap() >= abi.NumTrapCodes {
			v.fail("trap code %d", d.Cond)
		}
	case clif.OpCharge, clif.OpChargeBy:
		if c := d.Trap(); c != abi.TrapNone && c != abi.TrapOutOfFuel {
			v.fail("trap code %d", d.Cond)
		}
		if d.Op == clif.OpCharge && d.Imm > clif.MaxCharge {
			v.fail("a charge of %d", d.Imm)
		}
	case clif.OpFuncAddr:
		if f := &m.Funcs[d.Aux]; f.Import == nil && !f.Addressed {
			v.fail("fn%d is not addressed", d.Aux)
		}
	case clif.OpGlobalGet, clif.OpGlobalSet:
		if m.Globals[d.Aux].Type != d.Type {
			v.fail("global%d has the type %v", d.Aux, m.Globals[d.Aux].Type)
		}
	case clif.OpTableGet, clif.OpTableSet, clif.OpTableFill, clif.OpTableGrow:
		if m.Tables[d.Aux].Elem != d.Type {
			v.fail("table%d has elements of type %v", d.Aux, m.Tables[d.Aux].Elem)
		}
	case clif.OpTableCopy:
		v.sameElements(m.Tables[d.Aux].Elem, m.Tables[d.Imm].Elem)
	case clif.OpTableInit:
		v.sameElements(m.Tables[d.Aux].Elem, m.Elems[d.Imm].Type)
	case clif.OpElemSet:
		v.sameElements(d.Type, m.Elems[d.Aux].Type)
		if v.f.Index != m.InitFunc() {
			v.fail("elem_set outside of the init function")
		}
	case clif.OpLoad, clif.OpStore:
		v.access(d)
	case clif.OpRefTest:
		from, want := d.RefTestTypes()
		v.refType(d, from)
		v.refType(d, want)
		if want.IsBottom() || want.OrNull() == want.Top() {
			v.fail("ref_test for %v, which null alone decides", want)
		} else if !want.IsNotNull() && !from.IsObject() {
			v.fail("ref_test of %v for %v, which null may be", from, want)
		}
	case clif.OpStructNew, clif.OpHeapNext, clif.OpHeapFull, clif.OpHeapClaim:
		v.definition(d.Aux, abi.KindStruct)
	case clif.OpStructGet, clif.OpStructGetS, clif.OpStructGetU, clif.OpStructSet:
		if t := v.definition(d.Aux, abi.KindStruct); t != nil && d.Imm >= uint64(len(t.Fields)) {
			v.fail("field%d of type%d does not exist", d.Imm, d.Aux)
		} else if t != nil {
			v.field(d, &t.Fields[d.Imm])
		}
	case clif.OpArrayNew:
		v.definition(d.Aux, abi.KindArray)
	case clif.OpArrayGet, clif.OpArrayGetS, clif.OpArrayGetU, clif.OpArraySet:
		if t := v.definition(d.Aux, abi.KindArray); t != nil {
			v.field(d, &t.Fields[0])
		}
	}
}

// refType checks a type of references of the class of d.
func (v *Verifier) refType(d *clif.InstData, t abi.ValType) {
	if !t.IsValid() || clif.Type(t.Class()) != d.Type {
		v.fail("%v for a reference of class %v", t, d.Type)
	} else if i, ok := t.TypeIndex(); ok {
		v.definition(i, t.Kind())
	}
}

// definition returns type i of the module, which must be of a kind, or nil.
func (v *Verifier) definition(i uint32, kind abi.TypeKind) *abi.TypeDef {
	if types := v.f.Mod.Types; int64(i) >= int64(len(types)) || types[i].Kind != kind || kind == abi.KindArray && len(types[i].Fields) != 1 {
		v.fail("type%d is no %v", i, kind)
		return nil
	}
	return &v.f.Mod.Types[i]
}

// field checks that what d gets or sets is what a field has.
func (v *Verifier) field(d *clif.InstData, f *abi.FieldType) {
	plain := d.Op == clif.OpStructGet || d.Op == clif.OpArrayGet
	set := d.Op == clif.OpStructSet || d.Op == clif.OpArraySet
	if clif.TypeOf(f.Type) != d.Type || !set && plain != (f.Packed == 0) {
		v.fail("%v of a field %v", d.Type, f)
	}
}

// bulk checks the operands of an operation on many elements of an array.
func (v *Verifier) bulk(d *clif.InstData) {
	t := v.definition(d.Aux, abi.KindArray)
	if t == nil {
		return
	}
	elem := clif.TypeOf(t.Fields[0].Type)
	switch list := v.f.ListOperands(d); d.Op {
	case clif.OpArrayFill:
		v.listTypes("operands", list, []clif.Type{clif.Ref, clif.I64, elem, clif.I64})
	case clif.OpArrayCopy:
		v.listTypes("operands", list, []clif.Type{clif.Ref, clif.I64, clif.Ref, clif.I64, clif.I64})
		if from := v.definition(uint32(d.Imm), abi.KindArray); from != nil && (clif.TypeOf(from.Fields[0].Type) != elem || from.Fields[0].Packed != t.Fields[0].Packed) {
			v.fail("elements of type %v and %v", from.Fields[0], t.Fields[0])
		}
	default:
		v.listTypes("operands", list, []clif.Type{clif.Ref, clif.I64, clif.I64, clif.I64})
		if segment := d.Op == clif.OpArrayInitElem; segment != elem.IsRef() || segment && v.f.Mod.Elems[d.Imm].Type != elem {
			v.fail("elements of type %v and of a segment", elem)
		}
	}
}

func (v *Verifier) sameElements(a, b clif.Type) {
	if a != b {
		v.fail("elements of type %v and %v", a, b)
	}
}

// access checks the width of a load or store.
func (v *Verifier) access(d *clif.InstData) {
	a := d.Access()
	ok := a == clif.Full
	switch {
	case d.Type.IsInt():
		ok = ok || a < clif.U64 && a.Bytes(d.Type) < d.Type.Bits()/8
	case d.Type == clif.V128:
		ok = ok || d.Op == clif.OpLoad && (a == clif.U32 || a == clif.U64)
	}
	if !ok {
		v.fail("access %d does not fit %v", d.Cond, d.Type)
	} else if d.Op == clif.OpStore && a.Signed() {
		v.fail("a store has no sign")
	}
}
