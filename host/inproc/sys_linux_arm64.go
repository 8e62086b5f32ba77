package inproc

import (
	"encoding/binary"
	"os"
	"syscall"
)

// Linux's numbers of system calls that package syscall does not name.
const (
	sysMemfdCreate = 279
	sysMembarrier  = 283
)

// pageSize is a multiple of the unit of protection, which is 4, 16 or 64 KiB as the kernel
// was built.
const pageSize = 64 << 10

// What is kept of preempted code, at the low end of the stack, as the kernel has it on the
// signal stack: a siginfo, which does not matter, a ucontext, and, as the first and only record in
// it, the state of the vector registers. State that a processor may have beyond that, of SVE
// or SME, is not: compiled code has no use for it, and the kernel takes its absence for empty.
const (
	saveArea     = 64 << 10
	savedContext = 128 // the ucontext
)

// Offsets in the save area.
const (
	savedCount = savedContext + 400 // x27
	savedFP    = savedContext + 416
	savedLR    = savedContext + 424
	savedSP    = savedContext + 432
	savedPC    = savedContext + 440
)

// notePreempted records where preempted code was, as if it had faulted there.
func (s *Store) notePreempted() {
	c := s.ctx
	c.faultFP = uintptr(load64(s.stack + savedFP))
	c.faultLR = uintptr(load64(s.stack + savedLR))
	c.faultSP = uintptr(load64(s.stack + savedSP))
	c.faultPC = uintptr(load64(s.stack + savedPC))
	*s.count() = load64(s.stack + savedCount)
}

// checkStateSize reports ErrStateSize if the save area cannot take the state of preempted code,
// whose size is fixed here.
func checkStateSize() error { return nil }

// landingPads returns the protection that makes the processor check the targets of indirect branches in
// compiled code; 0 without it.
func landingPads() int {
	const (
		auxHWCap2 = 26      // AT_HWCAP2
		hwcap2BTI = 1 << 17 // HWCAP2_BTI
		protBTI   = 0x10    // PROT_BTI
	)
	b, err := os.ReadFile("/proc/self/auxv")
	if err != nil {
		return 0
	}
	for ; len(b) >= 16; b = b[16:] {
		if binary.LittleEndian.Uint64(b) == auxHWCap2 && binary.LittleEndian.Uint64(b[8:])&hwcap2BTI != 0 {
			return protBTI
		}
	}
	return 0
}

// flushCode makes instructions that were written at addr ones that the processor executes once
// the memory may be executed. Code that comes by way of a file needs none: mapping
// pages of a file executable is the kernel's affair, as for programs and libraries.
func flushCode(addr, size uintptr) { cleanCode(addr, addr+size) }

// syncCores makes all threads of the process drop instructions that they may have fetched before.
// Without it they drop them at their next interrupt or system call.
func syncCores() {
	const (
		syncCore         = 1 << 5 // MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE
		syncCoreAnnounce = 1 << 6
	)
	// Announcing again is free.
	syscall.Syscall(sysMembarrier, syncCoreAnnounce, 0, 0)
	syscall.Syscall(sysMembarrier, syncCore, 0, 0)
}

// arenas returns the sizes to ask for of the code arena and of the native stacks. Kernels differ in how many
// bits their addresses have: 48, 47, or 39, which are 512 GiB for everything. An emulator
// whose addresses are those of another machine may take long to reserve as much as 48 bits
// would allow.
func arenas() (code, stacks uintptr) {
	at, err := reserve(pageSize, protNone)
	if err == nil {
		munmap(at, pageSize)
	}
	if at>>47 != 0 {
		return bytes64(codeArena), bytes64(maxStacks * stackSize)
	}
	return bytes64(codeArena / 8), bytes64(maxStacks / 16 * stackSize)
}

// The assembly of this machine alone.

// cleanCode makes the instruction caches agree with what was written from addr to end.
func cleanCode(addr, end uintptr)
