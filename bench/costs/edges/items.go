package edges

import (
	"context"
	"fmt"
	"os"
)

// Item is one thing that is measured.
type Item struct {
	Name string
	Unit string // ns, us or KiB
	// measure gives one figure in that unit.
	measure func(b *bench) (float64, error)
}

// pages is how many a growing memory gets.
const pages = 255

// Items are all that is measured, with the name of the large module.
func Items(large string) []Item {
	items := []Item{
		{"call an export: CallRaw; CallWithStack", "ns", export(false)},
		{"call an export with a context that can end; WithCloseOnContextDone", "ns", export(true)},
		{"call an export: Call", "ns", call},
		{"call an export that takes an externref: CallRaw; CallWithStack", "ns", reference("drop", "extern")},
		{"call an export that takes and gives an externref", "ns", reference("same", "extern")},
		{"call an export that takes a funcref", "ns", reference("drop", "func")},
		{"call an export that takes and gives a funcref", "ns", reference("same", "func")},
		{"call the host: RawFunc; GoFunc", "ns", inside(false, "callraw")},
		{"call the host, with and for an externref: RawFunc; GoFunc", "ns", reference("call", "extern")},
		{"call the host, with and for a funcref: RawFunc; GoFunc", "ns", reference("call", "func")},
		{"call the host, which uses the memory: RawFunc; GoModuleFunc", "ns", inside(false, "callmodule")},
		{"call the host: func(int64, int64) int64", "ns", inside(false, "calltyped")},
		{"call the host: func(int32, int64, float64) int64", "ns", inside(false, "callmixed")},
		{"one iteration of a tight loop", "ns", inside(false, "sum")},
		{"the same with a context that can end; WithCloseOnContextDone", "ns", inside(true, "sum")},
		{"WASI: clock_time_get", "ns", system("clock")},
		{"WASI: args_sizes_get", "ns", system("args")},
		{"WASI: fd_write of 8 bytes to /dev/null", "ns", system("write")},
	}
	for _, x := range []struct{ name, module string }{
		{"a small module, no WASI", "small"}, {"a small module, WASI", "system"}, {large + ", WASI", "large"},
	} {
		items = append(items,
			Item{"instantiate and close: " + x.name, "us", instance(x.module)},
			// An engine without resets makes an instance again.
			Item{"reset; instantiate and close: " + x.name, "us", reset(x.module)})
	}
	for _, l := range Loops() {
		items = append(items, Item{l.Name, "ns", l.measure})
	}
	items = append(items,
		Item{fmt.Sprintf("an instance whose memory grows by %d pages, one at a time", pages), "us", growth("grow")},
		Item{"the same, each page written", "us", growth("fill")},
		Item{"load what was compiled before: a small module", "us", load("small")},
		Item{"load what was compiled before: " + large, "us", load("large")})
	for _, kind := range []string{"Rss", "Pss"} {
		for _, x := range []struct{ name, module string }{{"a small module, no WASI", "small"}, {large + ", WASI", "large"}} {
			items = append(items, Item{"memory per instance (" + kind + " of 200): " + x.name, "KiB",
				func(*bench) (float64, error) { return resident(kind, x.module) }})
		}
	}
	return items
}

// guestFunc returns an export of the guest, and the context of its calls.
func (b *bench) guestFunc(closing bool, name string) (Func, context.Context, error) {
	g, err := b.guest(closing)
	if err != nil {
		return Func{}, nil, err
	}
	ctx := context.Background()
	if closing {
		ctx = b.ending
	}
	f, err := g.Func(name)
	return f, ctx, err
}

// export calls a function again and again.
func export(closing bool) func(*bench) (float64, error) {
	return func(b *bench) (float64, error) {
		f, ctx, err := b.guestFunc(closing, "add")
		if err != nil {
			return 0, err
		}
		var stack [2]uint64
		return nanos(once(func() error {
			stack = [2]uint64{1, 2}
			return f.Raw(ctx, stack[:])
		}))
	}
}

