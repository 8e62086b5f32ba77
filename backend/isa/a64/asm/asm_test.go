package asm

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/regalloc"
)

// TestRows checks what the table must be like as a whole.
func TestRows(t *testing.T) {
	for op := Invalid + 1; op < NumOps; op++ {
		row := RowOf(op)
		f := &forms[row.Form]
		if row.Name == "" {
			t.Errorf("op %d has no row", op)
			continue
		}
		if f.Addr != (row.Addr != AddrNone) || row.Lit != 0 && row.Addr != AddrMem {
			t.Errorf("%s: form and address disagree", row.Name)
		}
		if hasImm := strings.ContainsAny(f.Text, "itl"); row.Imm != INone && row.Imm != IFirstLane && !hasImm || row.Imm == INone && strings.Contains(f.Text, "t") {
			t.Errorf("%s: immediate and text %q disagree", row.Name, f.Text)
		}
		if (row.Flags&HasCond != 0 && row.Flags&CondLow == 0) != strings.Contains(f.Text, "c") {
			t.Errorf("%s: condition and text %q disagree", row.Name, f.Text)
		}
		if row.Wide != 0 && row.Sizes&S8 == 0 || row.Quad != 0 && !row.Sizes.Allow(16) || row.Wide == 0 && row.Flags&Expands == 0 &&
			row.Sizes&S48 == S48 && row.Imm != IBranch14 {
			t.Errorf("%s: sizes %b with bits %#x, %#x", row.Name, row.Sizes, row.Wide, row.Quad)
		}
		placed := 0
		for i, role := range f.Roles {
			at := int8(i)
			if f.D == at || f.N == at || f.M == at || f.A == at {
				placed |= 1 << i
			} else if role.Constraint != regalloc.Reuse {
				t.Errorf("%s: role %d has no place", row.Name, i)
			}
			if role.Constraint == regalloc.Reuse && (f.Addr && row.Addr != AddrBase || f.Roles[role.Arg].Access != regalloc.Use || placed>>role.Arg&1 == 0) {
				t.Errorf("%s: role %d reuses role %d", row.Name, i, role.Arg)
			}
		}
		testFields(t, op, row, f)
	}
}

// testFields checks that no field of a row overlaps set bits of its word.
func testFields(t *testing.T, op backend.Op, row *Row, f *FormInfo) {
	for _, size := range sizesOf(row) {
		w := row.word(size)
		for _, p := range []struct {
			role int8
			at   int
		}{{f.D, 0}, {f.N, 5}, {f.M, 16}, {f.A, 10}} {
			if p.role >= 0 && w>>p.at&31 != 0 {
				t.Errorf("%s: word %#x has bits in the register at %d", row.Name, w, p.at)
			}
		}
		for _, s := range (&sampler{}).samplesOf(op) {
			if field, ok := immKinds[row.Imm].field(immediateOf(&s.inst)); s.inst.Size == size && (!ok || w&field != 0 && row.Imm != IBranch14) {
				t.Errorf("%s: word %#x has bits in the immediate %#x", row.Name, w, field)
			}
		}
	}
}

// TestRandom checks length and patch of random instructions, and what comes before in
// the buffer.
func TestRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 50000 {
		s := randomSample(r)
		row := RowOf(s.inst.Op)
		buf, patch := Append([]byte{1, 2, 3}, &s.inst, s.allocs, &testFrame)
		code := buf[3:]
		if n := int(Bound(&s.inst, s.allocs, &testFrame)); n != len(code) || n == 0 || n > maxBytes(row) || !bytes.Equal(buf[:3], []byte{1, 2, 3}) {
			t.Fatalf("%v: % x, bound %d, at most %d bytes expected", &s, buf, n, maxBytes(row))
		}
		want := immKinds[row.Imm].patch
		switch {
		case s.inst.Mode == backend.ModeSym:
			want = PatchSym
		case s.inst.Mode == backend.ModeConst && row.Addr == AddrLea:
			want = PatchConstAdr
		case s.inst.Mode == backend.ModeConst:
			want = PatchConst
		}
		if patch.Kind != want || patch.Off != 0 {
			t.Fatalf("%v: patch %+v", &s, patch)
		}
		disp := s.inst.Disp
		w := binary.LittleEndian.Uint32(code)
		got := int64(disp)
		switch want {
		case PatchBranch26:
			got = 4 * signed(w, 0, 26)
		case PatchBranch19, PatchConst:
			got = 4 * signed(w, 5, 19)
		case PatchBranch14:
			got = 4 * signed(w, 5, 14)
		case PatchAdr, PatchConstAdr:
			got = 4*signed(w, 5, 19) | int64(field(w, 29, 2))
		case PatchPage:
			got += int64(w & 0x60ffffe0)
		case PatchSym:
			got += int64(w&0x60ffffe0) + int64(field(binary.LittleEndian.Uint32(code[4:]), 10, 12))
			if patch.Add != (s.inst.Op == Lea) || !patch.Add && 1<<patch.Scale != row.MemBytes(s.inst.Size) {
				t.Fatalf("%v: patch %+v", &s, patch)
			}
		}
		if got != int64(disp) {
			t.Fatalf("%v: % x: the patch's field is %d", &s, code, got)
		}
	}
}

