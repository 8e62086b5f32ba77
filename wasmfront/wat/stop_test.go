package wat

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/waot-project/waot/internal/proof/cputime"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/internal/stop"
)

// numbered is n pieces with their numbers in them.
func numbered(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// longTexts are texts of n of something; some are refused.
var longTexts = []struct {
	name string
	text func(n int) string
}{
	{"parentheses", func(n int) string { return "(module (func " + strings.Repeat("(", n) }},
	{"folded", func(n int) string {
		return "(module (func (result i32) " + strings.Repeat("(i32.eqz ", n) + "(i32.const 1)" + strings.Repeat(")", n) + "))"
	}},
	{"labels", func(n int) string {
		return "(module (func " + numbered(n, "(block $b%d ") + strings.Repeat("br $b0 ", n) + strings.Repeat(")", n) + "))"
	}},
	{"ifs", func(n int) string {
		return "(module (func " + strings.Repeat("(if (i32.const 1) (then ", n) + strings.Repeat("))", n) + "))"
	}},
	{"annotations", func(n int) string { return "(module " + strings.Repeat(`(@a "x" (b c) 1 2) `, n) + ")" }},
	{"annotations in each other", func(n int) string { return "(module " + strings.Repeat("(@a ", n) + strings.Repeat(")", n) + ")" }},
	{"an annotation's name", func(n int) string { return "(module (@" + strings.Repeat("a", 4*n) + "))" }},
	{"a word in an annotation", func(n int) string { return "(module (@a " + strings.Repeat("a", 4*n) + "))" }},
	{"comments in each other", func(n int) string { return "(module " + strings.Repeat("(;", n) + strings.Repeat(";)", n) + ")" }},
	{"a comment", func(n int) string { return "(module (;" + strings.Repeat("é", 2*n) + ";))" }},
	{"a comment's line", func(n int) string { return "(module ;;" + strings.Repeat("é", 2*n) + "\n)" }},
	{"lines", func(n int) string { return "(module\n" + strings.Repeat("\n", 4*n) + "x" }},
	{"a line", func(n int) string { return "(module " + strings.Repeat(" ", 4*n) + "x)" }},
	{"names", func(n int) string {
		return "(module " + numbered(n, "(func $f%d)") + "(func " + numbered(n, "call $f%d ") + "))"
	}},
	{"locals", func(n int) string {
		return "(module (func " + numbered(n, "(local $x%d i32)") + numbered(n, "local.get $x%d drop ") + "))"
	}},
	{"types of locals", func(n int) string { return "(module (func (local " + strings.Repeat("i32 ", n) + ")))" }},
	{"types", func(n int) string { return "(module " + numbered(n, "(type $t%d (func (param i32 i64)))") + ")" }},
	{"a recursion group", func(n int) string {
		return "(module (rec " + numbered(n, "(type $t%[1]d (sub (struct (field $x (ref $t%[1]d)))))") + "))"
	}},
	{"fields", func(n int) string { return "(module (type (struct (field " + strings.Repeat("i8 ", n) + "))))" }},
	{"names of fields", func(n int) string {
		return "(module (type $s (struct " + numbered(n, "(field $x%d i32)") + ")) (func " + numbered(n, "struct.get $s $x%d ") + "))"
	}},
	{"names in many structures", func(n int) string { return "(module " + strings.Repeat("(type (struct (field $x i8)))", n) + ")" }},
	{"supertypes", func(n int) string { return "(module (type (sub " + strings.Repeat("0 ", n) + "(func))))" }},
	{"imports", func(n int) string { return "(module " + numbered(n, `(func $i%d (import "a" "b") (param i32))`) + ")" }},
	{"exports", func(n int) string { return "(module (func " + numbered(n, `(export "e%d")`) + "))" }},
	{"elements", func(n int) string {
		return "(module (table funcref (elem " + strings.Repeat("$f ", n) + ")) (func $f))"
	}},
	{"expressions", func(n int) string {
		return "(module (table funcref (elem " + strings.Repeat("(item ref.func $f) ", n) + ")) (func $f))"
	}},
	{"segments", func(n int) string {
		return "(module (memory 1) " + strings.Repeat(`(data (i32.const 0) "a")`, n) + ")"
	}},
	{"strings", func(n int) string {
		return "(module (memory 1) (data (i32.const 0) " + strings.Repeat(`"a" `, n) + "))"
	}},
	{"a string", func(n int) string {
		return "(module (memory 1) (data (i32.const 0) \"" + strings.Repeat(`\00`, n) + "\"))"
	}},
	{"a string without escapes", func(n int) string { return "(module (memory (data \"" + strings.Repeat("a", 4*n) + "\")))" }},
	{"a code point", func(n int) string { return "(module (memory (data \"\\u{" + strings.Repeat("0", 4*n) + "}\")))" }},
	{"a decimal number", func(n int) string { return "(module (func (drop (f64.const " + strings.Repeat("1", 4*n) + "))))" }},
	{"a hexadecimal number", func(n int) string {
		return "(module (func (drop (f64.const 0x1." + strings.Repeat("f", 4*n) + "p-1022))))"
	}},
	{"an offset", func(n int) string {
		return "(module (memory 1) (func (drop (i32.load offset=" + strings.Repeat("0", 4*n) + "1 (i32.const 1)))))"
	}},
	{"a keyword", func(n int) string { return "(module (" + strings.Repeat("a", 4*n) + "))" }},
	{"an identifier", func(n int) string {
		return "(module (func $" + strings.Repeat("a", n) + ") (export \"a\" (func $" + strings.Repeat("a", n) + ")))"
	}},
	{"a quoted identifier", func(n int) string { return "(module (func $\"" + strings.Repeat(`\u{10ffff}`, n) + "\"))" }},
	{"a name", func(n int) string { return "(module (func (export \"" + strings.Repeat(`\u{10ffff}`, n) + "\")))" }},
	{"a table of branches", func(n int) string {
		return "(module (func (block $a (br_table " + strings.Repeat("$a ", n) + "(i32.const 0)))))"
	}},
	{"custom sections", func(n int) string { return "(module " + numbered(n, `(@custom "s%d" (after func) "x")`) + ")" }},
	{"quoted", func(n int) string { return "(module quote \"(func " + strings.Repeat("nop ", n) + ")\")" }},
}

// TestPolls: whatever a text has much of, no part of translating it goes on for long without a poll, and the poll ends it.
func TestPolls(t *testing.T) {
	n := testenv.Cases(5_000, 20_000, 500_000)
	most := testenv.Slow(50 * time.Millisecond)
	for _, c := range longTexts {
		t.Run(c.name, func(t *testing.T) {
			text := []byte(c.text(n))
			longest, polls := gaps(text)
			for range 4 { // the processor time is also that of collections, and that of others on a busy machine
				if longest >= most {
					again, _ := gaps(text)
					longest = min(longest, again)
				}
			}
			if longest >= most {
				t.Errorf("%d bytes: %v between two polls", len(text), longest)
			}
			for _, at := range []int{1, polls / 2, polls} {
				if err := endAt(text, at); !errors.Is(err, stop.Stopped{}) {
					t.Errorf("ended at poll %d of %d: %v", at, polls, err)
				}
			}
		})
	}
}

// gaps returns the longest processor time between two polls while a text is translated, and the number of polls.
func gaps(text []byte) (longest time.Duration, polls int) {
	last, lastUsed := time.Now(), cputime.Used()
	look := func() {
		// The clock is cheaper to read than the processor time, and at most as much as it says counts.
		wall := time.Since(last)
		if polls++; polls%512 != 0 && wall < longest {
			last = time.Now()
			return
		}
		used := cputime.Used()
		longest = max(longest, min(wall, used-lastUsed))
		last, lastUsed = time.Now(), used
	}
	var flag stop.Flag
	flag.Observe(look)
	AssembleUntil(text, &flag)
	look()
	return longest, polls - 1
}

// endAt translates a text until that poll.
func endAt(text []byte, poll int) (err error) {
	defer stop.Recover(&err)
	var flag stop.Flag
	n := 0
	flag.Observe(func() {
		if n++; n == poll {
			flag.Set()
		}
	})
	_, err = AssembleUntil(text, &flag)
	return err
}

// TestLongWord: a word may be long, but not endless.
func TestLongWord(t *testing.T) {
	for _, n := range []int{maxWord - 1, maxWord} {
		m, err := Assemble([]byte("(module (func (drop (i32.const 0" + strings.Repeat("0", n-1) + "))))"))
		if err != nil || len(m.Wasm) == 0 {
			t.Errorf("%d digits: %v", n, err)
		}
	}
	var refused *Error
	if _, err := Assemble([]byte("(module (func (drop (i32.const " + strings.Repeat("0", maxWord+1) + "))))")); !errors.As(err, &refused) || refused.Msg != "word too long" {
		t.Error(err)
	}
}
