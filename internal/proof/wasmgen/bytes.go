package wasmgen

import "github.com/waot-project/waot/wasmfront"

// byteLoop copies, fills or compares up to 80 bytes one by one: upwards or downwards, between places that are often near each other. What
// the loop leaves in its locals can be read afterwards.
func (f *fgen) byteLoop() {
	l := byteGen{fgen: f, to: f.newLocal('i'), from: f.newLocal('i'), left: f.newLocal('i'), step: wasmfront.OpI32Add}
	if f.chance(2) {
		l.step = wasmfront.OpI32Sub
	}
	if f.chance(2) {
		f.konst('i', uint64(1+f.r.IntN(80)))
	} else {
		f.produce('i')
		f.konst('i', 63)
		f.op(wasmfront.OpI32And)
		f.konst('i', 1)
		f.op(wasmfront.OpI32Add)
	}
	f.opIndex(wasmfront.OpLocalSet, l.left)
	f.address()
	f.opIndex(wasmfront.OpLocalSet, l.to)
	if f.chance(2) {
		f.address()
	} else {
		f.opIndex(wasmfront.OpLocalGet, l.to)
		f.konst('i', uint64(uint32(f.r.IntN(81)-40)))
		f.op(wasmfront.OpI32Add)
	}
	f.opIndex(wasmfront.OpLocalSet, l.from)
	if down := l.step == wasmfront.OpI32Sub; down && (f.cfg.NoTraps || f.chance(2)) {
		for _, p := range []int{l.to, l.from} { // begin at the end
			l.change(p, wasmfront.OpI32Add, func() { f.opIndex(wasmfront.OpLocalGet, l.left) })
		}
	}
	l.loop()
}

// byteGen generates one loop.
type byteGen struct {
	*fgen
	to, from, left int
	step           wasmfront.Opcode // of addresses
}

// change makes a local the result of op on it and what push pushes.
func (l *byteGen) change(local int, op wasmfront.Opcode, push func()) {
	l.opIndex(wasmfront.OpLocalGet, local)
	push()
	l.op(op)
	l.opIndex(wasmfront.OpLocalSet, local)
}

func (l *byteGen) one() { l.konst('i', 1) }

// loop emits the loop. Now and then another access or step comes in, so that it is no loop of that kind.
func (l *byteGen) loop() {
	kind, first := l.r.IntN(3), l.chance(2)
	l.open(wasmfront.OpBlock, "", "", "")
	l.labels[len(l.labels)-1].reserved = true
	l.open(wasmfront.OpLoop, "", "", "")
	l.labels[len(l.labels)-1].reserved = true
	if first {
		l.advance()
	}
	switch kind {
	case 0:
		l.opIndex(wasmfront.OpLocalGet, l.to)
		l.byteAt(l.from)
		l.memory(wasmfront.OpI32Store8)
	case 1:
		l.opIndex(wasmfront.OpLocalGet, l.to)
		l.opIndex(wasmfront.OpLocalGet, l.anyLocal('i'))
		l.memory(wasmfront.OpI32Store8)
	case 2:
		l.byteAt(l.to)
		l.byteAt(l.from)
		l.op(wasmfront.OpI32Ne)
		l.opIndex(wasmfront.OpBrIf, 1)
	}
	if l.chance(16) {
		l.store()
	}
	if !first {
		l.advance()
	}
	l.change(l.left, wasmfront.OpI32Sub, l.one)
	l.opIndex(wasmfront.OpLocalGet, l.left)
	l.opIndex(wasmfront.OpBrIf, 0)
	l.close()
	l.close()
}

// advance moves both addresses.
func (l *byteGen) advance() {
	for _, p := range []int{l.to, l.from} {
		step := l.step
		if l.chance(24) && !l.cfg.NoTraps {
			step = wasmfront.OpI32Add
		}
		l.change(p, step, l.one)
	}
}

// byteAt pushes the byte at an address.
func (l *byteGen) byteAt(local int) {
	l.opIndex(wasmfront.OpLocalGet, local)
	l.memory([]wasmfront.Opcode{wasmfront.OpI32Load8U, wasmfront.OpI32Load8U, wasmfront.OpI32Load8S}[l.r.IntN(3)])
}
