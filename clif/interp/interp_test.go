package interp_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/interp"
	"github.com/waot-project/waot/clif/text"
	"github.com/waot-project/waot/clif/verify"
	"github.com/waot-project/waot/internal/abi"
)

func parse(t testing.TB, src string) *text.File {
	t.Helper()
	f, err := text.Parse(src)
	if err != nil {
		t.Fatal(err)
	}
	for i := range f.Funcs {
		if err := verify.Func(f.Funcs[i].Func); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// imports resolves by name alone.
func imports(m map[string]interp.Extern) interp.Resolver {
	return func(_, name string) (interp.Extern, bool) {
		e, ok := m[name]
		return e, ok
	}
}

func start(t testing.TB, s *interp.Store, src string, r interp.Resolver) *interp.Instance {
	t.Helper()
	f := parse(t, src)
	inst, err := s.Instantiate(f.Mod, f.Body, r)
	if err != nil {
		t.Fatal(err)
	}
	return inst
}

func function(t testing.TB, inst *interp.Instance, name string) *interp.Function {
	t.Helper()
	e, _ := inst.Export(name)
	f, ok := e.(*interp.Function)
	if !ok {
		t.Fatalf("no function %q", name)
	}
	return f
}

// TestLinking: imports match by kind, type, mutability and limits.
func TestLinking(t *testing.T) {
	s := interp.NewStore(interp.Options{})
	externs := imports(map[string]interp.Extern{
		"f":    s.NewHostFunc("f", clif.Signature{Params: []clif.Type{clif.I32}}, nil),
		"g":    &interp.Global{Type: clif.I32},
		"gmut": &interp.Global{Type: clif.I32, Mutable: true},
		"m":    interp.NewMemory(2, 5, true),
		"mbig": interp.NewMemory(2, 0, false),
		"t":    interp.NewTable(clif.FuncRef, 2, 5, true),
	})
	const unknown, wrong = "unknown import", "incompatible import type"
	for _, c := range []struct{ decl, reason string }{
		{`sig0 = (i32) -> ()
import fn0 "env" "f" sig0`, ""},
		{`sig0 = (i64) -> ()
import fn0 "env" "f" sig0`, wrong},
		{`sig0 = (i32) -> ()
import fn0 "env" "nothing" sig0`, unknown},
		{`sig0 = (i32) -> ()
import fn0 "env" "m" sig0`, wrong},
		{`import global0 "env" "g" i32`, ""},
		{`import global0 "env" "g" i64`, wrong},
		{`import global0 "env" "g" i32 mut`, wrong},
		{`import global0 "env" "gmut" i32`, wrong},
		{`import global0 "env" "gmut" i32 mut`, ""},
		{`import mem0 "env" "m" 1`, ""},
		{`import mem0 "env" "m" 2 5`, ""},
		{`import mem0 "env" "m" 3`, wrong},
		{`import mem0 "env" "m" 1 4`, wrong},
		{`import mem0 "env" "m" 1 6`, ""},
		{`import mem0 "env" "mbig" 1 65536`, wrong},
		{`import table0 "env" "t" funcref 2 5`, ""},
		{`import table0 "env" "t" ref 2 5`, wrong},
		{`import table0 "env" "t" funcref 3`, wrong},
		{`import table0 "env" "t" funcref 0 4`, wrong},
	} {
		f := parse(t, c.decl)
		_, err := s.Instantiate(f.Mod, f.Body, externs)
		var l *interp.LinkError
		if c.reason == "" && err != nil || c.reason != "" && (!errors.As(err, &l) || l.Reason != c.reason) {
			t.Errorf("%s: %v, want %q", c.decl, err, c.reason)
		}
	}
}

// TestPartialInit: what an init function does before it traps stays.
func TestPartialInit(t *testing.T) {
	s := interp.NewStore(interp.Options{})
	mem := interp.NewMemory(1, 1, true)
	f := parse(t, `import mem0 "env" "m" 1
data0 "abc"
function fn0 "init" () -> () {
block0:
    v0 = iconst.i64 0
    v1 = iconst.i64 3
    memory_init mem0, data0, v0, v0, v1
    data_drop data0
    trap memory_out_of_bounds ; @1234
}`)
	_, err := s.Instantiate(f.Mod, f.Body, imports(map[string]interp.Extern{"m": mem}))
	var trap *interp.Trap
	if !errors.As(err, &trap) || trap.Code != abi.TrapMemoryOutOfBounds || trap.Src != 0x1234 || trap.Name != "init" {
		t.Fatal(err)
	}
	if string(mem.Data[:4]) != "abc\x00" {
		t.Errorf("%q", mem.Data[:4])
	}
}

const callsHost = `sig0 = (ref) -> (ref)
sig1 = (i32) -> (i32)
import fn0 "env" "ref" sig0
import fn1 "env" "again" sig1
export "live" fn2
export "twice" fn3
export "down" fn4
mem0 1

function fn2 "live" (ref, ref, ref, funcref) -> (ref, ref, i32) {
block0(v0: ref, v1: ref, v2: ref, v3: funcref):
    v4 = call fn0(v0)
    jump block1(v1)
block1(v5: ref):
    v6 = ref_is_null.ref v2
    v7 = ref_is_null.funcref v3
    br v7, block1(v4), block2
block2:
    return v5, v1, v6
}

function fn3 "twice" (ref) -> (ref) {
block0(v0: ref):
    v1 = func_addr.funcref fn4
    v2 = iconst.i32 3
    v3 = call_ref sig1, v1(v2)
    return v0
}

function fn4 "down" (i32) -> (i32) {
block0(v0: i32):
    v1 = call fn1(v0)
    v2 = iadd.i32 v1, v0
    return v2
}
`

// TestLiveRefs: at a call, what is used later, not the call's arguments or
// results.
func TestLiveRefs(t *testing.T) {
	s := interp.NewStore(interp.Options{})
	var frames []interp.LiveRef
	ref := s.NewHostFunc("ref", clif.Signature{Params: []clif.Type{clif.Ref}, Results: []clif.Type{clif.Ref}},
		func(c *interp.HostCall, args, results []uint64) error {
			frames = c.LiveRefs()
			results[0] = args[0]
			return nil
		})
	var inst *interp.Instance
	again := s.NewHostFunc("again", clif.Signature{Params: []clif.Type{clif.I32}, Results: []clif.Type{clif.I32}},
		func(c *interp.HostCall, args, results []uint64) error {
			if c.Caller() != inst {
				t.Error("caller")
			}
			if args[0] == 0 {
				_, err := c.Call(function(t, inst, "live"), []uint64{s.ExternRef("a"), s.ExternRef("b"), s.ExternRef("c"), c.Caller().Func(0).Ref()})
				return err
			}
			r, err := c.Call(function(t, inst, "down"), []uint64{args[0] - 1})
			if err == nil {
				results[0] = r[0]
			}
			return err
		})
	inst = start(t, s, callsHost, imports(map[string]interp.Extern{"ref": ref, "again": again}))
	// The loop is never taken when v3 is not null, but v4 is live all the same, as the call's result.
	got, err := function(t, inst, "live").Call([]uint64{s.ExternRef("a"), s.ExternRef("b"), s.ExternRef("c"), ref.Ref()})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]uint64{s.ExternRef("b"), s.ExternRef("b"), 0}, got); diff != "" {
		t.Error(diff)
	}
	want := []clif.Value{1, 2}
	if len(frames) != 1 || !cmp.Equal(frames[0].Values, want) || s.ExternValue(frames[0].Bits[0]) != "b" || frames[0].Func.Name != "live" {
		t.Errorf("%+v", frames)
	}
	// Through nested host calls, all frames.
	got, err = function(t, inst, "twice").Call([]uint64{s.ExternRef("x")})
	if err != nil || got[0] != s.ExternRef("x") {
		t.Error(got, err)
	}
	if len(frames) != 6 || len(frames[0].Values) != 1 || s.ExternValue(frames[0].Bits[0]) != "x" || len(frames[5].Values) != 2 {
		t.Errorf("%+v", frames)
	}
	if got, err := function(t, inst, "down").Call([]uint64{3}); err != nil || got[0] != 6 {
		t.Error(got, err)
	}
}

