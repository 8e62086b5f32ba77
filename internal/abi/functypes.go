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

// FieldType is the type of a field of a structure, or of the elements of an array.
type FieldType struct {
	Type    ValType // what code puts in and gets out: I32 if Packed
	Packed  uint8   // how many bits of it are kept, 8 or 16, or 0 for all
	Mutable bool
}

// Bytes returns how many bytes are kept of a number or vector.
func (f FieldType) Bytes() int {
	if f.Packed != 0 {
		return int(f.Packed) / 8
	}
	return f.Type.Bits() / 8
}

// String writes what is kept as the text format does, with a number for the index of a type.
func (f FieldType) String() string {
	s := f.Type.String()
	if f.Packed != 0 {
		s = fmt.Sprintf("i%d", f.Packed)
	}
	if f.Mutable {
		return "(mut " + s + ")"
	}
	return s
}

// TypeDef is a type that a module defines. The zero value is the type of functions without parameters and results, in a recursion group of its own, without subtypes.
type TypeDef struct {
	FuncType             // of functions; empty else
	Fields   []FieldType // of structures; that of elements for arrays
	Kind     TypeKind
	Open     bool  // may have subtypes: it is not final
	HasSuper bool  // it is a subtype of Super
	Depth    uint8 // how many types it is a subtype of
	// NoDefault is one more than the first of Fields that has no value to begin with, or 0: it is asked for each object that is made of defaults, and a structure may have many fields.
	NoDefault uint32
	Super     uint32 // an index below its own
	Place     uint32 // in its recursion group: 0 is the first, which begins the group
}

// MaxDepth is the largest depth of a type: that of the implementation limits of the specification.
const MaxDepth = 63

// isPlain reports whether a type of functions is as WebAssembly 1.0 has them, but that it may be typed: last says that the next type begins a recursion group.
func (t *TypeDef) isPlain(last bool) bool {
	return t.Kind == KindFunc && !t.Open && !t.HasSuper && t.Place == 0 && last
}

// lastOfGroup reports whether type i is the last of its recursion group.
func lastOfGroup(types []TypeDef, i int) bool { return i+1 == len(types) || types[i+1].Place == 0 }

// Defs returns function types as a module defines those that are plain.
func Defs(types []FuncType) []TypeDef {
	defs := make([]TypeDef, len(types))
	for i := range types {
		defs[i].FuncType = types[i]
	}
	return defs
}

// Digest stands for a type: that of its record.
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
	const function, typedFunction = 0x60, 0x61
	b := make([]byte, 0, 7+len(t.Params)+len(t.Results))
	b = append(b, recordVersion, function)
	r := recorder{first: self, members: 1, digests: digests}
	b, typed := r.signature(b, t)
	if b = append(b, 0); typed {
		d := DigestOf(b)
		b = append(append(b[:0], recordVersion, typedFunction), d[:]...)
	}
	return b
}

const recordVersion = 1

// The heap types of records, which are no codes of value types. The place follows recordPlace.
const (
	recordType  = 1
	recordSelf  = 2
	recordPlace = 3
)

// recorder encodes the types of a recursion group for records.
type recorder struct {
	first, members uint32 // of the group
	digests        []Digest
}

// signature appends the types of a function. typed is whether one says more than its class.
func (r *recorder) signature(b []byte, t *FuncType) (_ []byte, typed bool) {
	b = binary.LittleEndian.AppendUint16(b, uint16(len(t.Params)))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(t.Results)))
	for _, types := range [2][]ValType{t.Params, t.Results} {
		for _, v := range types {
			b, typed = r.value(b, v), typed || v.IsTyped()
		}
	}
	return b, typed
}

// value appends a value type.
func (r *recorder) value(b []byte, v ValType) []byte {
	if !v.IsTyped() {
		code := v.Code()
		if code == 0 {
			panic("a type that has no code in records") // two of them would be equal
		}
		return append(b, code)
	}
	code := byte(CodeRefNull)
	if v.IsNotNull() {
		code = CodeRef
	}
	b = append(b, code)
	if i, ok := v.TypeIndex(); ok {
		return r.index(b, i)
	}
	return append(b, v.OrNull().Code())
}

// index appends what stands for a type: of the group, or before it.
func (r *recorder) index(b []byte, i uint32) []byte {
	switch place := i - r.first; {
	case place >= r.members:
		return append(append(b, recordType), r.digests[i][:]...)
	case r.members == 1:
		return append(b, recordSelf)
	default:
		return binary.LittleEndian.AppendUint32(append(b, recordPlace), place)
	}
}

// definition appends a type that is not plain, of the group.
func (r *recorder) definition(b []byte, t *TypeDef) []byte {
	const final, open, hasSuper = 0, 1, 2
	flags := byte(final)
	if t.Open {
		flags |= open
	}
	if t.HasSuper {
		b = r.index(append(b, flags|hasSuper), t.Super)
	} else {
		b = append(b, flags)
	}
	b = append(b, byte(t.Kind))
	if t.Kind == KindFunc {
		b, _ = r.signature(b, &t.FuncType)
		return b
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(t.Fields)))
	for _, f := range t.Fields {
		mutable := byte(0)
		if f.Mutable {
			mutable = 1
		}
		b = r.value(append(b, mutable, f.Packed), f.Type)
	}
	return b
}

