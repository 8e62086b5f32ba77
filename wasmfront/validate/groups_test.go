package validate_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/validate"
)

// TestGroups: without garbage collection, recursion groups of no type and of one are read; others, and forms of types that belong to garbage collection, are refused by its name.
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
		m, err := validate.All(module(section(1, c.types)), validate.Config{Features: wasmfront.DefaultFeatures &^ wasmfront.FeatureGC})
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

// TestTypes: forms of types, and groups of them, with garbage collection.
func TestTypes(t *testing.T) {
	const void, rec, bytes, empty = "\x60\x00\x00", "\x4e", "\x5e\x78\x01", "\x5f\x00"
	const open = "\x50\x00"
	for _, c := range []struct {
		types string // of the section
		want  int
		msg   string
	}{
		{"\x01" + rec + "\x02" + void + void, 2, ""},
		{"\x03" + void + rec + "\x00" + bytes, 2, ""},
		{"\x01" + rec + "\x02\x5f\x01\x64\x01\x00" + bytes, 2, ""}, // the second one, from the first
		{"\x01\x5f\x01\x63\x00\x01", 1, ""},
		{"\x02" + rec + "\x02" + open + empty + "\x50\x01\x00\x5f\x01\x77\x00" + "\x4f\x01\x01\x5f\x01\x77\x00", 3, ""},
		{"\x02" + open + "\x5e\x63\x6d\x00" + "\x50\x01\x00\x5e\x64\x6c\x00", 2, ""}, // what is only read may say more

		{"\x01" + rec + "\x02" + void, 0, "unexpected end"},
		{"\x01" + rec + "\x03" + open + "\x5f\x01\x64\x01\x00" + "\x50\x01\x00\x5f\x01\x64\x02\x00" + "\x00", 0, "malformed form of type 0x00"}, // to which the second one refers
		{"\x01" + rec + "\x03" + open + "\x60\x01\x64\x02\x00" + "\x50\x01\x00\x60\x01\x64\x01\x00" + "\x00", 0, "malformed form of type 0x00"},
		{"\x01" + rec + "\x01" + rec + "\x01" + void, 0, "malformed form of type 0x4e"},
		{"\x02\x5f\x01\x63\x01\x00" + void, 0, "unknown type 1"}, // of a later group
		{"\x01" + rec + "\x02\x5f\x01\x63\x02\x00" + void, 0, "unknown type 2"},
		{"\x02" + void + "\x50\x02\x00\x00" + void, 0, "sub type: 2 supertypes"},
		{"\x01\x50\x01\x00" + void, 0, "unknown type 0: a supertype stands before its subtypes"},
		{"\x01" + rec + "\x02\x50\x01\x01" + void + open + void, 0, "unknown type 1: a supertype stands before its subtypes"},
		{"\x02" + void + "\x50\x01\x00" + void, 0, "sub type 1 does not match super type 0"}, // which is final
		{"\x02" + open + void + "\x50\x01\x00" + empty, 0, "sub type 1 does not match super type 0"},
		{"\x02" + open + "\x5f\x01\x7f\x00" + "\x50\x01\x00" + empty, 0, "sub type 1 does not match super type 0"},
		{"\x02" + open + "\x5e\x78\x00" + "\x50\x01\x00\x5e\x77\x00", 0, "sub type 1 does not match super type 0"},
		{"\x02" + open + "\x5e\x63\x6d\x01" + "\x50\x01\x00\x5e\x64\x6c\x01", 0, "sub type 1 does not match super type 0"}, // what is written must be the same
		{"\x01\x5e\x7f\x02", 0, "malformed mutability 0x02"},
		{"\x01\x60\x01\x78\x00", 0, "malformed value type 0x78"}, // only fields are packed
		{"\x01\x5e\x79\x00", 0, "malformed value type 0x79"},
		{"\x01\x5f\x02\x7f\x00", 0, "unexpected end"},
		{"\x01" + open + open + void, 0, "malformed form of type 0x50"},
	} {
		m, err := validate.All(module(section(1, c.types)), validate.Config{Features: wasmfront.DecodableFeatures})
		var e *wasmfront.Error
		switch {
		case c.msg != "":
			if !errors.As(err, &e) || !strings.Contains(e.Msg, c.msg) || e.Feature != "" {
				t.Errorf("%x: %v, want %s", c.types, err, c.msg)
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

// TestLargeGroup: a group of many types that all refer to each other takes time and memory in proportion to its length, and so do many groups that are equal.
func TestLargeGroup(t *testing.T) {
	const n = 20_000
	structure := func(first, i int) string {
		return "\x50\x00\x5f\x02\x63" + string(sleb(first+(i*7919)%n)) + "\x01\x64" + string(sleb(first+n-1)) + "\x00"
	}
	group := func(first int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(structure(first, i))
		}
		return "\x4e" + uleb(n) + b.String()
	}
	b := module(section(1, vec(group(0), group(n), "\x60\x01\x63"+string(sleb(7))+"\x01\x63"+string(sleb(n+7)))), section(3, vec(uleb(2*n))),
		section(10, vec("\x04\x00\x20\x00\x0b")))
	m, err := validate.All(b, validate.Config{Features: wasmfront.DecodableFeatures})
	if err != nil {
		t.Fatal(err)
	}
	if !m.SameType(7, n+7) || m.SameType(7, n+8) || m.SameType(7, 8) {
		t.Error("types of equal groups are not taken for equal, or others are")
	}
}

// sleb encodes a number that is not negative.
func sleb(x int) (b []byte) {
	for ; x > 63; x >>= 7 {
		b = append(b, byte(x)|0x80)
	}
	return append(b, byte(x))
}
