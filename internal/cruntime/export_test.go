package cruntime

// Part returns one of the parts of the runtime.
func Part(name string) []byte { return part(name) }
