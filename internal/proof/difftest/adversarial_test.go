package difftest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/proof/cputime"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/wasmfront"
)

func rep(n int, parts ...[]byte) []byte { return bytes.Repeat(join(parts...), n) }

func sized(b []byte) []byte { return join(uleb(len(b)), b) }

// vector is n items.
func vector(n int, items []byte) []byte { return join(uleb(n), items) }

func get(i int) []byte      { return join([]byte{0x20}, uleb(i)) }
func set(i int) []byte      { return join([]byte{0x21}, uleb(i)) }
func constant(i int) []byte { return join([]byte{0x41}, sleb(i)) }
func callOf(i int) []byte   { return join([]byte{0x10}, uleb(i)) }

// The operators without parameters, or with those that they have here.
var (
	block, loop, end = []byte{0x02, 0x40}, []byte{0x03, 0x40}, []byte{0x0B}
	ifVoid, elseOp   = []byte{0x04, 0x40}, []byte{0x05}
	brIf, br, drop   = []byte{0x0D, 0}, []byte{0x0C, 0}, []byte{0x1A}
	add, sel, tee0   = []byte{0x6A}, []byte{0x1B}, []byte{0x22, 0}
	loadOp, storeOp  = []byte{0x28, 2, 4}, []byte{0x36, 2, 8}
	i32, ref         = []byte{0x7F}, []byte{0x6F}
)

// parts are the sections of a module, by id.
type parts map[byte][]byte

// encode is the module. Without types and functions it gets one function, whose body
// is wrong.
func (p parts) encode() []byte {
	out := []byte{0, 'a', 's', 'm', 1, 0, 0, 0}
	for _, id := range []byte{1, 2, 3, 4, 5, 13, 6, 7, 8, 9, 12, 10, 11, 0} {
		if b, ok := p[id]; ok {
			out = append(append(out, id), sized(b)...)
		}
	}
	return out
}

// wide is n types i32.
func wide(n int) []byte { return vector(n, bytes.Repeat(i32, n)) }

// single is a module with a memory, a table, and functions: 0 (i32) -> i32 has that many locals
// of type i32, and the code; 1 gives a reference from a table, and is too long to be inlined; 2 gives a thousand numbers; 3 takes them.
func single(locals int, code ...[]byte) []byte { return singleOf(i32, locals, code...) }

func singleOf(typ []byte, locals int, code ...[]byte) []byte {
	body := join([]byte{1}, uleb(locals), typ, join(code...), end)
	thousand := wide(1000)
	return parts{
		1:  vector(4, join([]byte{0x60, 1, 0x7F, 1, 0x7F}, []byte{0x60, 0, 1, 0x6F}, []byte{0x60, 0}, thousand, []byte{0x60}, thousand, []byte{0})),
		3:  {4, 0, 1, 2, 3},
		4:  {2, 0x70, 0, 1, 0x6F, 0, 1},
		5:  {1, 0, 1},
		7:  {1, 1, 'f', 0, 0},
		10: vector(4, join(sized(body), sized(join([]byte{0}, rep(640, []byte{1}), []byte{0x41, 0, 0x25, 1, 0x0B})), sized(join([]byte{0}, rep(1000, constant(0)), end)), sized([]byte{0, 0x0B}))),
	}.encode()
}

// chain is a module with a memory and n + 1 functions (i32) -> i32. The first loads what is at its parameter; the code of function k+1 is code(k).
func chain(n int, code func(k int) []byte) []byte {
	return parts{
		1:  vector(1, []byte{0x60, 1, 0x7F, 1, 0x7F}),
		3:  vector(n+1, make([]byte, n+1)),
		5:  {1, 0, 1},
		10: vector(n+1, join(sized(join([]byte{0}, get(0), loadOp, end)), numbered(n, func(k int) []byte { return sized(join([]byte{0}, code(k), end)) }))),
	}.encode()
}

// sum is a sum of all locals.
func sum(n int) []byte {
	return join(get(0), numbered(n, func(i int) []byte { return join(get(i+1), add) }))
}

