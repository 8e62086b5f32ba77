package asm

import (
	"encoding/binary"
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/regalloc"
)

// machine is a simulator of what makes constants and addresses, from the words. Register 31 is sp.
type machine struct {
	r    [32]uint64
	addr uint64 // of the last access
}

// field returns n bits from bit lo on.
func field(w uint32, lo, n int) uint64 { return uint64(w>>lo) & (1<<n - 1) }

// signed is likewise, sign-extended.
func signed(w uint32, lo, n int) int64 { return int64(field(w, lo, n)) << (64 - n) >> (64 - n) }

// decodeBits returns the value of a bitmask immediate, after the manual's DecodeBitMasks.
func decodeBits(w uint32) (uint64, bool) {
	n, immr, imms := field(w, 22, 1), uint(field(w, 16, 6)), uint(field(w, 10, 6))
	size := bits.Len64(n<<6|uint64(^imms&0x3f)) - 1
	if size < 1 {
		return 0, false
	}
	e := uint(1) << size
	s, r := imms&(e-1), immr&(e-1)
	if s == e-1 || immr != r {
		return 0, false
	}
	return bitmask(e, s+1, r), true
}

// zr returns register n, 31 being zero.
func (m *machine) zr(n uint64) uint64 {
	if n == 31 {
		return 0
	}
	return m.r[n]
}

// step executes w; false if it is not known.
func (m *machine) step(w uint32) bool {
	wide := w>>31 != 0
	rd, rn := field(w, 0, 5), field(w, 5, 5)
	hw := 16 * field(w, 21, 2)
	var x uint64
	switch {
	case w>>23&0x1ff == 0x0a5 || w>>23&0x1ff == 0x1a5: // movz
		x = field(w, 5, 16) << hw
	case w>>23&0x1ff == 0x025 || w>>23&0x1ff == 0x125: // movn
		x = ^(field(w, 5, 16) << hw)
	case w>>23&0x1ff == 0x0e5 || w>>23&0x1ff == 0x1e5: // movk
		x = m.r[rd]&^(0xffff<<hw) | field(w, 5, 16)<<hw
	case w>>23&0xff == 0x64: // orr
		imm, ok := decodeBits(w)
		if !ok {
			return false
		}
		x = m.zr(rn) | imm
	case w>>23&0xff == 0x22: // add
		x = m.r[rn] + field(w, 10, 12)<<(12*field(w, 22, 1))
	case w>>23&0xff == 0xa2: // sub
		x = m.r[rn] - field(w, 10, 12)<<(12*field(w, 22, 1))
	case w>>21 == 0x8b200000>>21: // add, extended
		y := m.zr(field(w, 16, 5))
		switch Extend(field(w, 13, 3)) {
		case UXTW:
			y = uint64(uint32(y))
		case SXTW:
			y = uint64(int32(y))
		}
		x = m.r[rn] + y<<field(w, 10, 3)
	case w>>27&7 == 7: // load or store
		return m.access(w)
	case w>>27&7 == 5: // pair
		unit := uint64(4) << (w >> 31)
		if w>>26&1 != 0 {
			unit = 4 << (w >> 30)
		}
		m.addr = m.r[rn] + uint64(signed(w, 15, 7))*unit
		return w>>23&3 == 2
	default:
		return false
	}
	if !wide {
		x = uint64(uint32(x))
	}
	m.r[rd] = x
	return true
}

// access finds the address of a load or store of one register.
func (m *machine) access(w uint32) bool {
	log := w >> 30
	if w>>26&1 != 0 && w>>23&1 != 0 {
		log = 4
	}
	m.addr = m.r[field(w, 5, 5)]
	switch {
	case w>>24&1 != 0:
		m.addr += field(w, 10, 12) << log
	case w>>21&1 == 0 && w>>10&3 == 0:
		m.addr += uint64(signed(w, 12, 9))
	default:
		return false
	}
	return true
}

// run executes code, but not adrp.
func (m *machine) run(t *testing.T, code []byte) {
	t.Helper()
	for ; len(code) > 0; code = code[WordBytes:] {
		if w := binary.LittleEndian.Uint32(code); !m.step(w) {
			t.Fatalf("cannot execute %08x", w)
		}
	}
}

