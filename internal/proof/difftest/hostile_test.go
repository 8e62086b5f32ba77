//go:build linux

package difftest

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/internal/proof/hostile"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/internal/proof/wasmgen"
)

var hostileFlag = flag.Int("hostile", -1, "number of damaged modules, if not as many as the level of the tests says")

// corpus is modules to damage: generated ones, and some of the suite in wazero's
// source if that is there.
func corpus(t *testing.T) [][]byte {
	var out [][]byte
	for seed := range uint64(60) {
		out = append(out, wasmgen.Generate(seed, wasmgen.Config{Size: 80}).Wasm)
	}
	files, _ := filepath.Glob(filepath.Join(wazeroDir(t), "internal/integration_test/spectest/v2/testdata/*.wasm"))
	for i := 0; i < len(files); i += 7 {
		b, err := os.ReadFile(files[i])
		if err != nil {
			t.Fatal(err)
		}
		if len(b) < 64<<10 {
			out = append(out, b)
		}
	}
	return out
}

// damage changes a copy of b.
func damage(r *rand.Rand, b []byte, others [][]byte) []byte {
	b = bytes.Clone(b)
	for range 1 + r.IntN(3) {
		if len(b) < 10 {
			return b
		}
		at := 8 + r.IntN(len(b)-8)
		switch r.IntN(8) {
		case 0:
			b = b[:at]
		case 1, 2:
			b[at] ^= 1 << r.IntN(8)
		case 3:
			b[at] = byte(r.Uint32())
		case 4: // a large number where a small one may have been
			huge := [][]byte{{0xff, 0xff, 0xff, 0xff, 0x0f}, {0x80, 0x80, 0x80, 0x80, 0x01}, {0xff, 0xff, 0x03}, {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80}}
			b = append(b[:at:at], append(huge[r.IntN(len(huge))], b[at+1:]...)...)
		case 5: // repeat a part
			end := min(len(b), at+1+r.IntN(40))
			b = append(b[:end:end], b[at:]...)
		case 6: // leave out a part
			end := min(len(b), at+1+r.IntN(8))
			b = append(b[:at:at], b[end:]...)
		default: // the rest of another module
			o := others[r.IntN(len(others))]
			if len(o) > 10 {
				b = append(b[:at:at], o[8+r.IntN(len(o)-8):]...)
			}
		}
	}
	return b
}

// TestHostile compiles damaged modules: an error of one line or an object that
// loads, never a panic, little memory, and never a bug that was caught.
func TestHostile(t *testing.T) {
	count := damaged()
	if count == 0 {
		t.Skip("no damaged modules asked for")
	}
	all := corpus(t)
	r := rand.New(rand.NewPCG(*seedFlag, 4))
	compiled := 0
	start := time.Now()
	for i := range count {
		b := damage(r, all[r.IntN(len(all))], all)
		object, err := hostile.Compile(b, compile.Options{Jobs: 1, OptLevel: opt.O1, Verify: true})
		if err != nil {
			t.Errorf("module %d: %v", i, err)
			if *saveFlag != "" {
				name := filepath.Join(*saveFlag, fmt.Sprintf("hostile%d.wasm", i))
				if err := os.WriteFile(name, b, 0o666); err != nil {
					t.Fatal(err)
				}
			}
		}
		if object != nil {
			compiled++
		}
	}
	t.Logf("%d damaged modules, %d of them valid, %v", count, compiled, time.Since(start))
}

// damaged is how many modules are damaged.
func damaged() int {
	if *hostileFlag >= 0 {
		return *hostileFlag
	}
	return testenv.Cases(1000, 2000, 10_000)
}

// TestHostileObjects damages object files: the loader refuses them with an error of
// one line, or what changed does not matter to it: the image is the same.
func TestHostileObjects(t *testing.T) {
	count := damaged() / 2
	r := rand.New(rand.NewPCG(*seedFlag, 5))
	var objects [][]byte
	var images []*inproc.Image
	for seed := range uint64(8) {
		res, err := compile.Module(wasmgen.Generate(seed, wasmgen.Config{Size: 60}).Wasm, compile.Options{OptLevel: opt.O1})
		if err != nil {
			t.Fatal(err)
		}
		var elf bytes.Buffer
		if err := res.WriteELF(&elf); err != nil {
			t.Fatal(err)
		}
		img, err := load.ELF(elf.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		objects, images = append(objects, elf.Bytes()), append(images, img)
	}
	loaded := 0
	for i := range count {
		k := r.IntN(len(objects))
		b := bytes.Clone(objects[k])
		switch n := 1 + r.IntN(3); r.IntN(4) {
		case 0:
			b = b[:r.IntN(len(b))]
		case 1: // in the header or the table of sections at the end
			for range n {
				at := r.IntN(64)
				if r.IntN(2) == 0 {
					at = len(b) - 1 - r.IntN(20*64)
				}
				b[at] = byte(r.Uint32())
			}
		default:
			for range n {
				b[r.IntN(len(b))] ^= 1 << r.IntN(8)
			}
		}
		ok, err := loadHostile(b, images[k])
		if err != nil {
			t.Errorf("object %d: %v", i, err)
		}
		if ok {
			loaded++
		}
	}
	t.Logf("%d damaged objects, %d loaded", count, loaded)
}

// loadHostile reports whether the object loads. An error is a fault of the loader.
func loadHostile(b []byte, want *inproc.Image) (ok bool, err error) {
	img, err := hostile.Load(b)
	if err != nil || img == nil {
		return false, err
	}
	if !reflect.DeepEqual(img, want) {
		return true, errors.New("loaded, but is not what was compiled")
	}
	return true, nil
}
