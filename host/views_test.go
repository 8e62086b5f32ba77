//go:build linux && (amd64 || arm64)

package host_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/waot-project/waot"
	"github.com/waot-project/waot/host"
)

// writes has a memory with data, and functions that write to it and grow it.
const writes = `(module (memory (export "memory") 2 10) (data (i32.const 100000) "data") (data (i32.const 70000) "more")
	(func (export "set") (param i32 i32) (i32.store8 (local.get 0) (local.get 1)))
	(func (export "get") (param i32) (result i32) (i32.load8_u (local.get 0)))
	(func (export "grow") (param i32) (result i32) (memory.grow (local.get 0))))`

// files is the number of memories that are mapped.
func files(t *testing.T) int {
	return strings.Count(string(must[[]byte](t)(os.ReadFile("/proc/self/maps"))), "memfd:waot")
}

// holding is how many mappings of memories have one of the slices.
func holding(t *testing.T, views [][]byte) (n int) {
	t.Helper()
	for line := range strings.Lines(string(must[[]byte](t)(os.ReadFile("/proc/self/maps")))) {
		var low, high uintptr
		if _, err := fmt.Sscanf(line, "%x-%x", &low, &high); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(line, "memfd:waot") && slices.ContainsFunc(views, func(view []byte) bool {
			at := reflect.ValueOf(view).Pointer()
			return low <= at && at < high
		}) {
			n++
		}
	}
	return n
}

// TestKeepViews: slices are the memory, and stay when the store has been closed, each with what its memory had.
func TestKeepViews(t *testing.T) {
	m := text(t, writes)
	before := files(t)
	var views [][]byte
	for i := range 100 {
		s := must[*host.Store](t)(host.NewStore(&host.StoreOptions{KeepViews: true}))
		inst := must[*host.Instance](t)(s.Instantiate(bg, m, nil))
		mem := must[*host.Memory](t)(inst.Memory("memory"))
		call := func(name string, args ...any) any {
			t.Helper()
			got := must[[]any](t)(function(t, inst, name).Call(bg, args...))
			return append(got, nil)[0]
		}
		view, ok := mem.Read(99_998, 8)
		if !ok || string(view) != "\x00\x00data\x00\x00" {
			t.Fatalf("%q", view)
		}
		call("set", 100_001, 'A')
		view[4] = byte(i)
		if got := call("get", 100_002); got != int32(i) || view[3] != 'A' {
			t.Fatalf("%q, %v", view, got)
		}
		got := call("grow", 3)
		all, ok := mem.Read(0, 5<<16)
		if got != int32(2) || !ok || mem.Size() != 5<<16 {
			t.Fatalf("grown from %v to %d", got, mem.Size())
		}
		call("set", 300_000, 7)
		call("set", 100_003, 'B')
		if all[300_000] != 7 || view[5] != 'B' || !bytes.Equal(all[99_998:][:8], view) {
			t.Fatalf("%q", view)
		}
		s.Close()
		if _, ok := mem.Read(0, 1); ok {
			t.Error("a slice after closing")
		}
		views = append(views, view, all[300_000:][:1])
	}
	runtime.GC()
	for i := range 100 {
		view := views[2*i]
		if want := []byte{0, 0, 'd', 'A', byte(i), 'B', 0, 0}; !bytes.Equal(view, want) || views[2*i+1][0] != 7 {
			t.Errorf("view %d is %q, want %q", i, view, want)
		}
		view[0]++
	}
	if n := holding(t, views); n < 100 {
		t.Errorf("the slices are in %d memories", n)
	}
	// Without slices and the module nothing is left, and the heap is as always.
	clear(views)
	m.Close()
	var blocks [][]byte
	for start := time.Now(); files(t) > before && time.Since(start) < 2*time.Minute; {
		runtime.GC()
		block := make([]byte, 6<<16)
		if i := slices.IndexFunc(block, func(b byte) bool { return b != 0 }); i >= 0 {
			t.Fatalf("a new block has %#x", block[i])
		}
		if len(blocks) < 100 {
			blocks = append(blocks, block)
		}
	}
	if n := files(t); n > before {
		t.Errorf("%d mappings are left of %d", n, before)
	}
	for i := range blocks {
		for k := range blocks[i] {
			blocks[i][k] = byte(i)
		}
	}
	runtime.GC()
	for i := range blocks {
		if k := slices.IndexFunc(blocks[i], func(b byte) bool { return b != byte(i) }); k >= 0 {
			t.Fatalf("block %d has %#x at %d", i, blocks[i][k], k)
		}
	}
}

