package reloc

import (
	"encoding/binary"
	"testing"
)

// TestApplyInstructions compares with what llvm-mc assembles.
func TestApplyInstructions(t *testing.T) {
	const at = 0x7f12_3456_7890
	for _, c := range []struct {
		kind       Kind
		inst, want uint32 // want is 0 if the value does not fit
		s, p       uint64
	}{
		{Page21, 0x90000009, 0xb0091a29, at&^0xfff + 0x12345fff, at}, // adrp x9, #0x12345000
		{Page21, 0x90000009, 0xf0ffffe9, at&^0xfff - 1, at},          // adrp x9, #-4096
		{Page21, 0xf0ffffe9, 0x90000009, at, at},                     // what the field had does not matter
		{Page21, 0x90000009, 0x90800009, at - 1<<32, at},
		{Page21, 0x90000009, 0xf07fffe9, at&^0xfff + 1<<32 - 1, at},
		{Page21, 0x90000009, 0, at + 1<<32, at},
		{Page21, 0x90000009, 0, at&^0xfff - 1<<32 - 1, at},
		{Page21, 0x90000009, 0xb0000029, 0x5123, 0xffc}, // adrp x9, 5 pages on
		{Page21, 0x90000009, 0xf0ffffc9, 0x123, 0x5008},
		{Page21, 0x9000000a, 0xf07fffea, 1<<32 - 1, 0},
		{Page21, 0x9000000a, 0x9080000a, 0, 1 << 32},
		{Page21, 0x9000000a, 0, 0, 1<<32 + 0x1000},
		{Call26, 0x94000000, 0x95ffffff, at + 1<<27 - 4, at},
		{Call26, 0x94000000, 0x96000000, at - 1<<27, at},
		{Call26, 0x94000000, 0, at + 1<<27, at},
		{Call26, 0x94000000, 0, at - 1<<27 - 4, at},
		{Call26, 0x94000000, 0, at + 2, at},
		{Call26, 0x94000000, 0x94000020, 0x100, 0x80}, // bl .+0x80
		{Jump26, 0x14000000, 0x14000001, at + 4, at},
		{Jump26, 0x17ffffff, 0x14000000, at, at},
		{Jump26, 0x17ffffff, 0x17ffffe0, 0x80, 0x100},         // b .-0x80
		{AddLo12, 0x9100012a, 0x913ffd2a, 0xabcdefff, at},     // add x10, x9, #4095
		{AddLo12, 0x91000129, 0x91048d29, 0x5123, 0},          // add x9, x9, #0x123
		{Ldst8Lo12, 0x39400120, 0x397ffd20, 0xabcdefff, at},   // ldrb w0, [x9, #4095]
		{Ldst8Lo12, 0x393ffd29, 0x39048d29, 0x5123, 0},        // strb w9, [x9, #0x123]
		{Ldst16Lo12, 0x79400121, 0x795ffd21, 0xabcdeffe, at},  // ldrh w1, [x9, #4094]
		{Ldst32Lo12, 0xb9400122, 0xb94ffd22, 0xabcdeffc, at},  // ldr w2, [x9, #4092]
		{Ldst64Lo12, 0xf9400123, 0xf947fd23, 0xabcdeff8, at},  // ldr x3, [x9, #4088]
		{Ldst128Lo12, 0x3dc00120, 0x3dc3fd20, 0xabcdeff0, at}, // ldr q0, [x9, #4080]
		{Ldst128Lo12, 0x3dffffe0, 0x3dc003e0, 0xabcd0000, at},
		{Ldst16Lo12, 0x79400121, 0, 0xabcdefff, at},
		{Ldst32Lo12, 0xb9400122, 0, 0xabcdeffe, at},
		{Ldst64Lo12, 0xf9400123, 0, 0xabcdeffc, at},
		{Ldst128Lo12, 0x3dc00120, 0, 0xabcdeff8, at},
	} {
		field := binary.LittleEndian.AppendUint32(nil, c.inst)
		ok, want := c.kind.Apply(field, c.s, c.p), c.want
		if want == 0 {
			want = c.inst
		}
		if got := binary.LittleEndian.Uint32(field); ok != (c.want != 0) || got != want {
			t.Errorf("kind %d at %#x of %#x: %#x %t, want %#x", c.kind, c.p, c.s, got, ok, c.want)
		}
	}
}

// TestApplyDistances: addresses and distances, and what does not fit.
func TestApplyDistances(t *testing.T) {
	const at = 0x7f12_3456_7890
	for _, c := range []struct {
		kind Kind
		s, p uint64
		want int64
		ok   bool
	}{
		{Abs64, at, 0x1234, at, true},
		{PC64, at - 1<<40, at, -1 << 40, true},
		{PC32, 0x10, 0x20, -0x10, true},
		{PC32, at + 1<<31 - 1, at, 1<<31 - 1, true},
		{PC32, at - 1<<31, at, -1 << 31, true},
		{PC32, at + 1<<31, at, 0, false},
		{PC32, at - 1<<31 - 1, at, 0, false},
		{Call32, at + 1<<31 - 1, at, 1<<31 - 1, true},
		{Call32, at + 1<<31, at, 0, false},
	} {
		field := make([]byte, c.kind.Width())
		ok := c.kind.Apply(field, c.s, c.p)
		got := int64(int32(binary.LittleEndian.Uint32(field)))
		if len(field) == 8 {
			got = int64(binary.LittleEndian.Uint64(field))
		}
		if ok != c.ok || got != c.want {
			t.Errorf("kind %d at %#x of %#x: %#x %t, want %#x %t", c.kind, c.p, c.s, got, ok, c.want, c.ok)
		}
	}
}

// TestTypes: each kind is of some machine, and has a number of its own there.
func TestTypes(t *testing.T) {
	for k := range NumKinds {
		machines := 0
		for _, types := range []*Types{&X64, &A64} {
			if !types.Has(k) {
				continue
			}
			machines++
			if got, ok := types.Kind(types[k]); !ok || got != k {
				t.Errorf("number %d is of kind %d, and of %d", types[k], got, k)
			}
		}
		if machines == 0 {
			t.Errorf("no machine has kind %d", k)
		}
	}
	if _, ok := X64.Kind(0); ok || X64.Has(Call26) || A64.Has(Call32) || A64.Has(NumKinds) {
		t.Error("kinds that do not exist")
	}
}
