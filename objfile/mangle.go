package objfile

import (
	"crypto/sha256"
	"encoding/hex"
)

// Mangle turns any string into part of a C identifier, and different strings into different parts: it keeps
// [0-9A-Za-z_] but for Z; any other byte becomes Z and two hexadecimal digits. Assemblers and linkers take all of that as a name.
func Mangle(s string) string {
	const digits = "0123456789abcdef"
	b := make([]byte, 0, len(s)+8)
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c < 'Z' || c == '_' {
			b = append(b, c)
		} else {
			b = append(b, 'Z', digits[c>>4], digits[c&15])
		}
	}
	return string(b)
}

// MangleModule is Mangle for what a C identifier or a symbol begins with: it is not empty and does not begin with a digit.
func MangleModule(s string) string {
	m := Mangle(s)
	switch {
	case m == "":
		return "Z"
	case m[0] <= '9':
		return "Z3" + m
	}
	return m
}

// MangleIn returns the symbol of the entity name of the module, and a different one for each pair of both. No C identifier has a
// dot, and no compiler puts two in a row, so no function of a library is ever mistaken for something of a module's.
func MangleIn(module, name string) string { return MangleModule(module) + ".." + Mangle(name) }

// ReservedIn returns the symbol of something that the module does not name itself, such as its record.
func ReservedIn(module, name string) string { return MangleModule(module) + "." + name }

// Suffixes of the symbols of a function in the waot convention and of its descriptor. SuffixHeap stands in front of both in modules with a heap, which import under these names only: so their
// calls of C functions, and of modules without a heap, go by way of adapters that note them, whichever object comes first where a linker has several.
const (
	SuffixCode = ".waot"
	SuffixDesc = ".desc"
	SuffixHeap = ".heap"
)

// ImportSuffixes returns the suffixes of the symbols of imported functions.
func ImportSuffixes(heap bool) (code, desc string) {
	if heap {
		return SuffixHeap + SuffixCode, SuffixHeap + SuffixDesc
	}
	return SuffixCode, SuffixDesc
}

// TypeRecordName returns the symbol of the type record with these bytes: half of their hash is in it, so that linkers
// keep one record of each type.
func TypeRecordName(record []byte) string {
	hash := sha256.Sum256(record)
	return "waot.type." + hex.EncodeToString(hash[:len(hash)/2])
}
