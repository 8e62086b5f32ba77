package inproc

// sysMemfdCreate is Linux's number of a system call that package syscall does not name.
const sysMemfdCreate = 319

// pageSize is the unit of protection.
const pageSize = 4096

// What is kept of preempted code, at the low end of the stack: a ucontext and, at saveFP,
// the processor's extended state of at most maxSaveFP bytes (11 KiB with AMX).
const (
	saveArea  = 32 << 10
	saveFP    = 320
	maxSaveFP = saveArea - saveFP
)

// Offsets in the save area.
const (
	savedCount = 96 // r15
	savedFP    = 120
	savedSP    = 160
	savedPC    = 168
)

// notePreempted records where preempted code was, as if it had faulted there.
func (s *Store) notePreempted() {
	c := s.ctx
	c.faultFP = uintptr(load64(s.stack + savedFP))
	c.faultSP = uintptr(load64(s.stack + savedSP))
	c.faultPC = uintptr(load64(s.stack + savedPC))
	*s.count() = load64(s.stack + savedCount)
}

// checkStateSize reports ErrStateSize if the save area cannot take the state of all features that
// the system enables.
func checkStateSize() error {
	if maxLeaf, _, _, _ := cpuid(0, 0); maxLeaf >= 13 {
		if _, size, _, _ := cpuid(13, 0); size+4 > maxSaveFP {
			return ErrStateSize
		}
	}
	return nil
}

// landingPads returns the protection that makes the processor check the targets of indirect branches in
// compiled code; 0 without it.
func landingPads() int { return 0 }

// flushCode makes instructions that were written at addr ones that the processor executes.
func flushCode(addr, size uintptr) {}

// syncCores makes all threads of the process drop instructions that they may have fetched before.
func syncCores() {}

// arenas returns the sizes to ask for of the code arena and of the native stacks.
func arenas() (code, stacks uintptr) { return bytes64(codeArena), bytes64(maxStacks * stackSize) }

// The assembly of this machine alone.

func cpuid(leaf, sub uint32) (a, b, c, d uint32)

func xgetbv() uint32
