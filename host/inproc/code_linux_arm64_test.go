package inproc

import (
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/reloc"
)

// Machine code for the tests: sources in the comments, bytes from an assembler.
// Undefined symbols are what the builder of test images resolves; sites are {offset,
// code, fault, memory, source} of traps and {offset, source} of calls.
var testCode = map[string]testFunc{
	//	bti c
	//	ret
	"init": {
		code: "5f2403d5c0035fd6",
	},
	//	bti c
	//	stp x29, x30, [sp, #-16]!
	//	mov x29, sp
	//	adrp x9, import0
	//	ldr x9, [x9, :lo12:import0]
	//	blr x9
	//	ldp x29, x30, [sp], #16
	//	ret
	"initcall": {
		code:   "5f2403d5fd7bbfa9fd03009109000090290140f920013fd6fd7bc1a8c0035fd6",
		fixups: []fixup{{12, "import0", 0, reloc.Page21}, {16, "import0", 0, reloc.Ldst64Lo12}},
		calls:  []abi.CallSite{{Offset: 24, Src: 77}},
	},
	//	bti c
	//	adrp x9, table0
	//	ldr x9, [x9, :lo12:table0]
	//	adrp x10, desc_answer
	//	add x10, x10, :lo12:desc_answer
	//	str x10, [x9]
	//	udf #1
	"inittrap": {
		code:   "5f2403d509000090290140f90a0000904a0100912a0100f901000000",
		fixups: []fixup{{4, "table0", 0, reloc.Page21}, {8, "table0", 0, reloc.Ldst64Lo12}, {12, "desc_answer", 0, reloc.Page21}, {16, "desc_answer", 0, reloc.AddLo12}},
		traps:  []abi.TrapSite{{Offset: 24, Code: 1, Fault: 0, Memory: 0, Src: 9}},
	},
	//	bti c
	//	mov w0, #42
	//	ret
	"answer": {
		code: "5f2403d540058052c0035fd6",
	},
	//	bti c
	//	ret
	"leaf": {
		code: "5f2403d5c0035fd6",
	},
	//	bti c
	//	stp x29, x30, [sp, #-16]!
	//	mov x29, sp
	//	add x0, x0, x1, lsl #1
	//	add x0, x0, x2, lsl #2
	//	add x0, x0, x3, lsl #3
	//	add x0, x0, x4, lsl #4
	//	add x0, x0, x5, lsl #5
	//	add x0, x0, x6, lsl #6
	//	add x0, x0, x7, lsl #7
	//	ldp x9, x10, [x29, #16]
	//	add x0, x0, x9, lsl #8
	//	add x0, x0, x10, lsl #9
	//	ldp x29, x30, [sp], #16
	//	add sp, sp, #16
	//	ret
	"ints10": {
		code: "5f2403d5fd7bbfa9fd0300910004018b0008028b000c038b0010048b0014058b0018068b001c078ba92b41a90020098b00240a8bfd7bc1a8ff430091c0035fd6",
	},
	//	bti c
	//	stp x29, x30, [sp, #-16]!
	//	mov x29, sp
	//	fadd d1, d1, d1
	//	fadd d0, d0, d1
	//	fmul d2, d2, d3
	//	fadd d0, d0, d2
	//	fmul d4, d4, d5
	//	fadd d0, d0, d4
	//	fmul d6, d6, d7
	//	fadd d0, d0, d6
	//	ldp d1, d2, [x29, #16]
	//	fsub d1, d1, d2
	//	fadd d0, d0, d1
	//	ldp x29, x30, [sp], #16
	//	add sp, sp, #16
	//	ret
	"floats10": {
		code: "5f2403d5fd7bbfa9fd0300912128611e0028611e4208631e0028621e8408651e0028641ec608671e0028661ea10b416d2138621e0028611efd7bc1a8ff430091c0035fd6",
	},
	//	bti c
	//	mov x9, x0
	//	mov x10, x1
	//	add x0, x10, #1
	//	add x1, x10, #2
	//	add x2, x10, #3
	//	add x3, x10, #4
	//	add x11, x10, #5
	//	str x11, [x9]
	//	add x11, x10, #6
	//	str x11, [x9, #16]
	//	fadd d5, d0, d0
	//	fadd d1, d5, d0
	//	fadd d2, d1, d0
	//	fadd d3, d2, d0
	//	fadd d4, d3, d0
	//	str d4, [x9, #8]
	//	fmov d0, d5
	//	ret
	"results11": {
		code: "5f2403d5e90300aaea0301aa4005009141090091420d0091431100914b1500912b0100f94b1900912b0900f90528601ea128601e2228601e4328601e6428601e240500fda040601ec0035fd6",
	},
	//	bti c
	//	mov w0, w0
	//	movi v1.2d, #0xffffffffffffffff
	//	mov v1.s[0], v0.s[0]
	//	mov v0.16b, v1.16b
	//	ret
	"narrow": {
		code: "5f2403d5e003002ae1e7076f0104046e201ca14ec0035fd6",
	},
	//	bti c
	//	stp x29, x30, [sp, #-16]!
	//	mov x29, sp
	//	adrp x9, import0
	//	ldr x9, [x9, :lo12:import0]
	//	blr x9
	//	ldp x29, x30, [sp], #16
	//	ret
	"pass": {
		code:   "5f2403d5fd7bbfa9fd03009109000090290140f920013fd6fd7bc1a8c0035fd6",
		fixups: []fixup{{12, "import0", 0, reloc.Page21}, {16, "import0", 0, reloc.Ldst64Lo12}},
		calls:  []abi.CallSite{{Offset: 24, Src: 21}},
	},
	//	bti c
	//	stp x29, x30, [sp, #-16]!
	//	mov x29, sp
	//	sub sp, sp, #144
	//	stp x19, x20, [sp]
	//	stp x21, x22, [sp, #16]
	//	stp x23, x24, [sp, #32]
	//	stp x25, x26, [sp, #48]
	//	stp x27, x9, [sp, #64]
	//	stp d8, d9, [sp, #80]
	//	stp d10, d11, [sp, #96]
	//	stp d12, d13, [sp, #112]
	//	stp d14, d15, [sp, #128]
	//	mov x19, #0x1111111111111111
	//	mov x20, #0x2222222222222222
	//	mov x21, #0x3333333333333333
	//	mov x22, #0x4444444444444444
	//	mov x23, #0x5555555555555555
	//	mov x24, #0x6666666666666666
	//	mov x25, #0x7777777777777777
	//	mov x26, #0x8888888888888888
	//	mov x27, #0x9999999999999999
	//	fmov d8, x19
	//	fmov d9, x20
	//	fmov d10, x21
	//	fmov d11, x22
	//	fmov d12, x23
	//	fmov d13, x24
	//	fmov d14, x25
	//	fmov d15, x26
	//	adrp x9, import0
	//	ldr x9, [x9, :lo12:import0]
	//	blr x9
	//	mov x9, #0x1111111111111111
	//	cmp x9, x19
	//	b.ne 1f
	//	fmov x10, d8
	//	cmp x9, x10
	//	b.ne 1f
	//	mov x9, #0x2222222222222222
	//	cmp x9, x20
	//	b.ne 1f
	//	fmov x10, d9
	//	cmp x9, x10
	//	b.ne 1f
	//	mov x9, #0x3333333333333333
	//	cmp x9, x21
	//	b.ne 1f
	//	fmov x10, d10
	//	cmp x9, x10
	//	b.ne 1f
	//	mov x9, #0x4444444444444444
	//	cmp x9, x22
	//	b.ne 1f
	//	fmov x10, d11
	//	cmp x9, x10
	//	b.ne 1f
	//	mov x9, #0x5555555555555555
	//	cmp x9, x23
	//	b.ne 1f
	//	fmov x10, d12
	//	cmp x9, x10
	//	b.ne 1f
	//	mov x9, #0x6666666666666666
	//	cmp x9, x24
	//	b.ne 1f
	//	fmov x10, d13
	//	cmp x9, x10
	//	b.ne 1f
	//	mov x9, #0x7777777777777777
	//	cmp x9, x25
	//	b.ne 1f
	//	fmov x10, d14
	//	cmp x9, x10
	//	b.ne 1f
	//	mov x9, #0x8888888888888888
	//	cmp x9, x26
	//	b.ne 1f
	//	fmov x10, d15
	//	cmp x9, x10
	//	b.ne 1f
	//	mov x9, #0x9999999999999999
	//	cmp x9, x27
	//	b.ne 1f
	//	sub x9, x29, #144
	//	mov x10, sp
	//	cmp x9, x10
	//	b.ne 1f
	//	ldp x19, x20, [sp]
	//	ldp x21, x22, [sp, #16]
	//	ldp x23, x24, [sp, #32]
	//	ldp x25, x26, [sp, #48]
	//	ldp x27, x9, [sp, #64]
	//	ldp d8, d9, [sp, #80]
	//	ldp d10, d11, [sp, #96]
	//	ldp d12, d13, [sp, #112]
	//	ldp d14, d15, [sp, #128]
	//	mov sp, x29
	//	ldp x29, x30, [sp], #16
	//	ret
	// 1:
	//	udf #1
	"saved": {
		code:   "5f2403d5fd7bbfa9fd030091ff4302d1f35300a9f55b01a9f76302a9f96b03a9fb2704a9e827056dea2f066dec37076dee3f086df3e300b2f4e303b2f5e700b2f6e302b2f7f300b2f8e703b2f9eb00b2fae301b2fbe701b26802679e8902679eaa02679ecb02679eec02679e0d03679e2e03679e4f03679e09000090290140f920013fd6e9e300b23f0113eb210800540a01669e3f010aebc1070054e9e303b23f0114eb610700542a01669e3f010aeb01070054e9e700b23f0115eba10600544a01669e3f010aeb41060054e9e302b23f0116ebe10500546a01669e3f010aeb81050054e9f300b23f0117eb210500548a01669e3f010aebc1040054e9e703b23f0118eb61040054aa01669e3f010aeb01040054e9eb00b23f0119eba1030054ca01669e3f010aeb41030054e9e301b23f011aebe1020054ea01669e3f010aeb81020054e9e701b23f011beb21020054a94302d1ea0300913f010aeba1010054f35340a9f55b41a9f76342a9f96b43a9fb2744a9e827456dea2f466dec37476dee3f486dbf030091fd7bc1a8c0035fd601000000",
		fixups: []fixup{{120, "import0", 0, reloc.Page21}, {124, "import0", 0, reloc.Ldst64Lo12}},
		traps:  []abi.TrapSite{{Offset: 400, Code: 1, Fault: 0, Memory: 0, Src: 33}},
		calls:  []abi.CallSite{{Offset: 132, Src: 31}},
	},
	//	bti c
	//	# hidden area of 4 words at x29-48
	//	# at sp = x29-96
	//	stp x29, x30, [sp, #-16]!
	//	mov x29, sp
	//	sub sp, sp, #96
	//	stur x19, [x29, #-8]
	//	sub x0, x29, #48
	//	mov x1, #8
	//	mov x2, #9
	//	stp x1, x2, [sp]
	//	mov x1, #10
	//	str x1, [sp, #16]
	//	fmov d0, #9.0
	//	fmov d1, #10.0
	//	stp d0, d1, [sp, #24]
	//	mov x1, #1
	//	mov x2, #2
	//	mov x3, #3
	//	mov x4, #4
	//	mov x5, #5
	//	mov x6, #6
	//	mov x7, #7
	//	fmov d0, #1.0
	//	fmov d1, #2.0
	//	fmov d2, #3.0
	//	fmov d3, #4.0
	//	fmov d4, #5.0
	//	fmov d5, #6.0
	//	fmov d6, #7.0
	//	fmov d7, #8.0
	//	add x19, sp, #48
	//	adrp x9, import0
	//	ldr x9, [x9, :lo12:import0]
	//	blr x9
	//	mov x9, sp
	//	cmp x9, x19
	//	b.ne 9f
	//	add x0, x0, x1, lsl #1
	//	add x2, x2, x2, lsl #1
	//	add x0, x0, x2
	//	add x0, x0, x3, lsl #2
	//	ldp x9, x10, [x29, #-48]
	//	add x9, x9, x9, lsl #2
	//	add x0, x0, x9
	//	add x10, x10, x10, lsl #1
	//	add x0, x0, x10, lsl #1
	//	fadd d0, d0, d1
	//	fadd d0, d0, d1
	//	fmov d5, #3.0
	//	fmadd d0, d2, d5, d0
	//	fmov d5, #4.0
	//	fmadd d0, d3, d5, d0
	//	ldp d1, d2, [x29, #-32]
	//	fmov d5, #5.0
	//	fmadd d0, d1, d5, d0
	//	fmov d5, #6.0
	//	fmadd d0, d2, d5, d0
	//	ldur x19, [x29, #-8]
	//	mov sp, x29
	//	ldp x29, x30, [sp], #16
	//	ret
	// 9:
	//	udf #1
	"hostmany": {
		code:   "5f2403d5fd7bbfa9fd030091ff8301d1b3831ff8a0c300d1010180d2220180d2e10b00a9410180d2e10b00f90050641e0190641ee087016d210080d2420080d2630080d2840080d2a50080d2c60080d2e70080d200106e1e0110601e0210611e0310621e0490621e0510631e0690631e0710641ef3c3009109000090290140f920013fd6e90300913f0113eb210300540004018b4204028b0000028b0008038ba92b7da92909098b0000098b4a050a8b00040a8b0028611e0028611e0510611e4000451f0510621e6000451fa10b7e6d0590621e2000451f0510631e4000451fb3835ff8bf030091fd7bc1a8c0035fd601000000",
		fixups: []fixup{{120, "import0", 0, reloc.Page21}, {124, "import0", 0, reloc.Ldst64Lo12}},
		traps:  []abi.TrapSite{{Offset: 240, Code: 1, Fault: 0, Memory: 0, Src: 43}},
		calls:  []abi.CallSite{{Offset: 132, Src: 41}},
	},
	//	bti c
	//	stp x29, x30, [sp, #-16]!
	//	mov x29, sp
	//	str x19, [sp, #-16]!
	//	mov x19, x0
	//	cbz x0, 1f
	//	adrp x9, import0
	//	ldr x9, [x9, :lo12:import0]
	//	blr x9
	//	mov w9, #0x86a0
	//	movk w9, #1, lsl #16
	//	cmp x19, x9
	//	b.hi 2f
	//	add x0, x0, #1
	// 1:
	//	ldr x19, [sp], #16
	//	ldp x29, x30, [sp], #16
	//	ret
	// 2:
	//	udf #1
	"reenter": {
		code:   "5f2403d5fd7bbfa9fd030091f30f1ff8f30300aa200100b409000090290140f920013fd609d490522900a0727f0209eba800005400040091f30741f8fd7bc1a8c0035fd601000000",
		fixups: []fixup{{24, "import0", 0, reloc.Page21}, {28, "import0", 0, reloc.Ldst64Lo12}},
		traps:  []abi.TrapSite{{Offset: 68, Code: 1, Fault: 0, Memory: 0, Src: 53}},
		calls:  []abi.CallSite{{Offset: 36, Src: 51}},
	},
	//	bti c
	//	stp x29, x30, [sp, #-16]!
	//	mov x29, sp
	//	udf #1
	"unreachable": {
		code:  "5f2403d5fd7bbfa9fd03009101000000",
		traps: []abi.TrapSite{{Offset: 12, Code: 1, Fault: 0, Memory: 0, Src: 101}},
	},
	//	bti c
	//	stp x29, x30, [sp, #-16]!
	//	mov x29, sp
	//	bl f_unreachable
	//	ldp x29, x30, [sp], #16
	//	ret
	"outer": {
		code:   "5f2403d5fd7bbfa9fd03009100000094fd7bc1a8c0035fd6",
		fixups: []fixup{{12, "f_unreachable", 0, reloc.Call26}},
		calls:  []abi.CallSite{{Offset: 16, Src: 102}},
	},
	//	bti c
	//	cbz w1, 1f
	//	udiv w0, w0, w1
	//	ret
	// 1:
	//	udf #8
	"div": {
		code:  "5f2403d5610000340008c11ac0035fd608000000",
		traps: []abi.TrapSite{{Offset: 16, Code: 8, Fault: 0, Memory: 0, Src: 103}},
	},
	//	bti c
	//	mov x9, #0x8000000000000000
	//	cmn x1, #1
	//	ccmp x0, x9, #0, eq
	//	b.eq 1f
	//	sdiv x0, x0, x1
	//	ret
	// 1:
	//	udf #7
	"idiv": {
		code:  "5f2403d50900f0d23f0400b1000049fa60000054000cc19ac0035fd607000000",
		traps: []abi.TrapSite{{Offset: 28, Code: 7, Fault: 0, Memory: 0, Src: 104}},
	},
	//	bti c
	//	adrp x9, mem0
	//	ldr x9, [x9, :lo12:mem0]
	//	ldr w0, [x9, x0]
	//	ret
	"load": {
		code:   "5f2403d509000090290140f9206960b8c0035fd6",
		fixups: []fixup{{4, "mem0", 0, reloc.Page21}, {8, "mem0", 0, reloc.Ldst64Lo12}},
		traps:  []abi.TrapSite{{Offset: 12, Code: 2, Fault: 1, Memory: 0, Src: 105}},
	},
	//	bti c
	//	adrp x9, mem1
	//	ldr x9, [x9, :lo12:mem1]
	//	ldr w0, [x9, x0]
	//	ret
	"load1": {
		code:   "5f2403d509000090290140f9206960b8c0035fd6",
		fixups: []fixup{{4, "mem1", 0, reloc.Page21}, {8, "mem1", 0, reloc.Ldst64Lo12}},
		traps:  []abi.TrapSite{{Offset: 12, Code: 2, Fault: 1, Memory: 1, Src: 106}},
	},
	//	bti c
	//	adrp x9, mem0
	//	ldr x9, [x9, :lo12:mem0]
	//	str x1, [x9, x0]
	//	ret
	"store": {
		code:   "5f2403d509000090290140f9216920f8c0035fd6",
		fixups: []fixup{{4, "mem0", 0, reloc.Page21}, {8, "mem0", 0, reloc.Ldst64Lo12}},
		traps:  []abi.TrapSite{{Offset: 12, Code: 2, Fault: 1, Memory: 0, Src: 107}},
	},
	//	bti c
	//	stp x29, x30, [sp, #-16]!
	//	mov x29, sp
	//	bl f_overflow
	//	ldp x29, x30, [sp], #16
	//	ret
	"overflow": {
		code:   "5f2403d5fd7bbfa9fd03009100000094fd7bc1a8c0035fd6",
		fixups: []fixup{{12, "f_overflow", 0, reloc.Call26}},
		calls:  []abi.CallSite{{Offset: 16, Src: 108}},
	},
	//	bti c
	//	stp x29, x30, [sp, #-16]!
	//	mov x29, sp
	//	sub sp, sp, #16
	//	bl f_overflow24
	//	udf #1
	"overflow24": {
		code:   "5f2403d5fd7bbfa9fd030091ff4300d10000009401000000",
		fixups: []fixup{{16, "f_overflow24", 0, reloc.Call26}},
		calls:  []abi.CallSite{{Offset: 20, Src: 113}},
	},
	//	bti c
	//	stp x29, x30, [sp, #-16]!
	//	mov x29, sp
	//	sub x9, sp, #1, lsl #12
	//	ldr xzr, [x9]
	//	sub x9, sp, #2, lsl #12
	//	ldr xzr, [x9]
	//	sub x9, sp, #3, lsl #12
	//	ldr xzr, [x9]
	//	sub sp, sp, #3, lsl #12
	//	bl f_bigframe
	//	mov sp, x29
	//	ldp x29, x30, [sp], #16
	//	ret
	"bigframe": {
		code:   "5f2403d5fd7bbfa9fd030091e90740d13f0140f9e90b40d13f0140f9e90f40d13f0140f9ff0f40d100000094bf030091fd7bc1a8c0035fd6",
		fixups: []fixup{{40, "f_bigframe", 0, reloc.Call26}},
		calls:  []abi.CallSite{{Offset: 44, Src: 109}},
	},
	//	bti c
	//	stp x29, x30, [sp, #-16]!
	//	mov x29, sp
	//	sub sp, sp, #1, lsl #12
	//	adrp x9, import0
	//	ldr x9, [x9, :lo12:import0]
	//	blr x9
	//	mov sp, x29
	//	ldp x29, x30, [sp], #16
	//	ret
	"hostoverflow": {
		code:   "5f2403d5fd7bbfa9fd030091ff0740d109000090290140f920013fd6bf030091fd7bc1a8c0035fd6",
		fixups: []fixup{{16, "import0", 0, reloc.Page21}, {20, "import0", 0, reloc.Ldst64Lo12}},
		calls:  []abi.CallSite{{Offset: 28, Src: 110}},
	},
	//	bti c
	//	stp x29, x30, [sp, #-16]!
	//	mov x29, sp
	//	subs x0, x0, #1
	//	b.eq 1f
	//	bl f_deephost
	//	ldp x29, x30, [sp], #16
	//	ret
	// 1:
	//	adrp x9, import0
	//	ldr x9, [x9, :lo12:import0]
	//	blr x9
	//	ldp x29, x30, [sp], #16
	//	ret
	"deephost": {
		code:   "5f2403d5fd7bbfa9fd030091000400f18000005400000094fd7bc1a8c0035fd609000090290140f920013fd6fd7bc1a8c0035fd6",
		fixups: []fixup{{20, "f_deephost", 0, reloc.Call26}, {32, "import0", 0, reloc.Page21}, {36, "import0", 0, reloc.Ldst64Lo12}},
		calls:  []abi.CallSite{{Offset: 24, Src: 111}, {Offset: 44, Src: 112}},
	},
	//	bti c
	//	mov x9, #0
	//	ldr w0, [x9, #64]
	//	ret
	"unlisted": {
		code: "5f2403d5090080d2204140b9c0035fd6",
	},
	//	bti c
	//	mov x9, #0x56780000
	//	movk x9, #0x1234, lsl #32
	//	ldr w0, [x9]
	//	ret
	"liesmemory": {
		code:  "5f2403d509cfaad28946c2f2200140b9c0035fd6",
		traps: []abi.TrapSite{{Offset: 12, Code: 2, Fault: 1, Memory: 0, Src: 120}},
	},
	//	bti c
	//	mov x9, #0x56790000
	//	movk x9, #0x1234, lsl #32
	//	ldr w0, [x9]
	//	ret
	"liesnull": {
		code:  "5f2403d529cfaad28946c2f2200140b9c0035fd6",
		traps: []abi.TrapSite{{Offset: 12, Code: 5, Fault: 2, Memory: 0, Src: 121}},
	},
	//	bti c
	//	stp x29, x30, [sp, #-16]!
	//	mov x29, sp
	//	mov x1, x0
	//	adrp x0, mem0
	//	ldr x0, [x0, :lo12:mem0]
	//	adrp x9, helper0
	//	ldr x9, [x9, :lo12:helper0]
	//	blr x9
	//	ldp x29, x30, [sp], #16
	//	ret
	"grow": {
		code:   "5f2403d5fd7bbfa9fd030091e10300aa00000090000040f909000090290140f920013fd6fd7bc1a8c0035fd6",
		fixups: []fixup{{16, "mem0", 0, reloc.Page21}, {20, "mem0", 0, reloc.Ldst64Lo12}, {24, "helper0", 0, reloc.Page21}, {28, "helper0", 0, reloc.Ldst64Lo12}},
		calls:  []abi.CallSite{{Offset: 36, Src: 122}},
	},
	//	bti c
	//	stp x29, x30, [sp, #-16]!
	//	mov x29, sp
	//	mov x2, x1
	//	mov x1, x0
	//	adrp x0, table0
	//	ldr x0, [x0, :lo12:table0]
	//	adrp x9, helper1
	//	ldr x9, [x9, :lo12:helper1]
	//	blr x9
	//	ldp x29, x30, [sp], #16
	//	ret
	"tablegrow": {
		code:   "5f2403d5fd7bbfa9fd030091e20301aae10300aa00000090000040f909000090290140f920013fd6fd7bc1a8c0035fd6",
		fixups: []fixup{{20, "table0", 0, reloc.Page21}, {24, "table0", 0, reloc.Ldst64Lo12}, {28, "helper1", 0, reloc.Page21}, {32, "helper1", 0, reloc.Ldst64Lo12}},
		calls:  []abi.CallSite{{Offset: 40, Src: 123}},
	},
	//	bti c
	//	stp x29, x30, [sp, #-16]!
	//	mov x29, sp
	//	adrp x9, table0
	//	ldr x9, [x9, :lo12:table0]
	//	ldur x10, [x9, #-8]
	//	cmp x0, x10
	//	b.hs 1f
	//	ldr x10, [x9, x0, lsl #3]
	//	adrp x11, type0
	//	ldr x11, [x11, :lo12:type0]
	//	ldr x12, [x10, #8]
	//	cmp x11, x12
	//	b.ne 2f
	//	mov x0, x1
	//	ldr x10, [x10]
	//	blr x10
	//	ldp x29, x30, [sp], #16
	//	ret
	// 1:
	//	udf #4
	// 2:
	//	udf #6
	"indirect": {
		code:   "5f2403d5fd7bbfa9fd03009109000090290140f92a815ff81f000aeb820100542a7960f80b0000906b0140f94c0540f97f010cebe1000054e00301aa4a0140f940013fd6fd7bc1a8c0035fd60400000006000000",
		fixups: []fixup{{12, "table0", 0, reloc.Page21}, {16, "table0", 0, reloc.Ldst64Lo12}, {36, "type0", 0, reloc.Page21}, {40, "type0", 0, reloc.Ldst64Lo12}},
		traps:  []abi.TrapSite{{Offset: 44, Code: 5, Fault: 2, Memory: 0, Src: 124}, {Offset: 76, Code: 4, Fault: 0, Memory: 0, Src: 126}, {Offset: 80, Code: 6, Fault: 0, Memory: 0, Src: 127}},
		calls:  []abi.CallSite{{Offset: 68, Src: 125}},
	},
	//	bti c
	//	adrp x9, global0
	//	ldr x0, [x9, :lo12:global0]
	//	add x0, x0, #1
	//	str x0, [x9, :lo12:global0]
	//	ret
	"count": {
		code:   "5f2403d509000090200140f900040091200100f9c0035fd6",
		fixups: []fixup{{4, "global0", 0, reloc.Page21}, {8, "global0", 0, reloc.Ldst64Lo12}, {16, "global0", 0, reloc.Ldst64Lo12}},
	},
	//	bti c
	//	adrp x9, global1
	//	ldr x9, [x9, :lo12:global1]
	//	ldr x0, [x9]
	//	add x0, x0, #1
	//	str x0, [x9]
	//	ret
	"countimported": {
		code:   "5f2403d509000090290140f9200140f900040091200100f9c0035fd6",
		fixups: []fixup{{4, "global1", 0, reloc.Page21}, {8, "global1", 0, reloc.Ldst64Lo12}},
	},
	//	bti c
	//	add x0, x0, x0
	//	ret
	"double": {
		code: "5f2403d50000008bc0035fd6",
	},
	//	bti c
	//	adrp x0, rodata
	//	ldr x0, [x0, :lo12:rodata]
	//	ret
	"const": {
		code:   "5f2403d500000090000040f9c0035fd6",
		fixups: []fixup{{4, "rodata", 0, reloc.Page21}, {8, "rodata", 0, reloc.Ldst64Lo12}},
	},
	//	bti c
	//	adrp x0, desc_answer
	//	add x0, x0, :lo12:desc_answer
	//	ret
	"refunc": {
		code:   "5f2403d50000009000000091c0035fd6",
		fixups: []fixup{{4, "desc_answer", 0, reloc.Page21}, {8, "desc_answer", 0, reloc.AddLo12}},
	},
	//	bti c
	//	stp x29, x30, [sp, #-16]!
	//	mov x29, sp
	//	sub sp, sp, #16
	//	stur x0, [x29, #-8]
	//	stur x1, [x29, #-16]
	//	adrp x9, import0
	//	ldr x9, [x9, :lo12:import0]
	//	blr x9
	//	ldur x0, [x29, #-8]
	//	mov sp, x29
	//	ldp x29, x30, [sp], #16
	//	ret
	"keep": {
		code:   "5f2403d5fd7bbfa9fd030091ff4300d1a0831ff8a1031ff809000090290140f920013fd6a0835ff8bf030091fd7bc1a8c0035fd6",
		fixups: []fixup{{24, "import0", 0, reloc.Page21}, {28, "import0", 0, reloc.Ldst64Lo12}},
		calls:  []abi.CallSite{{Offset: 36, Src: 130}},
		maps:   []abi.StackMap{{Offset: 36, Slots: []int32{-8, -16}}},
		frame:  16,
	},
	//	bti c
	//	stp x29, x30, [sp, #-16]!
	//	mov x29, sp
	//	str x19, [sp, #-16]!
	//	mov x19, x0
	// 1:
	//	adrp x9, import0
	//	ldr x9, [x9, :lo12:import0]
	//	blr x9
	//	subs x19, x19, #1
	//	b.ne 1b
	//	ldr x19, [sp], #16
	//	ldp x29, x30, [sp], #16
	//	ret
	"hostloop": {
		code:   "5f2403d5fd7bbfa9fd030091f30f1ff8f30300aa09000090290140f920013fd6730600f181ffff54f30741f8fd7bc1a8c0035fd6",
		fixups: []fixup{{20, "import0", 0, reloc.Page21}, {24, "import0", 0, reloc.Ldst64Lo12}},
		calls:  []abi.CallSite{{Offset: 32, Src: 131}},
	},
	//	bti c
	//	mov x9, #0x7c15
	//	movk x9, #0x7f4a, lsl #16
	//	movk x9, #0x79b9, lsl #32
	//	movk x9, #0x9e37, lsl #48
	// 1:
	//	mul x0, x0, x9
	//	ror x0, x0, #57
	//	subs x1, x1, #1
	//	b.ne 1b
	//	ret
	"chain": {
		code: "5f2403d5a9828fd249e9aff22937cff2e9c6f3f2007c099b00e4c093210400f1a1ffff54c0035fd6",
	},
	//	ret
	"nopad": {
		code: "c0035fd6",
	},
	//	bti c
	//	stp x29, x30, [sp, #-16]!
	//	mov x29, sp
	//	stp x19, x20, [sp, #-16]!
	//	stp x21, x22, [sp, #-16]!
	//	stp x23, x24, [sp, #-16]!
	//	stp x25, x26, [sp, #-16]!
	//	str x27, [sp, #-16]!
	//	stp d8, d9, [sp, #-16]!
	//	stp d10, d11, [sp, #-16]!
	//	stp d12, d13, [sp, #-16]!
	//	stp d14, d15, [sp, #-16]!
	//	stur x0, [sp, #-8]
	//	mov x1, #257
	//	mov x2, #258
	//	mov x3, #259
	//	mov x4, #260
	//	mov x5, #261
	//	mov x6, #262
	//	mov x7, #263
	//	mov x8, #264
	//	mov x9, #265
	//	mov x10, #266
	//	mov x11, #267
	//	mov x12, #268
	//	mov x13, #269
	//	mov x14, #270
	//	mov x15, #271
	//	mov x19, #275
	//	mov x20, #276
	//	mov x21, #277
	//	mov x22, #278
	//	mov x23, #279
	//	mov x24, #280
	//	mov x25, #281
	//	mov x26, #282
	//	mov x27, #283
	//	mov x16, #272
	//	mov x17, #273
	//	mov x30, #286
	//	movi v0.16b, #64
	//	movi v1.16b, #65
	//	movi v2.16b, #66
	//	movi v3.16b, #67
	//	movi v4.16b, #68
	//	movi v5.16b, #69
	//	movi v6.16b, #70
	//	movi v7.16b, #71
	//	movi v8.16b, #72
	//	movi v9.16b, #73
	//	movi v10.16b, #74
	//	movi v11.16b, #75
	//	movi v12.16b, #76
	//	movi v13.16b, #77
	//	movi v14.16b, #78
	//	movi v15.16b, #79
	//	movi v16.16b, #80
	//	movi v17.16b, #81
	//	movi v18.16b, #82
	//	movi v19.16b, #83
	//	movi v20.16b, #84
	//	movi v21.16b, #85
	//	movi v22.16b, #86
	//	movi v23.16b, #87
	//	movi v24.16b, #88
	//	movi v25.16b, #89
	//	movi v26.16b, #90
	//	movi v27.16b, #91
	//	movi v28.16b, #92
	//	movi v29.16b, #93
	//	movi v30.16b, #94
	//	movi v31.16b, #95
	//	ldur x0, [sp, #-8]
	//	cmp xzr, xzr
	// 1:
	//	sub x0, x0, #1
	//	cbnz x0, 1b
	//	cset x0, cs
	//	cmp x1, #257
	//	b.ne 2f
	//	cmp x2, #258
	//	b.ne 2f
	//	cmp x3, #259
	//	b.ne 2f
	//	cmp x4, #260
	//	b.ne 2f
	//	cmp x5, #261
	//	b.ne 2f
	//	cmp x6, #262
	//	b.ne 2f
	//	cmp x7, #263
	//	b.ne 2f
	//	cmp x8, #264
	//	b.ne 2f
	//	cmp x9, #265
	//	b.ne 2f
	//	cmp x10, #266
	//	b.ne 2f
	//	cmp x11, #267
	//	b.ne 2f
	//	cmp x12, #268
	//	b.ne 2f
	//	cmp x13, #269
	//	b.ne 2f
	//	cmp x14, #270
	//	b.ne 2f
	//	cmp x15, #271
	//	b.ne 2f
	//	cmp x19, #275
	//	b.ne 2f
	//	cmp x20, #276
	//	b.ne 2f
	//	cmp x21, #277
	//	b.ne 2f
	//	cmp x22, #278
	//	b.ne 2f
	//	cmp x23, #279
	//	b.ne 2f
	//	cmp x24, #280
	//	b.ne 2f
	//	cmp x25, #281
	//	b.ne 2f
	//	cmp x26, #282
	//	b.ne 2f
	//	cmp x27, #283
	//	b.ne 2f
	//	cmp x16, #272
	//	b.ne 2f
	//	cmp x17, #273
	//	b.ne 2f
	//	cmp x30, #286
	//	b.ne 2f
	//	mov x1, v0.d[0]
	//	mov x2, v0.d[1]
	//	cmp x1, x2
	//	b.ne 2f
	//	umov w1, v0.b[0]
	//	umov w2, v0.b[7]
	//	cmp w1, #64
	//	b.ne 2f
	//	cmp w2, #64
	//	b.ne 2f
	//	mov x1, v1.d[0]
	//	mov x2, v1.d[1]
	//	cmp x1, x2
	//	b.ne 2f
	//	umov w1, v1.b[0]
	//	umov w2, v1.b[7]
	//	cmp w1, #65
	//	b.ne 2f
	//	cmp w2, #65
	//	b.ne 2f
	//	mov x1, v2.d[0]
	//	mov x2, v2.d[1]
	//	cmp x1, x2
	//	b.ne 2f
	//	umov w1, v2.b[0]
	//	umov w2, v2.b[7]
	//	cmp w1, #66
	//	b.ne 2f
	//	cmp w2, #66
	//	b.ne 2f
	//	mov x1, v3.d[0]
	//	mov x2, v3.d[1]
	//	cmp x1, x2
	//	b.ne 2f
	//	umov w1, v3.b[0]
	//	umov w2, v3.b[7]
	//	cmp w1, #67
	//	b.ne 2f
	//	cmp w2, #67
	//	b.ne 2f
	//	mov x1, v4.d[0]
	//	mov x2, v4.d[1]
	//	cmp x1, x2
	//	b.ne 2f
	//	umov w1, v4.b[0]
	//	umov w2, v4.b[7]
	//	cmp w1, #68
	//	b.ne 2f
	//	cmp w2, #68
	//	b.ne 2f
	//	mov x1, v5.d[0]
	//	mov x2, v5.d[1]
	//	cmp x1, x2
	//	b.ne 2f
	//	umov w1, v5.b[0]
	//	umov w2, v5.b[7]
	//	cmp w1, #69
	//	b.ne 2f
	//	cmp w2, #69
	//	b.ne 2f
	//	mov x1, v6.d[0]
	//	mov x2, v6.d[1]
	//	cmp x1, x2
	//	b.ne 2f
	//	umov w1, v6.b[0]
	//	umov w2, v6.b[7]
	//	cmp w1, #70
	//	b.ne 2f
	//	cmp w2, #70
	//	b.ne 2f
	//	mov x1, v7.d[0]
	//	mov x2, v7.d[1]
	//	cmp x1, x2
	//	b.ne 2f
	//	umov w1, v7.b[0]
	//	umov w2, v7.b[7]
	//	cmp w1, #71
	//	b.ne 2f
	//	cmp w2, #71
	//	b.ne 2f
	//	mov x1, v8.d[0]
	//	mov x2, v8.d[1]
	//	cmp x1, x2
	//	b.ne 2f
	//	umov w1, v8.b[0]
	//	umov w2, v8.b[7]
	//	cmp w1, #72
	//	b.ne 2f
	//	cmp w2, #72
	//	b.ne 2f
	//	mov x1, v9.d[0]
	//	mov x2, v9.d[1]
	//	cmp x1, x2
	//	b.ne 2f
	//	umov w1, v9.b[0]
	//	umov w2, v9.b[7]
	//	cmp w1, #73
	//	b.ne 2f
	//	cmp w2, #73
	//	b.ne 2f
	//	mov x1, v10.d[0]
	//	mov x2, v10.d[1]
	//	cmp x1, x2
	//	b.ne 2f
	//	umov w1, v10.b[0]
	//	umov w2, v10.b[7]
	//	cmp w1, #74
	//	b.ne 2f
	//	cmp w2, #74
	//	b.ne 2f
	//	mov x1, v11.d[0]
	//	mov x2, v11.d[1]
	//	cmp x1, x2
	//	b.ne 2f
	//	umov w1, v11.b[0]
	//	umov w2, v11.b[7]
	//	cmp w1, #75
	//	b.ne 2f
	//	cmp w2, #75
	//	b.ne 2f
	//	mov x1, v12.d[0]
	//	mov x2, v12.d[1]
	//	cmp x1, x2
	//	b.ne 2f
	//	umov w1, v12.b[0]
	//	umov w2, v12.b[7]
	//	cmp w1, #76
	//	b.ne 2f
	//	cmp w2, #76
	//	b.ne 2f
	//	mov x1, v13.d[0]
	//	mov x2, v13.d[1]
	//	cmp x1, x2
	//	b.ne 2f
	//	umov w1, v13.b[0]
	//	umov w2, v13.b[7]
	//	cmp w1, #77
	//	b.ne 2f
	//	cmp w2, #77
	//	b.ne 2f
	//	mov x1, v14.d[0]
	//	mov x2, v14.d[1]
	//	cmp x1, x2
	//	b.ne 2f
	//	umov w1, v14.b[0]
	//	umov w2, v14.b[7]
	//	cmp w1, #78
	//	b.ne 2f
	//	cmp w2, #78
	//	b.ne 2f
	//	mov x1, v15.d[0]
	//	mov x2, v15.d[1]
	//	cmp x1, x2
	//	b.ne 2f
	//	umov w1, v15.b[0]
	//	umov w2, v15.b[7]
	//	cmp w1, #79
	//	b.ne 2f
	//	cmp w2, #79
	//	b.ne 2f
	//	mov x1, v16.d[0]
	//	mov x2, v16.d[1]
	//	cmp x1, x2
	//	b.ne 2f
	//	umov w1, v16.b[0]
	//	umov w2, v16.b[7]
	//	cmp w1, #80
	//	b.ne 2f
	//	cmp w2, #80
	//	b.ne 2f
	//	mov x1, v17.d[0]
	//	mov x2, v17.d[1]
	//	cmp x1, x2
	//	b.ne 2f
	//	umov w1, v17.b[0]
	//	umov w2, v17.b[7]
	//	cmp w1, #81
	//	b.ne 2f
	//	cmp w2, #81
	//	b.ne 2f
	//	mov x1, v18.d[0]
	//	mov x2, v18.d[1]
	//	cmp x1, x2
	//	b.ne 2f
	//	umov w1, v18.b[0]
	//	umov w2, v18.b[7]
	//	cmp w1, #82
	//	b.ne 2f
	//	cmp w2, #82
	//	b.ne 2f
	//	mov x1, v19.d[0]
	//	mov x2, v19.d[1]
	//	cmp x1, x2
	//	b.ne 2f
	//	umov w1, v19.b[0]
	//	umov w2, v19.b[7]
	//	cmp w1, #83
	//	b.ne 2f
	//	cmp w2, #83
	//	b.ne 2f
	//	mov x1, v20.d[0]
	//	mov x2, v20.d[1]
	//	cmp x1, x2
	//	b.ne 2f
	//	umov w1, v20.b[0]
	//	umov w2, v20.b[7]
	//	cmp w1, #84
	//	b.ne 2f
	//	cmp w2, #84
	//	b.ne 2f
	//	mov x1, v21.d[0]
	//	mov x2, v21.d[1]
	//	cmp x1, x2
	//	b.ne 2f
	//	umov w1, v21.b[0]
	//	umov w2, v21.b[7]
	//	cmp w1, #85
	//	b.ne 2f
	//	cmp w2, #85
	//	b.ne 2f
	//	mov x1, v22.d[0]
	//	mov x2, v22.d[1]
	//	cmp x1, x2
	//	b.ne 2f
	//	umov w1, v22.b[0]
	//	umov w2, v22.b[7]
	//	cmp w1, #86
	//	b.ne 2f
	//	cmp w2, #86
	//	b.ne 2f
	//	mov x1, v23.d[0]
	//	mov x2, v23.d[1]
	//	cmp x1, x2
	//	b.ne 2f
	//	umov w1, v23.b[0]
	//	umov w2, v23.b[7]
	//	cmp w1, #87
	//	b.ne 2f
	//	cmp w2, #87
	//	b.ne 2f
	//	mov x1, v24.d[0]
	//	mov x2, v24.d[1]
	//	cmp x1, x2
	//	b.ne 2f
	//	umov w1, v24.b[0]
	//	umov w2, v24.b[7]
	//	cmp w1, #88
	//	b.ne 2f
	//	cmp w2, #88
	//	b.ne 2f
	//	mov x1, v25.d[0]
	//	mov x2, v25.d[1]
	//	cmp x1, x2
	//	b.ne 2f
	//	umov w1, v25.b[0]
	//	umov w2, v25.b[7]
	//	cmp w1, #89
	//	b.ne 2f
	//	cmp w2, #89
	//	b.ne 2f
	//	mov x1, v26.d[0]
	//	mov x2, v26.d[1]
	//	cmp x1, x2
	//	b.ne 2f
	//	umov w1, v26.b[0]
	//	umov w2, v26.b[7]
	//	cmp w1, #90
	//	b.ne 2f
	//	cmp w2, #90
	//	b.ne 2f
	//	mov x1, v27.d[0]
	//	mov x2, v27.d[1]
	//	cmp x1, x2
	//	b.ne 2f
	//	umov w1, v27.b[0]
	//	umov w2, v27.b[7]
	//	cmp w1, #91
	//	b.ne 2f
	//	cmp w2, #91
	//	b.ne 2f
	//	mov x1, v28.d[0]
	//	mov x2, v28.d[1]
	//	cmp x1, x2
	//	b.ne 2f
	//	umov w1, v28.b[0]
	//	umov w2, v28.b[7]
	//	cmp w1, #92
	//	b.ne 2f
	//	cmp w2, #92
	//	b.ne 2f
	//	mov x1, v29.d[0]
	//	mov x2, v29.d[1]
	//	cmp x1, x2
	//	b.ne 2f
	//	umov w1, v29.b[0]
	//	umov w2, v29.b[7]
	//	cmp w1, #93
	//	b.ne 2f
	//	cmp w2, #93
	//	b.ne 2f
	//	mov x1, v30.d[0]
	//	mov x2, v30.d[1]
	//	cmp x1, x2
	//	b.ne 2f
	//	umov w1, v30.b[0]
	//	umov w2, v30.b[7]
	//	cmp w1, #94
	//	b.ne 2f
	//	cmp w2, #94
	//	b.ne 2f
	//	mov x1, v31.d[0]
	//	mov x2, v31.d[1]
	//	cmp x1, x2
	//	b.ne 2f
	//	umov w1, v31.b[0]
	//	umov w2, v31.b[7]
	//	cmp w1, #95
	//	b.ne 2f
	//	cmp w2, #95
	//	b.ne 2f
	//	ldp d14, d15, [sp], #16
	//	ldp d12, d13, [sp], #16
	//	ldp d10, d11, [sp], #16
	//	ldp d8, d9, [sp], #16
	//	ldr x27, [sp], #16
	//	ldp x25, x26, [sp], #16
	//	ldp x23, x24, [sp], #16
	//	ldp x21, x22, [sp], #16
	//	ldp x19, x20, [sp], #16
	//	ldp x29, x30, [sp], #16
	//	ret
	// 2:
	//	udf #1
	"registers": {
		code:  "5f2403d5fd7bbfa9fd030091f353bfa9f55bbfa9f763bfa9f96bbfa9fb0f1ff8e827bf6dea2fbf6dec37bf6dee3fbf6de0831ff8212080d2422080d2632080d2842080d2a52080d2c62080d2e72080d2082180d2292180d24a2180d26b2180d28c2180d2ad2180d2ce2180d2ef2180d2732280d2942280d2b52280d2d62280d2f72280d2182380d2392380d25a2380d27b2380d2102280d2312280d2de2380d200e4024f21e4024f42e4024f63e4024f84e4024fa5e4024fc6e4024fe7e4024f08e5024f29e5024f4ae5024f6be5024f8ce5024fade5024fcee5024fefe5024f10e6024f31e6024f52e6024f73e6024f94e6024fb5e6024fd6e6024ff7e6024f18e7024f39e7024f5ae7024f7be7024f9ce7024fbde7024fdee7024fffe7024fe0835ff8ff031feb000400d1e0ffffb5e0379f9a3f0404f1013000545f0804f1c12f00547f0c04f1812f00549f1004f1412f0054bf1404f1012f0054df1804f1c12e0054ff1c04f1812e00541f2104f1412e00543f2504f1012e00545f2904f1c12d00547f2d04f1812d00549f3104f1412d0054bf3504f1012d0054df3904f1c12c0054ff3d04f1812c00547f4e04f1412c00549f5204f1012c0054bf5604f1c12b0054df5a04f1812b0054ff5e04f1412b00541f6304f1012b00543f6704f1c12a00545f6b04f1812a00547f6f04f1412a00541f4204f1012a00543f4604f1c1290054df7b04f181290054013c084e023c184e3f0002eb01290054013c010e023c0f0e3f000171812800545f00017141280054213c084e223c184e3f0002ebc1270054213c010e223c0f0e3f040171412700545f04017101270054413c084e423c184e3f0002eb81260054413c010e423c0f0e3f080171012600545f080171c1250054613c084e623c184e3f0002eb41250054613c010e623c0f0e3f0c0171c12400545f0c017181240054813c084e823c184e3f0002eb01240054813c010e823c0f0e3f100171812300545f10017141230054a13c084ea23c184e3f0002ebc1220054a13c010ea23c0f0e3f140171412200545f14017101220054c13c084ec23c184e3f0002eb81210054c13c010ec23c0f0e3f180171012100545f180171c1200054e13c084ee23c184e3f0002eb41200054e13c010ee23c0f0e3f1c0171c11f00545f1c0171811f0054013d084e023d184e3f0002eb011f0054013d010e023d0f0e3f200171811e00545f200171411e0054213d084e223d184e3f0002ebc11d0054213d010e223d0f0e3f240171411d00545f240171011d0054413d084e423d184e3f0002eb811c0054413d010e423d0f0e3f280171011c00545f280171c11b0054613d084e623d184e3f0002eb411b0054613d010e623d0f0e3f2c0171c11a00545f2c0171811a0054813d084e823d184e3f0002eb011a0054813d010e823d0f0e3f300171811900545f30017141190054a13d084ea23d184e3f0002ebc1180054a13d010ea23d0f0e3f340171411800545f34017101180054c13d084ec23d184e3f0002eb81170054c13d010ec23d0f0e3f380171011700545f380171c1160054e13d084ee23d184e3f0002eb41160054e13d010ee23d0f0e3f3c0171c11500545f3c017181150054013e084e023e184e3f0002eb01150054013e010e023e0f0e3f400171811400545f40017141140054213e084e223e184e3f0002ebc1130054213e010e223e0f0e3f440171411300545f44017101130054413e084e423e184e3f0002eb81120054413e010e423e0f0e3f480171011200545f480171c1110054613e084e623e184e3f0002eb41110054613e010e623e0f0e3f4c0171c11000545f4c017181100054813e084e823e184e3f0002eb01100054813e010e823e0f0e3f500171810f00545f500171410f0054a13e084ea23e184e3f0002ebc10e0054a13e010ea23e0f0e3f540171410e00545f540171010e0054c13e084ec23e184e3f0002eb810d0054c13e010ec23e0f0e3f580171010d00545f580171c10c0054e13e084ee23e184e3f0002eb410c0054e13e010ee23e0f0e3f5c0171c10b00545f5c0171810b0054013f084e023f184e3f0002eb010b0054013f010e023f0f0e3f600171810a00545f600171410a0054213f084e223f184e3f0002ebc1090054213f010e223f0f0e3f640171410900545f64017101090054413f084e423f184e3f0002eb81080054413f010e423f0f0e3f680171010800545f680171c1070054613f084e623f184e3f0002eb41070054613f010e623f0f0e3f6c0171c10600545f6c017181060054813f084e823f184e3f0002eb01060054813f010e823f0f0e3f700171810500545f70017141050054a13f084ea23f184e3f0002ebc1040054a13f010ea23f0f0e3f740171410400545f74017101040054c13f084ec23f184e3f0002eb81030054c13f010ec23f0f0e3f780171010300545f780171c1020054e13f084ee23f184e3f0002eb41020054e13f010ee23f0f0e3f7c0171c10100545f7c017181010054ee3fc16cec37c16cea2fc16ce827c16cfb0741f8f96bc1a8f763c1a8f55bc1a8f353c1a8fd7bc1a8c0035fd601000000",
		traps: []abi.TrapSite{{Offset: 1848, Code: 1, Fault: 0, Memory: 0, Src: 141}},
	},
}
