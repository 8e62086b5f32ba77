package main

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/bench/suite"
)

func TestReadTranslations(t *testing.T) {
	got, err := readTranslations(strings.NewReader("1000 a 1 e00301aa,c0035fd6\nffff0 10 0 c3\nend\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []translation{
		{0x1000, 10, 1, words(0xaa0103e0, 0xd65f03c0)},
		{0xffff0, 16, 0, [][]byte{{0xc3}}},
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(translation{})); d != "" {
		t.Error(d)
	}
	for _, bad := range []string{"", "1000 a 1 c0035fd6\n", "1000 a 1\nend\n", "1000 a 1 c0035fd6,\nend\n", "1000 a 1 zz\nend\n", "x a 1 c0035fd6\nend\n"} {
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

// a64 and x64 are the machines.
var a64, x64 = &machines[0], &machines[1]

// words are instructions of AArch64.
func words(list ...uint32) (code [][]byte) {
	for _, w := range list {
		code = append(code, binary.LittleEndian.AppendUint32(nil, w))
	}
	return code
}

// translated is a function with a loop of ten rounds, called twice; the emulator
// translates the loop again where it is entered by its branch.
func translated() []translation {
	return []translation{
		{0x1000, 2, 2, words(wordPush, wordLoad, wordSub, wordLoop)},
		{0x1004, 18, 18, words(wordLoad, wordSub, wordLoop)},
		{0x1010, 2, 0, words(wordMove, wordRet)},
	}
}

func TestSum(t *testing.T) {
	want := counts{
		Instructions: 2 + 20*3 + 2*2, Loads: 20, Stores: 2, Stack: 2, Pairs: 2, Moves: 2, Branches: 20 + 2, Taken: 2 + 18,
	}
	if d := cmp.Diff(want, a64.executedIn(translated())); d != "" {
		t.Error(d)
	}
}

func TestHottest(t *testing.T) {
	want := []block{
		{0x1004, 20, words(wordLoad, wordSub, wordLoop)},
		{0x1010, 2, words(wordMove, wordRet)},
		{0x1000, 2, words(wordPush)},
	}
	if d := cmp.Diff(want, a64.hottest(translated(), 9), cmp.AllowUnexported(block{})); d != "" {
		t.Error(d)
	}
	if n := len(a64.hottest(translated(), 1)); n != 1 {
		t.Errorf("%d blocks, not 1", n)
	}
}

// countedA64 and countedX64 are a program with generated code: a loop of 1,000 rounds in which a call
// leads out of it each time, a branch over one instruction that is taken in all rounds but
// the last, and accesses to the stack.
const countedA64 = `
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

const countedX64 = `
	.intel_syntax noprefix
	.globl _start
	.text
outside:
	add rax, 1
	ret
_start:
	call inside
	mov edi, 0
	mov eax, 231
	syscall
	.section generated, "ax"
inside:
	push rbp
	mov rbp, rsp
	mov ebx, 1000
1:	call outside
	sub ebx, 1
	jne 2f
	nop
2:	mov [rbp - 8], rbx
	mov rcx, [rbp - 8]
	test ebx, ebx
	jne 1b
	mov rax, rcx
	pop rbp
	ret
`

// TestPlugin counts a program whose counts are known.
func TestPlugin(t *testing.T) {
	inA64 := counts{
		Instructions: 3 + 1000*6 + 1 + 3, Loads: 1000 + 1, Stores: 1000 + 1, Stack: 2*1000 + 2, Pairs: 2, Moves: 2,
		Branches: 3*1000 + 1,
		// In: the entry; b.ne and cbnz but for the last round. What comes back from a call comes from the instruction before.
		Taken: 1 + 999 + 999,
	}
	inX64 := inA64
	inX64.Instructions += 1000
	inX64.Pairs = 0
	t.Run(a64.name, func(t *testing.T) { testPlugin(t, a64, countedA64, inA64) })
	t.Run(x64.name, func(t *testing.T) { testPlugin(t, x64, countedX64, inX64) })
}

func testPlugin(t *testing.T, on *machine, counted string, inside counts) {
	gcc, emulator := on.tool("gcc"), strings.Fields(on.emulator)[0]
	need(t, emulator, "gcc", gcc)
	b := &builder{dir: t.TempDir(), machine: on}
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
	s := &session{config: &config{emulator: emulator, timeout: 10 * time.Minute}, builder: b, plugin: plugin}
	m := &suite.Module{Name: "counted", File: filepath.Join(b.dir, "modules", "counted.wasm")}
	if err := os.Mkdir(filepath.Dir(m.File), 0o777); err != nil {
		t.Fatal(err)
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
			if d := cmp.Diff(c.want, on.executedIn(got)); d != "" {
				t.Error(d)
			}
		})
	}
	m.Stdout = []byte("something")
	if _, err := s.execute(m, &program{argv: []string{file}, generated: generated}); err == nil {
		t.Error("an output that is not the expected one is accepted")
	}
}
