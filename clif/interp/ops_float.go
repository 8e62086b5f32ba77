package interp

import (
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/arith"
	"github.com/waot-project/waot/internal/abi"
)

func opFadd(m *machine, d *clif.InstData)      { m.set64(d, arith.Fadd(d.Type, m.a(d), m.b(d))) }
func opFsub(m *machine, d *clif.InstData)      { m.set64(d, arith.Fsub(d.Type, m.a(d), m.b(d))) }
func opFmul(m *machine, d *clif.InstData)      { m.set64(d, arith.Fmul(d.Type, m.a(d), m.b(d))) }
func opFdiv(m *machine, d *clif.InstData)      { m.set64(d, arith.Fdiv(d.Type, m.a(d), m.b(d))) }
func opFmin(m *machine, d *clif.InstData)      { m.set64(d, arith.Fmin(d.Type, m.a(d), m.b(d))) }
func opFmax(m *machine, d *clif.InstData)      { m.set64(d, arith.Fmax(d.Type, m.a(d), m.b(d))) }
func opFcopysign(m *machine, d *clif.InstData) { m.set64(d, arith.Fcopysign(d.Type, m.a(d), m.b(d))) }

func opFsqrt(m *machine, d *clif.InstData)    { m.set64(d, arith.Fsqrt(d.Type, m.a(d))) }
func opFceil(m *machine, d *clif.InstData)    { m.set64(d, arith.Fceil(d.Type, m.a(d))) }
func opFfloor(m *machine, d *clif.InstData)   { m.set64(d, arith.Ffloor(d.Type, m.a(d))) }
func opFtrunc(m *machine, d *clif.InstData)   { m.set64(d, arith.Ftrunc(d.Type, m.a(d))) }
func opFnearest(m *machine, d *clif.InstData) { m.set64(d, arith.Fnearest(d.Type, m.a(d))) }
func opFabs(m *machine, d *clif.InstData)     { m.set64(d, arith.Fabs(d.Type, m.a(d))) }
func opFneg(m *machine, d *clif.InstData)     { m.set64(d, arith.Fneg(d.Type, m.a(d))) }

func opFcmp(m *machine, d *clif.InstData) {
	m.setBool(d, arith.Fcmp(d.FloatCC(), arith.Float(d.Type, m.a(d)), arith.Float(d.Type, m.b(d))))
}

func opFpromote(m *machine, d *clif.InstData) {
	m.set64(d, arith.FloatBits(d.Type, arith.Float(clif.F32, m.a(d))))
}

func opFdemote(m *machine, d *clif.InstData) {
	m.set64(d, arith.FloatBits(d.Type, arith.Float(clif.F64, m.a(d))))
}

// typeA returns the type of the first operand, where d.Type is the result's only.
func (m *machine) typeA(d *clif.InstData) clif.Type { return m.fn.body.TypeOf(d.ArgA()) }

func opFcvtFromSint(m *machine, d *clif.InstData) {
	x := int64(m.a(d))
	if m.typeA(d) == clif.I32 {
		x = int64(int32(x))
	}
	m.set64(d, arith.FromSint(d.Type, x))
}

func opFcvtFromUint(m *machine, d *clif.InstData) { m.set64(d, arith.FromUint(d.Type, m.a(d))) }

// floatA returns the first operand of a conversion.
func (m *machine) floatA(d *clif.InstData) float64 { return arith.Float(m.typeA(d), m.a(d)) }

// setInside writes the result of a conversion, or traps if the operand did not fit.
func (m *machine) setInside(d *clif.InstData, x uint64, where arith.Range) {
	switch where {
	case arith.Inside:
		m.set64(d, x)
	case arith.NotANumber:
		m.trap(abi.TrapBadConversion)
	default:
		m.trap(abi.TrapIntegerOverflow)
	}
}

func opFcvtToSint(m *machine, d *clif.InstData) {
	x, where := arith.ToSint(d.Type, m.floatA(d))
	m.setInside(d, x, where)
}

func opFcvtToUint(m *machine, d *clif.InstData) {
	x, where := arith.ToUint(d.Type, m.floatA(d))
	m.setInside(d, x, where)
}

func opFcvtToSintSat(m *machine, d *clif.InstData) {
	x, _ := arith.ToSint(d.Type, m.floatA(d))
	m.set64(d, x)
}

func opFcvtToUintSat(m *machine, d *clif.InstData) {
	x, _ := arith.ToUint(d.Type, m.floatA(d))
	m.set64(d, x)
}

func opBitcast(m *machine, d *clif.InstData) { m.set64(d, m.a(d)) }
