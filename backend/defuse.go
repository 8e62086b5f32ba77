package backend

import (
	"math"
	"math/bits"
	"slices"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/stop"
)

// DefUse holds facts about a function's values that lowering computes before the first instruction: what defines them, and how
// often they are used. Lowering only reads it.
type DefUse struct {
	F *clif.Func

	canon  []clif.Value // by Value: what aliases and zero-extensions stand for
	uses   []uint8      // by Value; maxUses for as many or more
	halves []bool       // by Value: an i32 is an alias of this i64, which is below 2^32
	wholes []bool       // by Value: an i64 is an alias of this i32, the low half of one: a mask, most of whose users are operations of 64 bits
}

// maxUses is the greatest number of uses that is counted.
const maxUses = 255

// begin prepares for f: each value stands for itself, and none is used.
func (u *DefUse) begin(f *clif.Func) {
	u.F = f
	u.canon = stop.Zeroed(f.Stop, u.canon, len(f.Values))
	u.uses = stop.Zeroed(f.Stop, u.uses, len(f.Values))
	u.halves = stop.Zeroed(f.Stop, u.halves, len(f.Values))
	u.wholes = stop.Zeroed(f.Stop, u.wholes, len(f.Values))
	for i := range u.canon {
		f.Stop.PollAt(i)
		u.canon[i] = clif.Value(i)
	}
}

// Resolve returns the value that v stands for: it looks through zero-extensions of i32. So for a 64-bit operand it may
// return an i32, whose register holds the zero-extended value.
func (u *DefUse) Resolve(v clif.Value) clif.Value {
	c := u.canon[v]
	if c != v {
		c = u.canon[c]
	}
	return c
}

// DefInst returns the instruction that defines v. It returns nil for parameters, and for results of calls
// that have several results.
func (u *DefUse) DefInst(v clif.Value) (clif.Inst, *clif.InstData) {
	v = u.Resolve(v)
	vd := &u.F.Values[v]
	if vd.Kind != clif.ValueResult {
		return clif.NoInst, nil
	}
	return clif.Inst(vd.Def), &u.F.Insts[vd.Def]
}

// DefOp returns the definition of v if its opcode is op, else nil.
func (u *DefUse) DefOp(v clif.Value, op clif.Opcode) *clif.InstData {
	if _, d := u.DefInst(v); d != nil && d.Op == op {
		return d
	}
	return nil
}

// DefOf returns the definition of v if its opcode is op and its operands have exactly type t: a
// 32-bit operation must not be taken for a 64-bit one through a zero-extension.
func (u *DefUse) DefOf(v clif.Value, op clif.Opcode, t clif.Type) *clif.InstData {
	if d := u.DefOp(v, op); d != nil && d.Type == t {
		return d
	}
	return nil
}

// defOpcode returns the opcode of the instruction whose only result is v, or NumOpcodes if there is none. NoValue stands for
// a constant.
func (u *DefUse) defOpcode(v clif.Value) clif.Opcode {
	if v == clif.NoValue {
		return clif.OpIconst
	}
	v = u.Resolve(v)
	if vd := &u.F.Values[v]; vd.Kind == clif.ValueResult {
		return u.F.Insts[vd.Def].Op
	}
	return clif.NumOpcodes
}

// Iconst returns the value of v as 64 bits, an i32 zero-extended, if it is an integer constant
// or a null reference.
func (u *DefUse) Iconst(v clif.Value) (uint64, bool) {
	v = u.Resolve(v)
	vd := &u.F.Values[v]
	if vd.Kind != clif.ValueResult {
		return 0, false
	}
	switch d := &u.F.Insts[vd.Def]; d.Op {
	case clif.OpIconst:
		if d.Type == clif.I32 {
			return uint64(uint32(d.Imm)), true
		}
		return d.Imm, true
	case clif.OpRefNull:
		return 0, true
	}
	return 0, false
}

