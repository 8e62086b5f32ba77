package spectest

import (
	"fmt"
	"strings"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/spectest/script"
)

// typeByName returns the type that a script names. Invalid belongs to a feature that no engine has.
func typeByName(name string) clif.Type { return clif.TypeOf(abi.ValTypeByName(name)) }

// heapStore is a store that tells what references are to.
type heapStore interface {
	// IsRefTo reports whether a reference of the class of t is of type t, which has no index.
	IsRefTo(ref uint64, t abi.ValType) bool
}

// argument appends the words of an argument to args, or returns the name of a type that is not
// supported.
func argument(s Store, args []uint64, v *script.Value) (_ []uint64, unsupported string) {
	t := typeByName(v.Type)
	switch {
	case t == clif.Invalid:
		return nil, v.Type
	case v.Match == script.MatchNull:
		return append(args, 0), ""
	case v.Match == script.MatchHost && t == clif.Ref:
		return append(args, s.ExternRef(v.Bits)), ""
	case v.Match == script.MatchVector:
		low, high := v.V128()
		return append(args, low, high), ""
	case v.Match == script.MatchBits:
		return append(args, v.Bits), ""
	}
	return nil, v.Type + " value"
}

// matches reports whether got is what want says.
func matches(s Store, want *script.Value, got Value) bool {
	if want.Match == script.MatchEither {
		for i := range want.Either {
			if matches(s, &want.Either[i], got) {
				return true
			}
		}
		return false
	}
	if want.Type == "refnull" {
		return got.Type.IsRef() && got.Bits == 0
	}
	if t := typeByName(want.Type); t == clif.Invalid || t != got.Type {
		return false
	}
	switch want.Match {
	case script.MatchBits, script.MatchNaNCanonical, script.MatchNaNArithmetic:
		return matchesNumber(want, got.Bits)
	case script.MatchVector:
		return matchesLanes(want.Lanes, got)
	case script.MatchNull:
		return got.Bits == 0
	case script.MatchNonNull:
		heap, tells := s.(heapStore)
		return got.Bits != 0 && (!tells || heap.IsRefTo(got.Bits, abi.ValTypeByName(want.Type)))
	case script.MatchHost:
		n, ok := s.ExternNumber(got.Bits)
		return ok && n == want.Bits
	case script.MatchAny:
		return true
	}
	return false
}

// quiet32 and quiet64 are the bits that all canonical and arithmetic NaNs
// have.
const (
	quiet32 = 0x7fc00000
	quiet64 = 0x7ff8000000000000
)

// matchesNumber reports whether bits are what want, a number or a lane, says.
func matchesNumber(want *script.Value, bits uint64) bool {
	sign, quiet := uint64(1)<<63, uint64(quiet64)
	if want.Type == "f32" {
		sign, quiet = 1<<31, quiet32
	}
	switch want.Match {
	case script.MatchBits:
		return bits == want.Bits
	case script.MatchNaNCanonical:
		return bits&^sign == quiet
	}
	return bits&quiet == quiet
}

// matchesLanes reports whether each lane of a vector is what want says.
func matchesLanes(want []script.Value, got Value) bool {
	width := 128 / len(want)
	for i := range want {
		half, at := got.Bits, i*width
		if at >= 64 {
			half, at = got.High, at-64
		}
		if !matchesNumber(&want[i], half>>at<<(64-width)>>(64-width)) {
			return false
		}
	}
	return true
}

// describe returns what a value is, for messages.
func describe(v *script.Value) string {
	switch v.Match {
	case script.MatchBits:
		return fmt.Sprintf("%s 0x%x", v.Type, v.Bits)
	case script.MatchHost:
		return fmt.Sprintf("%s %d", v.Type, v.Bits)
	case script.MatchVector:
		return "v128 (" + describeAll(v.Lanes, ", ") + ")"
	case script.MatchEither:
		return describeAll(v.Either, " or ")
	}
	return fmt.Sprintf("%s %s", v.Type, matchNames[v.Match])
}

func describeAll(vs []script.Value, between string) string {
	var s []string
	for i := range vs {
		s = append(s, describe(&vs[i]))
	}
	return strings.Join(s, between)
}

var matchNames = map[script.Match]string{
	script.MatchNaNCanonical: "nan:canonical", script.MatchNaNArithmetic: "nan:arithmetic",
	script.MatchNull: "null", script.MatchNonNull: "not null", script.MatchAny: "any",
}

func (v Value) String() string {
	if v.Type == clif.V128 {
		return fmt.Sprintf("v128 0x%016x%016x", v.High, v.Bits)
	}
	return fmt.Sprintf("%v 0x%x", v.Type, v.Bits)
}
