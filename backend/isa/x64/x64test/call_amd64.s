#include "textflag.h"

// The fields of Regs.
#define INTS 0
#define FLOATS 64
#define ARGS 128
#define NARGS 136
#define KEPT 144
#define RESULTS 152
#define FRESULTS 184
#define SIGNAL 216
#define FAULTPC 224
#define FAULTADDR 232
#define HOSTSP 240

GLOBL active<>(SB), NOPTR, $8
GLOBL codeLo<>(SB), NOPTR, $8
GLOBL codeHi<>(SB), NOPTR, $8

// func enter(code, stack uintptr, regs *Regs)
TEXT ·enter(SB), NOSPLIT, $8-24
	MOVQ code+0(FP), R11
	MOVQ stack+8(FP), R12
	MOVQ regs+16(FP), BX
	MOVQ BP, 0(SP)
	MOVQ SP, HOSTSP(BX)
	MOVQ BX, active<>(SB)
	MOVQ R12, SP
	// stack arguments, in words, padded to 16 bytes
	MOVQ NARGS(BX), CX
	MOVQ CX, DX
	ADDQ $1, DX
	ANDQ $~1, DX
	SHLQ $3, DX
	SUBQ DX, SP
	MOVQ ARGS(BX), SI
	MOVQ SP, DI
	CLD
	REP; MOVSQ
	MOVSD FLOATS+0(BX), X0
	MOVSD FLOATS+8(BX), X1
	MOVSD FLOATS+16(BX), X2
	MOVSD FLOATS+24(BX), X3
	MOVSD FLOATS+32(BX), X4
	MOVSD FLOATS+40(BX), X5
	MOVSD FLOATS+48(BX), X6
	MOVSD FLOATS+56(BX), X7
	MOVQ INTS+0(BX), DI
	MOVQ INTS+8(BX), SI
	MOVQ INTS+16(BX), DX
	MOVQ INTS+24(BX), CX
	MOVQ INTS+32(BX), R8
	MOVQ INTS+40(BX), R9
	MOVQ INTS+48(BX), AX
	MOVQ INTS+56(BX), R10
	MOVQ $0x1111, R12
	MOVQ $0x2222, R13
	MOVQ $0x3333, R14
	MOVQ $0x4444, R15
	MOVQ $0x5555, BX
	MOVQ SP, BP
	CALL R11
	MOVQ active<>(SB), R11
	MOVQ AX, RESULTS+0(R11)
	MOVQ DX, RESULTS+8(R11)
	MOVQ CX, RESULTS+16(R11)
	MOVQ SI, RESULTS+24(R11)
	MOVSD X0, FRESULTS+0(R11)
	MOVSD X1, FRESULTS+8(R11)
	MOVSD X2, FRESULTS+16(R11)
	MOVSD X3, FRESULTS+24(R11)
	// all callee-saved registers kept, the stack popped?
	XORQ $0x1111, R12
	XORQ $0x2222, R13
	XORQ $0x3333, R14
	XORQ $0x4444, R15
	XORQ $0x5555, BX
	ORQ R12, R13
	ORQ R14, R15
	ORQ R13, R15
	ORQ BX, R15
	MOVQ SP, R13
	MOVQ HOSTSP(R11), SP
	MOVQ stack+8(FP), R12
	SUBQ R13, R12
	ORQ R12, R15
	MOVQ R15, KEPT(R11)
	MOVQ 0(SP), BP
	XORQ R12, R12
	MOVQ R12, active<>(SB)
	RET

// trapped is where the signal handler continues.
TEXT trapped<>(SB), NOSPLIT|NOFRAME, $0
	MOVQ active<>(SB), R11
	MOVQ HOSTSP(R11), SP
	XORQ R12, R12
	MOVQ R12, KEPT(R11)
	MOVQ R12, active<>(SB)
	// the frame of enter: 8 bytes, its caller's frame pointer, the return address
	BYTE $0x48; BYTE $0x8b; BYTE $0x6c; BYTE $0x24; BYTE $0x08 // MOVQ 8(SP), BP
	MOVQ 16(SP), R11
	LEAQ 24(SP), SP
	JMP R11

GLOBL goHandlers<>(SB), NOPTR, $256

