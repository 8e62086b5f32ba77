package reloc

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

func entries(words ...uint64) (b []byte) {
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

// TestRelr compares with what linkers write, and reads lists back.
func TestRelr(t *testing.T) {
	for _, c := range []struct{ words, want []uint64 }{
		{nil, nil},
		{[]uint64{0x1000}, []uint64{0x1000}},
		{[]uint64{0x1000, 0x1008, 0x1018}, []uint64{0x1000, 0b1011}},
		{[]uint64{0x1000, 0x11f8}, []uint64{0x1000, 1<<63 | 1}},
		{[]uint64{0x1000, 0x1200}, []uint64{0x1000, 0x1200}},
		{[]uint64{0x1000, 0x1008, 0x1200}, []uint64{0x1000, 0b11, 0b11}},
	} {
		b := AppendRelr(nil, c.words)
		if string(b) != string(entries(c.want...)) {
			t.Errorf("%#x: % x", c.words, b)
		}
		got, err := ReadRelr(b, 0x2000)
		if err != nil || !slices.Equal(got, c.words) {
			t.Errorf("%#x: %#x, %v", c.words, got, err)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var words []uint64
		for at := uint64(0); at < 1<<16; at += 8 << r.IntN(12) * uint64(1+r.IntN(3)) {
			words = append(words, at)
		}
		got, err := ReadRelr(AppendRelr(nil, words), 1<<17)
		if err != nil || !slices.Equal(got, words) {
			t.Fatalf("%#x: %#x, %v", words, got, err)
		}
	}
}

// TestRelrMalformed: lists of words that are not there are refused.
func TestRelrMalformed(t *testing.T) {
	for _, b := range [][]byte{
		{1},
		entries(0x1001 - 1 + 4),    // no word
		entries(3),                 // a bit map of nothing
		entries(0x1ffc &^ 3),       // beyond the end
		entries(0x2000),            // at the end
		entries(0x1ff8, 3),         // a word behind the end
		entries(0x1000, 0x1000),    // twice
		entries(0x1008, 3, 0x1000), // not in order
		entries(^uint64(7)),
	} {
		if words, err := ReadRelr(b, 0x2000); err == nil {
			t.Errorf("% x: %#x", b, words)
		}
	}
}
