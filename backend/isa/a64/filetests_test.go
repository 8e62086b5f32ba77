package a64_test

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/waot-project/waot/backend"
	"github.com/waot-project/waot/backend/instance"
	"github.com/waot-project/waot/backend/isa/a64"
	"github.com/waot-project/waot/clif"
	"github.com/waot-project/waot/clif/opt"
	"github.com/waot-project/waot/clif/text"
	"github.com/waot-project/waot/compile"
	"github.com/waot-project/waot/internal/filetest"
	"github.com/waot-project/waot/regalloc/linear"
)

var update = flag.Bool("update", false, "rewrite the expected texts")

// native is compiled code as an engine of file tests.
type native struct{ compile.Options }

// Name is the level of the mid-end.
func (e native) Name() string { return fmt.Sprintf("a64-O%d", e.OptLevel) }

// Load compiles a copy of the file.
func (e native) Load(file *text.File) (filetest.Program, error) {
	file, err := text.Parse(file.String())
	if err != nil {
		return nil, err
	}
	im, err := compileCLIF(file.Mod, file.Body, e.Options, echo)
	if err != nil {
		return nil, err
	}
	return program{im}, nil
}

// program has one instance at a time, all in one process.
type program struct{ *image }

func (p program) Start() (filetest.Instance, error) {
	if err := p.start(); err != nil {
		return nil, err
	}
	return running{p.image}, nil
}

func (p program) Close() error {
	p.image.Close()
	return nil
}

type running struct{ *image }

func (r running) Call(fn clif.FuncIndex, args []uint64) ([]uint64, error) {
	results, trap, err := r.image.Call(fn, args...)
	if trap != nil {
		return nil, trap
	}
	return results, err
}

func (r running) Close() error { return nil }

// engines are compiled code without and with the mid-end.
func engines(t *testing.T) (all []filetest.Engine) {
	needEmulator(t)
	for _, level := range []opt.Level{opt.O0, opt.O1} {
		o := options
		o.OptLevel = level
		all = append(all, native{o})
	}
	return all
}

// dumper is the commands that show what the back end makes of a function.
type dumper struct {
	fired map[string]bool // rules
}

// compile compiles f.
func (d *dumper) compile(f *clif.Func, tr backend.Trace) error {
	c := backend.New(a64.New(), instance.New(f.Mod), f.Mod, backend.Options{
		Allocator: linear.New(), Fixpoint: true, Verify: true, Trace: &tr,
	})
	_, err := c.Compile(f)
	return err
}

// rule notes that a rule has fired.
func (d *dumper) rule(name string) { d.fired[name] = true }

// vcode is the rules that fire and the VCode before allocation.
func (d *dumper) vcode(_ *text.File, f *clif.Func, _ []string) (out string, err error) {
	var names []string
	err = d.compile(f, backend.Trace{
		VCode: func(_ *clif.Func, s string) { out = s },
		Rule: func(n string) {
			d.rule(n)
			if !slices.Contains(names, n) {
				names = append(names, n)
			}
		},
	})
	slices.Sort(names)
	return "rules: " + strings.Join(names, " ") + "\n" + out, err
}

// regalloc is the VCode with its allocations.
func (d *dumper) regalloc(_ *text.File, f *clif.Func, _ []string) (out string, err error) {
	err = d.compile(f, backend.Trace{Allocated: func(_ *clif.Func, s string) { out = s }, Rule: d.rule})
	return out, err
}

// code is the finished code: bytes, and the records that go with them.
func (d *dumper) code(_ *text.File, f *clif.Func, _ []string) (out string, err error) {
	err = d.compile(f, backend.Trace{Rule: d.rule, Code: func(_ *clif.Func, c *backend.Code) {
		b := fmt.Appendf(nil, "%d bytes, align %d, frame %d", len(c.Bytes), c.Align, c.FrameBytes)
		for at := 0; at < len(c.Bytes); at += 4 {
			if at%16 == 0 {
				b = fmt.Appendf(b, "\n%04x:", at)
			}
			b = fmt.Appendf(b, " %08x", binary.LittleEndian.Uint32(c.Bytes[at:]))
		}
		b = append(b, '\n')
		for _, r := range c.Relocs {
			name := "instance"
			if r.Sym != backend.SymInstance {
				name = fmt.Sprint("fn", r.Sym.Func())
			}
			b = fmt.Appendf(b, "reloc %04x %s %s %+d\n", r.Offset, relocNames[r.Kind], name, r.Addend)
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

// relocNames are the names of relocations of AArch64.
var relocNames = map[backend.RelocKind]string{backend.RelocCall26: "call26", backend.RelocPage21: "page21",
	backend.RelocAddLo12: "add_lo12", backend.RelocLdst8Lo12: "ldst8_lo12", backend.RelocLdst16Lo12: "ldst16_lo12",
	backend.RelocLdst32Lo12: "ldst32_lo12", backend.RelocLdst64Lo12: "ldst64_lo12"}

func (d *dumper) commands() map[string]filetest.Command {
	return map[string]filetest.Command{"vcode": d.vcode, "regalloc": d.regalloc, "compile": d.code}
}

// TestCLIFFiles executes the calls of the machine-independent files.
func TestCLIFFiles(t *testing.T) {
	r := filetest.Runner{Engines: engines(t)}
	r.Test(t, "../../../testdata/clif", "*.clif")
}

// TestFiles checks the texts of this machine's files and executes their calls. Each named rule must
// fire in one.
func TestFiles(t *testing.T) {
	d := dumper{fired: map[string]bool{}}
	r := filetest.Runner{Engines: append(engines(t), filetest.Interp{}), Commands: d.commands(), Update: *update}
	r.Test(t, "../../../testdata/a64", "*.clif")
	if f := flag.Lookup("test.run").Value.String(); strings.Contains(f, "/") {
		return // not all of the files
	}
	for _, name := range ruleNames(t) {
		if !d.fired[name] {
			t.Errorf("no file fires the rule %s", name)
		}
	}
}

// ruleNames lists the rules named in the package's source.
func ruleNames(t *testing.T) (names []string) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	re := regexp.MustCompile(`l\.Rule\("([^"]+)"\)`)
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range re.FindAllSubmatch(src, -1) {
			if n := string(m[1]); !slices.Contains(names, n) && !strings.HasSuffix(f, "_test.go") {
				names = append(names, n)
			}
		}
	}
	if len(names) == 0 {
		t.Fatal(errors.New("no rules"))
	}
	slices.Sort(names)
	return names
}

// TestComplete: every opcode but nop and uextend, which the driver handles, has a lowering.
func TestComplete(t *testing.T) {
	target := a64.New()
	for op := clif.Opcode(0); op < clif.NumOpcodes; op++ {
		if has := target.Lower[op] != nil; has == (op == clif.OpNop || op == clif.OpUextend) {
			t.Errorf("%v: lowering %v", op, has)
		}
	}
}
