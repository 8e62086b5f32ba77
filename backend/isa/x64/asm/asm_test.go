package asm

import (
	"bytes"
	"encoding/binary"
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
		if n := strings.Count(row.Name, "|") + 1; n > 1 && n != sizeCount(row.Sizes) {
			t.Errorf("%s: %d names for %d sizes", row.Name, n, sizeCount(row.Sizes))
		}
		if row.Digit > 7 || f.Reg >= 0 && row.Digit != 0 {
			t.Errorf("%s: digit %d", row.Name, row.Digit)
		}
		if (row.Imm != INone && row.Imm != INop && row.Imm != IReg) != strings.ContainsAny(f.Text, "it") {
			t.Errorf("%s: immediate and text %q disagree", row.Name, f.Text)
		}
		if f.V >= 0 && row.Map < mapVEX || row.Map >= mapVEX && slices.ContainsFunc(f.Roles, func(r Role) bool { return r.Constraint == regalloc.Reuse }) && row.Form != FFMA {
			t.Errorf("%s: VEX and form disagree", row.Name)
		}
		if row.MaxBytes() > MaxLen {
			t.Errorf("%s: up to %d bytes", row.Name, row.MaxBytes())
		}
		if row.MemOp != Invalid {
			mem := RowOf(row.MemOp)
			if len(forms[mem.Form].Roles) != len(f.Roles) || forms[mem.Form].RM != f.RM || row.Sizes != mem.Sizes {
				t.Errorf("%s: memory row %s has other roles", row.Name, mem.Name)
			}
		}
		testForm(t, row, f)
	}
}

func sizeCount(s Sizes) (n int) {
	for ; s != 0; s &= s - 1 {
		n++
	}
	return n
}

// testForm checks that each role has a place, or needs none.
func testForm(t *testing.T, row *Row, f *FormInfo) {
	defs := false
	for i, role := range f.Roles {
		at := int8(i)
		placed := f.Reg == at || f.RM == at || f.V == at || f.O == at || row.Imm == IReg && i == 2
		implicit := role.Constraint == regalloc.Fixed || role.Constraint == regalloc.Reuse
		if placed == implicit {
			t.Errorf("%s: role %d: placed %v, implicit %v", row.Name, i, placed, implicit)
		}
		if role.Constraint == regalloc.Any && f.RM != at {
			t.Errorf("%s: role %d may be anywhere but is not rm", row.Name, i)
		}
		if role.Constraint == regalloc.Reuse && (f.Roles[role.Arg].Access != regalloc.Use || f.Roles[role.Arg].Constraint != regalloc.Reg) {
			t.Errorf("%s: role %d reuses role %d, not a Use in a register", row.Name, i, role.Arg)
		}
		if defs && role.Access != regalloc.Def {
			t.Errorf("%s: role %d follows a def", row.Name, i)
		}
		defs = defs || role.Access == regalloc.Def
	}
}

// TestRandom checks length and patch of random instructions, with no more room
// in the buffer than there must be, and what comes before in it.
func TestRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 100000 {
		s := randomSample(r)
		row := RowOf(s.inst.Op)
		buf, patch := Append([]byte{1, 2, 3}, &s.inst, s.allocs, &testFrame)
		code := buf[3:]
		if len(code) == 0 || len(code) > row.MaxBytes() || !bytes.Equal(buf[:3], []byte{1, 2, 3}) {
			t.Fatalf("%v: % x, at most %d bytes expected", &s, buf, row.MaxBytes())
		}
		if n := int(Bound(&s.inst, s.allocs, &testFrame)); n < len(code) || n > len(code)+2 {
			t.Fatalf("%v: % x, bound is %d", &s, code, n)
		}
		want, width := PatchNone, 4
		switch {
		case row.Imm == IRel8:
			want, width = PatchRel8, 1
		case row.Imm == IRel32:
			want = PatchRel32
		case s.inst.Mode == backend.ModeSym:
			want = PatchSym
		case s.inst.Mode == backend.ModeConst:
			want = PatchConst
		}
		if patch.Kind != want {
			t.Fatalf("%v: patch %+v", &s, patch)
		}
		if want == PatchNone {
			continue
		}
		if int(patch.Off)+width+int(patch.After) != len(code) {
			t.Fatalf("%v: % x: patch %+v", &s, code, patch)
		}
		field := int32(int8(code[patch.Off]))
		if width == 4 {
			field = int32(binary.LittleEndian.Uint32(code[patch.Off:]))
		}
		if field != s.inst.Disp {
			t.Fatalf("%v: % x: the patch's field is %d", &s, code, field)
		}
	}
}

