package opt

import (
	"math/big"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/arith"
	"github.com/waot-project/waot/internal/abi"
)

// small computes functions of one block on many inputs at once, with integers
// of any two widths. It is written from the meaning of the opcodes and shares nothing
// with the optimizer or the interpreter; TestSmall compares it with the latter at
// full width.
//
// Operations on floats and vectors are those of the package arith, which files of testdata/clif compare with another model at full width; here
// their lanes are as narrow as the integers.
//
// A load gives what the memory holds whose cells contain the low bits of their address, which is index and offset without wrapping.
type small struct {
	narrow, wide uint // bits of i32 and i64
	shrink       uint // 32 >> shrink is narrow
	n            int  // inputs
	cols         [][]uint64
	highs        [][]uint64     // high halves of vectors
	trap         []abi.TrapCode // the first of each input
}

func newSmall(shrink uint) *small {
	return &small{narrow: 32 >> shrink, wide: 64 >> shrink, shrink: shrink}
}

func (s *small) bits(t clif.Type) uint { return uint(t.Bits()) >> s.shrink }

func mask(n uint) uint64 { return 1<<n - 1 }

// asSigned is the number that the low n bits of x are.
func asSigned(n uint, x uint64) int64 {
	x &= mask(n)
	if x>>(n-1) != 0 {
		x |= ^mask(n)
	}
	return int64(x)
}

// smallBinary computes with n bits; what is beyond them is cut off by the caller.
var smallBinary = [clif.NumOpcodes]func(n uint, x, y uint64) uint64{
	clif.OpIadd: func(_ uint, x, y uint64) uint64 { return x + y },
	clif.OpIsub: func(_ uint, x, y uint64) uint64 { return x - y },
	clif.OpImul: func(_ uint, x, y uint64) uint64 { return x * y },
	clif.OpBand: func(_ uint, x, y uint64) uint64 { return x & y },
	clif.OpBor:  func(_ uint, x, y uint64) uint64 { return x | y },
	clif.OpBxor: func(_ uint, x, y uint64) uint64 { return x ^ y },
	clif.OpIshl: func(n uint, x, y uint64) uint64 { return x << (y % uint64(n)) },
	clif.OpUshr: func(n uint, x, y uint64) uint64 { return x >> (y % uint64(n)) },
	clif.OpSshr: func(n uint, x, y uint64) uint64 { return uint64(asSigned(n, x) >> (y % uint64(n))) },
	clif.OpRotl: func(n uint, x, y uint64) uint64 {
		for range y % uint64(n) {
			x = (x<<1 | x>>(n-1)) & mask(n)
		}
		return x
	},
	clif.OpRotr: func(n uint, x, y uint64) uint64 {
		for range y % uint64(n) {
			x = x>>1 | x&1<<(n-1)
		}
		return x
	},
	clif.OpUmulhi: func(n uint, x, y uint64) uint64 {
		if n <= 32 {
			return x * y >> n
		}
		return highOf(new(big.Int).SetUint64(x), new(big.Int).SetUint64(y))
	},
	clif.OpSmulhi: func(n uint, x, y uint64) uint64 {
		if n <= 32 {
			return uint64(asSigned(n, x) * asSigned(n, y) >> n)
		}
		return highOf(big.NewInt(int64(x)), big.NewInt(int64(y)))
	},
}

func onFirst(f func(t clif.Type, x uint64) uint64) func(t clif.Type, x, _ uint64) uint64 {
	return func(t clif.Type, x, _ uint64) uint64 { return f(t, x) }
}

// smallFloat computes with floats of type t, or with a number of another type.
var smallFloat = [clif.NumOpcodes]func(t clif.Type, x, y uint64) uint64{
	clif.OpFadd: arith.Fadd, clif.OpFsub: arith.Fsub, clif.OpFmul: arith.Fmul, clif.OpFdiv: arith.Fdiv,
	clif.OpFmin: arith.Fmin, clif.OpFmax: arith.Fmax, clif.OpFcopysign: arith.Fcopysign,
	clif.OpFabs: onFirst(arith.Fabs), clif.OpFneg: onFirst(arith.Fneg), clif.OpFsqrt: onFirst(arith.Fsqrt), clif.OpFceil: onFirst(arith.Fceil),
	clif.OpFfloor: onFirst(arith.Ffloor), clif.OpFtrunc: onFirst(arith.Ftrunc), clif.OpFnearest: onFirst(arith.Fnearest),
	clif.OpFpromote: func(t clif.Type, x, _ uint64) uint64 { return arith.FloatBits(t, arith.Float(clif.F32, x)) },
	clif.OpFdemote:  func(t clif.Type, x, _ uint64) uint64 { return arith.FloatBits(t, arith.Float(clif.F64, x)) },
	clif.OpBitcast:  func(_ clif.Type, x, _ uint64) uint64 { return x },
}

