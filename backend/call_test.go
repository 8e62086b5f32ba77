package backend

import (
	"slices"
	"testing"

	"github.com/waot-project/waot/backend/instance"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/regalloc"
)

// TestSafepoints: by what machine instructions call, each call may collect but those of helpers that cannot. Only the slots
// of such helpers in the instance data say that.
func TestSafepoints(t *testing.T) {
	const call, callInd, load = Op(1), Op(2), Op(3)
	target := &Target{Common: CommonRows{Call: call, CallInd: callInd}}
	mod := &clif.Module{Funcs: []clif.FuncDecl{{Import: &clif.ImportName{}}}, NumImportedFuncs: 1, Sigs: make([]clif.Signature, 1),
		Memories: make([]clif.MemoryDecl, 1), Tables: make([]clif.TableDecl, 1)}
	l := instance.New(mod)
	leaves := map[uint32]bool{}
	for h, info := range abi.Helpers {
		if !info.Collects {
			leaves[l.Helper(abi.Helper(h))] = true
		}
	}
	if len(leaves) == 0 || len(leaves) == len(abi.Helpers) {
		t.Fatal("all helpers are alike")
	}
	var vc VCode
	var want, calls []regalloc.Inst
	add := func(in Inst, collects bool) {
		if in.Op != load {
			calls = append(calls, regalloc.Inst(len(vc.Insts)))
		}
		if collects {
			want = append(want, regalloc.Inst(len(vc.Insts)))
		}
		vc.Insts = append(vc.Insts, in)
	}
	for off := range l.Size(false, false) {
		at := Inst{Op: callInd, Mode: ModeSym, Disp: int32(off)}.OfSymbol(SymInstance)
		add(at, !leaves[off])
		at.Op = load
		add(at, false)
		add(Inst{Op: callInd, Mode: ModeBase, Disp: int32(off)}, true)
		add(Inst{Op: callInd, Mode: ModeSym, Disp: int32(off)}.OfSymbol(SymFunc(off)), true)
		add(Inst{Op: call}.OfSymbol(SymFunc(off)), true)
	}
	add(Inst{Op: callInd, Mode: ModeSym, Disp: -8}.OfSymbol(SymInstance), true)
	vc.findCalls(target, l)
	if !slices.Equal(vc.Calls, calls) {
		t.Fatalf("calls are %d, want %d", vc.Calls, calls)
	}
	if len(vc.Safepoints) != len(want) {
		t.Fatalf("%d of %d", len(vc.Safepoints), len(want))
	}
	for k, i := range want {
		if vc.Safepoints[k] != i {
			t.Fatalf("instruction %d: %+v", vc.Safepoints[k], vc.Insts[vc.Safepoints[k]])
		}
	}
}
