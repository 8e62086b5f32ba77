package opt

import (
	"fmt"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif/text"
)

// TestObjectsOnEdges: fields do not become arguments on ever so many edges.
func TestObjectsOnEdges(t *testing.T) {
	const tables, labels, fields = 120, 120, 150
	var b strings.Builder
	fmt.Fprintf(&b, "type0 struct [%s]\n", strings.TrimSuffix(strings.Repeat("mut i32, ", fields), ", "))
	b.WriteString("function fn0 \"f\" (i32) -> (i32) {\nblock0(v0: i32):\n    v1 = struct_new.ref type0\n    jump block1\n")
	var targets []string
	for j := range labels {
		targets = append(targets, fmt.Sprintf("block%d", 1+tables+j))
	}
	for k := range tables {
		fmt.Fprintf(&b, "block%d:\n    br_table v0, [%s]\n", 1+k, strings.Join(targets, ", "))
	}
	v := 2
	for j := range labels {
		fmt.Fprintf(&b, "block%d:\n", 1+tables+j)
		for f := range fields {
			fmt.Fprintf(&b, "    v%d = struct_get.i32 type0, field%d, v1\n    v%d = iadd.i32 v%d, v0\n    struct_set.i32 type0, field%d, v1, v%d\n", v, f, v+1, v, (f+j)%fields, v+1)
			v += 2
		}
		if j == 0 {
			fmt.Fprintf(&b, "    return v%d\n", v-1)
		} else {
			fmt.Fprintf(&b, "    jump block%d\n", 1+j%tables)
		}
	}
	b.WriteString("}\n")
	file, err := text.Parse(b.String())
	if err != nil {
		t.Fatal(err)
	}
	f := file.Funcs[0].Func
	before := len(f.Pool) + len(f.Values)
	var o Optimizer
	if err := o.Run(f, O1); err != nil {
		t.Fatal(err)
	}
	if grown := len(f.Pool) + len(f.Values) - before; grown > 2*maxVarPlaces {
		t.Errorf("%d values and arguments more than %d", grown, before)
	}
}
