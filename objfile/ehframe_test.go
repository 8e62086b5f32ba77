package objfile

import (
	"bytes"
	"testing"

	"github.com/waot-project/waot/internal/abi"
)

// TestFrameChanges: what the changes of a frame become, on a machine that keeps what is below the stack pointer and on one that does not.
func TestFrameChanges(t *testing.T) {
	const size = 400
	saved := []abi.CFIRule{{Kind: abi.SavedAt, Reg: 19, Offset: -24}, {Kind: abi.SavedAt, Reg: 72, Offset: -32}}
	change := func(at uint32, k abi.CFIChangeKind, popped int32) abi.CFIChange {
		return abi.CFIChange{Offset: at, Kind: k, Popped: popped}
	}
	a64, x64 := testCFIA64, testCFI
	a64.Stack = 31
	x64.Stack, x64.RedZone = 7, true
	for _, c := range []struct {
		name    string
		info    *abi.CFI
		changes []abi.CFIChange
		want    string // behind the prologue, which is 8 bytes long on one machine and 4 on the other
	}{
		{"saved and kept", &a64, []abi.CFIChange{change(16, abi.RegistersSaved, 0), change(272, abi.RegistersKept, 0)}, "\x42\x93\x03\x05\x48\x04" + "\x02\x40\xd3\x06\x48"},
		{"changed back at once", &a64, []abi.CFIChange{change(16, abi.RegistersSaved, 0), change(16, abi.RegistersKept, 0), change(400, abi.RegistersSaved, 0)}, ""},
		{"returns", &a64, []abi.CFIChange{change(12, abi.RegistersSaved, 0), change(20, abi.FrameLeft, 0), change(24, abi.FrameBack, 0)},
			"\x41\x93\x03\x05\x48\x04" + "\x42\x0a\x0c\x1f\x00\xdd\xde\xd3\x06\x48" + "\x41\x0b"},
		{"returns at the end, in steps", &a64, []abi.CFIChange{change(388, abi.FrameLeft, 0), change(392, abi.FrameLeft, 4096), change(396, abi.FrameLeft, 4112), change(400, abi.FrameBack, 0)},
			"\x02\x5f\x0c\x1f\x00\xdd\xde" + "\x41\x12\x1f\x80\x04" + "\x41\x12\x1f\x82\x04"},
		{"below the stack pointer", &x64, []abi.CFIChange{change(4, abi.RegistersSaved, 0), change(300, abi.FrameLeft, 0), change(301, abi.FrameBack, 0), change(301, abi.RegistersKept, 0)},
			"\x93\x03\x05\x48\x04" + "\x03\x28\x01\x0a\x0c\x07\x08" + "\x41\x0b" + "\xd3\x06\x48"},
		{"tail call", &x64, []abi.CFIChange{change(4, abi.RegistersSaved, 0), change(30, abi.FrameLeft, 0), change(34, abi.ReturnMoved, -24), change(38, abi.FrameLeft, 0), change(43, abi.FrameBack, 0)},
			"\x93\x03\x05\x48\x04" + "\x5a\x0a\x0c\x07\x08" + "\x44\x0c\x07\x20\xc6\xd3\x06\x48" + "\x44\x0c\x07\x08" + "\x45\x0b"},
	} {
		e := frameEncoder{info: c.info, f: &Frame{Size: size, HasFrame: true, Saved: saved, Changes: c.changes}}
		e.frame()
		whole := frameEncoder{info: c.info, f: &Frame{Size: size, HasFrame: true}}
		whole.frame()
		if got, ok := bytes.CutPrefix(e.b, whole.b); !ok || string(got) != c.want {
			t.Errorf("%s: % x, want % x", c.name, got, c.want)
		}
	}
}
