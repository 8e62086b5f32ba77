package reloc

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// This file has lists of words that hold addresses, in the form of the ELF section .relr.dyn: the address of a word, then bit
// maps (odd) of which of the next 63 words are meant, too, and so on.

const (
	relrWord = 8
	relrBits = 63
)

// AppendRelr appends the list of words, which are multiples of 8 and in order.
func AppendRelr(b []byte, words []uint64) []byte {
	for len(words) > 0 {
		b = binary.LittleEndian.AppendUint64(b, words[0])
		next := words[0] + relrWord // the first word of the next bit map
		words = words[1:]
		for {
			bitmap := uint64(0)
			for len(words) > 0 && words[0]-next < relrBits*relrWord {
				bitmap |= 2 << ((words[0] - next) / relrWord)
				words = words[1:]
			}
			if bitmap == 0 {
				break
			}
			b = binary.LittleEndian.AppendUint64(b, bitmap|1)
			next += relrBits * relrWord
		}
	}
	return b
}

var errRelr = errors.New("malformed list of addresses")

// ReadRelr returns the words of a list. The error is one of words that do not end by limit, or are not in order.
func ReadRelr(b []byte, limit uint64) (words []uint64, err error) {
	if len(b)%8 != 0 {
		return nil, errRelr
	}
	next := uint64(0)
	for ; len(b) > 0; b = b[8:] {
		e := binary.LittleEndian.Uint64(b)
		if e&1 == 0 {
			if e%relrWord != 0 || e < next || e > limit || limit-e < relrWord {
				return nil, errRelr
			}
			words, next = append(words, e), e+relrWord
			continue
		}
		if next == 0 { // nothing to count from
			return nil, errRelr
		}
		for m := e >> 1; m != 0; m &= m - 1 {
			at := next + relrWord*uint64(bits.TrailingZeros64(m))
			if at > limit || limit-at < relrWord {
				return nil, errRelr
			}
			words = append(words, at)
		}
		next += relrBits * relrWord
	}
	return words, nil
}
