package isatest

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/instance"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/clif/rewrite"
	"github.com/waot-project/waot/clif/text"
	"github.com/waot-project/waot/internal/proof/filetest"
	"github.com/waot-project/waot/internal/proof/testenv"
	"github.com/waot-project/waot/regalloc/linear"
)

var update = flag.Bool("update", false, "rewrite the expected texts")

// native is compiled code as an engine of file tests.
type native struct {
	on    *Machine
	level string
	mid   opt.Level
	// plain is without lowering rules.
	plain bool
}

// Name returns the machine or its level, and the level of the mid-end.
func (e native) Name() string {
	name := e.level
	if name == "" {
		name = e.on.Name
	}
	name = fmt.Sprintf("%s-O%d", name, e.mid)
	if e.plain {
		name += "-plain"
	}
	return name
}

// Lacks implements filetest.Lacker: the level has no code for an opcode of the file, or it needs a heap, which the instances of this package have not (spectest/nativeengine TestHeap has).
func (e native) Lacks(file *text.File) bool {
	for i := range file.Funcs {
		for k := range file.Funcs[i].Func.Insts {
			if op := file.Funcs[i].Func.Insts[k].Op; op.IsOfHeap() || e.on.Without != nil && e.on.Without(e.level, op) {
				return true
			}
		}
	}
	return false
}

// Load compiles a copy of the file.
func (e native) Load(file *text.File) (filetest.Program, error) {
	file, err := text.Parse(file.String())
	if err != nil {
		return nil, err
	}
	on := *e.on
	if e.plain {
		on.Options.Control = noLowering
	}
	im, err := on.compile(file.Mod, file.Body, e.level, e.mid, true, Echo)
	if err != nil {
		return nil, err
	}
	return program{im, file.Mod}, nil
}

type program struct {
	Image
	mod *clif.Module
}

func (p program) Start() (filetest.Instance, error) {
	in, err := p.Image.Start()
	if err != nil {
		return nil, err
	}
	return running{in, p.mod, map[uint64]uint64{}, map[uint64]uint64{}}, nil
}

func (p program) Close() error {
	p.Image.Close()
	return nil
}

// running is an instance, which takes only words of references that it has given out.
type running struct {
	Instance
	mod *clif.Module
	// words are the instance's references by those of the file, numbers the reverse.
	words, numbers map[uint64]uint64
}

func (r running) Call(fn clif.FuncIndex, args []uint64) ([]uint64, error) {
	sig := r.mod.FuncSig(fn)
	args = slices.Clone(args)
	eachRef(sig.Params, args, func(word *uint64) {
		if *word != 0 {
			*word = r.word(*word)
		}
	})
	results, trap, err := r.Instance.Call(fn, args...)
	if trap != nil {
		return nil, trap
	}
	eachRef(sig.Results, results, func(word *uint64) {
		if n, ok := r.numbers[*word]; ok {
			*word = n
		}
	})
	return results, err
}

// eachRef calls f for each word of values of these types that is a reference of the host.
func eachRef(types []clif.Type, words []uint64, f func(word *uint64)) {
	for _, t := range types {
		if len(words) == 0 { // after a failure
			return
		}
		if t == clif.Ref {
			f(&words[0])
		}
		words = words[clif.Words([]clif.Type{t}):]
	}
}

// word returns the instance's reference for one of the file.
func (r running) word(of uint64) uint64 {
	w, ok := r.words[of]
	if !ok {
		w = r.Extern()
		r.words[of], r.numbers[w] = w, of
	}
	return w
}

func (r running) Close() error {
	r.Instance.Close()
	return nil
}

// noLowering turns all lowering rules off.
func noLowering(clif.FuncIndex) *rewrite.Control {
	return &rewrite.Control{Limit: -1, Off: map[string]bool{rewrite.LowerPass: true}}
}

// engines returns compiled code on each level that this processor has: without and with the mid-end, with and without lowering
// rules. Below the full level of the tests, only one engine is without rules.
func (on *Machine) engines(t *testing.T) (all []filetest.Engine) {
	t.Helper()
	m := &module{on: on}
	m.each(t, func(_ *testing.T, level string, _ Instance) {
		for _, mid := range []opt.Level{opt.O0, opt.O1} {
			all = append(all, native{on, level, mid, false})
			if testenv.Full() || len(all) == 1 {
				all = append(all, native{on, level, mid, true})
			}
		}
	})
	return all
}

// dumper is the commands that show what the back end makes of a function.
type dumper struct {
	on    *Machine
	fired map[backend.Rule]bool
}

