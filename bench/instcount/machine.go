package main

import "fmt"

// class is what counts of instructions are of: a set of bits, as an atomic operation
// loads and stores.
type class uint8

const (
	classLoad   class = 1 << iota // reads memory; a pair is one
	classStore                    // writes memory
	classStack                    // loads or stores with the stack or frame pointer as the base
	classPair                     // loads or stores two registers
	classMove                     // copies a register to one of the same file, as it is
	classBranch                   // may go elsewhere, with calls and returns
)

// machine is what differs between the machines whose code is counted.
type machine struct {
	name     string // as an argument
	target   string // of waot build
	goarch   string
	emulator string // its command, unless another is asked for
	// triple is that of GNU tools, whose names begin with it, and of clang.
	triple string
	// objdump is the name of the architecture for the disassembler.
	objdump string
	// step divides the address of each instruction.
	step int
	// classify decodes one instruction.
	classify func(code []byte) class
}

var machines = [...]machine{
	{"aarch64", "aarch64-linux", "arm64", "qemu-aarch64 -cpu max", "aarch64-linux-gnu", "aarch64", 4, classifyA64},
	{"x86-64", "x86-64-linux", "amd64", "qemu-x86_64 -cpu max", "x86_64-linux-gnu", "i386:x86-64", 1, classifyX64},
}

// findMachine returns the machine with a name.
func findMachine(name string) (*machine, error) {
	for i := range machines {
		if machines[i].name == name {
			return &machines[i], nil
		}
	}
	return nil, fmt.Errorf("no machine is called %q", name)
}

// tool is the name of a GNU tool for the machine.
func (m *machine) tool(name string) string { return m.triple + "-" + name }

// goEnv is the environment that builds Go programs for the emulator, static ones unless cgo is 1.
func (m *machine) goEnv(cgo string) []string {
	return []string{"GOOS=linux", "GOARCH=" + m.goarch, "CGO_ENABLED=" + cgo}
}
