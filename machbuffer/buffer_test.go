package machbuffer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// x64 is x86-64 as its backend describes it: addends in place, no veneers.
const (
	rel8 UseKind = iota
	rel32
)

func x64Desc() TargetDesc {
	return TargetDesc{
		Kinds: []KindDesc{
			{Name: "rel8", MaxPos: 128, MaxNeg: 127, PatchSize: 1, Align: 1,
				Patch: func(p []byte, use, label uint32) { p[0] += byte(label - use) }},
			{Name: "rel32", MaxPos: 1<<31 - 16, MaxNeg: 1<<31 - 16, PatchSize: 4, Align: 1, Patch: patch32},
		},
		Jump: MakeForm(rel32, 1, []byte{0xe9, 0xfc, 0xff, 0xff, 0xff}),
		Trap: []byte{0x0f, 0x0b},
		Fill: 0xcc,
		Nop: func(p []byte) {
			for i := range p {
				p[i] = 0x90
			}
		},
		CodeAlign:  1,
		MinUseInst: 2,
	}
}

func newTarget(t testing.TB, d TargetDesc) *Target {
	t.Helper()
	target, err := NewTarget(d)
	if err != nil {
		t.Fatal(err)
	}
	return target
}

type asm struct {
	*Buffer
	labels map[string]Label
}

func newAsm(t testing.TB) *asm {
	b := New(newTarget(t, x64Desc()))
	b.checkBinds = true
	return &asm{b, map[string]Label{}}
}

func (a *asm) label(name string) Label {
	l, ok := a.labels[name]
	if !ok {
		l = a.NewLabel()
		a.labels[name] = l
	}
	return l
}

func jccForm(k UseKind, cc byte) Form {
	if k == rel8 {
		return MakeForm(rel8, 1, []byte{0x70 | cc, 0xff})
	}
	return MakeForm(rel32, 2, []byte{0x0f, 0x80 | cc, 0xfc, 0xff, 0xff, 0xff})
}

func (a *asm) jcc(k UseKind, cc byte, name string) {
	f := jccForm(k, cc)
	start := a.Offset()
	a.PutBytes(f.Bytes[:f.Len])
	forms := CondForms{N: 2}
	for i, fk := range [2]UseKind{rel8, rel32} {
		forms.Same[i], forms.Inverted[i] = jccForm(fk, cc), jccForm(fk, cc^1)
	}
	a.CondBranch(start, start+uint32(f.Use), k, a.label(name), &forms)
}

func (a *asm) jmp(k UseKind, name string) {
	start := a.Offset()
	if k == rel8 {
		a.PutBytes([]byte{0xeb, 0xff})
	} else {
		a.PutBytes([]byte{0xe9, 0xfc, 0xff, 0xff, 0xff})
	}
	a.UncondBranch(start, start+1, k, a.label(name))
}

// text runs lines: "L:" binds; "jmp L", "jmp8 L", "je L", "je8 L", "jne..." branch; "nop"s and "ret" are code.
func (a *asm) text(src string) {
	for _, line := range strings.FieldsFunc(src, func(r rune) bool { return r == '\n' || r == ';' }) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		for len(f) > 0 && strings.HasSuffix(f[0], ":") {
			a.Bind(a.label(strings.TrimSuffix(f[0], ":")))
			f = f[1:]
		}
		if len(f) == 0 {
			continue
		}
		switch f[0] {
		case "jmp":
			a.jmp(rel32, f[1])
		case "jmp8":
			a.jmp(rel8, f[1])
		case "je":
			a.jcc(rel32, 4, f[1])
		case "je8":
			a.jcc(rel8, 4, f[1])
		case "jne":
			a.jcc(rel32, 5, f[1])
		case "jne8":
			a.jcc(rel8, 5, f[1])
		case "jp8":
			a.jcc(rel8, 10, f[1])
		case "nop":
			a.PutU8(0x90)
		case "nops": // n of them
			var n int
			fmt.Sscan(f[1], &n)
			for range n {
				a.PutU8(0x90)
			}
		case "ret":
			a.PutU8(0xc3)
			a.NoFallThrough()
		default:
			panic(line)
		}
	}
}

