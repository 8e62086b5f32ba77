package opt

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/text"
)

// vectorCases are functions of vectors for what no row says: types of parameters, of the result, instructions, and these afterwards.
var vectorCases = []struct{ name, params, result, src, want string }{
	{"fold-vector", "", "v128",
		"v0 = vconst.v128 0x01020304; v1 = iconst.i32 255; v2 = vsplat.i8x16 v1; v3 = vadd.i8x16 v0, v2; return v3",
		"v5 = vconst.v128 0xffffffffffffffffffffffff00010203; return v5"},
	{"fold-vector to a scalar", "", "i32",
		"v0 = vconst.v128 0x80; v1 = vextract_s.i8x16 v0, 0; return v1",
		"v2 = iconst.i32 -128; return v2"},
	{"fold-vector to a float", "", "f64",
		"v0 = vconst.v128 0x3ff00000000000000000000000000000; v1 = vextract.f64x2 v0, 1; return v1",
		"v2 = fconst.f64 0x3ff0000000000000; return v2"},
	{"no fold to a computed NaN", "", "v128",
		"v0 = vconst.v128 0x7f800000; v1 = vfsub.f32x4 v0, v0; return v1",
		"v0 = vconst.v128 0x0000000000000000000000007f800000; v1 = vfsub.f32x4 v0, v0; return v1"},
	{"bits of a bitmask", "v128", "i32",
		"v1 = vbitmask.i8x16 v0; v2 = iconst.i32 65535; v3 = band.i32 v1, v2; return v3",
		"v1 = vbitmask.i8x16 v0; return v1"},
	{"bits of a lane", "v128", "i32",
		"v1 = vextract.i8x16 v0, 3; v2 = iconst.i32 255; v3 = band.i32 v1, v2; return v3",
		"v1 = vextract.i8x16 v0, 3; return v1"},
	{"truth of a vector", "v128", "i32",
		"v1 = vany_true.v128 v0; v2 = iconst.i32 0; v3 = icmp.i32 ne, v1, v2; return v3",
		"v1 = vany_true.v128 v0; return v1"},
}

// vectorFunc returns the function of case i.
func vectorFunc(t *testing.T, i int) *clif.Func {
	c := &vectorCases[i]
	var params []string
	for k, p := range strings.Split(c.params, ", ") {
		if p != "" {
			params = append(params, fmt.Sprintf("v%d: %s", k, p))
		}
	}
	file, err := text.Parse(fmt.Sprintf("function \"f\" (%s) -> (%s) {\nblock0(%s):\n%s\n}\n", c.params, c.result,
		strings.Join(params, ", "), strings.ReplaceAll(c.src, "; ", "\n")))
	if err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	return file.Funcs[0].Func
}

// TestVectorRules checks what the rules make of each case, and that it gives the same. TestRows tries the rows.
func TestVectorRules(t *testing.T) {
	var o Optimizer
	r := rand.New(rand.NewPCG(1, 7))
	for i := range vectorCases {
		c := &vectorCases[i]
		f := vectorFunc(t, i)
		g := optimized(t, &o, f)
		if os.Getenv("SHOW") != "" {
			fmt.Printf("%s\t%s\n", c.name, body(g))
		} else if d := cmp.Diff(strings.Split(c.want, "; "), strings.Split(body(g), "; ")); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
		before, after := newWorld(t, f), newWorld(t, g)
		for range 100 {
			in := inputs(r, f)
			if a, b := before.call(t, in), after.call(t, in); a != b {
				t.Fatalf("%s: f(%#x): %s before, %s after\n%v\n%v", c.name, in, a, b, f, g)
			}
		}
	}
}
