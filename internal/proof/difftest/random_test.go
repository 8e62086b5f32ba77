package difftest

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/proof/randprog"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/spectest/interpengine"
	"github.com/waot-project/waot/spectest/nativeengine"
)

var (
	seedFlag  = flag.Uint64("seed", 0, "first seed of the random modules")
	countFlag = flag.Uint64("modules", 0, "number of random modules, if not as many as the level of the tests says")
	saveFlag  = flag.String("save", "", "write modules that fail to this directory")
)

// TestRandom compares our engines with wazero's interpreter, and where they trap with the CLIF interpreter, on random modules.
func TestRandom(t *testing.T) {
	count := cmp.Or(*countFlag, testenv.Cases[uint64](200, 200, 1500))
	list := engines()
	start := time.Now()
	var next atomic.Uint64
	var failed, traps, places, results, again atomic.Int32
	next.Store(*seedFlag)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				seed := next.Add(1) - 1
				if seed >= *seedFlag+count || failed.Load() >= 20 {
					return
				}
				p := randprog.Generate(seed)
				want, n, err := compareProgram(p, list)
				places.Add(int32(n))
				if err != nil {
					failed.Add(1)
					t.Errorf("seed %d: %v", seed, err)
					save(t, seed, p)
				}
				if want != nil {
					again.Add(int32(len(want.Again)))
					for _, c := range want.Calls {
						if c.Trapped() {
							traps.Add(1)
						} else {
							results.Add(1)
						}
					}
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d modules, %d calls with results, %d traps, %d places of traps compared, %d calls by the host, %v",
		count, results.Load(), traps.Load(), places.Load(), again.Load(), time.Since(start))
	if traps.Load() > 0 && places.Load() == 0 {
		t.Error("no places of traps were compared")
	}
}

// compareProgram runs a program under the judge, the CLIF interpreter and the engines. It returns the judge's outcome, nil if it has none, and how
// many places of traps were compared.
func compareProgram(p *randprog.Program, list []spectest.Engine) (want *randprog.Outcome, places int, err error) {
	want, _, err = randprog.Judge(context.Background(), p)
	if err != nil {
		return nil, 0, fmt.Errorf("wazero: %w", err)
	}
	plain := randprog.Run(&interpengine.Engine{}, p)
	if d := plain.Diff(want); d != "" {
		return want, 0, fmt.Errorf("interpreter: %s", d)
	}
	for _, e := range list {
		got := randprog.Run(e, p)
		if d := got.Diff(plain); d != "" {
			return want, places, fmt.Errorf("%s: %s", e.Name(), d)
		}
		places += got.Places(plain)
	}
	return want, places, nil
}

// engines are what is under test.
func engines() []spectest.Engine {
	list := []spectest.Engine{nativeengine.New(opt.O0), nativeengine.New(opt.O1), &interpengine.Engine{Label: "-O1", Rewrite: func(f *clif.Func) error {
		return new(opt.Optimizer).Run(f, opt.O1)
	}}}
	if runtime.GOARCH != "amd64" {
		return list
	}
	v3 := nativeengine.New(opt.O1)
	v3.Options.CPU, v3.Options.Fixpoint = "x86-64-v3", true
	if s, err := v3.NewStore(); err == nil {
		defer s.Close()
		var cpu *inproc.CPUError
		if _, err := s.Compile([]byte("\x00asm\x01\x00\x00\x00")); !errors.As(err, &cpu) {
			list = append(list, v3)
		}
	}
	return list
}

func save(t *testing.T, seed uint64, p *randprog.Program) {
	if *saveFlag == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(*saveFlag, fmt.Sprintf("seed%d.wasm", seed)), p.Wasm, 0o666); err != nil {
		t.Error(err)
	}
}
