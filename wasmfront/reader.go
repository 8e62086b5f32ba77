package wasmfront

import (
	"encoding/binary"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/waot-project/waot/internal/abi"
)

// Reader reads the binary format's primitives from Buf[Pos:End]. The first
// failure is kept in Err, ends the input (Pos becomes End) and makes every
// later read return zero, so that callers need to look at Err only where they
// would loop.
type Reader struct {
	Buf  []byte // the whole module: positions are offsets in it
	Pos  int
	End  int
	Func int // the function being read, or -1; for errors
	// Types are the types that indices of references mean. While a recursion group is read, Group more of its types are still to come.
	Types []TypeDef
	Group uint32
	ahead bool // a type was one of those
	// Singles has the lists of one type that BlockType has returned. Whoever has no more use for these may cut it to use its memory again.
	Singles []ValType
	Err     *Error
}

// Fail records an error at offset, unless there is one already.
func (r *Reader) Fail(offset int, format string, args ...any) {
	if r.Err == nil {
		r.FailError(&Error{Offset: offset, Func: r.Func, Msg: fmt.Sprintf(format, args...)})
	}
}

// FailFeature records that the item at offset needs features not accepted.
func (r *Reader) FailFeature(offset int, f Features, format string, args ...any) {
	r.FailError(&Error{Offset: offset, Func: r.Func, Msg: fmt.Sprintf(format, args...), Feature: f.String()})
}

// FailLimit records that the item at offset exceeds an implementation limit.
func (r *Reader) FailLimit(offset int, l LimitError, format string, args ...any) {
	e := &Error{Offset: offset, Func: r.Func, Msg: fmt.Sprintf(format, args...)}
	e.SetLimit(l)
	r.FailError(e)
}

// FailError records e, unless there is an error already.
func (r *Reader) FailError(e *Error) {
	if r.Err == nil {
		r.Err = e
		r.Pos = r.End
	}
}

// failEnd records that the input ends too early. The specification has two
// wordings: one for the end of the module, one for items that reach beyond the
// section or function they are in.
func (r *Reader) failEnd() {
	if r.End == len(r.Buf) {
		r.Fail(r.End, "unexpected end of section or function")
	} else {
		r.Fail(r.End, "section size mismatch: unexpected end of section or function")
	}
}

// More reports whether there is input left and no error.
func (r *Reader) More() bool { return r.Pos < r.End }

// Byte reads a byte.
func (r *Reader) Byte() byte {
	if r.Pos < r.End {
		b := r.Buf[r.Pos]
		r.Pos++
		return b
	}
	r.failEnd()
	return 0
}

// U32 reads an unsigned 32-bit integer.
func (r *Reader) U32() uint32 {
	if r.Pos < r.End {
		if b := r.Buf[r.Pos]; b < 0x80 {
			r.Pos++
			return uint32(b)
		}
	}
	return uint32(r.unsigned(32))
}

// U64 reads an unsigned 64-bit integer.
func (r *Reader) U64() uint64 { return r.unsigned(64) }

// S32 reads a signed 32-bit integer.
func (r *Reader) S32() int32 { return int32(r.signed(32)) }

// S33 reads a signed 33-bit integer.
func (r *Reader) S33() int64 { return r.signed(33) }

// S64 reads a signed 64-bit integer.
func (r *Reader) S64() int64 { return r.signed(64) }

// unsigned reads a LEB128 number of that many bits.
func (r *Reader) unsigned(bits uint) uint64 {
	var v uint64
	for shift := uint(0); ; shift += 7 {
		if r.Pos >= r.End {
			r.failEnd()
			return 0
		}
		b := r.Buf[r.Pos]
		if left := bits - shift; left < 7 {
			if b >= 0x80 {
				r.Fail(r.Pos, "integer representation too long")
				return 0
			}
			if b>>left != 0 {
				r.Fail(r.Pos, "integer too large")
				return 0
			}
		}
		r.Pos++
		v |= uint64(b&0x7F) << shift
		if b < 0x80 {
			return v
		}
	}
}

// signed reads a signed LEB128 number of that many bits.
func (r *Reader) signed(bits uint) int64 {
	var v int64
	for shift := uint(0); ; {
		if r.Pos >= r.End {
			r.failEnd()
			return 0
		}
		b := r.Buf[r.Pos]
		if left := bits - shift; left < 7 {
			if b >= 0x80 {
				r.Fail(r.Pos, "integer representation too long")
				return 0
			}
			// The bits from the sign bit on must all be equal.
			if rest := int8(b<<1) >> left; rest != 0 && rest != -1 {
				r.Fail(r.Pos, "integer too large")
				return 0
			}
		}
		r.Pos++
		v |= int64(b&0x7F) << shift
		shift += 7
		if b < 0x80 {
			if shift < 64 {
				v = v << (64 - shift) >> (64 - shift)
			}
			return v
		}
	}
}

// Bytes returns the next n bytes, as a slice of Buf.
func (r *Reader) Bytes(n int) []byte {
	if n > r.End-r.Pos {
		r.failEnd()
		return nil
	}
	b := r.Buf[r.Pos : r.Pos+n : r.Pos+n]
	r.Pos += n
	return b
}

