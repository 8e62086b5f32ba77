package difftest

import (
	"bytes"
	"cmp"
	"flag"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/internal/proof/randprog"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/internal/proof/wasmgen"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/spectest/nativeengine"
	"github.com/waot-project/waot/wasmfront"
	"github.com/waot-project/waot/wasmfront/validate"
)

var mutantsFlag = flag.Uint64("mutants", 0, "number of mutated modules, if not as many as the level of the tests says")

// TestMutants changes a few operators and immediates of generated modules and
// compares what the valid ones do: they have shapes that the generator never makes. The
// interpreter goes first, with a limit on its steps.
func TestMutants(t *testing.T) {
	count := cmp.Or(*mutantsFlag, testenv.Cases[uint64](60, 100, 600))
	var next atomic.Uint64
	var ran, failed atomic.Int32
	next.Store(*seedFlag)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				seed := next.Add(1) - 1
				if seed >= *seedFlag+count || failed.Load() >= 10 {
					return
				}
				p := mutant(seed)
				if p == nil {
					continue
				}
				switch ok, err := compareMutant(p); {
				case err != nil:
					failed.Add(1)
					t.Errorf("seed %d: %v", seed, err)
					save(t, seed, p)
				case ok:
					ran.Add(1)
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d of %d mutants ran", ran.Load(), count)
}

// judged are the features of mutants: those that wazero knows too.
const judged = wasmfront.DefaultFeatures &^ (wasmfront.FeatureLegacyExceptions | wasmfront.FeatureGC)

// mutant is the mutated program of a seed; nil if no mutation found is valid.
func mutant(seed uint64) *randprog.Program {
	r := rand.New(rand.NewPCG(seed, 7))
	p := randprog.FromGenerator(wasmgen.Generate(seed%5000, wasmgen.Config{Size: 40 + r.IntN(100), NoTraps: seed%2 == 0}), false)
	m, err := wasmfront.Decode(p.Wasm, wasmfront.DefaultFeatures)
	if err != nil {
		return nil
	}
	for range 30 {
		b := bytes.Clone(p.Wasm)
		for range 1 + r.IntN(3) {
			mutate(r, b, m)
		}
		if bytes.Equal(b, p.Wasm) {
			continue
		}
		if m, err := validate.All(b, validate.Config{Features: judged}); err == nil && !usesDropped(m) {
			return p.With(b)
		}
	}
	return nil
}

// usesDropped reports whether a function copies from a segment that is not passive:
// wazero keeps those of data.
func usesDropped(m *wasmfront.Module) bool {
	var v validate.Func
	var op wasmfront.Operator
	for i := m.NumImportedFuncs; i < uint32(len(m.Funcs)); i++ {
		v.Begin(m, i)
		for v.Next(&op) {
			if (op.Op == wasmfront.OpMemoryInit || op.Op == wasmfront.OpTableInit) && op.Index != 1 {
				return true
			}
		}
	}
	return false
}

// classes are ranges of operators of one type.
var classes = [][2]byte{
	{0x28, 0x28}, {0x2C, 0x2F}, {0x29, 0x29}, {0x30, 0x35}, {0x36, 0x36}, {0x3A, 0x3B}, {0x37, 0x37}, {0x3C, 0x3E},
	{0x46, 0x4F}, {0x51, 0x5A}, {0x5B, 0x60}, {0x61, 0x66}, {0x67, 0x69}, {0x79, 0x7B}, {0x6A, 0x78}, {0x7C, 0x8A},
	{0x8B, 0x91}, {0x92, 0x98}, {0x99, 0x9F}, {0xA0, 0xA6}, {0xC0, 0xC1}, {0xC2, 0xC4}, {0x20, 0x22}, {0x23, 0x24},
}

// mutate changes a byte of a body, most often from an operator to one like it.
func mutate(r *rand.Rand, b []byte, m *wasmfront.Module) {
	body := &m.Code[r.IntN(len(m.Code)-1)] // the last is reset
	at := body.Offset + r.IntN(len(body.Bytes))
	if r.IntN(3) > 0 {
		for _, c := range classes {
			if b[at] >= c[0] && b[at] <= c[1] {
				b[at] = c[0] + byte(r.IntN(int(c[1]-c[0])+1))
				return
			}
		}
	}
	if r.IntN(2) == 0 {
		b[at] ^= 1 << r.IntN(7)
	} else {
		b[at] = byte(r.IntN(128))
	}
}

// compareMutant reports whether the mutant could be compared, which one that takes too
// long or uses up the stack cannot.
func compareMutant(p *randprog.Program) (bool, error) {
	slow := randprog.Run(randprog.Bounded(), p)
	if slow.TooLong() {
		return false, nil
	}
	for i := range slow.Calls {
		if slow.Calls[i].Overflowed() {
			return false, nil
		}
	}
	_, _, err := compareProgram(p, []spectest.Engine{nativeengine.New(opt.O0), nativeengine.New(opt.O1)})
	return true, err
}
