package compile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
)

// memoryFamily is a kind of module in which one construct is repeated. make returns the module with n of them; n gives a module of about a megabyte.
type memoryFamily struct {
	name string
	n    int
	make func(n int) []byte
}

// sections are the contents of a module's sections by id; those of custom sections, if any, come last, each complete.
type sections struct {
	types, imports, functions, tables, memories, globals, exports, start, elems, count, code, datas []byte
	customs                                                                                         []byte
}

func leb(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }

func sized(b []byte) []byte { return append(leb(len(b)), b...) }

func label(format string, args ...any) []byte { return sized(fmt.Appendf(nil, format, args...)) }

func join(parts ...[]byte) []byte { return slices.Concat(parts...) }

// each is what item returns for 0 to n-1.
func each(n int, item func(i int) []byte) (b []byte) {
	for i := range n {
		b = append(b, item(i)...)
	}
	return b
}

// list is a vector of n items.
func list(n int, item func(i int) []byte) []byte { return append(leb(n), each(n, item)...) }

// same is an item of a list that does not depend on its place.
func same(b string) func(int) []byte { return func(int) []byte { return []byte(b) } }

func (s *sections) module() []byte {
	m := []byte("\x00asm\x01\x00\x00\x00")
	for _, x := range []struct {
		id byte
		b  []byte
	}{
		{1, s.types}, {2, s.imports}, {3, s.functions}, {4, s.tables}, {5, s.memories}, {6, s.globals}, {7, s.exports}, {8, s.start},
		{9, s.elems}, {12, s.count}, {10, s.code}, {11, s.datas},
	} {
		if x.b != nil {
			m = append(append(m, x.id), sized(x.b)...)
		}
	}
	return append(m, s.customs...)
}

// custom is a custom section.
func custom(title string, b []byte) []byte {
	return append([]byte{0}, sized(join(label("%s", title), b))...)
}

// names is a module with a function and the subsection id of a name section.
func names(id byte, b []byte) []byte {
	s := oneFunction(nil)
	s.customs = custom("name", append([]byte{id}, sized(b)...))
	return s.module()
}

// The types of the modules with functions: () -> (), (i32) -> (i32), a thousand results.
var functionTypes = join([]byte("\x03\x60\x00\x00\x60\x01\x7f\x01\x7f\x60\x00"), leb(1000), bytes.Repeat([]byte{0x7f}, 1000))

// functionBody is a body without locals, or with them in front.
func functionBody(code ...[]byte) []byte { return sized(append(join(code...), 0x0b)) }

// oneFunction has a function of type () -> () that is exported, a memory, a table, a global, and a data segment.
func oneFunction(code []byte) *sections { return manyFunctions(1, functionBody([]byte{0}, code)) }

func manyFunctions(n int, body []byte) *sections {
	return &sections{types: functionTypes, functions: list(n, same("\x00")), tables: []byte("\x01\x70\x00\x10"), memories: []byte("\x01\x00\x01"),
		globals: []byte("\x01\x7f\x01\x41\x00\x0b"), exports: []byte("\x01\x01f\x00\x00"), count: []byte("\x01"),
		code: list(n, same(string(body))), datas: []byte("\x01\x01\x03abc")}
}

// inBodies is a family whose construct, code, is repeated in bodies of about a megabyte, which leave nothing on the stack.
func inBodies(title, code string) memoryFamily {
	return memoryFamily{title, 1e6 / len(code), func(n int) []byte { return oneFunction(bytes.Repeat([]byte(code), n)).module() }}
}

// inFunctions is a family of many functions with the same code, in which locals come first.
func inFunctions(title, code string) memoryFamily {
	return memoryFamily{title, 1e6 / (len(code) + 3), func(n int) []byte { return manyFunctions(n, functionBody([]byte(code))).module() }}
}

// element is a family of segments of one of the eight kinds, or of one with very many elements.
func elements(title string, n, segments int, head, item string) memoryFamily {
	return memoryFamily{title, n, func(n int) []byte {
		s := oneFunction(nil)
		one := join([]byte(head), list(n/segments, same(item)))
		s.elems = list(segments, same(string(one)))
		return s.module()
	}}
}