// virtuals gives each operand of inst a virtual register of the class it must have.
func virtuals(inst *backend.Inst) (vregs []regalloc.VReg, infos []regalloc.VRegInfo) {
	for k := range Shapes().NumOperands(inst) {
		infos = append(infos, regalloc.VRegInfo{Class: Shapes().Role(inst, k).Class, Bytes: 8})
		vregs = append(vregs, regalloc.VReg(k))
	}
	return vregs, infos
}

// TestOperandsVerify: what Operands makes is what Verify wants, and not with any one
// operand changed.
func TestOperandsVerify(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 20000 {
		s := randomSample(r)
		if tail := backend.Tail(r.IntN(5)); RowOf(s.inst.Op).allowsTail(tail) {
			s.inst.Tail = tail
		}
		vregs, infos := virtuals(&s.inst)
		ops := Shapes().Operands(nil, &s.inst, vregs...)
		if len(ops) != Shapes().NumOperands(&s.inst) || s.inst.Tail == backend.TailNone && len(ops) != len(s.allocs) {
			t.Fatalf("%v: %d operands", &s, len(ops))
		}
		err := Shapes().Verify(&s.inst, ops, infos)
		if inPlace := slices.ContainsFunc(forms[RowOf(s.inst.Op).Form].Roles, func(r Role) bool { return r.InPlace }); inPlace != (err != nil) {
			t.Fatalf("%v: %v", &s, err)
		} else if inPlace {
			continue
		}
		for i, o := range ops { // reused operands are what the encoding assumes
			if o.Constraint == regalloc.Reuse && (ops[o.Arg].Access != regalloc.Use || ops[o.Arg].Constraint != regalloc.Reg ||
				i < len(s.allocs) && s.allocs[o.Arg] != s.allocs[i]) {
				t.Fatalf("%v: %v reuses operand %d", &s, o, o.Arg)
			}
		}
		if len(ops) == 0 {
			continue
		}
		i := r.IntN(len(ops))
		old := ops[i]
		switch r.IntN(4) {
		case 0:
			ops = ops[:len(ops)-1]
		case 1:
			ops[i].Access = regalloc.Def
			if old.Access == regalloc.Def {
				ops[i].Access = regalloc.Use
			}
		case 2:
			if infos[i].Class ^= 1; s.inst.Tail == backend.TailSelect && i == len(ops)-1 {
				infos[i-1].Class ^= 1 // not a selection of floats
			}
		case 3:
			if ops[i].Arg, ops[i].Constraint = 99, regalloc.Any; old.Constraint == regalloc.Reuse {
				ops[i].Constraint = old.Constraint
			}
		}
		if err := Shapes().Verify(&s.inst, ops, infos); err == nil && len(infos) > 0 {
			t.Fatalf("%v: operand %d, %+v, changed: not noticed", &s, i, old)
		}
	}
}

// rejected reports whether Append refuses inst, on registers.
func rejected(inst *backend.Inst) (yes bool) {
	defer func() { yes = recover() != nil }()
	allocs := make([]regalloc.Allocation, 5)
	for i := range allocs {
		allocs[i] = regalloc.InReg(X1)
	}
	Append(nil, inst, allocs, &testFrame)
	return false
}

