package asm

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/regalloc"
)

// sample is one instruction with its allocations.
type sample struct {
	inst   backend.Inst
	allocs []regalloc.Allocation
}

func (s *sample) text() string { return string(PrintAsm(nil, &s.inst, s.allocs, &testFrame)) }

func (s *sample) String() string {
	return fmt.Sprintf("%s %+v %v", RowOf(s.inst.Op).Name, s.inst, s.allocs)
}

var testFrame = backend.Frame{Slots: -5000, Args: 16, Locals: -6000, Size: 7008}

// sampleRegs is cycled through: numbers with each bit set and clear, and 31.
var sampleRegs = []int{0, 1, 2, 30, 4, 8, 16, 29, 15, 31, 7, 19, 28, 10, 21, 3, 18}

// sampler makes samples, each with the next registers in turn.
type sampler struct {
	regs int
	out  []sample
}

func (g *sampler) reg(c regalloc.Class) regalloc.PReg {
	g.regs++
	n := sampleRegs[g.regs%len(sampleRegs)]
	if c == regalloc.Float {
		return regalloc.FloatReg(n)
	}
	return regalloc.IntReg(n)
}

// allocate gives inst's own operands registers.
func (g *sampler) allocate(inst *backend.Inst) (allocs []regalloc.Allocation) {
	bare := *inst
	bare.Tail = backend.TailNone
	for k := range Shapes().NumOperands(&bare) {
		role := Shapes().Role(&bare, k)
		if role.Constraint == regalloc.Reuse {
			allocs = append(allocs, allocs[role.Arg])
			continue
		}
		r := regalloc.InReg(g.reg(role.Class))
		for unpredictable(&bare, k, r, allocs) {
			r = regalloc.InReg(g.reg(role.Class))
		}
		allocs = append(allocs, r)
	}
	return allocs
}

// unpredictable reports whether r as operand k would make an instruction that assemblers refuse: a register
// loaded or stored with write-back that is the base, or a pair loaded to one register.
func unpredictable(inst *backend.Inst, k int, r regalloc.Allocation, before []regalloc.Allocation) bool {
	row := RowOf(inst.Op)
	f := &forms[row.Form]
	switch {
	case k == 0 || !f.Addr:
		return false
	case f.Roles[0].InPlace && before[0] == r:
		return true
	case k == numAddr(inst.Mode)+1 && f.Roles[1].Access == regalloc.Def && before[k-1] == r:
		return true
	}
	return false
}

// add adds inst with n choices of registers.
func (g *sampler) add(n int, inst backend.Inst) {
	for range n {
		g.out = append(g.out, sample{inst, g.allocate(&inst)})
	}
}

// bitSamples returns bitmask immediates of each element size, with edge runs and rotations.
func bitSamples(size uint8) (out []int64) {
	for e := uint(2); e <= 8*uint(size); e *= 2 {
		for _, ones := range []uint{1, 2, e / 2, e - 1} {
			for _, rot := range []uint{0, 1, e / 2, e - 1} {
				if ones < e {
					out = append(out, int64(bitmask(e, ones, rot)))
				}
			}
		}
	}
	return out
}

// bitmask returns a run of ones, rotated right by rot in elements of e bits.
func bitmask(e, ones, rot uint) (x uint64) {
	elem := uint64(1)<<ones - 1
	elem = elem>>rot | elem<<(e-rot)
	if e < 64 {
		elem &= 1<<e - 1
	}
	for i := uint(0); i < 64; i += e {
		x |= elem << i
	}
	return x
}

