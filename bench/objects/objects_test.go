//go:build linux

package objects

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"regexp"
	"testing"

	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/interp"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host"
	"github.com/waot-project/waot/host/wasirun"
	"github.com/waot-project/waot/spectest/interpengine"
)

// TestKernels: small kernels print the same in the interpreter and in compiled code.
func TestKernels(t *testing.T) {
	for _, k := range append(Kernels(), Parts()...) {
		t.Run(k.Name, func(t *testing.T) {
			wasm, err := k.Module(k.Small)
			if err != nil {
				t.Fatal(err)
			}
			want := checksum(interpreted(t, wasm))
			if !regexp.MustCompile("^" + k.Name + " [0-9a-f]{8}\n$").MatchString(want) {
				t.Fatalf("the interpreter prints %q", want)
			}
			for _, level := range []opt.Level{opt.O0, opt.O1} {
				if got := checksum(compiled(t, wasm, level)); got != want {
					t.Errorf("-O%d prints %q, want %q", level, got, want)
				}
			}
		})
	}
}

// checksum is the last line: those in front of it have times.
func checksum(out string) string {
	return regexp.MustCompile(`.*\n$`).FindString(out)
}

func compiled(t *testing.T, wasm []byte, level opt.Level) string {
	r, err := compile.Module(wasm, compile.Options{OptLevel: level, Verify: true})
	if err != nil {
		t.Fatal(err)
	}
	var elf, out bytes.Buffer
	if err := r.WriteELF(&elf); err != nil {
		t.Fatal(err)
	}
	mod, err := host.Load(elf.Bytes(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer mod.Close()
	marks := ""
	status, err := wasirun.Run(nil, mod, &wasirun.Options{Stdout: &out, Stderr: os.Stderr}, host.Imports{"bench": {
		"start": func() { marks += "start " },
		"end":   func() { marks += "end" },
	}})
	if err != nil || status != 0 || marks != "start end" {
		t.Fatalf("status %d, %v, marks %q", status, err, marks)
	}
	return out.String()
}

// interpreted runs a module in the interpreter, with the few functions that kernels import.
func interpreted(t *testing.T, wasm []byte) string {
	mod, err := (&interpengine.Engine{}).Translate(wasm)
	if err != nil {
		t.Fatal(err)
	}
	store := interp.NewStore(interp.Options{})
	var out bytes.Buffer
	var now uint64
	i32, i64 := clif.I32, clif.I64
	imports := map[string]interp.Extern{}
	for name, f := range map[string]struct {
		params []clif.Type
		do     func(mem []byte, args []uint64) error
	}{
		"start": {},
		"end":   {},
		"fd_write": {[]clif.Type{i32, i32, i32, i32}, func(mem []byte, args []uint64) error {
			if args[0] != 1 || args[2] != 1 {
				return fmt.Errorf("fd_write%v", args)
			}
			at, n := binary.LittleEndian.Uint32(mem[args[1]:]), binary.LittleEndian.Uint32(mem[args[1]+4:])
			out.Write(mem[at:][:n])
			return nil
		}},
		"clock_time_get": {[]clif.Type{i32, i64, i32}, func(mem []byte, args []uint64) error {
			now += 1_000_000
			binary.LittleEndian.PutUint64(mem[args[2]:], now)
			return nil
		}},
	} {
		sig := clif.Signature{Params: f.params}
		if f.do != nil {
			sig.Results = []clif.Type{i32}
		}
		imports[name] = store.NewHostFunc(name, sig, func(c *interp.HostCall, args, _ []uint64) error {
			if f.do == nil {
				return nil
			}
			memory, _ := c.Caller().Export("memory")
			return f.do(memory.(*interp.Memory).Data, args)
		})
	}
	inst, err := store.Instantiate(mod.Decl, mod.Body, func(_, name string) (interp.Extern, bool) {
		f, ok := imports[name]
		return f, ok
	})
	if err != nil {
		t.Fatal(err)
	}
	start, _ := inst.Export("_start")
	if _, err := start.(*interp.Function).Call(nil); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