// disasm is the inverse of text for what can be there, with targets as offsets.
func disasm(code []byte) string {
	var out []string
	names := map[byte]string{4: "je", 5: "jne", 10: "jp", 11: "jnp"}
	nops := 0
	flush := func() {
		if nops > 0 {
			out = append(out, fmt.Sprintf("nop*%d", nops))
		}
		nops = 0
	}
	for i := 0; i < len(code); {
		if code[i] == 0x90 {
			nops++
			i++
			continue
		}
		flush()
		switch c := code[i]; {
		case c == 0xc3:
			out = append(out, "ret")
			i++
		case c == 0xeb:
			out = append(out, fmt.Sprintf("jmp8 %d", i+2+int(int8(code[i+1]))))
			i += 2
		case c == 0xe9:
			out = append(out, fmt.Sprintf("jmp %d", i+5+int(int32(binary.LittleEndian.Uint32(code[i+1:])))))
			i += 5
		case c>>4 == 7:
			out = append(out, fmt.Sprintf("%s8 %d", names[c&15], i+2+int(int8(code[i+1]))))
			i += 2
		case c == 0x0f && code[i+1]>>4 == 8:
			out = append(out, fmt.Sprintf("%s %d", names[code[i+1]&15], i+6+int(int32(binary.LittleEndian.Uint32(code[i+2:])))))
			i += 6
		case c == 0x0f && code[i+1] == 0x0b:
			out = append(out, "ud2")
			i += 2
		default:
			out = append(out, fmt.Sprintf("%#x", c))
			i++
		}
	}
	flush()
	return strings.Join(out, "; ")
}

