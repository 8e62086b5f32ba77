//go:build linux && (amd64 || arm64)

package stress

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/proof/stress/guest"
)

// gross is a delay that no load of the machine explains.
const gross = 2 * time.Second

// spin is a load of native code that does not end by itself.
func (w *world) spin(ctx context.Context) {
	_, err := w.call(ctx, 0, "spin")
	if err := isCancelled(err, context.Canceled); err != nil {
		panic(err)
	}
}

// TestPreemptionLatency prints how long a Go process waits for a loop of Go and for one of
// native code. It fails if the latter is out of all proportion.
func TestPreemptionLatency(t *testing.T) {
	w := newTestWorld(t, 1)
	if err := inproc.Preemption(); err != nil {
		skip(t, err)
	}
	for procs := 1; procs <= 2; procs++ {
		t.Run(fmt.Sprintf("GOMAXPROCS=%d", procs), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			n := 48
			if procs == 1 {
				n = 4 // each takes long
			}
			measured := guest.CompareDelays(n, 4, guest.GoLoop, w.spin)
			goLoop, native := measured[0], measured[1]
			for _, d := range []struct {
				name       string
				goLoop, in guest.Sample
			}{{"collection", goLoop.Collection, native.Collection}, {"stop the world", goLoop.Stop, native.Stop},
				{"timer", goLoop.Timer, native.Timer}} {
				t.Logf("%-15s beside Go: median %8v, max %8v; beside native code: median %8v, max %8v", d.name,
					round(d.goLoop.At(0.5)), round(d.goLoop.At(1)), round(d.in.At(0.5)), round(d.in.At(1)))
				if d.in.At(1) > gross+10*d.goLoop.At(1) {
					t.Errorf("%s: %v beside native code", d.name, d.in.At(1))
				}
			}
		})
	}
}

// TestCancellationLatency prints how long calls go on after the end of their contexts.
func TestCancellationLatency(t *testing.T) {
	w := newTestWorld(t, 1)
	for procs := 1; procs <= 2; procs++ {
		t.Run(fmt.Sprintf("GOMAXPROCS=%d", procs), func(t *testing.T) {
			if err := inproc.Preemption(); err != nil && procs == 1 {
				skip(t, err)
			}
			n := 200
			if procs == 1 {
				n = 40 // each takes long
			}
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			for _, m := range []struct {
				name string
				s    guest.Sample
			}{{"cancel", guest.MeasureCancel(n, w.spin)}, {"deadline", guest.MeasureDeadline(n, func(ctx context.Context) {
				_, err := w.call(ctx, 0, "spinmemory")
				if err := isCancelled(err, context.DeadlineExceeded); err != nil {
					t.Error(err)
				}
			})}} {
				t.Logf("%-8s: median %8v, 95th percentile %8v, max %8v", m.name, round(m.s.At(0.5)), round(m.s.At(0.95)), round(m.s.At(1)))
				if m.s.At(0.95) > gross {
					t.Errorf("%s: %v", m.name, m.s.At(0.95))
				}
			}
		})
	}
	if err := w.sound(0); err != nil {
		t.Error(err)
	}
}

func round(d time.Duration) time.Duration { return d.Round(time.Microsecond) }