// manySegments has n segments, each with one element or none.
func manySegments(title, segment string) memoryFamily {
	return memoryFamily{title, 1e6 / len(segment), func(n int) []byte {
		s := oneFunction(nil)
		s.elems = list(n, same(segment))
		return s.module()
	}}
}

// ofSection is a family of items of a section.
func ofSection(title string, n int, set func(s *sections, n int)) memoryFamily {
	return memoryFamily{title, n, func(n int) []byte {
		s := oneFunction(nil)
		set(s, n)
		return s.module()
	}}
}

// declarations are the families of what is outside of bodies.
func declarations() []memoryFamily {
	return []memoryFamily{
		ofSection("types", 300_000, func(s *sections, n int) { s.types = list(n, same("\x60\x00\x00")) }),
		ofSection("types, all different", 100_000, func(s *sections, n int) {
			s.types = list(n, func(i int) []byte {
				t := []byte("\x60\x0a")
				for k := range 10 {
					t = append(t, "\x7f\x7e\x7d\x7c"[i>>(2*k)&3])
				}
				return append(t, 0)
			})
			s.functions = append(leb(1), leb(0)...)
			s.types = append(leb(n+1), append([]byte("\x60\x00\x00"), s.types[len(leb(n)):]...)...)
		}),
		ofSection("types of many parameters", 1000, func(s *sections, n int) {
			wide := append(append([]byte{0x60}, sized(bytes.Repeat([]byte{0x7f}, 1000))...), 0)
			s.types = append(leb(n+1), append([]byte("\x60\x00\x00"), each(n, same(string(wide)))...)...)
		}),
		{"imports of functions", 200_000, func(n int) []byte {
			return (&sections{types: functionTypes, imports: list(n, same("\x00\x00\x00\x00"))}).module()
		}},
		{"imports of functions, all different", 100_000, func(n int) []byte {
			return (&sections{types: functionTypes, imports: list(n, func(i int) []byte { return join(label("m"), label("%d", i), []byte("\x00\x00")) })}).module()
		}},
		{"imports of globals", 200_000, func(n int) []byte { return (&sections{imports: list(n, same("\x00\x00\x03\x7f\x00"))}).module() }},
		{"imports of tables", 200_000, func(n int) []byte { return (&sections{imports: list(n, same("\x00\x00\x01\x70\x00\x00"))}).module() }},
		{"functions", 200_000, func(n int) []byte { return manyFunctions(n, functionBody([]byte{0})).module() }},
		{"functions of many results", 2000, func(n int) []byte {
			s := manyFunctions(n, functionBody([]byte("\x00\x00")))
			s.functions = list(n, same("\x02"))
			return join(s.module(), custom("room", make([]byte, 1e6)))
		}},
		ofSection("tables", 300_000, func(s *sections, n int) { s.tables = list(n, same("\x70\x00\x00")) }),
		ofSection("tables with a maximum", 200_000, func(s *sections, n int) { s.tables = list(n, same("\x70\x01\x00\x7f")) }),
		ofSection("a large table", 262_144, func(s *sections, n int) { s.tables = join([]byte("\x01\x70\x00"), leb(n)) }),
		ofSection("memories", 100, func(s *sections, n int) { s.memories = list(n, same("\x00\x01")) }),
		ofSection("globals", 200_000, func(s *sections, n int) { s.globals = list(n, same("\x7f\x01\x41\x00\x0b")) }),
		ofSection("globals of v128", 50_000, func(s *sections, n int) {
			s.globals = list(n, same("\x7b\x01\xfd\x0c0123456789abcdef\x0b"))
		}),
		ofSection("globals that are computed", 100_000, func(s *sections, n int) { s.globals = list(n, same("\x7f\x00\x41\x01\x41\x02\x6a\x0b")) }),
		ofSection("globals of references", 200_000, func(s *sections, n int) { s.globals = list(n, same("\x70\x00\xd2\x00\x0b")) }),
		ofSection("a long expression", 300_000, func(s *sections, n int) {
			s.globals = join([]byte("\x01\x7f\x01\x41\x00"), bytes.Repeat([]byte("\x41\x01\x6a"), n), []byte{0x0b})
		}),
		ofSection("a deep expression", 300_000, func(s *sections, n int) {
			s.globals = join([]byte("\x01\x7f\x01\x41\x00"), bytes.Repeat([]byte("\x41\x01"), n), bytes.Repeat([]byte("\x6a"), n), []byte{0x0b})
		}),
		ofSection("exports of a function", 100_000, func(s *sections, n int) {
			s.exports = list(n, func(i int) []byte { return append(label("%d", i), 0, 0) })
		}),
		ofSection("exports of a global", 100_000, func(s *sections, n int) {
			s.exports = list(n, func(i int) []byte { return append(label("%d", i), 3, 0) })
		}),
		ofSection("exports of a memory and a table", 100_000, func(s *sections, n int) {
			s.exports = list(n, func(i int) []byte { return append(label("%d", i), byte(1+i%2), 0) })
		}),
		{"exports of all functions", 60_000, func(n int) []byte {
			s := manyFunctions(n, functionBody([]byte{0}))
			s.exports = list(n, func(i int) []byte { return join(label("%d", i), []byte{0}, leb(i)) })
			return s.module()
		}},
		{"exports of all imports", 60_000, func(n int) []byte {
			return (&sections{types: functionTypes, imports: list(n, same("\x00\x00\x00\x00")),
				exports: list(n, func(i int) []byte { return join(label("%d", i), []byte{0}, leb(i)) })}).module()
		}},
		{"exports of types that need adapters", 1000, func(n int) []byte { // one adapter for each
			s := &sections{types: list(n, func(i int) []byte {
				t := append([]byte{0x60}, leb(900)...)
				for k := range 900 {
					t = append(t, "\x7f\x7c"[i>>(k%10)&1])
				}
				return append(t, 0)
			}), functions: list(n, leb), code: list(n, same("\x02\x00\x0b"))}
			s.exports = list(n, func(i int) []byte { return join(label("%d", i), []byte{0}, leb(i)) })
			return s.module()
		}},
		ofSection("exports with long names", 10, func(s *sections, n int) {
			s.exports = list(n, func(i int) []byte { return append(label("%0100000d", i), 0, 0) })
		}),
		ofSection("exports with names of odd bytes", 10, func(s *sections, n int) {
			s.exports = list(n, func(i int) []byte {
				return append(sized(append(bytes.Repeat([]byte{1}, 100_000), fmt.Sprint(i)...)), 0, 0)
			})
		}),
	}
}