// Fixed32 reads 4 bytes, the lowest first.
func (r *Reader) Fixed32() uint32 {
	if b := r.Bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// Fixed64 reads 8 bytes, the lowest first.
func (r *Reader) Fixed64() uint64 {
	if b := r.Bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// sized reads a length and that many bytes.
func (r *Reader) sized() []byte {
	at := r.Pos
	n := r.U32()
	if r.Err == nil && int64(n) > int64(r.End-r.Pos) {
		if r.End == len(r.Buf) {
			r.Fail(at, "length out of bounds: unexpected end")
		} else {
			r.Fail(at, "section size mismatch: length out of bounds")
		}
		return nil
	}
	return r.Bytes(int(n))
}

// Name reads a name.
func (r *Reader) Name() string {
	b := r.sized()
	if !utf8.Valid(b) {
		r.Fail(r.Pos-len(b), "malformed UTF-8 encoding")
		return ""
	}
	return string(b)
}

// ValType reads a value type.
func (r *Reader) ValType(accept Features) ValType {
	return r.typeByte(accept, "malformed value type")
}

// RefType reads a reference type.
func (r *Reader) RefType(accept Features) ValType {
	at := r.Pos
	t := r.typeByte(accept, "malformed reference type")
	if r.Err == nil && !t.IsRef() {
		r.Fail(at, "malformed reference type")
	}
	return t
}

// HeapType reads what a reference type refers to, which is encoded like the type of
// nullable references to it, or is the index of a type. It returns the type of nullable references to it.
func (r *Reader) HeapType(accept Features) ValType {
	at := r.Pos
	if r.Pos < r.End && !isIndex(r.Buf[r.Pos]) {
		if BeginsRef(r.Buf[r.Pos]) {
			r.Fail(at, "malformed heap type")
		}
		return r.RefType(accept)
	}
	switch n := r.S33(); {
	case r.Err != nil:
	case n < 0:
		r.Fail(at, "malformed heap type")
	case !accept.Has(FeatureFunctionReferences):
		r.FailFeature(at, FeatureFunctionReferences, "unsupported heap type %d", n)
	case n < int64(len(r.Types)):
		return abi.RefToKind(r.Types[n].Kind, uint32(n))
	case n < int64(len(r.Types))+int64(r.Group):
		r.ahead = true
		return abi.RefTo(uint32(n)) // of whatever kind
	default:
		r.Fail(at, "unknown type %d", n)
	}
	return TypeUnknown
}

// isIndex reports whether a heap type that begins with b is not a type in one byte.
func isIndex(b byte) bool { return b&0xC0 != 0x40 }

func (r *Reader) typeByte(accept Features, malformed string) ValType {
	at := r.Pos
	b := r.Byte()
	t, feature := TypeByCode(b), typeFeatures[b]
	switch {
	case r.Err != nil:
	case !accept.Has(feature):
		r.FailFeature(at, feature, "unsupported type 0x%02x", b)
	case b == abi.CodeRef:
		return r.HeapType(accept).NotNull()
	case b == abi.CodeRefNull:
		return r.HeapType(accept)
	case t == TypeUnknown:
		r.Fail(at, "%s 0x%02x", malformed, b)
	}
	return t
}

// single returns the list of types that has only t.
func (r *Reader) single(t ValType) []ValType {
	if !t.IsTyped() {
		return t.Slice()
	}
	r.Singles = append(r.Singles, t)
	return slices.Clip(r.Singles[len(r.Singles)-1:])
}

// SkipBlockType reads the type of a block and forgets it.
func (r *Reader) SkipBlockType() {
	if n := r.S33(); n < 0 && BeginsRef(byte(n&0x7F)) {
		r.S33()
	}
}

// BeginsRef reports whether a type that begins with b, where no index can be, is that of a reference in full, so that the heap type follows.
func BeginsRef(b byte) bool { return b == abi.CodeRef || b == abi.CodeRefNull }

// SkipValType reads a value type and forgets it.
func (r *Reader) SkipValType() {
	if BeginsRef(r.Byte()) {
		r.S33()
	}
}

// BlockType reads the type of a block. A type index must be one of functions.
func (r *Reader) BlockType(accept Features) (params, results []ValType) {
	at := r.Pos
	if at < r.End {
		b := r.Buf[at]
		if b == 0x40 {
			r.Pos++
			return nil, nil
		}
		if TypeByCode(b) != TypeUnknown || typeFeatures[b] != 0 {
			return nil, r.single(r.ValType(accept))
		}
	}
	n := r.S33()
	switch {
	case r.Err != nil:
	case n < 0:
		r.Fail(at, "malformed block type")
	case n >= int64(len(r.Types)):
		r.Fail(at, "unknown type %d", n)
	case r.Types[n].Kind != KindFunc:
		r.Fail(at, "type %d is not a function type", n)
	default:
		t := &r.Types[n].FuncType
		if (len(t.Params) > 0 || len(t.Results) > 1) && !accept.Has(FeatureMultiValue) {
			r.FailFeature(at, FeatureMultiValue, "block type %s", t)
		}
		return t.Params, t.Results
	}
	return nil, nil
}
