package gen

import "github.com/waot-project/waot/regalloc"

// Envs returns machines to try: like x86-64, like AArch64, and a small one.
func Envs() []*regalloc.MachineEnv {
	return []*regalloc.MachineEnv{X64(), A64(), Small()}
}

// X64 returns a machine like x86-64 with a call convention like that of System V.
func X64() *regalloc.MachineEnv {
	return swapping(makeEnv([]int{0, 1, 2, 6, 7, 8, 9, 10, 11, 3, 12, 13, 14, 15}, 5, 15, 0, regalloc.NoPReg, regalloc.FloatReg(15)))
}

// A64 returns a machine like AArch64: an int scratch register too, and float registers
// whose low halves are callee-saved.
func A64() *regalloc.MachineEnv {
	var ints []int
	for n := range 29 {
		if n != 16 && n != 17 && n != 18 {
			ints = append(ints, n)
		}
	}
	return makeEnv(ints, 10, 31, 8, regalloc.IntReg(16), regalloc.FloatReg(31))
}

// Small has six registers of each class, two of them callee-saved.
func Small() *regalloc.MachineEnv {
	return swapping(makeEnv([]int{0, 1, 2, 3, 4, 5}, 2, 6, 2, regalloc.NoPReg, regalloc.FloatReg(6)))
}

// swapping makes env exchange any two int registers.
func swapping(env *regalloc.MachineEnv) *regalloc.MachineEnv {
	env.Swaps = env.Allocatable.OfClass(regalloc.Int)
	return env
}

// makeEnv makes a machine with the given int registers and the given number of float
// registers. The last intSaved and floatSaved of them are callee-saved.
func makeEnv(ints []int, intSaved, floats, floatSaved int, intScratch, floatScratch regalloc.PReg) *regalloc.MachineEnv {
	env := &regalloc.MachineEnv{Scratch: [regalloc.NumClasses]regalloc.PReg{intScratch, floatScratch}}
	add := func(p regalloc.PReg, saved bool) {
		env.Order[p.Class()] = append(env.Order[p.Class()], p)
		env.Allocatable = env.Allocatable.Add(p)
		if saved {
			env.CalleeSaved = env.CalleeSaved.Add(p)
		}
	}
	for k, n := range ints {
		add(regalloc.IntReg(n), k >= len(ints)-intSaved)
	}
	for n := range floats {
		add(regalloc.FloatReg(n), n >= floats-floatSaved)
	}
	return env
}
