package compile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/wasmfront/wat"
)

// functions returns a module of n functions with a loop, accesses, calls and more values than registers.
func functions(t *testing.T, n int) []byte {
	var b strings.Builder
	b.WriteString("(module (memory 1) (table (export \"t\") funcref (elem")
	for i := range n {
		fmt.Fprintf(&b, " %d", i+1)
	}
	b.WriteString("))\n(func $leaf (export \"leaf\") (param i32) (result i32) (call $leaf (local.get 0)))\n")
	for i := range n {
		b.WriteString("(func (param i32 i32) (result i32) (local i32)\n(loop\n")
		for k := range 20 {
			fmt.Fprintf(&b, "(local.set 2 (i32.add (local.get 2) (i32.load offset=%d (local.get 0))))\n", 4*k+i)
			fmt.Fprintf(&b, "(i32.store offset=%d (local.get 1) (i32.mul (local.get 2) (call $leaf (i32.load offset=%d (local.get 2)))))\n", 8*k+i, k)
		}
		b.WriteString("(br_if 0 (i32.lt_u (local.tee 0 (i32.add (local.get 0) (i32.const 4))) (local.get 1))))\n(local.get 2))\n")
	}
	b.WriteString(")")
	m, err := wat.Assemble([]byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	return m.Wasm
}

// TestAllocations: once the tables have grown, the stages allocate nothing for one more function; the linker needs the name of its symbol and
// the rules of the registers that it saves.
func TestAllocations(t *testing.T) {
	const few, many = 100, 300
	for _, target := range compile.Targets() {
		allocs := func(n int) float64 {
			m := functions(t, n)
			return testing.AllocsPerRun(3, func() {
				if _, err := compile.Module(m, compile.Options{Jobs: 1, OptLevel: opt.O1, Target: target}); err != nil {
					t.Fatal(err)
				}
			})
		}
		each := (allocs(many) - allocs(few)) / (many - few)
		if each > 3 {
			t.Errorf("%s: %.1f allocations for each function", target, each)
		}
	}
}
