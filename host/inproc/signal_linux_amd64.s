#include "go_asm.h"
#include "textflag.h"

#define CTX(off) (off+1-nativeContext__size)(R11)

// Offsets in the kernel's ucontext (in DX).
#define UC_RBP 120
#define UC_RSP 160
#define UC_RIP 168
#define UC_EFLAGS 176

// signalHandler is the handler of synchronous faults, called by the kernel on
// the signal stack: DI signal, SI siginfo, DX ucontext. It uses neither g nor a
// Go stack. What is not a fault of native code goes to the previous handler by a tail
// jump with every argument, SP included, as the kernel left it.
//
// An asynchronous signal (preemption) would branch after the test of the stack:
// there R11 is the context, and what an exit needs is known to be valid.
TEXT ·signalHandler(SB), NOSPLIT|NOFRAME|TOPFRAME, $0-0
	MOVQ UC_RIP(DX), AX
	MOVQ AX, CX
	SUBQ ·signals+signalState_codeLow(SB), CX
	CMPQ CX, ·signals+signalState_codeSize(SB)
	JAE  chain
	MOVQ UC_RSP(DX), R11
	MOVQ R11, CX
	SUBQ ·signals+signalState_stackLow(SB), CX
	CMPQ CX, ·signals+signalState_stackSize(SB)
	JAE  chain
	MOVQ R11, R8
	ORQ  $const_stackMask, R11
	MOVQ CTX(nativeContext_goSP), R9
	TESTQ R9, R9
	JEQ  chain
	MOVLQSX 8(SI), CX // si_code: at most 0 if a process sent it
	TESTL CX, CX
	JLE  chain

	MOVQ AX, CTX(nativeContext_faultPC)
	MOVQ R8, CTX(nativeContext_faultSP)
	MOVQ UC_RBP(DX), AX
	MOVQ AX, CTX(nativeContext_faultFP)
	MOVQ 16(SI), AX // si_addr
	MOVQ AX, CTX(nativeContext_faultAddr)
	MOVLQZX DI, AX
	MOVQ AX, CTX(nativeContext_faultSignal)
	MOVQ CX, CTX(nativeContext_faultSICode)
	MOVQ $const_exitTrap, CTX(nativeContext_reason)

	// Continue as if switchEnter had returned, with the direction flag clear.
	MOVQ R9, UC_RSP(DX)
	MOVQ CTX(nativeContext_goBP), AX
	MOVQ AX, UC_RBP(DX)
	MOVQ CTX(nativeContext_goPC), AX
	MOVQ AX, UC_RIP(DX)
	ANDQ $~0x400, UC_EFLAGS(DX)
	RET

chain:
	MOVLQZX DI, CX
	LEAQ ·signals+signalState_previous(SB), AX
	MOVQ (AX)(CX*8), AX
	JMP  AX

// func signalHandlerAddress() uintptr
TEXT ·signalHandlerAddress(SB), NOSPLIT, $0-8
	LEAQ ·signalHandler(SB), AX
	MOVQ AX, ret+0(FP)
	RET
