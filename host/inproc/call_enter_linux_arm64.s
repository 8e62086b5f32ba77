#include "go_asm.h"
#include "textflag.h"
#include "funcdata.h"

// R16 is the address of the context wherever CTX is used. Where native code runs or will, nothing
// may use R27, the assembler's temporary: constants and offsets are small ones.
#define CTX(off) (off)(R16)

// CONTEXT makes R16, the last byte of the native stack (sp | mask), the address of the context.
#define CONTEXT SUB $(nativeContext__size-1), R16, R16

// func enter(cc *Caller, last uintptr, f *Func, args *uint64) (reason uint64)
//
// If f is nil, everything is in the context; otherwise the arguments of f, whose type is
// plain, are at args.
//
// enter does not write RSP, so Go's unwinder can pass it while dispatch runs.
// Host calls are dispatched by a call from here, and native code is resumed by a jump,
// so that the processor's return stack stays balanced: the RET of
// switchResume matches the native call of the stub.
TEXT ·enter(SB), 0, $16-40
	NO_LOCAL_POINTERS
	MOVD last+8(FP), R16
	CONTEXT
	MOVD f+16(FP), R12
	CBNZ R12, plain
	CALL ·switchEnter(SB)
	JMP  left

plain:
	MOVD cc+0(FP), R10
	MOVD args+24(FP), R13
	CALL ·switchEnterPlain(SB)

left:
	// Every exit from native code arrives here (goPC), with RSP and R29 restored.
	MOVD last+8(FP), R16
	CONTEXT
	MOVD CTX(nativeContext_reason), R0
	CMP  $const_exitHost, R0
	BNE  other
	MOVD cc+0(FP), R0
	MOVD R0, 8(RSP)
	CALL ·dispatch(SB)
	MOVD 16(RSP), R0
	CBNZ R0, done
	MOVD last+8(FP), R16
	CONTEXT
	JMP  ·switchResume(SB)

other:
	MOVD cc+0(FP), R1
	MOVD R1, 8(RSP)
	CMP  $const_exitPreempt, R0
	BEQ  preempt
	CMP  $const_exitUndefined, R0
	BNE  done
	CALL ·undefined(SB)
	JMP  looked

preempt:
	CALL ·preempted(SB)

looked:
	MOVD 16(RSP), R0
	CBNZ R0, done
	MOVD last+8(FP), R16
	CONTEXT
	JMP  ·switchBack(SB)

done:
	MOVD R0, reason+32(FP)
	RET

// func switchEnter()
//
// In: R16. Runs nativeContext.code on the native stack.
TEXT ·switchEnter(SB), NOSPLIT|NOFRAME, $0-0
	MOVD R30, CTX(nativeContext_goPC)
	MOVD RSP, R9
	MOVD R9, CTX(nativeContext_goSP)
	MOVD R29, CTX(nativeContext_goBP)
	MOVD CTX(nativeContext_sp), R9
	MOVD R9, RSP
	MOVD ZR, R29 // ends the chain of frames
	MOVD CTX(nativeContext_flags), R19 // native code keeps it
	TST  $const_flagFloatArgs, R19
	BEQ  ints
	FLDPQ CTX(nativeContext_floats+0), (F0, F1)
	FLDPQ CTX(nativeContext_floats+32), (F2, F3)
	FLDPQ CTX(nativeContext_floats+64), (F4, F5)
	FLDPQ CTX(nativeContext_floats+96), (F6, F7)

ints:
	LDP  CTX(nativeContext_ints+0), (R0, R1)
	LDP  CTX(nativeContext_ints+16), (R2, R3)
	LDP  CTX(nativeContext_ints+32), (R4, R5)
	LDP  CTX(nativeContext_ints+48), (R6, R7)
	MOVD CTX(nativeContext_saved+const_savedFuel*8), R27
	MOVD CTX(nativeContext_code), R17
	CALL (R17)

	// The callee has popped its arguments: RSP is as before. Nothing is stored to
	// the native stack from here but into the context.
	MOVD RSP, R16
	ORR  $const_stackMask, R16, R16
	CONTEXT
	MOVD R27, CTX(nativeContext_saved+const_savedFuel*8)
	STP  (R0, R1), CTX(nativeContext_ints+0)
	STP  (R2, R3), CTX(nativeContext_ints+16)
	TST  $const_flagFloatReturn, R19
	BEQ  stored
	FSTPQ (F0, F1), CTX(nativeContext_floats+0)
	FSTPQ (F2, F3), CTX(nativeContext_floats+32)