// Vconst returns the halves of v if it is a constant vector.
func (u *DefUse) Vconst(v clif.Value) (low, high uint64, ok bool) {
	d := u.DefOp(v, clif.OpVconst)
	if d == nil {
		return 0, 0, false
	}
	low, high = d.V128()
	return low, high, true
}

// Sconst returns the value of v as an operand of t, sign-extended to 64 bits.
func (u *DefUse) Sconst(t clif.Type, v clif.Value) (int64, bool) {
	x, ok := u.Iconst(v)
	if t == clif.I32 {
		return int64(int32(x)), ok
	}
	return int64(x), ok
}

// ConstLast returns x and y, exchanged if x is a constant.
func (u *DefUse) ConstLast(x, y clif.Value) (clif.Value, clif.Value) {
	if _, ok := u.Iconst(x); ok {
		return y, x
	}
	return x, y
}

// IsParam reports whether v is a block parameter.
func (u *DefUse) IsParam(v clif.Value) bool {
	return u.F.Values[u.Resolve(v)].Kind == clif.ValueParam
}

// NumUses returns how many uses v has in the function, at most maxUses.
func (u *DefUse) NumUses(v clif.Value) int { return int(u.uses[u.Resolve(v)]) }

// SingleUse reports whether v has one use in the function.
func (u *DefUse) SingleUse(v clif.Value) bool { return u.uses[u.Resolve(v)] == 1 }

// reads reports whether v is an operand of d, which is not a terminator.
func (u *DefUse) reads(d *clif.InstData, v clif.Value) bool {
	is := func(a uint32) bool { return u.Resolve(clif.Value(a)) == v }
	return slices.ContainsFunc(d.Operands(), is) || slices.ContainsFunc(u.F.ListOperands(d), is)
}

// below32 reports whether the i64 v is surely less than 2^32.
func (u *DefUse) below32(v clif.Value) bool {
	_, d := u.DefInst(v)
	if d == nil {
		return false
	}
	switch d.Op {
	case clif.OpUshr:
		k, ok := u.Iconst(d.ArgB())
		return ok && d.Type == clif.I64 && k&63 >= 32
	case clif.OpBand:
		k, ok := u.Iconst(d.ArgB())
		return ok && k <= math.MaxUint32
	case clif.OpLoad:
		a := d.Access()
		return a == clif.U8 || a == clif.U16 || a == clif.U32
	}
	return false
}

// MaxBits returns the number of low bits that may be set in v, 64 if v is not an i32.
func (u *DefUse) MaxBits(v clif.Value) int {
	if u.F.TypeOf(u.Resolve(v)) != clif.I32 {
		return 64
	}
	_, d := u.DefInst(v)
	if d == nil {
		return 32
	}
	switch d.Op {
	case clif.OpLoad:
		if a := d.Access(); a == clif.U8 || a == clif.U16 {
			return 8 * a.Bytes(d.Type)
		}
	case clif.OpBand:
		_, y := u.ConstLast(d.ArgA(), d.ArgB())
		if m, ok := u.Iconst(y); ok {
			return bits.Len64(m)
		}
	case clif.OpUshr:
		if k, ok := u.Iconst(d.ArgB()); ok {
			return 32 - int(k&31)
		}
	case clif.OpIcmp, clif.OpFcmp, clif.OpRefIsNull, clif.OpRefEq, clif.OpRefTest, clif.OpHeapFull:
		return 1
	}
	return 32
}

// countArgs counts the uses in d and in the targets of a terminator.
func (u *DefUse) countArgs(d *clif.InstData) {
	u.countUses(d.Operands())
	u.countUses(u.F.ListOperands(d))
	for _, t := range u.F.TargetsOf(d) {
		u.countUses(u.F.TargetArgs(clif.Target(t)))
	}
}

func (u *DefUse) countUses(values []uint32) {
	for _, v := range values {
		u.countUse(clif.Value(v))
	}
}

func (u *DefUse) countUse(v clif.Value) {
	if v = u.Resolve(v); u.uses[v] < maxUses {
		u.uses[v]++
	}
}
