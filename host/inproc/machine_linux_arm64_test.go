package inproc

import (
	"encoding/binary"
	"errors"
	"runtime"
	"slices"
	"testing"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/a64"
	"github.com/waot-project/waot/backend/isa/a64/asm"
	"github.com/waot-project/waot/internal/link"
	"github.com/waot-project/waot/internal/reloc"
	"github.com/waot-project/waot/regalloc"
)

// TestMalformedInstructionRelocations checks that each damage is refused.
func TestMalformedInstructionRelocations(t *testing.T) {
	for n, damage := range []func(r *ref){
		func(r *ref) { r.Kind = reloc.NumKinds },
		func(r *ref) { r.Kind = reloc.PC64 },
		func(r *ref) { r.Kind = reloc.Call32 },
		func(r *ref) { r.Offset++ },
		func(r *ref) { r.Section, r.Offset = Data, 16 },
		func(r *ref) { r.Section, r.Offset = Rodata, 0 },
		func(r *ref) { r.IsImport, r.Import = true, 0 },
		func(r *ref) { r.Addend++ },
		func(r *ref) { r.Kind, r.Addend = reloc.Call26, 1<<28 },
		func(r *ref) { r.Kind, r.Addend = reloc.Page21, 1<<33 },
		func(r *ref) { r.Kind, r.Addend = reloc.Page21, -1<<63 },
	} {
		p := newBuilder().def("count", fn(nil, vt{i64})).parts("init")
		r := &p.Relocs[1]
		if r.Kind != reloc.Ldst64Lo12 {
			t.Fatal(r)
		}
		damage(r)
		var bad *link.Error
		if _, err := p.load(); !errors.As(err, &bad) {
			t.Errorf("%d: %v", n, err)
		}
	}
}

// TestFrameSetup: functions begin with the instructions that atEntry looks for.
func TestFrameSetup(t *testing.T) {
	insn := func(in backend.Inst, regs ...regalloc.PReg) uint32 {
		allocs := backend.InRegs(regs...)
		code, _ := asm.Append(nil, &in, allocs[:len(regs)], nil)
		return binary.LittleEndian.Uint32(code)
	}
	got := []uint32{insn(backend.Inst{Op: asm.Bti, Imm: asm.BtiC})}
	for _, step := range a64.FrameSetup {
		got = append(got, insn(step.Inst, step.Regs...))
	}
	if want := []uint32{insnLandingPad, insnPushFrame, insnSetFrame}; !slices.Equal(got, want) {
		t.Errorf("%#x, want %#x", got, want)
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
