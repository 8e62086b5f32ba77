package abi

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// FuncType is a function type.
type FuncType struct{ Params, Results []ValType }

// Equal reports whether both types are written the same: of one module, with the same indices.
func (t *FuncType) Equal(u *FuncType) bool {
	return slices.Equal(t.Params, u.Params) && slices.Equal(t.Results, u.Results)
}

// IsTyped reports whether a parameter or result says more than its class.
func (t *FuncType) IsTyped() bool {
	return slices.ContainsFunc(t.Params, ValType.IsTyped) || slices.ContainsFunc(t.Results, ValType.IsTyped)
}

// String writes the type as (i32 i64) -> (f32).
func (t *FuncType) String() string {
	return TypeList(t.Params, " ") + " -> " + TypeList(t.Results, " ")
}

// TypeList writes types in parentheses.
func TypeList[T fmt.Stringer](types []T, between string) string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = t.String()
	}
	return "(" + strings.Join(names, between) + ")"
}

// Digest stands for a function type: that of its record.
type Digest [sha256.Size]byte

// DigestOf returns what stands for the type that has a record.
func DigestOf(record []byte) Digest { return sha256.Sum256(record) }

// Record returns what is the same for equal types of all modules, the content of the type's record: a version byte, a kind byte
// (function), the numbers of parameters and results in 16 bits each, little-endian, their types, a byte each, and a zero
// supertype depth. Two types are equal if their records are.
//
// If the types of references say more than their class, the record has another kind and the SHA-256 of such an encoding, in which such a type has CodeRef or CodeRefNull
// and the heap type: the byte of the nullable type, recordType and the digest of another type, or recordSelf for the type itself. So a record is short, however types refer
// to each other. For such a type, self is its index in its module, and digests are those of the types before it.
func (t *FuncType) Record(self uint32, digests []Digest) []byte {
	const version, function, typedFunction = 1, 0x60, 0x61
	b := make([]byte, 0, 7+len(t.Params)+len(t.Results))
	b = append(b, version, function)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(t.Params)))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(t.Results)))
	typed := false
	for _, types := range [2][]ValType{t.Params, t.Results} {
		for _, v := range types {
			if v.IsTyped() {
				b, typed = appendTyped(b, v, self, digests), true
				continue
			}
			code := v.Code()
			if code == 0 {
				panic("a type that has no code in records") // two of them would be equal
			}
			b = append(b, code)
		}
	}
	if b = append(b, 0); typed {
		d := DigestOf(b)
		b = append(append(b[:0], version, typedFunction), d[:]...)
	}
	return b
}

// The heap types of records, which are no codes of value types.
const (
	recordType = 1
	recordSelf = 2
)

func appendTyped(b []byte, v ValType, self uint32, digests []Digest) []byte {
	code := byte(CodeRefNull)
	if v.IsNotNull() {
		code = CodeRef
	}
	b = append(b, code)
	switch i, ok := v.TypeIndex(); {
	case !ok:
		return append(b, v.OrNull().Code())
	case i == self:
		return append(b, recordSelf)
	default:
		return append(append(b, recordType), digests[i][:]...)
	}
}

// Records are the records of the types of a module, and what stands for them.
type Records struct {
	types   []FuncType
	digests []Digest // nil if no type says more than classes
}

// RecordsOf returns the records of the types of a module, of which each refers only to itself and those before it. It calls poll for each, which may be nil.
func RecordsOf(types []FuncType, poll func()) *Records {
	if poll == nil {
		poll = func() {}
	}
	r := &Records{types: types}
	for i := range types {
		if poll(); types[i].IsTyped() {
			r.digests = digestsOf(types, poll)
			break
		}
	}
	return r
}

func digestsOf(types []FuncType, poll func()) []Digest {
	digests := make([]Digest, len(types))
	for i := range types {
		poll()
		digests[i] = DigestOf(types[i].Record(uint32(i), digests))
	}
	return digests
}

// Of returns the record of type i.
func (r *Records) Of(i uint32) []byte { return r.types[i].Record(i, r.digests) }

// Digest returns what stands for type i.
func (r *Records) Digest(i uint32) Digest {
	if r.digests == nil {
		return DigestOf(r.Of(i))
	}
	return r.digests[i]
}

// OwnType is a value type by itself, which no module has to explain: two of them are the same type if they are equal.
type OwnType struct {
	// Type has 0 for the index of any type, for which To stands.
	Type ValType
	To   Digest
}

// Own returns type t of the module by itself.
func (r *Records) Own(t ValType) OwnType {
	i, ok := t.TypeIndex()
	if !ok {
		return OwnType{Type: t}
	}
	own := RefTo(0)
	if t.IsNotNull() {
		own = own.NotNull()
	}
	return OwnType{own, r.Digest(i)}
}

// Matches reports whether t is u or a subtype of it: what is of type t can be where u is wanted.
func (t OwnType) Matches(u OwnType) bool {
	return Matches(t.Type, u.Type, func(uint32, uint32) bool { return t.To == u.To })
}

// Matches reports whether t is u or a subtype of it; same tells whether an index of t and one of u, which may be of other modules, are of the same type.
func Matches(t, u ValType, same func(i, j uint32) bool) bool {
	if t.Base() != u.Base() || u.IsNotNull() && !t.IsNotNull() {
		return false
	}
	if t.Base() == ExternRef {
		heap, want := t>>heapBits, u>>heapBits
		return heap == want || ValType(t.heap().within) == want
	}
	i, exact := t.TypeIndex()
	j, wanted := u.TypeIndex()
	return !wanted || exact && same(i, j)
}
