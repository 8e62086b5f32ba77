package inproc

import (
	"encoding/binary"
	"os"
)

// levelNames are the versions of the architecture that code may be compiled for; baselineAlias is another
// name of the first.
var levelNames = [...]string{"", "armv8.0-a", "armv8.2-a+dotprod"}

const baselineAlias = "armv8-a"

// The auxiliary vector's entry with the processor's features (getauxval(3)), and the bits of it that a level asks for
// (arch/arm64/include/uapi/asm/hwcap.h).
const (
	atHwcap = 16
	// atomics, asimdrdm: ARMv8.1-A; dcpop: ARMv8.2-A; asimddp: dot products.
	dotProductHwcap = 1<<8 | 1<<12 | 1<<16 | 1<<20
)

// findLevel returns the highest level that processor and operating system support.
func findLevel() level {
	vector, err := os.ReadFile("/proc/self/auxv")
	if err != nil {
		return 1
	}
	return levelOf(hwcap(vector))
}

// levelOf returns the level of a processor with the given features.
func levelOf(hwcap uint64) level {
	if hwcap&dotProductHwcap == dotProductHwcap {
		return 2
	}
	return 1
}

// hwcap returns the features in an auxiliary vector, pairs of key and value in 8 bytes each.
func hwcap(vector []byte) uint64 {
	for ; len(vector) >= 16; vector = vector[16:] {
		if binary.LittleEndian.Uint64(vector) == atHwcap {
			return binary.LittleEndian.Uint64(vector[8:])
		}
	}
	return 0
}
