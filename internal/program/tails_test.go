//go:build linux

package program_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/program"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// TestTailReports: what has ended in a tail call is in no report, inlined or not, and where a tail call needs more stack than there is, its function and its caller are.
func TestTailReports(t *testing.T) {
	const params = 900 // which are more than a page
	i64s, zeros := strings.Repeat("i64 ", params), strings.Repeat("(i64.const 0) ", params-1)
	growing := `(module (memory (export "memory") 1) (type $f (func (param i64) (result i64))) (type $w (func (param ` + i64s + `) (result i64)))
		(table funcref (elem $grow0 $grow1 $down0 $down1 $wide0 $wide1))
		(func $wide0 (type $w) (return_call_indirect (type $f) (local.get 0) (i32.const 3)))
		(func $wide1 (type $w) (return_call_indirect (type $f) (local.get 0) (i32.const 2)))
		(func $grow0 (type $f) (return_call_indirect (type $w) (local.get 0) ` + zeros + ` (i32.const 4)))
		(func $grow1 (type $f) (return_call_indirect (type $w) (local.get 0) ` + zeros + ` (i32.const 5)))
		(func $down0 (type $f) (i64.add (i64.const 1) (call_indirect (type $f) (local.get 0) (i32.const 0))))
		(func $down1 (type $f) (i64.add (i64.const 1) (call_indirect (type $f) (local.get 0) (i32.const 1))))
		(func $pad (type $f) (if (i64.eqz (local.get 0)) (then (return (call_indirect (type $f) (i64.const 0) (i32.const 2)))))
			(i64.add (i64.const 1) (call $pad (i64.sub (local.get 0) (i64.const 1)))))
		(func (export "_start") (drop (call $pad (i64.const PAD)))))`
	frame := regexp.MustCompile(`(?m)^ +\d+: function (\d+) `)
	report := func(target string, level opt.Level, text string) (frames []string) {
		m := machine(t, target)
		b, err := linkAs(compile.Options{Target: target, Name: "prog", OptLevel: level}, wasm(t, text), new(program.Options))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range frame.FindAllStringSubmatch(run(t, m, "", write(t, b)).stderr, 3) {
			frames = append(frames, f[1])
		}
		return frames
	}
	// Functions 2 and 3 grow, 4 and 5 call them.
	orders := [][]string{{"2", "4", "5"}, {"3", "5", "4"}, {"4", "5", "4"}, {"5", "4", "5"}}
	for _, target := range compile.Targets() {
		for pad := 0; pad < 12; pad += testenv.Cases(1, 4, 1) {
			got := report(target, 1, strings.Replace(growing, "PAD", fmt.Sprint(37*pad), 1))
			if !slices.ContainsFunc(orders, func(o []string) bool { return slices.Equal(o, got) }) {
				t.Errorf("%s: with %d calls around, the report begins with functions %s", target, 37*pad, got)
			}
		}
		for level := range opt.Level(2) {
			got := report(target, level, `(module (memory (export "memory") 1)
				(func $leaf (param i32) (i32.store (i32.const -1) (local.get 0)))
				(func $middle (param i32) (return_call $leaf (i32.add (local.get 0) (i32.const 1))))
				(func $first (param i32) (return_call $middle (i32.add (local.get 0) (i32.const 1))))
				(func (export "_start") (call $first (i32.const 1))))`)
			if !slices.Equal(got, []string{"0", "3"}) {
				t.Errorf("%s: functions %s at level %d", target, got, level)
			}
		}
	}
}
