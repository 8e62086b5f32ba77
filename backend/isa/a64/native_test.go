package a64_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/isa/a64"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/proof/isatest"
	"github.com/waot-project/waot/internal/reloc"
)

// machine is how this package is tested: in an emulator, or natively on a machine that can.
var machine = &isatest.Machine{
	Name: "a64", Levels: []string{a64.Baseline}, Options: compile.Options{Target: compile.TargetA64, Fixpoint: true, Jobs: 1},
	Target: func(level string) (*backend.Target, error) {
		features, err := a64.Level(level)
		return a64.New(features), err
	},
	Unit: 4, Relocs: relocNames, WholeEvery: 16, Need: needEmulator, Without: without, EndsCall: endsCall, Walk: walk, Misalignment: misalignment,
	DWARF: isatest.DWARF{FramePointer: 29, ReturnAddress: 30, Kept: []int{19, 20, 21, 22, 23, 24, 25, 26, 27, 72, 73, 74, 75, 76, 77, 78, 79}}, // x29; x19 to x27, v8 to v15
	Load: func(m *clif.Module, r *compile.Result, host isatest.Host) (isatest.Image, error) {
		return newImage(m, r, hosts[host])
	},
}

func TestMachine(t *testing.T) { machine.Tests(t) }

// TestDotProduct runs what depends on the level of processor for the level above the floor.
func TestDotProduct(t *testing.T) {
	above := *machine
	above.Levels = []string{a64.DotProduct}
	above.Only(t, "Vectors")
}

func TestFiles(t *testing.T)     { machine.Files(t) }
func TestCLIFFiles(t *testing.T) { machine.CLIFFiles(t) }

// endsCall implements isatest.Machine.EndsCall: bl or blr.
func endsCall(code []byte) bool {
	if len(code) < 4 {
		return false
	}
	w := binary.LittleEndian.Uint32(code[len(code)-4:])
	return w>>26 == 0x25 || w&0xfffffc1f == 0xd63f0000
}

// without reports whether the driver in the emulator lacks something for op: it has no fuel, and keeps other things in the register.
func without(_ string, op clif.Opcode) bool {
	return op == clif.OpCharge || op == clif.OpChargeBy
}

// relocNames are the names of relocations of AArch64.
var relocNames = map[reloc.Kind]string{reloc.Call26: "call26", reloc.Page21: "page21",
	reloc.AddLo12: "add_lo12", reloc.Ldst8Lo12: "ldst8_lo12", reloc.Ldst16Lo12: "ldst16_lo12",
	reloc.Ldst32Lo12: "ldst32_lo12", reloc.Ldst64Lo12: "ldst64_lo12"}

// options are those of tests of the back end alone.
var options = compile.Options{Target: compile.TargetA64, OptLevel: opt.O0, Fixpoint: true, Verify: true, Jobs: 1}

// hosts are what imported functions do.
var hosts = [...]hosted{isatest.Echo: echo, isatest.Triple: triple}

// Start implements isatest.Image.
func (im *image) Start() (isatest.Instance, error) {
	if err := im.start(); err != nil {
		return nil, err
	}
	return &running{image: im}, nil
}

// running is the one instance of an image.
type running struct {
	*image
	externs uint64 // references made
}

// Close implements isatest.Instance: the next start makes another.
func (*running) Close() {}

// ImportedGlobal implements isatest.Instance.
func (*running) ImportedGlobal(int) (uint64, bool) { return 0, false }

// Extern implements isatest.Instance: nobody follows the word.
func (in *running) Extern() uint64 {
	in.externs++
	return in.externs<<12 | 2
}

// Calls implements isatest.Instance: the driver answers while it still gets calls.
func (in *running) Calls(calls []isatest.Call, bytes int, look func(n int) bool, answer func(n int, o *isatest.Outcome) bool) {
	sent, done := make(chan struct{}), false
	defer func() {
		if !done {
			in.proc.kill()
		}
		<-sent
		if done {
			in.release()
		}
		in.proc = nil
	}()
	go func() {
		defer close(sent)
		for n := range calls {
			in.sendCall(calls[n].Fn, calls[n].Args)
			for k := range in.mod.Memories {
				if look(n) {
					in.sendDigest(k, bytes)
				}
			}
		}
		in.proc.flush()
	}()
	for n := range calls {
		var o isatest.Outcome
		o.Results, o.Trap, o.Err = in.answer(calls[n].Fn)
		for range in.mod.Memories {
			if look(n) {
				o.Memories = append(o.Memories, view{in.proc.word(), in.proc.word(), bytes})
			}
		}
		if !answer(n, &o) || in.proc.err != nil {
			return
		}
	}
	done = true
}

// view is the size of a memory and the digest of its first n bytes, or of all if n is 0.
type view struct {
	size, sum uint64
	n         int
}

// Equal implements isatest.MemoryView.
func (v view) Equal(want []byte) bool {
	if uint64(len(want)) != v.size {
		return false
	}
	if v.n != 0 {
		want = want[:min(v.n, len(want))]
	}
	return digest(want) == v.sum
}

// Code returns the words of function i.
func (im *image) Code(i clif.FuncIndex) string {
	o, f := im.result.Object, &im.result.Meta.Funcs[i]
	b := o.Sections[o.SectionIndex(".text")].Data[f.Text : f.Text+f.Size]
	var s []byte
	for ; len(b) >= 4; b = b[4:] {
		s = fmt.Appendf(s, "0x%02x 0x%02x 0x%02x 0x%02x\n", b[0], b[1], b[2], b[3])
	}
	return string(s)
}
