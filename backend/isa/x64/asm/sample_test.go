package asm

import (
	"slices"

	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/regalloc"
)

// sample is one instruction with its allocations.
type sample struct {
	inst   backend.Inst
	allocs []regalloc.Allocation
}

// text is what an assembler makes the same bytes of: base and index are exchanged as Append does it.
func (s *sample) text() string {
	allocs := slices.Clone(s.allocs)
	if k := forms[rows[s.inst.Op].Form].RM; s.inst.Mode == backend.ModeBaseIndex && s.inst.Disp == 0 &&
		exchanges(allocs[k].Reg().Enc()&15, allocs[k+1].Reg().Enc()&15, s.inst.Scale) {
		allocs[k], allocs[k+1] = allocs[k+1], allocs[k]
	}
	return string(PrintAsm(nil, &s.inst, allocs, &testFrame))
}

// testFrame has slots that one byte reaches from the stack pointer (0 to 15, the first without it), none (16 to 33), and one byte from the frame
// pointer.
var testFrame = backend.Frame{Slots: -400, Args: 16, Locals: -72, Size: 400}

// sampleInts is cycled through: rax, the registers that need REX as bytes, and those
// whose low bits are special in ModRM and SIB.
var sampleInts = []regalloc.PReg{RAX, RCX, RSI, R8, RBP, RDI, R12, R13, R15, RBX, RDX, R9, RSP}

var sampleFloats = []regalloc.PReg{XMM0, XMM1, XMM7, XMM8, XMM15, XMM4, XMM12, XMM5, XMM13}

// sampleAddr is an address.
type sampleAddr struct {
	mode        backend.Mode
	base, index regalloc.PReg
	scale       uint8
	disp        int32
}

var sampleAddrs = []sampleAddr{
	{backend.ModeBase, RAX, 0, 0, 0}, {backend.ModeBase, RSP, 0, 0, 0}, {backend.ModeBase, RBP, 0, 0, 0},
	{backend.ModeBase, R12, 0, 0, 0}, {backend.ModeBase, R13, 0, 0, 0}, {backend.ModeBase, R8, 0, 0, 0},
	{backend.ModeBase, RCX, 0, 0, 1}, {backend.ModeBase, RSP, 0, 0, 127}, {backend.ModeBase, RBP, 0, 0, -128},
	{backend.ModeBase, RDI, 0, 0, 128}, {backend.ModeBase, R12, 0, 0, -129}, {backend.ModeBase, R13, 0, 0, 8},
	{backend.ModeBase, R15, 0, 0, math.MaxInt32}, {backend.ModeBase, RAX, 0, 0, math.MinInt32},
	{backend.ModeBaseIndex, RAX, RCX, 0, 0}, {backend.ModeBaseIndex, RAX, RCX, 3, 8},
	{backend.ModeBaseIndex, RSP, RBP, 1, 0}, {backend.ModeBaseIndex, RBP, RAX, 2, 0},
	{backend.ModeBaseIndex, R13, R12, 3, 0}, {backend.ModeBaseIndex, R12, R13, 0, 0},
	{backend.ModeBaseIndex, RDX, R9, 1, -128}, {backend.ModeBaseIndex, R9, RDX, 2, 128},
	{backend.ModeBaseIndex, R15, R15, 0, 65536}, {backend.ModeBaseIndex, R13, RBP, 0, 0},
	{backend.ModeIndex, 0, RCX, 3, 0}, {backend.ModeIndex, 0, R12, 2, 100}, {backend.ModeIndex, 0, RBP, 1, -4},
	{backend.ModeIndex, 0, R13, 0, 0}, {backend.ModeIndex, 0, RSI, 0, 4},
	{backend.ModeSym, 0, 0, 0, 0}, {backend.ModeSym, 0, 0, 0, 16}, {backend.ModeConst, 0, 0, 0, -8},
	{backend.ModeOutArg, 0, 0, 0, 0}, {backend.ModeOutArg, 0, 0, 0, 24}, {backend.ModeOutArg, 0, 0, 0, 1000},
	{backend.ModeLocal, 0, 0, 0, 0}, {backend.ModeLocal, 0, 0, 0, -100},
}

// fullAddrs are the rows that are tried with all of sampleAddrs; one per form of
// encoding is enough.
var fullAddrs = map[backend.Op]bool{Mov: true, MovStore: true, MovStoreImm: true, Lea: true, Add: true, CmpImm: true,
	ImulImm: true, Shlx: true, Rorx: true, Andn: true, Movzx8: true, Addf: true, Movf: true, MovfStore: true,
	Roundf: true, Vaddf: true, CallInd: true}

