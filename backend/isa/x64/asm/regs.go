package asm

import (
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/regalloc"
)

// The integer registers.
const (
	RAX = regalloc.PReg(abi.RAX)
	RCX = regalloc.PReg(abi.RCX)
	RDX = regalloc.PReg(abi.RDX)
	RBX = regalloc.PReg(abi.RBX)
	RSP = regalloc.PReg(abi.RSP)
	RBP = regalloc.PReg(abi.RBP)
	RSI = regalloc.PReg(abi.RSI)
	RDI = regalloc.PReg(abi.RDI)
	R8  = regalloc.PReg(abi.R8)
	R9  = regalloc.PReg(abi.R9)
	R10 = regalloc.PReg(abi.R10)
	R11 = regalloc.PReg(abi.R11)
	R12 = regalloc.PReg(abi.R12)
	R13 = regalloc.PReg(abi.R13)
	R14 = regalloc.PReg(abi.R14)
	R15 = regalloc.PReg(abi.R15)
)

// The vector registers.
const (
	XMM0 regalloc.PReg = 32 + iota
	XMM1
	XMM2
	XMM3
	XMM4
	XMM5
	XMM6
	XMM7
	XMM8
	XMM9
	XMM10
	XMM11
	XMM12
	XMM13
	XMM14
	XMM15
)

var intNames = [4][16]string{
	{"al", "cl", "dl", "bl", "spl", "bpl", "sil", "dil", "r8b", "r9b", "r10b", "r11b", "r12b", "r13b", "r14b", "r15b"},
	{"ax", "cx", "dx", "bx", "sp", "bp", "si", "di", "r8w", "r9w", "r10w", "r11w", "r12w", "r13w", "r14w", "r15w"},
	{"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "r8d", "r9d", "r10d", "r11d", "r12d", "r13d", "r14d", "r15d"},
	{"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"},
}

var floatNames = [16]string{"xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
	"xmm11", "xmm12", "xmm13", "xmm14", "xmm15"}

// RegName returns the assembler's name for the low bytes (1, 2, 4 or 8) of p;
// vector registers have one name for all widths.
func RegName(p regalloc.PReg, bytes uint8) string {
	if p.Enc() > 15 || p == regalloc.NoPReg {
		return p.String()
	}
	if p.Class() == regalloc.Float {
		return floatNames[p.Enc()]
	}
	switch bytes {
	case 1:
		return intNames[0][p.Enc()]
	case 2:
		return intNames[1][p.Enc()]
	case 4:
		return intNames[2][p.Enc()]
	}
	return intNames[3][p.Enc()]
}