// TestEdges checks that the last that fits is taken and the next is refused, by Verify and by Append.
func TestEdges(t *testing.T) {
	type in = backend.Inst
	base, index := backend.ModeBase, backend.ModeBaseIndex
	for _, c := range []struct {
		good, bad in
	}{
		{in{Op: Add, Size: 4, Imm: Shifted(LSL, 31)}, in{Op: Add, Size: 4, Imm: Shifted(LSL, 32)}},
		{in{Op: Add, Size: 8, Imm: Shifted(ASR, 63)}, in{Op: Add, Size: 8, Imm: Shifted(ROR, 0)}},
		{in{Op: Eor, Size: 8, Imm: Shifted(ROR, 63)}, in{Op: Eor, Size: 8, Imm: Shifted(ROR, 63) + 1}},
		{in{Op: Eor, Size: 8}, in{Op: Eor, Size: 8, Imm: -1}},
		{in{Op: AddExt, Size: 8, Imm: Extended(SXTX, 4)}, in{Op: AddExt, Size: 8, Imm: Extended(SXTX, 5)}},
		{in{Op: AddExt, Size: 8, Imm: Extended(UXTB, 0)}, in{Op: AddExt, Size: 8, Imm: 64}},
		{in{Op: AddImm, Size: 8, Imm: 4095}, in{Op: AddImm, Size: 8, Imm: 4097}},
		{in{Op: AddImm, Size: 8, Imm: 4095 << 12}, in{Op: AddImm, Size: 8, Imm: 4096 << 12}},
		{in{Op: CmpImm, Size: 4}, in{Op: CmpImm, Size: 4, Imm: -1}},
		{in{Op: AndImm, Size: 8, Imm: 1}, in{Op: AndImm, Size: 8}},
		{in{Op: AndImm, Size: 4, Imm: 0xfffffffe}, in{Op: AndImm, Size: 4, Imm: 0xffffffff}},
		{in{Op: Movz, Size: 4, Scale: 1, Imm: 0xffff}, in{Op: Movz, Size: 4, Scale: 2, Imm: 0xffff}},
		{in{Op: Movk, Size: 8, Scale: 3}, in{Op: Movk, Size: 8, Scale: 4}},
		{in{Op: Movn, Size: 8, Imm: 0xffff}, in{Op: Movn, Size: 8, Imm: 0x10000}},
		{in{Op: Ccmp, Size: 8, Imm: 15}, in{Op: Ccmp, Size: 8, Imm: 16}},
		{in{Op: CcmpImm, Size: 8, Imm: CondImm(31, 15)}, in{Op: CcmpImm, Size: 8, Imm: CondImm(32, 0)}},
		{in{Op: Cset, Size: 8, Cond: uint8(LE)}, in{Op: Cset, Size: 8, Cond: uint8(AL)}},
		{in{Op: Bcond, Cond: uint8(LE)}, in{Op: Bcond, Cond: 16}},
		{in{Op: LslImm, Size: 4, Imm: 31}, in{Op: LslImm, Size: 4, Imm: 32}},
		{in{Op: LsrImm, Size: 8, Imm: 63}, in{Op: LsrImm, Size: 8, Imm: 64}},
		{in{Op: AsrImm, Size: 8}, in{Op: AsrImm, Size: 8, Imm: -1}},
		{in{Op: RorImm, Size: 4, Imm: 31}, in{Op: RorImm, Size: 4, Imm: 32}},
		{in{Op: Extr, Size: 8, Imm: 63}, in{Op: Extr, Size: 8, Imm: 64}},
		{in{Op: Ubfx, Size: 4, Imm: Field(31, 1)}, in{Op: Ubfx, Size: 4, Imm: Field(31, 2)}},
		{in{Op: Sbfiz, Size: 8, Imm: Field(0, 64)}, in{Op: Sbfiz, Size: 8, Imm: Field(0, 65)}},
		{in{Op: Bfi, Size: 8, Imm: Field(63, 1)}, in{Op: Bfi, Size: 8, Imm: Field(63, 0)}},
		{in{Op: Bfxil, Size: 4, Imm: Field(0, 32)}, in{Op: Bfxil, Size: 4, Imm: Field(1, 32)}},
		{in{Op: FmovImm, Size: 4, Imm: int64(math.Float32bits(31))}, in{Op: FmovImm, Size: 4, Imm: int64(math.Float32bits(32))}},
		{in{Op: FmovImm, Size: 8, Imm: int64(math.Float64bits(0.125))}, in{Op: FmovImm, Size: 8, Imm: int64(math.Float64bits(0.0625))}},
		{in{Op: FmovImm, Size: 8, Imm: int64(math.Float64bits(-1))}, in{Op: FmovImm, Size: 8}},
		{in{Op: Udf, Imm: 0xffff}, in{Op: Udf, Imm: 0x10000}},
		{in{Op: Bti, Imm: BtiC}, in{Op: Bti}},
		{in{Op: Bti, Imm: BtiJC}, in{Op: Bti, Imm: 4}},
		{in{Op: B, Disp: 1<<27 - 4}, in{Op: B, Disp: 1 << 27}},
		{in{Op: Bl, Disp: -1 << 27}, in{Op: Bl, Disp: -1<<27 - 4}},
		{in{Op: Bcond, Disp: 1<<20 - 4}, in{Op: Bcond, Disp: 1 << 20}},
		{in{Op: Cbz, Size: 4, Disp: -1 << 20}, in{Op: Cbz, Size: 4, Disp: -1<<20 - 4}},
		{in{Op: Tbz, Size: 4, Disp: 1<<15 - 4}, in{Op: Tbz, Size: 4, Disp: 1 << 15}},
		{in{Op: Tbnz, Size: 4, Imm: 31}, in{Op: Tbnz, Size: 4, Imm: 32}},
		{in{Op: B, Disp: 4}, in{Op: B, Disp: 2}},
		{in{Op: Adr, Disp: 1<<20 - 1}, in{Op: Adr, Disp: 1 << 20}},
		{in{Op: Adr, Disp: -1 << 20}, in{Op: Adr, Disp: -1<<20 - 1}},
		{in{Op: Ldr, Size: 8, Mode: base, Disp: 32760}, in{Op: Ldr, Size: 8, Mode: base, Disp: 32768}},
		{in{Op: Ldr, Size: 8, Mode: base, Disp: -256}, in{Op: Ldr, Size: 8, Mode: base, Disp: -257}},
		{in{Op: Ldr, Size: 4, Mode: base, Disp: 255}, in{Op: Ldr, Size: 4, Mode: base, Disp: 257}},
		{in{Op: Strb, Size: 4, Mode: base, Disp: 4095}, in{Op: Strb, Size: 4, Mode: base, Disp: 4096}},
		{in{Op: Ldrsh, Size: 8, Mode: base, Disp: 8190}, in{Op: Ldrsh, Size: 8, Mode: base, Disp: 8191}},
		{in{Op: Fldr, Size: 16, Mode: base, Disp: 65520}, in{Op: Fldr, Size: 16, Mode: base, Disp: 65536}},
		{in{Op: Ldp, Size: 8, Mode: base, Disp: 504}, in{Op: Ldp, Size: 8, Mode: base, Disp: 512}},
		{in{Op: Stp, Size: 8, Mode: base, Disp: -512}, in{Op: Stp, Size: 8, Mode: base, Disp: -520}},
		{in{Op: StpPre, Size: 8, Mode: base, Disp: -16}, in{Op: StpPre, Size: 8, Mode: base, Disp: -12}},
		{in{Op: Ldr, Size: 8, Mode: index, Scale: 3}, in{Op: Ldr, Size: 8, Mode: index, Scale: 2}},
		{in{Op: Ldrb, Size: 4, Mode: index}, in{Op: Ldrb, Size: 4, Mode: index, Scale: 1}},
		{in{Op: Fstr, Size: 16, Mode: index, Scale: 4}, in{Op: Fstr, Size: 16, Mode: index, Scale: 3}},
		{in{Op: Ldr, Size: 4, Mode: index, Imm: int64(SXTW)}, in{Op: Ldr, Size: 4, Mode: index, Imm: int64(SXTH)}},
		{in{Op: Ldr, Size: 4, Mode: index}, in{Op: Ldr, Size: 4, Mode: index, Disp: 4}},
		{in{Op: Ldr, Size: 4, Mode: base}, in{Op: Ldp, Size: 4, Mode: index}},
		{in{Op: Lea, Size: 8, Mode: index, Scale: 4}, in{Op: Lea, Size: 8, Mode: index, Scale: 5}},
		{in{Op: Ldr, Size: 8, Mode: backend.ModeConst, Disp: 1<<20 - 4}, in{Op: Ldr, Size: 8, Mode: backend.ModeConst, Disp: 1 << 20}},
		{in{Op: Ldrsw, Size: 8, Mode: backend.ModeConst}, in{Op: Ldrb, Size: 4, Mode: backend.ModeConst}},
		{in{Op: Ldr, Size: 8, Mode: backend.ModeSym, Disp: 8}, in{Op: Ldr, Size: 8, Mode: backend.ModeSym, Disp: 12}},
		{in{Op: Ldr, Size: 8, Mode: base}, in{Op: Ldr, Size: 8, Mode: backend.ModeIndex}},
		{in{Op: Ldr, Size: 8, Mode: base}, in{Op: Ldr, Size: 8}},
	} {
		if err := check(&c.good); err != nil || rejected(&c.good) {
			t.Errorf("%s %+v: %v, rejected %v", RowOf(c.good.Op).Name, c.good, err, rejected(&c.good))
		}
		if err := check(&c.bad); err == nil || !rejected(&c.bad) {
			t.Errorf("%s %+v: %v, rejected %v", RowOf(c.bad.Op).Name, c.bad, err, rejected(&c.bad))
		}
	}
}