// family is modules that grow with n.
type family struct {
	name string
	n    int // for the larger of two modules
	make func(n int) []byte
	// product says that the number of values times that of blocks or calls is what grows: time
	// and memory do so, too, up to the limits, and then the module is refused.
	product bool
}

var families = []family{
	{"nested blocks", 40000, func(n int) []byte {
		return single(0, rep(n, block), numbered(n, func(i int) []byte { return join(get(0), []byte{0x0D}, uleb(i)) }), rep(n, end), get(0))
	}, false},
	{"nested ifs", 30000, func(n int) []byte {
		return single(2, rep(n, get(0), ifVoid), get(1), set(2), rep(n, elseOp, get(2), set(1), end), get(2))
	}, false},
	{"nested loops", 12000, func(n int) []byte {
		return single(2, rep(n, loop), get(1), get(0), add, set(1), rep(n, get(1), brIf, end), get(1))
	}, false},
	{"nested loops that write", 4000, func(n int) []byte {
		return single(1, numbered(n, func(i int) []byte { return join(loop, get(1), constant(i), add, set(1)) }), rep(n, get(1), brIf, end), get(1))
	}, false},
	{"nested loops around reads of many locals", 4000, func(n int) []byte {
		return single(n, numbered(n, func(i int) []byte { return join(get(0), set(i+1)) }), rep(n, loop), sum(n), tee0, rep(n, brIf, end, get(0)))
	}, false},
	{"nested loops, branches to all", 12000, func(n int) []byte {
		return single(1, rep(n, loop), numbered(n, func(i int) []byte { return join(get(0), []byte{0x0D}, uleb(i)) }), rep(n, end), get(0))
	}, false},
	{"nested loops, branches out of all", 8000, func(n int) []byte {
		return single(1, rep(n, block, loop), numbered(n, func(i int) []byte { return join(get(0), []byte{0x0D}, uleb(2*i+1)) }), rep(n, get(0), brIf, end, end), get(0))
	}, false},
	{"nested loops with loads and calls", 4000, func(n int) []byte {
		return single(1, rep(n, loop, get(0), loadOp, callOf(0), set(1)), rep(n, get(0), loadOp, get(1), add, tee0, brIf, end), get(0))
	}, false},
	{"ifs in else parts that read many locals", 10000, func(n int) []byte {
		return single(n, numbered(n, func(i int) []byte { return join(get(i), ifVoid, get(0), set(i+1), elseOp) }), sum(n), set(0), rep(n, end), get(0))
	}, false},
	{"loops in a row", 30000, func(n int) []byte {
		return single(1, rep(n, loop, get(0), constant(1), add, tee0, brIf, end), get(0))
	}, false},
	{"small functions that call the one before", 20000, func(n int) []byte { return chain(n, func(k int) []byte { return join(get(0), callOf(k)) }) }, false},
	{"small functions that call the one before twice", 20000, func(n int) []byte {
		return chain(n, func(k int) []byte { return join(get(0), callOf(k), callOf(k)) })
	}, false},
	{"small functions that call the one behind and before", 10000, func(n int) []byte {
		return chain(n, func(k int) []byte { return join(get(0), callOf(k), callOf(min(k+2, n)), callOf(k+1)) })
	}, false},
	{"calls of a small function in a loop", 30000, func(n int) []byte {
		return chain(1, func(int) []byte { return join(loop, rep(n, get(0), callOf(0), tee0, drop), get(0), brIf, end, get(0)) })
	}, false},
	{"50,000 blocks", 50000, func(n int) []byte {
		return single(1, numbered(n, func(i int) []byte { return join(get(0), ifVoid, constant(i), set(1), end) }), get(1))
	}, false},
	{"50,000 branches to one block", 50000, func(n int) []byte {
		return single(1, block, rep(n, get(0), brIf), end, get(0))
	}, false},
	{"50,000 locals", 49000, func(n int) []byte {
		return single(n, numbered(n, func(i int) []byte { return join(get(0), constant(i), add, set(i+1)) }), sum(n))
	}, false},
	{"50,000 locals, not used", 49000, func(n int) []byte { return single(n, rep(n, get(0), drop), get(0)) }, false},
	{"many locals behind many merges", 12000, func(n int) []byte {
		return single(n, rep(n, get(0), ifVoid, end), get(0), ifVoid, numbered(n, func(i int) []byte { return join(get(0), set(i+1)) }), end, sum(n))
	}, false},
	{"a million operators", 1000000, func(n int) []byte { return single(1, get(0), rep(n/2, constant(77), add)) }, false},
	{"a million operators with memory", 1000000, func(n int) []byte {
		return single(1, rep(n/9, get(1), get(1), loadOp, get(0), add, []byte{0x22, 1}, get(0), add, storeOp), get(0))
	}, false},
	{"stores, then loads", 40000, func(n int) []byte {
		at := func(i int) []byte { return join([]byte{2}, uleb(4*i)) }
		return single(1, numbered(n, func(i int) []byte { return join(get(0), constant(i), []byte{0x36}, at(i)) }), get(0),
			numbered(n, func(i int) []byte { return join(get(0), []byte{0x28}, at(i), add) }))
	}, false},
	{"constants across calls", 20000, func(n int) []byte {
		return single(n, numbered(n, func(i int) []byte { return join(constant(i), set(i+1)) }), rep(n, get(0), callOf(0), drop), sum(n))
	}, false},
	{"values across calls", 20000, func(n int) []byte {
		return single(n, numbered(n, func(i int) []byte { return join(get(0), constant(i), add, set(i+1)) }), rep(n, get(0), callOf(0), drop), sum(n))
	}, false},
	{"conditions of conditions", 20000, func(n int) []byte {
		return single(1, numbered(n, func(i int) []byte { return join(get(0), constant(i), []byte{0x49}, ifVoid) }),
			numbered(n, func(i int) []byte { return join(get(0), constant(i), []byte{0x49}, set(1), end) }), get(1))
	}, false},
	{"many calls", 100000, func(n int) []byte { return single(1, get(0), rep(n, callOf(0))) }, false},
	{"deep stack", 200000, func(n int) []byte { return single(0, rep(n, get(0)), rep(n-1, add)) }, false},
	{"selects", 100000, func(n int) []byte { return single(1, get(0), rep(n, constant(7), get(0), sel)) }, false},
	{"br_table", 65000, func(n int) []byte {
		return single(1, block, block, get(0), []byte{0x0E}, vector(n, numbered(n, func(i int) []byte { return []byte{byte(i) & 1} })), []byte{0}, end, end, get(0))
	}, false},
	{"br_table of as many blocks", 40000, func(n int) []byte {
		return single(1, rep(n, block), get(0), []byte{0x0E}, vector(n, numbered(n, uleb)), []byte{0}, numbered(n, func(i int) []byte { return join(end, constant(i), set(0)) }), get(0))
	}, false},
	{"many br_tables", 4000, func(n int) []byte {
		return single(1, rep(n, block, block, get(0), []byte{0x0E}, vector(20, rep(10, []byte{0, 1})), []byte{0}, end, end), get(0))
	}, false},
	{"a dispatcher of constant states", 40000, func(n int) []byte {
		return single(2, loop, rep(n, block), get(1), []byte{0x0E}, vector(n, numbered(n, uleb)), []byte{0}, numbered(n, func(i int) []byte {
			return join(end, get(0), get(2), add, set(2), constant((i+3)%n), set(1), []byte{0x0C}, uleb(n-1-i))
		}), end, get(2))
	}, false},
	{"a dispatcher whose states are loops", 40000, func(n int) []byte {
		return single(2, loop, rep(n, block), get(0), []byte{0x0E}, vector(n, numbered(n, uleb)), []byte{0}, numbered(n, func(i int) []byte {
			return join(end, get(1), get(2), add, set(1), get(1), get(2), add, set(2), constant(i), set(0), get(1), []byte{0x0D}, uleb(n-1-i))
		}), end, get(2))
	}, false},
	{"dispatchers in a row", 12000, func(n int) []byte {
		return single(2, rep(n, loop, block, block, get(1), []byte{0x0E, 1, 0, 1}, end, constant(1), set(1), []byte{0x0C, 1}, end, get(0), set(2), end), get(2))
	}, false},
	{"dispatchers in dispatchers", 6000, func(n int) []byte {
		return single(2, rep(n, loop, block, block, get(1), []byte{0x0E, 1, 0, 1}, end, constant(1), set(1), []byte{0x0C, 1}, end, constant(0), set(1)), get(0), set(2), rep(n, end), get(2))
	}, false},
	{"flags set on two ways", 20000, func(n int) []byte {
		return single(2, rep(n, get(0), ifVoid, constant(1), set(1), elseOp, constant(0), set(1), end, get(1), ifVoid, get(0), get(1), add, set(2), end), get(2))
	}, false},
	{"flags in loops in loops", 6000, func(n int) []byte {
		return single(2, rep(n, loop, block, get(1), brIf, get(0), set(2), constant(1), set(1), []byte{0x0C, 1}, end), get(0), set(1), rep(n, get(1), brIf, end), get(2))
	}, false},
	{"table and element segment", 1000000, func(n int) []byte {
		return parts{1: {1, 0x60, 0, 0}, 3: {1, 0}, 4: join([]byte{1, 0x70, 0}, uleb(n)), 9: join([]byte{1, 0, 0x41, 0, 0x0B}, vector(n, bytes.Repeat([]byte{0}, n))), 10: {1, 2, 0, 0x0B}}.encode()
	}, false},
	{"element segments", 40000, func(n int) []byte {
		return parts{1: {1, 0x60, 0, 0}, 3: {1, 0}, 4: {1, 0x70, 0, 1}, 9: vector(n, rep(n, []byte{0, 0x41, 0, 0x0B, 1, 0})), 10: {1, 2, 0, 0x0B}}.encode()
	}, false},
	{"data segment", 4 << 20, func(n int) []byte {
		return parts{5: join([]byte{1, 0}, uleb(100)), 11: join([]byte{1, 0, 0x41, 0, 0x0B}, vector(n, bytes.Repeat([]byte{5}, n)))}.encode()
	}, false},
	{"data segments", 40000, func(n int) []byte {
		return parts{5: {1, 0, 16}, 11: vector(n, numbered(n, func(i int) []byte { return join([]byte{0}, constant(16*i), []byte{0x0B, 1, 7}) }))}.encode()
	}, false},
	{"functions", 40000, func(n int) []byte {
		return parts{1: {1, 0x60, 0, 0}, 3: vector(n, bytes.Repeat([]byte{0}, n)), 10: vector(n, rep(n, []byte{2, 0, 0x0B}))}.encode()
	}, false},
	{"types", 200000, func(n int) []byte {
		return parts{1: vector(n, numbered(n, func(i int) []byte {
			return join([]byte{0x60}, vector(17, numbered(17, func(k int) []byte { return []byte{0x7F - byte(i>>k&1)} })), []byte{0})
		}))}.encode()
	}, false},
	{"exports", 40000, func(n int) []byte {
		return parts{1: {1, 0x60, 0, 0}, 3: {1, 0}, 7: vector(n, numbered(n, func(i int) []byte { return join(sized(fmt.Appendf(nil, "%x", i)), []byte{0, 0}) })), 10: {1, 2, 0, 0x0B}}.encode()
	}, false},
	{"imports", 40000, func(n int) []byte {
		return parts{1: {1, 0x60, 0, 0}, 2: vector(n, numbered(n, func(i int) []byte { return join([]byte{1, 'm'}, sized(fmt.Appendf(nil, "%x", i)), []byte{0, 0}) }))}.encode()
	}, false},
	{"globals", 100000, func(n int) []byte { return parts{6: vector(n, rep(n, []byte{0x7F, 1, 0x41, 5, 0x0B}))}.encode() }, false},
	{"a long constant expression", 400000, func(n int) []byte {
		return parts{6: join([]byte{1, 0x7F, 1, 0x41, 5}, rep(n/2, constant(3), add), end)}.encode()
	}, false},
	{"long names", 1 << 20, func(n int) []byte {
		name := sized(bytes.Repeat([]byte{'a'}, n))
		return parts{1: {1, 0x60, 0, 0}, 3: {1, 0}, 7: join([]byte{1}, name, []byte{0, 0}), 10: {1, 2, 0, 0x0B},
			0: join(sized([]byte("name")), []byte{1}, sized(join([]byte{1, 0}, name)))}.encode()
	}, false},
	{"names of functions", 40000, func(n int) []byte {
		return parts{1: {1, 0x60, 0, 0}, 3: vector(n, bytes.Repeat([]byte{0}, n)), 10: vector(n, rep(n, []byte{2, 0, 0x0B})),
			0: join(sized([]byte("name")), []byte{1}, sized(vector(n, numbered(n, func(i int) []byte { return join(uleb(i), []byte{4, 's', 'a', 'm', 'e'}) }))))}.encode()
	}, false},

	{"unreachable calls with a thousand parameters", 400000, func(n int) []byte {
		return single(0, []byte{0x00}, rep(n, callOf(3)))
	}, false},
	{"unreachable br_table to blocks with a thousand results", 60000, func(n int) []byte {
		return single(0, []byte{0x02, 2, 0x00, 0x0E}, vector(n, bytes.Repeat([]byte{0}, n)), []byte{0}, end, callOf(3), get(0))
	}, false},
	{"functions with 50,000 locals", 40000, func(n int) []byte {
		return parts{1: {1, 0x60, 0, 0}, 3: vector(n, bytes.Repeat([]byte{0}, n)), 10: vector(n, rep(n, sized(join([]byte{1}, uleb(50000), i32, end))))}.encode()
	}, false},
	{"signed remainders by constants", 60000, func(n int) []byte {
		return single(0, get(0), numbered(n, func(i int) []byte { return join(constant(i+3), []byte{0x6F}) }))
	}, false},
	{"indirect calls of many types", 20000, func(n int) []byte {
		types := numbered(n, func(i int) []byte {
			return join([]byte{0x60}, vector(16, numbered(16, func(k int) []byte { return []byte{0x7F - byte(i>>k&1)} })), []byte{0})
		})
		code := numbered(n, func(i int) []byte {
			return join(numbered(16, func(k int) []byte { return []byte{0x41 + byte(i>>k&1), 0} }), constant(0), []byte{0x11}, uleb(i), []byte{0})
		})
		return parts{1: vector(n+1, join(types, []byte{0x60, 0, 0})), 3: vector(1, uleb(n)), 4: {1, 0x70, 0, 1},
			10: vector(1, sized(join([]byte{0}, code, end)))}.encode()
	}, false},

	{"merges", 12000, func(n int) []byte {
		return single(n, numbered(n, func(i int) []byte { return join(get(0), ifVoid, get(0), set(i+1), elseOp, constant(i), set(i+1), end) }), sum(n))
	}, true},
	{"merges in a loop", 12000, func(n int) []byte {
		return single(n, loop, numbered(n, func(i int) []byte { return join(get(0), ifVoid, get(0), set(i+1), elseOp, constant(i), set(i+1), end) }), sum(n), tee0, brIf, end, get(0))
	}, true},
	{"merges of all locals", 6000, func(n int) []byte {
		return single(n, rep(n, block), numbered(n, func(i int) []byte { return join(get(0), []byte{0x0D}, uleb(i)) }), numbered(n, func(i int) []byte { return join(get(0), set(i+1)) }), rep(n, end), sum(n))
	}, true},
	{"locals written in nested loops", 6000, func(n int) []byte {
		return single(n, rep(n, loop), numbered(n, func(i int) []byte { return join(get(0), get(i+1), add, set(i+1)) }), rep(n, get(1), brIf, end), sum(n))
	}, true},
	{"locals written between branches to one block", 6000, func(n int) []byte {
		return single(n, block, numbered(n, func(i int) []byte { return join(get(0), brIf, get(0), set(i+1)) }), end, sum(n))
	}, true},
	{"locals that live across branches to one block", 12000, func(n int) []byte {
		locals := numbered(n, func(i int) []byte { return join(get(0), constant(i+3), add, set(i+1)) })
		return single(n, locals, block, numbered(n, func(i int) []byte { return join(get(i+1), brIf) }), end, sum(n))
	}, true},
	{"an interpreter whose cases each write a local", 6000, func(n int) []byte {
		return single(n, loop, rep(n, block), sum(n), []byte{0x0E}, vector(n, numbered(n, uleb)), []byte{0}, numbered(n, func(i int) []byte {
			return join(end, get(0), set(i+1), []byte{0x0C}, uleb(n-1-i))
		}), end, get(0))
	}, true},
	{"a dispatcher whose states each write a local", 6000, func(n int) []byte {
		states := numbered(n-1, func(i int) []byte {
			return join(end, get(0), set(i+2), constant((i+3)%n), set(1), get(0), []byte{0x0D}, uleb(n-1-i), get(2), set(1), []byte{0x0C}, uleb(n-1-i))
		})
		return single(n, loop, rep(n, block), get(1), []byte{0x0E}, vector(n, numbered(n, uleb)), []byte{0}, states, end, sum(n), set(0), constant(0), set(1), br, end, get(0))
	}, true},
	{"flags that each have a local", 6000, func(n int) []byte {
		return single(n, numbered(n, func(i int) []byte {
			return join(get(0), ifVoid, constant(1), set(i+1), elseOp, constant(0), set(i+1), end, get(i+1), ifVoid, get(0), set(1+(i+7)%n), end)
		}), sum(n))
	}, true},
	{"references across calls", 16000, func(n int) []byte {
		return singleOf(ref, n, numbered(n, func(i int) []byte { return join(callOf(1), set(i+1)) }), rep(n, get(0), callOf(0), drop), get(0), numbered(n, func(i int) []byte { return join(get(i+1), []byte{0xD1}, add) }))
	}, true},
	{"a thousand results and parameters", 8000, func(n int) []byte { return single(0, rep(n, callOf(2), callOf(3)), get(0)) }, true},
	{"tail calls with a thousand arguments", 400, func(n int) []byte {
		body := join([]byte{0}, rep(n, get(0), []byte{0x04, 0x40}, join(numbered(1000, func(i int) []byte { return get((i + n) % 1000) })), []byte{0x12, 0}, end), end)
		return parts{1: vector(1, join([]byte{0x60}, wide(1000), []byte{0})), 3: vector(1, []byte{0}), 10: vector(1, sized(body))}.encode()
	}, false},
	{"branches with a thousand operands", 8000, func(n int) []byte {
		return single(0, []byte{0x02, 2}, callOf(2), rep(n, get(0), brIf), end, callOf(3), get(0))
	}, true},
	{"br_table to blocks with a thousand results", 4000, func(n int) []byte {
		return single(0, rep(n, []byte{0x02, 2}), callOf(2), get(0), []byte{0x0E}, vector(n, numbered(n, uleb)), []byte{0}, rep(n, end), callOf(3), get(0))
	}, true},
	{"loops with a thousand parameters", 2000, func(n int) []byte {
		return single(0, callOf(2), rep(n, []byte{0x03, 3}, callOf(3), callOf(2), get(0), brIf, callOf(3), end, callOf(2)), callOf(3), get(0))
	}, true},
	{"functions with a thousand parameters", 40000, func(n int) []byte {
		return parts{1: vector(1, join([]byte{0x60}, wide(1000), []byte{0})), 3: vector(n, bytes.Repeat([]byte{0}, n)), 10: vector(n, rep(n, []byte{2, 0, 0x0B}))}.encode()
	}, true},
	{"functions that pass on a thousand results", 8000, func(n int) []byte {
		return parts{1: vector(1, join([]byte{0x60, 0}, wide(1000))), 3: vector(n, bytes.Repeat([]byte{0}, n)), 10: vector(n, rep(n, sized(join([]byte{0}, callOf(0), end))))}.encode()
	}, true},
	{"unreachable calls with a thousand parameters and results", 40000, func(n int) []byte {
		thousand := join([]byte{0x60}, wide(1000), wide(1000))
		return parts{1: vector(2, join(thousand, []byte{0x60, 0, 0})), 3: {2, 0, 1}, 10: vector(2, join(sized([]byte{0, 0, 0x0B}), sized(join([]byte{0, 0}, rep(n, callOf(0)), []byte{0}, end))))}.encode()
	}, true},
	{"unreachable blocks with a thousand parameters and results", 20000, func(n int) []byte {
		thousand := join([]byte{0x60}, wide(1000), wide(1000))
		return parts{1: vector(2, join(thousand, []byte{0x60, 0, 0})), 3: {1, 1}, 10: vector(1, sized(join([]byte{0, 0}, rep(n, []byte{0x02, 0, 0, 0x0B}), []byte{0}, end)))}.encode()
	}, true},
	{"unreachable loops with a thousand parameters", 60000, func(n int) []byte {
		return single(0, []byte{0x00}, rep(n, []byte{0x03, 3, 0x00, 0x0B}))
	}, true},
	{"unreachable br_if with a thousand operands", 50000, func(n int) []byte {
		return single(0, []byte{0x02, 2, 0x00}, rep(n, brIf), end, callOf(3), get(0))
	}, true},
}

