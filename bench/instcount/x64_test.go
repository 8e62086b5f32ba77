package main

import (
	"bytes"
	"debug/elf"
	"encoding/hex"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// classifiedX64 is instructions with the bytes that GNU as gives for them.
var classifiedX64 = []struct {
	code, text string
	want       class
}{
	{"488b4108", "mov rax, [rcx + 8]", classLoad},
	{"8b0491", "mov eax, [rcx + rdx*4]", classLoad},
	{"488945f8", "mov [rbp - 8], rax", classStore | classStack},
	{"488b442410", "mov rax, [rsp + 16]", classLoad | classStack},
	{"498b0424", "mov rax, [r12]", classLoad},
	{"498b4500", "mov rax, [r13]", classLoad},
	{"4188442408", "mov [r12 + 8], al", classStore},
	{"488b44cdc0", "mov rax, [rbp + rcx*8 - 64]", classLoad | classStack},
	{"488b04cd40000000", "mov rax, [rcx*8 + 64]", classLoad},
	{"488b0564000000", "mov rax, [rip + 100]", classLoad},
	{"c70107000000", "mov dword ptr [rcx], 7", classStore},
	{"c60107", "mov byte ptr [rcx], 7", classStore},
	{"0fb601", "movzx eax, byte ptr [rcx]", classLoad},
	{"480fbf01", "movsx rax, word ptr [rcx]", classLoad},
	{"486301", "movsxd rax, dword ptr [rcx]", classLoad},
	{"488d442408", "lea rax, [rsp + 8]", 0},
	{"480301", "add rax, [rcx]", classLoad},
	{"480101", "add [rcx], rax", classLoad | classStore},
	{"48830101", "add qword ptr [rcx], 1", classLoad | classStore},
	{"483901", "cmp [rcx], rax", classLoad},
	{"483b01", "cmp rax, [rcx]", classLoad},
	{"8139e8030000", "cmp dword ptr [rcx], 1000", classLoad},
	{"f60101", "test byte ptr [rcx], 1", classLoad},
	{"48f711", "not qword ptr [rcx]", classLoad | classStore},
	{"f719", "neg dword ptr [rcx]", classLoad | classStore},
	{"48f721", "mul qword ptr [rcx]", classLoad},
	{"48f739", "idiv qword ptr [rcx]", classLoad},
	{"ff01", "inc dword ptr [rcx]", classLoad | classStore},
	{"d321", "shl dword ptr [rcx], cl", classLoad | classStore},
	{"c12903", "shr dword ptr [rcx], 3", classLoad | classStore},
	{"480faf01", "imul rax, [rcx]", classLoad},
	{"486b0164", "imul rax, [rcx], 100", classLoad},
	{"480f4401", "cmove rax, [rcx]", classLoad},
	{"0f9501", "setne byte ptr [rcx]", classStore},
	{"488701", "xchg [rcx], rax", classLoad | classStore},
	{"f0480fb101", "lock cmpxchg [rcx], rax", classLoad | classStore},
	{"f00fc101", "lock xadd [rcx], eax", classLoad | classStore},
	{"0fa301", "bt [rcx], eax", classLoad},
	{"0fba2903", "bts dword ptr [rcx], 3", classLoad | classStore},
	{"0fb301", "btr [rcx], eax", classLoad | classStore},
	{"f3480fb801", "popcnt rax, [rcx]", classLoad},
	{"f30fbd01", "lzcnt eax, [rcx]", classLoad},
	{"f30fbc01", "tzcnt eax, [rcx]", classLoad},
	{"480f38f001", "movbe rax, [rcx]", classLoad},
	{"480f38f101", "movbe [rcx], rax", classStore},
	{"f20f38f101", "crc32 eax, dword ptr [rcx]", classLoad},
	{"53", "push rbx", classStore | classStack},
	{"4154", "push r12", classStore | classStack},
	{"6a08", "push 8", classStore | classStack},
	{"ff31", "push qword ptr [rcx]", classLoad | classStore},
	{"5b", "pop rbx", classLoad | classStack},
	{"415f", "pop r15", classLoad | classStack},
	{"c9", "leave", classLoad | classStack},
	{"f30f1001", "movss xmm0, [rcx]", classLoad},
	{"f30f1101", "movss [rcx], xmm0", classStore},
	{"f2440f104c2408", "movsd xmm9, [rsp + 8]", classLoad | classStack},
	{"0f1101", "movups [rcx], xmm0", classStore},
	{"0f1001", "movups xmm0, [rcx]", classLoad},
	{"0f2801", "movaps xmm0, [rcx]", classLoad},
	{"f30f6f01", "movdqu xmm0, [rcx]", classLoad},
	{"f30f7f01", "movdqu [rcx], xmm0", classStore},
	{"660f6e01", "movd xmm0, dword ptr [rcx]", classLoad},
	{"660f7e01", "movd dword ptr [rcx], xmm0", classStore},
	{"f30f7e01", "movq xmm0, qword ptr [rcx]", classLoad},
	{"660fd601", "movq qword ptr [rcx], xmm0", classStore},
	{"f20f5801", "addsd xmm0, [rcx]", classLoad},
	{"660f2e01", "ucomisd xmm0, [rcx]", classLoad},
	{"f2480f2a01", "cvtsi2sd xmm0, qword ptr [rcx]", classLoad},
	{"f20f5101", "sqrtsd xmm0, [rcx]", classLoad},
	{"660f380001", "pshufb xmm0, [rcx]", classLoad},
	{"660f3a140103", "pextrb byte ptr [rcx], xmm0, 3", classStore},
	{"660f3a160103", "pextrd dword ptr [rcx], xmm0, 3", classStore},
	{"660f3a220103", "pinsrd xmm0, dword ptr [rcx], 3", classLoad},
	{"660f3a170103", "extractps dword ptr [rcx], xmm0, 3", classStore},
	{"c5f35801", "vaddsd xmm0, xmm1, [rcx]", classLoad},
	{"c4c178100424", "vmovups xmm0, [r12]", classLoad},
	{"c4c178114500", "vmovups [r13 + 0], xmm0", classStore},
	{"c5fa6f0424", "vmovdqu xmm0, [rsp]", classLoad | classStack},
	{"c57a1109", "vmovss [rcx], xmm9", classStore},
	{"c4e379150103", "vpextrw word ptr [rcx], xmm0, 3", classStore},
	{"c4e2791801", "vbroadcastss xmm0, dword ptr [rcx]", classLoad},
	{"c4e2f1b901", "vfmadd231sd xmm0, xmm1, [rcx]", classLoad},
	{"c4e2e9f701", "shlx rax, [rcx], rdx", classLoad},
	{"c4e3fbf00103", "rorx rax, [rcx], 3", classLoad},
	{"c57829c8", "vmovaps xmm0, xmm9", classMove},
	{"c5f1fec2", "vpaddd xmm0, xmm1, xmm2", 0},
	{"4889c8", "mov rax, rcx", classMove},
	{"4489c8", "mov eax, r9d", classMove},
	{"0f28c1", "movaps xmm0, xmm1", classMove},
	{"660f6fc1", "movdqa xmm0, xmm1", classMove},
	{"f30f7ec1", "movq xmm0, xmm1", classMove},
	{"66480f7ec0", "movq rax, xmm0", 0},
	{"f20f10c1", "movsd xmm0, xmm1", 0},
	{"0fb6c1", "movzx eax, cl", 0},
	{"4863c1", "movsxd rax, ecx", 0},
	{"eb00", "jmp .+2", classBranch},
	{"e9e3030000", "jmp .+1000", classBranch},
	{"7400", "je .+2", classBranch},
	{"0f84e2030000", "je .+1000", classBranch},
	{"e800000000", "call .+5", classBranch},
	{"ffd0", "call rax", classBranch},
	{"ff11", "call [rcx]", classLoad | classBranch},
	{"ffe0", "jmp rax", classBranch},
	{"ff24c8", "jmp [rax + rcx*8]", classLoad | classBranch},
	{"c3", "ret", classBranch},
	{"c21000", "ret 16", classBranch},
	{"01c8", "add eax, ecx", 0},
	{"05e8030000", "add eax, 1000", 0},
	{"83c101", "add ecx, 1", 0},
	{"3c03", "cmp al, 3", 0},
	{"a9e8030000", "test eax, 1000", 0},
	{"85c8", "test eax, ecx", 0},
	{"b9e8030000", "mov ecx, 1000", 0},
	{"48b88877665544332211", "movabs rax, 0x1122334455667788", 0},
	{"0fafc1", "imul eax, ecx", 0},
	{"4899", "cqo", 0},
	{"4898", "cdqe", 0},
	{"91", "xchg ecx, eax", 0},
	{"90", "nop", 0},
	{"0f1f4008", "nop dword ptr [rax + 8]", 0},
	{"0f1809", "prefetcht0 [rcx]", 0},
	{"f30f1efa", "endbr64", 0},
	{"0f0b", "ud2", 0},
	{"cc", "int3", 0},
	{"f30fbdc1", "lzcnt eax, ecx", 0},
	{"0f94c0", "sete al", 0},
	{"c1e003", "shl eax, 3", 0},
	{"480fc8", "bswap rax", 0},
	{"f3a4", "rep movsb", classLoad | classStore},
	{"f348ab", "rep stosq", classStore},
}

func TestClassifyX64(t *testing.T) {
	for _, c := range classifiedX64 {
		code, err := hex.DecodeString(c.code)
		if err != nil {
			t.Fatal(err)
		}
		if got := classifyX64(code); got != c.want {
			t.Errorf("%s, %s: %#b, want %#b", c.code, c.text, got, c.want)
		}
		for n := range len(code) { // what is cut off has a class, too
			classifyX64(code[:n])
		}
	}
}

// TestBytesX64 demands that the bytes of classifiedX64 are right.
func TestBytesX64(t *testing.T) {
	assembler := x64.tool("as")
	need(t, assembler)
	var text strings.Builder
	var want []byte
	for _, c := range classifiedX64 {
		text.WriteString(c.text + "\n")
		code, _ := hex.DecodeString(c.code)
		want = append(want, code...)
	}
	object := filepath.Join(t.TempDir(), "bytes.o")
	c := exec.Command(assembler, "-msyntax=intel", "-mnaked-reg", "-o", object, "-")
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
	if !bytes.Equal(code, want) {
		t.Errorf("the code is %x, not %x", code, want)
	}
}