// immsFor are interesting immediates of a kind; some may not fit.
func immsFor(kind ImmKind, size uint8) (out []int64) {
	w := 8 * int64(size)
	shifts := []Shift{LSL, LSR, ASR}
	switch kind {
	case IMove, IUdf:
		return []int64{0, 1, 255, 0x1234, 0x8000, 0xffff}
	case IAny:
		return []int64{0, 1, -1, 0xffff, 0x10000, 0x12345678, math.MinInt64, math.MaxInt64, 0x123456789abcdef0, 0x00ff00ff00ff1234,
			-0x10000, 0xffff1234, 0x5555555555555555}
	case IShiftRor:
		shifts = append(shifts, ROR)
		fallthrough
	case IShift:
		out = append(out, 0)
		for _, s := range shifts {
			for _, n := range []int64{1, 7, 31, w - 1} {
				out = append(out, Shifted(s, uint8(n)))
			}
		}
		return out
	case IExtend:
		for e := UXTB; e <= SXTX; e++ {
			for n := range uint8(5) {
				out = append(out, Extended(e, n))
			}
		}
		return out
	case IArith:
		return []int64{0, 1, 0x555, 0xaaa, 4095, 4096, 0x555000, 4095 << 12}
	case IBits:
		return bitSamples(size)
	case IFlags:
		return []int64{0, 1, 2, 4, 8, 15}
	case IValueFlags:
		return []int64{CondImm(0, 0), CondImm(31, 0), CondImm(0, 15), CondImm(16, 8), CondImm(5, 5)}
	case ILeft, IRight, IRotate:
		return []int64{0, 1, 7, 16, 31, w - 2, w - 1}
	case IFieldFrom, IFieldTo:
		// The assembler turns fields at bit 0 and to the end into others of the same encoding, or not.
		for _, lsb := range []int64{0, 1, 5, 16, w - 1} {
			for _, n := range []int64{1, 2, 8, w / 2, w - lsb} {
				if lsb+n <= w {
					out = append(out, Field(uint8(lsb), uint8(n)))
				}
			}
		}
		return out
	case ILaneLeft, ILaneRight:
		return []int64{0, 1, 2, 7, 8, 15, 16, 31, 32, 63, 64}
	case IExtract, ILane, ILaneOut, IByLane, ILaneAccess:
		return []int64{0, 1, 2, 3, 4, 7, 8, 15}
	case ITwoLanes:
		return []int64{TwoLanes(0, 0), TwoLanes(0, 1), TwoLanes(1, 0), TwoLanes(3, 2), TwoLanes(7, 4), TwoLanes(15, 8)}
	case IMovi, IMvni:
		return []int64{0, 1, 0x55, 0xaa, 0xff, 0x9900, 0xff00, 0x810000, 0x7e000000, 0xa5ff, 0x18ffff, 0xffff, 0xffffff,
			0xff00ff, -1, -0x100, 0xff0000ff, 0x00ff00ffff00ff00}
	case IFloatLanes:
		return append(immsFor(IFloat, 4), immsFor(IFloat, 8)...)
	case IFloat:
		for m := range 16 {
			for e := -3; e <= 4; e++ {
				x := math.Ldexp(float64(16+m)/16, e)
				if m%2 == 1 {
					x = -x
				}
				if size == 4 {
					out = append(out, int64(math.Float32bits(float32(x))))
				} else {
					out = append(out, int64(math.Float64bits(x)))
				}
			}
		}
		return out
	case IBti:
		return []int64{BtiC, BtiJ, BtiJC}
	case IBranch14:
		return []int64{0, 1, 31, w/2 + 1, w - 1}
	}
	return []int64{0}
}

// dispsFor returns the interesting distances of a kind of branch.
func dispsFor(kind ImmKind) []int32 {
	bits := map[ImmKind]int{IBranch26: 27, IBranch19: 20, IBranch14: 15, IAdr: 20}[kind]
	if bits == 0 {
		return []int32{0}
	}
	d := []int32{0, 4, -4, 0x1234, 1<<bits - 4, -1 << bits}
	if kind == IAdr {
		d = append(d, 1, 2, 3, -1, -5, 1<<bits-1)
	}
	return d
}

// addresses adds inst with addresses of all modes that its row has.
func (g *sampler) addresses(inst backend.Inst) {
	row := RowOf(inst.Op)
	width := int32(row.width(inst.Size))
	disps := []int32{0, 1, -1, 255, -256, 256, -257, width, -width, 63 * width, 64 * width, -64 * width, -65 * width, 4095 * width,
		4096 * width, 4094 * width, 0x1230, 1 << 20}
	inst.Mode = backend.ModeBase
	for _, inst.Disp = range disps {
		if FitsDisp(inst.Op, inst.Size, inst.Disp) {
			g.add(2, inst)
		}
	}
	inst.Disp = 0
	inst.Mode = backend.ModeBaseIndex
	for _, e := range []Extend{0, UXTW, SXTW, SXTX} {
		for inst.Scale = range uint8(5) {
			if inst.Imm = int64(e); row.fitsAddress(&inst) {
				g.add(2, inst)
			}
		}
	}
	inst.Scale, inst.Imm = 0, 0
	for _, inst.Mode = range []backend.Mode{backend.ModeConst, backend.ModeSym, backend.ModeLocal, backend.ModeOutArg} {
		for _, inst.Disp = range []int32{0, 16, -16, 1<<20 - 16, -1 << 20, 6000, 40000, 0x123450, 1 << 24, 1<<28 + 0x12340, 0x1234568} {
			if row.fitsAddress(&inst) && (inst.Mode == backend.ModeConst || inst.Disp >= 0) {
				g.add(1, inst)
			}
		}
	}
}

