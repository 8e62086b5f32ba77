package asm

import (
	"math"
	"strconv"

	"github.com/waot-project/waot/backend"
)

// ImmKind is how Inst.Imm, and of branches Inst.Disp, is encoded.
type ImmKind uint8

// The kinds of immediate.
const (
	INone       ImmKind = iota
	IMove               // 16 bits and Scale
	IAny                // of MovImm
	IShift              // Shifted, without ROR
	IShiftRor           // Shifted
	IExtend             // Extended
	IArith              // FitsArith
	IBits               // FitsBits
	IFlags              // 0 to 15
	IValueFlags         // CondImm
	ILeft               // a shift amount
	IRight              // a shift amount
	IRotate             // a shift amount
	IFieldFrom          // Field
	IFieldTo            // Field
	IFloat              // FitsFloat
	IUdf                // 16 bits
	IBti                // BtiC, BtiJ, BtiJC
	IBranch26           // Disp, 128 MB either way
	IBranch19           // Disp, 1 MB either way
	IBranch14           // Disp, 32 KB either way, and a bit number
	IAdr                // Disp, 1 MB either way
	IPage               // Disp, an addend
	numImmKinds
)

// immKind is the reader of an ImmKind.
type immKind struct {
	// field is the immediate in its place in the word; false if it does not fit.
	field func(immediate) (uint32, bool)
	// text appends the immediate, with the comma in front if it may be absent; nil for immediates that are printed as a target.
	text func(dst []byte, inst *backend.Inst) []byte
	// patch is the kind of value that may fill the field later.
	patch PatchKind
}

var immKinds = [numImmKinds]immKind{
	INone:       {field: fieldNone},
	IMove:       {field: fieldMove, text: textMove},
	IAny:        {field: fieldAny, text: textImm},
	IShift:      {field: fieldShift, text: textShift},
	IShiftRor:   {field: fieldShiftRor, text: textShift},
	IExtend:     {field: fieldExtend, text: textExtend},
	IArith:      {field: fieldArith, text: textArith},
	IBits:       {field: fieldBits, text: textBits},
	IFlags:      {field: fieldFlags, text: textImm},
	IValueFlags: {field: fieldValueFlags, text: textValueFlags},
	ILeft:       {field: fieldLeft, text: textImm},
	IRight:      {field: fieldRight, text: textImm},
	IRotate:     {field: fieldRotate, text: textImm},
	IFieldFrom:  {field: fieldFrom, text: textField},
	IFieldTo:    {field: fieldTo, text: textField},
	IFloat:      {field: fieldFloat, text: textFloat},
	IUdf:        {field: fieldUdf, text: textImm},
	IBti:        {field: fieldBti, text: textBti},
	IBranch26:   {field: fieldBranch26, patch: PatchBranch26},
	IBranch19:   {field: fieldBranch19, patch: PatchBranch19},
	IBranch14:   {field: fieldBranch14, text: textImm, patch: PatchBranch14},
	IAdr:        {field: fieldAdr, patch: PatchAdr},
	IPage:       {field: fieldNone, patch: PatchPage},
}

// immediate holds what an immediate is made from. It is passed by value so that no Inst escapes to the heap.
type immediate struct {
	imm         int64
	disp        int32
	size, scale uint8
}

// immediateOf is inst's.
func immediateOf(inst *backend.Inst) immediate {
	return immediate{inst.Imm, inst.Disp, inst.Size, inst.Scale}
}

// width returns the number of bits of the operation.
func width(m immediate) int64 { return 8 * int64(m.size) }

func fieldNone(immediate) (uint32, bool) { return 0, true }

func fieldAny(immediate) (uint32, bool) { return 0, true }

func fieldMove(m immediate) (uint32, bool) {
	return uint32(m.scale)<<21 | uint32(m.imm)<<5, m.imm>>16 == 0 && m.scale < m.size/2
}

func fieldShiftRor(m immediate) (uint32, bool) {
	kind, n := shiftedOf(m.imm)
	return uint32(kind)<<22 | uint32(n)<<10, m.imm == Shifted(kind, n) && int64(n) < width(m)
}

func fieldShift(m immediate) (uint32, bool) {
	f, ok := fieldShiftRor(m)
	kind, _ := shiftedOf(m.imm)
	return f, ok && kind != ROR
}

func fieldExtend(m immediate) (uint32, bool) {
	e, n := extendedOf(m.imm)
	return uint32(e)<<13 | uint32(n)<<10, m.imm == Extended(e, n) && n <= 4
}

func fieldArith(m immediate) (uint32, bool) { return arithField(m.imm) }

func fieldBits(m immediate) (uint32, bool) { return bitsField(uint64(m.imm), m.size) }

func fieldFlags(m immediate) (uint32, bool) { return uint32(m.imm), m.imm>>4 == 0 }

func fieldValueFlags(m immediate) (uint32, bool) {
	value, flags := condImmOf(m.imm)
	return uint32(value)<<16 | uint32(flags), m.imm == CondImm(value, flags)
}

// fitsAmount reports whether Imm is a shift amount.
func fitsAmount(m immediate) bool { return m.imm >= 0 && m.imm < width(m) }

func fieldLeft(m immediate) (uint32, bool) {
	w := width(m)
	return uint32(-m.imm&(w-1))<<16 | uint32(w-1-m.imm)<<10, fitsAmount(m)
}

