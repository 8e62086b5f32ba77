//go:build linux && (amd64 || arm64)

package inproc_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/meta"
)

// callKinds are the results of functions that are called: none, one and several of each class, floats first, more than
// registers hold.
var callKinds = []vt{
	{}, {i32}, {meta.I64}, {meta.F32}, {meta.F64}, {xref},
	{meta.F64, i32}, {meta.F32, xref}, {xref, meta.F64}, {meta.F64, meta.F64, meta.F64, meta.F64, meta.F64, meta.F64},
	append(vt{meta.F64}, refs(back)...), append(refs(back), meta.F64, meta.F64, meta.F64, meta.F64, meta.F64),
}

// returned is the number of references that come out of calls.
const returned = 1 << 20

// taken is code that takes results off the stack, and checks references.
func taken(results vt) (c code) {
	for _, t := range slices.Backward(results) {
		if t == xref {
			c = cat(c, num(returned), calls(fnCheck))
		} else {
			c = cat(c, drop)
		}
	}
	return c
}

// callsModule calls everything that may collect, with few or many references alive in locals, on the operand stack and in
// parameters of blocks. For each kind of results there is an import, a function that calls it directly, one that
// returns it from an indirect call, and functions that call each of these three.
//
// Exports have the type (i32) -> ref: they make references with numbers from the parameter on, and give the first.
func callsModule(alive int) (wasm []byte, names []string) {
	n := len(callKinds)
	types := [][]byte{typeOf(tortureTypes[fnMake]), typeOf(tortureTypes[fnCheck])}
	imports := [][]byte{cat(name("host"), name("make"), []byte{0, 0}), cat(name("host"), name("check"), []byte{0, 1})}
	for k, t := range callKinds {
		types = append(types, typeOf(meta.FuncType{Results: t}))
		imports = append(imports, cat(name("host"), name(fmt.Sprint("kind", k)), []byte{0}, leb(2+k)))
	}
	var funcs, codes, exports [][]byte
	define := func(typ int, body []byte) int {
		funcs, codes = append(funcs, leb(typ)), append(codes, body)
		return len(imports) + len(funcs) - 1
	}
	indirect := func(k, element int) code { return cat(num(element), code{0x11}, leb(2+k), []byte{1}) }
	// use is a function that keeps references while the code runs, which leaves nothing.
	use := func(what string, run code) {
		const ref = 1 // the first local
		check := func(r code, k int) code { return cat(r, get(0), num(k), add, calls(fnCheck)) }
		body := cat(
			repeat(alive, func(k int) code { return cat(get(0), num(k), add, calls(fnMake), set(ref+k)) }),
			get(0), num(alive), add, calls(fnMake), // on the operand stack from here on
			num(3), set(ref+alive), // turns of the loop
			get(ref), code{0x03}, leb(2+n), // loop (ref) -> (ref): a parameter of the block
			run,
			repeat(alive, func(k int) code { return check(get(ref+k), k) }),
			get(ref+alive), num(1), sub, op(0x22, ref+alive), code{0x0D, 0}, end, // br_if
			set(ref), check(get(ref), 0),
			set(ref), check(get(ref), alive), // what was on the operand stack
			get(0), calls(fnMake))
		names = append(names, what)
		exports = append(exports, exportOf(what, 0, define(0, bodyOf(cat([]byte{2}, leb(alive), []byte{0x6F, 1, 0x7F}), body))))
	}
	use("memory.grow", memoryGrow)
	use("table.grow", tableGrow)
	elems := [][]byte{}
	for k, t := range callKinds {
		imp := 2 + k
		direct := define(2+k, bodyOf([]byte{0}, calls(imp), memoryGrow, tableGrow))
		by := define(2+k, bodyOf([]byte{0}, indirect(k, 2*k)))
		elems = append(elems, leb(imp), leb(by))
		use(fmt.Sprint("import ", t), cat(calls(imp), taken(t)))
		use(fmt.Sprint("direct ", t), cat(calls(direct), taken(t)))
		use(fmt.Sprint("indirect ", t), cat(indirect(k, 2*k+1), taken(t)))
		use(fmt.Sprint("indirect import ", t), cat(indirect(k, 2*k), taken(t)))
	}
	types = append(types, typeOf(meta.FuncType{Params: vt{xref}, Results: vt{xref}}))
	return module(sectionOf(1, types...), sectionOf(2, imports...), sectionOf(3, funcs...),
		sectionOf(4, cat([]byte{0x6F, 0}, leb(1)), cat([]byte{0x70, 0}, leb(2*n))),
		sectionOf(5, []byte{0, 1}),
		sectionOf(7, exports...),
		sectionOf(9, cat([]byte{2, 1}, num(0), end, []byte{0}, vec(elems...))),
		sectionOf(10, codes...)), names
}

// TestCallsKeepRefs: a reference lives across whatever may collect, however that is called and whatever it returns. The
// references that calls return arrive.
func TestCallsKeepRefs(t *testing.T) {
	for _, alive := range []int{1, 2, 20} {
		wasm, names := callsModule(alive)
		for _, level := range []opt.Level{opt.O0, opt.O1} {
			h := newRefHost(t, inproc.Config{CollectAlways: true}, torture(), opt.O1)
			for k, results := range callKinds {
				f, err := h.s.NewHostFunc(meta.FuncType{Results: results}, func(_ *inproc.Caller, _, out []uint64) error {
					for i, r := range results {
						if r == xref {
							out[i] = h.newRef(returned)
						}
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				h.imps[fmt.Sprint("kind", k)] = f
			}
			in, err := h.instantiate(wasm, level)
			if err != nil {
				t.Fatal(err)
			}
			for i, what := range names {
				f, err := in.Func(what)
				if err != nil {
					t.Fatal(err)
				}
				base := uint64(1000 * i)
				res := []uint64{0}
				err = f.Call([]uint64{base}, res)
				if err == nil {
					err = h.check(res[0], base)
				}
				if err != nil {
					t.Errorf("%s, %d alive, O%d: %v", what, alive, level, err)
				}
			}
		}
	}
}
