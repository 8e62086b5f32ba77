package inproc

// levelNames are the microarchitecture levels of x86-64; baselineAlias is another name of the first.
var levelNames = [...]string{"", "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"}

const baselineAlias = "x86-64-v1"

// Feature bits of each level: CPUID leaf 1 ecx, leaf 7 ebx, leaf 0x80000001 ecx.
const (
	// sse3, ssse3, cx16, sse4.1, sse4.2, popcnt
	v2Leaf1 = 1<<0 | 1<<9 | 1<<13 | 1<<19 | 1<<20 | 1<<23
	v2Ext   = 1 << 0 // lahf
	// fma, movbe, osxsave, avx, f16c
	v3Leaf1 = 1<<12 | 1<<22 | 1<<27 | 1<<28 | 1<<29
	// bmi1, avx2, bmi2
	v3Leaf7 = 1<<3 | 1<<5 | 1<<8
	v3Ext   = 1 << 5 // lzcnt
	// avx512 f, dq, cd, bw, vl
	v4Leaf7 = 1<<16 | 1<<17 | 1<<28 | 1<<30 | 1<<31
	// What the operating system must save: xmm and ymm; opmask and zmm.
	v3State = 6
	v4State = 0xe6
)

// findLevel returns the highest level that processor and operating system support.
func findLevel() level {
	maxLeaf, _, _, _ := cpuid(0, 0)
	if maxLeaf < 1 {
		return 1
	}
	_, _, leaf1, _ := cpuid(1, 0)
	var ext, leaf7 uint32
	if maxExt, _, _, _ := cpuid(0x80000000, 0); maxExt >= 0x80000001 {
		_, _, ext, _ = cpuid(0x80000001, 0)
	}
	if maxLeaf >= 7 {
		_, leaf7, _, _ = cpuid(7, 0)
	}
	if leaf1&v2Leaf1 != v2Leaf1 || ext&v2Ext == 0 {
		return 1
	}
	if leaf1&v3Leaf1 != v3Leaf1 || leaf7&v3Leaf7 != v3Leaf7 || ext&v3Ext == 0 || xgetbv()&v3State != v3State {
		return 2
	}
	if leaf7&v4Leaf7 != v4Leaf7 || xgetbv()&v4State != v4State {
		return 3
	}
	return 4
}
