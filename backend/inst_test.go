package backend

import (
	"reflect"
	"testing"
)

// TestInst: an instruction has 24 bytes, and each reading of its fields gives what was put there.
func TestInst(t *testing.T) {
	if n := reflect.TypeFor[Inst]().Size(); n != 24 {
		t.Errorf("%d bytes", n)
	}
	for _, mode := range []Mode{ModeBase, ModeBaseIndex, ModeIndex} {
		for _, f := range []Fault{NoFault, NullFaults, MemoryFaults(0), MemoryFaults(255)} {
			in := Inst{Mode: mode}.Faulting(f)
			if in.Fault() != f {
				t.Errorf("mode %d: fault %d, want %d", mode, in.Fault(), f)
			}
		}
	}
	for m, f := range map[uint32]Fault{0: MemoryFaults(0), 255: MemoryFaults(255)} {
		if got, ok := f.Memory(); got != m || !ok {
			t.Errorf("memory %d, %v, want %d", got, ok, m)
		}
	}
	for _, f := range []Fault{NoFault, NullFaults} {
		if _, ok := f.Memory(); ok {
			t.Errorf("%d is a fault of a memory", f)
		}
	}
	for _, in := range []Inst{{}, Inst{Mode: ModeSym}.OfSymbol(SymFunc(7)), Inst{Mode: ModeConst}.OfConst(7), Inst{}.OfTable(7, 3)} {
		if in.Fault() != NoFault {
			t.Errorf("%+v: fault %d", in, in.Fault())
		}
	}
	call, table := Inst{}.OfSymbol(SymFunc(7)), Inst{}.OfTable(7, 3)
	call.SetPopped(48)
	table.SetFirst(2)
	if call.Symbol().Func() != 7 || call.Popped() != 48 || table.Table() != 7 || table.Entries() != 3 || table.First() != 2 {
		t.Errorf("%+v, %+v", call, table)
	}
	var c Inst
	if c.Choice() != (Form{}) {
		t.Errorf("choice %v", c.Choice())
	}
	c.SetChoice(Form{Op: 300, Size: 16})
	if c.Choice() != (Form{Op: 300, Size: 16}) {
		t.Errorf("choice %v", c.Choice())
	}
}
