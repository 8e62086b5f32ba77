package main

import (
	"os"
	"strings"

	"github.com/waot-project/waot/compile"
)

// Processor flags, as Linux names them, that each level adds.
var levelFlags = [...]struct{ level, flags string }{
	{"x86-64-v3", "avx avx2 bmi1 bmi2 f16c fma abm movbe xsave"},
	{"x86-64-v4", "avx512f avx512bw avx512cd avx512dq avx512vl"},
}

// nativeCPU returns the highest level of this processor, which is of the target's machine.
func nativeCPU(target string) string {
	if target != compile.TargetX64 {
		return cpuNames[target][0]
	}
	b, _ := os.ReadFile("/proc/cpuinfo")
	return cpuLevel(string(b))
}

// cpuLevel returns the level by the text of /proc/cpuinfo, x86-64-v2 if unknown.
func cpuLevel(info string) string {
	have := map[string]bool{}
	for line := range strings.Lines(info) {
		if key, flags, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "flags" {
			for _, f := range strings.Fields(flags) {
				have[f] = true
			}
			break
		}
	}
	level := "x86-64-v2"
	for _, l := range levelFlags {
		for _, f := range strings.Fields(l.flags) {
			if !have[f] {
				return level
			}
		}
		level = l.level
	}
	return level
}