// cost is the processor time, measured as cputime.Least does, and the bytes allocated for a compilation. The bytes of the object
// are checked here.
func cost(t *testing.T, wasm []byte, level opt.Level, times int, enough time.Duration) (took time.Duration, allocated uint64, err error) {
	t.Helper()
	return measured(t, wasm, level, func(f func()) time.Duration { return cputime.Least(times, enough, f) })
}

// measured is cost by another measurement.
func measured(t *testing.T, wasm []byte, level opt.Level, measure func(func()) time.Duration) (took time.Duration, allocated uint64, err error) {
	t.Helper()
	var r *compile.Result
	took = measure(func() {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r, err = compile.Module(wasm, compile.Options{OptLevel: level, Jobs: 1})
		runtime.ReadMemStats(&after)
		allocated = after.TotalAlloc - before.TotalAlloc
	})
	if err == nil {
		var file bytes.Buffer
		if err := r.WriteELF(&file); err != nil {
			t.Error(err)
		}
		if n := file.Len(); n > productObject+productObjectBytes*len(wasm) {
			t.Errorf("an object of %d bytes for %d", n, len(wasm))
		}
	}
	return took, allocated, err
}

// isLimit reports whether err says that a limit of the compiler is exceeded.
func isLimit(err error) bool {
	var e *wasmfront.Error
	if errors.As(err, &e) {
		return e.Limit != ""
	}
	var l *compile.LimitError
	return errors.As(err, &l) || errors.Is(err, backend.ErrUnsupported)
}

