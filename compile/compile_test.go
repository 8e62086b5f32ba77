package compile_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/internal/reloc"
	"github.com/waot-project/waot/objfile"
	"github.com/waot-project/waot/regalloc"
	"github.com/waot-project/waot/regalloc/linear"
	"github.com/waot-project/waot/wasmfront"
)

func build(t *testing.T, wasm []byte, o compile.Options) *compile.Result {
	t.Helper()
	o.Verify = true
	r, err := compile.Module(wasm, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func elf(t *testing.T, r *compile.Result) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := r.WriteELF(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestSample(t *testing.T) {
	for _, level := range []opt.Level{opt.O0, opt.O1} {
		r := build(t, sampleModule().bytes(), compile.Options{Name: "lib", OptLevel: level})
		file := elf(t, r)
		o, err := objfile.ReadELF(file)
		if err != nil {
			t.Fatal(err)
		}
		again, err := o.AppendELF(nil)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(file, again) {
			t.Error("reading and writing changes the object")
		}
		img, err := load.ELF(file)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(r.Meta, img.Meta); d != "" {
			t.Error(d)
		}
		direct, err := load.Image(r.Object, r.Meta)
		if err != nil {
			t.Fatal(err)
		}
		direct.Meta = img.Meta
		if d := cmp.Diff(direct, img); d != "" {
			t.Error("image by way of the file differs:", d)
		}
	}
}

// TestNoAbsolute checks the promise that text and constants are position independent.
func TestNoAbsolute(t *testing.T) {
	for _, target := range compile.Targets() {
		r := build(t, sampleModule().bytes(), compile.Options{Target: target})
		for i := range r.Object.Sections {
			s := &r.Object.Sections[i]
			if s.Flags&objfile.Write != 0 {
				continue
			}
			for _, rel := range s.Relocs {
				if rel.Kind == reloc.Abs64 {
					t.Errorf("%s: %s+%#x: absolute", target, s.Name, rel.Offset)
				}
			}
		}
	}
}

// TestForeign: objects of each target can be made into images, but only those of this machine are loaded.
func TestForeign(t *testing.T) {
	for _, target := range compile.Targets() {
		r := build(t, sampleModule().bytes(), compile.Options{Target: target, OptLevel: opt.O1})
		img, err := load.Image(r.Object, r.Meta)
		if err != nil {
			t.Fatal(target, err)
		}
		text := r.Object.Section(".text")
		pages := 0
		for i := range text.Relocs {
			if text.Relocs[i].Kind == reloc.Page21 {
				pages++
			}
		}
		if len(img.Addresses) == 0 || bytes.Equal(img.Text[:len(text.Data)], text.Data) {
			t.Errorf("%s: nothing was linked", target)
		}
		if n := len(text.Relocs); n == 0 || (pages > 0) != (target == compile.TargetA64) {
			t.Errorf("%s: %d relocations, %d of pages", target, n, pages)
		}
		_, err = load.ELF(elf(t, r))
		var foreign *load.Error
		if target == compile.HostTarget() {
			if err != nil {
				t.Error(target, err)
			}
		} else if !errors.As(err, &foreign) || !strings.Contains(err.Error(), "this machine is "+runtime.GOARCH) {
			t.Error(target, err)
		}
	}
}

func TestDeterministic(t *testing.T) {
	for _, target := range compile.Targets() {
		testDeterministic(t, target)
	}
}

func testDeterministic(t *testing.T, target string) {
	m := sampleModule()
	for i := range 50 {
		m.fn(types(i32), types(i32), nil, cat([]byte{0x20, 0, 0x41}, sleb(int64(i)), []byte{0x6a})...)
	}
	var first []byte
	for jobs := 1; jobs <= 9; jobs++ {
		b := elf(t, build(t, m.bytes(), compile.Options{Target: target, Jobs: jobs, OptLevel: opt.O1}))
		if first == nil {
			first = b
		} else if !bytes.Equal(first, b) {
			t.Fatalf("%d workers give another object", jobs)
		}
	}
}

// TestFirstError: the error with the lowest offset counts, whatever the workers do.
func TestFirstError(t *testing.T) {
	m := sampleModule()
	for i := range 20 {
		body := []byte{0x41, 0, 0x1a}
		if i >= 10 {
			body = bytes.Repeat(body, i*i) // larger ones come first
			body = append(body, 0x6a)      // add without operands
		}
		m.fn(nil, nil, nil, body...)
	}
	var first *wasmfront.Error
	for jobs := 1; jobs <= 5; jobs++ {
		_, err := compile.Module(m.bytes(), compile.Options{Jobs: jobs})
		var e *wasmfront.Error
		if !errors.As(err, &e) {
			t.Fatal(err)
		}
		if first == nil {
			first = e
		}
		if d := cmp.Diff(first, e); d != "" {
			t.Error(d)
		}
	}
	if want := len(m.imports) + len(m.funcs) - 10; first.Func != want {
		t.Errorf("function %d, want %d", first.Func, want)
	}
}

func TestProgress(t *testing.T) {
	last := 0
	r := build(t, sampleModule().bytes(), compile.Options{Jobs: 3, Progress: func(done, total int) {
		if done != last+1 || done > total {
			t.Errorf("%d of %d after %d", done, total, last)
		}
		last = done
	}})
	if last != r.Stats.Funcs {
		t.Error(last, r.Stats)
	}
}

// counting is the default allocator; it counts what it allocates.
type counting struct {
	backend.Allocator
	functions *atomic.Int64
}

func (c counting) Run(in *regalloc.Input, env *regalloc.MachineEnv, out *regalloc.Output) error {
	c.functions.Add(1)
	return c.Allocator.Run(in, env, out)
}

// TestNewAllocator: the allocators that the options make, one a worker, allocate all functions.
func TestNewAllocator(t *testing.T) {
	var made, functions atomic.Int64
	r := build(t, sampleModule().bytes(), compile.Options{Jobs: 2, NewAllocator: func() backend.Allocator {
		made.Add(1)
		return counting{linear.New(), &functions}
	}})
	if n := made.Load(); n < 1 || n > 2 || int(functions.Load()) < r.Stats.Funcs {
		t.Errorf("%d allocators for two workers, %d of %d functions", n, functions.Load(), r.Stats.Funcs)
	}
}

// TestConflict: a module whose symbols clash can be compiled, but not written.
func TestConflict(t *testing.T) {
	m := &wasmModule{}
	m.importFunc("a", "b", nil, nil)
	m.importFunc("a", "b", nil, types(i32))
	r := build(t, m.bytes(), compile.Options{})
	var e *objfile.Error
	if err := r.WriteELF(&bytes.Buffer{}); !errors.As(err, &e) || e.Symbol != "a..b.waot" {
		t.Error(err)
	}
	if _, err := load.Image(r.Object, r.Meta); err != nil {
		t.Error(err)
	}
}

// TestSameImport: one entity imported twice has one symbol.
func TestSameImport(t *testing.T) {
	m := &wasmModule{}
	m.importFunc("a", "b", nil, nil)
	m.importFunc("a", "b", nil, nil)
	elf(t, build(t, m.bytes(), compile.Options{}))
}

func TestEmpty(t *testing.T) {
	b := elf(t, build(t, (&wasmModule{}).bytes(), compile.Options{}))
	if _, err := load.ELF(b); err != nil {
		t.Error(err)
	}
}

// TestDamage flips each byte of an object: nothing panics, and what still loads has the same
// text, constants, data and metadata.
func TestDamage(t *testing.T) {
	m := &wasmModule{}
	m.exportFn("f", types(i32), types(i32), nil, 0x20, 0, 0x28, 2, 0)
	m.memories = append(m.memories, []byte{0, 1})
	m.datas = append(m.datas, cat([]byte{0, 0x41, 8, 0x0b}, vec([]byte("hello"))))
	file := elf(t, build(t, m.bytes(), compile.Options{}))
	want, err := load.ELF(file)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for i := range file {
		b := bytes.Clone(file)
		b[i] ^= 1 << (i % 8)
		img, err := load.ELF(b)
		if err != nil {
			found++
			continue
		}
		if !bytes.Equal(img.Text, want.Text) || !bytes.Equal(img.Rodata, want.Rodata) || !bytes.Equal(img.Data, want.Data) ||
			!cmp.Equal(img.Addresses, want.Addresses) || !cmp.Equal(img.Imports, want.Imports) || !cmp.Equal(img.Meta, want.Meta) {
			t.Errorf("damage at %#x goes unnoticed", i)
		}
	}
	t.Logf("%d of %d flips found, the others are harmless", found, len(file))
}

// TestPrograms compiles whatever modules WAOT_BENCH_DIR has.
func TestPrograms(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(testenv.Material(t, testenv.EnvBench), "*", "*.wasm"))
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := compile.Module(b, compile.Options{OptLevel: opt.O1})
		if err != nil {
			t.Log(name, err)
			continue
		}
		file := elf(t, r)
		if _, err := load.ELF(file); err != nil {
			t.Error(name, err)
		}
		t.Logf("%s: %+v, %d bytes", name, r.Stats, len(file))
	}
}
