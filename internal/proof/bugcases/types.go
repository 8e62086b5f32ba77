package bugcases

import (
	"fmt"
	"strings"

	"github.com/waot-project/waot/internal/proof/compare"
	"github.com/waot-project/waot/internal/proof/wat"
)

// FuncTypes are types that each differ from another one in one place.
var FuncTypes = []string{"_", "i_", "l_", "f_", "d_", "ii_", "il_", "li_", "r_", "x_", "_i", "_l", "_f", "_d", "_r", "_x", "i_i", "i_l", "l_i", "ii_ii", "iiiiiiiiii_i", "iiiiiiiii_i", "_iiii", "_iii", "d_dd"}

// constants gives a value of each type.
func constants(ts string) string {
	s := ""
	for i, t := range []byte(ts) {
		switch t {
		case 'r':
			s += "(ref.null func)"
		case 'x':
			s += "(ref.null extern)"
		default:
			s += fmt.Sprintf("(%s.const %d)", wat.TypeName(t), i+40)
		}
	}
	return s
}

// TypePair has a module with a table of functions, one of each type, and a second module that has the types in another
// order. The second one calls each function as every type, through the first one's table and through its own copy: the
// call is made if the types are equal, and traps if not. Different shifts give different orders.
func TypePair(shift int) *compare.Case {
	var one, two compare.Builder
	refs := ""
	n := len(FuncTypes)
	for k, ts := range FuncTypes {
		params, results, _ := strings.Cut(ts, "_")
		fmt.Fprintf(&one, "(func $f%d %s %s %s)\n", k, wat.Types("param", params), wat.Types("result", results), constants(results))
		refs += fmt.Sprintf(" $f%d", k)
		other := FuncTypes[(k*7+3+shift)%n]
		params, results, _ = strings.Cut(other, "_")
		fmt.Fprintf(&two, "(type $u%d (func %s %s))\n", k, wat.Types("param", params), wat.Types("result", results))
		for _, table := range []string{"$theirs", "$ours"} {
			name := other + " through " + table
			fmt.Fprintf(&two, "(func (export %q) (param i32) %s (call_indirect %s (type $u%d) %s (local.get 0)))\n", name, wat.Types("result", results), table, k, constants(params))
			for i := range uint64(n + 4) {
				two.Calls = append(two.Calls, compare.Call{Module: 1, Func: name, Args: []uint64{i}})
			}
		}
	}
	return &compare.Case{Calls: two.Calls, Modules: []compare.Module{
		{Name: "owner", Text: fmt.Sprintf(`(module (table (export "table") %d funcref) (elem (i32.const 0) func %s) (func (export "exported") (result i32) (i32.const 44)) %s)`, n+3, refs, one.String())},
		{Text: fmt.Sprintf(`(module (import "owner" "table" (table $theirs %d funcref)) (import "owner" "exported" (func $e (result i32))) (import "host" "i_i" (func $h (param i32) (result i32)))
			(table $ours %[1]d funcref) (func $s (table.copy $ours $theirs (i32.const 1) (i32.const 0) (i32.const %[2]d))) (start $s)
			(elem (i32.const %[3]d) func $e $h) %[4]s)`, n+3, n+2, n, two.String())},
	}}
}