// segments are the families of segments and custom sections.
func segments() []memoryFamily {
	const null = "\xd0\x70\x0b"
	return []memoryFamily{
		elements("elements, active", 1e6, 1, "\x00\x41\x00\x0b", "\x00"),
		elements("elements, passive", 1e6, 1, "\x01\x00", "\x00"),
		elements("elements, of a table", 1e6, 1, "\x02\x00\x41\x00\x0b\x00", "\x00"),
		elements("elements, declared", 1e6, 1, "\x03\x00", "\x00"),
		elements("expressions, active", 300_000, 1, "\x04\x41\x00\x0b", null),
		elements("expressions, passive", 300_000, 1, "\x05\x70", null),
		elements("expressions, of a table", 300_000, 1, "\x06\x00\x41\x00\x0b\x70", null),
		elements("expressions, declared", 300_000, 1, "\x07\x70", null),
		elements("expressions of functions", 300_000, 1, "\x05\x70", "\xd2\x00\x0b"),
		elements("expressions of externref", 300_000, 1, "\x05\x6f", "\xd0\x6f\x0b"),
		elements("expressions that are computed", 300_000, 1, "\x05\x70", "\x23\x01\x0b").with(func(s *sections) {
			s.globals = []byte("\x02\x7f\x01\x41\x00\x0b\x70\x00\xd0\x70\x0b")
		}),
		elements("elements in segments of a hundred", 1e6, 10_000, "\x01\x00", "\x00"),
		manySegments("segments of elements, active", "\x00\x41\x00\x0b\x00"),
		manySegments("segments of an element, active", "\x00\x41\x00\x0b\x01\x00"),
		manySegments("segments of elements, passive", "\x01\x00\x00"),
		manySegments("segments of elements, declared", "\x03\x00\x00"),
		manySegments("segments of expressions", "\x05\x70\x01\xd0\x70\x0b"),
		manySegments("segments of externref", "\x05\x6f\x01\xd0\x6f\x0b"),
		ofSection("segments of data, active", 200_000, func(s *sections, n int) { s.count, s.datas = leb(n), list(n, same("\x00\x41\x00\x0b\x00")) }),
		ofSection("segments of a byte, active", 160_000, func(s *sections, n int) { s.count, s.datas = leb(n), list(n, same("\x00\x41\x00\x0b\x01a")) }),
		ofSection("segments of data, passive", 500_000, func(s *sections, n int) { s.count, s.datas = leb(n), list(n, same("\x01\x00")) }),
		ofSection("segments of data of a memory", 200_000, func(s *sections, n int) { s.count, s.datas = leb(n), list(n, same("\x02\x00\x41\x00\x0b\x00")) }),
		ofSection("bytes of data", 8_000_000, func(s *sections, n int) {
			s.datas = join([]byte("\x01\x01"), sized(bytes.Repeat([]byte("x"), n)))
		}),
		ofSection("custom sections, empty", 333_000, func(s *sections, n int) { s.customs = bytes.Repeat(custom("", nil), n) }),
		ofSection("custom sections with a name", 200_000, func(s *sections, n int) { s.customs = bytes.Repeat(custom("name", nil), n) }),
		ofSection("custom sections of producers", 60_000, func(s *sections, n int) { s.customs = bytes.Repeat(custom("producers", []byte("\x00")), n) }),
		ofSection("a custom section", 8_000_000, func(s *sections, n int) { s.customs = custom("x", make([]byte, n)) }),
		{"names of functions", 200_000, func(n int) []byte {
			s := manyFunctions(n, functionBody([]byte{0}))
			s.customs = custom("name", append([]byte{1}, sized(list(n, func(i int) []byte { return append(leb(i), 1, 'x') }))...))
			return s.module()
		}},
		{"a name of a late function", 1, func(n int) []byte {
			s := manyFunctions(200_000, functionBody([]byte{0}))
			s.customs = custom("name", append([]byte{1}, sized(append(join([]byte{1}, leb(199_999)), 1, 'x'))...))
			return s.module()
		}},
		{"a long name of a function", 1e6, func(n int) []byte {
			return names(1, append([]byte("\x01\x00"), sized(bytes.Repeat([]byte("x"), n))...))
		}},
		{"a long name of odd bytes", 1e6, func(n int) []byte { return names(1, append([]byte("\x01\x00"), sized(bytes.Repeat([]byte{1}, n))...)) }},
		{"a long name of the module", 1e6, func(n int) []byte { return names(0, sized(bytes.Repeat([]byte("x"), n))) }},
		{"names of locals", 300_000, func(n int) []byte {
			return names(2, join([]byte("\x01\x00"), list(n, func(i int) []byte { return append(leb(i), 0) })))
		}},
		{"subsections of names", 300_000, func(n int) []byte {
			s := oneFunction(nil)
			s.customs = custom("name", bytes.Repeat([]byte("\x01\x01\x00"), n))
			return s.module()
		}},
	}
}

