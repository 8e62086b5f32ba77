package wasmfront

import (
	"slices"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/stop"
)

// The bytes that begin a type of the type section.
const (
	FormRec      = 0x4E // a recursion group
	FormSub      = 0x50 // that may have subtypes, and the supertype
	FormSubFinal = 0x4F
	FormFunc     = 0x60
	FormStruct   = 0x5F
	FormArray    = 0x5E
)

// The bytes in place of a value type for fields that keep few bits.
const (
	StorageI8  = 0x78
	StorageI16 = 0x77
)

// The mutability of a field, and how many bytes one takes at least.
const (
	fieldMutable  = 1
	minFieldBytes = 2
)

// typeSection decodes recursion groups. A type that stands alone is a group of its own.
func (d *decoder) typeSection() {
	at := d.Pos
	n := d.U32()
	d.limitTypes(at, n)
	d.m.Types = makeVec(d, d.m.Types, n, 3)
	d.m.TypeOffsets = makeVec(d, d.m.TypeOffsets, n, 3)
	// Each value type takes at least a byte, and each field two, so all lists together fit in these.
	d.values = make([]ValType, 0, d.End-d.Pos)
	for ; n > 0 && d.Err == nil; n-- {
		d.stop.Poll()
		d.Group = 1
		at := d.Pos
		if d.More() && d.Buf[at] == FormRec && d.accept.Has(FeatureFunctionReferences) {
			d.Pos++
			if d.Group = d.U32(); d.Group > 1 && !d.accept.Has(FeatureGC) {
				d.FailFeature(at, FeatureGC, "unsupported recursion group of %d types", d.Group)
			}
		}
		d.limitTypes(at, d.Group)
		d.group()
	}
}

// limitTypes fails if n more types are too many.
func (d *decoder) limitTypes(at int, n uint32) {
	if all := uint64(n) + uint64(len(d.m.Types)); all > MaxTypes {
		d.FailLimit(at, LimitError{"types", all, MaxTypes}, "too many types: %d", all)
	}
}

// group decodes the types of a recursion group, of which Group says how many there are. They may refer to each other, whatever their order.
func (d *decoder) group() {
	first, values := len(d.m.Types), len(d.values)
	for place := uint32(0); d.Group > 0 && d.Err == nil; place++ {
		d.stop.Poll()
		at := d.Pos
		d.charge(at, ItemType, 1)
		t := TypeDef{Place: place}
		d.subtyping(&t)
		if d.composite(&t); d.Err == nil {
			d.m.Types, d.m.TypeOffsets = append(stop.Room(d.stop, d.m.Types), t), stop.Append(d.stop, d.m.TypeOffsets, at)
			d.Types = d.m.Types
			d.Group--
		}
	}
	d.Group = 0
	if d.Err != nil { // what is there may refer to what is not
		d.m.Types, d.m.TypeOffsets = d.m.Types[:first], d.m.TypeOffsets[:first]
		return
	}
	if d.ahead {
		d.ahead = false
		for i := range d.values[values:] {
			d.settle(&d.values[values+i])
		}
		for i := range d.m.Types[first:] {
			for k := range d.m.Types[first+i].Fields {
				d.settle(&d.m.Types[first+i].Fields[k].Type)
			}
		}
	}
}

// settle gives a reference type the kind of what its index means, which may have stood behind it.
func (d *decoder) settle(t *ValType) {
	i, ok := t.TypeIndex()
	if !ok {
		return
	}
	kind := d.m.RefTo(i)
	if t.IsNotNull() {
		kind = kind.NotNull()
	}
	*t = kind
}

