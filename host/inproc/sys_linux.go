//go:build linux && (amd64 || arm64)

package inproc

import (
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// What the mappings need of the kernel's interface beyond package syscall.
const (
	mfdCloexec   = 1
	mfdExec      = 0x10
	mapNoReserve = 0x4000
	mapFixed     = 0x10
	madvDontNeed = 4
	madvHuge     = 14
	madvNoHuge   = 15
	protNone     = syscall.PROT_NONE
	protR        = syscall.PROT_READ
	protRW       = syscall.PROT_READ | syscall.PROT_WRITE
	protRX       = syscall.PROT_READ | syscall.PROT_EXEC
)

func mmap(addr, size uintptr, prot, flags, fd int, offset uintptr) (uintptr, error) {
	a, _, e := syscall.Syscall6(syscall.SYS_MMAP, addr, size, uintptr(prot), uintptr(flags), uintptr(fd), offset)
	if e != 0 {
		return 0, &SystemError{Op: "mmap", Err: e}
	}
	return a, nil
}

// reserve takes size bytes of addresses, with protection prot, committing nothing.
func reserve(size uintptr, prot int) (uintptr, error) {
	return mmap(0, size, prot, syscall.MAP_PRIVATE|syscall.MAP_ANON|mapNoReserve, -1, 0)
}

// place maps anonymous memory over a part of a reservation.
func place(addr, size uintptr, prot int) error {
	_, err := mmap(addr, size, prot, syscall.MAP_PRIVATE|syscall.MAP_ANON|mapNoReserve|mapFixed, -1, 0)
	return err
}

// placeHeap maps memory as Go's heap has it.
func placeHeap(addr, size uintptr) error {
	_, err := mmap(addr, size, protRW, syscall.MAP_PRIVATE|syscall.MAP_ANON|mapFixed, -1, 0)
	return err
}

// placeFile maps a part of a file over a part of a reservation.
func placeFile(addr, size uintptr, prot int, shared bool, fd int, offset uintptr) error {
	flags := syscall.MAP_PRIVATE | mapFixed
	if shared {
		flags = syscall.MAP_SHARED | mapFixed
	}
	_, err := mmap(addr, size, prot, flags, fd, offset)
	return err
}

func munmap(addr, size uintptr) {
	syscall.Syscall(syscall.SYS_MUNMAP, addr, size, 0)
}

func mprotect(addr, size uintptr, prot int) error {
	if _, _, e := syscall.Syscall(syscall.SYS_MPROTECT, addr, size, uintptr(prot)); e != 0 {
		return &SystemError{Op: "mprotect", Err: e}
	}
	return nil
}

func madvise(addr, size uintptr, advice int) {
	syscall.Syscall(syscall.SYS_MADVISE, addr, size, uintptr(advice))
}

// discard gives the pages of private mappings back to the system, and reports whether there are zeros now, or what is in the file: the system
// refuses it for memory that is locked.
func discard(addr, size uintptr) bool {
	_, _, e := syscall.Syscall(syscall.SYS_MADVISE, addr, size, madvDontNeed)
	return e == 0
}

// inMemoryBelow reports whether the last page of the system below an address may be in memory. Of one that was never touched it says no.
func inMemoryBelow(end uintptr) bool {
	var is byte // of one page
	_, _, e := syscall.Syscall(syscall.SYS_MINCORE, end-uintptr(syscall.Getpagesize()), 1, uintptr(unsafe.Pointer(&is)))
	return e != 0 || is&1 != 0
}

// discardWorks tries discard on a page of each kind: emulators may say that they have done it.
func discardWorks() bool {
	fd, err := memfd(pageSize)
	if err != nil {
		return false
	}
	defer closeFile(fd)
	for _, flags := range []int{syscall.MAP_ANON, 0} {
		at, err := mmap(0, pageSize, protRW, syscall.MAP_PRIVATE|flags, fd, 0)
		if err != nil {
			return false
		}
		defer munmap(at, pageSize)
		if store64(at, 1); !discard(at, pageSize) || load64(at) != 0 {
			return false
		}
	}
	return true
}

// memfd makes an anonymous file of the given size that may be mapped executable.
func memfd(size uintptr) (int, error) {
	name := [...]byte{'w', 'a', 'o', 't', 0}
	create := func(flags uintptr) (uintptr, syscall.Errno) {
		fd, _, e := syscall.Syscall(sysMemfdCreate, uintptr(unsafe.Pointer(&name)), flags, 0)
		return fd, e
	}
	fd, e := create(mfdCloexec | mfdExec)
	if e == syscall.EINVAL { // kernels before 6.3 do not know the second flag
		fd, e = create(mfdCloexec)
	}
	if e != 0 {
		return -1, &SystemError{Op: "memfd_create", Err: e}
	}
	if fd < firstFile {
		// The program has closed a standard stream. Who writes to that without asking, as Go's runtime does, must not write into code or a memory.
		n, err := dupFile(fd)
		syscall.Close(int(fd))
		if err != nil {
			return -1, err
		}
		fd = uintptr(n)
	}
	if err := truncate(int(fd), size); err != nil {
		syscall.Close(int(fd))
		return -1, err
	}
	return int(fd), nil
}

// firstFile is the first number behind those of the standard streams.
const firstFile = 3

// fileLimit is how many bytes a file may have that the process makes, those without a name, too.
func fileLimit() uintptr {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_FSIZE, &l) != nil {
		return ^uintptr(0)
	}
	return uintptr(l.Cur)
}

