package asm

import "testing"

// TestImmParts: what is read from an immediate of two parts is what it was made from, and no number with further bits is encoded.
func TestImmParts(t *testing.T) {
	for name, c := range map[string]struct {
		kind    ImmKind
		pack    func(a, b uint8) int64
		parts   func(imm int64) (a, b uint8)
		as, bs  uint8                 // how many values the parts have
		fits    func(a, b uint8) bool // an operation of 32 bits
		encoded int                   // of all pairs of values
	}{
		"shift": {
			IShiftRor, func(a, b uint8) int64 { return Shifted(Shift(a), b) },
			func(imm int64) (a, b uint8) { s, n := shiftedOf(imm); return uint8(s), n }, 4, 64,
			func(_, b uint8) bool { return b < 32 }, 4 * 32,
		},
		"extension": {
			IExtend, func(a, b uint8) int64 { return Extended(Extend(a), b) },
			func(imm int64) (a, b uint8) { e, n := extendedOf(imm); return uint8(e), n }, 8, 8,
			func(_, b uint8) bool { return b <= 4 }, 8 * 5,
		},
		"field": {
			IFieldFrom, Field, fieldOf, 65, 65,
			func(a, b uint8) bool { return b > 0 && int(a)+int(b) <= 32 }, 32 * 33 / 2,
		},
		"value and flags": {
			IValueFlags, CondImm, condImmOf, 32, 16,
			func(_, _ uint8) bool { return true }, 32 * 16,
		},
	} {
		encoded := 0
		for a := range c.as {
			for b := range c.bs {
				imm := c.pack(a, b)
				if x, y := c.parts(imm); x != a || y != b {
					t.Errorf("%s %d, %d: read as %d, %d", name, a, b, x, y)
				}
				for bit := -1; bit < 64; bit++ { // -1 changes none
					m := immediate{imm: imm, size: 4}
					if bit >= 0 {
						m.imm ^= 1 << bit
					}
					x, y := c.parts(m.imm)
					want := m.imm == c.pack(x, y) && c.fits(x, y)
					if _, ok := immKinds[c.kind].field(m); ok != want {
						t.Errorf("%s %d, %d, bit %d changed: encoded %t, want %t", name, a, b, bit, ok, want)
					}
					if bit < 0 && want {
						encoded++
					}
				}
			}
		}
		if encoded != c.encoded {
			t.Errorf("%s: %d are encoded, want %d", name, encoded, c.encoded)
		}
	}
}
