package compile

import "unsafe"

// store keeps copies of what the stages make of functions. Unlike a slice that grows, it never copies anything again.
type store[T any] struct{ chunks [][]T }

// chunkBytes is the size of a chunk of a store, unless what it keeps at once is larger.
const chunkBytes = 128 << 10

// span is where a copy is: a range of a chunk.
type span struct{ chunk, start, end uint32 }

func (s span) len() uint32 { return s.end - s.start }

// keep copies src.
func (s *store[T]) keep(src []T) span {
	if len(src) == 0 {
		return span{}
	}
	s.reserve(len(src))
	k := len(s.chunks) - 1
	start := len(s.chunks[k])
	s.chunks[k] = append(s.chunks[k], src...)
	return span{uint32(k), uint32(start), uint32(len(s.chunks[k]))}
}

// reserve makes room for n elements in the last chunk.
func (s *store[T]) reserve(n int) {
	if k := len(s.chunks) - 1; k >= 0 && n <= cap(s.chunks[k])-len(s.chunks[k]) {
		return
	}
	var x T
	s.chunks = append(s.chunks, make([]T, 0, max(n, chunkBytes/int(unsafe.Sizeof(x)))))
}

// at returns the copy that keep made.
func (s *store[T]) at(p span) []T {
	if p.len() == 0 { // there may be no chunk
		return nil
	}
	return s.chunks[p.chunk][p.start:p.end]
}
