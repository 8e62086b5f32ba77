#include "go_asm.h"
#include "textflag.h"
#include "funcdata.h"

// R11 is the last byte of the native stack (sp | mask) wherever CTX is used.
#define CTX(off) (off+1-nativeContext__size)(R11)

// func enter(cc *Caller, last uintptr, f *Func, args *uint64) (reason uint64)
//
// If f is nil, everything is in the context; otherwise the arguments of f, whose type is
// plain, are at args.
//
// enter does not write SP, so Go's unwinder can pass it while dispatch runs.
// Host calls are dispatched by a call from here, and native code is resumed by a jump,
// so that the processor's return stack stays balanced: the RET of
// switchResume matches the native call of the stub.
TEXT ·enter(SB), 0, $16-40
	NO_LOCAL_POINTERS
	MOVQ last+8(FP), R11
	MOVQ f+16(FP), R12
	TESTQ R12, R12
	JNE  plain
	CALL ·switchEnter(SB)
	JMP  left

plain:
	MOVQ cc+0(FP), AX
	MOVQ args+24(FP), R13
	CALL ·switchEnterPlain(SB)

left:
	// Every exit from native code arrives here (goPC), with SP and BP restored.
	MOVQ last+8(FP), R11
	MOVQ CTX(nativeContext_reason), AX
	CMPQ AX, $const_exitHost
	JNE  other
	MOVQ cc+0(FP), AX
	MOVQ AX, 0(SP)
	CALL ·dispatch(SB)
	MOVQ 8(SP), AX
	TESTQ AX, AX
	JNE  done
	MOVQ last+8(FP), R11
	JMP  ·switchResume(SB)

other:
	MOVQ cc+0(FP), CX
	MOVQ CX, 0(SP)
	CMPQ AX, $const_exitPreempt
	JEQ  preempt
	CMPQ AX, $const_exitUndefined
	JNE  done
	CALL ·undefined(SB)
	JMP  looked

preempt:
	CALL ·preempted(SB)

looked:
	MOVQ 8(SP), AX
	TESTQ AX, AX
	JNE  done
	MOVQ last+8(FP), R11
	JMP  ·switchBack(SB)

done:
	MOVQ AX, reason+32(FP)
	RET

