package asm

import "github.com/waot-project/waot/regalloc"

// The integer registers.
const (
	X0 regalloc.PReg = iota
	X1
	X2
	X3
	X4
	X5
	X6
	X7
	X8
	X9
	X10
	X11
	X12
	X13
	X14
	X15
	X16
	X17
	X18
	X19
	X20
	X21
	X22
	X23
	X24
	X25
	X26
	X27
	X28
	X29
	X30
	// SP and ZR are the same number: which one it is the role says (Row.SP).
	SP
	ZR = SP
)

// Registers with a part of their own.
const (
	// AddrScratch is where Append and AppendMove make addresses that need a register. The allocator's
	// scratch register, x16, may be live meanwhile.
	AddrScratch = X17
	FP          = X29
	LR          = X30
)

// The vector registers.
const (
	V0 regalloc.PReg = 32 + iota
	V1
	V2
	V3
	V4
	V5
	V6
	V7
	V8
	V9
	V10
	V11
	V12
	V13
	V14
	V15
	V16
	V17
	V18
	V19
	V20
	V21
	V22
	V23
	V24
	V25
	V26
	V27
	V28
	V29
	V30
	V31
)

// Shapes of vector registers, for appendReg, beyond the widths 1 to 16 in bytes.
const (
	shapeVector  = 0x40 // and the logarithm of the width of the lanes
	shapeQuad    = 0x04 // 16 bytes, not 8
	shapeElement = 0x10 // one lane
	shapeList    = 0x20 // in braces
)

var numbers = [32]string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15",
	"16", "17", "18", "19", "20", "21", "22", "23", "24", "25", "26", "27", "28", "29", "30", "31"}

// appendReg appends the assembler's name for the low bytes of p: 4 or less, or 8, of integer registers, of
// which 31 is the stack pointer if sp, or else the zero register; 1, 2, 4, 8, 16, or a shape, of vector registers.
func appendReg(dst []byte, p regalloc.PReg, bytes uint8, sp bool) []byte {
	n := p.Enc() & 31
	switch {
	case p == regalloc.NoPReg:
		return append(dst, p.String()...)
	case p.Class() == regalloc.Float && bytes&shapeVector != 0:
		return appendVector(dst, numbers[n], bytes)
	case p.Class() == regalloc.Float:
		return append(append(dst, floatLetter(bytes)), numbers[n]...)
	case n == 31 && sp && bytes <= 4:
		return append(dst, "wsp"...)
	case n == 31 && sp:
		return append(dst, "sp"...)
	}
	letter := byte('x')
	if bytes <= 4 {
		letter = 'w'
	}
	if n == 31 {
		return append(append(dst, letter), "zr"...)
	}
	return append(append(dst, letter), numbers[n]...)
}

// RegName returns the name of the whole of p: x0 to x30, v0 to v31.
func RegName(p regalloc.PReg) string {
	if p.Class() == regalloc.Float {
		return "v" + numbers[p.Enc()]
	}
	return string(appendReg(nil, p, 8, true))
}

// appendVector appends the name of vector register n with a shape.
func appendVector(dst []byte, n string, shape uint8) []byte {
	if shape&shapeList != 0 {
		dst = append(appendVector(append(dst, '{'), n, shape&^shapeList), '}')
		return dst
	}
	return appendArrangement(append(append(dst, 'v'), n...), shape)
}

// appendArrangement appends the number and width of lanes.
func appendArrangement(dst []byte, shape uint8) []byte {
	dst = append(dst, '.')
	if shape&shapeElement == 0 {
		dst = append(dst, numbers[8<<(shape&shapeQuad>>2)>>(shape&3)]...)
	}
	return append(dst, floatLetter(1<<(shape&3)))
}

// floatLetter names the width of a vector register.
func floatLetter(bytes uint8) byte {
	switch bytes {
	case 1:
		return 'b'
	case 2:
		return 'h'
	case 4:
		return 's'
	case 8:
		return 'd'
	}
	return 'q'
}
