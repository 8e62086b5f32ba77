package difftest

import (
	"bytes"
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/internal/proof/randprog"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/internal/wasmedit"
	"github.com/waot-project/waot/spectest/nativeengine"
	"github.com/waot-project/waot/wasmfront"
)

// TestRandomMemories: random modules do the same where their memory is one of several. A memory of their own gets others in front of it, full of other
// bytes. One that they import they import several times, and each access is to any of these.
func TestRandomMemories(t *testing.T) {
	explicit := nativeengine.New(opt.O1)
	explicit.Options.ExplicitBounds = true
	list := append(engines(), explicit)
	var own, imported int
	for seed := range cmp.Or(*countFlag, testenv.Cases[uint64](30, 60, 300)) {
		p := randprog.Generate(seed)
		several, isOwn := withMemories(t, p, rand.New(rand.NewPCG(seed, 7)))
		if several == nil {
			continue
		}
		if isOwn {
			own++
		} else {
			imported++
		}
		want, _, err := randprog.Judge(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			if d := randprog.Run(e, several).Diff(want); d != "" {
				t.Errorf("seed %d: %s: %s", seed, e.Name(), d)
				save(t, seed, several)
			}
		}
	}
	t.Logf("%d modules with a memory of their own, %d that import it", own, imported)
	if least := testenv.Cases(3, 10, 50); own < least || imported < least {
		t.Error("too few")
	}
}

// withMemories returns p where its memory is one of several, nil if it has none, and whether the memory is its own.
func withMemories(t *testing.T, p *randprog.Program, r *rand.Rand) (several *randprog.Program, own bool) {
	t.Helper()
	m, err := wasmedit.Decode(p.Wasm, wasmfront.DefaultFeatures)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Memories) == 0 {
		return nil, false
	}
	more := 1 + r.Uint32N(3)
	to := func() uint32 { return more }
	other := m.Memories[0]
	if own = other.Import == nil; own {
		other.Type.Min = 1
	} else {
		to = func() uint32 { return r.Uint32N(more + 1) }
	}
	m.Memories = slices.Concat(slices.Repeat([]wasmedit.Memory{other}, int(more)), m.Memories)
	for i := range m.Funcs {
		for k := range m.Funcs[i].Code {
			in := &m.Funcs[i].Code[k]
			switch in.Imm() {
			case wasmfront.ImmMem, wasmfront.ImmMemArg, wasmfront.ImmMemArgLane:
				in.Index = to()
			case wasmfront.ImmMem2:
				in.Index, in.Index2 = to(), to()
			case wasmfront.ImmDataMem:
				in.Index2 = to()
			}
		}
	}
	for i := range m.Data {
		m.Data[i].Memory = to()
	}
	for i := range m.Exports {
		if x := &m.Exports[i]; x.Name == "memory" {
			x.Index = to()
		}
	}
	if own {
		fill := bytes.Repeat([]byte{0xa5}, 1<<10)
		for k := range more {
			m.Data = append(m.Data, wasmedit.Data{Mode: wasmfront.SegmentActive, Memory: k, Offset: []wasmfront.ConstOp{{Op: wasmfront.OpI32Const}}, Bytes: fill})
		}
	}
	wasm, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	several = p.With(wasm)
	several.AnyNaN = p.AnyNaN
	return several, own
}
