package flow

import (
	"math/bits"

	"github.com/waot-project/waot/internal/stop"
)

// BlockSet is a set of blocks. Bit k of word w of a level says whether word 64w+k of the level before has bits; the last level has one word.
type BlockSet [][]uint64

// Reset makes the set empty, for n blocks.
func (s *BlockSet) Reset(f *stop.Flag, n int) {
	levels := (*s)[:0]
	for more := true; more; more = n > 1 {
		n = (n + 63) / 64
		if len(levels) == cap(levels) {
			levels = append(levels, nil)
		} else {
			levels = levels[:len(levels)+1]
		}
		top := &levels[len(levels)-1]
		*top = stop.Zeroed(f, *top, n)
	}
	*s = levels
}

func (s BlockSet) Empty() bool { return s[len(s)-1][0] == 0 }

func (s BlockSet) Add(b uint32) {
	for _, level := range s {
		w := &level[b/64]
		had := *w
		*w |= 1 << (b % 64)
		if had != 0 {
			return
		}
		b /= 64
	}
}

// TakeLast removes the last block and returns it.
func (s BlockSet) TakeLast() uint32 {
	b := uint32(0)
	for k := len(s) - 1; k >= 0; k-- {
		b = 64*b + uint32(bits.Len64(s[k][b])) - 1
	}
	at := b
	for _, level := range s {
		w := &level[at/64]
		*w &^= 1 << (at % 64)
		if *w != 0 {
			break
		}
		at /= 64
	}
	return b
}