// func switchEnter()
//
// In: R11. Runs nativeContext.code on the native stack.
TEXT ·switchEnter(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ 0(SP), AX
	MOVQ AX, CTX(nativeContext_goPC)
	LEAQ 8(SP), AX
	MOVQ AX, CTX(nativeContext_goSP)
	MOVQ BP, CTX(nativeContext_goBP)
	MOVQ CTX(nativeContext_sp), SP
	XORL BP, BP // ends the chain of frames
	MOVQ CTX(nativeContext_flags), BX // native code keeps it
	TESTQ $const_flagFloatArgs, BX
	JEQ  ints
	MOVUPS CTX(nativeContext_floats+0), X0
	MOVUPS CTX(nativeContext_floats+16), X1
	MOVUPS CTX(nativeContext_floats+32), X2
	MOVUPS CTX(nativeContext_floats+48), X3
	MOVUPS CTX(nativeContext_floats+64), X4
	MOVUPS CTX(nativeContext_floats+80), X5
	MOVUPS CTX(nativeContext_floats+96), X6
	MOVUPS CTX(nativeContext_floats+112), X7

ints:
	MOVQ CTX(nativeContext_ints+0), DI
	MOVQ CTX(nativeContext_ints+8), SI
	MOVQ CTX(nativeContext_ints+16), DX
	MOVQ CTX(nativeContext_ints+24), CX
	TESTQ $const_flagManyArgs, BX
	JEQ  call
	MOVQ CTX(nativeContext_ints+32), R8
	MOVQ CTX(nativeContext_ints+40), R9
	MOVQ CTX(nativeContext_ints+48), AX
	MOVQ CTX(nativeContext_ints+56), R10

call:
	MOVQ CTX(nativeContext_saved+const_savedFuel*8), R15
	MOVQ CTX(nativeContext_code), R11
	CALL R11

	// The callee has popped its arguments: SP is as before. Nothing is stored to
	// the native stack from here but into the context.
	MOVQ SP, R11
	ORQ  $const_stackMask, R11
	MOVQ R15, CTX(nativeContext_saved+const_savedFuel*8)
	MOVQ AX, CTX(nativeContext_ints+0)
	TESTQ $const_flagManyResults, BX
	JEQ  one
	MOVQ DX, CTX(nativeContext_ints+8)
	MOVQ CX, CTX(nativeContext_ints+16)
	MOVQ SI, CTX(nativeContext_ints+24)

one:
	TESTQ $const_flagFloatReturn, BX
	JEQ  stored
	MOVUPS X0, CTX(nativeContext_floats+0)
	MOVUPS X1, CTX(nativeContext_floats+16)
	MOVUPS X2, CTX(nativeContext_floats+32)
	MOVUPS X3, CTX(nativeContext_floats+48)

stored:
	MOVQ $const_exitReturn, CTX(nativeContext_reason)
	MOVQ CTX(nativeContext_goBP), BP
	MOVQ CTX(nativeContext_goPC), CX
	MOVQ CTX(nativeContext_goSP), AX

	// The return address was overwritten if there were host calls.
	LEAQ -8(AX), SP
	MOVQ CX, 0(SP)
	RET

// func switchEnterPlain()
//
// In: R11, AX the Caller, R12 the Func, R13 its arguments. switchEnter for a function of
// plain type, whose arguments are words and at most four.
TEXT ·switchEnterPlain(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ 0(SP), BX
	MOVQ BX, CTX(nativeContext_goPC)
	LEAQ 8(SP), BX
	MOVQ BX, CTX(nativeContext_goSP)
	MOVQ BP, CTX(nativeContext_goBP)
	MOVQ Caller_start(AX), SP
	XORL BP, BP
	MOVQ Func_typ(R12), R9
	MOVQ CTX(nativeContext_saved+const_savedFuel*8), R15
	MOVQ Func_code(R12), R11
	MOVQ funcType_plainArgs(R9), R10
	TESTQ R10, R10
	JEQ  call
	MOVQ 0(R13), DI
	ANDQ funcType_masks+0(R9), DI
	CMPQ R10, $2
	JCS  call
	MOVQ 8(R13), SI
	ANDQ funcType_masks+8(R9), SI
	CMPQ R10, $3
	JCS  call
	MOVQ 16(R13), DX
	ANDQ funcType_masks+16(R9), DX
	CMPQ R10, $4
	JCS  call
	MOVQ 24(R13), CX
	ANDQ funcType_masks+24(R9), CX

call:
	CALL R11
	MOVQ SP, R11
	ORQ  $const_stackMask, R11
	MOVQ R15, CTX(nativeContext_saved+const_savedFuel*8)
	MOVQ AX, CTX(nativeContext_ints+0)
	MOVQ $const_exitReturn, CTX(nativeContext_reason)
	MOVQ CTX(nativeContext_goBP), BP
	MOVQ CTX(nativeContext_goPC), CX
	MOVQ CTX(nativeContext_goSP), AX
	LEAQ -8(AX), SP
	MOVQ CX, 0(SP)
	RET

// exitStub is where binding stubs jump to, on the native stack, with R11 set
// and the index stored. It treats the native stack as read-only: SP may be just above
// the guard, and a fault in Go text there would be fatal.
TEXT ·exitStub(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ DI, CTX(nativeContext_ints+0)
	MOVQ SI, CTX(nativeContext_ints+8)
	MOVQ DX, CTX(nativeContext_ints+16)
	MOVQ CX, CTX(nativeContext_ints+24)
	MOVQ R8, CTX(nativeContext_ints+32)
	MOVQ R9, CTX(nativeContext_ints+40)
	MOVQ AX, CTX(nativeContext_ints+48)
	MOVQ R10, CTX(nativeContext_ints+56)
	MOVUPS X0, CTX(nativeContext_floats+0)
	MOVUPS X1, CTX(nativeContext_floats+16)
	MOVUPS X2, CTX(nativeContext_floats+32)
	MOVUPS X3, CTX(nativeContext_floats+48)
	MOVUPS X4, CTX(nativeContext_floats+64)
	MOVUPS X5, CTX(nativeContext_floats+80)
	MOVUPS X6, CTX(nativeContext_floats+96)
	MOVUPS X7, CTX(nativeContext_floats+112)
	MOVQ BX, CTX(nativeContext_saved+0)
	MOVQ R12, CTX(nativeContext_saved+8)
	MOVQ R13, CTX(nativeContext_saved+16)
	MOVQ R14, CTX(nativeContext_saved+24)
	MOVQ R15, CTX(nativeContext_saved+32)
	MOVQ BP, CTX(nativeContext_fp)
	MOVQ SP, CTX(nativeContext_sp)
	MOVQ $const_exitHost, CTX(nativeContext_reason)
	MOVQ CTX(nativeContext_goBP), BP
	MOVQ CTX(nativeContext_goPC), AX
	MOVQ CTX(nativeContext_goSP), SP
	JMP  AX

// func switchResume()
//
// In: R11, SP in the frame of enter. Jumped to; returns from the stub's call.
TEXT ·switchResume(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ SP, CTX(nativeContext_goSP)
	MOVQ BP, CTX(nativeContext_goBP)
	MOVQ CTX(nativeContext_saved+0), BX
	MOVQ CTX(nativeContext_saved+8), R12
	MOVQ CTX(nativeContext_saved+16), R13
	MOVQ CTX(nativeContext_saved+24), R14
	MOVQ CTX(nativeContext_saved+32), R15
	MOVQ CTX(nativeContext_fp), BP
	TESTQ $const_flagFloatResults, CTX(nativeContext_flags)
	JEQ  ints
	MOVUPS CTX(nativeContext_floats+0), X0
	MOVUPS CTX(nativeContext_floats+16), X1
	MOVUPS CTX(nativeContext_floats+32), X2
	MOVUPS CTX(nativeContext_floats+48), X3

ints:
	MOVQ CTX(nativeContext_ints+0), AX
	MOVQ CTX(nativeContext_ints+8), DX
	MOVQ CTX(nativeContext_ints+16), CX
	MOVQ CTX(nativeContext_ints+24), SI
	MOVQ CTX(nativeContext_pop), DI
	MOVQ CTX(nativeContext_sp), SP
	TESTQ DI, DI
	JNE  pop
	RET

pop:
	MOVQ 0(SP), R11
	LEAQ 8(SP)(DI*1), SP
	JMP  R11

// Offsets in the kernel's ucontext.
#define UC_STACK 16
#define UC_SIGMASK 296

#define SYS_rt_sigprocmask 14
#define SYS_rt_sigreturn 15
#define SYS_sigaltstack 131

// func switchBack()
//
// In: R11, SP in the frame of enter. Jumped to; continues preempted code with all of its
// state by returning from the saved signal frame. The goroutine may have moved
// to another thread: the frame's signal stack and mask are made this thread's first, as the
// kernel installs both. Assembly is not preempted, so the thread stays the same.
TEXT ·switchBack(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ SP, CTX(nativeContext_goSP)
	MOVQ BP, CTX(nativeContext_goBP)
	LEAQ (1-const_stackSize)(R11), R12
	XORL DI, DI
	LEAQ UC_STACK(R12), SI
	MOVL $SYS_sigaltstack, AX
	SYSCALL
	XORL DI, DI
	XORL SI, SI
	LEAQ UC_SIGMASK(R12), DX
	MOVL $8, R10
	MOVL $SYS_rt_sigprocmask, AX
	SYSCALL
	MOVQ R12, SP
	MOVL $SYS_rt_sigreturn, AX
	SYSCALL
	INT  $3

// func currentG() uintptr
TEXT ·currentG(SB), NOSPLIT, $0-8
	MOVQ TLS, CX
	MOVQ 0(CX)(TLS*1), CX
	MOVQ CX, ret+0(FP)
	RET

// func exitStubAddress() uintptr
TEXT ·exitStubAddress(SB), NOSPLIT, $0-8
	LEAQ ·exitStub(SB), AX
	MOVQ AX, ret+0(FP)
	RET

// func cpuid(leaf, sub uint32) (a, b, c, d uint32)
TEXT ·cpuid(SB), NOSPLIT, $0-24
	MOVL leaf+0(FP), AX
	MOVL sub+4(FP), CX
	CPUID
	MOVL AX, a+8(FP)
	MOVL BX, b+12(FP)
	MOVL CX, c+16(FP)
	MOVL DX, d+20(FP)
	RET

// func xgetbv() uint32
TEXT ·xgetbv(SB), NOSPLIT, $0-4
	XORL CX, CX
	XGETBV
	MOVL AX, ret+0(FP)
	RET