// samplesOf returns the samples of one row.
func (g *sampler) samplesOf(op backend.Op) []sample {
	g.out = nil
	row := RowOf(op)
	for _, size := range sizesOf(row) {
		inst := backend.Inst{Op: op, Size: size}
		if row.Addr == AddrBase {
			g.lanesInMemory(inst)
			continue
		}
		if row.Addr != AddrNone {
			g.addresses(inst)
			continue
		}
		if row.Flags&HasCond != 0 {
			for inst.Cond = range uint8(NumConds) {
				g.add(1, inst)
			}
			inst.Cond = uint8(LE)
		}
		for _, inst.Imm = range immsFor(row.Imm, size) {
			for _, inst.Disp = range dispsFor(row.Imm) {
				for _, inst.Scale = range scalesOf(row, size) {
					if _, ok := immKinds[row.Imm].field(immediateOf(&inst)); ok {
						g.add(1, inst)
					}
				}
			}
		}
		if row.Imm == INone {
			for _, inst.Scale = range scalesOf(row, size) {
				g.add(9, inst)
			}
		}
	}
	return g.out
}

// lanesInMemory adds inst with each lane at an address in a register.
func (g *sampler) lanesInMemory(inst backend.Inst) {
	row := RowOf(inst.Op)
	inst.Mode = backend.ModeBase
	for _, inst.Scale = range scalesOf(row, inst.Size) {
		for _, inst.Imm = range immsFor(row.Imm, inst.Size) {
			if check(&inst) == nil {
				g.add(2, inst)
			}
		}
	}
}

// scalesOf returns the values of Inst.Scale for a row without an address, or with lanes.
func scalesOf(row *Row, size uint8) (scales []uint8) {
	for n := range uint8(4) {
		if row.Lanes.Set != 0 && row.fitsLanes(size, n) || row.Lanes.Set == 0 && (n == 0 || row.Imm == IMove) {
			scales = append(scales, n)
		}
	}
	return scales
}

func sizesOf(row *Row) (sizes []uint8) {
	if row.Sizes == noSize {
		return []uint8{0}
	}
	for n := uint8(1); n <= 16; n *= 2 {
		if row.Sizes.Allow(n) {
			sizes = append(sizes, n)
		}
	}
	return sizes
}

// goldenSamples returns the samples of all rows without repetitions.
func goldenSamples() []sample {
	var g sampler
	var all []sample
	for op := Invalid + 1; op < NumOps; op++ {
		seen := map[string]bool{}
		for _, s := range g.samplesOf(op) {
			if t := s.text(); !seen[t] {
				seen[t] = true
				all = append(all, s)
			}
		}
	}
	return all
}

// randomSample returns a random instruction that Verify accepts, with allocations
// that an allocator could choose.
func randomSample(r *rand.Rand) sample {
	for {
		op := Invalid + 1 + backend.Op(r.IntN(int(NumOps-1)))
		row := RowOf(op)
		sizes := sizesOf(row)
		inst := backend.Inst{Op: op, Size: sizes[r.IntN(len(sizes))], Cond: uint8(r.IntN(int(NumConds)))}
		imms := immsFor(row.Imm, inst.Size)
		inst.Imm = imms[r.IntN(len(imms))]
		if row.Imm != INone && r.IntN(2) == 0 {
			inst.Imm = int64(r.Uint64() >> r.IntN(64))
		}
		switch {
		case row.Lanes.Set != 0:
			scales := scalesOf(row, inst.Size)
			inst.Scale = scales[r.IntN(len(scales))]
		case row.Imm == IMove || row.Addr != AddrNone:
			inst.Scale = uint8(r.IntN(5))
		}
		if row.Imm >= IBranch26 || row.Addr != AddrNone {
			inst.Disp = int32(r.Uint32()) >> r.IntN(32) &^ int32(r.IntN(2)*15)
			if row.Imm == IPage {
				inst.Disp = max(inst.Disp, 0)
			}
		}
		if row.Addr != AddrNone {
			modes := []backend.Mode{backend.ModeBase, backend.ModeBase, backend.ModeBaseIndex, backend.ModeConst, backend.ModeSym,
				backend.ModeLocal, backend.ModeOutArg}
			inst.Mode = modes[r.IntN(len(modes))]
			switch inst.Mode {
			case backend.ModeBaseIndex:
				inst.Disp, inst.Imm = 0, []int64{0, int64(UXTW), int64(SXTW), int64(SXTX), 1}[r.IntN(5)]
			case backend.ModeSym:
				inst.Disp = max(inst.Disp, 0)
			case backend.ModeLocal, backend.ModeOutArg:
				inst.Disp = inst.Disp % (1 << 29)
			}
		}
		if check(&inst) == nil {
			g := sampler{regs: r.IntN(1000)}
			return sample{inst, g.allocate(&inst)}
		}
	}
}
