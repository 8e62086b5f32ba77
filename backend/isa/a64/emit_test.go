package a64

import (
	endian "encoding/binary"
	"fmt"
	"testing"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/a64/asm"
	"github.com/waot-project/waot/machbuffer"
	"github.com/waot-project/waot/regalloc"
)

// touch is a read or write of memory that the words of an edit make: the address from the frame pointer.
type touch struct {
	store bool
	reg   regalloc.PReg
	bytes int
	at    int64
}

// accessesOf executes the words of an edit, as far as addresses go: x29 is 0, sp is -size. It fails if other registers
// but x17 are changed on the way.
func accessesOf(words []uint32, size int64) (list []touch, err error) {
	regs := map[uint32]int64{29: 0, 31: -size}
	for _, w := range words {
		d, n := w&31, w>>5&31
		base, known := regs[n]
		switch {
		case w&0xff800000 == 0xd1000000, w&0xff800000 == 0x91000000: // sub, add
			imm := int64(w >> 10 & 0xfff)
			if w>>22&1 != 0 {
				imm <<= 12
			}
			if w>>30&1 != 0 {
				imm = -imm
			}
			if !known || d != 17 {
				return nil, fmt.Errorf("%08x: x%d = x%d%+d", w, d, n, imm)
			}
			regs[d] = base + imm
		case w&0x3b000000 == 0x39000000, w&0x3b200c00 == 0x38000000: // ldr, str, ldur, stur
			scale, opc := w>>30, w>>22&3
			a := touch{store: opc&1 == 0, reg: regalloc.IntReg(int(d))}
			if w>>26&1 != 0 {
				a.reg = regalloc.FloatReg(int(d))
				if opc&2 != 0 {
					scale = 4
				}
			}
			a.bytes = 1 << scale
			off := int64(w>>10&0xfff) << scale
			if w>>24&1 == 0 {
				off = int64(int32(w<<11) >> 23)
			}
			if !known {
				return nil, fmt.Errorf("%08x: base x%d", w, n)
			}
			a.at = base + off
			list = append(list, a)
		default:
			return nil, fmt.Errorf("%08x: unexpected", w)
		}
	}
	return list, nil
}

// TestEdits moves every kind of register to and from slots and stack arguments, near and far, in frames of all
// sizes: one access at the right place, that leaves x16 alone, of the length announced.
func TestEdits(t *testing.T) {
	target := New(0)
	b := machbuffer.New(target.Buffer)
	for _, words := range []int{0, 1, 30, 31, 32, 33, 511, 512, 4094, 4095, 4096, 4097, 5000, 40_000, 600_000} {
		size := (8*words + 8*17 + 15) &^ 15
		e := &backend.Emitter{Buf: b, VC: &backend.VCode{}, Out: &regalloc.Output{}, Target: target,
			Frame: backend.Frame{Slots: -int32(8*words + 8*17), Args: 16, Size: size}}
		step := 1 + words/3000
		for _, reg := range []regalloc.PReg{asm.X0, asm.X16, asm.X27, asm.V0, asm.V31} {
			for _, bytes := range []uint8{8, 16} {
				if bytes == 16 && reg.Class() == regalloc.Int {
					continue
				}
				for k := 0; k < words; k += step {
					for _, place := range []regalloc.Allocation{regalloc.InSlot(k), regalloc.InArg(k)} {
						at := int64(e.Frame.Slots) + 8*int64(k)
						if place.IsArg() {
							at = 16 + 8*int64(k)
						}
						for _, store := range []bool{false, true} {
							ed := regalloc.Edit{Kind: regalloc.Move, Bytes: bytes, From: place, To: regalloc.InReg(reg)}
							if store {
								ed.From, ed.To = ed.To, ed.From
							}
							b.Reset()
							b.Advance(len(asm.AppendMove(b.Reserve(backend.Room)[:0], ed.From, ed.To, ed.Bytes, &e.Frame)))
							n := b.Offset()
							b.NoFallThrough()
							res, err := b.Finish()
							if err != nil {
								t.Fatal(err)
							}
							var code []uint32
							for p := res.Code; len(p) > 0; p = p[4:] {
								code = append(code, endian.LittleEndian.Uint32(p))
							}
							got, err := accessesOf(code, int64(size))
							want := touch{store, reg, int(bytes), at}
							if err != nil || len(got) != 1 || got[0] != want {
								t.Fatalf("frame of %d, %v: %08x makes %v, %v; want %v", size, ed, code, got, err, want)
							}
							if bound := asm.MoveBound(ed.From, ed.To, bytes, &e.Frame); n > bound {
								t.Fatalf("frame of %d, %v: %d bytes, bound is %d", size, ed, n, bound)
							}
						}
					}
				}
			}
		}
	}
}

