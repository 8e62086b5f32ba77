package main

import (
	"context"
	"fmt"
	"regexp"
	"runtime"
	"time"

	"github.com/waot-project/waot/bench/costs/edges"
	"github.com/waot-project/waot/internal/proof/stress/guest"
)

// delays measures how long a process waits for endless loops, and these for the end of their
// context, and prints tables. wazero's loops check for the end of the context, without which
// the process would wait for ever.
func delays(rounds int, match *regexp.Regexp) error {
	if !match.MatchString("delays") {
		return nil
	}
	native, closeNative, err := spin(waotEngine{})
	if err != nil {
		return err
	}
	defer closeNative()
	// The end of a context closes wazero's module.
	wazeroLoop := func(ctx context.Context) {
		call, done := wazeroSpin()
		call(ctx)
		done()
	}
	fmt.Println("Delays while one goroutine is in an endless loop, median and maximum:\n\n" +
		"| what waits | GOMAXPROCS | Go | waot | waot / Go | wazero |\n|---|---|---|---|---|---|")
	for procs := 1; procs <= 2; procs++ {
		old := runtime.GOMAXPROCS(procs)
		n := 2 * rounds // with one processor each takes long
		if procs > 1 {
			n *= 4
		}
		d := guest.CompareDelays(n, rounds, guest.GoLoop, native, wazeroLoop)
		runtime.GOMAXPROCS(old)
		for _, what := range []struct {
			name string
			of   func(*guest.Delays) guest.Sample
		}{{"runtime.GC", func(d *guest.Delays) guest.Sample { return d.Collection }},
			{"a stop of the world", func(d *guest.Delays) guest.Sample { return d.Stop }},
			{"a timer", func(d *guest.Delays) guest.Sample { return d.Timer }}} {
			goLoop, native, other := what.of(&d[0]), what.of(&d[1]), what.of(&d[2])
			fmt.Printf("| %s | %d | %s | %s | %.2f | %s |\n", what.name, procs, both(goLoop), both(native),
				float64(native.At(0.5))/float64(goLoop.At(0.5)), both(other))
		}
	}
	fmt.Println("\nFrom the end of a context to the return of the call, of 200 calls:\n\n" +
		"| | GOMAXPROCS | median | 95th percentile | maximum |\n|---|---|---|---|---|")
	for procs := 1; procs <= 2; procs++ {
		old := runtime.GOMAXPROCS(procs)
		for _, s := range []struct {
			name string
			s    guest.Sample
		}{{"waot, cancel", guest.MeasureCancel(200, native)}, {"waot, deadline", guest.MeasureDeadline(200, native)},
			{"wazero, cancel", guest.MeasureCancelled(200, wazeroSpin)}} {
			fmt.Printf("| %s | %d | %v | %v | %v |\n", s.name, procs, short(s.s.At(0.5)), short(s.s.At(0.95)), short(s.s.At(1)))
		}
		runtime.GOMAXPROCS(old)
	}
	fmt.Println()
	return nil
}

// spin returns the endless loop of a new guest, whose calls end with their context.
func spin(e edges.Engine) (call func(context.Context), done func(), err error) {
	g, err := edges.NewGuest(e, true)
	if err != nil {
		return nil, nil, err
	}
	f, err := g.Func("spin")
	return func(ctx context.Context) { f.Raw(ctx, nil) }, func() { g.Close() }, err
}

// wazeroSpin is that of wazero.
func wazeroSpin() (call func(context.Context), done func()) {
	call, done, err := spin(wazeroEngine{})
	if err != nil {
		panic(err) // it has worked before
	}
	return call, done
}

func both(s guest.Sample) string { return fmt.Sprintf("%v / %v", short(s.At(0.5)), short(s.At(1))) }

func short(d time.Duration) time.Duration {
	switch {
	case d > 10*time.Millisecond:
		return d.Round(100 * time.Microsecond)
	case d > time.Millisecond:
		return d.Round(10 * time.Microsecond)
	}
	return d.Round(time.Microsecond)
}
