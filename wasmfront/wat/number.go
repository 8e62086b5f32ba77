package wat

import (
	"bytes"
	"math"
	"strconv"
)

// numberKind returns Nat, Int or Float if the word is such a number, else Reserved.
func numberKind(word []byte) Kind {
	kind := Nat
	b := word
	if b[0] == '+' || b[0] == '-' {
		kind = Int
		b = b[1:]
	}
	if isFloat(b) {
		return Float
	}
	class, exponent := uint8(classDigit), byte('e')
	if hex, ok := bytes.CutPrefix(b, []byte("0x")); ok {
		b, class, exponent = hex, classHex, 'p'
	}
	b, ok := cutDigits(b, class)
	if !ok {
		return Reserved
	}
	if len(b) > 0 && b[0] == '.' {
		kind = Float
		b = b[1:]
		if len(b) > 0 && classes[b[0]]&class != 0 {
			b, _ = cutDigits(b, class)
		}
	}
	if len(b) > 0 && b[0]|0x20 == exponent {
		kind = Float
		b = b[1:]
		if len(b) > 0 && (b[0] == '+' || b[0] == '-') {
			b = b[1:]
		}
		if b, ok = cutDigits(b, classDigit); !ok {
			return Reserved
		}
	}
	if len(b) > 0 {
		return Reserved
	}
	return kind
}

// isFloat reports whether a word without a sign is inf, nan, or nan with a payload.
func isFloat(word []byte) bool {
	switch string(word) {
	case "inf", "nan":
		return true
	}
	payload, ok := bytes.CutPrefix(word, []byte("nan:0x"))
	if !ok {
		return false
	}
	rest, ok := cutDigits(payload, classHex)
	return ok && len(rest) == 0
}

// cutDigits returns what follows the digits at the start of b, which may have
// an underscore between two of them. It is false if there are none.
func cutDigits(b []byte, class uint8) (rest []byte, ok bool) {
	i := 0
	for i < len(b) && classes[b[i]]&class != 0 {
		i++
		if i+1 < len(b) && b[i] == '_' && classes[b[i+1]]&class != 0 {
			i++
		}
	}
	return b[i:], i > 0
}

func hexValue(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

// natural returns the value of a Nat. It is false if that has more than 64 bits.
func natural(word []byte) (x uint64, ok bool) {
	base := uint64(10)
	if hex, ok := bytes.CutPrefix(word, []byte("0x")); ok {
		word, base = hex, 16
	}
	for _, c := range word {
		if c == '_' {
			continue
		}
		d := uint64(hexValue(c))
		if x > (math.MaxUint64-d)/base {
			return 0, false
		}
		x = x*base + d
	}
	return x, true
}

// integer returns the lowest bits of a Nat or an Int. It is false if it does
// not fit in that many bits, neither signed nor unsigned.
func integer(word []byte, bits int) (x uint64, ok bool) {
	mask := uint64(math.MaxUint64) >> (64 - bits)
	negative := word[0] == '-'
	if negative || word[0] == '+' {
		word = word[1:]
	}
	x, ok = natural(word)
	if negative {
		return -x & mask, ok && x <= mask/2+1
	}
	return x, ok && x <= mask
}

// float returns the bits of a number, rounded to the nearest float of 32 or 64
// bits, to even if two are as near. It is false if that is beyond the largest
// one, or if the payload of a NaN does not fit.
func float(word []byte, size int) (x uint64, ok bool) {
	fraction := 52
	if size == 32 {
		fraction = 23
	}
	exponents := uint64(1)<<(size-1) - 1<<fraction // all bits of the exponent
	negative := word[0] == '-'
	if negative || word[0] == '+' {
		word = word[1:]
	}
	switch payload, isPayload := bytes.CutPrefix(word, []byte("nan:")); {
	case string(word) == "inf":
		x, ok = exponents, true
	case string(word) == "nan":
		x, ok = exponents|1<<(fraction-1), true
	case isPayload:
		x, ok = natural(payload)
		ok = ok && x > 0 && x < 1<<fraction
		x |= exponents
	default:
		x, ok = finite(word, size)
	}
	if negative {
		x |= 1 << (size - 1)
	}
	return x, ok
}

// finite is float for digits.
func finite(word []byte, size int) (x uint64, ok bool) {
	digits := bytes.ReplaceAll(word, []byte("_"), nil)
	if bytes.HasPrefix(digits, []byte("0x")) && !bytes.ContainsAny(digits, "pP") {
		digits = append(digits, "p0"...) // the library wants an exponent
	}
	f, err := strconv.ParseFloat(string(digits), size)
	if size == 32 {
		return uint64(math.Float32bits(float32(f))), err == nil
	}
	return math.Float64bits(f), err == nil
}
