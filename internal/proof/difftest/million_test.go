package difftest

import (
	"flag"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/internal/proof/cputime"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/spectest/nativeengine"
	"github.com/waot-project/waot/wasmfront"
)

// digits are six fields that are different for each of three million numbers.
func digits(i int) []byte {
	return numbered(6, func(int) []byte {
		d := i % 12
		i /= 12
		return []byte{[]byte{0x7F, 0x7E, 0x7D, 0x7C, 0x78, 0x77}[d%6], byte(d / 6)}
	})
}

// nullTo is a field with a reference to a type, or null.
func nullTo(typ int, mutable byte) []byte { return join([]byte{0x63}, ofHeap(typ), []byte{mutable}) }

// millions are modules with n types, of which nothing multiplies. refused says that a limit of what a process may have refuses instances of the largest.
var millions = []struct {
	name    string
	refused bool
	make    func(n int) []byte
}{
	{"structures", false, func(n int) []byte {
		return typing(n, numbered(n, func(i int) []byte { return join([]byte{0x5F, 6}, digits(i)) }))
	}},
	{"equal structures", false, func(n int) []byte { return typing(n, rep(n, []byte{0x5F, 0})) }},
	{"structures of the one before", false, func(n int) []byte {
		return typing(n, numbered(n, func(i int) []byte {
			before := nullTo(max(heapTypes+i-1, 0), 1)
			return join([]byte{0x5F, 2}, before, before)
		}))
	}},
	{"arrays of the one before", false, func(n int) []byte {
		return typing(n, numbered(n, func(i int) []byte { return join([]byte{0x5E}, nullTo(heapTypes+i-1, 1)) }))
	}},
	{"functions of the one before", false, func(n int) []byte {
		return typing(n, numbered(n, func(i int) []byte { return join([]byte{0x50, 0, 0x60, 1, 0x63}, ofHeap(heapTypes+i-1), []byte{0}) }))
	}},
	{"a chain of recursion groups", false, func(n int) []byte {
		return typing(n/2, numbered(n/2, func(i int) []byte {
			a, b := heapTypes+2*i, heapTypes+2*i+1
			return join([]byte{0x4E, 2, 0x5F, 2}, nullTo(b, 1), nullTo(a-1, 0), []byte{0x5F, 1}, nullTo(a, 1))
		}))
	}},
	{"equal recursion groups", false, func(n int) []byte {
		return typing(n/2, numbered(n/2, func(i int) []byte {
			a, b := heapTypes+2*i, heapTypes+2*i+1
			return join([]byte{0x4E, 2, 0x5F, 1}, nullTo(b, 1), []byte{0x5F, 1}, nullTo(a, 0))
		}))
	}},
	{"one recursion group", false, func(n int) []byte {
		return typing(1, []byte{0x4E}, vector(n, numbered(n, func(i int) []byte {
			return join([]byte{0x5F, 2}, nullTo(heapTypes+(i+1)%n, 1), nullTo(heapTypes+i*7%n, 0))
		})))
	}},
	{"chains of subtypes", true, func(n int) []byte {
		return typing(n, numbered(n, func(i int) []byte {
			if i%64 == 0 {
				return join([]byte{0x50, 0, 0x5F, 6}, digits(i))
			}
			return join([]byte{0x50, 1}, uleb(heapTypes+i-1), []byte{0x5F, 6}, digits(i&^63))
		}))
	}},
}

var everyMillion = flag.Bool("million", false, "TestMillionTypes, with all cases: a million types of each kind")

// TestMillionTypes compiles modules with as many types as there may be, instantiates them, calls a function and closes them: in time and memory that grow with their size, or
// a limit refuses instances of them, which leaves nothing behind.
func TestMillionTypes(t *testing.T) {
	notEmulated(t)
	for i, f := range millions {
		largest := testenv.Cases(8_000, 16_000, (wasmfront.MaxTypes-heapTypes)/4)
		if testenv.Full() && (*everyMillion || i == 0 || i >= len(millions)-2) { // of the others, a quarter
			largest = wasmfront.MaxTypes - heapTypes
		}
		var per [2]time.Duration
		for k, n := range []int{largest / 4, largest} {
			wasm := f.make(n)
			most := testenv.Slow(15 * time.Microsecond)
			if k == 1 && testenv.Full() { // fewer take too little to be compared
				most = min(most, 2*per[0]+testenv.Slow(500*time.Nanosecond))
			}
			least, heap, err := lifeOfTypes(wasm, most*time.Duration(n))
			per[k] = least / time.Duration(n)
			t.Logf("%-30s %8d types, %9d bytes: %v and %d bytes of memory for each, %v", f.name, n, len(wasm), per[k], heap/uint64(n), err)
			if per[k] > most || heap > 8<<20+2000*uint64(n) {
				t.Errorf("%s: %d types take %v and %d MiB, at most %v each", f.name, n, least, heap>>20, most)
			}
			if refused := f.refused && n > 900_000; refused != (err != nil) {
				t.Errorf("%s: %d types: %v", f.name, n, err)
			}
		}
	}
}

// lifeOfTypes compiles, instantiates and closes a module, more than once if that takes more processor time than enough. It returns the least time, and how much memory lives meanwhile.
func lifeOfTypes(wasm []byte, enough time.Duration) (least time.Duration, heap uint64, err error) {
	least = cputime.Least(1, enough, func() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		err = instantiated(wasm, func() {
			runtime.GC() // how much garbage there may be depends on what else lives in the process
			runtime.ReadMemStats(&after)
		})
		if heap = 0; after.HeapAlloc > before.HeapAlloc {
			heap = after.HeapAlloc - before.HeapAlloc
		}
	})
	return least, heap, err
}

// instantiated instantiates a module, and calls meanwhile while there is an instance.
func instantiated(wasm []byte, meanwhile func()) error {
	s, err := nativeengine.New(opt.O1).NewStore()
	if err != nil {
		return err
	}
	defer s.Close()
	m, err := s.Compile(wasm)
	if err != nil {
		return err
	}
	inst, err := s.Instantiate(m, func(string, string) (spectest.Extern, bool) { return nil, false })
	if err != nil {
		return err
	}
	got, err := inst.Invoke("f", []uint64{7})
	if err == nil && (len(got) != 1 || got[0].Bits != 7) {
		err = fmt.Errorf("f(7) is %v", got)
	}
	meanwhile()
	return err
}
