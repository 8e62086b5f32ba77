package spectest

import (
	"fmt"
	"strings"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/spectest/script"
)

// typeNames maps the scripts' types to CLIF's. Types that are not here belong
// to features that no engine has.
var typeNames = map[string]clif.Type{
	"i32": clif.I32, "i64": clif.I64, "f32": clif.F32, "f64": clif.F64, "v128": clif.V128,
	"externref": clif.Ref, "funcref": clif.FuncRef, "nullfuncref": clif.FuncRef, "nullexternref": clif.Ref,
}

// argument returns the bits of an argument, or the name of a type that is not
// supported.
func argument(s Store, v *script.Value) (bits uint64, unsupported string) {
	t, ok := typeNames[v.Type]
	switch {
	case !ok || t == clif.V128:
		return 0, v.Type
	case v.Match == script.MatchNull:
		return 0, ""
	case v.Match == script.MatchHost && t == clif.Ref:
		return s.ExternRef(v.Bits), ""
	case v.Match == script.MatchBits:
		return v.Bits, ""
	}
	return 0, v.Type + " value"
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
	if t, ok := typeNames[want.Type]; !ok || t != got.Type {
		return false
	}
	switch want.Match {
	case script.MatchBits:
		return got.Bits == want.Bits
	case script.MatchNaNCanonical:
		return isCanonical(got)
	case script.MatchNaNArithmetic:
		return isArithmetic(got)
	case script.MatchNull:
		return got.Bits == 0
	case script.MatchNonNull:
		return got.Bits != 0
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

func isCanonical(v Value) bool {
	if v.Type == clif.F32 {
		return v.Bits&^(1<<31) == quiet32
	}
	return v.Bits&^(1<<63) == quiet64
}

func isArithmetic(v Value) bool {
	if v.Type == clif.F32 {
		return v.Bits&quiet32 == quiet32
	}
	return v.Bits&quiet64 == quiet64
}

// describe returns what a value is, for messages.
func describe(v *script.Value) string {
	switch v.Match {
	case script.MatchBits:
		return fmt.Sprintf("%s 0x%x", v.Type, v.Bits)
	case script.MatchHost:
		return fmt.Sprintf("%s %d", v.Type, v.Bits)
	case script.MatchEither:
		var s []string
		for i := range v.Either {
			s = append(s, describe(&v.Either[i]))
		}
		return strings.Join(s, " or ")
	}
	return fmt.Sprintf("%s %s", v.Type, matchNames[v.Match])
}

var matchNames = map[script.Match]string{
	script.MatchNaNCanonical: "nan:canonical", script.MatchNaNArithmetic: "nan:arithmetic", script.MatchVector: "vector",
	script.MatchNull: "null", script.MatchNonNull: "not null", script.MatchAny: "any",
}

func (v Value) String() string { return fmt.Sprintf("%v 0x%x", v.Type, v.Bits) }
