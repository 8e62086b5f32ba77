package inproc

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/waot-project/waot/internal/abi"
)

const (
	// machine is the architecture in metadata.
	machine = "x86-64"
	// numSaved is the number of words of nativeContext.saved: rbx, r12 to r15.
	numSaved = 5
	// savedFuel is the word of r15 among them, where code that counts fuel has the count.
	savedFuel = 4
	// trapBytes is the size of the instruction that traps.
	trapBytes = 2
	// stackArgs is where stack arguments are, from the stack pointer at an exit by a stub: above
	// the return address.
	stackArgs = 8
	// filler is a byte of an instruction that traps.
	filler = 0xcc
	// tornStores says that a store that straddles the end of a memory may
	// write the part inside before it traps.
	tornStores = false
)

// convention is where arguments and results are.
var convention = &abi.X64

// storeRelease stores a word after everything before. On this machine stores become visible in their
// order, and the compiler keeps that. An atomic store, which also keeps later loads behind it, would make
// an empty call a third longer; it is for the race detector, which sees no other.
func storeRelease(p *uintptr, v uintptr) {
	if raceDetector {
		atomic.StoreUintptr(p, v)
	} else {
		*p = v
	}
}

// returnAddress returns that of the call of the stub by which native code was left, from the registers at that exit.
func returnAddress(sp uintptr, _ *[numSaved]uint64) uintptr { return uintptr(load64(sp)) }

// returnTo makes the resumption of native code return to pc, with the stack pointer sp then. What is below that is free.
func returnTo(c *nativeContext, pc, sp uintptr) {
	c.sp = sp - 8
	store64(c.sp, uint64(pc))
}

// faultReturnAddress returns that of the function in which the last fault was, at its entry.
func (c *nativeContext) faultReturnAddress() uintptr { return uintptr(load64(c.faultSP)) }

// atEntry reports whether pc is the first instruction of its function, endbr64 apart, or a later one that touches the stack below the stack pointer, as a function does that
// makes its argument area longer: push rbp has not happened, rbp is the caller's, and the return address is on top.
func atEntry(i *Instance, pc uintptr) bool {
	n, ok := i.module.funcAt(uint32(pc - i.base))
	if !ok {
		return false
	}
	d := pc - i.base - uintptr(i.module.meta.Funcs[n].Text)
	left := i.base + i.module.length[Text] - pc // behind it there may be no memory
	return d == 0 || d == 4 && string(bytesAt(pc-4, 4)) == "\xf3\x0f\x1e\xfa" || string(bytesAt(pc, min(left, uintptr(len(insnTouchFar))))) == insnTouchFar
}

// insnTouchFar is how cmp [rsp+displacement], rsp begins if the displacement has four bytes. With one it is the first instruction.
const insnTouchFar = "\x48\x39\xa4\x24"

// writeStub writes the stub of binding n at offset at of its chunk. It runs on the
// native stack without touching it, and changes r11 only.
func writeStub(chunk []byte, at int, n uint32) {
	b := append(chunk[at:at:at+stubSize], 0x49, 0x89, 0xe3) // mov r11, rsp
	b = append(b, 0x49, 0x81, 0xcb)                         // or r11, stackMask
	b = binary.LittleEndian.AppendUint32(b, stackMask)
	// mov qword ptr [r11 - 7], n: the last word of the stack
	b = append(b, 0x49, 0xc7, 0x43, 0xf9)
	b = binary.LittleEndian.AppendUint32(b, n)
	b = append(b, 0xff, 0x25) // jmp [rip + distance to the chunk's last place]
	end := at + len(b) + 4
	b = binary.LittleEndian.AppendUint32(b, uint32(stubsPerChunk*stubSize-end))
	for len(b) < stubSize {
		b = append(b, filler)
	}
}
