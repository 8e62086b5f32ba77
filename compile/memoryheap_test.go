package compile

import "bytes"

// Types of the modules of collected, behind those of functionTypes: a node, an array of numbers, one of references, a subtype of the node.
const heapTypes = "\x50\x00\x5f\x02\x7f\x01\x63\x03\x01" + "\x5e\x7f\x01" + "\x5e\x6e\x01" + "\x4f\x01\x03\x5f\x03\x7f\x01\x63\x03\x01\x7e\x01"

// withTypes has more types behind those of functionTypes and heapTypes, in so many entries.
func withTypes(s *sections, n int, types []byte) {
	s.types = join(leb(7+n), functionTypes[1:], []byte(heapTypes), types)
}

// collected are the families of structures and arrays.
func collected() []memoryFamily {
	types := func(title string, n int, item func(i int) []byte) memoryFamily {
		return ofSection(title, n, func(s *sections, n int) { withTypes(s, n, each(n, item)) })
	}
	code := func(title, code string) memoryFamily {
		return inBodies(title, code).with(func(s *sections) { withTypes(s, 0, nil) })
	}
	group := func(title string, n int, item func(i, n int) []byte) memoryFamily {
		return ofSection(title, n, func(s *sections, n int) {
			withTypes(s, 1, join([]byte{0x4e}, list(n, func(i int) []byte { return item(i, n) })))
		})
	}
	fields := func(i, n int) (b []byte) {
		for k := range n {
			b = append(b, "\x7f\x7e\x7d\x7c"[i>>(2*k%32)&3], 1)
		}
		return b
	}
	signed := func(i int) []byte { // an index as a heap type
		b := leb(i)
		if last := len(b) - 1; b[last]&0x40 != 0 {
			b[last] |= 0x80
			b = append(b, 0)
		}
		return b
	}
	return []memoryFamily{
		types("structures", 300_000, same("\x5f\x00")),
		types("structures, all different", 50_000, func(i int) []byte { return append([]byte{0x5f, 10}, fields(i, 10)...) }),
		types("structures of a thousand fields", 500, func(i int) []byte { return join([]byte{0x5f}, leb(1000), fields(i, 1000)) }),
		types("arrays", 300_000, same("\x5e\x7f\x00")),
		types("recursion groups of one", 200_000, same("\x4e\x01\x5f\x00")),
		types("empty recursion groups", 400_000, same("\x4e\x00")),
		types("functions that may have subtypes", 200_000, same("\x50\x00\x60\x00\x00")),
		types("chains of subtypes", 100_000, func(i int) []byte {
			if i%64 == 0 {
				return []byte("\x50\x00\x5f\x01\x7f\x01")
			}
			return join([]byte("\x50\x01"), leb(7+i-1), []byte("\x5f\x01\x7f\x01"))
		}),
		group("a recursion group", 150_000, func(i, n int) []byte {
			return join([]byte("\x5f\x02\x63"), signed(7+(i+1)%n), []byte("\x01\x63"), signed(7+i), []byte("\x00"))
		}),
		ofSection("globals of objects", 100_000, func(s *sections, n int) {
			withTypes(s, 0, nil)
			s.globals = list(n, same("\x63\x03\x00\x41\x01\xd0\x03\xfb\x00\x03\x0b"))
		}),
		ofSection("a list that is computed", 200_000, func(s *sections, n int) {
			withTypes(s, 0, nil)
			s.globals = join([]byte("\x01\x63\x03\x00"), bytes.Repeat([]byte("\x41\x01"), n), []byte("\xd0\x03"), bytes.Repeat([]byte("\xfb\x00\x03"), n), []byte{0x0b})
		}),
		ofSection("elements that are objects", 100_000, func(s *sections, n int) {
			withTypes(s, 0, nil)
			s.elems = join([]byte("\x01\x05\x63\x03"), list(n, same("\x41\x01\xd0\x03\xfb\x00\x03\x0b")))
		}),
		code("objects of defaults", "\xfb\x01\x03\x1a"),
		code("objects", "\x41\x01\xd0\x03\xfb\x00\x03\x1a"),
		code("fields that are read", "\xd0\x03\xfb\x02\x03\x00\x1a"),
		code("fields that are written", "\xd0\x03\x41\x01\xfb\x05\x03\x00"),
		code("objects with fields that are written", "\xfb\x01\x03\x41\x01\xfb\x05\x03\x00"),
		code("arrays of defaults", "\x41\x02\xfb\x07\x04\x1a"),
		code("arrays of a value", "\x41\x07\x41\x02\xfb\x06\x04\x1a"),
		code("arrays of four elements", "\x41\x01\x41\x01\x41\x01\x41\x01\xfb\x08\x04\x04\x1a"),
		code("arrays of data", "\x41\x00\x41\x00\xfb\x09\x04\x00\x1a"),
		code("elements of arrays that are read", "\x41\x02\xfb\x07\x04\x41\x01\xfb\x0b\x04\x1a"),
		code("array.copy", "\xd0\x04\x41\x01\xd0\x04\x41\x01\x41\x01\xfb\x11\x04\x04"),
		code("array.fill", "\xd0\x04\x41\x01\x41\x01\x41\x01\xfb\x10\x04"),
		code("casts", "\xfb\x01\x03\xfb\x16\x06\x1a"),
		code("tests", "\xfb\x01\x03\xfb\x14\x06\x1a"),
		code("branches on casts", "\x02\x63\x06\xfb\x01\x03\xfb\x18\x01\x00\x03\x06\x1a\xd0\x06\x0b\x1a"),
		code("small integers", "\x41\x01\xfb\x1c\xfb\x1d\x1a"),
	}
}