stored:
	MOVD $const_exitReturn, R9
	MOVD R9, CTX(nativeContext_reason)
	MOVD CTX(nativeContext_goBP), R29
	MOVD CTX(nativeContext_goPC), R30
	MOVD CTX(nativeContext_goSP), R9
	MOVD R9, RSP
	RET

// func switchEnterPlain()
//
// In: R16, R10 the Caller, R12 the Func, R13 its arguments. switchEnter for a function of
// plain type, whose arguments are words and at most four.
TEXT ·switchEnterPlain(SB), NOSPLIT|NOFRAME, $0-0
	MOVD R30, CTX(nativeContext_goPC)
	MOVD RSP, R9
	MOVD R9, CTX(nativeContext_goSP)
	MOVD R29, CTX(nativeContext_goBP)
	MOVD Caller_start(R10), R9
	MOVD R9, RSP
	MOVD ZR, R29
	MOVD Func_typ(R12), R9
	MOVD CTX(nativeContext_saved+const_savedFuel*8), R27
	MOVD Func_code(R12), R17
	MOVD funcType_plainArgs(R9), R10
	CBZ  R10, call
	MOVD 0(R13), R0
	MOVD funcType_masks+0(R9), R14
	AND  R14, R0
	CMP  $2, R10
	BLO  call
	MOVD 8(R13), R1
	MOVD funcType_masks+8(R9), R14
	AND  R14, R1
	CMP  $3, R10
	BLO  call
	MOVD 16(R13), R2
	MOVD funcType_masks+16(R9), R14
	AND  R14, R2
	CMP  $4, R10
	BLO  call
	MOVD 24(R13), R3
	MOVD funcType_masks+24(R9), R14
	AND  R14, R3

call:
	CALL (R17)
	MOVD RSP, R16
	ORR  $const_stackMask, R16, R16
	CONTEXT
	MOVD R27, CTX(nativeContext_saved+const_savedFuel*8)
	MOVD R0, CTX(nativeContext_ints+0)
	MOVD $const_exitReturn, R9
	MOVD R9, CTX(nativeContext_reason)
	MOVD CTX(nativeContext_goBP), R29
	MOVD CTX(nativeContext_goPC), R30
	MOVD CTX(nativeContext_goSP), R9
	MOVD R9, RSP
	RET

// exitStub is where binding stubs jump to, on the native stack, with R16 set to its last byte
// and the index stored. It treats the native stack as read-only: RSP may be just above
// the guard, and a fault in Go text there would be fatal.
TEXT ·exitStub(SB), NOSPLIT|NOFRAME, $0-0
	CONTEXT
	STP  (R0, R1), CTX(nativeContext_ints+0)
	STP  (R2, R3), CTX(nativeContext_ints+16)
	STP  (R4, R5), CTX(nativeContext_ints+32)
	STP  (R6, R7), CTX(nativeContext_ints+48)
	FSTPQ (F0, F1), CTX(nativeContext_floats+0)
	FSTPQ (F2, F3), CTX(nativeContext_floats+32)
	FSTPQ (F4, F5), CTX(nativeContext_floats+64)
	FSTPQ (F6, F7), CTX(nativeContext_floats+96)
	STP  (R19, R20), CTX(nativeContext_saved+0)
	STP  (R21, R22), CTX(nativeContext_saved+16)
	STP  (R23, R24), CTX(nativeContext_saved+32)
	STP  (R25, R26), CTX(nativeContext_saved+48)
	MOVD R27, CTX(nativeContext_saved+64)
	FSTPD (F8, F9), CTX(nativeContext_saved+72)
	FSTPD (F10, F11), CTX(nativeContext_saved+88)
	FSTPD (F12, F13), CTX(nativeContext_saved+104)
	FSTPD (F14, F15), CTX(nativeContext_saved+120)
	MOVD R30, CTX(nativeContext_saved+136)
	MOVD R29, CTX(nativeContext_fp)
	MOVD RSP, R17
	MOVD R17, CTX(nativeContext_sp)
	MOVD $const_exitHost, R17
	MOVD R17, CTX(nativeContext_reason)
	MOVD CTX(nativeContext_goBP), R29
	MOVD CTX(nativeContext_goSP), R17
	MOVD R17, RSP
	MOVD CTX(nativeContext_goPC), R17
	JMP  (R17)