// virtuals gives each operand of inst a virtual register of the class it must have.
func virtuals(inst *backend.Inst) (vregs []regalloc.VReg, infos []regalloc.VRegInfo) {
	f := &forms[rows[inst.Op].Form]
	for i, role := range f.Roles {
		n, class := 1, role.Class
		if int8(i) == f.RM && inst.Mode != backend.ModeNone {
			n, class = inst.Mode.NumRegs(), regalloc.Int
		}
		for range n {
			info := regalloc.VRegInfo{Class: class, Bytes: 8}
			if int8(i) == f.RM && rows[inst.Op].Flags&Whole != 0 && inst.Mode == backend.ModeNone {
				info.Bytes = 16
			}
			infos = append(infos, info)
		}
	}
	for range len(Shapes().Tails[inst.Tail]) {
		infos = append(infos, regalloc.VRegInfo{Class: regalloc.Int, Bytes: 8})
	}
	for i := range infos {
		vregs = append(vregs, regalloc.VReg(i))
	}
	return vregs, infos
}

// TestOperandsVerify: what Operands makes is what Verify wants, and not with any one
// operand changed.
func TestOperandsVerify(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 20000 {
		s := randomSample(r)
		if RowOf(s.inst.Op).Flags&SetsFlags != 0 && r.IntN(2) == 0 {
			s.inst.Tail = backend.Tail(r.IntN(5))
			s.inst.Cond = uint8(r.IntN(int(NumConds)))
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
			ops[i].Access = regalloc.EarlyDef + 1 // none that there is
			if old.Access == regalloc.Def {
				ops[i].Access = regalloc.Use
			}
		case 2:
			if infos[i].Class ^= 1; len(infos) >= 3 && i >= len(infos)-3 && s.inst.Tail == backend.TailSelect {
				continue // may then be a selection of floats
			}
		case 3:
			if ops[i].Arg++; old.Constraint != regalloc.Fixed && old.Constraint != regalloc.Reuse {
				ops[i].Constraint = regalloc.Reuse
				ops[i].Arg = 99
				if old.Constraint == regalloc.Reg {
					ops[i].Constraint = regalloc.Any
				}
			}
		}
		if err := Shapes().Verify(&s.inst, ops, infos); err == nil {
			t.Fatalf("%v: operand %d, %+v, changed: not noticed", &s, i, old)
		}
	}
}

// TestVerifyInst checks refusals of what is in the Inst.
func TestVerifyInst(t *testing.T) {
	base := backend.ModeBase
	for _, c := range []struct {
		inst backend.Inst
		want string
	}{
		{backend.Inst{}, "no row"},
		{backend.Inst{Op: NumOps}, "no row"},
		{backend.Inst{Op: Add}, "no size 0"},
		{backend.Inst{Op: Add, Size: 3}, "no size 3"},
		{backend.Inst{Op: Addf, Size: 2}, "no size 2"},
		{backend.Inst{Op: AddImm, Size: 4, Mode: base}, "takes no address"},
		{backend.Inst{Op: AddStore, Size: 4}, "needs an address"},
		{backend.Inst{Op: Add, Size: 4, Mode: 99}, "unknown mode"},
		{backend.Inst{Op: Add, Size: 4, Tail: 99}, "unknown tail"},
		{backend.Inst{Op: Mov, Size: 4, Mode: base, Scale: 4}, "scale"},
		{backend.Inst{Op: Mov, Size: 4, Tail: backend.TailJump}, "sets no flags"},
		{backend.Inst{Op: Cmp, Size: 4, Tail: backend.TailJump, Cond: 18}, "condition"},
		{backend.Inst{Op: Setcc, Size: 1, Cond: uint8(FEq)}, "condition"},
		{backend.Inst{Op: AddImm, Size: 8, Imm: 1 << 31}, "does not fit"},
		{backend.Inst{Op: ShlImm, Size: 8, Imm: -1}, "does not fit"},
		{backend.Inst{Op: RetImm, Imm: 1 << 16}, "does not fit"},
		{backend.Inst{Op: Nop, Imm: 10}, "does not fit"},
	} {
		if err := Shapes().Verify(&c.inst, nil, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.inst, err, c.want)
		}
	}
}

