#include "go_asm.h"
#include "textflag.h"

#define CTX(off) (off)(R16)
#define CONTEXT SUB $(nativeContext__size-1), R16, R16

// Offsets in the kernel's ucontext (in R2).
#define UC_X27 400
#define UC_X29 416
#define UC_X30 424
#define UC_SP 432
#define UC_PC 440
#define UC_PSTATE 448
#define UC_RECORDS 464

// Bits of the state that say that a landing pad must come next.
#define PSTATE_BTYPE 0xc00

// Records begin with a magic number and their size.
#define FPSIMD_MAGIC 0x46508001
#define FPSIMD_SIZE 528

// The ucontext in the save area.
#define SAVED 128

// SAVE copies the code's state, as the kernel saved it in R2, to the save area of the native stack with the stack pointer R8. It finds the record of the vector
// registers; one without size is the last. It jumps to none if there is none; it changes R6, R7 and R10 to R15.
#define SAVE(none, record, found, context, vectors) \
	ADD  $UC_RECORDS, R2, R10; \
	MOVD $FPSIMD_MAGIC, R6; \
	record: \
	MOVWU 4(R10), R7; \
	CBZ  R7, none; \
	MOVWU 0(R10), R11; \
	CMP  R6, R11; \
	BEQ  found; \
	ADD  R7, R10; \
	JMP  record; \
	found: \
	CMP  $FPSIMD_SIZE, R7; \
	BNE  none; \
	AND  $~const_stackMask, R8, R12; \
	ADD  $SAVED, R12; \
	MOVD R2, R11; \
	MOVD $(UC_RECORDS/16), R13; \
	context: \
	LDP.P 16(R11), (R14, R15); \
	STP.P (R14, R15), 16(R12); \
	SUBS $1, R13; \
	BNE  context; \
	MOVD $(FPSIMD_SIZE/16), R13; \
	vectors: \
	LDP.P 16(R10), (R14, R15); \
	STP.P (R14, R15), 16(R12); \
	SUBS $1, R13; \
	BNE  vectors; \
	STP  (ZR, ZR), (R12)

// signalHandler is the handler of synchronous faults, called by the kernel on
// the signal stack: R0 signal, R1 siginfo, R2 ucontext. It uses neither g nor a
// Go stack. What is not a fault of native code goes to the previous handler by a tail
// jump with every argument, RSP and R30 included, as the kernel left it. The signal of a fault that
// a process sent is an interruption like others.
TEXT ·signalHandler(SB), NOSPLIT|NOFRAME|TOPFRAME, $0-0
	MOVD $·signals(SB), R4
	MOVD UC_PC(R2), R5
	MOVD signalState_codeLow(R4), R6
	SUB  R6, R5, R7
	MOVD signalState_codeSize(R4), R6
	CMP  R6, R7
	BHS  chain
	MOVD UC_SP(R2), R8
	MOVD signalState_stackLow(R4), R6
	SUB  R6, R8, R7
	MOVD signalState_stackSize(R4), R6
	CMP  R6, R7
	BHS  chain
	ORR  $const_stackMask, R8, R16
	CONTEXT
	MOVD CTX(nativeContext_goSP), R9
	CBZ  R9, chain
	MOVW 8(R1), R10 // si_code: at most 0 if a process sent it
	CMP  $0, R10
	BLE  sent

	MOVD R5, CTX(nativeContext_faultPC)
	MOVD R8, CTX(nativeContext_faultSP)
	MOVD UC_X29(R2), R11
	MOVD R11, CTX(nativeContext_faultFP)
	MOVD UC_X30(R2), R11
	MOVD R11, CTX(nativeContext_faultLR)
	MOVD 16(R1), R11 // si_addr
	MOVD R11, CTX(nativeContext_faultAddr)
	MOVWU R0, R11
	MOVD R11, CTX(nativeContext_faultSignal)
	MOVD R10, CTX(nativeContext_faultSICode)
	MOVD UC_X27(R2), R11
	MOVD R11, CTX(nativeContext_saved+const_savedFuel*8)
	MOVD $const_exitTrap, R11
	MOVD R11, CTX(nativeContext_reason)
	CMPW $const_sigILL, R0
	BNE  leave
	SAVE(leave, record, found, context, vectors)
	MOVD $const_exitUndefined, R11
	MOVD R11, CTX(nativeContext_reason)

leave:

	// Continue as if switchEnter had returned.
	MOVD R9, UC_SP(R2)
	MOVD CTX(nativeContext_goBP), R11
	MOVD R11, UC_X29(R2)
	MOVD CTX(nativeContext_goPC), R11
	MOVD R11, UC_X30(R2)
	MOVD R11, UC_PC(R2)
	MOVD UC_PSTATE(R2), R11
	AND  $~PSTATE_BTYPE, R11
	MOVD R11, UC_PSTATE(R2)
	RET

sent:
	JMP ·preemptHandler(SB)

chain:
	MOVWU R0, R5
	ADD  R5<<3, R4, R4
	MOVD signalState_previous(R4), R4
	JMP  (R4)

// preemptHandler is the handler of signals by which Go interrupts a goroutine or looks
// at it, SIGURG, SIGPROF and SIGQUIT, with the same arguments and rules. If one arrives in native code, the
// code's state, as the kernel saved it, is copied to the save area of the native
// stack, and the interrupted place becomes that where an exit continues. Then Go's handler
// runs as always: it finds a goroutine in enter. What it wants (a stop, a profile)
// it gets there, and enter resumes the copy.
TEXT ·preemptHandler(SB), NOSPLIT|NOFRAME|TOPFRAME, $0-0
	MOVD $·signals(SB), R4
	MOVD UC_PC(R2), R5
	MOVD signalState_codeLow(R4), R6
	SUB  R6, R5, R7
	MOVD signalState_codeSize(R4), R6
	CMP  R6, R7
	BHS  chain
	MOVD UC_SP(R2), R8
	MOVD signalState_stackLow(R4), R6
	SUB  R6, R8, R7
	MOVD signalState_stackSize(R4), R6
	CMP  R6, R7
	BHS  chain
	ORR  $const_stackMask, R8, R16
	CONTEXT
	MOVD CTX(nativeContext_goSP), R9
	CBZ  R9, chain

	SAVE(chain, record, found, context, vectors)
	MOVD $const_exitPreempt, R11
	MOVD R11, CTX(nativeContext_reason)
	MOVD R9, UC_SP(R2)
	MOVD CTX(nativeContext_goBP), R11
	MOVD R11, UC_X29(R2)
	MOVD CTX(nativeContext_goPC), R11
	MOVD R11, UC_X30(R2)
	MOVD R11, UC_PC(R2)
	MOVD UC_PSTATE(R2), R11
	AND  $~PSTATE_BTYPE, R11
	MOVD R11, UC_PSTATE(R2)

chain:
	MOVWU R0, R5
	ADD  R5<<3, R4, R4
	MOVD signalState_previous(R4), R4
	JMP  (R4)

// func preemptHandlerAddress() uintptr
TEXT ·preemptHandlerAddress(SB), NOSPLIT, $0-8
	MOVD $·preemptHandler(SB), R0
	MOVD R0, ret+0(FP)
	RET

// func signalHandlerAddress() uintptr
TEXT ·signalHandlerAddress(SB), NOSPLIT, $0-8
	MOVD $·signalHandler(SB), R0
	MOVD R0, ret+0(FP)
	RET
