package objfile

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestSectionNumbers: what refers to a section by its number, a symbol, relocations or a group, may name only sections of the
// object: not the tables that the file has beside them, nor a number without a header.
func TestSectionNumbers(t *testing.T) {
	good, err := sample("a").AppendELF(nil)
	if err != nil {
		t.Fatal(err)
	}
	r := &elfReader{b: good, o: new(Object)}
	for _, step := range []func() error{r.header, r.names, r.contents} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	tables := map[uint32]int{} // how many of each type there are
	var numbers []uint32
	for i := range r.headers {
		switch typ := r.headers[i].typ; typ {
		case shtSymtab, shtStrtab, shtRela, shtGroup:
			tables[typ]++
			numbers = append(numbers, uint32(i))
		}
	}
	if tables[shtSymtab] != 1 || tables[shtStrtab] == 0 || tables[shtRela] < 2 || tables[shtGroup] != 1 {
		t.Fatalf("the sample has tables %v", tables)
	}
	numbers = append(numbers, uint32(len(r.headers)), 0xfeff)
	refused := func(at uint64, size int, n uint32, want string) {
		t.Helper()
		b := slices.Clone(good)
		if size == 2 {
			binary.LittleEndian.PutUint16(b[at:], uint16(n))
		} else {
			binary.LittleEndian.PutUint32(b[at:], n)
		}
		var e *FormatError
		if _, err := ReadELF(b); !errors.As(err, &e) || !strings.HasSuffix(e.Reason, want) {
			t.Errorf("section %d at %#x: %v, want %s", n, at, err, want)
		}
	}
	for _, n := range numbers {
		tab := &r.headers[r.symtab]
		for i := 1; i < len(tab.data)/symSize; i++ {
			if entry := tab.data[i*symSize:]; entry[4]&15 != symbolTypes[FileSym] {
				refused(tab.offset+uint64(i)*symSize+6, 2, n, "section of a symbol")
			}
		}
		for i := range r.headers {
			switch h := &r.headers[i]; h.typ {
			case shtRela:
				refused(r.at[i]+44, 4, n, "relocations of no section")
			case shtGroup:
				// The second member is the relocations' of the first one, if it has any: they are passed over.
				if n >= uint32(len(r.headers)) || r.headers[n].typ != shtRela {
					refused(h.offset+4, 4, n, "section of a group")
				}
			}
		}
	}
}