func TestEdits(t *testing.T) {
	for _, tc := range []struct{ name, src, want string }{
		{"R1 next", "nop; jmp A; A: ret", "nop*1; ret"},
		{"R1 both", "nop; je A; jmp A; A: ret", "nop*1; ret"},
		{"R1 chain", "nop; jmp A; A: jmp B; B: jmp C; C: ret", "nop*1; ret"},
		{"R1 fallthrough", "je8 A; jmp B; B: nop; A: ret", "je8 3; nop*1; ret"},
		{"R1 at two binds", "je8 A; jmp B; X: B: nop; A: ret", "je8 3; nop*1; ret"},
		{"R1 conditionals", "nop; jp8 A; jne8 A; A: ret", "nop*1; ret"},
		{"R4 short over near", "je8 A; jmp B; A: nops 3; B: ret", "jne 9; nop*3; ret"},
		{"R4 short over short", "je8 A; jmp8 B; A: nops 3; B: ret", "jne8 5; nop*3; ret"},
		{"R4 near over short", "je A; jmp8 B; A: nops 3; B: ret", "jne8 5; nop*3; ret"},
		{"R4 backward near becomes short", "B: nop; je A; jmp B; A: ret", "nop*1; jne8 0; ret"},
		{"R4 backward far", "B: nops 130; je8 A; jmp B; A: ret", "nop*130; jne 0; ret"},
		{"R4 backward at the limit", "B: nops 126; je8 A; jmp B; A: ret", "nop*126; jne8 0; ret"},
		{"R4 backward just beyond", "B: nops 127; je8 A; jmp B; A: ret", "nop*127; jne 0; ret"},
		{"R4 parity", "jp8 A; jne8 A; jmp8 B; A: nop; B: ret", "jp8 4; je8 5; nop*1; ret"},
		{"R4 twice", "je8 A; jmp8 B; A: jmp8 C; B: nop; C: ret", "je8 3; nop*1; ret"},
		{"R2 forward", "je8 A; nop; ret; A: jmp B; nop; C: ret; B: ret", "je8 4; nop*1; ret; jmp 11; nop*1; ret; ret"},
		{"R2 near", "je A; nop; ret; A: jmp B; C: ret; B: ret", "je 9; nop*1; ret; ret; ret"},
		{"R2 chain backward", "A: jmp B; X: nop; B: jmp C; Y: nop; C: ret; D: nop; jmp A", "jmp 12; nop*1; jmp 12; nop*1; ret; nop*1; jmp 12"},
		{"R1 through an alias", "nop; E: jmp X; Y: nop; jmp E; X: ret", "nop*1; jmp 7; nop*1; ret"},
		{"R2 cycle", "A: jmp B; B: jmp A; C: ret; nop; jmp B", "jmp 0; ret; nop*1; jmp 0"},
		{"R2 cycle of three", "nop; A: jmp B; X: nop; B: jmp C; Y: nop; C: jmp A; D: ret", "nop*1; jmp 13; nop*1; jmp 13; nop*1; jmp 13; ret"},
		{"R2 self loop", "A: jmp A; B: ret", "jmp 0; ret"},
		{"R3 unreachable", "nop; jmp A; jmp B; C: ret; A: ret; B: ret", "nop*1; jmp 7; ret; ret; ret"},
		{"R3 after return", "ret; jmp B; C: nop; B: ret", "ret; nop*1; ret"},
		{"R3 empty block between", "jmp A; E: jmp B; C: nop; ret; A: ret; B: jmp E", "jmp 7; nop*1; ret; ret; jmp 8"},
		{"R3 refused for a short use", "je8 E; ret; E: jmp B; C: ret; B: ret", "je8 9; ret; jmp 9; ret; ret"},
		{"R3 refused, own landing", "je8 E; ret; E: jmp B; C: nops 130; ret; B: ret", "je8 3; ret; jmp 139; nop*130; ret; ret"},
		{"R5 forward", "nop; je8 A; jmp A; C: nop; ret; A: ret", "nop*1; jmp 8; nop*1; ret; ret"},
		{"R5 backward", "A: nop; je8 A; jmp8 A; C: ret", "nop*1; jmp8 0; ret"},
		{"R5 label between", "nop; je A; L: jmp A; C: ret; A: nop; jmp L", "nop*1; jmp 7; ret; nop*1; jmp 7"},
		{"no edit of sealed code", "jmp A; nop; A: ret", "jmp 6; nop*1; ret"},
		{"labels in the pair", "je8 A; M: jmp B; A: nop; B: ret; nop; jmp M", "jne 7; nop*1; ret; nop*1; jmp 7"},
		{"short label in the pair", "je8 M; nop; je8 A; M: jmp B; A: nop; B: ret", "je8 11; nop*1; je8 10; jmp 11; nop*1; ret"},
		{"end", "nop; jmp A; jmp B; C: ret; A: B: nop; jmp A; jmp B", "nop*1; jmp 7; ret; nop*1; jmp 7"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := newAsm(t)
			a.text(tc.src)
			r, err := a.Finish()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, disasm(r.Code)); diff != "" {
				t.Errorf("code (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRecordsFollowEdits(t *testing.T) {
	a := newAsm(t)
	a.AddReloc(1, 7, 42, -4)
	a.PutBytes([]byte{0xe8, 0, 0, 0, 0})
	a.AddStackMap(3)
	a.AddCallSite(9)
	a.jcc(rel8, 4, "A")     // 5
	a.AddReloc(8, 7, 43, 0) // of the branch that goes
	a.AddTrap(7, 8, 3)
	a.jmp(rel8, "B") // 7
	a.AddStackMap(99)
	a.AddCallSite(99)
	a.AddTrap(9, 5, 4) // for the next instruction
	a.AddReloc(9, 6, 44, 0)
	a.Bind(a.label("A"))
	a.PutU8(0x90) // 7
	a.AddReloc(10, 1, 2, 0)
	a.AddReloc(8, 1, 1, 0)
	a.AddTrap(8, 2, 4)
	a.AddTrap(7, 1, 4)
	a.PutBytes([]byte{0x90, 0x90, 0x90})
	a.jmp(rel8, "B")
	a.Bind(a.label("B"))
	a.text("ret")
	r, err := a.Finish()
	if err != nil {
		t.Fatal(err)
	}
	want := &Result{
		Code:      []byte{0xe8, 0, 0, 0, 0, 0x75, 4, 0x90, 0x90, 0x90, 0x90, 0xc3},
		Align:     1,
		Starts:    AnyStart,
		Relocs:    []Reloc{{1, 42, -4, 7}, {7, 44, 0, 6}, {8, 1, 0, 1}, {10, 2, 0, 1}},
		Traps:     []Trap{{7, 4, 5}, {7, 4, 1}, {8, 4, 2}},
		StackMaps: []StackMap{{5, 3}},
		Calls:     []CallSite{{5, 9}},
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
}

func TestConstantsAndTraps(t *testing.T) {
	a := newAsm(t)
	var small Label
	for i := range 3 { // cmp [rip+c], imm8: the displacement is 5 bytes before the end
		l := a.Constant([]byte{1, 2, 3, 4}, 4)
		if i == 1 {
			if again := a.Constant([]byte{1, 2, 3, 4}, 8); again != l {
				t.Errorf("equal constants %d and %d", l, again)
			}
		}
		small = l
		at := a.Offset()
		a.PutBytes([]byte{0x83, 0x3d, 0xfb, 0xff, 0xff, 0xff, 0})
		a.UseLabel(at+2, rel32, l)
	}
	big := a.Constant(make([]byte, 16), 16)
	a.PutBytes([]byte{0x90, 0x90})
	a.PutU64(0xfffffffc_00058d48) // lea rax, [rip+c], in part
	a.UseLabel(a.Offset()-4, rel32, big)
	a.labels["T"] = a.DeferTrap(6, 77)
	a.text("je T; jmp X; Y: nop; X: ret")
	r, err := a.Finish()
	if err != nil {
		t.Fatal(err)
	}
	n := uint32(len(r.Code))
	if r.Align != 16 || n != 68 {
		t.Fatalf("align %d, size %d:\n% x", r.Align, n, r.Code)
	}
	c, ok := a.LabelOffset(small)
	if !ok || c != 64 {
		t.Errorf("constant at %d, %v", c, ok)
	}
	for i := range uint32(3) {
		if got := 7*i + 7 + binary.LittleEndian.Uint32(r.Code[7*i+2:]); got != c {
			t.Errorf("use %d refers to %d", i, got)
		}
	}
	stub := uint32(44)
	if diff := cmp.Diff([]Trap{{stub, 77, 6}}, r.Traps); diff != "" {
		t.Errorf("traps (-want +got):\n%s", diff)
	}
	if r.Code[46] != 0xcc || r.Code[47] != 0xcc {
		t.Errorf("padding % x", r.Code[46:48])
	}
}

func TestConstantAlignmentGrows(t *testing.T) {
	a := newAsm(t)
	l := a.Constant([]byte{5}, 1)
	a.Constant([]byte{6, 6}, 2)
	if again := a.Constant([]byte{5}, 32); again != l || a.constCost != 1+31+2+1 {
		t.Errorf("label %d, then %d; cost %d", l, again, a.constCost)
	}
	a.text("ret")
	r, err := a.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if at, _ := a.LabelOffset(l); at != 32 || r.Align != 32 {
		t.Errorf("constant at %d, align %d", at, r.Align)
	}
}

// After an edit the offset can come to where control once did not arrive. That is forgotten.
func TestNoFallThroughForgotten(t *testing.T) {
	a := newAsm(t)
	a.text("jmp8 A")
	a.NoFallThrough()
	a.text("A: nops 2")
	a.Constant([]byte{1}, 1)
	a.EmitIsland(0)
	a.text("ret")
	r, err := a.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if want := "nop*2; jmp 8; 0x1; ret"; disasm(r.Code) != want {
		t.Errorf("%s\nwant %s", disasm(r.Code), want)
	}
}

// A narrow form takes over from an unconditional branch only if that cannot reach further.
func TestInversionReach(t *testing.T) {
	d := x64Desc()
	rel8v, rel9 := UseKind(2), UseKind(3)
	d.Kinds = append(d.Kinds, d.Kinds[rel8], d.Kinds[rel8])
	v := &d.Kinds[rel8v]
	v.VeneerSize, v.Veneer, v.VeneerUse = 5, rel32, 1
	v.EmitVeneer = func(p []byte) { copy(p, []byte{0xe9, 0xfc, 0xff, 0xff, 0xff}) }
	d.Kinds[rel9].MaxPos = 129
	for _, tc := range []struct {
		uncond UseKind
		want   string
	}{
		{rel8, "jne8 3; nop*1; ret"},
		{rel8v, "je8 4; jmp8 5; nop*1; ret"},
		{rel9, "je8 4; jmp8 5; nop*1; ret"},
	} {
		a := &asm{New(newTarget(t, d)), map[string]Label{}}
		one := CondForms{N: 1}
		one.Inverted[0] = jccForm(rel8, 5)
		a.PutBytes([]byte{0x74, 0xff})
		a.CondBranch(0, 1, rel8, a.label("A"), &one)
		a.jmp8As(tc.uncond, "B")
		a.text("A: nop; B: ret")
		r, err := a.Finish()
		if err != nil {
			t.Fatal(err)
		}
		if disasm(r.Code) != tc.want {
			t.Errorf("kind %d: %s, want %s", tc.uncond, disasm(r.Code), tc.want)
		}
	}
}

func (a *asm) jmp8As(k UseKind, name string) {
	start := a.Offset()
	a.PutBytes([]byte{0xeb, 0xff})
	a.UncondBranch(start, start+1, k, a.label(name))
}

func TestManyConstants(t *testing.T) {
	a := newAsm(t)
	for round := range 3 {
		a.Reset()
		for i := range uint32(300) {
			l := a.Constant(binary.LittleEndian.AppendUint32(nil, i%200), 4)
			a.UseLabel(a.Offset(), rel32, l)
			a.PutU32(0)
		}
		if round == 1 {
			continue // Reset with constants pending
		}
		r, err := a.Finish()
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Code) != 1200+800 {
			t.Fatalf("%d bytes", len(r.Code))
		}
		for i := range uint32(300) {
			at := 4*i + binary.LittleEndian.Uint32(r.Code[4*i:])
			if got := binary.LittleEndian.Uint32(r.Code[at:]); got != i%200 {
				t.Fatalf("constant %d reads %d", i, got)
			}
		}
	}
}

func TestBindAligned(t *testing.T) {
	a := newAsm(t)
	a.text("nop; jmp H; K:")
	a.BindAligned(a.label("H"), 8)
	a.text("nop; je8 H; jmp8 K; X: ret; nop")
	a.BindAligned(a.label("Z"), 1)
	a.text("jmp H")
	r, err := a.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if want := "nop*9; jmp8 8; ret; nop*1; jmp 8"; disasm(r.Code) != want {
		t.Errorf("%s\nwant %s", disasm(r.Code), want)
	}
	if r.Align != 8 {
		t.Errorf("align %d", r.Align)
	}
}

// TestBindInLine binds two loops behind each other, at offsets that are known: padding comes only where no start of the code makes it needless.
func TestBindInLine(t *testing.T) {
	type loop struct{ before, span, want uint32 }
	for _, c := range []struct {
		first, second loop
		starts        Starts
	}{
		{loop{40, 24, 40}, loop{0, 24, 41}, 0b1100}, // 0 would do for the first one
		{loop{40, 25, 40}, loop{0, 8, 41}, 0b1100},  // a byte too many for 0
		{loop{0, 16, 0}, loop{0, 17, 1}, 0b0111},    // the second one is up to the end of the line if the code begins at 32
		{loop{8, 64, 16}, loop{0, 64, 80}, 0b1000},  // a whole line
		{loop{0, 64, 0}, loop{0, 64, 64}, 0b0001},   // at its beginning
		{loop{0, 49, 0}, loop{0, 1, 1}, 0b0001},     // the longest one that may begin at one place of four
		{loop{0, 48, 0}, loop{14, 48, 15}, 0b0001},  // up to a byte in front of the end of the line
	} {
		a := newAsm(t)
		at := [2]uint32{}
		for k, l := range [...]loop{c.first, c.second} {
			for range l.before {
				a.text("nop")
			}
			label := a.label(string(rune('A' + k)))
			a.BindInLine(label, l.span)
			at[k] = a.Offset()
			a.text("nop")
		}
		a.text("ret")
		r, err := a.Finish()
		if err != nil {
			t.Fatal(err)
		}
		if at != [2]uint32{c.first.want, c.second.want} || r.Starts != c.starts {
			t.Errorf("%+v: bound at %d, starts %04b", c, at, r.Starts)
		}
		for k := range uint32(CacheLine / StartStep) {
			fits := (at[0]+StartStep*k)%CacheLine+c.first.span <= CacheLine && (at[1]+StartStep*k)%CacheLine+c.second.span <= CacheLine
			if fits != (r.Starts>>k&1 != 0) {
				t.Errorf("%+v: starts %04b, bit %d", c, r.Starts, k)
			}
		}
	}
}

// TestStarts: the next place from any offset on is the nearest one that is in the set.
func TestStarts(t *testing.T) {
	for s := Starts(1); s <= AnyStart; s++ {
		for n := 0; n < 3*CacheLine; n += StartStep {
			next := s.Next(n)
			for at := n; at <= next; at += StartStep {
				if in := s>>(at%CacheLine/StartStep)&1 != 0; in != (at == next) {
					t.Errorf("%04b: from %d on %d is the next, %d is in it: %v", s, n, next, at, in)
				}
			}
		}
		if s.First() != uint32(s.Next(0)) {
			t.Errorf("%04b: %d is the first", s, s.First())
		}
	}
}

// TestBindPlaced binds loops at given places in a line, for the only start of the code that takes least padding; other labels at the tail move along.
func TestBindPlaced(t *testing.T) {
	for _, c := range []struct{ before, place, want uint32 }{
		{0, 0, 0}, {0, 63, 15}, {10, 10, 10}, {10, 9, 25}, {70, 4, 84}, {70, 6, 70}, {64, 0, 64},
	} {
		a := newAsm(t)
		for range c.before {
			a.text("nop")
		}
		a.text("K:")
		l := a.label("L")
		a.BindPlaced(l, c.place)
		a.text("ret; jmp K; jmp L")
		r, err := a.Finish()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"K", "L"} {
			if at, ok := a.LabelOffset(a.label(name)); !ok || at != c.want {
				t.Errorf("%+v: %s is bound at %d, %v", c, name, at, ok)
			}
		}
		if at := (c.want + r.Starts.First()) % CacheLine; at != c.place || r.Starts&(r.Starts-1) != 0 {
			t.Errorf("%+v: starts %04b", c, r.Starts)
		}
	}
}

func TestCanReach(t *testing.T) {
	a := newAsm(t)
	a.text("A: nops 126")
	if !a.CanReach(rel8, a.Offset()+1, a.label("A")) || a.CanReach(rel8, a.Offset()+2, a.label("A")) ||
		a.CanReach(rel32, a.Offset()+2, a.label("B")) {
		t.Error("CanReach: wrong limits")
	}
	// A detached label reaches where its alias' chain has code, and a use keeps that code.
	a.text("ret; D: E: jmp F; G: ret; F: jmp H; G2: ret")
	if a.CanReach(rel8, a.Offset()+1, a.label("E")) {
		t.Error("CanReach: a label without code")
	}
	a.text("H: nop")
	if !a.CanReach(rel8, a.Offset()+1, a.label("E")) {
		t.Error("CanReach: through two detached labels")
	}
	a.text("jmp8 E")
	if _, err := a.Finish(); err != nil {
		t.Error(err)
	}
}

func TestErrors(t *testing.T) {
	for _, tc := range []struct {
		src  string
		want error
		use  uint32
	}{
		{"nop; jmp A; nop; jmp B; nop; A: ret", ErrUnboundLabel, 8},
		{"je8 A; nops 128; A: ret", ErrOutOfRange, 1},
		{"A: nops 127; je8 A; nops 128; je8 A", ErrOutOfRange, 128},
		{"nop; jmp B; nop; je8 A; nops 128; A: ret", ErrUnboundLabel, 2},
		{"je8 A; nops 140; jmp B; nop; A: ret", ErrOutOfRange, 1},
	} {
		a := newAsm(t)
		a.text(tc.src)
		_, err := a.Finish()
		var e *Error
		if !errors.As(err, &e) || !errors.Is(err, tc.want) || e.Use != tc.use || !strings.Contains(err.Error(), "label") {
			t.Errorf("%s: error %v, want %v at %d", tc.src, err, tc.want, tc.use)
		}
		if _, again := a.Finish(); again != err || a.Err() != err {
			t.Errorf("%s: then %v", tc.src, again)
		}
	}
	a := newAsm(t)
	a.text("je8 A; nops 127; A: ret")
	if _, err := a.Finish(); err != nil {
		t.Errorf("at the limit: %v", err)
	}
}

func TestMisalignedLabel(t *testing.T) {
	d := x64Desc()
	d.Kinds[rel32].Align = 4
	a := &asm{New(newTarget(t, d)), map[string]Label{}}
	a.text("nop; A: ret; nop; jmp A")
	if _, err := a.Finish(); !errors.Is(err, ErrOutOfRange) {
		t.Errorf("error %v", err)
	}
}

func TestTooLarge(t *testing.T) {
	b := New(synthetic(true))
	b.limit = 5000
	for round := range 2 {
		a := &asm{b, map[string]Label{}}
		l := b.NewLabel()
		b.Bind(l)
		b.UseLabel(0, useS, l)
		b.Constant([]byte{1}, 1)
		b.DeferTrap(1, 1)
		for range 2000 {
			b.PutU32(0)
		}
		start := b.Offset()
		b.PutU64(0)
		b.UncondBranch(start, start+1, useL, l)
		b.AddReloc(b.Offset(), 1, 1, 1)
		b.AddTrap(b.Offset(), 1, 1)
		b.BindAligned(a.label("x"), 4)
		b.EmitIslandMaybe(10)
		b.EmitIsland(10)
		b.PutBytes(make([]byte, 9000))
		if b.CanReach(useL, 0, l) {
			t.Error("CanReach after failure")
		}
		if err := b.CheckInvariants(); err != nil {
			t.Error(err)
		}
		_, err := b.Finish()
		if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "too large") {
			t.Errorf("round %d: error %v", round, err)
		}
		b.Reset()
	}
	// The limit may also be hit by an island, by padding and by the pool at the end.
	for _, last := range []func(){
		func() { b.EmitIsland(4) },
		func() { b.BindAligned(b.NewLabel(), 1024) },
		func() {},
	} {
		b.Reset()
		b.limit = 100
		b.buf = make([]byte, 0, 100)
		b.PutBytes(make([]byte, 90))
		for i := range 20 {
			b.UseLabel(uint32(4*i), useS, b.NewLabels(2))
			b.Constant([]byte{byte(i)}, 1)
		}
		last()
		if _, err := b.Finish(); !errors.Is(err, ErrTooLarge) {
			t.Errorf("error %v", err)
		}
	}
}

func mustPanic(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Errorf("%s did not panic", what)
		}
	}()
	f()
}

