package wasmfront

import (
	"encoding/binary"
	"math"
	"strconv"
)

// IndexSpace is what an index counts. The values are the numbers of the name
// section's subsections.
type IndexSpace uint8

// The index spaces.
const (
	SpaceFunc IndexSpace = 1 + iota
	SpaceLocal
	SpaceLabel
	SpaceType
	SpaceTable
	SpaceMemory
	SpaceGlobal
	SpaceElem
	SpaceData
	SpaceField // of a structure: their indices are for one type only
	SpaceTag
	NumSpaces = iota + 1
)

// AppendIndex appends what the text has for an index: a number, or a name.
type AppendIndex func(b []byte, space IndexSpace, i uint32) []byte

// AppendNumber is AppendIndex for a text without names.
func AppendNumber(b []byte, _ IndexSpace, i uint32) []byte {
	return strconv.AppendUint(b, uint64(i), 10)
}

// String writes the operator as in the text format, with numbers for indices.
func (o *Operator) String() string { return string(o.AppendText(nil, AppendNumber)) }

// AppendText appends the operator as in the text format.
func (o *Operator) AppendText(b []byte, index AppendIndex) []byte {
	b = append(b, o.Op.keyword()...)
	if imm := immTexts[o.Op.Info().Imm]; imm != nil {
		return imm(b, o, index)
	}
	return b
}

// keyword returns the name of an operator as the text format has it, where immediates tell some operators apart.
func (op Opcode) keyword() string {
	switch op {
	case OpSelectT:
		return OpSelect.String()
	case OpRefTestNull:
		return OpRefTest.String()
	case OpRefCastNull:
		return OpRefCast.String()
	}
	return op.String()
}

// immTexts append the immediates of each form.
var immTexts = [NumImmKinds]func([]byte, *Operator, AppendIndex) []byte{
	ImmBlock: appendBlockType,
	ImmTryTable: func(b []byte, o *Operator, index AppendIndex) []byte {
		return AppendCatches(appendBlockType(b, o, index), o.Catches, index)
	},
	ImmLabel:        indexIn(SpaceLabel),
	ImmBrTable:      appendTargets,
	ImmFunc:         indexIn(SpaceFunc),
	ImmType:         indexIn(SpaceType),
	ImmTag:          indexIn(SpaceTag),
	ImmCallIndirect: appendCallIndirect,
	ImmLocal:        indexIn(SpaceLocal),
	ImmGlobal:       indexIn(SpaceGlobal),
	ImmTable:        indexIn(SpaceTable),
	ImmTable2:       twoIn(SpaceTable),
	ImmElem:         indexIn(SpaceElem),
	ImmElemTable:    segmentIn(SpaceElem, SpaceTable),
	ImmData:         indexIn(SpaceData),
	ImmDataMem:      segmentIn(SpaceData, SpaceMemory),
	ImmMem:          appendMemory,
	ImmMem2:         twoIn(SpaceMemory),
	ImmMemArg:       appendMemArg,
	ImmMemArgLane:   func(b []byte, o *Operator, ix AppendIndex) []byte { return appendLane(appendMemArg(b, o, ix), o, ix) },
	ImmI32:          func(b []byte, o *Operator, _ AppendIndex) []byte { return appendInt(b, int64(int32(o.I64))) },
	ImmI64:          func(b []byte, o *Operator, _ AppendIndex) []byte { return appendInt(b, int64(o.I64)) },
	ImmF32:          func(b []byte, o *Operator, _ AppendIndex) []byte { return appendF32(append(b, ' '), uint32(o.I64)) },
	ImmF64:          func(b []byte, o *Operator, _ AppendIndex) []byte { return appendF64(append(b, ' '), o.I64) },
	ImmV128:         appendVector,
	ImmShuffle:      appendShuffle,
	ImmLane:         appendLane,
	ImmRefType:      appendHeapType,
	ImmCast:         func(b []byte, o *Operator, index AppendIndex) []byte { return AppendRef(append(b, ' '), o.Type, index) },
	ImmBrOnCast:     appendBrOnCast,
	ImmField: func(b []byte, o *Operator, index AppendIndex) []byte {
		return index(append(index(append(b, ' '), SpaceType, o.Index), ' '), SpaceField, o.Index2)
	},
	ImmTypeCount: func(b []byte, o *Operator, index AppendIndex) []byte {
		return strconv.AppendUint(append(index(append(b, ' '), SpaceType, o.Index), ' '), uint64(o.Index2), 10)
	},
	ImmType2:    typeAnd(SpaceType),
	ImmTypeData: typeAnd(SpaceData),
	ImmTypeElem: typeAnd(SpaceElem),
	ImmSelect: func(b []byte, o *Operator, index AppendIndex) []byte {
		return AppendTypes(b, "result", o.Type.Slice(), index)
	},
}

