package wasmgen

import "github.com/waot-project/waot/wasmfront"

// flags sets a local to constants and to conditions on several ways, and branches on it where these meet, perhaps around a loop: so code keeps
// conditions in variables. The condition that chooses the way is a number on it, and behind it.
func (f *fgen) flags() {
	flag, cond := f.newLocal('i'), f.newLocal('i')
	f.busy[flag], f.busy[cond] = true, true
	f.setFlag(flag, cond)
	f.truth()
	f.opIndex(wasmfront.OpLocalTee, cond)
	f.open(wasmfront.OpIf, "", "", "")
	for i := range 2 {
		if i == 1 {
			f.op(wasmfront.OpElse)
		}
		f.setFlag(flag, cond)
		f.statements(f.r.IntN(2))
		f.useFlags(flag, cond)
	}
	f.close()
	f.testFlag(flag)
	f.open(wasmfront.OpIf, "", "", "")
	f.useFlags(flag, cond)
	f.setFlag(flag, cond)
	f.op(wasmfront.OpElse)
	f.setFlag(flag, cond)
	f.statements(f.r.IntN(2))
	f.close()
	f.testFlag(flag)
	f.open(wasmfront.OpIf, "", "", "")
	f.statements(f.r.IntN(2))
	f.close()
	f.useFlags(flag, cond)
	f.chooseLoaded(flag, cond)
	f.busy[flag], f.busy[cond] = f.chance(2), f.chance(2)
}

// setFlag sets flag, unless it stays.
func (f *fgen) setFlag(flag, cond int) {
	switch f.r.IntN(5) {
	case 0:
		return
	case 1:
		f.condition()
	case 2:
		f.opIndex(wasmfront.OpLocalGet, cond)
	default:
		f.konst('i', uint64(f.r.IntN(3)))
	}
	f.opIndex(wasmfront.OpLocalSet, flag)
}

// testFlag pushes flag, or what compares or computes with it.
func (f *fgen) testFlag(flag int) {
	f.opIndex(wasmfront.OpLocalGet, flag)
	switch f.r.IntN(4) {
	case 0:
		f.konst('i', uint64(f.r.IntN(3)))
		f.op([]wasmfront.Opcode{wasmfront.OpI32Eq, wasmfront.OpI32Ne, wasmfront.OpI32LtS, wasmfront.OpI32GtU, wasmfront.OpI32Sub, wasmfront.OpI32And}[f.r.IntN(6)])
	case 1:
		f.op(wasmfront.OpI32Eqz)
	}
}

// useFlags changes another local by flag or cond.
func (f *fgen) useFlags(flag, cond int) {
	x := f.local('i')
	f.opIndex(wasmfront.OpLocalGet, x)
	f.opIndex(wasmfront.OpLocalGet, []int{flag, cond}[f.r.IntN(2)])
	f.op(f.binary('i', placeAdd, placeSub, placeXor, placeShl))
	f.opIndex(wasmfront.OpLocalSet, x)
}

// chooseLoaded changes one or two locals where what is loaded compares so with a local or with what is loaded, too.
func (f *fgen) chooseLoaded(locals ...int) {
	f.address()
	f.memory(wasmfront.OpI32Load)
	if f.chance(3) {
		f.address()
		f.memory(wasmfront.OpI32Load8U)
	} else {
		f.opIndex(wasmfront.OpLocalGet, f.anyLocal('i'))
	}
	f.op([]wasmfront.Opcode{wasmfront.OpI32LtS, wasmfront.OpI32GtU, wasmfront.OpI32Eq, wasmfront.OpI32LeS}[f.r.IntN(4)])
	f.open(wasmfront.OpIf, "", "", "")
	for range 1 + f.r.IntN(3) {
		f.opIndex(wasmfront.OpLocalGet, f.anyLocal('i'))
		f.opIndex(wasmfront.OpLocalSet, locals[f.r.IntN(len(locals))])
	}
	f.close()
	f.opIndex(wasmfront.OpLocalGet, locals[0])
	f.opIndex(wasmfront.OpLocalSet, f.local('i'))
}