// TestBits checks all bitmask immediates, and that nothing next to one is taken for one.
func TestBits(t *testing.T) {
	for _, size := range []uint8{4, 8} {
		all := map[uint64]bool{}
		for e := uint(2); e <= 8*uint(size); e *= 2 {
			for ones := uint(1); ones < e; ones++ {
				for rot := range e {
					x := bitmask(e, ones, rot)
					if size == 4 {
						x &= math.MaxUint32
					}
					all[x] = true
				}
			}
		}
		if want := map[uint8]int{4: 1302, 8: 5334}[size]; len(all) != want {
			t.Fatalf("%d bitmasks of size %d, not %d", len(all), size, want)
		}
		check := func(x uint64) {
			f, ok := bitsField(x, size)
			if ok != all[x] || ok != FitsBits(size, int64(x)) {
				t.Fatalf("%#x of size %d: %v", x, size, ok)
			}
			if !ok {
				return
			}
			y, valid := decodeBits(f)
			if size == 4 {
				y &= math.MaxUint32
				valid = valid && f>>22 == 0
			}
			if !valid || x != y {
				t.Fatalf("%#x of size %d: field %#x, decoded %#x", x, size, f, y)
			}
		}
		for x := range all {
			check(x)
			for i := range 8 * int(size) {
				check(x ^ 1<<i)
			}
		}
		check(0)
		check(1<<(8*int(size)-1)<<1 - 1)
		for x := range uint64(1 << 16) {
			check(x)
			check(x * 0x10001)
			if size == 8 {
				check(x * 0x0001_0001_0001_0001)
				check(x << 48)
			}
		}
	}
	if !FitsBits(4, -2) || !FitsBits(4, 0xfffffffe) || FitsBits(4, -1) {
		t.Error("of size 4, the upper half counts")
	}
}

// TestFloats checks all immediates of floats, and that no others are taken.
func TestFloats(t *testing.T) {
	for _, size := range []uint8{4, 8} {
		all := map[uint64]uint32{}
		for imm := range uint32(256) {
			// VFPExpandImm.
			x := math.Ldexp(float64(16+imm&15)/16, int(imm>>4&7^4)-3)
			if imm>>7 != 0 {
				x = -x
			}
			if size == 4 {
				all[uint64(math.Float32bits(float32(x)))] = imm
			} else {
				all[math.Float64bits(x)] = imm
			}
		}
		if len(all) != 256 {
			t.Fatalf("%d floats of size %d", len(all), size)
		}
		check := func(b uint64) {
			imm, want := all[b]
			f, ok := floatField(size, b)
			if ok != want || ok && f != imm<<13 || ok != FitsFloat(size, b) {
				t.Fatalf("%#x of size %d: %#x, %v", b, size, f, ok)
			}
		}
		for b := range all {
			check(b)
			for i := range 64 {
				check(b ^ 1<<i)
			}
		}
		check(0)
		check(1 << (8*size - 1))
		for x := range uint64(1 << 16) {
			check(x << (8*size - 16))
		}
	}
}

// constSamples returns constants: corners, bitmasks with halves replaced, and any.
func constSamples(r *rand.Rand) (out []uint64) {
	halves := []uint64{0, 0xffff, 1, 0x8000, 0x7fff, 0xfffe, 0xff00, 0x00ff, 0x5555, 0x1234}
	for i := range len(halves) * len(halves) * len(halves) * len(halves) {
		x := uint64(0)
		for k := i; len(out) == i; k /= len(halves) {
			x = x<<16 | halves[k%len(halves)]
			if k < len(halves) {
				out = append(out, x)
			}
		}
		out[i] = bits.RotateLeft64(x, i%4*16)
	}
	for _, m := range bitSamples(8) {
		x := uint64(m)
		for k := range 4 {
			out = append(out, x, x&math.MaxUint32, x&^(0xffff<<(16*k))|0x1234<<(16*k))
		}
	}
	for range 20000 {
		out = append(out, r.Uint64()>>r.IntN(64), r.Uint64()|math.MaxUint64<<r.IntN(64))
	}
	return out
}

// TestConstSteps executes the words for many constants.
func TestConstSteps(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	d := []regalloc.Allocation{regalloc.InReg(X5)}
	for _, x := range constSamples(r) {
		for _, size := range []uint8{4, 8} {
			inst := backend.Inst{Op: MovImm, Size: size, Imm: int64(x)}
			code, _ := Append(nil, &inst, d, nil)
			m := machine{}
			m.r[5] = r.Uint64()
			m.run(t, code)
			want := x
			if size == 4 {
				want = uint64(uint32(x))
			}
			if m.r[5] != want {
				t.Fatalf("%#x of size %d: %#x by %s", x, size, m.r[5], PrintAsm(nil, &inst, d, nil))
			}
			if size == 4 && len(code) > 2*WordBytes || uint32(len(code)) != Bound(&inst, d, nil) {
				t.Fatalf("%#x of size %d: %d bytes, bound %d", x, size, len(code), Bound(&inst, d, nil))
			}
		}
	}
}

