package inproc

import (
	"syscall"
	"unsafe"
)

// What the mappings need of the kernel's interface beyond package syscall.
const (
	sysMemfdCreate = 319
	mfdCloexec     = 1
	mfdExec        = 0x10
	mapNoReserve   = 0x4000
	mapFixed       = 0x10
	madvDontNeed   = 4
	madvNoHuge     = 15
	protNone       = syscall.PROT_NONE
	protR          = syscall.PROT_READ
	protRW         = syscall.PROT_READ | syscall.PROT_WRITE
	protRX         = syscall.PROT_READ | syscall.PROT_EXEC
	pageSize       = 4096
)

func mmap(addr, size uintptr, prot, flags, fd int, offset uintptr) (uintptr, error) {
	a, _, e := syscall.Syscall6(syscall.SYS_MMAP, addr, size, uintptr(prot), uintptr(flags), uintptr(fd), offset)
	if e != 0 {
		return 0, &SystemError{"mmap", e}
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
		return &SystemError{"mprotect", e}
	}
	return nil
}

func madvise(addr, size uintptr, advice int) {
	syscall.Syscall(syscall.SYS_MADVISE, addr, size, uintptr(advice))
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
		return -1, &SystemError{"memfd_create", e}
	}
	if err := syscall.Ftruncate(int(fd), int64(size)); err != nil {
		syscall.Close(int(fd))
		return -1, &SystemError{"ftruncate", err}
	}
	return int(fd), nil
}

func writeAt(fd int, b []byte, offset uintptr) error {
	for len(b) > 0 {
		n, err := syscall.Pwrite(fd, b, int64(offset))
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return &SystemError{"pwrite", err}
		}
		b, offset = b[n:], offset+uintptr(n)
	}
	return nil
}

func closeFile(fd int) { syscall.Close(fd) }

// sigaction is the kernel's struct.
type sigaction struct {
	handler  uintptr
	flags    uint64
	restorer uintptr
	mask     uint64
}

// hookedSignals are the signals whose handler is replaced: the synchronous faults.
// SIGURG and SIGPROF would join them for preemption.
var hookedSignals = [...]int{sigILL, sigBUS, sigFPE, sigSEGV}

// hookSignals puts signalHandler before the handlers that are installed, with
// the same flags, mask and restorer, so that the previous handler finds what it
// expects. On an error some signals may be hooked already, which is harmless.
func hookSignals() error {
	for _, sig := range hookedSignals {
		var old sigaction
		if _, _, e := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), 0,
			uintptr(unsafe.Pointer(&old)), 8, 0, 0); e != 0 {
			return &SystemError{"rt_sigaction", e}
		}
		const needed = 0x4 | 0x08000000 // SA_SIGINFO, SA_ONSTACK
		if old.handler <= 1 || old.flags&needed != needed {
			return &SystemError{"the handler of a fault is not Go's", syscall.EBUSY}
		}
		signals.previous[sig] = old.handler
		hook := old
		hook.handler = signalHandlerAddress()
		if _, _, e := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig),
			uintptr(unsafe.Pointer(&hook)), 0, 8, 0, 0); e != 0 {
			return &SystemError{"rt_sigaction", e}
		}
	}
	return nil
}

// The assembly.

//go:noescape
func enter(cc *Caller, last uintptr) (reason uint64)

func switchEnter()

func exitStub()

func switchResume()

func signalHandler()

//go:noescape
func acquire(owner *uintptr) (state uint64)

//go:noescape
func release(owner *uintptr)

func exitStubAddress() uintptr

func signalHandlerAddress() uintptr

func cpuid(leaf, sub uint32) (a, b, c, d uint32)

func xgetbv() uint32

const supported = true