// func switchResume()
//
// In: R16, RSP in the frame of enter. Jumped to; returns from the stub's call.
TEXT ·switchResume(SB), NOSPLIT|NOFRAME, $0-0
	MOVD RSP, R17
	MOVD R17, CTX(nativeContext_goSP)
	MOVD R29, CTX(nativeContext_goBP)
	LDP  CTX(nativeContext_saved+0), (R19, R20)
	LDP  CTX(nativeContext_saved+16), (R21, R22)
	LDP  CTX(nativeContext_saved+32), (R23, R24)
	LDP  CTX(nativeContext_saved+48), (R25, R26)
	MOVD CTX(nativeContext_saved+64), R27
	FLDPD CTX(nativeContext_saved+72), (F8, F9)
	FLDPD CTX(nativeContext_saved+88), (F10, F11)
	FLDPD CTX(nativeContext_saved+104), (F12, F13)
	FLDPD CTX(nativeContext_saved+120), (F14, F15)
	MOVD CTX(nativeContext_saved+136), R30
	MOVD CTX(nativeContext_fp), R29
	MOVD CTX(nativeContext_flags), R17
	TST  $const_flagFloatResults, R17
	BEQ  ints
	FLDPQ CTX(nativeContext_floats+0), (F0, F1)
	FLDPQ CTX(nativeContext_floats+32), (F2, F3)

ints:
	LDP  CTX(nativeContext_ints+0), (R0, R1)
	LDP  CTX(nativeContext_ints+16), (R2, R3)
	MOVD CTX(nativeContext_pop), R17
	MOVD CTX(nativeContext_sp), R16
	ADD  R17, R16, R16
	MOVD R16, RSP
	RET

// Offsets in the save area, which is the signal frame: a siginfo and a ucontext.
#define SAVED_STACK 144
#define SAVED_SIGMASK 168

#define SYS_sigaltstack 132
#define SYS_rt_sigprocmask 135
#define SYS_rt_sigreturn 139

// func switchBack()
//
// In: R16, RSP in the frame of enter. Jumped to; continues preempted code with all of its
// state by returning from the saved signal frame. The goroutine may have moved
// to another thread: the frame's signal stack and mask are made this thread's first, as the
// kernel installs both. Assembly is not preempted, so the thread stays the same.
TEXT ·switchBack(SB), NOSPLIT|NOFRAME, $0-0
	MOVD RSP, R9
	MOVD R9, CTX(nativeContext_goSP)
	MOVD R29, CTX(nativeContext_goBP)
	AND  $~const_stackMask, R16, R12
	MOVD ZR, R0
	ADD  $SAVED_STACK, R12, R1
	MOVD $SYS_sigaltstack, R8
	SVC
	MOVD ZR, R0
	MOVD ZR, R1
	ADD  $SAVED_SIGMASK, R12, R2
	MOVD $8, R3
	MOVD $SYS_rt_sigprocmask, R8
	SVC
	MOVD R12, RSP
	MOVD $SYS_rt_sigreturn, R8
	SVC
	BRK

// func currentG() uintptr
TEXT ·currentG(SB), NOSPLIT, $0-8
	MOVD g, ret+0(FP)
	RET

// func exitStubAddress() uintptr
TEXT ·exitStubAddress(SB), NOSPLIT, $0-8
	MOVD $·exitStub(SB), R0
	MOVD R0, ret+0(FP)
	RET

// func cleanCode(addr, end uintptr)
//
// CTR_EL0 has the smallest lines of the caches: 4 << bits 19:16 bytes for data, 4 << bits 3:0 for
// instructions.
TEXT ·cleanCode(SB), NOSPLIT, $0-16
	MOVD addr+0(FP), R0
	MOVD end+8(FP), R1
	WORD $0xd53b0022 // mrs x2, ctr_el0
	MOVD $4, R3
	UBFX $16, R2, $4, R4
	LSL  R4, R3, R4
	AND  $15, R2, R5
	LSL  R5, R3, R5
	SUB  $1, R4, R6
	BIC  R6, R0, R7

data:
	WORD $0xd50b7b27 // dc cvau, x7
	ADD  R4, R7
	CMP  R1, R7
	BLO  data
	WORD $0xd5033b9f // dsb ish
	SUB  $1, R5, R6
	BIC  R6, R0, R7

instructions:
	WORD $0xd50b7527 // ic ivau, x7
	ADD  R5, R7
	CMP  R1, R7
	BLO  instructions
	WORD $0xd5033b9f // dsb ish
	WORD $0xd5033fdf // isb
	RET