// Bounds of what a compilation may take: for each byte of Wasm, and besides.
const (
	mostBytes, freeBytes = 2400, 4 << 20
	mostTime, freeTime   = 3 * time.Microsecond, 50 * time.Millisecond
	// Of functions whose values and blocks multiply: as much as the limits let through.
	productBytes, productTime = 512 << 20, 3 * time.Second
	// Of objects: what the limits let through of values passed, and for each byte. TestObjectSizes has a closer bound where
	// nothing multiplies.
	productObject, productObjectBytes = 16 << 20, 80
)

// notEmulated skips a test that takes long to compile in an emulator.
func notEmulated(t *testing.T) {
	t.Helper()
	if os.Getenv("WAOT_EMULATOR") != "" {
		t.Skip("seconds of compile time: not in an emulator")
	}
}

// TestAdversarial compiles modules of shapes that are hard on some part of a compiler, at one size and
// at four times that: memory and time for a byte stay below a bound and do not grow.
// Where values times blocks is what grows, they stay below a bound at every size, and
// what is refused is refused for a limit.
func TestAdversarial(t *testing.T) {
	notEmulated(t)
	for _, level := range testenv.Cases([]opt.Level{opt.O1}, []opt.Level{opt.O1}, []opt.Level{opt.O1, opt.O0}) {
		checkGrowth(t, families, level)
	}
}

