//go:build linux && (amd64 || arm64)

package stress

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/internal/meta"
	"github.com/waot-project/waot/internal/proof/stress/guest"
)

// childEnv makes the test binary do something else than tests: see TestMain.
const childEnv = "WAOT_STRESS_CHILD"

func TestMain(m *testing.M) {
	if what := os.Getenv(childEnv); what != "" {
		os.Exit(child(what))
	}
	os.Exit(m.Run())
}

// loadWork compiles the module of the tests, which all stores share.
var loadWork = sync.OnceValues(func() (*inproc.Module, error) {
	r, err := compile.Module(guest.Work(), compile.Options{OptLevel: opt.O1, Name: "work"})
	if err != nil {
		return nil, err
	}
	img, err := load.Image(r.Object, r.Meta)
	if err != nil {
		return nil, err
	}
	return inproc.Load(img)
})

// world is a store with one or more instances of the module.
type world struct {
	store *inproc.Store
	insts []*inproc.Instance
	// hook is what env.hook does; nil returns its argument plus 1.
	hook func(c *inproc.Caller, arg uint64) (uint64, error)
}

func newWorld(cfg inproc.Config, instances int) (*world, error) {
	m, err := loadWork()
	if err != nil {
		return nil, err
	}
	w := &world{}
	if w.store, err = inproc.NewStore(cfg); err != nil {
		return nil, err
	}
	imports, err := w.imports()
	for range instances {
		if err != nil {
			break
		}
		var i *inproc.Instance
		i, err = w.store.Instantiate(m, imports)
		w.insts = append(w.insts, i)
	}
	if err != nil {
		w.store.Close()
		return nil, err
	}
	return w, nil
}

// token is what references refer to.
type token struct{ n uint64 }

func (w *world) imports() (inproc.Resolver, error) {
	made := map[string]*inproc.Func{}
	long, ref := []meta.ValType{meta.I64}, []meta.ValType{meta.ExternRef}
	for _, f := range []struct {
		name string
		typ  meta.FuncType
		fn   inproc.HostFunc
	}{
		{"h", meta.FuncType{Params: long, Results: long}, func(_ *inproc.Caller, args, results []uint64) error {
			results[0] = guest.H(args[0])
			return nil
		}},
		{"hook", meta.FuncType{Params: long, Results: long}, func(c *inproc.Caller, args, results []uint64) (err error) {
			if w.hook == nil {
				results[0] = args[0] + 1
				return nil
			}
			results[0], err = w.hook(c, args[0])
			return err
		}},
		{"make", meta.FuncType{Params: long, Results: ref}, func(c *inproc.Caller, args, results []uint64) error {
			results[0] = c.Store().ExternRef(&token{args[0]})
			return nil
		}},
		{"check", meta.FuncType{Params: append(ref[:1:1], long...)}, func(c *inproc.Caller, args, _ []uint64) error {
			return w.isToken(args[0], args[1])
		}},
	} {
		x, err := w.store.NewHostFunc(f.typ, f.fn)
		if err != nil {
			return nil, err
		}
		made[f.name] = x
	}
	return func(_, name string) inproc.Extern {
		if f := made[name]; f != nil {
			return f
		}
		return nil
	}, nil
}

// isToken checks what a reference refers to.
func (w *world) isToken(ref, n uint64) error {
	if t, ok := w.store.Extern(ref).(*token); !ok || t.n != n {
		return fmt.Errorf("%#x refers to %v, not to token %d", ref, w.store.Extern(ref), n)
	}
	return nil
}

// call calls an export of instance i; ctx may be nil. All functions have at most one result.
func (w *world) call(ctx context.Context, i int, name string, args ...uint64) (uint64, error) {
	f, err := w.insts[i].Func(name)
	if err != nil {
		return 0, err
	}
	var r [1]uint64
	err = f.CallContext(ctx, args, r[:len(f.Type().Results)])
	return r[0], err
}

// expect calls an export and compares the result.
func (w *world) expect(ctx context.Context, i int, name string, want uint64, args ...uint64) error {
	got, err := w.call(ctx, i, name, args...)
	if err != nil {
		return fmt.Errorf("%s%v: %w", name, args, err)
	}
	if got != want {
		return fmt.Errorf("%s%v = %#x, want %#x", name, args, got, want)
	}
	return nil
}

// sound finds out whether a store that has been through something still works.
func (w *world) sound(i int) error {
	for _, c := range []struct {
		name    string
		want, a uint64
	}{{"fib", guest.Fib(15), 15}, {"sum", guest.Sum(300), 300}} {
		if err := w.expect(nil, i, c.name, c.want, c.a); err != nil {
			return fmt.Errorf("afterwards: %w", err)
		}
	}
	return w.expect(nil, i, "hosts", guest.Hosts(20, 5), 20, 5)
}

// isTrap checks that an error is the trap of that case, and of its function.
func isTrap(err error, c guest.TrapCase) error {
	var trap *inproc.Trap
	switch {
	case !errors.As(err, &trap):
		return fmt.Errorf("%s: %v, want trap %v", c.Export, err, c.Code)
	case trap.Code != c.Code:
		return fmt.Errorf("%s: %v, want trap %v", c.Export, trap.Code, c.Code)
	case len(trap.Backtrace) == 0 && !strings.HasPrefix(c.Export, "deep"):
		return fmt.Errorf("%s: no backtrace", c.Export)
	}
	return nil
}

// isCancelled checks that an error tells of the end of a context.
func isCancelled(err, cause error) error {
	var c *inproc.CancelError
	switch {
	case !errors.Is(err, inproc.ErrCancelled):
		return fmt.Errorf("%v is not ErrCancelled", err)
	case !errors.Is(err, cause):
		return fmt.Errorf("%v is not %v", err, cause)
	case !errors.As(err, &c):
		return fmt.Errorf("%T is no *CancelError", err)
	case !errors.Is(c.Cause, cause):
		return fmt.Errorf("cause %v, want %v", c.Cause, cause)
	}
	return nil
}
