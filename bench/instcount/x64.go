package main

// Opcode maps of x86-64: those of one byte, behind 0F, behind 0F 38 and behind 0F 3A.
const (
	mapOne = iota
	map0F
	map0F38
	map0F3A
)

// x64Inst is an instruction of x86-64, as far as classes need it (Intel 64 Software Developer's Manual, volume 2, "Opcode Map").
type x64Inst struct {
	opmap  uint8
	op     byte
	vex    bool
	scalar byte // the prefix F2 or F3, or 0
	modrm  byte
	base   byte // of the address: a register's number, or 16 if there is none
}

// memory reports whether the operand of the ModRM byte is in memory.
func (x *x64Inst) memory() bool { return x.modrm>>6 != 3 }

// digit is the middle field of the ModRM byte, which says more about the operation of a group.
func (x *x64Inst) digit() byte { return x.modrm >> 3 & 7 }

// classifyX64 decodes one instruction. Calls and returns are branches only, though they access the return address.
func classifyX64(code []byte) class {
	x, ok := decodeX64(code)
	if !ok {
		return 0
	}
	if x.opmap == mapOne && !x.vex {
		if c, ok := x.withoutModRM(); ok {
			return c
		}
	}
	if !x.memory() {
		return x.ofRegisters()
	}
	c := x.access()
	if c&(classLoad|classStore) != 0 && (x.base == 4 || x.base == 5) {
		c |= classStack
	}
	return c
}

// decodeX64 finds the parts of an instruction.
func decodeX64(code []byte) (x x64Inst, ok bool) {
	at, rex := 0, byte(0)
	next := func() (b byte) {
		if at < len(code) {
			b = code[at]
		}
		at++
		return b
	}
	b := next()
	for ; b == 0x66 || b == 0xf2 || b == 0xf3 || b == 0xf0 || b == 0x64 || b == 0x65 || b == 0x2e || b == 0x3e; b = next() {
		if b == 0xf2 || b == 0xf3 {
			x.scalar = b
		}
	}
	if b&0xf0 == 0x40 {
		rex, b = b, next()
	}
	notB := byte(0x20) // of a VEX prefix
	switch b {
	case 0xc5:
		x.vex, x.opmap = true, map0F
		x.scalar = vexScalar(next())
		b = next()
	case 0xc4:
		first := next()
		x.vex, x.opmap, notB = true, first&0x1f, first
		x.scalar = vexScalar(next())
		b = next()
	case 0x0f:
		x.opmap = map0F
		switch b = next(); b {
		case 0x38:
			x.opmap, b = map0F38, next()
		case 0x3a:
			x.opmap, b = map0F3A, next()
		}
	}
	x.op, x.modrm, x.base = b, 0xc0, 16
	if at >= len(code) {
		return x, at == len(code)
	}
	if x.modrm = next(); !x.memory() {
		return x, at <= len(code)
	}
	high := rex & 1 << 3
	if x.vex && notB&0x20 == 0 {
		high = 8
	}
	switch rm := x.modrm & 7; {
	case rm == 4:
		if sib := next(); sib&7 != 5 || x.modrm>>6 != 0 {
			x.base = sib&7 | high
		}
	case rm != 5 || x.modrm>>6 != 0:
		x.base = rm | high
	}
	return x, at <= len(code)
}

// vexScalar is the prefix that the last byte of a VEX prefix stands for, if it is F2 or F3.
func vexScalar(b byte) byte {
	return [4]byte{2: 0xf3, 3: 0xf2}[b&3]
}

// withoutModRM is of the instructions of one byte that have no ModRM byte.
func (x *x64Inst) withoutModRM() (c class, ok bool) {
	switch op := x.op; {
	case op>>4 == 5 && op&8 == 0, op == 0x68, op == 0x6a: // push
		return classStore | classStack, true
	case op>>3 == 0x58>>3: // pop
		return classLoad | classStack, true
	case op>>4 == 7, op >= 0xe0 && op <= 0xe3, op == 0xe8, op == 0xe9, op == 0xeb, op == 0xc2, op == 0xc3:
		return classBranch, true
	case op == 0xa4, op == 0xa5: // movs
		return classLoad | classStore, true
	case op == 0xaa, op == 0xab: // stos
		return classStore, true
	case op == 0xc9: // leave
		return classLoad | classStack, true
	case op < 0x40 && op&7 >= 4, op>>3 == 0x90>>3, op == 0x98, op == 0x99, op == 0xa8, op == 0xa9, op>>4 == 0xb, op == 0xcc: // with immediates, or without operands
		return 0, true
	}
	return 0, false
}

