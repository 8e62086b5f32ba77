package difftest

import (
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// The operators of exceptions, in modules that throwing makes: catchAll and catchTag are clauses for the label around, whose tag has no values; wideClause is one whose tag has a thousand.
var (
	tryVoid, catchAllOp = []byte{0x06, 0x40}, []byte{0x19}
	catchAll, catchTag  = []byte{2, 0}, []byte{0, 0, 0}
	throwOp, delegate   = []byte{0x08, 0}, []byte{0x18}
)

// tryTable begins a try_table without results with n clauses, which it has n times.
func tryTable(n int, clause []byte) []byte {
	return join([]byte{0x1F, 0x40}, vector(n, rep(n, clause)))
}

// throwing is a module with functions: 0, imported, () -> (); 1 (i32) -> i32, with that many locals of type i32, and the code. The tags have no values and a thousand, and n are without.
func throwing(locals, n int, code ...[]byte) []byte {
	body := join([]byte{1}, uleb(locals), i32, join(code...), end)
	return parts{
		1:  vector(4, join([]byte{0x60, 0, 0, 0x60, 1, 0x7F, 1, 0x7F, 0x60}, wide(1000), []byte{0, 0x60, 0}, wide(1000))),
		2:  vector(1, []byte{1, 'm', 1, 'f', 0, 0}),
		3:  {1, 1},
		5:  {1, 0, 1},
		7:  {1, 1, 'f', 0, 1},
		10: vector(1, sized(body)),
		13: vector(n+2, join([]byte{0, 0, 0, 2}, rep(n, []byte{0, 0}))),
	}.encode()
}

// throwFamilies are modules with exceptions that grow with n.
var throwFamilies = []family{
	{"nested try_tables with a call in each", 20000, func(n int) []byte {
		return throwing(0, 0, block, rep(n, tryTable(1, catchAll), callOf(0)), rep(n, end), end, get(0))
	}, false},
	{"nested try_tables around a call", 40000, func(n int) []byte {
		return throwing(0, 0, block, rep(n, tryTable(1, catchTag)), callOf(0), rep(n, end), end, get(0))
	}, false},
	{"nested tries with calls and catches", 10000, func(n int) []byte {
		return throwing(1, 0, rep(n, tryVoid, callOf(0)), rep(n, get(0), set(1), catchAllOp, get(1), constant(1), add, set(1), callOf(0), end), get(1))
	}, false},
	{"tries in catches", 10000, func(n int) []byte {
		return throwing(1, 0, rep(n, tryVoid, callOf(0), catchAllOp), rep(n, end), get(0))
	}, false},
	{"chains of delegates", 20000, func(n int) []byte {
		return throwing(0, 0, rep(n, tryVoid), callOf(0), rep(n, delegate, []byte{0}), get(0))
	}, false},
	{"delegates to the outermost block", 20000, func(n int) []byte {
		return throwing(0, 0, rep(n, tryVoid), callOf(0), numbered(n, func(i int) []byte { return join(callOf(0), delegate, uleb(n-1-i)) }), get(0))
	}, false},
	{"clauses of a try_table", 60000, func(n int) []byte {
		return throwing(0, 0, block, tryTable(n, catchTag), callOf(0), end, end, get(0))
	}, false},
	{"catches of a try", 20000, func(n int) []byte {
		return throwing(1, 0, tryVoid, callOf(0), rep(n, []byte{0x07, 0}, get(0), set(1)), end, get(1))
	}, false},
	{"calls in a try_table", 40000, func(n int) []byte {
		return throwing(0, 0, block, tryTable(1, catchAll), rep(n, callOf(0)), end, end, get(0))
	}, false},
	{"writes between calls in a try_table", 20000, func(n int) []byte {
		return throwing(2, 0, block, tryTable(1, catchAll), rep(n, get(0), set(1), callOf(0), get(1), set(2), callOf(0)), end, end, get(1), get(2), add)
	}, false},
	{"try_tables in a row", 20000, func(n int) []byte {
		return throwing(1, 0, rep(n, block, tryTable(1, catchAll), callOf(0), get(0), set(1), end, end), get(1))
	}, false},
	{"try_tables in loops", 4000, func(n int) []byte {
		return throwing(1, 0, rep(n, loop, block, tryTable(1, catchAll), callOf(0), get(1), get(0), add, set(1), end, end), rep(n, get(1), brIf, end), get(1))
	}, false},
	{"throws in nested try_tables", 20000, func(n int) []byte {
		return throwing(0, 0, block, rep(n, tryTable(1, catchTag), get(0), ifVoid, throwOp, end), rep(n, end), end, get(0))
	}, false},
	{"throws in a try_table of many clauses", 20000, func(n int) []byte {
		return throwing(0, 0, block, tryTable(n, catchTag), rep(n, get(0), ifVoid, throwOp, end), end, end, get(0))
	}, false},
	{"tags", 100000, func(n int) []byte { return throwing(0, n, get(0)) }, false},
	{"clauses of different tags", 20000, func(n int) []byte {
		return throwing(0, n, block, []byte{0x1F, 0x40}, vector(n, numbered(n, func(i int) []byte { return join([]byte{0}, uleb(i+2), []byte{0}) })), callOf(0), end, end, get(0))
	}, false},
	{"clauses that bring a thousand values", 20000, func(n int) []byte {
		return throwing(0, 0, []byte{0x02, 3}, tryTable(n, []byte{0, 1, 0}), callOf(0), end, []byte{0}, end, rep(1000, drop), get(0))
	}, true},
	{"catches that bring a thousand values", 20000, func(n int) []byte {
		return throwing(0, 0, tryVoid, callOf(0), rep(n, []byte{0x07, 1}, br), end, get(0))
	}, true},
	{"throws of a thousand values", 100, func(n int) []byte {
		return throwing(0, 0, rep(n, get(0), ifVoid, rep(1000, get(0)), []byte{0x08, 1}, end), get(0))
	}, false},
	{"locals written between calls in a try_table", 16000, func(n int) []byte {
		return throwing(n, 0, block, tryTable(1, catchAll), numbered(n, func(i int) []byte { return join(get(0), set(i+1), callOf(0)) }), end, end, sum(n))
	}, true},
	{"locals that live into nested handlers", 8000, func(n int) []byte {
		return throwing(n, 0, numbered(n, func(i int) []byte { return join(get(0), set(i+1)) }), rep(n, tryVoid), callOf(0), rep(n, catchAllOp, callOf(0), end), sum(n))
	}, false},
}

// TestAdversarialThrowProducts is TestAdversarialProducts with exceptions.
func TestAdversarialThrowProducts(t *testing.T) {
	notEmulated(t)
	checkProducts(t, throwFamilies, opt.O1)
	checkProducts(t, throwFamilies, opt.O0)
}

// TestAdversarialThrows is TestAdversarial with exceptions.
func TestAdversarialThrows(t *testing.T) {
	notEmulated(t)
	for _, level := range testenv.Cases([]opt.Level{opt.O1}, []opt.Level{opt.O1}, []opt.Level{opt.O1, opt.O0}) {
		checkGrowth(t, throwFamilies, level)
	}
}
