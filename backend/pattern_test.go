package backend

import (
	"errors"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/pattern"
)

// TestWrongPatterns: a pattern that is wrong is refused, with a message that says where.
func TestWrongPatterns(t *testing.T) {
	words := Vocabulary{Loads: []clif.Opcode{clif.OpLoad}}
	for _, c := range []struct{ pattern, when, message string }{
		{"(iadd x y)", "", ""},
		{"(iadd (only (ishl x k)) [y:1])", "", ""},
		{"(iadd x x)", "", "two operands are x"},
		{"(iadd x [x])", "", "two operands are x"},
		{"(iadd (ishl x k) k)", "", "two operands are k"},
		{"(iad x y)", "", "no opcode \"iad\""},
		{"(icmp:lt x y)", "", "no condition \"lt\""},
		{"(iadd.i16 x y)", "", "no type \"i16\""},
		{"(iadd x v)", "", "what is \"v\"?"},
		{"(iadd x [v])", "", "what is \"v\"?"},
		{"(iadd x [y:3])", "", "no width \"3\""},
		{"(iadd x y:odd)", "", "no property \"odd\""},
		{"(iadd x k:odd)", "", "no property \"odd\""},
		{"(iadd x y)", "odd", "no guard \"odd\""},
		{"(iadd x (only y))", "", "only an instruction can have no other user"},
		{"(iadd x [y)", "", "] expected"},
		{"(iadd x y) z", "", "\" z\" is left"},
		{"(iadd x y z w)", "", "4 operands"},
		{"(iadd x y=(ishl z k))", "", "no use for the result y"},
		{"x", "", "an instruction must be outside"},
		{"(iadd~ x y)", "", "each order of operands is a row of its own"},
		{"(clz~ x)", "", "nothing to exchange"},
		{"(iadd x (ishl.same y z))", "", "lowering does not compare types"},
	} {
		compiler := newPatternCompiler(&words)
		_, err := compiler.compile(&RuleDef{Pattern: c.pattern, When: c.when})
		switch {
		case c.message == "":
			if err != nil {
				t.Errorf("%s: %v", c.pattern, err)
			}
		case !errors.Is(err, pattern.ErrWrong) || !strings.Contains(err.Error(), c.message):
			t.Errorf("%s: the error is %v, want %q", c.pattern, err, c.message)
		}
	}
}