// TestWideOperand: a packed instruction reads 16 bytes, whatever its elements are.
func TestWideOperand(t *testing.T) {
	if op := Shapes().Operands(nil, &backend.Inst{Op: Andp, Size: 8}, 1, 2, 3)[1]; op.Constraint != regalloc.Reg {
		t.Error("andpd may read a spill slot of 8 bytes")
	}
}

// TestPrintVCode compares the text of VCode.
func TestPrintVCode(t *testing.T) {
	var got strings.Builder
	line := func(inst backend.Inst, vregs ...regalloc.VReg) {
		got.Write(append(PrintVCode(nil, &inst, Shapes().Operands(nil, &inst, vregs...)), '\n'))
	}
	line(backend.Inst{Op: Add, Size: 8}, 1, 2, 3)
	line(backend.Inst{Op: Add, Size: 4, Mode: backend.ModeBaseIndex, Scale: 2, Disp: -4}, 1, 2, 3, 4)
	line(backend.Inst{Op: MovStore, Size: 1, Mode: backend.ModeBase, Disp: 8}, 1, 2)
	line(backend.Inst{Op: Mov, Size: 8, Mode: backend.ModeSym, Disp: 16}, 1)
	line(backend.Inst{Op: Lea, Size: 8, Mode: backend.ModeSym}.OfSymbol(backend.SymFunc(7)), 1)
	line(backend.Inst{Op: Movf, Size: 8, Mode: backend.ModeConst}.OfConst(3), 1)
	line(backend.Inst{Op: Lea, Size: 8, Mode: backend.ModeLocal, Disp: 8}, 1)
	line(backend.Inst{Op: Div, Size: 4}, 1, 2, 3, 4, 5)
	line(backend.Inst{Op: MovImm, Size: 8, Imm: -1}, 1)
	line(backend.Inst{Op: Addf, Size: 4}, 1, 2, 3)
	line(backend.Inst{Op: CmpImm, Size: 4, Imm: 5, Tail: backend.TailJump, Cond: uint8(B)}, 1)
	line(backend.Inst{Op: Cmp, Size: 4, Tail: backend.TailSelect, Cond: uint8(L)}, 1, 2, 3, 4, 5)
	line(backend.Inst{Op: Ucomif, Size: 8, Tail: backend.TailSet, Cond: uint8(FEq)}, 1, 2, 3)
	line(backend.Inst{Op: Test, Size: 8, Tail: backend.TailTrap, Cond: uint8(E), Trap: uint8(abi.TrapNullReference)}, 1, 2)
	call := backend.Inst{Op: Call}.OfSymbol(backend.SymFunc(5))
	got.Write(PrintVCode(nil, &call, []regalloc.Operand{regalloc.FixedUse(1, RDI), regalloc.FixedDef(2, RAX)}))
	want := `%3 = add.64 %1, %2?
%4 = add.32 %1, dword ptr [%2 + 4*%3 - 4]
mov.8 byte ptr [%1 + 8], %2
%1 = mov.64 qword ptr [rip + instance + 16]
%1 = lea.64 [rip + func7]
%1 = movsd qword ptr [rip + const3]
%1 = lea.64 [local + 8]
%4:rax, %5:rdx = div.32 %1:rax, %2:rdx, %3?
%1 = mov.64 -1
%3 = addss %1, %2?
cmp.32 %1?, 5; jb
cmp.32 %1, %2?; sell %5, %3?, %4
ucomisd %1, %2?; setfeq %3
test.64 %1?, %2; trape null_reference
%2:rax = call %1:rdi, func5`
	if d := cmp.Diff(want, got.String()); d != "" {
		t.Error(d)
	}
}

