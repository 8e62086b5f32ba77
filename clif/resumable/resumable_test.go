package resumable

import (
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/analysis"
	"github.com/waot-project/waot/clif/text"
)

// parse returns the function of a text, and its CFG.
func parse(t *testing.T, body string) (*clif.Func, *analysis.CFG) {
	t.Helper()
	m, err := text.Parse("function \"f\" (i32, i32) -> (i32) {\n" + body + "\n}\n")
	if err != nil {
		t.Fatal(err)
	}
	var cfg analysis.CFG
	cfg.Compute(m.Funcs[0].Func)
	return m.Funcs[0].Func, &cfg
}

// TestMark: a table is marked if its index is the function's own parameter, straight from the entry, and most entries have another way in.
func TestMark(t *testing.T) {
	const (
		shared = `
block1(v2: i32):
    br_table v2, [block2, block3, block4]
block2:
    br v1, block3, block4
block3:
    return v0
block4:
    return v1`
		unshared = `
block1(v2: i32):
    br_table v2, [block2, block3, block4]
block2:
    return v2
block3:
    return v0
block4:
    return v1`
	)
	for _, c := range []struct {
		name, body string
		want       bool
	}{
		{"the choice where to resume", "block0(v0: i32, v1: i32):\n jump block1(v0)" + shared, true},
		{"a switch on a parameter", "block0(v0: i32, v1: i32):\n jump block1(v0)" + unshared, false},
		{"a sum", "block0(v0: i32, v1: i32):\n v9 = iadd.i32 v0, v1\n jump block1(v9)" + shared, false},
		{"two ways to the table", "block0(v0: i32, v1: i32):\n br v1, block1(v0), block1(v1)" + shared, false},
		{"not from the entry", "block0(v0: i32, v1: i32):\n jump block8\nblock8:\n jump block1(v0)" + shared, false},
	} {
		f, cfg := parse(t, c.body)
		if got := Table(f, cfg); got != clif.NoBlock {
			t.Fatalf("%s: block %v has a table already", c.name, got)
		}
		Mark(f, cfg, 1)
		if got := Table(f, cfg) == 1; got != c.want {
			t.Errorf("%s: marked %v, want %v", c.name, got, c.want)
		}
	}
}

// TestFromEntry: a body begins with a table of which all entries but the first are rare, trap or lead to the same place.
func TestFromEntry(t *testing.T) {
	const rest = "\nblock1:\n return v0\nblock2:\n return v1\nblock3:\n trap unreachable"
	for _, c := range []struct {
		name, first string
		want        bool
	}{
		{"rare entries", "br_table v0, [block1, block2, block3] rare", true},
		{"entries that trap", "br_table v0, [block1, block3, block3]", true},
		{"one place", "br_table v0, [block1, block1]", true},
		{"a choice", "br_table v0, [block1, block2, block3]", false},
		{"a trap first", "br_table v0, [block3, block1]", false},
		{"a branch", "br v0, block1, block3", false},
	} {
		if f, _ := parse(t, "block0(v0: i32, v1: i32):\n "+c.first+rest); FromEntry(f) != c.want {
			t.Errorf("%s: %v, want %v", c.name, !c.want, c.want)
		}
	}
}

// TestRareSide: a check whose failure calls what unwinds rarely fails. That block order follows this is tested there, with all shapes.
func TestRareSide(t *testing.T) {
	const rest = `
block1:
    v20 = iconst.i64 1
    v21 = call fn0(v20, v0)
    br v21, block3, block2
block2:
    return v0
block3:
    return v1`
	for _, c := range []struct {
		name, check string
		want        int
	}{
		{"null", "v10 = iconst.i64 0\n v11 = icmp.i64 eq, v0, v10\n br v11, block1, block2", 0},
		{"not null, the other way", "v10 = iconst.i64 0\n v11 = icmp.i64 ne, v0, v10\n br v11, block2, block1", 1},
		{"not null", "v10 = iconst.i64 0\n v11 = icmp.i64 ne, v0, v10\n br v11, block1, block2", -1},
	} {
		m, err := text.Parse("function \"f\" (i64, i64) -> (i64) {\nblock0(v0: i64, v1: i64):\n " + c.check + rest + "\n}\n")
		if err != nil {
			t.Fatal(err)
		}
		f := m.Funcs[0].Func
		if got := RareSide(f, &f.Insts[f.Terminator(f.Entry())]); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
