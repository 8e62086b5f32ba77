package objfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/internal/reloc"
)

// sampleA64 is an object whose function f refers to its data in every way that code can, calls the undefined helper
// with what it loads, and returns what that returns; g jumps to f.
func sampleA64() *Object {
	o := &Object{Machine: AArch64}
	code := []uint32{
		0xd503245f, // f: bti c
		0xa9bf7bfd, // stp x29, x30, [sp, #-16]!
		0x910003fd, // mov x29, sp
		0x90000009, // adrp x9, data
		0x9100012a, // add x10, x9, #:lo12:data+1
		0x39400120, // ldrb w0, [x9, #:lo12:data+3]
		0x79400121, // ldrh w1, [x9, #:lo12:data+6]
		0xb9400122, // ldr w2, [x9, #:lo12:data+12]
		0xf9400123, // ldr x3, [x9, #:lo12:data+8]
		0x3dc00120, // ldr q0, [x9, #:lo12:data+16]
		0xaa0a03e4, // mov x4, x10
		0x94000000, // bl helper
		0xa8c17bfd, // ldp x29, x30, [sp], #16
		0xd65f03c0, // ret
		0x00000000, // udf #0
		0x00000000,
		0xd503245f, // g: bti c
		0x14000000, // b f
	}
	var text []byte
	for _, w := range code {
		text = binary.LittleEndian.AppendUint32(text, w)
	}
	data := make([]byte, 64)
	for i := range 32 {
		data[i] = byte(i + 0x10)
	}
	secText := o.AddSection(Section{Name: ".text", Flags: Alloc | Exec, Align: 16, Data: text})
	secData := o.AddSection(Section{Name: ".data", Flags: Alloc | Write, Align: 16, Data: data})
	ro := o.AddSection(Section{Name: ".rodata", Flags: Alloc, Align: 8, Data: make([]byte, 16)})
	o.AddSection(StackNote())
	o.AddSection(BTINote())
	symText := o.AddSymbol(Symbol{Kind: SectionSym, Section: secText})
	symData := o.AddSymbol(Symbol{Kind: SectionSym, Section: secData})
	f := o.AddSymbol(Symbol{Name: "f", Kind: Func, Section: secText, Size: 56, Binding: Global})
	g := o.AddSymbol(Symbol{Name: "g", Kind: Func, Section: secText, Value: 64, Size: 8, Binding: Global})
	help := o.AddSymbol(Symbol{Name: "helper", Section: Undefined, Binding: Global})
	o.AddSymbol(Symbol{Name: "data", Kind: Data, Section: secData, Size: 64, Binding: Global})
	o.AddSymbol(Symbol{Name: "distance", Kind: Data, Section: ro, Size: 16, Binding: Global})
	o.Sections[secText].Relocs = []Reloc{{12, reloc.Page21, symData, 0}, {16, reloc.AddLo12, symData, 1}, {20, reloc.Ldst8Lo12, symData, 3},
		{24, reloc.Ldst16Lo12, symData, 6}, {28, reloc.Ldst32Lo12, symData, 12}, {32, reloc.Ldst64Lo12, symData, 8}, {36, reloc.Ldst128Lo12, symData, 16},
		{44, reloc.Call26, help, 0}, {68, reloc.Jump26, f, 0}}
	o.Sections[secData].Relocs = []Reloc{{32, reloc.Abs64, f, 0}, {40, reloc.Abs64, symText, 64}}
	o.Sections[ro].Relocs = []Reloc{{0, reloc.PC32, symText, 4}, {8, reloc.PC64, g, 8}}
	o.AddSection(EHFrame(&testCFIA64, []Frame{{Symbol: symText, Size: 56, HasFrame: true, Prologue: 4},
		{Symbol: symText, Addend: 64, Size: 8}}))
	return o
}