func TestMisuse(t *testing.T) {
	a := newAsm(t)
	a.Bind(a.label("A"))
	mustPanic(t, "Bind twice", func() { a.Bind(a.label("A")) })
	mustPanic(t, "Bind of a trap", func() { a.Bind(a.DeferTrap(1, 1)) })
	mustPanic(t, "bad alignment", func() { a.Constant(nil, 3) })
	mustPanic(t, "long form", func() { MakeForm(0, 0, make([]byte, 9)) })
	mustPanic(t, "wrong extent", func() { a.UncondBranch(0, 0, rel32, a.label("A")) })
	a.PutU8(0)
	a.CondBranch(0, 0, rel8, a.label("B"), nil)
	a.queues[0][rel8].uses = nil
	mustPanic(t, "lost use", func() { a.Bind(a.label("B")) })
}

func TestBadTargets(t *testing.T) {
	for i, edit := range []func(*TargetDesc){
		func(d *TargetDesc) { d.Kinds = nil },
		func(d *TargetDesc) { d.Kinds = make([]KindDesc, MaxKinds+1) },
		func(d *TargetDesc) { d.CodeAlign = 3 },
		func(d *TargetDesc) { d.Kinds[0].Patch = nil },
		func(d *TargetDesc) { d.Kinds[0].PatchSize = 9 },
		func(d *TargetDesc) { d.Kinds[0].Align = 0 },
		func(d *TargetDesc) { d.Kinds[0].VeneerSize = 5 },
		func(d *TargetDesc) {
			d.Kinds[1].VeneerSize, d.Kinds[1].EmitVeneer = 5, func([]byte) {}
		},
		func(d *TargetDesc) {
			k := &d.Kinds[0]
			k.VeneerSize, k.Veneer, k.VeneerUse, k.EmitVeneer = 5, 1, 2, func([]byte) {}
		},
		func(d *TargetDesc) { d.Jump = Form{} },
	} {
		d := x64Desc()
		edit(&d)
		if _, err := NewTarget(d); err == nil {
			t.Errorf("case %d: no error", i)
		}
	}
	if name := newTarget(t, x64Desc()).Kind(rel32).Name; name != "rel32" {
		t.Errorf("kind %q", name)
	}
}

