//go:build linux && (amd64 || arm64)

package inproc_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/wasmfront/wat"
)

// usedUp is a module that changes all that an instance has, and tells whether it is new.
const usedUp = `(module
	(memory (export "memory") %[1]d 40)
	(data (i32.const 100) "%[2]s")
	(global $g (mut i64) (i64.const 77))
	(table $t 10 30 funcref)
	(elem (i32.const 3) $f)
	(func $f (export "f"))
	(func (export "use") (param $pages i32) (param $elements i32)
		(drop (memory.grow (local.get $pages)))
		(memory.fill (i32.const 0) (i32.const 255) (i32.mul (memory.size) (i32.const 65536)))
		(global.set $g (i64.const 78))
		(drop (table.grow $t (ref.func $f) (local.get $elements)))
		(table.fill $t (i32.const 0) (ref.func $f) (table.size $t))
		(table.set $t (i32.const 3) (ref.null func))
		(data.drop 0)
		(call $deep (i32.const 3000)))
	(func $deep (param i32)
		(if (local.get 0) (then (call $deep (i32.sub (local.get 0) (i32.const 1))))))
	(func (export "sum") (result i64) (local $i i32) (local $sum i64)
		(loop $l
			(local.set $sum (i64.add (local.get $sum) (i64.load (local.get $i))))
			(br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 8))) (i32.mul (memory.size) (i32.const 65536)))))
		(local.get $sum))
	(func (export "global") (result i64) (global.get $g))
	(func (export "elements") (result i64) (local $i i32) (local $n i64)
		(loop $l
			(local.set $n (i64.add (i64.shl (local.get $n) (i64.const 1)) (i64.extend_i32_u (ref.is_null (table.get $t (local.get $i))))))
			(br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (table.size $t))))
		(local.get $n))
	(func (export "at") (param i32) (result i32) (i32.load8_u (local.get 0))))`

