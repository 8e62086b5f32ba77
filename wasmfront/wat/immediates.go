package wat

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"

	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/encode"
)

// immediates takes the immediates of an operator and appends them to op.
func (a *assembler) immediates(op wasmfront.Opcode) {
	info := op.Info()
	if read := immediateReaders[info.Imm]; read != nil {
		read(a, info)
	}
	switch op {
	case wasmfront.OpMemoryInit, wasmfront.OpDataDrop, wasmfront.OpArrayNewData, wasmfront.OpArrayInitData:
		a.usesData = true
	case wasmfront.OpRefTest:
		a.cast(op, wasmfront.OpRefTestNull)
	case wasmfront.OpRefCast:
		a.cast(op, wasmfront.OpRefCastNull)
	}
}

// immediateReaders take the immediates of each form; nil for those that have none, and where they choose the operator.
var immediateReaders = [wasmfront.NumImmKinds]func(*assembler, *wasmfront.OpInfo){
	wasmfront.ImmBlock:        (*assembler).blockType,
	wasmfront.ImmTryTable:     func(a *assembler, info *wasmfront.OpInfo) { a.blockType(info); a.catches() },
	wasmfront.ImmTag:          func(a *assembler, _ *wasmfront.OpInfo) { a.put(a.index(wasmfront.SpaceTag)) },
	wasmfront.ImmLabel:        func(a *assembler, _ *wasmfront.OpInfo) { a.put(a.labelIndex()) },
	wasmfront.ImmBrTable:      (*assembler).branchTable,
	wasmfront.ImmFunc:         func(a *assembler, _ *wasmfront.OpInfo) { a.put(a.index(wasmfront.SpaceFunc)) },
	wasmfront.ImmType:         func(a *assembler, _ *wasmfront.OpInfo) { a.put(a.index(wasmfront.SpaceType)) },
	wasmfront.ImmCallIndirect: (*assembler).callIndirect,
	wasmfront.ImmLocal:        func(a *assembler, _ *wasmfront.OpInfo) { a.put(a.localIndex()) },
	wasmfront.ImmGlobal:       func(a *assembler, _ *wasmfront.OpInfo) { a.put(a.index(wasmfront.SpaceGlobal)) },
	wasmfront.ImmTable:        func(a *assembler, _ *wasmfront.OpInfo) { a.put(a.optional(wasmfront.SpaceTable)) },
	wasmfront.ImmTable2:       func(a *assembler, _ *wasmfront.OpInfo) { a.two(wasmfront.SpaceTable) },
	wasmfront.ImmElem:         func(a *assembler, _ *wasmfront.OpInfo) { a.put(a.index(wasmfront.SpaceElem)) },
	wasmfront.ImmElemTable:    func(a *assembler, _ *wasmfront.OpInfo) { a.segmentAnd(wasmfront.SpaceElem, wasmfront.SpaceTable) },
	wasmfront.ImmData:         func(a *assembler, _ *wasmfront.OpInfo) { a.put(a.index(wasmfront.SpaceData)) },
	wasmfront.ImmDataMem:      func(a *assembler, _ *wasmfront.OpInfo) { a.segmentAnd(wasmfront.SpaceData, wasmfront.SpaceMemory) },
	wasmfront.ImmMem:          func(a *assembler, _ *wasmfront.OpInfo) { a.put(a.optional(wasmfront.SpaceMemory)) },
	wasmfront.ImmMem2:         func(a *assembler, _ *wasmfront.OpInfo) { a.two(wasmfront.SpaceMemory) },
	wasmfront.ImmMemArg:       func(a *assembler, info *wasmfront.OpInfo) { a.memArg(info, a.atIndex()) },
	wasmfront.ImmMemArgLane:   (*assembler).memArgLane,
	wasmfront.ImmI32:          func(a *assembler, _ *wasmfront.OpInfo) { a.op = encode.Signed(a.op, int64(int32(a.Integer(32)))) },
	wasmfront.ImmI64:          func(a *assembler, _ *wasmfront.OpInfo) { a.op = encode.Signed(a.op, int64(a.Integer(64))) },
	wasmfront.ImmF32:          func(a *assembler, _ *wasmfront.OpInfo) { a.putBits(a.Float(32), 32) },
	wasmfront.ImmF64:          func(a *assembler, _ *wasmfront.OpInfo) { a.putBits(a.Float(64), 64) },
	wasmfront.ImmV128:         (*assembler).vectorLanes,
	wasmfront.ImmShuffle:      (*assembler).shuffle,
	wasmfront.ImmLane:         func(a *assembler, _ *wasmfront.OpInfo) { a.lane8() },
	wasmfront.ImmRefType:      func(a *assembler, _ *wasmfront.OpInfo) { a.op = encode.HeapType(a.op, a.heapType()) },
	wasmfront.ImmBrOnCast:     (*assembler).castBranch,
	wasmfront.ImmField:        (*assembler).structField,
	wasmfront.ImmTypeCount: func(a *assembler, _ *wasmfront.OpInfo) {
		a.put(a.index(wasmfront.SpaceType))
		a.put(a.U32("a number of elements"))
	},
	wasmfront.ImmType2:    func(a *assembler, _ *wasmfront.OpInfo) { a.typeAnd(wasmfront.SpaceType) },
	wasmfront.ImmTypeData: func(a *assembler, _ *wasmfront.OpInfo) { a.typeAnd(wasmfront.SpaceData) },
	wasmfront.ImmTypeElem: func(a *assembler, _ *wasmfront.OpInfo) { a.typeAnd(wasmfront.SpaceElem) },
	wasmfront.ImmSelect:   (*assembler).selectTypes,
}

