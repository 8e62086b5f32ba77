package backend

import (
	"math/rand/v2"
	"testing"

	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/regalloc"
)

// TestFrameLimit: a frame at the limit is laid out, and a larger one is refused.
func TestFrameLimit(t *testing.T) {
	target := &Target{Env: regalloc.MachineEnv{}}
	layout := func(local int) (refused any) {
		defer func() { refused = recover() }()
		new(frameLayout).layout(target, &VCode{LocalBytes: local}, &regalloc.Output{SlotWords: 1})
		return nil
	}
	if r := layout(abi.MaxFrameBytes - 8); r != nil {
		t.Error(r)
	}
	if r, ok := layout(abi.MaxFrameBytes).(Unsupported); !ok || r != "the frame is too large" {
		t.Errorf("refused with %v", r)
	}
}

// TestSlotOrder: in random frames each word of the spill area has a place of its own, apart from saved registers and the rest of the frame, two words of a
// vector stay together, and none is farther from both ends than one with fewer uses.
func TestSlotOrder(t *testing.T) {
	target := &Target{Env: regalloc.MachineEnv{CalleeSaved: 0xff}}
	target.ShortFrame = 128
	var l frameLayout
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 3))
		vc := &VCode{HasVectors: r.IntN(2) == 0, LocalBytes: 8 * r.IntN(5), OutArgBytes: 8 * r.IntN(5)}
		out := &regalloc.Output{SlotWords: r.IntN(60), Used: regalloc.PRegSet(r.Uint32() & 0xff)}
		unit := 1
		if vc.HasVectors {
			unit = 2
			vc.LocalBytes, vc.OutArgBytes = 2*vc.LocalBytes, 2*vc.OutArgBytes
		}
		uses := make([]int, out.SlotWords+1)
		for range r.IntN(200) * min(out.SlotWords, 1) {
			w := r.IntN(out.SlotWords)
			uses[w/unit]++
			switch r.IntN(3) {
			case 0:
				out.Allocs = append(out.Allocs, regalloc.InSlot(w), regalloc.InReg(3))
			case 1:
				out.Edits = append(out.Edits, regalloc.Edit{From: regalloc.InSlot(w), To: regalloc.InReg(2)})
			default:
				out.Edits = append(out.Edits, regalloc.Edit{From: regalloc.InReg(2), To: regalloc.InSlot(w)})
			}
		}
		fr := l.layout(target, vc, out)
		if fr.at == nil && 8*(out.SlotWords+fr.Saved.Len()) > 128 || fr.Locals > fr.Slots || int(-fr.Locals)+vc.OutArgBytes > fr.Size {
			t.Fatalf("seed %d: %+v", seed, fr)
		}
		taken := map[int32]bool{}
		for i := range fr.Saved.Len() {
			taken[fr.SavedOffset(i)] = true
		}
		for w := range out.SlotWords {
			at := fr.Offset(regalloc.InSlot(w))
			if taken[at] || at%8 != 0 || at < fr.Slots || at >= 0 || w%unit == 1 && at != fr.Offset(regalloc.InSlot(w-1))+8 || unit == 2 && w%2 == 0 && at%16 != 0 {
				t.Fatalf("seed %d: word %d is at %d in %+v", seed, w, at, fr)
			}
			taken[at] = true
		}
		short := func(w int) bool {
			at := fr.Offset(regalloc.InSlot(w))
			return at >= -128 || at+int32(fr.Size) <= 127
		}
		for w := 0; w < out.SlotWords; w += unit {
			for x := 0; x < out.SlotWords; x += unit {
				if short(x) && !short(w) && uses[x/unit] < uses[w/unit] {
					t.Fatalf("seed %d: word %d has %d uses, and a longer displacement than word %d with %d", seed, w, uses[w/unit], x, uses[x/unit])
				}
			}
		}
	}
}