// TestKeepViewsAnywhere: slices of any part are the same bytes as the whole memory, before and after growth, also of the end and of nothing.
func TestKeepViewsAnywhere(t *testing.T) {
	s := must[*host.Store](t)(host.NewStore(&host.StoreOptions{KeepViews: true}))
	defer s.Close()
	mem := must[*host.Memory](t)(s.NewMemory(host.Limits{Min: 1, Max: 1000, HasMax: true}))
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 60 {
		all := mem.Bytes()
		for i := 0; i < len(all); i += 1000 {
			all[i] = byte(i / 1000)
		}
		for range 100 {
			from := random.IntN(len(all))
			n := random.IntN(min(len(all)-from, 1<<random.IntN(25)) + 1)
			b, ok := mem.Read(uint32(from), uint32(n))
			if !ok || b == nil || len(b) != n || cap(b) != n || !bytes.Equal(b, all[from:from+n]) {
				t.Fatalf("round %d: %d bytes from %d of %d", round, n, from, len(all))
			}
			if n > 0 {
				b[n-1]++
				if all[from+n-1] != b[n-1] {
					t.Fatalf("round %d: byte %d is not shared", round, from+n-1)
				}
			}
		}
		for _, from := range []int{0, len(all) / 2, len(all) - 1, len(all)} {
			if b, ok := mem.Read(uint32(from), uint32(len(all)-from)); !ok || len(b) != len(all)-from {
				t.Errorf("the rest from %d of %d: %v", from, len(all), ok)
			}
			if _, ok := mem.Read(uint32(from), uint32(len(all)-from)+1); ok {
				t.Errorf("more than the rest from %d of %d", from, len(all))
			}
		}
		if _, ok := mem.Grow(uint32(1 + random.IntN(16))); !ok {
			t.Fatal("growth fails")
		}
	}
}

// TestClosedStreamNumbers: neither code nor a memory is a file that has the number of a standard stream which the program has closed: Go's runtime, for example, writes to
// those without asking.
func TestClosedStreamNumbers(t *testing.T) {
	object := must[[]byte](t)(waot.CompileObject(must[[]byte](t)(waot.ParseText([]byte(writes))), nil))
	text(t, writes) // all that a process opens once
	aside := must[int](t)(syscall.Dup(0))
	defer func() {
		syscall.Dup3(aside, 0, 0)
		syscall.Close(aside)
	}()
	check := func(what string) {
		t.Helper()
		if to, err := os.Readlink("/proc/self/fd/0"); err == nil {
			t.Errorf("%s: standard input is closed, and 0 is %s", what, to)
		}
		syscall.Close(0)
	}
	syscall.Close(0)
	m := must[*host.Module](t)(host.Load(object, nil))
	defer m.Close()
	check("a module")
	s := must[*host.Store](t)(host.NewStore(&host.StoreOptions{KeepViews: true}))
	defer s.Close()
	inst := must[*host.Instance](t)(s.Instantiate(bg, m, nil))
	check("an instance")
	must[[]any](t)(function(t, inst, "grow").Call(bg, int32(1)))
	must[*host.Memory](t)(s.NewMemory(host.Limits{Min: 1}))
	check("memories")
}
