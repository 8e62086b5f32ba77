package wat

import (
	"encoding/binary"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/encode"
)

// The bits of the number that starts a segment.
const (
	flagPassive     = 1 << 0 // or declarative
	flagIndex       = 1 << 1 // there is the index of a table or memory; declarative if flagPassive is set
	flagExpressions = 1 << 2 // elements are expressions
)

// segmentHead is the start of a segment.
type segmentHead struct {
	flags  byte     // without flagExpressions
	index  uint32   // of the table or memory, if flags has flagIndex and not flagPassive
	offset *section // unless flags has flagPassive
}

// inlineHead returns the start of the segment that is part of a table or memory.
func inlineHead(index uint32) segmentHead {
	h := segmentHead{index: index, offset: &section{bytes: []byte{byte(wasmfront.OpI32Const), 0, byte(wasmfront.OpEnd)}}}
	if index != 0 {
		h.flags = flagIndex
	}
	return h
}

// offset takes the offset of an active segment: (offset ...), or one operator with operands.
func (a *assembler) offset() *section {
	s := &section{stop: a.scan.stop}
	if a.Open("offset") {
		s.append(a.body())
		a.Close()
	} else {
		s.append(a.folded())
	}
	return s
}

// segmentHead takes the start of a segment.
func (a *assembler) segmentHead(kind abi.ExternKind) segmentHead {
	space := importKinds[kind].space
	var h segmentHead
	a.skipID()
	switch {
	case a.atIndex(): // an old way to write it
		h.flags = flagIndex
		h.index = a.index(space)
	case a.Open(importKinds[kind].word):
		h.flags = flagIndex
		h.index = a.index(space)
		a.Close()
	}
	switch {
	case h.flags != 0 || a.Token().Kind == Open && !a.At("ref"):
		h.offset = a.offset()
	case kind == abi.ExternTable && a.Accept("declare"):
		h.flags = flagPassive | flagIndex
	default:
		h.flags = flagPassive
	}
	return h
}

// elemList is the elements of a segment.
type elemList struct {
	typ   wasmfront.ValType
	exprs bool // whether the items are expressions, and not indices of functions
	items section
}

// elemForm is how elements are written.
type elemForm uint8

const (
	elemFuncs     elemForm = iota // as functions
	elemFuncExprs                 // as functions that stand for expressions
	elemExprs                     // as expressions
)

// elemList takes elements.
func (a *assembler) elemList(t wasmfront.ValType, form elemForm) elemList {
	l := elemList{typ: t, exprs: form != elemFuncs, items: section{stop: a.scan.stop}}
	for a.More() {
		l.items.entry(a.Token().Offset)
		if form != elemExprs {
			i := a.index(wasmfront.SpaceFunc)
			b := grown(a.scan.stop, l.items.bytes, 2+binary.MaxVarintLen32)
			if form == elemFuncs {
				l.items.bytes = encode.Index(b, i)
			} else {
				l.items.bytes = encode.Expr(b, []wasmfront.ConstOp{{Op: wasmfront.OpRefFunc, Index: i}})
			}
			continue
		}
		if a.Open("item") {
			l.items.append(a.body())
			a.Close()
		} else {
			l.items.append(a.folded())
		}
	}
	return l
}

func (a *assembler) elemField(at int) {
	h := a.segmentHead(abi.ExternTable)
	var list elemList
	switch {
	case a.Accept("func") || h.flags&flagPassive == 0 && !a.atRefType():
		list = a.elemList(wasmfront.FuncRef, elemFuncs)
	case a.atRefType():
		list = a.elemList(a.refType(), elemExprs)
	default:
		a.Unexpected("func or a reference type")
	}
	a.segment(at, &list, h)
}

// segment writes an element segment.
func (a *assembler) segment(at int, l *elemList, h segmentHead) {
	s := &a.sections[secElem]
	s.entry(at)
	if l.exprs {
		h.flags |= flagExpressions
		if l.typ != wasmfront.FuncRef && h.flags&flagPassive == 0 {
			h.flags |= flagIndex // without it, the type is funcref
		}
	}
	s.appendHead(h)
	if h.flags&(flagPassive|flagIndex) != 0 {
		if l.exprs {
			s.bytes = encode.ValType(s.bytes, l.typ)
		} else {
			const kindFunc = 0
			s.bytes = append(s.bytes, kindFunc)
		}
	}
	s.bytes = encode.Index(s.bytes, l.items.count)
	s.append(&l.items)
}

func (a *assembler) dataField(at int) {
	h := a.segmentHead(abi.ExternMemory)
	a.scratch = a.AppendStrings(a.scratch[:0])
	a.dataSegment(at, h, a.scratch)
}

// dataSegment writes a data segment.
func (a *assembler) dataSegment(at int, h segmentHead, bytes []byte) {
	s := &a.sections[secData]
	s.entry(at)
	s.appendHead(h)
	s.bytes = appendAll(s.stop, encode.Index(s.bytes, uint32(len(bytes))), bytes)
}

// appendHead appends the start of a segment, up to its offset if it is active.
func (s *section) appendHead(h segmentHead) {
	s.bytes = append(s.bytes, h.flags)
	if h.flags&flagPassive != 0 {
		return
	}
	if h.flags&flagIndex != 0 {
		s.bytes = encode.Index(s.bytes, h.index)
	}
	s.append(h.offset)
}
