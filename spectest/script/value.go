package script

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// Match says how a result is compared with a Value. Arguments are MatchBits,
// MatchNull, MatchHost or MatchVector.
type Match uint8

// The ways to match.
const (
	MatchBits          Match = iota // equals Bits
	MatchNaNCanonical               // is a NaN whose payload has only its top bit set
	MatchNaNArithmetic              // is a NaN whose payload has its top bit set
	MatchVector                     // Lanes match one by one
	MatchNull                       // is null
	MatchHost                       // is the host's reference number Bits
	MatchNonNull                    // is a reference of the type, not null
	MatchEither                     // one of Either matches
	MatchAny                        // any number of the type: what wabt writes where an action traps
)

// Value is an argument or an expected result.
type Value struct {
	Type   string // as in the text format; refnull for a null of any type
	Match  Match
	Bits   uint64  // i32, i64, f32, f64: the bits; i32 and f32 zero-extended
	Lane   string  // v128: the type of the lanes, i8 to i64, f32 or f64
	Lanes  []Value // v128: the lanes, lane 0 first, of type Lane
	Either []Value
}

// laneBits are the sizes of lanes, and of numbers.
var laneBits = [...]struct {
	name string
	bits int
}{{"i8", 8}, {"i16", 16}, {"i32", 32}, {"i64", 64}, {"f32", 32}, {"f64", 64}}

func sizeOf(name string) (bits int, ok bool) {
	for _, l := range laneBits {
		if l.name == name {
			return l.bits, true
		}
	}
	return 0, false
}

// V128 returns the two halves of a vector whose lanes are all bits.
func (v *Value) V128() (low, high uint64) {
	size, _ := sizeOf(v.Lane)
	for i := range v.Lanes {
		at := i * size
		if at < 64 {
			low |= v.Lanes[i].Bits << at
		} else {
			high |= v.Lanes[i].Bits << (at - 64)
		}
	}
	return low, high
}

// UnmarshalJSON reads a value in the form of the JSON scripts.
func (v *Value) UnmarshalJSON(b []byte) error {
	var j struct {
		Type     string          `json:"type"`
		LaneType string          `json:"lane_type"`
		Value    json.RawMessage `json:"value"`
		Values   []Value         `json:"values"`
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields() // a value under another name would be left out
	if err := d.Decode(&j); err != nil {
		return err
	}
	*v = Value{Type: j.Type, Either: j.Values}
	switch {
	case j.Values != nil:
		v.Match = MatchEither
		return nil
	case j.Value == nil:
		v.Match = MatchNonNull
		if _, number := sizeOf(j.Type); number || j.Type == "v128" {
			v.Match = MatchAny
		}
		return nil
	case j.Type == "v128":
		return v.vector(j.LaneType, j.Value)
	}
	var s string
	if err := json.Unmarshal(j.Value, &s); err != nil {
		return err
	}
	return v.scalar(s)
}

func (v *Value) vector(lane string, raw json.RawMessage) error {
	var lanes []string
	if err := json.Unmarshal(raw, &lanes); err != nil {
		return err
	}
	size, ok := sizeOf(lane)
	if !ok || size*len(lanes) != 128 {
		return fmt.Errorf("v128 of %d lanes of type %q", len(lanes), lane)
	}
	v.Match, v.Lane, v.Lanes = MatchVector, lane, make([]Value, len(lanes))
	for i, s := range lanes {
		v.Lanes[i].Type = lane
		if err := v.Lanes[i].scalar(s); err != nil {
			return err
		}
	}
	return nil
}

// scalar reads a number or a reference.
func (v *Value) scalar(s string) error {
	size, number := sizeOf(v.Type)
	float := v.Type == "f32" || v.Type == "f64"
	switch {
	case s == "null" && !number:
		v.Match = MatchNull
		return nil
	case s == "nan:canonical" && float:
		v.Match = MatchNaNCanonical
		return nil
	case s == "nan:arithmetic" && float:
		v.Match = MatchNaNArithmetic
		return nil
	}
	if !number {
		v.Match, size = MatchHost, 64
	}
	bits, err := strconv.ParseUint(s, 10, size)
	if err != nil {
		// Signed lanes occur in older scripts.
		var n int64
		if n, err = strconv.ParseInt(s, 10, size); err != nil {
			return fmt.Errorf("value %q of type %s", s, v.Type)
		}
		bits = uint64(n)
	}
	if size < 64 {
		bits &= 1<<size - 1
	}
	if v.Bits = bits; v.Type == "funcref" {
		v.Match, v.Bits = MatchNonNull, 0 // engines do not tell which function it is
	}
	return nil
}