// TestAppendMove compares the text of moves through their golden rows.
func TestAppendMove(t *testing.T) {
	r, x := regalloc.InReg(R9), regalloc.InReg(XMM9)
	slot, far, arg := regalloc.InSlot(0), regalloc.InSlot(16), regalloc.InArg(0)
	for _, c := range []struct {
		from, to regalloc.Allocation
		bytes    uint8
		want     string
	}{
		{r, regalloc.InReg(RAX), 8, "\x4c\x89\xc8"},         // mov rax, r9
		{r, slot, 8, "\x4c\x89\x0c\x24"},                    // mov [rsp], r9
		{r, far, 8, "\x4c\x89\x8d\xf0\xfe\xff\xff"},         // mov [rbp-272], r9
		{r, regalloc.InSlot(15), 8, "\x4c\x89\x4c\x24\x78"}, // mov [rsp+120], r9
		{arg, r, 8, "\x4c\x8b\x4d\x10"},                     // mov r9, [rbp+16]
		{x, regalloc.InReg(XMM0), 8, "\x41\x0f\x28\xc1"},    // movaps xmm0, xmm9
		{x, regalloc.InReg(XMM0), 16, "\x41\x0f\x28\xc1"},   // movaps xmm0, xmm9
		{x, slot, 8, "\xf2\x44\x0f\x11\x0c\x24"},            // movsd
		{x, slot, 16, "\x44\x0f\x11\x0c\x24"},               // movups
		{slot, x, 8, "\xf2\x44\x0f\x10\x0c\x24"},            // movsd
		{slot, x, 16, "\x44\x0f\x10\x0c\x24"},               // movups
		{r, x, 8, "\x66\x4d\x0f\x6e\xc9"},                   // movq xmm9, r9
		{x, r, 8, "\x66\x4d\x0f\x7e\xc9"}, {r, r, 8, ""},    // movq r9, xmm9
		{r, regalloc.InReg(RAX), 4, "\x4c\x89\xc8"},                       // mov rax, r9
		{regalloc.InReg(RDX), regalloc.InReg(RAX), 4, "\x89\xd0"},         // mov eax, edx
		{slot, regalloc.InReg(RAX), 4, "\x8b\x04\x24"},                    // mov eax, [rsp]
		{slot, r, 4, "\x44\x8b\x0c\x24"},                                  // mov r9d, [rsp]
		{r, slot, 4, "\x44\x89\x0c\x24"},                                  // mov [rsp], r9d
		{r, x, 4, "\x66\x45\x0f\x6e\xc9"},                                 // movd xmm9, r9d
		{slot, x, 4, "\xf3\x44\x0f\x10\x0c\x24"},                          // movss xmm9, [rsp]
		{x, slot, 4, "\xf3\x44\x0f\x11\x0c\x24"},                          // movss [rsp], xmm9
		{regalloc.InReg(RAX), arg, 8, "\x48\x89\x45\x10"},                 // mov [rbp+16], rax
		{regalloc.InSlot(34), regalloc.InReg(RAX), 8, "\x48\x8b\x45\x80"}, // mov rax, [rbp-128]
	} {
		if n := MoveBound(c.from, c.to, c.bytes, &testFrame); int(n) < len(c.want) {
			t.Errorf("%v to %v: %d bytes, bound %d", c.from, c.to, len(c.want), n)
		}
		if got := AppendMove(nil, c.from, c.to, c.bytes, &testFrame); string(got) != c.want {
			t.Errorf("%v to %v: % x, want % x", c.from, c.to, got, c.want)
		}
	}
}

