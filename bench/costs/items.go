package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/waot-project/waot"
)

// perOp returns the nanoseconds of one of the n operations that f(n) does: n is found so
// that the measurement takes some milliseconds.
func perOp(f func(n uint64) error) (float64, error) {
	runtime.GC()
	for n := uint64(1); ; {
		start := time.Now()
		if err := f(n); err != nil {
			return 0, err
		}
		d := time.Since(start)
		if d > 15*time.Millisecond {
			return float64(d) / float64(n), nil
		}
		n = min(n*100, n*uint64(25*time.Millisecond)/uint64(d+1)+1)
	}
}

func once(f func() error) func(uint64) error {
	return func(n uint64) error {
		for range n {
			if err := f(); err != nil {
				return err
			}
		}
		return nil
	}
}

// nanos and micros make an item's function of one that does n operations.
func nanos(f func(n uint64) error) func() (float64, error) {
	return func() (float64, error) { return perOp(f) }
}

func micros(f func(n uint64) error) func() (float64, error) {
	return func() (float64, error) {
		v, err := perOp(f)
		return v / 1000, err
	}
}

type pair = [numEngines]func() (float64, error)

// allItems sets everything up. The function it gives takes that down.
func allItems(m *modules) (items []item, closeAll func(), err error) {
	calls, closeCalls, err := callItems(m)
	if err != nil {
		return nil, nil, err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	var programs []*wazeroProgram
	var used []*waotInstance
	closeAll = func() {
		closeCalls()
		null.Close()
		for _, i := range used {
			i.close()
		}
		for _, p := range programs {
			p.close()
		}
	}
	var all [3]struct {
		waot   *waotProgram
		wazero *wazeroProgram
	}
	for i, wasm := range [][]byte{m.small, m.system, m.large} {
		if all[i].waot, err = newWaotProgram(wasm); err != nil {
			return nil, nil, err
		}
		if all[i].wazero, err = newWazeroProgram(wasm); err != nil {
			return nil, nil, err
		}
		programs = append(programs, all[i].wazero)
	}
	small, system, large := all[0], all[1], all[2]
	items = calls
	system1, err := systemItems(system.waot, system.wazero, null)
	if err != nil {
		return nil, nil, err
	}
	items = append(items, system1...)
	for _, x := range []struct {
		name   string
		waot   *waotProgram
		wazero *wazeroProgram
		wasi   bool
	}{{"a small module, no WASI", small.waot, small.wazero, false}, {"a small module, WASI", system.waot, system.wazero, true},
		{m.largeName + ", WASI", large.waot, large.wazero, true}} {
		items = append(items, item{"instantiate and close: " + x.name, "us", pair{
			micros(once(func() error {
				i, err := x.waot.instantiate(x.wasi, nil)
				if err != nil {
					return err
				}
				return i.close()
			})),
			micros(once(func() error {
				i, err := x.wazero.instantiate(x.wasi, nil)
				if err != nil {
					return err
				}
				return i.Close(context.Background())
			})),
		}})
		fresh, err := x.waot.instantiate(x.wasi, nil)
		if err != nil {
			return nil, nil, err
		}
		used = append(used, fresh)
		// wazero has no resets: an instance again.
		items = append(items, item{"reset; instantiate and close: " + x.name, "us", pair{micros(once(fresh.reset)), items[len(items)-1].measure[wazeroEngine]}})
	}
	for _, x := range []struct {
		name   string
		waot   *waotProgram
		wazero *wazeroProgram
	}{{"a small module", small.waot, small.wazero}, {m.largeName, large.waot, large.wazero}} {
		items = append(items, item{"load what was compiled before: " + x.name, "us", pair{
			micros(once(func() error {
				m, err := waot.Load(x.waot.object, nil)
				if err != nil {
					return err
				}
				return m.Close()
			})),
			micros(once(x.wazero.load)),
		}})
	}
	for _, kind := range []string{"Rss", "Pss"} {
		for _, x := range [][2]string{{"small", "a small module, no WASI"}, {"large", m.largeName + ", WASI"}} {
			items = append(items, item{"memory per instance (" + kind + " of 200): " + x[1], "KiB", pair{
				func() (float64, error) { return resident(kind, "waot,"+x[0]) },
				func() (float64, error) { return resident(kind, "wazero,"+x[0]) },
			}})
		}
	}
	return items, closeAll, nil
}

// callItems are calls in both directions.
func callItems(m *modules) ([]item, func(), error) {
	g, err := newWaotGuest(m.costs)
	if err != nil {
		return nil, nil, err
	}
	z, err := newWazeroGuest(m.costs, false)
	if err != nil {
		return nil, nil, err
	}
	zc, err := newWazeroGuest(m.costs, true)
	if err != nil {
		return nil, nil, err
	}
	reference, err := referenceItems(g, z)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	waotFunc := func(name string) *waot.Func {
		f, err := g.inst.Func(name)
		if err != nil {
			panic(err) // of our own module
		}
		return f
	}
	waotExport := func(ctx context.Context) func(uint64) error {
		f := waotFunc("add")
		var stack [2]uint64
		return once(func() error {
			stack = [2]uint64{1, 2}
			return f.CallRaw(ctx, stack[:])
		})
	}
	wazeroExport := func(ctx context.Context, g *wazeroGuest) func(uint64) error {
		f := g.mod.ExportedFunction("add")
		var stack [2]uint64
		return once(func() error {
			stack = [2]uint64{1, 2}
			return f.CallWithStack(ctx, stack[:])
		})
	}
	// inside runs a function of the module that does n operations.
	waotInside := func(ctx context.Context, name string) func(uint64) error {
		f := waotFunc(name)
		var stack [1]uint64
		return func(n uint64) error {
			stack[0] = n
			return f.CallRaw(ctx, stack[:])
		}
	}
	wazeroInside := func(ctx context.Context, g *wazeroGuest, name string) func(uint64) error {
		f := g.mod.ExportedFunction(name)
		var stack [1]uint64
		return func(n uint64) error {
			stack[0] = n
			return f.CallWithStack(ctx, stack[:])
		}
	}
	plain := context.Background()
	inside := func(name, export string) item {
		return item{name, "ns", pair{nanos(waotInside(plain, export)), nanos(wazeroInside(plain, z, export))}}
	}
	add, wazeroAdd := waotFunc("add"), z.mod.ExportedFunction("add")
	items := []item{
		{"call an export: CallRaw; CallWithStack", "ns", pair{nanos(waotExport(plain)), nanos(wazeroExport(plain, z))}},
		{"call an export with a context that can end; WithCloseOnContextDone", "ns",
			pair{nanos(waotExport(ctx)), nanos(wazeroExport(ctx, zc))}},
		{"call an export: Call", "ns", pair{
			nanos(once(func() error { _, err := add.Call(plain, int64(1), int64(2)); return err })),
			nanos(once(func() error { _, err := wazeroAdd.Call(plain, 1, 2); return err })),
		}},
		reference("call an export that takes an externref: CallRaw; CallWithStack", "drop", "extern"),
		reference("call an export that takes and gives an externref", "same", "extern"),
		reference("call an export that takes a funcref", "drop", "func"),
		reference("call an export that takes and gives a funcref", "same", "func"),
		inside("call the host: RawFunc; GoFunc", "callraw"),
		reference("call the host, with and for an externref: RawFunc; GoFunc", "call", "extern"),
		reference("call the host, with and for a funcref: RawFunc; GoFunc", "call", "func"),
		inside("call the host, which uses the memory: RawFunc; GoModuleFunc", "callmodule"),
		inside("call the host: func(int64, int64) int64", "calltyped"),
		inside("call the host: func(int32, int64, float64) int64", "callmixed"),
		inside("one iteration of a tight loop", "sum"),
		{"the same with a context that can end; WithCloseOnContextDone", "ns",
			pair{nanos(waotInside(ctx, "sum")), nanos(wazeroInside(ctx, zc, "sum"))}},
	}
	return items, func() {
		cancel()
		g.store.Close()
		z.rt.Close(plain)
		zc.rt.Close(plain)
	}, nil
}

// referenceItems returns a function that makes items: calls of the export how+kind with
// a reference of that kind, behind the number of operations if it does many. "extern" is the kind of
// references to values of Go, "func" that of references to functions.
func referenceItems(g *waotGuest, z *wazeroGuest) (func(name, how, kind string) item, error) {
	value := "a value"
	ref, err := g.store.ExternRef(value)
	if err != nil {
		return nil, err
	}
	add, err := g.inst.Func("add")
	if err != nil {
		return nil, err
	}
	words := map[string][numEngines]uint64{"extern": {ref, uint64(uintptr(unsafe.Pointer(&value)))}, "func": {add.Ref(), 0}}
	return func(name, how, kind string) item {
		f, err := g.inst.Func(how + kind)
		if err != nil {
			panic(err) // of our own module
		}
		calls := [numEngines]func(context.Context, []uint64) error{f.CallRaw, z.mod.ExportedFunction(how + kind).CallWithStack}
		it := item{name: name, unit: "ns"}
		for engine, call := range calls {
			word, stack := words[kind][engine], make([]uint64, 2)
			it.measure[engine] = nanos(func(n uint64) error {
				if how == "call" { // it does them all
					stack[0], stack[1] = n, word
					return call(context.Background(), stack)
				}
				return once(func() error {
					stack[0] = word
					return call(context.Background(), stack)
				})(n)
			})
		}
		return it
	}, nil
}

// systemItems are calls of WASI.
func systemItems(p *waotProgram, zp *wazeroProgram, null *os.File) (items []item, err error) {
	i, err := p.instantiate(true, null)
	if err != nil {
		return nil, err
	}
	z, err := zp.instantiate(true, null)
	if err != nil {
		return nil, err
	}
	for _, x := range [][2]string{{"clock_time_get", "clock"}, {"args_sizes_get", "args"}, {"fd_write of 8 bytes to /dev/null", "write"}} {
		f, err := i.inst.Func(x[1])
		if err != nil {
			return nil, err
		}
		zf := z.ExportedFunction(x[1])
		ok := func(stack []uint64, err error) error {
			if err == nil && stack[0] != 0 {
				err = fmt.Errorf("error number %d", stack[0])
			}
			return err
		}
		items = append(items, item{"WASI: " + x[0], "ns", pair{
			nanos(func(n uint64) error { s := []uint64{n}; return ok(s, f.CallRaw(context.Background(), s)) }),
			nanos(func(n uint64) error { s := []uint64{n}; return ok(s, zf.CallWithStack(context.Background(), s)) }),
		}})
	}
	return items, nil
}

// numResident is how many instances are alive when memory is measured.
const numResident = 200

// resident measures memory in a new process.
func resident(kind, what string) (float64, error) {
	cmd := exec.Command("/proc/self/exe", "-resident", what)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, err
	}
	for _, f := range strings.Fields(string(out)) {
		if v, ok := strings.CutPrefix(f, kind+"="); ok {
			return strconv.ParseFloat(v, 64)
		}
	}
	return 0, fmt.Errorf("no %s in %q", kind, out)
}

// printResident makes instances and prints by how much each makes the process grow.
func printResident(what string) error {
	engine, module, _ := strings.Cut(what, ",")
	m, err := findModules()
	if err != nil {
		return err
	}
	wasm, wasi := m.small, false
	if module == "large" {
		wasm, wasi = m.large, true
	}
	var make func() (any, error)
	if engine == "waot" {
		p, err := newWaotProgram(wasm)
		if err != nil {
			return err
		}
		make = func() (any, error) { return p.instantiate(wasi, nil) }
	} else {
		p, err := newWazeroProgram(wasm)
		if err != nil {
			return err
		}
		defer p.close()
		make = func() (any, error) { return p.instantiate(wasi, nil) }
	}
	alive := []any{}
	if i, err := make(); err == nil { // what is made once
		alive = append(alive, i)
	}
	before, err := readResident()
	if err != nil {
		return err
	}
	for range numResident {
		i, err := make()
		if err != nil {
			return err
		}
		alive = append(alive, i)
	}
	after, err := readResident()
	if err != nil {
		return err
	}
	for k := range after {
		fmt.Printf("%s=%.2f ", k, (after[k]-before[k])/numResident)
	}
	runtime.KeepAlive(alive)
	return nil
}
