package wat

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"
)

func unsigned(x uint64) []byte { return binary.AppendUvarint(nil, x) }

// signed returns the signed LEB128 form of x.
func signed(x int64) (b []byte) {
	for {
		c := byte(x & 0x7F)
		if x >>= 7; x == 0 && c&0x40 == 0 || x == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

// vector returns the number of items, and the items.
func vector(items [][]byte) []byte {
	b := unsigned(uint64(len(items)))
	for _, i := range items {
		b = append(b, i...)
	}
	return b
}

// sized is the number of bytes, and the bytes.
func sized[T string | []byte](s T) []byte { return append(unsigned(uint64(len(s))), s...) }

// integer reads an integer that fits in the given number of bits, signed or unsigned, and sign-extends it to 64 bits.
func integer(s string, size int) int64 {
	s = strings.ReplaceAll(s, "_", "")
	if x, err := strconv.ParseUint(s, 0, size); err == nil {
		return int64(x) << (64 - size) >> (64 - size)
	}
	x, err := strconv.ParseInt(s, 0, size)
	if err != nil {
		fail("%v", err)
	}
	return x
}

// natural reads a number that is not negative.
func natural(s string) uint64 {
	x, err := strconv.ParseUint(s, 0, 64)
	if err != nil {
		fail("%v", err)
	}
	return x
}

// float reads a number of 32 or 64 bits and gives its bits.
func float(s string, size int) uint64 {
	exponent, quiet := uint64(0x7FF)<<52, uint64(1)<<51
	if size == 32 {
		exponent, quiet = 0xFF<<23, 1<<22
	}
	abs, negative := strings.CutPrefix(s, "-")
	var bits uint64
	if payload, ok := strings.CutPrefix(abs, "nan"); ok {
		bits = exponent | quiet
		if p, ok := strings.CutPrefix(payload, ":"); ok {
			bits = exponent | natural(p)
		} else if payload != "" {
			fail("%q is no number", s)
		}
	} else {
		x, err := strconv.ParseFloat(abs, size)
		if err != nil {
			fail("%v", err)
		}
		bits = math.Float64bits(x)
		if size == 32 {
			bits = uint64(math.Float32bits(float32(x)))
		}
	}
	if negative {
		bits |= 1 << (size - 1)
	}
	return bits
}
