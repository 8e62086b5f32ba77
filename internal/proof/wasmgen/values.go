package wasmgen

import "math"

// corners32 and corners64 are numbers where operators change their behaviour.
var corners32 = [...]uint64{
	0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 33, 63, 64, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFFF, 0x10000,
	0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFF0000, 0xFFFFFF80, 0x55555555,
}

var corners64 = [...]uint64{
	0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x100000000, 0x1FFFFFFFF, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000,
	0xFFFFFFFF00000000, 0xFFFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFF80, 0xFFFFFFFF80000000, 0x5555555555555555,
}

var cornersFloat = [...]float64{
	0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 0.1, math.Inf(1), math.Inf(-1), math.NaN(),
	math.SmallestNonzeroFloat64, math.MaxFloat64, math.SmallestNonzeroFloat32, math.MaxFloat32, 1 << 23, 1 << 24,
	1 << 31, 1<<31 - 1, -1 << 31, -1<<31 - 1, 1 << 32, 1<<32 - 1, 1 << 52, 1 << 53, 1 << 62, 1 << 63, -1 << 63, 1 << 64, -1e30,
}

// bits returns a random value of type t, often a corner.
func (g *gen) bits(t byte) uint64 {
	switch t {
	case 'i':
		return uint64(uint32(g.integer()))
	case 'l':
		return g.integer()
	case 'f':
		if g.r.IntN(4) == 0 && g.cfg.RawNaNs {
			return uint64(g.r.Uint32())
		}
		return uint64(math.Float32bits(float32(g.float())))
	case 'd':
		return math.Float64bits(g.float())
	}
	return 0
}

func (g *gen) integer() uint64 {
	switch g.r.IntN(6) {
	case 0, 1:
		return corners32[g.r.IntN(len(corners32))]
	case 2:
		return corners64[g.r.IntN(len(corners64))]
	case 3:
		return uint64(g.r.IntN(200) - 100)
	case 4:
		return 1<<g.r.IntN(64) - uint64(g.r.IntN(2))
	}
	return g.r.Uint64()
}

func (g *gen) float() float64 {
	switch g.r.IntN(4) {
	case 0:
		return float64(int64(g.integer()))
	case 1:
		return g.r.NormFloat64() * 100
	}
	return cornersFloat[g.r.IntN(len(cornersFloat))]
}
