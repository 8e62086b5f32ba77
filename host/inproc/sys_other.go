//go:build !linux || !(amd64 || arm64)

package inproc

import "github.com/waot-project/waot/internal/abi"

// Where native code cannot run, NewStore and Load fail before any of these is
// reached; they let the rest of the package compile.
const (
	supported     = false
	protNone      = 0
	protR         = 0
	protRW        = 0
	protRX        = 0
	madvDontNeed  = 0
	madvHuge      = 0
	madvNoHuge    = 0
	pageSize      = 4096
	saveArea      = 0
	numSaved      = 1
	savedFuel     = 0
	savedCount    = 0
	savedPC       = 0
	trapBytes     = 0
	stackArgs     = 0
	machine       = ""
	baselineAlias = ""
)

var (
	convention                                               = &abi.X64
	levelNames                                               = [...]string{"", ""}
	codeMemmove, codeMemset, codeTableFill                   []byte
	codeHeapNew, codeHeapFill, codeHeapWiden, codeHeapNarrow []byte
)

func reserve(size uintptr, prot int) (uintptr, error)                        { return 0, ErrUnsupported }
func place(addr, size uintptr, prot int) error                               { return ErrUnsupported }
func placeHeap(addr, size uintptr) error                                     { return ErrUnsupported }
func truncate(fd int, size uintptr) error                                    { return ErrUnsupported }
func mremap(addr, old, size uintptr) (uintptr, error)                        { return 0, ErrUnsupported }
func mapShared(fd int, size uintptr) (uintptr, error)                        { return 0, ErrUnsupported }
func munmap(addr, size uintptr)                                              {}
func mprotect(addr, size uintptr, prot int) error                            { return ErrUnsupported }
func madvise(addr, size uintptr, advice int)                                 {}
func discard(addr, size uintptr) bool                                        { return false }
func (s *scanner) open()                                                     {}
func (s *scanner) written(uintptr, uintptr, bool, uint64, func(extent)) bool { return false }
func discardWorks() bool                                                     { return false }
func memfd(size uintptr) (int, error)                                        { return -1, ErrUnsupported }
func writeAt(fd int, b []byte, offset uintptr) error                         { return ErrUnsupported }
func emptyFile(int, uintptr) bool                                            { return false }
func mapFile(int, uintptr, uintptr) ([]byte, error)                          { return nil, ErrUnsupported }
func dupFile(fd uintptr) (int, error)                                        { return -1, ErrUnsupported }
func closeFile(fd int)                                                       {}
func enter(cc *Caller, last uintptr, f *Func, args *uint64) uint64 {
	return dispatch(cc) + preempted(cc) + undefined(cc)
}
func currentG() uintptr                                { return 0 }
func inMemoryBelow(end uintptr) bool                   { return true }
func hugePageSize() uint64                             { return 0 }
func addressLimit() uintptr                            { return 0 }
func fileLimit() uintptr                               { return 0 }
func exitStubAddress() uintptr                         { return 0 }
func findLevel() level                                 { return 0 }
func landingPads() int                                 { return 0 }
func arenas() (code, stacks uintptr)                   { return 0, 0 }
func flushCode(addr, size uintptr)                     {}
func syncCores()                                       {}
func returnTo(c *nativeContext, pc, sp uintptr)        {}
func storeRelease(p *uintptr, v uintptr)               {}
func returnAddress(uintptr, *[numSaved]uint64) uintptr { return 0 }
func (c *nativeContext) faultReturnAddress() uintptr   { return 0 }
func (s *Store) notePreempted()                        {}
func atEntry(i *Instance, pc uintptr) bool             { return false }
func writeStub(chunk []byte, at int, n uint32)         {}
func (p *processState) hook() error                    { return ErrUnsupported }
func whyNoPreemption() error                           { return ErrUnsupported }
func mappingLimit() uint64                             { return 0 }
func placeFile(addr, size uintptr, prot int, shared bool, fd int, offset uintptr) error {
	return ErrUnsupported
}

// scanner is for systems that have it.
type scanner struct{}