// TestVerifyInst checks refusals of what is in the Inst.
func TestVerifyInst(t *testing.T) {
	for _, c := range []struct {
		inst backend.Inst
		want string
	}{
		{backend.Inst{}, "no row"},
		{backend.Inst{Op: NumOps}, "no row"},
		{backend.Inst{Op: Add}, "no size 0"},
		{backend.Inst{Op: Add, Size: 3}, "no size 3"},
		{backend.Inst{Op: Add, Size: 2}, "no size 2"},
		{backend.Inst{Op: Sxtw, Size: 4}, "no size 4"},
		{backend.Inst{Op: AddImm, Size: 4, Mode: backend.ModeBase}, "takes no address"},
		{backend.Inst{Op: Str, Size: 4}, "needs an address"},
		{backend.Inst{Op: Ldr, Size: 4, Mode: 99}, "unknown mode"},
		{backend.Inst{Op: Ldr, Size: 4, Mode: modeLow12}, "unknown mode"},
		{backend.Inst{Op: Cmp, Size: 4, Tail: 99}, "unknown tail"},
		{backend.Inst{Op: Mov, Size: 4, Tail: backend.TailJump}, "sets no flags"},
		{backend.Inst{Op: Cbz, Size: 4, Tail: backend.TailSet}, "sets no flags"},
		{backend.Inst{Op: Cmp, Size: 4, Tail: backend.TailJump, Cond: uint8(AL)}, "condition"},
		{backend.Inst{Op: AddImm, Size: 8, Imm: 4097}, "does not fit"},
		{backend.Inst{Op: Ldr, Size: 8, Mode: backend.ModeBase, Disp: -257}, "does not fit"},
		{backend.Inst{Op: StpPre, Size: 8, Mode: backend.ModeLocal}, "does not fit"},
		{backend.Inst{Op: Ldp, Size: 8, Mode: backend.ModeSym}, "does not fit"},
	} {
		if err := Shapes().Verify(&c.inst, nil, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.inst, err, c.want)
		}
	}
	if !rejected(&backend.Inst{Op: Ldr, Size: 8, Mode: backend.ModeSym, Disp: 4}) {
		t.Error("an unaligned symbol's place is taken")
	}
}

