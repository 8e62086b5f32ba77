package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestReadTranslations(t *testing.T) {
	got, err := readTranslations(strings.NewReader("1000 a 1 e00301aac0035fd6\nffff0 10 0 c0035fd6\nend\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []translation{
		{0x1000, 10, 1, []uint32{0xaa0103e0, 0xd65f03c0}},
		{0xffff0, 16, 0, []uint32{0xd65f03c0}},
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(translation{})); d != "" {
		t.Error(d)
	}
	for _, bad := range []string{"", "1000 a 1 c0035fd6\n", "1000 a 1\nend\n", "1000 a 1 c0035f\nend\n", "1000 a 1 zz\nend\n", "x a 1 c0035fd6\nend\n"} {
		if _, err := readTranslations(strings.NewReader(bad)); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	if _, err := readTranslations(strings.NewReader("1000 a 1 c0035fd6\n")); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the error of a list that is not complete is %v", err)
	}
}

// Words of instructions.
const (
	wordPush = 0xa9be7bfd // stp x29, x30, [sp, #-32]!
	wordLoad = 0xb8625820 // ldr w0, [x1, w2, uxtw #2]
	wordSub  = 0xf1000463 // subs x3, x3, #1
	wordLoop = 0x54ffffc1 // b.ne .-8
	wordMove = 0xaa0103e0 // mov x0, x1
	wordRet  = 0xd65f03c0 // ret
)

// translated is a function with a loop of ten rounds, called twice; the emulator
// translates the loop again where it is entered by its branch.
func translated() []translation {
	return []translation{
		{0x1000, 2, 2, []uint32{wordPush, wordLoad, wordSub, wordLoop}},
		{0x1004, 18, 18, []uint32{wordLoad, wordSub, wordLoop}},
		{0x1010, 2, 0, []uint32{wordMove, wordRet}},
	}
}

func TestSum(t *testing.T) {
	want := counts{
		Instructions: 2 + 20*3 + 2*2, Loads: 20, Stores: 2, Stack: 2, Pairs: 2, Moves: 2, Branches: 20 + 2, Taken: 2 + 18,
	}
	if d := cmp.Diff(want, executedIn(translated())); d != "" {
		t.Error(d)
	}
}

func TestHottest(t *testing.T) {
	want := []block{
		{0x1004, 20, []uint32{wordLoad, wordSub, wordLoop}},
		{0x1010, 2, []uint32{wordMove, wordRet}},
		{0x1000, 2, []uint32{wordPush}},
	}
	if d := cmp.Diff(want, hottest(translated(), 9), cmp.AllowUnexported(block{})); d != "" {
		t.Error(d)
	}
	if n := len(hottest(translated(), 1)); n != 1 {
		t.Errorf("%d blocks, not 1", n)
	}
}

// counted is a program with generated code: a loop of 1,000 rounds in which a call
// leads out of it each time, a branch over one instruction that is taken in all rounds but
// the last, and accesses to the stack.
const counted = `
	.globl _start
	.text
outside:
	add x1, x1, #1
	ret
_start:
	bl inside
	mov x0, #0
	mov x8, #94
	svc #0
	.section generated, "ax"
inside:
	stp x29, x30, [sp, #-16]!
	mov x29, sp
	mov x19, #1000
1:	bl outside
	subs x19, x19, #1
	b.ne 2f
	nop
2:	str x19, [sp, #-16]!
	ldr x20, [sp], #16
	cbnz x19, 1b
	mov x0, x20
	ldp x29, x30, [sp], #16
	ret
`

// TestPlugin counts a program whose counts are known.
func TestPlugin(t *testing.T) {
	const gcc = "aarch64-linux-gnu-gcc"
	need(t, "qemu-aarch64", "gcc", gcc)
	b := &builder{dir: t.TempDir()}
	plugin, err := b.plugin()
	if err != nil {
		t.Fatal(err)
	}
	source, file := b.path("counted.s"), b.path("counted")
	if err := os.WriteFile(source, []byte(counted), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := command(b.dir, nil, gcc, "-nostdlib", "-static", "-o", file, source); err != nil {
		t.Fatal(err)
	}
	generated, err := sectionOf(file, generatedSection)
	if err != nil {
		t.Fatal(err)
	}
	all, err := codeOf(file)
	if err != nil {
		t.Fatal(err)
	}
	s := &session{config: &config{emulator: "qemu-aarch64", timeout: 10 * time.Minute}, builder: b, plugin: plugin}
	m := &module{name: "counted", file: filepath.Join(b.dir, "modules", "counted.wasm")}
	if err := os.Mkdir(filepath.Dir(m.file), 0o777); err != nil {
		t.Fatal(err)
	}
	inside := counts{
		Instructions: 3 + 1000*6 + 1 + 3, Loads: 1000 + 1, Stores: 1000 + 1, Stack: 2*1000 + 2, Pairs: 2, Moves: 2,
		Branches: 3*1000 + 1,
		// In: the entry; b.ne and cbnz but for the last round. What comes back from a call comes from the instruction before.
		Taken: 1 + 999 + 999,
	}
	for _, c := range []struct {
		name string
		program
		want counts
	}{
		{"only", program{generated: generated}, inside},
		{"skip the rest", program{host: []addressRange{{all[0].lo, generated.lo}, {generated.hi, generated.hi + 1<<20}}}, inside},
		{"skip everything", program{host: all}, counts{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.argv = []string{file}
			got, err := s.execute(m, &c.program)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, executedIn(got)); d != "" {
				t.Error(d)
			}
		})
	}
	m.stdout = []byte("something")
	if _, err := s.execute(m, &program{argv: []string{file}, generated: generated}); err == nil {
		t.Error("an output that is not the expected one is accepted")
	}
}
