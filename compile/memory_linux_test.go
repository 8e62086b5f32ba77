package compile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/internal/cost"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/wasmfront"
)

// memoryChild is the variable with which the test binary is a child that compiles one module: it names the order.
const memoryChild = "WAOT_TEST_MEMORY_CHILD"

// memoryOrder is what a child compiles, memoryUse what it has taken, in bytes.
type memoryOrder struct {
	File     string
	Level    opt.Level
	Limit    uint64
	Features wasmfront.Features // 0 is the default
	Image    bool               // make an image, as for calls in this process, instead of an object file
}

type memoryUse struct {
	Peak, Count int64
	Limited     bool
	Err         string
}

// compileOrder is what a child does.
func compileOrder(t *testing.T, order string) {
	t.Helper()
	var o memoryOrder
	if err := json.Unmarshal([]byte(order), &o); err != nil {
		t.Fatal(err)
	}
	before := cost.Read().Peak
	wasm, err := os.ReadFile(o.File)
	if err != nil {
		t.Fatal(err)
	}
	var u memoryUse
	r, err := Module(wasm, Options{Jobs: 1, OptLevel: o.Level, Features: o.Features, Limits: Limits{Memory: o.Limit}})
	if err == nil {
		u.Count = r.Stats.Memory
		if o.Image {
			_, err = load.Image(r.Object, r.Meta)
		} else {
			_, err = r.ELF(context.Background())
		}
	}
	if err != nil {
		var l *LimitError
		u.Limited, u.Err = errors.As(err, &l) && l.What == memoryLimit && l.Limit == o.Limit, err.Error()
	}
	u.Peak = cost.Read().Peak - before
	out, err := json.Marshal(u)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(o.File+".use", out, 0o600); err != nil {
		t.Fatal(err)
	}
}

// compileInChild compiles in a process of its own, whose peak is the compilation's.
func compileInChild(t *testing.T, wasm []byte, o memoryOrder) (u memoryUse) {
	t.Helper()
	o.File = filepath.Join(t.TempDir(), "m.wasm")
	if err := os.WriteFile(o.File, wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	order, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(os.Args[0], "-test.run=^TestMemory$")
	c.Env = append(os.Environ(), memoryChild+"="+string(order), "GOGC=100") // the pace of collection that the promise is about
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := os.ReadFile(o.File + ".use")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &u); err != nil {
		t.Fatal(err)
	}
	return u
}

// usualFamilies are those that the usual level tries.
var usualFamilies = []string{"custom sections, empty", "dead nested blocks", "tables", "expressions of functions", "nested blocks"}

// raceDetector reports whether this binary has the race detector.
func raceDetector() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// TestMemory: the peak of memory is at most three times what is counted, and three times the limit where there is one, whatever a module has many of.
func TestMemory(t *testing.T) {
	if order := os.Getenv(memoryChild); order != "" {
		compileOrder(t, order)
		return
	}
	if os.Getenv("WAOT_EMULATOR") != "" || raceDetector() {
		t.Skip("an emulator and the race detector manage memory of their own: not in an emulator")
	}
	full := testenv.Full()
	families := slices.Concat(declarations(), segments(), bodies(), collected())
	for i, f := range families {
		if !full && !slices.Contains(usualFamilies, f.name) {
			continue
		}
		wasm := f.make(max(1, f.n/4))
		for _, level := range []opt.Level{opt.O0, opt.O1} {
			if int(level) != i%2 { // each family at one level: child processes take long
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", f.name, level), func(t *testing.T) { testMemory(t, wasm, level) })
		}
	}
}

func testMemory(t *testing.T, wasm []byte, level opt.Level) {
	u := compileInChild(t, wasm, memoryOrder{Level: level})
	t.Logf("%.1f MB of module: %.1f MB, %.2f of %.1f MB counted", float64(len(wasm))/1e6, float64(u.Peak)/1e6, float64(u.Peak)/float64(u.Count), float64(u.Count)/1e6)
	if u.Err != "" || u.Peak > 3*u.Count || u.Peak == 0 {
		t.Errorf("a peak of %d bytes, %d counted; %s", u.Peak, u.Count, u.Err)
	}
	if testenv.Full() || level == opt.O0 {
		if i := compileInChild(t, wasm, memoryOrder{Level: level, Image: true}); i.Err != "" || i.Peak > 3*u.Count {
			t.Errorf("a peak of %d bytes with an image, %d counted; %s", i.Peak, u.Count, i.Err)
		} else {
			t.Logf("%.2f with an image", float64(i.Peak)/float64(u.Count))
		}
	}
	for part := int64(2); part <= testenv.Cases[int64](2, 2, 8); part *= 4 {
		limit := max(ofAny+int64(len(wasm))+1, u.Count/part)
		if limit >= u.Count {
			return
		}
		if l := compileInChild(t, wasm, memoryOrder{Level: level, Limit: uint64(limit)}); !l.Limited || l.Peak > 3*limit {
			t.Errorf("with a limit of %d a peak of %d bytes; %s", limit, l.Peak, l.Err)
		}
	}
}

// TestMemoryOfReason: a module that is refused for a feature in front is looked at again with that feature, within the limit, too.
func TestMemoryOfReason(t *testing.T) {
	if os.Getenv("WAOT_EMULATOR") != "" || raceDetector() {
		t.Skip("an emulator and the race detector manage memory of their own: not in an emulator")
	}
	const limit = 12 << 20
	s := sections{globals: []byte("\x01\x7b\x00\xfd\x0c0123456789abcdef\x0b"), customs: bytes.Repeat(custom("", nil), 1e6)}
	u := compileInChild(t, s.module(), memoryOrder{Limit: limit, Features: wasmfront.DefaultFeatures &^ wasmfront.FeatureSIMD})
	if u.Limited || u.Err == "" || u.Peak > 3*limit || u.Peak == 0 {
		t.Errorf("a peak of %d bytes with a limit of %d; %s", u.Peak, limit, u.Err)
	}
}
