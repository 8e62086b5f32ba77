package main

import (
	"os"
	"strings"

	"github.com/waot-project/waot/compile"
)

// levelFlags are the processor flags, as Linux names them, that each level of a target adds.
var levelFlags = [...]struct{ target, level, flags string }{
	{compile.TargetX64, "x86-64-v3", "avx avx2 bmi1 bmi2 f16c fma abm movbe xsave"},
	{compile.TargetX64, "x86-64-v4", "avx512f avx512bw avx512cd avx512dq avx512vl"},
	{compile.TargetA64, "armv8.2-a+dotprod", "atomics asimdrdm dcpop asimddp"},
}

// nativeCPU returns the highest level of this processor, which is of the target's machine.
func nativeCPU(target string) string {
	b, _ := os.ReadFile("/proc/cpuinfo")
	return cpuLevel(target, string(b))
}

// cpuLevel returns the level by the text of /proc/cpuinfo, the target's first if unknown.
func cpuLevel(target, info string) string {
	have := map[string]bool{}
	for line := range strings.Lines(info) {
		key, flags, ok := strings.Cut(line, ":")
		if key = strings.TrimSpace(key); ok && (key == "flags" || key == "Features") {
			for _, f := range strings.Fields(flags) {
				have[f] = true
			}
			break
		}
	}
	level := cpuNames[target][0]
	for _, l := range levelFlags {
		if l.target != target {
			continue
		}
		for _, f := range strings.Fields(l.flags) {
			if !have[f] {
				return level
			}
		}
		level = l.level
	}
	return level
}