// TestSpares: what closed stores leave for the next ones is as new, whatever instances were made and did before; and so is what is made where
// nothing can be left.
func TestSpares(t *testing.T) {
	var modules []*inproc.Module
	var pages []uint64
	var sums []uint64
	for n, c := range []struct {
		pages uint64
		data  string
	}{{1, "some data"}, {1, "other"}, {2, "some data"}, {5, ""}, {20, strings.Repeat("more", 50_000)}, {30, "data"}} {
		wasm, err := wat.Assemble(fmt.Appendf(nil, usedUp, c.pages, c.data))
		if err != nil {
			t.Fatal(err)
		}
		img, err := image(wasm.Wasm, opt.O1)
		if err != nil {
			t.Fatal(err)
		}
		m := []func(*testing.T, *inproc.Image) *inproc.Module{fromImage, fromFile}[n%2](t, img)
		defer m.Close()
		modules, pages, sums = append(modules, m), append(pages, c.pages), append(sums, 0)
		for i := range len(c.data) {
			sums[n] += uint64(c.data[i]) << ((100 + i) % 8 * 8)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	call := func(i *inproc.Instance, name string, args ...uint64) uint64 {
		t.Helper()
		stack := append(args, 0)
		if err := export(t, i, name).Call(args, stack[:1]); err != nil {
			t.Fatalf("%s%v: %v", name, args, err)
		}
		return stack[0]
	}
	// one makes an instance that must be new, and uses it up.
	one := func() *inproc.Store {
		s, err := inproc.NewStore(inproc.Config{KeepViews: rng.IntN(4) == 0})
		if err != nil {
			t.Fatal(err)
		}
		for range 1 + rng.IntN(2) {
			n := rng.IntN(len(modules))
			i, err := s.Instantiate(modules[n], nil)
			if err != nil {
				t.Fatal(err)
			}
			if sum, global, elements := call(i, "sum"), call(i, "global"), call(i, "elements"); sum != sums[n] || global != 77 || elements != 0b1110111111 {
				t.Fatalf("module %d: sum %d and not %d, global %d, elements %b", n, sum, sums[n], global, elements)
			}
			end := pages[n] << 16
			call(i, "at", end-1)
			if err := export(t, i, "at").Call([]uint64{end}, make([]uint64, 1)); err == nil {
				t.Fatalf("module %d: the memory goes on behind its %d pages", n, pages[n])
			}
			if rng.IntN(4) > 0 {
				if err := export(t, i, "use").Call([]uint64{rng.Uint64N(3) * rng.Uint64N(5), rng.Uint64N(20)}, nil); err != nil {
					t.Fatal(err)
				}
			}
		}
		return s
	}
	rounds := testenv.Cases(40, 150, 3000)
	for _, keep := range []bool{true, false} {
		end := func() {}
		if !keep {
			end = inproc.KeepNothing()
		}
		var open []*inproc.Store
		for range rounds {
			open = append(open, one())
			for len(open) > rng.IntN(5) {
				n := rng.IntN(len(open))
				if err := open[n].Close(); err != nil {
					t.Fatal(err)
				}
				open = append(open[:n], open[n+1:]...)
			}
		}
		for _, s := range open {
			s.Close()
		}
		end()
	}
}

// TestSparesGiveWay: what closed stores leave is not in the way of what the process may not have besides.
func TestSparesGiveWay(t *testing.T) {
	const child = "WAOT_SPARES_GIVE_WAY"
	if os.Getenv(child) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestSparesGiveWay$")
		cmd.Env = append(os.Environ(), child+"=1")
		out, err := cmd.CombinedOutput()
		if errors.Is(err, syscall.ENOEXEC) {
			t.Log("this process runs in an emulator, which holds no such limit")
		} else if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	with := func(memories int, pages uint64) (err error) {
		var stores []*inproc.Store
		for range memories {
			s, e := inproc.NewStore(inproc.Config{})
			if e != nil {
				t.Fatal(e)
			}
			_, e = s.NewMemory(inproc.Limits{Min: pages})
			stores, err = append(stores, s), errors.Join(err, e)
		}
		for _, s := range stores {
			s.Close()
		}
		return err
	}
	if err := with(20, 63); err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, data, _ := strings.Cut(string(status), "VmData:")
	kib, err := strconv.ParseUint(strings.Fields(data + " none")[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	limit := kib<<10 + 16<<20
	if err := syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
		t.Fatal(err)
	}
	if err := with(1, 800); err != nil {
		t.Error("50 MiB:", err)
	}
	if with(1, 1600) == nil {
		t.Log("100 MiB are there, too: an emulator does not hold the limit")
	}
}

// TestDeepStacks: what deep calls took of a native stack is given back, whatever they wrote: small frames, and large ones of zeros.
func TestDeepStacks(t *testing.T) {
	inproc.NeedSight(t)
	const vectors = 950
	large, zeros := strings.Repeat(" v128", vectors), strings.Repeat(" (v128.const i64x2 0 0)", vectors)
	var loads, stores strings.Builder
	for n := range vectors {
		fmt.Fprintf(&loads, "(local.set %d (v128.load offset=%d (i32.const 0)))", 1+n, 16*n)
		fmt.Fprintf(&stores, "(v128.store offset=%d (i32.const 0) (local.get %d))", 16*n, 1+n)
	}
	const down = `(param i64) (result i64) (if (result i64) (i64.eqz (local.get 0)) (then (i64.const 1)) (else
		(i64.add (i64.popcnt (local.get 0)) (call $f (i64.sub (local.get 0) (i64.const 1))))))`
	for name, text := range map[string]string{
		"small": `(module (func $f (export "f") ` + down + `))`,
		"slots": `(module (memory 1) (func $f (export "f") (param i64) (result i64) (local ` + large + `) ` + loads.String() + `
			(if (i64.ne (local.get 0) (i64.const 0)) (then (drop (call $f (i64.sub (local.get 0) (i64.const 1))))))
			` + stores.String() + ` (i64.const 1)))`,
		"from outside": `(module (func $f ` + down + `)
			(func (export "f") (param i64` + large + `) (result i64` + large + `) (call $f (local.get 0))` + zeros + `))`,
	} {
		wasm, err := wat.Assemble([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		img, err := image(wasm.Wasm, opt.O0)
		if err != nil {
			t.Fatal(err)
		}
		m, err := inproc.Load(img)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		before := func(uintptr) bool { return false }
		for n, depth := range []uint64{0, 100, 5000, 5000, 100, 5000, 0, 5000} {
			s, err := inproc.NewStore(inproc.Config{MaxStack: []uint64{0, 60 << 20, 40 << 20}[n%3]})
			if err != nil {
				t.Fatal(err)
			}
			used := s.StackUsed()
			if before(0) {
				t.Fatalf("%s, %d calls: there is memory where the code of another store began", name, depth)
			}
			before = used
			i, err := s.Instantiate(m, nil)
			if err != nil {
				t.Fatal(err)
			}
			words := []uint64{depth}
			if name == "from outside" {
				words = append(words, make([]uint64, 2*vectors)...)
			}
			if err := export(t, i, "f").Call(words, words); err != nil && depth < 5000 {
				t.Fatal(err)
			}
			deep := false
			for below := uintptr(64 << 10); below < 128<<10; below += 4 << 10 {
				deep = deep || used(below)
			}
			if deep != (depth == 5000) && depth != 100 {
				t.Errorf("%s, %d calls: they were deep: %v", name, depth, deep)
			}
			s.Close()
			for below := uintptr(16 << 10); below < 256<<10; below += 4 << 10 {
				if used(below) {
					t.Fatalf("%s, %d calls: %d bytes below its beginning there is memory", name, depth, below)
				}
			}
		}
	}
}
