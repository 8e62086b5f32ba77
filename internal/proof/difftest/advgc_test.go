package difftest

import (
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// Types of heaping's modules: a node of a list, a subtype of it, arrays of numbers and of nodes, and functions (i32) -> i32.
const (
	nodeType = iota
	namedType
	wordsType
	nodesType
	heapFuncType
	heapTypes // how many
)

// nodeOrNull is the type of references to nodes.
var nodeOrNull = []byte{0x63, nodeType}

// gcOp is an operator of garbage collection with immediates that are numbers.
func gcOp(op byte, immediates ...int) []byte {
	b := []byte{0xFB, op}
	for _, i := range immediates {
		b = append(b, uleb(i)...)
	}
	return b
}

func structNew(typ int) []byte        { return gcOp(0, typ) }
func structNewDefault(typ int) []byte { return gcOp(1, typ) }
func structGet(typ, f int) []byte     { return gcOp(2, typ, f) }
func structSet(typ, f int) []byte     { return gcOp(5, typ, f) }

// heapSections are the sections of a module whose function 0 (i32) -> i32 has that many locals of type i32 behind its parameter, then that many nodes, and the code; more types follow its own.
func heapSections(words, nodes int, more int, types []byte, code ...[]byte) parts {
	body := join([]byte{2}, uleb(words), i32, uleb(nodes), nodeOrNull, join(code...), end)
	node := []byte{0x7F, 1, 0x63, nodeType, 1}
	return parts{
		1: vector(heapTypes+more, join([]byte{0x50, 0, 0x5F, 2}, node, []byte{0x4F, 1, nodeType, 0x5F, 3}, node, []byte{0x7E, 1},
			[]byte{0x5E, 0x7F, 1, 0x5E, 0x63, nodeType, 1, 0x60, 1, 0x7F, 1, 0x7F}, types)),
		3:  {1, heapFuncType},
		7:  {1, 1, 'f', 0, 0},
		10: vector(1, sized(body)),
	}
}

func heaping(words, nodes int, code ...[]byte) []byte {
	return heapSections(words, nodes, 0, nil, code...).encode()
}

// typing is a module with more types.
func typing(n int, types ...[]byte) []byte {
	return heapSections(0, 0, n, join(types...), get(0)).encode()
}

// ofHeap is the heap type of a defined type.
func ofHeap(typ int) []byte { return sleb(typ) }

// marks are 17 fields that are different for different numbers.
func marks(i int) []byte {
	return numbered(17, func(k int) []byte { return []byte{0x7F - byte(i>>k&1), 1} })
}

// gcFamilies are modules with structures and arrays that grow with n.
var gcFamilies = []family{
	{"types of structures", 200000, func(n int) []byte {
		return typing(n, numbered(n, func(i int) []byte { return join([]byte{0x5F, 17}, marks(i)) }))
	}, false},
	{"the same type", 500000, func(n int) []byte { return typing(n, rep(n, []byte{0x5F, 0})) }, false},
	{"types that each have two of the one before", 100000, func(n int) []byte {
		return typing(n, numbered(n, func(i int) []byte {
			before := join([]byte{0x63}, ofHeap(max(heapTypes+i-1, 0)), []byte{1})
			if i == 0 {
				before = []byte{0x6E, 1}
			}
			return join([]byte{0x5F, 2}, before, before)
		}))
	}, false},
	{"a recursion group", 300000, func(n int) []byte {
		return typing(1, []byte{0x4E}, vector(n, numbered(n, func(i int) []byte {
			return join([]byte{0x5F, 2, 0x63}, ofHeap(heapTypes+(i+1)%n), []byte{1, 0x63}, ofHeap(heapTypes+i*7%n), []byte{0})
		})))
	}, false},
	{"equal recursion groups", 60000, func(n int) []byte {
		return typing(n, numbered(n, func(i int) []byte {
			first := heapTypes + 3*i
			return join([]byte{0x4E, 3}, numbered(3, func(k int) []byte { return join([]byte{0x5F, 1, 0x63}, ofHeap(first+(k+1)%3), []byte{0}) }))
		}))
	}, false},
	{"a recursion group of chains of subtypes", 100000, func(n int) []byte {
		return typing(1, []byte{0x4E}, vector(n, numbered(n, func(i int) []byte {
			if i%64 == 0 {
				return join([]byte{0x50, 0, 0x5F, 1, 0x63}, ofHeap(heapTypes+n-1), []byte{0})
			}
			return join([]byte{0x50, 1}, uleb(heapTypes+i-1), []byte{0x5F, 1, 0x63}, ofHeap(heapTypes+n-1), []byte{0})
		})))
	}, false},
	{"chains of subtypes", 100000, func(n int) []byte {
		return typing(n, numbered(n, func(i int) []byte {
			if i%64 == 0 {
				return join([]byte{0x50, 0, 0x5F, 17}, marks(i))
			}
			return join([]byte{0x50, 1}, uleb(heapTypes+i-1), []byte{0x5F, 17}, marks(i&^63))
		}))
	}, false},
	{"subtypes whose fields are subtypes", 100000, func(n int) []byte {
		return typing(n, numbered(n, func(i int) []byte {
			first := heapTypes + i&^63
			switch i % 64 {
			case 0:
				return []byte{0x50, 0, 0x5F, 1, 0x6E, 0}
			case 1:
				return join([]byte{0x50, 1}, uleb(first), []byte{0x5F, 1, 0x63}, ofHeap(first), []byte{0})
			}
			return join([]byte{0x50, 1}, uleb(heapTypes+i-1), []byte{0x5F, 1, 0x63}, ofHeap(heapTypes+i-2), []byte{0})
		}))
	}, false},
	{"types of functions with subtypes", 100000, func(n int) []byte {
		return typing(n, numbered(n, func(i int) []byte {
			if i%64 == 0 {
				return []byte{0x50, 0, 0x60, 0, 1, 0x6E}
			}
			return join([]byte{0x50, 1}, uleb(heapTypes+i-1), []byte{0x60, 0, 1, 0x6D})
		}))
	}, false},
	{"structures of ten thousand fields", 100, func(n int) []byte {
		fields := rep(10000, []byte{0x7F, 1})
		return typing(n, numbered(n, func(i int) []byte {
			if i%64 == 0 {
				return join([]byte{0x50, 0, 0x5F}, vector(10000, fields))
			}
			return join([]byte{0x50, 1}, uleb(heapTypes+i-1), []byte{0x5F}, vector(10000, fields))
		}))
	}, false},

	{"a list", 100000, func(n int) []byte {
		return heaping(0, 1, rep(n, get(0), get(1), structNew(nodeType), set(1)), get(0))
	}, false},
	{"a walk along a list", 100000, func(n int) []byte {
		return heaping(0, 1, rep(n, get(1), structGet(nodeType, 1), set(1)), get(0))
	}, false},
	{"writes and reads of fields", 40000, func(n int) []byte {
		return heaping(0, 8, numbered(n, func(i int) []byte { return join(get(i%8+1), constant(i), structSet(nodeType, 0)) }), get(0),
			numbered(n, func(i int) []byte { return join(get(i%8+1), structGet(nodeType, 0), add) }))
	}, false},
	{"writes of fields and calls", 40000, func(n int) []byte {
		return heaping(0, 8, numbered(n, func(i int) []byte {
			return join(get(i%8+1), get(0), callOf(0), structSet(nodeType, 0), get(i%8+1), structGet(nodeType, 0), set(0))
		}), get(0))
	}, false},
	{"casts", 60000, func(n int) []byte {
		return heaping(0, 1, rep(n, get(1), gcOp(23, namedType), structGet(namedType, 1), set(1)), get(0))
	}, false},
	{"tests of one reference", 60000, func(n int) []byte {
		return heaping(0, 1, get(0), rep(n, get(1), gcOp(20, namedType), add))
	}, false},
	{"branches on casts", 40000, func(n int) []byte {
		return heaping(0, 1, []byte{0x02, 0x63, nodeType}, rep(n, get(1), gcOp(24, 3, 0), []byte{nodeType, namedType}, drop), get(1), end, drop, get(0))
	}, false},
	{"nested blocks, branches on casts to all", 20000, func(n int) []byte {
		blk := []byte{0x02, 0x63, nodeType}
		return heaping(0, 1, rep(n, blk), get(1), numbered(n, func(i int) []byte {
			return join([]byte{0xFB, 24, 3}, uleb(i), []byte{nodeType, namedType})
		}), rep(n, end), drop, get(0))
	}, false},
	{"arrays", 60000, func(n int) []byte {
		return heaping(0, 0, rep(n, get(0), get(0), gcOp(6, wordsType), gcOp(15), set(0)), get(0))
	}, false},
	{"long arrays of given elements", 100, func(n int) []byte {
		return heaping(0, 0, rep(n, rep(10000, get(0)), gcOp(8, wordsType, 10000), drop), get(0))
	}, false},
	{"short arrays of given elements", 60000, func(n int) []byte {
		return heaping(0, 0, rep(n, get(0), get(0), gcOp(8, wordsType, 2), drop), get(0))
	}, false},
	{"elements", 60000, func(n int) []byte {
		return heaping(0, 0, []byte{0x02, 0x40}, rep(n, []byte{0xD0, wordsType}, get(0), []byte{0xD0, wordsType}, get(0), gcOp(11, wordsType), gcOp(14, wordsType)), end, get(0))
	}, false},
	{"copies", 40000, func(n int) []byte {
		a := []byte{0xD0, wordsType}
		return heaping(0, 0, rep(n, a, get(0), a, get(0), get(0), gcOp(17, wordsType, wordsType)), get(0))
	}, false},
	{"small integers", 100000, func(n int) []byte { return heaping(0, 0, get(0), rep(n, gcOp(28), gcOp(29))) }, false},
	{"conversions", 100000, func(n int) []byte {
		return heaping(0, 1, get(1), rep(n, gcOp(27), gcOp(26)), drop, get(0))
	}, false},
	{"objects in globals", 60000, func(n int) []byte {
		p := heapSections(0, 0, 0, nil, get(0))
		p[6] = vector(n, numbered(n, func(i int) []byte {
			return join([]byte{0x63, nodeType, 0}, constant(i), []byte{0xD0, nodeType}, structNew(nodeType), end)
		}))
		return p.encode()
	}, false},
	{"a constant list", 100000, func(n int) []byte {
		p := heapSections(0, 0, 0, nil, get(0))
		p[6] = join([]byte{1, 0x63, nodeType, 0}, rep(n, constant(1)), []byte{0xD0, nodeType}, rep(n, structNew(nodeType)), end)
		return p.encode()
	}, false},
	{"a constant array of arrays", 100000, func(n int) []byte {
		p := heapSections(0, 0, 1, []byte{0x5E, 0x6E, 0}, get(0))
		p[6] = join([]byte{1, 0x6E, 0}, rep(100, rep(n/100, constant(1), gcOp(28)), gcOp(8, heapTypes, n/100)), gcOp(8, heapTypes, 100), end)
		return p.encode()
	}, false},
	{"objects in an element segment", 60000, func(n int) []byte {
		p := heapSections(0, 0, 0, nil, get(0))
		p[9] = join([]byte{1, 5, 0x63, nodeType}, vector(n, numbered(n, func(i int) []byte {
			return join(constant(i), []byte{0xD0, nodeType}, structNew(nodeType), end)
		})))
		return p.encode()
	}, false},

	{"unreachable structures of ten thousand fields", 10000, func(n int) []byte {
		fields := join([]byte{0x5F}, vector(10000, rep(10000, []byte{0x7F, 1})))
		return heapSections(0, 0, 1, fields, []byte{0x00}, rep(n, structNew(heapTypes), drop)).encode()
	}, true},
	{"unreachable arrays of ten thousand elements", 10000, func(n int) []byte {
		return heaping(0, 0, []byte{0x00}, rep(n, gcOp(8, wordsType, 10000), drop))
	}, true},
	{"structures of ten thousand defaults", 200000, func(n int) []byte {
		fields := join([]byte{0x5F}, vector(10000, rep(10000, []byte{0x7F, 1})))
		return heapSections(0, 0, 1, fields, rep(n, structNewDefault(heapTypes), drop), get(0)).encode()
	}, false},
	{"casts to the deepest type", 60000, func(n int) []byte {
		types := numbered(64, func(i int) []byte {
			if i == 0 {
				return []byte{0x50, 0, 0x5F, 0}
			}
			return join([]byte{0x50, 1}, uleb(heapTypes+i-1), []byte{0x5F, 0})
		})
		return heapSections(0, 0, 64, types, rep(n, []byte{0xD0}, ofHeap(heapTypes), gcOp(23), ofHeap(heapTypes+63), drop), get(0)).encode()
	}, false},
}

// TestAdversarialGC is TestAdversarial with structures and arrays.
func TestAdversarialGC(t *testing.T) {
	notEmulated(t)
	for _, level := range testenv.Cases([]opt.Level{opt.O1}, []opt.Level{opt.O1}, []opt.Level{opt.O1, opt.O0}) {
		checkGrowth(t, gcFamilies, level)
	}
}

// TestAdversarialGCProducts is TestAdversarialProducts with structures and arrays.
func TestAdversarialGCProducts(t *testing.T) {
	notEmulated(t)
	checkProducts(t, gcFamilies, opt.O1)
	checkProducts(t, gcFamilies, opt.O0)
}
