package load_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/internal/reloc"
	"github.com/waot-project/waot/objfile"
)

// TestRelocs: each relocation of the instance data, those of import slots included, and of the record is the address of a whole word, the only
// one of that word.
func TestRelocs(t *testing.T) {
	good := everythingObject(t)
	whole, _ := decoded(t, good)
	for _, section := range []string{".data", ".data.rel.ro"} {
		n := len(whole.Section(section).Relocs)
		if n < 5 {
			t.Fatalf("%s has %d relocations", section, n)
		}
		for i := range n {
			for what, change := range map[string]func(s *objfile.Section, r *objfile.Reloc){
				"PC32":   func(_ *objfile.Section, r *objfile.Reloc) { r.Kind = reloc.PC32 },
				"PC64":   func(_ *objfile.Section, r *objfile.Reloc) { r.Kind = reloc.PC64 },
				"half":   func(_ *objfile.Section, r *objfile.Reloc) { r.Offset ^= 4 },
				"second": func(s *objfile.Section, r *objfile.Reloc) { s.Relocs = append(s.Relocs, *r) },
			} {
				o, m := decoded(t, good)
				s := o.Section(section)
				change(s, &s.Relocs[i])
				want := fmt.Sprintf("load: relocation at %s+%#x: not of a whole word, or its second", section, s.Relocs[i].Offset)
				var bad *load.Error
				if _, err := load.ELF(told(t, o, m)); !errors.As(err, &bad) || err.Error() != want {
					t.Errorf("%s, relocation %d, %s: %v, want %s", section, i, what, err, want)
				}
			}
		}
	}
}