// checkGrowth compiles two modules of each family that is no product, at a level.
func checkGrowth(t *testing.T, families []family, level opt.Level) {
	t.Helper()
	for _, f := range families {
		if f.product {
			continue
		}
		n := f.n / testenv.Cases(16, 16, 1)
		modules := [2][]byte{f.make(n / 4), f.make(n)}
		var per [2]struct{ time, bytes float64 } // for a byte
		for k, wasm := range modules {
			n := float64(len(wasm))
			most := testenv.Slow(freeTime + mostTime*time.Duration(len(wasm)))
			measure := func(f func()) time.Duration { return cputime.LeastShort(most, f) } // what the larger one is compared with
			if k == 1 {
				most = min(most, testenv.Slow(freeTime)+time.Duration(1.8*per[0].time*n))
				measure = func(f func()) time.Duration { return cputime.Least(2, most, f) }
			}
			took, allocated, err := measured(t, wasm, level, measure)
			if err != nil {
				t.Errorf("O%d: %s: %v", level, f.name, err)
			}
			per[k].time, per[k].bytes = float64(took)/n, float64(allocated)/n
			if allocated > freeBytes+mostBytes*uint64(len(wasm)) || took > most {
				t.Errorf("O%d: %s: %d MiB, %v for %d bytes, at most %v", level, f.name, allocated>>20, took, len(wasm), most)
			}
		}
		t.Logf("%-45s %8d bytes: %5.0f ns, %5.0f bytes for each; %8d bytes: %5.0f ns, %5.0f bytes", f.name,
			len(modules[0]), per[0].time, per[0].bytes, len(modules[1]), per[1].time, per[1].bytes)
		if per[1].bytes > 1.6*per[0].bytes+freeBytes/float64(len(modules[1])) {
			t.Errorf("O%d: %s: memory grows by more than the size", level, f.name)
		}
	}
}