// TestAppendIntMove compares all integer moves with those of the rows.
func TestAppendIntMove(t *testing.T) {
	places := slices.Clone(framePlaces)
	for n := range 16 {
		places = append(places, regalloc.InReg(regalloc.IntReg(n)))
	}
	for _, from := range places {
		for _, to := range places {
			if from == to || from.IsMem() && to.IsMem() {
				continue
			}
			for _, width := range []uint8{4, 8} {
				inst := backend.Inst{Op: moveOp(from, to), Size: width}
				allocs := []regalloc.Allocation{from, to}
				switch {
				case !to.IsReg():
					allocs[0], allocs[1] = to, from
				case from.IsReg() && (from.Reg().Enc() > 7 || to.Reg().Enc() > 7): // a prefix in any case
					inst.Size = 8
				}
				want, _ := Append(nil, &inst, allocs, &testFrame)
				if got := AppendMove(nil, from, to, width, &testFrame); !bytes.Equal(got, want) {
					t.Errorf("%v to %v, %d bytes: % x, want % x", from, to, width, got, want)
				}
			}
		}
	}
}

// TestCond checks the algebra of conditions against all states of the flags.
func TestCond(t *testing.T) {
	holds := func(c Cond, flags int) bool {
		cf, zf, sf, of, pf := flags&1 != 0, flags&2 != 0, flags&4 != 0, flags&8 != 0, flags&16 != 0
		return [...]bool{of, !of, cf, !cf, zf, !zf, cf || zf, !cf && !zf, sf, !sf, pf, !pf, sf != of, sf == of,
			zf || sf != of, !zf && sf == of, zf && !pf, !zf || pf}[c]
	}
	for c := range NumConds {
		a, b, both := c.Parts()
		if !a.IsHardware() || !b.IsHardware() {
			t.Errorf("%v is made of %v, %v", c, a, b)
		}
		if c.Invert().Invert() != c {
			t.Errorf("%v: inverted twice differs", c)
		}
		for flags := range 32 {
			h := holds(c, flags)
			if parts := holds(a, flags) && holds(b, flags) || !both && (holds(a, flags) || holds(b, flags)); parts != h {
				t.Errorf("%v: parts differ at %05b", c, flags)
			}
			if holds(c.Invert(), flags) == h {
				t.Errorf("%v: inverse holds with it at %05b", c, flags)
			}
		}
	}
}

// TestNops checks that any number of bytes is made up.
func TestNops(t *testing.T) {
	for n := range 40 {
		if got := AppendNops(nil, n); len(got) != n {
			t.Errorf("%d bytes of nops: % x", n, got)
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
		}
		inst := backend.Inst{Op: Add, Size: 8}
		ops = Shapes().Operands(ops[:0], &inst, 1, 2, 3)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if n := unsafe.Sizeof(Row{}); n > 40 {
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
		{backend.Inst{Op: Mov, Size: 8}, reg(RAX, R9)},
		{backend.Inst{Op: Add, Size: 4}, reg(RCX, RDX, RCX)},
		{backend.Inst{Op: Mov, Size: 4, Mode: backend.ModeBaseIndex, Disp: 16}, reg(RBX, RCX, RAX)},
		{backend.Inst{Op: AddImm, Size: 8, Imm: 8}, reg(R8, R8)},
		{backend.Inst{Op: MovStore, Size: 4, Mode: backend.ModeBase, Disp: 1000}, reg(RSI, RDI)},
		{backend.Inst{Op: Lea, Size: 8, Mode: backend.ModeBaseIndex, Scale: 3}, reg(RSI, RDI, RAX)},
		{backend.Inst{Op: Movzx8, Size: 4, Mode: backend.ModeBase}, reg(RSI, RDI)},
		{backend.Inst{Op: Addf, Size: 8}, reg(XMM1, XMM9, XMM1)},
		{backend.Inst{Op: CmpImm, Size: 4, Imm: 100}, reg(RDX)},
		{backend.Inst{Op: Jcc, Cond: uint8(NE), Disp: 1000}, nil},
		{backend.Inst{Op: Mov, Size: 8, Mode: backend.ModeSym, Disp: 64}, reg(RAX)},
		{backend.Inst{Op: Mov, Size: 8}, []regalloc.Allocation{regalloc.InSlot(3), regalloc.InReg(RAX)}},
		{backend.Inst{Op: MovImm, Size: 4, Imm: 7}, reg(RAX)},
		{backend.Inst{Op: ShlImm, Size: 4, Imm: 3}, reg(RAX, RAX)},
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