// highOf is bits 64 to 127 of x*y.
func highOf(x, y *big.Int) uint64 {
	p := x.Mul(x, y)
	p.Rsh(p, 64) // rounds down
	return p.And(p, new(big.Int).SetUint64(^uint64(0))).Uint64()
}

// smallDivide also gives the trap, or 0.
func smallDivide(op clif.Opcode, n uint, x, y uint64) (uint64, abi.TrapCode) {
	a, b := asSigned(n, x), asSigned(n, y)
	switch {
	case y == 0:
		return 0, abi.TrapIntegerDivideByZero
	case op == clif.OpUdiv:
		return x / y, 0
	case op == clif.OpUrem:
		return x % y, 0
	case op == clif.OpSdiv && b == -1 && x == 1<<(n-1):
		return 0, abi.TrapIntegerOverflow
	case op == clif.OpSdiv && b == -1:
		return uint64(-a), 0
	case op == clif.OpSdiv:
		return uint64(a / b), 0
	case b == -1:
		return 0, 0
	}
	return uint64(a % b), 0
}

func (s *small) unary(d *clif.InstData, x uint64) uint64 {
	n := s.bits(d.Type)
	switch d.Op {
	case clif.OpClz:
		for k := range n {
			if x>>(n-1-k) != 0 {
				return uint64(k)
			}
		}
		return uint64(n)
	case clif.OpCtz:
		for k := range n {
			if x>>k&1 != 0 {
				return uint64(k)
			}
		}
		return uint64(n)
	case clif.OpPopcnt:
		c := uint64(0)
		for k := range n {
			c += x >> k & 1
		}
		return c
	case clif.OpSext8:
		return uint64(asSigned(8>>s.shrink, x))
	case clif.OpSext16:
		return uint64(asSigned(16>>s.shrink, x))
	case clif.OpSext32:
		return uint64(asSigned(32>>s.shrink, x))
	case clif.OpSextend:
		return uint64(asSigned(s.narrow, x))
	}
	return x // uextend, ireduce
}

func smallCompare(cc clif.IntCC, n uint, x, y uint64) uint64 {
	a, b := asSigned(n, x), asSigned(n, y)
	holds := false
	switch cc {
	case clif.Eq:
		holds = x == y
	case clif.Ne:
		holds = x != y
	case clif.Slt:
		holds = a < b
	case clif.Sge:
		holds = a >= b
	case clif.Sgt:
		holds = a > b
	case clif.Sle:
		holds = a <= b
	case clif.Ult:
		holds = x < y
	case clif.Uge:
		holds = x >= y
	case clif.Ugt:
		holds = x > y
	case clif.Ule:
		holds = x <= y
	}
	if holds {
		return 1
	}
	return 0
}

// load is what a load of the access gives at the address x.
func (s *small) load(d *clif.InstData, x uint64) uint64 {
	n := uint(8*d.Access().Bytes(d.Type)) >> s.shrink
	if d.Access().Signed() {
		return uint64(asSigned(n, x))
	}
	return x & mask(n)
}

// run computes f on the inputs, a column for each parameter. It returns a column for
// each result, which counts where the trap is 0.
func (s *small) run(f *clif.Func, in [][]uint64, n int) (out [][]uint64, traps []abi.TrapCode) {
	s.n = n
	for len(s.cols) < len(f.Values) {
		s.cols, s.highs = append(s.cols, nil), append(s.highs, nil)
	}
	if cap(s.trap) < n {
		s.trap = make([]abi.TrapCode, n)
	}
	s.trap = s.trap[:n]
	clear(s.trap)
	entry := f.Entry()
	for _, p := range f.Params(entry) {
		copy(s.column(p), in[0])
		if f.TypeOf(clif.Value(p)) == clif.V128 {
			in = in[1:]
			copy(s.highs[p], in[0])
		}
		in = in[1:]
	}
	for i := f.Blocks[entry].Start; i < f.Blocks[entry].End; i++ {
		switch d := &f.Insts[i]; d.Op {
		case clif.OpReturn:
			for _, v := range f.ListOperands(d) {
				v := f.Resolve(clif.Value(v))
				if out = append(out, s.cols[v][:n]); f.TypeOf(v) == clif.V128 {
					out = append(out, s.highs[v][:n])
				}
			}
			return out, s.trap
		case clif.OpTrap:
			for k := range s.trap {
				s.fail(k, d.Trap())
			}
			return nil, s.trap
		default:
			s.inst(f, d)
		}
	}
	panic("no end")
}