func (a *assembler) put(x uint32) { a.op = encode.Index(a.op, x) }

// putBits appends the lowest bits of a number, the lowest byte first.
func (a *assembler) putBits(x uint64, bits int) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], x)
	a.op = append(a.op, b[:bits/8]...)
}

// blockType takes the type of a block. One without parameters and with at most
// one result has a short form.
func (a *assembler) blockType(*wasmfront.OpInfo) {
	const none = 0x40
	u := a.typeUse(namesRefused)
	switch {
	case u.hasIndex || len(a.sig.Params) > 0 || len(a.sig.Results) > 1:
		a.op = encode.Signed(a.op, int64(a.resolve(u)))
	case len(a.sig.Results) == 1:
		a.op = encode.ValType(a.op, a.sig.Results[0])
	default:
		a.op = append(a.op, none)
	}
}

// labelIndex takes a label and returns how many blocks are between.
func (a *assembler) labelIndex() uint32 {
	t := a.Token()
	if t.Kind != ID {
		return a.U32("a label")
	}
	id, _ := a.ID()
	n, ok := a.labels.byName[id]
	if !ok {
		a.FailError(&Error{Offset: t.Offset, Msg: "unknown label", Found: found(t)})
	}
	return uint32(a.labels.depth - 1 - n)
}

// branchTable takes labels, the last of which is the default.
func (a *assembler) branchTable(*wasmfront.OpInfo) {
	targets := []uint32{a.labelIndex()}
	for a.atIndex() {
		targets = appendOne(a.scan.stop, targets, a.labelIndex())
	}
	a.put(uint32(len(targets) - 1))
	a.op = grown(a.scan.stop, a.op, binary.MaxVarintLen32*len(targets))
	for i, t := range targets {
		a.scan.stop.PollAt(i)
		a.put(t)
	}
}

// catches takes the clauses of a try_table, whose label does not count yet.
func (a *assembler) catches() {
	n, list := uint32(0), a.scratch[:0]
	for ; a.Token().Kind == Open; n++ {
		kind, ok := wasmfront.CatchKindByName(string(a.Ahead().Text))
		if !ok {
			break
		}
		a.Open(kind.String())
		list = append(grown(a.scan.stop, list, 1+2*binary.MaxVarintLen32), byte(kind))
		if kind.HasTag() {
			list = encode.Index(list, a.index(wasmfront.SpaceTag))
		}
		list = encode.Index(list, a.labelIndex())
		a.Close()
	}
	a.put(n)
	a.op = appendAll(a.scan.stop, a.op, list)
	a.scratch = list
}

// cast takes the type that a cast asks for, which also says whether the operator is the one for null.
func (a *assembler) cast(op, null wasmfront.Opcode) {
	t := a.refType()
	if !t.IsNotNull() {
		op = null
	}
	a.op = encode.HeapType(encode.Opcode(a.op[:0], op), t)
}

// castBranch takes the immediates of a branch on a cast.
func (a *assembler) castBranch(*wasmfront.OpInfo) {
	label := a.labelIndex()
	before, after := a.refType(), a.refType()
	a.op = append(a.op, wasmfront.CastFlags(before, after))
	a.put(label)
	a.op = encode.HeapType(encode.HeapType(a.op, before), after)
}

// structField takes a structure and a field of it.
func (a *assembler) structField(*wasmfront.OpInfo) {
	of := a.index(wasmfront.SpaceType)
	a.put(of)
	a.spaces[wasmfront.SpaceField].ids = a.fields[of]
	a.put(a.index(wasmfront.SpaceField))
}

// typeAnd takes a type and what is in another space.
func (a *assembler) typeAnd(space wasmfront.IndexSpace) {
	a.put(a.index(wasmfront.SpaceType))
	a.put(a.index(space))
}

func (a *assembler) callIndirect(*wasmfront.OpInfo) {
	table := a.optional(wasmfront.SpaceTable)
	a.put(a.resolve(a.typeUse(namesRefused)))
	a.put(table)
}

