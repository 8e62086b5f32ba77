package abi

// Limits that the compiler and hosts must agree on; docs/limits.md has them with all others.
const (
	// MaxMemoryPages is how large a memory can get, in pages: all that 32-bit addresses reach.
	MaxMemoryPages = 1 << 16
	// DefaultMemoryPages is how large a memory can get that states no maximum and begins no larger, in pages: 1 MiB less than
	// addresses reach. So what is added to an address that was accessed does not wrap if it is less than that.
	DefaultMemoryPages = MaxMemoryPages - 16
	// MaxTableElements is how large a table can get; DefaultTableElements, one that neither module nor host limits.
	MaxTableElements     = 1<<32 - 1
	DefaultTableElements = 10_000_000
	// MaxSectionBytes bounds code, constants and instance data, each, so that distances between all of them fit 32 bits.
	MaxSectionBytes = 512 << 20
	// DefaultStack is the size of the stack of compiled code in a process of the host and in an executable if nobody says, MinStack the least that
	// can be said, in bytes.
	DefaultStack = 8 << 20
	MinStack     = 64 << 10
	// MaxFrameBytes bounds the frame of a function, so that displacements fit 32 bits.
	MaxFrameBytes = 1 << 30
)

// MemoryLimit returns how large a memory can get that has min pages and states no maximum.
func MemoryLimit(min uint64) uint64 {
	if min <= DefaultMemoryPages {
		return DefaultMemoryPages
	}
	return MaxMemoryPages
}