// truncate sets the size of a file. It does not ask the system for more than fileLimit: that would be a signal (SIGXFSZ), which ends Go programs.
func truncate(fd int, size uintptr) error {
	if size > fileLimit() {
		return &SystemError{Op: "ftruncate", Err: syscall.EFBIG}
	}
	if err := syscall.Ftruncate(fd, int64(size)); err != nil {
		return &SystemError{Op: "ftruncate", Err: err}
	}
	return nil
}

// writeAt writes into a file that is large enough.
func writeAt(fd int, b []byte, offset uintptr) error {
	for len(b) > 0 {
		n, err := syscall.Pwrite(fd, b, int64(offset))
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return &SystemError{Op: "pwrite", Err: err}
		}
		b, offset = b[n:], offset+uintptr(n)
	}
	return nil
}

// mapShared maps the first size bytes of a file.
func mapShared(fd int, size uintptr) (uintptr, error) {
	return mmap(0, size, protRW, syscall.MAP_SHARED, fd, 0)
}

// mremap makes a mapping longer, elsewhere if there is no room behind it.
func mremap(addr, old, size uintptr) (uintptr, error) {
	const mayMove = 1
	a, _, e := syscall.Syscall6(syscall.SYS_MREMAP, addr, old, size, mayMove, 0, 0)
	if e != 0 {
		return 0, &SystemError{Op: "mremap", Err: e}
	}
	return a, nil
}

// mapFile maps a part of a file for reading, until munmap. offset is a multiple of the page size.
func mapFile(fd int, offset, size uintptr) ([]byte, error) {
	at, err := mmap(0, size, protR, syscall.MAP_PRIVATE, fd, offset)
	if err != nil {
		return nil, err
	}
	return bytesAt(at, size), nil
}

// emptyFile makes the first size bytes of a file zero, and reports whether it could. It gives their pages back.
func emptyFile(fd int, size uintptr) bool {
	const keepSize, punchHole = 1, 2
	return size == 0 || syscall.Fallocate(fd, keepSize|punchHole, 0, int64(size)) == nil
}

// dupFile returns another descriptor of a file, which is none of the numbers of the standard streams.
func dupFile(fd uintptr) (int, error) {
	d, _, e := syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_DUPFD_CLOEXEC, firstFile)
	if e != 0 {
		return -1, &SystemError{Op: "fcntl", Err: e}
	}
	return int(d), nil
}

func closeFile(fd int) { syscall.Close(fd) }

// sigaction is the kernel's struct.
type sigaction struct {
	handler  uintptr
	flags    uint64
	restorer uintptr
	mask     uint64
}

// Linux's numbers of the signals by which Go interrupts goroutines, and of the one by which
// it is asked to print them.
const (
	sigQUIT = 3
	sigURG  = 23
	sigPROF = 27
)

const (
	handlerIgnore = 1                // SIG_IGN; 0 is SIG_DFL
	handlerFlags  = 0x4 | 0x08000000 // SA_SIGINFO, SA_ONSTACK: what our handlers rely on
)

func getAction(sig int) (a sigaction, err error) {
	if _, _, e := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), 0,
		uintptr(unsafe.Pointer(&a)), 8, 0, 0); e != 0 {
		return a, &SystemError{Op: "rt_sigaction", Err: e}
	}
	return a, nil
}

func setAction(sig int, a sigaction) error {
	if _, _, e := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig),
		uintptr(unsafe.Pointer(&a)), 0, 8, 0, 0); e != 0 {
		return &SystemError{Op: "rt_sigaction", Err: e}
	}
	return nil
}

// hookedFor is how long nobody looks whether handlers are still ours: that takes three system calls, and an instance makes none.
const hookedFor = time.Millisecond