// TestInversion: a test and its inverse.
func TestInversion(t *testing.T) {
	regs := []regalloc.Allocation{regalloc.InReg(asm.X5)}
	for _, c := range []struct {
		a, b           backend.Inst
		word, opposite uint32
	}{
		{backend.Inst{Op: asm.Cbz, Size: 4}, backend.Inst{Op: asm.Cbnz, Size: 4}, 0x34000005, 0x35000005},
		{backend.Inst{Op: asm.Cbz, Size: 8}, backend.Inst{Op: asm.Cbnz, Size: 8}, 0xb4000005, 0xb5000005},
		{backend.Inst{Op: asm.Tbz, Size: 4, Imm: 31}, backend.Inst{Op: asm.Tbnz, Size: 4, Imm: 31}, 0x36f80005, 0x37f80005},
		{backend.Inst{Op: asm.Tbz, Size: 8, Imm: 63}, backend.Inst{Op: asm.Tbnz, Size: 8, Imm: 63}, 0xb6f80005, 0xb7f80005},
		{backend.Inst{Op: asm.Cmp, Cond: uint8(asm.HS)}, backend.Inst{Op: asm.Cmp, Cond: uint8(asm.LO)}, 0x54000002, 0x54000003},
	} {
		x, y := testOf(&c.a, regs), testOf(&c.b, regs)
		if x.word != c.word || y.word != c.opposite || x.invert() != y || y.invert() != x || x.kind != y.kind {
			t.Errorf("%v: %08x, inverted %08x, other %08x", c.a.Op, x.word, x.invert().word, y.word)
		}
	}
}

// TestPatches fills the fields of branches with distances at the ends of their ranges.
func TestPatches(t *testing.T) {
	for _, c := range []struct {
		patch      func(p []byte, use, label uint32)
		use, label uint32
		want       uint32
	}{
		{patch26, 1 << 27, 0, 0x02000000},
		{patch26, 0, 1<<27 - 4, 0x01ffffff},
		{patch26, 8, 4, 0x03ffffff},
		{patch19, 1 << 20, 0, 0x00800000},
		{patch19, 0, 1<<20 - 4, 0x007fffe0},
		{patch14, 1 << 15, 0, 0x00040000},
		{patch14, 0, 1<<15 - 4, 0x0003ffe0},
		{patchAdr, 4, 3, 0x60ffffe0},
		{patchAdr, 0, 6, 0x40000020},
		{patch32, 100, 40, 0xffffffc4},
	} {
		p := make([]byte, 4)
		c.patch(p, c.use, c.label)
		if got := endian.LittleEndian.Uint32(p); got != c.want {
			t.Errorf("from %d to %d: %08x, want %08x", c.use, c.label, got, c.want)
		}
	}
}

// TestNoSwaps: no instruction exchanges registers, nor stores a constant, so allocators are told of neither.
func TestNoSwaps(t *testing.T) {
	if e := env(0); common.Swap != 0 || e.Swaps != 0 || common.StoreImm != 0 {
		t.Errorf("row %d exchanges %x, row %d stores", common.Swap, uint64(e.Swaps), common.StoreImm)
	}
}