// TestAdversarialProducts is TestAdversarial for the families whose values and blocks multiply.
func TestAdversarialProducts(t *testing.T) {
	notEmulated(t)
	checkProducts(t, families, opt.O1)
	checkProducts(t, families, opt.O0)
}

func checkProducts(t *testing.T, families []family, level opt.Level) {
	t.Helper()
	grow := testenv.Cases(32, 32, 1.5)
	for _, f := range families {
		if !f.product {
			continue
		}
		compiled, refused := 0, 0
		var most uint64
		var longest time.Duration
		for n := f.n / 128; n <= f.n; n = int(float64(n)*grow) + 1 {
			wasm := f.make(n)
			bound := productTime + mostTime*time.Duration(len(wasm))
			took, allocated, err := cost(t, wasm, level, 1, bound)
			most, longest = max(most, allocated), max(longest, took)
			switch {
			case err == nil:
				compiled = n
				if refused > 0 {
					t.Errorf("O%d: %s: %d is too large, and %d is not", level, f.name, refused, n)
				}
			case !isLimit(err):
				t.Errorf("O%d: %s: %d: %v", level, f.name, n, err)
			case refused == 0:
				refused = n
			}
			if allocated > productBytes+mostBytes*uint64(len(wasm)) || took > bound {
				t.Errorf("O%d: %s: %d MiB, %v for %d bytes", level, f.name, allocated>>20, took, len(wasm))
			}
		}
		t.Logf("O%d: %-48s %5d is compiled, %5d refused; at most %4d MiB and %v", level, f.name, compiled, refused, most>>20, longest)
		if compiled == 0 || refused == 0 {
			t.Errorf("O%d: %s: the limit is not between the sizes", level, f.name)
		}
	}
}
