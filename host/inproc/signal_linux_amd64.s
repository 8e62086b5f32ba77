#include "go_asm.h"
#include "textflag.h"

#define CTX(off) (off+1-nativeContext__size)(R11)

// Offsets in the kernel's ucontext (in DX) and in the state it points to.
#define UC_R15 96
#define UC_RBP 120
#define UC_RSP 160
#define UC_RIP 168
#define UC_EFLAGS 176
#define UC_FPSTATE 224
#define UC_WORDS 38
#define FP_MAGIC 464
#define FP_SIZE 468

// SAVE copies the code's state, as the kernel saved it in DX, to the save area of the native stack that R11 ends. The extended state is copied
// by its size, without its magic number the legacy area alone. It jumps to none if there is too much or nothing; it changes R8, R10, R12, R13 and CX.
#define SAVE(none, sized) \
	MOVQ UC_FPSTATE(DX), R10; \
	TESTQ R10, R10; \
	JEQ  none; \
	MOVL $512, CX; \
	CMPL FP_MAGIC(R10), $0x46505853; \
	JNE  sized; \
	MOVL FP_SIZE(R10), CX; \
	CMPL CX, $const_maxSaveFP; \
	JHI  none; \
	sized: \
	LEAQ (1-const_stackSize)(R11), R8; \
	MOVQ DI, R12; \
	MOVQ SI, R13; \
	LEAQ const_saveFP(R8), DI; \
	MOVQ R10, SI; \
	REP; MOVSB; \
	MOVQ R8, DI; \
	MOVQ DX, SI; \
	MOVL $UC_WORDS, CX; \
	REP; MOVSQ; \
	LEAQ const_saveFP(R8), AX; \
	MOVQ AX, UC_FPSTATE(R8); \
	MOVQ R12, DI; \
	MOVQ R13, SI

// signalHandler is the handler of synchronous faults, called by the kernel on
// the signal stack: DI signal, SI siginfo, DX ucontext. It uses neither g nor a
// Go stack. What is not a fault of native code goes to the previous handler by a tail
// jump with every argument, SP included, as the kernel left it. The signal of a fault that
// a process sent is an interruption like others.
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
	JLE  sent

	MOVQ AX, CTX(nativeContext_faultPC)
	MOVQ R8, CTX(nativeContext_faultSP)
	MOVQ UC_RBP(DX), AX
	MOVQ AX, CTX(nativeContext_faultFP)
	MOVQ 16(SI), AX // si_addr
	MOVQ AX, CTX(nativeContext_faultAddr)
	MOVLQZX DI, AX
	MOVQ AX, CTX(nativeContext_faultSignal)
	MOVQ CX, CTX(nativeContext_faultSICode)
	MOVQ UC_R15(DX), AX
	MOVQ AX, CTX(nativeContext_saved+const_savedFuel*8)
	MOVQ $const_exitTrap, CTX(nativeContext_reason)
	CMPL DI, $const_sigILL
	JNE  leave
	SAVE(leave, sized)
	MOVQ $const_exitUndefined, CTX(nativeContext_reason)

leave:

	// Continue as if switchEnter had returned, with the direction flag clear.
	MOVQ R9, UC_RSP(DX)
	MOVQ CTX(nativeContext_goBP), AX
	MOVQ AX, UC_RBP(DX)
	MOVQ CTX(nativeContext_goPC), AX
	MOVQ AX, UC_RIP(DX)
	ANDQ $~0x400, UC_EFLAGS(DX)
	RET

sent:
	JMP ·preemptHandler(SB)

chain:
	MOVLQZX DI, CX
	LEAQ ·signals+signalState_previous(SB), AX
	MOVQ (AX)(CX*8), AX
	JMP  AX

// preemptHandler is the handler of signals by which Go interrupts a goroutine or looks
// at it, SIGURG, SIGPROF and SIGQUIT, with the same arguments and rules. If one arrives in native code, the
// code's state, as the kernel saved it, is copied to the save area of the native
// stack, and the interrupted place becomes that where an exit continues. Then Go's handler
// runs as always: it finds a goroutine in enter. What it wants (a stop, a profile)
// it gets there, and enter resumes the copy.
TEXT ·preemptHandler(SB), NOSPLIT|NOFRAME|TOPFRAME, $0-0
	MOVQ UC_RIP(DX), AX
	SUBQ ·signals+signalState_codeLow(SB), AX
	CMPQ AX, ·signals+signalState_codeSize(SB)
	JAE  chain
	MOVQ UC_RSP(DX), R11
	MOVQ R11, CX
	SUBQ ·signals+signalState_stackLow(SB), CX
	CMPQ CX, ·signals+signalState_stackSize(SB)
	JAE  chain
	ORQ  $const_stackMask, R11
	MOVQ CTX(nativeContext_goSP), R9
	TESTQ R9, R9
	JEQ  chain
	SAVE(chain, sized)

	MOVQ $const_exitPreempt, CTX(nativeContext_reason)
	MOVQ R9, UC_RSP(DX)
	MOVQ CTX(nativeContext_goBP), AX
	MOVQ AX, UC_RBP(DX)
	MOVQ CTX(nativeContext_goPC), AX
	MOVQ AX, UC_RIP(DX)
	ANDQ $~0x400, UC_EFLAGS(DX)

chain:
	MOVLQZX DI, CX
	LEAQ ·signals+signalState_previous(SB), AX
	MOVQ (AX)(CX*8), AX
	JMP  AX

// func preemptHandlerAddress() uintptr
TEXT ·preemptHandlerAddress(SB), NOSPLIT, $0-8
	LEAQ ·preemptHandler(SB), AX
	MOVQ AX, ret+0(FP)
	RET

// func signalHandlerAddress() uintptr
TEXT ·signalHandlerAddress(SB), NOSPLIT, $0-8
	LEAQ ·signalHandler(SB), AX
	MOVQ AX, ret+0(FP)
	RET
