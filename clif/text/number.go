package text

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/waot-project/waot/clif"
)

// ParseNumber reads a constant of a numeric type and returns its bits, i32 and
// f32 zero-extended. Integers are decimal or hexadecimal, signed or not. Floats
// are hexadecimal integers, which are the IEEE bits, or decimal, or inf, nan or
// nan:0xPAYLOAD, with a sign.
func ParseNumber(t clif.Type, s string) (uint64, error) {
	if t.IsFloat() && !strings.HasPrefix(s, "0x") {
		return parseFloat(t, s)
	}
	if !t.IsInt() && !t.IsFloat() {
		return 0, fmt.Errorf("no constants of type %v", t)
	}
	size := t.Bits()
	if u, err := strconv.ParseUint(s, 0, size); err == nil {
		return u, nil
	}
	i, err := strconv.ParseInt(s, 0, size)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number of type %v", s, t)
	}
	return uint64(i) & (^uint64(0) >> (64 - size)), nil
}

// ParseV128 reads a hexadecimal integer of up to 128 bits.
func ParseV128(s string) (low, high uint64, err error) {
	digits, ok := strings.CutPrefix(s, "0x")
	if !ok || len(digits) == 0 || len(digits) > 32 {
		return 0, 0, fmt.Errorf("%q is not a hexadecimal integer of 128 bits", s)
	}
	digits = strings.Repeat("0", 32-len(digits)) + digits
	if high, err = strconv.ParseUint(digits[:16], 16, 64); err == nil {
		low, err = strconv.ParseUint(digits[16:], 16, 64)
	}
	if err != nil {
		err = fmt.Errorf("%q is not a hexadecimal integer of 128 bits", s)
	}
	return low, high, err
}

// fraction returns the number of bits of a float's fraction.
func fraction(t clif.Type) int {
	if t == clif.F32 {
		return 23
	}
	return 52
}

func parseFloat(t clif.Type, s string) (uint64, error) {
	digits, negative := strings.CutPrefix(s, "-")
	var bits uint64
	payload, hasPayload := strings.CutPrefix(digits, "nan:")
	infinity := (uint64(1)<<(t.Bits()-1-fraction(t)) - 1) << fraction(t)
	switch {
	case hasPayload:
		p, err := strconv.ParseUint(payload, 0, fraction(t))
		if err != nil || p == 0 {
			return 0, fmt.Errorf("%q is not the payload of a NaN of type %v", payload, t)
		}
		bits = infinity | p
	case digits == "nan":
		bits = infinity | 1<<(fraction(t)-1)
	case digits == "inf":
		bits = infinity
	default:
		x, err := strconv.ParseFloat(digits, t.Bits())
		if err != nil || math.IsInf(x, 0) || x != x {
			return 0, fmt.Errorf("%q is not a number of type %v", s, t)
		}
		bits = math.Float64bits(x)
		if t == clif.F32 {
			bits = uint64(math.Float32bits(float32(x)))
		}
	}
	if negative {
		bits |= 1 << (t.Bits() - 1)
	}
	return bits, nil
}