// Records are the records of the types of a module, and what stands for them.
type Records struct {
	types   []TypeDef
	digests []Digest // nil if all types are plain, and none says more than classes
	places  []Digest // what stands for the place of a type in its recursion group, for types that are not plain
}

// RecordsOf returns the records of the types of a module, of which each refers only to those of its recursion group and of groups before it. It calls poll for each, which may be nil.
func RecordsOf(types []TypeDef, poll func()) *Records {
	if poll == nil {
		poll = func() {}
	}
	r := &Records{types: types}
	for i := range types {
		if poll(); types[i].IsTyped() || !r.IsPlain(uint32(i)) {
			r.digests, r.places = make([]Digest, len(types)), make([]Digest, len(types))
			r.digest(poll)
			break
		}
	}
	return r
}

// IsPlain reports whether type i is one of functions that has nothing but its signature: it is final, without a supertype, and alone in its recursion group.
func (r *Records) IsPlain(i uint32) bool { return r.types[i].isPlain(lastOfGroup(r.types, int(i))) }

// digest finds what stands for each type. The record of one that is not plain has the SHA-256 of that of the encoding of its recursion group and of its place there.
func (r *Records) digest(poll func()) {
	for i := 0; i < len(r.types); {
		poll()
		if r.IsPlain(uint32(i)) {
			r.digests[i] = DigestOf(r.types[i].Record(uint32(i), r.digests))
			i++
			continue
		}
		end := i
		for !lastOfGroup(r.types, end) {
			end++
		}
		group := recorder{first: uint32(i), members: uint32(end + 1 - i), digests: r.digests}
		h := sha256.New()
		var b []byte
		for k := i; k <= end; k++ {
			poll()
			b = group.definition(b[:0], &r.types[k])
			h.Write(b)
		}
		for key := h.Sum(nil); i <= end; i++ {
			r.places[i] = sha256.Sum256(binary.LittleEndian.AppendUint32(slices.Clip(key), r.types[i].Place))
			r.digests[i] = DigestOf(r.Of(uint32(i)))
		}
	}
}

// Of returns the record of type i.
func (r *Records) Of(i uint32) []byte {
	const defined = 0x62
	if !r.IsPlain(i) {
		return append([]byte{recordVersion, defined}, r.places[i][:]...)
	}
	return r.types[i].Record(i, r.digests)
}

// IsSubType reports whether type i of types is type j or a subtype of it; same tells whether two types are the same.
func IsSubType(types []TypeDef, same func(i, j uint32) bool, i, j uint32) bool {
	for !same(i, j) {
		t := &types[i]
		if !t.HasSuper || t.Depth <= types[j].Depth {
			return false
		}
		i = t.Super
	}
	return true
}

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
	own := RefToKind(t.Kind(), 0)
	if t.IsNotNull() {
		own = own.NotNull()
	}
	return OwnType{own, r.Digest(i)}
}

// Matches reports whether t is u or a subtype of it: what is of type t can be where u is wanted.
func (t OwnType) Matches(u OwnType) bool {
	return t.MatchesBy(u, func(a, b Digest) bool { return a == b })
}

// MatchesBy is Matches where sub tells whether the type that the first of two digests stands for is that of the second or a subtype of it.
func (t OwnType) MatchesBy(u OwnType, sub func(a, b Digest) bool) bool {
	return Matches(t.Type, u.Type, func(uint32, uint32) bool { return sub(t.To, u.To) })
}

// Matches reports whether t is u or a subtype of it; sub tells whether the type of an index of t is that of an index of u or a subtype, which may be of other modules.
func Matches(t, u ValType, sub func(i, j uint32) bool) bool {
	switch {
	case t.Base() != u.Base() || u.IsNotNull() && !t.IsNotNull():
		return false
	case !t.IsRef():
		return t == u
	}
	i, exact := t.TypeIndex()
	j, wanted := u.TypeIndex()
	switch {
	case exact && wanted:
		return sub(i, j)
	case t.IsBottom():
		return t.top() == u.top() // also of what has an index
	case wanted:
		return false
	case exact:
		return kindHeaps[t.Kind()].isWithin(u.abstract())
	}
	return t.abstract().isWithin(u.abstract())
}

// kindHeaps are the abstract heap types that types of each kind are within.
var kindHeaps = [numKinds]*heapType{KindFunc: &heapTypes[heapFunc], KindStruct: &heapTypes[heapStruct], KindArray: &heapTypes[heapArray]}

// isWithin reports whether h, which is not a bottom type, is u or within it.
func (h *heapType) isWithin(u *heapType) bool {
	for ; h != u; h = &heapTypes[h.within] {
		if h == &heapTypes[h.within] {
			return false
		}
	}
	return true
}