func indexIn(space IndexSpace) func([]byte, *Operator, AppendIndex) []byte {
	return func(b []byte, o *Operator, index AppendIndex) []byte { return index(append(b, ' '), space, o.Index) }
}

// twoIn appends a destination and a source, which the text leaves out if both
// are the first.
func twoIn(space IndexSpace) func([]byte, *Operator, AppendIndex) []byte {
	return func(b []byte, o *Operator, index AppendIndex) []byte {
		if o.Index == 0 && o.Index2 == 0 {
			return b
		}
		return index(append(index(append(b, ' '), space, o.Index), ' '), space, o.Index2)
	}
}

// segmentIn appends a segment, and before it where it goes to, which the text
// leaves out if that is the first.
func segmentIn(segment, space IndexSpace) func([]byte, *Operator, AppendIndex) []byte {
	return func(b []byte, o *Operator, index AppendIndex) []byte {
		if o.Index2 != 0 {
			b = index(append(b, ' '), space, o.Index2)
		}
		return index(append(b, ' '), segment, o.Index)
	}
}

func appendMemory(b []byte, o *Operator, index AppendIndex) []byte {
	if o.Index != 0 {
		b = index(append(b, ' '), SpaceMemory, o.Index)
	}
	return b
}

func appendTargets(b []byte, o *Operator, index AppendIndex) []byte {
	for _, t := range o.Targets {
		b = index(append(b, ' '), SpaceLabel, t)
	}
	return index(append(b, ' '), SpaceLabel, o.Index)
}

func appendCallIndirect(b []byte, o *Operator, index AppendIndex) []byte {
	if o.Index2 != 0 {
		b = index(append(b, ' '), SpaceTable, o.Index2)
	}
	return append(index(append(b, " (type "...), SpaceType, o.Index), ')')
}

func appendBlockType(b []byte, o *Operator, index AppendIndex) []byte {
	return AppendTypes(AppendTypes(b, "param", o.Params, index), "result", o.Results, index)
}

// AppendCatches appends the clauses of a try_table, with labels as the enclosing block has them.
func AppendCatches(b []byte, catches []Catch, index AppendIndex) []byte {
	for _, c := range catches {
		b = append(append(b, " ("...), c.Kind.String()...)
		if c.Kind.HasTag() {
			b = index(append(b, ' '), SpaceTag, c.Tag)
		}
		b = append(index(append(b, ' '), SpaceLabel, c.Label), ')')
	}
	return b
}

// AppendTypes appends " (KEYWORD TYPE...)", or nothing if there are no types.
func AppendTypes(b []byte, keyword string, ts []ValType, index AppendIndex) []byte {
	if len(ts) == 0 {
		return b
	}
	b = append(append(b, " ("...), keyword...)
	for _, t := range ts {
		b = AppendType(append(b, ' '), t, index)
	}
	return append(b, ')')
}

// typeAnd appends a type and what is in another space.
func typeAnd(space IndexSpace) func([]byte, *Operator, AppendIndex) []byte {
	return func(b []byte, o *Operator, index AppendIndex) []byte {
		return index(append(index(append(b, ' '), SpaceType, o.Index), ' '), space, o.Index2)
	}
}

