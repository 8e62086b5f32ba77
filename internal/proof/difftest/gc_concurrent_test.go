package difftest

import (
	"bytes"
	"cmp"
	"context"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/internal/proof/randprog"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/spectest/interpengine"
	"github.com/waot-project/waot/spectest/nativeengine"
)

// gcProgram is a program that many goroutines run.
type gcProgram struct {
	*randprog.Program
	seed   uint64
	want   *randprog.Outcome
	slow   bool // with a collection for each object
	images [2][2]*inproc.Image
	took   atomic.Int64 // nanoseconds, of a run that came to its end
}

// gcLevels are how programs are compiled.
var gcLevels = [2]opt.Level{opt.O0, opt.O1}

// newGCProgram returns the program of a seed, compiled at both levels, or nil if it is too long.
func newGCProgram(t *testing.T, seed uint64) *gcProgram {
	p := &gcProgram{Program: randprog.GenerateGC(seed, seed%2 == 1, false), seed: seed}
	if p.want = randprog.Run(&interpengine.Engine{Options: gcLimits}, p.Program); p.want.TooLong() {
		return nil
	}
	p.slow = randprog.Run(&interpengine.Engine{Options: gcLimitsIfSlow}, p.Program).TooLong()
	for k, level := range gcLevels {
		for i, wasm := range [2][]byte{p.Env, p.Wasm} {
			r, err := compile.Module(wasm, compile.Options{OptLevel: level, Jobs: 1})
			if err != nil {
				t.Fatal(err)
			}
			if p.images[k][i], err = load.Image(r.Object, r.Meta); err != nil {
				t.Fatal(err)
			}
		}
	}
	return p
}

// engine returns an engine for one run of the program, with images that are made already.
func (p *gcProgram) engine(level int, always bool, ctx context.Context) *nativeengine.Engine {
	e := nativeengine.New(gcLevels[level])
	e.Context, e.Config.CollectAlways = ctx, always
	e.Image = func(module []byte) (*inproc.Image, error) {
		if bytes.Equal(module, p.Env) {
			return p.images[level][0], nil
		}
		return p.images[level][1], nil
	}
	return e
}

// TestRandomGCConcurrent runs random modules in eight stores at once, while Go's collector runs without end and contexts end some of the runs anywhere. What comes to its end does what the interpreter does.
func TestRandomGCConcurrent(t *testing.T) {
	const goroutines = 8
	count := int(cmp.Or(*countFlag, testenv.Cases[uint64](4, 8, 60)))
	rounds := testenv.Cases(8, 20, 1500)
	var programs []*gcProgram
	for seed := *seedFlag; len(programs) < count; seed++ {
		if p := newGCProgram(t, seed); p != nil {
			programs = append(programs, p)
		}
	}
	defer debug.SetGCPercent(debug.SetGCPercent(5))
	stop := make(chan struct{})
	var collector, work sync.WaitGroup
	cycles := 0
	collector.Go(func() {
		for ; ; cycles++ {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	})
	var complete, cancelled, collecting atomic.Int64
	for g := range goroutines {
		work.Go(func() {
			r := rand.New(rand.NewPCG(*seedFlag, uint64(g)))
			for range rounds {
				p := programs[r.IntN(len(programs))]
				level, always := r.IntN(2), r.IntN(2) == 0 && !p.slow
				ctx, cancel := context.Background(), func() {}
				if took := p.took.Load(); took > 0 && r.IntN(2) == 0 {
					ctx, cancel = context.WithTimeout(ctx, time.Duration(r.Int64N(took)))
				}
				start := time.Now()
				got := randprog.Run(p.engine(level, always, ctx), p.Program)
				ended := ctx.Err() != nil
				cancel()
				switch d := got.Diff(p.want); {
				case d == "":
					complete.Add(1)
					p.took.Store(int64(time.Since(start)))
					if always {
						collecting.Add(1)
					}
				case ended && got.Failed != "":
					cancelled.Add(1)
				default:
					t.Errorf("seed %d, -O%d, collecting always %v: %s", p.seed, gcLevels[level], always, d)
					save(t, p.seed, p.Program)
				}
			}
		})
	}
	work.Wait()
	close(stop)
	collector.Wait()
	t.Logf("%d runs of %d modules came to their ends, %d with a collection for each object, %d were cancelled; Go's collector ran %d times", complete.Load(), count, collecting.Load(), cancelled.Load(), cycles)
	if complete.Load() == 0 || cancelled.Load() == 0 || collecting.Load() == 0 || cycles == 0 {
		t.Error("a kind of run is missing")
	}
}
