package guest

import (
	"context"
	"runtime"
	"slices"
	"sync/atomic"
	"time"
)

// Sample is repeated measurements, sorted.
type Sample []time.Duration

// At returns a quantile: 0.5 is the median, 1 the maximum. There must be measurements.
func (s Sample) At(q float64) time.Duration { return s[int(q*float64(len(s)-1)+0.5)] }

// Delays are how long the rest of a Go process waits while something runs.
type Delays struct {
	Collection Sample // runtime.GC
	Stop       Sample // runtime.ReadMemStats, which stops the world and does little else
	Timer      Sample // how late a goroutine wakes up from a sleep of 1 ms
}

// MeasureDelays runs load in a goroutine, until it has measured each delay n times. load must
// return after the end of its context, and spend its time as it is to be measured.
func MeasureDelays(n int, load func(context.Context)) Delays {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		load(ctx)
	}()
	time.Sleep(5 * time.Millisecond)
	var d Delays
	take := func(s *Sample, f func()) {
		start := time.Now()
		f()
		*s = append(*s, time.Since(start))
	}
	var m runtime.MemStats
	for range n {
		take(&d.Collection, runtime.GC)
		take(&d.Stop, func() { runtime.ReadMemStats(&m) })
		const sleep = time.Millisecond
		start := time.Now()
		time.Sleep(sleep)
		d.Timer = append(d.Timer, time.Since(start)-sleep)
	}
	cancel()
	<-done
	d.sort()
	return d
}

// CompareDelays is MeasureDelays for several loads, each n times, in turns.
func CompareDelays(n, turns int, loads ...func(context.Context)) []Delays {
	out := make([]Delays, len(loads))
	for range turns {
		for i, load := range loads {
			d := MeasureDelays(max(1, n/turns), load)
			out[i].Collection = append(out[i].Collection, d.Collection...)
			out[i].Stop = append(out[i].Stop, d.Stop...)
			out[i].Timer = append(out[i].Timer, d.Timer...)
		}
	}
	for i := range out {
		out[i].sort()
	}
	return out
}

func (d *Delays) sort() {
	for _, s := range []Sample{d.Collection, d.Stop, d.Timer} {
		slices.Sort(s)
	}
}

// GoLoop is a load that is one loop of Go without calls.
func GoLoop(ctx context.Context) {
	var stop atomic.Bool
	defer context.AfterFunc(ctx, func() { stop.Store(true) })()
	for !stop.Load() {
	}
}

// MeasureCancel ends n calls that would not end by themselves: call must run one with the
// given context. It gives the times from the end of the context to the return.
func MeasureCancel(n int, call func(context.Context)) Sample {
	return MeasureCancelled(n, func() (func(context.Context), func()) { return call, func() {} })
}

// MeasureCancelled is MeasureCancel with something to do before and after each call, which is
// not measured.
func MeasureCancelled(n int, before func() (call func(context.Context), after func())) Sample {
	var s Sample
	for i := range n {
		call, after := before()
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan time.Time)
		go func() {
			call(ctx)
			done <- time.Now()
		}()
		time.Sleep(time.Millisecond + time.Duration(i%7)*300*time.Microsecond)
		start := time.Now()
		cancel()
		s = append(s, (<-done).Sub(start))
		after()
	}
	slices.Sort(s)
	return s
}

// MeasureDeadline is MeasureCancel with deadlines.
func MeasureDeadline(n int, call func(context.Context)) Sample {
	var s Sample
	for i := range n {
		end := time.Now().Add(time.Millisecond + time.Duration(i%7)*300*time.Microsecond)
		ctx, cancel := context.WithDeadline(context.Background(), end)
		call(ctx)
		s = append(s, time.Since(end))
		cancel()
	}
	slices.Sort(s)
	return s
}
