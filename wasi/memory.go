//go:build linux

package wasi

import (
	"encoding/binary"
	"strings"
)

// memory is the guest's linear memory. Its methods are the only way in: each
// computes its bound in 64 bits, so no pointer and length can wrap.
type memory []byte

// maxIovecs bounds the scatter list of one call, as IOV_MAX does on Linux.
const maxIovecs = 1024

// maxTransfer is the most bytes one call moves, as Linux limits its own.
const maxTransfer = 0x7ffff000

// maxPath bounds a path in bytes, as PATH_MAX does (which counts a final NUL).
const maxPath = 4095

// bytes returns the n bytes at ptr, or false when not all are inside.
func (m memory) bytes(ptr, n uint32) ([]byte, bool) {
	end := uint64(ptr) + uint64(n)
	if end > uint64(len(m)) {
		return nil, false
	}
	return m[ptr:end:end], true
}

func (m memory) putU32(ptr, v uint32) Errno {
	b, ok := m.bytes(ptr, 4)
	if !ok {
		return ErrnoFault
	}
	binary.LittleEndian.PutUint32(b, v)
	return ErrnoSuccess
}

func (m memory) putU64(ptr uint32, v uint64) Errno {
	b, ok := m.bytes(ptr, 8)
	if !ok {
		return ErrnoFault
	}
	binary.LittleEndian.PutUint64(b, v)
	return ErrnoSuccess
}

// path copies a path out of memory. It may be any bytes but NUL.
func (m memory) path(ptr, n uint32) (string, Errno) {
	b, ok := m.bytes(ptr, n)
	switch {
	case !ok:
		return "", ErrnoFault
	case n == 0:
		return "", ErrnoNoent
	case n > maxPath:
		return "", ErrnoNameTooLong
	}
	s := string(b)
	if strings.IndexByte(s, 0) >= 0 {
		return "", ErrnoInval
	}
	return s, ErrnoSuccess
}

// iovecs appends to dst the buffers of an iovec or ciovec array, leaving out
// empty ones and cutting the sum at maxTransfer. Every buffer is checked.
func (m memory) iovecs(dst [][]byte, ptr, n uint32) ([][]byte, Errno) {
	if n > maxIovecs {
		return dst, ErrnoInval
	}
	list, ok := m.bytes(ptr, n*8)
	if !ok {
		return dst, ErrnoFault
	}
	room := maxTransfer
	for ; len(list) != 0; list = list[8:] {
		b, ok := m.bytes(binary.LittleEndian.Uint32(list), binary.LittleEndian.Uint32(list[4:]))
		if !ok {
			return dst, ErrnoFault
		}
		if len(b) > room {
			b = b[:room]
		}
		room -= len(b)
		if len(b) != 0 {
			dst = append(dst, b)
		}
	}
	return dst, ErrnoSuccess
}
