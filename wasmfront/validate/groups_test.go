package validate_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/validate"
)

// TestGroups: recursion groups of no type and of one are read; others, and forms of types that belong to garbage collection, are refused by its name.
func TestGroups(t *testing.T) {
	const void, rec = "\x60\x00\x00", "\x4e"
	for _, c := range []struct {
		types string // of the section
		want  int    // types; -1 if it is refused
	}{
		{"\x00", 0}, {"\x01" + rec + "\x00", 0}, {"\x03" + rec + "\x00" + rec + "\x01" + void + rec + "\x00", 1}, {"\x02" + void + rec + "\x01" + void, 2},
		{"\x01" + rec + "\x02" + void + void, -1}, {"\x01" + rec + "\xff\xff\xff\xff\x0f", -1}, {"\x01" + rec + "\x01" + "\x50\x00" + void, -1}, {"\x01" + rec + "\x01" + rec + "\x01" + void, -1},
		{"\x01" + rec + "\x01\x5f\x00", -1},
	} {
		m, err := validate.All(module(section(1, c.types)), validate.Config{})
		var e *wasmfront.Error
		switch {
		case c.want < 0:
			if !errors.As(err, &e) || e.Feature != "gc" {
				t.Errorf("%x: %v", c.types, err)
			}
		case err != nil || len(m.Types) != c.want:
			t.Errorf("%x: %d types, %v", c.types, len(m.Types), err)
		}
	}
}

// TestManyTypes: comparing types takes time and memory in proportion to the module, however they refer to each other.
func TestManyTypes(t *testing.T) {
	const n = 20_000
	types := make([]string, n)
	types[0] = "\x60\x00\x00"
	for i := 1; i < n; i++ {
		ref := "\x64" + string(sleb(i-1))
		types[i] = "\x60\x08" + strings.Repeat(ref, 8) + "\x00"
	}
	last := string(sleb(n - 1))
	b := module(section(1, vec(append(types, "\x60\x01\x64"+last+"\x01\x64"+last)...)), section(3, vec(string(uleb(n)))), section(10, vec("\x04\x00\x20\x00\x0b")))
	m, err := validate.All(b, validate.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if !m.SameType(5, 5) || m.SameType(5, 6) || m.SameType(n-1, n-2) {
		t.Error("types that refer to others are taken for equal")
	}
}

// sleb encodes a number that is not negative.
func sleb(x int) (b []byte) {
	for ; x > 63; x >>= 7 {
		b = append(b, byte(x)|0x80)
	}
	return append(b, byte(x))
}