// TestConstShortest: no constant that is made by some sequence takes more steps.
func TestConstShortest(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	masks := bitSamples(8)
	for range 200000 {
		half := r.Uint64() >> 48
		var x uint64
		switch r.IntN(6) {
		case 0:
			x = half << (16 * r.IntN(4))
		case 1:
			x = ^(half << (16 * r.IntN(4)))
		case 2:
			x = uint64(uint32(^(half << (16 * r.IntN(2)))))
		case 3:
			x = uint64(masks[r.IntN(len(masks))])
		case 4:
			e := uint(2) << r.IntN(6)
			x = bitmask(e, 1+uint(r.IntN(int(e-1))), uint(r.IntN(int(e))))
		case 5:
			e := uint(2) << r.IntN(5)
			x = bitmask(e, 1+uint(r.IntN(int(e-1))), uint(r.IntN(int(e)))) & math.MaxUint32
		}
		n := 1 + r.IntN(MaxConst)
		for range n - 1 {
			x = withHalf(x, r.IntN(4), r.Uint64()>>48)
		}
		steps, got := ConstSteps(x)
		if got < 1 || got > n {
			t.Fatalf("%#x: %d steps, %v, not %d", x, got, steps[:got], n)
		}
	}
}

// withHalf returns x with half k replaced by v.
func withHalf(x uint64, k int, v uint64) uint64 { return x&^(0xffff<<(16*k)) | v<<(16*k) }

// TestAddresses executes the words for addresses in the frame, and of Lea.
func TestAddresses(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	ops := []struct {
		op   backend.Op
		size uint8
	}{{Ldr, 8}, {Ldr, 4}, {Ldrb, 4}, {Str, 8}, {Fldr, 16}, {Fstr, 4}, {Fldr, 8}, {Lea, 8}, {Ldp, 8}, {Fstp, 16}}
	for range 20000 {
		size := int32(r.Uint32()>>2>>r.IntN(28)) &^ 15
		fr := backend.Frame{Size: int(size), Slots: -8 * int32(r.IntN(int(size/8)+1)), Args: 16}
		fr.Locals = fr.Slots - 8
		o := ops[r.IntN(len(ops))]
		inst := backend.Inst{Op: o.op, Size: o.size, Mode: backend.ModeLocal, Disp: int32(r.IntN(40)) * 8}
		const fp = 0x7f12_3456_7890
		want := uint64(fp + int64(fr.Locals) + int64(inst.Disp))
		if r.IntN(2) == 0 {
			inst.Mode, inst.Disp = backend.ModeOutArg, int32(r.Uint32()>>3>>r.IntN(28))&^7
			want = uint64(fp - int64(size) + int64(inst.Disp))
		}
		if o.op == Lea && r.IntN(2) == 0 {
			inst.Mode, inst.Disp = backend.ModeBase, int32(r.Uint32())>>r.IntN(32)
			want = uint64(0x1000_0000_0000 + int64(inst.Disp))
		}
		allocs := []regalloc.Allocation{regalloc.InReg(X0), regalloc.InReg(X0), regalloc.InReg(X1)}
		code, patch := Append(nil, &inst, allocs, &fr)
		if patch.Kind != PatchNone || int(Bound(&inst, allocs, &fr)) != len(code) || len(code) > maxBytes(RowOf(o.op)) {
			t.Fatalf("%+v: % x, patch %v, bound %d", inst, code, patch, Bound(&inst, allocs, &fr))
		}
		m := machine{}
		m.r[FP], m.r[SP], m.r[X0] = fp, fp-uint64(size), 0x1000_0000_0000
		m.run(t, code)
		got := m.addr
		if o.op == Lea {
			got = m.r[X0]
		}
		if got != want {
			t.Fatalf("%+v, %+v: %#x, not %#x, by %s", inst, fr, got, want, PrintAsm(nil, &inst, allocs, &fr))
		}
	}
}

// TestMoveSlots executes moves from and to the frame.
func TestMoveSlots(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for range 20000 {
		size := int32(r.Uint32()>>2>>r.IntN(28)) &^ 15
		fr := backend.Frame{Size: int(size), Slots: -8 * int32(r.IntN(int(size/8)+1)), Args: 16}
		mem := regalloc.InSlot(r.IntN(100))
		if r.IntN(4) == 0 {
			mem = regalloc.InArg(r.IntN(1000))
		}
		reg, bytes := regalloc.InReg(X16), uint8(8)
		if r.IntN(2) == 0 {
			reg, bytes = regalloc.InReg(V31), 8<<r.IntN(2)
		}
		from, to := mem, reg
		if r.IntN(2) == 0 {
			from, to = to, from
		}
		code := AppendMove(nil, from, to, bytes, &fr)
		if int(MoveBound(from, to, bytes, &fr)) != len(code) || len(code) > MaxLen {
			t.Fatalf("%v to %v: % x, bound %d", from, to, code, MoveBound(from, to, bytes, &fr))
		}
		m := machine{}
		const fp = 0x7f12_3456_7890
		m.r[FP], m.r[SP], m.r[X16] = fp, fp-uint64(size), 99
		m.run(t, code)
		if want := uint64(fp + int64(fr.Offset(mem))); m.addr != want || m.r[X16] != 99 {
			t.Fatalf("%v to %v in %+v: %#x, not %#x", from, to, fr, m.addr, want)
		}
	}
}
