package main

import (
	"debug/elf"
	"encoding/binary"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waot-project/waot/internal/proof/testenv"
)

// classified is instructions with the words that GNU as gives for them.
var classified = []struct {
	word uint32
	text string
	want class
}{
	{0xf9400420, "ldr x0, [x1, #8]", classLoad},
	{0xb8625820, "ldr w0, [x1, w2, uxtw #2]", classLoad},
	{0x385ffc20, "ldrb w0, [x1, #-1]!", classLoad},
	{0xb8804420, "ldrsw x0, [x1], #4", classLoad},
	{0x79c00420, "ldrsh w0, [x1, #2]", classLoad},
	{0xf85fd020, "ldur x0, [x1, #-3]", classLoad},
	{0xf9400be0, "ldr x0, [sp, #16]", classLoad | classStack},
	{0x58000040, "ldr x0, .+8", classLoad},
	{0x9800005d, "ldrsw x29, .+8", classLoad},
	{0x5c000040, "ldr d0, .+8", classLoad},
	{0x9c000080, "ldr q0, .+16", classLoad},
	{0x3dc00820, "ldr q0, [x1, #32]", classLoad},
	{0x3ce16ba0, "ldr q0, [x29, x1]", classLoad | classStack},
	{0x3c9f0fe0, "str q0, [sp, #-16]!", classStore | classStack},
	{0x3d400020, "ldr b0, [x1]", classLoad},
	{0xbc226820, "str s0, [x1, x2]", classStore},
	{0xfc1f0fa0, "str d0, [x29, #-16]!", classStore | classStack},
	{0x38224820, "strb w0, [x1, w2, uxtw]", classStore},
	{0x7900043f, "strh wzr, [x1, #2]", classStore},
	{0xf900003d, "str x29, [x1]", classStore},
	{0xb81fc3e0, "stur w0, [sp, #-4]", classStore | classStack},
	{0xb8000820, "sttr w0, [x1]", classStore},
	{0xb8400820, "ldtr w0, [x1]", classLoad},
	{0xa8c27bfd, "ldp x29, x30, [sp], #32", classLoad | classPair | classStack},
	{0xa9be7bfd, "stp x29, x30, [sp, #-32]!", classStore | classPair | classStack},
	{0x69400440, "ldpsw x0, x1, [x2]", classLoad | classPair},
	{0xac400440, "ldnp q0, q1, [x2]", classLoad | classPair},
	{0x6d0127a8, "stp d8, d9, [x29, #16]", classStore | classPair | classStack},
	{0x28010440, "stnp w0, w1, [x2, #8]", classStore | classPair},
	{0x4c407000, "ld1 {v0.16b}, [x0]", classLoad},
	{0x4c9fa800, "st1 {v0.4s, v1.4s}, [x0], #32", classStore},
	{0x4d40c800, "ld1r {v0.4s}, [x0]", classLoad},
	{0x0d009000, "st1 {v0.s}[1], [x0]", classStore},
	{0x885f7c20, "ldxr w0, [x1]", classLoad},
	{0xc87f8440, "ldaxp x0, x1, [x2]", classLoad},
	{0xc800fc41, "stlxr w0, x1, [x2]", classStore},
	{0xc8200861, "stxp w0, x1, x2, [x3]", classStore},
	{0xc8dffc20, "ldar x0, [x1]", classLoad},
	{0x889fffe0, "stlr w0, [sp]", classStore | classStack},
	{0xb8bfc020, "ldapr w0, [x1]", classLoad},
	{0xd95f8020, "ldapur x0, [x1, #-8]", classLoad},
	{0x999f8020, "ldapursw x0, [x1, #-8]", classLoad},
	{0x99004020, "stlur w0, [x1, #4]", classStore},
	{0xb8200041, "ldadd w0, w1, [x2]", classLoad | classStore},
	{0xf8e06041, "ldumaxal x0, x1, [x2]", classLoad | classStore},
	{0x38a08041, "swpab w0, w1, [x2]", classLoad | classStore},
	{0xf820303f, "stset x0, [x1]", classLoad | classStore},
	{0x88a07c41, "cas w0, w1, [x2]", classLoad | classStore},
	{0x48e0fc41, "casalh w0, w1, [x2]", classLoad | classStore},
	{0x48207c82, "casp x0, x1, x2, x3, [x4]", classLoad | classStore},
	{0xf8201420, "ldraa x0, [x1, #8]", classLoad},
	{0xf98007e0, "prfm pldl1keep, [sp, #8]", 0},
	{0xd8000040, "prfm pldl1keep, .+8", 0},
	{0xf89ff000, "prfum pldl1keep, [x0, #-1]", 0},
	{0xf8a16800, "prfm pldl1keep, [x0, x1]", 0},
	{0xd5033bbf, "dmb ish", 0},
	{0x90000000, "adrp x0, .", 0},
	{0x14000002, "b .+8", classBranch},
	{0x97fffffe, "bl .-8", classBranch},
	{0x54000041, "b.ne .+8", classBranch},
	{0x34000040, "cbz w0, .+8", classBranch},
	{0xb5ffffc0, "cbnz x0, .-8", classBranch},
	{0x36180040, "tbz w0, #3, .+8", classBranch},
	{0xb7f80040, "tbnz x0, #63, .+8", classBranch},
	{0xd61f0000, "br x0", classBranch},
	{0xd63f0000, "blr x0", classBranch},
	{0xd65f03c0, "ret", classBranch},
	{0xd65f0bff, "retaa", classBranch},
	{0xd4200020, "brk #1", 0},
	{0xd4000001, "svc #0", 0},
	{0xd503201f, "nop", 0},
	{0xd503245f, "bti c", 0},
	{0xd503233f, "paciasp", 0},
	{0xaa0103e0, "mov x0, x1", classMove},
	{0x2a0103e0, "mov w0, w1", classMove},
	{0x910003e0, "mov x0, sp", classMove},
	{0x910003bf, "mov sp, x29", classMove},
	{0x4ea11c20, "mov v0.16b, v1.16b", classMove},
	{0x0ea11c20, "mov v0.8b, v1.8b", classMove},
	{0x1e204020, "fmov s0, s1", classMove},
	{0x1e604020, "fmov d0, d1", classMove},
	{0xd2800020, "mov x0, #1", 0},
	{0xaa1f03e0, "mov x0, xzr", 0},
	{0xf2a00020, "movk x0, #1, lsl #16", 0},
	{0xaa020020, "orr x0, x1, x2", 0},
	{0xaa0107e0, "orr x0, xzr, x1, lsl #1", 0},
	{0xaa2103e0, "mvn x0, x1", 0},
	{0x4ea21c20, "orr v0.16b, v1.16b, v2.16b", 0},
	{0x91000020, "add x0, x1, #0", 0},
	{0x910043e0, "add x0, sp, #16", 0},
	{0xb1000020, "adds x0, x1, #0", 0},
	{0xd10043ff, "sub sp, sp, #16", 0},
	{0x9e660000, "fmov x0, d0", 0},
	{0x9e670000, "fmov d0, x0", 0},
	{0x1e6e1000, "fmov d0, #1.0", 0},
	{0x1e60c020, "fabs d0, d1", 0},
	{0x1e214020, "fneg s0, s1", 0},
	{0x1e22c020, "fcvt d0, s1", 0},
	{0x1e61c020, "fsqrt d0, d1", 0},
	{0x9a820020, "csel x0, x1, x2, eq", 0},
	{0xfa410000, "ccmp x0, x1, #0, eq", 0},
	{0x9b020c20, "madd x0, x1, x2, x3", 0},
	{0x53031820, "ubfx w0, w1, #3, #4", 0},
	{0x4ea28420, "add v0.4s, v1.4s, v2.4s", 0},
	{0x0e205800, "cnt v0.8b, v0.8b", 0},
	{0x0e0c3c00, "umov w0, v0.s[1]", 0},
	{0x4e040c00, "dup v0.4s, w0", 0},
	{0x93407c20, "sxtw x0, w1", 0},
	{0x53001c20, "uxtb w0, w1", 0},
}

