package x64

import (
	"testing"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/x64/asm"
	"github.com/waot-project/waot/machbuffer"
	"github.com/waot-project/waot/regalloc"
)

// TestStoreConst: of constants, those are stored by one instruction that it sign-extends from 32 bits, or of which it stores no more.
func TestStoreConst(t *testing.T) {
	for _, c := range []struct {
		inst  backend.Inst
		bytes uint8
		want  string // "" if it cannot be stored
	}{
		{backend.Inst{Op: asm.Zero, Size: 4}, 4, "\xc7\x45\xf8\x00\x00\x00\x00"},
		{backend.Inst{Op: asm.Zero, Size: 4}, 8, "\x48\xc7\x45\xf8\x00\x00\x00\x00"},
		{backend.Inst{Op: asm.MovImm, Size: 8, Imm: 1<<32 - 2}, 4, "\xc7\x45\xf8\xfe\xff\xff\xff"},
		{backend.Inst{Op: asm.MovImm, Size: 8, Imm: -2}, 8, "\x48\xc7\x45\xf8\xfe\xff\xff\xff"},
		{backend.Inst{Op: asm.MovImm, Size: 8, Imm: 1<<31 - 1}, 8, "\x48\xc7\x45\xf8\xff\xff\xff\x7f"},
		{backend.Inst{Op: asm.MovImm, Size: 8, Imm: 1 << 31}, 8, ""},
		{backend.Inst{Op: asm.MovImm, Size: 8, Imm: 1<<32 - 2}, 8, ""},
		{backend.Inst{Op: asm.MovImm, Size: 4, Imm: -2}, 8, ""}, // is zero-extended
		{backend.Inst{Op: asm.Lea, Size: 8}, 8, ""},
	} {
		e := &backend.Emitter{Buf: machbuffer.New(bufferTarget(false))}
		e.Frame.Slots = -8
		store, ok := common.StoreOf(&c.inst, c.bytes)
		if ok {
			put(e, &store, []regalloc.Allocation{regalloc.InSlot(0)}, 0)
		}
		if got := string(e.Buf.Code()); ok != (c.want != "") || got != c.want {
			t.Errorf("%+v, %d bytes: % x, want % x", c.inst, c.bytes, got, c.want)
		}
	}
}

// TestSwaps: allocators may exchange the integer registers that they have, as one row does that.
func TestSwaps(t *testing.T) {
	if e := env(0); common.Swap != asm.Xchg || e.Swaps != e.Allocatable.OfClass(regalloc.Int) {
		t.Errorf("row %d exchanges %x of %x", common.Swap, uint64(e.Swaps), uint64(e.Allocatable))
	}
}