func fieldRight(m immediate) (uint32, bool) {
	return uint32(m.imm)<<16 | uint32(width(m)-1)<<10, fitsAmount(m)
}

func fieldRotate(m immediate) (uint32, bool) { return uint32(m.imm) << 10, fitsAmount(m) }

// fitsField returns the lowest bit and the number of bits of a Field, and whether the operation has it.
func fitsField(m immediate) (lsb, n int64, ok bool) {
	first, bits := fieldOf(m.imm)
	lsb, n = int64(first), int64(bits)
	return lsb, n, m.imm == Field(first, bits) && n >= 1 && lsb+n <= width(m)
}

func fieldFrom(m immediate) (uint32, bool) {
	lsb, n, ok := fitsField(m)
	return uint32(lsb)<<16 | uint32(lsb+n-1)<<10, ok
}

func fieldTo(m immediate) (uint32, bool) {
	lsb, n, ok := fitsField(m)
	return uint32(-lsb&(width(m)-1))<<16 | uint32(n-1)<<10, ok
}

func fieldFloat(m immediate) (uint32, bool) { return floatField(m.size, uint64(m.imm)) }

func fieldUdf(m immediate) (uint32, bool) { return uint32(m.imm), m.imm>>16 == 0 }

func fieldBti(m immediate) (uint32, bool) {
	return uint32(m.imm) << 6, m.imm >= BtiC && m.imm <= BtiJC
}

// words returns a distance in words, which must fit in n bits, signed.
func words(disp int32, n int) (uint32, bool) {
	d := disp >> 2
	return uint32(d) & (1<<n - 1), disp&3 == 0 && d>>(n-1) == d>>31
}

func fieldBranch26(m immediate) (uint32, bool) { return words(m.disp, 26) }

func fieldBranch19(m immediate) (uint32, bool) {
	f, ok := words(m.disp, 19)
	return f << 5, ok
}

func fieldBranch14(m immediate) (uint32, bool) {
	f, ok := words(m.disp, 14)
	return f<<5 | uint32(m.imm&31)<<19 | uint32(m.imm>>5)<<31, ok && fitsAmount(m)
}

func fieldAdr(m immediate) (uint32, bool) {
	d := m.disp
	return uint32(d)&3<<29 | uint32(d)>>2&0x7ffff<<5, d>>20 == d>>31
}

// appendImm appends an immediate.
func appendImm(dst []byte, x int64) []byte { return strconv.AppendInt(append(dst, '#'), x, 10) }

func textImm(dst []byte, inst *backend.Inst) []byte { return appendImm(append(dst, ", "...), inst.Imm) }

func textMove(dst []byte, inst *backend.Inst) []byte {
	dst = textImm(dst, inst)
	if inst.Scale != 0 {
		dst = appendImm(append(dst, ", lsl "...), 16*int64(inst.Scale))
	}
	return dst
}

func textShift(dst []byte, inst *backend.Inst) []byte {
	if inst.Imm == 0 {
		return dst
	}
	kind, n := shiftedOf(inst.Imm)
	dst = append(append(dst, ", "...), shiftNames[kind]...)
	return appendImm(append(dst, ' '), int64(n))
}

func textExtend(dst []byte, inst *backend.Inst) []byte {
	e, n := extendedOf(inst.Imm)
	return appendExtend(append(dst, ", "...), e, n)
}

// appendExtend appends an extension and, if not 0, the shift.
func appendExtend(dst []byte, e Extend, n uint8) []byte {
	dst = append(dst, extendNames[e]...)
	if n != 0 {
		dst = appendImm(append(dst, ' '), int64(n))
	}
	return dst
}

func textArith(dst []byte, inst *backend.Inst) []byte {
	if inst.Imm > 0xfff {
		return append(appendImm(append(dst, ", "...), inst.Imm>>12), ", lsl #12"...)
	}
	return textImm(dst, inst)
}

func textBits(dst []byte, inst *backend.Inst) []byte {
	x := uint64(inst.Imm)
	if inst.Size == 4 {
		x = uint64(uint32(x))
	}
	return strconv.AppendUint(append(dst, ", #0x"...), x, 16)
}

func textValueFlags(dst []byte, inst *backend.Inst) []byte {
	value, flags := condImmOf(inst.Imm)
	dst = appendImm(append(dst, ", "...), int64(value))
	return appendImm(append(dst, ", "...), int64(flags))
}

func textField(dst []byte, inst *backend.Inst) []byte {
	lsb, n := fieldOf(inst.Imm)
	dst = appendImm(append(dst, ", "...), int64(lsb))
	return appendImm(append(dst, ", "...), int64(n))
}

func textBti(dst []byte, inst *backend.Inst) []byte {
	return append(dst, [...]string{"?", "c", "j", "jc"}[inst.Imm&3]...)
}

// textFloat always has a decimal point: without one it would be the encoded field.
func textFloat(dst []byte, inst *backend.Inst) []byte {
	x := math.Float64frombits(uint64(inst.Imm))
	if inst.Size == 4 {
		x = float64(math.Float32frombits(uint32(inst.Imm)))
	}
	return strconv.AppendFloat(append(dst, ", #"...), x, 'f', 8, 64)
}
