package machbuffer

import (
	"fmt"
	"testing"
)

// TestMove moves a label to a place in a line. What stands in front of it and behind it, and how a use leads past it, are given as text of the code.
func TestMove(t *testing.T) {
	for _, c := range []struct {
		what          string
		before, place uint32
		want          uint32 // where the label is
		behind        string
		end           uint32 // of that
	}{
		{"to where it is", 16, 16, 16, "jmp8 L; ret", 19},
		{"on in its line", 16, 20, 20, "jmp8 L; ret", 23},
		{"to the next place of another start", 16, 15, 31, "jmp8 L; ret", 34},
		{"back over its padding", 10, 12, 12, "jmp8 L; ret", 15},
		{"as far as a use reaches", 16, 20, 20, "nops 121; jmp8 K; ret", 144},
	} {
		a := newAsm(t)
		a.text(fmt.Sprintf("nops %d; K:", c.before-1))
		a.text("nop")
		l := a.label("L")
		a.BindAligned(l, 16)
		a.text(c.behind)
		a.BindAligned(a.label("M"), 16)
		a.text("jmp8 M")
		moves, ok := a.Move([]Place{{l, c.place}})
		if !ok {
			t.Fatalf("%s: not moved", c.what)
		}
		if err := a.CheckInvariants(); err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
		from := alignUp(c.before, 16)
		if moves.End(c.before) != c.before || moves.Begin(from) != c.want || moves.Begin(from+1) != c.want+1 || moves.End(from+1) != c.want+1 {
			t.Errorf("%s: moves are %v", c.what, moves)
		}
		r, err := a.Finish()
		if err != nil {
			t.Fatal(err)
		}
		at, _ := a.LabelOffset(l)
		next, _ := a.LabelOffset(a.label("M"))
		if at != c.want || next != alignUp(c.end, 16) || len(r.Code) != int(next)+2 || r.Starts&(r.Starts-1) != 0 || (at+r.Starts.First())%CacheLine != c.place {
			t.Errorf("%s: labels at %d and %d; code of %d bytes, starts %04b", c.what, at, next, len(r.Code), r.Starts)
		}
	}
}

// TestMoveRefused: nothing moves that cannot.
func TestMoveRefused(t *testing.T) {
	a := newAsm(t)
	a.text("nop; L: ret")
	if _, ok := a.Move([]Place{{a.label("L"), 7}}); ok {
		t.Error("a label that is not aligned has moved")
	}
	a = newAsm(t)
	a.text("nops 15; K: nop")
	a.BindAligned(a.label("L"), 16)
	a.text("nops 121; jmp8 K; ret")
	if _, ok := a.Move([]Place{{a.label("L"), 21}}); ok {
		t.Error("a branch that would not reach its label has moved")
	}
	a = newAsm(t)
	a.limit = 100
	a.text("nops 50")
	a.BindAligned(a.label("L"), 16)
	a.text("ret")
	if _, ok := a.Move([]Place{{a.label("L"), 1}}); ok {
		t.Error("the code may have become too large")
	}
}
