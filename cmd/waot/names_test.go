package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
)

// TestNamesOneLine: a function whose name would break the line, or steer the terminal, is quoted wherever an error names it.
func TestNamesOneLine(t *testing.T) {
	const name = "a\nwaot: all is well\x1b[2J"
	fn := uint32(3)
	for _, text := range []string{
		(&compile.FuncError{Func: 3, Name: name, Stage: "opt", Err: errors.New("x")}).Error(),
		(&inproc.Trap{Name: name, Backtrace: make([]inproc.Frame, 1)}).Error(),
		(&problem{Kind: "trap", Func: &fn, Name: name, Reason: "x"}).String(),
		(&problem{Kind: "trap", Name: name, Reason: "x"}).String(),
	} {
		if strings.ContainsAny(text, "\n\x1b") || !strings.Contains(text, `a\x0awaot: all is well\x1b[2J`) {
			t.Errorf("%q", text)
		}
	}
}
