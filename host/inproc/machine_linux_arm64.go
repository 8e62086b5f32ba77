package inproc

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/waot-project/waot/internal/abi"
)

const (
	// machine is the architecture in metadata.
	machine = "aarch64"
	// numSaved is the number of words of nativeContext.saved: x19 to x27, d8 to d15, and x30, which
	// is the return address.
	numSaved  = 18
	savedLink = 17
	// savedFuel is the word of x27 among them, where code that counts fuel has the count.
	savedFuel = 8
	// trapBytes is the size of the instruction that traps.
	trapBytes = 4
	// stackArgs is where stack arguments are, from the stack pointer at an exit by a stub.
	stackArgs = 0
	// tornStores says that a store that straddles the end of a memory may
	// write the part inside before it traps.
	tornStores = true
)

// convention is where arguments and results are.
var convention = &abi.A64

// storeRelease stores a word after everything before.
func storeRelease(p *uintptr, v uintptr) { atomic.StoreUintptr(p, v) }

// returnAddress returns that of the call of the stub by which native code was left, from the registers at that exit.
func returnAddress(_ uintptr, saved *[numSaved]uint64) uintptr { return uintptr(saved[savedLink]) }

// returnTo makes the resumption of native code return to pc, with the stack pointer sp then.
func returnTo(c *nativeContext, pc, sp uintptr) {
	c.sp = sp
	c.saved[savedLink] = uint64(pc)
}

// faultReturnAddress returns that of the function in which the last fault was, at its entry.
func (c *nativeContext) faultReturnAddress() uintptr { return c.faultLR }

// The instructions that functions begin with: the first is left out where nothing calls the
// function by its address.
const (
	insnLandingPad = 0xd503245f // bti c
	insnPushFrame  = 0xa9bf7bfd // stp x29, x30, [sp, #-16]!
	insnSetFrame   = 0x910003fd // mov x29, sp
	insnTouchBelow = 0xb85f03ff // ldur wzr, [sp, #-16]: a function that makes its argument area longer begins with it,
	insnTouch      = 0xb94003ff // and goes on with ldr wzr, [sp], once for each page
)

// atEntry reports whether pc is in its function before x29 is set: it is the caller's, and
// x30 is the return address, whether or not both have been stored.
func atEntry(i *Instance, pc uintptr) bool {
	n, ok := i.module.funcAt(uint32(pc - i.base))
	if !ok {
		return false
	}
	insn := func(at uintptr) uint32 { return binary.LittleEndian.Uint32(bytesAt(at, 4)) }
	start := i.base + uintptr(i.module.meta.Funcs[n].Text)
	if insn(start) == insnLandingPad && pc != start {
		start += 4
	}
	switch insn(pc) {
	case insnTouchBelow, insnTouch, insnPushFrame:
		return true
	case insnSetFrame:
		return insn(pc-4) == insnPushFrame
	}
	return pc == start
}

// writeStub writes the stub of binding n at offset at of its chunk. It runs on the
// native stack without touching it, and changes x16 and x17 only.
func writeStub(chunk []byte, at int, n uint32) {
	b := chunk[at : at : at+stubSize]
	target := stubsPerChunk*stubSize - (at + 6*4) // from the load of the address
	for _, insn := range [stubSize / 4]uint32{
		insnLandingPad,
		0x910003f0,                        // mov x16, sp
		0xb2406610,                        // orr x16, x16, stackMask
		0x52800011 | n&0xffff<<5,          // movz w17, n
		0x72a00011 | n>>16<<5,             // movk w17, n >> 16, lsl 16
		0xf81f9211,                        // str x17, [x16, #-7]: the last word of the stack
		0x58000011 | uint32(target)>>2<<5, // ldr x17, the chunk's last place
		0xd61f0220,                        // br x17
	} {
		b = binary.LittleEndian.AppendUint32(b, insn)
	}
}