// hook puts our handlers before those that are installed, with the same flags, mask and
// restorer, so that the previous handler finds what it expects. It may run again at
// any time: package os/signal takes a handler away where a program ignores its signal, and
// puts Go's own back later.
//
// On an error some signals may be hooked already, which is harmless.
func (p *processState) hook() error {
	// Each new instance is here, so it must not wait for others.
	now := int64(time.Since(p.began))
	last := p.hooked.Load()
	if last != 0 && now-last < int64(hookedFor) {
		return nil
	}
	if last != 0 && preemptionHooked() {
		p.hooked.Store(now)
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, sig := range [...]int{sigILL, sigBUS, sigFPE, sigSEGV} {
		if err := hookFault(sig); err != nil {
			return err
		}
	}
	for _, sig := range preemptionSignals {
		if err := hookPreemption(sig); err != nil {
			return err
		}
	}
	p.hooked.Store(now) // handlers of faults stay
	return nil
}

// preemptionSignals are those by which Go interrupts goroutines.
var preemptionSignals = [...]int{sigURG, sigPROF, sigQUIT}

// preemptionHooked reports whether the handlers of all preemptionSignals are ours.
func preemptionHooked() bool {
	ours := preemptHandlerAddress()
	for _, sig := range preemptionSignals {
		if a, err := getAction(sig); err != nil || a.handler != ours {
			return false
		}
	}
	return true
}

// hookFault hooks the signal of a fault, whose handler must be Go's or one that
// chains to it, since nothing else serves the faults of Go code.
func hookFault(sig int) error {
	if signals.previous[sig] != 0 {
		return nil // whoever came after us and replaced our handler is expected to chain to it
	}
	old, err := getAction(sig)
	ours := signalHandlerAddress()
	if err != nil || old.handler == ours {
		return err
	}
	if old.handler <= handlerIgnore || old.flags&handlerFlags != handlerFlags {
		return &SystemError{Op: "the handler of a fault is not Go's", Err: syscall.EBUSY}
	}
	signals.previous[sig] = old.handler
	old.handler = ours
	return setAction(sig, old)
}

// hookPreemption hooks a signal by which Go interrupts goroutines, where its handler is Go's
// or, the first time, one that chains to it.
func hookPreemption(sig int) error {
	old, err := getAction(sig)
	ours := preemptHandlerAddress()
	if err != nil || old.handler == ours {
		return err
	}
	if sig == sigURG && old.handler == handlerIgnore {
		// The program ignores the signal. So Go code is not preempted either, and
		// the next collection may never end. Notify brings back Go's handler, which drops a
		// signal that nobody waits for. To install only our handler is not enough: Go's handler
		// refuses a signal that it takes for ignored.
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.Signal(sig))
		signal.Stop(c)
		if old, err = getAction(sig); err != nil {
			return err
		}
		defer interruptThreads()
	}
	if old.handler <= handlerIgnore || old.flags&handlerFlags != handlerFlags {
		return nil // Go does not handle it now
	}
	if signals.previous[sig] == 0 {
		signals.previous[sig] = old.handler
	} else if signals.previous[sig] != old.handler {
		return nil // another's, later than ours: expected to chain to it
	}
	old.handler = ours
	return setAction(sig, old)
}

// interruptThreads sends SIGURG to each thread of the process. The scheduler does not send
// a thread a second one before it has seen the first arrive: what was lost while the
// signal was ignored would keep a thread from ever being preempted again.
func interruptThreads() {
	pid := os.Getpid()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	for _, t := range tasks {
		if tid, err := strconv.Atoi(t.Name()); err == nil {
			syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(pid), uintptr(tid), sigURG)
		}
	}
}

// whyNoPreemption says what keeps preemption from working, or nil.
func whyNoPreemption() error {
	if signals.previous[sigURG] == 0 {
		return &SystemError{Op: "the handler of SIGURG is not Go's", Err: syscall.EBUSY}
	}
	off := false
	for _, setting := range strings.Split(os.Getenv("GODEBUG"), ",") {
		if key, value, _ := strings.Cut(setting, "="); key == "asyncpreemptoff" {
			off = value == "1"
		}
	}
	if off {
		return ErrPreemptionOff
	}
	return checkStateSize()
}

// mappingLimit returns how many mappings the package may make: three quarters of the kernel's
// limit for a process, so that Go's heap and files find room.
func mappingLimit() uint64 {
	limit := uint64(65530)
	if b, err := os.ReadFile("/proc/sys/vm/max_map_count"); err == nil {
		if n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64); err == nil {
			limit = n
		}
	}
	return limit / 4 * 3
}

// hugePageSize returns the size of transparent huge pages, 0 if the system has none.
func hugePageSize() uint64 {
	b, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size")
	if err != nil {
		return 0
	}
	n, _ := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	return n
}

// The assembly.

//go:noescape
func enter(cc *Caller, last uintptr, f *Func, args *uint64) (reason uint64)

func switchEnter()

func switchEnterPlain()

func exitStub()

func switchResume()

func signalHandler()

func preemptHandler()

func switchBack()

// currentG returns the address of the calling goroutine's g, which is its own until it ends.
func currentG() uintptr

func exitStubAddress() uintptr

func signalHandlerAddress() uintptr

func preemptHandlerAddress() uintptr

const supported = true

// addressLimit returns how many bytes of addresses the process may have, 0 if it may have any.
func addressLimit() uintptr {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_AS, &l) != nil || l.Cur == ^uint64(0) {
		return 0
	}
	return uintptr(l.Cur)
}