var sampleImms = []int64{0, 1, -1, 127, 128, -128, -129, 255, 1000, math.MaxInt32, math.MinInt32}

// immsFor returns the interesting immediates of a row.
func immsFor(row *Row, size uint8) []int64 {
	switch row.Imm {
	case IFull, IShort:
		return sampleImms
	case IByte:
		if strings.HasPrefix(strings.TrimPrefix(row.Name, "v"), "cmpp") {
			return []int64{0, 1, 2, 3, 4, 5, 6, 7} // predicates
		}
		return []int64{0, 1, 9, 63, 127, 128, 255}
	case IShift:
		return []int64{1, 2, 7, 31, 63}
	case IWord:
		return []int64{0, 8, 16, 32767, 32768, 65535}
	case IMov:
		return []int64{0, 1, -1, math.MaxInt32, math.MinInt32, math.MaxUint32, math.MaxUint32 + 1, math.MinInt32 - 1,
			math.MaxInt64, math.MinInt64, 0x123456789abcdef0}
	case INop:
		return []int64{1, 2, 3, 4, 5, 6, 7, 8, 9}
	}
	return []int64{0}
}

// sampler makes samples, each with the next registers and addresses in turn.
type sampler struct {
	ints, floats, addrs int
	out                 []sample
}

func (g *sampler) reg(c regalloc.Class) regalloc.PReg {
	if c == regalloc.Float {
		g.floats++
		return sampleFloats[g.floats%len(sampleFloats)]
	}
	g.ints++
	return sampleInts[g.ints%len(sampleInts)]
}

// allocate gives inst allocations, with rm if not nil in the place of the rm operand.
func (g *sampler) allocate(inst *backend.Inst, rm []regalloc.Allocation) []regalloc.Allocation {
	f := &forms[rows[inst.Op].Form]
	var allocs []regalloc.Allocation
	place := make([]int, len(f.Roles))
	for i, role := range f.Roles {
		place[i] = len(allocs)
		switch {
		case int8(i) == f.RM && rm != nil:
			allocs = append(allocs, rm...)
		case role.Constraint == regalloc.Fixed:
			allocs = append(allocs, regalloc.InReg(regalloc.PReg(role.Arg)))
		case role.Constraint == regalloc.Reuse:
			allocs = append(allocs, allocs[place[role.Arg]])
		default:
			allocs = append(allocs, regalloc.InReg(g.reg(role.Class)))
		}
	}
	return allocs
}

func (g *sampler) add(inst backend.Inst, rm []regalloc.Allocation) {
	g.out = append(g.out, sample{inst, g.allocate(&inst, rm)})
}

// withAddr adds inst with the address a.
func (g *sampler) withAddr(inst backend.Inst, a sampleAddr) {
	inst.Mode, inst.Scale, inst.Disp = a.mode, a.scale, a.disp
	rm := []regalloc.Allocation{}
	if a.mode == backend.ModeBase || a.mode == backend.ModeBaseIndex {
		rm = append(rm, regalloc.InReg(a.base))
	}
	if a.mode == backend.ModeIndex || a.mode == backend.ModeBaseIndex {
		rm = append(rm, regalloc.InReg(a.index))
	}
	g.add(inst, rm)
}

// variants adds inst with registers, with spill slots and with addresses.
func (g *sampler) variants(inst backend.Inst) {
	row := RowOf(inst.Op)
	f := &forms[row.Form]
	if f.Mem != MustMem {
		for range 3 {
			g.add(inst, nil)
		}
		if f.RM >= 0 { // each special register as rm
			for _, p := range []regalloc.PReg{RAX, RSI, R13} {
				if f.Roles[f.RM].Class == regalloc.Float {
					p += XMM0
				}
				g.add(inst, []regalloc.Allocation{regalloc.InReg(p)})
			}
		}
	}
	if f.Mem == NoMem {
		return
	}
	if f.Mem == MayMem && Shapes().Rows[inst.Op].Roles[f.RM].Constraint == regalloc.Any {
		g.add(inst, []regalloc.Allocation{regalloc.InSlot(1)})
		g.add(inst, []regalloc.Allocation{regalloc.InSlot(20)})
		g.add(inst, []regalloc.Allocation{regalloc.InArg(1)})
	}
	n := 5
	if fullAddrs[inst.Op] {
		n = len(sampleAddrs)
	}
	for range n {
		g.addrs++
		g.withAddr(inst, sampleAddrs[g.addrs%len(sampleAddrs)])
	}
}