// testCFIA64 is of frames with stp x29, x30, [sp, #-16]!; mov x29, sp.
var testCFIA64 = abi.CFI{CodeAlign: 4, ReturnAddress: 30, Entry: []abi.CFIRule{{Kind: abi.CFAIs, Reg: 31}},
	Steps: []abi.CFIStep{
		{Bytes: 4, Rules: []abi.CFIRule{{Kind: abi.CFAOffset, Offset: 16}, {Kind: abi.SavedAt, Reg: 29, Offset: -16}, {Kind: abi.SavedAt, Reg: 30, Offset: -8}}},
		{Bytes: 4, Rules: []abi.CFIRule{{Kind: abi.CFARegister, Reg: 29}}}},
}

const driverA64 = `
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unwind.h>

typedef uint8_t v16 __attribute__((vector_size(16)));
extern uint64_t f(void), g(void);
extern unsigned char data[];
extern const struct { int32_t f, pad; int64_t g; } distance;

int main(void);
static int frames, seen;

static _Unwind_Reason_Code visit(struct _Unwind_Context *c, void *arg)
{
	(void)arg;
	frames++;
	void *start = _Unwind_FindEnclosingFunction((void *)_Unwind_GetIP(c));
	if (start == (void *)f && frames == 2)
		seen |= 1;
	if (start == (void *)main && frames == 3)
		seen |= 2;
	return _URC_NO_REASON;
}

uint64_t helper(uint64_t b, uint64_t h, uint64_t w, uint64_t d, unsigned char *at, v16 q)
{
	uint64_t want_d, ok;
	memcpy(&want_d, data + 8, 8);
	ok = b == 0x13 && h == 0x1716 && w == 0x1f1e1d1c && d == want_d && at == data + 1 && !memcmp(&q, data + 16, 16);
	frames = seen = 0;
	_Unwind_Backtrace(visit, 0);
	return ok ? 100 + seen : 0;
}

int main(void)
{
	uint64_t (*p)(void), (*r)(void);
	memcpy(&p, data + 32, 8);
	memcpy(&r, data + 40, 8);
	if (p != f || r != g)
		return 1;
	if ((const char *)&distance.f + distance.f != (const char *)f + 4 || (const char *)&distance.g + distance.g != (const char *)g + 8)
		return 2;
	printf("%d %d %d\n", (int)f(), (int)g(), (int)r());
	return 0;
}
`

// tool finds a program that the test needs. Without it the test is skipped, but on the build server it fails.
func tool(t *testing.T, name string) string {
	t.Helper()
	p, err := exec.LookPath(name)
	if err == nil {
		return p
	}
	testenv.Missing(t, name+" is not installed")
	return ""
}