// TestHostErrors: errors and traps of the host end the call; endless mutual
// recursion with the host is a stack overflow.
func TestHostErrors(t *testing.T) {
	s := interp.NewStore(interp.Options{})
	hostErr := errors.New("failure")
	var inst *interp.Instance
	again := s.NewHostFunc("again", clif.Signature{Params: []clif.Type{clif.I32}, Results: []clif.Type{clif.I32}},
		func(c *interp.HostCall, args, results []uint64) error {
			switch args[0] {
			case 0:
				return hostErr
			case 1:
				return &interp.Trap{Code: abi.TrapUnreachable}
			}
			_, err := c.Call(function(t, inst, "down"), args)
			return err
		})
	ref := s.NewHostFunc("ref", clif.Signature{Params: []clif.Type{clif.Ref}, Results: []clif.Type{clif.Ref}}, nil)
	inst = start(t, s, callsHost, imports(map[string]interp.Extern{"ref": ref, "again": again}))
	down := function(t, inst, "down")
	if _, err := down.Call([]uint64{0}); err != hostErr {
		t.Error(err)
	}
	for arg, code := range map[uint64]abi.TrapCode{1: abi.TrapUnreachable, 2: abi.TrapStackOverflow} {
		var trap *interp.Trap
		if _, err := down.Call([]uint64{arg}); !errors.As(err, &trap) || trap.Code != code || trap.Name != "down" {
			t.Error(err)
		}
	}
	if _, err := again.Call([]uint64{0}); err != hostErr {
		t.Error("a host function called directly:", err)
	}
	if _, err := down.Call(nil); err == nil {
		t.Error("wrong number of arguments")
	}
}