// subtyping decodes what stands in front of a type that has a supertype or may have subtypes.
func (d *decoder) subtyping(t *TypeDef) {
	if !d.More() || d.Buf[d.Pos] != FormSub && d.Buf[d.Pos] != FormSubFinal || !d.accept.Has(FeatureGC) {
		return
	}
	t.Open = d.Byte() == FormSub
	at := d.Pos
	switch n := d.U32(); {
	case d.Err != nil || n == 0:
		return
	case n > 1:
		d.Fail(at, "sub type: %d supertypes", n)
	}
	t.HasSuper, t.Super = true, d.U32()
	if d.Err != nil {
		return
	}
	if int64(t.Super) >= int64(len(d.m.Types)) {
		d.Fail(at, "unknown type %d: a supertype stands before its subtypes", t.Super)
		return
	}
	if t.Depth = d.m.Types[t.Super].Depth + 1; t.Depth > abi.MaxDepth {
		d.FailLimit(at, LimitError{"supertypes", uint64(t.Depth), abi.MaxDepth}, "too many supertypes of supertypes: %d", t.Depth)
	}
}

// composite decodes what a type consists of.
func (d *decoder) composite(t *TypeDef) {
	at := d.Pos
	switch form := d.Byte(); {
	case d.Err != nil:
	case form == FormFunc:
		t.Params = d.typeVec(MaxParams, "parameters")
		t.Results = d.typeVec(MaxResults, "results")
		if len(t.Results) > 1 && !d.accept.Has(FeatureMultiValue) {
			d.FailFeature(at, FeatureMultiValue, "function type %s", &t.FuncType)
		}
	case form == FormStruct && d.accept.Has(FeatureGC):
		t.Kind = KindStruct
		at := d.Pos
		n := d.U32()
		if n > MaxFields {
			d.FailLimit(at, LimitError{"fields", uint64(n), MaxFields}, "too many fields: %d", n)
		}
		d.charge(at, ItemTypeValue, min(int(n), (d.End-d.Pos)/minFieldBytes))
		t.Fields = makeVec(d, t.Fields, n, minFieldBytes)
		for ; n > 0 && d.Err == nil; n-- {
			d.stop.Poll()
			d.addField(t)
		}
	case form == FormArray && d.accept.Has(FeatureGC):
		t.Kind = KindArray
		d.addField(t)
	case typeForms[form] != 0 && !d.accept.Has(typeForms[form]):
		d.FailFeature(at, typeForms[form], "unsupported form of type 0x%02x", form)
	case form >= 0x80:
		d.Fail(at, "integer representation too long")
	default:
		d.Fail(at, "malformed form of type 0x%02x", form)
	}
}

// addField decodes a field, or the elements of an array.
func (d *decoder) addField(t *TypeDef) {
	f := d.fieldType()
	t.Fields = append(t.Fields, f)
	if f.Type.IsNotNull() && t.NoDefault == 0 {
		t.NoDefault = uint32(len(t.Fields))
	}
}

// fieldType decodes the type of a field, or of the elements of an array.
func (d *decoder) fieldType() FieldType {
	f := FieldType{Type: I32}
	switch at := d.Pos; {
	case at < d.End && d.Buf[at] == StorageI8:
		d.Pos++
		f.Packed = 8
	case at < d.End && d.Buf[at] == StorageI16:
		d.Pos++
		f.Packed = 16
	default:
		f.Type = d.ValType(d.accept)
	}
	at := d.Pos
	mut := d.Byte()
	if mut > fieldMutable {
		d.Fail(at, "malformed mutability 0x%02x", mut)
	}
	f.Mutable = mut == fieldMutable
	return f
}

func (d *decoder) typeVec(limit uint32, what string) []ValType {
	at := d.Pos
	n := d.U32()
	if n > limit {
		d.FailLimit(at, LimitError{what, uint64(n), uint64(limit)}, "too many %s: %d", what, n)
	}
	d.charge(at, ItemTypeValue, min(int(n), d.End-d.Pos))
	start := len(d.values)
	for ; n > 0 && d.Err == nil; n-- {
		d.stop.Poll()
		d.values = append(d.values, d.ValType(d.accept))
	}
	return slices.Clip(d.values[start:])
}
