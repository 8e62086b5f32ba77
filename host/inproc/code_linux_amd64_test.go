package inproc

import (
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/reloc"
)

// Machine code for the tests: sources in the comments, bytes from an assembler.
// Undefined symbols are what the builder of test images resolves; sites are {offset,
// code, fault, memory, source} of traps and {offset, source} of calls.
var testCode = map[string]testFunc{
	//	ret
	"init": {
		code: "c3",
	},
	//	push rbp
	//	mov rbp, rsp
	//	call [rip+import0]
	//	pop rbp
	//	ret
	"initcall": {
		code:   "554889e5ff15000000005dc3",
		fixups: []fixup{{6, "import0", -4, reloc.PC32}},
		calls:  []abi.CallSite{{Offset: 10, Src: 77}},
	},
	//	mov rax, [rip+table0]
	//	lea rcx, [rip+desc_answer]
	//	mov [rax], rcx
	//	ud2
	"inittrap": {
		code:   "488b0500000000488d0d000000004889080f0b",
		fixups: []fixup{{3, "table0", -4, reloc.PC32}, {10, "desc_answer", -4, reloc.PC32}},
		traps:  []abi.TrapSite{{Offset: 17, Code: 1, Fault: 0, Memory: 0, Src: 9}},
	},
	//	mov eax, 42
	//	ret
	"answer": {
		code: "b82a000000c3",
	},
	//	ret
	"leaf": {
		code: "c3",
	},
	//	push rbp
	//	mov rbp, rsp
	//	lea rdi, [rdi+rsi*2]
	//	lea rdi, [rdi+rdx*4]
	//	lea rdi, [rdi+rcx*8]
	//	imul r8, r8, 16
	//	add rdi, r8
	//	imul r9, r9, 32
	//	add rdi, r9
	//	imul rax, rax, 64
	//	add rdi, rax
	//	imul r10, r10, 128
	//	add rdi, r10
	//	imul rcx, [rbp+16], 256
	//	add rdi, rcx
	//	imul rcx, [rbp+24], 512
	//	lea rax, [rdi+rcx]
	//	pop rbp
	//	ret 16
	"ints10": {
		code: "554889e5488d3c77488d3c97488d3ccf4d6bc0104c01c74d6bc9204c01cf486bc0404801c74d69d2800000004c01d748694d10000100004801cf48694d1800020000488d040f5dc21000",
	},
	//	push rbp
	//	mov rbp, rsp
	//	addsd xmm1, xmm1
	//	addsd xmm0, xmm1
	//	mulsd xmm2, xmm3
	//	addsd xmm0, xmm2
	//	mulsd xmm4, xmm5
	//	addsd xmm0, xmm4
	//	mulsd xmm6, xmm7
	//	addsd xmm0, xmm6
	//	movsd xmm1, [rbp+16]
	//	subsd xmm1, [rbp+24]
	//	addsd xmm0, xmm1
	//	pop rbp
	//	ret 16
	"floats10": {
		code: "554889e5f20f58c9f20f58c1f20f59d3f20f58c2f20f59e5f20f58c4f20f59f7f20f58c6f20f104d10f20f5c4d18f20f58c15dc21000",
	},
	//	lea rax, [rsi+1]
	//	lea rdx, [rsi+2]
	//	lea rcx, [rsi+3]
	//	lea r8, [rsi+5]
	//	mov [rdi], r8
	//	lea r8, [rsi+6]
	//	mov [rdi+16], r8
	//	lea rsi, [rsi+4]
	//	movapd xmm5, xmm0
	//	addsd xmm5, xmm5
	//	movapd xmm1, xmm5
	//	addsd xmm1, xmm0
	//	movapd xmm2, xmm1
	//	addsd xmm2, xmm0
	//	movapd xmm3, xmm2
	//	addsd xmm3, xmm0
	//	movapd xmm4, xmm3
	//	addsd xmm4, xmm0
	//	movsd [rdi+8], xmm4
	//	movapd xmm0, xmm5
	//	ret
	"results11": {
		code: "488d4601488d5602488d4e034c8d46054c89074c8d46064c894710488d7604660f28e8f20f58ed660f28cdf20f58c8660f28d1f20f58d0660f28daf20f58d8660f28e3f20f58e0f20f116708660f28c5c3",
	},
	//	mov eax, edi
	//	pcmpeqd xmm1, xmm1
	//	movss xmm1, xmm0
	//	movapd xmm0, xmm1
	//	ret
	"narrow": {
		code: "89f8660f76c9f30f10c8660f28c1c3",
	},
	//	push rbp
	//	mov rbp, rsp
	//	call [rip+import0]
	//	pop rbp
	//	ret
	"pass": {
		code:   "554889e5ff15000000005dc3",
		fixups: []fixup{{6, "import0", -4, reloc.PC32}},
		calls:  []abi.CallSite{{Offset: 10, Src: 21}},
	},
	//	push rbp
	//	mov rbp, rsp
	//	push rbx
	//	push r12
	//	push r13
	//	push r14
	//	push r15
	//	sub rsp, 8
	//	mov rbx, 0x1111111111111111
	//	mov r12, 0x2222222222222222
	//	mov r13, 0x3333333333333333
	//	mov r14, 0x4444444444444444
	//	mov r15, 0x5555555555555555
	//	call [rip+import0]
	//	mov rcx, 0x1111111111111111
	//	cmp rcx, rbx
	//	jne 1f
	//	mov rcx, 0x2222222222222222
	//	cmp rcx, r12
	//	jne 1f
	//	mov rcx, 0x3333333333333333
	//	cmp rcx, r13
	//	jne 1f
	//	mov rcx, 0x4444444444444444
	//	cmp rcx, r14
	//	jne 1f
	//	mov rcx, 0x5555555555555555
	//	cmp rcx, r15
	//	jne 1f
	//	lea rcx, [rbp-48]
	//	cmp rcx, rsp
	//	jne 1f
	//	add rsp, 8
	//	pop r15
	//	pop r14
	//	pop r13
	//	pop r12
	//	pop rbx
	//	pop rbp
	//	ret
	// 1:
	//	ud2
	"saved": {
		code:   "554889e55341544155415641574883ec0848bb111111111111111149bc222222222222222249bd333333333333333349be444444444444444449bf5555555555555555ff150000000048b911111111111111114839d9755448b922222222222222224c39e1754548b933333333333333334c39e9753648b944444444444444444c39f1752748b955555555555555554c39f97518488d4dd04839e1750f4883c408415f415e415d415c5b5dc30f0b",
		fixups: []fixup{{69, "import0", -4, reloc.PC32}},
		traps:  []abi.TrapSite{{Offset: 172, Code: 1, Fault: 0, Memory: 0, Src: 33}},
		calls:  []abi.CallSite{{Offset: 73, Src: 31}},
	},
	//	push rbp
	//	mov rbp, rsp
	//	push rbx
	//	sub rsp, 104
	//	# hidden area of 4 words at rbp-48; 5 stack arguments (ints 8 9 10, floats 9 10), 48 bytes
	//	# at rsp = rbp-112
	//	lea rdi, [rbp-48]
	//	mov esi, 1
	//	mov edx, 2
	//	mov ecx, 3
	//	mov r8d, 4
	//	mov r9d, 5
	//	mov eax, 6
	//	mov r10d, 7
	//	mov qword ptr [rsp], 8
	//	mov qword ptr [rsp+8], 9
	//	mov qword ptr [rsp+16], 10
	//	mov r11d, 9
	//	cvtsi2sd xmm0, r11d
	//	movsd [rsp+24], xmm0
	//	mov r11d, 10
	//	cvtsi2sd xmm0, r11d
	//	movsd [rsp+32], xmm0
	//	mov r11d, 1
	//	cvtsi2sd xmm0, r11d
	//	mov r11d, 2
	//	cvtsi2sd xmm1, r11d
	//	mov r11d, 3
	//	cvtsi2sd xmm2, r11d
	//	mov r11d, 4
	//	cvtsi2sd xmm3, r11d
	//	mov r11d, 5
	//	cvtsi2sd xmm4, r11d
	//	mov r11d, 6
	//	cvtsi2sd xmm5, r11d
	//	mov r11d, 7
	//	cvtsi2sd xmm6, r11d
	//	mov r11d, 8
	//	cvtsi2sd xmm7, r11d
	//	lea rbx, [rsp+48]
	//	call [rip+import0]
	//	cmp rbx, rsp
	//	jne 9f
	//	lea rax, [rax+rdx*2]
	//	lea rcx, [rcx+rcx*2]
	//	add rax, rcx
	//	lea rax, [rax+rsi*4]
	//	imul rcx, [rbp-48], 5
	//	add rax, rcx
	//	imul rcx, [rbp-40], 6
	//	add rax, rcx
	//	addsd xmm0, xmm1
	//	addsd xmm0, xmm1
	//	mov ecx, 3
	//	cvtsi2sd xmm5, ecx
	//	mulsd xmm2, xmm5
	//	addsd xmm0, xmm2
	//	mov ecx, 4
	//	cvtsi2sd xmm5, ecx
	//	mulsd xmm3, xmm5
	//	addsd xmm0, xmm3
	//	mov ecx, 5
	//	cvtsi2sd xmm5, ecx
	//	mulsd xmm5, [rbp-32]
	//	addsd xmm0, xmm5
	//	mov ecx, 6
	//	cvtsi2sd xmm5, ecx
	//	mulsd xmm5, [rbp-24]
	//	addsd xmm0, xmm5
	//	mov rbx, [rbp-8]
	//	mov rsp, rbp
	//	pop rbp
	//	ret
	// 9:
	//	ud2
	"hostmany": {
		code:   "554889e5534883ec68488d7dd0be01000000ba02000000b90300000041b80400000041b905000000b80600000041ba0700000048c704240800000048c74424080900000048c74424100a00000041bb09000000f2410f2ac3f20f1144241841bb0a000000f2410f2ac3f20f1144242041bb01000000f2410f2ac341bb02000000f2410f2acb41bb03000000f2410f2ad341bb04000000f2410f2adb41bb05000000f2410f2ae341bb06000000f2410f2aeb41bb07000000f2410f2af341bb08000000f2410f2afb488d5c2430ff15000000004839e37576488d0450488d0c494801c8488d04b0486b4dd0054801c8486b4dd8064801c8f20f58c1f20f58c1b903000000f20f2ae9f20f59d5f20f58c2b904000000f20f2ae9f20f59ddf20f58c3b905000000f20f2ae9f20f596de0f20f58c5b906000000f20f2ae9f20f596de8f20f58c5488b5df84889ec5dc30f0b",
		fixups: []fixup{{206, "import0", -4, reloc.PC32}},
		traps:  []abi.TrapSite{{Offset: 333, Code: 1, Fault: 0, Memory: 0, Src: 43}},
		calls:  []abi.CallSite{{Offset: 210, Src: 41}},
	},
	//	push rbp
	//	mov rbp, rsp
	//	push rbx
	//	sub rsp, 8
	//	mov rbx, rdi
	//	xor eax, eax
	//	test rdi, rdi
	//	je 1f
	//	call [rip+import0]
	//	cmp rbx, 100000
	//	ja 2f
	//	inc rax
	// 1:
	//	add rsp, 8
	//	pop rbx
	//	pop rbp
	//	ret
	// 2:
	//	ud2
	"reenter": {
		code:   "554889e5534883ec084889fb31c04885ff7412ff15000000004881fba0860100770a48ffc04883c4085b5dc30f0b",
		fixups: []fixup{{21, "import0", -4, reloc.PC32}},
		traps:  []abi.TrapSite{{Offset: 44, Code: 1, Fault: 0, Memory: 0, Src: 53}},
		calls:  []abi.CallSite{{Offset: 25, Src: 51}},
	},
	//	push rbp
	//	mov rbp, rsp
	//	ud2
	"unreachable": {
		code:  "554889e50f0b",
		traps: []abi.TrapSite{{Offset: 4, Code: 1, Fault: 0, Memory: 0, Src: 101}},
	},
	//	push rbp
	//	mov rbp, rsp
	//	call f_unreachable
	//	pop rbp
	//	ret
	"outer": {
		code:   "554889e5e8000000005dc3",
		fixups: []fixup{{5, "f_unreachable", -4, reloc.PC32}},
		calls:  []abi.CallSite{{Offset: 9, Src: 102}},
	},
	//	mov eax, edi
	//	xor edx, edx
	//	div esi
	//	ret
	"div": {
		code:  "89f831d2f7f6c3",
		traps: []abi.TrapSite{{Offset: 4, Code: 8, Fault: 3, Memory: 0, Src: 103}},
	},
	//	mov rax, rdi
	//	cqo
	//	idiv rsi
	//	ret
	"idiv": {
		code:  "4889f8489948f7fec3",
		traps: []abi.TrapSite{{Offset: 5, Code: 7, Fault: 3, Memory: 0, Src: 104}},
	},
	//	mov rax, [rip+mem0]
	//	mov eax, [rax+rdi]
	//	ret
	"load": {
		code:   "488b05000000008b0438c3",
		fixups: []fixup{{3, "mem0", -4, reloc.PC32}},
		traps:  []abi.TrapSite{{Offset: 7, Code: 2, Fault: 1, Memory: 0, Src: 105}},
	},
	//	mov rax, [rip+mem1]
	//	mov eax, [rax+rdi]
	//	ret
	"load1": {
		code:   "488b05000000008b0438c3",
		fixups: []fixup{{3, "mem1", -4, reloc.PC32}},
		traps:  []abi.TrapSite{{Offset: 7, Code: 2, Fault: 1, Memory: 1, Src: 106}},
	},
	//	mov rax, [rip+mem0]
	//	mov [rax+rdi], rsi
	//	ret
	"store": {
		code:   "488b050000000048893438c3",
		fixups: []fixup{{3, "mem0", -4, reloc.PC32}},
		traps:  []abi.TrapSite{{Offset: 7, Code: 2, Fault: 1, Memory: 0, Src: 107}},
	},
	//	push rbp
	//	mov rbp, rsp
	//	call f_overflow
	//	pop rbp
	//	ret
	"overflow": {
		code:   "554889e5e8000000005dc3",
		fixups: []fixup{{5, "f_overflow", -4, reloc.PC32}},
		calls:  []abi.CallSite{{Offset: 9, Src: 108}},
	},
	//	push rbp
	//	mov rbp, rsp
	//	sub rsp, 8
	//	call f_overflow24
	//	ud2
	"overflow24": {
		code:   "554889e54883ec08e8000000000f0b",
		fixups: []fixup{{9, "f_overflow24", -4, reloc.PC32}},
		calls:  []abi.CallSite{{Offset: 13, Src: 113}},
	},
	//	push rbp
	//	mov rbp, rsp
	//	lea rax, [rsp-4096]
	//	test [rax], rax
	//	lea rax, [rsp-8192]
	//	test [rax], rax
	//	lea rax, [rsp-12288]
	//	test [rax], rax
	//	sub rsp, 12288
	//	call f_bigframe
	//	mov rsp, rbp
	//	pop rbp
	//	ret
	"bigframe": {
		code:   "554889e5488d842400f0ffff488500488d842400e0ffff488500488d842400d0ffff4885004881ec00300000e8000000004889ec5dc3",
		fixups: []fixup{{45, "f_bigframe", -4, reloc.PC32}},
		calls:  []abi.CallSite{{Offset: 49, Src: 109}},
	},
	//	push rbp
	//	mov rbp, rsp
	//	sub rsp, 4096
	//	call [rip+import0]
	//	mov rsp, rbp
	//	pop rbp
	//	ret
	"hostoverflow": {
		code:   "554889e54881ec00100000ff15000000004889ec5dc3",
		fixups: []fixup{{13, "import0", -4, reloc.PC32}},
		calls:  []abi.CallSite{{Offset: 17, Src: 110}},
	},
	//	push rbp
	//	mov rbp, rsp
	//	dec rdi
	//	je 1f
	//	call f_deephost
	//	pop rbp
	//	ret
	// 1:
	//	call [rip+import0]
	//	pop rbp
	//	ret
	"deephost": {
		code:   "554889e548ffcf7407e8000000005dc3ff15000000005dc3",
		fixups: []fixup{{10, "f_deephost", -4, reloc.PC32}, {18, "import0", -4, reloc.PC32}},
		calls:  []abi.CallSite{{Offset: 14, Src: 111}, {Offset: 22, Src: 112}},
	},
	//	xor eax, eax
	//	mov eax, [rax+64]
	//	ret
	"unlisted": {
		code: "31c08b4040c3",
	},
	//	mov rax, 0x123456780000
	//	mov eax, [rax]
	//	ret
	"liesmemory": {
		code:  "48b800007856341200008b00c3",
		traps: []abi.TrapSite{{Offset: 10, Code: 2, Fault: 1, Memory: 0, Src: 120}},
	},
	//	mov rax, 0x1234567812345678
	//	mov eax, [rax]
	//	ret
	"liesnull": {
		code:  "48b878563412785634128b00c3",
		traps: []abi.TrapSite{{Offset: 10, Code: 5, Fault: 2, Memory: 0, Src: 121}},
	},
	//	push rbp
	//	mov rbp, rsp
	//	mov rsi, rdi
	//	mov rdi, [rip+mem0]
	//	call [rip+helper0]
	//	pop rbp
	//	ret
	"grow": {
		code:   "554889e54889fe488b3d00000000ff15000000005dc3",
		fixups: []fixup{{10, "mem0", -4, reloc.PC32}, {16, "helper0", -4, reloc.PC32}},
		calls:  []abi.CallSite{{Offset: 20, Src: 122}},
	},
	//	push rbp
	//	mov rbp, rsp
	//	mov rdx, rsi
	//	mov rsi, rdi
	//	mov rdi, [rip+table0]
	//	call [rip+helper1]
	//	pop rbp
	//	ret
	"tablegrow": {
		code:   "554889e54889f24889fe488b3d00000000ff15000000005dc3",
		fixups: []fixup{{13, "table0", -4, reloc.PC32}, {19, "helper1", -4, reloc.PC32}},
		calls:  []abi.CallSite{{Offset: 23, Src: 123}},
	},
	//	push rbp
	//	mov rbp, rsp
	//	mov rax, [rip+table0]
	//	cmp rdi, [rax-8]
	//	jae 1f
	//	mov r11, [rax+rdi*8]
	//	mov rcx, [rip+type0]
	//	cmp rcx, [r11+8]
	//	jne 2f
	//	mov rdi, rsi
	//	call [r11]
	//	pop rbp
	//	ret
	// 1:
	//	ud2
	// 2:
	//	ud2
	"indirect": {
		code:   "554889e5488b0500000000483b78f873194c8b1cf8488b0d00000000493b4b08750a4889f741ff135dc30f0b0f0b",
		fixups: []fixup{{7, "table0", -4, reloc.PC32}, {24, "type0", -4, reloc.PC32}},
		traps:  []abi.TrapSite{{Offset: 28, Code: 5, Fault: 2, Memory: 0, Src: 124}, {Offset: 42, Code: 4, Fault: 0, Memory: 0, Src: 126}, {Offset: 44, Code: 6, Fault: 0, Memory: 0, Src: 127}},
		calls:  []abi.CallSite{{Offset: 40, Src: 125}},
	},
	//	mov rax, [rip+global0]
	//	inc rax
	//	mov [rip+global0], rax
	//	ret
	"count": {
		code:   "488b050000000048ffc048890500000000c3",
		fixups: []fixup{{3, "global0", -4, reloc.PC32}, {13, "global0", -4, reloc.PC32}},
	},
	//	mov rcx, [rip+global1]
	//	mov rax, [rcx]
	//	inc rax
	//	mov [rcx], rax
	//	ret
	"countimported": {
		code:   "488b0d00000000488b0148ffc0488901c3",
		fixups: []fixup{{3, "global1", -4, reloc.PC32}},
	},
	//	lea rax, [rdi+rdi]
	//	ret
	"double": {
		code: "488d043fc3",
	},
	//	mov rax, [rip+rodata]
	//	ret
	"const": {
		code:   "488b0500000000c3",
		fixups: []fixup{{3, "rodata", -4, reloc.PC32}},
	},
	//	lea rax, [rip+desc_answer]
	//	ret
	"refunc": {
		code:   "488d0500000000c3",
		fixups: []fixup{{3, "desc_answer", -4, reloc.PC32}},
	},
	//	push rbp
	//	mov rbp, rsp
	//	sub rsp, 16
	//	mov [rbp-8], rdi
	//	mov [rbp-16], rsi
	//	call [rip+import0]
	//	mov rax, [rbp-8]
	//	mov rsp, rbp
	//	pop rbp
	//	ret
	"keep": {
		code:   "554889e54883ec1048897df8488975f0ff1500000000488b45f84889ec5dc3",
		fixups: []fixup{{18, "import0", -4, reloc.PC32}},
		calls:  []abi.CallSite{{Offset: 22, Src: 130}},
		maps:   []abi.StackMap{{Offset: 22, Slots: []int32{-8, -16}}},
		frame:  16,
	},
	//	push rbp
	//	mov rbp, rsp
	//	push rbx
	//	sub rsp, 8
	//	mov rbx, rdi
	// 1:
	//	call [rip+import0]
	//	dec rbx
	//	jne 1b
	//	add rsp, 8
	//	pop rbx
	//	pop rbp
	//	ret
	"hostloop": {
		code:   "554889e5534883ec084889fbff150000000048ffcb75f54883c4085b5dc3",
		fixups: []fixup{{14, "import0", -4, reloc.PC32}},
		calls:  []abi.CallSite{{Offset: 18, Src: 131}},
	},
	//	mov rax, rdi
	//	mov rcx, 0x9e3779b97f4a7c15
	// 1:
	//	imul rax, rcx
	//	rol rax, 7
	//	dec rsi
	//	jne 1b
	//	ret
	"chain": {
		code: "4889f848b9157c4a7fb979379e480fafc148c1c00748ffce75f3c3",
	},
}
