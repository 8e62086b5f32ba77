//go:build linux && amd64

package x64_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/x64"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/host/inproc"
	"github.com/waot-project/waot/host/load"
	"github.com/waot-project/waot/internal/abi"
	"github.com/waot-project/waot/internal/proof/filetest"
	"github.com/waot-project/waot/internal/proof/isatest"
)

// image is a compiled module. Everything is exported under its entity's name.
type image struct {
	mod    *clif.Module
	result *compile.Result
	loaded *inproc.Module
	host   func(sig *clif.Signature, args, results []uint64)
}

// running is an instance of an image, with a store of its own.
type running struct {
	*image
	store *inproc.Store
	inst  *inproc.Instance
}

// exportAll makes all of m's entities visible to the host.
func exportAll(m *clif.Module) {
	m.Exports = nil
	add := func(kind abi.ExternKind, prefix string, n int) {
		for i := range n {
			m.Exports = append(m.Exports, clif.Export{Name: fmt.Sprint(prefix, i), Kind: kind, Index: uint32(i)})
		}
	}
	add(abi.ExternFunc, "fn", int(m.InitFunc()))
	for i := range m.InitFunc() {
		m.Funcs[i].Addressed = true
	}
	add(abi.ExternMemory, "mem", len(m.Memories))
	add(abi.ExternTable, "table", len(m.Tables))
	add(abi.ExternGlobal, "global", len(m.Globals))
}

// machine is how this package is tested: natively.
var machine = &isatest.Machine{
	Name: "x64", Levels: []string{"v2", "v3"}, Options: compile.Options{Fixpoint: true, Jobs: 1},
	Target: target, Unit: 1, WholeEvery: 1, Prepare: exportAll, Load: loadImage, Lacks: lacks, Without: without, EndsCall: endsCall, Walk: walk, Misalignment: misalignment,
	DWARF: isatest.DWARF{FramePointer: 6, ReturnAddress: 16, Kept: []int{3, 12, 13, 14, 15}}, // rbp; rbx, r12 to r15
}

func TestMachine(t *testing.T)   { machine.Tests(t) }
func TestFiles(t *testing.T)     { machine.Files(t) }
func TestCLIFFiles(t *testing.T) { machine.CLIFFiles(t) }

func target(level string) (*backend.Target, error) {
	features, err := x64.Level(level)
	return x64.New(features), err
}

// endsCall implements isatest.Machine.EndsCall: E8 and a distance, or FF /2 with an address relative to rip, or to a register.
func endsCall(code []byte) bool {
	n := len(code)
	ends := func(length int, op, mask, modrm byte) bool {
		return n >= length && code[n-length] == op && (mask == 0 || code[n-length+1]&mask == modrm)
	}
	return ends(5, 0xe8, 0, 0) || ends(6, 0xff, 0xff, 0x15) || ends(2, 0xff, 0xf8, 0x10) || // [rip+disp32], [r]
		ends(3, 0xff, 0xff, 0x14) || ends(3, 0xff, 0xf8, 0x50) || ends(4, 0xff, 0xff, 0x54) // [r] by SIB, [r+disp8]
}

// without implements isatest.Machine.Without.
func without(level string, op clif.Opcode) bool {
	return level == "v2" && (op == clif.OpVfma || op == clif.OpVfnma)
}

// lacks implements isatest.Machine.Lacks.
func lacks(err error) bool {
	var c *inproc.CPUError
	return errors.As(err, &c)
}

// loadImage implements isatest.Machine.Load.
func loadImage(m *clif.Module, r *compile.Result, host isatest.Host) (isatest.Image, error) {
	img, err := load.Image(r.Object, r.Meta)
	if err != nil {
		return nil, err
	}
	mod, err := inproc.Load(img)
	if err != nil {
		return nil, err
	}
	return &image{mod: m, result: r, loaded: mod, host: hosts[host]}, nil
}

// hosts are what imported functions do.
var hosts = [...]func(sig *clif.Signature, args, results []uint64){
	isatest.Echo:   filetest.Echo,
	isatest.Triple: func(_ *clif.Signature, args, results []uint64) { results[0] = 3 * args[0] },
}