// samplesOf returns the samples of one row.
func (g *sampler) samplesOf(op backend.Op) []sample {
	g.out = nil
	row := RowOf(op)
	sizes := []uint8{0}
	if row.Sizes != noSize {
		sizes = nil
		for n := uint8(1); n <= 16; n *= 2 {
			if row.Sizes.Allow(n) {
				sizes = append(sizes, n)
			}
		}
	}
	for _, size := range sizes {
		inst := backend.Inst{Op: op, Size: size}
		switch {
		case row.Imm == IRel8:
			for _, inst.Disp = range []int32{-128, -2, 0, 16, 127} {
				g.add(inst, nil)
			}
			inst.Disp = 9
		case row.Imm == IRel32:
			for _, inst.Disp = range []int32{-140, 200, 0x12345678, math.MinInt32 + 1000} {
				g.add(inst, nil)
			}
			inst.Disp = 1000
		}
		if row.Flags&HasCond != 0 {
			for inst.Cond = range uint8(FEq) {
				g.add(inst, nil)
			}
			inst.Cond = uint8(LE)
		}
		imms := immsFor(row, size)
		for _, imm := range imms[1:] {
			inst.Imm = imm
			if !row.FitsImm(size, imm) || forms[row.Form].Mem == MustMem {
				continue
			}
			g.add(inst, nil)
			if forms[row.Form].RM >= 0 && forms[row.Form].Roles[forms[row.Form].RM].Class == regalloc.Int {
				g.add(inst, []regalloc.Allocation{regalloc.InReg(RAX)})
			}
		}
		if forms[row.Form].Mem != NoMem {
			for _, inst.Imm = range imms[1:] {
				if row.FitsImm(size, inst.Imm) {
					g.addrs++
					g.withAddr(inst, sampleAddrs[g.addrs%len(sampleAddrs)])
				}
			}
		}
		inst.Imm = imms[len(imms)/2]
		if !row.FitsImm(size, inst.Imm) {
			panic("no such immediate")
		}
		g.variants(inst)
	}
	return g.out
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
	var g sampler
	op := Invalid + 1 + backend.Op(r.IntN(int(NumOps-1)))
	row := RowOf(op)
	inst := backend.Inst{Op: op, Cond: uint8(r.IntN(16))}
	for row.Sizes != noSize && !row.Sizes.Allow(inst.Size) {
		inst.Size = 1 << r.IntN(5)
	}
	imms := immsFor(row, inst.Size)
	for {
		inst.Imm = imms[r.IntN(len(imms))]
		if (row.Imm == IFull || row.Imm == IShort || row.Imm == IMov) && r.IntN(2) == 0 {
			inst.Imm = int64(r.Uint64()) >> r.IntN(64)
		}
		if row.FitsImm(inst.Size, inst.Imm) {
			break
		}
	}
	g.ints, g.floats = r.IntN(1000), r.IntN(1000)
	f := &forms[row.Form]
	switch {
	case row.Imm == IRel8:
		inst.Disp = int32(int8(r.Uint32()))
	case row.Imm == IRel32:
		inst.Disp = int32(r.Uint32())>>r.IntN(10) | 1<<20
	case f.Mem == MustMem || f.Mem == MayMem && r.IntN(2) == 0:
		a := sampleAddrs[r.IntN(len(sampleAddrs))]
		a.base, a.index, a.scale = allInts[r.IntN(16)], allInts[r.IntN(16)], uint8(r.IntN(4))
		if a.index == RSP {
			a.index = R11
		}
		a.disp = int32(r.Uint32()) >> r.IntN(32)
		if a.mode == backend.ModeLocal {
			a.disp /= 2
		}
		g.withAddr(inst, a)
		return g.out[0]
	case f.Mem == MayMem && Shapes().Rows[inst.Op].Roles[f.RM].Constraint == regalloc.Any && r.IntN(4) == 0:
		g.add(inst, []regalloc.Allocation{regalloc.InSlot(r.IntN(50))})
		return g.out[0]
	}
	g.add(inst, nil)
	return g.out[0]
}

// allInts is all integer registers.
var allInts = func() (rs [16]regalloc.PReg) {
	for i := range rs {
		rs[i] = RAX + regalloc.PReg(i)
	}
	return rs
}()

func (s *sample) String() string {
	return fmt.Sprintf("%s %+v %v", RowOf(s.inst.Op).Name, s.inst, s.allocs)
}
