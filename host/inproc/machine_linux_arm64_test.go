package inproc

import (
	"encoding/binary"
	"errors"
	"runtime"
	"testing"
)

// TestInstructionRelocations puts values into instructions whose other bits must stay.
func TestInstructionRelocations(t *testing.T) {
	const page = 1 << 12
	for _, c := range []struct {
		kind RelocKind
		insn uint32
		s, p int64
		want uint32 // 0 if the value cannot be expressed
	}{
		{Call26, 0x94000000, 0x100, 0x80, 0x94000020}, // bl .+0x80
		{Call26, 0x17ffffff, 0x80, 0x100, 0x17ffffe0}, // b .-0x80
		{Call26, 0x94000000, 1<<27 - 4, 0, 0x95ffffff},
		{Call26, 0x94000000, 1 << 27, 0, 0},
		{Call26, 0x94000000, 0, 1 << 27, 0x96000000},
		{Call26, 0x94000000, 0, 1<<27 + 4, 0},
		{Call26, 0x94000000, 0x102, 0x80, 0},
		{Page21, 0x90000009, 5*page + 0x123, 0xffc, 0xb0000029}, // adrp x9, 5 pages on
		{Page21, 0x90000009, 0x123, 5*page + 8, 0xf0ffffc9},
		{Page21, 0xf0ffffe9, 0x123, 8, 0x90000009},
		{Page21, 0x9000000a, 1<<32 - 1, 0, 0xf07fffea},
		{Page21, 0x9000000a, 1 << 32, 0, 0},
		{Page21, 0x9000000a, 0, 1 << 32, 0x9080000a},
		{Page21, 0x9000000a, 0, 1<<32 + page, 0},
		{Lo12, 0x91000129, 5*page + 0x123, 0, 0x91048d29}, // add x9, x9, #0x123
		{Lo12, 0x393ffd29, 5*page + 0x123, 0, 0x39048d29}, // strb w9, [x9, #0x123]
		{Lo12x2, 0x79400129, page + 0xffe, 0, 0x795ffd29}, // ldrh
		{Lo12x2, 0x79400129, page + 0xfff, 0, 0},
		{Lo12x4, 0xb9400129, page + 0xffc, 0, 0xb94ffd29}, // ldr w9
		{Lo12x4, 0xb9400129, page + 2, 0, 0},
		{Lo12x8, 0xf9400129, page + 0xff8, 0, 0xf947fd29}, // ldr x9
		{Lo12x8, 0xf9400129, page + 4, 0, 0},
		{Lo12x16, 0x3dc00129, page + 0xff0, 0, 0x3dc3fd29}, // ldr q9
		{Lo12x16, 0x3dc00129, page + 8, 0, 0},
		{PC32, 0xdeadbeef, 0x10, 0x20, 0xfffffff0},
		{PC32, 0, 1 << 31, 0, 0},
	} {
		got, ok := c.kind.value(c.insn, c.s, c.p)
		if ok != (c.want != 0) || ok && got != c.want {
			t.Errorf("kind %d of %#x at %#x: %#x %t, want %#x", c.kind, c.s, c.p, got, ok, c.want)
		}
	}
}

// TestMalformedInstructionRelocations checks that each damage is refused.
func TestMalformedInstructionRelocations(t *testing.T) {
	for n, damage := range []func(r *Reloc){
		func(r *Reloc) { r.Kind = Lo12x16 + 1 },
		func(r *Reloc) { r.Offset++ },
		func(r *Reloc) { r.Section, r.Offset = Data, 16 },
		func(r *Reloc) { r.Section, r.Offset = Rodata, 0 },
		func(r *Reloc) { r.Target, r.Index = TargetHelper, 1 },
		func(r *Reloc) { r.Addend++ },
		func(r *Reloc) { r.Kind, r.Addend = Call26, 1<<28 },
		func(r *Reloc) { r.Kind, r.Addend = Page21, 1<<33 },
		func(r *Reloc) { r.Kind, r.Addend = Page21, -1<<63 },
	} {
		img := newBuilder().def("count", fn(nil, vt{i64})).image("init")
		r := &img.Relocs[1]
		if r.Kind != Lo12x8 {
			t.Fatal(r)
		}
		damage(r)
		var bad *ImageError
		if _, err := Load(img); !errors.As(err, &bad) {
			t.Errorf("%d: %v", n, err)
		}
	}
}

// TestStubCode checks numbers of stubs that need both halves of the constant.
func TestStubCode(t *testing.T) {
	chunk := make([]byte, granule)
	const at = 5 * stubSize
	writeStub(chunk, at, 0xabcd1234)
	insn := func(n int) uint32 { return binary.LittleEndian.Uint32(chunk[at+4*n:]) }
	if insn(3) != 0x52824691 || insn(4) != 0x72b579b1 {
		t.Errorf("%#x %#x", insn(3), insn(4))
	}
	if from := at + 6*4; insn(6)>>24 != 0x58 || from+int(insn(6)>>5&(1<<19-1))*4 != stubsPerChunk*stubSize {
		t.Errorf("%#x", insn(6))
	}
}

// TestPreemptedRegisters interrupts a loop all the time, of which each register must survive: general ones,
// whole vectors, the carry, and a word below the stack pointer.
func TestPreemptedRegisters(t *testing.T) {
	if err := Preemption(); err != nil {
		t.Fatal(err)
	}
	s := newStore(t)
	i := instantiate(t, s, newBuilder().def("registers", fn(vt{i64}, vt{i64})).image("init"), nil)
	stop, stopped := make(chan bool), make(chan int)
	go func() {
		n := 0
		for {
			select {
			case <-stop:
				stopped <- n
				return
			default:
				runtime.GC()
				interruptThreads()
				n++
			}
		}
	}()
	for range 3 {
		if got, err := call(t, i, "registers", 50_000_000); err != nil || got[0] != 1 {
			t.Error(got, err)
		}
	}
	close(stop)
	t.Log(<-stopped, "interruptions")
}
