package backend

import (
	"testing"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/regalloc"
)

// TestFrameLimit: a frame at the limit is laid out, and a larger one is refused.
func TestFrameLimit(t *testing.T) {
	target := &Target{Env: regalloc.MachineEnv{}}
	layout := func(local int) (refused any) {
		defer func() { refused = recover() }()
		layoutFrame(target, &VCode{LocalBytes: local}, &regalloc.Output{SlotWords: 1})
		return nil
	}
	if r := layout(abi.MaxFrameBytes - 8); r != nil {
		t.Error(r)
	}
	if r, ok := layout(abi.MaxFrameBytes).(Unsupported); !ok || r != "the frame is too large" {
		t.Errorf("refused with %v", r)
	}
}