// handler(sig, info, context): a fault while compiled code runs ends it; all else is Go's.
TEXT handler<>(SB), NOSPLIT|NOFRAME|TOPFRAME, $0
	MOVQ active<>(SB), AX
	TESTQ AX, AX
	JZ chain
	MOVQ 168(DX), CX // rip
	MOVQ codeLo<>(SB), R8
	CMPQ CX, R8
	JB chain
	MOVQ codeHi<>(SB), R8
	CMPQ CX, R8
	JAE chain
	MOVQ DI, SIGNAL(AX)
	MOVQ CX, FAULTPC(AX)
	MOVQ 16(SI), CX
	MOVQ CX, FAULTADDR(AX)
	LEAQ trapped<>(SB), CX
	MOVQ CX, 168(DX)
	RET
chain:
	LEAQ goHandlers<>(SB), AX
	MOVQ (AX)(DI*8), AX
	JMP AX

TEXT restorer<>(SB), NOSPLIT|NOFRAME, $0
	MOVQ $15, AX // rt_sigreturn
	SYSCALL
	INT $3

// func addresses() (h, r uintptr)
TEXT ·addresses(SB), NOSPLIT, $0-16
	LEAQ handler<>(SB), AX
	MOVQ AX, h+0(FP)
	LEAQ restorer<>(SB), AX
	MOVQ AX, r+8(FP)
	RET

// Helpers in the C convention.

// memory_grow(base, pages): within the maximum; all pages are accessible from the start.
TEXT helperMemoryGrow<>(SB), NOSPLIT|NOFRAME, $0
	MOVQ -8(DI), AX
	SHRQ $16, AX
	LEAQ (AX)(SI*1), CX
	CMPQ CX, -16(DI)
	JA fail
	SHLQ $16, CX
	MOVQ CX, -8(DI)
	RET
fail:
	MOVQ $-1, AX
	RET

// table_grow(base, elements, init)
TEXT helperTableGrow<>(SB), NOSPLIT|NOFRAME, $0
	MOVQ -8(DI), AX
	LEAQ (AX)(SI*1), CX
	CMPQ CX, -16(DI)
	JA fail
	MOVQ AX, R8
loop:
	CMPQ R8, CX
	JAE done
	MOVQ DX, (DI)(R8*8)
	INCQ R8
	JMP loop
done:
	MOVQ CX, -8(DI)
	RET
fail:
	MOVQ $-1, AX
	RET

// memmove(to, from, bytes)
TEXT helperMemmove<>(SB), NOSPLIT|NOFRAME, $0
	MOVQ DX, CX
	CMPQ DI, SI
	JA down
	CLD
	REP; MOVSB
	RET
down:
	LEAQ -1(DI)(CX*1), DI
	LEAQ -1(SI)(CX*1), SI
	STD
	REP; MOVSB
	CLD
	// callers keep nothing in these
	MOVQ $0x0dead, DX
	MOVQ DX, R8
	MOVQ DX, R9
	MOVQ DX, R10
	MOVQ DX, R11
	RET

// memset(to, byte, bytes)
TEXT helperMemset<>(SB), NOSPLIT|NOFRAME, $0
	MOVQ SI, AX
	MOVQ DX, CX
	CLD
	REP; STOSB
	RET

// table_fill(to, word, words)
TEXT helperTableFill<>(SB), NOSPLIT|NOFRAME, $0
	MOVQ SI, AX
	MOVQ DX, CX
	CLD
	REP; STOSQ
	RET

// func setHandler(sig, handler uintptr)
TEXT ·setHandler(SB), NOSPLIT, $0-16
	MOVQ sig+0(FP), AX
	MOVQ handler+8(FP), CX
	LEAQ goHandlers<>(SB), DX
	MOVQ CX, (DX)(AX*8)
	RET

// func setCode(lo, hi uintptr)
TEXT ·setCode(SB), NOSPLIT, $0-16
	MOVQ lo+0(FP), AX
	MOVQ AX, codeLo<>(SB)
	MOVQ hi+8(FP), AX
	MOVQ AX, codeHi<>(SB)
	RET

// func helpers(p *[5]uintptr)
TEXT ·helpers(SB), NOSPLIT, $0-8
	MOVQ p+0(FP), DI
	LEAQ helperMemoryGrow<>(SB), AX
	MOVQ AX, 0(DI)
	LEAQ helperTableGrow<>(SB), AX
	MOVQ AX, 8(DI)
	LEAQ helperMemmove<>(SB), AX
	MOVQ AX, 16(DI)
	LEAQ helperMemset<>(SB), AX
	MOVQ AX, 24(DI)
	LEAQ helperTableFill<>(SB), AX
	MOVQ AX, 32(DI)
	RET
