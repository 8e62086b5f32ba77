package difftest

import (
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

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/internal/wasmgen"
	"github.com/waot-project/waot/spectest"
	"github.com/waot-project/waot/spectest/interpengine"
	"github.com/waot-project/waot/spectest/nativeengine"
)

var (
	seedFlag  = flag.Uint64("seed", 0, "first seed of the random modules")
	countFlag = flag.Uint64("modules", 1500, "number of random modules")
	sizeFlag  = flag.Int("size", 0, "operators in a function; 0 means different ones")
	saveFlag  = flag.String("save", "", "write modules that fail to this directory")
)

// TestRandom compares our engines with wazero's interpreter on random modules.
func TestRandom(t *testing.T) {
	count := *countFlag
	if testing.Short() {
		count = min(count, 200)
	}
	list := engines()
	start := time.Now()
	var next atomic.Uint64
	var failed, traps, results, again atomic.Int32
	next.Store(*seedFlag)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				seed := next.Add(1) - 1
				if seed >= *seedFlag+count || failed.Load() >= 20 {
					return
				}
				p := generate(seed)
				want, err := compareProgram(p, list)
				if err != nil {
					failed.Add(1)
					t.Errorf("seed %d: %v", seed, err)
					save(t, seed, p)
				}
				if want != nil {
					again.Add(int32(len(want.again)))
					for _, c := range want.calls {
						if c[0] == 't' {
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
	t.Logf("%d modules, %d calls with results, %d traps, %d calls by the host, %v",
		count, results.Load(), traps.Load(), again.Load(), time.Since(start))
}

// generate makes the program of a seed; configurations take turns.
func generate(seed uint64) *program {
	cfg := wasmgen.Config{Size: *sizeFlag, NoTraps: seed%3 != 0, LateNaNs: seed%4 > 1}
	if cfg.Size == 0 {
		cfg.Size = []int{20, 60, 120, 120, 250}[seed/3%5]
	}
	p := &program{Program: wasmgen.Generate(seed, cfg)}
	p.env = p.Env
	if seed%2 == 1 {
		p.env = hostEnv()
	}
	return p
}

// compareProgram runs a program under all engines. It returns the judge's
// outcome, nil if it has none.
func compareProgram(p *program, list []spectest.Engine) (want *outcome, err error) {
	want, err = runWazero(context.Background(), p)
	if err != nil {
		return nil, fmt.Errorf("wazero: %w", err)
	}
	for _, e := range list {
		got, err := runEngine(e, p)
		if err != nil {
			return want, fmt.Errorf("%s: %w", e.Name(), err)
		}
		if d := got.diff(want); d != "" {
			return want, fmt.Errorf("%s: %s", e.Name(), d)
		}
	}
	return want, nil
}

// engines are what is under test.
func engines() []spectest.Engine {
	list := []spectest.Engine{nativeengine.New(opt.O0), nativeengine.New(opt.O1), &interpengine.Engine{}}
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

func save(t *testing.T, seed uint64, p *program) {
	if *saveFlag == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(*saveFlag, fmt.Sprintf("seed%d.wasm", seed)), p.Wasm, 0o666); err != nil {
		t.Error(err)
	}
}

// hostEnv is the environment of generated modules with its function from the host.
func hostEnv() []byte {
	name := func(s string) []byte { return append([]byte{byte(len(s))}, s...) }
	cat := func(parts ...[]byte) (b []byte) {
		for _, p := range parts {
			b = append(b, p...)
		}
		return b
	}
	section := func(id byte, parts ...[]byte) []byte {
		b := cat(parts...)
		return append([]byte{id, byte(len(b))}, b...)
	}
	return cat([]byte{0, 'a', 's', 'm', 1, 0, 0, 0},
		section(1, []byte{1, 0x60, 1, 0x7E, 1, 0x7E}),
		section(2, []byte{1}, name("host"), name("note"), []byte{0, 0}),
		section(4, []byte{1, 0x70, 1, 10, 20}),
		section(5, []byte{1, 1, 1, 4}),
		section(6, []byte{1, 0x7E, 1, 0x42, 7, 0x0B}),
		section(7, []byte{5}, name("note"), []byte{0, 0}, name("g0"), []byte{3, 0}, name("g1"), []byte{3, 0},
			name("memory"), []byte{2, 0}, name("table"), []byte{1, 0}))
}
