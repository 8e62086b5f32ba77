package backend

import (
	"slices"
	"testing"
)

// TestSettle: what is marked behind a branch that was cut begins where the branch began.
func TestSettle(t *testing.T) {
	marks := []Mark{{Offset: 0, Inst: 1}, {Offset: 8, Inst: 2}, {Offset: 12, Inst: 3}, {Offset: 8, Inst: 4}, {Offset: 20, Inst: 5}}
	settle(marks, 16)
	if want := []Mark{{Offset: 0, Inst: 1}, {Offset: 8, Inst: 2}, {Offset: 8, Inst: 3}, {Offset: 8, Inst: 4}, {Offset: 16, Inst: 5}}; !slices.Equal(marks, want) {
		t.Errorf("%v, want %v", marks, want)
	}
}
