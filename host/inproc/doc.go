// Package inproc executes compiled modules inside a Go process, on linux/amd64 and linux/arm64
// and without cgo. Elsewhere it compiles, and NewStore and Load answer
// ErrUnsupported.
//
// Place in the pipeline: the last stage. It knows the binary interface
// (internal/abi, internal/meta) and nothing of the compiler, so a program that
// only loads objects does not link one.
//
// Input: an Image (text, constants, instance data, relocations, metadata).
// Output: instances whose functions can be called, and their memories, tables
// and globals.
//
// # How it works
//
// Images live in one reserved range of addresses, the code arena; text and
// constants of all instances of one Module are the same pages of a memfd, instance data
// is private. Native code runs on stacks of its own: 64 MiB of addresses, aligned to
// their size, of which a store uses as much as its limit says, with a guard below and the context of the call (nativeContext) at
// the top, which stubs and the signal handler find by the bits of the stack pointer.
//
// enter switches to a native stack and runs there until the code returns, calls a host
// function or a host's helper, or traps. Each of the three is the same event for Go:
// the registers of Go's side are restored as if a call had returned, and a word of the
// context says which it was. Host functions run on the goroutine's own stack, so they may
// grow it, block, panic and call back into native code, which then continues
// lower on the same native stack.
//
// The signal handler of SIGSEGV, SIGBUS, SIGFPE and SIGILL looks at the program
// counter: outside of the arena it tail-jumps to Go's handler, so that Go's own faults stay
// ordinary panics. Inside, it notes the fault in the context and resumes on
// Go's side; Go decides by the trap table whether that was a trap, and
// ends the process with a message if not.
//
// Pointers of Go never lie in native memory, and native addresses whose memory is ever
// unmapped are kept as uintptr.
//
// # Preemption
//
// SIGURG (the scheduler), SIGPROF (the profiler) and SIGQUIT (a dump of goroutines) that
// arrive in native code copy the code's state, as the kernel saved it, to the save area
// of the native stack, and make it look to Go's handler, which runs next, as if they had
// arrived in enter. There the goroutine stops if the scheduler asked for it; then the
// state is resumed by returning from the copied signal frame. Collections, timers and
// other goroutines go on beside native code as beside Go code, profiles name the caller, and the code has
// no checks. Where it cannot work, Preemption says why.
//
// # Cancellation
//
// The end of a call's context sets a flag, which is looked at after each preemption and host call,
// and takes the permission to execute away from the code of the store's instances, so that native
// code leaves with a fault at once. Both are undone before the call returns.
//
// # References
//
// References to host values are handles, words with a serial number that is used once in the
// process and tells the slot in the store's table. Functions have handles too, but only in Go
// code. Words are checked where they come from Go: arguments, results of host functions, elements,
// globals. A precise mark and sweep frees those that compiled code cannot reach
// and nothing keeps; ExternRef says what keeps. It runs on the goroutine inside the store, when
// a handle is made and as many were made since the last one as it has things to look at, so
// that each handle pays for a bounded share. Frames are found by their frame pointers, the
// references in them by the stack maps of their return addresses. Calls of host functions whose
// types have no references pay nothing for it but a few tests of flags.
//
// # Nested calls
//
// Host functions may call into the store again, and so use the goroutine's stack without end. The
// beginning of a call reads how much of it is in use, from the bounds that the runtime's g begins with,
// and is a stack overflow above the limits of the store and the process: gostack.go. Go's own limit
// ends the process.
//
// # What is process-wide
//
// The code arena, the native stacks and the signal handlers exist once per process, and
// signal handlers cannot be passed anything: the package keeps them in two
// variables (process and signals). Nothing else is global.
//
// Handlers survive what package os/signal does, fork and exec. A program that ignores SIGURG
// gets Go's handler back with the next store or instance: without it, Go cannot preempt at all.
//
// # Limits
//
// v128 cannot be passed between host and native code.
//
// This package is not part of the stable API and may change in any release.
package inproc
