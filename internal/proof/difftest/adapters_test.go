package difftest

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/waot-project/waot"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/internal/proof/cputime"
	"github.com/waot-project/waot/internal/proof/testenv"
)

// This file has families of functions that are called across the boundary between C and compiled code, and bounds the sizes of
// objects.

// thousandEach is a type of a thousand parameters and results, of both kinds of number.
var thousandEach = join([]byte{0x60}, vector(1000, rep(500, []byte{0x7F, 0x7C})), vector(1000, rep(500, []byte{0x7D, 0x7E})))

// externs is n exports, or, with the name of a module, n imports. The i-th is the function with the index of(i), or of that type.
func externs(n int, module []byte, of func(i int) int) []byte {
	return vector(n, numbered(n, func(i int) []byte { return join(module, sized(fmt.Appendf(nil, "%x", i)), []byte{0}, uleb(of(i))) }))
}

func always(k int) func(int) int { return func(int) int { return k } }
func itself(i int) int           { return i }

// manyTypes is n types; typeOf is the type of parameter k, of 50, of type i.
func manyTypes(n int, typeOf func(i, k int) byte) []byte {
	return vector(n, numbered(n, func(i int) []byte {
		return join([]byte{0x60}, vector(50, numbered(50, func(k int) []byte { return []byte{typeOf(i, k)} })), []byte{0})
	}))
}

var moduleName = []byte{1, 'm'}

// trapping is n bodies that trap.
func trapping(n int) []byte { return vector(n, rep(n, sized([]byte{0, 0, 0x0B}))) }

// boundaryFamilies multiply functions that cross the boundary by their parameters and results.
var boundaryFamilies = []family{
	{"one function of a thousand parameters and results, exported", 8000, func(n int) []byte {
		return parts{1: vector(1, thousandEach), 3: vector(1, []byte{0}), 7: externs(n, nil, always(0)), 10: trapping(1)}.encode()
	}, false},
	{"functions of a thousand parameters and results, imported", 8000, func(n int) []byte {
		return parts{1: vector(1, thousandEach), 2: externs(n, moduleName, always(0))}.encode()
	}, false},
	{"one such import, exported", 8000, func(n int) []byte {
		return parts{1: vector(1, thousandEach), 2: externs(1, moduleName, always(0)), 7: externs(n, nil, always(0))}.encode()
	}, false},
	{"one such import, exported under short names that are escaped", 16000, func(n int) []byte {
		return parts{1: vector(1, thousandEach), 2: externs(1, moduleName, always(0)),
			7: vector(n, numbered(n, func(i int) []byte { return []byte{2, byte(1 + i%127), byte(1 + i/127), 0, 0} }))}.encode()
	}, false},
	{"equal types of a thousand parameters and results, each exported", 1000, func(n int) []byte {
		return parts{1: vector(n, rep(n, thousandEach)), 3: vector(n, numbered(n, uleb)), 7: externs(n, nil, itself), 10: trapping(n)}.encode()
	}, false},
	{"types that adapters tell apart, each exported", 8000, func(n int) []byte {
		typ := func(i, k int) byte { return 0x7F - byte(i>>(k%13)&1) }
		return parts{1: manyTypes(n, typ), 3: vector(n, numbered(n, uleb)), 7: externs(n, nil, itself), 10: trapping(n)}.encode()
	}, false},
	{"types that adapters tell apart, each imported", 8000, func(n int) []byte {
		typ := func(i, k int) byte { return 0x7F - 2*byte(i>>(k%13)&1) }
		return parts{1: manyTypes(n, typ), 2: externs(n, moduleName, itself)}.encode()
	}, false},
	{"types that adapters do not tell apart, each imported", 8000, func(n int) []byte {
		typ := func(i, k int) byte { return 0x7F - byte(i>>(k%13)&1) }
		return parts{1: manyTypes(n, typ), 2: externs(n, moduleName, itself)}.encode()
	}, false},
	{"types of six parameters", 40000, func(n int) []byte {
		return parts{1: vector(n, numbered(n, func(i int) []byte {
			typ := []byte{0x60, 6}
			for range 6 {
				typ = append(typ, "\x7F\x7E\x7D\x7C\x70\x6F"[i%6])
				i /= 6
			}
			return append(typ, 0)
		}))}.encode()
	}, false},
	{"long names that are escaped", 20000, func(n int) []byte {
		return parts{1: {1, 0x60, 0, 0}, 3: {1, 0}, 10: trapping(1),
			7: vector(n, numbered(n, func(i int) []byte { return join(sized(fmt.Appendf(nil, "%040d%x", 0, i)), []byte{0, 0}) }))}.encode()
	}, false},
	{"empty passive data segments", 100000, func(n int) []byte {
		return parts{1: {1, 0x60, 0, 0}, 3: {1, 0}, 12: uleb(n), 10: trapping(1), 11: vector(n, rep(n, []byte{1, 0}))}.encode()
	}, false},
}

