package difftest

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/wasmfront"
)

// copied is a module with so many further copies of its first function, each exported, or no copies if it is invalid.
func copied(wasm []byte, times int) []byte {
	m, err := wasmfront.Decode(wasm, wasmfront.DecodableFeatures)
	if err != nil {
		return wasm
	}
	p := parts{}
	for rest := wasm[8:]; len(rest) > 0; {
		size, k := binary.Uvarint(rest[1:])
		p[rest[0]] = rest[1+k : 1+k+int(size)]
		rest = rest[1+k+int(size):]
	}
	n, first := len(m.Code), int(m.NumImportedFuncs)
	items := func(id byte) []byte { return p[id][len(uleb(n)):] }
	p[3] = vector(n+times, join(items(3), rep(times, uleb(int(m.Funcs[first].Type)))))
	p[7] = vector(n+times, numbered(n+times, func(i int) []byte {
		return join(sized(fmt.Appendf(nil, "%x", i)), []byte{0}, uleb(first+i))
	}))
	p[10] = vector(n+times, join(items(10), rep(times, sized(m.Code[0].Bytes))))
	return p.encode()
}

// Bounds of what a module of many functions may take, each of which is within the limits of a function: for each byte, and besides, which is what
// compile's freeComplexity lets through.
const wideTime, wideFreeTime = mostTime, 500 * time.Millisecond

// TestAdversarialModules compiles modules that have many copies of a function whose values and blocks multiply and which is compiled alone: what each
// function may have does not add up, in time, in memory and in the object.
func TestAdversarialModules(t *testing.T) {
	notEmulated(t)
	for k, f := range families {
		if !f.product || k%testenv.Cases(16, 16, 1) != 0 {
			continue
		}
		for _, level := range testenv.Cases([]opt.Level{opt.O1}, []opt.Level{opt.O1}, []opt.Level{opt.O1, opt.O0}) {
			checkModules(t, f, level)
		}
	}
}

// checkModules compiles copies of functions of a family, of three sizes: the largest power of two that is compiled, an eighth and a 64th of it.
func checkModules(t *testing.T, f family, level opt.Level) {
	t.Helper()
	n := f.n
	for ; n > 1; n /= 2 {
		if _, _, err := cost(t, f.make(n), level, 1, time.Minute); err == nil {
			break
		} else if !isLimit(err) {
			t.Fatalf("O%d: %s: %d: %v", level, f.name, n, err)
		}
	}
	for _, n := range []int{n, n / 8, n / 64} {
		one := f.make(max(n, 1))
		body := len(copied(one, 2)) - len(copied(one, 1))
		wasm := copied(one, testenv.Cases(50_000, 50_000, 300_000)/body)
		most := testenv.Slow(wideFreeTime + wideTime*time.Duration(len(wasm)))
		took, allocated, err := cost(t, wasm, level, 2, most)
		if err != nil && !isLimit(err) {
			t.Errorf("O%d: %s: %d: %v", level, f.name, n, err)
		}
		t.Logf("O%d: %-48s n %5d: %7d bytes: %5d ns, %5d bytes for each: %v", level, f.name, n, len(wasm), int(took)/len(wasm), int(allocated)/len(wasm), err)
		if took > most || allocated > productBytes+mostBytes*uint64(len(wasm)) {
			t.Errorf("O%d: %s: %d: %d MiB, %v for %d bytes", level, f.name, n, allocated>>20, took, len(wasm))
		}
	}
}