// Start implements isatest.Image; all imports but functions are fresh.
func (im *image) Start() (isatest.Instance, error) {
	s, err := inproc.NewStore(inproc.Config{Fuel: filetest.Fuel})
	if err != nil {
		return nil, err
	}
	m := im.mod
	externs := map[clif.ImportName]inproc.Extern{}
	put := func(n *clif.ImportName, make func() (inproc.Extern, error)) {
		if n != nil && err == nil {
			externs[*n], err = make()
		}
	}
	for i := range m.Funcs {
		put(m.Funcs[i].Import, func() (inproc.Extern, error) {
			sig := m.FuncSig(clif.FuncIndex(i))
			return s.NewHostFunc(sig.FuncType(), func(_ *inproc.Caller, args, results []uint64) error {
				im.host(sig, args, results)
				return nil
			})
		})
	}
	for i := range m.Memories {
		d := &m.Memories[i]
		put(d.Import, func() (inproc.Extern, error) {
			return s.NewMemory(inproc.Limits{Min: d.Min, Max: d.Max, HasMax: d.HasMax})
		})
	}
	for i := range m.Tables {
		d := &m.Tables[i]
		put(d.Import, func() (inproc.Extern, error) {
			return s.NewTable(d.Elem.ValType(), inproc.Limits{Min: d.Min, Max: d.Max, HasMax: d.HasMax})
		})
	}
	for i := range m.Globals {
		d := &m.Globals[i]
		put(d.Import, func() (inproc.Extern, error) { return s.NewGlobal(d.Type.ValType(), d.Mutable, 0, 0) })
	}
	var inst *inproc.Instance
	if err == nil {
		inst, err = s.Instantiate(im.loaded, func(module, name string) inproc.Extern {
			return externs[clif.ImportName{Module: module, Name: name}]
		})
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return &running{im, s, inst}, nil
}

// Close unmaps the module.
func (im *image) Close() { im.loaded.Close() }

// Code returns the bytes of function i.
func (im *image) Code(i clif.FuncIndex) string {
	o, f := im.result.Object, &im.result.Meta.Funcs[i]
	return fmt.Sprintf("%x", o.Sections[o.SectionIndex(".text")].Data[f.Text:f.Text+f.Size])
}

// Call implements isatest.Instance.
func (in *running) Call(i clif.FuncIndex, args ...uint64) ([]uint64, *isatest.Trap, error) {
	f, err := in.inst.Func(fmt.Sprint("fn", uint32(i)))
	if err != nil {
		return nil, nil, err
	}
	results := make([]uint64, clif.Words(in.mod.FuncSig(i).Results))
	err = f.Call(args, results)
	var trap *inproc.Trap
	if errors.As(err, &trap) {
		return nil, &isatest.Trap{Code: trap.Code, Src: trap.Offset, HasSrc: true}, nil
	}
	return results, nil, err
}

// Calls implements isatest.Instance.
func (in *running) Calls(calls []isatest.Call, n int, look func(k int) bool, answer func(k int, o *isatest.Outcome) bool) {
	for k := range calls {
		var o isatest.Outcome
		o.Results, o.Trap, o.Err = in.Call(calls[k].Fn, calls[k].Args...)
		for m := range in.mod.Memories {
			if look(k) {
				o.Memories = append(o.Memories, view{in.memory(m), n})
			}
		}
		if !answer(k, &o) {
			return
		}
	}
}

// view is a memory, of which the first n bytes count, or all if n is 0.
type view struct {
	memory []byte
	n      int
}

// Equal implements isatest.MemoryView.
func (v view) Equal(want []byte) bool {
	n := v.n
	if n == 0 {
		n = len(want)
	}
	return len(v.memory) == len(want) && bytes.Equal(v.memory[:min(n, len(want))], want[:min(n, len(want))])
}

// memory returns the bytes of memory i.
func (in *running) memory(i int) []byte {
	m, err := in.inst.Memory(fmt.Sprint("mem", i))
	if err != nil {
		panic(err)
	}
	return m.Bytes()
}

// ImportedGlobal implements isatest.Instance.
func (in *running) ImportedGlobal(i int) (uint64, bool) {
	g, err := in.inst.Global(fmt.Sprint("global", i))
	if err != nil {
		panic(err)
	}
	return g.Get(), true
}

// Extern implements isatest.Instance.
func (in *running) Extern() uint64 { return in.store.ExternRef("a host value") }

// Close ends the instance.
func (in *running) Close() { in.store.Close() }