// byteCounter counts what is written to it.
type byteCounter int

func (c *byteCounter) Write(b []byte) (int, error) { *c += byteCounter(len(b)); return len(b), nil }

// mostObject bounds the bytes of an object for each byte of Wasm; freeObject is besides. Much of what is short in Wasm, such as an
// export or an element, has symbols, unwind information and relocations, of 24 bytes or more each.
const mostObject, freeObject = 100, 64 << 10

// TestObjectSizes: the objects of all adversarial modules that compile are in proportion to the modules, for both
// machines.
func TestObjectSizes(t *testing.T) {
	notEmulated(t)
	smaller := testenv.Cases(8, 4, 1)
	for _, f := range append(boundaryFamilies, families...) {
		if f.product {
			continue
		}
		for _, target := range compile.Targets() {
			var per [2]float64 // for a byte
			for k, n := range [2]int{f.n / 16 / smaller, f.n / 4 / smaller} {
				wasm := f.make(n)
				var size byteCounter
				r, err := compile.Module(wasm, compile.Options{OptLevel: opt.O1, Jobs: 1, Target: target})
				if err == nil {
					err = r.WriteELF(&size)
				}
				if err != nil {
					t.Errorf("%s, %s: %v", f.name, target, err)
					break
				}
				per[k] = float64(size) / float64(len(wasm))
				if int(size) > freeObject+mostObject*len(wasm) {
					t.Errorf("%s, %s: an object of %d bytes for %d", f.name, target, size, len(wasm))
				}
				if k == 1 && per[1] > 1.6*per[0]+freeObject/float64(len(wasm)) {
					t.Errorf("%s, %s: the object grows by more than the module", f.name, target)
				}
			}
			t.Logf("%-60s %-15s %6.1f, %6.1f bytes for each", f.name, target, per[0], per[1])
		}
	}
}

// TestAdversarialBoundary is TestAdversarial for the families of this file; what is compiled is also made an image.
func TestAdversarialBoundary(t *testing.T) {
	notEmulated(t)
	checkGrowth(t, boundaryFamilies, opt.O1)
	for _, f := range boundaryFamilies {
		wasm := f.make(f.n)
		r, err := compile.Module(wasm, compile.Options{OptLevel: opt.O1, Jobs: 1})
		if err != nil {
			t.Fatal(err)
		}
		most := freeTime + mostTime*time.Duration(len(wasm))
		took := cputime.Least(1, most, func() {
			if _, err := load.Image(r.Object, r.Meta); err != nil {
				t.Errorf("%s: %v", f.name, err)
			}
		})
		if took > most {
			t.Errorf("%s: %v to make an image of %d bytes", f.name, took, len(wasm))
		}
	}
}

// TestBoundaryInstances: thousands of imports of a type with a thousand parameters and results are described, checked and bound in
// proportion to the imports, not to their types.
func TestBoundaryInstances(t *testing.T) {
	const n, mostEach = 8000, 4 << 10 // bytes allocated for each import; its type alone has 2000 values
	wasm := parts{1: vector(1, thousandEach), 2: externs(n, moduleName, always(0)), 7: externs(n, nil, itself)}.encode()
	m, err := waot.Compile(wasm, &waot.CompileOptions{Workers: 1, NoOptimize: true})
	if errors.Is(err, host.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s, err := host.NewStore(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	imported, exported := m.Imports(), m.Exports()
	typ := imported[0].Type.Func
	f, err := s.NewFunc(host.RawFunc{Params: typ.Params, Results: typ.Results, Func: func(*host.Caller, []uint64, []uint64) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	functions := map[string]any{}
	for i := range imported {
		functions[imported[i].Name] = f
	}
	inst, err := s.Instantiate(t.Context(), m, host.Imports{"m": functions})
	if err != nil {
		t.Fatal(err)
	}
	if all := inst.Exports(); len(all) != n || len(exported) != n {
		t.Errorf("%d and %d exports, want %d", len(all), len(exported), n)
	}
	runtime.ReadMemStats(&after)
	each := (after.TotalAlloc - before.TotalAlloc) / n
	t.Logf("%d bytes allocated for each import", each)
	if each > mostEach {
		t.Errorf("%d bytes allocated for each of %d imports, at most %d expected", each, n, mostEach)
	}
}
