// Package inproc executes compiled modules inside a Go process, on linux/amd64 and linux/arm64
// and without cgo. On other systems it builds, but NewStore and Load return
// ErrUnsupported.
//
// Place in the pipeline: the last stage. It knows the binary interface
// (internal/abi, internal/meta) and nothing of the compiler, so a program that
// only loads objects does not link one.
//
// Input: an Image (linked text, constants and instance data, the words that depend on the address, metadata), or the file of one.
// Output: instances whose functions can be called, and their memories, tables
// and globals.
//
// # How it works
//
// Images live in one reserved range of addresses, the code arena; text and
// constants of all instances of one Module are the same pages of a memfd, instance data
// is private. Native code runs on its own stacks: 64 MiB of addresses, aligned to
// their size. A store uses as much of a stack as its limit says. Below is a guard; at the top is the context of the call (nativeContext),
// which stubs and the signal handler find by masking the stack pointer.
//
// enter switches to a native stack and runs there until the code returns, calls a host
// function or a host's helper, or traps. Go treats these three exits alike:
// the registers of Go's side are restored as if a call had returned, and a word of the
// context says which it was. Host functions run on the goroutine's own stack, so they may
// grow it, block, panic and call back into native code, which then continues
// lower on the same native stack.
//
// The signal handler of SIGSEGV, SIGBUS, SIGFPE and SIGILL looks at the program
// counter: outside the arena it tail-jumps to Go's handler, so that Go's own faults stay
// ordinary panics. Inside, it records the fault in the context and resumes on
// Go's side. Go decides by the trap table whether that was a trap, and
// otherwise ends the process with a message.
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
// other goroutines continue beside native code as they do beside Go code, profiles name the caller, and the code has
// no checks. Where this cannot work, Preemption says why.
//
// # Cancellation
//
// The end of a call's context sets a flag, which is checked after each preemption and host call.
// It also makes the code of the store's instances non-executable, so that native
// code faults at once and leaves. Both are undone before the call returns.
//
// # References
//
// References to host values are handles, words with a serial number that is used once in the
// process and selects the slot in the store's table. Functions have handles too, but only in Go
// code. Words are checked where they come from Go: arguments, results of host functions, elements,
// globals. A precise mark and sweep frees the handles that compiled code cannot reach
// and nothing else keeps; ExternRef says what keeps a handle. It runs on the goroutine inside the store when
// a handle is made, once as many handles were made since the last collection as a collection has things to visit, so
// that each handle pays for a bounded share. The collector finds frames by their frame pointers, and the
// references in them by the stack maps of their return addresses. Calls of host functions whose
// types have no references cost only a few tests of flags more.
//
// # Nested calls
//
// Host functions may call into the store again, and so use the goroutine's stack without bound. The
// beginning of a call reads how much of it is in use, from the bounds at the start of the runtime's g.
// Above the limits of the store and the process, the call is a stack overflow (stack_goroutine.go). Go's own limit
// would end the process.
//
// A host function may let other goroutines into the store meanwhile (store_owner.go). Their calls nest like its own, on the same native stack.
//
// A snapshot is a copy of an activation's part of the native stack. Going back ends the activations further in, and puts the copy
// in place before the host function's results (snapshot.go).
//
// # Accesses from outside
//
// Everything but memories is used from inside a store, which is not closed meanwhile. The bytes of memories may be looked at from outside: Location says how
// they stay mapped until the last access, graves what becomes of addresses of which slices may exist.
//
// # Files
//
// The files of a room begin with its name:
//
//   - store: the store, its limits (store_limits), its collected heap (store_heap), and which goroutine is inside (store_owner);
//   - module: modules, images and their files; instance: instantiation and linking;
//   - call: functions, the way in and out of compiled code, types and their words, traps, the end of a context;
//   - stack: native stacks, what there is of them per goroutine (stack_fiber), the goroutine's own (stack_goroutine), and the frames on them
//     (stack_frames); snapshot: copies of them to go back to;
//   - memory: memories, those that move, their first contents (memory_images), and how their bytes stay while somebody looks at them
//     (memory_location, memory_graves, memory_views); table, global: the other variables;
//   - object: structures and arrays that Go code holds, and their types;
//   - refs: handles of host values and their collection, words of references from Go and back (refs_words);
//   - signal: the handlers, and preemption;
//   - process: what there is once: the code arena, stacks, mappings, and what is kept to be used again (process_spares);
//   - machine: what differs by architecture: convention, stubs, processors, helpers of compiled code; sys: the operating system.
//
// # What is process-wide
//
// The code arena, the native stacks and the signal handlers exist once per process, and
// nothing can be passed to a signal handler, so the package keeps them in two
// variables (process and signals). Nothing else is global.
//
// The handlers survive package os/signal, fork and exec. A program that ignores SIGURG
// gets Go's handler back with the next store or instance: without it, Go cannot preempt at all.
package inproc