func TestClassify(t *testing.T) {
	for _, c := range classified {
		if got := classify(c.word); got != c.want {
			t.Errorf("%#08x, %s: %#b, want %#b", c.word, c.text, got, c.want)
		}
	}
}

// need skips a test where a program that it executes is not installed, or fails it if that must not be.
func need(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			testenv.Missing(t, err.Error())
		}
	}
}

// TestWords demands that the words of classified are right.
func TestWords(t *testing.T) {
	const assembler = "aarch64-linux-gnu-as"
	need(t, assembler)
	var text strings.Builder
	text.WriteString(".arch armv8.5-a+lse\n")
	for _, c := range classified {
		text.WriteString(c.text + "\n")
	}
	object := filepath.Join(t.TempDir(), "words.o")
	c := exec.Command(assembler, "-o", object, "-")
	c.Stdin = strings.NewReader(text.String())
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f, err := elf.Open(object)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	code, err := f.Section(".text").Data()
	if err != nil {
		t.Fatal(err)
	}
	if len(code) != 4*len(classified) {
		t.Fatalf("%d bytes of code for %d instructions", len(code), len(classified))
	}
	for i, c := range classified {
		if got := binary.LittleEndian.Uint32(code[4*i:]); got != c.word {
			t.Errorf("%s is %#08x, not %#08x", c.text, got, c.word)
		}
	}
}