const loops = `export "forever" fn0
export "count" fn1
export "recurse" fn2
function fn0 "forever" () -> () {
block0:
    jump block1
block1:
    jump block1
}
function fn1 "count" (i32) -> (i32) {
block0(v0: i32):
    v1 = iconst.i32 0
    jump block1(v0, v1)
block1(v2: i32, v3: i32):
    v4 = iconst.i32 1
    v5 = isub.i32 v2, v4
    v6 = iadd.i32 v3, v2
    v7 = bxor.i32 v6, v5
    br v5, block1(v5, v7), block2
block2:
    return v3
}
function fn2 "recurse" (i32) -> (i32) {
block0(v0: i32):
    br v0, block1, block2
block1:
    v1 = iconst.i32 1
    v2 = isub.i32 v0, v1
    v3 = call fn2(v2)
    v4 = iadd.i32 v3, v1
    return v4
block2:
    return v0
}
`

// TestLimits: steps, context, depth.
func TestLimits(t *testing.T) {
	inst := start(t, interp.NewStore(interp.Options{MaxSteps: 100_000}), loops, nil)
	if _, err := function(t, inst, "forever").Call(nil); err != interp.ErrSteps {
		t.Error(err)
	}
	for n, want := range map[uint64]error{15_000: nil, 25_000: interp.ErrSteps} { // 6 instructions a round
		if _, err := function(t, inst, "count").Call([]uint64{n}); err != want {
			t.Error(n, err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	inst = start(t, interp.NewStore(interp.Options{Context: ctx}), loops, nil)
	if _, err := function(t, inst, "forever").Call(nil); err != context.DeadlineExceeded {
		t.Error(err)
	}
	inst = start(t, interp.NewStore(interp.Options{MaxDepth: 1000}), loops, nil)
	recurse := function(t, inst, "recurse")
	if got, err := recurse.Call([]uint64{999}); err != nil || got[0] != 999 {
		t.Error(got, err)
	}
	var trap *interp.Trap
	if _, err := recurse.Call([]uint64{1000}); !errors.As(err, &trap) || trap.Code != abi.TrapStackOverflow {
		t.Error(err)
	}
	inst = start(t, interp.NewStore(interp.Options{MaxWords: 1000}), loops, nil)
	if _, err := function(t, inst, "recurse").Call([]uint64{300}); !errors.As(err, &trap) || trap.Code != abi.TrapStackOverflow {
		t.Error(err)
	}
}

// TestUndefined: what compiled code leaves undefined is an error here.
func TestUndefined(t *testing.T) {
	inst := start(t, interp.NewStore(interp.Options{}), `export "f" fn0
table0 funcref 1
mem0 1
data0 "a"
elem0 funcref []
sig0 = (i64) -> ()
function fn0 "f" (i32, i64, i64) -> () {
block0(v0: i32, v1: i64, v2: i64):
    v3 = iconst.i64 1
    br_table v0, [block1, block2, block3, block4, block5, block6, block7]
block1:
    memory_fill mem0, v1, v0, v2
    return
block2:
    memory_copy mem0, mem0, v1, v3, v2
    return
block3:
    memory_init mem0, data0, v3, v1, v2
    return
block4:
    v4 = table_get.funcref table0, v1
    call_ref sig0, v4(v1)
    return
block5:
    v5 = ref_null.funcref
    table_set.funcref table0, v1, v5
    return
block6:
    table_copy table0, table0, v3, v1, v2
    return
block7:
    table_init table0, elem0, v1, v1, v2
    return
}`, nil)
	for _, args := range [][]uint64{
		{0, 65536, 1}, {0, 1, 1<<64 - 1}, {1, 65535, 2}, {2, 1, 1}, {3, 0, 0}, {3, 1, 0}, {4, 1, 0}, {5, 0, 1}, {6, 0, 1},
	} {
		var u *interp.UndefinedError
		if _, err := function(t, inst, "f").Call(args); !errors.As(err, &u) || u.Func != "f" {
			t.Error(args, err)
		}
	}
}

// TestShared: tables, globals and functions have one identity in all
// instances.
func TestShared(t *testing.T) {
	s := interp.NewStore(interp.Options{})
	a := start(t, s, `export "next" fn0
export "t" table0
export "g" global0
table0 funcref 1
global0 i32 mut = 5
elem0 funcref [fn0]
function fn0 "next" () -> (i32) {
block0:
    v0 = global_get.i32 global0
    v1 = iconst.i32 1
    v2 = iadd.i32 v0, v1
    global_set.i32 global0, v2
    return v0
}
function fn1 "init" () -> () {
block0:
    v0 = iconst.i64 0
    v1 = iconst.i64 1
    table_init table0, elem0, v0, v0, v1
    return
}`, nil)
	b := start(t, s, `sig0 = () -> (i32)
import fn0 "a" "next" sig0 addressed
import table0 "a" "t" funcref 1
import global0 "a" "g" i32 mut
export "f" fn1
export "same" fn0
function fn1 "f" () -> (i32, i32, funcref, funcref) {
block0:
    v0 = iconst.i64 0
    v1 = table_get.funcref table0, v0
    sig_check sig0, v1
    v2 = call_ref sig0, v1()
    v3 = call fn0()
    v4 = func_addr.funcref fn0
    v5 = iconst.i32 100
    global_set.i32 global0, v5
    return v2, v3, v1, v4
}`, func(_, name string) (interp.Extern, bool) { return a.Export(name) })
	got, err := function(t, b, "f").Call(nil)
	if err != nil || got[0] != 5 || got[1] != 6 || got[2] != got[3] || got[2] != function(t, a, "next").Ref() {
		t.Error(got, err)
	}
	if function(t, b, "same") != function(t, a, "next") || a.Global(0).Bits != 100 {
		t.Error("not shared")
	}
}

func BenchmarkLoop(b *testing.B) {
	inst := start(b, interp.NewStore(interp.Options{}), loops, nil)
	count := function(b, inst, "count")
	const rounds = 10_000
	for b.Loop() {
		if _, err := count.Call([]uint64{rounds}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(rounds*5), "ns/inst")
}

func BenchmarkCall(b *testing.B) {
	inst := start(b, interp.NewStore(interp.Options{}), loops, nil)
	recurse := function(b, inst, "recurse")
	const depth = 10_000
	for b.Loop() {
		if _, err := recurse.Call([]uint64{depth}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/depth, "ns/call")
}

// TestTailCalls: millions of tail calls, with vectors and of other numbers of arguments, take one frame; a function of the host in the place of one finds its caller's caller, may
// call back, and gives that its results, or its error.
func TestTailCalls(t *testing.T) {
	s := interp.NewStore(interp.Options{MaxDepth: 2, MaxWords: 100})
	var inst *interp.Instance
	host := s.NewHostFunc("host", clif.Signature{Params: []clif.Type{clif.I64, clif.V128}, Results: []clif.Type{clif.V128, clif.I64}}, func(c *interp.HostCall, args, results []uint64) error {
		switch args[0] {
		case 1:
			return &interp.Trap{Code: abi.TrapIntegerOverflow}
		case 2:
			back, err := c.Call(function(t, inst, "one"), nil)
			if err != nil {
				return err
			}
			args[1] += back[0]
		}
		if c.Caller() != nil {
			args[2]++
		}
		results[0], results[1], results[2] = args[1], args[2], args[0]
		return nil
	})
	inst = start(t, s, `
sig0 = (i64, v128) -> (v128, i64)
import fn0 "" "host" "host" sig0
export "down" fn1
export "within" fn3
export "one" fn4
function fn1 "down" (i64, i64, v128) -> (v128, i64) {
block0(v0: i64, v1: i64, v2: v128):
    v3 = iconst.i64 1
    v4 = isub.i64 v0, v3
    v5 = iconst.i64 0
    v6 = icmp.i64 eq, v0, v5
    v7 = vadd.i64x2 v2, v2
    br v6, block1, block2
block1:
    return_call fn0(v1, v2)
block2:
    return_call fn2(v2, v4, v1)
}
function fn2 "swap" (v128, i64, i64) -> (v128, i64) {
block0(v0: v128, v1: i64, v2: i64):
    v3 = vsplat.i64x2 v1
    v4 = vadd.i64x2 v0, v3
    return_call fn1(v1, v2, v4)
}
function fn3 "within" (i64, i64) -> (i64, i64, i64) {
block0(v0: i64, v1: i64):
    v2 = vsplat.i64x2 v1
    v3, v4 = call fn1(v0, v1, v2)
    v5 = vextract.i64x2 v3, 0
    v6 = vextract.i64x2 v3, 1
    return v5, v6, v4
}
function fn4 "one" () -> (i64) {
block0:
    v0 = iconst.i64 1
    return v0
}
`, imports(map[string]interp.Extern{"host": host}))
	const n = 1 << 20
	for _, c := range []struct {
		name string
		args []uint64
		want []uint64
		trap abi.TrapCode
	}{
		{"down", []uint64{3, 7, 10, 20}, []uint64{13, 23, 7}, 0},
		{"down", []uint64{0, 2, 10, 20}, []uint64{11, 20, 2}, 0},
		{"down", []uint64{5, 1, 0, 0}, nil, abi.TrapIntegerOverflow},
		{"within", []uint64{3, 7}, []uint64{10, 11, 7}, 0},
		{"within", []uint64{n, 3}, []uint64{3 + n*(n-1)/2, 3 + n*(n-1)/2 + 1, 3}, 0},
		{"within", []uint64{n, 1}, nil, abi.TrapIntegerOverflow},
	} {
		got, err := function(t, inst, c.name).Call(c.args)
		var trap *interp.Trap
		if errors.As(err, &trap) != (c.trap != 0) || trap != nil && trap.Code != c.trap || trap == nil && (err != nil || !cmp.Equal(got, c.want)) {
			t.Errorf("%s%d: %d, %v; want %d", c.name, c.args, got, err, c.want)
		}
	}
}
