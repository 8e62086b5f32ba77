package inproc

import "sync"

// level is a level of the machine's architecture, an index of levelNames from 1, the baseline, on.
type level uint8

// cpuLevel is findLevel, once: in a virtual machine, an instruction that asks the processor takes microseconds.
var cpuLevel = sync.OnceValue(findLevel)

// CPU returns the highest level that this processor and its operating system support, empty where nothing is executed.
func CPU() string { return levelNames[cpuLevel()] }

// levelByName returns the level of a floor in metadata, 0 if unknown.
func levelByName(name string) level {
	for l, n := range levelNames {
		if l > 0 && n == name || l == 1 && name == baselineAlias {
			return level(l)
		}
	}
	return 0
}

// checkCPU reports a *CPUError if the floor is above what the processor has.
func checkCPU(floor string, have level) error {
	want := levelByName(floor)
	if want == 0 || want > have {
		return &CPUError{Want: floor, Have: levelNames[have]}
	}
	return nil
}