// An inversion that no form can express safely is not done.
func TestInversionRefused(t *testing.T) {
	a := newAsm(t)
	one := CondForms{N: 1}
	one.Same[0], one.Inverted[0] = jccForm(rel8, 4), jccForm(rel8, 5)
	a.PutBytes([]byte{0x74, 0xff})
	a.CondBranch(0, 1, rel8, a.label("A"), &one)
	a.text("jmp B; A: nop; B: nop")
	one.Inverted[0] = jccForm(rel32, 5)
	at := a.Offset()
	a.PutBytes([]byte{0x74, 0xff})
	a.CondBranch(at, at+1, rel8, a.label("C"), &one)
	a.text("jmp8 D; C: nop; D: ret") // the only form is longer than the pair
	r, err := a.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if want := "je8 7; jmp 8; nop*2; je8 13; jmp8 14; nop*1; ret"; disasm(r.Code) != want {
		t.Errorf("%s\nwant %s", disasm(r.Code), want)
	}
}

// With too many labels at one place edits are skipped and the code stays right.
func TestManyLabels(t *testing.T) {
	for n := range 3 {
		a := newAsm(t)
		first := a.NewLabels(400)
		bind := func(from int) {
			for i := range 200 {
				a.Bind(first + Label(from+i))
			}
		}
		switch n {
		case 0:
			bind(0)
			a.text("jmp A; nop; B: nop; A: ret")
		case 1:
			a.text("je8 A; jmp B")
			bind(0)
			a.text("A: B: ret")
		case 2:
			a.text("jmp C")
			bind(0)
			a.text("jmp A; C:")
			bind(200)
			a.text("A: ret")
		}
		a.UseLabel(a.Offset(), rel32, first)
		a.UseLabel(a.Offset()+4, rel32, first+199)
		a.PutU64(0)
		if _, err := a.Finish(); err != nil {
			t.Error(err)
		}
	}
}