// with changes the sections of a family's modules.
func (f memoryFamily) with(change func(s *sections)) memoryFamily {
	old := f.make
	f.make = func(n int) []byte {
		s := parseSections(old(n))
		change(s)
		return s.module()
	}
	return f
}

// parseSections is the opposite of module.
func parseSections(m []byte) *sections {
	s := new(sections)
	by := map[byte]*[]byte{1: &s.types, 2: &s.imports, 3: &s.functions, 4: &s.tables, 5: &s.memories, 6: &s.globals, 7: &s.exports, 8: &s.start,
		9: &s.elems, 12: &s.count, 10: &s.code, 11: &s.datas}
	for m = m[8:]; len(m) > 0; {
		size, n := binary.Uvarint(m[1:])
		b := m[1+n : 1+n+int(size)]
		if to := by[m[0]]; to != nil {
			*to = b
		} else {
			s.customs = append(s.customs, m[:1+n+int(size)]...)
		}
		m = m[1+n+int(size):]
	}
	return s
}

// bodies are the families of what is in functions.
func bodies() []memoryFamily {

	nested := func(title, open, inside, close string) memoryFamily {
		return memoryFamily{title, 1e6 / (len(open) + len(close)), func(n int) []byte {
			return oneFunction(join(bytes.Repeat([]byte(open), n), []byte(inside), bytes.Repeat([]byte(close), n))).module()
		}}
	}
	table := func(title string, n, each int) memoryFamily {
		return memoryFamily{title, n, func(n int) []byte {
			one := join([]byte("\x02\x40\x41\x00\x0e"), leb(each), make([]byte, each+1), []byte("\x0b"))
			return oneFunction(bytes.Repeat(one, n/each)).module()
		}}
	}
	locals := func(title string, functions, n int, code string) memoryFamily {
		return memoryFamily{title, functions, func(f int) []byte {
			return manyFunctions(f, functionBody([]byte{1}, leb(n), []byte{0x7e}, []byte(code))).module()
		}}
	}
	return []memoryFamily{
		inBodies("nops", "\x01"),
		inBodies("constants", "\x41\x00\x1a"),
		inBodies("constants of v128", "\xfd\x0c0123456789abcdef\x1a"),
		inBodies("constants of v128 that are used", "\x41\x00\xfd\x0c0123456789abcdef\xfd\x0b\x00\x00"),
		{"different constants of v128", 40_000, func(n int) []byte {
			return oneFunction(each(n, func(i int) []byte { return fmt.Appendf(nil, "\x41\x00\xfd\x0c%016d\xfd\x0b\x00\x00", i) })).module()
		}},
		{"different constants of f64", 70_000, func(n int) []byte {
			return oneFunction(each(n, func(i int) []byte {
				return join([]byte("\x41\x00\x44"), binary.LittleEndian.AppendUint64(nil, uint64(i)*0x9e3779b97f4a7c15), []byte("\x39\x00\x00"))
			})).module()
		}},
		inBodies("blocks", "\x02\x40\x0b"), inBodies("loops", "\x03\x40\x0b"),
		inBodies("blocks with a branch", "\x02\x40\x41\x00\x28\x02\x00\x0d\x00\x0b"),
		inBodies("loops with a branch", "\x03\x40\x41\x00\x28\x02\x00\x0d\x00\x0b"),
		inBodies("ifs", "\x41\x00\x28\x02\x00\x04\x40\x0b"),
		inBodies("ifs with an else", "\x41\x00\x28\x02\x00\x04\x40\x05\x0b"),
		inBodies("ifs of constants", "\x41\x00\x04\x40\x0b"),
		inBodies("blocks that are left", "\x02\x40\x0c\x00\x0b"),
		inBodies("blocks of type i32", "\x02\x7f\x41\x00\x0b\x1a"),
		nested("nested blocks", "\x02\x40", "", "\x0b"), nested("nested loops", "\x03\x40", "", "\x0b"),
		nested("nested ifs", "\x41\x00\x04\x40", "", "\x0b"),
		nested("nested loops with branches", "\x03\x40", "", "\x41\x00\x28\x02\x00\x0d\x00\x0b"),
		{"dead blocks", 333_000, func(n int) []byte {
			return oneFunction(append([]byte{0}, bytes.Repeat([]byte("\x02\x40\x0b"), n)...)).module()
		}},
		{"dead ifs", 200_000, func(n int) []byte {
			return oneFunction(append([]byte{0}, bytes.Repeat([]byte("\x41\x00\x04\x40\x0b"), n)...)).module()
		}},
		{"dead code", 333_000, func(n int) []byte {
			return oneFunction(append([]byte{0}, bytes.Repeat([]byte("\x41\x00\x1a"), n)...)).module()
		}},
		{"dead nested blocks", 333_000, func(n int) []byte {
			return oneFunction(join([]byte{0}, bytes.Repeat([]byte("\x02\x40"), n), bytes.Repeat([]byte("\x0b"), n))).module()
		}},
		{"operands", 500_000, func(n int) []byte {
			return oneFunction(join(bytes.Repeat([]byte("\x41\x00"), n), bytes.Repeat([]byte("\x1a"), n))).module()
		}},
		table("br_table of all targets", 65_520, 65_520),
		table("br_tables of a hundred targets", 1e6, 100), table("br_tables of three targets", 300_000, 3),
		inBodies("unreachable at once", "\x02\x40\x00\x0b"),
		inBodies("returns", "\x02\x40\x0f\x0b"),
		inBodies("calls", "\x10\x00"), inBodies("indirect calls", "\x41\x00\x11\x00\x00"),
		inBodies("loads", "\x41\x00\x28\x02\x00\x1a"), inBodies("stores", "\x41\x00\x41\x00\x36\x02\x00"),
		inBodies("selects", "\x41\x00\x28\x00\x00\x41\x01\x41\x00\x28\x00\x00\x1b\x1a"), inBodies("selects of a type", "\x41\x00\x41\x01\x41\x02\x1c\x01\x7f\x1a"),
		inBodies("globals that are written", "\x41\x00\x24\x00"), inBodies("globals that are read", "\x23\x00\x1a"),
		inBodies("memory.copy", "\x41\x00\x41\x00\x41\x00\xfc\x0a\x00\x00"), inBodies("memory.fill of some bytes", "\x41\x00\x41\x00\x41\x40\xfc\x0b\x00"),
		inBodies("memory.grow", "\x41\x00\x40\x00\x1a"), inBodies("memory.init", "\x41\x00\x41\x00\x41\x00\xfc\x08\x00\x00"),
		inBodies("table.get", "\x41\x00\x25\x00\x1a"), inBodies("table.set", "\x41\x00\xd0\x70\x26\x00"),
		inBodies("divisions", "\x41\x01\x41\x00\x28\x02\x00\x6d\x1a"), inBodies("truncations", "\x41\x00\x2b\x03\x00\xaa\x1a"),
		inFunctions("functions with a load", "\x00\x41\x00\x28\x02\x00\x1a"),
		inFunctions("functions with a call", "\x00\x10\x00"),
		inFunctions("functions with a loop", "\x00\x03\x40\x41\x00\x28\x02\x00\x0d\x00\x0b"),
		inFunctions("functions with a br_table", "\x00\x02\x40\x41\x00\x28\x02\x00\x0e\x05\x00\x00\x00\x00\x00\x00\x0b"),
		inFunctions("functions with unreachable", "\x00\x00"),
		locals("functions with many locals", 1000, 49_000, ""), locals("many locals that are set", 1, 49_000, "\x42\x00\x21\x00"),
		locals("many locals and loops", 1, 40_000, string(bytes.Repeat([]byte("\x03\x40\x20\x00\xa7\x0d\x00\x0b"), 20_000))),
		{"groups of locals", 300_000, func(n int) []byte {
			return oneFunction(nil).withBody(functionBody(list(n, same("\x00\x7f")))).module()
		}},
		{"locals that live through branches", 1600, liveLocals},
		{"calls of many results", 1000, func(n int) []byte {
			return join(oneFunction(nil).withBody(functionBody([]byte{0}, bytes.Repeat(append([]byte("\x02\x02\x00\x0b"), bytes.Repeat([]byte{0x1a}, 1000)...), n))).module())
		}},
	}
}

// withBody replaces the only body.
func (s *sections) withBody(body []byte) *sections {
	s.code = append([]byte{1}, body...)
	return s
}

// liveLocals has n locals that live through n blocks.
func liveLocals(n int) []byte {
	code := each(n, func(i int) []byte { return join([]byte("\x41\x00\x28\x02"), leb(4*i), []byte{0x21}, leb(i)) })
	code = append(code, bytes.Repeat([]byte("\x41\x00\x28\x02\x00\x04\x40\x10\x00\x0b"), n)...)
	code = append(code, each(n, func(i int) []byte { return join([]byte("\x41\x00\x20"), leb(i), []byte("\x36\x02\x00")) })...)
	return oneFunction(nil).withBody(functionBody([]byte{1}, leb(n), []byte{0x7f}, code)).module()
}