// ofRegisters is of instructions that access no memory.
func (x *x64Inst) ofRegisters() class {
	switch {
	case x.opmap == map0F && x.op>>4 == 8, x.opmap == mapOne && x.op == 0xff && (x.digit() == 2 || x.digit() == 4):
		return classBranch
	case x.opmap == mapOne && x.op == 0xff && x.digit() == 6: // push
		return classStore | classStack
	case x.opmap == mapOne && (x.op == 0x89 || x.op == 0x8b):
		return classMove
	case x.opmap == map0F && (x.op == 0x28 || x.op == 0x29 || x.op == 0x6f || x.op == 0x7f || x.op == 0x7e && x.scalar == 0xf3 ||
		(x.op == 0x10 || x.op == 0x11) && x.scalar == 0):
		return classMove
	}
	return 0
}

// access is of instructions with an operand in memory.
func (x *x64Inst) access() class {
	switch x.opmap {
	case mapOne:
		return x.accessOne()
	case map0F:
		return x.access0F()
	case map0F38:
		if (x.op == 0xf1 || x.op == 0xf0) && !x.vex && x.scalar == 0 { // movbe
			return [2]class{classLoad, classStore}[x.op&1]
		}
		if x.op == 0x2e || x.op == 0x2f || x.op == 0x8e { // vmaskmov, vpmaskmov
			return classStore
		}
	case map0F3A:
		switch x.op {
		case 0x14, 0x15, 0x16, 0x17, 0x19, 0x1d, 0x39: // pextr, extractps, vextract, vcvtps2ph
			return classStore
		}
	}
	return classLoad
}

const classChange = classLoad | classStore

// accessOne is of the opcodes of one byte.
func (x *x64Inst) accessOne() class {
	op, digit := x.op, x.digit()
	switch {
	case op < 0x40:
		return arithmetic(op>>3, op&2 == 0)
	case op >= 0x80 && op <= 0x83:
		return arithmetic(digit, true)
	case op == 0x86, op == 0x87, op == 0xc0, op == 0xc1, op>>2 == 0xd0>>2: // xchg, shifts
		return classChange
	case op == 0x88, op == 0x89, op == 0xc6, op == 0xc7:
		return classStore
	case op == 0x8d: // lea
		return 0
	case op == 0x8f:
		return classLoad | classStore
	case (op == 0xf6 || op == 0xf7) && (digit == 2 || digit == 3): // not, neg
		return classChange
	case op == 0xfe:
		return classChange
	case op == 0xff:
		return [8]class{classChange, classChange, classLoad | classBranch, classLoad | classBranch, classLoad | classBranch, classLoad | classBranch, classLoad | classStore}[digit]
	}
	return classLoad
}

// arithmetic is of the operation with this number out of add, or, adc, sbb, and, sub, xor, cmp, whose first operand is in memory or not.
func arithmetic(number byte, first bool) class {
	if first && number != 7 {
		return classChange
	}
	return classLoad
}

// access0F is of the opcodes behind 0F.
func (x *x64Inst) access0F() class {
	switch op := x.op; {
	case op == 0x11, op == 0x13, op == 0x17, op == 0x29, op == 0x2b, op == 0x7f, op == 0xd6, op == 0xe7, op == 0xc3, op>>4 == 9:
		return classStore
	case op == 0x7e && x.scalar != 0xf3: // movd and movq from vectors; movq to one has F3
		return classStore
	case op == 0x0d, op == 0x18, op == 0x1f: // prefetches, nop
		return 0
	case op == 0xab, op == 0xb3, op == 0xbb, op == 0xb0, op == 0xb1, op == 0xc0, op == 0xc1, op == 0xc7, op == 0xa4, op == 0xa5, op == 0xac, op == 0xad:
		return classChange // bts, btr, btc, cmpxchg, xadd, cmpxchg8b, shld, shrd
	case op == 0xba && x.digit() > 4:
		return classChange
	}
	return classLoad
}
