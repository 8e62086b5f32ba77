package wasmgen

import "github.com/waot-project/waot/wasmfront"

// strideLoop goes over memory in steps, with a local that counts: from a negative number up to 0, as compilers like it, or from 0 up. The constants that
// are added to it make addresses that wrap at 32 bits, or just do not, and meet the end of memory.
func (f *fgen) strideLoop() {
	l := strideGen{fgen: f, index: f.newLocal('i'), pointer: f.newLocal('i'), step: 1 << f.r.IntN(4)}
	f.busy[l.index], f.busy[l.pointer] = true, true
	length := l.step * (1 + f.r.IntN(12))
	limit := length
	if f.chance(2) {
		l.start, limit = -length, 0
	}
	f.address()
	f.opIndex(wasmfront.OpLocalSet, l.pointer)
	f.konst('i', uint64(uint32(l.start)))
	f.opIndex(wasmfront.OpLocalSet, l.index)
	f.open(wasmfront.OpLoop, "", "", "")
	f.labels[len(f.labels)-1].reserved = true
	for range 1 + f.r.IntN(4) {
		l.access()
	}
	l.add(l.pointer, 1<<f.r.IntN(4))
	f.opIndex(wasmfront.OpLocalSet, l.pointer)
	l.add(l.index, l.step)
	f.opIndex(wasmfront.OpLocalTee, l.index)
	switch ends := []wasmfront.Opcode{wasmfront.OpI32Ne, wasmfront.OpI32LtS, wasmfront.OpI32LtU}; {
	case limit != 0:
		f.konst('i', uint64(limit))
		f.op(ends[f.r.IntN(3)])
	case f.chance(2):
		f.konst('i', 0)
		f.op(ends[f.r.IntN(2)])
	}
	f.opIndex(wasmfront.OpBrIf, 0)
	f.close()
	f.busy[l.index], f.busy[l.pointer] = f.chance(2), f.chance(2)
}

// strideGen generates one loop. The index begins with start.
type strideGen struct {
	*fgen
	index, pointer, step, start int
}

// add pushes a local plus a constant.
func (l *strideGen) add(local, k int) {
	l.opIndex(wasmfront.OpLocalGet, local)
	l.konst('i', uint64(uint32(k)))
	l.op(wasmfront.OpI32Add)
}

// access loads or stores near one of the locals, mostly in memory.
func (l *strideGen) access() {
	local, near := l.index, l.r.IntN(300)-l.start
	switch {
	case l.chance(3):
		local, near = l.pointer, l.r.IntN(24)
	case l.cfg.NoTraps || l.chance(2):
	case l.chance(2):
		near = 65536 - l.start - l.r.IntN(100) // the end of memory
	default:
		near = l.r.IntN(5) - 2 - []int{0, l.start}[l.r.IntN(2)] // where the sum wraps
	}
	if l.chance(2) {
		l.add(local, near)
		l.memory([]wasmfront.Opcode{wasmfront.OpI32Load, wasmfront.OpI32Load8U, wasmfront.OpI32Load16S}[l.r.IntN(3)])
		l.opIndex(wasmfront.OpLocalSet, l.local('i'))
		return
	}
	l.add(local, near)
	l.opIndex(wasmfront.OpLocalGet, l.anyLocal('i'))
	l.memory([]wasmfront.Opcode{wasmfront.OpI32Store, wasmfront.OpI32Store8, wasmfront.OpI32Store16}[l.r.IntN(3)])
}
