package interp

import (
	"math"
	"math/bits"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/arith"
	"github.com/waot-project/waot/internal/abi"
)

// In a register an i32 or f32 is zero-extended. a, b and c are the operands of
// d; set writes its result, truncated to the bits of its type.

func (m *machine) a(d *clif.InstData) uint64 { return m.regs[d.Args[0]] }
func (m *machine) b(d *clif.InstData) uint64 { return m.regs[d.Args[1]] }
func (m *machine) c(d *clif.InstData) uint64 { return m.regs[d.Args[2]] }

func (m *machine) set(d *clif.InstData, x uint64) {
	if d.Type == clif.I32 {
		x = uint64(uint32(x))
	}
	m.regs[d.Result] = x
}

// set64 writes a result that keeps all 64 bits of x: its type is not the controlling one.
func (m *machine) set64(d *clif.InstData, x uint64) { m.regs[d.Result] = x }

func (m *machine) setBool(d *clif.InstData, x bool) {
	m.regs[d.Result] = 0
	if x {
		m.regs[d.Result] = 1
	}
}

// signed is x, of the controlling type, as a number.
func signed(d *clif.InstData, x uint64) int64 {
	if d.Type == clif.I32 {
		return int64(int32(x))
	}
	return int64(x)
}

// amount returns the second operand modulo the width.
func (m *machine) amount(d *clif.InstData) int { return int(m.b(d)) & (d.Type.Bits() - 1) }

func opConst(m *machine, d *clif.InstData) { m.set64(d, d.Imm) }

func opFuncAddr(m *machine, d *clif.InstData) { m.set64(d, m.inst.funcs[d.Aux].ref) }

func opIadd(m *machine, d *clif.InstData) { m.set(d, m.a(d)+m.b(d)) }
func opIsub(m *machine, d *clif.InstData) { m.set(d, m.a(d)-m.b(d)) }
func opImul(m *machine, d *clif.InstData) { m.set(d, m.a(d)*m.b(d)) }
func opBand(m *machine, d *clif.InstData) { m.set(d, m.a(d)&m.b(d)) }
func opBor(m *machine, d *clif.InstData)  { m.set(d, m.a(d)|m.b(d)) }
func opBxor(m *machine, d *clif.InstData) { m.set(d, m.a(d)^m.b(d)) }
func opIshl(m *machine, d *clif.InstData) { m.set(d, m.a(d)<<m.amount(d)) }
func opUshr(m *machine, d *clif.InstData) { m.set(d, m.a(d)>>m.amount(d)) }
func opSshr(m *machine, d *clif.InstData) { m.set(d, uint64(signed(d, m.a(d))>>m.amount(d))) }

func opUmulhi(m *machine, d *clif.InstData) {
	hi, _ := bits.Mul64(m.a(d), m.b(d))
	m.set(d, hi)
}

func opSmulhi(m *machine, d *clif.InstData) {
	x, y := m.a(d), m.b(d)
	hi, _ := bits.Mul64(x, y)
	// A number with the sign bit set is 2^64 less as a signed number than as an unsigned one.
	m.set(d, hi-uint64(int64(x)>>63)&y-uint64(int64(y)>>63)&x)
}

// divisor returns the second operand of a division, or a trap.
func (m *machine) divisor(d *clif.InstData) (y uint64, ok bool) {
	if y = m.b(d); y == 0 {
		m.trap(abi.TrapIntegerDivideByZero)
	}
	return y, y != 0
}

func opUdiv(m *machine, d *clif.InstData) {
	if y, ok := m.divisor(d); ok {
		m.set(d, m.a(d)/y)
	}
}

func opUrem(m *machine, d *clif.InstData) {
	if y, ok := m.divisor(d); ok {
		m.set(d, m.a(d)%y)
	}
}

func opSdiv(m *machine, d *clif.InstData) {
	u, ok := m.divisor(d)
	if !ok {
		return
	}
	x, y := signed(d, m.a(d)), signed(d, u)
	smallest := int64(math.MinInt64)
	if d.Type == clif.I32 {
		smallest = math.MinInt32
	}
	if y == -1 && x == smallest {
		m.trap(abi.TrapIntegerOverflow)
		return
	}
	m.set(d, uint64(x/y))
}

func opSrem(m *machine, d *clif.InstData) {
	u, ok := m.divisor(d)
	if !ok {
		return
	}
	x, y := signed(d, m.a(d)), signed(d, u)
	if y == -1 {
		m.set(d, 0) // the division would overflow for the smallest number
		return
	}
	m.set(d, uint64(x%y))
}

func opRotl(m *machine, d *clif.InstData) { m.rotate(d, m.amount(d)) }
func opRotr(m *machine, d *clif.InstData) { m.rotate(d, -m.amount(d)) }

func (m *machine) rotate(d *clif.InstData, by int) {
	if d.Type == clif.I32 {
		m.set(d, uint64(bits.RotateLeft32(uint32(m.a(d)), by)))
		return
	}
	m.set(d, bits.RotateLeft64(m.a(d), by))
}

func opClz(m *machine, d *clif.InstData) {
	m.set(d, uint64(d.Type.Bits()-bits.Len64(m.a(d))))
}

func opCtz(m *machine, d *clif.InstData) {
	m.set(d, uint64(min(bits.TrailingZeros64(m.a(d)), d.Type.Bits())))
}

func opPopcnt(m *machine, d *clif.InstData) { m.set(d, uint64(bits.OnesCount64(m.a(d)))) }

func opIcmp(m *machine, d *clif.InstData) {
	m.setBool(d, arith.Icmp(d.IntCC(), signed(d, m.a(d)), signed(d, m.b(d))))
}

func opSext8(m *machine, d *clif.InstData)   { m.set(d, uint64(int8(m.a(d)))) }
func opSext16(m *machine, d *clif.InstData)  { m.set(d, uint64(int16(m.a(d)))) }
func opSext32(m *machine, d *clif.InstData)  { m.set(d, uint64(int32(m.a(d)))) }
func opUextend(m *machine, d *clif.InstData) { m.set64(d, m.a(d)) }
func opSextend(m *machine, d *clif.InstData) { m.set64(d, uint64(int32(m.a(d)))) }
func opIreduce(m *machine, d *clif.InstData) { m.set(d, m.a(d)) }

func opSelect(m *machine, d *clif.InstData) {
	v := d.Args[2]
	if m.a(d) != 0 {
		v = d.Args[1]
	}
	m.set64(d, m.regs[v])
	if d.Type == clif.V128 {
		m.highs[d.Result] = m.highs[v]
	}
}

func opRefIsNull(m *machine, d *clif.InstData) { m.setBool(d, m.a(d) == 0) }