// TestPrintVCode compares the text of VCode.
func TestPrintVCode(t *testing.T) {
	var got strings.Builder
	line := func(inst backend.Inst, vregs ...regalloc.VReg) {
		got.Write(append(PrintVCode(nil, &inst, Shapes().Operands(nil, &inst, vregs...)), '\n'))
	}
	line(backend.Inst{Op: Add, Size: 8}, 1, 2, 3)
	line(backend.Inst{Op: Add, Size: 4, Imm: Shifted(LSL, 3)}, 1, 2, 3)
	line(backend.Inst{Op: AddExt, Size: 8, Imm: Extended(UXTW, 2)}, 1, 2, 3)
	line(backend.Inst{Op: Ldr, Size: 4, Mode: backend.ModeBaseIndex, Scale: 2}, 1, 2, 3)
	line(backend.Inst{Op: Ldrb, Size: 4, Mode: backend.ModeBaseIndex, Imm: int64(UXTW)}, 1, 2, 3)
	line(backend.Inst{Op: Str, Size: 8, Mode: backend.ModeBase, Disp: 8}, 1, 2)
	line(backend.Inst{Op: Ldr, Size: 8, Mode: backend.ModeSym, Disp: 16}, 1)
	line(backend.Inst{Op: Lea, Size: 8, Mode: backend.ModeSym}.OfSymbol(backend.SymFunc(7)), 1)
	line(backend.Inst{Op: Fldr, Size: 8, Mode: backend.ModeConst}.OfConst(3), 1)
	line(backend.Inst{Op: Lea, Size: 8, Mode: backend.ModeLocal, Disp: 8}, 1)
	line(backend.Inst{Op: MovImm, Size: 8, Imm: -1}, 1)
	line(backend.Inst{Op: Movk, Size: 8, Imm: 5, Scale: 2}, 1, 2)
	line(backend.Inst{Op: Msub, Size: 4}, 1, 2, 3, 4)
	line(backend.Inst{Op: Bfi, Size: 8, Imm: Field(3, 4)}, 1, 2, 3)
	line(backend.Inst{Op: Csel, Size: 8, Cond: uint8(HI)}, 1, 2, 3)
	line(backend.Inst{Op: Fadd, Size: 4}, 1, 2, 3)
	line(backend.Inst{Op: FmovImm, Size: 8, Imm: int64(math.Float64bits(-0.5))}, 1)
	line(backend.Inst{Op: CmpImm, Size: 4, Imm: 5, Tail: backend.TailJump, Cond: uint8(LO)}, 1)
	line(backend.Inst{Op: Cmp, Size: 4, Tail: backend.TailSelect, Cond: uint8(LT)}, 1, 2, 3, 4, 5)
	line(backend.Inst{Op: Fcmp, Size: 8, Tail: backend.TailSet, Cond: uint8(MI)}, 1, 2, 3)
	line(backend.Inst{Op: Cbz, Size: 8, Tail: backend.TailTrap, Trap: uint8(abi.TrapNullReference)}, 1)
	line(backend.Inst{Op: Tbnz, Size: 8, Imm: 63, Tail: backend.TailJump}, 1)
	line(backend.Inst{Op: Bti, Imm: BtiJ})
	call := backend.Inst{Op: Bl}.OfSymbol(backend.SymFunc(5))
	got.Write(PrintVCode(nil, &call, []regalloc.Operand{regalloc.FixedUse(1, X1), regalloc.FixedDef(2, V0)}))
	want := `%3 = add.64 %1, %2
%3 = add.32 %1, %2, lsl #3
%3 = add.64 %1, %2, uxtw #2
%3 = ldr.32 [%1, %2, lsl #2]
%3 = ldrb [%1, %2, uxtw]
str.64 [%1, #8], %2
%1 = ldr.64 [instance+16]
%1 = lea [func7]
%1 = ldr.64 const3
%1 = lea [local, #8]
%1 = mov.64 #-1
%2 = movk.64 %1, #5, lsl #32
%4 = msub.32 %1, %2, %3
%3 = bfi.64 %1, %2, #3, #4
%3 = csel.64 %1, %2, hi
%3 = fadd.32 %1, %2
%1 = fmov.64 #-0.50000000
cmp.32 %1, #5; b.lo
cmp.32 %1, %2; sel %5, %3, %4, lt
%3 = fcmp.64 %1, %2; cset %3, mi
cbz.64 %1; trap.taken null_reference
tbnz.64 %1, #63; b.taken
bti j
%2:d0 = bl %1:x1, func5`
	want = strings.Replace(want, "%3 = fcmp", "fcmp", 1)
	if d := cmp.Diff(want, got.String()); d != "" {
		t.Error(d)
	}
}