func appendBrOnCast(b []byte, o *Operator, index AppendIndex) []byte {
	b = index(append(b, ' '), SpaceLabel, o.Index)
	return AppendRef(append(AppendRef(append(b, ' '), o.From, index), ' '), o.Type, index)
}

// AppendType appends a value type.
func AppendType(b []byte, t ValType, index AppendIndex) []byte {
	if _, ok := t.TypeIndex(); !ok {
		return append(b, t.String()...)
	}
	return AppendRef(b, t, index)
}

// AppendRef appends a reference type in full.
func AppendRef(b []byte, t ValType, index AppendIndex) []byte {
	b = append(b, "(ref "...)
	if !t.IsNotNull() {
		b = append(b, "null "...)
	}
	return append(appendHeap(b, t, index), ')')
}

// appendHeap appends what a reference type refers to.
func appendHeap(b []byte, t ValType, index AppendIndex) []byte {
	if i, ok := t.TypeIndex(); ok {
		return index(b, SpaceType, i)
	}
	return append(b, t.Heap()...)
}

func appendMemArg(b []byte, o *Operator, index AppendIndex) []byte {
	b = appendMemory(b, o, index)
	if o.I64 != 0 {
		b = strconv.AppendUint(append(b, " offset="...), o.I64, 10)
	}
	if o.Align != o.Op.Info().Align {
		b = strconv.AppendUint(append(b, " align="...), 1<<o.Align, 10)
	}
	return b
}

func appendLane(b []byte, o *Operator, _ AppendIndex) []byte { return appendInt(b, int64(o.Lane)) }

func appendInt(b []byte, n int64) []byte { return strconv.AppendInt(append(b, ' '), n, 10) }

// vectorBytes returns the bytes of a vector, lane 0 first.
func (o *Operator) vectorBytes() (v [16]byte) {
	binary.LittleEndian.PutUint64(v[:], o.I64)
	binary.LittleEndian.PutUint64(v[8:], o.High)
	return v
}

func appendVector(b []byte, o *Operator, _ AppendIndex) []byte {
	v := o.vectorBytes()
	b = append(b, " i32x4"...)
	for i := 0; i < len(v); i += 4 {
		b = append(b, " 0x"...)
		for k := i + 3; k >= i; k-- {
			b = append(b, hexDigits[v[k]>>4], hexDigits[v[k]&0xF])
		}
	}
	return b
}

const hexDigits = "0123456789abcdef"

func appendShuffle(b []byte, o *Operator, _ AppendIndex) []byte {
	for _, lane := range o.vectorBytes() {
		b = appendInt(b, int64(lane))
	}
	return b
}

func appendHeapType(b []byte, o *Operator, index AppendIndex) []byte {
	return appendHeap(append(b, ' '), o.Type, index)
}

func appendF32(b []byte, bits uint32) []byte {
	const mantissa = 1<<23 - 1
	return appendFloat(b, float64(math.Float32frombits(bits)), bits>>31 != 0, uint64(bits&mantissa), 1<<22, 32)
}

func appendF64(b []byte, bits uint64) []byte {
	const mantissa = 1<<52 - 1
	return appendFloat(b, math.Float64frombits(bits), bits>>63 != 0, bits&mantissa, 1<<51, 64)
}

// appendFloat appends a float so that the text format reads back the same bits:
// the shortest decimal number that is nearest to it, or a NaN with its payload.
func appendFloat(b []byte, f float64, negative bool, payload, canonical uint64, size int) []byte {
	if !math.IsNaN(f) && !math.IsInf(f, 0) {
		return strconv.AppendFloat(b, f, 'g', -1, size)
	}
	if negative {
		b = append(b, '-')
	}
	switch {
	case payload == 0:
		return append(b, "inf"...)
	case payload == canonical:
		return append(b, "nan"...)
	}
	return strconv.AppendUint(append(b, "nan:0x"...), payload, 16)
}