// compile compiles f for the level of the processor named in the options, or the first.
func (d *dumper) compile(f *clif.Func, options []string, tr backend.Trace) error {
	level := d.on.Levels[0]
	if len(options) > 0 {
		level = options[0]
	}
	target, err := d.on.Target(level)
	if err != nil {
		return err
	}
	c := backend.New(target, instance.New(f.Mod), f.Mod, backend.Options{
		Allocator: linear.New(), Fixpoint: true, Verify: true, Trace: &tr,
	})
	_, err = c.Compile(f)
	return err
}

// rule notes that a rule has fired.
func (d *dumper) rule(_ *clif.Func, r backend.Rule, _ []backend.Inst) { d.fired[r] = true }

// rules returns the rules of the machine.
func (d *dumper) rules() *backend.Rules {
	target, err := d.on.Target(d.on.Levels[0])
	if err != nil {
		panic(err)
	}
	return target.Rules
}

// vcode returns the rules that fire and the VCode before allocation.
func (d *dumper) vcode(_ *text.File, f *clif.Func, options []string) (out string, err error) {
	var names []string
	err = d.compile(f, options, backend.Trace{
		VCode: func(_ *clif.Func, s string) { out = s },
		Rule: func(f *clif.Func, r backend.Rule, insts []backend.Inst) {
			d.rule(f, r, insts)
			if n := d.rules().Info(r).Name; !slices.Contains(names, n) {
				names = append(names, n)
			}
		},
	})
	slices.Sort(names)
	return "rules: " + strings.Join(names, " ") + "\n" + out, err
}

// regalloc returns the VCode with its allocations.
func (d *dumper) regalloc(_ *text.File, f *clif.Func, options []string) (out string, err error) {
	err = d.compile(f, options, backend.Trace{Allocated: func(_ *clif.Func, s string) { out = s }, Rule: d.rule})
	return out, err
}

// code returns the finished code: bytes, and the records that go with them.
func (d *dumper) code(_ *text.File, f *clif.Func, options []string) (out string, err error) {
	err = d.compile(f, options, backend.Trace{Rule: d.rule, Code: func(_ *clif.Func, c *backend.Code) {
		b := fmt.Appendf(nil, "%d bytes, align %d, frame %d", len(c.Bytes), c.Align, c.FrameBytes)
		if !c.Starts.Anywhere() {
			b = fmt.Appendf(b, ", starts %04b", c.Starts)
		}
		for at, unit := 0, d.on.Unit; at < len(c.Bytes); at += unit {
			if at%16 == 0 {
				b = fmt.Appendf(b, "\n%04x:", at)
			}
			b = append(b, ' ')
			for k := unit - 1; k >= 0; k-- { // the lowest is the first
				b = fmt.Appendf(b, "%02x", c.Bytes[at+k])
			}
		}
		b = append(b, '\n')
		for _, r := range c.Relocs {
			name := "instance"
			if sym := backend.SymRef(r.Symbol); sym != backend.SymInstance {
				name = fmt.Sprint("fn", sym.Func())
			}
			if d.on.Relocs != nil {
				name = d.on.Relocs[r.Kind] + " " + name
			}
			b = fmt.Appendf(b, "reloc %04x %s %+d\n", r.Offset, name, r.Addend)
		}
		for _, t := range c.Traps {
			b = fmt.Appendf(b, "trap  %04x %v\n", t.Offset, t.Code)
		}
		for _, s := range c.Calls {
			b = fmt.Appendf(b, "call  %04x\n", s.Offset)
		}
		for _, s := range c.StackMaps {
			b = fmt.Appendf(b, "map   %04x %d\n", s.Offset, s.Slots)
		}
		out = string(b)
	}})
	return out, err
}

func (d *dumper) commands() map[string]filetest.Command {
	return map[string]filetest.Command{"vcode": d.vcode, "regalloc": d.regalloc, "compile": d.code}
}

// CLIFFiles executes the calls of the machine-independent files.
func (on *Machine) CLIFFiles(t *testing.T) {
	r := filetest.Runner{Engines: on.engines(t)}
	r.Test(t, "../../../testdata/clif", "*.clif")
}

// Files checks the texts of the machine's files and executes their calls. Each named rule must
// fire in one.
func (on *Machine) Files(t *testing.T) {
	d := dumper{on: on, fired: map[backend.Rule]bool{}}
	r := filetest.Runner{Engines: append(on.engines(t), filetest.Interp{}), Commands: d.commands(), Update: *update}
	r.Test(t, "../../../testdata/"+on.Name, "*.clif")
	if f := flag.Lookup("test.run").Value.String(); strings.Contains(f, "/") {
		return // not all of the files
	}
	for r, row := range d.rules().Rows {
		if !d.fired[backend.Rule(r)] {
			t.Errorf("no file fires the rule %s", row.Name)
		}
	}
}
