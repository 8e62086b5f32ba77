package jsstring

import (
	"slices"
	"sync"
	"unicode/utf16"
)

// String is a string of JavaScript. The zero String is empty. It never changes, so all goroutines and stores may use it.
type String struct{ units []uint16 }

// New returns the string for a text in UTF-8. What is not UTF-8 becomes U+FFFD.
func New(text string) *String { return &String{utf16.Encode([]rune(text))} }

// FromUTF16 returns the string of code units, of which it makes a copy.
func FromUTF16(units []uint16) *String { return &String{slices.Clone(units)} }

// Len returns the number of code units.
func (s *String) Len() int {
	if s == nil {
		return 0
	}
	return len(s.units)
}

// UTF16 returns a copy of the code units.
func (s *String) UTF16() []uint16 {
	if s == nil {
		return nil
	}
	return slices.Clone(s.units)
}

// String returns the text in UTF-8. A surrogate without a partner becomes U+FFFD.
func (s *String) String() string {
	if s == nil {
		return ""
	}
	return string(utf16.Decode(s.units))
}

// Weight lets a store count what the string takes, in bytes.
func (s *String) Weight() uint64 { return weight(s.Len()) }

// weight returns about how many bytes a string with its handle takes.
func weight(units int) uint64 { return 2*uint64(units) + 64 }

// texts are the strings of Go that functions were given last, with their code units: a loop over these converts a string once. Instances of several stores may share them.
type texts struct {
	mu   sync.Mutex
	last [4]text
	next int // the one whose place is for the next
}

// text is a string of Go that a reference is to. No other one ever has that word, in any store.
type text struct {
	ref   uint64
	units []uint16
}

// units returns the code units of what a reference is to, which is s. They must not be changed.
func (t *texts) units(ref uint64, s string) []uint16 {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.last {
		if t.last[i].ref == ref {
			return t.last[i].units
		}
	}
	units := New(s).units
	t.last[t.next] = text{ref, units}
	t.next = (t.next + 1) % len(t.last)
	return units
}