func call(b *bench) (float64, error) {
	f, ctx, err := b.guestFunc(false, "add")
	if err != nil {
		return 0, err
	}
	return nanos(once(func() error { return f.Call(ctx) }))
}

// inside calls a function that does n operations.
func inside(closing bool, name string) func(*bench) (float64, error) {
	return func(b *bench) (float64, error) {
		f, ctx, err := b.guestFunc(closing, name)
		if err != nil {
			return 0, err
		}
		var stack [1]uint64
		return nanos(func(n uint64) error {
			stack[0] = n
			return f.Raw(ctx, stack[:])
		})
	}
}

// reference calls the export how+kind with a reference of that kind, behind the number of operations if it does them all itself.
func reference(how, kind string) func(*bench) (float64, error) {
	return func(b *bench) (float64, error) {
		f, ctx, err := b.guestFunc(false, how+kind)
		if err != nil {
			return 0, err
		}
		g, err := b.guest(false)
		if err != nil {
			return 0, err
		}
		word, err := g.Ref(kind)
		if err != nil {
			return 0, err
		}
		var stack [2]uint64
		if how == "call" {
			return nanos(func(n uint64) error {
				stack = [2]uint64{n, word}
				return f.Raw(ctx, stack[:])
			})
		}
		return nanos(once(func() error {
			stack[0] = word
			return f.Raw(ctx, stack[:])
		}))
	}
}

// system calls a function that does n calls of WASI, and gives the errors of all.
func system(name string) func(*bench) (float64, error) {
	return func(b *bench) (float64, error) {
		i, err := b.writing()
		if err != nil {
			return 0, err
		}
		f, err := i.Func(name)
		if err != nil {
			return 0, err
		}
		var stack [1]uint64
		return nanos(func(n uint64) error {
			stack[0] = n
			err := f.Raw(context.Background(), stack[:])
			if err == nil && stack[0] != 0 {
				err = fmt.Errorf("error number %d", stack[0])
			}
			return err
		})
	}
}

// wasi says whether a module needs it.
func wasi(module string) bool { return module == "system" || module == "large" }

func instance(module string) func(*bench) (float64, error) {
	return func(b *bench) (float64, error) {
		p, err := b.program(module)
		if err != nil {
			return 0, err
		}
		return micros(once(func() error {
			i, err := p.Instantiate(wasi(module), nil)
			if err != nil {
				return err
			}
			return i.Close()
		}))
	}
}

func reset(module string) func(*bench) (float64, error) {
	return func(b *bench) (float64, error) {
		p, err := b.program(module)
		if err != nil {
			return 0, err
		}
		i, err := p.Instantiate(wasi(module), nil)
		if err != nil {
			return 0, err
		}
		defer i.Close()
		if r, ok := i.(Resetter); ok {
			return micros(once(r.Reset))
		}
		return instance(module)(b)
	}
}

// growth makes an instance and closes it, since a memory does not shrink.
func growth(name string) func(*bench) (float64, error) {
	return func(b *bench) (float64, error) {
		p, err := b.program("growing")
		if err != nil {
			return 0, err
		}
		return micros(once(func() error {
			i, err := p.Instantiate(false, nil)
			if err != nil {
				return err
			}
			f, err := i.Func(name)
			if err != nil {
				return err
			}
			if err := f.Raw(context.Background(), []uint64{pages}); err != nil {
				return err
			}
			return i.Close()
		}))
	}
}

func load(module string) func(*bench) (float64, error) {
	return func(b *bench) (float64, error) {
		p, err := b.program(module)
		if err != nil {
			return 0, err
		}
		return micros(once(p.Load))
	}
}

// writing returns the instance of the system module, which writes to nowhere.
func (b *bench) writing() (Instance, error) {
	if b.system != nil {
		return b.system, nil
	}
	p, err := b.program("system")
	if err != nil {
		return nil, err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	b.system, err = p.Instantiate(true, null)
	return b.system, err
}
