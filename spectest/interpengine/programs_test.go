package interpengine_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/interp"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/clif/verify"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/internal/proof/wat"
	"github.com/waot-project/waot/spectest/interpengine"
	"github.com/waot-project/waot/wasi"
)

// optimised is an engine that interprets what the mid-end makes of functions, verified after each pass.
func optimised() *interpengine.Engine {
	o := &opt.Optimizer{After: func(_ *opt.Pass, f *clif.Func) error { return verify.Func(f) }}
	return &interpengine.Engine{Label: "-O1", Rewrite: func(f *clif.Func) error { return o.Run(f, opt.O1) }}
}

// TestKotlin: a program of Kotlin's compiler, with structures, arrays, casts, calls of references and exceptions, says what it should.
func TestKotlin(t *testing.T) {
	dir := testenv.Material(t, testenv.EnvWasm3)
	wasm, err := os.ReadFile(filepath.Join(dir, "kotlin-hello.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join(dir, "kotlin-hello.expected"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []*interpengine.Engine{{}, optimised()} {
		t.Run(e.Name(), func(t *testing.T) {
			if diff := cmp.Diff(string(want), runWASI(t, e, wasm)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// runWASI runs a program and returns what it writes.
func runWASI(t *testing.T, e *interpengine.Engine, wasm []byte) string {
	t.Helper()
	var out bytes.Buffer
	w, err := wasi.New(&wasi.Options{Stdout: &out, Stderr: &out})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	mod, err := e.Translate(wasm)
	if err != nil {
		t.Fatal(err)
	}
	store := interp.NewStore(interp.Options{})
	imports := map[string]*interp.Function{}
	for _, f := range wasi.Functions() {
		params, results := wasi.Types(&f, clif.I32, clif.I64)
		imports[f.Name] = store.NewHostFunc(f.Name, clif.Signature{Params: params, Results: results}, func(c *interp.HostCall, args, results []uint64) error {
			var mem []byte
			if x, _ := c.Caller().Export("memory"); x != nil {
				mem = x.(*interp.Memory).Data
			}
			errno, err := f.Call(w, mem, args)
			if len(results) > 0 {
				results[0] = uint64(errno)
			}
			return err
		})
	}
	inst, err := store.Instantiate(mod.Decl, mod.Body, func(_, name string) (interp.Extern, bool) {
		f, ok := imports[name]
		return f, ok
	})
	if err != nil {
		t.Fatal(err)
	}
	start, _ := inst.Export("_start")
	if _, err := start.(*interp.Function).Call(nil); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestHeap: what the official suite says nothing of.
func TestHeap(t *testing.T) {
	const module = `(module
		(type $pair (sub (struct (field $a (mut i8)) (field $b (mut i16)) (field $v (mut v128)) (field $next (mut (ref null $pair))))))
		(type $triple (sub final $pair (struct (field (mut i8)) (field (mut i16)) (field (mut v128)) (field (mut (ref null $pair))) (field (mut f64)))))
		(type $bytes (array (mut i8))) (type $vectors (array (mut v128))) (type $refs (array (mut anyref)))
		(data $d "\01\02\03\fe\ff")
		(func $make (result (ref $triple)) (struct.new $triple (i32.const 0x1ff) (i32.const 0x18000) (v128.const i64x2 5 6) (struct.new_default $pair) (f64.const 1.5)))
		(func (export "packed") (result i32 i32 i32 i32) (local $p (ref $pair))
			(local.set $p (call $make))
			(struct.get_s $pair 0 (local.get $p)) (struct.get_u $pair 0 (local.get $p)) (struct.get_s $pair 1 (local.get $p)) (struct.get_u $pair 1 (local.get $p)))
		(func (export "vector") (result i64 i64) (local $v v128)
			(local.set $v (struct.get $pair $v (call $make)))
			(i64x2.extract_lane 0 (local.get $v)) (i64x2.extract_lane 1 (local.get $v)))
		(func (export "overlap") (result i32 i32 i32) (local $a (ref $bytes))
			(local.set $a (array.new_data $bytes $d (i32.const 0) (i32.const 5)))
			(array.copy $bytes $bytes (local.get $a) (i32.const 1) (local.get $a) (i32.const 0) (i32.const 4))
			(array.get_s $bytes (local.get $a) (i32.const 4)) (array.get_u $bytes (local.get $a) (i32.const 4)) (array.get_u $bytes (local.get $a) (i32.const 1)))
		(func (export "vectors") (result i64 i64) (local $a (ref $vectors)) (local $v v128)
			(local.set $a (array.new $vectors (v128.const i64x2 7 8) (i32.const 3)))
			(local.set $v (array.get $vectors (local.get $a) (i32.const 2)))
			(i64x2.extract_lane 0 (local.get $v)) (i64x2.extract_lane 1 (local.get $v)))
		(func (export "host") (param externref) (result i32 i32 i32 i32) (local $x anyref) (local $a (ref $refs))
			(local.set $a (array.new_fixed $refs 1 (any.convert_extern (local.get 0))))
			(local.set $x (array.get $refs (local.get $a) (i32.const 0)))
			(ref.test (ref any) (local.get $x)) (ref.test (ref eq) (local.get $x)) (ref.test (ref $pair) (local.get $x)) (ref.test (ref extern) (extern.convert_any (local.get $x))))
		(type $shorts (array i16))
		(type $other (sub final $pair (struct (field (mut i8)) (field (mut i16)) (field (mut v128)) (field (mut (ref null $pair))) (field i32))))
		(func (export "down") (result f64) (struct.get $triple 4 (ref.cast (ref $triple) (call $make))))
		(func (export "tests") (result i32 i32 i32) (local $x anyref)
			(local.set $x (struct.new_default $other))
			(ref.test (ref $other) (local.get $x)) (ref.test (ref $triple) (local.get $x)) (ref.test (ref $pair) (local.get $x)))
		(func $branch (param anyref) (result i32)
			(block $yes (result (ref $pair)) (drop (br_on_cast $yes anyref (ref $pair) (local.get 0))) (return (i32.const 0)))
			(drop) (i32.const 1))
		(func $branchFail (param anyref) (result i32)
			(block $no (result anyref) (drop (br_on_cast_fail $no anyref (ref $pair) (local.get 0))) (return (i32.const 1)))
			(drop) (i32.const 0))
		(func (export "branches") (result i32 i32 i32 i32)
			(call $branch (call $make)) (call $branch (ref.i31 (i32.const 1))) (call $branchFail (call $make)) (call $branchFail (ref.null any)))
		(func (export "shorts") (param i32) (result i32 i32) (local $a (ref $shorts))
			(local.set $a (array.new_data $shorts $d (i32.const 1) (local.get 0)))
			(array.get_u $shorts (local.get $a) (i32.const 0)) (array.get_s $shorts (local.get $a) (i32.const 1)))
		(func (export "past") (param i32) (local $a (ref $bytes))
			(local.set $a (array.new_default $bytes (i32.const 5)))
			(array.copy $bytes $bytes (array.new_default $bytes (i32.const 9)) (i32.const 1) (local.get $a) (local.get 0) (i32.const 3)))
		(func (export "huge") (drop (array.new_default $bytes (i32.const -1))))
		(global $made (mut (ref null $pair)) (ref.null $pair))
		(func (export "forever") (loop (global.set $made (struct.new_default $pair)) (br 0))) ;; what nothing sees is not made
		(func (export "cast") (drop (ref.cast (ref $triple) (struct.new_default $pair))))
		(func (export "null") (param i32) (result i32) (i31.get_s (select (result (ref null i31)) (ref.null i31) (ref.i31 (i32.const -5)) (local.get 0)))))`
	wasm, err := wat.Assemble(module)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []*interpengine.Engine{{}, optimised()} {
		t.Run(e.Name(), func(t *testing.T) {
			mod, err := e.Translate(wasm)
			if err != nil {
				t.Fatal(err)
			}
			store := interp.NewStore(interp.Options{MaxSlots: 1 << 20})
			inst, err := store.Instantiate(mod.Decl, mod.Body, nil)
			if err != nil {
				t.Fatal(err)
			}
			low := func(x int64) uint64 { return uint64(uint32(x)) }
			for _, c := range []struct {
				name string
				args []uint64
				want []uint64
				trap abi.TrapCode
			}{
				{"packed", nil, []uint64{low(-1), 255, low(-32768), 32768}, 0},
				{"vector", nil, []uint64{5, 6}, 0},
				{"overlap", nil, []uint64{low(-2), 254, 1}, 0},
				{"vectors", nil, []uint64{7, 8}, 0},
				{"host", []uint64{store.ExternRef("x")}, []uint64{1, 0, 0, 1}, 0},
				{"host", []uint64{0}, []uint64{0, 0, 0, 0}, 0},
				{"down", nil, []uint64{0x3ff8000000000000}, 0},
				{"tests", nil, []uint64{1, 0, 1}, 0},
				{"branches", nil, []uint64{1, 0, 1, 0}, 0},
				{"shorts", []uint64{2}, []uint64{0x0302, low(-2)}, 0},
				{"shorts", []uint64{3}, nil, abi.TrapMemoryOutOfBounds},
				{"past", []uint64{2}, []uint64{}, 0},
				{"past", []uint64{3}, nil, abi.TrapArrayOutOfBounds},
				{"cast", nil, nil, abi.TrapCastFailure},
				{"null", []uint64{0}, []uint64{low(-5)}, 0},
				{"null", []uint64{1}, nil, abi.TrapNullI31},
				{"huge", nil, nil, abi.TrapHeapExhausted},
				{"past", []uint64{2}, []uint64{}, 0}, // what found no room takes none
				{"forever", nil, nil, abi.TrapHeapExhausted},
			} {
				f, _ := inst.Export(c.name)
				got, err := f.(*interp.Function).Call(c.args)
				var trap *interp.Trap
				switch errors.As(err, &trap); {
				case c.trap != 0 && (trap == nil || trap.Code != c.trap):
					t.Errorf("%s: %v, want the trap %v", c.name, err, c.trap)
				case c.trap == 0 && err != nil:
					t.Errorf("%s: %v", c.name, err)
				case c.trap == 0:
					if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
						t.Errorf("%s: %s", c.name, diff)
					}
				}
			}
		})
	}
}