func (a *assembler) localIndex() uint32 {
	if t := a.Token(); t.Kind == ID && a.unknownParams {
		a.Fail(t.Offset, "unknown type of the function, whose parameters come before "+found(t))
	}
	return a.index(wasmfront.SpaceLocal)
}

// two takes two indices of a space, or none, which means 0 and 0.
func (a *assembler) two(space wasmfront.IndexSpace) {
	if !a.atIndex() {
		a.op = append(a.op, 0, 0)
		return
	}
	a.put(a.index(space))
	a.put(a.index(space))
}

// segmentAnd takes the index of a segment, and before it one of a table or
// memory, which is 0 if there is none.
func (a *assembler) segmentAnd(segments, space wasmfront.IndexSpace) {
	other := uint32(0)
	if next := a.Ahead(); a.atIndex() && (next.Kind == Nat || next.Kind == ID) {
		other = a.index(space)
	}
	a.put(a.index(segments))
	a.put(other)
}

// memArg takes the index of a memory if hasMemory is set, an offset and an alignment.
func (a *assembler) memArg(info *wasmfront.OpInfo, hasMemory bool) {
	memory, align, offset := uint32(0), info.Align, uint64(0)
	if hasMemory {
		memory = a.index(wasmfront.SpaceMemory)
	}
	if x, ok := a.assignment("offset"); ok {
		offset = x
	}
	if t := a.Token(); t.Kind == Keyword {
		if x, ok := a.assignment("align"); ok {
			if bits.OnesCount64(x) != 1 {
				a.FailError(&Error{Offset: t.Offset, Msg: "alignment must be a power of two", Found: found(t)})
			}
			align = uint8(bits.TrailingZeros64(x))
		}
	}
	if memory == 0 {
		a.op = append(a.op, align)
	} else {
		a.op = append(a.op, align|wasmfront.WithMemory)
		a.put(memory)
	}
	a.op = encode.Unsigned(a.op, offset)
}

// assignment takes key=number if that comes next.
func (a *assembler) assignment(key string) (x uint64, ok bool) {
	t := a.Token()
	if !isMemArg(t.Text) || !strings.HasPrefix(string(t.Text), key+"=") {
		return 0, false
	}
	x, ok = natural(t.Text[len(key)+1:])
	if !ok {
		a.FailError(&Error{Offset: t.Offset, Msg: "i64 constant out of range", Found: found(t)})
	}
	a.Next()
	return x, true
}

// memArgLane takes what memArg does, and a lane. A number is the index of a
// memory only if a lane can come behind it.
func (a *assembler) memArgLane(info *wasmfront.OpInfo) {
	t, next := a.Token(), a.Ahead()
	a.memArg(info, t.Kind == ID || t.Kind == Nat && (next.Kind == Nat || isMemArg(next.Text)))
	a.lane8()
}

// lane8 takes the number of a lane.
func (a *assembler) lane8() { a.op = append(a.op, byte(a.nat(8, "the number of a lane"))) }

// numbers takes all numbers that come next.
func (a *assembler) numbers() []Token {
	var list []Token
	for {
		t := a.Token()
		if !t.IsNumber() {
			return list
		}
		list = append(list, a.Next())
	}
}

// vectorLanes takes the shape and the lanes of a vector.
func (a *assembler) vectorLanes(*wasmfront.OpInfo) {
	s := a.shape()
	if s == nil {
		return
	}
	lanes := a.lanes(s.lanes, "wrong number of lane literals")
	for _, t := range lanes {
		var x uint64
		var ok bool
		switch {
		case s.float:
			x, ok = float(t.Text, s.bits)
		case t.Kind == Float:
			a.unexpected(t, "an integer")
			return
		default:
			x, ok = integer(t.Text, s.bits)
		}
		a.putBits(a.inRange(t, x, ok), s.bits)
	}
}

// lanes takes that many numbers; wrong is the message if there are more or fewer.
func (a *assembler) lanes(n int, wrong string) []Token {
	list := a.numbers()
	switch t := a.Token(); {
	case t.Kind == Reserved || t.Kind == Keyword && !isWord(t.Text):
		a.Unexpected("a number")
	case len(list) != n:
		a.FailError(&Error{Offset: t.Offset, Msg: wrong, Expected: fmt.Sprintf("%d instead of %d", n, len(list))})
		return nil
	}
	return list
}

func (a *assembler) shuffle(*wasmfront.OpInfo) {
	for _, t := range a.lanes(16, "invalid lane length") {
		x, ok := natural(t.Text)
		if t.Kind != Nat || !ok || x > 0xFF {
			a.FailError(&Error{Offset: t.Offset, Msg: "i8 constant out of range", Found: found(t)})
		}
		a.op = append(a.op, byte(x))
	}
}

// selectTypes takes (result ...) lists.
func (a *assembler) selectTypes(*wasmfront.OpInfo) {
	a.sig.Results = a.declarations("result", a.sig.Results[:0], namesRefused)
	a.op = encode.Types(a.op, a.sig.Results)
}