// choosing is in with the row that makes the result of its tail.
func choosing(in backend.Inst, op backend.Op, size uint8) backend.Inst {
	in.SetChoice(backend.Form{Op: op, Size: size})
	return in
}

// TestPrintTails compares the text of tails after allocation.
func TestPrintTails(t *testing.T) {
	regs := func(ps ...regalloc.PReg) (a []regalloc.Allocation) {
		for _, p := range ps {
			a = append(a, regalloc.InReg(p))
		}
		return a
	}
	for _, c := range []struct {
		inst   backend.Inst
		allocs []regalloc.Allocation
		want   string
	}{
		{backend.Inst{Op: Cmp, Size: 4, Tail: backend.TailJump, Cond: uint8(LO)}, regs(X1, X2), "cmp w1, w2; b.lo"},
		{backend.Inst{Op: Fcmp, Size: 8, Tail: backend.TailSelect, Cond: uint8(GT)}, regs(V1, V2, X3, X4, X5), "fcmp d1, d2; sel x5, x3, x4, gt"},
		{backend.Inst{Op: TstImm, Size: 8, Imm: 1, Tail: backend.TailSet, Cond: uint8(NE)}, regs(X1, X2), "tst x1, #0x1; cset w2, ne"},
		{choosing(backend.Inst{Op: Cmp, Size: 8, Tail: backend.TailSet, Cond: uint8(NE)}, Csetm, 8), regs(X1, X2, X3), "cmp x1, x2; csetm x3, ne"},
		{choosing(backend.Inst{Op: Cmp, Size: 8, Tail: backend.TailSelect, Cond: uint8(NE)}, Csneg, 4), regs(X1, X2, X3, X4, X5),
			"cmp x1, x2; csneg w5, w3, w4, ne"},
		{choosing(backend.Inst{Op: CmpImm, Size: 4, Tail: backend.TailSelectZero, Cond: uint8(LT)}, Csinc, 8), regs(X1, X2, X3),
			"cmp w1, #0; csinc x3, x2, xzr, lt"},
		{backend.Inst{Op: StrbZero, Size: 4, Mode: backend.ModeBaseIndex}, regs(X1, X2), "strb wzr, [x1, x2]"},
		{backend.Inst{Op: Ldr, Size: 8, Mode: backend.ModeSym, Disp: 8}, regs(X2), "adrp x17, instance+8; ldr x2, [x17, :lo12:instance+8]"},
	} {
		if got := string(PrintAsm(nil, &c.inst, c.allocs, nil)); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// TestAppendMove compares moves between registers, and the near ones to memory.
func TestAppendMove(t *testing.T) {
	r, x := regalloc.InReg(X9), regalloc.InReg(V9)
	near := backend.Frame{Slots: -200, Args: 16, Size: 208}
	for _, c := range []struct {
		from, to regalloc.Allocation
		bytes    uint8
		want     uint32
	}{
		{r, regalloc.InReg(X0), 8, 0xaa0903e0},       // mov x0, x9
		{r, regalloc.InSlot(0), 8, 0xf81383a9},       // stur x9, [x29, #-200]
		{regalloc.InArg(0), r, 8, 0xf9400ba9},        // ldr x9, [x29, #16]
		{x, regalloc.InReg(V0), 8, 0x1e604120},       // fmov d0, d9
		{x, regalloc.InReg(V0), 16, 0x4ea91d20},      // mov v0.16b, v9.16b
		{x, regalloc.InSlot(0), 8, 0xfc1383a9},       // stur d9, [x29, #-200]
		{regalloc.InSlot(0), x, 16, 0x3cd383a9},      // ldur q9, [x29, #-200]
		{r, x, 8, 0x9e670129}, {x, r, 8, 0x9e660129}, // fmov
		{regalloc.InSlot(30), regalloc.InReg(X0), 8, 0xf94017a0}, // ldr x0, [x29, #40]
	} {
		got := AppendMove(nil, c.from, c.to, c.bytes, &near)
		if len(got) != WordBytes || binary.LittleEndian.Uint32(got) != c.want {
			t.Errorf("%v to %v: % x, want %#x", c.from, c.to, got, c.want)
		}
		if n := MoveBound(c.from, c.to, c.bytes, &near); n != WordBytes {
			t.Errorf("%v to %v: bound %d", c.from, c.to, n)
		}
	}
	if got := AppendMove(nil, r, r, 8, &near); len(got) != 0 || MoveBound(r, r, 8, &near) != 0 {
		t.Errorf("a move to itself: % x", got)
	}
}

// TestCond checks the algebra of conditions against all states of the flags.
func TestCond(t *testing.T) {
	const n, z, carry, v = 8, 4, 2, 1
	holds := func(c Cond, f int) bool {
		less := f&n != 0 != (f&v != 0)
		return [...]bool{f&z != 0, f&z == 0, f&carry != 0, f&carry == 0, f&n != 0, f&n == 0, f&v != 0, f&v == 0,
			f&carry != 0 && f&z == 0, f&carry == 0 || f&z != 0, !less, less, !less && f&z == 0, less || f&z != 0}[c]
	}
	cmpFlags := func(a, b uint8) (f int) {
		d := a - b
		for i, set := range [...]bool{(a^b)&(a^d) >= 128, a >= b, d == 0, d >= 128} {
			if set {
				f |= 1 << i
			}
		}
		return f
	}
	less, equal, greater, unordered := n, z|carry, carry, carry|v
	for c := range NumConds {
		if c.Swap().Swap() != c || c.Invert().Invert() != c {
			t.Errorf("%v: swapped %v, inverted %v", c, c.Swap(), c.Invert())
		}
		for f := range 16 {
			if holds(c, f) == holds(c.Invert(), f) {
				t.Errorf("%v and %v with flags %d", c, c.Invert(), f)
			}
		}
		for _, p := range [][2]int{{less, greater}, {greater, less}, {equal, equal}, {unordered, unordered}} {
			if holds(c, p[0]) != holds(c.SwapFloat(), p[1]) {
				t.Errorf("%v of floats is not %v swapped", c, c.SwapFloat())
			}
		}
		if c == MI || c == PL || c == VS || c == VC {
			continue
		}
		for x := range 256 {
			for y := range 256 {
				if holds(c, cmpFlags(uint8(x), uint8(y))) != holds(c.Swap(), cmpFlags(uint8(y), uint8(x))) {
					t.Fatalf("%v of %d, %d is not %v of %[3]d, %[2]d", c, x, y, c.Swap())
				}
			}
		}
	}
	for i, want := range [][4]bool{EQ: {false, true}, MI: {true}, LS: {true, true}, GT: {2: true}, GE: {1: true, 2: true}, VC: {true, true, true}} {
		for k, f := range []int{less, equal, greater, unordered} {
			if want != [4]bool{} && holds(Cond(i), f) != want[k] {
				t.Errorf("%v of floats, case %d", Cond(i), k)
			}
		}
	}
}

func TestNoAllocation(t *testing.T) {
	samples := goldenSamples()
	buf := make([]byte, 0, 1<<20)
	ops := make([]regalloc.Operand, 0, 16)
	if n := testing.AllocsPerRun(3, func() {
		b := buf
		for i := range samples {
			b, _ = Append(b, &samples[i].inst, samples[i].allocs, &testFrame)
			Bound(&samples[i].inst, samples[i].allocs, &testFrame)
		}
		AppendMove(buf, regalloc.InSlot(3), regalloc.InReg(X0), 8, &testFrame)
		inst := backend.Inst{Op: Add, Size: 8}
		ops = Shapes().Operands(ops[:0], &inst, 1, 2, 3)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if n := unsafe.Sizeof(Row{}); n > 56 {
		t.Errorf("a row is %d bytes", n)
	}
}

// BenchmarkAppend encodes a mixture of common instructions.
func BenchmarkAppend(b *testing.B) {
	reg := func(ps ...regalloc.PReg) (a []regalloc.Allocation) {
		for _, p := range ps {
			a = append(a, regalloc.InReg(p))
		}
		return a
	}
	mix := []sample{
		{backend.Inst{Op: Mov, Size: 8}, reg(X0, X9)},
		{backend.Inst{Op: Add, Size: 4}, reg(X1, X2, X1)},
		{backend.Inst{Op: Ldr, Size: 4, Mode: backend.ModeBaseIndex}, reg(X3, X1, X0)},
		{backend.Inst{Op: AddImm, Size: 8, Imm: 8}, reg(X8, X8)},
		{backend.Inst{Op: AndImm, Size: 4, Imm: 0xff0}, reg(X8, X8)},
		{backend.Inst{Op: Str, Size: 4, Mode: backend.ModeBase, Disp: 1000}, reg(X6, X7)},
		{backend.Inst{Op: Fadd, Size: 8}, reg(V1, V9, V1)},
		{backend.Inst{Op: CmpImm, Size: 4, Imm: 100}, reg(X2)},
		{backend.Inst{Op: Bcond, Cond: uint8(NE), Disp: 1000}, nil},
		{backend.Inst{Op: Ldr, Size: 8, Mode: backend.ModeSym, Disp: 64}, reg(X0)},
		{backend.Inst{Op: MovImm, Size: 4, Imm: 7}, reg(X0)},
		{backend.Inst{Op: LslImm, Size: 4, Imm: 3}, reg(X0, X0)},
	}
	buf := make([]byte, 0, 1024)
	for b.Loop() {
		out := buf
		for i := range mix {
			out, _ = Append(out, &mix[i].inst, mix[i].allocs, &testFrame)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(mix)), "ns/inst")
}

// BenchmarkConstSteps is for a constant that takes all that is tried.
func BenchmarkConstSteps(b *testing.B) {
	for b.Loop() {
		ConstSteps(0x9e3779b97f4a7c15)
	}
}

// maxBytes returns the largest length in bytes that an instruction of the row can have.
func maxBytes(r *Row) int {
	if r.Flags&Expands != 0 || r.Addr == AddrMem || r.Addr == AddrPair {
		return MaxLen
	}
	return WordBytes
}