func runTool(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(tool(t, name), args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

func TestRoundTripA64(t *testing.T) {
	o := sampleA64()
	b, err := o.AppendELF(nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadELF(b)
	if err != nil {
		t.Fatal(err)
	}
	again, err := got.AppendELF(nil)
	if err != nil || !bytes.Equal(b, again) {
		t.Error("reading and writing changes the file", err)
	}
	for i := range o.Sections {
		if o.Digest(SectionIndex(i)) != got.Digest(SectionIndex(i)) {
			t.Errorf("digest of %s differs", o.Sections[i].Name)
		}
	}
	for want, change := range map[string]func(*Object){
		"not of an instruction":             func(o *Object) { o.Sections[0].Relocs[0].Offset = 14 },
		"is outside":                        func(o *Object) { o.Sections[0].Relocs[0].Offset = 72 },
		"does not exist on this machine":    func(o *Object) { o.Machine = X86_64 },
		"kind 2 does not exist on this mac": func(o *Object) { o.Sections[2].Relocs[0].Kind = reloc.Call32 },
	} {
		o := sampleA64()
		change(o)
		var e *Error
		if _, err := o.AppendELF(nil); !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestRelocsA64: what relocations make of the sections is what ld makes of them.
func TestRelocsA64(t *testing.T) {
	dir := t.TempDir()
	obj, exe, bin := filepath.Join(dir, "a.o"), filepath.Join(dir, "a"), filepath.Join(dir, "a.bin")
	o := sampleA64()
	b, err := o.AppendELF(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(obj, b, 0o666); err != nil {
		t.Fatal(err)
	}
	const text, helper = 0x40000000, 0x43210000
	at := map[SectionIndex]uint64{o.SectionIndex(".text"): text, o.SectionIndex(".rodata"): 0x40010000, o.SectionIndex(".data"): 0x40020000}
	args := []string{"--fatal-warnings", "-e", "f", "-o", exe, "-Ttext=" + hexOf(text), "--defsym=helper=" + hexOf(helper), obj}
	for s, address := range at {
		args = append(args, "--section-start="+o.Sections[s].Name+"="+hexOf(address))
	}
	runTool(t, "aarch64-linux-gnu-ld", args...)
	for i, address := range at {
		s := &o.Sections[i]
		runTool(t, "aarch64-linux-gnu-objcopy", "-O", "binary", "--only-section="+s.Name, exe, bin)
		want, err := os.ReadFile(bin)
		if err != nil {
			t.Fatal(err)
		}
		for n := range s.Relocs {
			target := uint64(helper)
			if sym := &o.Symbols[s.Relocs[n].Symbol]; sym.Section != Undefined {
				target = at[sym.Section] + sym.Value
			}
			if !s.Relocs[n].Apply(s.Data, address, target) {
				t.Errorf("%s: relocation %d does not reach", s.Name, n)
			}
		}
		if !bytes.Equal(s.Data, want) {
			t.Errorf("%s:\n%x, ld has\n%x", s.Name, s.Data, want)
		}
	}
}

func hexOf(x uint64) string {
	b := binary.BigEndian.AppendUint64(nil, x)
	const digits = "0123456789abcdef"
	s := "0x"
	for _, c := range b {
		s += string(digits[c>>4]) + string(digits[c&15])
	}
	return s
}

// TestRunA64 has other tools read and link the sample, and runs it; its helper finds its way back through f's frame.
func TestRunA64(t *testing.T) {
	dir := t.TempDir()
	obj, src, exe := filepath.Join(dir, "a.o"), filepath.Join(dir, "main.c"), filepath.Join(dir, "a")
	b, err := sampleA64().AppendELF(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{obj: b, src: []byte(driverA64)} {
		if err := os.WriteFile(name, b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	out := runTool(t, "aarch64-linux-gnu-readelf", "-aW", obj)
	if s := strings.ToLower(out); strings.Contains(s, "warning") || strings.Contains(s, "error") || strings.Contains(s, "corrupt") {
		t.Errorf("readelf:\n%s", out)
	}
	for _, want := range []string{"AArch64 feature: BTI", "R_AARCH64_ADR_PREL_PG_HI21", "R_AARCH64_ADD_ABS_LO12_NC", "R_AARCH64_LDST8_ABS_LO12_NC",
		"R_AARCH64_LDST16_ABS_LO12_NC", "R_AARCH64_LDST32_ABS_LO12_NC", "R_AARCH64_LDST64_ABS_LO12_NC", "R_AARCH64_LDST128_ABS_LO12_NC",
		"R_AARCH64_CALL26", "R_AARCH64_JUMP26", "R_AARCH64_ABS64", "R_AARCH64_PREL32", "R_AARCH64_PREL64"} {
		if !strings.Contains(out, strings.TrimSuffix(want, "_NC")) {
			t.Errorf("readelf does not see %s", want)
		}
	}
	frames := runTool(t, "aarch64-linux-gnu-readelf", "--debug-dump=frames-interp", obj)
	for _, want := range []string{"sp+0", "sp+16", "x29+16", "c-16", "c-8"} {
		if !strings.Contains(frames, want) {
			t.Errorf("frames have no %s:\n%s", want, frames)
		}
	}
	if out := runTool(t, "aarch64-linux-gnu-objdump", "-dr", obj); strings.Contains(out, "undefined\n") {
		t.Errorf("objdump:\n%s", out)
	}
	for _, mode := range [][]string{{"-static", "-no-pie"}, {"-static-pie", "-fPIE"}} {
		args := append([]string{"-O1", "-Wall", "-Wextra", "-Wl,--fatal-warnings", "-o", exe, src, obj}, mode...)
		if out := runTool(t, "aarch64-linux-gnu-gcc", args...); out != "" {
			t.Errorf("%v: %s", mode, out)
		}
		if out := runTool(t, "qemu-aarch64", exe); out != "103 103 103\n" {
			t.Errorf("%v: %s", mode, out)
		}
	}
}
