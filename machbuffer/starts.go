package machbuffer

import "math/bits"

// CacheLine is the size in bytes of a line of the instruction cache: a small loop runs faster if it lies in one.
const CacheLine = 64

// StartStep is the distance in bytes of the places in a line where code may begin.
const StartStep = 16

// Starts is a set of such places: bit k stands for k*StartStep bytes behind the start of a line. What lies where in a line depends on it; so code with small
// loops may not begin everywhere, but often at more than one place, which takes less padding between functions than an alignment. The empty set says nothing.
type Starts uint8

// AnyStart has all places.
const AnyStart Starts = 1<<(CacheLine/StartStep) - 1

// Anywhere reports whether code may begin at all places.
func (s Starts) Anywhere() bool { return s == 0 || s == AnyStart }

// First returns the first place of s in bytes.
func (s Starts) First() uint32 { return StartStep * uint32(bits.TrailingZeros8(uint8(s))) }

// Next returns the first offset from n on, a multiple of StartStep, that is at one of the places.
func (s Starts) Next(n int) int {
	for !s.Anywhere() && s>>(n%CacheLine/StartStep)&1 == 0 {
		n += StartStep
	}
	return n
}

// Where returns the places for which holds of the place in a line of what has this offset.
func Where(offset uint32, holds func(at uint32) bool) (s Starts) {
	for k := range uint32(CacheLine / StartStep) {
		if holds((offset + k*StartStep) % CacheLine) {
			s |= 1 << k
		}
	}
	return s
}

// Starts returns where the code may begin.
func (b *Buffer) Starts() Starts { return b.starts }

// KeepStarts takes all places but those of s, of which one must be left, from where the code may begin.
func (b *Buffer) KeepStarts(s Starts) {
	if b.starts &= s; b.starts == 0 {
		panic("machbuffer: no place is left where the code may begin")
	}
}

// BindInLine is Bind where the next span bytes, at most CacheLine, are in one line, for small loops. Padding as of BindAligned comes first, as little as there can be
// if the code may begin anywhere that it may so far: less than span bytes.
func (b *Buffer) BindInLine(l Label, span uint32) { b.bindAt(l, spot{span: span}) }

// BindPlaced is the same where the next byte is place bytes behind the start of a line; the padding is less than a line.
func (b *Buffer) BindPlaced(l Label, place uint32) { b.bindAt(l, spot{placed: true, place: place}) }

// spot says where a label may be: at a place in a line, or where span bytes are in one line, or else at a multiple of align.
type spot struct {
	placed             bool
	place, span, align uint32
}

// padding returns how much of it in front of what begins at off brings that to the spot for some start of s, and for which.
func (w *spot) padding(off uint32, s Starts) (n uint32, left Starts) {
	if !w.placed && w.span == 0 {
		return alignUp(off, w.align) - off, s
	}
	for left = s & w.starts(off); left == 0; left = s & w.starts(off+n) {
		n++
	}
	return n, left
}

// starts returns for which of them off is at the spot.
func (w *spot) starts(off uint32) Starts {
	return Where(off, func(at uint32) bool { return w.placed && at == w.place || !w.placed && at+w.span <= CacheLine })
}

// bindAt is Bind at the spot.
func (b *Buffer) bindAt(l Label, w spot) {
	b.Bind(l)
	off := b.Offset()
	n, starts := w.padding(off, b.starts)
	b.starts, b.align = starts, max(b.align, w.align)
	b.fillUp(n)
	b.aligned = append(b.aligned, aligned{l, off, off + n, w})
}