func (s *small) column(v uint32) []uint64 {
	if cap(s.cols[v]) < s.n {
		s.cols[v], s.highs[v] = make([]uint64, s.n), make([]uint64, s.n)
	}
	s.cols[v], s.highs[v] = s.cols[v][:s.n], s.highs[v][:s.n]
	return s.cols[v]
}

func (s *small) fail(k int, code abi.TrapCode) {
	if s.trap[k] == 0 {
		s.trap[k] = code
	}
}

// vector computes an instruction with a vector.
func (s *small) vector(f *clif.Func, d *clif.InstData) {
	for k := range s.n {
		var x [3]arith.V128
		for i, v := range d.Operands() {
			v := f.Resolve(clif.Value(v))
			x[i] = arith.V128{s.cols[v][k], s.highs[v][k]}
		}
		var r arith.V128
		switch d.Op {
		case clif.OpSelect:
			if r = x[2]; x[0][0] != 0 {
				r = x[1]
			}
		case clif.OpLoad:
			r = arith.Splat(clif.I16x8, uint8(s.shrink), x[0][0]+d.Imm)
		default:
			r = arith.Vector(d, uint8(s.shrink), x[0], x[1], x[2])
		}
		s.cols[d.Result][k], s.highs[d.Result][k] = r[0], r[1]
	}
}

func (s *small) inst(f *clif.Func, d *clif.InstData) {
	arg := func(v uint32) []uint64 { return s.cols[f.Resolve(clif.Value(v))][:s.n] }
	if d.Op == clif.OpNop {
		return
	}
	if d.Op == clif.OpTrapIf {
		for k, x := range arg(d.Args[0]) {
			if x != 0 {
				s.fail(k, d.Trap())
			}
		}
		return
	}
	n, out := s.bits(d.Type), s.column(uint32(d.Result))
	if arith.IsVector(d.Op) || d.Type == clif.V128 {
		s.vector(f, d)
		return
	}
	cut := mask(s.bits(f.TypeOf(d.Result)))
	switch d.Op {
	case clif.OpIconst, clif.OpFconst:
		for k := range out {
			out[k] = d.Imm
		}
	case clif.OpSelect:
		x, y, z := arg(d.Args[0]), arg(d.Args[1]), arg(d.Args[2])
		for k := range out {
			if out[k] = z[k]; x[k] != 0 {
				out[k] = y[k]
			}
		}
	case clif.OpIcmp:
		x, y := arg(d.Args[0]), arg(d.Args[1])
		for k := range out {
			out[k] = smallCompare(d.IntCC(), n, x[k], y[k])
		}
	case clif.OpFcmp:
		x, y := arg(d.Args[0]), arg(d.Args[1])
		for k := range out {
			out[k] = boolBits(arith.Fcmp(d.FloatCC(), arith.Float(d.Type, x[k]), arith.Float(d.Type, y[k])))
		}
	case clif.OpBound:
		x, y := arg(d.Args[0]), arg(d.Args[1])
		for k := range out {
			if out[k] = x[k]; x[k] >= y[k] {
				s.fail(k, d.Trap())
			}
		}
	case clif.OpUdiv, clif.OpSdiv, clif.OpUrem, clif.OpSrem:
		x, y := arg(d.Args[0]), arg(d.Args[1])
		for k := range out {
			r, code := smallDivide(d.Op, n, x[k], y[k])
			if out[k] = r & cut; code != 0 {
				s.fail(k, code)
			}
		}
	case clif.OpLoad:
		for k, x := range arg(d.Args[0]) {
			out[k] = s.load(d, x+d.Imm) & cut
		}
	default:
		if op := smallFloat[d.Op]; op != nil {
			x, y := arg(d.Args[0]), arg(d.Args[len(d.Operands())-1])
			for k := range out {
				out[k] = op(d.Type, x[k], y[k])
			}
			return
		}
		if op := smallBinary[d.Op]; op != nil {
			x, y := arg(d.Args[0]), arg(d.Args[1])
			for k := range out {
				out[k] = op(n, x[k], y[k]) & cut
			}
			return
		}
		for k, x := range arg(d.Args[0]) {
			out[k] = s.unary(d, x) & cut
		}
	}
}
