package inproc

// levelNames are the versions of the architecture that code may be compiled for; baselineAlias is another
// name of the first.
var levelNames = [...]string{"", "armv8.0-a"}

const baselineAlias = "armv8-a"

// cpuLevel returns the highest level that processor and operating system support.
func cpuLevel() level { return 1 }
