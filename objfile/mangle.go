package objfile

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Mangle turns any string into part of a C identifier, and different strings into
// different parts: it keeps [0-9A-Za-z] but for Z, and an underscore unless it comes first or
// follows another; any other byte becomes Z and two hexadecimal digits. So the
// result never contains two underscores in a row nor begins with one.
func Mangle(s string) string {
	const digits = "0123456789abcdef"
	b := make([]byte, 0, len(s)+8)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c < 'Z',
			c == '_' && i > 0 && s[i-1] != '_':
			b = append(b, c)
		default:
			b = append(b, 'Z', digits[c>>4], digits[c&15])
		}
	}
	return string(b)
}

// MangleIn returns the symbol of the entity name of the module; a C identifier unless
// module is empty. Modules must be chosen so that "a_b", "c" and "a", "b_c" do not
// occur together.
func MangleIn(module, name string) string {
	m := Mangle(module)
	if n := len(m); n > 0 && m[n-1] == '_' { // two underscores are reserved
		m = m[:n-1] + "Z5f"
	}
	if len(m) > 0 && m[0] <= '9' {
		m = "Z3" + m
	}
	return m + "_" + Mangle(name)
}

// ReservedIn returns the symbol of something that the module does not name itself, such as its record.
func ReservedIn(module, name string) string {
	return strings.TrimSuffix(MangleIn(module, ""), "_") + "__" + name
}

// Suffixes of the symbols of a function in the waot convention and of its descriptor.
const (
	SuffixCode = ".waot"
	SuffixDesc = ".desc"
)

// TypeRecordName returns the symbol of the type record with these bytes: half of their hash is in it, so that linkers
// keep one record of each type.
func TypeRecordName(record []byte) string {
	hash := sha256.Sum256(record)
	return "waot.type." + hex.EncodeToString(hash[:len(hash)/2])
}
