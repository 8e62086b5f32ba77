package interp_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/interp"
)

const throwing = `sig0 = (i32, v128) -> ()
sig1 = (i32) -> (i32)
sig2 = () -> ()
import tag0 "env" "t" sig0
import fn0 "env" "host" sig1
tag1 sig2
fn1 "leaf" sig1
fn2 "middle" sig1
fn3 "outer" sig1
export "outer" fn3
export "middle" fn2
export "t" tag0
function fn1 "leaf" (i32) -> (i32) {
block0(v0: i32):
    v1 = vconst.v128 0x00000000000000070000000000000005
    br v0, block1, block2
block1:
    exn_set tag0(v0, v1)
    raise
block2:
    exn_set tag1()
    raise
}
function fn2 "middle" (i32) -> (i32) {
block0(v0: i32):
    v1 = call fn1(v0)
    return v1
}
function fn3 "outer" (i32) -> (i32) {
block0(v0: i32):
    v1 = iconst.i32 1000
    v2 = call fn2(v0)
    v3 = iconst.i32 7
    catch block1(v2), block2(v3)
block1(v4: i32):
    return v4
block2(v5: i32):
    v6 = exn_tag
    v15 = tag_addr tag0
    v16 = icmp.i64 eq, v6, v15
    br v16, block3, block4
block3:
    v7, v8 = exn_args tag0
    v9 = vextract.i64x2 v8, 1
    v10 = ireduce.i32 v9
    v11 = iadd.i32 v7, v10
    v12 = iadd.i32 v11, v1
    return v12
block4:
    v13 = exn_ref.ref
    v14 = call fn0(v5)
    catch block1(v14), block5
block5:
    exn_open.ref v13
    raise
}`

// TestExceptions: an exception is caught some frames further out, with its arguments; a host function throws and catches; a reference makes one the one under way again.
func TestExceptions(t *testing.T) {
	s := interp.NewStore(interp.Options{})
	tag := s.NewTag(clif.Signature{Params: []clif.Type{clif.I32, clif.V128}})
	other := s.NewTag(clif.Signature{})
	var host error
	i32 := []clif.Type{clif.I32}
	externs := imports(map[string]interp.Extern{"t": tag, "host": s.NewHostFunc("host", clif.Signature{Params: i32, Results: i32},
		func(_ *interp.HostCall, args, results []uint64) error {
			results[0] = args[0] + 1
			return host
		})})
	inst := start(t, s, throwing, externs)
	if e, _ := inst.Export("t"); e != interp.Extern(tag) {
		t.Error("the exported tag is another one")
	}
	call := func(name string, x uint64) (uint64, error) {
		r, err := function(t, inst, name).Call([]uint64{x})
		if err != nil {
			return 0, err
		}
		return r[0], nil
	}
	if r, err := call("outer", 3); r != 1010 || err != nil {
		t.Errorf("caught: %d, %v", r, err)
	}
	if r, err := call("outer", 0); r != 8 || err != nil {
		t.Errorf("caught, and the host called: %d, %v", r, err)
	}
	var x *interp.Exception
	if _, err := call("middle", 3); !errors.As(err, &x) || x.Tag() != tag || !cmp.Equal(x.Args(), []uint64{3, 5, 7}) {
		t.Errorf("not caught: %v", err)
	}
	host = interp.NewException(other, nil)
	if _, err := call("outer", 0); !errors.As(err, &x) || x.Tag() == other || x.Tag() == tag {
		t.Errorf("thrown by the host, and the first one thrown again: %v", err)
	}
	host = &interp.Trap{Code: 1}
	var trap *interp.Trap
	if _, err := call("outer", 0); !errors.As(err, &trap) {
		t.Errorf("a trap is not caught: %v", err)
	}
}
